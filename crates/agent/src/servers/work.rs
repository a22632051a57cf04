//! What was asked of a target, and the counters by which it is found out.

use std::collections::HashMap;

/// Names that a ledger keeps: what comes beyond is not counted by name.
const MOST_NAMES: usize = 200_000;

/// Readings after which a name that was not there any more is forgotten. Lustre's `job_stats` may leave out a job while
/// others come and go: when it is there again it is not a new one.
const FORGOTTEN_AFTER: u64 = 60;

/// Amounts of what was asked, or counters of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// What requests took; `None`: it is not counted.
    pub busy_us: Option<u64>,
    /// Other requests by name: those that there were.
    pub operations: Vec<(&'static str, u64)>,
}

impl Work {
    /// The number of an operation.
    fn of(&self, operation: &str) -> Option<u64> {
        self.operations.iter().find(|(name, _)| *name == operation).map(|(_, number)| *number)
    }

    /// Counts an operation, unless it was counted: some versions have lines of the same name for another layer.
    pub fn count(&mut self, operation: &'static str, number: u64) {
        if self.of(operation).is_none() {
            self.operations.push((operation, number));
        }
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    /// Requests that neither read nor wrote.
    pub fn metadata_operations(&self) -> u64 {
        self.operations.iter().fold(0, |sum, (_, number)| sum.saturating_add(*number))
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.reads.saturating_add(self.writes).saturating_add(self.metadata_operations())
    }

    /// Whether there was none.
    pub fn is_none(&self) -> bool {
        self.bytes() == 0 && self.requests() == 0
    }

    /// What was done between two readings of counters: all that they say where they began anew meanwhile.
    pub fn since(&self, before: &Self) -> Self {
        self.without(before).unwrap_or_else(|| self.clone())
    }

    /// `None` where a counter is lower than before, or gone.
    fn without(&self, before: &Self) -> Option<Self> {
        if before.operations.iter().any(|(name, _)| self.of(name).is_none()) {
            return None;
        }
        let left = |(name, number): &(&'static str, u64)| {
            Some((*name, number.checked_sub(before.of(name).unwrap_or_default())?))
        };
        let operations: Option<Vec<_>> = self.operations.iter().map(left).collect();
        Some(Self {
            read_bytes: self.read_bytes.checked_sub(before.read_bytes)?,
            write_bytes: self.write_bytes.checked_sub(before.write_bytes)?,
            reads: self.reads.checked_sub(before.reads)?,
            writes: self.writes.checked_sub(before.writes)?,
            busy_us: match (self.busy_us, before.busy_us) {
                (None, None) => None,
                (now, before) => Some(now?.checked_sub(before.unwrap_or_default())?),
            },
            operations: operations?.into_iter().filter(|(_, number)| *number > 0).collect(),
        })
    }

    /// Adds what others asked.
    pub fn add(&mut self, other: &Self) {
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        if let Some(busy_us) = other.busy_us {
            self.busy_us = Some(self.busy_us.unwrap_or_default().saturating_add(busy_us));
        }
        for (operation, number) in &other.operations {
            match self.operations.iter_mut().find(|(name, _)| name == operation) {
                Some((_, sum)) => *sum = sum.saturating_add(*number),
                None => self.operations.push((operation, *number)),
            }
        }
    }
}

/// Whose counters they are, as they were when last read, by name.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: HashMap<String, Entry>,
    readings: u64,
    present: usize,
}

#[derive(Debug)]
struct Entry {
    /// When its counters began, as the server says it; 0 where it does not.
    start: u64,
    counters: Work,
    /// What was done since the reading before.
    done: Work,
    reading: u64,
}

/// Who did what since the reading before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    /// Those who did most, the first by bytes.
    pub named: Vec<(String, Work)>,
    /// How many others did anything.
    pub others: usize,
    /// What these did together.
    pub rest: Work,
    /// How many have counters, also of nothing.
    pub present: usize,
}

impl Shares {
    /// What all of them did.
    pub fn total(&self) -> Work {
        let mut total = self.rest.clone();
        self.named.iter().for_each(|(_, work)| total.add(work));
        total
    }
}

impl Ledger {
    /// Begins a reading.
    pub fn begin(&mut self) {
        self.readings += 1;
        self.present = 0;
    }

    /// Notes the counters of a name. Those who are there for the first time did all of it since the reading before, but for
    /// the first reading.
    pub fn note(&mut self, name: &str, start: u64, counters: Work) {
        let (reading, is_first) = (self.readings, self.readings == 1);
        if let Some(entry) = self.entries.get_mut(name) {
            self.present += usize::from(entry.reading != reading);
            let done = if entry.start == start { counters.since(&entry.counters) } else { counters.clone() };
            entry.done.add(&done);
            (entry.start, entry.counters, entry.reading) = (start, counters, reading);
        } else if self.entries.len() < MOST_NAMES {
            self.present += 1;
            let done = if is_first { Work::default() } else { counters.clone() };
            self.entries.insert(name.to_owned(), Entry { start, counters, done, reading });
        }
    }

    /// Ends a reading: what was done, by name of those who moved most bytes and who asked most, `named` of each.
    pub fn end(&mut self, named: usize) -> Shares {
        let mut shares = Shares { present: self.present, ..Shares::default() };
        let mut active: Vec<(&String, &Work)> = self
            .entries
            .iter()
            .filter(|(_, work)| !work.done.is_none())
            .map(|(name, work)| (name, &work.done))
            .collect();
        // Names decide where amounts are equal, so that the same ones are named each second.
        active.sort_unstable_by_key(|(name, work)| (std::cmp::Reverse(work.bytes()), *name));
        let rest = active.split_off(named.min(active.len()));
        let mut by_requests: Vec<usize> = (0..rest.len()).collect();
        by_requests.sort_unstable_by_key(|place| (std::cmp::Reverse(rest[*place].1.requests()), rest[*place].0));
        // A single other one is named too.
        let (asked_most, others) = by_requests.split_at(if rest.len() <= named + 1 { rest.len() } else { named });
        active.extend(asked_most.iter().map(|place| rest[*place]));
        shares.named = active.into_iter().map(|(name, work)| (name.clone(), work.clone())).collect();
        shares.others = others.len();
        others.iter().for_each(|place| shares.rest.add(rest[*place].1));
        let reading = self.readings;
        self.entries.retain(|_, entry| {
            entry.done = Work::default();
            reading - entry.reading < FORGOTTEN_AFTER
        });
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write_bytes: u64, writes: u64) -> Work {
        Work { write_bytes, writes, ..Work::default() }
    }

    /// A reading of all names with their counters.
    fn read(ledger: &mut Ledger, counters: &[(&str, u64, Work)]) -> Shares {
        ledger.begin();
        counters.iter().for_each(|(name, start, work)| ledger.note(name, *start, work.clone()));
        ledger.end(20)
    }

    #[test]
    fn what_was_counted_before_the_first_reading_is_nobodys() {
        let mut ledger = Ledger::default();
        assert_eq!(read(&mut ledger, &[("a", 0, written(100, 1))]), Shares { present: 1, ..Shares::default() });
        assert_eq!(read(&mut ledger, &[("a", 0, written(130, 2))]).named, [("a".to_owned(), written(30, 1))]);
    }

    #[test]
    fn a_job_that_begins_did_all_that_it_has_counted() {
        let mut ledger = Ledger::default();
        read(&mut ledger, &[]);
        assert_eq!(read(&mut ledger, &[("a", 0, written(100, 1))]).named, [("a".to_owned(), written(100, 1))]);
    }

    #[test]
    fn counters_that_began_anew_count_from_nothing() {
        let mut ledger = Ledger::default();
        read(&mut ledger, &[("a", 0, written(100, 5)), ("b", 7, written(100, 5))]);
        // The second has more than before already, but says that it began anew.
        let shares = read(&mut ledger, &[("a", 0, written(40, 1)), ("b", 8, written(120, 6))]);
        assert_eq!(shares.named, [("b".to_owned(), written(120, 6)), ("a".to_owned(), written(40, 1))]);
    }

    #[test]
    fn a_job_that_one_reading_lacked_did_only_what_was_added_since() {
        let mut ledger = Ledger::default();
        read(&mut ledger, &[("a", 0, written(100, 5))]);
        assert_eq!(read(&mut ledger, &[]), Shares::default());
        assert_eq!(read(&mut ledger, &[("a", 0, written(110, 6))]).named, [("a".to_owned(), written(10, 1))]);
    }

    #[test]
    fn a_job_that_is_there_twice_in_a_reading_counts_once() {
        let mut ledger = Ledger::default();
        read(&mut ledger, &[("a", 0, written(100, 5))]);
        let shares = read(&mut ledger, &[("a", 0, written(110, 6)), ("a", 0, written(111, 7))]);
        assert_eq!((shares.named, shares.present), (vec![("a".to_owned(), written(11, 2))], 1));
    }

    #[test]
    fn a_job_that_has_long_gone_is_forgotten() {
        let mut ledger = Ledger::default();
        read(&mut ledger, &[("a", 0, written(100, 5))]);
        for _ in 0..FORGOTTEN_AFTER {
            read(&mut ledger, &[]);
        }
        assert!(ledger.entries.is_empty());
    }

    #[test]
    fn those_with_most_bytes_and_those_with_most_requests_are_named_and_the_sum_stays_right() {
        let mut ledger = Ledger::default();
        let jobs: Vec<String> = (0..100).map(|number| format!("job{number:02}")).collect();
        let counters = |number: u64| {
            let opened = Work { operations: vec![("open", 100 - number)], ..Work::default() };
            let mut work = written(number * 1000, 1);
            work.add(&opened);
            work
        };
        ledger.begin();
        ledger.end(2);
        ledger.begin();
        (0..100).for_each(|number| ledger.note(&jobs[number as usize], 0, counters(number)));
        let shares = ledger.end(2);
        let names: Vec<&str> = shares.named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["job99", "job98", "job00", "job01"]);
        let mut all = Work::default();
        (0..100).for_each(|number| all.add(&counters(number)));
        assert_eq!((shares.total(), shares.others, shares.present), (all, 96, 100));
    }

    #[test]
    fn a_single_other_one_is_named() {
        let mut ledger = Ledger::default();
        ledger.begin();
        ledger.end(1);
        ledger.begin();
        ["a", "b", "c"].iter().for_each(|name| ledger.note(name, 0, written(1, 1)));
        let shares = ledger.end(1);
        assert_eq!((shares.named.len(), shares.others), (3, 0));
    }

    #[test]
    fn an_operation_that_vanishes_means_that_counters_began_anew() {
        let before = Work { operations: vec![("open", 3), ("close", 2)], ..Work::default() };
        let after = Work { operations: vec![("open", 4)], ..Work::default() };
        assert_eq!(after.since(&before), after);
        let grown = Work { operations: vec![("close", 2), ("open", 4), ("unlink", 1)], ..Work::default() };
        assert_eq!(grown.since(&before).operations, [("open", 1), ("unlink", 1)]);
    }

    #[test]
    fn time_is_known_only_where_it_is_counted() {
        let busy = |busy_us| Work { reads: 1, busy_us, ..Work::default() };
        assert_eq!(busy(Some(9)).since(&busy(Some(4))).busy_us, Some(5));
        assert_eq!(busy(Some(9)).since(&Work::default()).busy_us, Some(9));
        assert_eq!(busy(None).since(&busy(None)).busy_us, None);
    }
}
