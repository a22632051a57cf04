//! `contract.json`: rules for the I/O of jobs, resolved from YAML by the control plane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A day: the longest window of a rule.
pub const LONGEST_WINDOW_S: u32 = 86_400;

/// The rules that an agent enforces. A new document replaces the one before; rules keep their state by their label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Version of the document.
    pub version: u32,
    /// The rules. Their labels differ.
    pub rules: Vec<Rule>,
}

/// A rule: which calls it is about, what is measured of them, and how much of that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name in alerts.
    pub label: String,
    /// What follows when more than that is measured.
    pub action: Action,
    /// Whose calls are added up.
    pub scope: Scope,
    /// Which jobs it is for.
    #[serde(default)]
    pub jobs: Jobs,
    /// An absolute path: the rule is about it and everything beneath it. `None`: about all files.
    pub path: Option<String>,
    /// Classes of calls, in the recorder's words (`read`, `stream read`). Empty where the measure needs none.
    pub calls: Vec<String>,
    /// The smallest transfer that counts, in bytes.
    pub least_bytes: u64,
    /// The largest transfer that counts, in bytes. `None`: any.
    pub most_bytes: Option<u64>,
    /// What is measured.
    pub measure: Measure,
    /// What is allowed within the window, in the unit of the measure.
    pub limit: u64,
    /// The length of a window, in seconds.
    pub window_s: u32,
}

/// The jobs that a rule is for: those that meet all conditions here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Jobs {
    /// Users, by number: the job is one of theirs. Empty: all.
    pub users: Vec<u32>,
    /// Groups, by number: the job's processes are in one of them. Empty: all.
    pub groups: Vec<u32>,
    /// Names of projects (accounts) in the scheduler, with `*`, `?` and `[a-z]`. Empty: all.
    pub projects: Vec<String>,
    /// Names of jobs in the scheduler, with `*`, `?` and `[a-z]`. Empty: all.
    pub names: Vec<String>,
    /// The fewest nodes that the job has; 0: any.
    pub least_nodes: u32,
    /// The most nodes that the job has. `None`: any.
    pub most_nodes: Option<u32>,
}

/// What follows when a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// An alert.
    Monitor,
    /// The processes of the scope are held to the limit together. Of the measures, `bandwidth` and `count` can be.
    Throttle,
}

/// Whose calls a rule adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Those of each job on a node by itself.
    Job,
    /// Those of all jobs on a node together.
    Node,
    /// Those of each job on all its nodes together.
    WholeJob,
    /// Those of all jobs of each user on all nodes together.
    User,
}

impl Scope {
    /// Whether calls on several nodes are added up, for which their agents tell each other what they measure.
    pub fn is_of_several_nodes(self) -> bool {
        matches!(self, Self::WholeJob | Self::User)
    }
}

/// What a rule measures within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Bytes that were moved.
    Bandwidth,
    /// Calls.
    Count,
    /// The shortest time that a call took, in nanoseconds. The limit is what every call may take at most.
    MinimumLatency,
    /// The mean time of a call, in nanoseconds.
    MeanLatency,
    /// The longest time that a call took, in nanoseconds.
    MaximumLatency,
    /// The time of all calls, added up over processes, in nanoseconds.
    TotalLatency,
    /// How far transfers began from the end of the one before, added up, in bytes.
    SeekDistance,
    /// Resident memory of the processes, in bytes.
    ResidentMemory,
    /// Virtual memory of the processes, in bytes.
    VirtualMemory,
    /// Processor time in programs, in nanoseconds.
    UserTime,
    /// Processor time in the kernel, in nanoseconds.
    SystemTime,
    /// Time in which processes waited for block devices, in nanoseconds.
    IoWaitTime,
}

impl Measure {
    /// Whether it is measured of calls; the others are of whole processes.
    pub fn is_of_calls(self) -> bool {
        !matches!(
            self,
            Self::ResidentMemory | Self::VirtualMemory | Self::UserTime | Self::SystemTime | Self::IoWaitTime
        )
    }
}
