//! How many transfers a replay does, how large they are and where they begin, counted without doing them.
//!
//! Each of a stream's transfers takes its own quantile of the sizes ([`super::streams`]), so their numbers are exact. A
//! transfer that would go beyond the end of its file ends there; this is counted where a stream moves through its files in
//! transfers of one size, one after the other. Elsewhere the bytes are the most that there can be.

use std::collections::BTreeMap;

use ioassay_protocol::amounts::{SizeCount, TransferAmounts};
use ioassay_protocol::plan::Operation;
use ioassay_protocol::plan::replay::{Region, ReplayWork, StreamOperation, Transfers};

use super::streams::{FILL_BYTES, ranks_of};

/// Transfers by their size.
type Sizes = BTreeMap<u64, u64>;

/// The reads or the writes of a replay.
#[derive(Default)]
struct Counted {
    sizes: Sizes,
    consecutive: u64,
    forward: u64,
    backward: u64,
}

impl Counted {
    fn add(&mut self, sizes: &Sizes, times: u64) {
        for (&bytes, &count) in sizes {
            let all = self.sizes.entry(bytes).or_default();
            *all = all.saturating_add(count.saturating_mul(times));
        }
    }

    fn amounts(self, operation: Operation) -> Option<TransferAmounts> {
        let Self { sizes, consecutive, forward, backward } = self;
        let sizes: Vec<_> = sizes.into_iter().map(|(bytes, count)| SizeCount { bytes, count }).collect();
        (!sizes.is_empty()).then_some(TransferAmounts { operation, sizes, consecutive, forward, backward })
    }
}

/// Bytes of all transfers.
pub(super) fn bytes(of: &TransferAmounts) -> u64 {
    of.sizes.iter().map(|size| size.bytes.saturating_mul(size.count)).fold(0, u64::saturating_add)
}

/// The writes and reads of all ranks of a replay, and how many other operations they do. `items` has the number of items
/// of each tree.
pub(super) fn of_streams(work: &ReplayWork, ranks: u32, items: impl Fn(&str) -> u64) -> (Vec<TransferAmounts>, u64) {
    use StreamOperation as Kind;
    let (mut writes, mut reads, mut others) = (Counted::default(), Counted::default(), 0_u64);
    for stream in &work.streams {
        let members = u64::from(ranks_of(stream, ranks).count);
        let other = match &stream.operation {
            Kind::Fill { bytes } => {
                let items = items(&stream.tree);
                writes.add(&in_file(FILL_BYTES, *bytes), items);
                2_u64.saturating_mul(items)
            }
            Kind::Read(of) | Kind::Write(of) => {
                let writing = matches!(stream.operation, Kind::Write(_));
                add_transfers(if writing { &mut writes } else { &mut reads }, of, members);
                let synced = of.sync_every.map_or(0, |every| of.count / every);
                of.opens.saturating_mul(2).saturating_add(synced).saturating_mul(members)
            }
            Kind::Open { count, absent } => count.saturating_mul(if *absent { 1 } else { 2 }).saturating_mul(members),
            Kind::Stat { count, .. } | Kind::Create { count } | Kind::Rename { count } | Kind::Remove { count } => {
                count.saturating_mul(members)
            }
        };
        others = others.saturating_add(other);
    }
    let of_both = [(Operation::Write, writes), (Operation::Read, reads)];
    (of_both.into_iter().filter_map(|(operation, of)| of.amounts(operation)).collect(), others)
}

/// A file of `bytes` in transfers of `each`, the last of which may be smaller.
fn in_file(each: u64, bytes: u64) -> Sizes {
    let counts = [(each, bytes / each), (bytes % each, u64::from(!bytes.is_multiple_of(each)))];
    counts.into_iter().filter(|&(_, count)| count > 0).collect()
}

fn add_transfers(to: &mut Counted, of: &Transfers, members: u64) {
    to.add(&sizes_of_rank(of, members), members);
    let [consecutive, forward, backward] = courses_of_rank(of, members);
    for (all, count) in
        [&mut to.consecutive, &mut to.forward, &mut to.backward].into_iter().zip([consecutive, forward, backward])
    {
        *all = all.saturating_add(count.saturating_mul(members));
    }
}

/// Bytes of a rank's part of a file. Where ranks have parts that are not equal, the difference is a byte.
fn part_bytes(of: &Transfers, members: u64) -> u64 {
    of.file_bytes / if of.region == Region::Segment { members } else { 1 }
}

/// The transfers of each rank by their size.
fn sizes_of_rank(of: &Transfers, members: u64) -> Sizes {
    let weighted: Vec<_> = of.sizes.iter().filter(|size| size.weight > 0).collect();
    let one_way =
        of.order.forward == 0 && of.order.random == 0 && (of.order.consecutive == 0 || of.order.backward == 0);
    if let [only] = weighted[..]
        && one_way
    {
        return sizes_in_visits(only.bytes, of.count, of.opens, part_bytes(of, members).max(1));
    }
    let whole: u64 = weighted.iter().map(|size| size.weight).sum();
    let (mut sizes, mut until, mut before) = (Sizes::new(), 0, 0);
    for size in weighted {
        until += size.weight;
        let below = quantiles_below(until, whole, of.count);
        *sizes.entry(size.bytes.min(of.file_bytes)).or_default() += below - before;
        before = below;
    }
    sizes.retain(|_, count| *count > 0);
    sizes
}

/// How many of the quantiles (2 i + 1) / (2 `count`) of `whole` are below `bound`, each rounded down.
fn quantiles_below(bound: u64, whole: u64, count: u64) -> u64 {
    let [bound, whole, count] = [bound, whole, count].map(u128::from);
    let below = (2 * bound * count).saturating_sub(whole).div_ceil(2 * whole);
    below.min(count) as u64
}

/// Transfers of one size, one after the other: those at the end of the file's part are smaller.
fn sizes_in_visits(size: u64, count: u64, opens: u64, part: u64) -> Sizes {
    let mut sizes = Sizes::new();
    let (few, more) = (count / opens, count % opens);
    for (each, visits) in [(few, opens - more), (few + 1, more)] {
        let in_pass = part.div_ceil(size);
        let (passes, left) = (each / in_pass, each % in_pass);
        let full = passes * (part / size) + left.min(part / size);
        let ends = passes * u64::from(!part.is_multiple_of(size)) + u64::from(left > part / size);
        *sizes.entry(size).or_default() += full * visits;
        *sizes.entry(part % size).or_default() += ends * visits;
    }
    sizes.retain(|_, count| *count > 0);
    sizes
}

/// The transfers of each rank by where they begin: consecutive, forward, backward. Of those at random as many are forward
/// as backward; the first of a visit goes nowhere.
fn courses_of_rank(of: &Transfers, members: u64) -> [u64; 3] {
    let weights = of.order.consecutive + of.order.forward + of.order.backward + of.order.random;
    let share = |calls: u64, weight: u64| calls as f64 * weight as f64 / weights as f64;
    let part = part_bytes(of, members) as f64;
    let of_sizes = |value: fn(u64, u64) -> f64| of.sizes.iter().map(|size| value(size.bytes, size.weight)).sum::<f64>();
    let mean = of_sizes(|bytes, weight| bytes as f64 * weight as f64) / of_sizes(|_, weight| weight as f64);
    // One of the places at random is where the last transfer ended.
    let places = (part / mean).floor().max(1.0);
    let both_ways = rounded(share(of.count, of.order.random) / 2.0 * (1.0 - 1.0 / places));
    let backward = both_ways + rounded(share(of.count.saturating_sub(of.opens), of.order.backward));
    // Gaps have no length where a visit moves as much as the file holds.
    let has_gaps = mean * (of.count.div_ceil(of.opens.max(1)) as f64) < part;
    let forward = both_ways + if has_gaps { rounded(share(of.count, of.order.forward)) } else { 0 };
    // Each is rounded, so that together they can be one more than there are.
    let backward = backward.min(of.count);
    let forward = forward.min(of.count - backward);
    [of.count - forward - backward, forward, backward]
}

/// To the nearest whole number, halves to the even one.
fn rounded(value: f64) -> u64 {
    value.round_ties_even() as u64
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::plan::replay::{ItemShare, Size, Stream, StreamOrder};
    use proptest::prelude::*;

    use super::*;
    use crate::work::replay::streams::{Act, Replay};

    const RANKS: u32 = 3;

    fn work(of: Transfers) -> ReplayWork {
        let operation = StreamOperation::Read(of);
        let stream =
            Stream { tree: "t".to_owned(), ranks: None, items: ItemShare::All, operation, timeline: Vec::new() };
        ReplayWork { streams: vec![stream], duration_ns: None }
    }

    /// The transfers of all ranks by size, and the number of their other operations, counted one by one.
    fn done(work: &ReplayWork) -> (Sizes, u64) {
        let (mut sizes, mut others) = (Sizes::new(), 0);
        for rank in 0..RANKS {
            for next in Replay::new(work, RANKS, rank, 1, |_| 2) {
                match next.act {
                    Act::Transfer { bytes, .. } => *sizes.entry(bytes).or_default() += 1,
                    Act::Open | Act::Close | Act::Sync | Act::Name => others += 1,
                }
            }
        }
        (sizes, others)
    }

    fn amounts(work: &ReplayWork) -> (Sizes, u64, u64) {
        let (transfers, others) = of_streams(work, RANKS, |_| 2);
        let [of] = &transfers[..] else { panic!("{transfers:?}") };
        let sizes: Sizes = of.sizes.iter().map(|size| (size.bytes, size.count)).collect();
        (sizes, others, of.consecutive + of.forward + of.backward)
    }

    proptest! {
        #[test]
        fn as_many_transfers_of_each_size_are_counted_as_are_done(
            count in 1_u64..60, opens in 1_u64..20, sizes in proptest::collection::vec((1_u64..50, 0_u64..9), 1..5),
            file_bytes in 50_u64..400, weights in proptest::array::uniform4(0_u64..4), sync_every in 1_u64..5,
        ) {
            let [consecutive, forward, backward, random] = weights;
            prop_assume!(weights.iter().any(|&weight| weight > 0) && sizes.iter().any(|&(_, weight)| weight > 0));
            let one_size = sizes.len() == 1;
            let sizes = sizes.into_iter().map(|(bytes, weight)| Size { bytes, weight }).collect();
            let order = StreamOrder { consecutive, forward, backward, random };
            let region = Region::Whole;
            let work = work(Transfers { count, opens, sizes, file_bytes, region, order, sync_every: Some(sync_every) });
            let ((done, other_done), (counted, others, courses)) = (done(&work), amounts(&work));
            let moved = |sizes: &Sizes| sizes.iter().map(|(bytes, count)| bytes * count).sum::<u64>();
            prop_assert_eq!(other_done, others);
            prop_assert_eq!(done.values().sum::<u64>(), counted.values().sum::<u64>());
            prop_assert_eq!(courses, count * u64::from(RANKS));
            // Elsewhere what ends at the end of a file is not counted.
            if one_size && forward == 0 && random == 0 && (consecutive == 0 || backward == 0) {
                prop_assert_eq!(done, counted);
            } else {
                prop_assert!(moved(&done) <= moved(&counted));
            }
        }
    }

    fn transfers(count: u64, opens: u64, size: u64, file_bytes: u64) -> Transfers {
        let sizes = vec![Size { bytes: size, weight: 1 }];
        let order = StreamOrder { consecutive: 1, forward: 0, backward: 0, random: 0 };
        Transfers { count, opens, sizes, file_bytes, region: Region::Whole, order, sync_every: None }
    }

    #[test]
    fn a_segment_ends_as_a_file_does() {
        let of = Transfers { region: Region::Segment, ..transfers(3, 1, 1000, 10_000) };
        assert_eq!(sizes_of_rank(&of, 4), Sizes::from([(1000, 2), (500, 1)]));
    }

    #[test]
    fn backward_transfers_begin_at_the_end_of_each_visit() {
        let order = StreamOrder { consecutive: 1, forward: 0, backward: 3, random: 0 };
        let of = Transfers { order, ..transfers(8, 2, 4096, 4 * 4096) };
        assert_eq!(courses_of_rank(&of, 2), [4, 0, 4]);
        let only = StreamOrder { consecutive: 0, ..order };
        let of = Transfers { order: only, ..transfers(8, 2, 4096, 4 * 4096 - 100) };
        assert_eq!(sizes_of_rank(&of, 1), Sizes::from([(4096, 6), (4096 - 100, 2)]));
    }

    #[test]
    fn rounded_shares_are_no_more_than_all_transfers() {
        let order = StreamOrder { consecutive: 0, forward: 2, backward: 0, random: 2 };
        let of = Transfers { order, ..transfers(7, 1, 1, 50) };
        assert_eq!(courses_of_rank(&of, 50), [0, 5, 2]);
    }

    #[test]
    fn all_ranks_of_a_stream_count_with_their_opens_and_syncs() {
        let stream = |tree: &str, ranks, operation| Stream {
            tree: tree.to_owned(),
            ranks,
            items: ItemShare::All,
            operation,
            timeline: Vec::new(),
        };
        let written = Transfers { sync_every: Some(3), ..transfers(8, 2, 4096, 1 << 20) };
        let two = Some(ioassay_protocol::plan::RankRange { first: 0, count: 2 });
        let streams = vec![
            stream("t", None, StreamOperation::Write(written)),
            stream("t", two, StreamOperation::Open { count: 5, absent: false }),
            stream("u", None, StreamOperation::Open { count: 7, absent: true }),
            stream("u", None, StreamOperation::Create { count: 1 }),
            stream("u", None, StreamOperation::Stat { count: 3, absent: false }),
            stream("v", None, StreamOperation::Fill { bytes: 3 * FILL_BYTES + 1 }),
        ];
        let work = ReplayWork { streams, duration_ns: None };
        let (transfers, others) = of_streams(&work, 4, |tree| if tree == "v" { 6 } else { 8 });
        let moved: u64 = transfers[0].sizes.iter().map(|size| size.count).sum();
        assert_eq!((transfers.len(), transfers[0].operation, moved), (1, Operation::Write, 8 * 4 + 6 * 4));
        assert_eq!(bytes(&transfers[0]), 8 * 4 * 4096 + 6 * (3 * FILL_BYTES + 1));
        let opened_and_closed = 2 * (2 * 4 + 5 * 2 + 6) + 7 * 4;
        assert_eq!(others, opened_and_closed + 2 * 4 + 4 + 3 * 4);
    }

    #[test]
    fn a_fill_moves_whole_transfers_and_a_rest() {
        let stream = Stream {
            tree: "t".to_owned(),
            ranks: None,
            items: ItemShare::Own,
            operation: StreamOperation::Fill { bytes: 2 * FILL_BYTES + 5 },
            timeline: Vec::new(),
        };
        let work = ReplayWork { streams: vec![stream], duration_ns: None };
        let (transfers, others) = of_streams(&work, RANKS, |_| 7);
        assert_eq!((bytes(&transfers[0]), others), (7 * (2 * FILL_BYTES + 5), 14));
        assert_eq!(transfers[0].sizes, [SizeCount { bytes: 5, count: 7 }, SizeCount { bytes: FILL_BYTES, count: 14 }]);
    }
}
