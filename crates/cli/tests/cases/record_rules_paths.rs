//! Rules with paths hold for a file whatever a program calls it, and for no other.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use crate::support::record::Image;
use crate::support::rules::{ALL, Watched, throttle};
use crate::support::skipped::skipped;
use ioassay_record::operation::Operation::{Create, Remove, Rename, Stat, StreamWrite, Write};
use ioassay_record::rules::{Alias, AliasBy, Rule, RuleKind, bit};
use nix::unistd::geteuid;

const WRITES: u64 = bit(Write) | bit(StreamWrite);

/// Slots of rules: for a directory, for a link to it, for a file, and for the file by its path on its device.
const DIRECTORY: usize = 0;
const LINK: usize = 20;
const FILE: usize = 40;
const ON_DEVICE: usize = 63;

/// Spellings of the file `data/a`, and of files beneath `data`, that a program is to open.
const OF_DATA: [&str; 16] = [
    "plain",
    "two slashes",
    "dot",
    "parent",
    "parent of a link",
    "600 bytes",
    "4000 bytes",
    "link",
    "link to a directory",
    "/proc/self/fd",
    "/dev/fd",
    "openat",
    "openat of a link",
    "openat2",
    "chdir",
    "chdir to a link",
];
/// Ways in which it comes to what is open.
const OPENED: [&str; 10] =
    ["dup", "passed", "renamed", "removed", "replaced link", "kept open", "fopen", "freopen", "forked", "exec"];
/// Files that are none beneath `data`, though they may be called that.
const OF_OTHERS: [&str; 5] = ["beside", "out by a parent", "out by a link", "out by a replaced link", "moved in"];

/// Where a file is on its device. The file system's own root is where this device is mounted.
fn on_device(path: &[u8]) -> AliasBy<Vec<u8>> {
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path));
    let device = fs::metadata(path).unwrap().dev();
    let mount = path.ancestors().take_while(|above| fs::metadata(above).unwrap().dev() == device).last().unwrap();
    let beneath = path.strip_prefix(mount).unwrap();
    AliasBy::PathOnDevice(device, [b"/", beneath.as_os_str().as_bytes()].concat())
}

/// Starts a program that writes to files by these spellings, and gives it rules when its files are there.
fn start(spellings: &[&str], kind: RuleKind) -> Watched {
    let mut watched = Watched::start_with("paths", &[&["spelled"], spellings].concat());
    give(&mut watched, kind, WRITES);
    watched
}

fn give(watched: &mut Watched, kind: RuleKind, operations: u64) {
    watched.wait_for("ready");
    let [data, link, file] = ["data", "directory", "data/a"].map(|name| watched.path(name));
    let inode = fs::metadata(watched.place.path("data/a")).unwrap();
    // A rate that nothing here reaches.
    let of = |path| Rule { kind, path, operations, ..throttle(Write, 1 << 50) };
    let rules = [(DIRECTORY, of(&data)), (LINK, of(&link)), (FILE, of(&file)), (ON_DEVICE, of(b"/nowhere"))];
    let aliases = [
        (LINK, AliasBy::Path(data.clone())),
        (FILE, AliasBy::Inode(inode.dev(), inode.ino())),
        (ON_DEVICE, on_device(&data)),
    ];
    watched.agent.give_with(&rules, &aliases.map(|(slot, by)| Alias { slot, by }));
}

/// The spellings that the rule of a slot has matched, in all processes.
fn matched<'a>(images: &[Image], slot: usize, spellings: &[&'a str]) -> Vec<&'a str> {
    let bytes: u64 = images.iter().filter_map(|image| Some(image.watched.get(&slot)?.bytes)).sum();
    assert!(bytes < 1 << spellings.len(), "{bytes}");
    spellings.iter().enumerate().filter(|(number, _)| bytes >> number & 1 == 1).map(|(_, name)| *name).collect()
}

fn assert_match(spellings: &[&str], kind: RuleKind, expected: [(usize, &[&str]); 4]) {
    let watched = start(spellings, kind);
    watched.pass("go");
    let record = watched.end();
    for (slot, expected) in expected {
        assert_eq!(matched(&record.images, slot, spellings), expected, "slot {slot}");
    }
}

#[test]
fn a_rule_holds_whatever_a_file_is_called() {
    let all = &OF_DATA[..];
    let expected = [(DIRECTORY, all), (LINK, all), (FILE, all), (ON_DEVICE, all)];
    assert_match(all, RuleKind::Monitor, expected);
    assert_match(all, RuleKind::ThrottleBytes, expected);
}

#[test]
fn a_rule_holds_by_whatever_way_a_program_has_a_file_open() {
    let all = &OPENED[..];
    let of_file = ["dup", "passed", "replaced link", "kept open", "fopen", "freopen", "forked", "exec"];
    let expected = [(DIRECTORY, all), (LINK, all), (FILE, &of_file), (ON_DEVICE, all)];
    assert_match(all, RuleKind::ThrottleBytes, expected);
}

#[test]
fn a_rule_holds_for_no_file_that_is_elsewhere() {
    let none: &[&str] = &[];
    assert_match(&OF_OTHERS, RuleKind::Monitor, [(DIRECTORY, none), (LINK, none), (FILE, none), (ON_DEVICE, none)]);
}

#[test]
fn a_rule_for_a_file_holds_for_its_other_names() {
    let (all, none): (&[&str], &[&str]) = (&["hard link"], &[]);
    assert_match(all, RuleKind::ThrottleBytes, [(FILE, all), (DIRECTORY, none), (LINK, none), (ON_DEVICE, none)]);
}

#[test]
fn a_rule_holds_in_a_chroot() {
    if !geteuid().is_root() {
        return skipped("a changed root directory", "run it as root");
    }
    let all: &[&str] = &["link in a chroot", "chroot"];
    assert_match(all, RuleKind::ThrottleBytes, [(DIRECTORY, all), (LINK, all), (FILE, all), (ON_DEVICE, all)]);
    // Without /proc the kernel does not say what a file is called.
    let all = &all[1..];
    assert_match(all, RuleKind::ThrottleBytes, [(DIRECTORY, all), (LINK, all), (FILE, all), (ON_DEVICE, &[])]);
}

#[test]
fn a_rule_holds_for_programs_that_are_started_in_a_chroot() {
    if !geteuid().is_root() {
        return skipped("a changed root directory", "run it as root");
    }
    let spellings = ["exec in a chroot", "exec with a link in a chroot", "descriptor from outside"];
    let all = &spellings[..];
    assert_match(all, RuleKind::ThrottleBytes, [(DIRECTORY, all), (LINK, all), (FILE, all), (ON_DEVICE, all)]);
    let none: &[&str] = &[];
    let other = &["same name in a chroot"];
    assert_match(other, RuleKind::Monitor, [(DIRECTORY, none), (LINK, none), (FILE, none), (ON_DEVICE, none)]);
}

#[test]
fn a_rule_holds_by_all_mounts_of_a_directory_and_an_overlay_is_another() {
    if !geteuid().is_root() {
        return skipped("a mount", "run it as root");
    }
    let spellings = ["bind mount", "bind mount of a part", "overlay", "beside in a bind mount"];
    let none: &[&str] = &[];
    let expected = [(ON_DEVICE, &spellings[..2]), (DIRECTORY, none), (LINK, none), (FILE, &spellings[..1])];
    assert_match(&spellings, RuleKind::ThrottleBytes, expected);
}

#[test]
fn calls_that_open_nothing_match_by_what_their_names_lead_to() {
    let mut watched = Watched::start_with("paths", &["named"]);
    give(&mut watched, RuleKind::Monitor, bit(Stat) | bit(Create) | bit(Remove) | bit(Rename));
    watched.pass("go");
    let record = watched.end();
    let image = record.only();
    // The stats but those of `other/a`, and the four others.
    assert_eq!(image.watched[&DIRECTORY].calls, 1 + 2 + 4 + 8 + 32 + 4);
    assert_eq!(image.watched[&LINK].calls, image.watched[&DIRECTORY].calls);
    assert_eq!(image.watched[&FILE].calls, 1 + 2 + 8 + 32);
}

#[test]
fn without_paths_rules_hold_for_all_files() {
    let mut watched = Watched::start_with("paths", &["spelled", "plain", "beside"]);
    watched.wait_for("ready");
    watched.agent.give(&[(FILE, Rule { operations: WRITES, ..ALL })]);
    watched.pass("go");
    assert_eq!(matched(&watched.end().images, FILE, &["plain", "beside"]), ["plain", "beside"]);
}
