//! Where nothing can be printed: a full disk under standard output or standard error, and a reader that has gone.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};

const MEASURE: &str = "ior -w -t 64k -b 64k -o f";

fn engine(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    command.current_dir(directory).env("IOASSAY_CACHE", directory).args(line.split_whitespace());
    command
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn exit_codes_are_the_same_where_standard_error_is_full() {
    let directory = tempfile::tempdir().unwrap();
    for (line, code) in [
        (MEASURE, 0),
        ("ior --nonsense", 2),
        ("ior -w -o nowhere/f", 3),
        ("io500 nowhere.ini", 2),
        ("run nowhere.json --events events.jsonl", 2),
        ("clean nowhere --events nowhere/events.jsonl", 3),
    ] {
        let with_reader = engine(directory.path(), line).output().unwrap();
        assert_eq!(with_reader.status.code(), Some(code), "{line}: {}", stderr_of(&with_reader));
        let status = engine(directory.path(), line).stdout(Stdio::null()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{line}");
    }
}

#[test]
fn figures_that_cannot_be_printed_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        MEASURE,
        "ior -h",
        "iozone -h",
        "iozone -v",
        "io500 -l",
        "api list",
        "api list --json",
        "mpi list",
        "--help",
        "run --help",
        "--version",
    ] {
        let output = engine(directory.path(), line).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{line}: {}", stderr_of(&output));
        assert!(stderr_of(&output).contains("write standard output: No space left"), "{line}: {}", stderr_of(&output));
    }
    assert!(!directory.path().join("f").exists(), "the measurement came to its end");
}

#[test]
fn a_slow_reader_gets_all_that_a_guarded_command_prints() {
    let directory = tempfile::tempdir().unwrap();
    let whole = engine(directory.path(), "ior -h").output().unwrap().stdout;
    let (mut reader, writer) = std::io::pipe().unwrap();
    let size = FcntlArg::F_SETPIPE_SZ(4096);
    assert!(fcntl(&reader, size).unwrap() < whole.len() as i32, "the pipe holds all of it");
    let mut child = engine(directory.path(), "ior -h").stdout(writer).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(read, whole);
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    for line in [MEASURE, "iozone -v", "api list", "--help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = engine(directory.path(), line).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr_of(&output));
        assert!(!stderr_of(&output).contains("standard output"), "{line}: {}", stderr_of(&output));
    }
}
