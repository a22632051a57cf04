//! NFS: what the client agreed on with the server for a mount, and how many calls it lets be under way.

use std::collections::BTreeMap;
use std::path::Path;

use crate::text::text;

/// By name, and the file that has it.
pub const TABLES: [(&str, &str); 6] = [
    ("sunrpc.tcp_slot_table_entries", "proc/sys/sunrpc/tcp_slot_table_entries"),
    ("sunrpc.tcp_max_slot_table_entries", "proc/sys/sunrpc/tcp_max_slot_table_entries"),
    ("sunrpc.udp_slot_table_entries", "proc/sys/sunrpc/udp_slot_table_entries"),
    ("sunrpc.rdma_slot_table_entries", "proc/sys/sunrpc/rdma_slot_table_entries"),
    ("sunrpc.pool_mode", "sys/module/sunrpc/parameters/pool_mode"),
    ("nfs.max_session_slots", "sys/module/nfs/parameters/max_session_slots"),
];

/// The parameters of the mount at `mount_point`.
pub fn parameters(root: &Path, mount_point: &str) -> BTreeMap<String, String> {
    let tables = TABLES.iter().filter_map(|(name, file)| Some(((*name).to_owned(), text(root, file)?)));
    let stats = text(root, "proc/self/mountstats").unwrap_or_default();
    tables.chain(of_mount(&stats, mount_point)).collect()
}

/// Of the statistics of all mounts, what does not change in this one: `caps:` and `nfsv4:` as they stand there, and the
/// connections that it has (`nconnect` is what was asked for).
fn of_mount(stats: &str, mount_point: &str) -> BTreeMap<String, String> {
    // As the kernel writes names in its lists.
    let escaped =
        mount_point.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012");
    let begins = |line: &&str| line.starts_with("device ");
    let mark = format!(" mounted on {escaped} with fstype nfs");
    let lines = stats.lines().skip_while(|line| !(begins(line) && line.contains(&mark))).skip(1);
    let mut parameters = BTreeMap::new();
    let mut connections = 0;
    for line in lines.take_while(|line| !begins(line)) {
        match line.trim().split_once(':') {
            Some((name @ ("caps" | "nfsv4"), value)) => {
                parameters.insert(name.to_owned(), value.trim().to_owned());
            }
            Some(("xprt", _)) => connections += 1,
            _ => {}
        }
    }
    if connections > 0 {
        parameters.insert("connections".to_owned(), connections.to_string());
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tree;

    const STATS: &str = "\
device proc mounted on /proc with fstype proc
device nfs1:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tcaps:\tcaps=0x1,wtmult=512
\txprt:\ttcp 0 0 1 0 0
device nfs1:/my data mounted on /mnt/my\\040data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.1,rsize=1048576,nconnect=2
\tage:\t7
\tcaps:\tcaps=0x3ffbffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255
\tnfsv4:\tbm0=0xfdffbfff,sessions,pnfs=not configured
\tevents:\t1 2 3
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 0
\txprt:\ttcp 0 0 1 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
device tmpfs mounted on /run with fstype tmpfs
";

    #[test]
    fn a_mount_has_its_own_capabilities_and_connections_and_the_node_its_tables() {
        let root = tree(&[
            ("proc/self/mountstats", STATS),
            ("proc/sys/sunrpc/tcp_max_slot_table_entries", "65536\n"),
            ("sys/module/nfs/parameters/max_session_slots", "64\n"),
        ]);
        let values: Vec<(String, String)> = parameters(root.path(), "/mnt/my data").into_iter().collect();
        let wanted = [
            ("caps", "caps=0x3ffbffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255"),
            ("connections", "2"),
            ("nfs.max_session_slots", "64"),
            ("nfsv4", "bm0=0xfdffbfff,sessions,pnfs=not configured"),
            ("sunrpc.tcp_max_slot_table_entries", "65536"),
        ];
        assert_eq!(values, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(of_mount(STATS, "/mnt"), BTreeMap::new());
    }
}
