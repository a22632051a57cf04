//! IOR's command line as a user meets it: a real process, real files, real signals.
//!
//! That the real IOR reads what this one writes, and the other way round, cannot be tested without it; the bytes of its
//! packets and the deal of its random transfers are tested where they are made.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::events::{Event, PhaseRecord};
use ioassay_protocol::front_end::FrontEnd;
use ioassay_protocol::plan::Plan;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A bound for hanging, not for speed.
const HANGS: Duration = Duration::from_secs(60);

fn command(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    command.current_dir(directory).arg("ior").args(line.split_whitespace());
    for name in ["IOASSAY_RANKS", "IOASSAY_SCALE_DOWN", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"] {
        command.env_remove(name);
    }
    command
}

fn ior(directory: &Path, line: &str) -> Output {
    command(directory, line).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn succeeds(directory: &Path, line: &str) -> String {
    let output = ior(directory, line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    stdout(&output)
}

/// What a command that succeeds says on standard error.
fn says(directory: &Path, line: &str) -> String {
    let output = ior(directory, line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    stderr(&output)
}

/// Names in a directory, ascending.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The plans and records of a run directory, case by case.
fn run_directory(run: &Path) -> (FrontEnd, Vec<(Plan, Vec<PhaseRecord>)>) {
    let document: FrontEnd = serde_json::from_slice(&fs::read(run.join("front-end.json")).unwrap()).unwrap();
    let case = |id: &str| {
        let logs = run.join("logs").join(id);
        let plan: Plan = serde_json::from_slice(&fs::read(logs.join("plan.json")).unwrap()).unwrap();
        let events = fs::read_to_string(logs.join("events.jsonl")).unwrap();
        let events = events.lines().map(|line| serde_json::from_str(line).unwrap());
        let record = |event| if let Event::Phase(record) = event { Some(*record) } else { None };
        (plan, events.filter_map(record).collect())
    };
    let cases = document.cases.iter().map(|entry| case(&entry.id)).collect();
    (document, cases)
}

#[test]
fn a_summary_line_has_26_columns_behind_its_operation_and_agrees_with_the_events() {
    let directory = tempfile::tempdir().unwrap();
    let line = "--ranks 2 -a POSIX -v -w -r -F -t 64k -b 1m -s 2 -i 3 -e -o ./f --run run -A 7";
    let printed = succeeds(directory.path(), line);
    let head = printed.lines().find(|line| line.starts_with("Operation ")).unwrap();
    assert_eq!(head.split_whitespace().count(), 1 + 26);
    let summary = |access: &str| -> Vec<String> {
        let mut lines = printed.lines().skip_while(|line| !line.starts_with("Operation "));
        let line = lines.find(|line| line.starts_with(access)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    let (document, cases) = run_directory(&directory.path().join("run"));
    assert_eq!((document.cases.len(), document.exit_code), (3, Some(0)));
    assert_eq!(document.command.join(" "), "ior -a POSIX -v -w -r -F -t 64k -b 1m -s 2 -i 3 -e -o ./f -A 7");
    for access in ["write", "read"] {
        let columns = summary(access);
        assert_eq!(columns.len(), 1 + 26, "{columns:?}");
        assert_eq!(
            columns[12..],
            ["0", "2", "2", "3", "1", "0", "1", "0", "0", "2", "1048576", "65536", "4.0", "POSIX", "7"]
        );
        let rates =
            cases.iter().flat_map(|(_, records)| records).filter(|record| record.name == access).map(|record| {
                let start = record.ranks.iter().map(|rank| rank.start_ns).min().unwrap();
                let end = record.ranks.iter().map(|rank| rank.end_ns).max().unwrap();
                record.bytes as f64 / ((end - start) as f64 / 1e9) / 1_048_576.0
            });
        let fastest = rates.fold(0.0, f64::max);
        assert_eq!(columns[1], format!("{fastest:.2}"));
        let word = if access == "write" { "Write: " } else { "Read:  " };
        assert!(printed.contains(&format!("Max {word}{fastest:.2} MiB/sec (")), "{printed}");
    }
    let rows =
        |access: &str| printed.lines().filter(|line| line.starts_with(access) && !line.contains("POSIX")).count();
    assert_eq!((rows("write "), rows("read "), rows("remove ")), (3, 3, 3));
    assert_eq!(names(directory.path()), ["run"]);
}

#[test]
fn what_is_kept_is_read_and_verified_by_a_later_command_in_every_layout() {
    for layout in [
        "-F -b 64k -t 16k -s 2",
        "-b 64k -t 16k -s 3",
        "-b 47008 -t 47008 -s 5",
        "-F -u -b 64k -t 64k",
        "-b 64k -t 8k -s 2 -z --random-offset-seed 5",
        "-F -b 64k -t 8k -z --random-offset-seed 5",
        "-F -m -i 2 -b 64k -t 64k",
    ] {
        let directory = tempfile::tempdir().unwrap();
        for kind in ["t", "o", "i", "r"] {
            let common = format!("--ranks 3 -k -G 9 -l {kind} {layout} -o d");
            succeeds(directory.path(), &format!("-w {common}"));
            succeeds(directory.path(), &format!("-r -R {common}"));
            if !layout.contains("-z") {
                succeeds(directory.path(), &format!("-r -R -ZZ -X 3 {common}"));
            }
            let other = ior(directory.path(), &format!("-r -R {}", common.replace("-G 9", "-G 10")));
            assert_eq!(other.status.code(), Some(1), "{layout} {kind}: another signature is another content");
            assert!(stderr(&other).contains("was written"), "{}", stderr(&other));
        }
    }
}

/// IOR's default payload repeats one pattern; only the command that wrote it, or compares it, knows that.
#[test]
fn what_a_file_holds_is_claimed_only_where_it_was_written_or_verified() {
    let directory = tempfile::tempdir().unwrap();
    let says_of = |line: &str| says(directory.path(), &format!("{line} -k -G 9 -F -b 64k -t 16k -o d"));
    let (pattern, unknown) = ("a repeating pattern", "content is unknown");
    for (line, claimed) in [("-w", true), ("-w -r", true), ("-r -R", true), ("-r", false)] {
        let printed = says_of(line);
        assert_eq!((printed.contains(pattern), printed.contains(unknown)), (claimed, !claimed), "{line}: {printed}");
    }
    // Nor is anything known of random data that an earlier command may have written.
    assert!(!says_of("-w -l random").contains(pattern) && says_of("-r -l random").contains(unknown));
}

#[test]
fn holes_and_extents_that_were_only_allocated_are_doubted_where_they_are_read() {
    const M: u64 = 1 << 20;
    // On the file system of the checkout, which is rarely a tmpfs: that tells allocated extents from holes.
    let directory = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let make = |name: &str, make: &dyn Fn(&fs::File)| {
        let file = fs::File::create(directory.path().join(name)).unwrap();
        make(&file);
        file.sync_all().unwrap();
    };
    let written = |from: u64, to: u64| {
        move |file: &fs::File| file.write_all_at(&vec![7; ((to - from) * M) as usize], from * M).unwrap()
    };
    let read = |line: &str| {
        let run = directory.path().join("run");
        let _ = fs::remove_dir_all(&run);
        succeeds(directory.path(), &format!("-r -k -t 64k -o d {line} --run run"));
        let (_, cases) = run_directory(&run);
        let record = &cases[0].1[0];
        let device = |doubt: &Doubt| matches!(doubt.reason, Reason::DeviceMovedLess { .. });
        assert!(!record.doubts.iter().any(device), "why the device moved less is known: {record:?}");
        record.doubts.iter().find_map(|doubt| match doubt.reason {
            Reason::Unwritten { unwritten_bytes, bytes } => Some((unwritten_bytes / M, bytes / M)),
            _ => None,
        })
    };
    make("d.00000000", &written(0, 8));
    assert_eq!(read("-F -b 8m"), None, "a file without holes is clean");
    make("d.00000000", &|file| {
        written(0, 6)(file);
        nix::fcntl::fallocate(file, nix::fcntl::FallocateFlags::empty(), 0, 8 * M as i64).unwrap();
    });
    assert_eq!(read("-F -b 8m"), Some((2, 8)), "space that is allocated at the end");
    make("d.00000000", &|file| file.set_len(8 * M).unwrap());
    assert_eq!(read("-F -b 8m"), Some((8, 8)), "a sparse file");
    make("d.00000001", &written(0, 8));
    assert_eq!(read("-F -b 8m --ranks 2"), Some((8, 16)), "of two ranks one has it");
    // Each second MiB is rank 1's.
    make("d", &|file| {
        written(0, 5)(file);
        written(6, 8)(file);
    });
    assert_eq!(read("-b 1m -s 4 --ranks 2"), Some((1, 8)), "a hole in a strided file");
    assert_eq!(read("-b 1m -s 2 --ranks 2"), None, "a hole behind what is read");
}

#[test]
fn a_file_that_somebody_else_wrote_is_neither_overwritten_nor_removed() {
    let directory = tempfile::tempdir().unwrap();
    let thesis = directory.path().join("thesis.dat");
    let text = "years of work\n".repeat(9000);
    fs::write(&thesis, &text).unwrap();
    for line in ["-w -o thesis.dat", "-w -E -o thesis.dat", "-w -F -o thesis.dat -k -m"] {
        if line.contains("-F") {
            fs::write(directory.path().join("thesis.dat.00000000.0"), &text).unwrap();
        }
        let output = ior(directory.path(), line);
        assert_eq!(output.status.code(), Some(3), "{line}");
        assert!(stderr(&output).contains("--overwrite"), "{line}: {}", stderr(&output));
        assert_eq!(fs::read_to_string(&thesis).unwrap(), text, "{line}");
    }
    // A mark is worth nothing once the file has been written into by another program.
    succeeds(directory.path(), "-w -k -l r -b 64k -t 64k -o results");
    fs::write(directory.path().join("results"), &text).unwrap();
    assert_eq!(ior(directory.path(), "-w -o results").status.code(), Some(3));
    // Reading alone harms nobody.
    succeeds(directory.path(), "-r -k -b 64k -t 64k -o thesis.dat");
    succeeds(directory.path(), "-r -b 64k -t 64k -o thesis.dat");
    assert_eq!(fs::read_to_string(&thesis).unwrap(), text);
    succeeds(directory.path(), "-w -o thesis.dat --overwrite");
    assert!(!thesis.exists());
}

#[test]
fn what_ior_or_ioassay_wrote_is_replaced_and_a_link_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["t", "o", "i", "r"] {
        succeeds(directory.path(), &format!("-w -k -l {kind} -b 1m -t 256k -o d"));
        // Without our mark it is what the real IOR would have left.
        let _ = xattr::remove(directory.path().join("d"), "user.ioassay");
        succeeds(directory.path(), "-w -b 1m -t 256k -o d");
        assert!(names(directory.path()).is_empty(), "{kind}");
    }
    fs::write(directory.path().join("empty"), "").unwrap();
    succeeds(directory.path(), "-w -b 64k -t 64k -o empty");
    let precious = directory.path().join("precious");
    fs::write(&precious, "").unwrap();
    std::os::unix::fs::symlink(&precious, directory.path().join("link")).unwrap();
    assert_eq!(ior(directory.path(), "-w -o link").status.code(), Some(3));
    assert_eq!(fs::read(&precious).unwrap(), b"");
}

#[test]
fn a_wrong_byte_is_named_with_its_offset() {
    let directory = tempfile::tempdir().unwrap();
    succeeds(directory.path(), "-w -k -G 3 -b 64k -t 16k -o d");
    let path = directory.path().join("d");
    let mut bytes = fs::read(&path).unwrap();
    bytes[40_000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let output = ior(directory.path(), "-r -R -k -G 3 -b 64k -t 16k -o d");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("at offset 40000 "), "{}", stderr(&output));
}

#[test]
fn a_stonewalled_write_tells_a_later_read_how_far_to_go() {
    let directory = tempfile::tempdir().unwrap();
    let common = "--ranks 2 -k -G 3 -F -t 64k -b 64g -o d -O stoneWallingStatusFile=status";
    // The write would never end without the stonewall; its memory is freed below.
    let written =
        succeeds(directory.path(), &format!("-w -D 1 -O stoneWallingWearOut=1 {common} -O interIODelay=2000"));
    assert!(written.contains("stonewalling pairs accessed min: "), "{written}");
    let pairs: u64 = fs::read_to_string(directory.path().join("status")).unwrap().parse().unwrap();
    let sizes = ["d.00000000", "d.00000001"].map(|name| fs::metadata(directory.path().join(name)).unwrap().len());
    assert_eq!(sizes, [pairs * 65536; 2]);
    succeeds(directory.path(), &format!("-r -R {common}"));
    let output = ior(directory.path(), "--ranks 2 -r -k -F -t 64k -b 64g -o d");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no more than was written"), "{}", stderr(&output));
}

#[test]
fn a_write_that_ends_before_its_stonewall_tells_a_later_read_too() {
    let directory = tempfile::tempdir().unwrap();
    let (write, read) = ("--ranks 2 -w -D 300 -O stoneWallingWearOut=1", "--ranks 2 -r -R");
    let common = "-k -G 3 -F -t 64k -b 256k -i 2 -o d -O stoneWallingStatusFile=status";
    let written = succeeds(directory.path(), &format!("{write} {common}"));
    assert_eq!(fs::read_to_string(directory.path().join("status")).unwrap(), "4");
    assert_eq!(written.matches("stonewalling pairs accessed min: 4 max: 4 -- min data: 0.0 GiB").count(), 2);
    let summary = written.lines().find(|line| line.starts_with("write ") && line.contains("POSIX")).unwrap();
    assert!(!summary.contains("NA"), "{summary}");
    succeeds(directory.path(), &format!("{read} {common}"));
    let without = succeeds(directory.path(), &format!("{write} -k -F -t 64k -b 256k -o e"));
    assert!(without.contains("Pairs deadlineForStonewallingaccessed: 4\n"), "{without}");
}

#[test]
fn a_read_without_its_status_file_warns_and_reads_all() {
    let directory = tempfile::tempdir().unwrap();
    let common = "-k -G 3 -t 64k -b 256k -o d";
    succeeds(directory.path(), &format!("-w {common}"));
    let read = format!("-r -R {common} -O stoneWallingStatusFile=status");
    for content in [None, Some(""), Some("a thesis")] {
        content.into_iter().for_each(|text| fs::write(directory.path().join("status"), text).unwrap());
        let printed = says(directory.path(), &read);
        assert!(printed.contains("WARNING: the status file status cannot be read"), "{printed}");
        assert!(printed.contains("-O stoneWallingStatusFile"), "{printed}");
    }
    let strict = ior(directory.path(), &format!("{read} --warningAsErrors"));
    assert_eq!(strict.status.code(), Some(2), "{}", stderr(&strict));
}

/// Whether the file system of `directory` takes a direct write of `bytes`.
fn takes_direct(directory: &Path, bytes: usize) -> bool {
    let path = directory.join("probe");
    let file = fs::File::options().write(true).create(true).truncate(true).custom_flags(libc::O_DIRECT).open(&path);
    let buffer = vec![0_u8; bytes + 4096];
    let begin = buffer.as_ptr().align_offset(4096);
    let taken = file.and_then(|mut file| file.write_all(&buffer[begin..begin + bytes])).is_ok();
    fs::remove_file(path).unwrap();
    taken
}

#[test]
fn whether_direct_transfers_must_be_whole_sectors_is_left_to_the_file_system() {
    let here = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    for directory in [here.path(), memory.path()] {
        for bytes in [47008, 65536] {
            let taken = takes_direct(directory, bytes);
            let line = format!("--ranks 2 -w -r -R -G 3 -t {bytes} -b {bytes} -s 4 --posix.odirect -o d");
            let output = ior(directory, &line);
            assert_eq!(output.status.code(), Some(i32::from(!taken)), "{bytes}: {}", stderr(&output));
            assert!(taken || stderr(&output).contains("use transfers and offsets that are multiples of 4096"));
            assert_eq!(names(directory), Vec::<String>::new());
        }
    }
}

#[test]
fn given_twice_z_reads_blocks_that_are_drawn_from_what_is_there_more_often_than_there_are() {
    let directory = tempfile::tempdir().unwrap();
    succeeds(directory.path(), "--ranks 2 -w -k -F -t 64k -b 1m -o own");
    succeeds(directory.path(), "--ranks 2 -w -k -t 64k -b 1m -o shared");
    for line in ["-r -F -z -z -t=4096 -b=16k -s=1000 -C -Q 2 -o own", "-r -zz -t 64k -b 2m -s 30 -o shared"] {
        let printed = succeeds(directory.path(), &format!("--ranks 2 -k {line}"));
        let summary = printed.lines().find(|line| line.starts_with("read ") && line.contains("POSIX")).unwrap();
        let moved = if line.contains("own") { "31.2" } else { "120.0" };
        assert!(summary.split_whitespace().any(|word| word == moved), "{summary}");
    }
    for (line, problem) in [
        ("-w -z -z -o new", "it can neither write nor verify"),
        ("-w -W -a DUMMY -o new", "keeps nothing that could be verified"),
        ("-r -z -z -o missing", "No such file"),
        ("-r -z -z -b 4m -o shared", "less than a block"),
    ] {
        let output = ior(directory.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(stderr(&output).contains(problem), "{line}: {}", stderr(&output));
    }
}

#[test]
fn json_and_csv_have_iors_names() {
    let directory = tempfile::tempdir().unwrap();
    let common = "--ranks 2 -w -r -t 64k -b 256k -i 2 -o d";
    let printed = succeeds(directory.path(), &format!("{common} -O summaryFormat=JSON"));
    let document: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let results = document["tests"][0]["Results"].as_array().unwrap();
    let accesses: Vec<&str> = results.iter().map(|result| result["access"].as_str().unwrap()).collect();
    assert_eq!(accesses, ["write", "read", "write", "read"]);
    for name in ["bwMiB", "blockKiB", "xferKiB", "iops", "latency", "openTime", "wrRdTime", "closeTime", "totalTime"] {
        assert!(results[0][name].is_number(), "{name}");
    }
    assert_eq!(document["summary"][1]["operation"], "read");
    assert_eq!(document["summary"][0]["repetitions"], 2);
    assert_eq!(document["tests"][0]["Parameters"]["transferSize"], 65536);

    succeeds(directory.path(), &format!("{common} -O summaryFormat=csv,summaryFile=d.csv"));
    let csv = fs::read_to_string(directory.path().join("d.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(
        lines[0],
        "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"
    );
    assert!(lines.iter().all(|line| line.split(',').count() == 12), "{csv}");
}

#[test]
fn files_of_results_replace_only_what_is_one() {
    let directory = tempfile::tempdir().unwrap();
    let thesis = directory.path().join("thesis");
    fs::write(&thesis, "years of work").unwrap();
    for directive in ["summaryFile=thesis", "saveRankPerformanceDetailsCSV=thesis"] {
        let output = ior(directory.path(), &format!("-w -t 64k -b 64k -o d -O {directive}"));
        assert_eq!(output.status.code(), Some(2), "{directive}");
        assert!(stderr(&output).contains("--overwrite"), "{directive}: {}", stderr(&output));
    }
    let status = "-w -k -t 64k -b 64k -o d -D 1 -O stoneWallingWearOut=1,stoneWallingStatusFile=thesis";
    assert_eq!(ior(directory.path(), status).status.code(), Some(2));
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "years of work");
    for format in ["default", "JSON", "CSV"] {
        let line = format!("-w -t 64k -b 64k -o d -O summaryFormat={format},summaryFile=results");
        succeeds(directory.path(), &line);
        succeeds(directory.path(), &line);
    }
}

#[test]
fn every_api_that_is_taken_writes_and_reads() {
    let directory = tempfile::tempdir().unwrap();
    for api in ["POSIX -W", "AIO --aio.max-pending 4 -W", "MMAP --mmap.madv_pattern -W", "DUMMY"] {
        let printed = succeeds(directory.path(), &format!("--ranks 2 -a {api} -w -r -t 64k -b 256k -F -g -o d"));
        assert!(printed.lines().any(|line| line.starts_with("read ")), "{api}: {printed}");
    }
    for api in ["MPIIO", "HDF5", "NCMPI", "RADOS"] {
        let output = ior(directory.path(), &format!("-a {api} -w -o d"));
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(api), "{}", stderr(&output));
    }
    assert!(names(directory.path()).is_empty());
}

#[test]
fn what_an_earlier_command_did_not_come_to_is_no_corrupted_data_and_is_not_written_either() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    succeeds(directory.path(), "-w -k -G 5 -t 64k -b 256k -o d");
    // As a stonewall or a full file system leaves a shared file of which only one rank came to its end.
    let file = fs::OpenOptions::new().write(true).open(directory.path().join("d")).unwrap();
    file.set_len(512 << 10).unwrap();
    let before = fs::read(directory.path().join("d")).unwrap();
    let output = ior(directory.path(), "-r -R -k -G 5 -t 64k -b 512k -o d");
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("at offset 262144 found 0000000000000000"), "{errors}");
    assert!(errors.contains("the file has a hole there: nothing is stored in this place"), "{errors}");
    assert!(
        errors.contains("try: an earlier command did not come to this place (a stonewall, a full file system"),
        "{errors}"
    );
    assert_eq!(fs::read(directory.path().join("d")).unwrap(), before);
}

#[test]
fn a_script_runs_several_tests_into_one_summary() {
    let directory = tempfile::tempdir().unwrap();
    let script =
        "IOR START\n testFile=d, blockSize=256k\n transferSize=64k,writeFile=1\nRUN\n filePerProc=1\nRUN\nIOR STOP\n";
    fs::write(directory.path().join("script"), script).unwrap();
    let printed = succeeds(directory.path(), "--ranks 2 -f script");
    let summary: Vec<&str> = printed.lines().skip_while(|line| !line.starts_with("Operation ")).collect();
    let numbers: Vec<&str> = summary
        .iter()
        .filter(|line| line.starts_with("write"))
        .map(|line| line.split_whitespace().nth(12).unwrap())
        .collect();
    assert_eq!(numbers, ["0", "1"]);
}

#[test]
fn an_interrupted_run_ends_soon_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let line = "--ranks 2 -w -r -F -t 4k -b 4m -O interIODelay=10000 -o d --run run";
    let mut child = command(directory.path(), line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !directory.path().join("d.00000001").exists() {
        assert!(begin.elapsed() < HANGS, "it never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(names(directory.path()), ["run"]);
    let (document, cases) = run_directory(&directory.path().join("run"));
    assert_eq!(document.exit_code, Some(3));
    assert!(!cases[0].1[0].complete);
}

#[test]
fn scaled_down_it_does_the_same_on_less_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut command =
        command(directory.path(), "-a POSIX -v -i 1 -d 0 -e -F -k -o test -w -s 1 -t 1m -b 2048g --run run");
    let output = command.env("IOASSAY_SCALE_DOWN", "1048576").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("not the benchmark"));
    assert_eq!(fs::metadata(directory.path().join("test.00000000")).unwrap().len(), 2 << 20);
    assert_eq!(run_directory(&directory.path().join("run")).0.scale_down, 1 << 20);
}
