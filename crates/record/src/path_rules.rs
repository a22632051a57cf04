//! Rules with paths that have no slot until a process has one of their files: more than there are slots.
//!
//! A contract for many directories has thousands of them, and a job uses few. They lie in a table behind the file of rules
//! ([`crate::rules`]), one for each of its halves, with an index by path. When a file is opened, its path is looked up once: the
//! keys of a rule are its path, up to the component with the first `*` or `?`, and its aliases', so all rules for a file are
//! found under the path itself and the directories above it. A rule that is found and has no slot claims one ([`PathTable::claim`]),
//! for all processes of the job. What is done for each call is the same as for other rules.
//!
//! A slot stays with its rule until the agent writes another generation. Where no slot is left, the rule does not hold.
//!
//! Any bytes are a valid table.

use core::mem::offset_of;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, fence};

use crate::layout;
use crate::patterns;
use crate::rules::{AliasBy, Bucket, FILE_BYTES, Half, Rule, RuleKind, SLOTS, slots};

/// Rules of a table, at most.
pub const PATH_RULES: usize = 24_576;
/// Of all patterns of a table together: the paths of rules, and those of their aliases.
pub const TEXT_BYTES: usize = 5 << 20;
/// Keys of a table, at most: the path of each rule, and three aliases.
const KEYS: usize = 4 * PATH_RULES;
/// Lists of keys.
const HEADS: usize = 1 << 16;
/// Keys that a single look-up compares. Patterns with a `*` early in their path are all under the same key.
const MOST_COMPARED: usize = 2 * KEYS;
/// Rules that a single look-up finds: no more than there are slots can hold.
const MOST_FOUND: usize = SLOTS;
/// [`PathRule::slots`] while a process claims them.
const CLAIMING: u32 = u32::MAX;
/// In [`Half::claimed_by`], beside the rule's number: this is its second slot.
pub const BEYOND: u64 = 1 << 63;

layout! {
    /// A rule, as [`Rule`].
    pub struct PathRule {
        /// Classes of calls.
        pub operations: AtomicU64,
        /// Classes of calls that it counts in a slot of their own, because nothing can hold them back. 0: it takes one slot.
        pub beyond_operations: AtomicU64,
        /// Calls that move less do not count.
        pub least_bytes: AtomicU64,
        /// Calls that move more do not count.
        pub most_bytes: AtomicU64,
        /// Bytes or calls per second.
        pub rate_per_s: AtomicU64,
        /// What may be made up for.
        pub burst_ns: AtomicU64,
        /// Its number, which it keeps as long as it lives: never 0.
        pub number: AtomicU64,
        /// [`RuleKind`].
        pub kind: AtomicU32,
        /// Its slots: the first, plus 1, in the lowest byte, and the second in the next; 0 where it has none.
        pub slots: AtomicU32,
    }

    /// A path under which a rule is found.
    pub struct PathKey {
        /// The device that the path is on; 0 where it is a name.
        pub device: AtomicU64,
        /// The inode on that device; 0 where it is a path.
        pub inode: AtomicU64,
        /// Its hash.
        pub hash: AtomicU32,
        /// The rule.
        pub rule: AtomicU32,
        /// Where its pattern begins in the texts.
        pub pattern_begin: AtomicU32,
        /// Of the pattern.
        pub pattern_bytes: AtomicU32,
        /// The next key of the list, plus 1; 0 is the end.
        pub next: AtomicU32,
        /// 0.
        pub reserved: u32,
    }
}

/// The rules of a generation, and how they are found.
#[repr(C)]
#[derive(Debug)]
pub struct PathTable {
    /// Odd while the agent changes keys.
    version: AtomicU64,
    heads: [AtomicU32; HEADS],
    rules: [PathRule; PATH_RULES],
    keys: [PathKey; KEYS],
    texts: [AtomicU8; TEXT_BYTES],
}

/// Of a table: whole pages.
pub const TABLE_BYTES: usize = size_of::<PathTable>().next_multiple_of(4096);
/// Where both tables begin in the file of rules: a whole page, also where pages have 64 KiB.
pub const TABLES_BEGIN: usize = FILE_BYTES.next_multiple_of(64 << 10);
/// Of the file of rules with both tables.
pub const WHOLE_FILE_BYTES: usize = TABLES_BEGIN + 2 * TABLE_BYTES;

/// Where the table of a generation begins in the file.
pub const fn table_begins_at(generation: u64) -> u64 {
    (TABLES_BEGIN + generation as usize % 2 * TABLE_BYTES) as u64
}

/// Where the version of a generation's keys is.
pub const fn version_at(generation: u64) -> u64 {
    table_begins_at(generation) + offset_of!(PathTable, version) as u64
}

/// Where the rate of a rule is, in the table of a generation.
pub const fn rate_at(generation: u64, rule: usize) -> u64 {
    let rule = offset_of!(PathTable, rules) + rule * size_of::<PathRule>();
    table_begins_at(generation) + (rule + offset_of!(PathRule, rate_per_s)) as u64
}

/// What a path is hashed by, byte by byte (FNV-1a).
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    fn of_device(device: u64) -> Self {
        Self((0xcbf2_9ce4_8422_2325 ^ device).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn add(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    fn get(self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

/// The hash of the part of a pattern without `*` and `?`: whole components, without a slash at the end.
fn hash_of_key(device: u64, pattern: &[u8]) -> u32 {
    let fixed = match pattern.iter().position(|byte| b"*?".contains(byte)) {
        None => patterns::trimmed(pattern),
        Some(first) => &pattern[..pattern[..first].iter().rposition(|&byte| byte == b'/').unwrap_or(0)],
    };
    let mut hash = Hash::of_device(device);
    let fixed = if fixed == b"/" { b"" } else { fixed };
    fixed.iter().for_each(|&byte| hash.add(byte));
    hash.get()
}

fn hash_of_inode(device: u64, inode: u64) -> u32 {
    let mut hash = Hash::of_device(device);
    inode.to_le_bytes().into_iter().for_each(|byte| hash.add(byte));
    hash.get()
}

/// Rules that a look-up has found.
#[derive(Debug)]
pub struct MatchingRules {
    rules: [u32; MOST_FOUND],
    count: usize,
}

impl MatchingRules {
    const NONE: Self = Self { rules: [0; MOST_FOUND], count: 0 };

    /// Their places in the table.
    pub fn rules(&self) -> impl Iterator<Item = usize> {
        self.rules[..self.count].iter().map(|&rule| rule as usize)
    }

    fn add(&mut self, rule: u32) {
        if self.count < MOST_FOUND && !self.rules[..self.count].contains(&rule) {
            self.rules[self.count] = rule;
            self.count += 1;
        }
    }
}

/// The result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The rule has these slots.
    Slots(u64),
    /// Other rules have all slots.
    Full,
    /// There is no such rule.
    NoRule,
}

impl PathTable {
    /// A table in zeroed memory; nothing where that is too small.
    pub fn in_words(words: &mut [u64]) -> Option<&mut Self> {
        // SAFETY: there is room for it, its alignment is that of a word, and any bytes are a valid table.
        (size_of_val(words) >= size_of::<Self>()).then(|| unsafe { &mut *words.as_mut_ptr().cast() })
    }

    /// Words that it takes.
    pub const WORDS: usize = size_of::<Self>() / size_of::<u64>();

    /// Of the keys: odd while the agent changes them.
    pub fn version(&self) -> u64 {
        self.version.load(Acquire)
    }

    /// Whether the agent is changing keys: nothing is found meanwhile.
    pub fn is_changing(&self) -> bool {
        self.version() % 2 == 1
    }

    /// The rules for a file at a path: of a device, or by its name where that is 0. Nothing where the agent changed keys meanwhile.
    pub fn at_path(&self, device: u64, path: &[u8]) -> Option<MatchingRules> {
        self.unchanged(|matching| {
            if path.first() != Some(&b'/') {
                return;
            }
            let mut hash = Hash::of_device(device);
            self.compare(hash.get(), device, 0, Some(path), matching);
            for (index, &byte) in path.iter().enumerate() {
                if index > 0 && byte == b'/' {
                    self.compare(hash.get(), device, 0, Some(path), matching);
                }
                hash.add(byte);
            }
            if path.len() > 1 {
                self.compare(hash.get(), device, 0, Some(path), matching);
            }
        })
    }

    /// The rules for the file of an inode. Nothing where the agent changed keys meanwhile.
    pub fn of_inode(&self, device: u64, inode: u64) -> Option<MatchingRules> {
        self.unchanged(|matching| {
            if inode != 0 {
                self.compare(hash_of_inode(device, inode), device, inode, None, matching);
            }
        })
    }

    fn unchanged(&self, look: impl FnOnce(&mut MatchingRules)) -> Option<MatchingRules> {
        let version = self.version();
        let mut matching = MatchingRules::NONE;
        look(&mut matching);
        fence(Acquire);
        (version.is_multiple_of(2) && self.version.load(Relaxed) == version).then_some(matching)
    }

    /// Compares a path with all keys of a hash; an inode has none.
    fn compare(&self, hash: u32, device: u64, inode: u64, path: Option<&[u8]>, matching: &mut MatchingRules) {
        let mut next = self.heads[hash as usize % HEADS].load(Relaxed);
        // Where bytes are not to be trusted, a list may have no end.
        for _ in 0..MOST_COMPARED {
            let Some(key) = (next as usize).checked_sub(1).and_then(|index| self.keys.get(index)) else { return };
            let is_it = key.hash.load(Relaxed) == hash
                && key.device.load(Relaxed) == device
                && key.inode.load(Relaxed) == inode
                && path.is_none_or(|path| patterns::matches(self.pattern(key), path));
            if is_it {
                matching.add(key.rule.load(Relaxed));
            }
            next = key.next.load(Relaxed);
        }
    }

    fn pattern(&self, key: &PathKey) -> &[AtomicU8] {
        let rest = self.texts.get(key.pattern_begin.load(Relaxed) as usize..).unwrap_or_default();
        &rest[..rest.len().min(key.pattern_bytes.load(Relaxed) as usize)]
    }

    /// The slots of a rule, which claims them if it has none. `wait_until` waits for another process, for a while.
    ///
    /// A thread that stops for so long that two generations go by in the middle of this writes into the slot of another
    /// rule, which lasts until the next generation.
    pub fn claim(
        &self,
        rule: usize,
        half: &Half,
        buckets: &[Bucket; SLOTS],
        wait_until: impl Fn(&dyn Fn() -> bool),
    ) -> Claim {
        let Some(of) = self.rules.get(rule) else { return Claim::NoRule };
        match of.slots.compare_exchange(0, CLAIMING, AcqRel, Acquire) {
            Ok(_) => {}
            Err(CLAIMING) => {
                // Another process does, unless it was killed at it.
                wait_until(&|| of.slots.load(Relaxed) != CLAIMING);
                match of.slots.load(Acquire) {
                    0 => return Claim::Full,
                    CLAIMING => {}
                    word => return Claim::Slots(slots_in(word)),
                }
            }
            Err(word) => return Claim::Slots(slots_in(word)),
        }
        let Some(kind) = RuleKind::of(of.kind.load(Relaxed)) else {
            let _ = of.slots.compare_exchange(CLAIMING, 0, AcqRel, Acquire);
            return Claim::NoRule;
        };
        let beyond = of.beyond_operations.load(Relaxed);
        let Some((first, second)) = half.take_free(beyond != 0) else {
            let _ = of.slots.compare_exchange(CLAIMING, 0, AcqRel, Acquire);
            return Claim::Full;
        };
        buckets[first].next_ns.store(0, Relaxed);
        half.fill(first, of, kind, of.operations.load(Relaxed), 0);
        second.into_iter().for_each(|second| half.fill(second, of, RuleKind::Monitor, beyond, BEYOND));
        let word = word_of(first, second);
        match of.slots.compare_exchange(CLAIMING, word, AcqRel, Acquire) {
            Ok(_) => Claim::Slots(slots_in(word)),
            Err(other) => {
                // It was waited for in vain, but another process was not.
                half.give_back(slots_in(word));
                if other == 0 { Claim::Full } else { Claim::Slots(slots_in(other)) }
            }
        }
    }
}

/// [`PathRule::slots`].
fn word_of(first: usize, second: Option<usize>) -> u32 {
    (first as u32 + 1) | (second.map_or(0, |second| second as u32 + 1) << 8)
}

fn slots_in(word: u32) -> u64 {
    [word & 0xff, word >> 8 & 0xff]
        .into_iter()
        .filter(|&slot| (1..=SLOTS as u32).contains(&slot))
        .fold(0, |set, slot| set | 1 << (slot - 1))
}

impl Half {
    /// Takes one or two slots that no rule has, or none.
    fn take_free(&self, two: bool) -> Option<(usize, Option<usize>)> {
        let mut free = self.free.load(Acquire);
        loop {
            let mut some = slots(free);
            let first = some.next()?;
            let second = if two { Some(some.next()?) } else { None };
            let taken = 1 << first | second.map_or(0, |second| 1 << second);
            match self.free.compare_exchange_weak(free, free & !taken, AcqRel, Acquire) {
                Ok(_) => return Some((first, second)),
                Err(other) => free = other,
            }
        }
    }

    fn fill(&self, slot: usize, of: &PathRule, kind: RuleKind, operations: u64, beyond: u64) {
        let bit = 1 << slot;
        for (to, from) in [
            (&self.least_bytes, &of.least_bytes),
            (&self.most_bytes, &of.most_bytes),
            (&self.rates_per_s, &of.rate_per_s),
            (&self.bursts_ns, &of.burst_ns),
        ] {
            to[slot].store(from.load(Relaxed), Relaxed);
        }
        self.claimed_by[slot].store(of.number.load(Relaxed) | beyond, Relaxed);
        self.kinds[slot].store(kind as u32, Relaxed);
        if (of.least_bytes.load(Relaxed), of.most_bytes.load(Relaxed)) != (0, u64::MAX) {
            self.sized.fetch_or(bit, Relaxed);
        }
        if kind != RuleKind::Monitor {
            self.throttles.fetch_or(bit, Relaxed);
        }
        for (operation, of_operation) in self.of_operation.iter().enumerate() {
            if operations >> operation & 1 == 1 {
                of_operation.fetch_or(bit, Release);
            }
        }
    }

    /// Slots of no rule any more.
    fn give_back(&self, set: u64) {
        for slot in slots(set) {
            self.claimed_by[slot].store(0, Relaxed);
            self.kinds[slot].store(0, Relaxed);
        }
        for words in self.of_operation.iter().chain([&self.throttles, &self.sized]) {
            words.fetch_and(!set, Relaxed);
        }
        self.free.fetch_or(set, Release);
    }
}

/// Writes a table that was all zero.
#[derive(Debug)]
pub struct Writer<'a> {
    table: &'a mut PathTable,
    rules: usize,
    keys: usize,
    text_bytes: usize,
}

/// A table has no room for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// A rule of a table, as the agent gives it.
#[derive(Debug, Clone, Copy)]
pub struct NewRule<'a> {
    /// What it is.
    pub rule: Rule<'a>,
    /// [`PathRule::beyond_operations`].
    pub beyond_operations: u64,
    /// The slots that it has already, in the same generation's half.
    pub slots: Option<(usize, Option<usize>)>,
}

impl<'a> Writer<'a> {
    /// Of a table that is all zero.
    pub fn new(table: &'a mut PathTable) -> Self {
        Self { table, rules: 0, keys: 0, text_bytes: 0 }
    }

    /// Adds a rule, and how else its files are known. An alias without room is left out.
    ///
    /// # Errors
    /// If there is no room for the rule.
    pub fn add<P: AsRef<[u8]>>(&mut self, new: &NewRule, aliases: &[AliasBy<P>]) -> Result<(), NoRoom> {
        let rule_number = self.rules as u32;
        let to = self.table.rules.get_mut(self.rules).ok_or(NoRoom)?;
        let rule = &new.rule;
        *to.operations.get_mut() = rule.operations;
        *to.beyond_operations.get_mut() = new.beyond_operations;
        *to.least_bytes.get_mut() = rule.least_bytes;
        *to.most_bytes.get_mut() = rule.most_bytes;
        *to.rate_per_s.get_mut() = rule.rate_per_s;
        *to.burst_ns.get_mut() = rule.burst_ns;
        *to.number.get_mut() = rule.number;
        *to.kind.get_mut() = rule.kind as u32;
        *to.slots.get_mut() = new.slots.map_or(0, |(first, second)| word_of(first, second));
        self.add_key(rule_number, 0, 0, rule.path)?;
        self.rules += 1;
        for alias in aliases {
            // The rule is still known by its own path.
            let _ = match alias {
                AliasBy::Path(path) => self.add_key(rule_number, 0, 0, path.as_ref()),
                AliasBy::PathOnDevice(device, path) => self.add_key(rule_number, *device, 0, path.as_ref()),
                AliasBy::Inode(device, inode) => self.add_key(rule_number, *device, *inode, b""),
            };
        }
        Ok(())
    }

    fn add_key(&mut self, rule: u32, device: u64, inode: u64, pattern: &[u8]) -> Result<(), NoRoom> {
        let pattern = patterns::trimmed(pattern);
        let room = self.table.texts.get_mut(self.text_bytes..self.text_bytes + pattern.len()).ok_or(NoRoom)?;
        let key = self.table.keys.get_mut(self.keys).ok_or(NoRoom)?;
        room.iter_mut().zip(pattern).for_each(|(to, from)| *to.get_mut() = *from);
        let hash = if inode == 0 { hash_of_key(device, pattern) } else { hash_of_inode(device, inode) };
        let head = self.table.heads[hash as usize % HEADS].get_mut();
        *key.device.get_mut() = device;
        *key.inode.get_mut() = inode;
        *key.hash.get_mut() = hash;
        *key.rule.get_mut() = rule;
        *key.pattern_begin.get_mut() = self.text_bytes as u32;
        *key.pattern_bytes.get_mut() = pattern.len() as u32;
        *key.next.get_mut() = *head;
        self.keys += 1;
        *head = self.keys as u32;
        self.text_bytes += pattern.len();
        Ok(())
    }

    /// What is to be written of the rules, and where in a table.
    pub fn rules(&self) -> (u64, &[u8]) {
        part(offset_of!(PathTable, rules), &self.table.rules[..self.rules])
    }

    /// What is to be written of the keys, and where in a table.
    pub fn keys(&self) -> [(u64, &[u8]); 3] {
        [
            part(offset_of!(PathTable, texts), &self.table.texts[..self.text_bytes]),
            part(offset_of!(PathTable, keys), &self.table.keys[..self.keys]),
            part(offset_of!(PathTable, heads), &self.table.heads),
        ]
    }
}

fn part<T>(offset: usize, of: &[T]) -> (u64, &[u8]) {
    // SAFETY: the parts of a table are of integers without padding.
    (offset as u64, unsafe { core::slice::from_raw_parts(of.as_ptr().cast(), size_of_val(of)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::zeroed;
    use crate::operation::Operation;
    use crate::rules::{OfTable, TABLE_SLOT, bit, encode};
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::collections::BTreeSet;
    use std::vec;
    use std::vec::Vec;

    const NONE: &[AliasBy<&[u8]>] = &[];

    fn rule(number: u64, path: &[u8]) -> NewRule<'_> {
        let rule = Rule {
            kind: RuleKind::ThrottleBytes,
            operations: bit(Operation::Write),
            path,
            least_bytes: 7,
            most_bytes: u64::MAX,
            rate_per_s: 100 + number,
            burst_ns: 5,
            number,
        };
        NewRule { rule, beyond_operations: bit(Operation::Map), slots: None }
    }

    fn words() -> Vec<u64> {
        vec![0; PathTable::WORDS]
    }

    fn half() -> Box<Half> {
        let table = OfTable { rules: 1, operations: bit(Operation::Write), throttles: true };
        Box::new(encode::<&[u8]>(&[None; SLOTS], &[]).unwrap().with_table(table))
    }

    fn rules_of(found_rules: Option<MatchingRules>) -> Vec<usize> {
        let mut rules: Vec<_> = found_rules.unwrap().rules().collect();
        rules.sort_unstable();
        rules
    }

    fn buckets() -> [Bucket; SLOTS] {
        core::array::from_fn(|_| Bucket { next_ns: 9.into(), ..zeroed() })
    }

    fn claim(table: &PathTable, rule: usize, half: &Half) -> Claim {
        table.claim(rule, half, &buckets(), |_| ())
    }

    #[test]
    fn a_rule_is_found_by_its_path_its_pattern_and_its_aliases() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        let mut writer = Writer::new(table);
        let aliases = [AliasBy::Path(&b"/real/"[..]), AliasBy::PathOnDevice(7, b"/"), AliasBy::Inode(7, 11)];
        for (path, aliases) in [(&b"/data/a"[..], NONE), (b"/data/*.h5", NONE), (b"/link", &aliases), (b"/", NONE)] {
            writer.add(&rule(1, path), aliases).unwrap();
        }
        let at_path = |device, path: &str| rules_of(table.at_path(device, path.as_bytes()));
        assert_eq!(at_path(0, "/data/a/b/c"), [0, 3]);
        assert_eq!(at_path(0, "/data/ab"), [3]);
        assert_eq!(at_path(0, "/data/x.h5"), [1, 3]);
        assert_eq!(at_path(0, "/real"), [2, 3]);
        assert_eq!((at_path(7, "/anything"), at_path(7, "/"), at_path(8, "/anything")), (vec![2], vec![2], vec![]));
        assert_eq!(
            [(7, 11), (8, 11), (7, 0)].map(|(device, inode)| rules_of(table.of_inode(device, inode)).len()),
            [1, 0, 0]
        );
        assert_eq!((at_path(0, "pipe"), at_path(0, ""), at_path(0, "/")), (vec![], vec![], vec![3]));
    }

    #[test]
    fn nothing_is_found_while_keys_change() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        table.version.store(3, Relaxed);
        assert!(table.is_changing() && table.at_path(0, b"/").is_none() && table.of_inode(1, 1).is_none());
    }

    #[test]
    fn a_claim_fills_slots_that_stay_with_the_rule() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        let mut writer = Writer::new(table);
        writer.add(&rule(1, b"/a"), NONE).unwrap();
        writer.add(&rule(2, b"/b"), NONE).unwrap();
        let half = half();
        assert_eq!(claim(table, 1, &half), Claim::Slots(0b11));
        assert_eq!(claim(table, 0, &half), Claim::Slots(0b1100));
        assert_eq!(claim(table, 1, &half), Claim::Slots(0b11));
        assert_eq!([0, 1].map(|slot| half.kind(slot)), [Some(RuleKind::ThrottleBytes), Some(RuleKind::Monitor)]);
        assert_eq!(half.of(Operation::Write), 0b101 | 1 << TABLE_SLOT);
        assert_eq!(half.of(Operation::Map), 0b1010);
        assert_eq!((half.rates_per_s[0].load(Relaxed), half.throttles.load(Relaxed)), (102, 0b101 | 1 << TABLE_SLOT));
        assert_eq!([0, 1, 2].map(|slot| half.claimed_by[slot].load(Relaxed)), [2, 2 | BEYOND, 1]);
        assert_eq!((half.fitting(0b11, 6), half.fitting(0b11, 7)), (0, 0b11));
        // They are no rules for all files, though they have no pattern in the half.
        assert_eq!(half.matching(b"/anything"), 0);
        assert_eq!((claim(table, 2, &half), claim(table, PATH_RULES, &half)), (Claim::NoRule, Claim::NoRule));
    }

    #[test]
    fn a_claim_where_others_have_all_slots_takes_none() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        let mut writer = Writer::new(table);
        (0..40).for_each(|number| writer.add(&rule(number + 1, b"/a"), NONE).unwrap());
        let half = half();
        // Two slots each, of 63.
        let claims: Vec<_> = (0..40).map(|rule| claim(table, rule, &half)).collect();
        assert!(claims[..31].iter().all(|claim| *claim != Claim::Full), "{claims:?}");
        assert!(claims[31..].iter().all(|claim| *claim == Claim::Full), "{claims:?}");
        assert_eq!(half.free.load(Relaxed).count_ones(), 1);
    }

    #[test]
    fn a_claim_goes_on_where_another_process_was_killed_at_it() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        Writer::new(table).add(&rule(1, b"/a"), NONE).unwrap();
        table.rules[0].slots.store(CLAIMING, Relaxed);
        assert_eq!(claim(table, 0, &half()), Claim::Slots(0b11));
    }

    #[test]
    fn threads_that_claim_at_once_have_the_same_slots_and_no_others_share_them() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        let mut writer = Writer::new(table);
        (0..20).for_each(|number| writer.add(&rule(number + 1, b"/a"), NONE).unwrap());
        let (table, half, buckets) = (&*table, half(), buckets());
        let wait_until = |is_done: &dyn Fn() -> bool| while !is_done() {};
        let claims = || (0..20).map(|rule| table.claim(rule, &half, &buckets, wait_until)).collect::<Vec<_>>();
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(claims)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|claims| *claims == all[0]), "{all:?}");
        let slots: Vec<_> =
            all[0].iter().map(|claim| if let Claim::Slots(slots) = claim { *slots } else { 0 }).collect();
        assert_eq!(slots.iter().fold(0, |all, slots| all | slots).count_ones(), 40);
        // What is reserved by the rule that had the slot before is none of the new one's.
        let is_new = |slot: usize| half.kind(slot) == Some(RuleKind::ThrottleBytes);
        assert_eq!((0..SLOTS).filter(|&slot| is_new(slot)).count(), 20);
        assert!((0..SLOTS).all(|slot| is_new(slot) == (buckets[slot].next_ns.load(Relaxed) == 0)));
    }

    #[test]
    fn a_table_without_room_refuses_rules_and_leaves_out_aliases() {
        let mut words = words();
        let table = PathTable::in_words(&mut words).unwrap();
        let long = vec![b'x'; TEXT_BYTES - 2];
        let mut writer = Writer::new(table);
        writer.add(&rule(1, b"/a"), &[AliasBy::Path(&long[..]), AliasBy::Path(b"/b")]).unwrap();
        assert_eq!(writer.add(&rule(2, b"/b"), NONE), Err(NoRoom));
        assert_eq!(rules_of(table.at_path(0, b"/a")), [0]);
    }

    proptest! {
        #[test]
        fn the_index_finds_what_comparing_all_patterns_does(
            patterns in prop::collection::vec("/([ab]{1,2}|[ab?]{1,2}|a\\*|\\*\\*)(/([ab]|\\*|\\*\\*|b\\?)){0,3}/?", 0..12),
            path in "(/[ab]{1,2}){0,5}/?",
        ) {
            let mut words = words();
            let table = PathTable::in_words(&mut words).unwrap();
            let mut writer = Writer::new(table);
            let mut expected = BTreeSet::new();
            for (index, pattern) in patterns.iter().enumerate() {
                writer.add(&rule(1, pattern.as_bytes()), NONE).unwrap();
                let of: Vec<_> = patterns::trimmed(pattern.as_bytes()).iter().map(|&byte| AtomicU8::new(byte)).collect();
                expected.extend(patterns::matches(&of, path.as_bytes()).then_some(index));
            }
            prop_assert_eq!(rules_of(table.at_path(0, path.as_bytes())).into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4))]
        #[test]
        fn any_bytes_are_harmless(seed: u64, path in "/[a-z*/]{0,200}", kind in 0..5_u32) {
            let mut random = seed | 1;
            let mut words = words();
            for word in &mut words {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                *word = random;
            }
            let table = PathTable::in_words(&mut words).unwrap();
            table.version.store(0, Relaxed);
            // Lists that lead somewhere, and lead back; texts that are within, at the end, and anywhere.
            table.heads.iter().for_each(|head| head.store(1, Relaxed));
            let mut hash = Hash::of_device(0);
            path.bytes().for_each(|byte| hash.add(byte));
            for key in table.keys.iter().take(64) {
                key.next.fetch_and(63, Relaxed);
                key.pattern_begin.fetch_and(0x7f_ffff, Relaxed);
                key.pattern_bytes.fetch_and(0x3fff, Relaxed);
                key.device.store(0, Relaxed);
                key.inode.store(0, Relaxed);
                key.hash.store(hash.get(), Relaxed);
            }
            table.keys[3].pattern_bytes.store(0, Relaxed);
            let half = half();
            table.rules[5].kind.store(kind, Relaxed);
            for rule in table.at_path(0, path.as_bytes()).unwrap().rules().chain([5, PATH_RULES]) {
                if let Claim::Slots(slots) = claim(table, rule, &half) {
                    prop_assert_eq!(half.fitting(slots, random) & !slots, 0);
                }
            }
            let _ = table.of_inode(7, random);
        }
    }
}
