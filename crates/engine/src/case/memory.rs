//! Whether the ranks of a node have the memory that a plan asks for, before any of it is allocated.

use ioassay_host::memory;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Plan;
use ioassay_units::{Bytes, count};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use procfs::process::Process;

use crate::failure;
use crate::work::kind_of;

const REMEDY: &str = "use fewer ranks, smaller transfers or a lower depth, reserve less memory (-M), or raise the \
                      limit";

/// What stays free for everything else: a thirty-second.
const RESERVE: u64 = 32;

/// An error if `ranks` ranks of `plan` need more memory on this node than they may have. Buffers beyond half of it would
/// make the node swap, and then everything measures that; what is reserved on purpose may take more.
pub(crate) fn check(plan: &Plan, ranks: u32) -> Result<(), Failure> {
    let buffers = plan.jobs().map(|job| kind_of(&job.work).buffers_bytes(plan, job)).max().unwrap_or(0);
    let of_rank = buffers.saturating_add(plan.memory_bytes);
    let refuse = |needed: u64, whose: &str, limit: u64| {
        let [needed, limit] = [needed, limit].map(|bytes| Bytes(bytes).about());
        let asked = if plan.memory_bytes > 0 { "buffers and reserved memory" } else { "buffers" };
        let message =
            format!("the {asked} of {} need {needed} of memory, but {whose} is {limit}", count(ranks, "rank"));
        Err(failure::plain("check memory", message, REMEDY))
    };
    if let Some(limit) = memory::limit() {
        let [buffers, all] = [buffers, of_rank].map(|bytes| bytes.saturating_mul(ranks.into()));
        if buffers > limit.bytes / 2 || all > limit.bytes - limit.bytes / RESERVE {
            return refuse(all, &limit.whose, limit.bytes);
        }
    }
    let (limit, _) = getrlimit(Resource::RLIMIT_AS).unwrap_or((RLIM_INFINITY, RLIM_INFINITY));
    let mapped = Process::myself().and_then(|process| process.stat()).map_or(0, |process| process.vsize);
    if limit != RLIM_INFINITY && of_rank.saturating_add(mapped) > limit {
        return refuse(of_rank.saturating_mul(ranks.into()), "ulimit -v for each of them", limit);
    }
    Ok(())
}
