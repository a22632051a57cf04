//! Parquet files, a directory for each kind of documents: nothing but a file system is needed to keep them.
//!
//! A file is whole or not there. Until it is, its documents stand as lines in a journal beside it ([`journal`]), of which the next
//! agent makes the file if this one is killed.

mod journal;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ioassay_protocol::watch::document::{Document, FieldKind, Kind, Value};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open as open_path, openat, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use self::journal::Journal;
use super::{Encoder, Payload, Refusal, Sink, SinkError, Transport, directory_name, file_name};

/// Documents in memory at most: files are closed early then.
const ROWS: usize = 50_000;

/// The sink that writes to `directory`, where files are closed after `file_s` seconds.
pub fn open(directory: &Path, file_s: u32, node: &str) -> std::result::Result<Sink, SinkError> {
    let shown = directory.display();
    let created = DirBuilder::new().recursive(true).mode(0o755).create(directory);
    created.map_err(|error| SinkError(format!("{shown} cannot be created: {error}; name a directory to write to")))?;
    Ok(Sink {
        name: format!("Parquet files in {shown}"),
        directory: directory_name("parquet", &shown.to_string()),
        encoder: Box::new(Tables::of(directory, file_s, node)),
        transport: Box::new(Files { directory: directory.to_owned() }),
    })
}

struct Tables {
    directory: PathBuf,
    node: String,
    file_s: u64,
    /// Rows that are not in a file yet, by kind.
    tables: BTreeMap<&'static str, Table>,
    /// Whether what agents before left was looked for.
    has_recovered: bool,
}

impl Tables {
    fn of(directory: &Path, file_s: u32, node: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            node: file_name(node),
            file_s: file_s.max(1).into(),
            tables: BTreeMap::new(),
            has_recovered: false,
        }
    }

    /// The files of which an agent that was killed left the journals.
    fn recover(&mut self) -> Vec<Payload> {
        if std::mem::replace(&mut self.has_recovered, true) {
            return Vec::new();
        }
        let left = journal::left_behind(&self.directory, &self.node).into_iter();
        left.map(|(name, documents)| payload(&name, &documents)).collect()
    }
}

/// The rows of a file to come.
struct Table {
    /// Nothing where it cannot be written: the file, once it is tried, will say why.
    journal: Option<Journal>,
    name: String,
    documents: Vec<Document>,
}

impl Table {
    fn begin(directory: &Path, node: &str, first: &Document) -> Self {
        let name = format!("{node}-{}", first.second);
        let journal = Journal::begin(directory, first.kind, &name).ok();
        let name = journal.as_ref().map_or(name, |journal| journal.name.clone());
        Self { journal, name, documents: Vec::new() }
    }

    fn end(self) -> Payload {
        payload(&self.name, &self.documents)
    }
}

impl Encoder for Tables {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let mut payloads = self.recover();
        for document in documents {
            let kind = document.kind.name;
            let is_over =
                |table: &Table| second_of_look(document).abs_diff(second_of_look(&table.documents[0])) >= self.file_s;
            if self.tables.get(kind).is_some_and(is_over) {
                payloads.extend(self.tables.remove(kind).map(Table::end));
            }
            let begin = || Table::begin(&self.directory, &self.node, document);
            let table = self.tables.entry(kind).or_insert_with(begin);
            table.documents.push(document.clone());
            if let Some(journal) = &mut table.journal {
                journal.add(document);
            }
        }
        self.tables.values_mut().filter_map(|table| table.journal.as_mut()).for_each(Journal::write);
        if self.tables.values().map(|table| table.documents.len()).sum::<usize>() >= ROWS {
            payloads.extend(self.flush());
        }
        payloads
    }

    fn flush(&mut self) -> Vec<Payload> {
        let mut payloads = self.recover();
        payloads.extend(std::mem::take(&mut self.tables).into_values().map(Table::end));
        payloads
    }
}

/// The second in which a document was made: additions to earlier seconds must not close files.
fn second_of_look(document: &Document) -> u64 {
    document.second + u64::from(document.part)
}

/// A file, behind its kind and name in a line.
fn payload(name: &str, table: &[Document]) -> Payload {
    let mut bytes = format!("{} {name}\n", table[0].kind.name).into_bytes();
    write(&mut bytes, table).expect("the columns have the types of the schema");
    Payload::of(table, bytes)
}

fn write(to: &mut Vec<u8>, table: &[Document]) -> Result<()> {
    let kind = table[0].kind;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("ioassay-agent ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut file = SerializedFileWriter::new(to, schema(kind)?, Arc::new(properties))?;
    let mut rows = file.next_row_group()?;
    let seconds: Vec<i64> = table.iter().map(|document| document.second as i64).collect();
    column::<Int64Type>(&mut rows, &seconds, None)?;
    column::<Int32Type>(&mut rows, &table.iter().map(|document| document.part as i32).collect::<Vec<_>>(), None)?;
    let times: Vec<i64> = seconds.iter().map(|second| second.saturating_mul(1_000_000_000)).collect();
    column::<Int64Type>(&mut rows, &times, None)?;
    for (place, field) in kind.fields.iter().enumerate() {
        let values = || table.iter().map(|document| &document.values[place]);
        if is_text(field.kind) {
            let known = |value: &Value| match value {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                Value::Number(_) | Value::Missing => None,
            };
            optional::<ByteArrayType>(&mut rows, values().map(known))?;
        } else {
            let known = |value: &Value| match value {
                // As it is: the schema says that it has no sign. No moment is so late that it would need the bit.
                Value::Number(number) => Some(*number as i64),
                Value::Text(_) | Value::Missing => None,
            };
            optional::<Int64Type>(&mut rows, values().map(known))?;
        }
    }
    rows.close()?;
    file.close()?;
    Ok(())
}

/// A column in which values may be missing.
fn optional<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>> + Clone,
) -> Result<()> {
    let levels: Vec<i16> = values.clone().map(|value| value.is_some().into()).collect();
    column::<T>(rows, &values.flatten().collect::<Vec<_>>(), Some(&levels))
}

fn column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = rows.next_column()?.expect("there are as many columns as in the schema");
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

fn is_text(kind: FieldKind) -> bool {
    match kind {
        FieldKind::Label | FieldKind::Key | FieldKind::Text => true,
        FieldKind::Amount | FieldKind::Greatest | FieldKind::Level | FieldKind::Moment => false,
    }
}

/// The columns of a kind.
fn schema(kind: &Kind) -> Result<TypePtr> {
    let required = |name, physical, logical| {
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let time = LogicalType::timestamp(true, TimeUnit::NANOS);
    let mut columns = vec![
        required("second", Physical::INT64, None)?,
        required("part", Physical::INT32, None)?,
        required("time", Physical::INT64, Some(time))?,
    ];
    for field in kind.fields {
        let (name, physical, logical) = match field.kind {
            kind if is_text(kind) => (field.name.to_owned(), Physical::BYTE_ARRAY, LogicalType::String),
            FieldKind::Moment => (field.time_name(), Physical::INT64, LogicalType::timestamp(true, TimeUnit::NANOS)),
            _ => (field.name.to_owned(), Physical::INT64, LogicalType::integer(64, false)),
        };
        let column = Type::primitive_type_builder(&name, physical).with_repetition(Repetition::OPTIONAL);
        columns.push(Arc::new(column.with_logical_type(Some(logical)).build()?));
    }
    Ok(Arc::new(Type::group_type_builder(kind.name).with_fields(columns).build()?))
}

struct Files {
    directory: PathBuf,
}

impl Transport for Files {
    fn send(&mut self, payload: &[u8]) -> std::result::Result<(), Refusal> {
        let head = payload.iter().position(|byte| *byte == b'\n').map(|end| payload.split_at(end));
        let named = head.and_then(|(head, file)| Some((std::str::from_utf8(head).ok()?.split_once(' ')?, &file[1..])));
        let Some(((kind, name), file)) = named else {
            return Err(Refusal::of_another_version());
        };
        self.keep(kind, name, file).map_err(|error| {
            let place = self.directory.join(kind);
            let place = place.display();
            Refusal::later(format!("{place} cannot be written: {error}; check the directory's space and permissions"))
        })
    }
}

impl Files {
    /// Writes a file under another name, and names it when it is whole. One that is there already is not replaced.
    fn keep(&self, kind: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let above = open_path(&self.directory, OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        match mkdirat(&above, kind, Mode::from_bits_truncate(0o755)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let directory = openat(&above, kind, OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
        let Some(free) = free(&directory, name, bytes)? else {
            journal::remove(&directory, name);
            return Ok(());
        };
        let new = format!(".{name}.{}", std::process::id());
        let flags = OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut file = File::from(openat(&directory, new.as_str(), flags, Mode::from_bits_truncate(0o644))?);
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        let named = written.and_then(|()| Ok(renameat(&directory, new.as_str(), &directory, free.as_str())?));
        match named {
            Ok(()) => journal::remove(&directory, name),
            Err(_) => drop(unlinkat(&directory, new.as_str(), UnlinkatFlags::NoRemoveDir)),
        }
        named
    }
}

/// A name that no file has yet; `None`: one of them is just this file.
fn free(directory: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<Option<String>> {
    for number in 0_u32.. {
        let name = if number == 0 { format!("{name}.parquet") } else { format!("{name}-{number}.parquet") };
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let there = match openat(directory, name.as_str(), flags, Mode::empty()) {
            Ok(there) => there,
            Err(Errno::ENOENT) => return Ok(Some(name)),
            // Whatever it is, it stays.
            Err(Errno::ELOOP | Errno::EACCES) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut same = Vec::new();
        File::from(there).take(bytes.len() as u64 + 1).read_to_end(&mut same)?;
        if same == bytes {
            return Ok(None);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bytes::Bytes;
    use ioassay_protocol::watch::kinds::{Io, Job, Phase};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use tempfile::tempdir;

    use super::*;

    fn io(second: u64) -> Document {
        Io { node: "n1".into(), calls: u64::MAX, ..Io::default() }.of(second, 3)
    }

    /// Tables whose journals cannot be written.
    fn tables(file_s: u32) -> Tables {
        Tables::of(Path::new("/nonexistent"), file_s, "n1")
    }

    fn head(payload: &Payload) -> (String, u64) {
        (String::from_utf8_lossy(&payload.bytes).lines().next().unwrap().to_owned(), payload.documents)
    }

    #[test]
    fn files_are_closed_after_their_time_at_the_end_and_when_they_are_long() {
        let mut encoder = tables(60);
        assert_eq!(encoder.encode(&[io(5), io(6), Job::default().of(60, 0), io(64)]), []);
        let closed: Vec<_> = encoder.encode(&[io(65)]).iter().map(head).collect();
        assert_eq!(closed, [("io n1-5".to_owned(), 3)]);
        let closed: Vec<_> = encoder.flush().iter().map(head).collect();
        assert_eq!(closed, [("io n1-65".to_owned(), 1), ("job n1-60".to_owned(), 1)]);
        assert_eq!(encoder.flush(), []);
        let long = encoder.encode(&vec![io(7); ROWS]);
        assert_eq!(head(&long[0]), ("io n1-7".to_owned(), ROWS as u64));
    }

    #[test]
    fn additions_to_seconds_long_ago_close_no_file() {
        let mut encoder = tables(60);
        // A call of ten minutes has ended.
        for now in 1000..1050 {
            let late: Vec<_> = (0..600).map(|late| Io::default().of(now - late, late as u32)).collect();
            assert_eq!(encoder.encode(&late), []);
        }
        assert_eq!(encoder.flush().len(), 1);
    }

    #[test]
    fn moments_are_timestamps() {
        let phase =
            Phase { begin_ns: 1_800_000_000_123_456_789, end_ns: 1_800_000_001_000_000_000, ..Phase::default() };
        let mut bytes = Vec::new();
        write(&mut bytes, &[phase.of(1_800_000_001, 0)]).unwrap();
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        for name in ["begin_time", "end_time"] {
            let column = schema.columns().iter().find(|column| column.name() == name).unwrap();
            assert_eq!(column.logical_type_ref(), Some(&LogicalType::timestamp(true, TimeUnit::NANOS)));
        }
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        let begin = row.get_column_iter().find(|(name, _)| *name == "begin_time").unwrap().1.clone();
        assert_eq!(begin, Field::Long(1_800_000_000_123_456_789));
    }

    #[test]
    fn a_file_says_what_its_documents_say() {
        let job = Job { node: "n1".into(), command: "a\n\"ä".into(), name: None, user_ns: 7, ..Job::default() };
        let named = Job { name: Some("solver".into()), ..Job::default() };
        let mut bytes = Vec::new();
        write(&mut bytes, &[job.of(1_800_000_000, 2), named.of(1_800_000_001, 0)]).unwrap();
        let reader = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(std::result::Result::unwrap).collect();
        let value = |row: usize, name: &str| {
            rows[row].get_column_iter().find(|(other, _)| *other == name).map(|(_, field)| field.clone()).unwrap()
        };
        assert_eq!((value(0, "second"), value(0, "part")), (Field::Long(1_800_000_000), Field::Int(2)));
        assert_eq!((value(0, "command"), value(0, "name")), (Field::Str("a\n\"ä".into()), Field::Null));
        assert_eq!((value(0, "user_ns"), value(1, "name")), (Field::ULong(7), Field::Str("solver".into())));
    }

    #[test]
    fn a_file_that_comes_again_is_kept_once_and_another_of_its_name_beside_it() {
        let directory = tempdir().unwrap();
        let mut files = Files { directory: directory.path().to_owned() };
        for second in [5, 5, 6] {
            let mut table = vec![io(5)];
            table.extend((second > 5).then(|| io(second)));
            files.send(&payload("n1-5", &table).bytes).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(directory.path().join("io"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["n1-5-1.parquet", "n1-5.parquet"]);
    }

    /// The seconds in all files of a kind, in order.
    fn seconds(directory: &Path) -> Vec<i64> {
        let files = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "parquet"));
        let rows = files.flat_map(|path| SerializedFileReader::new(File::open(path).unwrap()).unwrap().into_iter());
        let mut seconds: Vec<_> = rows
            .map(|row| match row.unwrap().get_column_iter().next() {
                Some((_, Field::Long(second))) => *second,
                other => panic!("{other:?}"),
            })
            .collect();
        seconds.sort_unstable();
        seconds
    }

    /// What a directory holds, by name.
    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn no_second_is_lost_with_an_agent_that_was_killed() {
        let place = tempdir().unwrap();
        let mut killed = Tables::of(place.path(), 60, "n1");
        for second in 5..30 {
            assert_eq!(killed.encode(&[io(second), Job { node: "n1".into(), ..Job::default() }.of(second, 0)]), []);
        }
        // While it lives, its journals are its own.
        let mut other = Tables::of(place.path(), 60, "n1");
        assert_eq!(other.encode(&[]), []);
        // The kernel closes the files of a killed process, and nothing else happens.
        drop(killed);
        let mut next = open(place.path(), 60, "n1").unwrap();
        let mut payloads = next.encoder.encode(&[io(31)]);
        payloads.extend(next.encoder.flush());
        for payload in &payloads {
            next.transport.send(&payload.bytes).unwrap();
        }
        assert_eq!(seconds(&place.path().join("io")), [(5..30).collect::<Vec<_>>(), vec![31]].concat());
        assert_eq!(seconds(&place.path().join("job")), (5..30).collect::<Vec<_>>());
        assert_eq!(names(&place.path().join("io")), ["n1-31.parquet", "n1-5.parquet"]);
        assert_eq!(payloads.iter().map(|payload| payload.documents).sum::<u64>(), 51);
    }

    #[test]
    fn a_file_that_waits_in_the_spool_and_whose_journal_is_there_is_kept_once() {
        let place = tempdir().unwrap();
        let mut killed = Tables::of(place.path(), 60, "n1");
        killed.encode(&[io(5), io(6)]);
        let spooled = killed.flush();
        let mut next = open(place.path(), 60, "n1").unwrap();
        let recovered = next.encoder.encode(&[]);
        assert_eq!(recovered, spooled);
        for payload in spooled.iter().chain(&recovered) {
            next.transport.send(&payload.bytes).unwrap();
        }
        assert_eq!(names(&place.path().join("io")), ["n1-5.parquet"]);
    }

    #[test]
    fn a_journal_that_is_cut_off_or_foreign_costs_no_more_than_its_last_line() {
        let place = tempdir().unwrap();
        let mut killed = Tables::of(place.path(), 60, "n1");
        killed.encode(&[io(5), io(6)]);
        drop(killed);
        let directory = place.path().join("io");
        let journal = directory.join(".n1-5.journal");
        let text = fs::read(&journal).unwrap();
        fs::write(&journal, &text[..text.len() - 3]).unwrap();
        fs::write(directory.join(".n1-7.journal"), "no journal\n").unwrap();
        fs::write(directory.join(".n1-8.journal"), "").unwrap();
        fs::write(directory.join(".n2-5.journal"), &text).unwrap();
        std::os::unix::fs::symlink(directory.join(".n2-5.journal"), directory.join(".n1-9.journal")).unwrap();
        let recovered = Tables::of(place.path(), 60, "n1").encode(&[]);
        assert_eq!(recovered.iter().map(head).collect::<Vec<_>>(), [("io n1-5".to_owned(), 1)]);
        // What is another node's or no journal stays, and an empty one goes.
        assert_eq!(names(&directory), [".n1-5.journal", ".n1-7.journal", ".n1-9.journal", ".n2-5.journal"]);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_reported_and_leaves_nothing_behind() {
        let directory = tempdir().unwrap();
        fs::write(directory.path().join("io"), "").unwrap();
        let mut files = Files { directory: directory.path().to_owned() };
        let refusal = files.send(&payload("n1-5", &[io(5)]).bytes).unwrap_err();
        assert!(matches!(refusal, Refusal::Later { reason, .. } if reason.contains("io cannot be written")));
        assert!(matches!(files.send(b"no head"), Err(Refusal::Never { .. })));
    }
}
