//! What goes wrong between carriers and their broker: a publishing that is not confirmed, and a stream that is lost.

use systole_core::pump::engine::PumpInput;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Delivery, LeaseToken};

use super::World;
use super::remote::{PAUSE_MS, Remote};

impl World {
    /// Whether the broker's answer to a publishing of this life does not come; the carrier finds out later.
    pub(super) fn is_unconfirmed(&mut self, life: u64, delivery: &Delivery) -> bool {
        let is_lost = self.throws.away.permille(self.weather.cut / 10);
        let is_alive = self.life.as_ref().is_some_and(|now| now.number == life);
        if is_lost && is_alive {
            self.count("publishings that were not confirmed");
            let after_ms = self.throws.away.delay_ms(1_000);
            self.finds_out_later(after_ms, life, delivery);
        }
        is_lost
    }

    fn finds_out_later(&mut self, after_ms: u64, life: u64, delivery: &Delivery) {
        let (delivery, losses) = (Box::new(delivery.clone()), self.remote.broker.losses);
        self.plans(after_ms, Remote::FindsOut { life, delivery, losses });
    }

    /// A carrier finds out whether the broker has a delivery: it is in the stream, it was there, or it never will be.
    pub(super) fn finds_out(&mut self, life: u64, delivery: &Delivery) {
        let (listener, token) = (delivery.lease.listener.clone(), delivery.lease.token.clone());
        if self.is_cut() {
            return self.finds_out_later(PAUSE_MS, life, delivery);
        }
        if let Some(place) = self.remote.broker.place_of(&token) {
            return self.confirmed(life, (&listener, &token), place, false);
        }
        let Some(carrier) = self.carrier(life, &listener) else { return };
        let is_out = carrier.out.contains_key(&token);
        let _known = carrier.arrived(&token);
        if self.remote.broker.had(&token) {
            self.remote.doubtful.insert(token.clone());
            self.gone(life, &listener, token, Code::ListenerLost);
        } else if is_out {
            self.reaches(life, delivery);
        }
    }

    /// The stream and its consumers are gone, with all that the broker knew.
    pub(super) fn stream_is_lost(&mut self) {
        if !self.weather.is_calm() {
            self.count("losses of the stream");
            self.remote.broker.loses_all();
            self.remote.forgets_stream();
        }
    }

    /// If the stream was lost since a carrier opened, everything that is out is lost, and the carrier opens again.
    pub(super) fn has_lost_stream(&mut self, life: u64, listener: &Name) -> bool {
        let losses = self.remote.broker.losses;
        let Some(carrier) = self.carrier(life, listener).filter(|one| one.is_open && one.losses != losses)
        else {
            return false;
        };
        let waiting = carrier.settle_waiting();
        let out: Vec<LeaseToken> = carrier.closes();
        for token in out {
            self.remote.doubtful.insert(token.clone());
            let words = "the stream is gone".to_owned();
            self.reports(life, PumpInput::Gone { token, code: Code::ListenerLost, words });
        }
        for token in waiting {
            self.reports(life, PumpInput::NotNow { token, words: "the stream is gone".to_owned() });
        }
        self.plans(PAUSE_MS, Remote::Opens { life, listener: listener.clone() });
        true
    }
}
