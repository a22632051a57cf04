//! The list in a workspace, which marks it: a line that says whose it is, and one with its [`Contents`].
//!
//! Not here: where it is kept, and removing what is on it.

use std::ffi::{CStr, CString};
use std::io;

use serde::{Deserialize, Serialize};

use super::contents::Contents;

/// The file that marks a workspace: a line of JSON that says whose it is, and one with its contents.
pub const LIST: &str = ".ioassay-workspace";

/// [`LIST`] as system calls want it.
pub const LIST_NAME: &CStr = c".ioassay-workspace";

/// What the first line of the list says.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mark {
    ioassay_workspace: u32,
    /// The run.
    pub run: String,
    /// What nobody but those who may read the list can know: another directory of that name is not taken for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// The list of a workspace: whose it is, and what will be in it.
pub fn list(run: &str, token: Option<String>, contents: &Contents) -> String {
    let contents = serde_json::to_string(contents).expect("our own types are JSON");
    format!("{}\n{contents}\n", mark_of(run, token))
}

/// The first line of the list.
pub fn mark_of(run: &str, token: Option<String>) -> String {
    let mark = Mark { ioassay_workspace: 2, run: run.to_owned(), token };
    serde_json::to_string(&mark).expect("our own types are JSON")
}

/// What a list says.
///
/// # Errors
/// If it is none, or not all of one.
pub fn parse(list: &[u8]) -> io::Result<(Mark, Contents)> {
    let end = list.iter().position(|&byte| byte == b'\n').ok_or(io::ErrorKind::InvalidData)?;
    Ok((serde_json::from_slice(&list[..end])?, serde_json::from_slice(&list[end..])?))
}

/// A name in the workspace as system calls want it. A list that names anything else was not written by us.
pub fn name_of_ours(name: &str) -> io::Result<CString> {
    if name.is_empty() || name.contains('/') || name == "." || name == ".." || name == LIST {
        return Err(io::Error::other("is not a name that ioassay gives to files"));
    }
    Ok(CString::new(name)?)
}
