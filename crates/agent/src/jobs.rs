//! Jobs: what their processes did, added up, as documents of each second.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::kinds::{InFlight as InFlightDocument, Io, Job as JobDocument};
use ioassay_record::operation::Operation;
use ioassay_record::table::State;

use crate::clock::Ticks;
use crate::processes::{self, Process, Usage};
use crate::tables::amounts::{Amounts, Totals};
use crate::tables::follow::Seen;
use crate::tables::identity::Identity;
use crate::tables::table::InFlight;

/// Jobs that are distinguished; the processes of others belong to a job of this name.
const MOST_JOBS: usize = 1000;
const OTHERS: &str = "others";
/// Replaced processes that are remembered.
const MOST_REPLACED: usize = 10_000;
/// Looks after which a process that was replaced and has not come back goes on as a program that is not recorded.
const UNRECORDED_AFTER: u32 = 3;
/// Seconds after which a job without processes is forgotten.
const FORGOTTEN_AFTER_S: u32 = 60;
/// A call that takes longer is reported as under way.
const LONG_NS: u64 = 1_000_000_000;
/// Calls under way that are reported of a job in a second: the longest ones.
const MOST_IN_FLIGHT: usize = 10;

/// Which job: its name, and the user whose processes they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobKey {
    /// Its number in the scheduler, or the name of the record.
    pub job: String,
    /// The user.
    pub user: u32,
}

/// A call under way, as it is reported.
#[derive(Debug, Clone)]
struct LongCall {
    pid: u32,
    thread: u32,
    operation: Operation,
    file: String,
    since_ns: u64,
}

/// A job.
#[derive(Debug, Default)]
struct Job {
    command: String,
    oldest_ns: u64,
    name: Option<String>,
    /// In nanoseconds.
    amounts: Amounts,
    in_flight: Vec<LongCall>,
    began: u64,
    ended: u64,
    uncounted: u64,
    throttled_ns: u64,
    idle_s: u32,
}

/// A process of a job.
#[derive(Debug)]
pub struct Member {
    /// Its job.
    pub job: JobKey,
    /// Its number, as its table says.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// Its rank.
    pub rank: String,
    /// What it used since the last look, and has now.
    pub usage: Usage,
    process: Option<Process>,
}

/// All jobs of the node.
#[derive(Debug, Default)]
pub struct Jobs {
    jobs: BTreeMap<JobKey, Job>,
    members: HashMap<(u32, u64), Member>,
    /// Processes that were replaced by `exec` and have not been seen since, by user and number.
    replaced: HashMap<(u32, u32), Replaced>,
}

/// A process that was replaced by `exec`.
#[derive(Debug)]
struct Replaced {
    job: JobKey,
    /// Its number on this node.
    pid: u32,
    /// It is among those of the job that began.
    was_counted: bool,
    /// Looks since then.
    looks: u32,
}

impl Jobs {
    /// The job of a process: its scheduler's, or `otherwise`.
    pub fn key(&self, identity: &Identity, owner: u32, otherwise: &str) -> JobKey {
        let key = JobKey { job: identity.job_number().unwrap_or(otherwise).to_owned(), user: owner };
        if self.jobs.len() < MOST_JOBS || self.jobs.contains_key(&key) {
            return key;
        }
        JobKey { job: OTHERS.to_owned(), ..key }
    }

    /// Adds what was seen of a process to its job; `pid` is the process's number on this node.
    pub fn add(&mut self, key: &JobKey, seen: &Seen, pid: u32, ticks: &Ticks) {
        let table = seen.table;
        let identity = &table.identity;
        let job = self.jobs.entry(key.clone()).or_default();
        job.idle_s = 0;
        if job.command.is_empty() || identity.begin_ns < job.oldest_ns {
            job.command =
                if identity.command.is_empty() { identity.executable.clone() } else { identity.command.clone() };
            job.oldest_ns = identity.begin_ns;
            job.name = identity.job_name().map(str::to_owned);
        }
        for (second, class, [calls, bytes, busy, slowest]) in seen.look.amounts.iter() {
            let [busy, slowest] = [busy, slowest].map(|time| ticks.ns(time, table.counts_ticks()));
            job.amounts.add(second, class, [calls, bytes, busy, slowest]);
        }
        for call in &seen.look.in_flight {
            let since_ns = ticks.ago_ns(call.since_ticks, table.counts_ticks());
            if since_ns >= LONG_NS {
                let InFlight { thread, operation, .. } = *call;
                job.in_flight.push(LongCall {
                    pid: identity.process,
                    thread,
                    operation,
                    file: seen.file_name(call.file),
                    since_ns,
                });
            }
        }
        job.uncounted += seen.look.uncounted_calls;
        job.throttled_ns += ticks.ns(seen.look.throttled_ticks, table.counts_ticks());
        let process = (identity.process, identity.begin_ticks);
        // An image that follows another is the same process.
        let before = self.replaced.remove(&(key.user, identity.process));
        let is_process = before.is_none_or(|before| !before.was_counted);
        job.began += u64::from(seen.look.began && is_process && seen.end != Some(State::Stayed));
        if let Some(end) = seen.end {
            let was_member = self.members.remove(&process).is_some();
            match end {
                // One that ended before the agent began is in none of its seconds.
                State::Exited => job.ended += u64::from(seen.look.began || was_member),
                State::Replaced => self.replace(key, identity.process, pid, true),
                State::Stayed | State::Running => {}
            }
        } else if seen.is_new {
            let running = Process::find(pid, seen.owner, identity);
            let member = Member {
                job: key.clone(),
                pid: identity.process,
                command: identity.command.clone(),
                rank: identity.rank().to_owned(),
                usage: Usage::default(),
                process: running,
            };
            self.members.insert(process, member);
        }
    }

    /// A process without a table of its own says that it is about to be replaced, or that it was not.
    ///
    /// Its job is known, and it is counted, when its program begins.
    pub fn announce(&mut self, key: &JobKey, seen: &Seen, pid: u32) {
        let number = seen.table.identity.process;
        match seen.end {
            Some(State::Replaced) => self.replace(key, number, pid, false),
            _ => {
                self.replaced.remove(&(key.user, number));
            }
        }
    }

    fn replace(&mut self, key: &JobKey, number: u32, pid: u32, was_counted: bool) {
        if self.replaced.len() >= MOST_REPLACED {
            self.replaced.clear();
        }
        let replaced = Replaced { job: key.clone(), pid, was_counted, looks: 0 };
        self.replaced.insert((key.user, number), replaced);
    }

    /// Looks at what all processes use.
    pub fn look_at_processes(&mut self) {
        let jobs = &mut self.jobs;
        self.members.retain(|_, member| {
            // A process that cannot be found is kept; its table will say when it ends.
            let Some(process) = &mut member.process else { return true };
            let change = process.look();
            member.usage = change.usage;
            if !change.runs
                && let Some(job) = jobs.get_mut(&member.job)
            {
                // It was killed.
                job.ended += 1;
            }
            change.runs
        });
        self.replaced.retain(|(user, _), replaced| {
            replaced.looks += 1;
            replaced.looks < UNRECORDED_AFTER || processes::runs(replaced.pid, *user)
        });
    }

    /// Jobs of which some process goes on as a program that is not recorded.
    pub fn partly_recorded(&self) -> BTreeSet<&JobKey> {
        let is_one = |replaced: &&Replaced| replaced.looks >= UNRECORDED_AFTER;
        self.replaced.values().filter(is_one).map(|replaced| &replaced.job).collect()
    }

    /// Processes that go on as programs which are not recorded, by their numbers on this node, of jobs of which this is so.
    pub fn unrecorded<'a>(&'a self, of_job: impl Fn(&JobKey) -> bool + 'a) -> impl Iterator<Item = u32> + 'a {
        let is_one = move |replaced: &&Replaced| replaced.looks >= UNRECORDED_AFTER && of_job(&replaced.job);
        self.replaced.values().filter(is_one).map(|replaced| replaced.pid)
    }

    /// The processes that run.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// The documents of the second that is over, and of earlier ones of which more became known.
    pub fn documents(&mut self, node: &str, second: u32) -> Vec<Document> {
        let mut processes: BTreeMap<JobKey, (u64, Usage)> = BTreeMap::new();
        for member in self.members.values() {
            let (count, usage) = processes.entry(member.job.clone()).or_default();
            *count += 1;
            *usage = sum(*usage, member.usage);
        }
        let unrecorded: BTreeMap<JobKey, u64> = self
            .jobs
            .keys()
            .map(|key| (key.clone(), self.unrecorded(|job| job == key).count() as u64))
            .filter(|(_, count)| *count > 0)
            .collect();
        let mut documents = Vec::new();
        for (key, job) in &mut self.jobs {
            let (count, usage) = processes.remove(key).unwrap_or_default();
            let now = Now { processes: count, unrecorded: unrecorded.get(key).copied().unwrap_or_default(), usage };
            job.say(node, key, second, now, &mut documents);
        }
        self.jobs.retain(|_, job| job.idle_s < FORGOTTEN_AFTER_S);
        documents
    }
}

/// The processes of a job at the end of a second.
#[derive(Debug, Clone, Copy)]
struct Now {
    processes: u64,
    unrecorded: u64,
    usage: Usage,
}

impl Job {
    fn say(&mut self, node: &str, key: &JobKey, second: u32, now: Now, to: &mut Vec<Document>) {
        let Now { processes, unrecorded, usage } = now;
        let user = key.user.to_string();
        let amounts = self.amounts.take_until(second);
        let is_idle = amounts.is_empty() && processes + unrecorded == 0 && self.began + self.ended == 0;
        self.idle_s = if is_idle { self.idle_s + 1 } else { 0 };
        if is_idle {
            return;
        }
        for (of, class, totals) in amounts.iter() {
            let Some(operation) = Operation::ALL.get(usize::from(class)) else { continue };
            let [calls, bytes, busy_ns, slowest_ns]: Totals = totals;
            let io = Io {
                node: node.to_owned(),
                job: key.job.clone(),
                user: user.clone(),
                class: operation.word().to_owned(),
                calls,
                bytes,
                busy_ns,
                slowest_ns,
            };
            // Later looks add to earlier seconds, each once: so its lateness is the number of the addition.
            to.push(io.of(of.into(), second - of));
        }
        self.in_flight.sort_by_key(|call| std::cmp::Reverse(call.since_ns));
        for call in self.in_flight.drain(..).take(MOST_IN_FLIGHT) {
            let document = InFlightDocument {
                node: node.to_owned(),
                job: key.job.clone(),
                class: call.operation.word().to_owned(),
                pid: call.pid.to_string(),
                thread: call.thread.to_string(),
                file: call.file,
                since_ns: call.since_ns,
            };
            to.push(document.of(second.into(), 0));
        }
        let document = JobDocument {
            node: node.to_owned(),
            job: key.job.clone(),
            user,
            command: self.command.clone(),
            name: self.name.clone(),
            processes,
            began: std::mem::take(&mut self.began),
            ended: std::mem::take(&mut self.ended),
            resident_bytes: usage.resident_bytes,
            virtual_bytes: usage.virtual_bytes,
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            io_wait_ns: usage.io_wait_ns,
            unrecorded,
            uncounted_calls: std::mem::take(&mut self.uncounted),
            throttled_ns: std::mem::take(&mut self.throttled_ns),
        };
        to.push(document.of(second.into(), 0));
    }
}

fn sum(first: Usage, other: Usage) -> Usage {
    Usage {
        resident_bytes: first.resident_bytes.saturating_add(other.resident_bytes),
        virtual_bytes: first.virtual_bytes.saturating_add(other.virtual_bytes),
        user_ns: first.user_ns.saturating_add(other.user_ns),
        system_ns: first.system_ns.saturating_add(other.system_ns),
        io_wait_ns: first.io_wait_ns.saturating_add(other.io_wait_ns),
    }
}
