//! Which files a process has mapped, and where. Only when maps begin can the kernel be asked what is in the page cache: by
//! the descriptor that they are made by.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use ioassay_record::maps::{Cached, Extent, in_windows, of_all};
use ioassay_record::table::{FileKind, MapAccess};

use super::table::Table;
use super::tracee;

const PAGE_BYTES: u64 = 4096;
/// Later than the C library's headers.
const CACHESTAT: i64 = 451;

/// A part of a file in memory.
#[derive(Debug, Clone, Copy)]
struct Part {
    end: u64,
    /// Of its beginning, in the file.
    offset: u64,
    /// Of the file, when it was mapped.
    size: u64,
    /// Place of the file in the table.
    file: usize,
    access: MapAccess,
}

/// Who called, and when.
#[derive(Debug, Clone, Copy)]
pub struct By {
    /// The process.
    pub process: i32,
    /// The thread.
    pub thread: i32,
    /// When the call ended.
    pub ticks: u64,
}

/// The files that a process has in memory, by address.
#[derive(Debug, Default)]
pub struct Maps {
    parts: BTreeMap<u64, Part>,
}

impl Maps {
    /// `mmap` was called with these arguments on the file at that place of the table, and returned the address.
    pub fn mapped(&mut self, by: By, arguments: [u64; 6], address: u64, file: usize, table: &mut Table) {
        let ticks = by.ticks;
        let [_, bytes, protection, flags, descriptor, offset] = arguments;
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        self.unmapped(address, bytes, table, ticks);
        if !table.is_on_storage(file) {
            return;
        }
        let Some(size) = size(by.thread, descriptor as i32) else { return };
        let access = MapAccess::of(protection as i32, flags as i32);
        let extent = Extent::within(offset, bytes, size);
        let is_read_ahead = flags as i32 & libc::MAP_POPULATE != 0;
        let cached = if is_read_ahead { None } else { cached(by.process, descriptor as i32, extent) };
        let Some(row) = table.map(file, access, ticks) else { return };
        row.count(extent, cached);
        self.parts.insert(address, Part { end: address + bytes, offset, size, file, access });
    }

    /// So much memory is not mapped any more, or by something else.
    pub fn unmapped(&mut self, address: u64, bytes: u64, table: &mut Table, ticks: u64) {
        let end = address.saturating_add(bytes.next_multiple_of(PAGE_BYTES));
        for (_, part) in self.cut_out(address, end, table) {
            if let Some(row) = table.map(part.file, part.access, ticks) {
                row.end(ticks, None);
            }
        }
    }

    /// Memory was moved, or has another size.
    pub fn moved(&mut self, arguments: [u64; 6], address: u64, table: &mut Table, ticks: u64) {
        let [from, bytes, new_bytes, ..] = arguments;
        let (bytes, new_bytes) = (bytes.next_multiple_of(PAGE_BYTES), new_bytes.next_multiple_of(PAGE_BYTES));
        if new_bytes < bytes {
            self.unmapped(from + new_bytes, bytes - new_bytes, table, ticks);
        }
        let moved = self.cut_out(from, from + bytes.min(new_bytes), table);
        self.unmapped(address, new_bytes, table, ticks);
        let last = moved.len().saturating_sub(1);
        for (index, (begin, mut part)) in moved.into_iter().enumerate() {
            part.end = part.end - from + address;
            if index == last && new_bytes > bytes {
                let offset = part.offset + (part.end - (begin - from + address));
                // Perhaps with its file.
                part.size =
                    fs::metadata(OsStr::from_bytes(table.name(part.file))).map_or(part.size, |about| about.len());
                if let Some(row) = table.map(part.file, part.access, ticks) {
                    row.grow(Extent::within(offset, new_bytes - bytes, part.size), None);
                }
                part.end += new_bytes - bytes;
            }
            self.parts.insert(begin - from + address, part);
        }
    }

    /// The place of the file that is mapped at an address.
    pub fn file_at(&self, address: u64) -> Option<usize> {
        Some(self.part_at(address)?.file)
    }

    /// So many bytes that are mapped there were written to their file.
    pub fn synced(&self, address: u64, bytes: u64, table: &mut Table, ticks: u64) {
        if let Some(part) = self.part_at(address)
            && let Some(row) = table.map(part.file, part.access, ticks)
        {
            row.sync(bytes);
        }
    }

    fn part_at(&self, address: u64) -> Option<&Part> {
        let (_, part) = self.parts.range(..=address).next_back()?;
        (address < part.end).then_some(part)
    }

    /// Takes out what lies within these addresses, with its beginning. What is left of it outside stays.
    fn cut_out(&mut self, address: u64, end: u64, table: &mut Table) -> Vec<(u64, Part)> {
        let within = |(begin, part): (&u64, &Part)| (part.end > address).then_some(*begin);
        let begins: Vec<u64> = self.parts.range(..end).filter_map(within).collect();
        let mut removed = Vec::new();
        for begin in begins {
            let Some(part) = self.parts.remove(&begin) else { continue };
            let (first, last) = (begin.max(address), part.end.min(end));
            for (rest, rest_end) in [(begin, first), (last, part.end)] {
                if rest < rest_end {
                    self.parts.insert(rest, Part { end: rest_end, offset: part.offset + (rest - begin), ..part });
                    if let Some(row) = table.map(part.file, part.access, 0) {
                        row.split();
                    }
                }
            }
            removed.push((first, Part { end: last, offset: part.offset + (first - begin), ..part }));
        }
        removed
    }
}

/// The size of an open file of a thread; that of a device has no limit.
fn size(thread: i32, descriptor: i32) -> Option<u64> {
    match tracee::about(thread, descriptor)? {
        about if about.kind == FileKind::Regular => Some(about.size_bytes),
        about if about.kind == FileKind::BlockDevice => Some(u64::MAX),
        _ => None,
    }
}

/// What of an open file of a process is in the page cache. Nothing where the kernel does not say it: before 6.5, or of the files
/// of others.
fn cached(process: i32, descriptor: i32, extent: Extent) -> Option<Cached> {
    let opened = |result: i64| {
        (result >= 0).then(|| {
            // SAFETY: it is a new descriptor.
            unsafe { OwnedFd::from_raw_fd(result as i32) }
        })
    };
    // SAFETY: neither touches memory.
    let file = unsafe {
        let process = opened(libc::syscall(libc::SYS_pidfd_open, process, 0))?;
        opened(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0))?
    };
    let (mut resident, mut dirty) = (0, 0);
    let checked = in_windows(extent.bytes, |offset, bytes| {
        let (part, mut counts) = ([extent.offset + offset, bytes], [0_u64; 5]);
        // SAFETY: `struct cachestat_range` is two numbers, which the kernel reads, and `struct cachestat` five, which it writes.
        let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), part.as_ptr(), counts.as_mut_ptr(), 0) };
        resident += (counts[0] * PAGE_BYTES).min(bytes);
        dirty += (counts[1] * PAGE_BYTES).min(bytes);
        (result == 0).then_some(())
    })?;
    let of_all = |part| of_all(part, checked, extent.bytes);
    Some(Cached { asked: extent.bytes, resident: of_all(resident), dirty: Some(of_all(dirty)) })
}
