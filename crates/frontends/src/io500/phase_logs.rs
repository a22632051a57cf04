//! The files that the official program leaves of each phase: what IOR or mdtest would have printed of it, and the times
//! of every rank.

use std::path::Path;

use ioassay_protocol::events::PhaseRecord;

use super::commands::{self, Places};
use super::print::Report;
use super::settings::Settings;
use crate::{ior, mdtest};

/// Stands for a directory while a command is taken apart into words: its own name may have spaces.
const DATA: &str = "{data}";
const RESULTS: &str = "{results}";

/// Keeps the files of `record` beside the results; of a walk there are none.
pub fn keep(report: &mut Report, settings: &Settings, places: &Places<'_>, record: &PhaseRecord) {
    let Some((tool, arguments)) = words(&settings.understood(), places, &record.name) else { return };
    let log = match tool.as_str() {
        "./ior" => ior::phase_log(&arguments, settings.ranks, record).map(|files| (ior::BEGIN, ior::RANKS, files)),
        "./mdtest" => {
            mdtest::phase_log(&arguments, settings.ranks, record).map(|files| (mdtest::BEGIN, mdtest::RANKS, files))
        }
        _ => return,
    };
    match log {
        Ok((begin, begin_of_ranks, (text, ranks))) => {
            report.detail("result-file", report.directory.join(format!("{}.txt", record.name)).display());
            report.keep_phase_log(&format!("{}.txt", record.name), begin, &text);
            report.keep_phase_log(&format!("{}.csv", record.name), begin_of_ranks, &ranks);
        }
        Err(failure) => report.note(&format!("; no {}.txt: {}", record.name, failure.message)),
    }
}

/// The tool of a phase, and its arguments.
fn words(settings: &Settings, places: &Places<'_>, phase: &str) -> Option<(String, Vec<String>)> {
    let apart = Places { data: Path::new(DATA), results: Path::new(RESULTS), ..*places };
    let [data, results] = [places.data, places.results].map(|path| path.display().to_string());
    // md-workbench, whose number of files this leaves out, has no such files.
    let command = commands::command(settings, &apart, phase, 0)?;
    let mut words = command.split_whitespace().map(|word| word.replace(DATA, &data).replace(RESULTS, &results));
    Some((words.next()?, words.collect()))
}
