//! Facts for tests: a phase in which every rank writes, and nothing is to be doubted.

use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::PhaseRecord;
use ioassay_protocol::plan::{Plan, Step};
use serde_json::{Value, json};

use super::facts::{Emptied, Facts, Unwritten};
use crate::storage::Capabilities;

/// A plan in which each of `ranks` ranks writes 500 transfers of 1 MiB; `fsync` and `limit` are the phase's.
pub fn plan(ranks: usize, fsync: Value, limit: Value) -> Plan {
    let work = json!({"kind": "data", "files": "data", "transfer": "write", "order": "sequential", "fsync": fsync});
    let files = json!({"layout": "N-N", "transfer_bytes": 1 << 20, "block_bytes": 500 << 20, "files_per_rank": 1,
        "segments": 1, "payload": {"kind": "zero"}});
    serde_json::from_value(json!({
        "version": ioassay_protocol::VERSION, "run": "r", "case": "c", "target": {"directory": "/"},
        "storage": {"api": "posix"}, "ranks": {"clients": ranks, "per_client": 1}, "seed": 1,
        "sample_interval_ns": 1_000_000_000, "files": {"data": files},
        "steps": [{"step": "phase", "name": "write", "jobs": [{"name": "write", "work": work, "limit": limit}]}],
    }))
    .expect("it is a plan")
}

/// What is known of the plan's phase, whose figures are `record`.
pub fn facts<'a>(plan: &'a Plan, nodes: &'a [Environment], record: &'a PhaseRecord) -> Facts<'a> {
    let Step::Phase(phase) = &plan.steps[0] else { unreachable!("it has one phase") };
    Facts {
        plan,
        job: &phase.jobs[0],
        capabilities: Capabilities::NONE,
        nodes,
        emptied: Emptied::default(),
        unwritten: Unwritten::default(),
        synced: true,
        record,
        median_ns: 1,
        failure: None,
    }
}
