//! A find job as one rank lives it.

use ioassay_contract::events::Failure;
use ioassay_contract::plan::Job;
use ioassay_contract::plan::metadata::FindWork;

use super::Case;
use super::phase::Did;
use crate::failure;
use crate::ranks::{Ranks, Start};

/// A find job, prepared outside the clock.
pub(super) struct FindJob<'a> {
    _case: &'a Case<'a>,
}

impl<'a> FindJob<'a> {
    /// Begins with the root.
    pub fn prepare(
        _case: &'a Case<'a>,
        _work: &'a FindWork,
        _started_unix_ns: &[(u32, u64)],
    ) -> Result<Self, Box<Failure>> {
        Err(Box::new(failure::plain("find", "not there yet".to_owned(), "wait")))
    }

    /// Does the operations.
    pub fn run<R: Ranks>(self, _ranks: &R, _job: (usize, &Job), _start: Start) -> Did {
        unreachable!()
    }
}
