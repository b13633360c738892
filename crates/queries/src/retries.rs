//! What a retry of a failed root would do: the turn that goes out again, or what a run of a workflow starts again, what of
//! that was paid already, and what may have had effects outside.
//!
//! A log and the organism's configurations come in; a preview goes out. It decides nothing: the pump does, about the
//! thread as it stood at the preview.

use std::collections::HashMap;
use std::sync::Arc;

use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::anew::SentAnew;
use super::log_state::ReadSource;
use super::runs::{Key, Notes, ReadStep};
use crate::limits;
use systole_core::pump::reopening::{find_due, find_unknown_effect, has_effects};
use systole_core::pump::state::{Call, FailedCall, Thread};
use systole_core::pump::wake;
use systole_core::rules::core_payload;
use systole_core::types::budget::{MoneySpent, UsedAmounts};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, OnUnknown};
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{ApprovalEffect, MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::refusal::Refusal;

/// What a retry would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryPreview {
    /// The root.
    pub thread: ThreadId,
    /// The head of its chain.
    pub head: Digest,
    /// Its last record.
    pub seq: u64,
    /// The end of the log as it was read.
    pub position: Position,
    /// The call that failed.
    pub call: CallPath,
    /// The listener of that call.
    pub listener: Name,
    /// The turn that goes out again.
    pub turn: u32,
    /// How often it was tried again before.
    pub retries: u32,
    /// The code of what failed first.
    pub code: String,
    /// Whether it is a run of a workflow.
    pub is_workflow: bool,
    /// Whether the run keeps the steps that it began with, because the current configuration has others.
    pub keeps_steps: bool,
    /// What the run starts again.
    pub starts: Vec<RetriedPart>,
    /// What may have had effects outside: the turn that goes out again, and calls that what is started again made already.
    pub effects: Vec<String>,
    /// The steps of the workflow in the configuration of the call.
    pub steps: Option<Arc<str>>,
}

/// A part of a run that is started again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetriedPart {
    /// The step, with its pass, item and agent.
    pub key: String,
    /// The thread that did it.
    pub thread: Option<ThreadId>,
    /// Whether it was cancelled beside the failure.
    pub is_cancelled: bool,
    /// What its models used, which is paid again.
    pub used: UsedAmounts,
}

/// Previews a retry under the current configuration, of a root whose request was `sent` anew so far. `None` if there is
/// no such thread; a refusal if the pump would not carry it out, or if the request of the call was sent anew.
///
/// # Errors
/// If the log cannot be read.
pub fn preview_retry(
    reader: &dyn LogReader,
    (current, read): (&Composition, ReadSource<'_>),
    step: ReadStep<'_>,
    (id, sent): (&ThreadId, &[SentAnew]),
) -> Result<Option<Result<RetryPreview, Refusal>>, LogFault> {
    // Read before the thread, which may be newer.
    let position = reader.read_last()?;
    let Some(thread) = wake::wake_thread(reader, id)?.filter(|_| !id.is_sys()) else { return Ok(None) };
    let turns = |name: &Name| current.find_listener(name).map(|listener| listener.turns);
    let (failed, call) = match find_due(&thread, turns) {
        Ok(found) => found,
        Err(refusal) => return Ok(Some(Err(refusal))),
    };
    if let Some(SentAnew { thread, .. }) = sent.iter().rfind(|one| one.end == failed.outcome) {
        let refusal = Refusal::new(Code::RetrySuperseded, format!("its request was sent anew, as {thread}"));
        return Ok(Some(Err(refusal.fixed_by(format!("systole why {thread}")))));
    }
    let mut pages = ConfigurationPages::new(reader, read);
    let page = pages.open(call.config)?;
    let before = page.as_deref().and_then(|page| page.find_listener(&call.listener));
    let versions = current.find_listener(&call.listener).into_iter().chain(before);
    let own = find_unknown_effect(failed, call, versions);
    let section = page.as_ref().and_then(|page| page.sections.get(&call.listener)).cloned();
    let section = section.filter(|section| section.is_workflow());
    let mut preview = describe_call((&thread, position), failed, call);
    preview.effects.extend(own);
    if let Some(section) = &section {
        preview.is_workflow = true;
        let now = current.sections.get(&call.listener).filter(|now| now.is_workflow());
        preview.keeps_steps = now.is_none_or(|now| now.steps() != section.steps());
        preview.steps = Some(Arc::from(section.steps()));
        let keeps = |key: &str| step(section, &name_step(key)).is_some_and(|step| step.keeps_failure);
        preview.starts = list_started(&Notes::read(reader, id)?, &failed.path, keeps);
        for part in &mut preview.starts {
            if let Some(child) = &part.thread {
                let mut below = WorkBelow::default();
                below.read_tree(&mut pages, child, None)?;
                part.used = below.used;
                preview.effects.append(&mut below.effects);
            }
        }
        name_first(&mut preview.effects);
    }
    Ok(Some(Ok(preview)))
}

/// Names only the first of many effects, and says how many more there are.
pub(super) fn name_first(effects: &mut Vec<String>) {
    let more = effects.len().saturating_sub(limits::EFFECTS_NAMED);
    if more > 0 {
        effects.truncate(limits::EFFECTS_NAMED);
        effects.push(format!("and {more} more"));
    }
}

fn describe_call((thread, position): (&Thread, Position), failed: &FailedCall, call: &Call) -> RetryPreview {
    RetryPreview {
        thread: thread.id.clone(),
        head: thread.head,
        seq: thread.seq,
        position,
        call: failed.path.clone(),
        listener: call.listener.clone(),
        turn: call.settled + 1,
        retries: call.retries,
        code: failed.first_code.clone(),
        is_workflow: false,
        keeps_steps: false,
        starts: Vec::new(),
        effects: Vec::new(),
        steps: None,
    }
}

/// The step of the key of something that was started. The parts of a supervised goal have keys around that of the goal.
pub fn name_step(key: &str) -> String {
    let Key { step, .. } = Key::of(key);
    let step = step.strip_suffix(":2").unwrap_or(&step);
    step.rsplit(':').next().unwrap_or(step).to_owned()
}

/// What a run starts again: the last try of each thing that failed or was cancelled, unless its failure is kept.
fn list_started(notes: &Notes, call: &CallPath, keeps: impl Fn(&str) -> bool) -> Vec<RetriedPart> {
    let started = notes.started.iter().filter(|one| one.call == *call && !one.is_pause);
    let mut last: Vec<&super::runs::Started> = Vec::new();
    for one in started {
        last.retain(|before| before.key != one.key);
        last.push(one);
    }
    let again = last.into_iter().filter(|one| one.child.is_some() && one.came == Some(false));
    let again = again.filter(|one| one.is_cancelled || !keeps(&one.key));
    let part = |one: &super::runs::Started| RetriedPart {
        key: one.key.clone(),
        thread: one.child.clone(),
        is_cancelled: one.is_cancelled,
        used: UsedAmounts::default(),
    };
    again.map(part).collect()
}

/// Configurations of a log, read once.
pub(super) struct ConfigurationPages<'a> {
    reader: &'a dyn LogReader,
    read: ReadSource<'a>,
    pages: HashMap<Digest, Option<Arc<Composition>>>,
}

impl<'a> ConfigurationPages<'a> {
    pub(super) fn new(reader: &'a dyn LogReader, read: ReadSource<'a>) -> ConfigurationPages<'a> {
        ConfigurationPages { reader, read, pages: HashMap::new() }
    }

    /// A configuration; `None` if the log does not hold it, or it cannot be read.
    fn open(&mut self, hash: Digest) -> Result<Option<Arc<Composition>>, LogFault> {
        if let Some(page) = self.pages.get(&hash) {
            return Ok(page.clone());
        }
        let source = self.reader.intact_document(hash)?;
        let page = source.and_then(|source| (self.read)(&source).ok()).map(Arc::new);
        self.pages.insert(hash, page.clone());
        Ok(page)
    }
}

/// What a thread and the threads below it did.
#[derive(Default)]
pub(super) struct WorkBelow {
    pub(super) used: UsedAmounts,
    pub(super) effects: Vec<String>,
}

/// A call that may have effects outside.
struct EffectiveCall {
    listener: Name,
    element: String,
    /// Whether a person approves every call with effects.
    is_approved_first: bool,
}

impl WorkBelow {
    /// Adds what a thread did: all of it, or what one of its top calls did.
    pub(super) fn read_tree(
        &mut self,
        pages: &mut ConfigurationPages<'_>,
        thread: &ThreadId,
        top: Option<u32>,
    ) -> Result<(), LogFault> {
        let mut calls: HashMap<CallPath, EffectiveCall> = HashMap::new();
        let mut children = Vec::new();
        for placed in pages.reader.records_of(thread, 1) {
            let (_, record) = placed?;
            let h = &record.header;
            if top.is_some() && h.call.as_ref().map(CallPath::top_number) != top {
                continue;
            }
            if let Some((path, call)) = find_call(pages, &record)? {
                calls.insert(path, call);
            }
            children.extend(core_payload::spawned_child(&record.body));
            if h.kind == RecordKind::Journal {
                self.add_use(&record.body);
            }
            if let Some(path) = h.call.as_ref().filter(|path| has_gone_out(&record, calls.get(*path)))
                && let Some(EffectiveCall { listener, element, .. }) = calls.remove(path)
            {
                self.effects.push(format!("{listener} in {thread}: <{element}>"));
            }
        }
        children.iter().try_for_each(|child| self.read_tree(pages, child, None))
    }

    fn add_use(&mut self, body: &[u8]) {
        let Ok(EarlierEntry { entry: JournalEntry::Result(outcome), .. }) = EarlierEntry::from_body(body)
        else {
            return;
        };
        let (tokens, spent) = (outcome.count_tokens().unwrap_or(0), MoneySpent::from_money(outcome.money));
        self.used = self.used.sum_with(UsedAmounts { tokens, spent, ..UsedAmounts::NOTHING });
    }
}

/// The call that a record opens, if its listener may have effects outside.
fn find_call(
    pages: &mut ConfigurationPages<'_>,
    record: &Record,
) -> Result<Option<(CallPath, EffectiveCall)>, LogFault> {
    let h = &record.header;
    let path = match h.code {
        Some(RecordCode::Role(
            MessageRole::Request | MessageRole::Begin | MessageRole::ToAll | MessageRole::ToFirst,
        )) => h.call.clone(),
        Some(RecordCode::Role(MessageRole::Call)) => {
            h.call.as_ref().zip(h.turn).zip(h.ordinal).map(|((call, turn), at)| call.append_item(turn, at))
        }
        _ => None,
    };
    let (Some(path), Some(listener)) = (path, h.to.clone()) else { return Ok(None) };
    let Some(page) = pages.open(h.config)? else { return Ok(None) };
    let Some(own) = page.find_listener(&listener).filter(|own| has_effects(own)) else { return Ok(None) };
    // A tool of an MCP server that changes something waits for a person; the others only read.
    let is_mcp = page.sections.get(&listener).is_some_and(|section| section.has_key("mcp"));
    let is_approved_first = is_mcp || own.on_unknown == OnUnknown::Retry;
    let element = super::glance::glance(&record.body).element;
    Ok(Some((path, EffectiveCall { listener, element, is_approved_first })))
}

/// Whether a record of a call says that it went out to its listener.
fn has_gone_out(record: &Record, call: Option<&EffectiveCall>) -> bool {
    let Some(call) = call else { return false };
    match (record.header.kind, record.header.code) {
        (RecordKind::Approval, Some(RecordCode::Approving(what))) => {
            matches!(what, ApprovalEffect::Approved | ApprovalEffect::Amended)
        }
        (RecordKind::Attempt, _) => !call.is_approved_first,
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => !call.is_approved_first,
        _ => false,
    }
}
