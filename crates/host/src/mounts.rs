//! The file system that a path is on, from a process's list of mounts.
//!
//! `python/ioassay/mounts.py` reads the same list where no engine is asked; `mounts.json` has answers that both give.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use ioassay_protocol::environment::Mount;

use crate::room::room;

/// What is mounted at `path` or above, in words. Nothing is asked of it: links on the way are not followed.
pub fn mounted_at(path: &Path) -> Option<String> {
    let Listed { point, source, file_system, .. } = covering(&list()?, path)?;
    let of = source.map(|source| format!(" of {source}")).unwrap_or_default();
    Some(format!("{file_system}{of}, mounted at {}", point.display()))
}

/// The file system under `target`.
pub fn mount_of(target: &Path) -> Option<Mount> {
    let target = target.canonicalize().ok()?;
    let Listed { point, source, file_system, options } = covering(&list()?, &target)?;
    let room = room(&target).ok()?;
    Some(Mount {
        mount_point: point.display().to_string(),
        source,
        file_system,
        options,
        total_bytes: room.total_bytes,
        free_bytes: room.free_bytes,
        block_bytes: room.block_bytes,
        notes: room.notes,
    })
}

/// The file system under a path as a process sees it, or as this one does where that one has ended.
pub fn listed_by(process: u32, path: &Path) -> Option<Listed> {
    let list = std::fs::read(format!("/proc/{process}/mountinfo")).ok().or_else(list)?;
    covering(&list, path)
}

fn list() -> Option<Vec<u8>> {
    std::fs::read("/proc/self/mountinfo").ok()
}

/// The line of the deepest mount point above `path`; of several at one place the last one covers the others.
fn covering(mountinfo: &[u8], path: &Path) -> Option<Listed> {
    let lines = mountinfo.split(|&byte| byte == b'\n').filter_map(Listed::parse);
    lines.filter(|line| path.starts_with(&line.point)).max_by_key(|line| line.point.components().count())
}

/// A line of the list (proc_pid_mountinfo(5)).
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// The mount point.
    pub point: PathBuf,
    /// What is mounted; `None` where the kernel says `none`, or nothing.
    pub source: Option<String>,
    /// The type of the file system.
    pub file_system: String,
    /// Options of the mount and of the file system, in order, each once.
    pub options: Vec<String>,
}

impl Listed {
    /// `None` for what is no line of it.
    fn parse(line: &[u8]) -> Option<Self> {
        let fields: Vec<OsString> = line.split(|&byte| byte == b' ').map(unescaped).collect();
        let [_, _, _, _, point, of_mount, rest @ ..] = fields.as_slice() else { return None };
        // Before it are fields of which newer kernels may have more.
        let separator = rest.iter().position(|field| field == "-")?;
        let [file_system, source, of_file_system, ..] = &rest[separator + 1..] else { return None };
        let text = |field: &OsStr| field.to_string_lossy().into_owned();
        let options = [of_mount, of_file_system].map(|field| text(field));
        let mut options: Vec<String> = options.iter().flat_map(|field| field.split(',')).map(str::to_owned).collect();
        options.sort();
        options.dedup();
        Some(Self {
            point: PathBuf::from(point),
            source: Some(text(source)).filter(|source| !matches!(source.as_str(), "" | "none")),
            file_system: text(file_system),
            options,
        })
    }
}

/// A field as it was before the kernel wrote spaces and the like as octal numbers: `\040`.
pub(crate) fn unescaped(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        let value = octal.map(|digits| digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0')));
        match value.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use serde_json::Value;

    fn agreed() -> Value {
        serde_json::from_str(include_str!("../mounts.json")).unwrap()
    }

    fn texts(list: &Value) -> Vec<Option<&str>> {
        list.as_array().unwrap().iter().map(Value::as_str).collect()
    }

    /// What `python/ioassay/mounts.py` must find too.
    #[test]
    fn the_mount_of_a_path_is_the_one_that_the_control_plane_finds() {
        let agreed = agreed();
        let lines: Vec<&str> = texts(&agreed["mountinfo"]).into_iter().map(Option::unwrap).collect();
        let mountinfo = lines.join("\n");
        for case in agreed["found"].as_array().unwrap() {
            let [path, point, source, file_system] = texts(case)[..] else { panic!("{case}") };
            let line = covering(mountinfo.as_bytes(), Path::new(path.unwrap())).unwrap();
            let is = (line.point.to_str(), line.source.as_deref(), Some(line.file_system.as_str()));
            assert_eq!(is, (point, source, file_system), "{case}");
        }
        assert_eq!(covering(b"no list of mounts\n", Path::new("/data")), None);
    }

    #[test]
    fn a_mount_point_that_is_no_text_hides_no_other() {
        let list =
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /\xff rw - tmpfs t rw\n3 1 0:9 / /data rw - xfs x rw";
        assert_eq!(covering(list, Path::new("/data/a")).unwrap().file_system, "xfs");
        assert_eq!(covering(list, Path::new(OsStr::from_bytes(b"/\xff/a"))).unwrap().file_system, "tmpfs");
    }

    #[test]
    fn options_are_those_of_the_mount_and_of_the_file_system_each_once() {
        let line = Listed::parse(b"3 1 0:9 / /d rw,noatime shared:1 - nfs4 h:/x rw,vers=4.2,addr=10.0.0.1").unwrap();
        assert_eq!(line.options, ["addr=10.0.0.1", "noatime", "rw", "vers=4.2"]);
    }
}
