//! The functions that hooks replace: what the program would have called without the recorder.
//!
//! `dlsym(RTLD_NEXT, …)` finds the same, but half a microsecond for each of some 200 functions is more than a short process
//! should pay, it may be called neither before the program's constructors nor in a signal handler, and it does not see a
//! library that was loaded for one plug-in alone, such as the MPI of a Python module. So the tables of the loaded libraries
//! are searched here, once for each function that the program calls.

use core::arch::{asm, global_asm};
use core::ffi::{CStr, c_char};
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function of the C library, or of another one behind us.
///
/// It does not keep its name: the dynamic linker would have to write the address of each name when a process begins, which
/// costs more than all else that it does for this library.
#[derive(Debug)]
pub struct Real {
    address: AtomicUsize,
}

impl Real {
    /// One that was not looked for yet.
    pub const fn new() -> Self {
        Self { address: AtomicUsize::new(0) }
    }

    /// The address of the function, which has that name; 0 where no library has it.
    #[inline(always)]
    pub fn address(&self, name: &'static CStr) -> usize {
        match self.address.load(Relaxed) {
            0 => self.find(name),
            address => address,
        }
    }

    #[cold]
    fn find(&self, name: &'static CStr) -> usize {
        let address = next(name);
        self.address.store(address, Relaxed);
        address
    }
}

impl Default for Real {
    fn default() -> Self {
        Self::new()
    }
}

/// A function of the C library whose name others use for functions of their own: a `dprintf` that prints for debugging, a
/// `getline` that reads a line in another way. Without us a library calls its own, with us it calls the hook.
#[derive(Debug)]
pub struct OfCLibrary {
    real: Real,
    known: AtomicUsize,
}

impl Default for OfCLibrary {
    fn default() -> Self {
        Self::new()
    }
}

impl OfCLibrary {
    /// One that was not looked for yet.
    pub const fn new() -> Self {
        Self { real: Real::new(), known: AtomicUsize::new(UNKNOWN) }
    }

    /// Whether the function of that name behind us is the C library's, or nobody has another.
    #[inline(always)]
    pub fn is_next(&self, name: &'static CStr) -> bool {
        match self.known.load(Relaxed) {
            UNKNOWN => self.find(name),
            known => known == YES,
        }
    }

    /// Its address, or that of the other.
    pub fn address(&self, name: &'static CStr) -> usize {
        self.real.address(name)
    }

    #[cold]
    fn find(&self, name: &'static CStr) -> bool {
        static OF_NO_OTHER: Real = Real::new();
        let address = self.address(name);
        let is_next = address == 0 || library(address) == library(OF_NO_OTHER.address(c"__getdelim"));
        self.known.store(if is_next { YES } else { NO }, Relaxed);
        is_next
    }
}

const UNKNOWN: usize = 0;
const YES: usize = 1;
const NO: usize = 2;

/// Where the library of a function begins.
fn library(address: usize) -> usize {
    let mut begin = 0;
    // SAFETY: as in `next`.
    unsafe {
        let mut library = first();
        while !library.is_null() {
            let base = (*library).base;
            if base <= address && base > begin {
                begin = base;
            }
            library = (*library).next;
        }
    }
    begin
}

/// A loaded library, as the dynamic linker lists it: `link_map` of `<link.h>`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// An entry of its dynamic section: `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: u64,
}

/// The beginning of `r_debug` of `<link.h>`.
#[repr(C)]
struct Debug {
    version: i32,
    map: *const LinkMap,
}

// All of these may be missing. A program of another C library finds the library in its environment as well, and must not fail
// to start for a name that its dynamic linker does not have. Rust has no weak names.
global_asm!(".weak _r_debug", ".weak _dl_debug_addr", ".weak gnu_get_libc_version");

/// The address that a name has, 0 where it is missing.
macro_rules! address_of {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: it reads an entry of the global offset table.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!(
                concat!("mov {address}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                address = out(reg) address,
                options(nostack, pure, readonly, preserves_flags),
            );
            #[cfg(target_arch = "aarch64")]
            asm!(
                concat!("adrp {address}, :got:", $name),
                concat!("ldr {address}, [{address}, :got_lo12:", $name, "]"),
                address = out(reg) address,
                options(nostack, pure, readonly, preserves_flags),
            );
        }
        address
    }};
}

/// Whether the C library is GNU's, which gives constructors the arguments of `main`.
pub fn is_gnu() -> bool {
    address_of!("gnu_get_libc_version") != 0
}

/// The first of the loaded libraries, which is the program: the dynamic linker keeps the list for debuggers.
fn first() -> *const LinkMap {
    let (gnu, musl) = (address_of!("_r_debug"), address_of!("_dl_debug_addr"));
    if gnu == 0 && musl == 0 {
        return null();
    }
    // SAFETY: either is what the dynamic linker of that C library calls it.
    unsafe {
        let debug = if gnu != 0 { gnu as *const Debug } else { *(musl as *const *const Debug) };
        (*debug).map
    }
}

unsafe extern "C" {
    /// Our own dynamic section.
    #[link_name = "_DYNAMIC"]
    static OURS: Dynamic;
}

const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const GNU_HASH: i64 = 0x6fff_fef5;
const VERSIONS: i64 = 0x6fff_fff0;
/// Of a version: not the default one of its name.
const HIDDEN: u16 = 0x8000;

/// Where our own library was loaded from.
pub fn own_path() -> &'static CStr {
    // SAFETY: the dynamic linker keeps the list and its names.
    unsafe {
        let mut library = first();
        while !library.is_null() {
            if (*library).dynamic == &raw const OURS {
                return CStr::from_ptr((*library).name);
            }
            library = (*library).next;
        }
    }
    c""
}

/// The function of that name in the libraries behind us; 0 where none has it.
fn next(name: &CStr) -> usize {
    let hash = hash_of(name);
    // SAFETY: the dynamic linker keeps the list, to whose end it adds; libraries of the program's start are never removed.
    unsafe {
        let mut library = first();
        while !library.is_null() && (*library).dynamic != &raw const OURS {
            library = (*library).next;
        }
        while !library.is_null() {
            library = (*library).next;
            if library.is_null() {
                break;
            }
            if let Some(address) = find(&*library, SymbolKind::Function, name, hash) {
                return address;
            }
        }
    }
    0
}

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SymbolKind {
    /// Data.
    Object = 1,
    /// Code.
    Function = 2,
}

/// What has that name in the program or any library that is loaded now; 0 where none has it.
pub fn anywhere(kind: SymbolKind, name: &CStr) -> usize {
    let hash = hash_of(name);
    // SAFETY: the dynamic linker keeps the list. A library that another thread removes meanwhile is not looked for here.
    unsafe {
        let mut library = first();
        while !library.is_null() {
            if let Some(address) = find(&*library, kind, name, hash) {
                return address;
            }
            library = (*library).next;
        }
    }
    0
}

/// By which the dynamic linker finds a name.
fn hash_of(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash, &byte| u32::wrapping_mul(hash, 33).wrapping_add(byte.into()))
}

/// What has that name in a library.
///
/// # Safety
/// The library is loaded.
unsafe fn find(library: &LinkMap, kind: SymbolKind, name: &CStr, hash: u32) -> Option<usize> {
    let (mut strings, mut symbols, mut hashes, mut versions) = (0, 0, 0, 0);
    let mut entry = library.dynamic;
    // SAFETY: the section ends with a tag of 0, and its tables are those that the dynamic linker itself searches: it has
    // checked none of it either. `Bloom filter, buckets, chains`: <https://flapenguin.me/elf-dt-gnu-hash>.
    unsafe {
        while (*entry).tag != 0 {
            match (*entry).tag {
                STRINGS => strings = (*entry).value,
                SYMBOLS => symbols = (*entry).value,
                GNU_HASH => hashes = (*entry).value,
                VERSIONS => versions = (*entry).value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings == 0 || symbols == 0 || hashes == 0 {
            return None;
        }
        // The kernel's own library (vDSO) has offsets where all others have addresses.
        let address = |value: usize| if value < library.base { value + library.base } else { value };
        let (strings, symbols) = (address(strings) as *const c_char, address(symbols) as *const Symbol);
        let versions = if versions == 0 { 0 } else { address(versions) } as *const u16;
        let hashes = address(hashes) as *const u32;
        let [buckets, first, words, shift] = [0, 1, 2, 3].map(|field| *hashes.add(field));
        let filter = hashes.add(4).cast::<u64>();
        let word = *filter.add((hash / 64 % words) as usize);
        let both = 1_u64 << (hash % 64) | 1_u64 << ((hash >> shift) % 64);
        if word & both != both {
            return None;
        }
        let bucket = filter.add(words as usize).cast::<u32>();
        let chain = bucket.add(buckets as usize);
        let mut index = *bucket.add((hash % buckets) as usize);
        if index < first {
            return None;
        }
        loop {
            let hash_of_symbol = *chain.add((index - first) as usize);
            let symbol = &*symbols.add(index as usize);
            if hash_of_symbol | 1 == hash | 1
                && symbol.section != 0
                && symbol.info & 15 == kind as u8
                && (versions.is_null() || *versions.add(index as usize) & HIDDEN == 0)
                && CStr::from_ptr(strings.add(symbol.name as usize)) == name
            {
                return Some(library.base + symbol.value);
            }
            if hash_of_symbol & 1 == 1 {
                return None;
            }
            index += 1;
        }
    }
}
