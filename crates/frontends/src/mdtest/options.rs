//! mdtest's options, with what each sets, and what a command line asks for.
//!
//! Not here: what follows from it ([`super::translate`]).

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use crate::common::usage;
use crate::options::{self, Bound, holds_anyway};
use crate::packet::Packet;

type Given = options::Given<Parameters>;

/// What `-h` begins with.
pub const SYNOPSIS: &str = "mdtest: create, stat, read and remove many directories and files";

const NO_DUMMY: &str =
    "the storage API null does nothing, at once; take -a DUMMY alone to see what the engine itself costs";
const NO_MPIIO: &str = "mdtest itself takes only POSIX and DUMMY; leave it out";
const NO_MMAP: &str = "mdtest itself takes only POSIX and DUMMY; leave it out";
const NO_GPU: &str = "buffers are in the memory of the processor; leave it out";
const NO_COMMANDS: &str = "no other program runs between phases; give -C, -T, -E and -r in commands of their own, and run \
                           it between them";

/// Every option of mdtest 4.1, those of all its modules, and those that only some builds of it have.
pub(crate) const OPTIONS: &[Bound<Parameters>] = &[
    Bound::same("-C", None, "create files and directories, and no other phase that is not asked for", |to, given| {
        given.set_flag(&mut to.create)
    }),
    Bound::same("-T", None, "stat files and directories", |to, given| given.set_flag(&mut to.stat)),
    Bound::same("-E", None, "read files", |to, given| given.set_flag(&mut to.read)),
    Bound::better(
        "-r",
        None,
        "remove files and directories, also those of an earlier command",
        "what else is in the directory is not touched, and is named where it keeps one from being removed",
        |to, given| given.set_flag(&mut to.remove),
    ),
    Bound::better(
        "-U",
        None,
        "rename directories",
        "each is renamed in its own directory, and has its name again when the command has ended",
        |to, given| given.set_flag(&mut to.rename),
    ),
    Bound::same("-D", None, "directories only", |to, given| given.set_flag(&mut to.directories)),
    Bound::same("-F", None, "files only", |to, given| given.set_flag(&mut to.files)),
    Bound::same("-k", None, "create files with mknod", |to, given| given.set_flag(&mut to.mknod)),
    Bound::same("-L", None, "items only in the leaves of the tree", |to, given| given.set_flag(&mut to.leaves_only)),
    Bound::same("-P", None, "print rates and times", |to, given| given.set_flag(&mut to.rates_and_times)),
    Bound::same("--print-all-procs", None, "print the results of every rank", |to, given| {
        given.set_flag(&mut to.every_rank)
    }),
    Bound::better(
        "-R",
        None,
        "stat and read in random order",
        "items are taken in an order that takes no memory, however many there are",
        |to, given| given.set_flag(&mut to.random),
    ),
    Bound::better(
        "-S",
        None,
        "all ranks share the files of one",
        "the rate of removals counts the files that were removed, not those once for each rank",
        |to, given| given.set_flag(&mut to.shared_items),
    ),
    Bound::refused(
        "-c",
        None,
        "rank 0 creates everything",
        "each rank creates its own items; take --ranks 1 and more items to see what one rank can do",
    ),
    Bound::same(
        "-t",
        None,
        "count what it takes to enter a directory of each rank (nothing: paths are absolute)",
        |to, given| given.set_flag(&mut to.enters_directories),
    ),
    Bound::same("-u", None, "a directory for each rank", |to, given| given.set_flag(&mut to.unique)),
    Bound::same("-v", None, "say more; several of them say still more", more_verbose),
    Bound::better(
        "-X, --verify-read",
        None,
        "compare what was read with what was written",
        "the first wrong byte is named and ends it, instead of a count of files at the end",
        |to, given| given.set_flag(&mut to.verify_read),
    ),
    Bound::better(
        "--verify-write",
        None,
        "compare what was written by reading it back at once",
        "the first wrong byte is named and ends it, instead of a count of files at the end",
        |to, given| given.set_flag(&mut to.verify_write),
    ),
    Bound::same("-y", None, "fsync each file after it was written (-w)", |to, given| given.set_flag(&mut to.fsync)),
    Bound::same("-Y", None, "sync after each phase, in its time", |to, given| given.set_flag(&mut to.sync)),
    Bound::same("-Z", None, "print times instead of rates", |to, given| given.set_flag(&mut to.times)),
    Bound::better(
        "--warningAsErrors",
        None,
        "a warning is an error",
        "every failure is one, also without it",
        holds_anyway,
    ),
    Bound::same("--showRankStatistics", None, "print the best, worst and mean rank too", |to, given| {
        given.set_flag(&mut to.rank_statistics)
    }),
    Bound::same("-a", Some("API"), "POSIX, or DUMMY (the storage API null: nothing is done)", set_api),
    Bound::same("-b", Some("N"), "directories in each directory of the tree that is no leaf (1)", |to, given| {
        given.set_number(&mut to.branch)
    }),
    Bound::better(
        "-d",
        Some("DIR[@DIR...]"),
        "where trees are created, dealt out to the ranks where there are several (./out)",
        "a tree that is there already is refused before anything is written, and never removed for ours",
        set_paths,
    ),
    Bound::refused(
        "-B",
        Some("N"),
        "no barriers between phases",
        "phases would not be what they are called, and mdtest 4.1 itself refuses it; leave it out",
    ),
    Bound::same("-e", Some("SIZE"), "bytes to read from each file (0)", |to, given| given.set_size(&mut to.read_bytes)),
    Bound::same("-f", Some("N"), "the first number of tasks, with -l (1)", |to, given| {
        given.set_number(&mut to.first_tasks)
    }),
    Bound::same("-G", Some("N"), "signature in the data; -1 is the time (-1)", |to, given| {
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
        "items of each rank; with -I as many trees as that takes",
        "with -I and -z rates count the items of all directories of a tree, not of one",
        |to, given| given.set_size(&mut to.items),
    ),
    Bound::better(
        "-N",
        Some("N"),
        "in each phase a rank works on what the rank so many further on created (0)",
        "with -u it also works in trees that are deeper than one directory",
        |to, given| given.set_number(&mut to.shift),
    ),
    Bound::same("-p", Some("SECONDS"), "wait before the directories and before the files (0)", |to, given| {
        given.set_number(&mut to.delay_s)
    }),
    Bound::same("--random-seed", Some("N"), "seed of -R, which it implies", |to, given| given.set_number(&mut to.seed)),
    Bound::same("-s", Some("N"), "from -f to -l in such steps (1)", |to, given| given.set_number(&mut to.step_tasks)),
    Bound::same("-V", Some("N"), "how much to say (0)", |to, given| given.set_number(&mut to.verbosity)),
    Bound::same("-w", Some("SIZE"), "bytes to write into each file (0)", |to, given| {
        given.set_size(&mut to.write_bytes)
    }),
    Bound::better(
        "-W",
        Some("SECONDS"),
        "stonewall of the creation of files, after which every rank creates as many as the fastest had",
        "it also works in trees with branches",
        |to, given| given.set_number(&mut to.stonewall_s),
    ),
    Bound::same(
        "-x",
        Some("FILE"),
        "where -C with -W leaves, and later commands find, how many files each rank has",
        |to, given| given.set_text(&mut to.status_file),
    ),
    Bound::same("-z", Some("N"), "levels of the tree below its root (0)", |to, given| given.set_number(&mut to.depth)),
    Bound::same(
        "--dataPacketType",
        Some("TYPE"),
        "what is written: timestamp, offset, incompressible, random (t)",
        set_packet,
    ),
    Bound::refused("--run-cmd-before-phase", Some("COMMAND"), "a command before each phase", NO_COMMANDS),
    Bound::refused("--run-cmd-after-phase", Some("COMMAND"), "a command after each phase", NO_COMMANDS),
    Bound::same("--saveRankPerformanceDetails", Some("FILE"), "the results of every rank as CSV", |to, given| {
        given.set_text(&mut to.rank_details)
    }),
    Bound::refused(
        "--savePerOpDataCSV",
        Some("PREFIX"),
        "each operation of each rank as CSV",
        "writing them would disturb what is measured; take --run DIR, which keeps histograms of all latencies and a \
         sample per second and rank",
    ),
    Bound::same(
        "--posix.odirect",
        None,
        "go past the page cache; the file system decides what it takes",
        |to, given| given.set_flag(&mut to.direct),
    ),
    Bound::ignored(
        "--posix.gpfs.createsharing",
        None,
        "GPFS hint",
        "the engine gives GPFS no hints; what is created is the same",
    ),
    Bound::refused(
        "--posix.rangelocks",
        None,
        "lock what is read or written",
        "small files have one reader or writer; take a study with `lock` on a shared file to measure locks",
    ),
    Bound::refused("--dummy.delay-only-rank0", None, "DUMMY waits on rank 0 only", NO_DUMMY),
    Bound::refused("--dummy.delay-create", Some("USEC"), "DUMMY waits in each create", NO_DUMMY),
    Bound::refused("--dummy.delay-close", Some("USEC"), "DUMMY waits in each close", NO_DUMMY),
    Bound::refused("--dummy.delay-sync", Some("USEC"), "DUMMY waits in each sync", NO_DUMMY),
    Bound::refused("--dummy.delay-xfer", Some("USEC"), "DUMMY waits in each transfer", NO_DUMMY),
    Bound::refused("--mpiio.showHints", None, "show MPI's hints", NO_MPIIO),
    Bound::refused("--mpiio.preallocate", None, "preallocate files", NO_MPIIO),
    Bound::refused("--mpiio.useStridedDatatype", None, "strides as a datatype", NO_MPIIO),
    Bound::refused("--mpiio.useFileView", None, "use a file view", NO_MPIIO),
    Bound::refused("--mpiio.hintsFileName", Some("FILE"), "MPI's hints", NO_MPIIO),
    Bound::refused("--mmap.madv_dont_need", None, "advice about mapped files", NO_MMAP),
    Bound::refused("--mmap.madv_pattern", None, "advice about mapped files", NO_MMAP),
    Bound::refused(
        "-g",
        None,
        "Lustre: directories of the file system's default layout",
        "only mdtest built against Lustre has it; run `lfs setdirstripe -D -c -1 DIR` before",
    ),
    Bound::refused("--allocateBufferOnGPU", Some("N"), "buffers in the memory of a GPU", NO_GPU),
    Bound::refused("--GPUid", Some("N"), "which GPU", NO_GPU),
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
    /// `--dataPacketType`
    pub packet: Packet,
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
            packet: Packet::Timestamp,
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

fn more_verbose(to: &mut Parameters, given: &Given) -> Result<(), Failure> {
    let times = if given.value.is_some() { given.number()? } else { 1 };
    to.verbosity = to.verbosity.saturating_add(times);
    Ok(())
}

fn set_packet(to: &mut Parameters, given: &Given) -> Result<(), Failure> {
    to.packet = Packet::of_letter(given.text()).ok_or_else(|| {
        let remedy = "take timestamp, offset, incompressible or random";
        usage(format!("--dataPacketType {:?} is no type", given.text()), remedy)
    })?;
    Ok(())
}

fn set_api(to: &mut Parameters, given: &Given) -> Result<(), Failure> {
    let api = given.text();
    to.dummy = match api.to_ascii_uppercase().as_str() {
        "POSIX" => false,
        "DUMMY" => true,
        _ => return Err(usage(format!("-a {api:?} is refused: mdtest takes POSIX and DUMMY"), "take -a POSIX")),
    };
    api.clone_into(&mut to.api);
    Ok(())
}

fn set_paths(to: &mut Parameters, given: &Given) -> Result<(), Failure> {
    to.paths = given.text().split('@').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    if to.paths.is_empty() { Err(usage("-d names no directory", "write -d DIR")) } else { Ok(()) }
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
