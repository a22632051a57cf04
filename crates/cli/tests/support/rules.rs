//! Rules for programs that are recorded, given as an agent gives them: by writing into the file beside the tables.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ioassay_host::locks;
use ioassay_record::layout::bytes_of;
use ioassay_record::operation::Operation;
use ioassay_record::rules::{
    Alias, FILE_BYTES, GENERATION_AT, NAME, Rule, RuleKind, SLOTS, bit, bucket_begins_at, encode, half_begins_at,
    header,
};

use super::process::wait_until;
use super::record::{Place, Record, Started, compiled};

/// A rule that counts all calls on all files.
pub const ALL: Rule = Rule {
    kind: RuleKind::Monitor,
    operations: u64::MAX,
    path: b"",
    least_bytes: 0,
    most_bytes: u64::MAX,
    rate_per_s: 0,
    burst_ns: 0,
    number: 0,
};

/// A rule that holds back what such calls move.
pub const fn throttle(operation: Operation, rate_per_s: u64) -> Rule<'static> {
    Rule { kind: RuleKind::ThrottleBytes, operations: bit(operation), rate_per_s, burst_ns: 50_000_000, ..ALL }
}

/// A program under rules, which has not begun yet.
pub struct Watched {
    pub place: Place,
    started: Started,
    record: PathBuf,
    pub agent: Agent,
}

impl Watched {
    /// Starts a program of ours.
    pub fn start(program: &str, how: &str) -> Self {
        Self::start_with(program, &[how])
    }

    /// The same, with these arguments.
    pub fn start_with(program: &str, arguments: &[&str]) -> Self {
        let mut place = Place::new();
        let tables = place.root.path().join("tables");
        fs::create_dir(&tables).unwrap();
        place.options = vec!["--takes-rules".into(), "--tables".into(), tables.clone().into()];
        let (mut recorder, record) = place.recorder(&[&[compiled(program).to_str().unwrap()], arguments].concat());
        let started = Started::new(recorder.stdout(Stdio::piped()).stderr(Stdio::piped()));
        Self { place, started, record, agent: Agent::of(&tables) }
    }

    /// How rules name a file of the program.
    pub fn path(&self, name: &str) -> Vec<u8> {
        fs::canonicalize(self.place.path("")).unwrap().join(name).into_os_string().into_encoded_bytes()
    }

    /// Lets the program go beyond that point.
    pub fn pass(&self, name: &str) {
        fs::write(self.place.path(name), "").unwrap();
    }

    /// The program has come to that point.
    pub fn wait_for(&self, name: &str) {
        wait_until(name, || self.place.path(name).exists());
    }

    /// Gives the agent away.
    pub fn without_agent(self) -> (Unwatched, Agent) {
        (Unwatched { place: self.place, started: self.started, record: self.record }, self.agent)
    }

    /// Whether a thread of the program sleeps in the kernel's `nanosleep`, as calls do that are held back.
    pub fn holds_back(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.started.command())).unwrap().flatten();
        tasks.into_iter().any(|task| {
            let call = fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
            call.split(' ').next() == Some(&libc::SYS_nanosleep.to_string())
        })
    }

    /// Waits for its end.
    pub fn end(self) -> Record {
        self.end_with(0)
    }

    /// The same, where it ends with that code.
    pub fn end_with(self, code: i32) -> Record {
        self.without_agent().0.end_with(code)
    }
}

/// A program that is to follow rules, and whose agent is elsewhere.
pub struct Unwatched {
    place: Place,
    started: Started,
    record: PathBuf,
}

impl Unwatched {
    /// Lets the program go beyond that point.
    pub fn pass(&self, name: &str) {
        fs::write(self.place.path(name), "").unwrap();
    }

    /// Waits for its end.
    pub fn end(self) -> Record {
        self.end_with(0)
    }

    fn end_with(self, code: i32) -> Record {
        let ran = self.started.ran(&self.record);
        assert_eq!(ran.status.code(), Some(code), "{}{}", ran.output, ran.stderr);
        ran.record()
    }
}

/// Who gives the rules. It lives until it is dropped.
pub struct Agent {
    file: File,
    generation: u64,
}

impl Agent {
    /// Of what is recorded with its tables in a new directory in `tables`.
    pub fn of(tables: &Path) -> Self {
        let mut path = None;
        // A file that is still being written would lose what is written into it.
        let is_whole = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() == FILE_BYTES as u64);
        wait_until("there is a file of rules", || {
            let first = fs::read_dir(tables).unwrap().flatten().next();
            path = first.map(|directory| directory.path().join(NAME)).filter(is_whole);
            path.is_some()
        });
        Self::of_file(&path.unwrap())
    }

    /// Of a file of rules.
    pub fn of_file(path: &Path) -> Self {
        let file = File::options().read(true).write(true).open(path).unwrap();
        locks::lock(&file).unwrap();
        Self { file, generation: 0 }
    }

    /// Makes a file that was cut as long as it was, and one of rules.
    pub fn restore(&self) {
        self.file.set_len(FILE_BYTES as u64).unwrap();
        self.file.write_all_at(&bytes_of(&header())[..GENERATION_AT as usize], 0).unwrap();
    }

    /// Gives these rules, by slots, and no others any more.
    pub fn give(&mut self, rules: &[(usize, Rule)]) {
        self.give_with(rules, &[]);
    }

    /// The same, with what else their files are called.
    pub fn give_with(&mut self, rules: &[(usize, Rule)], aliases: &[Alias<Vec<u8>>]) {
        let mut all = [None; SLOTS];
        rules.iter().for_each(|(slot, rule)| all[*slot] = Some(*rule));
        self.generation += 1;
        self.file.write_all_at(bytes_of(&encode(&all, aliases).unwrap()), half_begins_at(self.generation)).unwrap();
        self.file.write_all_at(&self.generation.to_le_bytes(), GENERATION_AT).unwrap();
        for slot in 0..SLOTS {
            self.file.write_all_at(&[0; 8], bucket_begins_at(slot)).unwrap();
        }
    }
}

/// A process that holds the lock of an agent, which has given it away.
pub struct OtherProcess(Child);

impl Agent {
    /// Leaves the lock to another process alone.
    pub fn live_on_in_another_process(self) -> OtherProcess {
        let file = Stdio::from(self.file);
        OtherProcess(Command::new("sleep").arg("1000").stdin(file).spawn().unwrap())
    }
}

impl OtherProcess {
    /// Kills it.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
