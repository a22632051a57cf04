//! Processes that the library never reached: a process was about to be replaced by a program, and that program has no table.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use ioassay_record::read::Table;
use ioassay_record::table::{State, Text, TextKind};
use serde::Serialize;

use crate::tables::header;

/// A process that was not recorded.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Escaped {
    /// Its number.
    pub pid: u32,
    /// The program.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// Why a library cannot be brought into a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The program has no dynamic linker.
    Static,
    /// It runs with privileges of its own.
    Privileged,
    /// It is for another C library or another architecture.
    OtherArchitecture,
    /// The table of the process says nothing of it, for another reason.
    Unknown,
}

impl Reason {
    /// For users.
    pub fn text(self) -> &'static str {
        match self {
            Self::Static => "it is linked statically, as programs in Go are",
            Self::Privileged => "it runs with privileges of its own (setuid)",
            Self::OtherArchitecture => "it is for another architecture or C library",
            Self::Unknown => "the recorder's library was not loaded",
        }
    }
}

/// What a process said last: when, and what was to replace it.
struct Last {
    begin_ns: u64,
    replacement: Option<String>,
}

/// The processes that escaped, by what the tables of a file say. What cannot be read says nothing.
pub fn among(file: &Path) -> Vec<Escaped> {
    let mut processes = HashMap::new();
    if let Ok(file) = File::open(file) {
        let _ = read(&mut BufReader::with_capacity(64 << 10, file), &mut processes);
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
        let header = header(file)?;
        let length = header.used_bytes.load(Relaxed) as usize;
        let state = header.state.load(Relaxed);
        let replaced = state == State::Replaced as u32;
        let mut replacement = None;
        if replaced {
            file.seek_relative(-(size_of_val(&header) as i64))?;
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes)?;
            replacement = Table::first(&bytes).ok().and_then(|table| of_text(&table));
        } else {
            file.seek_relative((length - size_of_val(&header)) as i64)?;
        }
        let stayed = state == State::Stayed as u32;
        let said = Last { begin_ns: header.begin_ns, replacement };
        let last = processes.entry(header.process).or_insert(Last { begin_ns: 0, replacement: None });
        if said.begin_ns >= last.begin_ns || stayed {
            *last = said;
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
    let found = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
    };
    if name.components().count() > 1 { name.to_owned() } else { found().unwrap_or_else(|| name.to_owned()) }
}

/// Why a program was not reached.
fn reason(path: &Path) -> Reason {
    let privileged = fs::metadata(path).is_ok_and(|about| about.mode() & (libc::S_ISUID | libc::S_ISGID) != 0);
    if privileged {
        return Reason::Privileged;
    }
    match fs::read(path).ok().as_deref().map(elf) {
        Some(Some(Elf { ours: false, .. })) => Reason::OtherArchitecture,
        Some(Some(Elf { interpreter: None, .. })) => Reason::Static,
        Some(Some(Elf { interpreter: Some(name), .. })) if !name.contains("ld-linux") => Reason::OtherArchitecture,
        _ => Reason::Unknown,
    }
}

/// What matters of a program.
struct Elf {
    /// It is for this architecture.
    ours: bool,
    /// The dynamic linker that it asks for.
    interpreter: Option<String>,
}

/// Reads the headers of a program: `elf(5)`.
fn elf(bytes: &[u8]) -> Option<Elf> {
    const INTERPRETER: u32 = 3;
    let short = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| usize::try_from(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?)).ok();
    if bytes.get(..4)? != b"\x7fELF" {
        return None;
    }
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    if bytes[4] != 2 || short(18)? != machine {
        return Some(Elf { ours: false, interpreter: None });
    }
    let (table, size, count) = (long(32)?, usize::from(short(54)?), usize::from(short(56)?));
    let headers = (0..count).map_while(|index| table.checked_add(index.checked_mul(size)?));
    let interpreter = headers.into_iter().find_map(|header| {
        if word(header)? != INTERPRETER {
            return None;
        }
        let name = bytes.get(long(header + 8)?..)?.get(..long(header + 32)?)?;
        Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
    });
    Some(Elf { ours: true, interpreter })
}
