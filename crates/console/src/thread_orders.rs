//! One order for all threads that the list shows: a preview names them, and the order then goes to exactly these, one
//! after another. A thread that changed since the preview is reported and left as it is.
//!
//! A filter, and then the form of its preview, come in; orders under the client's name go to the organism, which
//! decides about each of them. The outcome for each thread goes out.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::changes::ChangeForm;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{begin_with_capital, encode_part, shorten_text};
use super::threads::{list_address, may_order, read_part};
use crate::limits::{self, ENTRIES};
use systole_api::retry_types::RetryShown;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use systole_hall::steering::check_note;
use systole_organism::front::OrganismHandle;
use systole_organism::order::RetryRequest;
use systole_organism::waiting::SenderReply;
use systole_queries::thread_end::ThreadStatus;
use systole_queries::thread_list::ListedThread;
use systole_queries::thread_roll::{self, ThreadEntry};

/// An order that can be given to many threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadOrder {
    Pause,
    Resume,
    Retry,
    Cancel,
    End,
}

impl ThreadOrder {
    const WORDS: [&'static str; 5] = ["pause", "resume", "retry", "cancel", "end"];

    fn parse(word: &str) -> Option<ThreadOrder> {
        let all = [
            ThreadOrder::Pause,
            ThreadOrder::Resume,
            ThreadOrder::Retry,
            ThreadOrder::Cancel,
            ThreadOrder::End,
        ];
        all.into_iter().find(|order| order.as_str() == word)
    }

    fn as_str(self) -> &'static str {
        match self {
            ThreadOrder::Pause => "pause",
            ThreadOrder::Resume => "resume",
            ThreadOrder::Retry => "retry",
            ThreadOrder::Cancel => "cancel",
            ThreadOrder::End => "end",
        }
    }

    /// What was done to a thread, as a word.
    pub(super) fn describe_done(self) -> &'static str {
        match self {
            ThreadOrder::Pause => "paused",
            ThreadOrder::Resume => "resumed",
            ThreadOrder::Retry => "retried",
            ThreadOrder::Cancel => "cancelled",
            ThreadOrder::End => "ended",
        }
    }

    /// What it does, for the one who gives it.
    fn about(self) -> &'static str {
        match self {
            ThreadOrder::Pause => {
                "Nothing new goes out of these threads until they are resumed. What is out may still be answered."
            }
            ThreadOrder::Resume => "These threads go on where they were paused.",
            ThreadOrder::Retry => {
                "These threads go on where they failed. What was paid is not paid again, unless it says so."
            }
            ThreadOrder::Cancel => {
                "This ends these threads and everything that is open below them. It cannot be undone."
            }
            ThreadOrder::End => "No message can continue these threads afterwards. Their records stay.",
        }
    }

    /// Whether it cannot be undone.
    fn is_final(self) -> bool {
        matches!(self, ThreadOrder::Cancel | ThreadOrder::End)
    }

    /// Whether a note is recorded with it.
    pub(super) fn takes_note(self) -> bool {
        matches!(self, ThreadOrder::Pause | ThreadOrder::Resume | ThreadOrder::Retry)
    }

    /// Whether its page asks for that note.
    fn asks_for_note(self) -> bool {
        matches!(self, ThreadOrder::Pause | ThreadOrder::Retry)
    }

    /// Why it does not fit a thread; nothing if it does.
    fn unfit(self, entry: &ThreadEntry) -> Option<&'static str> {
        let state = entry.order_state();
        let is_own = entry.paused.as_ref().is_some_and(|pause| pause.of == entry.thread);
        match self {
            ThreadOrder::Pause if !matches!(state, "working" | "resting") => {
                Some("only a working or resting thread can be paused")
            }
            ThreadOrder::Resume if state != "paused" => Some("it is not paused"),
            ThreadOrder::Resume if !is_own => {
                Some("everything is paused, not this thread: systole resume --all")
            }
            ThreadOrder::Retry if entry.status != ThreadStatus::Failed => {
                Some("only a thread that failed can be retried")
            }
            ThreadOrder::Cancel if !matches!(state, "working" | "paused") => {
                Some("only a thread with open work can be cancelled")
            }
            ThreadOrder::End if state != "resting" => Some("only a resting thread can be ended"),
            _ => None,
        }
    }

    pub(super) async fn give(
        self,
        front: &OrganismHandle,
        by: &Name,
        (id, note): (&ThreadId, Option<&String>),
        seen: Option<Digest>,
    ) -> Option<SenderReply> {
        let (by, id, note) = (by.clone(), id.clone(), note.cloned());
        match self {
            ThreadOrder::Retry => {
                let request = RetryRequest { by, thread: id, seen, note, allows_effects: false };
                front.retry_thread(request).await
            }
            ThreadOrder::Pause => front.pause_or_continue(by, Some(id), true, note).await,
            ThreadOrder::Resume => front.pause_or_continue(by, Some(id), false, note).await,
            ThreadOrder::Cancel => front.cancel_thread(by, id).await,
            ThreadOrder::End => front.end_thread(by, id).await,
        }
    }
}

/// What an order to a thread depends on, as `ThreadEntry::order_state` says it.
const ORDER_STATES: [&str; 4] = ["working", "resting", "paused", "ended"];

/// A thread of the preview or of the outcome.
struct OrderRow {
    id: String,
    href: String,
    state: &'static str,
    /// What the order depends on.
    order_state: &'static str,
    /// The head of its chain, if the order is for a thread that has not gone on since.
    seen: Option<String>,
    /// The reason, or the outcome.
    words: String,
    is_done: bool,
}

#[derive(Template)]
#[template(path = "thread_orders.html")]
struct OrdersPage {
    frame: Frame,
    order: ThreadOrder,
    /// Whether it was given.
    is_given: bool,
    rows: Vec<OrderRow>,
    /// The threads that the order does not fit.
    left: Vec<OrderRow>,
    commands: String,
    back: String,
    has_more: bool,
}

/// Shows which threads an order would be given to.
pub(super) async fn preview_order(asked: &PageRequest) -> Result<Response, Refusal> {
    let word = asked.one_of("order", &ThreadOrder::WORDS)?;
    let order = word.and_then(ThreadOrder::parse).ok_or_else(no_order)?;
    if asked.at.is_some() {
        return Err(describe_unfit_address("order= and at=: the past cannot be changed"));
    }
    let (part, _) = read_part(asked, &["order"]).await?;
    let mut judged = Vec::new();
    for listed in part.threads {
        let fit = judge_thread(asked, order, &listed).await;
        judged.push((listed.entry, fit));
    }
    if !asked.is_html {
        let threads = judged.iter().map(|(entry, fit)| {
            let (unfit, seen) = (fit.as_ref().err(), fit.as_ref().ok().and_then(|fit| fit.seen.as_ref()));
            json!({"thread": entry.thread.as_str(), "state": entry.state(), "unfit": unfit, "seen": seen})
        });
        let threads: Vec<Value> = threads.collect();
        return Ok(asked.json(&json!({"order": order.as_str(), "threads": threads})));
    }
    let title = format!("{} all that are shown?", begin_with_capital(order.as_str()));
    let command = format!("systole {} THREAD", order.as_str());
    let frame = asked.frame(PageTab::Threads, &title).with_command(command);
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    for (entry, fit) in &judged {
        let (to, words, seen) = match fit {
            Ok(fit) => (&mut rows, &fit.words, fit.seen.clone()),
            Err(why) => (&mut left, why, None),
        };
        to.push(OrderRow {
            id: entry.thread.to_string(),
            href: address_of(&entry.thread),
            state: entry.state(),
            order_state: entry.order_state(),
            seen,
            words: shorten_text(words, limits::WORDS),
            is_done: false,
        });
    }
    let commands: Vec<String> =
        rows.iter().map(|row| format!("systole {} {}", order.as_str(), row.id)).collect();
    Ok(render_page(&OrdersPage {
        order,
        is_given: false,
        commands: commands.join("\n"),
        back: list_address(asked, asked.value("after")),
        has_more: part.next.is_some(),
        rows,
        left,
        frame,
    }))
}

/// What an order does to a thread.
struct ThreadFit {
    words: String,
    /// The head of the thread's chain, if the order is for no other.
    seen: Option<String>,
}

/// What an order does to a thread, or why it does not fit.
async fn judge_thread(
    asked: &PageRequest,
    order: ThreadOrder,
    listed: &ListedThread,
) -> Result<ThreadFit, String> {
    let entry = &listed.entry;
    if !may_order(asked, listed) {
        return Err("it is another client's: orders to it are for clients with the role `operate`".to_owned());
    }
    if let Some(why) = order.unfit(entry) {
        return Err(why.to_owned());
    }
    if order != ThreadOrder::Retry {
        return Ok(ThreadFit { words: entry.describe_entry(), seen: None });
    }
    let preview = asked.state.front.preview_retry(&asked.client, &entry.thread).await;
    let shown = RetryShown::from(preview.map_err(|refusal| refusal.message.to_string())?);
    if !shown.effects.is_empty() {
        return Err("effects outside could happen twice; its own page says which".to_owned());
    }
    let lines = shown.describe_preview();
    let lines: Vec<&str> = lines.iter().skip(1).map(|line| line.trim()).collect();
    Ok(ThreadFit { words: format!("{}; {}", shown.code, lines.join("; ")), seen: Some(shown.seen) })
}

/// A thread of a form: its state in the preview, and the head of its chain there.
struct PreviewedThread {
    id: ThreadId,
    state: &'static str,
    seen: Option<Digest>,
}

fn no_order() -> Refusal {
    describe_unfit_request(format!("order is missing: it is one of {}", ThreadOrder::WORDS.join(", ")))
}

fn address_of(id: &ThreadId) -> String {
    format!("/t/{}", encode_part(id.as_str()))
}

/// The threads of a form, each as it was in the preview.
fn previewed_threads(form: &ChangeForm) -> Result<Vec<PreviewedThread>, Refusal> {
    let wanted = form.fields().iter().filter(|(name, _)| name == "thread");
    let threads = wanted.map(|(_, value)| {
        let (state, rest) = value.split_once(' ').unwrap_or(("", value));
        let (id, seen) = rest.split_once(' ').map_or((rest, None), |(id, seen)| (id, Some(seen)));
        let seen = seen.map(Digest::parse).transpose();
        let seen = seen.map_err(|malformed| describe_unfit_request(format!("thread: {malformed}")))?;
        let id = ThreadId::parse(id)
            .map_err(|malformed| describe_unfit_request(format!("thread: {malformed}")))?;
        let state = ORDER_STATES.into_iter().find(|known| *known == state);
        let state = state
            .ok_or_else(|| describe_unfit_request("thread: it is a state and an id, as of the preview"))?;
        Ok(PreviewedThread { id, state, seen })
    });
    let threads: Vec<_> = threads.collect::<Result<_, Refusal>>()?;
    match threads.len() {
        0 => Err(describe_unfit_request("thread is missing: the preview names each thread")),
        count if count > ENTRIES => Err(describe_unfit_request(format!(
            "an order goes to {ENTRIES} threads at most, and these are {count}"
        ))),
        _ => Ok(threads),
    }
}

/// Gives an order to the threads of the preview.
pub(super) async fn give_order(form: &ChangeForm) -> Result<Response, Refusal> {
    let order = form.field("order").and_then(ThreadOrder::parse).ok_or_else(no_order)?;
    let note = check_note(form.field("note").map(str::to_owned)).map_err(describe_unfit_request)?;
    let threads = previewed_threads(form)?;
    let wanted: Vec<ThreadId> = threads.iter().map(|one| one.id.clone()).collect();
    let states = form
        .asked
        .read(move |moment| {
            let whole = moment.read_state()?;
            let state = |id| thread_roll::one(&*moment.reader, &whole, moment.now, id);
            wanted.iter().map(state).collect::<Result<Vec<_>, _>>()
        })
        .await?;
    let (front, mut rows) = (&form.asked.state.front, Vec::new());
    for (PreviewedThread { id, state: before, seen }, now) in threads.iter().zip(states) {
        let (is_done, state, words) = match now {
            None => (false, *before, "there is no such thread".to_owned()),
            Some(entry) if entry.order_state() != *before => {
                let words = format!(
                    "it changed after the preview: it was {before} and is {}; left as it is",
                    entry.order_state()
                );
                (false, entry.order_state(), words)
            }
            Some(entry) => match order.unfit(&entry) {
                Some(why) => (false, entry.order_state(), why.to_owned()),
                None => match order.give(front, &form.by, (id, note.as_ref()), *seen).await {
                    Some(SenderReply::Done | SenderReply::Receipt(..)) => {
                        (true, *before, order.describe_done().to_owned())
                    }
                    Some(SenderReply::Refused(refusal)) => (false, *before, refusal.message.to_string()),
                    None => return Err(describe_stopping()),
                },
            },
        };
        let words = shorten_text(&words, limits::WORDS);
        rows.push(OrderRow {
            id: id.to_string(),
            href: address_of(id),
            state,
            order_state: state,
            seen: None,
            words,
            is_done,
        });
    }
    if !form.asked.is_html {
        let results =
            rows.iter().map(|row| json!({"thread": row.id, "done": row.is_done, "words": row.words}));
        let results: Vec<Value> = results.collect();
        return Ok(form
            .asked
            .json(&json!({"order": order.as_str(), "results": results, "by": form.by.as_str()})));
    }
    let done = rows.iter().filter(|row| row.is_done).count();
    let title = format!("{done} of {} threads {}", rows.len(), order.describe_done());
    Ok(render_page(&OrdersPage {
        frame: form.asked.frame(PageTab::Threads, &title).with_command("systole ps"),
        order,
        is_given: true,
        rows,
        left: Vec::new(),
        commands: String::new(),
        back: form.field("back").map_or("/threads", super::signing_in::local).to_owned(),
        has_more: false,
    }))
}
