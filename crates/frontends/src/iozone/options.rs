//! IOzone's options, all of `iozone -h` and a few that it takes without saying so, and what of them was given.
//!
//! Not here: what an option does ([`super::translate`]).

use std::collections::BTreeMap;

use ioassay_protocol::events::Failure;

use crate::common::usage;
use crate::options::{ToolOption, Verdict};

const AIO: &str = "io_uring keeps the transfers in flight, without threads or extra copies";
const PROCESSOR: &str = "the result does not depend on the processor's cache";
const PIT: &str = "the clocks need no time server";
const SYNCED: &str = "each write is followed by an fsync whose result is checked";
const DEDUPE: &str = "records never repeat data: use a study with a payload that has duplicate_percent";
const TELEMETRY: &str = "offsets follow from the test: use a study with the order zipf or hot-spot";

/// Every option.
pub const KNOWN: &[ToolOption] = &[
    ToolOption::same("-a", None, "automatic mode: files from 64 KiB to 512 MiB, in records from 4 KiB to 16 MiB"),
    ToolOption::same("-A", None, "the older automatic mode: -a -z -i 0 -i 1"),
    ToolOption::better(
        "-b",
        Some("FILE"),
        "also write the tables of -R to an Excel worksheet",
        "a file that is not such a worksheet is not overwritten",
    ),
    ToolOption::same("-B", None, "access the files by mmap"),
    ToolOption::better(
        "-c",
        None,
        "include the time of close",
        "without -x the first child's close is always included",
    ),
    ToolOption::same("-C", None, "show what each child moved, and its throughput"),
    ToolOption::ignored(
        "-d",
        Some("MICROSECONDS"),
        "start the children one after another",
        "all children start at once",
    ),
    ToolOption::same("-D", None, "access the files by mmap, with msync(MS_ASYNC), which does nothing on Linux"),
    ToolOption::same("-e", None, "include the time of fsync; without it nothing is synced"),
    ToolOption::same("-E", None, "add table columns for pwrite and pread (-i 9, -i 10)"),
    ToolOption::same("-f", Some("FILE"), "file name, without -t (default: iozone.tmp)"),
    ToolOption::same("-F", Some("FILE..."), "the children's files, one for each child; must follow -t"),
    ToolOption::same("-g", Some("SIZE"), "largest file size in automatic mode"),
    ToolOption::same(
        "-G",
        None,
        "with -B or -D, msync(MS_SYNC) after each record; without them no effect, as in the original",
    ),
    ToolOption::same("-h", None, "show this help"),
    ToolOption::better("-H", Some("N"), "keep N asynchronous transfers of each child in flight", AIO),
    ToolOption::better(
        "-i",
        Some("TEST"),
        "0 write and rewrite, 1 read and re-read, 2 random read and write, 3 read backward, 4 rewrite one record \
         (without -t), 5 read with strides, 6 fwrite, 7 fread, 8 readers beside writers (with -t), 9 pwrite, 10 pread \
         (9 and 10 with -t or -E); default: all tests of the mode",
        "all children are counted up to the moment when the first one finishes, and then continue, so that every test \
         finds complete files",
    ),
    ToolOption::same("-I", None, "O_DIRECT"),
    ToolOption::same("-j", Some("RECORDS"), "stride of -i 5 in records (default: 17)"),
    ToolOption::same("-J", Some("MILLISECONDS"), "pause before each record, in milliseconds; needs -+J"),
    ToolOption::better("-k", Some("N"), "as -H, without extra copies", AIO),
    ToolOption::ignored(
        "-K",
        None,
        "reads with jitter in their order",
        "reads stay in order; use -i 2 for random order",
    ),
    ToolOption::same("-l", Some("CHILDREN"), "lowest number of children; repeats with one more up to -u"),
    ToolOption::ignored("-L", Some("BYTES"), "size of a cache line of the processor", PROCESSOR),
    ToolOption::ignored("-m", None, "use several buffers", "each child has one buffer per transfer in flight; see -H"),
    ToolOption::same("-M", None, "show the machine's name and kernel (uname)"),
    ToolOption::same("-n", Some("SIZE"), "smallest file size in automatic mode"),
    ToolOption::same("-N", None, "show microseconds per operation, without -t"),
    ToolOption::better("-o", None, "O_SYNC", SYNCED),
    ToolOption::same("-O", None, "show operations per second"),
    ToolOption::ignored("-p", None, "purge the processor's cache", PROCESSOR),
    ToolOption::ignored(
        "-P",
        Some("CPU"),
        "bind children to processors",
        "the scheduler places them; use taskset or numactl",
    ),
    ToolOption::same("-q", Some("SIZE"), "largest record size in automatic mode"),
    ToolOption::refused(
        "-Q",
        None,
        "write files with the latency of each offset",
        "a run directory has histograms; use --run DIR",
    ),
    ToolOption::same(
        "-r",
        Some("SIZE"),
        "record size in KiB, or with suffix k, m or g (default: 4 KiB); several make a table",
    ),
    ToolOption::same("-R", None, "print tables for Excel at the end"),
    ToolOption::same("-s", Some("SIZE"), "file size (of each child), as -r (default: 512 KiB); several make a table"),
    ToolOption::ignored("-S", Some("SIZE"), "size of the processor's cache", PROCESSOR),
    ToolOption::same("-t", Some("CHILDREN"), "number of children (processes); several -t run one after another"),
    ToolOption::ignored("-T", None, "threads instead of processes", "children are processes that do the same I/O"),
    ToolOption::same("-u", Some("CHILDREN"), "highest number of children, starting from -l or 1"),
    ToolOption::better(
        "-U",
        Some("MOUNT"),
        "remount before each test, to read from the storage",
        "the file's pages are dropped from the page cache before each read, what stays is reported, and nothing is \
         unmounted",
    ),
    ToolOption::same("-v", None, "show the version"),
    ToolOption::better(
        "-V",
        Some("PATTERN"),
        "verify the data read",
        "all records differ, so misplaced records are found too; only files written with -V can be verified",
    ),
    ToolOption::better("-w", None, "keep the files", "the files are marked, so that a later command recognises them"),
    ToolOption::same("-W", None, "lock the file around each record (the original: around each test)"),
    ToolOption::same("-x", None, "count each child up to its own end, not that of the first child to finish"),
    ToolOption::refused("-X", Some("FILE"), "write in the order listed in a file", TELEMETRY),
    ToolOption::same("-y", Some("SIZE"), "smallest record size in automatic mode"),
    ToolOption::refused("-Y", Some("FILE"), "read in the order listed in a file", TELEMETRY),
    ToolOption::same("-z", None, "also use small records for large files in automatic mode"),
    ToolOption::refused(
        "-Z",
        None,
        "mix mmap and other access",
        "a run has one kind of access; use -B, or leave it out",
    ),
    ToolOption::refused(
        "-+b",
        Some("SIZE,MILLISECONDS"),
        "bursts",
        "children write at the same rate; use -+O RATE, or -J with -+J",
    ),
    ToolOption::same("-+E", None, "read files that IOzone did not write; needs -f or -F, and read tests only"),
    ToolOption::refused(
        "-+F",
        None,
        "truncate the files before -i 8",
        "the files are complete when it starts; leave it out",
    ),
    ToolOption::same("-+J", None, "include the pauses of -J in the time"),
    ToolOption::refused("-+K", Some("READERS"), "number of children of -i 8 that read", "use -+p PERCENT"),
    ToolOption::better(
        "-+m",
        Some("FILE"),
        "file with the children's hosts and directories: lines of `host directory path-to-iozone [file]`",
        "hosts other than this one are refused before anything is written",
    ),
    ToolOption::better(
        "-+d",
        None,
        "diagnose file corruption: as -V",
        "each byte is generated again from its offset, and compared",
    ),
    ToolOption::same("-+u", None, "show CPU utilisation"),
    ToolOption::same("-+x", Some("N"), "growth factor of sizes in automatic mode (default: 2)"),
    ToolOption::same("-+p", Some("PERCENT"), "percentage of children of -i 8 that read (default: 50)"),
    ToolOption::better("-+r", None, "O_RSYNC and O_SYNC, which are the same on Linux", SYNCED),
    ToolOption::refused("-+t", None, "test the network", "`ioassay net` measures the network"),
    ToolOption::same("-+n", None, "skip rewrite and re-read"),
    ToolOption::same("-+k", None, "-s is the total of all children"),
    ToolOption::same("-+q", Some("SECONDS"), "pause between tests, in seconds"),
    ToolOption::same("-+l", None, "lock each record"),
    ToolOption::refused("-+L", None, "lock each record of a shared file", "each child has its own file; use -+l"),
    ToolOption::same("-+B", None, "-i 8 reads and writes sequentially"),
    ToolOption::better("-+D", None, "O_DSYNC", SYNCED),
    ToolOption::same(
        "-+A",
        Some("ADVICE"),
        "madvise, with -B: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed",
    ),
    ToolOption::same("-+N", None, "the first write overwrites existing data; by default files start empty"),
    ToolOption::refused("-+S", Some("SEED"), "seed of the data that repeats", DEDUPE),
    ToolOption::refused("-+W", Some("N"), "number of the first child, for data that repeats", DEDUPE),
    ToolOption::refused(
        "-+V",
        None,
        "use one shared file",
        "each child has its own file; use `ioassay-engine ior` for shared files",
    ),
    ToolOption::refused("-+U", None, "unbuffered I/O on Windows", "there is no Windows here; use -I"),
    ToolOption::refused(
        "-+X",
        None,
        "short-circuit I/O, for file system developers",
        "its results are not valid; leave it out",
    ),
    ToolOption::refused("-+Z", None, "data sets of old versions", "files of any version are recognised; leave it out"),
    ToolOption::refused("-+w", Some("PERCENT"), "percentage of data that repeats across files", DEDUPE),
    ToolOption::refused("-+y", Some("PERCENT"), "percentage of data that repeats within and across files", DEDUPE),
    ToolOption::refused("-+C", Some("PERCENT"), "percentage of data that repeats within files", DEDUPE),
    ToolOption::ignored("-+H", Some("HOST"), "time server", PIT),
    ToolOption::ignored("-+P", Some("SERVICE"), "port of the time server", PIT),
    ToolOption::refused("-+z", None, "write latency histograms", "a run directory has them; use --run DIR"),
    ToolOption::same("-+O", Some("RATE"), "limit each child to this many operations per second"),
    ToolOption::ignored(
        "-+T",
        None,
        "write log files with start and end times",
        "a run directory has them; use --run DIR",
    ),
    ToolOption::ignored("-+h", Some("HOST"), "name of this host, as seen by others", "no other host connects to it"),
    ToolOption::ignored("-+i", Some("PORT"), "port of this host", "no other host connects to it"),
    ToolOption::refused("-+c", Some("HOST"), "run as a child of that host", "children are started here; use -t N"),
    ToolOption::refused("-+s", None, "print nothing", "redirect the output instead"),
];

/// What a command line gave: the values of each option, as often as it stood there.
#[derive(Debug, Default)]
pub struct Options {
    values: BTreeMap<&'static str, Vec<String>>,
    /// Arguments that are no options: IOzone passes over them.
    passed_over: Vec<String>,
}

impl Options {
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
            return Err(usage("-F needs the number of children", "write -t CHILDREN before -F"));
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
            words.map(|word| format!("{word:?} is not an option and is ignored, as in the original; see -f and -F"));
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
                let remedy = format!("with several -t it can have only one value: write {name} {first}");
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
        usage(format!("{name} {text:?} is not a valid number"), remedy)
    })
}

fn next(name: &str, value: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<String, Failure> {
    rest.next().cloned().ok_or_else(|| usage(format!("{name} needs a value"), format!("write {name} {value}")))
}

/// The option `name`, unless it is refused.
fn find(name: &str) -> Result<&'static ToolOption, Failure> {
    let Some(option) = KNOWN.iter().find(|known| known.spellings().any(|spelling| spelling == name)) else {
        return Err(usage(format!("IOzone has no option {name}"), "`ioassay-engine iozone -h` lists all options"));
    };
    match option.verdict {
        Verdict::Refused(because) => Err(usage(format!("IOzone's {name} ({}) is refused", option.meaning), because)),
        Verdict::Same | Verdict::Better(_) | Verdict::Ignored(_) => Ok(option),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Failure> {
        Options::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
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
    fn options_without_effect_are_reported() {
        let warnings = read("-i0 -T -S 512 /dev/sda1 +Z").unwrap().warnings();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        for (warning, named) in warnings.iter().zip(["-S (", "-T (", "\"/dev/sda1\"", "\"+Z\""]) {
            assert!(warning.starts_with(named) && warning.contains("ignored"), "{warning}");
        }
        assert!(read("-a -i0").unwrap().warnings().is_empty());
    }

    #[test]
    fn no_option_stands_in_the_table_twice() {
        let mut names: Vec<&str> = KNOWN.iter().flat_map(ToolOption::spellings).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
