//! Why a test failed, with its place.

use serde_json::{Value, json};

use systole_config::FilePlace;

/// Whether a test failed, or could not be run at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestFailure {
    /// Something is missing or differs.
    Failed,
    /// It could not be run, which says nothing about the organism.
    Unrunnable,
    /// The export that it names is damaged.
    Damaged,
}

/// Why a test failed.
#[derive(Debug)]
pub struct FailedTest {
    /// The place of the step in the test.
    pub place: FilePlace,
    /// The error, in one sentence.
    pub words: String,
    /// What was expected.
    pub expected: Option<String>,
    /// What came.
    pub came: Option<String>,
    /// The thread as a tree.
    pub tree: Vec<String>,
    /// Whether it failed, or could not be run at all.
    pub kind: TestFailure,
}

impl FailedTest {
    /// A test that failed there.
    pub fn new(place: &FilePlace, words: impl Into<String>) -> Box<FailedTest> {
        let (place, words) = (place.clone(), words.into());
        Box::new(FailedTest {
            place,
            words,
            expected: None,
            came: None,
            tree: Vec::new(),
            kind: TestFailure::Failed,
        })
    }

    /// A test that could not be run, which says nothing about the organism.
    pub fn new_unrunnable(place: &FilePlace, words: impl Into<String>) -> Box<FailedTest> {
        Box::new(FailedTest { kind: TestFailure::Unrunnable, ..*FailedTest::new(place, words) })
    }

    /// It says what was expected.
    pub fn with_expected(mut self: Box<Self>, expected: impl Into<String>) -> Box<FailedTest> {
        self.expected = Some(expected.into());
        self
    }

    /// It says what came.
    pub fn with_actual(mut self: Box<Self>, came: impl Into<String>) -> Box<FailedTest> {
        self.came = Some(came.into());
        self
    }

    /// As data.
    pub fn as_json(&self) -> Value {
        json!({"file": self.place.file, "line": self.place.line, "column": self.place.column,
               "message": self.words, "expected": self.expected, "came": self.came, "tree": self.tree})
    }
}
