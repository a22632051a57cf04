//! What may hold data between an application and its storage, beside the page cache of the node, and what empties it.
//!
//! The one table of it: the engine finds on each node what applies to the target, doubts reads that such a cache may have
//! answered, and docs/guides/cold-caches.md has the table from here.

use std::path::{Path, PathBuf};

use ioassay_protocol::environment::{DataCache, Mount};
use ioassay_protocol::plan::CacheMethod;

use crate::text::{entries, text};

/// Something that may hold data of the target.
#[derive(Debug)]
pub struct Cache {
    /// What it is called, in records and documentation.
    pub name: &'static str,
    /// How it is recognised.
    pub sign: Sign,
    /// What it may have done, for a doubt; `{}` stands for the type of the file system, or the file of a loop device.
    pub because: &'static str,
    /// Where it keeps data.
    pub place: Place,
    /// The ways of a cold-cache step that empty it. Hooks may empty each.
    pub emptied_by: &'static [CacheMethod],
    /// What else empties it, or avoids it.
    pub otherwise: &'static str,
    /// Who says so, of which version.
    pub source: &'static str,
}

/// How a cache is recognised.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// The type of the file system.
    Type(&'static [&'static str]),
    /// FUSE, where no other entry has the type.
    Fuse,
    /// An option of a mount of one of these types, alone or with a value.
    Option(&'static [&'static str], &'static [&'static str]),
    /// BeeGFS whose client does not have `tuneFileCacheType = native` in its configuration.
    BeegfsBuffered,
    /// A Lustre client that has a device of the node attached.
    LustrePcc,
    /// A loop device without direct I/O.
    Loop,
    /// A device of bcache to which a cache is attached.
    Bcache,
    /// A volume that LVM made of dm-cache or dm-writecache.
    LvmCache,
}

/// Where a cache keeps data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the memory of servers, where the data lies.
    Servers,
    /// In the process of a FUSE file system, or below it.
    Process,
    /// On the node: in memory outside of the page cache, or on a device.
    Node,
    /// On the machine that this one is a guest of.
    Host,
}

const REMOUNT: &[CacheMethod] = &[CacheMethod::Remount];
const NONE: &[CacheMethod] = &[];

/// File systems whose data lies on other machines.
const NETWORK: &[&str] = &[
    "9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3",
    "virtiofs", "wekafs",
];

/// All of them.
pub const CACHES: &[Cache] = &[
    Cache {
        name: "memory of servers",
        sign: Sign::Type(NETWORK),
        because: "the {} servers may have cached the files",
        place: Place::Servers,
        emptied_by: NONE,
        otherwise: "a hook: restart the service, or drop the caches on the servers",
        source: "every network file system",
    },
    Cache {
        name: "FUSE process",
        sign: Sign::Fuse,
        because: "the {} process may have cached the files itself or in the page cache",
        place: Place::Process,
        emptied_by: REMOUNT,
        otherwise: "a hook that restarts it",
        source: "Linux 6.18, fuse.rst; tried with fuse-overlayfs 1.10",
    },
    Cache {
        name: "rclone VFS cache",
        sign: Sign::Type(&["fuse.rclone", "rclone"]),
        because: "rclone may have kept the files in its cache directory",
        place: Place::Process,
        emptied_by: NONE,
        otherwise: "a hook that unmounts, removes `vfs` below `--cache-dir`, and mounts; or `--vfs-cache-mode off`",
        source: "rclone 1.60, `rclone mount` (VFS file caching); tried",
    },
    Cache {
        name: "s3fs cache",
        sign: Sign::Type(&["fuse.s3fs"]),
        because: "s3fs may have kept the files in its cache directory",
        place: Place::Process,
        emptied_by: NONE,
        otherwise: "a hook that unmounts, empties the directory of `use_cache`, and mounts; or no `use_cache`",
        source: "s3fs 1.90, s3fs(1) (use_cache, del_cache); tried",
    },
    Cache {
        name: "JuiceFS cache",
        sign: Sign::Type(&["fuse.juicefs"]),
        because: "JuiceFS may have kept blocks of the files in its cache directory",
        place: Place::Process,
        emptied_by: NONE,
        otherwise: "a hook that unmounts, empties `--cache-dir`, and mounts; or `--cache-size 0`",
        source: "JuiceFS 1.2, documentation, “Cache”",
    },
    Cache {
        name: "GlusterFS io-cache",
        sign: Sign::Type(&["fuse.glusterfs"]),
        because: "the client process of GlusterFS (io-cache) and its bricks may have cached the files",
        place: Place::Process,
        emptied_by: NONE,
        otherwise: "`remount` for the client, and a hook that drops the caches of the servers of the bricks",
        source: "GlusterFS 10, “Managing Volumes” (performance.io-cache)",
    },
    Cache {
        name: "ZFS ARC",
        sign: Sign::Type(&["zfs"]),
        because: "ZFS may have cached the files in its ARC or L2ARC",
        place: Place::Node,
        emptied_by: NONE,
        otherwise: "a hook: `zpool export` and `zpool import`; dropping caches shrinks the ARC only in part",
        source: "OpenZFS 2.2, zfs(4) (zfs_arc_shrinker_limit)",
    },
    Cache {
        name: "FS-Cache",
        sign: Sign::Option(&["nfs", "nfs4", "ceph", "cifs", "smb3", "9p", "afs"], &["fsc", "cache=fscache"]),
        because: "FS-Cache may have kept the files on a disk of the node (cachefiles)",
        place: Place::Node,
        emptied_by: NONE,
        otherwise: "a hook on each client that unmounts, stops cachefilesd, empties its directory, and mounts; or no `fsc`",
        source: "Linux 6.18, filesystems/caching/cachefiles.rst",
    },
    Cache {
        name: "Lustre PCC",
        sign: Sign::LustrePcc,
        because: "the Lustre client may have attached the files to its persistent client cache",
        place: Place::Node,
        emptied_by: NONE,
        otherwise: "a hook: `lfs pcc detach`, or `lctl pcc clear` on each client",
        source: "Lustre 2.15, lctl-pcc(8)",
    },
    Cache {
        name: "GPFS page pool",
        sign: Sign::Type(&["gpfs"]),
        because: "GPFS may have cached the files in its page pool or local read-only cache (LROC)",
        place: Place::Node,
        emptied_by: REMOUNT,
        otherwise: "`mmumount` and `mmmount`, or `mmshutdown` and `mmstartup`, on each client",
        source: "IBM Storage Scale 5.2, mmchconfig (pagepool, lrocData)",
    },
    Cache {
        name: "BeeGFS buffers",
        sign: Sign::BeegfsBuffered,
        because: "the BeeGFS client buffers files outside of the page cache (a few hundred KiB of each)",
        place: Place::Node,
        emptied_by: REMOUNT,
        otherwise: "`tuneFileCacheType = native`, which uses the page cache",
        source: "BeeGFS 8.2, “Client Side Caching Modes”",
    },
    Cache {
        name: "virtiofs DAX",
        sign: Sign::Option(&["virtiofs"], &["dax"]),
        because: "with DAX the files are read from the page cache of the host",
        place: Place::Host,
        emptied_by: NONE,
        otherwise: "a hook that drops the caches of the host",
        source: "Linux 6.18, filesystems/fuse (dax)",
    },
    Cache {
        name: "backing file of a loop device",
        sign: Sign::Loop,
        because: "the device is backed by the file {}, which the node may have cached",
        place: Place::Node,
        emptied_by: NONE,
        otherwise: "direct I/O of the loop device (`losetup --direct-io=on`)",
        source: "Linux 6.18, loop(4), losetup(8); tried",
    },
    Cache {
        name: "bcache",
        sign: Sign::Bcache,
        because: "bcache may have kept the data on its faster device",
        place: Place::Node,
        emptied_by: NONE,
        otherwise: "a hook that detaches the cache (`bcache/detach`), or `cache_mode` none",
        source: "Linux 6.18, admin-guide/bcache.rst",
    },
    Cache {
        name: "dm-cache, dm-writecache",
        sign: Sign::LvmCache,
        because: "the volume's cache (dm-cache or dm-writecache) may have kept the data on a faster device",
        place: Place::Node,
        emptied_by: NONE,
        otherwise: "a hook: `lvconvert --splitcache` or `--uncache`",
        source: "Linux 6.18, admin-guide/device-mapper/cache.rst; lvmcache(7)",
    },
];

/// The entry of that name.
pub fn by_name(name: &str) -> Option<&'static Cache> {
    CACHES.iter().find(|cache| cache.name == name)
}

/// True if the data of file systems of that type lies on other machines.
pub fn is_network(file_system: &str) -> bool {
    NETWORK.contains(&file_system)
}

/// True if a process of a user is the file system of that type.
pub fn is_fuse(file_system: &str) -> bool {
    file_system.starts_with("fuse")
}

/// What may hold data of a target on `mount`, or on the block device `device` (major and minor number), besides the page
/// cache. `root` has /sys and /etc.
pub fn caches(root: &Path, mount: Option<&Mount>, device: (u64, u64)) -> Vec<DataCache> {
    let devices = devices(root, device);
    let file_system = mount.map(|mount| mount.file_system.as_str()).unwrap_or_default();
    let applies = |cache: &Cache| match cache.sign {
        Sign::Type(types) => types.contains(&file_system).then_some(file_system.to_owned()),
        Sign::Fuse => (is_fuse(file_system) && !has_entry(file_system)).then_some(file_system.to_owned()),
        Sign::Option(types, options) => {
            let given = &mount?.options;
            let has =
                |option: &&str| given.iter().any(|known| known == option || known.split('=').next() == Some(option));
            (types.contains(&file_system) && options.iter().any(has)).then(String::new)
        }
        Sign::BeegfsBuffered => (file_system == "beegfs" && !is_native(root, mount?)).then(String::new),
        Sign::LustrePcc => (file_system == "lustre" && has_pcc(root)).then(String::new),
        Sign::Loop => devices.iter().find_map(|device| backing_file(device)),
        Sign::Bcache => devices.iter().any(|device| has_bcache(device)).then(String::new),
        Sign::LvmCache => devices.iter().any(|device| is_lvm_cache(device)).then(String::new),
    };
    let applying = CACHES.iter().filter_map(|cache| Some((cache, applies(cache)?)));
    applying
        .map(|(cache, of)| DataCache { name: cache.name.to_owned(), because: cache.because.replace("{}", &of) })
        .collect()
}

/// True if an entry is for file systems of that type alone.
fn has_entry(file_system: &str) -> bool {
    CACHES.iter().any(|cache| matches!(cache.sign, Sign::Type(types) if types.contains(&file_system)))
}

/// The block device and all that it consists of, as directories of /sys. None for file systems without a device.
fn devices(root: &Path, (major, minor): (u64, u64)) -> Vec<PathBuf> {
    let entry = root.join(format!("sys/dev/block/{major}:{minor}"));
    let Ok(mut entry) = entry.canonicalize() else { return Vec::new() };
    if entry.join("partition").exists() {
        entry.pop();
    }
    let (mut all, mut next) = (vec![entry], 0);
    while let Some(device) = all.get(next).cloned() {
        for (_, slave) in entries(&device, "slaves") {
            let Ok(mut slave) = slave.canonicalize() else { continue };
            if slave.join("partition").exists() {
                slave.pop();
            }
            if !all.contains(&slave) {
                all.push(slave);
            }
        }
        next += 1;
    }
    all
}

/// The file that a loop device lies on, where its pages are kept in the node's memory under those of the device.
pub(crate) fn backing_file(device: &Path) -> Option<String> {
    text(device, "loop/backing_file").filter(|_| text(device, "loop/dio").as_deref() != Some("1"))
}

fn has_bcache(device: &Path) -> bool {
    text(device, "bcache/state").is_some_and(|state| state != "no cache")
}

/// LVM names what holds the cached blocks, and marks it in its UUID.
fn is_lvm_cache(device: &Path) -> bool {
    let of_cache = |kind: &Path| {
        let (name, uuid) = (text(kind, "dm/name").unwrap_or_default(), text(kind, "dm/uuid").unwrap_or_default());
        uuid.starts_with("LVM-")
            && (["-cdata", "-cvol"].iter().any(|end| uuid.ends_with(end))
                || ["_cdata", "_cvol"].iter().any(|end| name.ends_with(end)))
    };
    entries(device, "slaves").iter().any(|(_, slave)| of_cache(slave))
}

fn has_pcc(root: &Path) -> bool {
    entries(root, "sys/kernel/debug/lustre/llite").iter().any(|(_, client)| text(client, "pcc").is_some())
}

fn is_native(root: &Path, mount: &Mount) -> bool {
    let file = mount.options.iter().find_map(|option| option.strip_prefix("cfgFile=")).unwrap_or_default();
    let settings = text(root, file.trim_start_matches('/')).unwrap_or_default();
    settings
        .lines()
        .filter_map(|line| line.split_once('='))
        .any(|(name, value)| (name.trim(), value.trim()) == ("tuneFileCacheType", "native"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    fn mount(file_system: &str, options: &[&str]) -> Mount {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Mount { file_system: file_system.to_owned(), options, ..Mount::default() }
    }

    fn names(root: &Path, mount: Option<&Mount>, device: (u64, u64)) -> Vec<String> {
        caches(root, mount, device).into_iter().map(|cache| cache.name).collect()
    }

    #[test]
    fn a_mount_has_the_caches_of_its_type_and_options() {
        let root = tree(&[("etc/beegfs/native.conf", "tuneFileCacheType = native\n"), ("empty", "")]);
        let of = |file_system: &str, options: &[&str]| names(root.path(), Some(&mount(file_system, options)), (0, 0));
        let nothing: [&str; 0] = [];
        for file_system in ["ext4", "xfs", "btrfs", "f2fs", "overlay", "tmpfs"] {
            assert_eq!(of(file_system, &["rw"]), nothing, "{file_system}");
        }
        assert_eq!(of("zfs", &["rw"]), ["ZFS ARC"]);
        assert_eq!(of("nfs4", &["rw", "vers=4.2"]), ["memory of servers"]);
        assert_eq!(of("nfs4", &["rw", "fsc"]), ["memory of servers", "FS-Cache"]);
        assert_eq!(of("9p", &["cache=fscache"]), ["memory of servers", "FS-Cache"]);
        assert_eq!(of("9p", &["cache=mmap"]), ["memory of servers"]);
        assert_eq!(of("gpfs", &[]), ["memory of servers", "GPFS page pool"]);
        assert_eq!(of("virtiofs", &["dax=always"]), ["memory of servers", "virtiofs DAX"]);
        assert_eq!(of("virtiofs", &[]), ["memory of servers"]);
        assert_eq!(of("beegfs", &["cfgFile=/etc/beegfs/missing.conf"]), ["memory of servers", "BeeGFS buffers"]);
        assert_eq!(of("beegfs", &["cfgFile=/etc/beegfs/native.conf"]), ["memory of servers"]);
        assert_eq!(of("lustre", &[]), ["memory of servers"]);
        assert_eq!(of("fuse.fuse-overlayfs", &[]), ["FUSE process"]);
        assert_eq!(of("fuse.rclone", &[]), ["rclone VFS cache"]);
        assert_eq!(of("fuse.s3fs", &[]), ["s3fs cache"]);
        assert_eq!(of("fuse.juicefs", &[]), ["JuiceFS cache"]);
        assert_eq!(of("fuse.glusterfs", &[]), ["GlusterFS io-cache"]);
    }

    #[test]
    fn a_lustre_client_with_a_device_attached_has_its_cache() {
        let root = tree(&[("sys/kernel/debug/lustre/llite/scratch-1/pcc", "pccrw:\nrule: projid={500}\n")]);
        let lustre = mount("lustre", &[]);
        assert_eq!(names(root.path(), Some(&lustre), (0, 0)), ["memory of servers", "Lustre PCC"]);
    }

    /// A tree of /sys with these files of devices, of which `252:0` is the first.
    fn system(first: &str, files: &[(&str, &str)], slaves: &[(&str, &str)]) -> tempfile::TempDir {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("sys/devices/virtual/block/{name}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let root = tree(&files);
        let block = root.path().join("sys/devices/virtual/block");
        let link = |from: PathBuf, to: PathBuf| {
            std::fs::create_dir_all(from.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, from).unwrap();
        };
        link(root.path().join("sys/dev/block/252:0"), block.join(first));
        for (device, slave) in slaves {
            link(block.join(device).join("slaves").join(slave), block.join(slave));
        }
        root
    }

    #[test]
    fn a_device_has_the_caches_of_all_that_it_consists_of() {
        let bcache = system(
            "md0",
            &[("md0/size", "8"), ("bcache0/bcache/state", "clean\n"), ("loop3/loop/backing_file", "/img\n")],
            &[("md0", "bcache0"), ("bcache0", "loop3")],
        );
        let all = caches(bcache.path(), None, (252, 0));
        let names: Vec<&str> = all.iter().map(|cache| cache.name.as_str()).collect();
        assert_eq!(names, ["backing file of a loop device", "bcache"]);
        assert_eq!(all[0].because, "the device is backed by the file /img, which the node may have cached");
        let bare = system("bcache0", &[("bcache0/bcache/state", "no cache\n")], &[]);
        assert_eq!(caches(bare.path(), None, (252, 0)), []);
        let direct = system("loop3", &[("loop3/loop/backing_file", "/img\n"), ("loop3/loop/dio", "1\n")], &[]);
        assert_eq!(caches(direct.path(), None, (252, 0)), []);
    }

    #[test]
    fn a_volume_of_lvm_is_cached_if_one_of_its_parts_holds_cached_blocks() {
        let part = |name: &'static str, uuid: &'static str| {
            system(
                "dm-0",
                &[("dm-0/dm/name", "vg-data"), ("dm-1/dm/name", name), ("dm-1/dm/uuid", uuid)],
                &[("dm-0", "dm-1")],
            )
        };
        let is_cached = |root: tempfile::TempDir| !names(root.path(), None, (252, 0)).is_empty();
        assert!(is_cached(part("vg-pool_cdata", "LVM-AbCd-cdata")));
        assert!(is_cached(part("vg-fast_cvol", "LVM-AbCd-cvol")));
        assert!(!is_cached(part("vg-data_corig", "LVM-AbCd-real")));
        assert!(!is_cached(part("my_cdata", "CRYPT-LUKS2-AbCd-x")));
    }

    #[test]
    fn every_entry_has_a_name_of_its_own_and_a_source() {
        for (index, cache) in CACHES.iter().enumerate() {
            assert!(CACHES[..index].iter().all(|other| other.name != cache.name), "{}", cache.name);
            assert!(!cache.source.is_empty() && !cache.otherwise.is_empty(), "{}", cache.name);
        }
    }
}
