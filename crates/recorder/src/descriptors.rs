//! Which file a descriptor is of, and where it is in it.
//!
//! A descriptor leads to a slot, as in the kernel it leads to an open file description: those that `dup` makes share one.
//! One that nobody has seen being opened (inherited, received, opened by the C library itself) is looked up once.

use core::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};

use crate::process::system_calls_allowed;
use crate::rules::Matching;
use crate::{files, rings, shared, sys, ticks};

/// An open file description. It has a cache line of its own: threads with a file each must not meet.
#[repr(C, align(64))]
pub struct Slot {
    /// Descriptors that lead here, in the lower half; in the upper that of the tables which `file` is a place of.
    references: AtomicU64,
    /// Which rules are for it, and the place of the file's row.
    pub matching: Matching,
    /// Where the next `read` or `write` begins, as far as is known.
    pub position: AtomicU64,
    /// Of the file system: offsets that are no multiple of it are misaligned. A power of two; 0 where that makes no sense.
    pub block_bytes: AtomicU32,
    /// The ring of io_uring that it is, by number ([`rings`]); 0 is none.
    ring: AtomicU32,
    /// Address of the stream whose calls move it; 0 where none is known.
    pub stream: AtomicUsize,
    /// Address of the words of the thread that used the stream last.
    pub stream_user: AtomicUsize,
    /// Where that was in the stream's buffer, less `position`: calls leave it as it is.
    pub place_less_position: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    const fn new() -> Self {
        Self {
            references: AtomicU64::new(0),
            matching: Matching::new(),
            position: AtomicU64::new(0),
            block_bytes: AtomicU32::new(0),
            ring: AtomicU32::new(0),
            stream: AtomicUsize::new(0),
            stream_user: AtomicUsize::new(0),
            place_less_position: AtomicU64::new(0),
        }
    }

    /// Takes it, if no descriptor of this table leads here.
    fn take(&self) -> bool {
        let generation = u64::from(GENERATION.load(Relaxed)) << 32;
        let references = self.references.load(Relaxed);
        let free = references as u32 == 0 || references >> 32 != generation >> 32;
        free && shared::replace_if(&self.references, references, generation | 1)
    }

    /// Place of the file's row.
    #[inline(always)]
    pub fn file(&self) -> u32 {
        self.matching.file.load(Relaxed)
    }

    /// Moves on by so many bytes. Where it was.
    #[inline(always)]
    pub fn advance(&self, bytes: u64) -> u64 {
        let position = self.position.load(Relaxed);
        self.position.store(position.wrapping_add(bytes), Relaxed);
        position
    }
}

/// Descriptors of a part, each with the number of its slot within the part, plus 1.
const PART: usize = 1024;
struct Part {
    slots: [Slot; PART],
    of: [AtomicU32; PART],
}

static FIRST: Part = Part { slots: [const { Slot::new() }; PART], of: [const { AtomicU32::new(0) }; PART] };
/// Of further descriptors, as many as the kernel lets a process have by default.
static MORE: [AtomicPtr<Part>; 1023] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 1023];
/// Tables that this process had, counting those before fork.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Forgets the table of the parent, if there was one: every descriptor is looked up anew.
pub fn begin(parent: bool) {
    GENERATION.fetch_add(1, Relaxed);
    if !parent {
        return;
    }
    forget_part(&FIRST);
    for part in &MORE {
        let part = part.load(Relaxed);
        if !part.is_null() {
            // SAFETY: a part is never unmapped.
            forget_part(unsafe { &*part });
        }
    }
}

fn forget_part(part: &Part) {
    for of in &part.of {
        if of.load(Relaxed) != 0 {
            of.store(0, Relaxed);
        }
    }
}

/// The slot of a descriptor, which is looked up where it is not known. Nothing where there can be none.
#[inline(always)]
pub fn slot(descriptor: i32) -> Option<&'static Slot> {
    match known(descriptor) {
        Some(slot) => Some(slot),
        None => learn(descriptor),
    }
}

/// The slot of a descriptor, if it is known.
#[inline(always)]
pub fn known(descriptor: i32) -> Option<&'static Slot> {
    let (part, index) = part(descriptor)?;
    match part.of[index].load(Acquire) {
        0 => None,
        number => slot_of(number),
    }
}

/// The slot with that number, which counts from 1 over all parts.
#[inline(always)]
fn slot_of(number: u32) -> Option<&'static Slot> {
    let (part, index) = part(number as i32 - 1)?;
    Some(&part.slots[index])
}

/// The part of a descriptor, and its index there; nothing where that has not been needed yet.
#[inline(always)]
fn part(descriptor: i32) -> Option<(&'static Part, usize)> {
    let descriptor = descriptor as u32 as usize;
    if descriptor < PART {
        return Some((&FIRST, descriptor));
    }
    let part = MORE.get(descriptor / PART - 1)?.load(Acquire);
    // SAFETY: a part is never unmapped.
    (!part.is_null()).then(|| (unsafe { &*part }, descriptor % PART))
}

/// The part of a descriptor, which is mapped if need be.
fn needed_part(descriptor: i32) -> Option<(&'static Part, usize)> {
    if let Some(existing) = part(descriptor) {
        return Some(existing);
    }
    let entry = MORE.get((descriptor as u32 as usize / PART).checked_sub(1)?)?;
    if !system_calls_allowed() {
        return None;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: it replaces nothing, and all zero is a valid part.
    let new = unsafe { sys::map(0, size_of::<Part>(), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if new > 0 {
        // The thread that comes second leaves its memory unused.
        let _ = entry.compare_exchange(core::ptr::null_mut(), new as *mut Part, AcqRel, Relaxed);
    }
    part(descriptor)
}

/// Finds out what a descriptor is.
#[cold]
fn learn(descriptor: i32) -> Option<&'static Slot> {
    if descriptor < 0 {
        return None;
    }
    let (file, about) = files::of_descriptor(descriptor);
    let about = about?;
    files::opened(file, Some(about), 0);
    let position = sys::position(descriptor).max(0) as u64;
    open(descriptor, file, position)
}

/// What stands for a descriptor of which nothing can be known: it is not open, or the kernel must not be asked.
#[cold]
pub fn unknown() -> &'static Slot {
    static UNKNOWN: Slot = Slot::new();
    UNKNOWN.matching.file.store(files::others(), Relaxed);
    &UNKNOWN
}

/// The row of the file that a descriptor is of.
pub fn file(descriptor: i32) -> u32 {
    slot(descriptor).map_or_else(files::others, Slot::file)
}

/// A descriptor that leads to the slot in which that is, if one still does.
pub fn leading_to(matching: &'static Matching) -> Option<i32> {
    let leads =
        |descriptor: i32| known(descriptor).is_some_and(|slot| core::ptr::eq(&raw const slot.matching, matching));
    let parts = core::iter::once(Some(&raw const FIRST)).chain(MORE.iter().map(|part| {
        let part = part.load(Acquire).cast_const();
        (!part.is_null()).then_some(part)
    }));
    let mut descriptors =
        parts.enumerate().filter_map(|(number, part)| Some((number, part?))).flat_map(|(number, part)| {
            // SAFETY: a part is never unmapped.
            let slots = unsafe { &raw const (*part).slots } as usize;
            let begin = (number * PART) as i32;
            // Most often it is the one with the slot's own number.
            let own_index = (&raw const *matching as usize).wrapping_sub(slots) / size_of::<Slot>();
            let first = (own_index < PART).then_some(begin + own_index as i32);
            first.into_iter().chain(begin..begin + PART as i32)
        });
    descriptors.find(|&descriptor| leads(descriptor))
}

/// A descriptor was opened.
pub fn open(descriptor: i32, file: u32, position: u64) -> Option<&'static Slot> {
    forget(descriptor);
    let (part, index) = needed_part(descriptor)?;
    // As many slots as descriptors: most often this one is free. All are taken only where descriptors of other parts are
    // duplicates of this one's.
    let free = (0..PART).map(|step| (index + step) % PART).find(|&index| part.slots[index].take())?;
    let slot = &part.slots[free];
    let row = files::row(file);
    slot.matching.forget(file);
    slot.position.store(position, Relaxed);
    slot.block_bytes.store(files::alignment(row), Relaxed);
    slot.ring.store(0, Relaxed);
    slot.stream.store(0, Relaxed);
    let first = descriptor as u32 as usize / PART * PART;
    part.of[index].store((first + free + 1) as u32, Release);
    Some(slot)
}

/// A descriptor was made a second one of what another leads to.
pub fn duplicate(from: i32, to: i32) {
    if from == to {
        return;
    }
    let number = match slot(from).and_then(|_| part(from)) {
        Some((part, index)) => part.of[index].load(Relaxed),
        None => 0,
    };
    forget(to);
    if let (Some(slot), Some((part, index))) = (slot_of(number), needed_part(to)) {
        shared::add(&slot.references, 1);
        part.of[index].store(number, Release);
    }
}

/// A descriptor is closed, or about to be. The row of its file, if it was known.
pub fn forget(descriptor: i32) -> Option<u32> {
    let (part, index) = part(descriptor)?;
    let number = if part.of[index].load(Relaxed) == 0 { 0 } else { shared::replace(&part.of[index], 0) };
    let slot = if number == 0 { None } else { slot_of(number) }?;
    let file = slot.file();
    let was_last = shared::add(&slot.references, u64::MAX) as u32 == 1;
    if was_last && slot.ring.load(Relaxed) != 0 {
        rings::close(slot.ring.swap(0, AcqRel));
    }
    Some(file)
}

/// The ring that a descriptor is of, by number; 0 is none that is known.
#[inline(always)]
pub fn ring(descriptor: i32) -> u32 {
    known(descriptor).map_or(0, |slot| slot.ring.load(Relaxed))
}

/// A descriptor is that of a ring.
pub fn set_ring(descriptor: i32, ring: u32) {
    if let Some(slot) = slot(descriptor) {
        slot.ring.store(ring, Relaxed);
    }
}

/// All descriptors from the first to the last are closed, or about to be.
pub fn forget_range(first: u32, last: u32) {
    let now = ticks::now();
    for (index, entry) in core::iter::once(None).chain(MORE.iter().map(Some)).enumerate() {
        let begin = (index * PART) as u32;
        if begin > last || entry.is_some_and(|entry| entry.load(Relaxed).is_null()) {
            continue;
        }
        for descriptor in first.max(begin)..=last.min(begin + PART as u32 - 1) {
            if let Some(file) = forget(descriptor as i32) {
                files::closed(file, now);
            }
        }
    }
}
