//! One case as one rank lives it: step after step, in step with the others.
//!
//! Every rank runs [`run`] with the same plan. What differs is the rank's number, and that rank 0 writes the events.
//! Not here: where ranks come from, how files are opened, what a number is worth.

mod cold_cache;
mod data;
mod find;
mod grown;
mod letters;
mod metadata;
mod operations;
mod pacing;
mod phase;
mod remove;
mod seen;
mod settled;
mod written;

use std::collections::BTreeMap;
use std::time::Duration;

use ioassay_contract::environment::Environment;
use ioassay_contract::events::{Event, Failure};
use ioassay_contract::plan::storage::Storage;
use ioassay_contract::plan::{Job, Plan, Step};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::grown::Grown;
use self::operations::LOOK_AGAIN;
use self::settled::Pace;
use self::written::Written;
use crate::failure;
use crate::measure::clock::Clock;
use crate::output::{self, EventLog};
use crate::plan::Sizes;
use crate::ranks::{Ranks, Stopped};
use crate::storage::{Capabilities, Connection, Setup, StorageApi};
use crate::workload::buffer::Buffer;
use crate::workload::tree::Shape;
use crate::workspace::Workspace;

/// What every rank knows before the first step.
pub struct Case<'a> {
    /// The validated plan.
    pub plan: &'a Plan,
    /// The storage API of each name in the plan.
    pub apis: &'a (dyn (Fn(&str) -> &'static dyn StorageApi) + Sync),
    /// Where the files go.
    pub workspace: &'a Workspace,
    /// The node's clock.
    pub clock: &'a Clock,
    /// Every node.
    pub nodes: &'a [Environment],
}

impl Case<'_> {
    /// The node that `rank` is on, as an index into `nodes`: clients are dealt out to them in turn.
    pub fn node_of(&self, rank: u32) -> u32 {
        self.plan.ranks.client_of(rank) % self.nodes.len() as u32
    }

    /// True for one rank of each node: the first one of the first client there.
    fn is_first_on_node(&self, rank: u32) -> bool {
        let ranks = self.plan.ranks;
        rank.is_multiple_of(ranks.per_client) && (ranks.client_of(rank) as usize) < self.nodes.len()
    }

    /// What the storage API that `storage` names can do on the target.
    fn capabilities(&self, storage: &Storage) -> Capabilities {
        (self.apis)(&storage.api).capabilities_for(&self.plan.target)
    }

    /// A connection of one rank for `job`, with these buffers.
    fn connect(&self, job: &Job, buffers: &[Buffer]) -> Result<Box<dyn Connection>, Box<Failure>> {
        let storage = self.plan.storage_of(job);
        let api = (self.apis)(&storage.api);
        let setup = Setup { storage, target: &self.plan.target, buffers };
        api.connect(setup).map_err(|error| failure::about_api(api.name(), &error))
    }
}

/// Runs all steps as one of `ranks`; rank 0 writes to `events`. Returns early if the ranks were stopped.
pub fn run<R: Ranks>(case: &Case<'_>, ranks: &R, events: &mut EventLog) -> Result<(), Stopped> {
    let mut rank = Rank {
        case,
        ranks,
        events,
        reads_shifted_by: 0,
        written: Written::default(),
        grown: found(case),
        pace: BTreeMap::new(),
        stamps: Vec::new(),
    };
    rank.see_workspace()?;
    let _hogged = hog(case.plan.memory_bytes);
    for (index, step) in case.plan.steps.iter().enumerate() {
        let index = index as u32;
        ranks.begin_step(index)?;
        match step {
            Step::Phase(phase) => rank.phase(index, phase)?,
            Step::ColdCache { attempts } => rank.cold_cache(index, attempts)?,
            Step::RemoveFiles { files } => rank.remove_files(index, files)?,
            Step::Pause { duration_ns } => rank.pause(Duration::from_nanos(*duration_ns))?,
        }
    }
    Ok(())
}

/// The trees that were there before the case.
fn found(case: &Case<'_>) -> Grown {
    let mut grown = Grown::default();
    for (name, tree) in case.plan.trees.iter().filter(|(name, _)| case.workspace.tree_exists(name)) {
        grown.found(name, &Shape::of(tree, case.plan.rank_count()));
    }
    grown
}

/// Memory whose every page has been touched, so that the kernel has given it out.
fn hog(bytes: u64) -> Vec<u8> {
    // Not zeros: those would be mapped, and not be there, until somebody writes.
    std::hint::black_box(vec![1; bytes as usize])
}

/// One rank on its way through the steps.
struct Rank<'a, R> {
    case: &'a Case<'a>,
    ranks: &'a R,
    events: &'a mut EventLog,
    /// Reads work on the part of the rank this much further on, since a cold-cache step asked for it.
    reads_shifted_by: u32,
    /// What can be read back.
    written: Written,
    /// What there is of each tree.
    grown: Grown,
    /// What the jobs did by whose rates later ones are limited.
    pace: BTreeMap<u32, Pace>,
    /// With which time files were stamped just before each timed step began.
    stamps: Vec<(u32, u64)>,
}

impl<R: Ranks> Rank<'_, R> {
    fn pause(&self, duration: Duration) -> Result<(), Stopped> {
        let end_ns = self.case.clock.now_ns().saturating_add(duration.as_nanos() as u64);
        loop {
            let left = Duration::from_nanos(end_ns.saturating_sub(self.case.clock.now_ns()));
            if self.ranks.must_stop() {
                return Err(Stopped);
            }
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_AGAIN));
        }
    }

    fn go_on(&self) -> Result<(), Stopped> {
        if self.ranks.must_stop() { Err(Stopped) } else { Ok(()) }
    }

    /// Writes an event as rank 0. One that cannot be written ends the case.
    fn write(&mut self, event: &Event) {
        if let Err(error) = self.events.write(event) {
            self.ranks.fail(&output::cannot_write(&error));
        }
    }

    fn gather<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<Option<Vec<T>>, Stopped> {
        let letter = serde_json::to_vec(own).expect("our own types are JSON");
        let all = self.ranks.gather(&letter)?;
        Ok(all.map(|letters| letters.iter().map(|letter| from_rank(letter)).collect()))
    }

    fn broadcast<T: Serialize + DeserializeOwned>(&self, own: &T) -> Result<T, Stopped> {
        let letter = serde_json::to_vec(own).expect("our own types are JSON");
        Ok(from_rank(&self.ranks.broadcast(&letter)?))
    }
}

fn from_rank<T: DeserializeOwned>(letter: &[u8]) -> T {
    serde_json::from_slice(letter).expect("every rank runs this very program")
}
