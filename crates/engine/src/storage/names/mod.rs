//! Directory entries: what metadata phases do, for the APIs that have them.
//!
//! One file per way to do it; a storage API with the capability `names` hands one out in `Connection::names`.
//! Not here: timing, which entries there are, and what they are called.

pub mod null;
pub mod posix;

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// An entry as a system call names it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The open directory that `name` is in; without one `name` is a full path.
    pub directory: Option<BorrowedFd<'a>>,
    /// Path or name.
    pub name: &'a CStr,
}

/// How bytes get into a file.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// What is written from the file's beginning on; nothing where it is empty.
    pub bytes: &'a [u8],
    /// Sync the file before it is closed.
    pub sync: bool,
}

/// Whether an entry may be there already when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is not there; one that is, is an error.
    New,
    /// Other ranks create the same file at the same time: the first creates it, the others open it.
    Shared,
}

/// Operations on directory entries. The hot path of metadata phases: no allocation, no lock, no clock. None of them
/// follows a symbolic link in the place of the entry.
pub trait Names {
    /// Opens a directory so that entries can be named in it.
    fn open_directory(&mut self, path: &CStr) -> io::Result<OwnedFd>;

    /// Creates a directory that does not exist.
    fn create_directory(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Opens a file that is created by that, writes its content, closes it.
    fn create(&mut self, entry: Entry<'_>, presence: Presence, content: Content<'_>) -> io::Result<()>;

    /// Creates an empty file that does not exist with `mknod`.
    fn make_node(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Looks at the attributes of a file or directory.
    fn stat(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Opens a file, reads as many bytes as `content` holds from its beginning, closes it. Fewer bytes are an error.
    fn read(&mut self, entry: Entry<'_>, content: &mut [u8]) -> io::Result<()>;

    /// Opens an existing file, writes its content, closes it.
    fn write(&mut self, entry: Entry<'_>, content: Content<'_>) -> io::Result<()>;

    /// Gives an entry another name.
    fn rename(&mut self, from: Entry<'_>, to: Entry<'_>) -> io::Result<()>;

    /// Removes a file.
    fn remove(&mut self, entry: Entry<'_>) -> io::Result<()>;

    /// Time so far in syncs of contents, where they are calls of their own.
    fn fsync_ns(&self) -> u64 {
        0
    }

    /// Calls so far that moved fewer bytes than asked and whose rest was moved by another one, where an entry may take
    /// several.
    fn short_transfers(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::fd::AsFd;
    use std::path::Path;

    use ioassay_protocol::plan::storage::{Storage, Target};

    use super::*;
    use crate::storage::{Setup, StorageApi, all};

    fn name(path: &Path) -> CString {
        CString::new(path.to_str().unwrap()).unwrap()
    }

    fn entry_at(name: &CStr) -> Entry<'_> {
        Entry { directory: None, name }
    }

    /// What is there after each operation, and by which names, is checked with the standard library.
    fn every_operation(api: &dyn StorageApi, directory: &Path) {
        let target = Target::Directory(directory.to_owned());
        let storage = Storage::of(api.name());
        let mut connection = api.connect(Setup::alone(&storage, &target, &mut [])).unwrap();
        let names = connection.names().expect("the capability says so");
        let (keeps, can) = (api.capabilities().files, api.capabilities().names.unwrap());
        let there = |path: &Path, bytes: u64| {
            assert!(!keeps || std::fs::metadata(path).unwrap().len() == bytes, "{}: {}", api.name(), path.display());
        };
        let gone = |path: &Path| assert!(!path.exists(), "{}: {}", api.name(), path.display());

        let tree = directory.join("tree");
        if can.directories {
            names.create_directory(entry_at(&name(&tree))).unwrap();
        }
        let (file, other) = (tree.join("file"), tree.join("other"));
        let [file_name, other_name] = [&file, &other].map(|path| name(path));
        let content = |bytes| Content { bytes, sync: true };
        names.create(entry_at(&file_name), Presence::New, content(&[7; 4096])).unwrap();
        there(&file, 4096);
        names.stat(entry_at(&file_name)).unwrap();
        names.write(entry_at(&file_name), content(&[8; 5000])).unwrap();
        there(&file, 5000);
        let mut read = [8; 5000];
        names.read(entry_at(&file_name), &mut read).unwrap();
        assert_eq!(read, [8; 5000], "{}", api.name());
        names.create(entry_at(&file_name), Presence::Shared, content(&[])).unwrap();
        there(&file, 5000);
        if keeps {
            assert!(names.create(entry_at(&file_name), Presence::New, content(&[])).is_err());
            assert!(names.read(entry_at(&file_name), &mut [0; 5001]).unwrap_err().to_string().contains("5000"));
            assert!(names.stat(entry_at(&other_name)).is_err());
        }
        if can.rename {
            names.rename(entry_at(&file_name), entry_at(&other_name)).unwrap();
            gone(&file);
            there(&other, 5000);
            names.rename(entry_at(&other_name), entry_at(&file_name)).unwrap();
        }
        names.remove(entry_at(&file_name)).unwrap();
        gone(&file);
        if can.mknod {
            names.make_node(entry_at(&file_name)).unwrap();
            there(&file, 0);
            names.remove(entry_at(&file_name)).unwrap();
        }
        if can.openat {
            let open = names.open_directory(&name(&tree)).unwrap();
            let within = |name| Entry { directory: Some(open.as_fd()), name };
            names.create(within(c"file"), Presence::New, content(b"x")).unwrap();
            there(&file, 1);
            names.rename(within(c"file"), within(c"other")).unwrap();
            names.remove(within(c"other")).unwrap();
        }
        if can.directories {
            names.remove_directory(entry_at(&name(&tree))).unwrap();
        }
        gone(&tree);
    }

    #[test]
    fn every_storage_api_with_names_does_every_operation() {
        let with_names: Vec<_> = all().filter(|api| api.capabilities().names.is_some()).collect();
        assert!(with_names.len() >= 2);
        for api in with_names.into_iter().filter(|api| api.capabilities().directories) {
            let directory = tempfile::tempdir().unwrap();
            every_operation(api, directory.path());
        }
    }
}
