//! Numbers and structures of `<linux/io_uring.h>`, up to Linux 6.18.

use crate::layout;

layout! {
    /// `struct io_uring_params`, as `io_uring_setup` leaves it.
    pub struct Parameters {
        /// Of the ring of requests.
        pub request_entries: u32,
        /// Of the ring of completions.
        pub completion_entries: u32,
        /// [`setup`].
        pub flags: u32,
        /// Processor and idle time of the kernel's thread.
        pub thread: [u32; 2],
        /// What the kernel can do.
        pub features: u32,
        /// A ring whose workers this one shares; reserved.
        pub shared: [u32; 4],
        /// Offsets in the ring of requests: head, tail, mask, entries, flags, dropped, array; reserved.
        pub request_offsets: [u32; 8],
        /// Where the program has put the requests ([`setup::NO_MMAP`]).
        pub requests_address: u64,
        /// Offsets in the ring of completions: head, tail, mask, entries, overflow, completions, flags; reserved.
        pub completion_offsets: [u32; 8],
        /// Where the program has put both rings.
        pub rings_address: u64,
    }
}

const _: () = assert!(size_of::<Parameters>() == 120);

/// Flags of a ring that change what its memory looks like, or who takes its requests.
pub mod setup {
    /// A thread of the kernel takes requests, without a call.
    pub const SQPOLL: u32 = 1 << 1;
    /// Requests are twice as long.
    pub const SQE128: u32 = 1 << 10;
    /// Completions are twice as long.
    pub const CQE32: u32 = 1 << 11;
    /// The program provides the memory.
    pub const NO_MMAP: u32 = 1 << 14;
    /// There is no descriptor, only an index of the thread that made the ring.
    pub const REGISTERED_FD_ONLY: u32 = 1 << 15;
    /// Requests are in the order of the ring, which has no array.
    pub const NO_SQARRAY: u32 = 1 << 16;
    /// Some completions are twice as long, as their flags say.
    pub const CQE_MIXED: u32 = 1 << 18;
    /// All that are known; with any other, the layout of the memory is unknown.
    pub const KNOWN: u32 = (1 << 19) - 1;
}

/// Feature: both rings are in one map.
pub const SINGLE_MMAP: u32 = 1;

/// Flags of `io_uring_enter`.
pub mod enter {
    /// The descriptor is an index of the calling thread's registered rings.
    pub const REGISTERED_RING: u32 = 1 << 4;
}

/// Operations of `io_uring_register`.
pub mod register {
    /// In the operation: the descriptor is an index of the calling thread's registered rings.
    pub const USE_REGISTERED_RING: u32 = 1 << 31;
    /// Files, by descriptor.
    pub const FILES: u32 = 2;
    /// No files any more.
    pub const UNREGISTER_FILES: u32 = 3;
    /// Others in some places.
    pub const FILES_UPDATE: u32 = 6;
    /// Files, by descriptor, or places that are empty.
    pub const FILES2: u32 = 13;
    /// Others in some places.
    pub const FILES_UPDATE2: u32 = 14;
    /// Rings, for the calling thread.
    pub const RING_FDS: u32 = 20;
    /// The ring gets other sizes.
    pub const RESIZE_RINGS: u32 = 33;
    /// Instead of a descriptor: the place stays as it is.
    pub const SKIP: i32 = -2;
    /// Files that the kernel lets a ring have.
    pub const MOST_FILES: u32 = 1 << 20;
}

/// What `io_uring_register` does to the files of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// It has so many places, filled from descriptors at that address; 0 leaves them empty.
    Files {
        /// Of the descriptors.
        address: u64,
        /// Places.
        count: u32,
    },
    /// Places get other files.
    Update {
        /// The first of them.
        first: u32,
        /// Of the descriptors.
        address: u64,
        /// Places.
        count: u32,
    },
    /// It has none any more.
    None,
}

impl Registration {
    /// Of an argument that is a structure: the longest.
    pub const ARGUMENT_BYTES: usize = 32;

    /// How much of the argument of an operation is needed: it is a structure.
    pub const fn argument_bytes(operation: u32) -> usize {
        match operation {
            register::FILES_UPDATE => 16,
            register::FILES2 | register::FILES_UPDATE2 => Self::ARGUMENT_BYTES,
            _ => 0,
        }
    }

    /// What an operation does whose argument is at that address and begins with these bytes.
    pub fn of(operation: u32, address: u64, count: u32, argument: &[u8; Self::ARGUMENT_BYTES]) -> Option<Self> {
        let (words, _) = argument.as_chunks::<4>();
        let word = |place: usize| u32::from_ne_bytes(words[place]);
        let long = |place: usize| u64::from(word(place)) | u64::from(word(place + 1)) << 32;
        Some(match operation {
            register::FILES => Self::Files { address, count },
            register::UNREGISTER_FILES => Self::None,
            register::FILES_UPDATE => Self::Update { first: word(0), address: long(2), count },
            register::FILES2 => Self::Files { address: long(4), count: word(0) },
            register::FILES_UPDATE2 => Self::Update { first: word(0), address: long(2), count: word(6) },
            _ => return None,
        })
    }
}

/// The kinds of requests that are read.
pub mod request {
    pub const READ_VECTORS: u8 = 1;
    pub const WRITE_VECTORS: u8 = 2;
    pub const SYNC: u8 = 3;
    pub const READ_FIXED: u8 = 4;
    pub const WRITE_FIXED: u8 = 5;
    pub const SYNC_RANGE: u8 = 8;
    pub const ALLOCATE: u8 = 17;
    pub const OPEN_AT: u8 = 18;
    pub const CLOSE: u8 = 19;
    pub const FILES_UPDATE: u8 = 20;
    pub const STATX: u8 = 21;
    pub const READ: u8 = 22;
    pub const WRITE: u8 = 23;
    pub const ADVISE: u8 = 24;
    pub const OPEN_AT2: u8 = 28;
    pub const RENAME_AT: u8 = 35;
    pub const UNLINK_AT: u8 = 36;
    pub const MAKE_DIRECTORY_AT: u8 = 37;
    pub const SYMLINK_AT: u8 = 38;
    pub const LINK_AT: u8 = 39;
    pub const READ_MULTISHOT: u8 = 49;
    pub const TRUNCATE: u8 = 55;
    pub const READ_VECTORS_FIXED: u8 = 60;
    pub const WRITE_VECTORS_FIXED: u8 = 61;

    /// Flag: the descriptor is one of the ring's registered files.
    pub const FIXED_FILE: u8 = 1;
    /// Flag: the kernel chooses the buffer, of which only it knows how long it is.
    pub const BUFFER_SELECT: u8 = 1 << 5;
    /// Flag: no completion unless it fails.
    pub const SKIP_SUCCESS: u8 = 1 << 6;
}

/// Flags of completions.
pub mod completion {
    /// Further ones of the same request follow.
    pub const MORE: u32 = 1 << 1;
    /// It only fills the end of the ring.
    pub const SKIP: u32 = 1 << 5;
    /// It is twice as long, in a ring of [`super::setup::CQE_MIXED`].
    pub const LONG: u32 = 1 << 15;
}
