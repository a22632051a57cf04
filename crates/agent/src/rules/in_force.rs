//! The rules in force: given to the recorders of all directories, and measured by what these count.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;

use ioassay_protocol::watch::contract::{Action, Measure, Scope};
use ioassay_protocol::watch::document::Document;

use crate::clock::Ticks;
use crate::jobs::{JobKey, Jobs};
use crate::rules::aliases::Aliases;
use crate::rules::contract::ContractFile;
use crate::rules::file::RulesFile;
use crate::rules::shares::{Demand, shares};
use crate::rules::slots::{Active, Slots};
use crate::rules::windows::{Contributor, Counted, Observation, Windows};
use crate::tables::directory::Directory;
use crate::tables::follow::Seen;

/// Which of the watched directories.
pub type DirectoryNumber = u64;

/// The rules in force.
#[derive(Debug, Default)]
pub struct RulesInForce {
    contract: Option<ContractFile>,
    slots: Slots,
    aliases: Aliases,
    windows: Windows,
    files: BTreeMap<DirectoryNumber, Given>,
    /// What was counted since the last second, by job and slot.
    seen: HashMap<JobKey, HashMap<usize, Observation>>,
    /// What is wrong with the contract.
    problem: Option<String>,
}

/// The file of a directory, and what was given by it.
#[derive(Debug)]
struct Given {
    /// Or why the rules cannot be given.
    file: Result<RulesFile, String>,
    job: Option<JobKey>,
    /// Rates that were written last, by slot.
    rates: HashMap<usize, u64>,
    /// What throttling rules saw in the last second, by slot.
    demands: HashMap<usize, Demand>,
}

impl RulesInForce {
    /// The rules of a contract's file.
    pub fn new(contract: Option<PathBuf>) -> Self {
        Self { contract: contract.map(ContractFile::new), ..Self::default() }
    }

    /// Gives the rules to the recorders of a directory too.
    pub fn watch(&mut self, number: DirectoryNumber, directory: &Directory) {
        if self.contract.is_none() {
            return;
        }
        // The first recorders must not begin without the rules.
        let _ = self.renew();
        let file = RulesFile::open(directory).map_err(|error| {
            let reason = match error.kind() {
                io::ErrorKind::NotFound => "it is recorded by ptrace, or since before the agent began".to_owned(),
                _ => error.to_string(),
            };
            format!("rules do not reach what is recorded in {}: {reason}", directory.path().display())
        });
        self.files.insert(number, Given { file, job: None, rates: HashMap::new(), demands: HashMap::new() });
        if let Err(problem) = self.give() {
            self.problem = Some(problem);
        }
    }

    /// In words, what the rules do not reach, if there are any.
    pub fn unreached(&self) -> Option<String> {
        let are_of_calls = self.slots.active().iter().any(|active| active.slot.is_some());
        self.files.values().find_map(|given| given.file.as_ref().err()).filter(|_| are_of_calls).cloned()
    }

    /// Forgets a directory that has gone.
    pub fn forget(&mut self, number: DirectoryNumber) {
        self.files.remove(&number);
    }

    /// Reads the contract again if it was replaced. In words, what is wrong with it; the rules that held go on then.
    pub fn renew(&mut self) -> Option<String> {
        for given in self.files.values_mut() {
            if given.file.as_ref().is_ok_and(|file| !file.is_whole()) {
                given.file = Err("rules do not reach what is recorded: its file of rules was cut".to_owned());
            }
        }
        let changed = self.contract.as_mut()?.changed();
        self.problem = match changed {
            Ok(None) => {
                self.renew_aliases();
                return self.problem.clone();
            }
            Ok(Some(contract)) => self.slots.replace(contract).and_then(|()| self.give()).err(),
            Err(problem) => Some(problem),
        };
        self.problem.clone()
    }

    /// Says what else the paths of the rules in force are called since the last time, if that is something else.
    fn renew_aliases(&mut self) {
        if !self.aliases.changed(self.slots.paths()) {
            return;
        }
        let Ok(half) = self.slots.encode(&self.aliases, Active::rate_per_s) else { return };
        for file in self.files.values().filter_map(|given| given.file.as_ref().ok()) {
            // A file that cannot be written to is one of a record that has ended.
            let _ = file.set_aliases(&half);
        }
    }

    /// Writes the rules for all recorders.
    fn give(&mut self) -> Result<(), String> {
        self.aliases.find(self.slots.paths());
        let count = self.files.len().max(1) as u64;
        // Until it is known who does what, nobody gets more than an equal part.
        let half = self.slots.encode(&self.aliases, |active| (active.rate_per_s() / count).max(1))?;
        for given in self.files.values_mut() {
            let Ok(file) = &mut given.file else { continue };
            given.rates.clear();
            for active in self.slots.active().iter().filter(|active| active.rule.action == Action::Throttle) {
                let Some(slot) = active.slot else { continue };
                given.rates.insert(slot, (active.rate_per_s() / count).max(1));
                file.empty_bucket(slot).map_err(|error| error.to_string())?;
            }
            file.write(&half).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Adds what was seen of a process of a job, whose tables are in that directory; `pid` is the process's number on this node.
    pub fn add(&mut self, number: DirectoryNumber, key: &JobKey, seen: &Seen, pid: u32, ticks: &Ticks) {
        let Some(given) = self.files.get_mut(&number) else { return };
        given.job = Some(key.clone());
        let ns = |time| ticks.ns(time, seen.table.counts_ticks());
        let identity = &seen.table.identity;
        for slot in &seen.look.slots {
            let counted = Counted {
                calls: slot.calls,
                bytes: slot.bytes,
                busy_ns: ns(slot.ticks),
                fastest_ns: ns(slot.extremes_ticks[0]),
                slowest_ns: ns(slot.extremes_ticks[1]),
                seek_bytes: slot.seek_bytes,
                waits: slot.waits,
                waited_ns: ns(slot.waited_ticks),
                ..Counted::default()
            };
            let active = self.slots.active().iter().find(|active| active.slot == Some(slot.slot));
            let measure = active.map(|active| active.rule.measure);
            let measured = measure.map_or(0, |measure| counted.measured(measure));
            let of_job = match self.seen.get_mut(key) {
                Some(of_job) => of_job,
                None => self.seen.entry(key.clone()).or_default(),
            };
            let observation = of_job.entry(slot.slot).or_insert_with(|| Observation::of(key));
            observation.counted = observation.counted.and(counted);
            // Texts are looked up for those alone that may be named.
            if measured > 0 && measured >= observation.contributor.measured {
                let is_slowest = matches!(measure, Some(Measure::MaximumLatency | Measure::MeanLatency));
                let [last, slowest] = slot.files;
                observation.contributor = Contributor {
                    measured,
                    pid: identity.process,
                    pid_on_node: pid,
                    command: identity.command.clone(),
                    file: seen.file_name(if is_slowest && slowest != 0 { slowest } else { last }),
                    rank: identity.rank().to_owned(),
                };
            }
            let demand = given.demands.entry(slot.slot).or_default();
            demand.used = demand.used.saturating_add(measured);
            demand.waited |= slot.waits > 0;
        }
    }

    /// Judges a second that is over. Documents of it.
    pub fn documents(&mut self, node: &str, second: u32, jobs: &Jobs) -> Vec<Document> {
        let seen = std::mem::take(&mut self.seen);
        let unreached = self.files.values().filter(|given| given.file.is_err()).count();
        let observed = |active: &Active| match active.slot {
            Some(slot) => {
                // A rule that holds back says what it does not reach, even where it reaches nothing.
                let unheard = jobs.partly_recorded().into_iter().filter(|_| active.beyond.is_some());
                unheard.map(Observation::of).chain(of_calls(active, slot, &seen)).collect()
            }
            None => of_processes(active.rule.measure, jobs),
        };
        let remark = |active: &Active, job: Option<&JobKey>| {
            let mut remarks = Vec::new();
            if active.slot.is_some() && unreached > 0 {
                remarks.push(format!("{unreached} records of this node are not reached"));
            }
            let unrecorded: Vec<u32> = jobs.unrecorded(job).collect();
            if let (Some(_), [first, others @ ..]) = (active.slot, &unrecorded[..]) {
                let others = if others.is_empty() { String::new() } else { format!(" and {} others", others.len()) };
                remarks.push(format!("process {first}{others} cannot be reached: a static or setuid program"));
            }
            remarks.join("; ")
        };
        let documents = self.windows.second(node, second, self.slots.active(), observed, remark);
        self.share();
        documents
    }

    /// Judges the windows that are not over when the agent ends. Documents of that second.
    pub fn end(&mut self, node: &str, second: u32) -> Vec<Document> {
        self.windows.end(node, second, self.slots.active())
    }

    /// Divides the rates of throttling rules among recorders that share no file.
    fn share(&mut self) {
        for active in self.slots.active().iter().filter(|active| active.rule.action == Action::Throttle) {
            let Some(slot) = active.slot else { continue };
            let mut groups: BTreeMap<Option<JobKey>, Vec<DirectoryNumber>> = BTreeMap::new();
            for (number, given) in self.files.iter().filter(|(_, given)| given.file.is_ok()) {
                let group = if active.rule.scope == Scope::Job { given.job.clone() } else { None };
                groups.entry(group).or_default().push(*number);
            }
            for members in groups.into_values() {
                let demand = |number| self.files[number].demands.get(&slot).copied().unwrap_or_default();
                let demands: Vec<Demand> = members.iter().map(demand).collect();
                for (number, share) in members.iter().zip(shares(active.rate_per_s(), &demands)) {
                    let Some(given) = self.files.get_mut(number) else { continue };
                    let before = given.rates.insert(slot, share);
                    if before != Some(share)
                        && let Ok(file) = &given.file
                    {
                        // A file that cannot be written to is one of a record that has ended.
                        let _ = file.set_rate(slot, share);
                    }
                }
            }
        }
        self.files.values_mut().for_each(|given| given.demands.clear());
    }
}

/// What was observed of a rule that measures calls, of each job.
fn of_calls(
    active: &Active,
    slot: usize,
    seen: &HashMap<JobKey, HashMap<usize, Observation>>,
) -> impl Iterator<Item = Observation> {
    seen.values().filter_map(move |of_job| {
        let held = of_job.get(&slot);
        let beyond = active.beyond.and_then(|beyond| of_job.get(&beyond));
        let mut observation = held.cloned().or_else(|| Some(Observation::of(&beyond?.job)))?;
        observation.counted.beyond_calls = beyond.map_or(0, |beyond| beyond.counted.calls);
        Some(observation)
    })
}

/// What was observed of a rule that measures processes.
fn of_processes(measure: Measure, jobs: &Jobs) -> Vec<Observation> {
    let observed = jobs.members().map(|member| {
        let counted = Counted {
            resident_bytes: member.usage.resident_bytes,
            virtual_bytes: member.usage.virtual_bytes,
            user_ns: member.usage.user_ns,
            system_ns: member.usage.system_ns,
            io_wait_ns: member.usage.io_wait_ns,
            ..Counted::default()
        };
        let contributor = Contributor {
            measured: counted.measured(measure),
            pid: member.pid,
            command: member.command.clone(),
            rank: member.rank.clone(),
            ..Contributor::default()
        };
        Observation { job: member.job.clone(), counted, contributor }
    });
    observed.collect()
}
