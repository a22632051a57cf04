//! The plug-ins that come with the engine: their sources, and how each is compiled on the site.
//!
//! Not here: running the compiler ([`crate::compiled`]), loading what it made.

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use crate::compiled::{Cache, Source, on_path};

/// The header that every plug-in includes.
pub const HEADER: (&str, &str) =
    ("ioassay_storage.h", include_str!("../../../../../plugins/storage/ioassay_storage.h"));

const MPI_FILES: (&str, &str) = ("mpi_files.h", include_str!("../../../../../plugins/storage/mpi_files.h"));

/// A plug-in that comes with the engine.
#[derive(Debug)]
pub struct Shipped {
    /// What plans call it.
    pub name: &'static str,
    /// The compilers that can make it; the first that is here does.
    pub compilers: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
    remedy: &'static str,
}

/// All of them.
pub static SHIPPED: [Shipped; 6] = [
    Shipped {
        name: "mpiio",
        compilers: MPI,
        files: &[("mpiio.c", include_str!("../../../../../plugins/storage/mpiio.c")), HEADER, MPI_FILES],
        arguments: &[],
        remedy: "load the site's MPI module, or install libopenmpi-dev (Debian) or openmpi-devel (RHEL); --compiler \
                 selects another mpicc",
    },
    Shipped {
        name: "hdf5",
        compilers: &["h5pcc", "h5pcc.openmpi", "h5pcc.mpich"],
        files: &[("hdf5.c", include_str!("../../../../../plugins/storage/hdf5.c")), HEADER, MPI_FILES],
        // The static library is not made for libraries to be linked with.
        arguments: &["-shlib"],
        remedy: "load the site's parallel HDF5 module, or install libhdf5-openmpi-dev (Debian) or hdf5-openmpi-devel \
                 (RHEL); --compiler selects another h5pcc",
    },
    Shipped {
        name: "pnetcdf",
        compilers: MPI,
        files: &[("pnetcdf.c", include_str!("../../../../../plugins/storage/pnetcdf.c")), HEADER, MPI_FILES],
        arguments: &["-lpnetcdf"],
        remedy: "load the site's MPI and PnetCDF modules, or install libpnetcdf-dev (Debian) or pnetcdf-openmpi-devel \
                 (RHEL); if PnetCDF is elsewhere, add -- -IDIR/include -LDIR/lib -Wl,-rpath,DIR/lib",
    },
    Shipped {
        name: "gpu",
        compilers: CC,
        files: &[("gpu.c", include_str!("../../../../../plugins/storage/gpu.c")), HEADER],
        arguments: &["-lpthread"],
        remedy: "load the site's CUDA module and add -- -IDIR/include -LDIR/lib64 -Wl,-rpath,DIR/lib64 -lcufile \
                 -lcudart; for AMD see the guide on storage plug-ins",
    },
    Shipped {
        name: "null-plugin",
        compilers: CC,
        files: &[("null.c", include_str!("../../../../../plugins/storage/null.c")), HEADER],
        arguments: &[],
        remedy: INSTALL_CC,
    },
    Shipped {
        name: "skeleton-plugin",
        compilers: CC,
        files: &[("skeleton.c", include_str!("../../../../../plugins/storage/skeleton.c")), HEADER],
        arguments: &[],
        remedy: INSTALL_CC,
    },
];

const MPI: &[&str] = &["mpicc", "mpicc.openmpi", "mpicc.mpich"];
/// What compiles a plug-in that needs nothing.
pub const CC: &[&str] = &["cc", "gcc", "clang"];
const INSTALL_CC: &str = "install gcc (Debian, RHEL), or name a compiler with --compiler";

/// The first of `compilers` that is here; where none is, the first.
pub fn compiler<'a>(compilers: &[&'a str]) -> &'a str {
    compilers.iter().find(|name| on_path(name).is_some()).unwrap_or(&compilers[0])
}

/// The plug-in of the engine's that is called `name`.
pub fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

impl Shipped {
    /// How it is compiled by `compiler`.
    pub fn source(&self, compiler: &'static str) -> Source<'static> {
        let Self { name, files, arguments, remedy, .. } = *self;
        Source { name, files, compiler, arguments, remedy }
    }
}

/// Where plug-ins are kept.
///
/// # Errors
/// If there is no such place.
pub fn cache() -> Result<Cache, Failure> {
    Cache::of_environment("api")
}

/// The plug-in called `name`, if it is built: one of the engine's by the compiler that is here today; where that is not
/// here, as on compute nodes, or the plug-in is the user's, the newest of that name.
///
/// # Errors
/// If others may change what lies in the cache.
pub fn built(cache: &Cache, name: &str) -> Result<Option<PathBuf>, Failure> {
    if let Some(shipped) = shipped(name)
        && shipped.compilers.iter().any(|compiler| on_path(compiler).is_some())
    {
        let exact = shipped.source(compiler(shipped.compilers)).find(cache)?;
        if exact.is_some() {
            return Ok(exact);
        }
    }
    Ok(cache.built()?.into_iter().find(|built| built.name == name).map(|built| built.path))
}
