//! Doing it, as one rank: [`create`] writes the files of a dataset, [`epoch`] is an accelerator, [`loader`] feeds it.

mod create;
mod epoch;
mod loader;

use std::path::Path;
use std::sync::Arc;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::train::{Dataset, TrainOperation, TrainWork};

use self::create::CreateJob;
use self::epoch::EpochJob;
use crate::beneath::Root;
use crate::failure;
use crate::ranks::Ranks;
use crate::storage::Connection;
use crate::work::run::Case;
use crate::work::run::{History, Member, PreparedJob, RunWork};
use crate::workload::buffer::Buffer;
use crate::workload::dataset::push_name;
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
    let root = root(case, dataset)
        .map_err(|error| failure::boxed_on_path("open", &case.workspace.dataset_prefix(case.plan, dataset), &error))?;
    case.connect_beneath(Some(&root), member, None, buffers)
}

/// The directory beneath which the files of `dataset` lie, of those that are mounted.
fn root(case: &Case<'_>, dataset: &str) -> std::io::Result<Arc<Root>> {
    if case.plan.datasets[dataset].keep.is_none() {
        return case.workspace.root()?.ok_or_else(|| std::io::ErrorKind::Unsupported.into());
    }
    let prefix = case.workspace.dataset_prefix(case.plan, dataset);
    kept::root(prefix.parent().unwrap_or(&prefix))
}

/// The path of one file of a dataset after another, without an allocation for each.
struct FilePath<'a> {
    dataset: &'a Dataset,
    text: String,
    prefix_bytes: usize,
}

impl<'a> FilePath<'a> {
    fn new(case: &Case<'a>, dataset: &str) -> Self {
        let prefix = case.workspace.dataset_prefix(case.plan, dataset);
        let text = prefix.into_os_string().into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned());
        Self { dataset: &case.plan.datasets[dataset], prefix_bytes: text.len(), text }
    }

    fn of(&mut self, file: u64) -> &Path {
        self.text.truncate(self.prefix_bytes);
        push_name(self.dataset, file, &mut self.text);
        Path::new(&self.text)
    }

    fn current(&self) -> &Path {
        Path::new(&self.text)
    }
}
