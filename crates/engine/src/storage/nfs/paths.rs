//! From full paths to a directory's handle and a name in it.
//!
//! Every directory on the way is looked up once and its handle kept, as a kernel's client keeps it; otherwise the depth of
//! a path would be measured with every name. Entries themselves are always asked about.
//! Not here: what is done with a name.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use super::library::{Handle, Kind, Named};
use super::location::Location;
use super::session::Session;

/// More directories than this are looked up again.
const MOST_KEPT: usize = 1 << 16;

/// A session and the directories that it has found.
pub(super) struct Paths {
    pub session: Session,
    /// What all paths begin with, with a slash at its end.
    base: Vec<u8>,
    /// By their path.
    directories: HashMap<Vec<u8>, Handle>,
}

impl Paths {
    /// The paths below `location`, which `session` has mounted.
    pub fn new(session: Session, location: &Location) -> Self {
        let mut base = location.base().as_os_str().as_bytes().to_vec();
        if base.last() != Some(&b'/') {
            base.push(b'/');
        }
        Self { session, base, directories: HashMap::new() }
    }

    /// The directory that `path` is in, and its name there.
    pub fn place<'a>(&mut self, path: &'a CStr) -> io::Result<(Handle, &'a CStr)> {
        let bytes = path.to_bytes();
        let name = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let directory = self.directory(&bytes[..name])?;
        let name = CStr::from_bytes_with_nul(&path.to_bytes_with_nul()[name..]).expect("the end of a C string");
        Ok((directory, name))
    }

    /// Forgets the directory at `path`, which is gone.
    pub fn forget(&mut self, path: &CStr) {
        let mut path = path.to_bytes().to_vec();
        path.push(b'/');
        self.directories.remove(&path);
    }

    /// The directory whose path, with a slash at its end, is `path`.
    fn directory(&mut self, path: &[u8]) -> io::Result<Handle> {
        if let Some(&known) = self.directories.get(path) {
            return Ok(known);
        }
        if path == self.base {
            return Ok(self.session.root());
        }
        let Some(below) = path.strip_prefix(self.base.as_slice()).and_then(|below| below.strip_suffix(b"/")) else {
            return Err(io::Error::other(format!("{} is not below the target", path.escape_ascii())));
        };
        let name = below.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let above = self.directory(&path[..self.base.len() + name])?;
        let name = std::ffi::CString::new(&below[name..])?;
        let object = self.session.look_up(Named { directory: &above, name: &name })?;
        let (handle, Kind::Directory) = object else {
            return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
        };
        if self.directories.len() == MOST_KEPT {
            self.directories.clear();
        }
        self.directories.insert(path.to_vec(), handle);
        Ok(handle)
    }
}
