//! `local` ranks: processes forked by the engine that meet in shared memory. Nothing to install, nothing listens.
//!
//! [`shared`] is that memory, [`barrier`] how they wait in it, [`exchange`] how bytes of any length travel,
//! [`work_list`] how those who have work to spare give it to those who have none.
//! Starting and watching the processes is the business of [`crate::supervise`].

mod barrier;
mod exchange;
mod shared;
mod work_list;

use std::io;
use std::sync::atomic::Ordering;

use ioassay_contract::events::{Done, Failure};
use ioassay_contract::plan::RankRange;

use self::barrier::Crowd;
use self::exchange::Exchange;
use self::shared::{Shared, SharedJob};
use self::work_list::WorkLists;
use super::{FirstFinished, Ranks, Start, Stopped};
use crate::environment;
use crate::measure::clock::Clock;
use crate::measure::recorder::{LANES, Shown};

/// The meeting place, made before the ranks are forked. Its maker watches and stops the ranks through it.
#[derive(Debug)]
pub struct MeetingPlace {
    shared: Shared,
    exchange: Exchange,
    work: WorkLists,
    clock: Clock,
    crowd: Crowd,
}

impl MeetingPlace {
    /// A meeting place for `size` ranks that share `clock`'s time line.
    pub fn new(size: u32, clock: Clock) -> io::Result<Self> {
        let crowd = Crowd { ranks: size, processors: environment::processors() };
        let work = WorkLists::new()?;
        Ok(Self { shared: Shared::new(size)?, exchange: Exchange::new()?, work, clock, crowd })
    }

    /// How large files must be allowed to be for `size` ranks to meet.
    pub fn file_bytes(size: u32) -> u64 {
        Exchange::largest_bytes(size)
    }

    /// The same place as `rank` sees it.
    pub fn rank(&self, rank: u32) -> LocalRank<'_> {
        LocalRank { place: self, rank }
    }

    /// Tells all ranks to do no more I/O and to come to an end.
    pub fn stop(&self) {
        self.shared.header().stop.store(true, Ordering::SeqCst);
    }

    /// Tells all ranks that not all of them will come: nobody may wait for the others any more.
    pub fn abandon(&self) {
        self.stop();
        self.shared.header().abandoned.store(true, Ordering::SeqCst);
    }

    /// True if the ranks were told to stop.
    pub fn stopping(&self) -> bool {
        self.shared.header().stop.load(Ordering::SeqCst)
    }

    /// True if the ranks were told not to wait for each other.
    pub fn abandoned(&self) -> bool {
        self.shared.header().abandoned.load(Ordering::SeqCst)
    }

    /// The failure that stopped the ranks, if it was one.
    pub fn failure(&self) -> Option<Failure> {
        self.shared.failure()
    }

    /// The running step, with the bytes and operations of all ranks so far.
    pub fn watch(&self) -> Watched {
        let header = self.shared.header();
        Watched {
            step: header.step.load(Ordering::Relaxed),
            since_ns: header.step_since_ns.load(Ordering::Relaxed),
            done: std::array::from_fn(|lane| done_by(self.shared.ranks(), lane)),
        }
    }
}

/// What these ranks have done so far in one lane.
fn done_by(ranks: &[Shown], lane: usize) -> Done {
    ranks.iter().map(|rank| rank.done(lane)).fold(Done::default(), |sum, own| Done {
        bytes: sum.bytes + own.bytes,
        operations: sum.operations + own.operations,
    })
}

/// What can be seen of running ranks.
#[derive(Debug, Clone, Copy)]
pub struct Watched {
    /// Index of the running step.
    pub step: u32,
    /// When it began, on the node's time line; 0 before the first step.
    pub since_ns: u64,
    /// What all ranks have done in this phase, by lane.
    pub done: [Done; LANES],
}

/// One local rank.
#[derive(Debug, Clone, Copy)]
pub struct LocalRank<'a> {
    place: &'a MeetingPlace,
    rank: u32,
}

impl LocalRank<'_> {
    /// What these ranks show.
    fn members(&self, members: RankRange) -> &[Shown] {
        let first = members.first as usize;
        &self.place.shared.ranks()[first..first + members.count as usize]
    }

    /// A barrier that outlasts a stop: everybody still comes to the gather.
    fn meet(&self) -> Result<(), Stopped> {
        let header = self.place.shared.header();
        header.meeting.wait(self.size(), || self.place.abandoned())
    }
}

impl Ranks for LocalRank<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.place.shared.ranks().len() as u32
    }

    fn begin_step(&self, step: u32) -> Result<(), Stopped> {
        let header = self.place.shared.header();
        self.shown().reset();
        if self.rank == 0 {
            header.jobs.iter().for_each(SharedJob::reset);
            self.place.work.reset();
            header.step.store(step, Ordering::Relaxed);
            header.step_since_ns.store(self.place.clock.now_ns(), Ordering::Relaxed);
        }
        header.start.wait(self.size(), || self.must_stop())
    }

    fn start_together(&self) -> Result<Start, Stopped> {
        let header = self.place.shared.header();
        // First everybody sleeps until the last one comes: waiting must not take the processor from a straggler.
        header.start.wait(self.size(), || self.must_stop())?;
        // Then everybody is awake, until all of them are: nobody starts while another still wakes up.
        let MeetingPlace { shared, clock, crowd, .. } = self.place;
        let abandoned = || self.place.abandoned();
        let start = header.gate.pass(*crowd, shared.ranks(), self.rank, || clock.now_ns(), abandoned)?;
        if self.rank == 0 {
            header.step_since_ns.store(start.opened_ns, Ordering::Relaxed);
        }
        Ok(start)
    }

    fn wait_for_all(&self) -> Result<(), Stopped> {
        self.place.shared.header().start.wait(self.size(), || self.must_stop())
    }

    fn shown(&self) -> &Shown {
        &self.place.shared.ranks()[self.rank as usize]
    }

    #[inline(always)]
    fn must_stop(&self) -> bool {
        self.place.shared.header().stop.load(Ordering::Relaxed)
    }

    fn fail(&self, failure: &Failure) {
        self.place.shared.set_failure(failure);
        self.place.stop();
    }

    fn failure(&self) -> Option<Failure> {
        self.place.failure()
    }

    fn cross_finish_line(&self, job: usize, members: RankRange, now_ns: u64) {
        let job = &self.place.shared.header().jobs[job];
        if job.first_finished_ns.load(Ordering::Relaxed) != 0 {
            return;
        }
        let ranks = self.members(members);
        let done: Vec<[Done; LANES]> = ranks.iter().map(|rank| std::array::from_fn(|lane| rank.done(lane))).collect();
        if job.first_finished_ns.compare_exchange(0, now_ns, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            ranks.iter().zip(done).for_each(|(rank, done)| rank.note_first_finish(done));
        }
    }

    fn first_finished(&self, job: usize, members: RankRange) -> Option<FirstFinished> {
        let at_ns = self.place.shared.header().jobs[job].first_finished_ns.load(Ordering::SeqCst);
        let done = || self.members(members).iter().map(Shown::at_first_finish).collect();
        (at_ns != 0).then(|| FirstFinished { at_ns, done: done() })
    }

    fn agree_on_most(&self, job: usize, members: RankRange, own: u64) -> Result<u64, Stopped> {
        let job = &self.place.shared.header().jobs[job];
        job.most.fetch_max(own, Ordering::SeqCst);
        job.agreement.wait(members.count, || self.must_stop())?;
        Ok(job.most.load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn wants_work(&self, job: usize, members: RankRange) -> bool {
        self.place.work.of(job).wants(members.count)
    }

    fn share_work(&self, job: usize, piece: &[u8]) -> bool {
        self.place.work.of(job).share(piece, || self.must_stop())
    }

    fn take_work(&self, job: usize, members: RankRange, piece: &mut Vec<u8>) -> Result<bool, Stopped> {
        self.place.work.of(job).take(members.count, piece, || self.must_stop())
    }

    fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Stopped> {
        if self.size() == 1 {
            return Ok(Some(vec![bytes.to_vec()]));
        }
        let exchange = &self.place.exchange;
        exchange.put(self.rank, bytes);
        self.meet()?;
        let all = (self.rank == 0).then(|| {
            let all = (0..self.size()).map(|rank| exchange.get(rank)).collect();
            exchange.clear();
            all
        });
        // Nobody puts anything new before rank 0 has read the old.
        self.meet()?;
        Ok(all)
    }

    fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, Stopped> {
        if self.size() == 1 {
            return Ok(bytes.to_vec());
        }
        if self.rank == 0 {
            self.place.exchange.put(0, bytes);
        }
        self.meet()?;
        let received = self.place.exchange.get(0);
        self.meet()?;
        Ok(received)
    }
}
