//! Who a process says it is, in its table. Only its user is known for sure: it is the owner of the file.

use ioassay_record::table::{Header, Text, TextKind};

/// More of a text is cut off.
const LONGEST: usize = 1024;

/// Variables that have the number of a job in its scheduler.
pub const JOB_NUMBERS: [&str; 3] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"];

/// What a table says of its process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Its number in its own namespace.
    pub process: u32,
    /// That of its parent.
    pub parent: u32,
    /// When its table began, in ticks: with the number, which process it is.
    pub begin_ticks: u64,
    /// When its table began, in nanoseconds since 1970.
    pub begin_ns: u64,
    /// Its arguments, with spaces between them.
    pub command: String,
    /// The file that it executes.
    pub executable: String,
    /// Variables of the scheduler and of MPI.
    pub job: Vec<(String, String)>,
}

impl Identity {
    /// What the header says.
    pub fn of(header: &Header) -> Self {
        Self {
            process: header.process,
            parent: header.parent,
            begin_ticks: header.begin_ticks,
            begin_ns: header.begin_ns,
            ..Self::default()
        }
    }

    /// Whether it says nothing but its number: a child of `vfork` that is about to be replaced, or could not be, has no table of its own.
    pub fn is_announced(&self) -> bool {
        self.command.is_empty() && self.executable.is_empty() && self.job.is_empty()
    }

    /// Adds what a text of the table says.
    pub fn add(&mut self, text: &Text, follows: &[u8]) {
        let bytes = &follows[..follows.len().min(text.text_bytes as usize).min(LONGEST * 4)];
        if text.kind == TextKind::Command as u32 {
            self.command = clean(bytes.split(|&byte| byte == 0).collect::<Vec<_>>().join(&b' ').trim_ascii());
        } else if text.kind == TextKind::Executable as u32 {
            self.executable = clean(bytes);
        } else if text.kind == TextKind::Job as u32 {
            let pairs = bytes.split(|&byte| byte == 0).filter_map(|pair| {
                let equals = pair.iter().position(|&byte| byte == b'=')?;
                Some((clean(&pair[..equals]), clean(&pair[equals + 1..])))
            });
            self.job = pairs.take(32).collect();
        }
    }

    /// The job that it belongs to, in its scheduler's words.
    pub fn job_number(&self) -> Option<&str> {
        JOB_NUMBERS.into_iter().find_map(|name| self.variable(name))
    }

    /// The name of that job.
    pub fn job_name(&self) -> Option<&str> {
        self.variable("SLURM_JOB_NAME")
    }

    /// Its rank; empty where it has none.
    pub fn rank(&self) -> &str {
        ["PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "FLUX_TASK_RANK"]
            .into_iter()
            .find_map(|name| self.variable(name))
            .unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.job.iter().find_map(|(key, value)| (key == name && !value.is_empty()).then_some(value.as_str()))
    }
}

/// A text as it may go on to stores and terminals: valid, of bounded length, without control characters.
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::layout::zeroed;

    fn identity(texts: &[(TextKind, &[u8])]) -> Identity {
        let mut identity = Identity::default();
        for (kind, bytes) in texts {
            identity.add(&Text { kind: *kind as u32, text_bytes: bytes.len() as u32, ..zeroed() }, bytes);
        }
        identity
    }

    #[test]
    fn a_process_has_command_job_and_rank() {
        let job = b"SLURM_JOB_ID=4711\0SLURM_JOB_NAME=weather\0PMI_RANK=3\0SLURM_PROCID=9\0";
        let process = identity(&[(TextKind::Command, b"model\0-n\0 8\0"), (TextKind::Job, job)]);
        assert_eq!(process.command, "model -n  8");
        assert_eq!((process.job_number(), process.job_name(), process.rank()), (Some("4711"), Some("weather"), "3"));
        assert_eq!((identity(&[]).job_number(), identity(&[]).rank()), (None, ""));
    }

    #[test]
    fn a_text_that_claims_to_be_longer_than_it_is_is_cut_and_control_characters_are_replaced() {
        let mut identity = Identity::default();
        identity
            .add(&Text { kind: TextKind::Executable as u32, text_bytes: u32::MAX, ..zeroed() }, b"/bin/a\x1b[2J\xff");
        assert_eq!(identity.executable, "/bin/a\u{fffd}[2J\u{fffd}");
        assert_eq!(clean(&vec![b'x'; 100_000]).len(), LONGEST);
    }
}
