//! The records that rank 0 makes of what all ranks report of a phase.
//!
//! Not here: what ranks do in a phase ([`super::phase`]), and how records are combined ([`crate::measure::phase`]).

use ioassay_protocol::events::{Done, Event, NodeClock, NodeRecord, RankRecord, Settled, Usage};
use ioassay_protocol::plan::{Job, Operation, Phase};

use super::Rank;
use super::rank_report::RankReport;
use super::resident;
use crate::latencies::Latencies;
use crate::measure::doubts::{self, Facts, Unwritten};
use crate::measure::node::NodeMeter;
use crate::measure::phase::{Circumstances, RankResult, combine};
use crate::plan::Sizes;
use crate::ranks::clocks::Reading;
use crate::ranks::{Ranks, Start, Stopped};

/// What is known of a phase beside what its ranks send.
#[derive(Debug, Clone, Copy)]
pub struct PhaseConditions<'a> {
    /// Wall-clock time at which the barrier opened.
    pub started_unix_ns: u64,
    /// How the clocks of nodes differed before, on rank 0.
    pub clocks_before: &'a [Reading],
    /// What was written out before, on rank 0.
    pub settled: Option<Settled>,
    /// Measures what goes on on the node, where this rank is the first one of it.
    pub node: Option<&'a NodeMeter>,
}

/// A rank's report, and from the first one of each node what went on on the node.
type Sent = (Option<RankReport>, Option<NodeRecord>);

/// What the kernel spent on each rank that had a job.
fn spent(sent: &[Sent]) -> Vec<Usage> {
    let first = |report: &RankReport| report.results.first().map(|(_, _, result)| result.record.usage);
    sent.iter().filter_map(|(report, _)| first(report.as_ref()?)).collect()
}

/// What two comparisons of clocks say about the time between.
fn clocks_between(before: &[Reading], after: &[Reading]) -> Vec<NodeClock> {
    let clock = |(before, after): (&Reading, &Reading)| NodeClock {
        offset_ns: before.offset_ns,
        uncertainty_ns: before.uncertainty_ns,
        offset_after_ns: after.offset_ns,
        uncertainty_after_ns: after.uncertainty_ns,
    };
    before.iter().zip(after).map(clock).collect()
}

impl<R: Ranks> Rank<'_, R> {
    /// Brings what all ranks have done in step `step` to rank 0, which writes it down and returns all reports.
    pub(super) fn conclude(
        &mut self,
        (step, phase): (u32, &Phase),
        start: Start,
        report: Option<RankReport>,
        conditions: PhaseConditions<'_>,
    ) -> Result<Vec<RankReport>, Stopped> {
        let sent: Sent = (report, None);
        let sent = self.gather_packed(&sent, |sent| {
            self.pack(phase, start, sent);
            sent[0].1 = conditions.node.map(|meter| meter.stop(&spent(sent)));
        })?;
        let (reports, nodes): (Vec<_>, Vec<_>) = sent.into_iter().flatten().unzip();
        let reports: Vec<RankReport> = reports.into_iter().flatten().collect();
        let nodes: Vec<NodeRecord> = nodes.into_iter().flatten().collect();
        let clocks = clocks_between(conditions.clocks_before, &self.ranks.compare_clocks()?);
        if self.ranks.rank() == 0 {
            for job in phase.jobs.iter().enumerate() {
                self.write_records(step, phase, job, (conditions, &clocks, &nodes), &reports);
            }
        }
        Ok(reports)
    }

    /// Makes less of what the ranks of a node send, as one of them: their latencies become those of the first one, and each
    /// learns what it had done when the first of them had finished.
    fn pack(&self, phase: &Phase, start: Start, sent: &mut [Sent]) {
        for (index, job) in phase.jobs.iter().enumerate() {
            let finished = self.ranks.first_finished(index, self.case.plan.workers(job));
            let reports = sent.iter_mut().filter_map(|(report, _)| report.as_mut());
            let mut of_job = reports.filter(|report| report.job == index).collect::<Vec<_>>();
            for (member, report) in of_job.iter_mut().enumerate() {
                let finish = finished.as_ref().and_then(|first| Some((first.at_ns, *first.done.get(member)?)));
                report.first_finished = finish.map(|(at_ns, done)| (at_ns - start.opened_ns, done));
            }
            let Some((first, others)) = of_job.split_first_mut() else { continue };
            for nth in 0..first.results.len() {
                let mut of_others: Vec<_> = others.iter_mut().map(|other| &mut other.results[nth].2).collect();
                let first = &mut first.results[nth].2;
                let latencies = of_others.iter_mut().map(|other| std::mem::take(&mut other.latencies));
                first.latencies = Latencies::sum([std::mem::take(&mut first.latencies)].into_iter().chain(latencies));
                let first_bytes = of_others.iter_mut().filter_map(|other| other.first_byte.take());
                let first_bytes: Vec<_> = first.first_byte.take().into_iter().chain(first_bytes).collect();
                first.first_byte = (!first_bytes.is_empty()).then(|| Latencies::sum(first_bytes.into_iter()));
            }
        }
    }

    /// Writes the records of one job as rank 0.
    fn write_records(
        &mut self,
        step: u32,
        phase: &Phase,
        (index, job): (usize, &Job),
        (conditions, clocks, nodes): (PhaseConditions<'_>, &[NodeClock], &[NodeRecord]),
        reports: &[RankReport],
    ) {
        let of_job: Vec<&RankReport> = reports.iter().filter(|report| report.job == index).collect();
        let Some(first) = of_job.first() else { return };
        let failure = self.ranks.failure();
        // The first of all nodes' first ones.
        let finished_ns = of_job.iter().filter_map(|report| Some(report.first_finished?.0)).min();
        for (nth, &(lane, operation, _)) in first.results.iter().enumerate() {
            let mut results: Vec<RankResult> = of_job.iter().map(|report| report.results[nth].2.clone()).collect();
            for (report, RankResult { record, .. }) in of_job.iter().zip(&mut results) {
                record.at_first_finish = finished_ns.map(|at_ns| match report.first_finished {
                    Some((own_ns, done)) if own_ns == at_ns => done[lane],
                    _ => done_at(record, at_ns, self.case.plan.sample_interval_ns),
                });
            }
            let at_first = |results: &[RankResult]| {
                let at_first = results.iter().filter_map(|result| result.record.at_first_finish);
                at_first.fold(Done::default(), |sum, part| Done {
                    bytes: sum.bytes + part.bytes,
                    operations: sum.operations + part.operations,
                })
            };
            let resident = if operation == Operation::Read { self.resident_before(&of_job) } else { Vec::new() };
            let circumstances = Circumstances {
                step,
                operation,
                started_unix_ns: conditions.started_unix_ns,
                first_finished: finished_ns.map(|at_ns| (at_ns, at_first(&results))),
                resident_bytes_before: resident::sum_of(&resident),
                resident_bytes_before_per_node: resident.into_iter().flatten().collect(),
                matched: of_job.iter().filter_map(|report| report.matched).reduce(|sum, matched| sum + matched),
            };
            let (mut record, median_ns) = combine(self.case.plan, phase, job, circumstances, results);
            clocks.clone_into(&mut record.clocks);
            nodes.clone_into(&mut record.nodes);
            record.settled = conditions.settled;
            record.complete &= failure.is_none();
            record.doubts = doubts::about(Facts {
                plan: self.case.plan,
                job,
                capabilities: self.case.capabilities(self.case.plan.storage_of(job)),
                nodes: &self.nodes,
                emptied: self.emptied,
                synced: of_job.iter().all(|report| report.synced),
                unwritten: if operation == Operation::Read { unwritten(&of_job) } else { Unwritten::default() },
                record: &record,
                median_ns,
                failure: failure.as_ref(),
            });
            self.write(&Event::Phase(Box::new(record)));
        }
    }

    /// Bytes of what a job read that were in the memory of each node before; nothing where it read no file set.
    fn resident_before(&self, reports: &[&RankReport]) -> Vec<Option<u64>> {
        let before = reports.iter().filter_map(|report| {
            let (_, _, result) = report.results.first()?;
            Some((result.record.node, report.before_read.as_ref()?.resident_bytes()))
        });
        let before: Vec<_> = before.collect();
        if before.is_empty() { Vec::new() } else { self.by_node(before.into_iter()) }
    }
}

/// What of the bytes that a job read held no data.
fn unwritten(reports: &[&RankReport]) -> Unwritten {
    let amounts = reports.iter().filter_map(|report| Some(report.before_read.as_ref()?.unwritten()));
    amounts.fold(Unwritten::default(), |sum, part| Unwritten {
        unwritten_bytes: sum.unwritten_bytes + part.unwritten_bytes,
        bytes: sum.bytes + part.bytes,
    })
}

/// What a rank of another node than the first finisher's had done at `at_ns`: as much as its samples say, the running one by
/// its share of time.
fn done_at(record: &RankRecord, at_ns: u64, sample_interval_ns: u64) -> Done {
    let until = |samples: &[u64]| {
        let whole = (at_ns / sample_interval_ns) as usize;
        let before: u64 = samples.iter().take(whole).sum();
        let Some(&running) = samples.get(whole) else { return before };
        let begin_ns = whole as u64 * sample_interval_ns;
        // The last sample is as long as the rank worked.
        let length_ns = record.end_ns.saturating_sub(begin_ns).clamp(1, sample_interval_ns);
        let share = (at_ns - begin_ns).min(length_ns);
        before + (u128::from(running) * u128::from(share) / u128::from(length_ns)) as u64
    };
    Done { bytes: until(&record.sample_bytes), operations: until(&record.sample_operations) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_samples_a_rank_has_done_its_share_and_never_more_than_all() {
        let mut record: RankRecord = serde_json::from_value(serde_json::json!({
            "rank": 0, "node": 0, "start_ns": 0, "end_ns": 2_500, "open_ns": 0, "transfer_ns": 0, "fsync_ns": 0,
            "close_ns": 0, "bytes": 100, "operations": 10, "short_transfers": 0, "slowest_ns": 0, "at_stonewall": null,
            "usage": {"user_ns": 0, "system_ns": 0, "voluntary_switches": 0, "involuntary_switches": 0,
                "minor_faults": 0, "major_faults": 0, "peak_memory_bytes": 0, "device_read_bytes": null,
                "device_write_bytes": null},
            "sample_bytes": [40, 40, 20], "sample_operations": [4, 4, 2],
        }))
        .unwrap();
        let bytes = |record: &RankRecord, at_ns| done_at(record, at_ns, 1_000).bytes;
        assert_eq!([0, 500, 1_000, 2_250, 2_500, 9_000].map(|at_ns| bytes(&record, at_ns)), [0, 20, 40, 90, 100, 100]);
        record.sample_bytes.clear();
        assert_eq!(bytes(&record, 700), 0);
    }
}
