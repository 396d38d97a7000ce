//! Per-endpoint values that plugins hand to each other, as dense typed columns.
//!
//! A key resolves to a column when the engine is built, so reading one on the hot path is an index
//! and no look-up. Columns are reused from pick to pick.

use std::any::Any;
use std::marker::PhantomData;

/// A kind of per-endpoint value, named after the peers' data keys.
pub trait Attribute: 'static {
    /// One endpoint's value; the default means "nobody said".
    type Value: Copy + Default + Send + Sync + 'static;
    /// Name of the kind.
    const NAME: &'static str;
    /// Type of the plugin that produces it when none is configured.
    const DEFAULT_PRODUCER: &'static str;
}

/// Where the values of `A` by one producer are.
pub struct Key<A: Attribute> {
    index: usize,
    kind: PhantomData<fn() -> A>,
}

/// Where a plugin's own per-request state is.
pub struct StateKey<T> {
    index: usize,
    kind: PhantomData<fn() -> T>,
}

/// All columns of one pick, one value for each endpoint of the snapshot.
#[derive(Default)]
pub struct Columns {
    columns: Vec<Box<dyn Column>>,
}

/// All per-request state of one pick.
#[derive(Default)]
pub struct States {
    states: Vec<Box<dyn Any + Send>>,
}

trait Column: Send + Sync {
    fn reset(&mut self, len: usize);
    fn values(&self) -> &dyn Any;
    fn values_mut(&mut self) -> &mut dyn Any;
}

/// Makes empty columns and states; the engine keeps one for each key.
pub(crate) type MakeColumn = fn() -> Box<dyn ColumnBox>;
pub(crate) type MakeState = fn() -> Box<dyn Any + Send>;

/// Hides [`Column`] outside this file.
pub(crate) trait ColumnBox: Send + Sync {
    fn into_columns(self: Box<Self>, columns: &mut Columns);
}

// === impl Key ===

impl<A: Attribute> Key<A> {
    pub(crate) const fn new(index: usize) -> Self {
        Self {
            index,
            kind: PhantomData,
        }
    }
}

impl<A: Attribute> Clone for Key<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Attribute> Copy for Key<A> {}

impl<A: Attribute> std::fmt::Debug for Key<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key<{}>({})", A::NAME, self.index)
    }
}

// === impl StateKey ===

impl<T> StateKey<T> {
    pub(crate) const fn new(index: usize) -> Self {
        Self {
            index,
            kind: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for StateKey<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StateKey({})", self.index)
    }
}

// === impl Columns ===

impl Columns {
    /// Values for every endpoint of the snapshot, by its place.
    #[must_use]
    pub fn read<A: Attribute>(&self, key: Key<A>) -> &[A::Value] {
        self.columns
            .get(key.index)
            .and_then(|column| column.values().downcast_ref::<Vec<A::Value>>())
            .map_or(&[], Vec::as_slice)
    }

    /// The same for writing.
    pub fn write<A: Attribute>(&mut self, key: Key<A>) -> &mut [A::Value] {
        self.columns
            .get_mut(key.index)
            .and_then(|column| column.values_mut().downcast_mut::<Vec<A::Value>>())
            .map_or(&mut [], Vec::as_mut_slice)
    }

    pub(crate) fn reset(&mut self, len: usize) {
        for column in &mut self.columns {
            column.reset(len);
        }
    }
}

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Columns({})", self.columns.len())
    }
}

impl<T: Copy + Default + Send + Sync + 'static> Column for Vec<T> {
    fn reset(&mut self, len: usize) {
        self.clear();
        self.resize(len, T::default());
    }

    fn values(&self) -> &dyn Any {
        self
    }

    fn values_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T: Copy + Default + Send + Sync + 'static> ColumnBox for Vec<T> {
    fn into_columns(self: Box<Self>, columns: &mut Columns) {
        columns.columns.push(self);
    }
}

pub(crate) fn make_column<A: Attribute>() -> Box<dyn ColumnBox> {
    Box::new(Vec::<A::Value>::new())
}

// === impl States ===

impl States {
    /// The state behind `key`, as the last request left it.
    ///
    /// `None` only for a key of another engine.
    pub fn get<T: 'static>(&mut self, key: &StateKey<T>) -> Option<&mut T> {
        self.states
            .get_mut(key.index)
            .and_then(|state| state.downcast_mut())
    }

    pub(crate) fn push(&mut self, state: Box<dyn Any + Send>) {
        self.states.push(state);
    }
}

impl std::fmt::Debug for States {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "States({})", self.states.len())
    }
}

pub(crate) fn make_state<T: Default + Send + 'static>() -> Box<dyn Any + Send> {
    Box::new(T::default())
}
