//! Doubts about clocks: too coarse, going apart, or not comparable between nodes.

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::NodeClock;
use ioassay_units::Nanoseconds;

use super::facts::{Facts, doubt};

/// Clocks that go apart by more than this share of a phase bend the rates that they give.
const DRIFT_SHARE: f64 = 0.001;

/// An instant that may be wrong by more than this share of a sample belongs to another sample.
const MISPLACED_SHARE: f64 = 0.1;

pub(super) fn clock_drift(facts: Facts<'_>) -> Option<Doubt> {
    let drift_ns = facts.record.clocks.iter().map(NodeClock::sure_drift_ns).max()?;
    let allowed_ns = (facts.record.duration_ns as f64 * DRIFT_SHARE) as u64;
    if drift_ns <= allowed_ns {
        return None;
    }
    let [drift, duration] = [drift_ns, facts.record.duration_ns].map(|ns| Nanoseconds(ns).about());
    let message = format!("the clocks of two nodes drifted apart by {drift} in {duration}");
    doubt(
        Reason::ClockDrift { drift_ns, allowed_ns },
        message,
        "check time synchronisation on all nodes (chronyc tracking)",
    )
}

pub(super) fn clock_uncertain(facts: Facts<'_>) -> Option<Doubt> {
    let of = |clock: &NodeClock| clock.uncertainty_ns.max(clock.uncertainty_after_ns);
    let uncertainty_ns = facts.record.clocks.iter().map(of).max()?;
    let allowed_ns = (facts.record.sample_interval_ns as f64 * MISPLACED_SHARE) as u64;
    if uncertainty_ns <= allowed_ns {
        return None;
    }
    let uncertainty = Nanoseconds(uncertainty_ns).about();
    let message = format!(
        "the nodes' clocks can be compared only to within {uncertainty}, so samples may be in the wrong interval"
    );
    let remedy = "keep other load off the nodes and the network between them";
    doubt(Reason::ClockUncertain { uncertainty_ns, allowed_ns }, message, remedy)
}

pub(super) fn late_samples(facts: Facts<'_>) -> Option<Doubt> {
    let slowest_ns = facts.record.ranks.iter().map(|rank| rank.slowest_ns).max()?;
    let sample_interval_ns = facts.record.sample_interval_ns;
    if slowest_ns <= sample_interval_ns {
        return None;
    }
    let message = format!(
        "an operation took {}, longer than the sample interval of {}: the timeline counts it in the interval in which \
         it ended",
        Nanoseconds(slowest_ns).about(),
        Nanoseconds(sample_interval_ns).about(),
    );
    let remedy = "look for the stall in the timeline; use smaller transfers or a longer sample interval";
    doubt(Reason::LateSamples { slowest_ns, sample_interval_ns }, message, remedy)
}

pub(super) fn coarse_clock(facts: Facts<'_>) -> Option<Doubt> {
    let resolution_ns = facts.nodes.iter().map(|node| node.clock.resolution_ns).max()?;
    let median_ns = facts.median_ns;
    if facts.record.operations == 0 || median_ns >= 10 * resolution_ns {
        return None;
    }
    let message = format!(
        "the clock's resolution of {} is too coarse for a median latency of {}",
        Nanoseconds(resolution_ns).about(),
        Nanoseconds(median_ns).about(),
    );
    let remedy = "use the rate, which is exact, instead of the latencies";
    doubt(Reason::CoarseClock { resolution_ns, median_ns }, message, remedy)
}
