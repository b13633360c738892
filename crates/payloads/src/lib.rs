//! What clients send as text, as JSON or with files becomes a payload here, and payloads become the texts and the JSON that
//! clients read.
//!
//! The composition says what a client may send. Nothing here knows a protocol, and nothing is sent.

pub mod answered_files;
pub mod answers;
pub mod entries;
pub mod json_payload;
pub mod limits;
pub mod multipart;
pub mod open_elements;
pub mod said_files;
pub mod sorted_json;
