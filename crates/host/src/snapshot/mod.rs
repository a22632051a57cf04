//! A snapshot: what tuning needs to know of this node, collected into an archive, without secrets.
//!
//! It has the environment that every run records, and beside it the files and the output of commands from which more can be
//! read later. Everything is read once, and nothing is changed. Not here: what a setting should be, waiting for a target that
//! does not respond.
//!
//! How to add a file or a command: `docs/development/tuning.md`.

mod archive;
mod collector;
mod commands;
mod files;
mod pattern;
mod secrets;

use std::io::{self, Write};
use std::path::Path;

use ioassay_protocol::environment::Environment;
use ioassay_protocol::snapshot::{Kind, MEMBER, Snapshot as Document, VERSION};
use serde_json::Value;

use self::archive::Archive;
pub use self::collector::reason;
use self::collector::{Bounds, Collector};
pub use self::commands::Programs;
use crate::clock;

/// What a snapshot is taken of.
#[derive(Debug)]
pub struct Request<'a> {
    /// The root of the node's files.
    pub root: &'a Path,
    /// The directory or block device that I/O goes to, as an absolute path.
    pub target: Option<&'a Path>,
    /// Why the target could not be examined, if so.
    pub target_problem: Option<String>,
    /// The node, with the file system under the target.
    pub environment: Environment,
    /// Which programs there are.
    pub programs: Programs,
    /// Version of the program that takes it.
    pub engine_version: &'a str,
}

/// A snapshot in memory.
#[derive(Debug)]
pub struct Snapshot {
    document: Document,
    archive: Archive,
}

/// Takes a snapshot. What is missing is left out, and what cannot be read is listed.
pub fn take(request: Request<'_>) -> Snapshot {
    let Request { root, target, target_problem, environment, programs, engine_version } = request;
    let taken_unix_ns = clock::unix_ns();
    let mut collector = Collector::new(root, Bounds::default());
    // Before the files, which may exhaust the bounds on a node with very many devices.
    let commands = commands::run(&programs, &environment, target, &mut collector);
    files::collect(&mut collector);
    let target = target.map(|target| target.to_string_lossy().into_owned());
    if let (Some(target), Some(reason)) = (&target, target_problem) {
        collector.list(target.trim_start_matches('/'), reason);
    }
    let (archive, unreadable) = collector.finish();
    let document = Document {
        kind: Kind::Snapshot,
        version: VERSION,
        host: environment.host.clone(),
        boot_id: environment.boot_id.clone(),
        taken_unix_ns,
        engine_version: engine_version.to_owned(),
        target,
        environment: without_secrets(environment),
        unreadable,
        commands,
    };
    Snapshot { document, archive }
}

impl Snapshot {
    /// Writes it as a tar file that is compressed by gzip.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut document = serde_json::to_string_pretty(&self.document).expect("a document of plain values");
        document.push('\n');
        self.archive.write((MEMBER, document.as_bytes()), self.document.taken_unix_ns / 1_000_000_000, out)
    }
}

/// Mount options may have passwords.
fn without_secrets(environment: Environment) -> Environment {
    let value = serde_json::to_value(environment).expect("a document of plain values");
    serde_json::from_value(redacted(value)).expect("the same document with other text")
}

fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(secrets::redacted(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(redacted).collect()),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, redacted(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests;
