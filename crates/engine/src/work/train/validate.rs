//! What a dataset and an epoch must be.

use std::collections::BTreeSet;

use ioassay_protocol::plan::train::{ComputeTimes, Container, Dataset, Epoch, SampleSizes, TrainOperation, TrainWork};
use ioassay_protocol::plan::{Job, Plan, storage::Target};
use ioassay_units::{Bytes, count};

use super::{buffer_bytes, transfer_bytes};
use crate::refusal::Refusal;
use crate::storage::Capabilities;
use crate::work::PlannedJob;
use crate::work::checks::{A_DAY_NS, positive};
use crate::work::data::validate::countable;
use crate::work::sizes::Sizes;
use crate::workload::container;
use crate::workload::dataset::{EpochOrder, Samples};
use crate::workload::step_times::longest_ns;

/// A sample, or a file that is written at once, is at most so large: buffers hold one.
const LARGEST_SAMPLE_BYTES: u64 = 4 << 30;

/// More samples than this take minutes to add up.
const MOST_SAMPLES: u64 = 1 << 32;

/// More directories than this are of no use to any number of files.
const MOST_SUBFOLDERS: u64 = 10_000;

/// More threads than this per rank only wait for a processor.
const MOST_THREADS: u32 = 1024;

/// Refuses a dataset that cannot be.
pub(crate) fn dataset(key: &str, plan: &Plan, name_of: &str, dataset: &Dataset) -> Result<(), Refusal> {
    let is_of_set = |set: &&String| name_of == *set || name_of.starts_with(&format!("{set}."));
    if let Some(other) = plan.files.keys().chain(plan.trees.keys()).find(is_of_set) {
        let problem = format!("its files would have names of {other:?}, which is a file set or a tree");
        return Err(Refusal::new(key, problem, "give the dataset another name"));
    }
    if !matches!(plan.target, Target::Directory(_) | Target::Url(_)) {
        return Err(Refusal::new(key, "datasets lie in a workspace, which this target has none of", "use a directory"));
    }
    if let Some(name) = &dataset.keep {
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > 128 || !name.chars().all(letters) {
            let valid = "use 1 to 128 letters, digits, '.', '_' or '-'";
            return Err(Refusal::new(format!("{key}.keep"), format!("{name:?} is not a valid name"), valid));
        }
        if !matches!(plan.target, Target::Directory(_)) {
            let problem = "only directories of a mounted file system keep datasets";
            return Err(Refusal::new(format!("{key}.keep"), problem, "leave it out, or use a directory"));
        }
        let others =
            plan.datasets.iter().filter(|(other, of)| other.as_str() != name_of && of.keep.as_ref() == Some(name));
        if others.count() > 0 {
            let problem = format!("two datasets are kept as {name:?}");
            return Err(Refusal::new(format!("{key}.keep"), problem, "give each another name"));
        }
    }
    positive(&format!("{key}.samples"), dataset.samples)?;
    positive(&format!("{key}.samples_per_file"), dataset.samples_per_file)?;
    if dataset.samples > MOST_SAMPLES {
        let problem = format!("{} samples are too many", dataset.samples);
        return Err(Refusal::new(format!("{key}.samples"), problem, format!("use at most {MOST_SAMPLES}")));
    }
    if !dataset.samples.is_multiple_of(dataset.samples_per_file) {
        let problem = format!("{} samples do not fill files of {}", dataset.samples, dataset.samples_per_file);
        let valid = format!("use a multiple of {} samples", dataset.samples_per_file);
        return Err(Refusal::new(format!("{key}.samples_per_file"), problem, valid));
    }
    if dataset.container == Container::Npz && dataset.samples_per_file > 1 {
        let problem = format!("{} samples do not fit into one array of an npz file", dataset.samples_per_file);
        return Err(Refusal::new(format!("{key}.samples_per_file"), problem, "use 1, or another container"));
    }
    if dataset.subfolders > MOST_SUBFOLDERS {
        let problem = format!("{} subfolders are too many", dataset.subfolders);
        return Err(Refusal::new(format!("{key}.subfolders"), problem, format!("use at most {MOST_SUBFOLDERS}")));
    }
    sizes(&format!("{key}.sizes"), &dataset.sizes)?;
    let samples = Samples::of(dataset);
    let largest = samples.largest_bytes();
    let most = LARGEST_SAMPLE_BYTES.min(container::largest_sample_bytes(dataset.container));
    if largest > most {
        let problem = format!("a sample may have {}", Bytes(largest).about());
        let valid = format!("use samples of at most {}", Bytes(most).about());
        return Err(Refusal::new(format!("{key}.sizes"), problem, valid));
    }
    countable(&format!("{key}.samples"), "the samples add up to", samples.all_bytes())
}

fn sizes(key: &str, sizes: &SampleSizes) -> Result<(), Refusal> {
    match sizes {
        SampleSizes::Fixed(bytes) => positive(&format!("{key}.fixed"), *bytes),
        SampleSizes::Normal { least_bytes, .. } => positive(&format!("{key}.normal.least_bytes"), *least_bytes),
        SampleSizes::Histogram(sizes) => {
            let weights = sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(size.weight));
            if weights.is_none_or(|sum| sum == 0) {
                let problem = "the weights of the sizes add up to 0, or to 2^64 or more";
                return Err(Refusal::new(format!("{key}.histogram"), problem, "use weights of 1 to a million"));
            }
            sizes.iter().try_for_each(|size| positive(&format!("{key}.histogram.bytes"), size.bytes))
        }
    }
}

/// Refuses work that cannot be done; notes what is created in `created`.
pub(super) fn work(job: &PlannedJob<'_>, work: &TrainWork, created: &mut BTreeSet<String>) -> Result<(), Refusal> {
    let (key, plan, can) = (job.key, job.plan, &job.storage.can);
    let Some(dataset) = plan.datasets.get(&work.dataset) else {
        let known: Vec<&str> = plan.datasets.keys().map(String::as_str).collect();
        let valid =
            if known.is_empty() { "describe it in datasets".to_owned() } else { format!("use {}", known.join(" or ")) };
        return Err(Refusal::new(format!("{key}.dataset"), format!("there is no dataset {:?}", work.dataset), valid));
    };
    storage(key, plan, job.job, can)?;
    match &work.operation {
        TrainOperation::Create { fsync } => {
            if *fsync && !can.sync && !can.synced_by_close && can.files {
                let problem = format!("{} cannot force files to stable storage", job.storage.asked.api);
                return Err(Refusal::new(format!("{key}.operation.fsync"), problem, "leave it out"));
            }
            create(key, dataset, can)?;
            if dataset.subfolders > 0 && can.schemes.contains(&"nfs") {
                let problem = "subfolders are created in directories of mounted file systems and in object stores only";
                return Err(Refusal::new(format!("datasets.{}.subfolders", work.dataset), problem, "leave it out"));
            }
            created.insert(work.dataset.clone());
            Ok(())
        }
        TrainOperation::Epoch(loading) => {
            if can.files && !created.contains(&work.dataset) {
                let problem = format!("no earlier step creates the dataset {:?}", work.dataset);
                return Err(Refusal::new(format!("{key}.dataset"), problem, "create it in an earlier phase"));
            }
            epoch(key, plan, job.job, (dataset, loading))
        }
    }
}

/// Refuses storage that loader threads cannot use, each by a connection of its own.
fn storage(key: &str, plan: &Plan, job: &Job, can: &Capabilities) -> Result<(), Refusal> {
    let storage = plan.storage_of(job);
    if can.needs_mpi || can.collective_files || can.collective_transfers {
        let problem = format!("{} needs all ranks for each file, and a data loader opens its own", storage.api);
        return Err(Refusal::new(format!("{key}.dataset"), problem, "use posix, mmap, io_uring or an object store"));
    }
    if storage.depth > 1 {
        let problem = "a loader thread reads one sample after the other";
        return Err(Refusal::new(format!("{key}.operation"), problem, "use a depth of 1 and more loader threads"));
    }
    Ok(())
}

/// Refuses files that the storage API cannot write.
fn create(key: &str, dataset: &Dataset, can: &Capabilities) -> Result<(), Refusal> {
    let samples = Samples::of(dataset);
    let transfer_bytes = transfer_bytes(can, &samples);
    let refuse =
        |problem: String| Err(Refusal::new(format!("{key}.dataset"), problem, "put fewer samples into a file"));
    if transfer_bytes > LARGEST_SAMPLE_BYTES {
        return refuse(format!("each file is written at once, and one has {}", Bytes(transfer_bytes).about()));
    }
    let parts = samples.largest_file_bytes().div_ceil(transfer_bytes);
    match can.parts {
        Some(can) if parts > can.most => refuse(format!("an object would have {}", count(parts, "part"))),
        _ => Ok(()),
    }
}

fn epoch(key: &str, plan: &Plan, job: &Job, (dataset, epoch): (&Dataset, &Epoch)) -> Result<(), Refusal> {
    let key = |name: &str| format!("{key}.operation.{name}");
    positive(&key("batch"), epoch.batch)?;
    positive(&key("prefetch"), epoch.prefetch.into())?;
    if epoch.loader_threads > MOST_THREADS {
        let problem = format!("{} threads per rank are too many", epoch.loader_threads);
        return Err(Refusal::new(key("loader_threads"), problem, format!("use at most {MOST_THREADS}")));
    }
    if let Some(ComputeTimes::Histogram(times)) = &epoch.compute_times {
        let weights = times.iter().try_fold(0_u64, |sum, time| sum.checked_add(time.weight));
        if weights.is_none_or(|sum| sum == 0) {
            let problem = "the weights of the times add up to 0, or to 2^64 or more";
            return Err(Refusal::new(key("compute_times"), problem, "use weights of 1 to a million"));
        }
    }
    if let Some(bytes) = epoch.read_bytes {
        positive(&key("read_bytes"), bytes)?;
    }
    if let Some(samples) = epoch.samples {
        positive(&key("samples"), samples)?;
        if samples > dataset.samples {
            let problem = format!("{samples} samples are more than the dataset has");
            return Err(Refusal::new(key("samples"), problem, format!("use at most {}", dataset.samples)));
        }
    }
    if longest_ns(epoch) > A_DAY_NS {
        let problem = format!("{} ns for a step is too long", longest_ns(epoch));
        return Err(Refusal::new(key("compute_ns"), problem, format!("use at most {A_DAY_NS} (a day)")));
    }
    let (all, range) = (plan.rank_count(), job.range(plan.rank_count()));
    if epoch.sync_steps && range.count != all {
        let problem = format!("only {} of {} have this job", range.count, count(all, "rank"));
        return Err(Refusal::new(key("sync_steps"), problem, "let all ranks train, or leave it out"));
    }
    if EpochOrder::new(dataset, epoch, range.count).steps() == 0 {
        let ranks = count(range.count, "rank");
        let problem = format!(
            "{} are no batch of {} for each of {ranks}",
            count(epoch.samples.unwrap_or(dataset.samples), "sample"),
            epoch.batch
        );
        let least = u64::from(range.count).saturating_mul(epoch.batch);
        let valid = format!("use {least} samples or more, smaller batches, or keep the last one (drop_last: false)");
        return Err(Refusal::new(key("batch"), problem, valid));
    }
    countable(&key("loader_threads"), "the buffers add up to", buffer_bytes(&Samples::of(dataset)))
}

/// Refuses to write what direct I/O cannot. Reads take in the sectors around each sample.
pub(super) fn aligned(job: &PlannedJob<'_>, work: &TrainWork, unit: u64) -> Result<(), Refusal> {
    let samples = Samples::of(&job.plan.datasets[&work.dataset]);
    let is_create = matches!(work.operation, TrainOperation::Create { .. });
    if !is_create || (0..samples.all_files()).all(|file| samples.file_bytes(file).is_multiple_of(unit)) {
        return Ok(());
    }
    let problem = format!("direct I/O writes multiples of {unit} bytes, and files of the dataset are none");
    Err(Refusal::new(format!("{}.dataset", job.key), problem, "create it without direct I/O (storage of the job)"))
}
