//! The plug-ins over MPI, driven by plugins/storage/tests/drive.c under a real mpirun: what each rank wrote another one
//! reads back, with every option, layout and kind of call.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::support::mpi;
use crate::support::plug_ins::shipped;
use crate::support::process::{Running, wait_until};
use crate::support::skipped::skipped;
use ioassay_engine::compiled::on_path;

const RANKS: u64 = 4;

/// The driver, built once.
fn driver() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build_driver).clone()
}

fn build_driver() -> Option<PathBuf> {
    on_path("mpirun")?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/storage");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drive");
    let mut mpicc = Command::new(on_path("mpicc")?);
    mpicc.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(sources.join("tests/drive.c"));
    let built = mpicc.arg("-I").arg(sources).arg("-ldl").output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

/// The driver's output and where its files are; `None` where MPI or the plug-in is not available.
fn drive(plug_in: &str, layout: &str, options: &str) -> Option<(bool, String, tempfile::TempDir)> {
    let library = shipped(plug_in)?;
    let Some(driver) = driver() else {
        skipped("mpirun and mpicc", "make mpis");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("said");
    let files = directory.path().join("files");
    fs::create_dir(&files).unwrap();
    let out = fs::File::create(&output).unwrap();
    let mut command = Command::new("mpirun");
    command.args(["-n", &RANKS.to_string()]).arg(driver).arg(library).arg(&files).arg(layout);
    command.args(options.split_whitespace());
    command.envs(mpi::settings(directory.path()));
    command.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
    let mut mpirun = Running(command.spawn().unwrap());
    let mut status = None;
    wait_until(&format!("the end of {plug_in} {layout} {options}"), || {
        status = mpirun.0.try_wait().unwrap();
        status.is_some()
    });
    Some((status.unwrap().success(), fs::read_to_string(output).unwrap(), directory))
}

/// Drives with each of `options`, and gives what lies in the files to `look`.
fn all_right(plug_in: &str, layouts: &[&str], options: &[&str], look: impl Fn(&str, &str, &Path)) {
    for layout in layouts {
        for options in options {
            for collective in [0, 1] {
                let options = format!("{options} collective={collective}");
                let Some((right, output, directory)) = drive(plug_in, layout, &options) else { return };
                assert!(right && output.contains("right\n"), "{plug_in} {layout} {options}: {output}");
                look(layout, &options, &directory.path().join("files"));
            }
        }
    }
}

/// The byte that the driver puts at `position` of file `file`.
fn byte(file: u64, position: u64) -> u8 {
    (position.wrapping_mul(31) + position / 251 * 7 + file * 101 + 1) as u8
}

#[test]
fn mpi_io_puts_every_byte_where_posix_would() {
    let options = ["", "view=1", "segments=1 offset=333", "view=1 segments=1 offset=333", "view=1 offset=100 files=2"];
    all_right("mpiio", &["own", "shared", "groups"], &options, |layout, options, files| {
        let offset = options.split("offset=").nth(1).map_or(0, |rest| rest.split(' ').next().unwrap().parse().unwrap());
        for entry in fs::read_dir(files).unwrap().map(Result::unwrap) {
            let number: u64 = entry.path().extension().unwrap().to_str().unwrap().parse().unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            let wrong =
                (offset..bytes.len() as u64).find(|&position| bytes[position as usize] != byte(number, position));
            assert_eq!(wrong, None, "{layout} {options}: file {number}");
            assert!(bytes[..offset as usize].iter().all(|&byte| byte == 0));
        }
    });
}

#[test]
fn interleaved_pieces_of_mpi_io_lie_in_turn() {
    let options = ["interleave=1024 transfer=4096 block=8192 segments=3 offset=5"];
    all_right("mpiio", &["shared"], &options, |_, options, files| {
        let bytes = fs::read(files.join("file.0")).unwrap();
        let (piece, block, segments, offset) = (1024, 8192, 3, 5);
        assert_eq!(bytes.len() as u64, offset + block * segments * RANKS, "{options}");
        for position in 0..block * segments * RANKS {
            // Which rank's piece this is, where in that rank's data, and where the plan has that.
            let (turn, within) = (position / piece, position % piece);
            let in_rank = turn / RANKS * piece + within;
            let plan = (in_rank / block * RANKS + turn % RANKS) * block + in_rank % block;
            assert_eq!(bytes[(offset + position) as usize], byte(0, offset + plan), "{options}: byte {position}");
        }
    });
}

#[test]
fn mpi_io_heeds_sizes_ends_of_files_and_ranks_that_have_another_job() {
    all_right("mpiio", &["own"], &["size=1", "size=3 files=2", "end=1", "interleave=1024"], |_, _, _| {});
    all_right("mpiio", &["shared"], &["size=2", "extra=1 size=3 files=2", "view=1 extra=1"], |_, _, _| {});
}

/// OMPIO's own preallocation moves blocks of what is there and doubles them, in files of more than 32 MiB.
#[test]
fn preallocation_over_data_keeps_it_and_gives_the_file_its_space() {
    let large = "again=1 transfer=1048576 block=25165824 segments=1";
    all_right("mpiio", &["own", "shared"], &["size=3 again=1", large], |layout, options, files| {
        for entry in fs::read_dir(files).unwrap().map(Result::unwrap) {
            let about = entry.metadata().unwrap();
            assert!(about.blocks() * 512 >= about.len(), "{layout} {options}: holes");
        }
    });
}

#[test]
fn hints_are_read_back_and_options_that_do_not_fit_are_named() {
    let options = "hints.cb_nodes=2 show_hints=1";
    for plug_in in ["mpiio", "hdf5", "pnetcdf"] {
        let Some((right, output, _)) = drive(plug_in, "shared", options) else { return };
        assert!(right && output.contains(&format!("{plug_in}: hint in effect: cb_nodes = 2")), "{output}");
    }
    for (options, problem) in [
        ("transfer=1000 interleave=300", "cannot be cut into pieces of 300"),
        ("view=1 interleave=4096", "use one of them"),
        ("hints.empty=", "the hint empty is empty"),
    ] {
        let Some((right, output, _)) = drive("mpiio", "shared", options) else { return };
        assert!(!right && output.contains(problem), "{options}: {output}");
    }
}

#[test]
fn parallel_hdf5_keeps_its_dataset_contiguous_or_in_chunks() {
    let options = ["", "chunk=100 end=1 files=2", "alignment=65536 chunk=65536 collective_metadata=1"];
    all_right("hdf5", &["own"], &options, |_, _, files| {
        assert!(fs::read(files.join("file.0")).unwrap().starts_with(b"\x89HDF\r\n"));
    });
    let options = ["offset=77", "alignment=4096 collective_metadata=1", "chunk=1000 extra=1 files=2"];
    all_right("hdf5", &["shared"], &options, |_, _, _| {});
    all_right("hdf5", &["groups"], &["chunk=8192"], |_, _, _| {});
}

#[test]
fn pnetcdf_keeps_its_variable_in_cdf_5() {
    all_right("pnetcdf", &["own"], &["", "end=1 offset=9 files=2"], |_, _, files| {
        assert!(fs::read(files.join("file.0")).unwrap().starts_with(b"CDF\x05"));
    });
    all_right("pnetcdf", &["shared"], &["", "extra=1 files=2"], |_, _, _| {});
    all_right("pnetcdf", &["groups"], &["segments=1 transfer=100"], |_, _, _| {});
}

#[test]
fn a_symbolic_link_in_the_place_of_a_file_is_not_followed_over_mpi_either() {
    for plug_in in ["mpiio", "hdf5", "pnetcdf"] {
        let Some((right, output, directory)) = drive(plug_in, "shared", "link=1") else { return };
        assert!(!right && output.contains("open: -40"), "{plug_in}: {output}");
        assert_eq!(fs::read(directory.path().join("files/mine")).unwrap(), b"");
    }
}
