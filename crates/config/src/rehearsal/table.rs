//! The sections of a test file. The reader of test files and the JSON Schema for editors both use them.

use std::marker::PhantomData;
use std::sync::LazyLock;

use crate::diagnostics::Diagnostics;
use crate::forms::{AnyText, AsWritten, TimeWithin, Unread, WordOf, copy_node, word_choice};
use crate::key::{ConfigKey, KeyForm, KeyRow};
use crate::limits::DAY;
use crate::section::{Form, SectionKeys, form, list_keys, section};
use crate::tree::{Node, Value};
use crate::value::{At, text, texts};

/// The path in the table above the keys of a test file.
pub const TOP: &str = "#test";

/// Every key of a test file, parents before children.
pub static TEST_KEYS: LazyLock<Vec<ConfigKey>> = LazyLock::new(|| {
    let mut table = Vec::new();
    list_keys(TestFileKeys::ROWS, TOP, &mut table);
    table
});

section! { pub(super) TestFileKeys {
    organism: optional("the nearest `organism.yaml`, here or in a folder above") <AnyText> "the organism's file";
    set: optional("none") <AsWritten> "other values than those of the organism's file, as `--set` gives them: PATH: VALUE";
    replies: optional("the script of each model") <AsWritten> "the answers of all models: a file, or the answers by agent";
    stand_ins: optional("none") <AsWritten> "answers in place of listeners, by listener";
    tests: required("tests: with a list of tests, each with `name` and `steps`") <MapList<TestCaseKeys>> "the tests, one after another";
} }

section! { pub(super) TestCaseKeys with own {
    name: required("name: what the test shows") <AnyText> "what the test shows";
    set: optional("none") <AsWritten> "as above, for this test alone";
    replies: optional("those of the file") <AsWritten> "as above, for this test alone";
    stand_ins: optional("none") <AsWritten> "as above, for this test alone";
    export: optional("none") <Unread<AnyText>> "the export to replay in place of `steps`";
    expect: optional("`exact`, and `valid` beside `xpath`") <Unread<WordOf<ExactWord>>> "of the replay: every record is equal, or it ends as before and no schema refuses more";
    xpath: optional("none") <Unread<TextOrTexts>> "XPath expressions that hold for the replayed thread";
    steps: optional("required, without `export`") <MapList<TestStepKeys>> "what is sent, and the expected result";
} }

section! { pub(super) TestStepKeys with own {
    send: optional("none") <AsWritten> "a payload from outside";
    to: optional("none") <AnyText> "the listener that it is for";
    from: optional("the operator") <AnyText> "the client that sends it";
    thread: optional("`new`") <WordOf<ThreadWord>> "`same` continues the thread of the message before";
    after: optional("none") <TimeWithin<1, { 3_650 * DAY }>> "time that passes, without waiting for it, {bounds}";
    held: optional("none") <AsWritten> "the payload that waits for a person";
    approve: optional("none") <AnyText> "approves the waiting payload with this element";
    reject: optional("none") <AnyText> "rejects the waiting payload with this element";
    amend: optional("none") <AsWritten> "the payload to send in place of the waiting one";
    asked: optional("none") <AnyText> "a text in the question that waits for a person";
    choose: optional("none") <AnyText> "answers the waiting question by this choice";
    note: optional("none") <AnyText> "the person's note; without `choose`, the answer to `asked`";
    refused: optional("none") <AsWritten> "the code of the refusal of `send`, or `code` and `contains`";
    answer: optional("none") <AsWritten> "the answer to the last message; `none` if it is handled without one";
    fails: optional("none") <AsWritten> "the code of the failure of the last message, or `code` and `contains`";
    xpath: optional("none") <TextOrTexts> "XPath expressions that hold for the answer, or for the held payload";
    log: optional("none") <TextOrTexts> "texts in the lines of `systole log`, in this order";
} }

word_choice! { ExactWord: bool { "exact" = true, "valid" = false } }
word_choice! { ThreadWord: bool { "new" = false, "same" = true } }

form! {
    /// One text, or several.
    pub(super) TextOrTexts -> Vec<At<String>> { KeyForm::Texts, read_texts }
}

fn read_texts(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<At<String>>> {
    match &node.value {
        Value::List(_) => texts(diagnostics, node, path),
        _ => text(diagnostics, node, path).map(|text| vec![text]),
    }
}

/// A list of sections, as it is written.
pub(super) struct MapList<S>(PhantomData<S>);

impl<S: SectionKeys> Form for MapList<S> {
    type Value = Node;
    const FORM: KeyForm = KeyForm::Maps;
    const BELOW: &'static [KeyRow] = S::ROWS;

    fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Node> {
        copy_node(diagnostics, node, path)
    }
}

/// The keys of one answer of a stand-in.
pub(super) const STAND_IN: &[&str] = &["if", "answer", "fails", "retry", "times"];
