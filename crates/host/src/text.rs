//! Short files below a root: what /proc and /sys tell, or a tree that a test has made of them.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is in the file `name` below `root`, without the white space around it. `None` where there is nothing to read.
pub fn text(root: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(name)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The number in the file `name` below `root`.
pub fn number(root: &Path, name: &str) -> Option<u64> {
    text(root, name)?.parse().ok()
}

/// The entries of the directory `name` below `root` with their names, in the order in which people count: `node2` before
/// `node10`.
pub fn entries(root: &Path, name: &str) -> Vec<(String, PathBuf)> {
    listed(root, name).unwrap_or_default()
}

/// The same, or why the directory cannot be read.
pub fn listed(root: &Path, name: &str) -> io::Result<Vec<(String, PathBuf)>> {
    let listed = fs::read_dir(root.join(name))?.flatten();
    let mut named: Vec<_> =
        listed.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
    named.sort_by_key(|(name, _)| {
        (name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned(), name.len(), name.clone())
    });
    Ok(named)
}

/// The choice among words of which one stands in brackets: `always [madvise] never`. Else the text as it is.
pub fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(chosen, _)| chosen)
}

/// Files for a test, by their names below a new directory.
#[cfg(test)]
pub fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}
