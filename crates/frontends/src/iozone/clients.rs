//! IOzone's file of clients (`-+m`): a line for each child with its host, its directory, the path of IOzone there and,
//! where it says so, the child's file.

use std::path::{Path, PathBuf};

use ioassay_engine::failure;
use ioassay_protocol::events::Failure;

use crate::common::usage;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The host.
    pub host: String,
    /// The directory in which the child works.
    pub directory: PathBuf,
    /// The child's file, where the line names one.
    pub file: Option<PathBuf>,
}

/// Reads and checks the file at `path`: `here` is what this host is called.
///
/// # Errors
/// If it cannot be read, or if a line is not what it should be, or not for this host.
pub fn read(path: &Path, here: &str) -> Result<Vec<Client>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| failure::on_path("read clients of -+m", path, &error))?;
    parse(&text, path, here)
}

fn parse(text: &str, path: &Path, here: &str) -> Result<Vec<Client>, Failure> {
    let mut clients = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let refuse = |problem: String, remedy: &str| {
            Err(usage(format!("{}, line {number} (-+m): {problem}", path.display()), remedy))
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (host, directory, file) = match words[..] {
            [host, directory, _] => (host, directory, None),
            [host, directory, _, file] => (host, directory, Some(PathBuf::from(file))),
            _ => {
                let remedy =
                    "write `host directory path-to-iozone`, followed by the child's file if it has another name";
                return refuse(format!("the line has {} words", words.len()), remedy);
            }
        };
        if !is_here(host, here) {
            let remedy = "start the ranks by MPI (mpirun, srun) without -+m, or start it on each host separately, \
                          with a client file that lists only that host";
            return refuse(format!("the host {host} is not this host ({here})"), remedy);
        }
        let directory = PathBuf::from(directory);
        if !directory.is_absolute() || !directory.is_dir() {
            let problem = format!("{} is not a directory", directory.display());
            return refuse(problem, "use the absolute path of an existing directory");
        }
        if clients.first().is_some_and(|first: &Client| first.file.is_some() != file.is_some()) {
            return refuse(
                "some lines have a file name and some do not".to_owned(),
                "write a file name in every line, or in none",
            );
        }
        clients.push(Client { host: host.to_owned(), directory, file });
    }
    if clients.is_empty() {
        let remedy = "write a line `host directory path-to-iozone` for each child";
        return Err(usage(format!("{} (-+m) lists no clients", path.display()), remedy));
    }
    Ok(clients)
}

/// True if `host` is this host, which is called `here`, with or without its domain.
fn is_here(host: &str, here: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let dotted = host.contains('.') && here.contains('.');
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let same = if dotted { host.eq_ignore_ascii_case(here) } else { short(host) == short(here) };
    loopback || host.eq_ignore_ascii_case("localhost") || (same && host.parse::<std::net::IpAddr>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Client>, Failure> {
        super::parse(text, Path::new("threadlist"), "node7.cluster")
    }

    #[test]
    fn this_host_has_many_names_and_others_are_refused_with_what_works_now() {
        let text =
            "# a comment\nlocalhost /tmp iozone\n\nnode7 /tmp iozone\n127.0.0.2 / iozone\n::1 / x\nNODE7.cluster / x\n";
        assert_eq!(parse(text).unwrap().len(), 5);
        for other in ["node8", "node7.other", "10.0.0.1", "node"] {
            let failure = parse(&format!("localhost /tmp iozone\n{other} /tmp iozone\n")).unwrap_err();
            assert!(failure.message.contains("line 2") && failure.message.contains(other), "{failure:?}");
            assert!(failure.remedy.contains("MPI"), "{failure:?}");
        }
    }

    #[test]
    fn lines_that_are_not_clients_are_refused_by_their_number() {
        for (text, named) in [
            ("", "no clients"),
            ("# only this\n", "no clients"),
            ("localhost /tmp\n", "line 1"),
            ("localhost /tmp a b c\n", "line 1"),
            ("localhost /tmp a\nlocalhost /tmp a b\n", "line 2"),
            ("localhost tmp a\n", "line 1"),
            ("localhost /no/such/directory a\n", "/no/such/directory"),
        ] {
            let failure = parse(text).unwrap_err();
            assert!(failure.message.contains(named), "{text:?}: {failure:?}");
        }
    }

    #[test]
    fn a_fourth_word_is_the_child_s_file() {
        let clients = parse("localhost /tmp iozone f0\nlocalhost /tmp iozone /tmp/f1\n").unwrap();
        assert_eq!(clients[1].file, Some("/tmp/f1".into()));
    }
}
