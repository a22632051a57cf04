//! Measured quantities for reading, not for parsing: three significant digits and a unit that suits.

use crate::{Bytes, Nanoseconds};

impl Bytes {
    /// In the binary unit that suits: `45.9 KiB`.
    pub fn about(self) -> String {
        scaled(self.0, &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)])
    }
}

impl Nanoseconds {
    /// In the unit that suits: `12.3 ms`.
    pub fn about(self) -> String {
        scaled(self.0, &[("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)])
    }
}

/// How many of something there are: `1 rank`, `2 ranks`. For nouns with a plain s.
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn scaled(value: u64, units: &[(&str, u64)]) -> String {
    // What would print as 1000 of one unit is 1.00 of the next one.
    let fits = |&&(_, factor): &&(&str, u64)| value as f64 >= factor as f64 * 0.9995;
    match units.iter().rev().find(fits) {
        Some(&(unit, factor)) if factor > 1 => format!("{} {unit}", three_digits(value as f64 / factor as f64)),
        _ => format!("{value} {}", units[0].0),
    }
}

/// A value to three significant digits, without an exponent: `9.99`, `10.0`, `1234`.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // Rounding first: 9.999 is 10.0, not 10.00.
    let rounded = format!("{value:.2e}");
    let magnitude = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let decimals = usize::try_from(2 - magnitude).unwrap_or(0);
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_the_unit_that_suits() {
        assert_eq!(Bytes(0).about(), "0 B");
        assert_eq!(Bytes(47_008).about(), "45.9 KiB");
        assert_eq!(Bytes(1 << 41).about(), "2.00 TiB");
        assert_eq!(Nanoseconds(999).about(), "999 ns");
        assert_eq!(Nanoseconds(999_700).about(), "1.00 ms");
        assert_eq!(Nanoseconds(123_400_000).about(), "123 ms");
        assert_eq!(Nanoseconds(4_000_000_000_000).about(), "4000 s");
    }

    #[test]
    fn one_of_something_has_no_plural() {
        assert_eq!([0_u64, 1, 2].map(|number| count(number, "rank")), ["0 ranks", "1 rank", "2 ranks"]);
    }
}
