//! The directory in which processes have their tables while they run, and what becomes of it.
//!
//! It is on a disk, not in memory, unless that is asked for: what is in memory counts against the job's limit, and
//! schedulers remove it with the job.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
    /// How many could not be kept.
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
        let mut kept = Kept { file, lost: 0 };
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
                let added = add(path, suffix == RUNNING, &mut to);
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
        for path in traces.iter().chain(&self.library).chain([&self.path.join(traces::WISH)]) {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(&self.path);
        Ok(kept)
    }
}

/// Adds a file of tables to another: of one that may still be written to, the part that is in use.
fn add(path: &Path, one: bool, to: &mut File) -> io::Result<()> {
    let mut from = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path)?;
    if !one {
        io::copy(&mut from, to)?;
        return Ok(());
    }
    let used = used_bytes(&mut from)?;
    from.seek(SeekFrom::Start(0))?;
    io::copy(&mut from.take(used), to)?;
    Ok(())
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
    let used = header.used_bytes.load(std::sync::atomic::Ordering::Relaxed);
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
