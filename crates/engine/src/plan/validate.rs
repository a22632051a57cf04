//! Every reason to refuse a plan before any I/O: what cannot run anywhere, and what its storage API cannot do.

use std::collections::HashSet;

use ioassay_protocol::plan::metadata::Sharing;
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{Phase, Plan, RankRange, Step};

use super::cache;
use crate::refusal::Refusal;
use crate::work::checkpoint::validate as checkpoint;
use crate::work::checks::{A_DAY_NS, range};
use crate::work::data::validate as data;
use crate::work::metadata::validate as metadata;
use crate::work::sizes::Sizes;
use crate::work::storage::{JobStorage, SECTOR_BYTES};
use crate::work::train::validate as train;
use crate::work::{LeftOnTarget, PlannedJob, kind_of, pace};
use crate::workload::layout::geometries;

/// More ranks than this on one engine is a typing error.
pub const MOST_RANKS: u32 = 1 << 20;

/// Most jobs that a phase can have side by side: ranks have room for what each of them shares.
pub const MOST_JOBS: usize = 64;

/// The shortest sample: more of them would be measured than operations.
pub const SHORTEST_SAMPLE_NS: u64 = 1_000_000;

/// The longest sample.
pub const LONGEST_SAMPLE_NS: u64 = 3_600_000_000_000;

/// Refuses a plan that cannot run anywhere.
pub fn validate(plan: &Plan) -> Result<(), Refusal> {
    identifier("run", &plan.run)?;
    identifier("case", &plan.case)?;
    let ranks = ranks(plan)?;
    target(&plan.target)?;
    let common = JobStorage::of_plan(plan)?;
    for (name, set) in &plan.files {
        identifier(&format!("files.{name}"), name)?;
        data::file_set(&format!("files.{name}"), set, ranks)?;
    }
    data::all_file_sets(&plan.files, ranks)?;
    for (name, tree) in &plan.trees {
        identifier(&format!("trees.{name}"), name)?;
        metadata::tree(&format!("trees.{name}"), plan, name, tree, ranks)?;
    }
    for (name, dataset) in &plan.datasets {
        identifier(&format!("datasets.{name}"), name)?;
        train::dataset(&format!("datasets.{name}"), plan, name, dataset)?;
    }
    for (name, described) in &plan.checkpoints {
        identifier(&format!("checkpoints.{name}"), name)?;
        checkpoint::checkpoint(&format!("checkpoints.{name}"), plan, name, described, ranks)?;
    }
    in_place(plan, ranks)?;
    steps(plan, ranks, &common)?;
    data::countable("steps", "all jobs together write", plan.written_bytes())?;
    if !(SHORTEST_SAMPLE_NS..=LONGEST_SAMPLE_NS).contains(&plan.sample_interval_ns) {
        let problem = format!("a sample interval of {} ns is out of range", plan.sample_interval_ns);
        let valid = format!("use {SHORTEST_SAMPLE_NS} (1 ms) to {LONGEST_SAMPLE_NS} (1 h)");
        return Err(Refusal::new("sample_interval_ns", problem, valid));
    }
    Ok(())
}

/// Refuses jobs with direct I/O on a target where that moves multiples of `unit` bytes.
pub fn validate_alignment(plan: &Plan, unit: u64) -> Result<(), Refusal> {
    for (index, step) in plan.steps.iter().enumerate() {
        let Step::Phase(phase) = step else { continue };
        for (nth, job) in phase.jobs.iter().enumerate() {
            let key = job_key(&format!("steps[{index}]"), nth);
            let storage = JobStorage::of_job(&key, plan, job)?;
            let job = PlannedJob { key: &format!("{key}.work"), plan, job, step: index, storage: &storage };
            aligned(&job, unit).map_err(|refusal| refusal.in_phase(&phase.name))?;
        }
    }
    Ok(())
}

/// The key of job number `nth` of the step `key`.
fn job_key(key: &str, nth: usize) -> String {
    format!("{key}.jobs[{nth}]")
}

/// Refuses what direct I/O cannot move where it moves multiples of `unit` bytes, unless that is left to the file system.
fn aligned(job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
    if !job.storage.asked.direct || job.storage.asked.unaligned {
        return Ok(());
    }
    kind_of(&job.job.work).validate_alignment(job, unit)
}

/// Identifiers become file names: nothing that a path or a shell would take for more than letters.
fn identifier(key: &str, value: &str) -> Result<(), Refusal> {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = !value.is_empty() && value.len() <= 128 && !value.starts_with('.') && value.chars().all(letters);
    if fits {
        return Ok(());
    }
    let valid = "use 1 to 128 letters, digits, '.', '_' or '-', not beginning with '.'";
    Err(Refusal::new(key, format!("{value:?} is not a valid name"), valid))
}

fn ranks(plan: &Plan) -> Result<u32, Refusal> {
    let counts = [("ranks.clients", plan.ranks.clients), ("ranks.per_client", plan.ranks.per_client)];
    for (key, count) in counts {
        if count == 0 {
            return Err(Refusal::new(key, "0 does no I/O", "use 1 or more"));
        }
    }
    match plan.ranks.total() {
        Some(total) if total <= MOST_RANKS => Ok(total),
        _ => {
            let problem =
                format!("{} clients with {} ranks each are too many ranks", plan.ranks.clients, plan.ranks.per_client);
            Err(Refusal::new("ranks", problem, format!("use at most {MOST_RANKS} ranks in all")))
        }
    }
}

fn target(target: &Target) -> Result<(), Refusal> {
    let absolute = |key: &str, path: &std::path::Path, valid: &str| {
        if path.is_absolute() {
            return Ok(());
        }
        Err(Refusal::new(key, format!("{} is a relative path", path.display()), valid))
    };
    match target {
        Target::Directory(path) => {
            absolute("target.directory", path, "write the absolute path of an existing directory")
        }
        Target::InPlace(place) => {
            absolute(
                "target.in-place.directory",
                &place.directory,
                "write the absolute path of an existing directory",
            )?;
            let containers = place.trees.values().flat_map(|tree| &tree.containers);
            let paths = place.files.values().flatten().chain(containers).chain(&place.directories);
            paths.into_iter().try_for_each(|path| absolute("target.in-place", path, "write absolute paths"))
        }
        Target::Device(device) => {
            absolute("target.device.path", &device.path, "write the absolute path of a block device")?;
            if device.path == device.destroy_data {
                return Ok(());
            }
            let problem =
                format!("{} is not the target device {}", device.destroy_data.display(), device.path.display());
            let valid = "repeat the path of the device if all data on it may be destroyed";
            Err(Refusal::new("target.device.destroy_data", problem, valid))
        }
        Target::Url(url) if url.contains("://") => Ok(()),
        Target::Url(url) => {
            // Not repeated here: it may hold a secret.
            let problem = format!("the URL ({} characters) has no scheme", url.len());
            Err(Refusal::new("target.url", problem, "write for example s3://bucket/prefix"))
        }
    }
}

/// Each file must have a place, and each tree.
fn in_place(plan: &Plan, ranks: u32) -> Result<(), Refusal> {
    let Target::InPlace(place) = &plan.target else { return Ok(()) };
    for (name, set) in geometries(&plan.files, ranks) {
        let given = place.files.get(name).map_or(0, Vec::len) as u64;
        if given != set.files() {
            let problem = format!("there are {given} paths for the {} files of {name}", set.files());
            return Err(Refusal::new(format!("target.in-place.files.{name}"), problem, "list one path for each file"));
        }
    }
    for (name, tree) in &plan.trees {
        let containers = place.trees.get(name).map_or(0, |tree| tree.containers.len());
        if containers == 0 || (containers > 1 && tree.sharing != Sharing::Unique) {
            let problem = format!("the tree {name} has {containers} directories");
            let valid = "list one, or several where each rank has its own tree";
            return Err(Refusal::new(format!("target.in-place.trees.{name}"), problem, valid));
        }
    }
    Ok(())
}

fn steps(plan: &Plan, ranks: u32, common: &JobStorage<'_>) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    let mut left = LeftOnTarget::default();
    for (index, step) in plan.steps.iter().enumerate() {
        let key = format!("steps[{index}]");
        match step {
            Step::Phase(phase) => {
                identifier(&format!("{key}.name"), &phase.name)?;
                if !names.insert(&phase.name) {
                    let problem = format!("two phases are called {:?}", phase.name);
                    return Err(Refusal::new(format!("{key}.name"), problem, "give each phase a different name"));
                }
                let jobs = jobs(&key, plan, phase, index, ranks, common, &mut left);
                jobs.map_err(|refusal| refusal.in_phase(&phase.name))?;
            }
            Step::ColdCache(cold) => cache::step(&key, plan, cold)?,
            Step::RemoveFiles { files } => {
                let place = matches!(plan.target, Target::InPlace(_));
                if !place || files.iter().any(|name| !plan.files.contains_key(name)) {
                    let problem = format!("{} cannot be removed", files.join(", "));
                    let valid = "list file sets of an in-place target; others are removed at the end";
                    return Err(Refusal::new(format!("{key}.files"), problem, valid));
                }
            }
            Step::Pause { duration_ns } if *duration_ns > A_DAY_NS => {
                let problem = format!("a pause of {duration_ns} ns is too long");
                let valid = format!("use at most {A_DAY_NS} (a day)");
                return Err(Refusal::new(format!("{key}.duration_ns"), problem, valid));
            }
            Step::Pause { .. } => {}
        }
    }
    if names.is_empty() {
        return Err(Refusal::new("steps", "there is no phase, so nothing is measured", "add a phase"));
    }
    Ok(())
}

fn jobs(
    key: &str,
    plan: &Plan,
    phase: &Phase,
    step: usize,
    ranks: u32,
    common: &JobStorage<'_>,
    left: &mut LeftOnTarget,
) -> Result<(), Refusal> {
    let count = phase.jobs.len();
    if count == 0 || count > MOST_JOBS {
        let problem = format!("a phase cannot have {count} jobs");
        return Err(Refusal::new(format!("{key}.jobs"), problem, format!("use 1 to {MOST_JOBS}")));
    }
    let mut names = HashSet::new();
    let mut busy: Vec<RankRange> = Vec::new();
    for (index, job) in phase.jobs.iter().enumerate() {
        let key = job_key(key, index);
        identifier(&format!("{key}.name"), &job.name)?;
        if !names.insert(&job.name) {
            let problem = format!("two jobs of the phase are called {:?}", job.name);
            return Err(Refusal::new(format!("{key}.name"), problem, "give each job a different name"));
        }
        range(&format!("{key}.ranks"), job.ranks, ranks)?;
        let members = job.range(ranks);
        if let Some(other) = busy
            .iter()
            .find(|other| members.first < other.first + other.count && other.first < members.first + members.count)
        {
            let problem =
                format!("ranks {} to {} already have a job in this phase", other.first, other.first + other.count - 1);
            return Err(Refusal::new(format!("{key}.ranks"), problem, "give each job of a phase different ranks"));
        }
        busy.push(members);
        pace::pace(&key, plan, job, step)?;
        let storage = JobStorage::of_job(&key, plan, job)?;
        storage.goes_with(common)?;
        let work_key = format!("{key}.work");
        let planned = PlannedJob { key: &work_key, plan, job, step, storage: &storage };
        kind_of(&job.work).validate(&planned, left)?;
        aligned(&planned, SECTOR_BYTES)?;
        data::countable(&work_key, "the job moves", plan.moved_bytes(job))?;
    }
    Ok(())
}
