//! Who is there: the processes that a launcher has started find out which of them are on one node, and which rank each is.
//!
//! Ranks are numbered node by node, whatever the launcher's own order: the plan counts on a client's ranks following each
//! other. Not here: MPI, memory.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ioassay_protocol::events::Failure;
use serde::{Deserialize, Serialize};

use crate::failure;
use crate::ranks::seating::Seating;

/// What each process says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its host's name.
    pub host: String,
    /// The kernel that it runs on.
    pub boot_id: Option<String>,
    /// The engine that it is.
    pub engine_version: String,
}

/// Most processes that are named in one message.
const MOST_NAMED: usize = 8;

/// Which processes have not reported within `limit`, and from which hosts the others have.
pub fn absent(heard: &[Option<Hello>], limit: Duration) -> String {
    let missing: Vec<String> =
        heard.iter().enumerate().filter(|(_, hello)| hello.is_none()).map(|(process, _)| process.to_string()).collect();
    let hosts: BTreeSet<&str> = heard.iter().flatten().map(|hello| hello.host.as_str()).collect();
    let more = missing.len().checked_sub(MOST_NAMED).filter(|&more| more > 0);
    let named = missing[..missing.len().min(MOST_NAMED)].join(", ");
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let hosts = hosts.into_iter().collect::<Vec<_>>().join(", ");
    format!("no message from process {named}{more} of {} for {} s; reported: {hosts}", heard.len(), limit.as_secs())
}

/// Where everybody is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// Processes, as the launcher numbers them, by rank.
    pub processes: Vec<u32>,
    /// Ranks on each node.
    pub ranks_on: Vec<u32>,
    /// Names of the nodes.
    pub names: Vec<String>,
}

impl Roster {
    /// Of what each process says, in the order of processes.
    ///
    /// # Errors
    /// If they are not the same engine everywhere.
    pub fn of(hellos: &[Hello]) -> Result<Self, Failure> {
        let (first, others) = hellos.split_first().expect("who asks is there");
        if let Some(other) = others.iter().find(|other| other.engine_version != first.engine_version) {
            let message = format!(
                "{} has engine {}, but {} has engine {}",
                first.host, first.engine_version, other.host, other.engine_version
            );
            return Err(failure::plain("meet", message, "install the same version of ioassay on all nodes"));
        }
        // Nodes in the order of their first processes, and on each the launcher's order.
        let mut numbers = BTreeMap::new();
        let mut nodes: Vec<(&Hello, Vec<u32>)> = Vec::new();
        for (process, hello) in hellos.iter().enumerate() {
            let number = *numbers.entry((&hello.host, &hello.boot_id)).or_insert_with(|| {
                nodes.push((hello, Vec::new()));
                nodes.len() - 1
            });
            nodes[number].1.push(process as u32);
        }
        Ok(Self {
            ranks_on: nodes.iter().map(|(_, processes)| processes.len() as u32).collect(),
            names: nodes.iter().map(|(hello, _)| hello.host.clone()).collect(),
            processes: nodes.into_iter().flat_map(|(_, processes)| processes).collect(),
        })
    }

    /// Which rank is where.
    pub fn seating(&self) -> Seating {
        Seating::blocks(self.ranks_on.iter().copied())
    }

    /// The place of each process, in the order of processes.
    pub fn places(&self) -> Vec<Assignment> {
        let (seating, leaders) = (self.seating(), self.leaders());
        let mut places: Vec<(u32, Assignment)> = (0..seating.ranks())
            .map(|rank| {
                let node = seating.node_of(rank);
                let (first, count) = (seating.first_on(node), seating.ranks_on(node));
                let others = if rank == first { first + 1..first + count } else { 0..0 };
                let place = Assignment {
                    rank,
                    ranks_on: self.ranks_on.clone(),
                    names: self.names.clone(),
                    leaders: leaders.clone(),
                    first: self.processes[first as usize],
                    others: others.map(|other| self.processes[other as usize]).collect(),
                };
                (self.processes[rank as usize], place)
            })
            .collect();
        places.sort_by_key(|(process, _)| *process);
        places.into_iter().map(|(_, place)| place).collect()
    }

    /// The process that speaks for each node: that of its first rank.
    pub fn leaders(&self) -> Vec<u32> {
        let seating = self.seating();
        (0..seating.nodes()).map(|node| self.processes[seating.first_on(node) as usize]).collect()
    }
}

/// The place of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// Its rank.
    pub rank: u32,
    /// Ranks on each node.
    pub ranks_on: Vec<u32>,
    /// Names of the nodes.
    pub names: Vec<String>,
    /// The process that speaks for each node.
    pub leaders: Vec<u32>,
    /// The first process of its node.
    pub first: u32,
    /// The other processes of its node, if it is the first there.
    pub others: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(host: &str) -> Hello {
        Hello { host: host.into(), boot_id: None, engine_version: "1".into() }
    }

    #[test]
    fn ranks_follow_each_other_node_by_node_however_the_launcher_dealt_them_out() {
        let roster = Roster::of(&["a", "b", "a", "c", "b", "a"].map(hello)).unwrap();
        assert_eq!(roster.processes, [0, 2, 5, 1, 4, 3]);
        assert_eq!(
            (roster.ranks_on.clone(), roster.names.clone()),
            (vec![3, 2, 1], ["a", "b", "c"].map(String::from).to_vec())
        );
        assert_eq!(roster.leaders(), [0, 1, 3]);
        let places: Vec<_> = roster.places().into_iter().map(|place| (place.rank, place.others)).collect();
        assert_eq!(places, [(0, vec![2, 5]), (3, vec![4]), (1, vec![]), (5, vec![]), (4, vec![]), (2, vec![])]);
    }

    #[test]
    fn hosts_of_one_name_on_two_kernels_are_two_nodes() {
        let other = Hello { boot_id: Some("k".into()), ..hello("localhost") };
        assert_eq!(Roster::of(&[hello("localhost"), other]).unwrap().ranks_on, [1, 1]);
    }

    #[test]
    fn processes_that_do_not_report_are_named_beside_the_hosts_that_do() {
        let heard = [Some(hello("client1")), Some(hello("client2")), None, Some(hello("client1")), None];
        let limit = Duration::from_secs(8);
        assert_eq!(absent(&heard, limit), "no message from process 2, 4 of 5 for 8 s; reported: client1, client2");
        let alone: Vec<_> = std::iter::once(Some(hello("a"))).chain(vec![None; 99]).collect();
        assert!(absent(&alone, limit).starts_with("no message from process 1, 2, 3, 4, 5, 6, 7, 8 and 91 more of 100"));
    }

    #[test]
    fn another_engine_on_some_node_is_refused_by_name() {
        let other = Hello { engine_version: "2".into(), ..hello("b") };
        let failure = Roster::of(&[hello("a"), other]).unwrap_err();
        assert!(failure.message.contains("a has engine 1, but b has engine 2"), "{}", failure.message);
    }
}
