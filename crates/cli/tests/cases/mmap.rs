//! A mapped file that another process truncates: the kernel kills the rank, and the engine says what that means.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::events::Event;
use serde_json::json;

/// A bound for hanging, not for speed.
const HANGS: Duration = Duration::from_secs(60);

#[test]
fn a_rank_whose_mapped_file_is_truncated_fails_the_run_with_what_sigbus_means() {
    let root = tempfile::tempdir().unwrap();
    let [plan, events] = ["plan.json", "events.jsonl"].map(|name| root.path().join(name));
    let work = json!({"kind": "data", "files": "data", "transfer": "write", "order": "random", "fsync": "never"});
    let job = json!({"name": "write", "work": work, "limit": {"minimum_ns": HANGS.as_nanos() as u64}});
    let case = json!({
        "version": 2, "run": "r1", "case": "c1",
        "target": {"directory": root.path()}, "storage": {"api": "mmap"},
        "ranks": {"clients": 1, "per_client": 1},
        "files": {"data": {
            "layout": "N-N", "files_per_rank": 1, "transfer_bytes": 4096, "block_bytes": 1 << 20, "segments": 1,
            "payload": {"kind": "repeated"},
        }},
        "steps": [{"step": "phase", "name": "write", "jobs": [job]}],
        "seed": 1, "sample_interval_ns": 1_000_000_000,
    });
    fs::write(&plan, case.to_string()).unwrap();
    let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    let engine = engine.arg("run").arg(&plan).arg("--events").arg(&events).stderr(Stdio::null()).spawn();
    let mut engine = engine.unwrap();
    let file = root.path().join("ioassay-r1/c1.data.00000000");
    let began = Instant::now();
    // Its size is there before the mapping is; what was written through the mapping is not.
    while !fs::read(&file).is_ok_and(|bytes| bytes.iter().any(|&byte| byte != 0)) {
        assert!(began.elapsed() < HANGS, "the file is never written");
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(0).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(1));
    assert!(began.elapsed() < HANGS, "it went on to the end");
    let text = fs::read_to_string(&events).unwrap();
    let failure = text.lines().find_map(|line| match serde_json::from_str(line).unwrap() {
        Event::Error(failure) => Some(failure),
        _ => None,
    });
    let failure = failure.expect("the run failed");
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    assert_eq!((failure.rank, failure.message), (Some(0), format!("rank 0 on {host} was killed by SIGBUS")));
    assert!(failure.remedy.contains("a mapped file"), "{}", failure.remedy);
    assert!(!file.exists(), "the workspace is removed");
}
