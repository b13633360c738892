//! Payloads in the compact form: what a block declares, as values, and the XSD that it means.
//!
//! The same block gives the same bytes, on every machine and in every order of building; the order of its
//! payloads and fields is part of the block. Nothing here reads a file or knows how the block was written
//! down: names and the text of each type come in, an XSD or what is wrong with a type goes out.
//!
//! ```
//! use systole_schema::compact::{Body, Field, Payload, Type, xsd};
//!
//! let limit = Type::read("int 1..100 = 20 -- how many at most").unwrap().of;
//! let field = Field { name: "limit".into(), optional: false, body: Body::Type(limit) };
//! let body = Body::Group { about: Some("Finds text.".into()), fields: vec![field] };
//! let search = Payload { name: "search".into(), dangerous: false, body };
//! let xsd = String::from_utf8(xsd("https://xml-pipeline.org/ns/acme/v1", &[search])).unwrap();
//! assert!(xsd.contains(r#"<xs:element name="limit" minOccurs="0" systole:default="20">"#));
//!
//! let wrong = Type::read("int 1..100 = 200").unwrap_err();
//! assert_eq!((wrong.at, wrong.words.as_str()), (13..16, "the default 200 is more than 100, the largest allowed"));
//! ```

mod base;
mod range;
mod read;
mod signs;
mod trial;
mod write;

pub use base::Base;
pub use read::{Read, Wrong};
pub use write::xsd;

/// A payload: a root element of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Its local name.
    pub name: String,
    /// Whether a person must approve it.
    pub dangerous: bool,
    /// What stands in it.
    pub body: Body,
}

/// What stands in an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A value.
    Type(Type),
    /// Elements, each once at most and in any order.
    Group {
        /// What it is for, in words for people and prompts.
        about: Option<String>,
        /// The elements.
        fields: Vec<Field>,
    },
    /// Elements called `item`.
    List(List),
}

/// An element of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its local name.
    pub name: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// What stands in it.
    pub body: Body,
}

/// Elements called `item`, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// What stands in each.
    pub item: Box<Body>,
    /// The fewest.
    pub least: u32,
    /// The most, if there is a limit.
    pub most: Option<u32>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Whether the value may be erased from the record alone.
    pub sensitive: bool,
    /// What sort of value it is.
    pub base: Base,
    /// The smallest and the largest: values of numbers, characters of texts.
    pub range: Range,
    /// The pattern that the whole value matches.
    pub pattern: Option<String>,
    /// What holds where the value is left out.
    pub default: Option<String>,
    /// What it is for, in words for people and prompts.
    pub words: Option<String>,
}

/// A range, either side of which may be open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// The smallest.
    pub least: Option<String>,
    /// The largest.
    pub most: Option<String>,
}

/// The largest finite number of items that a list may say; what the schema model counts to.
pub const ITEMS: u32 = 10_000;

impl List {
    /// Reads how many items a list has, as `1..10` or `2..`: the fewest, and the most if there is a limit.
    ///
    /// # Errors
    /// When it is no such range.
    pub fn range(text: &str) -> Result<(u32, Option<u32>), Wrong> {
        range::of_list(&signs::Piece { text, at: 0..text.len() })
    }
}
