//! Bytes, durations and rates: parse what was typed, print what is stored.
//!
//! A size that is read wrongly runs and is believed, so nothing here guesses: an unknown suffix, a fraction,
//! an exponent or an overflow is an error that says what to write instead. What is printed of a stored
//! quantity is exact, parses back to the same number, and names its unit; `about` is for sentences.
//!
//! `python/ioassay/text/units.py` does the same for the control plane; `vectors.json` holds both to the same answers.
//!
//! Not here: anything that knows of storage, options or plans.

#![warn(missing_docs)]

mod about;
mod bytes;
mod duration;
mod quantity;
mod rate;

pub use about::count;
pub use bytes::Bytes;
pub use duration::Nanoseconds;
pub use quantity::ParseError;
pub use rate::RateUnit;
