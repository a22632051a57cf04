//! Sizes as IOzone types them, and which files and records the automatic mode (`-a`, or several `-s` or `-r`) combines.
//!
//! Not here: what is done with a file and a record.

use ioassay_protocol::events::Failure;
use ioassay_units::Bytes;

use super::options::Options;
use crate::common::usage;

/// A file's size by default.
pub const FILE_BYTES: u64 = 512 << 10;

/// A record's size by default.
pub const RECORD_BYTES: u64 = 4 << 10;

/// The smallest and the largest file of the automatic mode.
const AUTOMATIC_FILES: (u64, u64) = (64 << 10, 512 << 20);

/// The smallest and the largest record of the automatic mode.
const AUTOMATIC_RECORDS: (u64, u64) = (4 << 10, 16 << 20);

/// The crossover: in larger files than this, records smaller than the second are left out, unless `-z` says otherwise.
const CROSSOVER: (u64, u64) = (16 << 20, 64 << 10);

/// A file and the record in which it is moved, in bytes: a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The file.
    pub file_bytes: u64,
    /// The record.
    pub record_bytes: u64,
}

/// The rows of a command line, and what its reports have besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// True in the automatic mode.
    pub automatic: bool,
    /// In IOzone's order.
    pub rows: Vec<Row>,
    /// The records that head the columns of the reports.
    pub heads: Vec<u64>,
}

impl Rows {
    /// The rows that `given` asks for.
    ///
    /// # Errors
    /// If a size is none, or contradicts another.
    pub fn read(given: &Options) -> Result<Self, Failure> {
        let (files, records) = (sizes(given, "-s")?, sizes(given, "-r")?);
        let last_of = |name: &str| -> Result<Option<u64>, Failure> { Ok(sizes(given, name)?.last().copied()) };
        let (smallest, largest) = (last_of("-y")?, last_of("-q")?);
        let growth = given.number("-+x", 0..=1 << 20)?.map_or(2, |growth| growth.max(2));
        let range = |named: &[u64], (low, high): (u64, u64)| {
            (named.first().copied().unwrap_or(low), named.last().copied().unwrap_or(high))
        };
        let (lowest_record, highest_record) = range(&records, AUTOMATIC_RECORDS);
        let (lowest_record, highest_record) = (smallest.unwrap_or(lowest_record), largest.unwrap_or(highest_record));
        if lowest_record > highest_record {
            return Err(usage("the smallest record is larger than the largest", "use a -y that is at most -q"));
        }
        let heads =
            if records.len() > 1 { ascending(&records) } else { growing(lowest_record, highest_record, growth) };
        let automatic = given.has("-a") || given.has("-A") || files.len() > 1 || records.len() > 1;
        if !automatic {
            let file_bytes = files.first().copied().unwrap_or(FILE_BYTES);
            let record_bytes = records.first().copied().unwrap_or(RECORD_BYTES);
            return Ok(Self { automatic, rows: vec![Row { file_bytes, record_bytes }], heads });
        }
        let (lowest_file, highest_file) = range(&files, AUTOMATIC_FILES);
        let (lowest_file, highest_file) =
            (last_of("-n")?.unwrap_or(lowest_file), last_of("-g")?.unwrap_or(highest_file));
        if lowest_record > lowest_file {
            let [record, file] = [lowest_record, lowest_file].map(Bytes);
            let problem = format!("the smallest record ({record}) is larger than the smallest file ({file})");
            return Err(usage(problem, "use a larger file (-n or -s), or a smaller record (-y or -r)"));
        }
        let all_files = if files.len() > 1 { ascending(&files) } else { growing(lowest_file, highest_file, growth) };
        // IOzone has no crossover where sizes are named, in whichever way.
        let named = [!records.is_empty(), !files.is_empty(), smallest.is_some(), largest.is_some()].contains(&true);
        let crosses = |file: u64| !named && !given.has("-z") && !given.has("-A") && file > CROSSOVER.0;
        let of_file = |file_bytes: u64| {
            let fits = heads.iter().filter(move |&&record| record <= file_bytes);
            fits.filter(move |&&record| !crosses(file_bytes) || record >= CROSSOVER.1)
                .map(move |&record_bytes| Row { file_bytes, record_bytes })
        };
        let rows: Vec<Row> = all_files.into_iter().flat_map(of_file).collect();
        if rows.is_empty() {
            return Err(usage(
                "the smallest file (-n) is larger than the largest (-g)",
                "use a -g that is at least -n",
            ));
        }
        Ok(Self { automatic, rows, heads })
    }
}

/// From `low`, `growth` times as much each time, up to `high`.
fn growing(low: u64, high: u64, growth: u64) -> Vec<u64> {
    std::iter::successors(Some(low), |size| size.checked_mul(growth)).take_while(|&size| size <= high).collect()
}

/// Of `sizes` those that are larger than all before them: IOzone looks for the next larger one, and passes over others.
fn ascending(sizes: &[u64]) -> Vec<u64> {
    let mut larger: Vec<u64> = Vec::new();
    for &size in sizes {
        if larger.last().is_none_or(|&largest| size > largest) {
            larger.push(size);
        }
    }
    larger
}

/// The only size that `name` was given, in bytes, or `otherwise`.
pub fn size(given: &Options, name: &str, otherwise: u64) -> Result<u64, Failure> {
    given.value(name)?.map_or(Ok(otherwise), |text| parse(name, text))
}

/// All sizes that `name` was given, in bytes.
fn sizes(given: &Options, name: &str) -> Result<Vec<u64>, Failure> {
    given.values(name).iter().map(|text| parse(name, text)).collect()
}

/// The size `text` in bytes, as IOzone means it: a plain number is KiB.
fn parse(name: &str, text: &str) -> Result<u64, Failure> {
    let refuse = |problem: String, remedy: &str| Err(usage(format!("{name}: {problem}"), remedy));
    let remedy = "write a number in KiB, or a number with the suffix k, m or g";
    let typed = if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text}k") } else { text.to_owned() };
    match typed.to_ascii_lowercase().parse::<Bytes>() {
        Ok(_) if !typed.ends_with(['k', 'K', 'm', 'M', 'g', 'G']) => {
            refuse(format!("{text:?} has an unknown suffix"), remedy)
        }
        Ok(Bytes(0)) => refuse("0 moves no data".to_owned(), remedy),
        Ok(Bytes(bytes)) => Ok(bytes),
        Err(error) => refuse(error.to_string(), remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(line: &str) -> Result<Rows, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Rows::read(&Options::read(&words).unwrap())
    }

    /// The rows of `line` in KiB.
    fn kib(line: &str) -> Vec<(u64, u64)> {
        rows(line).unwrap().rows.iter().map(|row| (row.file_bytes >> 10, row.record_bytes >> 10)).collect()
    }

    #[test]
    fn the_automatic_mode_has_the_rows_of_the_original() {
        let all = kib("-a");
        assert_eq!((all[0], all[all.len() - 1]), ((64, 4), (512 << 10, 16 << 10)));
        // Counted in what IOzone 3.489 prints with `-a -i 0`.
        assert_eq!(all.len(), 126);
        assert_eq!(all.iter().filter(|row| row.0 == 16 << 10).count(), 13);
        assert_eq!(all.iter().filter(|row| row.0 == 32 << 10).map(|row| row.1).min(), Some(64), "the crossover");
        assert_eq!(kib("-az").iter().filter(|row| row.0 == 32 << 10).map(|row| row.1).min(), Some(4));
        assert_eq!(kib("-A -n 64 -g 64"), [(64, 4), (64, 8), (64, 16), (64, 32), (64, 64)]);
        assert_eq!(kib("-a -n 64 -g 256 -y 16 -q 64 -+x 4"), [(64, 16), (64, 64), (256, 16), (256, 64)]);
        assert_eq!(kib("-a -s 4m -r 1k"), [(4096, 1)]);
    }

    #[test]
    fn several_sizes_are_combined_and_those_out_of_order_passed_over() {
        assert_eq!(kib("-s 64 -s 128 -r 4 -r 16"), [(64, 4), (64, 16), (128, 4), (128, 16)]);
        assert_eq!(kib("-s 64 -r 16 -r 4 -r 32"), [(64, 16), (64, 32)]);
        assert_eq!(kib("-s 16 -s 1m -r 4 -r 64"), [(16, 4), (1024, 4), (1024, 64)]);
        assert_eq!(kib("-e -I -a -s 100M -r 4k -r 16384k"), [(102_400, 4), (102_400, 16_384)]);
    }

    #[test]
    fn a_single_row_has_iozone_s_defaults_and_the_heads_of_all_records() {
        assert_eq!(kib(""), [(512, 4)]);
        assert_eq!(rows("-s 64").unwrap().heads.len(), 13);
        assert_eq!(rows("-r 16").unwrap().heads, [16 << 10]);
        assert!(!rows("-n 64").unwrap().automatic);
    }

    #[test]
    fn sizes_that_contradict_each_other_are_refused() {
        for (line, named) in [("-a -y 8m -q 4m", "-y"), ("-a -n 64 -y 128", "-n"), ("-a -n 8m -g 4m", "-g")] {
            assert!(rows(line).unwrap_err().remedy.contains(named), "{line}");
        }
    }

    #[test]
    fn sizes_mean_what_iozone_means() {
        for (text, bytes) in [("64", 64 << 10), ("4k", 4 << 10), ("2M", 2 << 20), ("1g", 1 << 30)] {
            assert_eq!(parse("-s", text).unwrap(), bytes, "{text}");
        }
        for text in ["1.5g", "100x", "1t", "0", "", "4kb", "-1", "4KiB", "99999999999g"] {
            assert!(parse("-s", text).unwrap_err().message.contains("-s"), "{text}");
        }
    }
}
