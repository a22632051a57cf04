//! The process that does the I/O of one rank, where a launcher has started the engine: it carries out order after order.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ioassay_host::clock::Clock;
use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::Plan;
use serde::{Deserialize, Serialize};

use super::membership::Membership;
use super::mpi_thread::{self, Brief, Finish, join_for_a_while};
use crate::case::{self, Case};
use crate::failure;
use crate::output::EventLog;
use crate::ranks::Ranks;
use crate::ranks::local::mailbox::Mailbox;
use crate::ranks::nodes::NodeRank;
use crate::ranks::seating::Seating;
use crate::stdio::say;
use crate::storage::{self, plugin};
use crate::survey::{self, SurveyRequest};
use crate::workspace::Workspace;

/// What the ranks are to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Run a case.
    Case(Box<CaseOrder>),
    /// Look at the nodes.
    Survey(SurveyOrder),
    /// Nothing any more.
    End,
}

/// A case to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseOrder {
    /// The validated plan.
    pub plan: Plan,
    /// By which the ranks know its workspace.
    pub workspace_token: Option<String>,
    /// Where rank 0 writes events.
    pub events: PathBuf,
    /// As in [`Case`].
    pub direct_alignment_bytes: Option<u64>,
}

/// A look at the nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SurveyOrder {
    /// What to look at.
    pub request: SurveyRequest,
    /// Where rank 0 writes events.
    pub events: PathBuf,
}

/// What the two processes of a rank tell each other once: who speaks MPI tells the other.
pub type Joined = Result<Membership, Failure>;

/// Lives as the rank's process; `other` is the end of a socket to the one that looks after it. With a brief this process speaks
/// MPI, otherwise the other one does.
pub fn live(other: UnixStream, brief: Option<Brief>) -> i32 {
    match brief {
        None => match listen(&other) {
            Ok(Ok(membership)) => carry_out(&membership),
            // Who looks after this process knows why.
            Ok(Err(_)) | Err(_) => 1,
        },
        Some(brief) => {
            let finish = Arc::new(Finish::default());
            let (sender, receiver) = std::sync::mpsc::channel();
            let mpi_thread = {
                let finish = Arc::clone(&finish);
                std::thread::spawn(move || mpi_thread::run(&brief, &finish, |place| drop(sender.send(place))))
            };
            let Ok(place) = receiver.recv() else { return 1 };
            let place = place.map(|(membership, communicator)| {
                if let Some(communicator) = communicator {
                    storage::mpi::joined(communicator);
                }
                membership
            });
            if tell(&other, &place).is_err() {
                return 1;
            }
            let Ok(membership) = place else { return 1 };
            let code = carry_out(&membership);
            finish.in_order();
            if join_for_a_while(mpi_thread) {
                // Some MPIs say farewell to their launcher only when a process exits as usual, and it would kill the others.
                std::process::exit(code);
            }
            code
        }
    }
}

/// Sends it to the other process of the rank.
pub fn tell(mut other: &UnixStream, joined: &Joined) -> io::Result<()> {
    let mut line = serde_json::to_vec(joined)?;
    line.push(b'\n');
    other.write_all(&line)
}

/// Hears from the other process of the rank.
pub fn listen(other: &UnixStream) -> io::Result<Joined> {
    let mut line = String::new();
    BufReader::new(other).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Carries out orders until the last one. Returns an exit code.
fn carry_out(membership: &Membership) -> i32 {
    let seating = membership.seating();
    let place = match membership.enter() {
        Ok(place) => place,
        Err(error) => {
            say!("ioassay-engine: rank {}: {error}", membership.rank);
            return 1;
        }
    };
    let rank = NodeRank::new(&place, &seating, membership.rank);
    let mut last = 0;
    loop {
        while place.leader_channel().last_order() == last {
            place.leader_channel().wait_for_order(last);
        }
        last = place.leader_channel().last_order();
        let order = serde_json::from_slice(&place.mailboxes().get(Mailbox::Order));
        let begun = match order.expect("every process runs this very program") {
            Order::End => return 0,
            Order::Case(order) => run(&order, &rank, &seating, place.clock()),
            Order::Survey(order) => look_around(&order, &rank, &seating, place.clock()),
        };
        if let Err(failure) = begun {
            place.fail(&failure::of_rank(failure, membership.rank, "begin"));
        }
        rank.carried_out(last);
    }
}

fn run(order: &CaseOrder, rank: &NodeRank<'_>, seating: &Seating, clock: &Clock) -> Result<(), Failure> {
    let CaseOrder { plan, workspace_token, events, direct_alignment_bytes } = order;
    // Before anything asks what they can do.
    plugin::load_all(plan)?;
    let workspace = Workspace::join(plan, workspace_token.clone())?;
    let mut log = open_log(events, rank)?;
    let case = Case {
        plan,
        apis: &storage::of_plan,
        workspace: &workspace,
        clock,
        seating,
        direct_alignment_bytes: *direct_alignment_bytes,
    };
    // A rank that was stopped has nothing to add.
    let _ = case::run(&case, rank, &mut log);
    Ok(())
}

fn look_around(order: &SurveyOrder, rank: &NodeRank<'_>, seating: &Seating, clock: &Clock) -> Result<(), Failure> {
    let mut log = open_log(&order.events, rank)?;
    // As above.
    let _ = survey::run(&order.request, rank, seating, clock, &mut log);
    Ok(())
}

/// The events, which rank 0 writes.
fn open_log(events: &Path, rank: &NodeRank<'_>) -> Result<EventLog, Failure> {
    let path = if rank.rank() == 0 { events } else { Path::new("/dev/null") };
    EventLog::open(path).map_err(|error| failure::on_path("open", path, &error))
}

/// Lets go of what this process has of the launcher, which waits for that: one that hangs must not keep it. What the
/// process prints for people goes to `errors`.
pub fn detach_stdio(errors: UnixStream, keep: &UnixStream) -> io::Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&errors)?;
    // Nobody here may own what is closed below.
    drop((null, errors));
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?.flatten().filter_map(number).collect();
    for number in open.into_iter().filter(|&number| number > 2 && number != keep.as_raw_fd()) {
        // SAFETY: nothing of this process uses it: it was forked before it had opened anything of its own.
        unsafe { libc::close(number) };
    }
    Ok(())
}
