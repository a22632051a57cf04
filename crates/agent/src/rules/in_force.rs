//! The rules in force: given to the recorders of all directories, and measured by what these count.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ioassay_protocol::watch::contract::{Action, Jobs as Selected, Measure, Rule, Scope};
use ioassay_protocol::watch::document::Document;

use crate::clock::Ticks;
use crate::jobs::{JobKey, Jobs};
use crate::rules::aliases::{Aliases, News};
use crate::rules::contract::ContractFile;
use crate::rules::file::{RecorderReports, RulesFile};
use crate::rules::peers::{Others, Peers, Total};
use crate::rules::selection::Facts;
use crate::rules::shares::{Demand, shares};
use crate::rules::slots::{Active, Slots, rate_per_s};
use crate::rules::windows::{About, Contributor, Counted, Observation, Windows, added_up};
use crate::tables::directory::Directory;
use crate::tables::follow::Seen;

/// Which of the watched directories.
pub type DirectoryNumber = u64;

/// The part of a limit with which a node begins while it does not know who else there is, unless the job's number of nodes is known.
const UNKNOWN_PART: u64 = 10;
/// For so long a rule keeps the slot that it does not use, where others want it.
const KEPT_UNUSED_S: u32 = 10;

/// The rules in force.
#[derive(Debug, Default)]
pub struct RulesInForce {
    contract: Option<ContractFile>,
    rules: Vec<Arc<Rule>>,
    /// Their paths.
    paths: Vec<String>,
    /// Those of the rules of which something can be counted: of the others with paths, no job of this node has a file. Nothing where
    /// that is to be found out again.
    in_use: Option<Arc<[Arc<Rule>]>>,
    aliases: Aliases,
    windows: Windows,
    files: BTreeMap<DirectoryNumber, DirectoryRules>,
    /// What was counted since the last second, by job and label of the rule.
    seen: HashMap<JobKey, HashMap<String, Observation>>,
    /// The agents of other nodes, where there is a place to meet them.
    peers: Option<Peers>,
    /// What this node may do of throttling rules, by label and what they add up.
    shares: HashMap<(String, Option<JobKey>), u64>,
    /// What is wrong with the contract.
    problem: Option<String>,
}

/// The file of a directory, and what was given by it.
#[derive(Debug)]
struct DirectoryRules {
    /// Or why the rules cannot be given.
    file: Result<RulesFile, String>,
    facts: Facts,
    job: JobKey,
    /// Those of the rules that are for its job.
    slots: Slots,
    /// Rates of throttling rules that were written last, by label.
    rates: HashMap<String, u64>,
    /// What recorders say in it.
    reports: RecorderReports,
    /// Whether a rule with a path was without a slot, and none has been taken from another since.
    full: bool,
    /// Seconds in which slots counted last.
    counted: HashMap<usize, u32>,
    /// What throttling rules see in this second, by slot.
    demands: HashMap<usize, Demand>,
    /// What they saw in the last one.
    last_demands: HashMap<usize, Demand>,
    /// Processes whose tables cannot be read: a truncated one ends the rules of its process.
    unreadable: usize,
    damage: Damage,
}

/// What others did to a file of rules.
#[derive(Debug, PartialEq, Eq)]
enum Damage {
    None,
    /// It was truncated, and is whole again in this second.
    Restored,
    /// It was truncated, and cannot be restored, for this reason.
    Lasting(String),
}

impl DirectoryRules {
    /// Whether recorders can have the rules.
    fn reaches(&self) -> bool {
        self.file.is_ok() && !matches!(self.damage, Damage::Lasting(_))
    }

    /// Looks what recorders say in the file, and restores one that was truncated.
    fn look(&mut self, aliases: &Aliases) {
        let Ok(file) = &self.file else { return };
        // A file that cannot be written to is one of a record that has ended.
        let _ = file.say_alive();
        if let Some(reports) = file.look() {
            // Of a file that was cut, what processes had said has gone.
            self.reports.no_room = reports.no_room.or(self.reports.no_room);
            self.reports.unknown_root = reports.unknown_root.or(self.reports.unknown_root);
            self.damage = Damage::None;
            return;
        }
        let restored = file.restore().map_err(|error| error.to_string()).and_then(|()| self.write(aliases));
        self.damage = restored.map_or_else(Damage::Lasting, |()| Damage::Restored);
    }

    /// In words, what is wrong with the file.
    fn problem(&self) -> Option<String> {
        match (&self.file, &self.damage) {
            (Err(problem), _) => Some(problem.clone()),
            (Ok(_), Damage::None) => None,
            (Ok(_), Damage::Restored) => Some(format!("job {}: {RESTORED}", self.job.job)),
            (Ok(_), Damage::Lasting(reason)) => Some(format!(
                "job {}: rules do not hold: the file of rules was truncated and cannot be restored: {reason}",
                self.job.job
            )),
        }
    }

    fn slot_of(&self, rule: &Rule) -> Option<usize> {
        self.slots.active().iter().find(|active| active.rule.label == rule.label)?.slot
    }

    /// Learns which rules with paths have claimed slots. Whether there are new ones.
    fn learn(&mut self) -> bool {
        let Ok(file) = &self.file else { return false };
        let is_new = self.slots.has_table() && file.claims().is_ok_and(|claims| self.slots.learn(&claims));
        if is_new {
            for active in self.slots.active().iter().filter(|active| active.number != 0) {
                // It may have changed between the claim and now.
                if let (Some(slot), Some(rate)) = (active.slot, self.rates.get(&active.rule.label)) {
                    let _ = file.set_rate(slot, *rate, *rate);
                }
            }
        }
        is_new
    }

    /// Changes what a throttling rule allows here.
    fn set_rate(&mut self, label: &str, rate: u64) {
        let before = self.rates.insert(label.to_owned(), rate).unwrap_or(rate);
        let Ok(file) = &self.file else { return };
        if before == rate {
            return;
        }
        let slot = self.slots.active().iter().find(|active| active.rule.label == label).and_then(|active| active.slot);
        // A file that cannot be written to is one of a record that has ended.
        let _ = match (slot, self.slots.place_in_table(label)) {
            (Some(slot), _) => file.set_rate(slot, before, rate),
            (None, Some(place)) => file.set_rate_in_table(place, rate),
            (None, None) => Ok(()),
        };
    }

    /// Puts the rules in force at their rates, as they are in the slots.
    fn write(&mut self, aliases: &Aliases) -> Result<(), String> {
        let Self { file, slots, rates, .. } = self;
        let Ok(file) = file else { return Ok(()) };
        let rate = |rule: &Rule| rates.get(&rule.label).copied().unwrap_or(1);
        slots.encoded(aliases, rate, |half, table| file.write(half, table))?.map_err(|error| error.to_string())
    }

    /// Takes slots from rules that do not use them, where others have none.
    fn make_room(&mut self, second: u32, aliases: &Aliases) -> Result<bool, String> {
        let is_due = self.full && second.is_multiple_of(KEPT_UNUSED_S);
        let Ok(file) = self.file.as_ref() else { return Ok(false) };
        if !is_due {
            return Ok(false);
        }
        let counted = &self.counted;
        let is_used = |active: &Active| {
            let recently = |slot: &usize| counted.get(slot).is_some_and(|last| last + KEPT_UNUSED_S >= second);
            let mut slots = active.slot.into_iter().chain(active.beyond);
            slots.any(|slot| recently(&slot) || file.has_debt(slot))
        };
        if !self.slots.release(is_used) {
            return Ok(false);
        }
        // Files that are open are looked up again by the next generation, so nobody counts in a slot of another rule.
        self.write(aliases).map(|()| true)
    }
}

impl RulesInForce {
    /// The rules of a contract's file. Agents of several nodes meet in the directory `share`.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn new(contract: Option<PathBuf>, share: Option<PathBuf>, node: &str) -> io::Result<Self> {
        let peers = share.filter(|_| contract.is_some()).map(|share| Peers::new(share, node)).transpose()?;
        Ok(Self { contract: contract.map(ContractFile::new), peers, ..Self::default() })
    }

    /// Gives the rules to the recorders of a directory too. `otherwise` is what its job is called where it has no scheduler.
    pub fn watch(&mut self, number: DirectoryNumber, directory: &Directory, facts: Facts, otherwise: &str) {
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
        let job = JobKey { job: facts.number.clone().unwrap_or_else(|| otherwise.to_owned()), user: facts.user };
        let given = DirectoryRules {
            file,
            facts,
            job,
            slots: Slots::default(),
            rates: HashMap::new(),
            reports: RecorderReports::default(),
            full: false,
            counted: HashMap::new(),
            demands: HashMap::new(),
            last_demands: HashMap::new(),
            unreadable: 0,
            damage: Damage::None,
        };
        self.files.insert(number, given);
        if let Err(problem) = self.give() {
            self.problem = Some(problem);
        }
    }

    /// In words, what the rules do not reach, if there are any.
    pub fn unreached(&self) -> Option<String> {
        let mut of_calls = self.files.values().filter(|given| given.slots.are_of_calls());
        of_calls.find_map(|given| {
            if let Some(problem) = given.problem() {
                return Some(problem);
            }
            let has_paths = given.slots.active().iter().any(|active| active.rule.path.is_some());
            let unknown_root = given.reports.unknown_root.filter(|_| has_paths || given.slots.has_table());
            let full = given.full.then(|| FULL.to_owned());
            let what = given.reports.no_room.map(no_room).or_else(|| unknown_root.map(in_unknown_root)).or(full)?;
            Some(format!("job {}: {what}", given.job.job))
        })
    }

    /// In words, why limits are not shared with other nodes, if they are to be and are not.
    pub fn unshared(&self) -> Option<String> {
        self.peers.as_ref()?.problem()
    }

    /// Whether other nodes have a part of what is allowed here: [`RulesInForce::share_with_others`] is to be called between seconds.
    pub fn are_shared(&self) -> bool {
        self.peers.is_some() && self.rules.iter().any(|rule| rule.scope.is_of_several_nodes())
    }

    /// Whether the recorders of a directory have their rules from this agent.
    pub fn are_given_to(&self, number: DirectoryNumber) -> bool {
        self.files.get(&number).is_some_and(DirectoryRules::reaches)
    }

    /// Takes note of how many tables of a directory cannot be read though their processes go on.
    pub fn note_unreadable(&mut self, number: DirectoryNumber, count: usize) {
        if let Some(given) = self.files.get_mut(&number) {
            given.unreadable = count;
        }
    }

    /// Forgets a directory that has gone.
    pub fn forget(&mut self, number: DirectoryNumber) {
        self.files.remove(&number);
        self.in_use = None;
    }

    /// Reads the contract again if it was replaced. In words, what is wrong with it; the rules that held go on then.
    pub fn renew(&mut self) -> Option<String> {
        for given in self.files.values_mut() {
            given.look(&self.aliases);
        }
        let changed = self.contract.as_mut()?.changed();
        self.problem = match changed {
            Ok(None) => {
                self.renew_aliases();
                return self.problem.clone();
            }
            Ok(Some(contract)) => {
                // Those that every job has must have room together, also where there is no job yet.
                let rules: Vec<Arc<Rule>> = contract.rules.into_iter().map(Arc::new).collect();
                let of_all = rules.iter().filter(|rule| rule.jobs == Selected::default());
                Slots::default().replace(of_all).and_then(|()| {
                    self.paths = paths(&rules);
                    self.rules = rules;
                    self.give()
                })
            }
            .err(),
            Err(problem) => Some(problem),
        };
        self.problem.clone()
    }

    /// Says what else the paths of the rules in force are called since the last time, if that is something else.
    fn renew_aliases(&mut self) {
        let news = self.aliases.look(&self.paths);
        if news == News::None {
            return;
        }
        for given in self.files.values_mut() {
            if news == News::New {
                // Files that are open already are looked up again by the next generation.
                if given.learn() {
                    self.in_use = None;
                }
                let _ = given.write(&self.aliases);
                continue;
            }
            let DirectoryRules { file, slots, rates, .. } = given;
            let Ok(file) = file else { continue };
            let rate = |rule: &Rule| rates.get(&rule.label).copied().unwrap_or(1);
            // A file that cannot be written to is one of a record that has ended.
            let _ = slots.encoded(&self.aliases, rate, |half, table| match table {
                Some(table) => file.set_keys(table),
                None => file.set_aliases(half),
            });
        }
    }

    /// Writes for the recorders of each directory the rules that are for its job.
    fn give(&mut self) -> Result<(), String> {
        self.aliases.find(&self.paths);
        self.in_use = None;
        let mut rates: BTreeMap<DirectoryNumber, HashMap<String, u64>> = BTreeMap::new();
        for rule in self.rules.iter().filter(|rule| rule.action == Action::Throttle) {
            for (key, members) in self.groups(rule) {
                // Until it is known who does what, nobody gets more than an equal part.
                let rate = self.node_rate(rule, key.as_ref(), &members) / members.len() as u64;
                for member in members {
                    rates.entry(member).or_default().insert(rule.label.clone(), rate.max(1));
                }
            }
        }
        let mut problems = Vec::new();
        for (number, given) in &mut self.files {
            let rates = rates.remove(number).unwrap_or_default();
            let job = given.job.job.clone();
            let about = |problem: String| format!("job {job}: {problem}");
            // Slots that were claimed since the last look are no others' in the next generation.
            given.learn();
            let of_job = self.rules.iter().filter(|rule| given.facts.is_one_of(&rule.jobs));
            if let Err(problem) = given.slots.replace(of_job) {
                problems.push(about(problem));
                continue;
            }
            given.rates = rates;
            given.full = false;
            if let Ok(file) = &given.file {
                let throttling = given.slots.active().iter().filter(|active| active.rule.action == Action::Throttle);
                let emptied = throttling.filter_map(|active| file.empty_bucket(active.slot?).err());
                problems.extend(emptied.map(|error| about(error.to_string())));
            }
            problems.extend(given.write(&self.aliases).err().map(about));
        }
        problems.into_iter().next().map_or(Ok(()), Err)
    }

    /// The directories whose recorders have to share what a rule allows, by what it adds up.
    fn groups(&self, rule: &Rule) -> BTreeMap<Option<JobKey>, Vec<DirectoryNumber>> {
        let mut groups: BTreeMap<Option<JobKey>, Vec<DirectoryNumber>> = BTreeMap::new();
        for (number, given) in &self.files {
            if given.reaches() && given.facts.is_one_of(&rule.jobs) {
                groups.entry(added_up(rule.scope, &given.job)).or_default().push(*number);
            }
        }
        groups
    }

    /// What this node may do per second of what a throttling rule allows: these directories together.
    fn node_rate(&self, rule: &Rule, key: Option<&JobKey>, members: &[DirectoryNumber]) -> u64 {
        let rate = rate_per_s(rule);
        let (Some(key), Some(peers)) = (key.filter(|_| rule.scope.is_of_several_nodes()), &self.peers) else {
            return rate;
        };
        match peers.others(&total(rule, key)) {
            Others::Unknown => {
                let nodes = members.iter().find_map(|member| self.files[member].facts.nodes.map(u64::from));
                let nodes = nodes.filter(|_| rule.scope == Scope::WholeJob);
                rate / nodes.unwrap_or(UNKNOWN_PART)
            }
            Others::Demands(others) => {
                let own_demand = self.demand(rule, members);
                let all: Vec<Demand> = std::iter::once(own_demand).chain(others).collect();
                shares(rate, &all)[0]
            }
            Others::Lost { count, .. } => rate / (count as u64 + 1),
        }
        .max(1)
    }

    /// What directories together did of a rule in the last second.
    fn demand(&self, rule: &Rule, members: &[DirectoryNumber]) -> Demand {
        let demand_of = |given: &DirectoryRules| given.last_demands.get(&given.slot_of(rule)?).copied();
        members.iter().filter_map(|member| demand_of(&self.files[member])).fold(Demand::default(), Demand::and)
    }

    /// Adds what was seen of a process of a job, whose tables are in that directory; `pid` is the process's number on this node.
    pub fn add(&mut self, number: DirectoryNumber, key: &JobKey, seen: &Seen, pid: u32, ticks: &Ticks, second: u32) {
        let Some(given) = self.files.get_mut(&number) else { return };
        if given.job != *key {
            given.job = key.clone();
        }
        let is_known = |given: &DirectoryRules, slot: usize| {
            given.slots.active().iter().any(|active| active.slot == Some(slot) || active.beyond == Some(slot))
        };
        if seen.look.slots.iter().any(|slot| !is_known(given, slot.slot)) && given.learn() {
            self.in_use = None;
        }
        let ns = |time| ticks.ns(time, seen.table.counts_ticks());
        let identity = &seen.table.identity;
        for slot in &seen.look.slots {
            let is_of = |place: Option<usize>| place == Some(slot.slot);
            let mut active = given.slots.active().iter();
            let Some(active) = active.find(|active| is_of(active.slot) || is_of(active.beyond)) else { continue };
            given.counted.insert(slot.slot, second);
            let rule = &active.rule;
            let of_job = match self.seen.get_mut(key) {
                Some(of_job) => of_job,
                None => self.seen.entry(key.clone()).or_default(),
            };
            let observation = match of_job.get_mut(&rule.label) {
                Some(observation) => observation,
                None => of_job.entry(rule.label.clone()).or_insert_with(|| Observation::of(key)),
            };
            if is_of(active.beyond) {
                let beyond = &mut observation.counted.beyond_calls;
                *beyond = beyond.saturating_add(slot.calls);
                continue;
            }
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
            let measured = counted.measured(rule.measure);
            observation.counted = observation.counted.and(counted);
            // Texts are looked up for those alone that may be named. Of processes that did as much as each other, the first is.
            if measured > observation.contributor.measured {
                let is_slowest = matches!(rule.measure, Measure::MaximumLatency | Measure::MeanLatency);
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
            *demand = demand.and(Demand { used: measured, waited: slot.waits > 0 });
        }
    }

    /// Judges a second that is over. Documents of it.
    pub fn documents(&mut self, node: &str, second: u32, jobs: &Jobs) -> Vec<Document> {
        self.look_for_room(second);
        let in_use = self.in_use();
        let seen = std::mem::take(&mut self.seen);
        let mut windows = std::mem::take(&mut self.windows);
        let observed = |rule: &Rule| self.observed(rule, &seen, jobs);
        let documents = windows.second(node, second, &in_use, observed, |rule, key| self.about(rule, key, jobs));
        self.windows = windows;
        self.files.values_mut().for_each(|given| given.last_demands = std::mem::take(&mut given.demands));
        self.share(|scope| !scope.is_of_several_nodes());
        self.tell_others(second);
        documents
    }

    /// The rules of which something can be counted, in the contract's order, and those whose windows are not over.
    fn in_use(&mut self) -> Arc<[Arc<Rule>]> {
        let rules = self.in_use.take().unwrap_or_else(|| {
            let of = |given: &'_ DirectoryRules| {
                given.slots.active().iter().map(|active| active.rule.label.clone()).collect::<Vec<_>>()
            };
            let labels: HashSet<String> =
                self.files.values().flat_map(of).chain(self.windows.open().cloned()).collect();
            // Rules of which all have slots, and those of processes, say also what they do not reach.
            let has_table = self.files.values().any(|given| given.slots.has_table());
            let is_in_use =
                |rule: &&Arc<Rule>| !has_table || !rule.measure.is_of_calls() || labels.contains(&rule.label);
            self.rules.iter().filter(is_in_use).cloned().collect()
        });
        self.in_use = Some(Arc::clone(&rules));
        rules
    }

    /// Looks whether rules with paths are without slots, and takes slots that are not used from others.
    fn look_for_room(&mut self, second: u32) {
        for given in self.files.values_mut().filter(|given| given.slots.has_table()) {
            let Some(reports) = given.file.as_ref().ok().and_then(RulesFile::look) else { continue };
            if reports.without_slot > given.reports.without_slot {
                given.full = true;
            }
            given.reports.without_slot = reports.without_slot;
            match given.make_room(second, &self.aliases) {
                Ok(false) => {}
                Ok(true) => {
                    // Files that still find no slot say so again.
                    given.full = false;
                    self.in_use = None;
                }
                Err(problem) => self.problem = Some(problem),
            }
        }
    }

    /// What was observed of a rule, of each job that it is for.
    fn observed(
        &self,
        rule: &Rule,
        seen: &HashMap<JobKey, HashMap<String, Observation>>,
        jobs: &Jobs,
    ) -> Vec<Observation> {
        if !rule.measure.is_of_calls() {
            return of_processes(rule.measure, jobs)
                .filter(|observation| self.is_for(rule, &observation.job))
                .collect();
        }
        // A rule that holds back says what it does not reach, even where it reaches nothing.
        let throttles = rule.action == Action::Throttle;
        let partly = jobs.partly_recorded().into_iter().filter(|job| throttles && self.is_for(rule, job));
        let has_path = rule.path.is_some();
        let is_lifted = |given: &&DirectoryRules| {
            let is_lacking = given.file.is_err() || given.damage != Damage::None || given.unreadable > 0;
            throttles && (is_lacking || has_path && given.reports.unknown_root.is_some())
        };
        let lifted = self.files.values().filter(is_lifted).map(|given| &given.job);
        let partly = partly.chain(lifted.filter(|job| self.is_for(rule, job)));
        let counted = seen.values().filter_map(|of_job| of_job.get(&rule.label).cloned());
        partly.map(Observation::of).chain(counted).collect()
    }

    /// What else is to be said of a rule, and what it adds up.
    fn about(&self, rule: &Rule, key: Option<&JobKey>, jobs: &Jobs) -> About {
        let share = self.shares.get(&(rule.label.clone(), key.cloned()));
        // Of what nodes share, one without the job has nothing.
        let without = if self.peers.is_some() && rule.scope.is_of_several_nodes() { 0 } else { rule.limit };
        let share = share.map_or(without, |rate| rate.saturating_mul(rule.window_s.into()).min(rule.limit));
        let mut remarks = Vec::new();
        if rule.measure.is_of_calls() {
            let is_unreached = |given: &&DirectoryRules| !given.reaches() && given.facts.is_one_of(&rule.jobs);
            let unreached = self.files.values().filter(is_unreached).count();
            if unreached > 0 {
                remarks.push(match unreached {
                    1 => "1 record of this node is not reached".to_owned(),
                    _ => format!("{unreached} records of this node are not reached"),
                });
            }
            let reached = self.files.values().filter(|given| given.reaches() && given.facts.is_one_of(&rule.jobs));
            remarks.extend(reached.clone().any(|given| given.damage == Damage::Restored).then(|| RESTORED.to_owned()));
            remarks.extend(reached.clone().find_map(|given| given.reports.no_room).map(no_room));
            if rule.path.is_some() {
                remarks.extend(reached.clone().find_map(|given| given.reports.unknown_root).map(in_unknown_root));
                remarks.extend(reached.clone().any(|given| given.full).then(|| FULL.to_owned()));
            }
            let is_added_up = |job: &JobKey| added_up(rule.scope, job).as_ref() == key && self.is_for(rule, job);
            let unreadable: usize =
                self.files.values().filter(|given| is_added_up(&given.job)).map(|given| given.unreadable).sum();
            if unreadable > 0 {
                let processes =
                    if unreadable == 1 { "1 process".to_owned() } else { format!("{unreadable} processes") };
                remarks.push(format!("{processes} not held: tables cannot be read, perhaps truncated"));
            }
            let unrecorded: Vec<u32> = jobs.unrecorded(is_added_up).collect();
            if let [first, others @ ..] = &unrecorded[..] {
                let others = if others.is_empty() { String::new() } else { format!(" and {} others", others.len()) };
                remarks.push(format!("process {first}{others} cannot be reached: {UNREACHABLE}"));
            }
        }
        if let (true, Some(key)) = (rule.scope.is_of_several_nodes(), key) {
            match self.peers.as_ref().map(|peers| peers.others(&total(rule, key))) {
                None => remarks.push("each node has the whole limit: the agent's setup has no `share`".to_owned()),
                Some(Others::Lost { count, reason }) => {
                    remarks.push(format!("held to 1/{} of the limit: other nodes are not seen: {reason}", count + 1));
                }
                Some(Others::Unknown | Others::Demands(_)) => {}
            }
        }
        About { share, remark: remarks.join("; ") }
    }

    /// Whether a rule is for a job.
    fn is_for(&self, rule: &Rule, job: &JobKey) -> bool {
        if rule.jobs == Selected::default() {
            return true;
        }
        match self.files.values().find(|given| given.job == *job) {
            Some(given) => given.facts.is_one_of(&rule.jobs),
            None => Facts::of_user(job.user).is_one_of(&rule.jobs),
        }
    }

    /// Judges the windows that are not over when the agent ends. Documents of that second.
    pub fn end(&mut self, node: &str, second: u32) -> Vec<Document> {
        let in_use = self.in_use();
        self.windows.end(node, second, &in_use)
    }

    /// Tells other nodes what this one did in the last second of rules that are for several.
    fn tell_others(&mut self, second: u32) {
        let mut demands = BTreeMap::new();
        let several = |rule: &&Rule| rule.action == Action::Throttle && rule.scope.is_of_several_nodes();
        let in_use = self.in_use();
        for rule in in_use.iter().map(Arc::as_ref).filter(several) {
            for (key, members) in self.groups(rule) {
                demands.extend(key.map(|key| (total(rule, &key), self.demand(rule, &members))));
            }
        }
        if let Some(peers) = &mut self.peers {
            peers.say(second, demands);
        }
    }

    /// Divides what is allowed to several nodes, once they have exchanged what they did in the last second.
    pub fn share_with_others(&mut self) {
        self.share(Scope::is_of_several_nodes);
    }

    /// Divides the rates of throttling rules among recorders that share no file.
    fn share(&mut self, of_scope: impl Fn(Scope) -> bool) {
        let in_use = self.in_use();
        let rules: Vec<&Rule> = in_use.iter().map(Arc::as_ref).filter(|rule| of_scope(rule.scope)).collect();
        let of_these = |label: &String| rules.iter().any(|rule| rule.label == *label);
        let mut node_rates = std::mem::take(&mut self.shares);
        node_rates.retain(|(label, _), _| !of_these(label));
        let mut changed: Vec<(DirectoryNumber, &str, u64)> = Vec::new();
        for rule in rules.into_iter().filter(|rule| rule.action == Action::Throttle) {
            for (key, members) in self.groups(rule) {
                let rate = self.node_rate(rule, key.as_ref(), &members);
                let demands: Vec<Demand> = members.iter().map(|member| self.demand(rule, &[*member])).collect();
                for (number, share) in members.iter().zip(shares(rate, &demands)) {
                    changed.push((*number, &rule.label, share));
                }
                node_rates.insert((rule.label.clone(), key), rate);
            }
        }
        self.shares = node_rates;
        for (number, label, share) in changed {
            if let Some(given) = self.files.get_mut(&number) {
                given.set_rate(label, share);
            }
        }
    }
}

/// Reported once of a file of rules that was truncated.
const RESTORED: &str = "the file of rules was truncated and is restored: rules did not hold for up to 2 s";

/// Reported where more rules are needed at once than there are slots.
const FULL: &str = "more rules with paths are needed at once than recorders have slots: some do not hold";

/// Reported where a process cannot have the rules.
fn no_room(process: u64) -> String {
    format!("process {process} is not reached: its address space has no room for the rules (ulimit -v)")
}

/// Reported where a process stands in a root directory whose path is unknown.
fn in_unknown_root(process: u64) -> String {
    format!("process {process} is not held by paths: what its root directory (chroot) is called outside is not known")
}

/// Which programs the recorder does not reach.
const UNREACHABLE: &str =
    "a static or setuid program, or one in a root directory (chroot) without the recorder or its tables";

/// The paths of the rules that recorders are given.
fn paths(rules: &[Arc<Rule>]) -> Vec<String> {
    let paths = rules.iter().filter(|rule| rule.measure.is_of_calls()).filter_map(|rule| rule.path.as_ref());
    // Rules often share one, and each is looked up every second.
    paths.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// What nodes share of a rule.
fn total(rule: &Rule, key: &JobKey) -> Total {
    Total { user: key.user, job: key.job.clone(), rule: rule.label.clone() }
}

/// What was observed of a rule that measures processes.
fn of_processes(measure: Measure, jobs: &Jobs) -> impl Iterator<Item = Observation> {
    jobs.members().map(move |member| {
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
    })
}
