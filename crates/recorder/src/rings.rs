//! The process's rings of io_uring: requests and completions are in memory, and no function shows them.
//!
//! The recorder maps the memory of each ring once more, when it is set up: what the program does to its own map is no danger, and
//! none of its maps need be watched. At each call on a ring that is seen, what is new in it is read (`ioassay_record::rings`). A
//! ring is read by one thread at a time; who comes at the same moment leaves its requests to the next.
//!
//! A map keeps a ring alive, so it goes with the descriptor, before that is closed; and no child gets it.

use core::cell::UnsafeCell;
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use ioassay_record::rings::{
    Area, Done, Entry, Followed, Geometry, Host, Mapped, Memory, Parameters, Registration, Seen, Subject, Target,
    Unreadable, register, setup, table_entries,
};
use ioassay_record::table;

use crate::call::{self, Call, Outcome};
use crate::files::{self, Base};
use crate::process::system_calls_allowed;
use crate::thread_words::words;
use crate::{descriptors, sys, table as own_table};

/// Rings that a process has at the same time and that are read.
const MOST: usize = 256;
static RINGS: [Slot; MOST] = [const { Slot::new() }; MOST];
/// Rings that the process has had at the same time, at most: beyond, all are free.
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// A place for a ring. Its number is its index plus 1.
struct Slot {
    is_taken: AtomicBool,
    is_busy: AtomicBool,
    ring: UnsafeCell<Ring>,
}

// SAFETY: who uses the ring has set `is_busy`.
unsafe impl Sync for Slot {}

struct Ring {
    /// Nothing where it cannot be read.
    followed: Option<Followed>,
    memory: RingMemory,
    in_flight: Own<Entry>,
    /// Places of the files that are registered with it; 0 is none.
    files: Own<u32>,
    /// Place of its [`table::Ring`]; 0 where the table is full.
    place: u32,
    /// What calls on it took that is not counted yet: the next request that is counted gets it.
    took: u64,
}

/// Where a ring's memory is.
#[derive(Clone, Copy)]
enum RingMemory {
    /// Mapped by us.
    Mapped(Mapped),
    /// Provided by the program, which may take it away at any time: only the kernel can look without danger.
    OfProgram(Addresses),
}

/// Where a program has each area of a ring whose memory it provides ([`setup::NO_MMAP`]); of other rings they mean nothing.
pub type Addresses = [usize; Area::ALL.len()];

impl RingMemory {
    /// That of a ring: mapped here, or at these addresses if the program provides it.
    fn of(descriptor: i32, geometry: &Geometry, addresses: Addresses) -> Result<Self, Unreadable> {
        if geometry.flags & setup::NO_MMAP != 0 {
            return Ok(Self::OfProgram(addresses));
        }
        map(descriptor, geometry).map(Self::Mapped).ok_or(Unreadable::Memory)
    }

    const fn none() -> Self {
        // SAFETY: none of it can be read.
        Self::Mapped(unsafe { Mapped::new([(0, 0); Area::ALL.len()]) })
    }

    fn give_back(&mut self) {
        if let Self::Mapped(memory) = self {
            unmap(memory.areas());
        }
        *self = Self::none();
    }
}

impl Memory for RingMemory {
    #[inline(always)]
    fn word(&self, area: Area, place: usize) -> Option<u32> {
        match self {
            Self::Mapped(memory) => memory.word(area, place),
            Self::OfProgram(addresses) => {
                let mut word = [0; 4];
                sys::read_own(addresses[area as usize] + place, &mut word).then_some(u32::from_ne_bytes(word))
            }
        }
    }

    #[inline(always)]
    fn words(&self, area: Area, place: usize, into: &mut [u64]) -> bool {
        match self {
            Self::Mapped(memory) => memory.words(area, place, into),
            Self::OfProgram(addresses) => {
                // SAFETY: any bytes are valid numbers.
                let bytes = unsafe {
                    core::slice::from_raw_parts_mut(into.as_mut_ptr().cast::<u8>(), core::mem::size_of_val(into))
                };
                sys::read_own(addresses[area as usize] + place, bytes)
            }
        }
    }
}

/// Memory of our own: so many of something that all zero is a valid value of.
struct Own<T> {
    address: *mut T,
    length: usize,
}

impl<T> Own<T> {
    const fn none() -> Self {
        Self { address: core::ptr::null_mut(), length: 0 }
    }

    /// None where no memory is available.
    fn of(length: usize) -> Self {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        if length == 0 {
            return Self::none();
        }
        // SAFETY: it replaces nothing.
        let address = unsafe { sys::map(0, length * size_of::<T>(), protection, flags, -1, 0) };
        if address > 0 { Self { address: address as *mut T, length } } else { Self::none() }
    }

    fn as_slice(&mut self) -> &mut [T] {
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: it was mapped like that, and any bytes are valid.
        unsafe { core::slice::from_raw_parts_mut(self.address, self.length) }
    }

    fn give_back(&mut self) {
        sys::unmap(self.address as usize, self.length * size_of::<T>());
        *self = Self::none();
    }
}

/// The place of the ring with that number.
#[inline(always)]
fn slot(number: u32) -> Option<&'static Slot> {
    RINGS.get((number as usize).checked_sub(1)?)
}

impl Slot {
    const fn new() -> Self {
        Self { is_taken: AtomicBool::new(false), is_busy: AtomicBool::new(false), ring: UnsafeCell::new(Ring::none()) }
    }

    /// Uses the ring, unless another thread uses it and does not finish.
    #[inline(always)]
    fn with<R>(&self, use_it: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        if self.is_busy.swap(true, Acquire) && !self.wait() {
            return None;
        }
        // SAFETY: nobody else uses it.
        let result = self.is_taken.load(Relaxed).then(|| use_it(unsafe { &mut *self.ring.get() }));
        self.is_busy.store(false, Release);
        result
    }

    #[cold]
    fn wait(&self) -> bool {
        (0..LOOKS).any(|_| {
            core::hint::spin_loop();
            !self.is_busy.load(Relaxed) && !self.is_busy.swap(true, Acquire)
        })
    }
}

/// How often to check whether another thread has finished with a ring: some microseconds.
const LOOKS: u32 = 1000;

impl Ring {
    const fn none() -> Self {
        Self {
            followed: None,
            memory: RingMemory::none(),
            in_flight: Own::none(),
            files: Own::none(),
            place: 0,
            took: 0,
        }
    }

    /// Runs `look` on what is known, and counts what it has seen.
    #[inline(always)]
    fn look(&mut self, look: impl FnOnce(&mut Followed, &RingMemory, &mut [Entry], &mut Process) -> Option<Seen>) {
        let Self { followed: Some(followed), memory, in_flight, files, place, took } = self else { return };
        let seen = look(followed, memory, in_flight.as_slice(), &mut Process { files, took });
        match seen {
            Some(seen) => of_table(*place, |ring| ring.count(seen)),
            None => {
                of_table(*place, |ring| ring.unreadable.store(Unreadable::Memory as u32, Relaxed));
                self.followed = None;
            }
        }
    }

    fn process(&mut self) -> Process<'_> {
        Process { files: &mut self.files, took: &mut self.took }
    }

    /// Reads all that is there, and counts what is in flight.
    fn end(&mut self) {
        self.look(|ring, memory, in_flight, process| ring.requests(memory, in_flight, None, process));
        self.look(|ring, memory, in_flight, process| ring.completions(memory, in_flight, process));
        self.look(|ring, memory, in_flight, process| ring.end(memory, in_flight, process));
    }

    fn give_back(&mut self) {
        self.memory.give_back();
        self.in_flight.give_back();
        self.files.give_back();
        *self = Self::none();
    }
}

fn of_table(place: u32, change: impl FnOnce(&table::Ring)) {
    if place != 0 {
        // SAFETY: it was allocated as that.
        change(unsafe { own_table::block_at(place) });
    }
}

/// What is asked of the process while a ring is read.
struct Process<'a> {
    files: &'a mut Own<u32>,
    took: &'a mut u64,
}

impl Process<'_> {
    fn of_row(file: u32) -> Target {
        if file == 0 || file == files::others() {
            return Target { file: files::others(), block_bytes: 0 };
        }
        Target { file, block_bytes: files::alignment(files::row(file)) }
    }

    /// Gives places the files of descriptors, up to the first that cannot be read.
    fn register_all(&mut self, first: u32, count: u32, descriptor: impl Fn(usize) -> Option<i32>) {
        for step in 0..count.min(register::MOST_FILES) {
            let Some(descriptor) = descriptor(step as usize) else { return };
            if descriptor != register::SKIP {
                let file = (descriptor >= 0).then(|| self.target(Subject::Descriptor(descriptor)));
                self.register(first.saturating_add(step), file);
            }
        }
    }
}

impl Host for Process<'_> {
    #[inline(always)]
    fn target(&mut self, subject: Subject) -> Target {
        match subject {
            Subject::Descriptor(descriptor) => match descriptors::slot(descriptor) {
                Some(slot) => Target { file: slot.file(), block_bytes: slot.block_bytes.load(Relaxed) },
                None => Self::of_row(0),
            },
            Subject::Registered(place) => Self::of_row(self.files.as_slice().get(place as usize).copied().unwrap_or(0)),
            Subject::Path(base, 0) => Self::of_row(descriptors::file(base)),
            Subject::Path(base, address) => {
                // SAFETY: the path of a request ends with a zero byte, as that of a call.
                Self::of_row(unsafe { files::of_path(Base::of(base), address as *const _) })
            }
        }
    }

    fn vector_bytes(&mut self, address: u64, count: u32) -> Option<u64> {
        const AT_ONCE: usize = 32;
        let mut sum = 0_u64;
        for first in (0..(count as usize).min(MOST_VECTORS)).step_by(AT_ONCE) {
            let mut vectors = [[0_u64; 2]; AT_ONCE];
            let these = (count as usize - first).min(AT_ONCE);
            // SAFETY: any bytes are valid numbers.
            let bytes = unsafe { core::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast::<u8>(), these * 16) };
            if !sys::read_own(address as usize + first * 16, bytes) {
                return None;
            }
            sum = vectors[..these].iter().fold(sum, |sum, [_, bytes]| sum.saturating_add(*bytes));
        }
        Some(sum)
    }

    fn advance(&mut self, subject: Subject, bytes: u64) -> Option<u64> {
        match subject {
            Subject::Descriptor(descriptor) => descriptors::slot(descriptor).map(|slot| slot.advance(bytes)),
            _ => None,
        }
    }

    fn register(&mut self, place: u32, file: Option<Target>) {
        if let Some(known) = self.files.as_slice().get_mut(place as usize) {
            *known = file.map_or(0, |target| target.file);
        }
    }

    fn update(&mut self, first: u32, address: u64, count: u32) {
        self.register_all(first, count, |step| {
            let mut descriptor = [0; 4];
            sys::read_own(address as usize + step * 4, &mut descriptor).then_some(i32::from_ne_bytes(descriptor))
        });
    }

    fn close(&mut self, descriptor: i32) -> Option<Target> {
        // That of another ring, whose requests are not to be read while this one's are.
        if descriptors::ring(descriptor) != 0 {
            return None;
        }
        descriptors::forget(descriptor).map(Self::of_row)
    }

    #[inline(always)]
    fn count(&mut self, done: &Done) {
        let Done { operation, target: Target { file, block_bytes }, bytes, offset, error } = *done;
        let outcome = match error {
            Some(error) => Outcome::Failed(error),
            None if operation as usize >= ioassay_record::operation::FIRST_TRANSFER => {
                Outcome::Moved { bytes, offset, block_bytes }
            }
            None => Outcome::Done,
        };
        call::count(operation, file, outcome, core::mem::take(self.took));
    }
}

/// The kernel takes no more.
const MOST_VECTORS: usize = 1024;

/// Rings that threads have registered for themselves: place of the thread in the table, index, number.
static OF_THREADS: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
static OF_THREADS_USED: AtomicUsize = AtomicUsize::new(0);

fn thread_key(index: u32) -> u64 {
    let thread = words().thread.load(Relaxed);
    // SAFETY: the thread is busy, so this is its part of the table.
    let place = if thread == 0 { 0 } else { own_table::place(unsafe { &*(thread as *const table::Thread) }) };
    u64::from(place) << 32 | u64::from(index & 0xffff) << 16
}

/// The number of the ring that the calling thread has registered at an index; 0 is none that is known.
pub fn registered(index: i32) -> u32 {
    let key = thread_key(index as u32);
    let used = OF_THREADS_USED.load(Relaxed).min(OF_THREADS.len());
    let registration = OF_THREADS[..used].iter().map(|known| known.load(Relaxed)).find(|known| known & !0xffff == key);
    registration.map_or(0, |known| known as u32 & 0xffff)
}

fn register_for_thread(index: u32, number: u32) {
    let key = thread_key(index);
    let known = key | u64::from(number & 0xffff);
    let used = OF_THREADS_USED.load(Relaxed).min(OF_THREADS.len());
    if let Some(before) = OF_THREADS[..used].iter().find(|before| before.load(Relaxed) & !0xffff == key) {
        before.store(known, Relaxed);
    } else if let Some(new) = OF_THREADS.get(OF_THREADS_USED.fetch_add(1, Relaxed)) {
        new.store(known, Relaxed);
    }
}

/// A ring was set up, with that descriptor. The calling thread is busy.
pub fn set_up(descriptor: i32, parameters: &Parameters) -> u32 {
    follow(descriptor, parameters.flags, Geometry::of(parameters), addresses(parameters))
}

/// Where the program has put a ring, if it has.
pub fn addresses(parameters: &Parameters) -> Addresses {
    let rings = parameters.rings_address as usize;
    [rings, rings, parameters.requests_address as usize]
}

/// Follows a ring: one that was set up just now, or that a library knows. Its number; 0 where the descriptor cannot be looked up.
pub fn follow(descriptor: i32, flags: u32, geometry: Result<Geometry, Unreadable>, addresses: Addresses) -> u32 {
    let is_index = flags & setup::REGISTERED_FD_ONLY != 0;
    if !is_index {
        // What had the number before was closed without a call that is seen.
        descriptors::forget(descriptor);
        if descriptors::slot(descriptor).is_none() {
            return 0;
        }
    }
    let number = take(MOST - 1, flags, |ring| {
        let geometry = geometry?;
        ring.memory = RingMemory::of(descriptor, &geometry, addresses)?;
        ring.in_flight = Own::of(table_entries(geometry.completion_entries));
        ring.followed = Some(Followed::new(geometry, &ring.memory).ok_or(Unreadable::Memory)?);
        Ok(())
    });
    if is_index {
        register_for_thread(descriptor as u32, number);
    } else {
        descriptors::set_ring(descriptor, number);
    }
    number
}

/// A ring has got other sizes, and memory that has these. It keeps its files and what is in flight. The thread is busy.
pub fn resize(
    (number, descriptor): (u32, i32),
    geometry: impl FnOnce(&Geometry) -> Result<Geometry, Unreadable>,
    addresses: Addresses,
) {
    let Some(slot) = slot(number) else { return };
    slot.with(|ring| {
        // What the kernel has copied is still in the memory before.
        ring.look(|ring, memory, in_flight, process| ring.requests(memory, in_flight, None, process));
        ring.look(|ring, memory, in_flight, process| ring.completions(memory, in_flight, process));
        let Some(followed) = &ring.followed else { return };
        let resized = geometry(&followed.geometry);
        let resized = resized.and_then(|new| Ok((new, RingMemory::of(descriptor, &new, addresses)?)));
        ring.memory.give_back();
        match resized {
            Ok((new, memory)) => {
                ring.memory = memory;
                let mut into = Own::of(table_entries(new.completion_entries));
                ring.look(|ring, _, in_flight, process| Some(ring.resize(new, in_flight, into.as_slice(), process)));
                ring.in_flight.give_back();
                ring.in_flight = into;
            }
            Err(why) => {
                of_table(ring.place, |of| of.unreadable.store(why as u32, Relaxed));
                ring.followed = None;
            }
        }
    });
}

/// A ring of which nobody has seen how it was set up. Those that have no descriptor, or one of which nothing is known, share
/// the last place.
fn unseen(descriptor: i32) -> u32 {
    let is_known = descriptors::slot(descriptor).is_some();
    let number = take(if is_known { MOST - 1 } else { 0 }, 0, |_| Err(Unreadable::SetUpUnseen));
    descriptors::set_ring(descriptor, number);
    number
}

/// Takes one of the first places for a ring, and fills it. Its number; that of the last place where they are taken.
fn take(places: usize, flags: u32, fill: impl FnOnce(&mut Ring) -> Result<(), Unreadable>) -> u32 {
    let is_free = |slot: &Slot| !slot.is_taken.load(Relaxed) && !slot.is_taken.swap(true, Acquire);
    let new = RINGS[..places].iter().position(is_free);
    let index = new.unwrap_or(MOST - 1);
    HIGHEST.fetch_max(index + 1, Relaxed);
    let slot = &RINGS[index];
    if new.is_some() || is_free(slot) {
        slot.with(|ring| {
            let why = if new.is_some() || places == 0 { fill(ring).err() } else { Some(Unreadable::TooMany) };
            let unreadable = why.map_or(0, |why| why as u32);
            let block = own_table::allocate::<table::Ring>(0, |block, _| {
                block.flags = flags;
                block.unreadable = AtomicU32::new(unreadable);
            });
            ring.place = block.unwrap_or(0);
        });
    }
    index as u32 + 1
}

/// Maps the memory of a ring.
fn map(descriptor: i32, geometry: &Geometry) -> Option<Mapped> {
    if !system_calls_allowed() {
        return None;
    }
    let mut areas = [(0, 0); Area::ALL.len()];
    for area in Area::ALL {
        if area == Area::CompletionRing && geometry.single {
            areas[area as usize] = areas[Area::RequestRing as usize];
            continue;
        }
        let (bytes, offset) = (geometry.bytes(area), area.map_offset() as usize);
        // SAFETY: it replaces nothing.
        let address = unsafe { sys::map(0, bytes, libc::PROT_READ, libc::MAP_SHARED, descriptor as isize, offset) };
        if address <= 0 {
            unmap(areas);
            return None;
        }
        areas[area as usize] = (address as usize, bytes);
        // SAFETY: our own map; a child would keep the ring alive.
        unsafe { sys::call(libc::SYS_madvise, [address as usize, bytes, libc::MADV_DONTFORK as usize, 0, 0, 0]) };
    }
    // SAFETY: they are mapped, at the beginning of pages, until the place of the ring is given back.
    Some(unsafe { Mapped::new(areas) })
}

fn unmap(areas: [(usize, usize); Area::ALL.len()]) {
    for (index, (address, bytes)) in areas.into_iter().enumerate() {
        // Both rings may be in one map.
        if !areas[..index].contains(&(address, bytes)) {
            sys::unmap(address, bytes);
        }
    }
}

/// A call on a ring that may hand requests over, or wait.
#[derive(Clone, Copy)]
pub struct Entered {
    /// 0 where it is unknown.
    number: u32,
    /// Its descriptor, or negative.
    descriptor: i32,
    call: Option<Call>,
}

/// A call on a ring begins. `find` finds its number, and descriptor; `announced` is up to where a library will hand over requests
/// within it.
#[inline(always)]
pub fn enter(find: impl FnOnce() -> (u32, i32), announced: Option<u32>) -> Option<Entered> {
    let (number, descriptor, waits_for) = call::update(|| {
        let (number, descriptor) = find();
        let waits_for = slot(number).and_then(|slot| {
            slot.with(|ring| {
                ring.look(|ring, memory, in_flight, process| ring.requests(memory, in_flight, announced, process));
                ring.followed.as_ref().and_then(Followed::waits_for)
            })
        });
        (number, descriptor, waits_for.flatten())
    })?;
    let call = waits_for.and_then(|(operation, file)| call::on_file(operation, file));
    Some(Entered { number, descriptor, call })
}

/// It has ended. `submitted` is what it said that it handed over, if it says that.
#[inline(always)]
pub fn leave(entered: Entered, submitted: Option<u32>) {
    let took = entered.call.map_or(0, call::end_uncounted);
    let Entered { mut number, descriptor, .. } = entered;
    let submitted = submitted.unwrap_or(0);
    if number == 0 && submitted == 0 {
        return;
    }
    call::update(|| {
        if number == 0 {
            number = unseen(descriptor);
        }
        let Some(slot) = slot(number) else { return };
        slot.with(|ring| {
            ring.took += took;
            if ring.followed.is_none() {
                let requests = submitted.into();
                of_table(ring.place, |of| of.count(Seen { requests, unread: requests, ..Seen::default() }));
                return;
            }
            ring.look(|ring, memory, in_flight, process| ring.completions(memory, in_flight, process));
        });
    });
}

/// The number of the ring of a descriptor, or of the index of one that the thread has registered; 0 is none that is known. And the
/// descriptor, where it is one. The thread is busy.
#[inline(always)]
pub fn number(descriptor: i32, is_index: bool) -> (u32, i32) {
    if is_index { (registered(descriptor), -1) } else { (descriptors::ring(descriptor), descriptor) }
}

/// Files were registered with a ring, or are not any more. The thread is busy.
///
/// # Safety
/// The kernel has read the descriptors just now.
pub unsafe fn register(number: u32, registration: Registration) {
    let Some(slot) = slot(number) else { return };
    let files_at = |address: u64| {
        // SAFETY: the caller's.
        move |step: usize| Some(unsafe { (address as *const i32).add(step).read_unaligned() })
    };
    slot.with(|ring| {
        // Requests that the kernel may have taken meanwhile are on the files before.
        ring.look(|ring, memory, in_flight, process| ring.requests(memory, in_flight, None, process));
        match registration {
            Registration::Files { address, count } => {
                ring.files.give_back();
                ring.files = Own::of(count.min(register::MOST_FILES) as usize);
                if address != 0 {
                    ring.process().register_all(0, count, files_at(address));
                }
            }
            Registration::Update { first, address, count } => {
                ring.process().register_all(first, count, files_at(address))
            }
            Registration::None => ring.files.give_back(),
        }
    });
}

/// The calling thread has registered a ring for itself. It is busy.
pub fn register_for_thread_by(descriptor: i32, index: u32) {
    let ring = descriptors::ring(descriptor);
    if ring != 0 {
        register_for_thread(index, ring);
    }
}

/// The last descriptor of a ring is closed, or about to be. The thread is busy.
#[cold]
pub fn close(number: u32) {
    let Some(slot) = slot(number) else { return };
    if number as usize == MOST {
        return;
    }
    let closed = slot.with(|ring| {
        ring.end();
        ring.give_back();
    });
    if closed.is_some() {
        slot.is_taken.store(false, Release);
    }
}

/// The process ends, or is about to be replaced: all that is in rings is counted now. The thread is busy.
pub fn end_all() {
    for slot in &RINGS[..HIGHEST.load(Relaxed).min(MOST)] {
        slot.with(Ring::end);
    }
}

/// Forgets the rings of the parent, if there was one: its maps of them are not here.
pub fn begin(parent: bool) {
    if !parent {
        return;
    }
    for slot in &RINGS[..HIGHEST.swap(0, Relaxed).min(MOST)] {
        slot.is_busy.store(false, Relaxed);
        if slot.is_taken.swap(false, Relaxed) {
            // SAFETY: this thread is the only one yet.
            let ring = unsafe { &mut *slot.ring.get() };
            ring.memory = RingMemory::none();
            ring.give_back();
        }
    }
    OF_THREADS_USED.store(0, Relaxed);
}
