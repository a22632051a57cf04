//! What a request asks for.

use super::interface::request::{
    ADVISE, ALLOCATE, BUFFER_SELECT, CLOSE, FILES_UPDATE, FIXED_FILE, LINK_AT, MAKE_DIRECTORY_AT, OPEN_AT, OPEN_AT2,
    READ, READ_FIXED, READ_MULTISHOT, READ_VECTORS, READ_VECTORS_FIXED, RENAME_AT, SKIP_SUCCESS, STATX, SYMLINK_AT,
    SYNC, SYNC_RANGE, TRUNCATE, UNLINK_AT, WRITE, WRITE_FIXED, WRITE_VECTORS, WRITE_VECTORS_FIXED,
};
use crate::operation::Operation;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub what: What,
    /// What its completions say that it is.
    pub user_data: u64,
    /// It has no completion if all goes well.
    pub is_silent: bool,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It moves bytes.
    Transfer {
        /// [`Operation::SubmitRead`] or [`Operation::SubmitWrite`].
        operation: Operation,
        /// Which file it is on.
        subject: Subject,
        /// How much it asks for.
        size: Size,
        /// From where; nothing where the file is.
        offset: Option<u64>,
    },
    /// It moves none.
    Call(Operation, Subject),
    /// It opens a file.
    Open {
        /// Its path.
        subject: Subject,
        /// What it gets.
        gets: Gets,
    },
    /// It closes a descriptor.
    Close(i32),
    /// It empties one of the ring's places.
    CloseRegistered(u32),
    /// It changes places.
    Update {
        /// The first of them.
        first: u32,
        /// Of the descriptors.
        address: u64,
        /// Places.
        count: u32,
    },
    /// Anything else.
    Other,
}

/// What a file gets that a request opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gets {
    /// A descriptor.
    Descriptor,
    /// One of the ring's places.
    Place(u32),
    /// One of the ring's places that the kernel chooses.
    AnyPlace,
}

/// Which file a request is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// That of a descriptor.
    Descriptor(i32),
    /// That in one of the ring's places.
    Registered(u32),
    /// That of a path at an address, relative to an open directory.
    Path(i32, u64),
}

/// How much a transfer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// So many bytes.
    Bytes(u64),
    /// What vectors say.
    Vectors {
        /// Where they are.
        address: u64,
        /// How many.
        count: u32,
    },
    /// Only the kernel knows.
    Unknown,
}

impl Request {
    /// What the words of a request say.
    pub fn of(words: [u64; 8]) -> Self {
        let [begin, offset, address, length, user_data, end, ..] = words;
        let (kind, flags, descriptor) = (begin as u8, (begin >> 8) as u8, (begin >> 32) as i32);
        let length = length as u32;
        // Plus 1; 0 is none.
        let place = (end >> 32) as u32;
        let subject = if flags & FIXED_FILE == 0 {
            Subject::Descriptor(descriptor)
        } else {
            Subject::Registered(descriptor as u32)
        };
        let transfer = |operation, size| What::Transfer {
            operation,
            subject,
            size: if flags & BUFFER_SELECT == 0 { size } else { Size::Unknown },
            offset: (offset != u64::MAX).then_some(offset),
        };
        let (bytes, vectors) = (Size::Bytes(length.into()), Size::Vectors { address, count: length });
        let path = Subject::Path(descriptor, address);
        let what = match kind {
            READ | READ_FIXED => transfer(Operation::SubmitRead, bytes),
            WRITE | WRITE_FIXED => transfer(Operation::SubmitWrite, bytes),
            READ_VECTORS | READ_VECTORS_FIXED => transfer(Operation::SubmitRead, vectors),
            WRITE_VECTORS | WRITE_VECTORS_FIXED => transfer(Operation::SubmitWrite, vectors),
            READ_MULTISHOT => transfer(Operation::SubmitRead, Size::Unknown),
            SYNC | SYNC_RANGE => What::Call(Operation::Sync, subject),
            ALLOCATE | TRUNCATE => What::Call(Operation::Truncate, subject),
            ADVISE => What::Call(Operation::Advise, subject),
            STATX => What::Call(Operation::Stat, path),
            UNLINK_AT => What::Call(Operation::Remove, path),
            RENAME_AT => What::Call(Operation::Rename, path),
            MAKE_DIRECTORY_AT => What::Call(Operation::Create, path),
            SYMLINK_AT => What::Call(Operation::Create, Subject::Path(descriptor, offset)),
            LINK_AT => What::Call(Operation::Create, Subject::Path(length as i32, offset)),
            OPEN_AT | OPEN_AT2 => {
                let gets = match place {
                    0 => Gets::Descriptor,
                    u32::MAX => Gets::AnyPlace,
                    _ => Gets::Place(place - 1),
                };
                What::Open { subject: path, gets }
            }
            CLOSE if place == 0 => What::Close(descriptor),
            CLOSE => What::CloseRegistered(place - 1),
            FILES_UPDATE => What::Update { first: offset as u32, address, count: length },
            _ => What::Other,
        };
        Self { what, user_data, is_silent: flags & SKIP_SUCCESS != 0 }
    }
}
