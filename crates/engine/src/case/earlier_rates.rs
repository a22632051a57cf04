//! Limits that only an earlier phase can tell.

use std::collections::BTreeMap;

use ioassay_protocol::plan::pace::{AtRateOf, Limit};
use ioassay_protocol::plan::{Job, Phase, Plan};
use serde::{Deserialize, Serialize};

use super::rank_report::RankReport;
use crate::plan::Sizes;
use crate::work::kind_of;

/// What all ranks of a job did, and how long the last of them took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Pace {
    /// Operations.
    pub operations: u64,
    /// Until the last rank was done.
    pub duration_ns: u64,
}

impl Pace {
    /// Of those who sent `reports`.
    pub fn of(reports: &[RankReport]) -> Self {
        let operations = reports.iter().map(|report| report.operations()).sum();
        let duration_ns = reports.iter().map(|report| report.end_ns()).max().unwrap_or(0);
        Self { operations, duration_ns }
    }

    /// Operations of each of `ranks` ranks in `duration_ns`, in whole rounds of `round`; at least one round.
    fn operations_per_rank(self, duration_ns: u64, ranks: u32, round: u64) -> u64 {
        let all = u128::from(self.operations) * u128::from(duration_ns) / u128::from(self.duration_ns.max(1));
        let per_rank = u64::try_from(all / u128::from(ranks.max(1))).unwrap_or(u64::MAX);
        (per_rank / round * round).max(round)
    }
}

/// What the jobs did by whose rates later ones are limited, by step.
#[derive(Debug, Default)]
pub(super) struct EarlierRates(BTreeMap<u32, Pace>);

impl EarlierRates {
    /// True if a job of `plan` asks for what was done in step `step`.
    pub fn are_asked_for(plan: &Plan, step: u32) -> bool {
        plan.jobs().any(|job| job.limit.at_rate_of.is_some_and(|earlier| earlier.step == step))
    }

    /// Keeps what was done in step `step`.
    pub fn note(&mut self, step: u32, pace: Pace) {
        self.0.insert(step, pace);
    }

    /// `phase` of `plan` with numbers in the place of rates of earlier jobs; `None` where it has them already.
    pub fn apply_to(&self, plan: &Plan, phase: &Phase) -> Option<Phase> {
        let with_rate = |job: &Job| {
            let Some(AtRateOf { step, duration_ns }) = job.limit.at_rate_of else { return job.clone() };
            let pace = self.0[&step];
            let (ranks, round) = (plan.workers(job).count, kind_of(&job.work).round_operations(plan));
            let operations = pace.operations_per_rank(duration_ns, ranks, round);
            let most = job.limit.operations_per_rank.unwrap_or(u64::MAX);
            let limit = Limit { at_rate_of: None, operations_per_rank: Some(operations.min(most)), ..job.limit };
            Job { limit, ..job.clone() }
        };
        let open = phase.jobs.iter().any(|job| job.limit.at_rate_of.is_some());
        open.then(|| Phase { jobs: phase.jobs.iter().map(with_rate).collect(), ..phase.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_and_a_time_make_whole_rounds_and_at_least_one() {
        let pace = Pace { operations: 3000, duration_ns: 2_000_000_000 };
        assert_eq!(pace.operations_per_rank(1_000_000_000, 2, 1), 750);
        assert_eq!(pace.operations_per_rank(1_000_000_000, 2, 100), 700);
        assert_eq!(pace.operations_per_rank(1_000, 2, 100), 100);
        assert_eq!(Pace { operations: 0, duration_ns: 0 }.operations_per_rank(1, 1, 1), 1);
        let endless = Pace { operations: u64::MAX, duration_ns: 1 };
        assert_eq!(endless.operations_per_rank(u64::MAX, 1, 1), u64::MAX);
    }
}
