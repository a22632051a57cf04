//! The storage API `nfs` against a real server, the NFS-Ganesha of a lab.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::doubts;
use crate::support::lab::Lab;
use crate::support::process::{Bench, check_clean_up, entries, phase, read, set, start_waiting, write};
use ioassay_protocol::events::{Event, Failure, Outcome};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// An empty directory in the export of an NFS server.
struct Nfs {
    lab: &'static Lab,
    place: String,
}

impl Nfs {
    /// In the lab of all tests.
    fn get() -> Option<Self> {
        Some(Self::new(Lab::get("nfs")?))
    }

    /// In a lab whose server the test may stop.
    fn of_its_own() -> Option<Self> {
        Some(Self::new(Lab::of_its_own("nfs")?))
    }

    fn new(lab: &'static Lab) -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let nfs = Self { lab, place: format!("place{}", PLACES.fetch_add(1, Ordering::Relaxed)) };
        fs::create_dir(nfs.directory()).unwrap();
        nfs
    }

    fn bench(&self) -> Bench {
        Bench::on(self.lab)
    }

    /// Sends the server a signal.
    fn kill(&self, signal: &str) {
        self.lab.run(&["pkill", "--signal", signal, "--exact", "ganesha.nfsd"]);
    }

    fn url(&self) -> String {
        format!("{URL}/{}", self.place)
    }

    /// Where the server has it.
    fn directory(&self) -> PathBuf {
        self.lab.path("/run/ioassay/disk/nfs/export").join(&self.place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// What is in it.
    fn left(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.directory()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// As the lab has it where the kernel has no NFS client; with one, only the engine's own is tested all the same.
const URL: &str = "nfs://server1/export";

/// A plan of two ranks without phases.
fn plan(url: &str, depth: u32) -> Value {
    json!({
        "version": 2, "run": "r1", "case": "c1", "target": {"url": url},
        "storage": {"api": "nfs", "depth": depth}, "ranks": {"clients": 2, "per_client": 1},
        "files": {}, "steps": [], "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

fn shared(transfer_bytes: u64, block_bytes: u64, segments: u64) -> Value {
    let mut shared = set(transfer_bytes, block_bytes, 1);
    shared["layout"] = json!("N-1");
    shared["segments"] = json!(segments);
    shared
}

fn data(name: &str, files: &str, transfer: Value, order: &str, more: Value) -> Value {
    let mut work = json!({"kind": "data", "files": files, "transfer": transfer, "order": order, "fsync": "at-close"});
    work.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    phase(name, work)
}

#[test]
fn what_is_written_is_read_back_and_nothing_is_left() {
    let Some(nfs) = Nfs::get() else { return };
    for depth in [1, 16] {
        let mut plan = plan(&nfs.url(), depth);
        plan["files"] = json!({
            "small": set(4096, 64 * 4096, 2),
            "odd": set(47_008, 20 * 47_008, 1),
            "large": set(7 << 20, 21 << 20, 1),
            "shared": shared(1 << 20, 4 << 20, 2),
        });
        plan["steps"] = json!([
            write("large", "at-close"),
            write("odd", "never"),
            data("write-small", "small", json!("write"), "random", json!({"verify": "writes"})),
            data("write-shared", "shared", json!("write"), "random", json!({})),
            data("again", "shared", json!("write"), "backward", json!({})),
            data("mixed", "small", json!({"mixed": 50}), "random", json!({"verify": "reads"})),
            read("large"),
            read("odd"),
            read("small"),
            data(
                "read-shared",
                "shared",
                json!("read"),
                "sequential",
                json!({"verify": "reads", "source": {"shift": 1}})
            ),
        ]);
        let ran = nfs.bench().run(&plan);
        ran.complete();
        let bytes = |name: &str| -> u64 {
            let phases = ran.phases();
            let of_phase = phases.iter().filter(|phase| phase.name == name);
            of_phase.flat_map(|phase| &phase.ranks).map(|rank| rank.bytes).sum()
        };
        for (name, expected) in [
            ("write-large", 42 << 20),
            ("write-shared", 16 << 20),
            ("again", 16 << 20),
            ("mixed", 1 << 20),
            ("read-large", 42 << 20),
            ("read-odd", 40 * 47_008),
            ("read-shared", 16 << 20),
        ] {
            assert_eq!(bytes(name), expected, "{name}");
        }
        assert!(ran.phases().iter().flat_map(|phase| &phase.ranks).all(|rank| rank.short_transfers == 0));
        assert_eq!(ran.removed().files, 9);
        assert_eq!(nfs.left(), BTreeSet::new());
    }
}

#[test]
fn a_file_gets_its_size_at_open_where_the_protocol_can_and_fsync_may_come_after_every_write() {
    let Some(nfs) = Nfs::get() else { return };
    let sized = |size: &str| {
        let mut plan = plan(&nfs.url(), 1);
        plan["files"] = json!({"f": set(4096, 40 * 4096, 1)});
        let more = json!({"size": size, "fsync": {"every-writes": 1}});
        plan["steps"] = json!([write("f", "never"), data("again", "f", json!("write"), "random", more), read("f")]);
        nfs.bench().run(&plan)
    };
    sized("full").complete();
    sized("empty").complete();
    let refused = sized("preallocated");
    assert_eq!(refused.failure().errno_name.as_deref(), Some("EOPNOTSUPP"), "{}", refused.stderr);
    assert_eq!(nfs.left(), BTreeSet::new());
}

/// A tree is created, inspected, written, read, renamed; `rest` is what happens then.
fn tree_plan(url: &str, items: &str, rest: &[Value]) -> Value {
    let mut plan = plan(url, 1);
    plan["trees"] = json!({"t": {
        "sharing": "shared", "depth": 2, "branch": 2, "items_per_directory": 3, "leaves_only": true, "items": items,
    }});
    let mut steps = vec![
        entries("tree", json!({"kind": "create-tree"})),
        entries("create", json!({"kind": "create", "with": "open", "write_bytes": 0, "fsync": false})),
    ];
    if items == "files" {
        steps.push(entries("write", json!({"kind": "write", "bytes": 3901, "fsync": true})));
        steps.push(entries("read", json!({"kind": "read", "bytes": 3901})));
    }
    steps.push(entries("stat", json!({"kind": "stat"})));
    steps.push(entries("rename", json!({"kind": "rename"})));
    steps.extend_from_slice(rest);
    plan["steps"] = Value::from(steps);
    plan
}

#[test]
fn trees_are_made_and_removed_by_name() {
    let Some(nfs) = Nfs::get() else { return };
    let rest = [entries("remove", json!({"kind": "remove"})), entries("remove-tree", json!({"kind": "remove-tree"}))];
    for items in ["files", "directories"] {
        // Once everything is removed by the case, and once by the end of the run.
        for rest in [&rest[..], &[]] {
            let ran = nfs.bench().run(&tree_plan(&nfs.url(), items, rest));
            ran.complete();
            // What is asked of a server nobody on this node remembers.
            assert!(ran.phases().into_iter().all(|phase| !doubts(phase).contains(&"attributes-cached".to_owned())));
            let files = if items == "files" && rest.is_empty() { 24 } else { 0 };
            assert_eq!(ran.removed().files, files, "{items}");
            assert_eq!(nfs.left(), BTreeSet::new());
        }
    }
}

/// A plan that writes and then waits for a day.
fn waiting(url: &str) -> Value {
    let mut plan = plan(url, 4);
    plan["files"] = json!({"f": set(4096, 4096, 20)});
    plan["steps"] = json!([write("f", "never"), {"step": "pause", "duration_ns": 86_400_000_000_000_u64}]);
    plan
}

fn failure_of(bench: &Bench) -> Failure {
    let failures = bench.events().into_iter();
    let mut failures =
        failures.filter_map(|event| if let Event::Error(failure) = event { Some(failure) } else { None });
    failures.next().expect("it failed")
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let Some(nfs) = Nfs::get() else { return };
    let bench = nfs.bench();
    let mut engine = start_waiting(&bench, &waiting(&nfs.url()));
    assert_eq!(fs::read_dir(nfs.path("ioassay-r1")).unwrap().count(), 41);
    // Other users than its owner do not see its contents.
    assert_eq!(fs::metadata(nfs.path("ioassay-r1")).unwrap().permissions().mode() & 0o7777, 0o700);
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    let begin = Instant::now();
    assert_eq!(engine.0.wait().unwrap().code(), Some(3));
    assert!(begin.elapsed() < Duration::from_secs(5));
    let interrupted =
        bench.events().iter().any(|event| matches!(event, Event::Finished(end) if end.outcome == Outcome::Interrupted));
    assert!(interrupted);
    assert_eq!(nfs.left(), BTreeSet::new());
}

#[test]
fn what_a_killed_run_left_is_cleaned_by_its_url_and_strangers_stay() {
    let Some(nfs) = Nfs::get() else { return };
    check_clean_up(|| nfs.bench(), &waiting(&nfs.url()), &nfs.directory(), || nfs.left().len());
}

#[test]
fn what_is_not_ours_is_not_cleaned_and_links_lead_nowhere() {
    let Some(nfs) = Nfs::get() else { return };
    let clean = |name: &str| nfs.bench().ran(&["clean", &format!("{}/{name}", nfs.url())]);
    fs::create_dir(nfs.path("ioassay-r9")).unwrap();
    fs::write(nfs.path("ioassay-r9/thesis.dat"), "years").unwrap();
    assert!(clean("ioassay-r9").stderr.contains("is not a workspace"));
    // A list of another run does not help, and neither does a link to a workspace.
    let list = |run: &str| {
        format!("{{\"ioassay_workspace\":2,\"run\":\"{run}\"}}\n")
            + r#"{"case":"c","ranks":1,"files":{},"trees":{"t":{"sharing":"shared","depth":0,"branch":1,
            "items_per_directory":3,"leaves_only":false,"items":"files"}}}"#
    };
    fs::write(nfs.path("ioassay-r9/.ioassay-workspace"), list("r8")).unwrap();
    assert_eq!(clean("ioassay-r9").code, 2);
    fs::write(nfs.path("ioassay-r9/.ioassay-workspace"), list("r7")).unwrap();
    symlink("ioassay-r9", nfs.path("ioassay-r7")).unwrap();
    assert_eq!(clean("ioassay-r7").code, 2);
    assert_eq!(fs::read_to_string(nfs.path("ioassay-r9/thesis.dat")).unwrap(), "years");

    // In the place of a tree there is a link to a directory with names of ours, and in that of an item one to a file.
    let elsewhere = nfs.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("file.mdtest.0.0"), "keep").unwrap();
    fs::create_dir_all(nfs.path("ioassay-r6/c.t")).unwrap();
    fs::write(nfs.path("ioassay-r6/.ioassay-workspace"), list("r6")).unwrap();
    let tree = nfs.path("ioassay-r6/c.t/mdtest_tree.0");
    symlink("../../elsewhere", &tree).unwrap();
    let cleaned = clean("ioassay-r6");
    assert_eq!((cleaned.code, cleaned.removed().files), (3, 0), "{}", cleaned.stderr);
    assert!(cleaned.removed().left[0].path.ends_with("mdtest_tree.0"), "{:?}", cleaned.removed());
    fs::remove_file(&tree).unwrap();
    fs::create_dir(&tree).unwrap();
    symlink("../../../elsewhere/file.mdtest.0.0", tree.join("file.mdtest.0.0")).unwrap();
    fs::write(tree.join("file.mdtest.0.1"), "ours").unwrap();
    let cleaned = clean("ioassay-r6");
    assert_eq!((cleaned.code, cleaned.removed().files), (3, 1), "{}", cleaned.stderr);
    assert!(cleaned.removed().left[0].because.contains("not a regular file"), "{:?}", cleaned.removed());
    assert_eq!(fs::read_to_string(elsewhere.join("file.mdtest.0.0")).unwrap(), "keep");
}

#[test]
fn a_file_that_was_cut_or_changed_or_is_gone_fails_the_read_and_nothing_is_left() {
    let Some(nfs) = Nfs::get() else { return };
    let file = nfs.path("ioassay-r1/c1.f.00000000");
    let open = |file: &Path| OpenOptions::new().write(true).open(file).unwrap();
    let cut = |file: &Path| open(file).set_len((2 << 20) + 17).unwrap();
    let change = |file: &Path| open(file).write_all_at(b"not what was written", 1 << 20).unwrap();
    let remove = |file: &Path| fs::remove_file(file).unwrap();
    for (damage, expected) in
        [(&cut as &dyn Fn(&Path), " ends "), (&change, "verify"), (&remove, "c1.f.00000000: No such file")]
    {
        for depth in [1, 4] {
            let bench = nfs.bench();
            let mut plan = plan(&nfs.url(), depth);
            plan["files"] = json!({"f": set(1 << 20, 3 << 20, 1)});
            plan["steps"] = json!([write("f", "never"), {"step": "pause", "duration_ns": 1_000_000_000}, read("f")]);
            let mut engine = start_waiting(&bench, &plan);
            damage(&file);
            assert_eq!(engine.0.wait().unwrap().code(), Some(1), "{expected}");
            assert!(failure_of(&bench).message.contains(expected), "{expected}: {:?}", failure_of(&bench));
            assert_eq!(nfs.left(), BTreeSet::new(), "{expected}");
        }
    }
}

/// A plan whose second phase reads again and again, for so long.
fn reading_for(url: &str, duration: Duration) -> Value {
    let mut plan = plan(url, 4);
    plan["files"] = json!({"f": set(65536, 1 << 20, 1)});
    plan["steps"] = json!([write("f", "never"), read("f")]);
    plan["steps"][1]["jobs"][0]["limit"] = json!({"minimum_ns": duration.as_nanos() as u64});
    plan
}

#[test]
fn a_server_that_is_silent_for_a_while_is_asked_for_a_sign_of_life_and_awaited() {
    let Some(nfs) = Nfs::of_its_own() else { return };
    let bench = nfs.bench();
    let mut engine = start_waiting(&bench, &reading_for(&nfs.url(), Duration::from_secs(14)));
    std::thread::sleep(Duration::from_millis(300));
    nfs.kill("STOP");
    std::thread::sleep(Duration::from_secs(12));
    nfs.kill("CONT");
    assert_eq!(engine.0.wait().unwrap().code(), Some(0));
    let slowest = bench.events().into_iter().find_map(|event| match event {
        Event::Phase(phase) if phase.name == "read-f" => phase.ranks.iter().map(|rank| rank.slowest_ns).max(),
        _ => None,
    });
    assert!(slowest.unwrap() >= 11_000_000_000, "{slowest:?}");
    assert_eq!(nfs.left(), BTreeSet::new());
}

#[test]
fn a_server_that_dies_or_falls_silent_ends_the_run_with_its_name_and_a_remedy() {
    for (signal, expected, most) in [("KILL", "server1: ", 15), ("STOP", "no network activity", 60)] {
        let Some(nfs) = Nfs::of_its_own() else { return };
        let bench = nfs.bench();
        let mut engine = start_waiting(&bench, &reading_for(&nfs.url(), Duration::from_secs(600)));
        std::thread::sleep(Duration::from_millis(300));
        nfs.kill(signal);
        let begin = Instant::now();
        assert_eq!(engine.0.wait().unwrap().code(), Some(1));
        assert!(begin.elapsed() < Duration::from_secs(most), "{signal}: {:?}", begin.elapsed());
        let failure = failure_of(&bench);
        assert!(failure.message.contains(expected) && failure.rank.is_some(), "{failure:?}");
        assert!(failure.remedy.contains("that it has not stopped or restarted"), "{failure:?}");
        // What lies there cannot be removed now, and is named as `clean` takes it.
        let left = bench.events().into_iter().find_map(|event| match event {
            Event::Removed(removed) => removed.left.into_iter().next(),
            _ => None,
        });
        assert_eq!(left.expect("something is left").path, format!("{}/ioassay-r1", nfs.url()));
    }
}

#[test]
fn what_cannot_be_mounted_or_written_to_is_named_with_a_remedy_in_seconds() {
    let Some(nfs) = Nfs::get() else { return };
    fs::create_dir(nfs.path("sub")).unwrap();
    fs::write(nfs.path("file"), "").unwrap();
    let begin = Instant::now();
    for (url, expected, remedy) in [
        ("nfs://server1/elsewhere", "refused to mount /elsewhere", "showmount -e server1"),
        (&format!("{URL}/absent"), "refused to mount /export/absent", "the directory exists"),
        (&format!("{URL}?nfsport=1&mountport=1"), "onnection refused", "nfsport"),
        ("nfs://no-such-host.invalid/export", "no-such-host.invalid", "this node reaches it"),
        (&format!("{}/sub?uid=4321&gid=4321", nfs.url()), "EACCES", "run as a user"),
        (&format!("{}/file", nfs.url()), "refused to mount /export/", "the directory exists"),
    ] {
        let plan = waiting(url);
        let ran = nfs.bench().run(&plan);
        assert_eq!(ran.code, 3, "{url}: {}", ran.stderr);
        assert!(ran.failure().message.contains(expected), "{url}: {:?}", ran.failure());
        assert!(ran.failure().remedy.contains(remedy), "{url}: {:?}", ran.failure());
    }
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(nfs.left(), BTreeSet::from(["file", "sub"].map(str::to_owned)));
}

#[test]
fn options_of_the_url_name_the_user_and_the_ports() {
    let Some(nfs) = Nfs::get() else { return };
    fs::create_dir(nfs.path("sub")).unwrap();
    std::os::unix::fs::chown(nfs.path("sub"), Some(4321), Some(4322)).unwrap();
    let bench = nfs.bench();
    let plan = waiting(&format!("{}/sub?uid=4321&gid=4322&nfsport=2049", nfs.url()));
    let mut engine = start_waiting(&bench, &plan);
    let mut files = fs::read_dir(nfs.path("sub/ioassay-r1")).unwrap().map(Result::unwrap);
    let file = files.find(|entry| !entry.file_name().to_string_lossy().starts_with('.')).unwrap();
    let about = file.metadata().unwrap();
    assert_eq!((about.uid(), about.gid(), about.len()), (4321, 4322, 4096));
    kill(Pid::from_raw(engine.0.id() as i32), Signal::SIGTERM).unwrap();
    engine.0.wait().unwrap();
    assert_eq!(fs::read_dir(nfs.path("sub")).unwrap().count(), 0);
}

#[test]
fn a_plan_is_checked_and_more_than_there_is_room_for_is_refused() {
    let Some(nfs) = Nfs::get() else { return };
    let bench = nfs.bench();
    let ran = bench.ran(&["check", &bench.write(&waiting(&nfs.url()))]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let Some(Event::Checked(checked)) = ran.events.first() else { panic!("{:?}", ran.events) };
    assert!(checked.free_bytes.is_some_and(|bytes| bytes > 0), "{checked:?}");
    let mut plan = waiting(&nfs.url());
    plan["files"] = json!({"f": set(1 << 20, 1 << 54, 1)});
    let ran = bench.run(&plan);
    assert_eq!(ran.code, 3);
    assert!(ran.failure().message.contains("free, but a case needs 32768 TiB"), "{}", ran.stderr);
    assert_eq!(nfs.left(), BTreeSet::new());
}

#[test]
fn what_nfs_cannot_do_is_refused_before_any_request() {
    // Nobody serves it: a request would fail in another way.
    let url = "nfs://127.0.0.1/export?nfsport=1&mountport=1";
    let changed = |path: &str, value: Value| {
        let mut plan = waiting(url);
        let (above, key) = path.rsplit_once('/').unwrap();
        match plan.pointer_mut(above).unwrap() {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            object => object[key] = value,
        }
        plan
    };
    let tree = |operation: Value, paths: &str| {
        let mut plan = tree_plan(url, "files", &[]);
        plan["steps"][1]["jobs"][0]["work"]["operation"] = operation;
        plan["steps"][1]["jobs"][0]["work"]["paths"] = json!(paths);
        plan
    };
    let create = |with: &str| json!({"kind": "create", "with": with, "write_bytes": 0, "fsync": false});
    let work = "/steps/0/jobs/0/work";
    for (plan, expected) in [
        (changed(&format!("{work}/lock"), json!("range")), "cannot lock"),
        (changed(&format!("{work}/advice"), json!(["random"])), "does not support the advice"),
        (changed("/storage/direct", json!(true)), "direct I/O"),
        (changed("/storage/vectors", json!(4)), "vectored"),
        (changed("/storage/depth", json!(4096)), "at most 1024"),
        (changed("/storage/api", json!("posix")), "does not support the URL scheme \"nfs\""),
        (changed("/target/url", json!("nfs://me:hunter2@host/export")), "user or password"),
        (changed("/target/url", json!("nfs://host/export?version=4")), "is not an option"),
        (changed("/target/url", json!("nfs://host:2049/export")), "is not valid between :// and the path"),
        (changed("/target/url", json!("s3://bucket/x")), "does not support the URL scheme \"s3\""),
        (changed("/target", json!({"directory": "/tmp"})), "does not work on directories"),
        (changed("/steps/1", json!({"step": "cold-cache", "attempts": ["drop-caches"]})), "does not apply to URLs"),
        (tree(create("mknod"), "full"), "mknod"),
        (tree(create("open"), "at"), "relative to an open directory"),
    ] {
        let ran = Bench::new().run(&plan);
        assert_eq!(ran.code, 2, "{expected}: {}", ran.stderr);
        assert!(ran.failure().message.contains(expected), "{expected}: {}", ran.stderr);
        assert!(!ran.failure().remedy.is_empty() && !ran.stderr.contains("hunter2"));
    }
}
