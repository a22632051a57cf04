//! mdtest's options, with what each sets, and what a command line asks for.
//!
//! Not here: what follows from it ([`super::translate`]).

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use crate::common::usage;
use crate::options::{self, Bound, holds_anyway};
use crate::packet::Packet;

type GivenOption = options::GivenOption<Parameters>;

/// What `-h` begins with.
pub const SYNOPSIS: &str = "mdtest: create, stat, read and remove many directories and files";

const NO_DUMMY: &str = "the storage API null has no delays; use -a DUMMY alone to measure the engine's own cost";
const NO_OTHER_API: &str = "mdtest supports only POSIX and DUMMY; leave it out";
const NO_GPU: &str = "GPU memory is not supported; leave it out";
const NO_COMMANDS: &str = "commands between phases are not supported; use separate commands with -C, -T, -E and -r, \
                           and run it between them";

/// Every option of mdtest 4.1, those of all its modules, and those that only some builds of it have.
pub(crate) const OPTIONS: &[Bound<Parameters>] = &[
    Bound::same("-C", None, "create files and directories; skip phases that are not requested", |to, given| {
        given.set_flag(&mut to.create)
    }),
    Bound::same("-T", None, "stat files and directories", |to, given| given.set_flag(&mut to.stat)),
    Bound::same("-E", None, "read files", |to, given| given.set_flag(&mut to.read)),
    Bound::better(
        "-r",
        None,
        "remove files and directories, including those of an earlier command",
        "other files in the directory are not touched, and are named if they prevent its removal",
        |to, given| given.set_flag(&mut to.remove),
    ),
    Bound::better(
        "-U",
        None,
        "rename directories",
        "each is renamed within its parent directory, and has its old name again at the end",
        |to, given| given.set_flag(&mut to.rename),
    ),
    Bound::same("-D", None, "directories only", |to, given| given.set_flag(&mut to.directories)),
    Bound::same("-F", None, "files only", |to, given| given.set_flag(&mut to.files)),
    Bound::same("-k", None, "create files with mknod", |to, given| given.set_flag(&mut to.mknod)),
    Bound::same("-L", None, "create items only in the leaves of the tree", |to, given| {
        given.set_flag(&mut to.leaves_only)
    }),
    Bound::same("-P", None, "print rates and times", |to, given| given.set_flag(&mut to.rates_and_times)),
    Bound::same("--print-all-procs", None, "print the results of every rank", |to, given| {
        given.set_flag(&mut to.every_rank)
    }),
    Bound::better(
        "-R",
        None,
        "stat and read in random order",
        "the random order needs no memory, however many items there are",
        |to, given| given.set_flag(&mut to.random),
    ),
    Bound::better(
        "-S",
        None,
        "all ranks access the same files",
        "the removal rate counts each removed file once, not once per rank",
        |to, given| given.set_flag(&mut to.shared_items),
    ),
    Bound::refused(
        "-c",
        None,
        "only rank 0 creates items",
        "each rank creates its own items; use --ranks 1 and more items to measure a single rank",
    ),
    Bound::same(
        "-t",
        None,
        "include the time to change into each rank's directory (none: paths are absolute)",
        |to, given| given.set_flag(&mut to.enters_directories),
    ),
    Bound::same("-u", None, "a separate directory for each rank", |to, given| given.set_flag(&mut to.unique)),
    Bound::same("-v", None, "increase verbosity; may be repeated", more_verbose),
    Bound::better(
        "-X, --verify-read",
        None,
        "verify the data read",
        "stops at the first wrong byte and reports it, instead of counting files at the end",
        |to, given| given.set_flag(&mut to.verify_read),
    ),
    Bound::better(
        "--verify-write",
        None,
        "read back and verify the data after each write",
        "stops at the first wrong byte and reports it, instead of counting files at the end",
        |to, given| given.set_flag(&mut to.verify_write),
    ),
    Bound::same("-y", None, "fsync each file after writing it (-w)", |to, given| given.set_flag(&mut to.fsync)),
    Bound::same("-Y", None, "sync after each phase, within its time", |to, given| given.set_flag(&mut to.sync)),
    Bound::same("-Z", None, "print times instead of rates", |to, given| given.set_flag(&mut to.times)),
    Bound::better(
        "--warningAsErrors",
        None,
        "treat warnings as errors",
        "every failure is an error even without it",
        holds_anyway,
    ),
    Bound::same("--showRankStatistics", None, "print the best, worst and mean rank too", |to, given| {
        given.set_flag(&mut to.rank_statistics)
    }),
    Bound::same("-a", Some("API"), "API: POSIX, or DUMMY (the storage API null, which does no I/O)", set_api),
    Bound::same("-b", Some("N"), "branching factor of the tree: subdirectories per directory (1)", |to, given| {
        given.set_number(&mut to.branch)
    }),
    Bound::better(
        "-d",
        Some("DIR[@DIR...]"),
        "directories for the trees; several are distributed over the ranks (./out)",
        "an existing tree is refused before anything is written, and never removed as if it were ours",
        set_paths,
    ),
    Bound::refused(
        "-B",
        Some("N"),
        "no barriers between phases",
        "phases would overlap, and mdtest 4.1 itself refuses it; leave it out",
    ),
    Bound::same("-e", Some("SIZE"), "bytes to read from each file (0)", |to, given| given.set_size(&mut to.read_bytes)),
    Bound::same("-f", Some("N"), "the first number of tasks, with -l (1)", |to, given| {
        given.set_number(&mut to.first_tasks)
    }),
    Bound::same("-G", Some("N"), "signature of the data; -1 uses the time (-1)", |to, given| {
        given.set_number(&mut to.signature)
    }),
    Bound::same("-i", Some("N"), "iterations (1)", |to, given| given.set_number(&mut to.iterations)),
    Bound::same("-I", Some("N"), "items in each directory of the tree (0)", |to, given| {
        given.set_size(&mut to.items_per_directory)
    }),
    Bound::same("-l", Some("N"), "the last number of tasks (all)", |to, given| given.set_number(&mut to.last_tasks)),
    Bound::better(
        "-n",
        Some("N"),
        "items of each rank; with -I, as many trees as needed",
        "with -I and -z, rates count the items of all directories of a tree, not of one",
        |to, given| given.set_size(&mut to.items),
    ),
    Bound::better(
        "-N",
        Some("N"),
        "shift: each phase accesses the items of the rank this many further on (0)",
        "with -u it also works for trees with several levels",
        |to, given| given.set_number(&mut to.shift),
    ),
    Bound::same("-p", Some("SECONDS"), "pause before directory and file tests (0)", |to, given| {
        given.set_number(&mut to.delay_s)
    }),
    Bound::same("--random-seed", Some("N"), "seed of -R, which it implies", |to, given| given.set_number(&mut to.seed)),
    Bound::same("-s", Some("N"), "step of the number of tasks from -f to -l (1)", |to, given| {
        given.set_number(&mut to.step_tasks)
    }),
    Bound::same("-V", Some("N"), "verbosity level (0)", |to, given| given.set_number(&mut to.verbosity)),
    Bound::same("-w", Some("SIZE"), "bytes to write into each file (0)", |to, given| {
        given.set_size(&mut to.write_bytes)
    }),
    Bound::better(
        "-W",
        Some("SECONDS"),
        "stonewall of file creation; then every rank creates as many files as the fastest had",
        "it also works for trees with branches",
        |to, given| given.set_number(&mut to.stonewall_s),
    ),
    Bound::same(
        "-x",
        Some("FILE"),
        "file in which -C with -W stores the number of files per rank for later commands",
        |to, given| given.set_text(&mut to.status_file),
    ),
    Bound::same("-z", Some("N"), "depth of the tree: levels below its root (0)", |to, given| {
        given.set_number(&mut to.depth)
    }),
    Bound::same(
        "--dataPacketType",
        Some("TYPE"),
        "content of the data: timestamp, offset, incompressible, random (t)",
        set_packet,
    ),
    Bound::refused("--run-cmd-before-phase", Some("COMMAND"), "command to run before each phase", NO_COMMANDS),
    Bound::refused("--run-cmd-after-phase", Some("COMMAND"), "command to run after each phase", NO_COMMANDS),
    Bound::same(
        "--saveRankPerformanceDetails",
        Some("FILE"),
        "file for the results of every rank, as CSV",
        |to, given| given.set_text(&mut to.rank_details),
    ),
    Bound::refused(
        "--savePerOpDataCSV",
        Some("PREFIX"),
        "file for each operation of each rank, as CSV",
        "writing them would disturb the measurement; use --run DIR, which stores histograms of all latencies and a \
         sample per second and rank",
    ),
    Bound::same(
        "--posix.odirect",
        None,
        "use O_DIRECT; the file system decides which sizes it accepts",
        |to, given| given.set_flag(&mut to.direct),
    ),
    Bound::ignored(
        "--posix.gpfs.createsharing",
        None,
        "GPFS hint",
        "the engine does not use GPFS hints; the items created are the same",
    ),
    Bound::refused(
        "--posix.rangelocks",
        None,
        "lock the byte ranges read or written",
        "small files have a single reader or writer; use a study with `lock` on a shared file to measure locks",
    ),
    Bound::refused("--dummy.delay-only-rank0", None, "delay only rank 0 of DUMMY", NO_DUMMY),
    Bound::refused("--dummy.delay-create", Some("USEC"), "delay of each create of DUMMY", NO_DUMMY),
    Bound::refused("--dummy.delay-close", Some("USEC"), "delay of each close of DUMMY", NO_DUMMY),
    Bound::refused("--dummy.delay-sync", Some("USEC"), "delay of each sync of DUMMY", NO_DUMMY),
    Bound::refused("--dummy.delay-xfer", Some("USEC"), "delay of each transfer of DUMMY", NO_DUMMY),
    Bound::refused("--mpiio.showHints", None, "show MPI-IO hints", NO_OTHER_API),
    Bound::refused("--mpiio.preallocate", None, "preallocate files", NO_OTHER_API),
    Bound::refused("--mpiio.useStridedDatatype", None, "access strided data through a datatype", NO_OTHER_API),
    Bound::refused("--mpiio.useFileView", None, "use a file view", NO_OTHER_API),
    Bound::refused("--mpiio.hintsFileName", Some("FILE"), "MPI-IO hints", NO_OTHER_API),
    Bound::refused("--mmap.madv_dont_need", None, "madvise for mapped files", NO_OTHER_API),
    Bound::refused("--mmap.madv_pattern", None, "madvise for mapped files", NO_OTHER_API),
    Bound::refused(
        "-g",
        None,
        "use Lustre's default directory layout",
        "only mdtest built with Lustre has it; run `lfs setdirstripe -D -c -1 DIR` beforehand",
    ),
    Bound::refused("--allocateBufferOnGPU", Some("N"), "allocate buffers in GPU memory", NO_GPU),
    Bound::refused("--GPUid", Some("N"), "GPU to use", NO_GPU),
    Bound::refused("--gpuDirect", None, "GPUDirect", NO_GPU),
];

/// What a command line asks for, as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "so many flags it has")]
pub struct Parameters {
    /// `-C`
    pub create: bool,
    /// `-T`
    pub stat: bool,
    /// `-E`
    pub read: bool,
    /// `-U`
    pub rename: bool,
    /// `-r`
    pub remove: bool,
    /// `-D`
    pub directories: bool,
    /// `-F`
    pub files: bool,
    /// `-k`
    pub mknod: bool,
    /// `-L`
    pub leaves_only: bool,
    /// `-S`
    pub shared_items: bool,
    /// `-u`
    pub unique: bool,
    /// `-X`
    pub verify_read: bool,
    /// `--verify-write`
    pub verify_write: bool,
    /// `-y`
    pub fsync: bool,
    /// `-Y`
    pub sync: bool,
    /// `--posix.odirect`
    pub direct: bool,
    /// `-a DUMMY`
    pub dummy: bool,
    /// `-P`
    pub rates_and_times: bool,
    /// `-Z`
    pub times: bool,
    /// `--print-all-procs`
    pub every_rank: bool,
    /// `--showRankStatistics`
    pub rank_statistics: bool,
    /// `-v`, `-V`
    pub verbosity: u32,
    /// `-b`
    pub branch: u32,
    /// `-z`
    pub depth: u32,
    /// `-d`
    pub paths: Vec<String>,
    /// `-n`
    pub items: u64,
    /// `-I`
    pub items_per_directory: u64,
    /// `-w`
    pub write_bytes: u64,
    /// `-e`
    pub read_bytes: u64,
    /// `-G`
    pub signature: i32,
    /// `--dataPacketType`, where it was given.
    pub packet_type: Option<Packet>,
    /// `-i`
    pub iterations: u32,
    /// `-f`
    pub first_tasks: u32,
    /// `-l`; 0: all.
    pub last_tasks: u32,
    /// `-s`
    pub step_tasks: u32,
    /// `-N`
    pub shift: u32,
    /// `-p`
    pub delay_s: u32,
    /// `-R`
    pub random: bool,
    /// `--random-seed`; 0: none.
    pub seed: u32,
    /// `-W`; 0: none.
    pub stonewall_s: u32,
    /// `-x`
    pub status_file: Option<PathBuf>,
    /// `--saveRankPerformanceDetails`
    pub rank_details: Option<PathBuf>,
    /// `-a`, as it was typed.
    pub api: String,
    /// `-t`
    pub enters_directories: bool,
    /// What is to be said of options that change nothing.
    pub warnings: Vec<String>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            create: false,
            stat: false,
            read: false,
            rename: false,
            remove: false,
            directories: false,
            files: false,
            mknod: false,
            leaves_only: false,
            shared_items: false,
            unique: false,
            verify_read: false,
            verify_write: false,
            fsync: false,
            sync: false,
            direct: false,
            dummy: false,
            rates_and_times: false,
            times: false,
            every_rank: false,
            rank_statistics: false,
            verbosity: 0,
            branch: 1,
            depth: 0,
            paths: vec!["./out".to_owned()],
            items: 0,
            items_per_directory: 0,
            write_bytes: 0,
            read_bytes: 0,
            signature: -1,
            packet_type: None,
            iterations: 1,
            first_tasks: 1,
            last_tasks: 0,
            step_tasks: 1,
            shift: 0,
            delay_s: 0,
            random: false,
            seed: 0,
            stonewall_s: 0,
            status_file: None,
            rank_details: None,
            api: "POSIX".to_owned(),
            enters_directories: false,
            warnings: Vec::new(),
        }
    }
}

/// What `arguments` ask for, those after mdtest's name.
///
/// # Errors
/// If mdtest has no such option, if ours refuses it, or if a value is none.
pub fn parse(arguments: &[String]) -> Result<Parameters, Failure> {
    let mut parameters = Parameters::default();
    for given in options::parse("mdtest", OPTIONS, arguments)? {
        parameters.warnings.extend(given.warning());
        given.set(&mut parameters)?;
    }
    Ok(parameters)
}

fn more_verbose(to: &mut Parameters, given: &GivenOption) -> Result<(), Failure> {
    let times = if given.value.is_some() { given.number()? } else { 1 };
    to.verbosity = to.verbosity.saturating_add(times);
    Ok(())
}

fn set_packet(to: &mut Parameters, given: &GivenOption) -> Result<(), Failure> {
    let packet = Packet::of_letter(given.text()).ok_or_else(|| {
        let remedy = "use timestamp, offset, incompressible or random";
        usage(format!("--dataPacketType {:?} is not a packet type", given.text()), remedy)
    })?;
    to.packet_type = Some(packet);
    Ok(())
}

fn set_api(to: &mut Parameters, given: &GivenOption) -> Result<(), Failure> {
    let api = given.text();
    to.dummy = match api.to_ascii_uppercase().as_str() {
        "POSIX" => false,
        "DUMMY" => true,
        _ => return Err(usage(format!("-a {api:?} is refused: mdtest supports only POSIX and DUMMY"), "use -a POSIX")),
    };
    api.clone_into(&mut to.api);
    Ok(())
}

fn set_paths(to: &mut Parameters, given: &GivenOption) -> Result<(), Failure> {
    to.paths = given.text().split('@').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    if to.paths.is_empty() { Err(usage("-d has no directory", "write -d DIR")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Verdict, known};

    fn asked(line: &str) -> Result<Parameters, Failure> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_taken_as_the_original_takes_them() {
        let given = asked("-Fuv -n 1k -I=3 -z2 --verify-read -w 3901 -G=560292102 -d a@b -T=0 -V 2 -a posix").unwrap();
        let expected = Parameters {
            files: true,
            unique: true,
            verbosity: 2,
            items: 1024,
            items_per_directory: 3,
            depth: 2,
            verify_read: true,
            write_bytes: 3901,
            signature: 560_292_102,
            paths: vec!["a".into(), "b".into()],
            api: "posix".into(),
            ..Parameters::default()
        };
        assert_eq!(given, expected);
    }

    #[test]
    fn every_option_is_either_set_or_refused_by_its_name_with_what_to_take_instead() {
        for option in known(OPTIONS) {
            let value = match option.name {
                "-a" => "POSIX",
                "-d" => "dir",
                "--dataPacketType" => "offset",
                _ => "7",
            };
            for spelling in option.spellings() {
                let line = if option.value.is_some() { format!("{spelling} {value}") } else { spelling.to_owned() };
                match (option.verdict, asked(&line)) {
                    (Verdict::Refused(_), Err(failure)) => {
                        assert!(failure.message.contains(spelling), "{failure:?}");
                        assert!(failure.remedy.len() > 5, "{failure:?}");
                    }
                    (Verdict::Same | Verdict::Better(_) | Verdict::Ignored(_), Ok(_)) => {}
                    (_, other) => panic!("{spelling}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for line in [
            "-w 1.5g",
            "-w 100x",
            "-n",
            "-n five",
            "--foo",
            "-q",
            "somewhere",
            "-",
            "-b -1",
            "-a MPIIO",
            "-d @",
            "--dataPacketType x",
            "-i 1.5",
        ] {
            assert!(asked(line).is_err(), "{line}");
        }
        assert!(asked("-B 0 -c=0").is_ok(), "what is switched off changes nothing");
        assert!(asked("-B 1").unwrap_err().message.contains("-B"));
    }
}
