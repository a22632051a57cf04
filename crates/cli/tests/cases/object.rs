//! The storage API `object` against real servers, those of labs: S3 is versitygw, WebHDFS is Hadoop's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::lab::Lab;
use crate::support::object_server::{Fate, ObjectServer, ReceivedRequest};
use crate::support::process::{Bench, Running, check_clean_up, entries, read, set, start_waiting, wait_until, write};
use crate::support::skipped::skipped;
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::{Event, Outcome, PhaseRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What a URL must not have in it.
const SECRET: &str = "not-to-be-shown";

/// A place of its own in the bucket of an S3 gateway.
struct S3 {
    lab: &'static Lab,
    place: String,
}

impl S3 {
    fn get() -> Option<Self> {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let lab = Lab::get("s3")?;
        Some(Self { lab, place: format!("some/where{}", PLACES.fetch_add(1, Ordering::Relaxed)) })
    }

    fn bench(&self) -> Bench {
        Bench::on(self.lab)
    }

    fn with_secret(&self, secret: &str) -> Bench {
        let mut bench = self.bench();
        bench.environment.retain(|(name, _)| *name != "AWS_SECRET_ACCESS_KEY");
        bench.environment.push(("AWS_SECRET_ACCESS_KEY", secret.to_owned()));
        bench
    }

    fn url(&self) -> String {
        self.lab.place().replacen('?', &format!("/{}?", self.place), 1)
    }

    /// Where the gateway keeps it: keys are paths of files.
    fn directory(&self) -> PathBuf {
        self.lab.path("/run/ioassay/disk/s3/s3/lab").join(&self.place)
    }

    /// Keys of all objects in it.
    fn objects(&self) -> BTreeSet<String> {
        files(&self.directory())
    }
}

/// Files below `directory`, without those that the server has for itself.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        // The server removes directories that have become empty.
        let Ok(entries) = fs::read_dir(next) else { continue };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != ".sgwtmp" {
                open.push(path);
            } else if path.is_file() {
                names.insert(path.strip_prefix(directory).unwrap().display().to_string());
            }
        }
    }
    names
}

/// HDFS with an existing directory `/target`.
struct Hdfs {
    lab: &'static Lab,
}

impl Hdfs {
    fn get() -> Option<Self> {
        Some(Self { lab: Lab::get("hdfs")? })
    }

    fn url(&self) -> String {
        self.lab.place().to_owned()
    }

    /// The names in a directory, as WebHDFS lists them.
    fn listing(&self, directory: &str) -> String {
        let server = self.url().replace("/target?user=lab", "").replace("webhdfs://", "http://");
        self.lab.run(&["curl", "--silent", "--fail", &format!("{server}/webhdfs/v1{directory}?op=LISTSTATUS")])
    }
}

/// Two ranks write objects of several transfers and of one, and read all of it back in random order, compared.
fn plan(url: &str, depth: u32, fsync: &str) -> Value {
    json!({
        "version": 2, "run": "r1", "case": "c1", "target": {"url": url},
        "storage": {"api": "object", "depth": depth}, "ranks": {"clients": 2, "per_client": 1},
        "files": {"large": set(5 << 20, 15 << 20, 2), "small": set(4096, 4096, 20)},
        "steps": [write("large", fsync), write("small", fsync), read("large"), read("small")],
        "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

#[test]
fn what_is_written_over_s3_is_read_back_and_nothing_is_left() {
    let Some(s3) = S3::get() else { return };
    for depth in [1, 16] {
        let ran = s3.bench().run(&plan(&s3.url(), depth, "at-close"));
        ran.complete();
        let bytes: Vec<u64> = ran.phases().iter().map(|p| p.ranks.iter().map(|rank| rank.bytes).sum()).collect();
        assert_eq!(bytes, [60 << 20, 160 << 10, 60 << 20, 160 << 10]);
        assert_eq!(ran.removed().files, 44);
        assert_eq!(s3.objects(), BTreeSet::new());
    }
}

#[test]
fn what_is_written_over_webhdfs_is_read_back_and_nothing_is_left() {
    let Some(hdfs) = Hdfs::get() else { return };
    for depth in [1, 4] {
        Bench::on(hdfs.lab).run(&plan(&hdfs.url(), depth, "never")).complete();
        let listing = hdfs.listing("/target");
        assert!(listing.contains(r#""FileStatus":[]"#) || listing.contains("\"FileStatus\":[\n\n]"), "{listing}");
    }
    // HDFS does not sync what is closed, so nobody may ask for it.
    let ran = Bench::on(hdfs.lab).run(&plan(&hdfs.url(), 1, "at-close"));
    assert_eq!(ran.code, 2);
    assert!(ran.failure().message.contains("cannot force data to stable storage"), "{}", ran.stderr);
    // And a directory that is not there is not created.
    let ran = Bench::on(hdfs.lab).run(&plan(&hdfs.url().replace("/target", "/elsewhere"), 1, "never"));
    assert_eq!(ran.code, 3);
    assert!(hdfs.listing("/").contains("target"));
    assert!(!hdfs.listing("/").contains("elsewhere"));
}

#[test]
fn what_is_written_to_local_files_is_read_back_and_nothing_is_left() {
    let target = tempfile::tempdir().unwrap();
    for depth in [1, 4] {
        Bench::new().run(&plan(&format!("fs://{}", target.path().display()), depth, "at-close")).complete();
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
    }
}

/// A tree of small objects is created, inspected and read; `rest` is what happens then.
fn tree_plan(url: &str, rest: &[Value]) -> Value {
    let mut plan = plan(url, 1, "never");
    plan["files"] = json!({});
    plan["trees"] = json!({"t": {
        "sharing": "shared", "depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": true, "items": "files",
    }});
    let mut steps = vec![
        entries("tree", json!({"kind": "create-tree"})),
        entries("create", json!({"kind": "create", "with": "open", "write_bytes": 4096, "fsync": false})),
        entries("stat", json!({"kind": "stat"})),
        entries("read", json!({"kind": "read", "bytes": 4096})),
    ];
    steps.extend_from_slice(rest);
    plan["steps"] = Value::from(steps);
    plan
}

#[test]
fn trees_of_objects_are_made_and_removed_by_name() {
    let local = tempfile::tempdir().unwrap();
    let s3 = S3::get();
    let mut places = vec![(format!("fs://{}", local.path().display()), Bench::new())];
    places.extend(s3.iter().map(|s3| (s3.url(), s3.bench())));
    for (url, bench) in places {
        // Once the items are removed by the case, and once by the end of the run.
        let mut plan = tree_plan(&url, &[entries("remove", json!({"kind": "remove"}))]);
        for files in [0, 12] {
            if url.starts_with("s3") {
                plan["steps"].as_array_mut().unwrap().retain(|step| step["name"] != "tree");
            }
            let ran = bench.run(&plan);
            ran.complete();
            assert_eq!(ran.removed().files, files, "{url}");
            plan["steps"].as_array_mut().unwrap().retain(|step| step["name"] != "remove");
        }
    }
    assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
    assert!(s3.is_none_or(|s3| s3.objects().is_empty()));
}

#[test]
fn datasets_of_objects_are_created_trained_with_and_removed() {
    let local = tempfile::tempdir().unwrap();
    let s3 = S3::get();
    let mut places = vec![(format!("fs://{}", local.path().display()), Bench::new())];
    places.extend(s3.iter().map(|s3| (s3.url(), s3.bench())));
    for (url, bench) in places {
        for (container, subfolders) in [("raw", 0), ("tfrecord", 3), ("parquet", 2)] {
            let mut plan = plan(&url, 1, "never");
            plan["files"] = json!({});
            plan["datasets"] = json!({"images": {
                "samples": 24, "samples_per_file": 4, "sizes": {"fixed": 30_000}, "seed": 1, "container": container,
                "subfolders": subfolders,
            }});
            let phase = |name: &str, operation: Value| {
                let work = json!({"kind": "train", "dataset": "images", "operation": operation});
                json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
            };
            let epoch = json!({
                "kind": "epoch", "number": 0, "batch": 3, "loader_threads": 2, "prefetch": 2, "shuffle": "samples",
                "drop_last": true, "compute_ns": 0, "compute": "sleep", "verify": true,
            });
            plan["steps"] = json!([phase("create", json!({"kind": "create", "fsync": false})), phase("epoch", epoch)]);
            let ran = bench.run(&plan);
            ran.complete();
            let files = if container == "tfrecord" { 12 } else { 6 };
            assert_eq!(ran.removed().files, files, "{url}, {container}");
            // Each sample was compared with what was written.
            let read = ran.phases().into_iter().find(|record| record.name == "epoch").unwrap().operations;
            assert_eq!(read, 24);
        }
    }
    assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
    assert!(s3.is_none_or(|s3| s3.objects().is_empty()));
}

#[test]
fn generations_of_a_checkpoint_are_objects_and_the_oldest_is_removed() {
    let local = tempfile::tempdir().unwrap();
    let s3 = S3::get();
    let mut places = vec![(format!("fs://{}", local.path().display()), Bench::new())];
    places.extend(s3.iter().map(|s3| (s3.url(), s3.bench())));
    for (url, bench) in places {
        let step = |name: &str, operation: Value| {
            let work = json!({"kind": "checkpoint", "checkpoint": "state", "transfer_bytes": 6 << 20,
                "operation": operation});
            json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
        };
        let mut plan = plan(&url, 1, "never");
        plan["files"] = json!({});
        plan["checkpoints"] = json!({"state": {"model": {"parameters": 2_000_000}, "model_bytes": 2,
            "optimizer_bytes": 12, "tensor": 1, "pipeline": 1, "zero": 1, "keep": 2}});
        plan["steps"] = json!([
            step(
                "save",
                json!({"kind": "save", "count": 3, "every_ns": 0, "compute": "sleep", "fsync": true,
                "rename": false})
            ),
            step("restore", json!({"kind": "restore", "count": 2, "shift": 1, "verify": true})),
        ]);
        let ran = bench.run(&plan);
        ran.complete();
        let bytes: Vec<u64> = ran.phases().iter().map(|phase| phase.bytes).collect();
        assert_eq!(bytes, [3 * 28_000_000, 0, 2 * 28_000_000, 0], "{url}");
        // Of two generations each has a model and two optimizer's states; the list is the last object.
        assert_eq!(ran.removed().files, 2 * 3, "{url}");
    }
    assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
    assert!(s3.is_none_or(|s3| s3.objects().is_empty()));
}

/// Its users have connections of their own, and a full cache removes objects.
#[test]
fn a_key_value_cache_of_objects_is_read_and_kept_within_its_size() {
    let local = tempfile::tempdir().unwrap();
    let s3 = S3::get();
    let mut places = vec![(format!("fs://{}", local.path().display()), Bench::new())];
    places.extend(s3.iter().map(|s3| (s3.url(), s3.bench())));
    for (url, bench) in places {
        let span = |least: u64, most: u64| json!({"least": least, "most": most});
        let mut plan = plan(&url, 1, "never");
        plan["files"] = json!({"cache": set(8192, 8192, 16)});
        plan["steps"] = json!([{"step": "phase", "name": "serve", "jobs": [{
            "name": "j", "limit": {"operations_per_rank": 20},
            "work": {
                "kind": "kv-cache", "files": "cache", "object_tokens": 16, "users": 3, "verify": true,
                "contexts": {"count": 3, "tokens": span(40, 60), "exponent": 1.0}, "turns": span(1, 3),
                "prompt_tokens": span(4, 30), "answer_tokens": span(4, 30), "prefill_tokens_per_s": 1_000_000,
                "decode_tokens_per_s": 1_000_000, "think_ns": 0,
            },
        }]}]);
        let ran = bench.run(&plan);
        ran.complete();
        let servers: Vec<_> = ran.phases()[0].ranks.iter().map(|rank| rank.kv_cache.unwrap()).collect();
        assert!(servers.iter().all(|server| server.storage_tokens > 0 && server.evicted > 0), "{servers:?}");
        assert!(ran.removed().files <= 32);
    }
    assert_eq!(fs::read_dir(local.path()).unwrap().count(), 0);
    assert!(s3.is_none_or(|s3| s3.objects().is_empty()));
}

/// A plan that writes and then waits for a day.
fn waiting(url: &str) -> Value {
    let mut plan = plan(url, 1, "never");
    plan["steps"] = json!([write("small", "never"), {"step": "pause", "duration_ns": 86_400_000_000_000_u64}]);
    plan["files"] = json!({"small": set(4096, 4096, 20)});
    plan
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let Some(s3) = S3::get() else { return };
    let bench = s3.bench();
    let mut engine = start_waiting(&bench, &waiting(&s3.url()));
    assert_eq!(s3.objects().len(), 41);
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    let begin = Instant::now();
    assert_eq!(engine.0.wait().unwrap().code(), Some(3));
    assert!(begin.elapsed() < Duration::from_secs(5));
    let outcome = bench.events().into_iter().find_map(|event| match event {
        Event::Finished(finished) => Some(finished.outcome),
        _ => None,
    });
    assert_eq!(outcome, Some(Outcome::Interrupted));
    assert_eq!(s3.objects(), BTreeSet::new());
}

#[test]
fn what_a_killed_run_left_is_cleaned_by_its_url_and_strangers_stay() {
    let Some(s3) = S3::get() else { return };
    check_clean_up(|| s3.bench(), &waiting(&s3.url()), &s3.directory(), || s3.objects().len());
}

#[test]
fn what_is_not_ours_is_not_cleaned() {
    let Some(s3) = S3::get() else { return };
    let place = s3.directory().join("ioassay-r9");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("thesis.dat"), "years").unwrap();
    let url = s3.url().replace("?", "/ioassay-r9?");
    let cleaned = s3.bench().ran(&["clean", &url]);
    assert_eq!(cleaned.code, 2);
    assert!(cleaned.stderr.contains("is not a workspace"), "{}", cleaned.stderr);
    // A list of another run does not help.
    let list = r#"{"ioassay_workspace":2,"run":"r8"}"#.to_owned()
        + "\n{\"case\":\"c\",\"ranks\":1,\"files\":{},\"trees\":{}}\n";
    fs::write(place.join(".ioassay-workspace"), list).unwrap();
    assert_eq!(s3.bench().ran(&["clean", &url]).code, 2);
    assert_eq!(fs::read_to_string(place.join("thesis.dat")).unwrap(), "years");
}

#[test]
fn an_object_that_was_cut_or_changed_or_is_gone_fails_the_read_and_nothing_is_left() {
    let target = tempfile::tempdir().unwrap();
    let s3 = S3::get();
    let mut places = vec![(format!("fs://{}", target.path().display()), target.path().to_owned(), None)];
    places.extend(s3.iter().map(|s3| (s3.url(), s3.directory(), Some(s3.lab))));
    for (url, place, lab) in places {
        for (damage, expected) in [(cut as fn(&Path), " ends "), (change, "verify"), (remove, "c1.large.00000000")] {
            let bench = lab.map_or_else(Bench::new, Bench::on);
            let mut plan = plan(&url, 1, "never");
            plan["files"] = json!({"large": set(5 << 20, 15 << 20, 1)});
            plan["steps"] =
                json!([write("large", "never"), {"step": "pause", "duration_ns": 1_500_000_000}, read("large")]);
            let mut engine = start_waiting(&bench, &plan);
            damage(&place.join("ioassay-r1/c1.large.00000000"));
            assert_eq!(engine.0.wait().unwrap().code(), Some(1), "{url}: {expected}");
            let failure = bench.events().into_iter().find_map(|event| match event {
                Event::Error(failure) => Some(failure),
                _ => None,
            });
            let failure = failure.expect("it failed");
            assert!(failure.message.contains(expected), "{url}: {failure:?}");
            assert_eq!(files(&place), BTreeSet::new(), "{url}: {expected}");
        }
    }
}

fn cut(object: &Path) {
    fs::OpenOptions::new().write(true).open(object).unwrap().set_len((10 << 20) + 17).unwrap();
}

fn change(object: &Path) {
    use std::os::unix::fs::FileExt;
    fs::OpenOptions::new().write(true).open(object).unwrap().write_all_at(b"not what was written", 1 << 20).unwrap();
}

fn remove(object: &Path) {
    fs::remove_file(object).unwrap();
}

#[test]
fn wrong_credentials_and_missing_ones_are_named_with_a_remedy_and_without_the_secret() {
    let Some(s3) = S3::get() else { return };
    let ran = s3.with_secret("wrong").run(&plan(&s3.url(), 1, "at-close"));
    assert_eq!(ran.code, 3);
    assert!(ran.failure().message.contains("HTTP 403: SignatureDoesNotMatch: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("wrong") && !ran.stderr.contains("S3Error"), "{}", ran.stderr);
    assert!(ran.failure().remedy.contains("AWS_SECRET_ACCESS_KEY"), "{}", ran.stderr);
    let ran = s3.with_secret("").run(&plan(&s3.url(), 1, "at-close"));
    assert!(ran.failure().message.contains("AWS_SECRET_ACCESS_KEY is not set"), "{}", ran.stderr);
    let ran = s3.bench().run(&plan(&s3.url().replace("s3://lab", "s3://nobucket"), 1, "at-close"));
    assert!(ran.failure().message.contains("NoSuchBucket"), "{}", ran.stderr);
}

#[test]
fn an_endpoint_that_nobody_serves_fails_in_seconds() {
    let begin = Instant::now();
    let url = format!("s3://bucket/x?endpoint=http://127.0.0.1:{}", free_port());
    let environment = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, SECRET.to_owned())).to_vec();
    let ran = Bench { environment, ..Bench::new() }.run(&plan(&url, 1, "at-close"));
    assert_eq!(ran.code, 3);
    assert!(ran.failure().message.contains("onnection refused"), "{}", ran.stderr);
    assert!(ran.failure().remedy.contains("endpoint"), "{}", ran.stderr);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_no_object_store_can_do_is_refused_before_any_request() {
    // Nobody serves it: a request would fail in another way.
    let url = format!("s3://bucket/x?endpoint=http://127.0.0.1:{}", free_port());
    let changed = |path: &str, value: Value| {
        let mut plan = plan(&url, 1, "at-close");
        *plan.pointer_mut(path).unwrap() = value;
        plan
    };
    let added = |key: &str, value: Value| {
        let mut plan = plan(&url, 1, "at-close");
        plan["steps"][0]["jobs"][0]["work"][key] = value;
        plan
    };
    let with_storage = |key: &str, value: Value| {
        let mut plan = plan(&url, 1, "at-close");
        plan["storage"][key] = value;
        plan
    };
    let work = "/steps/0/jobs/0/work";
    for (plan, expected) in [
        (changed("/files/large/layout", json!("N-1")), "does not support files shared by ranks"),
        (changed(&format!("{work}/order"), json!("random")), "from start to end"),
        (changed(&format!("{work}/order"), json!("backward")), "from start to end"),
        (changed(&format!("{work}/transfer"), json!({"mixed": 50})), "from start to end"),
        (changed(&format!("{work}/fsync"), json!({"every-writes": 2})), "once it is written completely"),
        (added("verify", json!("writes")), "once they are written completely"),
        (added("size", json!("full")), "cannot set a file's size"),
        (added("lock", json!("range")), "cannot lock"),
        (added("advice", json!(["random"])), "does not support the advice"),
        (with_storage("direct", json!(true)), "direct I/O"),
        (with_storage("vectors", json!(4)), "vectored"),
        (with_storage("depth", json!(100_000)), "at most 256"),
        (with_storage("retries", json!(21)), "hide that a server does not answer"),
        (changed("/files/large/transfer_bytes", json!(1 << 20)), "refuses parts of 1.00 MiB"),
        (changed("/files/large", set(5 << 20, 50_005 << 20, 1)), "10001 parts"),
        (changed("/target/url", json!("https://host/x")), "only reads"),
        (changed("/target/url", json!("webdav+http://127.0.0.1:1/x")), "in a single transfer"),
        (changed("/target/url", json!(format!("s3://bucket/x?secret_access_key={SECRET}"))), "is not an option"),
        (changed("/target/url", json!(format!("webdav+http://me:{SECRET}@host/x"))), "user or password"),
        (changed("/target", json!({"directory": "/tmp"})), "does not work on directories"),
        (changed("/steps/1", json!({"step": "cold-cache", "attempts": ["drop-caches"]})), "does not apply to URLs"),
    ] {
        let ran = Bench::new().run(&plan);
        assert_eq!(ran.code, 2, "{expected}: {}", ran.stderr);
        assert!(ran.failure().message.contains(expected), "{expected}: {}", ran.stderr);
        assert!(!ran.failure().remedy.is_empty());
    }
}

#[test]
fn a_plan_behind_a_url_can_be_checked_and_how_much_is_free_nobody_says() {
    let Some(s3) = S3::get() else { return };
    let bench = s3.bench();
    let plan = bench.write(&plan(&s3.url(), 1, "at-close"));
    let ran = bench.ran(&["check", &plan]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let Some(Event::Checked(checked)) = ran.events.first() else { panic!("{:?}", ran.events) };
    let mount = checked.node.as_ref().map(|node| &node.mount);
    assert_eq!((checked.files, checked.free_bytes, mount), (44, None, Some(&None)));
    assert_eq!(s3.objects(), BTreeSet::new());
}

/// An engine that asks a server of the test's own, which checks no credentials.
fn asking() -> Bench {
    let environment = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| (name, SECRET.to_owned())).to_vec();
    Bench { environment, ..Bench::new() }
}

/// One rank writes an object of eight parts and reads it back, compared.
fn parts_plan(url: &str, depth: u32, retries: u32) -> Value {
    let mut plan = plan(url, depth, "never");
    plan["ranks"] = json!({"clients": 1, "per_client": 1});
    plan["storage"]["retries"] = json!(retries);
    plan["files"] = json!({"large": set(5 << 20, 40 << 20, 1)});
    plan["steps"] = json!([write("large", "never"), read("large")]);
    plan
}

#[test]
fn as_many_parts_and_ranges_are_in_flight_as_the_depth_says_and_each_has_a_latency() {
    for depth in [1, 4] {
        let server = ObjectServer::start(|requests: &ReceivedRequest| {
            match requests.is_part() || requests.key.contains("large") {
                true => Fate::Slow(Duration::from_millis(50)),
                false => Fate::Served,
            }
        });
        let ran = asking().run(&parts_plan(&server.url(), depth as u32, 0));
        ran.complete();
        let bucket = server.bucket.lock().unwrap();
        assert_eq!((bucket.most_parts_at_once, bucket.most_reads_at_once), (depth, depth));
        assert_eq!(bucket.requests.iter().filter(|requests| requests.is_part()).count(), 8);
        assert!(bucket.objects.is_empty() && bucket.uploads.is_empty());
        for phase in ran.phases() {
            let (count, lowest_ns) = (phase.latencies.count.iter().sum::<u64>(), phase.latencies.lowest_ns[0]);
            // No part waits for the next one, and none is acknowledged before it was sent.
            assert!(count == 8 && lowest_ns >= 49_000_000, "{} {:?}", phase.name, phase.latencies);
        }
    }
}

/// A server that fails the first `times` requests for which `which` is true.
fn failing(times: u32, fate: Fate, which: fn(&ReceivedRequest) -> bool) -> ObjectServer {
    let mut left = times;
    ObjectServer::start(move |requests: &ReceivedRequest| {
        if left == 0 || !which(requests) {
            return Fate::Served;
        }
        left -= 1;
        fate
    })
}

fn is_read(requests: &ReceivedRequest) -> bool {
    requests.method == "GET" && requests.key.contains("large")
}

#[test]
fn without_retries_a_failed_request_ends_the_phase_and_nothing_is_left() {
    for (fate, which, expected) in [
        (Fate::Status(503), ReceivedRequest::is_part as fn(&ReceivedRequest) -> bool, "HTTP 503: SlowDown"),
        (Fate::Reset, ReceivedRequest::is_part, "no answer from http://127.0.0.1:"),
        (Fate::Status(503), is_read, "HTTP 503: SlowDown"),
        (Fate::Cut, is_read, "closed before the end of the answer"),
    ] {
        let server = failing(1, fate, which);
        let ran = asking().run(&parts_plan(&server.url(), 4, 0));
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.failure().message.contains(expected), "{fate:?}: {}", ran.stderr);
        assert!(!ran.failure().remedy.is_empty());
        let bucket = server.bucket.lock().unwrap();
        assert!(bucket.objects.is_empty() && bucket.uploads.is_empty(), "{fate:?}");
    }
}

#[test]
fn retries_are_counted_by_reason_and_are_a_doubt_of_their_phase_alone() {
    for (fate, which, phase, expected) in [
        (Fate::Status(503), ReceivedRequest::is_part as fn(&ReceivedRequest) -> bool, 0, "HTTP 503 SlowDown"),
        (Fate::Reset, ReceivedRequest::is_part, 0, "connection reset"),
        (Fate::Status(503), is_read, 1, "HTTP 503 SlowDown"),
        (Fate::Cut, is_read, 1, "connection closed"),
    ] {
        let server = failing(3, fate, which);
        let ran = asking().run(&parts_plan(&server.url(), 4, 3));
        ran.complete();
        let repeated: Vec<BTreeMap<String, u64>> = ran.phases().iter().map(|p| p.ranks[0].retries.clone()).collect();
        let mut wanted = vec![BTreeMap::new(); 2];
        wanted[phase].insert(expected.to_owned(), 3);
        assert_eq!(repeated, wanted, "{fate:?}");
        let doubted: Vec<bool> = ran
            .phases()
            .iter()
            .map(|phase| phase.doubts.iter().any(|doubt| matches!(doubt.reason, Reason::Retried { requests: 3, .. })))
            .collect();
        assert_eq!(doubted, [phase == 0, phase == 1], "{fate:?}");
    }
}

#[test]
fn a_server_that_stays_busy_is_asked_as_often_as_the_plan_says_and_not_more() {
    let server = failing(u32::MAX, Fate::Status(503), ReceivedRequest::is_part);
    let ran = asking().run(&parts_plan(&server.url(), 1, 2));
    assert_eq!(ran.code, 1);
    let bucket = server.bucket.lock().unwrap();
    assert_eq!(bucket.requests.iter().filter(|requests| requests.is_part()).count(), 3);
    assert!(bucket.objects.is_empty() && bucket.uploads.is_empty());
}

#[test]
fn what_is_refused_for_good_is_not_asked_again() {
    let server = failing(u32::MAX, Fate::Status(403), ReceivedRequest::is_part);
    let ran = asking().run(&parts_plan(&server.url(), 1, 5));
    assert!(ran.failure().message.contains("HTTP 403"), "{}", ran.stderr);
    assert_eq!(server.bucket.lock().unwrap().requests.iter().filter(|requests| requests.is_part()).count(), 1);
}

#[test]
fn an_upload_whose_completion_was_done_and_whose_answer_got_lost_is_complete() {
    let server = failing(1, Fate::Cut, |requests| requests.method == "POST" && requests.query.starts_with("uploadId"));
    let ran = asking().run(&parts_plan(&server.url(), 2, 1));
    ran.complete();
    assert_eq!(ran.phases()[0].ranks[0].retries.len(), 1);
}

/// A rank that waits in the fourth part of its object, for a minute.
fn hanging_in_a_part(stop: bool) -> (ObjectServer, Bench, Running) {
    let mut parts = 0;
    let server = ObjectServer::start(move |requests: &ReceivedRequest| {
        parts += u32::from(requests.is_part());
        if requests.is_part() && parts > 3 { Fate::Slow(Duration::from_secs(60)) } else { Fate::Served }
    });
    let bench = asking();
    let plan = bench.write(&parts_plan(&server.url(), 4, 0));
    let engine = Running(bench.engine(&["run", &plan]).spawn().unwrap());
    wait_until("it is in the middle of an upload", || {
        server.bucket.lock().unwrap().requests.iter().filter(|requests| requests.is_part()).count() > 3
    });
    if stop {
        kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    }
    (server, bench, engine)
}

#[test]
fn an_upload_under_way_is_given_up_when_the_run_is_stopped() {
    let (server, bench, mut engine) = hanging_in_a_part(true);
    assert_eq!(engine.0.wait().unwrap().code(), Some(3));
    assert!(server.bucket.lock().unwrap().uploads.is_empty(), "{:?}", bench.events().last());
    // The server may still work on the part, so that is not the end of it.
    let [list] = &Vec::from_iter(server.keys())[..] else { panic!("{:?}", server.keys()) };
    assert!(list.ends_with("/.ioassay-workspace"), "{list}");
}

#[test]
fn the_upload_of_a_killed_run_is_cleaned_and_those_of_others_stay() {
    let (server, bench, mut engine) = hanging_in_a_part(false);
    engine.kill_engine();
    let Some(Event::Started(started)) = bench.events().into_iter().next() else { panic!("not started") };
    {
        let mut bucket = server.bucket.lock().unwrap();
        assert_eq!(bucket.uploads.len(), 1);
        for (id, key) in [("theirs", "some/thesis.dat"), ("strange", "some/ioassay-r1/thesis.dat")] {
            bucket.uploads.insert(id.to_owned(), (key.to_owned(), BTreeMap::new()));
        }
    }
    let cleaned = bench.ran(&["clean", &started.workspace]);
    assert_eq!(cleaned.code, 3, "{}", cleaned.stderr);
    assert!(cleaned.removed().left[0].path.ends_with("ioassay-r1/thesis.dat"), "{:?}", cleaned.removed());
    let uploads = || server.bucket.lock().unwrap().uploads.keys().cloned().collect::<Vec<_>>();
    assert_eq!(uploads(), ["strange", "theirs"]);
    // What is not ours goes by its owner's hand, and then nothing keeps the rest.
    server.bucket.lock().unwrap().uploads.remove("strange");
    assert_eq!(bench.ran(&["clean", &started.workspace]).code, 0);
    assert_eq!(uploads(), ["theirs"]);
    assert!(server.keys().is_empty());
}

#[test]
fn a_server_that_lists_uploads_by_their_whole_key_alone_is_asked_for_those() {
    let (server, bench, mut engine) = hanging_in_a_part(false);
    engine.kill_engine();
    server.bucket.lock().unwrap().lists_whole_keys_alone = true;
    let Some(Event::Started(started)) = bench.events().into_iter().next() else { panic!("not started") };
    assert_eq!(bench.ran(&["clean", &started.workspace]).code, 0);
    assert!(server.bucket.lock().unwrap().uploads.is_empty());
}

#[test]
fn a_timed_write_of_objects_is_read_back_as_far_as_it_went() {
    let server = ObjectServer::start(|requests: &ReceivedRequest| match requests.is_part() {
        true => Fate::Slow(Duration::from_millis(30)),
        false => Fate::Served,
    });
    let s3 = S3::get();
    let mut places = vec![(server.url(), asking())];
    places.extend(s3.iter().map(|s3| (s3.url(), s3.bench())));
    for (url, bench) in places {
        let mut plan = parts_plan(&url, 3, 0);
        // Far more than can be written until the stonewall comes, which is in the middle of an object.
        plan["files"] = json!({"large": set(5 << 20, 20 << 20, 1000), "small": set(4096, 4096, 100_000)});
        let mut steps = Vec::new();
        for files in ["large", "small"] {
            let mut timed = write(files, "never");
            timed["jobs"][0]["limit"] = json!({"stonewall_ns": 400_000_000});
            steps.extend([timed, read(files)]);
        }
        plan["steps"] = Value::from(steps);
        let ran = bench.run(&plan);
        ran.complete();
        let bytes: Vec<u64> = ran.phases().iter().map(|phase| phase.bytes).collect();
        assert!(bytes[0] > 0 && bytes[0] == bytes[1] && bytes[2] > 0 && bytes[2] == bytes[3], "{bytes:?}");
        assert!(ran.phases().iter().all(|phase| phase.complete));
    }
    assert!(server.keys().is_empty() && server.bucket.lock().unwrap().uploads.is_empty());
}

#[test]
fn the_first_byte_of_a_read_is_timed_apart_from_its_end() {
    let server = ObjectServer::start(|requests: &ReceivedRequest| match is_read(requests) {
        true => Fate::SlowBody(Duration::from_millis(80)),
        false => Fate::Served,
    });
    for depth in [1, 4] {
        let ran = asking().run(&parts_plan(&server.url(), depth, 0));
        ran.complete();
        assert_eq!(ran.phases()[0].first_byte, None);
        let read = &ran.phases()[1];
        let first = read.first_byte.as_ref().expect("reads over HTTP have first bytes");
        assert_eq!(first.count.iter().sum::<u64>(), 8);
        assert!(first.lowest_ns[0] >= 79_000_000, "{first:?}");
        assert!(first.highest_ns.last() <= read.latencies.highest_ns.last(), "{read:?}");
    }
}

#[test]
fn ranks_take_turns_on_several_endpoints_and_each_says_which_it_asked() {
    let servers = [ObjectServer::start(|_| Fate::Served), ObjectServer::start(|_| Fate::Served)];
    let [first, second] = servers.each_ref().map(ObjectServer::endpoint);
    let mut plan = plan(&format!("s3://bucket/some?endpoint={first},{second}"), 1, "never");
    plan["ranks"] = json!({"clients": 1, "per_client": 3});
    plan["files"] = json!({"small": set(4096, 4096, 4)});
    plan["steps"] = json!([write("small", "never"), read("small")]);
    let ran = asking().run(&plan);
    ran.complete();
    let requests = ran.phases()[0].ranks.iter().map(|rank| rank.endpoint.clone().unwrap()).collect::<Vec<_>>();
    assert_eq!(requests, [first.clone(), second, first]);
    let puts = |server: &ObjectServer| {
        let bucket = server.bucket.lock().unwrap();
        bucket.requests.iter().filter(|requests| requests.method == "PUT" && requests.key.contains("small")).count()
    };
    assert_eq!(servers.each_ref().map(puts), [8, 4]);
}

#[test]
fn an_endpoint_of_several_that_nobody_serves_is_named_before_anything_is_written() {
    let server = ObjectServer::start(|_| Fate::Served);
    let dead = format!("http://127.0.0.1:{}", free_port());
    let ran = asking().run(&plan(&format!("s3://bucket/some?endpoint={},{dead}", server.endpoint()), 1, "never"));
    assert_eq!(ran.code, 3);
    assert!(ran.failure().message.contains(&format!("to {dead}")), "{}", ran.stderr);
    assert!(server.bucket.lock().unwrap().requests.iter().all(|requests| requests.method == "GET"));
}

#[test]
fn an_object_that_a_server_creates_after_the_ranks_were_killed_is_cleaned_by_the_list() {
    let is_data = |requests: &ReceivedRequest| requests.method == "PUT" && requests.key.contains("large");
    let late = move |requests: &ReceivedRequest| {
        if is_data(requests) { Fate::Slow(Duration::from_secs(6)) } else { Fate::Served }
    };
    let server = ObjectServer::start(late);
    let mut plan = parts_plan(&server.url(), 1, 0);
    // It is all on its way to the server when the rank is killed.
    plan["files"] = json!({"large": set(4096, 4096, 1)});
    let bench = asking();
    let mut engine = Running(bench.engine(&["run", &bench.write(&plan)]).spawn().unwrap());
    wait_until("the object is under way", || server.bucket.lock().unwrap().requests.iter().any(is_data));
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    let begin = Instant::now();
    assert_eq!(engine.0.wait().unwrap().code(), Some(3));
    assert!(begin.elapsed() < Duration::from_secs(5));
    let removed = |event| if let Event::Removed(removed) = event { Some(removed) } else { None };
    let removed = bench.events().into_iter().find_map(removed).unwrap();
    let [left] = &removed.left[..] else { panic!("the list is left: {removed:?}") };
    assert!(left.path.ends_with("/.ioassay-workspace") && left.because.contains("ioassay clean"), "{left:?}");
    wait_until("the object is there", || server.keys().iter().any(|key| key.contains("large")));
    let (workspace, _) = left.path.rsplit_once('/').unwrap();
    let cleaned = asking().ran(&["clean", &format!("{workspace}?endpoint={}", server.endpoint())]);
    assert_eq!((cleaned.code, server.keys()), (0, BTreeSet::new()), "{}", cleaned.stderr);
}

/// A server with a certificate of its own, and the file of that. `None`, said aloud, without `openssl`.
fn secured(place: &Path) -> Option<(ObjectServer, PathBuf)> {
    let (key, certificate) = (place.join("key.pem"), place.join("site.pem"));
    let mut openssl = std::process::Command::new("openssl");
    openssl.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=site".split(' '));
    openssl.args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    match openssl.output() {
        Ok(made) if made.status.success() => Some((ObjectServer::secured(&key, &certificate), certificate)),
        _ => {
            skipped("a certificate of openssl 3", "install openssl");
            None
        }
    }
}

#[test]
fn a_server_with_the_sites_certificate_is_measured_with_its_file_and_otherwise_on_demand_alone() {
    let place = tempfile::tempdir().unwrap();
    let Some((server, certificate)) = secured(place.path()) else { return };
    let url = format!("s3://bucket/some?endpoint=https://127.0.0.1:{}", server.port);
    let ran = asking().run(&parts_plan(&url, 2, 0));
    assert_eq!(ran.code, 3);
    assert!(ran.failure().message.contains("certificate"), "{}", ran.stderr);
    assert!(ran.failure().remedy.contains("ca-file="), "{}", ran.stderr);
    for (option, doubted) in [(format!("ca-file={}", certificate.display()), false), ("tls-verify=no".to_owned(), true)]
    {
        let ran = asking().run(&parts_plan(&format!("{url}&{option}"), 2, 0));
        ran.complete();
        let is_doubted =
            |phase: &PhaseRecord| phase.doubts.iter().any(|doubt| doubt.reason == Reason::UnverifiedServer);
        assert!(ran.phases().iter().all(|phase| is_doubted(phase) == doubted), "{option}");
        assert!(server.keys().is_empty());
    }
    let ran = asking().run(&parts_plan(&format!("{url}&ca-file=/nowhere/site.pem"), 2, 0));
    assert!(ran.failure().message.contains("ca-file /nowhere/site.pem"), "{}", ran.stderr);
}
