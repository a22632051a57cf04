//! How the processes of a node come to meet in one memory, although a launcher has started them side by side.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use ioassay_host::clock::Clock;
use serde::{Deserialize, Serialize};

use crate::ranks::local::{FILES, MeetingPlace};
use crate::ranks::seating::Seating;

/// Where the memory of a node is: unnamed files that one of its processes has open, so that no memory outlives them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Address {
    process: u32,
    files: [i32; FILES],
    /// The clock of all on the node: each of them would calibrate it a little differently.
    clock: Clock,
}

impl Address {
    /// Makes a place for `ranks` ranks. It is there as long as this process lives.
    pub fn make(ranks: u32) -> io::Result<Self> {
        let clock = Clock::calibrated();
        let files = MeetingPlace::files(ranks)?;
        let numbers = files.each_ref().map(AsRawFd::as_raw_fd);
        std::mem::forget(files);
        Ok(Self { process: std::process::id(), files: numbers, clock })
    }

    fn enter(&self, ranks: u32) -> io::Result<MeetingPlace> {
        let open = |number: &i32| {
            let path = format!("/proc/{}/fd/{number}", self.process);
            let file = File::options().read(true).write(true).open(&path);
            file.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
        };
        let [first, second, third] = self.files.each_ref().map(open);
        MeetingPlace::of([first?, second?, third?], ranks, self.clock)
    }
}

/// What a process has to know to take part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// Its rank.
    pub rank: u32,
    /// Ranks on each node.
    pub ranks_on: Vec<u32>,
    /// Names of the nodes.
    pub names: Vec<String>,
    /// Where its node meets.
    pub address: Address,
}

impl Membership {
    /// Which rank is where.
    pub fn seating(&self) -> Seating {
        Seating::blocks(self.ranks_on.iter().copied())
    }

    /// Its rank as its node knows it.
    pub fn seat(&self) -> u32 {
        let seating = self.seating();
        self.rank - seating.first_on(seating.node_of(self.rank))
    }

    /// Goes where its node meets.
    pub fn enter(&self) -> io::Result<MeetingPlace> {
        let seating = self.seating();
        self.address.enter(seating.ranks_on(seating.node_of(self.rank)))
    }
}
