//! Key-value caches on real files: ranks are threads here, and so are their users; everything else is real.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{phases, run_and_keep};
use ioassay_engine::plan::parse;
use ioassay_engine::ranks::local::MeetingPlace;
use ioassay_engine::storage;
use ioassay_engine::workspace::Workspace;
use ioassay_protocol::events::{Event, KvCacheRecord, PhaseRecord};
use ioassay_protocol::plan::{Operation, Plan};
use serde_json::{Value, json};

const OBJECT_BYTES: u64 = 8192;
const OBJECT_TOKENS: u64 = 16;
const REQUESTS: u64 = 60;

/// Two servers with three users each, and a cache of so many objects for each server.
fn text(target: &Path, objects: u64) -> Value {
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"directory": target}, "storage": {"api": "posix"},
        "ranks": {"clients": 2, "per_client": 1},
        "files": {"cache": {
            "layout": "N-N", "files_per_rank": objects, "transfer_bytes": OBJECT_BYTES / 2, "block_bytes": OBJECT_BYTES,
            "segments": 1, "payload": {"kind": "unique"},
        }},
        "steps": [{"step": "phase", "name": "serve", "jobs": [{
            "name": "j", "limit": {"operations_per_rank": REQUESTS},
            "work": {
                "kind": "kv-cache", "files": "cache", "object_tokens": OBJECT_TOKENS, "users": 3,
                "contexts": {"count": 5, "tokens": {"least": 40, "most": 100}, "exponent": 1.0},
                "turns": {"least": 1, "most": 4}, "prompt_tokens": {"least": 4, "most": 30},
                "answer_tokens": {"least": 4, "most": 30}, "prefill_tokens_per_s": 1_000_000,
                "decode_tokens_per_s": 1_000_000, "think_ns": 0, "verify": true,
            },
        }]}],
        "seed": 7, "sample_interval_ns": 10_000_000,
    })
}

fn changed(text: &mut Value, key: &str, value: Value) {
    text["steps"][0]["jobs"][0]["work"][key] = value;
}

fn plan(text: &Value) -> Plan {
    parse(text.to_string().as_bytes()).unwrap()
}

fn run(plan: &Plan) -> (Vec<Event>, MeetingPlace, Workspace) {
    run_and_keep(plan, &|name| storage::by_name(name).unwrap())
}

fn by_operation(events: &[Event]) -> BTreeMap<Operation, PhaseRecord> {
    phases(events).into_iter().map(|record| (record.operation, record.clone())).collect()
}

fn servers(records: &BTreeMap<Operation, PhaseRecord>) -> Vec<KvCacheRecord> {
    records[&Operation::Request].ranks.iter().map(|rank| rank.kv_cache.unwrap()).collect()
}

fn sum(servers: &[KvCacheRecord], of: fn(&KvCacheRecord) -> u64) -> u64 {
    servers.iter().map(of).sum()
}

/// Runs it, checks what must add up in any run, and returns the servers.
fn served(text: &Value) -> Vec<KvCacheRecord> {
    let plan = plan(text);
    let (events, place, workspace) = run(&plan);
    assert_eq!(place.failure(), None);
    let records = by_operation(&events);
    let [requests, reads, writes, removals] =
        [Operation::Request, Operation::Read, Operation::Write, Operation::Remove].map(|of| &records[&of]);
    let servers = servers(&records);
    assert!(requests.complete && requests.bytes == 0);
    assert!(crate::support::doubts(reads).contains(&"paced".to_owned()), "users set the pace, not the storage");
    assert_eq!(requests.latencies.count.iter().sum::<u64>(), requests.operations);
    for (server, record) in servers.iter().zip(&requests.ranks) {
        // Those of which the rank had not heard when it had enough were served all the same.
        assert!(server.requests >= record.operations && server.answers <= server.requests, "{server:?}");
        let tokens = server.memory_tokens + server.storage_tokens + server.recomputed_tokens + server.new_tokens;
        assert_eq!(server.prompt_tokens, tokens);
        let parts_ns = server.read_ns + server.queue_ns + server.prefill_ns;
        assert!(parts_ns <= server.first_token_ns, "{server:?}");
    }
    assert_eq!((reads.bytes, writes.bytes), (reads.operations * OBJECT_BYTES, writes.operations * OBJECT_BYTES));
    assert!(reads.operations * OBJECT_TOKENS >= sum(&servers, |server| server.storage_tokens));
    assert_eq!(writes.operations, sum(&servers, |server| server.stored));
    assert_eq!(removals.operations, sum(&servers, |server| server.evicted));
    let files = std::fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap());
    let objects = files.filter(|entry| entry.file_name().to_str().unwrap().starts_with("c1."));
    let stored: Vec<u64> = objects.map(|entry| entry.metadata().unwrap().len()).collect();
    assert!(stored.iter().all(|&bytes| bytes == OBJECT_BYTES));
    assert_eq!(stored.len() as u64, writes.operations - removals.operations);
    assert_eq!(workspace.remove().left, []);
    servers
}

#[test]
fn requests_read_what_earlier_ones_have_stored() {
    let target = crate::support::target();
    let servers = served(&text(target.path(), 10_000));
    assert!(servers.iter().all(|server| server.storage_tokens > 0), "{servers:?}");
    assert_eq!(sum(&servers, |server| server.evicted + server.memory_tokens + server.not_stored), 0);
    assert_eq!(sum(&servers, |server| server.recomputed_tokens), 0, "nothing that was stored is gone");
}

#[test]
fn a_cache_that_never_becomes_full_removes_nothing_and_that_is_no_doubt() {
    let target = crate::support::target();
    let (events, _, workspace) = run(&plan(&text(target.path(), 10_000)));
    let removals = &by_operation(&events)[&Operation::Remove];
    assert_eq!(removals.operations, 0);
    assert!(!crate::support::doubts(removals).contains(&"nothing-done".to_owned()));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn a_full_cache_removes_objects_whose_tokens_are_then_computed_again() {
    let target = crate::support::target();
    let servers = served(&text(target.path(), 8));
    assert!(servers.iter().all(|server| server.evicted > 0 && server.recomputed_tokens > 0), "{servers:?}");
}

#[test]
fn what_is_in_the_memory_of_a_server_is_not_read_from_storage() {
    let target = crate::support::target();
    let mut text = text(target.path(), 10_000);
    changed(&mut text, "memory_objects", json!(10_000));
    let servers = served(&text);
    assert!(servers.iter().all(|server| server.memory_tokens > 0 && server.storage_tokens == 0), "{servers:?}");
}

#[test]
fn a_server_computes_one_prefill_after_another_and_misses_deadlines_by_that() {
    let target = crate::support::target();
    let mut text = text(target.path(), 10_000);
    text["steps"][0]["jobs"][0]["limit"] = json!({"operations_per_rank": 10});
    // 4 to 130 tokens take 0.4 to 13 ms.
    changed(&mut text, "prefill_tokens_per_s", json!(10_000));
    changed(&mut text, "first_token_deadline_ns", json!(1));
    changed(&mut text, "token_deadline_ns", json!(3_600_000_000_000_u64));
    for server in served(&text) {
        assert_eq!((server.first_tokens_in_time, server.answers_in_time), (Some(0), Some(server.answers)));
        assert_eq!((server.users, server.first_token_deadline_ns), (3, Some(1)));
        let computed = server.recomputed_tokens + server.new_tokens;
        // Each request rounds its time down by less than a nanosecond.
        assert!(server.prefill_ns.abs_diff(computed * 100_000) <= server.requests, "{server:?}");
        assert!(server.queue_ns > 0, "three users ask at once: {server:?}");
    }
}

#[test]
fn a_server_is_closed_at_its_time_although_its_users_are_waiting() {
    let target = crate::support::target();
    let mut text = text(target.path(), 10_000);
    text["steps"][0]["jobs"][0]["limit"] = json!({"stonewall_ns": 300_000_000});
    changed(&mut text, "think_ns", json!(3_600_000_000_000_u64));
    let plan = plan(&text);
    let (events, place, workspace) = run(&plan);
    assert_eq!(place.failure(), None);
    let records = by_operation(&events);
    let requests = &records[&Operation::Request];
    assert!(requests.complete && requests.stonewall.is_some(), "{requests:?}");
    assert!((300_000_000..60_000_000_000).contains(&requests.duration_ns));
    assert_eq!(workspace.remove().left, []);
}

#[test]
fn every_storage_api_that_can_remove_files_holds_a_cache() {
    for storage in [json!({"api": "mmap"}), json!({"api": "uring"}), json!({"api": "posix", "direct": true})] {
        let target = crate::support::target();
        let mut text = text(target.path(), 8);
        text["storage"] = storage;
        assert!(sum(&served(&text), |server| server.evicted) > 0);
    }
}

#[test]
fn users_say_the_same_in_every_run() {
    let tokens = || {
        let target = crate::support::target();
        let mut text = text(target.path(), 10_000);
        // One user, so that nothing depends on who comes first.
        changed(&mut text, "users", json!(1));
        let plan = plan(&text);
        let (events, _, workspace) = run(&plan);
        assert_eq!(workspace.remove().left, []);
        servers(&by_operation(&events)).iter().map(|server| server.prompt_tokens / server.requests).collect::<Vec<_>>()
    };
    let first = tokens();
    assert!(first[0] != first[1], "each rank has users of its own: {first:?}");
    // Where one more request was served, the mean is a little different.
    assert!(first.iter().zip(tokens()).all(|(before, after)| before.abs_diff(after) <= 5), "{first:?}");
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_write() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut text = text(Path::new("/"), 8);
        change(&mut text);
        let refusal = parse(text.to_string().as_bytes()).unwrap_err();
        (refusal.key, refusal.valid)
    };
    let (key, valid) = refused(&|text| text["steps"][0]["jobs"][0]["limit"] = json!({}));
    assert_eq!(key, "steps[0].jobs[0].work.limit");
    assert_eq!(valid, "give the job a time (stonewall_ns) or a number of requests");
    let (key, _) = refused(&|text| text["files"]["cache"]["layout"] = json!("N-1"));
    assert_eq!(key, "files.cache.layout");
    let (key, _) = refused(&|text| text["files"]["cache"]["payload"] = json!({"kind": "zero"}));
    assert_eq!(key, "files.cache.payload");
    let (key, valid) = refused(&|text| changed(text, "files", json!("kv")));
    assert_eq!((key.as_str(), valid.as_str()), ("steps[0].jobs[0].work.files", "use cache"));
    for (name, value) in [
        ("users", json!(0)),
        ("users", json!(5000)),
        ("turns", json!({"least": 3, "most": 2})),
        ("prompt_tokens", json!({"least": 0, "most": 2})),
        ("contexts", json!({"count": 1, "tokens": {"least": 0, "most": 0}, "exponent": 11.0})),
        ("prefill_tokens_per_s", json!(0)),
        ("think_ns", json!(u64::MAX)),
        ("token_deadline_ns", json!(0)),
        ("turns", json!({"least": 1, "most": 1 << 30})),
    ] {
        let (key, _) = refused(&|text| changed(text, name, value.clone()));
        assert!(key.starts_with(&format!("steps[0].jobs[0].work.{name}")), "{key}: {value}");
    }
}
