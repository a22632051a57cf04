//! Tables out of bytes that nobody vouches for: another user may have written them, a crash may have cut them.
//!
//! Nothing here panics or reads outside of the bytes, whatever they are. Of structures that have grown at their end, the first
//! tables of this version have less; what they lack is 0.

use core::mem::{offset_of, size_of};
use core::sync::atomic::Ordering::Relaxed;

use crate::damaged::DamagedChunks;
use crate::layout::{Layout, zeroed};
use crate::table::{
    ALIGNMENT, Block, BlockKind, BlockLayout, Clock, Header, LARGEST, MAGIC, Opened, Ring, State, Thread, VERSION,
};

/// What the first tables of this version have of the header.
pub const OLDEST_HEADER: usize = offset_of!(Header, storage_of_ended);

/// The years 2000 and 2100, in nanoseconds since 1970: no process began before or ends after.
const POSSIBLE_NS: core::ops::RangeInclusive<u64> = 946_684_800_000_000_000..=4_102_444_800_000_000_000;

/// What is wrong with bytes that should be a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// There is no table here.
    NotATable,
    /// Another version wrote it.
    Version(u32),
    /// It is cut, or says nonsense of its length.
    Length,
}

/// The header that bytes begin with.
pub fn header(bytes: &[u8]) -> Option<Header> {
    if bytes.len() < OLDEST_HEADER || !bytes.starts_with(&MAGIC) {
        return None;
    }
    let length = u32::from_le_bytes(*bytes[offset_of!(Header, header_bytes)..].first_chunk()?);
    Some(padded(&bytes[..bytes.len().min(length as usize)]))
}

/// Whether state, clock and times of a header can be what a recorder wrote. A clock may have been set back between the times.
pub fn is_possible(header: &Header) -> bool {
    let (state, latest) = (header.state.load(Relaxed), header.latest_ns.load(Relaxed));
    let states = [State::Running, State::Exited, State::Replaced, State::Stayed];
    states.iter().any(|known| *known as u32 == state)
        && [Clock::Counter, Clock::Nanoseconds].iter().any(|known| *known as u32 == header.clock)
        && POSSIBLE_NS.contains(&header.begin_ns)
        && (latest == 0 || POSSIBLE_NS.contains(&latest))
}

/// Where the blocks begin of a table that begins with `header`, in bytes. Tables of older recorders have a shorter header.
///
/// # Errors
/// If it is of another version, or the header has no possible length.
pub fn blocks_begin_at(header: &Header) -> Result<usize, Damage> {
    if header.version != VERSION {
        return Err(Damage::Version(header.version));
    }
    let begin = header.header_bytes as usize;
    if begin < OLDEST_HEADER || !begin.is_multiple_of(ALIGNMENT) {
        return Err(Damage::Length);
    }
    Ok(begin)
}

/// Of a table that begins with `header`, in a file that has `rest_bytes` from there on: its length.
///
/// # Errors
/// Where it cannot be one.
pub fn length(header: &Header, rest_bytes: u64) -> Result<usize, Damage> {
    let (begin, used) = (blocks_begin_at(header)? as u64, header.used_bytes.load(Relaxed));
    if begin > used || used > rest_bytes.min(LARGEST as u64) {
        return Err(Damage::Length);
    }
    Ok(used as usize)
}

/// A table, whose header is sound.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    bytes: &'a [u8],
}

/// A block of a table: its structure can be read if it is of its kind and long enough.
#[derive(Debug, Clone, Copy)]
pub struct BlockBytes<'a> {
    /// Where it begins in the table.
    pub place: usize,
    kind: u32,
    bytes: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table at the beginning of `bytes`, which may go on behind it.
    ///
    /// # Errors
    /// Where there is none.
    pub fn first(bytes: &'a [u8]) -> Result<Self, Damage> {
        let header = header(bytes).ok_or(Damage::NotATable)?;
        Ok(Self { bytes: &bytes[..length(&header, bytes.len() as u64)?] })
    }

    /// The tables of a file, one after another, up to its end or what is no table.
    pub fn all(mut bytes: &'a [u8]) -> impl Iterator<Item = Result<Self, Damage>> {
        core::iter::from_fn(move || {
            let table = (!bytes.is_empty()).then(|| Self::first(bytes))?;
            bytes = table.map_or(&[], |table| &bytes[table.bytes.len()..]);
            Some(table)
        })
    }

    /// The table that has all of `bytes`: of one that has grown since, what it had.
    pub fn whole(bytes: &'a [u8]) -> Option<Self> {
        let begin = header(bytes)?.header_bytes as usize;
        let has_header = begin.is_multiple_of(ALIGNMENT) && (OLDEST_HEADER..=bytes.len()).contains(&begin);
        has_header.then_some(Self { bytes })
    }

    /// All of it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its header.
    pub fn header(&self) -> Header {
        header(self.bytes).expect("it was there when the table was found")
    }

    /// Its blocks, up to the first that cannot be.
    pub fn blocks(&self) -> Blocks<'a, 'static> {
        Blocks { bytes: self.bytes, place: self.header().header_bytes as usize, damage: None, unread_bytes: 0 }
    }

    /// Its blocks that no damage touches. The table begins `offset` bytes into its file.
    pub fn undamaged_blocks<'d>(&self, offset: u64, damage: &'d DamagedChunks<'d>) -> Blocks<'a, 'd> {
        Blocks { damage: Some((damage, offset)), ..self.blocks() }
    }
}

/// Blocks of a table, one after another.
#[derive(Debug, Clone)]
pub struct Blocks<'a, 'd> {
    bytes: &'a [u8],
    place: usize,
    /// And where the table begins in its file.
    damage: Option<(&'d DamagedChunks<'d>, u64)>,
    /// In damaged blocks and, at the end, behind one that cannot be. Of a table that is being written these may be a block that
    /// just begins.
    pub unread_bytes: usize,
}

impl Blocks<'_, '_> {
    fn is_damaged(&self, length: usize) -> bool {
        self.damage.is_some_and(|(damage, offset)| {
            let begin = offset + self.place as u64;
            damage.touches(begin, begin + length as u64)
        })
    }

    /// The first block behind the damage here, or the end.
    fn behind_damage(&self) -> usize {
        let next = self.damage.and_then(|(damage, offset)| {
            let next = damage.next_block(offset + self.place as u64)?;
            usize::try_from(next.checked_sub(offset)?).ok()
        });
        next.map_or(self.bytes.len(), |next| next.clamp(self.place + 1, self.bytes.len()))
    }

    fn skip_to(&mut self, place: usize) {
        self.unread_bytes += place - self.place;
        self.place = place;
    }
}

impl<'a> Iterator for Blocks<'a, '_> {
    type Item = BlockBytes<'a>;

    fn next(&mut self) -> Option<BlockBytes<'a>> {
        loop {
            let rest = &self.bytes[self.place..];
            let Some(block) = copy::<Block>(rest) else {
                self.skip_to(self.bytes.len());
                return None;
            };
            if self.is_damaged(size_of::<Block>()) {
                self.skip_to(self.behind_damage());
                continue;
            }
            let word = block.kind_and_bytes.into_inner();
            let length = word as u32 as usize;
            if length < size_of::<Block>() || !length.is_multiple_of(ALIGNMENT) || length > rest.len() {
                self.skip_to(self.bytes.len());
                return None;
            }
            if self.is_damaged(length) {
                self.skip_to(self.place + length);
                continue;
            }
            let block = BlockBytes { place: self.place, kind: (word >> 32) as u32, bytes: &rest[..length] };
            self.place += length;
            return Some(block);
        }
    }
}

impl<'a> BlockBytes<'a> {
    /// The number of its [`BlockKind`], or of one that is unknown here.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// The block with its first word.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// A copy of its structure, and the bytes that follow; nothing where it is of another kind or too short.
    pub fn get<T: BlockLayout>(&self) -> Option<(T, &'a [u8])> {
        if self.kind != T::KIND as u32 || self.bytes.len() < oldest_bytes::<T>() {
            return None;
        }
        Some((padded(self.bytes), self.bytes.get(size_of::<T>()..).unwrap_or_default()))
    }
}

/// What the first tables of this version have of a structure.
pub const fn oldest_bytes<T: BlockLayout>() -> usize {
    match T::KIND {
        BlockKind::Thread => offset_of!(Thread, storage),
        BlockKind::Opened => offset_of!(Opened, birth_ns),
        BlockKind::Ring => offset_of!(Ring, size_unknown),
        _ => size_of::<T>(),
    }
}

/// A copy of the structure that `bytes` begin with; what they lack is 0.
fn padded<T: Layout>(bytes: &[u8]) -> T {
    let mut copied = zeroed::<T>();
    let length = bytes.len().min(size_of::<T>());
    // SAFETY: there are as many bytes in both, and any are a valid value (`Layout`).
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut copied).cast(), length) };
    copied
}

/// A copy of the structure that `bytes` begin with; nothing where they are too few.
pub fn copy<T: Layout>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: there are enough bytes, and any are a valid value (`Layout`).
    Some(unsafe { core::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{BlockKind, Text, block_word};
    use proptest::prelude::*;
    use std::vec::Vec;

    /// A table with texts of these lengths.
    fn table(texts: &[usize]) -> Vec<u8> {
        let mut bytes = std::vec![0; size_of::<Header>()];
        for &text in texts {
            let block = size_of::<Text>() + text * ALIGNMENT;
            bytes.extend(block_word(BlockKind::Text, block).to_le_bytes());
            bytes.resize(bytes.len() + block - size_of::<Block>(), b'x');
        }
        let used = bytes.len() as u64;
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(size_of::<Header>() as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&used.to_le_bytes());
        bytes
    }

    #[test]
    fn a_table_has_the_blocks_that_were_written_into_it() {
        let bytes = table(&[0, 3, 1]);
        let lengths: Vec<_> =
            Table::first(&bytes).unwrap().blocks().map(|block| block.get::<Text>().unwrap().1.len()).collect();
        assert_eq!(lengths, [0, 24, 8]);
    }

    #[test]
    fn what_follows_a_table_does_not_belong_to_it() {
        let bytes = [table(&[2]), table(&[])].concat();
        let first = Table::first(&bytes).unwrap();
        assert_eq!(first.blocks().count(), 1);
        assert!(Table::first(&bytes[first.bytes().len()..]).is_ok());
    }

    #[test]
    fn all_tables_of_a_file_are_read_up_to_what_is_none() {
        let bytes = [table(&[2]), table(&[]), table(&[0, 3, 1])].concat();
        let blocks =
            |bytes| -> Vec<_> { Table::all(bytes).map(|table| table.map(|whole| whole.blocks().count())).collect() };
        assert_eq!(blocks(&bytes), [Ok(1), Ok(0), Ok(3)]);
        assert_eq!(blocks(&bytes[..bytes.len() - 1]), [Ok(1), Ok(0), Err(Damage::Length)]);
        assert_eq!(blocks(&[]), []);
    }

    #[test]
    fn damage_is_named() {
        let mut bytes = table(&[2]);
        assert_eq!(Table::first(&bytes[..bytes.len() - 1]).unwrap_err(), Damage::Length);
        assert_eq!(Table::first(&bytes[..8]).unwrap_err(), Damage::NotATable);
        bytes[8] += 1;
        assert_eq!(Table::first(&bytes).unwrap_err(), Damage::Version(VERSION + 1));
        bytes[0] = b'?';
        assert_eq!(Table::first(&bytes).unwrap_err(), Damage::NotATable);
    }

    #[test]
    fn a_structure_that_has_grown_is_read_of_an_older_table() {
        let mut bytes = table(&[]);
        let length = offset_of!(Thread, storage);
        let begin = bytes.len();
        bytes.resize(begin + length, 7);
        bytes[begin..][..8].copy_from_slice(&block_word(BlockKind::Thread, length).to_le_bytes());
        let used = (bytes.len() as u64).to_le_bytes();
        bytes[16..24].copy_from_slice(&used);
        let (thread, behind) = Table::first(&bytes).unwrap().blocks().next().unwrap().get::<Thread>().unwrap();
        assert_eq!(thread.kernel[0].load(Relaxed), 0x0707_0707_0707_0707);
        assert_eq!((thread.storage[0].load(Relaxed), behind.len()), (0, 0));
    }

    #[test]
    fn a_shorter_header_of_an_older_table_is_read() {
        let older = [&table(&[])[..OLDEST_HEADER], &table(&[3])[size_of::<Header>()..]].concat();
        let mut bytes = older;
        let (used, header) = ((bytes.len() as u64).to_le_bytes(), (OLDEST_HEADER as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&used);
        bytes[12..16].copy_from_slice(&header);
        let table = Table::first(&bytes).unwrap();
        assert_eq!(table.header().storage_of_ended[0].load(Relaxed), 0);
        assert_eq!(table.blocks().map(|block| block.place).collect::<Vec<_>>(), [OLDEST_HEADER]);
    }

    proptest! {
        #[test]
        fn no_block_is_read_that_damage_touches(
            texts in prop::collection::vec(0..600_usize, 0..12),
            is_damaged in prop::collection::vec(any::<bool>(), 0..12),
            first_blocks in prop::collection::vec(any::<u16>(), 12),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
            offset in 0..20_000_u64,
        ) {
            let mut bytes = table(&texts);
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            let checksums: Vec<_> = first_blocks
                .iter()
                .flat_map(|first| [[0; 4], [first.to_le_bytes()[0], first.to_le_bytes()[1], 0, 0]].concat())
                .collect();
            let damage = DamagedChunks { chunk_bytes: 4096, is_damaged: &is_damaged, checksums: &checksums };
            if let Some(table) = Table::whole(&bytes) {
                let mut blocks = table.undamaged_blocks(offset, &damage);
                let mut read = 0;
                for block in &mut blocks {
                    let begin = offset + block.place as u64;
                    prop_assert!(!damage.touches(begin, begin + block.bytes.len() as u64));
                    read += block.bytes.len();
                }
                prop_assert_eq!(read + blocks.unread_bytes + table.header().header_bytes as usize, bytes.len());
            }
        }

        #[test]
        fn any_bytes_can_be_read(
            texts in prop::collection::vec(0..4_usize, 0..5),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = table(&texts);
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(table) = Table::first(&bytes) {
                let all: usize = table.blocks().map(|block| block.bytes.len()).sum();
                prop_assert!(size_of::<Header>() + all <= bytes.len());
            }
        }
    }
}
