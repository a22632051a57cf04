//! `skeleton`: the worked example. Copy this file, fill it in, add one line to the registry.
//!
//! It keeps nothing: writes are thrown away and reads give what the buffer held. That is enough to run it
//! through every test of the registry, so that this page stays true.

use std::io;
use std::path::Path;

use super::{Capabilities, Connection, OpenFile, Opening, Setup, StorageApi};

pub(super) struct Skeleton;

impl StorageApi for Skeleton {
    // Required. The word that plans and studies use: lower case, unique.
    fn name(&self) -> &'static str {
        "skeleton"
    }

    // Required. Say only what is true, beginning from nothing: the engine refuses plans that ask for more, and
    // believes the rest. At least one kind of target (`directories`, `devices`, `schemes`) must be among it.
    // `files` false means that there is nothing to look at in the page cache and nothing to remove.
    fn capabilities(&self) -> Capabilities {
        Capabilities { directories: true, rewrites: true, ..Capabilities::NONE }
    }

    // Required. Called once per rank and phase, before the clock starts and after ranks were forked: the place to
    // log in, to make a ring, to register the buffers of `setup`. Nothing may be written to the target here.
    fn connect(&self, _setup: Setup<'_>) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(SkeletonConnection))
    }
}

struct SkeletonConnection;

impl Connection for SkeletonConnection {
    // Required. Called once per rank, phase and file; its time is reported as the open time.
    // `Access::Write` and `Access::ReadWrite` must create the file, must not truncate it unless `opening.size`
    // says so (ranks of a shared file open it at different times), and must not follow a symbolic link. Return the
    // system's error as it is: the engine adds the rank, the path and the remedy.
    fn open(&mut self, _path: &Path, _opening: Opening<'_>) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(SkeletonFile))
    }

    // `names` is not required: an API with the capability `names` returns what implements `Names` here.
}

struct SkeletonFile;

impl OpenFile for SkeletonFile {
    // Required. The hot path: one system call, no allocation, no lock, no clock.
    // A short write is no error: return what was written, the engine repeats the rest and counts it.
    fn write_at(&mut self, data: &[u8], _offset: u64) -> io::Result<usize> {
        Ok(data.len())
    }

    // Required. As above; 0 means the end of the file, which the engine reports as missing bytes.
    fn read_at(&mut self, data: &mut [u8], _offset: u64) -> io::Result<usize> {
        Ok(data.len())
    }

    // Required. Must not return before the data is on stable storage, and must report a failure: a number
    // with a failed sync behind it is no number. Its time is reported as the fsync time.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    // Required. Called about once a second. Cheap, and honest: ENOENT if the name is gone.
    fn check_linked(&self) -> io::Result<()> {
        Ok(())
    }

    // Required. Report what close reports. Its time is reported as the close time.
    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }

    // `begin` and `finish` belong to the capability `depth` above 1, `lock` and `unlock` to `locks`.
}
