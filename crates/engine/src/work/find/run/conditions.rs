//! Which entries match: the conditions of a walk, the cheapest first.
//!
//! What the listing tells (kind, name) costs nothing; attributes cost a system call, and on a network file system a
//! question to the server. They are asked for only when everything else matches, and only those that are needed.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, BorrowedFd};

use ioassay_protocol::plan::metadata::{FindWork, Items};

use super::listing::{Entry, Type, is_gone};

/// The conditions of a walk.
#[derive(Debug)]
pub(super) struct Conditions {
    kind: Option<Type>,
    name: Option<CString>,
    /// Sizes are of files: what a directory has is the file system's own affair.
    size_bytes: Option<RangeInclusive<u64>>,
    /// The oldest time of the last change.
    changed_from_unix_ns: Option<u64>,
}

/// What is found out about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// It meets all conditions.
    pub matches: bool,
    /// It is a directory.
    pub directory: bool,
}

impl Conditions {
    /// Those of `work`; `step_stamp_unix_ns` is the time with which files were stamped when the step began after
    /// which an entry must have changed.
    pub fn of(work: &FindWork, step_stamp_unix_ns: Option<u64>) -> Self {
        let sized = work.size_bytes.or(work.at_least_bytes).or(work.at_most_bytes).is_some();
        let least = work.size_bytes.or(work.at_least_bytes).unwrap_or(0);
        let most = work.size_bytes.or(work.at_most_bytes).unwrap_or(u64::MAX);
        let kind = match work.entries {
            _ if sized => Some(Type::File),
            Some(Items::Files) => Some(Type::File),
            Some(Items::Directories) => Some(Type::Directory),
            None => None,
        };
        Self {
            kind,
            name: work.name.as_deref().map(|name| CString::new(name).expect("validated: no zero bytes")),
            size_bytes: sized.then_some(least..=most),
            // What changed at the very beginning of the step bears the same time as what changed just before it: a tick
            // of the clock that stamps files is some milliseconds. It must not be missed, so that counts as newer.
            changed_from_unix_ns: step_stamp_unix_ns.or(work.newer_than_unix_ns.map(|ns| ns.saturating_add(1))),
        }
    }

    /// Whether `entry` of `directory` meets them.
    #[inline(always)]
    pub fn meets(&self, directory: BorrowedFd<'_>, entry: Entry<'_>) -> io::Result<Verdict> {
        let is_listed = entry.kind != Type::Unknown;
        if !is_listed {
            return self.meets_unlisted(directory, entry.name);
        }
        let verdict = |matches| Ok(Verdict { matches, directory: entry.kind == Type::Directory });
        if !self.kind_and_name(entry.kind, entry.name) {
            return verdict(false);
        }
        let wanted = self.wanted_attributes();
        if wanted == 0 {
            return verdict(true);
        }
        match attributes(directory, entry.name, wanted) {
            Ok(attributes) => verdict(self.attributes_meet(&attributes)),
            Err(error) if is_gone(&error) => verdict(false),
            Err(error) => Err(error),
        }
    }

    /// The same for an entry whose kind is not listed: whether to go into it must be known.
    #[cold]
    fn meets_unlisted(&self, directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Verdict> {
        let statx = match attributes(directory, name, libc::STATX_TYPE | self.wanted_attributes()) {
            Err(error) if is_gone(&error) => return Ok(Verdict { matches: false, directory: false }),
            statx => statx?,
        };
        let kind = match u32::from(statx.stx_mode) & libc::S_IFMT {
            libc::S_IFREG => Type::File,
            libc::S_IFDIR => Type::Directory,
            _ => Type::Other,
        };
        let matches = self.kind_and_name(kind, name) && self.attributes_meet(&statx);
        Ok(Verdict { matches, directory: kind == Type::Directory })
    }

    fn kind_and_name(&self, kind: Type, name: &CStr) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind) && self.name.as_deref().is_none_or(|wanted| like(wanted, name))
    }

    fn wanted_attributes(&self) -> u32 {
        let size = if self.size_bytes.is_some() { libc::STATX_SIZE } else { 0 };
        let time = if self.changed_from_unix_ns.is_some() { libc::STATX_MTIME } else { 0 };
        size | time
    }

    fn attributes_meet(&self, attributes: &libc::statx) -> bool {
        let changed_ns = || {
            let seconds = u64::try_from(attributes.stx_mtime.tv_sec).unwrap_or(0);
            seconds.saturating_mul(1_000_000_000).saturating_add(attributes.stx_mtime.tv_nsec.into())
        };
        self.size_bytes.as_ref().is_none_or(|sizes| sizes.contains(&attributes.stx_size))
            && self.changed_from_unix_ns.is_none_or(|from_ns| changed_ns() >= from_ns)
    }
}

/// True if `name` is like `pattern`, as `find -name` has it.
fn like(pattern: &CStr, name: &CStr) -> bool {
    // SAFETY: both end with a zero byte and live through the call.
    unsafe { libc::fnmatch(pattern.as_ptr(), name.as_ptr(), 0) == 0 }
}

/// Asks for some attributes of an entry, which is not followed if it is a symbolic link, nor mounted.
fn attributes(directory: BorrowedFd<'_>, name: &CStr, wanted: u32) -> io::Result<libc::statx> {
    let mut statx = MaybeUninit::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT;
    // SAFETY: the name ends with a zero byte, and the kernel fills `statx` where it returns 0.
    match unsafe { libc::statx(directory.as_raw_fd(), name.as_ptr(), flags, wanted, statx.as_mut_ptr()) } {
        // SAFETY: filled, as said.
        0 => Ok(unsafe { statx.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn any() -> FindWork {
        FindWork::default()
    }

    /// `data.01` of 3901 bytes, the directory `data.d` and the link `data.l`; which of them match.
    fn matching(work: &FindWork) -> String {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("data.01"), [0; 3901]).unwrap();
        std::fs::create_dir(directory.path().join("data.d")).unwrap();
        std::os::unix::fs::symlink("data.01", directory.path().join("data.l")).unwrap();
        let open = File::open(directory.path()).unwrap();
        let conditions = Conditions::of(work, None);
        let mut matching = String::new();
        for (name, kind) in [(c"data.01", Type::File), (c"data.d", Type::Directory), (c"data.l", Type::Other)] {
            let verdict = conditions.meets(open.as_fd(), Entry { kind, name }).unwrap();
            // A listing without kinds changes nothing but the cost.
            let unlisted = conditions.meets(open.as_fd(), Entry { kind: Type::Unknown, name }).unwrap();
            assert_eq!(verdict, unlisted, "{name:?} and {work:?}");
            assert_eq!(verdict.directory, kind == Type::Directory);
            if verdict.matches {
                matching.push(char::from(name.to_bytes()[5]));
            }
        }
        let gone = conditions.meets(open.as_fd(), Entry { kind: Type::Unknown, name: c"data.x" }).unwrap();
        assert_eq!(gone, Verdict { matches: false, directory: false });
        matching
    }

    #[test]
    fn an_entry_matches_that_meets_all_conditions() {
        assert_eq!(matching(&any()), "0dl");
        assert_eq!(matching(&FindWork { entries: Some(Items::Files), ..any() }), "0");
        assert_eq!(matching(&FindWork { entries: Some(Items::Directories), ..any() }), "d");
        for (pattern, expected) in [("*01*", "0"), ("data.[dl]", "dl"), ("?", ""), ("data.0", ""), ("*", "0dl")] {
            assert_eq!(matching(&FindWork { name: Some(pattern.into()), ..any() }), expected, "{pattern}");
        }
        assert_eq!(matching(&FindWork { size_bytes: Some(3901), ..any() }), "0");
        assert_eq!(matching(&FindWork { size_bytes: Some(3900), ..any() }), "");
        assert_eq!(matching(&FindWork { at_least_bytes: Some(1), at_most_bytes: Some(4000), ..any() }), "0");
        assert_eq!(matching(&FindWork { at_least_bytes: Some(4000), ..any() }), "");
        let now_ns = ioassay_host::clock::unix_ns();
        assert_eq!(matching(&FindWork { newer_than_unix_ns: Some(now_ns - 1_000_000_000), ..any() }), "0dl");
        assert_eq!(matching(&FindWork { newer_than_unix_ns: Some(now_ns + 3_600_000_000_000), ..any() }), "");
        let all = FindWork {
            name: Some("*01".into()),
            size_bytes: Some(3901),
            newer_than_unix_ns: Some(1),
            ..FindWork::default()
        };
        assert_eq!(matching(&all), "0");
    }

    #[test]
    fn what_changed_as_the_step_began_is_newer_than_the_step() {
        let directory = tempfile::tempdir().unwrap();
        let began_ns = ioassay_host::clock::file_stamp_unix_ns();
        std::fs::write(directory.path().join("file"), "").unwrap();
        let open = File::open(directory.path()).unwrap();
        let meets = |conditions: Conditions| {
            conditions.meets(open.as_fd(), Entry { kind: Type::File, name: c"file" }).unwrap().matches
        };
        let work = FindWork { newer_than_step: Some(0), ..any() };
        assert!(meets(Conditions::of(&work, Some(began_ns))));
        assert!(!meets(Conditions::of(&work, Some(began_ns + 1_000_000_000))));
    }
}
