//! The file of tables of a record, and the checksums beside it.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crc32fast::Hasher;
use ioassay_record::checksums::{CHUNK, Checksums, ChunkChecksum, MAGIC, NO_BLOCK, VERSION};
use ioassay_record::layout::bytes_of;
use ioassay_record::read::Table;
use nix::unistd::close;

/// A file to which tables are added.
pub struct CheckedTables<W: Write> {
    to: W,
    bytes: u64,
    chunks: Vec<ChunkChecksum>,
    /// Of the chunk that is not full yet.
    hasher: Hasher,
}

impl<W: Write> CheckedTables<W> {
    /// An empty one.
    pub fn new(to: W) -> Self {
        Self { to, bytes: 0, chunks: Vec::new(), hasher: Hasher::new() }
    }

    /// Adds a table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, table: &[u8]) -> io::Result<()> {
        let begin = self.bytes;
        self.to.write_all(table)?;
        let mut rest = table;
        while !rest.is_empty() {
            let filled = (self.bytes % CHUNK as u64) as usize;
            if filled == 0 {
                self.chunks.push(ChunkChecksum { crc32: 0, first_block: NO_BLOCK, reserved: 0 });
            }
            let (next, after) = rest.split_at(rest.len().min(CHUNK - filled));
            self.hasher.update(next);
            self.bytes += next.len() as u64;
            rest = after;
            if self.bytes.is_multiple_of(CHUNK as u64) {
                self.end_chunk();
            }
        }
        for block in Table::first(table).iter().flat_map(Table::blocks) {
            let position = begin + block.place as u64;
            let chunk = &mut self.chunks[(position / CHUNK as u64) as usize];
            chunk.first_block = chunk.first_block.min((position % CHUNK as u64) as u16);
        }
        Ok(())
    }

    fn end_chunk(&mut self) {
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.crc32 = std::mem::take(&mut self.hasher).finalize();
        }
    }

    /// Ends the file. Its checksums, as they are stored, and what it was written to.
    ///
    /// # Errors
    /// If something is left that cannot be written.
    pub fn end(mut self) -> io::Result<(Vec<u8>, W)> {
        if !self.bytes.is_multiple_of(CHUNK as u64) {
            self.end_chunk();
        }
        self.to.flush()?;
        let head = Checksums { magic: MAGIC, version: VERSION, chunk_bytes: CHUNK as u32, bytes: self.bytes };
        let mut all = bytes_of(&head).to_vec();
        self.chunks.iter().for_each(|chunk| all.extend_from_slice(bytes_of(chunk)));
        all.extend(crc32fast::hash(&all).to_le_bytes());
        Ok((all, self.to))
    }
}

impl CheckedTables<BufWriter<File>> {
    /// Tables in a file.
    pub fn in_file(file: File) -> Self {
        Self::new(BufWriter::with_capacity(1 << 20, file))
    }

    /// Ends the file and closes it: a network file system may say only then that it is full. Its checksums.
    ///
    /// # Errors
    /// If something of it could not be written.
    pub fn end_file(self) -> io::Result<Vec<u8>> {
        let (checksums, to) = self.end()?;
        close(to.into_inner().map_err(io::IntoInnerError::into_error)?)?;
        Ok(checksums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::read::copy;
    use ioassay_record::table::{self, Header};

    #[test]
    fn each_chunk_has_its_checksum_and_its_first_block() {
        // Two tables with blocks of 3000 bytes: none begins in the third chunk.
        let table = |blocks: &[usize]| {
            let mut bytes = vec![0_u8; size_of::<Header>()];
            for &length in blocks {
                let begin = bytes.len();
                bytes.resize(begin + length, 7);
                bytes[begin..][..8].copy_from_slice(&table::block_word(table::BlockKind::Text, length).to_le_bytes());
            }
            let used = (bytes.len() as u64).to_le_bytes();
            bytes[..8].copy_from_slice(&table::MAGIC);
            bytes[8..12].copy_from_slice(&table::VERSION.to_le_bytes());
            bytes[12..16].copy_from_slice(&(size_of::<Header>() as u32).to_le_bytes());
            bytes[16..24].copy_from_slice(&used);
            bytes
        };
        let tables = [table(&[3000, 9000]), table(&[16])];
        let mut checked = CheckedTables::new(Vec::new());
        tables.iter().for_each(|table| checked.add(table).unwrap());
        let (checksums, written) = checked.end().unwrap();
        assert_eq!(written, tables.concat());

        let (all, crc32) = checksums.split_last_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*crc32), crc32fast::hash(all));
        let head: Checksums = copy(all).unwrap();
        assert_eq!((head.magic, head.bytes), (MAGIC, written.len() as u64));
        let (header, second) = (size_of::<Header>() as u64, tables[0].len() as u64);
        let begins = [header, header + 3000, second + header];
        for (number, (chunk, bytes)) in
            all[size_of::<Checksums>()..].chunks(size_of::<ChunkChecksum>()).zip(written.chunks(CHUNK)).enumerate()
        {
            let chunk: ChunkChecksum = copy(chunk).unwrap();
            assert_eq!(chunk.crc32, crc32fast::hash(bytes), "{number}");
            let first = begins.iter().find(|begin| **begin / CHUNK as u64 == number as u64);
            assert_eq!(chunk.first_block, first.map_or(NO_BLOCK, |begin| (begin % CHUNK as u64) as u16), "{number}");
        }
        assert_eq!(all.len(), size_of::<Checksums>() + size_of::<ChunkChecksum>() * written.len().div_ceil(CHUNK));
    }
}
