//! Whether a case has the room that it needs: in memory, in files, on the target.

use ioassay_contract::events::Failure;
use ioassay_contract::plan::{Plan, Work};
use ioassay_units::{Bytes, count};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::plan::{Jobs, Sizes};
use crate::ranks::local::MeetingPlace;
use crate::workspace::{Room, Workspace};
use crate::{environment, failure, storage};

/// True if its jobs keep what they write, which all of them do or none.
pub(super) fn keeps_files(plan: &Plan) -> bool {
    storage::of_plan(&plan.storage.api).capabilities().files
}

/// What the case needs must fit into memory and onto the target; storage APIs that keep no files need nothing there.
pub(super) fn check_room(plan: &Plan) -> Result<Room, Failure> {
    check_memory(plan)?;
    check_file_size(plan)?;
    let (bytes, files) = if keeps_files(plan) { (plan.sure_bytes(), plan.sure_entries()) } else { (0, 0) };
    Workspace::check(plan, bytes, files)
}

/// Buffers beyond half of the memory would make the node swap, and then everything measures that.
fn check_memory(plan: &Plan) -> Result<(), Failure> {
    let of_rank = plan.jobs().map(|job| match &job.work {
        Work::Data(work) => plan.files[&work.files].transfer_bytes * u64::from(plan.storage_of(job).depth),
        Work::Metadata(_) | Work::Find(_) => 0,
    });
    let needed = of_rank.max().unwrap_or(0).saturating_mul(plan.rank_count().into());
    let memory = environment::memory_bytes();
    if memory == 0 || needed <= memory / 2 {
        return Ok(());
    }
    let [needed, memory] = [needed, memory].map(|bytes| Bytes(bytes).about());
    let message = format!("the buffers of {} need {needed} of {memory} of memory", count(plan.rank_count(), "rank"));
    Err(failure::plain("check memory", message, "use fewer ranks or a smaller transfer"))
}

/// Ranks that could not gather what they measured would find it out at the end of their first phase.
fn check_file_size(plan: &Plan) -> Result<(), Failure> {
    let needed = MeetingPlace::file_bytes(plan.rank_count());
    let (limit, _) = getrlimit(Resource::RLIMIT_FSIZE).unwrap_or((RLIM_INFINITY, RLIM_INFINITY));
    if needed <= limit {
        return Ok(());
    }
    let [needed, limit] = [needed, limit].map(|bytes| Bytes(bytes).about());
    let ranks = count(plan.rank_count(), "rank");
    let message = format!("ulimit -f is {limit}, and {ranks} meet in a file in memory that reaches to {needed}");
    Err(failure::plain("check limits", message, "ulimit -f unlimited, or use one rank"))
}
