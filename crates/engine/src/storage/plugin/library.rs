//! A plug-in that is loaded: what it says of itself, checked once, and its functions.
//!
//! It is never unloaded: threads and exit handlers of its libraries may outlive every connection.
//! Not here: connections, and what its options are set to.

use std::ffi::{CStr, c_char};
use std::mem::{MaybeUninit, offset_of};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Mutex;

use ioassay_protocol::events::Failure;

use super::abi;
use super::options::{Described, Kind};
use crate::compiled::TrustedLibrary;
use crate::failure;
use crate::storage::{Unfit, by_name};

/// More options than this are no list but what lies behind one.
const MOST_OPTIONS: usize = 1024;

/// A plug-in that is loaded.
#[derive(Debug)]
pub struct Plugin {
    /// The library.
    pub path: PathBuf,
    /// What plans call it.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: String,
    /// What can be said about its work.
    pub options: Vec<Described>,
    pub(super) api: Functions,
}

/// The functions, of which those that are required are there.
#[derive(Clone, Copy)]
pub(super) struct Functions(abi::Api);

impl std::fmt::Debug for Functions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Functions({:#x})", self.0.capabilities)
    }
}

impl std::ops::Deref for Functions {
    type Target = abi::Api;

    fn deref(&self) -> &abi::Api {
        &self.0
    }
}

// SAFETY: the pointers in it lead to what the plug-in has in static memory and never changes, as the header demands.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// Every plug-in that this process has loaded.
static LOADED: Mutex<Vec<&'static Plugin>> = Mutex::new(Vec::new());

/// The plug-in called `name`, if it is loaded.
pub(super) fn loaded(name: &str) -> Option<&'static Plugin> {
    let loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    loaded.iter().find(|plugin| plugin.name == name).copied()
}

/// The plug-in at `path`, loaded if it is not yet. What is wrong with it, and what to do, otherwise.
pub(super) fn load(path: &Path) -> Result<&'static Plugin, Unfit> {
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(plugin) = loaded.iter().find(|plugin| plugin.path == path) {
        return Ok(plugin);
    }
    let plugin = open(path)?;
    let taken = loaded.iter().find(|other| other.name == plugin.name).map(|other| other.path.display().to_string());
    let taken = taken.or_else(|| by_name(plugin.name).map(|_| "the engine itself".to_owned()));
    if let Some(taken) = taken {
        let problem = format!("{} has the name {}, which {taken} already uses", path.display(), plugin.name);
        return Err(Unfit { problem, valid: "rename it in its source, and build it again".to_owned() });
    }
    let plugin: &'static Plugin = Box::leak(Box::new(plugin));
    loaded.push(plugin);
    Ok(plugin)
}

fn open(path: &Path) -> Result<Plugin, Unfit> {
    let unfit = |problem: String, valid: &str| Unfit {
        problem: format!("{} {problem}", path.display()),
        valid: valid.to_owned(),
    };
    if !path.is_absolute() || !path.is_file() {
        let valid = "write the absolute path of a library; `ioassay api build` makes one and `ioassay api list` shows \
                     where it is";
        return Err(unfit("is not a file".to_owned(), valid));
    }
    let trusted = TrustedLibrary::open(path).map_err(|error| {
        let Failure { message, remedy, .. } = failure::on_path("load", path, &error);
        Unfit { problem: message, valid: remedy }
    })?;
    // SAFETY: what a library does when it is loaded is its maker's; who named it in a plan trusts it.
    let library = unsafe { trusted.load() }.map_err(|error| {
        unfit(format!("cannot be loaded: {error}"), "build it again on this system: ioassay api build")
    })?;
    let build = "build it with the ioassay_storage.h of this ioassay: ioassay api build";
    // SAFETY: the header says what the function is; it takes nothing and gives a description or NULL.
    let described = unsafe {
        let entry = library.get::<unsafe extern "C" fn() -> *const abi::Api>(abi::ENTRY);
        entry.map(|entry| entry()).map_err(|_| {
            unfit(format!("is not a storage API: it has no function {}", abi::ENTRY.to_string_lossy()), build)
        })?
    };
    if described.is_null() {
        return Err(unfit("returned no description of itself".to_owned(), build));
    }
    // SAFETY: every version begins so.
    let head = unsafe { ptr::read(described.cast::<abi::Head>()) };
    // SAFETY: the name is NULL or a text that stays.
    let name = unsafe { text(head.name) }.unwrap_or_default();
    if head.abi_version != abi::ABI {
        let problem = format!(
            "({name:?}) was built with version {} of the header, but this engine has {}",
            head.abi_version,
            abi::ABI
        );
        return Err(unfit(problem, build));
    }
    // SAFETY: it has as many bytes as it says, and what is missing of ours is zero: no function, nothing.
    let api = unsafe { with_zeros(described, head.struct_bytes as usize) };
    let plugin = Plugin::of(path, name, api).map_err(|problem| unfit(problem, "report it to its author"))?;
    // Never unloaded: see above.
    std::mem::forget(library);
    Ok(plugin)
}

impl Plugin {
    /// From what a plug-in says of itself; or what is wrong with that.
    fn of(path: &Path, name: String, api: abi::Api) -> Result<Self, String> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(letters) {
            return Err(format!("has the name {name:?}, which is not valid in plans"));
        }
        let refuse = |problem: &str| Err(format!("({name}) {problem}"));
        let has = |capability: u64| api.capabilities & capability != 0;
        if api.capabilities & !abi::KNOWN != 0 {
            return refuse("declares capabilities that this engine does not know");
        }
        let required = [
            ("connect", api.connect.is_some()),
            ("disconnect", api.disconnect.is_some()),
            ("open", api.open.is_some()),
            ("write_at", api.write_at.is_some()),
            ("read_at", api.read_at.is_some()),
            ("close", api.close.is_some()),
            ("sync", api.sync.is_some() || !has(abi::SYNC)),
            ("make_directory", api.make_directory.is_some() || !has(abi::NAMES)),
            ("remove_directory", api.remove_directory.is_some() || !has(abi::NAMES)),
            ("create_file", api.create_file.is_some() || !has(abi::NAMES)),
            ("write_file", api.write_file.is_some() || !has(abi::NAMES)),
            ("read_file", api.read_file.is_some() || !has(abi::NAMES)),
            ("stat", api.stat.is_some() || !has(abi::NAMES)),
            ("remove_file", api.remove_file.is_some() || !has(abi::NAMES)),
            ("rename", api.rename.is_some() || !has(abi::RENAME)),
        ];
        if let Some((missing, _)) = required.iter().find(|(_, there)| !there) {
            return refuse(&format!("lacks {missing}, which its capabilities require"));
        }
        let says_option_bytes = api.head.struct_bytes as usize >= offset_of!(abi::Api, option_bytes) + size_of::<u64>();
        let option_bytes = if says_option_bytes { api.option_bytes } else { abi::FIRST_OPTION_BYTES as u64 };
        let fits = option_bytes >= abi::FIRST_OPTION_BYTES as u64
            && option_bytes.is_multiple_of(align_of::<abi::Described>() as u64);
        if !api.options.is_null() && !fits {
            return refuse(&format!("declares an invalid size of its options, {option_bytes} bytes (option_bytes)"));
        }
        // SAFETY: NULL, or a list of options of this size that ends with a name of NULL.
        let options = unsafe { options(api.options, option_bytes as usize) };
        let options = options.map_err(|problem| format!("({name}): {problem}"))?;
        // SAFETY: NULL or a text that stays.
        let about = unsafe { text(api.about) }.unwrap_or_default();
        // As long-lived as the library: what is loaded is never let go.
        let name = Box::leak(name.into_boxed_str());
        Ok(Self { path: path.to_owned(), name, about, options, api: Functions(api) })
    }
}

/// # Safety
/// `list` is NULL, or leads to options of `option_bytes` each, of which the last has a name of NULL.
unsafe fn options(list: *const abi::Described, option_bytes: usize) -> Result<Vec<Described>, String> {
    let mut options = Vec::new();
    if list.is_null() {
        return Ok(options);
    }
    for index in 0..MOST_OPTIONS {
        // SAFETY: the caller vouches for all up to the one with a name of NULL, after which we do not go on.
        let raw = unsafe { with_zeros(list.byte_add(index * option_bytes), option_bytes) };
        // SAFETY: NULL or texts that stay, as the header demands.
        let [name, standard, meaning] = unsafe { [text(raw.name), text(raw.standard), text(raw.meaning)] };
        let Some(name) = name else { return Ok(options) };
        let kind = Kind::of(raw.kind).ok_or_else(|| format!("the option {name} has the unknown kind {}", raw.kind))?;
        options.push(Described::new(name, kind, standard, meaning.unwrap_or_default())?);
    }
    Err(format!("the list of options has no end after {MOST_OPTIONS}"))
}

/// A structure of the header as this engine has it, of one that may be older and shorter, or newer and longer.
///
/// # Safety
/// `start` leads to `bytes` bytes of a `T`, and zeros are valid in the rest of it.
unsafe fn with_zeros<T: Copy>(start: *const T, bytes: usize) -> T {
    let mut whole = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller vouches for both.
    unsafe {
        ptr::copy_nonoverlapping(start.cast::<u8>(), whole.as_mut_ptr().cast::<u8>(), bytes.min(size_of::<T>()));
        whole.assume_init()
    }
}

/// # Safety
/// `start` is NULL, or a text that ends with a zero byte.
unsafe fn text(start: *const c_char) -> Option<String> {
    if start.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for it.
    Some(unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned())
}
