//! What the agent itself costs.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use procfs::process::Process;

use crate::clock::monotonic_ns;

/// The agent's processor time and memory.
#[derive(Debug)]
pub struct OwnUsage {
    processor_ns: u64,
    at_ns: u64,
}

/// What it took since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Processor time.
    pub processor_ns: u64,
    /// Resident memory now.
    pub resident_bytes: u64,
    /// The time in which it took that.
    pub elapsed_ns: u64,
}

impl OwnUsage {
    /// From now on.
    pub fn new() -> Self {
        Self { processor_ns: processor_ns(), at_ns: monotonic_ns() }
    }

    /// Since the last look.
    pub fn look(&mut self) -> Cost {
        let (processor, now_ns) = (processor_ns(), monotonic_ns());
        let resident = resident_bytes().unwrap_or_default();
        let cost = Cost {
            processor_ns: processor.saturating_sub(self.processor_ns),
            resident_bytes: resident,
            elapsed_ns: now_ns.saturating_sub(self.at_ns),
        };
        *self = Self { processor_ns: processor, at_ns: now_ns };
        cost
    }
}

impl Default for OwnUsage {
    fn default() -> Self {
        Self::new()
    }
}

fn processor_ns() -> u64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return 0 };
    (usage.user_time().num_nanoseconds() + usage.system_time().num_nanoseconds()) as u64
}

fn resident_bytes() -> Option<u64> {
    let memory = Process::myself().and_then(|process| process.statm()).ok()?;
    Some(memory.resident * procfs::page_size())
}
