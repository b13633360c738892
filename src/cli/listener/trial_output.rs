//! The output of a trial: what the program prints aside, as it prints it; then each item with its verdict, how the
//! program ended and how long it took. Payloads go to stdout, everything else to stderr.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use systole_kit::{DocumentLimits, Payload, namespaces};

use crate::cli::exit::CommandExit;
use crate::cli::refusal_text;
use crate::cli::screen::Screen;
use crate::limits::{ASIDE_BYTES, EXAMPLE_BYTES};
use systole_api::types::ApiRefusal;
use systole_carriers as delivery;
use systole_core::types::composition::{ElementSchema, Listener};
use systole_core::types::refusal;
use systole_core::types::time::spell_measured;
use systole_organism::trying::{ItemKind, ItemVerdict, TrialRemark, TrialResult, TurnEnd};

/// Shows a program's other output line by line, and remembers how the program ended.
pub(super) struct OutputEar {
    screen: Screen,
    listener: Listener,
    heard: Mutex<HeardOutput>,
}

#[derive(Default)]
struct HeardOutput {
    /// Output that is not shown yet; with `--json` all of it.
    said: Vec<u8>,
    ends: Vec<(String, bool)>,
    /// The first payload that came without the envelope of a reply.
    bare: Option<Vec<u8>>,
}

impl HeardOutput {
    /// How to send a bare payload, if no reply came.
    fn suggest_wrapping(&self, listener: &Listener, tried: &TrialResult) -> Option<[String; 2]> {
        let bare = self.bare.as_ref().filter(|_| matches!(tried.end, TurnEnd::Gone(..)))?;
        Some(write_wrapping(listener, bare))
    }
}

impl OutputEar {
    pub(super) fn new(screen: Screen, listener: Listener) -> OutputEar {
        OutputEar { screen, listener, heard: Mutex::default() }
    }

    fn hear_line(&self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.screen.say(format!("stderr    {}", String::from_utf8_lossy(line).trim_end()));
    }

    /// Shows the rest, and returns it with the ends of programs.
    fn finish(&self) -> HeardOutput {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.screen.json {
            self.hear_line(&heard.said);
        }
        heard
    }
}

impl delivery::ProgramEar for OutputEar {
    fn note_stderr(&self, said: &[u8]) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let room = ASIDE_BYTES.saturating_sub(heard.said.len());
        heard.said.extend(said.get(..room.min(said.len())).unwrap_or(said));
        if self.screen.json {
            return;
        }
        while let Some(end) = heard.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = heard.said.drain(..=end).collect();
            self.hear_line(&line);
        }
        // An overlong line is shown in parts.
        if heard.said.len() >= ASIDE_BYTES {
            let line = std::mem::take(&mut heard.said);
            self.hear_line(&line);
        }
    }

    fn note_stray(&self, line: &[u8]) {
        if is_payload(line, &self.listener.returns) {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.bare.get_or_insert_with(|| line.trim_ascii().to_vec());
        }
    }

    fn note_end(&self, how: &str, forced: bool) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.ends.push((how.to_owned(), forced));
    }
}

/// Whether a line is a payload, or begins one that the listener may answer with.
fn is_payload(line: &[u8], returns: &[ElementSchema]) -> bool {
    if Payload::parse(line, &DocumentLimits::default()).is_ok() {
        return true;
    }
    let line = String::from_utf8_lossy(line);
    let Some(tag) = line.trim_start().strip_prefix('<') else { return false };
    let name = tag.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).next().unwrap_or_default();
    let local = name.split_once(':').map_or(name, |(_, local)| local);
    returns.iter().any(|element| *element.name.local == *local)
}

/// How to send a bare payload: two ways, the second with the line itself.
fn write_wrapping(listener: &Listener, bare: &[u8]) -> [String; 2] {
    let short = Payload::parse(bare, &DocumentLimits::default()).is_ok() && bare.len() <= EXAMPLE_BYTES;
    let item = if short { String::from_utf8_lossy(bare).into_owned() } else { "…".to_owned() };
    let namespace = namespaces::LISTENER;
    let reply = format!("<reply xmlns=\"{namespace}\" delivery=\"…\">{item}</reply>");
    let once = format!("`mode: once` at listeners.{}, or --once for a program", listener.name.as_str());
    [once, format!("{reply}, with the delivery of the request's <stamp>")]
}

/// Shows the result, and returns its exit.
pub(super) fn show_trial(screen: Screen, tried: &TrialResult, ear: &OutputEar) -> CommandExit {
    let heard = ear.finish();
    if screen.json {
        screen.show_value(&as_json(tried, &heard, &ear.listener));
    } else {
        tried.before.iter().for_each(|remark| say_remark(screen, remark));
        say_end(screen, tried);
        if let Some([once, reply]) = heard.suggest_wrapping(&ear.listener, tried) {
            screen.say(
                "bare      a payload was printed as it is; a program that stays wraps its items in a reply",
            );
            screen.say(format!("  try: {once}"));
            screen.say(format!("  or: {reply}"));
        }
        say_program(screen, tried, &heard);
    }
    if tried.is_well() { CommandExit::Done } else { CommandExit::Failed }
}

fn say_refusal(screen: Screen, refusal: &refusal::Refusal) {
    refusal_text::say(screen, &ApiRefusal::from(refusal));
}

fn say_remark(screen: Screen, remark: &TrialRemark) {
    match remark {
        TrialRemark::Progress(words) => screen.say(format!("progress  {words}")),
        TrialRemark::Notice(code, words) => screen.say(format!("notice    {code}: {words}")),
        TrialRemark::Journal(None) => {
            screen.say("journal   an entry, answered as on disk; a trial keeps none")
        }
        TrialRemark::Ask(None) => {
            screen.say("ask       a question, answered with route.unavailable: a trial has no log")
        }
        TrialRemark::FalseSender(name) => {
            screen.say(format!("notice    reply.false-sender: an item says it is from {name}"));
        }
        TrialRemark::Journal(Some(refusal))
        | TrialRemark::Ask(Some(refusal))
        | TrialRemark::Stray(refusal) => {
            say_refusal(screen, refusal);
        }
    }
}

fn say_end(screen: Screen, tried: &TrialResult) {
    let (verdicts, silent) = match &tried.end {
        TurnEnd::Reply(verdicts) => (verdicts, None),
        TurnEnd::Silent(verdicts, refusal) => (verdicts, Some(&**refusal)),
        TurnEnd::Failure(code, retry, words) => {
            let again = if *retry { ", and says that trying again may help" } else { "" };
            return screen.say(format!("failure   {code}{again}: {words}"));
        }
        TurnEnd::Again(code, words) => {
            return screen.say(format!("again     {code}: {words}"));
        }
        TurnEnd::Gone(code, words) => {
            screen.say(format!("no reply  {}: {words}", code.as_str()));
            return;
        }
    };
    for (n, verdict) in verdicts.iter().enumerate() {
        say_verdict(screen, n, verdict);
    }
    match silent {
        Some(refusal) => say_refusal(screen, refusal),
        None if verdicts.is_empty() => screen.say("handled   an empty reply, and no answer is due"),
        None if tried.goes_on && !verdicts.iter().any(|v| matches!(v.case, ItemKind::Final)) => {
            screen.say("goes on   its next turn would get the answers; a trial ends here");
        }
        None => {}
    }
}

fn say_verdict(screen: Screen, n: usize, verdict: &ItemVerdict) {
    let payload = verdict.payload.as_deref().map(String::from_utf8_lossy);
    let number = n.to_string();
    let words = match &verdict.case {
        ItemKind::Refused(refusal) => {
            if let Some(payload) = payload {
                screen.show(&payload);
            }
            screen.say(format!("item {number}    refused"));
            return say_refusal(screen, refusal);
        }
        ItemKind::Final => "the answer".to_owned(),
        ItemKind::Note => "a note, kept in its own call".to_owned(),
        ItemKind::ForPump => "for the pump, which answers it".to_owned(),
        ItemKind::ForThread(thread) => format!("for the thread {thread}, if that is its own child"),
        ItemKind::Call(peers) => {
            let peers: Vec<&str> = peers.iter().map(|peer| peer.as_str()).collect();
            format!("a call to {}", peers.join(", "))
        }
    };
    if let Some(payload) = payload {
        screen.show(&payload);
    }
    let person = if verdict.needs_person { "; a person would have to approve it" } else { "" };
    screen.say(format!("item {number}    {words}{person}"));
}

fn say_program(screen: Screen, tried: &TrialResult, heard: &HeardOutput) {
    if tried.late > 0 {
        let documents = if tried.late == 1 { " document" } else { " documents" };
        let words = " came after the reply, when the delivery was over: reply.stale-lease";
        screen.say(format!("late      {}{documents}{words}", tried.late));
    }
    screen.say(format!("took      {}", spell_measured(tried.took_ms)));
    for (how, forced) in &heard.ends {
        let words = if *forced && matches!(tried.end, TurnEnd::Reply(_) | TurnEnd::Silent(..)) {
            "; it did not end when its stdin did, as a program must"
        } else {
            ""
        };
        screen.say(format!("program   {how}{words}"));
    }
}

fn as_json(tried: &TrialResult, heard: &HeardOutput, listener: &Listener) -> Value {
    let refusal = |refusal: &refusal::Refusal| json!(ApiRefusal::from(refusal));
    let before: Vec<Value> = tried
        .before
        .iter()
        .map(|remark| match remark {
            TrialRemark::Progress(words) => json!({"progress": words}),
            TrialRemark::Notice(code, words) => json!({"notice": code, "words": words}),
            TrialRemark::Journal(refused) => {
                json!({"journal": refused.is_none(), "refusal": refused.as_ref().map(refusal)})
            }
            TrialRemark::Ask(refused) => {
                json!({"ask": refused.is_none(), "refusal": refused.as_ref().map(refusal)})
            }
            TrialRemark::Stray(refused) => json!({"refusal": refusal(refused)}),
            TrialRemark::FalseSender(name) => json!({"false_sender": name}),
        })
        .collect();
    let items = |verdicts: &[ItemVerdict]| -> Vec<Value> {
        let item = |verdict: &ItemVerdict| {
            let (case, more) = case_json(&verdict.case);
            let payload = verdict.payload.as_deref().map(String::from_utf8_lossy);
            json!({"payload": payload, "case": case, "of": more, "needs_person": verdict.needs_person})
        };
        verdicts.iter().map(item).collect()
    };
    let end = match &tried.end {
        TurnEnd::Reply(verdicts) => json!({"reply": items(verdicts)}),
        TurnEnd::Silent(verdicts, refused) => json!({"reply": items(verdicts), "refusal": refusal(refused)}),
        TurnEnd::Failure(code, retry, words) => json!({"failure": code, "retry": retry, "words": words}),
        TurnEnd::Again(code, words) => json!({"again": code, "words": words}),
        TurnEnd::Gone(code, words) => json!({"gone": code.as_str(), "words": words}),
    };
    let ends: Vec<Value> =
        heard.ends.iter().map(|(how, forced)| json!({"ended": how, "forced": forced})).collect();
    json!({
        "well": tried.is_well(), "before": before, "end": end, "late": tried.late, "took_ms": tried.took_ms,
        "stderr": String::from_utf8_lossy(&heard.said), "program": ends,
        "try": heard.suggest_wrapping(listener, tried),
    })
}

fn case_json(case: &ItemKind) -> (&'static str, Value) {
    match case {
        ItemKind::Note => ("note", Value::Null),
        ItemKind::Final => ("final", Value::Null),
        ItemKind::Call(peers) => ("call", json!(peers.iter().map(|peer| peer.as_str()).collect::<Vec<_>>())),
        ItemKind::ForPump => ("pump", Value::Null),
        ItemKind::ForThread(thread) => ("thread", json!(thread)),
        ItemKind::Refused(refused) => ("refused", json!(ApiRefusal::from(&**refused))),
    }
}
