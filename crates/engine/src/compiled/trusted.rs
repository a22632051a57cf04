//! Code that may run as we do: libraries, and directories that keep them, which nobody else can change.
//!
//! Trusted are root, who runs the engine, and who owns the engine itself. Every directory on the way must be theirs; one
//! that others may write to will do if it is sticky, as `/tmp` is. A library is loaded by the descriptor that was
//! checked: what its name leads to a moment later does not count.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::Uid;

use crate::failure::Explained;

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A library that nobody else can change.
#[derive(Debug)]
pub struct TrustedLibrary(File);

impl TrustedLibrary {
    /// The one at `path`.
    ///
    /// # Errors
    /// If it is not there, or others may change it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let whole = path.canonicalize()?;
        let (Some(directory), Some(name)) = (whole.parent(), whole.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = File::from(openat(descend(directory)?, name, flags, Mode::empty())?);
        let about = file.metadata()?;
        if !about.is_file() || !is_trusted(&about) || about.mode() & WRITABLE_BY_OTHERS != 0 {
            return Err(changeable(&whole));
        }
        Ok(Self(file))
    }

    /// Loads it, with all functions that it needs: one that is missing must not be met in the middle of a phase.
    ///
    /// # Safety
    /// What a library does when it is loaded is its maker's.
    ///
    /// # Errors
    /// If the loader cannot.
    pub unsafe fn load(self) -> Result<Library, libloading::Error> {
        let name = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        // The loader knows what it has loaded by its name, which must not become another file's.
        std::mem::forget(self.0);
        // SAFETY: the caller vouches for it.
        unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
    }
}

/// An error if others may change what lies in `directory`.
pub(super) fn check_directory(directory: &Path) -> io::Result<()> {
    descend(&directory.canonicalize()?).map(drop)
}

/// `directory`, which has no links in it, with every directory on the way checked.
fn descend(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut reached = PathBuf::from("/");
    let mut current = open(&reached, flags, Mode::empty())?;
    let mut names = directory.iter().skip(1);
    loop {
        let file = File::from(current);
        let about = file.metadata()?;
        let shared = about.mode() & WRITABLE_BY_OTHERS != 0 && about.mode() & STICKY == 0;
        if shared || !is_trusted(&about) {
            return Err(changeable(&reached));
        }
        current = file.into();
        let Some(name) = names.next() else { return Ok(current) };
        reached.push(name);
        current = openat(&current, name, flags, Mode::empty())?;
    }
}

fn is_trusted(about: &Metadata) -> bool {
    // Root's number as it is seen in here: a container may not know it, and shows all that it does not know alike.
    let owner_of = |path: &str| fs::metadata(path).map_or(0, |about| about.uid());
    let trusted = [owner_of("/proc/sys/kernel"), owner_of("/proc/self/exe"), Uid::effective().as_raw()];
    trusted.contains(&about.uid())
}

fn changeable(path: &Path) -> io::Error {
    Explained {
        what: format!("other users can change {}, and code from there would be run", path.display()),
        remedy: "make it writable by you only (chown, chmod go-w), or set IOASSAY_CACHE to such a directory".to_owned(),
    }
    .into_io()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn library(directory: &Path) -> PathBuf {
        let path = directory.join("some.so");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn refused(path: &Path) -> String {
        TrustedLibrary::open(path).unwrap_err().to_string()
    }

    #[test]
    fn what_others_may_write_is_refused_by_the_name_of_what_they_may_write() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("one/two");
        fs::create_dir_all(&inner).unwrap();
        let path = library(&inner);
        TrustedLibrary::open(&path).unwrap();
        for (changed, mode, restored) in [
            (path.as_path(), 0o775, 0o755),
            (&inner, 0o757, 0o755),
            (&place.path().join("one"), 0o777, 0o755),
            (place.path(), 0o770, 0o700),
        ] {
            fs::set_permissions(changed, fs::Permissions::from_mode(mode)).unwrap();
            assert!(refused(&path).contains(&format!("change {},", changed.display())), "{}", refused(&path));
            fs::set_permissions(changed, fs::Permissions::from_mode(restored)).unwrap();
        }
        // In a sticky one nobody takes away what is not theirs.
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        TrustedLibrary::open(&path).unwrap();
    }

    #[test]
    fn what_another_user_owns_is_refused_also_far_above_and_behind_a_link() {
        if !Uid::effective().is_root() {
            crate::stdio::say!("SKIPPED: another user's files need root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("one/two");
        fs::create_dir_all(&inner).unwrap();
        let path = library(&inner);
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        for owned in [path.clone(), inner.clone(), place.path().join("one")] {
            chown(&owned, Some(65534), None).unwrap();
            for name in [path.clone(), link.join("some.so")] {
                assert!(refused(&name).contains(&format!("change {},", owned.display())), "{}", refused(&name));
            }
            chown(&owned, Some(0), None).unwrap();
        }
        TrustedLibrary::open(&link.join("some.so")).unwrap();
    }
}
