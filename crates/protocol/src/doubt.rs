//! Doubts: typed reasons not to believe a number, each with its evidence and its remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A doubt as it is stored beside the measurement that it concerns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// What is wrong, with the evidence.
    #[serde(flatten)]
    pub reason: Reason,
    /// True where the number must not be used at all; false where it can be used with care.
    pub invalidates: bool,
    /// The doubt as a sentence that names the evidence.
    pub message: String,
    /// What to do to get a number without this doubt.
    pub remedy: String,
}

/// The kinds of doubt, each with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "evidence", rename_all = "kebab-case")]
pub enum Reason {
    /// Part of the file set was in the page cache before a read phase.
    CacheResident {
        /// Bytes of the file set in the page cache before the phase; of what was read of it, where a limit ended the phase.
        resident_bytes: u64,
        /// Size of the file set, or of what was read of it.
        file_set_bytes: u64,
        /// The nodes in whose memory it was, the one with most first.
        #[serde(default)]
        hosts: Vec<String>,
    },
    /// Nobody knows how much of what was read was in memory: nothing could measure it, or others than the nodes may hold it.
    CacheUnknown {
        /// Why nothing is known.
        because: String,
    },
    /// The device under the file system moved far less than a cold read or a write that was forced to it claims: something was
    /// read or written again and again in memory, or was never written.
    DeviceMovedLess {
        /// Bytes that the ranks moved.
        bytes: u64,
        /// Bytes that came from the device for them, or went to it.
        device_bytes: u64,
        /// The device.
        device: String,
    },
    /// The attributes of what was looked at were still in the memory of the node that asked, since it created them.
    AttributesCached {
        /// Items that were looked at.
        items: u64,
        /// By how many ranks the job was shifted from those that created the items.
        shift: u32,
    },
    /// The target keeps its data in memory.
    MemoryBacked {
        /// File system type, for example `tmpfs`.
        file_system: String,
    },
    /// A write phase ended without fsync: the data may still be in memory.
    UnsyncedWrite {
        /// Bytes that the phase wrote.
        written_bytes: u64,
    },
    /// Empty files or directories were created without a sync: they may still be in memory, in a journal that is not written.
    UnsyncedCreate {
        /// Items that the phase created.
        items: u64,
    },
    /// The phase was too short to average out start, finish and scheduling.
    ShortPhase {
        /// How long it took.
        duration_ns: u64,
        /// The shortest phase without this doubt.
        wanted_ns: u64,
    },
    /// Ranks left the barrier far apart.
    StartSpread {
        /// From the first start to the last.
        spread_ns: u64,
        /// The largest spread without this doubt.
        allowed_ns: u64,
    },
    /// Ranks finished far apart, so the last-finished rate measures the straggler.
    FinishSpread {
        /// From the first rank to finish to the last.
        spread_ns: u64,
        /// Length of the phase.
        duration_ns: u64,
        /// The rank that finished last.
        slowest_rank: u32,
    },
    /// When the stonewall came, one rank had done far more than another, so the rate is that of unlike ranks.
    Imbalance {
        /// Operations of the rank that had done least.
        least_operations: u64,
        /// Operations of the rank that had done most.
        most_operations: u64,
        /// The rank that had done least.
        slowest_rank: u32,
    },
    /// Something else used what the phase needed.
    Disturbed {
        /// What it was. Of nodes that the same happened to, the one to which most of it did.
        by: Vec<Disturbance>,
    },
    /// More ranks than processors: the scheduler takes part in every figure.
    Oversubscribed {
        /// Ranks on the machine.
        ranks: u32,
        /// Processors that they may use.
        processors: u32,
    },
    /// Several clients were asked for, but their ranks ran on fewer nodes and share cache and link.
    SharedNode {
        /// Clients of the plan.
        clients: u32,
        /// Nodes that took part.
        nodes: u32,
    },
    /// Nodes were hosts of one machine, such as containers or a lab's: what they did side by side they did on the same
    /// processors and memory.
    SharedMachine {
        /// Nodes that took part.
        nodes: u32,
        /// Machines that they were.
        machines: u32,
    },
    /// The clock's resolution is coarse against the operations that it timed.
    CoarseClock {
        /// Resolution of the clock.
        resolution_ns: u64,
        /// Median latency that it measured.
        median_ns: u64,
    },
    /// The clocks of two nodes went apart during the phase, so the rates that they give do not fit together.
    ClockDrift {
        /// By how much, as far as it is sure.
        drift_ns: u64,
        /// The largest drift without this doubt.
        allowed_ns: u64,
    },
    /// The clocks of two nodes could not be compared well enough for their samples to lie on one time line.
    ClockUncertain {
        /// By how much an instant may be wrong.
        uncertainty_ns: u64,
        /// The largest uncertainty without this doubt.
        allowed_ns: u64,
    },
    /// Operations took longer than a sample, so the timeline shows gaps that are none.
    LateSamples {
        /// The slowest operation.
        slowest_ns: u64,
        /// Length of a sample.
        sample_interval_ns: u64,
    },
    /// Fewer bytes were moved than planned.
    MissingBytes {
        /// Bytes moved.
        moved_bytes: u64,
        /// Bytes planned.
        planned_bytes: u64,
    },
    /// Not a single operation was done, so the rate of 0 says nothing about the storage.
    NothingDone {
        /// How long the phase took.
        duration_ns: u64,
    },
    /// Calls moved fewer bytes than asked and had to be repeated.
    ShortTransfers {
        /// How many calls.
        calls: u64,
    },
    /// Part of what was read was never written: holes, or extents that were only allocated. The file system makes zeros of
    /// them without reading anything.
    Unwritten {
        /// Bytes that hold no data.
        unwritten_bytes: u64,
        /// Bytes to read.
        bytes: u64,
    },
    /// The data could be compressed or deduplicated, so that less was stored than counted.
    ReduciblePayload {
        /// What the data was; `unknown` of files that were read and that the case has not written.
        content: String,
    },
    /// A rank spent so much time in making the bytes that it wrote that the rate is partly that of its processor.
    PayloadBound {
        /// The rank with the largest share.
        rank: u32,
        /// Its time in making bytes.
        fill_ns: u64,
        /// Its time from start to end.
        worked_ns: u64,
    },
    /// A job could not keep the rate that the plan gave it.
    RateNotKept {
        /// The rate of the plan.
        given_per_s: f64,
        /// The rate reached.
        reached_per_s: f64,
        /// `bytes/s` or `operations/s`.
        unit: String,
    },
    /// The rate is what the plan allowed and not what the storage can do.
    Paced {
        /// What held it back.
        because: String,
    },
    /// Data was compared while the clock ran.
    VerificationTimed,
    /// The phase ended with an error.
    Failed {
        /// The error as a sentence.
        error: String,
    },
}

/// Something that used what a phase needed, on one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// What it was.
    pub what: Disturber,
    /// The node.
    pub host: String,
    /// How much: bytes of the first three, nanoseconds of processors, periods of quotas.
    pub amount: u64,
    /// Of how much.
    pub of: u64,
}

/// What can disturb a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disturber {
    /// Bytes written before the phase that were still being written back in it; of all that its device moved, or its ranks.
    WriteBack,
    /// Bytes that others read from the device; of all that it moved.
    OthersRead,
    /// Bytes that others wrote to the device; of all that it moved.
    OthersWrote,
    /// Periods in which a quota of processor time was used up.
    Quota,
    /// Time of processors that a hypervisor gave to others; of the time that the ranks had.
    Steal,
    /// Time in which ranks waited for a processor while others' processes had it; of the time that the ranks had.
    Processors,
}
