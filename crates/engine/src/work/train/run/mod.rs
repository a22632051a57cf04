//! Doing it, as one rank: [`create`] writes the files of a dataset, [`epoch`] is an accelerator, [`loader`] feeds it.

mod create;
mod epoch;
mod loader;

use std::fmt::Write as _;
use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::train::{TrainOperation, TrainWork};

use self::create::CreateJob;
use self::epoch::EpochJob;
use crate::failure;
use crate::ranks::Ranks;
use crate::storage::Connection;
use crate::work::run::Case;
use crate::work::run::{History, Member, PreparedJob, RunWork};
use crate::workload::buffer::Buffer;
use crate::workspace::kept;

impl<R: Ranks> RunWork<R> for TrainWork {
    fn prepare<'a>(
        &'a self,
        member: &Member<'a>,
        _history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        Ok(match &self.operation {
            TrainOperation::Create { fsync } => Box::new(CreateJob::prepare(member, self, *fsync)?),
            TrainOperation::Epoch(epoch) => Box::new(EpochJob::prepare(member, self, epoch)),
        })
    }
}

/// A connection to the files of `dataset`, in the workspace or where it is kept.
fn connect(
    case: &Case<'_>,
    dataset: &str,
    member: (&Job, u32),
    buffers: &mut [Buffer],
) -> Result<Box<dyn Connection>, Box<Failure>> {
    if case.plan.datasets[dataset].keep.is_none() {
        return case.connect(member, None, buffers);
    }
    let first = case.workspace.dataset_file(case.plan, dataset, 0);
    let directory = first.parent().unwrap_or(&first);
    let root = kept::root(directory).map_err(|error| failure::boxed_on_path("open", directory, &error))?;
    case.connect_beneath(Some(&root), member, None, buffers)
}

/// The path of one file of a dataset after another, without an allocation for each.
struct FilePath {
    text: String,
    digits_at: usize,
}

impl FilePath {
    fn new(case: &Case<'_>, dataset: &str) -> Self {
        let first = case.workspace.dataset_file(case.plan, dataset, 0);
        let text = first.into_os_string().into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned());
        let digits_at = text.rfind('.').map_or(0, |dot| dot + 1);
        Self { text, digits_at }
    }

    fn of(&mut self, file: u64) -> &Path {
        self.text.truncate(self.digits_at);
        let _ = write!(self.text, "{file:08}");
        Path::new(&self.text)
    }

    fn current(&self) -> &Path {
        Path::new(&self.text)
    }
}
