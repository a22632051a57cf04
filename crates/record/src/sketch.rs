//! About how many different names there are, without keeping them: HyperLogLog. Sketches of the same names are the same, and
//! those of several processes are added by their greatest registers.

/// Of a sketch: the number is right to 3 % (standard error).
pub const REGISTERS: usize = 1024;

/// What a name leaves, by its hash: a register, and what that has at least.
pub fn mark(hash: u64) -> (usize, u8) {
    let bits = REGISTERS.trailing_zeros();
    let rest = hash << bits | 1 << (bits - 1);
    ((hash >> (64 - bits)) as usize, rest.leading_zeros() as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leaves_the_zeros_that_its_hash_begins_with() {
        assert_eq!(mark(0), (0, 55));
        assert_eq!(mark(u64::MAX), (1023, 1));
        assert_eq!(mark(5 << 54 | 1 << 52), (5, 2));
    }
}
