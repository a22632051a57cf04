//! The kinds of documents that an agent makes of jobs and of itself.
//!
//! How to add one: `docs/development/agent.md`.

use crate::documents;

documents! {
    /// What the processes of a job did on a node in a second, by class of calls.
    pub struct Io = io {
        /// The node.
        node: String as Label,
        /// The job: its number in the scheduler, or the name of the record.
        job: String as Label,
        /// The user whose processes they are, by number.
        user: String as Label,
        /// The class of calls, in the recorder's words.
        class: String as Label,
        /// Calls that ended.
        calls: u64 as Amount,
        /// Bytes that were moved.
        bytes: u64 as Amount,
        /// What the calls took, added up over threads.
        busy_ns: u64 as Amount,
        /// What the slowest of the calls that ended took.
        slowest_ns: u64 as Greatest,
    }

    /// The processes of a job on a node.
    pub struct Job = job {
        /// The node.
        node: String as Label,
        /// The job.
        job: String as Label,
        /// Its user, by number.
        user: String as Label,
        /// The command of its oldest process.
        command: String as Text,
        /// Its name in the scheduler.
        name: Option<String> as Text,
        /// Processes that run.
        processes: u64 as Level,
        /// Processes that began.
        began: u64 as Amount,
        /// Processes that ended.
        ended: u64 as Amount,
        /// Resident memory.
        resident_bytes: u64 as Level,
        /// Virtual memory.
        virtual_bytes: u64 as Level,
        /// Processor time in programs.
        user_ns: u64 as Amount,
        /// Processor time in the kernel.
        system_ns: u64 as Amount,
        /// Time in which threads waited for block devices.
        io_wait_ns: u64 as Amount,
        /// Processes that go on as programs which are not recorded: static ones, or those of other users.
        unrecorded: u64 as Level,
        /// Calls that the recorder could not count, or only with files of all names.
        uncounted_calls: u64 as Amount,
        /// Time that throttling made threads wait.
        throttled_ns: u64 as Amount,
    }

    /// A call that has been under way for longer than a second.
    pub struct InFlight = in_flight {
        /// The node.
        node: String as Label,
        /// The job.
        job: String as Label,
        /// The class of calls.
        class: String as Label,
        /// The process.
        pid: String as Key,
        /// The thread.
        thread: String as Key,
        /// The file.
        file: String as Text,
        /// How long it has been under way.
        since_ns: u64 as Level,
    }

    /// A rule was broken.
    pub struct Alert = alert {
        /// The node.
        node: String as Label,
        /// The job; empty where several jobs broke the rule together.
        job: String as Label,
        /// The label of the rule.
        label: String as Label,
        /// What the rule does: monitor or throttle.
        action: String as Label,
        /// The user of the processes, by number.
        user: String as Label,
        /// Whose calls the rule adds up: `job`, `node`, `whole job` or `user`.
        scope: String as Text,
        /// The jobs that the rule is for, such as `user 1001, project climate*`; empty: all.
        jobs: String as Text,
        /// The path of the rule.
        path: String as Text,
        /// The classes of calls of the rule, with commas between them.
        classes: String as Text,
        /// The sizes of transfers that count, in bytes, both ends included: `all`, `4096-65536`, or `4096-`.
        sizes: String as Text,
        /// What the rule measures.
        measure: String as Text,
        /// What was measured in the window, in the unit of the measure.
        measured: u64 as Level,
        /// What is allowed, in the same unit.
        allowed: u64 as Level,
        /// The length of the window.
        window_s: u64 as Level,
        /// Calls that had to wait, of a rule that throttles.
        waits: u64 as Amount,
        /// What they waited.
        waited_ns: u64 as Amount,
        /// The process that contributed most.
        pid: String as Text,
        /// Its command.
        command: String as Text,
        /// The file that it used last, or in the slowest call.
        file: String as Text,
        /// Where the file's file system is mounted; empty where that is not known.
        mount_point: String as Text,
        /// The type of that file system.
        file_system: String as Text,
        /// What is mounted: a device, or `server:/path`.
        mount_source: String as Text,
        /// Its rank.
        rank: String as Text,
    }

    /// The state of a rule on a node.
    pub struct RuleState = rule {
        /// The node.
        node: String as Label,
        /// The job; empty where the rule adds up several jobs.
        job: String as Label,
        /// The label of the rule.
        label: String as Label,
        /// The user, by number; empty where the rule adds up all jobs of the node.
        user: String as Label,
        /// Whose calls the rule adds up: `job`, `node`, `whole job` or `user`.
        scope: String as Text,
        /// The jobs that the rule is for, such as `user 1001, project climate*`; empty: all.
        jobs: String as Text,
        /// What the rule measures.
        measure: String as Text,
        /// What was measured in the last second, in the unit of the measure.
        measured: u64 as Level,
        /// What is allowed in a window, in the same unit.
        allowed: u64 as Level,
        /// What this node may do of that; less than what is allowed where nodes share it.
        share: u64 as Level,
        /// Calls that had to wait.
        waits: u64 as Amount,
        /// What they waited.
        waited_ns: u64 as Amount,
        /// Calls that a throttling rule counts but cannot hold: maps, and transfers handed over to the kernel.
        beyond_calls: u64 as Amount,
        /// What the rule does not reach, and why; empty where it reaches everything.
        remark: String as Text,
    }

    /// What a workload did in a phase of a run of ioassay, when the phase ended.
    pub struct Phase = phase {
        /// The node that noted it.
        node: String as Label,
        /// The run.
        run: String as Label,
        /// The case of the run, with its repetition.
        case: String as Label,
        /// The phase.
        phase: String as Label,
        /// The workload.
        workload: String as Label,
        /// What its operations did.
        operation: String as Label,
        /// When the phase began, in nanoseconds since 1970.
        begin_ns: u64 as Moment,
        /// When the phase ended, in nanoseconds since 1970.
        end_ns: u64 as Moment,
        /// Bytes that were moved.
        bytes: u64 as Amount,
        /// Operations that were done.
        operations: u64 as Amount,
    }

    /// What the clients of a file server asked of one of its targets.
    pub struct Target = target {
        /// The server.
        node: String as Label,
        /// The file system that the target is of; empty where the target says it.
        file_system: String as Label,
        /// The target: an OST or MDT of Lustre, `all` or the path of an export of NFS.
        target: String as Label,
        /// What it is of: `Lustre OST`, `Lustre MDT`, `NFS server`, or `NFS export`, which is a part of `NFS server`.
        service: String as Label,
        /// Bytes that were read from it.
        read_bytes: u64 as Amount,
        /// Bytes that were written to it.
        write_bytes: u64 as Amount,
        /// Requests that read.
        reads: u64 as Amount,
        /// Requests that wrote.
        writes: u64 as Amount,
        /// All other requests.
        metadata_operations: u64 as Amount,
        /// What its requests took, added up. Lustre counts it from 2.14 on.
        busy_ns: Option<u64> as Amount,
        /// The time that the amounts are of: more than a second where reading them takes long.
        over_ms: u64 as Level,
        /// Jobs that the target has counters of.
        jobs: Option<u64> as Level,
        /// Clients that the target knows.
        clients: Option<u64> as Level,
    }

    /// What a job asked of a target: those that move most bytes and those with most requests, the rest as `other jobs`.
    pub struct TargetJob = target_job {
        /// The server.
        node: String as Label,
        /// The file system that the target is of.
        file_system: String as Label,
        /// The target.
        target: String as Label,
        /// What it is of.
        service: String as Label,
        /// The job id as the target has it; empty for requests without one.
        job: String as Label,
        /// The scheduler's id in the job id, where the format of job ids says where it is.
        scheduler_job: String as Text,
        /// The user by number, in the same way.
        user: String as Text,
        /// How many jobs it is: more than one for `other jobs`.
        jobs: u64 as Level,
        /// Bytes that were read.
        read_bytes: u64 as Amount,
        /// Bytes that were written.
        write_bytes: u64 as Amount,
        /// Requests that read.
        reads: u64 as Amount,
        /// Requests that wrote.
        writes: u64 as Amount,
        /// All other requests.
        metadata_operations: u64 as Amount,
        /// What its requests took, added up.
        busy_ns: Option<u64> as Amount,
    }

    /// The same for clients: nodes by their Lustre address (NID), and names of clients in exports of NFS.
    pub struct TargetClient = target_client {
        /// The server.
        node: String as Label,
        /// The file system that the target is of.
        file_system: String as Label,
        /// The target.
        target: String as Label,
        /// What it is of.
        service: String as Label,
        /// The client, or `other clients`.
        client: String as Label,
        /// How many clients it is: more than one for `other clients`.
        clients: u64 as Level,
        /// Bytes that were read.
        read_bytes: u64 as Amount,
        /// Bytes that were written.
        write_bytes: u64 as Amount,
        /// Requests that read.
        reads: u64 as Amount,
        /// Requests that wrote.
        writes: u64 as Amount,
        /// All other requests.
        metadata_operations: u64 as Amount,
        /// What its requests took, added up.
        busy_ns: Option<u64> as Amount,
    }

    /// Requests of a job to a target by name, without reads and writes.
    pub struct TargetOperation = target_operation {
        /// The server.
        node: String as Label,
        /// The file system that the target is of.
        file_system: String as Label,
        /// The target.
        target: String as Label,
        /// What it is of.
        service: String as Label,
        /// The job id; empty where they are those of all clients, on targets that do not count by job.
        job: String as Label,
        /// The name of the operation, as the server has it.
        operation: String as Label,
        /// How many there were.
        operations: u64 as Amount,
    }

    /// Sizes of the requests that a target of Lustre took, and of what it asked of its disks (`brw_stats`).
    pub struct TargetSize = target_size {
        /// The server.
        node: String as Label,
        /// The file system that the target is of.
        file_system: String as Label,
        /// The target.
        target: String as Label,
        /// What was of that size: `RPC` or `disk I/O`.
        stage: String as Label,
        /// The size in bytes.
        size: String as Label,
        /// How many read.
        reads: u64 as Amount,
        /// How many wrote.
        writes: u64 as Amount,
    }

    /// The agent itself.
    pub struct Agent = agent {
        /// The node.
        node: String as Label,
        /// Processor time that it took.
        processor_ns: u64 as Amount,
        /// Its resident memory.
        resident_bytes: u64 as Level,
        /// How late its look was.
        late_ns: u64 as Greatest,
        /// Tables that it reads.
        tables: u64 as Level,
        /// Tables that it does not read: damaged, of another version, or more than it may.
        refused_tables: u64 as Level,
        /// Documents that wait in the spools.
        spooled_documents: u64 as Level,
        /// Bytes of the spools.
        spooled_bytes: u64 as Level,
        /// Documents that were given up because a spool was full or a store refused them.
        dropped_documents: u64 as Amount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::document::{Document, FieldKind, Value};

    #[test]
    fn labels_come_first_and_names_are_unique() {
        for kind in KINDS {
            let labels = kind.fields.iter().take_while(|field| field.kind == FieldKind::Label).count();
            assert!(kind.fields[labels..].iter().all(|field| field.kind != FieldKind::Label), "{}", kind.name);
            let mut names: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), kind.fields.len(), "{}", kind.name);
        }
    }

    #[test]
    fn documents_are_distinguished_by_second_addition_and_labels() {
        let io = |class: &str, calls| Io { class: class.to_owned(), calls, ..Io::default() };
        let first = io("read", 1).of(7, 0);
        assert_eq!(first.identity(), io("read", 2).of(7, 0).identity());
        let others = [io("write", 1).of(7, 0), io("read", 1).of(8, 0), io("read", 1).of(7, 1)];
        assert!(others.iter().all(|other| other.identity() != first.identity()));
        assert_eq!((first.value("calls"), first.value("nothing")), (Some(&Value::Number(1)), None));
        assert_eq!(others[2].time_ns(), 7_000_000_001);
    }

    #[test]
    fn additions_to_a_second_have_their_own_timestamps_even_after_a_call_of_hours() {
        let moments: Vec<_> = (0..20_000).map(|part| Io::default().of(7, part).time_ns()).collect();
        assert!(moments.is_sorted_by(|before, after| before < after));
    }

    #[test]
    fn timestamps_have_their_unit_in_their_names_and_their_own_names_in_stores() {
        let fields = || KINDS.iter().flat_map(|kind| kind.fields);
        let moments: Vec<_> = fields().filter(|field| field.kind == FieldKind::Moment).collect();
        assert!(moments.iter().all(|moment| moment.name.ends_with("_ns")));
        let names: Vec<_> = moments.iter().map(|moment| moment.time_name()).collect();
        assert_eq!(names, ["begin_time", "end_time"]);
        assert!(fields().all(|field| !names.contains(&field.name.to_owned())));
    }

    #[test]
    fn documents_of_a_second_that_differ_only_in_a_key_have_their_own_timestamps() {
        let calls: Vec<_> =
            (0..100).map(|pid| InFlight { pid: format!("{pid}"), ..InFlight::default() }.of(7, 0)).collect();
        let mut moments: Vec<_> = calls.iter().map(Document::time_ns).collect();
        moments.sort_unstable();
        moments.dedup();
        assert_eq!(moments.len(), calls.len());
        assert!(moments.iter().all(|moment| moment / 1_000_000_000 == 7));
        assert_eq!(Io::KIND.fields[0].about, "The node.");
    }
}
