//! Files that are read again and again, into memory that is kept between them.
//!
//! Not here: files that are read once, which need no such care (`crate::text`).

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// No file that is read here should come near it; one that does is left out, so that memory stays bounded.
const MOST_BYTES: u64 = 16 << 20;

/// The files below a root.
#[derive(Debug)]
pub struct Files {
    /// `/`, or what a test has made.
    pub root: PathBuf,
    buffer: Vec<u8>,
}

impl Files {
    /// Those below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), buffer: Vec::new() }
    }

    /// What is in the file `name` below the root. `None` where it cannot be read as a whole.
    pub fn read(&mut self, name: &str) -> Option<Cow<'_, str>> {
        self.read_path(&self.root.join(name))
    }

    /// What is in the file at `path`, which was found below the root.
    pub fn read_path(&mut self, path: &Path) -> Option<Cow<'_, str>> {
        self.buffer.clear();
        let file = File::open(path).ok()?;
        let bytes = file.take(MOST_BYTES).read_to_end(&mut self.buffer).ok()?;
        ((bytes as u64) < MOST_BYTES).then(|| String::from_utf8_lossy(&self.buffer))
    }
}

/// The number that `word` is, in units of `unit`. `None` for what is no number, or too large a one.
pub fn number(word: Option<&str>, unit: u64) -> Option<u64> {
    word?.parse::<u64>().ok()?.checked_mul(unit)
}
