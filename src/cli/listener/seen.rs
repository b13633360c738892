//! The output of a trial: what the program prints aside, as it prints it; then each item with its verdict, how the
//! program ended and how long it took. Payloads go to stdout, everything else to stderr.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use systole_kit::{Limits, Payload, namespaces};

use crate::cli::exit::Exit;
use crate::cli::refused;
use crate::cli::screen::Screen;
use crate::console::api_types::Refusal;
use crate::edges::delivery;
use crate::runtime::trying::{Case, End, Remark, Tried, Verdict};
use systole_core::types::composition::{Element, Listener};
use systole_core::types::refusal;
use systole_core::types::time::spoken;

/// Most bytes of other output to keep for one line, or for JSON.
const ASIDE_BYTES: usize = 64 * 1024;

/// Most bytes of an answer to repeat in the advice on how to send it.
const EXAMPLE_BYTES: usize = 200;

/// Shows a program's other output line by line, and remembers how the program ended.
pub(super) struct Ear {
    screen: Screen,
    listener: Listener,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    /// Output that is not shown yet; with `--json` all of it.
    said: Vec<u8>,
    ends: Vec<(String, bool)>,
    /// The first payload that came without the envelope of a reply.
    bare: Option<Vec<u8>>,
}

impl Heard {
    /// How to send a bare payload, if no reply came.
    fn wrapping(&self, listener: &Listener, tried: &Tried) -> Option<[String; 2]> {
        let bare = self.bare.as_ref().filter(|_| matches!(tried.end, End::Gone(..)))?;
        Some(wrapping(listener, bare))
    }
}

impl Ear {
    pub(super) fn new(screen: Screen, listener: Listener) -> Ear {
        Ear { screen, listener, heard: Mutex::default() }
    }

    fn line(&self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.screen.say(format!("stderr    {}", String::from_utf8_lossy(line).trim_end()));
    }

    /// Shows the rest, and returns it with the ends of programs.
    fn finish(&self) -> Heard {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.screen.json {
            self.line(&heard.said);
        }
        heard
    }
}

impl delivery::Ear for Ear {
    fn aside(&self, said: &[u8]) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let room = ASIDE_BYTES.saturating_sub(heard.said.len());
        heard.said.extend(said.get(..room.min(said.len())).unwrap_or(said));
        if self.screen.json {
            return;
        }
        while let Some(end) = heard.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = heard.said.drain(..=end).collect();
            self.line(&line);
        }
        // An overlong line is shown in parts.
        if heard.said.len() >= ASIDE_BYTES {
            let line = std::mem::take(&mut heard.said);
            self.line(&line);
        }
    }

    fn stray(&self, line: &[u8]) {
        if is_payload(line, &self.listener.returns) {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.bare.get_or_insert_with(|| line.trim_ascii().to_vec());
        }
    }

    fn ended(&self, how: &str, forced: bool) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.ends.push((how.to_owned(), forced));
    }
}

/// Whether a line is a payload, or begins one that the listener may answer with.
fn is_payload(line: &[u8], returns: &[Element]) -> bool {
    if Payload::read(line, &Limits::default()).is_ok() {
        return true;
    }
    let line = String::from_utf8_lossy(line);
    let Some(tag) = line.trim_start().strip_prefix('<') else { return false };
    let name = tag.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).next().unwrap_or_default();
    let local = name.split_once(':').map_or(name, |(_, local)| local);
    returns.iter().any(|element| *element.name.local == *local)
}

/// How to send a bare payload: two ways, the second with the line itself.
fn wrapping(listener: &Listener, bare: &[u8]) -> [String; 2] {
    let short = Payload::read(bare, &Limits::default()).is_ok() && bare.len() <= EXAMPLE_BYTES;
    let item = if short { String::from_utf8_lossy(bare).into_owned() } else { "…".to_owned() };
    let namespace = namespaces::LISTENER;
    let reply = format!("<reply xmlns=\"{namespace}\" delivery=\"…\">{item}</reply>");
    let once = ["`mode: once` at listeners.", listener.name.as_str(), ", or --once for a program"];
    [once.concat(), format!("{reply}, with the delivery of the request's <stamp>")]
}

/// Shows the result, and returns its exit.
pub(super) fn show(screen: Screen, tried: &Tried, ear: &Ear) -> Exit {
    let heard = ear.finish();
    if screen.json {
        screen.value(&as_json(tried, &heard, &ear.listener));
    } else {
        tried.before.iter().for_each(|remark| say_remark(screen, remark));
        say_end(screen, tried);
        if let Some([once, reply]) = heard.wrapping(&ear.listener, tried) {
            screen.say(
                "bare      a payload was printed as it is; a program that stays wraps its items in a reply",
            );
            screen.say(format!("  try: {once}"));
            screen.say(format!("  or: {reply}"));
        }
        say_program(screen, tried, &heard);
    }
    if tried.is_well() { Exit::Done } else { Exit::Failed }
}

fn say_refusal(screen: Screen, refusal: &refusal::Refusal) {
    refused::say(screen, &Refusal::from(refusal));
}

fn say_remark(screen: Screen, remark: &Remark) {
    match remark {
        Remark::Progress(words) => screen.say(format!("progress  {words}")),
        Remark::Notice(code, words) => screen.say(format!("notice    {code}: {words}")),
        Remark::Journal(None) => screen.say("journal   an entry, answered as on disk; a trial keeps none"),
        Remark::Ask(None) => {
            screen.say("ask       a question, answered with route.unavailable: a trial has no log")
        }
        Remark::FalseSender(name) => {
            screen.say(format!("notice    reply.false-sender: an item says it is from {name}"));
        }
        Remark::Journal(Some(refusal)) | Remark::Ask(Some(refusal)) | Remark::Stray(refusal) => {
            say_refusal(screen, refusal);
        }
    }
}

fn say_end(screen: Screen, tried: &Tried) {
    let (verdicts, silent) = match &tried.end {
        End::Reply(verdicts) => (verdicts, None),
        End::Silent(verdicts, refusal) => (verdicts, Some(refusal)),
        End::Failure(code, retry, words) => {
            let again = if *retry { ", and says that trying again may help" } else { "" };
            return screen.say(format!("failure   {code}{again}: {words}"));
        }
        End::Again(code, words) => {
            return screen.say(format!("again     {code}: {words}"));
        }
        End::Gone(code, words) => {
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
        None if tried.goes_on && !verdicts.iter().any(|v| matches!(v.case, Case::Final)) => {
            screen.say("goes on   its next turn would get the answers; a trial ends here");
        }
        None => {}
    }
}

fn say_verdict(screen: Screen, n: usize, verdict: &Verdict) {
    let payload = verdict.payload.as_deref().map(String::from_utf8_lossy);
    let number = n.to_string();
    let words = match &verdict.case {
        Case::Refused(refusal) => {
            if let Some(payload) = payload {
                screen.show(&payload);
            }
            screen.say(format!("item {number}    refused"));
            return say_refusal(screen, refusal);
        }
        Case::Final => "the answer".to_owned(),
        Case::Note => "a note, kept in its own call".to_owned(),
        Case::ForPump => "for the pump, which answers it".to_owned(),
        Case::ForThread(thread) => format!("for the thread {thread}, if that is its own child"),
        Case::Call(peers) => {
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

fn say_program(screen: Screen, tried: &Tried, heard: &Heard) {
    if tried.late > 0 {
        let documents = if tried.late == 1 { " document" } else { " documents" };
        let words = " came after the reply, when the delivery was over: reply.stale-lease";
        screen.say(format!("late      {}{documents}{words}", tried.late));
    }
    screen.say(format!("took      {}", stretch(tried.took_ms)));
    for (how, forced) in &heard.ends {
        let words = if *forced && matches!(tried.end, End::Reply(_) | End::Silent(..)) {
            "; it did not end when its stdin did, as a program must"
        } else {
            ""
        };
        screen.say(format!("program   {how}{words}"));
    }
}

/// A duration, exact if it is short: a trial may be run to measure a listener's speed.
fn stretch(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { spoken(ms) }
}

fn as_json(tried: &Tried, heard: &Heard, listener: &Listener) -> Value {
    let refusal = |refusal: &refusal::Refusal| json!(Refusal::from(refusal));
    let before: Vec<Value> = tried
        .before
        .iter()
        .map(|remark| match remark {
            Remark::Progress(words) => json!({"progress": words}),
            Remark::Notice(code, words) => json!({"notice": code, "words": words}),
            Remark::Journal(refused) => {
                json!({"journal": refused.is_none(), "refusal": refused.as_ref().map(refusal)})
            }
            Remark::Ask(refused) => {
                json!({"ask": refused.is_none(), "refusal": refused.as_ref().map(refusal)})
            }
            Remark::Stray(refused) => json!({"refusal": refusal(refused)}),
            Remark::FalseSender(name) => json!({"false_sender": name}),
        })
        .collect();
    let items = |verdicts: &[Verdict]| -> Vec<Value> {
        let item = |verdict: &Verdict| {
            let (case, more) = case_json(&verdict.case);
            let payload = verdict.payload.as_deref().map(String::from_utf8_lossy);
            json!({"payload": payload, "case": case, "of": more, "needs_person": verdict.needs_person})
        };
        verdicts.iter().map(item).collect()
    };
    let end = match &tried.end {
        End::Reply(verdicts) => json!({"reply": items(verdicts)}),
        End::Silent(verdicts, refused) => json!({"reply": items(verdicts), "refusal": refusal(refused)}),
        End::Failure(code, retry, words) => json!({"failure": code, "retry": retry, "words": words}),
        End::Again(code, words) => json!({"again": code, "words": words}),
        End::Gone(code, words) => json!({"gone": code.as_str(), "words": words}),
    };
    let ends: Vec<Value> =
        heard.ends.iter().map(|(how, forced)| json!({"ended": how, "forced": forced})).collect();
    json!({
        "well": tried.is_well(), "before": before, "end": end, "late": tried.late, "took_ms": tried.took_ms,
        "stderr": String::from_utf8_lossy(&heard.said), "program": ends,
        "try": heard.wrapping(listener, tried),
    })
}

fn case_json(case: &Case) -> (&'static str, Value) {
    match case {
        Case::Note => ("note", Value::Null),
        Case::Final => ("final", Value::Null),
        Case::Call(peers) => ("call", json!(peers.iter().map(|peer| peer.as_str()).collect::<Vec<_>>())),
        Case::ForPump => ("pump", Value::Null),
        Case::ForThread(thread) => ("thread", json!(thread)),
        Case::Refused(refused) => ("refused", json!(Refusal::from(&**refused))),
    }
}
