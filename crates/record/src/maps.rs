//! Counting a mapped file in its row: what is mapped, and what of it was in the page cache.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::table::{Map, MapAccess};

/// `PROT_WRITE`, and the part of the flags that is `MAP_PRIVATE`, of `mmap`.
const WRITABLE: i32 = 2;
const SHARING: i32 = 0xf;
const PRIVATE: i32 = 2;

impl MapAccess {
    /// By what `mmap` was asked for.
    pub const fn of(protection: i32, flags: i32) -> Self {
        match (protection & WRITABLE != 0, flags & SHARING == PRIVATE) {
            (false, _) => Self::Read,
            (true, false) => Self::Write,
            (true, true) => Self::PrivateWrite,
        }
    }
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where it begins.
    pub offset: u64,
    /// Up to the end of the file at most.
    pub bytes: u64,
}

impl Extent {
    /// What of the mapped bytes lies within a file of that size.
    pub const fn within(offset: u64, mapped: u64, size: u64) -> Self {
        let left = size.saturating_sub(offset);
        Self { offset, bytes: if mapped < left { mapped } else { left } }
    }
}

/// Up to here every page is checked; of what is larger, as much in [`WINDOWS`].
const WHOLE_BYTES: u64 = 256 << 20;
/// Parts of a large file that are checked, as far from each other as they can be.
const WINDOWS: u64 = 256;

/// Has `look` look at so many bytes, or evenly at parts of them. At how many; nothing where it could not.
pub fn in_windows(bytes: u64, mut look: impl FnMut(u64, u64) -> Option<()>) -> Option<u64> {
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

/// Scales `part`, found in the `checked` pages, to `all`.
pub fn of_all(part: u64, checked: u64, all: u64) -> u64 {
    if checked == all { part } else { (u128::from(part) * u128::from(all) / u128::from(checked)) as u64 }
}

/// What the kernel says of some bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// That it was asked about.
    pub asked: u64,
    /// Of these, those in the page cache.
    pub resident: u64,
    /// Of these, those not yet written to storage, where it says that.
    pub dirty: Option<u64>,
}

impl Map {
    /// Counts a map that begins.
    pub fn count(&self, extent: Extent, cached: Option<Cached>) {
        self.maps.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
        self.grow(extent, cached);
    }

    /// So much more is mapped.
    pub fn grow(&self, extent: Extent, cached: Option<Cached>) {
        let Extent { offset, bytes } = extent;
        if bytes == 0 {
            return;
        }
        if let Some(cached) = cached {
            self.begin_asked_bytes.fetch_add(cached.asked, Relaxed);
            self.begin_resident_bytes.fetch_add(cached.resident, Relaxed);
        }
        if self.bytes.fetch_add(bytes, Relaxed) == 0 {
            self.begin.store(offset, Relaxed);
        } else {
            self.begin.fetch_min(offset, Relaxed);
        }
        self.end.fetch_max(offset + bytes, Relaxed);
    }

    /// Memory within a map is about to end: what is left of it on one side is a part of its own.
    pub fn split(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    /// Counts a part of a map that ends.
    pub fn end(&self, ticks: u64, cached: Option<Cached>) {
        self.open.fetch_sub(1, Relaxed);
        self.last_end_ticks.fetch_max(ticks, Relaxed);
        let counters =
            [&self.end_asked_bytes, &self.end_resident_bytes, &self.end_dirty_asked_bytes, &self.end_dirty_bytes];
        add_cached(counters, cached);
    }

    /// Forgets what was reported of maps that are still there: it is about to be reported again.
    pub fn forget_left(&self) {
        self.left().iter().for_each(|counter| counter.store(0, Relaxed));
    }

    /// The image of the process ends while a part of a map is there.
    pub fn leave(&self, cached: Option<Cached>) {
        add_cached(self.left(), cached);
    }

    fn left(&self) -> [&AtomicU64; 4] {
        [&self.left_asked_bytes, &self.left_resident_bytes, &self.left_dirty_asked_bytes, &self.left_dirty_bytes]
    }

    /// Counts an `msync` of so many bytes.
    pub fn sync(&self, bytes: u64) {
        self.syncs.fetch_add(1, Relaxed);
        self.synced_bytes.fetch_add(bytes, Relaxed);
    }
}

fn add_cached([asked, resident, dirty_asked, dirty]: [&AtomicU64; 4], cached: Option<Cached>) {
    let Some(cached) = cached else { return };
    asked.fetch_add(cached.asked, Relaxed);
    resident.fetch_add(cached.resident, Relaxed);
    if let Some(dirty_bytes) = cached.dirty {
        dirty_asked.fetch_add(cached.asked, Relaxed);
        dirty.fetch_add(dirty_bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::zeroed;

    #[test]
    fn only_a_shared_and_writable_map_writes_to_its_file() {
        const READ: i32 = 1;
        const SHARED: i32 = 1;
        const SHARED_VALIDATE: i32 = 3;
        for (protection, flags, access) in [
            (READ, SHARED, MapAccess::Read),
            (READ, PRIVATE, MapAccess::Read),
            (0, SHARED, MapAccess::Read),
            (READ | WRITABLE, SHARED, MapAccess::Write),
            (WRITABLE, SHARED_VALIDATE | 0x10, MapAccess::Write),
            (READ | WRITABLE, PRIVATE | 0x8000, MapAccess::PrivateWrite),
        ] {
            assert_eq!(MapAccess::of(protection, flags), access, "{protection} {flags}");
        }
    }

    #[test]
    fn a_map_counts_up_to_the_end_of_its_file() {
        assert_eq!(Extent::within(0, 1 << 30, 5000), Extent { offset: 0, bytes: 5000 });
        assert_eq!(Extent::within(4096, 4096, 5000), Extent { offset: 4096, bytes: 904 });
        assert_eq!(Extent::within(8192, 4096, 5000).bytes, 0);
        assert_eq!(Extent::within(0, 4096, u64::MAX).bytes, 4096);
    }

    #[test]
    fn parts_of_a_large_file_lie_evenly_within_it() {
        for bytes in [WHOLE_BYTES + 1, 3 * WHOLE_BYTES + 12_345, 1 << 40] {
            let mut places = Vec::new();
            let checked = in_windows(bytes, |offset, bytes| {
                places.push((offset, offset + bytes));
                Some(())
            });
            assert_eq!(checked, Some(WHOLE_BYTES));
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
    fn sums_and_the_extent_are_of_all_maps() {
        let map: Map = zeroed();
        map.count(Extent { offset: 8192, bytes: 4096 }, Some(Cached { asked: 4096, resident: 0, dirty: Some(0) }));
        map.count(Extent { offset: 4096, bytes: 8192 }, None);
        map.end(7, Some(Cached { asked: 4096, resident: 4096, dirty: None }));
        let [maps, bytes, begin, end] =
            [&map.maps, &map.bytes, &map.begin, &map.end].map(|number| number.load(Relaxed));
        assert_eq!((maps, bytes, begin, end, map.open.load(Relaxed)), (2, 12_288, 4096, 12_288, 1));
        let asked = [&map.begin_asked_bytes, &map.end_asked_bytes, &map.end_dirty_asked_bytes];
        assert_eq!(asked.map(|number| number.load(Relaxed)), [4096, 4096, 0]);
    }

    #[test]
    fn remaining_maps_are_reported_anew_each_time() {
        let map: Map = zeroed();
        for _ in 0..2 {
            map.forget_left();
            map.leave(Some(Cached { asked: 100, resident: 60, dirty: Some(20) }));
        }
        assert_eq!(map.left().map(|number| number.load(Relaxed)), [100, 60, 100, 20]);
    }
}
