//! The root directory that the process stands in, where that is another than that of the recorded command: what it is called outside,
//! and the mount that it is on.
//!
//! A program that is started in it cannot find that out: the kernel shows it neither what is above, nor the mount, if that is
//! mounted above. So the environment says it (`IOASSAY_ROOT`), with the device and inode of the directory: in another one,
//! it means nothing.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::mounts::{self, Mount};
use crate::process::system_calls_allowed;
use crate::real_files::{BEFORE, normalise};
use crate::sys::{self, Whereabouts};
use crate::text::{Buffer, Variables, decimal, number};
use crate::{process, rules};

/// The variable of the environment.
pub const VARIABLE: &[u8] = b"IOASSAY_ROOT";

/// What the root directory is called outside; empty where it is that of the recorded command.
static PATH: Buffer<BEFORE> = Buffer::new();
/// Device and inode of that of the recorded command; zeros in a program that was started in another one.
static FIRST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The mount that it is on.
static MOUNT: Mount = Mount::unknown();
/// The variable, for programs that are started in it: device, inode, device of the mount, length of the path and of what is mounted, and
/// then the path, what is mounted, and where.
static FOR_PROGRAMS: Buffer<2048> = Buffer::new();

/// Its path, without a slash at the end; empty where it is that of the recorded command.
pub fn path() -> &'static [u8] {
    PATH.get()
}

/// The mount that it is on, where it is another than that of the recorded command.
pub fn mount() -> &'static Mount {
    &MOUNT
}

/// What programs are to find in their environment.
pub fn variable() -> Option<&'static CStr> {
    (!FOR_PROGRAMS.is_empty()).then(|| FOR_PROGRAMS.as_c_str())
}

/// Learns in which root directory the program was started.
pub fn begin() {
    let file = sys::open(c"/", libc::O_PATH | libc::O_DIRECTORY, 0);
    if file < 0 {
        return;
    }
    let value = Variables::of_process().find(VARIABLE);
    let whereabouts = sys::whereabouts(file as i32);
    let is_told = whereabouts.zip(value).is_some_and(|(whereabouts, value)| learn(&whereabouts, value).is_some());
    // The root directory of a namespace of mounts is where something is mounted, so its files are known by their devices.
    if !is_told && !sys::is_mounted(file as i32).unwrap_or_else(mounts::has_root) {
        rules::say_root_is_unknown();
    } else if let (Some(whereabouts), false) = (whereabouts, is_told) {
        FIRST[0].store(whereabouts.device, Relaxed);
        FIRST[1].store(whereabouts.inode, Relaxed);
    }
    sys::close(file);
}

/// What the environment says.
#[derive(Debug, PartialEq, Eq)]
struct RootDirectory<'a> {
    /// Device and inode of the directory.
    identity: [u64; 2],
    path: &'a [u8],
    /// The device of the mount, what of that is mounted, and where.
    mount: (u64, &'a [u8], &'a [u8]),
}

impl<'a> RootDirectory<'a> {
    fn in_text(text: &'a [u8]) -> Option<Self> {
        let mut fields = text.splitn(6, |&byte| byte == b':');
        let mut next = || number(fields.next()?);
        let (identity, device, path_bytes, root_bytes) = ([next()?, next()?], next()?, next()?, next()?);
        let (path, mount) = fields.next()?.split_at_checked(usize::try_from(path_bytes).ok()?)?;
        let (root, point) = mount.split_at_checked(usize::try_from(root_bytes).ok()?)?;
        (!path.is_empty()).then_some(Self { identity, path, mount: (device, root, point) })
    }
}

/// Takes what the environment says, if it is about this directory.
fn learn(whereabouts: &Whereabouts, text: &[u8]) -> Option<()> {
    let root_directory = RootDirectory::in_text(text)
        .filter(|root_directory| root_directory.identity == [whereabouts.device, whereabouts.inode])?;
    let (device, root, point) = root_directory.mount;
    PATH.set(&[root_directory.path]).then(|| {
        MOUNT.set(whereabouts, device, root, point);
        keep_for_programs(whereabouts);
    })
}

fn keep_for_programs(whereabouts: &Whereabouts) {
    let (device, root, point) = MOUNT.get();
    let numbers = [whereabouts.device, whereabouts.inode, device, PATH.get().len() as u64, root.len() as u64];
    let fits = FOR_PROGRAMS.set(&[VARIABLE, b"="])
        && numbers.iter().all(|&number| FOR_PROGRAMS.push(decimal(number, &mut [0; 20])) && FOR_PROGRAMS.push(b":"))
        && [PATH.get(), root, point].iter().all(|text| FOR_PROGRAMS.push(text));
    if !fits {
        FOR_PROGRAMS.set(&[]);
    }
}

/// What stands before a path that the kernel has for a file, in which `path` ends with a zero byte: files that are outside of the
/// root directory, and were opened before or received, have their whole paths.
pub fn of(path: &[u8], whereabouts: &Whereabouts) -> &'static [u8] {
    if PATH.is_empty() || !whereabouts.has_name || path.first() != Some(&b'/') {
        return PATH.get();
    }
    let Ok(path) = CStr::from_bytes_with_nul(path) else { return PATH.get() };
    let file = sys::open(path, libc::O_PATH | libc::O_NOFOLLOW, 0);
    if file < 0 {
        return b"";
    }
    let is_it = sys::whereabouts(file as i32)
        .is_some_and(|other| (other.device, other.inode) == (whereabouts.device, whereabouts.inode));
    sys::close(file);
    if is_it { PATH.get() } else { b"" }
}

/// The program changes its root directory: paths begin there from now on.
pub fn change(path: &CStr, change: impl FnOnce() -> i32) -> i32 {
    let file = if system_calls_allowed() { sys::open(path, libc::O_PATH | libc::O_DIRECTORY, 0) } else { -1 };
    let whereabouts = (file >= 0).then(|| sys::whereabouts(file as i32)).flatten();
    let mut text = [0; BEFORE];
    let new = Buffer::<BEFORE>::new();
    let is_known = whereabouts.is_some_and(|whereabouts| outside(file as i32, &whereabouts, path, &mut text, &new));
    let mount = whereabouts.and_then(|whereabouts| mounts::of(file as i32, &whereabouts));
    rules::reach_tables();
    let result = change();
    if result == 0 {
        process::without_signals(|| {
            PATH.set(&[new.get()]);
            FOR_PROGRAMS.set(&[]);
            if let (Some(whereabouts), false) = (whereabouts, new.is_empty()) {
                let (device, root, point) = mount.map_or((0, &b""[..], &b""[..]), Mount::get);
                MOUNT.set(&whereabouts, device, root, point);
                keep_for_programs(&whereabouts);
            }
            if !is_known && system_calls_allowed() {
                rules::say_root_is_unknown();
            }
        });
    }
    if file >= 0 {
        sys::close(file);
    }
    result
}

/// Writes what an open directory is called outside, without a slash at the end. Whether that is known.
fn outside(
    directory: i32,
    whereabouts: &Whereabouts,
    path: &CStr,
    text: &mut [u8; BEFORE],
    new: &Buffer<BEFORE>,
) -> bool {
    if FIRST.each_ref().map(|number| number.load(Relaxed)) == [whereabouts.device, whereabouts.inode] {
        return true;
    }
    let length = match usize::try_from(sys::descriptor_name(directory, text)) {
        Ok(length) => Some(length),
        // Without /proc the kernel does not say it.
        Err(_) if path.to_bytes().starts_with(b"/") => normalise(path.to_bytes(), text),
        Err(_) => None,
    };
    // One that fills it may be longer.
    let Some(length) = length.filter(|length| *length < text.len()) else { return false };
    text[length] = 0;
    let before = of(&text[..=length], whereabouts);
    // That of the root directory is a slash.
    new.set(&[before, if length == 1 { b"" } else { &text[..length] }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_environment_says_is_taken_as_far_as_it_can_be_true() {
        let parsed = |text: &'static str| RootDirectory::in_text(text.as_bytes());
        let all = RootDirectory { identity: [7, 2], path: b"/a:b", mount: (8, b"/of", b"/at") };
        assert_eq!(parsed("7:2:8:4:3:/a:b/of/at"), Some(all));
        let of_whole_device = RootDirectory { identity: [7, 2], path: b"/a", mount: (8, b"", b"") };
        assert_eq!(parsed("7:2:8:2:0:/a"), Some(of_whole_device));
        for wrong in ["", "7:2:8:2:0", "7:2:8:0:0:/a", "7:2:8:3:0:/a", "7:2:8:1:2:/a", "7:2:8:-1:0:/a", "a:2:8:2:0:/a"]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
