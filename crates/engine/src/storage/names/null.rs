//! Directory entries that are not there: every operation does nothing, at once.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use super::{Content, Entry, Names, Presence};
use crate::storage::NameCapabilities;

/// What they can do: everything, so that it can be seen what each costs in the engine.
pub(in crate::storage) const CAPABILITIES: NameCapabilities =
    NameCapabilities { directories: true, openat: true, mknod: true, rename: true };

/// Without state: there is nothing to remember.
#[derive(Debug, Default)]
pub(in crate::storage) struct NullNames;

impl Names for NullNames {
    fn open_directory(&mut self, _path: &CStr) -> io::Result<OwnedFd> {
        // Any directory does: nothing is looked for in it.
        Ok(File::open("/")?.into())
    }

    fn create_directory(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn remove_directory(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn create(&mut self, _entry: Entry<'_>, _presence: Presence, _content: Content<'_>) -> io::Result<()> {
        Ok(())
    }

    fn make_node(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn stat(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn read(&mut self, _entry: Entry<'_>, _content: &mut [u8]) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, _entry: Entry<'_>, _content: Content<'_>) -> io::Result<()> {
        Ok(())
    }

    fn rename(&mut self, _from: Entry<'_>, _to: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }
}
