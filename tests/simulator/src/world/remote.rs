//! Carriers of listeners on other machines: each looks through the stream when a life begins, sends deliveries, takes
//! up those that it finds, looks at the consumer from time to time, and calls back. What happens at the broker happens
//! a moment later, also if the pump has died in between.

use systole_core::pump::engine::PumpInput;
use systole_core::rules::shutdown_payload;
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{CallBack, Delivery, LeaseToken, LogReader as _, Position};
use systole_core::types::time::Millis;

use super::{Due, World};
use crate::broker::{Published, StoredDelivery};
use crate::carrier::{OnTheWay, RemoteCarrier, RemoteCarriers, TakenDelivery};
use crate::outside::Sent;
use crate::plant::Plant;

/// How long a worker may give no sign of life if its listener does not say.
const SILENCE_MS: u64 = 30_000;
/// How often a carrier looks at its consumer while anything is out.
const LOOK_MS: u64 = 1_000;
/// The pause before a broker that cannot be reached is asked again.
pub(super) const PAUSE_MS: u64 = 1_000;

/// An event between a carrier and the broker.
pub(super) enum Remote {
    Opens {
        life: u64,
        listener: Name,
    },
    LooksThrough {
        life: u64,
        listener: Name,
    },
    Reaches {
        life: u64,
        delivery: Box<Delivery>,
    },
    Confirmed {
        life: u64,
        token: LeaseToken,
        listener: Name,
        place: u64,
        is_again: bool,
        losses: u64,
    },
    /// The broker's answer did not come.
    FindsOut {
        life: u64,
        delivery: Box<Delivery>,
        losses: u64,
    },
    /// A carrier reports something to its pump.
    Reports {
        life: u64,
        input: Box<PumpInput>,
    },
    Looks {
        life: u64,
        listener: Name,
    },
    Deletes {
        place: u64,
    },
}

/// The code of a delivery that was called back.
fn called_back(why: CallBack) -> Code {
    match why {
        CallBack::Cancelled => Code::CancelledThread,
        CallBack::TimedOut => Code::ListenerTimeout,
    }
}

impl World {
    /// The carriers of a life, before anything is heard. `expected` are the deliveries that may be out.
    pub(super) fn remote_carriers(
        &mut self,
        life: u64,
        expected: Vec<Sent>,
        kept: &[Listener],
    ) -> RemoteCarriers {
        let mut carriers = RemoteCarriers::new();
        let current = self.current.clone();
        let all = current.listeners.values().chain(kept).filter(|one| one.reach.is_over_broker());
        for listener in all {
            let silence_ms = listener.idle_ms.unwrap_or(SILENCE_MS);
            carriers.insert(listener.name.clone(), RemoteCarrier::new(listener.in_flight, silence_ms));
            let after_ms = self.throws.remote.delay_ms(20);
            self.plans(after_ms, Remote::Opens { life, listener: listener.name.clone() });
        }
        for sent in expected {
            if let Sent::Expected(listener, token) = sent
                && let Some(carrier) = carriers.get_mut(&listener)
                && self.plant != Some(Plant::ForgottenLeases)
            {
                self.count("deliveries that may be out at a start");
                carrier.expect(&token);
            }
        }
        carriers
    }

    pub(super) fn plans(&mut self, after_ms: u64, remote: Remote) {
        self.agenda.after(after_ms, Due::Remote(remote));
    }

    pub(super) fn is_cut(&self) -> bool {
        self.agenda.now_ms() < self.remote.cut_until_ms
    }

    /// The carrier of a listener in that life, if the life goes on.
    pub(super) fn carrier(&mut self, number: u64, listener: &Name) -> Option<&mut RemoteCarrier> {
        self.life.as_mut().filter(|life| life.number == number)?.carriers.get_mut(listener)
    }

    pub(super) fn remote(&mut self, remote: Remote) {
        match remote {
            Remote::Opens { life, listener } => self.opens(life, &listener),
            Remote::LooksThrough { life, listener } => self.looks_through(life, &listener),
            Remote::Reaches { life, delivery } => self.reaches(life, &delivery),
            // The carrier has begun anew.
            Remote::Confirmed { losses, .. } | Remote::FindsOut { losses, .. }
                if losses != self.remote.broker.losses => {}
            Remote::Confirmed { life, token, listener, place, is_again, .. } => {
                self.confirmed(life, (&listener, &token), place, is_again);
            }
            Remote::FindsOut { life, delivery, .. } => self.finds_out(life, &delivery),
            Remote::Reports { life, input } => self.of_life(life, |world| world.reported(*input)),
            Remote::Looks { life, listener } => self.looks_at_consumer(life, &listener),
            Remote::Deletes { place } => self.deletes(place),
        }
    }

    /// A carrier's report reaches its pump.
    fn reported(&mut self, input: PumpInput) {
        if let PumpInput::Gone { token, .. } | PumpInput::NotNow { token, .. } = &input {
            self.deliveries.over(token);
        }
        self.input(input);
    }

    pub(super) fn reports(&mut self, life: u64, input: PumpInput) {
        let after_ms = self.throws.remote.below(3);
        self.plans(after_ms, Remote::Reports { life, input: Box::new(input) });
    }

    /// A carrier subscribes; what comes from now on waits until it serves.
    fn opens(&mut self, life: u64, listener: &Name) {
        let is_cut = self.is_cut();
        let after_ms = self.throws.remote.delay_ms(20);
        let Some(carrier) = self.carrier(life, listener) else { return };
        if is_cut {
            let waiting = carrier.settle_waiting();
            for token in waiting {
                self.count("deliveries that could not begin");
                self.reports(life, PumpInput::NotNow { token, words: "as drawn".to_owned() });
            }
            return self.plans(PAUSE_MS, Remote::Opens { life, listener: listener.clone() });
        }
        carrier.hears = true;
        self.plans(after_ms, Remote::LooksThrough { life, listener: listener.clone() });
    }

    /// A carrier puts its fence, and finds out what is there. Everything else is deleted.
    fn looks_through(&mut self, life: u64, listener: &Name) {
        if self.is_cut() {
            if let Some(carrier) = self.carrier(life, listener) {
                carrier.hears = false;
            }
            return self.plans(PAUSE_MS, Remote::Opens { life, listener: listener.clone() });
        }
        let Some(now) = self.life.as_mut().filter(|now| now.number == life) else { return };
        let Some(carrier) = now.carriers.get_mut(listener) else { return };
        self.remote.broker.puts_fence(listener, life);
        let mut others = Vec::new();
        for (place, message) in self.remote.broker.of(listener) {
            if carrier.out.contains_key(message.token()) {
                carrier.finds(message.token(), (place, message.stored_ms), message.bytes);
            } else {
                others.push(place);
            }
        }
        carrier.losses = self.remote.broker.losses;
        let room = carrier.room;
        let consumer = self.remote.broker.consumers.entry(listener.clone()).or_default();
        consumer.room = room;
        let found = carrier.looked_through();
        carrier.is_open = true;
        let (heard, advisories) =
            (std::mem::take(&mut carrier.heard), std::mem::take(&mut carrier.advisories));
        for place in others {
            self.deletes(place);
        }
        for _ in &found {
            self.count("deliveries that were found again");
        }
        self.pulls_soon(listener);
        let (found, lost) = match self.plant {
            Some(Plant::LostFound) => (Vec::new(), Some("as planted".to_owned())),
            _ => (found, None),
        };
        self.input(PumpInput::Adopted { listener: listener.clone(), found, lost });
        for place in advisories {
            self.advised(listener, place);
        }
        for (token, speech) in heard {
            self.hears(&token, &speech);
        }
        self.moves(life, listener);
        self.looks_soon(life, listener);
    }

    /// A delivery is handed to a carrier.
    pub(super) fn handed_remote(&mut self, delivery: &Delivery) {
        let listener = delivery.lease.listener.clone();
        let life = self.lives;
        if let Some(carrier) = self.carrier(life, &listener) {
            carrier.waiting.push_back(delivery.clone());
        }
        self.moves(life, &listener);
    }

    /// A carrier takes off what it can: call-backs, and then deliveries in their order.
    pub(super) fn moves(&mut self, life: u64, listener: &Name) {
        let Some(carrier) = self.carrier(life, listener).filter(|carrier| carrier.is_open) else { return };
        let cancels = std::mem::take(&mut carrier.cancels);
        let leaving: Vec<Delivery> = std::iter::from_fn(|| carrier.leaves()).collect();
        for token in cancels {
            self.cancels(life, listener, token);
        }
        for delivery in leaving {
            let after_ms = self.throws.remote.delay_ms(5);
            self.plans(after_ms, Remote::Reaches { life, delivery: Box::new(delivery) });
        }
    }

    /// A delivery that is out is called back: its worker is told, and its message is deleted.
    fn cancels(&mut self, life: u64, listener: &Name, token: LeaseToken) {
        self.judges_end(&token, "called back");
        self.tells_worker(&token);
        let Some(carrier) = self.carrier(life, listener) else { return };
        let (why, place) = (carrier.out.get(&token).copied().flatten(), carrier.over(&token));
        if let Some(place) = place {
            let after_ms = self.throws.remote.delay_ms(5);
            self.plans(after_ms, Remote::Deletes { place });
        }
        self.gone(life, listener, token, why.map_or(Code::ListenerLost, called_back));
    }

    /// Reports a delivery as gone, unless it was settled before.
    pub(super) fn gone(&mut self, life: u64, listener: &Name, token: LeaseToken, code: Code) {
        if self.carrier(life, listener).is_some_and(|carrier| carrier.settle(&token)) {
            self.reports(life, PumpInput::Gone { token, code, words: "as the broker says".to_owned() });
        }
    }

    /// The pump calls a delivery back. Returns whether a carrier of workers elsewhere has it.
    pub(super) fn calls_back_remote(&mut self, token: &LeaseToken, why: CallBack) -> bool {
        let number = self.lives;
        let Some(life) = &mut self.life else { return false };
        let has = |carrier: &RemoteCarrier| {
            carrier.out.contains_key(token) || carrier.waiting.iter().any(|d| d.lease.token == *token)
        };
        let Some((listener, carrier)) = life.carriers.iter_mut().find(|(_, carrier)| has(carrier)) else {
            return false;
        };
        let listener = listener.clone();
        if let Some(token) = carrier.call_back(token, why) {
            let words = "the delivery was called back before it was sent".to_owned();
            self.reports(number, PumpInput::Gone { token, code: called_back(why), words });
        }
        self.moves(number, &listener);
        true
    }

    /// The end of a delivery is on disk.
    pub(super) fn lets_go(&mut self, listener: &Name, token: &LeaseToken) {
        self.judges_end(token, "let go");
        let life = self.lives;
        let place = self.carrier(life, listener).and_then(|carrier| carrier.over(token));
        if let Some(place) = place {
            let after_ms = self.throws.remote.delay_ms(5);
            self.plans(after_ms, Remote::Deletes { place });
        }
    }

    /// A delivery reaches the broker. Its pump may have died since.
    pub(super) fn reaches(&mut self, life: u64, delivery: &Delivery) {
        let lease = &delivery.lease;
        let (listener, token) = (lease.listener.clone(), lease.token.clone());
        let bytes = Digest::hash_bytes(&delivery.document().unwrap_or_default());
        let (is_cut, now_ms) = (self.is_cut(), self.agenda.now_ms());
        if let Some(carrier) = self.carrier(life, &listener) {
            match carrier.take_up(&token, &bytes) {
                Some(true) => {
                    self.count("deliveries that were taken up");
                    return self.looks_soon(life, &listener);
                }
                Some(false) => {
                    self.find("shown", format!("{} is in the stream with other bytes", token.0));
                    return self.gone(life, &listener, token, Code::ListenerLost);
                }
                None => carrier.is_on_the_way(&token),
            }
            if is_cut {
                return self.unreached(life, &listener, token);
            }
        } else if is_cut {
            return;
        }
        if self.has_lost_stream(life, &listener) || self.is_unconfirmed(life, delivery) {
            return;
        }
        let stored = StoredDelivery { delivery: delivery.clone(), bytes, stored_ms: now_ms };
        if self.plant == Some(Plant::NoWindow) {
            self.remote.broker.forgets_ids();
        }
        let published = self.remote.broker.publish(stored, life);
        let (place, is_again) = match published {
            Published::Stored(place) => (place, false),
            Published::Again(place) => (place, true),
            Published::Fenced => return self.count("deliveries behind an old fence"),
        };
        if is_again {
            self.count("deliveries that the broker had before");
        } else {
            self.pulls_soon(&listener);
        }
        if self.is_unconfirmed(life, delivery) {
            return;
        }
        let (after_ms, losses) = (self.throws.remote.delay_ms(5), self.remote.broker.losses);
        self.plans(after_ms, Remote::Confirmed { life, token, listener, place, is_again, losses });
    }

    /// The broker certainly does not have a delivery, nor those behind it.
    fn unreached(&mut self, life: u64, listener: &Name, token: LeaseToken) {
        let Some(carrier) = self.carrier(life, listener) else { return };
        carrier.arrived(&token);
        let mut all = carrier.settle_waiting();
        if carrier.settle(&token) {
            all.push(token);
        }
        for token in all {
            self.count("deliveries that could not begin");
            self.reports(life, PumpInput::NotNow { token, words: "as drawn".to_owned() });
        }
    }

    /// The broker confirms that it has a delivery.
    pub(super) fn confirmed(
        &mut self,
        life: u64,
        (listener, token): (&Name, &LeaseToken),
        place: u64,
        is_again: bool,
    ) {
        let (now_ms, plant) = (self.agenda.now_ms(), self.plant);
        let is_there = self.remote.broker.at(place).is_some();
        let Some(carrier) = self.carrier(life, listener) else { return };
        let on_the_way = carrier.arrived(token);
        if is_again && !is_there {
            carrier.is_silent(token, now_ms);
        } else {
            carrier.stored(token, place, now_ms);
        }
        let is_out = carrier.out.contains_key(token);
        match on_the_way {
            OnTheWay::Answered => carrier.is_answered(token, now_ms),
            // Its receipt says when it is over.
            OnTheWay::Heard if plant != Some(Plant::DeletedEarly) => {}
            OnTheWay::Unheard | OnTheWay::Heard if is_out => {}
            OnTheWay::Unheard | OnTheWay::Heard => {
                if carrier.over(token).is_some() {
                    self.plans(0, Remote::Deletes { place });
                }
            }
        }
        self.looks_soon(life, listener);
    }

    /// Plans a look at the consumer.
    pub(super) fn looks_soon(&mut self, life: u64, listener: &Name) {
        let Some(carrier) = self.carrier(life, listener) else { return };
        if carrier.is_anything_out() && !std::mem::replace(&mut carrier.looks, true) {
            self.plans(LOOK_MS, Remote::Looks { life, listener: listener.clone() });
        }
    }

    /// A carrier looks at its consumer: what was taken, whose worker is silent, what lies there for no one.
    fn looks_at_consumer(&mut self, life: u64, listener: &Name) {
        let (is_cut, now_ms) = (self.is_cut(), self.agenda.now_ms());
        let is_idle = self.remote.broker.is_idle(listener);
        let last = self.remote.broker.consumers.get(listener).map_or(0, |consumer| consumer.last);
        let Some(carrier) = self.carrier(life, listener) else { return };
        carrier.looks = false;
        if is_cut {
            return self.looks_soon(life, listener);
        }
        if self.has_lost_stream(life, listener) {
            return;
        }
        // As long as anything is out, looks keep the run from its rest, where pauses end.
        if self.weather.is_calm() {
            self.goes_on();
        }
        let Some(carrier) = self.carrier(life, listener) else { return };
        let (unacknowledged, out) = (carrier.unacknowledged(now_ms), carrier.handed_out(last));
        let ((taken, untaken), mut silent) = (carrier.taken(last, now_ms), carrier.silent_for(now_ms));
        if is_idle {
            let lies = |place: &u64| self.remote.broker.at(*place).is_some();
            silent.extend(out.into_iter().filter(|(_, place)| lies(place)).map(|(token, _)| token));
        }
        for place in unacknowledged {
            self.deletes(place);
        }
        for token in untaken {
            self.count("deliveries that no worker took");
            self.input(PumpInput::Untaken { token });
        }
        for TakenDelivery { token, age_ms, has_waited } in taken {
            self.count("deliveries that workers took");
            let now = Millis(now_ms);
            self.input(PumpInput::Taken { token, age_ms, now, has_waited });
        }
        for token in silent {
            self.count("workers found silent");
            self.gone(life, listener, token, Code::ListenerLost);
        }
        self.looks_soon(life, listener);
    }

    /// The broker says that the worker at a place gave no sign of life.
    pub(super) fn advised(&mut self, listener: &Name, place: u64) {
        let (life, is_cut) = (self.lives, self.is_cut());
        let carrier = self.carrier(life, listener).filter(|carrier| carrier.hears && !is_cut);
        let Some(carrier) = carrier else { return self.count("advisories that no pump heard") };
        if !carrier.is_open {
            return carrier.advisories.push_back(place);
        }
        match carrier.token_at(place) {
            Some(token) => self.gone(life, listener, token, Code::ListenerLost),
            None => self.deletes(place),
        }
    }

    /// A message leaves the stream.
    fn deletes(&mut self, place: u64) {
        let Some(message) = self.remote.broker.at(place) else { return };
        let lease = message.delivery.lease.clone();
        let is_held = self.remote.broker.is_held(&lease.listener, place);
        if is_held || !self.remote.broker.is_handed_out(&lease.listener, place) {
            self.judges_end(&lease.token, "deleted");
        }
        self.remote.broker.delete(place);
        self.pulls_soon(&lease.listener);
    }

    /// The reply of a delivery is on disk: its worker acknowledges it soon.
    pub(super) fn answered_remote(&mut self, listener: &Name, token: &LeaseToken) {
        let (life, now_ms) = (self.lives, self.agenda.now_ms());
        if let Some(carrier) = self.carrier(life, listener) {
            carrier.is_answered(token, now_ms);
        }
        self.looks_soon(life, listener);
    }

    /// How many deliveries workers elsewhere may have, if the log ends with a statement about that.
    pub(super) fn said_out(&self) -> Option<u64> {
        let before = Position(self.disk.last().0.checked_sub(1)?);
        let (_, record) = self.disk.log().read_after(before, 1).ok()?.pop()?;
        let said = shutdown_payload::read_shutdown(&record.body)?;
        said.is_drained.then_some(said.out)
    }
}
