//! What failed, and how: calls by operation and `errno`.

use core::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};

use ioassay_record::operation::Operation;
use ioassay_record::table::{ERRORS, Errors};

use crate::{shared, table};

/// Its place in the table; 0 before the first failure.
static PLACE: AtomicU32 = AtomicU32::new(0);

/// Forgets the table of the parent.
pub fn begin() {
    PLACE.store(0, Relaxed);
}

/// Counts a failure. One that is of the 121st kind is counted with the last.
#[cold]
pub fn count(operation: Operation, errno: i32) {
    let place = match PLACE.load(Relaxed) {
        0 => {
            let Some(new) = table::allocate::<Errors>(0, |_, _| {}) else { return };
            match PLACE.compare_exchange(0, new, AcqRel, Relaxed) {
                Ok(_) => new,
                Err(other) => other,
            }
        }
        place => place,
    };
    // SAFETY: it was allocated as that.
    let errors: &Errors = unsafe { table::block_at(place) };
    let kind = (operation as u32 + 1) << 16 | (errno as u32 & 0xffff);
    for slot in 0..ERRORS {
        let counted = match errors.kinds[slot].compare_exchange(0, kind, AcqRel, Relaxed) {
            Ok(_) => kind,
            Err(counted) => counted,
        };
        if counted == kind || slot == ERRORS - 1 {
            shared::add_saturating(&errors.calls[slot], 1);
            return;
        }
    }
}
