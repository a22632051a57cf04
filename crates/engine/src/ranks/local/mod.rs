//! The ranks of one node: processes that meet in shared memory. Nothing to install, nothing listens.
//!
//! [`shared`] is what lies in that memory, [`mailbox`] where bytes of any length travel, [`leader_channel`] how they speak
//! with the node's leader. How one waits in shared memory, and shares work there, is the crate `ioassay-shm`.
//! Starting and watching the processes is the business of [`crate::supervise`].

pub(crate) mod leader_channel;
pub(crate) mod mailbox;
mod shared;

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ioassay_host::clock::Clock;
use ioassay_host::processors;
use ioassay_protocol::events::{Done, Failure};
use ioassay_protocol::plan::RankRange;
use ioassay_shm::gate::Crowd;
use ioassay_shm::mailboxes::Mailboxes;
use ioassay_shm::memory::{self, Memory};
use ioassay_shm::work_list::{self, WorkList};

use self::leader_channel::LeaderChannel;
use self::mailbox::Mailbox;
use self::shared::{Header, STOP, SUSPEND, Shared, SharedJob};
use super::clocks::Reading;
use super::{FirstFinished, Ranks, Start, Stopped};
use crate::measure::recorder::{LANES, LiveCounters};
use crate::plan::MOST_JOBS;

/// How often a suspended rank looks whether it may go on.
const SUSPENDED_NAP: Duration = Duration::from_millis(10);

/// How many files a meeting place is in.
pub const FILES: usize = 3;

/// The work that the ranks of each job share.
type WorkLists = work_list::WorkLists<MOST_JOBS>;

/// The meeting place, made before the ranks are forked. Its maker watches and stops the ranks through it.
#[derive(Debug)]
pub struct MeetingPlace {
    shared: Shared,
    mailboxes: Mailboxes,
    work: WorkLists,
    clock: Clock,
    crowd: Crowd,
}

impl MeetingPlace {
    /// A meeting place for `size` ranks that share `clock`'s time line.
    pub fn new(size: u32, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            shared: Shared::new(Memory::inherited(Shared::bytes(size))?, size),
            mailboxes: Mailboxes::new(memory::file(c"ioassay-mailboxes", 0)?),
            work: WorkLists::new(Memory::inherited(WorkLists::BYTES)?),
            clock,
            crowd: Crowd { waiters: size, processors: processors::usable() },
        })
    }

    /// Files for a meeting place of `size` ranks that other processes of the node can open.
    pub fn files(size: u32) -> io::Result<[File; FILES]> {
        Ok([
            memory::file(c"ioassay-ranks", Shared::bytes(size) as u64)?,
            memory::file(c"ioassay-work", WorkLists::BYTES as u64)?,
            memory::file(c"ioassay-mailboxes", 0)?,
        ])
    }

    /// The meeting place in `files`, which another process of this node has made.
    pub fn of([ranks, work, mailboxes]: [File; FILES], size: u32, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            shared: Shared::new(Memory::of(&ranks, Shared::bytes(size))?, size),
            mailboxes: Mailboxes::new(mailboxes),
            work: WorkLists::new(Memory::of(&work, WorkLists::BYTES)?),
            clock,
            crowd: Crowd { waiters: size, processors: processors::usable() },
        })
    }

    /// How large files must be allowed to be for `size` ranks to meet.
    pub fn file_bytes(size: u32) -> u64 {
        // A single rank puts nothing anywhere.
        if size < 2 { 0 } else { Mailboxes::bytes_below(Mailbox::Rank(size)) }
    }

    /// The same place as `rank` sees it.
    pub fn rank(&self, rank: u32) -> LocalRank<'_> {
        LocalRank { place: self, rank }
    }

    /// Makes all ranks do no more I/O and end.
    pub fn stop(&self) {
        self.shared.header().halt.fetch_or(STOP, Ordering::SeqCst);
    }

    /// Has all ranks do no I/O until [`MeetingPlace::resume`]: each finishes the call that it is in.
    pub fn suspend(&self) {
        let header = self.shared.header();
        let now_ns = self.clock.now_ns();
        if header.suspended_since_ns.compare_exchange(0, now_ns, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            header.halt.fetch_or(SUSPEND, Ordering::SeqCst);
        }
    }

    /// Lets suspended ranks go on. The time does not count in what the running step may take.
    pub fn resume(&self) {
        let header = self.shared.header();
        let since_ns = header.suspended_since_ns.swap(0, Ordering::SeqCst);
        if since_ns > 0 {
            let begin_ns = since_ns.max(header.step_since_ns.load(Ordering::SeqCst));
            header.step_since_ns.fetch_add(self.clock.now_ns().saturating_sub(begin_ns), Ordering::SeqCst);
            header.halt.fetch_and(!SUSPEND, Ordering::SeqCst);
        }
    }

    /// True while the ranks are suspended.
    pub fn suspended(&self) -> bool {
        self.shared.header().halt.load(Ordering::SeqCst) & SUSPEND != 0
    }

    /// Tells all ranks that not all of them will come: nobody may wait for the others any more.
    pub fn abandon(&self) {
        self.stop();
        self.shared.header().abandoned.store(true, Ordering::SeqCst);
    }

    /// True if the ranks are to stop.
    pub fn stopping(&self) -> bool {
        self.shared.header().halt.load(Ordering::SeqCst) & STOP != 0
    }

    /// True if the ranks are not to wait for each other.
    pub fn abandoned(&self) -> bool {
        self.shared.header().abandoned.load(Ordering::SeqCst)
    }

    /// The failure that stopped the ranks, if it was one.
    pub fn failure(&self) -> Option<Failure> {
        self.shared.failure()
    }

    /// Stops all ranks, because of `failure`. The first failure is kept, later ones are its consequence.
    pub fn fail(&self, failure: &Failure) {
        self.shared.set_failure(failure);
        self.stop();
    }

    /// The running step, with the bytes and operations of all ranks so far, those of other nodes included.
    pub fn watch(&self) -> Watched {
        let mut watched = self.watch_own();
        for (lane, done) in watched.done.iter_mut().enumerate() {
            let elsewhere = self.leader_channel().done_elsewhere(lane);
            done.bytes += elsewhere.bytes;
            done.operations += elsewhere.operations;
        }
        watched
    }

    /// The same of this node's ranks alone.
    pub fn watch_own(&self) -> Watched {
        let header = self.shared.header();
        Watched {
            step: header.step.load(Ordering::Relaxed),
            since_ns: header.step_since_ns.load(Ordering::Relaxed),
            done: std::array::from_fn(|lane| done_by(self.shared.ranks(), lane)),
        }
    }

    /// How long the running step may take, and since when it runs, if there is a limit.
    pub fn step_limit(&self) -> Option<(u64, u64)> {
        let header = self.shared.header();
        let limit_ns = header.step_limit_ns.load(Ordering::Relaxed);
        (limit_ns > 0).then(|| (limit_ns, header.step_since_ns.load(Ordering::Relaxed)))
    }

    /// The clock that its ranks share.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What each rank shows.
    pub fn counters(&self) -> &[LiveCounters] {
        self.shared.ranks()
    }

    /// What the node's ranks have in common.
    pub(crate) fn header(&self) -> &Header {
        self.shared.header()
    }

    /// Words between the ranks and the node's leader.
    pub(crate) fn leader_channel(&self) -> &LeaderChannel {
        &self.shared.header().leader_channel
    }

    /// Long texts.
    pub(crate) fn mailboxes(&self) -> &Mailboxes {
        &self.mailboxes
    }

    /// Index of the running step.
    pub fn step(&self) -> u32 {
        self.shared.header().step.load(Ordering::SeqCst)
    }

    /// What the ranks of job number `job` share.
    pub(crate) fn job(&self, job: usize) -> &SharedJob {
        &self.shared.header().jobs[job]
    }

    /// The work that they share.
    pub(crate) fn work(&self, job: usize) -> &WorkList {
        self.work.of(job)
    }

    /// Forgets a case that has ended, for the next one.
    pub(crate) fn reset(&self) {
        self.shared.reset();
    }

    /// True if all ranks have carried out order `number`, or will not.
    pub fn has_carried_out(&self, number: u32) -> bool {
        self.counters().iter().all(|rank| rank.carried_out.load(Ordering::SeqCst) >= number)
    }
}

/// What these ranks have done so far in one lane.
fn done_by(ranks: &[LiveCounters], lane: usize) -> Done {
    ranks.iter().map(|rank| rank.done(lane)).fold(Done::default(), |sum, done| Done {
        bytes: sum.bytes + done.bytes,
        operations: sum.operations + done.operations,
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
    /// Everybody is awake until all of them are, and `opens_ns` has come: nobody starts while another still wakes up.
    pub(super) fn pass_gate(&self, opens_ns: u64) -> Result<Start, Stopped> {
        let MeetingPlace { shared, clock, crowd, .. } = self.place;
        let (header, abandoned) = (shared.header(), || self.place.abandoned());
        let start =
            header.gate.pass(*crowd, shared.ranks(), self.rank as usize, opens_ns, || clock.now_ns(), abandoned)?;
        if self.rank == 0 {
            header.step_since_ns.store(start.opened_ns, Ordering::Relaxed);
        }
        Ok(start)
    }

    /// Forgets the step before, and says which one begins and how long it may take.
    pub(super) fn prepare_step(&self, step: u32, limit_ns: Option<u64>) {
        let header = self.place.shared.header();
        self.counters().reset();
        if self.rank == 0 {
            header.jobs.iter().for_each(SharedJob::reset);
            self.place.work.reset();
            header.step.store(step, Ordering::Relaxed);
            header.step_limit_ns.store(limit_ns.unwrap_or(0), Ordering::Relaxed);
            header.step_since_ns.store(self.place.clock.now_ns(), Ordering::Relaxed);
        }
    }

    /// What these ranks show.
    fn members(&self, members: RankRange) -> &[LiveCounters] {
        let first = members.first as usize;
        &self.place.shared.ranks()[first..first + members.count as usize]
    }

    /// Waits while the run is suspended. True if the ranks must stop.
    #[cold]
    fn halted(&self) -> bool {
        let (place, begin_ns) = (self.place, self.place.clock.now_ns());
        while place.suspended() && !place.stopping() {
            std::thread::sleep(SUSPENDED_NAP);
        }
        let end_ns = place.clock.now_ns();
        // What only stopped was not suspended.
        if end_ns - begin_ns >= SUSPENDED_NAP.as_nanos() as u64 {
            self.counters().note_suspension(begin_ns, end_ns);
        }
        place.stopping()
    }

    /// A barrier that outlasts a stop: everybody still comes to the gather.
    fn meet(&self) -> Result<(), Stopped> {
        let header = self.place.shared.header();
        Ok(header.meeting.wait(self.size(), || self.place.abandoned())?)
    }
}

impl Ranks for LocalRank<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.place.shared.ranks().len() as u32
    }

    fn begin_step(&self, step: u32, limit_ns: Option<u64>) -> Result<(), Stopped> {
        self.prepare_step(step, limit_ns);
        Ok(self.place.shared.header().start.wait(self.size(), || self.must_stop())?)
    }

    fn compare_clocks(&self) -> Result<Vec<Reading>, Stopped> {
        Ok(Vec::new())
    }

    fn start_together(&self) -> Result<Start, Stopped> {
        let header = self.place.shared.header();
        // First everybody sleeps until the last one comes: waiting must not take the processor from a straggler.
        header.start.wait(self.size(), || self.must_stop())?;
        self.pass_gate(0)
    }

    fn wait_for_all(&self) -> Result<(), Stopped> {
        Ok(self.place.shared.header().start.wait(self.size(), || self.must_stop())?)
    }

    fn counters(&self) -> &LiveCounters {
        &self.place.shared.ranks()[self.rank as usize]
    }

    #[inline(always)]
    fn must_stop(&self) -> bool {
        self.place.shared.header().halt.load(Ordering::Relaxed) != 0 && self.halted()
    }

    fn fail(&self, failure: &Failure) {
        self.place.fail(failure);
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
        let done = || self.members(members).iter().map(LiveCounters::at_first_finish).collect();
        (at_ns != 0).then(|| FirstFinished { at_ns, done: done() })
    }

    fn agree_on_most(&self, job: usize, members: RankRange, value: u64) -> Result<u64, Stopped> {
        let job = &self.place.shared.header().jobs[job];
        job.most.fetch_max(value, Ordering::SeqCst);
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
        Ok(self.place.work.of(job).take(members.count, piece, None, || self.must_stop())?)
    }

    fn gather(
        &self,
        bytes: &[u8],
        pack: &mut dyn FnMut(Vec<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Option<Vec<Vec<u8>>>, Stopped> {
        if self.size() == 1 {
            return Ok(Some(vec![pack(vec![bytes.to_vec()])]));
        }
        let mailboxes = &self.place.mailboxes;
        mailboxes.put(Mailbox::Rank(self.rank), bytes);
        self.meet()?;
        let all = (self.rank == 0).then(|| {
            let all = (0..self.size()).map(|rank| mailboxes.get(Mailbox::Rank(rank))).collect();
            mailboxes.clear_from(Mailbox::Rank(0));
            vec![pack(all)]
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
            self.place.mailboxes.put(Mailbox::Inbox, bytes);
        }
        self.meet()?;
        let received = self.place.mailboxes.get(Mailbox::Inbox);
        self.meet()?;
        Ok(received)
    }
}
