//! How much of each file set has been written: what a later read can read back.

use std::collections::BTreeMap;

use ioassay_contract::plan::data::Order;

use crate::workload::layout::Geometry;

/// What the ranks have written, part by part; the same on every rank.
#[derive(Debug, Default)]
pub(super) struct Written(BTreeMap<String, Writes>);

/// The last write job of a file set, where it did not write all of it.
#[derive(Debug, Clone)]
struct Writes {
    order: OrderOfWrite,
    /// Transfers of each part that were written.
    transfers: Vec<u64>,
}

/// In which order the transfers of a file were written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OrderOfWrite {
    /// The order.
    pub order: Order,
    /// The step that wrote, which is a key of the random ones.
    pub step: u32,
}

impl Written {
    /// A job has written the first `transfers` of each part, in this order.
    pub fn note(&mut self, set: &str, geometry: &Geometry, order: OrderOfWrite, transfers: Vec<u64>) {
        let all = transfers.iter().all(|&count| count >= geometry.transfers_per_part());
        if all || !order.order.covers() {
            // What an earlier job left in part is overwritten in full, or in places that do not matter.
            if all {
                self.0.remove(set);
            }
            return;
        }
        // What an earlier, complete job left stays readable: only a first write that ended early leaves holes.
        self.0.insert(set.to_owned(), Writes { order, transfers });
    }

    /// What of `part` can be read.
    pub fn prefix(&self, set: &str, part: u32, geometry: &Geometry) -> Prefix {
        let all = Prefix::all(geometry);
        let Some(writes) = self.0.get(set) else { return all };
        let transfers = writes.transfers.get(part as usize).copied().unwrap_or(0);
        Prefix { transfers: transfers.min(all.transfers), order: Some(writes.order), ..all }
    }
}

/// The first transfers of a part, in the order in which they were written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prefix {
    transfers: u64,
    per_file: u64,
    order: Option<OrderOfWrite>,
}

impl Prefix {
    /// All of them.
    pub fn all(geometry: &Geometry) -> Self {
        Self { transfers: geometry.transfers_per_part(), per_file: geometry.transfers_per_file, order: None }
    }

    /// Files that have any.
    pub fn files(&self) -> u64 {
        self.transfers.div_ceil(self.per_file)
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
