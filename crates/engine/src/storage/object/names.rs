//! Objects as the entries of a tree.
//!
//! Where the protocol has no directories there is nothing to create before an object and nothing to remove after it.
//! A create does not ask whether there is an object of that name already: no protocol does that in one request.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use bytes::{Buf, Bytes};

use super::client::Client;
use crate::storage::names::{Content, Entry, Names, Presence};

pub(super) struct ObjectNames {
    client: Rc<Client>,
}

impl ObjectNames {
    /// By means of `client`.
    pub fn new(client: Rc<Client>) -> Self {
        Self { client }
    }

    fn key(&self, entry: Entry<'_>) -> io::Result<String> {
        let path = entry.name.to_str().map_err(io::Error::other)?;
        self.client.location().key(Path::new(path))
    }

    fn directory_key(&self, entry: Entry<'_>) -> io::Result<String> {
        Ok(self.key(entry)? + "/")
    }

    fn put(&self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        let (key, bytes) = (self.key(entry)?, Bytes::copy_from_slice(content.bytes));
        self.client.wait(self.client.operator().write(&key, bytes)).map(drop)
    }
}

impl Names for ObjectNames {
    fn open_directory(&mut self, _path: &CStr) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let protocol = self.client.location().protocol();
        // Objects without directories have only names with slashes in them.
        if !protocol.directories {
            return Ok(());
        }
        self.client.wait(self.client.operator().create_dir(&self.directory_key(entry)?))
    }

    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let protocol = self.client.location().protocol();
        if !protocol.directories {
            return Ok(());
        }
        self.client.wait(self.client.operator().delete(&self.directory_key(entry)?))
    }

    fn create(&mut self, entry: Entry<'_>, _presence: Presence, content: Content<'_>) -> io::Result<()> {
        self.put(entry, content)
    }

    fn make_node(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.client.wait(self.client.operator().stat(&self.key(entry)?)).map(drop)
    }

    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()> {
        let key = self.key(entry)?;
        // Opening alone is no request.
        if content.is_empty() {
            return self.stat(entry);
        }
        let range = 0..content.len() as u64;
        let mut received = self.client.wait(async { self.client.operator().reader(&key).await?.read(range).await })?;
        if received.remaining() < content.len() {
            let what = format!("the object has only {} of {} bytes", received.remaining(), content.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        received.copy_to_slice(content);
        Ok(())
    }

    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        self.put(entry, content)
    }

    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()> {
        let (from, to) = (self.key(from)?, self.key(to)?);
        self.client.wait(self.client.operator().rename(&from, &to))
    }

    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()> {
        self.client.wait(self.client.operator().delete(&self.key(entry)?))
    }
}
