//! `null`: does nothing and says that it did. What remains in its figures is the engine's own cost.

use std::io;
use std::path::Path;

use super::{Access, Capabilities, OpenFile, StorageApi};

pub(super) struct Null;

impl StorageApi for Null {
    fn name(&self) -> &'static str {
        "null"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { files: false, shared_files: true }
    }

    fn open(&self, _path: &Path, _access: Access) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(NullFile))
    }
}

struct NullFile;

impl OpenFile for NullFile {
    #[inline]
    fn write_at(&mut self, data: &[u8], _offset: u64) -> io::Result<usize> {
        Ok(data.len())
    }

    #[inline]
    fn read_at(&mut self, data: &mut [u8], _offset: u64) -> io::Result<usize> {
        Ok(data.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn still_there(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
