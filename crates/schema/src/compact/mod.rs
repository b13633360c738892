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
mod declared_payload;
mod file;
mod range;
mod read;
mod signs;
mod trial;
mod write;
mod wrong;

pub use base::BaseType;
pub use declared_payload::{DeclaredPayload, ElementBody, GroupField, ItemList, ValueRange, ValueType};
pub use read::ReadType;
pub use write::write_xsd;
pub use wrong::TypeTextError;

impl ItemList {
    /// Reads the size of a list, such as `1..10` or `2..`: the minimum, and the maximum if there is a limit.
    ///
    /// # Errors
    /// If the text is not such a range.
    pub fn parse_range(text: &str) -> Result<(u32, Option<u32>), TypeTextError> {
        range::of_list(&signs::TypePiece { text, at: 0..text.len() })
    }
}
