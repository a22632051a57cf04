//! `uring`: io_uring, with as many transfers in flight as the plan's depth.
//!
//! One ring per rank. What was begun is handed over with one system call, which also waits. All of the kernel's
//! shortcuts that cost nothing are taken where it has them; those that have a price (a processor for SQPOLL, pinned
//! memory for registered buffers) only on request.

mod completions;
mod in_memory;

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::rc::Rc;

use io_uring::{IoUring, opcode, squeue, types};
use ioassay_protocol::plan::storage::{Target, Uring as Options};

use super::names::Names;
use super::names::posix::{CAPABILITIES, PosixNames};
use super::posix::{self, FILE_ADVICE};
use super::uncached::{self, Flags};
use super::{Capabilities, Connection, FinishedTransfer, InFlight, OpenFile, Opening, Range, Setup, StorageApi};
use crate::stdio::say;

pub(super) struct Uring;

impl StorageApi for Uring {
    fn name(&self) -> &'static str {
        "uring"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            files: true,
            directories: true,
            devices: true,
            shared_files: true,
            rewrites: true,
            sync: true,
            depth: 4096,
            direct: true,
            uncached: true,
            locks: true,
            sizes: true,
            advice: FILE_ADVICE,
            uring: true,
            names: Some(CAPABILITIES),
            ..Capabilities::NONE
        }
    }

    fn connect(&self, setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        let names = PosixNames::new(&setup);
        let (direct, device) = (setup.storage.direct, matches!(setup.target, Target::Device(_)));
        let flags = uncached::flags(setup.storage.uncached);
        let ring = Ring::new(setup).map_err(explained)?;
        Ok(Box::new(UringConnection { ring: Rc::new(RefCell::new(ring)), direct, flags, device, names }))
    }
}

/// Why there is no ring, in words: the bare error numbers mean something else elsewhere.
fn explained(error: io::Error) -> io::Error {
    let switch = "/proc/sys/kernel/io_uring_disabled";
    let disabled = std::fs::read_to_string(switch).is_ok_and(|value| value.trim() != "0");
    let why = match error.raw_os_error() {
        Some(libc::EPERM) if disabled => {
            format!(
                "the kernel denies this user io_uring: set {switch} to 0, or to 1 with the user in the group \
                 kernel.io_uring_group"
            )
        }
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here, for example by a container's seccomp filter: allow io_uring_setup, \
             io_uring_enter and io_uring_register in the filter"
                .to_owned()
        }
        Some(libc::ENOSYS) => {
            "this kernel has no io_uring, or a seccomp filter hides it: use Linux 5.6 or newer without such a filter"
                .to_owned()
        }
        Some(libc::ENOMEM) => "io_uring cannot lock that much memory: raise ulimit -l, lower the depth, or leave out \
                               registered_buffers"
            .to_owned(),
        Some(libc::EINVAL | libc::EOPNOTSUPP) => {
            "this kernel's io_uring does not support the plan's storage.uring: leave out iopoll and sqpoll, or lower \
             the depth"
                .to_owned()
        }
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{why} ({error})"))
}

/// A ring, and what the kernel knows of this rank's memory.
struct Ring {
    ring: IoUring,
    options: Options,
    /// Where each buffer begins, and how long it is.
    buffers: Vec<(*mut u8, u32)>,
    in_flight: u32,
}

impl Ring {
    fn new(setup: Setup<'_>) -> io::Result<Self> {
        let options = setup.storage.uring.unwrap_or_default();
        let ring = build(options, setup.storage.depth)?;
        let buffers: Vec<(*mut u8, u32)> =
            setup.buffers.iter_mut().map(|buffer| (buffer.as_mut_ptr(), buffer.len() as u32)).collect();
        if options.registered_buffers {
            let vectors: Vec<libc::iovec> = buffers
                .iter()
                .map(|&(start, bytes)| libc::iovec { iov_base: start.cast(), iov_len: bytes as usize })
                .collect();
            // SAFETY: the buffers outlive the connection, as `Setup` promises, and the ring is dropped with it.
            unsafe { ring.submitter().register_buffers(&vectors) }?;
        }
        if options.registered_files {
            ring.submitter().register_files(&[NO_FILE])?;
        }
        Ok(Self { ring, options, buffers, in_flight: 0 })
    }

    fn push(&mut self, entry: squeue::Entry) -> io::Result<()> {
        // SAFETY: what the entry points to lives until the transfer has ended. A buffer of the rank outlives the ring,
        // which waits for what is left when it is dropped; memory of a caller is borrowed until `transfer_alone` has
        // waited.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // Only where a kernel thread takes the entries it may lag behind: the queue is as long as the depth.
            self.ring.submit()?;
            self.ring.submitter().squeue_wait()?;
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Hands everything over, waits until at least `at_least` transfers have ended, and passes each that has to `ended`.
    fn finish(&mut self, at_least: u32, mut ended: impl FnMut(u64, io::Result<usize>)) -> io::Result<()> {
        completions::finish(&mut self.ring, at_least, |user_data, moved| {
            self.in_flight -= 1;
            ended(user_data, moved);
        })
    }

    /// One transfer, alone.
    fn transfer_alone(&mut self, entry: squeue::Entry) -> io::Result<usize> {
        self.push(entry)?;
        let mut alone = None;
        if let Err(error) = self.finish(1, |_, moved| alone = Some(moved)) {
            self.drain();
            return Err(error);
        }
        alone.expect("at least one transfer has ended")
    }

    /// Waits until nothing is in flight, after a failure: the kernel may still write into the memory of a transfer, also
    /// of one that was queued and not yet handed over.
    fn drain(&mut self) {
        while self.in_flight > 0 {
            if let Err(error) = self.finish(1, |_, _| {}) {
                say!("ioassay-engine: io_uring does not complete its transfers ({error}), so this process aborts");
                // Going on would give memory back that the kernel still writes to.
                std::process::abort();
            }
        }
    }
}

/// A ring for `depth` transfers.
fn build(options: Options, depth: u32) -> io::Result<IoUring> {
    let basic = || {
        let mut builder = IoUring::builder();
        if options.iopoll {
            builder.setup_iopoll();
        }
        if options.sqpoll {
            // Milliseconds without work after which the kernel's thread sleeps.
            builder.setup_sqpoll(1000);
        }
        builder
    };
    let entries = depth.next_power_of_two();
    if !options.sqpoll {
        // One rank, one thread: completions need no interrupt of it (Linux 6.1). Older kernels do without.
        let fast = basic().setup_single_issuer().setup_coop_taskrun().setup_defer_taskrun().build(entries);
        match fast {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            other => return other,
        }
    }
    basic().build(entries)
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.drain();
    }
}

struct UringConnection {
    ring: Rc<RefCell<Ring>>,
    direct: bool,
    flags: Flags,
    /// The target is a device, named twice.
    device: bool,
    names: PosixNames,
}

impl Connection for UringConnection {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        let file = posix::open(&self.names.resolver, path, opening, self.direct, self.device)?;
        in_memory::take_at_once(&file);
        let registered = self.ring.borrow().options.registered_files;
        if registered {
            self.ring.borrow().ring.submitter().register_files_update(0, &[file.as_raw_fd()])?;
        }
        Ok(Box::new(UringFile { ring: Rc::clone(&self.ring), file, flags: self.flags, registered }))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        Some(&mut self.names)
    }
}

/// The place of the open file in the kernel's table; a rank has one file open at a time.
const SLOT: types::Fixed = types::Fixed(0);

/// What the table holds while no file is open.
const NO_FILE: RawFd = -1;

struct UringFile {
    ring: Rc<RefCell<Ring>>,
    file: File,
    flags: Flags,
    registered: bool,
}

impl UringFile {
    fn descriptor(&self) -> types::Fd {
        types::Fd(self.file.as_raw_fd())
    }
}

impl OpenFile for UringFile {
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        let (start, bytes, flags) = (data.as_ptr(), data.len() as u32, self.flags);
        let entry = if self.registered {
            opcode::Write::new(SLOT, start, bytes).offset(offset).rw_flags(flags).build()
        } else {
            opcode::Write::new(self.descriptor(), start, bytes).offset(offset).rw_flags(flags).build()
        };
        self.ring.borrow_mut().transfer_alone(entry)
    }

    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        let (start, bytes, flags) = (data.as_mut_ptr(), data.len() as u32, self.flags);
        let entry = if self.registered {
            opcode::Read::new(SLOT, start, bytes).offset(offset).rw_flags(flags).build()
        } else {
            opcode::Read::new(self.descriptor(), start, bytes).offset(offset).rw_flags(flags).build()
        };
        self.ring.borrow_mut().transfer_alone(entry)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn check_linked(&self) -> io::Result<()> {
        posix::check_linked(&self.file)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        if self.registered {
            // Else the table would keep the file open.
            self.ring.borrow().ring.submitter().register_files_update(0, &[NO_FILE])?;
        }
        posix::close(self.file)
    }

    #[inline]
    fn begin(&mut self, transfer: InFlight) -> io::Result<()> {
        let mut ring = self.ring.borrow_mut();
        let InFlight { buffer, from, offset, write } = transfer;
        let (start, bytes) = ring.buffers[buffer as usize];
        // SAFETY: `from` is less than the buffer's length: it says how much of a transfer has been moved.
        let (start, bytes) = (unsafe { start.add(from as usize) }, bytes - from);
        let (file, flags) = (self.descriptor(), self.flags);
        // Each combination is a type of its own in the library.
        let entry = match (ring.options.registered_buffers, self.registered, write) {
            (true, true, true) => {
                opcode::WriteFixed::new(SLOT, start, bytes, buffer as u16).offset(offset).rw_flags(flags).build()
            }
            (true, true, false) => {
                opcode::ReadFixed::new(SLOT, start, bytes, buffer as u16).offset(offset).rw_flags(flags).build()
            }
            (true, false, true) => {
                opcode::WriteFixed::new(file, start, bytes, buffer as u16).offset(offset).rw_flags(flags).build()
            }
            (true, false, false) => {
                opcode::ReadFixed::new(file, start, bytes, buffer as u16).offset(offset).rw_flags(flags).build()
            }
            (false, true, true) => opcode::Write::new(SLOT, start, bytes).offset(offset).rw_flags(flags).build(),
            (false, true, false) => opcode::Read::new(SLOT, start, bytes).offset(offset).rw_flags(flags).build(),
            (false, false, true) => opcode::Write::new(file, start, bytes).offset(offset).rw_flags(flags).build(),
            (false, false, false) => opcode::Read::new(file, start, bytes).offset(offset).rw_flags(flags).build(),
        };
        ring.push(entry.user_data(buffer.into()))
    }

    #[inline]
    fn finish(&mut self, at_least: u32, ended: &mut Vec<FinishedTransfer>) -> io::Result<()> {
        let mut ring = self.ring.borrow_mut();
        ring.finish(at_least, |user_data, moved| ended.push(FinishedTransfer { buffer: user_data as u32, moved }))
    }

    fn lock(&mut self, range: Range) -> io::Result<()> {
        posix::lock(&self.file, range, true)
    }

    fn unlock(&mut self, range: Range) -> io::Result<()> {
        posix::lock(&self.file, range, false)
    }
}
