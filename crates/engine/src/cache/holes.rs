//! Which bytes of a file were never written: holes, and extents that were allocated and not written.
//!
//! A read of them brings zeros without asking the storage. ext4, xfs and btrfs report both as holes; a file system that
//! cannot tell reports a file without any.

use std::fs::File;
use std::io;
use std::ops::Range;

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// So many holes of a file are found at most; a file with more has at least those.
const MOST_HOLES: usize = 65_536;

/// Calls `report_hole` for every hole of `file` in `range`, in ascending order. The end of the file is none. A file
/// without holes takes one system call.
pub fn holes(file: &File, range: Range<u64>, mut report_hole: impl FnMut(Range<u64>)) -> io::Result<()> {
    let end = range.end.min(file.metadata()?.len());
    let mut begin = range.start;
    for _ in 0..MOST_HOLES {
        let Some(hole) = seek(file, begin, Whence::SeekHole)?.filter(|&hole| hole < end) else { break };
        let data = seek(file, hole, Whence::SeekData)?.map_or(end, |data| data.min(end));
        report_hole(hole..data);
        begin = data;
    }
    Ok(())
}

/// The next hole or data from `offset` on; `None` where there is none.
fn seek(file: &File, offset: u64, whence: Whence) -> io::Result<Option<u64>> {
    match lseek(file, offset as libc::off_t, whence) {
        Ok(position) => Ok(Some(position as u64)),
        Err(Errno::ENXIO) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn holes_in(file: &File, range: Range<u64>) -> Vec<Range<u64>> {
        let mut all = Vec::new();
        holes(file, range, |hole| all.push(hole)).unwrap();
        all
    }

    #[test]
    fn what_was_never_written_is_found_and_what_was_written_or_lies_behind_the_end_is_not() {
        const M: u64 = 1 << 20;
        let file = tempfile::tempfile().unwrap();
        assert_eq!(holes_in(&file, 0..M), []);
        file.write_all_at(&[0; M as usize], 0).unwrap();
        assert_eq!(holes_in(&file, 0..8 * M), []);
        file.write_all_at(&[1; M as usize], 3 * M).unwrap();
        file.set_len(5 * M).unwrap();
        let all = holes_in(&file, 0..8 * M);
        // A file system that cannot tell has none.
        if !all.is_empty() {
            assert_eq!(all, [M..3 * M, 4 * M..5 * M]);
            assert_eq!(holes_in(&file, 2 * M..4 * M + 4096), [2 * M..3 * M, 4 * M..4 * M + 4096]);
        }
    }
}
