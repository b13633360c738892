//! The agent: it gets a delivery, asks its model, and sends out what the model decided. It answers one delivery of a
//! call at a time; many calls run in parallel.
//!
//! It decides nothing about other threads, judges no payload and keeps only the conversations of open calls. It can
//! rebuild those from their views.

use std::collections::BTreeSet;
use std::sync::Arc;

use systole_kit::answers::Answers;
use systole_kit::envelope::Delivered;
use systole_kit::journal::EarlierEntries;
use systole_kit::line::{Line, NotTaken};
use systole_kit::open_calls::OpenCalls;
use systole_kit::reply::{Item, ReplyContent};

use crate::contracts::SchemaFault;
use crate::dialect::{self, AnswerJudging, AnswerRepair, ReadAnswer, TurnRules};
use crate::failures::{self, AgentFailure};
use crate::files::FileShelf;
use crate::guard::{self, PromptRoom};
use crate::limits::{self, SAME_ANSWERS};
use crate::memory::{self, CallEvent, Conversation, PastTurn};
use crate::model::Models;
use crate::model_answer::HeardAnswer;
use crate::narrowing;
use crate::primitives;
use crate::spec;
use crate::terms::{AgentTerms, CallTerms};
use crate::turn::{self, TurnOutcome, TurnQuestion};
use crate::viewing::{self, ReadView};

/// A running agent.
pub struct Agent {
    spec: spec::AgentSpec,
    terms: AgentTerms,
    models: Arc<Models>,
    /// The limits and prices of its model.
    limits: spec::ModelSpec,
    files: FileShelf,
    kept: OpenCalls<KeptConversation>,
}

/// Whether a turn is the last of its call.
#[derive(Clone, Copy)]
struct LastTurn<'a> {
    /// The reason: a budget, or the window.
    wrap_up: Option<&'a str>,
    /// Whether only a final is accepted.
    only_final: bool,
}

/// A conversation between two deliveries.
struct KeptConversation {
    conversation: Conversation,
    /// The model's answer in the last turn.
    heard: Option<HeardAnswer>,
    /// How many messages of the view it has been shown, if that was read.
    seen: u64,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Agent").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent whose model is one of `models`.
    ///
    /// # Errors
    /// If its model is not among them, or one of its schemas cannot be read.
    pub fn new(spec: spec::AgentSpec, models: Arc<Models>) -> Result<Self, SchemaFault> {
        let Some(limits) = models.find_model(&spec.model).cloned() else {
            let words = "no model has this name".to_owned();
            return Err(SchemaFault { name: spec.model, words });
        };
        let spec = spec::AgentSpec { files: limits.files.clone(), ..spec };
        let terms = AgentTerms::from_spec(&spec)?;
        Ok(Self { spec, terms, models, limits, files: FileShelf::default(), kept: OpenCalls::default() })
    }

    /// For an agent with several processes under one name. The accepted reply to a turn may be another process's. So
    /// a conversation continues from here only after [`Agent::mark_taken`].
    #[must_use]
    pub fn one_of_many(self) -> Self {
        Self { kept: self.kept.one_of_many(), ..self }
    }

    /// Notes that the answer to this delivery was accepted.
    pub fn mark_taken(&self, asked: &Delivered) {
        self.kept.mark_taken(asked);
    }

    /// Answers a delivery.
    pub async fn answer(self: Arc<Self>, asked: Delivered, line: Arc<dyn Line>) -> ReplyContent {
        match self.answer_turn(&asked, &*line).await {
            Ok(said) => said,
            // The delivery was cancelled, and the canceller knows.
            Err(NotTaken::Over) => ReplyContent::Items(Vec::new()),
            Err(not_taken) => ReplyContent::new_failure("agent.failed", false, not_taken.to_string()),
        }
    }

    async fn answer_turn(&self, asked: &Delivered, line: &(dyn Line + '_)) -> Result<ReplyContent, NotTaken> {
        let answers = Answers::from_payload(&asked.payload).ok();
        let wrap_up = answers.as_ref().and_then(|answers| answers.wrap_up.clone());
        let (mut conversation, seen) = self.read_conversation(asked, answers, line).await?;
        let wrap_up = wrap_up.as_deref();
        if let Some(said) = self.answer_alone(&conversation, wrap_up) {
            return Ok(said);
        }
        let Some((came, room)) = self.ask_model(&mut conversation, (asked, wrap_up), line).await? else {
            return Ok(self.build_report(&conversation, wrap_up, "the model's window is full", None));
        };
        let only_final = wrap_up.is_some() || room == PromptRoom::FinalOnly;
        let heard = match came {
            TurnOutcome::Heard(heard) => heard,
            TurnOutcome::Refused { code, words } => return Ok(ReplyContent::Again { code, words }),
            TurnOutcome::Fault { code, words, again: true } => {
                return Ok(ReplyContent::Again { code, words });
            }
            TurnOutcome::Fault { code, words, again: false } => {
                return Ok(ReplyContent::new_failure(code, false, words));
            }
            TurnOutcome::Away { model, code, words } => {
                let outage = format!("model.{model}");
                return Ok(ReplyContent::Away { outage, code, retry: false, words });
            }
            TurnOutcome::TooLong { words, .. } => {
                return Ok(ReplyContent::new_failure("model.window-full", false, words));
            }
        };
        let Conversation { tasks_given, told_early, .. } = conversation;
        let judging = if self.spec.reads_as_before { AnswerJudging::AsBefore } else { AnswerJudging::Now };
        let allowed = TurnRules { only_final, nonce: &conversation.nonce, tasks_given, told_early, judging };
        let CallTerms { agent, contracts, .. } = &*conversation.terms;
        let mut taken = dialect::read_answer(agent, contracts, &heard, allowed);
        conversation.files.fill_in(contracts, &mut taken);
        self.look_for_mark(&conversation, &heard, &mut taken);
        if conversation.told_to_think {
            taken.reasons.retain(|reason| reason.failure.slug != "thinking-missing");
        }
        // A final that was held back because steps or children are open may rightly be repeated.
        let said_again = conversation.last_said.as_deref() == Some(heard.joined_text().as_str());
        if said_again && heard.calls().next().is_none() && taken.ending.is_none() {
            taken.add_failure("stuck-repeating", "");
        }
        // A final is nearly always accepted. If it is not, the conversation is rebuilt from its view.
        let ends = taken.ending.is_some();
        let full = (room == PromptRoom::FinalOnly).then_some("the model's window is nearly full");
        let last = LastTurn { wrap_up: wrap_up.or(full), only_final };
        let said = self.reply_to(&conversation, taken, last, line).await?;
        if !ends && !is_over(&said) && !conversation.has_hidden() {
            self.kept.keep(asked, KeptConversation { conversation, heard: Some(heard), seen });
        }
        Ok(said)
    }

    /// The reply for which no model is asked.
    fn answer_alone(&self, conversation: &Conversation, wrap_up: Option<&str>) -> Option<ReplyContent> {
        if let Some(failure) = self.asked_for_more(conversation) {
            return Some(failure);
        }
        if conversation.unusable >= self.spec.attempts {
            let why = describe_unusable(conversation.unusable, conversation.last_failure.as_deref());
            return Some(self.build_report(conversation, wrap_up, &why, None));
        }
        if conversation.repeated + 1 >= SAME_ANSWERS {
            let why = format!("the model gave the same answer {SAME_ANSWERS} times in a row");
            return Some(self.build_report(conversation, wrap_up, &why, None));
        }
        if wrap_up.is_none() && self.is_to_clear(conversation) {
            let cleared = primitives::build_clear(limits::CLEAR_KEEP);
            return Some(ReplyContent::Items(cleared.into_iter().map(Item::plain).collect()));
        }
        None
    }

    /// The failure of a call whose goal asks for a payload that the agent does not return.
    fn asked_for_more(&self, conversation: &Conversation) -> Option<ReplyContent> {
        let contracts = &conversation.terms.contracts;
        let goal = contracts.goal.as_ref().filter(|_| contracts.finals.is_empty())?;
        let named = goal.gives.as_ref().map_or_else(|| "an output in words".to_owned(), ToString::to_string);
        let words = format!("the goal asks for {named}, and {} does not return it", self.spec.name);
        Some(ReplyContent::new_failure("agent.failed", false, words))
    }

    /// The conversation up to this delivery, and the number of messages in the view, if known.
    async fn read_conversation(
        &self,
        asked: &Delivered,
        answers: Option<Answers>,
        line: &(dyn Line + '_),
    ) -> Result<(Conversation, u64), NotTaken> {
        let kept = self.kept.take(asked);
        if let (Some(kept), Some(answers)) = (kept, answers)
            && !viewing::is_wanted(&answers, self.spec.tool_output_max)
        {
            let mut conversation = kept.conversation;
            if !self.spec.sees_thread {
                let turn = PastTurn { heard: kept.heard, ..viewing::turn_of(answers) };
                conversation.add_event(&self.terms, &CallEvent::Turn(turn));
                return Ok((conversation, 0));
            }
            // A delivery does not contain what others said during the turn. So the agent reads the view, with the
            // turn, from where it stopped.
            let viewed = viewing::read_view(line, kept.seen + 1).await?;
            for happened in &viewed.happened {
                conversation.add_event(&self.terms, happened);
            }
            return Ok((conversation, viewed.count));
        }
        let viewed = viewing::read_view(line, 0).await?;
        let conversation = self.build_conversation(&viewed, BTreeSet::new(), false);
        Ok((conversation, viewed.count))
    }

    /// Whether the view is to be cleared, because most of the window is used. If clearing it did not help, it is not
    /// cleared again at once.
    fn is_to_clear(&self, conversation: &Conversation) -> bool {
        self.spec.when_full == spec::WhenFull::Clear
            && !conversation.has_cleared
            && conversation.terms.contracts.tasks().is_none()
            && guard::is_mostly_full(&self.limits, conversation)
    }

    /// Asks the model. If its provider finds the request too long, the largest results are left out, and the model is
    /// asked again, for its final. `None` if not even a final fits.
    async fn ask_model(
        &self,
        conversation: &mut Conversation,
        (asked, wrap_up): (&Delivered, Option<&str>),
        line: &(dyn Line + '_),
    ) -> Result<Option<(TurnOutcome, PromptRoom)>, NotTaken> {
        let mut past = match asked.stamp.journal {
            Some(_) => line.past().await?,
            None => EarlierEntries::default(),
        };
        let full = conversation.measure_tokens();
        let mut step = narrowing::count_steps(&past);
        let mut too_long: Option<(String, bool, PromptRoom)> = None;
        loop {
            let room = match self.make_fit(conversation, (step, full), line).await? {
                Some(PromptRoom::None) => return Ok(None),
                Some(room) => room,
                None => match too_long.take() {
                    Some((words, is_cut, room)) => {
                        return Ok(Some((turn::from_full_window(words, is_cut), room)));
                    }
                    // An earlier attempt could leave out more: its configuration was another one.
                    None => {
                        step = 0;
                        continue;
                    }
                },
            };
            let header = self.build_header(conversation, (asked, wrap_up), room);
            let (models, spec, limits, files) = (&*self.models, &self.spec, &self.limits, &self.files);
            let (is_narrowed, is_again) = (step > 0, too_long.is_some());
            let file_questions = if is_again { 0 } else { limits::FILE_QUESTIONS };
            let ask = TurnQuestion {
                models,
                spec,
                limits,
                files,
                conversation,
                header: &header,
                asked,
                is_narrowed,
                file_questions,
            };
            let came = turn::ask_once(ask, &mut past, line).await?;
            conversation.mark_stored();
            match came {
                TurnOutcome::TooLong { words, is_cut } => too_long = Some((words, is_cut, room)),
                came => return Ok(Some((came, room))),
            }
            step += 1;
        }
    }

    fn build_header<'a>(
        &self,
        conversation: &Conversation,
        (asked, wrap_up): (&Delivered, Option<&'a str>),
        room: PromptRoom,
    ) -> turn::TurnHeader<'a> {
        turn::TurnHeader {
            turn: asked.stamp.turn,
            of: self.spec.turns,
            attempt: conversation.unusable + 1,
            attempts: self.spec.attempts,
            used: conversation.measure_tokens(),
            window: self.limits.window,
            wrap_up,
            only_final: wrap_up.is_some() || room == PromptRoom::FinalOnly,
        }
    }

    /// Makes the conversation fit, and says which room it leaves. If it does not fit, as many of its largest results are
    /// left out as a final needs, and more with each step. `None` if a step finds nothing more to leave out.
    async fn make_fit(
        &self,
        conversation: &mut Conversation,
        (steps, full): (u64, u64),
        line: &(dyn Line + '_),
    ) -> Result<Option<PromptRoom>, NotTaken> {
        let room = guard::measure_room(&self.limits, conversation);
        if steps == 0 && room != PromptRoom::None {
            return Ok(Some(room));
        }
        if steps > limits::NARROW_STEPS {
            return Ok(None);
        }
        // Only the view has the numbers of the results.
        let viewed = viewing::read_view(line, 0).await?;
        let mut largest = memory::list_results(&viewed.happened, self.spec.tool_output_max).into_iter();
        let build = |hidden: &BTreeSet<u64>| {
            let mut built = self.build_conversation(&viewed, hidden.clone(), steps > 0);
            built.copy_scale(conversation);
            built
        };
        let mut hidden = BTreeSet::new();
        let mut narrower = if steps > 0 { build(&hidden) } else { conversation.clone() };
        for step in 0..=steps {
            if step > 0 {
                let Some((_, number)) = largest.next() else { return Ok(None) };
                hidden.insert(number);
                narrower = build(&hidden);
            }
            while let excess @ 1.. = narrowing::count_excess(&self.limits, &narrower, (step, full)) {
                // A token has at least one byte, so this leaves out no more than is needed.
                let (before, mut bytes) = (hidden.len(), 0);
                while bytes < excess
                    && let Some((size, number)) = largest.next()
                {
                    bytes = bytes.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
                    hidden.insert(number);
                }
                if hidden.len() == before {
                    break;
                }
                narrower = build(&hidden);
            }
        }
        // The base is the same.
        narrower.put = conversation.put.min(1);
        let fits = guard::measure_room(&self.limits, &narrower) != PromptRoom::None;
        *conversation = narrower;
        Ok(Some(if fits { PromptRoom::FinalOnly } else { PromptRoom::None }))
    }

    /// The conversation that a view shows, without those results. `is_again` says that this delivery asks once more.
    fn build_conversation(&self, viewed: &ReadView, hidden: BTreeSet<u64>, is_again: bool) -> Conversation {
        let request = |(at, happened): (usize, &CallEvent)| match happened {
            CallEvent::Request { payload, .. } => Some((at + 1, self.terms.of_call(payload))),
            CallEvent::Turn(_) | CallEvent::Overheard(_) => None,
        };
        let request = viewed.happened.iter().enumerate().rev().find_map(request);
        let (request, terms) = request.unwrap_or_else(|| (0, self.terms.ordinary_call()));
        let mut conversation =
            Conversation::new(viewed.mark.clone(), terms, &viewed.began).with_hidden(hidden);
        // A delivery may ask only 64 questions, so many turns cannot be stored one by one.
        let is_long = is_again || viewed.happened.len() - request > limits::LINKED_TURNS;
        let (earlier, since) =
            viewed.happened.split_at(if is_long { viewed.happened.len() } else { request });
        conversation.begin(&self.terms, earlier);
        for happened in since {
            conversation.add_event(&self.terms, happened);
        }
        conversation
    }

    /// An output that contains the code of the core's own tags has no effect. Hides the code in all reports.
    fn look_for_mark(&self, conversation: &Conversation, heard: &HeardAnswer, taken: &mut ReadAnswer) {
        let mark = &conversation.mark;
        let said_it = || {
            let calls = heard.calls().any(|call| mark.is_in(&call.arguments) || mark.is_in(&call.name));
            calls || mark.is_in(&heard.joined_text())
        };
        // The code may be written with references or escapes, so it shows only in the resulting payloads.
        let does_it = |taken: &ReadAnswer| {
            let acts = taken.acts.iter().map(|act| &act.payload);
            let payloads = acts.chain(&taken.plans).chain(&taken.ending);
            let named = taken.acts.iter().flat_map(|act| [&act.to, &act.thread]).flatten();
            let words = named.chain(&taken.thoughts);
            payloads.into_iter().any(|payload| mark.is_in_payload(payload))
                || words.into_iter().any(|words| mark.is_in(words))
        };
        if said_it() || does_it(taken) {
            taken.clear_acts();
            taken.plans.clear();
            taken.ending = None;
            taken.add_failure("mark-in-output", "");
        }
        // Reports may quote the model's words, and they reach the caller if there is no further turn.
        let repairs = taken.repairs.iter_mut().map(|repair| &mut repair.reason);
        for reason in taken.reasons.iter_mut().chain(repairs) {
            reason.words = mark.cover_mark(&reason.words);
        }
    }

    /// The reply of the agent, given its model's answer.
    async fn reply_to(
        &self,
        conversation: &Conversation,
        taken: ReadAnswer,
        last: LastTurn<'_>,
        line: &(dyn Line + '_),
    ) -> Result<ReplyContent, NotTaken> {
        for AnswerRepair { reason, .. } in &taken.repairs {
            line.notice(&reason.code(), &reason.describe()).await?;
        }
        let reasons = failures::pick_weightiest(taken.reasons.clone());
        if !taken.is_usable() {
            let attempts = conversation.unusable + 1;
            let failure = reasons.first().map(|reason| format!("{}: {}", reason.code(), reason.describe()));
            if last.only_final || attempts >= self.spec.attempts {
                let why = describe_unusable(attempts, failure.as_deref());
                let why = if last.only_final { failure.unwrap_or(why) } else { why };
                return Ok(self.build_report(conversation, last.wrap_up, &why, taken.unused.as_deref()));
            }
            return self.ask_again(&reasons, line).await;
        }
        for reason in reasons {
            line.notice(&reason.code(), &reason.describe()).await?;
        }
        let mut items: Vec<Item> =
            dialect::write_note(&self.spec.name, &taken).into_iter().map(Item::plain).collect();
        let waits = taken.has_tasks();
        items.extend(taken.acts.into_iter().map(|act| Item {
            to: act.to,
            thread: act.thread,
            ..Item::plain(act.payload)
        }));
        // The next turn begins when the tasks have ended.
        items.extend(waits.then(primitives::await_all).flatten().map(Item::plain));
        items.extend(taken.ending.map(Item::plain));
        Ok(ReplyContent::Items(items))
    }

    /// The output is unusable. The model sees why in its next turn.
    async fn ask_again(
        &self,
        reasons: &[AgentFailure],
        line: &(dyn Line + '_),
    ) -> Result<ReplyContent, NotTaken> {
        for second in reasons.iter().skip(1) {
            line.notice(&second.code(), &second.describe()).await?;
        }
        let first = reasons.first();
        let code = first.map_or_else(|| "agent.prose-only".to_owned(), AgentFailure::code);
        Ok(ReplyContent::Again { code, words: first.map(AgentFailure::describe).unwrap_or_default() })
    }

    /// The report that ends a call without a final from its model: the reason, the model's last thought, and the words
    /// of its last answer if that could not be used. No caller takes these words for an answer.
    fn build_report(
        &self,
        conversation: &Conversation,
        wrap_up: Option<&str>,
        why: &str,
        unused: Option<&str>,
    ) -> ReplyContent {
        let (thought, unused) =
            (conversation.last_thought.as_deref(), unused.or(conversation.last_unused.as_deref()));
        let outcome = if thought.or(unused).is_some() { "partial" } else { "failure" };
        let in_last_turn = |why: &str| match wrap_up {
            Some(budget) => format!("in its last turn ({budget}): {why}"),
            None => why.to_owned(),
        };
        // The details of the last failure are in the attribute.
        let cause = in_last_turn(why.lines().next().unwrap_or_default());
        let mut words = format!("{} ends without a final from its model: {cause}", self.spec.name);
        if unused.is_some() && why.contains("agent.prose-only") {
            let fits = if conversation.terms.contracts.can_act() { "native" } else { "plain" };
            words.push_str(&format!("\nTry: `dialect: {fits}`, which takes an answer without elements."));
        }
        words.extend(thought.map(|thought| format!("\nIts last thought: {thought}")));
        words.extend(
            unused.map(|unused| {
                format!("\nIts last answer, which was not accepted: {}", cut_beginning(unused))
            }),
        );
        let mark = &conversation.mark;
        let (reason, words) = (mark.cover_mark(&in_last_turn(why)), mark.cover_mark(&words));
        let report = dialect::write_report("synthetic", outcome, Some(&reason), &words);
        ReplyContent::Items(report.into_iter().map(Item::plain).collect())
    }
}

/// An unusable answer, as a report shows it.
fn cut_beginning(unused: &str) -> String {
    match unused.get(..unused.floor_char_boundary(limits::UNUSABLE_BYTES)) {
        Some(kept) if kept.len() < unused.len() => {
            format!("{kept}… ({} of {} bytes)", kept.len(), unused.len())
        }
        _ => unused.to_owned(),
    }
}

/// Why a call ends after that many unusable answers.
fn describe_unusable(attempts: u32, last: Option<&str>) -> String {
    let last = last.map(|last| format!("; the last one: {last}")).unwrap_or_default();
    format!("no usable answer of the model in {attempts} attempts{last}")
}

/// Whether the call is over.
fn is_over(said: &ReplyContent) -> bool {
    match said {
        ReplyContent::Items(items) => items.is_empty(),
        ReplyContent::Failure { .. } | ReplyContent::Away { .. } => true,
        ReplyContent::Again { .. } => false,
    }
}
