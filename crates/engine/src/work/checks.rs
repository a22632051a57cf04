//! What several keys of a plan are checked for.

use ioassay_protocol::plan::RankRange;
use ioassay_units::count;

use crate::refusal::Refusal;

/// Longer than this nothing waits.
pub const A_DAY_NS: u64 = 86_400_000_000_000;

/// A count that must not be 0.
pub fn positive(key: &str, value: u64) -> Result<(), Refusal> {
    if value == 0 { Err(Refusal::new(key, "0 does nothing", "use 1 or more")) } else { Ok(()) }
}

/// Some of `ranks` ranks, at least one.
pub fn range(key: &str, range: Option<RankRange>, ranks: u32) -> Result<(), Refusal> {
    let Some(range) = range else { return Ok(()) };
    positive(&format!("{key}.count"), range.count.into())?;
    if range.end().is_some_and(|end| end <= ranks) {
        return Ok(());
    }
    let problem = format!("{} from rank {} on do not all exist", count(range.count, "rank"), range.first);
    Err(Refusal::new(key, problem, format!("use ranks 0 to {}", ranks - 1)))
}
