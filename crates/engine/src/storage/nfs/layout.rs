//! Arguments and results of NFSv3 as libnfs lays them out in memory (its `libnfs-raw-nfs.h`, the same in 4.0 and 5.0).
//!
//! Names are those of RFC 1813. Not here: what is done with them.

use std::ffi::{c_char, c_int, c_uint};

/// `nfs_fh3`, and anything else that is a length and a pointer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Opaque {
    pub len: c_uint,
    pub val: *mut c_char,
}

/// `nfs_fh`, which the root of a mount is given out as.
#[repr(C)]
pub(super) struct RootHandle {
    pub len: c_int,
    pub val: *const c_char,
}

#[repr(C)]
pub(super) struct DirOpArgs {
    pub dir: Opaque,
    pub name: *const c_char,
}

#[repr(C)]
pub(super) struct RenameArgs {
    pub from: DirOpArgs,
    pub to: DirOpArgs,
}

#[repr(C)]
pub(super) struct AccessArgs {
    pub object: Opaque,
    pub access: c_uint,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Time {
    seconds: c_uint,
    nseconds: c_uint,
}

#[repr(C)]
#[derive(Default)]
struct SetNumber {
    set_it: c_uint,
    value: c_uint,
}

#[repr(C)]
#[derive(Default)]
struct SetSize {
    set_it: c_uint,
    size: u64,
}

#[repr(C)]
#[derive(Default)]
struct SetTime {
    set_it: c_int,
    time: Time,
}

/// `sattr3`.
#[repr(C)]
#[derive(Default)]
pub(super) struct SetAttributes {
    mode: SetNumber,
    uid: SetNumber,
    gid: SetNumber,
    size: SetSize,
    atime: SetTime,
    mtime: SetTime,
}

impl SetAttributes {
    /// Permissions, and nothing else.
    pub fn mode(mode: u32) -> Self {
        Self { mode: SetNumber { set_it: 1, value: mode }, ..Self::default() }
    }

    /// A size in bytes, and nothing else.
    pub fn size(bytes: u64) -> Self {
        Self { size: SetSize { set_it: 1, size: bytes }, ..Self::default() }
    }
}

#[repr(C)]
pub(super) struct SetAttrArgs {
    pub object: Opaque,
    pub attributes: SetAttributes,
    /// `sattrguard3`: whether the time is to be compared, and with what.
    pub guard: (c_uint, Time),
}

#[repr(C)]
pub(super) struct CreateArgs {
    pub place: DirOpArgs,
    /// `createmode3`.
    pub how: c_int,
    pub attributes: SetAttributes,
}

/// `createmode3`: the first client creates the file, the others open it.
pub(super) const UNCHECKED: c_int = 0;
/// `createmode3`: one that is there is an error.
pub(super) const GUARDED: c_int = 1;

#[repr(C)]
pub(super) struct MkdirArgs {
    pub place: DirOpArgs,
    pub attributes: SetAttributes,
}

/// Of READ and of COMMIT.
#[repr(C)]
pub(super) struct RangeArgs {
    pub file: Opaque,
    pub offset: u64,
    pub count: c_uint,
}

#[repr(C)]
pub(super) struct WriteArgs {
    pub file: Opaque,
    pub offset: u64,
    pub count: c_uint,
    /// `stable_how`.
    pub stable: c_int,
    pub data: Opaque,
}

/// `stable_how`: in the server's memory until a COMMIT.
pub(super) const UNSTABLE: c_int = 0;
/// `stable_how`: on stable storage before the answer.
pub(super) const FILE_SYNC: c_int = 2;

#[repr(C)]
pub(super) struct ReadDirArgs {
    pub dir: Opaque,
    pub cookie: u64,
    pub verifier: [u8; 8],
    pub count: c_uint,
}

/// A result: its status, and what follows if that is 0.
#[repr(C)]
pub(super) struct Res<T> {
    pub status: c_int,
    pub ok: T,
}

/// `fattr3`.
#[repr(C)]
pub(super) struct Attributes {
    /// `ftype3`.
    pub kind: c_int,
    pub mode: c_uint,
    pub nlink: c_uint,
    pub uid: c_uint,
    pub gid: c_uint,
    pub size: u64,
    pub used: u64,
    pub rdev: [c_uint; 2],
    pub fsid: u64,
    pub fileid: u64,
    pub times: [Time; 3],
}

/// `post_op_attr`.
#[repr(C)]
pub(super) struct PostAttributes {
    pub follow: c_uint,
    pub attributes: Attributes,
}

#[repr(C)]
pub(super) struct WccAttributes {
    size: u64,
    times: [Time; 2],
}

/// `pre_op_attr`.
#[repr(C)]
pub(super) struct PreAttributes {
    follow: c_uint,
    attributes: WccAttributes,
}

#[repr(C)]
pub(super) struct WccData {
    before: PreAttributes,
    after: PostAttributes,
}

#[repr(C)]
pub(super) struct LookupOk {
    pub object: Opaque,
    pub attributes: PostAttributes,
    directory: PostAttributes,
}

#[repr(C)]
pub(super) struct AccessOk {
    attributes: PostAttributes,
    pub access: c_uint,
}

/// Of CREATE and of MKDIR.
#[repr(C)]
pub(super) struct CreateOk {
    pub handle_follows: c_uint,
    pub handle: Opaque,
    pub attributes: PostAttributes,
    directory: WccData,
}

#[repr(C)]
pub(super) struct ReadOk {
    attributes: PostAttributes,
    pub count: c_uint,
    eof: c_uint,
    pub data: Opaque,
}

#[repr(C)]
pub(super) struct WriteOk {
    file: WccData,
    pub count: c_uint,
    pub committed: c_int,
    pub verifier: [u8; 8],
}

#[repr(C)]
pub(super) struct CommitOk {
    file: WccData,
    pub verifier: [u8; 8],
}

#[repr(C)]
pub(super) struct ReadDirOk {
    directory: PostAttributes,
    pub verifier: [u8; 8],
    pub entries: *const DirEntry,
    pub eof: c_uint,
}

#[repr(C)]
pub(super) struct DirEntry {
    fileid: u64,
    pub name: *const c_char,
    pub cookie: u64,
    pub next: *const DirEntry,
}

#[repr(C)]
pub(super) struct FsStatOk {
    attributes: PostAttributes,
    total_bytes: u64,
    free_bytes: u64,
    /// What this user may still write.
    pub available_bytes: u64,
    pub total_files: u64,
    free_files: u64,
    pub available_files: u64,
    invarsec: c_uint,
}

/// What the C compiler says that the same types take, of libnfs 4.0.0 and of 5.0.3.
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<RenameArgs>() == 48 && size_of::<AccessArgs>() == 24 && size_of::<SetAttrArgs>() == 96);
    assert!(size_of::<CreateArgs>() == 96 && size_of::<MkdirArgs>() == 88 && size_of::<RangeArgs>() == 32);
    assert!(size_of::<WriteArgs>() == 48 && size_of::<ReadDirArgs>() == 40 && size_of::<DirEntry>() == 32);
    assert!(size_of::<Res<Attributes>>() == 96 && size_of::<Res<LookupOk>>() == 216);
    assert!(size_of::<Res<AccessOk>>() == 112 && size_of::<Res<CreateOk>>() == 256);
    assert!(size_of::<Res<ReadOk>>() == 128 && size_of::<Res<WriteOk>>() == 152);
    assert!(size_of::<Res<CommitOk>>() == 144 && size_of::<Res<ReadDirOk>>() == 128);
    assert!(size_of::<Res<FsStatOk>>() == 160 && offset_of!(Res<LookupOk>, ok.attributes) == 24);
    assert!(offset_of!(Res<ReadOk>, ok.data) == 112 && offset_of!(Res<WriteOk>, ok.verifier) == 144);
};
