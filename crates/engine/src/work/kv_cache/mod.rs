//! Key-value caches: inference servers that read what prefill had computed, and store what it computes.

mod cache;
mod conversation;
mod run;
mod validate;

use ioassay_protocol::plan::data::Order;
use ioassay_protocol::plan::kv_cache::KvCacheWork;
use ioassay_protocol::plan::{Job, Operation, Plan};

use super::sizes::Sizes;
use super::{LeftOnTarget, PacingSupport, PlannedJob, WorkKind};
use crate::refusal::Refusal;
use crate::workload::layout::Geometry;

/// Lane of the requests.
const REQUEST: usize = 0;

/// Lane of the objects that are read.
const READ: usize = 1;

/// Lane of the objects that are written.
const WRITE: usize = 2;

/// Lane of the objects that are removed.
const REMOVE: usize = 3;

impl WorkKind for KvCacheWork {
    fn name(&self) -> &'static str {
        "kv-cache"
    }

    fn lanes(&self) -> Vec<(usize, Operation)> {
        vec![
            (REQUEST, Operation::Request),
            (READ, Operation::Read),
            (WRITE, Operation::Write),
            (REMOVE, Operation::Remove),
        ]
    }

    fn pacing(&self) -> PacingSupport {
        PacingSupport::ByOperations
    }

    fn validate(&self, job: &PlannedJob<'_>, _left: &mut LeftOnTarget) -> Result<(), Refusal> {
        validate::work(job, self)
    }

    fn validate_alignment(&self, job: &PlannedJob<'_>, unit: u64) -> Result<(), Refusal> {
        validate::aligned(job, self, unit)
    }

    fn operations(&self, plan: &Plan, job: &Job) -> u64 {
        let requests = job.limit.operations_per_rank.unwrap_or(0);
        requests.saturating_mul(self.workers(plan, job).count.into())
    }

    /// That follows from what is found in the cache.
    fn moved_bytes(&self, _plan: &Plan, _job: &Job) -> u64 {
        0
    }

    /// At least that, where the cache becomes full.
    fn written_bytes(&self, plan: &Plan, _job: &Job) -> u64 {
        self.geometry(plan).bytes()
    }

    fn file_set(&self, plan: &Plan) -> (u64, u64) {
        let geometry = self.geometry(plan);
        (geometry.files(), geometry.bytes())
    }

    fn buffers_bytes(&self, plan: &Plan, _job: &Job) -> u64 {
        let each = self.geometry(plan).transfer_bytes.saturating_mul(if self.verify { 2 } else { 1 });
        each.saturating_mul(self.users.into())
    }

    fn writes_files(&self, files: &str) -> Option<Order> {
        (files == self.files).then_some(Order::Sequential)
    }

    fn is_paced_by(&self) -> Option<&'static str> {
        Some("its users wait for answers, and think")
    }

    fn reads_back(&self) -> bool {
        true
    }

    /// Nothing may have been found, and nothing is removed before the cache is full.
    fn may_do_none(&self, _plan: &Plan, operation: Operation) -> bool {
        matches!(operation, Operation::Read | Operation::Remove)
    }

    fn longer_remedy(&self) -> &'static str {
        "give it more time, or more requests"
    }
}

/// What both sides of the engine ask of this work, once it is validated.
trait OnObjects {
    /// The files that hold its objects, one each.
    fn geometry(&self, plan: &Plan) -> Geometry;
}

impl OnObjects for KvCacheWork {
    fn geometry(&self, plan: &Plan) -> Geometry {
        Geometry::of(&plan.files[&self.files], plan.rank_count())
    }
}
