//! Hosts that are namespaces of this machine: a network, mounts and a host name of their own, one kernel for all.
//!
//! The engine goes on as a process of the first of them, and each rank enters the host of its client. A host is named by
//! a process that is in it. Not here: who makes such hosts, how ranks meet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, setns};

use crate::supervise::guard;

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
            guard::go_on_in_child(true)?;
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
