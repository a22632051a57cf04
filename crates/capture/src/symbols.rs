//! Which functions are at the addresses that the stacks of a record have: looked up when the recording ends, while the
//! programs and libraries are still what they were.
//!
//! A line of JSON for each address: `{"module": path, "address": number, "functions": [{"name", "file", "line"}, …]}`, from the
//! innermost function that the compiler has put there to the outermost. Only names and lines that the file or its debugging
//! information has; what has none has no line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use addr2line::Loader;
use addr2line::demangle_auto;
use ioassay_engine::failure::on_path;
use ioassay_protocol::events::Failure;
use ioassay_record::names::SYMBOLS;
use ioassay_record::read::Table;
use ioassay_record::table::{Frame, Module};
use serde::Serialize;

use crate::tables::{open, read_table};

/// Functions at one address at most: what is inlined into each other.
const MOST_FUNCTIONS: usize = 16;

/// An address of a module, as it is written.
#[derive(Debug, Serialize)]
struct Symbol<'a> {
    module: &'a str,
    address: u64,
    functions: Vec<Function>,
}

/// A function, and where in it the address is.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Function {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// Addresses by the path of their module.
type Addresses = BTreeMap<String, BTreeSet<u64>>;

/// The file of symbols that belongs to a file of tables.
pub fn file_of(tables: &Path) -> PathBuf {
    tables.with_extension(SYMBOLS)
}

/// Writes the symbols of all addresses of a file of tables into a file that `create` makes, if there are any. What cannot be
/// read has none.
///
/// # Errors
/// If they cannot be written.
pub fn write(tables: &Path, create: impl FnOnce(&Path) -> Result<File, Failure>) -> Result<(), Failure> {
    let mut addresses = Addresses::new();
    if let Ok(file) = open(tables) {
        let _ = collect(&mut BufReader::with_capacity(1 << 20, file), &mut addresses);
    }
    if addresses.is_empty() {
        return Ok(());
    }
    let path = file_of(tables);
    let failed = |error| on_path("write", &path, &error);
    let mut to = BufWriter::new(create(&path)?);
    for (module, addresses) in &addresses {
        let Ok(loader) = Loader::new(module) else { continue };
        for &address in addresses {
            let functions = functions(&loader, address);
            if !functions.is_empty() {
                let line = serde_json::to_string(&Symbol { module, address, functions }).map_err(io::Error::from);
                line.and_then(|line| writeln!(to, "{line}")).map_err(failed)?;
            }
        }
    }
    to.flush().map_err(failed)
}

/// Adds the addresses of all frames of table after table.
fn collect(file: &mut impl Read, addresses: &mut Addresses) -> io::Result<()> {
    loop {
        let bytes = read_table(file)?;
        let Ok(table) = Table::first(&bytes) else { continue };
        let mut modules = BTreeMap::new();
        for block in table.blocks() {
            if let Some((module, rest)) = block.get::<Module>() {
                let path = rest.get(..module.path_bytes as usize).unwrap_or_default();
                modules.insert(block.place as u32, String::from_utf8_lossy(path).into_owned());
            }
        }
        for (frame, _) in table.blocks().filter_map(|block| block.get::<Frame>()) {
            if let Some(path) = modules.get(&frame.module) {
                addresses.entry(path.clone()).or_default().insert(frame.address);
            }
        }
    }
}

/// The functions that a call returns into at an address.
fn functions(loader: &Loader, address: u64) -> Vec<Function> {
    // What it returns to may be the next function, where the call was the last of one that never returns.
    let within = address.saturating_sub(1);
    let mut functions = Vec::new();
    if let Ok(mut frames) = loader.find_frames(within) {
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|function| function.demangle().ok()) else { continue };
            let place = frame.location.as_ref();
            functions.push(Function {
                name: name.into_owned(),
                file: place.and_then(|place| place.file).map(str::to_owned),
                line: place.and_then(|place| place.line),
            });
        }
    }
    functions.truncate(MOST_FUNCTIONS);
    if functions.is_empty()
        && let Some(name) = loader.find_symbol(within)
    {
        let name = demangle_auto(name.into(), None).into_owned();
        functions.push(Function { name, file: None, line: None });
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn known() -> usize {
        std::hint::black_box(known as *const () as usize)
    }

    #[test]
    fn an_address_of_this_program_has_the_name_of_its_function() {
        let loader = Loader::new("/proc/self/exe").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let base = usize::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap();
        let functions = functions(&loader, (known() - base) as u64 + 2);
        assert!(functions.iter().any(|function| function.name.contains("known")), "{functions:?}");
    }

    #[test]
    fn tables_without_stacks_have_no_file_of_symbols() {
        let directory = tempfile::tempdir().unwrap();
        let tables = directory.path().join("node.tables");
        std::fs::write(&tables, "").unwrap();
        write(&tables, |_| panic!("there is nothing to write")).unwrap();
        assert!(!file_of(&tables).exists());
    }
}
