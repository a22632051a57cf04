//! Plans that must be refused, each before any I/O, with the key and what would be valid. And a fuzzed parser.

use ioassay_engine::plan::parse;
use proptest::prelude::*;
use serde_json::{Value, json};

fn valid() -> Value {
    json!({
        "version": 1, "run": "r1", "case": "c1",
        "target": {"directory": "/tmp"}, "storage": {"api": "posix"},
        "ranks": {"clients": 2, "per_client": 1},
        "data": {"layout": "N-N", "transfer_bytes": 4096, "block_bytes": 8192, "segments": 1},
        "steps": [
            {"step": "phase", "name": "write", "operation": "write", "order": "random", "fsync": "at-end"},
            {"step": "pause", "duration_ns": 1000},
            {"step": "cold-cache", "attempts": ["drop-caches", "fadvise"]},
            {"step": "phase", "name": "read", "operation": "read", "order": "sequential", "fsync": "never"},
        ],
        "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

/// The valid plan with the value at `pointer` replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut plan = valid();
    *plan.pointer_mut(pointer).expect("the pointer leads somewhere") = value;
    plan
}

fn refusal(plan: &Value) -> String {
    parse(plan.to_string().as_bytes()).expect_err("this plan must be refused").to_string()
}

#[test]
fn the_valid_plan_is_valid() {
    parse(valid().to_string().as_bytes()).unwrap();
}

#[test]
fn impossible_plans_are_refused_with_key_value_and_what_would_be_valid() {
    let huge = json!(u64::MAX / 4096 * 4096);
    for (pointer, value, expected) in [
        ("/version", json!(2), "version: the plan has version 2; this engine reads version 1"),
        ("/run", json!("../up"), "run: \"../up\" is no identifier; use"),
        ("/case", json!(""), "case: \"\" is no identifier"),
        ("/case", json!(".hidden"), "not beginning with '.'"),
        ("/target/directory", json!("here"), "target.directory: here is relative; give the absolute path"),
        ("/storage/api", json!("posxi"), "storage.api: \"posxi\" is unknown; take one of: posix"),
        ("/ranks/clients", json!(0), "ranks.clients: 0 does no I/O; take 1 or more"),
        ("/ranks/per_client", json!(u32::MAX), "ranks: 2 clients with 4294967295 ranks each; take at most"),
        ("/ranks/clients", json!(-1), "ranks.clients: invalid value: integer `-1`"),
        ("/data/transfer_bytes", json!(0), "data.transfer_bytes: 0 moves nothing"),
        ("/data/transfer_bytes", json!(1_u64 << 31), "data.transfer_bytes: 2147483648 bytes in one call"),
        (
            "/data/block_bytes",
            json!(9000),
            "data.block_bytes: 9000 is not a multiple of the transfer of 4096 bytes; take 8192 or 12288",
        ),
        ("/data/block_bytes", json!(100), "take 4096"),
        ("/data/block_bytes", huge, "data.segments: 1 segments of blocks of"),
        ("/data/segments", json!(0), "data.segments: 0 moves nothing"),
        ("/data/segments", json!(u64::MAX), "keep a file at or below 9223372036854775807 bytes"),
        ("/data/segments", json!(1.5), "data.segments: invalid type"),
        ("/data/layout", json!("N-2"), "data.layout: unknown variant `N-2`"),
        ("/steps", json!([]), "steps: there is no phase, so nothing is measured"),
        (
            "/steps/0/order",
            json!("random-with-replacement"),
            "steps[3]: reads what no phase before it has written in full",
        ),
        ("/steps/0/operation", json!("read"), "steps[0]: reads what no phase before it"),
        ("/steps/3/name", json!("write"), "steps[3].name: two phases are called \"write\""),
        ("/steps/2/attempts", json!([]), "steps[2].attempts: []"),
        ("/steps/2/attempts", json!(["fadvise", "fadvise"]), "each once"),
        ("/steps/1/duration_ns", json!(u64::MAX), "steps[1].duration_ns: a pause of"),
        ("/sample_interval_ns", json!(0), "sample_interval_ns: a sample of 0 ns; take"),
    ] {
        let message = refusal(&with(pointer, value));
        assert!(message.contains(expected), "{pointer}: {message}");
    }
}

#[test]
fn a_shared_file_is_refused_where_the_storage_api_cannot_share() {
    let mut plan = with("/data/layout", json!("N-1"));
    plan["storage"]["api"] = json!("skeleton");
    assert!(refusal(&plan).contains("data.layout: skeleton cannot share a file among ranks; take N-N"));
}

#[test]
fn unknown_keys_are_refused_and_so_is_what_follows_the_plan() {
    let mut plan = valid();
    plan["data"]["blok_bytes"] = json!(1);
    assert!(refusal(&plan).contains("unknown field `blok_bytes`"));
    let twice = format!("{} {}", valid(), valid());
    assert!(parse(twice.as_bytes()).is_err());
}

/// Every value in the plan, by its JSON pointer.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| pointers(value, &format!("{here}/{key}"), found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{here}/{index}"), found));
        }
        _ => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ]
}

proptest! {
    #[test]
    fn any_bytes_give_a_plan_or_a_refusal_and_never_a_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }

    #[test]
    fn any_value_anywhere_gives_a_plan_or_a_refusal_and_never_a_panic(
        places in proptest::collection::vec((any::<prop::sample::Index>(), any_value()), 1..4),
    ) {
        let mut plan = valid();
        for (place, value) in places {
            let mut found = Vec::new();
            pointers(&plan, "", &mut found);
            let pointer = place.get(&found).clone();
            *plan.pointer_mut(&pointer).unwrap() = value;
        }
        let _ = parse(plan.to_string().as_bytes());
    }
}
