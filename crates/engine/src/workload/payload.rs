//! What is written, and whether what is read is that.

use ioassay_contract::plan::data::Payload;

use super::random::SplitMix64;

/// Where a transfer lies.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    /// Number of the file in its set.
    pub file: u64,
    /// The part that it belongs to: the rank that writes it.
    pub part: u32,
    /// Offset in the file.
    pub offset: u64,
}

/// The first byte that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Its offset in the file.
    pub offset: u64,
    /// The 8 bytes (or fewer) from there on that were written.
    pub expected: Vec<u8>,
    /// The bytes that are there.
    pub found: Vec<u8>,
}

/// The content of a file set.
#[derive(Debug, Clone)]
pub struct Content {
    payload: Payload,
    /// Keys of everything random in it.
    keys: [u64; 2],
}

impl Content {
    /// The content of the file set that is the `set`-th of a plan with `seed`.
    pub fn new(payload: Payload, seed: u64, set: u64) -> Self {
        Self { payload, keys: [seed, set] }
    }

    /// True where each transfer has bytes of its own, so that it must be filled anew.
    pub fn per_transfer(&self) -> bool {
        !matches!(self.payload, Payload::Zero | Payload::Repeated)
    }

    /// Fills `buffer` with what belongs at `spot`.
    pub fn fill(&self, buffer: &mut [u8], spot: Spot) {
        let [seed, set] = self.keys;
        match self.payload {
            Payload::Zero => buffer.fill(0),
            Payload::Repeated => SplitMix64::keyed(&[seed, set, u64::from(spot.part)]).fill(buffer),
            _ => SplitMix64::keyed(&[seed, set, spot.file, spot.offset]).fill(buffer),
        }
    }

    /// An error if `found`, which was read at `spot`, is not what [`Content::fill`] makes. `scratch` is as long.
    pub fn compare(&self, found: &[u8], scratch: &mut [u8], spot: Spot) -> Result<(), Mismatch> {
        self.fill(scratch, spot);
        if found == scratch {
            return Ok(());
        }
        let at = found.iter().zip(scratch.iter()).position(|(found, expected)| found != expected).unwrap_or(0);
        let end = found.len().min(at + 8);
        Err(Mismatch {
            offset: spot.offset + at as u64,
            expected: scratch[at..end].to_vec(),
            found: found[at..end].to_vec(),
        })
    }
}
