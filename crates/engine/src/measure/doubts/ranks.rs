//! Doubts about ranks: that they started, worked and finished unlike each other, or on fewer machines than it looks.

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::RankRecord;
use ioassay_units::{Nanoseconds, count};

use super::facts::{Facts, doubt};
use crate::plan::Sizes;

/// Ranks that start within this are together.
const START_TOGETHER_NS: u64 = 1_000_000;

/// Above this share of the phase between the first and the last rank's end, the rate is the straggler's.
const STRAGGLING_SHARE: f64 = 0.1;

/// From so many times as much work of one rank as of another when the stonewall came, ranks were not alike.
const IMBALANCE: f64 = 1.5;

pub(super) fn finish_spread(facts: Facts<'_>) -> Option<Doubt> {
    let (spread_ns, duration_ns) = (facts.record.finish_spread_ns, facts.record.duration_ns);
    if spread_ns as f64 <= STRAGGLING_SHARE * duration_ns as f64 {
        return None;
    }
    let last = facts.record.ranks.iter().max_by_key(|rank| rank.end_ns)?;
    let (slowest_rank, operations) = (last.rank, last.operations);
    let mut all: Vec<u64> = facts.record.ranks.iter().map(|rank| rank.operations).collect();
    all.sort_unstable();
    let usual = all[(all.len() - 1) / 2];
    let [spread, duration] = [spread_ns, duration_ns].map(|ns| Nanoseconds(ns).about());
    let apart = format!("ranks finished {spread} apart in a phase of {duration}");
    // After a write that a stonewall ended, ranks read unlike amounts, and who has most to read may well be the fastest.
    let (message, remedy) = if operations as f64 > (1.0 + STRAGGLING_SHARE) * usual as f64 {
        let had = format!("{} where others had {usual}", count(operations, "operation"));
        let message =
            format!("{apart}: the rate is that of the last, rank {slowest_rank}, which had more to do ({had})");
        (
            message,
            "give all ranks the same amount: with wear-out, a write ended by a stonewall leaves the same amount to \
             each",
        )
    } else {
        let message = format!("{apart}: the rate is that of the slowest, rank {slowest_rank}");
        (message, "use the first-finished rate, and check that rank's node, server and disk")
    };
    doubt(Reason::FinishSpread { spread_ns, duration_ns, slowest_rank }, message, remedy)
}

/// A stonewall ends all ranks at once, so that a slow one shows in what it has done.
pub(super) fn imbalance(facts: Facts<'_>) -> Option<Doubt> {
    facts.record.stonewall.as_ref().filter(|_| !facts.job.limit.wear_out)?;
    let done = |rank: &RankRecord| rank.at_stonewall.map_or(rank.operations, |done| done.operations);
    let slowest = facts.record.ranks.iter().min_by_key(|rank| done(rank))?;
    let (least_operations, slowest_rank) = (done(slowest), slowest.rank);
    let most_operations = facts.record.ranks.iter().map(done).max()?;
    // An operation more or less is nobody's fault.
    if most_operations.saturating_sub(1) as f64 <= IMBALANCE * (least_operations + 1) as f64 {
        return None;
    }
    let message = format!(
        "at the stonewall, rank {slowest_rank} had done {} and the fastest rank {most_operations}",
        count(least_operations, "operation"),
    );
    let remedy = "check that rank's node, link, server and disk; with wear-out all ranks do the same work";
    doubt(Reason::Imbalance { least_operations, most_operations, slowest_rank }, message, remedy)
}

pub(super) fn start_spread(facts: Facts<'_>) -> Option<Doubt> {
    let (spread_ns, allowed_ns) = (facts.record.start_spread_ns, START_TOGETHER_NS);
    if spread_ns <= allowed_ns {
        return None;
    }
    let message = format!("ranks started {} apart", Nanoseconds(spread_ns).about());
    doubt(Reason::StartSpread { spread_ns, allowed_ns }, message, "keep other work off the nodes")
}

pub(super) fn shared_node(facts: Facts<'_>) -> Option<Doubt> {
    let (clients, nodes) = (facts.plan.ranks.clients, facts.nodes.len() as u32);
    if clients <= nodes {
        return None;
    }
    let message = format!(
        "{clients} clients were processes on {}: they shared cache, memory and network link",
        count(nodes, "node")
    );
    let remedy = "read the clients as processes of one node, or run on as many nodes as there are clients";
    doubt(Reason::SharedNode { clients, nodes }, message, remedy)
}

pub(super) fn shared_machine(facts: Facts<'_>) -> Option<Doubt> {
    let (nodes, machines) = (facts.nodes.len() as u32, facts.machines());
    if nodes <= machines {
        return None;
    }
    let message =
        format!("{nodes} nodes were hosts of {}: they shared its processors and memory", count(machines, "machine"));
    let remedy = "read the clients as hosts of one machine, or run on as many machines as there are clients";
    doubt(Reason::SharedMachine { nodes, machines }, message, remedy)
}

pub(super) fn oversubscribed(facts: Facts<'_>) -> Option<Doubt> {
    let ranks = facts.plan.rank_count().div_ceil(facts.machines().max(1));
    let processors = facts.nodes.iter().map(|node| node.processors).min()?;
    if ranks <= processors {
        return None;
    }
    let message = format!("{ranks} ranks shared {}", count(processors, "processor"));
    doubt(Reason::Oversubscribed { ranks, processors }, message, "use at most as many ranks per node as processors")
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::events::{Done, PhaseRecord, Stonewall};
    use ioassay_protocol::plan::Operation;
    use serde_json::{Value, json};

    use super::super::given;
    use super::*;
    use crate::measure::records;

    const SECOND_NS: u64 = 1_000_000_000;

    /// The imbalance of ranks that had done so many operations when the stonewall came: least, most, and whose the least is.
    fn unlike(operations: &[u64], limit: Value) -> Option<(u64, u64, u32)> {
        let at_stonewall = |&operations: &u64| Some(Done { bytes: operations, operations });
        let of = |(rank, operations)| RankRecord { at_stonewall: at_stonewall(operations), ..records::rank(rank) };
        let ranks = (0..).zip(operations).map(of).collect();
        let least_and_most = (*operations.iter().min()?, *operations.iter().max()?);
        let stonewall = Stonewall {
            at_ns: SECOND_NS,
            bytes: 0,
            operations: 0,
            least_operations: least_and_most.0,
            most_operations: least_and_most.1,
        };
        let record = PhaseRecord { stonewall: Some(stonewall), ..records::phase("write", Operation::Write, ranks) };
        let plan = given::plan(operations.len(), json!("at-end"), limit);
        match imbalance(given::facts(&plan, &[], &record))?.reason {
            Reason::Imbalance { least_operations, most_operations, slowest_rank } => {
                Some((least_operations, most_operations, slowest_rank))
            }
            _ => None,
        }
    }

    #[test]
    fn a_rank_that_a_stonewall_found_far_behind_is_named() {
        let walled = json!({"stonewall_ns": SECOND_NS});
        assert_eq!(unlike(&[470, 100, 460, 450], walled.clone()), Some((100, 470, 1)));
        assert_eq!(unlike(&[470, 400, 460, 450], walled.clone()), None);
        assert_eq!(unlike(&[3, 2, 2, 2], walled), None, "an operation more or less");
        let worn_out = json!({"stonewall_ns": SECOND_NS, "wear_out": true});
        assert_eq!(unlike(&[470, 100, 460, 450], worn_out), None, "all do the same work in the end");
    }

    /// The message about ranks that ended after so many seconds with so many operations.
    fn apart(ranks: &[(u64, u64)]) -> String {
        let of = |(number, &(seconds, operations))| RankRecord {
            end_ns: seconds * SECOND_NS,
            operations,
            ..records::rank(number)
        };
        let record = records::phase("read", Operation::Read, (0..).zip(ranks).map(of).collect());
        let finish_spread_ns = record.duration_ns - record.ranks.iter().map(|rank| rank.end_ns).min().unwrap_or(0);
        let record = PhaseRecord { finish_spread_ns, ..record };
        let plan = given::plan(ranks.len(), json!("at-end"), json!({}));
        finish_spread(given::facts(&plan, &[], &record)).map(|doubt| doubt.message).unwrap_or_default()
    }

    #[test]
    fn a_rank_that_was_last_because_it_had_more_to_do_is_not_called_the_slowest() {
        assert!(apart(&[(10, 100), (10, 100), (20, 100)]).ends_with("that of the slowest, rank 2"));
        let message = apart(&[(10, 100), (10, 100), (20, 210)]);
        assert!(message.ends_with("rank 2, which had more to do (210 operations where others had 100)"), "{message}");
        assert_eq!(apart(&[(20, 100), (20, 100), (21, 100)]), "");
    }
}
