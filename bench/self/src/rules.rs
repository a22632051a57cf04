//! What rules cost the application that they are for, and how close the rate is that they hold it to.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ioassay_host::locks;
use ioassay_record::layout::bytes_of;
use ioassay_record::operation::Operation;
use ioassay_record::path_rules::{NewRule, PathTable, WHOLE_FILE_BYTES, Writer, table_begins_at};
use ioassay_record::rules::{
    Alias, AliasBy, FILE_BYTES, GENERATION_AT, Half, NAME, OfTable, Rule, RuleKind, SLOTS, bit, bucket_begins_at,
    encode, half_begins_at, header,
};
use ioassay_shm::memory::Memory;

use crate::{Result, recorder};

/// How long calls are held back in each measurement.
const HELD_FOR: Duration = Duration::from_secs(5);
/// Length in bytes of the file of each process, which is overwritten again and again.
const FILE: u64 = 16 << 20;
const MOST_PROCESSES: usize = 64;

/// A rule that counts all calls on whatever is at `path`.
const fn monitor(path: &[u8]) -> Rule<'_> {
    Rule {
        kind: RuleKind::Monitor,
        operations: u64::MAX,
        path,
        least_bytes: 0,
        most_bytes: u64::MAX,
        rate_per_s: 0,
        burst_ns: 0,
        number: 0,
    }
}

const NO_ALIASES: &[Alias<&[u8]>] = &[];

/// A file of rules in a directory of tables, and the lock of the agent that gave them.
struct RulesFile(File);

impl RulesFile {
    fn make(directory: &Path) -> Result<Self> {
        let path = directory.join(NAME);
        let file = File::options().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all_at(&[0; FILE_BYTES], 0)?;
        file.write_all_at(bytes_of(&header()), 0)?;
        locks::lock(&file)?;
        Ok(Self(file))
    }

    fn give(&self, generation: u64, rules: &[Rule]) -> Result<()> {
        let mut all = [None; SLOTS];
        rules.iter().enumerate().for_each(|(slot, rule)| all[slot] = Some(*rule));
        self.put_in_force(generation, &encode(&all, NO_ALIASES).map_err(|unfit| format!("{unfit:?}"))?)
    }

    /// The same, of rules that have slots once a process has opened one of their files.
    fn give_in_table(&self, generation: u64, rules: &[Rule]) -> Result<()> {
        let mut words = vec![0; PathTable::WORDS];
        let mut writer = Writer::new(PathTable::in_words(&mut words).ok_or("too little memory")?);
        for (number, rule) in (1..).zip(rules) {
            let new = NewRule { rule: Rule { number, ..*rule }, beyond_operations: 0, slots: None };
            // As many keys as most rules have.
            writer.add(&new, &[AliasBy::PathOnDevice(1, rule.path)]).map_err(|unfit| format!("{unfit:?}"))?;
        }
        self.0.set_len(WHOLE_FILE_BYTES as u64)?;
        for (offset, bytes) in std::iter::once(writer.rules()).chain(writer.keys()) {
            self.0.write_all_at(bytes, table_begins_at(generation) + offset)?;
        }
        let operations = rules.iter().fold(0, |all, rule| all | rule.operations);
        let table = OfTable { rules: rules.len() as u64, operations, throttles: false };
        let half = encode(&[None; SLOTS], NO_ALIASES).map_err(|unfit| format!("{unfit:?}"))?;
        self.put_in_force(generation, &half.with_table(table))
    }

    fn put_in_force(&self, generation: u64, half: &Half) -> Result<()> {
        self.0.write_all_at(bytes_of(half), half_begins_at(generation))?;
        self.0.write_all_at(&[0; 8], bucket_begins_at(0))?;
        self.0.write_all_at(&generation.to_le_bytes(), GENERATION_AT)?;
        Ok(())
    }
}

/// Prints what calls cost without rules, with ten that match none of them, and with one that matches all.
pub fn cost() -> Result<()> {
    let scratch = tempfile::tempdir_in("/dev/shm")?;
    let paths: Vec<_> = (0..10).map(|number| format!("/nowhere/{number}").into_bytes()).collect();
    let none: Vec<_> = paths.iter().map(|path| monitor(path)).collect();
    let free = Rule { kind: RuleKind::ThrottleBytes, rate_per_s: 1 << 50, ..monitor(b"") };
    let mut modes = vec![recorder::nothing()];
    let mut agents = Vec::new();
    for (name, rules) in [
        ("no file of rules", None),
        ("no rules", Some(&[][..])),
        ("ten rules that match nothing", Some(&none)),
        ("one that counts", Some(&[monitor(b"")])),
        ("one that holds back, at a rate never reached", Some(&[free])),
    ] {
        let tables = scratch.path().join(name.replace(' ', "-"));
        fs::create_dir(&tables)?;
        if let Some(rules) = rules {
            let agent = RulesFile::make(&tables)?;
            if !rules.is_empty() {
                agent.give(1, rules)?;
            }
            agents.push(agent);
        }
        modes.push(recorder::recorded(name, &tables)?);
    }
    println!("## What rules cost\n");
    recorder::calls(scratch.path(), &modes)
}

/// Prints what calls cost with so many rules with paths, none of which is for the files in use.
pub fn paths() -> Result<()> {
    let scratch = tempfile::tempdir_in("/dev/shm")?;
    let mut modes = vec![recorder::nothing()];
    let mut agents = Vec::new();
    for (name, count) in
        [("no rule", 0), ("1 rule", 1), ("64 rules", 64), ("1,000 rules", 1_000), ("10,000 rules", 10_000)]
    {
        let tables = scratch.path().join(name.replace([' ', ','], "-"));
        fs::create_dir(&tables)?;
        let paths: Vec<_> = (0..count).map(|number| format!("/dev/project-{number}/data").into_bytes()).collect();
        let rules: Vec<_> = paths.iter().map(|path| monitor(path)).collect();
        let agent = RulesFile::make(&tables)?;
        match count {
            0 => {}
            1..=SLOTS => agent.give(1, &rules)?,
            _ => agent.give_in_table(1, &rules)?,
        }
        agents.push(agent);
        modes.push(recorder::recorded(name, &tables)?);
    }
    println!("## What rules with paths cost\n");
    recorder::calls(scratch.path(), &modes)
}

/// The progress of a process, in shared memory.
#[derive(Debug)]
#[repr(C, align(64))]
struct Progress {
    /// When it wanted to make its first call, and when its last one ended.
    begin_ns: AtomicU64,
    end_ns: AtomicU64,
    bytes: AtomicU64,
}

type AllProgress = [Progress; MOST_PROCESSES];

fn map(path: &Path) -> Result<Memory> {
    let file = File::options().read(true).write(true).open(path)?;
    Ok(Memory::of(&file, size_of::<AllProgress>())?)
}

/// Now, by the clock that all processes share.
fn now_ns() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64)
}

/// Writes calls of so many bytes until it is killed: `directory`, the number of the process, bytes.
pub fn write(directory: &Path, number: usize, bytes: usize) -> Result<()> {
    let memory = map(&directory.join("progress"))?;
    // SAFETY: zeros are a valid beginning, and all of it is atomic.
    let progress = unsafe { &memory.start::<AllProgress>().as_ref()[number] };
    let file = File::create(directory.join(format!("file-{number}")))?;
    let buffer = vec![b'x'; bytes];
    while !directory.join("go").exists() {
        sleep(Duration::from_millis(1));
    }
    progress.begin_ns.store(now_ns()?, Relaxed);
    for call in 0.. {
        file.write_all_at(&buffer, call * bytes as u64 % FILE)?;
        progress.end_ns.store(now_ns()?, Relaxed);
        progress.bytes.fetch_add(bytes as u64, Relaxed);
    }
    Ok(())
}

/// Processes that write, and end with this.
struct Writers(Vec<Child>);

impl Drop for Writers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Prints how close the rate is that processes have together to that of their rule.
pub fn throttle() -> Result<()> {
    println!(
        "## The rate that a rule of 50 ms burst holds processes to, off by, over {HELD_FOR:?} in memory (tmpfs)\n"
    );
    println!("| rule, B/s | a call, B | 1 process | 4 | 16 | 64 |\n|---|---|---|---|---|---|");
    for rate in [1_000_000, 100_000_000, 1_000_000_000] {
        for bytes in [4 << 10, 1 << 20, 16 << 20] {
            // Of calls larger than a fifth of the time, too few are made.
            if (bytes as f64) > rate as f64 * HELD_FOR.as_secs_f64() / 5.0 {
                continue;
            }
            print!("| {rate} | {bytes}");
            for processes in [1, 4, 16, MOST_PROCESSES] {
                let measured = held(rate, bytes, processes)?;
                print!(" | {:+.1} %", (measured / rate as f64 - 1.0) * 100.0);
            }
            println!(" |");
        }
    }
    println!();
    Ok(())
}

/// Bytes per second that so many processes have together.
fn held(rate_per_s: u64, bytes: usize, processes: usize) -> Result<f64> {
    let scratch = tempfile::tempdir_in("/dev/shm")?;
    let tables = scratch.path().join("tables");
    fs::create_dir(&tables)?;
    let agent = RulesFile::make(&tables)?;
    let files = [scratch.path().as_os_str().as_encoded_bytes(), b"/file-*"].concat();
    let operations = bit(Operation::Write);
    let kind = RuleKind::ThrottleBytes;
    agent.give(1, &[Rule { kind, operations, rate_per_s, burst_ns: 50_000_000, ..monitor(&files) }])?;
    let progress = scratch.path().join("progress");
    fs::write(&progress, vec![0; size_of::<AllProgress>()])?;
    let mode = recorder::recorded("held", &tables)?;
    let program = std::env::current_exe()?;
    let start = |number: usize| {
        let mut command = Command::new(&program);
        let words = [number, bytes].map(|word| word.to_string());
        recorder::start(command.arg("--write").arg(scratch.path()).args(words), &mode).stdin(Stdio::null()).spawn()
    };
    let writers = Writers((0..processes).map(start).collect::<std::io::Result<_>>()?);
    fs::write(scratch.path().join("go"), "")?;
    sleep(HELD_FOR);
    drop(writers);
    let memory = map(&progress)?;
    // SAFETY: all of it is atomic, and any bytes are valid.
    let all = unsafe { memory.start::<AllProgress>().as_ref() };
    let of = |number: fn(&Progress) -> &AtomicU64| all.iter().map(move |process| number(process).load(Relaxed));
    let begin = of(|process| &process.begin_ns).filter(|&ns| ns > 0).min().ok_or("nothing was written")?;
    let end = of(|process| &process.end_ns).max().ok_or("nothing was written")?;
    // The first call goes at once: it is paid for by the time after the last.
    let written = of(|process| &process.bytes).sum::<u64>() - bytes as u64;
    Ok(written as f64 / ((end - begin) as f64 * 1e-9))
}
