//! Who produces what and who reads it: columns, order of producers, missing producers.

use crate::columns::{
    Attribute, Columns, Key, MakeColumn, MakeState, StateKey, States, make_column, make_state,
};

/// Everything that plugins declared while they were built.
#[derive(Default)]
pub struct Graph {
    columns: Vec<ColumnNode>,
    consumers: Vec<Consumer>,
    states: Vec<MakeState>,
}

struct ColumnNode {
    attribute: &'static str,
    default_producer: &'static str,
    /// Instance that writes, or is expected to write, this column.
    producer: String,
    produced: bool,
    make: MakeColumn,
}

struct Consumer {
    instance: String,
    column: usize,
    required: bool,
}

/// A column that is read and that no instance writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Name of the attribute.
    pub attribute: &'static str,
    /// Instance that was expected to write it.
    pub producer: String,
    /// Type to create for it; `None`: only an instance of that name would do.
    pub create: Option<&'static str>,
    /// Instance that reads it.
    pub consumer: String,
}

// === impl Graph ===

impl Graph {
    pub(crate) fn produce<A: Attribute>(&mut self, instance: &str) -> Key<A> {
        let index = self.column::<A>(instance);
        if let Some(node) = self.columns.get_mut(index) {
            node.produced = true;
        }
        Key::new(index)
    }

    pub(crate) fn consume<A: Attribute>(
        &mut self,
        instance: &str,
        producer: &str,
        required: bool,
    ) -> Key<A> {
        let producer = if producer.is_empty() {
            A::DEFAULT_PRODUCER
        } else {
            producer
        };
        let column = self.column::<A>(producer);
        self.consumers.push(Consumer {
            instance: instance.to_owned(),
            column,
            required,
        });
        Key::new(column)
    }

    pub(crate) fn state<T: Default + Send + 'static>(&mut self) -> StateKey<T> {
        self.states.push(make_state::<T>);
        StateKey::new(self.states.len() - 1)
    }

    fn column<A: Attribute>(&mut self, producer: &str) -> usize {
        let known = self
            .columns
            .iter()
            .position(|node| node.attribute == A::NAME && node.producer == producer);
        known.unwrap_or_else(|| {
            self.columns.push(ColumnNode {
                attribute: A::NAME,
                default_producer: A::DEFAULT_PRODUCER,
                producer: producer.to_owned(),
                produced: false,
                make: make_column::<A>,
            });
            self.columns.len() - 1
        })
    }

    /// Key of a column that some instance of this name writes.
    pub(crate) fn produced<A: Attribute>(&self, producer: &str) -> Option<Key<A>> {
        let written = |node: &ColumnNode| {
            node.produced && node.attribute == A::NAME && node.producer == producer
        };
        self.columns.iter().position(written).map(Key::new)
    }

    /// Required columns that nobody writes, in the order of their consumers.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        let mut missing: Vec<Missing> = Vec::new();
        for consumer in self.consumers.iter().filter(|consumer| consumer.required) {
            let Some(node) = self.columns.get(consumer.column) else {
                continue;
            };
            let named = missing
                .iter()
                .any(|m| m.attribute == node.attribute && m.producer == node.producer);
            if !node.produced && !named {
                missing.push(Missing {
                    attribute: node.attribute,
                    producer: node.producer.clone(),
                    create: (node.producer == node.default_producer)
                        .then_some(node.default_producer),
                    consumer: consumer.instance.clone(),
                });
            }
        }
        missing
    }

    /// Orders `producers`, given in the order of the configuration, so that each comes after those
    /// whose columns it reads. Optional reads order too, as far as a producer is there.
    ///
    /// # Errors
    /// The names on a cycle.
    pub(crate) fn order(&self, producers: &[&str]) -> Result<Vec<usize>, Vec<String>> {
        let needs = |reader: &str, writer: &str| {
            reader != writer
                && self.consumers.iter().any(|consumer| {
                    consumer.instance == reader
                        && self
                            .columns
                            .get(consumer.column)
                            .is_some_and(|node| node.produced && node.producer == writer)
                })
        };
        let mut left: Vec<usize> = (0..producers.len()).collect();
        let mut order = Vec::with_capacity(left.len());
        let name = |index: usize| producers.get(index).copied().unwrap_or_default();
        while !left.is_empty() {
            let ready = left
                .iter()
                .position(|&one| !left.iter().any(|&other| needs(name(one), name(other))));
            let Some(ready) = ready else {
                return Err(left
                    .into_iter()
                    .map(|index| name(index).to_owned())
                    .collect());
            };
            order.push(left.remove(ready));
        }
        Ok(order)
    }

    /// Empty columns and states for one pick.
    pub(crate) fn storage(&self) -> (Columns, States) {
        let (mut columns, mut states) = (Columns::default(), States::default());
        for node in &self.columns {
            (node.make)().into_columns(&mut columns);
        }
        for make in &self.states {
            states.push(make());
        }
        (columns, states)
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(
                self.columns
                    .iter()
                    .map(|node| format!("{}/{}", node.attribute, node.producer)),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fact;
    impl Attribute for Fact {
        type Value = u32;
        const NAME: &'static str = "Fact";
        const DEFAULT_PRODUCER: &'static str = "fact-producer";
    }

    struct Other;
    impl Attribute for Other {
        type Value = u32;
        const NAME: &'static str = "Other";
        const DEFAULT_PRODUCER: &'static str = "other-producer";
    }

    #[test]
    fn names_the_default_producer_that_is_missing() {
        let mut graph = Graph::default();
        graph.consume::<Fact>("scorer", "", true);
        graph.consume::<Fact>("second", "", true);
        graph.consume::<Other>("optional", "", false);
        let missing = graph.missing();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].create, Some("fact-producer"));
        assert_eq!(missing[0].consumer, "scorer");
        graph.produce::<Fact>("fact-producer");
        assert_eq!(graph.missing(), []);
    }

    #[test]
    fn a_renamed_producer_must_exist() {
        let mut graph = Graph::default();
        graph.consume::<Fact>("scorer", "mine", true);
        assert_eq!(graph.missing()[0].create, None);
    }

    #[test]
    fn producers_come_after_what_they_read() {
        let mut graph = Graph::default();
        graph.produce::<Other>("b");
        graph.produce::<Fact>("a");
        graph.consume::<Fact>("b", "a", false);
        assert_eq!(graph.order(&["b", "a"]), Ok(vec![1, 0]));
        graph.consume::<Other>("a", "b", true);
        assert!(graph.order(&["b", "a"]).is_err());
    }
}
