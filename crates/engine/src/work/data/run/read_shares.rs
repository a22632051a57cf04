//! Which bytes of its part a rank has read when a limit ended its job.

use ioassay_protocol::plan::data::Order;

use crate::work::run::profile::ReadShare;
use crate::work::run::written::Prefix;
use crate::workload::layout::Geometry;

/// What `done` transfers have read of a part of which there was `prefix` to read, in `order`. What was read again counts
/// once.
pub(super) fn read_shares(geometry: &Geometry, prefix: &Prefix, order: Order, done: u64) -> Vec<ReadShare> {
    let per_file = geometry.transfers_per_file;
    let file_bytes = per_file * geometry.transfer_bytes;
    let whole = (done / per_file).min(prefix.whole_files());
    let mut shares = vec![ReadShare { range: 0..whole * file_bytes, share: 1.0 }];
    if whole < prefix.files() {
        shares.push(share_of_file(geometry, prefix, order, whole, done - whole * per_file));
    }
    shares
}

/// The same of the `nth` file alone.
fn share_of_file(geometry: &Geometry, prefix: &Prefix, order: Order, nth: u64, done: u64) -> ReadShare {
    let Geometry { transfer_bytes, transfers_per_file, .. } = *geometry;
    let file_bytes = transfers_per_file * transfer_bytes;
    let (begin, end) = (nth * file_bytes, (nth + 1) * file_bytes);
    let there = prefix.transfers(nth);
    let (there_bytes, done_bytes) = (there * transfer_bytes, done.min(there) * transfer_bytes);
    let share = done.min(there) as f64 / there as f64;
    // Where a limit ended the write too, transfers are read in the order in which they were written, or against it.
    let (range, descending) = match prefix.order_of_write(nth).map(|write| write.order) {
        None | Some(Order::Sequential) => (begin..begin + there_bytes, false),
        Some(Order::Backward) => (end - there_bytes..end, true),
        Some(_) => return ReadShare { range: begin..end, share },
    };
    match (order, descending) {
        (Order::Sequential, false) | (Order::Backward, true) => {
            ReadShare { range: range.start..range.start + done_bytes, share: 1.0 }
        }
        (Order::Sequential, true) | (Order::Backward, false) => {
            ReadShare { range: range.end - done_bytes..range.end, share: 1.0 }
        }
        _ => ReadShare { range, share },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::run::written::{OrderOfWrite, Written};
    use crate::workload::given::file_set;
    use ioassay_protocol::plan::data::FileSet;

    /// Two files of ten transfers of ten bytes.
    fn geometry() -> Geometry {
        Geometry::of(&FileSet { files_per_rank: 2, transfer_bytes: 10, block_bytes: 100, ..file_set() }, 1)
    }

    /// What was read after `write` had written so many transfers: begin, end and percent, file by file.
    fn read(written: u64, write: Order, order: Order, done: u64) -> Vec<(u64, u64, u64)> {
        let mut all = Written::default();
        all.note("data", &geometry(), OrderOfWrite { order: write, step: 0 }, &[written]);
        let shares = read_shares(&geometry(), &all.prefix("data", 0, &geometry()), order, done);
        let shares = shares.into_iter().filter(|part| part.range.end > part.range.start && part.share > 0.0);
        shares.map(|part| (part.range.start, part.range.end, (part.share * 100.0).round() as u64)).collect()
    }

    #[test]
    fn files_are_read_one_after_the_other_and_the_last_from_where_its_order_begins() {
        use Order::{Backward, Random, Sequential};
        assert_eq!(read(20, Sequential, Sequential, 4), [(0, 40, 100)]);
        assert_eq!(read(20, Sequential, Backward, 4), [(60, 100, 100)]);
        assert_eq!(read(20, Sequential, Backward, 14), [(0, 100, 100), (160, 200, 100)]);
        assert_eq!(read(20, Random, Random, 14), [(0, 100, 100), (100, 200, 40)]);
        // Again and again.
        assert_eq!(read(20, Random, Sequential, 57), [(0, 200, 100)]);
        assert_eq!(read(20, Random, Sequential, 0), []);
    }

    #[test]
    fn what_a_limit_left_out_of_the_write_is_not_read_either() {
        use Order::{Backward, Random, Sequential};
        assert_eq!(read(14, Sequential, Sequential, 12), [(0, 100, 100), (100, 120, 100)]);
        assert_eq!(read(14, Sequential, Backward, 12), [(0, 100, 100), (120, 140, 100)]);
        assert_eq!(read(14, Backward, Sequential, 12), [(0, 100, 100), (180, 200, 100)]);
        assert_eq!(read(14, Backward, Backward, 12), [(0, 100, 100), (160, 180, 100)]);
        assert_eq!(read(14, Sequential, Random, 12), [(0, 100, 100), (100, 140, 50)]);
        assert_eq!(read(14, Random, Sequential, 12), [(0, 100, 100), (100, 200, 50)]);
        assert_eq!(read(14, Sequential, Sequential, 20), [(0, 100, 100), (100, 140, 100)]);
    }
}
