//! The records of a phase together: a phase has one for each of its jobs, and they come one by one.

use ioassay_protocol::events::{Event, PhaseRecord};
use ioassay_protocol::plan::{Plan, Step};

/// Records of a phase that is not complete yet.
#[derive(Debug, Default)]
pub struct Phases(Vec<PhaseRecord>);

impl Phases {
    /// The name of the phase and the records of all its jobs, once `event` of `plan` is the last of them.
    pub fn add<'p>(&mut self, plan: &'p Plan, event: &Event) -> Option<(&'p str, Vec<PhaseRecord>)> {
        let Event::Phase(record) = event else { return None };
        let Some(Step::Phase(phase)) = plan.steps.get(record.step as usize) else { return None };
        self.0.push((**record).clone());
        (self.0.len() >= phase.jobs.len()).then(|| (phase.name.as_str(), std::mem::take(&mut self.0)))
    }

    /// Another case begins.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}
