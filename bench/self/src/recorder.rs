//! What the recorder costs an application: the same program with and without it, in alternating pairs, each run a process of
//! its own. With `DARSHAN=…/libdarshan.so` in the environment (a build without MPI) Darshan is measured beside it, with
//! `EARLIER=…/libioassay-recorder.so` the library of another version.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Instant;

use ioassay_capture::library;
use ioassay_record::names::STACKS_REQUESTED_FILE;

use crate::{Result, median};

/// Rounds of each measurement.
const ROUNDS: usize = 15;
/// Calls of each run, which begins with a twentieth of it outside the clock.
const CALLS: u64 = 20_000;
/// Of the file that is read and written.
const FILE_BYTES: u64 = 1 << 20;
/// Threads on one file.
const THREADS: u64 = 8;
/// C sources of the project that is built.
const SOURCES: usize = 40;

/// What an application does.
struct Work {
    name: &'static str,
    /// What is asked of the recorder.
    goal: &'static str,
    /// Does it with an open file, whose path may be needed too: nanoseconds for each call.
    run: fn(&File, &Path) -> f64,
}

const OF_TRANSFERS: &str = "at most 35 ns or half of Darshan's";

const WORKS: [Work; 6] = [
    Work {
        name: "pread of 64 B",
        goal: OF_TRANSFERS,
        run: |file, _| timed(|calls| transfers(file, calls, 0, 64, true)),
    },
    Work {
        name: "pread of 4 KiB",
        goal: OF_TRANSFERS,
        run: |file, _| timed(|calls| transfers(file, calls, 0, 4096, true)),
    },
    Work {
        name: "pwrite of 64 B",
        goal: OF_TRANSFERS,
        run: |file, _| timed(|calls| transfers(file, calls, 0, 64, false)),
    },
    Work {
        name: "pwrite of 4 KiB",
        goal: OF_TRANSFERS,
        run: |file, _| timed(|calls| transfers(file, calls, 0, 4096, false)),
    },
    Work {
        name: "open and close",
        goal: "at most half of Darshan's",
        run: |_, path| timed(|calls| (0..calls).for_each(|_| drop(File::open(path)))),
    },
    Work {
        name: "pread of 4 KiB, 8 threads",
        goal: "at most 1.3 times that of one thread",
        run: |file, _| threads(file),
    },
];

/// Does one of the works in `directory`, and prints nanoseconds for each call.
pub fn work(name: &str, directory: &Path) -> Result<()> {
    let work = WORKS.iter().find(|work| work.name == name).ok_or_else(|| format!("{name} is not known"))?;
    let path = directory.join("file");
    let file = File::options().read(true).write(true).open(&path)?;
    println!("{}", (work.run)(&file, &path));
    Ok(())
}

/// Nanoseconds for each call.
fn timed(run: impl Fn(u64)) -> f64 {
    run(CALLS / 20);
    let began = Instant::now();
    run(CALLS);
    began.elapsed().as_nanos() as f64 / CALLS as f64
}

/// Transfers that go up through a part of the file and begin again. Errors show as times that cannot be.
fn transfers(file: &File, calls: u64, begin: u64, bytes: usize, read: bool) {
    let mut buffer = vec![b'x'; bytes];
    let part = FILE_BYTES / THREADS;
    for call in 0..calls {
        let offset = begin + call * bytes as u64 % part;
        let done = if read { file.read_at(&mut buffer, offset) } else { file.write_at(&buffer, offset) };
        assert_eq!(done.ok(), Some(bytes));
    }
}

/// Nanoseconds for each call of all threads together, each on a part of the same file.
fn threads(file: &File) -> f64 {
    let barrier = Barrier::new(THREADS as usize);
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..THREADS)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let begin = thread * FILE_BYTES / THREADS;
                    transfers(file, CALLS / 20, begin, 4096, true);
                    barrier.wait();
                    let began = Instant::now();
                    transfers(file, CALLS, begin, 4096, true);
                    (began, Instant::now())
                })
            })
            .collect();
        started.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let began = times.iter().map(|times| times.0).min().expect("there are threads");
    let ended = times.iter().map(|times| times.1).max().expect("there are threads");
    (ended - began).as_nanos() as f64 / (CALLS * THREADS) as f64
}

/// A program, and what is added to its environment.
pub struct Mode {
    name: &'static str,
    environment: Vec<(&'static str, String)>,
}

/// Measures all of it.
pub fn recorder() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let modes = modes(scratch.path())?;
    println!("## The recorder, {ROUNDS} rounds, in turn: without, with it, with others\n");
    calls(scratch.path(), &modes)?;
    let wall = |command: &mut Command, mode: &Mode| -> Result<f64> {
        let began = Instant::now();
        let status = start(command, mode).stdout(Stdio::null()).status()?;
        assert!(status.success());
        Ok(began.elapsed().as_secs_f64())
    };
    row("fork, exec and exit of /bin/true, us", "at most 200 us more", &modes, |mode| {
        let mut times = (0..20).map(|_| wall(&mut Command::new("/bin/true"), mode)).collect::<Result<Vec<_>>>()?;
        Ok(median(&mut times) * 1e6)
    })?;
    // A process lives longer the more it has to compile: nobody's files are as short as the first ones.
    for functions in [1, 100] {
        let project = project(scratch.path(), functions)?;
        row(
            &format!("make -j2 of {SOURCES} C files of {functions} functions, s"),
            "at most 3 % more",
            &modes,
            |mode| wall(Command::new("make").args(["-s", "-B", "-j2", "-C"]).arg(&project), mode),
        )?;
    }
    println!();
    Ok(())
}

/// Measures single calls with each mode, of which the first is without anything.
pub fn calls(scratch: &Path, modes: &[Mode]) -> Result<()> {
    fs::write(scratch.join("file"), vec![b'x'; FILE_BYTES as usize])?;
    let others: Vec<_> = modes[1..].iter().map(|mode| format!("with {}", mode.name)).collect();
    println!("| | without | {} | goal |\n|---|---|{}---|", others.join(" | "), "---|".repeat(others.len()));
    let program = std::env::current_exe()?;
    for Work { name, goal, .. } in WORKS {
        let run = |mode: &Mode| -> Result<f64> {
            let done = start(Command::new(&program).arg("--work").arg(name).arg(scratch), mode).output()?;
            Ok(String::from_utf8(done.stdout)?.trim().parse()?)
        };
        row(&format!("{name}, ns"), goal, modes, run)?;
    }
    Ok(())
}

/// Without anything.
pub fn nothing() -> Mode {
    Mode { name: "nothing", environment: Vec::new() }
}

/// With the recorder, which is written into the directory of its tables.
pub fn recorded(name: &'static str, tables: &Path) -> Result<Mode> {
    let written = library::write(&[tables], "").map_err(|failure| failure.message)?;
    Ok(recorded_by(name, &written, tables))
}

fn recorded_by(name: &'static str, library: &Path, tables: &Path) -> Mode {
    Mode { name, environment: vec![preload(library), ("IOASSAY_RECORD", tables.display().to_string())] }
}

fn preload(library: &Path) -> (&'static str, String) {
    ("LD_PRELOAD", library.display().to_string())
}

/// Without, with the recorder, with stacks, and with an earlier one and Darshan if they are named.
fn modes(scratch: &Path) -> Result<Vec<Mode>> {
    let tables = scratch.join("tables");
    fs::create_dir(&tables)?;
    let stacks = scratch.join("stacks");
    fs::create_dir(&stacks)?;
    fs::write(stacks.join(STACKS_REQUESTED_FILE), "")?;
    let mut modes = vec![nothing(), recorded("the recorder", &tables)?, recorded("its stacks", &stacks)?];
    if let Some(earlier) = std::env::var_os("EARLIER") {
        let tables = scratch.join("earlier");
        fs::create_dir(&tables)?;
        modes.push(recorded_by("an earlier one", Path::new(&earlier), &tables));
    }
    if let Some(darshan) = std::env::var_os("DARSHAN") {
        let logs = scratch.join("darshan");
        create_days(&logs)?;
        let environment = vec![
            preload(Path::new(&darshan)),
            ("DARSHAN_ENABLE_NONMPI", "1".to_owned()),
            ("DARSHAN_LOGPATH", logs.display().to_string()),
        ];
        modes.push(Mode { name: "Darshan", environment });
    }
    Ok(modes)
}

/// Directories for what Darshan logs on this day and, beyond midnight, on the next: it makes none, and without one it
/// writes no log.
fn create_days(logs: &Path) -> Result<()> {
    for day in ["today", "tomorrow"] {
        let named = Command::new("date").args(["--date", day, "+%Y/%-m/%-d"]).output()?;
        fs::create_dir_all(logs.join(String::from_utf8(named.stdout)?.trim()))?;
    }
    Ok(())
}

pub fn start<'a>(command: &'a mut Command, mode: &Mode) -> &'a mut Command {
    command.env_remove("LD_PRELOAD").envs(mode.environment.iter().map(|(name, value)| (name, value)))
}

/// Runs each mode once in each round, and prints medians; of all but the first how much more, over the pairs.
fn row(name: &str, goal: &str, modes: &[Mode], run: impl Fn(&Mode) -> Result<f64>) -> Result<()> {
    let mut values = vec![Vec::new(); modes.len()];
    for round in 0..ROUNDS {
        for step in 0..modes.len() {
            let mode = (round + step) % modes.len();
            values[mode].push(run(&modes[mode])?);
        }
    }
    let of = |values: &[f64]| median(&mut values.to_vec());
    let base = &values[0];
    print!("| {name} | {:.3}", of(base));
    for others in &values[1..] {
        let more: Vec<_> = others.iter().zip(base).map(|(other, base)| other - base).collect();
        let ratios: Vec<_> = others.iter().zip(base).map(|(other, base)| other / base).collect();
        print!(" | {:.3} (**{:+.3}**, x {:.3})", of(others), of(&more), of(&ratios));
    }
    println!(" | {goal} |");
    Ok(())
}

/// A C project of many files, each with so many functions, and its makefile.
fn project(scratch: &Path, functions: usize) -> Result<PathBuf> {
    let project = scratch.join(format!("project-{functions}"));
    fs::create_dir(&project)?;
    let objects: Vec<_> = (0..SOURCES).map(|number| format!("part{number}.o")).collect();
    for number in 0..SOURCES {
        let mut source = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n".to_owned();
        for function in 0..functions {
            source += &format!(
                "int part{number}_{function}(const char *text, int *found) {{\n    \
                 for (size_t at = 0; at < strlen(text); at++) {{\n        \
                 if (text[at] == {function}) {{ found[at % 7] += {number}; }}\n    }}\n    \
                 return printf(\"%s %zu\\n\", text, strlen(text)) + {number};\n}}\n"
            );
        }
        fs::write(project.join(format!("part{number}.c")), source)?;
    }
    let objects = objects.join(" ");
    fs::write(project.join("Makefile"), format!("libparts.a: {objects}\n\tar rcs $@ $^\n%.o: %.c\n\tcc -O1 -c $<\n"))?;
    Ok(project)
}
