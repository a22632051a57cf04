//! Counting a call in the rows of the rules that match it.

use core::sync::atomic::Ordering::{Relaxed, Release};

use crate::table::WatchedRow;
use crate::transfers::add;

/// A call that a rule matches.
#[derive(Debug, Clone, Copy)]
pub struct WatchedCall {
    /// Place of the file's row.
    pub file: u32,
    /// The second in which it ended, since 1970.
    pub second: u32,
    /// In ticks; 0 where it was not timed.
    pub took: u64,
    /// Whether it failed.
    pub failed: bool,
    /// That were moved.
    pub bytes: u64,
    /// From where the one before it ended, either way.
    pub seek_bytes: u64,
}

impl WatchedRow {
    /// Counts a call. Only one thread may count at a time.
    pub fn count(&self, call: &WatchedCall) {
        add(&self.calls, 1);
        add(&self.failed, call.failed.into());
        add(&self.bytes, call.bytes);
        add(&self.ticks, call.took);
        add(&self.seek_bytes, call.seek_bytes);
        self.file.store(call.file, Relaxed);
        // A time of 0 would be the fastest of all.
        if call.took > 0 {
            self.count_extremes(call);
        }
    }

    fn count_extremes(&self, call: &WatchedCall) {
        let pair = call.second as usize % 2;
        let [fastest, slowest] = [&self.fastest_ticks[pair], &self.slowest_ticks[pair]];
        let is_new = self.seconds[pair].load(Relaxed) != call.second;
        if is_new {
            self.seconds[pair].store(0, Relaxed);
        }
        if is_new || call.took < fastest.load(Relaxed) {
            fastest.store(call.took, Relaxed);
        }
        if is_new || call.took > slowest.load(Relaxed) {
            slowest.store(call.took, Relaxed);
            self.slowest_files[pair].store(call.file, Relaxed);
        }
        self.seconds[pair].store(call.second, Release);
    }

    /// Counts that a call was held back for so many ticks.
    pub fn count_wait(&self, ticks: u64) {
        add(&self.waits, 1);
        add(&self.waited_ticks, ticks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::zeroed;

    const CALL: WatchedCall = WatchedCall { file: 7, second: 1000, took: 5, failed: false, bytes: 10, seek_bytes: 3 };

    fn extremes(row: &WatchedRow, second: u32) -> (u32, u64, u64, u32) {
        let pair = second as usize % 2;
        (
            row.seconds[pair].load(Relaxed),
            row.fastest_ticks[pair].load(Relaxed),
            row.slowest_ticks[pair].load(Relaxed),
            row.slowest_files[pair].load(Relaxed),
        )
    }

    #[test]
    fn calls_add_up() {
        let row: WatchedRow = zeroed();
        row.count(&CALL);
        row.count(&WatchedCall { failed: true, bytes: 0, file: 8, ..CALL });
        let sums = [&row.calls, &row.failed, &row.bytes, &row.ticks, &row.seek_bytes];
        assert_eq!(sums.map(|sum| sum.load(Relaxed)), [2, 1, 10, 10, 6]);
        assert_eq!(row.file.load(Relaxed), 8);
    }

    #[test]
    fn the_extremes_of_the_second_before_stay_until_the_one_after_the_next() {
        let row: WatchedRow = zeroed();
        for took in [5, 2, 9, 4] {
            row.count(&WatchedCall { took, file: took as u32, ..CALL });
        }
        row.count(&WatchedCall { second: 1001, took: 6, ..CALL });
        assert_eq!((extremes(&row, 1000), extremes(&row, 1001)), ((1000, 2, 9, 9), (1001, 6, 6, 7)));
        row.count(&WatchedCall { second: 1002, took: 8, ..CALL });
        assert_eq!((extremes(&row, 1002), extremes(&row, 1001)), ((1002, 8, 8, 7), (1001, 6, 6, 7)));
    }

    #[test]
    fn a_call_that_was_not_timed_is_no_extreme() {
        let row: WatchedRow = zeroed();
        row.count(&WatchedCall { took: 0, ..CALL });
        assert_eq!((row.calls.load(Relaxed), extremes(&row, CALL.second)), (1, (0, 0, 0, 0)));
    }
}
