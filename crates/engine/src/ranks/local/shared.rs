//! What the ranks of a node have in common: one piece of memory, made before any of them looks into it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::RankRange;
use ioassay_shm::barrier::Barrier;
use ioassay_shm::first_text::{FirstText, Kept};
use ioassay_shm::futex;
use ioassay_shm::gate::Gate;
use ioassay_shm::memory::Memory;

use super::leader_channel::LeaderChannel;
use crate::failure;
use crate::measure::recorder::LiveCounters;
use crate::plan::MOST_JOBS;
use crate::ranks::Stopped;

/// Room for a failure as JSON. Paths have at most 4096 bytes and occur twice, in the path and in the message.
const FAILURE_BYTES: usize = 32 * 1024;

/// Longer than a process that is still there takes to write a failure down.
const WRITING_TAKES: Duration = Duration::from_millis(500);

/// No more I/O.
pub const STOP: u32 = 1;

/// No I/O until the run is resumed.
pub const SUSPEND: u32 = 2;

/// What all ranks share. Only atomics, and the failure that the first one to fail writes alone. All zero is
/// the valid beginning of every field, as the kernel gives it.
#[repr(C, align(64))]
pub struct Header {
    /// Why ranks do no I/O, if they do none: [`STOP`], [`SUSPEND`] or both. What a rank asks before each operation.
    pub halt: AtomicU32,
    /// When they were suspended; 0 while they are not.
    pub suspended_since_ns: AtomicU64,
    /// Not all ranks will come.
    pub abandoned: AtomicBool,
    /// The running step, for those who watch.
    pub step: AtomicU32,
    /// When it began.
    pub step_since_ns: AtomicU64,
    /// How long it may take; 0: as long as it takes.
    pub step_limit_ns: AtomicU64,
    /// Before a phase: closed by a stop.
    pub start: Barrier,
    /// Between waking up and starting.
    pub gate: Gate,
    /// After a phase: outlasts a stop.
    pub meeting: Barrier,
    /// What the ranks of each job of the running phase share.
    pub jobs: [SharedJob; MOST_JOBS],
    /// Words between the node's ranks and its leader, who speaks for them with other nodes.
    pub leader_channel: LeaderChannel,
    /// Why they stop, as JSON.
    failure: FirstText<FAILURE_BYTES>,
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
    /// Ranks of this node that came to ask, where some are on other nodes.
    asked: AtomicU32,
    /// 1 when the last of them has come, until the leader says so.
    all_asked: AtomicU32,
    /// 1 when the other nodes agree.
    agreed: AtomicU32,
    /// Which ranks do the job, where some are on other nodes: the first of them, and how many.
    members: [AtomicU32; 2],
}

impl SharedJob {
    /// Forgets the last phase. The barrier needs no reset: it counts generations.
    pub fn reset(&self) {
        self.first_finished_ns.store(0, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
        let words = [&self.asked, &self.all_asked, &self.agreed, &self.members[0], &self.members[1]];
        words.into_iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The ranks that do it are on several nodes.
    pub fn goes_beyond(&self, members: RankRange) {
        self.members[0].store(members.first, Ordering::SeqCst);
        self.members[1].store(members.count, Ordering::SeqCst);
    }

    /// The ranks that do it, if some are on other nodes.
    pub fn members(&self) -> Option<RankRange> {
        let [first, count] = [&self.members[0], &self.members[1]].map(|word| word.load(Ordering::SeqCst));
        (count > 0).then_some(RankRange { first, count })
    }

    /// Comes to agree on the most with the ranks of all nodes, as one of `here` on this node. `ring` tells the leader.
    pub fn agree_beyond(
        &self,
        here: u32,
        value: u64,
        ring: impl Fn(),
        give_up: impl Fn() -> bool,
    ) -> Result<u64, Stopped> {
        self.most.fetch_max(value, Ordering::SeqCst);
        if self.asked.fetch_add(1, Ordering::SeqCst) + 1 == here {
            self.all_asked.store(1, Ordering::SeqCst);
            ring();
        }
        while self.agreed.load(Ordering::SeqCst) == 0 {
            if give_up() {
                return Err(Stopped);
            }
            futex::wait(&self.agreed, 0);
        }
        Ok(self.most.load(Ordering::SeqCst))
    }

    /// The most of this node and how many ranks that is of, once when the last of them has come.
    pub fn take_asked(&self) -> Option<(u64, u32)> {
        let all = self.all_asked.swap(0, Ordering::SeqCst) == 1;
        all.then(|| (self.most.load(Ordering::SeqCst), self.asked.load(Ordering::SeqCst)))
    }

    /// The most of all nodes.
    pub fn agree(&self, most: u64) {
        self.most.store(most, Ordering::SeqCst);
        self.agreed.store(1, Ordering::SeqCst);
        futex::wake_all(&self.agreed);
    }
}

/// The mapping: a header, then one line per rank. Made to be used from several processes at once: atomics, and a failure
/// that is written by one and read after it says so.
#[derive(Debug)]
pub struct Shared {
    memory: Memory,
    ranks: usize,
}

impl Shared {
    /// How much memory it takes.
    pub fn bytes(ranks: u32) -> usize {
        size_of::<Header>() + ranks as usize * size_of::<LiveCounters>()
    }

    /// In `memory`, which has [`Shared::bytes`] for these ranks.
    pub fn new(memory: Memory, ranks: u32) -> Self {
        Self { memory, ranks: ranks as usize }
    }

    /// What all ranks share.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned, zeroed, large enough, lives as long as `self`, and is only
        // changed through atomics (and the first failure, which guards itself).
        unsafe { self.memory.start::<Header>().as_ref() }
    }

    /// What each rank shows, by rank.
    #[inline(always)]
    pub fn ranks(&self) -> &[LiveCounters] {
        // SAFETY: as above; the lines begin behind the header, whose size is a multiple of their alignment.
        unsafe {
            let first = self.memory.start::<Header>().as_ptr().add(1).cast::<LiveCounters>();
            std::slice::from_raw_parts(first, self.ranks)
        }
    }

    /// Keeps `failure` if it is the first one. There is one when this returns, so that the reason is known to the
    /// process that stops the ranks next.
    pub fn set_failure(&self, failure: &Failure) {
        let begin = Instant::now();
        self.header().failure.keep(&failure_text(failure), || {
            std::thread::sleep(Duration::from_millis(1));
            begin.elapsed() > WRITING_TAKES
        });
    }

    /// Forgets a case that has ended, for the next one. Nobody may be waiting for anything.
    pub fn reset(&self) {
        let header = self.header();
        header.halt.fetch_and(!STOP, Ordering::SeqCst);
        header.abandoned.store(false, Ordering::SeqCst);
        header.step_since_ns.store(0, Ordering::SeqCst);
        header.step_limit_ns.store(0, Ordering::SeqCst);
        [&header.start, &header.meeting].into_iter().for_each(Barrier::reset);
        header.gate.reset();
        header.jobs.iter().for_each(|job| job.agreement.reset());
        header.failure.reset();
    }

    /// The first failure, once it is written in full.
    pub fn failure(&self) -> Option<Failure> {
        match self.header().failure.kept()? {
            Kept::Text(text) => serde_json::from_slice(&text).ok(),
            Kept::Lost => Some(failure::plain("run", UNTOLD_MESSAGE.to_owned(), UNTOLD_REMEDY)),
        }
    }
}

const UNTOLD_MESSAGE: &str = "a rank failed, and was killed before it could report why";
const UNTOLD_REMEDY: &str = "read the kernel log (dmesg), then run again";

/// `failure` as JSON that there is room for: where names are of bytes that JSON writes with six letters each, all is cut.
fn failure_text(failure: &Failure) -> Vec<u8> {
    let text = |failure: &Failure| serde_json::to_vec(failure).expect("our own types are JSON");
    let whole = text(failure);
    if whole.len() <= FAILURE_BYTES {
        return whole;
    }
    let cut = |long: &str| long.chars().take(FAILURE_BYTES / 64).collect::<String>();
    text(&Failure {
        phase: failure.phase.as_deref().map(cut),
        operation: cut(&failure.operation),
        path: failure.path.as_deref().map(cut),
        message: cut(&failure.message),
        remedy: cut(&failure.remedy),
        ..failure.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_kept_and_later_ones_are_not() {
        let shared = Shared::new(Memory::inherited(Shared::bytes(2)).unwrap(), 2);
        assert_eq!(shared.failure(), None);
        let failure = |rank| Failure { rank: Some(rank), message: "full".into(), ..Failure::default() };
        shared.set_failure(&failure(1));
        shared.set_failure(&failure(0));
        assert_eq!(shared.failure(), Some(failure(1)));
    }

    #[test]
    fn whoever_fails_second_returns_when_the_first_failure_can_be_read() {
        // Miri takes its time.
        for _ in 0..if cfg!(miri) { 2 } else { 100 } {
            let shared = Shared::new(Memory::inherited(Shared::bytes(4)).unwrap(), 4);
            std::thread::scope(|scope| {
                for rank in 0..4 {
                    let shared = &shared;
                    scope.spawn(move || {
                        shared.set_failure(&Failure { rank: Some(rank), ..Failure::default() });
                        assert!(shared.failure().is_some());
                    });
                }
            });
        }
    }

    #[test]
    fn a_failure_whose_writer_was_killed_is_one_all_the_same() {
        let shared = Shared::new(Memory::inherited(Shared::bytes(1)).unwrap(), 1);
        assert!(shared.header().failure.begin_writing());
        assert_eq!(shared.failure(), None);
        shared.set_failure(&Failure::default());
        assert_eq!(shared.failure().unwrap().message, UNTOLD_MESSAGE);
    }

    #[test]
    fn a_failure_of_the_longest_names_of_the_worst_bytes_is_kept() {
        let shared = Shared::new(Memory::inherited(Shared::bytes(1)).unwrap(), 1);
        let long = "\u{1}".repeat(4096);
        let message = format!("write {long}: No space left on device (ENOSPC)");
        shared.set_failure(&Failure {
            rank: Some(3),
            phase: Some(long.clone()),
            operation: long.clone(),
            path: Some(long.clone()),
            remedy: long,
            message,
            ..Failure::default()
        });
        let kept = shared.failure().unwrap();
        assert_eq!(kept.rank, Some(3));
        assert!(kept.message.starts_with("write \u{1}"));
    }
}
