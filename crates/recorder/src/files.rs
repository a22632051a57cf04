//! Names that were used, each with a row of the table.
//!
//! A name is the path that the program gave, made absolute: nobody asks the kernel what it leads to. Readers see that two
//! names are one file by its inode, and rules by what the kernel says of the open file ([`crate::real_files`]).

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{
    AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use ioassay_record::file_identity::FileIdentity;
use ioassay_record::names::LONGEST_NAME;
use ioassay_record::operation::Operation;
use ioassay_record::sketch;
use ioassay_record::table::{File, FileKind, Folded, Opened, Thread};

use crate::process::system_calls_allowed;
use crate::rules::Matching;
use crate::sys::About;
use crate::text::{Buffer, copy_parts};
use crate::{descriptors, mounts, process, real_files, rules, shared, sys, table, ticks};

/// Lists of files, by the end of the hash of their names.
const LISTS: usize = 8192;
static HEADS: [AtomicU32; LISTS] = [const { AtomicU32::new(0) }; LISTS];
/// Directories with such a row, at most.
const MOST_DIRECTORIES: u32 = 1024;

/// What each process needs of the rest, in one page of memory: a page costs a process that begins about 1 us.
#[repr(C)]
struct Needed {
    /// The row of all names for which the table has no place, nor for a row of their directory.
    others: AtomicU32,
    /// Directories with a row for the names in them for which the table has no place.
    directories: AtomicU32,
    scratch_lock: AtomicBool,
    directory_lock: AtomicBool,
    /// The working directory, without a slash at its end: relative paths are beneath it.
    directory: Buffer<LONGEST_NAME>,
}
static NEEDED: Needed = Needed {
    others: AtomicU32::new(0),
    directories: AtomicU32::new(0),
    scratch_lock: AtomicBool::new(false),
    directory_lock: AtomicBool::new(false),
    directory: Buffer::new(),
};

/// Of the longest text: a name, and what [`real_files`] puts before it.
const SCRATCH_BYTES: usize = LONGEST_NAME + real_files::BEFORE;
/// Memory for texts that are too long for a stack.
struct Scratch(UnsafeCell<[u8; SCRATCH_BYTES]>);
// SAFETY: who uses it has the lock.
unsafe impl Sync for Scratch {}
static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; SCRATCH_BYTES]));

/// Forgets the table of the parent, if there was one, and makes the row for all others.
pub fn begin(parent: bool) {
    for head in HEADS.iter().filter(|_| parent) {
        if head.load(Relaxed) != 0 {
            head.store(0, Relaxed);
        }
    }
    mounts::begin();
    NEEDED.directory_lock.store(false, Relaxed);
    NEEDED.scratch_lock.store(false, Relaxed);
    let others = table::allocate::<File>(0, |file, _| file.kind.store(FileKind::Others as u16, Relaxed));
    NEEDED.others.store(others.unwrap_or(0), Relaxed);
    NEEDED.directories.store(0, Relaxed);
}

/// Where a name begins: what a relative path is relative to.
#[derive(Debug, Clone, Copy)]
pub enum Base {
    /// The working directory.
    WorkingDirectory,
    /// An open directory.
    Descriptor(i32),
}

impl Base {
    /// What the `…at` functions mean.
    pub fn of(descriptor: i32) -> Self {
        if descriptor == libc::AT_FDCWD { Self::WorkingDirectory } else { Self::Descriptor(descriptor) }
    }
}

/// The row of a path, which is made if there is none yet.
///
/// # Safety
/// The path is null or ends with a zero byte.
#[inline]
pub unsafe fn of_path(base: Base, path: *const c_char) -> u32 {
    if !can_be_text(path) {
        return others();
    }
    // SAFETY: the caller's.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.first() == Some(&b'/') {
        return find(&[path]);
    }
    match base {
        Base::WorkingDirectory => with_directory(|directory| find_beneath(directory, path)).unwrap_or_else(others),
        // With `AT_EMPTY_PATH` it is the open file itself.
        Base::Descriptor(descriptor) if path.is_empty() => descriptors::file(descriptor),
        Base::Descriptor(descriptor) => match descriptors::file(descriptor) {
            // The directory that it is beneath is unknown.
            directory if directory == others() || kind(row(directory)) == FileKind::Others => directory,
            directory => find_beneath(name(row(directory)), path),
        },
    }
}

/// Whether an address can be that of a text: the kernel refuses others, which programs may be out for.
pub fn can_be_text(address: *const c_char) -> bool {
    const END: usize = if cfg!(target_arch = "x86_64") { 1 << 47 } else { 1 << 48 };
    (4096..END).contains(&(address as usize))
}

/// The row of the name of shared memory: the C library keeps it as a file.
///
/// # Safety
/// The name ends with a zero byte.
pub unsafe fn of_shared_memory(name: *const c_char) -> u32 {
    if !can_be_text(name) {
        return others();
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    find(&[b"/dev/shm/", name.strip_prefix(b"/").unwrap_or(name)])
}

fn find_beneath(directory: &[u8], path: &[u8]) -> u32 {
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let is_itself = path.is_empty() || path == b".";
    match directory {
        b"/" if is_itself => find(&[b"/"]),
        b"/" => find(&[b"/", path]),
        _ if is_itself => find(&[directory]),
        _ => find(&[directory, b"/", path]),
    }
}

/// The row of an absolute name.
pub fn of_name(name: &[u8]) -> u32 {
    find(&[name])
}

/// The row of a name of parts.
fn find(parts: &[&[u8]]) -> u32 {
    let hash = hash(parts);
    find_row(parts, hash, |length, fill| table::allocate::<File>(length, fill)).unwrap_or_else(|| {
        table::header().folded_calls.fetch_add(1, Relaxed);
        let place = of_directory(parts);
        add_folded(row(place), hash);
        place
    })
}

/// The row of all names of a directory for which the table has no place.
#[cold]
fn of_directory(parts: &[&[u8]]) -> u32 {
    let mut directory: [&[u8]; 3] = [b""; 3];
    let Some((last, slash)) = last_slash(parts).filter(|(last, _)| *last < directory.len()) else { return others() };
    directory[..last].copy_from_slice(&parts[..last]);
    directory[last] = &parts[last][..slash];
    if directory.iter().all(|part| part.is_empty()) {
        directory[0] = b"/";
    }
    // Other than that of the directory itself, which may have a row, too.
    let hash = !hash(&directory);
    let row = find_row(&directory, hash, |length, fill| {
        if NEEDED.directories.load(Relaxed) >= MOST_DIRECTORIES {
            return None;
        }
        let new = table::allocate_for_directory::<File>(length, |file, name| {
            fill(file, name);
            *file.kind.get_mut() = FileKind::Others as u16;
        })?;
        NEEDED.directories.fetch_add(1, Relaxed);
        Some(new)
    });
    row.unwrap_or_else(others)
}

/// The last slash in a name of parts: which part has it, and where.
fn last_slash(parts: &[&[u8]]) -> Option<(usize, usize)> {
    let with = |(number, part): (usize, &&[u8])| Some((number, part.iter().rposition(|&byte| byte == b'/')?));
    parts.iter().enumerate().rev().find_map(with)
}

/// One more name is in a row of many, if it was not already.
fn add_folded(others: &File, hash: u64) {
    let place = match others.folded.load(Acquire) {
        0 => match table::allocate_for_directory::<Folded>(0, |_, _| {}) {
            // The thread that comes second leaves its sketch unused.
            Some(new) => others.folded.compare_exchange(0, new, AcqRel, Acquire).map_or_else(|other| other, |_| new),
            None => return,
        },
        place => place,
    };
    // SAFETY: it was allocated as that.
    let folded: &Folded = unsafe { table::block_at(place) };
    let (register, least) = sketch::mark(hash);
    folded.registers[register].fetch_max(least, Relaxed);
}

/// The row of a name of parts with that hash. Where there is none, `allocate` makes it, with what fills it.
fn find_row(
    parts: &[&[u8]],
    hash: u64,
    allocate: impl FnOnce(usize, &dyn Fn(&mut File, &mut [u8])) -> Option<u32>,
) -> Option<u32> {
    let head = &HEADS[hash as usize % LISTS];
    let mut first = head.load(Acquire);
    let mut place = first;
    while place != 0 {
        let file = row(place);
        if file.hash == hash && is(name(file), parts) {
            return Some(place);
        }
        place = file.next;
    }
    let length = parts.iter().map(|part| part.len()).sum::<usize>().min(LONGEST_NAME);
    let new = allocate(length, &|file, name| {
        file.hash = hash;
        file.next = first;
        file.name_bytes = length as u16;
        copy_parts(parts, name);
        *file.kind.get_mut() = FileKind::of_name(name) as u16;
    })?;
    // Another thread's new row of the same name may slip in: then there are two, which readers add up.
    while let Err(other) = head.compare_exchange(first, new, AcqRel, Acquire) {
        first = other;
        // SAFETY: the row is not in the list yet, so nobody else reads it.
        unsafe { (*(&raw const *row(new)).cast_mut()).next = first };
    }
    Some(new)
}

/// Of a text in parts, whatever its parts are: eight bytes at a time.
fn hash(parts: &[&[u8]]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut hash, mut word, mut filled) = (0_u64, 0_u64, 0);
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    for part in parts {
        let mut rest = *part;
        if filled == 0 {
            let mut words = rest.chunks_exact(8);
            for eight in &mut words {
                hash = mix(hash, u64::from_le_bytes(eight.try_into().unwrap_or_default()));
            }
            rest = words.remainder();
        }
        for &byte in rest {
            word |= u64::from(byte) << (8 * filled);
            filled += 1;
            if filled == 8 {
                hash = mix(hash, word);
                (word, filled) = (0, 0);
            }
        }
    }
    hash = mix(hash, word);
    // The best bits of a product are its upper ones, and the lower ones are used.
    hash = (hash ^ hash >> 32).wrapping_mul(FACTOR);
    hash ^ hash >> 32
}

/// Whether a name is that text in parts.
fn is(mut name: &[u8], parts: &[&[u8]]) -> bool {
    for part in parts {
        match name.strip_prefix(*part) {
            Some(rest) => name = rest,
            None => return false,
        }
    }
    name.is_empty()
}

/// The row of the name that the kernel has for a descriptor, or of its kind where that is no file.
pub fn of_descriptor(descriptor: i32) -> (u32, Option<About>) {
    if !system_calls_allowed() {
        return (others(), None);
    }
    let Some(about) = sys::about(descriptor) else { return (others(), None) };
    let place = match about.kind.nameless() {
        Some(name) => find(&[name.as_bytes()]),
        None => {
            let length = |scratch: &mut [u8]| usize::try_from(sys::descriptor_name(descriptor, scratch)).ok();
            process::without_signals(|| {
                with_scratch(|scratch| length(scratch).map(|length| find(&[&scratch[..length]]))).flatten()
            })
            .unwrap_or_else(others)
        }
    };
    (place, Some(about))
}

/// The row at that place.
#[inline(always)]
pub fn row(place: u32) -> &'static File {
    // SAFETY: places of files come from here alone.
    unsafe { table::block_at(place) }
}

/// Its name.
pub fn name(file: &'static File) -> &'static [u8] {
    // SAFETY: it lies behind the row.
    unsafe { core::slice::from_raw_parts((&raw const *file).add(1).cast(), file.name_bytes.into()) }
}

/// Its kind, as far as is known.
pub fn kind(file: &File) -> FileKind {
    FileKind::of(file.kind.load(Relaxed))
}

/// Whether it is on storage, as far as is known.
#[inline(always)]
pub fn is_on_storage(file: &File) -> bool {
    FileKind::is_on_storage(file.kind.load(Relaxed))
}

/// The row of all names for which there is no place.
pub fn others() -> u32 {
    NEEDED.others.load(Relaxed)
}

/// Opens of a name that are each checked, whether it is still the same file; afterwards one in so many is. Checking
/// costs two system calls, and a name that is opened so often is rarely another file's each time.
const LOOKS: u32 = 64;

/// Whether the kernel is to be asked for a file that has just been opened.
#[inline(always)]
pub fn is_to_be_checked(file: &File) -> bool {
    let opens = file.calls[Operation::Open as usize].load(Relaxed);
    opens < LOOKS || opens.is_multiple_of(LOOKS) || file.opened.load(Relaxed) == 0
}

/// Writes down what is known of a file that was opened, and when.
pub fn opened(place: u32, about: Option<About>, flags: i32) {
    let file = row(place);
    if kind(file) != FileKind::Others
        && let Some(about) = about
    {
        match known(file) {
            Some(opened) => found_again(file, opened, &about.identity),
            None => first_opened(file, &about),
        }
    }
    if let Some(opened) = known(file)
        && flags & !(opened.open_flags.load(Relaxed) as i32) != 0
    {
        opened.open_flags.fetch_or(flags as u32, Relaxed);
    }
}

fn first_opened(file: &File, about: &About) {
    let kind = kind(file).opened_as(about.kind);
    file.kind.store(kind as u16, Relaxed);
    let new = table::allocate::<Opened>(0, |opened, _| {
        let identity = about.identity;
        opened.device = identity.device;
        opened.inode = identity.inode;
        opened.birth_ns = identity.birth_ns;
        opened.generation = identity.generation;
        *opened.latest.get_mut() = identity.digest();
        opened.size_bytes = about.size_bytes;
        opened.block_bytes = about.block_bytes;
        opened.first_open_ticks = ticks::now();
    });
    file.opened.store(new.unwrap_or(0), Release);
}

/// Counts when it is another file than the one that was found last. Files in /proc are new ones each time.
fn found_again(file: &File, opened: &Opened, identity: &FileIdentity) {
    let digest = identity.digest();
    if opened.latest.load(Relaxed) != digest
        && matches!(kind(file), FileKind::Regular | FileKind::Directory)
        && opened.latest.swap(digest, Relaxed) != digest
    {
        shared::add_saturating(&opened.replaced, 1);
    }
}

/// A descriptor of the file was closed.
pub fn closed(place: u32, ticks: u64) {
    if let Some(opened) = known(row(place)) {
        opened.last_close_ticks.store(ticks, Relaxed);
    }
}

/// What is known of a file since it was opened.
pub fn known(file: &File) -> Option<&'static Opened> {
    match file.opened.load(Acquire) {
        0 => None,
        // SAFETY: it was allocated as that.
        place => Some(unsafe { table::block_at(place) }),
    }
}

/// What the kernel said of a file when it was first opened.
pub fn about(file: &File) -> Option<About> {
    known(file).map(|opened| About {
        identity: FileIdentity {
            device: opened.device,
            inode: opened.inode,
            birth_ns: opened.birth_ns,
            generation: opened.generation,
        },
        kind: kind(file),
        size_bytes: opened.size_bytes,
        block_bytes: opened.block_bytes,
    })
}

/// What offsets in it are to be a multiple of; 0 where that makes no sense, or is not known.
pub fn alignment(file: &File) -> u32 {
    known(file).map_or(0, |opened| kind(file).alignment(opened.block_bytes))
}

/// Counts a call of a thread on a file that moves no bytes. Whether it was on storage.
#[inline]
pub fn count(
    thread: &'static Thread,
    place: u32,
    matching: &'static Matching,
    operation: Operation,
    took: u64,
    error: Option<i32>,
) -> bool {
    let file = row(place);
    rules::count(thread, place, matching, operation, took, if error.is_none() { Some(0) } else { None }, || 0);
    // What MPI-IO calls is counted by itself, and takes part of its time.
    if operation != Operation::MpiFile {
        shared::add(&file.ticks, took);
    }
    let operation = operation as usize;
    shared::add_saturating(&file.calls[operation], 1);
    if let Some(error) = error {
        shared::add_saturating(&file.failed[operation], 1);
        file.error.store(error as u32, Relaxed);
    }
    is_on_storage(file)
}

/// Runs `look` on the working directory, which ends with no slash.
pub fn with_directory<R>(look: impl FnOnce(&[u8]) -> R) -> Option<R> {
    if NEEDED.directory.is_empty() {
        if !system_calls_allowed() {
            return None;
        }
        process::without_signals(find_directory);
        if NEEDED.directory.is_empty() {
            return None;
        }
    }
    Some(look(NEEDED.directory.get()))
}

fn find_directory() {
    if !lock(&NEEDED.directory_lock) {
        return;
    }
    if NEEDED.directory.is_empty() {
        with_scratch(|scratch| {
            // SAFETY: the kernel fills it, with a zero byte at the end.
            let length =
                unsafe { sys::call(libc::SYS_getcwd, [scratch.as_mut_ptr() as usize, scratch.len(), 0, 0, 0, 0]) };
            if let Ok(length @ 1..) = usize::try_from(length) {
                let directory = &scratch[..length - 1];
                NEEDED.directory.set(&[directory]);
            }
        });
    }
    NEEDED.directory_lock.store(false, Release);
}

/// Takes a lock, which is held for some microseconds.
pub fn lock(lock: &AtomicBool) -> bool {
    sys::wait_until(|| !lock.load(Relaxed) && !lock.swap(true, Acquire))
}

/// The working directory has changed.
pub fn forget_directory() {
    NEEDED.directory.set(&[]);
}

/// Runs `use_it` on memory for a long text, unless another thread does not finish with it.
pub fn with_scratch<R>(use_it: impl FnOnce(&mut [u8; SCRATCH_BYTES]) -> R) -> Option<R> {
    if !lock(&NEEDED.scratch_lock) {
        return None;
    }
    // SAFETY: this thread has the lock.
    let result = use_it(unsafe { &mut *SCRATCH.0.get() });
    NEEDED.scratch_lock.store(false, Release);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_text_that_its_parts_are_one_after_another() {
        assert!(is(b"/tmp/file", &[b"/tmp", b"/", b"file"]));
        assert!(!is(b"/tmp/file", &[b"/tmp", b"/", b"files"]));
        assert!(!is(b"/tmp/file", &[b"/tmp", b"/", b"fil"]));
    }

    #[test]
    fn the_directory_of_a_name_ends_before_its_last_slash() {
        assert_eq!(last_slash(&[b"/tmp", b"/", b"file"]), Some((1, 0)));
        assert_eq!(last_slash(&[b"/tmp", b"/", b"a/file"]), Some((2, 1)));
        assert_eq!(last_slash(&[b"/tmp/file"]), Some((0, 4)));
        assert_eq!(last_slash(&[b"pipe"]), None);
    }

    #[test]
    fn the_hash_of_a_name_does_not_depend_on_its_parts() {
        let whole = b"/some/directory/with/a/file";
        for first in 0..whole.len() {
            for second in first..whole.len() {
                let parts = [&whole[..first], &whole[first..second], &whole[second..]];
                assert_eq!(hash(&parts), hash(&[whole]), "{parts:?}");
            }
        }
    }

    #[test]
    fn other_names_hardly_ever_have_the_same_hash() {
        let hashes: std::collections::HashSet<_> =
            (0..100_000_u32).map(|number| hash(&[b"/data/step-", number.to_string().as_bytes()])).collect();
        assert!(hashes.len() > 99_990, "{}", hashes.len());
        let lists: std::collections::HashSet<_> = hashes.iter().map(|hash| hash % LISTS as u64).collect();
        assert_eq!(lists.len(), LISTS);
    }
}
