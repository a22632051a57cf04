//! Files of results whose place the user names: like the files that are measured, they replace only what a run before
//! has left there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use ioassay_protocol::events::Failure;

use ioassay_engine::failure;
use ioassay_engine::workspace::in_place::SAY_OVERWRITE;

/// As much of a file's beginning as is checked.
const CHECKED_BYTES: u64 = 4096;

/// Creates the file at `path`, empty.
///
/// # Errors
/// If it cannot be written, if it is a block device, or if something is there whose beginning is not `is_own` and `overwrite`
/// was not said.
pub fn create(path: &Path, overwrite: bool, is_own: impl Fn(&str) -> bool) -> Result<File, Failure> {
    let cannot = |error| failure::on_path("write", path, &error);
    // The file that is checked is the one that is emptied: no other process can replace it in between.
    let mut options = File::options();
    let options = options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return options.create_new(true).open(path).map_err(cannot);
        }
        there => there.map_err(cannot)?,
    };
    check(&file, path, overwrite, is_own)?;
    if file.metadata().map_err(cannot)?.is_file() {
        file.set_len(0).and_then(|()| io::Seek::rewind(&mut &file)).map_err(cannot)?;
    }
    Ok(file)
}

/// Replaces the file at `path` by one that holds `text`, as [`create`] does.
pub fn write(path: &Path, overwrite: bool, is_own: impl Fn(&str) -> bool, text: &str) -> Result<(), Failure> {
    let mut file = create(path, overwrite, is_own)?;
    file.write_all(text.as_bytes()).map_err(|error| failure::on_path("write", path, &error))
}

/// An error if [`create`] would refuse to replace what is at `path`.
pub fn may_replace(path: &Path, overwrite: bool, is_own: impl Fn(&str) -> bool) -> Result<(), Failure> {
    match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => check(&file.map_err(|error| failure::on_path("read", path, &error))?, path, overwrite, is_own),
    }
}

fn check(file: &File, path: &Path, overwrite: bool, is_own: impl Fn(&str) -> bool) -> Result<(), Failure> {
    let cannot = |error| failure::on_path("read", path, &error);
    let kind = file.metadata().map_err(cannot)?.file_type();
    if kind.is_block_device() {
        let message = format!("{} is a block device, to which no results are written", path.display());
        return Err(failure::about_path("replace", path, message, "use a file"));
    }
    // Results may well be sent to a pipe or to /dev/null, which have no beginning.
    if overwrite || !kind.is_file() {
        return Ok(());
    }
    let mut begin = Vec::new();
    file.take(CHECKED_BYTES).read_to_end(&mut begin).map_err(cannot)?;
    if begin.is_empty() || is_own(&String::from_utf8_lossy(&begin)) {
        return Ok(());
    }
    let message = format!("{} exists and does not contain results of this kind: not overwritten", path.display());
    Err(failure::about_path("replace", path, message, SAY_OVERWRITE))
}

/// True for the content of a status file: a number.
pub fn is_number(text: &str) -> bool {
    text.trim().parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_results_of_its_kind_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("status");
        let create = |overwrite| create(&path, overwrite, is_number);
        create(false).unwrap();
        for (text, replaced) in [("", true), ("17\n", true), ("a thesis", false)] {
            fs::write(&path, text).unwrap();
            assert_eq!(create(false).is_ok(), replaced, "{text:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), if replaced { "" } else { text });
        }
        create(true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        may_replace(Path::new("/dev/null"), false, is_number).unwrap();
    }
}
