//! Requests in flight, by what their completions will say of them.
//!
//! A table of fixed size that any bytes are a valid value of. A request is in one of a few places that follow from its
//! `user_data`; where they are taken it has none, and is counted without its completion.

use crate::operation::Operation;

/// Places that a request may be in.
const WINDOW: usize = 8;
/// Of a table.
pub const SMALLEST_TABLE: usize = 64;
const LARGEST_TABLE: usize = 1 << 13;

/// How long the table of a ring is to be that has room for so many completions.
pub fn table_entries(completion_entries: u32) -> usize {
    (completion_entries as usize * 2).clamp(SMALLEST_TABLE, LARGEST_TABLE).next_power_of_two()
}

/// A request in flight, or a free place: all zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What its completions say.
    pub user_data: u64,
    /// That it asks for; [`UNKNOWN_BYTES`] where that is unknown.
    pub bytes: u64,
    /// From where; [`NO_OFFSET`] where that is unknown.
    pub offset: u64,
    /// Place of the file.
    pub file: u32,
    /// Offsets that are no multiple of it are misaligned.
    pub block_bytes: u32,
    /// In the ring.
    pub position: u32,
    /// Operation plus 2; 1 is a request that is not counted, 0 a free place. And [`HAS_COMPLETED`], [`CHOOSES_PLACE`].
    pub(super) kind: u32,
}

/// Instead of a number of bytes.
pub const UNKNOWN_BYTES: u64 = u64::MAX;
/// In a kind: it had completions, and others follow.
const HAS_COMPLETED: u32 = 1 << 31;
/// In a kind: its completion says which of the ring's places it has filled.
const CHOOSES_PLACE: u32 = 1 << 30;
/// Instead of an offset.
pub const NO_OFFSET: u64 = u64::MAX;

impl Entry {
    /// A free place.
    pub const FREE: Self = Self { user_data: 0, bytes: 0, offset: 0, file: 0, block_bytes: 0, position: 0, kind: 0 };

    /// A request of an operation, or one that is not counted.
    pub fn new(operation: Option<Operation>, user_data: u64, position: u32) -> Self {
        let kind = operation.map_or(1, |operation| operation as u32 + 2);
        Self { user_data, bytes: UNKNOWN_BYTES, offset: NO_OFFSET, file: 0, block_bytes: 0, position, kind }
    }

    /// It fills one of the ring's places, which the kernel chooses.
    pub fn choosing_place(self) -> Self {
        Self { kind: self.kind | CHOOSES_PLACE, ..self }
    }

    /// What it does, if that is counted.
    pub fn operation(&self) -> Option<Operation> {
        let kind = self.kind & !(HAS_COMPLETED | CHOOSES_PLACE);
        Operation::ALL.get((kind as usize).checked_sub(2)?).copied()
    }

    /// Whether it had completions, and others follow.
    pub fn has_completed(&self) -> bool {
        self.kind & HAS_COMPLETED != 0
    }

    /// Whether its completion says which of the ring's places it has filled.
    pub fn chooses_place(&self) -> bool {
        self.kind & CHOOSES_PLACE != 0
    }

    fn is_free(&self) -> bool {
        self.kind == 0
    }
}

/// The result of adding a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// Its completion will find it.
    Yes,
    /// All its places are taken.
    Full,
    /// Another one in flight has the same `user_data`.
    Ambiguous,
}

/// The table of a ring.
pub struct Table<'a>(&'a mut [Entry]);

impl<'a> Table<'a> {
    /// In that memory, of a power of two and at least [`SMALLEST_TABLE`] entries.
    pub fn new(entries: &'a mut [Entry]) -> Option<Self> {
        (entries.len() >= SMALLEST_TABLE && entries.len().is_power_of_two()).then_some(Self(entries))
    }

    /// The first of the places of a request.
    fn first(&self, user_data: u64) -> usize {
        // Often an address, or a number that counts: the best bits of a product are its upper ones.
        (user_data.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.0.len() - 1)
    }

    fn places(&self, user_data: u64) -> impl Iterator<Item = usize> + use<> {
        let (first, mask) = (self.first(user_data), self.0.len() - 1);
        (0..WINDOW).map(move |step| (first + step) & mask)
    }

    /// Adds a request.
    pub fn add(&mut self, entry: Entry) -> Added {
        let mut free = None;
        for place in self.places(entry.user_data) {
            let present = &self.0[place];
            if present.is_free() {
                free = free.or(Some(place));
            } else if present.user_data == entry.user_data {
                if present.operation().is_none() && entry.operation().is_none() {
                    // Of either only the end matters.
                    return Added::Yes;
                }
                return Added::Ambiguous;
            }
        }
        match free {
            Some(place) => {
                self.0[place] = entry;
                Added::Yes
            }
            None => Added::Full,
        }
    }

    /// The request that a completion is of. It stays if others will follow.
    pub fn complete(&mut self, user_data: u64, more: bool) -> Option<Entry> {
        let place = self.places(user_data).find(|&place| {
            let entry = &self.0[place];
            !entry.is_free() && entry.user_data == user_data
        })?;
        let entry = self.0[place];
        self.0[place].kind = if more { entry.kind | HAS_COMPLETED } else { 0 };
        Some(entry)
    }

    /// Takes out all that are in it.
    pub fn drain(&mut self) -> impl Iterator<Item = Entry> {
        self.0.iter_mut().filter(|entry| !entry.is_free()).map(|entry| {
            let request = *entry;
            entry.kind = 0;
            request
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::SubmitRead;
    use std::vec;

    #[test]
    fn a_request_is_found_by_its_completion_once() {
        let mut entries = vec![Entry::FREE; SMALLEST_TABLE];
        let mut table = Table::new(&mut entries).unwrap();
        for user_data in 0..32 {
            assert_eq!(table.add(Entry::new(Some(SubmitRead), user_data << 12, 7)), Added::Yes, "{user_data}");
        }
        for user_data in 0..32 {
            let request = table.complete(user_data << 12, false).unwrap();
            assert_eq!((request.operation(), request.position), (Some(SubmitRead), 7));
            assert_eq!(table.complete(user_data << 12, false), None);
        }
    }

    #[test]
    fn one_with_more_completions_stays() {
        let mut entries = vec![Entry::FREE; SMALLEST_TABLE];
        let mut table = Table::new(&mut entries).unwrap();
        table.add(Entry::new(Some(SubmitRead), 5, 0));
        assert!(table.complete(5, true).is_some() && table.complete(5, false).is_some());
        assert_eq!(table.complete(5, false), None);
    }

    #[test]
    fn two_transfers_with_the_same_user_data_are_ambiguous_but_not_two_others() {
        let mut entries = vec![Entry::FREE; SMALLEST_TABLE];
        let mut table = Table::new(&mut entries).unwrap();
        assert_eq!(table.add(Entry::new(None, 1, 0)), Added::Yes);
        assert_eq!(table.add(Entry::new(None, 1, 0)), Added::Yes);
        assert_eq!(table.add(Entry::new(Some(SubmitRead), 1, 0)), Added::Ambiguous);
        assert_eq!(table.add(Entry::new(Some(SubmitRead), 2, 0)), Added::Yes);
        assert_eq!(table.add(Entry::new(None, 2, 0)), Added::Ambiguous);
    }

    #[test]
    fn a_table_that_is_full_says_so_and_gives_back_what_it_has() {
        let mut entries = vec![Entry::FREE; SMALLEST_TABLE];
        let mut table = Table::new(&mut entries).unwrap();
        let added =
            (0..1000).filter(|&user_data| table.add(Entry::new(Some(SubmitRead), user_data, 0)) == Added::Yes).count();
        assert!((WINDOW..=SMALLEST_TABLE).contains(&added), "{added}");
        assert_eq!(table.drain().count(), added);
        assert_eq!(table.drain().count(), 0);
    }
}
