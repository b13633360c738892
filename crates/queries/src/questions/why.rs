//! `why`: what a thread waits for, or everything that waits.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::anew;
use crate::arguments;
use crate::finding::NotFound;
use crate::pauses::ThreadPause;
use crate::posts::DueCalls;
use crate::query::{
    ArgumentMistake, DrawnAnswer, Flag, Query, QueryFace, QueryFault, QueryMoment, QueryPage, QueryRoute,
    TypedThread,
};
use crate::runs::WorkflowRuns;
use crate::thread_end::ThreadStatus;
use crate::why::{
    Asker, CallWait, ListedWait, ThreadWaits, as_json, in_lines, list_broken, report, wait_json, waits,
};
use systole_core::types::ids::ThreadId;
use systole_core::types::time::Millis;
use systole_show::blocks::Block;
use systole_show::columns::width;
use systole_show::layout;

arguments! {
    /// Which thread, or all.
    pub struct WhyArguments {
        thread as FreeSubject: TypedThread => "The thread: its id, its beginning, or @last; none: all at work",
        all as WithSubject: Flag => "Show each call that a failure went through",
    }
}

impl WhyArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        Ok(())
    }
}

/// The question.
pub enum WhyQuery {}

impl Query for WhyQuery {
    const NAME: &'static str = "why";
    const ABOUT: &'static str = "Say what a thread waits for";
    const EXAMPLES: &'static [&'static str] =
        &["systole why", "systole why @last", "systole why @last --at 120"];
    const ROUTES: &'static [QueryRoute] = &[
        QueryRoute { path: "/v1/why", fields: &[] },
        QueryRoute { path: "/v1/threads/{thread}/why", fields: &[] },
    ];
    const PAGE: Option<QueryPage> = None;
    const LACKS: &'static [(QueryFace, &'static str)] =
        &[(QueryFace::Page, "the first page lists what waits, and the page of a thread says why it does")];
    type Arguments = WhyArguments;
    type Answer = DrawnAnswer;

    fn read(moment: &dyn QueryMoment, asked: &WhyArguments) -> Result<DrawnAnswer, QueryFault> {
        match &asked.thread {
            Some(thread) => read_thread(moment, thread, asked.all.is_some()),
            None => read_all(moment),
        }
    }

    fn blocks(answer: &DrawnAnswer) -> Vec<Block> {
        answer.blocks()
    }
}

fn read_thread(moment: &dyn QueryMoment, id: &ThreadId, all: bool) -> Result<DrawnAnswer, QueryFault> {
    let (log, state, now) = (moment.log(), moment.state()?, moment.now());
    let unfound = || QueryFault::Unfound(NotFound::None(id.to_string()));
    let thread = state.thread(log, id)?.ok_or_else(unfound)?;
    let mut found = ThreadWaits::of(log, &state, &DueCalls::at(&state, now), &thread)?;
    found.name_goals(&WorkflowRuns::new(log, &state, moment.steps()))?;
    found.links.source = anew::find_source(log, id)?;
    if matches!(found.status(), ThreadStatus::Failed | ThreadStatus::Cancelled) {
        found.links.sent = moment.sent_anew(id)?;
    }
    let found = [found];
    let notes = moment.list_notes(&list_awaited(&found));
    let [found] = &found;
    let asker = Asker { now, start: moment.start(), all };
    Ok(DrawnAnswer { value: as_json(found, state.running, now), lines: report(found, &asker), notes })
}

fn read_all(moment: &dyn QueryMoment) -> Result<DrawnAnswer, QueryFault> {
    let (log, state, now) = (moment.log(), moment.state()?, moment.now());
    let (posts, runs) = (DueCalls::at(&state, now), WorkflowRuns::new(log, &state, moment.steps()));
    let mut threads = Vec::new();
    for thread in state.waiting() {
        let mut found = ThreadWaits::of(log, &state, &posts, thread)?;
        found.name_goals(&runs)?;
        threads.push(found);
    }
    let (waits, paused, alarms) = (waits(&threads, now), state.all_paused(log)?, moment.alarms());
    let listed: Vec<Value> = waits.iter().map(|wait| wait_json(wait, now)).collect();
    let paused_json = paused.as_ref().map(ThreadPause::as_json);
    let mut value = json!({"running": state.running, "paused": paused_json, "waits": listed});
    let is_quiet = waits.is_empty() && alarms.as_ref().is_none_or(Vec::is_empty);
    if let (Some(fields), Some(alarms)) = (value.as_object_mut(), alarms) {
        fields.insert("alarms".to_owned(), alarms.into());
    }
    let nothing = "nothing waits; systole ps lists the threads that rest or have ended".to_owned();
    let notes = is_quiet.then_some(nothing).into_iter().chain(paused.map(|pause| pause.of_everything(now)));
    let still = moment.still_note().filter(|_| !waits.is_empty());
    let notes = notes.chain(moment.list_notes(&list_awaited(&threads))).chain(still).collect();
    Ok(DrawnAnswer { value, lines: list_lines(&waits, now), notes })
}

/// The list in columns, or broken if it is too wide.
fn list_lines(waits: &[ListedWait], now: Millis) -> Vec<String> {
    let lines = in_lines(waits, now);
    if lines.iter().any(|line| width(line) > layout::columns()) { list_broken(waits, now) } else { lines }
}

/// The listeners whose work is waited for.
fn list_awaited(threads: &[ThreadWaits]) -> BTreeSet<&str> {
    let leaves = threads.iter().flat_map(ThreadWaits::leaves);
    let out = leaves.filter(|leaf| {
        matches!(
            leaf.cause,
            CallWait::Out { .. } | CallWait::Away { .. } | CallWait::Queued { .. } | CallWait::BackOff { .. }
        )
    });
    out.map(|leaf| leaf.listener.as_str()).collect()
}
