//! The operations of a replay, in order: which stream is next, on which item, where in it, how much.
//!
//! Everything is computed from counts, so that a replay of any length takes no memory: of a stream's n operations each
//! takes its own quantile of the sizes and of the orders, in an order that the seed chooses. So the proportions are exact
//! however short the stream is, and the same for the same seed.
//! Not here: system calls, and waiting until an operation is due.

use ioassay_protocol::plan::RankRange;
use ioassay_protocol::plan::replay::{
    ItemShare, Region, ReplayWork, Size, Stream, StreamOperation, StreamOrder, Transfers,
};

use crate::workload::permutation::Permutation;
use crate::workload::random::SplitMix64;

/// What a rank moves at once when it fills an item.
pub(super) const FILL_BYTES: u64 = 1 << 20;

/// Parts of the whole time of a phase, in which moments are counted: 2 to the 53rd, so that a day has nanoseconds.
const WHOLE: u128 = 1 << 53;

/// The transfers of a stream, where it has any.
pub fn transfers(operation: &StreamOperation) -> Option<&Transfers> {
    match operation {
        StreamOperation::Read(transfers) | StreamOperation::Write(transfers) => Some(transfers),
        _ => None,
    }
}

/// Bytes of the largest transfer.
pub fn largest_transfer_bytes(work: &ReplayWork) -> u64 {
    let largest = |stream: &Stream| match &stream.operation {
        StreamOperation::Fill { bytes } => (*bytes).min(FILL_BYTES),
        operation => transfers(operation).and_then(|of| of.sizes.iter().map(|size| size.bytes).max()).unwrap_or(0),
    };
    work.streams.iter().map(largest).max().unwrap_or(0)
}

/// Bytes of the largest item of the tree `name`, where a stream writes any.
pub fn largest_file_bytes(work: &ReplayWork, name: &str) -> Option<u64> {
    let written =
        work.streams.iter().filter(|stream| stream.tree == *name).filter_map(|stream| match &stream.operation {
            StreamOperation::Fill { bytes } => Some(*bytes),
            StreamOperation::Write(transfers) => Some(transfers.file_bytes),
            _ => None,
        });
    written.max()
}

/// True if a stream creates items of the tree `name`.
pub fn creates(work: &ReplayWork, name: &str) -> bool {
    use StreamOperation as Kind;
    let creating = |kind: &Kind| matches!(kind, Kind::Fill { .. } | Kind::Write(_) | Kind::Create { .. });
    work.streams.iter().any(|stream| stream.tree == *name && creating(&stream.operation))
}

/// Trees whose items may have another name.
pub fn renamed(work: &ReplayWork) -> impl Iterator<Item = &str> {
    let streams = work.streams.iter().filter(|stream| matches!(stream.operation, StreamOperation::Rename { .. }));
    streams.map(|stream| stream.tree.as_str())
}

/// The ranks of a stream, of `ranks` in all.
pub fn ranks_of(stream: &Stream, ranks: u32) -> RankRange {
    stream.ranks.unwrap_or(RankRange { first: 0, count: ranks })
}

/// One operation of a stream on its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Open the item, to read or to write it.
    Open,
    /// Move bytes of the open item.
    Transfer {
        /// Where.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Force the open item to stable storage.
    Sync,
    /// Close the open item.
    Close,
    /// What the stream does to names, once.
    Name,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Number of the stream in the plan.
    pub stream: usize,
    /// The item.
    pub item: u64,
    /// What is done.
    pub act: Act,
    /// When it is due, of the phase's whole time [`WHOLE`].
    pub due: u64,
}

impl Next {
    /// When it is due in a phase of `duration_ns`.
    pub fn due_ns(&self, duration_ns: u64) -> u64 {
        (u128::from(self.due) * u128::from(duration_ns) / WHOLE) as u64
    }
}

/// The operations of one rank.
#[derive(Debug)]
pub struct Replay {
    streams: Vec<RankStream>,
}

impl Replay {
    /// Those of `rank` in `work`, of a plan with this many ranks; `items` says how many a tree has.
    pub fn new(work: &ReplayWork, ranks: u32, rank: u32, seed: u64, items: impl Fn(&str) -> u64) -> Self {
        let of_rank = work.streams.iter().enumerate().filter_map(|(number, stream)| {
            let range = ranks_of(stream, ranks);
            let member = range.member(rank)?;
            let place = Member { member: member.into(), members: range.count.into() };
            let random = SplitMix64::keyed(&[seed, number as u64, rank.into()]);
            RankStream::new(number, stream, place, items(&stream.tree), random)
        });
        Self { streams: of_rank.collect() }
    }

    /// How many there are.
    pub fn operations(&self) -> u64 {
        self.streams.iter().map(|stream| stream.operations).sum()
    }
}

impl Iterator for Replay {
    type Item = Next;

    /// The next one, until all are done.
    #[inline]
    fn next(&mut self) -> Option<Next> {
        let left = self.streams.iter_mut().filter(|stream| stream.done < stream.operations);
        Some(left.min_by_key(|stream| stream.due)?.next())
    }
}

/// A rank among those that have a stream.
#[derive(Debug, Clone, Copy)]
struct Member {
    member: u64,
    members: u64,
}

/// What a rank has left of a stream.
#[derive(Debug)]
struct RankStream {
    number: usize,
    /// Items that it uses: `items.0` is the first, `items.1` the step to the next, `items.2` how many there are.
    first_item: u64,
    item_step: u64,
    items: u64,
    /// Operations of all kinds.
    operations: u64,
    done: u64,
    timeline: Timeline,
    /// When the next is due.
    due: u64,
    way: Way,
}

/// What an operation of a stream consists of.
#[derive(Debug)]
enum Way {
    /// Something with a name, so many times before the next.
    Names(u64),
    /// Opens, transfers, syncs, closes.
    Transfers(Box<Walk>),
}

impl RankStream {
    fn new(number: usize, stream: &Stream, place: Member, items: u64, random: SplitMix64) -> Option<Self> {
        let (first_item, item_step) = match stream.items {
            ItemShare::Own => (place.member, place.members),
            ItemShare::All => (0, 1),
        };
        let items = items.saturating_sub(first_item).div_ceil(item_step);
        if items == 0 {
            return None;
        }
        let fill = |bytes: u64| Transfers {
            count: items * bytes.div_ceil(FILL_BYTES),
            opens: items,
            sizes: vec![Size { bytes: FILL_BYTES, weight: 1 }],
            file_bytes: bytes,
            region: Region::Whole,
            order: StreamOrder { consecutive: 1, forward: 0, backward: 0, random: 0 },
            sync_every: None,
        };
        let (operations, way) = match &stream.operation {
            StreamOperation::Fill { bytes } => transfer_way(&fill(*bytes), place, random),
            StreamOperation::Read(of) | StreamOperation::Write(of) => transfer_way(of, place, random),
            // Opened and closed.
            StreamOperation::Open { count, absent: false } => {
                transfer_way(&Transfers { count: 0, opens: *count, ..fill(0) }, place, random)
            }
            // And its own name again.
            StreamOperation::Rename { count } => (*count, Way::Names(2)),
            StreamOperation::Open { count, absent: true }
            | StreamOperation::Stat { count, .. }
            | StreamOperation::Create { count }
            | StreamOperation::Remove { count } => (*count, Way::Names(1)),
        };
        let timeline = Timeline::new(&stream.timeline, operations);
        let mut made = Self { number, first_item, item_step, items, operations, done: 0, timeline, due: 0, way };
        made.due = made.timeline.due(0);
        Some(made)
    }

    #[inline]
    fn next(&mut self) -> Next {
        let (nth, act) = match &mut self.way {
            Way::Names(times) => (self.done / *times, Act::Name),
            Way::Transfers(walk) => walk.next(),
        };
        let next =
            Next { stream: self.number, item: self.first_item + nth % self.items * self.item_step, act, due: self.due };
        self.done += 1;
        if self.done < self.operations {
            self.due = self.timeline.due(self.done);
        }
        next
    }
}

fn transfer_way(of: &Transfers, place: Member, random: SplitMix64) -> (u64, Way) {
    let walk = Walk::new(of, place, random);
    (walk.operations(), Way::Transfers(Box::new(walk)))
}

/// When the operations of a stream are due.
#[derive(Debug)]
struct Timeline {
    operations: u64,
    /// Weights of the parts so far, the last one that of all; empty where all are alike.
    until: Vec<u64>,
    /// The part of the last operation that was asked for: the next is not before it.
    part: usize,
}

impl Timeline {
    fn new(weights: &[u64], operations: u64) -> Self {
        Self { operations, until: cumulated(weights), part: 0 }
    }

    /// When operation `index` is due: in the middle of its share of the time.
    fn due(&mut self, index: u64) -> u64 {
        let middle = 2 * u128::from(index) + 1;
        let (all, twice) = (self.until.last().copied().unwrap_or(0), 2 * u128::from(self.operations));
        if all == 0 {
            return (WHOLE * middle / twice) as u64;
        }
        // In units of weight / (2 × operations).
        let position = middle * u128::from(all);
        while u128::from(self.until[self.part]) * twice <= position {
            self.part += 1;
        }
        let before = if self.part == 0 { 0 } else { self.until[self.part - 1] };
        let weight = u128::from(self.until[self.part] - before);
        let within = position - u128::from(before) * twice;
        let parts = self.until.len() as u128;
        let share = WHOLE / parts;
        (share * self.part as u128 + share * within / (weight * twice)) as u64
    }
}

/// The sum of the weights up to each.
fn cumulated(weights: &[u64]) -> Vec<u64> {
    let sum = |sum: &mut u64, weight: &u64| {
        *sum += weight;
        Some(*sum)
    };
    weights.iter().scan(0, sum).collect()
}

/// How a rank moves through its items.
#[derive(Debug)]
struct Walk {
    count: u64,
    opens: u64,
    sizes: Quantiles,
    order: Quantiles,
    /// Where the region begins and ends.
    begin: u64,
    end: u64,
    /// Bytes between transfers that go forward, and between those that go backward.
    gap: u64,
    gap_backward: u64,
    sync_every: u64,
    random: SplitMix64,
    /// The visit of an item that is going on, the transfers begun in all, and where the last began and ended: at first the
    /// end and the beginning of the region.
    visit: u64,
    begun: u64,
    last_begin: u64,
    position: u64,
    state: Step,
}

/// What a visit of an item has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Closed,
    Open,
    Written,
}

const CONSECUTIVE: usize = 0;
const FORWARD: usize = 1;
const BACKWARD: usize = 2;

impl Walk {
    fn new(of: &Transfers, place: Member, mut random: SplitMix64) -> Self {
        let weights: Vec<u64> = of.sizes.iter().map(|size| size.weight).collect();
        let values: Vec<u64> = of.sizes.iter().map(|size| size.bytes).collect();
        let StreamOrder { consecutive, forward, backward, random: anywhere } = of.order;
        let sizes = Quantiles::new(&weights, of.count, SplitMix64::keyed(&[random.draw()]), values);
        let order = Quantiles::new(
            &[consecutive, forward, backward, anywhere],
            of.count,
            SplitMix64::keyed(&[random.draw()]),
            vec![0, 1, 2, 3],
        );
        let (begin, end) = match of.region {
            Region::Whole => (0, of.file_bytes),
            Region::Segment => {
                let border =
                    |member: u64| (u128::from(of.file_bytes) * u128::from(member) / u128::from(place.members)) as u64;
                (border(place.member), border(place.member + 1))
            }
        };
        let opens = of.opens;
        // What is not moved in a visit lies in its gaps.
        let orders = (consecutive + forward + backward + anywhere).max(1);
        let per_visit = of.count.div_ceil(opens.max(1));
        let visited = |weight: u64| per_visit as f64 * weight as f64 / orders as f64;
        let gap = |span: f64, transfers: f64| if transfers > 0.0 { (span.max(0.0) / transfers) as u64 } else { 0 };
        let (region, mean) = ((end - begin) as f64, sizes.mean());
        // Each consecutive transfer leads away from where the next one goes backward from.
        let backward_span = region + mean * (visited(consecutive) - visited(backward));
        Self {
            count: of.count,
            opens,
            sizes,
            order,
            begin,
            end,
            gap: gap(region - mean * per_visit as f64, visited(forward)),
            gap_backward: gap(backward_span, visited(backward)),
            sync_every: of.sync_every.unwrap_or(u64::MAX),
            random,
            visit: 0,
            begun: 0,
            last_begin: end,
            position: begin,
            state: Step::Closed,
        }
    }

    /// Opens, closes, transfers and syncs.
    fn operations(&self) -> u64 {
        2 * self.opens + self.count + self.count / self.sync_every
    }

    /// Transfers until the end of visit number `visit`.
    fn until(&self, visit: u64) -> u64 {
        (u128::from(self.count) * u128::from(visit + 1) / u128::from(self.opens)) as u64
    }

    /// The number of the visit, and what is done in it.
    #[inline]
    fn next(&mut self) -> (u64, Act) {
        match self.state {
            Step::Closed => {
                self.state = Step::Open;
                (self.last_begin, self.position) = (self.end, self.begin);
                (self.visit, Act::Open)
            }
            Step::Written if self.begun.is_multiple_of(self.sync_every) => {
                self.state = Step::Open;
                (self.visit, Act::Sync)
            }
            Step::Open | Step::Written if self.begun < self.until(self.visit) => {
                self.state = Step::Written;
                (self.visit, self.transfer())
            }
            Step::Open | Step::Written => {
                self.state = Step::Closed;
                self.visit += 1;
                (self.visit - 1, Act::Close)
            }
        }
    }

    #[inline]
    fn transfer(&mut self) -> Act {
        let bytes = self.sizes.of(self.begun);
        let (mut offset, mut end) = (self.position, self.end);
        match self.order.of(self.begun) as usize {
            CONSECUTIVE => {}
            FORWARD => offset = offset.saturating_add(self.gap),
            BACKWARD => {
                let gap = if self.last_begin == self.end { 0 } else { self.gap_backward };
                let before = self.last_begin.saturating_sub(gap);
                end = if before > self.begin { before } else { self.end };
                offset = end.saturating_sub(bytes).max(self.begin);
            }
            _ => {
                let places = ((self.end - self.begin) / bytes).max(1);
                offset = self.begin + self.random.below(places) * bytes;
            }
        }
        self.begun += 1;
        if offset >= self.end {
            offset = self.begin;
        }
        let bytes = bytes.min(end - offset);
        (self.last_begin, self.position) = (offset, offset + bytes);
        Act::Transfer { offset, bytes }
    }
}

/// Values by weight: of n operations each takes its own n-th of them all.
#[derive(Debug)]
struct Quantiles {
    values: Vec<u64>,
    /// Weights of the values so far, the last one that of all.
    until: Vec<u64>,
    count: u64,
    /// Which n-th; `None` where there is one value.
    shuffled: Option<Permutation>,
}

impl Quantiles {
    fn new(weights: &[u64], count: u64, random: SplitMix64, values: Vec<u64>) -> Self {
        let several = count > 0 && weights.iter().filter(|&&weight| weight > 0).count() > 1;
        let shuffled = several.then(|| Permutation::new(count, random));
        Self { values, until: cumulated(weights), count, shuffled }
    }

    fn mean(&self) -> f64 {
        let all = self.until.last().copied().unwrap_or(0).max(1);
        let weights = self.until.iter().scan(0, |before, &until| Some(until - std::mem::replace(before, until)));
        self.values.iter().zip(weights).map(|(&value, weight)| value as f64 * weight as f64 / all as f64).sum()
    }

    #[inline]
    fn of(&self, index: u64) -> u64 {
        let index = match &self.shuffled {
            None => 0,
            Some(permutation) => {
                let all = u128::from(*self.until.last().expect("validated: there is a weight"));
                ((2 * u128::from(permutation.map(index)) + 1) * all / (2 * u128::from(self.count))) as u64
            }
        };
        let place = self.until.partition_point(|&until| until <= index);
        self.values[place.min(self.values.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sizes(sizes: &[(u64, u64)]) -> Vec<Size> {
        sizes.iter().map(|&(bytes, weight)| Size { bytes, weight }).collect()
    }

    fn transfers_of(count: u64, opens: u64) -> Transfers {
        Transfers {
            count,
            opens,
            sizes: sizes(&[(1000, 1)]),
            file_bytes: 100_000,
            region: Region::Whole,
            order: StreamOrder { consecutive: 1, forward: 0, backward: 0, random: 0 },
            sync_every: None,
        }
    }

    fn stream(operation: StreamOperation) -> Stream {
        Stream { tree: "t".to_owned(), ranks: None, items: ItemShare::All, operation, timeline: Vec::new() }
    }

    /// All operations of a rank of 3.
    fn all(streams: Vec<Stream>, rank: u32, items: u64) -> Vec<Next> {
        let work = ReplayWork { streams, duration_ns: None };
        let replay = Replay::new(&work, 3, rank, 1, |_| items);
        let count = replay.operations();
        let all: Vec<Next> = replay.collect();
        assert_eq!(all.len() as u64, count);
        all
    }

    fn offsets(all: &[Next]) -> Vec<(u64, u64)> {
        let transfer =
            |next: &Next| if let Act::Transfer { offset, bytes } = next.act { Some((offset, bytes)) } else { None };
        all.iter().filter_map(transfer).collect()
    }

    #[test]
    fn each_visit_opens_the_next_item_moves_its_share_and_closes_it() {
        let write = StreamOperation::Write(Transfers { sync_every: Some(2), ..transfers_of(5, 2) });
        let all = all(vec![stream(write)], 0, 2);
        let acts: Vec<(u64, &str)> = all
            .iter()
            .map(|next| {
                let act = match next.act {
                    Act::Open => "open",
                    Act::Transfer { .. } => "write",
                    Act::Sync => "sync",
                    Act::Close => "close",
                    Act::Name => "name",
                };
                (next.item, act)
            })
            .collect();
        let visit = |item, acts: &[&'static str]| acts.iter().map(|&act| (item, act)).collect::<Vec<_>>();
        let first = visit(0, &["open", "write", "write", "sync", "close"]);
        let second = visit(1, &["open", "write", "write", "sync", "write", "close"]);
        assert_eq!(acts, [first, second].concat());
        assert_eq!(offsets(&all), [(0, 1000), (1000, 1000), (0, 1000), (1000, 1000), (2000, 1000)]);
    }

    #[test]
    fn a_fill_writes_every_item_once_and_whole() {
        let fill = Stream { items: ItemShare::Own, ..stream(StreamOperation::Fill { bytes: 2_500_000 }) };
        let mut filled = vec![0; 7];
        for rank in 0..3 {
            for next in all(vec![fill.clone()], rank, 7) {
                if let Act::Transfer { offset, bytes } = next.act {
                    assert_eq!(offset, filled[next.item as usize]);
                    filled[next.item as usize] += bytes;
                }
            }
        }
        assert_eq!(filled, [2_500_000; 7]);
    }

    #[test]
    fn empty_items_are_filled_too() {
        let fill = Stream { items: ItemShare::Own, ..stream(StreamOperation::Fill { bytes: 0 }) };
        let acts: Vec<Act> = all(vec![fill], 0, 4).iter().map(|next| next.act).collect();
        assert_eq!(acts, [Act::Open, Act::Close, Act::Open, Act::Close]);
    }

    #[test]
    fn gaps_lead_forward_to_the_end_of_the_region() {
        let order = StreamOrder { consecutive: 0, forward: 1, backward: 0, random: 0 };
        let forward = StreamOperation::Read(Transfers { order, ..transfers_of(10, 1) });
        let offsets = offsets(&all(vec![stream(forward)], 0, 1));
        assert!(offsets.windows(2).all(|pair| pair[1].0 == pair[0].0 + 10_000), "{offsets:?}");
        assert_eq!(offsets.last(), Some(&(99_000, 1000)));
    }

    fn backward(consecutive: u64, count: u64, file_bytes: u64) -> Vec<(u64, u64)> {
        let order = StreamOrder { consecutive, forward: 0, backward: 1, random: 0 };
        let read = StreamOperation::Read(Transfers { order, file_bytes, ..transfers_of(count, 1) });
        offsets(&all(vec![stream(read)], 0, 1))
    }

    #[test]
    fn backward_transfers_lead_from_the_end_of_the_region_to_its_beginning() {
        let whole: Vec<(u64, u64)> = (0..10).rev().map(|index| (index * 1000, 1000)).collect();
        assert_eq!(backward(0, 10, 10_000), whole);
        let gaps: Vec<u64> = backward(0, 10, 100_000).iter().map(|&(offset, _)| offset).collect();
        assert_eq!(gaps[0], 99_000);
        assert!(gaps.windows(2).all(|pair| pair[0] == pair[1] + 10_000), "{gaps:?}");
        assert_eq!(backward(0, 3, 2500), [(1500, 1000), (500, 1000), (0, 500)]);
        assert_eq!(backward(0, 3, 2000), [(1000, 1000), (0, 1000), (1000, 1000)], "and from the end again");
    }

    #[test]
    fn blocks_that_are_read_forward_one_before_the_other_stay_apart() {
        // As often backward as consecutive, in a shuffled order.
        let moved = backward(1, 1000, 1_000_000);
        let steps: Vec<i64> = moved.windows(2).map(|pair| pair[1].0 as i64 - pair[0].0 as i64).collect();
        assert!(steps.iter().filter(|&&step| step == -3000).count() > 480, "{steps:?}");
        let is_at_an_end = |step: i64| step.abs() > 990_000;
        assert!(steps.iter().all(|&step| step == -3000 || step == 1000 || is_at_an_end(step)), "{steps:?}");
    }

    #[test]
    fn streams_are_merged_as_their_operations_are_due() {
        let many = stream(StreamOperation::Stat { count: 5, absent: false });
        let few = stream(StreamOperation::Stat { count: 2, absent: false });
        let late = Stream { timeline: vec![0, 1], ..few.clone() };
        let order: Vec<usize> = all(vec![many, few, late], 0, 1).iter().map(|next| next.stream).collect();
        assert_eq!(order, [0, 1, 0, 0, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_timeline_puts_operations_where_its_weights_are() {
        let stat = Stream { timeline: vec![3, 0, 1, 0], ..stream(StreamOperation::Stat { count: 400, absent: false }) };
        let all = all(vec![stat], 0, 1);
        let in_part = |part: u64| {
            let due = |next: &&Next| (part * 1000..(part + 1) * 1000).contains(&next.due_ns(4000));
            all.iter().filter(due).count()
        };
        assert_eq!([0, 1, 2, 3].map(in_part), [300, 0, 100, 0]);
    }

    #[test]
    fn ranks_without_the_stream_or_without_items_do_nothing() {
        let stream = Stream {
            ranks: Some(RankRange { first: 1, count: 1 }),
            ..stream(StreamOperation::Stat { count: 4, absent: false })
        };
        assert_eq!([0, 1, 2].map(|rank| all(vec![stream.clone()], rank, 5).len()), [0, 4, 0]);
    }

    proptest! {
        #[test]
        fn sizes_come_as_often_as_their_weights_say_and_within_the_region(
            count in 1..500_u64, opens in 1..20_u64, weights in proptest::collection::vec(0..5_u64, 3),
            order in (0..4_u64, 0..4_u64, 0..4_u64, 0..4_u64), segment: bool, rank in 0..3_u32, seed: u64,
        ) {
            prop_assume!(weights.iter().sum::<u64>() > 0 && order.0 + order.1 + order.2 + order.3 > 0);
            // So small that no transfer is cut but at the ends of the region.
            let bytes = [1, 2, 3];
            let of = Transfers {
                sizes: bytes.iter().zip(&weights).map(|(&bytes, &weight)| Size { bytes, weight }).collect(),
                region: if segment { Region::Segment } else { Region::Whole },
                order: StreamOrder { consecutive: order.0, forward: order.1, backward: order.2, random: order.3 },
                ..transfers_of(count, opens)
            };
            let work = ReplayWork { streams: vec![stream(StreamOperation::Read(of))], duration_ns: None };
            let replay = Replay::new(&work, 3, rank, seed, |_| 4);
            let expected = replay.operations();
            let all: Vec<Next> = replay.collect();
            prop_assert_eq!(all.len() as u64, expected);
            prop_assert!(all.windows(2).all(|pair| pair[0].due <= pair[1].due));
            prop_assert!(all.iter().all(|next| next.item < 4 && u128::from(next.due) < WHOLE));
            let (begin, end) = match (segment, u64::from(rank)) {
                (false, _) => (0, 100_000),
                (true, rank) => (100_000 * rank / 3, 100_000 * (rank + 1) / 3),
            };
            let moved = offsets(&all);
            prop_assert_eq!(moved.len() as u64, count);
            prop_assert!(moved.iter().all(|&(offset, bytes)| begin <= offset && offset + bytes <= end));
            let sum: u64 = weights.iter().sum();
            for (&size, &weight) in bytes.iter().zip(&weights) {
                let matching = moved.iter().filter(|&&(_, bytes)| bytes == size).count() as f64;
                let is_at_end = |&&(offset, bytes): &&(u64, u64)| offset == begin || offset + bytes == end;
                let cut = moved.iter().filter(is_at_end).count() as f64;
                prop_assert!((matching - (count * weight) as f64 / sum as f64).abs() <= 1.0 + cut, "{matching} of {size}");
            }
        }
    }
}
