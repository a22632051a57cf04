//! What an agent says: documents with typed fields. Every sink derives its own types, names and help from the same tables.

use serde::{Deserialize, Serialize};

/// What a field means to a store of time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// A text of few values, by which series are distinguished: node, job, class.
    Label,
    /// What tells documents of one second apart besides labels, of too many values for a label: a process.
    Key,
    /// Any text: a path, a command. Never a label.
    Text,
    /// An amount of the document's second: adding it up is meaningful.
    Amount,
    /// The greatest of something in the document's second.
    Greatest,
    /// The state of something at the end of the second.
    Level,
    /// A moment, in nanoseconds since 1970; its name ends with `_ns`. Adding it up means nothing.
    Moment,
}

/// A field of all documents of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, with its unit (`write_bytes`).
    pub name: &'static str,
    /// What it means to a store.
    pub kind: FieldKind,
    /// What it means to people: a line.
    pub about: &'static str,
}

impl Field {
    /// What a moment is called in stores that have a type for it: `begin_time` instead of `begin_ns`.
    pub fn time_name(&self) -> String {
        format!("{}_time", self.name.strip_suffix("_ns").unwrap_or(self.name))
    }
}

/// A kind of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// Its name: of a measurement, a part of an index's name, a table.
    pub name: &'static str,
    /// What such a document says.
    pub about: &'static str,
    /// Its fields, labels first.
    pub fields: &'static [Field],
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Of a label or a text. Empty where it is not known.
    Text(String),
    /// Of all others.
    Number(u64),
    /// Not known: the field is left out.
    Missing,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// Additions to a second of documents with keys that stores of time series can distinguish. Without keys it is far
/// more.
const PARTS: u64 = 1000;

/// A document: what was so in one second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Of which kind.
    pub kind: &'static Kind,
    /// The second, since 1970.
    pub second: u64,
    /// 0, or which addition to an earlier second this is: by how many seconds it came later. A call that took several seconds
    /// belongs to all of them, which is known when it has ended.
    pub part: u32,
    /// The fields' values, in the order of the kind's fields.
    pub values: Vec<Value>,
}

impl Document {
    /// The moment that stores keep: within its second, in nanoseconds since 1970. Stores of time series know documents of the
    /// same labels only by it, so additions and keys move it.
    pub fn time_ns(&self) -> u64 {
        let keys = self.texts(&[FieldKind::Key]).fold(0_u64, |hash, text| {
            text.bytes().fold(hash ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        });
        let within = keys % (1_000_000_000 / PARTS) * PARTS + u64::from(self.part);
        self.second * 1_000_000_000 + within % 1_000_000_000
    }

    /// What tells it from all other documents: kind, second, addition, labels and keys. A store that gets it twice keeps it once.
    pub fn identity(&self) -> String {
        let labels: Vec<&str> = self.texts(&[FieldKind::Label, FieldKind::Key]).collect();
        format!("{}\u{1f}{}\u{1f}{}\u{1f}{}", self.kind.name, self.second, self.part, labels.join("\u{1f}"))
    }

    fn texts<'a>(&'a self, kinds: &'a [FieldKind]) -> impl Iterator<Item = &'a str> {
        self.fields().filter(|(field, _)| kinds.contains(&field.kind)).map(|(_, value)| match value {
            Value::Text(text) => text.as_str(),
            Value::Number(_) | Value::Missing => "",
        })
    }

    /// Fields and their values.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, &Value)> {
        self.kind.fields.iter().zip(&self.values)
    }

    /// The value of a field.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.fields().find_map(|(field, value)| (field.name == name).then_some(value))
    }
}

/// What a doc comment says, which begins with a space.
pub const fn after_space(text: &'static str) -> &'static str {
    text.split_at(1).1
}

/// Declares kinds of documents: a structure for each, whose fields are in order and convert to [`Value`].
///
/// `pub struct Io = io { node: String as Label "its name", … }`
#[macro_export]
macro_rules! documents {
    ($($(#[doc = $about:literal])+ pub struct $name:ident = $kind:ident {
        $($(#[doc = $field_about:literal])+ $field:ident: $type:ty as $field_kind:ident,)+
    })+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, PartialEq, Eq, Default)]
            pub struct $name { $($(#[doc = $field_about])+ pub $field: $type,)+ }

            impl $name {
                /// Its kind.
                pub const KIND: $crate::watch::document::Kind = $crate::watch::document::Kind {
                    name: stringify!($kind),
                    about: $crate::watch::document::after_space(concat!($($about),+)),
                    fields: &[$($crate::watch::document::Field {
                        name: stringify!($field),
                        kind: $crate::watch::document::FieldKind::$field_kind,
                        about: $crate::watch::document::after_space(concat!($($field_about),+)),
                    },)+],
                };

                /// The document of a second.
                pub fn of(self, second: u64, part: u32) -> $crate::watch::document::Document {
                    static KIND: $crate::watch::document::Kind = $name::KIND;
                    $crate::watch::document::Document {
                        kind: &KIND,
                        second,
                        part,
                        values: vec![$(self.$field.into()),+],
                    }
                }
            }
        )+

        /// Those of jobs and agents. Those of nodes are of `ioassay_host::node_view`.
        pub const KINDS: &[$crate::watch::document::Kind] = &[$($name::KIND),+];
    };
}
