//! GPFS (IBM Storage Scale) file systems, as `mmpmon` counts them.
//!
//! mmpmon may be slow, or hang with its daemon. So one is kept running, asked by a thread of its own, and given up for good
//! once it has failed; a reading has what it answered since the reading before. It ends with its input, and is killed when
//! the thread that started it ends.
//!
//! The lines are those of the request `fs_io_s` with the option `-p` (IBM's documentation of mmpmon, "Display I/O statistics
//! per mounted file system"): pairs of a keyword and a value. The answer has no end that could be recognized: it is complete
//! when no more comes for a moment. What comes later still is found in the next answer. Tried with a program that
//! stands for mmpmon, not with a running GPFS.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

use super::files::number;
use super::reading::{Reading, Subject, fields};

const PROGRAM: &str = "usr/lpp/mmfs/bin/mmpmon";

/// The shortest time between two requests: a second, less what a clock that ticks every second may be late.
const INTERVAL: Duration = Duration::from_millis(900);

/// An answer that takes longer is a failure.
const DEADLINE: Duration = Duration::from_secs(5);

/// An answer is complete when nothing has come for so long.
const QUIET: Duration = Duration::from_millis(100);

/// Of an answer; a line for each file system has about 250.
const MOST_BYTES: usize = 1 << 20;

fields! {
    /// A mounted file system.
    pub struct FileSystem {
        Counter read_bytes: "Bytes read, from disks and from the cache",
        Counter write_bytes: "Bytes written, to disks and to the cache",
        Counter opens: "Calls that opened or created a file",
        Counter closes: "Calls that closed a file",
        Counter reads: "Calls of applications that read",
        Counter writes: "Calls of applications that wrote",
        Counter readdirs: "Calls that listed a directory",
        Counter inode_updates: "Inodes written to disk",
    }
}

/// What mmpmon counts, asked by a thread.
#[derive(Debug, Default)]
pub struct Gpfs {
    /// `None` where there is no mmpmon, or it has failed.
    worker: Option<Worker>,
}

#[derive(Debug)]
struct Worker {
    requests: SyncSender<()>,
    answers: Receiver<String>,
    /// The last request was made then.
    asked: Option<Instant>,
}

impl Gpfs {
    /// Starts mmpmon if there is one below `root`.
    pub fn new(root: &Path) -> Self {
        let program = root.join(PROGRAM);
        Self { worker: program.is_file().then(|| start(program, DEADLINE)).flatten() }
    }

    /// Adds what was answered since the last reading, and asks for the next. Never waits.
    pub fn read(&mut self, readings: &mut Vec<Reading>) {
        let Some(worker) = &mut self.worker else { return };
        match worker.answers.try_recv() {
            Ok(answer) => readings.extend(parse(&answer)),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                self.worker = None;
                return;
            }
        }
        if worker.asked.is_none_or(|asked| asked.elapsed() >= INTERVAL) {
            // If the request before still waits, this one is not needed.
            let _ = worker.requests.try_send(());
            worker.asked = Some(Instant::now());
        }
    }
}

/// A thread that asks `program` at each request, until it fails or the view is dropped. `None` where no thread can be
/// started.
fn start(program: PathBuf, deadline: Duration) -> Option<Worker> {
    let (requests, asked) = sync_channel(1);
    let (answer, answers) = sync_channel(1);
    let work = move || {
        // In this thread: its end is that of the program.
        let Ok(mut child) = spawn(&program) else { return };
        while asked.recv().is_ok() {
            match ask(&mut child, deadline) {
                // A slow reader loses an answer rather than wait here.
                Ok(text) => drop(answer.try_send(text)),
                Err(_) => break,
            }
        }
        let _ = child.kill();
        // A program that hangs in the kernel keeps only this thread.
        let _ = child.wait();
    };
    std::thread::Builder::new().name("mmpmon".to_owned()).spawn(work).ok()?;
    Some(Worker { requests, answers, asked: None })
}

fn spawn(program: &Path) -> io::Result<Child> {
    let mut command = Command::new(program);
    // Output for programs, and no prompts.
    command.args(["-p", "-s"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: between fork and exec two system calls without memory or locks.
    unsafe { command.pre_exec(before_exec) };
    command.spawn()
}

fn before_exec() -> io::Result<()> {
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
}

/// The answer to one request.
fn ask(child: &mut Child, deadline: Duration) -> io::Result<String> {
    let (Some(input), Some(output)) = (&mut child.stdin, &mut child.stdout) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    input.write_all(b"fs_io_s\n")?;
    let end = Instant::now() + deadline;
    let mut answer = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let complete = answer.ends_with(b"\n");
        if left.is_zero() || answer.len() > MOST_BYTES {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if !readable(output, if complete { left.min(QUIET) } else { left })? {
            if complete {
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            }
            continue;
        }
        let mut some = [0; 4096];
        match output.read(&mut some)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => answer.extend_from_slice(&some[..bytes]),
        }
    }
}

/// Whether there is something to read, or the end, within `time`.
fn readable(output: &ChildStdout, time: Duration) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: output.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // Rounded up: a wait of 0 ms would return at once, again and again.
    let ms = i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX);
    // SAFETY: one entry, which lives until the call returns.
    match unsafe { libc::poll(&raw mut polled, 1, ms) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        ready => Ok(ready > 0),
    }
}

/// The file systems of an answer. Of one that appears twice, because an earlier answer came late, the last line counts.
fn parse(answer: &str) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    for reading in answer.lines().filter_map(file_system) {
        match readings.iter_mut().find(|other| (&other.name, &other.source) == (&reading.name, &reading.source)) {
            Some(earlier) => *earlier = reading,
            None => readings.push(reading),
        }
    }
    readings
}

/// From a line such as `_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 _rc_ 0 … _cl_ my.cluster _fs_ scratch _d_ 4 _br_ 10 _bw_ 20 …`.
fn file_system(line: &str) -> Option<Reading> {
    let words: Vec<&str> = line.strip_prefix("_fs_io_s_ ")?.split_ascii_whitespace().collect();
    let word = |keyword: &str| words.chunks_exact(2).find(|pair| pair[0] == keyword).map(|pair| pair[1]);
    let count = |keyword| number(word(keyword), 1);
    // Not 0 where nothing is mounted.
    if word("_rc_") != Some("0") {
        return None;
    }
    let values = FileSystem {
        read_bytes: count("_br_"),
        write_bytes: count("_bw_"),
        opens: count("_oc_"),
        closes: count("_cc_"),
        reads: count("_rdc_"),
        writes: count("_wc_"),
        readdirs: count("_dir_"),
        inode_updates: count("_iu_"),
    };
    Some(Reading::new(Subject::GpfsFileSystem, word("_fs_")?, values.into_values()).within(word("_cl_").unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;
    use nix::sys::signal::kill;
    use nix::unistd::Pid;

    use super::*;

    fn line(file_system: &str, read_bytes: u64) -> String {
        format!(
            "_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 _rc_ 0 _t_ 1700000000 _tu_ 53212 _cl_ my.cluster _fs_ {file_system} _d_ 48 \
             _br_ {read_bytes} _bw_ 20 _oc_ 3 _cc_ 4 _rdc_ 5 _wc_ 6 _dir_ 7 _iu_ 8\n"
        )
    }

    #[test]
    fn a_line_has_what_was_done_to_a_file_system() {
        let readings = parse(&line("scratch", 10));
        let [scratch] = readings.as_slice() else { panic!("{readings:?}") };
        assert_eq!((scratch.name.as_str(), scratch.source.as_str()), ("scratch", "my.cluster"));
        let values: Vec<_> = scratch.values().map(|(field, value)| (field.name, value)).collect();
        let wanted = [
            ("read_bytes", 10),
            ("write_bytes", 20),
            ("opens", 3),
            ("closes", 4),
            ("reads", 5),
            ("writes", 6),
            ("readdirs", 7),
            ("inode_updates", 8),
        ];
        assert_eq!(values, wanted);
    }

    #[test]
    fn lines_of_anything_else_are_left_out_and_the_last_of_a_file_system_counts() {
        let nothing_mounted = "_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 _rc_ 1 _t_ 1700000000 _tu_ 407431 _cl_ - _fs_ -\n";
        assert_eq!(parse(&format!("{nothing_mounted}_io_s_ _n_ 10.0.0.1 _rc_ 0 _br_ 1\n_fs_io_s_\n")), []);
        let answer = [line("scratch", 10), line("home", 1), line("scratch", 30)].concat();
        let readings = parse(&answer);
        let kept: Vec<_> =
            readings.iter().map(|reading| (reading.name.as_str(), reading.value("read_bytes"))).collect();
        assert_eq!(kept, [("scratch", Some(30)), ("home", Some(1))]);
    }

    /// A root with a program that stands for mmpmon.
    fn root_with(script: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join(PROGRAM);
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        // Written by another process: a file cannot be executed while it is open for writing, and a child that another
        // test starts at this moment would keep it open.
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat >\"$0\" && chmod +x \"$0\""]).arg(&program).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        root
    }

    /// Reads until `done`, which the test waits for as long as it takes.
    fn read_until(gpfs: &mut Gpfs, mut done: impl FnMut(&Gpfs, Vec<Reading>) -> bool) {
        loop {
            let mut readings = Vec::new();
            gpfs.read(&mut readings);
            if done(gpfs, readings) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_for_end(process: Pid) {
        while kill(process, None) != Err(Errno::ESRCH) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The process id that the program has written, with a line end.
    fn process(root: &Path) -> Option<Pid> {
        let text = std::fs::read_to_string(root.join("process")).ok()?;
        Some(Pid::from_raw(text.strip_suffix('\n')?.parse().unwrap()))
    }

    #[test]
    fn one_process_answers_each_request_and_ends_with_the_view() {
        let (first, second) = (line("scratch", 10), line("home", 1));
        let root = root_with(&format!(
            "cd \"${{0%/usr*}}\" && echo $$ >>process\n\
             while read request; do [ \"$request\" = fs_io_s ] && printf %s '{first}{second}'; done\n"
        ));
        let mut gpfs = Gpfs::new(root.path());
        for _ in 0..2 {
            read_until(&mut gpfs, |gpfs, readings| {
                assert!(gpfs.worker.is_some());
                let names: Vec<_> = readings.iter().map(|reading| reading.name.as_str()).collect();
                assert!(names.is_empty() || names == ["scratch", "home"], "{names:?}");
                !names.is_empty()
            });
        }
        let process = process(root.path()).unwrap();
        drop(gpfs);
        wait_for_end(process);
    }

    #[test]
    fn a_program_that_does_not_answer_is_killed_and_not_asked_again() {
        let root = root_with("cd \"${0%/usr*}\" && echo $$ >process\nread request\nexec sleep 1000\n");
        let mut gpfs = Gpfs { worker: start(root.path().join(PROGRAM), Duration::from_millis(300)) };
        read_until(&mut gpfs, |gpfs, readings| {
            assert_eq!(readings, []);
            gpfs.worker.is_none()
        });
        // Unless it was killed before it could write.
        process(root.path()).into_iter().for_each(wait_for_end);
    }

    #[test]
    fn a_program_that_ends_is_given_up_and_where_there_is_none_nothing_is_started() {
        let root = root_with("exit 1\n");
        let mut gpfs = Gpfs::new(root.path());
        assert!(gpfs.worker.is_some());
        read_until(&mut gpfs, |gpfs, readings| {
            assert_eq!(readings, []);
            gpfs.worker.is_none()
        });
        assert!(Gpfs::new(tempfile::tempdir().unwrap().path()).worker.is_none());
    }
}
