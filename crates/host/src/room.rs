//! How much room a file system says it has, as far as that can be right.
//!
//! statfs answers in unsigned numbers, and file systems that have no such numbers make some up: s3fs says that 16 EiB are
//! free, rclone that it has 10^9 inodes and none is free. Nothing is concluded from those.
//!
//! `python/ioassay/mounts.py` judges the same where no engine is asked; `mounts.json` has answers that both give.

use std::io;
use std::path::Path;

use nix::sys::statfs::{FUSE_SUPER_MAGIC, statfs};
use nix::sys::statvfs::statvfs;

/// No file holds so many bytes: offsets are signed. A file system that says so has no limit of its own.
const UNLIMITED_BYTES: u64 = 1 << 63;

/// What statfs says, in its own units.
#[derive(Debug, Clone, Copy)]
struct Reported {
    /// The file system is a process of a user (FUSE), which fills in what it likes.
    fuse: bool,
    fragment_bytes: u64,
    blocks: u64,
    blocks_free: u64,
    blocks_available: u64,
    inodes: u64,
    inodes_free: u64,
    inodes_available: u64,
}

/// The room on a file system. `None` where it does not say, or says what cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// Its size.
    pub total_bytes: Option<u64>,
    /// Bytes that an unprivileged user may still write.
    pub free_bytes: Option<u64>,
    /// Files that may still be created.
    pub free_inodes: Option<u64>,
    /// Block size that the file system prefers for I/O.
    pub block_bytes: u64,
    /// What it says that cannot be right, each with what was therefore not checked.
    pub notes: Vec<String>,
}

/// The room on the file system of `path`.
pub fn room(path: &Path) -> io::Result<Room> {
    let answer = statvfs(path)?;
    let room = Reported {
        fuse: statfs(path)?.filesystem_type() == FUSE_SUPER_MAGIC,
        fragment_bytes: answer.fragment_size(),
        blocks: answer.blocks(),
        blocks_free: answer.blocks_free(),
        blocks_available: answer.blocks_available(),
        inodes: answer.files(),
        inodes_free: answer.files_free(),
        inodes_available: answer.files_available(),
    };
    Ok(room.judged(answer.block_size()))
}

impl Reported {
    fn judged(self, block_bytes: u64) -> Room {
        let (bytes, about_bytes) = self.bytes();
        let (free_inodes, about_inodes) = self.inodes();
        Room {
            total_bytes: bytes.map(|(total, _)| total),
            free_bytes: bytes.map(|(_, free)| free),
            free_inodes,
            block_bytes,
            notes: [about_bytes, about_inodes].into_iter().flatten().collect(),
        }
    }

    /// All bytes and those that are free, or why they are not believed.
    fn bytes(self) -> (Option<(u64, u64)>, Option<String>) {
        let unchecked = |contradiction: String| {
            (None, Some(format!("the file system says that {contradiction}: free space was not checked")))
        };
        if self.blocks == 0 {
            return unchecked("its size is 0".to_owned());
        }
        let [total, free] =
            [self.blocks, self.blocks_available].map(|blocks| blocks.saturating_mul(self.fragment_bytes));
        if self.blocks_free > self.blocks || self.blocks_available > self.blocks {
            return unchecked(format!(
                "{} of its {} blocks are free",
                self.blocks_free.max(self.blocks_available),
                self.blocks
            ));
        }
        if total >= UNLIMITED_BYTES {
            return unchecked(format!("it has {} blocks of {} bytes", self.blocks, self.fragment_bytes));
        }
        (Some((total, free)), None)
    }

    /// Those that are free, or why they are not believed. Without any, the file system does not count, as Btrfs.
    fn inodes(self) -> (Option<u64>, Option<String>) {
        let unchecked = |contradiction: String| {
            (None, Some(format!("the file system says that {contradiction}: inodes were not checked")))
        };
        let Self { inodes, inodes_free, inodes_available, .. } = self;
        if inodes == 0 && inodes_free == 0 && inodes_available == 0 {
            return (None, None);
        }
        if inodes_free > inodes || inodes_available > inodes {
            return unchecked(format!("{} of its {inodes} inodes are free", inodes_free.max(inodes_available)));
        }
        // One that has really used up its inodes refuses the first file.
        if self.fuse && inodes_available == 0 {
            return unchecked(format!("none of its {inodes} inodes is free, as FUSE file systems do that count none"));
        }
        (Some(inodes_available), None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// What `python/ioassay/mounts.py` must find too.
    #[test]
    fn what_statfs_says_is_judged_as_by_the_control_plane() {
        let agreed: Value = serde_json::from_str(include_str!("../mounts.json")).unwrap();
        let rooms = agreed["rooms"].as_array().unwrap();
        assert!(!rooms.is_empty());
        for case in rooms {
            let number = |name: &str| case["said"][name].as_u64().unwrap();
            let reported = Reported {
                fuse: case["said"]["fuse"].as_bool().unwrap(),
                fragment_bytes: number("fragment_bytes"),
                blocks: number("blocks"),
                blocks_free: number("blocks_free"),
                blocks_available: number("blocks_available"),
                inodes: number("inodes"),
                inodes_free: number("inodes_free"),
                inodes_available: number("inodes_available"),
            };
            let room = reported.judged(4096);
            let optional = |name: &str| case["room"][name].as_u64();
            let notes: Vec<&str> = case["room"]["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(room.total_bytes, optional("total_bytes"), "{case}");
            assert_eq!(room.free_bytes, optional("free_bytes"), "{case}");
            assert_eq!(room.free_inodes, optional("free_inodes"), "{case}");
            assert_eq!(room.notes, notes, "{case}");
        }
    }

    #[test]
    fn a_file_system_of_the_kernel_has_room() {
        let room = room(Path::new("/")).unwrap();
        assert!(room.total_bytes >= room.free_bytes && room.total_bytes.is_some(), "{room:?}");
        assert!(room.notes.is_empty(), "{room:?}");
    }
}
