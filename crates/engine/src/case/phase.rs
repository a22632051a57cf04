//! The timed phase as one rank lives it: prepare, start together, work, then tell the others.
//!
//! What the work is stands in [`super::data`], [`super::metadata`] and [`super::find`], what is written down of it in
//! [`super::phase_records`].

use std::sync::atomic::Ordering;
use std::time::Duration;

use ioassay_host::{clock, process_usage};
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::Transfer;
use ioassay_protocol::plan::{Job, Phase, Work};

use super::data::DataJob;
use super::earlier_rates::{EarlierRates, Pace};
use super::find::FindJob;
use super::job_result::JobResult;
use super::metadata::MetadataJob;
use super::phase_records::Found;
use super::rank_report::RankReport;
use super::replay::ReplayJob;
use super::written::OrderOfWrite;
use super::{Case, Rank};
use crate::failure;
use crate::measure::node::NodeMeter;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Start, Stopped};
use crate::supervise;
use crate::workload::layout::Geometry;
use crate::workload::tree::Shape;

/// How long to wait for the next look of who looks after the ranks, which mostly comes within 20 ms.
const LOOK_LIMIT_NS: u64 = 1_000_000_000;

/// A job, ready to start.
enum Prepared<'a> {
    Data(DataJob<'a>),
    Metadata(Box<MetadataJob<'a>>),
    Find(FindJob<'a>),
    Replay(Box<ReplayJob<'a>>),
}

impl Prepared<'_> {
    fn run<R: Ranks>(self, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        match self {
            Self::Data(work) => work.run(ranks, job, start),
            Self::Metadata(work) => work.run(ranks, job.0, start),
            Self::Find(work) => work.run(ranks, job, start),
            Self::Replay(work) => work.run(ranks, job, start),
        }
    }
}

impl<R: Ranks> Rank<'_, R> {
    /// Runs `phase`, which is step `step` of the plan.
    pub(super) fn phase(&mut self, step: u32, phase: &Phase) -> Result<(), Stopped> {
        let Case { clock, .. } = *self.case;
        let with_rates = self.earlier_rates.apply_to(self.case.plan, phase);
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
        let working = &self.ranks.counters().working;
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
        let report = did.map(|(index, did, end_ns)| {
            if let Some(failure) = &did.failure {
                self.ranks.fail(&failure::at((**failure).clone(), self.ranks.rank(), &phase.name));
            }
            let before_read = inspected.map(|part| part.of(did.read.as_deref()));
            let own = (self.ranks.rank(), self.node());
            // What is shorter than any pause had none, and many short phases must not take longer for it.
            if end_ns.saturating_sub(start.opened_ns) >= supervise::LEAST_PAUSE_NS {
                self.wait_for_a_look(end_ns);
            }
            let suspended = self.ranks.counters().suspensions(start.opened_ns);
            let mut report = RankReport::of_job(index, own, did, start, end_ns, (usage, suspended));
            report.before_read = before_read;
            report
        });
        let found = Found { started_unix_ns, clocks_before: &before, settled, node: node.as_ref() };
        let reports = self.conclude((step, phase), start, report, found)?;
        self.note_writes(step, phase, &reports)?;
        self.note_rates(step, &reports)?;
        self.go_on()
    }

    /// Waits until who looks after this rank has looked after `end_ns`, and so has noted all pauses before that. Where it does
    /// not come to it, they are not known.
    fn wait_for_a_look(&self, end_ns: u64) {
        let (clock, looked_ns) = (self.case.clock, &self.ranks.counters().looked_ns);
        let is_due = |looked_ns| looked_ns > 0 && looked_ns <= end_ns && clock.now_ns() - end_ns < LOOK_LIMIT_NS;
        while is_due(looked_ns.load(Ordering::SeqCst)) {
            std::thread::sleep(Duration::from_millis(1));
        }
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
                let prepared = MetadataJob::prepare(self.case, step, (job, work), member, &self.trees)?;
                Prepared::Metadata(Box::new(prepared))
            }
            Work::Find(work) => Prepared::Find(FindJob::prepare(self.case, work, member, &self.stamps)?),
            Work::Replay(work) => Prepared::Replay(Box::new(ReplayJob::prepare(self.case, step, (job, work), member)?)),
        })
    }

    /// Every rank learns how much of each file set is written now, and how much of each tree is there. Without a limit
    /// that is all of it, and nobody needs to be told.
    fn note_writes(&mut self, step: u32, phase: &Phase, reports: &[RankReport]) -> Result<(), Stopped> {
        for (index, job) in phase.jobs.iter().enumerate() {
            let own = reports.iter().filter(|report| report.job == index);
            let done = || self.broadcast(&own.filter_map(|report| report.written).collect::<Vec<u64>>());
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
                    self.trees.note(&shape, work, step, self.case.plan.workers(job), done.as_deref());
                }
                Work::Data(_) | Work::Find(_) | Work::Replay(_) => {}
            }
        }
        Ok(())
    }

    /// Every rank learns what was done in step `step`, where a later job asks for its rate.
    fn note_rates(&mut self, step: u32, reports: &[RankReport]) -> Result<(), Stopped> {
        if EarlierRates::are_asked_for(self.case.plan, step) {
            let pace = self.broadcast(&Pace::of(reports))?;
            self.earlier_rates.note(step, pace);
        }
        Ok(())
    }
}
