//! Replays: streams that contradict themselves, or work on what is not there.

use std::collections::BTreeMap;

use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::metadata::{Items, Sharing};
use ioassay_protocol::plan::replay::{ItemShare, Region, ReplayWork, Stream, StreamOperation, Transfers};

use crate::refusal::Refusal;
use crate::storage::NameCapabilities;
use crate::work::checks::{positive, range};
use crate::work::data::validate::LARGEST_TRANSFER_BYTES;
use crate::work::metadata::validate::{SharedItems, TreeState, known_tree};
use crate::work::pace::duration;
use crate::work::replay::streams::{ranks_of, transfers};
use crate::work::storage::JobStorage;
use crate::workload::tree::Shape;

/// More streams than this no rank looks through for its next operation.
pub const MOST_STREAMS: usize = 512;

/// More parts than this a timeline does not need: the samples of a day.
const MOST_PARTS: usize = 86_400;

/// Counts and weights up to this add up.
const LARGEST_COUNT: u64 = 1 << 40;

/// Refuses streams that cannot be done in step `step`, and notes what they leave.
pub(crate) fn work(
    key: &str,
    plan: &Plan,
    work: &ReplayWork,
    step: usize,
    storage: &JobStorage<'_>,
    trees: &mut BTreeMap<String, TreeState>,
) -> Result<(), Refusal> {
    let refuse =
        |name: &str, problem: String, valid: String| Err(Refusal::new(format!("{key}.{name}"), problem, valid));
    let names = storage.can.names.filter(|names| names.directories);
    let (Some(names), true) = (names, storage.can.rewrites && storage.can.shared_files) else {
        let problem = format!("{} cannot replay an application: that takes files and directories", storage.asked.api);
        return refuse("streams", problem, "use the storage API posix on a directory".to_owned());
    };
    if storage.asked.depth > 1 {
        let problem = "a replay does one operation after another".to_owned();
        return refuse("streams", problem, "leave out storage.depth".to_owned());
    }
    if let Some(duration_ns) = work.duration_ns {
        duration(&format!("{key}.duration_ns"), duration_ns)?;
    }
    let count = work.streams.len();
    if count == 0 || count > MOST_STREAMS {
        return refuse("streams", format!("a replay cannot have {count} streams"), format!("use 1 to {MOST_STREAMS}"));
    }
    // What each tree has after all streams; each finds what was there before all of them.
    let mut left: BTreeMap<&str, SharedItems> = BTreeMap::new();
    for (nth, stream) in work.streams.iter().enumerate() {
        let key = format!("{key}.streams[{nth}]");
        let shape = tree(&key, plan, stream)?;
        let asked = CheckedStream { key: &key, plan, stream, shape };
        asked.consistent(names)?;
        let state = trees.entry(stream.tree.clone()).or_insert_with(|| TreeState::new(&shape, names));
        let before = state.shared_items();
        let after = asked.after(before)?;
        let all = left.entry(&stream.tree).or_insert(before);
        *all = if after == before { *all } else { after };
    }
    for (tree, left) in left {
        if trees.get_mut(tree).is_some_and(|state| state.replayed(step, left)) {
            let problem = format!("another job of this phase works on the tree {tree:?}");
            return refuse("streams", problem, "use each tree in one job of a phase".to_owned());
        }
    }
    Ok(())
}

/// Refuses what direct I/O cannot move where it moves multiples of `unit` bytes.
pub(crate) fn aligned(key: &str, work: &ReplayWork, unit: u64) -> Result<(), Refusal> {
    for (nth, stream) in work.streams.iter().enumerate() {
        let key = format!("{key}.streams[{nth}].operation");
        let refuse =
            |name: &str, problem: String, valid: String| Err(Refusal::new(format!("{key}.{name}"), problem, valid));
        let valid = format!("use a multiple of {unit}, or leave out storage.direct");
        let wrong = |bytes: &u64| !bytes.is_multiple_of(unit);
        let problem = |bytes: u64| format!("{bytes} bytes are not whole sectors, which direct I/O needs");
        if let StreamOperation::Fill { bytes } = &stream.operation
            && wrong(bytes)
        {
            return refuse("bytes", problem(*bytes), valid);
        }
        let Some(of) = transfers(&stream.operation) else { continue };
        let sizes = of.sizes.iter().map(|size| size.bytes).chain([of.file_bytes]);
        if let Some(bytes) = sizes.into_iter().find(wrong) {
            return refuse("sizes", problem(bytes), valid);
        }
        if of.region == Region::Segment || of.order.forward > 0 || of.order.backward > 0 {
            let problem = "segments and gaps are not whole sectors, which direct I/O needs".to_owned();
            return refuse(
                "order",
                problem,
                "use the region whole without forward and backward, or leave out storage.direct".to_owned(),
            );
        }
    }
    Ok(())
}

/// The shape of a stream's tree.
fn tree(key: &str, plan: &Plan, stream: &Stream) -> Result<Shape, Refusal> {
    let refuse = |problem: String, valid: String| Err(Refusal::new(format!("{key}.tree"), problem, valid));
    let tree = known_tree(key, plan, &stream.tree)?;
    if tree.sharing != Sharing::SharedItems || tree.items != Items::Files {
        return refuse(
            "a replay works on files that all ranks share".to_owned(),
            "use sharing shared-items".to_owned(),
        );
    }
    let shape = Shape::of(tree, plan.ranks.total().unwrap_or(0));
    if shape.all_items() == 0 {
        return refuse("the tree has no items".to_owned(), "set items_per_directory".to_owned());
    }
    Ok(shape)
}

/// A stream, and what follows from it.
struct CheckedStream<'a> {
    key: &'a str,
    plan: &'a Plan,
    stream: &'a Stream,
    shape: Shape,
}

impl CheckedStream<'_> {
    fn refuse<T>(&self, name: &str, problem: impl Into<String>, valid: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal::new(format!("{}.{name}", self.key), problem, valid))
    }

    /// What contradicts itself whatever was done before.
    fn consistent(&self, names: NameCapabilities) -> Result<(), Refusal> {
        let ranks = self.plan.ranks.total().unwrap_or(0);
        range(&format!("{}.ranks", self.key), self.stream.ranks, ranks)?;
        let members = u64::from(ranks_of(self.stream, ranks).count);
        let (has_own_items, items) = (self.stream.items == ItemShare::Own, self.shape.all_items());
        // Of a fill, ranks without items wait for the others.
        let fills = matches!(self.stream.operation, StreamOperation::Fill { .. });
        if has_own_items && items < members && !fills {
            let problem = format!("{members} ranks cannot have items of their own among {items}");
            return self.refuse("items", problem, format!("use {members} items or more, fewer ranks, or all"));
        }
        self.countable("timeline", &self.stream.timeline, MOST_PARTS)?;
        let (name, count) = match &self.stream.operation {
            StreamOperation::Fill { bytes } => {
                if !has_own_items || self.stream.ranks.is_some() {
                    return self.refuse(
                        "items",
                        "each item is filled once, by one of all ranks",
                        "use own, and no ranks",
                    );
                }
                if *bytes > LARGEST_COUNT {
                    return self.refuse(
                        "operation.bytes",
                        format!("{bytes} bytes are too many"),
                        format!("use at most {LARGEST_COUNT} (1 TiB)"),
                    );
                }
                return Ok(());
            }
            StreamOperation::Read(of) | StreamOperation::Write(of) => {
                self.transfers(of)?;
                ("opens", of.opens)
            }
            StreamOperation::Rename { count } if !names.rename => {
                return self.refuse("operation", "the storage API cannot rename", format!("leave out {count} renames"));
            }
            StreamOperation::Rename { count } if !count.is_multiple_of(2) || !has_own_items => {
                let problem = "each item gets another name and then its own again, by the rank that has it";
                return self.refuse("operation.count", problem, "use an even number, and items own");
            }
            StreamOperation::Create { count } | StreamOperation::Remove { count } => {
                let each = items / members;
                if !has_own_items || *count > each {
                    let problem = "each item is created or removed once";
                    return self.refuse("operation.count", problem, format!("use items own, and at most {each}"));
                }
                ("count", *count)
            }
            StreamOperation::Open { count, .. }
            | StreamOperation::Stat { count, .. }
            | StreamOperation::Rename { count } => ("count", *count),
        };
        positive(&format!("{}.operation.{name}", self.key), count)?;
        if count > LARGEST_COUNT {
            return self.refuse(
                &format!("operation.{name}"),
                format!("{count} are too many"),
                format!("use at most {LARGEST_COUNT}"),
            );
        }
        Ok(())
    }

    fn transfers(&self, of: &Transfers) -> Result<(), Refusal> {
        positive(&format!("{}.operation.count", self.key), of.count)?;
        if of.count > LARGEST_COUNT || of.file_bytes > LARGEST_COUNT {
            let problem = format!("{} transfers in files of {} bytes are too many", of.count, of.file_bytes);
            return self.refuse("operation.count", problem, format!("use at most {LARGEST_COUNT} of both"));
        }
        let members = ranks_of(self.stream, self.plan.ranks.total().unwrap_or(0)).count;
        let least = if of.region == Region::Segment { u64::from(members) } else { 1 };
        if of.file_bytes < least {
            let problem = format!("{} bytes have no place for the transfers of {members} ranks", of.file_bytes);
            return self.refuse("operation.file_bytes", problem, format!("use {least} or more"));
        }
        let weights: Vec<u64> = of.sizes.iter().map(|size| size.weight).collect();
        self.countable("operation.sizes", &weights, MOST_STREAMS)?;
        if weights.iter().sum::<u64>() == 0 {
            return self.refuse("operation.sizes", "no size has a weight", "give at least one a weight of 1 or more");
        }
        if let Some(size) = of.sizes.iter().find(|size| size.bytes == 0 || size.bytes > LARGEST_TRANSFER_BYTES) {
            let problem = format!("a call cannot move {} bytes", size.bytes);
            return self.refuse("operation.sizes", problem, format!("use 1 to {LARGEST_TRANSFER_BYTES} (1 GiB)"));
        }
        let order = [of.order.consecutive, of.order.forward, of.order.backward, of.order.random];
        self.countable("operation.order", &order, order.len())?;
        if order.iter().sum::<u64>() == 0 {
            return self.refuse("operation.order", "no order has a weight", "set consecutive: 1");
        }
        match of.sync_every {
            Some(_) if matches!(self.stream.operation, StreamOperation::Read(_)) => {
                self.refuse("operation.sync_every", "nothing is written that could be synced", "leave it out")
            }
            Some(every) => positive(&format!("{}.operation.sync_every", self.key), every),
            None => Ok(()),
        }
    }

    fn countable(&self, name: &str, weights: &[u64], most: usize) -> Result<(), Refusal> {
        if weights.len() <= most && weights.iter().all(|&weight| weight <= LARGEST_COUNT / most as u64) {
            return Ok(());
        }
        let problem = format!("{} weights cannot be added up", weights.len());
        self.refuse(name, problem, format!("use at most {most}, each at most {}", LARGEST_COUNT / most as u64))
    }

    /// What is there of the tree after the stream. Refuses one whose items are not there, or are there.
    fn after(&self, before: SharedItems) -> Result<SharedItems, Refusal> {
        use StreamOperation as Kind;
        let not_there = "fill the tree in an earlier phase, and remove none of its files before";
        let absent = matches!(self.stream.operation, Kind::Open { absent: true, .. } | Kind::Stat { absent: true, .. });
        match (&self.stream.operation, before) {
            (_, SharedItems::Nothing) => {
                self.refuse("tree", "the tree's directories do not exist", "add an earlier create-tree job")
            }
            (Kind::Fill { .. } | Kind::Create { .. }, SharedItems::All(_) | SharedItems::Some) => {
                self.refuse("tree", "the items already exist", "use another tree")
            }
            (_, SharedItems::All(_) | SharedItems::Some) if absent => {
                self.refuse("tree", "the items are not absent", "use a tree that nothing is created in")
            }
            (_, before) if absent => Ok(before),
            (Kind::Fill { bytes }, _) => Ok(SharedItems::All(*bytes)),
            (Kind::Write(of), SharedItems::All(bytes)) => Ok(SharedItems::All(bytes.max(of.file_bytes))),
            (Kind::Write(_) | Kind::Create { .. }, _) => Ok(SharedItems::Some),
            (Kind::Remove { .. }, SharedItems::All(_) | SharedItems::Some) => Ok(SharedItems::Some),
            (Kind::Read(of), SharedItems::All(bytes)) if of.file_bytes > bytes => {
                let problem = format!("{} bytes cannot be read from items of {bytes}", of.file_bytes);
                self.refuse("operation.file_bytes", problem, format!("use at most {bytes}, or fill more"))
            }
            (_, SharedItems::All(_)) => Ok(before),
            (_, SharedItems::Some) => self.refuse("tree", "some of the items may be missing", not_there),
            (_, SharedItems::Directories) => self.refuse("tree", "the tree's items do not exist", not_there),
        }
    }
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::plan::{Job, Phase, Step, Work};
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::validate;

    fn plan(phases: &[Value]) -> Plan {
        let phase = |nth: usize, streams: &Value| {
            let work: ReplayWork = serde_json::from_value(json!({ "streams": streams })).unwrap();
            Step::Phase(Phase::new(&format!("p{nth}"), vec![Job::new("replay", Work::Replay(work))]))
        };
        let tree = json!({
            "sharing": "shared-items", "depth": 0, "branch": 1, "items_per_directory": 8, "leaves_only": false,
            "items": "files",
        });
        let create = json!({"step": "phase", "name": "trees", "jobs": [
            {"name": "a", "ranks": {"first": 0, "count": 1}, "work": {"kind": "metadata", "tree": "a",
                "operation": {"kind": "create-tree"}, "order": "sequential", "paths": "full"}},
        ]});
        let mut plan: Plan = serde_json::from_value(json!({
            "version": ioassay_protocol::VERSION, "run": "r", "case": "c", "target": {"directory": "/tmp"},
            "storage": {"api": "posix", "depth": 1, "vectors": 1, "direct": false}, "ranks": {"clients": 1, "per_client": 4},
            "trees": {"a": tree}, "steps": [create], "seed": 1, "sample_interval_ns": 1_000_000_000,
        }))
        .unwrap();
        plan.steps.extend(phases.iter().enumerate().map(|(nth, streams)| phase(nth, streams)));
        plan
    }

    fn stream(operation: &Value) -> Value {
        json!({"tree": "a", "items": "own", "operation": operation})
    }

    fn read(changes: &[(&str, Value)]) -> Value {
        let mut read = json!({
            "kind": "read", "count": 10, "opens": 2, "sizes": [{"bytes": 512, "weight": 1}], "file_bytes": 4096,
            "region": "whole", "order": {"consecutive": 1, "forward": 0, "random": 0},
        });
        for (name, value) in changes {
            read[*name] = value.clone();
        }
        stream(&read)
    }

    fn fill() -> Value {
        json!([stream(&json!({"kind": "fill", "bytes": 4096}))])
    }

    fn refusal(phases: &[Value]) -> String {
        let refusal = validate(&plan(phases)).unwrap_err();
        format!("{}: {}", refusal.key, refusal.problem)
    }

    #[test]
    fn what_is_filled_can_be_read_and_removed_once() {
        let remove = json!([stream(&json!({"kind": "remove", "count": 2}))]);
        validate(&plan(&[fill(), json!([read(&[])]), remove.clone()])).unwrap();
        let message = refusal(&[fill(), remove, json!([read(&[])])]);
        assert_eq!(message, "steps[3].jobs[0].work.streams[0].tree: some of the items may be missing");
    }

    #[test]
    fn streams_on_what_is_not_there_are_refused() {
        for (phases, problem) in [
            (vec![json!([read(&[])])], "the tree's items do not exist"),
            (
                vec![json!([read(&[]), stream(&json!({"kind": "fill", "bytes": 4096}))])],
                "the tree's items do not exist",
            ),
            (vec![fill(), fill()], "the items already exist"),
            (
                vec![fill(), json!([stream(&json!({"kind": "stat", "count": 1, "absent": true}))])],
                "the items are not absent",
            ),
            (
                vec![fill(), json!([read(&[("file_bytes", json!(8192))])])],
                "8192 bytes cannot be read from items of 4096",
            ),
            (
                vec![fill(), json!([stream(&json!({"kind": "remove", "count": 3}))])],
                "each item is created or removed once",
            ),
            (vec![fill(), json!([stream(&json!({"kind": "rename", "count": 3}))])], "each item gets another name"),
        ] {
            let message = refusal(&phases);
            assert!(message.contains(problem), "{message}");
        }
    }

    #[test]
    fn fewer_items_than_ranks_are_filled_and_used_by_all_or_by_as_many_ranks() {
        let mut few = plan(&[fill(), json!([stream(&json!({"kind": "stat", "count": 1}))])]);
        few.trees.get_mut("a").unwrap().items_per_directory = 2;
        let refusal = validate(&few).unwrap_err();
        assert_eq!(refusal.problem, "4 ranks cannot have items of their own among 2");
        let Step::Phase(phase) = &mut few.steps[2] else { panic!() };
        let Work::Replay(work) = &mut phase.jobs[0].work else { panic!() };
        work.streams[0].items = ItemShare::All;
        validate(&few).unwrap();
    }

    #[test]
    fn streams_that_contradict_themselves_are_refused() {
        for (changes, problem) in [
            (("count", json!(0)), "0 does nothing"),
            (("opens", json!(0)), "0 does nothing"),
            (("sizes", json!([])), "no size has a weight"),
            (("sizes", json!([{"bytes": 0, "weight": 1}])), "a call cannot move 0 bytes"),
            (("file_bytes", json!(0)), "0 bytes have no place"),
            (("order", json!({"consecutive": 0, "forward": 0, "random": 0})), "no order has a weight"),
            (
                ("order", json!({"consecutive": 0, "forward": 0, "backward": u64::MAX, "random": 0})),
                "cannot be added up",
            ),
            (("sync_every", json!(3)), "nothing is written"),
            (("sizes", json!([{"bytes": 512, "weight": u64::MAX}])), "cannot be added up"),
        ] {
            let message = refusal(&[fill(), json!([read(&[changes])])]);
            assert!(message.contains(problem), "{message}");
        }
    }
}
