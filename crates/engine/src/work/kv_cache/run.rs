//! An inference server as one rank runs it: a thread for each user, one accelerator, one cache.

use std::ffi::CString;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::{Failure, KvCacheRecord};
use ioassay_protocol::plan::Job;
use ioassay_protocol::plan::kv_cache::KvCacheWork;

use super::cache::{Cache, ObjectId, Place, Room};
use super::conversation::{Conversation, User};
use super::{OnObjects, READ, REMOVE, REQUEST, WRITE};
use crate::failure;
use crate::measure::recorder::{LiveCounters, Recorded, Recorder};
use crate::ranks::{Ranks, Start};
use crate::storage::names::{Entry, Presence};
use crate::storage::{Access, Connection, Opening, RequestCounts, move_all};
use crate::work::WorkKind;
use crate::work::run::job_result::{JobResult, JobTimes};
use crate::work::run::operations::{Begin, Flow, Moved, Operations};
use crate::work::run::{Case, History, Member, PreparedJob, RunWork};
use crate::workload::buffer::Buffer;
use crate::workload::layout::Geometry;
use crate::workload::payload::{Content, Spot, compare, poison};
use crate::workload::random::SplitMix64;

/// How often the rank looks whether the case was stopped, and shows what its users have done.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const NS_PER_S: u128 = 1_000_000_000;

impl<R: Ranks> RunWork<R> for KvCacheWork {
    fn prepare<'a>(
        &'a self,
        &Member { case, job, number, step }: &Member<'a>,
        _history: &History,
    ) -> Result<Box<dyn PreparedJob<R> + 'a>, Box<Failure>> {
        let geometry = self.geometry(case.plan);
        let set = case.plan.files.keys().position(|name| *name == self.files).unwrap_or(0) as u64;
        Ok(Box::new(Server {
            case,
            work: self,
            geometry,
            content: Content::new(case.plan.files[&self.files].payload, case.plan.seed, set),
            seed: SplitMix64::keyed(&[case.plan.seed, step.into(), number.into()]).draw(),
            member: (job, number),
        }))
    }
}

/// One rank's server, prepared outside the clock.
struct Server<'a> {
    case: &'a Case<'a>,
    work: &'a KvCacheWork,
    geometry: Geometry,
    content: Content,
    /// Of what its users say.
    seed: u64,
    /// The job, and which of its ranks this is.
    member: (&'a Job, u32),
}

impl<R: Ranks> PreparedJob<R> for Server<'_> {
    fn run(self: Box<Self>, ranks: &R, job: (usize, &Job), start: Start) -> JobResult {
        let server = &*self;
        let Case { plan, clock, .. } = *server.case;
        let mut operations = Operations::new(ranks, clock, job, 0, start, plan.sample_interval_ns);
        let counters: Vec<LiveCounters> = (0..server.work.users).map(|_| LiveCounters::default()).collect();
        let shared = Shared::new(server);
        // A sleep ends when it is to: by default Linux may let it last 50 µs longer.
        let _ = nix::sys::prctl::set_timerslack(1);
        let (failure, served) = std::thread::scope(|scope| {
            let (sender, requests) = mpsc::channel();
            let thread = |(number, counters)| {
                let (sender, shared) = (sender.clone(), &shared);
                scope.spawn(move || serve(server, shared, (number, counters), sender, start.opened_ns))
            };
            let threads: Vec<_> = (0..).zip(&counters).map(thread).collect();
            drop(sender);
            let failure = record_requests(&requests, ranks, &mut operations, &counters).err();
            shared.close();
            let served = threads.into_iter().filter_map(|thread| thread.join().ok().flatten());
            (failure, served.reduce(Served::and))
        });
        // 0 is the default.
        let _ = nix::sys::prctl::set_timerslack(0);
        publish(&counters, ranks.counters());
        let mut statistics = operations.finish(failure.is_some());
        let (mut times, mut record) = (JobTimes::default(), None);
        let (mut short_transfers, mut requests) = Default::default();
        if let Some(served) = served {
            let [read, write, remove] = served.recorded;
            (statistics.recorded[READ], statistics.recorded[WRITE], statistics.recorded[REMOVE]) =
                (read, write, remove);
            (short_transfers, requests) = (served.short_transfers, served.requests);
            let users = server.work.users;
            let first_token_deadline_ns = server.work.first_token_deadline_ns;
            times.fill = served.fill_ns;
            record = Some(KvCacheRecord { users, first_token_deadline_ns, ..served.record });
        }
        times.transfer = clock.now_ns() - start.left_ns;
        JobResult {
            times,
            short_transfers,
            requests,
            complete: failure.is_none() && !ranks.must_stop(),
            kv_cache: record,
            failure,
            ..JobResult::new(server.work.lanes(), statistics)
        }
    }
}

/// What a user's thread tells the rank.
enum UserEvent {
    /// A request had its first token.
    FirstToken { asked_ns: u64, first_ns: u64 },
    /// The thread has failed.
    Failed(Box<Failure>),
}

/// Records requests as they have their first tokens, until there have been enough.
fn record_requests<R: Ranks>(
    requests: &mpsc::Receiver<UserEvent>,
    ranks: &R,
    operations: &mut Operations<'_, R>,
    counters: &[LiveCounters],
) -> Result<(), Box<Failure>> {
    loop {
        match requests.recv_timeout(POLL_INTERVAL) {
            Ok(UserEvent::FirstToken { asked_ns, first_ns }) => {
                operations.record(asked_ns, first_ns, Moved { bytes: 0, lane: REQUEST });
            }
            Ok(UserEvent::Failed(failure)) => return Err(failure),
            Err(RecvTimeoutError::Timeout) => publish(counters, ranks.counters()),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if operations.left() == 0 {
            return Ok(());
        }
        match operations.next_begin(operations.now_ns(), false) {
            Begin::At(_) | Begin::Later => {}
            Begin::Stopped => return Ok(()),
            Begin::Stonewall => {
                if operations.meet_stonewall() == Flow::Enough {
                    return Ok(());
                }
            }
        }
    }
}

/// What the counters of all users add up to.
fn publish(all: &[LiveCounters], into: &LiveCounters) {
    for lane in [READ, WRITE, REMOVE] {
        let (bytes, operations) = all
            .iter()
            .map(|counters| counters.done(lane))
            .fold((0, 0), |(bytes, operations), done| (bytes + done.bytes, operations + done.operations));
        into.bytes[lane].store(bytes, Ordering::Relaxed);
        into.operations[lane].store(operations, Ordering::Relaxed);
    }
}

/// What all users of a server share.
struct Shared {
    cache: Mutex<Cache>,
    /// When the accelerator has done all prefills that were asked for.
    accelerator_free_ns: Mutex<u64>,
    closed: Mutex<bool>,
    closing: Condvar,
}

impl Shared {
    fn new(server: &Server<'_>) -> Self {
        let cache = Cache::new(server.geometry.files_per_rank, server.work.memory_objects);
        Self { cache: cache.into(), accelerator_free_ns: 0.into(), closed: false.into(), closing: Condvar::new() }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        lock(&self.cache)
    }

    /// No user goes on.
    fn close(&self) {
        *lock(&self.closed) = true;
        self.closing.notify_all();
    }

    fn is_closed(&self) -> bool {
        *lock(&self.closed)
    }

    /// Waits until `end_ns`. `None` if the server is closed before.
    fn wait_until(&self, end_ns: u64, clock: &Clock) -> Option<u64> {
        let mut closed = lock(&self.closed);
        loop {
            let now_ns = clock.now_ns();
            if *closed {
                return None;
            }
            if now_ns >= end_ns {
                return Some(now_ns);
            }
            let left = Duration::from_nanos(end_ns - now_ns);
            (closed, _) = self.closing.wait_timeout(closed, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// When a prefill of `compute_ns` begins and ends that is asked for at `now_ns`: after those that were asked for before.
    fn prefill(&self, now_ns: u64, compute_ns: u64) -> (u64, u64) {
        let mut free_ns = lock(&self.accelerator_free_ns);
        let begin_ns = now_ns.max(*free_ns);
        *free_ns = begin_ns.saturating_add(compute_ns);
        (begin_ns, *free_ns)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics ends the case.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What threads have done; that of several is added up.
struct Served {
    /// Reads, writes and removals.
    recorded: [Recorded; 3],
    short_transfers: u64,
    requests: RequestCounts,
    fill_ns: u64,
    record: KvCacheRecord,
}

impl Served {
    fn and(mut self, other: Self) -> Self {
        for (sum, recorded) in self.recorded.iter_mut().zip(&other.recorded) {
            sum.add(recorded);
        }
        self.short_transfers += other.short_transfers;
        self.fill_ns += other.fill_ns;
        self.requests.add(other.requests);
        add(&mut self.record, &other.record);
        self
    }
}

fn add(sum: &mut KvCacheRecord, other: &KvCacheRecord) {
    let both = |first: Option<u64>, second: Option<u64>| first.zip(second).map(|(first, second)| first + second);
    let KvCacheRecord { users, first_token_deadline_ns, first_tokens_in_time, answers_in_time, .. } = *sum;
    *sum = KvCacheRecord {
        users,
        first_token_deadline_ns,
        requests: sum.requests + other.requests,
        prompt_tokens: sum.prompt_tokens + other.prompt_tokens,
        memory_tokens: sum.memory_tokens + other.memory_tokens,
        storage_tokens: sum.storage_tokens + other.storage_tokens,
        recomputed_tokens: sum.recomputed_tokens + other.recomputed_tokens,
        new_tokens: sum.new_tokens + other.new_tokens,
        first_token_ns: sum.first_token_ns + other.first_token_ns,
        read_ns: sum.read_ns + other.read_ns,
        queue_ns: sum.queue_ns + other.queue_ns,
        prefill_ns: sum.prefill_ns + other.prefill_ns,
        first_tokens_in_time: both(first_tokens_in_time, other.first_tokens_in_time),
        answers: sum.answers + other.answers,
        answer_tokens: sum.answer_tokens + other.answer_tokens,
        answer_ns: sum.answer_ns + other.answer_ns,
        answers_in_time: both(answers_in_time, other.answers_in_time),
        stored: sum.stored + other.stored,
        evicted: sum.evicted + other.evicted,
        not_stored: sum.not_stored + other.not_stored,
    };
}

/// Serves one user as a thread, until the server is closed.
fn serve(
    server: &Server<'_>,
    shared: &Shared,
    (number, counters): (u32, &LiveCounters),
    sender: mpsc::Sender<UserEvent>,
    opened_ns: u64,
) -> Option<Served> {
    // Signals are for the rank's own thread. Those of a mapping that is lost come from the kernel, to whom they concern.
    let _ = nix::sys::signal::SigSet::all().thread_block();
    // Who receives is there as long as the server is open; afterwards nobody needs to know.
    let failed = |failure| drop(sender.send(UserEvent::Failed(failure)));
    let _guard = PanicGuard(&sender);
    let mut buffers = vec![Buffer::new(server.geometry.transfer_bytes as usize)];
    let connection = match server.case.connect(server.member, None, &mut buffers) {
        Ok(connection) => connection,
        Err(failure) => {
            failed(failure);
            return None;
        }
    };
    let recorder = |lane| Recorder::new(counters, lane, opened_ns, server.case.plan.sample_interval_ns);
    let deadlines = [server.work.first_token_deadline_ns, server.work.token_deadline_ns];
    let [first_tokens_in_time, answers_in_time] = deadlines.map(|deadline| deadline.map(|_| 0));
    let mut thread = UserThread {
        server,
        shared,
        sender: &sender,
        user: User::new(server.work, server.seed, number),
        recorders: [recorder(READ), recorder(WRITE), recorder(REMOVE)],
        connection,
        buffer: &mut buffers[0],
        expected: server.work.verify.then(|| Buffer::new(server.geometry.transfer_bytes as usize)),
        short_transfers: 0,
        fill_ns: 0,
        record: KvCacheRecord { first_tokens_in_time, answers_in_time, ..KvCacheRecord::default() },
    };
    match thread.converse() {
        Ok(()) | Err(Stop::Closed) => {}
        Err(Stop::Failed(failure)) => failed(failure),
    }
    let end_ns = server.case.clock.now_ns();
    Some(Served {
        recorded: thread.recorders.map(|recorder| recorder.finish(end_ns)),
        short_transfers: thread.short_transfers,
        requests: thread.connection.take_request_counts(),
        fill_ns: thread.fill_ns,
        record: thread.record,
    })
}

/// Tells the rank when the thread that holds it panics.
struct PanicGuard<'a>(&'a mpsc::Sender<UserEvent>);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let remedy = "report this defect, with what was printed before";
            let failure = failure::plain("serve", "a user's thread panicked".to_owned(), remedy);
            let _ = self.0.send(UserEvent::Failed(Box::new(failure)));
        }
    }
}

/// Why a thread stops.
enum Stop {
    /// The server is closed.
    Closed,
    /// Storage has failed.
    Failed(Box<Failure>),
}

impl From<Box<Failure>> for Stop {
    fn from(failure: Box<Failure>) -> Self {
        Self::Failed(failure)
    }
}

/// The thread of one user.
struct UserThread<'a> {
    server: &'a Server<'a>,
    shared: &'a Shared,
    sender: &'a mpsc::Sender<UserEvent>,
    user: User,
    /// Of reads, writes and removals.
    recorders: [Recorder<'a>; 3],
    connection: Box<dyn Connection>,
    buffer: &'a mut [u8],
    /// What an object should be, where that is checked.
    expected: Option<Buffer>,
    short_transfers: u64,
    fill_ns: u64,
    record: KvCacheRecord,
}

impl UserThread<'_> {
    fn now_ns(&self) -> u64 {
        self.server.case.clock.now_ns()
    }

    fn wait_until(&self, end_ns: u64) -> Result<u64, Stop> {
        self.shared.wait_until(end_ns, self.server.case.clock).ok_or(Stop::Closed)
    }

    /// One conversation after another, until the server is closed.
    fn converse(&mut self) -> Result<(), Stop> {
        let begin_ns = self.now_ns() + self.user.first_pause_ns();
        self.wait_until(begin_ns)?;
        loop {
            let mut conversation = self.user.converse();
            for _ in 0..conversation.turns {
                self.answer(&mut conversation)?;
                self.wait_until(self.now_ns().saturating_add(self.server.work.think_ns))?;
            }
        }
    }

    /// One request and its answer.
    fn answer(&mut self, conversation: &mut Conversation) -> Result<(), Stop> {
        let work = self.server.work;
        let asked_ns = self.now_ns();
        conversation.tokens += self.user.prompt_tokens();
        let (prompt_tokens, objects) = (conversation.tokens, conversation.whole_objects());

        let mut tokens = KvCacheRecord { requests: 1, prompt_tokens, ..KvCacheRecord::default() };
        let places = self.shared.cache().find((0..objects).map(|number| conversation.object(number)));
        let read = self.read_found(conversation, &places);
        // What was not read is kept for nobody.
        {
            let mut cache = self.shared.cache();
            for (number, _) in (0..).zip(&places).filter(|(_, place)| matches!(place, Place::Storage(_))) {
                cache.release(conversation.object(number));
            }
        }
        read?;
        let read_ns = self.now_ns();
        tokens.read_ns = read_ns - asked_ns;
        let in_memory = places.iter().filter(|&&place| place == Place::Memory).count() as u64;
        tokens.memory_tokens = in_memory * work.object_tokens;
        tokens.storage_tokens = (places.len() as u64 - in_memory) * work.object_tokens;
        {
            let cache = self.shared.cache();
            let missing = places.len() as u64..objects;
            let lost = missing.filter(|&number| cache.was_stored(conversation.object(number))).count() as u64;
            tokens.recomputed_tokens = lost * work.object_tokens;
        }
        let computed = prompt_tokens - tokens.memory_tokens - tokens.storage_tokens;
        tokens.new_tokens = computed - tokens.recomputed_tokens;

        let (begin_ns, end_ns) = self.shared.prefill(read_ns, time_ns(computed, work.prefill_tokens_per_s));
        let first_ns = self.wait_until(end_ns)?;
        tokens.queue_ns = begin_ns - read_ns;
        tokens.prefill_ns = end_ns - begin_ns;
        tokens.first_token_ns = first_ns - asked_ns;
        let in_time =
            |took_ns: u64, deadline_ns: Option<u64>| deadline_ns.map(|deadline| u64::from(took_ns <= deadline));
        tokens.first_tokens_in_time = in_time(tokens.first_token_ns, work.first_token_deadline_ns);
        tokens.answers_in_time = work.token_deadline_ns.map(|_| 0);
        add(&mut self.record, &tokens);
        if self.sender.send(UserEvent::FirstToken { asked_ns, first_ns }).is_err() {
            return Err(Stop::Closed);
        }

        // While tokens are decoded, what was computed is stored.
        self.remember(conversation, 0..objects);
        self.store(conversation, places.len() as u64..objects)?;
        let answer_tokens = self.user.answer_tokens();
        self.wait_until(first_ns.saturating_add(time_ns(answer_tokens, work.decode_tokens_per_s)))?;
        conversation.tokens += answer_tokens;
        let all = conversation.whole_objects();
        self.remember(conversation, objects..all);
        self.store(conversation, objects..all)?;
        let answer_ns = self.now_ns() - first_ns;
        let answered = KvCacheRecord {
            answers: 1,
            answer_tokens,
            answer_ns,
            first_tokens_in_time: work.first_token_deadline_ns.map(|_| 0),
            answers_in_time: in_time(answer_ns / answer_tokens, work.token_deadline_ns),
            ..KvCacheRecord::default()
        };
        add(&mut self.record, &answered);
        Ok(())
    }

    fn read_found(&mut self, conversation: &Conversation, places: &[Place]) -> Result<(), Stop> {
        for (number, place) in (0..).zip(places) {
            if let Place::Storage(file) = *place {
                if self.shared.is_closed() {
                    return Err(Stop::Closed);
                }
                self.read(conversation.object(number), file)?;
            }
        }
        Ok(())
    }

    /// The server's memory has these `objects` now, as long as there is room.
    fn remember(&self, conversation: &Conversation, objects: Range<u64>) {
        let mut cache = self.shared.cache();
        objects.for_each(|number| cache.remember(conversation.object(number)));
    }

    /// Stores those of `objects` that are not stored.
    fn store(&mut self, conversation: &Conversation, objects: Range<u64>) -> Result<(), Stop> {
        for object in objects.map(|number| conversation.object(number)) {
            if self.shared.is_closed() {
                return Err(Stop::Closed);
            }
            let room = self.shared.cache().make_room(object);
            match room {
                Room::Present => continue,
                Room::Full => {
                    self.record.not_stored += 1;
                    continue;
                }
                Room::Free(file) => self.write(object, file)?,
                Room::Evicted(file) => {
                    self.remove(file)?;
                    self.record.evicted += 1;
                    self.write(object, file)?;
                }
            }
            self.record.stored += 1;
            self.shared.cache().keep(object);
        }
        Ok(())
    }

    /// The path of file number `file` of this server.
    fn path(&self, file: u64) -> PathBuf {
        let Server { case, work, geometry, member: (_, member), .. } = self.server;
        case.workspace.place_of(&case.plan.case, &work.files, geometry, geometry.file(*member, file)).0
    }

    /// Where the bytes of a transfer of `object` belong: each object has bytes of its own.
    fn spot(&self, object: ObjectId, offset: u64) -> Spot {
        let ObjectId { of, number } = object;
        Spot { file: SplitMix64::keyed(&[self.server.seed, of, number]).draw(), part: self.server.member.1, offset }
    }

    fn transfers(&self) -> impl Iterator<Item = u64> + use<> {
        let Geometry { transfer_bytes, transfers_per_file, .. } = self.server.geometry;
        (0..transfers_per_file).map(move |transfer| transfer * transfer_bytes)
    }

    fn read(&mut self, object: ObjectId, file: u64) -> Result<(), Box<Failure>> {
        let path = self.path(file);
        let failed = |operation| failed_at(operation, &path);
        let mut begin_ns = self.now_ns();
        let opening = self.opening(Access::Read, Presence::Shared);
        let mut open = self.connection.open(&path, opening).map_err(failed("open"))?;
        for offset in self.transfers() {
            if self.expected.is_some() {
                let poisoned_ns = self.now_ns();
                poison(self.buffer);
                begin_ns += self.now_ns() - poisoned_ns;
            }
            let nothing = |moved: u64| failure::file_ends(offset + moved, "run again, and let nothing else change it");
            let bytes = self.buffer.len();
            move_all(bytes, &mut self.short_transfers, nothing, |from| {
                open.read_at(&mut self.buffer[from..], offset + from as u64)
            })
            .map_err(failed("read"))?;
            begin_ns += self.verified_ns(object, offset).map_err(failed("verify"))?;
        }
        open.close().map_err(failed("close"))?;
        let end_ns = self.now_ns();
        self.recorders[0].record(begin_ns, end_ns, self.server.geometry.file_bytes);
        Ok(())
    }

    /// Compares the buffer with what belongs at `offset` of `object`. Returns how long that took.
    fn verified_ns(&mut self, object: ObjectId, offset: u64) -> std::io::Result<u64> {
        let spot = self.spot(object, offset);
        let Some(expected) = &mut self.expected else { return Ok(0) };
        let begin_ns = self.server.case.clock.now_ns();
        self.server.content.fill(expected, spot);
        compare(self.buffer, expected, spot)
            .map_err(|mismatch| failure::other_bytes(&format!("the object, from byte {} on,", mismatch.offset)))?;
        Ok(self.server.case.clock.now_ns() - begin_ns)
    }

    fn write(&mut self, object: ObjectId, file: u64) -> Result<(), Box<Failure>> {
        let path = self.path(file);
        let failed = |operation| failed_at(operation, &path);
        let mut begin_ns = self.now_ns();
        let opening = self.opening(Access::Write, Presence::New);
        let mut open = self.connection.open(&path, opening).map_err(failed("open"))?;
        for offset in self.transfers() {
            let fill_ns = self.now_ns();
            self.server.content.fill(self.buffer, self.spot(object, offset));
            let filled_ns = self.now_ns() - fill_ns;
            self.fill_ns += filled_ns;
            begin_ns += filled_ns;
            let nothing = |moved: u64| failure::nothing_written(offset + moved);
            move_all(self.buffer.len(), &mut self.short_transfers, nothing, |from| {
                open.write_at(&self.buffer[from..], offset + from as u64)
            })
            .map_err(failed("write"))?;
        }
        open.close().map_err(failed("close"))?;
        let end_ns = self.now_ns();
        self.recorders[1].record(begin_ns, end_ns, self.server.geometry.file_bytes);
        Ok(())
    }

    fn remove(&mut self, file: u64) -> Result<(), Box<Failure>> {
        let path = self.path(file);
        let begin_ns = self.now_ns();
        let name = CString::new(path.as_os_str().as_bytes()).expect("paths of workspaces have no zero");
        let names = self.connection.names().expect("validated: the storage API has names");
        names.remove(Entry { directory: None, name: &name }).map_err(failed_at("remove", &path))?;
        let end_ns = self.now_ns();
        self.recorders[2].record(begin_ns, end_ns, 0);
        Ok(())
    }

    fn opening(&self, access: Access, presence: Presence) -> Opening<'static> {
        Opening { access, presence, bytes: self.server.geometry.file_bytes, size: None, advice: &[] }
    }
}

/// How long `tokens` take.
fn time_ns(tokens: u64, per_s: u64) -> u64 {
    (u128::from(tokens) * NS_PER_S / u128::from(per_s)) as u64
}

fn failed_at<'p>(operation: &'static str, path: &'p Path) -> impl Fn(std::io::Error) -> Box<Failure> + use<'p> {
    move |error| failure::boxed_on_path(operation, path, &error)
}
