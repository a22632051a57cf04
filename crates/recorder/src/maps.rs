//! Which file is mapped where, from when to when, and how much of it was in the page cache then.
//!
//! Pages of a mapped file move without calls. What is known of them is bounded by what was mapped, by residency when a map
//! begins and ends, and by what the kernel counts of the process.
//!
//! A map is remembered in one of [`MOST`] places until it ends. One for which there is none is counted like the others, but its
//! end is not seen. A place is changed by who took it, without a lock; memory that is unmapped is looked up by bounds of all
//! maps first, since most of it is an allocator's.

use core::sync::atomic::{
    AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};

use ioassay_record::maps::{Cached, Extent};
use ioassay_record::table::{FileKind, Map, MapAccess};

use crate::process::system_calls_allowed;
use crate::sys::About;
use crate::{call, descriptors, files, process, resident, sys, table, ticks};

/// Parts of files that are remembered at the same time, at most.
const MOST: usize = 1024;

/// A place has nothing.
const FREE: u32 = 0;
/// A thread changes it.
const TAKEN: u32 = 1;
/// It has a part of a file.
const KNOWN: u32 = 2;

/// A part of a file in memory.
struct Place {
    state: AtomicU32,
    /// Place of the [`Map`] that counts it.
    row: AtomicU32,
    begin: AtomicUsize,
    end: AtomicUsize,
    /// Of `begin`, in the file.
    offset: AtomicU64,
    /// Of the file, when it was mapped.
    size: AtomicU64,
    /// By which it was mapped, and may still be open; -1 where the kernel does not say of the file what is in the page cache.
    descriptor: AtomicI32,
    /// Device and inode of the file.
    identity: [AtomicU64; 2],
}

impl Place {
    /// What it has of the file.
    fn extent(&self) -> Extent {
        let bytes = self.end.load(Relaxed) - self.begin.load(Relaxed);
        Extent::within(self.offset.load(Relaxed), bytes as u64, self.size.load(Relaxed))
    }
}

static PLACES: [Place; MOST] = [const {
    Place {
        state: AtomicU32::new(FREE),
        row: AtomicU32::new(0),
        begin: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        offset: AtomicU64::new(0),
        size: AtomicU64::new(0),
        descriptor: AtomicI32::new(-1),
        identity: [const { AtomicU64::new(0) }; 2],
    }
}; MOST];
/// Places that are not free.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// All from here on have never been used.
static USED: AtomicUsize = AtomicUsize::new(0);
/// No map began before, or ended behind.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Lists of [`Map`]s, by the end of their files' places.
const LISTS: usize = 256;
static HEADS: [AtomicU32; LISTS] = [const { AtomicU32::new(0) }; LISTS];

/// What a forked child has to know of a map that it has from its parent, whose table it is about to lose. The name follows.
#[repr(C)]
struct Bequest {
    access: u32,
    name_bytes: u32,
    about: Option<About>,
}

/// Memory with a [`Bequest`] for each place that is known.
#[must_use]
pub struct Inheritance(usize, usize);

impl Bequest {
    /// From one to the next.
    fn step(name_bytes: usize) -> usize {
        (size_of::<Self>() + name_bytes).next_multiple_of(align_of::<Self>())
    }
}

fn known_places() -> impl Iterator<Item = &'static Place> {
    used_places().iter().filter(|place| place.state.load(Relaxed) == KNOWN)
}

/// Copies what the table of the parent says of maps, before that is given up.
pub fn inherit() -> Option<Inheritance> {
    if COUNT.load(Relaxed) == 0 {
        return None;
    }
    let file = |place: &Place| files::row(map_at(place.row.load(Relaxed)).file);
    let bytes = known_places().map(|place| Bequest::step(files::name(file(place)).len())).sum();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: it replaces nothing.
    let memory = unsafe { sys::map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if memory < 0 {
        return None;
    }
    let mut next = memory as usize;
    for place in known_places() {
        let (row, name) = (file(place), files::name(file(place)));
        let access = map_at(place.row.load(Relaxed)).access;
        // SAFETY: there is room for all.
        unsafe {
            (next as *mut Bequest).write(Bequest { access, name_bytes: name.len() as u32, about: files::about(row) });
            let to = core::slice::from_raw_parts_mut((next + size_of::<Bequest>()) as *mut u8, name.len());
            to.copy_from_slice(name);
        }
        next += Bequest::step(name.len());
    }
    Some(Inheritance(memory as usize, bytes))
}

/// Forgets the table of the parent, if there was one. Maps that the process has from it are counted anew, but nothing is asked
/// about them: most children soon execute another program.
pub fn begin(parent: bool, inheritance: Option<Inheritance>) {
    if !parent {
        return;
    }
    HEADS.iter().for_each(|head| head.store(0, Relaxed));
    resident::begin();
    let now = ticks::now();
    let Some(Inheritance(memory, bytes)) = inheritance else {
        used_places().iter().for_each(|place| place.state.store(FREE, Relaxed));
        COUNT.store(0, Relaxed);
        return;
    };
    let mut next = memory;
    let mut count = 0;
    for place in used_places() {
        if place.state.load(Relaxed) != KNOWN {
            place.state.store(FREE, Relaxed);
            continue;
        }
        // SAFETY: `inherit` has written it there, for the same places in the same order.
        let (bequest, name) = unsafe {
            let bequest = &*(next as *const Bequest);
            let name = (next + size_of::<Bequest>()) as *const u8;
            (bequest, core::slice::from_raw_parts(name, bequest.name_bytes as usize))
        };
        next += Bequest::step(name.len());
        let file = files::of_name(name);
        files::opened(file, bequest.about, 0);
        if let Some(new) = row_of(file, bequest.access, now) {
            place.row.store(new, Relaxed);
            place.descriptor.store(-1, Relaxed);
            map_at(new).count(place.extent(), None);
            count += 1;
        } else {
            place.state.store(FREE, Relaxed);
        }
    }
    COUNT.store(count, Relaxed);
    // SAFETY: nobody uses it any more.
    unsafe { sys::call(libc::SYS_munmap, [memory, bytes, 0, 0, 0, 0]) };
}

fn used_places() -> &'static [Place] {
    &PLACES[..USED.load(Relaxed).min(MOST)]
}

/// What `mmap` is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// Of memory.
    pub bytes: usize,
    /// `PROT_READ`, …
    pub protection: i32,
    /// `MAP_SHARED`, …
    pub flags: i32,
    /// Of the file.
    pub descriptor: i32,
    /// In it.
    pub offset: u64,
}

/// What is known of a file that is about to be mapped.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    size: u64,
    identity: [u64; 2],
    /// Whether the kernel says what of it is in the page cache: of other files, `mincore` says that all is.
    may_ask: bool,
    cached: Option<Cached>,
}

/// Looks at a file that is about to be mapped: `MAP_POPULATE` would read it. Nothing if it is not on storage.
#[cold]
pub fn look_at(wish: Wish) -> Option<Stored> {
    call::update(|| look(wish)).flatten()
}

fn look(wish: Wish) -> Option<Stored> {
    let Wish { bytes, descriptor, offset, .. } = wish;
    let row = files::row(descriptors::file(descriptor));
    if !files::is_on_storage(row) {
        return None;
    }
    if !system_calls_allowed() {
        let size = files::known(row).map_or(u64::MAX, |opened| opened.size_bytes);
        return Some(Stored { size, identity: [0; 2], may_ask: false, cached: None });
    }
    let about = sys::stat(descriptor)?;
    let size = match FileKind::of_mode(about.st_mode) {
        FileKind::Regular => about.st_size as u64,
        FileKind::BlockDevice => u64::MAX,
        _ => return None,
    };
    let user = sys::user();
    let may_ask = user == 0 || user == about.st_uid || sys::may_write(descriptor);
    let extent = Extent::within(offset, in_pages(bytes) as u64, size);
    let cached = if may_ask { resident::of_descriptor(descriptor, extent) } else { None };
    Some(Stored { size, identity: [about.st_dev, about.st_ino], may_ask, cached })
}

/// Whole pages of so many bytes.
fn in_pages(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(sys::page_bytes() as usize).unwrap_or(bytes)
}

/// A file was mapped at that address; `file` is the place of its row. For a thread that is busy.
pub fn mapped(stored: Stored, wish: Wish, file: u32, address: usize, now: u64) {
    let Wish { bytes, protection, flags, descriptor, offset } = wish;
    let bytes = in_pages(bytes);
    // What is still said to be there has gone in a way that nobody saw.
    each_within(address, bytes, |place| end(place, now, None));
    let Some(row) = row_of(file, MapAccess::of(protection, flags) as u32, now) else { return };
    let extent = Extent::within(offset, bytes as u64, stored.size);
    let is_read_ahead = flags & libc::MAP_POPULATE != 0;
    let cached = match stored.cached {
        None if stored.may_ask && !is_read_ahead => resident::of_memory(address, extent.bytes),
        cached => cached,
    };
    map_at(row).count(extent, cached);
    if let Some(place) = take() {
        place.row.store(row, Relaxed);
        place.begin.store(address, Relaxed);
        place.end.store(address + bytes, Relaxed);
        place.offset.store(offset, Relaxed);
        place.size.store(stored.size, Relaxed);
        place.descriptor.store(if stored.may_ask { descriptor } else { -1 }, Relaxed);
        place.identity.iter().zip(stored.identity).for_each(|(kept, number)| kept.store(number, Relaxed));
        LOWEST.fetch_min(address, Relaxed);
        HIGHEST.fetch_max(address + bytes, Relaxed);
        place.state.store(KNOWN, Release);
    }
}

/// A free place, which nobody else changes from now on.
fn take() -> Option<&'static Place> {
    let is_free = |place: &&Place| {
        place.state.load(Relaxed) == FREE && place.state.compare_exchange(FREE, TAKEN, AcqRel, Relaxed).is_ok()
    };
    let free = used_places().iter().find(is_free);
    let free = free.or_else(|| {
        let first = USED.load(Relaxed);
        PLACES.iter().enumerate().skip(first).find(|(_, place)| is_free(place)).map(|(number, place)| {
            USED.fetch_max(number + 1, Relaxed);
            place
        })
    });
    if free.is_some() {
        COUNT.fetch_add(1, Relaxed);
    }
    free
}

/// Leaves a place that nobody else changes.
fn free(place: &Place) {
    place.state.store(FREE, Release);
    COUNT.fetch_sub(1, Relaxed);
}

/// The row of a file and access, which is made if there is none yet. Nothing where there is no place for it.
fn row_of(file: u32, access: u32, now: u64) -> Option<u32> {
    let head = &HEADS[file as usize / 8 % LISTS];
    let mut first = head.load(Acquire);
    let mut place = first;
    while place != 0 {
        let row = map_at(place);
        if row.file == file && row.access == access {
            return Some(place);
        }
        place = row.next;
    }
    let new = table::allocate::<Map>(0, |row, _| {
        row.file = file;
        row.next = first;
        row.access = access;
        row.first_ticks = now;
    });
    let Some(new) = new else {
        table::header().folded_calls.fetch_add(1, Relaxed);
        return None;
    };
    // Another thread's new row of the same may slip in: then there are two, which readers add up.
    while let Err(other) = head.compare_exchange(first, new, AcqRel, Acquire) {
        first = other;
        // SAFETY: the row is not in the list yet, so no other thread reads it.
        unsafe { (*(&raw const *map_at(new)).cast_mut()).next = first };
    }
    Some(new)
}

fn map_at(place: u32) -> &'static Map {
    // SAFETY: places of rows come from `row_of` alone.
    unsafe { table::block_at(place) }
}

/// All rows.
fn rows() -> impl Iterator<Item = &'static Map> {
    HEADS.iter().flat_map(|head| {
        let mut place = head.load(Acquire);
        core::iter::from_fn(move || {
            (place != 0).then(|| {
                let row = map_at(place);
                place = row.next;
                row
            })
        })
    })
}

/// Whether a file may be mapped there: of most memory that is unmapped it is known at once.
#[inline(always)]
fn may_be_at(address: usize, bytes: usize) -> bool {
    COUNT.load(Relaxed) != 0
        && address < HIGHEST.load(Relaxed)
        && address.wrapping_add(bytes) > LOWEST.load(Relaxed)
        && process::attached()
}

/// Memory is about to be unmapped, or replaced.
#[inline(always)]
pub fn unmapping(address: usize, bytes: usize) {
    if may_be_at(address, bytes) {
        unmapping_some(address, bytes);
    }
}

#[cold]
fn unmapping_some(address: usize, bytes: usize) {
    // The kernel refuses others, and nothing happens.
    if address.is_multiple_of(sys::page_bytes() as usize) && bytes > 0 {
        call::update(|| each_within(address, in_pages(bytes), |place| end(place, ticks::now(), ask(place))));
    }
}

/// Memory is about to be moved, or to have another size. What there is to be said of it when that is done.
#[inline(always)]
pub fn moving(address: usize, bytes: usize, new_bytes: usize) -> Option<Moving> {
    if may_be_at(address, bytes) && bytes > 0 { moving_some(address, bytes, new_bytes) } else { None }
}

/// Memory of a file that is about to be moved: its place, which nobody else changes meanwhile.
#[must_use]
pub struct Moving(&'static Place);

#[cold]
fn moving_some(address: usize, bytes: usize, new_bytes: usize) -> Option<Moving> {
    let (bytes, new_bytes) = (in_pages(bytes), in_pages(new_bytes));
    call::update(|| {
        if new_bytes < bytes {
            each_within(address + new_bytes, bytes - new_bytes, |place| end(place, ticks::now(), ask(place)));
        }
        let mut moving = None;
        // Only of one map, which the kernel moves at once; adjacent ones of a file may be one to it.
        each_within(address, bytes.min(new_bytes), |place| {
            if moving.is_none() {
                moving = Some(Moving(place));
            } else {
                place.state.store(KNOWN, Release);
            }
        });
        moving
    })
    .flatten()
}

impl Moving {
    /// It is at that address now, and has that size; at none where the kernel refused.
    pub fn done(self, address: Option<usize>, new_bytes: usize) {
        let place = self.0;
        if let Some(address) = address {
            let bytes = place.end.load(Relaxed) - place.begin.load(Relaxed);
            let end = address + in_pages(new_bytes);
            LOWEST.fetch_min(address, Relaxed);
            HIGHEST.fetch_max(end, Relaxed);
            place.begin.store(address, Relaxed);
            place.end.store(end, Relaxed);
            if address + bytes < end {
                call::update(|| grow(place, address + bytes, end));
            }
        }
        place.state.store(KNOWN, Release);
    }
}

/// What is in a place has grown up to `end`, perhaps with its file.
fn grow(place: &Place, before: usize, end: usize) {
    if let Some((_, size)) = open_descriptor(place) {
        place.size.fetch_max(size, Relaxed);
    }
    let offset = place.offset.load(Relaxed) + (before - place.begin.load(Relaxed)) as u64;
    let extent = Extent::within(offset, (end - before) as u64, place.size.load(Relaxed));
    let may_ask = place.descriptor.load(Relaxed) >= 0;
    let cached = if may_ask { resident::of_memory(before, extent.bytes) } else { None };
    map_at(place.row.load(Relaxed)).grow(extent, cached);
}

/// The descriptor that a file was mapped by, if it is still one of that file, and the file's size.
fn open_descriptor(place: &Place) -> Option<(i32, u64)> {
    let descriptor = place.descriptor.load(Relaxed);
    if descriptor < 0 || !system_calls_allowed() {
        return None;
    }
    let about = sys::stat(descriptor)?;
    let same = [about.st_dev, about.st_ino] == place.identity.each_ref().map(|number| number.load(Relaxed));
    same.then_some((descriptor, about.st_size as u64))
}

/// Calls `change` for each part of a file that is in this memory. It gets a place that has nothing else, is taken, and is to be
/// freed or known again.
fn each_within(address: usize, bytes: usize, mut change: impl FnMut(&'static Place)) {
    let end = address.saturating_add(bytes);
    for place in used_places() {
        let overlaps = || place.begin.load(Relaxed) < end && place.end.load(Relaxed) > address;
        if place.state.load(Acquire) != KNOWN
            || !overlaps()
            || place.state.compare_exchange(KNOWN, TAKEN, AcqRel, Relaxed).is_err()
        {
            continue;
        }
        if overlaps() {
            cut(place, address, end);
            change(place);
        } else {
            place.state.store(KNOWN, Release);
        }
    }
}

/// Leaves in a place only what lies within these addresses. The rest gets places of its own, if there are some.
fn cut(place: &Place, address: usize, end: usize) {
    let (begins, ends) = (place.begin.load(Relaxed), place.end.load(Relaxed));
    let (address, end) = (address.max(begins), end.min(ends));
    for (begin, end) in [(begins, address), (end, ends)] {
        if begin < end {
            map_at(place.row.load(Relaxed)).split();
            if let Some(rest) = take() {
                rest.row.store(place.row.load(Relaxed), Relaxed);
                rest.begin.store(begin, Relaxed);
                rest.end.store(end, Relaxed);
                rest.offset.store(place.offset.load(Relaxed) + (begin - begins) as u64, Relaxed);
                rest.size.store(place.size.load(Relaxed), Relaxed);
                rest.descriptor.store(place.descriptor.load(Relaxed), Relaxed);
                rest.identity.iter().zip(&place.identity).for_each(|(kept, of)| kept.store(of.load(Relaxed), Relaxed));
                rest.state.store(KNOWN, Release);
            }
        }
    }
    place.offset.fetch_add((address - begins) as u64, Relaxed);
    place.begin.store(address, Relaxed);
    place.end.store(end, Relaxed);
}

/// What the kernel says of the file in a place, which may have grown.
fn ask(place: &Place) -> Option<Cached> {
    if place.descriptor.load(Relaxed) < 0 {
        return None;
    }
    let before = place.extent();
    let by_descriptor = open_descriptor(place).and_then(|(descriptor, size)| {
        place.size.fetch_max(size, Relaxed);
        let more = place.extent().bytes - before.bytes;
        let grown = Extent { offset: before.offset + before.bytes, bytes: more };
        // What was not there yet was not in the page cache.
        map_at(place.row.load(Relaxed)).grow(grown, Some(Cached { asked: more, resident: 0, dirty: None }));
        resident::of_descriptor(descriptor, place.extent())
    });
    by_descriptor.or_else(|| resident::of_memory(place.begin.load(Relaxed), place.extent().bytes))
}

/// What is in a place ends.
fn end(place: &Place, now: u64, cached: Option<Cached>) {
    map_at(place.row.load(Relaxed)).end(now, cached);
    free(place);
}

/// The row of the file that is mapped there, if there is one.
#[inline(always)]
pub fn file_at(address: usize) -> Option<u32> {
    if may_be_at(address, 1) { row_at(address).map(|row| row.file) } else { None }
}

#[cold]
fn row_at(address: usize) -> Option<&'static Map> {
    let is_there = |place: &&Place| {
        place.state.load(Acquire) == KNOWN && (place.begin.load(Relaxed)..place.end.load(Relaxed)).contains(&address)
    };
    used_places().iter().find(is_there).map(|place| map_at(place.row.load(Relaxed)))
}

/// So many bytes that are mapped there were written to their file.
pub fn synced(address: usize, bytes: usize) {
    if let Some(row) = row_at(address) {
        row.sync(bytes as u64);
    }
}

/// The image of the process ends: says of the maps that are still there what is in the page cache, of as many as there is time
/// for.
pub fn leave() {
    if COUNT.load(Relaxed) == 0 {
        return;
    }
    rows().for_each(Map::forget_left);
    resident::begin_end();
    for place in used_places() {
        if place.state.load(Acquire) == KNOWN {
            map_at(place.row.load(Relaxed)).leave(ask(place));
        }
    }
}
