//! Doubts about amounts: too little was done, or in too short a time, or not at once.

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_units::{Bytes, Nanoseconds, count};

use super::facts::{Facts, doubt, invalid};
use crate::plan::Sizes;

/// A phase shorter than this is dominated by start, finish and scheduling.
pub const SHORTEST_PHASE_NS: u64 = 1_000_000_000;

pub(super) fn failed(facts: Facts<'_>) -> Option<Doubt> {
    let failure = facts.failure?;
    let message = format!("the phase ended with an error: {}", failure.message);
    invalid(Reason::Failed { error: failure.message.clone() }, message, &failure.remedy)
}

pub(super) fn missing_bytes(facts: Facts<'_>) -> Option<Doubt> {
    let (moved_bytes, planned_bytes) = (facts.record.bytes, facts.plan.moved_bytes(facts.job));
    if facts.record.complete || facts.failure.is_some() || facts.data().is_none() {
        return None;
    }
    let message =
        format!("only {} of the planned {} were moved", Bytes(moved_bytes).about(), Bytes(planned_bytes).about());
    invalid(Reason::MissingBytes { moved_bytes, planned_bytes }, message, "repeat the case and let it finish")
}

pub(super) fn nothing_done(facts: Facts<'_>) -> Option<Doubt> {
    let duration_ns = facts.record.duration_ns;
    if facts.record.operations > 0 || facts.failure.is_some() || missing_bytes(facts).is_some() {
        return None;
    }
    let duration = Nanoseconds(duration_ns).about();
    let message = format!("no operation completed in {duration}: a rate of 0 says nothing about the storage");
    let remedy = "allow more time or operations (stonewall, limit, rate), or check that there are files to work on";
    invalid(Reason::NothingDone { duration_ns }, message, remedy)
}

pub(super) fn short_phase(facts: Facts<'_>) -> Option<Doubt> {
    let (duration_ns, wanted_ns) = (facts.record.duration_ns, SHORTEST_PHASE_NS);
    if duration_ns >= wanted_ns {
        return None;
    }
    let message = format!("the phase took only {}", Nanoseconds(duration_ns).about());
    doubt(Reason::ShortPhase { duration_ns, wanted_ns }, message, "move more data: a larger total or larger files")
}

pub(super) fn short_transfers(facts: Facts<'_>) -> Option<Doubt> {
    let calls = facts.record.ranks.iter().map(|rank| rank.short_transfers).sum();
    if calls == 0 {
        return None;
    }
    let message = format!("{} moved fewer bytes than requested; further calls moved the rest", count(calls, "call"));
    doubt(Reason::ShortTransfers { calls }, message, "check for a full device, a signal, or a file system limit")
}
