//! The official program, run as it is: what it prints and leaves is its own and is not changed, and beside it stands what
//! the node did in each second.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use ioassay_engine::exit::Exit;
use ioassay_engine::failure;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::say;
use ioassay_engine::supervise::{self, StopSignal, guard};
use ioassay_protocol::events::Failure;
use ioassay_protocol::front_end::Tool;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::command_line::Arguments;
use super::config::{self, Config};
use super::node::Sampler;
use crate::common::{Common, usage};
use crate::session::{Console, Session};

/// Where a run directory keeps what the official program left.
const KEPT: &str = "official";

/// Where it keeps what the node did.
const SAMPLES: &str = "node-samples.jsonl";

/// The time between two samples.
const SAMPLE: Duration = Duration::from_secs(1);

/// How often signals are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the program may take to end after a signal.
const GRACE: Duration = Duration::from_millis(3000);

/// Runs the official program at `program`.
pub fn run(
    common: &Common,
    ranks: &mut dyn RankSet,
    arguments: &[String],
    asked: &Arguments,
    program: &Path,
) -> Result<Exit, Failure> {
    let Some(run) = &common.run else {
        return Err(usage("--official needs a run directory for the evidence", "add --run DIR"));
    };
    if common.scale_down > 1 {
        let problem = "IOASSAY_SCALE_DOWN has no effect on the official program";
        return Err(usage(problem, "unset it, and use a smaller stonewall-time"));
    }
    let text = config::read(&asked.config)?;
    let timestamp = asked.timestamp();
    let results = results(&Config::lenient(&text), &timestamp);
    let mut session = Session::begin(Tool::Io500, common, ranks, arguments)?;
    let samples = run.join(SAMPLES);
    let mut sampler = Sampler::create(&samples).map_err(|error| failure::on_path("write", &samples, &error))?;
    prepare_signals().map_err(|error| failure::on_path("block signals", program, &error))?;
    let mut command = command(asked, program, &timestamp);
    let began = SystemTime::now();
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn();
    let ended = match started {
        Err(error) => Exit::could_not_run(failure::on_path("start", program_of(&command), &error)),
        Ok(child) => {
            let ending = watch(child, &mut sampler, &mut session.console);
            let kept = keep(&results, &run.join(KEPT), began);
            judge(ending, kept, &results)
        }
    };
    Ok(session.finish(ended))
}

fn program_of(command: &Command) -> &Path {
    Path::new(command.get_program())
}

/// Where the official program leaves its results.
fn results(config: &Config, timestamp: &str) -> PathBuf {
    let results = PathBuf::from(config.text("global", "resultdir").unwrap_or_default());
    config::absolute(&if config.flag("global", "timestamp-resultdir") { results.join(timestamp) } else { results })
}

fn command(asked: &Arguments, program: &Path, timestamp: &str) -> Command {
    let mut words = asked.launcher.iter().flat_map(|launcher| launcher.split_whitespace());
    let program = config::absolute(program);
    let mut command = match words.next() {
        Some(launcher) => {
            let mut command = Command::new(launcher);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.arg(config::absolute(&asked.config)).arg(format!("--timestamp={timestamp}"));
    command.arg(if asked.extended { "--mode=extended" } else { "--mode=standard" });
    if let Some(level) = asked.verbosity {
        command.arg(format!("--verbose={level}"));
    }
    if asked.dry_run {
        command.arg("--dry-run");
    }
    command
}

/// Blocks the signals that end a run from here on. The program inherits none of that.
fn prepare_signals() -> io::Result<()> {
    supervise::block_signals()?;
    guard::may_take(2 * GRACE + SAMPLE);
    // What a launcher leaves behind becomes ours, so that it can be found.
    Ok(prctl::set_child_subreaper(true)?)
}

/// How the program ended.
struct Ending {
    status: io::Result<ExitStatus>,
    signal: Option<StopSignal>,
    /// Why there are fewer samples than seconds.
    unsampled: Option<io::Error>,
}

/// Prints what the program prints and takes a sample each second until it has ended, or a signal came.
fn watch(mut child: Child, sampler: &mut Sampler, console: &mut Console) -> Ending {
    let printed = child.stdout.take().map(lines_of);
    let (mut signal, mut unsampled) = (None, None);
    let mut next = Instant::now();
    let status = loop {
        if Instant::now() >= next {
            unsampled = sampler.sample().err().or(unsampled);
            next += SAMPLE;
        }
        print(printed.as_ref(), console);
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => break Ok(status),
            Err(error) => break Err(error),
        }
        if let Some(next) = supervise::next_signal() {
            signal = Some(next);
            break end(&mut child, next);
        }
    };
    // What it printed last, and what those that it started still print.
    while print(printed.as_ref(), console) {}
    unsampled = sampler.sample().err().or(unsampled);
    Ending { status, signal, unsampled }
}

/// Tells the program's process group to end, and then makes it and all that it started: launchers give ranks groups of
/// their own, and one that is killed leaves them behind.
fn end(child: &mut Child, signal: StopSignal) -> io::Result<ExitStatus> {
    let _ = signal.send(Pid::from_raw(-child.id().cast_signed()));
    let until = Instant::now() + GRACE;
    while Instant::now() < until && child.try_wait()?.is_none() {
        std::thread::sleep(POLL_INTERVAL);
    }
    let until = Instant::now() + GRACE;
    loop {
        let left = descendants();
        if left.is_empty() || Instant::now() >= until {
            return child.wait();
        }
        // By their numbers, and none but what was started here.
        for pid in left {
            // One that has gone by itself is what is wanted.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The processes that this one has started, those that they have started, and so on; not those that ended.
fn descendants() -> Vec<i32> {
    let all = procfs::process::all_processes().into_iter().flatten();
    let stats = all.filter_map(|process| process.ok()?.stat().ok()).filter(|stat| stat.state != 'Z');
    let parents: Vec<(i32, i32)> = stats.map(|stat| (stat.pid, stat.ppid)).collect();
    let mut pids = vec![std::process::id().cast_signed()];
    let mut next = 0;
    while let Some(&parent) = pids.get(next) {
        pids.extend(parents.iter().filter(|(_, above)| *above == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    pids.split_off(1)
}

/// What is printed, as it comes.
fn lines_of(mut out: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = out.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Prints what comes within a moment; false if there was nothing.
fn print(printed: Option<&Receiver<Vec<u8>>>, console: &mut Console) -> bool {
    match printed.map(|printed| printed.recv_timeout(POLL_INTERVAL)) {
        Some(Ok(text)) => {
            console.print(&String::from_utf8_lossy(&text));
            true
        }
        Some(Err(RecvTimeoutError::Disconnected)) | None => {
            std::thread::sleep(POLL_INTERVAL);
            false
        }
        Some(Err(RecvTimeoutError::Timeout)) => false,
    }
}

/// Copies what the program wrote since it `began` from `results`, its directory, to `to`; how many files.
fn keep(results: &Path, to: &Path, began: SystemTime) -> io::Result<u64> {
    // File systems stamp with a clock that is some milliseconds behind.
    let began = began - Duration::from_secs(1);
    fs::create_dir(to)?;
    let mut kept = 0;
    for entry in fs::read_dir(results)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && about.modified()? >= began {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
            kept += 1;
        }
    }
    Ok(kept)
}

fn judge(ending: Ending, kept: io::Result<u64>, results: &Path) -> Exit {
    let Ending { status, signal, unsampled } = ending;
    if let Some(signal) = signal {
        return Exit::could_not_run(failure::plain("run", format!("stopped by {signal}"), "run again"));
    }
    if let Some(error) = unsampled {
        say!("ioassay-engine: samples are missing in {SAMPLES}: {error}");
    }
    let about = |message: String, remedy: &str| failure::about_path("run", results, message, remedy);
    match (status, kept) {
        (Err(error), _) => Exit::could_not_run(failure::on_path("wait for", results, &error)),
        (Ok(status), _) if !status.success() => {
            Exit::failed(about(format!("the official program failed: {status}"), "read its output above"))
        }
        (Ok(_), Err(error)) => Exit::failed(failure::on_path("keep", results, &error)),
        (Ok(_), Ok(0)) => {
            Exit::failed(about("the official program wrote no results".to_owned(), "read its output above"))
        }
        (Ok(_), Ok(_)) => match fs::read_to_string(results.join("result_summary.txt")) {
            Ok(text) if !text.contains("[INVALID]") => Exit::default(),
            Ok(_) => Exit::failed(about(
                "the official program reports the run as invalid".to_owned(),
                "read its output above",
            )),
            Err(error) => Exit::failed(failure::on_path("read", &results.join("result_summary.txt"), &error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Arguments {
        Arguments {
            config: "/x.ini".into(),
            launcher: Some("mpirun  -np 4".to_owned()),
            extended: true,
            ..Arguments::default()
        }
    }

    #[test]
    fn the_program_is_started_by_its_launcher_with_the_options_that_it_knows() {
        let words = |asked: &Arguments| {
            let command = command(asked, Path::new("/opt/io500"), "now");
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(&asked()), "mpirun -np 4 /opt/io500 /x.ini --timestamp=now --mode=extended");
        let alone = Arguments { launcher: None, verbosity: Some(3), dry_run: true, extended: false, ..asked() };
        assert_eq!(words(&alone), "/opt/io500 /x.ini --timestamp=now --mode=standard --verbose=3 --dry-run");
    }

    #[test]
    fn results_are_looked_for_where_its_file_says_whatever_else_that_says() {
        let of = |text: &str| results(&Config::lenient(text), "now");
        assert_eq!(
            of("[global]\napi = MPIIO\n[nonsense]\nresultdir = /no\n[global]\nresultdir = /r # there\n"),
            Path::new("/r/now")
        );
        assert_eq!(of("[global]\nresultdir = /r\ntimestamp-resultdir = FALSE"), Path::new("/r"));
    }
}
