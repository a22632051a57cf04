//! The agent: one look each second at tables, node and contract, and what it says of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ioassay_host::locks::Holder;
use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::kinds::Agent as AgentDocument;
use ioassay_protocol::watch::registration::Registration;
use ioassay_protocol::watch::setup::{Setup, Tables};
use ioassay_record::names::DIRECTORY_PREFIX;

use crate::clock::Ticks;
use crate::delivery::Deliveries;
use crate::discovery::{Discovery, RecordedProcess};
use crate::jobs::{JobKey, Jobs};
use crate::node::Node;
use crate::phases::Phases;
use crate::registrations::{Registrants, Registrations};
use crate::rules::in_force::{DirectoryNumber, RulesInForce};
use crate::rules::selection::Facts;
use crate::rules::state_file::{self, RuleStates};
use crate::servers::Servers;
use crate::tables::directory::{Directory, Identity};
use crate::tables::follow::{Follow, Refused};
use crate::tables::table::Span;
use crate::usage::OwnUsage;

/// Directories of tables that are watched at the same time.
const MOST_DIRECTORIES: usize = 4096;
/// Longest name of a job that belongs to no scheduler.
const MOST_JOB_BYTES: usize = 128;

/// A directory of tables that is watched.
struct Watched {
    follow: Follow,
    /// What its processes are called where they belong to no scheduler's job.
    job: String,
    number: DirectoryNumber,
    /// The job of the process that was seen last.
    last_job: Option<JobKey>,
    /// Tells other agents of the node what this one measured of the rules that it gives.
    rule_states: RuleStates,
}

/// An agent at work.
pub struct Agent {
    node: String,
    first: u32,
    ticks: Ticks,
    view: Option<Node>,
    servers: Option<Servers>,
    watched: BTreeMap<Identity, Watched>,
    watched_ever: DirectoryNumber,
    registrations: Option<Registrations>,
    /// Registrations by name, and the directories that they are about; `None` is one that cannot be watched.
    registered: BTreeMap<String, Option<Identity>>,
    discovery: Option<Discovery>,
    /// Numbers on this node of processes that see themselves by others, by the directory of their tables.
    numbers: HashMap<(DirectoryNumber, u32), u32>,
    jobs: Jobs,
    rules: RulesInForce,
    phases: Option<Phases>,
    usage: OwnUsage,
    dropped: u64,
    problems: Problems,
}

/// What the agent says on standard error: each thing once, until something else is wrong.
#[derive(Debug, Default)]
struct Problems(HashMap<String, String>);

impl Problems {
    fn say(&mut self, about: &str, problem: Option<String>) {
        match problem {
            None => {
                self.0.remove(about);
            }
            Some(problem) => {
                if self.0.get(about) != Some(&problem) {
                    eprintln!("ioassay-agent: {problem}");
                    self.0.insert(about.to_owned(), problem);
                }
            }
        }
    }
}

impl Agent {
    /// An agent that begins to look after this second.
    ///
    /// # Errors
    /// If the kernel has no random numbers.
    pub fn new(setup: &Setup, node: String, first: u32, registrations: Option<Registrations>) -> io::Result<Self> {
        let rules = RulesInForce::new(setup.contract.clone(), setup.share.clone(), &node)?;
        Ok(Self {
            node,
            first,
            ticks: Ticks::new(),
            view: setup.node.then(Node::new),
            servers: setup.servers.as_ref().and_then(Servers::new),
            watched: BTreeMap::new(),
            watched_ever: 0,
            registrations,
            registered: BTreeMap::new(),
            discovery: matches!(setup.tables, Tables::Node).then(Discovery::default),
            numbers: HashMap::new(),
            jobs: Jobs::default(),
            rules,
            phases: setup.run.clone().map(Phases::new),
            usage: OwnUsage::new(),
            dropped: 0,
            problems: Problems::default(),
        })
    }

    /// Looks at what registrations have come, and for a last time at the tables of those that leave. Whether there was any, be it
    /// one that left before the agent saw it come.
    pub fn look_at_registrations(&mut self, last: u32) -> bool {
        let Some(registrations) = self.registrations.take() else { return false };
        let mut was_any = false;
        if let Ok(registered) = registrations.look() {
            was_any = !registered.holding.is_empty() || !registered.leaving.is_empty();
            for (name, holder) in &registered.holding {
                if !self.registered.contains_key(name) {
                    // A recorder that gave up waiting for an agent has removed it.
                    let Ok(registration) = registrations.read(name) else { continue };
                    let watched = self.watch_registered(registrations.registrants(), &registration, *holder);
                    self.registered.insert(name.clone(), watched);
                }
            }
            let gone = self.registered.keys().filter(|name| !registered.holding.contains_key(*name)).cloned();
            let gone: BTreeSet<String> = gone.chain(registered.leaving).collect();
            for name in gone {
                if let Some(Some(directory)) = self.registered.remove(&name) {
                    let span = Span { first: self.first, last, until: u32::MAX };
                    self.look_at(directory, span, &mut Refused::default());
                    self.forget(directory);
                }
                registrations.release(&name);
            }
        }
        self.registrations = Some(registrations);
        was_any
    }

    /// Watches what a process has registered. The directory, unless it cannot be watched.
    fn watch_registered(
        &mut self,
        registrants: Registrants,
        registration: &Registration,
        holder: Holder,
    ) -> Option<Identity> {
        let directory = match (holder, registrants) {
            (Holder::Process(pid), _) => Directory::of_process(pid, &registration.tables),
            // It has a namespace of its own, but the user is the same.
            (Holder::Unknown, Registrants::User) => Directory::of_path(&registration.tables),
            (Holder::Unknown, Registrants::Node) => Err(io::Error::other("the process is not one of this node")),
        };
        let job: String = registration.job.chars().filter(|letter| !letter.is_control()).take(MOST_JOB_BYTES).collect();
        let process = match holder {
            Holder::Process(pid) => pid,
            // The process that started this agent has the same user, and most likely the same job.
            Holder::Unknown => std::process::id(),
        };
        self.watch(&registration.tables, directory, job, process)
    }

    /// Whether nobody is registered, and nobody will be before another agent is there.
    pub fn ends_if_nobody_is_registered(&mut self) -> bool {
        self.registered.is_empty() && self.registrations.as_mut().is_some_and(Registrations::end_if_empty)
    }

    /// Whether other nodes have a part of what rules allow: [`Agent::share_with_others`] is to be called between seconds.
    pub fn shares_limits(&self) -> bool {
        self.rules.are_shared()
    }

    /// Divides what rules allow to several nodes, once their agents have exchanged what happened in the last second.
    pub fn share_with_others(&mut self) {
        self.rules.share_with_others();
    }

    /// Looks at the second that is not over yet. Documents of it.
    pub fn look_for_the_last_time(&mut self) -> Vec<Document> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as u32;
        let span = Span { first: self.first, last: now, until: now };
        let directories: Vec<Identity> = self.watched.keys().copied().collect();
        for directory in directories {
            self.look_at(directory, span, &mut Refused::default());
        }
        self.jobs.look_at_processes();
        let mut documents = self.jobs.documents(&self.node, now);
        documents.extend(self.rules.documents(&self.node, now, &self.jobs));
        documents.extend(self.phases.iter_mut().flat_map(|phases| phases.documents(&self.node)));
        documents.extend(self.end(now));
        documents
    }

    /// Judges the windows of rules that are not over after this second, the last one. Documents of it.
    pub fn end(&mut self, last: u32) -> Vec<Document> {
        self.rules.end(&self.node, last)
    }

    /// Watches a directory, unless it is watched already, or there is something wrong with it. `process` is one of its job.
    fn watch(&mut self, path: &Path, directory: io::Result<Directory>, job: String, process: u32) -> Option<Identity> {
        let opened = directory.and_then(|directory| Ok((directory.identity()?, directory.owner()?, directory)));
        let (identity, owner, directory) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.problems.say("tables", Some(format!("{path:?}: {error}")));
                return None;
            }
        };
        if !self.watched.contains_key(&identity) {
            if self.watched.len() >= MOST_DIRECTORIES {
                self.problems.say("directories", Some("there are too many directories of tables".to_owned()));
                return None;
            }
            self.watched_ever += 1;
            let number = self.watched_ever;
            self.rules.watch(number, &directory, Facts::of_process(owner, process), &job);
            let (follow, rule_states) = (Follow::new(directory), RuleStates::default());
            self.watched.insert(identity, Watched { follow, job, number, last_job: None, rule_states });
        }
        Some(identity)
    }

    fn discover(&mut self) {
        let Some(discovery) = &mut self.discovery else { return };
        self.numbers.retain(|_, pid| discovery.runs(*pid));
        for RecordedProcess { pid, number, directory: path } in discovery.look() {
            // One that has gone meanwhile is nothing to complain of.
            let Ok(directory) = Directory::of_process(pid, &path) else { continue };
            let job = record_of(&path);
            if let Some(identity) = self.watch(&path, Ok(directory), job, pid) {
                self.numbers.insert((self.watched[&identity].number, number), pid);
            }
        }
    }

    /// Looks at a second that is over. Documents of it.
    pub fn look(&mut self, last: u32, late_ns: u64, deliveries: &Deliveries) -> Vec<Document> {
        self.ticks.learn();
        self.discover();
        let problem = self.rules.renew();
        self.problems.say("contract", problem);
        self.problems.say("rules", self.rules.unreached());
        self.problems.say("peers", self.rules.unshared());
        let span = Span { first: self.first, last, until: last };
        let mut refused = Refused::default();
        let directories: Vec<Identity> = self.watched.keys().copied().collect();
        for directory in directories {
            if !self.look_at(directory, span, &mut refused) && self.discovery.is_some() {
                self.forget(directory);
            }
        }
        self.problems.say("refused", refused.reason.clone().map(|reason| format!("a table is not read: {reason}")));
        self.jobs.look_at_processes();
        let mut documents = self.jobs.documents(&self.node, last);
        let states = self.rules.documents(&self.node, last, &self.jobs);
        documents.extend(self.rules_of_other_agents(&states, last));
        documents.extend(states);
        if let Some(view) = &mut self.view {
            documents.extend(view.documents(&self.node, last));
        }
        if let Some(servers) = &mut self.servers {
            documents.extend(servers.documents(&self.node, last));
            let problem = servers.problem.clone();
            self.problems.say("servers", problem);
        }
        documents.push(self.own_document(last, late_ns, &refused, deliveries));
        // They are of other seconds, so they follow what says which second it is.
        documents.extend(self.phases.iter_mut().flat_map(|phases| phases.documents(&self.node)));
        documents
    }

    /// Tells other agents of the node what was measured of rules, and what they measured of theirs: those of a job may be another
    /// agent's, and a view has none. Each is reported once.
    fn rules_of_other_agents(&mut self, own_states: &[Document], last: u32) -> Vec<Document> {
        let mut others = HashMap::new();
        for watched in self.watched.values_mut() {
            let directory = &watched.follow.directory;
            if self.rules.are_given_to(watched.number) {
                let job = watched.last_job.as_ref();
                // One that cannot be written to is of a record that has ended.
                let _ = watched.rule_states.write(directory, last, own_states, job);
            } else {
                let states = state_file::read(directory, &self.node, last);
                others.extend(states.into_iter().map(|state| (state.identity(), state)));
            }
        }
        for state in own_states {
            others.remove(&state.identity());
        }
        others.into_values().collect()
    }

    /// Looks at the tables of a directory. Whether it is still there.
    fn look_at(&mut self, which: Identity, span: Span, refused: &mut Refused) -> bool {
        let Some(watched) = self.watched.get_mut(&which) else { return false };
        let (jobs, rules, ticks, numbers) = (&mut self.jobs, &mut self.rules, &self.ticks, &self.numbers);
        let Watched { follow, job: otherwise, number: directory, last_job, .. } = watched;
        let looked = follow.look(span, refused, |seen| {
            let key = jobs.key(&seen.table.identity, seen.owner, otherwise);
            let number = seen.table.identity.process;
            let pid = numbers.get(&(*directory, number)).copied().unwrap_or(number);
            if seen.table.identity.is_announced() {
                let known = last_job.as_ref().filter(|known| known.user == key.user);
                return jobs.announce(known.unwrap_or(&key), &seen, pid);
            }
            rules.add(*directory, &key, &seen, pid, ticks, span.last);
            jobs.add(&key, &seen, pid, ticks);
            *last_job = Some(key);
        });
        rules.note_unreadable(*directory, follow.unreadable());
        looked.is_ok()
    }

    fn forget(&mut self, directory: Identity) {
        if let Some(watched) = self.watched.remove(&directory) {
            self.rules.forget(watched.number);
        }
    }

    fn own_document(&mut self, last: u32, late_ns: u64, refused: &Refused, deliveries: &Deliveries) -> Document {
        let states = deliveries.state();
        for state in &states {
            let problem = state.problem.clone().or_else(|| state.refusal.clone());
            self.problems.say(&state.name, problem);
        }
        let cost = self.usage.look();
        let dropped: u64 = states.iter().map(|state| state.dropped_documents).sum();
        let document = AgentDocument {
            node: self.node.clone(),
            processor_ns: cost.processor_ns,
            resident_bytes: cost.resident_bytes,
            late_ns,
            tables: self.watched.values().map(|watched| watched.follow.tables() as u64).sum(),
            refused_tables: refused.tables,
            spooled_documents: states.iter().map(|state| state.waiting_documents).sum(),
            spooled_bytes: states.iter().map(|state| state.waiting_bytes).sum(),
            dropped_documents: dropped.saturating_sub(self.dropped),
        };
        self.dropped = dropped;
        document.of(last.into(), 0)
    }
}

/// The name of the record whose tables are in a directory, or the directory's where it is another one.
fn record_of(tables: &Path) -> String {
    let name = tables.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_prefix(DIRECTORY_PREFIX).and_then(|rest| rest.rsplit_once('-')) {
        None | Some(("", _)) => name.into_owned(),
        Some((record, _)) => record.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_called_like_their_record() {
        for (tables, record) in [("ioassay-record-2026-app-aB3dE5", "2026-app"), ("tables", "tables"), ("/", "")] {
            assert_eq!(record_of(&Path::new("/tmp").join(tables)), record);
        }
        // A name of which no letter may be in one of a directory of tables.
        assert_eq!(record_of(Path::new("/tmp/ioassay-record--aB3dE5")), "ioassay-record--aB3dE5");
    }
}
