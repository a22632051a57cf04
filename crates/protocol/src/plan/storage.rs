//! Where I/O goes and through which storage API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_false;

/// Where I/O goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// An existing directory of a mounted file system. The engine writes only inside a directory of its own below it.
    Directory(PathBuf),
    /// Files and trees at paths that the user named, as IOR and mdtest take them.
    InPlace(InPlace),
    /// A block device, whose contents are destroyed.
    Device(DeviceTarget),
    /// A place in an object store or behind another protocol, such as `s3://bucket/prefix?endpoint=http://host:9000` or
    /// `nfs://host/export/directory`. The engine writes only below a prefix or in a directory of its own. Credentials come
    /// from the environment, never from here.
    Url(String),
}

impl Target {
    /// Where it is, if it is a path of a node: a directory or a block device.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::InPlace(place) => Some(&place.directory),
            Self::Device(device) => Some(&device.path),
            Self::Url(_) => None,
        }
    }
}

/// Files and trees at paths that the user named, in directories that are the user's own: no directory of the run holds
/// them. What is there already is replaced only if it is known that ioassay, IOR or IOzone wrote it; what the case only
/// reads is removed only if it has ioassay's mark.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InPlace {
    /// An existing directory of the file system that holds them: what room and caches are asked of, and where a walk
    /// without a root begins.
    pub directory: PathBuf,
    /// The absolute paths of the files of each file set, one for each, in the order of their numbers.
    pub files: BTreeMap<String, Vec<PathBuf>>,
    /// Where each tree is.
    pub trees: BTreeMap<String, TreePlace>,
    /// Directories to be created where they are missing, each after the one that it is in.
    pub directories: Vec<PathBuf>,
    /// Replace and remove regular files that are there, of any origin.
    pub overwrite: bool,
    /// What was created stays when the case has ended.
    pub keep: bool,
}

/// Where a tree is that the user placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TreePlace {
    /// The directories that hold it. Where each rank has a tree of its own there may be several, used round-robin.
    pub containers: Vec<PathBuf>,
    /// What of it the case finds there.
    pub there: There,
    /// Items that it finds of each rank, the first in sequential order, where an earlier case did not create all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
}

/// What a case finds of a tree that the user placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum There {
    /// Nothing: a tree whose root is there already is another user's, and the case is refused.
    Nothing,
    /// Its directories: they are those of another tree of the plan, in the same containers, which creates them.
    Directories,
    /// Its directories and its items, from an earlier case.
    Everything,
}

/// A block device, whose contents are destroyed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceTarget {
    /// The device, for example `/dev/nvme1n1`.
    pub path: PathBuf,
    /// The same path again, as typed by the one who may lose what is on it.
    pub destroy_data: PathBuf,
}

/// The storage API and its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Name of the storage API: one of the engine's own, for example `posix`, or that of the plug-in.
    pub api: String,
    /// The absolute path of the library that has the API, where it is none of the engine's own
    /// (plugins/storage/ioassay_storage.h).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PathBuf>,
    /// Options of the plug-in, as texts. Keys and meanings are its own: `ioassay-engine api list`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Go past the page cache (`O_DIRECT`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub direct: bool,
    /// Through the page cache, whose pages are dropped as soon as they were moved (`RWF_DONTCACHE`). Where kernel or file
    /// system lack it, such a plan is refused before anything is written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncached: bool,
    /// With `direct`: leave it to the file system whether it takes transfers that are no whole sectors, as IOR and mdtest
    /// do. Otherwise such a plan is refused before anything is written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unaligned: bool,
    /// Transfers that each rank keeps in flight. 1: it waits for each before the next.
    #[serde(default = "default_one", skip_serializing_if = "is_one")]
    pub depth: u32,
    /// Pieces of memory that one call moves (`preadv`, `pwritev`). 1: `pread` and `pwrite`.
    #[serde(default = "default_one", skip_serializing_if = "is_one")]
    pub vectors: u32,
    /// How often a request is repeated that failed for the moment: the server was busy, or the connection was lost. 0: the
    /// first such failure ends the phase.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// How io_uring is used, where the API does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uring: Option<Uring>,
}

impl Storage {
    /// The storage API `api`, one transfer at a time, with nothing besides.
    pub fn of(api: &str) -> Self {
        Self {
            api: api.to_owned(),
            plugin: None,
            options: BTreeMap::new(),
            direct: false,
            uncached: false,
            unaligned: false,
            depth: 1,
            vectors: 1,
            retries: 0,
            uring: None,
        }
    }
}

/// How io_uring is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Uring {
    /// Transfers handed to the kernel, and awaited, together. 0: as many as there is room for.
    pub batch: u32,
    /// The kernel maps the buffers once and not for every transfer.
    pub registered_buffers: bool,
    /// The kernel looks the files up once and not for every transfer.
    pub registered_files: bool,
    /// A kernel thread takes the transfers, so that handing them over needs no system call; it takes a processor.
    pub sqpoll: bool,
    /// The kernel polls the device for completions; needs `direct` and a device that can.
    pub iopoll: bool,
}

fn default_one() -> u32 {
    1
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_one(value: &u32) -> bool {
    *value == 1
}
