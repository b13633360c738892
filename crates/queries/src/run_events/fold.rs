//! The events of one run, by the records of its thread and of those below it, and by the words on their way. It reads the
//! records with the fold of the core, so it knows of each call what the pump knows.
//!
//! The same records make the same events with the same numbers in any process. What depends on the words that a client
//! happened to hear has no number of its own: a text of which nothing is left to send keeps its number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use systole_core::pump::fold::apply_to;
use systole_core::pump::state::Thread;
use systole_core::pump::wall::is_working;
use systole_core::rules::outcome::CallJudgement;
use systole_core::rules::todo::read_lists;
use systole_core::types::ids::{CallPath, MessageId, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::Position;
use systole_core::types::primitive::TodoList;
use systole_core::types::record::{JournalEffect, MessageRole, Record, RecordCode, RecordKind, SteerEffect};
use systole_core::types::time::Millis;
use systole_kit::reply::AnswerPart;
use systole_kit::{DocumentLimits, Payload};

use super::cursor::RunCursor;
use super::event::{CallPlace, PlacedEvent, RunEvent, RunRecord, SpokenWords};
use super::open_text::{OpenText, SentText, TextStep};
use crate::costs::CostRow;

/// What one record makes: what goes before, and the numbered events. `None` takes a number and is not sent.
#[derive(Default)]
struct RecordSteps {
    before: Vec<TextStep>,
    numbered: Vec<Option<RunEvent>>,
}

impl RecordSteps {
    fn add(&mut self, event: RunEvent) {
        self.numbered.push(Some(event));
    }
}

/// One run, as far as records were taken.
pub struct RunFold {
    run: CallPlace,
    /// Its thread, and those below that it began.
    threads: BTreeMap<ThreadId, Thread>,
    /// The records that ask for a thread below.
    spawning: BTreeSet<MessageId>,
    /// The calls below it that are open.
    called: BTreeSet<CallPlace>,
    is_open: bool,
    used: CostRow,
    /// The todo lists of the run's own call: the newest one for each condition.
    todo: Vec<TodoList>,
    /// The turn and the attempt in which a model was asked last for the run's own call.
    asked_model: Option<(u32, u32)>,
    text: OpenText,
    /// The last record that made events, and how many.
    last: (Position, u64),
    /// The place that the client has, until it was met. What comes up to it is not sent again.
    known: Option<RunCursor>,
}

impl RunFold {
    /// A run of which the client has nothing, or what the cursor says. Its records come from that of its message on.
    pub fn new(run: CallPlace, known: Option<RunCursor>) -> RunFold {
        RunFold {
            run,
            threads: BTreeMap::new(),
            spawning: BTreeSet::new(),
            called: BTreeSet::new(),
            is_open: false,
            used: CostRow::default(),
            todo: Vec::new(),
            asked_model: None,
            text: OpenText::from_sent(SentText::NOTHING),
            last: (Position::default(), 0),
            known,
        }
    }

    /// Takes the next record of the log, of any thread.
    pub fn take_record(&mut self, position: Position, record: &Arc<Record>) -> Vec<PlacedEvent> {
        let h = &record.header;
        let is_begin = h.code == Some(RecordCode::Role(MessageRole::Begin));
        let is_own = h.thread == self.run.thread
            || self.threads.contains_key(&h.thread)
            || (is_begin && h.cause.is_some_and(|cause| self.spawning.contains(&cause)));
        if !is_own || self.is_lost(position) {
            return Vec::new();
        }
        let (asked, away) = (self.list_asked(&h.thread), self.find_away(record));
        let tried = self.count_tries();
        let blank = || Thread::new_blank(h.thread.clone());
        apply_to(self.threads.entry(h.thread.clone()).or_insert_with(blank), record);
        let mut steps = RecordSteps::default();
        let now = self.list_asked(&h.thread);
        let placed = || (position, record.clone());
        now.difference(&asked).for_each(|id| steps.add(RunEvent::Asked { id: *id, record: placed() }));
        asked.difference(&now).for_each(|id| steps.add(RunEvent::Decided { id: *id, record: placed() }));
        let is_again = |((turn, attempt), due): ((u32, u32), (u32, u32))| due.0 == turn && due.1 > attempt;
        if self.is_open && tried.zip(self.count_tries()).is_some_and(is_again) {
            steps.before.extend(self.text.take_back());
            steps.add(RunEvent::Again);
        }
        self.add_steps(&placed(), &mut steps);
        let is_away = self.find_away(record).filter(|outage| away.as_ref() != Some(outage));
        is_away.into_iter().for_each(|outage| steps.add(RunEvent::Away(outage)));
        self.place_steps((position, h.time), steps)
    }

    /// Takes words on their way.
    pub fn take_words(&mut self, spoken: SpokenWords) -> Vec<PlacedEvent> {
        if !self.is_open || self.known.is_some() || !self.is_below(&spoken.at) {
            return Vec::new();
        }
        let live = |event| vec![PlacedEvent { cursor: None, event, is_known: false, time: None }];
        let part = spoken.part.filter(|_| spoken.at == self.run);
        if part.is_some() && self.count_tries().is_some_and(|due| spoken.of < due) {
            return Vec::new();
        }
        match part {
            None => live(RunEvent::Words(spoken)),
            Some(AnswerPart::Answer) => {
                let Some(before) = spoken.before else { return Vec::new() };
                let steps = self.text.take_words(spoken.of, before, &spoken.words);
                steps.into_iter().map(|step| self.place_text(step)).collect()
            }
            Some(AnswerPart::Thinking) => {
                let words = spoken.words.replace("&lt;", "<").replace("&amp;", "&");
                live(RunEvent::Thought { words, is_live: true })
            }
            Some(AnswerPart::Call) => Vec::new(),
        }
    }

    /// The turn and the attempt that are due in the run's own call.
    fn count_tries(&self) -> Option<(u32, u32)> {
        let call = self.threads.get(&self.run.thread)?.calls.get(&self.run.call)?;
        Some((call.settled + 1, call.attempts.max(1)))
    }

    /// Whether all that is open waits for persons. It holds where the log ends for now: in the middle of what the pump
    /// decided at once it says nothing.
    pub fn is_quiet(&self) -> bool {
        let of = |id: &ThreadId| self.threads.get(id);
        self.is_open
            && !is_working(&of, &self.run.thread, self.run.call.top_number())
            && self.threads.keys().any(|thread| !self.list_asked(thread).is_empty())
    }

    /// What the models that it asked used.
    pub fn sum_used(&self) -> &CostRow {
        &self.used
    }

    /// Whether no record up to this position has made the event that the client names.
    pub fn is_lost(&self, reached: Position) -> bool {
        self.known.is_some_and(|known| known.position < reached)
    }

    /// Whether the place that the client has was met.
    pub fn is_met(&self) -> bool {
        self.known.is_none()
    }

    /// Whether a call is that of the run, or below it.
    fn is_below(&self, at: &CallPlace) -> bool {
        if at.thread == self.run.thread {
            return at.call.top_number() == self.run.call.top_number();
        }
        self.threads.contains_key(&at.thread)
    }

    /// The requests to persons of the run in a thread.
    fn list_asked(&self, thread: &ThreadId) -> BTreeSet<PersonRequestId> {
        let requests = self.threads.get(thread).into_iter().flat_map(Thread::person_requests);
        let is_own =
            |call: &CallPath| self.is_below(&CallPlace { thread: thread.clone(), call: call.clone() });
        requests.filter(|(call, _)| is_own(call)).map(|(_, request)| request.id()).collect()
    }

    /// Who the call of a record waits for.
    fn find_away(&self, record: &Record) -> Option<String> {
        let h = &record.header;
        let at = CallPlace { thread: h.thread.clone(), call: h.call.clone()? };
        let thread = self.threads.get(&at.thread).filter(|_| self.is_below(&at))?;
        let call = thread.calls.get(&at.call)?;
        call.waits.as_ref().map(|waits| waits.outage.clone())
    }

    fn add_steps(&mut self, placed: &RunRecord, steps: &mut RecordSteps) {
        let h = &placed.1.header;
        if h.kind == RecordKind::Terminal {
            return self.end_thread(&h.thread, placed, steps);
        }
        let at = h.call.clone().map(|call| CallPlace { thread: h.thread.clone(), call });
        let Some(at) = at.filter(|at| self.is_below(at)) else { return };
        let is_turn_over = at == self.run && self.is_turn_over(&placed.1);
        if is_turn_over {
            steps.before.extend(self.text.take_back());
        }
        if h.kind == RecordKind::Journal {
            self.used.count_entry(&placed.1.body);
            if at == self.run && h.code == Some(RecordCode::Journaling(JournalEffect::Started)) {
                self.take_request(steps);
            }
        }
        match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(role))) => {
                self.take_message(at.clone(), role, placed, steps);
            }
            (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Reopened))) if at == self.run => {
                self.is_open = true;
                steps.add(RunEvent::Started);
            }
            _ => {}
        }
        if let Some(judgement) = CallJudgement::of_record(&placed.1) {
            self.close_call(at, judgement, placed, steps);
        }
        // The words of the next turn are counted from here.
        let is_first = h.ordinal.unwrap_or_default() == 0;
        if is_turn_over && is_first && steps.numbered.iter().all(Option::is_none) {
            steps.add(RunEvent::Again);
        }
    }

    /// A model is asked. If that is not for the first time in the attempt, what it has said does not count.
    fn take_request(&mut self, steps: &mut RecordSteps) {
        let due = self.count_tries();
        if due.is_some() && self.asked_model == due {
            steps.before.extend(self.text.take_back());
            steps.add(RunEvent::Again);
        }
        self.asked_model = due;
    }

    /// Whether a record says that a turn of its call has ended without an answer: what was said in it was none.
    fn is_turn_over(&self, record: &Record) -> bool {
        let h = &record.header;
        let is_item = h.ordinal.is_some() || h.code == Some(RecordCode::Role(MessageRole::Note));
        let is_final = h.code == Some(RecordCode::Role(MessageRole::Final));
        matches!(h.kind, RecordKind::Refusal) || (is_item && !is_final)
    }

    fn take_message(
        &mut self,
        at: CallPlace,
        role: MessageRole,
        placed: &RunRecord,
        steps: &mut RecordSteps,
    ) {
        let h = &placed.1.header;
        match role {
            MessageRole::Request if at == self.run => {
                self.is_open = true;
                steps.add(RunEvent::Started);
            }
            MessageRole::Spawn => drop(self.spawning.insert(h.id)),
            MessageRole::Begin | MessageRole::Call | MessageRole::ToAll | MessageRole::ToFirst => {
                let of_item = || Some(at.call.append_item(h.turn?, h.ordinal?));
                let call = if role == MessageRole::Call { of_item() } else { Some(at.call.clone()) };
                if let Some((call, to)) = call.zip(h.to.clone()) {
                    let at = CallPlace { thread: at.thread, call };
                    self.called.insert(at.clone());
                    steps.add(RunEvent::Called { at, to, record: placed.clone() });
                }
            }
            MessageRole::Note if at == self.run => {
                let words = read_payload(&placed.1).map(|payload| payload.text().trim().to_owned());
                let thought = words.filter(|words| !words.is_empty());
                steps.numbered.push(thought.map(|words| RunEvent::Thought { words, is_live: false }));
                self.take_todo(&placed.1.body, steps);
            }
            MessageRole::Todo if at == self.run => self.take_todo(&placed.1.body, steps),
            _ => {}
        }
    }

    /// A list takes the place of an earlier one with the same condition.
    fn take_todo(&mut self, body: &[u8], steps: &mut RecordSteps) {
        let lists = read_lists(body).unwrap_or_default();
        if lists.is_empty() {
            return;
        }
        for list in lists {
            match self.todo.iter_mut().find(|kept| kept.condition == list.condition) {
                Some(kept) => *kept = list,
                None => self.todo.push(list),
            }
        }
        steps.add(RunEvent::Todo(self.todo.clone()));
    }

    fn close_call(
        &mut self,
        at: CallPlace,
        judgement: CallJudgement,
        placed: &RunRecord,
        steps: &mut RecordSteps,
    ) {
        if at == self.run {
            return self.end_run(judgement, placed, steps);
        }
        if self.called.remove(&at) {
            steps.add(RunEvent::Returned { at, judgement, record: placed.clone() });
        }
    }

    fn end_run(&mut self, judgement: CallJudgement, placed: &RunRecord, steps: &mut RecordSteps) {
        if !self.is_open {
            return;
        }
        self.is_open = false;
        self.called.clear();
        let has_answer = matches!(judgement, CallJudgement::Answered | CallJudgement::Partial);
        match read_words(&placed.1).filter(|_| has_answer) {
            Some(words) => {
                let mut settled = self.text.settle(&words);
                let text = settled.pop_if(|step| matches!(step, TextStep::Text(_)));
                steps.before.extend(settled);
                steps.numbered.push(text.map(write_text));
            }
            None => steps.before.extend(self.text.take_back()),
        }
        steps.add(RunEvent::Ended { judgement, record: placed.clone() });
    }

    /// A thread that ends closes all its calls.
    fn end_thread(&mut self, thread: &ThreadId, placed: &RunRecord, steps: &mut RecordSteps) {
        let open: Vec<CallPlace> = self.called.iter().filter(|at| at.thread == *thread).cloned().collect();
        for at in open {
            self.close_call(at, CallJudgement::Cancelled, placed, steps);
        }
        if *thread == self.run.thread {
            self.end_run(CallJudgement::Cancelled, placed, steps);
        }
    }

    /// Numbers what a record made, and marks what the client has.
    fn place_steps(&mut self, (position, time): (Position, Millis), steps: RecordSteps) -> Vec<PlacedEvent> {
        let RecordSteps { before, numbered } = steps;
        let count = u64::try_from(numbered.len()).unwrap_or(u64::MAX);
        if count > 0 {
            self.last = (position, count);
        }
        let known = self.known.filter(|known| known.position >= position);
        let mut has = 0;
        if let Some(known) = known {
            // Of what the client has, no text is open but that of its cursor.
            self.text = OpenText::from_sent(SentText::NOTHING);
            let is_met = known.position == position && known.step > 0 && count > 0;
            has = if is_met { known.step } else { u64::MAX };
            if is_met {
                let bytes = known.step.checked_sub(count).filter(|bytes| *bytes > 0);
                self.text = OpenText::from_sent(SentText { hash: known.open, bytes });
                self.known = None;
            }
        }
        let open = self.text.client_text().hash;
        let before =
            before.into_iter().filter(|_| known.is_none()).map(|step| (None, write_text(step), false));
        let numbered = (1..).zip(numbered).filter_map(|(step, event)| {
            Some((Some(RunCursor { position, step, open }), event?, step <= has))
        });
        let placed = before.chain(numbered);
        let time = Some(time);
        placed.map(|(cursor, event, is_known)| PlacedEvent { cursor, event, is_known, time }).collect()
    }

    /// A step of open text: a text has an id, and what was taken back has none.
    fn place_text(&self, step: TextStep) -> PlacedEvent {
        let sent = self.text.client_text();
        let (position, count) = self.last;
        let cursor = sent.bytes.map(|bytes| RunCursor {
            position,
            step: count.saturating_add(bytes),
            open: sent.hash,
        });
        let cursor = cursor.filter(|_| matches!(step, TextStep::Text(_)));
        PlacedEvent { cursor, event: write_text(step), is_known: false, time: None }
    }
}

fn write_text(step: TextStep) -> RunEvent {
    match step {
        TextStep::Retract => RunEvent::Retract,
        TextStep::Text(words) => RunEvent::Text(words),
    }
}

fn read_payload(record: &Record) -> Option<Payload> {
    Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).ok()
}

/// The words of a payload that is made of words alone.
pub fn read_words(record: &Record) -> Option<String> {
    let body = std::str::from_utf8(&record.body).ok()?;
    let inside = body.split_once('>').and_then(|(_, inside)| inside.rsplit_once("</"));
    let is_words = inside.is_none_or(|(inside, _)| !inside.contains('<'));
    read_payload(record).filter(|_| is_words).map(|payload| payload.text())
}
