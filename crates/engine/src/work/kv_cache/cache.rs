//! Which objects a server has, in memory and on storage, and which of them goes next.
//!
//! Not here: moving their bytes ([`super::run`]).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

/// An object: the keys and values of so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ObjectId {
    /// The context or the conversation that it is of.
    pub of: u64,
    /// Which one of that, from the first tokens on.
    pub number: u64,
}

/// Where an object of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the server's memory.
    Memory,
    /// In this file of the server's; it stays there until it is released.
    Storage(u64),
}

/// What is to be done for an object that is to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// It is stored already, or being stored.
    Present,
    /// Nothing: everything that is stored is being used.
    Full,
    /// Write it into this file, which does not exist.
    Free(u64),
    /// Remove this file, and write it anew.
    Evicted(u64),
}

/// The objects of one server.
#[derive(Debug)]
pub(super) struct Cache {
    memory: Recency,
    memory_objects: u64,
    stored: HashMap<ObjectId, Stored>,
    /// Those of `stored` that are whole.
    whole: Recency,
    /// Files that were never used, from this one on.
    fresh: u64,
    files: u64,
    /// What was stored at any time.
    known: HashSet<ObjectId>,
}

#[derive(Debug)]
struct Stored {
    file: u64,
    /// Requests that read or write it now.
    users: u32,
}

impl Cache {
    /// One of so many `files`, and `memory_objects` before them.
    pub fn new(files: u64, memory_objects: u64) -> Self {
        Self {
            memory: Recency::default(),
            memory_objects,
            stored: HashMap::new(),
            whole: Recency::default(),
            fresh: 0,
            files,
            known: HashSet::new(),
        }
    }

    /// Where the first of `objects` are, up to one that is nowhere. Those on storage are kept until they are released.
    pub fn find(&mut self, objects: impl Iterator<Item = ObjectId>) -> Vec<Place> {
        objects.map_while(|object| self.find_one(object)).collect()
    }

    fn find_one(&mut self, object: ObjectId) -> Option<Place> {
        if self.memory.contains(object) {
            self.memory.touch(object);
            if self.whole.contains(object) {
                self.whole.touch(object);
            }
            return Some(Place::Memory);
        }
        if !self.whole.contains(object) {
            return None;
        }
        self.whole.touch(object);
        let stored = self.stored.get_mut(&object)?;
        stored.users += 1;
        Some(Place::Storage(stored.file))
    }

    /// A request has read `object`, or does not read it any more.
    pub fn release(&mut self, object: ObjectId) {
        if let Some(stored) = self.stored.get_mut(&object) {
            stored.users -= 1;
        }
    }

    /// True if it was stored at any time.
    pub fn was_stored(&self, object: ObjectId) -> bool {
        self.known.contains(&object)
    }

    /// It was read or computed, and is in memory now, as long as there is room.
    pub fn remember(&mut self, object: ObjectId) {
        if self.memory_objects == 0 {
            return;
        }
        self.memory.touch(object);
        while self.memory.len() > self.memory_objects {
            self.memory.take_oldest(|_| true);
        }
    }

    /// Finds room for `object`, which is not found before it is [`Cache::keep`]t.
    pub fn make_room(&mut self, object: ObjectId) -> Room {
        if self.stored.contains_key(&object) {
            if self.whole.contains(object) {
                self.whole.touch(object);
            }
            return Room::Present;
        }
        let room = if self.fresh < self.files {
            self.fresh += 1;
            Room::Free(self.fresh - 1)
        } else {
            let stored = &self.stored;
            let Some(oldest) = self.whole.take_oldest(|object| stored[&object].users == 0) else { return Room::Full };
            Room::Evicted(self.stored.remove(&oldest).expect("whole objects are stored").file)
        };
        if let Room::Free(file) | Room::Evicted(file) = room {
            self.stored.insert(object, Stored { file, users: 1 });
        }
        room
    }

    /// `object` has been written whole.
    pub fn keep(&mut self, object: ObjectId) {
        self.whole.touch(object);
        self.known.insert(object);
        self.release(object);
    }
}

/// Objects by the time of their last use.
#[derive(Debug, Default)]
struct Recency {
    used: HashMap<ObjectId, u64>,
    by_use: BTreeMap<u64, ObjectId>,
    uses: u64,
}

impl Recency {
    fn len(&self) -> u64 {
        self.used.len() as u64
    }

    fn contains(&self, object: ObjectId) -> bool {
        self.used.contains_key(&object)
    }

    /// It is used now.
    fn touch(&mut self, object: ObjectId) {
        self.uses += 1;
        if let Some(before) = self.used.insert(object, self.uses) {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.uses, object);
    }

    /// Takes out that one of the objects that `may_go` which was used least recently.
    fn take_oldest(&mut self, may_go: impl Fn(ObjectId) -> bool) -> Option<ObjectId> {
        let (&use_of, &oldest) = self.by_use.iter().find(|&(_, &object)| may_go(object))?;
        self.by_use.remove(&use_of);
        self.used.remove(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(number: u64) -> ObjectId {
        ObjectId { of: 1, number }
    }

    fn store(cache: &mut Cache, object: ObjectId) -> Room {
        let room = cache.make_room(object);
        if matches!(room, Room::Free(_) | Room::Evicted(_)) {
            cache.keep(object);
        }
        room
    }

    #[test]
    fn the_object_that_was_used_least_recently_is_evicted() {
        let mut cache = Cache::new(2, 0);
        assert_eq!(store(&mut cache, object(0)), Room::Free(0));
        assert_eq!(store(&mut cache, object(1)), Room::Free(1));
        assert_eq!(cache.find([object(0)].into_iter()), [Place::Storage(0)]);
        cache.release(object(0));
        assert_eq!(store(&mut cache, object(2)), Room::Evicted(1));
        assert!(cache.was_stored(object(1)) && cache.find([object(1)].into_iter()).is_empty());
        assert_eq!(store(&mut cache, object(2)), Room::Present);
    }

    #[test]
    fn a_request_finds_a_beginning_without_gaps() {
        let mut cache = Cache::new(9, 0);
        for number in [0, 1, 3] {
            store(&mut cache, object(number));
        }
        assert_eq!(cache.find((0..5).map(object)), [Place::Storage(0), Place::Storage(1)]);
    }

    #[test]
    fn what_is_read_or_being_written_is_neither_evicted_nor_found_too_early() {
        let mut cache = Cache::new(2, 0);
        store(&mut cache, object(0));
        cache.find([object(0)].into_iter());
        assert_eq!(cache.make_room(object(1)), Room::Free(1));
        assert_eq!(cache.find([object(1)].into_iter()), []);
        assert_eq!(cache.make_room(object(1)), Room::Present);
        assert_eq!(cache.make_room(object(2)), Room::Full);
        cache.keep(object(1));
        assert_eq!(cache.make_room(object(2)), Room::Evicted(1), "object 0 is still read");
    }

    #[test]
    fn memory_holds_what_was_used_last_and_saves_the_way_to_storage() {
        let mut cache = Cache::new(9, 2);
        for number in 0..3 {
            store(&mut cache, object(number));
            cache.remember(object(number));
        }
        assert_eq!(cache.find((0..3).map(object)), [Place::Storage(0), Place::Memory, Place::Memory]);
    }

    proptest! {
        /// Whatever happens in whatever order: no file holds two objects, and none is given out twice.
        #[test]
        fn a_file_holds_one_object_at_a_time(steps in proptest::collection::vec((0..12_u64, 0..4_u8), 1..300)) {
            let mut cache = Cache::new(4, 2);
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            let mut holds: HashMap<u64, ObjectId> = HashMap::new();
            for (number, what) in steps {
                match what {
                    0 => match cache.make_room(object(number)) {
                        Room::Free(file) => {
                            prop_assert!(holds.insert(file, object(number)).is_none());
                            writes.push(object(number));
                        }
                        Room::Evicted(file) => {
                            let before = holds.insert(file, object(number)).unwrap();
                            prop_assert!(!reads.contains(&before) && !writes.contains(&before));
                            writes.push(object(number));
                        }
                        Room::Present | Room::Full => {}
                    },
                    1 => if let Some(written) = writes.pop() { cache.keep(written); cache.remember(written) },
                    2 => for place in cache.find([object(number)].into_iter()) {
                        if let Place::Storage(file) = place {
                            prop_assert_eq!(holds[&file], object(number));
                            reads.push(object(number));
                        }
                    },
                    _ => if let Some(read) = reads.pop() { cache.release(read) },
                }
                prop_assert!(holds.len() <= 4);
            }
        }
    }
}
