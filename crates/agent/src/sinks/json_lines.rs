//! JSON lines: an object for each document, on standard output or in a file for each node.

use std::fs::{DirBuilder, File, OpenOptions, rename};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_protocol::watch::document::Document;
use serde::Serializer;
use serde::ser::SerializeMap;

use super::{Encoder, Payload, Refusal, Sink, SinkError, Transport, directory_name, entries, file_name, id, moment};

/// A file is set aside when it is so long, in bytes; the one that was set aside before is replaced.
const FILE_BYTES: u64 = 64 << 20;

/// The sink of a node: in `directory`, or on standard output.
pub fn open(directory: Option<&Path>, node: &str) -> Result<Sink, SinkError> {
    let (about, transport): (String, Box<dyn Transport>) = match directory {
        None => {
            let output = io::stdout().as_fd().try_clone_to_owned();
            let output = output.map_err(|error| SinkError(format!("standard output cannot be used: {error}")))?;
            ("standard output".to_owned(), Box::new(Output { to: File::from(output), written: 0, closed: false }))
        }
        Some(directory) => {
            let created = DirBuilder::new().recursive(true).mode(0o755).create(directory);
            created.map_err(|error| {
                SinkError(format!("{} cannot be created: {error}; name a directory to write to", directory.display()))
            })?;
            let path = directory.join(format!("{}.jsonl", file_name(node)));
            (path.display().to_string(), Box::new(Rotated { path, most_bytes: FILE_BYTES }))
        }
    };
    Ok(Sink {
        name: format!("JSON lines on {about}"),
        directory: directory_name("json-lines", &about),
        encoder: Box::new(Lines),
        transport,
    })
}

struct Lines;

impl Encoder for Lines {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let mut bytes = Vec::new();
        for document in documents {
            line(&mut bytes, document).expect("a document has nothing that JSON cannot say");
        }
        vec![Payload::of(documents, bytes)]
    }
}

fn line(bytes: &mut Vec<u8>, document: &Document) -> serde_json::Result<()> {
    let mut to = serde_json::Serializer::new(&mut *bytes);
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("kind", document.kind.name)?;
    map.serialize_entry("time", &moment(document).to_string())?;
    map.serialize_entry("second", &document.second)?;
    map.serialize_entry("part", &document.part)?;
    map.serialize_entry("id", &id(document))?;
    entries(&mut map, document)?;
    map.end()?;
    bytes.push(b'\n');
    Ok(())
}

/// Standard output.
struct Output {
    to: File,
    /// How much of the payload that comes again is already written.
    written: usize,
    /// Its reader is gone.
    closed: bool,
}

impl Transport for Output {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        while !self.closed && self.written < payload.len() {
            match self.to.write(&payload[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
                Err(error) => return Err(Refusal::later(format!("standard output cannot be written: {error}"))),
            }
        }
        let rest = &payload[std::mem::take(&mut self.written)..];
        if rest.is_empty() {
            return Ok(());
        }
        let documents = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
        let reason = "standard output was closed by its reader; documents for it are dropped".to_owned();
        Err(Refusal::Never { reason, documents })
    }
}

/// A file that is set aside when it is long.
struct Rotated {
    path: PathBuf,
    most_bytes: u64,
}

impl Rotated {
    fn write(&self, payload: &[u8]) -> io::Result<()> {
        let (mut file, mut length) = self.open()?;
        if length > 0 && length + payload.len() as u64 > self.most_bytes {
            rename(&self.path, self.path.with_added_extension("1"))?;
            (file, length) = self.open()?;
        }
        // An agent died while it wrote: what follows is a line of its own.
        let mut last = *b"\n";
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        let separate = if last == *b"\n" { &b""[..] } else { b"\n" };
        let written = file.write_all(separate).and_then(|()| file.write_all(payload));
        if written.is_err() {
            // It comes again as a whole.
            file.set_len(length)?;
        }
        written
    }

    fn open(&self) -> io::Result<(File, u64)> {
        let mut how = OpenOptions::new();
        how.create(true).read(true).append(true).mode(0o644).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = how.open(&self.path)?;
        let about = file.metadata()?;
        if about.is_file() { Ok((file, about.size())) } else { Err(io::Error::other("it is no regular file")) }
    }
}

impl Transport for Rotated {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        self.write(payload).map_err(|error| {
            let path = self.path.display();
            Refusal::later(format!("{path} cannot be written: {error}; check the directory's space and permissions"))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ioassay_protocol::watch::kinds::{InFlight, Io, Job};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tempfile::tempdir;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<Value> {
        serde_json::Deserializer::from_slice(bytes).into_iter().collect::<Result<_, _>>().unwrap()
    }

    fn payload(documents: &[Document]) -> Vec<u8> {
        Lines.encode(documents).remove(0).bytes
    }

    #[test]
    fn a_line_says_everything_that_a_document_knows() {
        let io = Io { node: "n1".into(), job: "7".into(), class: "read".into(), calls: u64::MAX, ..Io::default() };
        let job = Job { node: "n1".into(), name: None, ..Job::default() };
        let lines = read(&payload(&[io.of(1_800_000_000, 2), job.of(1_800_000_000, 0)]));
        assert_eq!(
            lines[0],
            json!({
                "kind": "io", "time": "2027-01-15T08:00:00Z", "second": 1_800_000_000, "part": 2,
                "id": "6068bb3fefd134a107b4b6803c234b45", "node": "n1", "job": "7", "user": "", "class": "read",
                "calls": u64::MAX, "bytes": 0, "busy_ns": 0, "slowest_ns": 0,
            })
        );
        assert!(lines[1].get("name").is_none());
    }

    proptest! {
        #[test]
        fn any_text_can_be_read_back(file in any::<String>(), job in any::<String>(), since_ns: u64) {
            let call = InFlight { file: file.clone(), job: job.clone(), since_ns, ..InFlight::default() };
            let bytes = payload(&[call.of(0, 0)]);
            prop_assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
            let line = &read(&bytes)[0];
            prop_assert_eq!((&line["file"], &line["job"], &line["since_ns"]), (&json!(file), &json!(job), &json!(since_ns)));
        }
    }

    #[test]
    fn a_file_is_set_aside_when_it_is_long() {
        let directory = tempdir().unwrap();
        let mut file = Rotated { path: directory.path().join("n1.jsonl"), most_bytes: 10 };
        for line in ["{1}\n", "{2}\n", "{3}\n", "{4}\n", "{5}\n"] {
            file.send(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(directory.path().join("n1.jsonl")).unwrap(), "{5}\n");
        assert_eq!(fs::read_to_string(directory.path().join("n1.jsonl.1")).unwrap(), "{3}\n{4}\n");
    }

    #[test]
    fn a_line_that_was_cut_does_not_spoil_the_next_one() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("n1.jsonl");
        fs::write(&path, "{\"kind\":").unwrap();
        Rotated { path: path.clone(), most_bytes: 100 }.send(b"{}\n").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "{\"kind\":\n{}\n");
    }

    #[test]
    fn a_link_or_a_device_in_the_place_of_the_file_is_refused() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("n1.jsonl");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let refusal = Rotated { path, most_bytes: 100 }.send(b"{}\n").unwrap_err();
        assert!(matches!(refusal, Refusal::Later { reason, .. } if reason.contains("n1.jsonl cannot be written")));
        let refusal = Rotated { path: "/dev/full".into(), most_bytes: 100 }.send(b"{}\n").unwrap_err();
        assert!(matches!(refusal, Refusal::Later { reason, .. } if reason.contains("no regular file")));
    }

    #[test]
    fn a_reader_that_is_gone_ends_standard_output() {
        let (reader, writer) = nix::unistd::pipe().unwrap();
        let mut output = Output { to: File::from(writer), written: 0, closed: false };
        output.send(b"{1}\n{2}\n").unwrap();
        drop(reader);
        for _ in 0..2 {
            let refusal = output.send(b"{3}\n{4}\n{5}\n").unwrap_err();
            assert!(
                matches!(refusal, Refusal::Never { documents: 3, reason } if reason.contains("closed by its reader"))
            );
        }
    }

    #[test]
    fn a_full_standard_output_goes_on_where_it_was() {
        let (reader, writer) = nix::unistd::pipe().unwrap();
        nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
        let mut output = Output { to: File::from(writer), written: 0, closed: false };
        let payload = vec![b'x'; 1 << 20];
        let mut reader = File::from(reader);
        let mut read = 0;
        let mut part = vec![0; 1 << 20];
        while output.send(&payload).is_err() {
            read += io::Read::read(&mut reader, &mut part).unwrap();
        }
        drop(output);
        read += io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap();
        assert_eq!(read, payload.len());
    }
}
