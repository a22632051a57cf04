//! Reads documents as engine and agent do, and writes them as they do: the control plane's tests compare its own readers.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use ioassay_protocol::events::{Event, Progress};
use ioassay_protocol::front_end::FrontEnd;
use ioassay_protocol::plan::Plan;
use ioassay_protocol::record::Record;
use ioassay_protocol::snapshot::Snapshot;
use ioassay_protocol::watch::contract::Contract;
use ioassay_protocol::watch::setup::Setup;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A document of the protocol, by the name of its schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Kind {
    Agent,
    Contract,
    Event,
    FrontEnd,
    Plan,
    Progress,
    Record,
    Snapshot,
}

/// For each line of standard input a line with `written`, or with why it was `refused`.
pub fn read_lines(kind: Kind) -> ExitCode {
    let read = match kind {
        Kind::Agent => read::<Setup>,
        Kind::Contract => read::<Contract>,
        Kind::Event => read::<Event>,
        Kind::FrontEnd => read::<FrontEnd>,
        Kind::Plan => read::<Plan>,
        Kind::Progress => read::<Progress>,
        Kind::Record => read::<Record>,
        Kind::Snapshot => read::<Snapshot>,
    };
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answered = line.and_then(|line| {
            writeln!(output, "{}", read(&line))?;
            output.flush()
        });
        if answered.is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn read<Document: Serialize + DeserializeOwned>(line: &str) -> Value {
    match serde_json::from_str::<Document>(line).and_then(|document| serde_json::to_string(&document)) {
        // As text, in which numbers are as they were written.
        Ok(written) => json!({ "written": written }),
        Err(error) => json!({ "refused": error.to_string() }),
    }
}
