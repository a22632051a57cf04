//! Files of results whose place the user names: like the files that are measured, they replace only what a run before
//! has left there.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ioassay_contract::events::Failure;

use crate::failure;

/// As much of a file's beginning as is looked at.
const LOOKED_AT_BYTES: u64 = 4096;

/// Creates the file at `path`, empty.
///
/// # Errors
/// If it cannot be written, or if something is there whose beginning is not `own` and `overwrite` was not said.
pub fn create(path: &Path, overwrite: bool, own: impl Fn(&str) -> bool) -> Result<File, Failure> {
    may_replace(path, overwrite, own)?;
    File::create(path).map_err(|error| failure::on_path("write", path, &error))
}

/// An error if something is at `path` whose beginning is not `own` and `overwrite` was not said.
pub fn may_replace(path: &Path, overwrite: bool, own: impl Fn(&str) -> bool) -> Result<(), Failure> {
    if overwrite || fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let begin = beginning(path).map_err(|error| failure::on_path("read", path, &error))?;
    if begin.is_empty() || own(&begin) {
        return Ok(());
    }
    let message = format!("{} exists and holds no results of this kind: it is not overwritten", path.display());
    Err(failure::about_path("replace", path, message, "name another file, or say --overwrite if it may be lost"))
}

fn beginning(path: &Path) -> io::Result<String> {
    let mut begin = Vec::new();
    // Results may well be sent to a pipe or to /dev/null, which have no beginning.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(String::new());
    }
    file.take(LOOKED_AT_BYTES).read_to_end(&mut begin)?;
    Ok(String::from_utf8_lossy(&begin).into_owned())
}

/// True for the content of a status file: a number.
pub fn is_number(text: &str) -> bool {
    text.trim().parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
