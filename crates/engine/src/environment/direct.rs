//! What direct I/O (O_DIRECT) asks of offsets and lengths on a file.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Offsets and lengths of direct I/O on the file at `path` must be multiples of this. `None` where the kernel does not
/// tell (before Linux 6.1, and on many network file systems), or where the file takes no direct I/O.
pub fn alignment_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path ends with a zero byte, and `found` has room for the kernel's answer.
    let answer = unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), 0, libc::STATX_DIOALIGN, found.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: all zero is a valid statx, and the kernel has filled in the rest.
    let found = unsafe { found.assume_init() };
    let known = found.stx_mask & libc::STATX_DIOALIGN != 0 && found.stx_dio_offset_align > 0;
    known.then_some(found.stx_dio_offset_align.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_is_a_power_of_two_and_a_missing_file_has_none() {
        let directory = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(alignment_bytes(&file).is_none_or(u64::is_power_of_two));
        assert_eq!(alignment_bytes(&directory.path().join("missing")), None);
    }
}
