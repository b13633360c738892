//! Payloads in the compact form: what a block declares, as values, and the XSD that it means.
//!
//! The same block gives the same bytes, on every machine and in every order of building; the order of its
//! payloads and fields is part of the block. Nothing here reads a file or knows how the block was written
//! down: names and the text of each type come in, an XSD or what is wrong with a type goes out.
//!
//! ```
//! use systole_schema::compact::{ElementBody, GroupField, DeclaredPayload, ValueType, write_xsd};
//!
//! let limit = ValueType::from_text("int 1..100 = 20 -- how many at most").unwrap().of;
//! let field = GroupField { name: "limit".into(), optional: false, body: ElementBody::Type(limit) };
//! let body = ElementBody::Group { about: Some("Finds text.".into()), fields: vec![field] };
//! let search = DeclaredPayload { name: "search".into(), dangerous: false, body };
//! let xsd = String::from_utf8(write_xsd("https://xml-pipeline.org/ns/acme/v1", &[search])).unwrap();
//! assert!(xsd.contains(r#"<xs:element name="limit" minOccurs="0" systole:default="20">"#));
//!
//! let wrong = ValueType::from_text("int 1..100 = 200").unwrap_err();
//! assert_eq!((wrong.at, wrong.words.as_str()), (13..16, "the default 200 is more than 100, the largest allowed"));
//! ```

mod base;
mod range;
mod read;
mod signs;
mod trial;
mod write;
mod wrong;

pub use base::BaseType;
pub use read::ReadType;
pub use write::write_xsd;
pub use wrong::TypeTextError;

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

impl ItemList {
    /// Reads the size of a list, such as `1..10` or `2..`: the minimum, and the maximum if there is a limit.
    ///
    /// # Errors
    /// If the text is not such a range.
    pub fn parse_range(text: &str) -> Result<(u32, Option<u32>), TypeTextError> {
        range::of_list(&signs::TypePiece { text, at: 0..text.len() })
    }
}
