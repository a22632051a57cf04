//! The shape of a tree and the names in it: mdtest's own, so that each finds its way in what the other created, or
//! md-workbench's.
//!
//! Directories are numbered level by level: 0 is the root, the children of d are d × branch + 1 and the following.
//! Items are numbered through the directories: directory d has d × items_per_directory and the following. None of it
//! is stored: an entry is computed when it is needed, so that trees of any size take no memory.
//! Not here: system calls, and in which order entries are taken.

use std::ffi::CStr;
use std::ops::Range;

use ioassay_protocol::plan::RankRange;
use ioassay_protocol::plan::metadata::{ItemNames, Items, MetadataOperation, Sharing, Tree};

/// More entries than this no file system holds, and all sums with fewer fit 64 bits.
pub const MOST_ENTRIES: u64 = 1 << 40;

/// More levels than this no path can name: each takes 14 bytes of at most 4096.
pub const DEEPEST: u32 = 292;

/// What an item that has been renamed or replaced has after its name: short, because longer names make larger
/// directories, which shows.
const RENAMED: &[u8] = b".r";

/// What follows from a tree's description and from how many ranks it is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Parts: each has items of its own.
    pub parts: u32,
    /// Trees of directories.
    pub trees: u32,
    /// Directories of each tree.
    pub directories: u64,
    /// Items in each directory that has any, of each part.
    pub items_per_directory: u64,
    /// What the items are.
    pub items: Items,
    sharing: Sharing,
    names: ItemNames,
    /// How many trees further on each part has its items, where each has a tree.
    displaced: u32,
    branch: u64,
    /// The first directory that has items.
    first: u64,
}

impl Shape {
    /// The shape of a validated tree in a case of `ranks` ranks.
    ///
    /// # Panics
    /// If it has more than [`MOST_ENTRIES`] entries.
    pub fn of(tree: &Tree, ranks: u32) -> Self {
        Self::counted(tree, ranks).expect("validated: the entries can be counted")
    }

    /// The same for a tree that is not validated: `None` if it has more than [`MOST_ENTRIES`] entries, or levels
    /// that no path can name.
    pub fn counted(tree: &Tree, ranks: u32) -> Option<Self> {
        let made_for = tree.ranks.map_or(ranks, |range| range.count);
        let parts = if tree.sharing == Sharing::SharedItems { 1 } else { made_for };
        let trees = if tree.sharing == Sharing::Unique { made_for } else { 1 };
        let branch = u64::from(tree.branch);
        if tree.depth > DEEPEST {
            return None;
        }
        let (mut directories, mut leaves) = (1_u64, 1_u64);
        for _ in 0..tree.depth {
            leaves = leaves.checked_mul(branch)?;
            directories = directories.checked_add(leaves).filter(|&sum| sum <= MOST_ENTRIES)?;
        }
        let first = if tree.leaves_only { directories - leaves } else { 0 };
        let items = (directories - first).checked_mul(tree.items_per_directory)?.checked_mul(parts.into())?;
        let all = directories.checked_mul(trees.into())?.checked_add(items)?;
        (all <= MOST_ENTRIES).then_some(Self {
            parts,
            trees,
            directories,
            items_per_directory: tree.items_per_directory,
            items: tree.items,
            sharing: tree.sharing,
            names: tree.names,
            displaced: tree.displaced % trees.max(1),
            branch,
            first,
        })
    }

    /// Directories of one tree that have items.
    pub fn directories_with_items(&self) -> u64 {
        self.directories - self.first
    }

    /// Items of one part.
    pub fn items_per_part(&self) -> u64 {
        self.directories_with_items() * self.items_per_directory
    }

    /// Items of all parts.
    pub fn all_items(&self) -> u64 {
        self.items_per_part() * u64::from(self.parts)
    }

    /// Directories of all trees and items of all parts.
    pub fn entries(&self) -> u64 {
        self.directories * u64::from(self.trees) + self.all_items()
    }

    /// The number of the item at place `index` of its part.
    #[inline(always)]
    pub fn number(&self, index: u64) -> u64 {
        self.first * self.items_per_directory + index
    }

    /// The directory of an item.
    pub fn directory_of(&self, number: u64) -> u64 {
        number / self.items_per_directory
    }

    /// The numbers of the items in a directory, of each part.
    pub fn items_in(&self, directory: u64) -> Range<u64> {
        if directory < self.first {
            return 0..0;
        }
        let first = directory * self.items_per_directory;
        first..first + self.items_per_directory
    }

    /// The first directory that has items.
    pub fn first_with_items(&self) -> u64 {
        self.first
    }

    /// The directory that `directory` is in; `None` for the root of the tree.
    pub fn parent(&self, directory: u64) -> Option<u64> {
        (directory > 0).then(|| (directory - 1) / self.branch)
    }

    /// The directories in `directory`.
    pub fn children(&self, directory: u64) -> Range<u64> {
        let first = directory.saturating_mul(self.branch).saturating_add(1);
        first.min(self.directories)..first.saturating_add(self.branch).min(self.directories)
    }

    /// The tree in which `part` has its items.
    pub fn tree_of(&self, part: u32) -> u32 {
        if self.sharing != Sharing::Unique {
            return 0;
        }
        // Both are below the number of trees, which has 32 bits.
        ((u64::from(part) + u64::from(self.displaced)) % u64::from(self.trees)) as u32
    }

    /// The parts that have items in `tree`.
    pub fn parts_in(&self, tree: u32) -> Range<u32> {
        if self.sharing != Sharing::Unique {
            return 0..self.parts;
        }
        let back = u64::from(tree) + u64::from(self.trees - self.displaced);
        let part = (back % u64::from(self.trees)) as u32;
        part..part + 1
    }

    /// What the names of the directories of `tree` begin with; the directory's number follows.
    pub fn directory_prefix(&self, tree: u32) -> String {
        match self.sharing {
            _ if self.names == ItemNames::MdWorkbench => format!("{tree}_"),
            Sharing::Unique => format!("mdtest_tree.{tree}."),
            Sharing::Shared | Sharing::SharedItems => "mdtest_tree.".to_owned(),
        }
    }

    /// What the names of the items of `part` begin with; the item's number follows.
    pub fn item_prefix(&self, part: u32) -> String {
        let kind = match self.items {
            Items::Files => "file",
            Items::Directories => "dir",
        };
        match self.sharing {
            _ if self.names == ItemNames::MdWorkbench => format!("{kind}-"),
            Sharing::Unique | Sharing::Shared => format!("{kind}.mdtest.{part}."),
            Sharing::SharedItems => format!("{kind}.mdtest.shared."),
        }
    }

    /// True if an item in `directory` of `tree` is called `name`, or, where they may have been `renamed`, was given it.
    pub fn has_item(&self, tree: u32, directory: u64, name: &[u8], renamed: bool) -> bool {
        let first = if renamed { name.strip_suffix(RENAMED).unwrap_or(name) } else { name };
        let Ok(first) = std::str::from_utf8(first) else { return false };
        let mut fields = first.rsplit(['.', '-']);
        let (number, part) = (fields.next().and_then(|field| field.parse().ok()), fields.next());
        let part = match self.sharing {
            // It is not in the name: each tree has one.
            _ if self.names == ItemNames::MdWorkbench => Some(self.parts_in(tree).start),
            Sharing::Unique | Sharing::Shared => part.and_then(|field| field.parse().ok()),
            Sharing::SharedItems => Some(0),
        };
        let (Some(number), Some(part)) = (number, part) else { return false };
        let there = self.parts_in(tree).contains(&part) && self.items_in(directory).contains(&number);
        // Numbers may be written in more than one way, names not.
        there && first.strip_prefix(&self.item_prefix(part)).is_some_and(|digits| digits == number.to_string())
    }

    /// Bytes of the longest path in it, from below its container on.
    pub fn longest_path_bytes(&self) -> usize {
        let last = self.trees - 1;
        let mut deepest = Vec::new();
        let prefix = self.directory_prefix(last);
        push_directory(&mut deepest, self, prefix.as_bytes(), self.directories - 1);
        let number = self.number(self.items_per_part()).to_string();
        deepest.len() + self.item_prefix(self.parts - 1).len() + number.len() + RENAMED.len()
    }
}

/// The ranks that have something to do, out of a job's `range`: with one tree for all ranks the first of them creates
/// and removes its directories, as in mdtest, and of shared items it renames and removes each.
pub fn workers(tree: &Tree, operation: MetadataOperation, range: RankRange) -> RankRange {
    let alone = match operation {
        MetadataOperation::CreateTree {} | MetadataOperation::RemoveTree {} => tree.sharing != Sharing::Unique,
        MetadataOperation::Rename {} | MetadataOperation::Remove {} => tree.sharing == Sharing::SharedItems,
        _ => false,
    };
    if alone { RankRange { count: 1, ..range } } else { range }
}

/// Name of the directory in the workspace that holds a tree: mdtest's test directory.
pub fn container_name(case: &str, tree: &str) -> String {
    format!("{case}.{tree}")
}

/// Appends the path of a directory below the container, with a slash at its end.
fn push_directory(text: &mut Vec<u8>, shape: &Shape, prefix: &[u8], directory: u64) {
    if let Some(parent) = shape.parent(directory) {
        push_directory(text, shape, prefix, parent);
    }
    text.extend_from_slice(prefix);
    push_decimal(text, directory);
    text.push(b'/');
}

/// The digits of 00 to 99: two at a time take half of the divisions.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

fn push_decimal(text: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut begin = digits.len();
    while number >= 10 {
        begin -= 2;
        digits[begin..begin + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 || begin == digits.len() {
        begin -= 1;
        digits[begin] = b'0' + number as u8;
    }
    text.extend_from_slice(&digits[begin..]);
}

/// The paths of directories take at most this much memory; in trees with more they are put together when needed.
const MOST_BUILT_BYTES: u64 = 2 << 20;

/// The paths of a part's items from below the container on, up to their number: one for each directory of the tree.
#[derive(Debug, Clone)]
struct DirectoryPaths {
    text: Vec<u8>,
    ends: Vec<u32>,
}

impl DirectoryPaths {
    /// `None` if they do not fit.
    fn build(shape: &Shape, directories: &[u8], prefix: &[u8]) -> Option<Self> {
        let most = shape.directories.saturating_mul(shape.longest_path_bytes() as u64);
        if most > MOST_BUILT_BYTES {
            return None;
        }
        let mut built = Self { text: Vec::new(), ends: Vec::new() };
        for directory in 0..shape.directories {
            push_directory(&mut built.text, shape, directories, directory);
            built.text.extend_from_slice(prefix);
            built.ends.push(built.text.len() as u32);
        }
        Some(built)
    }

    fn of(&self, directory: u64) -> &[u8] {
        let directory = directory as usize;
        let begin = if directory == 0 { 0 } else { self.ends[directory - 1] };
        &self.text[begin as usize..self.ends[directory] as usize]
    }
}

/// The path of one entry after the other, in one piece of memory.
///
/// Paths of millions of entries do not fit into the memory that a rank may take. What can be built before the clock
/// starts is built then: the paths of directories, and what names begin with. From one entry to the next mostly the last
/// digit changes, which takes a nanosecond; a path in another directory is copied, which takes some ten.
#[derive(Debug, Clone)]
pub struct EntryPath {
    shape: Shape,
    /// The path so far, with a zero byte at its end.
    text: Vec<u8>,
    /// Where the path below the container begins; `None` where only the name in its directory is wanted.
    container: Option<usize>,
    /// What the names of directories on the way begin with.
    directories: Vec<u8>,
    /// All that comes before the numbers of items, where it fits.
    built: Option<DirectoryPaths>,
    /// What the entry's own name begins with.
    prefix: Vec<u8>,
    suffix: &'static [u8],
    /// The directory that the entry is in; `None` for the container.
    directory: Option<u64>,
    number: u64,
    /// Where the digits begin, and where they end.
    digits: Range<usize>,
}

/// Which entries an [`EntryPath`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// The directories of a tree.
    Directories {
        /// Which one.
        tree: u32,
    },
    /// The items of a part.
    Items {
        /// Which one.
        part: u32,
        /// True for the names that they have after they were renamed.
        renamed: bool,
    },
}

impl EntryPath {
    /// Paths of `entries`: full ones that begin with `container`, a directory without a slash at its end, or without
    /// it only names.
    pub fn new(shape: Shape, container: Option<&[u8]>, entries: Entries) -> Self {
        let (tree, prefix, suffix): (_, _, &[u8]) = match entries {
            Entries::Directories { tree } => (tree, shape.directory_prefix(tree), b""),
            Entries::Items { part, renamed } => {
                (shape.tree_of(part), shape.item_prefix(part), if renamed { RENAMED } else { b"" })
            }
        };
        let mut text = container.map(<[u8]>::to_vec).unwrap_or_default();
        if container.is_some() {
            text.push(b'/');
        }
        let container = container.map(|_| text.len());
        let directories = shape.directory_prefix(tree).into_bytes();
        let wants_paths = container.is_some() && matches!(entries, Entries::Items { .. });
        let built = if wants_paths { DirectoryPaths::build(&shape, &directories, prefix.as_bytes()) } else { None };
        let mut path = Self {
            shape,
            text,
            container,
            directories,
            built,
            prefix: prefix.into_bytes(),
            suffix,
            directory: None,
            number: 0,
            digits: 0..0,
        };
        path.move_to(None, 0);
        path
    }

    /// Makes it the path of entry `number` in `directory`, `None` being the container.
    #[inline(always)]
    pub fn set(&mut self, directory: Option<u64>, number: u64) {
        if directory == self.directory && number == self.number + 1 && self.count_up() {
            self.number = number;
            return;
        }
        if directory == self.directory || self.container.is_none() {
            self.directory = directory;
            self.renumber(number);
        } else {
            self.move_to(directory, number);
        }
    }

    /// The path as system calls want it.
    #[inline(always)]
    pub fn as_c_str(&self) -> &CStr {
        debug_assert_eq!(CStr::from_bytes_with_nul(&self.text).map(CStr::to_bytes_with_nul), Ok(&self.text[..]));
        // SAFETY: there is one zero byte, at the end: the container's path has none (checked where it is made a path
        // for system calls), and names have only letters, digits, dots and dashes.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.text) }
    }

    /// Adds 1 to the digits in place. False, with the digits spoilt, if there must be one more of them.
    #[inline(always)]
    fn count_up(&mut self) -> bool {
        for digit in self.text[self.digits.clone()].iter_mut().rev() {
            if *digit != b'9' {
                *digit += 1;
                return true;
            }
            *digit = b'0';
        }
        false
    }

    fn renumber(&mut self, number: u64) {
        self.text.truncate(self.digits.start);
        push_decimal(&mut self.text, number);
        self.digits.end = self.text.len();
        if !self.suffix.is_empty() {
            self.text.extend_from_slice(self.suffix);
        }
        self.text.push(0);
        self.number = number;
    }

    fn move_to(&mut self, directory: Option<u64>, number: u64) {
        self.text.truncate(self.container.unwrap_or(0));
        match (directory, &self.built) {
            (Some(directory), Some(built)) => self.text.extend_from_slice(built.of(directory)),
            (directory, _) => {
                if let Some(directory) = directory.filter(|_| self.container.is_some()) {
                    push_directory(&mut self.text, &self.shape, &self.directories, directory);
                }
                self.text.extend_from_slice(&self.prefix);
            }
        }
        self.digits.start = self.text.len();
        self.directory = directory;
        self.renumber(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn tree(sharing: Sharing, depth: u32, branch: u32, items: u64, leaves_only: bool) -> Tree {
        let items_per_directory = items;
        let items = Items::Files;
        let (displaced, names, payload) = (0, ItemNames::Mdtest, None);
        Tree { ranks: None, sharing, depth, branch, items_per_directory, leaves_only, items, displaced, names, payload }
    }

    const SHARINGS: [Sharing; 3] = [Sharing::Unique, Sharing::Shared, Sharing::SharedItems];

    /// All paths, in the order in which they are created one after the other.
    fn enumerated(shape: Shape) -> Vec<String> {
        let mut all = Vec::new();
        for tree in 0..shape.trees {
            let mut path = EntryPath::new(shape, Some(b"/w"), Entries::Directories { tree });
            for directory in 0..shape.directories {
                path.set(shape.parent(directory), directory);
                all.push(path.as_c_str().to_str().unwrap().to_owned());
            }
        }
        for part in 0..shape.parts {
            let mut path = EntryPath::new(shape, Some(b"/w"), Entries::Items { part, renamed: false });
            for index in 0..shape.items_per_part() {
                let number = shape.number(index);
                path.set(Some(shape.directory_of(number)), number);
                all.push(path.as_c_str().to_str().unwrap().to_owned());
            }
        }
        all
    }

    /// All paths, as a walk down the tree finds them.
    fn walked(shape: Shape) -> Vec<String> {
        fn down(shape: &Shape, tree: u32, directory: u64, above: &str, all: &mut Vec<String>) {
            let path = format!("{above}/{}{directory}", shape.directory_prefix(tree));
            all.push(path.clone());
            for part in shape.parts_in(tree) {
                all.extend(shape.items_in(directory).map(|n| format!("{path}/{}{n}", shape.item_prefix(part))));
            }
            shape.children(directory).for_each(|child| down(shape, tree, child, &path, all));
        }
        let mut all = Vec::new();
        (0..shape.trees).for_each(|tree| down(&shape, tree, 0, "/w", &mut all));
        all
    }

    proptest! {
        #[test]
        fn every_entry_is_named_once_lies_in_its_directory_and_is_counted(
            sharing in 0..3_usize, depth in 0..4_u32, branch in 1..4_u32, items in 0..5_u64, leaves_only: bool,
            ranks in 1..4_u32, displaced in 0..6_u32, short: bool,
        ) {
            let short = short && SHARINGS[sharing] == Sharing::Unique;
            let names = if short { ItemNames::MdWorkbench } else { ItemNames::Mdtest };
            let tree = Tree { displaced, names, ..tree(SHARINGS[sharing], depth, branch, items, leaves_only) };
            let shape = Shape::of(&tree, ranks);
            let mut enumerated = enumerated(shape);
            prop_assert_eq!(enumerated.len() as u64, shape.entries());
            prop_assert!(enumerated.iter().all(|path| path.len() - "/w/".len() <= shape.longest_path_bytes()));
            prop_assert_eq!(enumerated.iter().collect::<HashSet<_>>().len(), enumerated.len());
            let mut walked = walked(shape);
            for path in walked.iter().filter(|path| path.contains("file")) {
                let (above, name) = path.rsplit_once('/').unwrap();
                let directory: u64 = above.rsplit_once(['.', '_']).unwrap().1.parse().unwrap();
                let has = |tree, directory, name: &str, renamed| {
                    shape.has_item(tree, directory, name.as_bytes(), renamed)
                };
                let trees = (0..shape.trees).filter(|&tree| has(tree, directory, name, false)).count();
                // Short names do not identify their tree: each has them.
                prop_assert_eq!(trees as u32, if short { shape.trees } else { 1 }, "{}", path);
                let renamed = [name, ".r"].concat();
                prop_assert!((0..shape.trees).any(|tree| has(tree, directory, &renamed, true)));
                let others = [[name, "0000"].concat(), renamed, ["x", name].concat(), name.replace(".m", "..m").replace('-', "--")];
                for other in others {
                    prop_assert!((0..shape.trees).all(|tree| !has(tree, directory, &other, false)), "{}", other);
                }
                prop_assert!((0..shape.trees).all(|tree| !has(tree, directory + 1, name, false)));
            }
            enumerated.sort_unstable();
            walked.sort_unstable();
            prop_assert_eq!(enumerated, walked);
        }

        #[test]
        fn a_path_is_the_same_whichever_was_named_before(jumps in proptest::collection::vec(0..130_u64, 1..60)) {
            let shape = Shape::of(&tree(Sharing::Unique, 2, 3, 10, false), 2);
            for (container, renamed) in [(Some(&b"/w"[..]), false), (Some(b"/w"), true), (None, false)] {
                let entries = Entries::Items { part: 1, renamed };
                let mut path = EntryPath::new(shape, container, entries);
                for &number in jumps.iter().chain(&[8, 9, 10, 98, 99, 100, 101]) {
                    path.set(Some(shape.directory_of(number)), number);
                    let mut afresh = EntryPath { built: None, ..EntryPath::new(shape, container, entries) };
                    afresh.move_to(Some(shape.directory_of(number)), number);
                    prop_assert_eq!(path.as_c_str(), afresh.as_c_str());
                }
            }
        }
    }

    /// What `mdtest -C` of 5fcf0ba left on disk with these options, `test-dir.0-0` aside.
    #[test]
    fn trees_are_those_of_mdtest() {
        let paths = |tree: &Tree| walked(Shape::of(tree, 2));
        // -n 2 tasks, -z 2 -b 2 -I 2 -F
        let shared = paths(&tree(Sharing::Shared, 2, 2, 2, false));
        assert_eq!(shared.len(), 7 + 28);
        for path in [
            "/w/mdtest_tree.0/file.mdtest.1.1",
            "/w/mdtest_tree.0/mdtest_tree.1/mdtest_tree.3/file.mdtest.0.6",
            "/w/mdtest_tree.0/mdtest_tree.2/mdtest_tree.6/file.mdtest.1.13",
        ] {
            assert!(shared.contains(&path.to_owned()), "{path} is not among {shared:?}");
        }
        // -z 1 -b 2 -I 2 -L -D, whose numbers begin with those of the first leaf
        let mut leaves = tree(Sharing::Shared, 1, 2, 2, true);
        leaves.items = Items::Directories;
        let leaves = paths(&leaves);
        assert_eq!(leaves.len(), 3 + 8);
        assert!(leaves.contains(&"/w/mdtest_tree.0/mdtest_tree.1/dir.mdtest.0.2".to_owned()));
        // -z 1 -b 2 -I 2 -u -F
        let unique = paths(&tree(Sharing::Unique, 1, 2, 2, false));
        assert_eq!(unique.len(), 6 + 12);
        assert!(unique.contains(&"/w/mdtest_tree.1.0/mdtest_tree.1.2/file.mdtest.1.5".to_owned()));
        // -u -N 1 -I 1 -F, whose ranks have their files in each other's directories
        let displaced = paths(&Tree { displaced: 1, ..tree(Sharing::Unique, 0, 1, 1, false) });
        assert_eq!(
            displaced,
            [
                "/w/mdtest_tree.0.0",
                "/w/mdtest_tree.0.0/file.mdtest.1.0",
                "/w/mdtest_tree.1.0",
                "/w/mdtest_tree.1.0/file.mdtest.0.0",
            ]
        );
        // -z 1 -b 3 -I 1 -L -S -F
        let items = paths(&tree(Sharing::SharedItems, 1, 3, 1, true));
        assert_eq!(items.len(), 4 + 3);
        assert!(items.contains(&"/w/mdtest_tree.0/mdtest_tree.3/file.mdtest.shared.3".to_owned()));
    }

    #[test]
    fn what_cannot_be_counted_has_no_shape() {
        for (depth, branch, items) in [(64, 2, 1), (1, u32::MAX, u64::MAX), (0, 1, u64::MAX), (u32::MAX, 1, 1 << 10)] {
            assert_eq!(Shape::counted(&tree(Sharing::Unique, depth, branch, items, false), 1 << 20), None);
        }
        assert!(Shape::counted(&tree(Sharing::Unique, 9, 10, 100, true), 1).is_some());
    }
}
