//! `ioassay-engine`: a plan in, events out. The whole program on one screen; no logic here.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ioassay_engine::command;

/// The load engine of ioassay. It reads a plan, does the I/O that it says, and reports events, one JSON object a line.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
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
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Run { plan, events, progress, stop_with_parent } => {
            command::run(&plan, &events, progress.as_deref(), stop_with_parent)
        }
        Command::Check { plans, events } => command::check(&plans, &events),
        Command::Clean { workspace, events } => command::clean(&workspace, &events),
    };
    if let Some(failure) = &ended.failure {
        eprintln!("ioassay-engine: {}", failure.message);
        eprintln!("  try: {}", failure.remedy);
    }
    ExitCode::from(ended.code)
}
