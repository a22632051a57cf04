//! What must not be asked of ranks that do their calls together: anything that lets one of them do more calls than
//! another, which would then wait for it for ever.

use ioassay_protocol::plan::data::{DataWork, Fsync, Order, Transfer};
use ioassay_protocol::plan::{Job, Plan};

use crate::refusal::Refusal;
use crate::work::sizes::is_walled;
use crate::work::storage::JobStorage;
use crate::workload::layout::Geometry;

/// Refuses work on shared files after which ranks might have done a different number of collective calls.
pub(super) fn work(
    key: &str,
    plan: &Plan,
    job: &Job,
    work: &DataWork,
    storage: &JobStorage<'_>,
    geometry: &Geometry,
) -> Result<(), Refusal> {
    let (api, can) = (&storage.asked.api, &storage.can);
    if geometry.sharers == 1 || !(can.collective_files || can.collective_transfers) {
        return Ok(());
    }
    let job_key = key.trim_end_matches(".work");
    let by_time = match (job.limit.stonewall_ns, job.limit.minimum_ns) {
        (Some(_), _) => Some("limit.stonewall_ns"),
        (None, Some(_)) => Some("limit.minimum_ns"),
        (None, None) => None,
    };
    let apart = "lets ranks stop at different transfers";
    if let Some(limit) = by_time.filter(|_| geometry.files_per_rank > 1) {
        let problem = format!("{apart}, but with {api} all ranks that share a file must open and close it together");
        return Err(Refusal::new(format!("{job_key}.{limit}"), problem, "use files_per_rank 1, or leave it out"));
    }
    if by_time.is_some() && matches!(work.fsync, Fsync::EveryWrites(_)) {
        let problem = format!("a time limit {apart}, but with {api} all ranks that share a file must sync it together");
        return Err(Refusal::new(format!("{key}.fsync"), problem, "use at-close, or no time limit"));
    }
    if !can.collective_transfers {
        return Ok(());
    }
    let refuse = |key: String, what: &str| {
        let problem = format!(
            "{what}, but with these options of {api} all ranks that share a file must make each transfer together"
        );
        Err(Refusal::new(key, problem, "leave it out, or use independent transfers or N-N"))
    };
    if let Some(limit) = by_time {
        return refuse(format!("{job_key}.{limit}"), apart);
    }
    if matches!(work.transfer, Transfer::Mixed(_)) {
        return refuse(format!("{key}.transfer"), "one rank would read while another writes");
    }
    if matches!(work.order, Order::IorShuffled(_)) {
        return refuse(format!("{key}.order"), "dealing transfers out at random gives some ranks more than others");
    }
    if work.transfer.reads() && is_walled(plan, &work.files) {
        return refuse(format!("{key}.files"), "a stonewall let some ranks write more of the files than others");
    }
    Ok(())
}
