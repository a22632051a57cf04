//! `ioassay-engine capture` as a user or the control plane meets it: on this machine, with real files, pipes and a target that
//! does not respond.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use ioassay_protocol::snapshot::{Kind, MEMBER, Snapshot, VERSION};

use crate::support::hung_mount::{ALL, HungMount};

fn capture(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    command.arg("capture").args(arguments);
    command
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The document of an archive, and its names in order.
fn read(archive: &[u8]) -> (Snapshot, Vec<String>) {
    let mut tar = tar::Archive::new(GzDecoder::new(archive));
    let (mut document, mut names) = (None, Vec::new());
    for member in tar.entries().unwrap() {
        let mut member = member.unwrap();
        names.push(member.path().unwrap().to_str().unwrap().to_owned());
        if names.len() == 1 {
            let mut text = String::new();
            member.read_to_string(&mut text).unwrap();
            document = Some(serde_json::from_str(&text).unwrap());
        }
    }
    (document.unwrap(), names)
}

/// How many requests the queues of this machine's block devices take, by the names of files.
fn queue_requests() -> BTreeMap<String, String> {
    let devices = fs::read_dir("/sys/block").unwrap().map(|device| device.unwrap().file_name());
    let names = devices.map(|device| format!("sys/block/{}/queue/nr_requests", device.display()));
    let names = names.filter(|name| !name.starts_with("sys/block/ram"));
    names.filter_map(|name| Some((name.clone(), fs::read_to_string(Path::new("/").join(&name)).ok()?))).collect()
}

/// Every symbolic link below a directory.
fn links_below(directory: &Path) -> Vec<PathBuf> {
    let mut links = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            links.extend(links_below(&entry.path()));
        } else if kind.is_symlink() {
            links.push(entry.path());
        }
    }
    links
}

#[test]
fn this_machine_is_captured_with_its_block_devices_in_a_tree_that_resolves() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("node.tar.gz");
    let requests = queue_requests();
    let output =
        capture(&["--target", place.path().to_str().unwrap(), "--out", file.to_str().unwrap()]).output().unwrap();
    assert_eq!((output.status.code(), stderr_of(&output).as_str()), (Some(0), ""));
    assert!(output.stdout.is_empty());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let archive = fs::read(&file).unwrap();
    assert!(archive.len() < 1 << 20, "{} bytes", archive.len());

    let (document, names) = read(&archive);
    assert_eq!(names[0], MEMBER);
    assert_eq!((document.kind, document.version), (Kind::Snapshot, VERSION));
    assert_eq!(document.target.as_deref(), place.path().to_str());
    assert_eq!(document.host, document.environment.host);
    assert!(document.environment.mount.is_some());
    for command in &document.commands {
        assert!(command.file.as_ref().is_none_or(|file| names.contains(file)), "{command:?}");
    }

    let unpacked = place.path().join("unpacked");
    tar::Archive::new(GzDecoder::new(archive.as_slice())).unpack(&unpacked).unwrap();
    let root = unpacked.join("root");
    // Devices of other tests come, change and go.
    for (name, value) in requests.iter().filter(|(name, value)| queue_requests().get(*name) == Some(value)) {
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), *value, "{name}");
    }
    let mtu = fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
    assert_eq!(fs::read_to_string(root.join("sys/class/net/lo/mtu")).unwrap(), mtu);
    assert!(root.join("proc/mounts").exists() && root.join("proc/sys/vm/dirty_ratio").exists());
    let listed: BTreeMap<&str, &str> =
        document.unreadable.iter().map(|listed| (listed.path.as_str(), listed.reason.as_str())).collect();
    assert_eq!(listed.get("sys/devices/virtual/net/lo/speed"), Some(&"Invalid argument"));
    for link in links_below(&root) {
        let path = link.canonicalize();
        let is_within = path.as_ref().is_ok_and(|path| path.starts_with(root.canonicalize().unwrap()));
        // Some lead nowhere on the machine too.
        let there = Path::new("/").join(link.strip_prefix(&root).unwrap());
        assert!(is_within || !there.exists(), "{} {path:?}", link.display());
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "a temporary file is left");
}

#[test]
fn standard_output_has_the_same_archive_and_nothing_else() {
    let output = capture(&["--out", "-"]).output().unwrap();
    assert_eq!((output.status.code(), stderr_of(&output).as_str()), (Some(0), ""));
    let (document, names) = read(&output.stdout);
    assert_eq!((document.kind, document.target), (Kind::Snapshot, None));
    assert!(names.iter().any(|name| name == "root/proc/cmdline"), "{names:?}");
}

#[test]
fn a_slow_reader_gets_all_of_the_archive() {
    let mut child = capture(&["--out", "-"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let mut bytes = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    read(&bytes);
}

#[test]
fn an_archive_that_cannot_be_written_is_an_error_with_a_remedy_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("node.tar.gz");
    fs::write(&file, "mine").unwrap();
    let output = capture(&["--out", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr_of(&output).contains("exists; a snapshot is a new file\n  try: give another name"),
        "{}",
        stderr_of(&output)
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");

    let nowhere = place.path().join("nowhere/node.tar.gz");
    let output = capture(&["--out", nowhere.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr_of(&output).contains("try: create its directory"), "{}", stderr_of(&output));

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = capture(&["--out", "-"]).stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr_of(&output).contains("write standard output: Broken pipe"), "{}", stderr_of(&output));

    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = capture(&["--out", "-"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr_of(&output).contains("No space left on device"), "{}", stderr_of(&output));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_target_that_does_not_exist_is_listed() {
    let output = capture(&["--target", "/nowhere/x", "--out", "-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let (document, _) = read(&output.stdout);
    let listed = document.unreadable.iter().find(|listed| listed.path == "nowhere/x").unwrap();
    assert_eq!(listed.reason, "No such file or directory");
}

#[test]
fn a_target_that_does_not_respond_is_listed_and_the_rest_is_captured() {
    let Some(mount) = HungMount::new() else { return };
    mount.hang(&[ALL]);
    let begin = Instant::now();
    let output = capture(&["--target", mount.path().to_str().unwrap(), "--out", "-"]).output().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(40), "{:?}", begin.elapsed());
    assert!(mount.is_waited_for());
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let (document, names) = read(&output.stdout);
    let path = mount.path().to_str().unwrap().trim_start_matches('/');
    let reason = &document.unreadable.iter().find(|listed| listed.path == path).unwrap().reason;
    assert!(reason.starts_with("no response for 10"), "{reason}");
    assert!(reason.contains(" hangs (fuse of ioassay-test, mounted at "), "{reason}");
    assert!(names.iter().any(|name| name == "root/proc/meminfo"));
    assert_eq!(document.environment.mount, None);
}
