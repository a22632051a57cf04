//! The command line: what can be asked, and which function of the engine does it.
//!
//! Not here: what a command does, exiting.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use ioassay_capture::Request;
use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::launched::launcher;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::survey::SurveyRequest;
use ioassay_protocol::events::Failure;
use ioassay_protocol::front_end::Tool;

/// The load engine of ioassay: run plans and front ends.
///
/// It reads a plan, does its I/O, and writes events, one JSON object per line.
#[derive(Parser)]
#[command(name = "ioassay-engine", version, arg_required_else_help = true)]
pub struct Arguments {
    /// Run clients in the namespaces of this process (repeat per host).
    ///
    /// Each value is a process in one host's namespaces: its number, or its directory of /proc.
    #[arg(long = "host", value_name = "PROCESS")]
    pub hosts: Vec<PathBuf>,
    /// Connect to the other processes of the launcher by this MPI connector.
    ///
    /// `ioassay-engine mpi build` builds one.
    #[arg(long, value_name = "LIBRARY", conflicts_with = "hosts")]
    pub mpi: Option<PathBuf>,
    /// Make the ranks MPI processes, for storage APIs that use MPI.
    #[arg(long)]
    pub mpi_in_ranks: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Run the case of a plan.
    ///
    /// Exit code 0: complete; 1: a phase failed; 2: the plan is refused; 3: it could not run.
    Run {
        /// File with the plan of one case (schemas/plan.json).
        plan: PathBuf,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
        /// Append progress to this file, about five lines per second.
        #[arg(long)]
        progress: Option<PathBuf>,
        /// Stop when the process that started the engine ends.
        #[arg(long)]
        stop_with_parent: bool,
    },
    /// Check that plans are valid and fit their target.
    ///
    /// Nothing is written to the target.
    Check {
        /// Files with plans, one or more in each.
        #[arg(required = true)]
        plans: Vec<PathBuf>,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
    },
    /// Add up what plans do, without looking at their target.
    Amounts {
        /// Files with plans, one or more in each.
        #[arg(required = true)]
        plans: Vec<PathBuf>,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
    },
    /// Inspect all nodes, and whether they share the target.
    Survey {
        /// Directory that all nodes should see.
        #[arg(long)]
        target: Option<PathBuf>,
        /// Name of the workspace for the test; it must not exist, and is removed.
        #[arg(long)]
        run: String,
        /// Time limit for the target to respond, in seconds.
        #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=3600))]
        limit_s: u64,
        /// Ranks on each node, without a launcher.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        ranks_per_node: u32,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
        /// Stop when the process that started the engine ends.
        #[arg(long)]
        stop_with_parent: bool,
    },
    /// Capture what tuning needs to know of this node, as an archive.
    ///
    /// The archive (.tar.gz) has settings of devices, the kernel, networks and file systems. Passwords, keys and serial numbers
    /// are left out. Nothing is changed.
    Capture {
        /// Directory or block device that I/O goes to.
        #[arg(long, value_name = "DIR_OR_DEVICE")]
        target: Option<PathBuf>,
        /// New file for the archive, or - for standard output.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Run a launcher that ends with the calling process.
    ///
    /// With --host, it runs on that host.
    Launch {
        /// Command line of the launcher.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Build and list MPI connectors.
    #[command(subcommand)]
    Mpi(Mpi),
    /// Remove what an interrupted run left on the target.
    ///
    /// Files are removed by the run's list, never by a pattern.
    Clean {
        /// Directory `ioassay-RUN` under the target, or its URL (event `started`).
        workspace: PathBuf,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
    },
    /// Build and list storage plug-ins in C.
    #[command(subcommand)]
    Api(Api),
    /// Run a command and record its I/O, with all processes that it starts.
    ///
    /// Exit code: the command's own; 128 and the number of the signal that ended it; 3: it could not be started.
    Record {
        /// Directory to create [default: records/TIME-COMMAND].
        ///
        /// Of processes that a launcher starts, each gets a directory in it, by its rank.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Where tables lie while processes run [default: the temporary directory].
        #[arg(long, value_name = "DIR")]
        tables: Option<PathBuf>,
        /// End the command when the process that started this one ends.
        #[arg(long)]
        stop_with_parent: bool,
        /// Record every call, in a few bytes each (`ioassay-engine calls` prints them).
        #[arg(long)]
        trace: bool,
        /// Look where calls come from, too: functions, libraries, lines of Python. It costs some 10 ns a call and up to 2 % of
        /// the time.
        #[arg(long)]
        stacks: bool,
        /// Watch it by an agent: what `ioassay watch prepare` wrote (`agent.json`).
        #[arg(long, value_name = "FILE")]
        watch: Option<PathBuf>,
        /// Take rules from an agent that comes later, by a file beside the tables.
        #[arg(long, hide = true)]
        takes_rules: bool,
        /// How to see I/O calls.
        ///
        /// preload: by a library in each process. ptrace: also of static, Go and setuid programs, at a higher cost; the
        /// command is killed if its tracer is. ptrace-unfiltered: at a still higher cost; the command goes on then.
        #[arg(long, value_enum, default_value = "preload")]
        via: Via,
        /// The command and its arguments, after `--`.
        #[arg(required = true, last = true)]
        command: Vec<OsString>,
    },
    /// Write the recorder's library, for LD_PRELOAD, and print its path.
    ///
    /// Beside it: ioassay_region.h and ioassay_region.py, by which C and Python applications name their steps.
    ///
    /// With IOASSAY_RECORD set to a directory on each node, processes then record themselves, without `record`; `ioassay profile`
    /// reads that directory.
    Library {
        /// Directory to write it to.
        directory: PathBuf,
    },
    /// Move the tables of an incomplete record into it, when there is space again.
    Complete {
        /// Directory of the record.
        record: PathBuf,
    },
    /// Print every call of a record that was made with --trace, as JSON Lines.
    Calls {
        /// Directory of the record.
        record: PathBuf,
    },
    /// Print the tables of files named on standard input, each ended by a zero byte.
    ///
    /// They are printed as arrays of structures: crates/record/src/rows.rs has the format, which `ioassay profile` reads.
    Tables,
    /// Run IOR's command line (`ioassay-engine ior -h`).
    Ior(FrontEnd),
    /// Run mdtest's command line (`ioassay-engine mdtest -h`).
    Mdtest(FrontEnd),
    /// Run IOzone's command line (`ioassay-engine iozone -h`).
    Iozone(FrontEnd),
    /// Run obdfilter-survey, set by environment variables.
    ///
    /// `ioassay-engine obdfilter-survey -h` lists them.
    ObdfilterSurvey(FrontEnd),
    /// Run the IO500 from its .ini file (`ioassay-engine io500 -h`).
    Io500(FrontEnd),
}

/// How calls are seen.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Via {
    Preload,
    Ptrace,
    PtraceUnfiltered,
}

impl From<Via> for ioassay_capture::Via {
    fn from(via: Via) -> Self {
        match via {
            Via::Preload => Self::Preload,
            Via::Ptrace => Self::Ptrace,
            Via::PtraceUnfiltered => Self::PtraceUnfiltered,
        }
    }
}

/// Commands for MPI connectors.
#[derive(Subcommand)]
pub enum Mpi {
    /// Build the connector for a compiler's MPI, and print its path.
    ///
    /// One that is already built is kept.
    Build {
        /// Compiler of the MPI.
        #[arg(long, default_value = "mpicc")]
        compiler: String,
        /// Rebuild it.
        #[arg(long)]
        force: bool,
    },
    /// List the connectors that were built, with the MPI of each.
    List {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
        /// List only this one.
        #[arg(long, value_name = "LIBRARY")]
        only: Option<PathBuf>,
    },
}

/// Commands for storage plug-ins.
#[derive(Subcommand)]
pub enum Api {
    /// Compile a plug-in, and print its path.
    Build {
        /// mpiio, hdf5, pnetcdf, gpu, null-plugin, skeleton-plugin, or a C source file.
        what: String,
        /// Compiler [default: mpicc, h5pcc or cc, as the plug-in needs].
        #[arg(long)]
        compiler: Option<String>,
        /// Write NAME.so to this directory instead of the plug-in cache.
        #[arg(long)]
        output: Option<PathBuf>,
        /// Arguments for the compiler, for example -lrados.
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// List storage APIs and their options.
    List {
        /// Additional libraries.
        paths: Vec<PathBuf>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

impl Api {
    fn run(self) -> Exit {
        match self {
            Self::Build { what, compiler, output, arguments } => {
                command::api::build(&command::api::Build { what, compiler, output, arguments })
            }
            Self::List { paths, json } => command::api::list(&paths, json),
        }
    }
}

/// The command line of another tool.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct FrontEnd {
    /// The tool's own arguments, and --ranks N, --run DIR and --overwrite.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Reads the command line of this process.
pub fn parse() -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(arguments())
}

/// The command line; called by the name of a tool (a symbolic link `ior`) it is that tool.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().map(PathBuf::from).and_then(|path| path.file_name().map(OsStr::to_owned));
    if let Some(tool) = Tool::ALL.into_iter().find(|tool| name.as_deref() == Some(OsStr::new(tool.name()))) {
        arguments.insert(1, tool.name().into());
    }
    arguments
}

impl Command {
    /// Does it, with `ranks` for what has ranks.
    pub fn run(self, ranks: &mut dyn RankSet) -> Exit {
        match self {
            Self::Run { plan, events, progress, stop_with_parent } => {
                command::run(&plan, &events, progress.as_deref(), stop_with_parent, ranks)
            }
            Self::Check { plans, events } => command::check(&plans, &events),
            Self::Amounts { plans, events } => command::amounts(&plans, &events),
            Self::Clean { workspace, events } => command::clean(&workspace, &events),
            Self::Survey { target, run, limit_s, ranks_per_node, events, stop_with_parent } => {
                let request = SurveyRequest { target, run, limit_ns: limit_s * 1_000_000_000 };
                command::survey(&request, ranks_per_node, &events, stop_with_parent, ranks)
            }
            Self::Capture { target, out } => command::capture(target.as_deref(), &out),
            Self::Launch { command } => command::launch(&command),
            Self::Record { out, tables, stop_with_parent, trace, stacks, watch, takes_rules, via, command } => {
                let via = via.into();
                let request =
                    Request { command, out, tables, stop_with_parent, trace, stacks, watch, takes_rules, via };
                ioassay_capture::record(&request)
            }
            Self::Library { directory } => ioassay_capture::write_library(&directory),
            Self::Complete { record } => ioassay_capture::complete(&record),
            Self::Calls { record } => ioassay_capture::print_calls(&record),
            Self::Tables => ioassay_capture::print_tables(),
            Self::Api(api) => api.run(),
            Self::Mpi(Mpi::Build { compiler, force }) => command::mpi::build(&compiler, force),
            Self::Mpi(Mpi::List { json, only }) => command::mpi::list(json, only.as_deref()),
            Self::Ior(FrontEnd { arguments }) => ioassay_frontends::run(Tool::Ior, arguments, ranks),
            Self::Mdtest(FrontEnd { arguments }) => ioassay_frontends::run(Tool::Mdtest, arguments, ranks),
            Self::Iozone(FrontEnd { arguments }) => ioassay_frontends::run(Tool::Iozone, arguments, ranks),
            Self::ObdfilterSurvey(FrontEnd { arguments }) => {
                ioassay_frontends::run(Tool::ObdfilterSurvey, arguments, ranks)
            }
            Self::Io500(FrontEnd { arguments }) => ioassay_frontends::run(Tool::Io500, arguments, ranks),
        }
    }

    /// Nothing was begun: what the command reports of that.
    pub fn not_begun(&self, failure: Failure) -> Exit {
        match self {
            Self::Run { events, .. }
            | Self::Check { events, .. }
            | Self::Amounts { events, .. }
            | Self::Clean { events, .. }
            | Self::Survey { events, .. } => command::not_begun(events, failure),
            _ => Exit::could_not_run(failure),
        }
    }

    /// True for a command line of another tool that a launcher has started and that does its I/O by MPI.
    pub fn speaks_mpi(&self) -> bool {
        let (tool, given) = match self {
            Self::Ior(given) => (Tool::Ior, given),
            Self::Io500(given) => (Tool::Io500, given),
            _ => return false,
        };
        launcher::started_this() && ioassay_frontends::speaks_mpi(tool, &given.arguments)
    }

    /// True for those that may hang in a call on the target, and then leave that to a child. Ranks of a launcher are guarded by
    /// nobody: see [`guard`]. A capture leaves it to children of its own.
    pub fn uses_target(&self) -> bool {
        !matches!(
            self,
            Self::Launch { .. }
                | Self::Capture { .. }
                | Self::Record { .. }
                | Self::Library { .. }
                | Self::Complete { .. }
                | Self::Calls { .. }
                | Self::Tables
                | Self::Api(_)
                | Self::Mpi(_)
        )
    }

    pub fn stops_with_parent(&self) -> bool {
        matches!(self, Self::Run { stop_with_parent: true, .. } | Self::Survey { stop_with_parent: true, .. })
    }

    /// True for those that a launcher may start many of: a front end finds out by itself whether one has.
    pub fn is_front_end(&self) -> bool {
        matches!(self, Self::Ior(_) | Self::Mdtest(_) | Self::Iozone(_) | Self::ObdfilterSurvey(_) | Self::Io500(_))
    }
}
