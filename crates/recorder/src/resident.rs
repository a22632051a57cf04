//! How much of a file is in the page cache: asked when it is mapped, and when that ends.
//!
//! The kernel looks at each page, some 10 to 40 ns. So of large parts only some are looked at, evenly, and there is a limit
//! to the time that a process spends on it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ioassay_record::maps::{Cached, Extent};

use crate::process::system_calls_allowed;
use crate::{sys, table, ticks};

/// Up to here every page is looked at; of what is larger, as much in [`WINDOWS`].
const WHOLE_BYTES: u64 = 256 << 20;
/// Parts of a large file that are looked at, as far from each other as they can be.
const WINDOWS: u64 = 256;
/// Pages that `mincore` is asked about at once: the answer is on the stack.
const PAGES: u64 = 1024;
/// What a process may spend while it runs, and once again at its end: this part of a second. While it runs, also this part of
/// its time.
pub const FREE_PART_OF_SECOND: u64 = 100;
const PART_OF_TIME: u64 = 128;

/// Ticks that this process has spent.
static SPENT: AtomicU64 = AtomicU64::new(0);

/// From now on it may spend as much again: a forked child, and a process at its end.
pub fn begin() {
    SPENT.store(0, Relaxed);
}

/// Looks at so much of a file through a descriptor. Nothing where the kernel does not say it (before 6.5), or not of this file.
pub fn of_descriptor(descriptor: i32, extent: Extent) -> Option<Cached> {
    within_limit(|| {
        let (mut resident, mut dirty) = (0, 0);
        let looked_at = in_windows(extent.bytes, |offset, bytes| {
            let [cached, waiting] = sys::cache_status(descriptor, extent.offset + offset, bytes)?;
            resident += (cached * sys::page_bytes()).min(bytes);
            dirty += (waiting * sys::page_bytes()).min(bytes);
            Some(())
        })?;
        let of_all = |part| of_all(part, looked_at, extent.bytes);
        Some(Cached { asked: extent.bytes, resident: of_all(resident), dirty: Some(of_all(dirty)) })
    })
}

/// Looks at so many bytes of memory, in which a file is mapped from the beginning of a page on. What is only in memory because
/// it was written to a private map counts as well.
pub fn of_memory(address: usize, bytes: u64) -> Option<Cached> {
    within_limit(|| {
        let mut resident = 0;
        let looked_at = in_windows(bytes, |offset, bytes| {
            resident += (pages_in_memory(address + offset as usize, bytes)? * sys::page_bytes()).min(bytes);
            Some(())
        })?;
        Some(Cached { asked: bytes, resident: of_all(resident, looked_at, bytes), dirty: None })
    })
}

/// Looks if there is something to ask, the process may ask, and has not spent too much on it.
fn within_limit(look: impl FnOnce() -> Option<Cached>) -> Option<Cached> {
    if !system_calls_allowed() {
        return None;
    }
    let began = ticks::now();
    let age = began.saturating_sub(table::header().begin_ticks);
    if SPENT.load(Relaxed) > ticks::per_second() / FREE_PART_OF_SECOND + age / PART_OF_TIME {
        return None;
    }
    let found = look();
    let took = ticks::now().saturating_sub(began);
    SPENT.fetch_add(took, Relaxed);
    table::header().own_ticks.fetch_add(took, Relaxed);
    found
}

/// Has `look` look at so many bytes, or evenly at parts of them. At how many; nothing where it could not.
fn in_windows(bytes: u64, mut look: impl FnMut(u64, u64) -> Option<()>) -> Option<u64> {
    if bytes <= WHOLE_BYTES {
        if bytes > 0 {
            look(0, bytes)?;
        }
        return Some(bytes);
    }
    let window = WHOLE_BYTES / WINDOWS;
    let step = bytes / WINDOWS / window * window;
    for number in 0..WINDOWS {
        look(number * step, window)?;
    }
    Some(WHOLE_BYTES)
}

/// What a part that was found among those looked at stands for.
fn of_all(part: u64, looked_at: u64, all: u64) -> u64 {
    if looked_at == all { part } else { (u128::from(part) * u128::from(all) / u128::from(looked_at)) as u64 }
}

/// Pages of memory that are there without a fault that reads from storage.
fn pages_in_memory(address: usize, bytes: u64) -> Option<u64> {
    let mut answers = [0_u8; PAGES as usize];
    let mut found = 0;
    let step = PAGES * sys::page_bytes();
    let mut done = 0;
    while done < bytes {
        let part = (bytes - done).min(step);
        let answers = &mut answers[..part.div_ceil(sys::page_bytes()) as usize];
        if !sys::pages_in_memory(address + done as usize, part as usize, answers) {
            return None;
        }
        found += answers.iter().map(|answer| u64::from(answer & 1)).sum::<u64>();
        done += part;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_large_file_lie_evenly_within_it() {
        for bytes in [WHOLE_BYTES + 1, 3 * WHOLE_BYTES + 12_345, 1 << 40] {
            let mut places = Vec::new();
            let looked_at = in_windows(bytes, |offset, bytes| {
                places.push((offset, offset + bytes));
                Some(())
            });
            assert_eq!(looked_at, Some(WHOLE_BYTES));
            assert!(places.windows(2).all(|two| two[0].1 <= two[1].0), "they overlap");
            assert!(places.iter().all(|(begin, end)| begin % 4096 == 0 && *end <= bytes));
            assert!(places.last().unwrap().1 > bytes - bytes / 100 - WHOLE_BYTES / WINDOWS, "the end is left out");
        }
    }

    #[test]
    fn what_was_found_in_a_part_stands_for_all() {
        assert_eq!(of_all(WHOLE_BYTES / 2, WHOLE_BYTES, 1 << 40), 1 << 39);
        assert_eq!(of_all(4097, 8192, 8192), 4097);
    }

    #[test]
    fn memory_that_was_touched_is_there_and_other_memory_is_not() {
        let page = sys::page_bytes() as usize;
        // SAFETY: new memory of that size, of which some pages are written to.
        let address = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let address = sys::map(0, 3000 * page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            sys::call(libc::SYS_madvise, [address as usize, 3000 * page, libc::MADV_NOHUGEPAGE as usize, 0, 0, 0]);
            for number in [0, 1, 1024, 2999] {
                *((address as usize + number * page) as *mut u8) = 1;
            }
            address as usize
        };
        assert_eq!(pages_in_memory(address, 3000 * page as u64), Some(4));
        assert_eq!(pages_in_memory(1 << 46, 1), None);
    }
}
