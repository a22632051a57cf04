//! What the front ends know of the originals, for the control plane, which prints their command lines and reads their
//! output (`python/ioassay/protocol/facts.py`).

use super::ior::parameters::Api;
use super::options::{Known, known};
use super::{ior, iozone, mdtest};

/// IOR's names of its APIs, each with the storage API that does as it does.
pub fn ior_apis() -> impl Iterator<Item = (&'static str, &'static str)> {
    Api::ALL.into_iter().map(|api| (api.name(), api.storage_api()))
}

/// IOR's names of its APIs that do their I/O by MPI.
pub fn mpi_apis() -> impl Iterator<Item = &'static str> {
    Api::ALL.into_iter().filter(|api| api.is_over_mpi()).map(Api::name)
}

/// The letters of IOR's short options that take a value.
pub fn ior_valued() -> String {
    valued(&known(ior::options::OPTIONS))
}

/// The same of mdtest.
pub fn mdtest_valued() -> String {
    valued(&known(mdtest::options::OPTIONS))
}

/// The same of IOzone.
pub fn iozone_valued() -> String {
    valued(iozone::options::KNOWN)
}

fn valued(known: &[Known]) -> String {
    let spellings = known.iter().filter(|option| option.value.is_some()).flat_map(Known::spellings);
    let mut letters: Vec<char> = spellings.filter_map(letter).collect();
    letters.sort_unstable();
    letters.dedup();
    letters.into_iter().collect()
}

/// `b` of `-b`.
fn letter(spelling: &str) -> Option<char> {
    let mut letters = spelling.strip_prefix('-')?.chars();
    letters.next().filter(|letter| letter.is_ascii_alphabetic() && letters.next().is_none())
}
