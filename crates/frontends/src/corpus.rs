//! Command lines of IOR and mdtest that were published, and the result of each: taken, or refused for a reason that the
//! guide (docs/guides/front-ends.md) names.
//!
//! The table has them without paths, numbers that make no difference once, with how many public runs had each and
//! where one is. Not here: running them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ioassay_engine::plan::validate;
use ioassay_protocol::events::Failure;

use super::common::Common;
use super::{ior, mdtest};

/// Tool, arguments, public runs, what IOR 4.1.0+dev does, ours, source.
const TABLE: &str = include_str!("../tests/corpus/command-lines.tsv");

const GUIDE: &str = include_str!("../../../docs/guides/front-ends.md");

/// For each result of a line: the word of the table, the texts of its refusal, and how the guide lists it.
const REASONS: &[(&str, &[&str], &str)] = &[
    (
        "api",
        &["--dfs.", "--chfs.", "-a DFS", "-a IME", "-a \"IME\"", "-a \"Gfarm\"", "-a Gfarm"],
        "**APIs of one file system**",
    ),
    (
        "gone",
        &["no option -B", "no option -H", "stoneWallingWearOut needs a stonewall", "is not a multiple"],
        "**What IOR 4.1 refuses too**",
    ),
    ("collective", &["-c with -D"], "**Collective transfers with a stonewall**"),
    ("number", &["is neither 0 nor 1", "is not a valid number"], "**Numbers that IOR reads as 0**"),
    ("typo", &["no option --"], "**A dash among letters**"),
];

struct Line {
    tool: &'static str,
    arguments: Vec<String>,
    runs: u64,
    original: &'static str,
    ours: &'static str,
    source: &'static str,
}

fn table() -> Vec<Line> {
    let line = |row: &'static str| {
        let cells: Vec<&str> = row.split('\t').collect();
        let &[tool, arguments, runs, original, ours, source] = cells.as_slice() else { panic!("{row}") };
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Line { tool, arguments, runs: runs.parse().unwrap(), original, ours, source }
    };
    TABLE.lines().filter(|row| !row.starts_with('#')).map(line).collect()
}

/// Ranks that each line is tried with.
fn common() -> Common {
    Common { ranks: 4, nodes: 1, run: None, overwrite: false, scale_down: 1 }
}

/// Reads the line, and makes and validates its plans where they need no MPI.
fn tried(line: &Line) -> Result<(), Failure> {
    let plans = match line.tool {
        "ior" => ior::plans(&line.arguments, &common())?,
        "mdtest" => mdtest::plans(&line.arguments, &common(), Path::new("/w"))?,
        other => panic!("{other} is no tool"),
    };
    for plan in &plans {
        validate(plan).unwrap_or_else(|refusal| panic!("{:?}: {refusal}", line.arguments));
    }
    Ok(())
}

#[test]
fn each_public_command_line_is_taken_or_refused_for_a_reason_that_the_guide_names() {
    for line in table() {
        let outcome = match tried(&line) {
            Ok(()) => "taken",
            Err(failure) => {
                let says = |reason: &&(&str, &[&str], &str)| reason.1.iter().any(|text| failure.message.contains(text));
                let reason = REASONS.iter().find(says);
                let (word, _, listed) = reason.unwrap_or_else(|| panic!("{:?}: {}", line.arguments, failure.message));
                assert!(GUIDE.contains(listed), "the guide does not list: {listed}");
                word
            }
        };
        assert_eq!(outcome, line.ours, "{} {}", line.tool, line.arguments.join(" "));
    }
}

#[test]
fn of_what_the_original_takes_at_least_98_percent_are_taken() {
    let (mut all, mut taken) = ((0, 0), (0, 0));
    for line in table().iter().filter(|line| line.original == "taken") {
        all = (all.0 + 1, all.1 + line.runs);
        if line.ours == "taken" {
            taken = (taken.0 + 1, taken.1 + line.runs);
        }
    }
    assert!(taken.0 * 100 >= all.0 * 98, "{} of {} patterns", taken.0, all.0);
    assert!(taken.1 * 100 >= all.1 * 98, "{} of {} lines", taken.1, all.1);
}

#[test]
fn each_pattern_stands_once_with_its_source() {
    let mut seen = BTreeSet::new();
    let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
    for line in table() {
        assert!(seen.insert((line.tool, line.arguments.join(" "))), "{:?} twice", line.arguments);
        assert!(!line.source.is_empty() && line.runs > 0);
        *tools.entry(line.tool).or_default() += line.runs;
    }
    assert_eq!(tools.keys().copied().collect::<Vec<_>>(), ["ior", "mdtest"]);
}
