//! What mdtest prints, column by column: those who parse it find everything where it was.
//!
//! Not here: where the numbers come from ([`super::results`]).

use std::fmt::Write;
use std::path::Path;

use ioassay_protocol::events::PhaseRecord;

use super::options::Parameters;
use super::results::{Iteration, Summary};
use super::rows::Row;
use super::translate::{Amounts, Phases};
use crate::localtime;
use crate::text::{FileSystem, key, scientific, uname};

/// The version whose output this is, and whose program.
const VERSION: &str = concat!("4.1.0+ioassay-", env!("CARGO_PKG_VERSION"));

/// What stands before a line of more detail; there is no line of a source that could be named.
fn detail(level: u32) -> String {
    format!("V-{level}: Rank {:3} Line {:5} ", 0, 0)
}

/// How the output begins.
pub const BEGIN: &str = "-- started at ";

/// The first lines. `command` is the command line after the tool's name.
pub fn header(asked: &Parameters, ranks: u32, command: &[String], started_s: i64) -> String {
    let mut text = format!("{BEGIN}{} --\n\n", local_time(started_s));
    let _ = writeln!(text, "mdtest-{VERSION} was launched with {ranks} total task(s) on 1 node(s)");
    let words: String = command.iter().map(|word| format!(" '{word}'")).collect();
    let _ = writeln!(text, "Command line used: mdtest{words}");
    if Phases::of(asked).read && asked.read_bytes == 0 {
        text += "WARNING: Read bytes is 0, thus, a read test will actually just open/close\n";
    }
    if asked.verbosity > 0 {
        text += &parameters(asked);
    }
    if asked.verbosity > 1 {
        // IOR has it from -vv on, mdtest nowhere.
        let _ = writeln!(text, "{}{}", detail(2), uname());
    }
    let _ = writeln!(text, "Nodemap: {}", "1".repeat(ranks as usize));
    text
}

/// With `-v`, what was asked for, name by name.
fn parameters(asked: &Parameters) -> String {
    let phases = Phases::of(asked);
    let flag = |flag: bool| if flag { "True" } else { "False" }.to_owned();
    let before = [
        ("api", asked.api.clone()),
        ("barriers", flag(true)),
        ("collective_creates", flag(false)),
        ("create_only", flag(phases.create)),
    ];
    let after = [
        ("dirs_only", flag(phases.directories)),
        ("read_bytes", asked.read_bytes.to_string()),
        ("read_only", flag(phases.read)),
        ("first", asked.first_tasks.to_string()),
        ("files_only", flag(phases.files)),
        ("iterations", asked.iterations.to_string()),
        ("items_per_dir", asked.items_per_directory.to_string()),
        ("last", asked.last_tasks.to_string()),
        ("leaf_only", flag(asked.leaves_only)),
        ("items", asked.items.to_string()),
        ("nstride", asked.shift.to_string()),
        ("pre_delay", asked.delay_s.to_string()),
        ("remove_only", flag(phases.remove)),
        ("random_seed", asked.seed.to_string()),
        ("stride", asked.step_tasks.to_string()),
        ("shared_file", flag(asked.shared_items)),
        ("time_unique_dir_overhead", flag(asked.enters_directories)),
        ("stone_wall_timer_seconds", asked.stonewall_s.to_string()),
        ("stat_only", flag(phases.stat)),
        ("unique_dir_per_task", flag(asked.unique)),
        ("write_bytes", asked.write_bytes.to_string()),
        ("sync_file", flag(asked.fsync)),
        ("call_sync", flag(asked.sync)),
        ("depth", asked.depth.to_string()),
        ("make_node", u8::from(asked.mknod).to_string()),
    ];
    let detail = detail(1);
    let line = |(name, value): (&str, String)| format!("{detail}{name:<24}: {value}\n");
    let paths = asked.paths.iter().map(|path| format!("{detail}\t{path}\n"));
    let paths = format!("{detail}dirpath(s):\n") + &paths.collect::<String>();
    before.into_iter().map(line).chain([paths]).chain(after.into_iter().map(line)).collect()
}

/// Where it runs: `typed` as it was typed, `there` a directory on that file system.
pub fn file_system(typed: &str, there: &Path) -> String {
    let file_system = FileSystem::of(there).map(|file_system| file_system.line());
    let unknown = || "WARNING: Backend returned error during statfs\n".to_owned();
    key("Path", typed) + &file_system.unwrap_or_else(unknown)
}

/// What comes before the first iteration with `tasks` ranks.
pub fn tasks(asked: &Parameters, amounts: Amounts, tasks: u32, seed: u32) -> String {
    let mut text = String::new();
    if asked.shift > 0 {
        let _ = writeln!(text, "{}Shifting ranks by {} for each phase.", detail(0), asked.shift);
    }
    if asked.random || asked.seed > 0 {
        let _ = writeln!(text, "random seed: {seed}");
    }
    let phases = Phases::of(asked);
    let items = amounts.items() * u64::from(tasks);
    let _ = match (phases.directories, phases.files) {
        (true, true) => writeln!(text, "{tasks} tasks, {items} files/directories"),
        (true, false) => writeln!(text, "{tasks} tasks, {items} directories"),
        (false, _) if asked.shared_items => writeln!(text, "{tasks} tasks, 1 file"),
        (false, _) => writeln!(text, "{tasks} tasks, {items} files"),
    };
    if asked.verbosity > 0 {
        for line in [
            "",
            "   Operation               Duration              Rate",
            "   ---------               --------              ----",
        ] {
            let _ = writeln!(text, "{}{line}", detail(1));
        }
    }
    text
}

/// The line about a creation that met its stonewall; nothing about any other phase.
pub fn stonewall(record: &PhaseRecord) -> String {
    let Some(met) = record.stonewall else { return String::new() };
    let mean = met.operations as f64 / record.ranks.len() as f64;
    format!("Continue stonewall hit min: {} max: {} avg: {mean:.1} \n\n", met.least_operations, met.most_operations)
}

/// With `-v`, what rank 0 did in iteration number `number`.
pub fn iteration(asked: &Parameters, number: u32, measured: &Iteration) -> String {
    if asked.verbosity == 0 {
        return String::new();
    }
    let (phases, detail) = (Phases::of(asked), detail(1));
    let mut text = format!("{detail}main: * iteration {} *\n", number + 1);
    let mut line = |before: &str, row: Row, width: usize| {
        let of_first = measured.of_rank(row, 0);
        let (title, seconds, rate) = (row.title(), of_first.seconds, of_first.per_second());
        let _ = writeln!(text, "{detail}{before}{title:<width$}: {seconds:14.3} sec, {rate:14.3} ops/sec");
    };
    if phases.create {
        line("V-1: main:   ", Row::TreeCreation, 18);
    }
    if phases.directories {
        line("   ", Row::DirectoryCreation, 18);
        line("   ", Row::DirectoryStat, 18);
        line("   ", Row::DirectoryRename, 17);
        line("   ", Row::DirectoryRemoval, 18);
    }
    if phases.files {
        for row in [Row::FileCreation, Row::FileStat, Row::FileRead, Row::FileRemoval] {
            line("  ", row, 18);
        }
    }
    if phases.remove {
        line("main   ", Row::TreeRemoval, 18);
    }
    text
}

/// The tables at the end.
pub fn summary(asked: &Parameters, iterations: &[Iteration]) -> String {
    if asked.rates_and_times {
        table(asked, iterations, false) + &table(asked, iterations, true)
    } else {
        table(asked, iterations, asked.times)
    }
}

/// The rows of the tables.
fn rows(asked: &Parameters) -> impl Iterator<Item = Row> {
    let phases = Phases::of(asked);
    Row::ALL.into_iter().filter(move |&row| match row {
        Row::TreeCreation | Row::TreeRemoval => true,
        Row::FileCreation | Row::FileStat | Row::FileRead | Row::FileRemoval => phases.files,
        _ => phases.directories,
    })
}

fn table(asked: &Parameters, iterations: &[Iteration], times: bool) -> String {
    let mut text = String::new();
    if asked.every_rank {
        every_rank(&mut text, asked, iterations, times);
    }
    let unit = if times { "time (in ms/op)" } else { "rate (in ops/sec)" };
    let _ = writeln!(text, "\nSUMMARY {unit}: (of {} iterations)", iterations.len());
    let (of_ranks, rule) = if asked.rank_statistics {
        (
            "per Rank: Max            Min           Mean      per Iteration:",
            "         ---            ---           ----       ",
        )
    } else {
        ("               ", "")
    };
    let _ = writeln!(text, "   Operation     {of_ranks} Max            Min           Mean        Std Dev");
    let _ = writeln!(text, "   ---------      {rule}               ---            ---           ----        -------");
    for row in rows(asked).filter(|&row| row != Row::DirectoryRead) {
        let value = |measured: super::results::Measured| if times { measured.seconds } else { measured.per_second() };
        let all = Summary::of(&iterations.iter().map(|iteration| value(iteration.of_all(row))).collect::<Vec<_>>());
        // A tree is made by one rank for all; the original has its rows four columns further to the left.
        let (width, gap) = if row.is_of_tree() { (22, "") } else { (18, "    ") };
        let _ = write!(text, "   {:<width$} ", row.title());
        if asked.rank_statistics {
            let statistics = if row.is_of_tree() { all } else { of_ranks_in(row, iterations, value) };
            let _ = write!(text, "{:14.3} {:14.3} {:14.3}     ", statistics.max, statistics.min, statistics.mean);
        }
        let _ = writeln!(text, "{gap}{:14.3} {:14.3} {:14.3} {:14.3}", all.max, all.min, all.mean, all.deviation);
    }
    text
}

/// Every rank of every iteration in `row`.
fn of_ranks_in(row: Row, iterations: &[Iteration], value: impl Fn(super::results::Measured) -> f64) -> Summary {
    let ranks = iterations.iter().flat_map(|iteration| (0..iteration.ranks()).map(|rank| iteration.of_rank(row, rank)));
    Summary::of(&ranks.map(value).collect::<Vec<_>>())
}

fn every_rank(text: &mut String, asked: &Parameters, iterations: &[Iteration], times: bool) {
    let _ = writeln!(text, "\nPer process result ({}):", if times { "time" } else { "rate" });
    for (number, iteration) in iterations.iter().enumerate() {
        let _ = writeln!(text, "iteration: {number}");
        for row in rows(asked) {
            let values = (0..iteration.ranks()).map(|rank| {
                let of_rank = iteration.of_rank(row, rank);
                scientific(if times { of_rank.seconds } else { of_rank.per_second() }, 6)
            });
            let _ = writeln!(text, "Test {} {}", row.title(), values.collect::<Vec<_>>().join(","));
        }
    }
}

/// The last line.
pub fn footer() -> String {
    format!("-- finished at {} --\n\n", local_time(localtime::now_s()))
}

/// How the file of every rank's results begins.
pub const RANKS: &str = "rank,items";

/// The results of every rank as CSV: a row for all of them, then one for each iteration and rank.
pub fn rank_details(items: u64, iterations: &[Iteration]) -> String {
    let mut text = RANKS.to_owned();
    for row in Row::ALL {
        let _ = write!(text, ",rate-{0},time-{0}", row.title());
    }
    let cells = |text: &mut String, measured: super::results::Measured| {
        if measured.items == 0 {
            *text += ",,";
        } else {
            let _ = write!(text, ",{},{}", scientific(measured.per_second(), 10), scientific(measured.seconds, 10));
        }
    };
    let _ = write!(text, "\nall,{items}");
    // The row of all has the first iteration, as in the original.
    for row in Row::ALL {
        cells(&mut text, iterations[0].of_all(row));
    }
    text.push('\n');
    for iteration in iterations {
        for rank in 0..iteration.ranks() {
            let _ = write!(text, "{rank},");
            for row in Row::ALL.into_iter().filter(|row| !row.is_of_tree()) {
                cells(&mut text, iteration.of_rank(row, rank));
            }
            text.push('\n');
        }
    }
    text
}

/// A time of day here: `11/21/2026 17:03:46`.
fn local_time(unix_s: i64) -> String {
    localtime::format(unix_s, "%m/%d/%Y %H:%M:%S")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdtest::options::parse;

    fn asked(line: &str) -> Parameters {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    /// Lines of mdtest 4.1.0+dev with the numbers made zero.
    #[test]
    fn tables_have_the_originals_columns_to_the_letter() {
        let text = summary(&asked("-n 1 -F"), &[Iteration::new(2, 1)]);
        let expected = "
SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                   0.000          0.000          0.000          0.000
   File stat                       0.000          0.000          0.000          0.000
   File read                       0.000          0.000          0.000          0.000
   File removal                    0.000          0.000          0.000          0.000
   Tree creation                   0.000          0.000          0.000          0.000
   Tree removal                    0.000          0.000          0.000          0.000
";
        assert_eq!(text, expected);
        let text = summary(&asked("-n 1 -D -Z --showRankStatistics"), &[Iteration::new(2, 1)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "SUMMARY time (in ms/op): (of 1 iterations)");
        assert_eq!(
            lines[2],
            "   Operation     per Rank: Max            Min           Mean      per Iteration: Max            Min           \
             Mean        Std Dev"
        );
        assert_eq!(
            lines[3],
            "   ---------               ---            ---           ----                      ---            ---           \
             ----        -------"
        );
        assert_eq!(
            lines[4],
            "   Directory creation          0.000          0.000          0.000                  0.000          0.000          \
             0.000          0.000"
        );
        assert_eq!(lines.len(), 4 + 4 + 2);
        let both = summary(&asked("-n 1 -P"), &[Iteration::new(1, 1)]);
        assert_eq!(both.matches("SUMMARY").count(), 2);
        assert_eq!(both.matches("Directory rename").count(), 2);
        assert_eq!(both.matches("Directory read").count(), 0);
    }

    #[test]
    fn numbers_with_exponents_are_as_c_prints_them() {
        assert_eq!(scientific(11904.363, 6), "1.190436e+04");
        assert_eq!(scientific(0.000_504_970_550_54, 10), "5.0497055054e-04");
        assert_eq!(scientific(0.0, 6), "0.000000e+00");
        assert_eq!(scientific(1e123, 2), "1.00e+123");
    }

    #[test]
    fn the_csv_has_a_column_pair_for_each_row_and_a_line_for_each_rank() {
        let text = rank_details(6, &[Iteration::new(2, 1)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("rank,items,rate-Directory creation,time-Directory creation,rate-Directory stat,")
        );
        assert!(lines[0].ends_with(",rate-Tree removal,time-Tree removal"));
        assert_eq!(lines[1], format!("all,6{}", ",".repeat(22)));
        assert_eq!(lines[2..], [format!("0,{}", ",".repeat(18)), format!("1,{}", ",".repeat(18))]);
    }

    /// Names in the order of mdtest 4.1.0+dev.
    #[test]
    fn with_v_the_header_has_every_parameter_under_the_originals_name() {
        let text = header(&asked("-v -n 5 -F -d a@b -u -W 3"), 3, &[], 0);
        let lines = text.lines().filter_map(|line| line.strip_prefix("V-1: Rank   0 Line     0 "));
        let names: Vec<&str> = lines.map(|line| line.split(':').next().unwrap().trim()).collect();
        let expected = "api barriers collective_creates create_only dirpath(s) a b dirs_only read_bytes read_only first \
                        files_only iterations items_per_dir last leaf_only items nstride pre_delay remove_only \
                        random_seed stride shared_file time_unique_dir_overhead stone_wall_timer_seconds stat_only \
                        unique_dir_per_task write_bytes sync_file call_sync depth make_node";
        assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
        assert!(text.contains("stone_wall_timer_seconds: 3\n") && text.contains("items                   : 5\n"));
        assert!(!header(&asked("-n 5"), 3, &[], 0).contains("V-1"));
        assert!(!text.contains("V-2"));
        let kernel = nix::sys::utsname::uname().unwrap().release().to_string_lossy().into_owned();
        let twice = header(&asked("-vv -n 5"), 3, &[], 0);
        assert!(twice.lines().any(|line| line.starts_with("V-2: ") && line.contains(&kernel)), "{twice}");
    }

    #[test]
    fn the_header_says_what_a_parser_looks_for() {
        let command = ["-n".to_owned(), "5".to_owned()];
        let text = header(&asked("-n 5"), 3, &command, 0);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("-- started at ") && lines[0].ends_with(" --") && lines[0].len() == 36);
        assert_eq!(lines[2], format!("mdtest-{VERSION} was launched with 3 total task(s) on 1 node(s)"));
        assert_eq!(lines[3], "Command line used: mdtest '-n' '5'");
        assert_eq!(lines[5], "Nodemap: 111");
        let there = file_system("./out", Path::new("/"));
        assert!(there.starts_with("Path                : ./out\nFS                  : "), "{there}");
    }
}
