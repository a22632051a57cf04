//! IOR's packet types, byte for byte as IOR 4.1 writes them (hpc/ior, src/utilities.c), so that either can verify what the
//! other wrote with `-l TYPE -G SIGNATURE`.
//!
//! They depend on the rank that writes, on the signature, and, except for the timestamp, on the offset of the
//! *transfer*: a file must be verified in transfers of the size in which it was written.

use std::ops::RangeInclusive;

use super::spot::{Sample, Spot};

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
            let word = incompressible(signature, spot);
            set(whole, |_| word);
        }
        Packet::Random => {
            let mut state = random_seed(signature, spot);
            set(whole, |_| {
                state = next_random(state);
                state
            });
        }
    }
    for (index, byte) in (words * 8..).zip(rest) {
        *byte = index as u8;
    }
    if matches!(packet, Packet::Offset | Packet::Incompressible) {
        set_offsets(transfer, spot);
    }
}

/// Makes what depends on the offset in a transfer of [`Packet::Offset`] or [`Packet::Incompressible`] what IOR writes at
/// `spot`; all else is the same in the whole part.
pub(super) fn set_offsets(transfer: &mut [u8], spot: Spot) {
    let rank = u64::from(spot.part) << 32;
    for (block, bytes) in (1..).zip(transfer.chunks_mut(BLOCK_WORDS * 8)) {
        if let Some(word) = bytes.first_chunk_mut() {
            let item = u64::from((spot.offset as u32).wrapping_mul(block));
            *word = (item | rank).to_le_bytes();
        }
    }
}

/// The word that an incompressible packet is made of.
fn incompressible(signature: i32, spot: Spot) -> u64 {
    let mut seed = (signature as u32).wrapping_add(spot.part);
    let upper = draw(&mut seed) << 32;
    upper | draw(&mut seed)
}

/// What the generator of a random packet begins with.
fn random_seed(signature: i32, spot: Spot) -> u64 {
    draw(&mut (signature as u32).wrapping_add(spot.part).wrapping_add(spot.offset as u32))
}

fn next_random(state: u64) -> u64 {
    state.wrapping_mul(RANDOM_FACTOR) >> 3
}

fn set(whole: &mut [u8], mut word: impl FnMut(usize) -> u64) {
    for (index, bytes) in whole.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&word(index).to_le_bytes());
    }
}

/// Fewer words than this in a transfer could be anything.
const TELLING_WORDS: usize = 8;

/// True if all `samples`, beginnings of transfers, are what IOR writes there, in packets of one type and with one
/// signature: `planned`, or a time in seconds since 1970 within `began_s`.
pub(super) fn are_packets(samples: &[Sample], planned: Option<i32>, began_s: RangeInclusive<i64>) -> bool {
    let Some(first) = samples.first().filter(|_| samples.iter().all(|sample| sample.bytes.len() >= TELLING_WORDS * 8))
    else {
        return false;
    };
    let mut scratch = vec![0; first.bytes.len()];
    let mut fits = |packet: Packet, signature: i32, sample: &Sample| {
        scratch.resize(sample.bytes.len(), 0);
        fill(&mut scratch, packet, signature, sample.spot);
        scratch == sample.bytes
    };
    let word = |index: usize| u64::from_le_bytes(first.bytes[index * 8..][..8].try_into().expect("8 bytes"));
    let may_be = |signature: i32| planned == Some(signature) || began_s.contains(&i64::from(signature));
    let begins: Vec<i32> =
        planned.into_iter().chain(began_s.clone().filter_map(|second| second.try_into().ok())).collect();
    // The second word has no offset in it.
    let counted = (word(1) as u32).wrapping_sub(1) as i32;
    let constant = (word(1) == word(2))
        .then(|| begins.iter().copied().find(|&signature| word(1) == incompressible(signature, first.spot)));
    let drawn = (word(1) == next_random(word(0)))
        .then(|| begins.iter().copied().find(|&signature| word(0) == next_random(random_seed(signature, first.spot))));
    let candidates = [
        (Packet::Timestamp, Some(counted)),
        (Packet::Offset, Some(counted)),
        (Packet::Incompressible, constant.flatten()),
        (Packet::Random, drawn.flatten()),
    ];
    let mut candidates = candidates.into_iter().filter_map(|(packet, signature)| Some((packet, signature?)));
    candidates
        .any(|(packet, signature)| may_be(signature) && samples.iter().all(|sample| fits(packet, signature, sample)))
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

    const TYPES: [Packet; 4] = [Packet::Timestamp, Packet::Offset, Packet::Incompressible, Packet::Random];

    /// The beginnings of the transfers of `part`, as IOR writes them.
    fn samples(packet: Packet, signature: i32, part: u32, transfer: usize) -> Vec<Sample> {
        let sample = |index: u64| {
            let spot = Spot { file: 0, part, offset: index * 5 * transfer as u64 };
            let mut bytes = vec![0; transfer];
            fill(&mut bytes, packet, signature, spot);
            Sample { spot, bytes }
        };
        (0..3).map(sample).collect()
    }

    #[test]
    fn packets_are_known_by_their_own_signature_or_by_the_time_when_they_were_written() {
        let now = 1_763_000_000_i64;
        for packet in TYPES {
            for (part, transfer) in [(0, 262_144), (3, 4096), (7, 64), (1, 47_008)] {
                let began = samples(packet, now as i32, part, transfer);
                assert!(are_packets(&began, None, now - 60..=now + 60), "{packet:?} {part} {transfer}");
                assert!(!are_packets(&began, Some(5), now + 1..=now + 60), "{packet:?}: another time");
                let written = samples(packet, -5, part, transfer);
                assert!(are_packets(&written, Some(-5), now - 60..=now), "{packet:?} {part} {transfer}");
                assert!(!are_packets(&written, None, now - 60..=now), "{packet:?}: nobody's signature");
            }
        }
    }

    #[test]
    fn one_wrong_byte_another_rank_or_a_short_transfer_is_no_packet() {
        let now = 1_763_000_000_i64;
        let known = |samples: &[Sample]| are_packets(samples, None, now - 60..=now);
        for packet in TYPES {
            let whole = samples(packet, now as i32, 2, 4096);
            for (sample, position) in [(0, 0), (1, 2000), (2, 4095)] {
                let mut changed = whole.clone();
                changed[sample].bytes[position] ^= 1;
                assert!(!known(&changed), "{packet:?} {sample} {position}");
            }
            let mut other = whole.clone();
            other[1].spot.part = 3;
            assert!(!known(&other), "{packet:?}: the file of another rank");
            assert!(!known(&samples(packet, now as i32, 2, 56)), "{packet:?}: a few words prove nothing");
        }
        assert!(!known(&[]));
    }
}
