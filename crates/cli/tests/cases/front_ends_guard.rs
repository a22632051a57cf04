//! What lies at a front end's target and is not its own: real files, devices and pipes, attacked by every
//! command line that writes, reads or removes. None of it may change.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::skipped::skipped;

fn engine(directory: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ioassay-engine"));
    command.current_dir(directory).args(line.split_whitespace());
    for name in ["IOASSAY_RANKS", "IOASSAY_SCALE_DOWN", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Everything of a file that its owner may miss.
fn state(path: &Path) -> (u64, Vec<u8>, i64, i64) {
    let about = fs::symlink_metadata(path).unwrap();
    (about.ino(), fs::read(path).unwrap(), about.mtime(), about.mtime_nsec())
}

/// The size of every foreign file: that of the command lines below.
const BYTES: usize = 1 << 20;
const TRANSFER: usize = 64 << 10;

fn words(word: impl Fn(u64) -> u64) -> Vec<u8> {
    (0..(BYTES / 8) as u64).flat_map(|index| word(index).to_le_bytes()).collect()
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// What IOR writes with `-l t`, `rank` and `signature`, and `-t` of [`TRANSFER`]: words that count on from the signature.
fn timestamps(rank: u64, signature: u64) -> Vec<u8> {
    words(|index| rank << 32 | ((signature + index % (TRANSFER as u64 / 8)) & 0xffff_ffff))
}

/// The same with `-l o`: the offset of the transfer, as often as it has begun 4 KiB, at the beginning of each.
fn offsets(signature: u64) -> Vec<u8> {
    words(|index| {
        let (transfer, within) = (index / (TRANSFER as u64 / 8), index % (TRANSFER as u64 / 8));
        let item = transfer * TRANSFER as u64 * (within / 512 + 1);
        if within % 512 == 0 { item & 0xffff_ffff } else { (signature + within) & 0xffff_ffff }
    })
}

/// Files that others wrote, some of which look like IOR's or IOzone's at their beginning.
fn foreign() -> Vec<(&'static str, Vec<u8>)> {
    let mut late = vec![0; BYTES];
    late[BYTES - 5000..].fill(b'x');
    let mut beginning = timestamps(0, now_s());
    beginning[BYTES / 2..].fill(b'x');
    let mut end = timestamps(0, now_s());
    end[BYTES - TRANSFER + 8] ^= 1;
    let mut formatted = vec![0; BYTES];
    formatted.chunks_mut(4096).for_each(|page| page[..8].fill(0xff));
    let mut half_formatted = vec![0; BYTES];
    half_formatted[..BYTES / 2].chunks_mut(4096).for_each(|page| page[..8].fill(0xa5));
    half_formatted[BYTES - 4000..].fill(b'x');
    vec![
        ("int64 indices", words(|index| index)),
        ("int64 indices from 1", words(|index| index + 1)),
        ("seconds of today", words(|index| now_s() - 1000 + index)),
        ("a constant float", words(|_| 1.5_f64.to_bits())),
        ("one time in every word", words(|_| now_s())),
        ("an image of 0xff", vec![0xff; BYTES]),
        ("spaces", vec![b' '; BYTES]),
        ("zeros", vec![0; BYTES]),
        ("zeros with content at the end", late),
        ("pages with a header of 0xff", formatted),
        ("IOzone's pages, and content behind them", half_formatted),
        ("IOR's beginning, and content behind it", beginning),
        ("IOR's packets but for one byte", end),
        ("IOR's packets of another rank", timestamps(5, now_s())),
        ("IOR's packets of another time", timestamps(0, now_s() - 90 * 86_400)),
        ("IOR's packets in other transfers", timestamps(0, now_s()).iter().map(|&byte| byte.rotate_left(1)).collect()),
        ("text", b"years of work\n".repeat(BYTES / 14 + 1)[..BYTES].to_vec()),
    ]
}

/// Command lines that write, read, or remove `f`.
const WRITES: [&str; 6] = [
    "ior -w -t 64k -b 1m -o f",
    "ior -w -k -E -t 64k -b 1m -o f",
    "ior -w -r -a MMAP -t 64k -b 1m -o f",
    "iozone -i 0 -t 1 -r 64k -s 1m -F f",
    "iozone -i 0 -i 1 -w -t 1 -r 64k -s 1m -F f",
    "iozone -i 2 -B -t 1 -r 64k -s 1m -F f",
];
const READS: [&str; 4] = [
    "ior -r -t 64k -b 1m -o f",
    "ior -r -k -t 64k -b 1m -o f",
    "ior -r -a AIO -t 64k -b 1m -o f",
    "iozone -i 1 -t 1 -r 64k -s 1m -F f",
];

#[test]
fn foreign_files_are_neither_overwritten_nor_removed_whatever_they_hold() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    for (name, content) in foreign() {
        assert_eq!(content.len(), BYTES, "{name}");
        fs::write(&file, &content).unwrap();
        let before = state(&file);
        for line in WRITES {
            let output = engine(directory.path(), line);
            assert_eq!(output.status.code(), Some(3), "{name}, {line}: {}", stderr_of(&output));
            assert!(stderr_of(&output).contains("--overwrite"), "{name}, {line}: {}", stderr_of(&output));
            assert!(state(&file) == before, "{name}, {line}: it has changed");
        }
        for line in READS {
            let output = engine(directory.path(), line);
            assert_eq!(output.status.code(), Some(0), "{name}, {line}: {}", stderr_of(&output));
            assert!(state(&file) == before, "{name}, {line}: it has changed");
            let keeps = line.contains("-k");
            assert_eq!(stderr_of(&output).contains("f not removed"), !keeps, "{name}, {line}: {}", stderr_of(&output));
        }
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn what_keeps_no_files_touches_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    fs::write(&file, "years of work").unwrap();
    let before = state(&file);
    for line in ["ior --dryRun -w -t 64k -b 1m -o f", "ior --dryRun -r -t 64k -b 1m -o f", "ior -a DUMMY -w -o f"] {
        for overwrite in ["", " --overwrite"] {
            let output = engine(directory.path(), &format!("{line}{overwrite}"));
            assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr_of(&output));
            assert!(state(&file) == before, "{line}{overwrite}: it has changed");
        }
    }
}

#[test]
fn what_the_real_ior_wrote_with_these_sizes_is_replaced_and_with_others_it_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    let write = "ior -w -t 64k -b 1m -o f";
    for content in [timestamps(0, now_s() - 60), offsets(now_s() - 60)] {
        fs::write(&file, &content).unwrap();
        let read = engine(directory.path(), "ior -r -t 64k -b 1m -o f");
        assert_eq!(read.status.code(), Some(0), "{}", stderr_of(&read));
        assert!(file.exists(), "a read removes nothing that has no mark");
        for other in ["ior -w -t 32k -b 1m -o f", "ior -w -t 64k -b 2m -o f", "ior --ranks 2 -w -t 64k -b 512k -o f"] {
            assert_eq!(engine(directory.path(), other).status.code(), Some(3), "{other}");
        }
        assert!(fs::read(&file).unwrap() == content);
        let output = engine(directory.path(), write);
        assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
        assert!(!file.exists());
    }
    // With a signature of its own, which the command line repeats.
    fs::write(&file, timestamps(0, 7)).unwrap();
    assert_eq!(engine(directory.path(), write).status.code(), Some(3));
    let output = engine(directory.path(), &format!("{write} -G 7"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
}

#[test]
fn what_iozone_wrote_is_replaced_where_the_sizes_are_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    let mut content = vec![0; BYTES];
    content.chunks_mut(4096).for_each(|page| page[..8].fill(0xa5));
    fs::write(&file, &content).unwrap();
    assert_eq!(engine(directory.path(), "iozone -i 0 -t 1 -r 64k -s 2m -F f").status.code(), Some(3));
    assert_eq!(engine(directory.path(), "iozone -i 0 -t 1 -r 64k -s 1m -F f").status.code(), Some(0));
    assert!(!file.exists());
}

#[test]
fn a_read_removes_what_has_the_mark_and_the_mark_ends_with_the_next_change() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    let (write, read) = ("ior -w -k -t 64k -b 1m -o f", "ior -r -t 64k -b 1m -o f");
    assert_eq!(engine(directory.path(), write).status.code(), Some(0));
    assert_eq!(engine(directory.path(), read).status.code(), Some(0));
    assert!(!file.exists(), "it has the mark");
    assert_eq!(engine(directory.path(), write).status.code(), Some(0));
    fs::write(&file, vec![b'x'; BYTES]).unwrap();
    assert_eq!(engine(directory.path(), read).status.code(), Some(0));
    assert_eq!(fs::read(&file).unwrap(), vec![b'x'; BYTES]);
    assert_eq!(engine(directory.path(), &format!("{read} --overwrite")).status.code(), Some(0));
    assert!(!file.exists());
}

#[test]
fn overwrite_is_for_regular_files_and_for_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    fs::write(path("thesis"), "years of work").unwrap();
    std::os::unix::fs::symlink(path("thesis"), path("link")).unwrap();
    fs::create_dir(path("directory")).unwrap();
    let mut names = vec!["pipe", "socket", "link", "directory"];
    // The numbers of a disk that this machine need not have: opening such a node fails, and it must still be there.
    let (kind, mode) = (nix::sys::stat::SFlag::S_IFBLK, nix::sys::stat::Mode::S_IRUSR);
    if nix::sys::stat::mknod(&path("disk"), kind, mode, nix::sys::stat::makedev(240, 77)).is_ok() {
        std::os::unix::fs::symlink(path("disk"), path("link-to-disk")).unwrap();
        names.extend(["disk", "link-to-disk"]);
    } else {
        assert!(!nix::unistd::Uid::effective().is_root(), "root may make devices");
    }
    for name in names {
        let inode = fs::symlink_metadata(path(name)).unwrap().ino();
        for line in WRITES {
            let line = format!("{} --overwrite", line.replace(" f", &format!(" {name}")));
            let output = engine(directory.path(), &line);
            assert_eq!(output.status.code(), Some(3), "{line}: {}", stderr_of(&output));
            assert!(stderr_of(&output).contains("is not a regular file"), "{line}: {}", stderr_of(&output));
            assert_eq!(fs::symlink_metadata(path(name)).unwrap().ino(), inode, "{line}");
        }
    }
    assert_eq!(fs::read_to_string(path("thesis")).unwrap(), "years of work");
    drop(socket);
}

/// A block device that is a file of this test, with a node of the test's own. It goes with the test.
struct LoopDisk {
    device: String,
    image: PathBuf,
    node: PathBuf,
}

impl LoopDisk {
    /// `None` where this user, or this machine, cannot have one.
    fn attach(image: &Path, bytes: u64) -> Option<Self> {
        fs::File::create(image).unwrap().set_len(bytes).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(image).output();
        let Some(made) = made.ok().filter(|made| made.status.success()) else {
            skipped("a loop device", "losetup needs root");
            return None;
        };
        let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        let disk = Self { device, image: image.to_owned(), node: image.with_extension("node") };
        disk.copy_node(&disk.node);
        Some(disk)
    }

    /// Makes another node of the same device.
    fn copy_node(&self, path: &Path) {
        let number = fs::metadata(&self.device).unwrap().rdev();
        let (kind, mode) = (nix::sys::stat::SFlag::S_IFBLK, nix::sys::stat::Mode::S_IRUSR);
        nix::sys::stat::mknod(path, kind, mode, number).unwrap();
    }

    /// True if nothing has been written to it.
    fn is_zero(&self) -> bool {
        // What a process wrote is in the page cache of the device until it is synced.
        fs::File::open(&self.device).unwrap().sync_all().unwrap();
        fs::read(&self.image).unwrap().iter().all(|&byte| byte == 0)
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

#[test]
fn a_block_device_is_not_written_to_because_it_was_named_once() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = LoopDisk::attach(&directory.path().join("image"), 4 << 20) else { return };
    let node = &disk.node;
    let inode = fs::symlink_metadata(node).unwrap().ino();
    let name = node.display();
    for line in [
        format!("ior -w --overwrite -t 64k -b 1m -o {name}"),
        format!("ior -w -E --overwrite -t 64k -b 1m -o {name}"),
        format!("ior -w -E -k -a AIO --overwrite -t 64k -b 1m -o {name}"),
        format!("ior -w -E -k -a MMAP --overwrite -t 64k -b 1m -o {name}"),
        format!("iozone -i 0 -t 1 -r 64k -s 1m --overwrite -F {name}"),
        format!("iozone -i 0 -w -+N -t 1 -r 64k -s 1m --overwrite -F {name}"),
        format!("ior -w -k -t 64k -b 64k -o f --overwrite -O summaryFile={name}"),
        format!("ior -r -t 64k -b 1m -o {name}"),
        format!("ior -r --overwrite -t 64k -b 1m -o {name}"),
    ] {
        let output = engine(directory.path(), &line);
        assert!(line.contains("ior -r") || !output.status.success(), "{line}");
        let about = fs::symlink_metadata(node).unwrap();
        assert!(about.file_type().is_block_device() && about.ino() == inode, "{line}: {}", stderr_of(&output));
        assert!(disk.is_zero(), "{line}: {}", stderr_of(&output));
    }
}

/// Another user who may write into the directory puts something else in the place of the file as fast as possible.
#[test]
fn what_is_put_into_the_place_of_a_file_after_the_check_is_not_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = LoopDisk::attach(&directory.path().join("image"), 4 << 20) else { return };
    let (file, link) = (directory.path().join("f"), directory.path().join("node"));
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                let _ = fs::remove_file(&file);
                disk.copy_node(&link);
                let _ = fs::rename(&link, &file);
                std::thread::sleep(Duration::from_micros(300));
                let _ = fs::remove_file(&file);
            }
        });
        for line in ["ior -w -E -k --overwrite -t 64k -b 1m -o f", "iozone -i 0 -t 1 -r 64k -s 1m --overwrite -F f"] {
            for _ in 0..15 {
                engine(directory.path(), line);
            }
        }
        over.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    assert!(disk.is_zero());
}

#[test]
fn of_a_tree_only_entries_with_mdtests_names_are_touched() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("d");
    fs::create_dir(&tree).unwrap();
    let create = engine(directory.path(), "mdtest -C -F -n 10 -d d");
    assert_eq!(create.status.code(), Some(0), "{}", stderr_of(&create));
    let leaf = fs::read_dir(tree.join("test-dir.0-0")).unwrap().next().unwrap().unwrap().path();
    let foreign =
        [tree.join("thesis"), tree.join("test-dir.0-0/thesis"), leaf.join("thesis"), leaf.join("file.mdtest")];
    for (path, (_, content)) in foreign.iter().zip(foreign_contents()) {
        fs::write(path, content).unwrap();
    }
    let before: Vec<_> = foreign.iter().map(|path| state(path)).collect();
    for line in [
        "mdtest -r -F -n 10 -d d",
        "mdtest -F -n 10 -d d",
        "mdtest -r -F -n 20 -d d --overwrite",
        "mdtest -E -F -n 10 -d d",
    ] {
        engine(directory.path(), line);
        let after: Vec<_> = foreign.iter().map(|path| state(path)).collect();
        assert!(after == before, "{line}");
    }
}

fn foreign_contents() -> Vec<(&'static str, Vec<u8>)> {
    foreign().into_iter().take(4).collect()
}

#[test]
fn the_io500_leaves_foreign_files_beside_its_own_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("ior_file_easy"), vec![0xff; BYTES]).unwrap();
    let config = "[global]\ndatadir = data\nresultdir = results\ntimestamp-datadir = FALSE\n[debug]\nstonewall-time = 1\n\
                  [ior-easy]\nblockSize = 1m\n[mdtest-easy]\nn = 4\n[mdtest-hard]\nn = 4\n[ior-hard]\nsegmentCount = 10\n\
                  [ior-rnd4K]\nblockSize = 1m\n[find]\nnproc = 1\n";
    fs::write(directory.path().join("config.ini"), config).unwrap();
    let before = state(&data.join("ior_file_easy"));
    let output = engine(directory.path(), "io500 config.ini --overwrite");
    assert!(state(&data.join("ior_file_easy")) == before, "{}", stderr_of(&output));
}
