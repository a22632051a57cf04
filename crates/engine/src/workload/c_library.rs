//! The C library's `rand`, with which IOR draws: with the same seed the same numbers on the same system.

/// The generator. There is one per process: only the last one made is in use.
#[derive(Debug)]
pub struct CLibrary(());

impl CLibrary {
    /// The generator, with its sequence begun anew.
    pub fn seeded(seed: u32) -> Self {
        // SAFETY: no other thread uses the generator: ranks, and what starts them, have one thread.
        unsafe { libc::srand(seed) };
        Self(())
    }

    /// The next number, from 0 to 2^31 - 1.
    pub fn draw(&mut self) -> u32 {
        // SAFETY: as above.
        unsafe { libc::rand() as u32 }
    }
}
