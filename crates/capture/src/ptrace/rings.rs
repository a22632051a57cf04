//! Rings of io_uring: the tracer maps their memory once more, for itself, and reads at each call on them what is new.
//!
//! What requests and completions say is in `ioassay_record::rings`, as for the recorder. A map keeps a ring alive, so it goes
//! with the last descriptor of the process, or with the process.

use std::cell::RefCell;
use std::rc::Rc;

use ioassay_record::layout::zeroed;
use ioassay_record::operation::FIRST_TRANSFER;
use ioassay_record::read::copy;
use ioassay_record::rings::{
    Area, Done, Entry, Followed, Geometry, Host, Mapped, Memory, Parameters, Registration, Seen, Subject, Target,
    Unreadable, enter, register, setup, table_entries,
};

use super::follow::path_of;
use super::table::{FinishedCall, Moment, OTHERS, Outcome, Table};
use super::tracee::{self, Description, Pending, Process, Tracee};

/// The kernel takes no more vectors.
const MOST_VECTORS: u32 = 1024;

/// A ring that a process has set up. Others that have it, by `fork`, are not followed.
pub struct Ring {
    process: i32,
    /// Nothing where it cannot be read.
    followed: Option<Followed>,
    memory: RingMemory,
    in_flight: Vec<Entry>,
    files: Vec<Option<Registered>>,
    /// Its place in the table of the process.
    row: usize,
    /// What calls on it took that is not counted yet, in ticks: the next request that is counted gets it.
    took: u64,
}

/// A file in one of a ring's places.
#[derive(Clone)]
enum Registered {
    /// That of a descriptor.
    Description(Rc<Description>),
    /// One that a request has opened.
    Opened(Target),
}

/// One that descriptors and the process have.
pub type SharedRing = Rc<RefCell<Ring>>;

enum RingMemory {
    /// Mapped by us.
    Mapped(OwnMap),
    /// Provided by the program, and read as a thread sees it that is there: the one that set it up may have ended.
    OfProgram { thread: i32, addresses: [u64; Area::ALL.len()] },
    /// It cannot be mapped.
    None,
}

/// A map of a ring's memory, which is given back.
struct OwnMap(Mapped);

impl Drop for OwnMap {
    fn drop(&mut self) {
        let areas = self.0.areas();
        for (index, (address, bytes)) in areas.into_iter().enumerate() {
            // Both rings may be in one map.
            if bytes > 0 && !areas[..index].contains(&(address, bytes)) {
                // SAFETY: it was mapped here, and nobody else knows of it.
                unsafe { libc::munmap(address as *mut libc::c_void, bytes) };
            }
        }
    }
}

impl OwnMap {
    /// That of a ring of another process.
    fn of(process: i32, descriptor: i32, geometry: &Geometry) -> Option<Self> {
        // SAFETY: they only make descriptors, which are closed below.
        let ring = unsafe {
            let of_process = libc::syscall(libc::SYS_pidfd_open, process, 0) as i32;
            let ring = libc::syscall(libc::SYS_pidfd_getfd, of_process, descriptor, 0) as i32;
            libc::close(of_process);
            ring
        };
        if ring < 0 {
            return None;
        }
        let mut memory = Self(Mapped::default());
        let mut areas = memory.0.areas();
        for area in Area::ALL {
            if area == Area::CompletionRing && geometry.single {
                areas[area as usize] = areas[Area::RequestRing as usize];
                continue;
            }
            let (bytes, offset) = (geometry.bytes(area), area.map_offset() as libc::off_t);
            // SAFETY: new memory.
            let address =
                unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, ring, offset) };
            if address == libc::MAP_FAILED {
                break;
            }
            areas[area as usize] = (address as usize, bytes);
        }
        // SAFETY: it is ours.
        unsafe { libc::close(ring) };
        // SAFETY: they are mapped until this is dropped, at the beginning of pages.
        memory.0 = unsafe { Mapped::new(areas) };
        areas.iter().all(|(_, bytes)| *bytes > 0).then_some(memory)
    }
}

impl RingMemory {
    /// The memory of a ring, where the kernel's parameters have it.
    fn of(thread: i32, process: i32, descriptor: i32, geometry: &Geometry, parameters: &Parameters) -> Self {
        if geometry.flags & setup::NO_MMAP != 0 {
            let (rings, requests) = (parameters.rings_address, parameters.requests_address);
            return Self::OfProgram { thread, addresses: [rings, rings, requests] };
        }
        OwnMap::of(process, descriptor, geometry).map_or(Self::None, Self::Mapped)
    }
}

impl Memory for RingMemory {
    fn word(&self, area: Area, place: usize) -> Option<u32> {
        match self {
            Self::Mapped(map) => map.0.word(area, place),
            Self::OfProgram { thread, addresses } => {
                let mut word = [0; 4];
                let address = addresses[area as usize].wrapping_add(place as u64);
                tracee::bytes_at(*thread, address, &mut word).then_some(u32::from_ne_bytes(word))
            }
            Self::None => None,
        }
    }

    fn words(&self, area: Area, place: usize, into: &mut [u64]) -> bool {
        match self {
            Self::Mapped(map) => map.0.words(area, place, into),
            Self::OfProgram { thread, addresses } => {
                let mut bytes = vec![0; size_of_val(into)];
                let is_there =
                    tracee::bytes_at(*thread, addresses[area as usize].wrapping_add(place as u64), &mut bytes);
                for (word, bytes) in into.iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *word = u64::from_ne_bytes(*bytes);
                }
                is_there
            }
            Self::None => false,
        }
    }
}

/// Where requests of a ring are looked up and counted.
struct Counting<'a> {
    thread: i32,
    tracee: &'a Tracee,
    table: &'a mut Table,
    now: Moment,
}

struct RingHost<'a, 'b> {
    counting: &'a mut Counting<'b>,
    files: &'a mut Vec<Option<Registered>>,
    took: &'a mut u64,
}

impl RingHost<'_, '_> {
    fn description(&self, subject: Subject) -> Option<Rc<Description>> {
        match subject {
            Subject::Descriptor(descriptor) => {
                self.counting.tracee.descriptors.borrow_mut().get(self.counting.thread, descriptor)
            }
            Subject::Registered(place) => match self.files.get(place as usize)? {
                Some(Registered::Description(description)) => Some(description.clone()),
                _ => None,
            },
            Subject::Path(..) => None,
        }
    }

    fn register_all(&mut self, first: u32, address: u64, count: u32) {
        for step in 0..count.min(register::MOST_FILES) {
            let mut descriptor = [0; 4];
            if !tracee::bytes_at(self.counting.thread, address.wrapping_add(u64::from(step) * 4), &mut descriptor) {
                return;
            }
            let descriptor = i32::from_ne_bytes(descriptor);
            if descriptor == register::SKIP {
                continue;
            }
            let description = self.description(Subject::Descriptor(descriptor));
            if let Some(file) = self.files.get_mut(first.saturating_add(step) as usize) {
                *file = description.map(Registered::Description);
            }
        }
    }
}

impl Host for RingHost<'_, '_> {
    fn target(&mut self, subject: Subject) -> Target {
        let Counting { thread, tracee, table, now } = &mut *self.counting;
        if let Subject::Path(base, address) = subject {
            let name = path_of(*thread, tracee, Some(base), address);
            return Target { file: name.map_or(OTHERS, |name| table.file(&name)) as u32, block_bytes: 0 };
        }
        if let Subject::Registered(place) = subject
            && let Some(Some(Registered::Opened(target))) = self.files.get(place as usize)
        {
            return *target;
        }
        let ticks = now.ticks;
        let Some(description) = self.description(subject) else {
            return Target { file: OTHERS as u32, block_bytes: 0 };
        };
        let file = self.counting.table.file(&description.name);
        self.counting.table.opened(file, description.about, 0, ticks);
        Target { file: file as u32, block_bytes: description.alignment() }
    }

    fn vector_bytes(&mut self, address: u64, count: u32) -> Option<u64> {
        let mut bytes = vec![0; count.min(MOST_VECTORS) as usize * 16];
        let is_there = tracee::bytes_at(self.counting.thread, address, &mut bytes);
        let lengths = bytes.as_chunks::<8>().0.iter().skip(1).step_by(2);
        is_there.then(|| lengths.fold(0, |sum: u64, length| sum.saturating_add(u64::from_ne_bytes(*length))))
    }

    fn advance(&mut self, subject: Subject, bytes: u64) -> Option<u64> {
        self.description(subject).map(|description| description.advance(bytes))
    }

    fn register(&mut self, place: u32, file: Option<Target>) {
        if let Some(known) = self.files.get_mut(place as usize) {
            *known = file.map(Registered::Opened);
        }
    }

    fn update(&mut self, first: u32, address: u64, count: u32) {
        self.register_all(first, address, count);
    }

    fn close(&mut self, descriptor: i32) -> Option<Target> {
        let target = self.target(Subject::Descriptor(descriptor));
        self.counting.tracee.descriptors.borrow_mut().forget(descriptor);
        (target.file as usize != OTHERS).then_some(target)
    }

    fn count(&mut self, done: &Done) {
        let Done { operation, target, bytes, offset, error } = *done;
        let Counting { tracee, table, now, .. } = &mut *self.counting;
        let Some(thread) = tracee.place else {
            table.lose_call();
            return;
        };
        let outcome = match error {
            Some(error) => Outcome::Failed(error),
            None if operation as usize >= FIRST_TRANSFER => {
                Outcome::Moved { bytes, offset, block_bytes: target.block_bytes }
            }
            None => Outcome::Done,
        };
        let began = now.ticks.saturating_sub(std::mem::take(self.took));
        table.ends(&FinishedCall { thread, operation, file: target.file as usize, began, ended: *now, outcome });
    }
}

impl Ring {
    /// Runs `look` on what is known, and adds what it has seen to the table.
    fn look(
        &mut self,
        counting: &mut Counting,
        look: impl FnOnce(&mut Followed, &RingMemory, &mut [Entry], &mut RingHost) -> Option<Seen>,
    ) {
        let Self { followed: Some(followed), memory, in_flight, files, took, row, .. } = self else { return };
        if let RingMemory::OfProgram { thread, .. } = memory {
            *thread = counting.thread;
        }
        match look(followed, memory, in_flight, &mut RingHost { counting, files, took }) {
            Some(seen) => counting.table.ring_seen(*row, seen),
            None => {
                counting.table.ring_unreadable(*row, Unreadable::Memory);
                self.followed = None;
            }
        }
    }

    fn end(&mut self, counting: &mut Counting) {
        self.look(counting, |ring, memory, in_flight, asked| ring.requests(memory, in_flight, None, asked));
        self.look(counting, |ring, memory, in_flight, asked| ring.completions(memory, in_flight, asked));
        self.look(counting, |ring, memory, in_flight, asked| ring.end(memory, in_flight, asked));
    }
}

/// The ring that a call is on.
fn of_call(thread: i32, tracee: &Tracee, descriptor: i32, is_index: bool) -> Option<SharedRing> {
    if is_index {
        return tracee.rings.get(&(descriptor as u32)).cloned();
    }
    let description = tracee.descriptors.borrow_mut().get(thread, descriptor)?;
    description.ring.borrow().clone()
}

fn of_enter(thread: i32, tracee: &Tracee, arguments: &[u64; 6]) -> Option<SharedRing> {
    of_call(thread, tracee, arguments[0] as i32, arguments[3] as u32 & enter::REGISTERED_RING != 0)
}

/// `io_uring_enter` begins: reads what is new, and says in `pending` what the call waits for.
pub fn entered(thread: i32, tracee: &Tracee, table: &mut Table, pending: &mut Pending, now: Moment) {
    let Some(ring) = of_enter(thread, tracee, &pending.arguments) else { return };
    let mut ring = ring.borrow_mut();
    if ring.process != tracee.process {
        return;
    }
    let counting = &mut Counting { thread, tracee, table, now };
    ring.look(counting, |ring, memory, in_flight, asked| ring.requests(memory, in_flight, None, asked));
    if let Some((operation, file)) = ring.followed.as_ref().and_then(Followed::waits_for) {
        (pending.operation, pending.file) = (Some(operation), file as usize);
    }
}

/// `io_uring_enter` has ended.
pub fn left(thread: i32, tracee: &Tracee, process: &mut Process, pending: &Pending, result: i64, now: Moment) {
    let submitted = u64::try_from(result).unwrap_or(0);
    let entered = of_enter(thread, tracee, &pending.arguments);
    let Some(table) = process.table.as_mut() else { return };
    let known = entered.filter(|ring| ring.borrow().process == tracee.process);
    let Some(ring) = known else {
        if submitted > 0 {
            let row = *process.unseen_rings.get_or_insert_with(|| table.add_ring(0));
            table.ring_unreadable(row, Unreadable::SetUpUnseen);
            table.ring_seen(row, Seen { requests: submitted, unread: submitted, ..Seen::default() });
        }
        return;
    };
    let mut ring = ring.borrow_mut();
    if ring.followed.is_none() {
        table.ring_seen(ring.row, Seen { requests: submitted, unread: submitted, ..Seen::default() });
        return;
    }
    if pending.operation.is_some() {
        ring.took += now.ticks.saturating_sub(pending.began);
    }
    let counting = &mut Counting { thread, tracee, table, now };
    ring.look(counting, |ring, memory, in_flight, asked| ring.completions(memory, in_flight, asked));
    if let Some(place) = tracee.place {
        counting.table.rests(place);
    }
}

/// `io_uring_setup` has made a ring.
pub fn set_up(thread: i32, tracee: &mut Tracee, process: &mut Process, pending: &Pending, result: i64) {
    let mut bytes = [0; size_of::<Parameters>()];
    tracee::bytes_at(thread, pending.arguments[1], &mut bytes);
    if let Some(parameters) = copy::<Parameters>(&bytes) {
        follow(thread, tracee, process, &parameters, result as i32);
    }
}

fn follow(thread: i32, tracee: &mut Tracee, process: &mut Process, parameters: &Parameters, descriptor: i32) {
    let Some(table) = process.table.as_mut() else { return };
    let row = table.add_ring(parameters.flags);
    let mut ring = Ring {
        process: tracee.process,
        followed: None,
        memory: RingMemory::None,
        in_flight: Vec::new(),
        files: Vec::new(),
        row,
        took: 0,
    };
    match Geometry::of(parameters) {
        Ok(geometry) => {
            ring.memory = RingMemory::of(thread, tracee.process, descriptor, &geometry, parameters);
            ring.followed = Followed::new(geometry, &ring.memory);
            ring.in_flight = vec![Entry::FREE; table_entries(geometry.completion_entries)];
            if ring.followed.is_none() {
                table.ring_unreadable(row, Unreadable::Memory);
            }
        }
        Err(why) => table.ring_unreadable(row, why),
    }
    let ring = Rc::new(RefCell::new(ring));
    process.rings.push(ring.clone());
    if parameters.flags & setup::REGISTERED_FD_ONLY != 0 {
        tracee.rings.insert(descriptor as u32, ring);
        return;
    }
    // What had the number before was closed by a call that does not stop.
    tracee.descriptors.borrow_mut().forget(descriptor);
    if let Some(description) = tracee.descriptors.borrow_mut().get(thread, descriptor) {
        *description.ring.borrow_mut() = Some(ring);
    }
}

/// `io_uring_register` has done something with the files of a ring, or with rings of the thread.
pub fn registered(thread: i32, tracee: &mut Tracee, process: &mut Process, pending: &Pending, now: Moment) {
    let [descriptor, operation, address, count, ..] = pending.arguments;
    let (descriptor, operation, count) = (descriptor as i32, operation as u32, count as u32);
    let is_index = operation & register::USE_REGISTERED_RING != 0;
    let operation = operation & !register::USE_REGISTERED_RING;
    match operation {
        register::RING_FDS => {
            for step in 0..u64::from(count.min(16)) {
                let number = |place| tracee::number_at(thread, address.wrapping_add(step * 16 + place));
                let (Some(index), Some(ring)) = (number(0), number(8)) else { return };
                if let Some(ring) = of_call(thread, tracee, ring as i32, false) {
                    tracee.rings.insert(index as u32, ring);
                }
            }
        }
        register::RESIZE_RINGS => {
            let mut bytes = [0; size_of::<Parameters>()];
            tracee::bytes_at(thread, address, &mut bytes);
            let parameters = copy::<Parameters>(&bytes).unwrap_or_else(zeroed);
            let Some(ring) = of_call(thread, tracee, descriptor, is_index) else { return };
            let Some(table) = process.table.as_mut() else { return };
            // An index leads to no memory.
            let descriptor = if is_index { -1 } else { descriptor };
            resize(&mut ring.borrow_mut(), &mut Counting { thread, tracee, table, now }, &parameters, descriptor);
        }
        _ => {
            let mut begin = [0; Registration::ARGUMENT_BYTES];
            tracee::bytes_at(thread, address, &mut begin[..Registration::argument_bytes(operation)]);
            let registration = Registration::of(operation, address, count, &begin);
            let (Some(registration), Some(ring)) = (registration, of_call(thread, tracee, descriptor, is_index)) else {
                return;
            };
            let Some(table) = process.table.as_mut() else { return };
            register_files(&mut ring.borrow_mut(), &mut Counting { thread, tracee, table, now }, registration);
        }
    }
}

/// A ring has got other sizes, and memory that has these. It keeps its files and what is in flight.
fn resize(ring: &mut Ring, counting: &mut Counting, parameters: &Parameters, descriptor: i32) {
    // What the kernel has copied is still in the memory before.
    ring.look(counting, |ring, memory, in_flight, asked| ring.requests(memory, in_flight, None, asked));
    ring.look(counting, |ring, memory, in_flight, asked| ring.completions(memory, in_flight, asked));
    let Some(followed) = &ring.followed else { return };
    match followed.geometry.resized(parameters) {
        Ok(geometry) => {
            ring.memory = RingMemory::of(counting.thread, ring.process, descriptor, &geometry, parameters);
            let mut into = vec![Entry::FREE; table_entries(geometry.completion_entries)];
            ring.look(counting, |ring, _, in_flight, asked| Some(ring.resize(geometry, in_flight, &mut into, asked)));
            ring.in_flight = into;
        }
        Err(why) => {
            counting.table.ring_unreadable(ring.row, why);
            ring.followed = None;
        }
    }
}

fn register_files(ring: &mut Ring, counting: &mut Counting, registration: Registration) {
    // Requests that the kernel may have taken meanwhile are on the files before.
    ring.look(counting, |ring, memory, in_flight, asked| ring.requests(memory, in_flight, None, asked));
    let Ring { files, took, .. } = ring;
    match registration {
        Registration::Files { address, count } => {
            *files = vec![None; count.min(register::MOST_FILES) as usize];
            if address != 0 {
                RingHost { counting, files, took }.register_all(0, address, count);
            }
        }
        Registration::Update { first, address, count } => {
            RingHost { counting, files, took }.register_all(first, address, count);
        }
        Registration::None => files.clear(),
    }
}

/// The last descriptor of a ring is closed.
pub fn closed(thread: i32, tracee: &Tracee, process: &mut Process, description: &Rc<Description>, now: Moment) {
    let Some(ring) = description.ring.borrow_mut().take() else { return };
    if Rc::strong_count(description) > 1 {
        *description.ring.borrow_mut() = Some(ring);
        return;
    }
    process.rings.retain(|known| !Rc::ptr_eq(known, &ring));
    if let Some(table) = process.table.as_mut().filter(|_| ring.borrow().process == tracee.process) {
        ring.borrow_mut().end(&mut Counting { thread, tracee, table, now });
    }
}

/// The process ends, or its program is replaced: all that is in its rings is counted now.
pub fn end_all(tracee: &Tracee, process: &mut Process, thread: i32, now: Moment) {
    let Some(table) = process.table.as_mut() else { return };
    for ring in process.rings.drain(..) {
        ring.borrow_mut().end(&mut Counting { thread, tracee, table: &mut *table, now });
    }
}
