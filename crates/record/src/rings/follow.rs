//! Following a ring: requests that are new, completions that are new, and what of them is to be counted.

use super::flight::{Added, Entry, NO_OFFSET, Table, UNKNOWN_BYTES};
use super::geometry::{Geometry, Memory};
use super::interface::{completion, setup};
use super::request::{Gets, Request, Size, Subject, What};
use crate::operation::Operation;

/// The file that a request is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Its place.
    pub file: u32,
    /// Offsets that are no multiple of it are misaligned; 0 where that makes no sense.
    pub block_bytes: u32,
}

/// A request that is to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// What it was.
    pub operation: Operation,
    /// On which file.
    pub target: Target,
    /// That it moved, or asked for where no more is known.
    pub bytes: u64,
    /// From where, if that is known.
    pub offset: Option<u64>,
    /// How it failed.
    pub error: Option<i32>,
}

/// Who follows a ring: knows the files of the process, reads its memory, and counts.
pub trait Host {
    /// The file of a request.
    fn target(&mut self, subject: Subject) -> Target;
    /// Bytes of so many vectors at an address, where these can be read.
    fn vector_bytes(&mut self, address: u64, count: u32) -> Option<u64>;
    /// A request moves so many bytes from where a file is, which moves on. Where it was.
    fn advance(&mut self, subject: Subject, bytes: u64) -> Option<u64>;
    /// A place of the ring has another file, or none.
    fn register(&mut self, place: u32, file: Option<Target>);
    /// Places of the ring get the files of descriptors at an address.
    fn update(&mut self, first: u32, address: u64, count: u32);
    /// A descriptor is closed. Its file, if that is known.
    fn close(&mut self, descriptor: i32) -> Option<Target>;
    /// Counts a request.
    fn count(&mut self, done: &Done);
}

/// What was seen of a ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests that were handed over.
    pub requests: u64,
    /// Of these, those that could not be read, or of which it is unknown how much they moved.
    pub unread: u64,
    /// Completions that were read.
    pub completions: u64,
    /// Requests that were counted without their completion.
    pub unmatched: u64,
    /// Of `unread`, those that were read: only a completion says how much they moved.
    pub size_unknown: u64,
}

impl Seen {
    /// Adds more.
    pub fn add(&mut self, more: Self) {
        self.requests += more.requests;
        self.unread += more.unread;
        self.completions += more.completions;
        self.unmatched += more.unmatched;
        self.size_unknown += more.size_unknown;
    }
}

/// A ring that is followed.
#[derive(Debug, Clone, Copy)]
pub struct Followed {
    /// Where in its memory what is.
    pub geometry: Geometry,
    next_request: u32,
    next_completion: u32,
    /// Several requests in flight had the same `user_data`: completions say nothing any more.
    is_ambiguous: bool,
    /// Requests in flight that will be counted.
    counted_in_flight: u32,
    /// The last transfer, and its file.
    last: Option<(Operation, u32)>,
}

impl Followed {
    /// A ring, from where it is now.
    pub fn new(geometry: Geometry, memory: &impl Memory) -> Option<Self> {
        Some(Self {
            geometry,
            next_request: geometry.head(memory)?,
            next_completion: geometry.completion_tail(memory)?,
            is_ambiguous: false,
            counted_in_flight: 0,
            last: None,
        })
    }

    /// What a call on the ring is for, while requests are in flight that will be counted: the last transfer, and its file.
    pub fn waits_for(&self) -> Option<(Operation, u32)> {
        self.last.filter(|_| self.counted_in_flight > 0)
    }

    /// Reads the requests that are new, up to where the ring says, or to `announced` where a library will say so within its next
    /// call. Nothing where the memory cannot be read.
    pub fn requests(
        &mut self,
        memory: &impl Memory,
        in_flight: &mut [Entry],
        announced: Option<u32>,
        host: &mut impl Host,
    ) -> Option<Seen> {
        let (head, written) = (self.geometry.head(memory)?, self.geometry.tail(memory)?);
        let entries = self.geometry.entries;
        // As the kernel does, whatever the program says.
        let tail = head.wrapping_add(written.wrapping_sub(head).min(entries));
        let end = announced.filter(|end| end.wrapping_sub(tail) <= entries).unwrap_or(tail);
        let mut seen = Seen::default();
        let new = end.wrapping_sub(self.next_request);
        if is_before(end, self.next_request) || new == 0 {
            return Some(seen);
        }
        seen.requests = new.into();
        let lost = new.saturating_sub(entries);
        seen.unread = lost.into();
        let first = self.next_request.wrapping_add(lost);
        self.next_request = end;
        for step in 0..new - lost {
            let position = first.wrapping_add(step);
            match self.read(memory, position, head, tail) {
                Some(request) => self.begin(request, position, in_flight, host, &mut seen),
                None => seen.unread += 1,
            }
        }
        Some(seen)
    }

    fn read(&self, memory: &impl Memory, position: u32, head: u32, tail: u32) -> Option<Request> {
        let in_order = self.geometry.in_order(position);
        let index = if is_before(position, tail) { self.geometry.ordered(memory, position)? } else { in_order };
        // Once the kernel has taken it, a program that does not go by the order may have written another one there.
        if is_before(position, head) && index != in_order {
            return None;
        }
        self.geometry.request(memory, index).map(Request::of)
    }

    fn begin(
        &mut self,
        request: Request,
        position: u32,
        in_flight: &mut [Entry],
        host: &mut impl Host,
        seen: &mut Seen,
    ) {
        let Request { what, user_data, is_silent } = request;
        let counted = |operation, target: Target| Entry {
            file: target.file,
            block_bytes: target.block_bytes,
            bytes: 0,
            ..Entry::new(Some(operation), user_data, position)
        };
        let other = Entry::new(None, user_data, position);
        let entry = match what {
            What::Transfer { operation, subject, size, offset } => {
                let bytes = match size {
                    Size::Bytes(bytes) => bytes,
                    // Only where no completion will say it: the kernel looks at them without danger, we do not.
                    Size::Vectors { address, count } if self.is_ambiguous || is_silent => {
                        host.vector_bytes(address, count).unwrap_or(UNKNOWN_BYTES)
                    }
                    Size::Vectors { .. } | Size::Unknown => UNKNOWN_BYTES,
                };
                let target = host.target(subject);
                let moves = if bytes == UNKNOWN_BYTES { 0 } else { bytes };
                let offset = offset.or_else(|| host.advance(subject, moves)).unwrap_or(NO_OFFSET);
                self.last = Some((operation, target.file));
                Entry { bytes, offset, ..counted(operation, target) }
            }
            What::Call(operation, subject) => counted(operation, host.target(subject)),
            What::Open { subject, gets } => {
                let target = host.target(subject);
                let entry = counted(Operation::Open, target);
                match gets {
                    Gets::Descriptor => entry,
                    // Already now: requests that are linked to it are on that file.
                    Gets::Place(place) => {
                        host.register(place, Some(target));
                        entry
                    }
                    Gets::AnyPlace => entry.choosing_place(),
                }
            }
            What::Close(descriptor) => match host.close(descriptor) {
                Some(target) => counted(Operation::Close, target),
                None => other,
            },
            What::CloseRegistered(place) => {
                let target = host.target(Subject::Registered(place));
                host.register(place, None);
                counted(Operation::Close, target)
            }
            What::Update { first, address, count } => {
                host.update(first, address, count);
                other
            }
            What::Other => other,
        };
        if self.is_ambiguous || is_silent {
            without_completion(&entry, host, seen);
            return;
        }
        let added = Table::new(in_flight).map_or(Added::Full, |mut table| table.add(entry));
        match added {
            Added::Yes => self.counted_in_flight += u32::from(entry.operation().is_some()),
            Added::Full => without_completion(&entry, host, seen),
            Added::Ambiguous => {
                self.is_ambiguous = true;
                self.counted_in_flight = 0;
                if let Some(mut table) = Table::new(in_flight) {
                    table.drain().for_each(|before| without_completion(&before, host, seen));
                }
                without_completion(&entry, host, seen);
            }
        }
    }

    /// Reads the completions that are new. Nothing where the memory cannot be read.
    pub fn completions(&mut self, memory: &impl Memory, in_flight: &mut [Entry], host: &mut impl Host) -> Option<Seen> {
        let tail = self.geometry.completion_tail(memory)?;
        let mut seen = Seen::default();
        if is_before(tail, self.next_completion) {
            return Some(seen);
        }
        let is_mixed = self.geometry.flags & setup::CQE_MIXED != 0;
        let new = tail.wrapping_sub(self.next_completion);
        let lost = new.saturating_sub(self.geometry.completion_entries);
        // Of different lengths, and it is unknown where the first begins: then none of them is read.
        let mut position = if is_mixed && lost > 0 { tail } else { self.next_completion.wrapping_add(lost) };
        self.next_completion = tail;
        let mut table = Table::new(in_flight)?;
        while is_before(position, tail) {
            let Some([user_data, end]) = self.geometry.completion(memory, position) else { break };
            let (result, flags) = (end as i32, (end >> 32) as u32);
            let is_long = is_mixed && flags & completion::LONG != 0;
            position = position.wrapping_add(if is_long { 2 } else { 1 });
            if flags & completion::SKIP != 0 {
                continue;
            }
            seen.completions += 1;
            let more = flags & completion::MORE != 0;
            if let Some(entry) = table.complete(user_data, more)
                && let Some(operation) = entry.operation()
            {
                self.counted_in_flight = self.counted_in_flight.saturating_sub(u32::from(!more));
                if entry.chooses_place() && result >= 0 {
                    let target = Target { file: entry.file, block_bytes: entry.block_bytes };
                    host.register(result as u32, Some(target));
                }
                let moved = if is_transfer(operation) { result.max(0) as u64 } else { 0 };
                host.count(&Done {
                    bytes: moved,
                    error: (result < 0).then(|| result.wrapping_neg()),
                    ..done(&entry, operation)
                });
            }
        }
        Some(seen)
    }

    /// The ring has other sizes and other memory from now on. Positions in it go on; requests in flight go to the table `into`.
    pub fn resize(
        &mut self,
        geometry: Geometry,
        in_flight: &mut [Entry],
        into: &mut [Entry],
        host: &mut impl Host,
    ) -> Seen {
        let mut seen = Seen::default();
        self.geometry = geometry;
        let Some(mut table) = Table::new(in_flight) else { return seen };
        for entry in table.drain() {
            if Table::new(into).map(|mut table| table.add(entry)) != Some(Added::Yes) {
                self.counted_in_flight = self.counted_in_flight.saturating_sub(u32::from(entry.operation().is_some()));
                without_completion(&entry, host, &mut seen);
            }
        }
        seen
    }

    /// The ring is given up: counts what is still in flight, but not what the kernel has not taken.
    pub fn end(&mut self, memory: &impl Memory, in_flight: &mut [Entry], host: &mut impl Host) -> Option<Seen> {
        let mut seen = Seen::default();
        let head = self.geometry.head(memory)?;
        self.counted_in_flight = 0;
        let mut table = Table::new(in_flight)?;
        // What had completions was counted with each of them.
        let taken = table.drain().filter(|entry| is_before(entry.position, head) && !entry.has_completed());
        taken.for_each(|entry| without_completion(&entry, host, &mut seen));
        Some(seen)
    }
}

/// Counts a request with what it asked for.
fn without_completion(entry: &Entry, host: &mut impl Host, seen: &mut Seen) {
    let Some(operation) = entry.operation() else { return };
    let size_unknown = u64::from(entry.bytes == UNKNOWN_BYTES);
    seen.unmatched += 1;
    seen.unread += size_unknown;
    seen.size_unknown += size_unknown;
    if !entry.has_completed() {
        host.count(&done(entry, operation));
    }
}

fn done(entry: &Entry, operation: Operation) -> Done {
    Done {
        operation,
        target: Target { file: entry.file, block_bytes: entry.block_bytes },
        bytes: if entry.bytes == UNKNOWN_BYTES { 0 } else { entry.bytes },
        offset: (entry.offset != NO_OFFSET).then_some(entry.offset),
        error: None,
    }
}

const fn is_transfer(operation: Operation) -> bool {
    matches!(operation, Operation::SubmitRead | Operation::SubmitWrite)
}

/// Whether a position comes before another one; both wrap around.
const fn is_before(position: u32, other: u32) -> bool {
    (position.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rings::interface::request::{FIXED_FILE, OPEN_AT, READ, READ_VECTORS, SYNC, WRITE};
    use crate::rings::{Area, Mapped, Places, table_entries};
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    const ENTRIES: u32 = 8;
    /// Heads, tails and the array, then the completions.
    const PLACES: Places = Places {
        flags: 0,
        single: true,
        entries: [ENTRIES, 2 * ENTRIES],
        requests: [0, 4, 320],
        completions: [12, 64],
    };

    /// A ring as the program and the kernel see it.
    struct Made {
        rings: Vec<AtomicU64>,
        requests: Vec<AtomicU64>,
        in_flight: Vec<Entry>,
        followed: Followed,
    }

    fn numbers(bytes: usize) -> Vec<AtomicU64> {
        (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect()
    }

    fn memory(geometry: &Geometry, rings: &[AtomicU64], requests: &[AtomicU64]) -> Mapped {
        let of = |numbers: &[AtomicU64], area| (numbers.as_ptr() as usize, geometry.bytes(area));
        // SAFETY: both live as long as the test, and begin at a multiple of 8.
        unsafe {
            Mapped::new([of(rings, Area::RequestRing), of(rings, Area::CompletionRing), of(requests, Area::Requests)])
        }
    }

    impl Made {
        fn new(places: Places) -> Self {
            let geometry = Geometry::new(places).unwrap();
            let rings = numbers(geometry.bytes(Area::RequestRing));
            let requests = numbers(geometry.bytes(Area::Requests));
            let followed = Followed::new(geometry, &memory(&geometry, &rings, &requests)).unwrap();
            Self { rings, requests, in_flight: vec![Entry::FREE; table_entries(geometry.completion_entries)], followed }
        }

        fn memory(&self) -> Mapped {
            memory(&self.followed.geometry, &self.rings, &self.requests)
        }

        fn number(&self, place: usize) -> u32 {
            (self.rings[place / 8].load(Relaxed) >> (place % 8 * 8)) as u32
        }

        fn set(&self, place: usize, number: u32) {
            let (word, shift) = (&self.rings[place / 8], place % 8 * 8);
            let kept = word.load(Relaxed) & !(u64::from(u32::MAX) << shift);
            word.store(kept | u64::from(number) << shift, Relaxed);
        }

        /// The program hands over a request, in the order of the ring.
        fn hand_over(&self, kind: u8, flags: u8, descriptor: i32, length: u32, user_data: u64) {
            let tail = self.number(4);
            let index = tail % ENTRIES;
            let begin = u64::from(kind) | u64::from(flags) << 8 | u64::from(descriptor as u32) << 32;
            for (word, value) in [begin, 4096, 0x1000, length.into(), user_data].into_iter().enumerate() {
                self.requests[index as usize * 8 + word].store(value, Relaxed);
            }
            self.set(320 + index as usize * 4, index);
            self.set(4, tail.wrapping_add(1));
        }

        /// The kernel takes all requests.
        fn take(&self) {
            self.set(0, self.number(4));
        }

        /// The kernel completes a request.
        fn complete(&self, user_data: u64, result: i32, flags: u32) {
            let tail = self.number(12);
            let index = (tail % (2 * ENTRIES)) as usize;
            self.rings[8 + index * 2].store(user_data, Relaxed);
            self.rings[9 + index * 2].store(u64::from(result as u32) | u64::from(flags) << 32, Relaxed);
            self.set(12, tail.wrapping_add(1));
        }

        fn requests(&mut self, counted: &mut Counted) -> Seen {
            let memory = self.memory();
            self.followed.requests(&memory, &mut self.in_flight, None, counted).unwrap()
        }

        fn completions(&mut self, counted: &mut Counted) -> Seen {
            let memory = self.memory();
            self.followed.completions(&memory, &mut self.in_flight, counted).unwrap()
        }

        fn end(&mut self, counted: &mut Counted) -> Seen {
            let memory = self.memory();
            self.followed.end(&memory, &mut self.in_flight, counted).unwrap()
        }
    }

    /// File, bytes and error of what was counted; places that were given files.
    #[derive(Default)]
    struct Counted(Vec<(Operation, u32, u64, Option<i32>)>, Vec<(u32, Option<u32>)>);

    impl Host for Counted {
        fn target(&mut self, subject: Subject) -> Target {
            let file = match subject {
                Subject::Descriptor(descriptor) => descriptor as u32,
                Subject::Registered(place) => 1000 + place,
                Subject::Path(..) => 2000,
            };
            Target { file, block_bytes: 0 }
        }
        fn vector_bytes(&mut self, _: u64, count: u32) -> Option<u64> {
            Some(u64::from(count) * 10)
        }
        fn advance(&mut self, _: Subject, _: u64) -> Option<u64> {
            None
        }
        fn register(&mut self, place: u32, file: Option<Target>) {
            self.1.push((place, file.map(|target| target.file)));
        }
        fn update(&mut self, _: u32, _: u64, _: u32) {}
        fn close(&mut self, _: i32) -> Option<Target> {
            None
        }
        fn count(&mut self, done: &Done) {
            self.0.push((done.operation, done.target.file, done.bytes, done.error));
        }
    }

    use Operation::{SubmitRead, SubmitWrite, Sync};

    #[test]
    fn a_request_is_counted_when_its_completion_is_seen_with_what_it_moved() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        ring.hand_over(READ, 0, 3, 4096, 7);
        ring.hand_over(READ_VECTORS, 0, 3, 2, 8);
        ring.hand_over(WRITE, FIXED_FILE, 1, 8192, 9);
        ring.hand_over(SYNC, 0, 3, 0, 10);
        let seen = ring.requests(&mut counted);
        assert_eq!((seen, counted.0.len()), (Seen { requests: 4, ..Seen::default() }, 0));
        assert_eq!(ring.followed.waits_for(), Some((SubmitWrite, 1001)));
        assert_eq!(ring.requests(&mut counted), Seen::default());
        ring.take();
        for (user_data, result) in [(9, 8192), (7, 100), (8, 12), (10, -5)] {
            ring.complete(user_data, result, 0);
        }
        assert_eq!(ring.completions(&mut counted), Seen { completions: 4, ..Seen::default() });
        let all = [
            (SubmitWrite, 1001, 8192, None),
            (SubmitRead, 3, 100, None),
            (SubmitRead, 3, 12, None),
            (Sync, 3, 0, Some(5)),
        ];
        assert_eq!(counted.0, all);
        assert_eq!(ring.followed.waits_for(), None);
    }

    #[test]
    fn requests_that_were_overwritten_are_known_by_number_alone() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        for user_data in 0..20 {
            ring.hand_over(READ, 0, 3, 4096, user_data);
            ring.take();
        }
        let seen = ring.requests(&mut counted);
        assert_eq!((seen.requests, seen.unread), (20, 20 - u64::from(ENTRIES)));
    }

    #[test]
    fn a_request_that_was_taken_in_another_order_may_be_another_one_by_now() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        ring.hand_over(READ, 0, 3, 4096, 1);
        ring.set(320, 5);
        ring.take();
        assert_eq!(ring.requests(&mut counted), Seen { requests: 1, unread: 1, ..Seen::default() });
    }

    #[test]
    fn where_user_data_is_not_unique_requests_are_counted_with_what_they_asked_for() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        for length in [100, 200, 300] {
            ring.hand_over(READ, 0, 3, length, 0);
        }
        let seen = ring.requests(&mut counted);
        assert_eq!((seen.unmatched, counted.0.iter().map(|(_, _, bytes, _)| bytes).sum::<u64>()), (3, 600));
        ring.take();
        ring.complete(0, 50, 0);
        ring.completions(&mut counted);
        assert_eq!(counted.0.len(), 3);
    }

    #[test]
    fn what_the_kernel_has_not_taken_is_not_counted_at_the_end() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        ring.hand_over(READ, 0, 3, 4096, 1);
        ring.take();
        ring.hand_over(READ, 0, 4, 4096, 2);
        ring.requests(&mut counted);
        assert_eq!(ring.end(&mut counted).unmatched, 1);
        assert_eq!(counted.0, [(SubmitRead, 3, 4096, None)]);
    }

    #[test]
    fn each_completion_of_a_request_with_several_is_counted() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        ring.hand_over(49, 0, 3, 0, 1);
        ring.requests(&mut counted);
        for (result, flags) in [(10, completion::MORE), (20, completion::MORE), (0, 0)] {
            ring.complete(1, result, flags);
        }
        ring.completions(&mut counted);
        assert_eq!(counted.0.iter().map(|(_, _, bytes, _)| *bytes).collect::<Vec<_>>(), [10, 20, 0]);
    }

    #[test]
    fn a_request_with_several_completions_that_goes_on_at_the_end_is_not_counted_once_more() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        ring.hand_over(49, 0, 3, 0, 1);
        ring.hand_over(49, 0, 4, 0, 2);
        ring.requests(&mut counted);
        ring.take();
        ring.complete(1, 10, completion::MORE);
        ring.completions(&mut counted);
        let seen = ring.end(&mut counted);
        assert_eq!((seen.unmatched, seen.unread, seen.size_unknown), (1, 1, 1));
        assert_eq!(counted.0, [(SubmitRead, 3, 10, None), (SubmitRead, 4, 0, None)]);
    }

    #[test]
    fn completions_of_different_lengths_are_not_guessed_at_where_some_were_overwritten() {
        let places = Places { flags: setup::CQE_MIXED, ..PLACES };
        let (mut ring, mut counted) = (Made::new(places), Counted::default());
        ring.hand_over(READ, 0, 3, 100, 7);
        ring.requests(&mut counted);
        ring.take();
        // The second half of long ones may look like anything.
        for _ in 0..=2 * ENTRIES {
            ring.complete(7, 4096, 0);
        }
        assert_eq!((ring.completions(&mut counted), counted.0.len()), (Seen::default(), 0));
        ring.hand_over(READ, 0, 3, 50, 8);
        ring.requests(&mut counted);
        ring.take();
        ring.complete(8, 50, 0);
        assert_eq!(ring.completions(&mut counted).completions, 1);
        ring.end(&mut counted);
        assert_eq!(counted.0, [(SubmitRead, 3, 50, None), (SubmitRead, 3, 100, None)]);
    }

    #[test]
    fn a_ring_that_is_resized_keeps_what_is_in_flight() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        ring.hand_over(READ, 0, 3, 4096, 7);
        ring.requests(&mut counted);
        ring.take();
        let larger = Made::new(Places { entries: [ENTRIES, 128], requests: [0, 4, 0], ..PLACES });
        let geometry = larger.followed.geometry;
        assert_eq!(geometry.bytes(Area::RequestRing), 64 + 128 * 16 + ENTRIES as usize * 4);
        let mut into = vec![Entry::FREE; table_entries(128)];
        let seen = ring.followed.resize(geometry, &mut ring.in_flight, &mut into, &mut counted);
        assert_eq!(seen, Seen::default());
        let mut ring = Made { followed: ring.followed, in_flight: into, ..larger };
        // The kernel copies heads and tails.
        ring.set(0, 1);
        ring.set(4, 1);
        ring.complete(7, 100, 0);
        ring.completions(&mut counted);
        assert_eq!(counted.0, [(SubmitRead, 3, 100, None)]);
    }

    #[test]
    fn a_file_opened_in_a_place_that_the_kernel_chooses_is_registered_there() {
        let (mut ring, mut counted) = (Made::new(PLACES), Counted::default());
        let mut words = [0; 8];
        (words[0], words[4], words[5]) = (u64::from(OPEN_AT), 1, u64::from(u32::MAX) << 32);
        let mut seen = Seen::default();
        ring.followed.begin(Request::of(words), 0, &mut ring.in_flight, &mut counted, &mut seen);
        assert_eq!(counted.1, []);
        ring.complete(1, 6, 0);
        ring.completions(&mut counted);
        assert_eq!((counted.0, counted.1), (vec![(Operation::Open, 2000, 0, None)], vec![(6, Some(2000))]));
    }

    /// Nothing outside of the memory is read, which this sees.
    struct Within(Mapped, Geometry);

    impl Memory for Within {
        fn word(&self, area: Area, place: usize) -> Option<u32> {
            let value = self.0.word(area, place);
            assert!(value.is_none() || place + 4 <= self.1.bytes(area));
            value
        }
        fn words(&self, area: Area, place: usize, into: &mut [u64]) -> bool {
            let is_there = self.0.words(area, place, into);
            assert!(!is_there || place + size_of_val(into) <= self.1.bytes(area));
            is_there
        }
    }

    proptest! {
        #[test]
        fn any_memory_can_be_read(
            flags in any::<u32>(),
            single in any::<bool>(),
            entries in prop::array::uniform2(0..20_u32),
            requests in prop::array::uniform3(0..400_u32),
            completions in prop::array::uniform2(0..400_u32),
            bytes in prop::collection::vec(any::<u64>(), 64),
            announced in any::<u32>(),
            times in 1..4_usize,
        ) {
            // Mostly of kinds that are known.
            let known = [0, setup::SQE128, setup::CQE32, setup::CQE_MIXED, setup::NO_SQARRAY, flags];
            let flags = known[flags as usize % known.len()];
            let [requests, completions] = [requests.map(|place| place / 4 * 4).to_vec(), completions.map(|place| place / 8 * 8).to_vec()];
            let entries = entries.map(|power| 1 << (power % 6));
            let places = Places {
                flags, single, entries,
                requests: [requests[0], requests[1], requests[2]],
                completions: [completions[0], completions[1]],
            };
            let Ok(geometry) = Geometry::new(places) else { return Ok(()) };
            let fill = |length: usize| -> Vec<AtomicU64> {
                (0..length.div_ceil(8)).map(|index| AtomicU64::new(bytes[index % bytes.len()])).collect()
            };
            let rings = fill(geometry.bytes(Area::RequestRing).max(geometry.bytes(Area::CompletionRing)));
            let of_requests = fill(geometry.bytes(Area::Requests));
            let memory = Within(memory(&geometry, &rings, &of_requests), geometry);
            let mut in_flight = vec![Entry::FREE; table_entries(entries[1])];
            let mut counted = Counted::default();
            let Some(mut ring) = Followed::new(geometry, &memory) else { return Ok(()) };
            for time in 0..times {
                for (index, word) in rings.iter().enumerate() {
                    word.store(bytes[(index + time) % bytes.len()], Relaxed);
                }
                let seen = ring.requests(&memory, &mut in_flight, Some(announced), &mut counted);
                prop_assert!(seen.is_none_or(|seen| seen.unread <= seen.requests + seen.unmatched));
                ring.completions(&memory, &mut in_flight, &mut counted);
            }
            ring.end(&memory, &mut in_flight, &mut counted);
        }
    }
}
