//! Sizes in bytes.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{ParseError, Quantity, Unit};

/// IOR's letters, in both cases. Without a letter: bytes.
const LETTERS: &[Unit] = &[
    Unit { suffix: "", factor: 1 },
    Unit { suffix: "k", factor: 1 << 10 },
    Unit { suffix: "m", factor: 1 << 20 },
    Unit { suffix: "g", factor: 1 << 30 },
    Unit { suffix: "t", factor: 1 << 40 },
];

const BINARY: &[Unit] = &[
    Unit { suffix: "B", factor: 1 },
    Unit { suffix: "KiB", factor: 1 << 10 },
    Unit { suffix: "MiB", factor: 1 << 20 },
    Unit { suffix: "GiB", factor: 1 << 30 },
    Unit { suffix: "TiB", factor: 1 << 40 },
    Unit { suffix: "PiB", factor: 1 << 50 },
];

const DECIMAL: &[Unit] = &[
    Unit { suffix: "B", factor: 1 },
    Unit { suffix: "KB", factor: 1_000 },
    Unit { suffix: "MB", factor: 1_000_000 },
    Unit { suffix: "GB", factor: 1_000_000_000 },
    Unit { suffix: "TB", factor: 1_000_000_000_000 },
    Unit { suffix: "PB", factor: 1_000_000_000_000_000 },
];

const CAPITALS: &[Unit] = &[
    Unit { suffix: "", factor: 1 },
    Unit { suffix: "K", factor: 1 << 10 },
    Unit { suffix: "M", factor: 1 << 20 },
    Unit { suffix: "G", factor: 1 << 30 },
    Unit { suffix: "T", factor: 1 << 40 },
];

const SIZE: Quantity = Quantity {
    noun: "a size",
    examples: "4k, 1MiB or 2048",
    families: &[LETTERS, CAPITALS, BINARY, DECIMAL],
    suffixes: "k m g t or KiB MiB GiB TiB PiB (binary), KB MB GB TB PB (decimal), B or nothing (bytes)",
    largest: "16383PiB",
};

/// A size in bytes.
///
/// Typed as in IOR: `4k`, `1m`, `16g`, `2t` are binary; so are `KiB MiB GiB TiB PiB`; `KB MB GB TB PB` are
/// decimal; `B` or nothing means bytes. One space may stand before the suffix. Printed exactly:
///
/// ```
/// use ioassay_units::Bytes;
/// assert_eq!("1m".parse::<Bytes>().unwrap().to_string(), "1 MiB");
/// assert_eq!(Bytes(47008).to_string(), "47008 B");
/// assert!("1.5g".parse::<Bytes>().unwrap_err().to_string().contains("write 1536m"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        SIZE.parse(text).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quantity::print(BINARY, self.0, f)
    }
}
