//! IOzone's command lines as users type them: real processes, real files. What is printed is held against the
//! events of the run directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ioassay_frontends::iozone::options::KNOWN;
use ioassay_frontends::options::Verdict;
use ioassay_protocol::events::{Event, PhaseRecord, RankRecord};

/// A directory to work in.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `iozone` with the words of `line`, amounts divided by `scale_down`.
    fn scaled(&self, scale_down: u64, line: &str) -> Output {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
        engine.arg("iozone").args(line.split_whitespace()).current_dir(self.0.path());
        engine.env("IOASSAY_SCALE_DOWN", scale_down.to_string()).env_remove("IOASSAY_RANKS").output().unwrap()
    }

    fn run(&self, line: &str) -> Output {
        self.scaled(1, line)
    }

    /// Runs what must succeed; what it printed.
    fn prints(&self, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", errors(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs what must end with `code`; what it complained of.
    fn fails(&self, code: i32, line: &str) -> String {
        let output = self.run(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", errors(&output));
        errors(&output)
    }

    /// The names of what is in the directory.
    fn entries(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    /// The phases of the case `case` in the run directory `run`.
    fn phases(&self, run: &str, case: &str) -> Vec<PhaseRecord> {
        let events = fs::read_to_string(self.path(run).join("logs").join(case).join("events.jsonl")).unwrap();
        let phase = |line: &str| match serde_json::from_str(line).unwrap() {
            Event::Phase(record) => Some(*record),
            _ => None,
        };
        events.lines().filter_map(phase).collect()
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The figure behind the `=` of the line that begins with `\t` and `name`, and what stands before the figure.
fn figure(text: &str, name: &str) -> f64 {
    let line =
        text.lines().find(|line| line.starts_with(&format!("\t{name}"))).unwrap_or_else(|| panic!("{name}: {text}"));
    line.split_once('=').unwrap().1.split_whitespace().next().unwrap().parse().unwrap()
}

/// KiB per second of each child, as IOzone counts them.
fn rates(record: &PhaseRecord) -> Vec<f64> {
    let rate = |rank: &RankRecord| match rank.at_first_finish.unwrap().bytes {
        // It may still have been opening its file when the first child finished.
        0 => 0.0,
        bytes => {
            let ns = record.first_finished_ns - rank.start_ns - rank.open_ns;
            bytes as f64 / 1024.0 / (ns as f64 / 1e9)
        }
    };
    record.ranks.iter().map(rate).collect()
}

fn close(printed: f64, wanted: f64) {
    assert!((printed - wanted).abs() <= 0.006 + wanted * 1e-9, "{printed} is printed, {wanted} was measured");
}

#[test]
fn the_white_paper_s_two_commands_write_files_and_read_them_again() {
    let lab = Lab::new();
    let here = lab.0.path().display().to_string();
    fs::write(lab.path("threadlist"), format!("localhost {here} /opt/iozone/iozone\n").repeat(12)).unwrap();
    // 128 GiB / 2^14: one record of 8 MiB each.
    let scale = 1 << 14;
    let line = "-c -e -w -r 8M -s 128G -t 12 -+n -+m ./threadlist";
    let write = lab.scaled(scale, &format!("-i0 {line} --run {here}/first"));
    assert_eq!(write.status.code(), Some(0), "{}", errors(&write));
    let files: Vec<PathBuf> = (0..12).map(|child| lab.path(&format!("iozone.DUMMY.{child}"))).collect();
    assert!(files.iter().all(|file| fs::metadata(file).unwrap().len() == 8 << 20));
    let read = lab.scaled(scale, &format!("-i1 {line} --run {here}/second"));
    assert_eq!(read.status.code(), Some(0), "{}", errors(&read));
    assert!(files.iter().all(|file| file.exists()), "-w keeps what was only read, too");

    for (output, run, name, children) in [
        (write, "first", "write", "Children see throughput for 12 initial writers \t= "),
        (read, "second", "read", "Children see throughput for 12 readers \t\t= "),
    ] {
        let text = String::from_utf8(output.stdout).unwrap();
        let phases = lab.phases(run, "t12-1");
        assert_eq!(phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), [name], "-+n: no second time");
        let rates = rates(&phases[0]);
        close(figure(&text, children), rates.iter().sum());
        close(
            figure(&text, "Min throughput per process \t\t\t= "),
            rates.iter().copied().fold(f64::INFINITY, f64::min),
        );
        close(figure(&text, "Max throughput per process \t\t\t= "), rates.iter().copied().fold(0.0, f64::max));
        close(figure(&text, "Avg throughput per process \t\t\t= "), rates.iter().sum::<f64>() / 12.0);
        let least = phases[0].ranks.iter().map(|rank| rank.at_first_finish.unwrap().bytes).min().unwrap();
        close(figure(&text, "Min xfer \t\t\t\t\t= "), least as f64 / 1024.0);
        assert!(text.contains("\n\tTest running:\n") && !text.contains("Parent sees"), "as IOzone with -+m: {text}");
        assert_eq!(fs::read_to_string(lab.path(run).join("console.txt")).unwrap(), text);
    }
    let first = &lab.phases("first", "t12-1")[0];
    assert!(first.ranks.iter().all(|rank| rank.fsync_ns > 0), "-e");
}

#[test]
fn every_test_has_the_lines_of_the_original() {
    let lab = Lab::new();
    let text = lab.prints("-r 4 -s 64 -t 2 -C -+u -R");
    for (children, report) in [
        ("for  2 initial writers \t=", "  Initial write"),
        ("for  2 rewriters \t=", "        Rewrite"),
        ("for  2 readers \t\t=", "           Read"),
        ("for 2 re-readers \t=", "        Re-read"),
        ("for 2 reverse readers \t=", "   Reverse Read"),
        ("for 2 stride readers \t=", "    Stride read"),
        ("for 2 random readers \t=", "    Random read"),
        ("for 2 mixed workload \t=", " Mixed workload"),
        ("for 2 random writers \t=", "   Random write"),
        ("for 2 pwrite writers \t=", "         Pwrite"),
        ("for 2 pread readers \t=", "          Pread"),
        ("for  2 fwriters \t=", "         Fwrite"),
        ("for  2 freaders \t=", "          Fread"),
    ] {
        for who in ["Children see", "Parent sees"] {
            // Streams have one tab more there.
            let more = if who == "Parent sees" && report.contains("  F") { "\t" } else { "" };
            let name = format!("\n\t{who} throughput {} ", children.replace('=', &format!("{more}=")));
            let rest = text.split_once(&name).unwrap_or_else(|| panic!("{name:?} in {text}")).1;
            // `%10.2f kB/sec`
            let figure = rest.lines().next().unwrap().strip_suffix(" kB/sec").unwrap();
            assert!(figure.len() >= 10 && figure.split_once('.').unwrap().1.len() == 2, "{figure:?}");
        }
        let together = figure(&text, &format!("Children see throughput {children}"));
        assert!(text.contains(&format!("\n\"{report} \" {together:10.2} \n")), "{report}: {text}");
    }
    assert_eq!(text.matches("\n\tMin xfer \t\t\t\t\t= ").count(), 13);
    assert_eq!(text.matches("\n\tChild[1] xfer count = ").count(), 13);
    assert_eq!(text.matches("    CPU utilization ").count(), 13);
    assert!(text.ends_with("\n\niozone test complete.\n"));
    assert_eq!(lab.entries(), Vec::<String>::new(), "without -w nothing stays");
}

/// The rows of the table in `text`: file and record in KiB, and the figures.
fn rows(text: &str) -> Vec<(u64, u64, Vec<u64>)> {
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>();
    let table = text.split_once("  reclen ").unwrap_or_else(|| panic!("no table: {text}")).1;
    let rows = table.lines().skip(1).map_while(|line| numbers(line).filter(|row| row.len() > 1));
    rows.map(|row| (row[0], row[1], row[2..].to_vec())).collect()
}

/// What the original has above its table, read from a run of IOzone 3.489.
const HEAD: &str = "                                                              random    random     bkwd    \
                    record    stride                                    \n              kB  reclen    write  \
                    rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    \
                    fread  freread\n";

#[test]
fn the_automatic_mode_prints_a_row_for_each_file_and_record_and_the_reports() {
    let lab = Lab::new();
    let text = lab.prints("-a -n 64 -g 128 -y 16 -q 64 -R -b sheet.xls --run run");
    assert!(text.contains(HEAD), "{text}");
    let rows = rows(&text);
    let sizes: Vec<(u64, u64)> = rows.iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(sizes, [(64, 16), (64, 32), (64, 64), (128, 16), (128, 32), (128, 64)]);
    assert!(rows.iter().all(|row| row.2.len() == 13 && row.2.iter().all(|&figure| figure > 0)), "{text}");
    // The figures are those that were measured.
    for (file, record, figures) in &rows {
        let phases = lab.phases("run", &format!("s{file}k-r{record}k-1"));
        let of_phase = |phase: &PhaseRecord| {
            let rank = &phase.ranks[0];
            (rank.bytes as f64 / 1024.0 / ((rank.transfer_ns + rank.fsync_ns) as f64 / 1e9)) as u64
        };
        assert_eq!(figures, &phases.iter().map(of_phase).collect::<Vec<_>>());
        assert!(phases.iter().all(|phase| phase.ranks[0].bytes == file << 10), "every test moves the whole file");
    }
    let reports = text.split_once("\niozone test complete.\nExcel output is below:\n").unwrap().1;
    assert_eq!(reports.matches(" report\"\n        \"16\"  \"32\"  \"64\"\n\"64\"   ").count(), 13, "{reports}");
    let writer: Vec<u64> = rows[3..].iter().map(|row| row.2[0]).collect();
    assert!(reports.contains(&format!("\"128\"   {}  {}  {} \n", writer[0], writer[1], writer[2])), "{reports}");
    assert_eq!(lab.entries(), ["run", "sheet.xls"]);
    // A label and a number of the worksheet.
    let sheet = fs::read(lab.path("sheet.xls")).unwrap();
    let holds = |bytes: &[u8]| sheet.windows(bytes.len()).any(|window| window == bytes);
    assert!(holds(b"\x0dWriter Report") && holds(&(writer[2] as f64).to_le_bytes()));
}

#[test]
fn a_single_row_has_blanks_for_what_was_not_asked_for_and_zeros_for_what_was_left_out() {
    let lab = Lab::new();
    let line = |arguments: &str| {
        let text = lab.prints(arguments);
        text.split_once("reclen").unwrap().1.lines().nth(1).unwrap().to_owned()
    };
    let read = line("-s 64 -i 0 -i 5");
    assert_eq!(read.len(), 142, "as long as IOzone's: {read:?}");
    assert!(read[42..97].trim().is_empty() && !read[97..107].trim().is_empty(), "{read:?}");
    let once = line("-s 64 -i 0 -i 1 -+n");
    assert_eq!((once[33..42].trim(), once[51..60].trim()), ("0", "0"), "{once:?}");
    assert_eq!(line("-s 64 -i 9").split_whitespace().count(), 2, "pwrite is a column of -E");
    assert_eq!(line("-s 64 -E -i 9").split_whitespace().count(), 4);
    assert_eq!(line("-s 64 -A -n 64 -g 64 -q 4").split_whitespace().count(), 6);
    assert_eq!(lab.entries(), Vec::<String>::new());
}

#[test]
fn several_sizes_make_a_table_of_one_file_that_stays_where_it_is_to() {
    let lab = Lab::new();
    let text = lab.prints("-s 64 -s 128 -r 4 -r 16 -i 0 -i 1 -w -f data -e -c -W");
    let sizes: Vec<(u64, u64)> = rows(&text).iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(sizes, [(64, 4), (64, 16), (128, 4), (128, 16)]);
    assert_eq!(fs::metadata(lab.path("data")).unwrap().len(), 128 << 10);
    // It is read again, and then removed.
    assert_eq!(rows(&lab.prints("-i 1 -s 128 -f data")).len(), 1);
    assert_eq!(lab.entries(), Vec::<String>::new());
    assert!(lab.fails(1, "-i 1 -s 128 -f data").contains("data"), "it has gone");
}

#[test]
fn units_of_the_table_are_operations_or_microseconds() {
    let lab = Lab::new();
    let operations = lab.prints("-i 0 -s 256 -r 4 -O --run run");
    let rank = lab.phases("run", "s256k-r4k-1")[0].ranks[0].clone();
    let per_s = rank.operations as f64 / ((rank.transfer_ns + rank.fsync_ns) as f64 / 1e9);
    assert_eq!(rows(&operations)[0].2[0], per_s as u64);
    assert!(operations.contains("\tOPS Mode.") && !operations.contains("Output is in kBytes"), "{operations}");
    let text = lab.prints("-i 0 -s 256 -r 4 -N --run again");
    let rank = lab.phases("again", "s256k-r4k-1")[0].ranks[0].clone();
    let micros = (rank.transfer_ns + rank.fsync_ns) as f64 / 1e3 / rank.operations as f64;
    assert_eq!(rows(&text)[0].2[0], micros as u64);
}

#[test]
fn one_record_is_written_again_and_again() {
    let lab = Lab::new();
    lab.prints("-i 0 -i 4 -s 64 -r 4 -w --run run");
    let phases = lab.phases("run", "s64k-r4k-1");
    assert_eq!(phases[2].name, "record-rewrite");
    assert_eq!((phases[2].ranks[0].operations, phases[2].ranks[0].bytes), (16, 64 << 10));
    assert_eq!(fs::metadata(lab.path("iozone.tmp")).unwrap().len(), 64 << 10);
}

#[test]
fn foreign_files_at_the_place_of_a_row_or_a_worksheet_survive() {
    let lab = Lab::new();
    for (name, line) in [("iozone.tmp", "-i 0 -s 64"), ("thesis.xls", "-i 0 -s 64 -b thesis.xls")] {
        fs::write(lab.path(name), "years of work\n").unwrap();
        let output = lab.run(line);
        assert_ne!(output.status.code(), Some(0), "{line}");
        assert!(errors(&output).contains(name) && errors(&output).contains("--overwrite"), "{}", errors(&output));
        assert_eq!(fs::read_to_string(lab.path(name)).unwrap(), "years of work\n", "{line}");
        fs::remove_file(lab.path(name)).unwrap();
    }
    lab.prints("-i 0 -s 64 -b sheet.xls");
    lab.prints("-i 0 -s 64 -b sheet.xls");
    assert_eq!(lab.entries(), ["sheet.xls"], "a worksheet replaces one");
}

#[test]
fn options_without_effect_are_reported_and_the_rest_is_done() {
    let lab = Lab::new();
    let output = lab.run("-i 0 -s 64 -t 2 -T -p -K -S 512 /dev/sda1 +Z");
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    for named in ["-T (", "-p (", "-K (", "-S (", "\"/dev/sda1\"", "\"+Z\""] {
        let is_named = errors(&output).lines().any(|line| line.contains(named) && line.contains("ignored"));
        assert!(is_named, "{named}: {}", errors(&output));
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\tMin throughput per thread \t\t\t="), "as the original with -T: {text}");
}

#[test]
fn without_stonewall_each_child_counts_to_its_own_end() {
    let lab = Lab::new();
    let text = lab.prints("-i0 -+n -x -O -r 4 -s 256 -t 3 --run run");
    let phases = lab.phases("run", "t3-1");
    let rate = |rank: &RankRecord| {
        let ns = rank.end_ns - rank.start_ns - rank.open_ns - rank.close_ns;
        rank.operations as f64 / (ns as f64 / 1e9)
    };
    close(figure(&text, "Children see throughput for  3 initial writers \t= "), phases[0].ranks.iter().map(rate).sum());
    close(figure(&text, "Min xfer "), 64.0);
    assert!(text.contains(" ops/sec\n") && text.contains("64.00 ops\n"), "{text}");
}

#[test]
fn several_numbers_of_children_are_cases_one_after_the_other() {
    let lab = Lab::new();
    let text = lab.prints("-i0 -+n -r 4 -s 64 -t 1 -t 3 -t 1 -R --run run");
    assert_eq!(lab.phases("run", "t1-2")[0].ranks.len(), 1);
    assert_eq!(lab.phases("run", "t3-1")[0].ranks.len(), 3);
    let row = text.lines().find(|line| line.starts_with("\"  Initial write \"")).unwrap();
    assert_eq!(row.rsplit('"').next().unwrap().split_whitespace().count(), 3, "{row}");
}

#[test]
fn foreign_files_survive_and_the_way_over_them_is_named() {
    let lab = Lab::new();
    fs::write(lab.path("iozone.DUMMY.1"), "years of work\n").unwrap();
    let survives = |line: &str| {
        assert_eq!(lab.entries(), ["iozone.DUMMY.1"], "{line}");
        assert_eq!(fs::read_to_string(lab.path("iozone.DUMMY.1")).unwrap(), "years of work\n", "{line}");
    };
    for line in ["-i0 -r 4 -s 64 -t 2", "-i0 -w -r 4 -s 64 -t 2", "-i9 -r 4 -s 64 -t 2"] {
        let complaint = lab.fails(3, line);
        assert!(complaint.contains("iozone.DUMMY.1") && complaint.contains("--overwrite"), "{line}: {complaint}");
        survives(line);
    }
    // A file that is only read is not removed afterwards, whichever program wrote it. Here one file is too short, and
    // the other missing.
    let line = "-i1 -r 4 -s 64 -t 2";
    let complaint = lab.fails(1, line);
    assert!(complaint.contains("iozone.DUMMY."), "{complaint}");
    survives(line);
    lab.prints("-i0 -r 4 -s 64 -t 2 --overwrite");
    assert_eq!(lab.entries(), Vec::<String>::new());
}

#[test]
fn files_that_the_real_iozone_left_are_read_and_replaced() {
    let lab = Lab::new();
    let mut page = vec![0_u8; 4096];
    page[..8].fill(0x20);
    fs::write(lab.path("iozone.DUMMY.0"), page.repeat(16)).unwrap();
    lab.prints("-i1 -w -r 4 -s 64 -t 1");
    assert!(lab.path("iozone.DUMMY.0").exists());
    lab.prints("-i0 -w -r 4 -s 64 -t 1");
    // Ours are known by their mark.
    lab.prints("-i0 -i1 -r 4 -s 64 -t 1");
    assert_eq!(lab.entries(), Vec::<String>::new());
}

#[test]
fn a_first_write_begins_with_empty_files_unless_they_are_to_be_gone_over() {
    let lab = Lab::new();
    let length = || fs::metadata(lab.path("iozone.DUMMY.0")).unwrap().len();
    lab.prints("-i0 -w -+n -r 4 -s 128 -t 1");
    lab.prints("-i0 -w -+n -+N -r 4 -s 64 -t 1");
    assert_eq!(length(), 128 << 10);
    lab.prints("-i0 -w -+n -r 4 -s 64 -t 1");
    assert_eq!(length(), 64 << 10);
}

#[test]
fn a_file_that_is_too_short_or_not_there_is_named() {
    let lab = Lab::new();
    let complaint = lab.fails(1, "-i1 -w -r 4 -s 64 -t 1");
    assert!(complaint.contains("iozone.DUMMY."), "{complaint}");
    lab.prints("-i0 -w -+n -r 4 -s 64 -t 1");
    let complaint = lab.fails(1, "-i1 -w -r 4 -s 128 -t 1");
    assert!(complaint.contains("iozone.DUMMY.0") && complaint.contains("ends at or before byte 65536"), "{complaint}");
}

#[test]
fn a_later_command_verifies_what_an_earlier_one_wrote() {
    let lab = Lab::new();
    lab.prints("-i0 -w -V 1 -r 4 -s 64 -t 2 -F a b");
    lab.prints("-i1 -i2 -w -V 1 -r 4 -s 64 -t 2 -F a b");
    let mut bytes = fs::read(lab.path("b")).unwrap();
    bytes[12345] ^= 1;
    fs::write(lab.path("b"), bytes).unwrap();
    let complaint = lab.fails(1, "-i1 -w -V 1 -r 4 -s 64 -t 2 -F a b");
    assert!(complaint.contains("/b: at offset 12345"), "{complaint}");
    lab.prints("-s 64 -V 1 -w");
    lab.prints("-s 64 -+d -f iozone.tmp -i 1 -i 5");
}

#[test]
fn files_of_others_are_read_and_stay() {
    let lab = Lab::new();
    fs::write(lab.path("thesis"), "years of work. ".repeat(8192)).unwrap();
    lab.prints("-i1 -i2 -t 1 -+E -F thesis -r 4 -s 64");
    assert_eq!(fs::read_to_string(lab.path("thesis")).unwrap(), "years of work. ".repeat(8192));
    assert!(lab.fails(2, "-i0 -t 1 -+E -F thesis -r 4 -s 64").contains("-+E"));
}

#[test]
fn every_refused_option_is_refused_by_its_name_and_nothing_is_written() {
    let lab = Lab::new();
    for option in KNOWN {
        let Verdict::Refused(because) = option.verdict else { continue };
        let complaint = lab.fails(2, &format!("-i0 -t 1 {} 1", option.name));
        assert!(complaint.contains(option.name) && complaint.contains(because), "{complaint}");
    }
    for (line, named) in [
        ("", "at least one option"),
        ("-i0 -t 1 -%", "-%"),
        ("-i0 -t 2 --ranks 3", "--ranks 3"),
        ("-i0 --ranks 3", "--ranks 3"),
        ("-i0 -t 1 -f x", "-f"),
        ("-i0 -t 1 -s 1.5g", "1.5g"),
        ("-i0 -t 1 -s 100x", "100x"),
        ("-a -t 1", "-a"),
    ] {
        let complaint = lab.fails(2, line);
        assert!(complaint.contains(named), "{line}: {complaint}");
    }
    assert_eq!(lab.entries(), Vec::<String>::new());
}

#[test]
fn clients_on_other_hosts_are_refused_with_what_works_now() {
    let lab = Lab::new();
    fs::write(lab.path("list"), "localhost /tmp iozone\nnode17.example /tmp iozone\n").unwrap();
    let complaint = lab.fails(2, "-i0 -t 2 -+m list");
    assert!(complaint.contains("node17.example") && complaint.contains("MPI"), "{complaint}");
    fs::write(lab.path("list"), "localhost /tmp iozone\n").unwrap();
    assert!(lab.fails(2, "-i0 -t 2 -+m list").contains("lists 1 client"));
    assert_eq!(lab.entries(), ["list"]);
}

#[test]
fn children_work_where_the_clients_file_says() {
    let lab = Lab::new();
    let directories = ["one", "two"].map(|name| lab.path(name));
    for directory in &directories {
        fs::create_dir(directory).unwrap();
    }
    let line = |directory: &Path, file: &str| format!("127.0.0.1 {} iozone {file}\n", directory.display());
    fs::write(lab.path("list"), line(&directories[0], "") + &line(&directories[1], "")).unwrap();
    lab.prints("-i0 -w -r 4 -s 64 -t 2 -+m list");
    assert!(lab.path("one/iozone.DUMMY.0").exists() && lab.path("two/iozone.DUMMY.1").exists());
    fs::write(lab.path("list"), line(&directories[0], "x") + &line(&directories[1], "x")).unwrap();
    lab.prints("-i0 -w -r 4 -s 64 -t 2 -+m list");
    assert!(lab.path("one/x").exists() && lab.path("two/x").exists());
}

#[test]
fn the_help_names_every_option() {
    let text = Lab::new().prints("-h");
    assert!(KNOWN.iter().all(|known| text.contains(&format!("  {}", known.name))), "{text}");
}
