//! The same command lines, given to the real IOzone and to ours: the same rows, files and exit status. Figures differ,
//! of course. Without IOzone on this machine it says that it was skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::skipped::skipped;

/// Lines of the corpus with smaller sizes.
const LINES: &[&str] = &[
    // iozone(1), and the documentation.
    "-a -g 256",
    "-Ra -g 128 -i 0 -i 1",
    "-Rab output.wks -g 128",
    "-ac -n 64 -g 128 -f testfile -b exceloutput.xls",
    // Boards, cards and cloud volumes.
    "-e -I -a -s 256 -r 4k -r 16k -r 64k -i 0 -i 1 -i 2",
    "-e -I -a -s 64 -r 4k -i 0 -i 2",
    "-a -f iozone-test -e -I -r 4k -g 128 -i 0 -i 1 -i 2",
    // Files larger than the crossover.
    "-a -n 32m -g 32m -i 0 -R",
    "-Raz -b lab.wks -n 16m -g 32m -q 8 -i 0 -i 1",
    "-a -n 128 -g 512 -i 0 -i 1 -i 5 -f data -Rb iozone.xls",
    "-a -i 0 -i 1 -i 2 -s 512 -r 64 -Rb ./iozone.xls",
    "-i 0 -s 64 -r 4k -r 8k -r 16k -r 32k",
    "-i 0 -s 64 -r 4k -s 128 -r 4k -s 256 -r 4k",
    "-i 0 -s 64 -r 4k -+n -T",
    "-a -y 16 -q 64 -n 64 -g 128 -f out",
    "-a -r 4k -s 64 -g 256 -+u -b output.xls",
    "-f here -ab sheet.xls -g 64",
    "-RabK results/default.wks -g 64",
    "-a -I -+d -g 64",
    "-a -r 1k -s 64",
    "-a -B -n 64 -g 128 -R -b iozone.xls -i 0 -i 1 -M -+u -+A 4",
    "-i0 -i1 -i2 -O -I -s64 -r16k -f blah",
    "-i0 -i2 -i5 -i8 -r 16k -s 64 -f iozone.tmp -ecp -K",
    "-i 0 -i 1 -I -+d -s 64 -r 16 -w",
    "-A -n 64 -g 64",
    "-E -s 64 -i 9 -i 10 -i 0",
    "-N -s 64 -i 0 -i 1 -+r",
    "-+D -s 64 -i 0 -i 6 -i 7 -w -f kept",
    "-D -a -g 64 -i 0 -i 1",
    "-i 12 -s 64",
    // The throughput mode, with the pauses of the original.
    "-t 2 -i 0 -+n -r 4 -s 64 -w -c -e -C",
    "-t 2 -i 6 -i 7 -r 1k -s 64",
    "-t 2 -i 11 -i 12 -+n -r 1k -s 64",
    "-t 2 -T -i 0 -+n -R -b t.xls -s 64 +Z",
    "-R -l 1 -u 2 -i 0 -+n -r 4 -s 64 -F f1 f2",
    "-t 1 -i 0 -i 8 -+n -s 64 -S 512 -o",
];

/// Lines that run side by side.
const THREADS: usize = 12;

/// What can be compared of a command: its exit status, what its lines are but for their figures, and what it leaves.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    status: Option<i32>,
    lines: Vec<String>,
    files: BTreeMap<String, Option<u64>>,
}

/// The lines of results without their figures: of a row which cells have one, and which have 0 because they were left
/// out.
fn shape(text: &str, zeros: bool) -> Vec<String> {
    let results = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains("throughput") || line.contains("Min xfer") || line.starts_with("\tChild[") {
            return Some(line.split('=').next().unwrap_or_default().to_owned());
        }
        if words.len() >= 2 && line.starts_with("   ") && words.iter().all(|word| word.parse::<u64>().is_ok()) {
            let cells: Vec<&str> =
                words[2..].iter().map(|&cell| if zeros && cell == "0" { "0" } else { "#" }).collect();
            return Some(format!("{} {}: {}", words[0], words[1], cells.join(" ")));
        }
        if line.starts_with('"') {
            let (title, rest) = line.rsplit_once('"').unwrap_or((line, ""));
            return Some(format!("{title}\" {}", rest.split_whitespace().count()));
        }
        (line.contains("reclen") || line.contains("stride ") || line.starts_with("        \"")).then(|| line.to_owned())
    });
    results.collect()
}

fn outcome(output: &Output, directory: &Path, zeros: bool) -> Outcome {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap().to_owned();
        // A worksheet of the original has labels of a fixed length.
        let measured = !name.ends_with(".xls") && !name.ends_with(".wks") && name != "K";
        (name, measured.then(|| entry.metadata().unwrap().len()))
    });
    let text = String::from_utf8_lossy(&output.stdout);
    Outcome { status: output.status.code(), lines: shape(&text, zeros), files: entries.collect() }
}

fn run(program: &str, tool: &[&str], line: &str, zeros: bool) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(tool).args(line.split_whitespace()).current_dir(directory.path()).env_remove("IOASSAY_RANKS");
    let output = command.output().unwrap();
    let outcome = outcome(&output, directory.path(), zeros);
    if outcome.status != Some(0) {
        eprintln!("{program} {line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    outcome
}

#[test]
fn the_original_and_ours_have_the_same_rows_files_and_status() {
    if Command::new("iozone").arg("-v").output().is_err() {
        return skipped("the real IOzone", "install iozone3");
    }
    let compare = |line: &&str| {
        // Of microseconds many are 0.
        let zeros = !line.contains("-N");
        let theirs = run("iozone", &[], line, zeros);
        let ours = run(env!("CARGO_BIN_EXE_ioassay-engine"), &["iozone"], line, zeros);
        assert!(!theirs.lines.is_empty(), "{line}");
        (theirs != ours).then(|| format!("{line}\n  theirs {theirs:?}\n  ours   {ours:?}"))
    };
    // The original pauses for seconds between the tests of children.
    let differ: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = LINES
            .chunks(LINES.len().div_ceil(THREADS))
            .map(|lines| scope.spawn(move || lines.iter().filter_map(compare).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), LINES.len(), differ.join("\n"));
}
