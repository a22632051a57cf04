//! Elasticsearch and OpenSearch, through `_bulk`.
//!
//! A document is created under an id that is made of its content, in the index of its own day: one that is sent again is
//! there already, and after midnight, too.

use ioassay_protocol::watch::document::{Document, FieldKind, Value};
use ioassay_protocol::watch::setup::Server;
use jiff::Timestamp;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Method, StatusCode};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serializer};
use serde_json::json;

use super::batch::{self, Bulk, Outcome, packed};
use super::http::{Answer, Store};
use super::{Encoder, Payload, Refusal, Sink, SinkError, Transport, directory_name, id, moment};

/// Longer texts are stored, and not found.
const SEARCHED_LETTERS: u32 = 1024;
/// Words of errors with status 400 that an operator can end: a closed index, too many shards in the cluster.
const OPERATOR_ERRORS: [&str; 3] = ["index_closed_exception", "maximum shards open", "maximum normal shards open"];
/// ISO 8601.
const DATE_FORMAT: &str = "strict_date_optional_time";
/// Above those that come with the servers, below most of a site's own.
const PRIORITY: u32 = 150;

/// The sink at `server`, with indices `PREFIX-KIND-DAY`.
pub fn open(server: &Server, prefix: &str) -> Result<Sink, SinkError> {
    let allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_.".contains(letter);
    if !prefix.starts_with(|letter: char| letter.is_ascii_lowercase()) || !prefix.chars().all(allowed) {
        return Err(SinkError(format!(
            "{prefix:?} cannot begin the names of indices; use lower-case ASCII letters, digits, and - _ . behind them"
        )));
    }
    let store = Store::open("Elasticsearch", server, "Bearer")?;
    Ok(Sink {
        name: store.name(),
        directory: directory_name("elasticsearch", &format!("{} {prefix}", store.name())),
        encoder: Box::new(Creations { prefix: prefix.to_owned() }),
        transport: Box::new(Indices { store, prefix: prefix.to_owned(), prepared: false }),
    })
}

struct Creations {
    prefix: String,
}

impl Encoder for Creations {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let mut lines = Vec::new();
        for document in documents {
            self.create(&mut lines, document).expect("a document has nothing that JSON cannot say");
        }
        vec![Payload::of(documents, packed(&lines))]
    }
}

impl Creations {
    fn create(&self, lines: &mut Vec<u8>, document: &Document) -> serde_json::Result<()> {
        let moment = moment(document);
        let index = format!("{}-{}-{}", self.prefix, document.kind.name, moment.strftime("%Y.%m.%d"));
        serde_json::to_writer(&mut *lines, &json!({"create": {"_index": index, "_id": id(document)}}))?;
        lines.push(b'\n');
        let mut to = serde_json::Serializer::new(&mut *lines);
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("@timestamp", &moment.to_string())?;
        map.serialize_entry("part", &document.part)?;
        for (field, value) in document.fields() {
            match value {
                Value::Text(text) => map.serialize_entry(field.name, text)?,
                Value::Number(ns) if field.kind == FieldKind::Moment => {
                    map.serialize_entry(&field.time_name(), &date(*ns))?;
                }
                // The widest type that both servers have.
                Value::Number(number) => map.serialize_entry(field.name, &(*number).min(i64::MAX as u64))?,
                Value::Missing => {}
            }
        }
        map.end()?;
        lines.push(b'\n');
        Ok(())
    }
}

struct Indices {
    store: Store,
    prefix: String,
    /// There is an index template.
    prepared: bool,
}

impl Transport for Indices {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        if !self.prepared {
            self.prepare()?;
        }
        let sent = batch::send(self, payload);
        // A server that was away may have been set up anew, without the template.
        self.prepared = !matches!(sent, Err(Refusal::Partly { .. }));
        sent
    }
}

impl Bulk for Indices {
    const LINES: usize = 2;

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn post(&mut self, packed: Vec<u8>) -> Result<Answer, Refusal> {
        const PATH: &str = "_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason";
        let headers = [(CONTENT_TYPE, "application/x-ndjson"), (CONTENT_ENCODING, "gzip")];
        self.store.ask(Method::POST, PATH, &headers, packed)
    }

    fn sort_out(&self, answer: &Answer, documents: &[&[u8]], outcome: &mut Outcome) {
        if !answer.status.is_success() {
            return outcome.add(self.store.refusal(answer, documents.len() as u64), &documents.concat());
        }
        let bulk = match serde_json::from_slice::<BulkAnswer>(&answer.body) {
            Ok(bulk) if !bulk.errors || bulk.items.len() == documents.len() => bulk,
            _ => return outcome.add(self.store.unexpected_server(answer), &documents.concat()),
        };
        for (item, document) in bulk.items.into_iter().zip(documents) {
            let Created { status, error } = item.create;
            let error = error.map(|error| format!("{}: {}", error.kind, error.reason)).unwrap_or_default();
            let reason = format!("(status {status}: {})", self.store.excerpt(error.as_bytes()));
            let name = self.store.name();
            let refusal = match status {
                // It is there already.
                200..=299 | 409 => continue,
                // The index is closed, full, or may not be created: an operator can change that.
                401 | 403 | 404 | 408 | 429 | 500.. => {
                    Refusal::later(format!("{name} cannot store documents now {reason}"))
                }
                400 if OPERATOR_ERRORS.iter().any(|words| error.contains(words)) => {
                    Refusal::later(format!("{name} cannot store documents now {reason}"))
                }
                _ => Refusal::Never { reason: format!("{name} refuses documents {reason}"), documents: 1 },
            };
            outcome.add(refusal, document);
        }
    }
}

impl Indices {
    /// Sees to it that there is an index template. One that is there may be the site's own, and is left alone.
    fn prepare(&mut self) -> Result<(), Refusal> {
        let path = format!("_index_template/{}", self.prefix);
        let there = self.store.ask(Method::GET, &path, &[], Vec::new())?;
        if there.status.is_success() {
            self.prepared = true;
            return Ok(());
        }
        // Old servers answer 400 or 405.
        if !matches!(there.status.as_u16(), 400 | 404 | 405) {
            return Err(self.no_template(&there));
        }
        let put = self.put(&path, &composable(&self.prefix))?;
        let unknown = put.status == StatusCode::METHOD_NOT_ALLOWED
            || ["no handler found", "invalid_index_name", "invalid_type_name"]
                .iter()
                .any(|word| put.body.windows(word.len()).any(|window| window == word.as_bytes()));
        let put = if put.status.is_client_error() && unknown {
            self.put(&format!("_template/{}", self.prefix), &legacy(&self.prefix))?
        } else {
            put
        };
        if put.status.is_success() {
            self.prepared = true;
            return Ok(());
        }
        Err(self.no_template(&put))
    }

    fn no_template(&self, answer: &Answer) -> Refusal {
        let complaint = self.store.complaint(answer);
        Refusal::Later { reason: format!("index template {}: {complaint}", self.prefix), after: answer.after }
    }

    fn put(&mut self, path: &str, template: &serde_json::Value) -> Result<Answer, Refusal> {
        self.store.ask(Method::PUT, path, &[(CONTENT_TYPE, "application/json")], template.to_string().into_bytes())
    }
}

#[derive(Deserialize)]
struct BulkAnswer {
    errors: bool,
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    create: Created,
}

#[derive(Deserialize)]
struct Created {
    status: u16,
    error: Option<ItemError>,
}

#[derive(Deserialize)]
struct ItemError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    reason: String,
}

/// A moment as both servers read it: they keep milliseconds.
fn date(ns: u64) -> String {
    let moment = Timestamp::from_nanosecond(ns.into()).unwrap_or(Timestamp::MAX);
    moment.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The types of all fields of all kinds: texts are found as a whole, numbers are whole numbers, moments are dates.
fn mappings() -> serde_json::Value {
    let keyword = json!({"type": "keyword", "ignore_above": SEARCHED_LETTERS});
    let fields = super::kinds().flat_map(|kind| kind.fields);
    let moments = fields.filter(|field| field.kind == FieldKind::Moment);
    let mut properties: serde_json::Map<_, _> =
        moments.map(|field| (field.time_name(), json!({"type": "date", "format": DATE_FORMAT}))).collect();
    properties.insert("@timestamp".to_owned(), json!({"type": "date"}));
    properties.insert("part".to_owned(), json!({"type": "long"}));
    json!({
        "date_detection": false,
        "numeric_detection": false,
        "dynamic_templates": [
            {"texts": {"match_mapping_type": "string", "mapping": keyword}},
            {"numbers": {"match_mapping_type": "long", "mapping": {"type": "long"}}},
        ],
        "properties": properties,
        "_meta": {"written_by": concat!("ioassay-agent ", env!("CARGO_PKG_VERSION"))},
    })
}

fn composable(prefix: &str) -> serde_json::Value {
    json!({"index_patterns": [format!("{prefix}-*")], "priority": PRIORITY, "template": {"mappings": mappings()}})
}

/// For servers that have no composable ones.
fn legacy(prefix: &str) -> serde_json::Value {
    json!({"index_patterns": [format!("{prefix}-*")], "order": 1, "mappings": mappings()})
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::watch::kinds::{Io, Job, Phase};

    use super::*;
    use crate::sinks::batch::unpacked;
    use crate::sinks::scripted_server::{ReceivedRequest, ScriptedServer};

    fn documents_of(seconds: std::ops::Range<u64>) -> Vec<Document> {
        seconds.map(|second| Io { node: "n1".into(), calls: u64::MAX, ..Io::default() }.of(second, 0)).collect()
    }

    fn lines(payload: &[u8]) -> Vec<serde_json::Value> {
        let lines = unpacked(payload).unwrap();
        serde_json::Deserializer::from_slice(&lines).into_iter().collect::<Result<_, _>>().unwrap()
    }

    /// What a server answers that has the template, and to bulk requests this.
    fn start(
        mut bulk: impl FnMut(&ReceivedRequest) -> (&'static str, String) + Send + 'static,
    ) -> (ScriptedServer, Sink) {
        let server = ScriptedServer::start(move |asked| {
            let (head, body) = if asked.line.contains("_bulk") { bulk(asked) } else { ("200 OK", "{}".to_owned()) };
            (head.to_owned(), body)
        });
        let sink = open(&server.server(), "ioassay").unwrap();
        (server, sink)
    }

    fn answer(statuses: &[u16]) -> String {
        let items: Vec<_> = statuses
            .iter()
            .map(|status| {
                let error = (*status >= 300).then(|| json!({"type": "some_exception", "reason": "why"}));
                json!({"create": {"status": status, "error": error}})
            })
            .collect();
        json!({"errors": statuses.iter().any(|status| *status >= 300), "items": items}).to_string()
    }

    #[test]
    fn a_document_is_created_under_its_own_id_in_the_index_of_its_own_day() {
        let mut bulk = Creations { prefix: "ioassay".to_owned() };
        let job = Job { node: "n1".into(), user_ns: u64::MAX, ..Job::default() };
        let document = job.of(1_800_000_000, 3);
        let payload = bulk.encode(std::slice::from_ref(&document)).remove(0);
        let lines = lines(&payload.bytes);
        let create = json!({"create": {"_index": "ioassay-job-2027.01.15", "_id": id(&document)}});
        assert_eq!((payload.documents, lines.len(), &lines[0]), (1, 2, &create));
        assert_eq!(lines[1]["@timestamp"], "2027-01-15T08:00:00Z");
        assert_eq!((&lines[1]["part"], &lines[1]["user_ns"]), (&json!(3), &json!(i64::MAX)));
        assert!(lines[1].get("name").is_none());
    }

    #[test]
    fn moments_are_dates_under_names_without_a_unit() {
        let mut bulk = Creations { prefix: "ioassay".to_owned() };
        let (begin_ns, end_ns) = (1_800_000_000_120_456_789, u64::MAX);
        let payload = bulk.encode(&[Phase { begin_ns, end_ns, ..Phase::default() }.of(1_800_000_002, 0)]).remove(0);
        let phase = &lines(&payload.bytes)[1];
        assert_eq!(phase["begin_time"], "2027-01-15T08:00:00.120Z");
        assert_eq!(phase["end_time"], "2554-07-21T23:34:33.709Z");
        assert!(phase.get("begin_ns").is_none() && phase.get("end_ns").is_none());
        for name in ["begin_time", "end_time"] {
            assert_eq!(mappings()["properties"][name], json!({"type": "date", "format": "strict_date_optional_time"}));
        }
    }

    #[test]
    fn what_is_there_already_is_stored_and_only_what_can_be_stored_is_sent_again() {
        let (server, mut sink) = start(|_| ("200 OK", answer(&[201, 409, 429, 400, 503])));
        let documents = documents_of(0..5);
        let payload = sink.encoder.encode(&documents).remove(0);
        let Err(Refusal::Partly { rest, documents: lost, reason, .. }) = sink.transport.send(&payload.bytes) else {
            panic!("a part is to come again");
        };
        assert_eq!(lost, 1);
        assert!(reason.contains("cannot store documents now (status 503: some_exception: why)"), "{reason}");
        let again: Vec<_> = lines(&rest).iter().step_by(2).map(|line| line["create"]["_id"].clone()).collect();
        assert_eq!(again, [id(&documents[2]), id(&documents[4])]);
        assert_eq!(server.asked().line, "GET /_index_template/ioassay");
        let asked = server.asked();
        assert!(asked.line.starts_with("POST /_bulk?filter_path=") && asked.headers.contains("content-encoding: gzip"));
        assert_eq!(asked.body, payload.bytes);
    }

    #[test]
    fn what_is_refused_for_good_is_counted_and_said() {
        let (_server, mut sink) = start(|_| ("200 OK", answer(&[201, 400])));
        let payload = sink.encoder.encode(&documents_of(0..2)).remove(0);
        let refusal = sink.transport.send(&payload.bytes).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Never { documents: 1, reason } if reason.contains("refuses documents (status 400"))
        );
    }

    #[test]
    fn a_payload_that_is_too_long_is_halved_until_it_is_not() {
        let (_server, mut sink) = start(|asked| {
            let documents = lines(&asked.body).len() / 2;
            // A single document can be too long, too: the last one is.
            let too_long = documents > 2 || lines(&asked.body).last().unwrap()["@timestamp"] == "1970-01-01T00:00:06Z";
            if too_long { ("413 Payload Too Large", String::new()) } else { ("200 OK", answer(&vec![201; documents])) }
        });
        let payload = sink.encoder.encode(&documents_of(0..7)).remove(0);
        let refusal = sink.transport.send(&payload.bytes).unwrap_err();
        assert!(matches!(refusal, Refusal::Never { documents: 1, reason } if reason.contains("document as too large")));
    }

    #[test]
    fn a_server_that_is_no_elasticsearch_is_reported() {
        for body in ["<html>welcome</html>", "{}", r#"{"errors": true}"#] {
            let (_server, mut sink) = start(move |_| ("200 OK", body.to_owned()));
            let payload = sink.encoder.encode(&documents_of(0..2)).remove(0);
            let refusal = sink.transport.send(&payload.bytes).unwrap_err();
            assert!(matches!(refusal, Refusal::Partly { rest, documents: 0, reason, .. }
                if reason.contains("does not answer as Elasticsearch does") && lines(&rest).len() == 4));
        }
    }

    #[test]
    fn a_missing_template_is_put_and_an_old_server_gets_one_of_the_old_kind() {
        for (is_old, paths) in [
            (false, &["GET /_index_template/ioassay", "PUT /_index_template/ioassay"][..]),
            (true, &["GET /_index_template/ioassay", "PUT /_index_template/ioassay", "PUT /_template/ioassay"]),
        ] {
            let server = ScriptedServer::start(move |asked| {
                let is_composable = asked.line.contains("_index_template");
                let (head, body) = match (asked.line.starts_with("GET"), is_old && is_composable) {
                    (true, _) => ("404 Not Found", "{}"),
                    (false, true) => ("400 Bad Request", r#"{"error": "no handler found for uri"}"#),
                    (false, false) => ("200 OK", r#"{"errors": false}"#),
                };
                (head.to_owned(), body.to_owned())
            });
            let mut sink = open(&server.server(), "ioassay").unwrap();
            let payload = sink.encoder.encode(&documents_of(0..1)).remove(0);
            for _ in 0..2 {
                sink.transport.send(&payload.bytes).unwrap();
            }
            for path in paths {
                let asked = server.asked();
                assert_eq!(asked.line, *path);
                if asked.line.starts_with("PUT") {
                    let template: serde_json::Value = serde_json::from_slice(&asked.body).unwrap();
                    assert_eq!(template["index_patterns"], json!(["ioassay-*"]));
                }
            }
            assert!((0..2).all(|_| server.asked().line.starts_with("POST /_bulk")));
        }
    }

    #[test]
    fn a_template_that_may_not_be_put_is_reported_and_nothing_is_stored_without_it() {
        let server = ScriptedServer::start(|_| ("403 Forbidden".to_owned(), "no".to_owned()));
        let mut sink = open(&server.server(), "ioassay").unwrap();
        let payload = sink.encoder.encode(&documents_of(0..1)).remove(0);
        let refusal = sink.transport.send(&payload.bytes).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Later { reason, .. } if reason.starts_with("index template ioassay: Elastic"))
        );
    }

    #[test]
    fn a_template_that_cannot_be_looked_for_is_not_replaced() {
        let server = ScriptedServer::start(|asked| {
            let head = if asked.line.starts_with("GET") { "503 Service Unavailable" } else { "200 OK" };
            (head.to_owned(), "{}".to_owned())
        });
        let mut sink = open(&server.server(), "ioassay").unwrap();
        let payload = sink.encoder.encode(&documents_of(0..1)).remove(0);
        for _ in 0..2 {
            assert!(matches!(sink.transport.send(&payload.bytes), Err(Refusal::Later { .. })));
            assert!(server.asked().line.starts_with("GET "));
        }
    }

    #[test]
    fn documents_wait_while_an_operator_can_make_room() {
        for (kind, reason) in [
            ("index_closed_exception", "closed"),
            (
                "validation_exception",
                "this action would add [2] shards, but this cluster currently has [1000]/[1000] maximum shards open;",
            ),
        ] {
            let (_server, mut sink) = start(move |_| {
                let error = json!({"type": kind, "reason": reason});
                ("200 OK", json!({"errors": true, "items": [{"create": {"status": 400, "error": error}}]}).to_string())
            });
            let payload = sink.encoder.encode(&documents_of(0..1)).remove(0);
            let refusal = sink.transport.send(&payload.bytes).unwrap_err();
            assert!(matches!(refusal, Refusal::Partly { documents: 0, .. }), "{refusal:?}");
        }
    }

    #[test]
    fn a_prefix_that_cannot_begin_the_name_of_an_index_is_refused() {
        let server = ScriptedServer::start(|_| (String::new(), String::new())).server();
        for prefix in ["", "Upper", "_under", "a*b", "ä", ".hidden", "a b"] {
            assert!(open(&server, prefix).is_err(), "{prefix}");
        }
        assert!(open(&server, "site-1.ioassay").is_ok());
    }

    #[test]
    fn bytes_that_another_version_left_in_the_spool_are_given_up() {
        let (_server, mut sink) = start(|_| ("200 OK", String::new()));
        assert!(matches!(sink.transport.send(b"no gzip"), Err(Refusal::Never { .. })));
    }
}
