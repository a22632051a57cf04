//! Find: a walk through directories that the ranks share, for entries that meet conditions.

pub(crate) mod run;

use ioassay_protocol::plan::metadata::{FindWork, Items};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{Job, Operation, Plan, Step};

use super::{LeftOnTarget, PacingSupport, PlannedJob, WorkKind};
use crate::refusal::Refusal;
use crate::storage::Capabilities;

/// All operations of a walk are of one kind, so they have one lane.
const LANE: usize = 0;

impl WorkKind for FindWork {
    fn name(&self) -> &'static str {
        "find"
    }

    fn lanes(&self) -> Vec<(usize, Operation)> {
        vec![(LANE, Operation::Find)]
    }

    fn pacing(&self) -> PacingSupport {
        PacingSupport::None {
            limit: "leave it out: a walk visits every entry",
            rate: "leave rate and think out: a walk runs as fast as it can",
        }
    }

    fn validate(&self, job: &PlannedJob<'_>, _left: &mut LeftOnTarget) -> Result<(), Refusal> {
        if job.job.storage.is_some() {
            let key = format!("{}.storage", job.key.trim_end_matches(".work"));
            return Err(Refusal::new(key, "a walk does not use a storage API", "leave it out"));
        }
        walk(job.key, job.plan, self, job.step, &job.storage.can)
    }

    fn validate_alignment(&self, _job: &PlannedJob<'_>, _unit: u64) -> Result<(), Refusal> {
        Ok(())
    }

    fn operations(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    fn moved_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    fn written_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    fn buffers_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    fn longer_remedy(&self) -> &'static str {
        "walk through more entries"
    }
}

/// Refuses a walk below a tree that is nowhere, or in several places.
fn below(key: &str, plan: &Plan, work: &FindWork, tree: &str) -> Result<(), Refusal> {
    let refuse = |problem: String, valid: &str| Err(Refusal::new(format!("{key}.tree"), problem, valid));
    if work.root.is_some() {
        return refuse("both a root and a tree are set".to_owned(), "set one of them");
    }
    if !plan.trees.contains_key(tree) {
        return refuse(format!("there is no tree {tree:?}"), "use a tree of the plan");
    }
    let containers = match &plan.target {
        Target::InPlace(place) => place.trees.get(tree).map_or(0, |tree| tree.containers.len()),
        Target::Directory(_) | Target::Device(_) | Target::Url(_) => 1,
    };
    if containers > 1 {
        return refuse(format!("{tree:?} spans {containers} directories"), "set a root above them instead");
    }
    Ok(())
}

/// Refuses a walk that contradicts itself.
fn walk(key: &str, plan: &Plan, work: &FindWork, step: usize, can: &Capabilities) -> Result<(), Refusal> {
    let refuse = |name: &str, problem: String, valid: &str| Err(Refusal::new(format!("{key}.{name}"), problem, valid));
    if let Some(tree) = &work.tree {
        below(key, plan, work, tree)?;
    }
    match &work.root {
        Some(root) if !root.is_absolute() => {
            return refuse(
                "root",
                format!("{} is a relative path", root.display()),
                "write the absolute path of a directory",
            );
        }
        Some(_) => {}
        None if can.files && matches!(plan.target, Target::Directory(_) | Target::InPlace(_)) => {}
        None => {
            let problem = format!("{} creates no directories to walk on this target", plan.storage.api);
            return refuse("root", problem, "set a directory");
        }
    }
    if let Some(name) = &work.name
        && (name.is_empty() || name.contains(['/', '\0']))
    {
        return refuse(
            "name",
            format!("{name:?} cannot match the name of an entry"),
            "write a pattern for names, such as *.dat",
        );
    }
    let sizes = [work.size_bytes, work.at_least_bytes, work.at_most_bytes];
    if work.entries == Some(Items::Directories) && sizes.iter().any(Option::is_some) {
        return refuse("entries", "only files have a size in bytes".to_owned(), "use files, or no sizes");
    }
    if work.size_bytes.is_some() && (work.at_least_bytes.is_some() || work.at_most_bytes.is_some()) {
        return refuse("size_bytes", "both an exact size and a range of sizes are set".to_owned(), "set one of them");
    }
    if let (Some(least), Some(most)) = (work.at_least_bytes, work.at_most_bytes)
        && least > most
    {
        return refuse(
            "at_least_bytes",
            format!("{least} is more than at_most_bytes, {most}"),
            "use at most at_most_bytes",
        );
    }
    let Some(since) = work.newer_than_step else { return Ok(()) };
    if work.newer_than_unix_ns.is_some() {
        return refuse(
            "newer_than_step",
            "both newer_than_step and newer_than_unix_ns are set".to_owned(),
            "set one of them",
        );
    }
    let phase = matches!(plan.steps.get(since as usize), Some(Step::Phase(_)));
    if !phase || since as usize >= step {
        let problem = format!("step {since} is not an earlier phase");
        return refuse("newer_than_step", problem, "use the index of an earlier phase");
    }
    Ok(())
}
