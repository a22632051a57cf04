//! The engine doubts its own numbers: every way in which a phase's figures may be wrong, with evidence and remedy.
//!
//! Pure: facts in, doubts out. Adding a doubt is one variant in the contract and one function here.

use std::collections::BTreeSet;

use ioassay_contract::doubt::{Doubt, Reason};
use ioassay_contract::environment::Environment;
use ioassay_contract::events::{Failure, NodeClock, PhaseRecord};
use ioassay_contract::plan::data::{DataWork, Fsync, Payload, Transfer};
use ioassay_contract::plan::metadata::MetadataOperation;
use ioassay_contract::plan::pace::Rate;
use ioassay_contract::plan::storage::Target;
use ioassay_contract::plan::{Job, Operation, Plan, Step, Work};
use ioassay_units::{Bytes, Nanoseconds, count};

use crate::plan::Sizes;
use crate::storage::Capabilities;
use crate::workload::layout::Geometry;

/// A phase shorter than this is dominated by start, finish and scheduling.
const SHORTEST_PHASE_NS: u64 = 1_000_000_000;

/// Ranks that start within this are together.
const START_TOGETHER_NS: u64 = 1_000_000;

/// Above this share of the file set in memory, a read figure is partly memory's.
const RESIDENT_SHARE: f64 = 0.01;

/// A doubt names at most so many nodes; its evidence has all of them.
const HOSTS_NAMED: usize = 4;

/// Above this share of the phase between the first and the last rank's end, the rate is the straggler's.
const STRAGGLING_SHARE: f64 = 0.1;

/// Clocks that go apart by more than this share of a phase bend the rates that they give.
const DRIFT_SHARE: f64 = 0.001;

/// An instant that may be wrong by more than this share of a sample belongs to another sample.
const MISPLACED_SHARE: f64 = 0.1;

/// File systems that keep their data in memory.
const MEMORY_FILE_SYSTEMS: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

/// What the doubts are drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The job of the phase.
    pub job: &'a Job,
    /// What its storage API can do.
    pub capabilities: Capabilities,
    /// Every node.
    pub nodes: &'a [Environment],
    /// The figures.
    pub record: &'a PhaseRecord,
    /// Their median latency.
    pub median_ns: u64,
    /// The failure that ended the phase, if one did.
    pub failure: Option<&'a Failure>,
}

/// All doubts about a phase, the gravest first.
pub fn about(facts: Facts<'_>) -> Vec<Doubt> {
    let raise: [fn(Facts<'_>) -> Option<Doubt>; 21] = [
        failed,
        missing_bytes,
        cache_resident,
        cache_unknown,
        attributes_cached,
        memory_backed,
        unsynced_write,
        reducible_payload,
        rate_not_kept,
        finish_spread,
        start_spread,
        short_phase,
        shared_node,
        shared_machine,
        oversubscribed,
        clock_drift,
        clock_uncertain,
        late_samples,
        coarse_clock,
        paced,
        verified,
    ];
    let mut doubts: Vec<Doubt> = raise.iter().filter_map(|doubt| doubt(facts)).collect();
    doubts.extend(short_transfers(facts));
    doubts
}

fn doubt(reason: Reason, message: String, remedy: &str) -> Option<Doubt> {
    Some(Doubt { reason, invalidates: false, message, remedy: remedy.to_owned() })
}

fn invalid(reason: Reason, message: String, remedy: &str) -> Option<Doubt> {
    Some(Doubt { reason, invalidates: true, message, remedy: remedy.to_owned() })
}

fn failed(facts: Facts<'_>) -> Option<Doubt> {
    let failure = facts.failure?;
    let message = format!("the phase ended with an error: {}", failure.message);
    invalid(Reason::Failed { error: failure.message.clone() }, message, &failure.remedy)
}

impl Facts<'_> {
    /// How many machines the nodes are: hosts of one kernel are one.
    fn machines(&self) -> u32 {
        let known: BTreeSet<&str> = self.nodes.iter().filter_map(|node| node.boot_id.as_deref()).collect();
        let unknown = self.nodes.iter().filter(|node| node.boot_id.is_none()).count();
        (known.len() + unknown) as u32
    }

    /// True if the job goes past the page cache.
    fn direct(&self) -> bool {
        self.plan.storage_of(self.job).direct
    }

    /// The job's work, where it moves data.
    fn data(&self) -> Option<&DataWork> {
        if let Work::Data(work) = &self.job.work { Some(work) } else { None }
    }
}

fn missing_bytes(facts: Facts<'_>) -> Option<Doubt> {
    let (moved_bytes, planned_bytes) = (facts.record.bytes, facts.plan.moved_bytes(facts.job));
    if facts.record.complete || facts.failure.is_some() || facts.data().is_none() {
        return None;
    }
    let message = format!("{} of {} were moved", Bytes(moved_bytes).about(), Bytes(planned_bytes).about());
    invalid(Reason::MissingBytes { moved_bytes, planned_bytes }, message, "run the case again to its end")
}

fn cache_resident(facts: Facts<'_>) -> Option<Doubt> {
    let set = facts.plan.files.get(&facts.data()?.files)?;
    // What another job left in memory, one that goes past it does not read.
    let resident_bytes = facts.record.resident_bytes_before.filter(|_| !facts.direct())?;
    // A stonewall may have let far less be written than was planned; then all that is there was read.
    let planned_bytes = Geometry::of(set, facts.plan.rank_count()).bytes();
    // And several nodes may each hold what they all read.
    let file_set_bytes = planned_bytes.min(facts.record.bytes).max(resident_bytes).max(1);
    let share = resident_bytes as f64 / file_set_bytes as f64;
    if share <= RESIDENT_SHARE {
        return None;
    }
    let hosts = warm_hosts(facts);
    let message = format!(
        "{:.0} % of the file set ({} of {}) was in {} before the read",
        share * 100.0,
        Bytes(resident_bytes).about(),
        Bytes(file_set_bytes).about(),
        whose_memory(facts.nodes.len(), &hosts),
    );
    let remedy = "empty the caches before it (as root a cold-cache step does), remount in that step, or use a file set \
                  of twice the memory";
    doubt(Reason::CacheResident { resident_bytes, file_set_bytes, hosts }, message, remedy)
}

/// The nodes that held something of what they were to read, the one with most first.
fn warm_hosts(facts: Facts<'_>) -> Vec<String> {
    let held = &facts.record.resident_bytes_before_per_node;
    let mut warm: Vec<(u64, &str)> =
        held.iter().zip(facts.nodes).map(|(&bytes, node)| (bytes, node.host.as_str())).collect();
    warm.retain(|&(bytes, _)| bytes > 0);
    warm.sort_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
    warm.into_iter().map(|(_, host)| host.to_owned()).collect()
}

fn whose_memory(nodes: usize, hosts: &[String]) -> String {
    let (named, more) = hosts.split_at(hosts.len().min(HOSTS_NAMED));
    match more.len() {
        _ if nodes == 1 => "this node's memory".to_owned(),
        0 => format!("the memory of {}", named.join(", ")),
        more => format!("the memory of {} and {}", named.join(", "), count(more as u64, "other node")),
    }
}

fn cache_unknown(facts: Facts<'_>) -> Option<Doubt> {
    let measured = facts.record.resident_bytes_before.is_some();
    if facts.record.operation != Operation::Read || measured || !facts.capabilities.files || facts.data().is_none() {
        return None;
    }
    let because = "neither cachestat nor mincore could look at the files".to_owned();
    let message = format!("nobody knows how much of the file set was in memory before the read: {because}");
    doubt(Reason::CacheUnknown { because }, message, "use Linux 6.5 or newer, or a file set of twice the memory")
}

/// Stat and small reads are answered from the node's own memory unless something emptied it since the items were
/// created there.
fn attributes_cached(facts: Facts<'_>) -> Option<Doubt> {
    let Work::Metadata(work) = &facts.job.work else { return None };
    let looks = matches!(facts.record.operation, Operation::Stat | Operation::Read);
    // Of what lies behind a URL the node remembers nothing.
    if !looks || !facts.capabilities.files || matches!(facts.plan.target, Target::Url(_)) {
        return None;
    }
    let before = facts.plan.steps.get(..facts.record.step as usize)?;
    let emptied = before.iter().rev().find_map(|step| match step {
        Step::ColdCache(cold) => cold.attempts.iter().any(|way| way.forgets_attributes()).then_some(true),
        Step::Phase(phase) => phase.jobs.iter().any(|job| uses_tree(job, &work.tree)).then_some(false),
        Step::RemoveFiles { .. } | Step::Pause { .. } => None,
    });
    // Ranks follow each other client by client, so a shift by all of a client's ranks leads to another one.
    let other_node = facts.machines() > 1 && work.shift >= facts.plan.ranks.per_client;
    if emptied == Some(true) || other_node {
        return None;
    }
    let (items, shift) = (facts.record.operations, work.shift);
    let message = format!("the node had created what it looked at ({}) and may remember it", count(items, "item"));
    let remedy =
        "shift the job by the ranks of a client, on more than one node, or drop the caches or remount before it";
    doubt(Reason::AttributesCached { items, shift }, message, remedy)
}

fn uses_tree(job: &Job, tree: &str) -> bool {
    matches!(&job.work, Work::Metadata(work) if work.tree == tree)
}

fn memory_backed(facts: Facts<'_>) -> Option<Doubt> {
    let mount = facts.nodes.first()?.mount.as_ref()?;
    let file_system = mount.file_system.clone();
    if !facts.capabilities.files || !MEMORY_FILE_SYSTEMS.contains(&file_system.as_str()) {
        return None;
    }
    let message = format!("the target is {file_system}, so this is the speed of memory");
    doubt(Reason::MemoryBacked { file_system }, message, "choose a target on the storage that is to be measured")
}

fn unsynced_write(facts: Facts<'_>) -> Option<Doubt> {
    let written_bytes = facts.record.bytes;
    let (synced, remedy) = match &facts.job.work {
        Work::Data(work) if facts.record.operation == Operation::Write => {
            (work.fsync != Fsync::Never, "fsync at the end of the phase, counted in its time")
        }
        Work::Metadata(work) => match work.operation {
            MetadataOperation::Create { write_bytes: 1.., fsync, .. } | MetadataOperation::Write { fsync, .. } => {
                (fsync || work.sync_at_end, "fsync each file, or sync at the end, counted in its time")
            }
            MetadataOperation::Replace { bytes: 1.. } if facts.record.operation == Operation::Create => {
                (work.sync_at_end, "sync at the end, counted in its time")
            }
            _ => return None,
        },
        Work::Data(_) | Work::Find(_) => return None,
    };
    let kept = synced || facts.capabilities.synced_by_close;
    if kept || facts.direct() || !facts.capabilities.files {
        return None;
    }
    let message = format!("{} were written without fsync and may still be in memory", Bytes(written_bytes).about());
    doubt(Reason::UnsyncedWrite { written_bytes }, message, remedy)
}

fn finish_spread(facts: Facts<'_>) -> Option<Doubt> {
    let (spread_ns, duration_ns) = (facts.record.finish_spread_ns, facts.record.duration_ns);
    if spread_ns as f64 <= STRAGGLING_SHARE * duration_ns as f64 {
        return None;
    }
    let slowest_rank = facts.record.ranks.iter().max_by_key(|rank| rank.end_ns)?.rank;
    let message = format!(
        "ranks finished {} apart in a phase of {}: the rate is that of the slowest, rank {slowest_rank}",
        Nanoseconds(spread_ns).about(),
        Nanoseconds(duration_ns).about(),
    );
    let remedy = "look at the first-finished rate beside it, and at what that rank's node, server or disk does";
    doubt(Reason::FinishSpread { spread_ns, duration_ns, slowest_rank }, message, remedy)
}

fn start_spread(facts: Facts<'_>) -> Option<Doubt> {
    let (spread_ns, allowed_ns) = (facts.record.start_spread_ns, START_TOGETHER_NS);
    if spread_ns <= allowed_ns {
        return None;
    }
    let message = format!("ranks started {} apart", Nanoseconds(spread_ns).about());
    doubt(Reason::StartSpread { spread_ns, allowed_ns }, message, "keep other work off the nodes")
}

fn short_phase(facts: Facts<'_>) -> Option<Doubt> {
    let (duration_ns, wanted_ns) = (facts.record.duration_ns, SHORTEST_PHASE_NS);
    if duration_ns >= wanted_ns {
        return None;
    }
    let message = format!("the phase took only {}", Nanoseconds(duration_ns).about());
    doubt(Reason::ShortPhase { duration_ns, wanted_ns }, message, "move more data: a larger total or larger files")
}

fn shared_node(facts: Facts<'_>) -> Option<Doubt> {
    let (clients, nodes) = (facts.plan.ranks.clients, facts.nodes.len() as u32);
    if clients <= nodes {
        return None;
    }
    let message =
        format!("{clients} clients were processes on {}: they share cache, memory and link", count(nodes, "node"));
    let remedy = "read the sweep as processes, not as nodes, or run it on as many nodes as it has clients";
    doubt(Reason::SharedNode { clients, nodes }, message, remedy)
}

fn shared_machine(facts: Facts<'_>) -> Option<Doubt> {
    let (nodes, machines) = (facts.nodes.len() as u32, facts.machines());
    if nodes <= machines {
        return None;
    }
    let message =
        format!("{nodes} nodes were hosts of {}: they share its processors and memory", count(machines, "machine"));
    let remedy = "read the sweep as hosts, not as machines, or run it on as many machines as it has clients";
    doubt(Reason::SharedMachine { nodes, machines }, message, remedy)
}

fn oversubscribed(facts: Facts<'_>) -> Option<Doubt> {
    let ranks = facts.plan.rank_count().div_ceil(facts.machines().max(1));
    let processors = facts.nodes.iter().map(|node| node.processors).min()?;
    if ranks <= processors {
        return None;
    }
    let message = format!("{ranks} ranks shared {}", count(processors, "processor"));
    doubt(Reason::Oversubscribed { ranks, processors }, message, "use at most as many ranks per node as processors")
}

fn clock_drift(facts: Facts<'_>) -> Option<Doubt> {
    let drift_ns = facts.record.clocks.iter().map(NodeClock::sure_drift_ns).max()?;
    let allowed_ns = (facts.record.duration_ns as f64 * DRIFT_SHARE) as u64;
    if drift_ns <= allowed_ns {
        return None;
    }
    let [drift, duration] = [drift_ns, facts.record.duration_ns].map(|ns| Nanoseconds(ns).about());
    let message = format!("the clocks of two nodes went apart by {drift} in {duration}");
    doubt(Reason::ClockDrift { drift_ns, allowed_ns }, message, "see that time is kept on all nodes (chronyc tracking)")
}

fn clock_uncertain(facts: Facts<'_>) -> Option<Doubt> {
    let of = |clock: &NodeClock| clock.uncertainty_ns.max(clock.uncertainty_after_ns);
    let uncertainty_ns = facts.record.clocks.iter().map(of).max()?;
    let allowed_ns = (facts.record.sample_interval_ns as f64 * MISPLACED_SHARE) as u64;
    if uncertainty_ns <= allowed_ns {
        return None;
    }
    let uncertainty = Nanoseconds(uncertainty_ns).about();
    let message =
        format!("the clocks of the nodes are known only to {uncertainty}, so samples may lie in the wrong place");
    let remedy = "keep other load away from the network between the nodes and from their processors";
    doubt(Reason::ClockUncertain { uncertainty_ns, allowed_ns }, message, remedy)
}

fn late_samples(facts: Facts<'_>) -> Option<Doubt> {
    let slowest_ns = facts.record.ranks.iter().map(|rank| rank.slowest_ns).max()?;
    let sample_interval_ns = facts.record.sample_interval_ns;
    if slowest_ns <= sample_interval_ns {
        return None;
    }
    let message = format!(
        "an operation took {}, longer than a sample of {}: the timeline counts it where it ended",
        Nanoseconds(slowest_ns).about(),
        Nanoseconds(sample_interval_ns).about(),
    );
    let remedy = "find the stall in the timeline; use smaller transfers or longer samples";
    doubt(Reason::LateSamples { slowest_ns, sample_interval_ns }, message, remedy)
}

fn coarse_clock(facts: Facts<'_>) -> Option<Doubt> {
    let resolution_ns = facts.nodes.iter().map(|node| node.clock.resolution_ns).max()?;
    let median_ns = facts.median_ns;
    if facts.record.operations == 0 || median_ns >= 10 * resolution_ns {
        return None;
    }
    let message = format!(
        "the clock's steps of {} are coarse against a median latency of {}",
        Nanoseconds(resolution_ns).about(),
        Nanoseconds(median_ns).about(),
    );
    let remedy = "use the rate, which is exact, and not the latencies";
    doubt(Reason::CoarseClock { resolution_ns, median_ns }, message, remedy)
}

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

fn rate_not_kept(facts: Facts<'_>) -> Option<Doubt> {
    let (given, reached, unit) = given_and_reached(facts)?;
    if reached >= RATE_KEPT_SHARE * given || facts.failure.is_some() {
        return None;
    }
    let message = format!("the job was to do {given:.0} {unit} and did {reached:.0}: latencies count the waiting");
    let reason = Reason::RateNotKept { given_per_s: given, reached_per_s: reached, unit: unit.to_owned() };
    doubt(reason, message, "give a lower rate, or read the rate reached as what the storage can do")
}

fn paced(facts: Facts<'_>) -> Option<Doubt> {
    let because = match (facts.job.rate, facts.job.think) {
        (None, None) => return None,
        (Some(_), _) => "the plan gave it a rate".to_owned(),
        (None, Some(_)) => "the plan gave it pauses".to_owned(),
    };
    let message = format!("the rate is not the storage's alone: {because}");
    doubt(Reason::Paced { because }, message, "read its latencies, and take the rate from a job without a pace")
}

fn reducible_payload(facts: Facts<'_>) -> Option<Doubt> {
    let work = facts.data()?;
    let reducible = match facts.plan.files.get(&work.files)?.payload {
        Payload::Zero => "zeros",
        // IOR's incompressible packets too repeat one word (hpc/ior 4.1, generate_memory_pattern).
        Payload::IorTimestamp { .. } | Payload::IorOffset { .. } | Payload::IorIncompressible { .. } => {
            "one pattern again and again"
        }
        _ => return None,
    };
    if !facts.capabilities.files {
        return None;
    }
    let message = format!("the data is {reducible}: storage that compresses or deduplicates moves less than counted");
    doubt(
        Reason::ReduciblePayload { content: reducible.to_owned() },
        message,
        "take the payload unique (IOR: -l random)",
    )
}

fn verified(facts: Facts<'_>) -> Option<Doubt> {
    facts.data()?.verify?;
    let message = "every byte was compared with what was written, which takes time of the phase".to_owned();
    doubt(Reason::VerificationTimed, message, "measure without verification, and verify in a phase of its own")
}

fn short_transfers(facts: Facts<'_>) -> Option<Doubt> {
    let calls = facts.record.ranks.iter().map(|rank| rank.short_transfers).sum();
    if calls == 0 {
        return None;
    }
    let message = format!("{} moved fewer bytes than asked, and the rest was moved again", count(calls, "call"));
    doubt(Reason::ShortTransfers { calls }, message, "look for a full device, a signal, or a limit of the file system")
}
