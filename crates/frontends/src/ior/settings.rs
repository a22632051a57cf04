//! What a test of IOR is, and what else options and directives set.
//!
//! Not here: how they are spelt ([`super::options`]), and which of them contradict each other ([`super::parameters`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::Failure;

use super::hints;
use crate::common::usage;
use crate::packet::Packet;

/// How results are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// A table for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// A line for each phase.
    Csv,
}

/// IOR's APIs, as far as there are storage APIs for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// System calls.
    Posix,
    /// Asynchronous ones.
    Aio,
    /// Mapped files.
    Mmap,
    /// Nothing at all.
    Dummy,
    /// MPI-IO.
    MpiIo,
    /// Parallel HDF5.
    Hdf5,
    /// PnetCDF.
    Ncmpi,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Posix, Self::Aio, Self::Mmap, Self::Dummy, Self::MpiIo, Self::Hdf5, Self::Ncmpi];

    /// Its name in IOR.
    pub fn name(self) -> &'static str {
        match self {
            Self::Posix => "POSIX",
            Self::Aio => "AIO",
            Self::Mmap => "MMAP",
            Self::Dummy => "DUMMY",
            Self::MpiIo => "MPIIO",
            Self::Hdf5 => "HDF5",
            Self::Ncmpi => "NCMPI",
        }
    }

    /// The storage API that does as it does.
    pub fn storage_api(self) -> &'static str {
        match self {
            Self::Posix => "posix",
            Self::Aio => "uring",
            Self::Mmap => "mmap",
            Self::Dummy => "null",
            Self::MpiIo => "mpiio",
            Self::Hdf5 => "hdf5",
            Self::Ncmpi => "pnetcdf",
        }
    }

    /// True if its ranks are MPI processes; its storage API is a plug-in then.
    pub fn is_over_mpi(self) -> bool {
        matches!(self, Self::MpiIo | Self::Hdf5 | Self::Ncmpi)
    }

    /// The plug-in that is it, where it is one.
    pub fn plug_in(self) -> Option<&'static str> {
        self.is_over_mpi().then(|| self.storage_api())
    }

    /// True if it knows direct I/O.
    pub fn goes_past_the_cache(self) -> bool {
        matches!(self, Self::Posix | Self::Aio | Self::Mmap)
    }

    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if let Some(api) = Self::ALL.into_iter().find(|api| api.name().eq_ignore_ascii_case(text)) {
            return Ok(api);
        }
        let remedy = match text.to_ascii_uppercase().as_str() {
            "S3-LIBS3" | "S3-4C" | "S3_PLUS" | "S3_EMC" | "S3" | "HDFS" => {
                "use a study with a URL as its target: ioassay run STUDY --target s3://…"
            }
            _ => "use one of POSIX, AIO, MMAP, DUMMY, MPIIO, HDF5, NCMPI",
        };
        Err(usage(format!("-a {text} is not supported"), remedy))
    }
}

/// What `-z` says of the offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Random {
    /// They ascend.
    No,
    /// Once: the transfers of a segment are shuffled.
    Shuffled,
    /// Twice: blocks are drawn with repetition from the whole file.
    Drawn,
}

impl Random {
    /// How often `-z` was given, as IOR counts it.
    pub fn times(self) -> u32 {
        self as u32
    }

    /// What `-z` given so often says.
    pub(super) fn of(times: i64) -> Self {
        match times {
            ..=0 => Self::No,
            1 => Self::Shuffled,
            2.. => Self::Drawn,
        }
    }

    /// True if the offsets do not ascend.
    pub fn is_random(self) -> bool {
        self != Self::No
    }
}

/// One test. Names and defaults are IOR's.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// `-a`.
    pub api: Api,
    /// The same as it was typed, which is how IOR prints it.
    pub typed_api: String,
    /// `-A`.
    pub reference: i64,
    /// `-b`, in bytes.
    pub block_bytes: u64,
    /// `-C`.
    pub reorder: bool,
    /// `-d`, in seconds.
    pub delay_s: u64,
    /// `-D`, in seconds; 0: none.
    pub deadline_s: u64,
    /// `-O stoneWallingWearOut`.
    pub wear_out: bool,
    /// `-O stoneWallingWearOutIterations`; 0: no limit.
    pub iterations: u64,
    /// `-O stoneWallingStatusFile`.
    pub status_file: Option<PathBuf>,
    /// `-O minTimeDuration`, in seconds.
    pub least_s: u64,
    /// `-e`.
    pub fsync: bool,
    /// `-E`.
    pub use_existing: bool,
    /// `-F`.
    pub file_per_process: bool,
    /// `-g`.
    pub barriers: bool,
    /// `-G`; 0: the time.
    pub signature: i32,
    /// `-i`.
    pub repetitions: u32,
    /// `-j`, in seconds; 0: none.
    pub outlier_s: u64,
    /// `-k`.
    pub keep: bool,
    /// `-K`.
    pub keep_with_error: bool,
    /// `-l`, where it was given.
    pub packet_type: Option<Packet>,
    /// `-m`.
    pub multi_file: bool,
    /// `-M`, in bytes.
    pub memory_per_node: u64,
    /// `-O memoryPerTask`, in bytes.
    pub memory_per_task: u64,
    /// `-N`.
    pub tasks: Option<u32>,
    /// `-o`.
    pub file: String,
    /// `-Q`.
    pub offset: u32,
    /// `-r`.
    pub read: bool,
    /// `-R`.
    pub check_read: bool,
    /// `-s`.
    pub segments: u64,
    /// `-t`, in bytes.
    pub transfer_bytes: u64,
    /// `-T`, in minutes; 0: no limit.
    pub most_minutes: u64,
    /// `-u`.
    pub unique_directory: bool,
    /// `-v`.
    pub verbose: u32,
    /// `-w`.
    pub write: bool,
    /// `-W`.
    pub check_write: bool,
    /// `-X`.
    pub reorder_seed: i32,
    /// `-Y`.
    pub fsync_per_write: bool,
    /// `-z`.
    pub random: Random,
    /// `--randomPrefill`, in bytes; 0: none.
    pub prefill_bytes: u64,
    /// `--random-offset-seed`; -1: the time.
    pub random_seed: i32,
    /// `-Z`: 0, 1, 2.
    pub reorder_random: u32,
    /// `--warningAsErrors`.
    pub warnings_are_errors: bool,
    /// `--dryRun`.
    pub dry_run: bool,
    /// `-O interIODelay`, in microseconds.
    pub io_delay_us: u64,
    /// `-O summaryAlways`.
    pub summary_always: bool,
    /// `-O saveRankPerformanceDetailsCSV`.
    pub rank_details: Option<PathBuf>,
    /// `-O platform`.
    pub platform: Option<String>,
    /// `-O debug`.
    pub debug: Option<String>,
    /// `--posix.odirect`.
    pub direct: bool,
    /// `--posix.rangelocks`.
    pub range_locks: bool,
    /// `--aio.max-pending`.
    pub in_flight: u32,
    /// `--aio.granularity`.
    pub batch: u32,
    /// `--mmap.madv_dont_need`.
    pub advise_dont_need: bool,
    /// `--mmap.madv_pattern`.
    pub advise_pattern: bool,
    /// `--dummy.delay-xfer`, in microseconds.
    pub dummy_delay_us: u64,
    /// `-c`.
    pub collective: bool,
    /// `-p`.
    pub preallocate: bool,
    /// `-S`.
    pub strided: bool,
    /// Options of the plug-in, each with the API that it belongs to.
    pub plug_in_options: BTreeMap<String, (Api, String)>,
    /// The library of the plug-in, once it has been looked for.
    pub plug_in: Option<PathBuf>,
}

impl Test {
    /// What the files hold. IOR's own default is the same in every transfer of a rank, and what moved within a file would
    /// pass its verification: where this command both writes and verifies, and no other one can know the signature, the
    /// default differs by position.
    pub fn packet(&self) -> Packet {
        let verifies_its_own = self.write && (self.check_read || self.check_write) && self.signature == 0;
        self.packet_type.unwrap_or(if verifies_its_own { Packet::Offset } else { Packet::Timestamp })
    }

    /// Sets an option of the plug-in for `api`.
    pub(super) fn give(&mut self, api: Api, key: &str, value: &str) {
        self.plug_in_options.insert(key.to_owned(), (api, value.to_owned()));
    }

    /// The same of an option that is on or off.
    pub(super) fn switch(&mut self, api: Api, key: &str, on: bool) {
        self.give(api, key, if on { "yes" } else { "no" });
    }

    /// Gives the plug-in for `api` the hints in `file`.
    pub(super) fn give_hints(&mut self, api: Api, file: &Path) -> Result<(), Failure> {
        for (name, value) in hints::in_file(file)? {
            self.give(api, &format!("hints.{name}"), &value);
        }
        Ok(())
    }
}

impl Default for Test {
    fn default() -> Self {
        Self {
            api: Api::Posix,
            typed_api: Api::Posix.name().to_owned(),
            reference: 0,
            block_bytes: 1 << 20,
            reorder: false,
            delay_s: 0,
            deadline_s: 0,
            wear_out: false,
            iterations: 0,
            status_file: None,
            least_s: 0,
            fsync: false,
            use_existing: false,
            file_per_process: false,
            barriers: false,
            signature: 0,
            repetitions: 1,
            outlier_s: 0,
            keep: false,
            keep_with_error: false,
            packet_type: None,
            multi_file: false,
            memory_per_node: 0,
            memory_per_task: 0,
            tasks: None,
            file: "testFile".to_owned(),
            offset: 1,
            read: false,
            check_read: false,
            segments: 1,
            transfer_bytes: 256 << 10,
            most_minutes: 0,
            unique_directory: false,
            verbose: 0,
            write: false,
            check_write: false,
            reorder_seed: 0,
            fsync_per_write: false,
            random: Random::No,
            prefill_bytes: 0,
            random_seed: -1,
            reorder_random: 0,
            warnings_are_errors: false,
            dry_run: false,
            io_delay_us: 0,
            summary_always: false,
            rank_details: None,
            platform: None,
            debug: None,
            direct: false,
            range_locks: false,
            in_flight: 128,
            batch: 16,
            advise_dont_need: false,
            advise_pattern: false,
            dummy_delay_us: 0,
            collective: false,
            preallocate: false,
            strided: false,
            plug_in_options: BTreeMap::new(),
            plug_in: None,
        }
    }
}

/// What options and directives set: those of a test, and what all tests of the command have in common.
#[derive(Default)]
pub(crate) struct Settings {
    /// The test to which the next option belongs.
    pub test: Test,
    /// `-O summaryFile`.
    pub summary_file: Option<PathBuf>,
    /// `-O summaryFormat`.
    pub format: Format,
    /// `-f`.
    pub script: Option<PathBuf>,
    /// What is to be said of options that change nothing.
    pub warnings: Vec<String>,
}
