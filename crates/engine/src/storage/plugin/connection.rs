//! A rank's connection to a plug-in, and the files that it has open.
//!
//! Not here: what the plug-in does, which options there are.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use ioassay_protocol::plan::data::SizeAtOpen;
use ioassay_protocol::plan::storage::Target;

use super::library::{Functions, Plugin};
use super::{abi, options};
use crate::beneath::Root;
use crate::failure::{self, Explained};
use crate::storage::names::Names;
use crate::storage::{Access, Connection, Members, OpenFile, Opening, Part, Setup, mpi};

/// Longer than this no message of a plug-in is.
const MESSAGE_BYTES: usize = 1024;

/// Why a function that is required is there.
pub(super) const CHECKED: &str = "checked when it was loaded";

/// The setup as the plug-in sees it, and all that it points to.
struct SetupMemory {
    // Raw pointers, not boxes: the plug-in looks there at any time, and writes its messages.
    setup: *mut abi::Setup,
    message: *mut [u8; MESSAGE_BYTES],
    // The lists and texts that `setup` points to, and only keeps.
    _values: Vec<abi::Value>,
    _texts: Vec<CString>,
}

impl SetupMemory {
    fn new(values: &[(String, String)], target: &Target) -> Self {
        let text = |text: &str| CString::new(text).expect("validated: there is no zero byte in it");
        let mut texts: Vec<CString> = values.iter().flat_map(|(key, value)| [text(key), text(value)]).collect();
        let raw = |index: usize| texts[index].as_ptr();
        let values: Vec<abi::Value> =
            (0..values.len()).map(|nth| abi::Value { key: raw(2 * nth), value: raw(2 * nth + 1) }).collect();
        let directory = match target {
            Target::Directory(directory) => directory.as_path(),
            Target::InPlace(place) => &place.directory,
            Target::Device(_) | Target::Url(_) => Path::new(""),
        };
        let target = CString::new(directory.as_os_str().as_bytes()).unwrap_or_default();
        let message = Box::into_raw(Box::new([0_u8; MESSAGE_BYTES]));
        let setup = Box::into_raw(Box::new(abi::Setup {
            struct_bytes: size_of::<abi::Setup>() as u32,
            values: values.len() as u32,
            value: values.as_ptr(),
            target: target.as_ptr(),
            message: message.cast::<c_char>(),
            message_bytes: MESSAGE_BYTES as u64,
            rank: 0,
            ranks: 0,
            first_member: 0,
            members: 0,
            mpi_communicator: 0,
            part: 0,
            sharers: 0,
            file_group: 0,
            shared: 0,
            reserved: 0,
            transfer_bytes: 0,
            block_bytes: 0,
            segments: 0,
            offset_bytes: 0,
        }));
        texts.push(target);
        Self { setup, message, _values: values, _texts: texts }
    }

    fn fields(&mut self) -> &mut abi::Setup {
        // SAFETY: it comes from a box, and no plug-in has it yet.
        unsafe { &mut *self.setup }
    }

    fn set_members(&mut self, members: Members) {
        let setup = self.fields();
        (setup.rank, setup.ranks) = (members.rank, members.ranks);
        (setup.first_member, setup.members) = (members.job.first, members.job.count);
    }

    fn set_part(&mut self, part: Part) {
        let (setup, geometry) = (self.fields(), part.geometry);
        (setup.part, setup.sharers) = (part.part % geometry.sharers, geometry.sharers);
        setup.file_group = part.part / geometry.sharers;
        setup.shared = geometry.shared().into();
        (setup.transfer_bytes, setup.block_bytes) = (geometry.transfer_bytes, geometry.block_bytes());
        (setup.segments, setup.offset_bytes) = (geometry.segments(), geometry.offset_bytes());
    }

    /// The error that `code`, a negative errno, stands for, with the plug-in's message if it left one.
    #[cold]
    fn error(&self, code: i64) -> io::Error {
        // SAFETY: nobody else looks at the message while the plug-in's call has ended; it is ours until we are dropped.
        let message = unsafe { &mut *self.message };
        message[MESSAGE_BYTES - 1] = 0;
        let text = CStr::from_bytes_until_nul(message).unwrap_or_default().to_string_lossy().trim().to_owned();
        message[0] = 0;
        let errno = code.checked_neg().and_then(|errno| i32::try_from(errno).ok()).filter(|&errno| errno < 4096);
        match errno {
            Some(errno) if text.is_empty() => io::Error::from_raw_os_error(errno),
            Some(errno) => failure::with_text(errno, &text),
            None => wrong(&format!("it returned {code}, which is not an errno. {text}")),
        }
    }

    /// What a call that returns 0 or a negative errno returned.
    fn answer(&self, code: c_int) -> io::Result<()> {
        match code {
            0 => Ok(()),
            ..0 => Err(self.error(code.into())),
            _ => Err(wrong(&format!("it returned {code} instead of 0 or a negative errno"))),
        }
    }

    /// What a call that moves up to `asked` bytes returned.
    #[inline(always)]
    fn moved(&self, returned: i64, asked: usize) -> io::Result<usize> {
        if returned >= 0 && returned as u64 <= asked as u64 {
            return Ok(returned as usize);
        }
        Err(self.not_moved(returned, asked))
    }

    #[cold]
    fn not_moved(&self, returned: i64, asked: usize) -> io::Error {
        if returned < 0 {
            return self.error(returned);
        }
        wrong(&format!("it reported {returned} bytes moved of {asked} requested"))
    }
}

impl Drop for SetupMemory {
    fn drop(&mut self) {
        // SAFETY: both come from boxes, and the plug-in's connection is over.
        unsafe {
            drop(Box::from_raw(self.setup));
            drop(Box::from_raw(self.message));
        }
    }
}

/// An error that is the plug-in's own fault.
#[cold]
fn wrong(what: &str) -> io::Error {
    let remedy = "this is a bug in the plug-in: report it to its author".to_owned();
    Explained { what: format!("the plug-in violated its interface: {what}"), remedy }.into_io()
}

/// The capabilities that `plugin` has with these values, or its refusal of them.
pub(super) fn configured(plugin: &Plugin, values: &[(String, String)], target: &Target) -> io::Result<u64> {
    let mut capabilities = plugin.api.capabilities;
    if let Some(configure) = plugin.api.configure {
        let handed = SetupMemory::new(values, target);
        // SAFETY: the setup and all in it live through the call, and so does what it may change.
        handed.answer(unsafe { configure(handed.setup, &mut capabilities) })?;
    }
    // Its functions were checked when it was loaded; it gets no capability beyond those that it declared then.
    let by_options = abi::COLLECTIVE_FILES | abi::COLLECTIVE_TRANSFERS;
    if capabilities & !(plugin.api.capabilities | by_options) != 0 {
        return Err(wrong("with options it declares capabilities that it did not declare before"));
    }
    Ok(capabilities)
}

/// One rank's connection.
pub(super) struct Connected {
    shared: Rc<Shared>,
    /// The workspace, where files are kept in one.
    root: Option<Arc<Root>>,
}

/// What the connection and its files have in common.
pub(super) struct Shared {
    functions: Functions,
    handed: ManuallyDrop<SetupMemory>,
    pub(super) raw: *mut c_void,
    /// A transfer that moves less than asked cannot be repeated by one rank alone.
    whole: bool,
    /// A file was given up.
    failed: Cell<bool>,
}

impl Connected {
    pub(super) fn new(plugin: &Plugin, setup: Setup<'_>) -> io::Result<Self> {
        // Validated; but also who connects without a plan gets no wrong value through.
        let values = options::values(plugin.name, &plugin.options, &setup.storage.options).map_err(|wrong| {
            Explained { what: format!("{} {}", wrong.key, wrong.problem), remedy: wrong.valid }.into_io()
        })?;
        let capabilities = configured(plugin, &values, setup.target)?;
        let root = setup.root.filter(|_| capabilities & abi::FILES != 0).cloned();
        // Entries of trees are named by paths, and not checked one by one: that would be measured.
        root.iter().try_for_each(|root| root.check_path())?;
        let mut handed = SetupMemory::new(&values, setup.target);
        handed.set_members(setup.members);
        if let Some(part) = setup.part {
            handed.set_part(part);
        }
        if plugin.needs_mpi() {
            let Some(communicator) = setup.mpi else { return Err(mpi::missing(plugin.name).into_io()) };
            handed.fields().mpi_communicator = communicator;
        }
        let mut raw = ptr::null_mut();
        let connect = plugin.api.connect.expect(CHECKED);
        // SAFETY: the setup and all in it live until the connection is dropped, and then longer than that.
        handed.answer(unsafe { connect(handed.setup, &mut raw) })?;
        let shared_files = setup.part.is_some_and(|part| part.geometry.sharers > 1);
        let whole = capabilities & abi::COLLECTIVE_TRANSFERS != 0 && shared_files;
        let (functions, handed) = (plugin.api, ManuallyDrop::new(handed));
        Ok(Self { shared: Rc::new(Shared { functions, handed, raw, whole, failed: Cell::new(false) }), root })
    }
}

impl Shared {
    pub(super) fn functions(&self) -> &abi::Api {
        &self.functions
    }

    pub(super) fn answer(&self, code: c_int) -> io::Result<()> {
        self.handed.answer(code)
    }

    pub(super) fn moved(&self, returned: i64, asked: usize) -> io::Result<usize> {
        self.handed.moved(returned, asked)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The plug-in may still have the file, and all that it was given with it.
        if self.failed.get() {
            return;
        }
        let disconnect = self.functions.disconnect.expect(CHECKED);
        // SAFETY: it comes from connect, all of its files are closed, and nobody has it any more; what it was handed is
        // dropped here and nowhere else.
        unsafe {
            disconnect(self.raw);
            ManuallyDrop::drop(&mut self.handed);
        }
    }
}

impl Connection for Connected {
    fn open(&mut self, path: &Path, opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let opening = abi::Opening {
            struct_bytes: size_of::<abi::Opening>() as u32,
            access: match opening.access {
                Access::Write => abi::WRITE,
                Access::Read => abi::READ,
                Access::ReadWrite => abi::READ_WRITE,
            },
            bytes: opening.bytes,
            size_at_open: match opening.size {
                None => abi::SIZE_AS_IT_IS,
                Some(SizeAtOpen::Empty) => abi::SIZE_EMPTY,
                Some(SizeAtOpen::Full) => abi::SIZE_FULL,
                Some(SizeAtOpen::Preallocated) => abi::SIZE_PREALLOCATED,
            },
            reserved: 0,
        };
        let mut raw = ptr::null_mut();
        let open = self.shared.functions().open.expect(CHECKED);
        // Libraries take nothing but paths, and those of MPI must be alike on all nodes: so it is looked, before and after,
        // whether the path leads into the workspace.
        let check = || self.root.iter().try_for_each(|root| root.check_path().and_then(|()| root.check_file(&path)));
        check()?;
        // SAFETY: the connection is open, and path and opening live through the call.
        self.shared.answer(unsafe { open(self.shared.raw, path.as_ptr(), &opening, &mut raw) })?;
        if let Err(error) = check() {
            // The run ends with this. The file is the plug-in's, and stays open: closing it may take the other ranks.
            self.shared.failed.set(true);
            return Err(error);
        }
        let functions = self.shared.functions();
        Ok(Box::new(PluginFile {
            write: functions.write_at.expect(CHECKED),
            read: functions.read_at.expect(CHECKED),
            shared: Rc::clone(&self.shared),
            raw,
            closed: false,
        }))
    }

    fn names(&mut self) -> Option<&mut dyn Names> {
        let has = self.shared.functions().capabilities & abi::NAMES != 0;
        has.then_some(self as &mut dyn Names)
    }
}

impl Connected {
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

struct PluginFile {
    write: abi::WriteAt,
    read: abi::ReadAt,
    shared: Rc<Shared>,
    raw: *mut c_void,
    closed: bool,
}

impl PluginFile {
    /// A transfer that must move all or nothing did so.
    #[inline(always)]
    fn moved(&self, returned: i64, asked: usize) -> io::Result<usize> {
        let moved = self.shared.moved(returned, asked)?;
        if self.shared.whole && moved < asked { Err(cut(moved, asked)) } else { Ok(moved) }
    }
}

#[cold]
fn cut(moved: usize, asked: usize) -> io::Error {
    let what = format!("a collective call moved {moved} of {asked} bytes, and a rank cannot retry it alone");
    let remedy = "read no more than was written; otherwise use the option collective: no".to_owned();
    Explained { what, remedy }.into_io()
}

impl OpenFile for PluginFile {
    #[inline]
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize> {
        // SAFETY: the file is open, and `data` has the length that is passed.
        let returned = unsafe { (self.write)(self.raw, data.as_ptr().cast(), data.len() as u64, offset) };
        self.moved(returned, data.len())
    }

    #[inline]
    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize> {
        // SAFETY: the file is open, and `data` has room for the length that is passed.
        let returned = unsafe { (self.read)(self.raw, data.as_mut_ptr().cast(), data.len() as u64, offset) };
        self.moved(returned, data.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        let Some(sync) = self.shared.functions().sync else { return Err(io::ErrorKind::Unsupported.into()) };
        // SAFETY: the file is open.
        self.shared.answer(unsafe { sync(self.raw) })
    }

    fn check_linked(&self) -> io::Result<()> {
        let Some(check_linked) = self.shared.functions().check_linked else { return Ok(()) };
        // SAFETY: the file is open.
        self.shared.answer(unsafe { check_linked(self.raw) })
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.closed = true;
        let close = self.shared.functions().close.expect(CHECKED);
        // SAFETY: the file is open, and given up here.
        self.shared.answer(unsafe { close(self.raw) })
    }
}

impl Drop for PluginFile {
    fn drop(&mut self) {
        // After a failure nobody closes: where that is collective, the others might never come.
        if !self.closed {
            self.shared.failed.set(true);
        }
    }
}
