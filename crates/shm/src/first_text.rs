//! The first text that any process writes: read by all, as a failure that stops all.
//!
//! Not here: what it says, and how long writing it may take.

use crate::sync::{AtomicU32, Ordering, UnsafeCell};

/// No text, as the kernel gives it.
const NONE: u32 = 0;
/// One is being written down.
const WRITING: u32 = 1;
/// It can be read.
const THERE: u32 = 2;
/// The process that wanted to write it down is gone.
const LOST: u32 = 3;

/// A text of up to `ROOM` bytes that is written once. All zero is the valid beginning: there is none.
#[repr(C)]
pub struct FirstText<const ROOM: usize> {
    /// One of `NONE`, `WRITING`, `THERE`, `LOST`.
    state: AtomicU32,
    bytes: AtomicU32,
    text: UnsafeCell<[u8; ROOM]>,
}

// SAFETY: atomics, and a text that only the process that has set the state from NONE to WRITING writes, before any
// reads it.
unsafe impl<const ROOM: usize> Sync for FirstText<ROOM> {}

/// What is kept of the first text.
#[derive(Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    Text(Vec<u8>),
    /// That there was to be one: its writer was given up.
    Lost,
}

impl<const ROOM: usize> FirstText<ROOM> {
    /// Keeps `text` if it is the first one. One can be read when this returns, or is known to be lost: while another
    /// process writes, `give_up` is asked again and again whether that process may have been killed meanwhile.
    ///
    /// # Panics
    /// If `text` is longer than `ROOM`.
    pub fn keep(&self, text: &[u8], mut give_up: impl FnMut() -> bool) {
        assert!(text.len() <= ROOM, "{} bytes", text.len());
        if !self.begin_writing() {
            while self.state.load(Ordering::SeqCst) == WRITING {
                if give_up() {
                    // Where it is there by now after all, it stays.
                    let _ = self.state.compare_exchange(WRITING, LOST, Ordering::SeqCst, Ordering::SeqCst);
                    return;
                }
            }
            return;
        }
        // SAFETY: the state WRITING belongs to the caller alone, nobody reads before THERE, and there is room.
        let copy = |room: *mut [u8; ROOM]| unsafe {
            room.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        };
        self.text.with_mut(copy);
        self.bytes.store(text.len() as u32, Ordering::SeqCst);
        self.state.store(THERE, Ordering::SeqCst);
    }

    /// True if this is the first one, who has to write.
    pub fn begin_writing(&self) -> bool {
        self.state.compare_exchange(NONE, WRITING, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The first text, once it is written in full.
    pub fn kept(&self) -> Option<Kept> {
        match self.state.load(Ordering::SeqCst) {
            THERE => {}
            LOST => return Some(Kept::Lost),
            _ => return None,
        }
        let length = self.bytes.load(Ordering::SeqCst) as usize;
        // SAFETY: in the state THERE nobody writes any more, and `length` bytes were written.
        let text = |room: *const [u8; ROOM]| unsafe { std::slice::from_raw_parts(room.cast(), length).to_vec() };
        Some(Kept::Text(self.text.with(text)))
    }

    /// Forgets the text. Nobody may be using it.
    pub fn reset(&self) {
        self.state.store(NONE, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn of_many_texts_one_is_kept_and_all_writers_can_read_it_when_they_return() {
        for _ in 0..if cfg!(miri) { 3 } else { 100 } {
            let memory = Memory::inherited(size_of::<FirstText<8>>()).unwrap();
            // SAFETY: zeros are the valid beginning, and the memory is large enough and outlives the threads.
            let first = unsafe { memory.start::<FirstText<8>>().as_ref() };
            assert_eq!(first.kept(), None);
            let kept: Vec<_> = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..4)
                    .map(|writer| {
                        scope.spawn(move || {
                            first.keep(&[writer; 8], || false);
                            first.kept()
                        })
                    })
                    .collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            let Some(Kept::Text(text)) = &kept[0] else { panic!("{kept:?}") };
            assert_eq!(text, &[text[0]; 8]);
            assert!(kept.iter().all(|kept| *kept == Some(Kept::Text(text.clone()))), "{kept:?}");
        }
    }

    #[test]
    fn a_text_whose_writer_was_killed_is_lost_and_no_other_takes_its_place() {
        let memory = Memory::inherited(size_of::<FirstText<8>>()).unwrap();
        // SAFETY: as above.
        let first = unsafe { memory.start::<FirstText<8>>().as_ref() };
        assert!(first.begin_writing());
        first.keep(b"second", || true);
        first.keep(b"third", || true);
        assert_eq!(first.kept(), Some(Kept::Lost));
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::*;
    use crate::sync::model::{Arc, Sleep, check, thread};

    fn nothing() -> Arc<FirstText<8>> {
        let text = UnsafeCell::new([0; 8]);
        Arc::new(FirstText { state: AtomicU32::default(), bytes: AtomicU32::default(), text })
    }

    fn wait() -> bool {
        thread::yield_now();
        false
    }

    #[test]
    fn one_text_of_two_is_kept_whole_and_both_writers_can_read_it_at_once() {
        check(Sleep::AtAnyTime, || {
            let first = nothing();
            let other = Arc::clone(&first);
            let other = thread::spawn(move || {
                other.keep(b"second", wait);
                other.kept().unwrap()
            });
            first.keep(b"one", wait);
            let kept = first.kept().unwrap();
            assert!([&b"one"[..], b"second"].map(|text| Kept::Text(text.to_vec())).contains(&kept));
            assert_eq!(other.join().unwrap(), kept);
        });
    }

    #[test]
    fn a_text_that_is_given_up_is_lost_or_whole() {
        check(Sleep::AtAnyTime, || {
            let first = nothing();
            let writer = Arc::clone(&first);
            let writer = thread::spawn(move || writer.keep(b"one", || true));
            first.keep(b"second", || true);
            assert_ne!(first.kept(), None);
            writer.join().unwrap();
            // That what the writer stores last stays, loom does not see where an exchange came between.
            let kept = first.kept().unwrap();
            let whole = [&b"one"[..], b"second"].map(|text| Kept::Text(text.to_vec()));
            assert!(kept == Kept::Lost || whole.contains(&kept), "{kept:?}");
        });
    }
}
