//! The phases of the IO500 in their order, and what they count for (IO500/io500 at 02091cf, `src/phase-definitions.h`).

/// The phase of random reads, the only one that does not move whole transfers.
pub const RANDOM: &str = "ior-rnd4K-easy-read";

/// Bytes of a random read.
pub const RANDOM_BYTES: u64 = 4096;

/// A phase of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Its name, which is the plan's too.
    pub name: &'static str,
    /// What it counts for.
    pub group: Group,
    /// Only the extended mode has it, and it counts for that mode's score alone.
    pub extended: bool,
    /// It writes until the stonewall, and may not be shorter than that.
    pub walled: bool,
}

/// What a phase counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// For the mean of bandwidths, in GiB/s.
    Bandwidth,
    /// For the mean of rates, in thousands of operations per second.
    Metadata,
    /// For nothing.
    Unscored,
}

const fn standard(name: &'static str, group: Group) -> Phase {
    Phase { name, group, extended: false, walled: false }
}

const fn walled(name: &'static str, group: Group) -> Phase {
    Phase { walled: true, ..standard(name, group) }
}

const fn extended(name: &'static str, group: Group) -> Phase {
    Phase { extended: true, ..standard(name, group) }
}

/// The moment from which on `find` counts changes; no I/O.
pub const TIMESTAMP: &str = "timestamp";

/// All phases, in the order in which they run.
pub const PHASES: &[Phase] = &[
    walled("ior-easy-write", Group::Bandwidth),
    walled("mdtest-easy-write", Group::Metadata),
    extended("mdworkbench-create", Group::Unscored),
    standard(TIMESTAMP, Group::Unscored),
    extended("find-easy", Group::Metadata),
    walled("ior-hard-write", Group::Bandwidth),
    walled("mdtest-hard-write", Group::Metadata),
    standard("find", Group::Metadata),
    extended("find-hard", Group::Metadata),
    extended("mdworkbench-bench", Group::Metadata),
    standard("ior-easy-read", Group::Bandwidth),
    standard("mdtest-easy-stat", Group::Metadata),
    standard("ior-hard-read", Group::Bandwidth),
    standard("mdtest-hard-stat", Group::Metadata),
    extended("mdworkbench-delete", Group::Unscored),
    standard("mdtest-easy-delete", Group::Metadata),
    standard("mdtest-hard-read", Group::Metadata),
    standard("mdtest-hard-delete", Group::Metadata),
    standard("ior-rnd4K-easy-read", Group::Unscored),
];

impl Phase {
    /// The sections whose `run` decides on it: that of its kind, and its own. Of `mdworkbench-*` the official program
    /// asks the first alone.
    pub fn sections(&self) -> &'static [&'static str] {
        match self.name {
            "ior-easy-write" => &["ior-easy", "ior-easy-write"],
            "ior-easy-read" => &["ior-easy", "ior-easy-read"],
            "ior-rnd4K-easy-read" => &["ior-easy", "ior-rnd4K-easy-read"],
            "ior-hard-write" => &["ior-hard", "ior-hard-write"],
            "ior-hard-read" => &["ior-hard", "ior-hard-read"],
            "mdtest-easy-write" => &["mdtest-easy", "mdtest-easy-write"],
            "mdtest-easy-stat" => &["mdtest-easy", "mdtest-easy-stat"],
            "mdtest-easy-delete" => &["mdtest-easy", "mdtest-easy-delete"],
            "mdtest-hard-write" => &["mdtest-hard", "mdtest-hard-write"],
            "mdtest-hard-stat" => &["mdtest-hard", "mdtest-hard-stat"],
            "mdtest-hard-read" => &["mdtest-hard", "mdtest-hard-read"],
            "mdtest-hard-delete" => &["mdtest-hard", "mdtest-hard-delete"],
            "find" => &["find"],
            "find-easy" => &["find-easy"],
            "find-hard" => &["find-hard"],
            "mdworkbench-create" | "mdworkbench-bench" | "mdworkbench-delete" => &["mdworkbench"],
            _ => &[],
        }
    }

    /// The phase whose files it works on.
    pub fn needs(&self) -> Option<&'static str> {
        match self.name {
            "ior-easy-read" | "ior-rnd4K-easy-read" => Some("ior-easy-write"),
            "ior-hard-read" => Some("ior-hard-write"),
            "mdtest-easy-stat" | "mdtest-easy-delete" | "find-easy" => Some("mdtest-easy-write"),
            "mdtest-hard-stat" | "mdtest-hard-read" | "mdtest-hard-delete" | "find" | "find-hard" => {
                Some("mdtest-hard-write")
            }
            _ => None,
        }
    }

    /// The unit of its score.
    pub fn unit(&self) -> &'static str {
        // The official program goes by the first letter too: `ior-rnd4K-easy-read` has no group.
        if self.name.starts_with('i') { "GiB/s" } else { "kIOPS" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io500::options::{List, section_of};

    #[test]
    fn every_phase_has_sections_that_the_ini_file_knows() {
        for phase in PHASES {
            assert!(section_of(phase.name).is_some(), "{}", phase.name);
            for section in phase.sections() {
                let section = section_of(section).unwrap();
                assert!(section.key("run").is_some(), "{}", section.name);
                assert_ne!(section.list, List::Retired);
            }
            assert!(phase.needs().is_none_or(|needed| PHASES.iter().any(|phase| phase.name == needed)));
        }
    }

    #[test]
    fn twelve_phases_count_in_the_standard_list() {
        let scored = |group| PHASES.iter().filter(|phase| !phase.extended && phase.group == group).count();
        assert_eq!((scored(Group::Bandwidth), scored(Group::Metadata)), (4, 8));
    }
}
