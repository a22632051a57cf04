//! Processes of the engine that a launcher has started, found in /proc: those of a lab's hosts are seen there too.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::process::{Bench, wait_until};

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub pid: u32,
    /// Which of them it is to its launcher.
    pub number: u32,
    /// It does a rank's I/O; otherwise it looks after one that does.
    pub is_rank: bool,
}

impl Engine {
    /// The host that it is on, `lab` or not: by the name of its own.
    pub fn host(&self) -> String {
        let uts = ["--uts", "--target", &self.pid.to_string(), "hostname"].map(str::to_owned);
        let output = Command::new("nsenter").args(uts).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid as i32), signal).unwrap();
    }
}

/// Those of `bench`, whose files they name on their command lines.
pub fn engines(bench: &Bench) -> Vec<Engine> {
    let pids: Vec<u32> = started(bench).into_iter().filter(|&pid| is_engine(pid)).collect();
    let engine = |&pid: &u32| {
        let is_rank = pids.contains(&parent(pid)?);
        Some(Engine { pid, number: number(pid)?, is_rank })
    };
    pids.iter().filter_map(engine).collect()
}

/// The process that does the I/O of the launcher's process `number`, or the one that looks after it.
pub fn engine(bench: &Bench, number: u32, is_rank: bool) -> Engine {
    let all = engines(bench);
    let mut those = all.iter().filter(|engine| engine.number == number && engine.is_rank == is_rank);
    those.next().unwrap_or_else(|| panic!("no engine {number}: {all:?}")).clone()
}

/// Returns when no process of `bench` is left, its launcher included.
pub fn all_have_ended(bench: &Bench) {
    wait_until("all processes have ended", || started(bench).is_empty());
}

/// Processes that name the files of `bench`.
fn started(bench: &Bench) -> Vec<u32> {
    let place = bench.root.path().to_str().unwrap();
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| contains(&line, place))).collect()
}

fn contains(line: &[u8], text: &str) -> bool {
    line.windows(text.len()).any(|window| window == text.as_bytes())
}

fn is_engine(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe"));
    program.is_ok_and(|program| program.file_name() == Path::new(env!("CARGO_BIN_EXE_ioassay-engine")).file_name())
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")).and_then(|number| number.trim().parse().ok())
}

fn number(pid: u32) -> Option<u32> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let text = String::from_utf8_lossy(&environment).into_owned();
    let names = ["OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="];
    names.iter().find_map(|name| text.split('\0').find_map(|entry| entry.strip_prefix(name)))?.parse().ok()
}
