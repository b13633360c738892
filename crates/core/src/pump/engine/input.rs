//! What comes in, and what happens to each input: it is decided on, or parked until a thread is in memory.

use std::num::NonZeroU32;

use systole_wire::ask::PumpQuestion;

use super::{Engine, LogAnswer, LogLookup, WriteReport};
use crate::pump::event::{BoundKey, ClientOrder, Effect, EventKind, LostAttempt, PumpNotice};
use crate::pump::wheel::DueTimer;
use crate::rules::core_payload::AttemptState;
use crate::types::codes::Code;
use crate::types::flow::{
    Admitted, DoorMessage, JudgedContent, JudgedDocument, PayloadKind, Refused, Ticket, UnmatchedDocument,
};
use crate::types::ids::{AttemptId, Digest, Name, ThreadId};
use crate::types::limits;
use crate::types::ports::{CallBack, LeaseToken, PumpStep};
use crate::types::refusal::Refusal;
use crate::types::schedule::DueTicks;
use crate::types::thread_choice::ThreadChoice;
use crate::types::time::{Millis, spell_duration};

/// Something for the pump.
#[derive(Debug)]
pub enum PumpInput {
    /// Several at once, in order.
    Many(Vec<PumpInput>),
    /// A message from outside, judged.
    Asked(DoorMessage),
    /// A listener's document, judged.
    Judged(JudgedDocument),
    /// A listener's document that belongs to no delivery.
    Stray(UnmatchedDocument),
    /// A delivery that will get no answer any more.
    Gone {
        /// The delivery.
        token: LeaseToken,
        /// The reason.
        code: Code,
        /// The details, in words.
        words: String,
    },
    /// A delivery that its carrier cannot begin, because the listener's program cannot be started.
    Away {
        /// The delivery.
        token: LeaseToken,
        /// The details, in words.
        words: String,
    },
    /// A delivery that its carrier cannot begin just now.
    NotNow {
        /// The delivery.
        token: LeaseToken,
        /// The details, in words.
        words: String,
    },
    /// What the carrier of a listener on other machines found of the deliveries that it expected.
    Adopted {
        /// The listener.
        listener: Name,
        /// Those that are still with the broker or with a worker.
        found: Vec<LeaseToken>,
        /// Why the others must be taken for lost, if they must.
        lost: Option<String>,
    },
    /// A worker on another machine has taken a delivery.
    Taken {
        /// The delivery.
        token: LeaseToken,
        /// How long ago the broker stored it.
        age_ms: u64,
        /// The time of the broker.
        now: Millis,
        /// Whether it lay there for a while before a worker took it.
        has_waited: bool,
    },
    /// What is recorded of an attempt, for a replay.
    Attempting {
        /// The attempt.
        id: AttemptId,
        /// What happened to its attempt.
        state: AttemptState,
    },
    /// A delivery lies with the broker, and no worker takes it.
    Untaken {
        /// The delivery.
        token: LeaseToken,
    },
    /// News from outside of any call. Counted refusals wait here while the pump asks the log for their thread.
    Noticed(PumpNotice),
    /// An order of a client.
    Ordered(ClientOrder),
    /// Ticks of a schedule that are due, while the pump asks the log for the root that they may have opened.
    Ticked(DueTicks),
    /// A timer that is due, while the pump asks the log for its note.
    Ripe(DueTimer),
    /// The answer of the log.
    Found(LogAnswer),
    /// A report of the writer.
    Written(WriteReport),
    /// A thread that judges or reads for the pump panicked. The inputs it was working on are lost.
    Fallen {
        /// The name of that thread.
        who: String,
    },
    /// The organism is about to go on with another configuration: messages are taken, and nothing more is sent. The
    /// asker hears when nothing is out on this machine.
    Hold(Ticket),
    /// The organism stops: it takes nothing new and sends nothing more.
    Stop,
    /// The last record before the log is closed.
    Farewell,
}

impl Engine {
    /// Takes an input.
    pub fn take_input(&mut self, input: PumpInput) {
        match input {
            PumpInput::Written(written) => {
                self.hear_writer(written);
                self.route_recorded();
            }
            PumpInput::Many(inputs) => inputs.into_iter().for_each(|input| self.take_input(input)),
            input if self.ended => self.too_late(&input),
            input => self.take_in(input),
        }
    }

    fn take_in(&mut self, input: PumpInput) {
        match input {
            PumpInput::Many(_) | PumpInput::Written(_) | PumpInput::Ripe(_) | PumpInput::Ticked(_) => {}
            PumpInput::Asked(asked) => self.take_message(asked, None),
            PumpInput::Judged(judged) => self.take_judged(judged),
            PumpInput::Stray(stray) => self.take_event(EventKind::Stray(stray)),
            PumpInput::Noticed(notice) => self.take_event(EventKind::Noticed(notice)),
            PumpInput::Ordered(order) => self.take_order(order),
            PumpInput::Gone { token, code, words } => self.note_gone(&token, (code, words), None),
            PumpInput::Away { token, words } => {
                self.note_gone(&token, (Code::ListenerDown, words), Some(limits::PROGRAM_AWAY));
            }
            PumpInput::NotNow { token, words } => {
                self.note_unreached(&token, words);
                self.dispatch_queue.put_off(&token, self.ticks().add_ms(limits::NOT_NOW_MS));
            }
            PumpInput::Adopted { listener, found, lost } => self.finish_adoption(&listener, found, lost),
            PumpInput::Taken { token, age_ms, now, has_waited } => {
                self.note_taken(&token, age_ms, (now, has_waited));
            }
            PumpInput::Untaken { token } => self.note_untaken(&token),
            PumpInput::Attempting { id, state } => self.goes_through(id, state),
            PumpInput::Found(answered) => {
                self.looking = self.looking.saturating_sub(1);
                self.take_answer(answered);
            }
            // The inputs it was working on would be waited for forever. The next start knows what is owed.
            PumpInput::Fallen { who } => self.broken = Some(format!("{} panicked", who.as_str()).into()),
            PumpInput::Hold(ticket) => self.hold_for_reload(ticket),
            PumpInput::Stop => self.stopping = true,
            PumpInput::Farewell => {
                for telling in self.state.buckets.take_rest() {
                    self.take_event(EventKind::Noticed(PumpNotice::Throttled(telling)));
                }
                let (is_drained, out) = (self.is_drained(), self.due_elsewhere());
                let ending = self.ending;
                self.take_event(EventKind::Stopping { is_drained, out, ending });
                self.ended = true;
                self.turn_away_parked();
            }
        }
    }

    /// After the last record nothing is decided any more. An asker gets a refusal, and so does a listener that
    /// waits for its receipt. What a listener says or owes counts as lost at the next start, as if it had come a
    /// moment later.
    fn too_late(&mut self, input: &PumpInput) {
        match input {
            PumpInput::Judged(JudgedDocument { ticket: Some(ticket), .. })
            | PumpInput::Stray(UnmatchedDocument { ticket: Some(ticket), .. })
            | PumpInput::Asked(DoorMessage { ticket, .. }) => self.turn_away(*ticket),
            PumpInput::Ordered(order) => self.turn_away(order.asker().0),
            PumpInput::Hold(ticket) => self.turn_away(*ticket),
            _ => {}
        }
    }

    /// The log's answers come too late for the inputs that wait for them.
    fn turn_away_parked(&mut self) {
        let mut parked: Vec<_> = std::mem::take(&mut self.parked).into_iter().collect();
        parked.sort_by(|(one, _), (other, _)| one.cmp(other));
        for input in parked.iter().flat_map(|(_, inputs)| inputs) {
            self.too_late(input);
        }
    }

    /// Decides on an order as soon as its thread is in memory.
    fn take_order(&mut self, order: ClientOrder) {
        let order = match order {
            ClientOrder::Schedule(order) if self.stalled.is_none() => return self.order_schedule(order),
            order => order,
        };
        let is_here =
            |id: &&ThreadId| self.state.find_thread(id).is_some() && !self.parked.contains_key(&id.stem());
        let absent = order.thread().filter(|id| !is_here(id)).cloned();
        match absent {
            _ if self.stalled.is_some() => self.turn_away(order.asker().0),
            Some(thread) => self.park_input(LogLookup::Line(thread), PumpInput::Ordered(order)),
            None => self.take_event(EventKind::Ordered(order)),
        }
    }

    /// `looked` is the log's answer, once the log was asked.
    pub(super) fn take_message(&mut self, asked: DoorMessage, looked: Option<Option<BoundKey>>) {
        if self.is_closed().is_some() {
            return self.turn_away(asked.ticket);
        }
        if let Some(bound) = looked {
            // A message that is known gets its receipt again.
            let asked = if bound.is_none() { self.keep_to_bounds(asked) } else { asked };
            return self.take_event(EventKind::Asked { asked, bound });
        }
        // A refused message concerns a thread too: its refusal is recorded there if the thread is alive.
        let lookup = match &asked.thread {
            ThreadChoice::Known(thread) => self.seek_key(thread.clone(), &asked),
            ThreadChoice::New if asked.payload.is_err() => {
                return self.take_event(EventKind::Asked { asked, bound: None });
            }
            ThreadChoice::New | ThreadChoice::Named(_) => {
                let organism = self.state.book.current().map_or_else(Name::new_core, |c| c.organism.clone());
                let sought = asked.seek_root(organism);
                let id = sought.find_id(12);
                let is_here = self.state.find_thread(&id).is_some_and(|thread| thread.is_root_of(&sought));
                match (is_here, &sought.name) {
                    (false, _) => LogLookup::Root(sought),
                    (true, Some(_)) => self.seek_key(id, &asked),
                    (true, None) => return self.take_event(EventKind::Asked { asked, bound: None }),
                }
            }
        };
        self.park_input(lookup, PumpInput::Asked(asked));
    }

    /// Whether a message's key is bound in a thread. A thread that is in memory now is still there when the answer comes,
    /// because an input waits for it.
    fn seek_key(&self, thread: ThreadId, asked: &DoorMessage) -> LogLookup {
        LogLookup::Key {
            line: !self.has_line(&thread),
            thread,
            client: asked.client.clone(),
            key: asked.key.clone(),
        }
    }

    /// A message of a client, or its refusal if its key is reserved, or if the client sends more than its rate, or more than
    /// its place in the queue of the listener.
    fn keep_to_bounds(&mut self, mut asked: DoorMessage) -> DoorMessage {
        if self.client_gates.is_some()
            && let Ok(admitted) = &asked.payload
            && let Some(refusal) = refuse_reserved_key(&asked)
                .or_else(|| self.find_full_queue(&asked.client, admitted))
                .or_else(|| self.find_rate_end(&asked.client))
        {
            asked.payload = Err(Refused { refusal, kept: None });
        }
        asked
    }

    fn find_full_queue(&self, client: &Name, admitted: &Admitted) -> Option<Refusal> {
        let PayloadKind::For(listener) = admitted.what() else { return None };
        let most = self.state.book.current()?.queue_calls;
        let waiting = self.dispatch_queue.count_waiting(listener, client);
        let words = format!("as many calls of {client} wait for {listener} as limits.queue allows: {most}");
        usize::try_from(most).is_ok_and(|most| waiting >= most).then(|| Refusal {
            wait_s: NonZeroU32::new(limits::QUEUE_FULL_S),
            ..Refusal::new(Code::IngressQueue, words)
                .fixed_by("the same with the same key when some of them are done")
        })
    }

    /// The refusal of a message beyond the rate of its client. One that is not refused counts.
    fn find_rate_end(&mut self, client: &Name) -> Option<Refusal> {
        let now = self.ticks();
        let rate = self.state.book.current()?.clients.get(client)?.rate?;
        let gate = self.client_gates.as_mut()?.entry(client.clone()).or_default();
        let wait_ms = gate.find_wait_ms(rate, now);
        if wait_ms == 0 {
            gate.pass(rate, now);
            return None;
        }
        let wait_s = u32::try_from(wait_ms.div_ceil(limits::SECOND_MS)).unwrap_or(u32::MAX);
        let words = format!("{client} may send {rate}, and has sent as much");
        let wait = spell_duration(u64::from(wait_s) * limits::SECOND_MS);
        Some(Refusal {
            wait_s: NonZeroU32::new(wait_s),
            ..Refusal::new(Code::IngressRate, words).fixed_by(format!("the same with the same key in {wait}"))
        })
    }

    fn take_judged(&mut self, mut judged: JudgedDocument) {
        let token = judged.lease.token.clone();
        let is_last = judged.said.is_reply();
        if let JudgedContent::Ask { question, .. } = &mut judged.said {
            self.count_question(&token, question);
            if let Ok(PumpQuestion::PutBlob { bytes }) = question {
                self.note_stored(&token, vec![Digest::hash_bytes(bytes)]);
            }
        }
        let stored = self.dispatch_queue.list_stored(&token);
        if is_last {
            self.heard_from(&judged);
            // A repeated reply ends nothing any more.
            if self.dispatch_queue.end_lease(&token).is_some() || self.elsewhere.is_over(&token) {
                self.ports.leases.retire_lease(&token);
                self.ports.steps.note_step(PumpStep::Released);
            }
        } else {
            let now = self.ticks();
            self.dispatch_queue.renew_lease(&token, now);
        }
        // An open call is in memory. Apart from replies that need their view, only two wait for the log: a late
        // reply, because the log says where to record it, and a reply behind a parked document of the same
        // delivery.
        let thread = judged.lease.id.thread.clone();
        let comes_again = judged.ticket.is_some()
            && is_last
            && self.state.replies.has_reply(&token.0, &judged.lease.listener);
        if comes_again {
            // Its content does not count, so nothing has to be read for it.
            self.take_event(EventKind::Replied(judged));
        } else if let Some(lookup) = self.view_wanted(&judged, &stored) {
            self.park_input(lookup, PumpInput::Judged(judged));
        } else if self.has_line(&thread) && !(is_last && self.has_parked_word(&thread.stem(), &token)) {
            self.take_event(EventKind::Replied(judged));
        } else if is_last || judged.said.waits_for().is_some() || judged.ticket.is_some() {
            self.park_input(LogLookup::Line(thread), PumpInput::Judged(judged));
        }
    }

    /// Most questions leave no record, so only this count keeps one delivery from asking forever. The next page of
    /// a view is not counted: a view ends, and each of its pages is free once.
    fn count_question(&mut self, token: &LeaseToken, question: &mut Result<PumpQuestion, Refused>) {
        if let Ok(PumpQuestion::View { from_seq, .. }) = question
            && self.dispatch_queue.reads_on(token, *from_seq)
        {
            return;
        }
        if self.dispatch_queue.count_asks(token) > limits::ASKS {
            let words = "64 questions were asked in this delivery, the most allowed";
            let refusal = Refusal::new(Code::TooManyItems, words).fixed_by("answer with what you know");
            *question = Err(Refused { refusal, kept: None });
        }
    }

    /// Reports refusals that were only counted, in the thread they belong to.
    fn tell_counts(&mut self, now: Millis) {
        for telling in self.state.buckets.take_due(now) {
            if self.has_line(&telling.place) {
                self.take_event(EventKind::Noticed(PumpNotice::Throttled(telling)));
            } else {
                self.park_input(
                    LogLookup::Line(telling.place.clone()),
                    PumpInput::Noticed(PumpNotice::Throttled(telling)),
                );
            }
        }
    }

    /// Whether a thread is in memory and, if it has ended, its ancestors up to the first living one.
    fn has_line(&self, thread: &ThreadId) -> bool {
        let mut next = Some(thread.clone());
        while let Some(id) = next {
            match self.state.find_thread(&id) {
                None => return false,
                Some(thread) => next = thread.ended.then(|| id.parent()).flatten(),
            }
        }
        true
    }

    fn note_gone(&mut self, token: &LeaseToken, (code, words): (Code, String), outage: Option<&str>) {
        let Some(lease) = self.dispatch_queue.end_lease(token).or_else(|| self.elsewhere.remove_lease(token))
        else {
            return;
        };
        self.ports.leases.retire_lease(token);
        let own = self.state.book.find_listener(lease.config, &lease.listener);
        let then = own
            .filter(|own| self.is_elsewhere(own))
            .map(|_| Effect::LetGo { listener: lease.listener.clone(), token: token.clone() })
            .map(Box::new);
        let lost = LostAttempt::new(&lease.id, code, words, false);
        self.attempt_lost(LostAttempt { then, outage: outage.map(str::to_owned), ..lost });
    }

    /// Time has passed: attempts past their deadline end, timers fire, and work whose pause is over may go out.
    pub fn run_tick(&mut self) {
        let now = self.ticks();
        for (lease, silent) in self.dispatch_queue.take_overdue(now) {
            let listener = self.state.book.find_listener(lease.config, &lease.listener);
            let words = match listener {
                Some(l) if silent => {
                    format!("no sign of life for {}", spell_duration(l.idle_ms.unwrap_or(l.timeout_ms)))
                }
                Some(l) => format!("no reply within {}", spell_duration(l.timeout_ms)),
                None => "no reply".to_owned(),
            };
            // Its worker hears of it once it is on disk: a pump that was ousted must call nothing back.
            let AttemptId { thread, call, .. } = lease.id.clone();
            let then = Some(Box::new(Effect::CallBack { thread, call, why: CallBack::TimedOut }));
            let lost = LostAttempt::new(&lease.id, Code::ListenerTimeout, words, false);
            self.attempt_lost(LostAttempt { then, ..lost });
        }
        self.expire_requests();
        self.elapse_budgets();
        self.tell_counts(now);
        self.fire_ripe();
        self.fire_schedules();
        self.try_waiting();
        self.dispatch_ready();
    }
}

/// The refusal of a key that looks like one of a named thread. Older logs have such keys.
fn refuse_reserved_key(asked: &DoorMessage) -> Option<Refusal> {
    let is_reserved = asked.key.as_str().starts_with('@') && !matches!(asked.thread, ThreadChoice::Named(_));
    is_reserved.then(|| {
        Refusal::new(Code::Invalid, "the key begins with @, as only keys of named threads do")
            .with_received(asked.key.as_str())
            .fixed_by("another key, or the thread @NAME and the key without the name")
    })
}
