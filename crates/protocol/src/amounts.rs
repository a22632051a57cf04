//! What the case of a plan amounts to, from the plan alone: what is done in one pass over each file set when nothing ends
//! it early. Under a stonewall that is the most there can be, under a minimum time the least.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Operation;

/// What a case does and leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseAmounts {
    /// Identifier of the case.
    pub case: String,
    /// Bytes of all files of file sets, and of what the items of trees hold.
    pub file_set_bytes: u64,
    /// Bytes that all phases together write.
    pub written_bytes: u64,
    /// True if a stonewall, or the rate of an earlier job, may end something before all of it is written.
    pub may_write_less: bool,
    /// True if a minimum time may let something be written more than once.
    pub may_write_again: bool,
    /// Every job, in the order of the plan.
    pub jobs: Vec<JobAmounts>,
}

/// What all ranks of a job do together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobAmounts {
    /// Name of its phase.
    pub phase: String,
    /// Name of the job.
    pub job: String,
    /// Ranks of the job.
    pub ranks: u32,
    /// What its operations do: a record of the phase for each.
    pub kinds: Vec<Operation>,
    /// How many operations; 0 of a walk, which finds what there is.
    pub operations: u64,
    /// Bytes that they move.
    pub bytes: u64,
    /// Files of the file set that it works on; 0 of other work.
    pub files: u64,
    /// Bytes of that file set, or of what the items of its tree hold.
    pub file_set_bytes: u64,
    /// Of a replay: its transfers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<TransferAmounts>,
}

/// The transfers of a replay in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferAmounts {
    /// Read or write.
    pub operation: Operation,
    /// Their sizes, ascending.
    pub sizes: Vec<SizeCount>,
    /// Of reads and writes, how many begin where the one before ended. Of those at random as many are counted as are to be
    /// expected.
    pub consecutive: u64,
    /// How many begin after that.
    pub forward: u64,
    /// How many begin before it.
    pub backward: u64,
}

/// Transfers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCount {
    /// Bytes of each.
    pub bytes: u64,
    /// How many.
    pub count: u64,
}
