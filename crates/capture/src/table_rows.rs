//! `ioassay-engine tables`: tables of records as arrays of their structures ([`ioassay_record::rows`]).
//!
//! Files are read, not mapped: one that is cut meanwhile would end its reader. First all headers are read, then table after table,
//! of which a few MiB are kept at a time.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use crc32fast::Hasher;
use ioassay_engine::failure::on_path;
use ioassay_engine::stdio::printed;
use ioassay_protocol::events::Failure;
use ioassay_record::checksums::{self, Checksums, ChunkChecksum};
use ioassay_record::damaged::DamagedChunks;
use ioassay_record::layout::bytes_of;
use ioassay_record::names::CHECKSUMS;
use ioassay_record::read::{self, BlockBytes, Table, copy};
use ioassay_record::rows::{FoundTable, LossCause, LostBytes, Part, PartKind};
use ioassay_record::table::{
    BlockKind, BlockLayout, Caller, Errors, File as FileRow, Folded, Frame, Header, Latencies, MAGIC, Map, Module,
    Opened, Region, Ring, Second, Seconds, Stack, Steps, Text, Thread, Transfers, Watched,
};

/// A batch ends with the table that brings it to so many bytes.
const BATCH_BYTES: usize = 4 << 20;
/// Read at once while a table is looked for.
const SEARCH_BYTES: usize = 1 << 20;
/// Of a file of checksums: those of 512 GiB of tables.
const MOST_CHECKSUMS: u64 = 1 << 30;

/// Prints the tables of the files that standard input names, each name ended by a zero byte. A file that is there no more has
/// none. Behind an empty name follow, once all headers are printed, the numbers of the tables that are wanted, as 4 bytes each in
/// the order in which they are to be printed; without an empty name all are.
///
/// # Errors
/// If a file cannot be read, or standard output takes nothing.
pub fn print() -> Result<(), Failure> {
    // Standard output of the library looks for lines.
    let out = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let out = out.map_err(|error| on_path("write", "standard output".as_ref(), &error))?;
    match print_tables(&mut io::stdin().lock(), &mut BufWriter::with_capacity(1 << 16, out)) {
        Err(Problem::Reading(path, error)) => Err(on_path("read", &path, &error)),
        Err(Problem::Printing(error)) => printed(Err(error)),
        Ok(()) => Ok(()),
    }
}

fn print_tables(request: &mut impl BufRead, out: &mut impl Write) -> Result<(), Problem> {
    let on_request = |error| Problem::Reading("standard input".into(), error);
    let mut paths = Vec::new();
    let has_numbers = loop {
        let mut name = Vec::new();
        request.read_until(0, &mut name).map_err(on_request)?;
        match name.pop() {
            None => break false,
            Some(0) if name.is_empty() => break true,
            _ => paths.push(PathBuf::from(OsString::from_vec(name))),
        }
    };
    let mut printer = Printer { out, tables: Vec::new(), damage: HashMap::new() };
    for (number, path) in paths.iter().enumerate() {
        printer.find_all(number as u32, path)?;
    }
    printer.end()?;
    let mut numbers = Vec::new();
    request.read_to_end(&mut numbers).map_err(on_request)?;
    let wanted: Vec<_> = match has_numbers {
        true => numbers.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number) as usize).collect(),
        false => (0..printer.tables.len()).collect(),
    };
    let tables = std::mem::take(&mut printer.tables);
    let wanted: Vec<_> = wanted.iter().filter_map(|number| tables.get(*number)).collect();
    let mut batch = Batch::default();
    for places in wanted.chunk_by(|place, next| place.file == next.file) {
        printer.read_all(&paths[places[0].file as usize], places, &mut batch)?;
    }
    batch.print(printer.out).map_err(Problem::Printing)?;
    printer.end()
}

/// What went wrong with a file or with the output.
enum Problem {
    Reading(PathBuf, io::Error),
    Printing(io::Error),
}

/// Where a table was found.
struct Place {
    file: u32,
    offset: u64,
    length: usize,
    begin_ns: u64,
}

struct Printer<'a, W> {
    out: &'a mut W,
    tables: Vec<Place>,
    /// Of files that differ from their checksums.
    damage: HashMap<u32, VerifiedChunks>,
}

impl<W: Write> Printer<'_, W> {
    /// Finds the tables of a file, and what lies between them. Zeros behind a table are no loss: it was to grow.
    fn find_all(&mut self, number: u32, path: &Path) -> Result<(), Problem> {
        let on_file = |error| Problem::Reading(path.to_owned(), error);
        let Some(file) = open(path).map_err(on_file)? else { return Ok(()) };
        let (mut lost, mut tables) = (Vec::new(), Vec::new());
        self.verify(number, path, &file, &mut lost).map_err(on_file)?;
        let damage = self.damage.get(&number).map(VerifiedChunks::damaged);
        let places = find(&file, damage.as_ref(), |part| match part {
            FoundOrLost::Table { offset, length, header } => {
                let row = FoundTable { file: number, is_damaged: 0, offset, length: length as u64, unread_bytes: 0 };
                tables.extend_from_slice(bytes_of(&row));
                tables.extend_from_slice(bytes_of(header));
                self.tables.push(Place { file: number, offset, length, begin_ns: header.begin_ns });
            }
            FoundOrLost::Lost { offset, length, version } => {
                let cause = if version.is_some() { LossCause::OtherVersion } else { LossCause::Damaged };
                add_lost(&mut lost, number, cause, offset, length, version.unwrap_or(0));
            }
        });
        places.map_err(on_file)?;
        for (kind, rows, size) in [
            (PartKind::Lost, &lost, size_of::<LostBytes>()),
            (PartKind::FoundTables, &tables, size_of::<FoundTable>() + size_of::<Header>()),
        ] {
            if !rows.is_empty() {
                print_part(self.out, kind as u32, 0, rows.len() / size, &[rows]).map_err(Problem::Printing)?;
            }
        }
        Ok(())
    }

    /// Says that all headers, or all tables, are printed.
    fn end(&mut self) -> Result<(), Problem> {
        print_part(self.out, PartKind::End as u32, 0, 0, &[&[]])
            .and_then(|()| self.out.flush())
            .map_err(Problem::Printing)
    }

    fn verify(&mut self, number: u32, path: &Path, file: &File, lost: &mut Vec<u8>) -> io::Result<()> {
        let Some(checksums) = open(&path.with_extension(CHECKSUMS))? else { return Ok(()) };
        let mut content = Vec::new();
        checksums.take(MOST_CHECKSUMS).read_to_end(&mut content)?;
        let Some((head, chunks)) = parse_checksums(&content) else {
            add_lost(lost, number, LossCause::DamagedChecksums, 0, content.len() as u64, 0);
            return Ok(());
        };
        let verified = VerifiedChunks::of(file, &head, chunks)?;
        let size = file.metadata()?.len();
        if size < head.bytes {
            add_lost(lost, number, LossCause::MissingEnd, size, head.bytes - size, 0);
        }
        if size < head.bytes || verified.is_damaged.contains(&true) {
            self.damage.insert(number, verified);
        }
        Ok(())
    }

    fn read_all(&mut self, path: &Path, places: &[&Place], batch: &mut Batch) -> Result<(), Problem> {
        let on_file = |error| Problem::Reading(path.to_owned(), error);
        let Some(file) = open(path).map_err(on_file)? else { return Ok(()) };
        let damage = self.damage.get(&places[0].file).map(VerifiedChunks::damaged);
        let mut bytes = Vec::new();
        for place in places {
            bytes.resize(place.length, 0);
            if read_at(&file, &mut bytes, place.offset).map_err(on_file)? == place.length {
                batch.add(place, &bytes, damage.as_ref());
            }
            if batch.bytes >= BATCH_BYTES {
                batch.print(self.out).map_err(Problem::Printing)?;
            }
        }
        Ok(())
    }
}

fn add_lost(to: &mut Vec<u8>, file: u32, cause: LossCause, offset: u64, length: u64, version: u32) {
    to.extend_from_slice(bytes_of(&LostBytes { file, cause: cause as u32, offset, length, version, reserved: 0 }));
}

/// Opens a regular file, without following a link and without touching a device. Nothing where there is none.
fn open(path: &Path) -> io::Result<Option<File>> {
    let touched = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path);
    let touched = match touched {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if !touched.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(format!("/proc/self/fd/{}", touched.as_raw_fd())).map(Some)
}

/// Fills `bytes` as far as the file goes.
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

enum FoundOrLost<'a> {
    Table { offset: u64, length: usize, header: &'a Header },
    Lost { offset: u64, length: u64, version: Option<u32> },
}

/// The tables in a file, and what lies between them.
fn find(file: &File, damage: Option<&DamagedChunks>, mut take: impl FnMut(FoundOrLost)) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut offset = 0;
    let mut begin = [0; size_of::<Header>()];
    while offset < size {
        let is_damaged =
            damage.is_some_and(|damage| damage.touches(offset, size.min(offset + size_of::<Header>() as u64)));
        let mut version = None;
        if !is_damaged {
            let filled = read_at(file, &mut begin, offset)?;
            if let Some(header) = read::header(&begin[..filled]) {
                match read::length(&header, size - offset) {
                    Ok(length) if read::is_possible(&header) => {
                        take(FoundOrLost::Table { offset, length, header: &header });
                        offset += length as u64;
                        continue;
                    }
                    Err(read::Damage::Version(other)) => version = Some(other),
                    _ => {}
                }
            }
        }
        let after = next_magic(file, offset + 1, size)?;
        if version.is_some() || is_damaged || !is_zero(file, offset, after)? {
            take(FoundOrLost::Lost { offset, length: after - offset, version });
        }
        offset = after;
    }
    Ok(())
}

/// Where the next table may begin, or the end of the file.
fn next_magic(file: &File, mut offset: u64, size: u64) -> io::Result<u64> {
    let mut bytes = vec![0; SEARCH_BYTES];
    while offset < size {
        let filled = read_at(file, &mut bytes, offset)?;
        if let Some(index) = bytes[..filled].windows(MAGIC.len()).position(|window| window == MAGIC) {
            return Ok(offset + index as u64);
        }
        if filled < bytes.len() {
            break;
        }
        offset += (filled - MAGIC.len() + 1) as u64;
    }
    Ok(size)
}

fn is_zero(file: &File, mut offset: u64, end: u64) -> io::Result<bool> {
    let mut bytes = vec![0; SEARCH_BYTES];
    while offset < end {
        let wanted = bytes.len().min((end - offset) as usize);
        let filled = read_at(file, &mut bytes[..wanted], offset)?;
        if filled == 0 || bytes[..filled].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += filled as u64;
    }
    Ok(true)
}

/// The checksums of a file of tables, compared with it.
struct VerifiedChunks {
    chunk_bytes: u64,
    is_damaged: Vec<bool>,
    checksums: Vec<u8>,
}

impl VerifiedChunks {
    fn of(file: &File, head: &Checksums, chunks: &[u8]) -> io::Result<Self> {
        let chunk_bytes = u64::from(head.chunk_bytes);
        let mut bytes = vec![0; SEARCH_BYTES];
        let mut is_damaged = Vec::new();
        for (number, chunk) in chunks.chunks_exact(size_of::<ChunkChecksum>()).enumerate() {
            let (begin, end) = (number as u64 * chunk_bytes, (number as u64 + 1) * chunk_bytes);
            let (mut position, mut hasher) = (begin, Hasher::new());
            while position < end {
                let wanted = bytes.len().min((end - position) as usize);
                let filled = read_at(file, &mut bytes[..wanted], position)?;
                hasher.update(&bytes[..filled]);
                position += filled as u64;
                if filled < wanted {
                    break;
                }
            }
            let wanted = copy::<ChunkChecksum>(chunk).map(|chunk| chunk.crc32);
            is_damaged.push(position == begin || Some(hasher.finalize()) != wanted);
        }
        Ok(Self { chunk_bytes, is_damaged, checksums: chunks.to_vec() })
    }

    fn damaged(&self) -> DamagedChunks<'_> {
        DamagedChunks { chunk_bytes: self.chunk_bytes, is_damaged: &self.is_damaged, checksums: &self.checksums }
    }
}

/// Head and [`ChunkChecksum`]s of a file of checksums. Nothing where that is damaged itself.
fn parse_checksums(content: &[u8]) -> Option<(Checksums, &[u8])> {
    let (content, crc32) = content.split_last_chunk::<4>()?;
    let head: Checksums = copy(content)?;
    let chunks = &content[size_of::<Checksums>()..];
    let is_known = head.magic == checksums::MAGIC && head.version == checksums::VERSION && head.chunk_bytes > 0;
    if !is_known || crc32fast::hash(content) != u32::from_le_bytes(*crc32) {
        return None;
    }
    let count = head.bytes.div_ceil(u64::from(head.chunk_bytes));
    (chunks.len() as u64 == count.checked_mul(size_of::<ChunkChecksum>() as u64)?).then_some((head, chunks))
}

/// Tables as they are printed together.
#[derive(Default)]
struct Batch {
    tables: Vec<u8>,
    count: u32,
    bytes: usize,
    kinds: Vec<Rows>,
}

/// The rows of one kind of block.
#[derive(Default)]
struct Rows {
    kind: u32,
    rows: Vec<u8>,
    ends: Vec<u8>,
    places: Vec<u8>,
    lengths: Vec<u8>,
    content: Vec<u8>,
}

impl Rows {
    fn count(&self) -> u32 {
        (self.places.len() / size_of::<u32>()) as u32
    }

    /// Says for each table up to `tables` that it has no more rows.
    fn end_tables(&mut self, tables: u32) {
        let count = self.count();
        while self.ends.len() < tables as usize * size_of::<u32>() {
            self.ends.extend(count.to_le_bytes());
        }
    }
}

impl Batch {
    /// Adds a table, unless it is another one by now. Its header may be later than the one that was found.
    fn add(&mut self, place: &Place, bytes: &[u8], damage: Option<&DamagedChunks>) {
        let Some(table) = Table::whole(bytes) else { return };
        let header = table.header();
        if header.begin_ns != place.begin_ns || !read::is_possible(&header) {
            return;
        }
        let damage = damage.filter(|damage| damage.touches(place.offset, place.offset + place.length as u64));
        let mut blocks = match damage {
            Some(damage) => table.undamaged_blocks(place.offset, damage),
            None => table.blocks(),
        };
        for block in &mut blocks {
            self.add_block(&block);
        }
        let row = FoundTable {
            file: place.file,
            is_damaged: damage.is_some().into(),
            offset: place.offset,
            length: place.length as u64,
            unread_bytes: blocks.unread_bytes as u64,
        };
        self.tables.extend_from_slice(bytes_of(&row));
        self.tables.extend_from_slice(bytes_of(&header));
        self.count += 1;
        self.bytes += bytes.len();
        let count = self.count;
        self.kinds.iter_mut().for_each(|kind| kind.end_tables(count));
    }

    /// Adds a block, unless it is of a kind that nobody reads, or too short.
    fn add_block(&mut self, block: &BlockBytes) {
        const ROW: usize = size_of::<Second>();
        macro_rules! add {
            ($($kind:ident: $after:expr),+ $(,)?) => {
                $(if block.kind() == BlockKind::$kind as u32 {
                    let after: fn(&$kind) -> usize = $after;
                    return self.add_row::<$kind>(block, after);
                })+
            };
        }
        type File = FileRow;
        add!(
            Text: |text| text.text_bytes as usize,
            Thread: |_| 0,
            Latencies: |_| 0,
            Seconds: |seconds| seconds.rows.load(Relaxed) as usize * ROW,
            Steps: |steps| steps.rows.load(Relaxed) as usize * ROW,
            File: |file| file.name_bytes.into(),
            Opened: |_| 0,
            Transfers: |_| 0,
            Errors: |_| 0,
            Watched: |_| usize::MAX,
            Map: |_| 0,
            Ring: |_| 0,
            Region: |region| region.name_bytes as usize,
            Folded: |_| 0,
            Module: |module| module.path_bytes as usize,
            Frame: |frame| frame.function_bytes as usize + frame.file_bytes as usize,
            Stack: |stack| (stack.native as usize + stack.python as usize) * size_of::<u32>(),
            Caller: |_| 0,
        );
    }

    fn add_row<T: BlockLayout>(&mut self, block: &BlockBytes, after: fn(&T) -> usize) {
        let Some((row, behind)) = block.get::<T>() else { return };
        let kind = T::KIND as u32;
        let index = self.kinds.iter().position(|rows| rows.kind == kind).unwrap_or_else(|| {
            self.kinds.push(Rows { kind, ..Rows::default() });
            self.kinds.len() - 1
        });
        let rows = &mut self.kinds[index];
        rows.end_tables(self.count);
        let whole = if [BlockKind::Seconds, BlockKind::Steps].contains(&T::KIND) { size_of::<Second>() } else { 1 };
        let length = after(&row).min(behind.len() / whole * whole);
        rows.rows.extend_from_slice(bytes_of(&row));
        rows.places.extend((block.place as u32).to_le_bytes());
        rows.lengths.extend((length as u32).to_le_bytes());
        rows.content.extend_from_slice(&behind[..length]);
    }

    fn print(&mut self, out: &mut impl Write) -> io::Result<()> {
        for rows in self.kinds.iter_mut().filter(|rows| rows.count() > 0) {
            let parts: [&[u8]; 5] = [&rows.rows, &rows.ends, &rows.places, &rows.lengths, &rows.content];
            print_part(out, rows.kind, self.count, rows.count() as usize, &parts)?;
            for buffer in [&mut rows.rows, &mut rows.ends, &mut rows.places, &mut rows.lengths, &mut rows.content] {
                buffer.clear();
            }
        }
        for rows in &mut self.kinds {
            rows.ends.clear();
        }
        if self.count > 0 {
            print_part(out, PartKind::Tables as u32, self.count, self.count as usize, &[&self.tables])?;
        }
        self.tables.clear();
        (self.count, self.bytes) = (0, 0);
        Ok(())
    }
}

/// Prints a part: its rows, which are the first of `parts`, and its content, which the others are.
fn print_part(out: &mut impl Write, kind: u32, tables: u32, rows: usize, parts: &[&[u8]]) -> io::Result<()> {
    let row_bytes = parts[0].len() as u64;
    let content_bytes = parts[1..].iter().map(|part| part.len() as u64).sum();
    out.write_all(bytes_of(&Part { kind, tables, rows: rows as u64, row_bytes, content_bytes }))?;
    parts.iter().try_for_each(|part| out.write_all(part))
}
