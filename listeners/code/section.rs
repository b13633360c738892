//! The kind `code`: a listener that searches the source code of a folder.

use std::iter;

use systole_code::CODE_XSD;

use super::on_folder::{own_folder_in, read_folder};
use super::{BuiltInKind, FolderUse, KindDefaults};
use crate::forms::{AnyText, Unread};
use crate::limits;
use crate::section::section;

section! {
    pub(crate) CodeKeys {
        code: optional("none") <Unread<AnyText>> "the folder whose source code the listener searches, instead of a program; a path from this file's folder";
    }
}

pub(super) const KIND: BuiltInKind = BuiltInKind {
    key: "code",
    schemas: &[("code/", CODE_XSD)],
    accepts: &[("code/", &["search", "extract", "query"])],
    returns: &[("code/", &["search-result", "extract-result", "query-result", "code-error"])],
    codes: listener_codes! {
        "code.bad-lines" "the file has no such lines" try "lines within the file; the message has their number";
        "code.bad-pattern" "the pattern of a search cannot be read" try "what the message says about the pattern";
        "code.bad-query" "the query of a search cannot be read" try "what the message says about the query";
        "code.cancelled" "the search was cancelled" try "send the request again if it is still needed";
        "code.denied" "the file is on the deny list" try "another file, or a shorter `deny`";
        "code.failed" "the search broke, or the request is none of code" try "what the message says";
        "code.no-root" "the folder of the listener cannot be opened" try "a `root` that this user can read";
        "code.no-text" "the file is no text" try "a text file";
        "code.not-found" "there is no such file, folder or symbol" try "one of the near names in the answer";
        "code.outside-root" "the path leaves the folder of the listener" try "a path inside the folder";
        "code.too-large" "the file is larger than the limit" try "a smaller file";
    },
    defaults: KindDefaults { in_flight: limits::IN_FLIGHT, ..KindDefaults::OF_PROGRAM },
    folder: Some(FolderUse::Searches),
    calls_itself: false,
    make_schema: None,
    unfit: &["run", "nats", "schema", "accepts", "returns", "peers", "mode", "framing", "env", "pass"],
    unfit_why: "a listener of `code` is built in, and takes and returns its own elements",
    unfit_fix: "one of the two",
    unfit_shown: "a built-in listener",
    read: |diagnostics, keys, of| read_folder(diagnostics, keys, &keys.code.code, of.at),
    refuse: |_, _| {},
    words: |part, start, sandbox| {
        let root = start.directory.join(part.root());
        let inner = own_folder_in(&root, start.directory);
        let hidden = inner.iter().flat_map(|inner| ["deny".to_owned(), as_pattern(inner)]);
        let words = iter::once(part.root().to_owned()).chain(part.rules.iter().cloned()).chain(hidden);
        let words = words.collect();
        if let Some(sandbox) = sandbox {
            sandbox.hidden = inner.map(|_| start.directory.to_owned());
            sandbox.read.push(root);
            sandbox.opens_below = true;
        }
        words
    },
    serve: |words, _| {
        let [root, rules @ ..] = words else { return None };
        Some(systole_code::serve(root, rules))
    },
};

/// The pattern of a deny list that has this path and everything in it, and no other.
fn as_pattern(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/-_.".contains(c);
    let letters = path.chars().flat_map(|c| [(!is_plain(c)).then_some('\\'), Some(c)]);
    iter::once('/').chain(letters.flatten()).collect()
}
