//! The commands of the engine: run, check, amounts, clean, survey here, [`capture`], [`api`] and [`mpi`] beside. Each reports events, or prints, and
//! returns how it ended.
//!
//! Not here: exiting, parsing arguments.

pub mod api;
mod capture;
mod case;
mod ending;
pub mod mpi;
mod room;
mod targets;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::{Event, Failure, Left, Progress, Removed};
use ioassay_protocol::plan::{Plan, Step};

pub use self::capture::capture;
use self::case::remove;
pub use self::case::run_case;

use self::ending::{Conclusion, finish};
pub use self::ending::{print, refuse, refused};
use self::targets::{ANSWER, Targets};
use crate::exit::{COULD_NOT_RUN, Exit, REFUSED};
use crate::failure;
use crate::launched::launcher;
use crate::output::{EventLog, ProgressLog};
use crate::plan;
use crate::rank_set::RankSet;
use crate::ranks::local::Watched;
use crate::supervise::{self, with_timeout};
use crate::survey::{SurveyRequest, path_timeout};
use crate::work::amounts;
use crate::workspace::Workspace;
use crate::workspace::directory::Directory;
use crate::workspace::kept;

/// How long a survey that has failed may take to remove its directory, in which there is only the list.
const LOOK_REMOVAL: Duration = Duration::from_secs(1);

/// Runs the case in the file `plan`.
pub fn run(
    plan: &Path,
    events: &Path,
    progress: Option<&Path>,
    stop_with_parent: bool,
    ranks: &mut dyn RankSet,
) -> Exit {
    if stop_with_parent {
        ranks.watch_stdin();
    }
    let mut log = match prepare(events, stop_with_parent) {
        Ok(log) => log,
        Err(failure) => return Exit::with(COULD_NOT_RUN, failure),
    };
    let mut progress = match progress.map(|path| ProgressLog::open(path).map_err(|error| (path, error))).transpose() {
        Ok(progress) => progress,
        Err((path, error)) => {
            let failure = failure::on_path("open", path, &error);
            return finish(&mut log, Conclusion::of(Exit::with(COULD_NOT_RUN, failure)));
        }
    };
    match plan::read(plan) {
        Ok(plan) => {
            let clock = ranks.clock();
            run_case(&plan, ranks, &clock, &mut log, &mut |watched| {
                if let Some(progress) = &mut progress {
                    progress.write(&progress_of(&plan, &clock, watched));
                }
            })
            .with_what_remains()
        }
        Err(refusal) => refuse(&refusal, &mut log),
    }
}

/// Has the first rank of each node look at it and at the target, and reports what they found. Ranks that are forked are
/// `per_node` on each.
pub fn survey(
    request: &SurveyRequest,
    per_node: u32,
    events: &Path,
    stop_with_parent: bool,
    ranks: &mut dyn RankSet,
) -> Exit {
    if stop_with_parent {
        ranks.watch_stdin();
    }
    let mut log = match prepare(events, stop_with_parent) {
        Ok(log) => log,
        Err(failure) => return Exit::with(COULD_NOT_RUN, failure),
    };
    let ending = ranks.survey(request, per_node, &mut log);
    let hurried = ending.signal.is_some() || ending.failure.is_some();
    let workspace =
        request.target.as_ref().map(|target| Workspace::Directory(Directory::of(target, &request.run, None)));
    let removed =
        workspace.map(|workspace| remove(workspace, false, Some(if hurried { LOOK_REMOVAL } else { ANSWER })));
    finish(&mut log, Conclusion::after(ending, removed))
}

/// Becomes a launcher, which does not return; or says why not.
pub fn launch(command: &[OsString]) -> Exit {
    let Some((program, arguments)) = command.split_first() else { return Exit::default() };
    if let Err(error) = supervise::stop_with_parent() {
        return Exit::could_not_run(failure::plain("launch", format!("prctl: {error}"), "run again"));
    }
    let error = std::process::Command::new(program).args(arguments).exec();
    let program = Path::new(program);
    let failure = failure::on_path("start", program, &error);
    Exit::could_not_run(Failure { remedy: "check that it is installed and in PATH".to_owned(), ..failure })
}

/// Writes the events of a command for which nothing could be begun. Of many processes that fail alike, one reports it.
pub fn not_begun(events: &Path, failure: Failure) -> Exit {
    let one_of_many = launcher::of_this_process().and_then(|launcher| launcher.rank).unwrap_or(0) > 0;
    match EventLog::open(events) {
        Ok(mut log) if !one_of_many => finish(&mut log, Conclusion::of(Exit::could_not_run(failure))),
        _ => Exit { code: COULD_NOT_RUN, ..Exit::default() },
    }
}

/// Opens the events and blocks signals until they are waited for; call it before anything is created.
pub fn prepare(events: &Path, stop_with_parent: bool) -> Result<EventLog, Failure> {
    let cannot = |error| failure::on_path("prepare to write", events, &error);
    supervise::block_signals().map_err(cannot)?;
    if stop_with_parent {
        supervise::stop_with_parent().map_err(cannot)?;
    }
    EventLog::open(events).map_err(cannot)
}

/// Checks each plan in the files `plans` and reports what it needs and what its target has.
pub fn check(plans: &[PathBuf], events: &Path) -> Exit {
    let mut log = match EventLog::open(events) {
        Ok(log) => log,
        Err(error) => return Exit::with(COULD_NOT_RUN, failure::on_path("open", events, &error)),
    };
    let mut targets = Targets::new(Clock::calibrated());
    let mut first_bad = Exit::default();
    let plans: Vec<_> = plans.iter().flat_map(|file| plan::read_all(file)).collect();
    for plans in plans.chunks(targets::PLANS_PER_THREAD) {
        let valid: Vec<_> = plans.iter().flatten().cloned().collect();
        let mut checked = targets.check(valid).into_iter();
        for plan in plans {
            let checked = match plan {
                Ok(_) => checked.next().expect("an answer for each valid plan").map_err(Exit::could_not_run),
                Err(refusal) => Err(Exit::with(REFUSED, refused(refusal))),
            };
            let event = match checked {
                Ok(checked) => Some(Event::Checked(Box::new(checked))),
                Err(bad) => {
                    let event = bad.failure.clone().map(Event::Error);
                    if first_bad.failure.is_none() {
                        first_bad = bad;
                    }
                    event
                }
            };
            // Not synced: of a check that was cut short nothing is kept.
            if let Some(Err(error)) = event.map(|event| log.append(&event)) {
                return Exit::with(COULD_NOT_RUN, failure::on_path("write", events, &error));
            }
        }
    }
    first_bad
}

/// Adds up what each plan in the files `plans` does, without looking at its target.
pub fn amounts(plans: &[PathBuf], events: &Path) -> Exit {
    let mut log = match EventLog::open(events) {
        Ok(log) => log,
        Err(error) => return Exit::with(COULD_NOT_RUN, failure::on_path("open", events, &error)),
    };
    let mut first_bad = Exit::default();
    for plan in plans.iter().flat_map(|file| plan::read_all(file)) {
        let event = plan
            .as_ref()
            .map_or_else(|refusal| Event::Error(refused(refusal)), |plan| Event::Amounts(amounts::of_plan(plan)));
        if let (Event::Error(failure), None) = (&event, &first_bad.failure) {
            first_bad = Exit::with(REFUSED, failure.clone());
        }
        if let Err(error) = log.append(&event) {
            return Exit::with(COULD_NOT_RUN, failure::on_path("write", events, &error));
        }
    }
    first_bad
}

/// Removes the workspace `name`, a path or a URL, which an interrupted run left, or the kept dataset in the directory `name`.
/// One that is gone needs no removal.
pub fn clean(name: &Path, events: &Path) -> Exit {
    let left = name.to_owned();
    let (event, ended) = with_timeout::unless_stuck(ANSWER, move || remove_left(&left)).unwrap_or_else(|hanging| {
        let silent = path_timeout::no_answer(name, hanging);
        let left = Left { path: name.display().to_string(), because: silent.message.clone() };
        (Event::Removed(Removed { files: 0, left: vec![left] }), Exit::could_not_run(silent))
    });
    match EventLog::open(events).and_then(|mut log| log.write(&event)) {
        Ok(()) => ended,
        Err(error) => Exit::with(COULD_NOT_RUN, failure::on_path("write", events, &error)),
    }
}

fn remove_left(name: &Path) -> (Event, Exit) {
    if kept::is_named_so(name) {
        return match kept::remove(name) {
            Ok(removed) => ended(removed),
            Err(failure) => (Event::Error(failure.clone()), Exit::with(REFUSED, failure)),
        };
    }
    match Workspace::open(name) {
        Ok(None) => (Event::Removed(Removed::default()), Exit::default()),
        Err(failure) => (Event::Error(failure.clone()), Exit::with(REFUSED, failure)),
        Ok(Some(workspace)) => ended(workspace.remove()),
    }
}

/// How the command ends that has `removed` this.
fn ended(removed: Removed) -> (Event, Exit) {
    let left = removed.left.first().map(|left| format!("{} {}", left.path, left.because));
    let remedy = "inspect it and remove it by hand, then clean again";
    let ended = left.map(|left| Exit::with(COULD_NOT_RUN, failure::plain("clean", left, remedy)));
    (Event::Removed(removed), ended.unwrap_or_default())
}

fn progress_of(plan: &Plan, clock: &Clock, watched: Watched) -> Progress {
    let name = match plan.steps.get(watched.step as usize) {
        Some(Step::Phase(phase)) => &phase.name,
        Some(Step::ColdCache { .. }) => "cold-cache",
        Some(Step::RemoveFiles { .. }) => "remove",
        Some(Step::Pause { .. }) | None => "pause",
    };
    Progress {
        step: watched.step,
        name: name.to_owned(),
        elapsed_ns: clock.now_ns().saturating_sub(watched.since_ns),
        bytes: watched.done.iter().map(|done| done.bytes).sum(),
        operations: watched.done.iter().map(|done| done.operations).sum(),
    }
}
