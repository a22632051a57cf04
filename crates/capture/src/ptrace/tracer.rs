//! The tracer: waits for stops of all threads of the command, counts the calls, and lets the threads go on.
//!
//! A call that matters stops twice, before and after (`PTRACE_EVENT_SECCOMP` or a stop at its entry, then one at its exit).
//! Its time is from when the thread goes on after the first to when the tracer sees the second.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ioassay_record::operation::Operation;
use ioassay_record::table::{COUNTERS, State, TextKind};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use super::calls::{Call, Calls};
use super::filter::ARCHITECTURE;
use super::follow::{copied, find_file, follow};
use super::maps::By;
use super::rings;
use super::stops::{KCMP_FILES, KCMP_FS, Stop, listen, resume, set_timer, shared, timer_went_off};
use super::table::{FinishedCall, Identity, Moment, OTHERS, Table};
use super::table_files::TableFiles;
use super::tracee::{self, Descriptors, Directory, Interrupted, Pending, Process, Tracee};
use crate::command::{PATIENCE, exit_status, wait};

/// What a call returns, inside of the kernel, that a signal has interrupted: `ERESTARTSYS`, `ERESTARTNOINTR`,
/// `ERESTARTNOHAND`, `ERESTART_RESTARTBLOCK`.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
/// What it returns then to the program, if it is not restarted.
const INTERRUPTED: i64 = -(libc::EINTR as i64);
/// Calls after which nobody expects any more that a thread returns from its signal handler to the call it was in.
const HANDLER_CALLS: u32 = 64;
/// Between two looks at the time: while the command runs, and when it has ended.
const SECOND: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(100);
/// Of its time, the tracer spends at most this part on tables of processes that run.
const LIVE_TABLES_SHARE: u64 = 20;

/// The tracer of a command.
pub struct Tracer {
    /// Only calls that matter stop.
    filtered: bool,
    calls: Calls,
    command: i32,
    /// The command has been executed: before, the calls are this program's own.
    begun: bool,
    /// What the kernel counted of the command's process before it executed the command.
    before: [u64; COUNTERS],
    /// How the command ended: its exit code, or minus the signal.
    pub status: Option<i32>,
    tracees: HashMap<i32, Tracee>,
    processes: HashMap<i32, Process>,
    /// Threads that have stopped, but whose parent has not said yet that it started them; and since how many ticks.
    early: HashMap<i32, u32>,
    files: TableFiles,
    node: Vec<u8>,
    /// When tables of processes that run are written next, in ticks.
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
            rings: HashMap::new(),
        };
        let process = Process::new(Identity { process: command as u32, ..Identity::default() });
        let node = tracee::node_name();
        Self {
            filtered,
            calls: Calls::all(),
            command,
            begun: false,
            before: [0; COUNTERS],
            status: None,
            tracees: HashMap::from([(command, tracee)]),
            processes: HashMap::from([(command, process)]),
            early: HashMap::new(),
            files: TableFiles::new(tables, &node),
            node,
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
            match wait(libc::__WALL) {
                Ok((thread, status)) => self.changed(thread, status, now()),
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
            if timer_went_off() && self.tick() {
                break;
            }
        }
        let mut left: Vec<i32> = self.processes.keys().copied().collect();
        left.sort_unstable();
        for process in &left {
            if let (Some(tracee), Some(of)) = (self.tracees.get(process), self.processes.get_mut(process)) {
                rings::end_all(tracee, of, *process, self.clocks.at_ticks(now()));
            }
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
            let (thread, status) = match wait(libc::__WALL) {
                Ok(changed) => changed,
                Err(Errno::EINTR) => continue,
                Err(_) => return,
            };
            match Stop::of(status) {
                Some(Stop::Call | Stop::Event(_)) => resume(thread, false, 0),
                Some(Stop::Signal(signal)) => resume(thread, false, signal),
                Some(Stop::Job) => listen(thread),
                None if thread == self.command => self.status = Some(exit_status(status)),
                None => {}
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
        let Some(stop) = Stop::of(status) else {
            self.ended(thread, status);
            return;
        };
        if !self.tracees.contains_key(&thread) {
            self.early.insert(thread, 0);
            return;
        }
        match stop {
            Stop::Call => self.at_call(thread, woke),
            Stop::Event(event @ (libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE)) => {
                self.born(thread, event);
            }
            Stop::Event(libc::PTRACE_EVENT_EXEC) => self.replaced(thread),
            Stop::Event(libc::PTRACE_EVENT_EXIT) => self.exits(thread),
            Stop::Event(_) => {}
            Stop::Signal(signal) => return self.resume_to_next_stop(thread, signal),
            Stop::Job => return listen(thread),
        }
        self.resume_to_next_stop(thread, 0);
    }

    /// Lets a thread go on to its next stop.
    fn resume_to_next_stop(&self, thread: i32, signal: i32) {
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
                libc::PTRACE_SYSCALL_INFO_ENTRY if info.arch == ARCHITECTURE => {
                    let (number, arguments) = (info.u.entry.nr, info.u.entry.args);
                    self.any_call(thread, number, woke);
                    if !self.filtered {
                        self.begins(thread, number, arguments, info.stack_pointer, woke);
                    }
                }
                libc::PTRACE_SYSCALL_INFO_SECCOMP if info.arch == ARCHITECTURE => {
                    self.begins(thread, info.u.seccomp.nr, info.u.seccomp.args, info.stack_pointer, woke);
                }
                libc::PTRACE_SYSCALL_INFO_EXIT => self.ends(thread, info.u.exit.sval, woke),
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
            self.count(thread, &interrupted.pending, INTERRUPTED, woke);
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
        if call == Call::Unmap {
            // Before it is done: afterwards another thread may have mapped something there.
            if let Some(process) = self.processes.get_mut(&tracee.process)
                && let Some(table) = &mut process.table
            {
                process.maps.unmapped(arguments[0], arguments[1], table, woke);
            }
            return;
        }
        let mut pending = Pending {
            call,
            number,
            arguments,
            stack,
            operation: call.operation(&arguments),
            flags: 0,
            name: None,
            description: None,
            file: OTHERS,
            began: woke,
        };
        if !find_file(thread, tracee, &mut pending) {
            return;
        }
        let Some(process) = self.processes.get_mut(&tracee.process) else { return };
        if pending.operation.is_some() || call == Call::RingEnter {
            let table =
                process.table.get_or_insert_with(|| Table::new(process.identity.clone(), self.clocks.at_ticks(woke)));
            if tracee.place.is_none() {
                tracee.place = table.thread(thread as u32);
            }
            if let Some(description) = &pending.description {
                pending.file = table.file(&description.name);
                table.opened(pending.file, description.about, 0, woke);
            } else if let Some(name) = &pending.name {
                pending.file = table.file(name);
            } else if call == Call::SyncMap {
                pending.file = process.maps.file_at(arguments[0]).unwrap_or(OTHERS);
            }
            if call == Call::RingEnter {
                rings::entered(thread, tracee, table, &mut pending, self.clocks.at_ticks(woke));
            }
            pending.began = now();
            if let (Some(place), Some(operation)) = (tracee.place, pending.operation) {
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
                self.count(thread, &before.pending, INTERRUPTED, woke);
            }
            return;
        }
        // Back from a signal handler: what the call returns that it interrupted is seen now. If it is restarted, that is
        // no error.
        let failed = tracee
            .interrupted
            .take_if(|interrupted| std::mem::take(&mut interrupted.returning) && result == INTERRUPTED);
        if let Some(failed) = failed {
            self.count(thread, &failed.pending, result, woke);
        }
    }

    /// Counts a call that has ended, and follows what it does to descriptors and paths.
    fn count(&mut self, thread: i32, pending: &Pending, result: i64, woke: u64) {
        let Some(tracee) = self.tracees.get_mut(&thread) else { return };
        let ended = self.clocks.at_ticks(woke);
        if matches!(pending.call, Call::RingSetUp | Call::RingEnter | Call::RingRegister) {
            self.count_ring(thread, pending, result, ended);
            return;
        }
        let (outcome, opened) = follow(thread, tracee, pending, result);
        let Some(process) = self.processes.get_mut(&tracee.process) else { return };
        let Some(table) = process.table.as_mut() else { return };
        if result >= 0 {
            let (arguments, by) = (pending.arguments, By { process: tracee.process, thread, ticks: ended.ticks });
            match pending.call {
                Call::Map => process.maps.mapped(by, arguments, result as u64, pending.file, table),
                Call::Remap => process.maps.moved(arguments, result as u64, table, ended.ticks),
                Call::SyncMap => process.maps.synced(arguments[0], arguments[1], table, ended.ticks),
                _ => {}
            }
        }
        let Some(operation) = pending.operation else { return };
        let mut file = pending.file;
        if let Some(opened) = &opened {
            if pending.name.is_none() {
                file = table.file(&opened.name);
            }
            table.opened(file, opened.about, pending.flags, ended.ticks);
        }
        let Some(place) = tracee.place else {
            table.lose_call();
            return;
        };
        let call = FinishedCall { thread: place, operation, file, began: pending.began, ended, outcome };
        table.ends(&call);
        match pending.call {
            Call::Close => {
                table.closed(file, ended.ticks);
                if let (Some(description), Some(process)) =
                    (&pending.description, self.processes.get_mut(&tracee.process))
                {
                    rings::closed(thread, tracee, process, description, ended);
                }
                return;
            }
            Call::Copy(_, to) if result >= 0 => {
                let to = (pending.arguments[to.0] as i32, to.1.map(|place| pending.arguments[place]));
                let description = tracee.descriptors.borrow_mut().get(thread, to.0);
                if let Some(description) = description {
                    let file = table.file(&description.name);
                    table.opened(file, description.about, 0, ended.ticks);
                    let outcome = copied(thread, Some(&description), to.1, result as u64);
                    table.ends(&FinishedCall {
                        operation: Operation::CopyTo,
                        file,
                        began: ended.ticks,
                        outcome,
                        ..call
                    });
                }
            }
            _ => {}
        }
        table.own_ticks += now().saturating_sub(woke);
    }

    /// A call on a ring of io_uring has ended.
    fn count_ring(&mut self, thread: i32, pending: &Pending, result: i64, ended: Moment) {
        let Some(tracee) = self.tracees.get_mut(&thread) else { return };
        let Some(process) = self.processes.get_mut(&tracee.process) else { return };
        match pending.call {
            Call::RingEnter => rings::left(thread, tracee, process, pending, result, ended),
            _ if result < 0 => {}
            Call::RingSetUp => {
                process.table.get_or_insert_with(|| Table::new(process.identity.clone(), ended));
                rings::set_up(thread, tracee, process, pending, result);
            }
            _ => rings::registered(thread, tracee, process, pending, ended),
        }
        if let Some(table) = &mut process.table {
            table.own_ticks += now().saturating_sub(ended.ticks);
        }
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
        let is_thread = process != thread && self.tracees.contains_key(&process);
        self.add(thread, if is_thread { process } else { parent }, is_thread);
    }

    /// Adds a thread that another one has started: of the same process, or of a new one. Where that one is not known, the
    /// kernel will be asked for all else.
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
            None => (Rc::<RefCell<Descriptors>>::default(), Directory::default(), by),
        };
        let own_process = if is_thread { process } else { new };
        if !is_thread {
            let parent = self.processes.get(&process);
            let mut identity =
                parent.map_or_else(|| tracee::identity_of(new, &self.node), |parent| parent.identity.clone());
            (identity.process, identity.parent) = (new as u32, process as u32);
            self.processes.insert(new, Process::new(identity));
            if let Some(parent) = self.processes.get_mut(&process) {
                parent.has_children = true;
            }
        }
        let tracee = Tracee {
            process: own_process,
            descriptors,
            directory,
            pending: None,
            interrupted: None,
            place: None,
            rings: HashMap::new(),
        };
        self.tracees.insert(new, tracee);
    }

    /// `exec` has replaced the program of a process. Its other threads are gone, and the one that called has its number.
    fn replaced(&mut self, number: i32) {
        let former = ptrace::getevent(Pid::from_raw(number)).map_or(number, |former| former as i32);
        let Some(mut tracee) = self.tracees.remove(&former).or_else(|| self.tracees.remove(&number)) else { return };
        self.tracees.remove(&number);
        let identity = tracee::identity_of(number, &self.node);
        if self.processes.get(&number).is_some_and(|process| process.table.is_some() || process.executed) {
            let executable = identity.texts.iter().find(|(kind, _)| *kind == TextKind::Executable as u32);
            self.count_by_kernel(number, number);
            if let Some(process) = self.processes.get_mut(&number) {
                rings::end_all(&tracee, process, number, self.clocks.at_ticks(now()));
            }
            self.finish(number, State::Replaced, Some(executable.map_or(&[], |(_, path)| path)));
        }
        let mut descriptors = tracee.descriptors.borrow().clone();
        descriptors.keep_open(number);
        tracee.descriptors = Rc::new(RefCell::new(descriptors));
        (tracee.pending, tracee.interrupted, tracee.place, tracee.process) = (None, None, None, number);
        self.tracees.insert(number, tracee);

        let mut process = Process::new(identity);
        process.executed = true;
        process.has_children = self.processes.get(&number).is_some_and(|former| former.has_children);
        process.table = Some(Table::new(process.identity.clone(), self.clocks.at_ticks(now())));
        if !self.privileged
            && let Some(program) = tracee::lacks_privileges(number, process.identity.user)
        {
            self.unprivileged.push((number, program));
        }
        self.processes.insert(number, process);
        if !self.begun {
            self.begun = true;
            self.before = tracee::counters_of_thread(number, number).unwrap_or_default();
        }
    }

    /// A thread is about to end.
    fn exits(&mut self, thread: i32) {
        if let Some(process) = self.tracees.get(&thread).map(|tracee| tracee.process) {
            self.count_by_kernel(process, thread);
        }
    }

    fn count_by_kernel(&mut self, process: i32, thread: i32) {
        let Some(Process { table: Some(table), has_children, .. }) = self.processes.get_mut(&process) else { return };
        let of_program = |mut counters: [u64; COUNTERS], number| {
            if number == self.command {
                counters.iter_mut().zip(self.before).for_each(|(counter, before)| *counter -= before.min(*counter));
            }
            counters
        };
        if let Some(counters) = tracee::counters_of_thread(process, thread) {
            table.count_by_kernel(thread as u32, of_program(counters, thread));
        }
        let of_process = if *has_children { None } else { tracee::counters_of_process(process) };
        table.counters_of_process = of_process.map_or([0; COUNTERS], |counters| of_program(counters, process));
    }

    /// A thread has ended; with the first one of a process, the process has.
    fn ended(&mut self, thread: i32, status: i32) {
        self.early.remove(&thread);
        if let Some(tracee) = self.tracees.remove(&thread)
            && let Some(process) = self.processes.get_mut(&tracee.process)
        {
            if tracee.process == thread {
                rings::end_all(&tracee, process, thread, self.clocks.at_ticks(now()));
            }
            if let (Some(place), Some(table)) = (tracee.place, &mut process.table) {
                table.thread_ended(place);
            }
        }
        if self.processes.contains_key(&thread) {
            self.finish(thread, if libc::WIFEXITED(status) { State::Exited } else { State::Running }, None);
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
        let now = self.clocks.at_ticks(now());
        let Some(process) = self.processes.get_mut(&number) else { return };
        let Some(mut table) = process.table.take() else { return };
        if !table.is_empty() || process.executed {
            let bytes = table.write(state, now, replacement);
            if self.files.add_finished(&bytes).is_err() {
                self.lost_tables += 1;
                return;
            }
        }
        if process.is_live {
            self.files.remove_running(&table);
        }
    }

    /// Writes the tables of processes that run, for those who look at a record meanwhile.
    fn write_running(&mut self) {
        let began = now();
        if began < self.next_running {
            return;
        }
        let moment = self.clocks.at_ticks(began);
        for process in self.processes.values_mut() {
            let Some(table) = process.table.as_mut().filter(|table| table.changed) else { continue };
            let bytes = table.write(State::Running, moment, None);
            process.is_live |= self.files.write_running(table, &bytes).is_ok();
        }
        self.next_running = now() + (now() - began) * LIVE_TABLES_SHARE;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptrace::tracee::Description;
    use std::fs::{self, File};
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    #[test]
    fn a_process_whose_parent_is_not_known_has_the_files_that_the_kernel_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(directory.path()).unwrap().join("file");
        fs::write(&path, "text").unwrap();
        let mut child = Command::new("sleep").arg("1000").stdin(File::open(&path).unwrap()).spawn().unwrap();
        // Another one than the parent of the child, and with another file.
        let command = 1;
        let mut tracer = Tracer::new(Pid::from_raw(command), true, directory.path());
        let of_command = Description::new((*b"/other").into(), None, 0);
        tracer.tracees[&command].descriptors.borrow_mut().set(0, Rc::new(of_command));
        let process = child.id() as i32;
        tracer.adopt(process);
        let description = tracer.tracees[&process].descriptors.borrow_mut().get(process, 0);
        let parent = tracer.processes[&process].identity.parent;
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(&*description.unwrap().name, path.as_os_str().as_bytes());
        assert_eq!(parent, std::process::id());
    }
}
