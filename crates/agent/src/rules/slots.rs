//! Each rule of calls has a slot of the recorders of a directory, by which they count, for as long as it lives.
//!
//! Where there are more rules than slots, those with paths are in a table, and have a slot from when a process has opened one of
//! their files ([`ioassay_record::path_rules`]): the agent learns it by what they count.

use std::collections::HashMap;
use std::sync::Arc;

use ioassay_protocol::watch::contract::{Action, Measure, Rule};
use ioassay_record::operation::Operation;
use ioassay_record::path_rules::{BEYOND as SECOND, NewRule, PATH_RULES, PathTable, Writer};
use ioassay_record::rules::{self as recorders, OfTable, PATHS_BYTES, RuleKind, SLOTS, TABLE_SLOT, bit};

use crate::rules::aliases::{Aliases, for_slots};
use crate::rules::contract::mask;

/// Classes that no recorder can hold back: the kernel or other threads do the work.
const BEYOND: u64 = bit(Operation::Map) | bit(Operation::SubmitRead) | bit(Operation::SubmitWrite);
/// What a job may make up for of time in which it did too little. A hundredth of the five seconds over which rates are kept.
const BURST_NS: u64 = 50_000_000;

/// A rule that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Its slot; none where it measures processes.
    pub slot: Option<usize>,
    /// Of a throttling rule: the slot that counts what it cannot hold back.
    pub beyond: Option<usize>,
    /// Its number in the table, from which it has claimed its slots; 0 where it is in none.
    pub number: u64,
}

/// A rule of the table, whether it has slots or not.
#[derive(Debug, Clone)]
struct InTable {
    rule: Arc<Rule>,
    /// It keeps it as long as it lives.
    number: u64,
}

/// How recorders count a rule, at a share of its rate.
fn in_slot(rule: &Rule, number: u64, share_per_s: u64) -> recorders::Rule<'_> {
    let kind = match (rule.action, rule.measure) {
        (Action::Monitor, _) => RuleKind::Monitor,
        (Action::Throttle, Measure::Count) => RuleKind::ThrottleCalls,
        (Action::Throttle, _) => RuleKind::ThrottleBytes,
    };
    recorders::Rule {
        kind,
        operations: mask(rule).unwrap_or_default(),
        path: rule.path.as_deref().unwrap_or_default().as_bytes(),
        least_bytes: rule.least_bytes,
        most_bytes: rule.most_bytes.unwrap_or(u64::MAX),
        rate_per_s: share_per_s.max(1),
        burst_ns: BURST_NS,
        number,
    }
}

/// The rate that a rule allows, in bytes or calls per second.
pub fn rate_per_s(rule: &Rule) -> u64 {
    (rule.limit / u64::from(rule.window_s)).max(1)
}

/// All rules that are in force for a directory.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    active: Vec<Active>,
    table: Vec<InTable>,
    /// Places in the table, by label.
    places: HashMap<String, usize>,
    /// The last number that was given.
    last_number: u64,
}

impl Slots {
    /// Those that have slots and those that measure processes, in the contract's order; behind them those that have got slots since.
    pub fn active(&self) -> &[Active] {
        &self.active
    }

    /// Whether there are rules of calls.
    pub fn are_of_calls(&self) -> bool {
        self.has_table() || self.active.iter().any(|active| active.slot.is_some())
    }

    /// Whether rules with paths have slots only once they are needed.
    pub fn has_table(&self) -> bool {
        !self.table.is_empty()
    }

    /// The place of a rule in the table.
    pub fn place_in_table(&self, label: &str) -> Option<usize> {
        self.places.get(label).copied()
    }

    /// Puts rules in force: those that were there already keep their slots.
    ///
    /// # Errors
    /// In words, where there are more rules than slots; the rules that held go on then.
    pub fn replace<'a>(&mut self, rules: impl Iterator<Item = &'a Arc<Rule>> + Clone) -> Result<(), String> {
        let of_calls = || rules.clone().filter(|rule| rule.measure.is_of_calls());
        let slots_of = |rule: &Arc<Rule>| if rule.action == Action::Throttle { 2 } else { 1 };
        let (slots, bytes) = of_calls().fold((0, 0), |(slots, bytes), rule| {
            (slots + slots_of(rule), bytes + slots_of(rule) * rule.path.as_ref().map_or(0, String::len))
        });
        let has_table = (slots > SLOTS || bytes > PATHS_BYTES) && of_calls().any(|rule| rule.path.is_some());
        // Rules that need a slot at once come before those that have claimed one.
        let new = self.replaced(rules.clone(), has_table, true).or_else(|_| self.replaced(rules, has_table, false))?;
        *self = new;
        Ok(())
    }

    fn replaced<'a>(
        &self,
        rules: impl Iterator<Item = &'a Arc<Rule>> + Clone,
        has_table: bool,
        keeps_claims: bool,
    ) -> Result<Self, String> {
        let before: HashMap<&str, &Active> =
            self.active.iter().map(|active| (active.rule.label.as_str(), active)).collect();
        let is_for_table = |rule: &Rule| has_table && rule.measure.is_of_calls() && rule.path.is_some();
        let kept = |rule: &Rule| {
            let active = *before.get(rule.label.as_str()).filter(|active| is_same(&active.rule, rule))?;
            let is_free = !has_table || active.slot != Some(TABLE_SLOT) && active.beyond != Some(TABLE_SLOT);
            let is_kept = if is_for_table(rule) { keeps_claims && active.number != 0 } else { active.number == 0 };
            (is_free && is_kept).then_some(active)
        };
        let mut taken = [false; SLOTS];
        taken[TABLE_SLOT] = has_table;
        for active in rules.clone().filter_map(|rule| kept(rule)) {
            active.slot.into_iter().chain(active.beyond).for_each(|slot| taken[slot] = true);
        }
        // Slots of earlier rules hold counts that new rules must not continue: these get other slots, as long as there
        // are some.
        let mut recent = [false; SLOTS];
        for active in &self.active {
            active.slot.into_iter().chain(active.beyond).for_each(|slot| recent[slot] = true);
        }
        let mut next = || {
            let free = (0..SLOTS).filter(|slot| !taken[*slot]).min_by_key(|slot| recent[*slot])?;
            taken[free] = true;
            Some(free)
        };
        let mut new = Self { last_number: self.last_number, ..Self::default() };
        for rule in rules {
            let (slot, beyond, mut number) = match kept(rule) {
                Some(kept) => (kept.slot, kept.beyond, kept.number),
                None if !rule.measure.is_of_calls() || is_for_table(rule) => (None, None, 0),
                None => {
                    let full = || {
                        let without = if has_table { " without paths" } else { "" };
                        format!(
                            "there are more rules{without} than the {SLOTS} that recorders count; a throttling one takes two"
                        )
                    };
                    let slot = next().ok_or_else(full)?;
                    let beyond = (rule.action == Action::Throttle).then(|| next().ok_or_else(full)).transpose()?;
                    (Some(slot), beyond, 0)
                }
            };
            if is_for_table(rule) {
                let before = self.place_in_table(&rule.label).map(|place| &self.table[place]);
                number = match before.filter(|before| is_same(&before.rule, rule)) {
                    Some(before) => before.number,
                    None => {
                        new.last_number += 1;
                        new.last_number
                    }
                };
                if new.table.len() == PATH_RULES {
                    return Err(format!("there are more rules with paths than {PATH_RULES}"));
                }
                new.places.insert(rule.label.clone(), new.table.len());
                new.table.push(InTable { rule: Arc::clone(rule), number });
            }
            if slot.is_some() || !rule.measure.is_of_calls() {
                new.active.push(Active { rule: Arc::clone(rule), slot, beyond, number });
            }
        }
        Ok(new)
    }

    /// Learns which rules of the table have claimed slots ([`recorders::Half::claimed_by`]). Whether there are new ones.
    pub fn learn(&mut self, claimed_by: &[u64; SLOTS]) -> bool {
        let before = self.active.len();
        let is_taken = |active: &[Active], slot: usize| {
            active.iter().any(|active| active.slot == Some(slot) || active.beyond == Some(slot))
        };
        for (slot, number) in claimed_by[..TABLE_SLOT].iter().enumerate().filter(|(_, word)| *word & SECOND == 0) {
            if *number == 0 || is_taken(&self.active, slot) {
                continue;
            }
            let Some(InTable { rule, number }) = self.table.iter().find(|rule| rule.number == *number) else {
                continue;
            };
            let beyond = claimed_by[..TABLE_SLOT].iter().position(|word| *word == number | SECOND);
            let beyond = beyond.filter(|beyond| !is_taken(&self.active, *beyond));
            if self.active.iter().all(|active| active.number != *number) {
                self.active.push(Active { rule: Arc::clone(rule), slot: Some(slot), beyond, number: *number });
            }
        }
        self.active.len() > before
    }

    /// Takes slots away from rules of the table that do not use them. Whether there are any. Recorders have to be given the rules again.
    pub fn release(&mut self, is_used: impl Fn(&Active) -> bool) -> bool {
        let before = self.active.len();
        self.active.retain(|active| active.number == 0 || is_used(active));
        self.active.len() < before
    }

    /// Runs `write` on what recorders are given, at these shares of the rates of throttling rules.
    ///
    /// # Errors
    /// In words, where the paths have no room.
    pub fn encoded<R>(
        &self,
        aliases: &Aliases,
        share_per_s: impl Fn(&Rule) -> u64,
        write: impl FnOnce(&recorders::Half, Option<&Writer>) -> R,
    ) -> Result<R, String> {
        let mut slots = [None; SLOTS];
        let mut of_paths = Vec::new();
        for active in &self.active {
            let Some(slot) = active.slot else { continue };
            let rule = in_slot(&active.rule, active.number, share_per_s(&active.rule));
            slots[slot] = Some(rule);
            if active.number == 0 {
                let known = active.rule.path.as_deref().map_or(&[][..], |path| aliases.of(path));
                of_paths.extend(for_slots(known, active.slot.into_iter().chain(active.beyond)));
            }
            if let Some(beyond) = active.beyond {
                let operations = BEYOND & directions(rule.operations);
                let number = if active.number == 0 { 0 } else { active.number | SECOND };
                slots[beyond] = Some(recorders::Rule { kind: RuleKind::Monitor, operations, number, ..rule });
            }
        }
        let half = recorders::encode(&slots, &of_paths)
            .map_err(|unfit| format!("recorders cannot be given the rules: {unfit:?}"))?;
        if !self.has_table() {
            return Ok(write(&half, None));
        }
        let mut words = vec![0; PathTable::WORDS];
        let table = PathTable::in_words(&mut words).ok_or("recorders cannot be given the rules")?;
        let mut writer = Writer::new(table);
        let claimed: HashMap<u64, &Active> =
            self.active.iter().filter(|active| active.number != 0).map(|active| (active.number, active)).collect();
        let mut summary = OfTable { rules: self.table.len() as u64, ..OfTable::default() };
        for InTable { rule, number } in &self.table {
            let throttles = rule.action == Action::Throttle;
            let encoded = in_slot(rule, *number, share_per_s(rule));
            let beyond_operations = if throttles { BEYOND & directions(encoded.operations) } else { 0 };
            let slots = claimed.get(number).and_then(|active| Some((active.slot?, active.beyond)));
            summary.operations |= encoded.operations | beyond_operations;
            summary.throttles |= throttles;
            let known = rule.path.as_deref().map_or(&[][..], |path| aliases.of(path));
            writer.add(&NewRule { rule: encoded, beyond_operations, slots }, known).map_err(|_| {
                format!("rule {:?}: the paths up to here have no room in the memory of recorders", rule.label)
            })?;
        }
        Ok(write(&half.with_table(summary), Some(&writer)))
    }
}

/// Of what cannot be held back: that which does what these classes do.
fn directions(operations: u64) -> u64 {
    let reads = bit(Operation::Read) | bit(Operation::SubmitRead);
    let writes = bit(Operation::Write) | bit(Operation::SubmitWrite);
    let mut beyond = 0;
    if operations & reads != 0 {
        beyond |= bit(Operation::Map) | bit(Operation::SubmitRead);
    }
    if operations & writes != 0 {
        beyond |= bit(Operation::Map) | bit(Operation::SubmitWrite);
    }
    beyond
}

/// Whether two rules count the same calls: they may differ in what is allowed.
fn is_same(first: &Rule, other: &Rule) -> bool {
    *first == Rule { limit: first.limit, window_s: first.window_s, ..other.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::contract::tests::rule;

    fn shared(rules: &[Rule]) -> Vec<Arc<Rule>> {
        rules.iter().cloned().map(Arc::new).collect()
    }

    fn replace(slots: &mut Slots, rules: &[Rule]) {
        slots.replace(shared(rules).iter()).unwrap();
    }

    fn kinds(slots: &Slots) -> Vec<Option<RuleKind>> {
        let of = |half: &recorders::Half, _: Option<&Writer>| (0..SLOTS).map(|slot| half.kind(slot)).collect();
        slots.encoded(&Aliases::default(), |_| 100, of).unwrap()
    }

    fn labelled(label: &str) -> Rule {
        Rule { label: label.to_owned(), ..rule() }
    }

    #[test]
    fn a_rule_keeps_its_slot_while_others_come_and_go() {
        let mut slots = Slots::default();
        replace(&mut slots, &[labelled("a"), labelled("b")]);
        let b = slots.active()[1].slot;
        replace(&mut slots, &[labelled("c"), Rule { limit: 7, ..labelled("b") }]);
        assert_eq!(slots.active()[1].slot, b);
        assert_eq!(slots.active()[1].rule.limit, 7);
        // Recorders may go on counting for a moment by the slot of the rule that went.
        assert!(slots.active()[0].slot > b);
    }

    #[test]
    fn a_rule_about_other_calls_is_another_rule() {
        let mut slots = Slots::default();
        replace(&mut slots, &[labelled("a")]);
        let before = slots.active()[0].slot;
        replace(&mut slots, &[Rule { path: None, ..labelled("a") }]);
        assert_ne!(slots.active()[0].slot, before);
    }

    #[test]
    fn a_throttling_rule_counts_what_it_cannot_hold_back_in_a_slot_of_its_own() {
        let mut slots = Slots::default();
        replace(&mut slots, &[Rule { action: Action::Throttle, limit: 300, window_s: 3, ..rule() }]);
        let active = &slots.active()[0];
        assert_eq!(rate_per_s(&active.rule), 100);
        let (slot, beyond) = (active.slot.unwrap(), active.beyond.unwrap());
        assert_eq!(kinds(&slots)[slot], Some(RuleKind::ThrottleBytes));
        assert_eq!(kinds(&slots)[beyond], Some(RuleKind::Monitor));
        let of =
            |half: &recorders::Half, _: Option<&Writer>| [Operation::Map, Operation::SubmitWrite].map(|of| half.of(of));
        assert_eq!(slots.encoded(&Aliases::default(), |_| 100, of), Ok([1 << beyond, 0]));
    }

    #[test]
    fn more_rules_without_paths_than_slots_are_refused_and_those_that_held_go_on() {
        let mut slots = Slots::default();
        replace(&mut slots, &[labelled("a")]);
        let many: Vec<_> = (0..=SLOTS).map(|number| Rule { path: None, ..labelled(&number.to_string()) }).collect();
        assert!(slots.replace(shared(&many).iter()).unwrap_err().contains("64"));
        assert_eq!(slots.active().len(), 1);
        let of_processes: Vec<_> = (0..=SLOTS)
            .map(|number| Rule { measure: Measure::UserTime, calls: vec![], ..labelled(&number.to_string()) })
            .collect();
        assert_eq!(slots.replace(shared(&of_processes).iter()), Ok(()));
    }

    fn many(count: usize) -> Vec<Rule> {
        let of = |number: usize| Rule {
            action: Action::Throttle,
            path: Some(format!("/data/{number}")),
            ..labelled(&number.to_string())
        };
        std::iter::once(Rule { path: None, ..labelled("all") }).chain((0..count).map(of)).collect()
    }

    #[test]
    fn more_rules_with_paths_than_slots_get_slots_as_recorders_claim_them() {
        let mut slots = Slots::default();
        replace(&mut slots, &many(10_000));
        assert_eq!((slots.active().len(), slots.place_in_table("7")), (1, Some(7)));
        let mut claims = [0; SLOTS];
        (claims[5], claims[6]) = (8, 8 | SECOND);
        assert!(slots.learn(&claims) && !slots.learn(&claims));
        let seven = slots.active()[1].clone();
        assert_eq!((seven.rule.label.as_str(), seven.slot, seven.beyond), ("7", Some(5), Some(6)));
        // They stay its own in the next generation, whatever else there is then.
        replace(&mut slots, &many(300)[1..]);
        assert_eq!(slots.active(), std::slice::from_ref(&seven));
        assert_eq!(kinds(&slots)[5..7], [Some(RuleKind::ThrottleBytes), Some(RuleKind::Monitor)]);
        assert!(!slots.release(|_| true) && slots.release(|_| false));
        assert!(slots.active().is_empty());
        assert!(slots.learn(&claims));
        // Where all have room, each has a slot of its own again.
        replace(&mut slots, &many(5));
        assert_eq!((slots.active().len(), slots.has_table()), (6, false));
    }

    #[test]
    fn rules_that_need_slots_at_once_come_before_those_that_have_claimed_some() {
        let mut slots = Slots::default();
        replace(&mut slots, &many(100));
        let claims =
            std::array::from_fn(|slot| if slot < 60 { (slot as u64 / 2 + 1) | ((slot as u64 % 2) << 63) } else { 0 });
        slots.learn(&claims);
        assert_eq!(slots.active().len(), 30);
        let fixed = (0..40).map(|number| Rule { path: None, ..labelled(&format!("fixed {number}")) });
        replace(&mut slots, &many(100).into_iter().chain(fixed).collect::<Vec<_>>());
        assert!(slots.active().iter().all(|active| active.number == 0 && active.slot != Some(TABLE_SLOT)));
        assert_eq!(slots.active().len(), 41);
    }

    #[test]
    fn claims_that_make_no_sense_are_none() {
        let mut slots = Slots::default();
        replace(&mut slots, &many(100));
        let mut claims = [0; SLOTS];
        let slot = slots.active()[0].slot.unwrap();
        (claims[slot], claims[7], claims[8], claims[TABLE_SLOT]) = (5, 5000, 3 | SECOND, 4);
        assert!(!slots.learn(&claims));
        // The same rule in two slots has the first.
        (claims[10], claims[11]) = (2, 2);
        assert!(slots.learn(&claims));
        assert_eq!(slots.active().last().unwrap().slot, Some(10));
    }
}
