//! The directory in which processes have their tables while they run, and what becomes of it.
//!
//! It is on a disk, not in memory, unless that is asked for: what is in memory counts against the job's limit, and
//! schedulers remove it with the job.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use ioassay_engine::failure::on_path;
use ioassay_protocol::events::Failure;
use ioassay_record::read::copy;
use ioassay_record::table::{Header, LARGEST, MAGIC};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

use crate::request::{Request, Via};
use crate::{library, traces};

/// The type of file system `ramfs`: `linux/magic.h`.
const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);

/// Tables of processes that run: one each.
const RUNNING: &str = "table";
/// Tables of processes that ended, one after another.
pub const FINISHED: &str = "tables";
/// How many processes have no table, because there was no place for it: a number of 8 bytes. The recorder counts there where
/// nothing else can be written any more.
const LOST: &str = "lost";

/// Traces of processes: one each.
const TRACE: &str = "trace";

/// The directory.
#[derive(Debug)]
pub struct Tables {
    path: PathBuf,
    library: Option<PathBuf>,
}

/// What came of keeping the tables.
#[derive(Debug)]
pub struct Kept {
    /// All of them.
    pub file: PathBuf,
    /// How many could not be kept, or not even be begun.
    pub lost: u64,
}

impl Tables {
    /// Makes a new directory in `within`, and the library in it if that is wanted.
    ///
    /// # Errors
    /// If it cannot be made, or nothing can be loaded from it.
    pub fn make(request: &Request, record: &Path) -> Result<Self, Failure> {
        let within = request.tables.as_deref().map_or_else(|| scratch(record), Path::to_owned);
        let made = tempfile::Builder::new().prefix("ioassay-record-").tempdir_in(&within);
        let path = made.map_err(|error| on_path("create a directory in", &within, &error))?.keep();
        let path = fs::canonicalize(&path).map_err(|error| on_path("find", &path, &error))?;
        let with_library = request.via == Via::Preload;
        let library = with_library.then(|| library::write(&[&path, record])).transpose().inspect_err(|_| {
            let _ = fs::remove_dir(&path);
        })?;
        let lost = path.join(LOST);
        fs::write(&lost, [0; 8]).map_err(|error| on_path("write", &lost, &error))?;
        if request.trace {
            let wish = path.join(traces::WISH);
            fs::write(&wish, "").map_err(|error| on_path("create", &wish, &error))?;
        }
        Ok(Self { path, library })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The library in it, if that was wanted.
    pub fn library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    /// Adds all tables to one file of the record and removes the directory. A process that still runs goes on with a table that
    /// nobody sees.
    ///
    /// # Errors
    /// If the record cannot be written; the directory is left then.
    pub fn keep_in(self, record: &Path) -> Result<Kept, Failure> {
        let file = record.join(format!("{}.{FINISHED}", ioassay_host::host_name()));
        let lost = self.path.join(LOST);
        let mut kept = Kept { file, lost: fs::read(&lost).map_or(0, |number| number_of(&number)) };
        let failed = |error| on_path("write", &kept.file, &error);
        let mut to = OpenOptions::new().create_new(true).append(true).mode(0o644).open(&kept.file).map_err(failed)?;
        let mut names: Vec<PathBuf> = fs::read_dir(&self.path)
            .map_err(|error| on_path("list", &self.path, &error))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        // In the order of processes, which is the order of their names.
        names.sort();
        for suffix in [FINISHED, RUNNING] {
            for path in names.iter().filter(|path| path.extension().is_some_and(|found| found == suffix)) {
                let added = if suffix == RUNNING { add(path, &mut to) } else { add_all(path, &mut to) };
                if let Err(error) = added {
                    if error.kind() == io::ErrorKind::StorageFull {
                        return Err(failed(error));
                    }
                    kept.lost += 1;
                }
                let _ = fs::remove_file(path);
            }
        }
        let is_trace = |path: &&PathBuf| path.extension().is_some_and(|found| found == TRACE);
        let traces: Vec<_> = names.iter().filter(is_trace).cloned().collect();
        traces::keep(&traces, record)?;
        for path in traces.iter().chain(&self.library).chain([&lost, &self.path.join(traces::WISH)]) {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(&self.path);
        Ok(kept)
    }
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Adds a table to a file of tables: of the one, which may still be written to, the part that is in use.
fn add(path: &Path, to: &mut File) -> io::Result<()> {
    let mut from = open(path)?;
    let used = used_bytes(&mut from)?;
    from.seek(SeekFrom::Start(0))?;
    io::copy(&mut from.take(used), to)?;
    Ok(())
}

/// Adds a file of tables to another, without those that are not whole: a process was killed, or the disk was full, while one
/// was added. That one is also a file of its own.
fn add_all(path: &Path, to: &mut impl Write) -> io::Result<()> {
    let mut from = open(path)?;
    let mut begin = 0;
    let mut bytes = Vec::new();
    // What follows a whole one is another or the end; of one that was cut, the next begins within it.
    while let Some(table) = next_table(&mut from, begin)? {
        let follows = from.seek(SeekFrom::Start(table.end))? == from.metadata()?.len() || is_table(&mut from)?;
        if follows || next_magic(&mut from, table.begin + 1)?.is_none_or(|next| next >= table.end) {
            from.seek(SeekFrom::Start(table.begin))?;
            bytes.resize((table.end - table.begin) as usize, 0);
            from.read_exact(&mut bytes)?;
            to.write_all(&bytes)?;
            begin = table.end;
        } else {
            begin = table.begin + 1;
        }
    }
    Ok(())
}

/// Where a table is in a file.
struct Found {
    begin: u64,
    end: u64,
}

/// The first table at or after `begin` that ends within the file.
fn next_table(file: &mut File, mut begin: u64) -> io::Result<Option<Found>> {
    let length = file.metadata()?.len();
    while let Some(at) = next_magic(file, begin)? {
        file.seek(SeekFrom::Start(at))?;
        match header(file) {
            Ok(header) if at + header.used_bytes.load(Relaxed) <= length => {
                return Ok(Some(Found { begin: at, end: at + header.used_bytes.load(Relaxed) }));
            }
            Ok(_) => {}
            Err(error) if [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
        begin = at + 1;
    }
    Ok(None)
}

/// Where something begins as a table does, at or after `begin`.
fn next_magic(file: &mut File, mut begin: u64) -> io::Result<Option<u64>> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        file.seek(SeekFrom::Start(begin))?;
        let mut read = 0;
        while read < bytes.len() {
            match file.read(&mut bytes[read..])? {
                0 => break,
                more => read += more,
            }
        }
        if let Some(found) = bytes[..read].windows(MAGIC.len()).position(|window| window == MAGIC) {
            return Ok(Some(begin + found as u64));
        }
        if read < bytes.len() {
            return Ok(None);
        }
        begin += (read - MAGIC.len() + 1) as u64;
    }
}

/// Whether a table begins where the file is.
fn is_table(file: &mut File) -> io::Result<bool> {
    let mut magic = [0; MAGIC.len()];
    match file.read_exact(&mut magic) {
        Ok(()) => Ok(magic == MAGIC),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Of the table at which a file is, by its header.
///
/// # Errors
/// If that is none.
pub fn used_bytes(file: &mut impl Read) -> io::Result<u64> {
    header(file).map(|header| header.used_bytes.into_inner())
}

/// The header of the table at which a file is.
///
/// # Errors
/// If that is none.
pub fn header(file: &mut impl Read) -> io::Result<Header> {
    let mut bytes = [0; size_of::<Header>()];
    file.read_exact(&mut bytes)?;
    let header: Header = copy(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let used = header.used_bytes.load(Relaxed);
    if header.magic != MAGIC || used < bytes.len() as u64 || used > LARGEST as u64 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(header)
}

/// Where tables lie if nobody says so: the job's or the system's temporary directory, or the record itself if that one is in
/// memory.
fn scratch(record: &Path) -> PathBuf {
    let in_memory =
        |path: &PathBuf| statfs(path).is_ok_and(|about| [TMPFS_MAGIC, RAMFS_MAGIC].contains(&about.filesystem_type()));
    [std::env::temp_dir(), PathBuf::from("/var/tmp")]
        .into_iter()
        .find(|path| path.is_dir() && !in_memory(path))
        .unwrap_or_else(|| record.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::table::VERSION;

    fn table(bytes: usize, fill: u8) -> Vec<u8> {
        let mut table = vec![fill; bytes];
        table[..size_of::<Header>()].fill(0);
        table[..8].copy_from_slice(&MAGIC);
        table[8..12].copy_from_slice(&VERSION.to_le_bytes());
        table[12..16].copy_from_slice(&(size_of::<Header>() as u32).to_le_bytes());
        table[16..24].copy_from_slice(&(bytes as u64).to_le_bytes());
        table
    }

    #[test]
    fn a_table_that_is_not_whole_is_left_out_and_those_after_it_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("node.tables");
        let whole = [table(1000, 1), table(70_000, 2), table(333, 3)];
        for cut in [0, 7, 100, 999, 69_999] {
            let damaged = table(70_000, 9);
            for place in 0..=whole.len() {
                let mut parts: Vec<&[u8]> = whole.iter().map(Vec::as_slice).collect();
                parts.insert(place, &damaged[..cut]);
                fs::write(&path, parts.concat()).unwrap();
                let mut kept = Vec::new();
                add_all(&path, &mut kept).unwrap();
                assert_eq!(kept.len(), whole.concat().len(), "{cut} bytes at {place}");
                assert!(kept == whole.concat());
            }
        }
    }
}
