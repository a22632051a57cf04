//! Tables out of bytes that nobody vouches for: another user may have written them, a crash may have cut them.
//!
//! Nothing here panics or reads outside of the bytes, whatever they are.

use core::mem::size_of;

use crate::layout::Layout;
use crate::table::{ALIGNMENT, Block, BlockLayout, Header, LARGEST, MAGIC, VERSION};

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

/// A table, whose header is sound.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    bytes: &'a [u8],
}

/// A block of a table: its structure can be had if it is of its kind and long enough.
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
        let header = copy::<Header>(bytes).ok_or(Damage::NotATable)?;
        if header.magic != MAGIC {
            return Err(Damage::NotATable);
        }
        if header.version != VERSION {
            return Err(Damage::Version(header.version));
        }
        let used = header.used_bytes.into_inner();
        let whole = size_of::<Header>() as u64..=bytes.len().min(LARGEST) as u64;
        if header.header_bytes as usize != size_of::<Header>() || !whole.contains(&used) {
            return Err(Damage::Length);
        }
        Ok(Self { bytes: &bytes[..used as usize] })
    }

    /// The tables of a file, one after another, up to its end or what is no table.
    pub fn all(mut bytes: &'a [u8]) -> impl Iterator<Item = Result<Self, Damage>> {
        core::iter::from_fn(move || {
            let found = (!bytes.is_empty()).then(|| Self::first(bytes))?;
            bytes = found.map_or(&[], |table| &bytes[table.bytes.len()..]);
            Some(found)
        })
    }

    /// All of it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its header.
    pub fn header(&self) -> Header {
        copy(self.bytes).expect("it was there when the table was found")
    }

    /// Its blocks, up to the first that cannot be.
    pub fn blocks(&self) -> impl Iterator<Item = BlockBytes<'a>> + use<'a> {
        let bytes = self.bytes;
        let mut place = size_of::<Header>();
        core::iter::from_fn(move || {
            let rest = bytes.get(place..)?;
            let word = copy::<Block>(rest)?.kind_and_bytes.into_inner();
            let length = word as u32 as usize;
            if length < size_of::<Block>() || !length.is_multiple_of(ALIGNMENT) {
                return None;
            }
            let block = BlockBytes { place, kind: (word >> 32) as u32, bytes: rest.get(..length)? };
            place += length;
            Some(block)
        })
    }
}

impl<'a> BlockBytes<'a> {
    /// A copy of its structure, and the bytes that follow; nothing where it is of another kind.
    pub fn get<T: BlockLayout>(&self) -> Option<(T, &'a [u8])> {
        if self.kind != T::KIND as u32 {
            return None;
        }
        Some((copy(self.bytes)?, &self.bytes[size_of::<T>()..]))
    }
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
            |bytes| -> Vec<_> { Table::all(bytes).map(|table| table.map(|one| one.blocks().count())).collect() };
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

    proptest! {
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
