//! The control groups of this process, and those above them, where the limits of a job are.

use std::path::{Path, PathBuf};

use crate::text::text;

/// Version of a hierarchy of control groups. Their files have other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller, or for some of them.
    One,
    /// One hierarchy.
    Two,
}

/// The directories of the groups with `controller` on the way up from this process, below `root`.
pub fn on_the_way_up(root: &Path, controller: &str) -> Vec<(Version, PathBuf)> {
    let groups = text(root, "proc/self/cgroup").unwrap_or_default();
    let paths = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        // Of version 2 there is one hierarchy, and its line names no controllers.
        let (version, mounted) = match controllers {
            "" => (Version::Two, PathBuf::from("sys/fs/cgroup")),
            _ if controllers.split(',').any(|listed| listed == controller) => {
                (Version::One, Path::new("sys/fs/cgroup").join(controller))
            }
            _ => return None,
        };
        // The names of groups may be those outside of a container; then only the top is seen in it.
        let ways_up = Path::new(group.trim_start_matches('/')).ancestors();
        Some(ways_up.map(move |group| (version, mounted.join(group))).collect::<Vec<_>>())
    });
    paths.flatten().collect()
}
