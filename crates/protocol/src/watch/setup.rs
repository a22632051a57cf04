//! `agent.json`: what an agent is asked, resolved from YAML by the control plane.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Version of the document.
    pub version: u32,
    /// Whose tables are read.
    pub tables: Tables,
    /// Whether the node's own counters are published too.
    pub node: bool,
    /// What a file server of the node counts. `None`: it is not read.
    pub servers: Option<Servers>,
    /// The contract, a file that may be replaced while the agent runs. `None`: no rules.
    pub contract: Option<PathBuf>,
    /// A directory on a file system that all nodes share, in which agents tell each other what is measured of rules that are for
    /// several nodes. `None`: each node is alone.
    pub share: Option<PathBuf>,
    /// The directory of a run of ioassay, whose phases are marked.
    pub run: Option<PathBuf>,
    /// Where documents go.
    pub sinks: Vec<Sink>,
    /// Where documents wait while a store is not available, and how much.
    pub spool: Option<Spool>,
}

/// How the counters of a file server are read and published: Lustre, NFS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    /// Jobs, and clients, of each target that are published by name: so many with most bytes, and so many with most requests.
    pub named: u32,
    /// How job ids are made, in the words of Lustre's `jobid_name`: `%e.%u`. `None`: as this node's `jobid_var` and
    /// `jobid_name` say.
    pub job_id: Option<String>,
    /// The directory in which `proc` and `sys` are: `/`, or one with a copy of them.
    pub root: PathBuf,
}

/// Whose tables an agent reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tables {
    /// Those of the recorders that start the agent. It ends when they have ended.
    Registered,
    /// Those of all recorded processes of the node that the agent may look at, until it is stopped.
    Node,
    /// Nobody's: the node and the run are watched, until the agent is stopped.
    None,
}

/// Where documents wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spool {
    /// A directory of the agent's own; it is created.
    pub directory: PathBuf,
    /// The most that all documents of a sink may take there, in bytes.
    pub most_bytes: u64,
}

/// A place that documents go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sink {
    /// Lines of JSON: on standard output, or in a file for each node in a directory.
    JsonLines {
        /// The directory; `None`: standard output.
        directory: Option<PathBuf>,
    },
    /// Parquet files in a directory, a folder for each kind.
    Parquet {
        /// The directory; it is created.
        directory: PathBuf,
        /// A file is closed after so many seconds.
        file_s: u32,
    },
    /// Elasticsearch or OpenSearch, through `_bulk`.
    Elasticsearch {
        /// How it is reached.
        server: Server,
        /// Names of indices begin with it: `PREFIX-KIND-2026.11.26`.
        prefix: String,
    },
    /// InfluxDB, as line protocol; VictoriaMetrics takes it too.
    Influxdb {
        /// How it is reached.
        server: Server,
        /// Where to write, in the address: `db=ioassay`, or `org=site&bucket=ioassay`.
        query: String,
        /// The path of the interface: `/write`, or `/api/v2/write`.
        path: String,
    },
    /// Prometheus, by remote write.
    PrometheusRemoteWrite {
        /// How it is reached.
        server: Server,
        /// How many names have series of their own.
        #[serde(default)]
        series: SeriesLimits,
    },
    /// Prometheus, which asks: an exporter.
    PrometheusExporter {
        /// A loopback address with a port, or the path of a Unix socket.
        listen: String,
        /// How many names have series of their own.
        #[serde(default)]
        series: SeriesLimits,
    },
    /// A plug-in of Mistral, which is started and gets alerts on its standard input.
    MistralPlugin {
        /// The program and its arguments.
        command: Vec<String>,
    },
}

/// How many names have series of their own in Prometheus. Those beyond are added up as `other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesLimits {
    /// Jobs: all values of one have one name.
    pub jobs: u32,
    /// Of each kind: devices, network links, mounts, rules, phases of runs.
    pub devices: u32,
}

impl Default for SeriesLimits {
    fn default() -> Self {
        Self { jobs: 64, devices: 64 }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its address: `https://host:9200`.
    pub url: String,
    /// A file that only its owner can read: a line `token TOKEN`, or `user NAME` and `password PASSWORD`, or `api-key KEY`.
    pub credentials: Option<PathBuf>,
    /// A file of certificates that are trusted besides those of the system.
    pub authorities: Option<PathBuf>,
    /// A file with a certificate and its key, by which the agent proves who it is.
    pub certificate: Option<PathBuf>,
}
