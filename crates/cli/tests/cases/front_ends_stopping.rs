//! Front ends, and the engine, that are stopped: by every signal there is, and while the target hangs.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use crate::support::hung_mount::{ALL, CREATE, GETATTR, HungMount, LOOKUP, MKDIR, OPEN, STATFS, UNLINK, WRITE};
use crate::support::process::{Bench, Running, set, wait_until};
use ioassay_protocol::events::Outcome;
use serde_json::{Value, json};

/// What ends no process, or is an errno here, or cannot be caught: KILL, and 32 and 33, which are the C library's.
const END_NOTHING: [i32; 10] = [
    libc::SIGSTOP,
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGXFSZ,
    libc::SIGPIPE,
];
const CANNOT_BE_CAUGHT: [i32; 3] = [libc::SIGKILL, 32, 33];

/// With the signals as a shell in the foreground leaves them, however the tests are run.
fn by_default(command: &mut Command) -> &mut Command {
    let reset = || {
        for number in 1..=64 {
            // SAFETY: signal may be called after a fork.
            unsafe { libc::signal(number, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: what is called there may be.
    unsafe { command.pre_exec(reset) }
}

fn front_end(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    command.current_dir(directory).args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["IOASSAY_RANKS", "IOASSAY_SCALE_DOWN", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"] {
        command.env_remove(name);
    }
    by_default(&mut command);
    command
}

fn send(child: &Child, number: i32) {
    // SAFETY: kill takes any number.
    assert_eq!(unsafe { libc::kill(child.id() as i32, number) }, 0, "signal {number}");
}

/// How it ended and all that it has printed, up to the moment when nobody holds its pipes any more.
fn end_of(mut child: Child) -> (ExitStatus, String) {
    let (mut out, mut errors) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    (child.wait().unwrap(), errors)
}

/// Calls `attack` with every number, with some processes at a time.
fn with_every_signal(attack: impl Fn(i32) + Sync) {
    let next = AtomicI32::new(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number > 64 {
                        break;
                    }
                    attack(number);
                }
            });
        }
    });
}

#[test]
fn every_signal_ends_a_front_end_in_order_and_leaves_no_file() {
    with_every_signal(|number| {
        let directory = tempfile::tempdir().unwrap();
        let line = "ior --ranks 2 -w -F -t 4k -b 4m -O interIODelay=10000 -o d";
        let child = front_end(directory.path(), line).spawn().unwrap();
        wait_until("it writes", || directory.path().join("d.00000001").exists());
        send(&child, number);
        if END_NOTHING.contains(&number) {
            send(&child, libc::SIGTERM);
            send(&child, libc::SIGCONT);
        }
        let (status, errors) = end_of(child);
        wait_until("nothing is left", || fs::read_dir(directory.path()).unwrap().next().is_none());
        if !CANNOT_BE_CAUGHT.contains(&number) {
            assert_eq!(status.code(), Some(3), "{number}: {errors}");
            assert!(errors.contains("stopped by SIG"), "{number}: {errors}");
        }
    });
}

/// A plan that writes to `target`, and then waits.
fn waiting(target: &Path) -> Value {
    json!({
        "version": ioassay_protocol::VERSION, "run": "r1", "case": "c1", "target": {"directory": target},
        "storage": {"api": "posix"}, "ranks": {"clients": 1, "per_client": 2},
        "files": {"data": set(4096, 8192, 1)},
        "steps": [crate::support::process::write("data", "never"), crate::support::process::pause()],
        "seed": 1, "sample_interval_ns": 1_000_000_000_u64,
    })
}

#[test]
fn every_signal_that_can_be_caught_ends_a_run_in_order() {
    with_every_signal(|number| {
        if CANNOT_BE_CAUGHT.contains(&number) {
            return;
        }
        let bench = Bench::new();
        let target = bench.path("target");
        fs::create_dir(&target).unwrap();
        let mut command = bench.engine(&["run", &bench.write(&waiting(&target))]);
        let mut engine = Running(by_default(&mut command).spawn().unwrap());
        wait_until("the first phase has ended", || !bench.phases().is_empty());
        send(&engine.0, number);
        if END_NOTHING.contains(&number) {
            send(&engine.0, libc::SIGTERM);
            send(&engine.0, libc::SIGCONT);
        }
        wait_until("it has ended", || engine.0.try_wait().unwrap().is_some());
        assert_eq!(engine.0.wait().unwrap().code(), Some(3), "{number}");
        assert_eq!(bench.outcome(), Some(Outcome::Interrupted), "{number}");
        assert!(fs::read_dir(&target).unwrap().next().is_none(), "{number}");
    });
}

#[test]
fn a_signal_that_was_ignored_when_it_began_stays_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = front_end(directory.path(), "ior -w -t 4k -b 4m -O interIODelay=10000 -o d");
    let ignore = || {
        for number in [libc::SIGHUP, libc::SIGUSR1] {
            // SAFETY: signal may be called after a fork.
            unsafe { libc::signal(number, libc::SIG_IGN) };
        }
        Ok(())
    };
    // SAFETY: what is called there may be.
    let mut child = unsafe { command.pre_exec(ignore) }.spawn().unwrap();
    wait_until("it writes", || directory.path().join("d").exists());
    send(&child, libc::SIGHUP);
    send(&child, libc::SIGUSR1);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    send(&child, libc::SIGUSR2);
    let (status, errors) = end_of(child);
    assert_eq!(status.code(), Some(3), "{errors}");
    assert!(errors.contains("SIGUSR2"), "{errors}");
}

/// Command lines, the requests that hang from the beginning or once data are written, and what must be said.
const HANGING: [(&str, &[u32], bool); 9] = [
    ("ior -w -o MOUNT/f -t 64k -b 1m", &[LOOKUP], false),
    ("ior -w -o MOUNT/f -t 64k -b 1m", &[STATFS], false),
    ("ior -w -o MOUNT/f -t 64k -b 1m", &[CREATE], false),
    ("ior -w -o MOUNT/f -t 4k -b 4m -O interIODelay=5000", &[UNLINK], true),
    ("ior --ranks 2 -w -F -o MOUNT/f -t 4k -b 4m -O interIODelay=5000", &[WRITE], true),
    ("ior -w -o MOUNT/f -t 4k -b 4m -O interIODelay=5000", &[ALL], true),
    ("mdtest -n 10 -F -d MOUNT/d", &[LOOKUP, GETATTR], false),
    ("iozone -i 0 -t 1 -r 4k -s 4m -J 5 -+J -F MOUNT/f", &[ALL], true),
    ("iozone -i 0 -t 1 -r 64k -s 1m -F MOUNT/f", &[CREATE, OPEN], false),
];

#[test]
fn a_front_end_on_a_mount_that_hangs_ends_after_a_signal_and_names_what_may_remain() {
    for (line, hung, under_way) in HANGING {
        let Some(mount) = HungMount::new() else { return };
        let here = tempfile::tempdir().unwrap();
        if !under_way {
            mount.hang(hung);
        }
        let line = line.replace("MOUNT", mount.path().to_str().unwrap());
        let mut child = front_end(here.path(), &line).spawn().unwrap();
        if under_way {
            std::thread::sleep(Duration::from_millis(700));
            assert!(child.try_wait().unwrap().is_none(), "{line}: {}", end_of(child).1);
            mount.hang(hung);
            if hung != [UNLINK] {
                wait_until("it hangs", || mount.is_waited_for());
            }
        } else {
            wait_until("it hangs", || mount.is_waited_for());
        }
        let begin = Instant::now();
        send(&child, libc::SIGTERM);
        // Nobody holds its pipes either.
        let (status, errors) = end_of(child);
        let took = begin.elapsed();
        assert_eq!(status.code(), Some(3), "{line}, {hung:?}: {errors}");
        assert!(
            ["remain", "does not respond", "has not responded"].iter().any(|words| errors.contains(words)),
            "{line}, {hung:?}: {errors}"
        );
        assert!(!under_way || errors.contains(&mount.path().display().to_string()), "{line}, {hung:?}: {errors}");
        // A bound for hanging, on a machine that does much else; alone it is 5 s.
        assert!(took < Duration::from_secs(20), "{line}, {hung:?}: {took:?}");
        eprintln!("{line}: {took:?}");
    }
}

#[test]
fn every_command_on_a_mount_that_hangs_ends_although_the_call_does_not() {
    // What hangs, whether the command ends only after a signal, and its exit code.
    for (line, hung, is_told, code) in [
        ("run PLAN", MKDIR, true, 3),
        ("run PLAN", WRITE, true, 3),
        ("check PLAN", STATFS, false, 3),
        ("clean MOUNT/ioassay-r1", LOOKUP, false, 3),
        ("survey --target MOUNT --run d1 --limit-s 1", ALL, false, 1),
    ] {
        let Some(mount) = HungMount::new() else { return };
        mount.hang(&[hung]);
        let bench = Bench::new();
        let plan = bench.write(&waiting(mount.path()));
        let line = line.replace("PLAN", &plan).replace("MOUNT", mount.path().to_str().unwrap());
        let mut command = bench.engine(&line.split_whitespace().collect::<Vec<_>>());
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        wait_until("it hangs", || mount.is_waited_for());
        if is_told {
            send(&child, libc::SIGTERM);
        }
        // Nobody holds its pipes either.
        let (status, errors) = end_of(child);
        assert_eq!(status.code(), Some(code), "{line}: {errors}");
        assert!(errors.contains(mount.path().to_str().unwrap()) || is_told, "{line}: {errors}");
        assert!(!is_told || bench.outcome() == Some(Outcome::Interrupted), "{line}: {errors}");
        assert!(mount.is_waited_for(), "{line}: the call still hangs");
    }
}
