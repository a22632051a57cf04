//! IOR's hints to MPI-IO: of its environment, and of a file.
//!
//! Not here: which of them MPI-IO takes.

use std::fs;
use std::path::Path;

use ioassay_engine::failure;
use ioassay_protocol::events::Failure;

use crate::common::usage;

/// What names of hints begin with, for MPI-IO.
const MPI: &str = "IOR_HINT__MPI__";

/// What names of hints begin with, for whatever layer.
const ANY: &str = "IOR_HINT__";

/// The hints in `file`: a line each, empty lines and comments besides.
pub(super) fn in_file(file: &Path) -> Result<Vec<(String, String)>, Failure> {
    let text = fs::read_to_string(file).map_err(|error| failure::on_path("read hints in", file, &error))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let parts = line.strip_prefix(MPI).and_then(|hint| hint.split_once('='));
            let hint = parts.map(|(name, value)| (name.trim(), value.trim()));
            match hint.filter(|(name, value)| !name.is_empty() && !value.is_empty()) {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => {
                    let problem = format!("{}: {line:?} is not an MPI-IO hint", file.display());
                    Err(usage(problem, "write IOR_HINT__MPI__NAME=VALUE, one hint per line"))
                }
            }
        })
        .collect()
}

/// The hints among `environment`; one for another layer than MPI-IO is refused.
pub(super) fn in_environment(
    environment: impl Iterator<Item = (String, String)>,
) -> Result<Vec<(String, String)>, Failure> {
    let hints = environment.filter(|(name, _)| name.starts_with(ANY));
    hints
        .map(|(name, value)| match name.strip_prefix(MPI) {
            Some(hint) if !hint.is_empty() && !value.is_empty() => Ok((hint.to_owned(), value)),
            _ => Err(usage(format!("the environment variable {name} is not an MPI-IO hint"), "unset it")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(text: &str) -> Result<Vec<(String, String)>, Failure> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        in_file(file.path())
    }

    #[test]
    fn hints_are_lines_of_a_file_or_variables_and_what_is_none_is_refused() {
        let expected = [("cb_nodes".to_owned(), "4".to_owned()), ("a".to_owned(), "b=c".to_owned())];
        assert_eq!(file("# ours\n\n IOR_HINT__MPI__cb_nodes = 4 \nIOR_HINT__MPI__a=b=c\n").unwrap(), expected);
        for text in ["cb_nodes=4", "IOR_HINT__MPI__=4", "IOR_HINT__MPI__a=", "IOR_HINT__GPFS__a=1", "IOR_HINT__MPI__a"]
        {
            assert!(file(text).unwrap_err().message.contains("not an MPI-IO hint"), "{text}");
        }
        let variables = |name: &str| in_environment([(name.to_owned(), "4".to_owned())].into_iter());
        assert_eq!(variables("IOR_HINT__MPI__cb_nodes").unwrap(), expected[..1]);
        assert_eq!(variables("HOME").unwrap(), []);
        assert!(variables("IOR_HINT__GPFS__a").is_err());
    }
}
