//! How much of each tree has been created: what later jobs find.

use std::collections::BTreeMap;

use ioassay_protocol::plan::RankRange;
use ioassay_protocol::plan::metadata::{EntryOrder, MetadataOperation, MetadataWork};

use crate::workload::tree::Shape;

/// What there is of each tree; the same on every rank.
#[derive(Debug, Default)]
pub(crate) struct TreeState(BTreeMap<String, Vec<Part>>);

/// What there is of the items of one part: the first ones, in the order in which they were created.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Part {
    /// How many.
    pub items: u64,
    /// True if they have the name that a rename or a replacement gave them.
    pub renamed: bool,
    /// In which order they were created.
    pub order: EntryOrder,
    /// The step that created them, which is a key of a random order.
    pub step: u32,
}

impl Part {
    const BARE: Self = Self { items: 0, renamed: false, order: EntryOrder::Sequential, step: 0 };
}

/// The part of a tree that member number `member` of a job works on.
pub(crate) fn part(shape: &Shape, work: &MetadataWork, member: u32) -> u32 {
    ((u64::from(member) + u64::from(work.shift)) % u64::from(shape.parts)) as u32
}

impl TreeState {
    /// All parts of `tree` are there since before the case, with all their items or the first `items` of each.
    pub fn exists_before(&mut self, tree: &str, shape: &Shape, items: Option<u64>) {
        let items = items.unwrap_or(u64::MAX).min(shape.items_per_part());
        let part = Part { items, ..Part::BARE };
        self.0.insert(tree.to_owned(), vec![part; shape.parts as usize]);
    }

    /// What there is of `part`.
    pub fn part(&self, tree: &str, part: u32) -> Part {
        self.0.get(tree).map_or(Part::BARE, |parts| parts[part as usize])
    }

    /// `workers` have done `work` in step `step`; `done` is what each of them did where a limit may have ended it.
    pub fn note(&mut self, shape: &Shape, work: &MetadataWork, step: u32, workers: RankRange, done: Option<&[u64]>) {
        use MetadataOperation as Kind;
        if !matches!(work.operation, Kind::Create { .. } | Kind::Rename {} | Kind::Replace { .. } | Kind::Remove {}) {
            return;
        }
        let parts = self.0.entry(work.tree.clone()).or_insert_with(|| vec![Part::BARE; shape.parts as usize]);
        for member in 0..workers.count.min(shape.parts) {
            let part = &mut parts[part(shape, work, member) as usize];
            match work.operation {
                Kind::Create { .. } => {
                    let done = done.map(|done| most_of_part(shape, member, done));
                    let items = done.unwrap_or(u64::MAX).min(shape.items_per_part());
                    *part = Part { items, renamed: false, order: work.order, step };
                }
                Kind::Rename {} | Kind::Replace { .. } => part.renamed = !part.renamed,
                _ => *part = Part::BARE,
            }
        }
    }
}

/// What was done in the part of `member`: with one part for all ranks the furthest of them tells, because all of them
/// create its items in the same order.
fn most_of_part(shape: &Shape, member: u32, done: &[u64]) -> u64 {
    done.iter().skip(member as usize).step_by(shape.parts as usize).copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::plan::metadata::{CreateWith, Items, Paths, Sharing, Tree};

    fn shape(sharing: Sharing) -> Shape {
        let tree = Tree {
            ranks: None,
            sharing,
            depth: 0,
            branch: 0,
            items_per_directory: 10,
            leaves_only: false,
            items: Items::Files,
            displaced: 0,
            names: Default::default(),
            payload: None,
        };
        Shape::of(&tree, 3)
    }

    fn work(operation: MetadataOperation, shift: u32) -> MetadataWork {
        let (verify, sync_at_end) = (false, false);
        let order = EntryOrder::Random;
        MetadataWork { tree: "t".into(), operation, order, shift, paths: Paths::Full, verify, sync_at_end }
    }

    const CREATE: MetadataOperation =
        MetadataOperation::Create { with: CreateWith::Open, write_bytes: 0, fsync: false };

    const ALL: RankRange = RankRange { first: 0, count: 3 };

    #[test]
    fn a_limited_create_leaves_what_each_rank_did_and_a_shifted_remove_takes_that_of_others() {
        let (shape, mut trees) = (shape(Sharing::Shared), TreeState::default());
        assert_eq!(trees.part("t", 0), Part::BARE);
        trees.note(&shape, &work(CREATE, 0), 4, ALL, Some(&[3, 10, 5]));
        assert_eq!([0, 1, 2].map(|part| trees.part("t", part).items), [3, 10, 5]);
        assert_eq!((trees.part("t", 0).order, trees.part("t", 0).step), (EntryOrder::Random, 4));
        trees.note(&shape, &work(MetadataOperation::Rename {}, 2), 5, RankRange { count: 1, ..ALL }, None);
        assert_eq!([0, 1, 2].map(|part| trees.part("t", part).renamed), [false, false, true]);
        trees.note(&shape, &work(MetadataOperation::Remove {}, 1), 6, RankRange { count: 2, ..ALL }, None);
        assert_eq!([0, 1, 2].map(|part| trees.part("t", part).items), [3, 0, 0]);
        trees.note(&shape, &work(CREATE, 0), 7, ALL, None);
        assert_eq!([0, 1, 2].map(|part| trees.part("t", part).items), [10; 3]);
    }

    #[test]
    fn of_shared_items_there_are_as_many_as_the_furthest_rank_created() {
        let (shape, mut trees) = (shape(Sharing::SharedItems), TreeState::default());
        trees.note(&shape, &work(CREATE, 0), 0, ALL, Some(&[3, 7, 5]));
        assert_eq!(trees.part("t", 0).items, 7);
    }
}
