//! The directory that keeps what was compiled.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ioassay_protocol::events::Failure;
use nix::unistd::mkdtemp;

use super::trusted;
use crate::failure;

/// A directory of compiled libraries, `NAME-HASH.so`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: PathBuf,
}

/// A library in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// When it was built.
    pub built: SystemTime,
}

impl Cache {
    /// The one for `kind`: a directory of that name in `$IOASSAY_CACHE`, else `$XDG_CACHE_HOME/ioassay`, else
    /// `~/.cache/ioassay`.
    ///
    /// # Errors
    /// If none of these is set.
    pub fn of_environment(kind: &str) -> Result<Self, Failure> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = set("IOASSAY_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|caches| caches.join("ioassay")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/ioassay")))
            .and_then(|directory| std::path::absolute(directory).ok());
        let nowhere = || {
            let message = "there is no directory for compiled libraries: HOME is not set".to_owned();
            failure::plain("compile", message, "set IOASSAY_CACHE to a directory shared by all nodes")
        };
        directory.map(|directory| Self::in_directory(directory.join(kind))).ok_or_else(nowhere)
    }

    /// The one in `directory`, which is created when something is built.
    pub fn in_directory(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Where the library `name` lies that has this `hash`.
    pub(super) fn place(&self, name: &str, hash: &str) -> PathBuf {
        self.directory.join(format!("{name}-{hash}.so"))
    }

    /// `place`, if a library is there.
    pub(super) fn holds(&self, place: &Path) -> Result<Option<PathBuf>, Failure> {
        if !place.exists() {
            return Ok(None);
        }
        self.is_ours()?;
        Ok(Some(place.to_owned()))
    }

    /// All that it holds, the newest first.
    ///
    /// # Errors
    /// If it cannot be read, or others may change what lies there. A directory that is not there holds nothing.
    pub fn built(&self) -> Result<Vec<Built>, Failure> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| self.cannot("list", &error))?,
        };
        self.is_ours()?;
        let mut built: Vec<Built> = entries.flatten().filter_map(|entry| library(&entry)).collect();
        built.sort_by(|first, other| other.built.cmp(&first.built).then_with(|| first.path.cmp(&other.path)));
        Ok(built)
    }

    /// A directory for one build, within the cache, so that what it makes can be put in place by renaming it.
    pub(super) fn workbench(&self) -> Result<Workbench, Failure> {
        // What is loaded from here runs as who runs the engine: nobody else may write there.
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&self.directory)
            .map_err(|error| self.cannot("create", &error))?;
        self.is_ours()?;
        let scratch = mkdtemp(&self.directory.join("build-XXXXXX"));
        scratch.map(Workbench).map_err(|errno| self.cannot("create a directory in", &errno.into()))
    }

    /// An error if another user may put code there that is then run.
    fn is_ours(&self) -> Result<(), Failure> {
        trusted::check_directory(&self.directory).map_err(|error| failure::on_path("look at", &self.directory, &error))
    }

    fn cannot(&self, operation: &str, error: &io::Error) -> Failure {
        let remedy = "set IOASSAY_CACHE to a writable directory shared by all nodes".to_owned();
        Failure { remedy, ..failure::on_path(operation, &self.directory, error) }
    }
}

fn library(entry: &fs::DirEntry) -> Option<Built> {
    let file = entry.file_name();
    let (name, _) = file.to_str()?.strip_suffix(".so")?.rsplit_once('-')?;
    let built = entry.metadata().and_then(|about| about.modified()).ok()?;
    Some(Built { name: name.to_owned(), path: entry.path(), built })
}

/// A directory for one build; it is removed with all that is still in it.
pub(super) struct Workbench(PathBuf);

impl Workbench {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_cache_that_is_not_there_holds_nothing_and_what_is_no_library_is_not_listed() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Cache::in_directory(directory.path().join("missing")).built(), Ok(Vec::new()));
        for name in ["two-words-00ff.so", "notes.txt", "build-abcdef"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let built = Cache::in_directory(directory.path().to_owned()).built().unwrap();
        assert_eq!(built.into_iter().map(|library| library.name).collect::<Vec<_>>(), ["two-words"]);
    }

    #[test]
    fn a_cache_that_others_may_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::in_directory(directory.path().to_owned());
        let place = cache.place("one", "00");
        fs::write(&place, "").unwrap();
        assert_eq!(cache.holds(&place), Ok(Some(place.clone())));
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for failure in [cache.holds(&place).unwrap_err(), cache.built().unwrap_err(), cache.workbench().err().unwrap()]
        {
            assert!(failure.remedy.contains("chmod go-w"), "{}", failure.remedy);
        }
    }
}
