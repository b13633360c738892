//! The table of keys of a test file. The reader of test files and the JSON Schema for editors both use it, so a key
//! that is not in this table is rejected.

use crate::key::{ConfigKey, KeyForm, MeasureBounds, key};

/// The path in the table above the keys of a test file.
pub const TOP: &str = "#test";

const TEXT: KeyForm = KeyForm::Text { empty: false };
/// A payload: an element with its fields, an element alone, XML, or the path of an XML file.
const PAYLOAD: KeyForm = KeyForm::Anything;

/// Every key of a test file, parents before children.
pub const TEST_KEYS: &[ConfigKey] = &[
    key("#test.organism", "the nearest `organism.yaml`, here or in a folder above", "the organism's file")
        .of(TEXT),
    key(
        "#test.set",
        "none",
        "other values than those of the organism's file, as `--set` gives them: PATH: VALUE",
    )
    .of(KeyForm::Anything),
    key(
        "#test.replies",
        "the script of each model",
        "the answers of all models: a file, or the answers by agent",
    )
    .of(KeyForm::Anything),
    key("#test.stand_ins", "none", "answers in place of listeners, by listener").of(KeyForm::Anything),
    key("#test.tests", "required", "the tests, one after another").of(KeyForm::Maps),
    key("#test.tests.name", "required", "what the test shows").of(TEXT),
    key("#test.tests.set", "none", "as above, for this test alone").of(KeyForm::Anything),
    key("#test.tests.replies", "those of the file", "as above, for this test alone").of(KeyForm::Anything),
    key("#test.tests.stand_ins", "none", "as above, for this test alone").of(KeyForm::Anything),
    key("#test.tests.export", "none", "the export to replay in place of `steps`").of(TEXT),
    key(
        "#test.tests.expect",
        "`exact`, and `valid` beside `xpath`",
        "of the replay: every record is equal, or it ends as before and no schema refuses more",
    )
    .of(KeyForm::Words(&["exact", "valid"])),
    key("#test.tests.xpath", "none", "XPath expressions that hold for the replayed thread")
        .of(KeyForm::Texts),
    key("#test.tests.steps", "required, without `export`", "what is sent, and the expected result")
        .of(KeyForm::Maps),
    key("#test.tests.steps.send", "none", "a payload from outside").of(PAYLOAD),
    key("#test.tests.steps.to", "none", "the listener that it is for").of(TEXT),
    key("#test.tests.steps.from", "the operator", "the client that sends it").of(TEXT),
    key("#test.tests.steps.thread", "`new`", "`same` continues the thread of the message before")
        .of(KeyForm::Words(&["new", "same"])),
    key("#test.tests.steps.after", "none", "time that passes, without waiting for it, 1ms to 3650d")
        .of(KeyForm::Duration(MeasureBounds { least: ("1ms", 1), most: ("3650d", 3_650 * 86_400_000) })),
    key("#test.tests.steps.held", "none", "the payload that waits for a person").of(PAYLOAD),
    key("#test.tests.steps.approve", "none", "approves the waiting payload with this element").of(TEXT),
    key("#test.tests.steps.reject", "none", "rejects the waiting payload with this element").of(TEXT),
    key("#test.tests.steps.amend", "none", "the payload to send in place of the waiting one").of(PAYLOAD),
    key("#test.tests.steps.asked", "none", "a text in the question that waits for a person").of(TEXT),
    key("#test.tests.steps.choose", "none", "answers the waiting question by this choice").of(TEXT),
    key("#test.tests.steps.note", "none", "the person's note; without `choose`, the answer to `asked`")
        .of(TEXT),
    key("#test.tests.steps.refused", "none", "the code of the refusal of `send`, or `code` and `contains`")
        .of(KeyForm::Anything),
    key(
        "#test.tests.steps.answer",
        "none",
        "the answer to the last message; `none` if it is handled without one",
    )
    .of(PAYLOAD),
    key(
        "#test.tests.steps.fails",
        "none",
        "the code of the failure of the last message, or `code` and `contains`",
    )
    .of(KeyForm::Anything),
    key(
        "#test.tests.steps.xpath",
        "none",
        "XPath expressions that hold for the answer, or for the held payload",
    )
    .of(KeyForm::Texts),
    key("#test.tests.steps.log", "none", "texts in the lines of `systole log`, in this order")
        .of(KeyForm::Texts),
];

/// The keys of one answer of a stand-in.
pub(super) const STAND_IN: &[&str] = &["if", "answer", "fails", "retry", "times"];
