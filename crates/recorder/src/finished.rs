//! The file to which processes add their tables when they end, or are replaced.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, AtomicU64};

use ioassay_record::names;
use ioassay_record::table::{BlockKind, Clock, Header, State, Text, TextKind, block_word};

use crate::process::{system_calls_allowed, write_header};
use crate::sys;
use crate::text::Buffer;
use crate::ticks::Moment;

/// Its name.
static FINISHED: Buffer<640> = Buffer::new();

/// Names it by the directory of the tables and the node. Whether the name fits.
pub fn name(directory: &[u8], node: &[u8]) -> bool {
    FINISHED.set(&[directory, b"/", node, b".", names::FINISHED.as_bytes()])
}

/// Adds a table to those of finished processes. Whether all of it is there.
pub fn add(bytes: &[u8]) -> bool {
    let file =
        sys::open(FINISHED.as_c_str(), libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOFOLLOW, 0o600);
    if file < 0 {
        return false;
    }
    // Where files are limited, one that others make grow at the same time could kill this process: its table stays.
    let unlimited = sys::limit(libc::RLIMIT_FSIZE) == u64::MAX;
    let added = unlimited && sys::write(file, bytes) == bytes.len() as isize;
    sys::close(file);
    added
}

/// Says that a process is about to be replaced, or that it was not: one that has no table, such as a child of `vfork`, which
/// shares its parent's memory. Nothing but the stack is written to.
pub fn announce(process: u32, when: Moment, state: State, path: &CStr) {
    #[repr(C)]
    struct Announcement {
        header: Header,
        text: Text,
        bytes: [u8; 512],
    }
    if FINISHED.is_empty() || !system_calls_allowed() {
        return;
    }
    // SAFETY: integers, for which zero is valid.
    let mut announcement: Announcement = unsafe { core::mem::zeroed() };
    // SAFETY: it is all zero.
    unsafe { write_header(&raw mut announcement.header, process, Clock::Nanoseconds, when) };
    let path = path.to_bytes();
    let path = &path[..path.len().min(512)];
    let text = size_of::<Text>() + path.len().next_multiple_of(8);
    announcement.header.state = AtomicU32::new(state as u32);
    announcement.header.used_bytes = AtomicU64::new((size_of::<Header>() + text) as u64);
    announcement.text.kind_and_bytes = AtomicU64::new(block_word(BlockKind::Text, text));
    announcement.text.kind = TextKind::Replacement as u32;
    announcement.text.text_bytes = path.len() as u32;
    announcement.bytes[..path.len()].copy_from_slice(path);
    // SAFETY: the beginning of the structure, which has no padding.
    let bytes =
        unsafe { core::slice::from_raw_parts((&raw const announcement).cast::<u8>(), size_of::<Header>() + text) };
    add(bytes);
}
