//! Generates and checks what is generated from Rust: the JSON schemas in `python/ioassay/schemas/`, the reference of
//! the front ends, the facts that the control plane goes by too, the layouts of a recorder's tables, the documents of an agent.
//!
//! `cargo run -p ioassay-dev -- generate` writes them, `-- check` fails when one is stale. `-- read KIND` reads documents as
//! engine and agent do, for the tests of the control plane. Not shipped.

mod caches;
mod documents;
mod facts;
mod record_layout;
mod watch_kinds;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use ioassay_protocol::events::{Event, Progress};
use ioassay_protocol::front_end::FrontEnd;
use ioassay_protocol::plan::Plan;
use ioassay_protocol::record::Record;
use ioassay_protocol::snapshot::Snapshot;
use ioassay_protocol::watch::contract::Contract;
use ioassay_protocol::watch::setup::Setup;
use schemars::{Schema, schema_for};

/// Generate or check the JSON schemas, the reference of the front ends, facts and layouts for the control plane.
#[derive(Parser)]
struct Arguments {
    /// What to do.
    #[command(subcommand)]
    mode: Mode,
}

#[derive(Clone, Copy, clap::Subcommand)]
enum Mode {
    /// Write them.
    Generate,
    /// Fail if one differs from what would be written.
    Check,
    /// Read a document from each line of standard input, and write it again, or why it is refused.
    Read {
        /// What the documents are.
        kind: documents::Kind,
    },
}

/// Every generated file, with its content.
fn generated() -> Vec<(PathBuf, String)> {
    let control_plane = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ioassay");
    let schemas = control_plane.join("schemas");
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let guide = reference.join("../guides/cold-caches.md");
    let caches = caches::guide(&std::fs::read_to_string(&guide).unwrap_or_default());
    let text = |schema: Schema| format!("{:#}\n", schema.as_value());
    vec![
        (schemas.join("plan.json"), text(schema_for!(Plan))),
        (schemas.join("event.json"), text(schema_for!(Event))),
        (schemas.join("front-end.json"), text(schema_for!(FrontEnd))),
        (reference.join("front-ends.md"), ioassay_frontends::reference()),
        (guide, caches),
        (schemas.join("progress.json"), text(schema_for!(Progress))),
        (schemas.join("record.json"), text(schema_for!(Record))),
        (schemas.join("snapshot.json"), text(schema_for!(Snapshot))),
        (schemas.join("contract.json"), text(schema_for!(Contract))),
        (schemas.join("agent.json"), text(schema_for!(Setup))),
        (control_plane.join("protocol/facts.py"), facts::module()),
        (control_plane.join("protocol/record_layout.py"), record_layout::module()),
        (control_plane.join("protocol/watch_kinds.py"), watch_kinds::module()),
    ]
}

fn main() -> ExitCode {
    let mode = Arguments::parse().mode;
    if let Mode::Read { kind } = mode {
        return documents::read_lines(kind);
    }
    let mut stale = 0;
    for (path, text) in generated() {
        let current = std::fs::read_to_string(&path).unwrap_or_default() == text;
        match mode {
            Mode::Check if !current => {
                eprintln!("{} is stale: run `make generate`", path.display());
                stale += 1;
            }
            Mode::Generate if !current => {
                if let Err(error) = std::fs::create_dir_all(path.parent().expect("a file in a folder"))
                    .and_then(|()| std::fs::write(&path, text))
                {
                    eprintln!("{}: {error}", path.display());
                    stale += 1;
                }
            }
            Mode::Check | Mode::Generate | Mode::Read { .. } => {}
        }
    }
    if stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
