//! What a test of IOR is, from its options, directives and scripts.
//!
//! Not here: files and steps ([`super::translate`]), printing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::Failure;

use super::hints;
use super::options::{DIRECTIVES, OPTIONS};
use crate::common::usage;
use crate::options::{self, Given, find};
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
                "take a study with a URL as its target: ioassay run STUDY --target s3://…"
            }
            _ => "take one of POSIX, AIO, MMAP, DUMMY, MPIIO, HDF5, NCMPI",
        };
        Err(usage(format!("-a {text} is refused"), remedy))
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
    /// `-l`.
    pub packet: Packet,
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
            packet: Packet::Timestamp,
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

/// A command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The tests, one unless a script has more.
    pub tests: Vec<Test>,
    /// `-O summaryFile`.
    pub summary_file: Option<PathBuf>,
    /// `-O summaryFormat`.
    pub format: Format,
    /// What is to be said of options that change nothing.
    pub warnings: Vec<String>,
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
    warnings: Vec<String>,
}

impl Parameters {
    /// The parameters of a command line.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut settings = Settings::default();
        for given in options::parse("ior", OPTIONS, arguments)? {
            settings.take(&given)?;
        }
        let mut tests = match settings.script.take() {
            Some(script) => {
                let text = std::fs::read_to_string(&script)
                    .map_err(|error| usage(format!("-f {}: {error}", script.display()), "name a readable script"))?;
                settings.script_tests(&text)?
            }
            None => vec![settings.test],
        };
        for test in &mut tests {
            if !(test.write || test.read || test.check_write || test.check_read) {
                (test.write, test.read) = (true, true);
            }
            validate(test)?;
            settings.warnings.extend(without_effect(test));
        }
        let Settings { summary_file, format, warnings, .. } = settings;
        Ok(Self { tests, summary_file, format, warnings })
    }
}

/// What is to be said of an option that the API of `test` does not look at.
fn without_effect(test: &Test) -> Option<String> {
    let name = test.api.name();
    let ignored = test.direct && !test.api.goes_past_the_cache();
    ignored.then(|| format!("WARNING: --posix.odirect is ignored: {name} does not look at it"))
}

impl Settings {
    /// Sets what is `given`.
    fn take(&mut self, given: &Given<Self>) -> Result<(), Failure> {
        self.warnings.extend(given.warning());
        given.set(self)
    }

    /// Reads the tests between `IOR START` and `IOR STOP`: directives, and `RUN` after those of each test. A test begins
    /// as the one before it ended.
    fn script_tests(&mut self, text: &str) -> Result<Vec<Test>, Failure> {
        let is = |line: &str, word: &str| line.trim().eq_ignore_ascii_case(word);
        let lines = text.lines().skip_while(|line| !is(line, "ior start")).skip(1).map(str::trim);
        let mut tests = Vec::new();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if is(line, "ior stop") {
                break;
            }
            if is(line, "run") {
                tests.push(self.test.clone());
            } else {
                self.directives(line)?;
            }
        }
        if tests.is_empty() {
            return Err(usage("the script runs no test", "write IOR START, directives, RUN, IOR STOP, each on a line"));
        }
        Ok(tests)
    }

    /// Applies directives with commas between them.
    pub fn directives(&mut self, line: &str) -> Result<(), Failure> {
        let line = line.split('#').next().unwrap_or_default();
        for directive in line.split(',') {
            let Some((name, value)) = directive.split_once('=') else {
                return Err(usage(format!("{directive:?} is no directive"), "write NAME=VALUE"));
            };
            let (name, value) = (name.trim(), value.trim());
            // Those of the APIs are named with their dashes.
            let (option, spelling) = if name.starts_with("--") {
                (find(OPTIONS, name), name.to_owned())
            } else {
                let spelling = format!("-O {name}");
                (DIRECTIVES.iter().find(|directive| directive.is_spelt_in_any_case(&spelling)), spelling)
            };
            let Some(option) = option else {
                let remedy = "see ioassay-engine ior -h for those there are";
                return Err(usage(format!("ior has no directive {name}"), remedy));
            };
            let given = Given { option, spelling, value: Some(value.to_owned()) };
            given.taken()?;
            self.take(&given)?;
        }
        Ok(())
    }
}

/// Refuses what IOR refuses, and what it ought to.
fn validate(test: &Test) -> Result<(), Failure> {
    let refuse = |condition: bool, problem: &str, remedy: &str| {
        if condition { Err(usage(problem, remedy)) } else { Ok(()) }
    };
    refuse(test.repetitions == 0, "-i 0 does nothing", "take -i 1 or more")?;
    refuse(test.tasks == Some(0), "-N 0 does nothing", "take -N 1 or more")?;
    refuse(test.transfer_bytes == 0, "-t 0 never comes to an end", "take a transfer of at least 8 bytes")?;
    refuse(
        !test.transfer_bytes.is_multiple_of(8) || !test.block_bytes.is_multiple_of(8),
        "transfers and blocks are made of words of 8 bytes",
        "take multiples of 8 for -t and -b",
    )?;
    refuse(
        test.block_bytes == 0 || !test.block_bytes.is_multiple_of(test.transfer_bytes),
        "the block (-b) is no multiple of the transfer (-t)",
        "take a multiple",
    )?;
    refuse(test.segments == 0, "-s 0 does nothing", "take -s 1 or more")?;
    refuse(test.reorder && test.reorder_random > 0, "-C and -Z contradict each other", "take one of them")?;
    refuse(
        test.random == Random::Shuffled && test.block_bytes == test.transfer_bytes,
        "-z shuffles the transfers of a block, and this block is one transfer",
        "take a larger -b and fewer segments",
    )?;
    refuse(
        test.random.is_random() && !test.file_per_process && (test.reorder || test.reorder_random > 0),
        "in a shared file -z decides who reads what, and so would -C or -Z",
        "take one of them, or -F",
    )?;
    refuse(
        test.random == Random::Drawn && (test.write || test.check_write || test.check_read),
        "-z -z draws blocks of a file that is there, whoever wrote them: nothing can be written or compared so",
        "read with -r alone; IOR divides by zero when it writes",
    )?;
    refuse(
        test.random == Random::Shuffled && test.check_read && !test.write && test.random_seed == -1,
        "-R cannot know what was written where without the seed of -z",
        "give --random-offset-seed the seed of the write",
    )?;
    refuse(
        !test.random.is_random() && test.prefill_bytes > 0,
        "--randomPrefill without -z writes twice for nothing",
        "add -z",
    )?;
    refuse(
        test.prefill_bytes > 0 && !test.block_bytes.is_multiple_of(test.prefill_bytes),
        "--randomPrefill does not divide the block",
        "take a divisor of -b",
    )?;
    refuse(
        test.check_read && !test.write && test.signature == 0,
        "-R cannot know with which signature the data was written",
        "give the write and the read the same -G",
    )?;
    refuse(
        test.status_file.is_some() && !test.keep,
        "a status file is for reading back in a later command, but the file is not kept",
        "add -k",
    )?;
    refuse(
        test.status_file.is_some() && test.write && !test.wear_out,
        "a status file needs all ranks to end at the same transfer",
        "add -O stoneWallingWearOut=1",
    )?;
    refuse(test.wear_out && test.deadline_s == 0, "stoneWallingWearOut without a stonewall", "add -D SECONDS")?;
    refuse(
        test.collective && test.api.plug_in().is_none(),
        "-c asks for collective transfers, which only MPIIO, HDF5 and NCMPI have",
        "leave it out, or take -a MPIIO",
    )?;
    refuse(
        test.collective && test.deadline_s > 0 && !test.file_per_process,
        "-c with -D: all ranks move each transfer of a shared file together, and a stonewall ends them at different ones",
        "leave out -D or -c, or take -F",
    )?;
    refuse(
        (test.preallocate || test.strided) && test.api != Api::MpiIo,
        "--mpiio.preallocate and --mpiio.useStridedDatatype are for MPI-IO",
        "leave them out, or take -a MPIIO",
    )?;
    for (key, (api, _)) in &test.plug_in_options {
        let problem = format!("an option for {} ({key}) with -a {}", api.name(), test.api.name());
        refuse(*api != test.api, &problem, &format!("leave it out, or take -a {}", api.name()))?;
    }
    refuse(
        test.strided && test.block_bytes != test.transfer_bytes,
        "a strided datatype moves one block of each segment with a call, and the block (-b) has several transfers",
        "take -b as large as -t, and more segments",
    )?;
    refuse(
        test.strided && test.plug_in_options.contains_key("view"),
        "a file view (-V) and a strided datatype (-S) lay out the file in two ways",
        "take one of them",
    )?;
    let names = test.file.split('@').count();
    refuse(
        names > 1 && test.unique_directory,
        "several names and a directory for each file (-u) do not go together",
        "take one of them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Known, Verdict, known};

    fn parse(line: &str) -> Result<Parameters, Failure> {
        Parameters::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn test(line: &str) -> Test {
        parse(line).unwrap().tests.remove(0)
    }

    #[test]
    fn flags_stand_together_and_values_follow_in_any_way() {
        let expected = Test { write: true, keep: true, file_per_process: true, verbose: 2, ..Test::default() };
        assert_eq!(test("-wkF -vv"), expected);
        for line in ["-w -b 4m", "-w -b4m", "-w -b=4m", "-w -O blockSize=4m", "-w -O BLOCKSIZE=4m,verbose=0"] {
            assert_eq!(test(line), Test { write: true, block_bytes: 4 << 20, ..Test::default() }, "{line}");
        }
        assert_eq!(test("-w -X -5 -ZZ").reorder_seed, -5);
        assert_eq!(test("-w -X -5 -ZZ").reorder_random, 2);
    }

    #[test]
    fn without_an_action_it_writes_and_reads() {
        assert!(test("-t 1m -b 1m").write && test("-t 1m -b 1m").read);
        assert!(!test("-w").read && !test("-R -G 3").write);
    }

    #[test]
    fn sizes_that_ior_misreads_are_refused() {
        for size in ["1.5g", "100x", "-5", "m", "1e6", ""] {
            let failure = Parameters::parse(&["-b".to_owned(), size.to_owned()]).unwrap_err();
            assert!(failure.message.contains("-b"), "{size}: {failure:?}");
        }
    }

    #[test]
    fn an_api_keeps_its_spelling_and_what_it_does_not_look_at_is_warned_of() {
        let plain = parse("-a posix --posix.odirect").unwrap();
        assert_eq!((plain.tests[0].typed_api.as_str(), plain.warnings), ("posix", vec![]));
        let other = parse("-a mpiio --posix.odirect").unwrap();
        assert_eq!((other.tests[0].typed_api.as_str(), other.warnings.len()), ("mpiio", 1));
        assert!(other.warnings[0].contains("MPIIO does not look at it"), "{:?}", other.warnings);
    }

    #[test]
    fn a_script_runs_its_tests_each_from_where_the_one_before_ended() {
        let script = "junk before\nIOR START\n  api=POSIX, blockSize=1m # a comment\n\n# another\nRUN\n\
                      transferSize=64k\nrun\nRUN\nIOR STOP\nafter=ignored\n";
        let tests = Settings::default().script_tests(script).unwrap();
        let sizes: Vec<_> = tests.iter().map(|test| (test.block_bytes, test.transfer_bytes)).collect();
        assert_eq!(sizes, [(1 << 20, 256 << 10), (1 << 20, 64 << 10), (1 << 20, 64 << 10)]);
        assert!(Settings::default().script_tests("IOR START\nwriteFile=1\nIOR STOP").is_err());
    }

    #[test]
    fn an_option_with_two_spellings_is_set_by_each_of_them_also_as_a_directive() {
        for line in ["-w -a MPIIO -p", "-w -a MPIIO --mpiio.preallocate", "-w -a MPIIO -O --mpiio.preallocate=1"] {
            assert!(test(line).preallocate, "{line}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_a_remedy() {
        for line in [
            "-t 3",
            "-t 1m -b 1536k",
            "-C -Z",
            "-z -b 1m -t 1m",
            "-z -C",
            "-r -R",
            "-w -O stoneWallingWearOut=1",
            "-w -D 1 -O stoneWallingWearOut=1,stoneWallingStatusFile=s",
            "-u -o a@b -F",
            "-i 0",
            "-s 0",
            "-zz",
            "-z -z -r -R -G 1 --random-offset-seed 3",
            "-r -z -z -C",
            "-r -R -G 1 -z -b 4m",
            "--randomPrefill 1m",
            "-w -c",
            "-w -c -D 3 -a MPIIO",
            "-w -p",
            "-w -S -b 256k",
            "-w -V",
            "-w -a HDF5 -V",
            "-w -a MPIIO -S -t 1m -b 2m",
            "-w -a MPIIO -S -V -t 1m -b 1m",
        ] {
            let failure = parse(line).unwrap_err();
            assert!(!failure.remedy.is_empty(), "{line}");
        }
    }

    /// A command line that gives one option, with a value that every kind of value takes.
    fn with(option: &Known, spelling: &str) -> Vec<String> {
        let value = match option.value {
            Some("SIZE") if spelling.ends_with("Prefill") => Some("1m"),
            Some("SIZE") => Some("2m"),
            Some("API") => Some("MMAP"),
            Some("FILE") if spelling.contains("hints") || spelling == "-U" => Some("/dev/null"),
            Some("TYPE") => Some("o"),
            Some("default|JSON|CSV") => Some("CSV"),
            Some(_) => Some("1"),
            None => None,
        };
        let base = ["-w", "-k", "-D", "1", "-O", "stoneWallingWearOut=1", "-b", "4m"].map(str::to_owned);
        let option = match spelling.strip_prefix("-O ") {
            Some(name) => vec!["-O".to_owned(), format!("{name}={}", value.unwrap_or("1"))],
            None => std::iter::once(spelling).chain(value).map(str::to_owned).collect(),
        };
        let random = spelling.contains("Prefill").then(|| "-z".to_owned());
        let api = match spelling.trim_start_matches("-O ") {
            "-S" => &["-a", "MPIIO", "-t", "4m"][..],
            // In files of their own, which a stonewall may end at different transfers.
            "-c" | "--collective" | "collective" => &["-a", "MPIIO", "-F"],
            "-p" | "-V" | "-U" => &["-a", "MPIIO"],
            name if name.ends_with("Datatype") => &["-a", "MPIIO", "-t", "4m"],
            name if name.starts_with("--mpiio") => &["-a", "MPIIO"],
            name if name.starts_with("--hdf5") || matches!(name, "-J" | "-n") => &["-a", "HDF5"],
            name if name.starts_with("--ncmpi") => &["-a", "NCMPI"],
            _ => &[],
        };
        let api = api.iter().map(|word| (*word).to_owned());
        base.into_iter().chain(random).chain(api).chain(option).collect()
    }

    #[test]
    fn every_option_of_the_table_is_taken_or_refused_by_its_name_as_the_table_says() {
        for option in known(OPTIONS).iter().chain(&known(DIRECTIVES)) {
            // A script that is there, help that ends, and directives that need one, are tried elsewhere.
            for spelling in option.spellings().filter(|name| !matches!(*name, "-f" | "-O" | "-h" | "--help")) {
                let parsed = Parameters::parse(&with(option, spelling));
                match option.verdict {
                    Verdict::Refused(_) => {
                        let failure = parsed.unwrap_err();
                        assert!(failure.message.contains(spelling), "{spelling}: {}", failure.message);
                    }
                    Verdict::Same | Verdict::Better(_) | Verdict::Ignored(_) => {
                        assert!(parsed.is_ok(), "{spelling}: {parsed:?}");
                    }
                }
            }
        }
    }
}
