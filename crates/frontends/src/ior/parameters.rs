//! A command line of IOR: its tests, from options, directives and scripts.
//!
//! Not here: files and steps ([`super::translate`]), printing.

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use super::options::{DIRECTIVES, OPTIONS};
use super::settings::{Api, Format, Random, Settings, Test};
use crate::common::usage;
use crate::options::{self, GivenOption, find};

/// A command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The tests, one unless a script has more.
    pub tests: Vec<Test>,
    /// `-O summaryFile`.
    pub summary_file: Option<PathBuf>,
    /// `-O summaryFormat`.
    pub format: Format,
    /// What is to be said of options that change nothing.
    pub warnings: Vec<String>,
}

impl Parameters {
    /// The parameters of a command line.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut settings = Settings::default();
        for given in options::parse("ior", OPTIONS, arguments)? {
            settings.take(&given)?;
        }
        let mut tests = match settings.script.take() {
            Some(script) => {
                let text = std::fs::read_to_string(&script).map_err(|error| {
                    usage(format!("-f {}: {error}", script.display()), "check that the script exists and can be read")
                })?;
                settings.script_tests(&text)?
            }
            None => vec![settings.test],
        };
        for test in &mut tests {
            if !(test.write || test.read || test.check_write || test.check_read) {
                (test.write, test.read) = (true, true);
            }
            validate(test)?;
            settings.warnings.extend(without_effect(test));
        }
        let Settings { summary_file, format, warnings, .. } = settings;
        Ok(Self { tests, summary_file, format, warnings })
    }
}

/// What is to be said of an option that the API of `test` does not look at.
fn without_effect(test: &Test) -> Option<String> {
    let name = test.api.name();
    let ignored = test.direct && !test.api.goes_past_the_cache();
    ignored.then(|| format!("WARNING: --posix.odirect is ignored: {name} does not use it"))
}

impl Settings {
    /// Sets what is `given`.
    fn take(&mut self, given: &GivenOption<Self>) -> Result<(), Failure> {
        self.warnings.extend(given.warning());
        given.set(self)
    }

    /// Reads the tests between `IOR START` and `IOR STOP`: directives, and `RUN` after those of each test. A test begins
    /// as the one before it ended.
    fn script_tests(&mut self, text: &str) -> Result<Vec<Test>, Failure> {
        let is = |line: &str, word: &str| line.trim().eq_ignore_ascii_case(word);
        let lines = text.lines().skip_while(|line| !is(line, "ior start")).skip(1).map(str::trim);
        let mut tests = Vec::new();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if is(line, "ior stop") {
                break;
            }
            if is(line, "run") {
                tests.push(self.test.clone());
            } else {
                self.directives(line)?;
            }
        }
        if tests.is_empty() {
            return Err(usage(
                "the script runs no test",
                "write IOR START, directives, RUN and IOR STOP, each on its own line",
            ));
        }
        Ok(tests)
    }

    /// Applies directives with commas between them.
    pub fn directives(&mut self, line: &str) -> Result<(), Failure> {
        let line = line.split('#').next().unwrap_or_default();
        for directive in line.split(',') {
            let Some((name, value)) = directive.split_once('=') else {
                return Err(usage(format!("{directive:?} is not a directive"), "write NAME=VALUE"));
            };
            let (name, value) = (name.trim(), value.trim());
            // Those of the APIs are named with their dashes.
            let (option, spelling) = if name.starts_with("--") {
                (find(OPTIONS, name), name.to_owned())
            } else {
                let spelling = format!("-O {name}");
                (DIRECTIVES.iter().find(|directive| directive.is_spelt_in_any_case(&spelling)), spelling)
            };
            let Some(option) = option else {
                let remedy = "`ioassay-engine ior -h` lists all directives";
                return Err(usage(format!("ior has no directive {name}"), remedy));
            };
            let given = GivenOption { option, spelling, value: Some(value.to_owned()) };
            given.taken()?;
            self.take(&given)?;
        }
        Ok(())
    }
}

/// Refuses what IOR refuses, and what it ought to.
fn validate(test: &Test) -> Result<(), Failure> {
    let refuse = |condition: bool, problem: &str, remedy: &str| {
        if condition { Err(usage(problem, remedy)) } else { Ok(()) }
    };
    refuse(test.repetitions == 0, "-i 0 does nothing", "use -i 1 or more")?;
    refuse(test.tasks == Some(0), "-N 0 does nothing", "use -N 1 or more")?;
    refuse(test.transfer_bytes == 0, "-t 0 never finishes", "use a transfer size of at least 8 bytes")?;
    refuse(
        !test.transfer_bytes.is_multiple_of(8) || !test.block_bytes.is_multiple_of(8),
        "transfer and block sizes must be multiples of 8 bytes",
        "use multiples of 8 for -t and -b",
    )?;
    refuse(
        test.block_bytes == 0 || !test.block_bytes.is_multiple_of(test.transfer_bytes),
        "the block size (-b) is not a multiple of the transfer size (-t)",
        "use a multiple",
    )?;
    refuse(test.segments == 0, "-s 0 does nothing", "use -s 1 or more")?;
    refuse(test.reorder && test.reorder_random > 0, "-C and -Z are mutually exclusive", "use one of them")?;
    refuse(
        test.random == Random::Shuffled && test.block_bytes == test.transfer_bytes,
        "-z shuffles the transfers of a block, but this block is a single transfer",
        "use a larger -b and fewer segments",
    )?;
    refuse(
        test.random.is_random() && !test.file_per_process && (test.reorder || test.reorder_random > 0),
        "in a shared file -z decides which rank reads what, which conflicts with -C and -Z",
        "use one of them, or -F",
    )?;
    refuse(
        test.api == Api::Dummy && (test.check_write || test.check_read),
        "-a DUMMY keeps nothing that could be verified",
        "leave out -R and -W, or use another API",
    )?;
    refuse(
        test.random == Random::Drawn && (test.write || test.check_write || test.check_read),
        "-z -z draws blocks of an existing file, whichever rank wrote them, so it can neither write nor verify",
        "use -r alone; IOR divides by zero when it writes",
    )?;
    refuse(
        test.random == Random::Shuffled && test.check_read && !test.write && test.random_seed == -1,
        "-R with -z needs the random seed of the write",
        "set --random-offset-seed to the seed of the write",
    )?;
    refuse(!test.random.is_random() && test.prefill_bytes > 0, "--randomPrefill has no use without -z", "add -z")?;
    refuse(
        test.prefill_bytes > 0 && !test.block_bytes.is_multiple_of(test.prefill_bytes),
        "--randomPrefill does not divide the block",
        "use a divisor of -b",
    )?;
    refuse(
        test.check_read && !test.write && test.signature == 0,
        "-R needs the signature of the data, which was written by another command",
        "use the same -G for the write and the read",
    )?;
    refuse(
        test.status_file.is_some() && !test.keep,
        "a status file is for a later read, but the file is not kept",
        "add -k",
    )?;
    refuse(
        test.status_file.is_some() && test.write && !test.wear_out,
        "a status file needs all ranks to stop at the same transfer",
        "add -O stoneWallingWearOut=1",
    )?;
    refuse(test.wear_out && test.deadline_s == 0, "stoneWallingWearOut needs a stonewall", "add -D SECONDS")?;
    refuse(
        test.collective && test.api.plug_in().is_none(),
        "only MPIIO, HDF5 and NCMPI support collective I/O (-c)",
        "leave it out, or use -a MPIIO",
    )?;
    refuse(
        test.collective && test.deadline_s > 0 && !test.file_per_process,
        "-c with -D: all ranks make each transfer of a shared file together, but a stonewall stops them at different \
         transfers",
        "leave out -D or -c, or use -F",
    )?;
    refuse(
        (test.preallocate || test.strided) && test.api != Api::MpiIo,
        "--mpiio.preallocate and --mpiio.useStridedDatatype work with MPI-IO only",
        "leave them out, or use -a MPIIO",
    )?;
    for (key, (api, _)) in &test.plug_in_options {
        let problem = format!("an option of {} ({key}) is used with -a {}", api.name(), test.api.name());
        refuse(*api != test.api, &problem, &format!("leave it out, or use -a {}", api.name()))?;
    }
    refuse(
        test.strided && test.block_bytes != test.transfer_bytes,
        "a strided datatype moves one block of each segment per call, but the block (-b) has several transfers",
        "use a -b equal to -t, and more segments",
    )?;
    refuse(
        test.strided && test.plug_in_options.contains_key("view"),
        "a file view (-V) and a strided datatype (-S) are mutually exclusive",
        "use one of them",
    )?;
    let names = test.file.split('@').count();
    refuse(
        names > 1 && test.unique_directory,
        "several file names and -u (a directory for each file) are mutually exclusive",
        "use one of them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{ToolOption, Verdict, known};

    fn parse(line: &str) -> Result<Parameters, Failure> {
        Parameters::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn test(line: &str) -> Test {
        parse(line).unwrap().tests.remove(0)
    }

    #[test]
    fn flags_stand_together_and_values_follow_in_any_way() {
        let expected = Test { write: true, keep: true, file_per_process: true, verbose: 2, ..Test::default() };
        assert_eq!(test("-wkF -vv"), expected);
        for line in ["-w -b 4m", "-w -b4m", "-w -b=4m", "-w -O blockSize=4m", "-w -O BLOCKSIZE=4m,verbose=0"] {
            assert_eq!(test(line), Test { write: true, block_bytes: 4 << 20, ..Test::default() }, "{line}");
        }
        assert_eq!(test("-w -X -5 -ZZ").reorder_seed, -5);
        assert_eq!(test("-w -X -5 -ZZ").reorder_random, 2);
    }

    #[test]
    fn without_an_action_it_writes_and_reads() {
        assert!(test("-t 1m -b 1m").write && test("-t 1m -b 1m").read);
        assert!(!test("-w").read && !test("-R -G 3").write);
    }

    #[test]
    fn sizes_that_ior_misreads_are_refused() {
        for size in ["1.5g", "100x", "-5", "m", "1e6", ""] {
            let failure = Parameters::parse(&["-b".to_owned(), size.to_owned()]).unwrap_err();
            assert!(failure.message.contains("-b"), "{size}: {failure:?}");
        }
    }

    #[test]
    fn an_api_keeps_its_spelling_and_what_it_does_not_look_at_is_warned_of() {
        let plain = parse("-a posix --posix.odirect").unwrap();
        assert_eq!((plain.tests[0].typed_api.as_str(), plain.warnings), ("posix", vec![]));
        let other = parse("-a mpiio --posix.odirect").unwrap();
        assert_eq!((other.tests[0].typed_api.as_str(), other.warnings.len()), ("mpiio", 1));
        assert!(other.warnings[0].contains("MPIIO does not use it"), "{:?}", other.warnings);
    }

    #[test]
    fn a_script_runs_its_tests_each_from_where_the_one_before_ended() {
        let script = "junk before\nIOR START\n  api=POSIX, blockSize=1m # a comment\n\n# another\nRUN\n\
                      transferSize=64k\nrun\nRUN\nIOR STOP\nafter=ignored\n";
        let tests = Settings::default().script_tests(script).unwrap();
        let sizes: Vec<_> = tests.iter().map(|test| (test.block_bytes, test.transfer_bytes)).collect();
        assert_eq!(sizes, [(1 << 20, 256 << 10), (1 << 20, 64 << 10), (1 << 20, 64 << 10)]);
        assert!(Settings::default().script_tests("IOR START\nwriteFile=1\nIOR STOP").is_err());
    }

    #[test]
    fn an_option_with_two_spellings_is_set_by_each_of_them_also_as_a_directive() {
        for line in ["-w -a MPIIO -p", "-w -a MPIIO --mpiio.preallocate", "-w -a MPIIO -O --mpiio.preallocate=1"] {
            assert!(test(line).preallocate, "{line}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_a_remedy() {
        for line in [
            "-t 3",
            "-t 1m -b 1536k",
            "-C -Z",
            "-z -b 1m -t 1m",
            "-z -C",
            "-r -R",
            "-w -O stoneWallingWearOut=1",
            "-w -D 1 -O stoneWallingWearOut=1,stoneWallingStatusFile=s",
            "-u -o a@b -F",
            "-i 0",
            "-s 0",
            "-zz",
            "-z -z -r -R -G 1 --random-offset-seed 3",
            "-r -z -z -C",
            "-r -R -G 1 -z -b 4m",
            "--randomPrefill 1m",
            "-w -c",
            "-w -c -D 3 -a MPIIO",
            "-w -p",
            "-w -S -b 256k",
            "-w -V",
            "-w -a HDF5 -V",
            "-w -a MPIIO -S -t 1m -b 2m",
            "-w -a MPIIO -S -V -t 1m -b 1m",
        ] {
            let failure = parse(line).unwrap_err();
            assert!(!failure.remedy.is_empty(), "{line}");
        }
    }

    /// A command line that gives one option, with a value that every kind of value takes.
    fn with(option: &ToolOption, spelling: &str) -> Vec<String> {
        let value = match option.value {
            Some("SIZE") if spelling.ends_with("Prefill") => Some("1m"),
            Some("SIZE") => Some("2m"),
            Some("API") => Some("MMAP"),
            Some("FILE") if spelling.contains("hints") || spelling == "-U" => Some("/dev/null"),
            Some("TYPE") => Some("o"),
            Some("default|JSON|CSV") => Some("CSV"),
            Some(_) => Some("1"),
            None => None,
        };
        let base = ["-w", "-k", "-D", "1", "-O", "stoneWallingWearOut=1", "-b", "4m"].map(str::to_owned);
        let option = match spelling.strip_prefix("-O ") {
            Some(name) => vec!["-O".to_owned(), format!("{name}={}", value.unwrap_or("1"))],
            None => std::iter::once(spelling).chain(value).map(str::to_owned).collect(),
        };
        let random = spelling.contains("Prefill").then(|| "-z".to_owned());
        let api = match spelling.trim_start_matches("-O ") {
            "-S" => &["-a", "MPIIO", "-t", "4m"][..],
            // In files of their own, which a stonewall may end at different transfers.
            "-c" | "--collective" | "collective" => &["-a", "MPIIO", "-F"],
            "-p" | "-V" | "-U" => &["-a", "MPIIO"],
            name if name.ends_with("Datatype") => &["-a", "MPIIO", "-t", "4m"],
            name if name.starts_with("--mpiio") => &["-a", "MPIIO"],
            name if name.starts_with("--hdf5") || matches!(name, "-J" | "-n") => &["-a", "HDF5"],
            name if name.starts_with("--ncmpi") => &["-a", "NCMPI"],
            _ => &[],
        };
        let api = api.iter().map(|word| (*word).to_owned());
        base.into_iter().chain(random).chain(api).chain(option).collect()
    }

    #[test]
    fn every_option_of_the_table_is_taken_or_refused_by_its_name_as_the_table_says() {
        for option in known(OPTIONS).iter().chain(&known(DIRECTIVES)) {
            // A script that is there, help that ends, and directives that need one, are tried elsewhere.
            for spelling in option.spellings().filter(|name| !matches!(*name, "-f" | "-O" | "-h" | "--help")) {
                let parsed = Parameters::parse(&with(option, spelling));
                match option.verdict {
                    Verdict::Refused(_) => {
                        let failure = parsed.unwrap_err();
                        assert!(failure.message.contains(spelling), "{spelling}: {}", failure.message);
                    }
                    Verdict::Same | Verdict::Better(_) | Verdict::Ignored(_) => {
                        assert!(parsed.is_ok(), "{spelling}: {parsed:?}");
                    }
                }
            }
        }
    }
}
