//! The bare loops: system calls on names and offsets made beforehand, and nothing else.

pub mod data;
pub mod entries;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use ioassay_engine::case::Case;
use ioassay_engine::ranks::local::LocalRank;
use ioassay_engine::ranks::{Ranks, Stopped};

/// Runs `operations` calls of `call` on each rank, all together; rank 0 appends `name` and the operations per second of
/// all to `results`.
fn timed(
    case: &Case<'_>,
    rank: &LocalRank<'_>,
    (name, results): (&str, &Path),
    operations: usize,
    call: impl FnOnce(),
) -> Result<(), Stopped> {
    rank.begin_step(0, None)?;
    let start = rank.start_together()?;
    call();
    let took_ns = case.clock.now_ns() - start.opened_ns;
    if let Some(all) = rank.gather(&took_ns.to_le_bytes(), &mut |all| all.concat())? {
        let all = all.concat();
        let slowest = all.chunks_exact(8).map(|ns| u64::from_le_bytes(ns.try_into().expect("8 bytes"))).max();
        let operations = operations as f64 * f64::from(rank.size());
        let rate = operations / slowest.expect("there are ranks") as f64 * 1e9;
        let mut file = OpenOptions::new().append(true).create(true).open(results).expect("results");
        writeln!(file, "{name} {rate}").expect("results");
    }
    Ok(())
}

/// The rates that were appended to `results` under `name`.
pub fn results(results: &Path, name: &str) -> io::Result<Vec<f64>> {
    let text = std::fs::read_to_string(results)?;
    let rates = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    rates.map(|rate| rate.parse().map_err(io::Error::other)).collect()
}
