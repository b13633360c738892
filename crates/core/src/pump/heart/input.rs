//! What comes in, and what is done with each: deciding, or parking until a thread is awake.

use systole_wire::ask::Question;

use super::{Answered, Heart, Lookup, Written};
use crate::pump::buckets::Telling;
use crate::pump::event::{Bound, Happening, Lost, Pause};
use crate::pump::wheel::Ripe;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::{Asked, Judged, Refused, Said, Ticket, Unconnected};
use crate::types::ids::{Name, ThreadId};
use crate::types::limits;
use crate::types::person::Ruling;
use crate::types::ports::{CallBack, Lease, Step, Token};
use crate::types::refusal::Refusal;
use crate::types::time::{Millis, spoken};

/// The pause before a delivery is handed over again that could not be begun.
const NOT_NOW_MS: u64 = 1_000;

/// Something for the pump.
#[derive(Debug)]
pub enum Input {
    /// Several at once, in order.
    Many(Vec<Input>),
    /// A message from outside, judged.
    Asked(Asked),
    /// A listener's document, judged.
    Judged(Judged),
    /// A listener's document that belongs to no delivery.
    Stray(Unconnected),
    /// A delivery that will not be answered any more.
    Gone {
        /// Which.
        token: Token,
        /// Why.
        code: Code,
        /// What is known.
        words: String,
    },
    /// A delivery that its carrier cannot begin just now.
    NotNow {
        /// Which.
        token: Token,
    },
    /// A listener is ready.
    Joined(Name),
    /// A listener's program ended or does not start.
    Left {
        /// Which.
        listener: Name,
        /// What is known.
        words: String,
    },
    /// A person decides about what waits.
    Ruled(Ruling),
    /// A person halts a thread or lets it go on.
    Pause(Pause),
    /// A person ends a thread with all that is open in it.
    Cancel {
        /// Where the asker waits.
        ticket: Ticket,
        /// Who.
        by: Name,
        /// Which.
        thread: ThreadId,
    },
    /// A person ends a root at rest.
    End {
        /// Where the asker waits.
        ticket: Ticket,
        /// Who.
        by: Name,
        /// Which.
        thread: ThreadId,
    },
    /// Somebody came without a valid credential, so many times since this was last told.
    Knocked {
        /// From where.
        source: std::net::IpAddr,
        /// How often.
        count: u64,
    },
    /// What the broker forbade somebody, or what became of it.
    Broker {
        /// Which of the two.
        code: Code,
        /// Who, what and how often; no secret stands in it.
        words: String,
    },
    /// Refusals that were counted, while the log is asked for the thread they belong to.
    Throttled(Telling),
    /// A timer whose time has come, while the log is asked for its note.
    Ripe(Ripe),
    /// What a look into the log found.
    Found(Answered),
    /// What the writer says.
    Written(Written),
    /// A thread that judges or reads for the pump panicked. What it had in hand is nobody's any more.
    Fallen {
        /// Which.
        who: String,
    },
    /// The organism stops: nothing new is taken and nothing more goes out.
    Stop,
    /// The last word before the log is closed.
    Farewell,
}

impl Heart {
    /// Takes something in.
    pub fn input(&mut self, input: Input) {
        match input {
            Input::Written(written) => {
                self.hear_writer(written);
                self.route_recorded();
            }
            Input::Many(inputs) => inputs.into_iter().for_each(|input| self.input(input)),
            input if self.ended => self.too_late(&input),
            input => self.take_in(input),
        }
    }

    fn take_in(&mut self, input: Input) {
        match input {
            Input::Many(_) | Input::Written(_) | Input::Ripe(_) => {}
            Input::Asked(asked) => self.asked(asked, None),
            Input::Judged(judged) => self.judged(judged),
            Input::Stray(stray) => self.happened(Happening::Stray(stray)),
            Input::Gone { token, code, words } => self.gone(&token, code, words),
            Input::NotNow { token } => self.desk.put_off(&token, self.ticks().plus(NOT_NOW_MS)),
            Input::Joined(listener) => self.happened(Happening::Joined(listener)),
            Input::Left { listener, words } => self.happened(Happening::Left { listener, words }),
            Input::Cancel { ticket, by, thread } => self.cancel(ticket, by, thread),
            Input::End { ticket, by, thread } => self.end(ticket, by, thread),
            Input::Ruled(ruling) => self.ruled(ruling),
            Input::Pause(pause) => self.pause(pause),
            Input::Knocked { source, count } => self.happened(Happening::Knocked { source, count }),
            Input::Broker { code, words } => self.happened(Happening::Broker { code, words }),
            Input::Throttled(telling) => self.happened(Happening::Throttled(telling)),
            Input::Found(answered) => {
                self.looking = self.looking.saturating_sub(1);
                self.found(answered);
            }
            // Whoever waits for what it had in hand would wait for ever; the next start knows what is owed.
            Input::Fallen { who } => self.broken = Some(format!("{} panicked", who.as_str())),
            Input::Stop => self.stopping = true,
            Input::Farewell => {
                for telling in self.state.buckets.rest() {
                    self.happened(Happening::Throttled(telling));
                }
                let mode = if self.is_drained() { core_payload::DRAINED } else { core_payload::DRAIN };
                self.happened(Happening::Stopping { mode });
                self.ended = true;
                self.turn_away_parked();
            }
        }
    }

    /// After the last word nothing is decided any more. Who asks is told, and so is a listener that waits for its
    /// receipt; what a listener says or owes counts as lost at the next start, as if it had come a moment later
    /// still.
    fn too_late(&mut self, input: &Input) {
        if let Input::Judged(Judged { ticket: Some(ticket), .. })
        | Input::Stray(Unconnected { ticket: Some(ticket), .. })
        | Input::Asked(Asked { ticket, .. })
        | Input::Cancel { ticket, .. }
        | Input::End { ticket, .. }
        | Input::Ruled(Ruling { ticket, .. })
        | Input::Pause(Pause { ticket, .. }) = input
        {
            self.turn_away(*ticket);
        }
    }

    /// What the log says comes too late for whatever waits for it.
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
            self.happened(Happening::Cancel { ticket, by, thread });
        } else {
            self.park(Lookup::Line(thread.clone()), Input::Cancel { ticket, by, thread });
        }
    }

    fn end(&mut self, ticket: Ticket, by: Name, thread: ThreadId) {
        if self.stalled.is_some() {
            self.turn_away(ticket);
        } else if self.state.thread(&thread).is_some() && !self.parked.contains_key(&thread.stem()) {
            self.happened(Happening::End { ticket, by, thread });
        } else {
            self.park(Lookup::Line(thread.clone()), Input::End { ticket, by, thread });
        }
    }

    /// What waits for a person is in memory.
    fn ruled(&mut self, ruling: Ruling) {
        if self.stalled.is_some() {
            self.turn_away(ruling.ticket);
        } else {
            self.happened(Happening::Ruled(ruling));
        }
    }

    fn pause(&mut self, pause: Pause) {
        let known = pause
            .thread
            .as_ref()
            .is_none_or(|id| self.state.thread(id).is_some() && !self.parked.contains_key(&id.stem()));
        match pause.thread.clone() {
            _ if self.stalled.is_some() => self.turn_away(pause.ticket),
            Some(thread) if !known => self.park(Lookup::Line(thread), Input::Pause(pause)),
            _ => self.happened(Happening::Pause(pause)),
        }
    }

    /// `looked` is what the log knows, once it was asked.
    pub(super) fn asked(&mut self, asked: Asked, looked: Option<Option<Bound>>) {
        if self.is_closed().is_some() {
            return self.turn_away(asked.ticket);
        }
        if let Some(bound) = looked {
            return self.happened(Happening::Asked { asked, bound });
        }
        // A refused message concerns a thread too: its refusal is recorded there if the thread lives.
        let lookup = match &asked.thread {
            // What is in memory now is there when the answer comes, because something waits for it.
            Some(thread) => Lookup::Key {
                line: !self.has_line(thread),
                thread: thread.clone(),
                client: asked.client.clone(),
                key: asked.key.clone(),
            },
            None if asked.payload.is_err() => return self.happened(Happening::Asked { asked, bound: None }),
            None => {
                let organism = self.state.book.current().map_or_else(Name::core, |c| c.organism.clone());
                let id = ThreadId::root(&organism, &asked.client, &asked.key, 12);
                let known = self.state.thread(&id).and_then(|t| t.opener.as_ref());
                if known.is_some_and(|o| o.sender == asked.client && o.key.as_ref() == Some(&asked.key)) {
                    return self.happened(Happening::Asked { asked, bound: None });
                }
                Lookup::Root { organism, client: asked.client.clone(), key: asked.key.clone() }
            }
        };
        self.park(lookup, Input::Asked(asked));
    }

    fn judged(&mut self, mut judged: Judged) {
        let token = judged.lease.token.clone();
        let is_last = judged.said.is_reply();
        if let Said::Ask { question, .. } = &mut judged.said {
            self.count_question(&token, question);
        }
        if is_last {
            // A reply that comes again ends nothing any more.
            if self.desk.over(&token).is_some() {
                self.ports.leases.retire(&token);
                self.ports.steps.passed(Step::Released);
            }
        } else {
            let now = self.ticks();
            self.desk.renewed(&token, now);
        }
        // A call that is open is in memory: beside replies that ask for their view only a late one waits
        // for the log, which says where it is recorded, and one behind which it came.
        let thread = judged.lease.thread.clone();
        let comes_again =
            judged.ticket.is_some() && is_last && self.state.replies.has(&token.0, &judged.lease.listener);
        if comes_again {
            // What is in it counts for nothing, so nothing has to be read for it.
            self.happened(Happening::Replied(judged));
        } else if let Some(lookup) = self.view_wanted(&judged) {
            self.park(lookup, Input::Judged(judged));
        } else if self.has_line(&thread) && !(is_last && self.has_parked_word(&thread.stem(), &token)) {
            self.happened(Happening::Replied(judged));
        } else if is_last || judged.said.waits_for().is_some() || judged.ticket.is_some() {
            self.park(Lookup::Line(thread), Input::Judged(judged));
        }
    }

    /// Most questions leave no record, so nothing but this count keeps one delivery from asking for ever. The next
    /// page of a view is not counted: a view ends, and each page of it is free once.
    fn count_question(&mut self, token: &Token, question: &mut Result<Question, Refused>) {
        if let Ok(Question::View { from_seq, .. }) = question
            && self.desk.reads_on(token, *from_seq)
        {
            return;
        }
        if self.desk.asks(token) > limits::ASKS {
            let words = "64 questions were asked in this delivery, the most that are answered";
            let refusal = Refusal::new(Code::TooManyItems, words).mended_by("answer with what you know");
            *question = Err(Refused { refusal, kept: None });
        }
    }

    /// Has refusals that were only counted told by their number, in the thread they belong to.
    fn tell_counts(&mut self, now: Millis) {
        for telling in self.state.buckets.due(now) {
            if self.has_line(&telling.place) {
                self.happened(Happening::Throttled(telling));
            } else {
                self.park(Lookup::Line(telling.place.clone()), Input::Throttled(telling));
            }
        }
    }

    /// Whether a thread is in memory and, if it has ended, those above it up to the first that lives.
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

    fn gone(&mut self, token: &Token, code: Code, words: String) {
        let Some(lease) = self.desk.over(token) else { return };
        self.ports.leases.retire(token);
        self.lost(&lease, code, words, false);
    }

    pub(super) fn lost(&mut self, lease: &Lease, code: Code, words: String, with_pump: bool) {
        self.attempt_lost(Lost {
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

    /// Time has passed: attempts past their deadline are over, timers fire, and work whose pause is over may go.
    pub fn tick(&mut self) {
        let now = self.ticks();
        for (lease, silent) in self.desk.overdue(now) {
            self.ports.carrier.call_back(&lease.token, CallBack::TimedOut);
            let listener = self.state.book.listener(lease.config, &lease.listener);
            let (what, limit) = match listener {
                Some(l) if silent => ("no sign of life for ", l.idle_ms.unwrap_or(l.timeout_ms)),
                Some(l) => ("no reply within ", l.timeout_ms),
                None => ("no reply", 0),
            };
            let words = [what, &spoken(limit)].concat();
            self.lost(&lease, Code::ListenerTimeout, words, false);
        }
        self.expire();
        self.elapse();
        self.tell_counts(now);
        self.fire_ripe();
        self.dispatch();
    }
}
