//! Several nodes on one file system: whether each sees the workspace that one of them has created.
//!
//! A client may remember for seconds what a name was before: nothing, or the directory of the case before. And what is
//! mounted on another node may be another file system altogether.

use std::time::{Duration, Instant};

use super::Rank;
use crate::failure;
use crate::ranks::{Ranks, Stopped};
use crate::work::run::pacing::POLL_INTERVAL;

/// Twice as long as an NFS client remembers a directory by default (`acdirmax`).
const FORGOTTEN_BY_THEN: Duration = Duration::from_secs(120);

impl<R: Ranks> Rank<'_, R> {
    /// Returns when this rank sees the workspace, if it is a directory of a mounted file system, and holds it open. A rank that
    /// does not come to see it ends the case.
    pub(super) fn wait_until_visible(&self) -> Result<(), Stopped> {
        // What a forked rank has inherited is open through the mount of the first node.
        if self.node() > 0 {
            self.case.workspace.release();
        }
        self.wait_for_workspace()
    }

    /// Returns when this rank holds the workspace open.
    pub(super) fn wait_for_workspace(&self) -> Result<(), Stopped> {
        let begin = Instant::now();
        while let Err(error) = self.case.workspace.root() {
            self.check_stopped()?;
            if begin.elapsed() > FORGOTTEN_BY_THEN {
                self.ranks.fail(&failure::unseen(&self.case.workspace.sample(), &error));
                return Err(Stopped);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}
