//! Runs the cold-cache step on one rank: servers first, then the clients' own caches, then checks what is still warm.
//!
//! Not here: the commands of the site ([`super::remount`]), how much is still resident ([`super::resident`]).

use std::io;
use std::path::PathBuf;

use ioassay_protocol::events::{CacheAttempt, ColdCache, CommandRun, Event};
use ioassay_protocol::plan::CacheMethod;
use ioassay_protocol::plan::cache::CacheStep;
use serde::{Deserialize, Serialize};

use super::Rank;
use super::resident::Resident;
use crate::cache::{self, site_command};
use crate::measure::doubts::COLD_SHARE;
use crate::plan::Sizes;
use crate::ranks::{Ranks, Stopped};
use crate::work::sizes::{checkpoints_bytes, datasets_bytes};

/// What is to be known of a remount that emptied nothing.
const STILL_THERE: &str = "the pages are still in the page cache: the command did not unmount the file system, or it \
                           is also mounted elsewhere on the node";

impl<R: Ranks> Rank<'_, R> {
    /// Empties the caches of servers, then tries the ways of `cold` until almost none of the file sets is resident on
    /// the nodes, and reports what it did. A command of the site that fails ends the case.
    pub(super) fn cold_cache(&mut self, step: u32, cold: &CacheStep) -> Result<(), Stopped> {
        let hooks = self.hooks(&cold.hooks)?;
        let mut going_on = self.all_go_on(hooks.iter().all(site_command::succeeded))?;
        let mut tried: Vec<CacheAttempt> = Vec::new();
        let mut resident = self.resident_next()?;
        if going_on && !hooks.is_empty() {
            self.emptied.by_hooks = Some(step);
        }
        let (has_files, has_trees) = (self.set_bytes() > 0, !self.case.plan.trees.is_empty());
        for &method in &cold.attempts {
            let done = |useful: fn(CacheMethod) -> bool| {
                tried.iter().any(|attempt: &CacheAttempt| attempt.done && useful(attempt.method))
            };
            // Of files that a stonewall left short too little may be resident for this to tell, so something must be done.
            let files_are_cold = !has_files || self.is_cold(&resident) && done(|_| true);
            let trees_are_cold = !has_trees || done(CacheMethod::forgets_attributes);
            if !going_on || files_are_cold && trees_are_cold {
                break;
            }
            if files_are_cold && !method.forgets_attributes() {
                continue;
            }
            let attempt = match method {
                CacheMethod::DropCaches => self.drop_caches()?,
                CacheMethod::Fadvise => self.fadvise()?,
                CacheMethod::Remount => self.remount(cold.remount.as_ref())?,
                CacheMethod::ReadOtherRank => self.read_other_rank(),
            };
            going_on = self.all_go_on(attempt.done || method != CacheMethod::Remount)?;
            if going_on {
                resident = self.resident_next()?;
            }
            tried.push(attempt);
            if let Some(last) =
                tried.last_mut().filter(|_| going_on && method == CacheMethod::Remount && !self.is_cold(&resident))
            {
                STILL_THERE.clone_into(&mut last.detail);
            }
        }
        if tried.iter().any(|attempt| attempt.done && attempt.method.forgets_attributes()) {
            self.emptied.attributes = Some(step);
        }
        if tried.iter().any(|attempt| attempt.done && attempt.method == CacheMethod::Remount) {
            self.emptied.by_remount = Some(step);
        }
        if self.ranks.rank() == 0 {
            self.write(&Event::ColdCache(ColdCache {
                step,
                hooks,
                attempts: tried,
                resident_bytes: resident.bytes(),
                resident_bytes_per_node: resident.per_node,
                measured_with: resident.measured_with,
                file_set_bytes: self.set_bytes(),
                reads_shifted_by_ranks: self.history.reads_shifted_by,
            }));
        }
        self.check_stopped()
    }

    /// Bytes of all file sets, datasets and checkpoints.
    fn set_bytes(&self) -> u64 {
        let plan = self.case.plan;
        [datasets_bytes(plan), checkpoints_bytes(plan)].into_iter().fold(plan.file_sets_bytes(), u64::saturating_add)
    }

    /// True if almost none of the file sets is known to be resident.
    fn is_cold(&self, resident: &Resident) -> bool {
        let most = COLD_SHARE * self.set_bytes() as f64;
        resident.bytes().is_some_and(|bytes| bytes as f64 <= most)
    }

    /// True on all ranks if rank 0 finds that all went `well` and nobody has stopped: all ranks go the same way from here.
    fn all_go_on(&self, well: bool) -> Result<bool, Stopped> {
        self.broadcast(&(well && !self.ranks.must_stop()))
    }

    /// One rank does it for the whole node.
    fn drop_caches(&self) -> Result<CacheAttempt, Stopped> {
        let mut outcome = Outcome::default();
        if self.is_first_on_node() {
            let workspace = self.case.workspace;
            outcome = Outcome::of(workspace.open_to_read(workspace.path()).and_then(|file| cache::drop_caches(&file)));
        }
        self.attempted(CacheMethod::DropCaches, outcome)
    }

    /// Each rank does it for the files that it has written or would read, which may be those of a rank on another node.
    fn fadvise(&self) -> Result<CacheAttempt, Stopped> {
        let open = |path: &PathBuf| self.case.workspace.open_to_read(path);
        let forget = |path| match open(path).and_then(|file| cache::forget(&file)) {
            // A file that is not written yet has nothing in the cache.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        let refused = self.touched_files().iter().find_map(|path| Outcome::of(forget(path)).refused);
        self.attempted(CacheMethod::Fadvise, Outcome { refused, command: None })
    }

    /// The result of `method`, from the `outcome` of each rank: done only if no rank was refused.
    pub(super) fn attempted(&self, method: CacheMethod, outcome: Outcome) -> Result<CacheAttempt, Stopped> {
        let attempt = self.gather(&outcome)?.map(|all| {
            let refused = all.iter().find_map(|outcome| outcome.refused.clone());
            let commands = all.into_iter().filter_map(|outcome| outcome.command).collect();
            CacheAttempt { method, done: refused.is_none(), detail: refused.unwrap_or_default(), commands }
        });
        Ok(self.broadcast(&attempt)?.expect("rank 0 gathers"))
    }

    /// Ranks follow each other client by client, so a shift by all ranks of the first one leads to another node (IOR's `-C`).
    fn read_other_rank(&mut self) -> CacheAttempt {
        let method = CacheMethod::ReadOtherRank;
        let several = self.case.seating.nodes() > 1;
        let (shift, detail) = match self.ranks.size() {
            1 => (0, "there is only one rank"),
            _ if several => (self.case.seating.first_on(1), "each rank reads what a rank of the next node wrote"),
            _ => (1, "all ranks share this node's page cache, so resident data stays resident"),
        };
        self.history.reads_shifted_by = shift;
        CacheAttempt { method, done: shift > 0, detail: detail.to_owned(), commands: Vec::new() }
    }
}

/// What a rank did for an attempt.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Why it was not done, where it was not.
    pub(super) refused: Option<String>,
    /// The command that it ran.
    pub(super) command: Option<CommandRun>,
}

impl Outcome {
    fn of(result: io::Result<()>) -> Self {
        Self { refused: result.err().map(|error| error.to_string()), command: None }
    }
}
