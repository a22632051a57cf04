//! GPFS (IBM Storage Scale): what its administrator has set for this node.
//!
//! The daemon's own configuration file, so that no command need be run, which may hang. What was never set is not in it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::text::text;

/// The daemon's configuration file, below the root.
pub const CONFIGURATION: &str = "var/mmfs/gen/mmfs.cfg";

/// The settings that change what a client's I/O does.
const WANTED: [&str; 14] = [
    "ignorePrefetchLUNCount",
    "maxFilesToCache",
    "maxMBpS",
    "maxStatCache",
    "maxblocksize",
    "numaMemoryInterleave",
    "pagepool",
    "prefetchPct",
    "prefetchThreads",
    "seqDiscardThreshold",
    "verbsPorts",
    "verbsRdma",
    "worker1Threads",
    "workerThreads",
];

/// The settings for the node `host`. Lines `name value`; those below `[a,b]` are for the nodes `a` and `b` alone, those
/// below `[common]`, and before any such line, for all.
pub fn parameters(root: &Path, host: &str) -> BTreeMap<String, String> {
    let settings = text(root, CONFIGURATION).unwrap_or_default();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let (mut common, mut for_node) = (BTreeMap::new(), BTreeMap::new());
    let (mut for_all, mut for_us) = (true, false);
    for line in settings.lines().map(str::trim) {
        if let Some(nodes) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            for_all = nodes == "common";
            for_us = nodes.split(',').any(|node| short(node.trim()) == short(host));
        } else if let Some((name, value)) =
            line.split_once(char::is_whitespace).filter(|(name, _)| WANTED.contains(name))
        {
            let section = if for_all { Some(&mut common) } else { for_us.then_some(&mut for_node) };
            section.map(|section| section.insert(name.to_owned(), value.trim().to_owned()));
        }
    }
    common.extend(for_node);
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    #[test]
    fn what_is_set_for_the_node_goes_before_what_is_set_for_all() {
        let file = "#\n# Machine generated\n#\nclusterName hpc.example.com\nmaxMBpS 24000\n[c1n1.example.com,c1n2]\n\
                    pagepool 16G\n[c1n3]\npagepool 64G\n[common]\npagepool 4G\nworkerThreads 512\n";
        let root = tree(&[("var/mmfs/gen/mmfs.cfg", file)]);
        let parameters_of = |host: &str| parameters(root.path(), host).into_iter().collect::<Vec<_>>();
        let wanted = |pagepool: &str| {
            [("maxMBpS", "24000"), ("pagepool", pagepool), ("workerThreads", "512")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        assert_eq!(parameters_of("c1n1"), wanted("16G"));
        assert_eq!(parameters_of("c1n2.example.com"), wanted("16G"));
        assert_eq!(parameters_of("c1n4"), wanted("4G"));
        assert_eq!(parameters(tree(&[]).path(), "c1n1"), BTreeMap::new());
    }
}
