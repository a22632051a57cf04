//! Gives sinks the documents of many nodes at once, and says what that costs: for `bench/watch`.
//!
//! `load AGENT.json NODES DOCUMENTS SECONDS`: so many documents of each node in each second. One JSON document on standard
//! output.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ioassay_agent::delivery::Deliveries;
use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::kinds::Io;
use ioassay_protocol::watch::setup::Setup;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [setup, nodes, documents, seconds] = &arguments[..] else {
        return Err("usage: load AGENT.json NODES DOCUMENTS SECONDS".into());
    };
    let (nodes, documents, seconds): (u64, u64, u64) = (nodes.parse()?, documents.parse()?, seconds.parse()?);
    let setup: Setup = serde_json::from_reader(File::open(setup)?)?;
    let deliveries = Deliveries::start(&setup.sinks, setup.spool.as_ref(), "load")?;
    let begin = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    let clock = Instant::now();
    let (mut slowest_give, mut late, mut most_waiting) = (Duration::ZERO, Duration::ZERO, 0);
    for second in 0..seconds {
        thread::sleep(Duration::from_secs(second).saturating_sub(clock.elapsed()));
        late = late.max(clock.elapsed().saturating_sub(Duration::from_secs(second)));
        // Nodes do not look at the same moment.
        for tenth in 0..10 {
            let given: Vec<_> = (0..nodes)
                .filter(|node| node % 10 == tenth)
                .flat_map(|node| (0..documents).map(move |number| document(node, number, begin + second)))
                .collect();
            let before = Instant::now();
            deliveries.give(&given);
            slowest_give = slowest_give.max(before.elapsed());
            let state = deliveries.state();
            most_waiting = most_waiting.max(state.iter().map(|sink| sink.waiting_documents).max().unwrap_or(0));
            thread::sleep(
                (Duration::from_secs(second) + Duration::from_millis(100) * (tenth as u32 + 1))
                    .saturating_sub(clock.elapsed()),
            );
        }
    }
    let lag_documents = deliveries.state().iter().map(|sink| sink.waiting_documents).sum::<u64>();
    // Before the threads end.
    let processor_s = processor_seconds()?;
    let ending = Instant::now();
    let left = deliveries.finish(Duration::from_secs(600));
    let result = json!({
        "documents": nodes * documents * seconds,
        "seconds": clock.elapsed().as_secs_f64(),
        "processor_s": processor_s,
        "peak_resident_kib": status("VmHWM")?,
        "slowest_give_ms": slowest_give.as_secs_f64() * 1e3,
        "latest_ms": late.as_secs_f64() * 1e3,
        "most_waiting_documents": most_waiting,
        "waiting_at_the_end": lag_documents,
        "seconds_to_deliver_them": ending.elapsed().as_secs_f64(),
        "dropped_documents": left.iter().map(|sink| sink.dropped_documents).sum::<u64>(),
        "spooled_documents": left.iter().map(|sink| sink.spooled_documents).sum::<u64>(),
        "problems": left.iter().filter_map(|sink| sink.problem.clone()).collect::<Vec<_>>(),
    });
    println!("{result}");
    Ok(())
}

fn document(node: u64, number: u64, second: u64) -> Document {
    let io = Io {
        node: format!("node-{node:04}"),
        job: format!("{}", 100_000 + node / 4),
        user: "1000".to_owned(),
        class: ["read", "write", "open", "stat", "close"][number as usize % 5].to_owned() + &format!(" {}", number / 5),
        calls: (second * 7 + number) % 1000,
        bytes: (second * 4096 * (number + 1)) % (1 << 30),
        busy_ns: (second * 31 + number * 17) % 1_000_000_000,
        slowest_ns: (second * 13 + number) % 1_000_000,
    };
    io.of(second, 0)
}

/// Processor time by the names of threads.
fn processor_seconds() -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut seconds = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let name = fs::read_to_string(task.join("comm"))?.trim().to_owned();
        // Nanoseconds on a processor come first.
        let time = fs::read_to_string(task.join("schedstat"))?;
        let time: f64 = time.split(' ').next().unwrap_or_default().parse()?;
        *seconds.entry(name).or_insert(0.0) += time / 1e9;
    }
    Ok(seconds)
}

fn status(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(line.unwrap_or_default().trim().trim_end_matches(" kB").parse()?)
}
