//! Nodes and ranks that are threads of one process: for tests, and to measure what it costs to have many.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ioassay_host::clock::Clock;

use super::NodeRank;
use super::leader::NodeLeader;
use super::wire::{Threads, Wire};
use crate::ranks::local::MeetingPlace;
use crate::ranks::local::mailbox::Mailbox;
use crate::ranks::seating::Seating;

/// The order that the ranks get.
const ORDER: &[u8] = b"go";

/// It is their only order.
const NUMBER: u32 = 1;

/// Runs `body` as each rank of nodes that have so many of them each, and returns what each returned.
///
/// # Panics
/// If there is no memory for a node to meet in, or a rank panics.
pub fn run<T: Send>(ranks_on: &[u32], body: impl Fn(NodeRank<'_>) -> T + Sync) -> Vec<T> {
    run_over(Threads::between(ranks_on.len() as u32), ranks_on, body)
}

/// The same over `wires`, an end for each node.
///
/// # Panics
/// As [`run`].
pub fn run_over<W: Wire + Send, T: Send>(
    wires: Vec<W>,
    ranks_on: &[u32],
    body: impl Fn(NodeRank<'_>) -> T + Sync,
) -> Vec<T> {
    let seating = Seating::blocks(ranks_on.iter().copied());
    let names: Vec<String> = (0..seating.nodes()).map(|node| format!("n{node}")).collect();
    let clock = Clock::calibrated();
    let place = |&ranks: &u32| MeetingPlace::new(ranks, clock).expect("memory to meet in");
    let places: Vec<_> = ranks_on.iter().map(place).collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Ranks first: to start thousands of them takes longer than a node may be silent.
        let ranks: Vec<_> = (0..seating.ranks())
            .map(|rank| {
                let (place, seating, body) = (&places[seating.node_of(rank) as usize], &seating, &body);
                scope.spawn(move || {
                    let node_rank = NodeRank::new(place, seating, rank);
                    while place.leader_channel().last_order() == 0 {
                        place.leader_channel().wait_for_order(0);
                    }
                    assert_eq!(place.mailboxes().get(Mailbox::Order), ORDER);
                    let result = body(node_rank);
                    node_rank.carried_out(NUMBER);
                    result
                })
            })
            .collect();
        for ((node, wire), place) in wires.into_iter().enumerate().zip(&places) {
            let (seating, names, over) = (&seating, &names, &over);
            scope.spawn(move || {
                let leader = NodeLeader::new(wire, place, seating, names, node as u32);
                leader.run(|| over.load(Ordering::SeqCst)).map(drop)
            });
        }
        let first = &places[0];
        first.mailboxes().put(Mailbox::Order, ORDER);
        first.leader_channel().want_order();
        let results = ranks.into_iter().map(|rank| rank.join().expect("a rank that panics")).collect();
        while first.leader_channel().carried_out.load(Ordering::SeqCst) < NUMBER {
            thread::sleep(Duration::from_millis(1));
        }
        over.store(true, Ordering::SeqCst);
        results
    })
}
