//! What the real IOzone writes without options about verification or duplicates: pages of zeros, each of which
//! begins with one byte eight times. Which byte that is depends on IOzone's version.
//!
//! In some records the first page has in addition, at every line of the processor's cache, the length of such a line:
//! IOzone writes it there to fetch the buffer into the cache.

use super::spot::Sample;

/// IOzone marks pages of this size.
const PAGE: usize = 4096;

/// Pages that must all look so: fewer could be anything.
const TELLING_PAGES: usize = 4;

/// Words of 8 bytes in a line of the processor's cache, as IOzone assumes it.
const LINE_WORDS: usize = 4;

/// True if all `samples`, beginnings of records, are what IOzone writes. Zeros, and ones that others fill headers with, are
/// none of its bytes.
pub(super) fn are_pages(samples: &[Sample]) -> bool {
    let pages = || samples.iter().flat_map(|sample| sample.bytes.chunks(PAGE));
    let Some(byte) = pages().next().map(|page| page[0]).filter(|byte| !matches!(byte, 0 | 0xff)) else { return false };
    pages().count() >= TELLING_PAGES && pages().all(|page| page.len() == PAGE && is_page(page, byte))
}

fn is_page(page: &[u8], byte: u8) -> bool {
    let words = page.chunks_exact(8).enumerate();
    let fits = |(index, word): (usize, &[u8])| match index {
        0 => word.iter().all(|&actual| actual == byte),
        _ if index % LINE_WORDS == 0 => word[1..].iter().all(|&actual| actual == 0),
        _ => word.iter().all(|&actual| actual == 0),
    };
    words.into_iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::payload::Spot;

    /// As IOzone 3.471 wrote `-r 64k`: the first child's first page with the traces of fetching, the others without.
    fn records(byte: u8, fetched: bool) -> Vec<Sample> {
        let mut bytes = vec![0; 2 * PAGE];
        for page in bytes.chunks_mut(PAGE) {
            if fetched {
                page.chunks_mut(32).for_each(|line| line[0] = 32);
            }
            page[..8].fill(byte);
        }
        vec![Sample { spot: Spot { file: 0, part: 0, offset: 0 }, bytes }; 2]
    }

    #[test]
    fn iozone_s_pages_are_recognised_whatever_their_byte() {
        assert!(are_pages(&records(0x20, true)));
        assert!(are_pages(&records(0xa5, false)));
    }

    #[test]
    fn other_files_are_not() {
        assert!(!are_pages(&records(0x20, true)[..1]), "a few pages prove nothing");
        for position in [1, 9, 33, PAGE, PAGE + 4004] {
            let mut changed = records(0x20, false);
            changed[1].bytes[position] ^= 0x41;
            assert!(!are_pages(&changed), "{position}");
        }
        for filled in [0, 0xff] {
            assert!(!are_pages(&records(filled, false)), "{filled}");
        }
        let mut short = records(0x20, false);
        short.iter_mut().for_each(|sample| sample.bytes.truncate(PAGE + 512));
        assert!(!are_pages(&short));
        assert!(!are_pages(&[]));
    }
}
