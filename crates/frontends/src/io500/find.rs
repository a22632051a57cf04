//! What a walk must find: files that were counted as they were created.

use ioassay_protocol::events::PhaseRecord;

use super::settings::Settings;
use super::translate::SETS;

/// What a walk sees besides files of the benchmark: the list in the engine's directory.
const OWN_FILES: u64 = 1;

/// What there is to be found.
#[derive(Debug, Clone, Default)]
pub struct CreatedFiles {
    ior_easy_files: u64,
    ior_hard_files: u64,
    /// Files in all sets of md-workbench; each that is replaced is there again.
    set_files: Option<u64>,
    easy_items: Option<u64>,
    /// Items that each rank created in the shared directory.
    hard_items: Option<Vec<u64>>,
}

impl CreatedFiles {
    /// A phase has ended that may have created files.
    pub fn note(&mut self, record: &PhaseRecord) {
        match record.name.as_str() {
            "ior-easy-write" => self.ior_easy_files = 1,
            "ior-hard-write" => self.ior_hard_files = 1,
            "mdworkbench-create" => self.set_files = Some(record.operations),
            "mdtest-easy-write" => self.easy_items = Some(record.operations),
            "mdtest-hard-write" => {
                self.hard_items = Some(record.ranks.iter().map(|rank| rank.operations).collect());
            }
            _ => {}
        }
    }

    /// Files among the entries that a walk visited, as the official program counts them: without directories.
    pub fn files(&self, record: &PhaseRecord, settings: &Settings) -> u64 {
        // Each tree lies in a directory of its own, which only the walk through everything visits.
        let trees = |there: bool, directories: u64, container: u64| if there { directories + container } else { 0 };
        let (easy, hard) = (self.easy_items.is_some(), self.hard_items.is_some());
        let others = match record.name.as_str() {
            "find-easy" => trees(easy, settings.ranks.into(), 0),
            "find-hard" => trees(hard, 1, 0),
            _ => {
                let ranks = u64::from(settings.ranks);
                let sets = trees(self.set_files.is_some(), ranks * u64::from(1 + SETS), 1);
                OWN_FILES + trees(easy, ranks, 1) + trees(hard, 1, 1) + sets
            }
        };
        record.operations.saturating_sub(others)
    }

    /// Why a walk is invalid that did not find what there is.
    pub fn compare(&self, record: &PhaseRecord, settings: &Settings) -> Vec<String> {
        let hard = || self.hard_items.as_deref().unwrap_or_default();
        let all_hard: u64 = hard().iter().sum();
        let ior_easy = if settings.easy_file_per_rank { u64::from(settings.ranks) } else { 1 } * self.ior_easy_files;
        let (easy, sets) = (self.easy_items.unwrap_or(0), self.set_files.unwrap_or(0));
        let (expected_files, expected_matches) = match record.name.as_str() {
            "find-easy" => (easy, None),
            "find-hard" => (all_hard, Some(matching(hard()))),
            _ => (ior_easy + self.ior_hard_files + easy + sets + all_hard, Some(matching(hard()))),
        };
        let (files, matched) = (self.files(record, settings), record.matched.unwrap_or(0));
        let mut reasons = Vec::new();
        if files != expected_files {
            reasons.push(format!("{files} files were visited, but there are {expected_files}"));
        }
        if let Some(expected) = expected_matches.filter(|&expected| expected != matched) {
            reasons.push(format!("{matched} files were found, but {expected} match"));
        }
        if matched == 0 && reasons.is_empty() {
            reasons.push("no file was found: raise n of mdtest".to_owned());
        }
        reasons
    }
}

/// How many of the names `file.mdtest.RANK.NUMBER` have `01` in them; `items` says how many numbers each rank has.
fn matching(items: &[u64]) -> u64 {
    let most = items.iter().copied().max().unwrap_or(0);
    // Ranks mostly have equally many, so one count up to the largest serves all.
    let mut ends: Vec<u64> = items.to_vec();
    ends.sort_unstable();
    ends.dedup();
    let (mut up_to, mut ends, mut count) = (Vec::new(), ends.into_iter().peekable(), 0);
    for number in 0..=most {
        while ends.next_if_eq(&number).is_some() {
            up_to.push((number, count));
        }
        count += u64::from(has_01(number));
    }
    let below = |end: u64| up_to.iter().find(|(known, _)| *known == end).map_or(0, |(_, count)| *count);
    (0..).zip(items).map(|(rank, &end)| if has_01(rank) { end } else { below(end) }).sum()
}

/// True if the digits of `number` have a 0 before a 1.
fn has_01(mut number: u64) -> bool {
    while number >= 100 {
        if number % 100 == 1 {
            return true;
        }
        number /= 10;
    }
    // 01 itself is written 1.
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_match_are_counted_without_looking_at_each() {
        for items in [vec![], vec![0], vec![2], vec![3000, 3000], vec![12_345, 12_346, 7], vec![250; 120]] {
            let named = |(rank, &end): (usize, &u64)| {
                (0..end).filter(|number| format!("file.mdtest.{rank}.{number}").contains("01")).count() as u64
            };
            assert_eq!(matching(&items), items.iter().enumerate().map(named).sum::<u64>(), "{items:?}");
        }
        // What the official program's pfind found after `mdtest -n 3000` of 2 ranks with 3000 items each.
        assert_eq!(matching(&[3000, 3000]), 98);
    }
}
