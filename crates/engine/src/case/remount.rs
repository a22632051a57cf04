//! The commands of the site in a cold-cache step: hooks for servers, and the remount of every node.
//!
//! One that does not do what it was to do ends the case: reads after it would be warm, and nobody would know.

use std::fs;
use std::path::Path;

use ioassay_host::{mount_users, mounts};
use ioassay_protocol::environment::Mount;
use ioassay_protocol::events::{CacheAttempt, CommandEnd, CommandRun, Failure};
use ioassay_protocol::plan::cache::{Hook, SiteCommand};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{CacheMethod, Plan, Step};

use super::Rank;
use super::cold_cache::Outcome;
use crate::cache::{self, site_command};
use crate::failure;
use crate::ranks::{Ranks, Stopped};

/// Leaves the target's file system if `plan` is to remount it and the working directory of this process is on it: that
/// would keep it from being unmounted. True if there is a remount.
pub fn leave_mount(plan: &Plan) -> bool {
    let remounts = |step: &Step| matches!(step, Step::ColdCache(cold) if cold.remount.is_some());
    let remounts = plan.steps.iter().any(remounts);
    let mount = remounts.then(|| mounts::mount_of(plan.target.path()?)).flatten();
    let here = fs::read_link("/proc/self/cwd").ok();
    if mount.zip(here).is_some_and(|(mount, here)| here.starts_with(mount.mount_point)) {
        // If that fails, unmounting does, and says who stands there.
        let _ = std::env::set_current_dir("/");
    }
    remounts
}

/// What failures call the step.
const PHASE: &str = "cold-cache";

const HOOK: &str = "hook";
const HOOK_REMEDY: &str = "run it by hand on the first node until it exits with status 0 within its time limit, or \
                           change `hooks` in the study; check that the server is still healthy";

const REMOUNT: &str = "remount";
const REMOUNT_REMEDY: &str = "check that the file system is mounted there; run the command by hand until it exits \
                              with status 0 within its time limit, and set it in the study (`remount: {command: …}`)";

impl<R: Ranks> Rank<'_, R> {
    /// Runs the hooks as rank 0, one after the other until one fails, and returns what it did; the others wait elsewhere.
    pub(super) fn hooks(&self, hooks: &[Hook]) -> Result<Vec<CommandRun>, Stopped> {
        if hooks.is_empty() {
            return Ok(Vec::new());
        }
        // What a node wrote only later would be in the server's memory again.
        if self.is_first_on_node() && !matches!(self.case.plan.target, Target::Url(_)) {
            // A failure is the storage's; the fsync of a phase has reported it, or the doubt about a missing fsync.
            let workspace = self.case.workspace;
            let _ = workspace.open_to_read(workspace.path()).and_then(|file| cache::write_out(&file));
        }
        self.gather(&())?;
        let mut runs = Vec::new();
        if self.ranks.rank() != 0 {
            return Ok(runs);
        }
        for Hook { host, command } in hooks {
            let run = site_command::run(command, host.as_deref(), &[], || self.ranks.must_stop());
            runs.push(run);
            if let Some(run) = runs.last().filter(|run| !site_command::succeeded(run)) {
                self.fail_by(run, site_command::failure_of(run, HOOK, HOOK_REMEDY));
                break;
            }
        }
        Ok(runs)
    }

    /// One rank of each node unmounts and mounts, and sees that the workspace is there again.
    pub(super) fn remount(&self, command: Option<&SiteCommand>) -> Result<CacheAttempt, Stopped> {
        leave_mount(self.case.plan);
        self.case.workspace.release();
        self.gather(&())?;
        let outcome = match command {
            Some(command) if self.is_first_on_node() => self.remount_node(command),
            _ => Outcome::default(),
        };
        self.attempted(CacheMethod::Remount, outcome)
    }

    fn remount_node(&self, command: &SiteCommand) -> Outcome {
        let workspace = self.case.workspace.path();
        let target = workspace.parent().unwrap_or(workspace);
        let host = &ioassay_host::host_name();
        let Some(mount) = mounts::mount_of(target) else {
            let message = format!("{REMOUNT} {host}: cannot determine what is mounted at {}", target.display());
            self.fail_here(failure::plain(REMOUNT, message, REMOUNT_REMEDY));
            return Outcome { refused: Some("cannot determine what is mounted".to_owned()), command: None };
        };
        let run = site_command::run(command, Some(host), &environment_of(&mount, target), || self.ranks.must_stop());
        // Whatever mounts on demand does it now.
        let seen = self.case.workspace.sample().exists();
        let there = seen || mounts::mount_of(target).is_some_and(|now| now.mount_point == mount.mount_point);
        let refused = if !site_command::succeeded(&run) {
            let failed = site_command::failure_of(&run, REMOUNT, REMOUNT_REMEDY);
            let state = if there { still_mounted(&mount) } else { unmounted(&mount) };
            self.fail_by(&run, Failure { message: format!("{}; {state}", failed.message), ..failed });
            Some(state)
        } else if !there {
            let state = unmounted(&mount);
            let message = format!("{REMOUNT} {host}: the command succeeded, but {state}");
            self.fail_here(failure::plain(REMOUNT, message, REMOUNT_REMEDY));
            Some(state)
        } else {
            let unseen = || "the workspace is no longer visible".to_owned();
            self.wait_for_workspace().is_err().then(unseen)
        };
        Outcome { refused, command: Some(run) }
    }

    /// A command that was killed because the run was stopped has not failed: who stopped the run has said why.
    fn fail_by(&self, run: &CommandRun, failure: Failure) {
        if run.end != CommandEnd::Stopped {
            self.fail_here(failure);
        }
    }

    fn fail_here(&self, failure: Failure) {
        self.ranks.fail(&failure::of_rank(failure, self.ranks.rank(), PHASE));
    }
}

/// What the command finds in its environment.
fn environment_of(mount: &Mount, target: &Path) -> [(&'static str, String); 5] {
    [
        ("IOASSAY_TARGET", target.display().to_string()),
        ("IOASSAY_MOUNT_POINT", mount.mount_point.clone()),
        ("IOASSAY_MOUNT_SOURCE", mount.source.clone().unwrap_or_default()),
        ("IOASSAY_MOUNT_TYPE", mount.file_system.clone()),
        ("IOASSAY_MOUNT_OPTIONS", mount.options.join(",")),
    ]
}

fn still_mounted(mount: &Mount) -> String {
    let by = mount_users::by(Path::new(&mount.mount_point));
    let holders = if by.is_empty() { String::new() } else { format!(", kept busy by {}", by.join("; ")) };
    format!("{} is still mounted{holders}", mount.mount_point)
}

fn unmounted(mount: &Mount) -> String {
    format!(
        "{} is no longer mounted: mount it, then remove what the run left there with `ioassay clean RUN`",
        mount.mount_point
    )
}
