//! A pump that is held, like a process that gets SIGSTOP: another one takes its log over and goes on. When the first
//! one wakes it does not know yet, hears what workers said in between, and sees that its time has passed. Nothing that
//! it decides is on disk, so nothing of it may reach a client, the stream or a worker.

use systole_core::pump::engine::{PumpInput, WriteReport};
use systole_core::pump::event::ClientOrder;
use systole_core::types::flow::{JudgedDocument, Ticket};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{Delivery, LeaseToken, Leases as _, Position};

use super::life::Life;
use super::{Due, World};
use crate::broker::{Published, StoredDelivery};
use crate::outside::Sent;
use crate::plant::Plant;

/// The ticket of an order that only the held pump gets.
const NO_TICKET: Ticket = Ticket(u64::MAX);

impl World {
    /// Whether a life that would end by a kill is held instead.
    pub(super) fn holds(&mut self) -> bool {
        let is_remote = self.life.as_ref().is_some_and(|life| !life.carriers.is_empty());
        is_remote && self.throws.remote.permille(self.weather.held)
    }

    /// The pump stops in the middle of everything, and another one starts.
    pub(super) fn is_held(&mut self) {
        self.count("pumps that were held");
        if let Some(life) = self.ends_life() {
            self.held = Some(Box::new(life));
            let after_ms = self.throws.remote.delay_ms(8_000);
            self.agenda.after(after_ms, Due::Wakes);
        }
    }

    /// The held pump goes on.
    pub(super) fn wakes(&mut self) {
        let Some(mut held) = self.held.take() else { return };
        if self.life.as_ref().is_none_or(|now| now.number <= held.number) {
            self.held = Some(held);
            return self.agenda.after(500, Due::Wakes);
        }
        self.count("pumps that woke when another had taken over");
        let steps = self.outside.pauses_steps();
        held.engine.run_tick();
        self.judges_ousted(&mut held);
        for input in self.said_to(&held) {
            held.engine.take_input(input);
            held.engine.run_tick();
            self.judges_ousted(&mut held);
        }
        // Its writer cannot write any more.
        if held.scribe.is_some() || held.engine.next_batch().is_some() {
            held.engine.take_input(PumpInput::Written(WriteReport::Broken(
                "another pump has the log".to_owned().into(),
            )));
            self.judges_ousted(&mut held);
        }
        self.outside.resumes_steps(steps);
    }

    /// What reaches the pump that woke: the replies of workers, reports that one is silent, an order to cancel.
    fn said_to(&mut self, held: &Life) -> Vec<PumpInput> {
        let replies = self.remote.workers.iter().filter_map(|(token, worker)| Some((token, worker.reply()?)));
        let replies = replies.filter_map(|(token, said)| Some((held.leases.find_lease(&token.0)?, said)));
        let judged = |(lease, said)| {
            PumpInput::Judged(JudgedDocument { lease, said, claimed: None, ticket: Some(NO_TICKET) })
        };
        let mut inputs: Vec<PumpInput> = replies.map(judged).collect();
        let out: Vec<LeaseToken> =
            held.carriers.values().flat_map(|carrier| carrier.out.keys()).cloned().collect();
        inputs.extend(out.into_iter().map(|token| {
            let (code, words) =
                (systole_core::types::codes::Code::ListenerLost, "no sign of life".to_owned());
            PumpInput::Gone { token, code, words }
        }));
        let working = self.folds.durable().keys().find(|id| !id.is_sys());
        let (ticket, by) = (NO_TICKET, Name::new_operator());
        inputs.extend(
            working.map(|id| PumpInput::Ordered(ClientOrder::Cancel { ticket, by, thread: id.clone() })),
        );
        inputs
    }

    /// What the held pump gives out.
    fn judges_ousted(&mut self, held: &mut Life) {
        let is_planted = self.plant == Some(Plant::OustedWrites);
        if is_planted && (held.scribe.take().is_some() || held.engine.next_batch().is_some()) {
            held.engine.hear_writer(WriteReport::Committed(Position(0)));
            held.engine.route_recorded();
        }
        for sent in self.outside.take() {
            let what = sent.name();
            match sent {
                Sent::Handed(delivery) if held.carriers.contains_key(&delivery.lease.listener) => {
                    self.ousted_sends(held.number, delivery);
                }
                Sent::CalledBack(..) | Sent::LetGo(..) | Sent::Receipt(..) | Sent::Done(..) => {
                    self.find("ousted", format!("a pump that was taken over from gives out: {what}"));
                }
                Sent::Handed(_) | Sent::Expected(..) | Sent::Answered(_) | Sent::Refused(..) => {}
            }
        }
    }

    /// It may still send deliveries, which its successor finds, until the successor puts its fence.
    fn ousted_sends(&mut self, life: u64, delivery: Delivery) {
        let (listener, now_ms) = (delivery.lease.listener.clone(), self.agenda.now_ms());
        let bytes = Digest::hash_bytes(&delivery.document().unwrap_or_default());
        let stored = StoredDelivery { delivery, bytes, stored_ms: now_ms };
        match self.remote.broker.publish(stored, life) {
            Published::Stored(_) => {
                self.count("deliveries of a pump that was taken over from");
                self.pulls_soon(&listener);
            }
            Published::Again(_) => {}
            Published::Fenced => self.count("deliveries behind an old fence"),
        }
    }
}
