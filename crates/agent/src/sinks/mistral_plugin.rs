//! A plug-in of Mistral: an existing program that is started and gets alerts on its standard input, as Mistral would send them.
//!
//! What it is sent stands in `python/ioassay/monitoring/mistral/plugin_stream.py`; a test writes the same streams.
//! Plug-ins since 2020 speak version 6 of the interface, older ones version 5; both are offered. Times are in UTC, and
//! the plug-in learns that from `TZ`.
//!
//! A plug-in acknowledges nothing. One that ends by itself, as those do that their store refuses something, is started anew; what
//! it got last counts as lost.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::watch::document::{Document, Value};
use ioassay_protocol::watch::kinds::Alert;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

use super::{Encoder, Payload, Refusal, Sink, SinkError, Transport, directory_name};

const OFFER: &str = ":PGNSUPVRSN:5:6:\n";
const SHUTDOWN: &str = ":PGNSHUTDWN:";
/// Around the fields of the file system, which version 6 has and version 5 has not. No text has such a character.
const FILE_SYSTEM: char = '\0';
/// Characters of a command for which plug-ins have room.
const MOST_COMMAND: usize = 1405;
/// Plug-ins compute in doubles: more than this becomes what stores refuse.
const LARGEST: u64 = (1 << 63) - 1024;
/// What a plug-in may take to answer; public ones wait so long for the offer.
const ANSWER: Duration = Duration::from_secs(10);
/// What it may take to end: public ones look once a second.
const END: Duration = Duration::from_secs(3);
const ENDED: &str = "the plug-in ended, and is started again";

/// The sink that starts a program with arguments.
pub fn open(command: &[String]) -> Result<Sink, SinkError> {
    let [program, ..] = command else {
        return Err(SinkError("a plug-in of Mistral needs a command; name its program".to_owned()));
    };
    Ok(Sink {
        name: format!("Mistral's plug-in {program}"),
        directory: directory_name("mistral-plugin", &command.join("\u{1f}")),
        encoder: Box::new(Lines),
        transport: Box::new(Plugin { command: command.to_vec(), running: None, entries: 0 }),
    })
}

/// Lines of a log, which lack their sequence numbers.
struct Lines;

impl Encoder for Lines {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let lines: Vec<String> =
            documents.iter().filter(|document| document.kind.name == Alert::KIND.name).map(line).collect();
        if lines.is_empty() {
            return Vec::new();
        }
        vec![Payload { documents: lines.len() as u64, bytes: (lines.join("\n") + "\n").into_bytes() }]
    }
}

fn line(alert: &Document) -> String {
    let text = |name| match alert.value(name) {
        Some(Value::Text(text)) => text.as_str(),
        _ => "",
    };
    let number = |name| match alert.value(name) {
        Some(Value::Number(number)) => *number,
        _ => 0,
    };
    let measurement = Measurement::of(text("measure"));
    let window = quantity(number("window_s").saturating_mul(1_000_000), TIMES);
    let amount = |name| quantity((number(name) / measurement.divisor).min(LARGEST), measurement.units);
    let scope = if text("job").is_empty() { "global" } else { "local" };
    let second = i64::try_from(alert.second).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let time = second.unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S");
    let rank = text("rank");
    let is_rank = (1..=9).contains(&rank.len()) && rank.bytes().all(|byte| byte.is_ascii_digit());
    let command: String = text("command").chars().take(MOST_COMMAND).collect();
    let fields = [
        format!("{scope}#{}#{time}.{:06}", text("action"), alert.part % 1_000_000),
        text("label").to_owned(),
        if text("path").is_empty() { "/" } else { text("path") }.to_owned(),
        call_types(text("classes"), measurement.name),
        sizes(text("sizes")),
        measurement.name.to_owned(),
        format!("{}/{window}", amount("measured")),
        format!("{}/{window}", amount("allowed")),
        text("node").to_owned(),
        text("pid").to_owned(),
        "0".to_owned(),
        command,
        text("file").to_owned(),
        String::new(),
        text("job").to_owned(),
        if is_rank { rank.trim_start_matches('0').to_owned() } else { String::new() },
    ];
    let mut fields = fields.map(|field| escaped(&field));
    let (host, name) = host_and_name(text("mount_source"));
    let file_system = [text("file_system"), name, host].map(escaped).join(",");
    fields[2] += &format!("{FILE_SYSTEM},{file_system}{FILE_SYSTEM}");
    fields.join(",")
}

/// What serves a mount and what is mounted: of `server:/path` both, of a device the latter alone.
fn host_and_name(source: &str) -> (&str, &str) {
    match source.split_once(":/") {
        Some((host, path)) if !host.is_empty() && !host.contains('/') => {
            (host, &source[source.len() - path.len() - 1..])
        }
        _ => ("", source),
    }
}

/// A range of sizes as Mistral writes it: `4kB-1MB`.
fn sizes(range: &str) -> String {
    let size = |text: &str| text.parse().map(|bytes: u64| quantity(bytes.min(LARGEST), BYTES)).unwrap_or_default();
    range.split_once('-').map_or_else(|| "all".to_owned(), |(least, most)| format!("{}-{}", size(least), size(most)))
}

fn escaped(field: &str) -> String {
    field.replace('\\', "\\\\").replace(',', "\\,").replace('\n', "\\n")
}

type Units = &'static [(&'static str, u64)];
const BYTES: Units = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000), ("B", 1)];
const TIMES: Units = &[("s", 1_000_000), ("ms", 1000), ("us", 1)];
const COUNTS: Units = &[("M", 1_000_000), ("k", 1000), ("", 1)];

/// In the largest unit of which it is a whole number.
fn quantity(amount: u64, units: Units) -> String {
    let fits = |(_, factor): &&(&str, u64)| amount.is_multiple_of(*factor) && *factor <= amount.max(1);
    let (suffix, factor) = units.iter().find(fits).copied().unwrap_or(("", 1));
    format!("{}{suffix}", amount / factor)
}

/// What Mistral calls a measure.
struct Measurement {
    name: &'static str,
    units: Units,
    /// Our unit to its base unit.
    divisor: u64,
}

impl Measurement {
    fn of(measure: &str) -> Self {
        let (name, units) = match measure {
            "bandwidth" => ("bandwidth", BYTES),
            "minimum-latency" => ("min-latency", TIMES),
            "mean-latency" => ("mean-latency", TIMES),
            "maximum-latency" => ("max-latency", TIMES),
            "total-latency" => ("total-latency", TIMES),
            "seek-distance" => ("seek-distance", BYTES),
            "resident-memory" => ("memory-rss", BYTES),
            "virtual-memory" => ("memory-vsize", BYTES),
            "user-time" => ("user-time", TIMES),
            "system-time" => ("system-time", TIMES),
            "io-wait-time" => ("host-cpu-iowait-time", TIMES),
            _ => ("count", COUNTS),
        };
        Self { name, units, divisor: if units == TIMES { 1000 } else { 1 } }
    }
}

/// Mistral's types of these classes of calls.
fn call_types(classes: &str, measurement: &str) -> String {
    if measurement == "seek-distance" {
        return "seek".to_owned();
    }
    let types: BTreeSet<&str> = classes.split(',').filter_map(call_type).collect();
    if types.is_empty() { "none".to_owned() } else { types.into_iter().collect::<Vec<_>>().join("+") }
}

fn call_type(class: &str) -> Option<&'static str> {
    Some(match class {
        "accept" => "accept",
        "connect" => "connect",
        "glob" => "glob",
        "open" => "open",
        "stat" | "list" => "access",
        "create" => "create",
        "remove" => "delete",
        "rename" | "truncate" | "attribute" => "fschange",
        "seek" | "stream seek" => "seek",
        "read" | "stream read" | "copy from" | "submit read" => "read",
        "write" | "stream write" | "copy to" | "submit write" => "write",
        "map" => "mmap",
        "MPI file" => "mpi_open",
        _ if class.starts_with("MPI") && class.ends_with(" read") => "mpi_read",
        _ if class.starts_with("MPI") && class.ends_with(" write") => "mpi_write",
        _ => return None,
    })
}

/// The plug-in.
struct Plugin {
    command: Vec<String>,
    running: Option<Running>,
    /// Entries so far.
    entries: u64,
}

/// The plug-in, as it was started last.
struct Running {
    child: Child,
    /// Closed when it is to end.
    input: Option<ChildStdin>,
    output: ChildStdout,
    version: u8,
    blocks: u64,
    /// Documents of the last block.
    last: u64,
}

impl Transport for Plugin {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        let lines = String::from_utf8_lossy(payload);
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(&self.command).map_err(|error| Refusal::later(self.complaint(&error)))?,
        };
        if !running.is_alive() {
            return Err(self.lost(&io::Error::other(ENDED), running.last, payload));
        }
        let mut block = format!(":PGNDATASRT:{}:\n", running.blocks + 1);
        let mut entries = self.entries;
        for line in lines.lines() {
            entries += 1;
            let parts: Vec<&str> = line.split(FILE_SYSTEM).collect();
            let line: String = match parts[..] {
                [before, _, after] if running.version == 5 => [before, after].concat(),
                _ => parts.concat(),
            };
            block += &format!("{line},{entries}\n");
        }
        block += &format!(":PGNDATAEND:{}:\n", running.blocks + 1);
        if let Err(error) = running.write(&block, ANSWER) {
            let is_stuck = error.kind() == io::ErrorKind::TimedOut;
            let reason = if is_stuck { error } else { io::Error::other(ENDED) };
            return Err(self.lost(&reason, running.last, payload));
        }
        running.blocks += 1;
        running.last = entries - self.entries;
        self.entries = entries;
        self.running = Some(running);
        Ok(())
    }
}

impl Plugin {
    fn complaint(&self, error: &io::Error) -> String {
        format!("{}: {error}; run it by hand, and check its own log", self.command[0])
    }

    /// The plug-in is started again; what it got last may not be stored, and this payload is still to be sent.
    fn lost(&self, reason: &io::Error, documents: u64, payload: &[u8]) -> Refusal {
        let reason = self.complaint(reason);
        Refusal::Partly { rest: payload.to_vec(), documents, reason, after: None }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.write(&format!("{SHUTDOWN}\n"), END);
        self.input = None;
        let until = Instant::now() + END;
        while Instant::now() < until {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Writes to the plug-in, which may take so long to read it.
    fn write(&mut self, text: &str, limit: Duration) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let until = Instant::now() + limit;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match input.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, "the plug-in does not read its input"));
                    }
                    let within = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
                    let _ = poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLOUT)], within);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the plug-in has said nothing, and not ended.
    fn is_alive(&mut self) -> bool {
        let has_output = readable(&self.output, Duration::ZERO);
        !has_output && self.child.try_wait().is_ok_and(|status| status.is_none())
    }
}

fn start(command: &[String]) -> io::Result<Running> {
    let mut started = Command::new(&command[0]);
    started.args(&command[1..]).env("TZ", "UTC0").stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C in a terminal reaches the agent, which then gives the last alerts and ends the plug-in.
    started.process_group(0);
    // SAFETY: between fork and exec two system calls without memory or locks.
    unsafe { started.pre_exec(before_exec) };
    let mut child = started.spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    fcntl(&input, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let mut running = Running { child, input: Some(input), output, version: 6, blocks: 0, last: 0 };
    // One that has ended already does not answer.
    let _ = running.write(OFFER, ANSWER);
    let answer = answer(&mut running.output)?;
    running.version = match answer.as_str() {
        ":PGNVERSION:5:" => 5,
        ":PGNVERSION:6:" => 6,
        SHUTDOWN => return Err(io::Error::other("it speaks none of the versions 5 and 6")),
        _ => return Err(io::Error::other(format!("it answered {answer:?} instead of its version"))),
    };
    Ok(running)
}

/// Signals that the agent blocks must reach the plug-in. One that reads nothing would not see that the agent has gone; the thread
/// that starts it is there as long as the sink.
fn before_exec() -> io::Result<()> {
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(set_pdeathsig(Signal::SIGTERM)?)
}

/// The first line that the plug-in says.
fn answer(output: &mut ChildStdout) -> io::Result<String> {
    let until = Instant::now() + ANSWER;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < 256 && readable(output, until.saturating_duration_since(Instant::now())) {
        match output.read(&mut byte)? {
            0 => return Err(io::Error::other("it ended without an answer")),
            _ if byte == *b"\n" => return Ok(String::from_utf8_lossy(&line).into_owned()),
            _ => line.push(byte[0]),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"))
}

fn readable(output: &ChildStdout, within: Duration) -> bool {
    let within = PollTimeout::try_from(within).unwrap_or(PollTimeout::ZERO);
    poll(&mut [PollFd::new(output.as_fd(), PollFlags::POLLIN)], within).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ioassay_record::operation::Operation;
    use serde::Deserialize;
    use tempfile::tempdir;

    use super::*;

    /// What the control plane's side is tested on as well.
    const AGREED: &str = include_str!("../../../../python/ioassay/monitoring/mistral/testdata/plugin_stream.json");

    fn agreed() -> serde_json::Value {
        serde_json::from_str(AGREED).unwrap()
    }

    #[derive(Deserialize)]
    struct PluginMessage {
        second: u64,
        part: u32,
        node: String,
        job: String,
        label: String,
        action: String,
        path: String,
        classes: String,
        sizes: String,
        measure: String,
        measured: u64,
        allowed: u64,
        window_s: u64,
        pid: String,
        command: String,
        file: String,
        mount_point: String,
        file_system: String,
        mount_source: String,
        rank: String,
        user: String,
    }

    fn document(message: PluginMessage) -> Document {
        let PluginMessage { second, part, node, job, label, action, path, classes, measure, measured, allowed, .. } =
            message;
        let PluginMessage {
            sizes,
            window_s,
            pid,
            command,
            file,
            mount_point,
            file_system,
            mount_source,
            rank,
            user,
            ..
        } = message;
        let alert = Alert {
            node,
            job,
            label,
            action,
            path,
            classes,
            sizes,
            measure,
            measured,
            allowed,
            window_s,
            pid,
            command,
            file,
            mount_point,
            file_system,
            mount_source,
            rank,
            user,
            ..Alert::default()
        };
        alert.of(second, part)
    }

    #[test]
    fn words_are_those_of_the_control_plane() {
        let agreed = agreed();
        for operation in Operation::ALL {
            let wanted = agreed["call_types"].get(operation.word()).and_then(|word| word.as_str());
            assert_eq!(call_type(operation.word()), wanted, "{}", operation.word());
        }
        for (measure, word) in agreed["measurements"].as_object().unwrap() {
            assert_eq!(Measurement::of(measure).name, word, "{measure}");
        }
    }

    /// A plug-in that keeps what it receives, and answers with a version.
    fn plugin(directory: &std::path::Path, version: u8, then: &str) -> Plugin {
        let script = format!("echo :PGNVERSION:{version}:; {then}");
        let received = directory.join("told").display().to_string();
        let command = ["sh", "-c", &script, &received].map(str::to_owned).to_vec();
        Plugin { command, running: None, entries: 0 }
    }

    #[test]
    fn a_plug_in_gets_what_mistral_would_send_it() {
        let mut tried = 0;
        for stream in agreed()["streams"].as_array().unwrap() {
            if stream["options"]["utc_offset_s"] != 0 {
                continue;
            }
            let directory = tempdir().unwrap();
            let version = stream["options"]["version"].as_u64().unwrap() as u8;
            let mut plugin = plugin(directory.path(), version, "cat > $0");
            for block in stream["blocks"].as_array().unwrap() {
                let messages: Vec<PluginMessage> = serde_json::from_value(block.clone()).unwrap();
                let documents: Vec<Document> = messages.into_iter().map(document).collect();
                for payload in Lines.encode(&documents) {
                    plugin.send(&payload.bytes).unwrap();
                }
            }
            // For nothing it is not even started.
            if plugin.running.is_some() {
                drop(plugin);
                let received = fs::read_to_string(directory.path().join("told")).unwrap();
                assert_eq!(received, stream["text"].as_str().unwrap(), "{}", stream["about"]);
                tried += 1;
            }
        }
        assert!(tried >= 7, "{tried}");
    }

    fn alert() -> Vec<u8> {
        Lines.encode(&[Alert { job: "7".into(), measure: "count".into(), ..Alert::default() }.of(1, 0)]).remove(0).bytes
    }

    #[test]
    fn a_plug_in_that_ends_is_started_again_and_what_it_got_last_is_lost() {
        let directory = tempdir().unwrap();
        let mut plugin = plugin(directory.path(), 6, "head -n 4 >> $0");
        plugin.send(&alert()).unwrap();
        while plugin.running.as_mut().unwrap().is_alive() {
            std::thread::yield_now();
        }
        let refusal = plugin.send(&alert()).unwrap_err();
        assert!(matches!(&refusal, Refusal::Partly { rest, documents: 1, .. } if *rest == alert()), "{refusal:?}");
        plugin.send(&alert()).unwrap();
        drop(plugin);
        let received = fs::read_to_string(directory.path().join("told")).unwrap();
        assert_eq!(received.matches(OFFER).count(), 2);
        assert_eq!(received.matches(":PGNDATAEND:1:").count(), 2);
    }

    #[test]
    fn a_plug_in_that_reads_nothing_is_started_again() {
        let directory = tempdir().unwrap();
        let mut plugin = plugin(directory.path(), 6, "exec sleep 1000");
        plugin.send(&alert()).unwrap();
        let long = "x".repeat(1 << 20);
        let running = plugin.running.as_mut().unwrap();
        let error = running.write(&long, Duration::from_millis(10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let pid = running.child.id();
        // It is ended, though it sees no end of its input.
        drop(plugin);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_program_that_is_no_plug_in_is_reported() {
        let directory = tempdir().unwrap();
        let refusal = plugin(directory.path(), 7, "cat").send(&alert()).unwrap_err();
        assert!(matches!(&refusal, Refusal::Later { reason, .. } if reason.contains("PGNVERSION:7")), "{refusal:?}");
        let silent = ["true".to_owned()].to_vec();
        let refusal = Plugin { command: silent, running: None, entries: 0 }.send(&alert()).unwrap_err();
        assert!(
            matches!(&refusal, Refusal::Later { reason, .. } if reason.contains("without an answer")),
            "{refusal:?}"
        );
        let none = ["/no/such/program".to_owned()].to_vec();
        let refusal = Plugin { command: none, running: None, entries: 0 }.send(&alert()).unwrap_err();
        assert!(
            matches!(&refusal, Refusal::Later { reason, .. } if reason.contains("/no/such/program")),
            "{refusal:?}"
        );
        assert!(open(&[]).is_err());
    }

    #[test]
    fn an_interrupt_of_the_terminal_does_not_reach_the_plug_in() {
        let directory = tempdir().unwrap();
        let mut plugin = plugin(directory.path(), 6, "cat > $0");
        plugin.send(&alert()).unwrap();
        let child = plugin.running.as_ref().unwrap().child.id() as i32;
        let group = nix::unistd::getpgid(Some(nix::unistd::Pid::from_raw(child))).unwrap();
        assert_eq!(group.as_raw(), child);
    }

    #[test]
    fn signals_that_the_agent_blocks_end_the_plug_in() {
        use std::os::unix::process::ExitStatusExt;
        SigSet::from_iter([Signal::SIGTERM]).thread_block().unwrap();
        let directory = tempdir().unwrap();
        let mut plugin = plugin(directory.path(), 6, "exec sleep 1000");
        plugin.send(&alert()).unwrap();
        let child = &mut plugin.running.as_mut().unwrap().child;
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        nix::sys::signal::kill(pid, Signal::SIGTERM).unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while Instant::now() < until {
            if let Some(status) = child.try_wait().unwrap() {
                return assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it goes on");
    }
}
