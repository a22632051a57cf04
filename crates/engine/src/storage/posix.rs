//! `posix`: pread and pwrite, or their vectored forms, on a mounted file system or a block device.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use ioassay_protocol::plan::data::{Advice, SizeAtOpen};
use ioassay_protocol::plan::storage::Target;
use nix::fcntl::{FallocateFlags, OFlag, PosixFadviseAdvice, fallocate, posix_fadvise};
use nix::sys::stat::Mode;

use super::names::posix::{CAPABILITIES, PosixNames};
use super::names::{Names, Presence};
use super::uncached::{self, Flags};
use super::{Access, Capabilities, Connection, OpenFile, Opening, Range, Setup, StorageApi};
use crate::beneath::Resolver;

pub(super) struct Posix;

/// What posix_fadvise takes.
pub(super) const FILE_ADVICE: &[Advice] =
    &[Advice::Normal, Advice::Sequential, Advice::Random, Advice::WillNeed, Advice::DontNeed, Advice::NoReuse];

impl StorageApi for Posix {
    fn name(&self) -> &'static str {
        "posix"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            files: true,
            directories: true,
            devices: true,
            shared_files: true,
            rewrites: true,
            sync: true,
            vectors: true,
            direct: true,
            uncached: true,
            locks: true,
            sizes: true,
            advice: FILE_ADVICE,
            names: Some(CAPABILITIES),
            ..Capabilities::NONE
        }
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        let pieces = setup.storage.vectors as usize;
        Ok(Box::new(PosixConnection {
            direct: setup.storage.direct,
            device: matches!(setup.target, Target::Device(_)),
            pieces,
            flags: uncached::flags(setup.storage.uncached),
            names: PosixNames::new(&setup),
        }))
    }
}

struct PosixConnection {
    direct: bool,
    /// The target is a device, named twice.
    device: bool,
    pieces: usize,
    flags: Flags,
    names: PosixNames,
}

impl Connection for PosixConnection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        let file = open(&self.names.resolver, path, opening, self.direct, self.device)?;
        if self.pieces == 1 && self.flags == 0 {
            return Ok(Box::new(PosixFile(file)));
        }
        Ok(Box::new(VectoredFile { file: PosixFile(file), pieces: self.pieces, flags: self.flags }))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }
}

/// Permissions of files before the umask. A workspace is its owner's only, whatever is in it.
const MODE: Mode = Mode::from_bits_truncate(0o664);

/// Opens a file as every API does that works on file descriptors. Only a target that is a `device` is anything else than
/// a regular file, whatever was there when the command was checked.
pub(super) fn open(
    resolver: &Resolver,
    path: &Path,
    opening: Opening<'_>,
    direct: bool,
    device: bool,
) -> io::Result<File> {
    let (access, create) = match opening.access {
        Access::Write => (OFlag::O_WRONLY, OFlag::O_CREAT),
        Access::Read => (OFlag::O_RDONLY, OFlag::empty()),
        Access::ReadWrite => (OFlag::O_RDWR, OFlag::O_CREAT),
    };
    let mut flags = access;
    flags.set(OFlag::O_DIRECT, direct);
    flags.set(OFlag::O_TRUNC, opening.access.writes() && opening.size == Some(SizeAtOpen::Empty));
    let exclusive = opening.access.writes() && opening.presence == Presence::New;
    let create = if exclusive { create | OFlag::O_EXCL } else { create };
    let file = match resolver.open(path, flags | create, MODE) {
        // Nobody asked for a new file, yet FUSE clients of several hosts that create one at the same time may hear that
        // it is there (MooseFS 3.0.117 does it): then it is opened.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !exclusive => {
            resolver.open(path, flags, Mode::empty())?
        }
        opened => opened?,
    };
    if opening.access.writes() {
        if !device && !is_regular(&file)? {
            return Err(io::Error::other("is not a regular file, so it is not written"));
        }
        match opening.size {
            Some(SizeAtOpen::Full) => file.set_len(opening.bytes)?,
            Some(SizeAtOpen::Preallocated) => fallocate(&file, FallocateFlags::empty(), 0, opening.bytes as i64)?,
            Some(SizeAtOpen::Empty) | None => {}
        }
    }
    for advice in opening.advice.iter().filter_map(file_advice) {
        posix_fadvise(&file, 0, 0, advice)?;
    }
    Ok(file)
}

/// True for a regular file, as this node knows it: no server is asked, which would count as time of the open.
fn is_regular(file: &File) -> io::Result<bool> {
    // SAFETY: all zero is a valid statx.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    // SAFETY: the path is an empty text, and `about` is as large as the kernel's.
    match unsafe { libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, libc::STATX_TYPE, &mut about) } {
        0 => Ok(libc::mode_t::from(about.stx_mode) & libc::S_IFMT == libc::S_IFREG),
        _ => Err(io::Error::last_os_error()),
    }
}

fn file_advice(advice: &Advice) -> Option<PosixFadviseAdvice> {
    use PosixFadviseAdvice as Fadvise;
    Some(match advice {
        Advice::Normal => Fadvise::POSIX_FADV_NORMAL,
        Advice::Sequential => Fadvise::POSIX_FADV_SEQUENTIAL,
        Advice::Random => Fadvise::POSIX_FADV_RANDOM,
        Advice::WillNeed => Fadvise::POSIX_FADV_WILLNEED,
        Advice::DontNeed => Fadvise::POSIX_FADV_DONTNEED,
        Advice::NoReuse => Fadvise::POSIX_FADV_NOREUSE,
        Advice::HugePage | Advice::NoHugePage => return None,
    })
}

/// An error if the file has no name any more.
pub(super) fn check_linked(file: &File) -> io::Result<()> {
    if file.metadata()?.nlink() == 0 { Err(io::Error::from_raw_os_error(libc::ENOENT)) } else { Ok(()) }
}

/// Closes a file and tells what close tells: dropping a `File` throws that away, and on NFS it is where a failed
/// write shows.
pub(super) fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was owned by the file and is given up here, so nobody closes it again.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Locks or unlocks bytes of a file. Locks of the open file description: those of the process would not tell two
/// files of one process apart, and would all be lost when either is closed.
pub(super) fn lock(file: &File, range: Range, lock: bool) -> io::Result<()> {
    let kind = match (lock, range.exclusive) {
        (false, _) => libc::F_UNLCK,
        (true, true) => libc::F_WRLCK,
        (true, false) => libc::F_RDLCK,
    };
    // SAFETY: all zero is a valid flock; its fields differ in type and padding among systems.
    let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
    wanted.l_type = kind as libc::c_short;
    wanted.l_whence = libc::SEEK_SET as libc::c_short;
    wanted.l_start = range.offset as libc::off_t;
    wanted.l_len = range.bytes as libc::off_t;
    loop {
        // SAFETY: `wanted` is a flock that outlives the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &wanted) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

struct PosixFile(File);

impl OpenFile for PosixFile {
    #[inline]
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(&self.0, data, offset)
    }

    #[inline]
    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, data, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn check_linked(&self) -> io::Result<()> {
        check_linked(&self.0)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        close(self.0)
    }

    fn lock(&mut self, range: Range) -> io::Result<()> {
        lock(&self.0, range, true)
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        lock(&self.0, range, false)
    }
}

/// The same, with each transfer cut into pieces that one call moves, and with flags.
struct VectoredFile {
    file: PosixFile,
    pieces: usize,
    flags: Flags,
}

impl VectoredFile {
    /// Bytes of each piece but the last.
    fn piece_bytes(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.pieces).max(1)
    }
}

impl OpenFile for VectoredFile {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        if self.pieces == 1 {
            return uncached::write(&self.file.0, data, offset, self.flags);
        }
        let pieces: Vec<IoSlice<'_>> = data.chunks(self.piece_bytes(data.len())).map(IoSlice::new).collect();
        uncached::write_pieces(&self.file.0, &pieces, offset, self.flags)
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.pieces == 1 {
            return uncached::read(&self.file.0, data, offset, self.flags);
        }
        let piece_bytes = self.piece_bytes(data.len());
        let mut pieces: Vec<IoSliceMut<'_>> = data.chunks_mut(piece_bytes).map(IoSliceMut::new).collect();
        uncached::read_pieces(&self.file.0, &mut pieces, offset, self.flags)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn check_linked(&self) -> io::Result<()> {
        self.file.check_linked()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        close(self.file.0)
    }

    fn lock(&mut self, range: Range) -> io::Result<()> {
        self.file.lock(range)
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        self.file.unlock(range)
    }
}
