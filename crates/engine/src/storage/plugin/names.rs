//! Directory entries by a plug-in. They are named by their paths.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use super::connection::{CHECKED, Connected};
use crate::storage::names::{Content, Entry, Names, Presence};

impl Names for Connected {
    fn open_directory(&mut self, _path: &CStr) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (shared, make) = (self.shared(), self.shared().functions().make_directory.expect(CHECKED));
        // SAFETY: the connection is open, and the name ends with a zero byte and outlives the call; so below.
        shared.answer(unsafe { make(shared.raw, entry.name.as_ptr()) })
    }

    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (shared, remove) = (self.shared(), self.shared().functions().remove_directory.expect(CHECKED));
        // SAFETY: as above.
        shared.answer(unsafe { remove(shared.raw, entry.name.as_ptr()) })
    }

    fn create(&mut self, entry: Entry<'_>, presence: Presence, content: Content<'_>) -> io::Result<()> {
        let (shared, create) = (self.shared(), self.shared().functions().create_file.expect(CHECKED));
        let others = (presence == Presence::Shared).into();
        let (data, bytes) = (content.bytes.as_ptr().cast(), content.bytes.len() as u64);
        // SAFETY: as above, and `data` has the length that is passed.
        shared.answer(unsafe { create(shared.raw, entry.name.as_ptr(), others, data, bytes, content.sync.into()) })
    }

    fn make_node(&mut self, _entry: Entry<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (shared, stat) = (self.shared(), self.shared().functions().stat.expect(CHECKED));
        // SAFETY: as above.
        shared.answer(unsafe { stat(shared.raw, entry.name.as_ptr()) })
    }

    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()> {
        let (shared, read) = (self.shared(), self.shared().functions().read_file.expect(CHECKED));
        let (data, bytes) = (content.as_mut_ptr().cast(), content.len() as u64);
        // SAFETY: as above, and `data` has room for the length that is passed.
        let moved = shared.moved(unsafe { read(shared.raw, entry.name.as_ptr(), data, bytes) }, content.len())?;
        if moved < content.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file ends at byte {moved}")));
        }
        Ok(())
    }

    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()> {
        let (shared, write) = (self.shared(), self.shared().functions().write_file.expect(CHECKED));
        let (data, bytes) = (content.bytes.as_ptr().cast(), content.bytes.len() as u64);
        // SAFETY: as above, and `data` has the length that is passed.
        shared.answer(unsafe { write(shared.raw, entry.name.as_ptr(), data, bytes, content.sync.into()) })
    }

    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()> {
        let (shared, rename) = (self.shared(), self.shared().functions().rename);
        let Some(rename) = rename else { return Err(io::ErrorKind::Unsupported.into()) };
        // SAFETY: as above, for both names.
        shared.answer(unsafe { rename(shared.raw, from.name.as_ptr(), to.name.as_ptr()) })
    }

    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()> {
        let (shared, remove) = (self.shared(), self.shared().functions().remove_file.expect(CHECKED));
        // SAFETY: as above.
        shared.answer(unsafe { remove(shared.raw, entry.name.as_ptr()) })
    }
}
