//! Bare loops of system calls: what the kernel gives when nothing measures single operations, nothing is chosen
//! while the clock runs and nothing can be interrupted. It shares no code with the engine.
//!
//! Each phase is timed from the first rank's start to the last rank's end, open and close included, and printed as
//! one JSON object a line: `{"operation":"read","operations":131072,"ns":81234567}`.

mod data;
mod metadata;
mod ranks;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Bare loops of system calls.
#[derive(Debug, Parser)]
struct Command {
    #[command(subcommand)]
    work: Work,
}

#[derive(Debug, Subcommand)]
enum Work {
    /// pwrite, then pread, again and again over files that are there.
    Data(Data),
    /// Create, stat, read and unlink files by their names in an open directory.
    Metadata(Metadata),
}

#[derive(Debug, Args)]
struct Data {
    /// An empty directory.
    directory: PathBuf,
    /// Processes.
    #[arg(long, default_value_t = 2)]
    ranks: usize,
    /// Bytes of each rank; a multiple of the transfer.
    #[arg(long)]
    rank_bytes: u64,
    /// Bytes of one call.
    #[arg(long)]
    transfer_bytes: u64,
    /// How long whole passes are begun, in seconds.
    #[arg(long)]
    seconds: f64,
    /// A random permutation and not ascending offsets.
    #[arg(long)]
    random: bool,
    /// One file for all ranks and not one each.
    #[arg(long)]
    shared: bool,
    /// O_DIRECT.
    #[arg(long)]
    direct: bool,
}

#[derive(Debug, Args)]
struct Metadata {
    /// An empty directory.
    directory: PathBuf,
    /// Processes.
    #[arg(long, default_value_t = 2)]
    ranks: usize,
    /// Files of each rank.
    #[arg(long)]
    files_per_rank: u64,
    /// Bytes that are written into each file, and read again.
    #[arg(long, default_value_t = 0)]
    file_bytes: usize,
    /// One directory for all ranks and not one each.
    #[arg(long)]
    shared: bool,
}

fn main() {
    match Command::parse().work {
        Work::Data(data) => data::run(&data),
        Work::Metadata(metadata) => metadata::run(&metadata),
    }
}
