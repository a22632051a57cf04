//! A target's URL, taken apart: `SCHEME://AUTHORITY/PREFIX?OPTION=VALUE&…`.
//!
//! Only options that are known are let through, so that a secret cannot be among them: plans and events are kept and
//! shown. What a scheme knows is its protocol's [`Grammar`]. Not here: requests.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use url::form_urlencoded;

use super::Unfit;

/// What the URLs of a protocol may say.
pub struct Grammar {
    /// Keys that the query may have.
    pub options: &'static [&'static str],
    /// What would be valid, where the value of a key cannot be meant.
    pub value: fn(key: &str, value: &str) -> Result<(), &'static str>,
    /// What would be valid, where what stands before the path cannot be meant.
    pub authority: fn(authority: &str) -> Result<(), &'static str>,
    /// Where users and passwords come from.
    pub credentials: String,
}

/// Where a target is, and the protocol `P` that is spoken there.
#[derive(Debug, Clone)]
pub struct Location<P> {
    protocol: P,
    scheme: String,
    authority: String,
    /// Without a slash at either end; may be empty.
    prefix: String,
    options: BTreeMap<String, String>,
    query: String,
}

impl<P: Copy> Location<P> {
    /// Takes `url` apart. Errors do not repeat what may be secret in it.
    pub fn taken_apart(url: &str, protocol: P, grammar: &Grammar) -> Result<Self, Unfit> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        if authority.contains('@') {
            let problem = format!("the URL has a user or password before {:?}", host(authority));
            return unfit(&problem, &format!("leave it out, {}", grammar.credentials));
        }
        if let Err(valid) = (grammar.authority)(authority) {
            return unfit(&format!("{authority:?} is not valid between :// and the path"), valid);
        }
        let prefix = path.trim_end_matches('/');
        let strange = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '%' | '#' | '\\');
        if prefix.contains(strange)
            || (!prefix.is_empty() && prefix.split('/').any(|part| matches!(part, "" | "." | "..")))
        {
            let valid = "use names without spaces, %, # and \\, and none that is empty, '.' or '..'";
            return unfit(&format!("{prefix:?} is not a valid path"), valid);
        }
        let options = options(grammar, query)?;
        let [scheme, authority, prefix, query] = [scheme, authority, prefix, query].map(str::to_owned);
        Ok(Self { protocol, scheme, authority, prefix, options, query })
    }

    /// The protocol.
    pub fn protocol(&self) -> P {
        self.protocol
    }

    /// The scheme.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What stands between scheme and path: a bucket, a container, a host with its port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// An option of the query.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The same with another value of an option; its URL stays as it was.
    pub fn with_option(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.options.insert(name.to_owned(), value.to_owned());
        other
    }

    /// All options of the query.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The URL without its query: what paths below it begin with.
    pub fn base(&self) -> PathBuf {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        PathBuf::from(format!("{}://{}{slash}{}", self.scheme, self.authority, self.prefix))
    }

    /// `path`, which is below the base, as a URL that can be taken apart again.
    pub fn url_of(&self, path: &Path) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", path.display(), self.query)
    }

    /// Key of the object at `path`.
    pub fn key(&self, path: &Path) -> io::Result<String> {
        let base = format!("{}://{}/", self.scheme, self.authority);
        let key = path.to_str().and_then(|path| path.strip_prefix(&base));
        key.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{} is not below {base}", path.display())))
    }

    /// Key of what is called `name` below the prefix.
    pub fn below(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// Key of the prefix itself.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The location one level up, and the last name of the prefix.
    pub fn split_last(&self) -> Option<(Self, String)> {
        let (above, name) = self.prefix.rsplit_once('/').unwrap_or(("", &self.prefix));
        let (above, name) = (above.to_owned(), name.to_owned());
        (!name.is_empty()).then(|| (Self { prefix: above, ..self.clone() }, name))
    }
}

/// Without what may be secret before it.
pub fn host(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn options(grammar: &Grammar, query: &str) -> Result<BTreeMap<String, String>, Unfit> {
    let mut options = BTreeMap::new();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        if !grammar.options.contains(&key.as_ref()) {
            let known = if grammar.options.is_empty() { "none".to_owned() } else { grammar.options.join(", ") };
            return unfit(
                &format!("{key:?} is not an option of this target"),
                &format!("valid options: {known}; {}", grammar.credentials),
            );
        }
        if let Err(valid) = (grammar.value)(&key, &value) {
            return unfit(&format!("the value of {key:?} is invalid"), valid);
        }
        if options.insert(key.to_string(), value.into_owned()).is_some() {
            return unfit(&format!("{key:?} appears twice in the URL"), "remove one of them");
        }
    }
    Ok(options)
}

/// A target that cannot be used.
pub fn unfit<T>(problem: &str, valid: &str) -> Result<T, Unfit> {
    Err(Unfit { problem: problem.to_owned(), valid: valid.to_owned() })
}
