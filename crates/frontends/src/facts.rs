//! What the front ends know of the originals, for the control plane, which prints their command lines and reads their
//! output (`python/ioassay/protocol/facts.py`).

use super::ior::settings::Api;
use super::options::{ToolOption, Verdict, known};
use super::{ior, iozone, mdtest};

/// IOR's names of its APIs, each with the storage API that does as it does.
pub fn ior_apis() -> impl Iterator<Item = (&'static str, &'static str)> {
    Api::ALL.into_iter().map(|api| (api.name(), api.storage_api()))
}

/// IOR's names of its APIs that do their I/O by MPI.
pub fn mpi_apis() -> impl Iterator<Item = &'static str> {
    Api::ALL.into_iter().filter(|api| api.is_over_mpi()).map(Api::name)
}

/// IOR's options.
pub fn ior_options() -> Vec<ToolOption> {
    known(ior::options::OPTIONS)
}

/// IOR's directives.
pub fn ior_directives() -> Vec<ToolOption> {
    known(ior::options::DIRECTIVES)
}

/// mdtest's options.
pub fn mdtest_options() -> Vec<ToolOption> {
    known(mdtest::options::OPTIONS)
}

/// IOzone's options.
pub fn iozone_options() -> Vec<ToolOption> {
    iozone::options::KNOWN.to_vec()
}

/// The spellings of those that are taken and have an effect: of options with a value, or of flags.
pub fn taken(known: &[ToolOption], with_value: bool) -> Vec<&'static str> {
    let taken = known.iter().filter(|option| matches!(option.verdict, Verdict::Same | Verdict::Better(_)));
    taken.filter(|option| option.value.is_some() == with_value).flat_map(ToolOption::spellings).collect()
}

/// The letters of the short ones that take a value.
pub fn valued(known: &[ToolOption]) -> String {
    let spellings = known.iter().filter(|option| option.value.is_some()).flat_map(ToolOption::spellings);
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
