//! The command line of IOR, mdtest or pfind that a phase stands for, as the official program gives it (IO500/io500 at
//! 02091cf, `src/phase_*.c`).

use std::path::Path;

use super::phases::RANDOM_BYTES;
use super::settings::Settings;
use super::translate::{
    HARD_ITEM_BYTES, HARD_TRANSFER_BYTES, MDWORKBENCH_MARK, PATTERN, RANDOM_READS, SETS, signature,
};

/// Where a run would be and what it would be called.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The directory that is measured.
    pub data: &'a Path,
    /// The directory of the results.
    pub results: &'a Path,
    /// The time that signatures are made of.
    pub timestamp: &'a str,
}

/// The command of `phase`; nothing for a phase that is none. md-workbench has `set_files` files in each set.
pub fn command(settings: &Settings, places: &Places<'_>, phase: &str, set_files: u64) -> Option<String> {
    let (kind, access) = phase.rsplit_once('-').unwrap_or((phase, ""));
    Some(match kind {
        "ior-easy" | "ior-hard" => ior(settings, places, kind, access),
        "ior-rnd4K-easy" => random(settings, places),
        "mdtest-easy" | "mdtest-hard" => mdtest(settings, places, kind, access),
        "mdworkbench" => md_workbench(settings, places, access, set_files),
        _ if phase.starts_with("find") => find(settings, places, phase),
        _ => return None,
    })
}

fn ior(settings: &Settings, places: &Places<'_>, kind: &str, access: &str) -> String {
    let (data, results) = (places.data.display(), places.results.display());
    let mark = signature(kind, places.timestamp);
    let packet = settings.packet.name();
    let collective = if settings.is_collective(&format!("{kind}-{access}")) { " -c" } else { "" };
    let (does, wears_out) = if access == "write" {
        (format!(" -w{collective} -D {}", settings.stonewall_s), " -O stoneWallingWearOut=1")
    } else {
        (format!(" -r -R{collective}"), "")
    };
    let status = format!("-O stoneWallingStatusFile={results}/{kind}.stonewall");
    let api = settings.api_of(&format!("{kind}-{access}")).spelling();
    let ranks = format!("-a {api} -O saveRankPerformanceDetailsCSV={results}/{kind}-{access}.csv");
    if kind == "ior-hard" {
        let (bytes, segments) = (HARD_TRANSFER_BYTES, settings.hard_segments);
        return format!(
            "./ior --dataPacketType={packet} -C -Q 1 -g -G={mark} -k -e -o {data}/ior-hard/file {status} \
             -t {bytes} -b {bytes} -s {segments}{does} {ranks}{wears_out}"
        );
    }
    let per_rank = files_of_ranks(settings);
    format!(
        "./ior --dataPacketType={packet} -g -G {mark} -k -e -o {data}/ior-easy/ior_file_easy -C -Q 1 {status} \
         -t {} -b {}{per_rank}{does}{wears_out} {ranks}",
        size(settings.easy_transfer_bytes),
        size(settings.easy_block_bytes),
    )
}

fn random(settings: &Settings, places: &Places<'_>) -> String {
    let (data, results) = (places.data.display(), places.results.display());
    let per_rank = files_of_ranks(settings);
    let shift = if settings.easy_file_per_rank { " -C -Q 2" } else { "" };
    format!(
        "./ior --dataPacketType={} -g -G {} -k -e -o {data}/ior-easy/ior_file_easy{per_rank} -r -D {} -z -z -a {} \
         -O saveRankPerformanceDetailsCSV={results}/ior-rnd4K-easy-read.csv -t={RANDOM_BYTES} -b={RANDOM_BYTES} \
         -s={RANDOM_READS} -O stoneWallingWearOut=1{shift}",
        settings.packet.name(),
        signature("ior-easy", places.timestamp),
        settings.stonewall_s,
        settings.api_of("ior-rnd4K-easy-read").spelling(),
    )
}

/// Whether each rank has a file, and each file a directory.
fn files_of_ranks(settings: &Settings) -> String {
    let flag = |is, option| if is { option } else { "" };
    flag(settings.easy_directory_per_file, " -u").to_owned() + flag(settings.easy_file_per_rank, " -F")
}

fn mdtest(settings: &Settings, places: &Places<'_>, kind: &str, access: &str) -> String {
    let (data, results) = (places.data.display(), places.results.display());
    let mark = signature(kind, places.timestamp);
    let what = if kind == "mdtest-easy" {
        format!("-n {} -u -L -F -P -G {mark} -N 1", settings.easy_items)
    } else {
        let bytes = HARD_ITEM_BYTES;
        format!("-n {} -t -w {bytes} -e {bytes} -P -G={mark} -N 1 -F", settings.hard_items)
    };
    let does = match access {
        "write" => format!("-C -Y -W {}", settings.stonewall_s),
        "stat" => "-T".to_owned(),
        "read" => "-E -X".to_owned(),
        _ => "-r".to_owned(),
    };
    format!(
        "./mdtest --dataPacketType={} {what} -d {data}/{kind} -x {results}/{kind}.stonewall {does} \
         --saveRankPerformanceDetails={results}/{kind}-{access}.csv -a {}",
        settings.packet.name(),
        settings.api_of(&format!("{kind}-{access}")).spelling(),
    )
}

fn md_workbench(settings: &Settings, places: &Places<'_>, access: &str, set_files: u64) -> String {
    let does = match access {
        "create" => "-1",
        "bench" => "-2 -R=2 -X",
        _ => "-3",
    };
    format!(
        "./md-workbench --dataPacketType={} --process-reports -a {} -o={}/mdworkbench -t=0.000000 -O=1 \
         --run-info-file={}/mdworkbench.status -D={SETS} -G={} -P={set_files} -I={set_files} {does}",
        settings.packet.name(),
        settings.api_of(&format!("mdworkbench-{access}")).spelling(),
        places.data.display(),
        places.results.display(),
        signature(MDWORKBENCH_MARK, places.timestamp),
    )
}

fn find(settings: &Settings, places: &Places<'_>, phase: &str) -> String {
    let below = phase.strip_prefix("find-").map(|kind| format!("/mdtest-{kind}/")).unwrap_or_default();
    let conditions = match phase {
        "find-easy" => String::new(),
        _ => format!(" -newer {}/timestampfile -size {HARD_ITEM_BYTES}c", places.results.display()),
    };
    let data = places.data.display();
    format!("./pfind {data}{below}{conditions} -name {PATTERN} -C{}", settings.pfind(phase))
}

/// A size as IOR takes it: in mebibytes where it is a multiple of one.
fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes.is_multiple_of(MIB) { format!("{}m", bytes / MIB) } else { bytes.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Common;
    use crate::io500::api::Ways;
    use crate::io500::config::Config;

    #[test]
    fn what_only_the_official_program_looks_at_stands_in_the_commands() {
        let text = "[ior-easy]\nuniqueDir = TRUE\n[find]\npfind-steal-next = TRUE\npfind-queue-length = 7\n\
                    pfind-parallelize-single-dir-access-using-hashing = TRUE\n";
        let common = Common { ranks: 2, nodes: 1, run: None, overwrite: false, scale_down: 1 };
        let config = Config::parse("x.ini", text).unwrap();
        let settings = Settings::of(&config, &common, false, None, &Ways::default()).unwrap();
        let places = Places { data: Path::new("/d"), results: Path::new("/r"), timestamp: "now" };
        let of = |phase| command(&settings, &places, phase, 0).unwrap();
        assert!(of("ior-easy-write").contains(" -u -F -w") && of("ior-rnd4K-easy-read").contains("easy -u -F -r"));
        assert!(of("find").ends_with("-name *01* -C -N -H 1 -q 7"), "{}", of("find"));
    }

    /// The lines `exe` that io500 at 02091cf wrote into result.txt with this file, at this time.
    #[test]
    fn commands_are_those_of_the_official_program() {
        let text = "[debug]\nstonewall-time = 1\n[ior-easy]\nblockSize = 64m\n[ior-hard]\nsegmentCount = 1000\n\
                    [mdtest-easy]\nn = 5000\n[mdtest-hard]\nn = 3000\n";
        let common = Common { ranks: 2, nodes: 1, run: None, overwrite: false, scale_down: 1 };
        let settings =
            Settings::of(&Config::parse("x.ini", text).unwrap(), &common, false, None, &Ways::default()).unwrap();
        let places = Places { data: Path::new("/d"), results: Path::new("/r"), timestamp: "2026.11.21-17.31.13" };
        for (phase, expected) in [
            (
                "ior-easy-write",
                "./ior --dataPacketType=timestamp -g -G 1836274810 -k -e -o /d/ior-easy/ior_file_easy -C -Q 1 -O \
                 stoneWallingStatusFile=/r/ior-easy.stonewall -t 2m -b 64m -F -w -D 1 -O stoneWallingWearOut=1 -a POSIX \
                 -O saveRankPerformanceDetailsCSV=/r/ior-easy-write.csv",
            ),
            (
                "mdtest-easy-write",
                "./mdtest --dataPacketType=timestamp -n 5000 -u -L -F -P -G -1572514692 -N 1 -d /d/mdtest-easy -x \
                 /r/mdtest-easy.stonewall -C -Y -W 1 --saveRankPerformanceDetails=/r/mdtest-easy-write.csv -a POSIX",
            ),
            (
                "mdtest-hard-read",
                "./mdtest --dataPacketType=timestamp -n 3000 -t -w 3901 -e 3901 -P -G=-1572504004 -N 1 -F -d \
                 /d/mdtest-hard -x /r/mdtest-hard.stonewall -E -X \
                 --saveRankPerformanceDetails=/r/mdtest-hard-read.csv -a POSIX",
            ),
            ("find", "./pfind /d -newer /r/timestampfile -size 3901c -name *01* -C -q 10000"),
            (
                "ior-hard-write",
                "./ior --dataPacketType=timestamp -C -Q 1 -g -G=1836285498 -k -e -o /d/ior-hard/file -O \
                 stoneWallingStatusFile=/r/ior-hard.stonewall -t 47008 -b 47008 -s 1000 -w -D 1 -a POSIX -O \
                 saveRankPerformanceDetailsCSV=/r/ior-hard-write.csv -O stoneWallingWearOut=1",
            ),
            (
                "ior-hard-read",
                "./ior --dataPacketType=timestamp -C -Q 1 -g -G=1836285498 -k -e -o /d/ior-hard/file -O \
                 stoneWallingStatusFile=/r/ior-hard.stonewall -t 47008 -b 47008 -s 1000 -r -R -a POSIX -O \
                 saveRankPerformanceDetailsCSV=/r/ior-hard-read.csv",
            ),
            (
                "ior-rnd4K-easy-read",
                "./ior --dataPacketType=timestamp -g -G 1836274810 -k -e -o /d/ior-easy/ior_file_easy -F -r -D 1 -z -z -a \
                 POSIX -O saveRankPerformanceDetailsCSV=/r/ior-rnd4K-easy-read.csv -t=4096 -b=4096 -s=10000000 -O \
                 stoneWallingWearOut=1 -C -Q 2",
            ),
        ] {
            assert_eq!(command(&settings, &places, phase, 0).as_deref(), Some(expected));
        }
        let extended = command(&settings, &places, "mdworkbench-bench", 500);
        let expected = "./md-workbench --dataPacketType=timestamp --process-reports -a POSIX -o=/d/mdworkbench \
                        -t=0.000000 -O=1 --run-info-file=/r/mdworkbench.status -D=10 -G=413512771 -P=500 -I=500 -2 -R=2 -X";
        assert_eq!(extended.as_deref(), Some(expected));
        assert_eq!(command(&settings, &places, "timestamp", 0), None);
    }
}
