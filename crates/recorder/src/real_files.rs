//! Which file a descriptor or a name leads to, as rules know files: by the path that the kernel has for it, by its inode, and by
//! its path on the device that is mounted, which is the same for all mounts of it.
//!
//! A descriptor is looked up when it is opened, and again when the rules have changed; a call on a name that opens
//! nothing has the name alone, which is looked up once for each set of rules. Nothing is looked up where no rule has a
//! path.

use core::ffi::CStr;

use crate::process::system_calls_allowed;
use crate::rules::Rules;
use crate::sys::{self, Whereabouts};
use crate::{files, mounts, process, root};

/// What may have to stand before a path: that of the root directory, or of what is mounted.
pub const BEFORE: usize = 512;
/// On the stack; longer paths have memory that threads share.
const ON_STACK: usize = BEFORE + 1024;

/// The slots of the rules that are for an open file; `name` is what the program called it.
pub fn of_descriptor(rules: Rules, descriptor: i32, name: &[u8]) -> u64 {
    if !rules.have_paths() {
        return rules.matching(name);
    }
    if !system_calls_allowed() {
        return of_text(rules, name);
    }
    match in_room(|room| leads_to(rules, descriptor, room).map(|slots| slots.map(|(set, _)| set))) {
        Some(set) => set,
        // Without /proc the kernel does not say it.
        None => {
            of_text(rules, name) | sys::whereabouts(descriptor).map_or(0, |whereabouts| of_inode(rules, &whereabouts))
        }
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
type LookUp<T> = Result<Option<T>, TooLong>;

/// A path does not fit into the memory that it was given.
struct TooLong;

/// Runs a look with memory for a path.
fn in_room<T>(look: impl Fn(&mut [u8]) -> LookUp<T>) -> Option<T> {
    match look(&mut [0; ON_STACK]) {
        Ok(value) => value,
        Err(TooLong) => {
            process::without_signals(|| files::with_scratch(|scratch| look(scratch).ok().flatten())).flatten()
        }
    }
}

/// Opens a name without asking for the right to read it, which no other thread can mistake for a use of the file.
fn opened<T>(name: &[u8], room: &mut [u8], look: impl FnOnce(i32, &mut [u8]) -> LookUp<T>) -> LookUp<T> {
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
    let result = look(file as i32, room);
    sys::close(file);
    result
}

/// The slots for an open file, and whether the kernel calls it otherwise than `name`.
fn leads_to_other(rules: Rules, descriptor: i32, name: &[u8], room: &mut [u8]) -> LookUp<(u64, bool)> {
    let slots = leads_to(rules, descriptor, room)?;
    Ok(slots.map(|(set, end)| (set, room.get(BEFORE..end) != Some(name))))
}

/// The slots for an open file, and where the kernel's path for it ends, which begins at [`BEFORE`].
fn leads_to(rules: Rules, descriptor: i32, room: &mut [u8]) -> LookUp<(u64, usize)> {
    let Some(whereabouts) = sys::whereabouts(descriptor) else { return Ok(None) };
    let text = &mut room[BEFORE..];
    let Ok(length) = usize::try_from(sys::descriptor_name(descriptor, text)) else { return Ok(None) };
    if length == text.len() {
        return Err(TooLong);
    }
    let text = &text[..length];
    let text = if whereabouts.has_name { text } else { text.strip_suffix(b" (deleted)").unwrap_or(text) };
    let end = BEFORE + text.len();
    // There is room: the text is shorter than that.
    room[end] = 0;
    let root = root::of(&room[BEFORE..=end], &whereabouts);
    Ok(Some((of_inode(rules, &whereabouts) | of_path(rules, room, end, root, Some((descriptor, &whereabouts))), end)))
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
            let Some(whereabouts) = sys::whereabouts(file) else { return Ok(None) };
            let text = &mut room[BEFORE..];
            let Ok(length) = usize::try_from(sys::descriptor_name(file, text)) else { return Ok(None) };
            // That of the root directory is a slash already.
            let begin = if length == 1 { 0 } else { length };
            text.get_mut(begin..begin + entry.len()).ok_or(TooLong)?.copy_from_slice(entry);
            let end = BEFORE + begin + entry.len();
            Ok(Some(of_path(rules, room, end, root::path(), Some((file, &whereabouts)))))
        })
    })
}

/// The slots for a name of which only the text is known.
fn of_text(rules: Rules, name: &[u8]) -> u64 {
    let look = |room: &mut [u8]| {
        let end = BEFORE + normalise(name, &mut room[BEFORE..]).ok_or(TooLong)?;
        Ok(Some(of_path(rules, room, end, root::path(), None)))
    };
    in_room(look).unwrap_or_else(|| rules.matching(name))
}

/// The slots for a path that lies in `room` from [`BEFORE`] on, and begins in the directory `root`.
fn of_path(rules: Rules, room: &mut [u8], end: usize, root: &[u8], opened: Option<(i32, &Whereabouts)>) -> u64 {
    let begin = if room[BEFORE] == b'/' { BEFORE - root.len() } else { BEFORE };
    room[begin..BEFORE].copy_from_slice(&root[..BEFORE - begin]);
    let set = rules.matching(&room[begin..end]);
    let Some(mount) = opened.and_then(|(descriptor, opened)| mounts::of(descriptor, opened)) else { return set };
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

fn of_inode(rules: Rules, whereabouts: &Whereabouts) -> u64 {
    rules.matching_inode(whereabouts.device, whereabouts.inode)
}

/// Writes a path without empty components, `.` and `..`, as far as the text says it. Its length, if it fits.
pub fn normalise(path: &[u8], into: &mut [u8]) -> Option<usize> {
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
}
