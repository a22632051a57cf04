//! Datasets for training: how large each sample is, in which file it lies, and in which order an epoch reads samples.
//! The bytes of files are in [`super::container`].
//!
//! All of it is computed from the number of a sample or of a place in the order; nothing is stored, so that ten million
//! samples take no memory. Not here: reading and writing them.

use std::collections::BTreeMap;

use ioassay_protocol::plan::train::{Container, Dataset, Epoch, SampleSizes, Shuffle};

use super::container;
use super::payload::{Content, Spot};
use super::permutation::Permutation;
use super::random::{MOST_DEVIATIONS, ONE, STEP, SplitMix64, mix};
use ioassay_protocol::plan::data::Payload;

/// The samples of a dataset, and the files in which they lie.
#[derive(Debug, Clone)]
pub struct Samples {
    dataset: Dataset,
    key: u64,
    /// Sum of the weights of a histogram.
    weights: u64,
    /// What is read of each at most.
    most_read_bytes: u64,
}

impl Samples {
    /// Those of `dataset`.
    pub fn of(dataset: &Dataset) -> Self {
        let weights = match &dataset.sizes {
            SampleSizes::Histogram(sizes) => sizes.iter().map(|size| size.weight).fold(0, u64::saturating_add),
            SampleSizes::Fixed(_) | SampleSizes::Normal { .. } => 0,
        };
        Self {
            dataset: dataset.clone(),
            key: SplitMix64::keyed(&[dataset.seed]).draw(),
            weights,
            most_read_bytes: u64::MAX,
        }
    }

    /// The same, of each of which an epoch reads at most so many bytes.
    pub fn read_in_part(self, most_read_bytes: Option<u64>) -> Self {
        Self { most_read_bytes: most_read_bytes.unwrap_or(u64::MAX), ..self }
    }

    /// Bytes of `sample` itself that an epoch reads.
    #[inline]
    pub fn asked_bytes(&self, sample: u64) -> u64 {
        self.bytes(sample).min(self.most_read_bytes)
    }

    /// Samples in all.
    pub fn count(&self) -> u64 {
        self.dataset.samples
    }

    /// Files that hold samples.
    pub fn files(&self) -> u64 {
        self.dataset.samples / self.dataset.samples_per_file
    }

    /// Files in all: an index of each, where the container has one, comes after those that hold samples.
    pub fn all_files(&self) -> u64 {
        all_files(&self.dataset)
    }

    /// Samples of each file.
    pub fn per_file(&self) -> u64 {
        self.dataset.samples_per_file
    }

    /// What stands around samples in a file.
    pub fn container(&self) -> Container {
        self.dataset.container
    }

    /// Bytes of `sample`.
    #[inline]
    pub fn bytes(&self, sample: u64) -> u64 {
        match &self.dataset.sizes {
            SampleSizes::Fixed(bytes) => *bytes,
            SampleSizes::Normal { mean_bytes, standard_deviation_bytes, least_bytes } => {
                let deviation = i128::from(*standard_deviation_bytes) * i128::from(self.random(sample).normal());
                let bytes = i128::from(*mean_bytes) + deviation / i128::from(ONE);
                u64::try_from(bytes).unwrap_or(0).max(*least_bytes)
            }
            SampleSizes::Histogram(sizes) => {
                let mut place = self.random(sample).below(self.weights);
                for size in sizes {
                    match place.checked_sub(size.weight) {
                        Some(rest) => place = rest,
                        None => return size.bytes,
                    }
                }
                unreachable!("the place is below the sum of all weights")
            }
        }
    }

    /// Bytes of the largest sample that there may be.
    pub fn largest_bytes(&self) -> u64 {
        match &self.dataset.sizes {
            SampleSizes::Fixed(bytes) => *bytes,
            SampleSizes::Normal { mean_bytes, standard_deviation_bytes, least_bytes } => {
                let most = standard_deviation_bytes.saturating_mul(MOST_DEVIATIONS);
                mean_bytes.saturating_add(most).max(*least_bytes)
            }
            SampleSizes::Histogram(sizes) => sizes.iter().map(|size| size.bytes).max().unwrap_or(0),
        }
    }

    /// Bytes of all files.
    pub fn all_bytes(&self) -> u64 {
        match &self.dataset.sizes {
            SampleSizes::Fixed(_) => {
                let each = self.file_bytes(0) + if self.has_index() { self.file_bytes(self.files()) } else { 0 };
                each.saturating_mul(self.files())
            }
            _ => (0..self.all_files()).map(|file| self.file_bytes(file)).fold(0, u64::saturating_add),
        }
    }

    /// Bytes that a file has for `sample`: with what stands around it.
    #[inline]
    pub fn stored_bytes(&self, sample: u64) -> u64 {
        let bytes = self.bytes(sample);
        let (before, after) = container::around(self.dataset.container, bytes);
        before + bytes + after
    }

    /// Bytes that are read for `sample`, without the footer of its file where readers take that apart.
    pub fn read_bytes(&self, sample: u64) -> u64 {
        let whole = match self.dataset.container {
            Container::Npz => self.file_bytes(self.file_of(sample)),
            Container::Raw | Container::Tfrecord | Container::Parquet => self.stored_bytes(sample),
        };
        whole.min(self.most_read_bytes)
    }

    /// The same of all samples.
    fn all_read_bytes(&self) -> u64 {
        match &self.dataset.sizes {
            SampleSizes::Fixed(_) => self.read_bytes(0).saturating_mul(self.count()),
            _ => (0..self.count()).map(|sample| self.read_bytes(sample)).fold(0, u64::saturating_add),
        }
    }

    /// Bytes of the footer that readers take when they open `file`, before they know where its samples are. It is its end.
    pub fn footer_bytes(&self, file: u64) -> u64 {
        if self.dataset.container == Container::Parquet { container::end_bytes(self, file) } else { 0 }
    }

    fn has_index(&self) -> bool {
        self.all_files() > self.files()
    }

    /// The samples that lie in `file`, in order.
    pub fn in_file(&self, file: u64) -> std::ops::Range<u64> {
        file * self.dataset.samples_per_file..(file + 1) * self.dataset.samples_per_file
    }

    /// Bytes of `file`.
    pub fn file_bytes(&self, file: u64) -> u64 {
        if file >= self.files() {
            return container::index(self, file - self.files()).len() as u64;
        }
        let of_samples: u64 = match &self.dataset.sizes {
            SampleSizes::Fixed(_) => self.stored_bytes(0) * self.dataset.samples_per_file,
            _ => self.in_file(file).map(|sample| self.stored_bytes(sample)).sum(),
        };
        container::begin_bytes(self.dataset.container) + of_samples + container::end_bytes(self, file)
    }

    /// Bytes of the largest file.
    pub fn largest_file_bytes(&self) -> u64 {
        match &self.dataset.sizes {
            SampleSizes::Fixed(_) => self.file_bytes(0),
            _ => (0..self.files()).map(|file| self.file_bytes(file)).max().unwrap_or(0),
        }
    }

    /// The file in which `sample` lies.
    pub fn file_of(&self, sample: u64) -> u64 {
        sample / self.dataset.samples_per_file
    }

    /// What is read for `sample`: its file, the first byte there, and how many.
    #[inline]
    pub fn extent(&self, sample: u64) -> Extent {
        let (per_file, container) = (self.dataset.samples_per_file, self.dataset.container);
        let file = sample / per_file;
        let before = match &self.dataset.sizes {
            _ if per_file == 1 => 0,
            SampleSizes::Fixed(_) => self.stored_bytes(0) * (sample % per_file),
            _ => (file * per_file..sample).map(|before| self.stored_bytes(before)).sum(),
        };
        Extent { file, offset: container::begin_bytes(container) + before, bytes: self.read_bytes(sample) }
    }

    /// The bytes of all samples: as [`Content::fill`] makes them of a sample and an offset in it.
    pub fn content(&self) -> Content {
        Content::new(Payload::Unique {}, self.dataset.seed, 0)
    }

    fn random(&self, sample: u64) -> SplitMix64 {
        SplitMix64::keyed(&[self.key ^ mix(sample.wrapping_mul(STEP))])
    }
}

/// What is read for a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Number of its file.
    pub file: u64,
    /// The first byte.
    pub offset: u64,
    /// Bytes from there.
    pub bytes: u64,
}

/// Where `offset` of `sample` is, as the content of datasets counts.
pub fn spot(sample: u64, offset: u64) -> Spot {
    Spot { file: sample, part: 0, offset }
}

/// Files of `dataset` in all: those that hold samples, and an index of each where the container has one.
pub fn all_files(dataset: &Dataset) -> u64 {
    let files = dataset.samples / dataset.samples_per_file;
    if dataset.container == Container::Tfrecord { files.saturating_mul(2) } else { files }
}

/// What the names of the files of the dataset `name` in `case` begin with.
pub fn name_prefix(case: &str, name: &str) -> String {
    format!("{case}.{name}.")
}

/// Appends to `text` the rest of the name of file number `file`, with the directory that it is in.
pub fn push_name(dataset: &Dataset, file: u64, text: &mut String) {
    let files = dataset.samples / dataset.samples_per_file;
    let (number, index) = if file < files { (file, "") } else { (file - files, ".idx") };
    if dataset.subfolders > 0 {
        push_number(number % dataset.subfolders, 4, text);
        text.push('/');
    }
    push_number(number, 8, text);
    text.push_str(container::extension(dataset.container));
    text.push_str(index);
}

/// Appends `number` with so many digits at least. `write!` takes ten times as long, and loaders need a name for each sample.
fn push_number(mut number: u64, least_digits: usize, text: &mut String) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    while number > 0 {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let digits = &digits[first.min(20 - least_digits)..];
    text.push_str(std::str::from_utf8(digits).expect("digits"));
}

/// Names of all files of `dataset`, which begin with `prefix`, where they lie in no subfolders.
pub fn flat_names(dataset: &Dataset, prefix: String) -> impl Iterator<Item = String> + '_ {
    let count = if dataset.subfolders == 0 { all_files(dataset) } else { 0 };
    (0..count).map(move |file| named(dataset, &prefix, file))
}

/// Names of the subfolders of `dataset`, which begin with `prefix`, each with the names of the files in it.
pub fn subfolders(
    dataset: &Dataset,
    prefix: String,
) -> impl Iterator<Item = (String, impl Iterator<Item = String> + '_)> + '_ {
    let (files, all) = (dataset.samples / dataset.samples_per_file, all_files(dataset));
    (0..dataset.subfolders.min(files)).map(move |folder| {
        let of_folder = (folder..files).step_by(dataset.subfolders as usize);
        let in_it = of_folder.flat_map(move |file| (file..all).step_by(files as usize));
        let (subfolder, _) = split(&named(dataset, &prefix, folder));
        let prefix = prefix.clone();
        (subfolder, in_it.map(move |file| split(&named(dataset, &prefix, file)).1))
    })
}

fn named(dataset: &Dataset, prefix: &str, file: u64) -> String {
    let mut name = prefix.to_owned();
    push_name(dataset, file, &mut name);
    name
}

/// The directory and the name of a file in a subfolder.
fn split(path: &str) -> (String, String) {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    (folder.to_owned(), name.to_owned())
}

/// All datasets of a case with their samples.
pub fn all_samples(datasets: &BTreeMap<String, Dataset>) -> impl Iterator<Item = (&str, Samples)> {
    datasets.iter().map(|(name, dataset)| (name.as_str(), Samples::of(dataset)))
}

/// What the ranks read in an epoch, and in which order.
#[derive(Debug, Clone)]
pub struct EpochOrder {
    /// Of the dataset.
    samples: u64,
    /// The first so many of the order are read.
    used: u64,
    samples_per_file: u64,
    shuffled: Option<(Shuffle, Permutation)>,
    ranks: u64,
    /// Samples that each rank reads.
    per_rank: u64,
    batch: u64,
}

impl EpochOrder {
    /// That of `epoch` by so many ranks.
    pub fn new(dataset: &Dataset, epoch: &Epoch, ranks: u32) -> Self {
        let (samples, ranks, batch) = (dataset.samples, u64::from(ranks), epoch.batch);
        let random = || SplitMix64::keyed(&[dataset.seed, u64::from(epoch.number), 1]);
        let shuffled = match epoch.shuffle {
            Shuffle::None => None,
            Shuffle::Files => Some(Permutation::new(samples / dataset.samples_per_file, random())),
            Shuffle::Samples => Some(Permutation::new(samples, random())),
        };
        let used = epoch.samples.map_or(samples, |used| used.clamp(1, samples));
        let per_rank = if epoch.drop_last { used / ranks / batch * batch } else { used.div_ceil(ranks) };
        Self {
            samples,
            used,
            samples_per_file: dataset.samples_per_file,
            shuffled: shuffled.map(|permutation| (epoch.shuffle, permutation)),
            ranks,
            per_rank,
            batch,
        }
    }

    /// Steps of each rank.
    pub fn steps(&self) -> u64 {
        self.per_rank.div_ceil(self.batch)
    }

    /// Samples that all ranks read.
    pub fn reads(&self) -> u64 {
        self.per_rank * self.ranks
    }

    /// The samples of batch number `step` of rank number `rank`.
    pub fn batch(&self, rank: u32, step: u64) -> impl Iterator<Item = u64> + '_ {
        let begin = step * self.batch;
        let end = self.per_rank.min(begin + self.batch);
        (begin..end).map(move |nth| self.sample((nth * self.ranks + u64::from(rank)) % self.used))
    }

    /// The sample at `place` of the order of all samples.
    fn sample(&self, place: u64) -> u64 {
        match &self.shuffled {
            None => place,
            Some((Shuffle::Samples, permutation)) => permutation.map(place),
            Some((_, permutation)) => {
                let (file, within) = (place / self.samples_per_file, place % self.samples_per_file);
                permutation.map(file) * self.samples_per_file + within
            }
        }
    }

    /// Bytes that all ranks read for their samples, without footers.
    pub fn read_bytes(&self, of: &Samples) -> u64 {
        let bytes = |places: std::ops::Range<u64>| {
            let bytes = places.map(|place| of.read_bytes(self.sample(place % self.used)));
            bytes.fold(0, u64::saturating_add)
        };
        // Mostly nearly all of them are read, and their sum takes no order.
        let reads = self.reads();
        if self.used < self.samples {
            return bytes(0..reads);
        }
        match reads.checked_sub(self.samples) {
            Some(_) => of.all_read_bytes().saturating_add(bytes(self.samples..reads)),
            None if reads < self.samples / 2 => bytes(0..reads),
            None => of.all_read_bytes().saturating_sub(bytes(reads..self.samples)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_protocol::plan::replay::Size;
    use ioassay_protocol::plan::train::Compute;
    use proptest::prelude::*;

    const UNET3D: SampleSizes =
        SampleSizes::Normal { mean_bytes: 146_600_628, standard_deviation_bytes: 68_341_808, least_bytes: 1 << 20 };

    fn dataset(samples: u64, sizes: SampleSizes, samples_per_file: u64) -> Dataset {
        let (container, subfolders) = (Container::Raw, 0);
        Dataset { samples, sizes, samples_per_file, container, subfolders, seed: 7, keep: None }
    }

    fn epoch(number: u32, batch: u64, shuffle: Shuffle, drop_last: bool) -> Epoch {
        Epoch {
            number,
            batch,
            loader_threads: 1,
            prefetch: 1,
            shuffle,
            drop_last,
            compute_ns: 0,
            compute: Compute::Sleep,
            sync_steps: false,
            verify: false,
            compute_times: None,
            read_bytes: None,
            samples: None,
            hold_batches: false,
            evaluation: false,
        }
    }

    #[test]
    fn normal_sizes_have_their_mean_and_deviation_and_are_not_below_the_least() {
        let samples = Samples::of(&dataset(200_000, UNET3D, 1));
        let sizes: Vec<f64> = (0..samples.count()).map(|sample| samples.bytes(sample) as f64).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let deviation = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / sizes.len() as f64).sqrt();
        // What is cut off, 1.6 % of the samples, moves the mean by 0.4 % and the deviation by 1.6 %.
        assert!((mean / 146_600_628.0 - 1.004).abs() < 0.004, "{mean}");
        assert!((deviation / 68_341_808.0 - 0.984).abs() < 0.006, "{deviation}");
        assert!(sizes.iter().all(|&size| size >= f64::from(1 << 20)));
        assert!(sizes.iter().all(|&size| size <= samples.largest_bytes() as f64));
    }

    #[test]
    fn sizes_are_the_same_for_ever() {
        let samples = Samples::of(&dataset(1_000, UNET3D, 1));
        let first: Vec<u64> = (0..3).map(|sample| samples.bytes(sample)).collect();
        assert_eq!(first, FIRST_OF_UNET3D);
        assert_eq!(samples.all_bytes(), (0..1_000).map(|file| samples.file_bytes(file)).sum::<u64>());
    }

    const FIRST_OF_UNET3D: [u64; 3] = [107_083_221, 144_164_617, 250_549_293];

    #[test]
    fn a_histogram_has_its_weights() {
        let sizes = SampleSizes::Histogram(vec![Size { bytes: 10, weight: 1 }, Size { bytes: 1_000, weight: 3 }]);
        let samples = Samples::of(&dataset(40_000, sizes, 1));
        let small = (0..40_000).filter(|&sample| samples.bytes(sample) == 10).count();
        assert!((9_600..10_400).contains(&small), "{small}");
        assert_eq!(samples.all_bytes(), small as u64 * 10 + (40_000 - small as u64) * 1_000);
        assert_eq!(samples.largest_bytes(), 1_000);
    }

    #[test]
    fn samples_lie_end_to_end_in_their_files() {
        let sizes = SampleSizes::Normal { mean_bytes: 100, standard_deviation_bytes: 30, least_bytes: 1 };
        let samples = Samples::of(&dataset(12, sizes, 4));
        assert_eq!(samples.files(), 3);
        for file in 0..3 {
            let mut end = 0;
            for sample in samples.in_file(file) {
                let bytes = samples.bytes(sample);
                assert_eq!(samples.extent(sample), Extent { file, offset: end, bytes });
                end += bytes;
            }
            assert_eq!(samples.file_bytes(file), end);
        }
    }

    proptest! {
        #[test]
        fn the_ranks_read_each_sample_once_but_for_those_that_are_dropped_or_fill_up(
            files in 1..40_u64, per_file in 1..5_u64, ranks in 1..7_u32, batch in 1..6_u64, shuffle in 0..3_usize,
            drop_last: bool, number in 0..3_u32,
        ) {
            let sizes = SampleSizes::Normal { mean_bytes: 100, standard_deviation_bytes: 30, least_bytes: 1 };
            let dataset = dataset(files * per_file, sizes, per_file);
            let shuffle = [Shuffle::None, Shuffle::Files, Shuffle::Samples][shuffle];
            let epoch = epoch(number, batch, shuffle, drop_last);
            let (order, samples) = (EpochOrder::new(&dataset, &epoch, ranks), Samples::of(&dataset));
            let mut times = vec![0_u64; dataset.samples as usize];
            let mut bytes = 0;
            for rank in 0..ranks {
                for step in 0..order.steps() {
                    let batch: Vec<u64> = order.batch(rank, step).collect();
                    let is_whole = batch.len() as u64 == epoch.batch;
                    prop_assert!(is_whole || (!drop_last && step + 1 == order.steps() && !batch.is_empty()));
                    batch.iter().for_each(|&sample| times[sample as usize] += 1);
                    bytes += batch.iter().map(|&sample| samples.bytes(sample)).sum::<u64>();
                }
            }
            prop_assert_eq!(times.iter().sum::<u64>(), order.reads());
            prop_assert_eq!(bytes, order.read_bytes(&samples));
            if drop_last {
                prop_assert!(times.iter().all(|&times| times <= 1));
                prop_assert!(dataset.samples - order.reads() < u64::from(ranks) * batch);
            } else {
                prop_assert!(times.iter().all(|&times| times >= 1));
                prop_assert!(order.reads() - dataset.samples < u64::from(ranks));
            }
        }
    }

    #[test]
    fn names_have_eight_digits_or_more_and_the_folder_of_their_number() {
        let name = |subfolders, container, file| {
            let dataset = Dataset { subfolders, container, ..dataset(200_000_000, SampleSizes::Fixed(1), 1) };
            let mut name = "samples.".to_owned();
            push_name(&dataset, file, &mut name);
            name
        };
        assert_eq!(name(0, Container::Raw, 0), "samples.00000000");
        assert_eq!(name(0, Container::Raw, 123_456_789), "samples.123456789");
        assert_eq!(name(7, Container::Npz, 8), "samples.0001/00000008.npz");
        assert_eq!(name(7, Container::Tfrecord, 200_000_008), "samples.0001/00000008.tfrecord.idx");
    }

    #[test]
    fn an_evaluation_of_some_samples_reads_the_first_of_the_order_and_only_their_beginnings() {
        let sizes = SampleSizes::Normal { mean_bytes: 100, standard_deviation_bytes: 30, least_bytes: 1 };
        let (dataset, whole) = (dataset(40, sizes.clone(), 1), epoch(0, 3, Shuffle::Samples, false));
        let part = Epoch { samples: Some(10), ..whole.clone() };
        let read = |epoch| -> Vec<u64> {
            let order = EpochOrder::new(&dataset, epoch, 1);
            (0..order.steps()).flat_map(|step| order.batch(0, step).collect::<Vec<_>>()).collect()
        };
        assert_eq!(read(&part), read(&whole)[..10]);
        let samples = Samples::of(&dataset).read_in_part(Some(90));
        let bytes: u64 = read(&part).iter().map(|&sample| samples.bytes(sample).min(90)).sum();
        assert!(read(&part).iter().any(|&sample| samples.bytes(sample) > 90));
        assert_eq!(EpochOrder::new(&dataset, &part, 1).read_bytes(&samples), bytes);
    }

    #[test]
    fn epochs_have_different_orders_and_the_same_one_has_the_same() {
        let dataset = dataset(1_000, SampleSizes::Fixed(1), 1);
        let order = |number| -> Vec<u64> {
            let order = EpochOrder::new(&dataset, &epoch(number, 10, Shuffle::Samples, true), 1);
            (0..order.steps()).flat_map(|step| order.batch(0, step).collect::<Vec<_>>()).collect()
        };
        assert_eq!(order(0), order(0));
        let same = order(0).iter().zip(order(1)).filter(|(one, other)| **one == *other).count();
        assert!(same < 10, "{same}");
    }

    /// A control plane that asks for the amounts of a plan waits for this.
    #[test]
    fn the_bytes_of_ten_million_samples_are_added_up_at_once() {
        let dataset = dataset(10_000_000, UNET3D, 1);
        let begun = std::time::Instant::now();
        let order = EpochOrder::new(&dataset, &epoch(0, 7, Shuffle::Samples, true), 1024);
        let bytes = order.read_bytes(&Samples::of(&dataset));
        assert!((bytes as f64 / (146_600_628.0 * 1e7) - 1.0).abs() < 0.01, "{bytes}");
        // Without optimisation, beside other tests.
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
