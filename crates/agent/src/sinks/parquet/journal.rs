//! The documents of a Parquet file to come, as lines of JSON: `KIND/.NAME.journal`.
//!
//! The first line has the names of the fields, each other one a document's second, part and values. The agent that writes it has it
//! locked, and it goes when the file is there. Nothing is forced onto the medium: a journal survives the agent, and not necessarily
//! the node, as with other sinks.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use ioassay_host::locks;
use ioassay_protocol::watch::document::{Document, FieldKind, Kind, Value};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::is_text;
use crate::sinks::kinds;

/// Names of journals end with it.
const EXTENSION: &str = ".journal";
/// A longer one is not read.
const MOST_BYTES: u64 = 256 << 20;
/// Where a file system has no locks, one that was not written to for so long is nobody's any more.
const ABANDONED: Duration = Duration::from_secs(60);

/// A journal that is being written.
pub struct Journal {
    file: File,
    /// The name of the file to come.
    pub name: String,
    lines: Vec<u8>,
}

impl Journal {
    /// Begins the journal of a file to come. Where one of that name is there, the file gets another name.
    pub fn begin(directory: &Path, kind: &'static Kind, name: &str) -> io::Result<Self> {
        let directory = directory.join(kind.name);
        match std::fs::create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for number in 0_u32.. {
            let name = if number == 0 { name.to_owned() } else { format!("{name}-{number}") };
            let mut how = OpenOptions::new();
            how.append(true).create_new(true).mode(0o644);
            let file = match how.open(directory.join(format!(".{name}{EXTENSION}"))) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            // Where there are no locks, its age says whether it is in use.
            let _ = locks::lock(&file);
            let fields: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
            let mut journal = Self { file, name, lines: Vec::new() };
            journal.line(&fields);
            return Ok(journal);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Adds a document, which [`Self::write`] writes.
    pub fn add(&mut self, document: &Document) {
        self.line(&(document.second, document.part, &document.values));
    }

    fn line<T: serde::Serialize>(&mut self, line: &T) {
        serde_json::to_writer(&mut self.lines, line).expect("a document has nothing that JSON cannot say");
        self.lines.push(b'\n');
    }

    /// Writes what was added. Where that fails, nothing more is lost than without a journal.
    pub fn write(&mut self) {
        let _ = self.file.write_all(&std::mem::take(&mut self.lines));
    }
}

/// Removes the journal of a file that is there.
pub fn remove(directory: &OwnedFd, name: &str) {
    let _ = unlinkat(directory, format!(".{name}{EXTENSION}").as_str(), UnlinkatFlags::NoRemoveDir);
}

/// What agents of a node left that have gone: the name of each file, and its documents.
pub fn left_behind(directory: &Path, node: &str) -> Vec<(String, Vec<Document>)> {
    let mut left = Vec::new();
    for kind in kinds() {
        let directory = directory.join(kind.name);
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let file_name = entry.file_name();
            let name = file_name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(EXTENSION));
            let Some(name) = name.filter(|name| is_of_node(name, node)) else { continue };
            let Some(documents) = abandoned(&entry.path()).and_then(|file| read(file, kind)) else { continue };
            if documents.is_empty() {
                let _ = std::fs::remove_file(entry.path());
            } else {
                left.push((name.to_owned(), documents));
            }
        }
    }
    left.sort_by(|(first, _), (other, _)| first.cmp(other));
    left
}

/// Whether a name is that of a node's file: `NODE-SECOND` or `NODE-SECOND-NUMBER`.
fn is_of_node(name: &str, node: &str) -> bool {
    let numbers = name.strip_prefix(node).and_then(|rest| rest.strip_prefix('-'));
    numbers.is_some_and(|numbers| numbers.split('-').all(|number| number.bytes().all(|byte| byte.is_ascii_digit())))
}

/// A journal, if nobody writes to it any more.
fn abandoned(path: &Path) -> Option<File> {
    let mut how = OpenOptions::new();
    let file = how.read(true).append(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let about = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let is_nobodys = match locks::lock(&file) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
        Err(_) => about.modified().ok()?.elapsed().is_ok_and(|age| age > ABANDONED),
    };
    is_nobodys.then_some(file)
}

/// The documents of a journal, up to a line that was cut off; `None`: it is no journal.
fn read(file: File, kind: &'static Kind) -> Option<Vec<Document>> {
    let mut lines = BufReader::new(file.take(MOST_BYTES)).split(b'\n').map_while(Result::ok);
    let Some(first) = lines.next() else { return Some(Vec::new()) };
    let fields: Vec<String> = serde_json::from_slice(&first).ok()?;
    let places: Vec<_> = kind.fields.iter().map(|field| fields.iter().position(|name| name == field.name)).collect();
    let document = |line: Vec<u8>| {
        let (second, part, values): (u64, u32, Vec<serde_json::Value>) = serde_json::from_slice(&line).ok()?;
        let value = |(field, place): (&ioassay_protocol::watch::document::Field, &Option<usize>)| {
            value(field.kind, place.and_then(|place| values.get(place)))
        };
        Some(Document { kind, second, part, values: kind.fields.iter().zip(&places).map(value).collect() })
    };
    Some(lines.map_while(document).collect())
}

/// A value of the type that a field has.
fn value(kind: FieldKind, value: Option<&serde_json::Value>) -> Value {
    match value {
        Some(serde_json::Value::String(text)) if is_text(kind) => Value::Text(text.clone()),
        Some(serde_json::Value::Number(number)) if !is_text(kind) => {
            number.as_u64().map_or(Value::Missing, Value::Number)
        }
        _ => Value::Missing,
    }
}
