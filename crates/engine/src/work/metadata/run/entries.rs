//! What is done to one entry after the other.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::metadata::{CreateWith, EntryOrder, Items, MetadataOperation, Sharing};

use super::directories::OpenDirectories;
use super::file_content::{self, FileContent};
use super::tree::Tree;
use crate::storage::names::{Content, Entry, Names, Presence};
use crate::work::run::operations::{Moved, Operate};
use crate::work::run::second_reading::SecondReading;
use crate::workload::permutation::Permutation;
use crate::workload::random::SplitMix64;
use crate::workload::tree::{Entries, EntryPath, Shape};

/// Metadata operations are all of one kind, so they have one lane.
pub(super) const LANE: usize = 0;

/// In which order entries are taken.
#[derive(Debug)]
pub(super) struct Order {
    /// How many there are.
    pub count: u64,
    way: Way,
    /// Those that are there are the first ones of another order.
    first_of: Way,
}

/// From the place in an order to the place of an entry in its part.
#[derive(Debug, Clone)]
enum Way {
    AsNumbered,
    Shuffled(Permutation),
    /// One of each directory in turn.
    Interleaved {
        directories: u64,
        in_each: u64,
    },
}

impl Way {
    #[inline(always)]
    fn place(&self, index: u64) -> u64 {
        match self {
            Self::AsNumbered => index,
            Self::Shuffled(permutation) => permutation.map(index),
            Self::Interleaved { directories, in_each } => index % directories * in_each + index / directories,
        }
    }
}

impl Order {
    /// `count` entries, as they are numbered.
    pub fn all(count: u64) -> Self {
        Self { count, way: Way::AsNumbered, first_of: Way::AsNumbered }
    }

    /// All items of a part of `shape` in `order`.
    pub fn of_part(order: EntryOrder, shape: &Shape, random: SplitMix64) -> Self {
        let (directories, in_each) = (shape.directories_with_items(), shape.items_per_directory);
        match order {
            EntryOrder::Interleaved => {
                Self { way: Way::Interleaved { directories, in_each }, ..Self::all(shape.items_per_part()) }
            }
            EntryOrder::Sequential | EntryOrder::Random => Self::new(order, shape.items_per_part(), random),
        }
    }

    /// The first `count` entries of `created`, in `order`.
    pub fn of_first(order: EntryOrder, count: u64, random: SplitMix64, created: Self) -> Self {
        Self { first_of: created.way, ..Self::new(order, count, random) }
    }

    fn new(order: EntryOrder, count: u64, random: SplitMix64) -> Self {
        let random = (order == EntryOrder::Random && count > 0).then_some(random);
        let shuffled = random.map(|random| Way::Shuffled(Permutation::new(count, random)));
        Self { way: shuffled.unwrap_or(Way::AsNumbered), ..Self::all(count) }
    }

    /// The entry at place `index`.
    #[inline(always)]
    fn place(&self, index: u64) -> u64 {
        self.first_of.place(self.way.place(index))
    }
}

/// One rank's work on the entries of a tree.
pub(super) struct Works<'a> {
    names: &'a mut dyn Names,
    kind: Kind,
    target: &'a Tree,
    entries: Entries,
    /// Whose items they are, where they are items.
    part: u32,
    order: Order,
    path: EntryPath,
    /// What a rename makes of it.
    renamed: Option<EntryPath>,
    open: Option<OpenDirectories>,
    /// The directory of the last item, and the items in it: neighbours need no division.
    directory: u64,
    in_directory: Range<u64>,
    buffer: &'a mut [u8],
    file_content: FileContent,
    second_reading: SecondReading<'a>,
}

/// What an operation is, with all that does not change decided.
#[derive(Debug, Clone, Copy)]
enum Kind {
    CreateTree,
    RemoveTree,
    CreateDirectory,
    RemoveDirectory,
    CreateFile { presence: Presence, sync: bool },
    MakeNode,
    Stat,
    Read,
    Write { sync: bool },
    Rename,
    Remove,
}

impl Kind {
    fn of(operation: MetadataOperation, items: Items, sharing: Sharing) -> Self {
        let directories = items == Items::Directories;
        match operation {
            MetadataOperation::CreateTree {} => Self::CreateTree,
            MetadataOperation::RemoveTree {} => Self::RemoveTree,
            MetadataOperation::Create { .. } if directories => Self::CreateDirectory,
            MetadataOperation::Create { with: CreateWith::Mknod, .. } => Self::MakeNode,
            MetadataOperation::Create { fsync, .. } => {
                let shared = sharing == Sharing::SharedItems;
                Self::CreateFile { presence: if shared { Presence::Shared } else { Presence::New }, sync: fsync }
            }
            MetadataOperation::Stat {} => Self::Stat,
            MetadataOperation::Read { .. } => Self::Read,
            MetadataOperation::Write { fsync, .. } => Self::Write { sync: fsync },
            MetadataOperation::Rename {} => Self::Rename,
            MetadataOperation::Remove {} if directories => Self::RemoveDirectory,
            MetadataOperation::Remove {} => Self::Remove,
            MetadataOperation::Replace { .. } => unreachable!("has a loop of its own"),
        }
    }

    /// Its name in failures.
    fn name(self) -> &'static str {
        match self {
            Self::CreateTree | Self::CreateDirectory => "create directory",
            Self::RemoveTree | Self::RemoveDirectory => "remove directory",
            Self::CreateFile { .. } => "create",
            Self::MakeNode => "mknod",
            Self::Stat => "stat",
            Self::Read => "read",
            Self::Write { .. } => "write",
            Self::Rename => "rename",
            Self::Remove => "remove",
        }
    }
}

impl<'a> Works<'a> {
    /// Work of the kind `operation` on `entries`, which are taken in `order`.
    #[expect(clippy::too_many_arguments, reason = "what a job has prepared")]
    pub fn new(
        names: &'a mut dyn Names,
        operation: MetadataOperation,
        sharing: Sharing,
        target: &'a Tree,
        entries: Entries,
        order: Order,
        open: Option<OpenDirectories>,
        buffer: &'a mut [u8],
        (file_content, second_reading): (FileContent, SecondReading<'a>),
    ) -> Self {
        let container = open.is_none().then_some(target.container.as_bytes());
        let path = |entries| EntryPath::new(target.shape, container, entries);
        let (part, renamed) = match entries {
            Entries::Directories { .. } => (0, None),
            Entries::Items { part, renamed } => {
                let other = path(Entries::Items { part, renamed: !renamed });
                (part, (operation == MetadataOperation::Rename {}).then_some(other))
            }
        };
        let kind = Kind::of(operation, target.shape.items, sharing);
        let path = path(entries);
        let (directory, in_directory) = (0, 0..0);
        Self {
            names,
            kind,
            target,
            entries,
            part,
            order,
            path,
            renamed,
            open,
            directory,
            in_directory,
            buffer,
            file_content,
            second_reading,
        }
    }

    /// The entry at place `index`: the directory that it is in, `None` being the container, and its number.
    #[inline(always)]
    fn entry(&mut self, index: u64) -> (Option<u64>, u64) {
        let shape = &self.target.shape;
        match self.kind {
            Kind::CreateTree => (shape.parent(index), index),
            // Each directory goes before the one that it is in.
            Kind::RemoveTree => {
                let directory = shape.directories - 1 - index;
                (shape.parent(directory), directory)
            }
            _ => {
                let number = shape.number(self.order.place(index));
                if !self.in_directory.contains(&number) {
                    self.directory = shape.directory_of(number);
                    self.in_directory = shape.items_in(self.directory);
                }
                (Some(self.directory), number)
            }
        }
    }

    #[inline(always)]
    fn work_on(&mut self, directory: Option<u64>, number: u64) -> io::Result<()> {
        self.path.set(directory, number);
        let within: Option<BorrowedFd<'_>> = match &mut self.open {
            None => None,
            Some(open) => Some(open.get(directory, self.names)?),
        };
        let entry = Entry { directory: within, name: self.path.as_c_str() };
        let names = &mut *self.names;
        match self.kind {
            Kind::CreateTree | Kind::CreateDirectory => names.create_directory(entry),
            Kind::RemoveTree | Kind::RemoveDirectory => names.remove_directory(entry),
            Kind::CreateFile { presence, sync } => {
                names.create(
                    entry,
                    presence,
                    Content { bytes: self.file_content.fill(self.buffer, self.part, number), sync },
                )?;
                self.file_content.read_back(self.buffer, self.part, number, |content| names.read(entry, content))
            }
            Kind::MakeNode => names.make_node(entry),
            Kind::Stat => names.stat(entry),
            Kind::Read => {
                self.file_content.before_read(self.buffer);
                names.read(entry, self.buffer)?;
                self.file_content.compare(self.buffer, self.part, number)
            }
            Kind::Write { sync } => {
                names.write(entry, Content { bytes: self.file_content.fill(self.buffer, self.part, number), sync })?;
                self.file_content.read_back(self.buffer, self.part, number, |content| names.read(entry, content))
            }
            Kind::Rename => {
                let renamed = self.renamed.as_mut().expect("made for this kind");
                renamed.set(directory, number);
                names.rename(entry, Entry { directory: within, name: renamed.as_c_str() })
            }
            Kind::Remove => names.remove(entry),
        }
    }

    #[cold]
    fn failed(&self, directory: Option<u64>, number: u64, error: &io::Error) -> Box<Failure> {
        let mut path = self.target.paths(self.entries);
        path.set(directory, number);
        file_content::failed(&self.second_reading, self.kind.name(), path.as_c_str(), error)
    }
}

impl Operate for Works<'_> {
    #[inline(always)]
    fn operate(&mut self, index: u64) -> Result<Moved, Box<Failure>> {
        let (directory, number) = self.entry(index);
        match self.work_on(directory, number) {
            Ok(()) => Ok(Moved { bytes: self.buffer.len() as u64, lane: LANE }),
            Err(error) => Err(self.failed(directory, number, &error)),
        }
    }
}
