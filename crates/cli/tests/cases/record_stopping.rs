//! Signals: to the command, to `record`, and from a terminal. What was counted is there, and the command never notices.

use std::fs;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::process::wait_until;
use crate::support::record::{Place, Record, Started, compiled};
use nix::sys::signal::{Signal, kill};

/// A place whose tables can be found while processes run, and where they are.
fn with_tables() -> (Place, PathBuf) {
    let mut place = Place::new();
    let tables = place.root.path().join("tables");
    fs::create_dir(&tables).unwrap();
    place.options = vec!["--tables".into(), tables.clone().into()];
    (place, tables)
}

/// Starts one of the programs `processes`, and waits for it to be ready.
fn start(place: &Place, how: &str) -> (Started, PathBuf) {
    let program = compiled("processes");
    let (mut recorder, record) = place.recorder(&[program.to_str().unwrap(), how]);
    recorder.stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Started::new(&mut recorder);
    (started, record)
}

fn ready(place: &Place) {
    wait_until("the command is ready", || fs::metadata(place.path("ready")).is_ok_and(|file| file.len() == 1));
}

fn number(path: &Path) -> u64 {
    fs::read(path).ok().and_then(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?))).unwrap_or(0)
}

#[test]
fn a_command_that_is_killed_loses_at_most_the_call_in_flight() {
    let place = Place::new();
    let (mut started, record) = start(&place, "writes on");
    wait_until("it has written much", || number(&place.path("count")) > 10_000);
    kill(started.command(), Signal::SIGKILL).unwrap();
    assert_eq!(started.end().code(), Some(128 + libc::SIGKILL));
    let record = Record::read(&record);
    let (calls, counted) = (record.only().file("x").writes().calls, number(&place.path("count")));
    // It writes to x, and then how often it did.
    assert!(calls == counted || calls == counted + 1, "{calls} of {counted}");
    let written = fs::metadata(place.path("x")).unwrap().len() / 10;
    assert!(written - calls <= 1, "{calls} of {written}");
    assert_eq!(record.document["exit_status"], -libc::SIGKILL);
}

#[test]
fn tables_stay_and_the_command_goes_on_when_record_is_killed() {
    let (place, tables) = with_tables();
    let (mut started, record) = start(&place, "goes on");
    ready(&place);
    let command = started.command();
    kill(started.pid(), Signal::SIGKILL).unwrap();
    assert_eq!(started.end().signal(), Some(libc::SIGKILL));
    let within = fs::read_dir(&tables).unwrap().next().unwrap().unwrap().path();
    assert_eq!(Record::of_tables(&within)[0].file("x").writes().calls, 3);
    fs::write(place.path("end"), "").unwrap();
    wait_until("the command has ended", || kill(command, None).is_err());
    let images = Record::of_tables(&within);
    assert_eq!((images.len(), images[0].file("done").writes().calls, images[0].ended()), (1, 4, true));
    assert!(fs::read_to_string(record.join("record.json")).unwrap().contains("\"running\""));
}

#[test]
fn a_signal_to_record_reaches_the_command() {
    for signal in [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGALRM,
        Signal::SIGXCPU,
    ] {
        let place = Place::new();
        let (mut started, record) = start(&place, "hears");
        ready(&place);
        kill(started.pid(), signal).unwrap();
        assert_eq!(started.end().code(), Some(0), "{signal}");
        let mut output = String::new();
        started.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert_eq!(output, format!("heard {}\n", signal as i32));
        assert_eq!(Record::read(&record).only().file("ready").writes().calls, 1);
    }
}

#[test]
fn a_command_that_a_signal_ends_is_recorded() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGUSR1] {
        let place = Place::new();
        let (mut started, record) = start(&place, "wait");
        ready(&place);
        kill(started.pid(), signal).unwrap();
        assert_eq!(started.end().code(), Some(128 + signal as i32));
        let record = Record::read(&record);
        assert_eq!((record.only().file("x").writes().calls, record.only().ended()), (3, false));
        assert_eq!(record.document["state"], "complete");
    }
}

#[test]
fn a_command_that_a_real_time_signal_ends_is_recorded() {
    let place = Place::new();
    let (mut started, record) = start(&place, "wait");
    ready(&place);
    let signal = libc::SIGRTMIN() + 3;
    // SAFETY: it takes numbers; nix has no name for this one.
    unsafe { libc::kill(started.pid().as_raw(), signal) };
    assert_eq!(started.end().code(), Some(128 + signal));
    assert_eq!(Record::read(&record).document["exit_status"], -signal);
}

#[test]
fn control_c_ends_the_command_once_and_record_keeps_its_tables() {
    let place = Place::new();
    let program = compiled("processes");
    let (mut recorder, record) = place.recorder(&[program.to_str().unwrap(), "wait"]);
    let (terminal, other) = terminal();
    let stdio = || Stdio::from(other.try_clone().unwrap());
    recorder.stdin(stdio()).stdout(stdio()).stderr(stdio());
    // SAFETY: both are safe in a forked child.
    unsafe {
        recorder.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut child = recorder.spawn().unwrap();
    drop(other);
    ready(&place);
    nix::unistd::write(&terminal, b"\x03").unwrap();
    let mut status = None;
    wait_until("record has ended", || {
        // The output must be read, or the processes wait.
        let mut output = [0; 1024];
        let _ = nix::unistd::read(&terminal, &mut output);
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(128 + libc::SIGINT));
    assert_eq!(Record::read(&record).only().file("x").writes().calls, 3);
}

/// A pseudo terminal: its two ends.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut this, mut other) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: it fills both numbers, which are open then, and nobody else's; what is set lets reads return at once.
    unsafe {
        assert_eq!(libc::openpty(&raw mut this, &raw mut other, null, null.cast(), null.cast()), 0);
        libc::fcntl(this, libc::F_SETFL, libc::O_NONBLOCK);
        for end in [this, other] {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        (OwnedFd::from_raw_fd(this), OwnedFd::from_raw_fd(other))
    }
}
