//! mdtest's command line as a script meets it: a real process, real files, and the names and columns of the original.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ioassay_protocol::front_end::{FrontEnd, Tool};

/// A directory for mdtest's, and what a command in it said.
struct Lab(tempfile::TempDir);

/// How a command ended.
struct CommandOutput {
    code: i32,
    out: String,
    error: String,
}

impl Lab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The directory that commands name as `d`.
    fn target(&self) -> PathBuf {
        self.0.path().join("d")
    }

    fn run_with(&self, line: &str, variables: &[(&str, &str)]) -> CommandOutput {
        let output = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"))
            .arg("mdtest")
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        CommandOutput { code: output.status.code().unwrap(), out: text(output.stdout), error: text(output.stderr) }
    }

    fn run(&self, line: &str) -> CommandOutput {
        self.run_with(line, &[])
    }

    /// Runs a command that must end well.
    fn ran(&self, line: &str) -> String {
        let CommandOutput { code, out, error } = self.run(line);
        // Only doubts are printed there.
        assert!(code == 0 && error.lines().all(|message| message.contains("doubt")), "{line}: {out}{error}");
        out
    }

    /// All that is in the directory, from below it on.
    fn names(&self) -> BTreeSet<String> {
        fn walk(directory: &Path, root: &Path, all: &mut BTreeSet<String>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                all.insert(entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned());
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), root, all);
                }
            }
        }
        let mut all = BTreeSet::new();
        walk(&self.target(), &self.target(), &mut all);
        all
    }
}

/// A row of the first table: max, min, mean, deviation.
fn row(out: &str, title: &str) -> Vec<f64> {
    let line =
        out.lines().find(|line| line.trim_start().starts_with(title)).unwrap_or_else(|| panic!("{title}: {out}"));
    line.trim_start()[title.len()..].split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// As `mdtest -C` of 4.1.0+dev left them with two tasks.
#[test]
fn a_tree_has_the_originals_names() {
    for (line, expected) in [
        (
            "-n 2",
            set(&[
                "test-dir.0-0",
                "test-dir.0-0/mdtest_tree.0",
                "test-dir.0-0/mdtest_tree.0/dir.mdtest.0.0",
                "test-dir.0-0/mdtest_tree.0/dir.mdtest.0.1",
                "test-dir.0-0/mdtest_tree.0/dir.mdtest.1.0",
                "test-dir.0-0/mdtest_tree.0/dir.mdtest.1.1",
                "test-dir.0-0/mdtest_tree.0/file.mdtest.0.0",
                "test-dir.0-0/mdtest_tree.0/file.mdtest.0.1",
                "test-dir.0-0/mdtest_tree.0/file.mdtest.1.0",
                "test-dir.0-0/mdtest_tree.0/file.mdtest.1.1",
            ]),
        ),
        (
            "-F -u -I 1 -b 2 -z 1 -L",
            set(&[
                "test-dir.0-0",
                "test-dir.0-0/mdtest_tree.0.0",
                "test-dir.0-0/mdtest_tree.0.0/mdtest_tree.0.1",
                "test-dir.0-0/mdtest_tree.0.0/mdtest_tree.0.1/file.mdtest.0.1",
                "test-dir.0-0/mdtest_tree.0.0/mdtest_tree.0.2",
                "test-dir.0-0/mdtest_tree.0.0/mdtest_tree.0.2/file.mdtest.0.2",
                "test-dir.0-0/mdtest_tree.1.0",
                "test-dir.0-0/mdtest_tree.1.0/mdtest_tree.1.1",
                "test-dir.0-0/mdtest_tree.1.0/mdtest_tree.1.1/file.mdtest.1.1",
                "test-dir.0-0/mdtest_tree.1.0/mdtest_tree.1.2",
                "test-dir.0-0/mdtest_tree.1.0/mdtest_tree.1.2/file.mdtest.1.2",
            ]),
        ),
        (
            "-F -u -n 1 -N 1",
            set(&[
                "test-dir.0-0",
                "test-dir.0-0/mdtest_tree.0.0",
                "test-dir.0-0/mdtest_tree.0.0/file.mdtest.1.0",
                "test-dir.0-0/mdtest_tree.1.0",
                "test-dir.0-0/mdtest_tree.1.0/file.mdtest.0.0",
            ]),
        ),
        (
            "-F -S -n 2 -i 2",
            set(&[
                "test-dir.0-0",
                "test-dir.0-0/mdtest_tree.0",
                "test-dir.0-0/mdtest_tree.0/file.mdtest.shared.0",
                "test-dir.0-0/mdtest_tree.0/file.mdtest.shared.1",
                "test-dir.1-0",
                "test-dir.1-0/mdtest_tree.0",
                "test-dir.1-0/mdtest_tree.0/file.mdtest.shared.0",
                "test-dir.1-0/mdtest_tree.0/file.mdtest.shared.1",
            ]),
        ),
        (
            "-D -n 2 -I 1 -U",
            set(&[
                "test-dir.0-0",
                "test-dir.0-0/mdtest_tree.0",
                "test-dir.0-0/mdtest_tree.0/dir.mdtest.0.0",
                "test-dir.0-0/mdtest_tree.0/dir.mdtest.1.0",
                "test-dir.0-1",
                "test-dir.0-1/mdtest_tree.0",
                "test-dir.0-1/mdtest_tree.0/dir.mdtest.0.0",
                "test-dir.0-1/mdtest_tree.0/dir.mdtest.1.0",
            ]),
        ),
    ] {
        let lab = Lab::new();
        lab.ran(&format!("--ranks 2 -C -d d {line}"));
        assert_eq!(lab.names(), expected, "{line}");
        lab.ran(&format!("--ranks 2 -r -d d {}", line.replace(" -U", "")));
        assert!(lab.names().is_empty(), "{line}: the directory was there, and stays");
    }
}

#[test]
fn a_tree_may_be_used_by_whom_the_umask_lets() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    lab.ran("-C -n 1 -d d");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap().trim();
    let umask = u32::from_str_radix(umask, 8).unwrap();
    let tree = lab.target().join("test-dir.0-0/mdtest_tree.0");
    let mode = |name: &str| fs::metadata(tree.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("dir.mdtest.0.0"), mode("file.mdtest.0.0")], [0o775 & !umask, 0o664 & !umask]);
}

#[test]
fn what_one_command_creates_others_stat_read_and_remove() {
    for options in [
        "-n 20",
        "-n 20 -w 3901 -e 3901 -F -N 1 -t",
        "-u -n 30 -b 2 -z 2",
        "-F -S -n 5 -w 4K -e 4K",
        "-F -u -L -I 3 -b 3 -z 1 -N 1 -R",
        "-n 20 -I 5 -b 2 -z 1",
        "-F -n 20 -w 100 -e 100 -G 27 --dataPacketType=offset -X",
    ] {
        let lab = Lab::new();
        let options = format!("--ranks 3 -d d {options}");
        lab.ran(&format!("-C {}", options.replace(" -X", " --verify-write")));
        let before = lab.names();
        let out = lab.ran(&format!("-T -E {options}"));
        assert!(row(&out, "File stat")[2] > 0.0 && row(&out, "File read")[2] > 0.0, "{out}");
        assert_eq!((row(&out, "File creation"), row(&out, "File removal")), (vec![0.0; 4], vec![0.0; 4]));
        assert_eq!(lab.names(), before, "{options}");
        lab.ran(&format!("-r {}", options.replace(" -X", "")));
        assert!(lab.names().is_empty(), "{options}");
    }
}

#[test]
fn all_phases_leave_nothing_behind_not_even_the_directory_that_was_created() {
    let lab = Lab::new();
    for options in ["-n 6 -i 3", "-n 6 -u", "-I 2 -z 2 -b 2 -N 1", "-F -n 6 -k", "-n 6 -a DUMMY", "-z 2 -b 3"] {
        let out = lab.ran(&format!("--ranks 3 -d d {options}"));
        assert!(out.contains("SUMMARY rate (in ops/sec)"));
        assert!(!lab.target().exists(), "{options}");
    }
}

#[test]
fn the_tables_have_every_row_and_rates_that_fit_their_times() {
    let lab = Lab::new();
    let out = lab.ran("--ranks 2 -d d -n 50 -i 3 -P");
    let (rates, times) = out.split_once("SUMMARY time (in ms/op): (of 3 iterations)").unwrap();
    for title in [
        "Directory creation",
        "Directory stat",
        "Directory rename",
        "Directory removal",
        "File creation",
        "File stat",
        "File read",
        "File removal",
        "Tree creation",
        "Tree removal",
    ] {
        let [max, min, mean, _] = row(rates, title)[..] else { panic!("{title}: {rates}") };
        assert!(0.0 < min && min <= mean && mean <= max, "{title}: {rates}");
        assert_eq!(row(times, title).len(), 4);
    }
    assert!(out.contains("\n2 tasks, 100 files/directories\n"), "{out}");
    assert!(out.ends_with(" --\n\n"), "{out}");
    let only = lab.ran("--ranks 2 -d d -n 5 -F -Z");
    assert!(!only.contains("Directory creation") && only.contains("\n2 tasks, 10 files\n"));
}

#[test]
fn several_numbers_of_tasks_have_a_table_each() {
    let out = Lab::new().ran("--ranks 4 -d d -F -n 3 -f 2 -l 4 -s 2");
    assert_eq!(out.matches("SUMMARY").count(), 2);
    assert!(out.contains("\n2 tasks, 6 files\n") && out.contains("\n4 tasks, 12 files\n"), "{out}");
}

#[test]
fn what_somebody_else_put_there_survives_and_is_named() {
    let lab = Lab::new();
    lab.ran("-C -F -n 3 -d d");
    let tree = lab.target().join("test-dir.0-0/mdtest_tree.0");
    for stranger in [lab.target().join("thesis.dat"), tree.join("file.mdtest.0.x"), tree.join("file.mdtest.0.3")] {
        fs::write(stranger, "years").unwrap();
    }
    let output = lab.run("-r -F -n 3 -d d");
    assert_eq!(output.code, 1, "{}", output.error);
    assert!(output.error.contains("file.mdtest.0.3") || output.error.contains("file.mdtest.0.x"), "{}", output.error);
    let expected = set(&[
        "thesis.dat",
        "test-dir.0-0",
        "test-dir.0-0/mdtest_tree.0",
        "test-dir.0-0/mdtest_tree.0/file.mdtest.0.3",
        "test-dir.0-0/mdtest_tree.0/file.mdtest.0.x",
    ]);
    assert_eq!(lab.names(), expected);
}

#[test]
fn a_tree_that_is_there_is_neither_used_nor_removed_for_ours() {
    let lab = Lab::new();
    for options in ["-n 3", "-n 3 -u", "-n 6 -I 3"] {
        lab.ran(&format!("--ranks 2 -C -d d {options}"));
        let before = lab.names();
        for command in ["", "-C", "-C -F -r"] {
            let output = lab.run(&format!("--ranks 2 -d d {options} {command}"));
            assert_eq!(output.code, 3, "{command}: {}", output.out);
            assert!(output.error.contains("mdtest_tree.") && output.error.contains("-r"), "{}", output.error);
            assert_eq!(lab.names(), before, "{options} {command}");
        }
        lab.ran(&format!("--ranks 2 -r -d d {options}"));
    }
}

#[test]
fn what_is_missing_of_a_tree_is_named_and_the_rest_of_it_is_removed_all_the_same() {
    let lab = Lab::new();
    lab.ran("--ranks 2 -C -n 3 -d d");
    fs::remove_file(lab.target().join("test-dir.0-0/mdtest_tree.0/file.mdtest.1.1")).unwrap();
    let output = lab.run("--ranks 2 -T -n 3 -d d");
    assert_eq!(output.code, 1);
    assert!(output.error.contains("file.mdtest.1.1") && output.error.contains("-C"), "{}", output.error);
    assert!(!lab.names().is_empty());
    assert_eq!(lab.run("--ranks 2 -r -n 3 -d d").code, 1);
    assert!(lab.names().is_empty());
}

#[test]
fn a_directory_that_is_missing_is_created_but_not_the_one_that_it_is_in() {
    let lab = Lab::new();
    let output = lab.run("-n 3 -d no/such");
    assert_eq!(output.code, 3);
    assert!(output.error.contains("mkdir -p"), "{}", output.error);
    assert!(!lab.0.path().join("no").exists());
    let output = lab.run("-T -n 3 -d d");
    assert_eq!(output.code, 3);
    assert!(output.error.contains("-C"), "{}", output.error);
    assert!(!lab.target().exists());
}

#[test]
fn a_directory_may_be_named_by_a_symbolic_link() {
    let lab = Lab::new();
    fs::create_dir(lab.target()).unwrap();
    std::os::unix::fs::symlink("d", lab.0.path().join("link")).unwrap();
    lab.ran("-C -n 2 -d link");
    assert!(lab.names().len() > 4);
    lab.ran("-T -E -r -n 2 -d link");
    let output = lab.run("-n 2 -d link/new");
    assert!(output.code == 0 && output.out.contains(": link/new\n"), "{}{}", output.out, output.error);
    assert!(!output.error.contains("remains"), "{}", output.error);
    assert!(lab.names().is_empty());
}

#[test]
fn several_directories_are_dealt_out_to_the_ranks() {
    let lab = Lab::new();
    let root = lab.0.path();
    for name in ["d", "e"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    lab.ran("--ranks 3 -C -F -u -n 1 -d d@e");
    let of =
        |name: &str, rank: u32| root.join(format!("{name}/test-dir.0-0/mdtest_tree.{rank}.0/file.mdtest.{rank}.0"));
    assert!(of("d", 0).is_file() && of("e", 1).is_file() && of("d", 2).is_file());
    lab.ran("--ranks 3 -T -r -F -u -n 1 -d d@e");
    assert!(lab.names().is_empty());
}

#[test]
fn a_stonewall_leaves_how_many_files_there_are_and_other_commands_find_it() {
    let lab = Lab::new();
    let options = "--ranks 2 -F -u -L -n 100000000 -N 1 -P -G 27 -d d -x status";
    // The creation takes a second; 100 million files would not fit.
    let out = lab.ran(&format!("{options} -C -Y -W 1 --saveRankPerformanceDetails=ranks.csv"));
    assert!(out.contains("\n2 tasks, 200000000 files\n"), "{out}");
    let items: u64 = fs::read_to_string(lab.0.path().join("status")).unwrap().parse().unwrap();
    assert!(items > 0);
    let files = lab.names().iter().filter(|name| name.contains("/file.")).count() as u64;
    assert_eq!(files, items * 2, "after the wear-out every rank has as many");
    let csv = fs::read_to_string(lab.0.path().join("ranks.csv")).unwrap();
    assert!(csv.lines().nth(1).unwrap().starts_with(&format!("all,{items},")), "{csv}");
    assert_eq!(csv.lines().count(), 4);
    let stat = lab.ran(&format!("{options} -T"));
    assert!(row(&stat, "File stat")[0] > 0.0);
    lab.ran(&format!("{options} -r"));
    assert!(lab.names().is_empty());
}

#[test]
fn a_stonewall_within_a_tree_lets_other_commands_find_what_there_is_of_it() {
    let lab = Lab::new();
    let tree = "--ranks 2 -F -u -L -n 100000000 -b 4 -z 1 -N 1 -d d -x status";
    let created = lab.run(&format!("{tree} -C -W 1"));
    assert_eq!(created.code, 0, "{}", created.error);
    let items: u64 = fs::read_to_string(lab.0.path().join("status")).unwrap().parse().unwrap();
    assert!(items > 0);
    for phase in ["-T -R", "-E", "-r"] {
        let output = lab.run(&format!("{tree} {phase} -P"));
        assert_eq!(output.code, 0, "{phase}: {}", output.error);
    }
    let left: Vec<_> = fs::read_dir(lab.0.path().join("d")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_was_created_with_another_signature_is_read_and_not_compared() {
    let lab = Lab::new();
    let tree = "--ranks 2 -F -n 4 -w 3901 -e 3901 -d d";
    assert_eq!(lab.run(&format!("{tree} -C -G 5")).code, 0);
    let read = lab.run(&format!("{tree} -E -X"));
    assert_eq!(read.code, 0, "{}", read.error);
    assert!(read.error.contains("-X without -G"), "{}", read.error);
    assert_eq!(lab.run(&format!("{tree} -E -X -G 6")).code, 1);
}

#[test]
fn a_stonewall_with_several_trees_fills_the_first_as_in_mdtest() {
    let lab = Lab::new();
    let trees = "--ranks 2 -F -n 40 -I 10 -d d -x status";
    let created = lab.run(&format!("{trees} -C -W 300"));
    assert_eq!(created.code, 0, "{}", created.error);
    assert!(created.error.contains("only files of the first directory"), "{}", created.error);
    assert_eq!(fs::read_to_string(lab.0.path().join("status")).unwrap(), "10");
    let removed = lab.run(&format!("{trees} -T -r"));
    assert_eq!(removed.code, 0, "{}", removed.error);
}

#[test]
fn what_is_not_what_was_written_is_found() {
    let lab = Lab::new();
    lab.ran("-C -F -n 3 -w 64 -G 27 -d d");
    let options = "-E -F -n 3 -e 64 -X -d d";
    lab.ran(&format!("{options} -G 27"));
    let output = lab.run(&format!("{options} -G 28"));
    assert_eq!(output.code, 1);
    assert!(output.error.contains("file.mdtest.0.0") && output.error.contains("at offset 0"), "{}", output.error);
    let file = lab.target().join("test-dir.0-0/mdtest_tree.0/file.mdtest.0.2");
    let mut bytes = fs::read(&file).unwrap();
    // A timestamp packet of rank 0: the signature and what follows it, in words of 8 bytes.
    assert_eq!(bytes[..16], [27, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0]);
    bytes[41] ^= 1;
    fs::write(&file, bytes).unwrap();
    let output = lab.run(&format!("{options} -G 27"));
    assert!(output.error.contains("file.mdtest.0.2") && output.error.contains("at offset 41"), "{}", output.error);
}

#[test]
fn an_option_that_ours_does_not_have_is_refused_by_name_with_the_nearest_that_works() {
    let lab = Lab::new();
    for (line, named, instead) in [
        ("-n 3 -c", "-c", "--ranks 1"),
        ("-n 3 -B 1", "-B", "leave it out"),
        ("-n 3 --run-cmd-before-phase=ls", "--run-cmd-before-phase", "-C, -T, -E and -r"),
        ("-n 3 --savePerOpDataCSV=p", "--savePerOpDataCSV", "--run DIR"),
        ("-n 3 --posix.rangelocks", "--posix.rangelocks", "a study"),
        ("-n 3 --nonsense", "--nonsense", "mdtest -h"),
        ("-n 3 -w 1.5g", "-w", "whole number"),
        ("-n 3 -S -u", "-u", "leave one out"),
    ] {
        let output = lab.run(line);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{line}");
        assert!(output.error.contains(named) && output.error.contains(instead), "{line}: {}", output.error);
        assert!(!lab.0.path().join("out").exists(), "{line}");
    }
}

#[test]
fn the_command_lines_of_the_white_papers_run_scaled_down() {
    for bytes in ["", " -w 4K -e 4K"] {
        let lab = Lab::new();
        fs::create_dir(lab.target()).unwrap();
        let line = format!("mdtest -v -d d -i 1 -b 16 -z 1 -L -I 1024 -y -u -t -F{bytes}");
        let output = lab
            .run_with(line.strip_prefix("mdtest ").unwrap(), &[("IOASSAY_RANKS", "2"), ("IOASSAY_SCALE_DOWN", "100")]);
        assert_eq!(output.code, 0, "{}", output.error);
        assert!(output.out.contains("\n2 tasks, 320 files\n"), "{}", output.out);
        for title in ["File creation", "File stat", "File read", "File removal", "Tree creation", "Tree removal"] {
            let summary = output.out.split_once("SUMMARY").unwrap().1;
            assert!(row(summary, title)[0] > 0.0, "{title}: {summary}");
        }
        assert!(output.error.contains("a trial, not the benchmark"), "{}", output.error);
        assert!(lab.names().is_empty());
    }
}

#[test]
fn a_run_directory_has_the_command_the_plans_the_events_and_what_was_printed() {
    let lab = Lab::new();
    let out = lab.ran("--ranks 2 --run kept -d d -n 5 -i 2");
    let run = lab.0.path().join("kept");
    assert_eq!(fs::read_to_string(run.join("console.txt")).unwrap(), out);
    let document: FrontEnd = serde_json::from_slice(&fs::read(run.join("front-end.json")).unwrap()).unwrap();
    assert_eq!((document.tool, document.exit_code), (Tool::Mdtest, Some(0)));
    assert_eq!(document.command.join(" "), "mdtest -d d -n 5 -i 2");
    assert_eq!(document.cases.iter().map(|case| case.repetition).collect::<Vec<_>>(), [1, 2]);
    for case in document.cases {
        assert_eq!(case.workload, "mdtest-2");
        let logs = run.join("logs").join(case.id);
        assert!(logs.join("plan.json").exists());
        let events = fs::read_to_string(logs.join("events.jsonl")).unwrap();
        assert_eq!(events.matches("\"event\":\"phase\"").count(), 10);
    }
}

#[test]
fn help_names_every_option_and_what_becomes_of_it() {
    let output = Lab::new().run("-h");
    assert_eq!(output.code, 0);
    for text in ["-C ", "-X, --verify-read", "--posix.odirect", "[refused: each rank creates", "--ranks N"] {
        assert!(output.out.contains(text), "{text}: {}", output.out);
    }
}
