//! What the recorder counts: calls of known number, size and order, by programs of `recorded`.

use std::fs;
use std::process::Stdio;

use crate::support::process::wait_until;
use crate::support::record::{Place, Record, Started, run};
use ioassay_record::operation::Operation::{
    Close, ElsewhereOther, ElsewhereRead, ElsewhereWrite, Open, Read, Seek, Write,
};
use ioassay_record::table::FileKind;
use nix::sys::stat::Mode;

#[test]
fn reads_and_writes_are_counted_with_their_sizes_and_order() {
    let record = run("counts", &["order"]);
    let image = record.only();
    assert!(image.ended());
    let x = image.file("x");
    let (reads, writes) = (x.reads(), x.writes());
    assert_eq!((writes.calls, writes.bytes, writes.failed), (11, 1000 + 4096, 0));
    assert_eq!((writes.consecutive, writes.forward, writes.strided), (9, 1, 0));
    assert_eq!((writes.begin, writes.end), (0, 8192 + 4096));
    assert_eq!(writes.sizes.into_iter().collect::<Vec<_>>(), [(100, 10), (4096, 1)]);
    // The 11th finds the end of the file; then ten go backwards, and five forward by strides.
    assert_eq!((reads.calls, reads.bytes, reads.failed), (11 + 10 + 5, 2500, 0));
    assert_eq!((reads.consecutive, reads.forward, reads.strided), (10, 4, 3));
    assert_eq!((reads.begin, reads.end), (0, 1000));
    assert_eq!(reads.sizes.into_iter().collect::<Vec<_>>(), [(0, 1), (100, 25)]);
    assert_eq!((x.count(Open), x.count(Seek), x.count(Close)), (1, 1, 1));
}

#[test]
fn failed_calls_are_counted_by_their_errno_which_is_what_the_program_sees() {
    let record = run("counts", &["failures"]);
    let image = record.only();
    let missing = image.file("missing");
    assert_eq!((missing.count(Open), missing.failed[Open as usize], missing.error), (3, 3, libc::ENOENT as u32));
    let x = image.file("x");
    assert_eq!((x.reads().calls, x.reads().failed), (1, 1));
    assert_eq!((x.writes().calls, x.writes().failed, x.writes().bytes), (3, 2, 10));
    for (operation, errno, calls) in [
        (Open, libc::ENOENT, 3),
        (Read, libc::EISDIR, 1),
        (Write, libc::EINVAL, 1),
        (Write, libc::EFAULT, 1),
        (ElsewhereOther, libc::ESPIPE, 1),
        (Open, libc::ENOTDIR, 1),
        (Open, libc::EISDIR, 1),
        (Read, libc::EBADF, 3),
        (Write, libc::EBADF, 1),
        (Open, libc::EFAULT, 4),
        (Open, libc::ENAMETOOLONG, 1),
    ] {
        assert_eq!(image.errors(operation, errno), calls, "{operation:?} {errno}: {:?}", image.errors);
    }
}

#[test]
fn calls_on_devices_and_proc_are_elsewhere_from_the_first_open_on() {
    let ran = Place::new().record(&["sh", "-c", "read line < /proc/self/stat; echo \"$line\" > /dev/null"]);
    let record = ran.record();
    let image = record.only();
    let [kernel, device] = ["/proc/self/stat", "/dev/null"].map(|name| image.file(name));
    assert_eq!([kernel.kind, device.kind], [FileKind::Kernel as u16, FileKind::CharacterDevice as u16]);
    assert_eq!([kernel.count(Open), device.count(Open)], [1, 1]);
    assert_eq!(image.by_seconds(Open).calls, image.by_files(Open).calls - 2);
    assert_eq!(image.by_seconds(ElsewhereRead).bytes, kernel.reads().bytes);
    assert_eq!(image.by_seconds(ElsewhereWrite).bytes, device.writes().bytes);
}

#[test]
fn a_call_of_some_seconds_is_spread_over_them() {
    let record = run("counts", &["slow"]);
    let image = record.first();
    let reads: Vec<_> = image.seconds.values().map(|operations| operations[ElsewhereRead as usize]).collect();
    let reads: Vec<_> = reads.into_iter().filter(|moved| moved.calls + moved.bytes > 0).collect();
    assert!(reads.len() >= 3, "{reads:?}");
    assert_eq!(reads.iter().map(|moved| moved.calls).sum::<u64>(), 1);
    assert_eq!(reads.iter().map(|moved| moved.bytes).sum::<u64>(), 1000);
    assert!(reads.iter().all(|moved| moved.bytes < 500), "{reads:?}");
}

#[test]
fn a_hung_call_is_seen_in_the_table_while_it_hangs() {
    let mut place = Place::new();
    let tables = place.root.path().join("tables");
    fs::create_dir(&tables).unwrap();
    place.options = vec!["--tables".into(), tables.clone().into()];
    nix::unistd::mkfifo(&place.path("fifo"), Mode::S_IRWXU).unwrap();
    let program = crate::support::record::compiled("counts");
    let (mut recorder, record) = place.recorder(&[program.to_str().unwrap(), "hang"]);
    let mut started = Started::new(recorder.stderr(Stdio::null()));
    let hung = || {
        let directory = fs::read_dir(&tables).unwrap().flatten().next()?.path();
        Record::of_tables(&directory).into_iter().next()?.in_flight.into_iter().next()
    };
    wait_until("the read is in flight", || {
        hung().is_some_and(|(operation, name)| operation == Read as u32 && name.ends_with("/fifo"))
    });
    fs::write(place.path("fifo"), "x").unwrap();
    assert!(started.end().success());
    assert_eq!(Record::read(&record).only().file("fifo").reads().calls, 1);
}
