//! Which jobs a rule is for, and what is known of a job.
//!
//! The user is the owner of the directory of tables, and groups are those of a process of this user: both are the
//! kernel's word. Project, name and number of nodes are what the environment of that process says, which its user can
//! forge: a user who leaves these variables out, or sets others, is held to the rules of others.
//!
//! Names of variables: Slurm's sbatch(1); PBS and Torque's qsub(1B), `PBS_NUM_NODES` of Torque alone; "Environment variables set for
//! job execution" of Spectrum LSF 10.1; flux-shell(1).

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ioassay_protocol::watch::contract::Jobs;

use crate::tables::identity::{JOB_NUMBERS, clean};

/// Longest part of an environment that is read.
const MOST_BYTES: u64 = 1 << 20;
const PROJECTS: [&str; 3] = ["SLURM_JOB_ACCOUNT", "PBS_ACCOUNT", "LSB_PROJECT_NAME"];
const NAMES: [&str; 4] = ["SLURM_JOB_NAME", "PBS_JOBNAME", "LSB_JOBNAME", "FLUX_JOB_NAME"];
const NODES: [&str; 4] = ["SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES", "FLUX_JOB_NNODES"];
/// Hosts of a job, each with its number of slots behind it.
const HOSTS_AND_SLOTS: &str = "LSB_MCPU_HOSTS";

/// What is known of the job whose processes have their tables in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Its user.
    pub user: u32,
    groups: Vec<u32>,
    /// Its number in the scheduler.
    pub number: Option<String>,
    project: Option<String>,
    name: Option<String>,
    /// How many nodes it has.
    pub nodes: Option<u32>,
}

impl Facts {
    /// Of a user's job of which no process can be asked.
    pub fn of_user(user: u32) -> Self {
        Self { user, ..Self::default() }
    }

    /// Of a user's job, of which this is a process of the node, unless it is another user's.
    pub fn of_process(user: u32, process: u32) -> Self {
        let place = Path::new("/proc").join(process.to_string());
        if fs::metadata(&place).map(|about| about.uid()).ok() != Some(user) {
            return Self::of_user(user);
        }
        let mut environment = Vec::new();
        let read = File::open(place.join("environ")).map(|file| file.take(MOST_BYTES).read_to_end(&mut environment));
        let status = fs::read_to_string(place.join("status")).unwrap_or_default();
        Self {
            groups: groups_in(&status),
            ..Self::from_environment(user, if read.is_ok() { &environment } else { &[] })
        }
    }

    /// What an environment says of a user's job.
    fn from_environment(user: u32, environment: &[u8]) -> Self {
        let variable = |name: &str| {
            let value = environment.split(|&byte| byte == 0).find_map(|entry| {
                let value = entry.strip_prefix(name.as_bytes())?;
                value.strip_prefix(b"=")
            });
            value.filter(|value| !value.is_empty()).map(clean)
        };
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let of_hosts = || u32::try_from(variable(HOSTS_AND_SLOTS)?.split_ascii_whitespace().count() / 2).ok();
        Self {
            user,
            groups: Vec::new(),
            number: first(&JOB_NUMBERS),
            project: first(&PROJECTS),
            name: first(&NAMES),
            nodes: first(&NODES).and_then(|nodes| nodes.parse().ok()).or_else(of_hosts).filter(|nodes| *nodes > 0),
        }
    }

    /// Whether it is one of these jobs. What is not known of it is nothing that a rule can be for.
    pub fn is_one_of(&self, jobs: &Jobs) -> bool {
        let is_named = |patterns: &[String], name: &Option<String>| {
            patterns.is_empty()
                || name.as_ref().is_some_and(|name| patterns.iter().any(|pattern| matches(pattern, name)))
        };
        let has_any = jobs.least_nodes <= 1 && jobs.most_nodes.is_none();
        (jobs.users.is_empty() || jobs.users.contains(&self.user))
            && (jobs.groups.is_empty() || jobs.groups.iter().any(|group| self.groups.contains(group)))
            && is_named(&jobs.projects, &self.project)
            && is_named(&jobs.names, &self.name)
            && (has_any
                || self
                    .nodes
                    .is_some_and(|nodes| (jobs.least_nodes..=jobs.most_nodes.unwrap_or(u32::MAX)).contains(&nodes)))
    }
}

/// The groups of a process: those that it has now, and its further ones, by proc_pid_status(5).
fn groups_in(status: &str) -> Vec<u32> {
    let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let numbers = line("Gid:").split_ascii_whitespace().chain(line("Groups:").split_ascii_whitespace());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Whether a name fits a pattern of the shell.
fn matches(pattern: &str, name: &str) -> bool {
    let text = |text: &str| CString::new(OsStr::new(text).as_bytes());
    let (Ok(pattern), Ok(name)) = (text(pattern), text(name)) else { return false };
    // SAFETY: both are strings that end with a zero.
    unsafe { libc::fnmatch(pattern.as_ptr(), name.as_ptr(), 0) == 0 }
}

/// The jobs of a rule in words; empty: all.
pub fn in_words(jobs: &Jobs) -> String {
    let numbers = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ");
    let nodes = match (jobs.least_nodes, jobs.most_nodes) {
        (0 | 1, None) => String::new(),
        (least, None) => format!("{least} or more"),
        (0 | 1, Some(most)) => format!("{most} or less"),
        (least, Some(most)) => format!("{least} to {most}"),
    };
    let parts = [
        ("user", numbers(&jobs.users)),
        ("group", numbers(&jobs.groups)),
        ("project", jobs.projects.join(" or ")),
        ("job name", jobs.names.join(" or ")),
        ("nodes", nodes),
    ];
    let texts = parts.iter().filter(|(_, text)| !text.is_empty()).map(|(what, text)| format!("{what} {text}"));
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(environment: &str) -> Facts {
        Facts::from_environment(1001, environment.replace(' ', "\0").as_bytes())
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn schedulers_say_project_name_and_number_of_nodes_in_their_variables() {
        for environment in [
            "SLURM_JOB_ID=7 SLURM_JOB_ACCOUNT=ocean SLURM_JOB_NAME=run SLURM_JOB_NUM_NODES=3",
            "PBS_JOBID=7 PBS_ACCOUNT=ocean PBS_JOBNAME=run PBS_NUM_NODES=3",
        ] {
            let facts_found = facts(environment);
            let of = |text: &str| Some(text.to_owned());
            assert_eq!(
                (facts_found.number, facts_found.project, facts_found.name),
                (of("7"), of("ocean"), of("run")),
                "{environment}"
            );
            assert_eq!(facts_found.nodes, Some(3), "{environment}");
        }
        let lsf = Facts::from_environment(1, b"LSB_JOBID=7\0LSB_MCPU_HOSTS=a 4 b 4\0");
        assert_eq!((lsf.number.as_deref(), lsf.nodes), (Some("7"), Some(2)));
        assert_eq!(facts("SLURM_JOB_NUM_NODES=none SLURM_JOB_NAME= MY_SLURM_JOB_ACCOUNT=a"), Facts::of_user(1001));
    }

    #[test]
    fn a_job_is_one_of_those_for_which_everything_is_so() {
        let job = Facts { groups: vec![5, 6], ..facts("SLURM_JOB_ACCOUNT=ocean SLURM_JOB_NAME=run-7 SLURM_NNODES=4") };
        let all = Jobs::default();
        for jobs in [
            all.clone(),
            Jobs { users: vec![3, 1001], ..all.clone() },
            Jobs { groups: vec![6], ..all.clone() },
            Jobs { projects: texts(&["climate", "oc*"]), names: texts(&["run-[0-9]"]), ..all.clone() },
            Jobs { least_nodes: 4, most_nodes: Some(4), ..all.clone() },
        ] {
            assert!(job.is_one_of(&jobs), "{jobs:?}");
        }
        for jobs in [
            Jobs { users: vec![3], ..all.clone() },
            Jobs { groups: vec![7], ..all.clone() },
            Jobs { projects: texts(&["ocean2"]), ..all.clone() },
            Jobs { users: vec![1001], names: texts(&["ru"]), ..all.clone() },
            Jobs { least_nodes: 5, ..all.clone() },
            Jobs { most_nodes: Some(3), ..all.clone() },
        ] {
            assert!(!job.is_one_of(&jobs), "{jobs:?}");
        }
        let unknown = Facts::of_user(1001);
        assert!(!unknown.is_one_of(&Jobs { projects: texts(&["*"]), ..all.clone() }));
        assert!(!unknown.is_one_of(&Jobs { most_nodes: Some(9), ..all }));
    }

    #[test]
    fn a_process_is_asked_only_for_its_own_user() {
        let me = nix::unistd::geteuid().as_raw();
        let facts = Facts::of_process(me, std::process::id());
        assert!(facts.groups.contains(&nix::unistd::getegid().as_raw()));
        assert_eq!(Facts::of_process(me + 1, std::process::id()), Facts::of_user(me + 1));
        assert_eq!(groups_in("Uid:\t0\t0\nGid:\t5\t6\t5\t5\nGroups:\t7 8 \n"), [5, 6, 5, 5, 7, 8]);
    }

    #[test]
    fn the_jobs_of_a_rule_are_said_in_words() {
        let jobs = Jobs { users: vec![1, 2], projects: texts(&["a*"]), least_nodes: 64, ..Jobs::default() };
        assert_eq!(in_words(&jobs), "user 1 or 2, project a*, nodes 64 or more");
        assert_eq!(in_words(&Jobs::default()), "");
    }
}
