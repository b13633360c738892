//! A listener that searches source code: ranked blocks for a query, extracts by line or symbol, and syntax patterns.
//! It reads one folder and nothing outside it, and depends on the kit alone.
//!
//! `text` knows words, queries and ranking, and opens no file. `syntax` knows languages and blocks. The crate
//! `systole-folder` opens files below the root. The three requests stand above them.

mod answer;
mod extract;
mod failure;
mod limits;
mod listener;
mod nearest;
mod parallel;
mod pattern;
mod program;
mod request;
mod search;
mod syntax;
mod text;

pub use listener::{CodeListener, CodeSpec};
pub use program::serve;
pub use systole_folder::{DenyFault, check_pattern};

/// The vocabulary of code: the requests and their answers.
pub const CODE_XSD: &[u8] = include_bytes!("../../../schemas/code.xsd");
