//! What all writers of tables call their files, and what they keep of texts.

/// Extension of a file with the tables of processes that ended.
pub const FINISHED: &str = "tables";
/// Extension of a file with the table of a process that runs.
pub const RUNNING: &str = "table";
/// Extension of a file with the checksums of tables, beside these.
pub const CHECKSUMS: &str = "checksums";
/// A symbolic link in the directory of the tables to [`COUNTER_CLOCK`] and the node's name: `record` has found that the kernel
/// trusts the processor's counter there. Reading a link costs a process a sixth of what asking the kernel does.
pub const CLOCK: &str = "clock";
/// What the link begins with.
pub const COUNTER_CLOCK: &str = "tsc@";
/// An empty file in the directory of the tables: every call is to be traced.
pub const TRACE_REQUESTED_FILE: &str = "trace";
/// An empty file in the directory of the tables: stacks are to be sampled.
pub const STACKS_REQUESTED_FILE: &str = "stacks";
/// Extension of a file that says which functions are at the addresses of tables, beside these.
pub const SYMBOLS: &str = "symbols";
/// Longer names of files are cut.
pub const LONGEST_NAME: usize = 4096;
/// Arguments of a process that are kept, in bytes.
pub const COMMAND_BYTES: usize = 1023;
/// Variables of the environment that say which job and which rank a process is.
pub const JOB_VARIABLES: [&str; 12] = [
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_STEP_ID",
    "SLURM_PROCID",
    "SLURM_NODEID",
    "PBS_JOBID",
    "LSB_JOBID",
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "FLUX_TASK_RANK",
];

/// How the directory of tables of a record is called: this, the name of the record, and what no other has.
pub const DIRECTORY_PREFIX: &str = "ioassay-record-";
