//! The tree that a metadata job works on, as a place on the target.
//!
//! Not here: what of it is there ([`crate::work::run::tree_state`]).

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;

use ioassay_protocol::events::Failure;

use crate::failure;
use crate::workload::tree::{Entries, EntryPath, Shape};

/// A tree on the target.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// What is in it.
    pub shape: Shape,
    /// The directory in the workspace that holds it.
    pub container: CString,
}

impl Tree {
    /// Full paths of `entries`.
    pub fn paths(&self, entries: Entries) -> EntryPath {
        EntryPath::new(self.shape, Some(self.container.as_bytes()), entries)
    }
}

/// A failure of `operation` on `path`.
#[cold]
pub(super) fn failed(operation: &str, path: &CStr, error: &io::Error) -> Box<Failure> {
    let path = OsStr::from_bytes(path.to_bytes());
    failure::boxed_on_path(operation, path.as_ref(), error)
}
