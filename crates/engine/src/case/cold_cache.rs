//! The cold-cache step as one rank lives it, and how much of the file set is resident.

use std::io;
use std::path::PathBuf;

use ioassay_contract::events::{CacheAttempt, ColdCache, Event};
use ioassay_contract::plan::CacheMethod;
use ioassay_contract::plan::storage::Target;
use serde::{Deserialize, Serialize};

use super::Rank;
use crate::cache::{self, residency};
use crate::plan::Sizes;
use crate::ranks::{Ranks, Stopped};
use crate::workload::layout::Geometry;

impl<R: Ranks> Rank<'_, R> {
    /// Tries the ways of `attempts` until next to nothing of the file set is resident, and says what it did.
    pub(super) fn cold_cache(&mut self, step: u32, attempts: &[CacheMethod]) -> Result<(), Stopped> {
        let mut tried = Vec::new();
        let mut resident = self.resident(None)?;
        for &method in attempts {
            let enough = resident.bytes.is_some_and(|bytes| bytes * 100 <= self.case.plan.file_sets_bytes());
            // Of files that a stonewall left short too little may be resident for this to tell, so something must be done.
            if enough && tried.iter().any(|attempt: &CacheAttempt| attempt.done) {
                break;
            }
            let attempt = match method {
                CacheMethod::DropCaches => self.drop_caches()?,
                CacheMethod::Fadvise => self.fadvise()?,
                CacheMethod::ReadOtherRank => self.read_other_rank(),
            };
            tried.push(attempt);
            resident = self.resident(None)?;
        }
        if self.ranks.rank() == 0 {
            self.write(&Event::ColdCache(ColdCache {
                step,
                attempts: tried,
                measured_with: resident.measured_with,
                resident_bytes: resident.bytes,
                file_set_bytes: self.case.plan.file_sets_bytes(),
                reads_shifted_by_ranks: self.reads_shifted_by,
            }));
        }
        Ok(())
    }

    /// One rank does it for the whole node.
    fn drop_caches(&self) -> Result<CacheAttempt, Stopped> {
        let mut outcome = Outcome::default();
        if self.case.is_first_on_node(self.ranks.rank()) {
            outcome = Outcome::of(cache::drop_caches(self.case.workspace.path()));
        }
        self.attempted(CacheMethod::DropCaches, outcome)
    }

    /// Each rank does it for the files that it looks after.
    fn fadvise(&self) -> Result<CacheAttempt, Stopped> {
        let refused = self.own_files(None).find_map(|own| Outcome::of(cache::forget(&own.path)).refused);
        self.attempted(CacheMethod::Fadvise, Outcome { refused })
    }

    /// What came of `method` where each rank has its `own` outcome: done only if nobody was refused.
    fn attempted(&self, method: CacheMethod, own: Outcome) -> Result<CacheAttempt, Stopped> {
        let refused = self.gather(&own)?.and_then(|all| all.into_iter().find_map(|own| own.refused));
        let outcome: Outcome = self.broadcast(&Outcome { refused })?;
        Ok(CacheAttempt { method, done: outcome.refused.is_none(), detail: outcome.detail() })
    }

    fn read_other_rank(&mut self) -> CacheAttempt {
        let method = CacheMethod::ReadOtherRank;
        if self.ranks.size() == 1 {
            return CacheAttempt { method, done: false, detail: "there is only one rank".to_owned() };
        }
        self.reads_shifted_by = 1;
        let detail = match self.case.nodes.len() {
            1 => "all ranks share this node's cache, so what is resident stays warm",
            _ => "each rank reads what the next rank wrote",
        };
        CacheAttempt { method, done: true, detail: detail.to_owned() }
    }

    /// How much of one file set, or of all, is in the page cache: every rank looks at its files, all learn the sum.
    pub(super) fn resident(&self, set: Option<&str>) -> Result<Resident, Stopped> {
        let mut own = Resident { bytes: Some(0), measured_with: "none".to_owned() };
        for Extent { path, begin_bytes, bytes } in self.own_files(set) {
            match residency::resident_bytes(&path, begin_bytes, bytes) {
                Ok((bytes, with)) => {
                    own.bytes = own.bytes.map(|sum| sum + bytes);
                    with.name().clone_into(&mut own.measured_with);
                }
                // A file that is not written yet has nothing in the cache.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => own.bytes = None,
            }
        }
        let sum = self.gather(&own)?.map(|all| Resident {
            bytes: all.iter().map(|resident| resident.bytes).sum::<Option<u64>>().filter(|_| self.keeps_files()),
            measured_with: all.into_iter().map(|resident| resident.measured_with).next().unwrap_or_default(),
        });
        self.broadcast(&sum.unwrap_or(own))
    }

    /// The files that this rank looks after between phases: those of its part, where it is the first to share them.
    pub(super) fn own_files(&self, only: Option<&str>) -> impl Iterator<Item = Extent> {
        let (rank, ranks) = (self.ranks.rank(), self.ranks.size());
        let sets = self.case.plan.files.iter().filter(move |(name, _)| only.is_none_or(|only| only == *name));
        // What lies behind a URL is in no cache of this node.
        let local = !matches!(self.case.plan.target, Target::Url(_));
        sets.filter(move |_| local && self.keeps_files()).flat_map(move |(name, set)| {
            let geometry = Geometry::of(set, ranks);
            let part = set.ranks.map_or(Some(rank), |range| range.member(rank));
            let part = part.filter(|&part| geometry.looks_after(part));
            part.into_iter().flat_map(move |part| {
                (0..geometry.files_per_rank).map(move |nth| {
                    let file = geometry.file(part, nth);
                    let (path, begin_bytes) = self.case.workspace.place_of(&self.case.plan.case, name, &geometry, file);
                    Extent { path, begin_bytes, bytes: geometry.file_bytes }
                })
            })
        })
    }

    /// Of all jobs or of none.
    fn keeps_files(&self) -> bool {
        self.case.capabilities(&self.case.plan.storage).files
    }
}

/// Where one file of the case is.
pub(super) struct Extent {
    /// Its path.
    pub(super) path: PathBuf,
    /// Where it begins, on a device.
    begin_bytes: u64,
    /// Its planned size.
    bytes: u64,
}

/// Whether something that the system may refuse was done.
#[derive(Default, Serialize, Deserialize)]
struct Outcome {
    refused: Option<String>,
}

impl Outcome {
    fn of(result: io::Result<()>) -> Self {
        Self { refused: result.err().map(|error| error.to_string()) }
    }

    fn detail(self) -> String {
        self.refused.unwrap_or_default()
    }
}

/// What was found in the page cache, and with what.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Resident {
    /// Bytes in the page cache; `None` where nothing could measure it.
    pub(super) bytes: Option<u64>,
    measured_with: String,
}
