//! Secrets of stores, from a file that only its owner can read. They leave this module as headers of requests, and are taken
//! out of whatever a store says.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use reqwest::header::HeaderValue;

use super::SinkError;

/// The longest file of credentials, in bytes.
const MOST_BYTES: u64 = 64 << 10;
const FORM: &str = "write a line `token TOKEN`, or `user NAME` and `password PASSWORD`, or `api-key KEY`";

/// What authenticates this agent to a store. It cannot be printed.
pub struct Credentials {
    path: PathBuf,
    /// The word before a token, which stores do not agree about.
    token_scheme: &'static str,
    header: HeaderValue,
    /// What must not be said, in every form in which a store could repeat it.
    secrets: Vec<String>,
}

impl Credentials {
    /// Those of a file.
    pub fn read(path: &Path, token_scheme: &'static str) -> Result<Self, SinkError> {
        let text = private_file(path, "credentials", FORM)?;
        let fault = |what: &str| SinkError(format!("credentials {}: {what}; {FORM}", path.display()));
        let (mut token, mut user, mut password, mut key) = (None, None, None, None);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let place = match word {
                "token" => &mut token,
                "user" => &mut user,
                "password" => &mut password,
                "api-key" => &mut key,
                // It may be the secret itself.
                _ => return Err(fault(&format!("line {} begins with no word that is known", number + 1))),
            };
            *place = Some(value.trim().to_owned());
        }
        let (value, secrets) = match (token, user, password, key) {
            (Some(token), None, None, None) => (format!("{token_scheme} {token}"), vec![token]),
            (None, None, None, Some(key)) => (format!("ApiKey {key}"), vec![key]),
            (None, Some(user), Some(password), None) => {
                let coded = base64(format!("{user}:{password}").as_bytes());
                (format!("Basic {coded}"), vec![password, coded])
            }
            _ => return Err(fault("they are not complete, or of several kinds")),
        };
        if secrets.iter().any(String::is_empty) {
            return Err(fault("a secret is empty"));
        }
        let mut header =
            HeaderValue::from_str(&value).map_err(|_| fault("a secret has characters that HTTP cannot send"))?;
        header.set_sensitive(true);
        Ok(Self { path: path.to_owned(), token_scheme, header, secrets })
    }

    /// Reads the file again: secrets change while an agent runs.
    pub fn refresh(&mut self) {
        if let Ok(new) = Self::read(&self.path, self.token_scheme) {
            *self = new;
        }
    }

    /// The value of the header `Authorization`.
    pub fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `text` without secrets.
    pub fn scrub(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "(secret)"))
    }
}

/// The text of a file that nobody but its owner can read, who is the agent's user or root.
///
/// `what` says what it is, `hint` what should be in it.
pub fn private_file(path: &Path, what: &str, hint: &str) -> Result<String, SinkError> {
    let shown = path.display();
    let failed = |error: io::Error| SinkError(format!("{what} {shown} cannot be read: {error}; check the path"));
    let mut how = File::options();
    let file = how.read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let user = geteuid().as_raw();
    let fault = if !about.is_file() {
        "is no regular file".to_owned()
    } else if about.uid() != user && about.uid() != 0 {
        format!("belongs to user {}, who could change it; run: chown {user} {shown}", about.uid())
    } else if about.mode() & 0o077 != 0 {
        format!("can be read by others (mode {:04o}); run: chmod 600 {shown}", about.mode() & 0o7777)
    } else if about.size() > MOST_BYTES {
        format!("is too long; {hint}")
    } else {
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text).map_err(failed)?;
        return Ok(text);
    };
    Err(SinkError(format!("{what} {shown}: the file {fault}")))
}

/// Base64 with padding, of which nothing else here has a use.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().enumerate().fold(0_u32, |word, (place, byte)| word | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place)) as usize & 63];
            coded.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    coded
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::tempdir;

    use super::*;

    fn written(text: &str, mode: u32) -> Result<Credentials, SinkError> {
        let directory = tempdir().unwrap();
        let path = directory.path().join("credentials");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Credentials::read(&path, "Bearer")
    }

    #[test]
    fn each_kind_of_credentials_becomes_its_header() {
        for (text, header) in [
            ("# of the site\n\n token  abc \n", "Bearer abc"),
            ("user Aladdin\npassword open sesame\n", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("api-key abc==", "ApiKey abc=="),
        ] {
            let credentials = written(text, 0o600).unwrap();
            assert_eq!(credentials.header().to_str().unwrap(), header);
            assert!(credentials.header().is_sensitive());
        }
        for (bytes, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), coded);
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_what_to_do() {
        for mode in [0o640, 0o604, 0o660] {
            let error = written("token hunter2", mode).err().unwrap().to_string();
            assert!(error.contains("chmod 600") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn no_fault_of_the_file_repeats_what_is_in_it() {
        for text in [
            "hunter2",
            "token",
            "token hunter2\nuser hunter2",
            "user hunter2",
            "password hunter2",
            "token hunter2\u{1}",
        ] {
            let error = written(text, 0o600).err().unwrap().to_string();
            assert!(error.contains("api-key KEY") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_a_store_repeats_of_a_secret_is_taken_out() {
        let credentials = written("user u\npassword hunter2", 0o600).unwrap();
        let answer = format!("hunter2 is wrong in {}", credentials.header().to_str().unwrap());
        assert_eq!(credentials.scrub(&answer), "(secret) is wrong in Basic (secret)");
    }
}
