//! What the targets of plans have, for `check`: a study has one target and up to 10,000 plans for it.

use std::path::PathBuf;
use std::time::Duration;

use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::events::{Checked, Failure};
use ioassay_protocol::plan::Plan;

use super::case::target_of;
use super::room::check_room;
use crate::plan::Sizes;
use crate::survey::path_timeout;
use crate::work::amounts;

/// How long the target may take to answer one call of `check` or `clean`, where the plan says nothing.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// Plans whose target is inspected by one thread, which may hang: a thread for each takes longer than inspecting.
pub(super) const PLANS_PER_THREAD: usize = 100;

/// The targets of the plans that were checked so far.
pub(super) struct Targets {
    clock: Clock,
    /// The target of the node that was described last.
    described: Option<PathBuf>,
    /// Why a target was silent. None is asked again then: each would take as long.
    silent: Option<Failure>,
}

impl Targets {
    /// None yet; `clock` is described with the node.
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, described: None, silent: None }
    }

    /// What each of `plans` needs, and what its target has. The node is left out where it is that of the plan before.
    pub(super) fn check(&mut self, plans: Vec<Plan>) -> Vec<Result<Checked, Failure>> {
        let (count, Some(first)) = (plans.len(), plans.first()) else { return Vec::new() };
        if let Some(silent) = &self.silent {
            return vec![Err(silent.clone()); count];
        }
        let limit = plans.iter().map(limit_of).max().unwrap_or(ANSWER);
        let (target, mut described, clock) = (target_of(first).to_owned(), self.described.clone(), self.clock);
        let look = move || {
            let checked = plans.iter().map(|plan| checked(plan, &mut described, &clock)).collect();
            (checked, described)
        };
        match path_timeout::with_timeout(limit, &target, || false, look) {
            Ok((checked, described)) => {
                self.described = described;
                checked
            }
            Err(silent) => vec![Err(self.silent.insert(silent).clone()); count],
        }
    }
}

fn limit_of(plan: &Plan) -> Duration {
    plan.time_limit_ns.map_or(ANSWER, Duration::from_nanos)
}

/// What `plan` needs, and what its target has, with the node where its target is not the one `described` last.
fn checked(plan: &Plan, described: &mut Option<PathBuf>, clock: &Clock) -> Result<Checked, Failure> {
    let room = check_room(plan)?;
    let target = target_of(plan);
    let is_new = described.as_deref() != Some(target);
    *described = Some(target.to_owned());
    Ok(Checked {
        case: plan.case.clone(),
        file_set_bytes: plan.stored_bytes(),
        written_bytes: plan.written_bytes(),
        may_write_less: amounts::may_write_less(plan),
        may_write_again: amounts::may_write_again(plan),
        files: plan.entries(),
        free_bytes: room.free_bytes,
        free_inodes: room.free_inodes,
        node: is_new.then(|| environment::of_this_node(plan.target.path(), clock)),
    })
}
