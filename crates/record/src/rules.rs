//! The rules that an agent gives to all processes of a job on its node, in a file beside their tables.
//!
//! The file has two halves. The agent fills the one that is not in use ([`encode`], [`half_begins_at`]) and then writes the next
//! generation ([`GENERATION_AT`]), both by `pwrite`: each generation is in the half of its parity. Recorders map the file, take
//! the half of the generation that they read, and see by the generation afterwards whether it was that. The agent says that it
//! lives by a lock ([`LOCK_AT`]): without it nobody is held back. Processes that cannot open the file go by the time at which it was there
//! last ([`AGENT_SEEN_AT`]).
//!
//! A rule has a slot as long as it lives, so that what recorders count by slots stays its own. Where its rate changes, the agent
//! writes eight zeros over the slot's bucket ([`bucket_begins_at`]), or the debts of the old rate go on.
//!
//! Rules with paths may be more than there are slots: they lie in a table behind ([`crate::path_rules`]), and have a slot only once
//! a process has opened one of their files.
//!
//! Any bytes are a valid file: nothing in it is trusted, neither an offset nor a length.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed};

use crate::layout;
use crate::layout::zeroed;
use crate::operation::{OPERATIONS, Operation};
use crate::patterns;

/// What the file is called, in the directory of the tables.
pub const NAME: &str = "rules";
/// How it begins.
pub const MAGIC: [u8; 8] = *b"ioassayR";
/// Of its layout; any change raises it.
pub const VERSION: u32 = 4;
/// Rules that there are at the same time, at most.
pub const SLOTS: usize = 64;
/// Of the paths of all rules together.
pub const PATHS_BYTES: usize = 16 << 10;
/// Of all patterns together: the paths of rules, and those of their aliases ([`Alias`]).
pub const PATTERNS_BYTES: usize = 4 * PATHS_BYTES;
/// Aliases of all rules together, at most: three of each.
pub const ALIASES: usize = 3 * SLOTS;

/// The slot that stands for all rules of the table together, where there is one: calls that some of them are for are looked up.
pub const TABLE_SLOT: usize = SLOTS - 1;

const _: () = assert!(OPERATIONS <= 64, "classes are bits of a word");

/// What a rule does. A number that is none of these makes the slot an unused one.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// It only counts.
    Monitor = 1,
    /// It holds calls back that together move more bytes per second.
    ThrottleBytes = 2,
    /// It holds calls back that are more per second.
    ThrottleCalls = 3,
}

impl RuleKind {
    /// The kind with that number.
    pub fn of(number: u32) -> Option<Self> {
        [Self::Monitor, Self::ThrottleBytes, Self::ThrottleCalls].into_iter().find(|kind| *kind as u32 == number)
    }
}

layout! {
    /// How the file of rules begins.
    pub struct RulesHeader {
        /// [`MAGIC`].
        pub magic: [u8; 8],
        /// [`VERSION`].
        pub version: u32,
        /// Of the whole file.
        pub file_bytes: u32,
        /// Of the rules that hold: 0 before there are any. It only grows.
        pub generation: AtomicU64,
        /// 0: nothing that is written to often shares the line of the generation.
        pub reserved: [u64; 5],
        /// A process that has no room in its address space for the rules, by its own number; 0 where there is none.
        pub no_room: AtomicU64,
        /// How often a rule of the table was found and could not have a slot, because others have all.
        pub without_slot: AtomicU64,
        /// A process whose root directory's path outside is unknown, by its own number; 0 where there is none.
        pub unknown_root: AtomicU64,
        /// When the agent was there last, on `CLOCK_MONOTONIC`, for processes that cannot open the file to see the lock.
        pub agent_seen_ns: AtomicU64,
        /// 0.
        pub more_reserved: [u64; 4],
    }

    /// What the calls that a slot holds back share, in a line of its own.
    pub struct Bucket {
        /// When the next of them may begin ([`crate::throttle`]), on `CLOCK_MONOTONIC`.
        pub next_ns: AtomicU64,
        /// What calls have reserved and given back, of all time; it wraps around.
        pub returned_ns: AtomicU64,
        /// 0.
        pub reserved: [u64; 6],
    }

    /// The rules of a generation. A set of slots has a bit for each.
    pub struct Half {
        /// Slots whose rules are for calls of an operation.
        pub of_operation: [AtomicU64; 64],
        /// Slots whose rules hold calls back.
        pub throttles: AtomicU64,
        /// Slots whose rules are for calls of some sizes.
        pub sized: AtomicU64,
        /// Slots whose rules are for files at some path.
        pub with_path: AtomicU64,
        /// Slots that rules of the table may claim.
        pub free: AtomicU64,
        /// How many rules are in the table.
        pub path_rules: AtomicU64,
        /// 0.
        pub reserved: [u64; 3],
        /// Of a rule of the table that has the slot: its number ([`crate::path_rules::PathRule`]); 0 of all others.
        pub claimed_by: [AtomicU64; SLOTS],
        /// [`RuleKind`]; 0 where the slot is not used.
        pub kinds: [AtomicU32; SLOTS],
        /// Where the pattern begins in `patterns`.
        pub pattern_begins: [AtomicU32; SLOTS],
        /// Of the pattern.
        pub pattern_bytes: [AtomicU32; SLOTS],
        /// Calls that move less do not count.
        pub least_bytes: [AtomicU64; SLOTS],
        /// Calls that move more do not count.
        pub most_bytes: [AtomicU64; SLOTS],
        /// Bytes or calls per second of rules that hold calls back.
        pub rates_per_s: [AtomicU64; SLOTS],
        /// What may be made up for of time in which there were too few.
        pub bursts_ns: [AtomicU64; SLOTS],
        /// Of each alias: its slot, plus 1; 0 where it is not used.
        pub alias_slots: [AtomicU32; ALIASES],
        /// Where its pattern begins in `patterns`.
        pub alias_begins: [AtomicU32; ALIASES],
        /// Of its pattern.
        pub alias_bytes: [AtomicU32; ALIASES],
        /// The device that it is on; 0 where its pattern is for names.
        pub alias_devices: [AtomicU64; ALIASES],
        /// The inode on that device; 0 where its pattern is for paths on that.
        pub alias_inodes: [AtomicU64; ALIASES],
        /// Texts of [`crate::patterns`], one after another.
        pub patterns: [AtomicU8; PATTERNS_BYTES],
        /// The generation; something else where the file was cut before this, and has grown again.
        pub end: AtomicU64,
    }
}

/// All of the file, as it lies in memory where it is mapped.
#[repr(C)]
#[derive(Debug)]
pub struct RulesFile {
    /// How it begins.
    pub header: RulesHeader,
    /// Of each slot.
    pub buckets: [Bucket; SLOTS],
    halves: [Half; 2],
}

/// Of the file: whole pages.
pub const FILE_BYTES: usize = size_of::<RulesFile>().next_multiple_of(4096);
/// Where the generation is: a word that is written at once.
pub const GENERATION_AT: u64 = offset_of!(RulesHeader, generation) as u64;
/// Where the process is written down that has no room for the rules.
pub const NO_ROOM_AT: u64 = offset_of!(RulesHeader, no_room) as u64;
/// Where the agent writes down when it was there last.
pub const AGENT_SEEN_AT: u64 = offset_of!(RulesHeader, agent_seen_ns) as u64;
/// The byte on which the agent holds a lock for writing (`F_OFD_SETLK`) as long as it lives.
pub const LOCK_AT: u64 = 0;

/// Where the half of a generation begins in the file.
pub const fn half_begins_at(generation: u64) -> u64 {
    offset_of!(RulesFile, halves) as u64 + generation % 2 * size_of::<Half>() as u64
}

/// Where [`Half::end`] of a generation is in the file.
pub const fn end_at(generation: u64) -> u64 {
    half_begins_at(generation) + offset_of!(Half, end) as u64
}

/// Where the bucket of a slot begins in the file.
pub const fn bucket_begins_at(slot: usize) -> u64 {
    (offset_of!(RulesFile, buckets) + slot * size_of::<Bucket>()) as u64
}

/// The beginning of a file that has no rules yet; zeros follow.
pub fn header() -> RulesHeader {
    RulesHeader { magic: MAGIC, version: VERSION, file_bytes: FILE_BYTES as u32, ..zeroed() }
}

impl RulesFile {
    /// Whether it is a file of rules, of this version.
    pub fn is_sound(&self) -> bool {
        (self.header.magic, self.header.version) == (MAGIC, VERSION)
    }

    /// The generation of the rules that hold; 0 where there are none.
    #[inline(always)]
    pub fn generation(&self) -> u64 {
        self.header.generation.load(Acquire)
    }

    /// The rules of a generation, as long as [`Self::generation`] says so.
    #[inline(always)]
    pub fn half(&self, generation: u64) -> &Half {
        &self.halves[generation as usize % 2]
    }
}

/// The slots of a set.
pub fn slots(set: u64) -> impl Iterator<Item = usize> {
    let mut left = set;
    core::iter::from_fn(move || {
        let slot = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(slot)
    })
}

impl Half {
    /// The slots whose rules are for calls of an operation, on whatever file.
    #[inline(always)]
    pub fn of(&self, operation: Operation) -> u64 {
        self.of_operation[operation as usize].load(Relaxed)
    }

    /// Those of the slots whose rules are for calls that move so many bytes.
    #[inline(always)]
    pub fn fitting(&self, set: u64, bytes: u64) -> u64 {
        let sized = set & self.sized.load(Relaxed);
        let unfit = slots(sized).filter(|&slot| {
            let (least, most) = (self.least_bytes[slot].load(Relaxed), self.most_bytes[slot].load(Relaxed));
            !(least..=most).contains(&bytes)
        });
        unfit.fold(set, |fit, slot| fit & !(1 << slot))
    }

    /// The slots whose rules are for a file of that name. Not: those that rules of the table have claimed.
    pub fn matching(&self, name: &[u8]) -> u64 {
        let is_match = |&slot: &usize| {
            self.kind(slot).is_some()
                && self.claimed_by[slot].load(Relaxed) == 0
                && patterns::matches(self.pattern(slot), name)
        };
        let by_alias = self.matching_aliases(|alias| {
            self.number(&self.alias_devices, alias) == 0 && patterns::matches(self.alias_pattern(alias), name)
        });
        (0..SLOTS).filter(is_match).fold(by_alias, |set, slot| set | 1 << slot)
    }

    /// The slots whose rules are for the file of that inode.
    pub fn matching_inode(&self, device: u64, inode: u64) -> u64 {
        self.matching_aliases(|alias| {
            inode != 0
                && self.number(&self.alias_inodes, alias) == inode
                && self.number(&self.alias_devices, alias) == device
        })
    }

    /// The slots whose rules are for a file at that path from the root of a mounted device, wherever it is mounted.
    pub fn matching_on_device(&self, device: u64, path: &[u8]) -> u64 {
        self.matching_aliases(|alias| {
            self.number(&self.alias_devices, alias) == device
                && self.number(&self.alias_inodes, alias) == 0
                && patterns::matches(self.alias_pattern(alias), path)
        })
    }

    /// Whether rules know paths on that device.
    pub fn knows_device(&self, device: u64) -> bool {
        let is_of = |alias| device != 0 && self.number(&self.alias_devices, alias) == device;
        (0..self.aliases()).any(is_of)
    }

    /// The slots that have an alias of which `is_match` says so.
    fn matching_aliases(&self, is_match: impl Fn(usize) -> bool) -> u64 {
        let used = (0..self.aliases()).filter(|&alias| is_match(alias));
        used.filter_map(|alias| (self.alias_slots[alias].load(Relaxed) as usize).checked_sub(1))
            .filter(|&slot| slot < SLOTS && self.kind(slot).is_some())
            .fold(0, |set, slot| set | 1 << slot)
    }

    /// The aliases: the first ones.
    fn aliases(&self) -> usize {
        self.alias_slots.iter().position(|slot| slot.load(Relaxed) == 0).unwrap_or(ALIASES)
    }

    fn number(&self, of: &[AtomicU64; ALIASES], alias: usize) -> u64 {
        of[alias].load(Relaxed)
    }

    /// What the rule of a slot does; nothing where the slot is not used.
    pub fn kind(&self, slot: usize) -> Option<RuleKind> {
        RuleKind::of(self.kinds[slot].load(Relaxed))
    }

    /// Whether the rule of a slot is the same as in another generation, so that it goes on with its bucket.
    pub fn has_same(&self, other: &Self, slot: usize) -> bool {
        let numbers = |half: &Self| {
            [&half.least_bytes, &half.most_bytes, &half.rates_per_s, &half.bursts_ns, &half.claimed_by]
                .map(|all| all[slot].load(Relaxed))
        };
        let of = |half: &Self, operation: &AtomicU64| (half.kind(slot), operation.load(Relaxed) >> slot & 1);
        let mut classes = self.of_operation.iter().zip(&other.of_operation);
        let (pattern, others) = (self.pattern(slot), other.pattern(slot));
        numbers(self) == numbers(other)
            && classes.all(|(class, others)| of(self, class) == of(other, others))
            && pattern.len() == others.len()
            && pattern.iter().zip(others).all(|(byte, other)| byte.load(Relaxed) == other.load(Relaxed))
    }

    fn pattern(&self, slot: usize) -> &[AtomicU8] {
        self.text(&self.pattern_begins[slot], &self.pattern_bytes[slot])
    }

    fn alias_pattern(&self, alias: usize) -> &[AtomicU8] {
        self.text(&self.alias_begins[alias], &self.alias_bytes[alias])
    }

    /// A pattern, which is cut where it would end behind the others.
    fn text(&self, begin: &AtomicU32, bytes: &AtomicU32) -> &[AtomicU8] {
        let rest = self.patterns.get(begin.load(Relaxed) as usize..).unwrap_or_default();
        &rest[..rest.len().min(bytes.load(Relaxed) as usize)]
    }
}

/// Another way in which the files of a rule are known, found out on the node on which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias<P> {
    /// The rule's.
    pub slot: usize,
    /// How.
    pub by: AliasBy<P>,
}

/// What an [`Alias`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AliasBy<P> {
    /// A path: that to which the symbolic links of the rule's own lead.
    Path(P),
    /// A path from the root of a mounted device, by the device's number in `/proc/self/mountinfo`.
    PathOnDevice(u64, P),
    /// A device, as `stat` has it, and the inode of a file.
    Inode(u64, u64),
}

/// A rule, as the agent gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule<'a> {
    /// What it does.
    pub kind: RuleKind,
    /// Classes of calls, a bit for each ([`bit`]).
    pub operations: u64,
    /// Which files, a pattern of [`crate::patterns`]; empty is all.
    pub path: &'a [u8],
    /// Calls that move less do not count; what moves nothing moves 0 bytes.
    pub least_bytes: u64,
    /// Calls that move more do not count.
    pub most_bytes: u64,
    /// Bytes or calls per second, of a rule that holds calls back.
    pub rate_per_s: u64,
    /// What may be made up for of time in which there were too few.
    pub burst_ns: u64,
    /// Of a rule of the table: its number ([`crate::path_rules::PathRule`]). 0: its files are known by this half.
    pub number: u64,
}

/// The bit of a class of calls.
pub const fn bit(operation: Operation) -> u64 {
    1 << operation as u32
}

/// Why rules cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// All paths together have more than [`PATHS_BYTES`]; this slot's is the first without room.
    Paths(usize),
    /// The rule of this slot holds calls back, and has no rate.
    NoRate(usize),
    /// The rule of this slot is for no size at all.
    NoSize(usize),
}

/// The half with these rules, by slots. Its bytes ([`layout::bytes_of`]) belong at [`half_begins_at`] of the next generation.
///
/// # Errors
/// Where a rule makes no sense, or the paths have no room.
pub fn encode<P: AsRef<[u8]>>(rules: &[Option<Rule>; SLOTS], aliases: &[Alias<P>]) -> Result<Half, Unfit> {
    let mut half: Half = zeroed();
    let mut begin = 0;
    for (slot, rule) in rules.iter().enumerate() {
        let Some(rule) = rule else { continue };
        let throttles = rule.kind != RuleKind::Monitor;
        if throttles && rule.rate_per_s == 0 {
            return Err(Unfit::NoRate(slot));
        }
        if rule.least_bytes > rule.most_bytes {
            return Err(Unfit::NoSize(slot));
        }
        // Files of others are looked up in the table.
        let path = if rule.number == 0 { patterns::trimmed(rule.path) } else { b"" };
        let path_begin = append(&mut half.patterns[..PATHS_BYTES], &mut begin, path).ok_or(Unfit::Paths(slot))?;
        let bit = 1 << slot;
        for (operation, of) in half.of_operation.iter_mut().enumerate() {
            *of.get_mut() |= if rule.operations >> operation & 1 == 1 { bit } else { 0 };
        }
        *half.throttles.get_mut() |= if throttles { bit } else { 0 };
        *half.sized.get_mut() |= if (rule.least_bytes, rule.most_bytes) == (0, u64::MAX) { 0 } else { bit };
        *half.kinds[slot].get_mut() = rule.kind as u32;
        *half.with_path.get_mut() |= if path.is_empty() { 0 } else { bit };
        *half.pattern_begins[slot].get_mut() = path_begin;
        *half.pattern_bytes[slot].get_mut() = path.len() as u32;
        *half.least_bytes[slot].get_mut() = rule.least_bytes;
        *half.most_bytes[slot].get_mut() = rule.most_bytes;
        *half.rates_per_s[slot].get_mut() = rule.rate_per_s;
        *half.bursts_ns[slot].get_mut() = rule.burst_ns;
        *half.claimed_by[slot].get_mut() = rule.number;
    }
    // A rule whose aliases have no room is still known by its own path.
    for (index, alias) in aliases.iter().take(ALIASES).enumerate() {
        let (device, inode, path) = match &alias.by {
            AliasBy::Path(path) => (0, 0, path.as_ref()),
            AliasBy::PathOnDevice(device, path) => (*device, 0, path.as_ref()),
            AliasBy::Inode(device, inode) => (*device, *inode, &[][..]),
        };
        let path = patterns::trimmed(path);
        let Some(path_begin) = append(&mut half.patterns, &mut begin, path) else { break };
        *half.alias_slots[index].get_mut() = alias.slot as u32 + 1;
        *half.alias_begins[index].get_mut() = path_begin;
        *half.alias_bytes[index].get_mut() = path.len() as u32;
        *half.alias_devices[index].get_mut() = device;
        *half.alias_inodes[index].get_mut() = inode;
    }
    Ok(half)
}

/// What a half says of the table of its generation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfTable {
    /// Rules in it.
    pub rules: u64,
    /// Classes of calls that some of them are for.
    pub operations: u64,
    /// Some of them hold calls back.
    pub throttles: bool,
}

impl Half {
    /// Says that there are rules in the table: [`TABLE_SLOT`] stands for them, and they may claim the slots that no rule has.
    pub fn with_table(mut self, table: OfTable) -> Self {
        let bit = 1 << TABLE_SLOT;
        for (operation, of) in self.of_operation.iter_mut().enumerate() {
            *of.get_mut() |= if table.operations >> operation & 1 == 1 { bit } else { 0 };
        }
        *self.throttles.get_mut() |= if table.throttles { bit } else { 0 };
        *self.with_path.get_mut() |= bit;
        *self.path_rules.get_mut() = table.rules;
        let free = (0..TABLE_SLOT).filter(|&slot| self.kind(slot).is_none()).fold(0, |set, slot| set | 1 << slot);
        *self.free.get_mut() = free;
        self
    }
}

/// Writes a text behind the others. Where it begins, if there is room.
fn append(patterns: &mut [AtomicU8], begin: &mut usize, text: &[u8]) -> Option<u32> {
    let room = patterns.get_mut(*begin..*begin + text.len())?;
    room.iter_mut().zip(text).for_each(|(to, from)| *to.get_mut() = *from);
    let text_begin = *begin as u32;
    *begin += text.len();
    Some(text_begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::bytes_of;
    use crate::read::copy;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    const ALL: Rule = Rule {
        kind: RuleKind::Monitor,
        operations: u64::MAX,
        path: b"",
        least_bytes: 0,
        most_bytes: u64::MAX,
        rate_per_s: 0,
        burst_ns: 0,
        number: 0,
    };

    const NONE: &[Alias<&[u8]>] = &[];

    fn rules<'a>(given: &[(usize, Rule<'a>)]) -> [Option<Rule<'a>>; SLOTS] {
        let mut rules = [None; SLOTS];
        given.iter().for_each(|(slot, rule)| rules[*slot] = Some(*rule));
        rules
    }

    #[test]
    fn a_rule_is_for_its_operations_its_files_and_its_sizes() {
        let reads = Rule { operations: bit(Operation::Read), path: b"/data", least_bytes: 10, most_bytes: 20, ..ALL };
        let half = encode(&rules(&[(3, reads), (63, ALL)]), NONE).unwrap();
        assert_eq!((half.of(Operation::Read), half.of(Operation::Write)), (1 << 3 | 1 << 63, 1 << 63));
        assert_eq!((half.matching(b"/data/x"), half.matching(b"/database")), (1 << 3 | 1 << 63, 1 << 63));
        let both = 1 << 3 | 1 << 63;
        assert_eq!([9, 10, 20, 21].map(|bytes| half.fitting(both, bytes)), [1 << 63, both, both, 1 << 63]);
    }

    #[test]
    fn a_rule_is_for_files_by_the_aliases_of_its_path() {
        let rule = |path| Rule { path, ..ALL };
        let aliases = [
            (2, AliasBy::Path(&b"/real"[..])),
            (2, AliasBy::PathOnDevice(7, b"/sub/real/")),
            (3, AliasBy::Inode(7, 11)),
        ];
        let aliases = aliases.map(|(slot, by)| Alias { slot, by });
        let half = encode(&rules(&[(1, ALL), (2, rule(b"/link")), (3, rule(b"/file"))]), &aliases).unwrap();
        let [all, link, file] = [1_u64, 2, 3].map(|slot| 1 << slot);
        assert_eq!(half.with_path.load(Relaxed), link | file);
        let by_name = [&b"/link/x"[..], b"/real/x", b"/realm", b"/file", b"/sub/real"].map(|name| half.matching(name));
        assert_eq!(by_name, [all | link, all | link, all, all | file, all]);
        assert_eq!(half.matching_on_device(7, b"/sub/real/x"), link);
        assert_eq!((half.matching_on_device(8, b"/sub/real"), half.matching_on_device(0, b"/real")), (0, link));
        assert_eq!([half.matching_inode(7, 11), half.matching_inode(8, 11), half.matching_inode(7, 0)], [file, 0, 0]);
        assert!(half.knows_device(7) && !half.knows_device(0));
    }

    #[test]
    fn aliases_without_room_leave_the_rules_as_they_are() {
        let path = vec![b'x'; PATTERNS_BYTES];
        let alias = Alias { slot: 1, by: AliasBy::Path(&path[..]) };
        let half = encode(&rules(&[(1, Rule { path: b"/a", ..ALL })]), &[alias]).unwrap();
        assert_eq!((half.matching(b"/a"), half.matching(&path)), (2, 0));
    }

    #[test]
    fn a_rule_is_the_same_where_nothing_of_it_has_changed() {
        let rule = Rule { kind: RuleKind::ThrottleBytes, rate_per_s: 5, path: b"/data", ..ALL };
        let half = encode(&rules(&[(3, rule)]), NONE).unwrap();
        let with = |rule| encode(&rules(&[(1, ALL), (3, rule)]), NONE).unwrap().has_same(&half, 3);
        assert!(with(rule));
        for other in [
            Rule { kind: RuleKind::Monitor, ..rule },
            Rule { rate_per_s: 6, ..rule },
            Rule { path: b"/dat", ..rule },
            Rule { operations: 1, ..rule },
            Rule { most_bytes: 9, ..rule },
        ] {
            assert!(!with(other), "{other:?}");
        }
    }

    #[test]
    fn a_slot_without_a_rule_matches_no_file() {
        assert_eq!(encode(&rules(&[]), NONE).unwrap().matching(b"/x"), 0);
    }

    #[test]
    fn rules_that_make_no_sense_are_refused_by_their_slots() {
        let throttle = Rule { kind: RuleKind::ThrottleBytes, ..ALL };
        let long = vec![b'x'; PATHS_BYTES];
        for (slot, rule, unfit) in [
            (2, throttle, Unfit::NoRate(2)),
            (3, Rule { least_bytes: 2, most_bytes: 1, ..ALL }, Unfit::NoSize(3)),
            (4, Rule { path: &long, ..ALL }, Unfit::Paths(4)),
        ] {
            let first = Rule { path: b"y", ..ALL };
            assert_eq!(encode(&rules(&[(0, first), (slot, rule)]), NONE).unwrap_err(), unfit);
        }
        assert!(encode(&rules(&[(0, Rule { path: &long, ..ALL })]), NONE).is_ok());
    }

    #[test]
    fn each_generation_has_the_other_half_and_no_part_of_the_file_meets_another() {
        let [first, second] = [half_begins_at(6), half_begins_at(7)];
        assert_eq!(half_begins_at(8), first);
        assert_eq!(second, first + size_of::<Half>() as u64);
        assert!(bucket_begins_at(SLOTS) <= first && second + size_of::<Half>() as u64 <= FILE_BYTES as u64);
        assert_eq!((bucket_begins_at(0) % 64, bucket_begins_at(1) - bucket_begins_at(0)), (0, 64));
    }

    prop_compose! {
        fn any_rule()(
            kind in prop::sample::select(vec![RuleKind::Monitor, RuleKind::ThrottleBytes, RuleKind::ThrottleCalls]),
            operations: u64,
            path in "(/[a-c*?/]{0,12}[a-c])?",
            sizes: (u64, u64),
            rate_per_s in 1..u64::MAX,
            burst_ns: u64,
        ) -> (Vec<u8>, Rule<'static>) {
            let (least_bytes, most_bytes) = (sizes.0.min(sizes.1), sizes.0.max(sizes.1));
            (path.into_bytes(), Rule { kind, operations, path: b"", least_bytes, most_bytes, rate_per_s, burst_ns, number: 0 })
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_what_recorders_read(
            given in prop::collection::vec(prop::option::of(any_rule()), SLOTS..=SLOTS)
        ) {
            let mut wanted = [None; SLOTS];
            for (slot, rule) in given.iter().enumerate() {
                wanted[slot] = rule.as_ref().map(|(path, rule)| Rule { path, ..*rule });
            }
            let half: Half = copy(bytes_of(&encode(&wanted, NONE).unwrap())).unwrap();
            for (slot, rule) in wanted.iter().enumerate() {
                prop_assert_eq!(half.kind(slot), rule.map(|rule| rule.kind));
                let Some(rule) = rule else { continue };
                let pattern: Vec<_> = half.pattern(slot).iter().map(|byte| byte.load(Relaxed)).collect();
                prop_assert_eq!(&pattern, rule.path);
                for &operation in Operation::ALL {
                    prop_assert_eq!(half.of(operation) >> slot & 1 == 1, rule.operations & bit(operation) != 0);
                }
                for bytes in [0, rule.least_bytes, rule.most_bytes, u64::MAX] {
                    let fits = (rule.least_bytes..=rule.most_bytes).contains(&bytes);
                    prop_assert_eq!(half.fitting(1 << slot, bytes) != 0, fits);
                }
                let numbers = [&half.rates_per_s, &half.bursts_ns].map(|numbers| numbers[slot].load(Relaxed));
                prop_assert_eq!(numbers, [rule.rate_per_s, rule.burst_ns]);
                let throttles = half.throttles.load(Relaxed) >> slot & 1 == 1;
                prop_assert_eq!(throttles, rule.kind != RuleKind::Monitor);
            }
        }

        #[test]
        fn any_bytes_are_harmless(seed: u64, kinds in 0..5_u32, name in "/[a-z*/]{0,200}") {
            let mut random = seed | 1;
            let mut bytes = vec![0_u8; size_of::<Half>()];
            for eight in bytes.chunks_exact_mut(8) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                eight.copy_from_slice(&random.to_le_bytes());
            }
            let half: Box<Half> = Box::new(copy(&bytes).unwrap());
            half.kinds.iter().for_each(|kind| kind.store(kinds, Relaxed));
            // Offsets and lengths that are within, at the end, and anywhere.
            half.pattern_begins.iter().step_by(2).for_each(|begin| { begin.fetch_and(0x1_ffff, Relaxed); });
            half.pattern_bytes.iter().step_by(3).for_each(|length| { length.fetch_and(0x3fff, Relaxed); });
            half.alias_begins.iter().step_by(2).for_each(|begin| { begin.fetch_and(0xffff, Relaxed); });
            half.alias_devices.iter().step_by(2).for_each(|device| device.store(0, Relaxed));
            let device = half.alias_devices[1].load(Relaxed);
            let set = half.matching(name.as_bytes())
                | half.matching_on_device(device, name.as_bytes())
                | half.matching_inode(device, random);
            prop_assert!((1..=3).contains(&kinds) || set == 0);
            prop_assert_eq!(half.fitting(set, random) & !set, 0);
        }
    }
}
