//! What users say: how many tokens each request of which conversation has, as a function of the seed alone.

use ioassay_protocol::plan::kv_cache::{Contexts, KvCacheWork, Span};
use rand_distr::{Distribution, Zipf};

use super::cache::ObjectId;
use crate::workload::random::SplitMix64;

/// Sets the objects of conversations apart from those of contexts.
const OF_CONVERSATIONS: u64 = 1 << 63;

/// Conversations of one user before its objects have the numbers of another's.
const MOST_CONVERSATIONS: u64 = 1 << 40;

/// A user, who has one conversation after another.
#[derive(Debug, Clone)]
pub(super) struct User {
    work: KvCacheWork,
    seed: u64,
    number: u64,
    conversations: u64,
    random: SplitMix64,
    popularity: Zipf<f64>,
}

impl User {
    /// User number `number` of the rank that `seed` is of.
    pub fn new(work: &KvCacheWork, seed: u64, number: u32) -> Self {
        let Contexts { count, exponent, .. } = work.contexts;
        Self {
            work: work.clone(),
            seed,
            number: number.into(),
            conversations: 0,
            random: SplitMix64::keyed(&[seed, u64::from(number) + 1]),
            popularity: Zipf::new(count as f64, exponent).expect("validated: an exponent of 0 or more"),
        }
    }

    /// How long this user waits before the first request, so that not all ask at once.
    pub fn first_pause_ns(&mut self) -> u64 {
        self.random.below(self.work.think_ns.saturating_add(1))
    }

    /// The next conversation.
    pub fn converse(&mut self) -> Conversation {
        let context = self.popularity.sample(&mut self.random) as u64 - 1;
        // A context has as many tokens in all conversations.
        let context_tokens = draw(&mut SplitMix64::keyed(&[self.seed, 0, context]), self.work.contexts.tokens);
        let private = OF_CONVERSATIONS | (self.number * MOST_CONVERSATIONS + self.conversations % MOST_CONVERSATIONS);
        self.conversations += 1;
        Conversation {
            context,
            context_tokens,
            private,
            object_tokens: self.work.object_tokens,
            turns: draw(&mut self.random, self.work.turns),
            tokens: context_tokens,
        }
    }

    /// Tokens of the next prompt.
    pub fn prompt_tokens(&mut self) -> u64 {
        draw(&mut self.random, self.work.prompt_tokens)
    }

    /// Tokens of the next answer.
    pub fn answer_tokens(&mut self) -> u64 {
        draw(&mut self.random, self.work.answer_tokens)
    }
}

/// One of a user's conversations, as far as it has come.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    context: u64,
    context_tokens: u64,
    private: u64,
    object_tokens: u64,
    /// Requests in all.
    pub turns: u64,
    /// Tokens so far.
    pub tokens: u64,
}

impl Conversation {
    /// Objects that are whole by now.
    pub fn whole_objects(&self) -> u64 {
        self.tokens / self.object_tokens
    }

    /// Its object number `number`: those that lie in the context are the same in all conversations that begin with it.
    pub fn object(&self, number: u64) -> ObjectId {
        let shared = (number + 1) * self.object_tokens <= self.context_tokens;
        ObjectId { of: if shared { self.context } else { self.private }, number }
    }
}

fn draw(random: &mut SplitMix64, Span { least, most }: Span) -> u64 {
    least + random.below(most - least + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    fn work(exponent: f64) -> KvCacheWork {
        serde_json::from_value(serde_json::json!({
            "files": "cache", "object_tokens": 16, "users": 2,
            "contexts": {"count": 100, "tokens": {"least": 100, "most": 200}, "exponent": exponent},
            "turns": {"least": 1, "most": 4}, "prompt_tokens": {"least": 5, "most": 50},
            "answer_tokens": {"least": 5, "most": 50}, "prefill_tokens_per_s": 1000, "decode_tokens_per_s": 100,
            "think_ns": 1000,
        }))
        .unwrap()
    }

    #[test]
    fn conversations_with_the_same_context_share_its_whole_objects_and_no_others() {
        let work = work(1.0);
        let (mut one, mut other) = (User::new(&work, 7, 0), User::new(&work, 7, 1));
        let mut first_of: HashMap<u64, (u64, Conversation)> = HashMap::new();
        let mut shared = 0;
        for nth in 0..200 {
            for conversation in [one.converse(), other.converse()] {
                let context = conversation.context;
                if let Some((_, earlier)) = first_of.get(&context) {
                    assert_eq!(earlier.context_tokens, conversation.context_tokens);
                    let within = conversation.context_tokens / 16;
                    let same: Vec<bool> =
                        (0..within + 2).map(|at| earlier.object(at) == conversation.object(at)).collect();
                    assert_eq!(same.iter().filter(|&&same| same).count() as u64, within);
                    assert!(same[..within as usize].iter().all(|&same| same));
                    shared += 1;
                } else {
                    first_of.insert(context, (nth, conversation));
                }
            }
        }
        assert!(shared > 100, "few contexts are popular");
    }

    #[test]
    fn popularity_follows_the_exponent_and_every_draw_lies_in_its_span() {
        let often = |exponent| {
            let work = work(exponent);
            let mut user = User::new(&work, 1, 0);
            let mut counts = [0_u32; 100];
            for _ in 0..10_000 {
                let conversation = user.converse();
                assert!((100..=200).contains(&conversation.tokens) && (1..=4).contains(&conversation.turns));
                assert!((5..=50).contains(&user.prompt_tokens()) && (5..=50).contains(&user.answer_tokens()));
                counts[conversation.context as usize] += 1;
            }
            counts
        };
        let [even, skewed] = [often(0.0), often(1.0)];
        assert!(even.iter().all(|&count| (50..200).contains(&count)), "{even:?}");
        // The harmonic number of 100 is 5.19.
        assert!((1700..2150).contains(&skewed[0]) && (800..1100).contains(&skewed[1]), "{skewed:?}");
    }

    #[test]
    fn objects_of_different_conversations_and_users_have_different_numbers() {
        let work = work(1.0);
        let mut users = [User::new(&work, 7, 0), User::new(&work, 7, 1)];
        let streams = users.iter_mut().flat_map(|user| (0..50).map(|_| user.converse().private).collect::<Vec<_>>());
        assert_eq!(streams.collect::<HashSet<_>>().len(), 100);
    }
}
