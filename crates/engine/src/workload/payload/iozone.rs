//! What the real IOzone writes when nothing is said about verification or duplicates: pages of zeros, each of which
//! begins with one byte eight times. Which byte that is depends on IOzone's version.
//!
//! In some records the first page has in addition, at every line of the processor's cache, the length of such a line:
//! IOzone writes it there to fetch the buffer into the cache.

/// IOzone marks pages of this size.
const PAGE: usize = 4096;

/// Pages that must all look so: fewer could be anything.
const TELLING_PAGES: usize = 4;

/// Words of 8 bytes in a line of the processor's cache, as IOzone assumes it.
const LINE_WORDS: usize = 4;

/// True if `begin`, the first bytes of a file, is what IOzone writes.
pub(super) fn is_pattern(begin: &[u8]) -> bool {
    let pages = begin.chunks_exact(PAGE);
    let Some(&byte) = begin.first().filter(|&&byte| byte != 0) else { return false };
    pages.len() >= TELLING_PAGES && pages.into_iter().all(|page| is_page(page, byte))
}

fn is_page(page: &[u8], byte: u8) -> bool {
    let words = page.chunks_exact(8).enumerate();
    let fits = |(index, word): (usize, &[u8])| match index {
        0 => word.iter().all(|&found| found == byte),
        _ if index % LINE_WORDS == 0 => word[1..].iter().all(|&found| found == 0),
        _ => word.iter().all(|&found| found == 0),
    };
    words.into_iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As IOzone 3.471 wrote `-r 64k`: the first child's first page with the traces of fetching, the others without.
    fn file(byte: u8, fetched: bool) -> Vec<u8> {
        let mut file = vec![0; TELLING_PAGES * PAGE];
        for page in file.chunks_mut(PAGE) {
            if fetched {
                page.chunks_mut(32).for_each(|line| line[0] = 32);
            }
            page[..8].fill(byte);
        }
        file
    }

    #[test]
    fn iozone_s_pages_are_recognised_whatever_their_byte() {
        assert!(is_pattern(&file(0x20, true)));
        assert!(is_pattern(&file(0xa5, false)));
    }

    #[test]
    fn other_files_are_not() {
        assert!(!is_pattern(&file(0x20, true)[..3 * PAGE]), "a few pages prove nothing");
        for at in [1, 9, 33, PAGE, 3 * PAGE + 4004] {
            let mut changed = file(0x20, false);
            changed[at] ^= 0x41;
            assert!(!is_pattern(&changed), "{at}");
        }
        assert!(!is_pattern(&[0; 4 * PAGE]));
        assert!(!is_pattern(&[b' '; 4 * PAGE]));
        assert!(!is_pattern(b""));
        assert!(!is_pattern("a line of a thesis\n".repeat(1000).as_bytes()));
    }
}
