//! The IO500's front end as a script meets it: a real process, real files, real signals.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Scored phases in the official order.
const SCORED: [&str; 12] = [
    "ior-easy-write",
    "mdtest-easy-write",
    "ior-hard-write",
    "mdtest-hard-write",
    "find",
    "ior-easy-read",
    "mdtest-easy-stat",
    "ior-hard-read",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
];

/// Sections and keys of `config-sample-all.ini` of IO500/io500 at 02091cf.
const OFFICIAL_KEYS: &str = "global datadir timestamp-datadir resultdir timestamp-resultdir api drop-caches \
                             drop-caches-cmd io-buffers-on-gpu verbosity scc dataPacketType
debug stonewall-time pause-dir
ior-easy API transferSize blockSize filePerProc uniqueDir run verbosity
ior-easy-write API run
mdtest-easy API n run
mdtest-easy-write API run
find-easy external-script external-mpi-args external-extra-args nproc run pfind-queue-length pfind-steal-next \
pfind-parallelize-single-dir-access-using-hashing
ior-hard API segmentCount collective run verbosity
ior-hard-write API collective run
mdtest-hard API n files-per-dir run
mdtest-hard-write API run
find external-script external-mpi-args external-extra-args nproc run pfind-queue-length pfind-steal-next \
pfind-parallelize-single-dir-access-using-hashing
ior-easy-read API run
mdtest-easy-stat API run
ior-hard-read API collective run
mdtest-hard-stat API run
mdtest-easy-delete API run
mdtest-hard-read API run
mdtest-hard-delete API run
ior-rnd4K-easy-read API run
";

/// A directory for data, one for results and an .ini file; all gone at the end.
struct Lab {
    root: tempfile::TempDir,
}

impl Lab {
    /// An .ini file for a moment's work, with `more` at its end.
    fn new(more: &str) -> Self {
        Self::with(
            tempfile::tempdir().unwrap(),
            &format!(
                "[ior-easy]\ntransferSize = 64k\nblockSize = 4m\n[ior-hard]\nsegmentCount = 80\n[mdtest-easy]\nn = 1200\n\
                 [mdtest-hard]\nn = 800\n[debug]\nstonewall-time = 2\n{more}"
            ),
        )
    }

    /// The same with a stonewall that a busy machine does not reach either: `find` looks for files from 100 on, and a phase
    /// that does nothing scores nothing. Work that ends by itself does not wait for it.
    fn patient(self) -> Self {
        let text = fs::read_to_string(self.ini()).unwrap();
        fs::write(self.ini(), text.replace("stonewall-time = 2\n", "stonewall-time = 20\n")).unwrap();
        self
    }

    fn with(root: tempfile::TempDir, text: &str) -> Self {
        let lab = Self { root };
        fs::create_dir(lab.data()).unwrap();
        let global = format!(
            "[global]\ndatadir = {}\nresultdir = {}\ntimestamp-resultdir = FALSE\n",
            lab.data().display(),
            lab.results().display()
        );
        fs::write(lab.ini(), global + text).unwrap();
        lab
    }

    fn ini(&self) -> PathBuf {
        self.root.path().join("config.ini")
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    fn results(&self) -> PathBuf {
        self.root.path().join("results")
    }

    /// A run with two ranks that would take many minutes.
    fn endless(&self) -> Child {
        self.endless_saying(Stdio::null())
    }

    fn endless_saying(&self, err: Stdio) -> Child {
        let text = fs::read_to_string(self.ini()).unwrap();
        fs::write(self.ini(), text.replace("n = 1200", "n = 1000000").replace("time = 2", "time = 300")).unwrap();
        let mut command = self.command(&["--ranks", "2"]);
        command.env_remove("IOASSAY_SCALE_DOWN").stdout(Stdio::piped()).stderr(err);
        command.spawn().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        engine.arg("io500").arg(self.ini()).args(arguments).current_dir(self.root.path());
        // A stonewall of half a second, and a quarter of the files and bytes.
        engine.env("IOASSAY_SCALE_DOWN", "4").env("TZ", "UTC");
        engine
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        ended(self.command(arguments).output().unwrap())
    }

    fn result(&self, name: &str) -> String {
        fs::read_to_string(self.results().join(name)).unwrap()
    }

    fn is_clean(&self) -> bool {
        fs::read_dir(self.data()).unwrap().next().is_none()
    }
}

fn ended(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Phase, score and mark of each scored line.
fn results(text: &str) -> Vec<(String, f64, bool)> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("[RESULT]")?.split_whitespace();
        let (name, score) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        Some((name, score, line.ends_with("[INVALID]")))
    };
    text.lines().filter_map(line).collect()
}

/// Bandwidth, rate, total and mark of the line that `label` begins.
fn score(text: &str, label: &str) -> ([f64; 3], bool) {
    let line = text.lines().find(|line| line.starts_with(label)).unwrap();
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    (numbers.try_into().unwrap(), line.ends_with("[INVALID]"))
}

fn geometric_mean(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    scores.clone().product::<f64>().powf(1.0 / scores.count() as f64)
}

#[test]
fn the_standard_list_runs_in_order_and_its_score_is_the_mean_of_the_lines_printed() {
    let lab = Lab::new("").patient();
    let (code, out, err) = lab.run(&["--ranks", "2"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("the run is invalid"), "{err}");
    let summary = lab.result("result_summary.txt");
    let lines: Vec<&str> = summary.lines().collect();
    assert!(lines[0].contains("ioassay") && lines[0].contains("no official IO500 run"), "{summary}");
    assert!(lines[1].starts_with("IO500 version ioassay-") && lines[1].ends_with("(standard)"), "{summary}");
    assert!(lines.iter().all(|line| out.contains(line)));
    let results = results(&summary);
    assert_eq!(results.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), SCORED);
    assert!(results.iter().all(|(_, score, _)| *score > 0.0), "{summary}");
    let of =
        |ior: bool| results.iter().filter(move |(name, ..)| name.starts_with("ior") == ior).map(|(_, score, _)| *score);
    let ([bandwidth, metadata, total], invalid) = score(&summary, "[SCORE ]");
    for (printed, expected) in [
        (bandwidth, geometric_mean(of(true))),
        (metadata, geometric_mean(of(false))),
        (total, (bandwidth * metadata).sqrt()),
    ] {
        assert!((printed - expected).abs() <= 1e-3 * expected, "{printed} is not {expected}:\n{summary}");
    }
    assert!(invalid);
    let result = lab.result("result.txt");
    assert!(result.contains("; ERROR INVALID times and amounts were divided by 4"), "{result}");
    assert!(result.contains("; ERROR INVALID ior-easy-write: it took"), "{result}");
    for hash in ["config-hash     =", "\nhash"] {
        assert!(!result.contains(hash), "no hash may look official: {result}");
    }
    assert!(lab.is_clean());
}

#[test]
fn find_counts_the_files_that_there_are_and_finds_those_that_match() {
    let lab = Lab::new("");
    let text = fs::read_to_string(lab.ini()).unwrap();
    // No stonewall may come before all are created.
    let text = text.replace("n = 1200", "n = 10").replace("n = 800", "n = 110").replace("time = 2", "time = 300");
    fs::write(lab.ini(), text + "[ior-rnd4K-easy-read]\nrun = FALSE\n").unwrap();
    let (_, out, _) = ended(lab.command(&["--ranks", "2"]).env_remove("IOASSAY_SCALE_DOWN").output().unwrap());
    let result = lab.result("result.txt");
    assert!(!result.contains("accessed-pairs"));
    let value = |key: &str| {
        let line = result.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_once("= ").unwrap().1.to_owned()
    };
    // Two files and one of IOR, and those of mdtest: no directory, and nothing of the engine's own.
    assert_eq!(value("total-files"), (2 + 1 + 2 * 10 + 2 * 110).to_string(), "{out}");
    // 101 of each rank.
    assert_eq!(value("found"), "2", "{out}");
    assert!(!results(&out).iter().any(|(name, _, invalid)| name == "find" && *invalid), "{out}");
}

#[test]
fn the_extended_list_has_its_own_score() {
    let lab = Lab::new("");
    let (code, out, err) = lab.run(&["--mode=extended", "--ranks=2"]);
    assert_eq!(code, 0, "{err}");
    let results = results(&out);
    let score_of = |name: &str| results.iter().find(|(phase, ..)| phase == name).unwrap().1;
    let additions = ["find-easy", "find-hard", "mdworkbench-bench"];
    assert_eq!(results.len(), SCORED.len() + additions.len(), "{out}");
    let ([bandwidth, standard, _], _) = score(&out, "[SCORE ]");
    let ([same_bandwidth, extended, total], invalid) = score(&out, "[SCOREX]");
    assert_eq!((bandwidth, invalid), (same_bandwidth, true));
    let of_standard = SCORED.iter().filter(|name| !name.starts_with("ior")).map(|name| score_of(name));
    let of_extended = of_standard.clone().chain(additions.map(score_of));
    for (printed, expected) in [
        (standard, geometric_mean(of_standard)),
        (extended, geometric_mean(of_extended)),
        (total, (bandwidth * extended).sqrt()),
    ] {
        assert!((printed - expected).abs() <= 1e-3 * expected, "{printed} is not {expected}:\n{out}");
    }
    assert!(lab.is_clean());
}

#[test]
fn md_workbench_has_as_many_files_as_mdtest_would_have_created_in_a_minute_and_find_counts_them() {
    let lab = Lab::new("");
    let (_, out, err) = lab.run(&["--mode=extended", "--ranks=2"]);
    let result = lab.result("result.txt");
    let section = |name: &str| result.split_once(&format!("[{name}]\n")).unwrap().1.split("\n[").next().unwrap();
    let value = |name: &str, key: &str| {
        let line = section(name).lines().find(|line| line.split(' ').next() == Some(key)).unwrap();
        line.split_once("= ").unwrap().1.to_owned()
    };
    let number = |name: &str, key: &str| value(name, key).parse::<f64>().unwrap();
    // The stonewall of 2 s, a quarter of it, is less than a quarter of a minute.
    let files = (number("mdtest-easy-write", "score") * 1000.0 * 0.5 / 2.0 / 10.0) as i64;
    let created = number("mdworkbench-create", "precreatePerSet") as i64;
    assert!((created - files).abs() <= 1, "{created} files in each set, not {files}: {result}");
    for (phase, does) in [("create", "-1"), ("bench", "-2 -R=2 -X"), ("delete", "-3")] {
        let command = value(&format!("mdworkbench-{phase}"), "exe");
        assert!(command.ends_with(&format!("-P={created} -I={created} {does}")), "{command}");
    }
    assert!(number("mdworkbench-bench", "scoreIteration0") > 0.0, "{result}");
    assert!(number("find", "total-files") as i64 > 20 * created, "{result}");
    let invalid = out.lines().filter(|line| line.ends_with("[INVALID]"));
    assert!(!invalid.into_iter().any(|line| line.contains("find") || line.contains("mdworkbench")), "{out}{err}");
}

#[test]
fn md_workbench_has_as_many_files_as_the_ini_file_says_or_is_left_out() {
    let some = "[ior-hard]\nrun = FALSE\n[ior-easy]\nrun = FALSE\n[mdtest-easy]\nrun = FALSE\n";
    let set = "[find-easy]\nrun = FALSE\n[mdworkbench]\nprecreatePerSet = 12\nfilesPerProc = 12\n";
    let ini = |more: &str| {
        let lab = Lab::new("");
        let text = fs::read_to_string(lab.ini()).unwrap();
        let (global, _) = text.split_once("[ior-easy]").unwrap();
        fs::write(lab.ini(), format!("{global}[debug]\nstonewall-time = 1\n[mdtest-hard]\nn = 20\n{some}{more}"))
            .unwrap();
        lab
    };
    let lab = ini(set);
    let (_, out, err) = lab.run(&["--mode=extended", "--ranks=3"]);
    assert!(lab.result("result.txt").contains("precreatePerSet = 3\n"), "a quarter of 12: {out}{err}");
    let lab = ini("[find-easy]\nrun = FALSE\n[mdworkbench]\nrun = FALSE\n");
    let (_, out, err) = lab.run(&["--mode=extended", "--ranks=3"]);
    assert!(out.contains("mdworkbench-bench        0.000000 kIOPS"), "{out}{err}");
    let (code, _, err) = ini("[mdworkbench]\nprecreatePerSet = 12\n").run(&["--mode=extended"]);
    assert_eq!(code, 2);
    assert!(err.contains("[mdworkbench] filesPerProc") && err.contains("set both to the same number"), "{err}");
}

#[test]
fn every_key_of_the_official_file_is_listed_and_read_back() {
    let lab = Lab::new("");
    let (code, out, _) = lab.run(&["--list"]);
    assert_eq!(code, 0);
    let mut section = String::new();
    let mut listed = Vec::new();
    for line in out.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
        } else if let Some((key, _)) = line.split_once(" =") {
            listed.push((section.clone(), key.to_owned()));
        }
    }
    let official = OFFICIAL_KEYS.lines().flat_map(|line| {
        let mut words = line.split(' ').map(str::to_owned);
        let section = words.next().unwrap();
        words.map(move |key| (section.clone(), key)).collect::<Vec<_>>()
    });
    for key in official {
        assert!(listed.contains(&key), "{key:?} is not listed");
    }
    // What is listed is an .ini file that is accepted.
    fs::write(lab.ini(), &out).unwrap();
    let (code, out, err) = lab.run(&["--dry-run"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("./ior --dataPacketType=timestamp"), "{out}");
}

#[test]
fn files_of_older_versions_are_accepted() {
    let lab = Lab::new("");
    let old = "# as of 2023\n[global]\ndatadir = /scratch/io500\ntimestamp-datadir = FALSE\napi = POSIX\nscc = FALSE\n\
               [ior-rnd4K]\nAPI =\nblockSize = 1073741824\nrun = FALSE\nrandomPrefill = 0\n[ior-rnd4K-write]\nrun = TRUE\n\
               [ior-rnd1MB]\nrun = TRUE\n[ior-rnd1MB-read]\nAPI =\n[ior-rnd]\nblockSize = 1073741824\n[timestamp]\n\
               [mdworkbench]\nwaitingTime = 0.0\nprecreatePerSet =\nfilesPerProc =\n[mdworkbench-delete]\nrun = TRUE\n";
    fs::write(lab.ini(), old).unwrap();
    let (code, out, err) = lab.run(&["--dry-run"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("-o /scratch/io500/ior-hard/file"), "{out}");
}

#[test]
fn what_is_not_done_is_refused_by_name_before_anything_is_written() {
    for (more, arguments, expected) in [
        ("[nonsense]\n", &[][..], "line 16: there is no section [nonsense]"),
        ("[find]\nfind = 1\n", &[], "line 17: [find] has no key find"),
        ("[find]\nfind = 1\n[nonsense]\n", &[], "line 18: there is no section [nonsense]"),
        ("[ior-hard]\nhintsFileName = /hints\n", &[], "line 17: [ior-hard] hintsFileName = /hints is refused"),
        (
            "[ior-easy]\nAPI = DFS --dfs.pool=p\n[mdtest-easy]\nAPI = DFS\n",
            &[],
            "line 17: [ior-easy] API = DFS --dfs.pool=p (and line 19): DFS is not an API of the engine",
        ),
        ("", &["--map-api", "DFS=no-such-storage"], "--map-api DFS=no-such-storage: no-such-storage is neither"),
        (
            "[ior-hard-write]\nAPI = MPIIO\n",
            &[],
            "line 17: [ior-hard-write] API = MPIIO: -a MPIIO needs ranks that are MPI processes",
        ),
        ("[ior-easy]\nAPI = POSIX --posix.nonsense\n", &[], "line 17: [ior-easy] API = POSIX --posix.nonsense: "),
        // What cannot go past the page cache is refused by the plan, before anything is measured.
        ("[ior-easy]\nAPI = MMAP --posix.odirect\n", &[], "mmap does not support direct I/O"),
        ("", &["--verify", "result.txt"], "--verify"),
        ("", &["--config-hash"], "--official PATH"),
        ("", &["--cleanup"], "ioassay-engine clean"),
        ("", &["--mode=fast"], "there is no mode \"fast\""),
        ("", &["--nonsense"], "io500 has no option --nonsense"),
    ] {
        let lab = Lab::new(more);
        let (code, out, err) = lab.run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(expected), "{err}");
        assert!(!lab.results().exists() && lab.is_clean());
    }
}

#[test]
fn refusals_are_reported_together_with_replacements() {
    let lab = Lab::new("[find]\nnproc = 3\n[ior-hard]\nhintsFileName = /hints\nAPI = IME\n");
    let (code, out, err) = lab.run(&["--ranks", "2"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err.lines().filter(|line| line.starts_with("ioassay-engine: ")).count(), 3, "{err}");
    assert_eq!(err.lines().filter(|line| line.starts_with("  try: ")).count(), 3, "{err}");
}

#[test]
fn what_is_not_honoured_is_warned_of_in_the_results_and_the_rows_are_there() {
    let lab = Lab::new(
        "[global]\napi = DFS --dfs.pool=p\n[find]\nexternal-script = ./find.sh\npfind-steal-next = TRUE\n\
         [ior-easy]\nuniqueDir = TRUE\nposix.odirect = FALSE\n",
    )
    .patient();
    let text = fs::read_to_string(lab.ini()).unwrap();
    fs::write(lab.ini(), [&b"; gr\xfc\xdfe\n"[..], text.as_bytes()].concat()).unwrap();
    let (code, out, err) = lab.run(&["--ranks", "2", "--map-api", "DFS=posix"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(results(&out).len(), SCORED.len());
    assert!(results(&out).iter().all(|(_, score, _)| *score > 0.0), "{out}");
    for warned in ["external-script = ./find.sh is ignored", "uniqueDir = TRUE is ignored", "--dfs.pool=p is ignored"] {
        assert!(out.contains(warned) && lab.result("result.txt").contains(warned), "{out}");
    }
    assert!(lab.result("result.txt").contains("-a DFS --dfs.pool=p"));
    assert!(lab.results().join("ior-easy-write.txt").exists() && lab.is_clean());
    assert_eq!(lab.result("timestampfile"), "");
}

#[test]
fn a_dry_run_prints_commands_and_touches_nothing() {
    let lab = Lab::new("");
    fs::remove_dir(lab.data()).unwrap();
    let (code, out, _) = lab.run(&["--dry-run"]);
    assert_eq!(code, 0);
    assert_eq!(out.matches("exe             = ./").count(), 13, "{out}");
    assert!(!lab.data().exists() && !lab.results().exists());
}

/// On the file system of the checkout: not every tmpfs has direct I/O.
#[test]
fn a_section_has_an_api_of_its_own_and_the_section_of_its_phase_another_one() {
    let lab = Lab::with(
        tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap(),
        "[ior-easy]\ntransferSize = 64k\nblockSize = 4m\nAPI = POSIX --posix.odirect\n[ior-easy-read]\n\
         API = AIO --aio.max-pending=4 --posix.odirect\n[ior-rnd4K-easy-read]\nAPI = posix\n[ior-hard]\n\
         segmentCount = 80\n[mdtest-easy]\nn = 1200\nAPI = POSIX --posix.odirect\n[mdtest-hard]\nn = 800\n[debug]\n\
         stonewall-time = 2\n",
    );
    let run = lab.root.path().join("run");
    let (code, out, err) = lab.run(&["--ranks", "2", "--run", run.to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    assert!(results(&out).iter().all(|(_, score, _)| *score > 0.0), "{out}");
    assert!(!err.contains("ior-easy-read: cache-resident") && lab.is_clean(), "{err}");
    let text = lab.result("result.txt");
    let command = |phase: &str| text.split(&format!("[{phase}]\n")).nth(1).unwrap().lines().nth(1).unwrap().to_owned();
    for (phase, api) in [
        ("ior-easy-write", " -a POSIX --posix.odirect -O "),
        ("ior-easy-read", " -a AIO --aio.max-pending=4 --posix.odirect -O "),
        ("ior-rnd4K-easy-read", " -a posix -O "),
        ("ior-hard-write", " -a POSIX -O "),
    ] {
        assert!(command(phase).contains(api), "{phase}: {}", command(phase));
    }
    assert!(command("mdtest-easy-stat").ends_with(" -a POSIX --posix.odirect"), "{}", command("mdtest-easy-stat"));
    let plan = fs::read_to_string(run.join("logs/io500/plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let storage = |phase: &str| {
        let steps = plan["steps"].as_array().unwrap();
        steps.iter().find(|step| step["name"] == phase).unwrap()["jobs"][0]["storage"].clone()
    };
    assert_eq!(storage("mdtest-easy-directories")["direct"], true);
    assert_eq!((&storage("ior-easy-read")["api"], &storage("ior-easy-read")["depth"]), (&"uring".into(), &4.into()));
    assert_eq!((storage("ior-hard-read"), storage("find")), (serde_json::Value::Null, serde_json::Value::Null));
}

#[test]
fn directories_that_were_made_for_the_run_go_with_it_and_a_second_run_replaces_the_results() {
    let lab = Lab::new("");
    fs::remove_dir(lab.data()).unwrap();
    let run = lab.root.path().join("run");
    let (code, ..) = lab.run(&["--run", run.to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(!lab.data().exists());
    for file in ["front-end.json", "console.txt", "logs/io500/plan.json", "logs/io500/events.jsonl"] {
        assert!(run.join(file).exists(), "{file}");
    }
    for file in ["result.txt", "result_summary.txt", "config.ini", "config-orig.ini"] {
        assert!(lab.results().join(file).exists(), "{file}");
    }
    assert_eq!(lab.run(&["--ranks", "2"]).0, 0);
    assert!(lab.result("result.txt").contains("procs           = 2"));
    // What the official program left is not replaced.
    fs::write(lab.results().join("result.txt"), "[run]\nprocs = 1\n").unwrap();
    let (code, _, err) = lab.run(&[]);
    assert_eq!(code, 2);
    assert!(err.contains("result.txt exists") && err.contains("--overwrite"), "{err}");
    assert_eq!(lab.result("result.txt"), "[run]\nprocs = 1\n");
}

#[test]
fn an_ini_file_that_the_user_wrote_is_not_replaced_by_the_one_that_is_kept() {
    let lab = Lab::new("");
    let beside = format!("resultdir = {}", lab.results().display());
    let text = fs::read_to_string(lab.ini()).unwrap().replace(&beside, "resultdir = .");
    fs::write(lab.ini(), &text).unwrap();
    let (code, _, err) = lab.run(&[]);
    assert_eq!(code, 2);
    assert!(err.contains("config.ini exists") && err.contains("--overwrite"), "{err}");
    assert_eq!(fs::read_to_string(lab.ini()).unwrap(), text);
    assert!(!lab.root.path().join("result.txt").exists());
    assert_eq!(lab.run(&["--overwrite"]).0, 0, "an invalid run ends as the official one");
    let kept = fs::read_to_string(lab.root.path().join("config-orig.ini")).unwrap();
    assert!(kept.ends_with(&text), "{kept}");
}

/// A limit of the file size stands for a full disk: it needs no privileges.
#[test]
fn a_phase_that_fails_leaves_a_score_of_0_and_says_why() {
    let lab = Lab::new("");
    let mut command = lab.command(&["--ranks", "1"]);
    limit_file_size(&mut command, 800_000);
    let (code, out, err) = ended(command.output().unwrap());
    assert_eq!(code, 1, "{out}{err}");
    let results = results(&out);
    assert_eq!(results.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), SCORED);
    // Blocks of 1 MiB do not fit, and nothing runs after that.
    assert!(results.iter().all(|(_, score, invalid)| *score == 0.0 && *invalid), "{out}");
    assert_eq!(score(&out, "[SCORE ]"), ([0.0; 3], true));
    assert!(lab.result("result.txt").contains("EFBIG"), "{}", lab.result("result.txt"));
    assert!(lab.is_clean());
}

#[test]
fn a_signal_ends_it_and_leaves_nothing_but_what_was_measured() {
    let lab = Lab::new("");
    let mut engine = lab.endless();
    wait_for_line(&mut engine, "ior-easy-write");
    kill(Pid::from_raw(engine.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(3));
    assert!(lab.is_clean());
    let summary = lab.result("result_summary.txt");
    assert!(results(&summary)[0].1 > 0.0, "{summary}");
    assert_eq!(score(&summary, "[SCORE ]").0[2], 0.0, "{summary}");
    assert!(lab.result("result.txt").contains("SIGTERM"));
}

#[test]
fn leftovers_on_the_target_are_reported() {
    let lab = Lab::new("");
    let mut engine = lab.endless_saying(Stdio::piped());
    wait_for_line(&mut engine, "ior-easy-write");
    let workspace = fs::read_dir(lab.data()).unwrap().next().unwrap().unwrap().path();
    let mine = workspace.join("mine");
    fs::write(&mine, "a file of somebody else").unwrap();
    kill(Pid::from_raw(engine.id() as i32), Signal::SIGTERM).unwrap();
    let (code, _, err) = ended(engine.wait_with_output().unwrap());
    assert_eq!(code, 3);
    assert!(err.contains(&format!("{} remains: ", mine.display())), "{err}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "a file of somebody else");
}

/// A program that leaves results where its file says, after `work`.
fn official(lab: &Lab, work: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = lab.root.path().join("official");
    let results = lab.results();
    let text = format!(
        "#!/bin/sh\necho \"given $*\"\nmkdir -p {0}\n{work}\nprintf '[SCORE ] Bandwidth 1.0 GiB/s : IOPS 4.0 kiops : \
         TOTAL 2.0\\n' > {0}/result_summary.txt\n",
        results.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn the_official_program_is_run_as_it_is_and_its_files_lie_beside_what_the_node_did() {
    let lab = Lab::new("");
    let program = official(&lab, "sleep 1.2");
    let run = lab.root.path().join("run");
    let mut command = lab.command(&["--mode=extended", "--timestamp=now", "--launcher=env A=1"]);
    command.args(["--official".as_ref(), program.as_os_str(), "--run".as_ref(), run.as_os_str()]);
    fs::create_dir(lab.results()).unwrap();
    fs::write(lab.results().join("stale.txt"), "").unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options().write(true).open(lab.results().join("stale.txt")).unwrap().set_modified(long_ago).unwrap();
    let (code, out, err) = ended(command.env_remove("IOASSAY_SCALE_DOWN").output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let given = format!("given {} --timestamp=now --mode=extended\n", lab.ini().display());
    assert_eq!(out, given);
    assert!(run.join("official/result_summary.txt").exists());
    assert!(!run.join("official/stale.txt").exists(), "an earlier run's files are not this one's");
    // One at the beginning, one after a second, one at the end.
    let samples = fs::read_to_string(run.join("node-samples.jsonl")).unwrap();
    assert!(samples.lines().count() >= 3, "{samples}");
    assert!(samples.lines().all(|line| line.contains("\"written_bytes\":") && line.contains("\"dirty_bytes\":")));
}

#[test]
fn a_signal_ends_the_official_program_and_all_that_it_started() {
    let lab = Lab::new("");
    // A rank that its launcher leaves behind, in a group of its own.
    let program = official(&lab, "setsid sh -c 'trap \"\" INT TERM; echo rank $$; sleep 300' & wait");
    let run = lab.root.path().join("run");
    let mut command = lab.command(&["--official"]);
    command.args([program.as_os_str(), "--run".as_ref(), run.as_os_str()]);
    command.env_remove("IOASSAY_SCALE_DOWN").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut engine = command.spawn().unwrap();
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines().map_while(Result::ok);
    let rank = lines.find_map(|line| line.strip_prefix("rank ").map(str::to_owned)).unwrap();
    kill(Pid::from_raw(engine.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(engine.wait().unwrap().code(), Some(3));
    let state = fs::read_to_string(format!("/proc/{rank}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    assert!(run.join("node-samples.jsonl").exists());
}

#[test]
fn what_the_official_program_needs_is_asked_for() {
    for (arguments, expected) in [
        (&["--official", "/bin/true"][..], "add --run DIR"),
        (&["--launcher", "mpirun"], "add --official PATH"),
        (&["--official", "/bin/true", "--run", "run"], "IOASSAY_SCALE_DOWN has no effect"),
    ] {
        let lab = Lab::new("");
        let (code, _, err) = lab.run(arguments);
        assert_eq!(code, 2);
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn a_rank_that_is_killed_leaves_a_score_of_0() {
    let lab = Lab::new("");
    let mut engine = lab.endless();
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("[RESULT]")));
    let first_child = |pid: i32| -> i32 {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    };
    // What was started guards the engine.
    let rank = first_child(first_child(engine.id() as i32));
    kill(Pid::from_raw(rank), Signal::SIGKILL).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(engine.wait().unwrap().code(), Some(1), "{rest:?}");
    let summary = lab.result("result_summary.txt");
    assert_eq!(results(&summary).len(), SCORED.len());
    assert!(results(&summary)[0].1 > 0.0 && results(&summary)[1].1 == 0.0, "{summary}");
    assert_eq!(score(&summary, "[SCORE ]"), ([0.0; 3], true));
    assert!(lab.result("result.txt").contains("SIGKILL"), "{}", lab.result("result.txt"));
    assert!(lab.is_clean());
}

fn wait_for_line(engine: &mut Child, wanted: &str) {
    let lines = BufReader::new(engine.stdout.take().unwrap()).lines();
    let result = lines.map_while(Result::ok).find(|line| line.starts_with("[RESULT]") && line.contains(wanted));
    assert!(result.is_some(), "the engine ended without {wanted}");
}

fn limit_file_size(command: &mut Command, bytes: u64) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the call is async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            Ok(nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_FSIZE, bytes, bytes)?)
        });
    }
}

#[test]
fn results_of_a_scaled_run_say_where_they_lie() {
    let lab = Lab::new("");
    let text = fs::read_to_string(lab.ini()).unwrap().replace("timestamp-resultdir = FALSE\n", "");
    fs::write(lab.ini(), text).unwrap();
    let (_, out, _) = lab.run(&["--timestamp=first"]);
    assert!(out.contains(&format!("stored in the directory: {}/first", lab.results().display())), "{out}");
    assert!(Path::new(&lab.results().join("first/result.txt")).exists());
}

#[test]
fn each_phase_leaves_what_ior_or_mdtest_would_print_of_it_and_the_times_of_every_rank() {
    let lab = Lab::with(
        tempfile::Builder::new().prefix("with space").tempdir().unwrap(),
        "[ior-easy]\ntransferSize = 64k\nblockSize = 4m\n[ior-hard]\nsegmentCount = 80\n[mdtest-easy]\nn = 1200\n\
         [mdtest-hard]\nn = 800\n[debug]\nstonewall-time = 2\n[mdworkbench]\nrun = FALSE\n",
    )
    .patient();
    fs::create_dir(lab.results()).unwrap();
    fs::write(lab.results().join("mdtest-hard-stat.csv"), "a thesis").unwrap();
    let (code, out, err) = lab.run(&["--ranks", "2", "--mode=extended", "--verbose=2"]);
    assert_eq!(code, 0, "{out}{err}");
    let (scores, result) = (results(&out), lab.result("result.txt"));
    assert!(!result.contains("; no ior"), "{result}");
    let random = lab.result("ior-rnd4K-easy-read.txt");
    assert!(random.contains("ordering in a file  : random") && random.contains("\nread "), "{random}");
    let retold = |name: &str| SCORED.contains(&name) && name != "find";
    for (phase, printed, _) in scores.iter().filter(|(name, ..)| retold(name)) {
        let text = lab.result(&format!("{phase}.txt"));
        let (kind, access) = phase.rsplit_once('-').unwrap();
        if kind.starts_with("ior") {
            assert!(text.starts_with("IOR-4.1.0"), "{text}");
            let line = text.lines().find(|line| line.starts_with(&format!("{access} "))).expect(&text);
            // From the first open to the last close, as IOR counts; the score counts from the barrier.
            let mib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            assert!(mib / 1024.0 > printed * 0.9, "{printed}: {text}");
        } else {
            assert!(text.starts_with("-- started at ") && text.contains("total task(s)"), "{text}");
            let measured = |line: &&str| line.starts_with("   File ") && !line.ends_with("0.000          0.000");
            let rows: Vec<&str> = text.lines().filter(measured).collect();
            let titles = [("write", "creation"), ("stat", "stat"), ("read", "read"), ("delete", "removal")];
            let (_, title) = titles.into_iter().find(|(known, _)| *known == access).unwrap();
            // The table of rates has it in any case, that of times only what took long enough.
            assert!(!rows.is_empty() && rows.iter().all(|line| line.contains(title)), "{phase}: {text}");
        }
        assert!(text.contains(&lab.data().display().to_string()), "{text}");
        if phase != "mdtest-hard-stat" {
            let ranks = lab.result(&format!("{phase}.csv"));
            let ranks = ranks.lines().filter(|line| line.contains(",0,") || line.starts_with("0,")).count();
            assert_eq!(ranks, 1, "{phase}");
        }
    }
    assert!(result.contains(&format!("result-file     = {}", lab.results().join("ior-hard-write.txt").display())));
    assert_eq!(lab.result("mdtest-hard-stat.csv"), "a thesis");
    assert!(result.contains("mdtest-hard-stat.csv exists and does not contain results of this kind"), "{result}");
}
