//! What the files of a tree hold, and whether what is read is that.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::metadata::MetadataWork;

use super::tree;
use crate::work::run::second_reading::SecondReading;
use crate::workload::buffer::Buffer;
use crate::workload::payload::{self, Content, Mismatch, Spot};

/// What the files of a tree hold.
#[derive(Debug)]
pub(super) struct FileContent {
    /// `None`: whatever is in the buffer, behind the item's number.
    content: Option<Content>,
    /// Room for a second copy, where something is to be compared.
    scratch: Option<Buffer>,
}

impl FileContent {
    /// What `work` finds in files, or writes into those of `part` from `buffer`.
    pub fn new(plan: &Plan, work: &MetadataWork, part: u32, buffer: Option<&mut Buffer>) -> Self {
        let payload = plan.trees[&work.tree].payload;
        let content = payload.map(|payload| Content::new(payload, plan.seed, 0));
        let bytes = buffer.as_ref().map_or(0, |buffer| buffer.len());
        let mut file_content = Self { content, scratch: (work.verify && bytes > 0).then(|| Buffer::new(bytes)) };
        let spot = spot(part, 0);
        // A payload that is the same in all files is not made again, in neither of them.
        for buffer in buffer.into_iter().chain(&mut file_content.scratch) {
            if let Some(content) = &file_content.content {
                content.fill(buffer, spot);
            }
        }
        file_content
    }

    /// What is written into item `number` of the part that this was made for: with its number in it no two files are
    /// alike, so that nothing is stored once for all of them. A payload that is the same in all files is in the buffer
    /// already.
    #[inline(always)]
    pub fn fill<'b>(&self, buffer: &'b mut [u8], part: u32, number: u64) -> &'b [u8] {
        match &self.content {
            Some(content) if !content.per_transfer() => buffer,
            _ => self.fill_anew(buffer, part, number),
        }
    }

    /// The same of any part, whatever is in the buffer.
    #[inline(always)]
    pub fn fill_anew<'b>(&self, buffer: &'b mut [u8], part: u32, number: u64) -> &'b [u8] {
        if let Some(content) = &self.content {
            content.fill(buffer, spot(part, number));
        } else if let Some(stamp) = buffer.first_chunk_mut() {
            *stamp = number.to_le_bytes();
        }
        buffer
    }

    /// Makes `buffer` ready for a read of which something is to be compared.
    #[inline(always)]
    pub fn before_read(&self, buffer: &mut [u8]) {
        if self.scratch.is_some() {
            payload::poison(buffer);
        }
    }

    /// An error if `data`, the bytes of item `number` of `part`, are not what belongs there. Nothing where nothing is
    /// compared.
    #[inline(always)]
    pub fn compare(&mut self, data: &[u8], part: u32, number: u64) -> io::Result<()> {
        let spot = spot(part, number);
        let (Some(scratch), Some(content)) = (&mut self.scratch, &self.content) else { return Ok(()) };
        // What was read back may lie there, or what belongs to another part.
        content.fill(scratch, spot);
        payload::compare(data, scratch, spot).map_err(|mismatch| wrong(mismatch, number))
    }

    /// The same of what `read` finds after `written` was written there.
    #[inline(always)]
    pub fn read_back(
        &mut self,
        written: &[u8],
        part: u32,
        number: u64,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let spot = spot(part, number);
        let (Some(scratch), true) = (&mut self.scratch, self.content.is_some()) else { return Ok(()) };
        payload::poison(scratch);
        read(scratch)?;
        payload::compare(scratch, written, spot).map_err(|mismatch| wrong(mismatch, number))
    }
}

/// mdtest has the item's number where IOR has the offset of a transfer.
fn spot(part: u32, number: u64) -> Spot {
    Spot { file: 0, part, offset: number }
}

/// An error of the operation that read it, until [`failed`] takes a second look.
#[derive(Debug, thiserror::Error)]
#[error("at offset {} is not what was written", .0.offset)]
struct Wrong(Mismatch);

#[cold]
fn wrong(mismatch: Mismatch, number: u64) -> io::Error {
    // The number stands where files of data have an offset.
    io::Error::other(Wrong(Mismatch { offset: mismatch.offset - number, ..mismatch }))
}

/// The failure of `operation` on `path` because of `error`, after a second look at what is not as expected.
#[cold]
pub(super) fn failed(again: &SecondReading<'_>, operation: &str, path: &CStr, error: &io::Error) -> Box<Failure> {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(Wrong(mismatch)) => again.explain(Path::new(OsStr::from_bytes(path.to_bytes())), 0, mismatch),
        None => tree::failed(operation, path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::plan::data::Payload;

    fn content_of(payload: Payload, buffer: &mut Buffer) -> FileContent {
        let content = Some(Content::new(payload, 1, 0));
        let file_content = FileContent { content, scratch: Some(Buffer::new(buffer.len())) };
        file_content.content.as_ref().unwrap().fill(buffer, spot(3, 0));
        file_content
    }

    #[test]
    fn a_wrong_byte_is_found_in_what_is_read_and_in_what_is_read_back() {
        for payload in [Payload::IorTimestamp { signature: 7 }, Payload::IorOffset { signature: 7 }] {
            let mut buffer = Buffer::new(3901);
            let mut file_content = content_of(payload, &mut buffer);
            let mut on_disk = file_content.fill(&mut buffer, 3, 5).to_vec();
            file_content.compare(&on_disk, 3, 5).unwrap();
            let mut read_back = |on_disk: &[u8]| {
                file_content.read_back(&buffer, 3, 5, |content| {
                    content.copy_from_slice(on_disk);
                    Ok(())
                })
            };
            read_back(&on_disk).unwrap();
            on_disk[3000] ^= 1;
            assert!(read_back(&on_disk).unwrap_err().to_string().contains("at offset 3000"));
            assert!(file_content.compare(&on_disk, 3, 5).unwrap_err().to_string().contains("at offset 3000"));
        }
    }

    #[test]
    fn without_a_payload_a_file_begins_with_its_number_and_nothing_is_compared() {
        let mut file_content = FileContent { content: None, scratch: None };
        assert_eq!(file_content.fill(&mut [9; 10], 0, 258), [2, 1, 0, 0, 0, 0, 0, 0, 9, 9]);
        assert_eq!(file_content.fill(&mut [9; 3], 0, 258), [9; 3]);
        file_content.compare(&[1], 0, 0).unwrap();
    }
}
