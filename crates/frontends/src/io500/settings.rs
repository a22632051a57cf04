//! What an .ini file asks for, resolved: amounts, rules, and which phases run.

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use super::api::{Api, Ways};
use super::config::Config;
use super::options::section_of;
use super::phases::{PHASES, Phase, RANDOM, RANDOM_BYTES, TIMESTAMP};
use crate::common::{Common, usage};
use crate::packet::Packet;

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
    /// `[ior-easy] uniqueDir`, which commands have and nothing else.
    pub easy_directory_per_file: bool,
    /// The arguments that pfind would get, by phase.
    pfind: Vec<(&'static str, String)>,
    /// Phases whose transfers are to be collective.
    collective: Vec<&'static str>,
    /// What was taken and not honoured.
    pub warnings: Vec<String>,
}

impl Settings {
    /// What `config` asks for; `verbosity` and `extended` come from the command line, `ways` says how APIs are taken.
    ///
    /// # Errors
    /// Everything that is refused: values that contradict each other, or ask for what is not done here.
    pub fn of(
        config: &Config,
        common: &Common,
        extended: bool,
        verbosity: Option<u64>,
        ways: &Ways,
    ) -> Result<Self, Vec<Failure>> {
        let mut refused = Refused::default();
        let mut config = config.clone();
        let runs = runs(&config, extended);
        let used = sections_used(&runs);
        refused.0.extend(config.judge(|section| used.contains(&section)).err().unwrap_or_default());
        let mut warnings = std::mem::take(&mut config.warnings);
        let config = &config;
        let minimum_s = if config.flag("global", "scc") { 30 } else { 300 };
        let stonewall_s = refused.or(config.number("debug", "stonewall-time"), None).unwrap_or(minimum_s);
        if stonewall_s == 0 {
            let problem = "= 0 would write until the storage is full";
            refused.0.push(config.refuse("debug", "stonewall-time", problem, "write 1 or more"));
        }
        let mut count = |section, key| {
            let count = refused.or(config.number(section, key), None).unwrap_or(0);
            if count == 0 && used.contains(&section) {
                let remedy = "write 1 or more, or run = FALSE";
                refused.0.push(config.refuse(section, key, "= 0 does nothing", remedy));
            }
            count.max(1)
        };
        let hard_segments = count("ior-hard", "segmentCount");
        let (easy_items, hard_items) = (count("mdtest-easy", "n"), count("mdtest-hard", "n"));
        let easy_transfer_bytes = refused.or(config.size("ior-easy", "transferSize"), 0);
        let easy_block_bytes = refused.or(config.size("ior-easy", "blockSize"), 0);
        if easy_transfer_bytes == 0 || easy_block_bytes == 0 || !easy_block_bytes.is_multiple_of(easy_transfer_bytes) {
            let problem = "must be a positive multiple of transferSize";
            let remedy = "use sizes above 0, as IOR requires";
            refused.0.push(config.refuse("ior-easy", "blockSize", problem, remedy));
        }
        let mut runs = runs;
        leave_out_random_reads(&mut runs, easy_transfer_bytes, &mut warnings);
        let mut apis = Apis { config, ways, refused: Vec::new(), warnings: Vec::new() };
        let api = apis.of_all();
        let of_phases = apis.of_phases(&runs);
        let collective = apis.collective(&runs, api.as_ref(), &of_phases);
        refused.0.extend(apis.refused.into_iter().map(Grouped::failure));
        warnings.extend(apis.warnings.into_iter().map(Grouped::warning));
        refused.0.extend(drop_caches(config).err());
        let settings = Self {
            data: config.text("global", "datadir").unwrap_or_default().into(),
            results: config.text("global", "resultdir").unwrap_or_default().into(),
            results_by_time: config.flag("global", "timestamp-resultdir"),
            extended,
            drop_caches: config.flag("global", "drop-caches"),
            verbosity: refused
                .or(verbosity.map_or_else(|| config.number("global", "verbosity"), |level| Ok(Some(level))), None)
                .unwrap_or(1),
            packet: refused.or(packet(config), Packet::ALL[0]),
            api: api.unwrap_or_else(Api::plain),
            minimum_s,
            stonewall_s,
            stonewall_ns: (stonewall_s.saturating_mul(1_000_000_000) / common.scale_down).max(1),
            easy_transfer_bytes,
            easy_block_bytes: common.scaled(easy_block_bytes, easy_transfer_bytes),
            easy_file_per_rank: config.flag("ior-easy", "filePerProc"),
            hard_segments: common.scaled(hard_segments, 1),
            easy_items: common.scaled(easy_items, 1),
            hard_items: common.scaled(hard_items, 1),
            set_files: refused.or(set_files(config), None).map(|files| common.scaled(files, 1)),
            scale_down: common.scale_down,
            ranks: common.ranks,
            walkers: walkers(config, common.ranks, &used, &mut refused),
            runs,
            apis: of_phases,
            easy_directory_per_file: config.flag("ior-easy", "uniqueDir"),
            pfind: pfind(config),
            collective,
            warnings,
        };
        settings.refuse_what_cannot_run(config, &mut refused);
        if refused.0.is_empty() { Ok(settings) } else { Err(refused.0) }
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

    /// The options of pfind in a phase.
    pub fn pfind(&self, phase: &str) -> &str {
        self.pfind.iter().find(|(known, _)| *known == phase).map_or("", |(_, options)| options)
    }

    /// True if the transfers of a phase are collective.
    pub fn is_collective(&self, phase: &str) -> bool {
        self.collective.contains(&phase)
    }

    /// The same with APIs in words that the front ends of IOR and mdtest know.
    pub fn understood(&self) -> Self {
        let apis = self.apis.iter().map(|(phase, api)| (*phase, api.understood())).collect();
        let collective = Vec::new();
        Self { api: self.api.understood(), apis, collective, easy_directory_per_file: false, ..self.clone() }
    }

    fn refuse_what_cannot_run(&self, config: &Config, refused: &mut Refused) {
        for phase in self.phases().filter(|phase| self.runs(phase.name)) {
            if let Some(needed) = phase.needs().filter(|needed| !self.runs(needed)) {
                let section = phase.sections().last().copied().unwrap_or_default();
                let problem = format!("= TRUE needs the files of {needed}, which does not run");
                refused.0.push(config.refuse(section, "run", &problem, "set run = FALSE, or run that phase too"));
            }
        }
        if !self.phases().any(|phase| phase.name != TIMESTAMP && self.runs(phase.name)) {
            refused.0.push(usage("no phase is enabled", "set run = TRUE for at least one phase"));
        }
    }
}

/// What is refused so far.
#[derive(Default)]
struct Refused(Vec<Failure>);

impl Refused {
    /// The value of `result`, or `instead` of it where it is refused: so that the rest can be checked.
    fn or<T>(&mut self, result: Result<T, Failure>, instead: T) -> T {
        result.unwrap_or_else(|failure| {
            self.0.push(failure);
            instead
        })
    }
}

fn runs(config: &Config, extended: bool) -> Vec<(&'static str, bool)> {
    // Older versions had noRun.
    let is_left_out = |section: &str| {
        section_of(section).is_some_and(|section| section.key("noRun").is_some() && config.flag(section.name, "noRun"))
    };
    let runs = |section: &&'static str| config.flag(section, "run") && !is_left_out(section);
    let list = PHASES.iter().filter(|phase| extended || !phase.extended);
    list.map(|phase| (phase.name, phase.sections().iter().all(&runs))).collect()
}

/// Random reads of 4 KiB are done of files that were written in multiples of it.
fn leave_out_random_reads(runs: &mut [(&'static str, bool)], transfer_bytes: u64, warnings: &mut Vec<String>) {
    let reads = runs.iter_mut().find(|(name, runs)| *name == RANDOM && *runs);
    if let Some((_, runs)) = reads.filter(|_| !transfer_bytes.is_multiple_of(RANDOM_BYTES)) {
        *runs = false;
        let why = format!("[ior-easy] transferSize, {transfer_bytes} bytes, is not a multiple of {RANDOM_BYTES}");
        warnings.push(format!("{RANDOM} does not run: {why}"));
    }
}

/// The sections that phases which run look at.
fn sections_used(runs: &[(&'static str, bool)]) -> Vec<&'static str> {
    let running = PHASES.iter().filter(|phase| runs.iter().any(|(name, runs)| *runs && *name == phase.name));
    let of_phases = running.flat_map(|phase| phase.sections());
    let mut used = vec!["global", "debug"];
    used.extend(of_phases);
    used
}

/// Something that stands on several lines for the same reason.
struct Grouped {
    first: String,
    lines: Vec<usize>,
    path: String,
    failure: Failure,
}

impl Grouped {
    fn others(&self) -> String {
        let others: Vec<String> = self.lines.iter().skip(1).map(usize::to_string).collect();
        match others.as_slice() {
            [] => String::new(),
            [other] => format!(" (and line {other})"),
            several => format!(" (and lines {})", several.join(", ")),
        }
    }

    fn failure(self) -> Failure {
        let others = self.others();
        let line = self.lines.first().map_or_else(String::new, |line| format!(", line {line}"));
        let message = format!("{}{line}: {}{others}: {}", self.path, self.first, self.failure.message);
        Failure { message, ..self.failure }
    }

    fn warning(self) -> String {
        let others = self.others();
        let line = self.lines.first().map_or_else(String::new, |line| format!("line {line}: "));
        format!("{line}{}{others}: {}", self.first, self.failure.message)
    }
}

/// Reads the APIs of a file; a message about the same one on many lines is printed once.
struct Apis<'a> {
    config: &'a Config,
    ways: &'a Ways,
    refused: Vec<Grouped>,
    warnings: Vec<Grouped>,
}

impl Apis<'_> {
    /// `[global] api`
    fn of_all(&mut self) -> Option<Api> {
        self.parse("global", "api", false)
    }

    /// What the section of a phase says goes before that of its kind (IO500/io500 at 02091cf,
    /// `u_argv_push_default_if_set_api_options` in `src/util.c`; `u_argv_push_default_if_set_bool` at io500-isc20).
    fn of_phases(&mut self, runs: &[(&'static str, bool)]) -> Vec<(&'static str, Api)> {
        let mut apis = Vec::new();
        for phase in PHASES.iter().filter(|phase| runs.contains(&(phase.name, true))) {
            let known = |section: &str, key| section_of(section).is_some_and(|section| section.key(key).is_some());
            let own_first = || phase.sections().iter().rev().copied();
            let named = own_first()
                .find(|section| known(section, "API") && self.config.text(section, "API").is_some())
                .map(|section| (section, "API"));
            let direct = own_first()
                .filter(|section| known(section, "posix.odirect"))
                .find_map(|section| self.config.truth(section, "posix.odirect"))
                .unwrap_or(false);
            if named.is_none() && !direct {
                continue;
            }
            let (section, key) = named.unwrap_or(("global", "api"));
            apis.extend(self.parse(section, key, direct).map(|api| (phase.name, api)));
        }
        apis
    }

    /// The phases of `ior-hard` whose transfers are collective; other APIs than those of MPI have no such calls.
    fn collective(
        &mut self,
        runs: &[(&'static str, bool)],
        all: Option<&Api>,
        by_phase: &[(&'static str, Api)],
    ) -> Vec<&'static str> {
        let mut collective = Vec::new();
        for phase in ["ior-hard-write", "ior-hard-read"].into_iter().filter(|phase| runs.contains(&(phase, true))) {
            let sections = [phase, "ior-hard"];
            let asked = sections.into_iter().find(|section| self.config.truth(section, "collective").is_some());
            let Some(section) = asked.filter(|section| self.config.flag(section, "collective")) else { continue };
            let api = by_phase.iter().find(|(known, _)| *known == phase).map(|(_, api)| api).or(all);
            if api.is_some_and(Api::does_collectives) {
                collective.push(phase);
            } else if api.is_some() {
                let problem = "is ignored: only MPIIO, HDF5 and NCMPI support collective I/O".to_owned();
                self.warn(section, "collective", problem);
            }
        }
        collective
    }

    fn parse(&mut self, section: &'static str, key: &'static str, direct: bool) -> Option<Api> {
        match Api::parse(self.config.text(section, key).unwrap_or_default(), direct, self.ways) {
            Ok(api) => {
                api.warnings.iter().for_each(|warning| self.warn(section, key, warning.clone()));
                Some(api)
            }
            Err(failure) => {
                self.note(section, key, failure, |apis| &mut apis.refused);
                None
            }
        }
    }

    fn warn(&mut self, section: &'static str, key: &'static str, warning: String) {
        self.note(section, key, usage(warning, ""), |apis| &mut apis.warnings);
    }

    fn note(
        &mut self,
        section: &'static str,
        key: &'static str,
        failure: Failure,
        to: impl Fn(&mut Self) -> &mut Vec<Grouped>,
    ) {
        let line = self.config.line(section, key);
        let text = self.config.text(section, key).unwrap_or_default();
        let first = format!("[{section}] {key} = {text}");
        let path = self.config.path().to_owned();
        let groups = to(self);
        if let Some(known) = groups.iter_mut().find(|known| known.failure.message == failure.message) {
            known.lines.extend(line.filter(|line| !known.lines.contains(line)));
        } else {
            groups.push(Grouped { first, lines: line.into_iter().collect(), path, failure });
        }
    }
}

/// The engine itself drops caches, where the command of the official program asks the kernel for just that.
fn drop_caches(config: &Config) -> Result<(), Failure> {
    let command = config.text("global", "drop-caches-cmd").unwrap_or_default();
    if !config.flag("global", "drop-caches") || command.contains("/proc/sys/vm/drop_caches") {
        return Ok(());
    }
    let problem =
        format!("= {command} is refused: the engine runs no commands, it writes to /proc/sys/vm/drop_caches itself");
    let remedy = "leave it out, or set drop-caches = FALSE and run a study with cold-cache, which can run commands";
    Err(config.refuse("global", "drop-caches-cmd", &problem, remedy))
}

/// The arguments that pfind would get about how to walk (IO500/io500 at 02091cf, `src/phase_find.c`).
fn pfind(config: &Config) -> Vec<(&'static str, String)> {
    let of = |section| {
        let queue = config.text(section, "pfind-queue-length").unwrap_or_default();
        let flag = |key, option| if config.flag(section, key) { option } else { "" };
        let steal = flag("pfind-steal-next", " -N");
        let hashing = flag("pfind-parallelize-single-dir-access-using-hashing", " -H 1");
        (section, format!("{steal}{hashing} -q {queue}"))
    };
    ["find-easy", "find", "find-hard"].into_iter().map(of).collect()
}

/// Ranks that walk, where not all of them do. The official program starts an external one once, whatever nproc says.
fn walkers(config: &Config, ranks: u32, used: &[&str], refused: &mut Refused) -> Vec<(&'static str, u32)> {
    let mut walkers = Vec::new();
    for section in ["find-easy", "find", "find-hard"].into_iter().filter(|section| used.contains(section)) {
        let Some(asked) = refused.or(config.number(section, "nproc"), None) else { continue };
        match u32::try_from(asked) {
            Ok(asked) if (1..=ranks).contains(&asked) => walkers.push((section, asked)),
            _ if config.text(section, "external-script").is_some() => {}
            _ => {
                let problem = format!("= {asked}, but there are {ranks} ranks");
                refused.0.push(config.refuse(section, "nproc", &problem, "use at most as many, or --ranks N"));
            }
        }
    }
    walkers
}

/// Files of each set of md-workbench, where the .ini file says it: with both keys, as the official program wants it.
fn set_files(config: &Config) -> Result<Option<u64>, Failure> {
    let [created, replaced] = ["precreatePerSet", "filesPerProc"].map(|key| config.number("mdworkbench", key));
    match (created?, replaced?) {
        (None, None) => Ok(None),
        (Some(created), Some(replaced)) if created == replaced && created > 0 => Ok(Some(created)),
        _ => {
            let problem = "differs from precreatePerSet, but each file is replaced once per iteration";
            Err(config.refuse(
                "mdworkbench",
                "filesPerProc",
                problem,
                "set both to the same number, or leave both empty",
            ))
        }
    }
}

fn packet(config: &Config) -> Result<Packet, Failure> {
    let text = config.text("global", "dataPacketType").unwrap_or_default();
    // IOR takes the first letter of each too.
    let known = |packet: &Packet| packet.name() == text || packet.name()[..1] == *text;
    Packet::ALL.into_iter().find(known).ok_or_else(|| {
        let remedy = "use timestamp, offset, incompressible or random";
        config.refuse("global", "dataPacketType", &format!("= {text} is unknown"), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str, extended: bool) -> Result<Settings, Vec<Failure>> {
        let common = Common { ranks: 2, nodes: 1, run: None, overwrite: false, scale_down: 1 };
        Settings::of(&Config::parse("x.ini", text)?, &common, extended, None, &Ways::default())
    }

    fn problem(text: &str, extended: bool) -> String {
        let failures = settings(text, extended).unwrap_err();
        failures.into_iter().map(|failure| failure.message).collect::<Vec<_>>().join("\n")
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

    #[test]
    fn refusals_are_reported_together_and_each_api_once() {
        let text = "[global]\napi = DFS --dfs.pool=p\n[ior-easy]\nAPI = DFS --dfs.pool=p\n\
                    [ior-hard]\nAPI = DFS --dfs.cont=c\n[find]\nnproc = 3\n[mdtest-easy]\nn = 0\n[mdworkbench]\nwaitingTime = 1\n";
        let all = problem(text, false);
        assert_eq!(all.lines().count(), 3, "{all}");
        assert!(all.contains("line 2: [global] api = DFS --dfs.pool=p (and lines 4, 6): DFS is not an API"), "{all}");
        assert!(all.contains("[find] nproc = 3") && all.contains("[mdtest-easy] n = 0"), "{all}");
        // Only the extended mode looks at md-workbench.
        assert_eq!(problem(text, true).lines().count(), 4);
        assert!(settings("[find-easy]\nnproc = 3\n[ior-rnd4K]\nAPI = DFS\n", false).is_ok());
    }

    #[test]
    fn keys_of_2020_say_what_those_of_today_say() {
        let text = "[ior-easy]\nposix.odirect = TRUE\nnoRun = 0\n[ior-easy-read]\nposix.odirect = FALSE\n\
                    [mdtest-hard]\nnoRun = TRUE\n[find]\nnoRun = TRUE\n[ior-hard]\nAPI = MMAP\nposix.odirect = FALSE\n";
        let asked = settings(text, false).unwrap();
        assert_eq!(asked.api_of("ior-easy-write").spelling(), "POSIX --posix.odirect");
        assert!(asked.api_of("ior-easy-write").storage.direct && !asked.api_of("ior-easy-read").storage.direct);
        assert_eq!(asked.api_of("ior-hard-write").spelling(), "MMAP");
        assert!(asked.runs("ior-easy-write") && !asked.runs("find") && !asked.runs("mdtest-hard-stat"));
        assert_eq!(asked.warnings, [""; 0]);
    }

    #[test]
    fn what_is_not_honoured_is_warned_of() {
        let text = "[global]\ndrop-caches-cmd = ./flush\n[ior-easy]\nuniqueDir = TRUE\n[ior-hard]\ncollective = TRUE\n\
                    API = POSIX --posix.gpfs.finegrainwritesharing\n[find]\npfind-steal-next = TRUE\nnproc = 9\n\
                    external-script = ./find.sh\n";
        let asked = settings(text, false).unwrap();
        assert_eq!(asked.warnings.len(), 5, "{:?}", asked.warnings);
        let lines: Vec<&str> = asked.warnings.iter().filter_map(|warning| warning.split(':').next()).collect();
        assert_eq!(lines, ["line 4", "line 9", "line 11", "line 7", "line 6"]);
        assert_eq!(asked.walkers("find"), 2);
        // The command counts only where caches are dropped.
        let dropping = text.replace("[global]\n", "[global]\ndrop-caches = TRUE\n");
        assert!(problem(&dropping, false).contains("line 3: [global] drop-caches-cmd = ./flush is refused"));
        let echo = "[global]\ndrop-caches = TRUE\ndrop-caches-cmd = sh -c \"echo 2 > /proc/sys/vm/drop_caches\"\n";
        assert!(settings(echo, false).unwrap().drop_caches);
    }
}
