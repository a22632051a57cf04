//! What an .ini file asks for, resolved: amounts, rules, and which phases run.

use std::path::PathBuf;

use ioassay_contract::events::Failure;

use super::api::Api;
use super::config::Config;
use super::options::section_of;
use super::phases::{PHASES, Phase, TIMESTAMP};
use super::translate::RANDOM_BYTES;
use crate::frontends::common::{Common, usage};
use crate::frontends::packet::Packet;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[global] datadir`
    pub data: PathBuf,
    /// `[global] resultdir`
    pub results: PathBuf,
    /// A directory named by the time in it.
    pub results_by_time: bool,
    /// The extended list of phases.
    pub extended: bool,
    /// `[global] drop-caches`
    pub drop_caches: bool,
    /// How much result.txt says.
    pub verbosity: u64,
    /// What is written.
    pub packet: Packet,
    /// `[global] api`
    pub api: Api,
    /// The shortest write phase that the rules allow, in seconds.
    pub minimum_s: u64,
    /// `[debug] stonewall-time`, in seconds.
    pub stonewall_s: u64,
    /// The same as it is run: scaled down.
    pub stonewall_ns: u64,
    /// `[ior-easy] transferSize`
    pub easy_transfer_bytes: u64,
    /// `[ior-easy] blockSize`
    pub easy_block_bytes: u64,
    /// `[ior-easy] filePerProc`
    pub easy_file_per_rank: bool,
    /// `[ior-hard] segmentCount`
    pub hard_segments: u64,
    /// `[mdtest-easy] n`
    pub easy_items: u64,
    /// `[mdtest-hard] n`
    pub hard_items: u64,
    /// `[mdworkbench] precreatePerSet` and `filesPerProc`; `None` where the rate of `mdtest-easy-write` tells.
    pub set_files: Option<u64>,
    /// By how much amounts were divided.
    pub scale_down: u64,
    /// Local ranks.
    pub ranks: u32,
    /// The phases of the list that run, and those that were switched off.
    runs: Vec<(&'static str, bool)>,
    /// Ranks that walk, by phase.
    walkers: Vec<(&'static str, u32)>,
    /// The API of a phase's own sections, by phase.
    apis: Vec<(&'static str, Api)>,
}

impl Settings {
    /// What `config` asks for; `verbosity` and `extended` come from the command line.
    ///
    /// # Errors
    /// If values contradict each other, or ask for what is not done here.
    pub fn of(config: &Config, common: &Common, extended: bool, verbosity: Option<u64>) -> Result<Self, Failure> {
        let scc = config.flag("global", "scc");
        let minimum_s = if scc { 30 } else { 300 };
        let stonewall_s = config.number("debug", "stonewall-time")?.unwrap_or(minimum_s);
        if stonewall_s == 0 {
            let problem = "= 0 would write until the storage is full";
            return Err(config.refuse("debug", "stonewall-time", problem, "write 1 or more"));
        }
        let count = |section, key| {
            let count = config.number(section, key)?.unwrap_or(0);
            let zero = || config.refuse(section, key, "= 0 does nothing", "write 1 or more, or run = FALSE");
            if count == 0 { Err(zero()) } else { Ok(count) }
        };
        let easy_transfer_bytes = config.size("ior-easy", "transferSize")?;
        let easy_block_bytes = config.size("ior-easy", "blockSize")?;
        if easy_transfer_bytes == 0 || easy_block_bytes == 0 || !easy_block_bytes.is_multiple_of(easy_transfer_bytes) {
            let problem = "is no multiple of transferSize";
            return Err(config.refuse(
                "ior-easy",
                "blockSize",
                problem,
                "take a multiple, which the official rules want",
            ));
        }
        let settings = Self {
            data: config.text("global", "datadir").unwrap_or_default().into(),
            results: config.text("global", "resultdir").unwrap_or_default().into(),
            results_by_time: config.flag("global", "timestamp-resultdir"),
            extended,
            drop_caches: config.flag("global", "drop-caches"),
            verbosity: verbosity
                .map_or_else(|| config.number("global", "verbosity"), |level| Ok(Some(level)))?
                .unwrap_or(1),
            packet: packet(config)?,
            api: Api::parse(config.text("global", "api").unwrap_or_default())?,
            minimum_s,
            stonewall_s,
            stonewall_ns: (stonewall_s.saturating_mul(1_000_000_000) / common.scale_down).max(1),
            easy_transfer_bytes,
            easy_block_bytes: common.scaled(easy_block_bytes, easy_transfer_bytes),
            easy_file_per_rank: config.flag("ior-easy", "filePerProc"),
            hard_segments: common.scaled(count("ior-hard", "segmentCount")?, 1),
            easy_items: common.scaled(count("mdtest-easy", "n")?, 1),
            hard_items: common.scaled(count("mdtest-hard", "n")?, 1),
            set_files: set_files(config)?.map(|files| common.scaled(files, 1)),
            scale_down: common.scale_down,
            ranks: common.ranks,
            runs: runs(config, extended),
            walkers: walkers(config, common.ranks)?,
            apis: apis(config)?,
        };
        settings.refuse_what_cannot_run(config)?;
        Ok(settings)
    }

    /// The phases of the list, in their order.
    pub fn phases(&self) -> impl Iterator<Item = &'static Phase> {
        PHASES.iter().filter(|phase| self.extended || !phase.extended)
    }

    /// True if a phase of the list runs.
    pub fn runs(&self, name: &str) -> bool {
        self.runs.iter().any(|(known, runs)| *known == name && *runs)
    }

    /// Ranks that walk in a phase.
    pub fn walkers(&self, name: &str) -> u32 {
        self.walkers.iter().find(|(known, _)| *known == name).map_or(self.ranks, |(_, walkers)| *walkers)
    }

    /// The API that the sections of a phase name, where they name one.
    pub fn own_api(&self, phase: &str) -> Option<&Api> {
        self.apis.iter().find(|(known, _)| *known == phase).map(|(_, api)| api)
    }

    /// The API of a phase.
    pub fn api_of(&self, phase: &str) -> &Api {
        self.own_api(phase).unwrap_or(&self.api)
    }

    fn refuse_what_cannot_run(&self, config: &Config) -> Result<(), Failure> {
        for phase in self.phases().filter(|phase| self.runs(phase.name)) {
            if phase.name == "ior-rnd4K-easy-read" && !self.easy_transfer_bytes.is_multiple_of(RANDOM_BYTES) {
                let problem = "= TRUE needs transfers of whole 4 KiB ([ior-easy] transferSize)";
                return Err(config.refuse(
                    phase.name,
                    "run",
                    problem,
                    "write run = FALSE, or take another transferSize",
                ));
            }
            if let Some(needed) = phase.needs().filter(|needed| !self.runs(needed)) {
                let section = phase.sections().last().copied().unwrap_or_default();
                let problem = format!("= TRUE needs the files of {needed}, which does not run");
                return Err(config.refuse(section, "run", &problem, "write run = FALSE, or run that too"));
            }
        }
        if self.phases().any(|phase| phase.name != TIMESTAMP && self.runs(phase.name)) {
            return Ok(());
        }
        Err(usage("no phase is to run", "write run = TRUE for some of them"))
    }
}

fn runs(config: &Config, extended: bool) -> Vec<(&'static str, bool)> {
    let list = PHASES.iter().filter(|phase| extended || !phase.extended);
    list.map(|phase| (phase.name, phase.sections().iter().all(|section| config.flag(section, "run")))).collect()
}

/// What the section of a phase says goes before that of its kind (IO500/io500 at 02091cf,
/// `u_argv_push_default_if_set_api_options` in `src/util.c`).
fn apis(config: &Config) -> Result<Vec<(&'static str, Api)>, Failure> {
    let mut apis = Vec::new();
    for phase in PHASES {
        let known = |section: &&&str| section_of(section).is_some_and(|section| section.key("API").is_some());
        let mut sections = phase.sections().iter().rev().filter(known);
        if let Some(text) = sections.find_map(|section| config.text(section, "API")) {
            apis.push((phase.name, Api::parse(text)?));
        }
    }
    Ok(apis)
}

fn walkers(config: &Config, ranks: u32) -> Result<Vec<(&'static str, u32)>, Failure> {
    let mut walkers = Vec::new();
    for section in ["find-easy", "find", "find-hard"] {
        let Some(asked) = config.number(section, "nproc")? else { continue };
        match u32::try_from(asked) {
            Ok(asked) if (1..=ranks).contains(&asked) => walkers.push((section, asked)),
            _ => {
                let problem = format!("= {asked}, but there are {ranks} ranks");
                return Err(config.refuse(section, "nproc", &problem, "take at most as many, or --ranks N"));
            }
        }
    }
    Ok(walkers)
}

/// Files of each set of md-workbench, where the .ini file says it: with both keys, as the official program wants it.
fn set_files(config: &Config) -> Result<Option<u64>, Failure> {
    let [created, replaced] = ["precreatePerSet", "filesPerProc"].map(|key| config.number("mdworkbench", key));
    match (created?, replaced?) {
        (None, None) => Ok(None),
        (Some(created), Some(replaced)) if created == replaced && created > 0 => Ok(Some(created)),
        _ => {
            let problem = "is not precreatePerSet: each file is replaced once in each iteration";
            Err(config.refuse("mdworkbench", "filesPerProc", problem, "give both the same number, or leave both empty"))
        }
    }
}

fn packet(config: &Config) -> Result<Packet, Failure> {
    let text = config.text("global", "dataPacketType").unwrap_or_default();
    // IOR takes the first letter of each too.
    let known = |packet: &Packet| packet.name() == text || packet.name()[..1] == *text;
    Packet::ALL.into_iter().find(known).ok_or_else(|| {
        let remedy = "take timestamp, offset, incompressible or random";
        config.refuse("global", "dataPacketType", &format!("= {text} is unknown"), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str, extended: bool) -> Result<Settings, Failure> {
        let common = Common { ranks: 2, nodes: 1, run: None, overwrite: false, scale_down: 1 };
        Settings::of(&Config::parse("x.ini", text)?, &common, extended, None)
    }

    fn problem(text: &str, extended: bool) -> String {
        settings(text, extended).unwrap_err().message
    }

    #[test]
    fn an_empty_file_asks_for_the_standard_list_by_the_rules() {
        let asked = settings("", false).unwrap();
        assert_eq!((asked.minimum_s, asked.stonewall_s, asked.easy_block_bytes), (300, 300, 9_920_000 << 20));
        assert_eq!((asked.hard_segments, asked.easy_items, asked.hard_items), (10_000_000, 1_000_000, 1_000_000));
        assert!(asked.phases().all(|phase| asked.runs(phase.name)));
        assert_eq!(asked.phases().count(), 14);
    }

    #[test]
    fn phases_are_switched_off_by_their_kind_and_by_themselves() {
        let asked =
            settings("[mdtest-hard]\nrun = FALSE\n[find]\nrun=FALSE\n[ior-easy-read]\nrun = FALSE\n", false).unwrap();
        for name in ["mdtest-hard-write", "mdtest-hard-stat", "find", "ior-easy-read"] {
            assert!(!asked.runs(name), "{name}");
        }
        assert!(asked.runs("ior-easy-write"));
    }

    #[test]
    fn what_cannot_run_is_refused_by_its_key() {
        assert!(problem("[ior-easy-write]\nrun = FALSE\n", false).contains("[ior-easy-read] run"));
        assert!(problem("[mdworkbench]\nprecreatePerSet = 9\n", true).contains("[mdworkbench] filesPerProc"));
        assert!(problem("[mdworkbench]\nprecreatePerSet = 9\nfilesPerProc = 8", true).contains("line 3"));
        let both = settings("[mdworkbench]\nprecreatePerSet = 9\nfilesPerProc = 9", true).unwrap();
        assert_eq!((both.set_files, settings("", true).unwrap().set_files), (Some(9), None));
        assert!(problem("[find]\nnproc = 3\n", false).contains("line 2: [find] nproc = 3"));
        assert!(problem("[ior-easy]\nblockSize = 3m\n", false).contains("line 2: [ior-easy] blockSize"));
        assert!(problem("[debug]\nstonewall-time = 0\n", false).contains("[debug] stonewall-time"));
        assert!(problem("[global]\ndataPacketType = zeros\n", false).contains("dataPacketType"));
    }
}
