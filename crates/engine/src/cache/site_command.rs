//! A command that the site gave: run with a time limit, what it prints kept, killed with all that it has started.
//!
//! Not here: what is to be run and what its end means ([`crate::case`]).

use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::events::{CommandEnd, CommandRun, Failure};
use ioassay_protocol::plan::cache::SiteCommand;
use ioassay_units::Nanoseconds;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, sigprocmask};
use nix::unistd::Pid;

use crate::failure;

/// Of what a command prints, this much of the end is kept.
const KEPT_BYTES: usize = 4096;

/// Lines of it that a failure repeats.
const LAST_LINES: usize = 5;

/// How often is looked whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long a command may still take when the run is stopped: an unmount should not be left without its mount. It is
/// well below the time after which the supervisor kills who waits for it.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// How long what was killed may take to disappear; what hangs in the kernel never does.
const REAPING: Duration = Duration::from_millis(200);

/// Runs `command` for `host`, with `environment` besides our own, until it ends, or its time is over, or `must_stop` has
/// said so for a moment. Nothing on standard input.
pub fn run(
    command: &SiteCommand,
    host: Option<&str>,
    environment: &[(&str, String)],
    must_stop: impl Fn() -> bool,
) -> CommandRun {
    let begin = Instant::now();
    let mut output = Output::default();
    let end = match start(command, environment) {
        Ok((child, pipe)) => wait(child, pipe, command.time_limit_ns, &mut output, begin, must_stop),
        Err(error) => CommandEnd::NotStarted(error.to_string()),
    };
    CommandRun {
        host: host.map(str::to_owned),
        words: command.words.clone(),
        end,
        duration_ns: begin.elapsed().as_nanos() as u64,
        output: output.text(),
        output_bytes: output.bytes,
    }
}

fn start(command: &SiteCommand, environment: &[(&str, String)]) -> io::Result<(Child, PipeReader)> {
    let (program, arguments) = command.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let (reader, writer) = io::pipe()?;
    fcntl(reader.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let mut process = Command::new(program);
    process.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
    process.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // A group of its own, so that all that it starts can be killed together and no Ctrl-C of a terminal reaches it alone.
    process.process_group(0);
    // SAFETY: between fork and exec two system calls without memory or locks.
    unsafe { process.pre_exec(before_exec) };
    // With `process` our ends of the pipe for writing go.
    Ok((process.spawn()?, reader))
}

/// Ranks have blocked the signals that end a run, and SIGCHLD, without which many a program waits for ever. And when the
/// rank dies, nobody would look after the command any more.
fn before_exec() -> io::Result<()> {
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
}

fn wait(
    mut child: Child,
    mut pipe: PipeReader,
    limit_ns: u64,
    output: &mut Output,
    begin: Instant,
    must_stop: impl Fn() -> bool,
) -> CommandEnd {
    let mut told_to_stop = None;
    loop {
        let ended = child.try_wait();
        // Not up to the end of the pipe: what stays in the background, as a FUSE client does, may keep it open.
        output.take(&mut pipe);
        match ended {
            Ok(None) => {}
            Ok(Some(status)) => return end_of(status),
            Err(error) => return CommandEnd::NotStarted(error.to_string()),
        }
        let killed = if begin.elapsed() >= Duration::from_nanos(limit_ns) {
            Some(CommandEnd::TimedOut(limit_ns))
        } else if must_stop() && told_to_stop.get_or_insert_with(Instant::now).elapsed() >= STOP_GRACE {
            Some(CommandEnd::Stopped)
        } else {
            None
        };
        if let Some(end) = killed {
            kill(&mut child);
            output.take(&mut pipe);
            return end;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn end_of(status: ExitStatus) -> CommandEnd {
    let signal = status.signal().map(|number| match Signal::try_from(number) {
        Ok(signal) => signal.to_string(),
        Err(_) => format!("signal {number}"),
    });
    signal.map_or_else(|| CommandEnd::Exited(status.code().unwrap_or(-1)), CommandEnd::Signaled)
}

fn kill(child: &mut Child) {
    // It may have ended in this moment.
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    let begin = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < REAPING {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The end of what a command prints.
#[derive(Debug, Default)]
struct Output {
    kept: Vec<u8>,
    bytes: u64,
}

impl Output {
    /// Takes what is in the pipe, and no more than that.
    fn take(&mut self, pipe: &mut PipeReader) {
        let mut buffer = [0; KEPT_BYTES];
        // Nothing there is an error too; then there is nothing to take.
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            self.bytes += read as u64;
            self.kept.extend_from_slice(&buffer[..read]);
            self.kept.drain(..self.kept.len().saturating_sub(KEPT_BYTES));
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).trim_end().to_owned()
    }
}

/// True if it did what it was to do.
pub fn succeeded(run: &CommandRun) -> bool {
    run.end == CommandEnd::Exited(0)
}

/// What a command that did not succeed says of itself: for which host it was, what it was, how it ended, and its last words.
pub fn failure_of(run: &CommandRun, purpose: &str, remedy: &str) -> Failure {
    let host = run.host.as_ref().map_or_else(String::new, |host| format!(" {host}"));
    let how = match &run.end {
        CommandEnd::Exited(status) => format!("exited with status {status}"),
        CommandEnd::Signaled(signal) => format!("was killed by {signal}"),
        CommandEnd::TimedOut(limit_ns) => {
            format!("was killed after its time limit of {}", Nanoseconds(*limit_ns).about())
        }
        CommandEnd::Stopped => "was killed because the run was stopped".to_owned(),
        CommandEnd::NotStarted(why) => format!("could not be started: {why}"),
    };
    let lines: Vec<&str> = run.output.lines().collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
    let output = if last.is_empty() { "it printed nothing".to_owned() } else { format!("it printed: {last}") };
    let message = format!("{purpose}{host}: `{}` {how}; {output}", shell_quoted(&run.words));
    failure::plain(purpose, message, remedy)
}

/// The words as they would be typed into a shell.
fn shell_quoted(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn shell(line: &str, limit: Duration) -> SiteCommand {
        let words = ["sh", "-c", line].map(str::to_owned).to_vec();
        SiteCommand { words, time_limit_ns: limit.as_nanos() as u64 }
    }

    fn ran(line: &str) -> CommandRun {
        run(&shell(line, LONG), Some("nfs1"), &[("IOASSAY_MOUNT_POINT", "/mnt/x y".to_owned())], || false)
    }

    #[test]
    fn output_and_end_of_a_command_are_kept() {
        let done = ran("echo out; echo err >&2; echo \"$IOASSAY_MOUNT_POINT\"");
        assert!(succeeded(&done));
        assert_eq!((done.output.as_str(), done.output_bytes), ("out\nerr\n/mnt/x y", 17));
        assert_eq!(ran("exit 5").end, CommandEnd::Exited(5));
        assert_eq!(ran("kill -USR1 $$").end, CommandEnd::Signaled("SIGUSR1".to_owned()));
    }

    #[test]
    fn of_much_output_the_end_is_kept_and_all_of_it_is_counted() {
        let done = ran("seq 200000; echo last");
        assert_eq!(done.output_bytes, 1_288_900);
        assert!(done.output.len() <= KEPT_BYTES && done.output.ends_with("200000\nlast"), "{}", done.output);
    }

    #[test]
    fn a_program_that_is_not_there_has_not_started() {
        let missing = SiteCommand { words: vec!["/no/such/program".to_owned()], time_limit_ns: 1 };
        let done = run(&missing, None, &[], || false);
        assert!(matches!(&done.end, CommandEnd::NotStarted(why) if why.contains("No such file")), "{done:?}");
    }

    /// Both the shell and what it has started in the background print their numbers; then both must be gone.
    const TWO: &str = "sleep 600 & echo $$ $!; wait";

    fn nothing_is_left_of(done: &CommandRun) {
        let pids: Vec<&str> = done.output.split_whitespace().collect();
        assert_eq!(pids.len(), 2, "{done:?}");
        for pid in pids {
            let begin = Instant::now();
            // Dead, though perhaps not collected yet by the process that inherited it.
            let alive =
                || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
            while alive() {
                assert!(begin.elapsed() < Duration::from_secs(60), "{pid} is still there");
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }

    #[test]
    fn at_its_time_limit_a_command_is_killed_with_all_that_it_has_started() {
        let limit = Duration::from_millis(500);
        let done = run(&shell(TWO, limit), None, &[], || false);
        assert_eq!(done.end, CommandEnd::TimedOut(500_000_000));
        nothing_is_left_of(&done);
    }

    #[test]
    fn when_the_run_is_stopped_a_command_is_killed_with_all_that_it_has_started() {
        let stop = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&shell(TWO, LONG), None, &[], || stop.load(Ordering::Relaxed)));
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap()
        });
        assert_eq!(done.end, CommandEnd::Stopped);
        nothing_is_left_of(&done);
    }

    #[test]
    fn a_command_about_to_finish_is_not_killed_when_the_run_stops() {
        let done = run(&shell("sleep 0.05; echo mounted again", LONG), None, &[], || true);
        assert!(succeeded(&done) && done.output == "mounted again", "{done:?}");
    }

    #[test]
    fn a_command_is_not_waited_for_by_what_it_leaves_in_the_background() {
        let done = ran("sleep 600 & echo $!");
        assert!(succeeded(&done), "{done:?}");
        nix::sys::signal::kill(Pid::from_raw(done.output.parse().unwrap()), Signal::SIGKILL).unwrap();
    }

    #[test]
    fn a_failure_names_host_command_end_and_last_words() {
        let failure = failure_of(&ran("seq 9; echo \"no such unit\"; exit 5"), "restart", "look");
        let wanted = "restart nfs1: `sh -c 'seq 9; echo \"no such unit\"; exit 5'` exited with status 5; it printed: 6 \
                      | 7 | 8 | 9 | no such unit";
        assert_eq!((failure.message.as_str(), failure.remedy.as_str()), (wanted, "look"));
    }
}
