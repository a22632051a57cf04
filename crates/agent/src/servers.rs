//! What the clients of a file server ask of its targets, by job and by client: who loads which OST now.
//!
//! A thread of its own reads the counters, because a target with 10,000 job ids takes tens of milliseconds, and a server may
//! have twenty. It rests four times the processor time of a reading. Documents are of the second in which they are ready, and say how
//! long a time they are of. GPFS is not here: nodes count their own file systems (`ioassay_host::node_view`), by no job.

mod job_ids;
mod lustre;
mod nfs;
mod work;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::kinds::{Target, TargetClient, TargetJob, TargetOperation, TargetSize};
use ioassay_protocol::watch::setup;
use nix::time::{ClockId, clock_gettime};

use self::job_ids::JobIds;
use self::lustre::Lustre;
use self::nfs::Nfs;
use self::work::{Shares, Work};

const OTHER_JOBS: &str = "other jobs";
const OTHER_CLIENTS: &str = "other clients";

/// The thread works at most one part in so many of its time, and so takes at most that of a processor.
const SHARE_OF_TIME: u32 = 5;

/// What was done to a target since it was read before.
#[derive(Debug)]
struct Activity {
    service: &'static str,
    file_system: String,
    target: String,
    over: Duration,
    total: Work,
    /// `None`: it does not count by job.
    jobs: Option<Shares>,
    /// `None`: it does not count by client, or there are too many.
    clients: Option<Shares>,
    known_clients: Option<usize>,
    /// What was of which size, and how many of these read and wrote.
    sizes: Vec<(&'static str, u64, u64, u64)>,
}

/// A file server's counters, read again and again.
pub struct Servers {
    requests: SyncSender<()>,
    answers: Receiver<Read>,
    job_ids: JobIds,
    /// Why something was not read the last time.
    pub problem: Option<String>,
}

struct Read {
    activities: Vec<Activity>,
    problem: Option<String>,
}

impl Servers {
    /// Those below the setup's root. `None` where no thread can be started.
    pub fn new(asked: &setup::Servers) -> Option<Self> {
        let (requests, asked_for) = sync_channel::<()>(1);
        let (answer, answers) = sync_channel(1);
        let (root, named) = (asked.root.clone(), asked.named as usize);
        let work = move || {
            let (mut lustre, mut nfs) = (Lustre::new(&root), Nfs::new(&root));
            while asked_for.recv().is_ok() {
                let began = processor_time();
                let mut activities = lustre.read(named);
                activities.extend(nfs.read(named));
                let no_root =
                    || format!("servers: there is no directory {}, in which proc and sys should be", root.display());
                let problem = lustre.problem.clone().or_else(|| (!root.is_dir()).then(no_root));
                // The agent takes each: none is lost, and so no part of a sum.
                if answer.send(Read { activities, problem }).is_err() {
                    return;
                }
                std::thread::sleep(processor_time().saturating_sub(began) * (SHARE_OF_TIME - 1));
            }
        };
        std::thread::Builder::new().name("servers".to_owned()).spawn(work).ok()?;
        let job_ids = asked.job_id.as_deref().map_or_else(|| JobIds::of_node(&asked.root), JobIds::of);
        // From here on, not from the first second on, amounts are counted.
        let _ = requests.try_send(());
        Some(Self { requests, answers, job_ids, problem: None })
    }

    /// What was read since the last look, as documents of a second. Never waits.
    pub fn documents(&mut self, node: &str, second: u32) -> Vec<Document> {
        let mut documents = Vec::new();
        if let Ok(read) = self.answers.try_recv() {
            self.problem = read.problem;
            for activity in &read.activities {
                self.add(&mut documents, activity, node, second.into());
            }
        }
        // If the request before still waits, this one is not needed.
        let _ = self.requests.try_send(());
        documents
    }

    fn add(&self, documents: &mut Vec<Document>, activity: &Activity, node: &str, second: u64) {
        let Activity { service, file_system, target, over, total, jobs, clients, known_clients, sizes } = activity;
        let target_document = Target {
            node: node.to_owned(),
            file_system: file_system.clone(),
            target: target.clone(),
            service: (*service).to_owned(),
            read_bytes: total.read_bytes,
            write_bytes: total.write_bytes,
            reads: total.reads,
            writes: total.writes,
            metadata_operations: total.metadata_operations(),
            busy_ns: busy_ns(total),
            over_ms: over.as_millis() as u64,
            jobs: jobs.as_ref().map(|jobs| jobs.present as u64),
            clients: known_clients.map(|clients| clients as u64),
        };
        documents.push(target_document.of(second, 0));
        let mut operations = |job: &str, work: &Work| {
            documents.extend(work.operations.iter().map(|(operation, number)| {
                let operation = TargetOperation {
                    node: node.to_owned(),
                    file_system: file_system.clone(),
                    target: target.clone(),
                    service: (*service).to_owned(),
                    job: job.to_owned(),
                    operation: (*operation).to_owned(),
                    operations: *number,
                };
                operation.of(second, 0)
            }));
        };
        match jobs {
            None => operations("", total),
            Some(jobs) => {
                jobs.named.iter().for_each(|(job, work)| operations(job, work));
                operations(OTHER_JOBS, &jobs.rest);
            }
        }
        documents.extend(shares(jobs.as_ref(), OTHER_JOBS).map(|(job, jobs, work)| {
            let owner = self.job_ids.owner(job);
            let document = TargetJob {
                node: node.to_owned(),
                file_system: file_system.clone(),
                target: target.clone(),
                service: (*service).to_owned(),
                job: job.to_owned(),
                scheduler_job: owner.scheduler_job,
                user: owner.user,
                jobs,
                read_bytes: work.read_bytes,
                write_bytes: work.write_bytes,
                reads: work.reads,
                writes: work.writes,
                metadata_operations: work.metadata_operations(),
                busy_ns: busy_ns(work),
            };
            document.of(second, 0)
        }));
        documents.extend(shares(clients.as_ref(), OTHER_CLIENTS).map(|(client, clients, work)| {
            let document = TargetClient {
                node: node.to_owned(),
                file_system: file_system.clone(),
                target: target.clone(),
                service: (*service).to_owned(),
                client: client.to_owned(),
                clients,
                read_bytes: work.read_bytes,
                write_bytes: work.write_bytes,
                reads: work.reads,
                writes: work.writes,
                metadata_operations: work.metadata_operations(),
                busy_ns: busy_ns(work),
            };
            document.of(second, 0)
        }));
        documents.extend(sizes.iter().map(|(stage, size, reads, writes)| {
            let document = TargetSize {
                node: node.to_owned(),
                file_system: file_system.clone(),
                target: target.clone(),
                stage: (*stage).to_owned(),
                size: size.to_string(),
                reads: *reads,
                writes: *writes,
            };
            document.of(second, 0)
        }));
    }
}

/// What this thread has taken of processors, in the kernel too.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Those who are named, and the others as one: who, how many, and what they did.
fn shares<'a>(shares: Option<&'a Shares>, others: &'a str) -> impl Iterator<Item = (&'a str, u64, &'a Work)> {
    let named = shares.into_iter().flat_map(|shares| &shares.named).map(|(name, work)| (name.as_str(), 1, work));
    let rest = shares.filter(|shares| shares.others > 0).map(|shares| (others, shares.others as u64, &shares.rest));
    named.chain(rest)
}

fn busy_ns(work: &Work) -> Option<u64> {
    work.busy_us.map(|us| us.saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What an OST says of four jobs.
    fn write(root: &Path, bytes: u64) {
        let target = root.join("proc/fs/lustre/obdfilter/fs-OST0000");
        let counter = |name: &str, unit: &str, sum: u64| {
            format!("  {name}: {{ samples: {sum}, unit: {unit}, min: 1, max: 1, sum: {sum}, sumsq: 1 }}\n")
        };
        let job = |job: &str, bytes: u64| {
            let counters = counter("write_bytes", "bytes", bytes) + &counter("punch", "usecs", bytes);
            format!("- job_id:          {job}\n{counters}")
        };
        let jobs = job("dd.1000", 3 * bytes) + &job("cp.0", 2 * bytes) + &job("a", bytes) + &job("b", bytes);
        std::fs::create_dir_all(&target).unwrap();
        // As a whole, so that no reading sees a half.
        std::fs::write(target.join("new"), jobs).unwrap();
        std::fs::rename(target.join("new"), target.join("job_stats")).unwrap();
    }

    /// Documents of the first reading that has any, as long as that takes.
    fn documents(servers: &mut Servers, has: impl Fn(&Document) -> bool) -> Vec<Document> {
        loop {
            let documents = servers.documents("oss1", 7);
            if documents.iter().any(&has) {
                return documents;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_is_read_becomes_documents_with_a_value_for_each_field() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 10);
        let asked = setup::Servers { named: 1, job_id: Some("%e.%u".to_owned()), root: root.path().to_owned() };
        let mut servers = Servers::new(&asked).unwrap();
        documents(&mut servers, |document| document.kind.name == "target");
        write(root.path(), 20);
        let documents = documents(&mut servers, |document| document.kind.name == "target_job");
        assert!(documents.iter().all(|document| document.values.len() == document.kind.fields.len()));
        let text = |document: &Document, name: &str| match document.value(name) {
            Some(ioassay_protocol::watch::document::Value::Text(text)) => text.clone(),
            other => format!("{other:?}"),
        };
        let jobs: Vec<(String, String)> = documents
            .iter()
            .filter(|document| document.kind.name == "target_job")
            .map(|document| (text(document, "job"), text(document, "user")))
            .collect();
        let named = [("dd.1000", "1000"), ("cp.0", "0"), ("other jobs", "")];
        assert_eq!(jobs, named.map(|(job, user)| (job.to_owned(), user.to_owned())));
        let target = documents.iter().find(|document| document.kind.name == "target").unwrap();
        assert_eq!(target.value("write_bytes"), Some(&70_u64.into()));
        assert_eq!(target.value("busy_ns"), Some(&70_000_u64.into()));
        assert_eq!(target.value("jobs"), Some(&4_u64.into()));
    }

    #[test]
    fn a_missing_root_is_reported() {
        let asked = setup::Servers { named: 1, job_id: None, root: "/nowhere".into() };
        let mut servers = Servers::new(&asked).unwrap();
        while servers.problem.is_none() {
            servers.documents("oss1", 7);
        }
        assert!(servers.problem.unwrap().contains("/nowhere"));
    }
}
