//! The codes of our own listeners: what each means, and the fix. They are beside the codes of the pump, because no
//! listener knows the pump. A program that someone else wrote may use any code; no table has those.

use systole_agent::failures::FAILURES;
use systole_core::types::codes::Code;

/// A code of a listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerCode {
    /// The code.
    pub code: String,
    /// One sentence that says what it means.
    pub meaning: String,
    /// The fix, for people.
    pub fix: &'static str,
}

/// The fix of an answer that a model wrote wrongly: the model is asked again, so a person has something to do only if it
/// happens often.
const OF_MODEL: &str = "nothing, as the model answers again; if it happens often, `systole context` shows what the model saw, and \
     another `dialect`, a larger model or a shorter prompt helps";

macro_rules! listener_codes {
    ($($code:literal $meaning:literal try $fix:literal;)*) => {
        /// The codes that are no fault of a model's answer: the code, its meaning, the fix.
        const OTHERS: &[(&str, &str, &str)] = &[$(($code, $meaning, $fix),)*];
    };
}

listener_codes! {
    "agent.failed" "an agent could not do its work" try "what the message says";
    "agent.no-answer" "an agent gave a report where the goal asks for a payload" try "what the report says; a larger model, more `attempts`, or a goal without `gives`";
    "model.truncated" "the answer of a provider broke off" try "nothing, as it is asked again; otherwise a longer `timeout.between`";
    "model.too-large" "the answer of a model is too large to be recorded" try "a smaller `max_output`";
    "model.rate-limited" "a provider takes no more requests for now" try "a smaller `at_once`, a longer `retry.backoff`, or a model under `fallback`";
    "model.unavailable" "a provider was not reached, or failed on its side" try "`systole doctor`, which asks it; `retry`, or a model under `fallback`";
    "model.refused" "a provider would not let its model answer" try "other words, or a model under `fallback`";
    "model.invalid-request" "a provider cannot use the request" try "what the provider says; `model`, `params` and `window` are as the file has them";
    "workflow.absent" "a call needs a value that no earlier step gave" try "`when` at the call, or a step before it that gives the value";
    "workflow.budget" "a budget was used up before the run was over" try "a larger one under `budgets`; `systole workflow explain` counts the most that a run needs";
    "workflow.context-too-large" "what a goal sees does not fit into a message" try "`sees` with fewer goals";
    "workflow.final-refused" "the final of a run does not fit its schema" try "a last step that gives what the workflow `returns`";
    "workflow.foreign-branch" "a branch came from a listener other than the workflow itself" try "leave <branch> to the workflow";
    "workflow.no-final" "the last step gave nothing that the final can be made from" try "a last step that gives what the workflow `returns`";
    "workflow.nobody-answered" "a question to a person expired" try "`otherwise` at the question, or a longer `expires`";
    "workflow.step-failed" "a step failed, and the run with it" try "what the message says after the step; `retry` at the step, or `failed: keep`";
    "workflow.stopped" "the supervisor of a goal stopped it" try "what the supervisor says; then send the request again";
    "workflow.stuck" "nothing of a run is open and nothing can begin" try "a report with `systole export THREAD`, as this is a fault of Systole";
    "workflow.timeout" "a step took longer than its `timeout`" try "a longer `timeout`";
    "workflow.unknown-step" "a branch is for a step that the workflow does not have" try "leave <branch> to the workflow";
    "workflow.unreadable" "a run cannot be read back from its thread" try "`systole verify`, then a report with `systole export THREAD`";
    "workflow.unshown" "an output that `shows` names is in no message that a person can see" try "`shows` with another goal";
    "workflow.unusable-call" "the fields of a call make no payload" try "`systole check` with this version, which finds such a `with`";
    "mcp.cancelled" "the call of a tool was cancelled" try "send the request again if it is still needed";
    "mcp.changed" "the tools of a server are not the pinned ones" try "read the difference; then `systole mcp pin`";
    "mcp.cut" "a part of a tool's answer was left out" try "a tool or arguments that give less";
    "mcp.input-lost" "the listener was started again while a server's form waited for a person" try "send the request again";
    "mcp.input-refused" "a server asks for something that no person is asked" try "a tool that needs no such input";
    "mcp.invalid-answer" "the result of a tool breaks its output schema, or is none" try "tell the server's author; the schema is the server's own";
    "mcp.invalid-arguments" "the tool's own schema does not take the arguments" try "what the message says; the pinned schema allows more than the tool";
    "mcp.refused" "a server refused a call, or a form came from another sender" try "what the server says";
    "mcp.tool-failed" "a tool says that it failed" try "what the tool says";
    "mcp.unknown-tool" "no pinned tool takes the element" try "`systole mcp pin`, if the server has it now";
    "mcp.unreachable" "there is no usable answer from an MCP server" try "start the server by hand, as the file has it; `systole doctor` tries it";
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
    "workspace.ambiguous" "the text to replace is in the file more than once" try "more of the lines around it";
    "workspace.bad-folder" "the folder of a command cannot be used" try "a folder inside the workspace";
    "workspace.bad-line" "the file has no such line" try "a line within the file; the message has their number";
    "workspace.bad-package" "a package has no plain name" try "the name alone, with its version in its own attribute";
    "workspace.bad-patch" "a patch cannot be read" try "what the message says about its line";
    "workspace.bad-path" "a path cannot be written as one" try "a path such as src/main.rs";
    "workspace.bad-session" "what a session keeps cannot be shown" try "a session of plain commands";
    "workspace.changed" "a file changed after the change set was worked out" try "send the change set again, made from the file as it is now";
    "workspace.denied" "the file is on the deny list" try "another file, or a shorter `deny`";
    "workspace.exists" "there is a file of that name" try "another name, or an edit of the file";
    "workspace.failed" "the change set could not be carried out" try "what the message says";
    "workspace.no-match" "the text to replace is not in the file" try "the text as the file has it, with its blanks";
    "workspace.no-text" "the file is no text, or a touched line cannot be shown" try "a text file";
    "workspace.no-undo" "there is no such change set, or it cannot be taken back" try "an edit that restores the lines";
    "workspace.not-found" "there is no such file" try "the path of a file that is there, or <create_file>";
    "workspace.not-written" "the operating system did not let the file be written" try "the rights and the free space of the folder";
    "workspace.outside-root" "the path leaves the folder of the workspace" try "a path inside the folder";
    "workspace.stale" "the file is not the one that the sender knew" try "read the file again, then edit it";
    "workspace.too-large" "the file or the whole change is larger than the limit" try "a smaller change";
    "workspace.unchanged" "the edit changes nothing" try "leave it out";
    "workspace.unusable" "the folder of a workspace cannot be used" try "a folder that this user can read and write";
    "workspace.unknown-element" "a workspace does not know the element" try "an element that `accepts` lists";
    "worker.exception" "the work of a Python worker raised an exception" try "the output of the worker, which has the lines";
    "worker.not-asked" "a worker was asked for what it does not take" try "an element that the listener `accepts`";
    "worker.panicked" "a worker crashed while it worked on a delivery" try "the output of the worker, which says where";
    "worker.too-large" "an answer is larger than the broker takes" try "a shorter answer, or a larger `max_payload` of the broker";
    "worker.unwritable" "an answer cannot be written as XML" try "an answer without control characters";
}

/// All of them.
#[must_use]
pub fn list_codes() -> Vec<ListenerCode> {
    let of_models = FAILURES.iter().map(|row| ListenerCode {
        code: format!("agent.{}", row.slug),
        meaning: format!("the answer of an agent's model cannot be used, and the model reads: {}", row.told),
        fix: OF_MODEL,
    });
    let others = OTHERS.iter().map(|(code, meaning, fix)| ListenerCode {
        code: (*code).to_owned(),
        meaning: (*meaning).to_owned(),
        fix,
    });
    of_models.chain(others).collect()
}

/// A code of the pump or of a listener, as `explain` shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum KnownCode {
    Pump(Code),
    Listener(ListenerCode),
}

impl KnownCode {
    /// Every code: those of the pump first, a family of a listener behind the codes of the pump with that family.
    pub(super) fn list_all() -> Vec<KnownCode> {
        let mut codes: Vec<KnownCode> = Code::ALL.iter().copied().map(Self::Pump).collect();
        for one in list_codes() {
            let family = one.code.split('.').next().map(str::to_owned);
            let last = codes.iter().rposition(|code| Some(code.family()) == family.as_deref());
            codes.insert(last.map_or(codes.len(), |last| last + 1), Self::Listener(one));
        }
        codes
    }

    /// The code, if it is one of the pump's.
    pub(super) fn as_pump_code(&self) -> Option<Code> {
        match self {
            Self::Pump(code) => Some(*code),
            Self::Listener(_) => None,
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Pump(code) => code.as_str(),
            Self::Listener(code) => &code.code,
        }
    }

    pub(super) fn family(&self) -> &str {
        self.as_str().split('.').next().unwrap_or_default()
    }

    pub(super) fn meaning(&self) -> &str {
        match self {
            Self::Pump(code) => code.meaning(),
            Self::Listener(code) => &code.meaning,
        }
    }

    pub(super) fn fix(&self) -> &'static str {
        match self {
            Self::Pump(code) => code.fix(),
            Self::Listener(code) => code.fix,
        }
    }

    /// What follows from it.
    pub(super) fn again(&self) -> &'static str {
        match self {
            Self::Pump(code) if code.is_warning() => {
                "a warning: the organism still starts; only `check --strict` refuses it"
            }
            Self::Pump(code) if code.family() == "config" => "the organism does not start with it",
            Self::Pump(code) if code.retry_allowed() => {
                "the same call may be sent again at once when it is fixed"
            }
            Self::Pump(_) => "sending the same again does not help",
            Self::Listener(_) => "`systole why THREAD` shows what follows from it",
        }
    }
}
