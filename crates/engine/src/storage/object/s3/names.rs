//! Objects as the entries of a tree: there are no directories, so nothing is created before an object.
//!
//! A create does not ask whether there is an object of that name already: S3 cannot do that in one request.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use super::S3;
use crate::storage::memory::Memory;
use crate::storage::names::{Content, Entry, Names, Presence};

pub(super) struct S3Names(pub Rc<S3>);

impl S3Names {
    fn key(&self, entry: Entry<'_>) -> io::Result<String> {
        let path = entry.name.to_str().map_err(io::Error::other)?;
        self.0.location.key(Path::new(path))
    }

    fn put(&self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        let key = self.key(entry)?;
        self.0.wait(|requests| requests.put(&key, Memory::read_from(content.bytes)))
    }
}

impl Names for S3Names {
    fn open_directory(&mut self, _path: &CStr) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn create_directory(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn remove_directory(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Ok(())
    }

    fn create(&mut self, entry: Entry<'_>, _presence: Presence, content: Content<'_>) -> io::Result<()> {
        self.put(entry, content)
    }

    fn make_node(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let key = self.key(entry)?;
        self.0.wait(|requests| requests.head(&key)).map(drop)
    }

    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()> {
        // Opening alone is no request.
        if content.is_empty() {
            return self.stat(entry);
        }
        let key = self.key(entry)?;
        let bytes = self.0.wait(|requests| requests.get(&key, 0, Memory::written_to(content)))?;
        if bytes < content.len() {
            let what = format!("the object has only {bytes} of {} bytes", content.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(())
    }

    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        self.put(entry, content)
    }

    fn rename(&mut self, _from: Entry<'_>, _to: Entry<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let key = self.key(entry)?;
        self.0.wait(|requests| requests.delete(&key))
    }
}
