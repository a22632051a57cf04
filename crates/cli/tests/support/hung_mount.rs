//! A file system that stops answering, or writes less than asked: FUSE, spoken by a thread of the test, which reads
//! requests of chosen kinds and never replies. A process that waits for one of those waits in the kernel, where no
//! signal ends it, as on a dead NFS or Lustre server.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::skipped::skipped;

/// The kinds of requests that tests hang, by their numbers in the protocol (linux/fuse.h).
pub const LOOKUP: u32 = 1;
pub const GETATTR: u32 = 3;
pub const MKDIR: u32 = 9;
pub const UNLINK: u32 = 10;
pub const OPEN: u32 = 14;
pub const WRITE: u32 = 16;
pub const STATFS: u32 = 17;
pub const CREATE: u32 = 35;
/// All of them.
pub const ALL: u32 = 63;

const SETATTR: u32 = 4;
const RMDIR: u32 = 11;
const READ: u32 = 15;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const OPENDIR: u32 = 27;
const READDIR: u32 = 28;
const RELEASEDIR: u32 = 29;

/// What the test and the thread share.
#[derive(Default)]
struct State {
    /// A bit for each kind of request that is not answered.
    hung: AtomicU64,
    /// Requests that were read and not answered.
    waiting: AtomicU64,
    /// Writes move at most half a page.
    short: AtomicBool,
}

/// A mounted file system, in memory, flat but for directories without files of interest.
pub struct HungMount {
    directory: tempfile::TempDir,
    state: Arc<State>,
}

impl HungMount {
    /// `None` where this user, or this machine, cannot have one.
    pub fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let mounted = device.map(|device| {
            let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
            let (no_source, kind) = (Some("ioassay-test"), Some("fuse"));
            mount(no_source, directory.path(), kind, MsFlags::MS_NOSUID, Some(options.as_str())).map(|()| device)
        });
        let Ok(Ok(device)) = mounted else {
            skipped("a mount of FUSE", "it needs root and /dev/fuse");
            return None;
        };
        let state = Arc::new(State::default());
        let for_server = Arc::clone(&state);
        std::thread::spawn(move || Server::new(device, for_server).serve());
        Some(Self { directory, state })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// From now on requests of these kinds are not answered.
    pub fn hang(&self, kinds: &[u32]) {
        let bits =
            kinds.iter().map(|&kind| if kind == ALL { u64::MAX } else { 1 << kind }).fold(0, |all, bit| all | bit);
        self.state.hung.store(bits, Ordering::SeqCst);
    }

    /// From now on a write moves at most half a page, and says so.
    pub fn write_short(&self) {
        self.state.short.store(true, Ordering::SeqCst);
    }

    /// True if a process waits for an answer that never comes.
    pub fn is_waited_for(&self) -> bool {
        self.state.waiting.load(Ordering::SeqCst) > 0
    }
}

impl Drop for HungMount {
    fn drop(&mut self) {
        // All who wait get an error.
        let _ = umount2(self.path(), MntFlags::MNT_FORCE);
        let _ = umount2(self.path(), MntFlags::MNT_DETACH);
    }
}

#[derive(Clone, Copy)]
struct Node {
    directory: bool,
    size: u64,
}

struct Server {
    device: File,
    state: Arc<State>,
    /// By the directory that has them and their names.
    names: BTreeMap<(u64, Vec<u8>), u64>,
    nodes: BTreeMap<u64, Node>,
}

fn number(bytes: &[u8], begin: usize, length: usize) -> u64 {
    let mut number = [0; 8];
    number[..length].copy_from_slice(&bytes[begin..begin + length]);
    u64::from_le_bytes(number)
}

fn name(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default().to_vec()
}

impl Server {
    fn new(device: File, state: Arc<State>) -> Self {
        let nodes = BTreeMap::from([(1, Node { directory: true, size: 0 })]);
        Self { device, state, names: BTreeMap::new(), nodes }
    }

    fn serve(mut self) {
        let mut request = vec![0; 1 << 20];
        // It ends with the mount.
        while let Ok(read) = self.device.read(&mut request) {
            let (kind, unique, node) = (number(&request, 4, 4) as u32, number(&request, 8, 8), number(&request, 16, 8));
            let hung = self.state.hung.load(Ordering::SeqCst);
            if kind != INIT && kind < 64 && hung & (1 << kind) != 0 {
                self.state.waiting.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            // FORGET, INTERRUPT and BATCH_FORGET have no answer.
            if matches!(kind, 2 | 36 | 42) {
                continue;
            }
            let (error, answer) = match self.answer(kind, node, &request[40..read]) {
                Ok(answer) => (0, answer),
                Err(error) => (-error, Vec::new()),
            };
            let mut reply = Vec::new();
            reply.extend((16 + answer.len() as u32).to_le_bytes());
            reply.extend(error.to_le_bytes());
            reply.extend(unique.to_le_bytes());
            reply.extend(answer);
            let _ = self.device.write(&reply);
        }
    }

    fn answer(&mut self, kind: u32, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
        Ok(match kind {
            INIT => {
                let words = [7_u32, 31, 1 << 16, 0, 0, 1 << 16];
                let mut answer: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                answer.resize(64, 0);
                answer
            }
            LOOKUP => self.entry(*self.names.get(&(node, name(body))).ok_or(libc::ENOENT)?),
            GETATTR => [vec![0; 16], self.attributes(node)].concat(),
            SETATTR => {
                if number(body, 0, 4) & 8 != 0 {
                    self.nodes.get_mut(&node).ok_or(libc::ENOENT)?.size = number(body, 16, 8);
                }
                [vec![0; 16], self.attributes(node)].concat()
            }
            MKDIR => {
                let made = self.make(node, name(&body[8..]), true);
                self.entry(made)
            }
            CREATE => {
                let made = self.make(node, name(&body[16..]), false);
                [self.entry(made), vec![0; 16]].concat()
            }
            UNLINK | RMDIR => {
                self.names.remove(&(node, name(body))).ok_or(libc::ENOENT)?;
                Vec::new()
            }
            OPEN | OPENDIR => vec![0; 16],
            WRITE => {
                let (offset, asked) = (number(body, 8, 8), number(body, 16, 4));
                let size = if self.state.short.load(Ordering::SeqCst) { asked.min(2048) } else { asked };
                let file = self.nodes.get_mut(&node).ok_or(libc::ENOENT)?;
                file.size = file.size.max(offset + size);
                [(size as u32).to_le_bytes(), [0; 4]].concat()
            }
            READ => vec![0; number(body, 16, 4) as usize],
            STATFS => {
                let mut answer: Vec<u8> = [1_u64 << 30; 5].iter().flat_map(|word| word.to_le_bytes()).collect();
                answer.extend([4096_u32, 255, 4096].iter().flat_map(|word| word.to_le_bytes()));
                answer.resize(80, 0);
                answer
            }
            READDIR | RELEASE | FSYNC | FLUSH | RELEASEDIR => Vec::new(),
            _ => return Err(libc::ENOSYS),
        })
    }

    fn make(&mut self, above: u64, name: Vec<u8>, directory: bool) -> u64 {
        let number = self.nodes.len() as u64 + 1;
        self.nodes.insert(number, Node { directory, size: 0 });
        self.names.insert((above, name), number);
        number
    }

    /// It may not be cached, so that every question comes here.
    fn entry(&self, node: u64) -> Vec<u8> {
        let mut entry: Vec<u8> = [node, 0, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        entry.extend(self.attributes(node));
        entry
    }

    fn attributes(&self, node: u64) -> Vec<u8> {
        let Node { directory, size } = self.nodes.get(&node).copied().unwrap_or(Node { directory: false, size: 0 });
        let mode: u32 = if directory { 0o40755 } else { 0o100_644 };
        let long = [node, size, size.div_ceil(512), 0, 0, 0];
        let short = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0];
        let mut bytes: Vec<u8> = long.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(short.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }
}
