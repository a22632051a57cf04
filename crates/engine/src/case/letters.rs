//! What is written down of a phase: each rank's letter to rank 0, and the records that rank 0 makes of all of them.
//!
//! Not here: what ranks do in a phase ([`super::phase`]), and how records are combined ([`crate::measure::phase`]).

use ioassay_contract::events::{Event, RankRecord, Usage};
use ioassay_contract::plan::{Job, Operation, Phase};
use serde::{Deserialize, Serialize};

use super::Rank;
use super::phase::Did;
use crate::measure::doubts::{self, Facts};
use crate::measure::phase::{Circumstances, RankResult, combine};
use crate::plan::Sizes;
use crate::ranks::{Ranks, Start};

/// What a rank sends to rank 0 when its job has ended. A rank without a job sends none.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Letter {
    /// Number of the job in its phase.
    pub job: usize,
    /// By lane and operation.
    results: Vec<(usize, Operation, RankResult)>,
    /// Entries that matched.
    matched: Option<u64>,
    /// As in [`Did`].
    pub written: Option<u64>,
}

impl Letter {
    /// Operations of all kinds.
    pub fn operations(&self) -> u64 {
        self.results.iter().map(|(_, _, result)| result.record.operations).sum()
    }

    /// When the rank was done, since the barrier opened.
    pub fn end_ns(&self) -> u64 {
        self.results.iter().map(|(_, _, result)| result.record.end_ns).max().unwrap_or(0)
    }
}

impl<R: Ranks> Rank<'_, R> {
    /// What this rank did in job number `job`, for rank 0.
    pub(super) fn letter(&self, job: usize, did: Did, start: Start, end_ns: u64, usage: Usage) -> Letter {
        let Did { lanes, ran, times, short_transfers, complete, matched, written, .. } = did;
        let complete = complete && did.failure.is_none();
        let mut recorded: Vec<_> = ran.recorded.into_iter().map(Some).collect();
        let results = lanes
            .into_iter()
            .filter_map(|(lane, operation)| {
                let recorded = recorded[lane].take()?;
                let record = RankRecord {
                    rank: self.ranks.rank(),
                    node: self.case.node_of(self.ranks.rank()),
                    start_ns: start.left_ns - start.opened_ns,
                    end_ns: end_ns - start.opened_ns,
                    open_ns: times.open,
                    transfer_ns: times.transfer,
                    fsync_ns: times.fsync,
                    close_ns: times.close,
                    bytes: recorded.bytes,
                    operations: recorded.operations,
                    short_transfers,
                    slowest_ns: recorded.slowest_ns,
                    at_stonewall: ran.at_stonewall.map(|lanes| lanes[lane]),
                    at_first_finish: None,
                    usage,
                    sample_bytes: recorded.sample_bytes,
                    sample_operations: recorded.sample_operations,
                };
                Some((lane, operation, RankResult { record, complete, latencies: recorded.latencies.buckets() }))
            })
            .collect();
        Letter { job, results, matched, written }
    }

    /// Writes the records of one job as rank 0.
    #[expect(clippy::too_many_arguments, reason = "what is known of a job comes from everywhere")]
    pub(super) fn report(
        &mut self,
        step: u32,
        phase: &Phase,
        (index, job): (usize, &Job),
        started_unix_ns: u64,
        start: Start,
        resident_bytes_before: Option<u64>,
        letters: &[Letter],
    ) {
        let own: Vec<&Letter> = letters.iter().filter(|letter| letter.job == index).collect();
        let Some(first) = own.first() else { return };
        let failure = self.ranks.failure();
        let members = self.case.plan.workers(job);
        let finished = self.ranks.first_finished(index, members);
        for (nth, &(lane, operation, _)) in first.results.iter().enumerate() {
            let mut results: Vec<RankResult> = own.iter().map(|letter| letter.results[nth].2.clone()).collect();
            for RankResult { record, .. } in &mut results {
                let member = members.member(record.rank).map(|member| member as usize);
                record.at_first_finish =
                    member.zip(finished.as_ref()).and_then(|(member, first)| Some(first.done.get(member)?[lane]));
            }
            let found = Circumstances {
                step,
                operation,
                started_unix_ns,
                first_finished: finished.as_ref().map(|first| (first.at_ns - start.opened_ns, first.all(lane))),
                resident_bytes_before: resident_bytes_before.filter(|_| operation == Operation::Read),
                matched: own.iter().filter_map(|letter| letter.matched).reduce(|sum, own| sum + own),
            };
            let (mut record, median_ns) = combine(self.case.plan, phase, job, found, results);
            record.complete &= failure.is_none();
            record.doubts = doubts::about(Facts {
                plan: self.case.plan,
                job,
                capabilities: self.case.capabilities(self.case.plan.storage_of(job)),
                nodes: self.case.nodes,
                record: &record,
                median_ns,
                failure: failure.as_ref(),
            });
            self.write(&Event::Phase(Box::new(record)));
        }
    }
}
