//! Programs in C that are run by `ioassay-engine record`, and what is in the tables afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ioassay_record::operation::{FIRST_TRANSFER, OPERATIONS, Operation};
use ioassay_record::read::{Table, copy};
use ioassay_record::table::{
    Errors, File, FileKind, Header, Latencies, Opened, Second, Seconds, State, Text, TextKind, Thread, Transfers,
    WATCHED_ROWS, Watched, WatchedRow,
};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::process::{children, wait_until};

/// Where the programs are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");

/// Compiles `recorded/NAME.c` with these options of the compiler, unless that has been done before. `None` where it cannot.
pub fn try_compile(compiler: &str, name: &str, options: &[&str]) -> Option<PathBuf> {
    let source = Path::new(SOURCES).join(format!("{name}.c"));
    let texts = [fs::read(&source).unwrap(), fs::read(Path::new(SOURCES).join("recorded.h")).unwrap()];
    let mut hash = DefaultHasher::new();
    (compiler, options, texts).hash(&mut hash);
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded");
    fs::create_dir_all(&kept).unwrap();
    let program = kept.join(format!("{name}-{:016x}", hash.finish()));
    if !program.exists() {
        let new = tempfile::Builder::new().tempfile_in(&kept).unwrap().into_temp_path();
        let mut command = Command::new(compiler);
        command
            .args([
                "-O1",
                "-Wall",
                "-Werror",
                "-Wno-nonnull",
                "-Wno-stringop-overread",
                "-Wno-unused-result",
                "-pthread",
                "-o",
            ])
            .arg(&new)
            .arg(&source)
            .args(options);
        let made = command.output().ok()?;
        if !made.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&made.stderr));
            return None;
        }
        fs::rename(&new, &program).unwrap();
    }
    Some(program)
}

/// The program of that name.
pub fn compiled(name: &str) -> PathBuf {
    try_compile("cc", name, &[]).unwrap_or_else(|| panic!("{name}.c does not compile"))
}

/// The library of that name, to preload or to load.
pub fn library(name: &str) -> PathBuf {
    try_compile("cc", name, &["-shared", "-fPIC"]).unwrap_or_else(|| panic!("{name}.c does not compile"))
}

/// A place to run a command in, with and without the recorder.
pub struct Place {
    /// The working directory, and all that belongs to it.
    pub root: tempfile::TempDir,
    /// Options of `record`, as `--tables`.
    pub options: Vec<OsString>,
    /// What the command finds in its environment.
    pub environment: Vec<(&'static str, OsString)>,
    records: AtomicU32,
}

impl Place {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        Self { root, options: Vec::new(), environment: Vec::new(), records: AtomicU32::new(0) }
    }

    /// A file that the command knows by that name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    /// `record` on a command, ready to be started, and where the record will be.
    pub fn recorder(&self, command: &[&str]) -> (Command, PathBuf) {
        let record = self.root.path().join(format!("record-{}", self.records.fetch_add(1, Relaxed)));
        let mut recorder = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        recorder.arg("record").arg("--out").arg(&record).args(&self.options).arg("--").args(command);
        recorder.current_dir(self.path("")).stdin(Stdio::null());
        recorder.envs(self.environment.iter().map(|(name, value)| (name, value)));
        (recorder, record)
    }

    /// Records a command to its end.
    pub fn record(&self, command: &[&str]) -> RecordedCommand {
        let (mut recorder, record) = self.recorder(command);
        recorder.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        RecordedCommand::of(recorder.output().unwrap(), &record)
    }

    /// Records a program of ours, which must find everything as it should be.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Record {
        let program = compiled(program);
        let ran = self.record(&[&[program.to_str().unwrap()], arguments].concat());
        assert!(ran.status.success(), "{:?}: {}{}", ran.status, ran.output, ran.stderr);
        ran.record()
    }
}

/// Records a program of ours in a place of its own.
pub fn run(program: &str, arguments: &[&str]) -> Record {
    Place::new().run(program, arguments)
}

/// `record` under way. All that belongs to it ends with the test.
pub struct Started(pub Child);

impl Started {
    /// In a process group of its own.
    pub fn new(recorder: &mut Command) -> Self {
        Self(recorder.process_group(0).spawn().unwrap())
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    /// The process of the command.
    pub fn command(&self) -> Pid {
        let mut processes = Vec::new();
        wait_until("the command has been started", || {
            processes = children(self.0.id());
            !processes.is_empty()
        });
        Pid::from_raw(processes[0] as i32)
    }

    /// Waits for `record` to end; its standard output and error are pipes. What the command did.
    pub fn ran(mut self, record: &Path) -> RecordedCommand {
        let (status, mut stdout, mut stderr) = (self.end(), Vec::new(), Vec::new());
        self.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
        RecordedCommand::of(Output { status, stdout, stderr }, record)
    }

    /// Waits for `record` to end.
    pub fn end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("record has ended", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// What a recorded command did.
pub struct RecordedCommand {
    pub status: ExitStatus,
    /// On its standard output.
    pub output: String,
    /// On standard error, by it and by `record`.
    pub stderr: String,
    record: Option<Record>,
}

impl RecordedCommand {
    pub fn of(ended: Output, record: &Path) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            status: ended.status,
            output: text(ended.stdout),
            stderr: text(ended.stderr),
            record: record.join("record.json").exists().then(|| Record::read(record)),
        }
    }

    /// What is in its record.
    pub fn record(self) -> Record {
        let record = self.record.unwrap_or_else(|| panic!("there is no record: {}", self.stderr));
        Record { output: self.output, stderr: self.stderr, ..record }
    }
}

/// What was recorded.
#[derive(Debug)]
pub struct Record {
    /// A table for each image of a process, in the order of their beginning.
    pub images: Vec<Image>,
    /// What `record.json` says.
    pub document: Value,
    /// Of the command, on standard output.
    pub output: String,
    /// On standard error.
    pub stderr: String,
}

impl Record {
    /// The record in that directory.
    pub fn read(directory: &Path) -> Self {
        let document = serde_json::from_slice(&fs::read(directory.join("record.json")).unwrap()).unwrap();
        let mut images = Vec::new();
        for file in fs::read_dir(directory).unwrap().flatten().filter(|file| is_tables(&file.path())) {
            images.extend(images_of(&fs::read(file.path()).unwrap()));
        }
        Self { images: superseded(images), document, output: String::new(), stderr: String::new() }
    }

    /// What is in the directory in which processes have their tables while they run.
    pub fn of_tables(directory: &Path) -> Vec<Image> {
        let mut images = Vec::new();
        for extension in ["tables", "table"] {
            for file in fs::read_dir(directory).unwrap().flatten() {
                if file.path().extension().is_some_and(|actual| actual == extension) {
                    let bytes = fs::read(file.path()).unwrap_or_default();
                    match extension {
                        "tables" => images.extend(images_of(&bytes)),
                        // What follows is not in use yet.
                        _ => images.extend(Table::first(&bytes).ok().map(|table| Image::of(&table))),
                    }
                }
            }
        }
        superseded(images)
    }

    /// The image that the command itself began as.
    pub fn first(&self) -> &Image {
        self.images.first().expect("something was recorded")
    }

    /// The only one.
    pub fn only(&self) -> &Image {
        assert_eq!(self.images.len(), 1, "{:#?}", self.images);
        self.first()
    }

    /// The images of a process.
    pub fn process(&self, pid: u32) -> Vec<&Image> {
        self.images.iter().filter(|image| image.pid == pid).collect()
    }

    /// The image whose command has this word.
    pub fn image(&self, word: &str) -> &Image {
        let mut images = self.images.iter().filter(|image| image.command.iter().any(|known| known == word));
        let image = images.next().unwrap_or_else(|| panic!("no image has {word}: {:#?}", self.images));
        assert!(images.next().is_none(), "several images have {word}");
        image
    }

    /// A number that the program printed: `NAME NUMBER` on a line of its own.
    pub fn printed(&self, name: &str) -> u64 {
        let line = self.output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in {:?}", self.output)).trim().parse().unwrap()
    }

    /// Calls, failed calls and bytes of an operation on a file, by all images.
    pub fn counts(&self, file: &str, operation: Operation) -> (u64, u64, u64) {
        let each = self.images.iter().map(|image| image.file(file).counts(operation));
        each.fold((0, 0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1, sum.2 + counts.2))
    }

    /// Calls and bytes of an operation on a file, by all images.
    pub fn sum(&self, file: &str, operation: Operation) -> (u64, u64) {
        let each = self.images.iter().map(|image| image.file(file).of(operation));
        each.fold((0, 0), |sum, moved| (sum.0 + moved.calls, sum.1 + moved.bytes))
    }
}

fn is_tables(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tables")
}

fn images_of(bytes: &[u8]) -> Vec<Image> {
    Table::all(bytes).map(|table| Image::of(&table.unwrap())).collect()
}

/// Of tables with the same process and beginning the last one counts; what only announces an `exec` is none.
fn superseded(all: Vec<Image>) -> Vec<Image> {
    let mut last = BTreeMap::new();
    for image in all.into_iter().filter(|image| image.node.is_some()) {
        last.insert((image.begin_ns, image.pid, image.begin_ticks), image);
    }
    last.into_values().inspect(Image::check).collect()
}

/// What was done by one image of a process.
#[derive(Debug, Default)]
pub struct Image {
    pub pid: u32,
    pub parent: u32,
    pub state: u32,
    pub begin_ticks: u64,
    pub begin_ns: u64,
    pub folded_calls: u64,
    pub lost_calls: u64,
    pub handler_calls: u64,
    pub own_ticks: u64,
    /// What the kernel counted of the process, or of all its threads: `rchar`, `wchar`, `syscr`, `syscw`.
    pub kernel: [u64; 4],
    /// Of its table.
    pub bytes: usize,
    pub node: Option<String>,
    pub command: Vec<String>,
    pub replacement: Option<String>,
    /// By name; several rows of a name are one.
    pub files: BTreeMap<String, FileCounts>,
    /// Of all for which the table had no place.
    pub others: FileCounts,
    /// Calls that failed, by operation and errno.
    pub errors: BTreeMap<(u32, i32), u64>,
    /// Calls and bytes by second and operation.
    pub seconds: BTreeMap<u32, Vec<Moved>>,
    /// Threads that live, and those that ended without saying so.
    pub threads: u32,
    /// Parts of threads.
    pub parts: u32,
    /// Calls that are under way: operation and name of the file.
    pub in_flight: Vec<(u32, String)>,
    /// What rules matched, by slots.
    pub watched: BTreeMap<usize, Matched>,
    pub unwatched_calls: u64,
    pub throttled_ticks: u64,
    latencies: Vec<u64>,
}

/// What was moved.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    pub calls: u64,
    pub bytes: u64,
}

/// What the rules of a slot matched, of all threads.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Matched {
    pub calls: u64,
    pub failed: u64,
    pub bytes: u64,
    pub ticks: u64,
    pub seek_bytes: u64,
    pub waits: u64,
    pub waited_ticks: u64,
    /// Name of the last file of the last thread.
    pub file: String,
    /// By second: the fastest call and the slowest, in ticks, and what that one was on.
    pub extremes: BTreeMap<u32, (u64, u64, String)>,
}

/// Of one operation on a file, which moves bytes.
#[derive(Debug, Default, Clone)]
pub struct Transferred {
    pub calls: u64,
    pub failed: u64,
    pub bytes: u64,
    pub consecutive: u64,
    pub forward: u64,
    pub strided: u64,
    pub begin: u64,
    pub end: u64,
    /// Calls that succeeded and are in no bucket of sizes.
    pub without_size: u64,
    /// Calls by exact size, of those that came up early.
    pub sizes: BTreeMap<u64, u64>,
}

/// Of a file.
#[derive(Debug, Default, Clone)]
pub struct FileCounts {
    pub kind: u16,
    /// Of all opens together.
    pub open_flags: u32,
    /// Calls that move nothing, by operation.
    pub calls: [u32; FIRST_TRANSFER],
    /// Those that failed.
    pub failed: [u32; FIRST_TRANSFER],
    /// `errno` of the last that failed.
    pub error: u32,
    moved: BTreeMap<u32, Transferred>,
}

impl FileCounts {
    /// Of an operation that moves bytes.
    pub fn of(&self, operation: Operation) -> Transferred {
        self.moved.get(&(operation as u32)).cloned().unwrap_or_default()
    }

    pub fn reads(&self) -> Transferred {
        self.of(Operation::Read)
    }

    pub fn writes(&self) -> Transferred {
        self.of(Operation::Write)
    }

    /// Calls, failed calls and bytes of any operation.
    pub fn counts(&self, operation: Operation) -> (u64, u64, u64) {
        match self.calls.get(operation as usize) {
            Some(calls) => ((*calls).into(), self.failed[operation as usize].into(), 0),
            None => {
                let moved = self.of(operation);
                (moved.calls, moved.failed, moved.bytes)
            }
        }
    }

    /// Calls of an operation that moves none.
    pub fn count(&self, operation: Operation) -> u32 {
        self.calls[operation as usize]
    }

    fn add(&mut self, file: &File) {
        self.kind = self.kind.max(file.kind.load(Relaxed));
        let add = |to: &mut [u32; FIRST_TRANSFER], from: &[AtomicU32; FIRST_TRANSFER]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from.load(Relaxed));
        };
        add(&mut self.calls, &file.calls);
        add(&mut self.failed, &file.failed);
        self.error = self.error.max(file.error.load(Relaxed));
    }
}

impl Transferred {
    fn add(&mut self, row: &Transfers) {
        let of = |number: &AtomicU64| number.load(Relaxed);
        self.begin = if self.calls == 0 { of(&row.begin) } else { self.begin.min(of(&row.begin)) };
        self.end = self.end.max(of(&row.end));
        self.calls += of(&row.calls);
        self.failed += of(&row.failed);
        self.bytes += of(&row.bytes);
        self.consecutive += of(&row.consecutive);
        self.forward += of(&row.forward);
        self.strided += of(&row.strided);
        for (size, calls) in row.common_bytes.iter().zip(&row.common_calls) {
            if of(calls) > 0 {
                *self.sizes.entry(of(size)).or_default() += of(calls);
            }
        }
        let by_size: u64 = row.sizes.iter().map(of).sum();
        self.without_size += (of(&row.calls) - of(&row.failed)).abs_diff(by_size);
    }
}

impl Matched {
    fn add(&mut self, row: &WatchedRow, name: impl Fn(u32) -> String) {
        let of = |number: &AtomicU64| number.load(Relaxed);
        self.calls += of(&row.calls);
        self.failed += of(&row.failed);
        self.bytes += of(&row.bytes);
        self.ticks += of(&row.ticks);
        self.seek_bytes += of(&row.seek_bytes);
        self.waits += of(&row.waits);
        self.waited_ticks += of(&row.waited_ticks);
        self.file = name(row.file.load(Relaxed));
        for pair in 0..2 {
            let second = row.seconds[pair].load(Relaxed);
            if second != 0 {
                let slowest = (of(&row.slowest_ticks[pair]), name(row.slowest_files[pair].load(Relaxed)));
                let known = self.extremes.entry(second).or_insert((u64::MAX, 0, String::new()));
                known.0 = known.0.min(of(&row.fastest_ticks[pair]));
                if slowest.0 >= known.1 {
                    (known.1, known.2) = slowest;
                }
            }
        }
    }
}

impl Image {
    fn of(table: &Table) -> Self {
        let header: Header = table.header();
        let mut image = Self {
            pid: header.process,
            parent: header.parent,
            state: header.state.load(Relaxed),
            begin_ticks: header.begin_ticks,
            begin_ns: header.begin_ns,
            folded_calls: header.folded_calls.load(Relaxed),
            lost_calls: header.lost_calls.load(Relaxed),
            handler_calls: header.handler_calls.load(Relaxed),
            own_ticks: header.own_ticks.load(Relaxed),
            unwatched_calls: header.unwatched_calls.load(Relaxed),
            throttled_ticks: header.throttled_ticks.load(Relaxed),
            kernel: header.kernel_of_process.each_ref().map(|counter| counter.load(Relaxed)),
            bytes: table.bytes().len(),
            latencies: vec![0; OPERATIONS],
            ..Self::default()
        };
        let counts_threads = image.kernel == [0; 4];
        if counts_threads {
            image.kernel = header.kernel_of_ended.each_ref().map(|counter| counter.load(Relaxed));
        }
        let (mut names, mut in_flight, mut watched) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (mut opened, mut open_flags) = (Vec::new(), BTreeMap::new());
        for block in table.blocks() {
            if let Some((text, bytes)) = block.get::<Text>() {
                image.add_text(text.kind, &bytes[..text.text_bytes as usize]);
            } else if let Some((file, bytes)) = block.get::<File>() {
                let name = String::from_utf8_lossy(&bytes[..file.name_bytes.into()]).into_owned();
                let others = file.kind.load(Relaxed) == FileKind::Others as u16;
                let counts = if others { &mut image.others } else { image.files.entry(name.clone()).or_default() };
                counts.add(&file);
                opened.push((name.clone(), file.opened.load(Relaxed)));
                names.insert(block.place as u32, (name, others));
            } else if let Some((opened, _)) = block.get::<Opened>() {
                open_flags.insert(block.place as u32, opened.open_flags.load(Relaxed));
            } else if let Some((thread, _)) = block.get::<Thread>() {
                image.parts += 1;
                image.threads += u32::from(thread.thread.load(Relaxed) != 0);
                for (sum, counter) in image.kernel.iter_mut().zip(&thread.kernel).filter(|_| counts_threads) {
                    *sum += counter.load(Relaxed);
                }
                for (operation, totals) in thread.totals.iter().enumerate() {
                    image.add_second(thread.second.load(Relaxed), operation, &totals[0], &totals[1]);
                }
                let word = thread.in_flight.load(Relaxed);
                if word != 0 {
                    in_flight.push(((word >> 32) as u32 - 1, word as u32));
                }
            } else if let Some((latencies, _)) = block.get::<Latencies>() {
                let sum: u64 = latencies.calls.iter().map(|calls| calls.load(Relaxed)).sum();
                image.latencies[latencies.operation as usize] += sum;
            } else if let Some((_, rows)) = block.get::<Seconds>() {
                for row in rows.chunks_exact(size_of::<Second>()).filter_map(copy::<Second>) {
                    let operation = row.operation.load(Relaxed).into();
                    image.add_second(row.second.load(Relaxed), operation, &row.calls, &row.bytes);
                }
            } else if let Some((errors, _)) = block.get::<Errors>() {
                for (kind, calls) in errors.kinds.iter().zip(&errors.calls).filter(|(kind, _)| kind.load(Relaxed) != 0)
                {
                    let kind = kind.load(Relaxed);
                    *image.errors.entry(((kind >> 16) - 1, (kind & 0xffff) as i32)).or_default() +=
                        u64::from(calls.load(Relaxed));
                }
            } else if let Some((block, rows)) = block.get::<Watched>() {
                let rows = rows.chunks_exact(size_of::<WatchedRow>()).filter_map(copy::<WatchedRow>);
                assert_eq!(block.first_slot as usize % WATCHED_ROWS, 0);
                watched.extend((block.first_slot as usize..).zip(rows));
            } else if let Some((row, _)) = block.get::<Transfers>() {
                let (name, others) = &names[&row.file];
                let file = if *others { &mut image.others } else { image.files.get_mut(name).unwrap() };
                file.moved.entry(row.operation.into()).or_default().add(&row);
            }
        }
        for (slot, row) in watched.iter().filter(|(_, row)| row.calls.load(Relaxed) + row.waits.load(Relaxed) > 0) {
            image
                .watched
                .entry(*slot)
                .or_default()
                .add(row, |place| names.get(&place).map(|(name, _)| name.clone()).unwrap_or_default());
        }
        for (name, place) in opened {
            if let (Some(counts), Some(flags)) = (image.files.get_mut(&name), open_flags.get(&place)) {
                counts.open_flags |= flags;
            }
        }
        // A table that was cut may have lost the name.
        let name_of = |file: u32| names.get(&file).map(|(name, _)| name.clone()).unwrap_or_default();
        image.in_flight = in_flight.into_iter().map(|(operation, file)| (operation, name_of(file))).collect();
        image
    }

    fn add_text(&mut self, kind: u32, text: &[u8]) {
        let text = String::from_utf8_lossy(text).into_owned();
        match kind {
            kind if kind == TextKind::Command as u32 => {
                self.command = text.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
            }
            kind if kind == TextKind::Node as u32 => self.node = Some(text),
            kind if kind == TextKind::Replacement as u32 => self.replacement = Some(text),
            _ => {}
        }
    }

    fn add_second(&mut self, second: u32, operation: usize, calls: &AtomicU64, bytes: &AtomicU64) {
        let (calls, bytes) = (calls.load(Relaxed), bytes.load(Relaxed));
        if calls > 0 || bytes > 0 {
            let moved =
                &mut self.seconds.entry(second).or_insert_with(|| vec![Moved::default(); OPERATIONS])[operation];
            (moved.calls, moved.bytes) = (moved.calls + calls, moved.bytes + bytes);
        }
    }

    /// The file whose name is that, or ends with it; one without any call where there is none.
    pub fn file(&self, name: &str) -> FileCounts {
        let end = format!("/{name}");
        let mut matching = self.files.iter().filter(|(known, _)| *known == name || known.ends_with(&end));
        let counts = matching.next().map(|(_, counts)| counts.clone()).unwrap_or_default();
        assert!(matching.next().is_none(), "{name} is several of {:?}", self.files.keys());
        counts
    }

    /// Calls and bytes of an operation, by seconds.
    pub fn by_seconds(&self, operation: Operation) -> Moved {
        let each = self.seconds.values().map(|operations| operations[operation as usize]);
        each.fold(Moved::default(), |sum, moved| Moved {
            calls: sum.calls + moved.calls,
            bytes: sum.bytes + moved.bytes,
        })
    }

    /// The same by files.
    pub fn by_files(&self, operation: Operation) -> Moved {
        let files = self.files.values().chain([&self.others]);
        if (operation as usize) < FIRST_TRANSFER {
            return Moved { calls: files.map(|file| u64::from(file.calls[operation as usize])).sum(), bytes: 0 };
        }
        files.map(|file| file.of(operation)).fold(Moved::default(), |sum, moved| Moved {
            calls: sum.calls + moved.calls,
            bytes: sum.bytes + moved.bytes,
        })
    }

    /// The same by files, of a class that seconds have: calls on what is not on storage have others there.
    fn by_class(&self, class: Operation) -> Moved {
        let each = self.files.values().chain([&self.others]).flat_map(|file| {
            let is_on_storage = FileKind::is_on_storage(file.kind);
            let counted_as = move |operation: Operation| if is_on_storage { operation } else { operation.elsewhere() };
            let of_class = Operation::ALL.iter().filter(move |&&operation| counted_as(operation) == class);
            of_class.map(|&operation| match file.calls.get(operation as usize) {
                Some(&calls) => Moved { calls: calls.into(), bytes: 0 },
                None => Moved { calls: file.of(operation).calls, bytes: file.of(operation).bytes },
            })
        });
        each.fold(Moved::default(), |sum, moved| Moved {
            calls: sum.calls + moved.calls,
            bytes: sum.bytes + moved.bytes,
        })
    }

    /// Calls that failed of an operation with that errno.
    pub fn errors(&self, operation: Operation, errno: i32) -> u64 {
        self.errors.get(&(operation as u32, errno)).copied().unwrap_or(0)
    }

    /// It ended by itself.
    pub fn ended(&self) -> bool {
        self.state == State::Exited as u32
    }

    /// Seconds, files and latencies say the same; of a process that was killed one call may be here and not there.
    fn check(&self) {
        let killed = self.state == State::Running as u32;
        for &operation in Operation::ALL {
            let (seconds, files) = (self.by_seconds(operation), self.by_class(operation));
            let latencies = self.latencies[operation as usize];
            let most = if killed { u64::from(self.parts) } else { self.lost_calls };
            let latencies = if self.folded_calls > 0 { files.calls } else { latencies };
            let without_size: u64 =
                self.files.values().chain([&self.others]).map(|file| file.of(operation).without_size).sum();
            let by_others = seconds.calls.abs_diff(files.calls).max(latencies.abs_diff(files.calls));
            let unlike = without_size.max(by_others);
            assert!(unlike <= most, "{}: {seconds:?} {files:?} {latencies} {self:#?}", operation.word());
            assert!(killed || self.lost_calls > 0 || seconds.bytes == files.bytes, "{seconds:?} {files:?}");
        }
    }
}

/// Copies a program that is to be started, by a process of its own. Each process that a test beside this one is just starting
/// has, for a moment, whatever this one has open, and what is open for writing cannot be executed (`ETXTBSY`).
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}
