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

type GivenOption = crate::options::GivenOption<Settings>;

const SIZES: &str = "1.5g and 100x are errors instead of 1 and 100";
const GPU: &str = "GPU memory is not supported; leave it out";
const STRIPE: &str = "files inherit the striping of their directory; run lfs setstripe -c COUNT -S SIZE DIRECTORY \
                      beforehand";
const HINTS: &str = "hints that did not take effect are reported even without it";
const GPFS: &str = "the engine does not use GPFS hints; the data written and read is the same";
const LINES: &str = "a line that is not a hint is an error";
const NETCDF: &str = "PnetCDF does not support it; leave it out";
const ONE_DATASET: &str = "each file has one dataset; leave it out";

/// The options of the command line.
pub(crate) const OPTIONS: &[Bound<Settings>] = &[
    Bound::same(
        "-a",
        Some("API"),
        "API: POSIX, AIO, MMAP, DUMMY, or with MPI (mpirun ioassay-engine ior …) MPIIO, HDF5, NCMPI",
        set_api,
    ),
    Bound::same("-A", Some("N"), "reference number, shown in the summary", |to, given| {
        given.set_number(&mut to.test.reference)
    }),
    Bound::better("-b", Some("SIZE"), "block size: contiguous bytes per rank", SIZES, |to, given| {
        given.set_size(&mut to.test.block_bytes)
    }),
    Bound::better(
        "-c, --collective",
        None,
        "collective I/O, with MPIIO, HDF5 and NCMPI",
        "combinations that would deadlock (-D with a shared file) are refused",
        |to, given| given.set_flag(&mut to.test.collective),
    ),
    Bound::better(
        "-C",
        None,
        "each rank reads what a rank on the next node wrote",
        "on one node, where it has no effect, it prints a note",
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
    Bound::same("-E", None, "write into the existing file instead of removing it first", |to, given| {
        given.set_flag(&mut to.test.use_existing)
    }),
    Bound::same("-f", Some("FILE"), "read tests from a script", |to, given| given.set_text(&mut to.script)),
    Bound::same("-F", None, "one file per rank", |to, given| given.set_flag(&mut to.test.file_per_process)),
    Bound::same("-g", None, "barriers between open, write or read, and close", |to, given| {
        given.set_flag(&mut to.test.barriers)
    }),
    Bound::same("-G", Some("N"), "signature (seed) of the data", |to, given| given.set_number(&mut to.test.signature)),
    Bound::same("-h, --help", None, "show this help", holds_anyway),
    Bound::same("-i", Some("N"), "repetitions", |to, given| given.set_number(&mut to.test.repetitions)),
    Bound::same(
        "-j",
        Some("SECONDS"),
        "report ranks whose times differ from the mean by more than this",
        |to, given| given.set_number(&mut to.test.outlier_s),
    ),
    Bound::same("-k", None, "keep the files", |to, given| given.set_flag(&mut to.test.keep)),
    Bound::same("-K", None, "keep the files if verification fails", |to, given| {
        given.set_flag(&mut to.test.keep_with_error)
    }),
    Bound::same(
        "-l, --dataPacketType",
        Some("TYPE"),
        "data: timestamp, offset, incompressible or random (or t, o, i, r)",
        set_packet,
    ),
    Bound::same("-m", None, "use different files for each repetition", |to, given| {
        given.set_flag(&mut to.test.multi_file)
    }),
    Bound::same("-M", Some("SIZE"), "memory to allocate per node (2g, 75%)", set_memory_per_node),
    Bound::same("-N", Some("N"), "number of ranks", |to, given| {
        given.number().map(|tasks| to.test.tasks = Some(tasks))
    }),
    Bound::better(
        "-o",
        Some("FILE"),
        "file name, or several separated by @",
        "a file that neither ioassay nor IOR wrote is not removed (--overwrite)",
        set_file,
    ),
    Bound::same("-O", Some("NAME=VALUE,…"), "directives", |to, given| to.directives(given.text())),
    Bound::same("-Q", Some("N"), "shift of ranks for -C and -Z", |to, given| given.set_number(&mut to.test.offset)),
    Bound::better("-r", None, "read", "page-cache residency before the read is measured and reported", |to, given| {
        given.set_flag(&mut to.test.read)
    }),
    Bound::better(
        "-R",
        None,
        "verify the data read",
        "the first wrong byte is reported with its offset, and memory use does not grow (hpc/ior#249)",
        |to, given| given.set_flag(&mut to.test.check_read),
    ),
    Bound::same("-s", Some("N"), "segments", |to, given| given.set_size(&mut to.test.segments)),
    Bound::better("-t", Some("SIZE"), "transfer size: bytes per call", SIZES, |to, given| {
        given.set_size(&mut to.test.transfer_bytes)
    }),
    Bound::same("-T", Some("MINUTES"), "start no repetition after this time, in minutes", |to, given| {
        given.set_number(&mut to.test.most_minutes)
    }),
    Bound::same("-u", None, "a separate directory for each file of -F", |to, given| {
        given.set_flag(&mut to.test.unique_directory)
    }),
    Bound::same("-v", None, "increase verbosity; may be repeated", more_verbose),
    Bound::same("-w", None, "write", |to, given| given.set_flag(&mut to.test.write)),
    Bound::better(
        "-W",
        None,
        "read back and verify after the write",
        "the first wrong byte is reported with its offset",
        |to, given| given.set_flag(&mut to.test.check_write),
    ),
    Bound::refused(
        "-x",
        None,
        "do not retry short transfers",
        "the rest of a short transfer is always moved, and a doubt counts such transfers; leave it out",
    ),
    Bound::same("-X", Some("N"), "seed of -Z", |to, given| given.set_number(&mut to.test.reorder_seed)),
    Bound::refused(
        "-y",
        None,
        "use a mount point per socket",
        "sockets are not distinguished; list the mount points with -o A@B and -F",
    ),
    Bound::same("-Y", None, "fsync after each write", |to, given| given.set_flag(&mut to.test.fsync_per_write)),
    Bound::better(
        "-z",
        None,
        "random order of transfers; twice: blocks drawn at random, with repetition",
        "writing with -z -z, where IOR divides by zero, is refused",
        set_random,
    ),
    Bound::same("-Z", None, "each rank reads a random rank's part; -ZZ: each part exactly once", set_reorder_random),
    Bound::same(
        "--randomPrefill",
        Some("SIZE"),
        "write the file in blocks of this size before the random writes of -z",
        |to, given| given.set_size(&mut to.test.prefill_bytes),
    ),
    Bound::same("--random-offset-seed", Some("N"), "seed of -z", |to, given| {
        given.set_number(&mut to.test.random_seed)
    }),
    Bound::same("--warningAsErrors", None, "treat warnings as errors: here, doubts", |to, given| {
        given.set_flag(&mut to.test.warnings_are_errors)
    }),
    Bound::same("--dryRun", None, "do everything but I/O (dry run)", |to, given| given.set_flag(&mut to.test.dry_run)),
    Bound::refused("--gpuDirect", None, "use GPUDirect", GPU),
    Bound::same(
        "--posix.odirect",
        None,
        "use O_DIRECT; the file system decides which sizes it accepts",
        |to, given| given.set_flag(&mut to.test.direct),
    ),
    Bound::same("--posix.rangelocks", None, "lock the byte range of each transfer", |to, given| {
        given.set_flag(&mut to.test.range_locks)
    }),
    Bound::refused("--posix.lustre.stripecount", Some("N"), "stripe count of the file", STRIPE),
    Bound::refused("--posix.lustre.stripesize", Some("SIZE"), "stripe size of the file", STRIPE),
    Bound::refused(
        "--posix.lustre.startost",
        Some("N"),
        "starting OST of the file",
        "files inherit the striping of their directory; run lfs setstripe -i OST DIRECTORY beforehand",
    ),
    Bound::refused(
        "--posix.lustre.pool",
        Some("POOL"),
        "OST pool",
        "files inherit the striping of their directory; run lfs setstripe -p POOL DIRECTORY beforehand",
    ),
    Bound::refused(
        "--posix.lustre.ignorelocks",
        None,
        "disable client locking (ignore locks)",
        "applications pay for the locks, so they are measured; leave it out",
    ),
    Bound::refused(
        "--posix.beegfs.NumTargets",
        Some("N"),
        "number of storage targets of the file",
        "files inherit the striping of their directory; run beegfs-ctl --setpattern on it beforehand",
    ),
    Bound::refused(
        "--posix.beegfs.ChunkSize",
        Some("SIZE"),
        "chunk size of the file",
        "files inherit the striping of their directory; run beegfs-ctl --setpattern on it beforehand",
    ),
    Bound::ignored("--posix.gpfs.hintaccess", None, "GPFS hint: access range of each transfer", GPFS),
    Bound::ignored("--posix.gpfs.releasetoken", None, "GPFS hint: release tokens after open", GPFS),
    Bound::ignored("--posix.gpfs.finegrainwritesharing", None, "GPFS hint", GPFS),
    Bound::ignored("--posix.gpfs.finegrainreadsharing", None, "GPFS hint", GPFS),
    Bound::ignored("--posix.gpfs.createsharing", None, "GPFS hint", GPFS),
    Bound::same("--aio.max-pending", Some("N"), "transfers in flight (by io_uring)", |to, given| {
        given.set_number(&mut to.test.in_flight)
    }),
    Bound::same("--aio.granularity", Some("N"), "transfers submitted together", |to, given| {
        given.set_number(&mut to.test.batch)
    }),
    Bound::same("--mmap.madv_dont_need", None, "madvise(MADV_DONTNEED) after the file is mapped", |to, given| {
        given.set_flag(&mut to.test.advise_dont_need)
    }),
    Bound::same("--mmap.madv_pattern", None, "madvise the access pattern, random or sequential", |to, given| {
        given.set_flag(&mut to.test.advise_pattern)
    }),
    Bound::same("--dummy.delay-xfer", Some("MICROSECONDS"), "pause after each transfer", |to, given| {
        given.set_number(&mut to.test.dummy_delay_us)
    }),
    Bound::refused(
        "--dummy.delay-create",
        Some("MICROSECONDS"),
        "pause in create",
        "only transfers can be delayed; use --dummy.delay-xfer",
    ),
    Bound::refused(
        "--dummy.delay-close",
        Some("MICROSECONDS"),
        "pause in close",
        "only transfers can be delayed; use --dummy.delay-xfer",
    ),
    Bound::refused(
        "--dummy.delay-sync",
        Some("MICROSECONDS"),
        "pause in fsync",
        "only transfers can be delayed; use --dummy.delay-xfer",
    ),
    Bound::refused(
        "--dummy.delay-only-rank0",
        None,
        "only rank 0 is delayed",
        "all ranks are delayed alike; leave it out",
    ),
    Bound::better("--mpiio.showHints", None, "print the hints in effect", HINTS, |to, given| {
        given.flag().map(|on| to.test.switch(Api::MpiIo, "show_hints", on))
    }),
    Bound::same("-p, --mpiio.preallocate", None, "preallocate the file", |to, given| {
        given.set_flag(&mut to.test.preallocate)
    }),
    Bound::same(
        "-S, --mpiio.useStridedDatatype",
        None,
        "move a rank's blocks of all segments in one call; -b must equal -t",
        |to, given| given.set_flag(&mut to.test.strided),
    ),
    Bound::same("-V, --mpiio.useFileView", None, "access each rank's blocks through MPI_File_set_view", |to, given| {
        given.flag().map(|on| to.test.switch(Api::MpiIo, "view", on))
    }),
    Bound::better(
        "-U, --mpiio.hintsFileName",
        Some("FILE"),
        "MPI-IO hints: lines `IOR_HINT__MPI__NAME=VALUE`",
        LINES,
        |to, given| to.test.give_hints(Api::MpiIo, Path::new(given.text())),
    ),
    Bound::better(
        "--hdf5.hintsFileName",
        Some("FILE"),
        "MPI-IO hints: lines `IOR_HINT__MPI__NAME=VALUE`",
        LINES,
        |to, given| to.test.give_hints(Api::Hdf5, Path::new(given.text())),
    ),
    Bound::better("--hdf5.showHints", None, "print the hints in effect", HINTS, |to, given| {
        given.flag().map(|on| to.test.switch(Api::Hdf5, "show_hints", on))
    }),
    Bound::same("--hdf5.collectiveMetadata", None, "use collective metadata operations", |to, given| {
        given.flag().map(|on| to.test.switch(Api::Hdf5, "collective_metadata", on))
    }),
    Bound::refused(
        "--hdf5.chunkSize",
        None,
        "chunk size of the dataset",
        "use a study with storage: {api: hdf5, options: {chunk: SIZE}}",
    ),
    Bound::same("-J, --hdf5.setAlignment", Some("SIZE"), "align objects to multiples of this size", |to, given| {
        given.size().map(|bytes| to.test.give(Api::Hdf5, "alignment", &bytes.to_string()))
    }),
    Bound::refused("-I, --hdf5.individualDataSets", None, "a dataset for each rank", ONE_DATASET),
    Bound::same("-n, --hdf5.noFill", None, "do not write fill values (never written here)", holds_anyway),
    Bound::better(
        "--ncmpi.hintsFileName",
        Some("FILE"),
        "MPI-IO hints: lines `IOR_HINT__MPI__NAME=VALUE`",
        LINES,
        |to, given| to.test.give_hints(Api::Ncmpi, Path::new(given.text())),
    ),
    Bound::better("--ncmpi.showHints", None, "print the hints in effect", HINTS, |to, given| {
        given.flag().map(|on| to.test.switch(Api::Ncmpi, "show_hints", on))
    }),
    Bound::refused("--ncmpi.preallocate", None, "preallocate the file", NETCDF),
    Bound::refused("--ncmpi.useStridedDatatype", None, "access strided data through a datatype", NETCDF),
    Bound::refused("--ncmpi.useFileView", None, "MPI_File_set_view", NETCDF),
];

/// A directive that is another name of an option.
macro_rules! alias {
    ($directive:literal, $value:literal, $option:literal) => {
        Bound::same($directive, Some($value), concat!("as ", $option), setter_of(OPTIONS, $option))
    };
}

/// The directives of `-O` and of scripts. Their names are case-insensitive.
pub(crate) const DIRECTIVES: &[Bound<Settings>] = &[
    alias!("-O api", "API", "-a"),
    alias!("-O refnum", "N", "-A"),
    Bound::same("-O debug", Some("TEXT"), "text shown at the start of the output", |to, given| {
        given.set_text(&mut to.test.debug)
    }),
    Bound::same("-O platform", Some("TEXT"), "platform name shown in the output", |to, given| {
        given.set_text(&mut to.test.platform)
    }),
    alias!("-O testFile", "FILE", "-o"),
    Bound::refused(
        "-O dualMount",
        Some("0|1"),
        "as -y",
        "sockets are not distinguished; list the mount points with -o A@B and -F",
    ),
    Bound::refused("-O allocateBufferOnGPU", Some("N"), "allocate buffers in GPU memory", GPU),
    Bound::refused("-O GPUid", Some("N"), "GPU to use", GPU),
    Bound::refused("-O GPUDirect", Some("0|1"), "use GPUDirect", GPU),
    alias!("-O deadlineForStonewalling", "SECONDS", "-D"),
    Bound::same(
        "-O stoneWallingWearOut",
        Some("0|1"),
        "after the stonewall, continue until all ranks have done as much as the fastest",
        |to, given| given.set_flag(&mut to.test.wear_out),
    ),
    Bound::same("-O stoneWallingWearOutIterations", Some("N"), "transfers of each rank", |to, given| {
        given.set_number(&mut to.test.iterations)
    }),
    Bound::same(
        "-O stoneWallingStatusFile",
        Some("FILE"),
        "file that stores the number of transfers for a later read",
        |to, given| given.set_text(&mut to.test.status_file),
    ),
    alias!("-O maxTimeDuration", "MINUTES", "-T"),
    Bound::same("-O minTimeDuration", Some("SECONDS"), "repeat until this much time has passed", |to, given| {
        given.set_number(&mut to.test.least_s)
    }),
    alias!("-O outlierThreshold", "SECONDS", "-j"),
    Bound::refused(
        "-O numNodes",
        Some("N"),
        "number of nodes, instead of the real one",
        "nodes are counted automatically; leave it out",
    ),
    alias!("-O numTasks", "N", "-N"),
    Bound::refused(
        "-O numTasksOnNode0",
        Some("N"),
        "number of ranks on the first node",
        "they are counted automatically; leave it out",
    ),
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
        "the rest of a short transfer is always moved and counted; leave it out",
    ),
    alias!("-O intraTestBarriers", "0|1", "-g"),
    Bound::same("-O verbose", Some("N"), "as -v given N times", |to, given| given.set_number(&mut to.test.verbose)),
    Bound::better(
        "-O collective",
        Some("0|1"),
        "as -c",
        "combinations that would deadlock are refused",
        setter_of(OPTIONS, "-c"),
    ),
    alias!("-O setTimeStampSignature", "N", "-G"),
    alias!("-O dataPacketType", "TYPE", "-l"),
    alias!("-O uniqueDir", "0|1", "-u"),
    alias!("-O useExistingTestFile", "0|1", "-E"),
    alias!("-O fsyncPerWrite", "0|1", "-Y"),
    alias!("-O fsync", "0|1", "-e"),
    alias!("-O randomOffset", "0|1", "-z"),
    Bound::same("-O memoryPerTask", Some("SIZE"), "memory to allocate per rank", set_memory_per_task),
    alias!("-O memoryPerNode", "SIZE", "-M"),
    Bound::same("-O summaryAlways", Some("0|1"), "print a summary after every test", |to, given| {
        given.set_flag(&mut to.test.summary_always)
    }),
    Bound::same("-O summaryFile", Some("FILE"), "file for the results", |to, given| {
        given.set_text(&mut to.summary_file)
    }),
    Bound::same("-O summaryFormat", Some("default|JSON|CSV"), "format of the results", set_format),
    Bound::same(
        "-O saveRankPerformanceDetailsCSV",
        Some("FILE"),
        "file for the times of each rank, as CSV",
        |to, given| given.set_text(&mut to.test.rank_details),
    ),
    Bound::refused(
        "-O savePerOpDataCSV",
        Some("FILE"),
        "file for the times of each transfer, as CSV",
        "writing them would disturb the measurement; use --run DIR, which stores histograms and samples",
    ),
    alias!("-O useO_DIRECT", "0|1", "--posix.odirect"),
];

fn set_api(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    to.test.api = Api::parse(given.text())?;
    given.text().clone_into(&mut to.test.typed_api);
    Ok(())
}

fn set_file(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    given.text().clone_into(&mut to.test.file);
    Ok(())
}

fn set_packet(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    let problem = || format!("{} {:?} is not a packet type", given.spelling, given.text());
    to.test.packet_type = Some(Packet::of_letter(given.text()).ok_or_else(|| usage(problem(), "use t, o, i or r"))?);
    Ok(())
}

/// Takes a size, or a share of the memory that the job may have on this node, such as `75%`.
fn set_memory_per_node(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    to.test.memory_per_node = match given.text().strip_suffix('%') {
        None => given.size()?,
        Some(percent) => match percent.trim().parse::<u64>() {
            Ok(percent @ 0..=90) => memory::limit().map_or(0, |limit| limit.bytes / 100 * percent),
            _ => {
                let problem = format!("{} {:?} leaves no memory for the run", given.spelling, given.text());
                return Err(usage(problem, "write 0% to 90%"));
            }
        },
    };
    to.test.memory_per_task = 0;
    Ok(())
}

fn set_memory_per_task(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    (to.test.memory_per_task, to.test.memory_per_node) = (given.size()?, 0);
    Ok(())
}

/// Each `-z` counts one more; with a value it is that.
fn set_random(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    let times = if given.value.is_some() { given.number()? } else { i64::from(to.test.random.times()) + 1 };
    to.test.random = Random::of(times);
    Ok(())
}

/// Each `-Z` counts one more; with a value it is that.
fn set_reorder_random(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    to.test.reorder_random = if given.value.is_some() { given.number()? } else { to.test.reorder_random + 1 };
    Ok(())
}

fn more_verbose(to: &mut Settings, _: &GivenOption) -> Result<(), Failure> {
    to.test.verbose += 1;
    Ok(())
}

fn set_format(to: &mut Settings, given: &GivenOption) -> Result<(), Failure> {
    let known = [("default", Format::Text), ("json", Format::Json), ("csv", Format::Csv)];
    let matching = known.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(given.text()));
    let (_, format) = matching
        .ok_or_else(|| usage(format!("there is no summaryFormat {:?}", given.text()), "use default, JSON or CSV"))?;
    to.format = format;
    Ok(())
}
