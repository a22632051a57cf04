//! The directory in which processes have their tables while they run, and moving them into the record.
//!
//! It is on a disk, not in memory, unless that is asked for: what is in memory counts against the job's limit, and
//! schedulers remove it with the job.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use ioassay_engine::failure::{about_path, on_path};
use ioassay_protocol::events::Failure;
use ioassay_record::layout::bytes_of;
use ioassay_record::names::{
    CHECKSUMS, CLOCK, COUNTER_CLOCK, DIRECTORY_PREFIX, FINISHED, RUNNING, STACKS_REQUESTED_FILE, TRACE_REQUESTED_FILE,
};
use ioassay_record::read::copy;
use ioassay_record::rules;
use ioassay_record::table::{Header, LARGEST, MAGIC};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

use crate::checked_tables::CheckedTables;
use crate::ptrace::tracee;
use crate::request::{Request, Via};
use crate::{library, symbols, traces};

/// The type of file system `ramfs`: `linux/magic.h`.
const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);

/// How many processes have no table, because there was no place for it: a number of 8 bytes. The recorder counts there where
/// nothing else can be written any more.
const LOST: &str = "lost";

/// Where the kernel says which clock it trusts, on x86.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Traces of processes: one each.
const TRACE: &str = "trace";

/// The directory.
#[derive(Debug)]
pub struct Tables {
    path: PathBuf,
    library: Option<PathBuf>,
    /// The directory, locked as long as a process records into it or moves the tables: readers of the record see by
    /// that whether the recording was killed.
    _lock: File,
}

/// The result of keeping the tables.
#[derive(Debug)]
pub struct Kept {
    /// All of them.
    pub file: PathBuf,
    /// How many could not be kept, or not even be begun.
    pub lost: u64,
}

impl Tables {
    /// Makes a new directory, with the library and a file of rules in it if they are wanted.
    ///
    /// # Errors
    /// If it cannot be made, or nothing can be loaded from it.
    pub fn make(request: &Request, takes_rules: bool, record: &Path) -> Result<Self, Failure> {
        let within = request.tables.as_deref().map_or_else(|| scratch(record), Path::to_owned);
        let prefix = format!("{DIRECTORY_PREFIX}{}-", short_name(&request.common_directory(record)));
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(&within).map_err(|error| {
            let what = format!("no directory for tables can be made in {}: {error}", within.display());
            about_path("create", &within, what, "name another one with --tables that exists and that you may write to")
        })?;
        let path = fs::canonicalize(made.path()).map_err(|error| on_path("find", made.path(), &error))?;
        let lock = lock(&path)?;
        let with_library = request.via == Via::Preload;
        let library = with_library.then(|| library::write(&[&path, record], "--tables ")).transpose()?;
        let lost = path.join(LOST);
        fs::write(&lost, [0; 8]).map_err(|error| on_path("write", &lost, &error))?;
        if with_library && fs::read(CLOCK_SOURCE).is_ok_and(|name| name == b"tsc\n") {
            let (path, node) = (path.join(CLOCK), OsString::from_vec(tracee::node_name()));
            let text = [OsStr::new(COUNTER_CLOCK), &node].join(OsStr::new(""));
            symlink(text, &path).map_err(|error| on_path("create", &path, &error))?;
        }
        if takes_rules && with_library {
            let path = path.join(rules::NAME);
            write_rules(&path).map_err(|error| on_path("write", &path, &error))?;
        }
        for (is_asked, name) in [(request.trace, TRACE_REQUESTED_FILE), (request.stacks, STACKS_REQUESTED_FILE)] {
            let wish = path.join(name);
            if is_asked {
                fs::write(&wish, "").map_err(|error| on_path("create", &wish, &error))?;
            }
        }
        let _ = made.keep();
        Ok(Self { path, library, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The library in it, if that was wanted.
    pub fn library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    /// The directory that a recording has left, because the record could not be written, or because it was killed.
    ///
    /// # Errors
    /// If there is none, or it goes on.
    pub fn left_in(path: PathBuf) -> Result<Self, Failure> {
        let lock = lock(&path)?;
        let library = Some(path.join(library::NAME));
        Ok(Self { path, library, _lock: lock })
    }

    /// A process that still writes to its table.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn user(&self) -> Result<Option<u32>, Failure> {
        let paths = list(&self.path)?;
        let directory = self.path.to_string_lossy();
        Ok(with_suffix(&paths, RUNNING).find_map(|table| {
            let process = table.file_stem()?.to_str()?.split('-').next()?.parse().ok()?;
            let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
            maps.contains(&*directory).then_some(process)
        }))
    }

    /// Removes the directory with all that is in it: the command was never started.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Adds all tables to one file of the record and removes the directory. A process that still runs goes on with a table that
    /// nobody sees.
    ///
    /// # Errors
    /// If the record cannot be written. It has nothing of the tables then, and the directory is left as it is.
    pub fn keep_in(&self, record: &Path) -> Result<Kept, Failure> {
        // Once: a process that ends meanwhile moves its table.
        let paths = list(&self.path)?;
        let mut new = Vec::new();
        let kept = self.copy_to(record, &paths, &mut new).inspect_err(|_| {
            for path in &new {
                let _ = fs::remove_file(path);
            }
        })?;
        for path in [FINISHED, RUNNING, TRACE].iter().flat_map(|suffix| with_suffix(&paths, suffix)) {
            let _ = fs::remove_file(path);
        }
        let asked =
            [LOST, CLOCK, TRACE_REQUESTED_FILE, STACKS_REQUESTED_FILE, rules::NAME].map(|name| self.path.join(name));
        for path in asked.iter().map(PathBuf::as_path).chain(self.library()) {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(&self.path);
        Ok(kept)
    }

    /// Copies tables and traces into files of the record, which are added to `new`.
    fn copy_to(&self, record: &Path, paths: &[PathBuf], new: &mut Vec<PathBuf>) -> Result<Kept, Failure> {
        let mut create = |path: &Path| {
            let made = OpenOptions::new().create_new(true).append(true).mode(0o644).open(path);
            new.extend(made.is_ok().then(|| path.to_owned()));
            made.map_err(|error| on_path("write", path, &error))
        };
        let file = record.join(format!("{}.{FINISHED}", ioassay_host::host_name()));
        let failed = |error| on_path("write", &file, &error);
        let mut to = CheckedTables::in_file(create(&file)?);
        let lost = fs::read(self.path.join(LOST)).map_or(0, |number| number_of(&number));
        let lost = lost + add_tables(paths, &mut to).map_err(failed)?;
        let checksums = to.end_file().map_err(failed)?;
        let path = file.with_extension(CHECKSUMS);
        create(&path)?.write_all(&checksums).map_err(|error| on_path("write", &path, &error))?;
        symbols::write(&file, |path| create(path))?;
        let traces: Vec<_> = with_suffix(paths, TRACE).collect();
        if !traces.is_empty() {
            let path = traces::file_in(record);
            traces::keep(&traces, &path, create(&path)?)?;
        }
        Ok(Kept { file, lost })
    }
}

/// Locks the directory of tables for this program and the tracer that it may become.
fn lock(path: &Path) -> Result<File, Failure> {
    let directory = File::open(path).map_err(|error| on_path("open", path, &error))?;
    match directory.try_lock() {
        // Without locks that is unknown, which is no reason not to record.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(directory),
        Err(TryLockError::WouldBlock) => {
            let what = format!("the recording into {} goes on", path.display());
            Err(about_path("lock", path, what, "wait until it ends"))
        }
    }
}

/// The name of a record, of letters that may be in `LD_PRELOAD`: the library may lie in the directory.
fn short_name(record: &Path) -> String {
    let name = record.file_name().unwrap_or_default().to_string_lossy();
    name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter)).take(64).collect()
}

/// The file in which an agent gives rules: there are none yet. Its pages are there, because recorders map it.
fn write_rules(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    let header = rules::header();
    let begin = bytes_of(&header);
    file.write_all(begin)?;
    file.write_all(&vec![0; rules::FILE_BYTES - begin.len()])
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The files of a directory, in the order of their names, which is that of processes.
///
/// # Errors
/// If it cannot be listed.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = fs::read_dir(directory).map_err(|error| on_path("list", directory, &error))?;
    let mut paths: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// Those of the files that have this suffix.
pub fn with_suffix<'a>(paths: &'a [PathBuf], suffix: &'a str) -> impl Iterator<Item = &'a Path> {
    paths.iter().map(PathBuf::as_path).filter(move |path| path.extension().is_some_and(|extension| extension == suffix))
}

/// Opens a file of a directory in which others may have put links.
///
/// # Errors
/// If it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Adds all tables to a file of tables. How many files could not be read.
///
/// # Errors
/// If a table cannot be written: the disk or a quota is full.
fn add_tables(paths: &[PathBuf], to: &mut CheckedTables<impl Write>) -> io::Result<u64> {
    let mut lost = 0;
    for path in with_suffix(paths, FINISHED) {
        lost += u64::from(!add_all(path, to)?);
    }
    for path in with_suffix(paths, RUNNING) {
        lost += u64::from(!add_first(path, to)?);
    }
    Ok(lost)
}

/// Adds the table of a process that may still write to it; what follows it is not in use. Whether it could be read.
fn add_first(path: &Path, to: &mut CheckedTables<impl Write>) -> io::Result<bool> {
    match open(path).and_then(|mut from| read_table(&mut from)) {
        Ok(table) => to.add(&table).map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Adds all tables but those that are not whole: a process was killed, or the disk was full, while one was added. That one is
/// also a file of its own. Whether the file could be read.
fn add_all(path: &Path, to: &mut CheckedTables<impl Write>) -> io::Result<bool> {
    let Ok(mut from) = open(path) else { return Ok(false) };
    let mut begin = 0;
    loop {
        match next_whole(&mut from, begin) {
            Ok(Some((end, table))) => {
                to.add(&table)?;
                begin = end;
            }
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        }
    }
}

/// The first whole table at or after `begin`, and where it ends.
fn next_whole(file: &mut File, mut begin: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
    let length = file.metadata()?.len();
    while let Some(position) = next_magic(file, begin)? {
        file.seek(SeekFrom::Start(position))?;
        match read_table(file) {
            Ok(table) => {
                let end = position + table.len() as u64;
                // What follows a whole one is another or the end; of one that was cut, the next begins within it.
                let follows = end == length || is_table(file)?;
                if follows || next_magic(file, position + 1)?.is_none_or(|next| next >= end) {
                    return Ok(Some((end, table)));
                }
            }
            Err(error) if [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
        begin = position + 1;
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
        if let Some(index) = bytes[..read].windows(MAGIC.len()).position(|window| window == MAGIC) {
            return Ok(Some(begin + index as u64));
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

/// The table at which a file is: all that its header says is in use.
///
/// # Errors
/// If there is none, or it is cut.
pub fn read_table(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let (header, begin) = read_header(file)?;
    let mut bytes = vec![0; header.used_bytes.into_inner() as usize];
    let (first, rest) = bytes.split_at_mut(begin.len());
    first.copy_from_slice(&begin);
    file.read_exact(rest)?;
    Ok(bytes)
}

/// The header of the table at which a file is, and its bytes.
///
/// # Errors
/// If that is none.
pub fn read_header(file: &mut impl Read) -> io::Result<(Header, [u8; size_of::<Header>()])> {
    let mut bytes = [0; size_of::<Header>()];
    file.read_exact(&mut bytes)?;
    let header: Header = copy(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let used = header.used_bytes.load(Relaxed);
    if header.magic != MAGIC || used < bytes.len() as u64 || used > LARGEST as u64 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((header, bytes))
}

/// Where tables lie if nobody says so: the job's or the system's temporary directory, or the record itself if that one is in
/// memory.
fn scratch(record: &Path) -> PathBuf {
    let in_memory =
        |path: &Path| statfs(path).is_ok_and(|about| [TMPFS_MAGIC, RAMFS_MAGIC].contains(&about.filesystem_type()));
    [std::env::temp_dir(), PathBuf::from("/var/tmp")]
        .into_iter()
        .find(|path| path.is_dir() && !in_memory(path))
        .unwrap_or_else(|| record.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::read::Table;
    use ioassay_record::table::VERSION;
    use std::mem::offset_of;

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
                let mut kept = CheckedTables::new(Vec::new());
                assert!(add_all(&path, &mut kept).unwrap());
                let (_, kept) = kept.end().unwrap();
                assert_eq!(kept.len(), whole.concat().len(), "{cut} bytes at {place}");
                assert!(kept == whole.concat());
            }
        }
    }

    /// The file of a table that grows whenever it was read.
    struct Growing {
        table: Vec<u8>,
        position: usize,
    }

    impl Read for Growing {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let read = (&self.table[self.position..]).read(bytes)?;
            self.position += read;
            let used = &mut self.table[offset_of!(Header, used_bytes)..][..8];
            let grown = number_of(used) + 1000;
            used.copy_from_slice(&grown.to_le_bytes());
            Ok(read)
        }
    }

    #[test]
    fn a_table_that_grows_while_it_is_read_is_as_long_as_it_says() {
        let mut growing = Growing { table: table(200_000, 1), position: 0 };
        growing.table[offset_of!(Header, used_bytes)..][..8].copy_from_slice(&5000_u64.to_le_bytes());
        let read = read_table(&mut growing).unwrap();
        assert_eq!((read.len(), Table::first(&read).unwrap().bytes().len()), (5000, 5000));
    }

    #[test]
    fn a_record_that_cannot_be_written_has_no_tables_and_the_directory_has_them_all() {
        let (directory, record) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let names = ["1.table", "node.tables", "2.trace", LOST];
        for name in names {
            fs::write(directory.path().join(name), table(1000, 1)).unwrap();
        }
        // Nothing can be written where the file of traces is to be.
        let traces = traces::file_in(record.path());
        fs::create_dir(&traces).unwrap();
        let path = directory.path().to_owned();
        let tables = Tables { _lock: lock(&path).unwrap(), path, library: None };
        assert_eq!(tables.keep_in(record.path()).unwrap_err().errno_name.as_deref(), Some("EEXIST"));
        assert_eq!(list(record.path()).unwrap(), std::slice::from_ref(&traces));
        assert_eq!(list(directory.path()).unwrap().len(), names.len());
        fs::remove_dir(&traces).unwrap();
        let kept = tables.keep_in(record.path()).unwrap();
        assert_eq!(fs::read(kept.file).unwrap(), table(1000, 1).repeat(2));
        assert_eq!(list(record.path()).unwrap().len(), 3, "tables, checksums and traces");
        assert!(!directory.path().exists());
    }

    #[test]
    fn a_table_that_cannot_be_read_is_counted_and_the_others_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("1.table"), &table(1000, 1)[..500]).unwrap();
        fs::write(directory.path().join("2.table"), table(1000, 2)).unwrap();
        let mut kept = CheckedTables::new(Vec::new());
        assert_eq!(add_tables(&list(directory.path()).unwrap(), &mut kept).unwrap(), 1);
        assert!(kept.end().unwrap().1 == table(1000, 2));
    }
}
