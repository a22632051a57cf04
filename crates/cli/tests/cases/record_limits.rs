//! Programs at their limits, and tables at theirs: the program goes on as without the recorder, and what is lost is
//! reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::record::{Place, Record, compiled, run};
use crate::support::skipped::skipped;
use ioassay_record::operation::Operation::{Close, Open, Read, Write};
use ioassay_record::table::LARGEST;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::resource::{Resource, getrlimit};

/// Root, which most limits and mounts need.
fn is_root(what: &str) -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skipped(what, "it needs root");
    }
    root
}

fn lost(record: &Record) -> u64 {
    record.document["lost_tables"].as_u64().unwrap()
}

#[test]
fn no_descriptor_is_open_that_would_not_be_without_the_recorder() {
    let program = compiled("limits");
    let place = Place::new();
    // Both by the same shell, so that both inherit the same.
    let command = format!("'{}' list </dev/null", program.display());
    let shell = ["/bin/sh", "-c", &command];
    let without = Command::new(shell[0]).args(&shell[1..]).current_dir(place.path("")).output().unwrap();
    let with = place.record(&shell);
    assert!(without.status.success() && with.status.success(), "{}", with.stderr);
    assert_eq!(with.output, String::from_utf8(without.stdout).unwrap());
    assert!(with.output.contains("child: 0 1 2 3"), "{}", with.output);
}

#[test]
fn more_descriptors_than_a_part_has_are_known() {
    for count in [1500, 15_000, 110_000] {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        if most < count + 100 {
            skipped(&format!("{count} descriptors"), "ulimit -Hn gives less");
            continue;
        }
        let count = count.to_string();
        let record = run("limits", &["many", &count]);
        let image = record.only();
        let (many, x) = (image.file("many"), image.file("x"));
        assert_eq!((many.writes().calls, many.count(Open).to_string()), (50, count.clone()));
        assert_eq!((x.writes().calls, x.writes().bytes, x.writes().consecutive), (6, 60, 5), "{count}");
    }
}

#[test]
fn duplicates_of_a_descriptor_share_its_position() {
    let record = run("limits", &["duplicates"]);
    let (x, y) = (record.only().file("x").writes(), record.only().file("y").writes());
    assert_eq!((x.calls, x.consecutive, x.begin, x.end), (6, 5, 0, 600));
    assert_eq!((y.calls, y.begin, y.end), (1, 0, 100));
}

#[test]
fn a_received_descriptor_is_known_by_its_file() {
    let record = run("limits", &["received"]);
    assert_eq!((record.sum("sent", Write), record.sum("other", Write)), ((7, 70), (1, 10)));
}

#[test]
fn a_process_with_little_memory_keeps_it() {
    let program = compiled("limits");
    let place = Place::new();
    let without = Command::new(&program).arg("memory").current_dir(place.path("")).output().unwrap();
    let record = run("limits", &["memory"]);
    let of = |output: &str| output.trim().strip_prefix("MiB ").unwrap().parse::<u64>().unwrap();
    let (with, without) = (record.printed("MiB"), of(&String::from_utf8(without.stdout).unwrap()));
    assert!(with + 2 >= without, "{with} MiB of {without} are left");
    assert_eq!(record.sum("x", Write), (5, 50));
    assert_eq!(lost(&record), 0);
}

#[test]
fn no_process_is_killed_for_the_size_of_its_table() {
    let record = run("limits", &["file size"]);
    assert_eq!(record.first().file("x").writes().calls, 6);
    assert!(record.first().by_files(Open).calls >= 3002);
    assert_eq!(record.first().errors(Open, libc::ENOENT), 3000);
    // A child has room for a table, but not for one that grows; the last one and what replaced it have none.
    assert_eq!(record.images.iter().map(|image| image.by_files(Write).calls).sum::<u64>(), 9);
    assert_eq!(lost(&record), 2, "{:?}", record.document);
}

#[test]
fn a_process_without_descriptors_goes_on() {
    let record = run("limits", &["no descriptors"]);
    let parent = record.first();
    assert_eq!((parent.file("x").writes().calls, parent.errors(Open, libc::EMFILE)), (8, 3001));
}

#[test]
fn a_process_that_becomes_another_user_goes_on_in_its_table() {
    if !is_root("another user") {
        return;
    }
    let place = Place::new();
    let open = |path: &Path| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    };
    open(place.root.path());
    open(&place.path(""));
    let record = place.run("limits", &["other user"]);
    let image = record.only();
    assert_eq!((image.file("x").writes().calls, image.by_files(Open).calls), (9, 3003));
    assert!(image.ended());
}

#[test]
fn a_process_in_a_root_of_its_own_goes_on() {
    if !is_root("chroot") {
        return;
    }
    let record = run("limits", &["chroot"]);
    // Its table cannot grow there.
    let (x, all) = (record.first().file("x").writes(), record.first().by_files(Write));
    assert_eq!((x.calls, all.calls, record.first().by_files(Open).calls), (3, 7, 3002));
}

#[test]
fn a_process_without_a_working_directory_goes_on() {
    let record = run("limits", &["no directory"]);
    assert_eq!(record.images.iter().map(|image| image.by_files(Write).calls).sum::<u64>(), 6);
    assert_eq!(record.first().errors(Open, libc::ENOENT), 1);
}

#[test]
fn arguments_that_a_program_writes_over_are_kept() {
    let record = run("limits", &["title", "of some length"]);
    assert_eq!(record.images.len(), 2);
    for image in &record.images {
        assert_eq!((image.command[1].as_str(), image.command[2].as_str()), ("title", "of some length"));
        assert_eq!(image.file("x").writes().calls, 3);
    }
}

#[test]
fn a_full_table_folds_names_and_every_call_still_counts() {
    let record = run("full", &["names", "300000"]);
    let image = record.only();
    assert!(image.bytes <= LARGEST && image.bytes > LARGEST * 3 / 4, "{}", image.bytes);
    assert_eq!(image.by_files(Open).calls, 300_003);
    assert_eq!((image.errors(Open, libc::ENOENT), image.lost_calls), (300_000, 0));
    assert!(image.others.count(Open) > 1000);
    assert_eq!((image.file("first").writes().calls, image.by_files(Write).calls), (6, 11));
    assert_eq!(image.by_seconds(Write).bytes, 110);
}

#[test]
fn a_table_full_of_threads_and_files_still_counts_every_call() {
    let record = run("full", &["files", "64"]);
    let image = record.only();
    assert!(image.bytes <= LARGEST, "{}", image.bytes);
    assert_eq!(image.lost_calls, 0);
    let calls = |operation| image.by_files(operation).calls;
    assert_eq!([Open, Close, Write, Read].map(calls), [96_000, 96_000, 192_000, 96_000]);
    assert_eq!(image.by_seconds(Write).bytes, 1_920_000);
    assert!(image.folded_calls > 0 && image.others.writes().calls > 0);
}

/// A small file system in memory, from which nothing can be loaded.
struct Small(PathBuf);

impl Small {
    fn new(place: &mut Place, bytes: u64) -> Option<Self> {
        if !is_root("a small file system") {
            return None;
        }
        let path = place.root.path().join("small");
        fs::create_dir(&path).unwrap();
        let options = format!("size={bytes}");
        mount(Some("small"), &path, Some("tmpfs"), MsFlags::MS_NOEXEC, Some(options.as_str())).unwrap();
        place.options = vec!["--tables".into(), path.clone().into()];
        Some(Self(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

#[test]
fn where_tables_have_no_room_programs_go_on_and_the_loss_is_stated() {
    let mut place = Place::new();
    let Some(small) = Small::new(&mut place, 160 << 10) else { return };
    let record = place.run("full", &["processes", "20"]);
    // 4 tables of 32 KiB fit; each of the others is counted.
    assert_eq!(record.images.len() as u64 + lost(&record), 21, "{}", record.stderr);
    assert!(lost(&record) >= 16 && record.images.len() >= 4, "{}", lost(&record));
    let message = format!("the tables of {} processes could not be kept", lost(&record));
    assert!(record.stderr.contains(&message), "{}", record.stderr);
    assert_eq!(fs::read_dir(&small.0).unwrap().count(), 0, "nothing is left");
    // What cannot grow folds.
    let record = place.run("full", &["names", "20000"]);
    let image = record.only();
    assert_eq!((image.by_files(Open).calls, image.by_files(Write).calls, image.lost_calls), (20_003, 11, 0));
}

#[test]
fn tables_that_are_removed_do_no_harm() {
    let program = compiled("limits");
    let ran = Place::new().record(&[program.to_str().unwrap(), "removed"]);
    assert!(!ran.stderr.contains("line ") && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    // The record cannot be made whole, and that is reported; the program ends as it would without it.
    assert!(ran.status.success() && ran.stderr.contains("ENOENT"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the record is incomplete"), "{}", ran.stderr);
}
