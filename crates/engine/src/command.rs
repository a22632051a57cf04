//! The three commands of the engine: run, check, clean. Each reports events and returns how it ended.
//!
//! Not here: exiting, printing, parsing arguments.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use ioassay_contract::VERSION;
use ioassay_contract::environment::Environment;
use ioassay_contract::events::{Checked, Event, Failure, Finished, Left, Outcome, Progress, Removed, Started};
use ioassay_contract::plan::storage::Target;
use ioassay_contract::plan::{Plan, Step, Work};
use ioassay_units::{Bytes, count};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::case::{self, Case};
use crate::environment::{self, direct};
use crate::hosts::Hosts;
use crate::measure::clock::{self, Clock};
use crate::output::{self, EventLog, ProgressLog};
use crate::plan::{self, Jobs, Refusal, Sizes};
use crate::ranks::local::{MeetingPlace, Watched};
use crate::ranks::{Ranks, Stopped};
use crate::supervise::{self, Ending};
use crate::workspace::contents::Contents;
use crate::workspace::{Room, Workspace};
use crate::{failure, storage};

/// The command did what it was asked.
const COMPLETE: u8 = 0;
/// It ran, but a phase failed.
const PHASE_FAILED: u8 = 1;
/// What it was given cannot be meant.
const REFUSED: u8 = 2;
/// The machine or the target would not do it, or a signal ended it.
pub const COULD_NOT_RUN: u8 = 3;

/// How long an interrupted run may spend on removing its files before it names them instead. Together with the
/// escalation of [`crate::supervise`] that is 4.1 s of the 5 s in which a run must end.
const REMOVAL: Duration = Duration::from_millis(2300);

/// How a command ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// Exit code.
    pub code: u8,
    /// What went wrong, for the user.
    pub failure: Option<Failure>,
}

impl Ended {
    fn with(code: u8, failure: Failure) -> Self {
        Self { code, failure: Some(failure) }
    }

    /// What was asked cannot be meant.
    pub fn refused(failure: Failure) -> Self {
        Self::with(REFUSED, failure)
    }

    /// It ran, but not well.
    pub fn failed(failure: Failure) -> Self {
        Self::with(PHASE_FAILED, failure)
    }

    /// The machine or the target would not do it.
    pub fn could_not(failure: Failure) -> Self {
        Self::with(COULD_NOT_RUN, failure)
    }
}

/// Runs the case in the file `plan`.
pub fn run(plan: &Path, events: &Path, progress: Option<&Path>, stop_with_parent: bool, hosts: &Hosts) -> Ended {
    let mut log = match prepare(events, stop_with_parent) {
        Ok(log) => log,
        Err(failure) => return Ended::with(COULD_NOT_RUN, failure),
    };
    let mut progress = match progress.map(|path| ProgressLog::open(path).map_err(|error| (path, error))).transpose() {
        Ok(progress) => progress,
        Err((path, error)) => {
            let failure = failure::on_path("open", path, &error);
            return finish(&mut log, Conclusion::of(Ended::with(COULD_NOT_RUN, failure)));
        }
    };
    match plan::read(plan) {
        Ok(plan) => {
            let clock = Clock::calibrated();
            run_case(&plan, hosts, &clock, &mut log, &mut |watched| {
                if let Some(progress) = &mut progress {
                    progress.write(&progress_of(&plan, &clock, watched));
                }
            })
        }
        Err(refusal) => refuse(&refusal, &mut log),
    }
}

/// Writes the events of a plan that is refused.
pub(crate) fn refuse(refusal: &Refusal, log: &mut EventLog) -> Ended {
    finish(log, Conclusion::of(Ended::with(REFUSED, refused(refusal))))
}

/// Opens the events and makes signals wait until somebody looks; call it before anything is created.
pub(crate) fn prepare(events: &Path, stop_with_parent: bool) -> Result<EventLog, Failure> {
    let cannot = |error| failure::on_path("prepare to write", events, &error);
    supervise::block_signals().map_err(cannot)?;
    if stop_with_parent {
        supervise::stop_with_parent().map_err(cannot)?;
    }
    EventLog::open(events).map_err(cannot)
}

/// Runs a validated plan and writes its events, the last one included. `watch` is called some five times a second.
pub(crate) fn run_case(
    plan: &Plan,
    hosts: &Hosts,
    clock: &Clock,
    log: &mut EventLog,
    watch: &mut dyn FnMut(Watched),
) -> Ended {
    let ran = run_plan(plan, hosts, clock, log, watch);
    finish(log, ran.unwrap_or_else(Conclusion::of))
}

/// What is to be said at the end of a run.
#[derive(Debug, Default)]
struct Conclusion {
    ended: Ended,
    signal: Option<String>,
    removed: Option<Removed>,
}

impl Conclusion {
    fn of(ended: Ended) -> Self {
        Self { ended, ..Self::default() }
    }
}

fn run_plan(
    plan: &Plan,
    hosts: &Hosts,
    clock: &Clock,
    log: &mut EventLog,
    watch: &mut dyn FnMut(Watched),
) -> Result<Conclusion, Ended> {
    let could_not = |failure| Ended::with(COULD_NOT_RUN, failure);
    let contents = if keeps_files(plan) { Contents::of(plan) } else { Contents::default() };
    check_room(plan).map_err(could_not)?;
    let nodes = nodes(plan, hosts, clock).map_err(could_not)?;
    // What speaks to the target has come to its end when this returns: ranks are forked from one thread.
    let workspace = Workspace::create(plan, &contents).map_err(could_not)?;
    let direct = plan.jobs().any(|job| plan.storage_of(job).direct);
    let direct_alignment_bytes = direct.then(|| direct::alignment_bytes(&workspace.sample())).flatten();
    if let Err(refusal) = plan::validate_alignment(plan, direct_alignment_bytes.unwrap_or(1)) {
        let removed = Some(workspace.remove());
        return Ok(Conclusion { ended: Ended::with(REFUSED, refused(&refusal)), signal: None, removed });
    }

    let started = Started {
        version: VERSION,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        run: plan.run.clone(),
        case: plan.case.clone(),
        unix_ns: clock::unix_ns(),
        workspace: workspace.name(),
        nodes: nodes.clone(),
        direct_alignment_bytes,
    };
    let case = Case { plan, apis: &storage::of_plan, workspace: &workspace, clock, nodes: &nodes };
    let ran = log.write(&Event::Started(started)).and_then(|()| {
        supervise::run(plan.rank_count(), *clock, watch, |rank| {
            let node = case.node_of(rank.rank());
            match hosts.go_to(node) {
                Ok(()) => case::run(&case, &rank, log),
                Err(error) => {
                    rank.fail(&cannot_enter(node, &error));
                    Err(Stopped)
                }
            }
        })
    });
    let ending = ran.unwrap_or_else(|error| {
        let failure = failure::plain("start ranks", format!("the ranks cannot be started: {error}"), START_REMEDY);
        Ending { failure: Some(failure), signal: None }
    });
    // What lies where the user named it no `clean` finds: after a failure it takes the time that it takes.
    let can_be_cleaned = !matches!(plan.target, Target::InPlace(_));
    let removed = remove(workspace, ending.signal.is_some() || (ending.failure.is_some() && can_be_cleaned));
    let code = match (&ending.signal, &ending.failure) {
        (None, None) => COMPLETE,
        (None, Some(_)) => PHASE_FAILED,
        (Some(_), _) => COULD_NOT_RUN,
    };
    let signal = ending.signal.map(|signal| signal.to_string());
    Ok(Conclusion { ended: Ended { code, failure: ending.failure }, signal, removed: Some(removed) })
}

const START_REMEDY: &str = "raise the limits of processes and memory (ulimit -u, ulimit -v), or use fewer ranks";

/// What each node looks like. Leaves this process on the first of them.
fn nodes(plan: &Plan, hosts: &Hosts, clock: &Clock) -> Result<Vec<Environment>, Failure> {
    // From the last to the first: where the engine goes on is where it ends.
    let mut nodes = Vec::new();
    for host in (0..hosts.count()).rev() {
        hosts.go_to(host).map_err(|error| cannot_enter(host, &error))?;
        nodes.push(environment::of_this_node(path_of(plan), clock));
    }
    nodes.reverse();
    Ok(nodes)
}

fn cannot_enter(host: u32, error: &io::Error) -> Failure {
    let message = format!("host number {} cannot be entered: {error}", host + 1);
    failure::plain("enter host", message, "see whether it is still up")
}

/// Removes the workspace. After a signal or a failure only for as long as the user may be kept waiting: a file
/// system that takes longer, or hangs, is left to `clean`.
fn remove(workspace: Workspace, hurried: bool) -> Removed {
    if !hurried {
        return workspace.remove();
    }
    let places = workspace.places();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(workspace.remove()));
    receiver.recv_timeout(REMOVAL).unwrap_or_else(|_| {
        let because = format!("removing it took longer than {} ms", REMOVAL.as_millis());
        let left = |path| Left { path, because: because.clone() };
        Removed { files: 0, left: places.into_iter().map(left).collect() }
    })
}

/// Writes the last events. They are what counts, so a failure to write them is the command's failure.
fn finish(log: &mut EventLog, conclusion: Conclusion) -> Ended {
    let Conclusion { ended: Ended { code, mut failure }, signal, removed } = conclusion;
    let outcome = match (code, &signal) {
        (_, Some(_)) => Outcome::Interrupted,
        (COMPLETE, None) => Outcome::Complete,
        _ => Outcome::Failed,
    };
    if failure.is_none() {
        failure = signal.as_ref().map(|name| failure::plain("run", format!("stopped by {name}"), "run again"));
    }
    let events = [
        failure.clone().map(Event::Error),
        removed.map(Event::Removed),
        Some(Event::Finished(Finished { outcome, signal, unix_ns: clock::unix_ns() })),
    ];
    let written = log.mend().and_then(|()| events.iter().flatten().try_for_each(|event| log.write(event)));
    match written {
        Ok(()) => Ended { code, failure },
        Err(error) => Ended::with(COULD_NOT_RUN, output::cannot_write(&error)),
    }
}

/// Checks each of `plans` and reports what it needs and what its target has.
pub fn check(plans: &[PathBuf], events: &Path) -> Ended {
    let mut log = match EventLog::open(events) {
        Ok(log) => log,
        Err(error) => return Ended::with(COULD_NOT_RUN, failure::on_path("open", events, &error)),
    };
    let clock = Clock::calibrated();
    let mut first_bad = Ended::default();
    for file in plans {
        let checked = match plan::read(file) {
            Ok(plan) => check_plan(&plan, &clock).map_err(|failure| Ended::with(COULD_NOT_RUN, failure)),
            Err(refusal) => Err(Ended::with(REFUSED, refused(&refusal))),
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
        if let Some(Err(error)) = event.map(|event| log.write(&event)) {
            return Ended::with(COULD_NOT_RUN, failure::on_path("write", events, &error));
        }
    }
    first_bad
}

fn check_plan(plan: &Plan, clock: &Clock) -> Result<Checked, Failure> {
    let room = check_room(plan)?;
    Ok(Checked {
        case: plan.case.clone(),
        file_set_bytes: plan.stored_bytes(),
        written_bytes: plan.written_bytes(),
        files: plan.entries(),
        free_bytes: room.free_bytes,
        free_inodes: room.free_inodes,
        node: environment::of_this_node(path_of(plan), clock),
    })
}

/// Removes the workspace `name`, a path or a URL, which an interrupted run left. One that is gone needs no removal.
pub fn clean(name: &Path, events: &Path) -> Ended {
    let (event, ended) = match Workspace::open(name) {
        Ok(None) => (Event::Removed(Removed::default()), Ended::default()),
        Err(failure) => (Event::Error(failure.clone()), Ended::with(REFUSED, failure)),
        Ok(Some(workspace)) => {
            let removed = workspace.remove();
            let left = removed.left.first().map(|left| format!("{} {}", left.path, left.because));
            let remedy = "look at it and remove it by hand, then clean again";
            let ended = left.map(|left| Ended::with(COULD_NOT_RUN, failure::plain("clean", left, remedy)));
            (Event::Removed(removed), ended.unwrap_or_default())
        }
    };
    match EventLog::open(events).and_then(|mut log| log.write(&event)) {
        Ok(()) => ended,
        Err(error) => Ended::with(COULD_NOT_RUN, failure::on_path("write", events, &error)),
    }
}

/// The target, where it is a path of this node.
fn path_of(plan: &Plan) -> Option<&Path> {
    match &plan.target {
        Target::Directory(directory) => Some(directory),
        Target::InPlace(place) => Some(&place.directory),
        Target::Device(device) => Some(&device.path),
        Target::Url(_) => None,
    }
}

/// True if its jobs keep what they write, which all of them do or none.
fn keeps_files(plan: &Plan) -> bool {
    storage::of_plan(&plan.storage.api).capabilities().files
}

/// What the case needs must fit into memory and onto the target; storage APIs that keep no files need nothing there.
fn check_room(plan: &Plan) -> Result<Room, Failure> {
    check_memory(plan)?;
    check_file_size(plan)?;
    let (bytes, files) = if keeps_files(plan) { (plan.sure_bytes(), plan.sure_entries()) } else { (0, 0) };
    Workspace::check(plan, bytes, files)
}

/// Buffers beyond half of the memory would make the node swap, and then everything measures that.
fn check_memory(plan: &Plan) -> Result<(), Failure> {
    let of_rank = plan.jobs().map(|job| match &job.work {
        Work::Data(work) => plan.files[&work.files].transfer_bytes * u64::from(plan.storage_of(job).depth),
        Work::Metadata(_) | Work::Find(_) => 0,
    });
    let needed = of_rank.max().unwrap_or(0).saturating_mul(plan.rank_count().into());
    let memory = environment::memory_bytes();
    if memory == 0 || needed <= memory / 2 {
        return Ok(());
    }
    let [needed, memory] = [needed, memory].map(|bytes| Bytes(bytes).about());
    let message = format!("the buffers of {} need {needed} of {memory} of memory", count(plan.rank_count(), "rank"));
    Err(failure::plain("check memory", message, "use fewer ranks or a smaller transfer"))
}

/// Ranks that could not gather what they measured would find it out at the end of their first phase.
fn check_file_size(plan: &Plan) -> Result<(), Failure> {
    let needed = MeetingPlace::file_bytes(plan.rank_count());
    let (limit, _) = getrlimit(Resource::RLIMIT_FSIZE).unwrap_or((RLIM_INFINITY, RLIM_INFINITY));
    if needed <= limit {
        return Ok(());
    }
    let [needed, limit] = [needed, limit].map(|bytes| Bytes(bytes).about());
    let ranks = count(plan.rank_count(), "rank");
    let message = format!("ulimit -f is {limit}, and {ranks} meet in a file in memory that reaches to {needed}");
    Err(failure::plain("check limits", message, "ulimit -f unlimited, or use one rank"))
}

/// A plan that is refused, as the failure of who asked for it.
pub(crate) fn refused(refusal: &Refusal) -> Failure {
    let message = format!("{}: {}", refusal.place(), refusal.problem);
    Failure { phase: refusal.phase.clone(), ..failure::plain("read plan", message, &refusal.valid) }
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
