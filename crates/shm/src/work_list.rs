//! Work that processes share: those who have some to spare put it here, those who have none take it.
//!
//! What a piece of work is, only its owners know. Most work never comes here: a process keeps what it finds and shares
//! some while the list is short, so a list is small, and one that is full does no harm.

use crate::barrier::Closed;
use crate::futex;
use crate::memory::Memory;
use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};

/// Room for pieces: some 2,000 of a hundred bytes each. What is not used costs no memory. loom's threads
/// have small stacks.
const ROOM_BYTES: usize = if cfg!(feature = "loom") { 64 } else { 256 * 1024 };

/// Each piece is followed by its length.
const LENGTH_BYTES: usize = size_of::<u32>();

/// The list is short while it has fewer pieces than this for each process.
const PIECES_EACH: u32 = 2;

/// How many pieces go to other nodes at a time.
const PIECES_AWAY: usize = 4;

/// The list of one job. Only atomics, and bytes that belong to the holder of the lock. All zero is the valid
/// beginning, as the kernel gives it.
#[repr(C, align(64))]
pub struct WorkList {
    /// 0: free; 1: held; 2: held, and a process sleeps until it is free.
    lock: AtomicU32,
    /// Pieces in the list.
    pieces: AtomicU32,
    /// Bytes in use.
    used: AtomicU32,
    /// Processes that wait for work.
    waiting: AtomicU32,
    /// 1 when all processes have waited at the same time: no work is left, and nobody is there who could find more.
    finished: AtomicU32,
    /// Rises when there may be something for those who wait: what they sleep on.
    changed: AtomicU32,
    /// 1 when all processes of this node wait, but others may have work.
    hungry: AtomicU32,
    /// 1 when others want some.
    wanted: AtomicU32,
    /// Pieces that came from other nodes.
    came: AtomicU64,
    bytes: UnsafeCell<[u8; ROOM_BYTES]>,
}

// SAFETY: atomics, and bytes that only the holder of a lock of atomics touches.
unsafe impl Sync for WorkList {}

impl WorkList {
    /// True if there should be more in it for `members` processes. One alone has nobody to share with.
    #[inline(always)]
    pub fn wants(&self, members: u32) -> bool {
        let short = members > 1 && self.pieces.load(Ordering::Relaxed) < PIECES_EACH.saturating_mul(members);
        short || self.wanted.load(Ordering::Relaxed) == 1
    }

    /// Adds a piece. False if it has no room, or `give_up` says that nobody will take it any more.
    pub fn share(&self, piece: &[u8], give_up: impl Fn() -> bool) -> bool {
        let Ok(_held) = self.hold(&give_up) else { return false };
        let used = self.used.load(Ordering::Relaxed) as usize;
        let end = used + piece.len() + LENGTH_BYTES;
        if end > ROOM_BYTES {
            return false;
        }
        self.write(used, piece);
        self.write(used + piece.len(), &(piece.len() as u32).to_le_bytes());
        self.used.store(end as u32, Ordering::Relaxed);
        self.pieces.fetch_add(1, Ordering::Relaxed);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.tell();
        }
        true
    }

    /// Takes the piece that was added last into `piece`, or waits for one. False when there will be none. When all `members`
    /// wait there is none, unless `ask` asks other nodes for some; the asker gets the answer from [`WorkList::finish`].
    pub fn take(
        &self,
        members: u32,
        piece: &mut Vec<u8>,
        ask: Option<&dyn Fn()>,
        give_up: impl Fn() -> bool,
    ) -> Result<bool, Closed> {
        let mut waits = false;
        loop {
            let changed = self.changed.load(Ordering::SeqCst);
            if self.finished.load(Ordering::SeqCst) == 1 {
                return Ok(false);
            }
            {
                let _held = self.hold(&give_up)?;
                if self.pop(piece) {
                    if waits {
                        self.waiting.fetch_sub(1, Ordering::Relaxed);
                    }
                    return Ok(true);
                }
                if !waits {
                    waits = true;
                    if self.waiting.fetch_add(1, Ordering::Relaxed) + 1 == members {
                        match ask {
                            Some(ask) => {
                                self.hungry.store(1, Ordering::SeqCst);
                                ask();
                            }
                            None => {
                                self.finish();
                                return Ok(false);
                            }
                        }
                    }
                }
            }
            if give_up() {
                return Err(Closed);
            }
            futex::wait(&self.changed, changed);
        }
    }

    /// There will be no more pieces.
    pub fn finish(&self) {
        self.finished.store(1, Ordering::SeqCst);
        self.tell();
    }

    /// How many pieces came from other nodes, if all processes of this one have begun to wait since that was asked last.
    pub fn take_hungry(&self) -> Option<u64> {
        (self.hungry.swap(0, Ordering::SeqCst) == 1).then(|| self.came.load(Ordering::SeqCst))
    }

    /// Adds a piece from another node to a list that had asked for it.
    pub fn take_in(&self, piece: &[u8], give_up: impl Fn() -> bool) {
        self.came.fetch_add(1, Ordering::SeqCst);
        self.share(piece, give_up);
    }

    /// Other nodes want some: who has work to spare should share it.
    pub fn want_elsewhere(&self) {
        self.wanted.store(1, Ordering::SeqCst);
    }

    /// True if they do.
    pub fn is_wanted_elsewhere(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) == 1
    }

    /// Some pieces for other nodes, where they want some and there are more than processes here wait for. A piece that has just come
    /// for those must not go away again: they would wait on, and nobody would know that they have none.
    pub fn give_away(&self, give_up: impl Fn() -> bool) -> Vec<Vec<u8>> {
        let mut away = Vec::new();
        if self.wanted.load(Ordering::SeqCst) == 0 || self.pieces.load(Ordering::Relaxed) == 0 {
            return away;
        }
        let Ok(_held) = self.hold(give_up) else { return away };
        let spare = self.pieces.load(Ordering::Relaxed).saturating_sub(self.waiting.load(Ordering::Relaxed));
        let mut piece = Vec::new();
        while away.len() < PIECES_AWAY.min(spare as usize) && self.pop(&mut piece) {
            away.push(std::mem::take(&mut piece));
        }
        if !away.is_empty() {
            self.wanted.store(0, Ordering::SeqCst);
        }
        away
    }

    /// Forgets the last phase.
    fn reset(&self) {
        let words = [&self.lock, &self.pieces, &self.used, &self.waiting, &self.finished, &self.hungry, &self.wanted];
        words.into_iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.came.store(0, Ordering::Relaxed);
    }

    fn tell(&self) {
        self.changed.fetch_add(1, Ordering::SeqCst);
        futex::wake_all(&self.changed);
    }

    /// Holds the lock, unless `give_up` says that its holder may be dead.
    fn hold(&self, give_up: impl Fn() -> bool) -> Result<LockGuard<'_>, Closed> {
        if self.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Ok(LockGuard(self));
        }
        while self.lock.swap(2, Ordering::Acquire) != 0 {
            if give_up() {
                return Err(Closed);
            }
            futex::wait(&self.lock, 2);
        }
        Ok(LockGuard(self))
    }

    /// Takes the last piece, as holder of the lock.
    fn pop(&self, piece: &mut Vec<u8>) -> bool {
        let used = self.used.load(Ordering::Relaxed) as usize;
        if used == 0 {
            return false;
        }
        let mut length = [0; LENGTH_BYTES];
        self.read(used - LENGTH_BYTES, &mut length);
        let length = u32::from_le_bytes(length) as usize;
        piece.resize(length, 0);
        let begin = used - LENGTH_BYTES - length;
        self.read(begin, piece);
        self.used.store(begin as u32, Ordering::Relaxed);
        self.pieces.fetch_sub(1, Ordering::Relaxed);
        true
    }

    fn write(&self, begin: usize, from: &[u8]) {
        assert!(begin + from.len() <= ROOM_BYTES);
        // SAFETY: within the room, and the caller holds the lock, so no other process touches it.
        let copy = |room: *mut [u8; ROOM_BYTES]| unsafe {
            room.cast::<u8>().add(begin).copy_from_nonoverlapping(from.as_ptr(), from.len());
        };
        self.bytes.with_mut(copy);
    }

    fn read(&self, begin: usize, into: &mut [u8]) {
        assert!(begin + into.len() <= ROOM_BYTES);
        // SAFETY: as above.
        let copy = |room: *const [u8; ROOM_BYTES]| unsafe {
            room.cast::<u8>().add(begin).copy_to_nonoverlapping(into.as_mut_ptr(), into.len());
        };
        self.bytes.with(copy);
    }
}

/// The lock is held until this is dropped.
struct LockGuard<'a>(&'a WorkList);

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        if self.0.lock.swap(0, Ordering::Release) == 2 {
            futex::wake_all(&self.0.lock);
        }
    }
}

/// A list for each of `JOBS` jobs, in memory that all processes have.
#[derive(Debug)]
pub struct WorkLists<const JOBS: usize>(Memory);

impl<const JOBS: usize> WorkLists<JOBS> {
    /// How much memory they take, used up only as lists grow.
    pub const BYTES: usize = JOBS * size_of::<WorkList>();

    /// Empty lists, in `memory` of [`WorkLists::BYTES`] zeros.
    pub fn new(memory: Memory) -> Self {
        Self(memory)
    }

    /// The list of job number `job`.
    #[inline(always)]
    pub fn of(&self, job: usize) -> &WorkList {
        assert!(job < JOBS);
        // SAFETY: the mapping is page-aligned, zeroed, holds this many lists, lives as long as `self`, and is only
        // changed through atomics and under their lock.
        unsafe { self.0.start::<WorkList>().add(job).as_ref() }
    }

    /// Forgets the last phase; nobody may be using them.
    pub fn reset(&self) {
        (0..JOBS).for_each(|job| self.of(job).reset());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    const JOBS: usize = 4;

    fn lists() -> WorkLists<JOBS> {
        WorkLists::new(Memory::inherited(WorkLists::<JOBS>::BYTES).unwrap())
    }

    /// Each piece is a number that stands for as many pieces below it, as a directory does for those in it.
    #[test]
    fn every_piece_is_done_once_and_all_ranks_notice_the_end() {
        // Miri takes its time.
        for round in 0..if cfg!(miri) { 2 } else { 50 } {
            let lists = lists();
            let list = lists.of(round % JOBS);
            let done = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for rank in 0..4 {
                    let done = &done;
                    scope.spawn(move || {
                        let mut pieces = if rank == 0 { vec![vec![5_u8]] } else { vec![] };
                        let mut taken = Vec::new();
                        loop {
                            while let Some(piece) = pieces.pop() {
                                done.lock().unwrap().push(piece.len());
                                let below = *piece.last().unwrap();
                                pieces.extend((0..below).map(|each| [&piece[..], &[each]].concat()));
                                while list.wants(4) && pieces.len() > 1 {
                                    assert!(list.share(&pieces.remove(0), || false));
                                }
                            }
                            if !list.take(4, &mut taken, None, || false).unwrap() {
                                break;
                            }
                            pieces.push(taken.clone());
                        }
                    });
                }
            });
            // A node with k below it stands for 2^k nodes.
            assert_eq!(done.lock().unwrap().len(), 32);
        }
    }

    #[test]
    fn a_full_list_takes_no_more_and_loses_nothing() {
        let lists = lists();
        let (list, large) = (lists.of(0), [7; 100_000]);
        assert!(list.share(&large, || false) && list.share(&large, || false));
        assert!(!list.share(&large, || false));
        let mut piece = Vec::new();
        for _ in 0..2 {
            assert!(list.take(1, &mut piece, None, || false).unwrap());
            assert_eq!(piece, large);
        }
        assert!(!list.take(1, &mut piece, None, || false).unwrap());
        lists.reset();
        assert!(list.share(b"again", || false) && list.take(1, &mut piece, None, || false).unwrap());
    }

    #[test]
    fn what_ranks_here_wait_for_is_not_given_away() {
        let (lists, stop) = (lists(), AtomicBool::new(false));
        let list = lists.of(0);
        list.want_elsewhere();
        std::thread::scope(|scope| {
            // One rank of two waits, and sleeps on while the lock is held.
            let waits = scope.spawn(|| {
                let mut piece = Vec::new();
                list.take(2, &mut piece, None, || stop.load(Ordering::SeqCst)).map(|_| piece)
            });
            while list.waiting.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            for piece in [b"a", b"b"] {
                assert!(list.share(piece, || false));
            }
            let away = list.give_away(|| false);
            let here = waits.join().unwrap().unwrap();
            // As many as there are ranks that wait stay here, and the waiting one may have been quicker than the gift.
            assert_eq!((away.len(), here.len()), (1, 1));
            assert_ne!(away[0], here);
        });
    }

    #[test]
    fn who_waits_for_work_or_for_the_lock_of_a_dead_rank_gives_up_when_told() {
        let (lists, stop) = (lists(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lists.of(0).take(2, &mut Vec::new(), None, || stop.load(Ordering::SeqCst)));
            let locked = scope.spawn(|| {
                std::mem::forget(lists.of(1).hold(|| false));
                lists.of(1).take(2, &mut Vec::new(), None, || stop.load(Ordering::SeqCst))
            });
            stop.store(true, Ordering::SeqCst);
            assert_eq!((waits.join().unwrap(), locked.join().unwrap()), (Err(Closed), Err(Closed)));
        });
    }
}

#[cfg(all(test, feature = "loom"))]
mod models {
    use loom::sync::mpsc::channel;

    use super::*;
    use crate::sync::model::{Arc, Sleep, check, thread};

    fn list() -> Arc<WorkList> {
        Arc::new(WorkList {
            lock: AtomicU32::default(),
            pieces: AtomicU32::default(),
            used: AtomicU32::default(),
            waiting: AtomicU32::default(),
            finished: AtomicU32::default(),
            changed: AtomicU32::default(),
            hungry: AtomicU32::default(),
            wanted: AtomicU32::default(),
            came: AtomicU64::default(),
            bytes: UnsafeCell::new([0; ROOM_BYTES]),
        })
    }

    /// What one of two processes takes until there is no more.
    fn take_all(list: &WorkList) -> Vec<u8> {
        let (mut all, mut piece) = (Vec::new(), Vec::new());
        while list.take(2, &mut piece, None, || false).unwrap() {
            all.append(&mut piece);
        }
        all
    }

    #[test]
    fn every_piece_is_taken_once_and_both_members_notice_the_end() {
        check(Sleep::Woken, || {
            let list = list();
            let other = Arc::clone(&list);
            let other = thread::spawn(move || take_all(&other));
            assert!(list.share(b"a", || false));
            let mut taken = take_all(&list);
            taken.append(&mut other.join().unwrap());
            assert_eq!(taken, b"a");
        });
    }

    #[test]
    fn a_piece_that_comes_from_elsewhere_wakes_who_waits_and_is_not_given_away_again() {
        check(Sleep::Woken, || {
            let list = list();
            list.want_elsewhere();
            let (bell, rung) = channel();
            let member = Arc::clone(&list);
            let member = thread::spawn(move || {
                let (mut piece, ask) = (Vec::new(), || bell.send(()).unwrap());
                member.take(1, &mut piece, Some(&ask), || false).map(|_| piece)
            });
            // As the messenger of the node, when it has been asked.
            rung.recv().unwrap();
            assert_eq!(list.take_hungry(), Some(0));
            list.take_in(b"a", || false);
            let away = list.give_away(|| false);
            assert_eq!(member.join().unwrap().unwrap(), b"a");
            assert_eq!(away, Vec::<Vec<u8>>::new());
        });
    }
}
