//! In which order the transfers of a file are done.

use ioassay_protocol::plan::data::Order;
use rand_distr::{Distribution, Zipf};

use super::ior_shuffle::IorShuffle;
use super::permutation::Permutation;
use super::random::SplitMix64;

/// The order of the transfers `0..count` of one rank in one file.
#[derive(Debug, Clone)]
pub struct Walk {
    count: u64,
    order: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Sequential,
    Backward,
    Strided(u64),
    Permuted(Permutation),
    Drawn(SplitMix64),
    DrawnBlocks(DrawnBlocks),
    Zipf { ranking: Zipf<f64>, scattered: Permutation, random: SplitMix64 },
    HotSpot { hot: u64, operations_percent: u64, random: SplitMix64 },
    IorShuffle(IorShuffle),
}

impl Walk {
    /// The walk through `count` transfers, more than none; `random` decides what chance does.
    pub fn new(order: Order, count: u64, mut random: SplitMix64) -> Self {
        let order = match order {
            Order::Sequential => Kind::Sequential,
            Order::Backward => Kind::Backward,
            Order::Strided(stride) => Kind::Strided(stride.min(count)),
            Order::Random => Kind::Permuted(Permutation::new(count, random)),
            Order::RandomWithReplacement => Kind::Drawn(random),
            Order::Zipf(exponent) => Kind::Zipf {
                ranking: Zipf::new(count as f64, exponent).expect("validated: a positive exponent"),
                // The most wanted transfers are not neighbours, or readahead would serve them all.
                scattered: Permutation::new(count, SplitMix64::keyed(&[random.draw()])),
                random,
            },
            // These have walks of their own.
            Order::IorShuffled(_) => unreachable!("made by Walk::ior_shuffled"),
            Order::IorDrawn(_) => unreachable!("made by Walk::drawn_blocks"),
            Order::HotSpot { transfers_percent, operations_percent } => Kind::HotSpot {
                hot: share(count, transfers_percent),
                operations_percent: operations_percent.into(),
                random,
            },
        };
        Self { count, order }
    }

    /// The walk through `count` of the transfers that IOR's shuffle gave to a rank.
    pub fn ior_shuffled(shuffle: IorShuffle, count: u64) -> Self {
        Self { count, order: Kind::IorShuffle(shuffle) }
    }

    /// The walk through `count` transfers, `per_block` to each of `blocks` blocks that are drawn with `random`: transfers
    /// are counted through the whole file.
    pub fn drawn_blocks(blocks: u64, per_block: u64, count: u64, random: SplitMix64) -> Self {
        Self { count, order: Kind::DrawnBlocks(DrawnBlocks { blocks, per_block, random, first: 0 }) }
    }

    /// The transfer that comes at place `index`.
    #[inline(always)]
    pub fn transfer(&mut self, index: u64) -> u64 {
        match &mut self.order {
            Kind::Sequential => index,
            Kind::Permuted(permutation) => permutation.map(index),
            Kind::IorShuffle(shuffle) => shuffle.transfer(index),
            Kind::Drawn(random) => random.below(self.count),
            Kind::DrawnBlocks(drawn) => drawn.transfer(index),
            Kind::Backward => self.count - 1 - index,
            Kind::Strided(stride) => strided(index, *stride, self.count),
            Kind::Zipf { ranking, scattered, random } => {
                let rank = ranking.sample(random) as u64;
                scattered.map(rank.clamp(1, self.count) - 1)
            }
            Kind::HotSpot { hot, operations_percent, random } => {
                if random.below(100) < *operations_percent || *hot == self.count {
                    random.below(*hot)
                } else {
                    *hot + random.below(self.count - *hot)
                }
            }
        }
    }
}

/// Blocks drawn with replacement (hpc/ior, `WriteOrRead` in src/ior.c).
#[derive(Debug, Clone)]
struct DrawnBlocks {
    /// Blocks to draw from.
    blocks: u64,
    /// Transfers in a block.
    per_block: u64,
    random: SplitMix64,
    /// The first transfer of the block that was drawn last.
    first: u64,
}

impl DrawnBlocks {
    #[inline(always)]
    fn transfer(&mut self, index: u64) -> u64 {
        let within = index % self.per_block;
        if within == 0 {
            self.first = self.random.below(self.blocks) * self.per_block;
        }
        self.first + within
    }
}

/// `percent` of `count`, at least 1.
fn share(count: u64, percent: u8) -> u64 {
    ((u128::from(count) * u128::from(percent) / 100) as u64).max(1)
}

/// Place `index` of 0, stride, 2 × stride, … 1, 1 + stride, …: the first `count % stride` of these lanes have one
/// transfer more than the others.
fn strided(index: u64, stride: u64, count: u64) -> u64 {
    let (short, longer_lanes) = (count / stride, count % stride);
    let in_longer = longer_lanes * (short + 1);
    if index < in_longer {
        return index / (short + 1) + index % (short + 1) * stride;
    }
    let rest = index - in_longer;
    longer_lanes + rest / short + rest % short * stride
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walk(order: Order, count: u64) -> Vec<u64> {
        let mut walk = Walk::new(order, count, SplitMix64::keyed(&[3]));
        (0..count).map(|index| walk.transfer(index)).collect()
    }

    fn any_order() -> impl Strategy<Value = Order> {
        prop_oneof![
            Just(Order::Sequential),
            Just(Order::Backward),
            (1..50_u64).prop_map(Order::Strided),
            Just(Order::Random),
            Just(Order::RandomWithReplacement),
            (0.1..3.0_f64).prop_map(Order::Zipf),
            (1..100_u8, 1..100_u8).prop_map(|(transfers_percent, operations_percent)| Order::HotSpot {
                transfers_percent,
                operations_percent
            }),
        ]
    }

    proptest! {
        #[test]
        fn every_order_stays_in_the_file_and_those_that_cover_it_meet_each_transfer_once(
            order in any_order(), count in 1..400_u64,
        ) {
            let mut met = walk(order, count);
            prop_assert!(met.iter().all(|&transfer| transfer < count));
            if order.covers() {
                met.sort_unstable();
                prop_assert_eq!(met, (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn drawn_blocks_are_read_from_their_beginning_and_drawn_from_all_of_the_file() {
        let mut walk = Walk::drawn_blocks(5, 3, 300, SplitMix64::keyed(&[3]));
        let transfers: Vec<u64> = (0..300).map(|index| walk.transfer(index)).collect();
        let blocks: Vec<&[u64]> = transfers.chunks(3).collect();
        assert!(blocks.iter().all(|block| block[0] % 3 == 0 && block[1] == block[0] + 1 && block[2] == block[0] + 2));
        let mut drawn: Vec<u64> = blocks.iter().map(|block| block[0] / 3).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_stride_takes_every_nth_and_then_those_between() {
        assert_eq!(walk(Order::Strided(3), 8), [0, 3, 6, 1, 4, 7, 2, 5]);
        assert_eq!(walk(Order::Strided(100), 3), [0, 1, 2]);
        assert_eq!(walk(Order::Backward, 3), [2, 1, 0]);
    }

    #[test]
    fn a_zipf_order_has_few_favourites_and_a_hot_spot_its_share() {
        let mut counts = std::collections::HashMap::new();
        walk(Order::Zipf(1.2), 10_000).into_iter().for_each(|transfer| *counts.entry(transfer).or_insert(0) += 1);
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // With exponent 1.2 over 10,000 the first of 10,000 has a share of 1 / H = 0.209.
        assert!((1900..2300).contains(&counts[0]), "{}", counts[0]);

        let order = Order::HotSpot { transfers_percent: 10, operations_percent: 90 };
        let hot = walk(order, 10_000).into_iter().filter(|&transfer| transfer < 1_000).count();
        assert!((8_850..9_150).contains(&hot), "{hot}");
    }
}
