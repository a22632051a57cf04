//! Work that ranks of several nodes share: who has none gets some of those who have, through the first node.
//!
//! The first node knows of every piece that is under way, because all of them pass through it, and messages between two
//! nodes keep their order. So it knows when there is none left: it holds none, and every node has said that it has none
//! after the last piece that was sent there had come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::JobKey;

/// What the first node knows of one job's work.
#[derive(Debug, Default)]
struct JobWork {
    /// The nodes that have ranks of the job.
    nodes: BTreeSet<u32>,
    /// Those that have no work.
    hungry: BTreeSet<u32>,
    /// How many pieces each was sent.
    sent: BTreeMap<u32, u64>,
    /// Those that were asked for some and have not answered.
    asked: BTreeSet<u32>,
    /// Pieces for the next node that asks.
    pieces: VecDeque<Vec<u8>>,
    finished: bool,
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Out {
    /// Pieces, and for whom.
    pub pieces: Vec<(u32, Vec<u8>)>,
    /// Nodes that are asked for some.
    pub asked: Vec<u32>,
    /// Nodes to inform that there will be no more.
    pub finished: Vec<u32>,
}

/// What the first node knows of all jobs' work.
#[derive(Debug, Default)]
pub struct WorkStealing(BTreeMap<JobKey, JobWork>);

impl WorkStealing {
    /// `node` has no work, after `came` pieces from elsewhere; the job has ranks on `nodes`.
    pub fn hungry(&mut self, key: JobKey, node: u32, came: u64, nodes: &BTreeSet<u32>) {
        let work = self.0.entry(key).or_default();
        work.nodes.clone_from(nodes);
        work.asked.remove(&node);
        // Where a piece is still on its way it is not hungry.
        if work.sent.get(&node).copied().unwrap_or(0) == came {
            work.hungry.insert(node);
        }
    }

    /// `node` gives a piece away.
    pub fn piece(&mut self, key: JobKey, node: u32, piece: &[u8]) {
        let work = self.0.entry(key).or_default();
        work.asked.remove(&node);
        work.pieces.push_back(piece.to_vec());
    }

    /// What is to be done about the work of a job.
    pub fn share_out(&mut self, key: JobKey) -> Out {
        let mut out = Out::default();
        let Some(work) = self.0.get_mut(&key).filter(|work| !work.finished) else { return out };
        while let Some(&node) = work.hungry.first() {
            let Some(piece) = work.pieces.pop_front() else { break };
            work.hungry.remove(&node);
            *work.sent.entry(node).or_default() += 1;
            out.pieces.push((node, piece));
        }
        if work.hungry.is_empty() {
            return out;
        }
        let busy = work.nodes.difference(&work.hungry);
        out.asked = busy.filter(|node| !work.asked.contains(node)).copied().collect();
        work.asked.extend(&out.asked);
        if work.hungry == work.nodes {
            work.finished = true;
            out.finished = work.nodes.iter().copied().collect();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: JobKey = JobKey { order: 1, step: 0, job: 0 };

    #[test]
    fn the_end_is_when_all_are_hungry_and_nothing_is_under_way() {
        let (mut stealing, nodes) = (WorkStealing::default(), BTreeSet::from([0, 1, 2]));
        stealing.hungry(KEY, 1, 0, &nodes);
        assert_eq!(stealing.share_out(KEY).asked, [0, 2]);
        stealing.hungry(KEY, 2, 0, &nodes);
        stealing.piece(KEY, 0, b"a");
        let out = stealing.share_out(KEY);
        assert_eq!((out.pieces, out.asked), (vec![(1, b"a".to_vec())], vec![0, 1]));
        // Node 0 has none left, but node 1 has just been sent some.
        stealing.hungry(KEY, 0, 0, &nodes);
        assert!(stealing.share_out(KEY).finished.is_empty());
        // What node 1 had said before the piece came counts no more.
        stealing.hungry(KEY, 1, 0, &nodes);
        assert!(stealing.share_out(KEY).finished.is_empty());
        stealing.hungry(KEY, 1, 1, &nodes);
        assert_eq!(stealing.share_out(KEY).finished, [0, 1, 2]);
    }
}
