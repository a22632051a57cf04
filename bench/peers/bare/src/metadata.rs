//! openat, fstatat and unlinkat on names made beforehand.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;

use crate::Metadata;
use crate::ranks::{self, Rank, checked};

/// Creates, stats, reads and removes files, and prints the four rates.
pub fn run(work: &Metadata) {
    ranks::run(work.ranks, &["create", "stat", "read", "remove"], |rank| one_rank(work, rank));
}

fn one_rank(work: &Metadata, rank: &mut Rank) {
    let name = |index| CString::new(format!("file.{}.{index}", rank.rank)).expect("no zero in it");
    let names: Vec<CString> = (0..work.files_per_rank).map(name).collect();
    let directory = work.directory.join(if work.shared { "0".into() } else { rank.rank.to_string() });
    match fs::create_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && work.shared => {}
        result => result.expect("create the directory"),
    }
    let open = File::open(&directory).expect("open the directory");
    let directory = open.as_raw_fd();
    let mut buffer = vec![0x5a; work.file_bytes];
    rank.timed(|| each(&names, |name| create(directory, name, &buffer)));
    rank.timed(|| each(&names, |name| stat(directory, name)));
    rank.timed(|| each(&names, |name| read(directory, name, &mut buffer)));
    rank.timed(|| each(&names, |name| remove(directory, name)));
}

fn each(names: &[CString], mut body: impl FnMut(&CString)) -> u64 {
    names.iter().for_each(&mut body);
    names.len() as u64
}

fn create(directory: i32, name: &CString, bytes: &[u8]) {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
    // SAFETY: the name ends with a zero, the bytes are valid for their length, and the file is open until it is closed.
    unsafe {
        let file = checked(libc::openat(directory, name.as_ptr(), flags, 0o644));
        if !bytes.is_empty() {
            assert_eq!(checked(libc::write(file, bytes.as_ptr().cast(), bytes.len())), bytes.len() as isize);
        }
        checked(libc::close(file));
    }
}

fn stat(directory: i32, name: &CString) {
    let mut status = std::mem::MaybeUninit::uninit();
    // SAFETY: the name ends with a zero, and `status` is valid for writing.
    checked(unsafe { libc::fstatat(directory, name.as_ptr(), status.as_mut_ptr(), 0) });
}

fn read(directory: i32, name: &CString, buffer: &mut [u8]) {
    // SAFETY: the name ends with a zero, the buffer is valid for its length, and the file is open until it is closed.
    unsafe {
        let file = checked(libc::openat(directory, name.as_ptr(), libc::O_RDONLY));
        if !buffer.is_empty() {
            assert_eq!(checked(libc::read(file, buffer.as_mut_ptr().cast(), buffer.len())), buffer.len() as isize);
        }
        checked(libc::close(file));
    }
}

fn remove(directory: i32, name: &CString) {
    // SAFETY: the name ends with a zero.
    checked(unsafe { libc::unlinkat(directory, name.as_ptr(), 0) });
}
