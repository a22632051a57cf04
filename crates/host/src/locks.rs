//! Locks on the first byte of a file, by which processes see that another one lives: the kernel removes a lock with its holder.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process ([`lock_for_process`]), by its number in the namespace of the caller.
    Process(u32),
    /// An open file ([`lock`]), or a process that the caller's namespace does not have.
    Unknown,
}

/// Locks a file that is open for writing, for as long as some process has it open.
///
/// # Errors
/// `WouldBlock` if it is locked already.
pub fn lock(file: &File) -> io::Result<()> {
    set(file, FcntlArg::F_OFD_SETLK(&first_byte(libc::F_WRLCK)))
}

/// Locks a file that is open for writing, for this process alone: until it ends, or closes any descriptor of that file. The kernel
/// tells others who holds the lock ([`holder`]).
///
/// # Errors
/// `WouldBlock` if it is locked already.
pub fn lock_for_process(file: &File) -> io::Result<()> {
    set(file, FcntlArg::F_SETLK(&first_byte(libc::F_WRLCK)))
}

/// Who has locked a file, if anyone. This asks, and takes no lock for itself.
///
/// # Errors
/// If its file system has no locks.
pub fn holder(file: &File) -> io::Result<Option<Holder>> {
    let mut asked = first_byte(libc::F_RDLCK);
    fcntl(file.as_fd(), FcntlArg::F_GETLK(&mut asked))?;
    if asked.l_type == libc::F_UNLCK as libc::c_short {
        return Ok(None);
    }
    let process = u32::try_from(asked.l_pid).ok().filter(|&number| number > 0);
    Ok(Some(process.map_or(Holder::Unknown, Holder::Process)))
}

fn set(file: &File, how: FcntlArg) -> io::Result<()> {
    match fcntl(file.as_fd(), how) {
        // POSIX leaves either to the system.
        Err(Errno::EACCES | Errno::EAGAIN) => Err(io::ErrorKind::WouldBlock.into()),
        done => Ok(done.map(drop)?),
    }
}

fn first_byte(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 1,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::waitpid;
    use nix::unistd::{ForkResult, fork};
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_lock_is_seen_by_others_and_goes_with_the_last_descriptor() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (first, second) = (file.reopen().unwrap(), file.reopen().unwrap());
        assert_eq!(holder(&second).unwrap(), None);
        lock(&first).unwrap();
        assert_eq!(holder(&second).unwrap(), Some(Holder::Unknown));
        assert_eq!(lock(&second).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // Another process has it still.
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::from(first)).spawn().unwrap();
        assert_eq!(holder(&second).unwrap(), Some(Holder::Unknown));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(holder(&second).unwrap(), None);
    }

    #[test]
    fn the_kernel_says_which_process_holds_a_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let opened = file.reopen().unwrap();
        let (mut from_child, tell) = std::io::pipe().unwrap();
        // SAFETY: the child calls nothing but system calls, and ends without returning.
        let child = match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                let is_locked = lock_for_process(&opened).is_ok();
                let _ = nix::unistd::write(&tell, &[is_locked.into()]);
                loop {
                    nix::unistd::pause();
                }
            }
        };
        let mut is_locked = [0];
        from_child.read_exact(&mut is_locked).unwrap();
        assert_eq!(is_locked, [1]);
        assert_eq!(holder(&opened).unwrap(), Some(Holder::Process(child.as_raw() as u32)));
        assert_eq!(lock_for_process(&opened).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        kill(child, Signal::SIGKILL).unwrap();
        waitpid(child, None).unwrap();
        assert_eq!(holder(&opened).unwrap(), None);
        lock_for_process(&opened).unwrap();
    }
}
