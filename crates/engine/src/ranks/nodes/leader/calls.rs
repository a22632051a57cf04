//! Calls: all ranks come to one, and the first node answers it for everybody.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::message::{self, CallMessage, ClockMessage, Kind, Message};
use super::super::tree;
use super::super::wire::Wire;
use super::NodeLeader;
use crate::ranks::clocks::Reading;
use crate::ranks::local::leader_channel::Answer;
use crate::ranks::local::mailbox::Mailbox;

/// How long before a phase begins its instant is agreed on: by then all nodes must have heard of it.
const AHEAD: Duration = Duration::from_millis(10);

/// The call that is under way.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// Counted from 1 in each order.
    pub(super) number: u32,
    pub(super) kind: Option<Kind>,
    /// The ranks of this node have joined it.
    pub(super) has_own_ranks: bool,
    /// Nodes below this one that have not.
    pub(super) missing: BTreeSet<u32>,
    /// A rank or node wants to stop.
    pub(super) stop: bool,
    /// What this node and those below it say.
    pub(super) parts: Vec<u8>,
    /// It was passed on, or the first node is waiting for readings of clocks.
    pub(super) passed_on: bool,
    /// The answer of the first node.
    pub(super) answer: Vec<u8>,
}

impl Call {
    pub(super) fn first(node: u32, nodes: u32) -> Self {
        Self { number: 1, missing: tree::children(node, nodes).collect(), ..Self::default() }
    }
}

impl<W: Wire> NodeLeader<'_, W> {
    /// Another node has come to a call, or the first one answers it.
    pub(super) fn take_call(&mut self, from: u32, message: CallMessage, bytes: &[u8]) -> io::Result<()> {
        match message {
            CallMessage::Up { call, kind, stop } if call == self.call.number => {
                self.call.kind = Some(kind);
                self.call.stop |= stop;
                self.call.missing.remove(&from);
                self.call.parts.extend(bytes);
                self.pass_on_call()
            }
            CallMessage::Down { call, go_on, opens_first_ns } if call == self.call.number => {
                self.end_call(go_on, opens_first_ns, bytes)
            }
            // Of a call that is over.
            CallMessage::Up { .. } | CallMessage::Down { .. } => Ok(()),
        }
    }

    /// Joins a call that the ranks of this node have made.
    pub(super) fn join_call(&mut self) -> io::Result<()> {
        let channel = self.place.leader_channel();
        if self.call.has_own_ranks || self.order == 0 || channel.calls.load(Ordering::SeqCst) != self.call.number {
            return Ok(());
        }
        self.active_ns = self.now_ns();
        self.call.has_own_ranks = true;
        self.call.kind = Kind::of(channel.kind.load(Ordering::SeqCst));
        match self.call.kind {
            Some(Kind::Gather) => {
                let part = self.place.mailboxes().get(Mailbox::Outbox);
                message::add_part(&mut self.call.parts, self.node, &part);
            }
            Some(Kind::Broadcast) if self.is_first() => self.call.answer = self.place.mailboxes().get(Mailbox::Outbox),
            _ => {}
        }
        self.pass_on_call()
    }

    /// Passes the call on once this node and all below it have come to it.
    fn pass_on_call(&mut self) -> io::Result<()> {
        let Some(kind) = self.call.kind else { return Ok(()) };
        if !self.call.has_own_ranks || !self.call.missing.is_empty() || self.call.passed_on {
            return Ok(());
        }
        self.call.passed_on = true;
        let stop = self.call.stop || self.place.stopping();
        if let Some(parent) = tree::parent(self.node) {
            let parts = std::mem::take(&mut self.call.parts);
            return self.tell(parent, &Message::Call(CallMessage::Up { call: self.call.number, kind, stop }), &parts);
        }
        let answer = std::mem::take(&mut self.call.answer);
        match kind {
            Kind::Meet => self.end_call(!stop, 0, &[]),
            Kind::Broadcast => self.end_call(true, 0, &answer),
            Kind::Gather => {
                self.place.mailboxes().put(Mailbox::Inbox, &std::mem::take(&mut self.call.parts));
                self.end_call(true, 0, &[])
            }
            Kind::Start => {
                let far_ns = self.readings.iter().flatten().map(|reading| reading.uncertainty_ns).max().unwrap_or(0);
                let opens_ns = self.now_ns() + AHEAD.as_nanos() as u64 + 4 * far_ns;
                self.end_call(!stop, opens_ns, &[])
            }
            Kind::Clocks => {
                self.readings = vec![None; self.nodes as usize];
                self.readings[0] = Some(Reading::default());
                self.tell_below(&Message::Clock(ClockMessage::Measure { call: self.call.number }), &[])?;
                self.report_readings()
            }
        }
    }

    /// Ends the call under way, here and below.
    pub(super) fn end_call(&mut self, go_on: bool, opens_first_ns: u64, answer: &[u8]) -> io::Result<()> {
        let number = self.call.number;
        self.tell_below(&Message::Call(CallMessage::Down { call: number, go_on, opens_first_ns }), answer)?;
        if self.call.kind == Some(Kind::Broadcast) {
            self.place.mailboxes().put(Mailbox::Inbox, answer);
        }
        let opens_ns = if opens_first_ns == 0 { 0 } else { self.reading.here(opens_first_ns) };
        self.call = Call { number: number + 1, ..Call::first(self.node, self.nodes) };
        self.questions = None;
        self.place.leader_channel().answer_call(number, Answer { go_on, opens_ns });
        Ok(())
    }

    /// As the first node: once all are to stop, nobody waits for nodes that will not come to the call any more.
    pub(super) fn answer_stop(&mut self) -> io::Result<()> {
        let heeds = self.call.kind.is_some_and(Kind::heeds_stop);
        if self.is_first() && heeds && self.place.stopping() { self.end_call(false, 0, &[]) } else { Ok(()) }
    }
}
