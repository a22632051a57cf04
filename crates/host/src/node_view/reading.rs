//! What all subjects have in common: fields that are declared once, and their values at one moment.
//!
//! Not here: where a value comes from.

use super::{cpu, disk, gpfs, links, lustre, memory, nfs};

/// Whether a field only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows from the moment at which the kernel or the daemon began to count. Its differences are of interest.
    Counter,
    /// The state at this moment.
    Gauge,
}

/// A field of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// With its unit: `read_bytes`, `busy_ns`. What has none is a number of things.
    pub name: &'static str,
    /// Counter or gauge.
    pub kind: Kind,
    /// For people, in one line without a full stop.
    pub meaning: &'static str,
}

/// What is observed. The order is that of [`super::NodeView::read`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// All processors of the node together.
    Cpu,
    /// The memory of the node.
    Memory,
    /// Time lost to a shortage of a resource.
    Pressure,
    /// A whole block device.
    Disk,
    /// A network interface of this network namespace, without the loopback interface.
    NetworkInterface,
    /// A port of an InfiniBand adapter.
    InfinibandPort,
    /// A file system mounted by NFS.
    NfsMount,
    /// A Lustre file system, as applications use it.
    LustreFileSystem,
    /// An OST or MDT of a Lustre file system, as the client's requests reach it.
    LustreTarget,
    /// A GPFS (IBM Storage Scale) file system.
    GpfsFileSystem,
}

impl Subject {
    /// All of them, in order.
    pub const ALL: [Self; 10] = [
        Self::Cpu,
        Self::Memory,
        Self::Pressure,
        Self::Disk,
        Self::NetworkInterface,
        Self::InfinibandPort,
        Self::NfsMount,
        Self::LustreFileSystem,
        Self::LustreTarget,
        Self::GpfsFileSystem,
    ];

    /// Its name in documents, series and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Pressure => "pressure",
            Self::Disk => "disk",
            Self::NetworkInterface => "network",
            Self::InfinibandPort => "infiniband",
            Self::NfsMount => "nfs",
            Self::LustreFileSystem => "lustre",
            Self::LustreTarget => "lustre_target",
            Self::GpfsFileSystem => "gpfs",
        }
    }

    /// What [`Reading::name`] names, as a label is called. `None` where a node has only one.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Cpu | Self::Memory => None,
            Self::Pressure => Some("resource"),
            Self::Disk => Some("device"),
            Self::NetworkInterface => Some("interface"),
            Self::InfinibandPort => Some("port"),
            Self::NfsMount => Some("mount_point"),
            Self::LustreFileSystem | Self::GpfsFileSystem => Some("file_system"),
            Self::LustreTarget => Some("target"),
        }
    }

    /// What [`Reading::source`] names, as a label is called. `None` where it is empty.
    pub const fn source_label(self) -> Option<&'static str> {
        match self {
            Self::NfsMount => Some("export"),
            Self::LustreTarget => Some("file_system"),
            Self::GpfsFileSystem => Some("cluster"),
            _ => None,
        }
    }

    /// Its fields; the values of a reading have the same order.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Cpu => cpu::Cpu::FIELDS,
            Self::Memory => memory::Memory::FIELDS,
            Self::Pressure => memory::Pressure::FIELDS,
            Self::Disk => disk::Disk::FIELDS,
            Self::NetworkInterface => links::Interface::FIELDS,
            Self::InfinibandPort => links::Port::FIELDS,
            Self::NfsMount => &nfs::FIELDS,
            Self::LustreFileSystem => &lustre::FILE_SYSTEM_FIELDS,
            Self::LustreTarget => &lustre::TARGET_FIELDS,
            Self::GpfsFileSystem => gpfs::FileSystem::FIELDS,
        }
    }
}

/// The values of one subject at one moment, or, from [`difference`], over the time between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What was observed.
    pub subject: Subject,
    /// Which one: `nvme0n1`, `/home`, `scratch-OST0001` ([`Subject::label`]). Empty where a node has only one.
    pub name: String,
    /// What it belongs to: an NFS export, a Lustre file system, a GPFS cluster ([`Subject::source_label`]). Empty for the
    /// others.
    pub source: String,
    /// As [`Subject::fields`]; `None` where the system does not say.
    values: Box<[Option<u64>]>,
}

impl Reading {
    /// Of something that belongs to nothing else. `values` must be as many as [`Subject::fields`], in their order.
    pub fn new(subject: Subject, name: impl Into<String>, values: Box<[Option<u64>]>) -> Self {
        assert_eq!(values.len(), subject.fields().len(), "a value for each field of {subject:?}");
        Self { subject, name: name.into(), source: String::new(), values }
    }

    /// The same, of something that belongs to `source`.
    pub fn within(self, source: impl Into<String>) -> Self {
        Self { source: source.into(), ..self }
    }

    /// The values that the system gave, with their fields, in the order of the fields.
    pub fn values(&self) -> impl Iterator<Item = (&'static Field, u64)> + '_ {
        let fields = self.subject.fields().iter();
        fields.zip(&self.values).filter_map(|(field, value)| Some((field, (*value)?)))
    }

    /// A value for each field, in the order of the fields; `None` where the system does not say.
    pub fn all_values(&self) -> &[Option<u64>] {
        &self.values
    }

    /// The value of the field `name`.
    pub fn value(&self, name: &str) -> Option<u64> {
        self.values().find(|(field, _)| field.name == name).map(|(_, value)| value)
    }
}

/// What happened between two readings of the same thing: differences of the counters, and the gauges as they are `now`. A
/// counter below its earlier value began anew (a device came back, a file system was mounted again, 32 bits overflowed)
/// and counts as from zero. A counter that one of the two lacks has no difference.
pub fn difference(before: &Reading, now: &Reading) -> Reading {
    debug_assert_eq!((before.subject, &before.name), (now.subject, &now.name));
    let fields = now.subject.fields().iter();
    let values = fields.zip(before.values.iter().zip(&now.values)).map(|(field, (before, now))| match field.kind {
        Kind::Gauge => *now,
        Kind::Counter => before.zip(*now).map(|(before, now)| now.checked_sub(before).unwrap_or(now)),
    });
    Reading { values: values.collect(), ..now.clone() }
}

/// Declares a structure of values, its fields as [`Field`]s, and how it becomes the values of a [`Reading`]: each field is
/// written once.
macro_rules! fields {
    ($(#[$about:meta])* pub struct $name:ident { $($kind:ident $field:ident: $meaning:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Default, Clone, PartialEq, Eq)]
        pub struct $name { $(#[doc = $meaning] pub $field: Option<u64>,)+ }

        impl $name {
            /// In order.
            pub const FIELDS: &[$crate::node_view::Field] = &[$($crate::node_view::Field {
                name: stringify!($field),
                kind: $crate::node_view::Kind::$kind,
                meaning: $meaning,
            },)+];

            /// In the order of the fields.
            pub fn into_values(self) -> Box<[Option<u64>]> {
                Box::new([$(self.$field,)+])
            }
        }
    };
}
pub(super) use fields;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::node_view::memory::{Memory, Pressure};

    fn pressure(some_ns: Option<u64>, full_ns: Option<u64>) -> Reading {
        Reading::new(Subject::Pressure, "io", Pressure { some_ns, full_ns }.into_values())
    }

    #[test]
    fn a_counter_that_fell_counts_from_zero_and_one_that_is_missing_has_no_difference() {
        let before = pressure(Some(100), Some(70));
        assert_eq!(difference(&before, &pressure(Some(130), Some(7))), pressure(Some(30), Some(7)));
        assert_eq!(difference(&before, &before), pressure(Some(0), Some(0)));
        assert_eq!(difference(&before, &pressure(None, Some(71))), pressure(None, Some(1)));
        assert_eq!(difference(&pressure(None, Some(70)), &before), pressure(None, Some(0)));
    }

    #[test]
    fn a_gauge_is_as_it_is_now() {
        let memory = |dirty_bytes, major_faults| {
            let memory = Memory { dirty_bytes, major_faults, ..Memory::default() };
            Reading::new(Subject::Memory, "", memory.into_values())
        };
        let between = difference(&memory(Some(900), Some(2)), &memory(Some(300), Some(5)));
        assert_eq!(between, memory(Some(300), Some(3)));
        assert_eq!(
            between.values().map(|(field, value)| (field.name, value)).collect::<Vec<_>>(),
            [("dirty_bytes", 300), ("major_faults", 3)]
        );
        assert_eq!(between.value("dirty_bytes"), Some(300));
        assert_eq!(between.value("available_bytes"), None);
        assert_eq!(between.all_values().len(), Subject::Memory.fields().len());
        assert_eq!(between.all_values().iter().flatten().collect::<Vec<_>>(), [&300, &3]);
    }

    #[test]
    fn every_field_of_a_subject_has_a_name_of_its_own_and_a_meaning() {
        for subject in Subject::ALL {
            let fields = subject.fields();
            let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), fields.len(), "{subject:?}");
            for Field { name, meaning, .. } in fields {
                assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
                assert!(!meaning.is_empty() && !meaning.ends_with('.') && !meaning.contains('\n'), "{name}: {meaning}");
            }
        }
        let names: BTreeSet<_> = Subject::ALL.iter().map(|subject| subject.name()).collect();
        assert_eq!(names.len(), Subject::ALL.len());
    }
}
