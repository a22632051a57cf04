//! Where a transfer lies, and what is there already.

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

/// The beginning of a transfer that is there already.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Where it lies, and whose part it would be.
    pub spot: Spot,
    /// What is there.
    pub bytes: Vec<u8>,
}
