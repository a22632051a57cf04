//! Checkpoints: which files each rank has of a model's state, how large each is, and what they are called.
//!
//! Every parameter is in the files of as many ranks as the plan says, once; what does not divide evenly goes to the first of
//! them. The first pipeline stage has the embedding too, the last one the output and the last norm, and norms are written
//! by the first tensor shard alone. All of it is computed from the number of a rank. Not here: reading and writing them.

use std::ops::Range;

use ioassay_protocol::plan::checkpoint::{Checkpoint, Model, Transformer};
use ioassay_protocol::plan::data::Payload;

use super::payload::{Content, Spot};

/// What a file holds of a rank's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Parameters.
    Model,
    /// What the optimizer knows of each of them.
    Optimizer,
}

impl State {
    /// Both, in the order in which they are written and read.
    pub const ALL: [Self; 2] = [Self::Model, Self::Optimizer];
}

/// The state of a model, spread over ranks.
#[derive(Debug, Clone)]
pub struct Shards {
    checkpoint: Checkpoint,
    ranks: u32,
    /// Files have a multiple of so many bytes.
    unit: u64,
}

impl Shards {
    /// That of `checkpoint` on so many ranks.
    pub fn of(checkpoint: &Checkpoint, ranks: u32) -> Self {
        Self { checkpoint: checkpoint.clone(), ranks, unit: 1 }
    }

    /// The same with files that are filled up to a multiple of `unit` bytes.
    pub fn filled_up(self, unit: u64) -> Self {
        Self { unit, ..self }
    }

    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Tensor shards × pipeline stages: the ranks of one data-parallel instance.
    fn positions(&self) -> u64 {
        u64::from(self.checkpoint.tensor) * u64::from(self.checkpoint.pipeline)
    }

    /// Data-parallel instances.
    pub fn instances(&self) -> u64 {
        u64::from(self.ranks) / self.positions().max(1)
    }

    /// Parameters of the model.
    pub fn parameters(&self) -> u64 {
        parameters(&self.checkpoint.model)
    }

    /// Bytes of a file of `rank`; 0 where it has none.
    pub fn file_bytes(&self, rank: u32, state: State) -> u64 {
        let Checkpoint { zero, model_bytes, optimizer_bytes, .. } = self.checkpoint;
        let (position, instance) = (u64::from(rank) % self.positions(), u64::from(rank) / self.positions());
        let of_position = self.of_position(position);
        let (is_shared, bytes) = match state {
            State::Model => (zero == 3, model_bytes),
            State::Optimizer => (zero > 0, optimizer_bytes),
        };
        let parameters = match is_shared {
            true => share(of_position, self.instances(), instance),
            false if instance == 0 => of_position,
            false => 0,
        };
        parameters.saturating_mul(bytes).next_multiple_of(self.unit)
    }

    /// Parameters that lie at a position in each data-parallel instance.
    fn of_position(&self, position: u64) -> u64 {
        let Checkpoint { tensor, pipeline, .. } = self.checkpoint;
        let (tensor, pipeline) = (u64::from(tensor), u64::from(pipeline));
        let (shard, stage) = (position % tensor, position / tensor);
        match &self.checkpoint.model {
            Model::Parameters(parameters) => share(share(*parameters, pipeline, stage), tensor, shard),
            Model::Transformer(model) => {
                let of_shard = |matrix: u64| share(matrix, tensor, shard);
                let norms = |norms: u64| if shard == 0 { norms } else { 0 };
                let layer = matrices(model).into_iter().map(of_shard).sum::<u64>() + norms(2 * model.hidden);
                let first = if stage == 0 { of_shard(embedding(model)) } else { 0 };
                let last = if stage + 1 == pipeline { of_shard(embedding(model)) + norms(model.hidden) } else { 0 };
                first + share(model.layers, pipeline, stage) * layer + last
            }
        }
    }

    /// The files of `rank`, each with its bytes.
    pub fn files(&self, rank: u32) -> impl Iterator<Item = (State, u64)> + '_ {
        State::ALL.into_iter().map(move |state| (state, self.file_bytes(rank, state))).filter(|&(_, bytes)| bytes > 0)
    }

    /// Bytes of all files of `rank` in one generation.
    pub fn rank_bytes(&self, rank: u32) -> u64 {
        self.files(rank).map(|(_, bytes)| bytes).fold(0, u64::saturating_add)
    }

    /// Files of one generation.
    pub fn file_count(&self) -> u64 {
        (0..self.ranks).map(|rank| self.files(rank).count() as u64).sum()
    }

    /// Bytes of one generation.
    pub fn all_bytes(&self) -> u64 {
        let Checkpoint { model_bytes, optimizer_bytes, .. } = self.checkpoint;
        if self.unit > 1 {
            return (0..self.ranks).map(|rank| self.rank_bytes(rank)).fold(0, u64::saturating_add);
        }
        self.parameters().saturating_mul(model_bytes.saturating_add(optimizer_bytes))
    }

    /// Transfers of at most `transfer_bytes` that one generation takes.
    pub fn transfers(&self, transfer_bytes: u64) -> u64 {
        let of_rank = |rank| self.files(rank).map(|(_, bytes)| bytes.div_ceil(transfer_bytes)).sum::<u64>();
        (0..self.ranks).map(of_rank).fold(0, u64::saturating_add)
    }

    /// Bytes of the largest file.
    pub fn largest_file_bytes(&self) -> u64 {
        (0..self.ranks).flat_map(|rank| self.files(rank)).map(|(_, bytes)| bytes).max().unwrap_or(0)
    }

    /// Where `offset` of a file is, as the content of checkpoints counts: each generation has bytes of its own.
    pub fn spot(&self, generation: u64, rank: u32, state: State, offset: u64) -> Spot {
        let file = generation.wrapping_mul(self.ranks.into()).wrapping_add(rank.into());
        Spot { file: file.wrapping_mul(2).wrapping_add(state as u64), part: 0, offset }
    }
}

/// The bytes of checkpoint number `number` of a plan with `seed`.
pub fn content(seed: u64, number: u64) -> Content {
    Content::new(Payload::Unique {}, seed, number)
}

/// The `index`-th of so many shares of `whole`: shares differ by one at most, and the first are the larger ones.
fn share(whole: u64, shares: u64, index: u64) -> u64 {
    whole / shares + u64::from(index < whole % shares)
}

/// Parameters of `model`; [`u64::MAX`] where they do not fit.
pub fn parameters(model: &Model) -> u64 {
    match model {
        Model::Parameters(parameters) => *parameters,
        Model::Transformer(model) => {
            let layer = matrices(model).into_iter().fold(model.hidden.saturating_mul(2), u64::saturating_add);
            let layers = layer.saturating_mul(model.layers);
            layers.saturating_add(embedding(model).saturating_mul(2)).saturating_add(model.hidden)
        }
    }
}

/// Parameters of the embedding, and of the output.
fn embedding(model: &Transformer) -> u64 {
    model.vocabulary.saturating_mul(model.hidden)
}

/// Parameters of the matrices of a layer: queries, keys and values; what attention puts out; gate and up; down.
fn matrices(model: &Transformer) -> [u64; 4] {
    let &Transformer { hidden, feed_forward, heads, kv_heads, .. } = model;
    let kv = (hidden / heads.max(1)).saturating_mul(kv_heads);
    [
        hidden.saturating_mul(hidden.saturating_add(kv.saturating_mul(2))),
        hidden.saturating_mul(hidden),
        hidden.saturating_mul(feed_forward).saturating_mul(2),
        hidden.saturating_mul(feed_forward),
    ]
}

/// The places in which the files of generations are: one more than are kept, because a new one is written before the oldest
/// is removed. Generations take turns.
pub fn places(checkpoint: &Checkpoint, saves: u64) -> u64 {
    saves.min(u64::from(checkpoint.keep) + 1)
}

/// Name of the file of `rank` in the place of `generation`, of the checkpoint `name` in `case`.
pub fn file_name(
    case: &str,
    (name, checkpoint): (&str, &Checkpoint),
    generation: u64,
    rank: u32,
    state: State,
) -> String {
    let place = generation % (u64::from(checkpoint.keep) + 1);
    let state = match state {
        State::Model => "model",
        State::Optimizer => "optimizer",
    };
    format!("{case}.{name}.{place}.{state}.{rank:06}")
}

/// The name under which a file is written that gets its own, `file_name`, when it is complete.
pub fn unfinished_name(file_name: &str) -> String {
    format!("{file_name}.unfinished")
}

/// Generations that are there after so many saves.
pub fn kept(checkpoint: &Checkpoint, saves: u64) -> Range<u64> {
    saves.saturating_sub(checkpoint.keep.into())..saves
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    fn llama(layers: u64, hidden: u64, feed_forward: u64, heads: u64, kv_heads: u64) -> Model {
        Model::Transformer(Transformer { layers, hidden, feed_forward, heads, kv_heads, vocabulary: 128_256 })
    }

    fn checkpoint(model: Model, (tensor, pipeline, zero): (u32, u32, u32)) -> Checkpoint {
        Checkpoint { model, model_bytes: 2, optimizer_bytes: 12, tensor, pipeline, zero, keep: 2 }
    }

    fn sum(shards: &Shards, state: State) -> u64 {
        (0..shards.ranks()).map(|rank| shards.file_bytes(rank, state)).sum()
    }

    #[test]
    fn the_llama_3_family_has_the_sizes_of_mlperf_storage_by_its_formula() {
        let family = [
            (llama(32, 4096, 14_336, 32, 8), (1, 1, 3), 8, 15.0, 89.7),
            (llama(80, 8192, 28_672, 128, 8), (8, 1, 3), 64, 130.2, 781.0),
            (llama(126, 16_384, 53_248, 128, 8), (8, 32, 1), 512, 756.0, 4535.8),
            (llama(128, 25_872, 98_304, 192, 32), (8, 64, 1), 1024, 2203.6, 13_221.0),
        ];
        for (model, parallel, ranks, model_gib, optimizer_gib) in family {
            let shards = Shards::of(&checkpoint(model, parallel), ranks);
            let [model, optimizer] = State::ALL.map(|state| sum(&shards, state) as f64 / GIB);
            assert!((model - model_gib).abs() < 0.06, "{model} GiB, not {model_gib}");
            assert!((optimizer - optimizer_gib).abs() < 0.6, "{optimizer} GiB, not {optimizer_gib}");
        }
    }

    #[test]
    fn ranks_have_unequal_files_where_layers_do_not_divide() {
        // 126 layers on 32 stages: the first 30 have 4, the last two 3, and of 2 instances only the first writes the model.
        let shards = Shards::of(&checkpoint(llama(126, 16_384, 53_248, 128, 8), (8, 32, 1)), 512);
        let model = |rank| shards.file_bytes(rank, State::Model);
        assert!(model(0) > model(8) && model(8) > model(8 * 30) && model(8 * 31) > model(8 * 30));
        assert_eq!(model(8), model(8 * 29));
        assert!(model(8) > model(9), "norms are in the files of the first tensor shard");
        assert_eq!((model(256), shards.files(256).count()), (0, 1));
        assert_eq!(shards.file_bytes(8, State::Optimizer), 3 * model(8));
        assert_eq!(shards.file_count(), 256 + 512);
    }

    #[test]
    fn a_generation_is_written_where_none_that_is_kept_lies() {
        let checkpoint = checkpoint(Model::Parameters(1), (1, 1, 0));
        let name = |generation| file_name("c", ("llama", &checkpoint), generation, 7, State::Optimizer);
        assert_eq!(name(4), "c.llama.1.optimizer.000007");
        for saves in 0..20 {
            let kept = kept(&checkpoint, saves);
            assert_eq!(kept.end - kept.start, saves.min(2));
            assert!(kept.clone().all(|generation| name(generation) != name(saves)), "{saves}");
            assert!(kept.end <= 3 || places(&checkpoint, saves) == 3);
        }
    }

    proptest! {
        #[test]
        fn ranks_have_each_parameter_as_often_as_the_plan_says(
            layers in 1..40_u64, hidden in 1..300_u64, feed_forward in 1..500_u64, heads in 1..9_u64, vocabulary in 1..999_u64,
            tensor in 1..9_u32, pipeline in 1..9_u32, instances in 1..9_u32, zero in 0..4_u32, plain: bool,
        ) {
            let transformer = Transformer { layers, hidden, feed_forward, heads, kv_heads: heads, vocabulary };
            let model = if plain { Model::Parameters(hidden * vocabulary) } else { Model::Transformer(transformer) };
            let shards = Shards::of(&checkpoint(model, (tensor, pipeline, zero)), tensor * pipeline * instances);
            let filled_up = shards.clone().filled_up(4096);
            let files = |shards: &Shards| (0..shards.ranks()).flat_map(|rank| shards.files(rank)).collect::<Vec<_>>();
            let rounded = files(&shards).into_iter().map(|(state, bytes)| (state, bytes.next_multiple_of(4096)));
            prop_assert_eq!(rounded.collect::<Vec<_>>(), files(&filled_up));
            prop_assert_eq!(files(&filled_up).iter().map(|&(_, bytes)| bytes).sum::<u64>(), filled_up.all_bytes());
            prop_assert_eq!(sum(&shards, State::Model), 2 * shards.parameters());
            prop_assert_eq!(sum(&shards, State::Optimizer), 12 * shards.parameters());
            prop_assert_eq!((0..shards.ranks()).map(|rank| shards.rank_bytes(rank)).sum::<u64>(), shards.all_bytes());
            prop_assert_eq!(shards.instances(), u64::from(instances));
            let largest = (0..shards.ranks()).flat_map(|rank| State::ALL.map(|state| shards.file_bytes(rank, state)));
            prop_assert_eq!(shards.largest_file_bytes(), largest.max().unwrap());
        }
    }
}
