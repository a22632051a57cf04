//! Runs the timed phase on one rank: prepare, start together, work, then inform the others.
//!
//! What the work is stands in [`crate::work`], what is written down of it in [`super::phase_records`].

use std::sync::atomic::Ordering;
use std::time::Duration;

use ioassay_host::{clock, process_usage};
use ioassay_protocol::plan::{Job, Phase};

use super::earlier_rates::{EarlierRates, Pace};
use super::phase_records::PhaseConditions;
use super::rank_report::RankReport;
use super::{Case, Rank, broadcast};
use crate::failure;
use crate::measure::node::NodeMeter;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Stopped};
use crate::supervise;
use crate::work::run::{EndedJob, Member, runner_of};

/// How long to wait until the supervisor samples the ranks again, which mostly takes at most 20 ms.
const LOOK_LIMIT_NS: u64 = 1_000_000_000;

impl<R: Ranks> Rank<'_, R> {
    /// Runs `phase`, which is step `step` of the plan.
    pub(super) fn phase(&mut self, step: u32, phase: &Phase) -> Result<(), Stopped> {
        let Case { clock, .. } = *self.case;
        let with_rates = self.earlier_rates.apply_to(self.case.plan, phase);
        let phase = with_rates.as_ref().unwrap_or(phase);
        let settled = self.settle(phase)?;
        let own_job = self.own_job(phase);
        let inspected = own_job.and_then(|(_, job, member)| self.inspect(step, job, member));
        let prepared = own_job.map(|(_, job, number)| {
            runner_of(&job.work).prepare(&Member { case: self.case, step, job, number }, &self.history)
        });
        let prepared = prepared.transpose();
        let prepared = prepared.unwrap_or_else(|failure| {
            self.ranks.fail(&failure::of_rank(*failure, self.ranks.rank(), &phase.name));
            None
        });

        let before = self.ranks.compare_clocks()?;
        self.history.stamps.push((step, clock::file_stamp_unix_ns()));
        let node = self.is_first_on_node().then(|| NodeMeter::prepared(self.device.as_deref()));
        let mut meter = process_usage::Meter::prepared();
        let start = self.ranks.start_together()?;
        let started_unix_ns = clock::unix_ns() - (clock.now_ns() - start.opened_ns);
        meter.start();
        let working = &self.ranks.counters().working;
        working.store(true, Ordering::Relaxed);
        let result = match (own_job, prepared) {
            (Some((index, job, _)), Some(prepared)) => {
                let result = prepared.run(self.ranks, (index, job), start);
                let end_ns = clock.now_ns();
                if result.failure.is_none() && result.complete {
                    self.ranks.cross_finish_line(index, self.case.plan.workers(job), end_ns);
                }
                Some((index, result, end_ns))
            }
            _ => None,
        };
        working.store(false, Ordering::Relaxed);
        let usage = meter.stop();
        let report = result.map(|(index, result, end_ns)| {
            if let Some(failure) = &result.failure {
                self.ranks.fail(&failure::of_rank((**failure).clone(), self.ranks.rank(), &phase.name));
            }
            let before_read = inspected.map(|part| part.of(result.read.as_deref()));
            let reporter = (self.ranks.rank(), self.node());
            // What is shorter than any pause had none, and many short phases must not take longer for it.
            if end_ns.saturating_sub(start.opened_ns) >= supervise::LEAST_PAUSE_NS {
                self.wait_for_a_look(end_ns);
            }
            let suspended = self.ranks.counters().suspensions(start.opened_ns);
            let mut report = RankReport::of_job(index, reporter, result, start, end_ns, (usage, suspended));
            report.before_read = before_read;
            report
        });
        let conditions = PhaseConditions { started_unix_ns, clocks_before: &before, settled, node: node.as_ref() };
        let reports = self.conclude((step, phase), start, report, conditions)?;
        self.note_writes(step, phase, &reports)?;
        self.note_rates(step, &reports)?;
        self.check_stopped()
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

    /// Every rank learns how much of each file set is written now, and how much of each tree is there. Without a limit
    /// that is all of it, and no rank needs to be informed.
    fn note_writes(&mut self, step: u32, phase: &Phase, reports: &[RankReport]) -> Result<(), Stopped> {
        for (index, job) in phase.jobs.iter().enumerate() {
            let reports_of_job = reports.iter().filter(|report| report.job == index);
            let written_here: Vec<u64> = reports_of_job.filter_map(|report| report.written).collect();
            let ranks = self.ranks;
            let mut written = || broadcast(ranks, &written_here);
            let mut ended = EndedJob { plan: self.case.plan, step, job, written: &mut written };
            runner_of::<R>(&job.work).note(&mut ended, &mut self.history)?;
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
