//! Doubts about pace: the plan gave a job a rate or pauses.

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::plan::data::Transfer;
use ioassay_protocol::plan::pace::Rate;

use super::facts::{Facts, doubt};
use crate::work::kind_of;

/// Below this share of the intended operations a rate was not kept.
const RATE_KEPT_SHARE: f64 = 0.99;

/// What rate a job was given, in its own unit, and what it reached.
fn given_and_reached(facts: Facts<'_>) -> Option<(f64, f64, &'static str)> {
    let mixed = facts.data().is_some_and(|work| matches!(work.transfer, Transfer::Mixed(_)));
    let seconds = facts.record.duration_ns as f64 / 1e9;
    // Of a mix each operation has only its share of the rate.
    if mixed || seconds <= 0.0 {
        return None;
    }
    Some(match facts.job.rate? {
        Rate::BytesPerS(given) => (given as f64, facts.record.bytes as f64 / seconds, "bytes/s"),
        Rate::OperationsPerS(given) => (given as f64, facts.record.operations as f64 / seconds, "operations/s"),
    })
}

pub(super) fn rate_not_kept(facts: Facts<'_>) -> Option<Doubt> {
    let (given, reached, unit) = given_and_reached(facts)?;
    if reached >= RATE_KEPT_SHARE * given || facts.failure.is_some() {
        return None;
    }
    let message = format!(
        "the job reached {reached:.0} of the {given:.0} {unit} that the plan sets: latencies include the time spent \
         waiting"
    );
    let reason = Reason::RateNotKept { given_per_s: given, reached_per_s: reached, unit: unit.to_owned() };
    doubt(reason, message, "set a lower rate, or read the rate reached as the maximum of the storage")
}

pub(super) fn paced(facts: Facts<'_>) -> Option<Doubt> {
    let because = match (facts.job.rate, facts.job.think) {
        (None, None) => kind_of(&facts.job.work).is_paced_by()?.to_owned(),
        (Some(_), _) => "its plan sets a rate".to_owned(),
        (None, Some(_)) => "its plan sets think times".to_owned(),
    };
    let message = format!("the job was not run at full speed: {because}");
    doubt(Reason::Paced { because }, message, "use its latencies; measure throughput without a rate limit")
}
