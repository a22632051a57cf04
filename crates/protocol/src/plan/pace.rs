//! How much of its work a job does, and how fast.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of its work each rank of a job does. Whatever is reached first ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// Bytes that each rank moves at most; a multiple of the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_rank: Option<u64>,
    /// Operations that each rank does at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations_per_rank: Option<u64>,
    /// As many operations as an earlier job would have done in a given time, shared evenly by the ranks. Entries that
    /// are taken in the order `interleaved` are then as many in each directory, and at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_rate_of: Option<AtRateOf>,
    /// Stonewall: no rank begins an operation later than this after the start (IOR's `-D`, mdtest's `-W`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stonewall_ns: Option<u64>,
    /// After the stonewall every rank goes on until it has done as many operations as the one that did most.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wear_out: bool,
    /// Ranks that have done all their work repeat it until so much time has passed (fio's `time_based`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_ns: Option<u64>,
}

impl Limit {
    /// True if a rank may end before it has done all of its work.
    pub fn may_end_early(&self) -> bool {
        let Self { bytes_per_rank, operations_per_rank, at_rate_of, stonewall_ns, .. } = self;
        bytes_per_rank.is_some() || operations_per_rank.is_some() || at_rate_of.is_some() || stonewall_ns.is_some()
    }

    /// True if nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What an earlier job would have done in a given time, at the rate that it had until its last rank was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtRateOf {
    /// The step of the plan that it was in, a phase with one job that does one kind of operation.
    pub step: u32,
    /// How long, in nanoseconds.
    pub duration_ns: u64,
}

/// The rate of a job, shared evenly by its ranks. Operations have intended starts, evenly spaced; latency counts
/// from there ("open loop"), so that operations that had to wait behind a stall show it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Bytes per second of all ranks of the job together.
    BytesPerS(u64),
    /// Operations per second of all ranks of the job together.
    OperationsPerS(u64),
}

/// Pauses between operations. They count in the phase and not in the latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// How long each pause is, in nanoseconds.
    pub duration_ns: u64,
    /// After how many operations there is one.
    pub every_operations: u64,
}
