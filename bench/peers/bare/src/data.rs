//! pwrite and pread at offsets computed beforehand.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Data;
use crate::ranks::{self, Rank, checked};

/// The alignment of direct I/O.
const PAGE: usize = 4096;

#[derive(Clone, Copy)]
enum Operation {
    Write,
    Read,
}

/// Writes the files (not timed), then writes and reads them for a while, and prints both rates.
pub fn run(work: &Data) {
    assert!(work.rank_bytes.is_multiple_of(work.transfer_bytes), "the bytes of a rank are no multiple of the transfer");
    ranks::run(work.ranks, &["write", "read"], |rank| one_rank(work, rank));
}

fn one_rank(work: &Data, rank: &mut Rank) {
    let file = if work.shared { 0 } else { rank.rank };
    let path = work.directory.join(format!("bare.{file}"));
    let first = if work.shared { rank.rank as u64 * work.rank_bytes } else { 0 };
    let mut buffer = vec![0x5a; work.transfer_bytes as usize + PAGE];
    let begin = buffer.as_ptr().align_offset(PAGE);
    let buffer = &mut buffer[begin..][..work.transfer_bytes as usize];
    prepare(work, &path, first);
    let offsets = offsets(work, first, rank.rank as u64);
    rank.barrier();
    for operation in [Operation::Write, Operation::Read] {
        rank.timed(|| passes(work, operation, &path, &offsets, buffer));
    }
}

/// Writes what is measured later, so that no phase has to find space for it.
fn prepare(work: &Data, path: &Path, first: u64) {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("open");
    let piece = vec![0x5a; work.transfer_bytes as usize];
    for offset in (0..work.rank_bytes).step_by(piece.len()) {
        file.write_all_at(&piece, first + offset).expect("write");
    }
    if work.direct {
        // Else the first direct pass would wait for the page cache to be written.
        file.sync_all().expect("fsync");
    }
}

fn offsets(work: &Data, first: u64, seed: u64) -> Vec<u64> {
    let mut offsets: Vec<u64> =
        (0..work.rank_bytes / work.transfer_bytes).map(|index| first + index * work.transfer_bytes).collect();
    if work.random {
        // Fisher and Yates, with the multiplier of Knuth's MMIX: good enough to leave no order behind.
        let mut state = seed;
        for last in (1..offsets.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            offsets.swap(last, ((state >> 33) % (last as u64 + 1)) as usize);
        }
    }
    offsets
}

/// Whole passes until the time is over; returns the calls.
fn passes(work: &Data, operation: Operation, path: &Path, offsets: &[u64], buffer: &mut [u8]) -> u64 {
    let began = Instant::now();
    let file = open(work, operation, path);
    let mut calls = 0;
    while calls == 0 || began.elapsed() < Duration::from_secs_f64(work.seconds) {
        one_pass(operation, file.as_raw_fd(), offsets, buffer);
        calls += offsets.len() as u64;
    }
    calls
}

fn open(work: &Data, operation: Operation, path: &Path) -> File {
    let write = matches!(operation, Operation::Write);
    let flags = if work.direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new().read(!write).write(write).custom_flags(flags).open(path).expect("open")
}

fn one_pass(operation: Operation, file: i32, offsets: &[u64], buffer: &mut [u8]) {
    for &offset in offsets {
        // SAFETY: the buffer is valid for its whole length.
        let moved = unsafe {
            match operation {
                Operation::Write => libc::pwrite(file, buffer.as_ptr().cast(), buffer.len(), offset as i64),
                Operation::Read => libc::pread(file, buffer.as_mut_ptr().cast(), buffer.len(), offset as i64),
            }
        };
        assert_eq!(checked(moved), buffer.len() as isize, "a call moved less than asked");
    }
}
