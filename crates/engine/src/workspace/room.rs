//! How much room a target has, and whether a case fits into it.
//!
//! Not here: asking the target, which each kind of workspace does in its way.

use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_units::Bytes;

use crate::failure;

/// Room on a file system.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Bytes that this user may still write; `None` where the storage does not report it.
    pub free_bytes: Option<u64>,
    /// Files that may still be created; `None` where the file system does not count.
    pub free_inodes: Option<u64>,
}

/// The least that stays free: metadata of the file system, and what it allocates ahead, take room as well.
const LEAST_RESERVE: u64 = 16 << 20;

/// The most that stays free.
const MOST_RESERVE: u64 = 16 << 30;

/// What must stay free beside `bytes` that are written: a hundredth of them, within these bounds. Nothing where nothing is
/// written, and no more than a quarter of what is, for tiny cases on tiny file systems.
fn reserve_bytes(bytes: u64) -> u64 {
    (bytes / 100).clamp(LEAST_RESERVE, MOST_RESERVE).min(bytes / 4)
}

const FREE_SPACE: &str = "free space on the target, choose another target, or measure with less data";

impl Room {
    /// An error if `bytes` in `inodes` entries would not fit into `target`, whose room this is.
    pub(super) fn check(self, target: &Path, bytes: u64, inodes: u64) -> Result<(), Failure> {
        let reserve = reserve_bytes(bytes);
        let needed = bytes.saturating_add(reserve);
        if let Some(free) = self.free_bytes.filter(|&free| needed > free) {
            let [free, short, bytes, reserve] = [free, needed - free, bytes, reserve].map(|bytes| Bytes(bytes).about());
            let message = format!(
                "{} has {free} free, but a case needs {bytes} plus a reserve of {reserve}: {short} short",
                target.display()
            );
            return Err(failure::about_path("check space", target, message, FREE_SPACE));
        }
        if let Some(free) = self.free_inodes.filter(|&free| inodes > free) {
            let message = format!("{} has {free} inodes free, but a case needs {inodes}", target.display());
            return Err(failure::about_path("check inodes", target, message, FREE_SPACE));
        }
        Ok(())
    }
}
