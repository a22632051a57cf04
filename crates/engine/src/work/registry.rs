//! The kinds of work that the engine knows: one line each. The only place that matches the enum of the plan.

use ioassay_protocol::plan::Work;

use super::WorkKind;

/// The work of a job as what its kind implements: a reference to a trait object, as the place asks for it.
macro_rules! each_kind {
    ($work:expr) => {
        match $work {
            ::ioassay_protocol::plan::Work::Data(work) => work,
            ::ioassay_protocol::plan::Work::Metadata(work) => work,
            ::ioassay_protocol::plan::Work::Find(work) => work,
            ::ioassay_protocol::plan::Work::Replay(work) => work,
            ::ioassay_protocol::plan::Work::Train(work) => work,
            ::ioassay_protocol::plan::Work::KvCache(work) => work,
            ::ioassay_protocol::plan::Work::Checkpoint(work) => work,
        }
    };
}
pub(crate) use each_kind;

/// What the plan of `work` must be, and what it amounts to.
pub(crate) fn kind_of(work: &Work) -> &dyn WorkKind {
    each_kind!(work)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ioassay_host::clock::Clock;
    use ioassay_protocol::plan::pace::Limit;
    use ioassay_protocol::plan::{Job, Operation, Plan};
    use serde_json::{Value, json};

    use super::*;
    use crate::measure::recorder::LANES;
    use crate::ranks::Ranks;
    use crate::ranks::local::{LocalRank, MeetingPlace};
    use crate::ranks::seating::Seating;
    use crate::work::run::job_result::JobResult;
    use crate::work::run::{Case, History, Member, RunWork};
    use crate::work::skeleton::SkeletonWork;
    use crate::work::storage::JobStorage;
    use crate::work::{LeftOnTarget, PlannedJob};
    use crate::workspace::{Workspace, contents::Contents};

    /// Of each kind a job that can be alone in a case, or be its second phase.
    fn examples() -> Vec<Value> {
        let transfers = json!({"kind": "write", "count": 4, "opens": 2, "file_bytes": 64, "region": "whole",
            "sizes": [{"bytes": 8, "weight": 1}], "order": {"consecutive": 1, "forward": 0, "random": 0}});
        vec![
            json!({"kind": "data", "files": "data", "transfer": {"mixed": 50}, "order": "sequential", "fsync": "never"}),
            json!({"kind": "metadata", "tree": "tree", "operation": {"kind": "create-tree"}, "order": "sequential",
                "shift": 0, "paths": "full"}),
            json!({"kind": "find"}),
            json!({"kind": "replay", "streams": [{"tree": "tree", "items": "own", "timeline": [1],
                "operation": transfers}]}),
            json!({"kind": "train", "dataset": "images", "operation": {"kind": "epoch", "number": 0, "batch": 4,
                "loader_threads": 2, "prefetch": 2, "shuffle": "samples", "drop_last": true, "compute_ns": 1000,
                "compute": "sleep"}}),
            json!({"kind": "kv-cache", "files": "data", "object_tokens": 16, "users": 2,
                "contexts": {"count": 3, "tokens": {"least": 16, "most": 64}, "exponent": 1.0},
                "turns": {"least": 1, "most": 3}, "prompt_tokens": {"least": 4, "most": 20},
                "answer_tokens": {"least": 4, "most": 20}, "prefill_tokens_per_s": 1000, "decode_tokens_per_s": 100,
                "think_ns": 0}),
            json!({"kind": "checkpoint", "checkpoint": "llama", "transfer_bytes": 4096, "operation": {"kind": "save",
                "count": 2, "every_ns": 0, "compute": "sleep", "fsync": true, "rename": false}}),
        ]
    }

    fn work(example: Value) -> Work {
        serde_json::from_value(example).unwrap()
    }

    #[test]
    fn kinds_have_the_names_of_the_plan_and_a_lane_for_each_operation() {
        let mut names = BTreeSet::from(["skeleton"]);
        let skeleton = SkeletonWork { operations: 1 };
        let (examples, works): (Vec<Value>, Vec<Work>) =
            examples().into_iter().map(|example| (example.clone(), work(example))).unzip();
        for (example, work) in examples.iter().zip(&works) {
            assert_eq!(kind_of(work).name(), example["kind"].as_str().unwrap());
            assert!(names.insert(kind_of(work).name()), "{example}");
        }
        for kind in works.iter().map(kind_of).chain([&skeleton as &dyn WorkKind]) {
            let lanes = kind.lanes();
            let (numbers, operations): (BTreeSet<usize>, BTreeSet<Operation>) = lanes.iter().copied().unzip();
            assert_eq!((numbers.len(), operations.len()), (lanes.len(), lanes.len()), "{}", kind.name());
            assert!(!lanes.is_empty() && numbers.iter().all(|&lane| lane < LANES), "{}", kind.name());
            assert!(!kind.longer_remedy().is_empty());
        }
    }

    /// A plan on `directory` whose job stands for one with the skeleton's work, which is no variant of the plan's enum.
    fn plan(directory: &std::path::Path, limit: Limit) -> Plan {
        let mut plan: Plan = serde_json::from_value(json!({
            "version": ioassay_protocol::VERSION, "run": "r", "case": "c", "target": {"directory": directory},
            "storage": {"api": "posix"}, "ranks": {"clients": 1, "per_client": 1}, "seed": 1,
            "sample_interval_ns": 1_000_000_000,
            "steps": [{"step": "phase", "name": "p", "jobs": [{"name": "j", "work": {"kind": "find"}}]}],
        }))
        .unwrap();
        let ioassay_protocol::plan::Step::Phase(phase) = &mut plan.steps[0] else { unreachable!() };
        phase.jobs[0].limit = limit;
        plan
    }

    #[test]
    fn the_skeleton_is_refused_by_its_key() {
        let plan = plan(std::path::Path::new("/"), Limit::default());
        let job = plan.jobs().next().unwrap();
        let storage = JobStorage::of_job("steps[0].jobs[0]", &plan, job).unwrap();
        let planned = PlannedJob { key: "steps[0].jobs[0].work", plan: &plan, job, step: 0, storage: &storage };
        let refused = |operations| {
            let kind = SkeletonWork { operations };
            let said = kind.validate(&planned, &mut LeftOnTarget::default());
            said.and_then(|()| kind.validate_alignment(&planned, 512)).map_err(|refusal| refusal.key)
        };
        assert_eq!(refused(1), Ok(()));
        assert_eq!(refused(0), Err("steps[0].jobs[0].work.operations".to_owned()));
    }

    /// What one rank did of `work` within `limit`.
    fn done(work: &SkeletonWork, limit: Limit) -> JobResult {
        let target = tempfile::tempdir().unwrap();
        let plan = plan(target.path(), limit);
        let job: &Job = plan.jobs().next().unwrap();
        let (clock, seating) = (Clock::calibrated(), Seating::dealt(plan.ranks, 1));
        let workspace = Workspace::create(&plan, &Contents::of(&plan)).unwrap();
        let case = Case {
            plan: &plan,
            apis: &crate::storage::of_plan,
            workspace: &workspace,
            clock: &clock,
            seating: &seating,
            direct_alignment_bytes: None,
        };
        let place = MeetingPlace::new(1, clock).unwrap();
        let rank = place.rank(0);
        let member = Member { case: &case, step: 0, job, number: 0 };
        let kind: &dyn RunWork<LocalRank<'_>> = work;
        let prepared = kind.prepare(&member, &History::of(&case)).unwrap();
        let start = rank.start_together().unwrap();
        let result = prepared.run(&rank, (0, job), start);
        assert_eq!(workspace.remove().left, []);
        result
    }

    #[test]
    fn the_skeleton_does_its_operations_as_far_as_its_limit_lets_it() {
        let work = SkeletonWork { operations: 1000 };
        let operations = |limit: Limit| {
            let result = done(&work, limit);
            assert!(result.complete && result.failure.is_none());
            let (lane, _) = result.lanes[0];
            let plan = plan(std::path::Path::new("/"), limit);
            let amounts_to = work.operations(&plan, plan.jobs().next().unwrap());
            assert_eq!(amounts_to, result.statistics.recorded[lane].operations);
            amounts_to
        };
        assert_eq!(operations(Limit::default()), 1000);
        assert_eq!(operations(Limit { operations_per_rank: Some(10), ..Limit::default() }), 10);
    }
}
