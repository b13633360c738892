//! A payload as the compact form declares it.

use super::base::BaseType;

/// A payload: a root element of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredPayload {
    /// Its local name.
    pub name: String,
    /// Whether a person must approve it.
    pub dangerous: bool,
    /// The content.
    pub body: ElementBody,
}

/// The content of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementBody {
    /// A value.
    Type(ValueType),
    /// Elements, each at most once and in any order.
    Group {
        /// The purpose, in words for people and prompts.
        about: Option<String>,
        /// The elements.
        fields: Vec<GroupField>,
    },
    /// Elements called `item`.
    List(ItemList),
}

/// An element of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupField {
    /// Its local name.
    pub name: String,
    /// Whether it may be omitted.
    pub optional: bool,
    /// The content.
    pub body: ElementBody,
}

/// Elements called `item`, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemList {
    /// The content of each item.
    pub item: Box<ElementBody>,
    /// The minimum number of items.
    pub least: u32,
    /// The maximum number of items, if there is a limit.
    pub most: Option<u32>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueType {
    /// Whether the value may be erased from the record alone.
    pub sensitive: bool,
    /// The kind of value.
    pub base: BaseType,
    /// The smallest and the largest: values of numbers, lengths of texts.
    pub range: ValueRange,
    /// The pattern that the whole value matches.
    pub pattern: Option<String>,
    /// The value that applies if the value is omitted.
    pub default: Option<String>,
    /// The purpose, in words for people and prompts.
    pub words: Option<String>,
}

/// A range; either side may be open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValueRange {
    /// The smallest; of a number, with `>` before it, the value itself is left out.
    pub least: Option<String>,
    /// The largest; of a number, with `<` before it, the value itself is left out.
    pub most: Option<String>,
}
