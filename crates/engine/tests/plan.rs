//! Plans that must be refused, each before any I/O, with the key and what would be valid. And a fuzzed parser.

use ioassay_engine::plan::parse;
use proptest::prelude::*;
use serde_json::{Value, json};

fn valid() -> Value {
    json!({
        "version": 2, "run": "r1", "case": "c1",
        "target": {"directory": "/tmp"}, "storage": {"api": "posix"},
        "ranks": {"clients": 4, "per_client": 1},
        "files": {
            "data": {
                "layout": "N-N", "files_per_rank": 1, "transfer_bytes": 4096, "block_bytes": 8192, "segments": 1,
                "payload": {"kind": "unique"},
            },
            "shared": {
                "layout": {"N-M": 2}, "files_per_rank": 3, "transfer_bytes": 4096, "block_bytes": 8192, "segments": 2,
                "offset_bytes": 0, "ranks": {"first": 0, "count": 2},
                "payload": {"kind": "reducible", "zero_percent": 50, "duplicate_percent": 10},
            },
        },
        "steps": [
            {"step": "phase", "name": "write", "jobs": [{"name": "write", "work": {
                "kind": "data", "files": "data", "transfer": "write", "order": "random", "fsync": "at-end",
                "size": "full", "lock": "range", "advice": ["sequential"],
            }}]},
            {"step": "pause", "duration_ns": 1000},
            {"step": "cold-cache", "attempts": ["drop-caches", "fadvise"]},
            {"step": "phase", "name": "both", "jobs": [
                {"name": "checkpoint", "ranks": {"first": 0, "count": 2}, "work": {
                    "kind": "data", "files": "shared", "transfer": "write", "order": {"strided": 2},
                    "fsync": {"every-writes": 2},
                }, "limit": {"stonewall_ns": 1000, "wear_out": true}},
                {"name": "readers", "ranks": {"first": 2, "count": 2}, "work": {
                    "kind": "data", "files": "data", "transfer": "read", "order": {"zipf": 1.1}, "fsync": "never",
                    "source": {"shift": 1}, "verify": "reads",
                }, "rate": {"bytes_per_s": 1000}, "think": {"duration_ns": 5, "every_operations": 6}},
            ]},
            {"step": "phase", "name": "mix", "jobs": [{"name": "mix", "ranks": {"first": 1, "count": 2}, "work": {
                "kind": "data", "files": "data", "transfer": {"mixed": 70}, "fsync": "at-close",
                "order": {"hot-spot": {"transfers_percent": 10, "operations_percent": 90}},
            }, "limit": {"bytes_per_rank": 4096, "operations_per_rank": 1, "minimum_ns": 5}}]},
        ],
        "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

/// The valid plan with the value at `pointer` replaced, or added.
fn with(pointer: &str, value: Value) -> Value {
    let mut plan = valid();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = plan.pointer_mut(parent).expect("the pointer leads somewhere");
    match parent {
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        _ => parent[key.parse::<usize>().expect("an index")] = value,
    }
    plan
}

/// Takes from the first job what only some storage APIs can do.
fn plain_first_job(plan: &mut Value) -> &mut Value {
    let work = &mut plan["steps"][0]["jobs"][0]["work"];
    for key in ["lock", "size", "advice"] {
        work.as_object_mut().unwrap().remove(key);
    }
    work
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
    let data = "/steps/0/jobs/0";
    let checkpoint = "/steps/3/jobs/0";
    let readers = "/steps/3/jobs/1";
    let mix = "/steps/4/jobs/0";
    for (pointer, value, expected) in [
        ("/version", json!(1), "version: the plan has version 1; this engine reads version 2"),
        ("/run", json!("../up"), "run: \"../up\" is not a valid name; use"),
        ("/case", json!(""), "case: \"\" is not a valid name"),
        ("/case", json!(".hidden"), "not beginning with '.'"),
        ("/target/directory", json!("here"), "target.directory: here is a relative path; write the absolute path"),
        (
            "/target",
            json!({"url": "bucket"}),
            "target.url: the URL (6 characters) has no scheme; write for example s3://",
        ),
        ("/target", json!({"url": "gopher://x"}), "target.url: posix does not support the URL scheme \"gopher\"; use"),
        (
            "/target",
            json!({"device": {"path": "/dev/sda", "destroy_data": "/dev/sdb"}}),
            "target.device.destroy_data: /dev/sdb is not the target device /dev/sda; repeat the path of the device",
        ),
        ("/storage/api", json!("posxi"), "storage.api: there is no storage API \"posxi\"; use one of: posix"),
        (
            "/storage",
            json!({"api": "posix", "depth": 2}),
            "storage.depth: posix keeps at most 1 transfer in flight, not 2; use at most 1, or",
        ),
        ("/storage", json!({"api": "posix", "depth": 0}), "storage.depth: 0 does nothing; use 1 or more"),
        (
            "/storage",
            json!({"api": "posix", "vectors": 5000}),
            "storage.vectors: a call cannot take 5000 vectors; use at most 1024",
        ),
        (
            "/storage",
            json!({"api": "null", "vectors": 2}),
            "storage.vectors: null does not support vectored I/O; leave it out, or use",
        ),
        (
            "/storage",
            json!({"api": "null", "direct": true}),
            "storage.direct: null does not support direct I/O; leave it out, or",
        ),
        ("/storage", json!({"api": "posix", "uring": {}}), "storage.uring: posix does not use io_uring; leave it out"),
        ("/ranks/clients", json!(0), "ranks.clients: 0 does no I/O; use 1 or more"),
        (
            "/ranks/per_client",
            json!(u32::MAX),
            "ranks: 4 clients with 4294967295 ranks each are too many ranks; use at most",
        ),
        ("/ranks/clients", json!(-1), "ranks.clients: invalid value: integer `-1`"),
        ("/files/data/transfer_bytes", json!(0), "files.data.transfer_bytes: 0 moves no data"),
        (
            "/files/data/transfer_bytes",
            json!(1_u64 << 31),
            "files.data.transfer_bytes: a call cannot move 2147483648 bytes",
        ),
        (
            "/files/data/block_bytes",
            json!(9000),
            "files.data.block_bytes: 9000 is not a multiple of the transfer, 4096 bytes; use 8192 or 12288",
        ),
        ("/files/data/block_bytes", json!(100), "use 4096"),
        (
            "/files/data/block_bytes",
            huge,
            "files.data.segments: the files add up to 2^64 bytes or more; keep a case at or below 9223372036854775807",
        ),
        ("/files/data/segments", json!(0), "files.data.segments: 0 moves no data"),
        ("/files/data/segments", json!(u64::MAX), "keep a case at or below 9223372036854775807 bytes"),
        ("/files/data/files_per_rank", json!(0), "files.data.files_per_rank: 0 moves no data"),
        (
            "/files/data/files_per_rank",
            json!(u64::MAX),
            "files.data.segments: the files add up to 2^64 bytes or more; keep a case",
        ),
        (
            "/files/data/segments",
            json!(1_u64 << 48),
            "files.data.segments: the files add up to 9223372036854775808 bytes; keep a case at or below",
        ),
        (
            "/files/data/segments",
            json!((1_u64 << 48) - 1),
            "files: the file sets add up to 9223372036854841344 bytes; keep a case at or below 9223372036854775807 bytes",
        ),
        ("/files/data/segments", json!(1.5), "files.data.segments: invalid type"),
        ("/files/data/layout", json!("N-2"), "files.data.layout: unknown variant `N-2`"),
        (
            "/files/data/layout",
            json!({"N-M": 3}),
            "files.data.layout: 4 ranks cannot be split into 3 equal groups; use one of 1, 2, 4",
        ),
        ("/files/data/layout", json!({"N-M": 0}), "use one of 1, 2, 4"),
        ("/files/shared/offset_bytes", json!(i64::MAX), "files.shared.segments: the files add up to 2^64"),
        (
            "/files/shared/ranks/count",
            json!(5),
            "files.shared.ranks: 5 ranks from rank 0 on do not all exist; use ranks 0 to 3",
        ),
        ("/files/shared/ranks/count", json!(0), "files.shared.ranks.count: 0 does nothing"),
        (
            "/files/shared/payload/zero_percent",
            json!(101),
            "files.shared.payload.zero_percent: 101 % is out of range; use 0 to 100",
        ),
        ("/steps", json!([]), "steps: there is no phase, so nothing is measured"),
        ("/steps/0/jobs", json!([]), "steps[0].jobs: a phase cannot have 0 jobs; use 1 to 64"),
        (
            &format!("{data}/work/order"),
            json!("random-with-replacement"),
            "steps[3].jobs[1].work: the job reads files that no earlier phase writes in full; add an earlier write \
             phase",
        ),
        (
            &format!("{data}/work/transfer"),
            json!("read"),
            "steps[0].jobs[0].work.size: a job that only reads does not set file sizes",
        ),
        (&format!("{data}/work/files"), json!("dta"), "there is no file set \"dta\"; use one of: data, shared"),
        (
            &format!("{data}/work/advice"),
            json!(["huge-page"]),
            "posix does not support the advice huge-page; use any of: normal",
        ),
        (&format!("{data}/work/source"), json!({"shift": 1}), "each rank writes only its own part; leave it out"),
        (
            &format!("{data}/work/verify"),
            json!("reads"),
            "steps[0].jobs[0].work.verify: the job reads nothing; use writes",
        ),
        (
            &format!("{data}/limit"),
            json!({"bytes_per_rank": 5}),
            "limit.bytes_per_rank: 5 is not a multiple of the transfer",
        ),
        (
            &format!("{data}/limit"),
            json!({"bytes_per_rank": 12288}),
            "12288 bytes are more than each rank's 8192 bytes",
        ),
        (&format!("{data}/limit"), json!({"operations_per_rank": 0}), "limit.operations_per_rank: 0 does nothing"),
        (&format!("{data}/limit"), json!({"wear_out": true}), "limit.wear_out: wear_out needs a stonewall"),
        (
            &format!("{data}/limit"),
            json!({"stonewall_ns": 5, "minimum_ns": 6}),
            "6 ns is longer than the stonewall of 5 ns",
        ),
        (&format!("{data}/limit"), json!({"stonewall_ns": 0}), "steps[0].jobs[0].limit.stonewall_ns: 0 does nothing"),
        (&format!("{data}/limit"), json!({"stonewall_ns": u64::MAX}), "use at most 86400000000000 (a day)"),
        (
            &format!("{checkpoint}/ranks/first"),
            json!(1),
            "steps[3].jobs[1].ranks: ranks 1 to 2 already have a job in this phase",
        ),
        (&format!("{checkpoint}/name"), json!("readers"), "steps[3].jobs[1].name: two jobs of the phase are called"),
        (&format!("{checkpoint}/work/size"), json!("empty"), "the last one would truncate what others wrote; use full"),
        (&format!("{checkpoint}/work/fsync"), json!({"every-writes": 0}), "fsync.every-writes: 0 does nothing"),
        (&format!("{checkpoint}/work/order"), json!({"strided": 0}), "order.strided: 0 does nothing"),
        (
            &format!("{readers}/work/order"),
            json!({"zipf": 0.0}),
            "order.zipf: an exponent of 0 is out of range; use more than 0",
        ),
        (&format!("{readers}/rate"), json!({"bytes_per_s": 0}), "rate.bytes_per_s: 0 does nothing"),
        (&format!("{readers}/think/every_operations"), json!(0), "think.every_operations: 0 does nothing"),
        (&format!("{readers}/work/verify"), json!("writes"), "the job writes nothing; use reads"),
        ("/files/data/payload", json!({"kind": "zero"}), "verify: zeros cannot be distinguished from a hole"),
        ("/files/data/payload", json!({"kind": "repeated"}), "data that moved would pass the verification"),
        (&format!("{mix}/work/transfer"), json!({"mixed": 100}), "transfer.mixed: 100 % is out of range; use 1 to 99"),
        (
            &format!("{mix}/work/order/hot-spot/transfers_percent"),
            json!(0),
            "transfers_percent: 0 % is out of range; use 1 to 99",
        ),
        ("/steps/4/name", json!("write"), "steps[4].name: two phases are called \"write\""),
        ("/steps/2/attempts", json!([]), "steps[2].attempts: no method to empty the caches is listed"),
        ("/steps/2/attempts", json!(["fadvise", "fadvise"]), "each once"),
        ("/steps/1/duration_ns", json!(u64::MAX), "steps[1].duration_ns: a pause of"),
        ("/sample_interval_ns", json!(0), "sample_interval_ns: a sample interval of 0 ns is out of range; use"),
    ] {
        let message = refusal(&with(pointer, value));
        assert!(message.contains(expected), "{pointer}: {message}");
    }
}

#[test]
fn what_a_storage_api_cannot_do_is_refused() {
    let mut plan = with("/files/data/layout", json!("N-1"));
    plan["storage"]["api"] = json!("skeleton");
    assert!(refusal(&plan).contains("files.data.layout: skeleton does not support files shared by ranks; use N-N"));
    plan["files"]["data"]["layout"] = json!("N-N");
    plan["files"]["shared"]["layout"] = json!("N-N");
    assert!(
        refusal(&plan).contains("fsync: skeleton cannot force data to stable storage; use never"),
        "{}",
        refusal(&plan)
    );
    for (key, value, expected) in [
        ("lock", json!("file"), "lock: null cannot lock files; leave it out"),
        ("size", json!("full"), "size: null cannot set a file's size"),
        ("advice", json!(["random"]), "advice: null does not support the advice random; leave it out"),
    ] {
        let mut plan = valid();
        plan["storage"] = json!({"api": "null", "depth": 4});
        plan["steps"] = json!([plan["steps"][0]]);
        plain_first_job(&mut plan)[key] = value;
        assert!(refusal(&plan).contains(expected), "{key}: {}", refusal(&plan));
    }
}

#[test]
fn transfers_in_flight_leave_no_room_for_locks_and_fsyncs_between_them() {
    let mut plan = valid();
    plan["storage"] = json!({"api": "null", "depth": 4});
    plan["steps"] = json!([plan["steps"][0]]);
    plain_first_job(&mut plan)["fsync"] = json!({"every-writes": 1});
    assert!(
        refusal(&plan)
            .contains("an fsync between writes is not possible with 4 transfers in flight; use storage.depth 1")
    );
}

#[test]
fn direct_transfers_are_whole_sectors() {
    let mut plan = valid();
    plan["storage"]["direct"] = json!(true);
    plan["files"]["data"]["transfer_bytes"] = json!(4000);
    plan["files"]["data"]["block_bytes"] = json!(8000);
    assert!(refusal(&plan).contains(
        "files.data.transfer_bytes: 4000 is not a multiple of the sector size that direct I/O needs, 512 bytes; use \
         3584 or 4096"
    ));
    plan["files"]["data"]["transfer_bytes"] = json!(4096);
    plan["files"]["data"]["block_bytes"] = json!(8192);
    plan["files"]["data"]["offset_bytes"] = json!(1);
    assert!(refusal(&plan).contains("files.data.offset_bytes: 1 is not a multiple of the sector size"));
}

#[test]
fn what_a_job_asks_of_a_storage_of_its_own_is_refused_there() {
    let with_storage = |storage: Value| with("/steps/0/jobs/0/storage", storage);
    for (storage, expected) in [
        (
            json!({"api": "posxi"}),
            "write, steps[0].jobs[0].storage.api: there is no storage API \"posxi\"; use one of: posix",
        ),
        (
            json!({"api": "posix", "depth": 2}),
            "steps[0].jobs[0].storage.depth: posix keeps at most 1 transfer in flight",
        ),
        (json!({"api": "mmap", "direct": true}), "steps[0].jobs[0].storage.direct: mmap does not support direct I/O"),
        (json!({"api": "posix", "uring": {}}), "steps[0].jobs[0].storage.uring: posix does not use io_uring"),
        (json!({"api": "uring", "depth": 4}), "steps[0].jobs[0].work.lock: transfers cannot be locked one by one"),
        (json!({"api": "object"}), "target.directory: object does not work on directories; use the storage API posix"),
        (
            json!({"api": "null"}),
            "steps[0].jobs[0].storage.api: null stores no files, but posix, the storage API of the other",
        ),
    ] {
        let message = refusal(&with_storage(storage.clone()));
        assert!(message.contains(expected), "{storage}: {message}");
    }
    let mut walk = valid();
    let find = json!({"name": "find", "storage": {"api": "posix"}, "work": {"kind": "find"}});
    walk["steps"].as_array_mut().unwrap().push(json!({"step": "phase", "name": "walk", "jobs": [find]}));
    assert!(refusal(&walk).contains("walk, steps[5].jobs[0].storage: a walk does not use a storage API"));
    parse(with_storage(json!({"api": "posix", "direct": true})).to_string().as_bytes()).unwrap();
}

#[test]
fn sizes_must_suit_the_storage_of_the_jobs_that_move_them_and_no_other() {
    let mut plan = valid();
    for (key, bytes) in [("transfer_bytes", 4000), ("block_bytes", 8000)] {
        plan["files"]["data"][key] = json!(bytes);
    }
    // Those of the other file set are whole sectors.
    plan["steps"][3]["jobs"][0]["storage"] = json!({"api": "posix", "direct": true});
    plan["steps"].as_array_mut().unwrap().truncate(4);
    parse(plan.to_string().as_bytes()).unwrap();
    plan["steps"][3]["jobs"][1]["storage"] = json!({"api": "posix", "direct": true});
    assert!(
        refusal(&plan).contains(
            "both, steps[3].jobs[1].storage.direct: files.data.transfer_bytes: 4000 is not a multiple of the sector \
             size that direct I/O needs, 512 bytes; use 3584 or 4096, or leave direct out"
        ),
        "{}",
        refusal(&plan)
    );
    // What the whole case asks for a job may leave out.
    plan["storage"]["direct"] = json!(true);
    for job in ["/steps/0/jobs/0", "/steps/3/jobs/1"] {
        plan.pointer_mut(job).unwrap()["storage"] = json!({"api": "posix"});
    }
    parse(plan.to_string().as_bytes()).unwrap();
}

#[test]
fn only_whole_parts_of_what_was_written_in_order_are_read_in_pieces() {
    let read = |pieces: u64| {
        let mut plan = valid();
        plan["files"]["data"]["transfer_bytes"] = json!(4096);
        plan["files"]["data"]["block_bytes"] = json!(8192);
        plan["steps"][0]["jobs"][0]["work"]["order"] = json!("sequential");
        plan["steps"].as_array_mut().unwrap().truncate(1);
        let work = json!({
            "kind": "data", "files": "data", "transfer": "read", "order": "random", "fsync": "never",
            "piece_bytes": pieces,
        });
        let jobs = json!([{"name": "read", "work": work}]);
        plan["steps"].as_array_mut().unwrap().push(json!({"step": "phase", "name": "pieces", "jobs": jobs}));
        plan
    };
    parse(read(1024).to_string().as_bytes()).unwrap();
    assert!(refusal(&read(0)).contains("steps[1].jobs[0].work.piece_bytes: 0 does nothing"));
    assert!(
        refusal(&read(1000))
            .contains("piece_bytes: 1000 bytes do not divide the transfer of 4096 bytes; use a divisor")
    );
    let mut plan = read(1024);
    plan["steps"][0]["jobs"][0]["work"]["order"] = json!("backward");
    assert!(refusal(&plan).contains("piece_bytes: the files are not read or not written in ascending order"));
    let mut plan = read(1024);
    plan["steps"][1]["jobs"][0]["work"]["verify"] = json!("reads");
    assert!(refusal(&plan).contains("piece_bytes: writes and verified reads work on whole transfers only"));
}

#[test]
fn more_ranks_than_parts_may_read_but_not_write() {
    let mut plan = valid();
    plan["files"]["data"]["ranks"] = json!({"first": 0, "count": 2});
    assert!(
        refusal(&plan)
            .contains("steps[0].jobs[0].work.files: 4 ranks would write 2 parts, some of them more than once; use")
    );
    plan["steps"][0]["jobs"][0]["ranks"] = json!({"first": 2, "count": 2});
    parse(plan.to_string().as_bytes()).unwrap();
    plan["steps"][3]["jobs"][1]["ranks"] = json!({"first": 2, "count": 2});
    plan["steps"].as_array_mut().unwrap().truncate(4);
    parse(plan.to_string().as_bytes()).unwrap();
}

#[test]
fn reading_a_part_that_nobody_wrote_is_refused() {
    let mut plan = valid();
    plan["steps"][0]["jobs"][0]["ranks"] = json!({"first": 0, "count": 3});
    assert!(refusal(&plan).contains("steps[3].jobs[1].work: the job reads files that no earlier phase"));
    // Two ranks read their own parts, which were written.
    plan["steps"][3]["jobs"][1]["work"].as_object_mut().unwrap().remove("source");
    parse(plan.to_string().as_bytes()).unwrap();
}

#[test]
fn unknown_keys_are_refused_and_so_is_what_follows_the_plan() {
    let mut plan = valid();
    plan["files"]["data"]["blok_bytes"] = json!(1);
    assert!(refusal(&plan).contains("unknown field `blok_bytes`"));
    let twice = format!("{} {}", valid(), valid());
    assert!(parse(twice.as_bytes()).is_err());
}

/// Every value in the plan, by its JSON pointer.
fn pointers(value: &Value, here: &str, paths: &mut Vec<String>) {
    paths.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| pointers(value, &format!("{here}/{key}"), paths))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{here}/{index}"), paths));
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
            let mut paths = Vec::new();
            pointers(&plan, "", &mut paths);
            let pointer = place.get(&paths).clone();
            *plan.pointer_mut(&pointer).unwrap() = value;
        }
        let _ = parse(plan.to_string().as_bytes());
    }
}
