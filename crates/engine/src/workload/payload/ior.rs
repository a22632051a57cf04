//! IOR's packet types, byte for byte as IOR 4.1 writes them (hpc/ior, src/utilities.c), so that either can verify what the
//! other wrote with `-l TYPE -G SIGNATURE`.
//!
//! They depend on the rank that writes, on the signature, and, except for the timestamp, on the offset of the
//! *transfer*: a file must be verified in transfers of the size in which it was written.

use super::Spot;

/// IOR's `-l`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packet {
    /// The same in every transfer of a rank.
    Timestamp,
    /// The timestamp, with the offset at the beginning of every 4 KiB.
    Offset,
    /// One 64-bit word for all (it does compress), with the offset at the beginning of every 4 KiB.
    Incompressible,
    /// A generator seeded with signature, rank and offset.
    Random,
}

/// Words of 8 bytes in 4 KiB.
const BLOCK_WORDS: usize = 512;

/// The factor of IOR's generator for random packets.
const RANDOM_FACTOR: u64 = 0x9e37_ffff_fffc_0001;

unsafe extern "C" {
    /// The C library's, which is what IOR calls on this system.
    fn rand_r(seed: *mut libc::c_uint) -> libc::c_int;
}

fn draw(seed: &mut u32) -> u64 {
    // SAFETY: `seed` is a valid unsigned int.
    unsafe { rand_r(seed) as u64 }
}

/// Makes `transfer` what IOR writes at `spot`.
pub(super) fn fill(transfer: &mut [u8], packet: Packet, signature: i32, spot: Spot) {
    let rank = u64::from(spot.part) << 32;
    let words = transfer.len() / 8;
    let (whole, rest) = transfer.split_at_mut(words * 8);
    match packet {
        Packet::Timestamp | Packet::Offset => {
            // IOR adds an int to a size_t: a negative signature fills the upper half.
            let base = i64::from(signature) as u64;
            set(whole, |index| rank | base.wrapping_add(index as u64));
        }
        Packet::Incompressible => {
            let mut seed = (signature as u32).wrapping_add(spot.part);
            let upper = draw(&mut seed) << 32;
            let word = upper | draw(&mut seed);
            set(whole, |_| word);
        }
        Packet::Random => {
            let mut seed = (signature as u32).wrapping_add(spot.part).wrapping_add(spot.offset as u32);
            let mut state = draw(&mut seed);
            set(whole, |_| {
                state = state.wrapping_mul(RANDOM_FACTOR) >> 3;
                state
            });
        }
    }
    if matches!(packet, Packet::Offset | Packet::Incompressible) {
        for (block, bytes) in (1..).zip(whole.chunks_mut(BLOCK_WORDS * 8)) {
            let item = u64::from((spot.offset as u32).wrapping_mul(block));
            bytes[..8].copy_from_slice(&(item | rank).to_le_bytes());
        }
    }
    for (index, byte) in (words * 8..).zip(rest) {
        *byte = index as u8;
    }
}

fn set(whole: &mut [u8], mut word: impl FnMut(usize) -> u64) {
    for (index, bytes) in whole.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&word(index).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(packet: Packet, signature: i32, part: u32, offset: u64, count: usize) -> Vec<u64> {
        let mut bytes = vec![0; count * 8];
        fill(&mut bytes, packet, signature, Spot { file: 0, part, offset });
        bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn a_timestamp_counts_on_from_the_signature_beside_the_rank() {
        assert_eq!(words(Packet::Timestamp, 27, 3, 1 << 20, 3), [3 << 32 | 27, 3 << 32 | 28, 3 << 32 | 29]);
        assert_eq!(words(Packet::Timestamp, -1, 0, 0, 2), [u64::MAX, 0]);
    }

    #[test]
    fn offsets_stand_at_the_beginning_of_every_4_kib() {
        let words = words(Packet::Offset, 5, 2, 0x1_0000_2000, 1025);
        assert_eq!(
            (words[0], words[1], words[512], words[1024]),
            (2 << 32 | 0x2000, 2 << 32 | 6, 2 << 32 | 0x4000, 2 << 32 | 0x6000)
        );
    }

    #[test]
    fn bytes_behind_the_last_word_count_themselves() {
        let mut bytes = [0; 21];
        fill(&mut bytes, Packet::Random, 1, Spot { file: 0, part: 0, offset: 0 });
        assert_eq!(bytes[16..], [16, 17, 18, 19, 20]);
        let mut few = [9; 5];
        fill(&mut few, Packet::Offset, 1, Spot { file: 0, part: 0, offset: 0 });
        assert_eq!(few, [0, 1, 2, 3, 4]);
    }
}
