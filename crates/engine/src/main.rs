//! `ioassay-engine`: a plan in, events out. The whole program on one screen; no logic here.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ioassay_contract::front_end::Tool;
use ioassay_engine::hosts::Hosts;
use ioassay_engine::{command, frontends};

/// The load engine of ioassay. It reads a plan, does the I/O that it says, and reports events, one JSON object a line.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    /// Spread the clients over hosts that are namespaces of this machine: the process numbers of one process in each.
    #[arg(long = "host", value_name = "PID")]
    hosts: Vec<i32>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one case. Exit code 0: complete; 1: a phase failed; 2: the plan is refused; 3: it could not run.
    Run {
        /// The plan, one case (schemas/plan.json).
        plan: PathBuf,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
        /// Append a line of progress to this file some five times a second.
        #[arg(long)]
        progress: Option<PathBuf>,
        /// End when the process that started the engine ends.
        #[arg(long)]
        stop_with_parent: bool,
    },
    /// Say whether plans can run: valid, and with room on their target. Nothing is written to the target.
    Check {
        /// The plans.
        #[arg(required = true)]
        plans: Vec<PathBuf>,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
    },
    /// Remove what an interrupted run left: by its list, never by a pattern.
    Clean {
        /// The directory `ioassay-RUN` under the target, or its URL, as the event `started` names it.
        workspace: PathBuf,
        /// Append events to this file (schemas/event.json).
        #[arg(long)]
        events: PathBuf,
    },
    /// IOR's command line (`ioassay-engine ior -h`).
    Ior(FrontEnd),
    /// mdtest's command line (`ioassay-engine mdtest -h`).
    Mdtest(FrontEnd),
    /// IOzone's command line, its throughput mode (`ioassay-engine iozone -h`).
    Iozone(FrontEnd),
    /// obdfilter-survey, which is told by its environment (`ioassay-engine obdfilter-survey -h`).
    ObdfilterSurvey(FrontEnd),
    /// The IO500 with its .ini file (`ioassay-engine io500 -h`).
    Io500(FrontEnd),
}

/// A command line of another tool.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct FrontEnd {
    /// The tool's own arguments, and among them --ranks N, --run DIR and --overwrite.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
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

fn main() -> ExitCode {
    let Arguments { hosts, command } = Arguments::parse_from(arguments());
    let hosts = match Hosts::enter(&hosts) {
        Ok(hosts) => hosts,
        Err(error) => {
            eprintln!("ioassay-engine: the hosts cannot be entered: {error}");
            eprintln!("  try: see whether all of them are still up, as root");
            return ExitCode::from(command::COULD_NOT_RUN);
        }
    };
    let ended = match command {
        Command::Run { plan, events, progress, stop_with_parent } => {
            command::run(&plan, &events, progress.as_deref(), stop_with_parent, &hosts)
        }
        Command::Check { plans, events } => command::check(&plans, &events),
        Command::Clean { workspace, events } => command::clean(&workspace, &events),
        Command::Ior(FrontEnd { arguments }) => frontends::run(Tool::Ior, arguments),
        Command::Mdtest(FrontEnd { arguments }) => frontends::run(Tool::Mdtest, arguments),
        Command::Iozone(FrontEnd { arguments }) => frontends::run(Tool::Iozone, arguments),
        Command::ObdfilterSurvey(FrontEnd { arguments }) => frontends::run(Tool::ObdfilterSurvey, arguments),
        Command::Io500(FrontEnd { arguments }) => frontends::run(Tool::Io500, arguments),
    };
    if let Some(failure) = &ended.failure {
        eprintln!("ioassay-engine: {}", failure.message);
        eprintln!("  try: {}", failure.remedy);
    }
    ExitCode::from(ended.code)
}
