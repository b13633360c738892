//! One question to the model: the prompt is put down and its hash written into the journal before the model is called,
//! and what it says is in the journal before anything is made of it. What an earlier attempt bought is not bought again.

use serde_json::json;
use systole_kit::journal::{Entry, Outcome, Past, Standing, Started};
use systole_kit::line::{Line, NotTaken};

use crate::agent::{Agent, is_refused};
use crate::chain::Link;
use crate::heard::{self, Heard};
use crate::live;
use crate::memory::Conversation;
use crate::model::{Choice, Fault, FaultKind, Message, Part, Request, Role, Tool};
use crate::prompt;
use crate::show::block;
use crate::spec::{Actions, Dialect, Thinking, ToolChoice};

/// What the model is told about this turn alone.
pub(crate) struct Header<'a> {
    pub(crate) turn: u32,
    pub(crate) of: u32,
    pub(crate) attempt: u32,
    pub(crate) attempts: u32,
    pub(crate) used: u64,
    pub(crate) window: u64,
    pub(crate) wrap_up: Option<&'a str>,
    pub(crate) only_final: bool,
}

/// What is asked.
pub(crate) struct Ask<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) conversation: &'a Conversation,
    pub(crate) header: &'a Header<'a>,
    pub(crate) tools: &'a [Tool],
}

/// What came of it.
pub(crate) enum Came {
    /// An answer.
    Heard(Heard),
    /// A budget leaves no room for it: the model was not called.
    Refused { code: String, words: String },
    /// There is no answer; the same may be asked again in another turn, or not.
    Fault { code: String, words: String, again: bool },
}

/// Asks, or finds what an earlier attempt was answered.
pub(crate) async fn ask(ask: Ask<'_>, has_past: bool, line: &(dyn Line + '_)) -> Result<Came, NotTaken> {
    let header = header_words(&ask);
    let prompt = Link::prompt(ask.conversation.last(), &header);
    let mut past = if has_past { line.past().await? } else { Past::default() };
    if let Standing::Known(outcome) = past.standing(&prompt.hash) {
        return Ok(known(&outcome));
    }
    for link in ask.conversation.links() {
        line.put_blob(link.text.clone()).await?;
    }
    line.put_blob(prompt.text.clone()).await?;
    let request = request(&ask, header);
    let limits = &ask.agent.limits;
    let started = Started {
        model: limits.name.clone(),
        prompt: prompt.hash,
        reserve_tokens: Some(ask.header.used + tools_tokens(ask.tools) + limits.max_output),
        reserve_money: None,
    };
    let of = match line.journal(Entry::Started(started)).await {
        Ok(of) => of,
        Err(NotTaken::Refused { code, words }) => return Ok(Came::Refused { code, words }),
        Err(other) => return Err(other),
    };
    let answered = live::shown(&*ask.agent.model, request, line).await?;
    let outcome = match &answered {
        Ok(answer) => {
            let (stop, text) = heard::written(answer);
            let (tokens_in, tokens_out) = (answer.usage.tokens_in, answer.usage.tokens_out);
            Outcome { of, stop, tokens_in, tokens_out, money: None, text }
        }
        Err(fault) => Outcome {
            of,
            stop: fault.kind.code().to_owned(),
            tokens_in: (!fault.may_be_paid).then_some(0),
            tokens_out: (!fault.may_be_paid).then_some(0),
            money: None,
            text: fault.partial.clone(),
        },
    };
    line.journal(Entry::Result(outcome)).await?;
    Ok(match answered {
        Ok(answer) if is_refused(answer.stop) => {
            let words = "the provider would not let the model answer".to_owned();
            Came::Fault { code: FaultKind::Refused.code().to_owned(), words, again: false }
        }
        Ok(answer) => Came::Heard(Heard { parts: answer.parts, stop: answer.stop }),
        Err(fault) => of_fault(&fault),
    })
}

/// What an earlier attempt was answered.
fn known(outcome: &Outcome) -> Came {
    if outcome.stop.starts_with("model.") {
        let words = "the model's answer in an earlier attempt was none".to_owned();
        return Came::Fault { code: outcome.stop.clone(), words, again: outcome.stop == "model.truncated" };
    }
    Came::Heard(Heard::read(&outcome.stop, &outcome.text))
}

fn of_fault(fault: &Fault) -> Came {
    let again = matches!(fault.kind, FaultKind::Truncated | FaultKind::TooLarge);
    Came::Fault { code: fault.kind.code().to_owned(), words: fault.words.clone(), again }
}

fn request(ask: &Ask<'_>, header: String) -> Request {
    let mut messages = ask.conversation.messages();
    messages.push(Message { role: Role::User, parts: vec![Part::Text(header)] });
    let spec = &ask.agent.spec;
    let tools = if ask.header.only_final { Vec::new() } else { ask.tools.to_vec() };
    let choice = spec.tool_choice.as_ref().filter(|_| !tools.is_empty()).map(|choice| match choice {
        ToolChoice::Auto => Choice::Auto,
        ToolChoice::Required => Choice::Required,
        ToolChoice::None => Choice::None,
        ToolChoice::Tool(name) => Choice::Tool(name.clone()),
    });
    Request {
        system: ask.conversation.system.clone(),
        messages,
        tools,
        choice,
        max_output: ask.agent.limits.max_output,
        params: ask.agent.limits.params.clone(),
    }
}

/// The header: where the conversation stands, and what is expected next.
fn header_words(ask: &Ask<'_>) -> String {
    let header = ask.header;
    let mut lines = vec![
        [
            "Turn ",
            &header.turn.to_string(),
            " of ",
            &header.of.to_string(),
            ". Attempt ",
            &header.attempt.to_string(),
            " of ",
            &header.attempts.to_string(),
            ". Window: about ",
            &header.used.to_string(),
            " of ",
            &header.window.to_string(),
            " tokens used.",
        ]
        .concat(),
    ];
    match header.wrap_up {
        Some(what) => lines.push(["This is the last turn (", what, "): only your final is taken."].concat()),
        None if header.only_final => {
            lines.push("The window is nearly full: only your final is taken now.".to_owned());
        }
        None => {}
    }
    lines.push(["Expected: ", &expected(ask)].concat());
    let names: Vec<&str> = match (header.only_final, ask.agent.spec.dialect) {
        (true, _) | (_, Dialect::Plain) => Vec::new(),
        (_, Dialect::Xml) => {
            ask.agent.contracts.actions.iter().map(|action| &*action.known.element.local).collect()
        }
        _ => ask.tools.iter().map(|tool| tool.name.as_str()).collect(),
    };
    if !names.is_empty() {
        lines.push(["Tools: ", &names.join(", "), "."].concat());
    }
    block(&ask.conversation.mark, &lines.join("\n"))
}

fn expected(ask: &Ask<'_>) -> String {
    let spec = &ask.agent.spec;
    let acts = !ask.header.only_final && !ask.agent.contracts.actions.is_empty();
    match spec.dialect {
        Dialect::Plain => "your answer.".to_owned(),
        Dialect::Native if acts => "calls, or your final.".to_owned(),
        Dialect::Native => "your final.".to_owned(),
        Dialect::XmlFinal => {
            let before = if acts { "calls, or your final: " } else { "your final: " };
            let (nonce, format) = (&ask.conversation.nonce, prompt::format_name(spec.output.format));
            let open =
                ["<systole-", nonce, "-FINAL format=\"", format, "\" status=\"success|partial|failure\">"];
            [before, &open.concat(), "…</systole-", nonce, "-FINAL>"].concat()
        }
        Dialect::Xml => {
            let thinking = if spec.thinking == Thinking::Required { "<thinking>, then " } else { "" };
            let what = match (acts, spec.actions) {
                (false, _) => "your final.",
                (true, Actions::One) => "exactly one action, or your final.",
                (true, Actions::Many) => "one or several actions, or your final.",
            };
            [thinking, what].concat()
        }
    }
}

/// Tools as the chain of a prompt keeps them.
pub(crate) fn tools_text(tools: &[Tool]) -> String {
    let line = |tool: &Tool| {
        json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters })
            .to_string()
    };
    tools.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// An estimate of the tokens of tools.
pub(crate) fn tools_tokens(tools: &[Tool]) -> u64 {
    crate::tokens::estimate(&tools_text(tools))
}
