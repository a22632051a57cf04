//! Each rule of calls has a slot of the recorders of a directory, by which they count, for as long as it lives.

use ioassay_protocol::watch::contract::{Action, Measure, Rule};
use ioassay_record::operation::Operation;
use ioassay_record::rules::{self as recorders, RuleKind, SLOTS, bit};

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
    pub rule: Rule,
    /// Its slot; none where it measures processes.
    pub slot: Option<usize>,
    /// Of a throttling rule: the slot that counts what it cannot hold back.
    pub beyond: Option<usize>,
}

impl Active {
    /// How recorders count it, at a share of its rate.
    fn in_slot(&self, share_per_s: u64) -> recorders::Rule<'_> {
        let kind = match (self.rule.action, self.rule.measure) {
            (Action::Monitor, _) => RuleKind::Monitor,
            (Action::Throttle, Measure::Count) => RuleKind::ThrottleCalls,
            (Action::Throttle, _) => RuleKind::ThrottleBytes,
        };
        recorders::Rule {
            kind,
            operations: mask(&self.rule).unwrap_or_default(),
            path: self.rule.path.as_deref().unwrap_or_default().as_bytes(),
            least_bytes: self.rule.least_bytes,
            most_bytes: self.rule.most_bytes.unwrap_or(u64::MAX),
            rate_per_s: share_per_s,
            burst_ns: BURST_NS,
        }
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
}

impl Slots {
    /// All of them, in the contract's order.
    pub fn active(&self) -> &[Active] {
        &self.active
    }

    /// Puts rules in force: those that were there already keep their slots.
    ///
    /// # Errors
    /// In words, where there are more rules than slots; the rules that held go on then.
    pub fn replace<'a>(&mut self, rules: impl Iterator<Item = &'a Rule> + Clone) -> Result<(), String> {
        let kept = |rule: &Rule| self.active.iter().find(|active| is_same(&active.rule, rule));
        let mut taken = [false; SLOTS];
        for active in rules.clone().filter_map(kept) {
            active.slot.into_iter().chain(active.beyond).for_each(|slot| taken[slot] = true);
        }
        // What the rules of before counted is not what new ones do: they get other slots, as long as there are some.
        let mut recent = [false; SLOTS];
        for active in &self.active {
            active.slot.into_iter().chain(active.beyond).for_each(|slot| recent[slot] = true);
        }
        let mut next = || {
            let free = (0..SLOTS).filter(|slot| !taken[*slot]).min_by_key(|slot| recent[*slot])?;
            taken[free] = true;
            Some(free)
        };
        let mut active = Vec::new();
        for rule in rules {
            let (slot, beyond) = match kept(rule) {
                Some(kept) => (kept.slot, kept.beyond),
                None if !rule.measure.is_of_calls() => (None, None),
                None => {
                    let full = || {
                        format!(
                            "there are more rules than the {SLOTS} that recorders count; a throttling one takes two"
                        )
                    };
                    let slot = next().ok_or_else(full)?;
                    let beyond = (rule.action == Action::Throttle).then(|| next().ok_or_else(full)).transpose()?;
                    (Some(slot), beyond)
                }
            };
            active.push(Active { rule: rule.clone(), slot, beyond });
        }
        self.active = active;
        Ok(())
    }

    /// What recorders are given, at these shares of the rates of throttling rules.
    ///
    /// # Errors
    /// In words, where the paths have no room.
    pub fn encode(&self, aliases: &Aliases, share_per_s: impl Fn(&Active) -> u64) -> Result<recorders::Half, String> {
        let mut slots = [None; SLOTS];
        let mut of_paths = Vec::new();
        for active in &self.active {
            let Some(slot) = active.slot else { continue };
            let rule = active.in_slot(share_per_s(active));
            slots[slot] = Some(rule);
            let known = active.rule.path.as_deref().map_or(&[][..], |path| aliases.of(path));
            of_paths.extend(for_slots(known, active.slot.into_iter().chain(active.beyond)));
            if let Some(beyond) = active.beyond {
                let operations = BEYOND & directions(rule.operations);
                slots[beyond] = Some(recorders::Rule { kind: RuleKind::Monitor, operations, ..rule });
            }
        }
        recorders::encode(&slots, &of_paths).map_err(|unfit| format!("recorders cannot be given the rules: {unfit:?}"))
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
fn is_same(one: &Rule, other: &Rule) -> bool {
    *one == Rule { limit: one.limit, window_s: one.window_s, ..other.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::contract::tests::rule;

    fn replace(slots: &mut Slots, rules: &[Rule]) {
        slots.replace(rules.iter()).unwrap();
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
        let half = slots.encode(&Aliases::default(), |_| 100).unwrap();
        let (slot, beyond) = (active.slot.unwrap(), active.beyond.unwrap());
        assert_eq!(half.kind(slot), Some(RuleKind::ThrottleBytes));
        assert_eq!(half.kind(beyond), Some(RuleKind::Monitor));
        assert_eq!(half.of(Operation::Map), 1 << beyond);
        assert_eq!(half.of(Operation::SubmitWrite), 0);
    }

    #[test]
    fn more_rules_than_slots_are_refused_and_those_that_held_go_on() {
        let mut slots = Slots::default();
        replace(&mut slots, &[labelled("a")]);
        let many: Vec<_> = (0..=SLOTS).map(|number| labelled(&number.to_string())).collect();
        assert!(slots.replace(many.iter()).unwrap_err().contains("64"));
        assert_eq!(slots.active().len(), 1);
        let of_processes: Vec<_> = (0..=SLOTS)
            .map(|number| Rule { measure: Measure::UserTime, calls: vec![], ..labelled(&number.to_string()) })
            .collect();
        assert_eq!(slots.replace(of_processes.iter()), Ok(()));
    }
}
