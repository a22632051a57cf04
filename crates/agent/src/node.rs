//! The node's own counters as documents: a kind for each subject of `ioassay_host::node_view`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use ioassay_host::node_view::{self, NodeView, Reading, Subject, difference};
use ioassay_protocol::watch::document::{Document, Field, FieldKind, Kind, Value};

/// The kinds of all subjects, in their order.
pub static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| Subject::ALL.into_iter().map(kind).collect());

/// What a label says, where it is no subject's own.
const NODE: Field = Field { name: "node", kind: FieldKind::Label, about: "The node." };

fn kind(subject: Subject) -> Kind {
    let label = |name| Field { name, kind: FieldKind::Label, about: "Which one it is." };
    let labels = [subject.label(), subject.source_label()].into_iter().flatten().map(label);
    let fields = subject.fields().iter().map(|field| Field {
        name: field.name,
        kind: match field.kind {
            node_view::Kind::Counter => FieldKind::Amount,
            node_view::Kind::Gauge => FieldKind::Level,
        },
        about: field.meaning,
    });
    let fields: Vec<Field> = std::iter::once(NODE).chain(labels).chain(fields).collect();
    Kind { name: subject.name(), about: "What the node counted in a second.", fields: fields.leak() }
}

/// Looks after which what was read of something is forgotten.
const FORGOTTEN_AFTER: u32 = 60;

/// The node, as it was at the last looks.
pub struct Node {
    view: NodeView,
    /// What was read last, and how many looks ago: not everything is read each time.
    before: HashMap<(Subject, String, String), (Reading, u32)>,
}

impl Node {
    /// The node of this process.
    pub fn new() -> Self {
        let mut node = Self { view: NodeView::new(Path::new("/")), before: HashMap::new() };
        // What was counted before the agent began is not what happened in its first second.
        node.documents("", 0);
        node
    }

    /// What happened since the last look, as documents of a second.
    pub fn documents(&mut self, name: &str, second: u32) -> Vec<Document> {
        let mut documents = Vec::new();
        self.before.retain(|_, (_, looks)| {
            *looks += 1;
            *looks < FORGOTTEN_AFTER
        });
        for reading in self.view.read() {
            let key = (reading.subject, reading.name.clone(), reading.source.clone());
            if let Some((before, _)) = self.before.insert(key, (reading.clone(), 0)) {
                documents.push(document(&difference(&before, &reading), name, second));
            }
        }
        documents
    }
}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

fn document(reading: &Reading, node: &str, second: u32) -> Document {
    let subject = reading.subject;
    let place = Subject::ALL.iter().position(|known| *known == subject).unwrap_or_default();
    let mut values = vec![Value::from(node)];
    values.extend(subject.label().map(|_| Value::from(reading.name.as_str())));
    values.extend(subject.source_label().map(|_| Value::from(reading.source.as_str())));
    values.extend(reading.all_values().iter().copied().map(Value::from));
    Document { kind: &KINDS[place], second: second.into(), part: 0, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_is_a_kind_with_labels_first_and_unique_names() {
        for kind in &*KINDS {
            let labels = kind.fields.iter().take_while(|field| field.kind == FieldKind::Label).count();
            assert!(labels > 0 && kind.fields[labels..].iter().all(|field| field.kind != FieldKind::Label));
            let mut names: Vec<_> = kind.fields.iter().map(|field| field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), kind.fields.len(), "{}", kind.name);
        }
    }

    #[test]
    fn this_node_has_documents_with_a_value_for_each_field() {
        let documents = Node::new().documents("here", 7);
        assert!(documents.iter().any(|document| document.kind.name == "cpu"));
        for document in &documents {
            assert_eq!(document.values.len(), document.kind.fields.len(), "{}", document.kind.name);
            assert_eq!(document.value("node"), Some(&Value::from("here")));
        }
    }
}
