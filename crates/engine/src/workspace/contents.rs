//! What a case may leave in its workspace, as a description from which every name follows.
//!
//! The list of a workspace holds it, so that what removes files knows their names without a line for each of
//! millions. Not here: creating or removing anything.

use std::collections::{BTreeMap, BTreeSet};

use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::checkpoint::Checkpoint;
use ioassay_protocol::plan::data::FileSet;
use ioassay_protocol::plan::metadata::Tree;
use ioassay_protocol::plan::train::Dataset;
use serde::{Deserialize, Serialize};

use crate::plan::Sizes;
use crate::work::checkpoint::all as checkpoints;
use crate::work::kind_of;
use crate::workload::checkpoint::{self, State};
use crate::workload::dataset;
use crate::workload::layout::{Geometry, file_name, geometries};
use crate::workload::tree::{Shape, container_name};

/// What a case may leave in its workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Contents {
    case: String,
    ranks: u32,
    files: BTreeMap<String, FileSet>,
    trees: BTreeMap<String, Tree>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    datasets: BTreeMap<String, Dataset>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    checkpoints: BTreeMap<String, Saved>,
    /// Trees whose items may have another name.
    #[serde(default)]
    renamed: BTreeSet<String>,
}

/// A checkpoint of which generations may be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Saved {
    checkpoint: Checkpoint,
    /// Generations that lie there at the same time at most.
    places: u64,
}

/// A tree that may be there.
#[derive(Debug, Clone)]
pub struct WorkspaceTree {
    /// Name of the directory in the workspace that holds it.
    pub container: String,
    /// What is in it.
    pub shape: Shape,
    /// Its items may have the name that a rename gives them.
    pub renamed: bool,
}

impl Contents {
    /// What `plan` creates.
    pub fn of(plan: &Plan) -> Self {
        let renamed = plan.jobs().flat_map(|job| kind_of(&job.work).renamed_trees()).map(str::to_owned).collect();
        let checkpoints = checkpoints(plan).map(|(name, checkpoint, _, places)| {
            let saved = Saved { checkpoint: checkpoint.clone(), places };
            (name.to_owned(), saved)
        });
        let checkpoints = checkpoints.collect();
        let Plan { case, files, trees, datasets, .. } = plan.clone();
        Self { case, ranks: plan.rank_count(), files, trees, datasets, checkpoints, renamed }
    }

    /// Names of the files of all file sets, of all datasets that are neither kept nor in subfolders, and of all checkpoints.
    pub fn file_names(&self) -> impl Iterator<Item = String> {
        let of_sets = geometries(&self.files, self.ranks).flat_map(move |(set, geometry)| {
            (0..geometry.files()).map(move |file| file_name(&self.case, set, &geometry, file))
        });
        let of_datasets = self
            .removable_datasets()
            .flat_map(|(name, dataset)| dataset::flat_names(dataset, dataset::name_prefix(&self.case, name)));
        of_sets.chain(of_datasets).chain(self.checkpoint_file_names())
    }

    /// Names of all files of checkpoints, and of those that are not complete yet. More than there are ranks with both states.
    fn checkpoint_file_names(&self) -> impl Iterator<Item = String> {
        let of_rank = move |name, saved: &Saved, place, rank| {
            State::ALL.map(|state| checkpoint::file_name(&self.case, (name, &saved.checkpoint), place, rank, state))
        };
        let names = self.checkpoints.iter().flat_map(move |(name, saved)| {
            (0..saved.places)
                .flat_map(move |place| (0..self.ranks).flat_map(move |rank| of_rank(name.as_str(), saved, place, rank)))
        });
        names.flat_map(|name| [checkpoint::unfinished_name(&name), name])
    }

    /// Names of the subfolders of datasets that are not kept, each with the names of the files in it.
    pub fn subfolders(&self) -> impl Iterator<Item = (String, impl Iterator<Item = String>)> {
        self.removable_datasets()
            .flat_map(|(name, dataset)| dataset::subfolders(dataset, dataset::name_prefix(&self.case, name)))
    }

    /// A description that no engine has written is left out: none of its files can be there.
    fn removable_datasets(&self) -> impl Iterator<Item = (&String, &Dataset)> {
        self.datasets.iter().filter(|(_, dataset)| dataset.samples_per_file > 0 && dataset.keep.is_none())
    }

    /// True if files may be written in several transfers.
    pub fn has_parts(&self) -> bool {
        let of_sets = geometries(&self.files, self.ranks).any(|(_, geometry)| geometry.transfers_per_file > 1);
        of_sets || !self.checkpoints.is_empty()
    }

    /// Names of the files of several transfers that ranks, each writing its files in order, may have been writing: of each
    /// part the first file that is not among those that exist, and of each rank of a checkpoint the first of each state.
    pub fn begun(&self, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let several = geometries(&self.files, self.ranks).filter(|(_, geometry)| geometry.transfers_per_file > 1);
        let of_set = |(set, geometry): (&str, Geometry)| {
            let of_part = |part| {
                let files = (0..geometry.files_per_rank).map(|nth| geometry.file(part, nth));
                files.map(|file| file_name(&self.case, set, &geometry, file)).find(|name| !exists(name))
            };
            (0..geometry.parts).filter_map(of_part).collect::<Vec<_>>()
        };
        let of_checkpoint = |(name, saved): (&String, &Saved)| {
            let files = (0..self.ranks).flat_map(|rank| State::ALL.map(|state| (rank, state)));
            let first = |(rank, state)| {
                let name_of = |place| checkpoint::file_name(&self.case, (name, &saved.checkpoint), place, rank, state);
                (0..saved.places).map(name_of).find(|name| !exists(name))
            };
            files.filter_map(first).collect::<Vec<_>>()
        };
        several.flat_map(of_set).chain(self.checkpoints.iter().flat_map(of_checkpoint)).collect()
    }

    /// All trees. A description that no engine has written is left out: such a tree cannot be there.
    pub fn trees(&self) -> impl Iterator<Item = WorkspaceTree> {
        self.trees_by_name().map(|(_, planted)| planted)
    }

    /// The same with their names in the plan.
    pub fn trees_by_name(&self) -> impl Iterator<Item = (String, WorkspaceTree)> {
        self.trees.iter().filter_map(|(name, tree)| {
            let shape = Shape::counted(tree, self.ranks)?;
            let (container, renamed) = (container_name(&self.case, name), self.renamed.contains(name));
            Some((name.clone(), WorkspaceTree { container, shape, renamed }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_each_rank_of_a_checkpoint_the_first_file_that_is_not_there_may_have_been_begun() {
        let checkpoint = json!({"model": {"parameters": 100}, "model_bytes": 2, "optimizer_bytes": 12, "tensor": 1,
            "pipeline": 1, "zero": 1, "keep": 2});
        let contents: Contents = serde_json::from_value(json!({"case": "c", "ranks": 2, "files": {}, "trees": {},
            "checkpoints": {"llama": {"checkpoint": checkpoint, "places": 3}}}))
        .unwrap();
        assert!(contents.has_parts());
        // Each with the name of a file that is not complete.
        assert_eq!(contents.file_names().count(), 3 * 2 * 2 * 2);
        let there = ["c.llama.0.model.000000", "c.llama.0.optimizer.000000", "c.llama.1.model.000000"];
        let begun = contents.begun(|name| there.contains(&name));
        let names = ["2.model.000000", "1.optimizer.000000", "0.model.000001", "0.optimizer.000001"];
        assert_eq!(begun, names.map(|name| format!("c.llama.{name}")));
    }
}
