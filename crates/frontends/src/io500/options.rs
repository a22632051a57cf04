//! The sections and keys of the IO500's .ini file, said once: what is accepted, what `--list` prints, and the tables in
//! the docs come from these. Names, defaults and order are those of IO500/io500 at 02091cf
//! (`src/phase_*.c`); sections that older versions had stand among them.

use crate::options::Verdict;

/// What the value of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number.
    Number,
    /// A decimal number.
    Decimal,
    /// TRUE or FALSE.
    Flag,
    /// A storage API with its options.
    Api,
}

/// A key of the .ini file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name; upper and lower case are the same.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Its value where none is given.
    pub default: Option<&'static str>,
    /// What it means.
    pub meaning: &'static str,
    /// How ours compares with the official one. Of a refused key the default is accepted, and no other value in a
    /// section that is run; of an ignored one all others come with a warning.
    pub verdict: Verdict,
}

/// A section of the .ini file.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name; upper and lower case are the same.
    pub name: &'static str,
    /// Its keys, in the official order.
    pub keys: &'static [Key],
    /// Keys that it had in older versions: they are read, and not listed.
    pub old: &'static [Key],
    /// In which list of phases it is.
    pub list: List,
}

/// In which list of phases a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// In the standard and the extended one.
    Standard,
    /// In the extended one.
    Extended,
    /// In that of an older version: it is read, and nothing is done.
    Retired,
}

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>, meaning: &'static str) -> Key {
    Key { name, kind, default, meaning, verdict: Verdict::Same }
}

impl Key {
    const fn refused(self, because: &'static str) -> Self {
        Self { verdict: Verdict::Refused(because), ..self }
    }

    const fn better(self, because: &'static str) -> Self {
        Self { verdict: Verdict::Better(because), ..self }
    }

    const fn ignored(self, because: &'static str) -> Self {
        Self { verdict: Verdict::Ignored(because), ..self }
    }
}

const API: Key = key("API", Kind::Api, None, "storage API; overrides that of the parent section or of [global]");
const RUN: Key = key("run", Kind::Flag, Some("TRUE"), "do it");
const VERBOSITY: Key =
    key("verbosity", Kind::Number, None, "verbosity of IOR (no effect: the run directory has all results)");
const COLLECTIVE: Key =
    key("collective", Kind::Flag, None, "use collective MPI-IO; other APIs ignore it with a warning");

const GLOBAL: &[Key] = &[
    key("datadir", Kind::Text, Some("./datafiles"), "directory on the file system to be measured"),
    key("timestamp-datadir", Kind::Flag, Some("TRUE"), "create a subdirectory for each run in datadir")
        .better("the engine always creates one, marks it and removes it"),
    key("resultdir", Kind::Text, Some("./results"), "directory for the results"),
    key("timestamp-resultdir", Kind::Flag, Some("TRUE"), "create a subdirectory named after the time in resultdir"),
    key(
        "api",
        Kind::Api,
        Some("POSIX"),
        "storage API with IOR's options: POSIX, AIO, MMAP; --posix.odirect, --aio.max-pending, --aio.granularity",
    ),
    key("drop-caches", Kind::Flag, Some("FALSE"), "drop the node's caches before each phase"),
    key(
        "drop-caches-cmd",
        Kind::Text,
        Some("sudo -n bash -c \"echo 3 > /proc/sys/vm/drop_caches\""),
        "command that drops caches",
    )
    .better(
        "the engine itself drops them (as root) instead of running a command that writes to /proc/sys/vm/drop_caches; \
         with drop-caches = TRUE any other command is refused",
    ),
    key("io-buffers-on-gpu", Kind::Flag, Some("FALSE"), "allocate buffers in GPU memory")
        .refused("GPUs are not supported; use FALSE"),
    key("verbosity", Kind::Number, Some("1"), "0: no timestamps in result.txt; 2 and more: also transfers and seconds"),
    key(
        "scc",
        Kind::Flag,
        Some("FALSE"),
        "use the rules of the Student Cluster Competition: 30 seconds instead of 300",
    ),
    key(
        "dataPacketType",
        Kind::Text,
        Some("timestamp"),
        "content of the data: timestamp, offset, incompressible, random",
    ),
];

const DEBUG: &[Key] = &[
    key(
        "stonewall-time",
        Kind::Number,
        Some("300"),
        "stonewall of writes in seconds; other values than the rules' make the run invalid",
    ),
    key("pause-dir", Kind::Text, None, "wait while this directory contains a file named after the phase (invalid)")
        .refused("pauses between phases are not supported; leave it empty"),
];

const IOR_EASY: &[Key] = &[
    API,
    key("transferSize", Kind::Text, Some("2m"), "bytes of each call"),
    key("blockSize", Kind::Text, Some("9920000m"), "maximum bytes of each rank, a multiple of transferSize"),
    key("filePerProc", Kind::Flag, Some("TRUE"), "use one file per rank"),
    key("uniqueDir", Kind::Flag, Some("FALSE"), "put each file in its own directory").ignored(
        "the engine creates all files in one directory, which affects the time to open them but not to write them",
    ),
    RUN,
    VERBOSITY,
];

const IOR_HARD: &[Key] = &[
    API,
    key("segmentCount", Kind::Number, Some("10000000"), "maximum transfers of each rank"),
    COLLECTIVE,
    RUN,
    VERBOSITY,
];

const MDTEST_EASY: &[Key] = &[API, key("n", Kind::Number, Some("1000000"), "maximum files of each rank"), RUN];

const MDTEST_HARD: &[Key] = &[
    API,
    key("n", Kind::Number, Some("1000000"), "maximum files of each rank"),
    key("files-per-dir", Kind::Number, None, "maximum files in a directory (invalid)")
        .refused("all files are in one directory, as the rules require; leave it empty"),
    RUN,
];

const FIND: &[Key] = &[
    key("external-script", Kind::Text, None, "external program for the find phase")
        .ignored("the engine walks its directories itself and reports its own row; --official PATH times the program"),
    key("external-mpi-args", Kind::Text, Some(""), "launcher of that program").ignored(NO_PROGRAM),
    key("external-extra-args", Kind::Text, Some(""), "additional arguments of that program").ignored(NO_PROGRAM),
    key("nproc", Kind::Number, None, "number of ranks that walk (default: all)"),
    RUN,
    key("pfind-queue-length", Kind::Number, Some("10000"), "entries that pfind visits before it shares work")
        .better("the engine shares directories as soon as another rank is idle, whatever the value"),
    key("pfind-steal-next", Kind::Flag, Some("FALSE"), "pfind steals work from its neighbour")
        .ignored("ranks share one list of directories, with the same result"),
    key(
        "pfind-parallelize-single-dir-access-using-hashing",
        Kind::Flag,
        Some("FALSE"),
        "pfind reads a single directory in parallel",
    )
    .ignored(ONE_LISTS),
];

const NO_PROGRAM: &str = "no external program is run";
const ONE_LISTS: &str = "one rank lists each directory, with the same result";

/// What a walk had in 2020.
const OLD_FIND: &[Key] = &[
    NO_RUN,
    key("external-args", Kind::Text, None, "arguments of the external program").ignored(NO_PROGRAM),
    key(
        "pfind-parallelize-single-dir-access-sequentially",
        Kind::Flag,
        Some("FALSE"),
        "pfind distributes a single directory by hashing",
    )
    .ignored(ONE_LISTS),
];

const NO_RUN: Key = key("noRun", Kind::Flag, None, "TRUE means run = FALSE");
const DIRECT: Key = key("posix.odirect", Kind::Flag, None, "TRUE: --posix.odirect after the API");
const HINTS: Key = key("hintsFileName", Kind::Text, None, "MPI-IO hints")
    .refused("hints are now options of the API; write API = MPIIO --mpiio.hintsFileName=FILE");

/// What IOR's sections had in 2020.
const OLD_IOR: &[Key] = &[DIRECT, HINTS, NO_RUN];

/// What mdtest's had.
const OLD_MDTEST: &[Key] = &[DIRECT, NO_RUN];

const MDWORKBENCH: &[Key] = &[
    API,
    key("waitingTime", Kind::Decimal, Some("0.0"), "waiting time relative to the run time")
        .refused("pauses between operations are not supported; use 0.0"),
    key(
        "precreatePerSet",
        Kind::Number,
        None,
        "files to create in each of a rank's 10 sets (default: those of a minute at the rate of mdtest-easy-write)",
    ),
    key("filesPerProc", Kind::Number, None, "files per iteration and set; must equal precreatePerSet")
        .better("any other number is refused, because each file is replaced exactly once"),
    RUN,
    VERBOSITY,
];

/// What the random phases of older versions had.
const OLD_RANDOM: &[Key] = &[
    API,
    key("blockSize", Kind::Number, Some("1073741824"), "bytes of each random block"),
    RUN,
    VERBOSITY,
    key("randomPrefill", Kind::Number, Some("0"), "bytes of the blocks with which files are written beforehand"),
];

const PART: &[Key] = &[API, RUN];
const COLLECTIVE_PART: &[Key] = &[API, COLLECTIVE, RUN];

const fn section(name: &'static str, keys: &'static [Key], list: List) -> Section {
    Section { name, keys, old: &[], list }
}

impl Section {
    const fn once_with(self, old: &'static [Key]) -> Self {
        Self { old, ..self }
    }
}

/// The sections, in the official order.
pub const SECTIONS: &[Section] = &[
    section("global", GLOBAL, List::Standard),
    section("debug", DEBUG, List::Standard),
    section("ior-easy", IOR_EASY, List::Standard).once_with(OLD_IOR),
    section("ior-easy-write", PART, List::Standard).once_with(OLD_IOR),
    section("ior-rnd4K", OLD_RANDOM, List::Retired),
    section("ior-rnd4K-write", PART, List::Retired),
    section("ior-rnd", OLD_RANDOM, List::Retired),
    section("ior-rnd-write", PART, List::Retired),
    section("mdtest-easy", MDTEST_EASY, List::Standard).once_with(OLD_MDTEST),
    section("mdtest-easy-write", PART, List::Standard).once_with(OLD_MDTEST),
    section("ior-rnd1MB", OLD_RANDOM, List::Retired),
    section("ior-rnd1MB-write", PART, List::Retired),
    section("mdworkbench", MDWORKBENCH, List::Extended),
    section("mdworkbench-create", &[RUN], List::Extended),
    section("timestamp", &[], List::Standard),
    section("find-easy", FIND, List::Extended).once_with(OLD_FIND),
    section("ior-hard", IOR_HARD, List::Standard).once_with(OLD_IOR),
    section("ior-hard-write", COLLECTIVE_PART, List::Standard).once_with(OLD_IOR),
    section("mdtest-hard", MDTEST_HARD, List::Standard).once_with(OLD_MDTEST),
    section("mdtest-hard-write", PART, List::Standard).once_with(OLD_MDTEST),
    section("find", FIND, List::Standard).once_with(OLD_FIND),
    section("ior-rnd4K-read", PART, List::Retired),
    section("ior-rnd1MB-read", PART, List::Retired),
    section("ior-rnd-read", PART, List::Retired),
    section("find-hard", FIND, List::Extended).once_with(OLD_FIND),
    section("mdworkbench-bench", &[RUN], List::Extended),
    section("ior-easy-read", PART, List::Standard).once_with(OLD_IOR),
    section("mdtest-easy-stat", PART, List::Standard).once_with(OLD_MDTEST),
    section("ior-hard-read", COLLECTIVE_PART, List::Standard).once_with(OLD_IOR),
    section("mdtest-hard-stat", PART, List::Standard).once_with(OLD_MDTEST),
    section("mdworkbench-delete", &[RUN], List::Extended),
    section("mdtest-easy-delete", PART, List::Standard).once_with(OLD_MDTEST),
    section("mdtest-hard-read", PART, List::Standard).once_with(OLD_MDTEST),
    section("mdtest-hard-delete", PART, List::Standard).once_with(OLD_MDTEST),
    section("ior-rnd4K-easy-read", PART, List::Standard),
];

/// The section that is called so.
pub fn section_of(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name.eq_ignore_ascii_case(name))
}

impl Section {
    /// The key that is called so.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().chain(self.old).find(|key| key.name.eq_ignore_ascii_case(name))
    }
}

/// An .ini file with all sections and keys at their defaults; `extended` with those of the extended mode.
pub fn list(extended: bool) -> String {
    let mut text = String::new();
    for section in SECTIONS.iter().filter(|section| match section.list {
        List::Standard => true,
        List::Extended => extended,
        List::Retired => false,
    }) {
        text += &format!("[{}]\n", section.name);
        for key in section.keys {
            let note = match key.verdict {
                Verdict::Same => String::new(),
                Verdict::Better(because) => format!(" [better: {because}]"),
                Verdict::Ignored(because) => format!(" [ignored: {because}]"),
                Verdict::Refused(because) => format!(" [other values are refused: {because}]"),
            };
            text += &format!("# {}{note}\n{} = {}\n", key.meaning, key.name, key.default.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// The table of all keys, in Markdown.
pub fn key_table() -> String {
    let mut text = "| section | key | default | meaning | ours |\n| -- | -- | -- | -- | -- |\n".to_owned();
    for section in SECTIONS.iter().filter(|section| section.list != List::Retired) {
        for key in section.keys {
            let default = key.default.filter(|default| !default.is_empty()).map(|default| format!("`{default}`"));
            let default = default.unwrap_or_default();
            let ours = compared(key);
            text += &format!("| `{}` | `{}` | {default} | {} | {ours} |\n", section.name, key.name, key.meaning);
        }
    }
    text += "\nKeys of older versions:\n\n| sections | key | meaning | ours |\n| -- | -- | -- | -- |\n";
    for old in [OLD_IOR, OLD_MDTEST, OLD_FIND] {
        let sections: Vec<String> =
            SECTIONS.iter().filter(|section| section.old == old).map(|section| format!("`{}`", section.name)).collect();
        for key in old {
            text += &format!("| {} | `{}` | {} | {} |\n", sections.join(", "), key.name, key.meaning, compared(key));
        }
    }
    let retired = SECTIONS.iter().filter(|section| section.list == List::Retired);
    let retired: Vec<String> = retired.map(|section| format!("`{}`", section.name)).collect();
    text + &format!("\nSections of older versions are accepted without effect: {}.\n", retired.join(", "))
}

fn compared(key: &Key) -> String {
    match key.verdict {
        Verdict::Same => "same".to_owned(),
        Verdict::Better(because) => format!("better: {because}"),
        Verdict::Ignored(because) => format!("other values are ignored with a warning: {because}"),
        Verdict::Refused(because) => format!("other values are refused: {because}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_section_and_key_is_there_once() {
        let names: HashSet<_> = SECTIONS.iter().map(|section| section.name.to_lowercase()).collect();
        assert_eq!(names.len(), SECTIONS.len());
        for section in SECTIONS {
            let all = || section.keys.iter().chain(section.old);
            let keys: HashSet<_> = all().map(|key| key.name.to_lowercase()).collect();
            assert_eq!(keys.len(), all().count(), "{}", section.name);
        }
    }

    #[test]
    fn the_mandatory_list_lacks_the_extended_phases_and_both_lack_retired_ones() {
        assert!(list(true).contains("[find-easy]") && list(true).contains("[mdworkbench]"));
        assert!(!list(false).contains("find-easy") && !list(false).contains("mdworkbench"));
        assert!(!list(true).contains("rnd1MB"));
    }
}
