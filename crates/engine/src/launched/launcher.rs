//! What launchers of MPI say to the processes that they start, by their environment: before MPI itself can be asked; and
//! how a launcher is ended that would not end by itself.

use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::unistd::{ForkResult, fork, getppid, setsid};

/// Where they say how many they have started, and which of them this is. Where one launcher is started by another, the
/// inner one comes first: under Slurm, `mpirun` starts its helpers with `srun`.
const LAUNCHERS: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("PMIX_SIZE", "PMIX_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];

/// A launcher, by what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The variable that says so.
    pub variable: &'static str,
    /// How many processes it has started.
    pub size: u32,
    /// Which of them this is, where it says so.
    pub rank: Option<u32>,
}

/// The launcher of this process; `None` if there is none.
pub fn of_this_process() -> Option<Launcher> {
    launcher_in(|name| std::env::var(name).ok())
}

/// True if a launcher of MPI has started this process.
pub fn started_this() -> bool {
    of_this_process().is_some()
}

/// True if a launcher of MPI has started several of these.
pub fn started_several() -> bool {
    of_this_process().is_some_and(|launcher| launcher.size > 1)
}

fn launcher_in(environment: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
    let number = |name: &str| environment(name).and_then(|value| value.parse().ok());
    LAUNCHERS
        .iter()
        .find_map(|&(variable, rank)| Some(Launcher { variable, size: number(variable)?, rank: number(rank) }))
}

/// What launchers call themselves, as far as they all do.
const PROGRAMS: [&str; 4] = ["mpirun", "mpiexec", "orterun", "prterun"];

/// How long a launcher may take to end by itself where a node is lost.
const ENDS_ITSELF_S: u32 = 2;

/// The most processes between a launcher and this one.
const MOST_BETWEEN: usize = 8;

/// Ends the launcher that has started this process in a moment, if it is on this node and has not ended by itself: many wait
/// for a lost node for minutes. It ends what it has started as it ends.
pub fn end_soon() {
    let Some(launcher) = on_this_node() else { return };
    // SAFETY: in the child nothing is called but system calls, which no lock of another thread can hold up.
    if let Ok(ForkResult::Child) = unsafe { fork() } {
        // A process that waits for this process' group or for the end of its output is not to wait for the child.
        let _ = setsid();
        let kept = launcher.as_raw_fd() as u32;
        // SAFETY: the child uses no other file, and ends in here.
        unsafe {
            libc::syscall(libc::SYS_close_range, 0, kept - 1, 0);
            libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0);
            libc::sleep(ENDS_ITSELF_S);
            libc::syscall(libc::SYS_pidfd_send_signal, kept, libc::SIGKILL, 0, 0);
            libc::_exit(0)
        }
    }
}

/// The launcher, if it is an ancestor of this process.
fn on_this_node() -> Option<OwnedFd> {
    let mut pid = getppid().as_raw();
    for _ in 0..MOST_BETWEEN {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if PROGRAMS.iter().any(|program| field("Name:").is_some_and(|name| name.starts_with(program))) {
            // SAFETY: takes two numbers, and returns a file of our own or an error.
            let file = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
            // SAFETY: it was opened just now, and nobody else has it.
            return (file > 0).then(|| unsafe { OwnedFd::from_raw_fd(file as i32) });
        }
        pid = field("PPid:")?.parse().ok().filter(|&parent| parent > 1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpirun_inside_of_slurm_is_the_one_that_counts() {
        let environment = |name: &str| match name {
            "SLURM_STEP_NUM_TASKS" => Some("2".to_owned()),
            "OMPI_COMM_WORLD_SIZE" => Some("8".to_owned()),
            "OMPI_COMM_WORLD_RANK" => Some("5".to_owned()),
            _ => None,
        };
        let expected = Launcher { variable: "OMPI_COMM_WORLD_SIZE", size: 8, rank: Some(5) };
        assert_eq!(launcher_in(environment), Some(expected));
        assert_eq!(launcher_in(|_| None), None);
    }
}
