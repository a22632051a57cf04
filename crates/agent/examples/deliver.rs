//! Delivers documents that come as JSON lines on standard input, as an agent would: for tests of sinks with real stores.
//!
//! `deliver AGENT.json NODE SECONDS`: an empty line gives what came before it, and the state of the sinks is printed as
//! a line of JSON on standard error. At the end of the input, so many seconds are left to deliver what waits.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead};
use std::time::Duration;

use ioassay_agent::delivery::Deliveries;
use ioassay_protocol::watch::document::{Document, Value};
use ioassay_protocol::watch::kinds::KINDS;
use ioassay_protocol::watch::setup::Setup;
use serde_json::{Map, json};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [setup, node, seconds] = &arguments[..] else {
        return Err("usage: deliver AGENT.json NODE SECONDS".into());
    };
    let setup: Setup = serde_json::from_reader(File::open(setup)?)?;
    let deliveries = match Deliveries::start(&setup.sinks, setup.spool.as_ref(), node) {
        Ok(deliveries) => deliveries,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    };
    let mut documents = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.is_empty() {
            deliveries.give(&documents);
            documents.clear();
            for sink in deliveries.state() {
                let (waiting, dropped) = (sink.waiting_documents, sink.dropped_documents);
                let state = json!({
                    "sink": sink.name, "waiting": waiting, "dropped": dropped, "problem": sink.problem, "refusal": sink.refusal,
                });
                eprintln!("{state}");
            }
        } else {
            documents.push(document(&serde_json::from_str(&line)?)?);
        }
    }
    deliveries.give(&documents);
    for sink in deliveries.finish(Duration::from_secs_f64(seconds.parse()?)) {
        let (spooled, dropped) = (sink.spooled_documents, sink.dropped_documents);
        eprintln!("{}", json!({"sink": sink.name, "spooled": spooled, "dropped": dropped, "problem": sink.problem}));
    }
    Ok(())
}

fn document(line: &Map<String, serde_json::Value>) -> Result<Document, Box<dyn Error>> {
    let number = |name: &str| line.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let kind =
        KINDS.iter().find(|kind| line.get("kind").is_some_and(|name| name == kind.name)).ok_or("no such kind")?;
    let value = |name: &str| match line.get(name) {
        Some(serde_json::Value::String(text)) => Value::Text(text.clone()),
        Some(serde_json::Value::Number(number)) => number.as_u64().map_or(Value::Missing, Value::Number),
        _ => Value::Missing,
    };
    let values = kind.fields.iter().map(|field| value(field.name)).collect();
    Ok(Document { kind, second: number("second"), part: u32::try_from(number("part"))?, values })
}
