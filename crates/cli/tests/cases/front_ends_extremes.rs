//! Amounts that nobody has: every numeric option of every front end with every extreme value. Each is an error that ends in
//! order; none panics, none aborts, none allocates what is not there. No file is ever reached: its directory does not exist.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::skipped::skipped;
use nix::sys::resource::{Resource, setrlimit};

/// More than any of these needs; what allocates more than it must ends by an abort.
const MEMORY_BYTES: u64 = 8 << 30;

const VALUES: [&str; 9] = [
    "0",
    "-1",
    "4294967296",
    "9223372036854775807",
    "18446744073709551608",
    "10000000000000000000000000000000000000000",
    "1e30",
    "20000t",
    "k",
];

fn run(directory: &Path, words: &[String], limit: Option<u64>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    command.current_dir(directory).args(words);
    for name in ["IOASSAY_RANKS", "IOASSAY_SCALE_DOWN", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"] {
        command.env_remove(name);
    }
    let bound = move || match limit {
        Some(bytes) => Ok(setrlimit(Resource::RLIMIT_AS, bytes, bytes)?),
        None => Ok(()),
    };
    // SAFETY: setrlimit may be called after a fork.
    unsafe { command.pre_exec(bound) }.output().unwrap()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Each command line has an option that takes one of the values, at @.
fn lines() -> Vec<String> {
    let ior = [
        "-A",
        "-b",
        "-d",
        "-D",
        "-G",
        "-i",
        "-j",
        "-J",
        "-M",
        "-N",
        "-Q",
        "-s",
        "-t",
        "-T",
        "-X",
        "--randomPrefill",
        "--random-offset-seed",
        "--aio.max-pending",
        "--aio.granularity",
        "--dummy.delay-xfer",
        "--ranks",
    ];
    let directives = [
        "memoryPerTask",
        "memoryPerNode",
        "interIODelay",
        "stoneWallingWearOutIterations",
        "minTimeDuration",
        "numTasks",
        "reorderTasksRandom",
        "segmentCount",
        "verbose",
        "randomOffset",
    ];
    let mdtest = [
        "-b",
        "-e",
        "-f",
        "-G",
        "-i",
        "-I",
        "-l",
        "-n",
        "-N",
        "-p",
        "--random-seed",
        "-s",
        "-V",
        "-w",
        "-W",
        "-z",
        "--ranks",
    ];
    let iozone = ["-H", "-j", "-J", "-k", "-l", "-u", "-r", "-s", "-t", "-+O", "-+p", "-+q", "-+A", "--ranks"];
    let survey = ["nobjlo", "nobjhi", "thrlo", "thrhi", "size", "rszlo", "rszhi", "PAGE_SIZE"];
    let ior = ior.iter().flat_map(|option| {
        [
            "ior -w -k -E -F -s 4 -a AIO -O interIODelay=18446744073709551615 -o none/f",
            "ior --ranks 3 -z -C -b 1g -o none/f",
        ]
        .map(|line| format!("{line} {option} @"))
    });
    let directives = directives.iter().map(|name| format!("ior -o none/f -O {name}=@"));
    let mdtest = mdtest.iter().flat_map(|option| {
        ["mdtest -n 4 -d none/d/d", "mdtest -z 3 -b 4 -I 5 -u -L --ranks 2 -d none/d/d"]
            .map(|line| format!("{line} {option} @"))
    });
    let iozone = iozone.iter().flat_map(|option| {
        ["iozone -i 0 -i 1 -t 2 -F none/f none/g", "iozone -i 0 -i 5 -i 8 -+J -t 2 -F none/f none/g"].map(|line| {
            let (begin, rest) = line.split_at("iozone".len());
            format!("{begin} {option} @{rest}")
        })
    });
    let survey = survey.iter().map(|name| format!("obdfilter-survey targets=none {name}=@"));
    ior.chain(directives).chain(mdtest).chain(iozone).chain(survey).collect()
}

#[test]
fn no_amount_on_a_command_line_panics_or_aborts() {
    let directory = tempfile::tempdir().unwrap();
    let lines: Vec<String> = lines().iter().flat_map(|line| VALUES.map(|value| line.replace('@', value))).collect();
    let next = AtomicUsize::new(0);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let attack = || {
            let mut failed = Vec::new();
            while let Some(line) = lines.get(next.fetch_add(1, Ordering::SeqCst)) {
                let output = run(directory.path(), &words(line), Some(MEMORY_BYTES));
                let errors = String::from_utf8_lossy(&output.stderr);
                let in_order = matches!(output.status.code(), Some(1..=3)) && errors.contains("try: ");
                if !in_order || errors.contains("panicked") {
                    failed.push(format!("{line}: {:?} {:?} {errors}", output.status.code(), output.status.signal()));
                }
            }
            failed
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(attack)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} of {}: {}", failed.len(), lines.len(), failed.join("\n"));
}

#[test]
fn memory_that_the_node_or_a_limit_does_not_have_is_refused_with_whose_it_is() {
    let directory = tempfile::tempdir().unwrap();
    for (line, limit, whose) in [
        ("ior -w -o f -M 18446744073709551615", None, ""),
        ("ior -w -o f -M 20000t", None, ""),
        ("ior -w -o f -O memoryPerTask=1g", Some(1 << 30), "ulimit -v"),
        ("ior -w -o f -t 512m -b 512m", Some(512 << 20), "ulimit -v"),
        ("iozone -i 0 -t 2 -r 512m -s 512m", Some(512 << 20), "ulimit -v"),
        ("mdtest -F -n 1 -w 512m -d .", Some(512 << 20), "ulimit -v"),
    ] {
        let output = run(directory.path(), &words(line), limit);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}: {errors}");
        assert!(
            errors.contains("of memory, but") && errors.contains(whose) && errors.contains("try: "),
            "{line}: {errors}"
        );
        assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "{line}");
    }
}

/// A control group of 256 MiB, of version 2 or 1, which goes with the test.
struct ControlGroup {
    directory: std::path::PathBuf,
    limit: &'static str,
}

impl ControlGroup {
    fn new() -> Option<Self> {
        let name = format!("ioassay-test-{}", std::process::id());
        // Of version 1 each controller has a directory of its own.
        for (mounted, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let group = Self { directory: Path::new(mounted).join(&name), limit };
            let made = std::fs::create_dir(&group.directory).is_ok();
            if made && group.directory.join(limit).exists() {
                std::fs::write(group.directory.join(limit), "268435456").unwrap();
                return Some(group);
            }
        }
        skipped("a memory control group", "it needs root");
        None
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.directory);
    }
}

#[test]
fn buffers_beyond_a_memory_control_group_are_refused_before_the_kernel_kills_for_them() {
    let Some(group) = ControlGroup::new() else { return };
    let directory = tempfile::tempdir().unwrap();
    let processes = group.directory.join("cgroup.procs");
    for line in [
        "ior --ranks 4 -w -o f -t 64m -b 64m",
        "ior --ranks 2 -w -a AIO --aio.max-pending 64 -o f -t 4m -b 64m",
        "ior -w -o f -M 1g",
        "iozone -i 0 -t 4 -r 64m -s 64m",
        "mdtest --ranks 4 -F -n 1 -w 64m -d .",
    ] {
        let processes = processes.clone();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        command.current_dir(directory.path()).args(words(line));
        // SAFETY: one thread in the child, which opens and writes a file.
        let output = unsafe { command.pre_exec(move || std::fs::write(&processes, "0")) }.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}: {errors}");
        assert!(errors.contains(group.limit) && errors.contains("256 MiB"), "{line}: {errors}");
        assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "{line}");
    }
}
