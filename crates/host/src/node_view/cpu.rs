//! Processor time of the whole node, and the processes that wait for a processor or for I/O: /proc/stat.
//!
//! Read line by line here: procfs makes a structure for each processor, of which none is wanted.

use super::files::{Files, number};
use super::reading::{Reading, Subject, fields};

fields! {
    /// All processors together.
    pub struct Cpu {
        Counter user_ns: "Processor time of programs at normal priority, guests included",
        Counter nice_ns: "Processor time of programs at reduced priority, guests included",
        Counter system_ns: "Processor time of the kernel",
        Counter idle_ns: "Processor time without work",
        Counter iowait_ns: "Processor time without work while a process waited for I/O",
        Counter interrupt_ns: "Processor time in interrupts and soft interrupts",
        Counter steal_ns: "Processor time that the hypervisor gave to other guests",
        Gauge runnable: "Processes that run or wait for a processor",
        Gauge blocked: "Processes that wait for I/O",
    }
}

/// The processors, with what must be remembered of them.
#[derive(Debug, Default)]
pub struct Processors {
    /// The highest that was seen. The kernel says that these two may fall (proc_stat(5)), which is no new beginning.
    idle_ns: Option<u64>,
    iowait_ns: Option<u64>,
}

impl Processors {
    /// Adds the reading of now.
    pub fn read(&mut self, files: &mut Files, readings: &mut Vec<Reading>) {
        let Some(mut cpu) = files.read("proc/stat").and_then(|stat| parse(&stat, tick_ns())) else { return };
        self.idle_ns = self.idle_ns.max(cpu.idle_ns);
        self.iowait_ns = self.iowait_ns.max(cpu.iowait_ns);
        cpu.idle_ns = cpu.idle_ns.and(self.idle_ns);
        cpu.iowait_ns = cpu.iowait_ns.and(self.iowait_ns);
        readings.push(Reading::new(Subject::Cpu, "", cpu.into_values()));
    }
}

/// The unit of time of /proc/stat.
fn tick_ns() -> u64 {
    // SAFETY: a system parameter is read.
    let per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_s).ok().filter(|&per_s| per_s > 0).unwrap_or(100)
}

fn parse(stat: &str, tick_ns: u64) -> Option<Cpu> {
    let mut times = stat.lines().find_map(|line| line.strip_prefix("cpu "))?.split_ascii_whitespace();
    let mut time = || number(times.next(), tick_ns);
    let [user_ns, nice_ns, system_ns, idle_ns, iowait_ns] = [time(), time(), time(), time(), time()];
    let [interrupts, soft_interrupts, steal_ns] = [time(), time(), time()];
    // At the end, after a line for every processor and one that lists all interrupts.
    let last = |name: &str| {
        let value = stat.lines().rev().find_map(|line| line.strip_prefix(name))?;
        number(Some(value.trim()), 1)
    };
    Some(Cpu {
        user_ns,
        nice_ns,
        system_ns,
        idle_ns,
        iowait_ns,
        interrupt_ns: interrupts.zip(soft_interrupts).and_then(|(hard, soft)| hard.checked_add(soft)),
        steal_ns,
        runnable: last("procs_running "),
        blocked: last("procs_blocked "),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::text::tree;

    const STAT: &str = "cpu  100 20 30 4000 50 6 7 8 9 1\ncpu0 50 10 15 2000 25 3 3 4 4 0\nintr 12345 0 9 0\n\
                        ctxt 99\nprocs_running 3\nprocs_blocked 2\nsoftirq 5 1 1\n";
    const MS: u64 = 1_000_000;

    #[test]
    fn time_is_in_nanoseconds_and_interrupts_of_both_kinds_are_one() {
        let wanted = Cpu {
            user_ns: Some(1000 * MS),
            nice_ns: Some(200 * MS),
            system_ns: Some(300 * MS),
            idle_ns: Some(40_000 * MS),
            iowait_ns: Some(500 * MS),
            interrupt_ns: Some(130 * MS),
            steal_ns: Some(80 * MS),
            runnable: Some(3),
            blocked: Some(2),
        };
        assert_eq!(parse(STAT, 10 * MS), Some(wanted));
    }

    #[test]
    fn what_an_old_kernel_does_not_count_is_left_out() {
        let cpu = parse("cpu  100 20 30 4000\nprocs_running 1\n", 10 * MS).unwrap();
        assert_eq!((cpu.idle_ns, cpu.iowait_ns, cpu.steal_ns, cpu.blocked), (Some(40_000 * MS), None, None, None));
        assert_eq!(parse("intr 5\n", 10 * MS), None);
    }

    #[test]
    fn idle_time_that_the_kernel_takes_back_is_no_new_beginning() {
        let root = tree(&[("proc/stat", "cpu  1 0 0 4000 50 0 0 0\n")]);
        let (mut files, mut processors, mut readings) = (Files::new(root.path()), Processors::default(), Vec::new());
        processors.read(&mut files, &mut readings);
        fs::write(root.path().join("proc/stat"), "cpu  2 0 0 3999 49 0 0 0\n").unwrap();
        processors.read(&mut files, &mut readings);
        let [first, second] = readings.as_slice() else { panic!("{readings:?}") };
        assert!(second.value("user_ns") > first.value("user_ns"));
        for name in ["idle_ns", "iowait_ns"] {
            assert_eq!(second.value(name), first.value(name), "{name}");
        }
    }
}
