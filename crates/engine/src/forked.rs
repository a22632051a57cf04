//! Ranks that are forked for each case, on this node or spread over hosts of this machine.

use std::path::PathBuf;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::{Plan, RankCount};

use crate::case::{self, Case};
use crate::failure;
use crate::hosts::Hosts;
use crate::output::EventLog;
use crate::rank_set::{RankSet, Ready};
use crate::ranks::local::{LocalRank, Watched};
use crate::ranks::seating::Seating;
use crate::ranks::{Ranks, Stopped};
use crate::supervise::{self, Ending};
use crate::survey::{self, SurveyRequest};

/// Ranks that are forked.
#[derive(Debug, Default)]
pub struct Forked(Hosts);

impl Forked {
    /// On hosts of this machine, where `processes` name one of each.
    ///
    /// # Errors
    /// If one of them cannot be entered.
    pub fn on_hosts(processes: &[PathBuf]) -> Result<Self, Failure> {
        Hosts::enter(processes).map(Self).map_err(|error| {
            let message = format!("the hosts cannot be entered: {error}");
            failure::plain("enter hosts", message, "check that all of them are still up, and run as root")
        })
    }

    /// Forks the ranks of `seating`, each on its host, to do `body`.
    fn fork(
        &self,
        seating: &Seating,
        clock: Clock,
        watch: &mut dyn FnMut(Watched),
        mut body: impl FnMut(LocalRank<'_>) -> Result<(), Stopped>,
    ) -> Ending {
        let ran = supervise::run(seating.ranks(), clock, watch, |rank| {
            let node = seating.node_of(rank.rank());
            match self.0.go_to(node) {
                Ok(()) => body(rank),
                Err(error) => {
                    let message = format!("host number {} cannot be entered: {error}", node + 1);
                    rank.fail(&failure::plain("enter host", message, "check that it is still up"));
                    Err(Stopped)
                }
            }
        });
        ran.unwrap_or_else(|error| {
            let failure =
                failure::because_of(&error, "start ranks", "the ranks cannot be started", failure::START_REMEDY);
            Ending { failure: Some(failure), ..Ending::default() }
        })
    }
}

impl RankSet for Forked {
    fn fixed(&self) -> Option<(u32, u32)> {
        None
    }

    fn clients(&self) -> Option<RankCount> {
        None
    }

    fn clock(&self) -> Clock {
        Clock::calibrated()
    }

    fn watch_stdin(&self) {}

    fn unfit(&self, _plan: &Plan) -> Option<Failure> {
        None
    }

    fn run(&mut self, ready: &Ready<'_>, log: &mut EventLog, watch: &mut dyn FnMut(Watched)) -> Ending {
        let &Ready { plan, workspace, clock, direct_alignment_bytes } = ready;
        let seating = Seating::dealt(plan.ranks, self.0.count());
        let case =
            Case { plan, apis: &crate::storage::of_plan, workspace, clock, seating: &seating, direct_alignment_bytes };
        self.fork(&seating, *clock, watch, |rank| case::run(&case, &rank, log))
    }

    fn survey(&mut self, request: &SurveyRequest, per_node: u32, log: &mut EventLog) -> Ending {
        let (clock, ranks) = (self.clock(), RankCount { clients: self.0.count(), per_client: per_node });
        let seating = Seating::dealt(ranks, self.0.count());
        self.fork(&seating, clock, &mut |_| {}, |rank| survey::run(request, &rank, &seating, &clock, log))
    }

    fn end(self: Box<Self>, _code: u8) {}
}
