//! What is known of a traced thread and its process: open descriptors, the working directory, memory.
//!
//! What the tracer has not seen being opened (inherited, received, made by calls that do not stop) is looked up in `/proc`
//! when it is first used.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use ioassay_record::file_identity::FileIdentity;
use ioassay_record::names::{COMMAND_BYTES, FINISHED, JOB_VARIABLES};
use ioassay_record::operation::Operation;
use ioassay_record::table::{COUNTERS, FileKind, TextKind};

use super::calls::Call;
use super::maps::Maps;
use super::rings::SharedRing;
use super::table::{About, Identity, Name, Table};

/// Paths are no longer.
const PATH_BYTES: usize = 4096;
const PAGE_BYTES: u64 = 4096;

/// An open file description: descriptors that `dup` and `fork` make share one.
pub struct Description {
    /// Of the file.
    pub name: Name,
    /// What the kernel knows of it, where it says that.
    pub about: Option<About>,
    /// Where the next `read` or `write` begins, as far as is known.
    pub position: Cell<u64>,
    /// The ring of io_uring that it is.
    pub ring: RefCell<Option<SharedRing>>,
}

impl fmt::Debug for Description {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter
            .debug_struct("Description")
            .field("name", &String::from_utf8_lossy(&self.name))
            .finish_non_exhaustive()
    }
}

impl Description {
    /// One that is no ring.
    pub fn new(name: Name, about: Option<About>, position: u64) -> Self {
        Self { name, about, position: Cell::new(position), ring: RefCell::default() }
    }

    /// Moves on by so many bytes. Where it was.
    pub fn advance(&self, bytes: u64) -> u64 {
        self.position.replace(self.position.get().wrapping_add(bytes))
    }

    /// What offsets in it are to be a multiple of; 0 where that makes no sense, or is not known.
    pub fn alignment(&self) -> u32 {
        let Some(about) = self.about else { return 0 };
        FileKind::of_name(&self.name).opened_as(about.kind).alignment(about.block_bytes)
    }
}

/// The descriptors of a process: which description each leads to, of those that are known.
#[derive(Debug, Default, Clone)]
pub struct Descriptors {
    known: HashMap<i32, Rc<Description>>,
}

impl Descriptors {
    /// What a descriptor leads to, which is looked up where it is not known; nothing where it is not open.
    pub fn get(&mut self, thread: i32, descriptor: i32) -> Option<Rc<Description>> {
        if let Some(known) = self.known.get(&descriptor) {
            return Some(known.clone());
        }
        let description = Rc::new(look_up(thread, descriptor)?);
        self.known.insert(descriptor, description.clone());
        Some(description)
    }

    /// What a descriptor leads to, if it is known.
    pub fn known(&self, descriptor: i32) -> Option<Rc<Description>> {
        self.known.get(&descriptor).cloned()
    }

    /// A descriptor leads to that from now on.
    pub fn set(&mut self, descriptor: i32, to: Rc<Description>) {
        self.known.insert(descriptor, to);
    }

    /// A descriptor is closed, or about to be.
    pub fn forget(&mut self, descriptor: i32) {
        self.known.remove(&descriptor);
    }

    /// All from the first to the last are closed.
    pub fn forget_range(&mut self, first: u32, last: u32) {
        self.known.retain(|descriptor, _| !(first..=last).contains(&(*descriptor as u32)));
    }

    /// The program was replaced: descriptors that are not open any more are forgotten.
    pub fn keep_open(&mut self, thread: i32) {
        if self.known.is_empty() {
            return;
        }
        let listed = fs::read_dir(format!("/proc/{thread}/fd")).into_iter().flatten();
        let open: Vec<i32> = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        self.known.retain(|descriptor, _| open.contains(descriptor));
    }
}

/// What the kernel knows of an open file of a thread.
pub fn about(thread: i32, descriptor: i32) -> Option<About> {
    let metadata = fs::metadata(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    let born = metadata.created().ok().and_then(|moment| moment.duration_since(SystemTime::UNIX_EPOCH).ok());
    Some(About {
        identity: FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            birth_ns: born.map_or(0, |since| since.as_nanos() as u64),
            generation: 0,
        },
        kind: FileKind::of_mode(metadata.mode()),
        size_bytes: metadata.size(),
        block_bytes: metadata.blksize() as u32,
    })
}

fn look_up(thread: i32, descriptor: i32) -> Option<Description> {
    if descriptor < 0 {
        return None;
    }
    let about = about(thread, descriptor)?;
    let name: Name = match about.kind.nameless() {
        Some(name) => name.as_bytes().into(),
        None => fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?.as_os_str().as_bytes().into(),
    };
    let fdinfo = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}")).unwrap_or_default();
    let position = fdinfo.strip_prefix("pos:").and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Some(Description::new(name, Some(about), position.unwrap_or(0)))
}

/// The working directory of processes that share one, once it has been looked up.
pub type Directory = Rc<RefCell<Option<Vec<u8>>>>;

/// A call that is under way.
#[derive(Debug, Clone)]
pub struct Pending {
    /// What it is.
    pub call: Call,
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// Where the thread's stack was: a call that is restarted has the same.
    pub stack: u64,
    /// Where it opens a file: the flags, as they were when it began.
    pub flags: i32,
    /// Its class, where it is counted.
    pub operation: Option<Operation>,
    /// The file that it is on, by name.
    pub name: Option<Name>,
    /// The open file that it is on.
    pub description: Option<Rc<Description>>,
    /// Place of the file in the table.
    pub file: usize,
    /// When it began, in ticks.
    pub began: u64,
}

/// What is known of a system call that a signal has interrupted.
#[derive(Debug)]
pub struct Interrupted {
    /// The call.
    pub pending: Pending,
    /// Calls that stopped since.
    pub since: u32,
    /// The thread is in `rt_sigreturn`: what that seems to return is what the call returns.
    pub returning: bool,
}

/// A traced thread.
pub struct Tracee {
    /// The process that it is of.
    pub process: i32,
    /// Its descriptors.
    pub descriptors: Rc<RefCell<Descriptors>>,
    /// Its working directory.
    pub directory: Directory,
    /// The call that it is in.
    pub pending: Option<Pending>,
    /// A call that may be restarted.
    pub interrupted: Option<Interrupted>,
    /// Its place in the table of its process, once there is one.
    pub place: Option<usize>,
    /// Rings that it has registered for itself, by index.
    pub rings: HashMap<u32, SharedRing>,
}

/// A traced process.
pub struct Process {
    /// Who it is.
    pub identity: Identity,
    /// What it counted; nothing before its first call.
    pub table: Option<Table>,
    /// It executes this program since `exec`, so that there is a table of it even if it makes no call.
    pub executed: bool,
    /// It has started processes.
    pub has_children: bool,
    /// A file has its table as it was some time ago.
    pub is_live: bool,
    /// Files that it has in memory.
    pub maps: Maps,
    /// Rings that it has set up and not closed.
    pub rings: Vec<SharedRing>,
    /// Place in the table of all rings that others have set up.
    pub unseen_rings: Option<usize>,
}

impl Process {
    /// One that has just begun.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            table: None,
            executed: false,
            has_children: false,
            is_live: false,
            rings: Vec::new(),
            unseen_rings: None,
            maps: Maps::default(),
        }
    }
}

/// Text in a process's memory, up to its zero byte. Nothing where it cannot be read.
pub fn text_at(thread: i32, address: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PATH_BYTES];
    // Up to the end of the page, and what follows: that need not be there.
    let first = (PAGE_BYTES - address % PAGE_BYTES) as usize;
    let read = read_memory(thread, address, first, &mut bytes)?;
    bytes.truncate(read);
    let end = bytes.iter().position(|&byte| byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

/// A number in a process's memory.
pub fn number_at(thread: i32, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes_at(thread, address, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// Fills `bytes` from a process's memory. Whether all of it can be read.
pub fn bytes_at(thread: i32, address: u64, bytes: &mut [u8]) -> bool {
    bytes.is_empty() || read_memory(thread, address, bytes.len(), bytes) == Some(bytes.len())
}

/// Reads memory in two parts, the first of at most so many bytes. How many could be read.
fn read_memory(thread: i32, address: u64, first: usize, bytes: &mut [u8]) -> Option<usize> {
    let first = first.min(bytes.len());
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let vector = |address: u64, length| libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    let remote = [vector(address, first), vector(address.wrapping_add(first as u64), bytes.len() - first)];
    // SAFETY: the kernel fills `bytes`, and checks the other process's addresses.
    let read = unsafe { libc::process_vm_readv(thread, &raw const local, 1, remote.as_ptr(), 2, 0) };
    usize::try_from(read).ok()
}

/// The working directory of a thread, without a slash at its end.
pub fn directory_of(thread: i32) -> Option<Vec<u8>> {
    let mut path = fs::read_link(format!("/proc/{thread}/cwd")).ok()?.into_os_string().into_vec();
    if path == b"/" {
        path.clear();
    }
    Some(path)
}

/// The absolute name of a path that is relative to a directory.
pub fn beneath(directory: &[u8], path: &[u8]) -> Name {
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    if path.is_empty() || path == b"." {
        return if directory.is_empty() { (*b"/").into() } else { directory.into() };
    }
    [directory, b"/", path].concat().into()
}

/// Who a process is that has just been replaced by `exec`.
pub fn identity_of(process: i32, node: &[u8]) -> Identity {
    let mut identity = Identity { process: process as u32, ..Identity::default() };
    let read = |name: &str| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
    let link =
        |name: &str| fs::read_link(format!("/proc/{process}/{name}")).map(|path| path.into_os_string().into_vec());
    let status = read("status");
    for line in String::from_utf8_lossy(&status).lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("PPid:") => identity.parent = words.next().and_then(|word| word.parse().ok()).unwrap_or(0),
            // Real, effective, …
            Some("Uid:") => identity.user = words.nth(1).and_then(|word| word.parse().ok()).unwrap_or(0),
            _ => {}
        }
    }
    identity.say(TextKind::Node, node.to_vec());
    let mut command = read("cmdline");
    command.truncate(COMMAND_BYTES);
    identity.say(TextKind::Command, command);
    if let Ok(executable) = link("exe") {
        identity.say(TextKind::Executable, executable);
    }
    if let Ok(directory) = link("cwd") {
        identity.say(TextKind::Directory, directory);
    }
    let environment = read("environ");
    let of_job = environment.split_inclusive(|&byte| byte == 0).filter(|variable| {
        let name = variable.split(|&byte| byte == b'=').next().unwrap_or_default();
        JOB_VARIABLES.iter().any(|known| known.as_bytes() == name)
    });
    let job: Vec<u8> = of_job.flatten().copied().collect();
    if !job.is_empty() {
        identity.say(TextKind::Job, job);
    }
    identity
}

/// What the kernel counted of a thread's reads and writes.
pub fn counters_of_thread(process: i32, thread: i32) -> Option<[u64; COUNTERS]> {
    kernel_counters(&format!("/proc/{process}/task/{thread}/io"))
}

/// What the kernel counted of a process as a whole, and of its children that it has waited for.
pub fn counters_of_process(process: i32) -> Option<[u64; COUNTERS]> {
    kernel_counters(&format!("/proc/{process}/io"))
}

fn kernel_counters(path: &str) -> Option<[u64; COUNTERS]> {
    let text = fs::read_to_string(path).ok()?;
    let mut counters = [0; COUNTERS];
    for (counter, line) in counters.iter_mut().zip(text.lines()) {
        *counter = line.split_whitespace().nth(1)?.parse().ok()?;
    }
    Some(counters)
}

/// The program of a process has privileges of its own, which it did not get: the user and the program.
pub fn lacks_privileges(process: i32, user: u32) -> Option<String> {
    let program_metadata = fs::metadata(format!("/proc/{process}/exe")).ok()?;
    let wanted = program_metadata.mode() & libc::S_ISUID != 0 && program_metadata.uid() != user;
    let program = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    wanted.then(|| program.display().to_string())
}

/// The process that a thread is of, and its parent.
pub fn process_of(thread: i32) -> Option<(i32, i32)> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok());
    Some((field("Tgid:")?, field("PPid:")?))
}

/// The node's name, as the recorder has it in names of files.
pub fn node_name() -> Vec<u8> {
    let name = ioassay_host::host_name().into_bytes();
    name.split(|&byte| byte == b'/').next().unwrap_or_default().to_vec()
}

/// The file of tables that ended, in a directory.
pub fn finished_in(directory: &Path, node: &[u8]) -> std::path::PathBuf {
    directory.join(OsStr::from_bytes(&[node, b".", FINISHED.as_bytes()].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_beneath_its_directory() {
        for (directory, path, name) in [
            ("/a", "b", "/a/b"),
            ("/a", "./b", "/a/b"),
            ("/a", ".", "/a"),
            ("", "b", "/b"),
            ("", ".", "/"),
            ("/", "b", "/b"),
        ] {
            assert_eq!(&*beneath(directory.as_bytes(), path.as_bytes()), name.as_bytes());
        }
    }

    #[test]
    fn text_is_read_up_to_its_end_from_any_place() {
        let this_process = std::process::id() as i32;
        let text = c"/some/path";
        assert_eq!(text_at(this_process, text.as_ptr() as u64).unwrap(), text.to_bytes());
        assert_eq!(text_at(this_process, 8), None);
    }

    #[test]
    fn only_what_has_blocks_on_storage_has_offsets_that_can_be_misaligned() {
        for (name, kind, alignment) in [
            ("/data", FileKind::Regular, 4096),
            ("/proc/self/maps", FileKind::Regular, 0),
            ("pipe", FileKind::Pipe, 0),
            ("/dev/pts/0", FileKind::CharacterDevice, 0),
        ] {
            let about = About { identity: FileIdentity::default(), kind, size_bytes: 0, block_bytes: 4096 };
            let name: Name = name.as_bytes().into();
            assert_eq!(Description::new(name, Some(about), 0).alignment(), alignment);
        }
    }
}
