//! Mounts, as `/proc/self/mountinfo` has them: which device a file is on, and its path from that one's root.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::sys::{self, Whereabouts};
use crate::text::{Buffer, decimal, number};
use crate::{files, process, root};

/// Mounts that are known at the same time.
const MOUNTS: usize = 32;
/// Of the paths of a mount.
const MOUNT_BYTES: usize = 992;

/// A mount, as `/proc/self/mountinfo` has it.
#[repr(C, align(64))]
pub struct Mount {
    /// The kernel's number; 0 where there is none, or it is being changed.
    number: AtomicU64,
    /// The device of the file by which it was found: the kernel may use a number again.
    found_by: AtomicU64,
    device: AtomicU64,
    root_bytes: AtomicUsize,
    /// What of its device is mounted, and then where.
    paths: Buffer<MOUNT_BYTES>,
}

impl Mount {
    /// Not known.
    pub const fn unknown() -> Self {
        Self {
            number: AtomicU64::new(0),
            found_by: AtomicU64::new(0),
            device: AtomicU64::new(0),
            root_bytes: AtomicUsize::new(0),
            paths: Buffer::new(),
        }
    }

    /// Makes it the one that a file is on: the device, what of that is mounted, and where. Whether there is room for the paths.
    pub fn set(&self, whereabouts: &Whereabouts, device: u64, root: &[u8], point: &[u8]) -> bool {
        self.number.store(0, Release);
        let fits = self.paths.set(&[root, point]);
        self.root_bytes.store(root.len(), Relaxed);
        self.device.store(if fits { device } else { 0 }, Relaxed);
        self.found_by.store(whereabouts.device, Relaxed);
        self.number.store(whereabouts.mount, Release);
        fits
    }

    /// Whether a file is on it.
    fn has(&self, whereabouts: &Whereabouts) -> bool {
        self.number.load(Acquire) == whereabouts.mount && self.found_by.load(Relaxed) == whereabouts.device
    }

    /// The device, what of it is mounted, and where. Neither path ends with a slash.
    pub fn get(&self) -> (u64, &[u8], &[u8]) {
        let paths = self.paths.get();
        let (root, point) = paths.split_at(self.root_bytes.load(Relaxed).min(paths.len()));
        (self.device.load(Relaxed), root, point)
    }
}

static KNOWN: [Mount; MOUNTS] = [const { Mount::unknown() }; MOUNTS];
/// The next to be replaced.
static NEXT: AtomicUsize = AtomicUsize::new(0);
static LOOKING: AtomicBool = AtomicBool::new(false);

/// Forgets who was looking in the parent.
pub fn begin() {
    LOOKING.store(false, Relaxed);
}

/// The mount that a file is on, if the kernel says which.
pub fn of(descriptor: i32, whereabouts: &Whereabouts) -> Option<&'static Mount> {
    if whereabouts.mount == 0 {
        return None;
    }
    let find = || KNOWN.iter().find(|mount| mount.has(whereabouts));
    find().or_else(|| {
        process::without_signals(|| {
            if files::lock(&LOOKING) {
                if find().is_none() {
                    look_for(descriptor, whereabouts);
                }
                LOOKING.store(false, Release);
            }
        });
        find()
    })
}

/// Looks a mount up. One that is not found, or is too long to be kept, has no device.
#[cold]
fn look_for(descriptor: i32, whereabouts: &Whereabouts) {
    let mount = KNOWN
        .iter()
        .find(|mount| mount.number.load(Relaxed) == whereabouts.mount)
        .unwrap_or_else(|| &KNOWN[NEXT.fetch_add(1, Relaxed) % MOUNTS]);
    mount.number.store(0, Release);
    mount.device.store(0, Relaxed);
    mount.paths.set(&[]);
    if let Some(number) = sys::mount_number(descriptor) {
        sys::lines(c"/proc/self/mountinfo", |line| {
            let mut fields = line.split(|&byte| byte == b' ');
            if fields.next() != Some(decimal(number, &mut [0; 20])) {
                return false;
            }
            if let (_, Some(device), Some(root), Some(point)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            {
                mount.keep(device, root, point);
            }
            true
        });
    }
    if mount.device.load(Relaxed) == 0 && root::mount().has(whereabouts) {
        // Where no directory of it is mounted beneath the root directory, the kernel does not list it.
        let (device, root, point) = root::mount().get();
        mount.set(whereabouts, device, root, point);
        return;
    }
    mount.found_by.store(whereabouts.device, Relaxed);
    mount.number.store(whereabouts.mount, Release);
}

/// Whether something is mounted where the root directory of this process is, by the kernel's list; also where that cannot be read.
pub fn has_root() -> bool {
    let (mut is_listed, mut has_lines) = (false, false);
    sys::lines(c"/proc/self/mountinfo", |line| {
        has_lines = true;
        is_listed = line.split(|&byte| byte == b' ').nth(4) == Some(b"/");
        is_listed
    });
    is_listed || !has_lines
}

impl Mount {
    fn keep(&self, device: &[u8], root: &[u8], point: &[u8]) {
        let half = |digits| number(digits).and_then(|number| u32::try_from(number).ok());
        let mut numbers = device.split(|&byte| byte == b':').map(half);
        let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else { return };
        let fits = push_unescaped(&self.paths, root);
        self.root_bytes.store(self.paths.get().len(), Relaxed);
        // Where it is mounted is beneath the root directory that there is now.
        if fits && self.paths.push(root::path()) && push_unescaped(&self.paths, point) {
            self.device.store(libc::makedev(major, minor), Relaxed);
        }
    }
}

/// Adds a path of the kernel's list, in which `\040` is a space, without a slash at its end. Whether it fits.
fn push_unescaped(to: &Buffer<MOUNT_BYTES>, mut path: &[u8]) -> bool {
    if path == b"/" {
        return true;
    }
    while let Some((&first, rest)) = path.split_first() {
        let octal = |digits: &[u8]| digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
        let (byte, rest) = match (first, rest) {
            (b'\\', [a, b, c, rest @ ..]) if octal(&[*a, *b, *c]) => {
                ((a - b'0').wrapping_shl(6) | (b - b'0') << 3 | (c - b'0'), rest)
            }
            _ => (first, rest),
        };
        if !to.push(&[byte]) {
            return false;
        }
        path = rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mounts_are_unescaped() {
        let text = Buffer::new();
        assert!(push_unescaped(&text, b"/with\\040space\\134"));
        assert_eq!(text.get(), b"/with space\\");
        assert!(push_unescaped(&text, b"/") && text.get() == b"/with space\\");
    }
}
