//! The timed phase as one rank lives it: prepare, start together, work, then tell the others.
//!
//! What the work is stands in [`super::data`], [`super::metadata`] and [`super::find`], what is written down of it in
//! [`super::letters`].

use std::sync::atomic::Ordering;

use ioassay_host::{clock, process_usage};
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::Transfer;
use ioassay_protocol::plan::{Job, Operation, Phase, Work};

use super::data::DataJob;
use super::find::FindJob;
use super::letters::{Found, Letter};
use super::metadata::MetadataJob;
use super::operations::Ran;
use super::profile::ReadShare;
use super::written::OrderOfWrite;
use super::{Case, Rank};
use crate::failure;
use crate::measure::node::NodeMeter;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Start, Stopped};
use crate::workload::layout::Geometry;
use crate::workload::tree::Shape;

/// What one rank did in its job.
pub(super) struct Did {
    /// Which lane holds which operation.
    pub lanes: Vec<(usize, Operation)>,
    /// The record.
    pub ran: Ran,
    /// Where the time went.
    pub times: Times,
    /// Calls that moved less than asked.
    pub short_transfers: u64,
    /// All that was to be done is done.
    pub complete: bool,
    /// What it wrote has been forced to stable storage.
    pub synced: bool,
    /// Entries that matched.
    pub matched: Option<u64>,
    /// Transfers that were written, of a job that writes; entries that were worked on, of one on a tree.
    pub written: Option<u64>,
    /// What was read of the rank's part, where a limit may have ended the job before all of it was.
    pub read: Option<Vec<ReadShare>>,
    /// What ended it.
    pub failure: Option<Box<Failure>>,
}

/// Where the time of a job went.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    /// In open.
    pub open: u64,
    /// In making the bytes that are written.
    pub fill: u64,
    /// From the first to the last operation, without the other times.
    pub transfer: u64,
    /// In fsync.
    pub fsync: u64,
    /// In close.
    pub close: u64,
}

/// A job, ready to start.
enum Prepared<'a> {
    Data(DataJob<'a>),
    Metadata(Box<MetadataJob<'a>>),
    Find(FindJob<'a>),
}

impl Prepared<'_> {
    fn run<R: Ranks>(self, ranks: &R, job: (usize, &Job), start: Start) -> Did {
        match self {
            Self::Data(work) => work.run(ranks, job, start),
            Self::Metadata(work) => work.run(ranks, job.0, start),
            Self::Find(work) => work.run(ranks, job, start),
        }
    }
}

impl<R: Ranks> Rank<'_, R> {
    /// Runs `phase`, which is step `step` of the plan.
    pub(super) fn phase(&mut self, step: u32, phase: &Phase) -> Result<(), Stopped> {
        let Case { clock, .. } = *self.case;
        let with_rates = self.with_earlier_rates(phase);
        let phase = with_rates.as_ref().unwrap_or(phase);
        let settled = self.settle(phase)?;
        let own = self.own_job(phase);
        let inspected = own.and_then(|(_, job, member)| self.inspect(job, member));
        let prepared = own.map(|(_, job, member)| self.prepare(step, job, member)).transpose();
        let prepared = prepared.unwrap_or_else(|failure| {
            self.ranks.fail(&failure::at(*failure, self.ranks.rank(), &phase.name));
            None
        });

        let before = self.ranks.compare_clocks()?;
        self.stamps.push((step, clock::file_stamp_unix_ns()));
        let node = self.is_first_on_node().then(|| NodeMeter::prepared(self.device.as_deref()));
        let mut meter = process_usage::Meter::prepared();
        let start = self.ranks.start_together()?;
        let started_unix_ns = clock::unix_ns() - (clock.now_ns() - start.opened_ns);
        meter.start();
        let working = &self.ranks.shown().working;
        working.store(true, Ordering::Relaxed);
        let did = match (own, prepared) {
            (Some((index, job, _)), Some(prepared)) => {
                let did = prepared.run(self.ranks, (index, job), start);
                let end_ns = clock.now_ns();
                if did.failure.is_none() && did.complete {
                    self.ranks.cross_finish_line(index, self.case.plan.workers(job), end_ns);
                }
                Some((index, did, end_ns))
            }
            _ => None,
        };
        working.store(false, Ordering::Relaxed);
        let usage = meter.stop();
        let letter = did.map(|(index, did, end_ns)| {
            if let Some(failure) = &did.failure {
                self.ranks.fail(&failure::at((**failure).clone(), self.ranks.rank(), &phase.name));
            }
            let before_read = inspected.map(|part| part.of(did.read.as_deref()));
            let mut letter = self.letter(index, did, start, end_ns, usage);
            letter.before_read = before_read;
            letter
        });
        let found = Found { started_unix_ns, clocks_before: &before, settled, node: node.as_ref() };
        let letters = self.conclude((step, phase), start, letter, found)?;
        self.note_writes(step, phase, &letters)?;
        self.note_pace(step, &letters)?;
        self.go_on()
    }

    /// The job in which this rank has something to do, the job's number in the phase, and the rank's place in it.
    fn own_job<'p>(&self, phase: &'p Phase) -> Option<(usize, &'p Job, u32)> {
        phase.jobs.iter().enumerate().find_map(|(index, job)| {
            let member = self.case.plan.workers(job).member(self.ranks.rank())?;
            Some((index, job, member))
        })
    }

    fn prepare<'p>(&self, step: u32, job: &'p Job, member: u32) -> Result<Prepared<'p>, Box<Failure>>
    where
        Self: 'p,
    {
        Ok(match &job.work {
            Work::Data(work) => {
                let (case, shift) = (self.case, self.reads_shifted_by);
                Prepared::Data(DataJob::prepare(case, step, (job, work), member, shift, &self.written)?)
            }
            Work::Metadata(work) => {
                let prepared = MetadataJob::prepare(self.case, step, (job, work), member, &self.grown)?;
                Prepared::Metadata(Box::new(prepared))
            }
            Work::Find(work) => Prepared::Find(FindJob::prepare(self.case, work, member, &self.stamps)?),
        })
    }

    /// Every rank learns how much of each file set is written now, and how much of each tree is there. Without a limit
    /// that is all of it, and nobody needs to be told.
    fn note_writes(&mut self, step: u32, phase: &Phase, letters: &[Letter]) -> Result<(), Stopped> {
        for (index, job) in phase.jobs.iter().enumerate() {
            let own = letters.iter().filter(|letter| letter.job == index);
            let done = || self.broadcast(&own.filter_map(|letter| letter.written).collect::<Vec<u64>>());
            match &job.work {
                Work::Data(work) if work.transfer == Transfer::Write => {
                    let geometry = Geometry::of(&self.case.plan.files[&work.files], self.ranks.size());
                    // More than any part has: all of it.
                    let transfers = if job.limit.is_none() {
                        vec![u64::MAX; job.range(self.ranks.size()).count as usize]
                    } else {
                        done()?
                    };
                    let order = OrderOfWrite { order: work.order, step };
                    self.written.note(&work.files, &geometry, order, &transfers);
                }
                Work::Metadata(work) => {
                    let done = if job.limit.is_none() { None } else { Some(done()?) };
                    let shape = Shape::of(&self.case.plan.trees[&work.tree], self.ranks.size());
                    self.grown.note(&shape, work, step, self.case.plan.workers(job), done.as_deref());
                }
                Work::Data(_) | Work::Find(_) => {}
            }
        }
        Ok(())
    }
}
