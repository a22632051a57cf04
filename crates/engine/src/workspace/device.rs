//! A block device as a target: claimed for the run, never written before its name was typed twice.
//!
//! File sets lie on it one behind the other, each file at a multiple of [`ALIGNMENT`]. Nothing is marked and nothing
//! is removed: what was on the device is lost, which is what its owner said.
//! Not here: whether the name was typed twice ([`crate::plan`]).

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::data::FileSet;
use ioassay_units::Bytes;

use super::room::Room;
use crate::failure;
use crate::workload::layout::{Geometry, geometries};

/// Files begin at multiples of this, so that no two share a sector, a page or a RAID chunk.
const ALIGNMENT: u64 = 1 << 20;

/// A claimed device. As long as it lives the device cannot be mounted.
#[derive(Debug)]
pub struct Device {
    path: PathBuf,
    /// Held by the process that claimed it.
    _claim: Option<File>,
    /// Where each file set begins.
    begins: BTreeMap<String, u64>,
}

/// Bytes of a device.
fn size_bytes(path: &Path) -> io::Result<u64> {
    let device = File::open(path)?;
    let mut bytes = 0_u64;
    // SAFETY: BLKGETSIZE64 stores 8 bytes, which `bytes` has.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64, &mut bytes) } {
        0 => Ok(bytes),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `_IOR(0x12, 114, size_t)`, which libc does not name.
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272_u32 as libc::Ioctl;

/// The real path of a block device, and its size. An error if it is something else.
fn look_at(path: &Path) -> Result<(PathBuf, u64), Failure> {
    let unusable = |error: &io::Error| Failure {
        remedy: "use an existing block device that this user can write to".to_owned(),
        ..failure::on_path("open target", path, error)
    };
    let real = path.canonicalize().map_err(|error| unusable(&error))?;
    let about = real.metadata().map_err(|error| unusable(&error))?;
    if !about.file_type().is_block_device() {
        return Err(unusable(&io::Error::from_raw_os_error(libc::ENOTBLK)));
    }
    let bytes = size_bytes(&real).map_err(|error| unusable(&error))?;
    Ok((real, bytes))
}

fn slot_bytes(geometry: &Geometry) -> u64 {
    geometry.file_bytes.next_multiple_of(ALIGNMENT)
}

fn extent_bytes(geometry: &Geometry) -> u64 {
    slot_bytes(geometry).saturating_mul(geometry.files())
}

/// An error if the file sets do not fit on the device.
pub fn check(path: &Path, files: &BTreeMap<String, FileSet>, ranks: u32) -> Result<Room, Failure> {
    let (real, bytes) = look_at(path)?;
    let needed = geometries(files, ranks).fold(0, |sum: u64, (_, set)| sum.saturating_add(extent_bytes(&set)));
    if needed <= bytes {
        return Ok(Room { free_bytes: Some(bytes), free_inodes: None });
    }
    let message =
        format!("{} has {}, but a case needs {}", real.display(), Bytes(bytes).about(), Bytes(needed).about());
    Err(failure::about_path("check space", &real, message, "choose another device, or measure with less data"))
}

impl Device {
    /// Claims the device for a case. Refused while it is mounted, or part of a RAID or a volume.
    pub fn claim(path: &Path, files: &BTreeMap<String, FileSet>, ranks: u32) -> Result<Self, Failure> {
        check(path, files, ranks)?;
        let (real, _) = look_at(path)?;
        // Without O_CREAT, O_EXCL on a block device means: nobody else uses it (open(2)).
        let claim = OpenOptions::new().write(true).custom_flags(libc::O_EXCL).open(&real);
        let claim = claim.map_err(|error| {
            let failure = failure::on_path("claim", &real, &error);
            let remedy = "unmount it, and remove it from any RAID or volume group".to_owned();
            if error.raw_os_error() == Some(libc::EBUSY) { Failure { remedy, ..failure } } else { failure }
        })?;
        Ok(Self { _claim: Some(claim), ..Self::of(path, files, ranks)? })
    }

    /// The device that another process has claimed.
    pub fn of(path: &Path, files: &BTreeMap<String, FileSet>, ranks: u32) -> Result<Self, Failure> {
        let (real, _) = look_at(path)?;
        let mut next = 0;
        let begins = geometries(files, ranks).map(|(name, geometry)| {
            let begin = next;
            next += extent_bytes(&geometry);
            (name.to_owned(), begin)
        });
        Ok(Self { begins: begins.collect(), path: real, _claim: None })
    }

    /// The device.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where file number `file` of a file set begins.
    pub fn begin_bytes(&self, set: &str, geometry: &Geometry, file: u64) -> u64 {
        self.begins[set] + slot_bytes(geometry) * file
    }
}
