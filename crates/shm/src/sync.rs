//! What code in shared memory is made of: atomics, and bytes whose owner an atomic names.
//!
//! With the feature `loom` these are [loom](https://docs.rs/loom)'s, and so is sleeping in [`crate::futex`]: a model runs in
//! every order in which its threads can act and in which their stores can become visible (`make loom`). Nothing but models
//! runs then: loom's atomics are larger, and zeros are no valid ones.

#[cfg(feature = "loom")]
pub use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    thread::yield_now,
};
#[cfg(not(feature = "loom"))]
pub use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    thread::yield_now,
};

/// [`std::cell::UnsafeCell`] in the form in which loom can see who uses it, and when.
#[cfg(not(feature = "loom"))]
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(feature = "loom"))]
impl<T> UnsafeCell<T> {
    /// Reads the value in `read`, which may use the pointer as long as it runs.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Changes the value in `write`, which may use the pointer as long as it runs.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Checks models.
#[cfg(all(test, feature = "loom"))]
pub(crate) mod model {
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::thread;

    /// How a sleep in [`crate::futex`] ends.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Sleep {
        /// When it is woken: a wake-up that is missing is found as a deadlock.
        Woken,
        /// At any time, as after its time limit.
        AtAnyTime,
    }

    std::thread_local! {
        /// All threads of a model run in one thread of the system.
        pub(crate) static SLEEP: std::cell::Cell<Sleep> = const { std::cell::Cell::new(Sleep::Woken) };
    }

    /// Runs `model` in every order, with at most three changes of threads where the running one could have gone on: more
    /// find no more in code this small, and take hours.
    pub(crate) fn check(sleep: Sleep, model: impl Fn() + Sync + Send + 'static) {
        SLEEP.set(sleep);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }
}
