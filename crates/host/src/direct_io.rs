//! What direct I/O (O_DIRECT) asks of offsets and lengths on a file.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Offsets and lengths of direct I/O on `file` must be multiples of this. Older kernels do not say it of a
/// file (statx does since Linux 6.1): then it is what the device below asks. `None` where nobody tells, as on many
/// network file systems, or where the file takes no direct I/O.
pub fn alignment_bytes(file: &File) -> Option<u64> {
    match of_file(file)? {
        Alignment::Bytes(bytes) => (bytes > 0).then_some(bytes.into()),
        Alignment::Nothing { device } => of_device(device),
    }
}

/// What statx says about direct I/O on a file.
enum Alignment {
    /// The alignment; 0 where the file takes no direct I/O.
    Bytes(u32),
    /// Nothing, but on which device the file is, or which it is itself: major and minor number.
    Nothing { device: (u32, u32) },
}

fn of_file(file: &File) -> Option<Alignment> {
    let wanted = libc::STATX_DIOALIGN | libc::STATX_TYPE;
    let mut buffer = MaybeUninit::<libc::statx>::zeroed();
    let (empty, flags) = (c"".as_ptr(), libc::AT_EMPTY_PATH);
    // SAFETY: the path ends with a zero byte, and `buffer` has room for the kernel's answer.
    let answer = unsafe { libc::statx(file.as_raw_fd(), empty, flags, wanted, buffer.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: all zero is a valid statx, and the kernel has filled in the rest.
    let statx = unsafe { buffer.assume_init() };
    let is_reported = statx.stx_mask & libc::STATX_DIOALIGN != 0;
    let is_device = u32::from(statx.stx_mode) & libc::S_IFMT == libc::S_IFBLK;
    let device = if is_device {
        (statx.stx_rdev_major, statx.stx_rdev_minor)
    } else {
        (statx.stx_dev_major, statx.stx_dev_minor)
    };
    Some(if is_reported { Alignment::Bytes(statx.stx_dio_offset_align) } else { Alignment::Nothing { device } })
}

/// The size of the blocks that a device is addressed in. A partition has that of its disk.
fn of_device((major, minor): (u32, u32)) -> Option<u64> {
    let device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let size = |queue| std::fs::read_to_string(device.join(queue).join("logical_block_size")).ok();
    size("queue").or_else(|| size("../queue"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_is_a_power_of_two() {
        let directory = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(alignment_bytes(&File::open(&file).unwrap()).is_none_or(u64::is_power_of_two));
    }

    #[test]
    fn a_device_tells_it_where_the_kernel_does_not() {
        for device in std::fs::read_dir("/sys/class/block").unwrap() {
            let number = std::fs::read_to_string(device.unwrap().path().join("dev")).unwrap();
            let (major, minor) = number.trim().split_once(':').unwrap();
            let bytes = of_device((major.parse().unwrap(), minor.parse().unwrap())).unwrap();
            assert!(bytes >= 512 && bytes.is_power_of_two(), "{number}: {bytes}");
        }
        // A device that no file system is on by itself: tmpfs and network file systems have numbers like it.
        assert_eq!(of_device((0, 1)), None);
    }
}
