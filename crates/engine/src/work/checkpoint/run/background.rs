//! A thread that writes generations while its rank computes, and what the rank has of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::checkpoint::{CheckpointWork, Save};

use super::files::{RankFiles, Written};
use crate::failure;
use crate::measure::recorder::{LiveCounters, Recorded, Recorder};
use crate::storage::RequestCounts;
use crate::work::checkpoint::TRANSFER;
use crate::work::run::Member;
use crate::work::run::job_result::JobTimes;

/// How often who waits for the thread looks whether the case was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the thread is to do: remove the generation that is not kept any more, then write one.
pub(super) struct Task {
    /// The newest generation that all ranks have.
    pub complete: Option<u64>,
    /// The generation to write.
    pub generation: Option<u64>,
}

/// What the thread has counted.
pub(super) struct Counted {
    pub recorded: Recorded,
    pub times: JobTimes,
    pub short_transfers: u64,
    pub requests: RequestCounts,
}

/// What a rank has of its thread.
pub(super) struct Writer<'s> {
    pub tasks: Sender<Task>,
    pub done: Receiver<Result<Written, Box<Failure>>>,
    /// The thread must write no more.
    pub stop: &'s AtomicBool,
}

impl Writer<'_> {
    /// Gives the thread something to do; it has nothing to do.
    pub fn begin(&self, task: Task) {
        // A thread that has ended is found out by who waits for it.
        let _ = self.tasks.send(task);
    }

    /// Waits until the thread has done what it was given.
    pub fn wait(&self, must_stop: impl Fn() -> bool) -> Result<Written, Box<Failure>> {
        loop {
            match self.done.recv_timeout(POLL_INTERVAL) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Timeout) if must_stop() => self.stop.store(true, Ordering::Relaxed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let remedy = "report this defect, with what was printed before";
                    let problem = "the thread that writes checkpoints panicked".to_owned();
                    return Err(Box::new(failure::plain("write", problem, remedy)));
                }
            }
        }
    }
}

/// Does what it is given as a thread of `member`, until there is no more.
pub(super) fn run_thread(
    (member, work, save): (&Member<'_>, &CheckpointWork, &Save),
    (tasks, done): (Receiver<Task>, Sender<Result<Written, Box<Failure>>>),
    stop: &AtomicBool,
    counters: &LiveCounters,
    opened_ns: u64,
) -> Option<Counted> {
    // Signals are for the rank's own thread.
    let _ = nix::sys::signal::SigSet::all().thread_block();
    let mut files = match RankFiles::prepare(member, work, 0) {
        Ok(files) => files,
        Err(failure) => {
            let _ = done.send(Err(failure));
            return None;
        }
    };
    let (clock, plan) = (member.case.clock, member.case.plan);
    let mut recorder = Recorder::new(counters, TRANSFER, opened_ns, plan.sample_interval_ns);
    for Task { complete, generation } in tasks {
        let removed = complete.map_or(Ok(()), |complete| files.remove_before(complete));
        let written = removed.and_then(|()| match generation {
            Some(generation) => files.write(generation, save, &mut recorder, &|| stop.load(Ordering::Relaxed)),
            None => Ok(Written::default()),
        });
        if done.send(written).is_err() {
            break;
        }
    }
    Some(Counted {
        recorded: recorder.finish(clock.now_ns()),
        times: files.times,
        short_transfers: files.short_transfers,
        requests: files.take_request_counts(),
    })
}
