//! The recorder's library: carried by this program, written where the command can load it from.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ioassay_engine::failure::{because_of, on_path};
use ioassay_protocol::events::Failure;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// The library's bytes.
const LIBRARY: &[u8] = include_bytes!(env!("IOASSAY_RECORDER"));
/// Its name.
pub const NAME: &str = "libioassay-recorder.so";
/// What applications name their steps with.
const REGIONS: [(&str, &[u8]); 2] = [
    ("ioassay_region.h", include_bytes!("../../../plugins/region/ioassay_region.h")),
    ("ioassay_region.py", include_bytes!("../../../plugins/region/ioassay_region.py")),
];

/// Writes the header and the module of regions into a directory.
///
/// # Errors
/// If they cannot be written.
pub fn write_regions(directory: &Path) -> Result<(), Failure> {
    for (name, content) in REGIONS {
        let path = directory.join(name);
        fs::write(&path, content).map_err(|error| on_path("write", &path, &error))?;
    }
    Ok(())
}

/// Writes the library into the first of `directories` that programs can be loaded from. Its path. `option` is what names
/// another directory, with a space after it.
///
/// # Errors
/// If there is none.
pub fn write(directories: &[&Path], option: &str) -> Result<PathBuf, Failure> {
    let mut refused = None;
    for directory in directories {
        let path = directory.join(NAME);
        // The dynamic linker takes these for the end of a name, or for the beginning of a variable.
        if path.as_os_str().as_encoded_bytes().iter().any(|byte| b" :$\n\t".contains(byte)) {
            refused = Some(io::Error::other("its name has a space, a colon or a dollar sign"));
            continue;
        }
        match replace(directory, &path) {
            Ok(()) => return Ok(path),
            Err(error) => refused = Some(error),
        }
    }
    let error = refused.unwrap_or_else(|| io::ErrorKind::NotFound.into());
    let names: Vec<_> = directories.iter().map(|directory| directory.display().to_string()).collect();
    let what = format!("no program can be loaded from {}", names.join(" or "));
    let remedy = format!(
        "give {option}a directory without spaces and colons, on a file system that is not mounted noexec and has space"
    );
    Err(because_of(&error, "load", &what, &remedy))
}

/// Writes the library beside the one that is there, if there is one, and puts it in its place: programs that run have the other in
/// memory, and would be killed if it were cut. It is read-only for the same reason.
fn replace(directory: &Path, path: &Path) -> io::Result<()> {
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(LIBRARY)?;
    fs::set_permissions(new.path(), Permissions::from_mode(0o555))?;
    can_execute(new.path())?;
    new.persist(path).map(drop).map_err(|error| error.error)
}

/// Whether the dynamic linker could load the file: not from a file system that is mounted `noexec`.
fn can_execute(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let length = NonZero::new(1).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: one page of a file that is ours, used by nobody and unmapped at once.
    unsafe {
        let mapped = mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_EXEC, MapFlags::MAP_PRIVATE, &file, 0)?;
        munmap(mapped, length.get())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_library_that_is_written_again_stays_whole_for_those_that_have_it_open() {
        let place = tempfile::tempdir().unwrap();
        let path = write(&[place.path()], "").unwrap();
        let used = File::open(&path).unwrap();
        assert_eq!(write(&[place.path()], "").unwrap(), path);
        let mut last = [0];
        used.read_exact_at(&mut last, LIBRARY.len() as u64 - 1).unwrap();
        assert_ne!(used.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
        assert_eq!(last[0], LIBRARY[LIBRARY.len() - 1]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
