//! The C library's `rand`, with which IOR draws: with the same seed the same numbers on the same system.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The process has one generator.
static TAKEN: Mutex<()> = Mutex::new(());

/// The generator, while nobody else has it.
#[derive(Debug)]
pub struct CLibrary {
    _taken: MutexGuard<'static, ()>,
}

impl CLibrary {
    /// The generator, with its sequence begun anew. Waits while another thread has it: one that has it itself must not ask.
    pub fn seeded(seed: u32) -> Self {
        let _taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: no other thread uses the generator while this one has it.
        unsafe { libc::srand(seed) };
        Self { _taken }
    }

    /// The next number, from 0 to 2^31 - 1.
    pub fn draw(&mut self) -> u32 {
        // SAFETY: as above.
        unsafe { libc::rand() as u32 }
    }
}
