//! Where in a job id of Lustre the scheduler's id and the user are.
//!
//! Clients make job ids (lustre/obdclass/jobid.c of 2.17: `jobid_interpret_string`, `lustre_get_jobid`): under `jobid_var` =
//! `nodelocal` after the format `jobid_name`, under `procname_uid` after `%e.%u`; else it names a variable of the
//! environment, `SLURM_JOB_ID`, and `jobid_name` is what processes without it get. Servers have both parameters too, and
//! sites set them for all nodes (`lctl set_param -P`).

use std::fs;
use std::path::Path;

/// How job ids are made.
#[derive(Debug, Default)]
pub struct JobIds {
    /// Formats, the first that an id has counts.
    formats: Vec<Vec<Token>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Literal(char),
    /// `%e`, `%j`, `%u`, …
    Field(char),
}

/// Whose job it is; empty where that is not known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The scheduler's id.
    pub scheduler_job: String,
    /// The user, by number.
    pub user: String,
}

impl JobIds {
    /// Those of one format.
    pub fn of(format: &str) -> Self {
        Self { formats: vec![tokens(format)] }
    }

    /// As the parameters of the node below `root` say.
    pub fn of_node(root: &Path) -> Self {
        let parameter = |name: &str| fs::read_to_string(root.join("sys/fs/lustre").join(name)).unwrap_or_default();
        let (variable, name) = (parameter("jobid_var"), parameter("jobid_name"));
        let name = if name.trim().is_empty() { "%e.%u" } else { name.trim() };
        let formats: &[&str] = match variable.trim() {
            "" => &[],
            "disable" => &[],
            "procname_uid" => &["%e.%u"],
            "nodelocal" => &[name],
            _ => &[name, "%j"],
        };
        Self { formats: formats.iter().map(|format| tokens(format)).collect() }
    }

    /// Whose job has this id.
    pub fn owner(&self, id: &str) -> Owner {
        let mut owner = Owner::default();
        let fields = self.formats.iter().find_map(|format| matched(format, id));
        for (field, value) in fields.unwrap_or_default() {
            match field {
                'j' => value.clone_into(&mut owner.scheduler_job),
                'u' => value.clone_into(&mut owner.user),
                _ => {}
            }
        }
        owner
    }
}

fn tokens(format: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => {
                // `%.8e` is cut after 8 bytes.
                while letters.peek().is_some_and(|next| *next == '.' || next.is_ascii_digit()) {
                    letters.next();
                }
                let Some(field) = letters.next() else { break };
                tokens.push(Token::Field(field));
                // `%j?%H` is the host where there is no job.
                if field == 'j' && letters.peek() == Some(&'?') {
                    letters.nth(2);
                }
            }
            // Clients leave them out.
            space if space.is_whitespace() => {}
            literal => tokens.push(Token::Literal(literal)),
        }
    }
    tokens
}

/// The fields of a text that has the format; the last ones are as long as they can be.
fn matched<'a>(format: &[Token], text: &'a str) -> Option<Vec<(char, &'a str)>> {
    let Some((last, before)) = format.split_last() else { return text.is_empty().then(Vec::new) };
    match last {
        Token::Literal(literal) => matched(before, text.strip_suffix(*literal)?),
        Token::Field(field) => {
            let is_number = matches!(field, 'u' | 'g' | 'p');
            let starts = text.char_indices().map(|(start, _)| start);
            starts
                .map(|start| text.split_at(start))
                .filter(|(_, value)| !is_number || value.bytes().all(|byte| byte.is_ascii_digit()))
                .find_map(|(head, value)| {
                    let mut fields = matched(before, head)?;
                    fields.push((*field, value));
                    Some(fields)
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(format: &str, id: &str) -> (String, String) {
        let Owner { scheduler_job, user } = JobIds::of(format).owner(id);
        (scheduler_job, user)
    }

    #[test]
    fn a_format_says_where_job_and_user_are() {
        for (format, id, job, user) in [
            ("%e.%u", "dd.1000", "", "1000"),
            ("%e.%u", "python3.11.1000", "", "1000"),
            ("%e.%u", "kworker/86:1.0", "", "0"),
            ("%j", "4711", "4711", ""),
            ("%j.%e.%u", "4711.my.sim.1000", "4711", "1000"),
            ("%j:%u:%H", "4711:1000:cn12", "4711", "1000"),
            ("%.8e:%j", "simulati:4711", "4711", ""),
            ("%j?%H", "4711", "4711", ""),
            ("%H.%e.%j", "cn12.sim.4711", "4711", ""),
            ("%e.%u", "no-user", "", ""),
            ("%e.%u", "", "", ""),
            ("%e.%", "x.", "", ""),
        ] {
            assert_eq!(owner(format, id), (job.to_owned(), user.to_owned()), "{format} {id}");
        }
    }

    #[test]
    fn the_parameters_of_the_node_are_the_format() {
        for (variable, name, id, job, user) in [
            ("SLURM_JOB_ID", "%e.%u", "4711", "4711", ""),
            ("SLURM_JOB_ID", "%e.%u", "dd.1000", "", "1000"),
            ("procname_uid", "", "dd.1000", "", "1000"),
            ("nodelocal", "%j", "4711", "4711", ""),
            ("disable", "%j", "4711", "", ""),
        ] {
            let root = tempfile::tempdir().unwrap();
            let parameters = root.path().join("sys/fs/lustre");
            std::fs::create_dir_all(&parameters).unwrap();
            std::fs::write(parameters.join("jobid_var"), format!("{variable}\n")).unwrap();
            std::fs::write(parameters.join("jobid_name"), format!("{name}\n")).unwrap();
            let owner = JobIds::of_node(root.path()).owner(id);
            assert_eq!((owner.scheduler_job.as_str(), owner.user.as_str()), (job, user), "{variable} {id}");
        }
        assert_eq!(JobIds::of_node(Path::new("/nowhere")).owner("4711"), Owner::default());
    }
}
