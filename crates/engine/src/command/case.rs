//! One case from its plan to its last event: room, workspace, ranks, removal.
//!
//! Not here: what ranks do ([`crate::case`]).

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use ioassay_host::clock::Clock;
use ioassay_host::direct_io;
use ioassay_protocol::events::{Left, Removed};
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::storage::Target;
use ioassay_units::Nanoseconds;
use nix::unistd::getpid;

use super::ending::{Conclusion, finish, refused};
use super::room::check_room;
use crate::case::remount;
use crate::exit::{Exit, REFUSED};
use crate::output::EventLog;
use crate::plan;
use crate::rank_set::{RankSet, Ready};
use crate::ranks::local::Watched;
use crate::storage::uncached;
use crate::supervise::{self, guard, with_timeout};
use crate::survey::path_timeout;
use crate::workspace::Workspace;
use crate::workspace::contents::Contents;
use crate::workspace::in_place::Placed;
use crate::{failure, storage};

/// How long an interrupted run may spend on removing its files before it names them instead. Together with the
/// escalation of [`crate::supervise`] that is 4.1 s of the 5 s in which a run must end.
pub(super) const REMOVAL: Duration = Duration::from_millis(2300);

/// How long a run that was stopped waits for a target that has not let it begin.
const STOPPED: Duration = Duration::from_millis(1500);

/// Runs a validated plan and writes its events, the last one included. `watch` is called some five times a second.
pub fn run_case(
    plan: &Plan,
    ranks: &mut dyn RankSet,
    clock: &Clock,
    log: &mut EventLog,
    watch: &mut dyn FnMut(Watched),
) -> Exit {
    let ran = run_plan(plan, ranks, clock, log, watch);
    finish(log, ran.unwrap_or_else(|not_begun| *not_begun))
}

fn run_plan(
    plan: &Plan,
    ranks: &mut dyn RankSet,
    clock: &Clock,
    log: &mut EventLog,
    watch: &mut dyn FnMut(Watched),
) -> Result<Conclusion, Box<Conclusion>> {
    let not_begun = |ended| Box::new(Conclusion::of(ended));
    let could_not_run = |failure| not_begun(Exit::could_not_run(failure));
    let contents = if storage::keeps_files(plan) { Contents::of(plan) } else { Contents::default() };
    let planned = plan.clone();
    let room = with_timeout_of(plan, "check free space", move || check_room(&planned))?;
    room.map_err(could_not_run)?;
    plan::validate_meeting(plan, storage::mpi::in_ranks())
        .map_err(|refusal| not_begun(Exit::refused(refused(&refusal))))?;
    if let Some(failure) = ranks.unfit(plan) {
        return Err(not_begun(Exit::refused(failure)));
    }
    if let Target::InPlace(place) = &plan.target {
        guard::may_remain(&Placed::of(plan, place).places());
    }
    // The thread that speaks to the target has ended when this returns: ranks are forked from one thread.
    let planned = plan.clone();
    let created = with_timeout_of(plan, "create its workspace", move || Workspace::create(&planned, &contents));
    let created = created.map_err(|hung| Box::new(Conclusion { removed: may_appear(plan), ..*hung }))?;
    let workspace = created.map_err(could_not_run)?;
    guard::may_remain(&workspace.places());
    let direct = plan.jobs().any(|job| plan.storage_of(job).direct);
    let sample = || workspace.open_to_read(&workspace.sample()).ok();
    let direct_alignment_bytes = direct.then(sample).flatten().and_then(|file| direct_io::alignment_bytes(&file));
    if let Err(refusal) = plan::validate_alignment(plan, direct_alignment_bytes.unwrap_or(1)) {
        let removed = Some(workspace.remove());
        return Ok(Conclusion { exit: Exit::with(REFUSED, refused(&refusal)), signal: None, removed });
    }
    let fits = sample().map_or(Ok(()), |file| uncached::check_in_workspace(plan, &file, workspace.path()));
    if let Err(failure) = fits {
        let removed = Some(workspace.remove());
        return Ok(Conclusion { exit: Exit::could_not_run(failure), signal: None, removed });
    }

    let ready = Ready { plan, workspace: &workspace, clock, direct_alignment_bytes };
    if remount::leave_mount(plan) {
        workspace.release();
    }
    let ending = ranks.run(&ready, log, watch);
    // What lies where the user named it no `clean` finds: after a failure it takes the time that it takes.
    let can_be_cleaned = !matches!(plan.target, Target::InPlace(_));
    let hurried = ending.signal.is_some() || (ending.failure.is_some() && can_be_cleaned);
    let limit = if hurried { Some(REMOVAL) } else { plan.time_limit_ns.map(Duration::from_nanos) };
    let removed = remove(workspace, ending.abandoned, limit);
    guard::may_remain(&removed.left.iter().map(|left| left.path.clone()).collect::<Vec<_>>());
    Ok(Conclusion::after(ending, Some(removed)))
}

/// What a target that did not let the engine create the workspace may still do with that call.
fn may_appear(plan: &Plan) -> Option<Removed> {
    if !matches!(plan.target, Target::Directory(_) | Target::Url(_)) {
        return None;
    }
    let because = "it may still appear when the target responds".to_owned();
    let left = |path| Left { path, because: because.clone() };
    let places = Workspace::join(plan, None).map(|workspace| workspace.places()).unwrap_or_default();
    Some(Removed { files: 0, left: places.into_iter().map(left).collect() })
}

/// The target of `plan`, as the user named it.
pub(super) fn target_of(plan: &Plan) -> &Path {
    match &plan.target {
        Target::Url(url) => Path::new(url),
        _ => plan.target.path().unwrap_or(Path::new("/")),
    }
}

/// Does something with the target that may hang: for no longer than a step of `plan` may take, and until a signal stops it.
fn with_timeout_of<T: Send + 'static>(
    plan: &Plan,
    what: &str,
    operate: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Box<Conclusion>> {
    let stopped = Cell::new(None);
    let must_stop = || {
        if stopped.get().is_none() {
            stopped.set(supervise::next_signal().map(|signal| (signal, Instant::now())));
        }
        stopped.get().is_some_and(|(_, since)| since.elapsed() >= STOPPED)
    };
    let limit = plan.time_limit_ns.map_or(Duration::MAX, Duration::from_nanos);
    let done = with_timeout::with_timeout(limit, must_stop, operate);
    match (done, stopped.get()) {
        (Ok(done), stopped) => {
            // It waits again for those who stop the ranks.
            if let Some((signal, _)) = stopped {
                let _ = signal.send(getpid());
            }
            Ok(done)
        }
        (Err(hanging), Some((signal, _))) => {
            let failure = path_timeout::no_answer(target_of(plan), hanging);
            let ended = Exit::could_not_run(failure);
            Err(Box::new(Conclusion { signal: Some(signal.to_string()), ..Conclusion::of(ended) }))
        }
        (Err(_), None) => {
            let limit = Nanoseconds(limit.as_nanos() as u64).about();
            let message = format!("the target did not let the engine {what} within the time limit of {limit}");
            let remedy = "check whether the target's server responds, and read the kernel log (dmesg)";
            Err(Box::new(Conclusion::of(Exit::could_not_run(failure::plain("use target", message, remedy)))))
        }
    }
}

/// Removes the workspace, for no longer than `limit`: after a signal or a failure as long as the user may be kept waiting. What
/// a file system that takes longer, or hangs, still has is left to `clean`. `abandoned` as in [`Workspace::remove_after`].
pub(super) fn remove(workspace: Workspace, abandoned: bool, limit: Option<Duration>) -> Removed {
    let Some(limit) = limit else { return workspace.remove_after(abandoned) };
    let places = workspace.places();
    with_timeout::with_timeout(limit, || false, move || workspace.remove_after(abandoned)).unwrap_or_else(|_| {
        let because = format!("removing it took longer than {}", Nanoseconds(limit.as_nanos() as u64).about());
        let left = |path| Left { path, because: because.clone() };
        Removed { files: 0, left: places.into_iter().map(left).collect() }
    })
}
