//! Speaks for a node: passes on what its ranks call and tell, and watches that all nodes are there.
//!
//! One for each node, in a process that does no I/O on the target, so that a node whose ranks hang still answers. It never
//! waits: [`NodeLeader::turn`] does what there is to do and returns.
//! The messages, the states, and who may end what are in docs/concepts/node-protocol.md; [`orders`],
//! [`calls`], [`readings`], [`jobs`] and [`watch`] are its sections.
//! Not here: how messages travel ([`super::wire`]), what ranks do with the answers ([`super::NodeRank`]).

mod calls;
mod jobs;
mod orders;
mod readings;
pub mod watch;

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ioassay_protocol::events::Done;

use self::calls::Call;
use self::watch::LOST_REMEDY;
use super::max_reduce::MaxReduce;
use super::message::{self, Message};
use super::tree;
use super::wire::Wire;
use super::work_stealing::WorkStealing;
use crate::failure;
use crate::measure::recorder::LANES;
use crate::ranks::clocks::{Questions, Reading};
use crate::ranks::local::MeetingPlace;
use crate::ranks::seating::Seating;

/// The longest nap between turns.
const LONGEST_NAP: Duration = Duration::from_millis(5);

/// A nap that takes longer than this was one of everybody here: a signal, a frozen control group, a machine that was paused.
const OVERSLEPT_NS: u64 = 1_000_000_000;

/// As long as something happened this short a time ago it stays awake: an answer is on its way.
const AWAKE: Duration = Duration::from_millis(2);

/// A node's leader.
pub struct NodeLeader<'a, W> {
    wire: W,
    place: &'a MeetingPlace,
    seating: &'a Seating,
    names: &'a [String],
    node: u32,
    nodes: u32,
    order: u32,
    call: Call,
    questions: Option<Questions>,
    /// How this node's clock differed when it was last compared.
    reading: Reading,
    /// Of all nodes, on the first one.
    readings: Vec<Option<Reading>>,
    reduce: MaxReduce,
    stealing: WorkStealing,
    /// When each node was heard last; on the others only the first one.
    heard_ns: Vec<u64>,
    /// When it went on after it last did not run itself; 0 where it always did.
    resumed_ns: u64,
    lost: BTreeSet<u32>,
    /// What the ranks of each node have done.
    done: Vec<[Done; LANES]>,
    heartbeat_ns: u64,
    told_stop: bool,
    told_suspended: bool,
    carried_out: BTreeSet<u32>,
    told_carried_out: u32,
    /// Messages to its own node, not yet handled.
    own_messages: Vec<(Message, Vec<u8>)>,
    active_ns: u64,
}

impl<'a, W: Wire> NodeLeader<'a, W> {
    /// For node `node` of those called `names`, whose ranks meet in `place`.
    pub fn new(wire: W, place: &'a MeetingPlace, seating: &'a Seating, names: &'a [String], node: u32) -> Self {
        let (nodes, now_ns) = (seating.nodes(), place.clock().now_ns());
        Self {
            wire,
            place,
            seating,
            names,
            node,
            nodes,
            order: 0,
            call: Call::default(),
            questions: None,
            reading: Reading::default(),
            readings: Vec::new(),
            reduce: MaxReduce::default(),
            stealing: WorkStealing::default(),
            heard_ns: vec![now_ns; nodes as usize],
            resumed_ns: 0,
            lost: BTreeSet::new(),
            done: vec![<[Done; LANES]>::default(); nodes as usize],
            heartbeat_ns: 0,
            told_stop: false,
            told_suspended: false,
            carried_out: BTreeSet::new(),
            told_carried_out: 0,
            own_messages: Vec::new(),
            active_ns: now_ns,
        }
    }

    /// Takes turns until `finished` says that there will be nothing more to do, and all messages have left.
    ///
    /// # Errors
    /// If messages cannot be exchanged any more; this node's ranks have been stopped.
    pub fn run(mut self, finished: impl Fn() -> bool) -> io::Result<W> {
        loop {
            let rings = self.place.leader_channel().doorbell.rings();
            // Asked before the turn: messages from before that are passed on in it.
            let last = finished();
            if let Err(error) = self.turn() {
                let failure = failure::plain("speak with other nodes", format!("MPI: {error}"), LOST_REMEDY);
                self.leave_alone(&failure);
                return Err(error);
            }
            if last && self.wire.has_sent_all() {
                return Ok(self.wire);
            }
            self.nap(rings);
        }
    }

    /// Does what there is to do.
    pub fn turn(&mut self) -> io::Result<()> {
        self.place.leader_channel().turned_ns.store(self.now_ns(), Ordering::SeqCst);
        self.hear()?;
        self.give_order()?;
        self.join_call()?;
        self.answer_stop()?;
        self.pass_on_jobs()?;
        // Asked first: what a rank failed with at its very end is passed on before the message that all are at their
        // end.
        let carried_out = self.place.has_carried_out(self.order);
        self.pass_on_stop()?;
        self.pass_on_suspension()?;
        self.say_carried_out(carried_out)?;
        self.send_heartbeat()?;
        self.notice_silence();
        while let Some((message, bytes)) = self.own_messages.pop() {
            self.handle(self.node, message, &bytes)?;
        }
        // What was sent is finished by looking at it.
        self.wire.has_sent_all();
        Ok(())
    }

    /// Sleeps until there may be something to do: the longer nothing happened, the longer.
    fn nap(&mut self, rings: u32) {
        let begin_ns = self.now_ns();
        let still = Duration::from_nanos(begin_ns.saturating_sub(self.active_ns));
        if still < AWAKE && (self.questions.is_some() || self.call.kind.is_some()) {
            std::thread::yield_now();
        } else {
            self.place.leader_channel().doorbell.wait(rings, (still / 8).clamp(Duration::from_micros(50), LONGEST_NAP));
        }
        let end_ns = self.now_ns();
        if end_ns - begin_ns > OVERSLEPT_NS {
            self.resumed_ns = end_ns;
        }
    }

    fn now_ns(&self) -> u64 {
        self.place.clock().now_ns()
    }

    fn is_first(&self) -> bool {
        self.node == 0
    }

    fn tell(&mut self, to: u32, message: &Message, bytes: &[u8]) -> io::Result<()> {
        if to == self.node {
            self.own_messages.push((message.clone(), bytes.to_vec()));
            return Ok(());
        }
        if self.lost.contains(&to) {
            return Ok(());
        }
        self.wire.send(to, message::pack(message, bytes))
    }

    fn tell_others(&mut self, message: &Message) -> io::Result<()> {
        (1..self.nodes).try_for_each(|node| self.tell(node, message, &[]))
    }

    fn tell_below(&mut self, message: &Message, bytes: &[u8]) -> io::Result<()> {
        tree::children(self.node, self.nodes).try_for_each(|child| self.tell(child, message, bytes))
    }

    fn hear(&mut self) -> io::Result<()> {
        while let Some((from, packet)) = self.wire.receive()? {
            self.active_ns = self.now_ns();
            self.heard_ns[from as usize] = self.active_ns;
            let Some((message, bytes)) = message::unpack(&packet) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("node {from} sent an invalid message")));
            };
            self.handle(from, message, bytes)?;
        }
        Ok(())
    }

    fn handle(&mut self, from: u32, message: Message, bytes: &[u8]) -> io::Result<()> {
        match message {
            Message::Order { number } => self.take_order(number, bytes)?,
            Message::CarriedOut { number } if number == self.order => {
                self.carried_out.insert(from);
            }
            // Of an order that is over.
            Message::CarriedOut { .. } => {}
            Message::Call(message) => self.take_call(from, message, bytes)?,
            Message::Clock(message) => self.take_clock(from, message)?,
            Message::Job(key, message) => self.take_job(from, key, message, bytes)?,
            Message::Heartbeat { done } => self.take_heartbeat(from, done),
            Message::Stop { signal, failure } => self.take_stop(signal, failure.as_deref()),
            Message::Suspend => self.place.suspend(),
            Message::Resume => self.place.resume(),
        }
        Ok(())
    }
}
