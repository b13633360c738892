//! Drives one replay: the real pump with its log in memory, one input after the other, in the order of the recorded
//! positions. An input that is not recorded enters as soon as its cause is there. Everything happens on one thread.

mod adopting;
mod recorded_files;
mod recorded_firings;
mod stand_in_words;
mod taking_inputs;

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use systole_core::pump::engine::{Engine, EnginePorts, PumpInput, WriteReport, answer_lookup};
use systole_core::pump::primitives;
use systole_core::pump::state::CompositionBook;
use systole_core::pump::view::BegunViews;
use systole_core::pump::wake;
use systole_core::rules::admit;
use systole_core::types::codes::Code;
use systole_core::types::delivery::Delivery;
use systole_core::types::flow::{JudgedContent, JudgedDocument, Lease, LeaseToken};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{
    ArrivedDocument, Clock as _, Commit, Leases as _, LogReader, LogWriter as _, NoObserver, Position,
};
use systole_core::types::refusal::Refusal;
use systole_kit::reply::{ListenerDocument, ReplyContent};

use super::configurations::{CannotReplay, ReplayConfigurations, ReplayPage};
use super::history::{AttemptEnd, AttemptHistory, RecordedMoment, SaidBefore, TreeHistory, TurnPlace};
use super::inputs::ReplayInput;
use super::journal_model::JournalModel;
use super::matching::RecordedCalls;
use super::performers::{ReplayListener, ReplayWork, build_performers};
use super::ports::{PumpOutput, ReplayPorts};
use super::ready::{ReadyInput, ReadyKind};
use super::real_parts::RealParts;
use super::recorded_answers;
use super::refused_again::{self, RefusedWord};
use super::replies;
use super::tree_records::RecordedTree;
use super::unanswered_delivery::UnansweredDelivery;
use crate::limits;
use recorded_firings::RecordedFirings;
use systole_carriers::leases::LeaseTable;
use systole_log::memory::MemoryLog;

/// A delivery that is out.
struct OutDelivery {
    lease: Arc<Lease>,
    /// The recorded turn that it repeats.
    place: TurnPlace,
    /// Journal entries and notices so far.
    journaled: usize,
    noticed: usize,
}

/// One run of the pump.
struct PumpRun {
    engine: Engine,
    leases: Arc<LeaseTable>,
    begun: BegunViews,
    performers: BTreeMap<Name, ReplayListener>,
    performance: ReplayWork,
    page: ReplayPage,
}

/// A replay at work.
pub(super) struct ReplayDriver<'a> {
    reader: &'a dyn LogReader,
    stored: &'a mut ReplayConfigurations,
    real: &'a mut RealParts,
    /// Whether more may go out than the record shows.
    goes_out: bool,
    tree: &'a RecordedTree,
    history: &'a TreeHistory,
    calls: RecordedCalls,
    firings: RecordedFirings,
    /// The configurations of all records.
    configs: BTreeSet<Digest>,
    pub(super) log: MemoryLog,
    ports: Arc<ReplayPorts>,
    answers: JournalModel,
    run: Option<PumpRun>,
    out: BTreeMap<LeaseToken, OutDelivery>,
    /// What was out when the pump was started last.
    before: BTreeMap<LeaseToken, OutDelivery>,
    ready: Vec<ReadyInput>,
    inputs: u64,
    /// The recorded position that the replay has reached.
    pub(super) at: Position,
    /// The recorded position of the last input of a listener.
    entered: Position,
    /// For each record of the replay, the recorded position that was reached when it was made.
    pub(super) made_at: Vec<Position>,
    /// Records of the tree that the replay has made.
    made: usize,
    pub(super) unanswered: Vec<UnansweredDelivery>,
    /// Refusals of messages from outside.
    pub(super) refused: Vec<Refusal>,
}

impl<'a> ReplayDriver<'a> {
    pub(super) fn new(
        reader: &'a dyn LogReader,
        (stored, real): (&'a mut ReplayConfigurations, &'a mut RealParts),
        (tree, history): (&'a RecordedTree, &'a TreeHistory),
        ports: ReplayPorts,
    ) -> ReplayDriver<'a> {
        ReplayDriver {
            reader,
            goes_out: stored.is_replaced(),
            stored,
            real,
            tree,
            history,
            calls: RecordedCalls::from_tree(tree, history),
            firings: RecordedFirings::from_tree(tree),
            configs: tree.records.iter().map(|(_, record)| record.header.config).collect(),
            log: MemoryLog::new(),
            ports: Arc::new(ports),
            answers: JournalModel::default(),
            run: None,
            out: BTreeMap::new(),
            before: BTreeMap::new(),
            ready: Vec::new(),
            inputs: 0,
            at: Position(0),
            entered: Position(0),
            made_at: Vec::new(),
            made: 0,
            unanswered: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Replays the inputs, in their order, with everything that listeners say in between.
    pub(super) fn play_inputs(
        &mut self,
        config: Digest,
        inputs: Vec<ReplayInput>,
    ) -> Result<(), CannotReplay> {
        let mut inputs: VecDeque<ReplayInput> = inputs.into();
        let most = self
            .tree
            .records
            .len()
            .saturating_mul(limits::REPLAY_INPUTS_PER_RECORD)
            .saturating_add(limits::REPLAY_INPUTS);
        self.start_run(config)?;
        for _ in 0..most {
            self.settle_run()?;
            if self.hear_stand_in()? {
                continue;
            }
            let first = self.ready.iter().enumerate();
            let first =
                first.min_by_key(|(_, one)| (one.at.map_or(Position(0), |at| at.position), one.number));
            let first = first.map(|(index, one)| (index, one.at.map_or(Position(0), |at| at.position)));
            match (first, inputs.front()) {
                (None, None) => return self.end_run(),
                (Some((index, position)), next) if next.is_none_or(|next| position <= next.at.position) => {
                    let ready = self.ready.swap_remove(index);
                    self.enter_ready(ready)?;
                }
                _ => {
                    if let Some(next) = inputs.pop_front() {
                        self.take_input(next)?;
                    }
                }
            }
        }
        Err(CannotReplay::BrokeOff(format!("it does not end after {most} inputs")))
    }

    fn end_run(&mut self) -> Result<(), CannotReplay> {
        for delivery in self.answers.list_missed() {
            if let Some(out) = self.out.get(delivery.as_str()) {
                let why = "its model is asked for an answer that the journal does not have".to_owned();
                self.unanswered.push(UnansweredDelivery::from_lease(&out.lease, why));
            }
        }
        Ok(())
    }

    fn find_run(&mut self) -> Result<&mut PumpRun, CannotReplay> {
        self.run.as_mut().ok_or_else(|| CannotReplay::BrokeOff("the pump does not run".to_owned()))
    }

    /// Starts the pump from the log in memory. It sends something only when the record shows that a delivery was out:
    /// other threads may have had all slots of a listener, the organism may have run for one order only, or it was
    /// killed before.
    fn start_run(&mut self, config: Digest) -> Result<(), CannotReplay> {
        let page = self.stored.open_page(self.reader, config)?;
        let mut recovered = wake::recover_log(&self.log, &NoObserver)?;
        let mut book = CompositionBook::open_at(page.composition.clone());
        for config in self.configs.clone() {
            book.add(self.stored.open_page(self.reader, config)?.composition);
        }
        recovered.state.book = book;
        let leases = Arc::new(LeaseTable::default());
        let ports = EnginePorts {
            clock: self.ports.clone(),
            seeds: self.ports.clone(),
            tokens: self.ports.clone(),
            leases: leases.clone(),
            carrier: self.ports.clone(),
            askers: self.ports.clone(),
            steps: Arc::new(NoObserver),
        };
        let mut engine = Engine::new(recovered, ports, self.log.read_last()?);
        engine.send_only(Some(HashSet::new()));
        engine.adopt_listeners();
        engine.boot_organism();
        let performers = build_performers(&page.file, &self.answers, self.real.live.as_ref())?;
        let (begun, performance) = (BegunViews::default(), ReplayWork::default());
        self.run = Some(PumpRun { engine, leases, begun, performers, performance, page });
        self.adopt_leases()
    }

    /// Ends the run of the pump, in order or as if it had been killed, and starts another one.
    fn restart_run(&mut self, config: Digest, was_drained: bool) -> Result<(), CannotReplay> {
        if was_drained {
            let page = self.find_run()?.page.composition.clone();
            let is_here =
                |name: &Name| page.find_listener(name).is_none_or(|one| !one.reach.is_over_broker());
            let here = self.out.iter().filter(|(_, out)| is_here(&out.lease.listener));
            for token in here.map(|(token, _)| token.clone()).collect::<Vec<_>>() {
                self.find_run()?.engine.take_input(PumpInput::NotNow { token, words: String::new() });
            }
            let engine = &mut self.find_run()?.engine;
            engine.take_input(PumpInput::Stop);
            engine.take_input(PumpInput::Farewell);
            self.settle_run()?;
        }
        self.run = None;
        self.ports.take_outputs();
        self.before = std::mem::take(&mut self.out);
        self.ready.clear();
        self.real.program.iter_mut().for_each(|stand_in| stand_in.call_back_all());
        self.start_run(config)
    }

    /// Lets the pump work until it waits for an input.
    fn settle_run(&mut self) -> Result<(), CannotReplay> {
        loop {
            let mut moved = false;
            let at = self.at;
            let (mut log, mut made) = (self.log.clone(), Vec::new());
            let run = self.find_run()?;
            while let Some(lookup) = run.engine.next_lookup() {
                let found = answer_lookup(&log, &mut run.begun, lookup);
                run.engine.take_input(PumpInput::Found(found));
                moved = true;
            }
            if let Some(batch) = run.engine.next_batch() {
                match log.commit_batch(&batch) {
                    Commit::Committed(position) => run.engine.hear_writer(WriteReport::Committed(position)),
                    Commit::Conflict(words) | Commit::Unknown(words) | Commit::NotNow(words) => {
                        return Err(CannotReplay::BrokeOff(words));
                    }
                }
                made.clone_from(&batch.records);
                run.engine.route_recorded();
                moved = true;
            }
            if let Some(stop) = run.engine.find_stop() {
                return Err(CannotReplay::BrokeOff(stop.words.clone()));
            }
            let said = run.performance.go_on();
            self.made_at.extend(std::iter::repeat_n(at, made.len()));
            self.made += made.iter().filter(|record| !record.header.thread.is_sys()).count();
            made.iter().for_each(|record| self.firings.count_made(record));
            self.keep_files(&made)?;
            if let Some(live) = &self.real.live
                && live.hear_documents(&said)?
            {
                self.goes_out = true;
                self.find_run()?.engine.send_only(None);
            }
            for document in said {
                moved = true;
                self.take_document(document);
            }
            for output in self.ports.take_outputs() {
                moved = true;
                self.take_output(output)?;
            }
            if !moved {
                return Ok(());
            }
        }
    }

    /// Takes what the pump sends out.
    fn take_output(&mut self, output: PumpOutput) -> Result<(), CannotReplay> {
        match output {
            PumpOutput::Handed(delivery) => self.take_delivery(&delivery)?,
            PumpOutput::CalledBack(token) => {
                self.out.remove(&token);
                self.ready.retain(|ready| ready.token != token);
                self.real.program.iter_mut().for_each(|stand_in| stand_in.call_back(&token));
                let run = self.find_run()?;
                run.performance.stop_delivery(&token.0);
                let (code, words) = (Code::CancelledThread, String::new());
                run.engine.take_input(PumpInput::Gone { token, code, words });
            }
            PumpOutput::Answered(answer) => {
                let current =
                    self.real.program.as_ref().filter(|stand_in| {
                        stand_in.current().is_some_and(|token| *token.0 == *answer.delivery)
                    });
                match current {
                    Some(stand_in) => stand_in.bring_answer(answer),
                    None => self.find_run()?.performance.bring_answer(answer),
                }
            }
            PumpOutput::Refused(refusal) => self.refused.push(refusal),
            // They are looked at when the pump starts.
            PumpOutput::Expected(_) => {}
        }
        Ok(())
    }

    /// Takes a delivery: an agent or a workflow works on it, any other listener repeats what is recorded.
    fn take_delivery(&mut self, delivery: &Delivery) -> Result<(), CannotReplay> {
        let (lease, history) = (delivery.lease.clone(), self.history);
        let performer = self.find_run()?.performers.get(&lease.listener).cloned();
        let place = self.calls.find_turn(delivery, performer.is_some());
        let attempt = place.as_ref().and_then(|place| history.find_attempt(place, lease.id.attempt));
        let own = (lease.id.thread.clone(), lease.id.call.clone(), lease.id.turn);
        let place = place.unwrap_or(own);
        let out = OutDelivery { lease: lease.clone(), place: place.clone(), journaled: 0, noticed: 0 };
        self.out.insert(lease.token.clone(), out);
        for (at, said) in attempt.into_iter().flat_map(|attempt| &attempt.said) {
            if let SaidBefore::State(state) = said {
                self.push_ready(Some(*at), &lease, ReadyKind::State(state.clone()));
            }
        }
        if let Some(stand_in) = self.real.program.as_mut().filter(|one| *one.listener() == lease.listener) {
            let page = self.stored.open_page(self.reader, lease.config)?;
            return stand_in.hand_delivery(delivery, &page.file.composition);
        }
        let is_beyond = attempt.is_none() && !self.goes_out;
        if let Some(performer) = performer.filter(|_| !is_beyond) {
            let asked =
                delivery.envelope().map_err(|fault| CannotReplay::BrokeOff(fault.message.to_string()))?;
            let answers =
                attempt.map(|attempt| recorded_answers::read_answers(self.reader, attempt)).transpose()?;
            self.answers.give_answers(&lease.token.0, answers.unwrap_or_default());
            let is_free = attempt.is_none_or(|one| matches!(one.end, Some(AttemptEnd::Replied(_))));
            self.real.live.iter().for_each(|live| live.hand_delivery(&lease, is_free));
            if let Some(end) = attempt.and_then(|a| a.end.as_ref()) {
                self.repeat_failure(&lease, end);
            }
            self.find_run()?.performance.bring_delivery(&performer, asked);
            return Ok(());
        }
        match attempt {
            Some(attempt) => self.repeat_attempt(&lease, &place, attempt),
            None => {
                // The record of an open thread may end here.
                let why = "nothing is recorded that it answered to this".to_owned();
                self.unanswered.push(UnansweredDelivery::from_lease(&lease, why));
                Ok(())
            }
        }
    }

    /// Repeats what a listener said in an attempt.
    fn repeat_attempt(
        &mut self,
        lease: &Arc<Lease>,
        place: &TurnPlace,
        attempt: &AttemptHistory,
    ) -> Result<(), CannotReplay> {
        let delivery = lease.token.0.to_string();
        for (at, said) in &attempt.said {
            let delivery = delivery.clone();
            let document = match said.clone() {
                SaidBefore::Refused(index) => {
                    let word = refused_again::read_word(self.reader, self.tree, (&delivery, index))?;
                    let what = word.map(|word| match word {
                        RefusedWord::Entry(document) => ReadyKind::Said(document),
                        RefusedWord::Question(refused) => ReadyKind::Refused(refused),
                    });
                    what.into_iter().for_each(|what| self.push_ready(Some(*at), lease, what));
                    continue;
                }
                SaidBefore::Journal { id, entry } => {
                    ListenerDocument::Journal { delivery, id, entry: Ok(entry) }
                }
                SaidBefore::Notice { code, words } => ListenerDocument::Notice { delivery, code, words },
                SaidBefore::State(_) => continue,
            };
            self.push_ready(Some(*at), lease, ReadyKind::Said(document));
        }
        match &attempt.end {
            Some(AttemptEnd::Replied(at)) => {
                let page = self.stored.open_page(self.reader, lease.config)?;
                let (tree, history) = (self.tree, self.history);
                match replies::rebuild_reply(self.reader, &page.composition, tree, history, place)? {
                    Ok(said) => {
                        self.note_stored(lease, place)?;
                        let document = ListenerDocument::Reply { delivery, said };
                        self.push_ready(Some(*at), lease, ReadyKind::Said(document));
                    }
                    Err(why) => self.unanswered.push(UnansweredDelivery::from_lease(lease, why)),
                }
            }
            Some(end @ AttemptEnd::Failed { .. }) => self.repeat_failure(lease, end),
            Some(AttemptEnd::WithPump | AttemptEnd::LostWithPump(_)) | None => {}
        }
        Ok(())
    }

    /// Repeats how an attempt failed. A failure that is final was the listener's own word.
    fn repeat_failure(&mut self, lease: &Arc<Lease>, end: &AttemptEnd) {
        let AttemptEnd::Failed { at, code, first_code, words, is_last, outage } = end else { return };
        let is_own = match outage {
            Some(_) => *code == Code::ListenerFailed,
            None => matches!(code, Code::ListenerFailed | Code::UnknownOutcome) && *is_last,
        };
        let own = words.split_once(": ").filter(|_| is_own);
        let what = match (own, outage.clone()) {
            (Some((own, words)), outage) => {
                let (code, retry, words) = (own.to_owned(), false, words.to_owned());
                let said = match outage {
                    Some(outage) => ReplyContent::Away { outage, code, retry, words },
                    None => ReplyContent::Failure { code, first_code: first_code.clone(), retry, words },
                };
                ReadyKind::Said(ListenerDocument::Reply { delivery: lease.token.0.to_string(), said })
            }
            (None, Some(_)) => ReadyKind::Away { words: words.clone() },
            (None, None) => ReadyKind::Gone { code: *code, words: words.clone() },
        };
        self.push_ready(Some(*at), lease, what);
    }

    fn push_ready(&mut self, at: Option<RecordedMoment>, lease: &Arc<Lease>, what: ReadyKind) {
        self.inputs += 1;
        self.ready.push(ReadyInput { at, number: self.inputs, token: lease.token.clone(), what });
    }

    /// Takes what an agent or a workflow says: it enters where the same is recorded. What an attempt said that is
    /// recorded as lost does not enter.
    fn take_document(&mut self, mut document: ListenerDocument) {
        let Some(out) = self.out.get_mut(document.delivery()) else { return };
        let lease = out.lease.clone();
        let is_live = self.real.live.as_ref().is_some_and(|live| *live.name() == lease.listener);
        let attempt = self.history.find_attempt(&out.place, lease.id.attempt);
        let end = attempt.and_then(|attempt| attempt.end.as_ref());
        // Beyond the record: a turn that is not recorded goes on freely, an attempt that was lost does not.
        let is_free = attempt.is_none() || matches!(end, Some(AttemptEnd::Replied(_)));
        let said = attempt.map_or(&[][..], |attempt| &attempt.said);
        let at = match &mut document {
            ListenerDocument::Journal { entry, .. } => {
                let mut recorded = said.iter().filter_map(|(at, said)| match said {
                    SaidBefore::Journal { entry, .. } => Some((at, Some(entry))),
                    SaidBefore::Refused(_) => Some((at, None)),
                    SaidBefore::Notice { .. } | SaidBefore::State(_) => None,
                });
                let nth = recorded.nth(out.journaled);
                out.journaled += 1;
                if let (Ok(own), Some((_, Some(then)))) = (entry, nth) {
                    recorded_answers::copy_measures(own, then, is_live);
                }
                nth.map(|(at, _)| *at)
            }
            ListenerDocument::Notice { .. } => {
                let mut recorded = said.iter().filter(|(_, said)| matches!(said, SaidBefore::Notice { .. }));
                let nth = recorded.nth(out.noticed);
                out.noticed += 1;
                nth.map(|(at, _)| *at)
            }
            ListenerDocument::Reply { said, .. } => match end {
                Some(AttemptEnd::Replied(at)) => Some(*at),
                // A live model may answer where the recorded one did not.
                Some(AttemptEnd::Failed { outage: Some(_), .. }) => return,
                Some(AttemptEnd::Failed { at, is_last, .. })
                    if matches!(said, ReplyContent::Failure { .. }) || (is_live && *is_last) =>
                {
                    let at = *at;
                    self.ready.retain(|ready| ready.token != lease.token || !ready.what.is_end());
                    Some(at)
                }
                _ => None,
            },
            ListenerDocument::Ask { .. } => {
                return self.push_ready(None, &lease, ReadyKind::Said(document));
            }
            ListenerDocument::Progress { .. } => return,
        };
        if at.is_some() || is_free {
            self.push_ready(at, &lease, ReadyKind::Said(document));
        }
    }

    /// Moves on to a recorded moment.
    fn move_to(&mut self, at: RecordedMoment) {
        self.at = self.at.max(at.position);
        self.ports.move_clock(at.time);
    }

    /// Gives the pump what a listener says.
    fn enter_ready(&mut self, ready: ReadyInput) -> Result<(), CannotReplay> {
        let ReadyInput { at, number, token, what } = ready;
        if let Some(at) = at {
            self.move_to(at);
            self.entered = at.position;
        }
        let Some(lease) = self.out.get(&token).map(|out| out.lease.clone()) else { return Ok(()) };
        let document = match what {
            ReadyKind::Gone { code, words } => {
                self.end_delivery(&token)?;
                return self.enter_input(PumpInput::Gone { token, code, words });
            }
            ReadyKind::Away { words } => {
                self.end_delivery(&token)?;
                return self.enter_input(PumpInput::Away { token, words });
            }
            ReadyKind::Refused(refused) => {
                let said = JudgedContent::Ask { id: number, question: Err(refused) };
                let judged = JudgedDocument { lease, said, claimed: None, ticket: None };
                return self.enter_input(PumpInput::Judged(judged));
            }
            ReadyKind::State(state) => {
                return self.enter_input(PumpInput::Attempting { id: lease.id.clone(), state });
            }
            ReadyKind::Said(document) => document,
        };
        let page = self.stored.open_page(self.reader, lease.config)?;
        let leases = self.find_run()?.leases.clone();
        if matches!(document, ListenerDocument::Reply { .. }) {
            self.end_delivery(&token)?;
        }
        let speech = ArrivedDocument::Word(document);
        let limits = admit::gate_limits(&page.composition);
        let find = |token: &str| leases.find_lease(token);
        let input = match admit::listener_word(&lease.listener, &speech, &limits, find) {
            Ok((lease, word)) => {
                let (page, schemas) = (&page.composition, &mut self.stored.schemas);
                PumpInput::Judged(admit::judge_word(
                    page,
                    lease,
                    word,
                    &speech,
                    primitives::find_reading,
                    schemas,
                ))
            }
            Err(stray) => PumpInput::Stray(*stray),
        };
        self.enter_input(input)
    }

    /// A delivery is over.
    fn end_delivery(&mut self, token: &LeaseToken) -> Result<(), CannotReplay> {
        self.out.remove(token);
        self.ready.retain(|ready| ready.token != *token);
        self.find_run()?.performance.stop_delivery(&token.0);
        Ok(())
    }

    fn enter_input(&mut self, input: PumpInput) -> Result<(), CannotReplay> {
        self.find_run()?.engine.take_input(input);
        self.settle_run()?;
        self.do_due()
    }

    /// Does what is due by time alone. When all records are there, nothing shows that more was done in time: the
    /// organism may have been stopping, or was killed.
    fn do_due(&mut self) -> Result<(), CannotReplay> {
        let is_last = self.tree.records.last().is_none_or(|(_, last)| self.ports.ticks() >= last.header.time);
        if is_last && !self.goes_out && self.made >= self.tree.records.len() {
            return Ok(());
        }
        let firing = (!self.goes_out).then(|| self.firings.list_missing(self.at));
        let engine = &mut self.find_run()?.engine;
        engine.fire_only(firing);
        engine.run_tick();
        self.settle_run()
    }
}
