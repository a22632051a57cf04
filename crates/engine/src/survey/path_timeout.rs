//! Inspects a path that may never answer, and words the failure if it does not.

use std::path::Path;
use std::time::Duration;

use ioassay_host::mounts;
use ioassay_protocol::events::Failure;
use ioassay_units::Nanoseconds;

use crate::failure;
use crate::supervise::with_timeout::{self, Hanging};

/// What `look` finds out. A failure if there is no answer within `limit`, or before `must_stop` says that nobody waits for it any
/// more.
pub fn with_timeout<T: Send + 'static>(
    limit: Duration,
    path: &Path,
    must_stop: impl Fn() -> bool,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    with_timeout::with_timeout(limit, must_stop, look).map_err(|hanging| no_answer(path, hanging))
}

/// That `path` has not answered.
pub fn no_answer(path: &Path, Hanging { waited, call }: Hanging) -> Failure {
    let silence = silence(path, waited, call.as_deref());
    let message = format!("{} has not responded on {} for {silence}", path.display(), ioassay_host::host_name());
    let remedy = "check whether its server responds and the node reaches it, and read the node's kernel log (dmesg)";
    failure::about_path(&call.unwrap_or_else(|| "look".to_owned()), path, message, remedy)
}

/// For how long `path` has not answered, the system call that hangs, and what is mounted there.
pub fn silence(path: &Path, waited: Duration, call: Option<&str>) -> String {
    let waited = Nanoseconds(waited.as_nanos() as u64).about();
    let hangs = call.map(|name| format!(": the system call {name} hangs")).unwrap_or_default();
    let mounted = mounts::mounted_at(path).map(|mount| format!(" ({mount})")).unwrap_or_default();
    format!("{waited}{hangs}{mounted}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn who_answers_is_heard_and_who_does_not_is_named_with_the_call_that_hangs() {
        let path = Path::new("/mnt/x");
        assert_eq!(with_timeout(LONG, path, || false, || 7).unwrap(), 7);
        let (sender, receiver) = std::os::unix::net::UnixStream::pair().unwrap();
        let hangs = move || std::io::Read::read(&mut &receiver, &mut [0]);
        let failure = with_timeout(Duration::from_millis(100), path, || false, hangs).unwrap_err();
        drop(sender);
        assert!(failure.message.starts_with("/mnt/x has not responded"), "{}", failure.message);
        assert_eq!(failure.operation, "recvfrom");
    }

    #[test]
    fn nobody_waits_any_longer_when_all_are_to_stop() {
        let (sender, receiver) = channel::<()>();
        assert!(with_timeout(LONG, Path::new("/mnt/x"), || true, move || receiver.recv()).is_err());
        drop(sender);
    }
}
