//! The tracer: waits for stops of all threads of the command, counts the calls, and lets the threads go on.
//!
//! A call that matters stops twice, before and after (`PTRACE_EVENT_SECCOMP` or a stop at its entry, then one at its exit).
//! Its time is from when the thread goes on after the first to when the tracer sees the second.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ioassay_record::table::State;
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use super::calls::{Call, Calls, Flags};
use super::filter::ARCHITECTURE;
use super::table::{Ended, Identity, Moment, Name, OTHERS, Outcome, Table};
use super::tracee::{self, Description, Descriptors, Directory, Interrupted, Pending, Process, Tracee};

/// What a stop says of a system call: `PTRACE_SYSCALL_INFO_…`.
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
const SECCOMP: u8 = 3;
/// Requests and events that the libraries lack.
const PTRACE_LISTEN: u32 = 0x4208;
const PTRACE_EVENT_STOP: i32 = 128;
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
const KCMP_FILES: u64 = 2;
const KCMP_FS: u64 = 3;
const CLOSE_RANGE_UNSHARE: u64 = 2;
/// What a call returns, inside of the kernel, that a signal has interrupted: `ERESTARTSYS`, `ERESTARTNOINTR`,
/// `ERESTARTNOHAND`, `ERESTART_RESTARTBLOCK`.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// Calls after which nobody expects any more that a thread returns from its signal handler to the call it was in.
const HANDLER_CALLS: u32 = 64;
/// How long processes that the command left behind are waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at the time: while the command runs, and when it has ended.
const SECOND: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(100);
/// Of its time, the tracer spends at most this part on tables of processes that run.
const LIVE_TABLES_SHARE: u64 = 20;

/// The timer has gone off.
static TICK: AtomicBool = AtomicBool::new(false);

extern "C" fn on_timer(_: libc::c_int) {
    TICK.store(true, Relaxed);
}

/// What threads do at stops.
pub fn options(filtered: bool) -> Options {
    let all = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEEXIT;
    if filtered { all | Options::PTRACE_O_TRACESECCOMP | Options::PTRACE_O_EXITKILL } else { all }
}

/// The tracer of a command.
pub struct Tracer {
    /// Only calls that matter stop.
    filtered: bool,
    calls: Calls,
    command: i32,
    /// The command has been executed: before, the calls are this program's own.
    begun: bool,
    /// What the kernel counted of the command's process before it executed the command.
    before: [u64; 4],
    /// How the command ended: its exit code, or minus the signal.
    pub status: Option<i32>,
    tracees: HashMap<i32, Tracee>,
    processes: HashMap<i32, Process>,
    /// Threads that have stopped, but whose parent has not said yet that it started them; and since how many ticks.
    early: HashMap<i32, u32>,
    tables: PathBuf,
    node: Vec<u8>,
    /// Files of tables of processes that run.
    running: HashSet<PathBuf>,
    next_running: u64,
    /// The monotonic clock and the time of day, at the same moment.
    clocks: Moment,
    give_up_at: Option<u64>,
    privileged: bool,
    /// Programs that ran without the privileges that their files give them.
    pub unprivileged: Vec<(i32, String)>,
    /// Tables that could not be written.
    pub lost_tables: u64,
}

impl Tracer {
    /// That of a command whose process is traced, and has not executed it yet.
    pub fn new(command: Pid, filtered: bool, tables: &Path) -> Self {
        let command = command.as_raw();
        let tracee = Tracee {
            process: command,
            descriptors: Rc::default(),
            directory: Rc::default(),
            pending: None,
            interrupted: None,
            place: None,
        };
        let process = Process::new(Identity { process: command as u32, ..Identity::default() });
        Self {
            filtered,
            calls: Calls::all(),
            command,
            begun: false,
            before: [0; 4],
            status: None,
            tracees: HashMap::from([(command, tracee)]),
            processes: HashMap::from([(command, process)]),
            early: HashMap::new(),
            tables: tables.to_owned(),
            node: tracee::node_name(),
            running: HashSet::new(),
            next_running: 0,
            clocks: both_clocks(),
            give_up_at: None,
            privileged: nix::unistd::geteuid().is_root(),
            unprivileged: Vec::new(),
            lost_tables: 0,
        }
    }

    /// Whether the command was executed at all.
    pub fn begun(&self) -> bool {
        self.begun
    }

    /// Traces until all processes have ended, or the command has and the others are given up. Processes that go on.
    pub fn run(&mut self) -> Vec<i32> {
        set_timer(SECOND);
        loop {
            match wait() {
                Ok((thread, status)) => self.changed(thread, status, now()),
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
            if TICK.swap(false, Relaxed) && self.tick() {
                break;
            }
        }
        let mut left: Vec<i32> = self.processes.keys().copied().collect();
        left.sort_unstable();
        for process in &left {
            self.finish(*process, State::Running, None);
        }
        left
    }

    /// Lets all threads go on from now on, without counting, until all have ended. Where calls stop by a filter, that
    /// is what they need: without a tracer they would fail.
    pub fn pass_all(&mut self) {
        for thread in self.tracees.keys().chain(self.early.keys()) {
            resume(*thread, false, 0);
        }
        loop {
            let (thread, status) = match wait() {
                Ok(changed) => changed,
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            if !libc::WIFSTOPPED(status) {
                if thread == self.command {
                    self.status = Some(exit_status(status));
                }
                continue;
            }
            match (libc::WSTOPSIG(status), status >> 16) {
                (SYSCALL_STOP, 0) | (libc::SIGTRAP, 1..) => resume(thread, false, 0),
                (_, PTRACE_EVENT_STOP) => listen(thread),
                (signal, 0) => resume(thread, false, signal),
                _ => resume(thread, false, 0),
            }
        }
    }

    /// What is to be done once a second. Whether to give up what still runs.
    fn tick(&mut self) -> bool {
        self.clocks = both_clocks();
        // A parent that was killed before it could say so.
        let orphans: Vec<i32> = self
            .early
            .iter_mut()
            .filter_map(|(thread, ticks)| {
                *ticks += 1;
                (*ticks > 1).then_some(*thread)
            })
            .collect();
        for thread in orphans {
            self.early.remove(&thread);
            self.adopt(thread);
            resume(thread, !self.filtered, 0);
        }
        self.write_running();
        self.give_up_at.is_some_and(|moment| now() >= moment)
    }

    fn changed(&mut self, thread: i32, status: i32, woke: u64) {
        if !libc::WIFSTOPPED(status) {
            self.ended(thread, status);
            return;
        }
        if !self.tracees.contains_key(&thread) {
            self.early.insert(thread, 0);
            return;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            0 if signal == SYSCALL_STOP => self.at_call(thread, woke),
            libc::PTRACE_EVENT_SECCOMP => self.at_call(thread, woke),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => self.born(thread, event),
            libc::PTRACE_EVENT_EXEC => self.replaced(thread),
            libc::PTRACE_EVENT_EXIT => self.exits(thread),
            PTRACE_EVENT_STOP if signal != libc::SIGTRAP => {
                // It is stopped by job control, and stays so until it is continued.
                listen(thread);
                return;
            }
            0 => {
                self.go_on(thread, signal);
                return;
            }
            _ => {}
        }
        self.go_on(thread, 0);
    }

    /// Lets a thread go on to its next stop.
    fn go_on(&self, thread: i32, signal: i32) {
        let in_call =
            self.tracees.get(&thread).is_some_and(|tracee| tracee.pending.is_some() || tracee.interrupted.is_some());
        resume(thread, in_call || !self.filtered, signal);
    }

    fn at_call(&mut self, thread: i32, woke: u64) {
        // It is gone: killed while it was stopped.
        let Ok(info) = ptrace::syscall_info(Pid::from_raw(thread)) else { return };
        // SAFETY: `op` says which it is.
        unsafe {
            match info.op {
                ENTRY if info.arch == ARCHITECTURE => {
                    let (number, arguments) = (info.u.entry.nr, info.u.entry.args);
                    self.any_call(thread, number, woke);
                    if !self.filtered {
                        self.begins(thread, number, arguments, info.stack_pointer, woke);
                    }
                }
                SECCOMP if info.arch == ARCHITECTURE => {
                    self.begins(thread, info.u.seccomp.nr, info.u.seccomp.args, info.stack_pointer, woke);
                }
                EXIT => self.ends(thread, info.u.exit.sval, woke),
                _ => {}
            }
        }
    }

    /// A thread that was interrupted in a call makes another one.
    fn any_call(&mut self, thread: i32, number: u64, woke: u64) {
        let Some(tracee) = self.tracees.get_mut(&thread) else { return };
        let Some(interrupted) = &mut tracee.interrupted else { return };
        interrupted.returning = number == libc::SYS_rt_sigreturn as u64;
        interrupted.since += 1;
        if interrupted.since > HANDLER_CALLS
            && let Some(interrupted) = tracee.interrupted.take()
        {
            self.count(thread, &interrupted.pending, -i64::from(libc::EINTR), woke);
        }
    }

    /// A call begins.
    fn begins(&mut self, thread: i32, number: u64, arguments: [u64; 6], stack: u64, woke: u64) {
        if !self.begun {
            return;
        }
        let Some(call) = self.calls.of(number, &arguments) else { return };
        let Some(tracee) = self.tracees.get_mut(&thread) else { return };
        let restarted = tracee.interrupted.take_if(|interrupted| {
            let before = &interrupted.pending;
            (before.number, before.stack, before.arguments) == (number, stack, arguments)
        });
        if let Some(restarted) = restarted {
            tracee.pending = Some(restarted.pending);
            return;
        }
        let mut pending = Pending {
            call,
            number,
            arguments,
            stack,
            operation: call.operation(&arguments),
            name: None,
            description: None,
            file: OTHERS,
            began: woke,
        };
        if !find_file(thread, tracee, &mut pending) {
            return;
        }
        let Some(process) = self.processes.get_mut(&tracee.process) else { return };
        if let Some(operation) = pending.operation {
            let table = process.table.get_or_insert_with(|| Table::new(process.identity.clone(), self.clocks.at(woke)));
            if tracee.place.is_none() {
                tracee.place = table.thread(thread as u32);
            }
            if let Some(description) = &pending.description {
                pending.file = table.file(&description.name);
                table.opened(pending.file, description.about, 0, woke);
            } else if let Some(name) = &pending.name {
                pending.file = table.file(name);
            }
            pending.began = now();
            if let Some(place) = tracee.place {
                table.begins(place, operation, pending.file, pending.began);
            }
            table.own_ticks += pending.began - woke;
        }
        tracee.pending = Some(pending);
    }

    /// A call has ended, or a signal has interrupted it.
    fn ends(&mut self, thread: i32, result: i64, woke: u64) {
        let Some(tracee) = self.tracees.get_mut(&thread) else { return };
        if let Some(pending) = tracee.pending.take() {
            if !RESTARTS.contains(&result) {
                self.count(thread, &pending, result, woke);
                return;
            }
            let before = tracee.interrupted.replace(Interrupted { pending, since: 0, returning: false });
            if let Some(before) = before {
                self.count(thread, &before.pending, -i64::from(libc::EINTR), woke);
            }
            return;
        }
        // Back from a signal handler: what the call returns that it interrupted is seen now. If it is restarted, that is
        // no error.
        let failed = tracee
            .interrupted
            .take_if(|interrupted| std::mem::take(&mut interrupted.returning) && result == -i64::from(libc::EINTR));
        if let Some(failed) = failed {
            self.count(thread, &failed.pending, result, woke);
        }
    }

    /// Counts a call that has ended, and follows what it does to descriptors and paths.
    fn count(&mut self, thread: i32, pending: &Pending, result: i64, woke: u64) {
        let Some(tracee) = self.tracees.get_mut(&thread) else { return };
        let ended = self.clocks.at(woke);
        let (outcome, opened) = follow(thread, tracee, pending, result);
        let Some(operation) = pending.operation else { return };
        let Some(table) = self.processes.get_mut(&tracee.process).and_then(|process| process.table.as_mut()) else {
            return;
        };
        let mut file = pending.file;
        if let Some(opened) = &opened {
            if pending.name.is_none() {
                file = table.file(&opened.name);
            }
            table.opened(file, opened.about, open_flags(thread, pending), ended.ticks);
        }
        let Some(place) = tracee.place else {
            table.lose_call();
            return;
        };
        let call = Ended { thread: place, operation, file, began: pending.began, ended, outcome };
        table.ends(&call);
        match pending.call {
            Call::Close => table.closed(file, ended.ticks),
            Call::Copy(_, to) if result >= 0 => {
                let to = (pending.arguments[to.0] as i32, to.1.map(|place| pending.arguments[place]));
                let description = tracee.descriptors.borrow_mut().get(thread, to.0);
                if let Some(description) = description {
                    let file = table.file(&description.name);
                    table.opened(file, description.about, 0, ended.ticks);
                    let outcome = copied(thread, Some(&description), to.1, result as u64);
                    let operation = ioassay_record::operation::Operation::CopyTo;
                    table.ends(&Ended { operation, file, began: ended.ticks, outcome, ..call });
                }
            }
            _ => {}
        }
        table.own_ticks += now().saturating_sub(woke);
    }

    /// A thread has started another, or a process.
    fn born(&mut self, thread: i32, event: i32) {
        let Ok(new) = ptrace::getevent(Pid::from_raw(thread)) else { return };
        let new = new as i32;
        let Some(parent) = self.tracees.get(&thread) else { return };
        // SAFETY: it only asks whether the thread is of that process.
        let is_thread = event == libc::PTRACE_EVENT_CLONE
            && unsafe { libc::syscall(libc::SYS_tgkill, parent.process, new, 0) } == 0;
        self.add(new, thread, is_thread);
        if self.early.remove(&new).is_some() {
            resume(new, !self.filtered, 0);
        }
    }

    /// A thread whose parent was killed before it could say that it started it.
    fn adopt(&mut self, thread: i32) {
        let Some((process, parent)) = tracee::process_of(thread) else { return };
        if process != thread && self.tracees.contains_key(&process) {
            self.add(thread, process, true);
        } else if self.tracees.contains_key(&parent) {
            self.add(thread, parent, false);
        } else {
            self.add(thread, self.command, false);
        }
    }

    /// Adds a thread that another one has started: of the same process, or of a new one.
    fn add(&mut self, new: i32, by: i32, is_thread: bool) {
        let (descriptors, directory, process) = match self.tracees.get(&by) {
            Some(by_tracee) => {
                let descriptors = if shared(by, new, KCMP_FILES, is_thread) {
                    by_tracee.descriptors.clone()
                } else {
                    Rc::new(RefCell::new(by_tracee.descriptors.borrow().clone()))
                };
                let directory: Directory = if shared(by, new, KCMP_FS, is_thread) {
                    by_tracee.directory.clone()
                } else {
                    Rc::new(RefCell::new(by_tracee.directory.borrow().clone()))
                };
                (descriptors, directory, by_tracee.process)
            }
            None => (Rc::<RefCell<Descriptors>>::default(), Directory::default(), new),
        };
        let own = if is_thread { process } else { new };
        if !is_thread {
            let mut identity = self.processes.get(&process).map(|parent| parent.identity.clone()).unwrap_or_default();
            (identity.process, identity.parent) = (new as u32, process as u32);
            self.processes.insert(new, Process::new(identity));
        }
        let tracee = Tracee { process: own, descriptors, directory, pending: None, interrupted: None, place: None };
        self.tracees.insert(new, tracee);
    }

    /// `exec` has replaced the program of a process. Its other threads are gone, and the one that called has its number.
    fn replaced(&mut self, number: i32) {
        let former = ptrace::getevent(Pid::from_raw(number)).map_or(number, |former| former as i32);
        let Some(mut tracee) = self.tracees.remove(&former).or_else(|| self.tracees.remove(&number)) else { return };
        self.tracees.remove(&number);
        let executable = fs::read_link(format!("/proc/{number}/exe")).unwrap_or_default();
        if self.processes.get(&number).is_some_and(|process| process.table.is_some() || process.executed) {
            let path = executable.as_os_str().as_encoded_bytes();
            self.count_by_kernel(number, number);
            self.finish(number, State::Replaced, Some(path));
        }
        let mut descriptors = tracee.descriptors.borrow().clone();
        descriptors.keep_open(number);
        tracee.descriptors = Rc::new(RefCell::new(descriptors));
        (tracee.pending, tracee.interrupted, tracee.place, tracee.process) = (None, None, None, number);
        self.tracees.insert(number, tracee);

        let mut process = Process::new(tracee::identity_of(number, &self.node));
        process.executed = true;
        process.table = Some(Table::new(process.identity.clone(), self.clocks.at(now())));
        if !self.privileged
            && let Some(program) = tracee::lacks_privileges(number, process.identity.user)
        {
            self.unprivileged.push((number, program));
        }
        self.processes.insert(number, process);
        if !self.begun {
            self.begun = true;
            self.before = tracee::kernel_counters(number, number).unwrap_or_default();
        }
    }

    /// A thread is about to end.
    fn exits(&mut self, thread: i32) {
        if let Some(process) = self.tracees.get(&thread).map(|tracee| tracee.process) {
            self.count_by_kernel(process, thread);
        }
    }

    fn count_by_kernel(&mut self, process: i32, thread: i32) {
        if let Some(table) = self.processes.get_mut(&process).and_then(|process| process.table.as_mut())
            && let Some(mut counters) = tracee::kernel_counters(process, thread)
        {
            if thread == self.command {
                counters.iter_mut().zip(self.before).for_each(|(counter, before)| *counter -= before.min(*counter));
            }
            table.count_by_kernel(thread as u32, counters);
        }
    }

    /// A thread has ended; with the first one of a process, the process has.
    fn ended(&mut self, thread: i32, status: i32) {
        self.early.remove(&thread);
        if let Some(tracee) = self.tracees.remove(&thread)
            && let Some(place) = tracee.place
            && let Some(table) = self.processes.get_mut(&tracee.process).and_then(|process| process.table.as_mut())
        {
            table.thread_ended(place);
        }
        if self.processes.contains_key(&thread) {
            self.finish(thread, if libc::WIFEXITED(status) { State::Ended } else { State::Running }, None);
            self.processes.remove(&thread);
        }
        if thread == self.command {
            self.status = Some(exit_status(status));
            self.give_up_at = Some(now() + PATIENCE.as_nanos() as u64);
            set_timer(SOON);
        }
    }

    /// Adds the table of a process to those of processes that ended.
    fn finish(&mut self, number: i32, state: State, replacement: Option<&[u8]>) {
        let now = self.clocks.at(now());
        let Some(process) = self.processes.get_mut(&number) else { return };
        let executed = process.executed;
        let Some(mut table) = process.table.take() else { return };
        let running = running_file(&self.tables, &table);
        if !table.is_empty() || executed {
            let bytes = table.write(state, now, replacement);
            let mut file = fs::OpenOptions::new();
            file.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let written =
                file.open(tracee::finished_in(&self.tables, &self.node)).and_then(|mut file| file.write_all(&bytes));
            if written.is_err() {
                self.lost_tables += 1;
                return;
            }
        }
        if self.running.remove(&running) {
            let _ = fs::remove_file(running);
        }
    }

    /// Writes the tables of processes that run, for those who look at a record meanwhile.
    fn write_running(&mut self) {
        let began = now();
        if began < self.next_running {
            return;
        }
        let moment = self.clocks.at(began);
        for process in self.processes.values_mut() {
            let Some(table) = process.table.as_mut().filter(|table| table.changed) else { continue };
            let path = running_file(&self.tables, table);
            let new = path.with_extension("new");
            let bytes = table.write(State::Running, moment, None);
            let mut file = fs::OpenOptions::new();
            file.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let written =
                file.open(&new).and_then(|mut file| file.write_all(&bytes)).and_then(|()| fs::rename(&new, &path));
            match written {
                Ok(()) => drop(self.running.insert(path)),
                Err(_) => drop(fs::remove_file(new)),
            }
        }
        self.next_running = now() + (now() - began) * LIVE_TABLES_SHARE;
    }
}

/// Finds out which file a call is on. False where the call is not to be counted: closing what is not open.
fn find_file(thread: i32, tracee: &mut Tracee, pending: &mut Pending) -> bool {
    let argument = |place: usize| pending.arguments[place];
    let descriptor = |place: usize| argument(place) as i32;
    let at = match pending.call {
        Call::AtPosition(_) | Call::AtOffset(_) | Call::OnDescriptor(_) | Call::Seek => Some(0),
        Call::Control if pending.operation.is_some() => Some(0),
        Call::Map => Some(4),
        Call::Copy(from, _) => Some(from.0),
        _ => None,
    };
    if let Some(at) = at {
        pending.description = tracee.descriptors.borrow_mut().get(thread, descriptor(at));
        return true;
    }
    match pending.call {
        Call::Close => {
            let mut descriptors = tracee.descriptors.borrow_mut();
            pending.description = descriptors.get(thread, descriptor(0));
            // Before it is closed: afterwards another thread may have it again.
            descriptors.forget(descriptor(0));
            pending.description.is_some()
        }
        Call::CloseRange => {
            let (first, last, flags) = (argument(0) as u32, argument(1) as u32, argument(2));
            if flags & CLOSE_RANGE_UNSHARE != 0 {
                let own = tracee.descriptors.borrow().clone();
                tracee.descriptors = Rc::new(RefCell::new(own));
            }
            if pending.operation.is_some() {
                tracee.descriptors.borrow_mut().forget_range(first, last);
            }
            true
        }
        Call::OnPath(_, path) => {
            pending.name = path_of(thread, tracee, None, argument(path));
            true
        }
        Call::Beneath(_, base, path) => {
            // With an empty path it is the open file itself.
            let address = argument(path);
            pending.name = path_of(thread, tracee, Some(descriptor(base)), address);
            true
        }
        Call::Open(base, path, _) => {
            if open_flags(thread, pending) & libc::O_TMPFILE != libc::O_TMPFILE {
                pending.name = path_of(thread, tracee, base.map(descriptor), argument(path));
            }
            true
        }
        _ => true,
    }
}

/// The absolute name of a path in a thread's memory. Nothing where it cannot be read.
fn path_of(thread: i32, tracee: &Tracee, base: Option<i32>, address: u64) -> Option<Name> {
    let base = base.filter(|base| *base != libc::AT_FDCWD);
    let path = if address == 0 && base.is_some() { Vec::new() } else { tracee::text_at(thread, address)? };
    if path.starts_with(b"/") {
        return Some(path.into());
    }
    if let Some(base) = base {
        let description = tracee.descriptors.borrow_mut().get(thread, base)?;
        return Some(if path.is_empty() {
            description.name.clone()
        } else {
            tracee::beneath(&description.name, &path)
        });
    }
    let mut directory = tracee.directory.borrow_mut();
    if directory.is_none() {
        *directory = tracee::directory_of(thread);
    }
    directory.as_ref().map(|directory| tracee::beneath(directory, &path))
}

fn open_flags(thread: i32, pending: &Pending) -> i32 {
    match pending.call {
        Call::Open(_, _, Flags::Argument(place)) => pending.arguments[place] as i32,
        Call::Open(_, _, Flags::Behind(place)) => {
            tracee::number_at(thread, pending.arguments[place]).unwrap_or(0) as i32
        }
        Call::Open(_, _, Flags::Always(flags)) => flags,
        _ => 0,
    }
}

/// What came of a call that has ended, and what it opened; descriptors and directories follow it.
fn follow(thread: i32, tracee: &mut Tracee, pending: &Pending, result: i64) -> (Outcome, Option<Rc<Description>>) {
    let argument = |place: usize| pending.arguments[place];
    if result < 0 {
        return (Outcome::Failed(-result as i32), None);
    }
    let bytes = result as u64;
    let mut descriptors = tracee.descriptors.borrow_mut();
    let description = pending.description.as_deref();
    let at = |offset| Outcome::Moved { bytes, offset: Some(offset), block_bytes: block_bytes(description) };
    let outcome = match (pending.call, &pending.description) {
        (Call::AtOffset(_), _) if argument(3) != u64::MAX => at(argument(3)),
        (Call::AtPosition(_) | Call::AtOffset(_), _) => copied(thread, description, None, bytes),
        (Call::Map, _) => {
            Outcome::Moved { bytes: argument(1), offset: Some(argument(5)), block_bytes: block_bytes(description) }
        }
        (Call::Copy(from, _), _) => copied(thread, description, from.1.map(argument), bytes),
        (Call::Seek, Some(description)) => {
            description.position.set(bytes);
            Outcome::Done
        }
        (Call::Duplicate | Call::DuplicateTo, _) => {
            duplicate(thread, &mut descriptors, argument(0) as i32, result as i32);
            Outcome::Done
        }
        (Call::Control, _) => {
            if pending.operation.is_none() {
                duplicate(thread, &mut descriptors, argument(0) as i32, result as i32);
            }
            Outcome::Done
        }
        (Call::ChangeDirectory, _) => {
            *tracee.directory.borrow_mut() = None;
            Outcome::Done
        }
        (Call::Open(..) | Call::OpenNameless, _) => {
            descriptors.forget(result as i32);
            let opened = match &pending.name {
                Some(name) => {
                    let about = tracee::about(thread, result as i32);
                    let appends = open_flags(thread, pending) & libc::O_APPEND != 0;
                    // Whoever appends writes at the end.
                    let position = about.filter(|_| appends).map_or(0, |about| about.size_bytes);
                    let opened = Description { name: name.clone(), about, position: Cell::new(position) };
                    Some(Rc::new(opened))
                }
                None => descriptors.get(thread, result as i32),
            };
            if let Some(opened) = &opened {
                descriptors.set(result as i32, opened.clone());
            }
            return (Outcome::Done, opened);
        }
        _ => Outcome::Done,
    };
    (outcome, None)
}

/// Bytes were moved from where a description is, which moves on, or up to the offset that the call has left in memory.
fn copied(thread: i32, description: Option<&Description>, offset: Option<u64>, bytes: u64) -> Outcome {
    let offset = match offset.filter(|address| *address != 0) {
        Some(address) => tracee::number_at(thread, address).map(|end| end.wrapping_sub(bytes)),
        None => description.map(|description| description.advance(bytes)),
    };
    Outcome::Moved { bytes, offset, block_bytes: block_bytes(description) }
}

/// Of the file system; 0 where that is not known.
fn block_bytes(description: Option<&Description>) -> u32 {
    description.and_then(|description| description.about).map_or(0, |about| about.block_bytes)
}

fn duplicate(thread: i32, descriptors: &mut Descriptors, from: i32, to: i32) {
    if from == to {
        return;
    }
    match descriptors.get(thread, from) {
        Some(description) => descriptors.set(to, description),
        None => descriptors.forget(to),
    }
}

/// Whether two threads share that; where the kernel does not say, those of a process do.
fn shared(one: i32, other: i32, what: u64, is_thread: bool) -> bool {
    // SAFETY: it only compares.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, what, 0, 0) } {
        0 => true,
        1.. => false,
        _ => is_thread,
    }
}

/// The file of a table of a process that runs.
fn running_file(tables: &Path, table: &Table) -> PathBuf {
    tables.join(format!("{}-{}.table", table.identity().process, table.begin_ticks()))
}

/// Waits for a stop or the end of any thread.
fn wait() -> Result<(i32, i32), Errno> {
    let mut status = 0;
    // SAFETY: the kernel fills `status`. Not the library's function, which knows no real-time signals.
    let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
    Errno::result(thread).map(|thread| (thread, status))
}

/// Lets a thread go on, with a signal if that is not 0. If it is gone, its end will be seen.
pub fn resume(thread: i32, to_call: bool, signal: i32) {
    let request = if to_call { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    // SAFETY: it touches no memory of ours.
    unsafe { libc::ptrace(request, thread, 0_usize, signal as usize) };
}

fn listen(thread: i32) {
    // SAFETY: it touches no memory of ours.
    unsafe { libc::ptrace(PTRACE_LISTEN, thread, 0_usize, 0_usize) };
}

/// Of a process that has ended: its exit code, or minus the signal.
fn exit_status(status: i32) -> i32 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}

/// Has the timer go off again and again.
fn set_timer(every: Duration) {
    let every = libc::timeval { tv_sec: every.as_secs() as libc::time_t, tv_usec: every.subsec_micros().into() };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the handler only stores a flag; it interrupts `waitpid`, which is why it is not restarted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_timer as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

/// Now, in ticks.
fn now() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC)
}

fn nanoseconds(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| Duration::from(time).as_nanos() as u64)
}

fn both_clocks() -> Moment {
    Moment { ticks: now(), ns: nanoseconds(ClockId::CLOCK_REALTIME) }
}
