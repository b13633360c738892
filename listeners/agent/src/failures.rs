//! All faults of a model's output, in one table: the slug, how much it matters, and the message to the model.
//!
//! For an unusable reply, the model sees at most two of them, the most important first.

/// How much a failure matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureWeight {
    /// The output is unusable.
    Critical,
    /// A part that was meant to be executed cannot be.
    High,
    /// The output is usable, or nearly.
    Normal,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureRow {
    /// Its slug. The code is `agent.` and this slug.
    pub slug: &'static str,
    /// How much it matters.
    pub weight: FailureWeight,
    /// The message to the model, before the details of this output.
    pub told: &'static str,
}

const fn build_row(slug: &'static str, weight: FailureWeight, told: &'static str) -> FailureRow {
    FailureRow { slug, weight, told }
}

/// Every failure, by weight.
pub const FAILURES: &[FailureRow] = &[
    build_row("empty-response", FailureWeight::Critical, "Your answer was empty."),
    build_row("reasoning-only", FailureWeight::Critical, "Your answer held reasoning and no action."),
    build_row(
        "output-truncated",
        FailureWeight::Critical,
        "Your answer was cut off at its token limit. The part that was cut was not executed; be shorter.",
    ),
    build_row(
        "final-turn-no-report",
        FailureWeight::Critical,
        "This was the last turn, and your answer held no final.",
    ),
    build_row("json-required", FailureWeight::Critical, "Your final is not JSON."),
    build_row("json-schema", FailureWeight::Critical, "The JSON of your final does not follow its schema."),
    build_row(
        "goal-answer-invalid",
        FailureWeight::Critical,
        "Your final does not follow the schema that the goal asks for.",
    ),
    build_row(
        "converged-too-early",
        FailureWeight::Critical,
        "This is the first pass: there is nothing yet that could be left as it is. Do what the goal says.",
    ),
    build_row(
        "own-markup",
        FailureWeight::Critical,
        "Your answer began like a message of the system. Answer in your own words. If the answer really is such markup, put a word before it.",
    ),
    build_row(
        "example-copied",
        FailureWeight::Critical,
        "Your answer is the example of your instructions. Answer the request.",
    ),
    build_row(
        "format-mismatch",
        FailureWeight::Critical,
        "Your final is not in the format that is required.",
    ),
    build_row("format-missing", FailureWeight::Critical, "The tag of your final names no format."),
    build_row(
        "format-unknown",
        FailureWeight::Critical,
        "The tag of your final names a format that does not exist.",
    ),
    build_row("content-missing", FailureWeight::Critical, "Your final is empty."),
    build_row(
        "status-invalid",
        FailureWeight::Critical,
        "The status of your final is not success, partial or failure.",
    ),
    build_row("final-missing", FailureWeight::Critical, "Your answer held neither a call nor a final."),
    build_row("malformed", FailureWeight::High, "The markup of your action cannot be read."),
    build_row("missing-closing-tag", FailureWeight::High, "An element of your answer is not closed."),
    build_row(
        "truncated-structure",
        FailureWeight::High,
        "Your answer ends in the middle of an element, which was not executed.",
    ),
    build_row(
        "nonce-mismatch",
        FailureWeight::High,
        "The code in the tag of your final is not the one of this turn.",
    ),
    build_row("slot-mismatch", FailureWeight::High, "The tag of your final is not the required one."),
    build_row("second-final", FailureWeight::High, "Your answer held more than one final. Write one."),
    build_row(
        "wrapper-as-tool",
        FailureWeight::High,
        "Your answer wraps what it does into an element that is not a tool.",
    ),
    build_row(
        "tool-payload-invalid",
        FailureWeight::High,
        "The arguments of your call do not follow the tool's schema.",
    ),
    build_row("unknown-action", FailureWeight::High, "No one takes this element."),
    build_row("ambiguous-action", FailureWeight::High, "More than one of your tools is meant by this."),
    build_row("too-many-tasks", FailureWeight::High, "Your task was not given."),
    build_row(
        "mark-in-output",
        FailureWeight::High,
        "Your answer held the code of the system's own tags. Do not write it.",
    ),
    build_row(
        "prose-only",
        FailureWeight::Normal,
        "Your answer held no action and no completion. Text outside of the tags reaches no one.",
    ),
    build_row(
        "second-action",
        FailureWeight::Normal,
        "Your answer held a second action. Only the first was executed; write one in each answer.",
    ),
    build_row(
        "too-many-actions",
        FailureWeight::Normal,
        "Your answer held more actions than one answer may have. Those beyond were not executed.",
    ),
    build_row("thinking-missing", FailureWeight::Normal, "Reason in <thinking> before every action."),
    build_row(
        "misspelt-action",
        FailureWeight::Normal,
        "The name of your action was corrected, and the action was executed. Do not send it again.",
    ),
    build_row(
        "wrapped-call",
        FailureWeight::Normal,
        "The wrapper around your action was removed, and the action was executed. Do not send it again; write later ones without a wrapper.",
    ),
    build_row(
        "fenced-action",
        FailureWeight::Normal,
        "The code fence around your action was removed, and the action was executed. Do not send it again; write later ones without a fence.",
    ),
    build_row(
        "verbatim-text",
        FailureWeight::Normal,
        "The text of your action held an unescaped < or &. It was executed with the text as you wrote it.",
    ),
    build_row(
        "action-in-quoted-text",
        FailureWeight::Normal,
        "An action inside quoted text or code was not executed. If you meant it, write it as an element outside of them.",
    ),
    build_row(
        "stuck-repeating",
        FailureWeight::Normal,
        "Your answer is the same as the one before. Do something else, or end.",
    ),
];

/// The row of a slug, with or without `agent.` before it.
#[must_use]
pub fn find_failure(slug: &str) -> Option<&'static FailureRow> {
    let slug = slug.strip_prefix("agent.").unwrap_or(slug);
    FAILURES.iter().find(|row| row.slug == slug)
}

/// A failure that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFailure {
    /// The row of the table.
    pub failure: &'static FailureRow,
    /// The details: the place, the name, the fix.
    pub words: String,
    /// The element or tool concerned, if any.
    pub about: Option<String>,
    /// Its line in the model's text.
    pub line: Option<u32>,
}

impl AgentFailure {
    /// A failure by its slug. `None` if the slug is not in the table.
    #[must_use]
    pub fn from_slug(slug: &str, words: impl Into<String>) -> Option<Self> {
        Some(Self { failure: find_failure(slug)?, words: words.into(), about: None, line: None })
    }

    /// The code in the log.
    #[must_use]
    pub fn code(&self) -> String {
        format!("agent.{}", self.failure.slug)
    }

    /// The message to the model.
    #[must_use]
    pub fn describe(&self) -> String {
        match self.words.is_empty() {
            true => self.failure.told.to_owned(),
            false => format!("{} {}", self.failure.told, self.words),
        }
    }
}

/// The two most important failures, in order of weight. Of equal ones, the earlier comes first.
#[must_use]
pub fn pick_weightiest(mut reasons: Vec<AgentFailure>) -> Vec<AgentFailure> {
    reasons.sort_by_key(|reason| reason.failure.weight);
    reasons.dedup_by(|one, other| one.failure.slug == other.failure.slug);
    reasons.truncate(2);
    reasons
}
