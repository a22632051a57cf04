//! `ioassay-engine mpi`: builds what joins the engine with the site's MPI, and says what there is.
//!
//! Not here: exiting, parsing arguments, speaking MPI.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use ioassay_protocol::events::Failure;
use serde::{Deserialize, Serialize};

use crate::command;
use crate::exit::Exit;
use crate::launched::{library_name, shim};

/// Builds the library for the MPI of `compiler` and prints where it is.
pub fn build(compiler: &str, force: bool) -> Exit {
    match built(compiler, force) {
        Ok(path) => command::print(&format!("{}\n", path.display())),
        Err(failure) => Exit::could_not_run(failure),
    }
}

fn built(compiler: &str, force: bool) -> Result<PathBuf, Failure> {
    let (cache, source) = (shim::cache()?, shim::source(compiler));
    if force { source.build(&cache) } else { source.find_or_build(&cache) }
}

/// A library that was built.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    path: PathBuf,
    /// What the MPI calls itself; `null` where the library cannot be loaded.
    library: Option<String>,
    /// Why it cannot.
    problem: Option<String>,
    /// When it was built, in seconds since 1970.
    built_unix_s: u64,
}

/// Prints the libraries that were built, the newest first, or `only` one of them.
pub fn list(as_json: bool, only: Option<&Path>) -> Exit {
    let built = match shim::cache().and_then(|cache| cache.built()) {
        Ok(built) => built,
        Err(failure) => return Exit::could_not_run(failure),
    };
    let listed: Vec<Listed> = built
        .into_iter()
        .filter(|built| only.is_none_or(|only| built.path == only))
        .map(|built| {
            let name = if only.is_some() { library_name(&built.path) } else { name_from_child(&built.path) };
            let since = built.built.duration_since(UNIX_EPOCH).unwrap_or_default();
            let problem = name.as_ref().err().map(ToString::to_string);
            Listed { path: built.path, library: name.ok(), problem, built_unix_s: since.as_secs() }
        })
        .collect();
    command::print(&if as_json {
        serde_json::to_string_pretty(&listed).expect("our own types are JSON") + "\n"
    } else if listed.is_empty() {
        "no connector is built yet; `ioassay mpi build` builds one, and so does the first run\n".to_owned()
    } else {
        listed.iter().map(text).collect()
    })
}

fn text(listed: &Listed) -> String {
    let says = listed.library.as_ref().or(listed.problem.as_ref()).map_or("", String::as_str);
    format!("{}\n  {says}\n", listed.path.display())
}

/// The name of an MPI, asked in another process: two MPIs whose libraries share a name cannot be distinguished in
/// one process.
fn name_from_child(library: &Path) -> io::Result<String> {
    let mut other = Command::new(std::env::current_exe()?);
    let asked = other.args(["mpi", "list", "--json", "--only"]).arg(library).stdin(Stdio::null());
    let listed: Vec<Listed> = serde_json::from_slice(&asked.output()?.stdout)?;
    let listed = listed.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
    listed.library.ok_or_else(|| io::Error::other(listed.problem.unwrap_or_default()))
}
