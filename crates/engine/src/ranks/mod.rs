//! How ranks meet: barrier, gather, agree to stop.
//!
//! Not here: what a phase means. [`local`] forks ranks that meet in shared memory; other ways to have ranks
//! implement [`Ranks`] and nothing else.

pub mod clocks;
pub mod local;
pub mod messages;
pub mod nodes;
pub mod seating;

use ioassay_protocol::events::{Done, Failure};
use ioassay_protocol::plan::RankRange;
use ioassay_shm::barrier::Closed;
pub use ioassay_shm::gate::Start;

use self::clocks::Reading;
use crate::measure::recorder::{LANES, LiveCounters};

/// The case is over for this rank: another one failed, a signal came, or a rank died. Who knows why has said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl From<Closed> for Stopped {
    fn from(_: Closed) -> Self {
        Self
    }
}

/// When the first rank of a job crossed the finish line, and what each of them had done by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstFinished {
    /// When, on the node's time line.
    pub at_ns: u64,
    /// What each rank of its job on the node had done by then, by lane; ascending.
    pub done: Vec<[Done; LANES]>,
}

impl FirstFinished {
    /// What all of them had done in `lane`.
    pub fn all(&self, lane: usize) -> Done {
        let sum = |count: fn(&Done) -> u64| self.done.iter().map(|lanes| count(&lanes[lane])).sum();
        Done { bytes: sum(|done| done.bytes), operations: sum(|done| done.operations) }
    }
}

/// One rank among the others. Every rank makes the same calls in the same order.
pub trait Ranks {
    /// This rank, from 0.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// Waits until all ranks begin step `step`, which may take `limit_ns`, or none does: the place where a stop takes effect
    /// for all. After a step in which ranks agreed or shared work they must have met since, as a gather has them do.
    fn begin_step(&self, step: u32, limit_ns: Option<u64>) -> Result<(), Stopped>;

    /// Compares the clocks of all nodes with the first one's. On rank 0 what each node found, in the order of nodes; where
    /// all ranks share a clock nothing.
    fn compare_clocks(&self) -> Result<Vec<Reading>, Stopped>;

    /// Waits for all ranks, then lets them go together into a timed phase.
    fn start_together(&self) -> Result<Start, Stopped>;

    /// Waits for all ranks in the middle of a phase.
    fn wait_for_all(&self) -> Result<(), Stopped>;

    /// What this rank shows of a running phase.
    fn counters(&self) -> &LiveCounters;

    /// True as soon as any rank must do no more I/O. Cheap enough to ask before every operation.
    fn must_stop(&self) -> bool;

    /// Tells all ranks to stop, because of `failure`. The first failure is kept, later ones are its consequence.
    fn fail(&self, failure: &Failure);

    /// The failure that stopped the ranks, if it was one.
    fn failure(&self) -> Option<Failure>;

    /// This rank has finished its work in job `job` of the phase, which `members` do, at `now_ns`.
    fn cross_finish_line(&self, job: usize, members: RankRange, now_ns: u64);

    /// What those of the `members` of `job` that are on this rank's node had done when the first of these crossed its finish
    /// line, in the order of ranks. Valid in the `pack` of a gather that follows the phase.
    fn first_finished(&self, job: usize, members: RankRange) -> Option<FirstFinished>;

    /// The largest `value` of the `members` of `job`, once all of them have come to ask. Once per phase and job.
    fn agree_on_most(&self, job: usize, members: RankRange, value: u64) -> Result<u64, Stopped>;

    /// True if the list of work that the `members` of `job` share runs short: who has work to spare should share it.
    /// Cheap enough to ask now and then in a hot loop.
    fn wants_work(&self, job: usize, members: RankRange) -> bool;

    /// Offers a piece of work to other ranks. False if there is no room for it: then its owner keeps it.
    fn share_work(&self, job: usize, piece: &[u8]) -> bool;

    /// Takes a piece of work into `piece`, waiting while other members may still share some. False when there is none
    /// left and none to come, because all `members` have come to take some.
    fn take_work(&self, job: usize, members: RankRange, piece: &mut Vec<u8>) -> Result<bool, Stopped>;

    /// Brings every rank's bytes to rank 0; the other ranks get `None`. Also a barrier. Works after a stop as well, so that
    /// what was measured until then is kept. What the ranks of a node say, ascending, `pack` makes one message of, before it
    /// travels; rank 0 gets the messages of all nodes, ascending.
    fn gather(
        &self,
        bytes: &[u8],
        pack: &mut dyn FnMut(Vec<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Option<Vec<Vec<u8>>>, Stopped>;

    /// Brings rank 0's bytes to every rank; what the others pass is ignored. Also a barrier.
    fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, Stopped>;
}
