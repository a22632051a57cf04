//! Every option and directive of IOR 4.1, with what it sets.
//!
//! Not here: what a test is ([`super::settings`]), and which options contradict each other ([`super::parameters`]).

use std::path::Path;

use ioassay_host::memory;
use ioassay_protocol::events::Failure;

use super::settings::{Api, Format, Random, Settings};
use crate::common::usage;
use crate::options::{Bound, holds_anyway, setter_of};
use crate::packet::Packet;

type Given = crate::options::Given<Settings>;

const SIZES: &str = "1.5g and 100x are errors and not 1 and 100";
const GPU: &str = "data stays in the processor's memory; leave it out";
const STRIPE: &str = "striping belongs to the directory; lfs setstripe -c COUNT -S SIZE DIRECTORY before";
const HINTS: &str = "a hint that was given and is not in effect is named also without it";
const GPFS: &str = "the engine gives GPFS no hints; what is written and read is the same";
const LINES: &str = "a line that is no hint is an error";
const NETCDF: &str = "PnetCDF has no such call; leave it out";
const ONE_DATASET: &str = "a file has one dataset here; leave it out";

/// The options of the command line.
pub(crate) const OPTIONS: &[Bound<Settings>] = &[
    Bound::same(
        "-a",
        Some("API"),
        "POSIX, AIO, MMAP, DUMMY, or over MPI (mpirun ioassay-engine ior …) MPIIO, HDF5, NCMPI",
        set_api,
    ),
    Bound::same("-A", Some("N"), "reference number, repeated in the summary", |to, given| {
        given.set_number(&mut to.test.reference)
    }),
    Bound::better("-b", Some("SIZE"), "block: contiguous bytes of a rank", SIZES, |to, given| {
        given.set_size(&mut to.test.block_bytes)
    }),
    Bound::better(
        "-c, --collective",
        None,
        "collective transfers, with MPIIO, HDF5 and NCMPI",
        "what would let ranks wait for each other for ever (-D with a shared file) is refused",
        |to, given| given.set_flag(&mut to.test.collective),
    ),
    Bound::better(
        "-C",
        None,
        "each rank reads what one on the next node wrote",
        "on one node, where it changes nothing, it says so",
        |to, given| given.set_flag(&mut to.test.reorder),
    ),
    Bound::same("-d", Some("SECONDS"), "pause before each write and each read", |to, given| {
        given.set_number(&mut to.test.delay_s)
    }),
    Bound::same("-D", Some("SECONDS"), "stonewall: stop writing or reading after this time", |to, given| {
        given.set_number(&mut to.test.deadline_s)
    }),
    Bound::better("-e", None, "fsync at the end of the write phase", "a failed fsync fails the phase", |to, given| {
        given.set_flag(&mut to.test.fsync)
    }),
    Bound::same("-E", None, "write into the existing file instead of removing it before", |to, given| {
        given.set_flag(&mut to.test.use_existing)
    }),
    Bound::same("-f", Some("FILE"), "script of tests", |to, given| given.set_text(&mut to.script)),
    Bound::same("-F", None, "a file for each rank", |to, given| given.set_flag(&mut to.test.file_per_process)),
    Bound::same("-g", None, "barriers between open, write or read, and close", |to, given| {
        given.set_flag(&mut to.test.barriers)
    }),
    Bound::same("-G", Some("N"), "signature of the data", |to, given| given.set_number(&mut to.test.signature)),
    Bound::same("-h, --help", None, "this text", holds_anyway),
    Bound::same("-i", Some("N"), "repetitions", |to, given| given.set_number(&mut to.test.repetitions)),
    Bound::same("-j", Some("SECONDS"), "name ranks whose times are so far from the mean", |to, given| {
        given.set_number(&mut to.test.outlier_s)
    }),
    Bound::same("-k", None, "keep the files", |to, given| given.set_flag(&mut to.test.keep)),
    Bound::same("-K", None, "keep the files if the data is wrong", |to, given| {
        given.set_flag(&mut to.test.keep_with_error)
    }),
    Bound::same(
        "-l, --dataPacketType",
        Some("TYPE"),
        "data: timestamp, offset, incompressible or random (or t, o, i, r)",
        set_packet,
    ),
    Bound::same("-m", None, "files of their own for each repetition", |to, given| {
        given.set_flag(&mut to.test.multi_file)
    }),
    Bound::same("-M", Some("SIZE"), "memory to take on the node (2g, 75%)", set_memory_per_node),
    Bound::same("-N", Some("N"), "ranks that take part", |to, given| {
        given.number().map(|tasks| to.test.tasks = Some(tasks))
    }),
    Bound::better(
        "-o",
        Some("FILE"),
        "the file, or several with @ between them",
        "it is not removed if neither ioassay nor IOR wrote it (--overwrite)",
        set_file,
    ),
    Bound::same("-O", Some("NAME=VALUE,…"), "directives", |to, given| to.directives(given.text())),
    Bound::same("-Q", Some("N"), "how far -C and -Z move", |to, given| given.set_number(&mut to.test.offset)),
    Bound::better("-r", None, "read", "what the page cache held before is measured and said", |to, given| {
        given.set_flag(&mut to.test.read)
    }),
    Bound::better(
        "-R",
        None,
        "compare what is read",
        "the first wrong byte is named with its offset, and memory does not grow (hpc/ior#249)",
        |to, given| given.set_flag(&mut to.test.check_read),
    ),
    Bound::same("-s", Some("N"), "segments", |to, given| given.set_size(&mut to.test.segments)),
    Bound::better("-t", Some("SIZE"), "transfer: bytes of one call", SIZES, |to, given| {
        given.set_size(&mut to.test.transfer_bytes)
    }),
    Bound::same("-T", Some("MINUTES"), "begin no repetition after this time", |to, given| {
        given.set_number(&mut to.test.most_minutes)
    }),
    Bound::same("-u", None, "a directory for each file of -F", |to, given| {
        given.set_flag(&mut to.test.unique_directory)
    }),
    Bound::same("-v", None, "say more; several say even more", more_verbose),
    Bound::same("-w", None, "write", |to, given| given.set_flag(&mut to.test.write)),
    Bound::better(
        "-W",
        None,
        "read back and compare after the write",
        "the first wrong byte is named with its offset",
        |to, given| given.set_flag(&mut to.test.check_write),
    ),
    Bound::refused(
        "-x",
        None,
        "no second call for a short transfer",
        "what is left of a short transfer is moved, and a doubt counts them; leave it out",
    ),
    Bound::same("-X", Some("N"), "seed of -Z", |to, given| given.set_number(&mut to.test.reorder_seed)),
    Bound::refused(
        "-y",
        None,
        "a mount point for each socket",
        "sockets are not told apart; give the mount points with -o A@B and -F",
    ),
    Bound::same("-Y", None, "fsync after each write", |to, given| given.set_flag(&mut to.test.fsync_per_write)),
    Bound::better(
        "-z",
        None,
        "random order of the transfers; twice: blocks of the file drawn with repetition",
        "to write with -z -z, which divides by zero in IOR, is refused",
        set_random,
    ),
    Bound::same("-Z", None, "ranks read the parts of others by chance; -ZZ: each part once", set_reorder_random),
    Bound::same(
        "--randomPrefill",
        Some("SIZE"),
        "write the file in blocks of this size before -z writes it",
        |to, given| given.set_size(&mut to.test.prefill_bytes),
    ),
    Bound::same("--random-offset-seed", Some("N"), "seed of -z", |to, given| {
        given.set_number(&mut to.test.random_seed)
    }),
    Bound::same("--warningAsErrors", None, "take warnings for errors: here, doubts", |to, given| {
        given.set_flag(&mut to.test.warnings_are_errors)
    }),
    Bound::same("--dryRun", None, "everything but I/O", |to, given| given.set_flag(&mut to.test.dry_run)),
    Bound::refused("--gpuDirect", None, "move data from and to a GPU", GPU),
    Bound::same(
        "--posix.odirect",
        None,
        "go past the page cache; the file system decides what it takes",
        |to, given| given.set_flag(&mut to.test.direct),
    ),
    Bound::same("--posix.rangelocks", None, "lock the bytes of each transfer", |to, given| {
        given.set_flag(&mut to.test.range_locks)
    }),
    Bound::refused("--posix.lustre.stripecount", Some("N"), "stripes of the file", STRIPE),
    Bound::refused("--posix.lustre.stripesize", Some("SIZE"), "size of a stripe", STRIPE),
    Bound::refused(
        "--posix.lustre.startost",
        Some("N"),
        "first OST of the file",
        "striping belongs to the directory; lfs setstripe -i OST DIRECTORY before",
    ),
    Bound::refused(
        "--posix.lustre.pool",
        Some("POOL"),
        "pool of OSTs",
        "striping belongs to the directory; lfs setstripe -p POOL DIRECTORY before",
    ),
    Bound::refused(
        "--posix.lustre.ignorelocks",
        None,
        "no locks of the client",
        "the locks are part of what applications get; leave it out",
    ),
    Bound::refused(
        "--posix.beegfs.NumTargets",
        Some("N"),
        "targets of the file",
        "striping belongs to the directory; beegfs-ctl --setpattern on it before",
    ),
    Bound::refused(
        "--posix.beegfs.ChunkSize",
        Some("SIZE"),
        "chunk of the file",
        "striping belongs to the directory; beegfs-ctl --setpattern on it before",
    ),
    Bound::ignored("--posix.gpfs.hintaccess", None, "tell GPFS which bytes come", GPFS),
    Bound::ignored("--posix.gpfs.releasetoken", None, "give the token back after open", GPFS),
    Bound::ignored("--posix.gpfs.finegrainwritesharing", None, "GPFS hint", GPFS),
    Bound::ignored("--posix.gpfs.finegrainreadsharing", None, "GPFS hint", GPFS),
    Bound::ignored("--posix.gpfs.createsharing", None, "GPFS hint", GPFS),
    Bound::same("--aio.max-pending", Some("N"), "transfers in flight (by io_uring)", |to, given| {
        given.set_number(&mut to.test.in_flight)
    }),
    Bound::same("--aio.granularity", Some("N"), "transfers handed over together", |to, given| {
        given.set_number(&mut to.test.batch)
    }),
    Bound::same("--mmap.madv_dont_need", None, "madvise(MADV_DONTNEED) after the file is mapped", |to, given| {
        given.set_flag(&mut to.test.advise_dont_need)
    }),
    Bound::same("--mmap.madv_pattern", None, "madvise the order, random or sequential", |to, given| {
        given.set_flag(&mut to.test.advise_pattern)
    }),
    Bound::same("--dummy.delay-xfer", Some("MICROSECONDS"), "pause after each transfer", |to, given| {
        given.set_number(&mut to.test.dummy_delay_us)
    }),
    Bound::refused(
        "--dummy.delay-create",
        Some("MICROSECONDS"),
        "pause in create",
        "only transfers can be delayed; take --dummy.delay-xfer",
    ),
    Bound::refused(
        "--dummy.delay-close",
        Some("MICROSECONDS"),
        "pause in close",
        "only transfers can be delayed; take --dummy.delay-xfer",
    ),
    Bound::refused(
        "--dummy.delay-sync",
        Some("MICROSECONDS"),
        "pause in fsync",
        "only transfers can be delayed; take --dummy.delay-xfer",
    ),
    Bound::refused("--dummy.delay-only-rank0", None, "only rank 0 pauses", "all ranks pause alike; leave it out"),
    Bound::better("--mpiio.showHints", None, "print the hints in effect", HINTS, |to, given| {
        given.flag().map(|on| to.test.switch(Api::MpiIo, "show_hints", on))
    }),
    Bound::same("-p, --mpiio.preallocate", None, "allocate the file before it is written", |to, given| {
        given.set_flag(&mut to.test.preallocate)
    }),
    Bound::same(
        "-S, --mpiio.useStridedDatatype",
        None,
        "one call moves a rank's blocks of all segments; -b must be as large as -t",
        |to, given| given.set_flag(&mut to.test.strided),
    ),
    Bound::same(
        "-V, --mpiio.useFileView",
        None,
        "each rank sees its own blocks through MPI_File_set_view",
        |to, given| given.flag().map(|on| to.test.switch(Api::MpiIo, "view", on)),
    ),
    Bound::better(
        "-U, --mpiio.hintsFileName",
        Some("FILE"),
        "hints to MPI-IO: lines IOR_HINT__MPI__NAME=VALUE",
        LINES,
        |to, given| to.test.give_hints(Api::MpiIo, Path::new(given.text())),
    ),
    Bound::better(
        "--hdf5.hintsFileName",
        Some("FILE"),
        "hints to MPI-IO: lines IOR_HINT__MPI__NAME=VALUE",
        LINES,
        |to, given| to.test.give_hints(Api::Hdf5, Path::new(given.text())),
    ),
    Bound::better("--hdf5.showHints", None, "print the hints in effect", HINTS, |to, given| {
        given.flag().map(|on| to.test.switch(Api::Hdf5, "show_hints", on))
    }),
    Bound::same("--hdf5.collectiveMetadata", None, "read and write metadata collectively", |to, given| {
        given.flag().map(|on| to.test.switch(Api::Hdf5, "collective_metadata", on))
    }),
    Bound::refused(
        "--hdf5.chunkSize",
        None,
        "chunks of the dataset",
        "take a study with storage: {api: hdf5, options: {chunk: SIZE}}",
    ),
    Bound::same("-J, --hdf5.setAlignment", Some("SIZE"), "objects begin at multiples of this size", |to, given| {
        given.size().map(|bytes| to.test.give(Api::Hdf5, "alignment", &bytes.to_string()))
    }),
    Bound::refused("-I, --hdf5.individualDataSets", None, "a dataset for each rank", ONE_DATASET),
    Bound::same("-n, --hdf5.noFill", None, "no fill values, which are never written here", holds_anyway),
    Bound::better(
        "--ncmpi.hintsFileName",
        Some("FILE"),
        "hints to MPI-IO: lines IOR_HINT__MPI__NAME=VALUE",
        LINES,
        |to, given| to.test.give_hints(Api::Ncmpi, Path::new(given.text())),
    ),
    Bound::better("--ncmpi.showHints", None, "print the hints in effect", HINTS, |to, given| {
        given.flag().map(|on| to.test.switch(Api::Ncmpi, "show_hints", on))
    }),
    Bound::refused("--ncmpi.preallocate", None, "allocate the file before it is written", NETCDF),
    Bound::refused("--ncmpi.useStridedDatatype", None, "strided access as a datatype", NETCDF),
    Bound::refused("--ncmpi.useFileView", None, "MPI_File_set_view", NETCDF),
];

/// A directive that is another name of an option.
macro_rules! alias {
    ($directive:literal, $value:literal, $option:literal) => {
        Bound::same($directive, Some($value), concat!("as ", $option), setter_of(OPTIONS, $option))
    };
}

/// The directives of `-O` and of scripts. They are told apart without regard to capitals.
pub(crate) const DIRECTIVES: &[Bound<Settings>] = &[
    alias!("-O api", "API", "-a"),
    alias!("-O refnum", "N", "-A"),
    Bound::same("-O debug", Some("TEXT"), "a text at the beginning of the output", |to, given| {
        given.set_text(&mut to.test.debug)
    }),
    Bound::same("-O platform", Some("TEXT"), "name of the platform in the output", |to, given| {
        given.set_text(&mut to.test.platform)
    }),
    alias!("-O testFile", "FILE", "-o"),
    Bound::refused(
        "-O dualMount",
        Some("0|1"),
        "as -y",
        "sockets are not told apart; give the mount points with -o A@B and -F",
    ),
    Bound::refused("-O allocateBufferOnGPU", Some("N"), "buffers on a GPU", GPU),
    Bound::refused("-O GPUid", Some("N"), "which GPU", GPU),
    Bound::refused("-O GPUDirect", Some("0|1"), "move data from and to a GPU", GPU),
    alias!("-O deadlineForStonewalling", "SECONDS", "-D"),
    Bound::same(
        "-O stoneWallingWearOut",
        Some("0|1"),
        "after the stonewall go on until all have done what the fastest had",
        |to, given| given.set_flag(&mut to.test.wear_out),
    ),
    Bound::same("-O stoneWallingWearOutIterations", Some("N"), "transfers of each rank", |to, given| {
        given.set_number(&mut to.test.iterations)
    }),
    Bound::same(
        "-O stoneWallingStatusFile",
        Some("FILE"),
        "keeps the number of transfers for a later read",
        |to, given| given.set_text(&mut to.test.status_file),
    ),
    alias!("-O maxTimeDuration", "MINUTES", "-T"),
    Bound::same("-O minTimeDuration", Some("SECONDS"), "begin again until this time is over", |to, given| {
        given.set_number(&mut to.test.least_s)
    }),
    alias!("-O outlierThreshold", "SECONDS", "-j"),
    Bound::refused("-O numNodes", Some("N"), "nodes, other than there are", "nodes are counted; leave it out"),
    alias!("-O numTasks", "N", "-N"),
    Bound::refused("-O numTasksOnNode0", Some("N"), "ranks of the first node", "they are counted; leave it out"),
    alias!("-O repetitions", "N", "-i"),
    alias!("-O intertestdelay", "SECONDS", "-d"),
    Bound::same("-O interIODelay", Some("MICROSECONDS"), "pause after each transfer", |to, given| {
        given.set_number(&mut to.test.io_delay_us)
    }),
    alias!("-O readFile", "0|1", "-r"),
    alias!("-O writeFile", "0|1", "-w"),
    alias!("-O filePerProc", "0|1", "-F"),
    alias!("-O taskPerNodeOffset", "N", "-Q"),
    alias!("-O reorderTasksConstant", "0|1", "-C"),
    alias!("-O reorderTasks", "0|1", "-C"),
    alias!("-O reorderTasksRandom", "0|1|2", "-Z"),
    alias!("-O reorderTasksRandomSeed", "N", "-X"),
    alias!("-O checkWrite", "0|1", "-W"),
    alias!("-O checkRead", "0|1", "-R"),
    alias!("-O keepFile", "0|1", "-k"),
    alias!("-O keepFileWithError", "0|1", "-K"),
    alias!("-O multiFile", "0|1", "-m"),
    alias!("-O warningAsErrors", "0|1", "--warningAsErrors"),
    alias!("-O segmentCount", "N", "-s"),
    Bound::better("-O blockSize", Some("SIZE"), "as -b", SIZES, setter_of(OPTIONS, "-b")),
    Bound::better("-O transferSize", Some("SIZE"), "as -t", SIZES, setter_of(OPTIONS, "-t")),
    Bound::refused(
        "-O singleXferAttempt",
        Some("0|1"),
        "as -x",
        "what is left of a short transfer is moved and counted; leave it out",
    ),
    alias!("-O intraTestBarriers", "0|1", "-g"),
    Bound::same("-O verbose", Some("N"), "as -v, N times", |to, given| given.set_number(&mut to.test.verbose)),
    Bound::better(
        "-O collective",
        Some("0|1"),
        "as -c",
        "what would let ranks wait for ever is refused",
        setter_of(OPTIONS, "-c"),
    ),
    alias!("-O setTimeStampSignature", "N", "-G"),
    alias!("-O dataPacketType", "TYPE", "-l"),
    alias!("-O uniqueDir", "0|1", "-u"),
    alias!("-O useExistingTestFile", "0|1", "-E"),
    alias!("-O fsyncPerWrite", "0|1", "-Y"),
    alias!("-O fsync", "0|1", "-e"),
    alias!("-O randomOffset", "0|1", "-z"),
    Bound::same("-O memoryPerTask", Some("SIZE"), "memory to take for each rank", set_memory_per_task),
    alias!("-O memoryPerNode", "SIZE", "-M"),
    Bound::same("-O summaryAlways", Some("0|1"), "the summary after every test too", |to, given| {
        given.set_flag(&mut to.test.summary_always)
    }),
    Bound::same("-O summaryFile", Some("FILE"), "results go there", |to, given| given.set_text(&mut to.summary_file)),
    Bound::same("-O summaryFormat", Some("default|JSON|CSV"), "how results are written", set_format),
    Bound::same("-O saveRankPerformanceDetailsCSV", Some("FILE"), "times of each rank", |to, given| {
        given.set_text(&mut to.test.rank_details)
    }),
    Bound::refused(
        "-O savePerOpDataCSV",
        Some("FILE"),
        "times of each transfer",
        "writing them would disturb what is measured; take --run DIR, which keeps histograms and samples",
    ),
    alias!("-O useO_DIRECT", "0|1", "--posix.odirect"),
];

fn set_api(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    to.test.api = Api::parse(given.text())?;
    given.text().clone_into(&mut to.test.typed_api);
    Ok(())
}

fn set_file(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    given.text().clone_into(&mut to.test.file);
    Ok(())
}

fn set_packet(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    let problem = || format!("{} {:?} is no type of data", given.spelling, given.text());
    to.test.packet = Packet::of_letter(given.text()).ok_or_else(|| usage(problem(), "take t, o, i or r"))?;
    Ok(())
}

/// Takes a size, or a share of the memory that the job may have on this node, such as `75%`.
fn set_memory_per_node(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    to.test.memory_per_node = match given.text().strip_suffix('%') {
        None => given.size()?,
        Some(percent) => match percent.trim().parse::<u64>() {
            Ok(percent @ 0..=90) => memory::limit().map_or(0, |limit| limit.bytes / 100 * percent),
            _ => {
                let problem = format!("{} {:?} leaves no memory to run in", given.spelling, given.text());
                return Err(usage(problem, "write 0% to 90%"));
            }
        },
    };
    to.test.memory_per_task = 0;
    Ok(())
}

fn set_memory_per_task(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    (to.test.memory_per_task, to.test.memory_per_node) = (given.size()?, 0);
    Ok(())
}

/// Each `-z` counts one more; with a value it is that.
fn set_random(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    let times = if given.value.is_some() { given.number()? } else { i64::from(to.test.random.times()) + 1 };
    to.test.random = Random::of(times);
    Ok(())
}

/// Each `-Z` counts one more; with a value it is that.
fn set_reorder_random(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    to.test.reorder_random = if given.value.is_some() { given.number()? } else { to.test.reorder_random + 1 };
    Ok(())
}

fn more_verbose(to: &mut Settings, _: &Given) -> Result<(), Failure> {
    to.test.verbose += 1;
    Ok(())
}

fn set_format(to: &mut Settings, given: &Given) -> Result<(), Failure> {
    let known = [("default", Format::Text), ("json", Format::Json), ("csv", Format::Csv)];
    let found = known.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(given.text()));
    let (_, format) =
        found.ok_or_else(|| usage(format!("no summaryFormat {:?}", given.text()), "take default, JSON or CSV"))?;
    to.format = format;
    Ok(())
}
