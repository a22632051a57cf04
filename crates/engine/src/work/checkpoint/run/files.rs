//! The files of one rank: written and read as a whole, renamed, removed.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::checkpoint::{Checkpoint, CheckpointOperation, CheckpointWork, Save};

use crate::failure;
use crate::measure::recorder::Recorder;
use crate::storage::names::{Entry, Presence};
use crate::storage::{Access, Connection, Opening, RequestCounts, move_all};
use crate::work::checkpoint::OnCheckpoint;
use crate::work::run::job_result::JobTimes;
use crate::work::run::{Case, Member};
use crate::workload::buffer::Buffer;
use crate::workload::checkpoint::{self, Shards, State, unfinished_name};
use crate::workload::payload::{Content, compare};

/// What the files of one generation took. Times in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub bytes: u64,
    pub own_ns: u64,
    pub fill_ns: u64,
    pub fsync_ns: u64,
}

impl Written {
    /// Nothing is moved yet at `now_ns`, after `times` were spent on other generations: until it ends, its times are those.
    fn from(now_ns: u64, times: JobTimes) -> Self {
        Self { bytes: 0, own_ns: now_ns, fill_ns: times.fill, fsync_ns: times.fsync }
    }

    /// All is done at `now_ns`, with `times` in all.
    fn until(self, now_ns: u64, times: JobTimes) -> Self {
        Self {
            bytes: self.bytes,
            own_ns: now_ns - self.own_ns,
            fill_ns: times.fill - self.fill_ns,
            fsync_ns: times.fsync - self.fsync_ns,
        }
    }
}

/// A connection to the files that a rank writes or reads, and what that took so far.
pub(super) struct RankFiles<'a> {
    case: &'a Case<'a>,
    name: &'a str,
    checkpoint: &'a Checkpoint,
    shards: Shards,
    /// The rank whose files they are.
    rank: u32,
    content: Content,
    pub times: JobTimes,
    pub short_transfers: u64,
    /// Dropped before the buffers, which it may have registered with the kernel.
    connection: Box<dyn Connection>,
    buffers: Vec<Buffer>,
    /// What a transfer should be, where that is compared.
    expected: Option<Buffer>,
}

impl<'a> RankFiles<'a> {
    /// Those that the rank `shift` further on has written.
    pub fn prepare(
        &Member { case, job, number, .. }: &Member<'a>,
        work: &'a CheckpointWork,
        shift: u32,
    ) -> Result<Self, Box<Failure>> {
        let (plan, name) = (case.plan, work.checkpoint.as_str());
        let shards = work.shards(plan);
        let buffer = || Buffer::new(work.buffer_bytes(&shards).max(1) as usize);
        let mut buffers = vec![buffer()];
        let connection = case.connect((job, number), None, &mut buffers)?;
        let verifies = matches!(&work.operation, CheckpointOperation::Restore(restore) if restore.verify);
        let place = plan.checkpoints.keys().position(|other| other == name).unwrap_or(0) as u64;
        Ok(Self {
            case,
            name,
            checkpoint: &plan.checkpoints[name],
            rank: ((u64::from(number) + u64::from(shift)) % u64::from(shards.ranks())) as u32,
            content: checkpoint::content(plan.seed, place),
            times: JobTimes::default(),
            short_transfers: 0,
            connection,
            expected: verifies.then(buffer),
            buffers,
            shards,
        })
    }

    /// What was counted of its requests.
    pub fn take_request_counts(&mut self) -> RequestCounts {
        self.connection.take_request_counts()
    }

    fn path(&self, generation: u64, state: State) -> PathBuf {
        let of = (self.name, self.checkpoint);
        self.case.workspace.file(&checkpoint::file_name(&self.case.plan.case, of, generation, self.rank, state))
    }

    /// Writes the files of `generation`, or as much of them as it may. Returns what that took.
    pub fn write(
        &mut self,
        generation: u64,
        save: &Save,
        recorder: &mut Recorder<'_>,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<Written, Box<Failure>> {
        let clock = self.case.clock;
        let files: Vec<(State, u64)> = self.shards.files(self.rank).collect();
        let mut written = Written::from(clock.now_ns(), self.times);
        for (state, bytes) in files {
            let path = self.path(generation, state);
            let written_path = if save.rename { unfinished(&path) } else { path.clone() };
            let failed = |operation, error: &io::Error| failure::boxed_on_path(operation, &written_path, error);
            let begin_ns = clock.now_ns();
            let opening = Opening { access: Access::Write, presence: Presence::New, bytes, size: None, advice: &[] };
            let mut open = self.connection.open(&written_path, opening).map_err(|error| failed("open", &error))?;
            let mut now_ns = clock.now_ns();
            self.times.open += now_ns - begin_ns;
            let mut offset = 0;
            while offset < bytes {
                if must_stop() {
                    return Ok(written.until(clock.now_ns(), self.times));
                }
                let length = (self.buffers[0].len() as u64).min(bytes - offset);
                let data = &mut self.buffers[0][..length as usize];
                self.content.fill(data, self.shards.spot(generation, self.rank, state, offset));
                let filled_ns = clock.now_ns();
                self.times.fill += filled_ns - now_ns;
                let nothing = |moved| failure::nothing_written(offset + moved);
                let write = |from: usize| open.write_at(&data[from..], offset + from as u64);
                move_all(data.len(), &mut self.short_transfers, nothing, write)
                    .map_err(|error| failed("write", &error))?;
                now_ns = clock.now_ns();
                self.times.transfer += now_ns - filled_ns;
                recorder.record(filled_ns, now_ns, length);
                (offset, written.bytes) = (offset + length, written.bytes + length);
            }
            if save.fsync {
                open.sync().map_err(|error| failed("fsync", &error))?;
            }
            let synced_ns = clock.now_ns();
            self.times.fsync += synced_ns - now_ns;
            open.close().map_err(|error| failed("close", &error))?;
            if save.rename {
                let renamed = self.rename(&written_path, &path);
                renamed.map_err(|error| failure::boxed_on_path("rename", &written_path, &error))?;
            }
            self.times.close += clock.now_ns() - synced_ns;
        }
        Ok(written.until(clock.now_ns(), self.times))
    }

    /// Reads the files of `generation`, or as much of them as it may, and compares them with what was written if it is to
    /// `verify`. Returns what that took.
    pub fn read(
        &mut self,
        generation: u64,
        verify: bool,
        recorder: &mut Recorder<'_>,
        must_stop: &dyn Fn() -> bool,
    ) -> Result<Written, Box<Failure>> {
        let clock = self.case.clock;
        let files: Vec<(State, u64)> = self.shards.files(self.rank).collect();
        let mut written = Written::from(clock.now_ns(), self.times);
        for (state, bytes) in files {
            let path = self.path(generation, state);
            let failed = |operation, error: &io::Error| failure::boxed_on_path(operation, &path, error);
            let begin_ns = clock.now_ns();
            let opening = Opening { access: Access::Read, presence: Presence::Shared, bytes, size: None, advice: &[] };
            let mut open = self.connection.open(&path, opening).map_err(|error| failed("open", &error))?;
            let mut now_ns = clock.now_ns();
            self.times.open += now_ns - begin_ns;
            let mut offset = 0;
            while offset < bytes {
                if must_stop() {
                    return Ok(written.until(clock.now_ns(), self.times));
                }
                let length = (self.buffers[0].len() as u64).min(bytes - offset);
                let data = &mut self.buffers[0][..length as usize];
                let nothing = |moved| failure::file_ends(offset + moved, "save the checkpoint again");
                let read = |from: usize| open.read_at(&mut data[from..], offset + from as u64);
                move_all(length as usize, &mut self.short_transfers, nothing, read)
                    .map_err(|error| failed("read", &error))?;
                let read_ns = clock.now_ns();
                self.times.transfer += read_ns - now_ns;
                recorder.record(now_ns, read_ns, length);
                now_ns = read_ns;
                if let Some(expected) = self.expected.as_mut().filter(|_| verify) {
                    let expected = &mut expected[..length as usize];
                    let spot = self.shards.spot(generation, self.rank, state, offset);
                    self.content.fill(expected, spot);
                    compare(&self.buffers[0][..length as usize], expected, spot).map_err(|mismatch| {
                        failed(
                            "verify",
                            &failure::other_bytes(&format!(
                                "generation {generation}, from byte {} on,",
                                mismatch.offset
                            )),
                        )
                    })?;
                    now_ns = clock.now_ns();
                    self.times.fill += now_ns - read_ns;
                }
                (offset, written.bytes) = (offset + length, written.bytes + length);
            }
            open.close().map_err(|error| failed("close", &error))?;
            self.times.close += clock.now_ns() - now_ns;
        }
        Ok(written.until(clock.now_ns(), self.times))
    }

    /// Removes the files of the generation that is not kept any more now that `generation` is there.
    pub fn remove_before(&mut self, generation: u64) -> Result<(), Box<Failure>> {
        let Some(old) = generation.checked_sub(self.checkpoint.keep.into()) else { return Ok(()) };
        let files: Vec<(State, u64)> = self.shards.files(self.rank).collect();
        for (state, _) in files {
            let path = self.path(old, state);
            let removed = c_path(&path).and_then(|name| match self.connection.names() {
                Some(names) => names.remove(Entry { directory: None, name: &name }),
                None => Err(io::ErrorKind::Unsupported.into()),
            });
            removed.map_err(|error| failure::boxed_on_path("remove", &path, &error))?;
        }
        Ok(())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let [from, to] = [c_path(from)?, c_path(to)?];
        let entry = |name| Entry { directory: None, name };
        match self.connection.names() {
            Some(names) => names.rename(entry(&from), entry(&to)),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// The name under which the file at `path` is written.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(unfinished_name(&name))
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
