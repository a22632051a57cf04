//! Who does the I/O of a case: ranks that this process forks, or those that a launcher has started.

use std::io;
use std::path::PathBuf;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::{Plan, RankCount};
use nix::unistd::getpid;

use crate::case::{self, Case, remount};
use crate::failure;
use crate::hosts::Hosts;
use crate::launched::{self, Launched, launcher, shim};
use crate::output::EventLog;
use crate::ranks::local::{LocalRank, Watched};
use crate::ranks::seating::Seating;
use crate::ranks::{Ranks, Stopped};
use crate::supervise::{self, Ending, StopSignal};
use crate::survey::{self, Errand};

/// Who does the I/O.
pub enum Crew {
    /// Ranks that are forked for each case, on this node or spread over hosts of this machine.
    Forked(Hosts),
    /// Ranks that a launcher has started.
    Launched(Box<Launched>),
}

/// How this process takes part in what a launcher has started.
#[derive(Debug, Default)]
pub struct Launch {
    /// The library that speaks the site's MPI; the one for the `mpicc` in `PATH` where it is not named.
    pub library: Option<PathBuf>,
    /// The ranks' processes speak MPI themselves.
    pub in_ranks: bool,
}

/// What this process is to do.
pub enum Part {
    /// Run the command that was asked for.
    Command(Crew),
    /// Nothing more: it was one of the others, and ends with this code.
    Ended(u8),
}

/// True if a launcher of MPI has started this process.
pub fn a_launcher_started_this() -> bool {
    launcher::said().is_some()
}

/// True if a launcher of MPI has started several of these.
pub fn several_were_started() -> bool {
    launcher::said().is_some_and(|said| said.size > 1)
}

impl Crew {
    /// Ranks that are forked, on hosts of this machine where `processes` name one of each.
    ///
    /// # Errors
    /// If one of them cannot be entered.
    pub fn on_hosts(processes: &[PathBuf]) -> Result<Self, Failure> {
        Hosts::enter(processes).map(Self::Forked).map_err(|error| {
            let message = format!("the hosts cannot be entered: {error}");
            failure::plain("enter hosts", message, "see whether all of them are still up, as root")
        })
    }

    /// Takes part in what a launcher has started.
    ///
    /// # Errors
    /// If the processes do not come together.
    pub fn meet(launch: Launch) -> Result<Part, Failure> {
        let said = launcher::said();
        let library = match (launch.library, &said) {
            (Some(library), _) => library,
            (None, Some(said)) => shim::of_this_site(said)?,
            (None, None) => shim::source("mpicc").find_or_build(&shim::cache()?)?,
        };
        let launched = launched::begin(&library, said, launch.in_ranks)?;
        if launched.is_first() {
            Ok(Part::Command(Self::Launched(Box::new(launched))))
        } else {
            Ok(Part::Ended(launched.follow()))
        }
    }

    /// Nodes and ranks, where they are given. Forked ranks are as many as a plan has.
    pub fn given(&self) -> Option<(u32, u32)> {
        match self {
            Self::Forked(_) => None,
            Self::Launched(launched) => Some((launched.nodes(), launched.ranks())),
        }
    }

    /// The clients that the nodes can be, where ranks are given and are as many on each.
    pub fn clients(&self) -> Option<RankCount> {
        match self {
            Self::Forked(_) => None,
            Self::Launched(launched) => launched.clients(),
        }
    }

    /// A clock of the node that this process is on.
    pub fn clock(&self) -> Clock {
        match self {
            Self::Forked(_) => Clock::calibrated(),
            Self::Launched(launched) => launched.clock(),
        }
    }

    /// Where a launcher stands between, whoever asked for the run has no signals to send: it writes their names to the
    /// standard input, which launchers pass on to the first process, and ends it by ending.
    pub fn obey_input(&self) {
        if let Self::Launched(_) = self {
            std::thread::spawn(|| {
                let said = io::stdin().lines().next();
                let signal = said.and_then(|line| line.ok()?.parse().ok()).unwrap_or(StopSignal::TERM);
                // Whoever supervises the ranks waits for it.
                let _ = signal.send(getpid());
            });
        }
    }

    /// What is wrong with having it run `plan`.
    pub fn unfit(&self, plan: &Plan) -> Option<Failure> {
        match self {
            Self::Forked(_) => None,
            Self::Launched(launched) => launched.unfit(plan),
        }
    }

    /// Has all ranks run a case, and returns when all have ended. `watch` is called some five times a second.
    pub fn run(&mut self, ready: &Ready<'_>, log: &mut EventLog, watch: &mut dyn FnMut(Watched)) -> Ending {
        if remount::leave_mount(ready.plan) {
            ready.workspace.release();
        }
        match self {
            Self::Forked(hosts) => run_forked(hosts, ready, log, watch),
            Self::Launched(launched) => launched.run(ready, log.path(), watch),
        }
    }

    /// Has all ranks look at their nodes; those that are forked are `per_node` on each.
    pub fn survey(&mut self, errand: &Errand, per_node: u32, log: &mut EventLog) -> Ending {
        match self {
            Self::Forked(hosts) => {
                let (clock, ranks) = (Clock::calibrated(), RankCount { clients: hosts.count(), per_client: per_node });
                let seating = Seating::dealt(ranks, hosts.count());
                fork(hosts, &seating, clock, &mut |_| {}, |rank| survey::run(errand, &rank, &seating, &clock, log))
            }
            Self::Launched(launched) => launched.survey(errand, log.path()),
        }
    }

    /// Nothing more is to be done; the command ends with `code`.
    pub fn end(self, code: u8) {
        if let Self::Launched(launched) = self {
            launched.end(code);
        }
    }
}

/// A case that everything is ready for.
pub struct Ready<'a> {
    /// The validated plan.
    pub plan: &'a Plan,
    /// Where the files go; it is there.
    pub workspace: &'a crate::workspace::Workspace,
    /// The node's clock.
    pub clock: &'a Clock,
    /// As in [`Case`].
    pub direct_alignment_bytes: Option<u64>,
}

fn run_forked(hosts: &Hosts, ready: &Ready<'_>, log: &mut EventLog, watch: &mut dyn FnMut(Watched)) -> Ending {
    let &Ready { plan, workspace, clock, direct_alignment_bytes } = ready;
    let seating = Seating::dealt(plan.ranks, hosts.count());
    let case =
        Case { plan, apis: &crate::storage::of_plan, workspace, clock, seating: &seating, direct_alignment_bytes };
    fork(hosts, &seating, *clock, watch, |rank| case::run(&case, &rank, log))
}

/// Forks the ranks of `seating`, each on its host, to do `body`.
fn fork(
    hosts: &Hosts,
    seating: &Seating,
    clock: Clock,
    watch: &mut dyn FnMut(Watched),
    mut body: impl FnMut(LocalRank<'_>) -> Result<(), Stopped>,
) -> Ending {
    let ran = supervise::run(seating.ranks(), clock, watch, |rank| {
        let node = seating.node_of(rank.rank());
        match hosts.go_to(node) {
            Ok(()) => body(rank),
            Err(error) => {
                let message = format!("host number {} cannot be entered: {error}", node + 1);
                rank.fail(&failure::plain("enter host", message, "see whether it is still up"));
                Err(Stopped)
            }
        }
    });
    ran.unwrap_or_else(|error| {
        let failure = failure::plain("start ranks", format!("the ranks cannot be started: {error}"), START_REMEDY);
        Ending { failure: Some(failure), signal: None }
    })
}

const START_REMEDY: &str = "raise the limits of processes and memory (ulimit -u, ulimit -v), or use fewer ranks";
