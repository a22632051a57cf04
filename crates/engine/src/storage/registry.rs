//! The storage APIs that the engine has itself.
//!
//! Not here: plug-ins ([`super::plugin`]).

use super::{StorageApi, mmap, nfs, null, object, posix, skeleton, uring};

/// Every storage API.
static REGISTRY: [&dyn StorageApi; 7] =
    [&posix::Posix, &uring::Uring, &mmap::Mmap, &object::Object, &nfs::Nfs, &null::Null, &skeleton::Skeleton];

/// The storage API of the engine's own that is called `name`.
pub fn by_name(name: &str) -> Option<&'static dyn StorageApi> {
    REGISTRY.into_iter().find(|api| api.name() == name)
}

/// Every storage API of the engine's own, in the order of the registry.
pub fn all() -> impl Iterator<Item = &'static dyn StorageApi> {
    REGISTRY.into_iter()
}

/// Names of all storage APIs, in the order of the registry.
pub fn all_names() -> Vec<&'static str> {
    REGISTRY.iter().map(|api| api.name()).collect()
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::plan::storage::{Storage, Target};

    use super::*;
    use crate::storage::names::Presence;
    use crate::storage::{Access, Opening, Setup};
    use crate::workload::buffer::Buffer;

    #[test]
    fn every_storage_api_has_a_name_of_its_own_and_is_found_by_it() {
        let mut names = all_names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REGISTRY.len());
        for name in names {
            assert_eq!(by_name(name).map(StorageApi::name), Some(name));
        }
    }

    #[test]
    fn every_storage_api_for_directories_takes_a_write_a_sync_and_a_read_of_the_same_place() {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::Directory(directory.path().to_owned());
        for api in REGISTRY.into_iter().filter(|api| api.capabilities().directories) {
            let name = api.name();
            let storage = Storage::of(name);
            let mut buffers = [Buffer::new(4096)];
            let mut connection = api.connect(Setup::alone(&storage, &target, &mut buffers)).unwrap();
            let path = directory.path().join(name);
            let opening =
                |access| Opening { access, presence: Presence::Shared, bytes: 12_288, size: None, advice: &[] };
            let mut file = connection.open(&path, opening(Access::Write)).unwrap();
            assert_eq!(file.write_at(&[7; 4096], 8192).unwrap(), 4096, "{name}");
            file.sync().unwrap();
            file.check_linked().unwrap();
            file.close().unwrap();
            let mut file = connection.open(&path, opening(Access::Read)).unwrap();
            let mut read = [7; 4096];
            assert_eq!(file.read_at(&mut read, 8192).unwrap(), 4096, "{name}");
            assert_eq!(read, [7; 4096], "{name}");
            assert_eq!(path.exists(), api.capabilities().files, "{name}: capability `files`");
        }
    }
}
