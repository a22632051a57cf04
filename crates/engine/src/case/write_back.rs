//! Waiting, before a phase, for what was written before it.

use ioassay_host::counters;
use ioassay_protocol::events::Settled;
use ioassay_protocol::plan::Phase;
use ioassay_protocol::plan::storage::Target;

use super::Rank;
use crate::cache;
use crate::failure;
use crate::ranks::{Ranks, Stopped};

impl<R: Ranks> Rank<'_, R> {
    /// Has each node write out all dirty data of the target, where `phase` is to settle. A failed write-back ends the
    /// case: the write was already reported as successful. Rank 0 gets the time and bytes.
    pub(super) fn settle(&self, phase: &Phase) -> Result<Option<Settled>, Stopped> {
        // What lies behind a URL is in no page cache.
        if !phase.settle || matches!(self.case.plan.target, Target::Url(_)) {
            return Ok(None);
        }
        let here = self.is_first_on_node().then(|| {
            let (dirty_bytes, before_ns) = (counters::dirty_bytes(), self.case.clock.now_ns());
            let path = self.case.workspace.path();
            let target = self.case.workspace.open_to_read(path);
            if let Err(error) = target.and_then(|target| cache::write_out(&target)) {
                self.ranks.fail(&failure::of_rank(
                    failure::on_path("syncfs", path, &error),
                    self.ranks.rank(),
                    &phase.name,
                ));
            }
            Settled { waited_ns: self.case.clock.now_ns() - before_ns, dirty_bytes }
        });
        let all = self.gather(&here)?;
        self.check_stopped()?;
        Ok(all.and_then(|all| {
            all.into_iter().flatten().reduce(|all, node| Settled {
                waited_ns: all.waited_ns.max(node.waited_ns),
                dirty_bytes: all.dirty_bytes.zip(node.dirty_bytes).map(|(all, node)| all + node),
            })
        }))
    }
}
