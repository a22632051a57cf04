//! The end of a command: the last events that it writes.

use ioassay_host::clock;
use ioassay_protocol::events::{Event, Failure, Finished, Outcome, RefusedKey, Removed};

use crate::exit::{COMPLETE, COULD_NOT_RUN, Exit, PHASE_FAILED, REFUSED};
use crate::failure;
use crate::output::{self, EventLog};
use crate::plan::Refusal;
use crate::stdio;
use crate::supervise::Ending;

/// Prints `text`, which is all that the command was asked for.
pub fn print(text: &str) -> Exit {
    stdio::print(text).map_or_else(Exit::could_not_run, |()| Exit::default())
}

/// What is to be said at the end of a run.
#[derive(Debug, Default)]
pub(super) struct Conclusion {
    pub(super) exit: Exit,
    pub(super) signal: Option<String>,
    pub(super) removed: Option<Removed>,
}

impl Conclusion {
    pub(super) fn of(exit: Exit) -> Self {
        Self { exit, ..Self::default() }
    }

    /// After ranks have ended, and what they created was removed.
    pub(super) fn after(ending: Ending, removed: Option<Removed>) -> Self {
        let code = match (&ending.signal, &ending.failure) {
            (None, None) => COMPLETE,
            (None, Some(_)) => PHASE_FAILED,
            (Some(_), _) => COULD_NOT_RUN,
        };
        let signal = ending.signal.map(|signal| signal.to_string());
        Self { exit: Exit { code, failure: ending.failure, ..Exit::default() }, signal, removed }
    }
}

/// Writes the last events. They are what counts, so a failure to write them is the command's failure.
pub(super) fn finish(log: &mut EventLog, conclusion: Conclusion) -> Exit {
    let Conclusion { exit: Exit { code, mut failure, .. }, signal, removed } = conclusion;
    let outcome = match (code, &signal) {
        (_, Some(_)) => Outcome::Interrupted,
        (COMPLETE, None) => Outcome::Complete,
        _ => Outcome::Failed,
    };
    if failure.is_none() {
        failure = signal.as_ref().map(|name| failure::plain("run", format!("stopped by {name}"), "run again"));
    }
    let remains = removed.as_ref().filter(|_| outcome == Outcome::Complete).and_then(what_remains).map(Box::new);
    let events = [
        failure.clone().map(Event::Error),
        removed.map(Event::Removed),
        Some(Event::Finished(Finished { outcome, signal, unix_ns: clock::unix_ns() })),
    ];
    let written = log.mend().and_then(|()| events.iter().flatten().try_for_each(|event| log.write(event)));
    match written {
        Ok(()) => Exit { code, failure, remains, ..Exit::default() },
        Err(error) => Exit::with(COULD_NOT_RUN, output::cannot_write(&error)),
    }
}

/// What could not be removed, as a failure.
pub(super) fn what_remains(removed: &Removed) -> Option<Failure> {
    let first = removed.left.first()?;
    let more = match removed.left.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let message = format!("{} remains on the target: {}{more}", first.path, first.because);
    Some(failure::plain("remove", message, "inspect it; `ioassay clean RUN` removes the run's own files"))
}

/// Writes the events of a plan that is refused.
pub fn refuse(refusal: &Refusal, log: &mut EventLog) -> Exit {
    finish(log, Conclusion::of(Exit::with(REFUSED, refused(refusal))))
}

/// The refusal of a plan as a failure for the user.
pub fn refused(refusal: &Refusal) -> Failure {
    let message = format!("{}: {}", refusal.place(), refusal.problem);
    let refused = RefusedKey { key: refusal.key.clone(), problem: refusal.problem.clone() };
    Failure {
        phase: refusal.phase.clone(),
        refused: Some(refused),
        ..failure::plain("read plan", message, &refusal.valid)
    }
}
