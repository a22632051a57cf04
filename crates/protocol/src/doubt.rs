//! Doubts: typed reasons not to believe a number, each with its evidence and its remedy.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A doubt as it is stored beside the measurement that it concerns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// What is wrong, with the evidence.
    #[serde(flatten)]
    pub reason: Reason,
    /// True if the number must not be used at all; false if it can be used with care.
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
        /// Bytes of the file set in the page cache before the phase; only those that it read, if a limit ended it.
        resident_bytes: u64,
        /// Size of the file set, or of the part that was read.
        file_set_bytes: u64,
        /// The nodes with resident pages, the one with most first.
        #[serde(default)]
        hosts: Vec<String>,
    },
    /// Page-cache residency before the read is unknown: it could not be measured, or something beside
    /// the nodes' own page cache may hold the data.
    CacheUnknown {
        /// Why it is unknown.
        because: String,
    },
    /// The device under the file system moved far less data than a cold read, or a synced write, should have moved:
    /// data was read or overwritten in memory, or was never written.
    DeviceMovedLess {
        /// Bytes that the ranks moved.
        bytes: u64,
        /// Bytes read from or written to the device for them.
        device_bytes: u64,
        /// The device.
        device: String,
    },
    /// The phase went through its files several times, and how much of that reached the storage is unknown: later passes
    /// may have been served by the page cache.
    RepeatedPasses {
        /// Bytes that the ranks moved.
        bytes: u64,
        /// Bytes that they move in one pass.
        pass_bytes: u64,
        /// Memory of all nodes.
        memory_bytes: u64,
    },
    /// The node that accessed the items had created them, so their attributes may still have been cached there.
    AttributesCached {
        /// Items that were accessed.
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
    /// Empty files or directories were created without a sync: they may still be in memory, in an uncommitted journal.
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
    /// Ranks started far apart after the barrier.
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
    /// At the stonewall, one rank had done far more than another, so the rate is an average of unequal ranks.
    Imbalance {
        /// Operations of the rank that had done least.
        least_operations: u64,
        /// Operations of the rank that had done most.
        most_operations: u64,
        /// The rank that had done least.
        slowest_rank: u32,
    },
    /// Other activity used resources that the phase needed.
    Disturbed {
        /// What it was. Each kind is listed once, for the node that it affected most.
        by: Vec<Disturbance>,
    },
    /// More ranks than processors: scheduling affects every figure.
    Oversubscribed {
        /// Ranks on the machine.
        ranks: u32,
        /// Processors that they may use.
        processors: u32,
    },
    /// The clients ran on fewer nodes than there are clients, so they shared cache and network link.
    SharedNode {
        /// Clients of the plan.
        clients: u32,
        /// Nodes that took part.
        nodes: u32,
    },
    /// Nodes were hosts of one machine, such as containers or hosts of a lab: they shared processors and memory.
    SharedMachine {
        /// Nodes that took part.
        nodes: u32,
        /// Machines that they ran on.
        machines: u32,
    },
    /// The clock's resolution is too coarse for the operations that it timed.
    CoarseClock {
        /// Resolution of the clock.
        resolution_ns: u64,
        /// Median latency that it measured.
        median_ns: u64,
    },
    /// The clocks of two nodes drifted apart during the phase, so the rates of different nodes are not comparable.
    ClockDrift {
        /// The drift that is certain, given the uncertainty of the measurement.
        drift_ns: u64,
        /// The largest drift without this doubt.
        allowed_ns: u64,
    },
    /// The clocks of two nodes could not be compared accurately enough to place their samples on one timeline.
    ClockUncertain {
        /// The possible error of a timestamp.
        uncertainty_ns: u64,
        /// The largest uncertainty without this doubt.
        allowed_ns: u64,
    },
    /// Operations took longer than a sample interval, so the timeline shows gaps where I/O was in progress.
    LateSamples {
        /// The slowest operation.
        slowest_ns: u64,
        /// Length of the sample interval.
        sample_interval_ns: u64,
    },
    /// Fewer bytes were moved than planned.
    MissingBytes {
        /// Bytes moved.
        moved_bytes: u64,
        /// Bytes planned.
        planned_bytes: u64,
    },
    /// No operation completed, so the rate of 0 says nothing about the storage.
    NothingDone {
        /// How long the phase took.
        duration_ns: u64,
    },
    /// No operation of any rank ended for a while, and at least one was under way: the storage stalled, or what leads to it.
    Stalled {
        /// How long: whole sample intervals in which nothing ended.
        stalled_ns: u64,
        /// When that began, since the start of the phase.
        begin_ns: u64,
        /// The slowest operation.
        slowest_ns: u64,
    },
    /// The run was suspended during the phase, or did not run at all, so its rates and latencies count a pause.
    Suspended {
        /// How long, of the rank that was suspended longest.
        suspended_ns: u64,
        /// When that began first, since the start of the phase.
        begin_ns: u64,
        /// How many times.
        times: u32,
    },
    /// Calls moved fewer bytes than requested and had to be repeated.
    ShortTransfers {
        /// How many calls.
        calls: u64,
    },
    /// The server's certificate was not verified, because the target's URL says so: any server may have answered.
    UnverifiedServer,
    /// Requests failed for the moment and were repeated, so latencies contain the failed tries and the pauses between them.
    Retried {
        /// Requests that were repeated.
        requests: u64,
        /// The same by the reason, for example `HTTP 503 SlowDown`.
        by: BTreeMap<String, u64>,
    },
    /// Part of what was read was never written: holes, or extents that were only allocated. The file system returns
    /// zeros for them without reading anything.
    Unwritten {
        /// Bytes that hold no data.
        unwritten_bytes: u64,
        /// Bytes to read.
        bytes: u64,
    },
    /// The data could be compressed or deduplicated, so less may have been stored than counted.
    ReduciblePayload {
        /// What the data was; `unknown` for files that the case read but did not write.
        content: String,
    },
    /// A rank spent so much time generating data that the rate is partly that of its processor.
    PayloadBound {
        /// The rank with the largest share.
        rank: u32,
        /// Its time generating data.
        fill_ns: u64,
        /// Its time from start to end.
        worked_ns: u64,
    },
    /// A job could not keep the rate that the plan sets.
    RateNotKept {
        /// The rate of the plan.
        given_per_s: f64,
        /// The rate reached.
        reached_per_s: f64,
        /// `bytes/s` or `operations/s`.
        unit: String,
    },
    /// The rate is what the plan allows, not what the storage can do.
    Paced {
        /// What limited it.
        because: String,
    },
    /// Data was verified within the measured time.
    VerificationTimed,
    /// Data was verified that is the same in every transfer of a rank: what moved within a file would have passed.
    PositionsUnverified,
    /// The phase ended with an error.
    Failed {
        /// The error as a sentence.
        error: String,
    },
}

/// Activity on one node that used what a phase needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// What it was.
    pub what: Disturber,
    /// The node.
    pub host: String,
    /// How much: bytes for the first three kinds, nanoseconds for processors, periods for quotas.
    pub amount: u64,
    /// The total that it is a part of.
    pub of: u64,
}

/// What can disturb a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disturber {
    /// Bytes written before the phase and written back during it, of all that the device or the ranks moved.
    WriteBack,
    /// Bytes that other processes read from the device, of all that it moved.
    OthersRead,
    /// Bytes that other processes wrote to the device, of all that it moved.
    OthersWrote,
    /// Periods in which the quota of processor time was exhausted, of all periods.
    Quota,
    /// Processor time that the hypervisor gave to other guests, of the ranks' time.
    Steal,
    /// Time that ranks spent waiting for processors used by other processes, of the ranks' time.
    Processors,
}
