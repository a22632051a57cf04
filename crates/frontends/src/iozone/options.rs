//! IOzone's options, all of `iozone -h` and a few that it takes without saying so, and what of them was given.
//!
//! Not here: what an option does ([`super::translate`]).

use std::collections::BTreeMap;

use ioassay_protocol::events::Failure;

use crate::common::usage;
use crate::options::{Known, Verdict};

const AIO: &str = "io_uring keeps them in flight, without threads and copies of its own";
const PROCESSOR: &str = "nothing here depends on the processor's cache";
const PIT: &str = "the clock here needs no time server";
const SYNCED: &str = "each write is followed by an fsync, whose answer is looked at";
const DEDUPE: &str = "files here repeat nothing across records: take a study whose payload has duplicate_percent";
const TELEMETRY: &str = "offsets come from the test: take a study whose order is zipf or hot-spot";

/// Every option.
pub const KNOWN: &[Known] = &[
    Known::same("-a", None, "automatic mode: files from 64 KiB to 512 MiB, in records from 4 KiB to 16 MiB"),
    Known::same("-A", None, "the older automatic mode: -a -z -i 0 -i 1"),
    Known::better(
        "-b",
        Some("FILE"),
        "write the tables of -R into an Excel worksheet, too",
        "a file that is no worksheet of this kind is not overwritten",
    ),
    Known::same("-B", None, "map the files into memory (mmap)"),
    Known::better("-c", None, "the time of close counts", "without -x the first child's close counts in any case"),
    Known::same("-C", None, "show what each child moved"),
    Known::ignored("-d", Some("MICROSECONDS"), "start the children one after the other", "all start at once"),
    Known::same("-D", None, "map the files into memory, with msync(MS_ASYNC), which does nothing on Linux"),
    Known::same("-e", None, "the time of fsync counts; without it nothing is synced"),
    Known::same("-E", None, "the table has columns for pwrite and pread (-i 9, -i 10)"),
    Known::same("-f", Some("FILE"), "the file, without -t; iozone.tmp without"),
    Known::same("-F", Some("FILE..."), "the children's files, as many as -t says, which comes before it"),
    Known::same("-g", Some("SIZE"), "largest file of the automatic mode"),
    Known::same("-G", None, "with -B, msync(MS_SYNC) after each record; without it nothing, as in the original"),
    Known::same("-h", None, "this text"),
    Known::better("-H", Some("N"), "N asynchronous transfers of each child in flight", AIO),
    Known::better(
        "-i",
        Some("TEST"),
        "0 write and rewrite, 1 read and re-read, 2 random read and write, 3 read backward, 4 rewrite one record \
         (without -t), 5 read with strides, 6 fwrite, 7 fread, 8 readers beside writers (with -t), 9 pwrite, 10 pread \
         (9 and 10 with -t or -E); all of the mode without -i",
        "all children are counted up to one moment, in which the first has finished, and then go on to the end, so \
         that every test finds whole files",
    ),
    Known::same("-I", None, "O_DIRECT"),
    Known::same("-j", Some("RECORDS"), "the stride of -i 5; 17 without"),
    Known::same("-J", Some("MILLISECONDS"), "pause before each record; takes -+J beside it"),
    Known::better("-k", Some("N"), "as -H, without copies", AIO),
    Known::ignored("-K", None, "disturb the order of reads", "reads stay in order: -i 2 reads in random order"),
    Known::same("-l", Some("CHILDREN"), "from so many children, one more each time, up to -u"),
    Known::ignored("-L", Some("BYTES"), "a line of the processor's cache", PROCESSOR),
    Known::ignored("-m", None, "several buffers", "each child has one buffer for each transfer in flight: see -H"),
    Known::same("-M", None, "say what machine this is"),
    Known::same("-n", Some("SIZE"), "smallest file of the automatic mode"),
    Known::same("-N", None, "microseconds per operation, without -t"),
    Known::better("-o", None, "O_SYNC", SYNCED),
    Known::same("-O", None, "operations per second"),
    Known::ignored("-p", None, "empty the processor's cache", PROCESSOR),
    Known::ignored("-P", Some("CPU"), "bind children to processors", "the scheduler places them: see taskset, numactl"),
    Known::same("-q", Some("SIZE"), "largest record of the automatic mode"),
    Known::refused(
        "-Q",
        None,
        "files with the latency of each offset",
        "a run directory has histograms: take --run DIR",
    ),
    Known::same("-r", Some("SIZE"), "record: KiB, or with the suffix k, m or g; 4 KiB without; several make a table"),
    Known::same("-R", None, "tables for Excel at the end"),
    Known::same("-s", Some("SIZE"), "file (of each child): as -r; 512 KiB without; several make a table"),
    Known::ignored("-S", Some("SIZE"), "the processor's cache", PROCESSOR),
    Known::same("-t", Some("CHILDREN"), "processes; several -t are run one after the other"),
    Known::ignored("-T", None, "threads instead of processes", "children are processes, which do the same I/O"),
    Known::same("-u", Some("CHILDREN"), "up to so many children, from -l or 1"),
    Known::better(
        "-U",
        Some("MOUNT"),
        "read from the storage: the original mounts again before each test",
        "the file's pages are dropped from the cache before each read, what stays is counted, and nothing is unmounted",
    ),
    Known::same("-v", None, "the version"),
    Known::better(
        "-V",
        Some("PATTERN"),
        "verify what is read",
        "no two records hold the same, so misplaced ones are found too; only files written with -V can be verified",
    ),
    Known::better("-w", None, "the files stay", "they are marked, so that a later command knows them for its own"),
    Known::same("-W", None, "lock the whole file, around each record (the original: around each test)"),
    Known::same("-x", None, "count each child to its own end, not to that of the first"),
    Known::refused("-X", Some("FILE"), "writes as a file lists them", TELEMETRY),
    Known::same("-y", Some("SIZE"), "smallest record of the automatic mode"),
    Known::refused("-Y", Some("FILE"), "reads as a file lists them", TELEMETRY),
    Known::same("-z", None, "small records in the automatic mode's large files, too"),
    Known::refused("-Z", None, "mix mapped and other access", "a run has one kind of access: take -B, or leave it out"),
    Known::refused("-+b", Some("SIZE,MILLISECONDS"), "bursts", "children write evenly: take -+O RATE, or -J with -+J"),
    Known::same("-+E", None, "read files that IOzone did not write; takes -f or -F, and tests that read"),
    Known::refused("-+F", None, "empty the files before -i 8", "they are whole when it begins: leave it out"),
    Known::same("-+J", None, "the pauses of -J count"),
    Known::refused("-+K", Some("READERS"), "how many children of -i 8 read", "take -+p PERCENT"),
    Known::better(
        "-+m",
        Some("FILE"),
        "the children's hosts and directories: lines of `host directory path-to-iozone [file]`",
        "hosts that are not this one are refused before anything is written",
    ),
    Known::better(
        "-+d",
        None,
        "find out what corrupts files: as -V",
        "each byte is made anew from its place, and compared",
    ),
    Known::same("-+u", None, "time on processors"),
    Known::same("-+x", Some("N"), "growth of sizes in the automatic mode; 2 without"),
    Known::same("-+p", Some("PERCENT"), "how many children of -i 8 read; half of them without"),
    Known::better("-+r", None, "O_RSYNC and O_SYNC, which are the same on Linux", SYNCED),
    Known::refused("-+t", None, "test the network", "`ioassay net` does that"),
    Known::same("-+n", None, "no rewrite and no re-read"),
    Known::same("-+k", None, "-s is for all children together"),
    Known::same("-+q", Some("SECONDS"), "pause between tests"),
    Known::same("-+l", None, "lock each record"),
    Known::refused("-+L", None, "lock each record of one shared file", "children have a file each: take -+l"),
    Known::same("-+B", None, "-i 8 goes through the files in order"),
    Known::better("-+D", None, "O_DSYNC", SYNCED),
    Known::same("-+A", Some("ADVICE"), "madvise, with -B: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed"),
    Known::same("-+N", None, "the first write goes over what is there; without it files begin empty"),
    Known::refused("-+S", Some("SEED"), "seed of what repeats", DEDUPE),
    Known::refused("-+W", Some("N"), "number of the first child, for what repeats", DEDUPE),
    Known::refused(
        "-+V",
        None,
        "one shared file",
        "children have a file each: take `ioassay-engine ior` for shared files",
    ),
    Known::refused("-+U", None, "unbuffered access of Windows", "take -I"),
    Known::refused("-+X", None, "short circuit, for makers of file systems", "its results are not valid: leave it out"),
    Known::refused("-+Z", None, "data sets of old versions", "files of any version are known: leave it out"),
    Known::refused("-+w", Some("PERCENT"), "what repeats across files", DEDUPE),
    Known::refused("-+y", Some("PERCENT"), "what repeats within and across files", DEDUPE),
    Known::refused("-+C", Some("PERCENT"), "what repeats within files", DEDUPE),
    Known::ignored("-+H", Some("HOST"), "time server", PIT),
    Known::ignored("-+P", Some("SERVICE"), "port of the time server", PIT),
    Known::refused("-+z", None, "histograms of latencies", "a run directory has them: take --run DIR"),
    Known::same("-+O", Some("RATE"), "operations per second of each child, at most"),
    Known::ignored("-+T", None, "log files with times of start and end", "a run directory has them: see --run DIR"),
    Known::ignored("-+h", Some("HOST"), "this host, as others call it", "no other host calls it"),
    Known::ignored("-+i", Some("PORT"), "port of this host", "no other host calls it"),
    Known::refused("-+c", Some("HOST"), "be a child of that host", "children are started here: take -t N"),
    Known::refused("-+s", None, "say nothing", "redirect the output"),
];

/// What a command line gave: the values of each option, as often as it stood there.
#[derive(Debug, Default)]
pub struct Given {
    values: BTreeMap<&'static str, Vec<String>>,
    /// Arguments that are no options: IOzone passes over them.
    passed_over: Vec<String>,
}

impl Given {
    /// Reads `arguments` as IOzone does: letters may stand together, a value may follow its letter at once.
    ///
    /// # Errors
    /// If an option is unknown, refused or without its value. Arguments that are no options are passed over, as there.
    pub fn read(arguments: &[String]) -> Result<Self, Failure> {
        let mut given = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                given.passed_over.push(argument.clone());
                continue;
            };
            let mut letters = letters.chars();
            while let Some(letter) = letters.next() {
                let plus = letter == '+';
                let name = if plus { format!("-+{}", letters.as_str()) } else { format!("-{letter}") };
                let option = find(&name)?;
                // After -+LETTER the value is the next argument.
                let attached = if plus { "" } else { letters.as_str() };
                let values = match option.value {
                    None => Vec::new(),
                    Some("FILE...") => given.files(attached, &mut rest)?,
                    Some(_) if !attached.is_empty() => vec![attached.to_owned()],
                    Some(value) => vec![next(&name, value, &mut rest)?],
                };
                let ends = plus || option.value.is_some();
                given.values.entry(option.name).or_default().extend(values);
                if ends {
                    break;
                }
            }
        }
        Ok(given)
    }

    /// As many names of files as there are children at most.
    fn files(&self, first: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<Vec<String>, Failure> {
        let children = self.values("-t").iter().chain(self.values("-u")).chain(self.values("-l"));
        let children = children.filter_map(|count| count.parse::<usize>().ok()).max();
        let Some(children) = children else {
            return Err(usage("-F does not know how many files there are", "say -t CHILDREN before -F"));
        };
        let mut files: Vec<String> = if first.is_empty() { Vec::new() } else { vec![first.to_owned()] };
        while files.len() < children {
            files.push(next("-F", &format!("{children} names"), rest)?);
        }
        Ok(files)
    }

    /// What of it changes nothing, and why: a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let ignored = KNOWN.iter().filter(|known| self.has(known.name)).filter_map(|known| match known.verdict {
            Verdict::Ignored(because) => Some(format!("{} ({}) is ignored: {because}", known.name, known.meaning)),
            Verdict::Same | Verdict::Better(_) | Verdict::Refused(_) => None,
        });
        let words = self.passed_over.iter();
        let words =
            words.map(|word| format!("{word:?} is no option and is ignored, as the original does; see -f and -F"));
        ignored.chain(words).collect()
    }

    /// True if `name` was given.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// All values of `name`.
    pub fn values(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The only value of `name`, or none.
    ///
    /// # Errors
    /// If it was given more than once.
    pub fn value(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.values(name) {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            [first, ..] => {
                let remedy = format!("with several -t it has one value for all: write {name} {first}");
                Err(usage(format!("{name} is given more than once"), remedy))
            }
        }
    }

    /// The whole number that `name` was given, within `range`.
    ///
    /// # Errors
    /// If its value is no such number.
    pub fn number(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Failure> {
        self.value(name)?.map(|text| whole(name, text, range)).transpose()
    }
}

/// The whole number `text`, a value of `name`, within `range`.
pub fn whole(name: &str, text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, Failure> {
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let remedy = format!("write a whole number from {} to {}", range.start(), range.end());
        usage(format!("{name} {text:?} is no such number"), remedy)
    })
}

fn next(name: &str, value: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<String, Failure> {
    rest.next().cloned().ok_or_else(|| usage(format!("{name} needs a value"), format!("write {name} {value}")))
}

/// The option `name`, unless it is refused.
fn find(name: &str) -> Result<&'static Known, Failure> {
    let Some(option) = KNOWN.iter().find(|known| known.spellings().any(|spelling| spelling == name)) else {
        return Err(usage(format!("IOzone has no option {name}"), "ioassay-engine iozone -h lists what there is"));
    };
    match option.verdict {
        Verdict::Refused(because) => Err(usage(format!("IOzone's {name} ({}) is refused", option.meaning), because)),
        Verdict::Same | Verdict::Better(_) | Verdict::Ignored(_) => Ok(option),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Given, Failure> {
        Given::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn letters_stand_together_and_values_follow_at_once_or_next() {
        let given = read("-cew -i0 -i 1 -s8m -r 1m -t 2 -F a b -+n -+m list").unwrap();
        assert!(["-c", "-e", "-w", "-+n"].iter().all(|name| given.has(name)));
        assert_eq!(given.values("-i"), ["0", "1"]);
        assert_eq!(given.value("-s").unwrap(), Some("8m"));
        assert_eq!(given.values("-F"), ["a", "b"]);
        assert_eq!(given.value("-+m").unwrap(), Some("list"));
    }

    #[test]
    fn every_refused_option_is_refused_by_its_name_with_what_to_take_instead() {
        for option in KNOWN {
            let Verdict::Refused(because) = option.verdict else { continue };
            let failure = read(&format!("-c {} 1", option.name)).unwrap_err();
            assert!(failure.message.contains(option.name), "{failure:?}");
            assert_eq!(failure.remedy, because);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        for (line, named) in [
            ("-%", "-%"),
            ("-+!", "-+!"),
            ("-s", "-s"),
            ("-+m", "-+m"),
            ("-F a b", "-F"),
            ("-t 3 -F a b", "-F"),
            ("-+nope", "-+nope"),
        ] {
            let failure = read(line).unwrap_err();
            assert!(failure.message.contains(named), "{line}: {failure:?}");
        }
        assert!(read("-s 1 -s 2").unwrap().value("-s").unwrap_err().message.contains("-s"));
        assert!(read("-j x").unwrap().number("-j", 1..=9).unwrap_err().message.contains("\"x\""));
    }

    #[test]
    fn what_changes_nothing_is_said() {
        let warnings = read("-i0 -T -S 512 /dev/sda1 +Z").unwrap().warnings();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        for (warning, named) in warnings.iter().zip(["-S (", "-T (", "\"/dev/sda1\"", "\"+Z\""]) {
            assert!(warning.starts_with(named) && warning.contains("ignored"), "{warning}");
        }
        assert!(read("-a -i0").unwrap().warnings().is_empty());
    }

    #[test]
    fn no_option_stands_in_the_table_twice() {
        let mut names: Vec<&str> = KNOWN.iter().flat_map(Known::spellings).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
