//! What an agent waits for: the next second, a signal to stop, recorders that come and go.

use std::io::{self, Stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Recorders have some time after a second to write down what belongs to it.
const LOOK_AFTER: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
/// After a look, agents of several nodes have so long to tell each other what happened in the second.
const SHARE_AFTER: Duration = Duration::from_millis(500);
/// After a look at registrations the next one is so many times as long away as it took: who changes them all the time must not keep
/// the agent from everything else.
const PAUSE: u32 = 9;

/// Why the agent was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeReason {
    /// Another second is over: this one.
    Second(u32),
    /// The agents of other nodes have had time to say what happened there in the last second.
    Others,
    /// Something happened in the directory of registrations.
    Registrations,
    /// It is to stop.
    Stop,
}

/// The agent's alarm clock.
#[derive(Debug)]
pub struct Wake {
    signals: SignalFd,
    registrations: Option<Inotify>,
    /// Standard output, if nothing is left to do once nobody reads it.
    output: Option<Stdout>,
    next: Duration,
    /// When other agents will have said what happened, if that is waited for.
    others: Option<Duration>,
    /// When a change of registrations was reported, until the agent waits again.
    reported: Option<Instant>,
    /// When the next one is.
    report_again: Instant,
}

impl Wake {
    /// Waits for signals from now on, and for changes of the directory of registrations. An agent that writes to
    /// standard output alone (`output`) stops when its reader has gone.
    ///
    /// Signals are blocked for the calling thread, and for those that it starts later.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn new(registrations: Option<&Path>, output: bool) -> io::Result<Self> {
        let stops: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect();
        stops.thread_block()?;
        // A write beyond `ulimit -f` is to fail, and not to end the agent.
        SigSet::from(Signal::SIGXFSZ).thread_block()?;
        let signals = SignalFd::with_flags(&stops, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let registrations = registrations.map(|directory| -> nix::Result<Inotify> {
            let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
            let changes = AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE;
            inotify.add_watch(directory, changes)?;
            Ok(inotify)
        });
        let output = output.then(io::stdout);
        Ok(Self {
            signals,
            registrations: registrations.transpose()?,
            output,
            next: first_look(now()),
            others: None,
            reported: None,
            report_again: Instant::now(),
        })
    }

    /// The last second that was over when the agent began.
    pub fn began(&self) -> u32 {
        (self.next.as_secs() - 2) as u32
    }

    /// The last second that is over now, though recorders may still be writing down what belongs to it.
    pub fn last_over(&self) -> u32 {
        now().as_secs().saturating_sub(1) as u32
    }

    /// By how much the last look came too late, in nanoseconds.
    pub fn late_ns(&self) -> u64 {
        let wanted = self.next.saturating_sub(SECOND);
        now().saturating_sub(wanted).as_nanos() as u64
    }

    /// Wakes also when the agents of other nodes have had time to say what happened in the second of the last look.
    pub fn expect_others(&mut self) {
        let others = self.next.saturating_sub(SECOND) + SHARE_AFTER;
        // They need some time also where this look was late.
        self.others = Some(others.max(now() + SHARE_AFTER / 2));
    }

    /// Waits for what comes next.
    pub fn wait(&mut self) -> WakeReason {
        if let Some(reported) = self.reported.take() {
            self.report_again = Instant::now() + reported.elapsed() * PAUSE;
        }
        loop {
            let now = now();
            // The time of day may have been set back, or far ahead.
            if self.next > now + SECOND + LOOK_AFTER {
                self.next = first_look(now);
            }
            if now >= self.next {
                self.next = first_look(now);
                self.others = None;
                return WakeReason::Second((self.next.as_secs() - 2) as u32);
            }
            if self.others.is_some_and(|others| now >= others) {
                self.others = None;
                return WakeReason::Others;
            }
            // It counts whole milliseconds, and must not wake too early.
            let pause = self.report_again.saturating_duration_since(Instant::now());
            let reported = self.registrations.as_ref().filter(|_| pause.is_zero());
            let next = self.others.unwrap_or(self.next).min(self.next);
            let left = if pause.is_zero() { next - now } else { pause.min(next - now) };
            let left = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
            let mut waited = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            waited.extend(reported.map(|watch| PollFd::new(watch.as_fd(), PollFlags::POLLIN)));
            waited.extend(self.output.iter().map(|output| PollFd::new(output.as_fd(), PollFlags::empty())));
            let polled = poll(&mut waited, left);
            let has_gone = |waited: &PollFd| waited.revents().is_some_and(|seen| seen.contains(PollFlags::POLLERR));
            if waited.iter().any(has_gone) {
                return WakeReason::Stop;
            }
            match polled {
                Ok(0) | Err(Errno::EINTR) => continue,
                // It must not spin, whatever this is.
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
                Ok(_) => {}
            }
            if let Ok(Some(_)) = self.signals.read_signal() {
                return WakeReason::Stop;
            }
            if reported.is_some_and(|watch| watch.read_events().is_ok_and(|events| !events.is_empty())) {
                self.reported = Some(Instant::now());
                return WakeReason::Registrations;
            }
        }
    }
}

/// Since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The next moment at which a second is over and the recorders had their time.
fn first_look(now: Duration) -> Duration {
    let of_this_second = Duration::from_secs(now.as_secs()) + LOOK_AFTER;
    if now < of_this_second { of_this_second } else { of_this_second + SECOND }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_a_moment_after_each_second() {
        let ms = Duration::from_millis;
        assert_eq!(first_look(ms(7_050)), ms(7_100));
        assert_eq!(first_look(ms(7_100)), ms(8_100));
        assert_eq!(first_look(ms(7_999)), ms(8_100));
    }

    #[test]
    fn seconds_follow_each_other_and_a_registration_wakes() {
        let place = tempfile::tempdir().unwrap();
        let mut wake = Wake::new(Some(place.path()), false).unwrap();
        let WakeReason::Second(first) = wake.wait() else { panic!() };
        assert_eq!(first, wake.began());
        std::fs::write(place.path().join("1.json"), "").unwrap();
        assert_eq!(wake.wait(), WakeReason::Registrations);
        assert_eq!(wake.wait(), WakeReason::Second(first + 1));
        wake.expect_others();
        assert_eq!(wake.wait(), WakeReason::Others);
        assert_eq!(wake.wait(), WakeReason::Second(first + 2));
    }
}
