//! What a JSON Schema means, as shapes that an XSD can say.
//!
//! Plain values: nothing here reads a schema or writes one.

/// A value of JSON, with what people should know about it.
#[derive(Clone, Debug)]
pub(super) struct ShapeNode {
    pub(super) shape: ElementShape,
    /// Its purpose, in the words of the server.
    pub(super) about: Option<String>,
    /// Whether it may also be `null`.
    pub(super) nullable: bool,
}

/// The content of an element.
#[derive(Clone, Debug)]
pub(super) enum ElementShape {
    Value(SimpleShape),
    Object(Vec<ShapeField>),
    List {
        item: Box<ShapeNode>,
        least: u32,
        most: Option<u32>,
    },
    Map {
        value: Box<ShapeNode>,
        least: u32,
        most: Option<u32>,
    },
    /// Exactly one of these, each with its name.
    Choice(Vec<(String, ShapeNode)>),
    /// A named type, by its place in the table.
    Named(usize),
    /// Any JSON, as text.
    Json,
    Null,
}

/// A property of an object.
#[derive(Clone, Debug)]
pub(super) struct ShapeField {
    /// Its name in JSON.
    pub(super) key: String,
    /// Its name in XML.
    pub(super) name: String,
    pub(super) node: ShapeNode,
    pub(super) required: bool,
    /// The value that applies if it is missing, as text.
    pub(super) default: Option<String>,
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SimpleShape {
    Text {
        least: Option<u32>,
        most: Option<u32>,
        pattern: Option<String>,
    },
    Whole {
        least: Option<i64>,
        most: Option<i64>,
    },
    Number {
        least: Option<NumberBound>,
        most: Option<NumberBound>,
    },
    Truth,
    /// One of these values.
    Listed {
        base: ListedBase,
        values: Vec<String>,
    },
    /// The first of these that reads the text.
    Union(Vec<SimpleShape>),
}

/// The smallest or largest number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NumberBound {
    pub(super) value: f64,
    pub(super) inclusive: bool,
}

/// The type of listed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListedBase {
    Text,
    Whole,
    Number,
    Truth,
}

/// A type that several places share, or that contains itself.
#[derive(Clone, Debug)]
pub(super) struct NamedShape {
    pub(super) name: String,
    /// `None` while it is being read.
    pub(super) node: Option<ShapeNode>,
}

/// Largest whole number that every reader of JSON keeps exactly.
pub(super) const SAFE: i64 = 9_007_199_254_740_991;

impl ShapeNode {
    pub(super) fn from_shape(shape: ElementShape) -> Self {
        Self { shape, about: None, nullable: false }
    }

    pub(super) fn new_json() -> Self {
        Self::from_shape(ElementShape::Json)
    }
}

impl SimpleShape {
    /// The place in the order in which a union tries its members: a text takes everything, so it is last.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Truth | Self::Listed { base: ListedBase::Truth, .. } => 0,
            Self::Whole { .. } | Self::Listed { base: ListedBase::Whole, .. } => 1,
            Self::Number { .. } | Self::Listed { base: ListedBase::Number, .. } => 2,
            Self::Text { .. } | Self::Listed { base: ListedBase::Text, .. } | Self::Union(_) => 3,
        }
    }

    /// The kind of value, as a name for a branch.
    pub(super) fn kind(&self) -> &'static str {
        match self.rank() {
            0 => "truth",
            1 | 2 => "number",
            _ => "text",
        }
    }
}
