//! The codes of our own listeners: what each means, and the fix. They are beside the codes of the pump, because no
//! listener knows the pump. A program that someone else wrote may use any code; no table has those.

use crate::listener_codes;
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

/// The codes of agents, models and workflows that are no fault of a model's answer.
const OF_AGENTS: &[(&str, &str, &str)] = listener_codes! {
    "agent.failed" "an agent could not do its work" try "what the message says";
    "agent.no-answer" "an agent gave a report where the goal asks for a payload" try "what the report says; a larger model, more `attempts`, or a goal without `gives`";
    "model.truncated" "the answer of a provider broke off" try "nothing, as it is asked again; otherwise a longer `timeout.between`";
    "model.too-large" "the answer of a model is too large to be recorded" try "a smaller `max_output`";
    "model.rate-limited" "a provider takes no more requests for now" try "a smaller `at_once`, a longer `retry.backoff`, or a model under `fallback`";
    "model.unavailable" "a provider was not reached, or failed on its side" try "`systole doctor`, which asks it; `retry`, or a model under `fallback`";
    "model.refused" "a provider would not let its model answer" try "other words, or a model under `fallback`";
    "model.invalid-request" "a provider cannot use the request" try "what the provider says; `model`, `params` and `window` are as the file has them";
    "model.field-refused" "a provider refuses a field that the request can do without, so it is asked without it" try "nothing; or another `server` or `thinking` of the model, or `cache: off`";
    "model.window-full" "a request, or a request with its answer, does not fit into the window of a model" try "a shorter request or prompt, a model with a larger window, or a `window` and a `max_output` as the provider has them";
    "workflow.absent" "a call needs a value that no earlier step gave" try "`when` at the call, or a step before it that gives the value";
    "workflow.budget" "a budget was used up before the run was over" try "a larger one under `budgets`; `systole workflow explain` counts the most that a run needs";
    "workflow.context-too-large" "what a goal sees does not fit into a message" try "`sees` with fewer goals";
    "workflow.final-refused" "the final of a run does not fit its schema" try "a last step that gives what the workflow `returns`";
    "workflow.foreign-branch" "a branch came from a listener other than the workflow itself" try "leave <branch> to the workflow";
    "workflow.loop-limit" "a loop reached its `at_most`, and the run went on with the last pass" try "a larger `at_most`, or words by which the goal can be met";
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
};

/// The codes of workers that the kit or an SDK runs.
const OF_WORKERS: &[(&str, &str, &str)] = listener_codes! {
    "listener.again" "a listener asked for another turn and gave no code" try "the words beside it";
    "listener.cancelled" "the work was called back, and its listener let go of it" try "nothing: no one waits for it";
    "listener.error" "the code of a listener crashed or raised an exception" try "the output of the listener, which has the lines";
    "listener.no-pump" "the pump ended before it answered a listener's question" try "nothing: the turn is tried again";
    "listener.no-request" "answers came to a listener, and its view does not show the request" try "a view that keeps the request";
    "listener.too-large" "a question of a listener is larger than the pump or the broker takes" try "a shorter question";
    "listener.unanswered" "the pump answered a listener's question with something else" try "an SDK of this version";
    "listener.unknown-element" "a program has no function for an element that its listener accepts" try "a function for it, or `accepts` without it";
    "reply.superseded" "another reply to the same delivery was taken before" try "nothing: the first reply counts";
    "reply.too-large" "a reply is larger than the pump or the broker takes" try "a shorter answer, or a large part stored with put-blob";
    "reply.unwritable" "a reply cannot be written as XML" try "an answer without control characters";
    "sdk.schema" "a value does not fit the classes of a listener's payloads" try "`systole sdk`, which writes the classes again";
    "worker.exception" "the work of a Python worker raised an exception" try "the output of the worker, which has the lines";
    "worker.not-asked" "a worker was asked for what it does not take" try "an element that the listener `accepts`";
    "worker.too-large" "an answer is larger than the broker takes" try "a shorter answer, or a larger `max_payload` of the broker";
};

/// All of them.
pub fn list_listener_codes() -> Vec<ListenerCode> {
    let of_models = FAILURES.iter().map(|row| ListenerCode {
        code: format!("agent.{}", row.slug),
        meaning: format!("the answer of an agent's model cannot be used, and the model reads: {}", row.told),
        fix: OF_MODEL,
    });
    let others = OF_AGENTS.iter().copied().chain(crate::list_codes()).chain(OF_WORKERS.iter().copied());
    let others = others.map(|(code, meaning, fix)| ListenerCode {
        code: code.to_owned(),
        meaning: meaning.to_owned(),
        fix,
    });
    of_models.chain(others).collect()
}

/// A code of the pump or of a listener, as `explain` shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KnownCode {
    /// One of the pump.
    Pump(Code),
    /// One of a listener.
    Listener(ListenerCode),
}

impl KnownCode {
    /// Every code: those of the pump first, a family of a listener behind the codes of the pump with that family.
    pub fn list_all() -> Vec<KnownCode> {
        let mut codes: Vec<KnownCode> = Code::ALL.iter().copied().map(Self::Pump).collect();
        for one in list_listener_codes() {
            let family = one.code.split('.').next().map(str::to_owned);
            let last = codes.iter().rposition(|code| Some(code.family()) == family.as_deref());
            codes.insert(last.map_or(codes.len(), |last| last + 1), Self::Listener(one));
        }
        codes
    }

    /// The code, if it is one of the pump's.
    pub fn as_pump_code(&self) -> Option<Code> {
        match self {
            Self::Pump(code) => Some(*code),
            Self::Listener(_) => None,
        }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pump(code) => code.as_str(),
            Self::Listener(code) => &code.code,
        }
    }

    /// The part before the first dot.
    pub fn family(&self) -> &str {
        self.as_str().split('.').next().unwrap_or_default()
    }

    /// One sentence that says what it means.
    pub fn meaning(&self) -> &str {
        match self {
            Self::Pump(code) => code.meaning(),
            Self::Listener(code) => &code.meaning,
        }
    }

    /// The fix, for people.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Pump(code) => code.fix(),
            Self::Listener(code) => code.fix,
        }
    }

    /// What follows from it.
    pub fn again(&self) -> &'static str {
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
