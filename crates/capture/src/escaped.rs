//! Processes that the library never reached: a process was about to be replaced by a program, and that program has no table.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use ioassay_protocol::record::{EscapeReason, Escaped};
use ioassay_record::read::Table;
use ioassay_record::table::{State, Text, TextKind};
use libc::{Elf64_Ehdr, Elf64_Phdr};

use crate::tables::{open, read_header, read_table};

/// What a process said last: when, and what was to replace it.
struct Last {
    begin_ns: u64,
    replacement: Option<String>,
}

/// The processes that escaped, by what the tables of a file say. What cannot be read says nothing. `command` is the process
/// that was started, and its program: no other process has announced it.
pub fn among(file: &Path, command: Option<(u32, &str)>) -> Vec<Escaped> {
    let mut processes = HashMap::new();
    if let Ok(file) = open(file) {
        let _ = read(&mut BufReader::with_capacity(64 << 10, file), &mut processes);
    }
    if let Some((process, program)) = command {
        processes.entry(process).or_insert(Last { begin_ns: 0, replacement: Some(program.to_owned()) });
    }
    let mut escaped: Vec<_> = processes
        .into_iter()
        .filter_map(|(pid, last): (u32, Last)| {
            let path = last.replacement?;
            let reason = reason(&searched(Path::new(&path)));
            Some(Escaped { pid, path, reason })
        })
        .collect();
    escaped.sort_by_key(|escaped| escaped.pid);
    escaped
}

/// Reads table after table, and of each only what is needed.
fn read(file: &mut (impl Read + Seek), processes: &mut HashMap<u32, Last>) -> io::Result<()> {
    loop {
        let (header, begin) = read_header(file)?;
        let state = header.state.load(Relaxed);
        let replacement = if state == State::Replaced as u32 {
            file.seek_relative(-(begin.len() as i64))?;
            let bytes = read_table(file)?;
            Table::first(&bytes).ok().and_then(|table| of_text(&table))
        } else {
            file.seek_relative(header.used_bytes.load(Relaxed) as i64 - begin.len() as i64)?;
            None
        };
        let last = processes.entry(header.process).or_insert(Last { begin_ns: 0, replacement: None });
        if header.begin_ns >= last.begin_ns || state == State::Stayed as u32 {
            *last = Last { begin_ns: header.begin_ns, replacement };
        }
    }
}

fn of_text(table: &Table) -> Option<String> {
    table.blocks().filter_map(|block| block.get::<Text>()).find_map(|(text, bytes)| {
        let replacement = text.kind == TextKind::Replacement as u32;
        let bytes = bytes.get(..text.text_bytes as usize)?;
        replacement.then(|| String::from_utf8_lossy(bytes).into_owned())
    })
}

/// The program that is meant by a name: one without a directory is searched for, as `execvp` does.
fn searched(name: &Path) -> PathBuf {
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
    };
    if name.components().count() > 1 { name.to_owned() } else { in_path().unwrap_or_else(|| name.to_owned()) }
}

/// Why a program was not reached.
fn reason(path: &Path) -> EscapeReason {
    let Ok(about) = fs::metadata(path) else { return EscapeReason::Unknown };
    if about.mode() & (libc::S_ISUID | libc::S_ISGID) != 0 {
        return EscapeReason::Privileged;
    }
    let program = File::open(path).ok().filter(|_| about.is_file());
    match program.and_then(|program| Elf::of(&program)) {
        Some(Elf { ours: false, .. }) => EscapeReason::OtherArchitecture,
        Some(Elf { interpreter: None, .. }) => EscapeReason::Static,
        Some(Elf { interpreter: Some(name), .. }) if !name.contains("ld-linux") => EscapeReason::OtherArchitecture,
        _ => EscapeReason::Unknown,
    }
}

/// What matters of a program.
#[derive(Debug, PartialEq, Eq)]
struct Elf {
    /// It is for this architecture.
    ours: bool,
    /// The dynamic linker that it asks for.
    interpreter: Option<String>,
}

impl Elf {
    /// Reads the headers of a program, `elf(5)`. Nothing where it is none.
    fn of(program: &File) -> Option<Self> {
        const MACHINE: u16 = if cfg!(target_arch = "x86_64") { libc::EM_X86_64 } else { libc::EM_AARCH64 };
        let ident: [u8; libc::EI_CLASS + 1] = field(program, 0)?;
        if !ident.starts_with(b"\x7fELF") {
            return None;
        }
        let short = |offset: usize| field(program, offset as u64).map(u16::from_le_bytes);
        let long = |offset: u64| field(program, offset).map(u64::from_le_bytes);
        if ident[libc::EI_CLASS] != libc::ELFCLASS64 || short(offset_of!(Elf64_Ehdr, e_machine))? != MACHINE {
            return Some(Self { ours: false, interpreter: None });
        }
        let table = long(offset_of!(Elf64_Ehdr, e_phoff) as u64)?;
        let (size, count) = (short(offset_of!(Elf64_Ehdr, e_phentsize))?, short(offset_of!(Elf64_Ehdr, e_phnum))?);
        let interpreter = (0..count).find_map(|index| {
            let header = table.checked_add(u64::from(index) * u64::from(size))?;
            if u32::from_le_bytes(field(program, header)?) != libc::PT_INTERP {
                return None;
            }
            let of_header = |offset: usize| long(header.checked_add(offset as u64)?);
            let length = of_header(offset_of!(Elf64_Phdr, p_filesz))?.min(libc::PATH_MAX as u64);
            let mut name = vec![0; length as usize];
            program.read_exact_at(&mut name, of_header(offset_of!(Elf64_Phdr, p_offset))?).ok()?;
            Some(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
        });
        Some(Self { ours: true, interpreter })
    }
}

/// What a file has at that place; nothing beyond its end.
fn field<const N: usize>(file: &File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn elf(bytes: &[u8]) -> Option<Elf> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Elf::of(&file)
    }

    #[test]
    fn the_headers_of_a_program_say_which_linker_it_asks_for() {
        let headers = Elf::of(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert!(headers.ours && headers.interpreter.unwrap().contains("ld-linux"));
    }

    #[test]
    fn a_program_that_is_cut_or_damaged_is_read_as_far_as_it_goes() {
        let program = fs::read("/proc/self/exe").unwrap();
        let length = size_of::<Elf64_Ehdr>();
        for cut in 0..length {
            let read = elf(&program[..cut]);
            assert!(read.is_none_or(|read| read.interpreter.is_none()), "{cut}");
        }
        // Its table of headers would be at the end of all addresses.
        let mut damaged = program[..length].to_vec();
        damaged[offset_of!(Elf64_Ehdr, e_phoff)..][..8].fill(0xff);
        assert_eq!(elf(&damaged), Some(Elf { ours: true, interpreter: None }));
        assert_eq!(elf(b"#!/bin/sh\n"), None);
    }
}
