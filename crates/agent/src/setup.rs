//! The setup's file, checked.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ioassay_protocol::VERSION;
use ioassay_protocol::watch::setup::{Setup, Tables};

/// A larger file is none.
const MOST_BYTES: u64 = 1 << 20;

/// What an agent is asked, out of a file.
///
/// # Errors
/// In words: if it cannot be read, or makes no sense.
pub fn read(path: &Path, with_registrations: bool) -> Result<Setup, String> {
    let about = |error: &dyn std::fmt::Display| format!("the setup {}: {error}", path.display());
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| about(&error))?;
    file.take(MOST_BYTES).read_to_end(&mut text).map_err(|error| about(&error))?;
    let setup: Setup = serde_json::from_slice(&text).map_err(|error| about(&error))?;
    if setup.version != VERSION {
        let remedy = "write it again with `ioassay watch prepare`";
        return Err(about(&format!("version {} instead of {VERSION}: {remedy}", setup.version)));
    }
    match setup.tables {
        Tables::Registered if !with_registrations => Err(about(&"`registered` tables need --registrations")),
        Tables::None if with_registrations => {
            Err(about(&"nobody's tables are read, so --registrations has no meaning"))
        }
        _ => Ok(setup),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_that_makes_no_sense_is_refused_by_the_name_of_its_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("agent.json");
        let text = |version: u32, tables: &str| {
            format!(
                r#"{{"version":{version},"tables":"{tables}","node":true,"contract":null,"run":null,"sinks":[],"spool":null}}"#
            )
        };
        for (text, with_registrations, wrong) in [
            ("{".to_owned(), false, "EOF"),
            (text(VERSION + 1, "node"), false, "version"),
            (text(VERSION, "registered"), false, "--registrations"),
            (text(VERSION, "none"), true, "--registrations"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path, with_registrations).unwrap_err();
            assert!(error.contains(wrong) && error.contains("agent.json"), "{error}");
        }
        std::fs::write(&path, text(VERSION, "node")).unwrap();
        assert!(read(&path, false).unwrap().node && read(&path, true).unwrap().node);
    }
}
