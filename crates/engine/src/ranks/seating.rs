//! Which rank is on which node.

use std::collections::BTreeSet;

use ioassay_protocol::plan::{RankCount, RankRange};
use serde::{Deserialize, Serialize};

/// The node of each rank. Nodes are numbered in the order of their first ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seating(Vec<u32>);

impl Seating {
    /// Distributes clients round-robin over `nodes` nodes.
    pub fn dealt(ranks: RankCount, nodes: u32) -> Self {
        let all = ranks.clients * ranks.per_client;
        Self((0..all).map(|rank| ranks.client_of(rank) % nodes).collect())
    }

    /// Consecutive ranks on each node: so many on the first one, and so on.
    pub fn blocks(ranks_on: impl IntoIterator<Item = u32>) -> Self {
        let on = ranks_on.into_iter().enumerate();
        Self(on.flat_map(|(node, ranks)| std::iter::repeat_n(node as u32, ranks as usize)).collect())
    }

    /// Ranks in all.
    pub fn ranks(&self) -> u32 {
        self.0.len() as u32
    }

    /// Nodes that ranks are on.
    pub fn nodes(&self) -> u32 {
        self.0.iter().max().map_or(0, |&last| last + 1)
    }

    /// The node that `rank` is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        self.0[rank as usize]
    }

    /// True for one rank of each node: the first one there.
    pub fn is_first_on_node(&self, rank: u32) -> bool {
        let node = self.node_of(rank);
        !self.0[..rank as usize].contains(&node)
    }

    /// The first rank on `node`; one past the last rank where there is none.
    pub fn first_on(&self, node: u32) -> u32 {
        self.0.iter().position(|&of_rank| of_rank == node).unwrap_or(self.0.len()) as u32
    }

    /// The nodes that some of these ranks are on.
    pub fn nodes_of(&self, ranks: RankRange) -> BTreeSet<u32> {
        self.0.iter().skip(ranks.first as usize).take(ranks.count as usize).copied().collect()
    }

    /// How many ranks there are on `node`.
    pub fn ranks_on(&self, node: u32) -> u32 {
        self.0.iter().filter(|&&of_rank| of_rank == node).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_dealt_out_in_turn_and_blocks_follow_each_other() {
        let dealt = Seating::dealt(RankCount { clients: 3, per_client: 2 }, 2);
        assert_eq!((0..6).map(|rank| dealt.node_of(rank)).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0]);
        assert_eq!((0..6).filter(|&rank| dealt.is_first_on_node(rank)).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((dealt.nodes(), dealt.ranks_on(0)), (2, 4));
        let blocks = Seating::blocks([1, 3]);
        assert_eq!((0..4).map(|rank| blocks.node_of(rank)).collect::<Vec<_>>(), [0, 1, 1, 1]);
        assert_eq!((blocks.ranks(), blocks.nodes()), (4, 2));
    }

    #[test]
    fn fewer_clients_than_nodes_leave_nodes_out() {
        assert_eq!(Seating::dealt(RankCount { clients: 2, per_client: 1 }, 3).nodes(), 2);
    }
}
