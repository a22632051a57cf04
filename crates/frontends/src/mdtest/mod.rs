//! mdtest's command line: [`options`] reads it, [`translate`] makes plans of it, [`results`] derives what [`print`] prints.
//!
//! The names on disk are mdtest's, so that either works on what the other created (`-T`, `-E`, `-r`).

pub mod options;
mod print;
mod results;
mod rows;
mod translate;

use ioassay_engine::command;
use ioassay_engine::exit::Exit;
use ioassay_engine::rank_set::RankSet;
use ioassay_engine::stdio::say;
use ioassay_host::clock;
use ioassay_protocol::events::{Event, Failure, PhaseRecord};
use ioassay_protocol::front_end::Tool;
use ioassay_protocol::plan::Operation;

use self::options::Parameters;
use self::results::Iteration;
use self::rows::Row;
use self::translate::{Amounts, Phases, Place, Turn};
use super::common::Common;
use super::session::{Console, Session};
use super::text::key;
use super::{localtime, result_file};
use crate::options::{help, known, wants_help};

pub use self::print::{BEGIN, RANKS};

/// Runs mdtest's command line `arguments`, those after its name.
pub fn run(common: &Common, ranks: &mut dyn RankSet, arguments: &[String]) -> Exit {
    if wants_help(arguments) {
        return command::print(&help(options::SYNOPSIS, &known(options::OPTIONS)));
    }
    let asked = match options::parse(arguments) {
        Ok(asked) => asked,
        Err(failure) => return Exit::refused(failure),
    };
    asked.warnings.iter().for_each(|warning| say!("ioassay-engine: {warning}"));
    let amounts = translate::check(&asked, common.ranks).and_then(|()| Amounts::of(&asked, common));
    let amounts = match amounts.and_then(|amounts| results_may_be_replaced(&asked, common).map(|()| amounts)) {
        Ok(amounts) => amounts,
        Err(failure) => return Exit::refused(failure),
    };
    let begun =
        Place::find(&asked).and_then(|place| Ok((place, Session::begin(Tool::Mdtest, common, ranks, arguments)?)));
    let (place, session) = match begun {
        Ok(begun) => begun,
        Err(failure) => return Exit::could_not_run(failure),
    };
    let now_s = (clock::unix_ns() / 1_000_000_000) as i32;
    let mut invocation = Invocation {
        seed: if asked.seed > 0 { asked.seed } else { now_s as u32 },
        signature: if asked.signature == -1 { now_s } else { asked.signature },
        asked: &asked,
        amounts,
        place,
        overwrite: common.overwrite,
        session,
    };
    let ended = invocation.run(common.ranks, arguments);
    invocation.session.finish(ended)
}

/// What mdtest's command line `arguments` would have left of `record`, a phase that another front end has run with
/// `ranks` ranks: what it prints, and its file of every rank's times.
///
/// # Errors
/// If it is no command line of mdtest's.
pub fn phase_log(arguments: &[String], ranks: u32, record: &PhaseRecord) -> Result<(String, String), Failure> {
    let asked = options::parse(arguments)?;
    let amounts = Amounts::of(&asked, &Common { ranks, nodes: 1, run: None, overwrite: false, scale_down: 1 })?;
    let row = match record.operation {
        Operation::Create => Row::FileCreation,
        Operation::Stat => Row::FileStat,
        Operation::Read => Row::FileRead,
        _ => Row::FileRemoval,
    };
    let mut iteration = Iteration::new(ranks, amounts.directories);
    let mut summary = String::new();
    if record.complete {
        iteration.add_to(row, record);
        summary = print::stonewall(record) + &print::summary(&asked, std::slice::from_ref(&iteration));
    }
    let started_s = (record.started_unix_ns / 1_000_000_000) as i64;
    let header = print::header(&asked, ranks, arguments, started_s) + &key("Path", &asked.paths[0]);
    let text = header + &print::tasks(&asked, amounts, ranks, asked.seed) + &summary + &print::footer();
    Ok((text, print::rank_details(most_items(record), &[iteration])))
}

/// The plan of the first iteration of a command line, with all tasks, in `directory`.
#[cfg(test)]
pub fn plans(
    arguments: &[String],
    common: &Common,
    directory: &std::path::Path,
) -> Result<Vec<ioassay_protocol::plan::Plan>, Failure> {
    let asked = options::parse(arguments)?;
    translate::check(&asked, common.ranks)?;
    let amounts = Amounts::of(&asked, common)?.walled(&asked);
    let place = Place::of(asked.paths.iter().map(|path| directory.join(path)).collect());
    let turn = Turn { run: "r", tasks: common.ranks, iteration: 0, seed: 1, signature: 1 };
    Ok(vec![translate::plan(&asked, amounts, &place, turn)])
}

/// An error if a file of results would take the place of something else.
fn results_may_be_replaced(asked: &Parameters, common: &Common) -> Result<(), Failure> {
    if let Some(path) = asked.status_file.as_ref().filter(|_| Phases::of(asked).create) {
        result_file::may_replace(path, common.overwrite, result_file::is_number)?;
    }
    asked.rank_details.as_ref().map_or(Ok(()), |path| result_file::may_replace(path, common.overwrite, is_details))
}

fn is_details(begin: &str) -> bool {
    begin.starts_with(print::RANKS)
}

/// One command line on its way.
struct Invocation<'a> {
    asked: &'a Parameters,
    amounts: Amounts,
    place: Place,
    seed: u32,
    signature: i32,
    /// Files of results of any origin are replaced.
    overwrite: bool,
    session: Session<'a>,
}

impl Invocation<'_> {
    fn run(&mut self, ranks: u32, arguments: &[String]) -> Exit {
        let asked = self.asked;
        let header = print::header(asked, ranks, arguments, localtime::now_s())
            + &print::file_system(&asked.paths[0], self.place.existing());
        self.session.console.print(&header);
        let announced = self.amounts;
        self.amounts = announced.walled(asked);
        if self.amounts != announced {
            say!(
                "ioassay-engine: WARNING: -W with -n and -I: only files of the first directory are created, as in \
                 mdtest"
            );
        }
        if asked.has_unknown_signature() {
            say!(
                "ioassay-engine: WARNING: -X without -G: the files' signature is unknown; they are read but not verified"
            );
            say!("  try: -G N in both commands");
        }
        self.find_status();
        let (first, last) = translate::tasks(asked, ranks);
        for tasks in (first..=last).step_by(asked.step_tasks as usize) {
            self.session.console.print(&print::tasks(asked, announced, tasks, self.seed));
            let ended = self.run_tasks(tasks);
            if ended.code != 0 {
                return ended;
            }
        }
        self.session.console.print(&print::footer());
        Exit::default()
    }

    /// How many files an earlier command created before its stonewall. Without that it is as many as `-n` says.
    fn find_status(&mut self) {
        let Some(file) = self.asked.status_file.as_ref().filter(|_| !Phases::of(self.asked).create) else {
            return;
        };
        let items = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        match items {
            Some(items) => self.amounts = self.amounts.with_existing(items),
            None => self.session.console.print("WARNING: Could not read stonewall status file\n"),
        }
    }

    /// All iterations with `tasks` ranks, and their tables.
    fn run_tasks(&mut self, tasks: u32) -> Exit {
        let mut iterations = Vec::new();
        for number in 0..self.asked.iterations {
            match self.iterate(tasks, number) {
                Ok(iteration) => iterations.push(iteration),
                Err(ended) => return ended,
            }
        }
        self.session.console.print(&print::summary(self.asked, &iterations));
        let Some(file) = &self.asked.rank_details else { return Exit::default() };
        // A stonewall may have ended it before there were as many as was asked for.
        let items = match iterations[0].of_rank(Row::FileCreation, 0).items {
            0 => self.amounts.items(),
            created => created,
        };
        let text = print::rank_details(items, &iterations);
        result_file::write(file, self.overwrite, is_details, &text)
            .map_or_else(Exit::could_not_run, |()| Exit::default())
    }

    /// What is missing of a tree that an earlier command was to create is missing for another reason than in general.
    fn explained(&self, mut ended: Exit) -> Exit {
        let missing = |failure: &&mut Failure| failure.errno == Some(libc::ENOENT);
        if let Some(failure) = ended.failure.as_mut().filter(missing).filter(|_| !Phases::of(self.asked).create) {
            failure.remedy =
                "create the tree first (-C), with the same number of ranks and the same other options".to_owned();
        }
        ended
    }

    fn iterate(&mut self, tasks: u32, number: u32) -> Result<Iteration, Exit> {
        let run = self.session.run().to_owned();
        let turn = Turn { run: &run, tasks, iteration: number, seed: self.seed, signature: self.signature };
        let plan = translate::plan(self.asked, self.amounts, &self.place, turn);
        let mut measured = Iteration::new(tasks, self.amounts.directories);
        let mut created = None;
        let tell = |event: &Event, console: &mut Console| {
            let Event::Phase(record) = event else { return };
            measured.add(record);
            if Row::of_phase(&record.name) == Some(Row::FileCreation) {
                console.print(&print::stonewall(record));
                created = Some(most_items(record));
            }
        };
        let ended = self.session.run_case(&turn.workload(), number + 1, &plan, tell);
        if ended.code != 0 {
            return Err(self.explained(ended));
        }
        if let (Some(file), Some(items), true) = (&self.asked.status_file, created, self.asked.stonewall_s > 0) {
            result_file::write(file, self.overwrite, result_file::is_number, &items.to_string())
                .map_err(Exit::could_not_run)?;
        }
        self.session.console.print(&print::iteration(self.asked, number, &measured));
        Ok(measured)
    }
}

/// How many items the rank has that did most; after the wear-out every rank has as many.
fn most_items(record: &PhaseRecord) -> u64 {
    record.ranks.iter().map(|rank| rank.operations).max().unwrap_or(0)
}
