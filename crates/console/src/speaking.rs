//! The calls of a thread and of those below it that are out with their listeners, and what each says now: the words of
//! its model, or what its program reports.
//!
//! A thread at a moment comes in; its calls go out. Words are shown while the log has their attempt as the due one: then
//! its record takes their place. The organism keeps them, so a page that is opened late shows them too.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};
use systole_kit::writer::make_visible;

use super::clocked::ClockedText;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::shorten::encode_part;
use crate::limits;
use systole_core::types::ids::{AttemptId, Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_hall::log_view::LogMoment;
use systole_organism::live_words::CallWords;
use systole_queries::log_state::LogState;
use systole_queries::posts::{DueCallState, DueCalls};

/// A call that is out.
pub(super) struct SpeakingCall {
    listener: Name,
    id: AttemptId,
    /// The record of its request.
    request: u64,
    since: Millis,
    words: String,
    /// Whether it said more before these words.
    is_cut: bool,
}

/// The calls that are shown, and how many more there are.
#[derive(Default)]
pub(super) struct SpeakingCalls {
    calls: Vec<SpeakingCall>,
    more: usize,
    now: Millis,
}

impl SpeakingCalls {
    /// The calls of a thread now. Of the past, and of a log without an organism, there are none.
    pub(super) fn read(
        moment: &LogMoment,
        whole: &LogState,
        posts: &DueCalls,
        id: &ThreadId,
    ) -> SpeakingCalls {
        let now = moment.now;
        if moment.at.is_some() || moment.front.at_rest().is_some() {
            return SpeakingCalls { now, ..SpeakingCalls::default() };
        }
        let said = moment.front.live_words(id).into_iter();
        let said: HashMap<AttemptId, CallWords> = said.map(|words| (words.id.clone(), words)).collect();
        let mut calls = Vec::new();
        for thread in whole.working().into_iter().filter(|thread| thread.id.is_within(id)) {
            for (path, call) in &thread.calls {
                let Some(DueCallState::Out { since }) = posts.of(&thread.id, path) else { continue };
                let (turn, attempt) = (call.settled + 1, call.attempts.max(1));
                let id = AttemptId { thread: thread.id.clone(), call: path.clone(), turn, attempt };
                let (text, is_cut) = said.get(&id).map_or(("", false), CallWords::read_end);
                calls.push(SpeakingCall {
                    listener: call.listener.clone(),
                    request: call.request,
                    since: call.taken.unwrap_or(*since),
                    words: make_visible(text).into_owned(),
                    is_cut,
                    id,
                });
            }
        }
        // Of many, those that say something.
        calls.sort_by_key(|call| call.words.is_empty());
        let more = calls.len().saturating_sub(limits::SPEAKING);
        calls.truncate(limits::SPEAKING);
        SpeakingCalls { calls, more, now }
    }

    fn as_json(&self) -> Vec<Value> {
        let one = |call: &SpeakingCall| {
            json!({"thread": call.id.thread.as_str(), "call": call.id.call.as_str(), "turn": call.id.turn,
                "attempt": call.id.attempt, "listener": call.listener.as_str(), "since": call.since.to_string(),
                "words": call.words, "is_cut": call.is_cut})
        };
        self.calls.iter().map(one).collect()
    }

    /// Those that are shown, for a page of a thread.
    pub(super) fn into_lines(self, frame: &Frame) -> SpeakingLines {
        let now = self.now;
        let line = |call: SpeakingCall| {
            let AttemptId { thread, call: path, turn, attempt } = &call.id;
            let seq = call.request;
            SpeakingLine {
                place: format!("speaks-{thread}-{path}"),
                attempt: format!("{turn}-{attempt}"),
                href: frame.record(&encode_part(thread.as_str()), &seq),
                thread: thread.to_string(),
                listener: call.listener.to_string(),
                tries: if *attempt > 1 { format!("attempt {attempt}") } else { String::new() },
                since: ClockedText::since(call.since, now),
                words: call.words,
                is_cut: call.is_cut,
            }
        };
        SpeakingLines { lines: self.calls.into_iter().map(line).collect(), more: self.more }
    }
}

/// A call that is out, on a page.
pub(super) struct SpeakingLine {
    /// Its id on the page.
    pub(super) place: String,
    /// Its turn and attempt.
    pub(super) attempt: String,
    pub(super) href: String,
    pub(super) thread: String,
    pub(super) listener: String,
    /// Which attempt it is, unless it is the first.
    pub(super) tries: String,
    pub(super) since: ClockedText,
    pub(super) words: String,
    pub(super) is_cut: bool,
}

/// The calls on a page, and how many more there are.
pub(super) struct SpeakingLines {
    pub(super) lines: Vec<SpeakingLine>,
    pub(super) more: usize,
}

/// The calls alone, for a page that is open.
#[derive(Template)]
#[template(path = "words.html")]
struct WordsPage {
    id: String,
    name: String,
    root: String,
    speaking: SpeakingLines,
}

/// Shows what the calls of a thread say now.
pub(super) async fn answer_words(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    let id = asked.thread()?;
    let wanted = id.clone();
    let read = move |moment: &LogMoment| -> Result<Option<SpeakingCalls>, LogFault> {
        if moment.reader.of_thread(&wanted, 1, 1)?.is_empty() {
            return Ok(None);
        }
        let whole = moment.read_state()?;
        let posts = DueCalls::at(&whole, moment.now);
        Ok(Some(SpeakingCalls::read(moment, &whole, &posts, &wanted)))
    };
    let found = asked.read(read).await?.ok_or_else(unknown_thread)?;
    if !asked.is_html {
        return Ok(asked.json(&json!({"thread": id.as_str(), "calls": found.as_json(), "more": found.more})));
    }
    let speaking = found.into_lines(&asked.frame(PageTab::Threads, "Words"));
    let (name, root) = (id.to_string(), id.root_of().to_string());
    Ok(render_page(&WordsPage { id: encode_part(id.as_str()), name, root, speaking }))
}
