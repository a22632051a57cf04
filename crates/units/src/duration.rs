//! Durations in nanoseconds.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{ParseError, Quantity, Unit};

/// No `m`: it would mean minutes here and mebibytes in a size.
const UNITS: &[Unit] = &[
    Unit { suffix: "ns", factor: 1 },
    Unit { suffix: "us", factor: 1_000 },
    Unit { suffix: "ms", factor: 1_000_000 },
    Unit { suffix: "s", factor: 1_000_000_000 },
    Unit { suffix: "min", factor: 60_000_000_000 },
    Unit { suffix: "h", factor: 3_600_000_000_000 },
];

const DURATION: Quantity = Quantity {
    noun: "a duration",
    examples: "3s, 100ms or 2min",
    families: &[UNITS],
    suffixes: "ns us ms s min h",
    largest: "5124095h",
};

/// A duration in nanoseconds, typed with its unit (`3s`, `100ms`) and printed exactly.
///
/// ```
/// use ioassay_units::Nanoseconds;
/// assert_eq!("1500ms".parse::<Nanoseconds>().unwrap(), Nanoseconds(1_500_000_000));
/// assert!("1.5s".parse::<Nanoseconds>().unwrap_err().to_string().contains("write 1500ms"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanoseconds(pub u64);

impl FromStr for Nanoseconds {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        DURATION.parse(text).map(Self)
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 s");
        }
        Quantity::print(UNITS, self.0, f)
    }
}
