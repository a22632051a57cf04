//! Whether a case has the room that it needs: in memory, in files, on the target.

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Plan;
use ioassay_units::{Bytes, count};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::case::memory;
use crate::plan::Sizes;
use crate::ranks::local::MeetingPlace;
use crate::storage::uncached;
use crate::workspace::{Room, Workspace, kept};
use crate::{failure, storage};

/// What the case needs must fit into memory and onto the target; storage APIs that keep no files need nothing there.
pub(super) fn check_room(plan: &Plan) -> Result<Room, Failure> {
    memory::check(plan, plan.rank_count())?;
    check_file_size(plan)?;
    let (bytes, files) = if storage::keeps_files(plan) { (plan.sure_bytes(), plan.sure_entries()) } else { (0, 0) };
    let (kept_bytes, kept_files) = kept::existing(plan);
    let room = Workspace::check(plan, bytes.saturating_sub(kept_bytes), files.saturating_sub(kept_files))?;
    plan.target.path().map_or(Ok(()), |target| uncached::check(plan, target))?;
    Ok(room)
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
    let message = format!("ulimit -f is {limit}, but the sparse shared-memory file of {ranks} extends to {needed}");
    Err(failure::plain("check limits", message, "run `ulimit -f unlimited`, or use one rank"))
}
