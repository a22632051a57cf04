//! The storage APIs: how bytes reach storage.
//!
//! One file per API and one line in [`REGISTRY`]. The rest of the engine asks [`Capabilities`], never names.
//! `null` measures the engine itself; `skeleton` shows what each method must do.
//! Not here: timing, retries, policy.

mod null;
mod posix;
mod skeleton;

use std::io;
use std::path::Path;

/// Every storage API.
static REGISTRY: [&dyn StorageApi; 3] = [&posix::Posix, &null::Null, &skeleton::Skeleton];

/// What a storage API can do. A plan that asks for more is refused before any I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Leaves files in the workspace, which can be listed, looked at in the page cache, and removed.
    pub files: bool,
    /// Several ranks may open one file for writing.
    pub shared_files: bool,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Write; the file is created if it is not there.
    Write,
    /// Read; the file is there.
    Read,
}

/// A way to do I/O. Without state of its own: every rank uses the same one.
pub trait StorageApi: Sync {
    /// The name that plans use.
    fn name(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Opens `path`. Called by every rank that uses the file, inside the timed phase.
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn OpenFile>>;
}

/// A file that one rank has open.
pub trait OpenFile {
    /// Writes from `data` at `offset` and returns how many bytes it wrote; fewer than asked is allowed.
    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<usize>;

    /// Reads into `data` at `offset` and returns how many bytes it read; 0 is the end of the file.
    fn read_at(&mut self, data: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Returns when everything written is on stable storage.
    fn sync(&mut self) -> io::Result<()>;

    /// An error if the file's name is gone. Asked about once a second, because a file that somebody removed
    /// can be written for hours without any other error.
    fn still_there(&self) -> io::Result<()>;

    /// Closes the file and reports what only close reports (delayed write errors on NFS).
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// The storage API called `name`.
pub fn by_name(name: &str) -> Option<&'static dyn StorageApi> {
    REGISTRY.into_iter().find(|api| api.name() == name)
}

/// Names of all storage APIs, in the order of the registry.
pub fn names() -> Vec<&'static str> {
    REGISTRY.iter().map(|api| api.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_storage_api_has_a_name_of_its_own_and_is_found_by_it() {
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REGISTRY.len());
        for name in names {
            assert_eq!(by_name(name).map(StorageApi::name), Some(name));
        }
    }

    #[test]
    fn every_storage_api_takes_a_write_a_sync_and_a_read_of_the_same_place() {
        let directory = tempfile::tempdir().unwrap();
        for api in REGISTRY {
            let path = directory.path().join(api.name());
            let mut file = api.open(&path, Access::Write).unwrap();
            assert_eq!(file.write_at(&[7; 4096], 8192).unwrap(), 4096, "{}", api.name());
            file.sync().unwrap();
            file.still_there().unwrap();
            file.close().unwrap();
            let mut file = api.open(&path, Access::Read).unwrap();
            let mut read = [7; 4096];
            assert_eq!(file.read_at(&mut read, 8192).unwrap(), 4096, "{}", api.name());
            assert_eq!(read, [7; 4096], "{}", api.name());
            assert_eq!(path.exists(), api.capabilities().files, "{}: capability `files`", api.name());
        }
    }
}
