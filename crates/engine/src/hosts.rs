//! Hosts that are namespaces of this machine: a network, mounts and a host name of their own, one kernel for all.
//!
//! The engine goes on as a process of the first of them, and each rank enters the host of its client. A host is named by
//! a process that is in it. Not here: who makes such hosts, how ranks meet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, raise, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use crate::supervise::STOP_SIGNALS;

/// What a host has of its own, by its name below `/proc/PID/ns`. Mounts last: they are what the names are looked up in.
const SPACES: [(&str, CloneFlags); 4] = [
    ("ipc", CloneFlags::CLONE_NEWIPC),
    ("uts", CloneFlags::CLONE_NEWUTS),
    ("net", CloneFlags::CLONE_NEWNET),
    ("mnt", CloneFlags::CLONE_NEWNS),
];

/// The hosts that clients are spread over; without any, all clients are on the one that the engine was started on.
#[derive(Debug, Default)]
pub struct Hosts {
    /// The open namespaces of each, in the order of [`SPACES`].
    spaces: Vec<[File; SPACES.len()]>,
}

impl Hosts {
    /// The hosts that `processes` are in, each a number or a directory of /proc, in which the engine goes on from here as a process among theirs. The
    /// process that called this stays outside, passes signals on, and ends as the engine ends: there it does not return.
    ///
    /// # Errors
    /// If a process is gone, or if its namespaces may not be entered. Must be called while there is one thread.
    pub fn enter(processes: &[PathBuf]) -> io::Result<Self> {
        let spaces: Vec<_> = processes.iter().map(|process| open(process)).collect::<io::Result<_>>()?;
        if let Some(first) = processes.first() {
            // Only a child has a number among the processes in there, and the /proc in there knows no others.
            setns(open_space(first, "pid")?, CloneFlags::CLONE_NEWPID)?;
            go_on_in_child()?;
        }
        let hosts = Self { spaces };
        hosts.go_to(0)?;
        Ok(hosts)
    }

    /// How many nodes that makes.
    pub fn count(&self) -> u32 {
        self.spaces.len().max(1) as u32
    }

    /// Goes to host number `host`, where there are any.
    pub fn go_to(&self, host: u32) -> io::Result<()> {
        let Some(spaces) = self.spaces.get(host as usize) else { return Ok(()) };
        for (space, (_, kind)) in spaces.iter().zip(SPACES) {
            setns(space, kind)?;
        }
        Ok(())
    }
}

fn open(process: &Path) -> io::Result<[File; SPACES.len()]> {
    let [ipc, uts, net, mnt] = SPACES.map(|(name, _)| open_space(process, name));
    Ok([ipc?, uts?, net?, mnt?])
}

fn open_space(process: &Path, name: &str) -> io::Result<File> {
    // A number is taken below /proc, and a whole path as it is.
    let path = Path::new("/proc").join(process).join("ns").join(name);
    File::open(&path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Returns in a child. The parent passes on to it what it is told, and ends as it ends.
fn go_on_in_child() -> io::Result<()> {
    let passed_on: SigSet = STOP_SIGNALS.into_iter().chain([Signal::SIGCHLD]).collect();
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&passed_on), Some(&mut before))?;
    // SAFETY: the engine has no other thread yet, so the child may go on like any program.
    match unsafe { fork() }? {
        ForkResult::Child => {
            prctl::set_pdeathsig(Signal::SIGTERM)?;
            Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?)
        }
        ForkResult::Parent { child } => {
            // Whoever started the engine knows this process and no other.
            prctl::set_pdeathsig(Signal::SIGTERM)?;
            end_as(relay(child, &passed_on))
        }
    }
}

fn relay(child: Pid, passed_on: &SigSet) -> WaitStatus {
    loop {
        match passed_on.wait() {
            Ok(Signal::SIGCHLD) | Err(_) => match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
                Ok(ended) => return ended,
                Err(_) => return WaitStatus::Exited(child, 1),
            },
            // It may have ended in this moment; then SIGCHLD is the next.
            Ok(signal) => drop(kill(child, signal)),
        }
    }
}

fn end_as(ended: WaitStatus) -> ! {
    match ended {
        WaitStatus::Exited(_, code) => process::exit(code),
        WaitStatus::Signaled(_, signal, _) => {
            let _ = SigSet::all().thread_unblock();
            let _ = raise(signal);
            process::exit(1)
        }
        _ => process::exit(1),
    }
}
