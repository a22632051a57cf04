//! The ranks that do the I/O of a case, as those who run cases see them: [`crate::forked`] by this process, or
//! [`crate::launched`] by a launcher.
//!
//! Not here: what a rank does ([`crate::case`]), how ranks meet ([`crate::ranks`]).

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::{Plan, RankCount};

use crate::output::EventLog;
use crate::ranks::local::Watched;
use crate::supervise::Ending;
use crate::survey::SurveyRequest;
use crate::workspace::Workspace;

/// The ranks of one invocation of the engine, for one case after the other.
pub trait RankSet {
    /// Nodes and ranks, where their number is fixed; `None`: there will be as many as a plan has.
    fn fixed(&self) -> Option<(u32, u32)>;

    /// The clients that the nodes can be, where the number of ranks is fixed and the same on each.
    fn clients(&self) -> Option<RankCount>;

    /// A clock of the node that this process is on.
    fn clock(&self) -> Clock;

    /// Takes signals from standard input, where a launcher stands between this process and the control plane.
    fn watch_stdin(&self);

    /// What is wrong with running `plan` on these ranks.
    fn unfit(&self, plan: &Plan) -> Option<Failure>;

    /// Has all ranks run a case, and returns when all have ended. `watch` is called some five times a second.
    fn run(&mut self, ready: &Ready<'_>, log: &mut EventLog, watch: &mut dyn FnMut(Watched)) -> Ending;

    /// Has all ranks look at their nodes; those that are forked are `per_node` on each.
    fn survey(&mut self, request: &SurveyRequest, per_node: u32, log: &mut EventLog) -> Ending;

    /// Nothing more is to be done; the command ends with `code`.
    fn end(self: Box<Self>, code: u8);
}

/// A case that everything is ready for.
pub struct Ready<'a> {
    /// The validated plan.
    pub plan: &'a Plan,
    /// Where the files go; it is there.
    pub workspace: &'a Workspace,
    /// The node's clock.
    pub clock: &'a Clock,
    /// As in [`crate::case::Case`].
    pub direct_alignment_bytes: Option<u64>,
}
