//! A refusal or a failure in the words of one of five classes, so that a model sees at a glance what to fix: the
//! form, the markup, the tool's name, the parameters, or nothing, if the tool itself failed.
//!
//! A `<system-error>` of the core comes in; text goes out.

use systole_kit::Payload;

/// A failure as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownFailure {
    /// Its code.
    pub(crate) code: String,
    /// The element concerned.
    pub(crate) element: Option<String>,
    /// The text, which begins with `Error: `.
    pub(crate) words: String,
}

/// Reads a failure.
pub(crate) fn read_failure(error: &Payload) -> ShownFailure {
    let told = |name: &str| error.find_attribute(name).filter(|value| !value.is_empty());
    let code = told("code").unwrap_or_default();
    let element = told("element");
    let mut words = write_first_words(&code, element.as_deref(), told("line").as_deref());
    let between = if classify_code(&code) == FailureClass::Execution { " " } else { "\n" };
    words.extend(told("message").map(|message| format!("{between}{message}")));
    for (name, what) in [("expected", "\nExpected: "), ("try", "\nTry: ")] {
        words.extend(error.text_of(name).filter(|text| !text.is_empty()).map(|text| format!("{what}{text}")));
    }
    ShownFailure { code, element, words }
}

/// A failure of a whole change set, as the result of an element that the model wrote in it.
pub(crate) fn describe_part_failure(error: &Payload, written: &str) -> String {
    let ShownFailure { code, element, words } = read_failure(error);
    let line = error.find_attribute("line");
    let begin = |element: Option<&str>| write_first_words(&code, element, line.as_deref());
    let rest = words.strip_prefix(&*begin(element.as_deref())).unwrap_or(&words);
    let rest = rest.trim_start().replace("change-set", written);
    let between = if classify_code(&code) == FailureClass::Execution { " " } else { "\n" };
    format!("{}{between}{written}: {rest}", begin(Some(written)))
}

/// The first words of a failure with that code.
pub(crate) fn write_first_words(code: &str, element: Option<&str>, line: Option<&str>) -> String {
    match classify_code(code) {
        FailureClass::Form => "Error: No valid action.".to_owned(),
        FailureClass::Markup => match line {
            Some(line) => format!("Error: Malformed XML at line {line}."),
            None => "Error: Malformed XML.".to_owned(),
        },
        FailureClass::Tool => match element {
            Some(element) => format!("Error: Unknown tool: {element}."),
            None => "Error: Unknown tool.".to_owned(),
        },
        FailureClass::Parameters => "Error: Invalid parameters:".to_owned(),
        FailureClass::Execution => "Error: Tool execution failed:".to_owned(),
    }
}

/// The five classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureClass {
    /// There was nothing to execute.
    Form,
    /// The action was not valid markup.
    Markup,
    /// No listener takes it.
    Tool,
    /// It does not follow its schema.
    Parameters,
    /// It was executed, and failed.
    Execution,
}

/// Whether the code means that an output did not have a usable form.
pub(crate) fn is_of_form(code: &str) -> bool {
    classify_code(code) == FailureClass::Form
}

/// The class of a code.
pub(crate) fn classify_code(code: &str) -> FailureClass {
    match code {
        "agent.malformed"
        | "agent.missing-closing-tag"
        | "agent.truncated-structure"
        | "payload.malformed"
        | "payload.forbidden-construct" => FailureClass::Markup,
        "agent.unknown-action"
        | "route.not-a-peer"
        | "payload.no-such-element"
        | "payload.undeclared"
        | "payload.no-namespace" => FailureClass::Tool,
        // A missing recipient is a missing parameter: the tool itself is known.
        "agent.tool-payload-invalid"
        | "agent.goal-answer-invalid"
        | "agent.ambiguous-action"
        | "route.ambiguous" => FailureClass::Parameters,
        "agent.too-many-tasks" => FailureClass::Execution,
        "model.truncated" | "model.too-large" | "model.window-full" => FailureClass::Form,
        code if code.starts_with("agent.") => FailureClass::Form,
        code if code.starts_with("payload.") || code == "reply.final-not-alone" => FailureClass::Parameters,
        _ => FailureClass::Execution,
    }
}

/// The fault of arguments, and the fix.
pub(crate) fn describe_slip(slip: &systole_kit::schema::ValueSlip) -> String {
    let mut words = format!("{}: {}", slip.path, slip.message);
    if !slip.expected.is_empty() {
        words.extend(["; expected ", &slip.expected]);
    }
    if !slip.fix.is_empty() {
        words.extend(["; try ", &slip.fix]);
    }
    words
}
