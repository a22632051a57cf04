//! The URLs of NFS exports: `nfs://HOST/EXPORT/PATH?uid=…`.
//!
//! Not here: what all URLs have in common ([`crate::storage::location`]), requests.

use crate::storage::Unfit;
use crate::storage::location::{Grammar, unfit};

/// The one protocol: NFS version 3 over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version3;

/// Where an exported directory is.
pub type Location = crate::storage::location::Location<Version3>;

/// The scheme of its URLs.
pub const SCHEME: &str = "nfs";

/// Keys that the query may have; libnfs calls them the same.
const OPTIONS: &[&str] = &["uid", "gid", "nfsport", "mountport"];

impl Location {
    /// Takes `url` apart.
    pub fn parse(url: &str) -> Result<Self, Unfit> {
        if !is_nfs(url) {
            return unfit("this is not the URL of an NFS export", "write for example nfs://host/export/directory");
        }
        let credentials = "NFS version 3 has no passwords and identifies users by number: uid=… and gid=…".to_owned();
        Self::taken_apart(url, Version3, &Grammar { options: OPTIONS, value, authority, credentials })
    }

    /// The path that the server knows the directory by.
    pub fn export(&self) -> String {
        format!("/{}", self.prefix())
    }
}

/// True if `url` is one of NFS, whatever else may be wrong with it.
pub fn is_nfs(url: &str) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| scheme == SCHEME)
}

fn authority(authority: &str) -> Result<(), &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !authority.is_empty() && authority.chars().all(plain) {
        return Ok(());
    }
    Err("write a host name or an IPv4 address; ports belong in the query: nfsport=… and mountport=…")
}

fn value(key: &str, value: &str) -> Result<(), &'static str> {
    let digits = !value.is_empty() && value.chars().all(|c| c.is_ascii_digit());
    let (largest, valid) = match key {
        "uid" | "gid" => (i32::MAX as u32, "write a number from 0 to 2147483647"),
        _ => (u16::MAX.into(), "write a port from 1 to 65535"),
    };
    let port_or_id = value.parse().is_ok_and(|number: u32| number <= largest && (number > 0 || key.ends_with("id")));
    if digits && port_or_id { Ok(()) } else { Err(valid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_its_workspace_leads_back_to_it() {
        let url = "nfs://filer-1.site/vol/a?uid=1000&gid=0&nfsport=2049&mountport=20048";
        let location = Location::parse(url).unwrap();
        assert_eq!((location.authority(), location.export().as_str()), ("filer-1.site", "/vol/a"));
        assert_eq!(location.option("uid"), Some("1000"));
        let workspace = Location::parse(&location.url_of(&location.base().join("ioassay-r1"))).unwrap();
        let (above, name) = workspace.split_last().unwrap();
        assert_eq!((above.url_of(&above.base()).as_str(), name.as_str()), (url, "ioassay-r1"));
        assert_eq!(Location::parse("nfs://10.0.0.5/").unwrap().export(), "/");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_would_be_valid() {
        for url in [
            "nfs:///export",
            "nfs://me@host/export",
            "nfs://me:hunter2@host/export",
            "nfs://host:2049/export",
            "nfs://host/a//b",
            "nfs://host/a/../b",
            "nfs://host/export?version=4",
            "nfs://host/export?readahead=1048576",
            "nfs://host/export?password=hunter2",
            "nfs://host/export?uid=root",
            "nfs://host/export?uid=-1",
            "nfs://host/export?nfsport=0",
            "nfs://host/export?nfsport=65536",
            "nfs://host/export?gid=1&gid=2",
            "s3://bucket/x",
        ] {
            let unfit = Location::parse(url).err().unwrap_or_else(|| panic!("{url} was taken"));
            assert!(!unfit.valid.is_empty());
            assert!(!format!("{unfit:?}").contains("hunter2"), "{unfit:?}");
        }
    }
}
