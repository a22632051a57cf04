//! How calls are spread over rows of seconds.

use crate::table::TOTALS;

/// Rows of seconds that take more bytes than this get wider.
pub const FINE_BYTES: usize = 2 << 20;
/// Seconds over which a call is spread at most: one of many hours is spread over its last ones.
pub const MOST_SPREAD: u64 = 3600;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Spreads a call from one moment to another, in nanoseconds since 1970, over the seconds that it took: bytes and ticks
/// evenly, the call itself and its slowness where it ended. Seconds with [`TOTALS`].
pub fn spread(begin_ns: u64, end_ns: u64, ticks: u64, bytes: u64) -> impl Iterator<Item = (u32, [u64; TOTALS.len()])> {
    let begin_ns = begin_ns.min(end_ns).max(end_ns.saturating_sub(MOST_SPREAD * NS_PER_SECOND));
    let whole = u128::from(end_ns - begin_ns).max(1);
    let mut at = Some(begin_ns);
    let (mut left_bytes, mut left_ticks) = (bytes, ticks);
    core::iter::from_fn(move || {
        let begin = at?;
        let second = begin / NS_PER_SECOND;
        let until = ((second + 1) * NS_PER_SECOND).min(end_ns);
        if until == end_ns {
            at = None;
            return Some((second as u32, [1, left_bytes, left_ticks, ticks]));
        }
        at = Some(until);
        let part = |all: u64| (u128::from(all) * u128::from(until - begin) / whole) as u64;
        let (bytes, ticks) = (part(bytes).min(left_bytes), part(ticks).min(left_ticks));
        (left_bytes, left_ticks) = (left_bytes - bytes, left_ticks - ticks);
        Some((second as u32, [0, bytes, ticks, 0]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn a_call_is_spread_evenly_and_counts_where_it_ended() {
        let begin_ns = 7 * NS_PER_SECOND + 500_000_000;
        let rows: Vec<_> = spread(begin_ns, begin_ns + 2 * NS_PER_SECOND, 2000, 400).collect();
        assert_eq!(rows, [(7, [0, 100, 500, 0]), (8, [0, 200, 1000, 0]), (9, [1, 100, 500, 2000])]);
    }

    #[test]
    fn a_call_that_ends_with_a_second_is_not_in_the_next() {
        assert_eq!(spread(NS_PER_SECOND, 2 * NS_PER_SECOND, 1, 2).collect::<Vec<_>>(), [(1, [1, 2, 1, 1])]);
        assert_eq!(spread(NS_PER_SECOND, NS_PER_SECOND, 1, 2).collect::<Vec<_>>(), [(1, [1, 2, 1, 1])]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(begin_ns in 0..1_u64 << 60, length_ns in 0..1_u64 << 43, ticks in 0..1_u64 << 50, bytes: u64) {
            let rows: Vec<_> = spread(begin_ns, begin_ns + length_ns, ticks, bytes).collect();
            let sum = |total: usize| rows.iter().map(|(_, totals)| totals[total]).sum::<u64>();
            prop_assert_eq!([sum(0), sum(1), sum(2), sum(3)], [1, bytes, ticks, ticks]);
            prop_assert!(rows.len() as u64 <= MOST_SPREAD + 1);
        }
    }
}
