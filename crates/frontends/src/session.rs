//! One invocation of a front end: its cases one after the other, its run directory, and what it prints.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::failure;
use ioassay_engine::output::EventLog;
use ioassay_engine::plan::validate;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::{self, say};
use ioassay_engine::workspace;
use ioassay_host::clock::{self, Clock};
use ioassay_protocol::VERSION;
use ioassay_protocol::events::{Event, Failure, Left, Removed};
use ioassay_protocol::front_end::{FrontEnd, FrontEndCase, Tool};
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::storage::Target;

use super::common::Common;
use super::doubts::Doubts;

/// Where a run directory says what it is of.
const DOCUMENT: &str = "front-end.json";

/// What the original would print, kept in the run directory too.
const CONSOLE: &str = "console.txt";

/// Locked in a run directory while a command works on it, by a session and its ranks until the last of them has ended.
const LOCK: &str = "lock";

/// What a front end prints.
#[derive(Debug, Default)]
pub struct Console {
    copy: Option<File>,
    /// Why some of it could not be printed or kept, for the first time.
    lost: Option<Failure>,
}

impl Console {
    /// Prints `text` on standard output, at once: ranks are forked, and what is buffered would be printed by each of them.
    /// What cannot be printed does not end the measurement, but how the session ends.
    pub fn print(&mut self, text: &str) {
        let printed = stdio::print(text);
        let cannot_keep = |error| failure::on_path("write", CONSOLE.as_ref(), &error);
        let kept = self.copy.as_mut().map_or(Ok(()), |copy| copy.write_all(text.as_bytes()).map_err(cannot_keep));
        self.lost = self.lost.take().or(printed.and(kept).err());
    }
}

/// One invocation of a front end.
pub struct Session<'a> {
    document: FrontEnd,
    directory: Option<PathBuf>,
    _lock: Option<File>,
    ranks: &'a mut dyn RankSet,
    clock: Clock,
    doubts: Doubts,
    /// What a case that was complete could not remove.
    remains: Option<Box<Failure>>,
    /// Where it prints.
    pub console: Console,
}

impl<'a> Session<'a> {
    /// Begins; `command` is the original's command line after its name. Nothing is written but the run directory.
    pub fn begin(tool: Tool, common: &Common, ranks: &'a mut dyn RankSet, command: &[String]) -> Result<Self, Failure> {
        let started_unix_ns = clock::unix_ns();
        let run = format!("{}-{}-{}", tool.name(), started_unix_ns / 1_000_000, std::process::id());
        let command = std::iter::once(tool.name().to_owned()).chain(command.iter().cloned()).collect();
        let working_directory = std::env::current_dir().unwrap_or_default().display().to_string();
        let document = FrontEnd {
            version: VERSION,
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            tool,
            command,
            working_directory,
            run,
            scale_down: common.scale_down,
            started_unix_ns,
            ended_unix_ns: None,
            exit_code: None,
            cases: Vec::new(),
        };
        let (mut copy, mut lock) = (None, None);
        if let Some(directory) = &common.run {
            let cannot = |error: io::Error| failure::on_path("create run directory", directory, &error);
            // One that is there belongs to another run.
            fs::create_dir(directory).and_then(|()| fs::create_dir(directory.join("logs"))).map_err(cannot)?;
            lock = Some(hold(directory).map_err(cannot)?);
            copy = Some(File::create(directory.join(CONSOLE)).map_err(cannot)?);
        }
        if common.scale_down > 1 {
            say!("ioassay-engine: amounts are divided by {}: this is a trial, not the benchmark", common.scale_down);
        }
        let session = Self {
            document,
            directory: common.run.clone(),
            _lock: lock,
            clock: ranks.clock(),
            ranks,
            doubts: Doubts::default(),
            remains: None,
            console: Console { copy, lost: None },
        };
        session.write_document()?;
        Ok(session)
    }

    /// Identifier of the run, for plans.
    pub fn run(&self) -> &str {
        &self.document.run
    }

    /// Runs `plan` as repetition `repetition` of `workload`; `tell` gets each event soon after it happened.
    pub fn run_case(
        &mut self,
        workload: &str,
        repetition: u32,
        plan: &Plan,
        mut tell: impl FnMut(&Event, &mut Console),
    ) -> Exit {
        let plan = &self.spread(plan);
        let case = FrontEndCase { id: plan.case.clone(), workload: workload.to_owned(), repetition };
        self.document.cases.push(case);
        // The plan is kept also where it is refused: it says what was meant.
        let (mut log, mut reader) = match self.open(plan) {
            Ok(opened) => opened,
            Err(failure) => return Exit::could_not_run(failure),
        };
        if let Err(refusal) = validate(plan) {
            return command::refuse(&refusal, &mut log);
        }
        let (console, doubts) = (&mut self.console, &mut self.doubts);
        let mut follow = || {
            reader.read_new(&mut |event| {
                tell(event, console);
                match event {
                    Event::Phase(record) => doubts.say(record),
                    Event::FilesRemoved(removed) => say_what_is_kept(&removed.kept),
                    Event::Removed(removed) => say_what_is_left(plan, removed),
                    _ => {}
                }
            });
        };
        let mut ended = command::run_case(plan, self.ranks, &self.clock, &mut log, &mut |_| follow());
        follow();
        self.remains = self.remains.take().or(ended.remains.take());
        ended
    }

    /// The plan for the nodes that there are: a client on each, where as many ranks are on each.
    fn spread(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        if let Some(clients) = self.ranks.clients().filter(|clients| clients.total() == plan.ranks.total()) {
            plan.ranks = clients;
        }
        plan
    }

    /// The events of `plan` to write and to read, in the run directory or else in memory.
    fn open(&self, plan: &Plan) -> Result<(EventLog, Follower), Failure> {
        self.write_document()?;
        let (path, reader) = match &self.directory {
            Some(directory) => {
                let logs = directory.join("logs").join(&plan.case);
                let cannot = |error: io::Error| failure::on_path("create", &logs, &error);
                fs::create_dir(&logs).map_err(cannot)?;
                let text = serde_json::to_vec_pretty(plan).expect("our own types are JSON");
                fs::write(logs.join("plan.json"), text).map_err(cannot)?;
                let path = logs.join("events.jsonl");
                let reader = File::options().read(true).append(true).create(true).open(&path).map_err(cannot)?;
                (path, reader)
            }
            None => {
                let file = nix::sys::memfd::memfd_create(c"events", nix::sys::memfd::MFdFlags::MFD_CLOEXEC);
                let file = file.map(File::from).map_err(|errno| {
                    failure::plain("keep events", format!("memory for the events: {}", errno.desc()), "free memory")
                })?;
                (PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file))), file)
            }
        };
        let log = command::prepare(&path, false)?;
        Ok((log, Follower { file: reader, position: 0, rest: Vec::new() }))
    }

    /// Writes down how it `ended`.
    pub fn finish(mut self, ended: Exit) -> Exit {
        self.doubts.sum_up(self.directory.as_deref());
        let ended = Exit { remains: self.remains.take(), ..ended }.with_what_remains();
        let ended = match self.console.lost.take() {
            Some(failure) if ended.code == 0 => Exit::could_not_run(failure),
            _ => ended,
        };
        self.document.ended_unix_ns = Some(clock::unix_ns());
        self.document.exit_code = Some(ended.code);
        match self.write_document() {
            Err(failure) if ended.code == 0 => Exit::could_not_run(failure),
            _ => ended,
        }
    }

    fn write_document(&self) -> Result<(), Failure> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let path = directory.join(DOCUMENT);
        let text = serde_json::to_vec_pretty(&self.document).expect("our own types are JSON");
        replace(&path, &text).map_err(|error| failure::on_path("write", &path, &error))
    }
}

/// Says which files stay that the original would have removed.
fn say_what_is_kept(kept: &[String]) {
    let Some(first) = kept.first() else { return };
    let others = if kept.len() > 1 { format!(" and {} more", kept.len() - 1) } else { String::new() };
    say!("ioassay-engine: {first}{others} not removed: only read, and not marked by ioassay");
    say!("  try: -k to keep the files, --overwrite to remove them");
}

/// Says what remains on the target, on standard error: the originals have no line for it.
fn say_what_is_left(plan: &Plan, removed: &Removed) {
    let workspace_path = match &plan.target {
        Target::Directory(target) => Some(workspace::directory::path(target, &plan.run).display().to_string()),
        Target::InPlace(_) | Target::Device(_) | Target::Url(_) => None,
    };
    for Left { path, because } in &removed.left {
        say!("ioassay-engine: {path} remains: {because}");
        if workspace_path.as_ref() == Some(path) {
            say!("  try: ioassay-engine clean --events FILE {path}");
        }
    }
}

/// Takes the lock of a run directory as the control plane does; what stands in the file is for people.
fn hold(directory: &Path) -> io::Result<File> {
    let mut file = File::create(directory.join(LOCK))?;
    // Where the file system has no locks, only the document tells whether the run has ended.
    let _ = file.try_lock();
    writeln!(file, "{} {}", std::process::id(), ioassay_host::host_name())?;
    Ok(file)
}

/// Replaces the file at `path` as a whole: a reader gets the old or the new text.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(new, path)
}

/// Reads events as they are written.
struct Follower {
    file: File,
    position: u64,
    /// A line that is not complete yet.
    rest: Vec<u8>,
}

impl Follower {
    /// Reports every event that has been written since the last time.
    fn read_new(&mut self, tell: &mut dyn FnMut(&Event)) {
        // The file is shared with its writer, whose position is the end.
        let read = self.file.seek(SeekFrom::Start(self.position)).and_then(|_| self.file.read_to_end(&mut self.rest));
        let Ok(read) = read else { return };
        self.position += read as u64;
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { return };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(event) = serde_json::from_slice(line) {
                tell(&event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_engine::forked::Forked;

    #[test]
    fn a_run_directory_is_locked_until_its_session_has_ended() {
        let above = tempfile::tempdir().unwrap();
        let directory = above.path().join("run");
        let common = Common { ranks: 1, nodes: 1, run: Some(directory.clone()), overwrite: false, scale_down: 1 };
        let mut ranks = Forked::default();
        let session = Session::begin(Tool::Ior, &common, &mut ranks, &[]).unwrap();
        let lock = File::open(directory.join(LOCK)).unwrap();
        assert!(lock.try_lock().is_err());
        assert_eq!(session.finish(Exit::default()).code, 0);
        assert!(lock.try_lock().is_ok());
    }
}
