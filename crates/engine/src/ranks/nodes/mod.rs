//! Ranks on several nodes: those of a node meet in memory, and a leader on each, which is no rank, speaks with the other nodes.
//!
//! Ranks themselves never speak to other nodes: they sleep in their node's memory until the answer is there, so however
//! many there are on a node, one process of it waits awake. [`leader`] exchanges messages through [`wire`], [`message`]
//! has the messages, [`tree`] who passes on to whom, [`super::clocks`] how time lines are compared, [`max_reduce`] and
//! [`work_stealing`] what the first node keeps of jobs on several nodes. [`threads`] has all of that in one process.

pub mod leader;
mod max_reduce;
mod message;
pub mod threads;
mod tree;
pub mod wire;
mod work_stealing;

use std::sync::atomic::Ordering;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::RankRange;

use self::message::Kind;
use super::local::leader_channel::Answer;
use super::local::mailbox::Mailbox;
use super::local::{LocalRank, MeetingPlace};
use super::seating::Seating;
use super::{FirstFinished, Ranks, Start, Stopped};
use crate::measure::recorder::LiveCounters;
use crate::ranks::clocks::Reading;

/// One rank of several nodes. Ranks of a node follow each other.
#[derive(Debug, Clone, Copy)]
pub struct NodeRank<'a> {
    place: &'a MeetingPlace,
    seating: &'a Seating,
    /// As it is known on its node.
    local: LocalRank<'a>,
    /// As it is known to all.
    rank: u32,
}

impl<'a> NodeRank<'a> {
    /// Rank `rank` of `seating`, whose node meets in `place`.
    pub fn new(place: &'a MeetingPlace, seating: &'a Seating, rank: u32) -> Self {
        let first = seating.first_on(seating.node_of(rank));
        Self { place, seating, local: place.rank(rank - first), rank }
    }

    /// Those of `members` that are on this node, as they are known here.
    fn here(&self, members: RankRange) -> RankRange {
        let (first, count) = (self.rank - self.local.rank(), self.local.size());
        let begin = members.first.clamp(first, first + count);
        let end = (members.first + members.count).clamp(first, first + count);
        RankRange { first: begin - first, count: end - begin }
    }

    /// Calls all nodes. The node's message lies in the outbox, the answer in the inbox.
    fn call(&self, kind: Kind, say: impl FnOnce()) -> Result<Answer, Stopped> {
        let header = self.place.header();
        let (size, abandoned) = (self.local.size(), || self.place.abandoned());
        if kind.heeds_stop() {
            header.start.wait(size, || self.must_stop())?;
        } else {
            header.meeting.wait(size, abandoned)?;
        }
        if self.local.rank() == 0 {
            say();
            // From here on the answer decides, also about a stop that comes now: it is the same for all nodes.
            header.leader_channel.call(kind as u32, abandoned)?;
        }
        header.meeting.wait(size, abandoned)?;
        let answer = header.leader_channel.answer();
        if answer.go_on { Ok(answer) } else { Err(Stopped) }
    }
}

impl Ranks for NodeRank<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.seating.ranks()
    }

    fn begin_step(&self, step: u32, limit_ns: Option<u64>) -> Result<(), Stopped> {
        self.local.prepare_step(step, limit_ns);
        self.call(Kind::Meet, || {}).map(|_| ())
    }

    fn compare_clocks(&self) -> Result<Vec<Reading>, Stopped> {
        self.call(Kind::Clocks, || {})?;
        if self.rank > 0 {
            return Ok(Vec::new());
        }
        let text = self.place.mailboxes().get(Mailbox::Inbox);
        Ok(serde_json::from_slice(&text).expect("the leader of this very program wrote it"))
    }

    fn start_together(&self) -> Result<Start, Stopped> {
        let Answer { opens_ns, .. } = self.call(Kind::Start, || {})?;
        let left_ns = self.local.pass_gate(opens_ns)?.left_ns;
        // A node that was late begins on the same time line, and its ranks' late starts show there.
        Ok(Start { opened_ns: opens_ns, left_ns })
    }

    fn wait_for_all(&self) -> Result<(), Stopped> {
        self.call(Kind::Meet, || {}).map(|_| ())
    }

    fn counters(&self) -> &LiveCounters {
        self.local.counters()
    }

    #[inline(always)]
    fn must_stop(&self) -> bool {
        self.local.must_stop()
    }

    fn fail(&self, failure: &Failure) {
        self.local.fail(failure);
        self.place.leader_channel().doorbell.ring();
    }

    fn failure(&self) -> Option<Failure> {
        self.local.failure()
    }

    fn cross_finish_line(&self, job: usize, members: RankRange, now_ns: u64) {
        self.local.cross_finish_line(job, self.here(members), now_ns);
    }

    fn first_finished(&self, job: usize, members: RankRange) -> Option<FirstFinished> {
        self.local.first_finished(job, self.here(members))
    }

    fn agree_on_most(&self, job: usize, members: RankRange, value: u64) -> Result<u64, Stopped> {
        let here = self.here(members);
        if here.count == members.count {
            return self.local.agree_on_most(job, here, value);
        }
        let shared = self.place.job(job);
        shared.goes_beyond(members);
        shared.agree_beyond(here.count, value, || self.place.leader_channel().doorbell.ring(), || self.must_stop())
    }

    #[inline(always)]
    fn wants_work(&self, job: usize, members: RankRange) -> bool {
        let here = self.here(members);
        let wants = self.place.work(job).wants(here.count);
        if wants && here.count < members.count {
            // Who has work may be alone here, and the leader is to know of it before it comes to take some.
            self.place.job(job).goes_beyond(members);
        }
        wants
    }

    fn share_work(&self, job: usize, piece: &[u8]) -> bool {
        let shared = self.local.share_work(job, piece);
        if self.place.work(job).is_wanted_elsewhere() {
            self.place.leader_channel().doorbell.ring();
        }
        shared
    }

    fn take_work(&self, job: usize, members: RankRange, piece: &mut Vec<u8>) -> Result<bool, Stopped> {
        let here = self.here(members);
        if here.count == members.count {
            return self.local.take_work(job, here, piece);
        }
        self.place.job(job).goes_beyond(members);
        let ask = || self.place.leader_channel().doorbell.ring();
        Ok(self.place.work(job).take(here.count, piece, Some(&ask), || self.must_stop())?)
    }

    fn gather(
        &self,
        bytes: &[u8],
        pack: &mut dyn FnMut(Vec<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Option<Vec<Vec<u8>>>, Stopped> {
        let mailboxes = self.place.mailboxes();
        mailboxes.put(Mailbox::Rank(self.local.rank()), bytes);
        self.call(Kind::Gather, || {
            let messages = (0..self.local.size()).map(|rank| mailboxes.get(Mailbox::Rank(rank))).collect();
            mailboxes.clear_from(Mailbox::Rank(0));
            mailboxes.put(Mailbox::Outbox, &pack(messages));
        })?;
        Ok((self.rank == 0).then(|| message::parts(&mailboxes.get(Mailbox::Inbox))))
    }

    fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, Stopped> {
        let mailboxes = self.place.mailboxes();
        self.call(Kind::Broadcast, || {
            if self.rank == 0 {
                mailboxes.put(Mailbox::Outbox, bytes);
            }
        })?;
        Ok(mailboxes.get(Mailbox::Inbox))
    }
}

impl NodeRank<'_> {
    /// Says that it has carried out order `number`.
    pub fn carried_out(&self, number: u32) {
        self.counters().carried_out.store(number, Ordering::SeqCst);
        self.place.leader_channel().doorbell.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::message::{CallMessage, ClockMessage, JobKey, JobMessage, Message};
    use super::threads::{run, run_over};
    use super::wire::{Threads, Wire};
    use super::*;
    use crate::plan::MOST_JOBS;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, VecDeque};
    use std::io;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    const WORLDS: [&[u32]; 4] = [&[1], &[3], &[2, 1, 3], &[1; 20]];

    #[test]
    fn nobody_passes_before_the_last_one_comes() {
        for ranks_on in WORLDS {
            let came = AtomicU64::new(0);
            run(ranks_on, |rank| {
                for step in 0..5 {
                    came.fetch_add(1, Ordering::SeqCst);
                    rank.begin_step(step, None).unwrap();
                    assert!(came.load(Ordering::SeqCst) >= u64::from((step + 1) * rank.size()));
                    rank.wait_for_all().unwrap();
                }
            });
        }
    }

    #[test]
    fn what_suspends_the_first_node_suspends_all_until_it_goes_on() {
        for ranks_on in WORLDS {
            let suspended = AtomicU64::new(0);
            let times = run(ranks_on, |rank| {
                if rank.rank() == 0 {
                    rank.place.suspend();
                }
                while !rank.place.suspended() {
                    std::thread::yield_now();
                }
                suspended.fetch_add(1, Ordering::SeqCst);
                if rank.rank() == 0 {
                    while suspended.load(Ordering::SeqCst) < u64::from(rank.size()) {
                        std::thread::yield_now();
                    }
                    rank.place.resume();
                }
                let must_stop = rank.must_stop();
                (must_stop, rank.place.suspended(), rank.counters().suspensions(0).len())
            });
            assert!(times.iter().all(|&(must_stop, still, times)| !must_stop && !still && times <= 1), "{times:?}");
        }
    }

    #[test]
    fn a_stop_ends_a_suspension_and_the_time_of_one_is_not_the_steps() {
        let place = MeetingPlace::new(1, ioassay_host::clock::Clock::calibrated()).unwrap();
        let rank = place.rank(0);
        rank.prepare_step(0, Some(7));
        let (_, before_ns) = place.step_limit().unwrap();
        place.suspend();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| rank.must_stop());
            std::thread::sleep(Duration::from_millis(20));
            place.resume();
            assert!(!waiting.join().unwrap());
        });
        let (_, after_ns) = place.step_limit().unwrap();
        assert!(after_ns >= before_ns + 20_000_000, "{before_ns} {after_ns}");
        place.suspend();
        place.stop();
        assert!(rank.must_stop());
    }

    #[test]
    fn letters_come_to_the_first_rank_packed_by_node_and_its_own_go_to_all() {
        for ranks_on in WORLDS {
            let gathered = run(ranks_on, |rank| {
                let mut all = Vec::new();
                for round in 0..3_u8 {
                    let message = [rank.rank() as u8, round];
                    all.push(rank.gather(&message, &mut |messages| messages.concat()).unwrap());
                    let text = if rank.rank() == 0 { vec![round; 70_000] } else { b"no".to_vec() };
                    assert_eq!(rank.broadcast(&text).unwrap(), [round; 70_000]);
                }
                all
            });
            let (first, others) = gathered.split_first().unwrap();
            assert!(others.iter().flatten().all(Option::is_none));
            for (round, messages) in first.iter().enumerate() {
                let messages = messages.as_ref().unwrap();
                assert_eq!(messages.len(), ranks_on.len());
                let ranks: u32 = ranks_on.iter().sum();
                let all: Vec<u8> = (0..ranks).flat_map(|rank| [rank as u8, round as u8]).collect();
                assert_eq!(messages.concat(), all);
            }
        }
    }

    #[test]
    fn clocks_are_compared_and_phases_begin_at_one_instant() {
        for ranks_on in WORLDS {
            let starts = run(ranks_on, |rank| {
                let readings = rank.compare_clocks().unwrap();
                (readings, rank.start_together().unwrap())
            });
            let readings = &starts[0].0;
            assert_eq!(readings.len(), ranks_on.len());
            // Threads of one process have one clock.
            assert!(readings.iter().all(|reading| reading.offset_ns.unsigned_abs() <= reading.uncertainty_ns));
            let furthest = readings.iter().map(|reading| reading.uncertainty_ns).max().unwrap();
            for (_, start) in &starts {
                assert!(start.opened_ns.abs_diff(starts[0].1.opened_ns) <= furthest);
                assert!(start.left_ns >= start.opened_ns);
            }
        }
    }

    #[test]
    fn ranks_of_some_nodes_agree_while_others_do_something_else() {
        let most = run(&[2, 2, 2], |rank| {
            rank.begin_step(3, None).unwrap();
            let members = RankRange { first: 1, count: 4 };
            let most = members.member(rank.rank()).map(|member| rank.agree_on_most(1, members, member.into()).unwrap());
            rank.wait_for_all().unwrap();
            most
        });
        assert_eq!(most, [None, Some(3), Some(3), Some(3), Some(3), None]);
    }

    /// Each piece is a number that stands for as many pieces below it, as a directory does for those in it. How many this
    /// rank has done in all steps.
    fn share_out(rank: &NodeRank<'_>, steps: u32) -> u64 {
        let members = RankRange { first: 0, count: rank.size() };
        let (mut done, mut taken) = (0_u64, Vec::new());
        for step in 0..steps {
            rank.begin_step(step, None).unwrap();
            let mut pieces = if rank.rank() == 0 { vec![10_u8] } else { Vec::new() };
            loop {
                while let Some(below) = pieces.pop() {
                    done += 1;
                    pieces.extend(0..below);
                    while pieces.len() > 1 && rank.wants_work(0, members) && rank.share_work(0, &[pieces[0]]) {
                        pieces.remove(0);
                    }
                }
                if !rank.take_work(0, members, &mut taken).unwrap() {
                    break;
                }
                pieces.push(taken[0]);
            }
            rank.wait_for_all().unwrap();
        }
        done
    }

    /// What a piece with ten below it stands for: with k below it, 2^k.
    const WORK: u64 = 1024;

    #[test]
    fn work_of_one_rank_is_done_by_all_nodes_once_and_all_notice_the_end() {
        for ranks_on in WORLDS {
            let done = run(ranks_on, |rank| share_out(&rank, 3));
            assert_eq!(done.iter().sum::<u64>(), 3 * WORK);
        }
    }

    #[test]
    fn a_failure_somewhere_stops_all_nodes_and_is_known_to_the_first() {
        let ended = run(&[2, 2, 1], |rank| {
            rank.begin_step(0, None).unwrap();
            if rank.rank() == 4 {
                rank.fail(&Failure { message: "full".into(), ..Failure::default() });
            }
            let begin = Instant::now();
            while !rank.must_stop() {
                assert!(begin.elapsed() < Duration::from_secs(60));
                std::thread::sleep(Duration::from_millis(1));
            }
            // What was measured until then is still gathered.
            let gathered = rank.gather(b"x", &mut |messages| messages.concat()).unwrap();
            assert_eq!(gathered.map(|nodes| nodes.concat().len()), (rank.rank() == 0).then_some(5));
            (rank.begin_step(1, None), rank.failure().map(|failure| failure.message))
        });
        assert!(ended.iter().all(|(next, _)| *next == Err(Stopped)), "{ended:?}");
        assert_eq!(ended[0].1.as_deref(), Some("full"));
    }

    #[test]
    fn a_stop_that_comes_while_some_wait_is_for_all_or_for_none() {
        for _ in 0..20 {
            let passed = run(&[2, 1, 2], |rank| {
                if rank.rank() == 3 {
                    rank.fail(&Failure::default());
                }
                rank.wait_for_all()
            });
            assert!(passed.iter().all(|result| *result == passed[0]), "{passed:?}");
        }
    }

    /// Messages that are under way for a while, each for another one, and still in order between two nodes.
    struct Slow {
        wire: Threads,
        held: VecDeque<(u32, Vec<u8>, u32)>,
        random: u64,
    }

    impl Wire for Slow {
        fn send(&mut self, to: u32, message: Vec<u8>) -> io::Result<()> {
            // Linear congruence: all that is wanted is variety.
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.held.push_back((to, message, (self.random >> 62) as u32));
            Ok(())
        }

        fn receive(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
            self.has_sent_all();
            self.wire.receive()
        }

        fn has_sent_all(&mut self) -> bool {
            let mut waiting = BTreeSet::new();
            let mut still = VecDeque::new();
            for (to, message, turns) in std::mem::take(&mut self.held) {
                if turns == 0 && !waiting.contains(&to) {
                    self.wire.send(to, message).unwrap();
                } else {
                    waiting.insert(to);
                    still.push_back((to, message, turns.saturating_sub(1)));
                }
            }
            self.held = still;
            self.held.is_empty()
        }
    }

    fn slow(nodes: u32, seed: u64) -> Vec<Slow> {
        let slow = |(node, wire)| Slow { wire, held: VecDeque::new(), random: seed * 1000 + node as u64 };
        Threads::between(nodes).into_iter().enumerate().map(slow).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10))]
        /// Whatever the ranks do together, in whatever order, and however long messages take.
        #[test]
        fn all_ranks_come_through_any_sequence_of_calls_with_the_same_answers(
            ranks_on in proptest::collection::vec(1..4_u32, 1..6),
            calls in proptest::collection::vec(0..6_u8, 1..12),
            seed in 0..1000_u64,
        ) {
            let total: u32 = ranks_on.iter().sum();
            let answers = run_over(slow(ranks_on.len() as u32, seed), &ranks_on, |rank| {
                let members = RankRange { first: 0, count: rank.size() };
                calls.iter().enumerate().map(|(step, call)| {
                    rank.begin_step(step as u32, None).unwrap();
                    let answer = match call {
                        0 => rank.wait_for_all().map(|()| 0).unwrap(),
                        1 => u64::from(rank.start_together().unwrap().opened_ns > 0),
                        2 => rank.agree_on_most(0, members, rank.rank().into()).unwrap(),
                        3 => {
                            let message = rank.rank().to_le_bytes();
                            let all = rank.gather(&message, &mut |messages| messages.concat()).unwrap();
                            all.map_or(u64::from(total) * 4, |all| all.concat().len() as u64)
                        }
                        4 => rank.broadcast(&[rank.rank() as u8, step as u8]).unwrap()[0].into(),
                        _ => rank.compare_clocks().map(|_| 1).unwrap(),
                    };
                    // As after every phase: who begins the next step must find nobody in this one.
                    rank.wait_for_all().unwrap();
                    answer
                }).collect::<Vec<_>>()
            });
            prop_assert!(answers.iter().all(|answer| *answer == answers[0]), "{:?}", answers);
        }

        /// A piece may meet the wish for it on its way.
        #[test]
        fn all_work_is_done_once_however_long_messages_take(
            ranks_on in proptest::collection::vec(1..4_u32, 2..6),
            seed in 0..1000_u64,
        ) {
            let done = run_over(slow(ranks_on.len() as u32, seed), &ranks_on, |rank| share_out(&rank, 2));
            prop_assert_eq!(done.iter().sum::<u64>(), 2 * WORK);
        }

        /// A failure at any moment: all ranks end, and the first node knows of it.
        #[test]
        fn a_failure_at_any_call_ends_all_ranks(
            ranks_on in proptest::collection::vec(1..4_u32, 1..6),
            failing_step in 0..12_u32,
            who in 0..18_u32,
            seed in 0..1000_u64,
        ) {
            let total: u32 = ranks_on.iter().sum();
            let ended = run_over(slow(ranks_on.len() as u32, seed), &ranks_on, |rank| {
                for step in 0.. {
                    if step == failing_step && rank.rank() == who % total {
                        rank.fail(&Failure { message: "full".into(), ..Failure::default() });
                    }
                    if rank.begin_step(step, None).is_err() || rank.start_together().is_err() {
                        break;
                    }
                }
                rank.failure().map(|failure| failure.message)
            });
            prop_assert_eq!(ended[0].as_deref(), Some("full"));
        }
    }

    /// What another program, or a broken network, may say. None of it may take the node along.
    #[test]
    fn a_message_that_makes_no_sense_does_no_harm() {
        let nonsense = [u32::MAX, MOST_JOBS as u32].map(|job| JobKey { order: 1, step: 0, job });
        let reading = Reading::default();
        let members = RankRange { first: u32::MAX, count: u32::MAX };
        let mut messages = vec![
            Message::Clock(ClockMessage::Reading { call: 1, reading }),
            Message::Clock(ClockMessage::Pong { id: 7, first_ns: 1 }),
            Message::Call(CallMessage::Down { call: 9, go_on: true, opens_first_ns: 1 }),
            Message::CarriedOut { number: 9 },
        ];
        for key in nonsense {
            messages.extend([
                Message::Job(key, JobMessage::Agreed { most: 1 }),
                Message::Job(key, JobMessage::Wanted),
                Message::Job(key, JobMessage::Piece),
                Message::Job(key, JobMessage::NoMore),
                Message::Job(key, JobMessage::Hungry { came: 0, members }),
                Message::Job(key, JobMessage::Max { most: 1, came: 1, of: 1 }),
            ]);
        }
        let mut wires = Threads::between(2);
        let packets: Vec<Vec<u8>> = messages.iter().map(|message| message::pack(message, b"x")).collect();
        for (to, packet) in [0, 1].into_iter().flat_map(|to| packets.iter().map(move |packet| (to, packet.clone()))) {
            wires[1 - to as usize].send(to, packet).unwrap();
        }
        let passed = run_over(wires, &[1, 1], |rank| {
            rank.begin_step(0, None).unwrap();
            // By now all messages have arrived.
            rank.wait_for_all()
        });
        assert_eq!(passed, [Ok(()), Ok(())]);
    }
}
