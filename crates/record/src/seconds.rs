//! How calls are spread over rows of seconds, and of shorter steps.

use crate::table::TOTALS;

/// Rows of seconds that take more bytes than this get wider.
pub const FINE_BYTES: usize = 2 << 20;
/// Seconds over which a call is spread at most: one of many hours is spread over its last ones.
pub const MOST_SPREAD: u64 = 3600;
/// Of a second.
pub const NS_PER_SECOND: u64 = 1_000_000_000;

/// The shortest steps that a second has.
pub const STEPS_PER_SECOND: u64 = 1 << SECOND_WIDTH;
/// Of the shortest step: 7.8 ms.
pub const NS_PER_STEP: u64 = NS_PER_SECOND / STEPS_PER_SECOND;
/// Steps of this width are seconds.
pub const SECOND_WIDTH: u32 = 7;
/// Rows of steps get twice as wide whenever there are so many more bytes of them: a table has 7 times as much of them at most.
pub const STEP_BYTES: usize = 20 << 10;

const _: () = assert!(NS_PER_STEP * STEPS_PER_SECOND == NS_PER_SECOND);

/// The step with a moment, in nanoseconds since 1970, of steps of a width; of a table that began at another moment. Steps are
/// counted from the second before the one in which the table began, so that none is 0, and each lies within a second.
pub fn step_at(ns: u64, began_ns: u64, width: u32) -> u32 {
    let origin_ns = (began_ns / NS_PER_SECOND).saturating_sub(1) * NS_PER_SECOND;
    let step = ns.saturating_sub(origin_ns) / NS_PER_STEP;
    // A clock that is set back by more makes steps too late, not wrong rows.
    (step.clamp(STEPS_PER_SECOND, u32::MAX.into()) as u32) >> width << width
}

/// A piece of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// When it begins, in nanoseconds since 1970.
    pub begin_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// [`TOTALS`].
    pub totals: [u64; TOTALS.len()],
}

/// Spreads what was done from one moment to another, in nanoseconds since 1970, over units of time: bytes and ticks evenly,
/// calls and slowness where they ended.
pub fn spread(begin_ns: u64, end_ns: u64, unit_ns: u64, totals: [u64; TOTALS.len()]) -> impl Iterator<Item = Piece> {
    let begin_ns = begin_ns.min(end_ns).max(end_ns.saturating_sub(MOST_SPREAD * unit_ns));
    let whole = u128::from(end_ns - begin_ns).max(1);
    let mut position = Some(begin_ns);
    let [calls, bytes, ticks, slowest] = totals;
    let (mut left_bytes, mut left_ticks) = (bytes, ticks);
    core::iter::from_fn(move || {
        let begin_ns = position?;
        let until = ((begin_ns / unit_ns + 1) * unit_ns).min(end_ns);
        if until == end_ns {
            position = None;
            return Some(Piece { begin_ns, end_ns, totals: [calls, left_bytes, left_ticks, slowest] });
        }
        position = Some(until);
        let part = |all: u64| (u128::from(all) * u128::from(until - begin_ns) / whole) as u64;
        let (bytes, ticks) = (part(bytes).min(left_bytes), part(ticks).min(left_ticks));
        (left_bytes, left_ticks) = (left_bytes - bytes, left_ticks - ticks);
        Some(Piece { begin_ns, end_ns: until, totals: [0, bytes, ticks, 0] })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// The seconds over which a call is spread, with their totals.
    fn seconds(begin_ns: u64, end_ns: u64, ticks: u64, bytes: u64) -> Vec<(u64, [u64; TOTALS.len()])> {
        let pieces = spread(begin_ns, end_ns, NS_PER_SECOND, [1, bytes, ticks, ticks]);
        pieces.map(|piece| (piece.begin_ns / NS_PER_SECOND, piece.totals)).collect()
    }

    #[test]
    fn a_call_is_spread_evenly_and_counts_where_it_ended() {
        let begin_ns = 7 * NS_PER_SECOND + 500_000_000;
        let rows = seconds(begin_ns, begin_ns + 2 * NS_PER_SECOND, 2000, 400);
        assert_eq!(rows, [(7, [0, 100, 500, 0]), (8, [0, 200, 1000, 0]), (9, [1, 100, 500, 2000])]);
    }

    #[test]
    fn a_call_that_ends_with_a_second_is_not_in_the_next() {
        assert_eq!(seconds(NS_PER_SECOND, 2 * NS_PER_SECOND, 1, 2), [(1, [1, 2, 1, 1])]);
        assert_eq!(seconds(NS_PER_SECOND, NS_PER_SECOND, 1, 2), [(1, [1, 2, 1, 1])]);
    }

    #[test]
    fn steps_are_counted_from_the_second_before_the_first() {
        let began_ns = 100 * NS_PER_SECOND + 999;
        assert_eq!(step_at(100 * NS_PER_SECOND, began_ns, 0), 128);
        assert_eq!(step_at(100 * NS_PER_SECOND + 3 * NS_PER_STEP, began_ns, 0), 131);
        assert_eq!(step_at(100 * NS_PER_SECOND + 3 * NS_PER_STEP, began_ns, 1), 130);
        assert_eq!(step_at(102 * NS_PER_SECOND - 1, began_ns, SECOND_WIDTH), 256);
        assert_eq!(step_at(0, began_ns, 0), 128);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(begin_ns in 0..1_u64 << 60, length_ns in 0..1_u64 << 43, ticks in 0..1_u64 << 50, bytes: u64) {
            let rows = seconds(begin_ns, begin_ns + length_ns, ticks, bytes);
            let sum = |total: usize| rows.iter().map(|(_, totals)| totals[total]).sum::<u64>();
            prop_assert_eq!([sum(0), sum(1), sum(2), sum(3)], [1, bytes, ticks, ticks]);
            prop_assert!(rows.len() as u64 <= MOST_SPREAD + 1);
        }

        #[test]
        fn each_piece_of_a_second_lies_within_a_step(begin_ns in 0..1_u64 << 60, length_ns in 0..NS_PER_SECOND, width in 0..7_u32) {
            let unit_ns = NS_PER_STEP << width;
            for piece in spread(begin_ns, begin_ns + length_ns, unit_ns, [1, 1000, 1000, 1000]) {
                prop_assert!(piece.begin_ns / unit_ns == piece.end_ns.saturating_sub(1).max(piece.begin_ns) / unit_ns);
            }
        }
    }
}
