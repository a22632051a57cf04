//! The memory in which local ranks meet: one anonymous shared mapping, made before they are forked.

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use ioassay_contract::events::Failure;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::barrier::{Barrier, Gate};
use crate::measure::recorder::Shown;
use crate::ranks::MOST_JOBS;

/// Room for a failure as JSON. Paths have at most 4096 bytes and occur twice, in the path and in the message.
const FAILURE_BYTES: usize = 32 * 1024;

/// What all ranks share. Only atomics, and the failure that the first one to fail writes alone. All zero is
/// the valid beginning of every field, as the kernel gives it.
#[repr(C, align(64))]
pub struct Header {
    /// No more I/O.
    pub stop: AtomicBool,
    /// Not all ranks will come.
    pub abandoned: AtomicBool,
    /// The running step, for those who watch.
    pub step: AtomicU32,
    /// When it began.
    pub step_since_ns: AtomicU64,
    /// Before a phase: closed by a stop.
    pub start: Barrier,
    /// Between waking up and starting.
    pub gate: Gate,
    /// After a phase: outlasts a stop.
    pub meeting: Barrier,
    /// What the ranks of each job of the running phase share.
    pub jobs: [SharedJob; MOST_JOBS],
    /// 0: no failure; 1: one is being written; 2: one is there.
    failure_state: AtomicU32,
    failure_bytes: AtomicU32,
    failure: std::cell::UnsafeCell<[u8; FAILURE_BYTES]>,
}

/// What the ranks of one job share during a phase.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SharedJob {
    /// When the first rank crossed the finish line; 0 while nobody has.
    pub first_finished_ns: AtomicU64,
    /// Where ranks meet to agree on the most that one has done.
    pub agreement: Barrier,
    /// That most.
    pub most: AtomicU64,
}

impl SharedJob {
    /// Forgets the last phase. The barrier needs no reset: it counts generations.
    pub fn reset(&self) {
        self.first_finished_ns.store(0, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }
}

const NONE: u32 = 0;
const WRITING: u32 = 1;
const THERE: u32 = 2;

/// The mapping: a header, then one line per rank.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<std::ffi::c_void>,
    length: NonZeroUsize,
    ranks: usize,
}

// SAFETY: the memory is made to be used from several processes at once, which is harder than several threads:
// atomics, and a failure that is written by one and read after it says so.
unsafe impl Sync for Shared {}

impl Shared {
    /// Memory for `ranks` ranks.
    pub fn new(ranks: u32) -> io::Result<Self> {
        let bytes = size_of::<Header>() + ranks as usize * size_of::<Shown>();
        let length = NonZeroUsize::new(bytes).expect("the header is not empty");
        // SAFETY: a new mapping of our own, so nothing that exists is overwritten.
        let start = unsafe {
            mmap_anonymous(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED)
        }?;
        Ok(Self { start, length, ranks: ranks as usize })
    }

    /// What all ranks share.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned, zeroed, large enough, lives as long as `self`, and is only
        // changed through atomics (and the guarded failure).
        unsafe { self.start.cast::<Header>().as_ref() }
    }

    /// What each rank shows, by rank.
    #[inline(always)]
    pub fn ranks(&self) -> &[Shown] {
        // SAFETY: as above; the lines begin behind the header, whose size is a multiple of their alignment.
        unsafe {
            let first = self.start.cast::<Header>().as_ptr().add(1).cast::<Shown>();
            std::slice::from_raw_parts(first, self.ranks)
        }
    }

    /// Keeps `failure` if it is the first one.
    pub fn set_failure(&self, failure: &Failure) {
        let header = self.header();
        if header.failure_state.compare_exchange(NONE, WRITING, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return;
        }
        let Ok(text) = serde_json::to_vec(failure) else {
            return;
        };
        if text.len() > FAILURE_BYTES {
            return;
        }
        // SAFETY: the state WRITING belongs to this rank alone, and nobody reads before THERE.
        unsafe { header.failure.get().cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        header.failure_bytes.store(text.len() as u32, Ordering::SeqCst);
        header.failure_state.store(THERE, Ordering::SeqCst);
    }

    /// The first failure, once it is written in full.
    pub fn failure(&self) -> Option<Failure> {
        let header = self.header();
        if header.failure_state.load(Ordering::SeqCst) != THERE {
            return None;
        }
        let length = header.failure_bytes.load(Ordering::SeqCst) as usize;
        // SAFETY: in the state THERE nobody writes any more, and `length` bytes were written.
        let text = unsafe { std::slice::from_raw_parts(header.failure.get().cast::<u8>(), length) };
        serde_json::from_slice(text).ok()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no reference to it outlives `self`.
        let _ = unsafe { munmap(self.start, self.length.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_kept_and_later_ones_are_not() {
        let shared = Shared::new(2).unwrap();
        assert_eq!(shared.failure(), None);
        let failure = |rank| Failure { rank: Some(rank), message: "full".into(), ..Failure::default() };
        shared.set_failure(&failure(1));
        shared.set_failure(&failure(0));
        assert_eq!(shared.failure(), Some(failure(1)));
    }
}
