//! A block device as the target: a loop device, which needs root. Without it the tests say that they did nothing.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::skipped::skipped;
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::events::{Event, PhaseRecord};
use serde_json::{Value, json};

/// A loop device on a file of 32 MiB, whose pages it keeps out of memory, detached at the end.
struct LoopDevice {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl LoopDevice {
    /// `None` where this user, or this machine, cannot have one.
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let image = directory.path().join("image");
        fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
        let made = Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&image).output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            skipped("a loop device", "losetup needs root");
            return None;
        };
        let path = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        Some(Self { directory, path })
    }

    fn run(&self, plan: &Value) -> (Option<i32>, Vec<Event>) {
        let [file, events] = ["plan.json", "events.jsonl"].map(|name| self.directory.path().join(name));
        fs::write(&file, plan.to_string()).unwrap();
        let _ = fs::remove_file(&events);
        let engine = Path::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        let ended = Command::new(engine).arg("run").arg(&file).arg("--events").arg(&events).output().unwrap();
        let text = fs::read_to_string(&events).unwrap();
        (ended.status.code(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// Two file sets, written and read back with verification.
fn plan(device: &Path, api: &str, direct: bool, block_bytes: u64) -> Value {
    let set = |layout: Value| {
        json!({
            "layout": layout, "files_per_rank": 1, "transfer_bytes": 4096, "block_bytes": block_bytes, "segments": 2,
            "payload": {"kind": "unique"},
        })
    };
    let phase = |name: &str, files: &str, transfer: &str| {
        let mut work = json!({
            "kind": "data", "files": files, "transfer": transfer, "order": "random", "fsync": "at-end",
        });
        if transfer == "read" {
            work["verify"] = json!("reads");
            work["fsync"] = json!("never");
        }
        json!({"step": "phase", "name": name, "jobs": [{"name": "j", "work": work}]})
    };
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1",
        "target": {"device": {"path": device, "destroy_data": device}},
        "storage": {"api": api, "direct": direct}, "ranks": {"clients": 2, "per_client": 1},
        "files": {"own": set(json!("N-N")), "shared": set(json!({"N-M": 1}))},
        "steps": [
            phase("write-own", "own", "write"), phase("write-shared", "shared", "write"),
            {"step": "cold-cache", "attempts": ["fadvise"]},
            phase("read-own", "own", "read"), phase("read-shared", "shared", "read"),
        ],
        "seed": 1, "sample_interval_ns": 1_000_000_000,
    })
}

fn phases(events: &[Event]) -> Vec<&PhaseRecord> {
    events.iter().filter_map(|event| if let Event::Phase(record) = event { Some(&**record) } else { None }).collect()
}

fn failure(events: &[Event]) -> &str {
    let mut failures = events.iter().filter_map(|event| match event {
        Event::Error(failure) => Some(failure.message.as_str()),
        _ => None,
    });
    failures.next().expect("a failure")
}

#[test]
fn file_sets_on_a_device_do_not_overlap_and_what_is_cold_is_known() {
    let Some(device) = LoopDevice::new() else { return };
    for (api, direct) in [("posix", false), ("posix", true), ("uring", true)] {
        let (code, events) = device.run(&plan(&device.path, api, direct, 1 << 20));
        assert_eq!(code, Some(0), "{api}: {events:?}");
        let phases = phases(&events);
        assert_eq!(phases.len(), 4);
        for phase in phases {
            assert!(phase.complete && phase.bytes == 4 << 20);
            // How much the kernel forgets is its own affair; that it is known is ours.
            assert_eq!(phase.resident_bytes_before.is_some(), phase.name.starts_with("read"));
            assert!(phase.resident_bytes_before.is_none_or(|bytes| bytes <= phase.bytes), "{phase:?}");
            assert!(
                !phase
                    .doubts
                    .iter()
                    .any(|doubt| matches!(doubt.reason, Reason::MemoryBacked { .. } | Reason::CacheUnknown { .. })),
                "{:?}",
                phase.doubts
            );
        }
        let Event::Started(started) = &events[0] else { panic!("{events:?}") };
        assert!(started.nodes[0].mount.is_none() && started.nodes[0].block_device.is_some());
    }
}

#[test]
fn a_device_that_is_mounted_or_too_small_or_not_named_twice_is_not_touched() {
    let Some(device) = LoopDevice::new() else { return };
    let untouched = || {
        let mut bytes = vec![1; 1 << 20];
        fs::File::open(&device.path).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        bytes.iter().all(|&byte| byte == 0)
    };
    let (code, events) = device.run(&plan(&device.path, "posix", false, 16 << 20));
    assert_eq!(
        (code, failure(&events).contains("has 32.0 MiB, but a case needs 128 MiB")),
        (Some(3), true),
        "{events:?}"
    );

    let mut unnamed = plan(&device.path, "posix", false, 1 << 20);
    unnamed["target"]["device"]["destroy_data"] = json!("/dev/other");
    let (code, events) = device.run(&unnamed);
    assert_eq!((code, failure(&events).contains("target.device.destroy_data: /dev/other is not")), (Some(2), true));

    let mut tree = plan(&device.path, "posix", false, 1 << 20);
    tree["steps"][0]["jobs"][0]["work"]["size"] = json!("full");
    let (code, events) = device.run(&tree);
    assert_eq!((code, failure(&events).contains("size: posix cannot set a file's size")), (Some(2), true));
    assert!(untouched());

    let no_device = plan(device.directory.path(), "posix", false, 1 << 20);
    let (code, events) = device.run(&no_device);
    assert_eq!((code, failure(&events).contains("Block device required")), (Some(3), true), "{events:?}");

    assert!(Command::new("mkfs.ext4").arg("-q").arg(&device.path).status().unwrap().success());
    let mount_point = device.directory.path().join("mount");
    fs::create_dir(&mount_point).unwrap();
    assert!(Command::new("mount").arg(&device.path).arg(&mount_point).status().unwrap().success());
    let (code, events) = device.run(&plan(&device.path, "posix", false, 1 << 20));
    assert!(Command::new("umount").arg(&mount_point).status().unwrap().success());
    assert_eq!((code, failure(&events).contains("claim ")), (Some(3), true), "{events:?}");
}
