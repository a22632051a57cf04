//! Heartbeats, silence and stops: who is still there, and how everybody learns that all is to end.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ioassay_protocol::events::{Done, Failure};

use super::super::message::Message;
use super::super::wire::Wire;
use super::NodeLeader;
use crate::failure;
use crate::measure::recorder::{LANES, LiveCounters};

/// How often nodes say that they are there.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

/// A node that says nothing for this long is lost. With what stopping takes after that, a run ends within ten seconds.
pub const SILENCE: Duration = Duration::from_secs(5);

/// True if who was heard last at `since_ns` is lost.
pub fn is_silent(since_ns: u64, now_ns: u64) -> bool {
    now_ns.saturating_sub(since_ns) > SILENCE.as_nanos() as u64
}

pub(super) const LOST_REMEDY: &str = "check that the node is up and reachable over the network, then resume the run; \
                                      processes on a lost node may run until they notice";

/// The operation that failures of lost nodes name.
const WATCHING: &str = "watch nodes";

/// True if `failure` says that a node or rank is lost.
pub fn is_gone(failure: &Failure) -> bool {
    failure.operation == WATCHING
}

/// That `who` is lost.
pub fn gone(who: &str) -> Failure {
    let message = format!("no heartbeat from {who} for {} s", SILENCE.as_secs());
    failure::plain(WATCHING, message, LOST_REMEDY)
}

impl<W: Wire> NodeLeader<'_, W> {
    /// Node `from` is there, and its ranks have done so much.
    pub(super) fn take_heartbeat(&mut self, from: u32, done: [Done; LANES]) {
        self.done[from as usize] = done;
        if self.is_first() {
            self.place.leader_channel().note_elsewhere(&self.done_elsewhere());
        }
    }

    /// Another node wants all ranks to stop.
    pub(super) fn take_stop(&mut self, signal: Option<u32>, failure: Option<&Failure>) {
        if let Some(signal) = signal {
            self.place.leader_channel().signal.store(signal, Ordering::SeqCst);
        }
        self.told_stop |= !self.is_first();
        match failure {
            Some(failure) => self.place.fail(failure),
            None => self.place.stop(),
        }
    }

    /// Tells the others that ranks are to stop, if a rank or signal of this node wants that.
    pub(super) fn pass_on_stop(&mut self) -> io::Result<()> {
        if self.told_stop || !self.place.stopping() {
            return Ok(());
        }
        self.told_stop = true;
        let signal = Some(self.place.leader_channel().signal.load(Ordering::SeqCst)).filter(|&signal| signal > 0);
        let message = Message::Stop { signal, failure: self.place.failure().map(Box::new) };
        if self.is_first() { self.tell_others(&message) } else { self.tell(0, &message, &[]) }
    }

    /// Tells the others that ranks are to be suspended or to go on, where that was asked for on the first node.
    pub(super) fn pass_on_suspension(&mut self) -> io::Result<()> {
        let suspended = self.place.suspended();
        if !self.is_first() || self.told_suspended == suspended {
            return Ok(());
        }
        self.told_suspended = suspended;
        self.tell_others(if suspended { &Message::Suspend } else { &Message::Resume })
    }

    fn done_elsewhere(&self) -> [Done; LANES] {
        let mut sum = <[Done; LANES]>::default();
        for done in self.done.iter().skip(1).flat_map(|lanes| lanes.iter().enumerate()) {
            sum[done.0].bytes += done.1.bytes;
            sum[done.0].operations += done.1.operations;
        }
        sum
    }

    pub(super) fn send_heartbeat(&mut self) -> io::Result<()> {
        let now_ns = self.now_ns();
        if self.nodes == 1 || now_ns < self.heartbeat_ns + HEARTBEAT_INTERVAL.as_nanos() as u64 {
            return Ok(());
        }
        self.heartbeat_ns = now_ns;
        let heartbeat = Message::Heartbeat { done: self.place.watch_own().done };
        if self.is_first() { self.tell_others(&heartbeat) } else { self.tell(0, &heartbeat, &[]) }
    }

    /// Notices nodes, and processes of this node, that are not there any more.
    pub(super) fn notice_silence(&mut self) {
        // After a pause of its own it has not yet heard what the others said meanwhile.
        let (now_ns, resumed_ns) = (self.now_ns(), self.resumed_ns);
        let is_silent = |heard_ns: u64| is_silent(heard_ns.max(resumed_ns), now_ns);
        let guarded = |rank: &LiveCounters| rank.guarded_ns.load(Ordering::SeqCst);
        if self.place.counters().iter().any(|rank| guarded(rank) > 0 && is_silent(guarded(rank))) {
            self.place
                .fail(&gone(&format!("a process that the launcher started on {}", self.names[self.node as usize])));
        }
        if self.is_first() {
            let quiet = |node: &u32| is_silent(self.heard_ns[*node as usize]) && !self.lost.contains(node);
            let newly: Vec<u32> = (1..self.nodes).filter(quiet).collect();
            for node in newly {
                self.lost.insert(node);
                self.place.fail(&gone(&self.names[node as usize]));
            }
        } else if is_silent(self.heard_ns[0]) {
            self.leave_alone(&gone(&self.names[0]));
        }
    }

    /// This node is on its own: its ranks are to end, and nobody is to be waited for.
    pub(super) fn leave_alone(&mut self, failure: &Failure) {
        self.place.fail(failure);
        self.place.abandon();
        self.place.leader_channel().alone.store(1, Ordering::SeqCst);
    }
}
