//! Messages between the pump and the others: deliveries and call-backs to listeners, answers to clients,
//! and what both send back.

use std::sync::Arc;

use sha2::Digest as _;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::PumpNotice;
use systole_core::pump::pausing::find_halt;
use systole_core::types::codes::Code;
use systole_core::types::composition::OnUnknown;
use systole_core::types::flow::{JudgedDocument, PayloadKind, Receipt, Refused, Ticket, UnmatchedDocument};
use systole_core::types::ids::{AttemptId, Key, Name, ThreadId};
use systole_core::types::ports::{
    CallBack, Delivery, Lease, LeaseToken, Leases as _, LogReader as _, Position,
};
use systole_core::types::refusal::Refusal;
use systole_kit::pump_documents::PumpAnswer;

use super::{Due, World};
use crate::cast;
use crate::clients::Word;
use crate::listeners::{End, Speech};
use crate::outside::Sent;
use crate::plant::Plant;
use crate::watch::deliveries::Way;

impl World {
    /// A client's letter reaches the pump, if there is one.
    pub(super) fn arrives(&mut self, ticket: Ticket) {
        if self.life.is_none() {
            return;
        }
        if let Some(mut input) = self.crowd.opened(ticket) {
            let is_again = !self.asked.insert(ticket);
            if self.plant == Some(Plant::WordTwice) && is_again {
                take_for_another(&mut input);
            }
            self.count(if matches!(input, PumpInput::Asked(_)) { "requests" } else { "orders" });
            self.input(input);
        }
    }

    /// Reports something that concerns no call: the pump records it.
    pub(super) fn told(&mut self) {
        let listener = cast::name(cast::TOOL);
        let source = std::net::IpAddr::from([127, 0, 0, 1]);
        let input = match self.throws.network.below(4) {
            0 => PumpInput::Noticed(PumpNotice::Joined { listener, sandbox: None, files: Vec::new() }),
            1 => PumpInput::Noticed(PumpNotice::Left { listener, words: "exited 1".to_owned() }),
            2 => PumpInput::Noticed(PumpNotice::Knocked { source, count: 3 }),
            _ => {
                self.count("threads of the program that fell");
                PumpInput::Fallen { who: "a judge".to_owned() }
            }
        };
        self.input(input);
    }

    /// Takes an output of the engine.
    pub(super) fn takes(&mut self, sent: Sent) {
        self.given.update(sent.name());
        match sent {
            Sent::Handed(delivery) => self.handed(&delivery),
            Sent::CalledBack(token, why) => self.called_back(token, why),
            // Only a start names them, before the carriers begin.
            Sent::Expected(..) => {}
            Sent::LetGo(listener, token) => self.lets_go(&listener, &token),
            Sent::Answered(answer) => self.answered(&answer),
            Sent::Receipt(ticket, receipt, position) => self.receipt(ticket, receipt, position),
            Sent::Refused(ticket, refusal) if self.answers_worker(ticket, Some(refusal.code)) => {}
            Sent::Done(ticket) if self.answers_worker(ticket, None) => {}
            Sent::Refused(ticket, refusal) => {
                self.count("refusals to clients");
                self.refused(ticket, refusal.code);
                self.tells(ticket, Word::Refused(refusal.code));
            }
            Sent::Done(ticket) => {
                self.done(ticket);
                self.tells(ticket, Word::Done);
            }
        }
    }

    /// Letters name threads that were on disk when they were written, or one that never exists. A client
    /// that does not operate others' threads gets the same answer for them as for that one.
    fn refused(&mut self, ticket: Ticket, code: Code) {
        let named = self.crowd.thread_of(ticket).and_then(|id| self.folds.durable().get(id));
        let opener = |id: &ThreadId| Some(&self.folds.durable().get(&id.root_of())?.opener.as_ref()?.sender);
        let client = self.crowd.client_of(ticket);
        let may_act = |id: &ThreadId| client.is_some_and(cast::operates) || opener(id) == client;
        if let Some(thread) = named.filter(|thread| code == Code::UnknownThread && may_act(&thread.id)) {
            let words = format!("{} is said to be unknown, and is on disk", thread.id);
            self.find("known", words);
        }
    }

    /// A completed order has ended its thread.
    fn done(&mut self, ticket: Ticket) {
        let Some(named) = self.crowd.ends(ticket) else { return };
        if !self.folds.durable().get(named).is_some_and(|thread| thread.ended) {
            let words = format!("{named} is said to be cancelled, and on disk it has not ended");
            self.find("cancelled", words);
        }
    }

    /// A receipt means: on disk.
    fn receipt(&mut self, ticket: Ticket, receipt: Receipt, position: Option<Position>) {
        let found = self.disk.log().of_thread(&receipt.thread, receipt.seq, 1).unwrap_or_default();
        let stored = found.first().filter(|(_, record)| record.header.id == receipt.id).map(|(at, _)| *at);
        match (stored, position) {
            (None, _) => {
                let words = format!("a receipt names record {} of {}", receipt.seq, receipt.thread);
                self.find("receipt", words + ", which is not on disk");
            }
            (Some(at), Some(said)) if at != said => {
                self.find("receipt", format!("a receipt says position {}, and it is {}", said.0, at.0));
            }
            (Some(_), _) => {}
        }
        let position = position.or(stored).unwrap_or_default();
        self.count(if receipt.repeated { "repeated receipts" } else { "receipts" });
        self.tells(ticket, Word::Receipt(receipt, position));
    }

    fn tells(&mut self, ticket: Ticket, word: Word) {
        self.asked.remove(&ticket);
        let dice = &mut self.throws.network;
        if !dice.permille(self.weather.lost) {
            let after = dice.delay_ms(50);
            self.agenda.after(after, Due::ClientHears(ticket, word));
        }
    }

    /// A delivery reaches its listener, which runs its script.
    fn handed(&mut self, delivery: &Delivery) {
        self.count("deliveries");
        let lease = &delivery.lease;
        let on_disk = self.folds.durable().get(&lease.id.thread);
        let seated = self.current.find_listener(&lease.listener);
        let page = self.compositions.iter().find(|page| page.hash == lease.config);
        let pinned = page.and_then(|page| page.find_listener(&lease.listener));
        let carrier = self.life.as_ref().and_then(|life| life.carriers.get(&lease.listener));
        let way = match carrier {
            Some(carrier) if carrier.has_found(&lease.token) => Way::TakenUp,
            Some(_) => Way::Elsewhere,
            None => Way::Here,
        };
        let is_kept = seated.is_none() && carrier.is_some();
        let seated = if is_kept { pinned } else { seated };
        let wrong = self.deliveries.goes_out(delivery, on_disk, (seated, pinned), way);
        // A delivery that was recorded before it is sent already counts as out, and so does a new number.
        let call = on_disk.and_then(|thread| thread.calls.get(&lease.id.call));
        let is_recorded = call.is_some_and(|call| lease.id.attempt > 1 && call.attempts == lease.id.attempt);
        let is_promised = pinned.is_some_and(|l| l.on_unknown != OnUnknown::Retry)
            || way == Way::TakenUp
            || self.deliveries.is_promised(&lease.token);
        wrong.into_iter().for_each(|(rule, words)| self.find(rule, words));
        let halted = find_halt(|id| self.folds.durable().get(id), &lease.id.thread);
        if let Some((by, _)) = halted.filter(|_| !is_promised) {
            self.find("paused", format!("{} goes out, and {by} is paused on disk", lease.token.0));
        }
        if !is_promised && !is_recorded && self.life.as_ref().is_some_and(|life| life.drained_ms.is_some()) {
            self.find("drain", format!("{} goes out after the pump was told to stop", lease.token.0));
        }
        if way != Way::Here {
            return self.handed_remote(delivery);
        }
        self.works_here(delivery);
    }

    /// A listener on the pump's machine runs its script.
    fn works_here(&mut self, delivery: &Delivery) {
        let lease = &delivery.lease;
        if self.cannot_start(lease) {
            return;
        }
        let script = self.script(delivery);
        let life = self.lives;
        for (after_ms, speech) in script.signs {
            let lease = lease.clone();
            self.agenda.after(after_ms, Due::Speaks { life, lease, speech, is_undead: false });
        }
        let hangs = matches!(script.end, End::Hangs);
        self.running.insert(lease.token.clone(), (lease.clone(), hangs));
        match script.end {
            End::Hangs => self.count("listeners that hung"),
            End::Dies(code) => {
                self.count("listeners that died");
                let token = lease.token.clone();
                self.agenda.after(script.after_ms, Due::Ends { life, token, code });
            }
            End::Speaks(speech) => {
                let dice = &mut self.throws.listeners;
                // Only the listener knows whether it outlives the pump.
                let is_undead = dice.permille(self.weather.undead);
                if dice.permille(self.weather.repeated) {
                    let again_ms = script.after_ms + dice.delay_ms(2_000);
                    let (lease, speech) = (lease.clone(), speech.clone());
                    self.agenda.after(again_ms, Due::Speaks { life, lease, speech, is_undead: true });
                }
                let lease = lease.clone();
                self.agenda.after(script.after_ms, Due::Speaks { life, lease, speech, is_undead });
            }
        }
    }

    /// A confirmed entry is on disk, as long as its attempt is the due one.
    fn answered(&mut self, answer: &PumpAnswer) {
        self.count("answers to listeners at work");
        let [thread, call, turn, attempt] = answer.delivery.split(' ').collect::<Vec<_>>()[..] else {
            return;
        };
        let thread = self.folds.durable().get(thread);
        let call = thread.and_then(|thread| thread.calls.get(call)).filter(|_| answer.payload.is_none());
        let (Ok(turn), Ok(attempt)) = (turn.parse(), attempt.parse()) else { return };
        let is_there = call
            .filter(|call| call.is_due(turn, attempt))
            .is_none_or(|call| call.journal.find_entry(answer.id).is_some());
        if !is_there {
            let words = format!("entry {} of {} is confirmed, and not on disk", answer.id, answer.delivery);
            self.find("confirmed", words);
        }
    }

    /// The pump cancels a delivery. A listener may stop at once, or go on until it is done.
    fn called_back(&mut self, token: LeaseToken, why: CallBack) {
        self.count("call-backs");
        if self.calls_back_remote(&token, why) {
            return;
        }
        let Some((_, hangs)) = self.running.get(&token) else { return };
        if *hangs && self.plant == Some(Plant::KeptSlot) {
            return;
        }
        let dice = &mut self.throws.listeners;
        if *hangs || !dice.permille(self.weather.stubborn) {
            let code = match why {
                CallBack::Cancelled => Code::CancelledThread,
                CallBack::TimedOut => Code::ListenerTimeout,
            };
            let after_ms = dice.delay_ms(500);
            self.agenda.after(after_ms, Due::Ends { life: self.lives, token, code });
        }
    }

    /// A carrier reports that a delivery is over without an answer.
    pub(super) fn ends(&mut self, life: u64, token: LeaseToken, code: Code) {
        let Some(lease) = self.over_here(life, &token) else { return };
        if matches!(code, Code::ListenerFailed | Code::ListenerSilent | Code::ListenerDown) {
            self.deliveries.failed_openly(&lease);
        }
        self.input(PumpInput::Gone { token, code, words: "as drawn".to_owned() });
    }

    /// A delivery on this machine is over, if it was out.
    pub(super) fn over_here(&mut self, life: u64, token: &LeaseToken) -> Option<Arc<Lease>> {
        self.life.as_ref().filter(|now| now.number == life)?;
        let (lease, _) = self.running.remove(token)?;
        self.deliveries.over(token);
        Some(lease)
    }

    /// A listener's document comes in through the door, which looks for its lease.
    pub(super) fn speaks(&mut self, life: u64, lease: &Arc<Lease>, speech: &Speech, is_undead: bool) {
        let Some(now) = &self.life else { return };
        let is_own = now.number == life;
        if !is_own && !is_undead {
            return;
        }
        let is_last = speech.is_last();
        let was_running = is_own && self.running.contains_key(&lease.token);
        if is_own && !was_running && !is_undead {
            return;
        }
        let known = now.leases.find_lease(&lease.token.0).filter(|known| known.listener == lease.listener);
        if is_last && self.running.remove(&lease.token).is_some() {
            self.deliveries.over(&lease.token);
        } else if is_last {
            self.count("replies that came late or again");
        }
        let Some(mut known) = known else {
            self.count("replies to another life");
            return self.input(stray(&lease.listener, None, None));
        };
        if speech.fails_openly() {
            self.deliveries.failed_openly(&known);
        }
        if self.plant == Some(Plant::ReplyTwice) && is_last && !was_running {
            let id = AttemptId { turn: known.id.turn + 1, attempt: 1, ..known.id.clone() };
            known = Arc::new(Lease { id, ..(*known).clone() });
        }
        self.input(PumpInput::Judged(JudgedDocument {
            lease: known,
            said: speech.said(),
            claimed: None,
            ticket: None,
        }));
    }
}

/// A steering message that comes again under another key.
fn take_for_another(input: &mut PumpInput) {
    if let PumpInput::Asked(asked) = input
        && asked.payload.as_ref().is_ok_and(|admitted| matches!(admitted.what(), PayloadKind::Steer { .. }))
        && let Ok(other) = Key::parse(&format!("{}-again", asked.key.as_str()))
    {
        asked.key = other;
    }
}

/// A document that belongs to no delivery.
pub(super) fn stray(listener: &Name, replies_to: Option<String>, ticket: Option<Ticket>) -> PumpInput {
    let words = "the reply names a delivery that is over, or that was never yours";
    let refused = Refused { refusal: Refusal::new(Code::StaleLease, words), kept: None };
    PumpInput::Stray(UnmatchedDocument {
        listener: listener.clone(),
        refused,
        waits: None,
        replies_to,
        ticket,
    })
}
