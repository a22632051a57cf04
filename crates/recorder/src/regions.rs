//! Regions: steps that the application names (`plugins/region`), so that I/O is tied to a time step, an epoch, a checkpoint.
//!
//! Counting a call does not know of them. What a thread has counted since it entered its region is in its totals of the
//! step; whenever these are folded into rows, they are added to the region as well, and entering or leaving one folds them.

use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};

use ioassay_record::operation::Operation;
use ioassay_record::table::{REGION_DEPTH, Region, TOTALS, Thread};

use crate::text::copy_parts;
use crate::thread_words::words;
use crate::{call, seconds, table, ticks};

/// Place of the newest region, from which all others can be reached.
static NEWEST: AtomicU32 = AtomicU32::new(0);
/// Regions that there are, and may be: an application that puts a number into each name must not fill the table.
static COUNT: AtomicU32 = AtomicU32::new(0);
const MOST: u32 = 256;
/// Of a name, in bytes. The rest is cut.
const LONGEST_NAME: usize = 255;

/// Forgets the table of the parent. A forked child begins outside of all regions.
pub fn begin() {
    NEWEST.store(0, Relaxed);
    COUNT.store(0, Relaxed);
}

/// The owner of regions that are left by name.
pub const NOBODY: usize = 0;

/// The calling thread enters a region within the one in which it is. Whose it is says how it is left: an object's by
/// [`leave_owned`], nobody's by [`leave`].
pub fn enter(name: &[u8], owner: usize) {
    call::on_thread(|thread| {
        let now = fold(thread);
        let name = &name[..name.len().min(LONGEST_NAME)];
        let parent = thread.region.load(Relaxed);
        let place = find(parent, name).or_else(|| new(parent, name, now));
        let Some(place) = place else {
            table::header().lost_regions.fetch_add(1, Relaxed);
            return;
        };
        let region = region_at(place);
        region.entries.fetch_add(1, Relaxed);
        let depth = region.depth as usize % REGION_DEPTH;
        thread.region_begin_ticks[depth].store(now, Relaxed);
        words().region_owners[depth].store(owner, Relaxed);
        thread.region.store(place, Relaxed);
    });
}

/// The calling thread leaves the innermost region of that owner, and all that it did not leave within it. Nothing where it
/// has left it already, or there was no place for it.
pub fn leave_owned(owner: usize) {
    call::on_thread(|thread| {
        let is_its =
            |place: &u32| words().region_owners[region_at(*place).depth as usize % REGION_DEPTH].load(Relaxed) == owner;
        if let Some(left) = outward(thread.region.load(Relaxed)).find(is_its) {
            leave_up_to(thread, region_at(left).parent);
        }
    });
}

/// The calling thread leaves the innermost region of that name, and all that it did not leave within it.
pub fn leave(name: &[u8]) {
    call::on_thread(|thread| {
        let name = &name[..name.len().min(LONGEST_NAME)];
        let current = thread.region.load(Relaxed);
        if let Some(left) = outward(current).find(|&place| name_of(region_at(place)) == name) {
            leave_up_to(thread, region_at(left).parent);
        }
    });
}

/// The thread has ended: it leaves all regions.
pub fn leave_all(thread: &Thread) {
    if thread.region.load(Relaxed) != 0 {
        leave_up_to(thread, 0);
    }
}

fn leave_up_to(thread: &Thread, outer: u32) {
    let now = fold(thread);
    for place in outward(thread.region.load(Relaxed)).take_while(|&place| place != outer) {
        let region = region_at(place);
        let stayed = now.saturating_sub(thread.region_begin_ticks[region.depth as usize % REGION_DEPTH].load(Relaxed));
        region.ticks.fetch_add(stayed, Relaxed);
        region.slowest_ticks.fetch_max(stayed, Relaxed);
        region.last_ticks.fetch_max(now, Relaxed);
    }
    thread.region.store(outer, Relaxed);
}

/// Adds to the region of a thread what it has counted of an operation.
pub fn add(thread: &Thread, operation: Operation, values: [u64; TOTALS.len()]) {
    let place = thread.region.load(Relaxed);
    if place == 0 {
        return;
    }
    let [calls, bytes, ticks, slowest] = &region_at(place).totals[operation as usize];
    for (total, value) in [calls, bytes, ticks].into_iter().zip(values) {
        total.fetch_add(value, Relaxed);
    }
    slowest.fetch_max(values[3], Relaxed);
}

/// Adds to rows and region what the thread has counted. The moment, in ticks.
fn fold(thread: &Thread) -> u64 {
    let now = ticks::now();
    let ends = thread.step_ends_ticks.load(Relaxed);
    if now >= ends {
        seconds::turn(thread);
    } else {
        seconds::fold(thread);
        // Agents see by it that the totals they have read are in rows now.
        thread.step_ends_ticks.store(ends - 1, Relaxed);
    }
    now
}

/// The region with that name within another one.
fn find(parent: u32, name: &[u8]) -> Option<u32> {
    let mut place = NEWEST.load(Acquire);
    while place != 0 {
        let region = region_at(place);
        if region.parent == parent && name_of(region) == name {
            return Some(place);
        }
        place = region.next;
    }
    None
}

/// A new region. Nothing where there are too many, or too many within each other.
fn new(parent: u32, name: &[u8], now: u64) -> Option<u32> {
    let depth = if parent == 0 { 0 } else { region_at(parent).depth + 1 };
    if depth as usize >= REGION_DEPTH || COUNT.fetch_add(1, Relaxed) >= MOST {
        return None;
    }
    let mut newest = NEWEST.load(Acquire);
    let place = table::allocate::<Region>(name.len(), |region, bytes| {
        region.next = newest;
        region.parent = parent;
        region.depth = depth;
        region.name_bytes = name.len() as u32;
        region.first_ticks = now;
        copy_parts(&[name], bytes);
    })?;
    // Another thread's new region of the same name may slip in: then there are two, which readers add up.
    while let Err(other) = NEWEST.compare_exchange(newest, place, AcqRel, Acquire) {
        newest = other;
        // SAFETY: the region is not in the list yet, so nobody else reads it.
        unsafe { (*(&raw const *region_at(place)).cast_mut()).next = newest };
    }
    Some(place)
}

/// A region and those around it, from the inside out.
fn outward(place: u32) -> impl Iterator<Item = u32> {
    core::iter::successors(Some(place), |&place| Some(region_at(place).parent)).take_while(|&place| place != 0)
}

fn region_at(place: u32) -> &'static Region {
    // SAFETY: places of regions come from here alone.
    unsafe { table::block_at(place) }
}

fn name_of(region: &'static Region) -> &'static [u8] {
    // SAFETY: it lies behind the structure.
    unsafe { core::slice::from_raw_parts((&raw const *region).add(1).cast(), region.name_bytes as usize) }
}
