//! The names that tell nodes, and boots of a node, apart.

/// What this node is called; empty if the system would not say.
pub fn host_name() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Identifies the running kernel.
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}
