//! What a case may leave in its workspace, as a description from which every name follows.
//!
//! The list of a workspace holds it, so that what removes files knows their names without a line for each of
//! millions. Not here: creating or removing anything.

use std::collections::BTreeMap;

use ioassay_contract::plan::Plan;
use ioassay_contract::plan::data::FileSet;
use ioassay_contract::plan::metadata::Tree;
use serde::{Deserialize, Serialize};

use crate::plan::Sizes;
use crate::workload::layout::{file_name, geometries};

/// What a case may leave in its workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Contents {
    case: String,
    ranks: u32,
    files: BTreeMap<String, FileSet>,
    trees: BTreeMap<String, Tree>,
}

impl Contents {
    /// What `plan` creates.
    pub fn of(plan: &Plan) -> Self {
        let Plan { case, files, trees, .. } = plan.clone();
        Self { case, ranks: plan.rank_count(), files, trees }
    }

    /// Names of the files of all file sets.
    pub fn file_names(&self) -> impl Iterator<Item = String> {
        geometries(&self.files, self.ranks).flat_map(move |(set, geometry)| {
            (0..geometry.files()).map(move |file| file_name(&self.case, set, &geometry, file))
        })
    }
}
