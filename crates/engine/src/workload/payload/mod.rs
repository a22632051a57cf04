//! What is written, and whether what is read is that.
//!
//! [`stream`] makes bytes that depend on file and offset alone, [`ior`] those of IOR's packet types; [`iozone`] knows what IOzone writes.
//! Not here: when something is written, and how a mismatch is handled.

mod ior;
mod iozone;
mod spot;
mod stream;

use std::ops::RangeInclusive;
use std::sync::Arc;

use ioassay_protocol::plan::data::Payload;

use self::ior::Packet;
pub use self::spot::{Sample, Spot};
use self::stream::{Pool, Stream};
use super::random::SplitMix64;

/// The first byte that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Its offset in the file.
    pub offset: u64,
    /// The 8 bytes (or fewer) from there on that were written.
    pub expected: Vec<u8>,
    /// The bytes that are there.
    pub actual: Vec<u8>,
    /// They are what [`poison`] put there: the read copied nothing to them.
    pub untouched: bool,
}

/// What no read leaves in a buffer but one that does not write there.
pub const POISON: u8 = 0xa5;

/// So many of it tell a sector that a read left as it was.
const POISONED: usize = 8;

/// The smallest unit in which storage and kernels move bytes.
const SECTOR: usize = 512;

/// Makes each sector of `buffer` begin with what is expected nowhere, before a read whose outcome is compared. A read that
/// reports success and copies nothing would otherwise be compared with what the buffer held before, which may be just what
/// is expected. Not all of the bytes: that takes 10 % of a verified read from memory.
#[inline]
pub fn poison(buffer: &mut [u8]) {
    for sector in buffer.chunks_mut(SECTOR) {
        match sector.first_chunk_mut() {
            Some(first) => *first = [POISON; POISONED],
            None => sector.fill(POISON),
        }
    }
}

/// True if all of `data` is as [`poison`] left it.
pub fn is_untouched(data: &[u8]) -> bool {
    data.iter().all(|&byte| byte == POISON)
}

/// The content of a file set.
#[derive(Debug, Clone)]
pub struct Content {
    payload: Payload,
    /// Keys of everything random in it.
    keys: [u64; 2],
    pool: Arc<Pool>,
}

impl Content {
    /// The content of the file set that is the `set`-th of a plan with `seed`.
    pub fn new(payload: Payload, seed: u64, set: u64) -> Self {
        Self { payload, keys: [seed, set], pool: Pool::new([seed, set]) }
    }

    /// True where each transfer has bytes of its own.
    pub fn per_transfer(&self) -> bool {
        !matches!(self.payload, Payload::Zero {} | Payload::Repeated {} | Payload::IorTimestamp { .. })
    }

    /// Fills `transfer` with what belongs at `spot`.
    pub fn fill(&self, transfer: &mut [u8], spot: Spot) {
        let [seed, set] = self.keys;
        match self.payload {
            Payload::Zero {} => transfer.fill(0),
            Payload::Repeated {} => SplitMix64::keyed(&[seed, set, u64::from(spot.part)]).fill(transfer),
            Payload::Unique {} => Stream::new(&self.pool, spot.file).fill(transfer, spot.offset),
            Payload::Reducible { zero_percent, duplicate_percent } => {
                let stream = Stream::new(&self.pool, spot.file);
                stream.reducible(zero_percent, duplicate_percent).fill(transfer, spot.offset);
            }
            Payload::IorTimestamp { signature } => ior::fill(transfer, Packet::Timestamp, signature, spot),
            Payload::IorOffset { signature } => ior::fill(transfer, Packet::Offset, signature, spot),
            Payload::IorIncompressible { signature } => ior::fill(transfer, Packet::Incompressible, signature, spot),
            Payload::IorRandom { signature } => ior::fill(transfer, Packet::Random, signature, spot),
        }
    }

    /// The same of a `transfer` that holds what belongs at some spot of the same part: what is the same in all of them is not
    /// made again, because that would take as much of the memory's bandwidth as a read (hpc/ior#249).
    pub fn refill(&self, transfer: &mut [u8], spot: Spot) {
        match self.payload {
            Payload::Zero {} | Payload::Repeated {} | Payload::IorTimestamp { .. } => {}
            Payload::IorOffset { .. } | Payload::IorIncompressible { .. } => ior::set_offsets(transfer, spot),
            Payload::Unique {} | Payload::Reducible { .. } | Payload::IorRandom { .. } => self.fill(transfer, spot),
        }
    }

    /// An error if `data`, a transfer that was read at `spot`, is not what [`Content::fill`] makes. `scratch` is as
    /// long, and holds what belongs at some spot of the same part.
    pub fn compare(&self, data: &[u8], scratch: &mut [u8], spot: Spot) -> Result<(), Mismatch> {
        self.refill(scratch, spot);
        compare(data, scratch, spot)
    }
}

/// An error if `data`, which was read at `spot`, is not what is `expected` there.
pub fn compare(data: &[u8], expected: &[u8], spot: Spot) -> Result<(), Mismatch> {
    if data == expected {
        return Ok(());
    }
    let index = data.iter().zip(expected).position(|(data, expected)| data != expected).unwrap_or(0);
    let end = data.len().min(index + 8);
    let offset = spot.offset + index as u64;
    let (expected, actual) = (expected[index..end].to_vec(), data[index..end].to_vec());
    Err(Mismatch { offset, untouched: is_untouched(&actual), expected, actual })
}

/// True if IOR wrote all `samples`: with the signature of `planned`, or one that is a time within `began_s`, in seconds
/// since 1970.
pub fn is_ior(samples: &[Sample], planned: Payload, began_s: RangeInclusive<i64>) -> bool {
    let signature = match planned {
        Payload::IorTimestamp { signature }
        | Payload::IorOffset { signature }
        | Payload::IorIncompressible { signature }
        | Payload::IorRandom { signature } => Some(signature),
        Payload::Zero {} | Payload::Repeated {} | Payload::Unique {} | Payload::Reducible { .. } => None,
    };
    ior::are_packets(samples, signature, began_s)
}

/// True if IOzone wrote all `samples`.
pub fn is_iozone(samples: &[Sample]) -> bool {
    iozone::are_pages(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_payload() -> impl Strategy<Value = Payload> {
        prop_oneof![
            Just(Payload::Zero {}),
            Just(Payload::Repeated {}),
            Just(Payload::Unique {}),
            (0..=100_u8, 0..=100_u8)
                .prop_map(|(zero_percent, duplicate_percent)| Payload::Reducible { zero_percent, duplicate_percent }),
            any::<i32>().prop_map(|signature| Payload::IorOffset { signature }),
            any::<i32>().prop_map(|signature| Payload::IorTimestamp { signature }),
            any::<i32>().prop_map(|signature| Payload::IorIncompressible { signature }),
            any::<i32>().prop_map(|signature| Payload::IorRandom { signature }),
        ]
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found_with_its_offset(
            payload in any_payload(), bytes in 1..9000_usize, offset in 0..1_u64 << 40, position: prop::sample::Index, part: u32,
        ) {
            let content = Content::new(payload, 1, 2);
            let spot = Spot { file: 3, part, offset };
            let (mut written, mut scratch) = (vec![0; bytes], vec![0; bytes]);
            content.fill(&mut written, spot);
            content.fill(&mut scratch, Spot { offset: 0, ..spot });
            prop_assert_eq!(content.compare(&written, &mut scratch, spot), Ok(()));
            let position = position.index(bytes);
            let was = written[position];
            written[position] ^= 0x40;
            let mismatch = content.compare(&written, &mut scratch, spot).unwrap_err();
            prop_assert_eq!(mismatch.offset, offset + position as u64);
            prop_assert_eq!((mismatch.expected[0], mismatch.actual[0]), (was, was ^ 0x40));
        }

        /// Whatever the buffer held before: here just what is expected.
        #[test]
        fn a_read_that_leaves_a_sector_as_it_was_is_found(
            payload in any_payload(), bytes in 1..9000_usize, begin: prop::sample::Index, part: u32,
        ) {
            let content = Content::new(payload, 1, 2);
            let spot = Spot { file: 3, part, offset: 1 << 20 };
            let (mut expected, mut scratch) = (vec![0; bytes], vec![0; bytes]);
            content.fill(&mut expected, spot);
            content.fill(&mut scratch, spot);
            let mut buffer = expected.clone();
            poison(&mut buffer);
            let whole = content.compare(&buffer, &mut scratch, spot).unwrap_err();
            prop_assert!(whole.untouched || expected[0] == POISON, "{:?}", whole);
            // The beginning of a sector, or all of it, is within.
            let begin = begin.index(bytes).saturating_sub(SECTOR + POISONED);
            let end = bytes.min(begin + SECTOR + POISONED);
            buffer[..begin].copy_from_slice(&expected[..begin]);
            buffer[end..].copy_from_slice(&expected[end..]);
            prop_assert!(content.compare(&buffer, &mut scratch, spot).is_err());
        }

        /// A file written in one size of transfers can be verified in another, at any offset.
        #[test]
        fn what_is_unique_depends_on_file_and_offset_and_not_on_the_transfer(
            reducible: bool, offset in 0..20_000_u64, cuts in proptest::collection::vec(1..5_000_usize, 1..8),
        ) {
            let payload = if reducible {
                Payload::Reducible { zero_percent: 30, duplicate_percent: 50 }
            } else {
                Payload::Unique {}
            };
            let content = Content::new(payload, 1, 2);
            let bytes = cuts.iter().sum();
            let mut whole = vec![0; bytes];
            content.fill(&mut whole, Spot { file: 3, part: 0, offset });
            let mut begin = 0;
            for cut in cuts {
                let mut piece = vec![0; cut];
                content.fill(&mut piece, Spot { file: 3, part: 9, offset: offset + begin as u64 });
                prop_assert_eq!(&piece, &whole[begin..begin + cut]);
                begin += cut;
            }
        }
    }

    #[test]
    fn files_sets_and_seeds_differ_and_parts_of_what_is_repeated() {
        let bytes = |payload, seed, set, file, part| {
            let mut bytes = vec![0; 64];
            Content::new(payload, seed, set).fill(&mut bytes, Spot { file, part, offset: 4096 });
            bytes
        };
        let first = bytes(Payload::Unique {}, 1, 1, 1, 0);
        for other in [(2, 1, 1), (1, 2, 1), (1, 1, 2)] {
            assert_ne!(first, bytes(Payload::Unique {}, other.0, other.1, other.2, 0));
        }
        assert_ne!(bytes(Payload::Repeated {}, 1, 1, 1, 0), bytes(Payload::Repeated {}, 1, 1, 1, 1));
    }
}
