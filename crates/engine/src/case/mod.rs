//! Runs the steps of one case on one rank, in step with the other ranks.
//!
//! Every rank runs [`run`] with the same plan. What differs is the rank's number, and that rank 0 writes the events.
//! Not here: what a job of a phase does ([`crate::work`]), where ranks come from, what a number is worth.

mod cold_cache;
mod earlier_rates;
pub(crate) mod memory;
mod phase;
pub mod phase_records;
pub mod rank_report;
pub mod remount;
mod remove;
mod resident;
mod wait_visible;
mod write_back;

use std::cell::OnceCell;
use std::ops::Range;
use std::time::Duration;

use ioassay_host::clock;
use ioassay_host::{environment, processors};
use ioassay_protocol::VERSION;
use ioassay_protocol::environment::Environment;
use ioassay_protocol::events::{Event, Started};
use ioassay_protocol::plan::{Phase, Plan, Step};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::earlier_rates::EarlierRates;
use self::phase_records::PhaseConditions;
use self::rank_report::RankReport;
use crate::failure;
use crate::measure::doubts::Emptied;
use crate::output::{self, EventLog};
use crate::ranks::messages::{all_of, from_rank, to_rank};
use crate::ranks::{Ranks, Start, Stopped};
pub use crate::work::run::Case;
use crate::work::run::History;
use crate::work::run::pacing::sleep_until;

/// Runs all steps as one of `ranks`; rank 0 writes to `events`. Returns early if the ranks were stopped.
pub fn run<R: Ranks>(case: &Case<'_>, ranks: &R, events: &mut EventLog) -> Result<(), Stopped> {
    run_steps(case, ranks, events, 0..case.plan.steps.len())
}

/// Runs only the steps of this range, where those before it have been run; what those measured limits none of these.
pub fn run_steps<R: Ranks>(
    case: &Case<'_>,
    ranks: &R,
    events: &mut EventLog,
    steps: Range<usize>,
) -> Result<(), Stopped> {
    let mut rank = Rank::new(case, ranks, events);
    // What comes before the first step may hang like a step.
    ranks.begin_step(0, case.plan.time_limit_ns)?;
    rank.begin()?;
    rank.wait_until_visible()?;
    rank.has_memory()?;
    let _reserved = reserve_memory(case.plan.memory_bytes);
    for index in steps {
        let (step, index) = (&case.plan.steps[index], index as u32);
        ranks.begin_step(index, limit_of(case.plan, step))?;
        match step {
            Step::Phase(phase) => rank.phase(index, phase)?,
            Step::ColdCache(cold) => rank.cold_cache(index, cold)?,
            Step::RemoveFiles { files } => rank.remove_files(index, files)?,
            Step::Pause { duration_ns } => rank.pause(Duration::from_nanos(*duration_ns))?,
        }
    }
    Ok(())
}

/// What [`run`] does when all ranks have come to the end of a phase: each brings its `report`, if it had a job, and rank 0 writes to
/// `events`. For callers that did the work themselves, and for benchmarks.
pub fn conclude<R: Ranks>(
    case: &Case<'_>,
    (ranks, events): (&R, &mut EventLog),
    phase: (u32, &Phase),
    start: Start,
    report: Option<RankReport>,
    conditions: PhaseConditions<'_>,
) -> Result<(), Stopped> {
    Rank::new(case, ranks, events).conclude(phase, start, report, conditions).map(|_| ())
}

/// How long a step may take: beside what it is to wait.
fn limit_of(plan: &Plan, step: &Step) -> Option<u64> {
    let waits_ns = if let Step::Pause { duration_ns } = step { *duration_ns } else { 0 };
    Some(plan.time_limit_ns?.saturating_add(waits_ns))
}

/// Memory whose every page has been touched, so that the kernel has given it out.
fn reserve_memory(bytes: u64) -> Vec<u8> {
    // Not zeros: the kernel backs those with memory only when they are written.
    std::hint::black_box(vec![1; bytes as usize])
}

/// One rank on its way through the steps.
struct Rank<'a, R> {
    case: &'a Case<'a>,
    ranks: &'a R,
    events: &'a mut EventLog,
    /// Every node, on rank 0.
    nodes: Vec<Environment>,
    /// The block device under the target, on the first rank of each node.
    device: Option<String>,
    /// What cold-cache steps have emptied.
    emptied: Emptied,
    /// Whether opening a file drops its cached pages, once that is known.
    emptied_by_opening: OnceCell<bool>,
    /// What later jobs build on.
    history: History,
    /// What the jobs did by whose rates later ones are limited.
    earlier_rates: EarlierRates,
}

impl<'a, R: Ranks> Rank<'a, R> {
    /// Before the first step.
    fn new(case: &'a Case<'a>, ranks: &'a R, events: &'a mut EventLog) -> Self {
        Self {
            case,
            ranks,
            events,
            nodes: Vec::new(),
            device: None,
            emptied: Emptied::default(),
            emptied_by_opening: OnceCell::new(),
            history: History::of(case),
            earlier_rates: EarlierRates::default(),
        }
    }

    /// One rank of each node describes it, all say where they are bound, and rank 0 reports that the case begins.
    fn begin(&mut self) -> Result<(), Stopped> {
        let Case { plan, workspace, clock, seating, direct_alignment_bytes, .. } = *self.case;
        let first = seating.is_first_on_node(self.ranks.rank());
        let environment = first.then(|| environment::of_this_node(plan.target.path(), clock));
        self.device = environment.as_ref().and_then(|node| Some(node.block_device.as_ref()?.name.clone()));
        let Some(gathered) = self.gather(&(environment, processors::binding()))? else { return Ok(()) };
        let (nodes, bindings): (Vec<Option<Environment>>, Vec<String>) = gathered.into_iter().unzip();
        self.nodes = nodes.into_iter().flatten().collect();
        for (rank, binding) in (0..).zip(bindings) {
            self.nodes[seating.node_of(rank) as usize].bindings.push(binding);
        }
        self.nodes.iter_mut().for_each(|node| processors::merge_equal(&mut node.bindings));
        self.write(&Event::Started(Started {
            version: VERSION,
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            run: plan.run.clone(),
            case: plan.case.clone(),
            unix_ns: clock::unix_ns(),
            workspace: workspace.name(),
            nodes: self.nodes.clone(),
            direct_alignment_bytes,
        }));
        self.check_stopped()
    }

    /// Each node is asked for what its own ranks need.
    fn has_memory(&self) -> Result<(), Stopped> {
        let ranks = self.case.seating.ranks_on(self.node());
        if let Err(failure) = memory::check(self.case.plan, ranks) {
            self.ranks.fail(&failure::of_rank(failure, self.ranks.rank(), "check memory"));
        }
        self.check_stopped()
    }

    /// The node that this rank is on.
    fn node(&self) -> u32 {
        self.case.seating.node_of(self.ranks.rank())
    }

    /// True for one rank of each node.
    fn is_first_on_node(&self) -> bool {
        self.case.seating.is_first_on_node(self.ranks.rank())
    }

    fn pause(&self, duration: Duration) -> Result<(), Stopped> {
        let clock = self.case.clock;
        let end_ns = clock.now_ns().saturating_add(duration.as_nanos() as u64);
        sleep_until(end_ns, u64::MAX, clock, self.ranks).map(|_| ()).ok_or(Stopped)
    }

    fn check_stopped(&self) -> Result<(), Stopped> {
        if self.ranks.must_stop() { Err(Stopped) } else { Ok(()) }
    }

    /// Writes an event as rank 0. One that cannot be written ends the case.
    fn write(&mut self, event: &Event) {
        if let Err(error) = self.events.write(event) {
            self.ranks.fail(&output::cannot_write(&error));
        }
    }

    fn gather<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<Option<Vec<T>>, Stopped> {
        self.gather_packed(value, |_| {})
    }

    /// Brings what each rank has to rank 0, in the order of ranks. `pack` is called on each node with what its ranks have,
    /// to make less of it before it travels.
    fn gather_packed<T: Serialize + DeserializeOwned>(
        &self,
        value: &T,
        mut pack: impl FnMut(&mut Vec<T>),
    ) -> Result<Option<Vec<T>>, Stopped> {
        let message = to_rank(&[value]);
        let of_nodes = self.ranks.gather(&message, &mut |messages| {
            let mut all: Vec<T> = all_of(&messages);
            pack(&mut all);
            to_rank(&all)
        })?;
        Ok(of_nodes.map(|messages| all_of(&messages)))
    }

    fn broadcast<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<T, Stopped> {
        broadcast(self.ranks, value)
    }
}

/// What rank 0 has, on every rank.
fn broadcast<R: Ranks, T: Serialize + DeserializeOwned>(ranks: &R, value: &T) -> Result<T, Stopped> {
    Ok(from_rank(&ranks.broadcast(&to_rank(value))?))
}
