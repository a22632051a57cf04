//! The thread that speaks MPI: it begins it, finds out who is there, speaks for the node, and ends it.
//!
//! It is the only one of its process that does, except where storage APIs use MPI too.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ioassay_protocol::events::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::launcher::Launcher;
use super::membership::{Address, Membership};
use super::mpi::{LeaderWire, Loaded, Mpi, OTHER_LAUNCHER};
use super::rendezvous::{self, Assignment, Hello, Roster};
use crate::failure;
use crate::ranks::nodes::leader::NodeLeader;
use crate::ranks::nodes::wire::Wire;
use crate::ranks::seating::Seating;

/// How long processes may take to find each other once MPI has begun, where all of them have met once: who is silent for this
/// long is lost.
const MEETING: Duration = Duration::from_secs(8);

/// How long MPI may take to end in order.
pub const ENDING: Duration = Duration::from_secs(5);

/// How the thread is to end.
#[derive(Debug, Default)]
pub struct Finish(AtomicU8);

const IN_ORDER: u8 = 1;
const AT_ONCE: u8 = 2;

impl Finish {
    /// All are at their end.
    pub fn in_order(&self) {
        self.0.store(IN_ORDER, Ordering::SeqCst);
    }

    /// Without waiting for any other process.
    pub fn at_once(&self) {
        self.0.store(AT_ONCE, Ordering::SeqCst);
    }

    fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst) != 0
    }
}

/// What the thread needs to know.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The library that speaks to the site's MPI.
    pub library: PathBuf,
    /// What the launcher says.
    pub launcher: Option<Launcher>,
    /// Storage APIs of this process use MPI too.
    pub shared: bool,
}

/// Speaks MPI until `finish` says that it is over. `tell` gets what the process has to know, or why there is no meeting.
pub fn run(brief: &Brief, finish: &Finish, tell: impl FnOnce(Result<(Membership, Option<i32>), Failure>)) {
    let (mut mpi, place) = match meet(brief) {
        Ok(met) => met,
        Err(failure) => return tell(Err(failure)),
    };
    let communicator = match brief.shared.then(|| mpi.communicator(place.rank)).transpose() {
        Ok(communicator) => communicator,
        Err(error) => return tell(Err(broken(&error))),
    };
    let membership = match address(&mut mpi, &place) {
        Ok(address) => Membership { rank: place.rank, ranks_on: place.ranks_on, names: place.names, address },
        Err(error) => return tell(Err(broken(&error))),
    };
    let memory = match membership.enter() {
        Ok(memory) => memory,
        Err(error) => return tell(Err(apart(&error))),
    };
    let seating = membership.seating();
    let node = seating.node_of(membership.rank);
    tell(Ok((membership.clone(), communicator)));
    if seating.first_on(node) == membership.rank {
        let wire = LeaderWire::new(mpi, place.leaders);
        let leader = NodeLeader::new(wire, &memory, &seating, &membership.names, node);
        match leader.run(|| finish.is_requested()) {
            Ok(wire) => mpi = wire.into_all(),
            // The ranks have been informed.
            Err(_) => return,
        }
    } else {
        while !finish.is_requested() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    if finish.0.load(Ordering::SeqCst) == IN_ORDER {
        // The process that waits for this one's end does so for a while only.
        let _ = mpi.end();
    }
}

/// Waits for `thread` to end. False if it does not for a while.
pub fn join_for_a_while(thread: JoinHandle<()>) -> bool {
    let begin = Instant::now();
    while !thread.is_finished() {
        if begin.elapsed() > ENDING {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().is_ok()
}

/// Begins MPI and finds out where this process is among all.
fn meet(brief: &Brief) -> Result<(Mpi, Assignment), Failure> {
    let loaded = Loaded::load(&brief.library).map_err(|error| failure::on_path("load", &brief.library, &error))?;
    let name = loaded.name();
    let mut mpi = loaded.begin(brief.shared).map_err(|error| broken(&error))?;
    if let Some(launcher) = brief.launcher.as_ref().filter(|launcher| launcher.size != mpi.size()) {
        return Err(wrong_launcher(launcher, &name, mpi.size()));
    }
    let hello = Hello {
        host: ioassay_host::host_name(),
        boot_id: ioassay_host::boot_id(),
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let place = if mpi.rank() == 0 { gather_hellos(&mut mpi, hello) } else { answer(&mut mpi, &hello) };
    Ok((mpi, place.map_err(|error| broken(&error))??))
}

/// As the first process: asks all processes where they are, and sends each its place.
fn gather_hellos(mpi: &mut Mpi, of_first: Hello) -> io::Result<Result<Assignment, Failure>> {
    let mut heard: Vec<Option<Hello>> = vec![None; mpi.size() as usize];
    heard[0] = Some(of_first);
    let all = wait(|| {
        while let Some((process, hello)) = mpi.receive()? {
            heard[process as usize] = Some(serde_json::from_slice(&hello)?);
        }
        Ok(heard.iter().all(Option::is_some))
    });
    all.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => io::Error::new(error.kind(), rendezvous::absent(&heard, MEETING)),
        _ => error,
    })?;
    let hellos: Vec<Hello> = heard.into_iter().flatten().collect();
    let roster = Roster::of(&hellos);
    let places: Vec<Result<Assignment, Failure>> = match roster {
        Ok(roster) => roster.places().into_iter().map(Ok).collect(),
        Err(failure) => vec![Err(failure); hellos.len()],
    };
    for (process, place) in places.iter().enumerate().skip(1) {
        say(mpi, process as u32, place)?;
    }
    sent(mpi)?;
    Ok(places.into_iter().next().expect("the first process is one of them"))
}

fn answer(mpi: &mut Mpi, hello: &Hello) -> io::Result<Result<Assignment, Failure>> {
    say(mpi, 0, hello)?;
    hear(mpi, 0)
}

/// Where this process' node meets: its first process makes the place, and tells the others.
fn address(mpi: &mut Mpi, place: &Assignment) -> io::Result<Address> {
    let seating = Seating::blocks(place.ranks_on.iter().copied());
    let node = seating.node_of(place.rank);
    if seating.first_on(node) != place.rank {
        return hear(mpi, place.first);
    }
    let address = Address::make(seating.ranks_on(node))?;
    for &process in &place.others {
        say(mpi, process, &address)?;
    }
    sent(mpi)?;
    Ok(address)
}

fn say<T: Serialize>(mpi: &mut Mpi, to: u32, what: &T) -> io::Result<()> {
    mpi.send(to, serde_json::to_vec(what).expect("our own types are JSON"))
}

fn hear<T: DeserializeOwned>(mpi: &mut Mpi, from: u32) -> io::Result<T> {
    let mut heard = None;
    wait(|| {
        heard = mpi.receive_from(from)?;
        // What this process sends leaves only while MPI is polled.
        mpi.has_sent_all();
        Ok(heard.is_some())
    })?;
    Ok(serde_json::from_slice(&heard.ok_or(io::ErrorKind::TimedOut)?)?)
}

fn sent(mpi: &mut Mpi) -> io::Result<()> {
    wait(|| Ok(mpi.has_sent_all()))
}

/// Waits until it is `over`, leaving the processor to the process that it waits for.
fn wait(mut over: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let begin = Instant::now();
    while !over()? {
        if begin.elapsed() > MEETING {
            let message = format!("no message from other processes for {} s", MEETING.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        if begin.elapsed() < Duration::from_millis(1) {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(())
}

fn broken(error: &io::Error) -> Failure {
    let remedy = "run any MPI program on the same nodes with the same launcher; `ioassay doctor` checks both";
    failure::plain("meet over MPI", format!("MPI: {error}"), remedy)
}

fn apart(error: &io::Error) -> Failure {
    let message = format!("processes on {} cannot share memory: {error}", ioassay_host::host_name());
    let remedy = "start them as the same user and in the same container or none (they need each other's /proc entries)";
    failure::plain("meet", message, remedy)
}

/// The classic: every process believes that it is alone, and all measure at once, each as if nobody else did.
fn wrong_launcher(launcher: &Launcher, library: &str, size: u32) -> Failure {
    let message = format!(
        "the launcher has started {} processes ({}), but MPI sees {size} ({library}): it is another MPI's launcher",
        launcher.size, launcher.variable
    );
    failure::plain("meet over MPI", message, OTHER_LAUNCHER)
}
