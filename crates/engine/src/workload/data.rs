//! The data workload: each rank moves its part of the file set, transfer by transfer.
//!
//! [`Sequence`] says which transfers, in which order; it touches nothing. Running them is [`crate::case`].

use ioassay_contract::plan::{Operation, Order, Phase, Plan};

use super::layout::Place;
use super::permutation::Permutation;
use super::random::SplitMix64;
use crate::plan::Sizes;

/// The transfers of one rank in one phase.
#[derive(Debug, Clone)]
pub struct Sequence {
    place: Place,
    order: Walk,
}

#[derive(Debug, Clone)]
enum Walk {
    Sequential,
    Permuted(Permutation),
    Drawn(SplitMix64),
}

impl Sequence {
    /// The transfers of `owner`'s part of the file set, in the order of `phase`, which is step `step` of `plan`.
    /// The owner is the rank itself, or another one whose data it reads.
    pub fn new(plan: &Plan, phase: &Phase, step: u32, owner: u32) -> Self {
        let place = Place::of(&plan.data, owner, plan.rank_count());
        // Keyed by the step, so that a read does not follow the order in which the write filled the cache.
        let random = SplitMix64::keyed(&[plan.seed, u64::from(step), u64::from(owner)]);
        let order = match phase.order {
            Order::Sequential => Walk::Sequential,
            Order::Random => Walk::Permuted(Permutation::new(place.transfers(), random)),
            Order::RandomWithReplacement => Walk::Drawn(random),
        };
        Self { place, order }
    }

    /// How many transfers there are.
    pub fn transfers(&self) -> u64 {
        self.place.transfers()
    }

    /// Offset of the next transfer, the `index`-th.
    #[inline(always)]
    pub fn offset(&mut self, index: u64) -> u64 {
        let transfer = match &mut self.order {
            Walk::Sequential => index,
            Walk::Permuted(permutation) => permutation.map(index),
            Walk::Drawn(random) => random.below(self.place.transfers()),
        };
        self.place.offset(transfer)
    }
}

/// Whose part `rank` works on in a phase: its own, or, for reads that must not come from its own node's cache,
/// that of the rank `shift` further on (IOR's `-C`).
pub fn owner(operation: Operation, rank: u32, ranks: u32, shift: u32) -> u32 {
    match operation {
        Operation::Write => rank,
        Operation::Read => (rank + shift) % ranks,
    }
}
