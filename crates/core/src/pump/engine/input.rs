//! What comes in, and what happens to each input: it is decided on, or parked until a thread is in memory.

use systole_wire::ask::PumpQuestion;

use super::{Engine, LogAnswer, Lookup, WriteReport};
use crate::pump::buckets::DueReport;
use crate::pump::event::{BoundKey, EventKind, LostAttempt, PauseOrder};
use crate::pump::wheel::DueTimer;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::{DoorMessage, JudgedContent, JudgedDocument, Refused, Ticket, UnmatchedDocument};
use crate::types::ids::{Name, ThreadId};
use crate::types::limits;
use crate::types::person::Ruling;
use crate::types::ports::{CallBack, Lease, LeaseToken, PumpStep};
use crate::types::refusal::Refusal;
use crate::types::time::{Millis, spoken};

/// The pause before a delivery that its carrier could not begin is handed over again.
const NOT_NOW_MS: u64 = 1_000;

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
    /// A delivery that its carrier cannot begin just now.
    NotNow {
        /// The delivery.
        token: LeaseToken,
    },
    /// A listener is ready.
    Joined(Name),
    /// A listener's program ended or does not start.
    Left {
        /// The listener.
        listener: Name,
        /// The details, in words.
        words: String,
    },
    /// A person decides about something that waits.
    Ruled(Ruling),
    /// A person pauses or resumes a thread.
    Pause(PauseOrder),
    /// A person ends a thread and everything that is open in it.
    Cancel {
        /// The asker's ticket.
        ticket: Ticket,
        /// The client that asks.
        by: Name,
        /// The thread.
        thread: ThreadId,
    },
    /// A person ends a root at rest.
    End {
        /// The asker's ticket.
        ticket: Ticket,
        /// The client that asks.
        by: Name,
        /// The thread.
        thread: ThreadId,
    },
    /// Requests came without a valid credential, this many since the last report.
    Knocked {
        /// The address they came from.
        source: std::net::IpAddr,
        /// The count.
        count: u64,
    },
    /// The broker refused something, or died.
    Broker {
        /// The code of a refusal, or of its death.
        code: Code,
        /// Who, what and how often; contains no secret.
        words: String,
    },
    /// Counted refusals, while the pump asks the log for the thread they belong to.
    Throttled(DueReport),
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
    /// The organism stops: it takes nothing new and sends nothing more.
    Stop,
    /// The last record before the log is closed.
    Farewell,
}

impl Engine {
    /// Takes an input.
    pub fn input(&mut self, input: PumpInput) {
        match input {
            PumpInput::Written(written) => {
                self.hear_writer(written);
                self.route_recorded();
            }
            PumpInput::Many(inputs) => inputs.into_iter().for_each(|input| self.input(input)),
            input if self.ended => self.too_late(&input),
            input => self.take_in(input),
        }
    }

    fn take_in(&mut self, input: PumpInput) {
        match input {
            PumpInput::Many(_) | PumpInput::Written(_) | PumpInput::Ripe(_) => {}
            PumpInput::Asked(asked) => self.asked(asked, None),
            PumpInput::Judged(judged) => self.judged(judged),
            PumpInput::Stray(stray) => self.happened(EventKind::Stray(stray)),
            PumpInput::Gone { token, code, words } => self.gone(&token, code, words),
            PumpInput::NotNow { token } => self.dispatch_queue.put_off(&token, self.ticks().plus(NOT_NOW_MS)),
            PumpInput::Joined(listener) => self.happened(EventKind::Joined(listener)),
            PumpInput::Left { listener, words } => self.happened(EventKind::Left { listener, words }),
            PumpInput::Cancel { ticket, by, thread } => self.cancel(ticket, by, thread),
            PumpInput::End { ticket, by, thread } => self.end(ticket, by, thread),
            PumpInput::Ruled(ruling) => self.ruled(ruling),
            PumpInput::Pause(pause) => self.pause(pause),
            PumpInput::Knocked { source, count } => self.happened(EventKind::Knocked { source, count }),
            PumpInput::Broker { code, words } => self.happened(EventKind::Broker { code, words }),
            PumpInput::Throttled(telling) => self.happened(EventKind::Throttled(telling)),
            PumpInput::Found(answered) => {
                self.looking = self.looking.saturating_sub(1);
                self.found(answered);
            }
            // The inputs it was working on would be waited for forever. The next start knows what is owed.
            PumpInput::Fallen { who } => self.broken = Some(format!("{} panicked", who.as_str())),
            PumpInput::Stop => self.stopping = true,
            PumpInput::Farewell => {
                for telling in self.state.buckets.rest() {
                    self.happened(EventKind::Throttled(telling));
                }
                let mode = if self.is_drained() { core_payload::DRAINED } else { core_payload::DRAIN };
                self.happened(EventKind::Stopping { mode });
                self.ended = true;
                self.turn_away_parked();
            }
        }
    }

    /// After the last record nothing is decided any more. An asker gets a refusal, and so does a listener that
    /// waits for its receipt. What a listener says or owes counts as lost at the next start, as if it had come a
    /// moment later.
    fn too_late(&mut self, input: &PumpInput) {
        if let PumpInput::Judged(JudgedDocument { ticket: Some(ticket), .. })
        | PumpInput::Stray(UnmatchedDocument { ticket: Some(ticket), .. })
        | PumpInput::Asked(DoorMessage { ticket, .. })
        | PumpInput::Cancel { ticket, .. }
        | PumpInput::End { ticket, .. }
        | PumpInput::Ruled(Ruling { ticket, .. })
        | PumpInput::Pause(PauseOrder { ticket, .. }) = input
        {
            self.turn_away(*ticket);
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

    fn cancel(&mut self, ticket: Ticket, by: Name, thread: ThreadId) {
        if self.stalled.is_some() {
            self.turn_away(ticket);
        } else if self.state.thread(&thread).is_some() && !self.parked.contains_key(&thread.stem()) {
            self.happened(EventKind::Cancel { ticket, by, thread });
        } else {
            self.park(Lookup::Line(thread.clone()), PumpInput::Cancel { ticket, by, thread });
        }
    }

    fn end(&mut self, ticket: Ticket, by: Name, thread: ThreadId) {
        if self.stalled.is_some() {
            self.turn_away(ticket);
        } else if self.state.thread(&thread).is_some() && !self.parked.contains_key(&thread.stem()) {
            self.happened(EventKind::End { ticket, by, thread });
        } else {
            self.park(Lookup::Line(thread.clone()), PumpInput::End { ticket, by, thread });
        }
    }

    /// Everything that waits for a person is in memory.
    fn ruled(&mut self, ruling: Ruling) {
        if self.stalled.is_some() {
            self.turn_away(ruling.ticket);
        } else {
            self.happened(EventKind::Ruled(ruling));
        }
    }

    fn pause(&mut self, pause: PauseOrder) {
        let known = pause
            .thread
            .as_ref()
            .is_none_or(|id| self.state.thread(id).is_some() && !self.parked.contains_key(&id.stem()));
        match pause.thread.clone() {
            _ if self.stalled.is_some() => self.turn_away(pause.ticket),
            Some(thread) if !known => self.park(Lookup::Line(thread), PumpInput::Pause(pause)),
            _ => self.happened(EventKind::Pause(pause)),
        }
    }

    /// `looked` is the log's answer, once the log was asked.
    pub(super) fn asked(&mut self, asked: DoorMessage, looked: Option<Option<BoundKey>>) {
        if self.is_closed().is_some() {
            return self.turn_away(asked.ticket);
        }
        if let Some(bound) = looked {
            return self.happened(EventKind::Asked { asked, bound });
        }
        // A refused message concerns a thread too: its refusal is recorded there if the thread is alive.
        let lookup = match &asked.thread {
            // A thread that is in memory now is still there when the answer comes, because an input waits for it.
            Some(thread) => Lookup::Key {
                line: !self.has_line(thread),
                thread: thread.clone(),
                client: asked.client.clone(),
                key: asked.key.clone(),
            },
            None if asked.payload.is_err() => return self.happened(EventKind::Asked { asked, bound: None }),
            None => {
                let organism = self.state.book.current().map_or_else(Name::core, |c| c.organism.clone());
                let id = ThreadId::root(&organism, &asked.client, &asked.key, 12);
                let known = self.state.thread(&id).and_then(|t| t.opener.as_ref());
                if known.is_some_and(|o| o.sender == asked.client && o.key.as_ref() == Some(&asked.key)) {
                    return self.happened(EventKind::Asked { asked, bound: None });
                }
                Lookup::Root { organism, client: asked.client.clone(), key: asked.key.clone() }
            }
        };
        self.park(lookup, PumpInput::Asked(asked));
    }

    fn judged(&mut self, mut judged: JudgedDocument) {
        let token = judged.lease.token.clone();
        let is_last = judged.said.is_reply();
        if let JudgedContent::Ask { question, .. } = &mut judged.said {
            self.count_question(&token, question);
        }
        if is_last {
            // A repeated reply ends nothing any more.
            if self.dispatch_queue.over(&token).is_some() {
                self.ports.leases.retire(&token);
                self.ports.steps.passed(PumpStep::Released);
            }
        } else {
            let now = self.ticks();
            self.dispatch_queue.renewed(&token, now);
        }
        // An open call is in memory. Apart from replies that need their view, only two wait for the log: a late
        // reply, because the log says where to record it, and a reply behind a parked document of the same
        // delivery.
        let thread = judged.lease.thread.clone();
        let comes_again =
            judged.ticket.is_some() && is_last && self.state.replies.has(&token.0, &judged.lease.listener);
        if comes_again {
            // Its content does not count, so nothing has to be read for it.
            self.happened(EventKind::Replied(judged));
        } else if let Some(lookup) = self.view_wanted(&judged) {
            self.park(lookup, PumpInput::Judged(judged));
        } else if self.has_line(&thread) && !(is_last && self.has_parked_word(&thread.stem(), &token)) {
            self.happened(EventKind::Replied(judged));
        } else if is_last || judged.said.waits_for().is_some() || judged.ticket.is_some() {
            self.park(Lookup::Line(thread), PumpInput::Judged(judged));
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
        if self.dispatch_queue.asks(token) > limits::ASKS {
            let words = "64 questions were asked in this delivery, the most allowed";
            let refusal = Refusal::new(Code::TooManyItems, words).fixed_by("answer with what you know");
            *question = Err(Refused { refusal, kept: None });
        }
    }

    /// Reports refusals that were only counted, in the thread they belong to.
    fn tell_counts(&mut self, now: Millis) {
        for telling in self.state.buckets.due(now) {
            if self.has_line(&telling.place) {
                self.happened(EventKind::Throttled(telling));
            } else {
                self.park(Lookup::Line(telling.place.clone()), PumpInput::Throttled(telling));
            }
        }
    }

    /// Whether a thread is in memory and, if it has ended, its ancestors up to the first living one.
    fn has_line(&self, thread: &ThreadId) -> bool {
        let mut next = Some(thread.clone());
        while let Some(id) = next {
            match self.state.thread(&id) {
                None => return false,
                Some(thread) => next = thread.ended.then(|| id.parent()).flatten(),
            }
        }
        true
    }

    fn gone(&mut self, token: &LeaseToken, code: Code, words: String) {
        let Some(lease) = self.dispatch_queue.over(token) else { return };
        self.ports.leases.retire(token);
        self.lost(&lease, code, words, false);
    }

    pub(super) fn lost(&mut self, lease: &Lease, code: Code, words: String, with_pump: bool) {
        self.attempt_lost(LostAttempt {
            thread: lease.thread.clone(),
            call: lease.call.clone(),
            turn: lease.turn,
            attempt: lease.attempt,
            code,
            words,
            with_pump,
            request: None,
        });
    }

    /// Time has passed: attempts past their deadline end, timers fire, and work whose pause is over may go out.
    pub fn tick(&mut self) {
        let now = self.ticks();
        for (lease, silent) in self.dispatch_queue.overdue(now) {
            self.ports.carrier.call_back(&lease.token, CallBack::TimedOut);
            let listener = self.state.book.listener(lease.config, &lease.listener);
            let words = match listener {
                Some(l) if silent => {
                    format!("no sign of life for {}", spoken(l.idle_ms.unwrap_or(l.timeout_ms)))
                }
                Some(l) => format!("no reply within {}", spoken(l.timeout_ms)),
                None => "no reply".to_owned(),
            };
            self.lost(&lease, Code::ListenerTimeout, words, false);
        }
        self.expire();
        self.elapse();
        self.tell_counts(now);
        self.fire_ripe();
        self.dispatch();
    }
}
