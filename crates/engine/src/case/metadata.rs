//! A metadata job as one rank lives it.

use ioassay_contract::events::Failure;
use ioassay_contract::plan::Job;
use ioassay_contract::plan::metadata::MetadataWork;

use super::Case;
use super::phase::Did;
use crate::failure;
use crate::ranks::{Ranks, Start};

/// A metadata job, prepared outside the clock.
pub(super) struct MetadataJob<'a> {
    _case: &'a Case<'a>,
}

impl<'a> MetadataJob<'a> {
    /// Builds the paths.
    pub fn prepare(
        _case: &'a Case<'a>,
        _step: u32,
        _work: &'a MetadataWork,
        _member: u32,
    ) -> Result<Self, Box<Failure>> {
        Err(Box::new(failure::plain("metadata", "not there yet".to_owned(), "wait")))
    }

    /// Does the operations.
    pub fn run<R: Ranks>(self, _ranks: &R, _job: (usize, &Job), _start: Start) -> Did {
        unreachable!()
    }
}
