//! Lustre: the parameters that `lctl get_param` shows, from where the kernel module keeps them.
//!
//! Which of its three places has a parameter depends on the version (and debugfs is for root only).

use std::collections::BTreeMap;
use std::path::Path;

use crate::text::{chosen, entries, text};

/// Below the root.
pub const PLACES: [&str; 3] = ["sys/fs/lustre", "sys/kernel/debug/lustre", "proc/fs/lustre"];

/// Of the mount (`llite`), of each OST (`osc`) and of each MDT (`mdc`).
pub const PARAMETERS: [(&str, &[&str]); 3] = [
    (
        "llite",
        &[
            "checksums",
            "checksum_pages",
            "fast_read",
            "max_cached_mb",
            "max_read_ahead_mb",
            "max_read_ahead_per_file_mb",
            "max_read_ahead_whole_mb",
            "statahead_max",
            "xattr_cache",
        ],
    ),
    (
        "osc",
        &["checksums", "checksum_type", "max_dirty_mb", "max_pages_per_rpc", "max_rpcs_in_flight", "short_io_bytes"],
    ),
    ("mdc", &["max_mod_rpcs_in_flight", "max_rpcs_in_flight"]),
];

/// The parameters for the file system that `source` names: `10.0.0.1@tcp:/scratch`, below which a directory may follow.
pub fn parameters(root: &Path, source: &str) -> BTreeMap<String, String> {
    let name = source.split_once(":/").map_or("", |(_, path)| path.split('/').next().unwrap_or_default());
    let version = PLACES.iter().find_map(|place| text(root, &format!("{place}/version")));
    let mut values_by_name: BTreeMap<String, String> =
        version.map(|version| ("version".to_owned(), version_of(&version))).into_iter().collect();
    for (kind, parameters) in PARAMETERS {
        for parameter in parameters {
            if let Some(values) = values(root, kind, name, parameter) {
                values_by_name.insert(format!("{kind}.{parameter}"), values);
            }
        }
    }
    values_by_name
}

/// Older versions tell more than the version, a line each.
fn version_of(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("lustre:")).or(text.lines().next());
    line.unwrap_or_default().trim().to_owned()
}

/// The values of a parameter: one where all instances of the file system have the same, else each with how many have it.
fn values(root: &Path, kind: &str, name: &str, parameter: &str) -> Option<String> {
    let mut counted: BTreeMap<String, u32> = BTreeMap::new();
    for place in PLACES {
        // `scratch-ffff8d5a`, `scratch-OST0000-osc-ffff8d5a`
        let is_of_mount =
            |instance: &str| instance.strip_prefix(name).is_some_and(|rest| name.is_empty() || rest.starts_with('-'));
        for (_, path) in entries(root, &format!("{place}/{kind}")).iter().filter(|(instance, _)| is_of_mount(instance))
        {
            if let Some(value) = text(path, parameter).and_then(|text| value(&text, parameter)) {
                *counted.entry(value).or_default() += 1;
            }
        }
        if !counted.is_empty() {
            break;
        }
    }
    let several = counted.len() > 1;
    let values = counted.into_iter().map(|(value, count)| if several { format!("{value} ({count})") } else { value });
    Some(values.collect::<Vec<_>>().join(" / ")).filter(|values| !values.is_empty())
}

/// `max_cached_mb` stands among the state of the cache, in lines `name: value`.
fn value(text: &str, parameter: &str) -> Option<String> {
    if !text.contains('\n') {
        return Some(chosen(text).to_owned());
    }
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| *name == parameter).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    fn sorted_parameters(root: &Path, source: &str) -> Vec<(String, String)> {
        parameters(root, source).into_iter().collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_client_of_today_keeps_its_parameters_in_sysfs_and_debugfs() {
        let cache = "users: 5\nmax_cached_mb: 96372\nused_mb: 12\nunused_mb: 96360\nreclaim_count: 0\n";
        let root = tree(&[
            ("sys/fs/lustre/version", "2.15.3\n"),
            ("sys/fs/lustre/llite/scratch-ffff8d5a/max_read_ahead_mb", "1024\n"),
            ("sys/fs/lustre/llite/scratch-ffff8d5a/checksums", "0\n"),
            ("sys/kernel/debug/lustre/llite/scratch-ffff8d5a/max_cached_mb", cache),
            ("sys/fs/lustre/osc/scratch-OST0000-osc-ffff8d5a/max_rpcs_in_flight", "64\n"),
            ("sys/fs/lustre/osc/scratch-OST0001-osc-ffff8d5a/max_rpcs_in_flight", "64\n"),
            ("sys/fs/lustre/osc/scratch-OST000a-osc-ffff8d5a/max_rpcs_in_flight", "8\n"),
            ("sys/fs/lustre/osc/scratch-OST0000-osc-ffff8d5a/checksum_type", "crc32 adler [crc32c] t10ip512\n"),
            ("sys/fs/lustre/mdc/scratch-MDT0000-mdc-ffff8d5a/max_mod_rpcs_in_flight", "7\n"),
            // Another file system, whose name begins alike.
            ("sys/fs/lustre/llite/scratch2-ffff8d5b/max_read_ahead_mb", "64\n"),
        ]);
        let wanted = pairs(&[
            ("llite.checksums", "0"),
            ("llite.max_cached_mb", "96372"),
            ("llite.max_read_ahead_mb", "1024"),
            ("mdc.max_mod_rpcs_in_flight", "7"),
            ("osc.checksum_type", "crc32c"),
            ("osc.max_rpcs_in_flight", "64 (2) / 8 (1)"),
            ("version", "2.15.3"),
        ]);
        assert_eq!(sorted_parameters(root.path(), "10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch/project"), wanted);
    }

    #[test]
    fn an_older_client_keeps_them_in_proc() {
        let root = tree(&[
            ("proc/fs/lustre/version", "lustre: 2.7.0\nkernel: patchless_client\nbuild: 2.7.0\n"),
            ("proc/fs/lustre/llite/scratch-ffff8d5a/checksum_pages", "1\n"),
            ("proc/fs/lustre/osc/scratch-OST0000-osc-ffff8d5a/max_dirty_mb", "32\n"),
        ]);
        let wanted = pairs(&[("llite.checksum_pages", "1"), ("osc.max_dirty_mb", "32"), ("version", "2.7.0")]);
        assert_eq!(sorted_parameters(root.path(), "mgs@tcp:/scratch"), wanted);
        assert_eq!(sorted_parameters(tree(&[]).path(), "mgs@tcp:/scratch"), []);
    }
}
