//! How much of a file is in the page cache: asked when it is mapped, and when that ends.
//!
//! The kernel looks at each page, some 10 to 40 ns, so there is a limit to the time that a process spends on it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ioassay_record::maps::{Cached, Extent, in_windows, of_all};

use crate::process::system_calls_allowed;
use crate::{sys, table, ticks};

/// Pages that `mincore` is asked about at once: the answer is on the stack.
const PAGES: u64 = 1024;
/// What a process may spend of processor time while it runs, and once again at its end. While it runs, also this part of its
/// time.
const FREE_NS: u64 = 10_000_000;
const PART_OF_TIME: u64 = 128;

/// What this process has spent.
static SPENT_NS: AtomicU64 = AtomicU64::new(0);
static ENDS: AtomicBool = AtomicBool::new(false);

/// Forgets what the parent has spent.
pub fn begin() {
    SPENT_NS.store(0, Relaxed);
    ENDS.store(false, Relaxed);
}

/// The process ends.
pub fn begin_end() {
    SPENT_NS.store(0, Relaxed);
    ENDS.store(true, Relaxed);
}

/// Looks at so much of a file through a descriptor. Nothing where the kernel does not say it (before 6.5), or not of this file.
pub fn of_descriptor(descriptor: i32, extent: Extent) -> Option<Cached> {
    within_limit(|| {
        let (mut resident, mut dirty) = (0, 0);
        let checked = in_windows(extent.bytes, |offset, bytes| {
            let [cached, waiting] = sys::cache_status(descriptor, extent.offset + offset, bytes)?;
            resident += (cached * sys::page_bytes()).min(bytes);
            dirty += (waiting * sys::page_bytes()).min(bytes);
            Some(())
        })?;
        let of_all = |part| of_all(part, checked, extent.bytes);
        Some(Cached { asked: extent.bytes, resident: of_all(resident), dirty: Some(of_all(dirty)) })
    })
}

/// Looks at so many bytes of memory, in which a file is mapped from the beginning of a page on. What is only in memory because
/// it was written to a private map counts as well.
pub fn of_memory(address: usize, bytes: u64) -> Option<Cached> {
    within_limit(|| {
        let mut resident = 0;
        let checked = in_windows(bytes, |offset, bytes| {
            resident += (pages_in_memory(address + offset as usize, bytes)? * sys::page_bytes()).min(bytes);
            Some(())
        })?;
        Some(Cached { asked: bytes, resident: of_all(resident, checked, bytes), dirty: None })
    })
}

/// Looks if there is something to ask, the process may ask, and has not spent too much on it.
fn within_limit(look: impl FnOnce() -> Option<Cached>) -> Option<Cached> {
    if !system_calls_allowed() {
        return None;
    }
    let (began, began_ns) = (ticks::now(), ticks::processor_ns());
    let age = began.saturating_sub(table::header().begin_ticks) / PART_OF_TIME;
    let age_ns = if ENDS.load(Relaxed) { 0 } else { u128::from(age) * 1_000_000_000 / u128::from(ticks::per_second()) };
    if u128::from(SPENT_NS.load(Relaxed)) > u128::from(FREE_NS) + age_ns {
        return None;
    }
    let cached = look();
    SPENT_NS.fetch_add(ticks::processor_ns().saturating_sub(began_ns), Relaxed);
    table::header().own_ticks.fetch_add(ticks::now().saturating_sub(began), Relaxed);
    cached
}

/// Pages of memory that are there without a fault that reads from storage.
fn pages_in_memory(address: usize, bytes: u64) -> Option<u64> {
    let mut answers = [0_u8; PAGES as usize];
    let mut resident = 0;
    let step = PAGES * sys::page_bytes();
    let mut done = 0;
    while done < bytes {
        let part = (bytes - done).min(step);
        let answers = &mut answers[..part.div_ceil(sys::page_bytes()) as usize];
        if !sys::pages_in_memory(address + done as usize, part as usize, answers) {
            return None;
        }
        resident += answers.iter().map(|answer| u64::from(answer & 1)).sum::<u64>();
        done += part;
    }
    Some(resident)
}

#[cfg(test)]
mod tests {
    use super::*;

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
