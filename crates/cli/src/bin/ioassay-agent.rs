//! `ioassay-agent`: a setup in, documents out. The whole program on one screen; no logic here.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use ioassay_agent::agent::Agent;
use ioassay_agent::delivery::Deliveries;
use ioassay_agent::registrations::Registrations;
use ioassay_agent::setup;
use ioassay_agent::wake::{Wake, WakeReason};
use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::setup::{Sink, Tables};

/// Watches the I/O of recorded jobs on this node: their tables and the node's counters to contracts and sinks.
///
/// Usually `ioassay record --watch` starts it. It ends when what it watches has ended, or by SIGTERM or SIGINT.
#[derive(Parser)]
#[command(name = "ioassay-agent", version)]
struct Arguments {
    /// What is asked: `agent.json`, as `ioassay watch prepare` writes it.
    setup: PathBuf,
    /// The directory in which recorders say where their tables are. For the tables of a node it is made, and all users can write
    /// to it: /run/ioassay/registrations, where `ioassay record` looks.
    #[arg(long, value_name = "DIRECTORY")]
    registrations: Option<PathBuf>,
}

/// What sinks may still deliver when the agent ends.
const LAST_DELIVERY: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("ioassay-agent: {message}");
            ExitCode::from(3)
        }
    }
}

fn run(asked: &Arguments) -> Result<(), String> {
    let setup = setup::read(&asked.setup, asked.registrations.is_some())?;
    let path = asked.registrations.as_deref();
    let registrations = match path.map(|path| Registrations::serve(path, &setup)).transpose() {
        Ok(served) => served,
        // Another recorder started one at the same time.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock && setup.tables == Tables::Registered => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let only_output = matches!(setup.sinks[..], [Sink::JsonLines { directory: None }]);
    let mut wake = Wake::new(path, only_output).map_err(|error| format!("signals cannot be waited for: {error}"))?;
    let node = ioassay_host::host_name();
    let mut agent = Agent::new(&setup, node.clone(), wake.began() + 1, registrations)
        .map_err(|error| format!("/dev/urandom: {error}"))?;
    let deliveries = Deliveries::start(&setup.sinks, setup.spool.as_ref(), &node).map_err(|error| error.to_string())?;
    let mut second = wake.began();
    let give = |documents: Vec<Document>| deliveries.give(&documents);
    // Those who came before the directory was watched.
    let mut may_end = agent.look_at_registrations(second);
    loop {
        match wake.wait() {
            WakeReason::Second(last) => {
                second = last;
                // Processes may have gone without a word.
                may_end |= agent.look_at_registrations(second);
                give(agent.look(last, wake.late_ns(), &deliveries));
                if agent.shares_limits() {
                    wake.expect_others();
                }
                if may_end && agent.ends_if_nobody_is_registered() {
                    give(agent.end(last));
                    break;
                }
            }
            WakeReason::Others => agent.share_with_others(),
            WakeReason::Registrations => may_end |= agent.look_at_registrations(second),
            WakeReason::Stop => {
                let last = wake.last_over();
                if last > second {
                    give(agent.look(last, 0, &deliveries));
                }
                give(agent.look_for_the_last_time());
                break;
            }
        }
    }
    // Other nodes get what this one had of limits, and do not wait for what is still to be delivered.
    drop(agent);
    for rest in deliveries.finish(LAST_DELIVERY) {
        if let Some(left) = rest.in_words() {
            eprintln!("ioassay-agent: {left}");
        }
    }
    Ok(())
}
