//! `record --via ptrace`: programs that load no library are counted exactly, and behave as without it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::process::wait_until;
use crate::support::record::{Image, Place, Record, RecordedCommand, Started, copy_program, try_compile};
use crate::support::skipped::skipped;
use ioassay_record::operation::Operation::{self, *};
use ioassay_record::table::State;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid, mkfifo};

/// Neither root nor the owner of anything.
const NOBODY: u32 = 65534;

/// Both ways to trace.
const VIAS: [&str; 2] = ["ptrace", "ptrace-unfiltered"];

fn program() -> PathBuf {
    try_compile("gcc", "traced", &["-static"]).expect("the tests need gcc")
}

/// A place in which commands are recorded that way.
fn place(via: &str) -> Place {
    let mut place = Place::new();
    let tables = place.root.path().join("tables");
    fs::create_dir(&tables).unwrap();
    place.options = vec!["--via".into(), via.into(), "--tables".into(), tables.into()];
    place
}

/// The directory in which commands work.
fn work(place: &Place) -> String {
    place.path("").to_str().unwrap().trim_end_matches('/').to_owned()
}

/// Where tables are while the command runs.
fn tables(place: &Place) -> PathBuf {
    fs::read_dir(place.root.path().join("tables")).unwrap().next().unwrap().unwrap().path()
}

/// Records a program doing `what` there.
fn record(place: &Place, program: &Path, what: &str) -> RecordedCommand {
    place.record(&[program.to_str().unwrap(), what, &work(place)])
}

/// Records the program doing `what`, which is to end with that code.
fn run(via: &str, what: &str, code: i32) -> (Place, Record) {
    let place = place(via);
    let ran = record(&place, &program(), what);
    assert_eq!(ran.status.code(), Some(code), "{via} {what}: {}", ran.stderr);
    (place, ran.record())
}

/// Calls, failed calls and bytes on a file of that place.
fn on(place: &Place, record: &Record, name: &str, operation: Operation) -> (u64, u64, u64) {
    record.counts(place.path(name).to_str().unwrap(), operation)
}

/// Process, state and replacement of each image.
fn images(record: &Record) -> Vec<(u32, u32, Option<&str>)> {
    record.images.iter().map(|image| (image.pid, image.state, image.replacement.as_deref())).collect()
}

fn states(record: &Record) -> Vec<u32> {
    record.images.iter().map(|image| image.state).collect()
}

/// What the kernel counted: reads and writes.
fn kernel(record: &Record) -> [u64; 2] {
    [2, 3].map(|counter| record.images.iter().map(|image| image.kernel[counter]).sum())
}

/// What `all` of the program does, file by file.
fn assert_all(place: &Place, record: &Record) {
    let on = |name: &str| -> Vec<_> {
        let all = Operation::ALL.iter().map(|&operation| (operation, on(place, record, name, operation)));
        let called = all.filter(|(_, counts)| counts.0 > 0);
        called.map(|(operation, (calls, failed, bytes))| (operation, calls, failed, bytes)).collect()
    };
    assert_eq!(
        on("a"),
        [
            (Open, 1, 0, 0),
            (Close, 2, 0, 0),
            (Seek, 2, 0, 0),
            (Sync, 2, 0, 0),
            (Truncate, 1, 0, 0),
            (Lock, 1, 0, 0),
            (Read, 7, 0, 1000 + 30 + 10),
            (Write, 13, 0, 1000 + 50 + 30 + 30),
            (CopyFrom, 1, 0, 300),
            (Map, 1, 0, 4000),
        ]
    );
    assert_eq!(on("b"), [(Open, 1, 0, 0), (Close, 1, 0, 0), (Stat, 1, 0, 0), (Rename, 1, 0, 0), (CopyTo, 1, 0, 300)]);
    assert_eq!(on("none"), [(Open, 1, 1, 0), (Stat, 1, 1, 0)]);
    assert_eq!(on("d"), [(Open, 1, 0, 0), (Close, 1, 0, 0), (List, 1, 0, 0), (Create, 1, 0, 0), (Remove, 1, 0, 0)]);
    assert_eq!(on("d/c"), [(Open, 1, 0, 0), (Close, 1, 0, 0), (Remove, 1, 0, 0), (Write, 1, 0, 1)]);
    assert_eq!(on("e"), [(Remove, 1, 0, 0), (Attribute, 1, 0, 0)]);
    // A read from a descriptor that is not open is on no file.
    assert_eq!(record.only().others.counts(Read), (1, 1, 0));
    assert!(record.only().ended());
}

#[test]
fn connections_are_counted_like_the_recorder_does() {
    for via in VIAS {
        let place = place(via);
        fs::write(place.path("go"), "").unwrap();
        let record = place.run("rules", &["classes"]);
        let socket = record.only().file("socket");
        assert_eq!([Accept, Connect].map(|operation| socket.count(operation)), [1, 2], "{via}");
        assert_eq!(socket.failed[Connect as usize], 1, "{via}");
    }
}

#[test]
fn a_static_program_is_counted_exactly() {
    for via in VIAS {
        let (place, record) = run(via, "all", 0);
        assert_all(&place, &record);
        // The kernel counted the same: reads, and writes with those of copies.
        let image = record.only();
        let of = |operation: Operation| image.by_files(operation).calls;
        assert_eq!(kernel(&record), [of(Read) - 1, of(Write)].map(|calls| calls + 1), "{:?}", image.kernel);
        assert!(image.own_ticks > 0);
    }
}

#[test]
fn a_program_of_musl_is_counted_exactly() {
    let Some(program) = try_compile("musl-gcc", "traced", &["-static"]) else {
        return skipped("musl-gcc", "apt-get install musl-tools");
    };
    let place = place("ptrace");
    let ran = record(&place, &program, "all");
    assert!(ran.status.success(), "{}", ran.stderr);
    assert_all(&place, &ran.record());
}

#[test]
fn a_program_in_go_is_counted_exactly() {
    let place = place("ptrace");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/goroutines.go");
    let program = place.root.path().join("program");
    let made = Command::new("go").args(["build", "-o"]).arg(&program).arg(source).env("GOFLAGS", "-mod=mod").output();
    match made {
        Err(_) => return skipped("go", "install Go"),
        Ok(made) => assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr)),
    }
    let ran = record(&place, &program, "go");
    assert!(ran.status.success(), "{}", ran.stderr);
    let record = ran.record();
    for number in 0..20 {
        let on = |operation| on(&place, &record, &format!("go{number}"), operation);
        assert_eq!(on(Write), (100, 0, 100 * 64), "{number}");
        // The last one finds the end.
        assert_eq!(on(Read), (101, 0, 100 * 64), "{number}");
        assert_eq!((on(Open).0, on(Close).0), (2, 2), "{number}");
    }
}

#[test]
fn a_pipeline_of_a_shell_is_counted_with_all_its_processes() {
    let place = place("ptrace");
    fs::write(place.path("in"), vec![b'x'; 300_000]).unwrap();
    let line = format!("cd {} && dd if=in bs=1000 status=none | cat > out; exit 3", work(&place));
    let ran = place.record(&["sh", "-c", &line]);
    assert_eq!(ran.status.code(), Some(3), "{}", ran.stderr);
    let record = ran.record();
    assert_eq!(on(&place, &record, "in", Read), (301, 0, 300_000));
    let out = on(&place, &record, "out", Write).2 + on(&place, &record, "out", CopyTo).2;
    assert_eq!(out, 300_000);
    // What went through the pipe is not among the calls on storage.
    let by_seconds = |class| record.images.iter().map(|image| image.by_seconds(class).calls).sum::<u64>();
    assert_eq!(by_seconds(Write), on(&place, &record, "out", Write).0);
    assert!(by_seconds(ElsewhereWrite) >= 300);
    let images = images(&record);
    let replaced = |by: &str| {
        images
            .iter()
            .any(|(_, state, next)| *state == State::Replaced as u32 && next.is_some_and(|next| next.ends_with(by)))
    };
    assert!(replaced("dd"), "{images:?}");
    assert!(images.len() >= 3, "{images:?}");
}

#[test]
fn threads_are_counted_also_those_that_the_end_of_the_process_ends() {
    for via in VIAS {
        let (place, record) = run(via, "threads", 0);
        for thread in 0..8 {
            let on = |operation| on(&place, &record, &format!("t{thread}"), operation);
            assert_eq!((on(Write), on(Read)), ((200, 0, 2000), (200, 0, 1000)), "{thread}");
            assert_eq!((on(Open).0, on(Close).0), (1, 1), "{thread}");
        }
        assert_eq!(kernel(&record), [1600, 1600]);
    }
}

#[test]
fn many_processes_are_each_counted_once() {
    for via in VIAS {
        let (place, record) = run(via, "forks", 0);
        assert_eq!(on(&place, &record, "shared", Write), (200, 0, 1400));
        assert_eq!(on(&place, &record, "shared", Open), (1, 0, 0));
        assert_eq!(record.images.len(), 201);
        assert_eq!(fs::read(place.path("shared")).unwrap().len(), 1400);
    }
}

#[test]
fn a_call_that_a_signal_interrupts_is_one_call() {
    for via in VIAS {
        let (place, record) = run(via, "interrupted", 0);
        // One that is restarted, one that fails with EINTR, one that a stop interrupts; and three marks.
        assert_eq!(record.counts("pipe", Read), (3 + 3, 1, 7 + 3), "{via}");
        assert_eq!(on(&place, &record, "handler", Open), (2, 0, 0), "{via}");
    }
}

#[test]
fn a_thread_that_is_not_the_first_can_execute_a_program() {
    for via in VIAS {
        let (place, record) = run(via, "exec", 0);
        assert_eq!(on(&place, &record, "before", Write), (1, 0, 3));
        assert_eq!(on(&place, &record, "x", Write), (1, 0, 5));
        assert_eq!(states(&record), [State::Replaced as u32, State::Exited as u32]);
        assert_eq!(record.images[0].pid, record.images[1].pid);
    }
}

#[test]
fn a_child_of_vfork_has_its_own_table() {
    let (place, record) = run("ptrace", "vfork", 0);
    assert_eq!(on(&place, &record, "x", Write), (1, 0, 5));
    assert_eq!(record.images.len(), 2);
}

#[test]
fn what_a_killed_process_did_is_kept() {
    for via in VIAS {
        let (place, record) = run(via, "killed", 7);
        assert_eq!(on(&place, &record, "x", Write), (1, 0, 5));
        assert_eq!(states(&record), [State::Exited as u32, State::Running as u32]);
    }
}

#[test]
fn the_exit_code_is_that_of_the_signal_that_ends_the_command() {
    run("ptrace", "signal", 128 + libc::SIGSEGV);
    let ran = place("ptrace").record(&["/nowhere/program"]);
    assert_eq!(ran.status.code(), Some(3));
    assert!(ran.stderr.contains("/nowhere/program cannot be started"), "{}", ran.stderr);
    assert!(ran.stderr.contains("No such file"), "{}", ran.stderr);
}

#[test]
fn the_flags_of_a_call_that_opens_are_those_that_it_began_with() {
    for via in VIAS {
        let place = place(via);
        mkfifo(&place.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::hard_link(place.path("fifo"), place.path("other")).unwrap();
        let record = record(&place, &program(), "flags").record();
        let opened = record.only().file(place.path("fifo").to_str().unwrap()).open_flags;
        assert_eq!(opened, (libc::O_RDONLY | libc::O_CLOEXEC) as u32, "{via}");
    }
}

/// A command that waits for a byte from a pipe, its record, and its process.
fn waiting(place: &Place) -> (Started, PathBuf, Pid) {
    mkfifo(&place.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (mut recorder, record) = place.recorder(&[program().to_str().unwrap(), "wait", &work(place)]);
    let started = Started::new(recorder.stdout(Stdio::piped()).stderr(Stdio::piped()));
    wait_until("the command is ready", || fs::read(place.path("ready")).is_ok_and(|number| !number.is_empty()));
    let number = fs::read_to_string(place.path("ready")).unwrap();
    (started, record, Pid::from_raw(number.trim_end_matches('\0').parse().unwrap()))
}

/// The tracer of a process.
fn tracer_of(process: Pid) -> Pid {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap();
    Pid::from_raw(line.trim().parse().unwrap())
}

#[test]
fn a_signal_to_record_reaches_the_command() {
    for via in VIAS {
        let place = place(via);
        let (started, record, _) = waiting(&place);
        kill(started.pid(), Signal::SIGTERM).unwrap();
        let ran = started.ran(&record);
        assert_eq!(ran.status.code(), Some(128 + libc::SIGTERM), "{}", ran.stderr);
        assert_eq!(on(&place, &ran.record(), "ready", Open), (1, 0, 0));
    }
}

#[test]
fn the_call_in_flight_is_in_the_table_while_the_command_runs() {
    let place = place("ptrace");
    let (started, record, process) = waiting(&place);
    let tables = tables(&place);
    wait_until("a table is written", || {
        let in_flight: Vec<_> = Record::of_tables(&tables).into_iter().flat_map(|image| image.in_flight).collect();
        in_flight == [(Open as u32, place.path("fifo").display().to_string())]
    });
    fs::write(place.path("fifo"), "x").unwrap();
    let ran = started.ran(&record);
    assert_eq!(ran.status.code(), Some(5), "{}", ran.stderr);
    let record = ran.record();
    assert_eq!(images(&record), [(process.as_raw() as u32, State::Exited as u32, None)]);
    assert_eq!(on(&place, &record, "fifo", Read), (1, 0, 1));
}

#[test]
fn a_filtered_command_is_killed_with_its_tracer_and_an_unfiltered_one_goes_on() {
    for (via, code) in [("ptrace", 128 + libc::SIGKILL), ("ptrace-unfiltered", 5)] {
        let place = place(via);
        let (started, record, process) = waiting(&place);
        kill(tracer_of(process), Signal::SIGKILL).unwrap();
        if via == "ptrace-unfiltered" {
            fs::write(place.path("fifo"), "x").unwrap();
        }
        let ran = started.ran(&record);
        assert_eq!(ran.status.code(), Some(code), "{via}: {}", ran.stderr);
        assert!(ran.stderr.contains("was killed; the rest is not recorded"), "{}", ran.stderr);
        assert_eq!(place.path("x").exists(), code == 5);
    }
}

#[test]
fn a_command_goes_on_when_record_itself_is_killed() {
    for via in VIAS {
        let place = place(via);
        let (mut started, _, process) = waiting(&place);
        kill(started.pid(), Signal::SIGKILL).unwrap();
        started.end();
        fs::write(place.path("fifo"), "x").unwrap();
        wait_until("the command has written", || fs::read(place.path("x")).is_ok_and(|bytes| bytes.len() == 5));
        wait_until("it has ended", || kill(process, None).is_err());
        // Its table is where tables are while processes run.
        let tables = tables(&place);
        wait_until("its table is written", || Record::of_tables(&tables).iter().any(Image::ended));
        let x = place.path("x");
        let writes = |image: &Image| image.file(x.to_str().unwrap()).counts(Write);
        assert_eq!(Record::of_tables(&tables).iter().map(writes).collect::<Vec<_>>(), [(1, 0, 5)]);
    }
}

#[test]
fn a_process_that_is_left_behind_goes_on() {
    for via in VIAS {
        let place = place(via);
        mkfifo(&place.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let ran = record(&place, &program(), "daemon");
        assert!(ran.status.success(), "{}", ran.stderr);
        assert!(ran.stderr.contains("goes on; what it does from now on is not recorded"), "{}", ran.stderr);
        assert!(!place.path("x").exists());
        fs::write(place.path("fifo"), "x").unwrap();
        wait_until("it has written", || fs::read(place.path("x")).is_ok_and(|bytes| bytes.len() == 5));
    }
}

/// A copy of the program that belongs to a user and has that user's privileges.
fn setuid(place: &Place, owner: u32) -> PathBuf {
    let program_of = place.root.path().join("setuid");
    copy_program(&program(), &program_of);
    chown(&program_of, Some(owner), Some(owner)).unwrap();
    fs::set_permissions(&program_of, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(place.root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(place.path(""), Some(NOBODY), Some(NOBODY)).unwrap();
    program_of
}

#[test]
fn a_setuid_program_has_its_privileges_if_root_records_it() {
    if !geteuid().is_root() {
        return skipped("a setuid program", "run the tests as root");
    }
    for via in VIAS {
        let place = place(via);
        let ran = record(&place, &setuid(&place, NOBODY), "who");
        assert_eq!(ran.output, format!("0 {NOBODY}\n"), "{}", ran.stderr);
        assert_eq!(on(&place, &ran.record(), "x", Write), (1, 0, 5));
    }
}

#[test]
fn a_setuid_program_recorded_by_another_user_is_reported_to_lack_its_privileges() {
    if !geteuid().is_root() {
        return skipped("a setuid program", "run the tests as root");
    }
    for via in VIAS {
        let place = place(via);
        let program = setuid(&place, 0);
        let engine = place.root.path().join("engine");
        copy_program(Path::new(env!("CARGO_BIN_EXE_ioassay-engine")), &engine);
        for directory in ["", "tables"] {
            chown(place.root.path().join(directory), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let (recorder, record) = place.recorder(&[program.to_str().unwrap(), "who", &work(&place)]);
        let mut as_nobody = Command::new(&engine);
        as_nobody.args(recorder.get_args()).current_dir(work(&place)).uid(NOBODY).gid(NOBODY);
        let ran = RecordedCommand::of(as_nobody.output().unwrap(), &record);
        assert_eq!(ran.output, format!("{NOBODY} {NOBODY}\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains("ran without the privileges of its file"), "{}", ran.stderr);
        assert_eq!(on(&place, &ran.record(), "x", Write), (1, 0, 5));
    }
}

#[test]
fn a_record_that_missed_a_static_program_offers_ptrace() {
    let place = place("preload");
    let line = format!("{} write {}; exit 0", program().display(), work(&place));
    let ran = place.record(&["sh", "-c", &line]);
    assert!(ran.status.success(), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("ioassay record --via ptrace -- COMMAND").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_debugger_fails_and_the_record_is_whole() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skipped("strace", "apt-get install strace");
    }
    let ran = place("ptrace").record(&["strace", "-o", "/dev/null", "true"]);
    assert_ne!(ran.status.code(), Some(0), "{}", ran.stderr);
    assert!(!ran.record().images.is_empty());
}
