//! That a process has one thread when it forks: a fork copies no other, but the locks that the others hold, which nobody will
//! release in the child.
//!
//! Not here: who forks.

use std::time::{Duration, Instant};
use std::{fs, io};

use nix::unistd::gettid;

use crate::failure::Explained;

/// How long a thread that was waited for may still be seen: the kernel says that it has ended before it is gone.
const DISAPPEARING: Duration = Duration::from_millis(100);

/// Must be called before this process forks a child that goes on like any program.
///
/// # Errors
/// If there is another thread.
pub(crate) fn check() -> io::Result<()> {
    let begin = Instant::now();
    loop {
        let others = others()?;
        if others.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > DISAPPEARING {
            let what = format!(
                "the engine cannot fork its ranks, because its process has other threads: {}",
                others.join(", ")
            );
            let remedy =
                "storage plug-ins must not start threads before connect(), and preloaded libraries (LD_PRELOAD) must \
                 not start any; without either, this is a bug in ioassay: report it with this message"
                    .to_owned();
            return Err(Explained { what, remedy }.into_io());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The names of all threads but this one.
fn others() -> io::Result<Vec<String>> {
    let this_thread = gettid().to_string();
    let mut names = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        if thread.file_name().to_str() == Some(&this_thread) {
            continue;
        }
        // One that is gone by now is no other.
        if let Ok(name) = fs::read_to_string(thread.path().join("comm")) {
            names.push(name.trim_end().to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use ioassay_host::clock::Clock;

    use crate::supervise;

    #[test]
    fn ranks_are_not_forked_from_a_process_with_another_thread_and_the_error_names_it() {
        let (end, ended) = channel::<()>();
        let thread = std::thread::Builder::new().name("left-over".to_owned());
        let thread = thread.spawn(move || ended.recv()).unwrap();
        let error = supervise::run(1, Clock::calibrated(), |_| {}, |_| Ok(())).unwrap_err();
        drop(end);
        assert!(thread.join().unwrap().is_err());
        assert!(error.to_string().contains("left-over"), "{error}");
    }
}
