//! Replays of an application on real files: ranks are threads here, everything else is real.

use std::path::Path;

use crate::support::{phases, run_and_keep};
use ioassay_engine::plan::parse;
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::storage;
use ioassay_protocol::events::{Event, PhaseRecord};
use ioassay_protocol::plan::{Operation, Plan};
use serde_json::{Value, json};

const RANKS: u64 = 3;
const ITEMS: u64 = 12;

/// A plan whose trees are called `names`: two directories with six items each, created first.
fn plan(target: &Path, names: &[&str], steps: &[Value]) -> Plan {
    let tree = json!({
        "sharing": "shared-items", "depth": 1, "branch": 2, "items_per_directory": 6, "leaves_only": true,
        "items": "files",
    });
    let trees: serde_json::Map<String, Value> = names.iter().map(|&name| (name.to_owned(), tree.clone())).collect();
    let create = names.iter().map(|name| {
        let work = json!({
            "kind": "metadata", "tree": name, "operation": {"kind": "create-tree"}, "order": "sequential",
            "paths": "full",
        });
        json!({"step": "phase", "name": format!("create-{name}"), "jobs": [{"name": "j", "work": work}]})
    });
    let text = json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": {"api": "posix"},
        "ranks": {"clients": RANKS, "per_client": 1}, "trees": trees,
        "steps": create.chain(steps.iter().cloned()).collect::<Vec<_>>(), "seed": 7, "sample_interval_ns": 10_000_000,
    });
    parse(text.to_string().as_bytes()).unwrap()
}

fn replay(name: &str, streams: &[Value]) -> Value {
    json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": {"kind": "replay", "streams": streams}}]})
}

fn stream(tree: &str, items: &str, operation: &Value) -> Value {
    json!({"tree": tree, "items": items, "operation": operation})
}

fn transfers(kind: &str, count: u64, opens: u64) -> Value {
    json!({
        "kind": kind, "count": count, "opens": opens, "file_bytes": 100_000, "region": "whole",
        "sizes": [{"bytes": 1000, "weight": 3}, {"bytes": 4096, "weight": 1}],
        "order": {"consecutive": 1, "forward": 0, "random": 0},
    })
}

fn fill(tree: &str) -> Value {
    replay(&format!("fill-{tree}"), &[stream(tree, "own", &json!({"kind": "fill", "bytes": 100_000}))])
}

/// Runs the case; what it did by the names of its phases and operations.
fn run(plan: &Plan) -> (Vec<Event>, MeetingPlace) {
    let (events, place, workspace) = run_and_keep(plan, &|name| storage::by_name(name).unwrap());
    assert_eq!(workspace.remove().left, []);
    (events, place)
}

fn record(events: &[Event], phase: &str, operation: Operation) -> PhaseRecord {
    let records = phases(events).into_iter();
    let mut matching = records.filter(|record| record.name == phase && record.operation == operation);
    matching.next().unwrap_or_else(|| panic!("no {operation:?} in {phase}")).clone()
}

fn operations(events: &[Event], phase: &str, operation: Operation) -> u64 {
    record(events, phase, operation).operations
}

#[test]
fn every_stream_does_all_its_operations_with_their_bytes() {
    let target = crate::support::target();
    let stat = json!({"kind": "stat", "count": 50});
    let absent = json!({"kind": "stat", "count": 7, "absent": true});
    let not_opened = json!({"kind": "open", "count": 5, "absent": true});
    let opened = json!({"kind": "open", "count": 9});
    let mut synced = transfers("write", 20, 2);
    synced["sync_every"] = json!(5);
    let mut alone = stream("input", "all", &transfers("read", 40, 4));
    alone["ranks"] = json!({"first": 1, "count": 1});
    let steps = [
        fill("input"),
        fill("old"),
        replay(
            "busy",
            &[
                alone,
                stream("output", "own", &synced),
                stream("input", "all", &stat),
                stream("input", "all", &opened),
                stream("nowhere", "all", &absent),
                stream("nowhere", "all", &not_opened),
                stream("made", "own", &json!({"kind": "create", "count": 4})),
                stream("old", "own", &json!({"kind": "remove", "count": 4})),
            ],
        ),
        replay("names", &[stream("input", "own", &json!({"kind": "rename", "count": 6}))]),
    ];
    let plan = plan(target.path(), &["input", "output", "old", "made", "nowhere"], &steps);
    let (events, place) = run(&plan);
    assert_eq!(place.failure(), None);
    assert!(phases(&events).iter().all(|record| record.complete));

    let filled = record(&events, "fill-input", Operation::Write);
    assert_eq!((filled.operations, filled.bytes), (ITEMS, ITEMS * 100_000));
    let read = record(&events, "busy", Operation::Read);
    assert_eq!((read.operations, read.bytes), (40, 30 * 1000 + 10 * 4096));
    let written = record(&events, "busy", Operation::Write);
    assert_eq!((written.operations, written.bytes), (RANKS * 20, RANKS * (15 * 1000 + 5 * 4096)));
    // By each rank: of its output, and for nothing else; the reader's own, and the opens that fail.
    assert_eq!(operations(&events, "busy", Operation::Open), RANKS * (2 + 9 + 5) + 4);
    assert_eq!(operations(&events, "busy", Operation::Close), RANKS * (2 + 9) + 4);
    assert_eq!(operations(&events, "busy", Operation::Sync), RANKS * 4);
    assert_eq!(operations(&events, "busy", Operation::Stat), RANKS * (50 + 7));
    assert_eq!(operations(&events, "busy", Operation::Create), RANKS * 4);
    assert_eq!(operations(&events, "busy", Operation::Remove), RANKS * 4);
    assert_eq!(operations(&events, "names", Operation::Rename), RANKS * 6);
}

#[test]
fn operations_wait_until_they_are_due_and_none_is_early() {
    let target = crate::support::target();
    let mut late = stream("input", "all", &json!({"kind": "stat", "count": 20}));
    late["timeline"] = json!([0, 0, 0, 1]);
    let mut paced = replay("paced", &[late]);
    paced["jobs"][0]["work"]["duration_ns"] = json!(400_000_000);
    let (events, place) = run(&plan(target.path(), &["input"], &[fill("input"), paced]));
    assert_eq!(place.failure(), None);
    let record = record(&events, "paced", Operation::Stat);
    assert!(record.duration_ns >= 395_000_000, "{}", record.duration_ns);
    for rank in &record.ranks {
        // Nothing in the first three quarters.
        assert_eq!(rank.sample_operations.iter().take(30).sum::<u64>(), 0);
        assert_eq!(rank.operations, 20);
    }
}

#[test]
fn a_name_that_is_there_although_it_should_be_absent_ends_the_replay() {
    let target = crate::support::target();
    let absent = json!({"kind": "stat", "count": 3, "absent": true});
    let mut plan = plan(target.path(), &["nowhere"], &[replay("search", &[stream("nowhere", "all", &absent)])]);
    // It finds everything.
    plan.storage.api = "null".to_owned();
    let (_, place) = run(&plan);
    let failure = place.failure().unwrap();
    assert!(failure.message.contains("it is there, although it was to be absent"), "{failure:?}");
}
