//! What a checkpoint, and work on one, must be.

use std::collections::BTreeMap;

use ioassay_protocol::plan::checkpoint::{Checkpoint, CheckpointOperation, CheckpointWork, Model, Restore, Save};
use ioassay_protocol::plan::{Plan, storage::Target};
use ioassay_units::{Bytes, count};

use super::OnCheckpoint;
use crate::refusal::Refusal;
use crate::work::PlannedJob;
use crate::work::checks::{A_DAY_NS, positive};
use crate::work::data::validate::{LARGEST_TRANSFER_BYTES, countable};
use crate::work::sizes::Sizes;
use crate::workload::checkpoint::{Shards, kept, parameters};

/// More generations than this take weeks.
const MOST_GENERATIONS: u64 = 1 << 20;

/// Refuses a checkpoint that cannot be on so many `ranks`.
pub(crate) fn checkpoint(
    key: &str,
    plan: &Plan,
    name: &str,
    described: &Checkpoint,
    ranks: u32,
) -> Result<(), Refusal> {
    let others = plan.files.keys().chain(plan.trees.keys()).chain(plan.datasets.keys());
    if let Some(other) = others.into_iter().find(|set| name == *set || name.starts_with(&format!("{set}."))) {
        let problem = format!("its files would have names of {other:?}, which is a file set, a tree or a dataset");
        return Err(Refusal::new(key, problem, "give the checkpoint another name"));
    }
    if !matches!(plan.target, Target::Directory(_) | Target::Url(_)) {
        let problem = "checkpoints lie in a workspace, which this target has none of";
        return Err(Refusal::new(key, problem, "use a directory"));
    }
    model(&format!("{key}.model"), &described.model)?;
    let counts = [
        ("model_bytes", described.model_bytes),
        ("tensor", described.tensor.into()),
        ("pipeline", described.pipeline.into()),
        ("keep", described.keep.into()),
    ];
    counts.into_iter().try_for_each(|(name, value)| positive(&format!("{key}.{name}"), value))?;
    if described.zero > 3 {
        let problem = format!("ZeRO has no stage {}", described.zero);
        return Err(Refusal::new(format!("{key}.zero"), problem, "use 0, 1, 2 or 3"));
    }
    if let Model::Transformer(model) = &described.model
        && u64::from(described.pipeline) > model.layers
    {
        let problem = format!("{} stages are more than {}", described.pipeline, count(model.layers, "layer"));
        return Err(Refusal::new(format!("{key}.pipeline"), problem, format!("use at most {}", model.layers)));
    }
    let each = u64::from(described.tensor) * u64::from(described.pipeline);
    if !u64::from(ranks).is_multiple_of(each) {
        let problem = format!(
            "{} are no multiple of tensor {} × pipeline {}",
            count(ranks, "rank"),
            described.tensor,
            described.pipeline
        );
        let fewer = u64::from(ranks) / each * each;
        let valid = match fewer {
            0 => format!("use {each} ranks, or split the model less"),
            _ => format!("use {fewer} or {} ranks", fewer + each),
        };
        return Err(Refusal::new(format!("{key}.tensor"), problem, valid));
    }
    let each_bytes = described.model_bytes.saturating_add(described.optimizer_bytes);
    countable(&format!("{key}.model"), "its state has", parameters(&described.model).saturating_mul(each_bytes))
}

fn model(key: &str, model: &Model) -> Result<(), Refusal> {
    let transformer = match model {
        Model::Parameters(parameters) => return positive(&format!("{key}.parameters"), *parameters),
        Model::Transformer(transformer) => transformer,
    };
    let key = |name: &str| format!("{key}.transformer.{name}");
    let sizes = [
        ("layers", transformer.layers),
        ("hidden", transformer.hidden),
        ("feed_forward", transformer.feed_forward),
        ("heads", transformer.heads),
        ("kv_heads", transformer.kv_heads),
        ("vocabulary", transformer.vocabulary),
    ];
    sizes.into_iter().try_for_each(|(name, value)| positive(&key(name), value))?;
    let at_most = [
        ("heads", transformer.heads, "a hidden size", transformer.hidden),
        ("kv_heads", transformer.kv_heads, "attention heads", transformer.heads),
    ];
    for (name, value, of, most) in at_most {
        if value > most {
            let problem = format!("{value} are more than {of} of {most}");
            return Err(Refusal::new(key(name), problem, format!("use at most {most}")));
        }
    }
    Ok(())
}

/// Refuses work that cannot be done; counts in `saved` how many generations there have been of each checkpoint.
pub(super) fn work(
    job: &PlannedJob<'_>,
    work: &CheckpointWork,
    saved: &mut BTreeMap<String, u64>,
) -> Result<(), Refusal> {
    let (key, plan) = (job.key, job.plan);
    let Some(checkpoint) = plan.checkpoints.get(&work.checkpoint) else {
        let known: Vec<&str> = plan.checkpoints.keys().map(String::as_str).collect();
        let valid = if known.is_empty() {
            "describe it in checkpoints".to_owned()
        } else {
            format!("use {}", known.join(" or "))
        };
        let problem = format!("there is no checkpoint {:?}", work.checkpoint);
        return Err(Refusal::new(format!("{key}.checkpoint"), problem, valid));
    };
    let (all, range) = (plan.rank_count(), job.job.range(plan.rank_count()));
    if range.count != all {
        let problem =
            format!("only {} of {} have this job, and a checkpoint is of all", range.count, count(all, "rank"));
        return Err(Refusal::new(format!("{key}.checkpoint"), problem, "let all ranks save and restore it"));
    }
    storage(job, work)?;
    let saved = saved.entry(work.checkpoint.clone()).or_default();
    match &work.operation {
        CheckpointOperation::Save(saving) => {
            save(job, saving, checkpoint.keep)?;
            *saved = saved.saturating_add(saving.count);
            Ok(())
        }
        CheckpointOperation::Restore(restoring) => {
            let there = kept(checkpoint, *saved);
            restore(job, work, restoring, (there.end - there.start, all))
        }
    }
}

/// Refuses storage that cannot write or read the files, each rank its own.
fn storage(job: &PlannedJob<'_>, work: &CheckpointWork) -> Result<(), Refusal> {
    let (key, can, api) = (job.key, &job.storage.can, &job.storage.asked.api);
    if can.needs_mpi || can.collective_files || can.collective_transfers {
        let problem = format!("{api} needs all ranks for each file, and each rank of a checkpoint has its own");
        return Err(Refusal::new(format!("{key}.checkpoint"), problem, "use posix, mmap, io_uring or an object store"));
    }
    if job.storage.asked.depth > 1 {
        let problem = "a rank writes and reads its files one transfer after the other";
        return Err(Refusal::new(format!("{key}.transfer_bytes"), problem, "use a depth of 1 and larger transfers"));
    }
    let transfer_key = format!("{key}.transfer_bytes");
    positive(&transfer_key, work.transfer_bytes)?;
    if work.transfer_bytes > LARGEST_TRANSFER_BYTES {
        let problem = format!("{} at once are too many", Bytes(work.transfer_bytes).about());
        let valid = format!("use at most {}", Bytes(LARGEST_TRANSFER_BYTES).about());
        return Err(Refusal::new(transfer_key, problem, valid));
    }
    let largest = work.shards(job.plan).largest_file_bytes();
    if can.whole_files && work.transfer_bytes < largest {
        let problem = format!("{api} writes each file at once, and one has {}", Bytes(largest).about());
        return Err(Refusal::new(transfer_key, problem, format!("use {largest}, or more ranks")));
    }
    if let Some(parts) = can.parts.filter(|_| largest > work.transfer_bytes) {
        let least = parts.smallest_bytes.max(largest.div_ceil(parts.most));
        if work.transfer_bytes < least {
            let problem =
                format!("an object of {} would have parts that are too small or too many", Bytes(largest).about());
            return Err(Refusal::new(transfer_key, problem, format!("use {least} or more")));
        }
    }
    Ok(())
}

fn save(job: &PlannedJob<'_>, save: &Save, keep: u32) -> Result<(), Refusal> {
    let (can, api) = (&job.storage.can, &job.storage.asked.api);
    let key = |name: &str| format!("{}.operation.{name}", job.key);
    generations(&key("count"), save.count)?;
    if save.every_ns > A_DAY_NS {
        let problem = format!("{} ns between two saves is too long", save.every_ns);
        return Err(Refusal::new(key("every_ns"), problem, format!("use at most {A_DAY_NS} (a day)")));
    }
    if save.fsync && !can.sync && !can.synced_by_close && can.files {
        let problem = format!("{api} cannot force files to stable storage");
        return Err(Refusal::new(key("fsync"), problem, "leave it out"));
    }
    if save.background.is_some_and(|background| background.copy_bytes_per_s == 0) {
        let problem = "a state that is copied at 0 bytes per second never is";
        return Err(Refusal::new(key("background.copy_bytes_per_s"), problem, "use for example 20000000000"));
    }
    if save.rename && !can.names.is_some_and(|names| names.rename) {
        return Err(Refusal::new(key("rename"), format!("{api} cannot rename files"), "leave it out"));
    }
    if can.names.is_none() && save.count > keep.into() {
        let problem = format!("{api} cannot remove files, and only {} are kept", count(keep, "generation"));
        return Err(Refusal::new(key("count"), problem, format!("use at most {keep}, or keep more")));
    }
    Ok(())
}

fn restore(
    job: &PlannedJob<'_>,
    work: &CheckpointWork,
    restore: &Restore,
    (there, ranks): (u64, u32),
) -> Result<(), Refusal> {
    let key = |name: &str| format!("{}.operation.{name}", job.key);
    generations(&key("count"), restore.count)?;
    if there == 0 && job.storage.can.files {
        let problem = format!("no earlier step saves the checkpoint {:?}", work.checkpoint);
        return Err(Refusal::new(format!("{}.checkpoint", job.key), problem, "save it in an earlier phase"));
    }
    if restore.count > there && job.storage.can.files {
        let problem =
            format!("{} cannot be restored, since only {there} are there", count(restore.count, "generation"));
        let valid = format!("use at most {there}, or save and keep more");
        return Err(Refusal::new(key("count"), problem, valid));
    }
    if restore.shift >= ranks {
        let problem = format!("there is no rank {} further on", restore.shift);
        return Err(Refusal::new(key("shift"), problem, format!("use at most {}", ranks - 1)));
    }
    Ok(())
}

fn generations(key: &str, count: u64) -> Result<(), Refusal> {
    positive(key, count)?;
    if count > MOST_GENERATIONS {
        let problem = format!("{count} generations are too many");
        return Err(Refusal::new(key, problem, format!("use at most {MOST_GENERATIONS}")));
    }
    Ok(())
}

/// Refuses files that direct I/O cannot move.
pub(super) fn aligned(job: &PlannedJob<'_>, work: &CheckpointWork, unit: u64) -> Result<(), Refusal> {
    if !work.transfer_bytes.is_multiple_of(unit) {
        let problem = format!("direct I/O moves multiples of {unit} bytes");
        return Err(Refusal::new(format!("{}.transfer_bytes", job.key), problem, format!("use a multiple of {unit}")));
    }
    let shards: Shards = work.shards(job.plan);
    let is_aligned = |rank| shards.files(rank).all(|(_, bytes)| bytes.is_multiple_of(unit));
    if (0..shards.ranks()).all(is_aligned) {
        return Ok(());
    }
    let problem = format!("direct I/O moves multiples of {unit} bytes, and files of the checkpoint are none");
    Err(Refusal::new(format!("{}.checkpoint", job.key), problem, "work on it without direct I/O (storage of the job)"))
}
