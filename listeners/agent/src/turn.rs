//! One question to the model. The prompt is stored and its hash written into the journal before the model is called.
//! The answer is in the journal before it is used. An answer that an earlier attempt paid for is not bought again.

use std::sync::Arc;

use systole_kit::envelope::Delivered;
use systole_kit::journal::{EarlierEntries, JournalEntry, ModelCallOutcome, ModelStarted, PriorCall};
use systole_kit::line::{Line, NotTaken};

use crate::chain::StoredLink;
use crate::dialect;
use crate::files::{self, FileShelf};
use crate::live;
use crate::memory::Conversation;
use crate::model::{
    self, CallHistory, HeldAnswer, ModelAnswer, ModelFault, ModelFaultKind, ModelRequest, Models, NoAnswer,
    OutgoingRequest, RequestLedger, RequestToolChoice, StopReason,
};
use crate::model_answer::{self, HeardAnswer};
use crate::primitives::TASK;
use crate::prompt;
use crate::show::{escape_markup, write_block};
use crate::spec::{self, ActionLimit, Dialect, ThinkingRule, ToolChoice};
use crate::terms::CallTerms;

/// What the model is told about this turn only.
pub(crate) struct TurnHeader<'a> {
    pub(crate) turn: u32,
    pub(crate) of: u32,
    pub(crate) attempt: u32,
    pub(crate) attempts: u32,
    pub(crate) used: u64,
    pub(crate) window: u64,
    pub(crate) wrap_up: Option<&'a str>,
    pub(crate) only_final: bool,
}

impl TurnHeader<'_> {
    /// Whether the final is asked for. In the last turn an action is still taken: the turn after it takes only a final.
    fn asks_final(&self) -> bool {
        self.only_final || self.turn >= self.of
    }
}

/// The question.
pub(crate) struct TurnQuestion<'a> {
    pub(crate) models: &'a Models,
    pub(crate) spec: &'a spec::AgentSpec,
    /// The limits and prices of the agent's model.
    pub(crate) limits: &'a spec::ModelSpec,
    pub(crate) files: &'a FileShelf,
    pub(crate) conversation: &'a Conversation,
    pub(crate) header: &'a TurnHeader<'a>,
    /// The delivery for which the model is asked.
    pub(crate) asked: &'a Delivered,
    /// Whether the delivery has asked a model before, and parts of the prompt were left out since.
    pub(crate) is_narrowed: bool,
    /// How many questions may read files.
    pub(crate) file_questions: u64,
}

/// The outcome.
pub(crate) enum TurnOutcome {
    /// An answer.
    Heard(HeardAnswer),
    /// A budget leaves no room, so the model was not called.
    Refused { code: String, words: String },
    /// There is no answer. `again` says whether another turn may ask the same.
    Fault { code: String, words: String, again: bool },
    /// The model is away.
    Away { model: String, code: String, words: String },
    /// The provider finds the request, or the request with its answer, too long. `is_cut` says whether it had begun to
    /// answer.
    TooLong { words: String, is_cut: bool },
}

/// Asks, or finds the answer to an earlier attempt.
pub(crate) async fn ask_once(
    ask: TurnQuestion<'_>,
    past: &mut EarlierEntries,
    line: &(dyn Line + '_),
) -> Result<TurnOutcome, NotTaken> {
    let header = write_header(&ask);
    let prompt = StoredLink::from_prompt(
        ask.conversation.last_hash(),
        header.as_deref().unwrap_or_default(),
        &ask.conversation.mark.0,
    );
    // An attempt has room for only so many requests.
    let is_single = ask.is_narrowed || has_been_away(past);
    // Failed requests are known as well, and may be repeated.
    while let PriorCall::Known(outcome) = past.prior_call(&prompt.hash) {
        if let Some(heard) = HeardAnswer::from_text(&outcome.stop, &outcome.text) {
            return Ok(TurnOutcome::Heard(heard.with_tokens_in(outcome.tokens_in)));
        }
    }
    // The same turn asks the same question. Even if its prompt reads differently by now, the answer already paid for
    // is used.
    if let Some(heard) = find_bought(past) {
        return Ok(TurnOutcome::Heard(heard));
    }
    for link in ask.conversation.unsaved_links() {
        line.put_blob(link.text.clone()).await?;
    }
    line.put_blob(prompt.text.clone()).await?;
    let mut request = build_request(&ask, header, past);
    ask.files.load_files(&mut request.messages, ask.file_questions, line).await?;
    let is_reported = ask.conversation.is_reported();
    let tokens_in = files::correct_estimate(ask.header.used, &request.messages, is_reported);
    let asked = model::EstimatedRequest { request, tokens_in, is_single };
    let mut books = JournalLedger { line, prompt: prompt.hash, of: 0, grammars: Vec::new() };
    let (models, name) = (ask.models, &ask.spec.model);
    let terms = &ask.conversation.terms;
    let is_answer = dialect::is_text_answer(&terms.agent, &terms.contracts);
    Ok(match live::ask_and_show(models, (name, is_answer), &asked, &mut books, line).await? {
        Ok(answer) if is_refused(answer.stop) => {
            let words = "the provider would not let the model answer".to_owned();
            TurnOutcome::Fault { code: ModelFaultKind::Refused.code().to_owned(), words, again: false }
        }
        Ok(ModelAnswer { parts, stop, usage, .. }) => {
            TurnOutcome::Heard(HeardAnswer { parts, stop, tokens_in: usage.tokens_in })
        }
        Err(NoAnswer::Fault(fault)) if models.are_away(name, &fault) => {
            let code = fault.kind.code().to_owned();
            TurnOutcome::Away { model: name.clone(), code, words: fault.words }
        }
        Err(NoAnswer::Fault(fault)) => from_fault(&fault),
        Err(NoAnswer::Halted(NotTaken::Refused { code, words })) if code.starts_with("budget.") => {
            TurnOutcome::Refused { code, words }
        }
        Err(NoAnswer::Halted(NotTaken::Refused { code, words })) => {
            let words = format!("the answer of the model could not be recorded: {code}: {words}");
            TurnOutcome::Fault { code: ModelFaultKind::TooLarge.code().to_owned(), words, again: true }
        }
        Err(NoAnswer::Halted(other)) => return Err(other),
    })
}

/// Whether the last request of the attempt before found that the model is away: this one only looks whether it is back.
fn has_been_away(past: &EarlierEntries) -> bool {
    let last = past.entries.iter().rev().find_map(|recalled| match &recalled.entry {
        JournalEntry::Result(outcome) => Some(outcome.stop.as_str()),
        JournalEntry::Started(_) => None,
    });
    let kinds = [ModelFaultKind::RateLimited, ModelFaultKind::Unavailable];
    last.is_some_and(|stop| kinds.into_iter().any(|kind| kind.code() == stop))
}

/// The last answer that earlier attempts got.
fn find_bought(past: &EarlierEntries) -> Option<HeardAnswer> {
    past.entries.iter().rev().find_map(|recalled| match &recalled.entry {
        JournalEntry::Result(outcome) => HeardAnswer::from_text(&outcome.stop, &outcome.text)
            .map(|heard| heard.with_tokens_in(outcome.tokens_in)),
        JournalEntry::Started(_) => None,
    })
}

/// The journal, as the ledger of the models.
struct JournalLedger<'l> {
    line: &'l (dyn Line + 'l),
    /// The hash of the prompt.
    prompt: String,
    /// The entry of the running request.
    of: u64,
    /// The grammars that were stored, each with what names it.
    grammars: Vec<(String, String)>,
}

impl JournalLedger<'_> {
    /// Stores a grammar, once for all requests of an answer, and says what names it.
    async fn put_grammar(&mut self, text: &str) -> Result<String, NotTaken> {
        if let Some((_, named)) = self.grammars.iter().find(|(stored, _)| stored == text) {
            return Ok(named.clone());
        }
        let named = format!("grammar:{}", self.line.put_blob(text.to_owned()).await?);
        self.grammars.push((text.to_owned(), named.clone()));
        Ok(named)
    }
}

impl RequestLedger for JournalLedger<'_> {
    type Halt = NotTaken;

    async fn record_start(&mut self, going: OutgoingRequest<'_>) -> Result<(), NotTaken> {
        let guided = match going.held {
            Some(HeldAnswer::Grammar(text)) => Some(self.put_grammar(text).await?),
            Some(HeldAnswer::Schema(_)) => Some("schema".to_owned()),
            Some(HeldAnswer::Strict) => Some("strict".to_owned()),
            None => None,
        };
        let started = ModelStarted {
            model: going.model.name.clone(),
            guided,
            prompt: self.prompt.clone(),
            reserve_tokens: Some(going.reserve.tokens),
            reserve_money: going.reserve.money,
            wait_ms: going.wait_ms,
        };
        self.of = self.line.journal(JournalEntry::Started(started)).await?;
        Ok(())
    }

    async fn record_end(&mut self, came: model::RequestOutcome<'_>) -> Result<(), NotTaken> {
        let (stop, text) = match came.outcome {
            Ok(answer) => model_answer::write_answer(answer),
            Err(fault) => (fault.kind.code().to_owned(), format!("{}\n{}", fault.words, fault.partial)),
        };
        let (tokens_in, tokens_out, money) = (came.tokens_in, came.tokens_out, came.money);
        let (of, blobs, details) = (self.of, Vec::new(), Box::new(came.details));
        let mut outcome = ModelCallOutcome { of, stop, tokens_in, tokens_out, money, text, blobs, details };
        if let pieces @ [_, _, ..] = model_answer::split_pieces(&outcome.text).as_slice() {
            for piece in pieces {
                outcome.blobs.push(self.line.put_blob(*piece).await?);
            }
            outcome.text = String::new();
        }
        self.line.journal(JournalEntry::Result(outcome)).await?;
        Ok(())
    }
}

fn from_fault(fault: &ModelFault) -> TurnOutcome {
    let words = fault.words.clone();
    if fault.kind == ModelFaultKind::WindowFull {
        let is_cut = fault.used.is_some();
        return match fault.status {
            Some(_) => TurnOutcome::TooLong { words, is_cut },
            // In a replay, the record shows that no other request followed.
            None => from_full_window(words, is_cut),
        };
    }
    let again = matches!(
        fault.kind,
        ModelFaultKind::Truncated | ModelFaultKind::TooLarge | ModelFaultKind::FieldRefused
    );
    TurnOutcome::Fault { code: fault.kind.code().to_owned(), words, again }
}

/// The outcome if nothing can be left out. An answer that the window cut is shown to the model. A request that does not
/// fit would only be longer.
pub(crate) fn from_full_window(words: String, is_cut: bool) -> TurnOutcome {
    TurnOutcome::Fault { code: ModelFaultKind::WindowFull.code().to_owned(), words, again: is_cut }
}

fn build_request(ask: &TurnQuestion<'_>, header: Option<String>, past: &EarlierEntries) -> ModelRequest {
    let CallTerms { agent: spec, contracts, tools, .. } = &*ask.conversation.terms;
    let tools = tools.clone();
    // A request with earlier calls must contain their tools. If only a final counts, no tool may be called.
    let choice = match &spec.tool_choice {
        _ if tools.is_empty() => None,
        _ if ask.header.only_final => Some(RequestToolChoice::None),
        Some(ToolChoice::Auto) => Some(RequestToolChoice::Auto),
        Some(ToolChoice::Required) => Some(RequestToolChoice::Required),
        Some(ToolChoice::None) => Some(RequestToolChoice::None),
        Some(ToolChoice::Tool(name)) => Some(RequestToolChoice::Tool(name.clone())),
        None => None,
    };
    // In other dialects an answer is more than JSON. The word that ends a loop is not JSON either.
    let is_json_alone = matches!(spec.dialect, Dialect::Native | Dialect::Plain) && !contracts.may_converge();
    let schema = spec.output.schema.clone().filter(|_| is_json_alone);
    let has_grammar = spec.dialect == Dialect::Xml && ask.models.take_grammar(&spec.model);
    let grammar = if has_grammar {
        dialect::write_grammar(spec, contracts, ask.header.only_final, ask.limits.max_output).map(Arc::new)
    } else {
        None
    };
    ModelRequest {
        system: ask.conversation.system.clone(),
        messages: ask.conversation.messages(),
        header,
        tools,
        choice,
        schema,
        grammar,
        refused: Vec::new(),
        max_output: ask.limits.max_output,
        params: serde_json::Map::new(),
        enough: dialect::build_check(spec, contracts, ask.header.only_final),
        course: build_history(ask, past),
    }
}

/// The history of the call. The answers to earlier attempts at this turn were looked up before.
fn build_history(ask: &TurnQuestion<'_>, past: &EarlierEntries) -> CallHistory {
    let Delivered { thread, stamp, .. } = ask.asked;
    let failed =
        past.entries.iter().filter(|recalled| matches!(recalled.entry, JournalEntry::Result(_))).count();
    CallHistory {
        call: format!("{thread} {}", stamp.call),
        delivery: stamp.delivery.clone(),
        turns: usize::try_from(stamp.turn.saturating_sub(1)).unwrap_or(usize::MAX),
        said: ask.conversation.said.clone(),
        failed,
    }
}

/// Whether the header has something to say that the model does not know. An ordinary turn ends with its results.
fn has_news(ask: &TurnQuestion<'_>) -> bool {
    let TurnHeader { turn, of, attempt, used, window, only_final, .. } = *ask.header;
    let is_first = ask.spec.dialect == Dialect::Plain && turn == 1;
    let is_near_end = only_final || turn.saturating_add(1) >= of || used.saturating_mul(2) > window;
    !is_first && (is_near_end || attempt > 1 || ask.conversation.tasks_given > 0)
}

/// The header: the state of the conversation, and what is expected next. `None` if there is no news.
fn write_header(ask: &TurnQuestion<'_>) -> Option<String> {
    if !has_news(ask) {
        return None;
    }
    let header = ask.header;
    // The turn that accepts only a final comes after the allowed turns, or ends them early.
    let of = if header.wrap_up.is_some() { header.turn } else { header.of };
    let mut lines = vec![format!(
        "Turn {} of {of}. Attempt {} of {}. Window: about {} of {} tokens used.",
        header.turn, header.attempt, header.attempts, header.used, header.window
    )];
    match header.wrap_up {
        Some(what) => {
            let what = escape_markup(&ask.conversation.mark.cover_mark(what));
            lines.push(format!("This is the last turn ({what}): only your final is taken."));
        }
        None if header.only_final => {
            lines.push("The window is nearly full: only your final is taken now.".to_owned());
        }
        None => {}
    }
    lines.push(format!("Expected: {}", describe_expected(ask)));
    let CallTerms { contracts, tools, .. } = &*ask.conversation.terms;
    if let Some(tasks) = contracts.tasks().filter(|_| !header.only_final) {
        lines.push(format!("Tasks: {} of {} given.", ask.conversation.tasks_given, tasks.at_most));
    }
    let actions = contracts.actions.iter().map(|action| &*action.known.element.local);
    let names: Vec<&str> = match (header.asks_final(), ask.spec.dialect) {
        (true, _) | (_, Dialect::Plain) => Vec::new(),
        (_, Dialect::Xml) => actions.chain(contracts.tasks().map(|_| TASK)).collect(),
        _ => tools.iter().map(|tool| tool.name.as_str()).collect(),
    };
    if !names.is_empty() {
        lines.push(format!("Tools: {}.", names.join(", ")));
    }
    Some(write_block(&ask.conversation.mark, &lines.join("\n")))
}

fn describe_expected(ask: &TurnQuestion<'_>) -> String {
    let CallTerms { agent: spec, contracts, .. } = &*ask.conversation.terms;
    let acts = !ask.header.asks_final() && contracts.can_act();
    match spec.dialect {
        Dialect::Plain if contracts.json_final().is_some() => "your answer, in JSON alone.".to_owned(),
        Dialect::Plain => "your answer.".to_owned(),
        Dialect::Native if acts => "calls, or your final.".to_owned(),
        Dialect::Native => "your final.".to_owned(),
        Dialect::XmlFinal => {
            let before = if acts { "calls, or your final: " } else { "your final: " };
            format!("{before}{}", prompt::write_slot(spec, &ask.conversation.nonce))
        }
        Dialect::Xml => {
            let thinking = if spec.thinking == ThinkingRule::Required { "<thinking>, then " } else { "" };
            let what = match (acts, spec.actions) {
                (false, _) => "your final.",
                (true, ActionLimit::One) => "exactly one action, or your final.",
                (true, ActionLimit::Many) => "one or several actions, or your final.",
            };
            format!("{thinking}{what}")
        }
    }
}

/// Whether the provider withheld the rest of the answer.
fn is_refused(stop: StopReason) -> bool {
    stop == StopReason::Filtered
}
