//! The members of an archive, in memory, and how they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

/// Members by their names, which are relative paths with slashes.
#[derive(Debug, Default)]
pub struct Archive {
    /// Contents of files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Targets of symbolic links, each relative to the directory of its link.
    pub links: BTreeMap<String, String>,
    /// Directories that links lead to and that have no files here.
    pub directories: BTreeSet<String>,
}

impl Archive {
    /// Writes the archive: the file `first`, then all other members. All have the time `unix_s`.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, first: (&str, &[u8]), unix_s: u64, out: impl Write) -> io::Result<()> {
        let mut tar = Builder::new(GzEncoder::new(out, Compression::default()));
        let header = |kind: EntryType, mode: u32, bytes: usize| {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(bytes as u64);
            header.set_mtime(unix_s);
            header.set_uid(0);
            header.set_gid(0);
            header
        };
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        for (name, bytes) in std::iter::once(first).chain(files) {
            tar.append_data(&mut header(EntryType::Regular, 0o644, bytes.len()), name, bytes)?;
        }
        for directory in &self.directories {
            tar.append_data(&mut header(EntryType::Directory, 0o755, 0), directory, io::empty())?;
        }
        for (name, target) in &self.links {
            tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), name, target)?;
        }
        tar.into_inner()?.finish()?.flush()
    }
}
