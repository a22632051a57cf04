//! Where in a ring's memory things are, and reading it.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed},
};

use super::interface::{Parameters, SINGLE_MMAP, setup};

/// The kernel allows no more.
const MOST_REQUESTS: u32 = 1 << 15;
const MOST_COMPLETIONS: u32 = 1 << 16;
/// Heads and tails are in the first page, arrays behind them.
const FURTHEST: u32 = 1 << 20;

const REQUEST_BYTES: u32 = 64;
const COMPLETION_BYTES: u32 = 16;
const CACHE_LINE_BYTES: u32 = 64;

/// A part of a ring's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// Head, tail and order of requests.
    RequestRing = 0,
    /// Head and tail of completions, and these.
    CompletionRing = 1,
    /// The requests.
    Requests = 2,
}

impl Area {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RequestRing, Self::CompletionRing, Self::Requests];

    /// Where the descriptor of a ring has it.
    pub const fn map_offset(self) -> u64 {
        match self {
            Self::RequestRing => 0,
            Self::CompletionRing => 0x0800_0000,
            Self::Requests => 0x1000_0000,
        }
    }
}

/// Why requests of a ring cannot be read.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Nobody saw how it was set up: by another process, or without a call of the C library.
    SetUpUnseen = 1,
    /// It is of a kind that is not known.
    Kind = 2,
    /// Its memory could not be mapped.
    Memory = 3,
    /// There were too many rings.
    TooMany = 4,
}

/// Where what is in a ring's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// [`setup`].
    pub flags: u32,
    /// Of the ring of requests: a power of two.
    pub entries: u32,
    /// Of the ring of completions: a power of two.
    pub completion_entries: u32,
    /// Both rings are in one map.
    pub single: bool,
    head: u32,
    tail: u32,
    array: Option<u32>,
    completion_tail: u32,
    completions: u32,
}

/// Where a ring has what, not yet checked.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// [`setup`].
    pub flags: u32,
    /// Both rings are in one map.
    pub single: bool,
    /// Requests, completions.
    pub entries: [u32; 2],
    /// Of requests: head, tail, array.
    pub requests: [u32; 3],
    /// Of completions: tail, the completions.
    pub completions: [u32; 2],
}

impl Geometry {
    /// What `io_uring_setup` says.
    ///
    /// # Errors
    /// If it is of no kind that is known.
    pub fn of(parameters: &Parameters) -> Result<Self, Unreadable> {
        let [head, tail, _, _, _, _, array, _] = parameters.request_offsets;
        let [_, completion_tail, _, _, _, completions, _, _] = parameters.completion_offsets;
        Self::new(Places {
            flags: parameters.flags,
            single: parameters.features & SINGLE_MMAP != 0,
            entries: [parameters.request_entries, parameters.completion_entries],
            requests: [head, tail, array],
            completions: [completion_tail, completions],
        })
    }

    /// The ring once `io_uring_register` has given it other sizes. It says less then: not how the ring was set up.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn resized(&self, parameters: &Parameters) -> Result<Self, Unreadable> {
        let features = if self.single { SINGLE_MMAP } else { 0 };
        Self::of(&Parameters { flags: self.flags, features, ..*parameters })
    }

    /// A ring with these places.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn new(places: Places) -> Result<Self, Unreadable> {
        let Places { flags, single, entries: [entries, completion_entries], requests, completions } = places;
        let [head, tail, array] = requests;
        let [completion_tail, completions] = completions;
        let array = (flags & setup::NO_SQARRAY == 0).then_some(array);
        let places = [head, tail, array.unwrap_or(0), completion_tail, completions];
        let can_be = flags & !setup::KNOWN == 0
            && entries.is_power_of_two()
            && entries <= MOST_REQUESTS
            && completion_entries.is_power_of_two()
            && completion_entries <= MOST_COMPLETIONS
            && places.iter().all(|place| place.is_multiple_of(4) && *place <= FURTHEST)
            && completions.is_multiple_of(8)
            && (single || array.is_some());
        let mut ring =
            Self { flags, entries, completion_entries, single, head, tail, array, completion_tail, completions };
        if can_be && single && array == Some(0) {
            // Linux 6.18 does not say it of rings that were resized: it is behind the completions, in the next cache line.
            ring.array = Some(ring.end_of_completions().next_multiple_of(CACHE_LINE_BYTES));
        }
        let has = |area, place: u32| place as usize + 4 <= ring.bytes(area);
        let is_within = can_be
            && [head, tail].iter().all(|&place| has(Area::RequestRing, place))
            && has(Area::CompletionRing, completion_tail);
        if is_within { Ok(ring) } else { Err(Unreadable::Kind) }
    }

    /// How long a part of it is.
    pub fn bytes(&self, area: Area) -> usize {
        let requests = self.array.map_or(0, |array| array + self.entries * 4);
        let completions = self.end_of_completions();
        let bytes = match area {
            Area::Requests => self.entries * self.request_bytes(),
            _ if self.single => requests.max(completions),
            Area::RequestRing => requests,
            Area::CompletionRing => completions,
        };
        bytes as usize
    }

    fn end_of_completions(&self) -> u32 {
        self.completions + self.completion_entries * self.completion_bytes()
    }

    fn request_bytes(&self) -> u32 {
        if self.flags & setup::SQE128 == 0 { REQUEST_BYTES } else { 2 * REQUEST_BYTES }
    }

    fn completion_bytes(&self) -> u32 {
        if self.flags & setup::CQE32 == 0 { COMPLETION_BYTES } else { 2 * COMPLETION_BYTES }
    }

    /// Up to where the kernel has taken requests.
    pub fn head(&self, memory: &impl Memory) -> Option<u32> {
        memory.word(Area::RequestRing, self.head as usize)
    }

    /// Up to where the program has handed over requests.
    pub fn tail(&self, memory: &impl Memory) -> Option<u32> {
        memory.word(Area::RequestRing, self.tail as usize)
    }

    /// Up to where the kernel has put completions.
    pub fn completion_tail(&self, memory: &impl Memory) -> Option<u32> {
        memory.word(Area::CompletionRing, self.completion_tail as usize)
    }

    /// The request that the array has at a position, by index.
    pub fn ordered(&self, memory: &impl Memory, position: u32) -> Option<u32> {
        match self.array {
            Some(array) => memory.word(Area::RequestRing, (array + self.in_order(position) * 4) as usize),
            None => Some(self.in_order(position)),
        }
    }

    /// The request that a position has where the program uses them one after another.
    pub fn in_order(&self, position: u32) -> u32 {
        position & (self.entries - 1)
    }

    /// The words of a request.
    pub fn request(&self, memory: &impl Memory, index: u32) -> Option<[u64; 8]> {
        let mut words = [0; 8];
        let is_there = index < self.entries
            && memory.words(Area::Requests, index as usize * self.request_bytes() as usize, &mut words);
        is_there.then_some(words)
    }

    /// The words of a completion.
    pub fn completion(&self, memory: &impl Memory, position: u32) -> Option<[u64; 2]> {
        let index = position & (self.completion_entries - 1);
        let mut words = [0; 2];
        let place = self.completions + index * self.completion_bytes();
        memory.words(Area::CompletionRing, place as usize, &mut words).then_some(words)
    }
}

/// The memory of a ring.
pub trait Memory {
    /// A number. Nothing where there is none.
    fn word(&self, area: Area, place: usize) -> Option<u32>;
    /// Fills `into`. Whether all of it is there.
    fn words(&self, area: Area, place: usize, into: &mut [u64]) -> bool;
}

/// Memory that is mapped here.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mapped {
    areas: [(usize, usize); Area::ALL.len()],
}

impl Mapped {
    /// Memory at these addresses, of so many bytes each.
    ///
    /// # Safety
    /// It is there as long as this is used, and begins at multiples of 8.
    pub const unsafe fn new(areas: [(usize, usize); Area::ALL.len()]) -> Self {
        Self { areas }
    }

    /// Where it is, and how long.
    pub fn areas(&self) -> [(usize, usize); Area::ALL.len()] {
        self.areas
    }

    #[inline(always)]
    fn address(&self, area: Area, place: usize, bytes: usize) -> Option<usize> {
        let (address, length) = self.areas[area as usize];
        (place.checked_add(bytes)? <= length).then(|| address + place)
    }
}

impl Memory for Mapped {
    #[inline(always)]
    fn word(&self, area: Area, place: usize) -> Option<u32> {
        let address = self.address(area, place, 4).filter(|address| address.is_multiple_of(4))?;
        // SAFETY: it is within the memory, and as a number must be.
        Some(unsafe { &*(address as *const AtomicU32) }.load(Acquire))
    }

    #[inline(always)]
    fn words(&self, area: Area, place: usize, into: &mut [u64]) -> bool {
        let address = self.address(area, place, size_of_val(into)).filter(|address| address.is_multiple_of(8));
        let Some(address) = address else { return false };
        for (index, word) in into.iter_mut().enumerate() {
            // SAFETY: as above.
            *word = unsafe { &*((address + index * 8) as *const AtomicU64) }.load(Relaxed);
        }
        true
    }
}
