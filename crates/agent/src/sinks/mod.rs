//! Where documents go: a file for each kind of sink, and the registry.
//!
//! A sink has two halves, each with a thread of its own: one makes payloads of documents, the other brings payloads to the
//! store. Between them payloads wait ([`crate::delivery`]).
//! Not here: when something is sent, and what happens to it while it cannot be.
//!
//! How to add one: `docs/development/agent.md`.

mod batch;
mod credentials;
mod elasticsearch;
mod http;
mod influxdb;
mod json_lines;
mod mistral_plugin;
mod parquet;
mod prometheus;
#[cfg(test)]
mod scripted_server;

use std::time::Duration;

use ioassay_protocol::watch::document::{Document, Kind, Value};
use ioassay_protocol::watch::kinds::KINDS;
use ioassay_protocol::watch::setup;
use jiff::Timestamp;
use serde::ser::SerializeMap;
use sha2::{Digest, Sha256};

use crate::node;

/// Documents as a store takes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// How many documents it is of; at least one.
    pub documents: u64,
    /// What is sent.
    pub bytes: Vec<u8>,
}

impl Payload {
    fn of(documents: &[Document], bytes: Vec<u8>) -> Self {
        Self { documents: documents.len() as u64, bytes }
    }
}

/// Makes payloads of documents.
pub trait Encoder: Send {
    /// The payloads that are ready with these documents, which are some thousand at most. A sink may keep documents for later
    /// payloads.
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload>;

    /// The payloads of what was kept. Nothing comes after it.
    fn flush(&mut self) -> Vec<Payload> {
        Vec::new()
    }
}

/// Brings payloads to a store.
pub trait Transport: Send {
    /// Sends one payload. After [`Refusal::Later`] the same one comes next; and one may come of which the store has a part, or
    /// everything.
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal>;
}

/// Why a payload was not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Temporary failure: retry later.
    Later {
        /// What happened, and what to try.
        reason: String,
        /// How long the store asks to be left alone.
        after: Option<Duration>,
    },
    /// It will not be stored, and is not tried again.
    Never {
        /// What happened, and what to try.
        reason: String,
        /// How many of its documents are lost, or more where it is not known how many there are.
        documents: u64,
    },
    /// A part of it is to be sent again, the rest is stored or lost.
    Partly {
        /// What is to be sent in its place.
        rest: Vec<u8>,
        /// How many of its documents are lost.
        documents: u64,
        /// What happened, and what to try.
        reason: String,
        /// How long the store asks to be left alone.
        after: Option<Duration>,
    },
}

impl Refusal {
    fn later(reason: String) -> Self {
        Self::Later { reason, after: None }
    }

    /// The document count is unknown.
    fn of_another_version() -> Self {
        let reason = "the spool holds what this agent cannot read, perhaps of another version".to_owned();
        Self::Never { reason, documents: u64::MAX }
    }
}

/// A sink of the setup.
pub struct Sink {
    /// What people know it by. Nothing in it is secret.
    pub name: String,
    /// What its directory in the spool is called: the same for the same store.
    pub directory: String,
    /// Makes its payloads.
    pub encoder: Box<dyn Encoder>,
    /// Brings them to the store.
    pub transport: Box<dyn Transport>,
}

/// Why a sink cannot be set up: what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(pub String);

/// The registry: the sink that `setup` describes, on a node.
pub fn open(setup: &setup::Sink, node: &str) -> Result<Sink, SinkError> {
    match setup {
        setup::Sink::JsonLines { directory } => json_lines::open(directory.as_deref(), node),
        setup::Sink::Elasticsearch { server, prefix } => elasticsearch::open(server, prefix),
        setup::Sink::Influxdb { server, query, path } => influxdb::open(server, query, path),
        setup::Sink::PrometheusRemoteWrite { server, series } => prometheus::remote_write::open(server, *series, node),
        setup::Sink::PrometheusExporter { listen, series } => prometheus::exporter::open(listen, *series, node),
        setup::Sink::Parquet { directory, file_s } => parquet::open(directory, *file_s, node),
        setup::Sink::MistralPlugin { command } => mistral_plugin::open(command),
    }
}

/// All kinds of documents: of jobs and of the node.
fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(node::KINDS.iter())
}

/// What a store knows a document by: made of its content, so that one that is sent twice is stored once.
fn id(document: &Document) -> String {
    hex(&Sha256::digest(document.identity())[..16])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name for a spool's directory: the kind of sink, and a sum of what tells it from others of the kind.
fn directory_name(kind: &str, about: &str) -> String {
    format!("{kind}-{}", hex(&Sha256::digest(about)[..4]))
}

/// What `document` says, as entries of a JSON object. What is not known is left out.
fn entries<M: SerializeMap>(map: &mut M, document: &Document) -> Result<(), M::Error> {
    let known = document.fields().filter(|(_, value)| **value != Value::Missing);
    known.into_iter().try_for_each(|(field, value)| map.serialize_entry(field.name, value))
}

/// A document's second in UTC.
fn moment(document: &Document) -> Timestamp {
    i64::try_from(document.second).ok().and_then(|second| Timestamp::from_second(second).ok()).unwrap_or(Timestamp::MAX)
}

/// A node's name as the name of a file.
fn file_name(node: &str) -> String {
    let name: String = node
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' })
        .collect();
    if name.trim_start_matches('.').is_empty() { "node".to_owned() } else { name.trim_start_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use ioassay_protocol::watch::kinds::Io;
    use tempfile::tempdir;

    use super::scripted_server::ScriptedServer;
    use super::*;

    #[test]
    fn no_kind_has_a_field_that_sinks_have_themselves() {
        for field in kinds().flat_map(|kind| kind.fields) {
            assert!(!["kind", "time", "second", "part", "id", "@timestamp"].contains(&field.name), "{}", field.name);
        }
    }

    #[test]
    fn no_sink_repeats_a_secret_whatever_its_store_answers() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("credentials");
        for text in ["token hunter2", "user me\npassword hunter2", "api-key hunter2"] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            for head in [
                "200 OK",
                "302 Found\r\nLocation: http://hunter2@host/hunter2?hunter2",
                "400 No",
                "401 No",
                "403 No",
                "404 No",
                "500 No",
            ] {
                // It repeats what it was sent.
                let scripted =
                    ScriptedServer::start(move |asked| (head.to_owned(), format!("hunter2 {}", asked.headers)));
                let server = setup::Server { credentials: Some(path.clone()), ..scripted.server() };
                for setup in [
                    setup::Sink::Elasticsearch { server: server.clone(), prefix: "ioassay".to_owned() },
                    setup::Sink::Influxdb {
                        server: server.clone(),
                        query: "db=x".to_owned(),
                        path: "/write".to_owned(),
                    },
                    setup::Sink::PrometheusRemoteWrite {
                        server: server.clone(),
                        series: setup::SeriesLimits::default(),
                    },
                ] {
                    let mut sink = open(&setup, "n1").unwrap();
                    let mut payloads = sink.encoder.encode(&[Io::default().of(1, 0)]);
                    payloads.extend(sink.encoder.flush());
                    let sent =
                        format!("{} {} {:?}", sink.name, sink.directory, sink.transport.send(&payloads[0].bytes));
                    // As it is, and with its user in base64.
                    assert!(!["hunter2", "bWU6aHVudGVyMg=="].iter().any(|secret| sent.contains(secret)), "{sent}");
                }
            }
        }
    }

    #[test]
    fn a_node_of_any_name_has_a_file_in_its_directory() {
        for (node, file) in [("n1.site-2", "n1.site-2"), ("../../etc", "_.._etc"), ("a b/c", "a_b_c"), ("..", "node")] {
            assert_eq!(file_name(node), file);
        }
    }
}
