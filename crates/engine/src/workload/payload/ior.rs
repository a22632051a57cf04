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

/// Fewer words than this could be anything.
const TELLING_WORDS: usize = 8;

/// True if `begin`, the first bytes of a file, is the beginning of a packet of any type and signature, and of those
/// after it where they are shorter.
pub(super) fn is_packet(begin: &[u8]) -> bool {
    let words: Vec<u64> =
        begin.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
    // Only the lower half counts: the upper one has the rank, and changes where a negative signature passes 0.
    let counts = |word: u64, next: u64| next as u32 == (word as u32).wrapping_add(1);
    let stays = |word: u64, next: u64| next == word && word != 0;
    let draws = |word: u64, next: u64| next == word.wrapping_mul(RANDOM_FACTOR) >> 3 && word != 0;
    is_made_by(&words, counts, true) || is_made_by(&words, stays, true) || is_made_by(&words, draws, false)
}

/// True if each word follows from the one before it, except at the beginnings of transfers, which are equally far apart:
/// the first word of each may be an offset, and the second one is the same in all of them if they are `alike`.
fn is_made_by(words: &[u64], follows: impl Fn(u64, u64) -> bool, alike: bool) -> bool {
    let transfer = 2 + (2..words.len()).take_while(|&index| follows(words[index - 1], words[index])).count();
    let fits = |index: usize| match index % transfer {
        0 => true,
        1 => !alike || words[index] == words[1],
        _ => follows(words[index - 1], words[index]),
    };
    transfer >= TELLING_WORDS && (transfer..words.len()).all(fits)
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

    #[test]
    fn packets_of_every_type_are_recognised_without_their_signature_and_other_files_are_not() {
        for packet in [Packet::Timestamp, Packet::Offset, Packet::Incompressible, Packet::Random] {
            for (signature, part, transfer) in [(27, 0, 262_144), (-5, 3, 4096), (1_763_000_000, 7, 64), (9, 1, 47_008)]
            {
                let mut file = vec![0; 4096];
                for (index, bytes) in file.chunks_mut(transfer).enumerate() {
                    let mut whole = vec![0; transfer];
                    let offset = (index * transfer) as u64;
                    fill(&mut whole, packet, signature, Spot { file: 0, part, offset });
                    bytes.copy_from_slice(&whole[..bytes.len()]);
                }
                assert!(is_packet(&file), "{packet:?} {signature} {part} {transfer}");
                assert!(!is_packet(&file[..40]), "a few words prove nothing");
                // Two words in the middle that do not belong there; a single one might be the offset of a transfer.
                file[80] ^= 1;
                file[104] ^= 1;
                assert!(!is_packet(&file), "{packet:?} {signature} {part} {transfer}");
            }
        }
        for text in ["", "years of work\n", &"a line of a thesis\n".repeat(200)] {
            assert!(!is_packet(text.as_bytes()));
        }
        assert!(!is_packet(&[0; 4096]));
        assert!(!is_packet(&(0..=255).cycle().take(4096).collect::<Vec<u8>>()));
    }
}
