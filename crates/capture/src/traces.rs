//! Traces: every call, kept with the record and printed as JSON Lines.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use ioassay_engine::failure::{about_path, on_path};
use ioassay_engine::stdio::printed;
use ioassay_protocol::events::Failure;
use ioassay_record::names::FINISHED;
use ioassay_record::read::{Table, copy};
use ioassay_record::table::{Clock, File as FileRow, Header, Thread};
use ioassay_record::trace::{Chunk, Traced};
use nix::unistd::close;
use serde::Serialize;

use crate::tables::{self, with_suffix};

/// Of the record's file of traces.
const SUFFIX: &str = "traces";
/// What a chunk has at most.
const LARGEST_CHUNK: usize = 1 << 20;
/// In the trace of a process, each chunk begins at a multiple of this: the recorder maps it.
const CHUNK_ALIGNMENT: u64 = 4096;

/// The record's file of traces.
pub fn file_in(record: &Path) -> PathBuf {
    record.join(format!("{}.{SUFFIX}", ioassay_host::host_name()))
}

/// Adds the traces of processes to one file, without what is unused of their chunks.
///
/// # Errors
/// If it cannot be written.
pub fn keep(traces: &[&Path], path: &Path, to: File) -> Result<(), Failure> {
    let failed = |error| on_path("write", path, &error);
    let mut to = BufWriter::with_capacity(1 << 20, to);
    for trace in traces {
        let Ok(from) = tables::open(trace) else { continue };
        let length = from.metadata().map_or(0, |about| about.len());
        let mut position = 0;
        while position < length {
            match chunk_at(&from, position) {
                Some((used, capacity)) => {
                    to.write_all(&used).map_err(failed)?;
                    position += capacity;
                }
                // Its thread found no space, or was killed before it began; those of others may follow.
                None => position += CHUNK_ALIGNMENT,
            }
        }
    }
    to.flush().map_err(failed)?;
    let to = to.into_inner().map_err(|error| failed(error.into_error()))?;
    close(to).map_err(|errno| failed(errno.into()))
}

/// The chunk of a file that begins there, without what is unused of it, and its length in the file. Nothing where there is
/// none.
fn chunk_at(file: &File, position: u64) -> Option<(Vec<u8>, u64)> {
    let mut bytes = vec![0; size_of::<Chunk>()];
    file.read_exact_at(&mut bytes, position).ok()?;
    let capacity = copy::<Chunk>(&bytes)?.capacity_bytes as usize;
    if !(bytes.len()..=LARGEST_CHUNK).contains(&capacity) {
        return None;
    }
    bytes.resize(capacity, 0);
    file.read_exact_at(&mut bytes[size_of::<Chunk>()..], position + size_of::<Chunk>() as u64).ok()?;
    let used = Chunk::first(&bytes).ok()?.0.used_bytes.into_inner();
    bytes.truncate(used as usize);
    bytes[CAPACITY..][..size_of_val(&used)].copy_from_slice(&used.to_le_bytes());
    Some((bytes, capacity as u64))
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
    for path in with_suffix(&paths, FINISHED) {
        let bytes = fs::read(path).map_err(|error| on_path("read", path, &error))?;
        add_names(&bytes, &mut names);
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for path in traces {
        let file = File::open(path).map_err(|error| on_path("read", path, &error))?;
        let mut position = 0;
        while let Some((bytes, length)) = chunk_at(&file, position) {
            position += length;
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

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::operation::Operation;
    use ioassay_record::table::VERSION;
    use ioassay_record::trace::{self, CHUNK_MAGIC};
    use std::mem::offset_of;

    /// A chunk of 8 KiB with one read.
    fn chunk() -> Vec<u8> {
        let mut words = vec![0_u64; 1024];
        // SAFETY: the same memory.
        let bytes = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), 8192) };
        bytes[..8].copy_from_slice(&CHUNK_MAGIC);
        for (offset_of_field, number) in [
            (offset_of!(Chunk, version), VERSION),
            (CAPACITY, 8192),
            (offset_of!(Chunk, used_bytes), size_of::<Chunk>() as u32),
        ] {
            bytes[offset_of_field..][..4].copy_from_slice(&number.to_le_bytes());
        }
        let (operation, file) = (Operation::Read, 640);
        let call = Traced { operation, file, offset: Some(0), bytes: 10, errno: None, begin: 5, end: 9 };
        assert!(trace::write(bytes, &call, 0));
        bytes.to_vec()
    }

    #[test]
    fn chunks_behind_one_that_was_never_begun_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.trace");
        fs::write(&path, [vec![0; 8192], chunk(), vec![0; 4096], chunk()].concat()).unwrap();
        let kept = directory.path().join("kept");
        keep(&[&path], &kept, File::create(&kept).unwrap()).unwrap();
        let kept = File::open(kept).unwrap();
        let (first, length) = chunk_at(&kept, 0).unwrap();
        assert_eq!(Chunk::first(&first).unwrap().1.count(), 1);
        assert!(chunk_at(&kept, length).is_some());
        assert_eq!(kept.metadata().unwrap().len(), 2 * length);
    }

    #[test]
    fn calls_of_a_damaged_trace_are_printed_whatever_they_say() {
        let mut chunk = chunk();
        // It would end before it begins.
        let begin = offset_of!(Chunk, begin_ticks);
        chunk[begin..][..8].copy_from_slice(&(u64::MAX - 6).to_le_bytes());
        let mut printed = Vec::new();
        print_chunk(&mut printed, &chunk, &AllNames::new()).unwrap();
        let line: serde_json::Value = serde_json::from_slice(&printed).unwrap();
        assert_eq!((line["begin_unix_ns"].as_u64(), line["duration_ns"].as_u64()), (Some(u64::MAX - 1), Some(0)));
    }
}
