//! What published .ini files say, and how each kind of line is taken: facts from `tests/corpus/io500-options.tsv`.

use std::path::Path;

use ioassay_engine::plan::validate;

use super::api::Ways;
use super::config::Config;
use super::options::{List, section_of};
use super::settings::Settings;
use super::translate::{RunContext, plan};
use crate::common::Common;

const FACTS: &str = include_str!("../../tests/corpus/io500-options.tsv");

/// How a line is taken.
#[derive(Debug, PartialEq)]
enum Taken {
    WithoutAWord,
    WithAWarning,
    Refused(String),
}

/// Why the plan cannot be run, where it cannot.
fn refused(settings: &Settings) -> Option<String> {
    let context = RunContext { data: Path::new("/d"), run: "r1", timestamp: "2026.11.21-17.31.13" };
    validate(&plan(settings, &context)).err().map(|refusal| refusal.problem.to_string())
}

fn taken(text: &str, extended: bool, ranks: u32, ways: &Ways) -> Taken {
    let common = Common { ranks, nodes: 1, run: None, overwrite: false, scale_down: 1 };
    let read = Config::parse("x.ini", text);
    match read.and_then(|config| Settings::of(&config, &common, extended, None, ways)) {
        Ok(settings) if !ways.dry_run && refused(&settings).is_some() => {
            Taken::Refused(refused(&settings).unwrap_or_default())
        }
        Ok(settings) if settings.warnings.is_empty() => Taken::WithoutAWord,
        Ok(_) => Taken::WithAWarning,
        Err(failures) => {
            assert!(failures.iter().all(|failure| !failure.remedy.is_empty()), "{failures:?}");
            Taken::Refused(failures.into_iter().map(|failure| failure.message).collect::<Vec<_>>().join("\n"))
        }
    }
}

#[test]
fn every_published_line_is_taken_warned_of_or_refused_as_the_guide_says() {
    let mut lines = 0;
    for fact in FACTS.lines().filter(|line| !line.starts_with('#')) {
        lines += 1;
        let columns: Vec<&str> = fact.split('\t').collect();
        let [outcome, section, key, value, with, _, _] = columns[..] else { panic!("{fact}") };
        let known = section_of(section).unwrap_or_else(|| panic!("{fact}"));
        assert!(known.key(key).is_some(), "{fact}");
        if outcome == "known" {
            continue;
        }
        let text = format!("[{section}]\n{key} = {value}\n{with}\n");
        let ranks = if key == "nproc" { value.parse().unwrap() } else { 2 };
        let by = |ways: &Ways| taken(&text, known.list == List::Extended, ranks, ways);
        let plain = by(&Ways::default());
        let dry = by(&Ways::dry());
        match outcome {
            "taken" => assert_eq!((plain, dry), (Taken::WithoutAWord, Taken::WithoutAWord), "{fact}"),
            "warned" => assert_eq!((plain, dry), (Taken::WithAWarning, Taken::WithAWarning), "{fact}"),
            "mapped" | "mpi" => {
                let name = value.split(' ').next().unwrap();
                let Taken::Refused(because) = plain else { panic!("{fact}") };
                assert!(because.contains(name), "{fact}: {because}");
                assert_eq!(dry, Taken::WithAWarning, "{fact}");
                let mut ways = Ways::default();
                ways.map(&format!("{name}=posix")).unwrap();
                assert_eq!(by(&ways), Taken::WithAWarning, "{fact}");
            }
            _ => panic!("{fact}"),
        }
    }
    assert!(lines > 400, "{lines}");
}
