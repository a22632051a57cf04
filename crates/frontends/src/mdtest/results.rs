//! What mdtest derives from its phases: items, times and rates, of each rank and of all.
//!
//! Not here: how they are printed.

use ioassay_protocol::events::PhaseRecord;

use super::rows::Row;

/// One rank, or all ranks, in one row of one iteration. All zeros where the row was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Items worked on.
    pub items: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Measured {
    /// Items per second; 0 where there are none.
    pub fn per_second(self) -> f64 {
        if self.items == 0 { 0.0 } else { self.items as f64 / self.seconds }
    }
}

/// One iteration.
#[derive(Debug, Clone)]
pub struct Iteration {
    /// Directories of a tree: what the rates of trees count, however many trees there are, as in the original.
    directories: u64,
    /// By row and rank.
    by_rank: Vec<Vec<Measured>>,
    /// By row: seconds of each rank until it waits for the others, summed over the trees.
    waited: Vec<Vec<f64>>,
}

impl Iteration {
    /// One of `ranks` ranks on trees of `directories` directories.
    pub fn new(ranks: u32, directories: u64) -> Self {
        let ranks = ranks as usize;
        Self {
            directories,
            by_rank: vec![vec![Measured::default(); ranks]; Row::ALL.len()],
            waited: vec![vec![0.0; ranks]; Row::ALL.len()],
        }
    }

    /// Adds the record of a phase. Phases on several trees, one after the other, are one row.
    pub fn add(&mut self, record: &PhaseRecord) {
        if let Some(row) = Row::of_phase(&record.name) {
            self.add_to(row, record);
        }
    }

    /// Adds the record of a phase to `row`, whatever the phase is called.
    pub fn add_to(&mut self, row: Row, record: &PhaseRecord) {
        for rank in &record.ranks {
            let number = rank.rank as usize;
            // A rank's own time ends before it calls sync; that of all of them does not.
            self.by_rank[row as usize][number].items += rank.operations;
            self.by_rank[row as usize][number].seconds += seconds(rank.end_ns.saturating_sub(rank.fsync_ns));
            self.waited[row as usize][number] += seconds(rank.end_ns);
        }
    }

    /// Rank `rank` in `row`, until it began to wait for the others.
    pub fn of_rank(&self, row: Row, rank: usize) -> Measured {
        self.by_rank[row as usize][rank]
    }

    /// All ranks in `row`: what they did, and how long the slowest took.
    pub fn of_all(&self, row: Row) -> Measured {
        let ranks = &self.by_rank[row as usize];
        let seconds = self.waited[row as usize].iter().copied().fold(0.0, f64::max);
        let done: u64 = ranks.iter().map(|rank| rank.items).sum();
        let items = if row.is_of_tree() { self.directories.min(done) } else { done };
        Measured { items, seconds }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.by_rank[0].len()
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A row of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Of the best iteration.
    pub max: f64,
    /// Of the worst.
    pub min: f64,
    /// Of all.
    pub mean: f64,
    /// With as many degrees of freedom as there are other iterations; 0 for a single one.
    pub deviation: f64,
}

impl Summary {
    /// Of `values`, at least one.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (mean - value) * (mean - value)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let (max, min) = values.iter().fold((0.0, f64::MAX), |(max, min), &value| (value.max(max), value.min(min)));
        Self { max, min, mean, deviation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_engine::measure::records;
    use ioassay_protocol::events::RankRecord;
    use ioassay_protocol::plan::Operation;

    /// A phase whose ranks did so much, until then, of which sync took so long.
    fn record(name: &str, ranks: &[(u64, u64, u64)]) -> PhaseRecord {
        let rank = |(number, &(operations, end_ns, fsync_ns))| {
            let transfer_ns = end_ns - fsync_ns;
            RankRecord { operations, end_ns, transfer_ns, fsync_ns, ..records::rank(number) }
        };
        records::phase(name, Operation::Create, (0..).zip(ranks).map(rank).collect())
    }

    #[test]
    fn the_rate_is_what_all_did_over_the_time_of_the_slowest_with_its_sync() {
        let mut iteration = Iteration::new(2, 1);
        iteration.add(&record("file-creation.0", &[(10, 1_000_000_000, 0), (10, 2_000_000_000, 1_500_000_000)]));
        assert_eq!(iteration.of_all(Row::FileCreation).per_second(), 10.0);
        assert_eq!(iteration.of_rank(Row::FileCreation, 1).per_second(), 20.0);
        assert_eq!(iteration.of_all(Row::FileStat), Measured::default());
    }

    #[test]
    fn trees_side_by_side_are_one_row_and_renames_back_are_none() {
        let mut iteration = Iteration::new(2, 1);
        iteration.add(&record("file-stat.0", &[(10, 1_000_000_000, 0), (10, 2_000_000_000, 0)]));
        iteration.add(&record("file-stat.1", &[(10, 2_000_000_000, 0), (10, 1_000_000_000, 0)]));
        iteration.add(&record("rename-back.0", &[(10, 1_000_000_000, 0)]));
        assert_eq!(iteration.of_all(Row::FileStat), Measured { items: 40, seconds: 3.0 });
        assert_eq!(iteration.of_all(Row::DirectoryRename), Measured::default());
    }

    #[test]
    fn a_tree_counts_once_for_all_ranks() {
        let mut iteration = Iteration::new(2, 7);
        iteration.add(&record("tree-creation.0", &[(7, 1_000_000_000, 0), (7, 2_000_000_000, 0)]));
        assert_eq!(iteration.of_all(Row::TreeCreation), Measured { items: 7, seconds: 2.0 });
    }

    #[test]
    fn a_summary_has_the_deviation_of_a_sample() {
        let summary = Summary::of(&[1.0, 2.0, 3.0]);
        assert_eq!(summary, Summary { max: 3.0, min: 1.0, mean: 2.0, deviation: 1.0 });
        assert_eq!(Summary::of(&[5.0]).deviation, 0.0);
    }
}
