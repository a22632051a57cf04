//! `front-end.json`: what a front end was asked, and the cases that it made of it.
//!
//! A front end runs without the control plane, so it writes no `run.json`. This document, with the plan and the
//! events of each case beside it, is what the control plane makes one from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontEnd {
    /// Version of the document.
    pub version: u32,
    /// Version of the engine.
    pub engine_version: String,
    /// The tool whose command line it was.
    pub tool: Tool,
    /// The command line, the tool's name first, without what is ioassay's own.
    pub command: Vec<String>,
    /// The directory in which it was given.
    pub working_directory: String,
    /// Identifier of the run.
    pub run: String,
    /// By how much amounts were divided (`IOASSAY_SCALE_DOWN`); 1 for what the command line says.
    pub scale_down: u64,
    /// Wall-clock time in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The same at the end; `None` while it runs, or after it was killed.
    pub ended_unix_ns: Option<u64>,
    /// The exit code, once it has ended.
    pub exit_code: Option<u8>,
    /// The cases, in the order in which they run. The plan and the events of each are in `logs/ID/`.
    pub cases: Vec<FrontEndCase>,
}

/// The tools that have a front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// IOR.
    Ior,
    /// mdtest.
    Mdtest,
    /// IOzone.
    Iozone,
    /// The Lustre I/O kit's obdfilter-survey.
    ObdfilterSurvey,
    /// The IO500.
    Io500,
}

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 5] = [Self::Ior, Self::Mdtest, Self::Iozone, Self::ObdfilterSurvey, Self::Io500];

    /// Its name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ior => "ior",
            Self::Mdtest => "mdtest",
            Self::Iozone => "iozone",
            Self::ObdfilterSurvey => "obdfilter-survey",
            Self::Io500 => "io500",
        }
    }
}

/// One case of a front end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontEndCase {
    /// Identifier, unique in the run; names its folder under `logs/`.
    pub id: String,
    /// What cases have in common that are repetitions of each other, for example `test-0`.
    pub workload: String,
    /// 1, 2, …
    pub repetition: u32,
}
