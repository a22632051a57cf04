# Written by `make generate` from the Rust side (crates/dev/src/facts.rs): change it there.

"""Facts that the engine goes by, for the control plane to go by the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

PROTOCOL_VERSION: Final = 2
"""Of plans, events and what front ends leave."""

MOST_RANKS: Final = 1048576
"""In a case."""

LARGEST_CASE_BYTES: Final = 9223372036854775807
"""What a case may hold, and write."""

LARGEST_TRANSFER_BYTES: Final = 1073741824
"""In one call."""

MOST_IN_FLIGHT: Final = 4096
"""Transfers of a rank."""

MOST_RETRIES: Final = 20
"""Repetitions of one request."""

MOST_VECTORS: Final = 1024
"""Pieces of memory in one call."""

LONGEST_WAIT_NS: Final = 86400000000000
"""A day: nothing waits longer."""

SHORTEST_SAMPLE_NS: Final = 1000000
"""The shortest `sample_interval`."""

LONGEST_SAMPLE_NS: Final = 3600000000000
"""The longest `sample_interval`."""

NODE_REGISTRATIONS: Final = "/run/ioassay/registrations"
"""Where records register with the agent of their node."""

NODE_REGISTRATIONS_VARIABLE: Final = "IOASSAY_REGISTRATIONS"
"""Names another directory for that."""

LONGEST_WINDOW_S: Final = 86400
"""A day: the longest window of a rule."""

COLD_SHARE: Final = 0.01
"""Caches are cold with at most this share of the file sets in memory."""

SHORTEST_PHASE_NS: Final = 1000000000
"""A phase shorter than this is dominated by its beginning and its end."""

STORAGE_APIS: Final = ("posix", "uring", "mmap", "object", "nfs", "null", "skeleton")
"""The engine's own, which need no library."""

URING_APIS: Final = ("uring",)
"""Those of them that move bytes through rings of io_uring."""

NOT_STOPPING: Final = ("SIGKILL", "SIGSTOP", "SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGXFSZ", "SIGPIPE")
"""The signals that end no run."""

Operation = Literal["write", "read", "create-tree", "remove-tree", "create", "stat", "rename", "remove", "find", "open", "close", "sync", "step", "request", "checkpoint"]
"""What the operations of a measurement do."""

RecordState = Literal["running", "complete", "failed", "incomplete"]
"""Whether a recording ended, and how."""

REPLACEMENT: tuple[Operation, ...] = ("stat", "read", "remove", "create")
"""What replacing an item does, in this order."""

Tool = Literal["ior", "mdtest", "iozone", "obdfilter-survey", "io500"]
"""The tools that have a front end."""

DoubtKind = Literal["cache-resident", "cache-unknown", "device-moved-less", "repeated-passes", "attributes-cached", "memory-backed", "unsynced-write", "unsynced-create", "short-phase", "start-spread", "finish-spread", "imbalance", "disturbed", "oversubscribed", "shared-node", "shared-machine", "coarse-clock", "clock-drift", "clock-uncertain", "late-samples", "missing-bytes", "nothing-done", "stalled", "suspended", "short-transfers", "unverified-server", "retried", "unwritten", "reducible-payload", "payload-bound", "rate-not-kept", "paced", "verification-timed", "positions-unverified", "failed"]
"""The doubts that the engine raises."""

IOR_APIS: Mapping[str, str] = {"POSIX": "posix", "AIO": "uring", "MMAP": "mmap", "DUMMY": "null", "MPIIO": "mpiio", "HDF5": "hdf5", "NCMPI": "pnetcdf"}
"""IOR's names of APIs, each with the storage API that does the same."""

MPI_APIS: Final = ("MPIIO", "HDF5", "NCMPI")
"""IOR's names of APIs whose ranks are MPI processes."""

IOR_VALUED: Final = frozenset("ADGJMNOQTUXabdfijlost")
"""The letters of the short options that take a value."""

MDTEST_VALUED: Final = frozenset("BGINVWabdefilnpswxz")
"""The letters of the short options that take a value."""

IOZONE_VALUED: Final = frozenset("FHJLPSUVXYbdfgijklnqrstuy")
"""The letters of the short options that take a value."""

IorFlag = Literal["-c", "--collective", "-C", "-e", "-E", "-F", "-g", "-h", "--help", "-k", "-K", "-m", "-r", "-R", "-u", "-v", "-w", "-W", "-Y", "-z", "-Z", "--warningAsErrors", "--dryRun", "--posix.odirect", "--posix.rangelocks", "--mmap.madv_dont_need", "--mmap.madv_pattern", "--mpiio.showHints", "-p", "--mpiio.preallocate", "-S", "--mpiio.useStridedDatatype", "-V", "--mpiio.useFileView", "--hdf5.showHints", "--hdf5.collectiveMetadata", "-n", "--hdf5.noFill", "--ncmpi.showHints"]
"""The options without a value that the front end takes."""

IorOption = Literal["-a", "-A", "-b", "-d", "-D", "-f", "-G", "-i", "-j", "-l", "--dataPacketType", "-M", "-N", "-o", "-O", "-Q", "-s", "-t", "-T", "-X", "--randomPrefill", "--random-offset-seed", "--aio.max-pending", "--aio.granularity", "--dummy.delay-xfer", "-U", "--mpiio.hintsFileName", "--hdf5.hintsFileName", "-J", "--hdf5.setAlignment", "--ncmpi.hintsFileName"]
"""The options with a value that the front end takes."""

MdtestFlag = Literal["-C", "-T", "-E", "-r", "-U", "-D", "-F", "-k", "-L", "-P", "--print-all-procs", "-R", "-S", "-t", "-u", "-v", "-X", "--verify-read", "--verify-write", "-y", "-Y", "-Z", "--warningAsErrors", "--showRankStatistics", "--posix.odirect"]
"""The options without a value that the front end takes."""

MdtestOption = Literal["-a", "-b", "-d", "-e", "-f", "-G", "-i", "-I", "-l", "-n", "-N", "-p", "--random-seed", "-s", "-V", "-w", "-W", "-x", "-z", "--dataPacketType", "--saveRankPerformanceDetails"]
"""The options with a value that the front end takes."""

IorDirective = Literal["api", "refnum", "debug", "platform", "testFile", "deadlineForStonewalling", "stoneWallingWearOut", "stoneWallingWearOutIterations", "stoneWallingStatusFile", "maxTimeDuration", "minTimeDuration", "outlierThreshold", "numTasks", "repetitions", "intertestdelay", "interIODelay", "readFile", "writeFile", "filePerProc", "taskPerNodeOffset", "reorderTasksConstant", "reorderTasks", "reorderTasksRandom", "reorderTasksRandomSeed", "checkWrite", "checkRead", "keepFile", "keepFileWithError", "multiFile", "warningAsErrors", "segmentCount", "blockSize", "transferSize", "intraTestBarriers", "verbose", "collective", "setTimeStampSignature", "dataPacketType", "uniqueDir", "useExistingTestFile", "fsyncPerWrite", "fsync", "randomOffset", "memoryPerTask", "memoryPerNode", "summaryAlways", "summaryFile", "summaryFormat", "saveRankPerformanceDetailsCSV", "useO_DIRECT"]
"""The directives of `-O` that the front end takes."""

IO500_STONEWALL_NS: Final = 300000000000
"""When the stonewall of a phase that writes comes, and how long the phase takes at least."""


class Io500Phase(NamedTuple):
    """A phase of the IO500."""

    name: str
    unit: Literal["GiB/s", "kIOPS"]
    """Of its score."""
    lists: tuple[Literal["standard", "extended"], ...]
    """Where it counts."""
    walled: bool
    """It ends at a stonewall, with wear-out."""
    operations: tuple[Operation, ...]
    """What its operations do; the last names what it counts."""
    layout: str | None
    """The layout or sharing that the rules fix."""
    moves: int | None
    """Bytes of an operation, where the rules fix them."""
    all_of: str | None
    """The phase that made what it works on, all of it."""


IO500_PHASES: Final = (
    Io500Phase("ior-easy-write", "GiB/s", ("standard", "extended"), True, ("write",), None, None, None),
    Io500Phase("mdtest-easy-write", "kIOPS", ("standard", "extended"), True, ("create",), "unique", None, None),
    Io500Phase("mdworkbench-create", "kIOPS", (), False, ("create",), "unique", 3901, None),
    Io500Phase("find-easy", "kIOPS", ("extended",), False, ("find",), None, None, None),
    Io500Phase("ior-hard-write", "GiB/s", ("standard", "extended"), True, ("write",), "N-1", 47008, None),
    Io500Phase("mdtest-hard-write", "kIOPS", ("standard", "extended"), True, ("create",), "shared", 3901, None),
    Io500Phase("find", "kIOPS", ("standard", "extended"), False, ("find",), None, None, None),
    Io500Phase("find-hard", "kIOPS", ("extended",), False, ("find",), None, None, None),
    Io500Phase("mdworkbench-bench", "kIOPS", ("extended",), False, ("stat", "read", "remove", "create"), "unique", 3901, "mdworkbench-create"),
    Io500Phase("ior-easy-read", "GiB/s", ("standard", "extended"), False, ("read",), None, None, "ior-easy-write"),
    Io500Phase("mdtest-easy-stat", "kIOPS", ("standard", "extended"), False, ("stat",), "unique", None, "mdtest-easy-write"),
    Io500Phase("ior-hard-read", "GiB/s", ("standard", "extended"), False, ("read",), "N-1", 47008, "ior-hard-write"),
    Io500Phase("mdtest-hard-stat", "kIOPS", ("standard", "extended"), False, ("stat",), "shared", None, "mdtest-hard-write"),
    Io500Phase("mdworkbench-delete", "kIOPS", (), False, ("remove",), "unique", None, "mdworkbench-create"),
    Io500Phase("mdtest-easy-delete", "kIOPS", ("standard", "extended"), False, ("remove",), "unique", None, "mdtest-easy-write"),
    Io500Phase("mdtest-hard-read", "kIOPS", ("standard", "extended"), False, ("read",), "shared", 3901, "mdtest-hard-write"),
    Io500Phase("mdtest-hard-delete", "kIOPS", ("standard", "extended"), False, ("remove",), "shared", None, "mdtest-hard-write"),
    Io500Phase("ior-rnd4K-easy-read", "GiB/s", (), False, ("read",), None, None, None),
)
"""All that measure something, in the order in which they run."""
