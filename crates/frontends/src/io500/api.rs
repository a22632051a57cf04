//! The storage APIs of an .ini file: an API of IOR and its options, such as `POSIX --posix.odirect`.

use std::path::Path;

use ioassay_engine::storage;
use ioassay_engine::storage::plugin::sources;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::storage::Storage;

use crate::common::usage;
use crate::facts::mpi_apis;
use crate::ior;

/// How options of each of IOR's APIs begin that the engine has, and the APIs that look at them.
const OPTIONS: &[(&str, &[&str])] = &[
    ("--posix.", &["POSIX", "AIO", "MMAP"]),
    ("--aio.", &["AIO"]),
    ("--mmap.", &["MMAP"]),
    ("--dummy.", &["DUMMY"]),
    ("--mpiio.", &["MPIIO"]),
    ("--hdf5.", &["HDF5"]),
    ("--ncmpi.", &["NCMPI"]),
];

/// Options that only tell a file system how to serve the same transfers, and what does that here.
const HINTS: &[(&str, &str)] = &[
    ("--posix.gpfs.", "the engine does not use GPFS hints"),
    ("--posix.lustre.", "files inherit the striping of their directory: run lfs setstripe beforehand"),
    ("--posix.beegfs.", "files inherit the striping of their directory: run beegfs-ctl --setpattern beforehand"),
];

/// IOR's APIs that the engine has not (`src/aiori.c` of hpc/ior at 5fcf0ba, and what submitters built in).
const FOREIGN: &[&str] = &[
    "BEEGFS", "CEPHFS", "CHFS", "DFS", "FINCHFS", "GFARM", "HDFS", "IME", "LIBNFS", "NFS", "PMDK", "RADOS", "S3",
    "S3-4C", "S3-LIBS3", "S3_EMC", "S3_PLUS",
];

/// How APIs are to be taken.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    /// `--map-api`: the storage that stands for an API.
    maps: Vec<(String, Storage)>,
    /// Nothing is run, so that no API has to be there.
    pub dry_run: bool,
}

impl Ways {
    /// Those of a dry run.
    #[cfg(test)]
    pub fn dry() -> Self {
        Self { dry_run: true, ..Self::default() }
    }

    /// Takes `API=STORAGE`: one of the engine's own APIs, or a plug-in that is built.
    ///
    /// # Errors
    /// If there is no such storage.
    pub fn map(&mut self, text: &str) -> Result<(), Failure> {
        let Some((api, name)) = text.split_once('=').filter(|(api, name)| !api.is_empty() && !name.is_empty()) else {
            let problem = format!("--map-api {text:?} does not have the form API=STORAGE");
            return Err(usage(problem, "write for example --map-api DFS=posix"));
        };
        let storage = if storage::by_name(name).is_some() {
            Storage::of(name)
        } else {
            let plugin = sources::built(&sources::cache()?, name)?.ok_or_else(|| {
                let problem = format!(
                    "--map-api {text}: {name} is neither an API of the engine nor a plug-in that has been built"
                );
                usage(problem, "use posix, or one of `ioassay-engine api list`; `ioassay-engine api build` builds one")
            })?;
            Storage { plugin: Some(plugin), ..Storage::of(name) }
        };
        self.maps.push((api.to_owned(), storage));
        Ok(())
    }

    fn mapped(&self, api: &str) -> Option<&Storage> {
        self.maps.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(api)).map(|(_, storage)| storage)
    }
}

/// An API with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Api {
    words: Vec<String>,
    /// Those that the engine's front ends know.
    understood: Vec<String>,
    /// What it stands for.
    pub storage: Storage,
    /// What of it has no effect, and why.
    pub warnings: Vec<String>,
}

impl Api {
    /// Reads what the official program hands to IOR and mdtest after `-a`: words with spaces between them. `direct`
    /// adds `--posix.odirect`.
    ///
    /// # Errors
    /// If there is no such API here, or IOR's front end refuses its options.
    pub fn parse(text: &str, direct: bool, ways: &Ways) -> Result<Self, Failure> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let name = words.first().map_or_else(|| "POSIX".to_owned(), |name| name.to_uppercase());
        if direct && !words.iter().any(|word| word == DIRECT) {
            words.push(DIRECT.to_owned());
        }
        if let Some(storage) = ways.mapped(&name) {
            return Ok(Self::stands_for(storage.clone(), &name, words));
        }
        if FOREIGN.contains(&name.as_str()) {
            if ways.dry_run {
                let warning = format!("{name} is not an API of the engine: a run needs --map-api {name}=STORAGE");
                return Ok(Self::unseen(words, warning));
            }
            let remedy = format!(
                "add --map-api {name}=posix if datadir is a mounted directory, or --map-api {name}=PLUG-IN with one \
                 of `ioassay-engine api list`"
            );
            return Err(usage(format!("{name} is not an API of the engine"), remedy));
        }
        if mpi_name(&name) && ways.dry_run {
            return Ok(Self::unseen(words, format!("{name}: a run needs ranks that are MPI processes")));
        }
        let (understood, warnings) = with_an_effect(&name, &words);
        let storage = ior::storage(&understood)?;
        Ok(Self { words, understood, storage, warnings })
    }

    /// POSIX without options.
    pub fn plain() -> Self {
        let words = vec!["POSIX".to_owned()];
        Self { understood: words.clone(), words, storage: Storage::of("posix"), warnings: Vec::new() }
    }

    /// Another storage in the place of the API `name`, whose options mean nothing to it.
    fn stands_for(storage: Storage, name: &str, words: Vec<String>) -> Self {
        let path = storage.plugin.as_deref().and_then(Path::to_str).unwrap_or("the engine's own");
        let mut warnings = vec![format!("{name} is mapped to {} ({path}) by --map-api", storage.api)];
        let direct = storage.plugin.is_none() && words.iter().any(|word| word == DIRECT);
        for option in words.iter().filter(|word| word.starts_with("--") && !(direct && *word == DIRECT)) {
            warnings.push(format!("{option} is ignored: {} does not have it", storage.api));
        }
        let mut understood = vec!["POSIX".to_owned()];
        understood.extend(direct.then(|| DIRECT.to_owned()));
        Self { words, understood, storage: Storage { direct, unaligned: direct, ..storage }, warnings }
    }

    /// One of which a dry run prints the name and nothing else is wanted.
    fn unseen(words: Vec<String>, warning: String) -> Self {
        Self { understood: words.clone(), words, storage: Storage::of("null"), warnings: vec![warning] }
    }

    /// As it stands on a command line after `-a`.
    pub fn spelling(&self) -> String {
        self.words.join(" ")
    }

    /// The same in words that the engine's front ends know.
    pub fn understood(&self) -> Self {
        Self { words: self.understood.clone(), ..self.clone() }
    }

    /// True if its transfers are done by MPI-IO, which knows collective ones.
    pub fn does_collectives(&self) -> bool {
        self.words.first().is_some_and(|name| mpi_name(name)) && self.storage.plugin.is_some()
    }
}

/// True if what an .ini file says of an API names one whose ranks are MPI processes, and nothing stands for it.
pub fn is_over_mpi(text: &str, ways: &Ways) -> bool {
    text.split_whitespace().next().is_some_and(|name| mpi_name(name) && ways.mapped(name).is_none())
}

const DIRECT: &str = "--posix.odirect";

fn mpi_name(name: &str) -> bool {
    mpi_apis().any(|known| known.eq_ignore_ascii_case(name))
}

/// The words of an API without options that the API `name` does not look at, and without those that are only hints;
/// then the warnings of them.
fn with_an_effect(name: &str, words: &[String]) -> (Vec<String>, Vec<String>) {
    let begins = |word: &str, begin: &str| word.to_ascii_lowercase().starts_with(begin);
    let (mut kept, mut warnings) = (Vec::new(), Vec::new());
    let mut dropping = false;
    for word in words {
        if !word.starts_with("--") {
            // The value of the option before it.
            if !dropping {
                kept.push(word.clone());
            }
            continue;
        }
        if let Some(value) = word.strip_prefix(DIRECT).and_then(|rest| rest.strip_prefix('=')) {
            dropping = false;
            // IOR takes what is no number for 0.
            match value.parse::<i64>() {
                Ok(1..) => kept.push(DIRECT.to_owned()),
                Ok(_) => {}
                Err(_) => warnings.push(format!("IOR reads {word} as 0: write {DIRECT} for O_DIRECT")),
            }
            continue;
        }
        let hint = HINTS.iter().find(|(begin, _)| begins(word, begin)).map(|(_, why)| (*why).to_owned());
        let other = OPTIONS.iter().find(|(begin, apis)| begins(word, begin) && !apis.contains(&name));
        let why = other.map(|_| format!("{name} does not use it")).or(hint);
        dropping = why.is_some();
        match why {
            Some(why) => warnings.push(format!("{word} is ignored: {why}")),
            None => kept.push(word.clone()),
        }
    }
    (kept, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Api, Failure> {
        Api::parse(text, false, &Ways::default())
    }

    #[test]
    fn an_api_is_what_iors_front_end_makes_of_it() {
        let direct = parse("posix   --posix.odirect").unwrap();
        assert_eq!(direct.spelling(), "posix --posix.odirect");
        assert!(direct.storage.direct && direct.storage.api == "posix");
        let aio = parse("AIO --aio.max-pending=8 --aio.granularity 4 --posix.odirect").unwrap().storage;
        assert_eq!((aio.api.as_str(), aio.depth, aio.uring.unwrap().batch, aio.direct), ("uring", 8, 4, true));
        assert_eq!(parse("MMAP").unwrap().storage.api, "mmap");
        let old = Api::parse("POSIX", true, &Ways::default()).unwrap();
        assert_eq!((old.spelling().as_str(), old.storage.direct), ("POSIX --posix.odirect", true));
    }

    #[test]
    fn what_is_more_than_a_storage_is_refused() {
        for (text, expected) in [
            ("MPIIO", "MPIIO"),
            ("HDF5 --hdf5.collectiveMetadata", "HDF5"),
            ("DFS --dfs.pool=p", "DFS"),
            ("NOAPI", "NOAPI"),
            ("POSIX --posix.rangelocks", "--posix.rangelocks"),
            ("POSIX -w", "-w"),
            ("POSIX --dryRun", "--dryRun"),
            ("POSIX -O summaryFile=x", "-O"),
            ("POSIX --nonsense.x", "--nonsense.x"),
        ] {
            let failure = parse(text).unwrap_err();
            assert!(failure.message.contains(expected) && !failure.remedy.is_empty(), "{text}: {failure:?}");
        }
    }

    #[test]
    fn hints_and_options_of_other_apis_have_no_effect_and_are_warned_of() {
        for (text, warned) in [
            ("POSIX --posix.gpfs.finegrainwritesharing", "--posix.gpfs.finegrainwritesharing is ignored"),
            ("POSIX --posix.lustre.stripecount 4", "lfs setstripe"),
            ("POSIX --posix.lustre.stripecount=4", "lfs setstripe"),
            ("POSIX --posix.odirect=TRUE", "IOR reads --posix.odirect=TRUE as 0"),
            ("POSIX --aio.max-pending=128", "POSIX does not use it"),
            ("POSIX --hdf5.collectiveMetadata", "POSIX does not use it"),
        ] {
            let api = parse(text).unwrap();
            assert_eq!((api.storage.clone(), api.understood().spelling()), (Storage::of("posix"), "POSIX".to_owned()));
            assert_eq!(api.spelling(), text);
            assert!(api.warnings.len() == 1 && api.warnings[0].contains(warned), "{:?}", api.warnings);
        }
    }

    #[test]
    fn a_dry_run_needs_no_api_and_a_run_the_storage_that_stands_for_it() {
        let dry = Ways::dry();
        for text in ["DFS --dfs.pool=p", "MPIIO"] {
            let api = Api::parse(text, false, &dry).unwrap();
            assert_eq!((api.spelling().as_str(), api.warnings.len()), (text, 1));
        }
        assert!(parse("DFS").unwrap_err().remedy.contains("--map-api DFS=posix"));
        let mut ways = Ways::default();
        ways.map("dfs=posix").unwrap();
        let api = Api::parse("DFS --dfs.pool=p --dfs.cont=c", false, &ways).unwrap();
        assert_eq!((api.storage.api.as_str(), api.understood().spelling()), ("posix", "POSIX".to_owned()));
        assert_eq!(api.warnings.len(), 3, "{:?}", api.warnings);
        for text in ["DFS", "=posix", "DFS=", "DFS=no-such-plug-in"] {
            assert!(Ways::default().map(text).is_err(), "{text}");
        }
    }
}
