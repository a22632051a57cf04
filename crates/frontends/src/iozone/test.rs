//! IOzone's tests: what each is called here, the numbers that ask for them, and their order in the two modes.
//!
//! Not here: what a test does ([`super::jobs`]), and what is printed of it.

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::{Order, Transfer};

use super::options::{Options, whole};
use crate::common::usage;

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// `-i 0`, the first time.
    InitialWrite,
    /// `-i 0`, the second time.
    Rewrite,
    /// `-i 1`, the first time.
    Read,
    /// `-i 1`, the second time.
    Reread,
    /// `-i 2`, its reads.
    RandomRead,
    /// `-i 2`, its writes.
    RandomWrite,
    /// `-i 3`.
    ReverseRead,
    /// `-i 4`.
    RecordRewrite,
    /// `-i 5`.
    StrideRead,
    /// `-i 6`, the first time.
    Fwrite,
    /// `-i 6`, the second time.
    Refwrite,
    /// `-i 7`, the first time.
    Fread,
    /// `-i 7`, the second time.
    Refread,
    /// `-i 8`.
    Mixed,
    /// `-i 9`, the first time.
    Pwrite,
    /// `-i 9`, the second time.
    Repwrite,
    /// `-i 10`, the first time.
    Pread,
    /// `-i 10`, the second time.
    Repread,
}

/// The tests of the throughput mode (`-t`) in IOzone's order.
pub const OF_CHILDREN: &[Test] = &[
    Test::InitialWrite,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::ReverseRead,
    Test::StrideRead,
    Test::RandomRead,
    Test::Mixed,
    Test::RandomWrite,
    Test::Pwrite,
    Test::Pread,
    Test::Fwrite,
    Test::Fread,
];

/// The tests of a row of the table, which are its columns, in IOzone's order.
const OF_ROW: &[Test] = &[
    Test::InitialWrite,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::RandomRead,
    Test::RandomWrite,
    Test::ReverseRead,
    Test::RecordRewrite,
    Test::StrideRead,
    Test::Fwrite,
    Test::Refwrite,
    Test::Fread,
    Test::Refread,
    Test::Pwrite,
    Test::Repwrite,
    Test::Pread,
    Test::Repread,
];

/// The largest number that `-i` takes.
const LARGEST_NUMBER: u64 = 64;

/// `-i` with this number is `pwritev`, which IOzone's builds for Linux know and do not run.
const PWRITEV: u64 = 11;

impl Test {
    /// The number after `-i`.
    pub fn number(self) -> u64 {
        match self {
            Self::InitialWrite | Self::Rewrite => 0,
            Self::Read | Self::Reread => 1,
            Self::RandomRead | Self::RandomWrite => 2,
            Self::ReverseRead => 3,
            Self::RecordRewrite => 4,
            Self::StrideRead => 5,
            Self::Fwrite | Self::Refwrite => 6,
            Self::Fread | Self::Refread => 7,
            Self::Mixed => 8,
            Self::Pwrite | Self::Repwrite => 9,
            Self::Pread | Self::Repread => 10,
        }
    }

    /// The name of its phase.
    pub fn phase(self) -> &'static str {
        match self {
            Self::InitialWrite => "write",
            Self::Rewrite => "rewrite",
            Self::Read => "read",
            Self::Reread => "reread",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
            Self::ReverseRead => "reverse-read",
            Self::RecordRewrite => "record-rewrite",
            Self::StrideRead => "stride-read",
            Self::Fwrite => "fwrite",
            Self::Refwrite => "refwrite",
            Self::Fread => "fread",
            Self::Refread => "refread",
            Self::Mixed => "mixed",
            Self::Pwrite => "pwrite",
            Self::Repwrite => "repwrite",
            Self::Pread => "pread",
            Self::Repread => "repread",
        }
    }

    /// The test of the phase `name`.
    pub fn of_phase(name: &str) -> Option<Self> {
        OF_CHILDREN.iter().chain(OF_ROW).copied().find(|test| test.phase() == name)
    }

    /// True for what `-+n` leaves out.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Rewrite | Self::Reread | Self::Refwrite | Self::Refread | Self::Repwrite | Self::Repread)
    }

    /// True if it changes files.
    pub fn writes(self) -> bool {
        self == Self::Mixed || self.access().0.writes()
    }

    /// True for what IOzone does through the C library's streams, which know neither `-I` nor `-o` nor `-B` nor `-H`.
    pub fn is_of_streams(self) -> bool {
        matches!(self, Self::Fwrite | Self::Refwrite | Self::Fread | Self::Refread)
    }

    /// What each operation does and in which order; of a stride read, with the stride 1; of a mix, what is read.
    pub fn access(self) -> (Transfer, Order) {
        match self {
            Self::InitialWrite
            | Self::Rewrite
            | Self::RecordRewrite
            | Self::Fwrite
            | Self::Refwrite
            | Self::Pwrite
            | Self::Repwrite => (Transfer::Write, Order::Sequential),
            Self::Read | Self::Reread | Self::Fread | Self::Refread | Self::Pread | Self::Repread => {
                (Transfer::Read, Order::Sequential)
            }
            Self::ReverseRead => (Transfer::Read, Order::Backward),
            Self::StrideRead => (Transfer::Read, Order::Strided(1)),
            Self::RandomRead | Self::Mixed => (Transfer::Read, Order::Random),
            Self::RandomWrite => (Transfer::Write, Order::Random),
        }
    }
}

/// What `-i` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSelection {
    /// The tests to run, in IOzone's order.
    pub tests: Vec<Test>,
    /// The numbers of the tests that were asked for, whether all of them are run or some left out (`-+n`).
    pub numbers: Vec<u64>,
    /// What is to be said about numbers that stand for something else than one would think.
    pub warnings: Vec<String>,
}

impl TestSelection {
    /// The tests of the throughput mode, or of a row.
    ///
    /// # Errors
    /// If a number is none, or if files that are others' would be written.
    pub fn read(given: &Options, throughput: bool) -> Result<Self, Failure> {
        let known = if throughput { OF_CHILDREN } else { OF_ROW };
        let has_place = |test: &Test| throughput || columns(given).contains(test);
        let mut warnings = Vec::new();
        let mut numbers = Vec::new();
        for text in given.values("-i") {
            match whole("-i", text, 0..=LARGEST_NUMBER)? {
                PWRITEV => warnings.push("-i 11 runs nothing: IOzone's builds for Linux have no pwritev".to_owned()),
                number if number > PWRITEV => {
                    let instead = "IOzone's builds for Linux have no such test and run -i 0 instead";
                    warnings.push(format!("-i {number} is -i 0: {instead}"));
                    numbers.push(0);
                }
                number => numbers.push(number),
            }
        }
        if given.has("-A") {
            numbers.extend([0, 1]);
        } else if given.values("-i").is_empty() {
            numbers = known.iter().filter(|test| has_place(test)).map(|test| test.number()).collect();
        }
        numbers.sort_unstable();
        numbers.dedup();
        if given.has("-+E") {
            others_files(given, &numbers)?;
        }
        // The files of -+E are others': IOzone leaves the second half of -i 2 out, too.
        let left_out =
            |test: &Test| (given.has("-+n") && test.repeats()) || (given.has("-+E") && *test == Test::RandomWrite);
        let wanted = |test: &&Test| has_place(test) && numbers.contains(&test.number()) && !left_out(test);
        let tests = known.iter().filter(wanted).copied().collect();
        Ok(Self { tests, numbers, warnings })
    }
}

/// The tests that are columns of the table, run or not.
pub fn columns(given: &Options) -> Vec<Test> {
    let has = |names: &[&str]| names.iter().any(|name| given.has(name));
    // Streams know neither mappings nor transfers in flight; pwrite and pread are columns of -E.
    let last = match () {
        () if has(&["-A"]) => Test::Reread,
        () if has(&["-B", "-D", "-H", "-k"]) => Test::StrideRead,
        () if has(&["-E"]) => Test::Repread,
        () => Test::Refread,
    };
    OF_ROW.iter().copied().filter(|test| test.number() <= last.number()).collect()
}

/// An error if a test would write files that IOzone did not write (`-+E`).
fn others_files(given: &Options, numbers: &[u64]) -> Result<(), Failure> {
    let named = given.has("-F") || given.has("-f");
    if given.values("-i").is_empty() || !named || [0, 4, 6, 8, 9].iter().any(|writer| numbers.contains(writer)) {
        let remedy = "name the file (-f FILE, or -F FILE... with -t) and tests that only read: -i 1";
        return Err(usage("-+E reads files that others wrote", remedy));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str, throughput: bool) -> TestSelection {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        TestSelection::read(&Options::read(&words).unwrap(), throughput).unwrap()
    }

    fn names(line: &str, throughput: bool) -> Vec<&'static str> {
        asked(line, throughput).tests.into_iter().map(Test::phase).collect()
    }

    #[test]
    fn tests_come_in_iozone_s_order_whatever_the_order_of_i() {
        assert_eq!(
            names("-t 2 -i 2 -i 1 -i 0", true),
            ["write", "rewrite", "read", "reread", "random-read", "random-write"]
        );
        assert_eq!(
            names("-t 2 -+n -i 10 -i 9 -i 8 -i 7 -i 6 -i 5 -i 3 -i 0", true),
            ["write", "reverse-read", "stride-read", "mixed", "pwrite", "pread", "fwrite", "fread"]
        );
        assert_eq!(
            names("-i 7 -i 4 -i 6 -i 0 -+n", false),
            ["write", "record-rewrite", "fwrite", "fread"],
            "single mode"
        );
    }

    #[test]
    fn without_i_all_tests_of_the_mode_run() {
        assert_eq!(names("-t 2", true).len(), 13);
        assert_eq!(names("-a", false).len(), 13);
        assert_eq!(names("-a -E", false).len(), 17);
        assert_eq!(names("-i 9 -i 10", false), [""; 0], "columns of -E");
        assert_eq!(names("-A", false), ["write", "rewrite", "read", "reread"]);
        assert_eq!(names("-a -B", false).last(), Some(&"stride-read"), "streams are not mapped");
    }

    #[test]
    fn numbers_beyond_those_of_linux_mean_what_iozone_makes_of_them() {
        let eleven = asked("-t 4 -i 11 -i 12", true);
        assert_eq!(eleven.tests, [Test::InitialWrite, Test::Rewrite]);
        assert_eq!(eleven.warnings.len(), 2, "{eleven:?}");
        assert!(eleven.warnings[1].contains("-i 12 is -i 0"), "{eleven:?}");
    }
}
