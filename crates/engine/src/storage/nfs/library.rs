//! libnfs: looked for when it is needed, and called from here and from nowhere else.
//!
//! Of libnfs the mount and the raw calls of NFSv3 are used: its functions that resemble system calls follow symbolic
//! links on the way to a name, take a failed READ or WRITE for `EFAULT`, and do not look whether a server has forgotten
//! what was not committed. None of its caches is in the way of a raw call.
//! Not here: which requests are made, waiting for them, what their errors mean.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::ptr;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

use super::layout::{
    AccessArgs, AccessOk, Attributes, CommitOk, CreateArgs, CreateOk, DirOpArgs, FILE_SYNC, FsStatOk, GUARDED,
    LookupOk, MkdirArgs, Opaque, PostAttributes, RangeArgs, ReadDirArgs, ReadDirOk, ReadOk, RenameArgs, Res,
    RootHandle, SetAttrArgs, SetAttributes, Time, UNCHECKED, UNSTABLE, WriteArgs, WriteOk,
};
use crate::failure::Explained;
use crate::storage::memory::Memory;

/// The versions of the library that have the functions used here, with these arguments: 5.0 and 4.0.
const KNOWN: &[&str] = &["libnfs.so.14", "libnfs.so.13"];

/// Versions that are about, and whose functions are others.
const OTHERS: &[&str] = &["libnfs.so.17", "libnfs.so.16", "libnfs.so.12", "libnfs.so.11", "libnfs.so.8"];

const INSTALL: &str = "install libnfs 4.0 or 5.0 on every node with ranks, for example: apt-get install libnfs13";

/// A client of libnfs (`struct nfs_context`) and its connection (`struct rpc_context`), whose insides are its own.
type NfsContext = *mut c_void;
type RpcContext = *mut c_void;

type Answered = unsafe extern "C" fn(RpcContext, c_int, *mut c_void, *mut c_void);
type Mounted = unsafe extern "C" fn(c_int, NfsContext, *mut c_void, *mut c_void);
/// A raw call: connection, callback, arguments, what the callback is given.
type Call = unsafe extern "C" fn(RpcContext, Answered, *const c_void, *mut c_void) -> c_int;

/// The functions that are used, each with its name in the library.
macro_rules! functions {
    ($($field:ident: $type:ty = $name:literal,)*) => {
        /// libnfs.
        pub(super) struct Library {
            $($field: $type,)*
            /// Keeps the functions where they are.
            _loaded: libloading::Library,
        }

        impl Library {
            fn of(loaded: libloading::Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of the headers of the versions in `KNOWN`.
                unsafe { Ok(Self { $($field: *loaded.get::<$type>($name)?,)* _loaded: loaded }) }
            }
        }
    };
}

functions! {
    init_context: unsafe extern "C" fn() -> NfsContext = c"nfs_init_context",
    destroy_context: unsafe extern "C" fn(NfsContext) = c"nfs_destroy_context",
    parse_url: unsafe extern "C" fn(NfsContext, *const c_char) -> *mut c_void = c"nfs_parse_url_dir",
    destroy_url: unsafe extern "C" fn(*mut c_void) = c"nfs_destroy_url",
    mount: unsafe extern "C" fn(NfsContext, *const c_char, *const c_char, Mounted, *mut c_void) -> c_int =
        c"nfs_mount_async",
    root: unsafe extern "C" fn(NfsContext) -> *const RootHandle = c"nfs_get_rootfh",
    read_max: unsafe extern "C" fn(NfsContext) -> u64 = c"nfs_get_readmax",
    write_max: unsafe extern "C" fn(NfsContext) -> u64 = c"nfs_get_writemax",
    error: unsafe extern "C" fn(NfsContext) -> *const c_char = c"nfs_get_error",
    descriptor: unsafe extern "C" fn(NfsContext) -> c_int = c"nfs_get_fd",
    which_events: unsafe extern "C" fn(NfsContext) -> c_int = c"nfs_which_events",
    service: unsafe extern "C" fn(NfsContext, c_int) -> c_int = c"nfs_service",
    connection: unsafe extern "C" fn(NfsContext) -> RpcContext = c"nfs_get_rpc_context",
    null: unsafe extern "C" fn(RpcContext, Answered, *mut c_void) -> c_int = c"rpc_nfs3_null_async",
    getattr: Call = c"rpc_nfs3_getattr_async",
    setattr: Call = c"rpc_nfs3_setattr_async",
    lookup: Call = c"rpc_nfs3_lookup_async",
    access: Call = c"rpc_nfs3_access_async",
    read: Call = c"rpc_nfs3_read_async",
    write: Call = c"rpc_nfs3_write_async",
    commit: Call = c"rpc_nfs3_commit_async",
    create: Call = c"rpc_nfs3_create_async",
    mkdir: Call = c"rpc_nfs3_mkdir_async",
    remove: Call = c"rpc_nfs3_remove_async",
    rmdir: Call = c"rpc_nfs3_rmdir_async",
    rename: Call = c"rpc_nfs3_rename_async",
    readdir: Call = c"rpc_nfs3_readdir_async",
    fsstat: Call = c"rpc_nfs3_fsstat_async",
}

/// The library; it is looked for once.
pub(super) fn library() -> io::Result<&'static Library> {
    static FOUND: OnceLock<Result<Library, Explained>> = OnceLock::new();
    FOUND.get_or_init(|| find(KNOWN, OTHERS)).as_ref().map_err(|missing| missing.clone().into_io())
}

/// The first of `known` that is there. Where one of `others` is there instead, it is named.
fn find(known: &[&str], others: &[&str]) -> Result<Library, Explained> {
    // SAFETY: what libnfs does when it is loaded is nothing.
    let load = |name: &&str| unsafe { libloading::Library::new(*name) };
    let missing = |what: String| Explained { what, remedy: INSTALL.to_owned() };
    if let Some(loaded) = known.iter().find_map(|name| load(name).ok()) {
        return Library::of(loaded).map_err(|error| missing(format!("libnfs lacks a required function: {error}")));
    }
    let what = match others.iter().find(|name| load(name).is_ok()) {
        Some(other) => {
            format!("{other} is installed, but only these versions of libnfs are supported: {}", known.join(", "))
        }
        None => format!("libnfs is not installed on this node: none of {} was found", known.join(", ")),
    };
    Err(missing(what))
}

/// What the server knows a file or directory by.
#[derive(Debug, Clone, Copy)]
pub struct Handle {
    bytes: [u8; Self::LONGEST],
    len: u8,
}

impl Handle {
    /// RFC 1813's NFS3_FHSIZE.
    const LONGEST: usize = 64;

    /// # Safety
    /// There are `len` bytes at `start`.
    unsafe fn copied(start: *const c_char, len: usize) -> Self {
        let len = len.min(Self::LONGEST);
        let mut bytes = [0; Self::LONGEST];
        if len > 0 {
            // SAFETY: the caller vouches for the one side, and the other has been made as long.
            unsafe { ptr::copy_nonoverlapping(start.cast(), bytes.as_mut_ptr(), len) };
        }
        Self { bytes, len: len as u8 }
    }

    fn opaque(&self) -> Opaque {
        // libnfs only reads it.
        Opaque { len: self.len.into(), val: self.bytes.as_ptr().cast_mut().cast() }
    }
}

/// A name in a directory.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The directory.
    pub directory: &'a Handle,
    /// The name.
    pub name: &'a CStr,
}

impl Named<'_> {
    fn args(&self) -> DirOpArgs {
        DirOpArgs { dir: self.directory.opaque(), name: self.name.as_ptr() }
    }
}

/// A request to the server: a procedure of NFSv3 and its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) enum Request<'a> {
    Null,
    GetAttributes(&'a Handle),
    SetSize { file: &'a Handle, bytes: u64 },
    Lookup(Named<'a>),
    Access { object: &'a Handle, rights: u32 },
    Read { file: &'a Handle, offset: u64, into: Memory },
    Write { file: &'a Handle, offset: u64, from: Memory, stable: bool },
    Commit(&'a Handle),
    Create { place: Named<'a>, mode: u32, exclusive: bool },
    MakeDirectory { place: Named<'a>, mode: u32 },
    Remove(Named<'a>),
    RemoveDirectory(Named<'a>),
    Rename { from: Named<'a>, to: Named<'a> },
    List { directory: &'a Handle, from: Cookie },
    Room(&'a Handle),
}

/// Where a listing goes on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cookie {
    cookie: u64,
    verifier: [u8; 8],
}

/// What distinguishes one life of a server from the next.
pub(super) type Verifier = [u8; 8];

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, or something else.
    Other,
}

/// What a request brought.
#[derive(Debug)]
pub(super) enum Reply {
    Done,
    /// Of the object that was looked up, inspected or created.
    Object {
        handle: Option<Handle>,
        kind: Option<Kind>,
    },
    /// The rights that there are of those that were asked about.
    Rights(u32),
    /// How many bytes; of a WRITE whose bytes are in the server's memory also which life of it that is.
    Moved {
        from: *mut u8,
        asked: usize,
        bytes: usize,
        unstable: Option<Verifier>,
    },
    Committed(Verifier),
    /// Names, and where to go on if there are more.
    Names(Vec<CString>, Option<Cookie>),
    Room {
        free_bytes: u64,
        free_files: Option<u64>,
    },
}

/// Why a request brought nothing.
#[derive(Debug)]
pub(super) enum Refused {
    /// The server's `nfsstat3`.
    Status(c_int),
    /// The request did not get through, or not back.
    Rpc(String),
}

/// A request's number and its result.
pub(super) type Answer = (u64, Result<Reply, Refused>);

/// What is to be done with an answer: its result is decoded while libnfs has it.
type Decode = unsafe fn(*const c_void, Memory) -> Result<Reply, Refused>;

/// What a callback is given.
struct Pending {
    number: u64,
    decode: Decode,
    memory: Memory,
    answers: Rc<RefCell<VecDeque<Answer>>>,
}

/// libnfs's word for success, in callbacks of raw calls.
const RPC_SUCCESS: c_int = 0;
/// The callback is given a text.
const RPC_ERROR: c_int = 1;

unsafe extern "C" fn answered(_: RpcContext, status: c_int, data: *mut c_void, private: *mut c_void) {
    // SAFETY: `private` is a box that `Context::send` let go, and libnfs calls back once for every request that it
    // took: with its answer, when the connection breaks, or when the context is destroyed.
    let pending = unsafe { Box::from_raw(private.cast::<Pending>()) };
    let answer = match status {
        // SAFETY: `data` is the result of the procedure that `decode` belongs to.
        RPC_SUCCESS => unsafe { (pending.decode)(data, pending.memory) },
        // SAFETY: with an error libnfs hands over a text, or nothing.
        RPC_ERROR => Err(Refused::Rpc(unsafe { text(data.cast()) })),
        _ => Err(Refused::Rpc("the request was cancelled".to_owned())),
    };
    pending.answers.borrow_mut().push_back((pending.number, answer));
}

unsafe extern "C" fn mounted(status: c_int, _: NfsContext, _: *mut c_void, private: *mut c_void) {
    // SAFETY: `private` is the cell of the context that asked, which outlives libnfs's.
    unsafe { (*private.cast::<Cell<Option<c_int>>>()).set(Some(status)) };
}

/// # Safety
/// `text` is null or ends with a zero byte.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "libnfs gave no reason".to_owned();
    }
    // SAFETY: the caller vouches for it.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Why a connection is gone, which libnfs does not always say.
fn error_of(socket: c_int) -> io::Error {
    let (mut error, mut len) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: SO_ERROR stores an int, which `error` is, of the length that `len` says.
    let asked = unsafe {
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_ERROR, ptr::from_mut(&mut error).cast(), &mut len)
    };
    if asked == 0 && error != 0 {
        return io::Error::from_raw_os_error(error);
    }
    io::Error::other("the server closed the connection")
}

/// A client of libnfs: not connected at first, then mounted.
pub(super) struct Context {
    library: &'static Library,
    nfs: NfsContext,
    answers: Rc<RefCell<VecDeque<Answer>>>,
    mounted: Rc<Cell<Option<c_int>>>,
}

impl Context {
    /// A client with the options in the query of `url`, as libnfs knows them. Nothing is sent yet.
    pub fn new(library: &'static Library, url: &CStr) -> io::Result<Self> {
        // SAFETY: it takes nothing.
        let nfs = unsafe { (library.init_context)() };
        if nfs.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let context = Self { library, nfs, answers: Rc::default(), mounted: Rc::default() };
        // SAFETY: the context lives, and the URL ends with a zero byte; what comes back is freed as it is to be.
        let parsed = unsafe { (library.parse_url)(nfs, url.as_ptr()) };
        if parsed.is_null() {
            return Err(io::Error::other(context.error()));
        }
        // SAFETY: it comes from `parse_url`.
        unsafe { (library.destroy_url)(parsed) };
        Ok(context)
    }

    /// What libnfs says of its last error.
    pub fn error(&self) -> String {
        // SAFETY: the context lives, and the text until the next call.
        unsafe { text((self.library.error)(self.nfs)) }
    }

    /// Begins to mount `export` of `host`.
    pub fn mount(&self, host: &CStr, export: &CStr) -> io::Result<()> {
        let state = Rc::as_ptr(&self.mounted).cast_mut().cast();
        // SAFETY: the texts end with a zero byte and are copied; the cell lives as long as the context.
        let begun = unsafe { (self.library.mount)(self.nfs, host.as_ptr(), export.as_ptr(), mounted, state) };
        if begun == 0 { Ok(()) } else { Err(io::Error::other(self.error())) }
    }

    /// The result of the mount: 0, or an error number below 0. `None` as long as it goes on.
    pub fn mounted(&self) -> Option<c_int> {
        self.mounted.get()
    }

    /// The directory that was mounted.
    pub fn root(&self) -> Handle {
        // SAFETY: the context lives, and is mounted, so that it has a handle, which is copied.
        unsafe {
            let root = (self.library.root)(self.nfs);
            Handle::copied((*root).val, (*root).len.max(0) as usize)
        }
    }

    /// Most bytes that one READ, and one WRITE, moves.
    pub fn most_bytes(&self) -> (usize, usize) {
        // SAFETY: the context lives.
        unsafe { ((self.library.read_max)(self.nfs) as usize, (self.library.write_max)(self.nfs) as usize) }
    }

    /// Takes what libnfs has been answered.
    pub fn next_answer(&self) -> Option<Answer> {
        self.answers.borrow_mut().pop_front()
    }

    /// Sends what has not been sent, as far as the socket takes it.
    pub fn flush(&self) -> io::Result<()> {
        // SAFETY: the context lives.
        let events = unsafe { (self.library.which_events)(self.nfs) };
        if events & c_int::from(libc::POLLOUT) == 0 { Ok(()) } else { self.service(libc::POLLOUT.into()) }
    }

    /// Waits until something can be sent or has come, at most `longest`, and sends or takes it. An error is that the
    /// connection is gone.
    pub fn wait(&self, longest: Duration) -> io::Result<()> {
        // SAFETY: the context lives.
        let (descriptor, events) =
            unsafe { ((self.library.descriptor)(self.nfs), (self.library.which_events)(self.nfs)) };
        let mut socket = libc::pollfd { fd: descriptor, events: events as libc::c_short, revents: 0 };
        let most_ms = c_int::try_from(longest.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: `socket` is one pollfd that outlives the call.
        match unsafe { libc::poll(&mut socket, 1, most_ms) } {
            1 if socket.revents & (libc::POLLERR | libc::POLLHUP) != 0 => Err(error_of(descriptor)),
            1 => self.service(socket.revents.into()),
            // A signal is no failure: the caller waits again.
            _ => Ok(()),
        }
    }

    fn service(&self, events: c_int) -> io::Result<()> {
        // SAFETY: the context lives; the callbacks that this runs touch only what they were given.
        if unsafe { (self.library.service)(self.nfs, events) } < 0 {
            Err(io::Error::other(self.error()))
        } else {
            Ok(())
        }
    }

    /// Hands `request` to libnfs, to be sent by the next [`Context::flush`]. Its answer will bear `number`. Memory of a
    /// READ or WRITE must live until then, or until nobody calls [`Context::flush`] and [`Context::wait`] any more.
    pub fn send(&self, number: u64, request: &Request<'_>) -> io::Result<()> {
        let library = self.library;
        match *request {
            Request::Null => self.call_null(number),
            Request::GetAttributes(object) => {
                self.call(number, library.getattr, &object.opaque(), result::<Attributes>)
            }
            Request::SetSize { file, bytes } => {
                let attributes = SetAttributes::size(bytes);
                let args = SetAttrArgs { object: file.opaque(), attributes, guard: (0, Time::default()) };
                self.call(number, library.setattr, &args, result::<()>)
            }
            Request::Lookup(named) => self.call(number, library.lookup, &named.args(), result::<LookupOk>),
            Request::Access { object, rights } => self.call(
                number,
                library.access,
                &AccessArgs { object: object.opaque(), access: rights },
                result::<AccessOk>,
            ),
            Request::Read { file, offset, into } => {
                let args = RangeArgs { file: file.opaque(), offset, count: into.bytes() as u32 };
                self.call_with(number, library.read, &args, result::<ReadOk>, into)
            }
            Request::Write { file, offset, from, stable } => {
                let (count, stable) = (from.bytes() as u32, if stable { FILE_SYNC } else { UNSTABLE });
                let data = Opaque { len: count, val: from.start().cast() };
                let args = WriteArgs { file: file.opaque(), offset, count, stable, data };
                self.call_with(number, library.write, &args, result::<WriteOk>, from)
            }
            Request::Commit(file) => {
                // No offset and no count: all of the file.
                self.call(
                    number,
                    library.commit,
                    &RangeArgs { file: file.opaque(), offset: 0, count: 0 },
                    result::<CommitOk>,
                )
            }
            Request::Create { place, mode, exclusive } => {
                let how = if exclusive { GUARDED } else { UNCHECKED };
                let args = CreateArgs { place: place.args(), how, attributes: SetAttributes::mode(mode) };
                self.call(number, library.create, &args, result::<CreateOk>)
            }
            Request::MakeDirectory { place, mode } => {
                let args = MkdirArgs { place: place.args(), attributes: SetAttributes::mode(mode) };
                self.call(number, library.mkdir, &args, result::<CreateOk>)
            }
            Request::Remove(named) => self.call(number, library.remove, &named.args(), result::<()>),
            Request::RemoveDirectory(named) => self.call(number, library.rmdir, &named.args(), result::<()>),
            Request::Rename { from, to } => {
                self.call(number, library.rename, &RenameArgs { from: from.args(), to: to.args() }, result::<()>)
            }
            Request::List { directory, from } => {
                let Cookie { cookie, verifier } = from;
                let args = ReadDirArgs { dir: directory.opaque(), cookie, verifier, count: LISTED_BYTES };
                self.call(number, library.readdir, &args, result::<ReadDirOk>)
            }
            Request::Room(object) => self.call(number, library.fsstat, &object.opaque(), result::<FsStatOk>),
        }
    }

    fn call<A>(&self, number: u64, call: Call, args: &A, decode: Decode) -> io::Result<()> {
        self.call_with(number, call, args, decode, Memory::read_from(&[]))
    }

    fn call_with<A>(&self, number: u64, call: Call, args: &A, decode: Decode, memory: Memory) -> io::Result<()> {
        self.submit(number, decode, memory, |connection, private| {
            // SAFETY: the arguments are those of the procedure, as `send` pairs them, and are encoded before the call
            // returns, but for the bytes of a WRITE, which live longer, as `send` demands.
            unsafe { call(connection, answered, ptr::from_ref(args).cast(), private) }
        })
    }

    fn call_null(&self, number: u64) -> io::Result<()> {
        let decode: Decode = |_, _| Ok(Reply::Done);
        self.submit(number, decode, Memory::read_from(&[]), |connection, private| {
            // SAFETY: it takes no arguments.
            unsafe { (self.library.null)(connection, answered, private) }
        })
    }

    fn submit(
        &self,
        number: u64,
        decode: Decode,
        memory: Memory,
        call: impl FnOnce(RpcContext, *mut c_void) -> c_int,
    ) -> io::Result<()> {
        let pending = Pending { number, decode, memory, answers: Rc::clone(&self.answers) };
        let private = Box::into_raw(Box::new(pending));
        // SAFETY: the context lives.
        let connection = unsafe { (self.library.connection)(self.nfs) };
        if call(connection, private.cast()) == 0 {
            return Ok(());
        }
        // SAFETY: libnfs did not take the request, so nobody else has the box.
        drop(unsafe { Box::from_raw(private) });
        Err(io::Error::other(self.error()))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once. Requests under way are called back here, and touch no memory but their own.
        unsafe { (self.library.destroy_context)(self.nfs) };
    }
}

/// Bytes of names that one request lists.
const LISTED_BYTES: u32 = 64 * 1024;

/// What is made of a result of type `T`.
///
/// # Safety
/// `data` is such a result, of a request with this memory.
unsafe fn result<T: Successful>(data: *const c_void, memory: Memory) -> Result<Reply, Refused> {
    let result = data.cast::<Res<T>>();
    // SAFETY: the caller vouches for it; what follows the status is filled only with success, and is read only then.
    unsafe {
        match (*result).status {
            0 => Ok((*result).ok.reply(memory)),
            status => Err(Refused::Status(status)),
        }
    }
}

/// What the server answers where it did what was asked for, as libnfs has decoded it.
trait Successful {
    /// The same, to be kept.
    fn reply(&self, memory: Memory) -> Reply;
}

impl Successful for () {
    fn reply(&self, _: Memory) -> Reply {
        Reply::Done
    }
}

fn kind(attributes: &Attributes) -> Kind {
    match attributes.kind {
        1 => Kind::File,
        2 => Kind::Directory,
        _ => Kind::Other,
    }
}

fn kind_if_told(attributes: &PostAttributes) -> Option<Kind> {
    (attributes.follow != 0).then(|| kind(&attributes.attributes))
}

impl Successful for Attributes {
    fn reply(&self, _: Memory) -> Reply {
        Reply::Object { handle: None, kind: Some(kind(self)) }
    }
}

impl Successful for LookupOk {
    fn reply(&self, _: Memory) -> Reply {
        // SAFETY: libnfs has decoded it: so many bytes are there.
        let handle = unsafe { Handle::copied(self.object.val, self.object.len as usize) };
        Reply::Object { handle: Some(handle), kind: kind_if_told(&self.attributes) }
    }
}

impl Successful for CreateOk {
    fn reply(&self, _: Memory) -> Reply {
        // SAFETY: as above, if it follows.
        let handle = || unsafe { Handle::copied(self.handle.val, self.handle.len as usize) };
        Reply::Object { handle: (self.handle_follows != 0).then(handle), kind: kind_if_told(&self.attributes) }
    }
}

impl Successful for AccessOk {
    fn reply(&self, _: Memory) -> Reply {
        Reply::Rights(self.access)
    }
}

impl Successful for ReadOk {
    fn reply(&self, memory: Memory) -> Reply {
        let bytes = (self.count.min(self.data.len) as usize).min(memory.bytes());
        // SAFETY: libnfs has decoded so many bytes, and the memory lives, as `Context::send` demands, and is as long.
        unsafe { ptr::copy_nonoverlapping(self.data.val.cast(), memory.start(), bytes) };
        Reply::Moved { from: memory.start(), asked: memory.bytes(), bytes, unstable: None }
    }
}

impl Successful for WriteOk {
    fn reply(&self, memory: Memory) -> Reply {
        let bytes = (self.count as usize).min(memory.bytes());
        let unstable = (self.committed == UNSTABLE).then_some(self.verifier);
        Reply::Moved { from: memory.start(), asked: memory.bytes(), bytes, unstable }
    }
}

impl Successful for CommitOk {
    fn reply(&self, _: Memory) -> Reply {
        Reply::Committed(self.verifier)
    }
}

impl Successful for ReadDirOk {
    fn reply(&self, _: Memory) -> Reply {
        let (mut names, mut last) = (Vec::new(), None);
        let mut next = self.entries;
        // SAFETY: libnfs has decoded a list whose last entry has no next one, and whose names end with a zero byte.
        while let Some(entry) = unsafe { next.as_ref() } {
            // SAFETY: as above.
            names.push(unsafe { CStr::from_ptr(entry.name) }.to_owned());
            last = Some(Cookie { cookie: entry.cookie, verifier: self.verifier });
            next = entry.next;
        }
        Reply::Names(names, last.filter(|_| self.eof == 0))
    }
}

impl Successful for FsStatOk {
    fn reply(&self, _: Memory) -> Reply {
        let free_files = (self.total_files > 0).then_some(self.available_files);
        Reply::Room { free_bytes: self.available_bytes, free_files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_missed_with_what_to_install() {
        let missing = find(&["libnfs.so.none"], &["libnfs.so.neither"]).err().unwrap();
        assert!(missing.what.contains("none of libnfs.so.none was found"), "{missing:?}");
        assert!(missing.remedy.contains("apt-get install libnfs13"), "{missing:?}");
    }

    #[test]
    fn a_library_whose_functions_are_unknown_is_refused_by_its_name() {
        // It stands for another version: what counts is that it can be loaded.
        let refused = find(&["libnfs.so.none"], &["libc.so.6"]).err().unwrap();
        assert!(refused.what.starts_with("libc.so.6 is installed, but only these versions"), "{refused:?}");
        let lacking = find(&["libc.so.6"], &[]).err().unwrap();
        assert!(lacking.what.contains("lacks a required function"), "{lacking:?}");
    }
}
