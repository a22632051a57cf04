//! Command lines of IOzone that others have published, each with where it stands: all of them must be taken, but for
//! those that the guide lists as refused.

use std::path::Path;

use super::options::{KNOWN, Options};
use super::translate::{Mode, Request};
use crate::common::Common;
use crate::options::Verdict;

/// A line: the arguments after `iozone`, `taken` or the option that the refusal names, and the source.
const CORPUS: &str = include_str!("../../tests/corpus/iozone.tsv");

const GUIDE: &str = include_str!("../../../../docs/guides/iozone.md");

const COMMON: Common = Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down: 1 };

/// The lines as (arguments, verdict, source).
fn lines() -> Vec<(&'static str, &'static str, &'static str)> {
    let lines = CORPUS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [arguments, verdict, source] => (arguments, verdict, source),
            _ => panic!("not three columns: {line}"),
        })
        .collect()
}

/// Plans everything that `arguments` ask for, as if they were typed in an empty directory with a file of clients.
fn dry_run(arguments: &str, clients: &Path) -> Result<usize, String> {
    let clients = clients.to_str().unwrap();
    let mut words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    if let Some(index) = words.iter().position(|word| word == "-+m") {
        clients.clone_into(&mut words[index + 1]);
    }
    let message_of = |failure: ioassay_protocol::events::Failure| failure.message;
    let asked = Request::new(Options::read(&words).map_err(message_of)?, &COMMON, "node7").map_err(message_of)?;
    let here = Path::new("/tmp");
    let plans: Vec<_> = match &asked.mode {
        Mode::Children(children) => {
            let plan = |&count: &u32| asked.plan_of_children(children, count, "r", "c".to_owned(), here);
            children.counts.iter().map(plan).collect::<Result<_, _>>().map_err(message_of)?
        }
        Mode::Rows(rows) => {
            let plan = |row: &super::sizes::Row| asked.plan_of_row(*row, true, "r", "c".to_owned(), here);
            rows.rows.iter().map(plan).collect::<Result<_, _>>().map_err(message_of)?
        }
    };
    for plan in &plans {
        ioassay_engine::plan::validate(plan).map_err(|refusal| format!("{refusal:?}"))?;
    }
    Ok(plans.len())
}

#[test]
fn published_command_lines_are_taken_or_refused_as_the_guide_says() {
    let directory = tempfile::tempdir().unwrap();
    let clients = directory.path().join("clients");
    std::fs::write(&clients, format!("localhost {} iozone\n", directory.path().display()).repeat(256)).unwrap();
    let mut refused = 0;
    for (arguments, verdict, source) in lines() {
        match (dry_run(arguments, &clients), verdict) {
            (Ok(cases), "taken") => assert!(cases > 0, "{arguments} ({source})"),
            (Err(message), option) if option != "taken" => {
                refused += 1;
                assert!(message.contains(option), "{arguments} ({source}): {message}");
                assert!(GUIDE.contains(&format!("| `{option}` |")), "{option} is not in the guide's list of refused");
            }
            (planned, _) => panic!("{arguments} ({source}) is to be {verdict}: {planned:?}"),
        }
    }
    assert!(refused * 50 <= lines().len(), "at least 98 % are taken: {refused} of {} are refused", lines().len());
}

#[test]
fn the_guide_lists_every_refused_option() {
    for known in KNOWN.iter().filter(|known| matches!(known.verdict, Verdict::Refused(_))) {
        assert!(GUIDE.contains(&format!("| `{}` |", known.name)), "{} is not in the guide", known.name);
    }
}

#[test]
fn every_line_has_a_source_and_stands_once() {
    let mut seen = std::collections::BTreeSet::new();
    for (arguments, _, source) in lines() {
        assert!(seen.insert(arguments), "{arguments} stands there twice");
        assert!(!source.trim().is_empty(), "{arguments}");
    }
    assert!(seen.len() >= 42);
}
