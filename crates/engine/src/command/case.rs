//! One case from its plan to its last event: room, workspace, ranks, removal.
//!
//! Not here: what ranks do ([`crate::case`]).

use std::time::Duration;

use ioassay_contract::events::{Failure, Left, Removed};
use ioassay_contract::plan::Plan;
use ioassay_contract::plan::storage::Target;
use ioassay_units::Nanoseconds;

use super::ending::{COULD_NOT_RUN, Conclusion, Ended, REFUSED, finish, refused};
use super::room::{check_room, keeps_files};
use crate::crew::{Crew, Ready};
use crate::environment::direct;
use crate::measure::clock::Clock;
use crate::output::EventLog;
use crate::plan::{self, Jobs};
use crate::ranks::local::Watched;
use crate::supervise::within;
use crate::workspace::contents::Contents;
use crate::workspace::{Room, Workspace};
use crate::{failure, storage};

/// How long an interrupted run may spend on removing its files before it names them instead. Together with the
/// escalation of [`crate::supervise`] that is 4.1 s of the 5 s in which a run must end.
pub(super) const REMOVAL: Duration = Duration::from_millis(2300);

/// Runs a validated plan and writes its events, the last one included. `watch` is called some five times a second.
pub(crate) fn run_case(
    plan: &Plan,
    crew: &mut Crew,
    clock: &Clock,
    log: &mut EventLog,
    watch: &mut dyn FnMut(Watched),
) -> Ended {
    let ran = run_plan(plan, crew, clock, log, watch);
    finish(log, ran.unwrap_or_else(Conclusion::of))
}

fn run_plan(
    plan: &Plan,
    crew: &mut Crew,
    clock: &Clock,
    log: &mut EventLog,
    watch: &mut dyn FnMut(Watched),
) -> Result<Conclusion, Ended> {
    let could_not = |failure| Ended::with(COULD_NOT_RUN, failure);
    let contents = if keeps_files(plan) { Contents::of(plan) } else { Contents::default() };
    look_for_room(plan).map_err(could_not)?;
    plan::validate_meeting(plan, storage::mpi::in_ranks()).map_err(|refusal| Ended::refused(refused(&refusal)))?;
    if let Some(failure) = crew.unfit(plan) {
        return Err(Ended::refused(failure));
    }
    // What speaks to the target has come to its end when this returns: ranks are forked from one thread.
    let workspace = within(plan, "create its directory", {
        let plan = plan.clone();
        move || Workspace::create(&plan, &contents)
    });
    let workspace = workspace.and_then(|created| created).map_err(could_not)?;
    let direct = plan.jobs().any(|job| plan.storage_of(job).direct);
    let direct_alignment_bytes = direct.then(|| direct::alignment_bytes(&workspace.sample())).flatten();
    if let Err(refusal) = plan::validate_alignment(plan, direct_alignment_bytes.unwrap_or(1)) {
        let removed = Some(workspace.remove());
        return Ok(Conclusion { ended: Ended::with(REFUSED, refused(&refusal)), signal: None, removed });
    }

    let ready = Ready { plan, workspace: &workspace, clock, direct_alignment_bytes };
    let ending = crew.run(&ready, log, watch);
    // What lies where the user named it no `clean` finds: after a failure it takes the time that it takes.
    let can_be_cleaned = !matches!(plan.target, Target::InPlace(_));
    let hurried = ending.signal.is_some() || (ending.failure.is_some() && can_be_cleaned);
    let limit = if hurried { Some(REMOVAL) } else { plan.time_limit_ns.map(Duration::from_nanos) };
    let removed = remove(workspace, limit);
    Ok(Conclusion::after(ending, Some(removed)))
}

/// The room that the target has, where that and memory are enough for `plan`.
pub(super) fn look_for_room(plan: &Plan) -> Result<Room, Failure> {
    let own = plan.clone();
    within(plan, "look for room", move || check_room(&own))?
}

/// Does something with the target that may hang, for no longer than a step of `plan` may take.
fn within<T: Send + 'static>(
    plan: &Plan,
    what: &str,
    operate: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let Some(limit_ns) = plan.time_limit_ns else { return Ok(operate()) };
    within::within(Duration::from_nanos(limit_ns), || false, operate).map_err(|_| {
        let limit = Nanoseconds(limit_ns).about();
        let message = format!("the time limit of {limit} is over, and the target has not let the engine {what}");
        failure::plain("use target", message, "see whether the target's server answers (and the kernel log: dmesg)")
    })
}

/// Removes the workspace, for no longer than `limit`: after a signal or a failure as long as the user may be kept waiting. What
/// a file system that takes longer, or hangs, still has is left to `clean`.
pub(super) fn remove(workspace: Workspace, limit: Option<Duration>) -> Removed {
    let Some(limit) = limit else { return workspace.remove() };
    let places = workspace.places();
    within::within(limit, || false, move || workspace.remove()).unwrap_or_else(|_| {
        let because = format!("removing it took longer than {}", Nanoseconds(limit.as_nanos() as u64).about());
        let left = |path| Left { path, because: because.clone() };
        Removed { files: 0, left: places.into_iter().map(left).collect() }
    })
}
