//! Trees, the jobs on their entries, and walks.

use std::collections::BTreeMap;

use ioassay_contract::plan::metadata::{FindWork, MetadataWork, Tree};
use ioassay_contract::plan::{Job, Plan};

use crate::plan::Refusal;
use crate::storage::Capabilities;

/// What there is of a tree.
#[derive(Debug, Default)]
pub(super) struct Grown;

/// Refuses a tree that cannot be counted or that the storage API cannot keep.
pub(super) fn tree(_key: &str, _tree: &Tree, _ranks: u32, _can: &Capabilities) -> Result<(), Refusal> {
    Ok(())
}

/// Refuses work on entries that are not there, or that the storage API cannot do.
pub(super) fn work(
    _key: &str,
    _plan: &Plan,
    _job: &Job,
    _work: &MetadataWork,
    _can: &Capabilities,
    _trees: &mut BTreeMap<String, Grown>,
) -> Result<(), Refusal> {
    Ok(())
}

/// Refuses a walk that contradicts itself.
pub(super) fn find(
    _key: &str,
    _plan: &Plan,
    _job: &Job,
    _work: &FindWork,
    _step: usize,
    _can: &Capabilities,
) -> Result<(), Refusal> {
    Ok(())
}
