//! The timed phase as one rank lives it: open, transfers, fsync, close, then the record of all ranks.

use std::io;
use std::path::Path;

use ioassay_contract::events::{Event, Failure, RankRecord};
use ioassay_contract::plan::{Fsync, Operation, Phase};

use super::{Case, Rank};
use crate::failure;
use crate::measure::clock;
use crate::measure::doubts::{self, Facts};
use crate::measure::phase::{Circumstances, RankResult, combine};
use crate::measure::recorder::Recorder;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Start, Stopped};
use crate::storage::{Access, OpenFile};
use crate::workload::data::{Sequence, owner};
use crate::workload::layout::file_name;
use crate::workload::payload::Buffer;
use crate::workload::random::SplitMix64;

impl<R: Ranks> Rank<'_, R> {
    /// Runs `phase`, which is step `step` of the plan.
    pub(super) fn phase(&mut self, step: u32, phase: &Phase) -> Result<(), Stopped> {
        let Case { plan, clock, .. } = *self.case;
        let resident_bytes_before = match phase.operation {
            Operation::Read => self.resident()?.bytes,
            Operation::Write => None,
        };
        let (rank, size) = (self.ranks.rank(), self.ranks.size());
        let keys = [plan.seed, u64::from(step), u64::from(rank)];
        let mut buffer = Buffer::random(plan.data.transfer_bytes as usize, SplitMix64::keyed(&keys));
        let owner = owner(phase.operation, rank, size, self.reads_shifted_by);
        let sequence = Sequence::new(plan, phase, step, owner);
        let path = self.case.workspace.file(&file_name(plan, owner));

        let start = self.ranks.start_together()?;
        let started_unix_ns = clock::unix_ns() - (clock.now_ns() - start.opened_ns);
        let (result, failure) = self.transfer(phase, &path, sequence, &mut buffer, start);
        if let Some(failure) = failure {
            self.ranks.fail(&failure::at(failure, rank, &phase.name));
        }

        let Some(results) = self.gather(&result)? else {
            return self.go_on();
        };
        let first = self.ranks.first_finished();
        let found = Circumstances {
            step,
            started_unix_ns,
            first_finished: first.map(|first| (first.at_ns - start.opened_ns, first.bytes)),
            resident_bytes_before,
        };
        let (mut record, median_ns) = combine(plan, phase, found, results);
        let failure = self.ranks.failure();
        record.complete &= failure.is_none();
        record.doubts = doubts::about(Facts {
            plan,
            phase,
            capabilities: self.case.storage.capabilities(),
            nodes: self.case.nodes,
            record: &record,
            median_ns,
            failure: failure.as_ref(),
        });
        self.write(&Event::Phase(Box::new(record)));
        self.go_on()
    }

    /// The timed part: open, transfers, fsync, close. What was done until a failure or a stop is returned too.
    fn transfer(
        &self,
        phase: &Phase,
        path: &Path,
        sequence: Sequence,
        buffer: &mut Buffer,
        start: Start,
    ) -> (RankResult, Option<Failure>) {
        let Case { plan, storage, clock, .. } = *self.case;
        let mut recorder = Recorder::new(self.ranks.shown(), start.opened_ns, plan.sample_interval_ns);
        let mut times = Times::default();
        let access = match phase.operation {
            Operation::Write => Access::Write,
            Operation::Read => Access::Read,
        };

        let mut failure = None;
        let mut short_transfers = 0;
        let mut fail = |operation: &str, error: io::Error| {
            failure.get_or_insert(failure::on_path(operation, path, &error));
        };
        let before_open = clock.now_ns();
        let opened = storage.open(path, access);
        let after_open = clock.now_ns();
        times.open = after_open - before_open;
        match opened {
            Err(error) => fail("open", error),
            Ok(mut file) => {
                let moved = match phase.operation {
                    Operation::Write => {
                        let write = |file: &mut dyn OpenFile, data: &mut [u8], offset| file.write_at(data, offset);
                        self.operations(&mut *file, write, sequence, buffer, &mut recorder, after_open)
                    }
                    Operation::Read => {
                        let read = |file: &mut dyn OpenFile, data: &mut [u8], offset| file.read_at(data, offset);
                        self.operations(&mut *file, read, sequence, buffer, &mut recorder, after_open)
                    }
                };
                short_transfers = moved.short_transfers;
                let after_transfers = clock.now_ns();
                times.transfer = after_transfers - after_open;
                let mut healthy = true;
                if let Err(error) = moved.outcome.and_then(|()| file.still_there()) {
                    fail(operation_name(phase.operation), error);
                    healthy = false;
                }
                // A stopped phase has no figure, and its fsync could take minutes.
                if healthy && phase.fsync == Fsync::AtEnd && !self.ranks.must_stop() {
                    let before_fsync = clock.now_ns();
                    if let Err(error) = file.sync() {
                        fail("fsync", error);
                    }
                    times.fsync = clock.now_ns() - before_fsync;
                }
                let before_close = clock.now_ns();
                if let Err(error) = file.close() {
                    fail("close", error);
                }
                times.close = clock.now_ns() - before_close;
            }
        }
        let end_ns = clock.now_ns();
        let recorded = recorder.finish(end_ns);
        if failure.is_none() && recorded.bytes == plan.bytes_per_rank() {
            self.ranks.cross_finish_line(end_ns);
        }
        let record = RankRecord {
            rank: self.ranks.rank(),
            // Local ranks all sit on the one node that started them.
            node: 0,
            start_ns: start.left_ns - start.opened_ns,
            end_ns: end_ns - start.opened_ns,
            open_ns: times.open,
            transfer_ns: times.transfer,
            fsync_ns: times.fsync,
            close_ns: times.close,
            bytes: recorded.bytes,
            operations: recorded.operations,
            short_transfers,
            slowest_ns: recorded.slowest_ns,
            sample_bytes: recorded.sample_bytes,
            sample_operations: recorded.sample_operations,
        };
        (RankResult { record, latencies: recorded.latencies.buckets() }, failure)
    }

    /// The hot loop. The end of one operation is the beginning of the next, so that one reading of the clock per
    /// operation is enough; what the engine does in between (some 20 ns) counts in the latency.
    #[inline(always)]
    fn operations(
        &self,
        file: &mut dyn OpenFile,
        mut call: impl FnMut(&mut dyn OpenFile, &mut [u8], u64) -> io::Result<usize>,
        mut sequence: Sequence,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
        begin_ns: u64,
    ) -> Moved {
        let mut moved = Moved { outcome: Ok(()), short_transfers: 0 };
        let bytes = buffer.len() as u64;
        let mut begin_ns = begin_ns;
        for index in 0..sequence.transfers() {
            if self.ranks.must_stop() {
                break;
            }
            let offset = sequence.offset(index);
            let first = call(file, buffer, offset);
            if !matches!(first, Ok(count) if count == buffer.len()) {
                moved.outcome = repeat_the_rest(first, file, &mut call, buffer, offset, &mut moved.short_transfers);
                if moved.outcome.is_err() {
                    break;
                }
            }
            let end_ns = self.case.clock.now_ns();
            if recorder.record(begin_ns, end_ns, bytes) {
                moved.outcome = file.still_there();
                if moved.outcome.is_err() {
                    break;
                }
            }
            begin_ns = end_ns;
        }
        moved
    }
}

#[derive(Default)]
struct Times {
    open: u64,
    transfer: u64,
    fsync: u64,
    close: u64,
}

struct Moved {
    outcome: io::Result<()>,
    short_transfers: u64,
}

fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Write => "write",
        Operation::Read => "read",
    }
}

/// Goes on after a call that moved less than asked, or was interrupted. Counts short calls.
#[cold]
fn repeat_the_rest(
    first: io::Result<usize>,
    file: &mut dyn OpenFile,
    call: &mut impl FnMut(&mut dyn OpenFile, &mut [u8], u64) -> io::Result<usize>,
    buffer: &mut [u8],
    offset: u64,
    short_transfers: &mut u64,
) -> io::Result<()> {
    let mut moved = 0;
    let mut answer = first;
    loop {
        match answer {
            Ok(0) => {
                let message = format!("the file ends at byte {}, inside the transfer", offset + moved as u64);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            Ok(count) => {
                moved += count;
                if moved == buffer.len() {
                    return Ok(());
                }
                *short_transfers += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        answer = call(file, &mut buffer[moved..], offset + moved as u64);
    }
}
