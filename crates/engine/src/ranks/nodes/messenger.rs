//! Speaks for a node: passes on what its ranks call and tell, and watches that all nodes are there.
//!
//! One for each node, in a process that does no I/O on the target, so that a node whose ranks hang still answers. It never
//! waits for anybody: [`Messenger::turn`] does what there is to do and returns.
//! Not here: how messages travel ([`super::wire`]), what ranks do with the answers ([`super::NodeRank`]).

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ioassay_protocol::events::{Done, Failure};

use super::clocks::{Next, Questions, Reading};
use super::hunt::Hunts;
use super::message::{self, JobKey, Kind, Message};
use super::tally::Tallies;
use super::tree;
use super::wire::Wire;
use crate::failure;
use crate::measure::recorder::{LANES, Shown};
use crate::ranks::MOST_JOBS;
use crate::ranks::local::MeetingPlace;
use crate::ranks::local::leader_channel::Answer;
use crate::ranks::local::mailbox::Mailbox;
use crate::ranks::seating::Seating;

/// How often nodes say that they are there.
const BEAT: Duration = Duration::from_millis(500);

/// A node that says nothing for this long is lost. With what stopping takes after that, a run ends within ten seconds.
pub const SILENCE: Duration = Duration::from_secs(5);

/// How long before a phase begins its instant is agreed on: by then all nodes must have heard of it.
const AHEAD: Duration = Duration::from_millis(10);

/// The longest nap between turns.
const LONGEST_NAP: Duration = Duration::from_millis(5);

/// As long as something happened this short a time ago it stays awake: an answer is on its way.
const AWAKE: Duration = Duration::from_millis(2);

/// The call that is under way.
#[derive(Debug, Default)]
struct Call {
    /// Counted from 1 in each order.
    number: u32,
    kind: Option<Kind>,
    /// The ranks of this node have come to it.
    own: bool,
    /// Nodes below this one that have not.
    missing: BTreeSet<u32>,
    /// Somebody wants to stop.
    stop: bool,
    /// What this node and those below it say.
    parts: Vec<u8>,
    /// It was passed on, or the first node is waiting for readings of clocks.
    passed_on: bool,
    /// What the first node says.
    said: Vec<u8>,
}

/// A node's messenger.
pub struct Messenger<'a, W> {
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
    tallies: Tallies,
    hunts: Hunts,
    /// When each node was heard last; on the others only the first one.
    heard_ns: Vec<u64>,
    lost: BTreeSet<u32>,
    /// What the ranks of each node have done.
    done: Vec<[Done; LANES]>,
    beat_ns: u64,
    told_stop: bool,
    carried_out: BTreeSet<u32>,
    told_carried_out: u32,
    /// What it has to tell its own node.
    own: Vec<(Message, Vec<u8>)>,
    active_ns: u64,
}

impl<'a, W: Wire> Messenger<'a, W> {
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
            tallies: Tallies::default(),
            hunts: Hunts::default(),
            heard_ns: vec![now_ns; nodes as usize],
            lost: BTreeSet::new(),
            done: vec![<[Done; LANES]>::default(); nodes as usize],
            beat_ns: 0,
            told_stop: false,
            carried_out: BTreeSet::new(),
            told_carried_out: 0,
            own: Vec::new(),
            active_ns: now_ns,
        }
    }

    /// Takes turns until `finished` says that there will be nothing more to do, and what was said has left.
    ///
    /// # Errors
    /// If nodes cannot be spoken with any more; this node's ranks have been told.
    pub fn run(mut self, finished: impl Fn() -> bool) -> io::Result<W> {
        loop {
            let rings = self.place.leader_channel().bell.rings();
            // Asked before the turn: what was said before that is passed on in it.
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
        // Asked first: what a rank failed with at its very end is passed on before it is said that all are at their end.
        let carried_out = self.place.has_carried_out(self.order);
        self.pass_on_stop()?;
        self.say_carried_out(carried_out)?;
        self.beat()?;
        self.listen_for_silence();
        while let Some((message, bytes)) = self.own.pop() {
            self.handle(self.node, message, &bytes)?;
        }
        // What was sent is finished by looking at it.
        self.wire.has_sent_all();
        Ok(())
    }

    /// Sleeps until there may be something to do: the longer nothing happened, the longer.
    fn nap(&self, rings: u32) {
        let still = Duration::from_nanos(self.now_ns().saturating_sub(self.active_ns));
        if still < AWAKE && (self.questions.is_some() || self.call.kind.is_some()) {
            std::thread::yield_now();
        } else {
            self.place.leader_channel().bell.wait(rings, (still / 8).clamp(Duration::from_micros(50), LONGEST_NAP));
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
            self.own.push((message.clone(), bytes.to_vec()));
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
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("node {from} says nothing sensible")));
            };
            self.handle(from, message, bytes)?;
        }
        Ok(())
    }

    fn handle(&mut self, from: u32, message: Message, bytes: &[u8]) -> io::Result<()> {
        match message {
            Message::Order { number } => {
                self.tell_below(&Message::Order { number }, bytes)?;
                self.place.mailboxes().put(Mailbox::Order, bytes);
                self.begin_order(number);
            }
            Message::CarriedOut { number } if number == self.order => {
                self.carried_out.insert(from);
            }
            Message::Up { call, kind, stop } if call == self.call.number => {
                self.call.kind = Some(kind);
                self.call.stop |= stop;
                self.call.missing.remove(&from);
                self.call.parts.extend(bytes);
                self.pass_on_call()?;
            }
            Message::Down { call, go_on, opens_first_ns } if call == self.call.number => {
                self.end_call(go_on, opens_first_ns, bytes)?;
            }
            Message::Measure { call } if call == self.call.number => {
                self.tell_below(&Message::Measure { call }, &[])?;
                let questions = Questions::begin(call, self.now_ns());
                self.tell(0, &Message::Ping { id: questions.id() }, &[])?;
                self.questions = Some(questions);
            }
            Message::Ping { id } => {
                let pong = Message::Pong { id, first_ns: self.now_ns() };
                self.tell(from, &pong, &[])?;
            }
            Message::Pong { id, first_ns } => self.answered(id, first_ns)?,
            Message::Read { call, reading } if call == self.call.number => {
                if let Some(known) = self.readings.get_mut(from as usize) {
                    *known = Some(reading);
                    self.report_readings()?;
                }
            }
            Message::Beat { done } => {
                self.done[from as usize] = done;
                if self.is_first() {
                    self.place.leader_channel().note_elsewhere(&self.done_elsewhere());
                }
            }
            Message::Stop { signal, failure } => {
                if let Some(signal) = signal {
                    self.place.leader_channel().signal.store(signal, Ordering::SeqCst);
                }
                self.told_stop |= !self.is_first();
                match failure {
                    Some(failure) => self.place.fail(&failure),
                    None => self.place.stop(),
                }
            }
            Message::Agree { key, most, came, of } if key.order == self.order => {
                if let Some(most) = self.tallies.add(key, most, came, of) {
                    (0..self.nodes).try_for_each(|node| self.tell(node, &Message::Agreed { key, most }, &[]))?;
                }
            }
            Message::Agreed { key, most } if self.runs(key) => self.place.job(key.job as usize).agree(most),
            Message::Hungry { key, came, members } if key.order == self.order => {
                self.hunts.hungry(key, from, came, &self.seating.nodes_of(members));
                self.share_out(key)?;
            }
            Message::Spare { key } if self.runs(key) => self.place.work(key.job as usize).want_elsewhere(),
            Message::Piece { key } if self.is_first() && key.order == self.order => {
                self.hunts.piece(key, from, bytes);
                self.share_out(key)?;
            }
            Message::Piece { key } => self.take_in(key, bytes),
            Message::NoMore { key } if self.runs(key) => self.place.work(key.job as usize).finish(),
            // Of a call, a step or an order that is over.
            _ => {}
        }
        Ok(())
    }

    /// As the first node: passes an order on that the engine has written down.
    fn give_order(&mut self) -> io::Result<()> {
        let wanted = self.place.leader_channel().wanted_order();
        if !self.is_first() || wanted == self.order {
            return Ok(());
        }
        let text = self.place.mailboxes().get(Mailbox::Order);
        self.tell_below(&Message::Order { number: wanted }, &text)?;
        self.begin_order(wanted);
        Ok(())
    }

    /// True if the ranks here may be in this job now.
    fn runs(&self, key: JobKey) -> bool {
        key.order == self.order && key.step == self.place.step() && (key.job as usize) < MOST_JOBS
    }

    fn begin_order(&mut self, number: u32) {
        // Who looks after a rank that has ended says that it has carried out everything.
        let ended = self.place.shown().iter().any(|rank| rank.carried_out.load(Ordering::SeqCst) == u32::MAX);
        self.order = number;
        self.call = Call::first(self.node, self.nodes);
        self.questions = None;
        self.tallies = Tallies::default();
        self.hunts = Hunts::default();
        self.told_stop = false;
        self.carried_out.clear();
        self.done.fill(<[Done; LANES]>::default());
        self.place.reset();
        // What was lost before stays lost, and nobody may wait for it.
        if ended {
            self.place.fail(&gone(&format!("a rank on {}", self.names[self.node as usize])));
            self.place.abandon();
        }
        if let Some(&node) = self.lost.first() {
            self.place.fail(&gone(&self.names[node as usize]));
        }
        if self.place.leader_channel().signal.load(Ordering::SeqCst) > 0 {
            self.place.stop();
        }
        self.place.leader_channel().give_order(number);
    }

    /// Joins a call that the ranks of this node have made.
    fn join_call(&mut self) -> io::Result<()> {
        let channel = self.place.leader_channel();
        if self.call.own || self.order == 0 || channel.calls.load(Ordering::SeqCst) != self.call.number {
            return Ok(());
        }
        self.active_ns = self.now_ns();
        self.call.own = true;
        self.call.kind = Kind::of(channel.kind.load(Ordering::SeqCst));
        match self.call.kind {
            Some(Kind::Gather) => {
                let said = self.place.mailboxes().get(Mailbox::Outbox);
                message::add_part(&mut self.call.parts, self.node, &said);
            }
            Some(Kind::Broadcast) if self.is_first() => self.call.said = self.place.mailboxes().get(Mailbox::Outbox),
            _ => {}
        }
        self.pass_on_call()
    }

    /// Passes the call on once this node and all below it have come to it.
    fn pass_on_call(&mut self) -> io::Result<()> {
        let Some(kind) = self.call.kind else { return Ok(()) };
        if !self.call.own || !self.call.missing.is_empty() || self.call.passed_on {
            return Ok(());
        }
        self.call.passed_on = true;
        let stop = self.call.stop || self.place.stopping();
        if let Some(parent) = tree::parent(self.node) {
            let parts = std::mem::take(&mut self.call.parts);
            return self.tell(parent, &Message::Up { call: self.call.number, kind, stop }, &parts);
        }
        let said = std::mem::take(&mut self.call.said);
        match kind {
            Kind::Meet => self.end_call(!stop, 0, &[]),
            Kind::Broadcast => self.end_call(true, 0, &said),
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
                self.tell_below(&Message::Measure { call: self.call.number }, &[])?;
                self.report_readings()
            }
        }
    }

    /// Ends the call under way, here and below.
    fn end_call(&mut self, go_on: bool, opens_first_ns: u64, said: &[u8]) -> io::Result<()> {
        let number = self.call.number;
        self.tell_below(&Message::Down { call: number, go_on, opens_first_ns }, said)?;
        if self.call.kind == Some(Kind::Broadcast) {
            self.place.mailboxes().put(Mailbox::Inbox, said);
        }
        let opens_ns = if opens_first_ns == 0 { 0 } else { self.reading.here(opens_first_ns) };
        self.call = Call { number: number + 1, ..Call::first(self.node, self.nodes) };
        self.questions = None;
        self.place.leader_channel().answer_call(number, Answer { go_on, opens_ns });
        Ok(())
    }

    /// As the first node: once all are to stop, nobody waits for nodes that will not come to the call any more.
    fn answer_stop(&mut self) -> io::Result<()> {
        let heeds = self.call.kind.is_some_and(Kind::heeds_stop);
        if self.is_first() && heeds && self.place.stopping() { self.end_call(false, 0, &[]) } else { Ok(()) }
    }

    fn answered(&mut self, id: u32, first_ns: u64) -> io::Result<()> {
        let now_ns = self.now_ns();
        let Some(questions) = &mut self.questions else { return Ok(()) };
        let call = questions.call;
        match questions.answered(id, first_ns, now_ns) {
            Next::Ask(id) => self.tell(0, &Message::Ping { id }, &[]),
            Next::Enough(reading) => {
                self.questions = None;
                self.reading = reading;
                self.tell(0, &Message::Read { call, reading }, &[])
            }
            Next::Nothing => Ok(()),
        }
    }

    /// As the first node: ends the comparison of clocks when all have been read.
    fn report_readings(&mut self) -> io::Result<()> {
        let Some(readings) = self.readings.iter().copied().collect::<Option<Vec<Reading>>>() else { return Ok(()) };
        let text = serde_json::to_vec(&readings).expect("our own types are JSON");
        self.place.mailboxes().put(Mailbox::Inbox, &text);
        self.end_call(true, 0, &[])
    }

    /// What the jobs of the running phase have to agree on, and work to be shared.
    fn pass_on_jobs(&mut self) -> io::Result<()> {
        let step = self.place.step();
        for job in 0..MOST_JOBS {
            let place = self.place;
            let (shared, list) = (place.job(job), place.work(job));
            let Some(members) = shared.members() else { continue };
            let key = JobKey { order: self.order, step, job: job as u32 };
            if let Some((most, came)) = shared.take_asked() {
                self.tell(0, &Message::Agree { key, most, came, of: members.count }, &[])?;
            }
            if let Some(came) = list.take_hungry() {
                self.tell(0, &Message::Hungry { key, came, members }, &[])?;
            }
            for piece in list.give_away(|| self.place.stopping()) {
                self.active_ns = self.now_ns();
                self.tell(0, &Message::Piece { key }, &piece)?;
            }
        }
        Ok(())
    }

    fn take_in(&mut self, key: JobKey, piece: &[u8]) {
        if self.runs(key) {
            self.place.work(key.job as usize).take_in(piece, || self.place.stopping());
        }
    }

    /// As the first node: gives the pieces that it has to nodes that have none.
    fn share_out(&mut self, key: JobKey) -> io::Result<()> {
        let out = self.hunts.share_out(key);
        for (node, piece) in out.pieces {
            if node == self.node {
                self.take_in(key, &piece);
            } else {
                self.tell(node, &Message::Piece { key }, &piece)?;
            }
        }
        for node in out.asked {
            self.tell(node, &Message::Spare { key }, &[])?;
        }
        out.finished.into_iter().try_for_each(|node| self.tell(node, &Message::NoMore { key }, &[]))
    }

    /// Tells the others that ranks are to stop, if somebody here wants that.
    fn pass_on_stop(&mut self) -> io::Result<()> {
        if self.told_stop || !self.place.stopping() {
            return Ok(());
        }
        self.told_stop = true;
        let signal = Some(self.place.leader_channel().signal.load(Ordering::SeqCst)).filter(|&signal| signal > 0);
        let message = Message::Stop { signal, failure: self.place.failure().map(Box::new) };
        if self.is_first() { self.tell_others(&message) } else { self.tell(0, &message, &[]) }
    }

    /// Says that the ranks here have carried out the order, if they have.
    fn say_carried_out(&mut self, carried_out: bool) -> io::Result<()> {
        let number = self.order;
        if carried_out && self.told_carried_out < number {
            self.told_carried_out = number;
            self.tell(0, &Message::CarriedOut { number }, &[])?;
        }
        let all = (0..self.nodes).all(|node| self.carried_out.contains(&node) || self.lost.contains(&node));
        if self.is_first() && number > 0 && all {
            self.place.leader_channel().carried_out.store(number, Ordering::SeqCst);
        }
        Ok(())
    }

    fn done_elsewhere(&self) -> [Done; LANES] {
        let mut sum = <[Done; LANES]>::default();
        for done in self.done.iter().skip(1).flat_map(|lanes| lanes.iter().enumerate()) {
            sum[done.0].bytes += done.1.bytes;
            sum[done.0].operations += done.1.operations;
        }
        sum
    }

    fn beat(&mut self) -> io::Result<()> {
        let now_ns = self.now_ns();
        if self.nodes == 1 || now_ns < self.beat_ns + BEAT.as_nanos() as u64 {
            return Ok(());
        }
        self.beat_ns = now_ns;
        let beat = Message::Beat { done: self.place.watch_own().done };
        if self.is_first() { self.tell_others(&beat) } else { self.tell(0, &beat, &[]) }
    }

    /// Notices nodes, and processes of this node, that are not there any more.
    fn listen_for_silence(&mut self) {
        let now_ns = self.now_ns();
        let guarded = |rank: &Shown| rank.guarded_ns.load(Ordering::SeqCst);
        if self.place.shown().iter().any(|rank| guarded(rank) > 0 && is_silent(guarded(rank), now_ns)) {
            self.place
                .fail(&gone(&format!("a process that the launcher has started on {}", self.names[self.node as usize])));
        }
        if self.is_first() {
            let quiet = |node: &u32| is_silent(self.heard_ns[*node as usize], now_ns) && !self.lost.contains(node);
            let newly: Vec<u32> = (1..self.nodes).filter(quiet).collect();
            for node in newly {
                self.lost.insert(node);
                self.place.fail(&gone(&self.names[node as usize]));
            }
        } else if is_silent(self.heard_ns[0], now_ns) {
            self.leave_alone(&gone(&self.names[0]));
        }
    }

    /// This node is on its own: its ranks are to end, and nobody is to be waited for.
    fn leave_alone(&mut self, failure: &Failure) {
        self.place.fail(failure);
        self.place.abandon();
        self.place.leader_channel().alone.store(1, Ordering::SeqCst);
    }
}

impl Call {
    fn first(node: u32, nodes: u32) -> Self {
        Self { number: 1, missing: tree::children(node, nodes).collect(), ..Self::default() }
    }
}

/// True if who was heard last at `since_ns` is lost.
pub fn is_silent(since_ns: u64, now_ns: u64) -> bool {
    now_ns.saturating_sub(since_ns) > SILENCE.as_nanos() as u64
}

const LOST_REMEDY: &str = "check the node and the network between the nodes (is it up, does its address answer?), then go on \
                           with the run; processes on a lost node may run until they notice";

/// What a messenger does when it misses somebody.
const WATCHING: &str = "watch nodes";

/// True if `failure` says that somebody is lost.
pub fn is_gone(failure: &Failure) -> bool {
    failure.operation == WATCHING
}

/// That `who` is lost.
pub fn gone(who: &str) -> Failure {
    let message = format!("no heartbeat from {who} for {} s", SILENCE.as_secs());
    failure::plain(WATCHING, message, LOST_REMEDY)
}
