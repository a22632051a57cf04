//! The doubt about others: what else used the device and the processors while a phase ran, and what came before it was not over.
//!
//! The kernel counts what a device moves for everybody, and what it moves for each process; what is left between the
//! two others have moved. It does not report for whom a file system keeps its own records, so what others wrote is
//! reported only of phases in which that is little: those that move data and do not sync all the time.

use std::collections::BTreeMap;

use ioassay_protocol::doubt::{Disturbance, Disturber, Doubt, Reason};
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::NodeRecord;
use ioassay_protocol::plan::data::Fsync;
use ioassay_units::{Bytes, Nanoseconds};

use super::facts::{Facts, doubt};
use super::ranks::oversubscribed;

/// Above this share of what a device moved, others have used it.
const DEVICE_SHARE: f64 = 0.1;

/// Less than this others may move in any phase: a log file, a page of a program.
const LITTLE_BYTES: u64 = 1 << 20;

/// For each byte that ranks write a file system may write so many more of its own: journals, trees, checksums.
const OWN_RECORDS: f64 = 0.5;

/// Above this share of bytes that the ranks moved, what waits to be written back beforehand takes part in the figure.
const DIRTY_SHARE: f64 = 0.1;

/// Above this share of the time of ranks others have used their processors.
const PROCESSOR_SHARE: f64 = 0.05;

/// Above this share of a quota's periods the job was held back.
const THROTTLED_SHARE: f64 = 0.05;

/// Below this the kernel's ticks of processor time say nothing.
const LEAST_NS: u64 = 50_000_000;

/// What one machine did: of hosts that are one machine all together.
struct Machine<'a> {
    host: &'a str,
    device: Option<&'a str>,
    processors: u32,
    ranks: u32,
    /// What they moved, from memory or not.
    bytes: u64,
    record: NodeRecord,
}

/// A look at a machine: who disturbs, how much, of how much.
type Look = fn(Facts<'_>, &Machine<'_>) -> Option<(Disturber, u64, u64)>;

pub(super) fn disturbed(facts: Facts<'_>) -> Option<Doubt> {
    let machines = machines(facts);
    let look: [Look; 6] = [write_back, others_read, others_wrote, quota, steal, processors];
    let worst = look.iter().filter_map(|look| {
        let shares = machines.iter().filter_map(|machine| Some((look(facts, machine)?, machine.host)));
        let share = |(_, amount, of): (Disturber, u64, u64)| amount as f64 / of.max(1) as f64;
        let ((what, amount, of), host) = shares.max_by(|first, other| share(first.0).total_cmp(&share(other.0)))?;
        Some(Disturbance { what, host: host.to_owned(), amount, of })
    });
    let by: Vec<Disturbance> = worst.collect();
    let first = by.first()?;
    let remedy = match first.what {
        Disturber::WriteBack => "let writes settle before the phase (`settle: yes`), or sync in the phases before it",
        Disturber::OthersRead | Disturber::OthersWrote => "keep other work off the device, and measure again",
        Disturber::Quota => "give the job as many processors as it has ranks",
        Disturber::Steal => "measure on a machine that shares its processors with no other virtual machine",
        Disturber::Processors => "keep other work off the nodes",
    };
    let message = by.iter().map(|disturbance| describe(disturbance, &machines)).collect::<Vec<_>>().join("; ");
    doubt(Reason::Disturbed { by }, message, remedy)
}

fn describe(disturbance: &Disturbance, machines: &[Machine<'_>]) -> String {
    let Disturbance { what, host, amount, of } = disturbance;
    let machine = machines.iter().find(|machine| machine.host == host);
    let device = machine.and_then(|machine| machine.device).unwrap_or("its device");
    let [bytes, of_bytes] = [*amount, *of].map(|bytes| Bytes(bytes).about());
    let [time, of_time] = [*amount, *of].map(|ns| Nanoseconds(ns).about());
    match what {
        Disturber::WriteBack => {
            format!(
                "on {host}, {bytes} from before the phase were written back during it, beside {of_bytes} of its own"
            )
        }
        Disturber::OthersRead => {
            format!("on {host}, other processes read {bytes} of the {of_bytes} that {device} moved")
        }
        Disturber::OthersWrote => {
            format!("on {host}, other processes wrote {bytes} of the {of_bytes} that {device} moved")
        }
        Disturber::Quota => {
            format!("on {host}, the job exhausted its CPU quota in {amount} of {of} periods")
        }
        Disturber::Steal => {
            format!("on {host}, the hypervisor gave other guests {time} of the ranks' {of_time} of processor time")
        }
        Disturber::Processors => {
            format!("on {host}, ranks spent {time} of their {of_time} waiting for processors that other processes used")
        }
    }
}

/// The machines on which ranks had a job.
fn machines<'a>(facts: Facts<'a>) -> Vec<Machine<'a>> {
    let mut machines: BTreeMap<&str, Machine<'a>> = BTreeMap::new();
    for (number, (node, record)) in (0..).zip(facts.nodes.iter().zip(&facts.record.nodes)) {
        let Environment { host, processors, boot_id, block_device, .. } = node;
        let ranks = facts.record.ranks.iter().filter(|rank| rank.node == number);
        let (ranks, bytes) = ranks.fold((0, 0), |(ranks, bytes), rank| (ranks + 1, bytes + rank.bytes));
        let device = block_device.as_ref().map(|device| device.name.as_str());
        let here = Machine { host, device, processors: *processors, ranks, bytes, record: *record };
        let key = boot_id.as_deref().unwrap_or(host);
        let together = match machines.remove(key) {
            Some(before) => before.with(here),
            None => here,
        };
        machines.insert(key, together);
    }
    machines.into_values().filter(|machine| machine.ranks > 0).collect()
}

impl Machine<'_> {
    /// What another host of the same machine adds: its ranks. What the kernel counts of everybody it has counted already.
    fn with(mut self, other: Self) -> Self {
        let sum = |first: Option<u64>, second: Option<u64>| Some(first? + second?);
        let record = &mut self.record;
        record.ranks_read_bytes = sum(record.ranks_read_bytes, other.record.ranks_read_bytes);
        record.ranks_write_bytes = sum(record.ranks_write_bytes, other.record.ranks_write_bytes);
        record.ranks_waited_ns = sum(record.ranks_waited_ns, other.record.ranks_waited_ns);
        record.ranks_user_ns += other.record.ranks_user_ns;
        self.ranks += other.ranks;
        self.bytes += other.bytes;
        self
    }

    /// What the device moved.
    fn moved_bytes(&self) -> Option<u64> {
        Some(self.record.device_read_bytes? + self.record.device_write_bytes?)
    }

    /// What others wrote to the device, beyond what a file system may add to what ranks write.
    fn others_wrote(&self) -> Option<u64> {
        let (all, of_ranks) = (self.record.device_write_bytes?, self.record.ranks_write_bytes?);
        (all as f64 > (1.0 + OWN_RECORDS) * of_ranks as f64).then(|| all - of_ranks)
    }

    /// True if `bytes` are much beside what the device moved, and what the ranks did.
    fn is_much(&self, bytes: u64, moved_bytes: u64) -> bool {
        bytes >= LITTLE_BYTES && bytes as f64 > DEVICE_SHARE * moved_bytes.max(self.bytes) as f64
    }

    /// Time of processors that its ranks could have had at most in `duration_ns`.
    fn ranks_ns(&self, duration_ns: u64) -> u64 {
        u64::from(self.ranks.min(self.processors)) * duration_ns
    }
}

/// True if a file system hardly has to write more than the data.
fn writes_data(facts: Facts<'_>) -> bool {
    facts.data().is_some_and(|work| !matches!(work.fsync, Fsync::EveryWrites(_)))
}

/// Of a device what was written beyond the ranks' is known, so that what stays in memory does not count.
fn write_back(facts: Facts<'_>, machine: &Machine<'_>) -> Option<(Disturber, u64, u64)> {
    let dirty_bytes = machine.record.dirty_bytes?;
    if let Some(moved_bytes) = machine.moved_bytes() {
        let bytes = machine.others_wrote().filter(|_| writes_data(facts))?.min(dirty_bytes);
        return machine.is_much(bytes, moved_bytes).then(|| (Disturber::WriteBack, bytes, moved_bytes - bytes));
    }
    // A file system in memory has nothing to write back.
    let network = super::memory::on_network(facts.nodes);
    let much = network && facts.data().is_some() && dirty_bytes >= 16 * LITTLE_BYTES;
    (much && dirty_bytes as f64 > DIRTY_SHARE * machine.bytes as f64).then_some((
        Disturber::WriteBack,
        dirty_bytes,
        machine.bytes,
    ))
}

fn others_read(_: Facts<'_>, machine: &Machine<'_>) -> Option<(Disturber, u64, u64)> {
    let bytes = machine.record.device_read_bytes?.saturating_sub(machine.record.ranks_read_bytes?);
    let moved_bytes = machine.moved_bytes()?;
    machine.is_much(bytes, moved_bytes).then_some((Disturber::OthersRead, bytes, moved_bytes))
}

fn others_wrote(facts: Facts<'_>, machine: &Machine<'_>) -> Option<(Disturber, u64, u64)> {
    let bytes = machine.others_wrote().filter(|_| writes_data(facts))?;
    let bytes = bytes.saturating_sub(machine.record.dirty_bytes.unwrap_or(0));
    let moved_bytes = machine.moved_bytes()?;
    machine.is_much(bytes, moved_bytes).then_some((Disturber::OthersWrote, bytes, moved_bytes))
}

fn quota(_: Facts<'_>, machine: &Machine<'_>) -> Option<(Disturber, u64, u64)> {
    let (throttled, periods) = (machine.record.throttled_periods?, machine.record.quota_periods?);
    (throttled as f64 > THROTTLED_SHARE * periods as f64).then_some((Disturber::Quota, throttled, periods))
}

fn steal(facts: Facts<'_>, machine: &Machine<'_>) -> Option<(Disturber, u64, u64)> {
    let (stolen_ns, had_ns) = (machine.record.steal_ns?, machine.ranks_ns(facts.record.duration_ns));
    let much = stolen_ns >= LEAST_NS && stolen_ns as f64 > PROCESSOR_SHARE * had_ns as f64;
    much.then_some((Disturber::Steal, stolen_ns, had_ns))
}

/// Ranks wait for processors also because of each other and of the kernel's own work for them, which is no disturbance: so
/// others must have had as much of them.
fn processors(facts: Facts<'_>, machine: &Machine<'_>) -> Option<(Disturber, u64, u64)> {
    let (waited_ns, had_ns) = (machine.record.ranks_waited_ns?, machine.ranks_ns(facts.record.duration_ns));
    let others_ns = machine.record.user_ns?.saturating_sub(machine.record.ranks_user_ns);
    let much = |ns: u64| ns >= LEAST_NS && ns as f64 > PROCESSOR_SHARE * had_ns as f64;
    (much(waited_ns) && much(others_ns) && oversubscribed(facts).is_none()).then_some((
        Disturber::Processors,
        waited_ns,
        had_ns,
    ))
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::events::{PhaseRecord, RankRecord};
    use ioassay_protocol::plan::Operation;
    use serde_json::json;

    use super::super::given;
    use super::*;
    use crate::measure::records;

    const MIB: u64 = 1 << 20;
    const SECOND_NS: u64 = 1_000_000_000;

    /// A node with four processors and the device `sda`; hosts with the same `machine` are one.
    fn node(host: &str, machine: &str) -> Environment {
        let device = json!({"name": "sda", "model": null, "size_bytes": 1, "queue": {}});
        Environment {
            host: host.to_owned(),
            boot_id: Some(machine.to_owned()),
            processors: 4,
            block_device: serde_json::from_value(device).unwrap(),
            ..Environment::default()
        }
    }

    /// A node on which nothing happened but that its ranks wrote 1,000 MiB.
    fn undisturbed() -> NodeRecord {
        NodeRecord {
            dirty_bytes: Some(0),
            device_read_bytes: Some(0),
            device_write_bytes: Some(1000 * MIB),
            ranks_read_bytes: Some(0),
            ranks_write_bytes: Some(1000 * MIB),
            user_ns: Some(SECOND_NS),
            ranks_user_ns: SECOND_NS,
            ranks_waited_ns: Some(0),
            steal_ns: Some(0),
            quota_periods: Some(0),
            throttled_periods: Some(0),
        }
    }

    /// What disturbed a phase of ten seconds in which a rank on each node wrote with `fsync`.
    fn disturbers(fsync: &str, nodes: &[Environment], on_nodes: &[NodeRecord]) -> Vec<(Disturber, String, u64, u64)> {
        let fsync = if fsync == "every" { json!({"every-writes": 1}) } else { json!(fsync) };
        let plan = given::plan(nodes.len(), fsync, json!({}));
        let of = |number: u32| RankRecord {
            node: number,
            end_ns: 10 * SECOND_NS,
            bytes: 1000 * MIB,
            ..records::rank(number)
        };
        let ranks = (0..nodes.len() as u32).map(of).collect();
        let record = PhaseRecord { nodes: on_nodes.to_vec(), ..records::phase("write", Operation::Write, ranks) };
        let Some(Doubt { reason: Reason::Disturbed { by }, .. }) = disturbed(given::facts(&plan, nodes, &record))
        else {
            return Vec::new();
        };
        by.into_iter()
            .map(|disturbance| (disturbance.what, disturbance.host, disturbance.amount, disturbance.of))
            .collect()
    }

    fn found_alone(fsync: &str, record: NodeRecord) -> Vec<(Disturber, u64, u64)> {
        let of_node = disturbers(fsync, &[node("n1", "m1")], &[record]);
        of_node.into_iter().map(|(what, _, amount, of)| (what, amount, of)).collect()
    }

    #[test]
    fn what_others_move_on_the_device_is_what_it_moves_beyond_the_ranks() {
        assert_eq!(found_alone("at-end", undisturbed()), []);
        let read = NodeRecord { device_read_bytes: Some(500 * MIB), ..undisturbed() };
        assert_eq!(found_alone("at-end", read), [(Disturber::OthersRead, 500 * MIB, 1500 * MIB)]);
        let wrote = NodeRecord { device_write_bytes: Some(4000 * MIB), ..undisturbed() };
        assert_eq!(found_alone("at-end", wrote), [(Disturber::OthersWrote, 3000 * MIB, 4000 * MIB)]);
        let little = NodeRecord { device_read_bytes: Some(90 * MIB), ..undisturbed() };
        assert_eq!(found_alone("at-end", little), []);
    }

    #[test]
    fn a_little_beside_much_in_memory_is_no_disturbance() {
        let in_memory = NodeRecord { device_write_bytes: Some(0), device_read_bytes: Some(2 * MIB), ..undisturbed() };
        assert_eq!(found_alone("never", in_memory), []);
    }

    #[test]
    fn what_a_file_system_writes_of_its_own_is_no_disturbance() {
        let journal = NodeRecord { device_write_bytes: Some(1400 * MIB), ..undisturbed() };
        assert_eq!(found_alone("at-end", journal), []);
        let commit_after_each = NodeRecord { device_write_bytes: Some(4000 * MIB), ..undisturbed() };
        assert_eq!(found_alone("every", commit_after_each), []);
    }

    #[test]
    fn bytes_from_before_the_phase_are_distinguished_from_those_of_others() {
        let before = NodeRecord { dirty_bytes: Some(900 * MIB), device_write_bytes: Some(1900 * MIB), ..undisturbed() };
        assert_eq!(found_alone("at-end", before), [(Disturber::WriteBack, 900 * MIB, 1000 * MIB)]);
        let stayed = NodeRecord { dirty_bytes: Some(900 * MIB), ..undisturbed() };
        assert_eq!(found_alone("at-end", stayed), [], "none of it was written meanwhile");
    }

    #[test]
    fn hosts_of_one_machine_are_no_others_for_each_other() {
        let half = NodeRecord { ranks_write_bytes: Some(500 * MIB), ranks_user_ns: SECOND_NS / 2, ..undisturbed() };
        assert_eq!(disturbers("at-end", &[node("n1", "m1"), node("n2", "m1")], &[half, half]), []);
        let apart = disturbers("at-end", &[node("n1", "m1"), node("n2", "m2")], &[undisturbed(), half]);
        assert_eq!(apart, [(Disturber::OthersWrote, "n2".to_owned(), 500 * MIB, 1000 * MIB)]);
    }

    #[test]
    fn processors_are_disturbed_by_quotas_hypervisors_and_other_processes() {
        let held_back = NodeRecord { quota_periods: Some(100), throttled_periods: Some(80), ..undisturbed() };
        assert_eq!(found_alone("at-end", held_back), [(Disturber::Quota, 80, 100)]);
        let stolen = NodeRecord { steal_ns: Some(3 * SECOND_NS), ..undisturbed() };
        assert_eq!(found_alone("at-end", stolen), [(Disturber::Steal, 3 * SECOND_NS, 10 * SECOND_NS)]);
        let hogs = NodeRecord { ranks_waited_ns: Some(4 * SECOND_NS), user_ns: Some(30 * SECOND_NS), ..undisturbed() };
        assert_eq!(found_alone("at-end", hogs), [(Disturber::Processors, 4 * SECOND_NS, 10 * SECOND_NS)]);
        let by_each_other = NodeRecord { ranks_waited_ns: Some(4 * SECOND_NS), ..undisturbed() };
        assert_eq!(found_alone("at-end", by_each_other), [], "no other process had a processor");
    }
}
