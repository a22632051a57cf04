//! The library that joins the engine with the site's MPI: built by the site's `mpicc`, at first use by itself, and kept.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ioassay_protocol::events::Failure;

use super::launcher::Launcher;
use crate::compiled::{Cache, Source};
use crate::failure;

/// Where it is kept among what is compiled.
const KIND: &str = "mpi";

/// How long others wait for the first process to build it.
const BUILDING: Duration = Duration::from_secs(60);

/// The library that `compiler` builds.
pub fn source(compiler: &str) -> Source<'_> {
    Source {
        name: "ioassay-mpi",
        files: &[
            ("ioassay_mpi.c", include_str!("../../../../plugins/mpi/ioassay_mpi.c")),
            ("ioassay_mpi.h", include_str!("../../../../plugins/mpi/ioassay_mpi.h")),
        ],
        compiler,
        arguments: &[],
        remedy: "load the MPI of the site (module load), install its compiler (Debian: libopenmpi-dev or \
                 libmpich-dev; RHEL: openmpi-devel or mpich-devel), or name it with --compiler",
    }
}

/// Where such libraries are kept.
///
/// # Errors
/// If there is no place for them.
pub fn cache() -> Result<Cache, Failure> {
    Cache::of_environment(KIND)
}

/// The library for the `mpicc` in `PATH`, built if need be: by the first of those that the launcher has started.
///
/// # Errors
/// If there is no `mpicc`, or it cannot build.
pub fn of_this_site(launcher: &Launcher) -> Result<PathBuf, Failure> {
    let (cache, source) = (cache()?, source("mpicc"));
    if launcher.rank.is_none_or(|rank| rank == 0) {
        return source.find_or_build(&cache);
    }
    let begin = Instant::now();
    loop {
        if let Some(library) = source.find(&cache)? {
            return Ok(library);
        }
        if begin.elapsed() > BUILDING {
            let message = "the first process did not build the MPI connector, or its cache is not visible on this node";
            let remedy = "build it beforehand: ioassay mpi build, with IOASSAY_CACHE set to a directory shared by all \
                          nodes";
            return Err(failure::plain("load MPI", message.to_owned(), remedy));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
