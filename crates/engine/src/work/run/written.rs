//! How much of each file set has been written: what a later read can read back.

use std::collections::{BTreeMap, BTreeSet};

use ioassay_protocol::plan::data::Order;

use crate::workload::layout::Geometry;

/// What the ranks have written, by file set and part; the same on every rank. A part that is not here was written in
/// full, or not at all.
#[derive(Debug, Default)]
pub(crate) struct Written {
    begun: BTreeMap<(String, u32), Beginning>,
    /// Parts that were written in full once: what comes later does not make holes.
    full: BTreeSet<(String, u32)>,
}

/// What a limit let be written of a part.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    transfers: u64,
    order: OrderOfWrite,
}

/// In which order the transfers of a file were written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OrderOfWrite {
    /// The order.
    pub order: Order,
    /// The step that wrote, which is a key of the random ones.
    pub step: u32,
}

impl Written {
    /// A job has written the first transfers of the first parts of a set, in this order: of each part as many as
    /// `transfers` says.
    pub fn note(&mut self, set: &str, geometry: &Geometry, order: OrderOfWrite, transfers: &[u64]) {
        if !order.order.covers() {
            return;
        }
        for (part, &transfers) in (0..).zip(transfers) {
            let part = (set.to_owned(), part);
            // Of dealt transfers a rank may have more than its share, so reaching the share proves nothing.
            let share = !matches!(order.order, Order::IorShuffled(_)) || transfers == u64::MAX;
            if share && transfers >= geometry.transfers_per_part() {
                self.begun.remove(&part);
                self.full.insert(part);
            } else if !self.full.contains(&part) {
                self.begun.insert(part, Beginning { transfers, order });
            }
        }
    }

    /// True if a job has written `part`, in full or what its limit let it write.
    pub fn knows(&self, set: &str, part: u32) -> bool {
        let part = (set.to_owned(), part);
        self.full.contains(&part) || self.begun.contains_key(&part)
    }

    /// What of `part` can be read.
    pub fn prefix(&self, set: &str, part: u32, geometry: &Geometry) -> Prefix {
        let all = Prefix::all(geometry);
        match self.begun.get(&(set.to_owned(), part)) {
            None => all,
            Some(begun) => Prefix { transfers: begun.transfers, order: Some(begun.order), ..all },
        }
    }
}

/// The first transfers of a part, in the order in which they were written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prefix {
    transfers: u64,
    per_file: u64,
    order: Option<OrderOfWrite>,
}

impl Prefix {
    /// All of them.
    pub fn all(geometry: &Geometry) -> Self {
        Self { transfers: geometry.transfers_per_part(), per_file: geometry.transfers_per_file, order: None }
    }

    /// The same beginning where each transfer is read in `pieces`.
    pub fn in_pieces(self, pieces: u64) -> Self {
        Self { transfers: self.transfers * pieces, per_file: self.per_file * pieces, ..self }
    }

    /// Transfers that were written of those that IOR's shuffle gave to the part; `None` if all were.
    pub fn dealt(&self) -> Option<u64> {
        self.order.is_some().then_some(self.transfers)
    }

    /// Files that have any.
    pub fn files(&self) -> u64 {
        self.transfers.div_ceil(self.per_file)
    }

    /// Files that have all of theirs.
    pub fn whole_files(&self) -> u64 {
        self.transfers / self.per_file
    }

    /// Transfers in the `nth` file.
    pub fn transfers(&self, nth: u64) -> u64 {
        self.per_file.min(self.transfers - nth * self.per_file)
    }

    /// The order in which the `nth` file was written, where only its beginning was.
    pub fn order_of_write(&self, nth: u64) -> Option<OrderOfWrite> {
        self.order.filter(|_| self.transfers(nth) < self.per_file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::given::file_set;
    use ioassay_protocol::plan::data::FileSet;

    fn geometry() -> Geometry {
        Geometry::of(&FileSet { files_per_rank: 3, block_bytes: 10, ..file_set() }, 2)
    }

    const RANDOM: OrderOfWrite = OrderOfWrite { order: Order::Random, step: 4 };

    #[test]
    fn what_a_limit_left_out_is_not_read_back() {
        let mut written = Written::default();
        written.note("data", &geometry(), RANDOM, &[14, 30]);
        let first = written.prefix("data", 0, &geometry());
        assert_eq!((first.files(), first.transfers(0), first.transfers(1)), (2, 10, 4));
        // The first file was written in full, so it can be read in any order.
        assert_eq!((first.order_of_write(0), first.order_of_write(1)), (None, Some(RANDOM)));
        assert_eq!(written.prefix("data", 1, &geometry()), Prefix::all(&geometry()));
    }

    #[test]
    fn what_was_written_in_full_once_stays_readable_and_what_follows_a_beginning_may_complete_it() {
        let mut written = Written::default();
        written.note("data", &geometry(), RANDOM, &[30, 4]);
        written.note("data", &geometry(), RANDOM, &[5, 30]);
        for part in [0, 1] {
            assert_eq!(written.prefix("data", part, &geometry()), Prefix::all(&geometry()));
        }
        // Random overwrites with replacement fill nothing.
        let drawn = OrderOfWrite { order: Order::RandomWithReplacement, step: 5 };
        written.note("other", &geometry(), drawn, &[2, 2]);
        assert_eq!(written.prefix("other", 0, &geometry()), Prefix::all(&geometry()));
    }
}
