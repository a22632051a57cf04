//! InfluxDB, as line protocol; VictoriaMetrics takes it too.
//!
//! Labels become tags, all other fields fields. A line that is sent again has the same tags and the same moment, and replaces
//! itself.

use ioassay_protocol::watch::document::{Document, FieldKind, Value};
use ioassay_protocol::watch::setup::Server;
use reqwest::Method;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};

use super::batch::{self, Bulk, Outcome, packed};
use super::http::{Answer, Store};
use super::{Encoder, Payload, Refusal, Sink, SinkError, Transport, directory_name};

/// InfluxDB takes texts of 64 KiB, with what belongs to them.
const TEXT_BYTES: usize = 32 << 10;
/// Parameters of requests that are secrets.
const SECRETS: [&str; 3] = ["u", "p", "token"];

/// The sink at `server`. `query` says where documents go there, `path` is that of the interface.
pub fn open(server: &Server, query: &str, path: &str) -> Result<Sink, SinkError> {
    let parameters: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    if let Some((secret, _)) = parameters.iter().find(|(name, _)| SECRETS.contains(&&**name)) {
        return Err(SinkError(format!(
            "the query of InfluxDB has {secret}=; put secrets into a file and name it with `credentials`"
        )));
    }
    if parameters.iter().any(|(name, value)| name == "precision" && !matches!(&**value, "n" | "ns")) {
        return Err(SinkError(
            "the query of InfluxDB has a precision; documents have nanoseconds: leave it out".to_owned(),
        ));
    }
    let place = |name: &str| parameters.iter().find(|(other, _)| other == name).map(|(_, value)| value.to_string());
    let create = match (place("bucket"), place("org"), place("db")) {
        (Some(bucket), org, _) => {
            format!("influx bucket create --name {bucket} --org {}", org.as_deref().unwrap_or("ORGANISATION"))
        }
        (None, _, database) => {
            format!("influx -execute 'CREATE DATABASE {}'", database.as_deref().unwrap_or("DATABASE"))
        }
    };
    let scheme = if path.contains("/v2/") { "Token" } else { "Bearer" };
    let store = Store::open("InfluxDB", server, scheme)?;
    Ok(Sink {
        name: store.name(),
        directory: directory_name("influxdb", &format!("{} {path} {query}", store.name())),
        encoder: Box::new(Lines),
        transport: Box::new(Write { store, path: format!("{path}?{query}"), create }),
    })
}

struct Lines;

impl Encoder for Lines {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let mut lines = String::new();
        for document in documents {
            line(&mut lines, document);
        }
        vec![Payload::of(documents, packed(lines.as_bytes()))]
    }
}

fn line(to: &mut String, document: &Document) {
    to.push_str(document.kind.name);
    for (field, value) in document.fields().filter(|(field, _)| field.kind == FieldKind::Label) {
        if let Value::Text(text) = value
            && !text.is_empty()
        {
            to.extend([",", field.name, "="]);
            tag(to, text);
        }
    }
    let mut separator = ' ';
    for (field, value) in document.fields().filter(|(field, _)| field.kind != FieldKind::Label) {
        if *value == Value::Missing {
            continue;
        }
        to.push(separator);
        to.extend([field.name, "="]);
        match value {
            Value::Text(text) => string(to, text),
            Value::Number(number) => to.push_str(&format!("{}i", (*number).min(i64::MAX as u64))),
            Value::Missing => {}
        }
        separator = ',';
    }
    if separator == ' ' {
        // A line must have a field.
        to.push_str(&format!(" part={}i", document.part));
    }
    to.push_str(&format!(" {}\n", document.time_ns()));
}

/// A tag's value. It cannot have a backslash before what is escaped, nor what ends a line.
fn tag(to: &mut String, text: &str) {
    for letter in short(text).chars() {
        match letter {
            ',' | '=' | ' ' => to.extend(['\\', letter]),
            '\\' => to.push('/'),
            control if control.is_control() => to.push_str("\\ "),
            other => to.push(other),
        }
    }
}

/// A text in quotation marks, in one line.
fn string(to: &mut String, text: &str) {
    to.push('"');
    for letter in short(text).chars() {
        match letter {
            '"' | '\\' => to.extend(['\\', letter]),
            '\n' => to.push_str("\\\\n"),
            other => to.push(other),
        }
    }
    to.push('"');
}

fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

struct Write {
    store: Store,
    /// With its query.
    path: String,
    /// The command that creates what may be missing.
    create: String,
}

impl Transport for Write {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        batch::send(self, payload)
    }
}

impl Bulk for Write {
    const LINES: usize = 1;

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn post(&mut self, packed: Vec<u8>) -> Result<Answer, Refusal> {
        let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CONTENT_ENCODING, "gzip")];
        self.store.ask(Method::POST, &self.path, &headers, packed)
    }

    fn sort_out(&self, answer: &Answer, documents: &[&[u8]], outcome: &mut Outcome) {
        let text = String::from_utf8_lossy(&answer.body);
        let refusal = match answer.status.as_u16() {
            200..=299 if answer.body.is_empty() => return,
            200..=299 => self.store.unexpected_server(answer),
            404 if text.contains("not found") => {
                Refusal::later(format!("{}; create it: {}", self.store.complaint(answer), self.create))
            }
            // All other lines are stored.
            400 | 422 if text.contains("partial write") => {
                let dropped = text.rsplit_once("dropped=").map_or("", |(_, rest)| rest);
                let digits = dropped.trim_start_matches(|letter: char| !letter.is_ascii_digit());
                let digits = digits.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
                let dropped = digits.parse().unwrap_or(0).max(text.matches("unable to parse").count() as u64).max(1);
                Refusal::Never { reason: self.store.complaint(answer), documents: dropped }
            }
            _ => self.store.refusal(answer, documents.len() as u64),
        };
        outcome.add(refusal, &documents.concat());
    }
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::watch::kinds::{InFlight, Io, Job};
    use proptest::prelude::*;

    use super::*;
    use crate::sinks::batch::unpacked;
    use crate::sinks::scripted_server::ScriptedServer;

    fn lines(documents: &[Document]) -> String {
        String::from_utf8(unpacked(&Lines.encode(documents)[0].bytes).unwrap()).unwrap()
    }

    #[test]
    fn labels_become_tags_numbers_whole_numbers_and_texts_strings() {
        let io = Io { node: "n 1".into(), job: "a,b=c".into(), calls: 7, bytes: u64::MAX, ..Io::default() };
        let job = Job { node: "n1".into(), command: "say \"a\\b\"\nc".into(), name: None, ..Job::default() };
        let text = lines(&[io.of(1_800_000_000, 2), job.of(0, 0)]);
        let [io, job] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(
            io,
            "io,node=n\\ 1,job=a\\,b\\=c calls=7i,bytes=9223372036854775807i,busy_ns=0i,slowest_ns=0i 1800000000000000002"
        );
        assert!(job.starts_with(r#"job,node=n1 command="say \"a\\b\"\\nc",processes=0i,"#), "{job}");
    }

    /// Tags and fields of a line, read as the protocol says: a backslash escapes what is special where it stands.
    fn read(line: &str) -> Vec<(String, String)> {
        let (mut parts, mut part, mut name) = (Vec::new(), String::new(), String::new());
        let (mut quoted, mut in_fields) = (false, false);
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            let escapable = if quoted { "\"\\" } else { ",= " };
            match letter {
                '\\' if letters.peek().is_some_and(|next| escapable.contains(*next)) => part.extend(letters.next()),
                '"' if in_fields => quoted = !quoted,
                '=' if !quoted => name = std::mem::take(&mut part),
                ',' | ' ' if !quoted => {
                    parts.push((std::mem::take(&mut name), std::mem::take(&mut part)));
                    in_fields |= letter == ' ';
                }
                other => part.push(other),
            }
        }
        parts
    }

    proptest! {
        #[test]
        fn any_text_can_be_read_back(job in any::<String>(), file in any::<String>(), since_ns: u64) {
            let call = InFlight { job: job.clone(), file: file.clone(), since_ns, ..InFlight::default() };
            let text = lines(&[call.of(7, 0)]);
            prop_assert_eq!(text.matches('\n').count(), 1);
            let read = read(text.trim_end());
            let value = |name: &str| read.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
            let job: String = job.chars().map(|c| if c == '\\' { '/' } else if c.is_control() { ' ' } else { c }).collect();
            prop_assert_eq!(value("job").unwrap_or_default(), job);
            prop_assert_eq!(value("file"), Some(file.replace('\n', "\\n")));
            prop_assert_eq!(value("since_ns"), Some(format!("{}i", since_ns.min(i64::MAX as u64))));
        }
    }

    #[test]
    fn a_text_too_long_for_the_store_is_cut_between_letters() {
        let call = InFlight { file: "ä".repeat(TEXT_BYTES), ..InFlight::default() };
        assert!(lines(&[call.of(7, 0)]).len() < TEXT_BYTES + 200);
    }

    #[test]
    fn secrets_in_the_query_are_refused() {
        let server = Server { url: "http://host".into(), credentials: None, authorities: None, certificate: None };
        for query in ["db=x&u=admin", "db=x&p=hunter2", "token=hunter2", "db=x&precision=s"] {
            let error = open(&server, query, "/write").err().unwrap().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_missing_database_is_reported_with_the_command_that_creates_it() {
        for (query, path, body, command) in [
            ("db=site", "/write", r#"{"error":"database not found: \"site\""}"#, "'CREATE DATABASE site'"),
            (
                "org=lab&bucket=site",
                "/api/v2/write",
                r#"{"code":"not found","message":"bucket \"site\" not found"}"#,
                "influx bucket create --name site --org lab",
            ),
        ] {
            let server = ScriptedServer::start(move |_| ("404 Not Found".to_owned(), body.to_owned()));
            let mut sink = open(&server.server(), query, path).unwrap();
            let payload = sink.encoder.encode(&[Io::default().of(0, 0)]).remove(0);
            let refusal = sink.transport.send(&payload.bytes).unwrap_err();
            assert!(matches!(refusal, Refusal::Partly { documents: 0, reason, .. } if reason.ends_with(command)));
            assert_eq!(server.asked().line, format!("POST {path}?{query}"));
        }
    }

    #[test]
    fn of_a_partial_write_only_what_was_dropped_is_lost() {
        for (answer, lost) in [
            ("partial write: points beyond retention policy dropped=2", 2),
            ("partial write: unable to parse 'a': missing fields dropped=0", 1),
            ("unable to parse 'a': missing fields", 3),
        ] {
            let server =
                ScriptedServer::start(move |_| ("400 Bad Request".to_owned(), format!("{{\"error\":\"{answer}\"}}")));
            let mut sink = open(&server.server(), "db=x", "/write").unwrap();
            let documents: Vec<_> = (0..3).map(|second| Io::default().of(second, 0)).collect();
            let payload = sink.encoder.encode(&documents).remove(0);
            let refusal = sink.transport.send(&payload.bytes).unwrap_err();
            assert!(matches!(refusal, Refusal::Never { documents, .. } if documents == lost), "{answer}");
        }
    }

    #[test]
    fn what_is_too_long_is_halved() {
        let server = ScriptedServer::start(|asked| {
            let lines = unpacked(&asked.body).unwrap().iter().filter(|byte| **byte == b'\n').count();
            let head = if lines > 1 { "413 Request Entity Too Large" } else { "204 No Content" };
            (head.to_owned(), String::new())
        });
        let mut sink = open(&server.server(), "db=x", "/write").unwrap();
        let documents: Vec<_> = (0..5).map(|second| Io::default().of(second, 0)).collect();
        let payload = sink.encoder.encode(&documents).remove(0);
        assert_eq!(sink.transport.send(&payload.bytes), Ok(()));
    }
}
