//! The phases and rules of the benchmark as this engine runs them, for the control plane to judge stored runs by
//! (`python/ioassay/protocol/facts.py`). What a phase does is read off the plan.

use std::path::Path;

use ioassay_protocol::plan::data::{DataWork, Layout, Transfer};
use ioassay_protocol::plan::metadata::{MetadataWork, Sharing};
use ioassay_protocol::plan::{Job, Operation, Plan, Work};

use super::api::Ways;
use super::config::Config;
use super::phases::{Group, PHASES, Phase};
use super::settings::Settings;
use super::translate::{IOR_EASY, RunContext, plan};
use crate::common::Common;
use ioassay_engine::plan::moved_at_once;

/// A phase that measures something.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseFacts {
    /// Its official name.
    pub name: &'static str,
    /// The unit of its score, where it counts and where it does not.
    pub unit: &'static str,
    /// In which lists it counts.
    pub lists: &'static [&'static str],
    /// It ends at a stonewall, with wear-out.
    pub walled: bool,
    /// What its operations do; one of several is the last.
    pub operations: Vec<Operation>,
    /// The layout or sharing that the rules fix.
    pub layout: Option<&'static str>,
    /// Bytes of an operation, where the rules fix them.
    pub moves: Option<u64>,
    /// The phase that made what it works on, all of it.
    pub all_of: Option<&'static str>,
}

/// How long a phase that writes lasts at least, and when its stonewall comes, in nanoseconds.
pub fn stonewall_ns() -> u64 {
    settings().stonewall_ns
}

/// The phases of the extended list, in their order.
pub fn phases() -> Vec<PhaseFacts> {
    let context = RunContext { data: Path::new("/"), run: "facts", timestamp: "" };
    let plan = plan(&settings(), &context);
    let of_job = |phase: &'static Phase| {
        let job = plan.jobs().find(|job| job.name == phase.name)?;
        Some(facts(phase, job, &plan))
    };
    PHASES.iter().filter_map(of_job).collect()
}

/// What an empty .ini file asks for.
fn settings() -> Settings {
    let common = Common { ranks: 2, nodes: 1, run: None, overwrite: false, scale_down: 1 };
    let config = Config::parse("facts.ini", "").expect("nothing is no error");
    Settings::of(&config, &common, true, None, &Ways::default()).expect("the defaults are taken")
}

fn facts(phase: &'static Phase, job: &Job, plan: &Plan) -> PhaseFacts {
    let lists: &[&str] = match (phase.group, phase.extended) {
        (Group::Unscored, _) => &[],
        (_, true) => &["extended"],
        (_, false) => &["standard", "extended"],
    };
    let (operations, layout, moves) = match &job.work {
        Work::Data(work) => (vec![kind(work)], layout(work, plan), transfer(work, plan)),
        Work::Metadata(work) => {
            let bytes = Some(moved_at_once(work)).filter(|&bytes| bytes > 0);
            (work.operation.operations().to_vec(), Some(sharing(work, plan)), bytes)
        }
        Work::Find(_) => (vec![Operation::Find], None, None),
        _ => unreachable!("the IO500 has no other work"),
    };
    PhaseFacts {
        name: phase.name,
        unit: phase.unit(),
        lists,
        walled: phase.walled,
        operations,
        layout,
        moves,
        all_of: maker(job, plan).filter(|_| job.limit.is_none()),
    }
}

fn kind(work: &DataWork) -> Operation {
    if work.transfer == Transfer::Write { Operation::Write } else { Operation::Read }
}

/// How `ior-easy` lays its files out, and with which transfers, is up to the submitter.
fn layout(work: &DataWork, plan: &Plan) -> Option<&'static str> {
    let layout = (work.files != IOR_EASY).then(|| plan.files[&work.files].layout)?;
    Some(match layout {
        Layout::FilePerRank => "N-N",
        Layout::SharedFile => "N-1",
        Layout::Groups(_) => "N-M",
    })
}

fn transfer(work: &DataWork, plan: &Plan) -> Option<u64> {
    (work.files != IOR_EASY).then(|| plan.files[&work.files].transfer_bytes)
}

fn sharing(work: &MetadataWork, plan: &Plan) -> &'static str {
    match plan.trees[&work.tree].sharing {
        Sharing::Unique => "unique",
        Sharing::Shared => "shared",
        Sharing::SharedItems => "shared-items",
    }
}

/// The phase that has made the files or items that `job` works on; not of walks, which visit more than those.
fn maker(job: &Job, plan: &Plan) -> Option<&'static str> {
    let made = |other: &&Job| match (&job.work, &other.work) {
        (Work::Data(reading), Work::Data(work)) => reading.files == work.files && work.transfer == Transfer::Write,
        (Work::Metadata(working), Work::Metadata(work)) => {
            working.tree == work.tree && work.operation.operations() == [Operation::Create]
        }
        _ => false,
    };
    let maker = plan.jobs().find(made).filter(|maker| maker.name != job.name)?;
    PHASES.iter().find(|phase| phase.name == maker.name).map(|phase| phase.name)
}
