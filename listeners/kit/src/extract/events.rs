//! What an answer holds, in the order of its text.
//!
//! These types decide nothing. The agent decides whether a second action is one too many, or which of several
//! problems the model sees. Values go out.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::names::ElementRole;
use super::origin::PayloadOrigin;
use crate::extract::span::TextSpan;
use crate::{Fault, Payload, Place};

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The model was done.
    End,
    /// The model reached its output limit.
    Length,
    /// Any other way: the connection was lost, or the provider held the rest back.
    Broken,
}

/// One thing that an answer holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtractEvent {
    /// For observers only. All other events are the same for any splitting of the text; these are not.
    Live(LiveRead),
    /// The content of `<thinking>`.
    Thinking(TextSpan),
    /// A thought to keep.
    Thought(Box<KeptThought>),
    /// A plan: `<todo-until>`.
    Plan(Box<ExtractedAction>),
    /// Text, from its first to its last character that is not whitespace.
    Prose(TextSpan),
    /// An action, complete and with its namespace.
    Action(Box<ExtractedAction>),
    /// The answer in its general form.
    Completion(Box<Completion>),
    /// A fix that was made; it belongs to the next action, completion or plan.
    Repair(Box<NameRepair>),
    /// A part that could not be accepted as written.
    Problem(Box<TextProblem>),
}

/// What is being read now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveRead {
    /// Thinking begins at this offset.
    Begun(usize),
    /// This part of the text is thinking. It never ends inside a character.
    Piece(Range<usize>),
    /// Thinking has ended.
    Ended,
}

/// A thought to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptThought {
    /// Where its text is.
    pub span: TextSpan,
    /// Its text, entities decoded.
    pub text: String,
}

/// An action, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedAction {
    /// The role of its element.
    pub role: ElementRole,
    /// Its element as written, with the prefix.
    pub written: String,
    /// Where it is.
    pub span: TextSpan,
    /// Its markup as the model wrote it.
    pub raw: Arc<str>,
    /// The peer that it names.
    pub to: Option<String>,
    /// The thread that it names.
    pub thread: Option<String>,
    /// The payload with its namespace, as a document.
    pub payload: Payload,
    /// Maps each byte of the payload to the model's text.
    pub origin: PayloadOrigin,
}

/// The content of `<attempt_completion><result>`.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Where the whole element is.
    pub span: TextSpan,
    /// Where the content of the result is.
    pub inside: TextSpan,
    /// That content as the model wrote it: well-formed markup, or unescaped text.
    pub markup: String,
    /// Its text with entities decoded, if it holds no elements.
    pub text: Option<String>,
}

/// A fix that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRepair {
    /// The kind of fix.
    pub repair: RepairKind,
    /// Where.
    pub place: Place,
    /// The original: an element's name, or the first line of a fence.
    pub written: String,
    /// What it was taken for.
    pub meant: String,
}

/// All fixes that are ever made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairKind {
    /// A fence around the whole action was removed.
    Fence,
    /// A wrapper around one action was removed.
    Wrapper,
    /// The namespace of the element was added.
    Namespace,
    /// A name was corrected that differs in case, in `-` and `_`, or in one letter.
    Name,
    /// The end tag of the outermost element was added.
    EndTag,
    /// Unescaped text was taken as written.
    Verbatim,
}

impl RepairKind {
    /// The slug under which the model sees the fix. A namespace may be left out, so that fix is not reported.
    #[must_use]
    pub fn slug(self) -> Option<ProblemSlug> {
        match self {
            Self::Fence => Some(ProblemSlug::FencedAction),
            Self::Wrapper => Some(ProblemSlug::WrappedCall),
            Self::Namespace => None,
            Self::Name => Some(ProblemSlug::MisspeltAction),
            Self::EndTag => Some(ProblemSlug::MissingClosingTag),
            Self::Verbatim => Some(ProblemSlug::VerbatimText),
        }
    }
}

/// What is wrong with a part of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextProblem {
    /// Its kind.
    pub slug: ProblemSlug,
    /// Where, in the model's text.
    pub place: Place,
    /// The element, as written.
    pub element: Option<String>,
    /// What is wrong, in one clause.
    pub message: String,
    /// What would have been right.
    pub expected: Option<String>,
    /// What to write.
    pub fix: Option<String>,
    /// The names that may have been meant, the nearest first.
    pub near: Vec<String>,
}

impl TextProblem {
    pub(super) fn new(slug: ProblemSlug, place: Place, message: impl Into<String>) -> Self {
        let (element, expected, fix, near) = (None, None, None, Vec::new());
        Self { slug, place, element, message: message.into(), expected, fix, near }
    }

    pub(super) fn with_element(mut self, name: &str) -> Self {
        self.element = Some(crate::place::cut_excerpt(name));
        self
    }

    pub(super) fn with_fix(mut self, words: impl Into<String>) -> Self {
        self.fix = Some(words.into());
        self
    }

    pub(super) fn with_expected(mut self, words: impl Into<String>) -> Self {
        self.expected = Some(words.into());
        self
    }

    pub(super) fn with_nearest(mut self, names: Vec<String>) -> Self {
        self.near = names;
        self
    }

    /// A refusal by the gate, at its place in the model's text.
    ///
    /// Inside content, what is read as markup may have been meant as text. The suggested fix then says so.
    pub(super) fn from_refusal(fault: Fault, place: Place, name: &str, in_content: bool) -> Self {
        let is_form = matches!(fault.code, crate::codes::MALFORMED | crate::codes::UNDECLARED);
        let is_text = is_form || fault.code == crate::codes::FORBIDDEN_CONSTRUCT;
        let slug = if is_form { ProblemSlug::Malformed } else { ProblemSlug::ToolPayloadInvalid };
        let mut problem = Self::new(slug, place, fault.message).with_element(name);
        problem.expected = fault.expected.map(Into::into);
        problem.fix = fault.fix.map(|fix| {
            let hint = in_content && is_text && !fix.contains('&') && !fix.contains("character");
            let hint = if hint { "; where text is meant, write &lt; for <" } else { "" };
            format!("{fix}{hint}")
        });
        problem
    }
}

impl From<TextProblem> for ExtractEvent {
    fn from(problem: TextProblem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// The kinds of problems that the text alone shows, by their names in prompts and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is named in the reference by its slug")]
pub enum ProblemSlug {
    EmptyResponse,
    ReasoningOnly,
    OutputTruncated,
    ContentMissing,
    Malformed,
    MissingClosingTag,
    TruncatedStructure,
    WrapperAsTool,
    ToolPayloadInvalid,
    UnknownAction,
    AmbiguousAction,
    ProseOnly,
    MisspeltAction,
    WrappedCall,
    FencedAction,
    ActionInQuotedText,
    TooManyActions,
    VerbatimText,
}

impl ProblemSlug {
    /// The slug as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyResponse => "empty-response",
            Self::ReasoningOnly => "reasoning-only",
            Self::OutputTruncated => "output-truncated",
            Self::ContentMissing => "content-missing",
            Self::Malformed => "malformed",
            Self::MissingClosingTag => "missing-closing-tag",
            Self::TruncatedStructure => "truncated-structure",
            Self::WrapperAsTool => "wrapper-as-tool",
            Self::ToolPayloadInvalid => "tool-payload-invalid",
            Self::UnknownAction => "unknown-action",
            Self::AmbiguousAction => "ambiguous-action",
            Self::ProseOnly => "prose-only",
            Self::MisspeltAction => "misspelt-action",
            Self::WrappedCall => "wrapped-call",
            Self::FencedAction => "fenced-action",
            Self::ActionInQuotedText => "action-in-quoted-text",
            Self::TooManyActions => "too-many-actions",
            Self::VerbatimText => "verbatim-text",
        }
    }
}

impl fmt::Display for ProblemSlug {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The element that was open when the stream stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenElement {
    /// The element, as written.
    pub element: String,
    /// Where it begins.
    pub span: TextSpan,
}
