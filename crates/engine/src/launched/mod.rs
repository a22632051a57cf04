//! The engine as a launcher of MPI starts it: a process for each rank, on many nodes.
//!
//! Each of these processes divides in two before anything else: one does the rank's I/O ([`rank`]), the other looks after
//! it and speaks MPI in a thread of its own ([`mpi_thread`]), so that a rank that hangs or is killed leaves a process
//! that reports it. The first process runs the command that was asked for, as the engine does where it forks its ranks;
//! the others follow.
//!
//! [`launcher`] is what launchers say by the environment, [`shim`] and [`mpi`] how the site's MPI is reached,
//! [`rendezvous`] and [`membership`] how processes find each other.

pub mod launcher;
mod membership;
mod mpi;
mod mpi_thread;
mod rank;
mod rendezvous;
pub mod shim;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::{Plan, RankCount};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use self::launcher::Launcher;
use self::mpi_thread::{Brief, ENDING, Finish, join_for_a_while};
use self::rank::{CaseOrder, Joined, Order, SurveyOrder};
use crate::exit::{COULD_NOT_RUN, Exit};
use crate::failure;
use crate::output::EventLog;
use crate::plan::Sizes;
use crate::rank_set::{RankSet, Ready};
use crate::ranks::local::mailbox::Mailbox;
use crate::ranks::local::{MeetingPlace, Watched};
use crate::ranks::nodes::leader::watch::{gone, is_gone, is_silent};
use crate::ranks::seating::Seating;
use crate::supervise::{self, Child, Ending, Request, StopSignal, Supervisor};
use crate::survey::SurveyRequest;

/// How long MPI may take to begin and processes to meet: beyond that something is wrong with the nodes or the network.
const BEGINNING: Duration = Duration::from_secs(90);

/// How long others may take to stop before the first process goes on without them.
const OTHERS_STOP: Duration = Duration::from_millis(2300);

/// As [`ENDING`], for a rank's process where a node is lost: what was sent there never leaves, and MPI does not end.
const ENDING_WITHOUT_NODE: Duration = Duration::from_millis(500);

/// One of those that a launcher has started.
pub struct Launched {
    place: MeetingPlace,
    seating: Seating,
    names: Vec<String>,
    rank: u32,
    child: Child,
    mpi_thread: Option<JoinHandle<()>>,
    finish: Arc<Finish>,
    /// When it began, on the node's time line.
    began_ns: u64,
    /// The rank's process has ended, or cannot be ended.
    broken: bool,
    /// A node is lost.
    lost: bool,
}

/// Takes part in what a launcher has started: returns in every process that looks after a rank, and nowhere else.
///
/// `library` speaks the site's MPI; where it is not named, it is the one for the `mpicc` in `PATH`. With `in_ranks` the
/// ranks' own processes speak MPI, for storage APIs that use it too.
///
/// # Errors
/// If there is no such library, MPI does not begin, or the processes do not find each other.
pub fn join(library: Option<PathBuf>, in_ranks: bool) -> Result<Launched, Failure> {
    let launcher = launcher::of_this_process();
    let library = match (library, &launcher) {
        (Some(library), _) => library,
        (None, Some(launcher)) => shim::of_this_site(launcher)?,
        (None, None) => shim::source("mpicc").find_or_build(&shim::cache()?)?,
    };
    begin(library, launcher, in_ranks)
}

fn begin(library: PathBuf, launcher: Option<Launcher>, in_ranks: bool) -> Result<Launched, Failure> {
    let cannot =
        |error: io::Error| failure::because_of(&error, "begin", "the engine cannot start", failure::START_REMEDY);
    supervise::block_signals().map_err(cannot)?;
    supervise::stop_with_parent().map_err(cannot)?;
    let brief = Brief { library, launcher, shared: in_ranks };
    let Divided { child, other: ours, printed } = divide(&brief).map_err(cannot)?;
    let finish = Arc::new(Finish::default());
    let (joined, mpi_thread) = if in_ranks {
        (hear_from(ours), None)
    } else {
        let (joined, mpi_thread) = speak(brief, Arc::clone(&finish), ours);
        (joined, Some(mpi_thread))
    };
    let Some(joined) = wait(&joined)? else {
        join_for_a_while(printed);
        mpi::end_for_all();
        let message = "MPI terminated a rank's process".to_owned();
        return Err(failure::plain("begin MPI", message, "read what MPI printed"));
    };
    let membership = joined?;
    let place = membership.enter().map_err(cannot)?;
    let child = Child { rank: membership.rank, seat: membership.seat(), pid: child };
    let (seating, rank) = (membership.seating(), membership.rank);
    let began_ns = place.clock().now_ns();
    Ok(Launched {
        place,
        seating,
        names: membership.names,
        rank,
        child,
        mpi_thread,
        finish,
        began_ns,
        broken: false,
        lost: false,
    })
}

/// The process that looks after a rank, just after it has started that.
struct Divided {
    child: Pid,
    /// A socket to the rank's process.
    other: UnixStream,
    /// Passes on what that prints, as long as it is there.
    printed: JoinHandle<()>,
}

/// Divides this process in two. The one that does the rank's I/O lives its life and ends in here.
fn divide(brief: &Brief) -> io::Result<Divided> {
    supervise::one_thread::check()?;
    let (ours, theirs) = UnixStream::pair()?;
    let (errors, to_errors) = UnixStream::pair()?;
    let parent = getpid();
    // SAFETY: there is one thread, as has just been checked, and neither MPI nor anything else has begun.
    let child = match unsafe { fork() }? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop((ours, errors));
            // A rank must not outlive who looks after it: nobody would stop it.
            let tied = prctl::set_pdeathsig(Signal::SIGKILL).is_ok() && getppid() == parent;
            let life = || {
                // MPI needs what the launcher has opened for it.
                if !brief.shared && rank::detach_stdio(to_errors, &theirs).is_err() {
                    return 1;
                }
                rank::live(theirs, brief.shared.then(|| brief.clone()))
            };
            let code = if tied { std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)).unwrap_or(1) } else { 1 };
            // SAFETY: ends the process without running what others registered to run at its exit.
            unsafe { libc::_exit(code) }
        }
    };
    drop((theirs, to_errors));
    let printed = std::thread::spawn(move || drop(io::copy(&mut &errors, &mut io::stderr())));
    Ok(Divided { child, other: ours, printed })
}

/// Speaks MPI in a thread, which tells this process and the rank's where they meet.
fn speak(brief: Brief, finish: Arc<Finish>, rank: UnixStream) -> (Receiver<Joined>, JoinHandle<()>) {
    let (sender, receiver) = channel();
    let mpi_thread = std::thread::spawn(move || {
        mpi_thread::run(&brief, &finish, |joined| {
            let joined = joined.map(|(membership, _)| membership);
            // Where one of them is gone there is nobody to tell.
            let _ = rank::tell(&rank, &joined);
            let _ = sender.send(joined);
        });
    });
    (receiver, mpi_thread)
}

/// What the rank's process, which speaks MPI, says.
fn hear_from(rank: UnixStream) -> Receiver<Joined> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        if let Ok(joined) = rank::listen(&rank) {
            let _ = sender.send(joined);
        }
    });
    receiver
}

/// Waits until it is known where to meet, but not for ever, and not when a signal comes. `None`: the process that was
/// to begin MPI is gone.
fn wait(receiver: &Receiver<Joined>) -> Result<Option<Joined>, Failure> {
    let begin = Instant::now();
    loop {
        match receiver.recv_timeout(Duration::from_millis(1)) {
            Ok(joined) => return Ok(Some(joined)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
        if let Some(signal) = supervise::next_signal() {
            return Err(failure::plain(
                "begin MPI",
                format!("stopped by {signal} before all processes had connected"),
                "run again",
            ));
        }
        if begin.elapsed() > BEGINNING {
            let message = format!("MPI did not start within {} s", BEGINNING.as_secs());
            let remedy = "check that the nodes reach each other: run `ioassay doctor`, or any MPI program";
            return Err(failure::plain("begin MPI", message, remedy));
        }
    }
}

impl RankSet for Launched {
    fn fixed(&self) -> Option<(u32, u32)> {
        Some((self.nodes(), self.ranks()))
    }

    fn clients(&self) -> Option<RankCount> {
        let per_client = self.seating.ranks_on(0);
        let even = (0..self.nodes()).all(|node| self.seating.ranks_on(node) == per_client);
        even.then_some(RankCount { clients: self.nodes(), per_client })
    }

    fn clock(&self) -> Clock {
        *self.place.clock()
    }

    /// Launchers pass their standard input on to the first process: the control plane writes the names of signals
    /// there, and ends it by ending.
    fn watch_stdin(&self) {
        std::thread::spawn(|| {
            for line in io::stdin().lines().map_while(Result::ok) {
                // The supervisor of the ranks waits for it.
                let _ = match line.as_str() {
                    "SIGTSTP" => kill(getpid(), Signal::SIGTSTP).map_err(io::Error::from),
                    "SIGCONT" => kill(getpid(), Signal::SIGCONT).map_err(io::Error::from),
                    name => return name.parse().unwrap_or(StopSignal::TERM).send(getpid()),
                };
            }
            StopSignal::TERM.send(getpid())
        });
    }

    fn unfit(&self, plan: &Plan) -> Option<Failure> {
        let (wanted, there) = (plan.rank_count(), self.ranks());
        let refuse = |message: String| {
            let remedy = "start as many ranks as the plan has: clients x ranks per client (mpirun -npernode, srun \
                          --ntasks-per-node)";
            Some(failure::plain("meet", message, remedy))
        };
        if wanted != there {
            return refuse(format!("the plan is for {wanted} ranks, but the launcher started {there}"));
        }
        let per_client = plan.ranks.per_client;
        // One client of all ranks is wherever they are.
        let nodes = if plan.ranks.clients > 1 { self.nodes() } else { 0 };
        let uneven = (0..nodes).find(|&node| !self.seating.ranks_on(node).is_multiple_of(per_client))?;
        let (name, ranks) = (&self.names[uneven as usize], self.seating.ranks_on(uneven));
        refuse(format!("{name} has {ranks} ranks, but a client of the plan has {per_client}"))
    }

    fn run(&mut self, ready: &Ready<'_>, log: &mut EventLog, watch: &mut dyn FnMut(Watched)) -> Ending {
        if self.broken {
            let message = "a rank of an earlier case has not finished".to_owned();
            let failure = failure::plain("run", message, "read the messages above, then run again");
            return Ending { failure: Some(failure), ..Ending::default() };
        }
        let order = CaseOrder {
            plan: ready.plan.clone(),
            workspace_token: ready.workspace.token().map(str::to_owned),
            events: seen_from_outside(log.path()),
            direct_alignment_bytes: ready.direct_alignment_bytes,
        };
        self.carry_out(&Order::Case(Box::new(order)), watch)
    }

    fn survey(&mut self, request: &SurveyRequest, _per_node: u32, log: &mut EventLog) -> Ending {
        let order = SurveyOrder { request: request.clone(), events: seen_from_outside(log.path()) };
        self.carry_out(&Order::Survey(order), &mut |_| {})
    }

    /// Tells the others and ends with them. Where MPI cannot end in order, so does this process here, with `code`.
    fn end(mut self: Box<Self>, code: u8) {
        self.give(&Order::End);
        self.broken |= self.place.leader_channel().alone.load(Ordering::SeqCst) != 0;
        self.leave(code);
    }
}

impl Launched {
    /// True for the one that runs the command that was asked for.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// How many ranks there are.
    fn ranks(&self) -> u32 {
        self.seating.ranks()
    }

    /// How many nodes.
    fn nodes(&self) -> u32 {
        self.seating.nodes()
    }

    fn carry_out(&mut self, order: &Order, watch: &mut dyn FnMut(Watched)) -> Ending {
        let number = self.give(order);
        let channel = self.place.leader_channel();
        // Until it is given, what can be seen is of the case before.
        let begin = Instant::now();
        while channel.last_order() < number && begin.elapsed() < OTHERS_STOP {
            channel.wait_for_order(number - 1);
        }
        let mut supervisor = Supervisor::new(&self.place, vec![self.child]);
        let (mut watched, mut stopped) = (Instant::now(), None);
        while channel.carried_out.load(Ordering::SeqCst) < number && channel.alone.load(Ordering::SeqCst) == 0 {
            self.look(&mut supervisor);
            if watched.elapsed() >= supervise::WATCH_EVERY {
                watched = Instant::now();
                watch(self.place.watch());
            }
            if self.place.stopping() && stopped.get_or_insert_with(Instant::now).elapsed() > OTHERS_STOP {
                break;
            }
        }
        let unfinished = channel.carried_out.load(Ordering::SeqCst) < number;
        let broken = unfinished || !supervisor.has_some() || supervisor.is_given_up();
        let signal = StopSignal::of_number(channel.signal.load(Ordering::SeqCst) as i32);
        let ending = supervisor.ending();
        self.broken = broken;
        self.lost |= ending.failure.as_ref().is_some_and(is_gone);
        Ending { signal: ending.signal.or(signal), ..ending }
    }

    /// Looks after the rank as long as there may be something for it to do. Returns an exit code.
    pub fn follow(mut self) -> u8 {
        // It needs nothing of the directory that it was started in, and would keep that from being remounted.
        let _ = std::env::set_current_dir("/");
        let place = &self.place;
        let mut supervisor = Supervisor::new(place, vec![self.child]);
        let is_over = || {
            let over = |text: &[u8]| matches!(serde_json::from_slice(text), Ok(Order::End));
            place.leader_channel().last_order() > 0 && over(&place.mailboxes().get(Mailbox::Order))
        };
        let mut last = 0;
        while !is_over() && place.leader_channel().alone.load(Ordering::SeqCst) == 0 {
            let order = place.leader_channel().last_order();
            if order != last && supervisor.has_some() {
                last = order;
                supervisor.reset();
            }
            self.look(&mut supervisor);
        }
        let alone = place.leader_channel().alone.load(Ordering::SeqCst) != 0;
        self.broken = alone || supervisor.is_given_up();
        // What is wrong the first process says, if it can be reached and the launcher lets it come to that. So one on each
        // node that is alone does as well.
        let failure = place.failure().filter(|_| alone && self.child.seat == 0);
        let ended = Exit { code: if alone { COULD_NOT_RUN } else { 0 }, failure, ..Exit::default() };
        ended.say();
        self.leave(ended.code);
        ended.code
    }

    fn give(&self, order: &Order) -> u32 {
        let text = serde_json::to_vec(order).expect("our own types are JSON");
        self.place.mailboxes().put(Mailbox::Order, &text);
        self.place.leader_channel().want_order()
    }

    /// One look at the rank, for as long as a signal may take.
    fn look(&self, supervisor: &mut Supervisor<'_>) {
        let counters = &self.place.counters()[self.child.seat as usize];
        let (channel, now_ns) = (self.place.leader_channel(), self.place.clock().now_ns());
        counters.guarded_ns.store(now_ns, Ordering::SeqCst);
        let since_ns = self.began_ns.max(supervisor.resumed_ns());
        if is_silent(channel.turned_ns.load(Ordering::SeqCst).max(since_ns), now_ns) {
            let host = &self.names[self.seating.node_of(self.rank) as usize];
            self.place.fail(&gone(&format!("the process that speaks for {host}")));
            self.place.abandon();
            channel.alone.store(1, Ordering::SeqCst);
        }
        if !supervisor.look() {
            // It will not carry anything out any more.
            counters.carried_out.store(u32::MAX, Ordering::SeqCst);
            channel.doorbell.ring();
        }
        match supervisor.next_request() {
            Some(Request::Stop(signal)) => {
                channel.signal.store(signal.number() as u32, Ordering::SeqCst);
                supervisor.signalled(signal);
            }
            Some(Request::Suspend) => self.place.suspend(),
            Some(Request::Resume) => self.place.resume(),
            None => return,
        }
        channel.doorbell.ring();
    }

    /// Ends the rank's process and MPI: in order, if everybody can, and otherwise at once.
    fn leave(&mut self, code: u8) {
        let begin = Instant::now();
        let mut supervisor = Supervisor::new(&self.place, vec![self.child]);
        let limit = if self.lost { ENDING_WITHOUT_NODE } else { ENDING };
        while !self.broken && supervisor.look() {
            if begin.elapsed() > limit {
                self.broken = true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.broken {
            supervisor.kill_all();
            self.finish.at_once();
        } else {
            self.finish.in_order();
        }
        if self.lost {
            launcher::end_soon();
        }
        if self.broken || self.lost || !self.mpi_thread.take().is_none_or(join_for_a_while) {
            leave_at_once(code);
        }
    }
}

/// Ends the process. MPI is not asked for anything any more: it would wait for those that are gone.
pub fn leave_at_once(code: u8) -> ! {
    let _ = io::stdout().flush();
    // SAFETY: ends the process, and runs nothing of what a library has registered for its exit.
    unsafe { libc::_exit(code.into()) }
}

/// A path that another process of this node can open too.
fn seen_from_outside(path: &Path) -> PathBuf {
    match path.strip_prefix("/proc/self") {
        Ok(rest) => Path::new("/proc").join(std::process::id().to_string()).join(rest),
        Err(_) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

/// What the MPI that `library` speaks calls itself.
///
/// # Errors
/// If it cannot be loaded here.
pub fn library_name(library: &Path) -> io::Result<String> {
    mpi::Loaded::load(library).map(|loaded| loaded.name())
}
