//! What a plan can say of cold caches: how they are emptied, on the client nodes and on servers.
//!
//! Not here: how it is done, what was still warm afterwards ([`crate::events::ColdCache`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CacheMethod;

/// Empty the caches between a write and a read, then measure what is still resident.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheStep {
    /// Commands for servers, one after the other, before anything is done on the clients; rank 0 runs them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Ways to try, in this order, until nothing of the file sets is resident. May be empty where there are hooks.
    pub attempts: Vec<CacheMethod>,
    /// What `remount` runs. Where, and only where, it is one of the ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remount: Option<SiteCommand>,
}

impl CacheStep {
    /// These ways to try, and no commands.
    pub fn of(attempts: Vec<CacheMethod>) -> Self {
        Self { attempts, ..Self::default() }
    }
}

/// A command for a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The server, as failures and events name it. Left out: the command is for no server in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What rank 0 runs on its own node: the way to the server and what is to be done there.
    pub command: SiteCommand,
}

/// A command that the site gave. It ends the case where it fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteCommand {
    /// The program and its arguments; no shell takes them apart.
    pub words: Vec<String>,
    /// How long it may take. Then it is killed with everything that it has started, and has failed.
    pub time_limit_ns: u64,
}
