//! Traces: every call, kept with the record and printed as JSON Lines.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use ioassay_engine::failure::{about_path, on_path};
use ioassay_engine::stdio::printed;
use ioassay_protocol::events::Failure;
use ioassay_record::read::{Table, copy};
use ioassay_record::table::{Clock, File as FileRow, Header, Thread};
use ioassay_record::trace::{Chunk, Traced};
use serde::Serialize;

use crate::tables::{self, with_suffix};

/// What is in the directory of the tables where calls are to be traced.
pub const WISH: &str = "trace";
/// Of the record's file of traces.
const SUFFIX: &str = "traces";
/// What a chunk has at most.
const LARGEST_CHUNK: usize = 1 << 20;

/// Adds the traces of processes to one file of the record, without what is unused of their chunks.
///
/// # Errors
/// If it cannot be written.
pub fn keep(traces: &[&Path], record: &Path) -> Result<(), Failure> {
    if traces.is_empty() {
        return Ok(());
    }
    let path = record.join(format!("{}.{SUFFIX}", ioassay_host::host_name()));
    let failed = |error| on_path("write", &path, &error);
    let to = OpenOptions::new().create_new(true).append(true).mode(0o644).open(&path).map_err(failed)?;
    let mut to = BufWriter::with_capacity(1 << 20, to);
    for trace in traces {
        let Ok(mut from) = tables::open(trace) else { continue };
        while let Some(used) = next_chunk(&mut from) {
            to.write_all(&used).map_err(failed)?;
        }
    }
    to.flush().map_err(failed)
}

/// The next chunk of a file, with the length that it then has. Nothing at the end, or where there is no chunk.
fn next_chunk(file: &mut impl Read) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size_of::<Chunk>()];
    file.read_exact(&mut bytes).ok()?;
    let capacity = copy::<Chunk>(&bytes)?.capacity_bytes as usize;
    if !(bytes.len()..=LARGEST_CHUNK).contains(&capacity) {
        return None;
    }
    bytes.resize(capacity, 0);
    file.read_exact(&mut bytes[size_of::<Chunk>()..]).ok()?;
    let used = Chunk::first(&bytes).ok()?.0.used_bytes.into_inner();
    bytes.truncate(used as usize);
    bytes[CAPACITY..][..size_of_val(&used)].copy_from_slice(&used.to_le_bytes());
    Some(bytes)
}

const CAPACITY: usize = std::mem::offset_of!(Chunk, capacity_bytes);

/// A call, as it is printed.
#[derive(Serialize)]
struct Line<'a> {
    begin_unix_ns: u64,
    duration_ns: u64,
    process: u32,
    thread: u32,
    operation: &'static str,
    path: &'a str,
    offset: Option<u64>,
    bytes: u64,
    errno: Option<u8>,
}

/// What of a table is needed to understand its trace.
struct Names {
    header: Header,
    files: HashMap<u32, String>,
    threads: HashMap<u32, u32>,
}

/// By process and beginning of the table.
type AllNames = HashMap<(u32, u64), Names>;

/// Prints all calls of a record, thread by thread, as JSON Lines.
///
/// # Errors
/// If there is no trace, it is damaged, or standard output takes nothing.
pub fn print(record: &Path) -> Result<(), Failure> {
    let paths = tables::list(record)?;
    let traces: Vec<_> = with_suffix(&paths, SUFFIX).collect();
    if traces.is_empty() {
        let what = format!("{} has no trace", record.display());
        return Err(about_path("read", record, what, "record it with --trace"));
    }
    let mut names = AllNames::new();
    for path in with_suffix(&paths, tables::FINISHED) {
        let bytes = fs::read(path).map_err(|error| on_path("read", path, &error))?;
        add_names(&bytes, &mut names);
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for path in traces {
        let mut file = File::open(path).map_err(|error| on_path("read", path, &error))?;
        while let Some(bytes) = next_chunk(&mut file) {
            if let Err(error) = print_chunk(&mut out, &bytes, &names) {
                return printed(Err(error));
            }
        }
    }
    printed(out.flush())
}

fn print_chunk(out: &mut impl Write, bytes: &[u8], names: &AllNames) -> io::Result<()> {
    let Ok((chunk, calls)) = Chunk::first(bytes) else { return Ok(()) };
    let known = names.get(&(chunk.process, chunk.table_begin_ticks));
    let unix_ns = |ticks| known.map_or(ticks, |known| unix_ns(&known.header, ticks));
    for call in calls.map_while(Result::ok) {
        let Traced { operation, file, offset, bytes, errno, begin, end } = call;
        let begin_unix_ns = unix_ns(begin);
        let line = Line {
            begin_unix_ns,
            duration_ns: unix_ns(end).saturating_sub(begin_unix_ns),
            process: chunk.process,
            thread: known.and_then(|known| known.threads.get(&chunk.thread)).copied().unwrap_or(0),
            operation: operation.word(),
            path: known.and_then(|known| known.files.get(&file)).map_or("", String::as_str),
            offset,
            bytes,
            errno,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn add_names(bytes: &[u8], names: &mut AllNames) {
    for table in Table::all(bytes).map_while(Result::ok) {
        let header = table.header();
        let (mut files, mut threads) = (HashMap::new(), HashMap::new());
        for block in table.blocks() {
            if let Some((file, name)) = block.get::<FileRow>() {
                let name = name.get(..file.name_bytes.into()).unwrap_or_default();
                files.insert(block.place as u32, String::from_utf8_lossy(name).into_owned());
            } else if let Some((thread, _)) = block.get::<Thread>() {
                threads.insert(block.place as u32, thread.thread.load(Relaxed));
            }
        }
        names.insert((header.process, header.begin_ticks), Names { header, files, threads });
    }
}

/// A moment of a table's clock, since 1970.
fn unix_ns(header: &Header, ticks: u64) -> u64 {
    let since = i128::from(ticks) - i128::from(header.begin_ticks);
    let (later_ticks, later_ns) = (header.latest_ticks.load(Relaxed), header.latest_ns.load(Relaxed));
    let (all_ticks, all_ns) =
        (later_ticks.saturating_sub(header.begin_ticks), later_ns.saturating_sub(header.begin_ns));
    let ns = if header.clock == Clock::Nanoseconds as u32 || all_ticks == 0 {
        since
    } else {
        since * i128::from(all_ns) / i128::from(all_ticks)
    };
    (i128::from(header.begin_ns) + ns).clamp(0, u64::MAX.into()) as u64
}
