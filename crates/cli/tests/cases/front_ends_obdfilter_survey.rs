//! obdfilter-survey as users call it: real processes, real files, set up by the environment. What is printed is held
//! against the events of the run directory.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::skipped::skipped;
use ioassay_frontends::obdfilter_survey::options::KNOWN;
use ioassay_frontends::options::Verdict;
use ioassay_protocol::events::{Event, PhaseRecord};

/// A directory with targets.
struct Lab(tempfile::TempDir);

const TARGETS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

impl Lab {
    fn new() -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        TARGETS.iter().for_each(|name| fs::create_dir(lab.path(name)).unwrap());
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        engine.arg("obdfilter-survey").args(arguments).current_dir(self.0.path()).env_remove("IOASSAY_RANKS");
        KNOWN.iter().flat_map(|known| known.spellings()).for_each(|name| {
            engine.env_remove(name);
        });
        engine.env("rslt", self.path("result")).envs(variables.iter().copied()).output().unwrap()
    }

    /// Runs what must end with `code`; what it complained of.
    fn fails(&self, code: i32, variables: &[(&str, &str)], arguments: &[&str]) -> String {
        let output = self.run(variables, arguments);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{variables:?} {arguments:?}: {complaint}");
        complaint
    }

    fn phases(&self, row: &str) -> Vec<PhaseRecord> {
        let events = fs::read_to_string(self.path("run/logs").join(row).join("events.jsonl")).unwrap();
        let phase = |line: &str| match serde_json::from_str(line).unwrap() {
            Event::Phase(record) => Some(*record),
            _ => None,
        };
        events.lines().filter_map(phase).collect()
    }

    fn targets_are_empty(&self) -> bool {
        TARGETS.iter().all(|name| fs::read_dir(self.path(name)).unwrap().next().is_none())
    }
}

fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_white_paper_s_line_gives_its_rows_and_every_rate_is_that_of_the_events() {
    let lab = Lab::new();
    let variables = [
        ("nobjlo", "1"),
        // The white paper's 24 threads to 144, an eighth of them: this is a test among others on a small machine.
        ("thrlo", "3"),
        ("thrhi", "18"),
        ("size", "32768"),
        ("targets", "A B C D E F"),
        ("IOASSAY_SCALE_DOWN", "16384"),
    ];
    let output = lab.run(&variables, &["--run", "run"]);
    let text = printed(&output);
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    assert!(head.contains(" Obdfilter-survey for case=disk from "), "{head}");
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    // 3, 6, 12 threads for 1 object; 6, 12 for 2; 12 for 4: others are no multiples.
    let threads: Vec<(&str, &str)> = rows.iter().map(|row| (row[7], row[9])).collect();
    assert_eq!(threads, [("6", "18"), ("6", "36"), ("6", "72"), ("12", "36"), ("12", "72"), ("24", "72")]);
    for row in &rows {
        assert_eq!(
            (row[0], row[1], row[2], row[4], row[5], row[6], row[8]),
            ("ost", "6", "sz", "rsz", "1024", "obj", "thr")
        );
        let [objects, threads] = [row[7], row[9]].map(|number| number.parse::<u64>().unwrap() / 6);
        let phases = lab.phases(&format!("rsz1024-obj{objects}-thr{threads}"));
        for (index, test) in ["write", "rewrite", "read"].into_iter().enumerate() {
            assert_eq!((row[10 + 3 * index], row[12 + 3 * index]), (test, "SHORT"), "{row:?}");
            let of_test: Vec<&PhaseRecord> = phases.iter().filter(|phase| phase.name == test).collect();
            assert_eq!(of_test.len(), 6, "a record for each target");
            let bytes: u64 = of_test.iter().map(|record| record.bytes).sum();
            assert_eq!(row[3], format!("{}K", bytes >> 10));
            let ns = of_test.iter().map(|record| record.duration_ns).max().unwrap();
            let rate = bytes as f64 / f64::from(1 << 20) / (ns as f64 / 1e9);
            assert_eq!(row[11 + 3 * index], format!("{rate:.2}"));
            let files = of_test[0].ranks.len() as u64;
            assert_eq!(files, threads);
        }
    }
    assert_eq!(fs::read_to_string(lab.path("result.summary")).unwrap(), text);
    assert_eq!(fs::read_to_string(lab.path("run/console.txt")).unwrap(), text);
    let detail = fs::read_to_string(lab.path("result.detail")).unwrap();
    assert_eq!(detail.matches("=============> rewrite global\n").count(), 6);
    assert!(lab.targets_are_empty());
}

#[test]
fn a_survey_of_seconds_has_the_extremes_of_its_whole_seconds() {
    let lab = Lab::new();
    // Records of a page, so that a small file takes more than a second anywhere.
    let variables = [("nobjhi", "1"), ("thrhi", "1"), ("rszlo", "4"), ("rszhi", "4"), ("tests_str", "write")];
    let mut size = 64;
    let row = loop {
        let _ = fs::remove_dir_all(lab.path("run"));
        let output = lab.run(&variables, &["targets=A", "--run", "run", &format!("size={size}")]);
        let row = printed(&output).lines().nth(1).unwrap().to_owned();
        if !row.contains("SHORT") {
            break row;
        }
        size *= 4;
    };
    let record = &lab.phases("rsz4-obj1-thr1")[0];
    let whole = (record.duration_ns / 1_000_000_000) as usize;
    let rates = record.ranks[0].sample_bytes[..whole].iter().map(|&bytes| bytes as f64 / f64::from(1 << 20));
    let (least, greatest) = rates.fold((f64::INFINITY, 0.0), |(l, g): (f64, f64), rate| (l.min(rate), g.max(rate)));
    assert!(least > 0.0 && row.ends_with(&format!(" [{least:7.2},{greatest:7.2}] ")), "{row}");
    let detail = fs::read_to_string(lab.path("result.detail")).unwrap();
    assert_eq!(detail.matches("\n1/1 Total: ").count(), whole, "{detail}");
}

#[test]
fn what_is_read_can_be_verified() {
    let lab = Lab::new();
    let variables = [("nobjhi", "2"), ("thrhi", "2"), ("size", "8"), ("targets", "A B"), ("verify", "1")];
    assert_eq!(printed(&lab.run(&variables, &[])).lines().count(), 1 + 3);
}

#[test]
fn rows_with_too_much_buffer_space_are_left_out() {
    let lab = Lab::new();
    let variables = [
        ("nobjhi", "1"),
        ("thrlo", "1024"),
        ("thrhi", "1024"),
        ("rszlo", "1024"),
        ("rszhi", "2048"),
        ("size", "9999999"),
        ("targets", "A B"),
    ];
    let text = printed(&lab.run(&variables, &[]));
    assert_eq!(text.lines().skip(1).filter(|row| row.ends_with(" Too much buffer space")).count(), 2, "{text}");
}

#[test]
fn foreign_results_survive_and_the_way_over_them_is_named() {
    let lab = Lab::new();
    fs::write(lab.path("result.summary"), "years of work\n").unwrap();
    let variables = [("nobjhi", "1"), ("thrhi", "1"), ("size", "1"), ("targets", "A")];
    let complaint = lab.fails(3, &variables, &[]);
    assert!(complaint.contains("result.summary") && complaint.contains("--overwrite"), "{complaint}");
    assert_eq!(fs::read_to_string(lab.path("result.summary")).unwrap(), "years of work\n");
    printed(&lab.run(&variables, &["--overwrite"]));
    printed(&lab.run(&variables, &[]));
}

#[test]
fn what_lies_in_the_targets_stays() {
    let lab = Lab::new();
    fs::write(lab.path("A/object.0000"), "years of work\n").unwrap();
    printed(&lab.run(&[("nobjhi", "1"), ("thrhi", "1"), ("size", "1"), ("targets", "A")], &[]));
    assert_eq!(fs::read_to_string(lab.path("A/object.0000")).unwrap(), "years of work\n");
    assert_eq!(fs::read_dir(lab.path("A")).unwrap().count(), 1);
}

#[test]
fn every_refused_variable_is_refused_by_its_name_and_nothing_is_written() {
    let lab = Lab::new();
    for option in KNOWN {
        let Verdict::Refused(because) = option.verdict else { continue };
        let complaint = lab.fails(2, &[("targets", "A"), (option.name, "x")], &[]);
        assert!(complaint.contains(option.name) && complaint.contains(because), "{complaint}");
    }
    for (variables, arguments, named) in [
        (vec![], vec![], "targets"),
        (vec![("targets", "lustre-OST0000")], vec![], "lustre-OST0000"),
        (vec![("targets", "A"), ("case", "network")], vec![], "case=network"),
        (vec![("targets", "A"), ("case", "netdisk")], vec![], "case=netdisk"),
        (vec![("targets", "A"), ("size", "1g")], vec![], "1g"),
        (vec![("targets", "A")], vec!["sizes=3"], "sizes"),
        (vec![("targets", "A")], vec!["--ranks", "3"], "--ranks 3"),
    ] {
        let complaint = lab.fails(2, &variables, &arguments);
        assert!(complaint.contains(named), "{variables:?}: {complaint}");
    }
    assert!(lab.targets_are_empty() && !lab.path("result.summary").exists());
}

#[test]
fn a_block_device_is_touched_only_if_it_is_named_again() {
    let lab = Lab::new();
    let devices = fs::read_dir("/dev").unwrap().filter_map(Result::ok);
    let mut devices = devices.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
    let Some(device) = devices.next().map(|entry| entry.path().display().to_string()) else {
        panic!("this machine shows no block device under /dev");
    };
    for (targets, arguments) in [
        (device.clone(), vec![]),
        (device.clone(), vec!["--destroy-data", "/dev/other"]),
        (format!("A {device}"), vec![]),
    ] {
        let complaint = lab.fails(2, &[("targets", &targets)], &arguments);
        assert!(complaint.contains(&device), "{complaint}");
    }
    assert!(lab.targets_are_empty() && !lab.path("result.summary").exists());
}

#[test]
fn the_help_names_every_variable() {
    let text = printed(&Lab::new().run(&[], &["-h"]));
    assert!(KNOWN.iter().all(|known| text.contains(&format!("  {}", known.name))), "{text}");
}

#[test]
fn a_row_that_fails_says_so_and_the_next_one_is_tried() {
    let lab = Lab::new();
    let engine = env!("CARGO_BIN_EXE_ioassay-engine");
    // Files of at most 2.5 MiB: three records of 1 MiB do not fit, the only one of 2 MiB does.
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("ulimit -f 2560; exec {engine} obdfilter-survey")).current_dir(lab.0.path());
    let variables =
        [("targets", "A"), ("size", "3"), ("rszlo", "1024"), ("rszhi", "2048"), ("nobjhi", "1"), ("thrhi", "1")];
    let output = shell.env("rslt", lab.path("result")).envs(variables).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert!(rows[0].contains("write ") && rows[0].ends_with("             ERROR "), "{text}");
    assert!(rows[1].contains(" rsz 2048 ") && rows[1].contains("read "), "{text}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("EFBIG"));
    assert!(lab.targets_are_empty());
}

#[test]
fn a_block_device_that_is_named_again_is_measured() {
    let lab = Lab::new();
    let image = lab.path("image");
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        skipped("a loop device", "losetup needs root");
        return;
    };
    let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let variables = [("targets", device.as_str()), ("size", "4"), ("nobjhi", "2"), ("thrhi", "2"), ("verify", "1")];
    let output = lab.run(&variables, &["--destroy-data", &device]);
    assert!(Command::new("losetup").arg("--detach").arg(&device).status().unwrap().success());
    assert_eq!(printed(&output).lines().count(), 1 + 3);
}
