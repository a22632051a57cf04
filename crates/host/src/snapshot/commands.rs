//! Commands that know what no file says, each with a time limit, all at the same time.
//!
//! A command that does not end in time is killed with its process group. One that hangs in the kernel cannot be killed and is
//! left behind.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ioassay_protocol::environment::Environment;
use ioassay_protocol::snapshot::CommandOutput;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::collector::Collector;
use super::secrets::redacted;

/// Directories with programs of administrators, which users may lack in PATH.
const MORE_DIRECTORIES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/lpp/mmfs/bin"];

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How long a process that was killed may take to disappear.
const DISAPPEARING: Duration = Duration::from_millis(300);

/// Poll interval for the exit of a process that has closed its output.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How much of standard error is kept, in characters.
const MOST_OF_ERROR: usize = 500;

/// Where programs are looked for, and how long each may take.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Absolute paths.
    pub directories: Vec<PathBuf>,
    /// For each command.
    pub limit: Duration,
}

impl Programs {
    /// Those of this process, and of administrators.
    pub fn of_this_node() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let more = MORE_DIRECTORIES.iter().map(PathBuf::from);
        let mut directories: Vec<PathBuf> = Vec::new();
        for directory in std::env::split_paths(&path).chain(more).filter(|directory| directory.is_absolute()) {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        Self { directories, limit: LIMIT }
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        let executable = |path: &PathBuf| {
            path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        self.directories.iter().map(|directory| directory.join(program)).find(executable)
    }
}

/// Properties of data sets that OpenZFS has had since before 2.1; one that a release lacks fails the whole command.
const ZFS_PROPERTIES: &str = "type,mountpoint,recordsize,volblocksize,compression,sync,logbias,xattr,dnodesize,atime,\
                              checksum,copies,dedup,primarycache,special_small_blocks,redundant_metadata";

/// A command that is worth running, and what its output is called in the archive.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    name: &'static str,
    argv: Vec<String>,
}

fn wanted(environment: &Environment, target: Option<&Path>) -> Vec<Wanted> {
    let of = |name, argv: &[&str]| Wanted { name, argv: argv.iter().map(|word| (*word).to_owned()).collect() };
    let mut all = vec![
        of("lctl-dl", &["lctl", "dl"]),
        of("multipath-ll", &["multipath", "-ll"]),
        of("nvme-list", &["nvme", "list", "-o", "json"]),
        of("exportfs-v", &["exportfs", "-v"]),
        of("mmlsconfig", &["mmlsconfig"]),
        of("mmlsfs-all", &["mmlsfs", "all", "-Y"]),
        of("mmdiag-config", &["mmdiag", "--config"]),
        of("dmsetup-table", &["dmsetup", "table"]),
        of("dmsetup-ls-tree", &["dmsetup", "ls", "--tree"]),
        of("mdadm-detail-scan", &["mdadm", "--detail", "--scan"]),
        // With devices as the kernel calls them, not by names that have serial numbers.
        of("zpool-status", &["zpool", "status", "-LP"]),
        of("zpool-get", &["zpool", "get", "-Hp", "all"]),
        of("zfs-get", &["zfs", "get", "-Hp", "-t", "filesystem,volume", ZFS_PROPERTIES]),
        of("zfs-get-direct", &["zfs", "get", "-Hp", "-t", "filesystem", "direct"]),
    ];
    let Some(mount) = &environment.mount else { return all };
    let target = target.map(|target| target.to_string_lossy()).unwrap_or_default();
    let source = mount.source.as_deref().unwrap_or_default();
    match mount.file_system.as_str() {
        "lustre" => {
            all.push(of("lfs-getstripe-d", &["lfs", "getstripe", "-d", &target]));
            all.push(of("lfs-df", &["lfs", "df", &target]));
        }
        "xfs" => all.push(of("xfs_info", &["xfs_info", &mount.mount_point])),
        "btrfs" => {
            all.push(of("btrfs-usage", &["btrfs", "filesystem", "usage", "-b", &mount.mount_point]));
        }
        "zfs" => {
            let pool = source.split('/').next().unwrap_or_default();
            all.push(of("zpool-get-ashift", &["zpool", "get", "-Hp", "ashift", pool, "all-vdevs"]));
        }
        "ext2" | "ext3" | "ext4" if source.starts_with('/') => {
            all.push(of("dumpe2fs-h", &["dumpe2fs", "-h", source]));
        }
        _ => {}
    }
    all
}

/// Runs what the node has of the commands. Their output becomes files of the archive.
pub fn run(
    programs: &Programs,
    environment: &Environment,
    target: Option<&Path>,
    collector: &mut Collector<'_>,
) -> Vec<CommandOutput> {
    let most = collector.bounds().file_bytes;
    let wanted = wanted(environment, target);
    let present =
        wanted.into_iter().filter_map(|wanted| programs.find(&wanted.argv[0]).map(|program| (wanted, program)));
    let present: Vec<(Wanted, PathBuf)> = present.collect();
    let ended: Vec<Exit> = std::thread::scope(|scope| {
        let running: Vec<_> = present
            .iter()
            .map(|(wanted, program)| scope.spawn(move || Exit::of(programs, program, &wanted.argv[1..], most)))
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let kept = present.into_iter().zip(ended).map(|((Wanted { name, argv }, _), ended)| {
        let name = format!("commands/{name}.txt");
        let text = redacted(&String::from_utf8_lossy(&ended.output));
        let is_kept = !text.is_empty() && collector.add(&name, &name, text.into_bytes());
        let error = ended.error.map(|error| redacted(&error));
        CommandOutput { argv, exit_code: ended.exit_code, error, file: is_kept.then_some(name) }
    });
    kept.collect()
}

/// The result of a command.
#[derive(Debug, Default)]
struct Exit {
    exit_code: Option<i32>,
    error: Option<String>,
    output: Vec<u8>,
}

impl Exit {
    fn of(programs: &Programs, program: &Path, arguments: &[String], most: usize) -> Self {
        let path = std::env::join_paths(&programs.directories).unwrap_or_else(|_| OsString::from("/usr/bin:/bin"));
        let mut command = Command::new(program);
        command.args(arguments).env("PATH", path).env("LC_ALL", "C").current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: prctl may be called between fork and exec.
        unsafe { command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?)) };
        match command.spawn() {
            Ok(child) => Self::of_child(child, programs.limit, most),
            Err(error) => Self { error: Some(format!("could not start: {error}")), ..Self::default() },
        }
    }

    fn of_child(mut child: Child, limit: Duration, most: usize) -> Self {
        let deadline = Instant::now() + limit;
        let mut output = Stream::new(child.stdout.take(), most);
        let mut errors = Stream::new(child.stderr.take(), most);
        while output.is_open() || errors.is_open() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            wait_for_either(&output, &errors, left);
            output.read();
            errors.read();
        }
        let status = loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL),
                other => break other.ok().flatten(),
            }
        };
        let error = match status {
            None => {
                kill(&mut child);
                Some(format!("killed: not finished after {} s", limit.as_secs_f64()))
            }
            Some(status) => match (status.code(), status.signal()) {
                (Some(0), _) => output.is_cut.then(|| format!("output cut off after {most} bytes")),
                (None, Some(signal)) => Some(format!("ended by signal {signal}")),
                _ => Some(errors.text()).filter(|text| !text.is_empty()),
            },
        };
        Self { exit_code: status.and_then(|status| status.code()), error, output: output.bytes }
    }
}

/// Kills a process with its group, and waits a moment for its end.
fn kill(child: &mut Child) {
    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
    let begin = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < DISAPPEARING {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// What a command writes, as far as it is kept.
struct Stream<T> {
    from: Option<T>,
    bytes: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl<T: Read + AsFd> Stream<T> {
    fn new(from: Option<T>, most: usize) -> Self {
        if let Some(pipe) = &from {
            let _ = fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
        }
        Self { from, bytes: Vec::new(), most, is_cut: false }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Reads what is there.
    fn read(&mut self) {
        let mut buffer = [0; 16 << 10];
        while let Some(pipe) = &mut self.from {
            match pipe.read(&mut buffer) {
                Ok(0) => self.from = None,
                Ok(read) => {
                    let kept = read.min(self.most - self.bytes.len());
                    self.bytes.extend(&buffer[..kept]);
                    self.is_cut |= kept < read;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.from = None,
            }
        }
    }

    /// Its beginning, as one line.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MOST_OF_ERROR).collect()
    }
}

fn wait_for_either(first: &Stream<impl AsFd>, second: &Stream<impl AsFd>, limit: Duration) {
    let first = first.from.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
    let second = second.from.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
    let mut open: Vec<PollFd<'_>> = first.into_iter().chain(second).collect();
    let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    let _ = poll(&mut open, limit);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ioassay_protocol::environment::Mount;

    use super::*;
    use crate::snapshot::archive::Archive;
    use crate::snapshot::collector::Bounds;

    /// Runs the commands where programs are these shell scripts.
    fn ran(scripts: &[(&str, &str)], limit: Duration, mount: Option<Mount>) -> (Vec<CommandOutput>, Archive) {
        let directory = tempfile::tempdir().unwrap();
        for (name, script) in scripts {
            let path = directory.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let directories = vec![directory.path().to_owned(), "/usr/bin".into(), "/bin".into()];
        let programs = Programs { directories, limit };
        let mut collector = Collector::new(Path::new("/"), Bounds::default());
        let environment = Environment { mount, ..Environment::default() };
        let outputs = run(&programs, &environment, Some(Path::new("/mnt/x")), &mut collector);
        let is_of_script = |output: &CommandOutput| scripts.iter().any(|(name, _)| *name == output.argv[0]);
        (outputs.into_iter().filter(is_of_script).collect(), collector.finish().0)
    }

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_command_that_the_node_has_leaves_its_output_without_secrets() {
        let (outputs, archive) = ran(&[("lctl", "echo \"$1 password=hunter2 $LC_ALL\"")], LONG, None);
        let argv = ["lctl", "dl"].map(str::to_owned).to_vec();
        let file = Some("commands/lctl-dl.txt".to_owned());
        assert_eq!(outputs, [CommandOutput { argv, exit_code: Some(0), error: None, file }]);
        assert_eq!(archive.files["commands/lctl-dl.txt"], b"dl password=REDACTED C\n");
    }

    #[test]
    fn a_command_that_fails_says_why() {
        let (outputs, archive) =
            ran(&[("multipath", "echo 'need to be root,' >&2; echo 'token: x' >&2; exit 3")], LONG, None);
        assert_eq!((outputs[0].exit_code, outputs[0].file.as_deref()), (Some(3), None));
        assert_eq!(outputs[0].error.as_deref(), Some("need to be root, token: REDACTED"));
        assert!(archive.files.is_empty());
        let (outputs, _) = ran(&[("multipath", "kill -9 $$")], LONG, None);
        assert_eq!((outputs[0].exit_code, outputs[0].error.as_deref()), (None, Some("ended by signal 9")));
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_started() {
        let begin = Instant::now();
        let scripts = [("mmlsconfig", "echo early; sleep 100 & echo $!; wait"), ("dmsetup", "exec sleep 100 >&- 2>&-")];
        let (outputs, archive) = ran(&scripts, Duration::from_millis(300), None);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        assert_eq!(outputs.len(), 3);
        for output in outputs {
            assert_eq!((output.exit_code, output.error.as_deref()), (None, Some("killed: not finished after 0.3 s")));
        }
        let text = String::from_utf8(archive.files["commands/mmlsconfig.txt"].clone()).unwrap();
        let sleeping: i32 = text.lines().nth(1).unwrap().parse().unwrap();
        let state = fs::read_to_string(format!("/proc/{sleeping}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z"), "it goes on: {state}");
    }

    #[test]
    fn long_output_is_cut_off_and_the_command_comes_to_its_end() {
        let (outputs, archive) = ran(&[("mmlsconfig", "head -c 1000000 /dev/zero | tr '\\0' x")], LONG, None);
        let file_bytes = Bounds::default().file_bytes;
        assert_eq!((outputs[0].exit_code, archive.files["commands/mmlsconfig.txt"].len()), (Some(0), file_bytes));
        assert_eq!(outputs[0].error, Some(format!("output cut off after {file_bytes} bytes")));
    }

    #[test]
    fn which_commands_ask_the_file_system_depends_on_what_it_is() {
        let names = |file_system: &str, source: &str| {
            let mount = Mount {
                mount_point: "/mnt".to_owned(),
                file_system: file_system.to_owned(),
                source: Some(source.to_owned()),
                ..Mount::default()
            };
            let environment = Environment { mount: Some(mount), ..Environment::default() };
            let all = wanted(&environment, Some(Path::new("/mnt/x")));
            let lines = all.iter().skip(14).map(|wanted| wanted.argv.join(" "));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(names("lustre", "a@tcp:/s"), ["lfs getstripe -d /mnt/x", "lfs df /mnt/x"]);
        assert_eq!(names("xfs", "/dev/sda"), ["xfs_info /mnt"]);
        assert_eq!(names("ext4", "/dev/sda"), ["dumpe2fs -h /dev/sda"]);
        assert_eq!(names("btrfs", "/dev/sda"), ["btrfs filesystem usage -b /mnt"]);
        assert_eq!(names("zfs", "tank/data"), ["zpool get -Hp ashift tank all-vdevs"]);
        assert_eq!(names("nfs4", "s:/x"), [""; 0]);
        assert_eq!(wanted(&Environment::default(), None).len(), 14);
    }
}
