//! The loop that every job runs: one operation after the other, within the job's limits and at its rate, each timed.
//!
//! The end of one operation is the beginning of the next, so that one reading of the clock per operation is enough;
//! what the engine does in between (some 20 ns) counts in the latency. What takes longer, such as making the bytes that are
//! to be written, is done between two readings and counts in neither.
//! Not here: what an operation is ([`Operate`]), and files.

use std::ops::Range;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::{Done, Failure};
use ioassay_protocol::plan::pace::Limit;
use ioassay_protocol::plan::{Job, RankRange};

use super::pacing::Pacing;
use crate::measure::recorder::{LANES, Recorded, Recorder};
use crate::ranks::{Ranks, Start, Stopped};

/// What one operation moved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    /// Bytes.
    pub bytes: u64,
    /// In which lane it is recorded.
    pub lane: usize,
}

/// Something that is done again and again.
pub(crate) trait Operate {
    /// True where [`Operate::prepare`] has something to do.
    fn prepares(&self) -> bool {
        false
    }

    /// Does for operation `index` what is not to count in its time.
    fn prepare(&mut self, _index: u64) {}

    /// Does operation `index`, after [`Operate::prepare`] where that has something to do.
    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>>;

    /// Called about once per sample, for what must be done now and then but not per operation.
    fn once_per_sample(&mut self) -> Result<(), Box<Failure>> {
        Ok(())
    }
}

/// Whether a job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// There may be more to do.
    On,
    /// A limit was reached, or the run is to stop.
    Enough,
}

/// One rank's operations in one job.
pub(crate) struct Operations<'a, R> {
    ranks: &'a R,
    clock: &'a Clock,
    job: usize,
    members: RankRange,
    recorders: [Recorder<'a>; LANES],
    /// Operations that it may do in all.
    most: u64,
    /// When no operation may begin any more; `u64::MAX` where there is no such time.
    stonewall_ns: u64,
    /// When all work is done, it begins again until then.
    minimum_end_ns: u64,
    wear_out: bool,
    pacing: Option<Pacing>,
    done: u64,
    at_stonewall: Option<[Done; LANES]>,
    begin_ns: u64,
    prepared_ns: u64,
}

/// What one rank did.
pub(crate) struct OperationStats {
    /// By lane.
    pub recorded: [Recorded; LANES],
    /// By lane, where it met a stonewall.
    pub at_stonewall: Option<[Done; LANES]>,
}

impl<'a, R: Ranks> Operations<'a, R> {
    /// The operations of `ranks` in job number `index` of a phase, of at most `bytes_each`, after `start`.
    pub fn new(
        ranks: &'a R,
        clock: &'a Clock,
        (index, job): (usize, &Job),
        bytes_each: u64,
        start: Start,
        sample_interval_ns: u64,
    ) -> Self {
        let Limit { bytes_per_rank, operations_per_rank, stonewall_ns, wear_out, minimum_ns, .. } = job.limit;
        let members = job.range(ranks.size());
        let by_bytes = bytes_per_rank.map_or(u64::MAX, |bytes| bytes / bytes_each.max(1));
        let recorder = |lane| Recorder::new(ranks.counters(), lane, start.opened_ns, sample_interval_ns);
        Self {
            ranks,
            clock,
            job: index,
            members,
            recorders: std::array::from_fn(recorder),
            most: by_bytes.min(operations_per_rank.unwrap_or(u64::MAX)),
            stonewall_ns: stonewall_ns.map_or(u64::MAX, |after| start.opened_ns.saturating_add(after)),
            minimum_end_ns: minimum_ns.map_or(0, |after| start.opened_ns.saturating_add(after)),
            wear_out,
            pacing: Pacing::of(job, members, bytes_each, start.opened_ns),
            done: 0,
            at_stonewall: None,
            begin_ns: start.left_ns,
            prepared_ns: 0,
        }
    }

    /// The next operation begins now: what came before it was something else, such as opening a file.
    pub fn restart_timer(&mut self) {
        self.begin_ns = self.clock.now_ns();
    }

    /// Operations done so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Time so far that went into preparing operations.
    pub fn prepared_ns(&self) -> u64 {
        self.prepared_ns
    }

    /// True where all work is done and must begin again.
    pub fn again(&self) -> bool {
        !self.ranks.must_stop() && self.done < self.most && self.clock.now_ns() < self.minimum_end_ns
    }

    /// Does the operations of `range`, in order, as far as the limits allow.
    #[inline(always)]
    pub fn run(&mut self, range: Range<u64>, work: &mut impl Operate) -> Result<Flow, Box<Failure>> {
        let mut index = range.start;
        while index < range.end {
            if self.done == self.most || self.ranks.must_stop() {
                return Ok(Flow::Enough);
            }
            let until = range.end.min(index.saturating_add(self.most - self.done));
            index = self.run_to_stonewall(index..until, work)?;
            if index < until && (self.ranks.must_stop() || self.meet_stonewall() == Flow::Enough) {
                return Ok(Flow::Enough);
            }
        }
        Ok(Flow::On)
    }

    /// The hot loop. Returns where it ended: at the end of `range`, or before it at the stonewall or a stop.
    #[inline(always)]
    fn run_to_stonewall(&mut self, range: Range<u64>, work: &mut impl Operate) -> Result<u64, Box<Failure>> {
        let (stonewall_ns, mut begin_ns, prepares) = (self.stonewall_ns, self.begin_ns, work.prepares());
        for index in range.clone() {
            if begin_ns >= stonewall_ns || self.ranks.must_stop() {
                self.begin_ns = begin_ns;
                return Ok(index);
            }
            if prepares {
                work.prepare(index);
                begin_ns = self.prepared(begin_ns);
            }
            if let Some(pacing) = &mut self.pacing {
                match pacing.wait(begin_ns, stonewall_ns, self.clock, self.ranks) {
                    Some(intended_ns) => begin_ns = intended_ns,
                    None => {
                        self.begin_ns = self.clock.now_ns();
                        return Ok(index);
                    }
                }
            }
            let moved = work.operate(index)?;
            let end_ns = self.clock.now_ns();
            self.done += 1;
            if self.recorders[moved.lane].record(begin_ns, end_ns, moved.bytes) {
                work.once_per_sample()?;
            }
            begin_ns = end_ns;
        }
        self.begin_ns = begin_ns;
        Ok(range.end)
    }

    /// What happens at the stonewall: the end, or wear-out.
    #[cold]
    pub fn meet_stonewall(&mut self) -> Flow {
        self.at_stonewall.get_or_insert(std::array::from_fn(|lane| self.recorders[lane].done()));
        self.stonewall_ns = u64::MAX;
        if !self.wear_out {
            return Flow::Enough;
        }
        match self.agree_on_most() {
            Ok(most) if most > self.done => {
                self.most = most;
                self.minimum_end_ns = 0;
                self.restart_timer();
                Flow::On
            }
            Ok(_) | Err(Stopped) => Flow::Enough,
        }
    }

    /// The most that any rank of the job had done when it met the stonewall, or came to the end of its work.
    fn agree_on_most(&mut self) -> Result<u64, Stopped> {
        self.wear_out = false;
        self.ranks.agree_on_most(self.job, self.members, self.done)
    }

    /// This rank has done all there was. If it never met the stonewall, it still tells the others how much that was, who
    /// wait for it: before it waits for them anywhere else.
    pub fn all_done(&mut self) {
        if self.wear_out {
            // Nothing is to be done with the answer.
            let _ = self.agree_on_most();
        }
    }

    /// The record, at the end of the job.
    pub fn finish(mut self, failed: bool) -> OperationStats {
        if !failed {
            self.all_done();
        }
        let end_ns = self.clock.now_ns();
        OperationStats {
            recorded: self.recorders.map(|recorder| recorder.finish(end_ns)),
            at_stonewall: self.at_stonewall,
        }
    }
}

/// What the loop for transfers in flight needs besides.
impl<R: Ranks> Operations<'_, R> {
    /// Operations that may still begin.
    pub fn left(&self) -> u64 {
        self.most - self.done
    }

    /// The time at which the next operation begins, where one may begin at `now_ns`.
    pub fn next_begin(&mut self, now_ns: u64, wait: bool) -> Begin {
        if self.ranks.must_stop() {
            return Begin::Stopped;
        }
        if now_ns >= self.stonewall_ns {
            return Begin::Stonewall;
        }
        match &mut self.pacing {
            None => Begin::At(now_ns),
            Some(pacing) if wait => match pacing.wait(now_ns, self.stonewall_ns, self.clock, self.ranks) {
                Some(intended_ns) => Begin::At(intended_ns),
                None => Begin::Stonewall,
            },
            Some(pacing) => pacing.due(now_ns).map_or(Begin::Later, Begin::At),
        }
    }

    /// The time.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// An operation has been prepared since `begun_ns`. Returns the time.
    pub fn prepared(&mut self, begun_ns: u64) -> u64 {
        let now_ns = self.clock.now_ns();
        self.prepared_ns += now_ns - begun_ns;
        now_ns
    }

    /// Records an operation that has ended. True about once per sample.
    pub fn record(&mut self, begin_ns: u64, end_ns: u64, moved: Moved) -> bool {
        self.done += 1;
        self.recorders[moved.lane].record(begin_ns, end_ns, moved.bytes)
    }
}

/// Whether an operation may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Yes; its latency counts from this time.
    At(u64),
    /// Not yet.
    Later,
    /// No: the stonewall has come.
    Stonewall,
    /// No: the run is to stop.
    Stopped,
}
