//! `record --via ptrace`: programs that load no library are counted exactly, and behave as without it.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::FIRST_TRANSFER;
use ioassay_record::operation::Operation::{self, *};
use ioassay_record::read::Table;
use ioassay_record::table::{File, Header, Second, Seconds, State, Text, TextKind, Thread, Transfers};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid, mkfifo};
use support::process::wait_until;
use support::skipped::skipped;

/// Neither root nor the owner of anything.
const NOBODY: u32 = 65534;

/// Both ways to trace.
const VIAS: [&str; 2] = ["ptrace", "ptrace-unfiltered"];

/// The program in C, compiled by this compiler; nothing where it cannot be.
fn compiled(compiler: &str) -> Option<PathBuf> {
    static MADE: OnceLock<std::sync::Mutex<BTreeMap<String, Option<PathBuf>>>> = OnceLock::new();
    let mut made = MADE.get_or_init(Default::default).lock().unwrap();
    made.entry(compiler.to_owned())
        .or_insert_with(|| {
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traced/program.c");
            let program =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("traced-{compiler}-{}", std::process::id()));
            let mut command = Command::new(compiler);
            command.args(["-O1", "-static", "-pthread", "-o"]).arg(&program).arg(source);
            let made = command.output().ok()?;
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            Some(program)
        })
        .clone()
}

fn program() -> PathBuf {
    compiled("gcc").expect("the tests need gcc")
}

/// What a record says.
#[derive(Debug, Default)]
struct Counts {
    /// Calls, failed calls, bytes by name and operation, of all processes.
    by_file: BTreeMap<(String, u8), (u64, u64, u64)>,
    /// Process, state and replacement of each table, in the order of their beginning.
    images: Vec<(u32, u32, Option<String>)>,
    /// Calls by operation: of files and of seconds, which must be equal.
    calls: BTreeMap<u8, u64>,
    /// `rchar`, `wchar`, `syscr`, `syscw` of all.
    kernel: [u64; 4],
    /// In flight: operation and name.
    in_flight: Vec<(u64, String)>,
    own_ticks: u64,
}

impl Counts {
    fn of(directory: &Path, extension: &str) -> Self {
        let mut counts = Self::default();
        let mut seconds = BTreeMap::new();
        let mut images = Vec::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|found| found != extension) {
                continue;
            }
            let bytes = fs::read(path).unwrap();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let table = Table::first(rest).unwrap();
                rest = &rest[table.bytes().len()..];
                images.push(counts.add(&table, &mut seconds));
            }
        }
        assert_eq!(counts.calls, seconds, "calls of files and of seconds");
        images.sort();
        counts.images =
            images.into_iter().map(|(_, process, state, replacement)| (process, state, replacement)).collect();
        counts
    }

    fn add(&mut self, table: &Table, seconds: &mut BTreeMap<u8, u64>) -> (u64, u32, u32, Option<String>) {
        let header: Header = table.header();
        let mut names = BTreeMap::new();
        let mut replacement = None;
        for block in table.blocks() {
            if let Some((file, rest)) = block.get::<File>() {
                let name = String::from_utf8(rest[..file.name_bytes.into()].to_vec()).unwrap();
                names.insert(block.place, name.clone());
                for operation in 0..FIRST_TRANSFER {
                    let (calls, failed) = (&file.calls[operation], &file.failed[operation]);
                    self.count(&name, operation as u8, calls.load(Relaxed).into(), failed.load(Relaxed).into(), 0);
                }
            }
            if let Some((text, rest)) = block.get::<Text>()
                && text.kind == TextKind::Replacement as u32
            {
                replacement = Some(String::from_utf8(rest[..text.text_bytes as usize].to_vec()).unwrap());
            }
        }
        for block in table.blocks() {
            if let Some((row, _)) = block.get::<Transfers>() {
                let name = names[&(row.file as usize)].clone();
                let [calls, failed, bytes] = [&row.calls, &row.failed, &row.bytes].map(|number| number.load(Relaxed));
                self.count(&name, row.operation as u8, calls, failed, bytes);
            }
            if let Some((head, rest)) = block.get::<Seconds>() {
                for row in rest.chunks_exact(size_of::<Second>()).take(head.rows.load(Relaxed) as usize) {
                    let row: Second = ioassay_record::read::copy(row).unwrap();
                    *seconds.entry(row.operation.load(Relaxed) as u8).or_default() += row.calls.load(Relaxed);
                }
            }
            if let Some((thread, _)) = block.get::<Thread>() {
                for (sum, counter) in self.kernel.iter_mut().zip(&thread.kernel) {
                    *sum += counter.load(Relaxed);
                }
                let in_flight = thread.in_flight.load(Relaxed);
                if in_flight != 0 {
                    self.in_flight.push(((in_flight >> 32) - 1, names[&(in_flight as u32 as usize)].clone()));
                }
            }
        }
        for (sum, counter) in self.kernel.iter_mut().zip(&header.kernel_of_ended) {
            *sum += counter.load(Relaxed);
        }
        self.own_ticks += header.own_ticks.load(Relaxed);
        (header.begin_ns, header.process, header.state.load(Relaxed), replacement)
    }

    fn count(&mut self, name: &str, operation: u8, calls: u64, failed: u64, bytes: u64) {
        if calls == 0 {
            return;
        }
        let sum = self.by_file.entry((name.to_owned(), operation)).or_default();
        *sum = (sum.0 + calls, sum.1 + failed, sum.2 + bytes);
        *self.calls.entry(operation).or_default() += calls;
    }

    /// Calls, failed calls and bytes on a file.
    fn on(&self, file: impl AsRef<Path>, operation: Operation) -> (u64, u64, u64) {
        let name = file.as_ref().to_str().unwrap().to_owned();
        self.by_file.get(&(name, operation as u8)).copied().unwrap_or_default()
    }

    /// All that was done to a file, by operation.
    fn all_on(&self, file: impl AsRef<Path>) -> Vec<(Operation, u64, u64, u64)> {
        let all = Operation::ALL.iter().map(|&operation| (operation, self.on(file.as_ref(), operation)));
        all.filter(|(_, sums)| sums.0 > 0)
            .map(|(operation, (calls, failed, bytes))| (operation, calls, failed, bytes))
            .collect()
    }
}

/// A directory for a command, and one for its record.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("at")).unwrap();
        fs::create_dir(root.path().join("tables")).unwrap();
        Self { root }
    }

    /// Where the command works.
    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join("at").join(name)
    }

    fn directory(&self) -> PathBuf {
        self.root.path().join("at")
    }

    fn record(&self, via: &str, command: &[&str]) -> Command {
        let mut record = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        record.args(["record", "--via", via, "--out"]).arg(self.root.path().join("record"));
        record.arg("--tables").arg(self.root.path().join("tables")).arg("--").args(command);
        record.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(self.root.path());
        record
    }

    /// Records the program doing `what`, which is to end with that code.
    fn run(via: &str, what: &str, code: i32) -> (Self, Counts) {
        let place = Self::new();
        let ended = place.start(via, &program(), what).wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{via} {what}: {}", said(&ended));
        let counts = place.counts();
        (place, counts)
    }

    fn start(&self, via: &str, program: &Path, what: &str) -> Child {
        let command = [program.to_str().unwrap(), what, self.directory().to_str().unwrap()].map(str::to_owned);
        self.record(via, &command.each_ref().map(String::as_str)).spawn().unwrap()
    }

    fn counts(&self) -> Counts {
        Counts::of(&self.root.path().join("record"), "tables")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What `all` of the program does, file by file.
fn assert_all(place: &Place, counts: &Counts) {
    let on = |name: &str| counts.all_on(place.at(name));
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
    assert_eq!(counts.on("", Read), (1, 1, 0));
    assert_eq!(counts.images.len(), 1);
    assert_eq!(counts.images[0].1, State::Ended as u32);
}

#[test]
fn a_static_program_is_counted_exactly() {
    for via in VIAS {
        let (place, counts) = Place::run(via, "all", 0);
        assert_all(&place, &counts);
        // The kernel counted the same: reads, and writes with those of copies.
        let of = |operation: Operation| counts.calls.get(&(operation as u8)).copied().unwrap_or_default();
        assert_eq!(counts.kernel[2..], [of(Read) - 1, of(Write)].map(|calls| calls + 1), "{:?}", counts.kernel);
        assert!(counts.own_ticks > 0);
    }
}

#[test]
fn a_program_of_musl_is_counted_exactly() {
    let Some(program) = compiled("musl-gcc") else {
        return skipped("musl-gcc", "apt-get install musl-tools");
    };
    let place = Place::new();
    let ended = place.start("ptrace", &program, "all").wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    assert_all(&place, &place.counts());
}

#[test]
fn a_program_in_go_is_counted_exactly() {
    let place = Place::new();
    let source = place.root.path().join("main.go");
    fs::write(&source, include_str!("traced/main.go")).unwrap();
    let program = place.root.path().join("program");
    let made = Command::new("go").args(["build", "-o"]).arg(&program).arg(&source).env("GOFLAGS", "-mod=mod").output();
    match made {
        Err(_) => return skipped("go", "install Go"),
        Ok(made) => assert!(made.status.success(), "{}", said(&made)),
    }
    let ended = place.start("ptrace", &program, "go").wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    let counts = place.counts();
    for number in 0..20 {
        let file = place.at(&format!("go{number}"));
        assert_eq!(counts.on(&file, Write), (100, 0, 100 * 64), "{number}");
        // The last one finds the end.
        assert_eq!(counts.on(&file, Read), (101, 0, 100 * 64), "{number}");
        assert_eq!((counts.on(&file, Open).0, counts.on(&file, Close).0), (2, 2), "{number}");
    }
}

#[test]
fn a_pipeline_of_a_shell_is_counted_with_all_its_processes() {
    let place = Place::new();
    fs::write(place.at("in"), vec![b'x'; 300_000]).unwrap();
    let at = place.directory().display().to_string();
    let line = format!("cd {at} && dd if=in bs=1000 status=none | cat > out; exit 3");
    let ended = place.record("ptrace", &["sh", "-c", &line]).output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", said(&ended));
    let counts = place.counts();
    assert_eq!(counts.on(place.at("in"), Read), (301, 0, 300_000));
    let out = counts.on(place.at("out"), Write).2 + counts.on(place.at("out"), CopyTo).2;
    assert_eq!(out, 300_000);
    assert!(
        counts
            .images
            .iter()
            .any(|(_, state, by)| *state == State::Replaced as u32 && by.as_ref().is_some_and(|by| by.ends_with("dd")))
    );
    assert!(counts.images.len() >= 3, "{:?}", counts.images);
}

#[test]
fn threads_are_counted_also_those_that_the_end_of_the_process_ends() {
    for via in VIAS {
        let (place, counts) = Place::run(via, "threads", 0);
        for thread in 0..8 {
            let file = place.at(&format!("t{thread}"));
            assert_eq!((counts.on(&file, Write), counts.on(&file, Read)), ((200, 0, 2000), (200, 0, 1000)), "{thread}");
            assert_eq!((counts.on(&file, Open).0, counts.on(&file, Close).0), (1, 1), "{thread}");
        }
        assert_eq!(counts.kernel[2..], [1600, 1600]);
    }
}

#[test]
fn many_processes_are_each_counted_once() {
    for via in VIAS {
        let (place, counts) = Place::run(via, "forks", 0);
        assert_eq!(counts.on(place.at("shared"), Write), (200, 0, 1400));
        assert_eq!(counts.on(place.at("shared"), Open), (1, 0, 0));
        assert_eq!(counts.images.len(), 201);
        assert_eq!(fs::read(place.at("shared")).unwrap().len(), 1400);
    }
}

#[test]
fn a_call_that_a_signal_interrupts_is_one_call() {
    for via in VIAS {
        let (place, counts) = Place::run(via, "interrupted", 0);
        // One that is restarted, one that fails with EINTR, one that a stop interrupts; and three marks.
        assert_eq!(counts.on("pipe", Read), (3 + 3, 1, 7 + 3), "{via}");
        assert_eq!(counts.on(place.at("handler"), Open), (2, 0, 0), "{via}");
    }
}

#[test]
fn a_thread_that_is_not_the_first_can_execute_a_program() {
    for via in VIAS {
        let (place, counts) = Place::run(via, "exec", 0);
        assert_eq!(counts.on(place.at("before"), Write), (1, 0, 3));
        assert_eq!(counts.on(place.at("x"), Write), (1, 0, 5));
        let states: Vec<_> = counts.images.iter().map(|(_, state, _)| *state).collect();
        assert_eq!(states, [State::Replaced as u32, State::Ended as u32]);
        assert_eq!(counts.images[0].0, counts.images[1].0);
    }
}

#[test]
fn a_child_of_vfork_has_its_own_table() {
    let (place, counts) = Place::run("ptrace", "vfork", 0);
    assert_eq!(counts.on(place.at("x"), Write), (1, 0, 5));
    assert_eq!(counts.images.len(), 2);
}

#[test]
fn what_a_killed_process_did_is_kept() {
    for via in VIAS {
        let (place, counts) = Place::run(via, "killed", 7);
        assert_eq!(counts.on(place.at("x"), Write), (1, 0, 5));
        let states: Vec<_> = counts.images.iter().map(|(_, state, _)| *state).collect();
        assert_eq!(states, [State::Ended as u32, State::Running as u32]);
    }
}

#[test]
fn the_exit_code_is_that_of_the_signal_that_ends_the_command() {
    Place::run("ptrace", "signal", 128 + libc::SIGSEGV);
    let place = Place::new();
    let ended = place.record("ptrace", &["/nowhere/program"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert!(said(&ended).contains("/nowhere/program cannot be started"), "{}", said(&ended));
    assert!(said(&ended).contains("No such file"), "{}", said(&ended));
}

/// A command that waits for a byte from a pipe, and its process.
fn waiting(place: &Place, via: &str) -> (Child, Pid) {
    mkfifo(&place.at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let record = place.start(via, &program(), "wait");
    wait_until("the command is ready", || fs::read(place.at("ready")).is_ok_and(|number| !number.is_empty()));
    let number = fs::read_to_string(place.at("ready")).unwrap();
    (record, Pid::from_raw(number.trim_end_matches('\0').parse().unwrap()))
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
        let place = Place::new();
        let (record, _) = waiting(&place, via);
        kill(Pid::from_raw(record.id() as i32), Signal::SIGTERM).unwrap();
        let ended = record.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(128 + libc::SIGTERM), "{}", said(&ended));
        assert_eq!(place.counts().on(place.at("ready"), Open), (1, 0, 0));
    }
}

#[test]
fn the_call_in_flight_is_in_the_table_while_the_command_runs() {
    let place = Place::new();
    let (record, process) = waiting(&place, "ptrace");
    let tables = fs::read_dir(place.root.path().join("tables")).unwrap().next().unwrap().unwrap().path();
    wait_until("a table is written", || {
        Counts::of(&tables, "table").in_flight == [(Open as u64, place.at("fifo").display().to_string())]
    });
    fs::write(place.at("fifo"), "x").unwrap();
    let ended = record.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(5), "{}", said(&ended));
    let counts = place.counts();
    assert_eq!(counts.images, [(process.as_raw() as u32, State::Ended as u32, None)]);
    assert_eq!(counts.on(place.at("fifo"), Read), (1, 0, 1));
}

#[test]
fn a_filtered_command_is_killed_with_its_tracer_and_an_unfiltered_one_goes_on() {
    for (via, code) in [("ptrace", 128 + libc::SIGKILL), ("ptrace-unfiltered", 5)] {
        let place = Place::new();
        let (record, process) = waiting(&place, via);
        kill(tracer_of(process), Signal::SIGKILL).unwrap();
        if via == "ptrace-unfiltered" {
            fs::write(place.at("fifo"), "x").unwrap();
        }
        let ended = record.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{via}: {}", said(&ended));
        assert!(said(&ended).contains("was killed; the rest is not recorded"), "{}", said(&ended));
        assert_eq!(place.at("x").exists(), code == 5);
    }
}

#[test]
fn a_command_goes_on_when_record_itself_is_killed() {
    for via in VIAS {
        let place = Place::new();
        let (mut record, process) = waiting(&place, via);
        record.kill().unwrap();
        record.wait().unwrap();
        fs::write(place.at("fifo"), "x").unwrap();
        wait_until("the command has written", || fs::read(place.at("x")).is_ok_and(|bytes| bytes.len() == 5));
        wait_until("it has ended", || kill(process, None).is_err());
        // Its table is where tables are while processes run.
        let tables = fs::read_dir(place.root.path().join("tables")).unwrap().next().unwrap().unwrap().path();
        wait_until("its table is written", || {
            Counts::of(&tables, "tables").images.iter().any(|image| image.1 == State::Ended as u32)
        });
        assert_eq!(Counts::of(&tables, "tables").on(place.at("x"), Write), (1, 0, 5));
    }
}

#[test]
fn a_process_that_is_left_behind_goes_on() {
    for via in VIAS {
        let place = Place::new();
        mkfifo(&place.at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let ended = place.start(via, &program(), "daemon").wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", said(&ended));
        assert!(said(&ended).contains("goes on; what it does from now on is not recorded"), "{}", said(&ended));
        assert!(!place.at("x").exists());
        fs::write(place.at("fifo"), "x").unwrap();
        wait_until("it has written", || fs::read(place.at("x")).is_ok_and(|bytes| bytes.len() == 5));
    }
}

/// A copy of the program that belongs to a user and has that user's privileges.
fn setuid(place: &Place, owner: u32) -> PathBuf {
    let program_of = place.root.path().join("setuid");
    fs::copy(program(), &program_of).unwrap();
    chown(&program_of, Some(owner), Some(owner)).unwrap();
    fs::set_permissions(&program_of, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(place.root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(place.directory(), Some(NOBODY), Some(NOBODY)).unwrap();
    program_of
}

#[test]
fn a_setuid_program_has_its_privileges_if_root_records_it() {
    if !geteuid().is_root() {
        return skipped("a setuid program", "run the tests as root");
    }
    for via in VIAS {
        let place = Place::new();
        let program = setuid(&place, NOBODY);
        let ended = place.start(via, &program, "who").wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stdout), format!("0 {NOBODY}\n"), "{}", said(&ended));
        assert_eq!(place.counts().on(place.at("x"), Write), (1, 0, 5));
    }
}

#[test]
fn a_setuid_program_lacks_its_privileges_if_another_user_records_it_and_that_is_said() {
    if !geteuid().is_root() {
        return skipped("a setuid program", "run the tests as root");
    }
    for via in VIAS {
        let place = Place::new();
        let program = setuid(&place, 0);
        let engine = place.root.path().join("engine");
        fs::copy(env!("CARGO_BIN_EXE_ioassay-engine"), &engine).unwrap();
        for directory in ["", "tables"] {
            chown(place.root.path().join(directory), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut record = Command::new(&engine);
        record.args(["record", "--via", via, "--out"]).arg(place.root.path().join("record"));
        record.arg("--tables").arg(place.root.path().join("tables")).arg("--").arg(&program);
        record.arg("who").arg(place.directory()).current_dir(place.root.path()).uid(NOBODY).gid(NOBODY);
        let ended = record.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stdout), format!("{NOBODY} {NOBODY}\n"), "{}", said(&ended));
        assert!(said(&ended).contains("ran without the privileges of its file"), "{}", said(&ended));
        assert_eq!(place.counts().on(place.at("x"), Write), (1, 0, 5));
    }
}

#[test]
fn a_record_that_missed_a_static_program_offers_ptrace() {
    let place = Place::new();
    let line = format!("{} write {}; exit 0", program().display(), place.directory().display());
    let ended = place.record("preload", &["sh", "-c", &line]).output().unwrap();
    assert!(ended.status.success(), "{}", said(&ended));
    assert_eq!(said(&ended).matches("ioassay record --via ptrace -- COMMAND").count(), 1, "{}", said(&ended));
}

#[test]
fn a_debugger_fails_and_the_record_is_whole() {
    let place = Place::new();
    let ended = match place.record("ptrace", &["strace", "-o", "/dev/null", "true"]).output() {
        Ok(_) if Command::new("strace").arg("-V").output().is_err() => {
            return skipped("strace", "apt-get install strace");
        }
        ended => ended.unwrap(),
    };
    assert_ne!(ended.status.code(), Some(0), "{}", said(&ended));
    assert!(!place.counts().images.is_empty());
}
