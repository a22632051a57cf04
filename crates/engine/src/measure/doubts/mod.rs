//! The engine doubts its own numbers: every way in which a phase's figures may be wrong, with evidence and remedy.
//!
//! Pure: facts in, doubts out. How to add one: `docs/development/engine.md`.

mod amounts;
mod clocks;
mod facts;
#[cfg(test)]
mod given;
mod memory;
mod others;
mod pace;
mod payload;
mod ranks;
mod requests;

use ioassay_protocol::doubt::Doubt;

pub use self::amounts::SHORTEST_PHASE_NS;
pub use self::facts::{Emptied, Facts, Unwritten};
pub use self::memory::COLD_SHARE;

/// All doubts about a phase, the most severe first.
pub fn about(facts: Facts<'_>) -> Vec<Doubt> {
    let raise: &[fn(Facts<'_>) -> Option<Doubt>] = &[
        amounts::failed,
        amounts::missing_bytes,
        amounts::suspended,
        amounts::nothing_done,
        amounts::stalled,
        memory::cache_resident,
        memory::cache_unknown,
        memory::device_moved_less,
        memory::repeated_passes,
        memory::attributes_cached,
        memory::memory_backed,
        memory::unsynced_write,
        memory::unsynced_create,
        requests::retried,
        requests::unverified_server,
        payload::unwritten,
        payload::reducible_payload,
        payload::payload_bound,
        pace::rate_not_kept,
        others::disturbed,
        ranks::finish_spread,
        ranks::imbalance,
        ranks::start_spread,
        amounts::short_phase,
        ranks::shared_node,
        ranks::shared_machine,
        ranks::oversubscribed,
        clocks::clock_drift,
        clocks::clock_uncertain,
        clocks::late_samples,
        clocks::coarse_clock,
        pace::paced,
        payload::verified,
        payload::positions_unverified,
        amounts::short_transfers,
    ];
    raise.iter().filter_map(|doubt| doubt(facts)).collect()
}
