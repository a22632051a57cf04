//! Writing the files of a dataset.

use std::ops::Range;
use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::train::TrainWork;
use nix::errno::Errno;
use nix::sys::stat::{Mode, mkdirat};

use super::{FilePath, connect, root};
use crate::failure;
use crate::ranks::{Ranks, Start};
use crate::storage::names::Presence;
use crate::storage::{Access, Connection, OpenFile, Opening, move_all};
use crate::work::WorkKind;
use crate::work::run::PreparedJob;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Flow, Moved, Operate, Operations};
use crate::work::run::{Case, Member};
use crate::work::sizes::Sizes;
use crate::work::train::{OnDataset, WRITE};
use crate::workload::buffer::Buffer;
use crate::workload::container::FileBytes;
use crate::workload::dataset::Samples;
use crate::workload::payload::Content;

/// The creation of a rank's files, prepared outside the clock.
pub(super) struct CreateJob<'a> {
    case: &'a Case<'a>,
    work: &'a TrainWork,
    samples: Samples,
    content: Content,
    fsync: bool,
    /// The rank creates every so many files from this one on.
    files: std::iter::StepBy<Range<u64>>,
    path: FilePath<'a>,
    /// Dropped after the connection, which may have registered it with the kernel.
    connection: Box<dyn Connection>,
    buffers: Vec<Buffer>,
}

impl<'a> CreateJob<'a> {
    pub fn prepare(
        &Member { case, job, number: member, .. }: &Member<'a>,
        work: &'a TrainWork,
        fsync: bool,
    ) -> Result<Self, Box<Failure>> {
        let (_, samples) = work.samples(case.plan);
        let most = work.transfer_bytes(case.plan, job).min(samples.largest_file_bytes());
        let mut buffers = vec![Buffer::new(most as usize)];
        let connection = connect(case, &work.dataset, (job, member), &mut buffers)?;
        let ranks = case.plan.workers(job).count as usize;
        create_subfolders(case, &work.dataset)?;
        Ok(Self {
            case,
            work,
            content: samples.content(),
            fsync,
            files: (u64::from(member)..samples.all_files().max(member.into())).step_by(ranks),
            path: FilePath::new(case, &work.dataset),
            samples,
            connection,
            buffers,
        })
    }

    fn create<R: Ranks>(
        &mut self,
        ranks: &R,
        operations: &mut Operations<'_, R>,
        (times, short_transfers): (&mut JobTimes, &mut u64),
    ) -> Result<(), Box<Failure>> {
        let clock = self.case.clock;
        let is_kept = self.case.plan.datasets[&self.work.dataset].keep.is_some();
        for file in self.files.clone() {
            let (path, bytes) = (self.path.of(file), self.samples.file_bytes(file));
            if is_kept && is_complete(path, bytes)? {
                continue;
            }
            let failed = |operation| move |error: std::io::Error| failure::boxed_on_path(operation, path, &error);
            let opened_ns = clock.now_ns();
            let opening = Opening { access: Access::Write, presence: Presence::New, bytes, size: None, advice: &[] };
            let mut open = self.connection.open(path, opening).map_err(failed("open"))?;
            let begin_ns = clock.now_ns();
            times.open += begin_ns - opened_ns;
            let apart_ns = operations.prepared_ns();
            operations.restart_timer();
            let buffer = &mut self.buffers[0][..];
            let transfers = bytes.div_ceil(buffer.len() as u64);
            let mut writer = FileWriter {
                content: FileBytes::of_file(&self.samples, &self.content, file),
                open: &mut *open,
                path,
                bytes,
                filled: 0,
                buffer,
                short_transfers,
            };
            let flow = operations.run(0..transfers, &mut writer)?;
            let written_ns = clock.now_ns();
            times.transfer += written_ns - begin_ns - (operations.prepared_ns() - apart_ns);
            if flow == Flow::Enough || ranks.must_stop() {
                return Ok(());
            }
            if self.fsync {
                open.sync().map_err(failed("fsync"))?;
            }
            let synced_ns = clock.now_ns();
            times.fsync += synced_ns - written_ns;
            open.close().map_err(failed("close"))?;
            times.close += clock.now_ns() - synced_ns;
        }
        Ok(())
    }
}

/// Creates the subfolders of a dataset, as far as no other rank has done so. Object stores have none.
fn create_subfolders(case: &Case<'_>, dataset: &str) -> Result<(), Box<Failure>> {
    let prefix = case.workspace.dataset_prefix(case.plan, dataset);
    let count = case.plan.datasets[dataset].subfolders;
    let (Some(directory), Some(name), true) =
        (prefix.parent(), prefix.file_name(), count > 0 && case.plan.target.path().is_some())
    else {
        return Ok(());
    };
    let create = || -> std::io::Result<()> {
        let root = root(case, dataset)?;
        for folder in 0..count {
            let name = format!("{}{folder:04}", name.to_string_lossy());
            match mkdirat(root.directory(), name.as_str(), Mode::from_bits_truncate(0o755)) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    };
    create().map_err(|error| failure::boxed_on_path("create directory", directory, &error))
}

/// True if a file of a kept dataset is there and whole. One that an interrupted run left unfinished is removed.
fn is_complete(path: &Path, bytes: u64) -> Result<bool, Box<Failure>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == bytes => Ok(true),
        Ok(_) => {
            std::fs::remove_file(path).map(|()| false).map_err(|error| failure::boxed_on_path("remove", path, &error))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failure::boxed_on_path("stat", path, &error)),
    }
}

impl<R: Ranks> PreparedJob<R> for CreateJob<'_> {
    fn run(mut self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let Case { plan, clock, .. } = *self.case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let (mut times, mut short_transfers) = (JobTimes::default(), 0);
        let failure = self.create(ranks, &mut operations, (&mut times, &mut short_transfers)).err();
        times.fill = operations.prepared_ns();
        let complete = failure.is_none() && !ranks.must_stop();
        let statistics = operations.finish(failure.is_some());
        JobResult {
            times,
            short_transfers,
            requests: self.connection.take_request_counts(),
            complete,
            synced: complete && self.fsync,
            failure,
            ..JobResult::new(self.work.lanes(), statistics)
        }
    }
}

/// The transfers of one open file.
struct FileWriter<'a> {
    content: FileBytes<'a>,
    open: &'a mut dyn OpenFile,
    path: &'a Path,
    bytes: u64,
    /// Bytes of the buffer that are to be written.
    filled: usize,
    buffer: &'a mut [u8],
    short_transfers: &'a mut u64,
}

impl Operate for FileWriter<'_> {
    fn prepares(&self) -> bool {
        true
    }

    /// Makes the bytes of transfer `index`.
    fn prepare(&mut self, index: u64) {
        let left = self.bytes - index * self.buffer.len() as u64;
        self.filled = (self.buffer.len() as u64).min(left) as usize;
        self.content.fill(&mut self.buffer[..self.filled]);
    }

    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let (data, begin) = (&self.buffer[..self.filled], index * self.buffer.len() as u64);
        let nothing = |moved| failure::nothing_written(begin + moved);
        let written = move_all(data.len(), self.short_transfers, nothing, |from| {
            self.open.write_at(&data[from..], begin + from as u64)
        });
        written.map_err(|error| failure::boxed_on_path("write", self.path, &error))?;
        Ok(Moved { bytes: data.len() as u64, lane: WRITE })
    }
}
