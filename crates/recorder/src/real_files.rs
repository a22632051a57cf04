//! Which file a descriptor or a name leads to, as rules know files: by the path that the kernel has for it, by its inode, and by
//! its path on the device that is mounted, which is the same for all mounts of it.
//!
//! A descriptor is looked at when it is opened, and again when the rules have changed; a call on a name that opens nothing has
//! the name alone, which is looked up once for each set of rules. Nothing is looked up where no rule has a path.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::process::system_calls_allowed;
use crate::rules::Rules;
use crate::sys::{self, Whereabouts};
use crate::text::{Buffer, decimal};
use crate::{files, process};

/// What may have to stand before a path: that of the root directory, or of what is mounted.
pub const BEFORE: usize = 512;
/// On the stack; longer paths have memory that threads share.
const ON_STACK: usize = BEFORE + 1024;

/// The root directory of a process that has changed it, as it was called before; empty where that is `/`.
static ROOT: Buffer<BEFORE> = Buffer::new();

/// The slots of the rules that are for an open file; `name` is what the program called it.
pub fn of_descriptor(rules: Rules, descriptor: i32, name: &[u8]) -> u64 {
    if !rules.have_paths() {
        return rules.matching(name);
    }
    if !system_calls_allowed() {
        return of_text(rules, name);
    }
    match in_room(|room| leads_to(rules, descriptor, room).map(|found| found.map(|(set, _)| set))) {
        Some(set) => set,
        // Without /proc the kernel does not say it.
        None => of_text(rules, name) | sys::whereabouts(descriptor).map_or(0, |at| of_inode(rules, &at)),
    }
}

/// The slots of the rules that are for a call on a name: for what the name leads to, and for the name in its real directory, of
/// which some calls are.
pub fn of_name(rules: Rules, name: &[u8]) -> u64 {
    if !rules.have_paths() || name.first() != Some(&b'/') {
        return rules.matching(name);
    }
    if !system_calls_allowed() {
        return of_text(rules, name);
    }
    let whole = in_room(|room| opened(name, room, |file, room| leads_to_other(rules, file, name, room)));
    match whole {
        Some((set, false)) => set,
        Some((set, true)) => set | of_entry(rules, name).unwrap_or(0),
        None => of_entry(rules, name).unwrap_or_else(|| of_text(rules, name)),
    }
}

/// What a look found; nothing where the kernel did not say it. Or the memory was too small.
type Found<T> = Result<Option<T>, TooLong>;

/// A path does not fit into the memory that it was given.
struct TooLong;

/// Runs a look with memory for a path.
fn in_room<T>(look: impl Fn(&mut [u8]) -> Found<T>) -> Option<T> {
    match look(&mut [0; ON_STACK]) {
        Ok(found) => found,
        Err(TooLong) => {
            process::without_signals(|| files::with_scratch(|scratch| look(scratch).ok().flatten())).flatten()
        }
    }
}

/// Opens a name without asking for the right to read it, which no other thread can mistake for a use of the file.
fn opened<T>(name: &[u8], room: &mut [u8], look: impl FnOnce(i32, &mut [u8]) -> Found<T>) -> Found<T> {
    let (text, end) = room
        .get_mut(..=name.len())
        .and_then(|text| text.split_last_mut())
        .map(|(end, text)| (text, end))
        .ok_or(TooLong)?;
    text.copy_from_slice(name);
    *end = 0;
    // SAFETY: it ends with the only zero byte: names come from the kernel or from texts that do.
    let path = unsafe { CStr::from_bytes_with_nul_unchecked(&room[..=name.len()]) };
    let file = sys::open(path, libc::O_PATH, 0);
    if file < 0 {
        return Ok(None);
    }
    let found = look(file as i32, room);
    sys::close(file);
    found
}

/// The slots for an open file, and whether the kernel calls it otherwise than `name`.
fn leads_to_other(rules: Rules, descriptor: i32, name: &[u8], room: &mut [u8]) -> Found<(u64, bool)> {
    let found = leads_to(rules, descriptor, room)?;
    Ok(found.map(|(set, end)| (set, room.get(BEFORE..end) != Some(name))))
}

/// The slots for an open file, and where the kernel's path for it ends, which begins at [`BEFORE`].
fn leads_to(rules: Rules, descriptor: i32, room: &mut [u8]) -> Found<(u64, usize)> {
    let Some(at) = sys::whereabouts(descriptor) else { return Ok(None) };
    let text = &mut room[BEFORE..];
    let Ok(length) = usize::try_from(sys::descriptor_name(descriptor, text)) else { return Ok(None) };
    if length == text.len() {
        return Err(TooLong);
    }
    let text = &text[..length];
    let text = if at.has_name { text } else { text.strip_suffix(b" (deleted)").unwrap_or(text) };
    let end = BEFORE + text.len();
    Ok(Some((of_inode(rules, &at) | of_path(rules, room, end, Some((descriptor, &at))), end)))
}

/// The slots for a name in the directory to which what stands before it leads.
fn of_entry(rules: Rules, name: &[u8]) -> Option<u64> {
    let slash = name.iter().rposition(|&byte| byte == b'/')?;
    let (directory, entry) = (&name[..slash.max(1)], &name[slash..]);
    if matches!(entry, b"/" | b"/." | b"/..") {
        return None;
    }
    in_room(|room| {
        opened(directory, room, |file, room| {
            let Some(at) = sys::whereabouts(file) else { return Ok(None) };
            let text = &mut room[BEFORE..];
            let Ok(length) = usize::try_from(sys::descriptor_name(file, text)) else { return Ok(None) };
            // That of the root directory is a slash already.
            let begin = if length == 1 { 0 } else { length };
            text.get_mut(begin..begin + entry.len()).ok_or(TooLong)?.copy_from_slice(entry);
            Ok(Some(of_path(rules, room, BEFORE + begin + entry.len(), Some((file, &at)))))
        })
    })
}

/// The slots for a name of which only the text is known.
fn of_text(rules: Rules, name: &[u8]) -> u64 {
    let look = |room: &mut [u8]| {
        let end = BEFORE + normalise(name, &mut room[BEFORE..]).ok_or(TooLong)?;
        Ok(Some(of_path(rules, room, end, None)))
    };
    in_room(look).unwrap_or_else(|| rules.matching(name))
}

/// The slots for a path that lies in `room` from [`BEFORE`] on.
fn of_path(rules: Rules, room: &mut [u8], end: usize, at: Option<(i32, &Whereabouts)>) -> u64 {
    let root = ROOT.get();
    let begin = if room[BEFORE] == b'/' { BEFORE - root.len() } else { BEFORE };
    room[begin..BEFORE].copy_from_slice(&root[..BEFORE - begin]);
    let set = rules.matching(&room[begin..end]);
    let Some(mount) = at.and_then(|(descriptor, at)| mount_of(descriptor, at)) else { return set };
    let (device, root, point) = mount.get();
    if !rules.may_know_device(device) || !room[begin..end].starts_with(point) {
        return set;
    }
    // What is mounted begins elsewhere on its device than where it is mounted.
    let rest = begin + point.len();
    if rest < end && room[rest] != b'/' {
        return set;
    }
    let Some(begin) = rest.checked_sub(root.len()) else { return set };
    room[begin..rest].copy_from_slice(root);
    set | rules.matching_on_device(device, if begin == end { b"/" } else { &room[begin..end] })
}

fn of_inode(rules: Rules, at: &Whereabouts) -> u64 {
    rules.matching_inode(at.device, at.inode)
}

/// Writes a path without empty components, `.` and `..`, as far as the text says it. Its length, if it fits.
fn normalise(path: &[u8], into: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    if path.first() != Some(&b'/') {
        into.get_mut(..path.len())?.copy_from_slice(path);
        return Some(path.len());
    }
    for component in path.split(|&byte| byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => length = into[..length].iter().rposition(|&byte| byte == b'/').unwrap_or(0),
            name => {
                let room = into.get_mut(length..length + 1 + name.len())?;
                room[0] = b'/';
                room[1..].copy_from_slice(name);
                length += 1 + name.len();
            }
        }
    }
    if length == 0 {
        *into.first_mut()? = b'/';
        length = 1;
    }
    Some(length)
}

/// The program changes its root directory: paths begin there from now on.
pub fn change_root(path: &CStr, change: impl FnOnce() -> i32) -> i32 {
    let new = Buffer::<BEFORE>::new();
    let mut text = [0; BEFORE];
    let file = if system_calls_allowed() { sys::open(path, libc::O_PATH | libc::O_DIRECTORY, 0) } else { -1 };
    if file >= 0 {
        let length = match usize::try_from(sys::descriptor_name(file as i32, &mut text)) {
            Ok(length) => Some(length),
            // Without /proc the kernel does not say it.
            Err(_) => normalise(path.to_bytes(), &mut text).filter(|_| path.to_bytes().starts_with(b"/")),
        };
        if let Some(length @ 2..) = length {
            new.set(&[ROOT.get(), &text[..length]]);
        }
        sys::close(file);
    }
    let result = change();
    if result == 0 {
        ROOT.set(&[new.get()]);
    }
    result
}

/// Mounts that are known at the same time.
const MOUNTS: usize = 32;
/// Of the paths of a mount.
const MOUNT_BYTES: usize = 992;

/// A mount, as `/proc/self/mountinfo` has it.
#[repr(C, align(64))]
struct Mount {
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
    /// The device, what of it is mounted, and where. Neither path ends with a slash.
    fn get(&self) -> (u64, &[u8], &[u8]) {
        let paths = self.paths.get();
        let (root, point) = paths.split_at(self.root_bytes.load(Relaxed).min(paths.len()));
        (self.device.load(Relaxed), root, point)
    }
}

static KNOWN: [Mount; MOUNTS] = [const {
    Mount {
        number: AtomicU64::new(0),
        found_by: AtomicU64::new(0),
        device: AtomicU64::new(0),
        root_bytes: AtomicUsize::new(0),
        paths: Buffer::new(),
    }
}; MOUNTS];
/// The next to be replaced.
static NEXT: AtomicUsize = AtomicUsize::new(0);
static LOOKING: AtomicBool = AtomicBool::new(false);

/// Forgets who was looking in the parent.
pub fn begin() {
    LOOKING.store(false, Relaxed);
}

/// The mount that a file is on, if the kernel says which.
fn mount_of(descriptor: i32, at: &Whereabouts) -> Option<&'static Mount> {
    if at.mount == 0 {
        return None;
    }
    let find = || {
        let is_it =
            |mount: &&Mount| mount.number.load(Acquire) == at.mount && mount.found_by.load(Relaxed) == at.device;
        KNOWN.iter().find(is_it)
    };
    find().or_else(|| {
        process::without_signals(|| {
            if files::lock(&LOOKING) {
                if find().is_none() {
                    look_for_mount(descriptor, at);
                }
                LOOKING.store(false, Release);
            }
        });
        find()
    })
}

/// Looks a mount up. One that is not found, or is too long to be kept, has no device.
#[cold]
fn look_for_mount(descriptor: i32, at: &Whereabouts) {
    let mount = KNOWN
        .iter()
        .find(|mount| mount.number.load(Relaxed) == at.mount)
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
    mount.found_by.store(at.device, Relaxed);
    mount.number.store(at.mount, Release);
}

impl Mount {
    fn keep(&self, device: &[u8], root: &[u8], point: &[u8]) {
        let mut numbers = device.split(|&byte| byte == b':').map(number);
        let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else { return };
        let fits = push_unescaped(&self.paths, root);
        self.root_bytes.store(self.paths.get().len(), Relaxed);
        // Where it is mounted is beneath the root directory that there is now.
        if fits && self.paths.push(ROOT.get()) && push_unescaped(&self.paths, point) {
            self.device.store(libc::makedev(major, minor), Relaxed);
        }
    }
}

/// A number of decimal digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u32::from(digit - b'0')),
        _ => None,
    })
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
    fn a_path_is_normalised_as_far_as_its_text_says() {
        for (path, normal) in [
            ("/data//a", "/data/a"),
            ("/data/./a/", "/data/a"),
            ("/data/b/../a", "/data/a"),
            ("/../..", "/"),
            ("//", "/"),
            ("/data/...", "/data/..."),
            ("pipe", "pipe"),
        ] {
            let mut room = [0; 64];
            let length = normalise(path.as_bytes(), &mut room).unwrap();
            assert_eq!(core::str::from_utf8(&room[..length]), Ok(normal));
        }
        assert_eq!(normalise(b"/data/a", &mut [0; 6]), None);
        assert_eq!(normalise(b"/data/a", &mut [0; 7]), Some(7));
    }

    #[test]
    fn paths_of_mounts_are_unescaped() {
        let text = Buffer::new();
        assert!(push_unescaped(&text, b"/with\\040space\\134"));
        assert_eq!(text.get(), b"/with space\\");
        assert!(push_unescaped(&text, b"/") && text.get() == b"/with space\\");
    }
}
