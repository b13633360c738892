//! Workers on other machines: each takes a delivery from the broker, works, and repeats its reply until a pump says
//! that it is on disk. They outlive every pump. Some die, some acknowledge too early, some give no sign of life.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use systole_core::pump::engine::PumpInput;
use systole_core::types::codes::Code;
use systole_core::types::flow::{JudgedContent, JudgedDocument, Ticket};
use systole_core::types::ids::Name;
use systole_core::types::ports::{Lease, LeaseToken, Leases as _};

use super::{Due, World};
use crate::broker::Broker;
use crate::listeners::{End, Speech};
use crate::plant::Plant;

/// How long a worker may give no sign of life if its listener does not say.
const SILENCE_MS: u64 = 30_000;
/// How often a worker sends its reply before it gives up.
const TRIES: u32 = 100;
/// The tickets of workers are above those of clients.
const FIRST_TICKET: u64 = 1 << 40;

/// A worker with a delivery.
pub(super) struct RemoteWorker {
    lease: Arc<Lease>,
    place: u64,
    /// The life of the pump when it took the delivery.
    life: u64,
    since_ms: u64,
    reply: Option<Speech>,
    tries: u32,
    hangs: bool,
    is_acknowledged: bool,
    is_dead: bool,
    /// Whether the broker said that it gives no sign of life.
    is_silent: bool,
    /// Whether it stopped because it was told to.
    is_told: bool,
    is_answered: bool,
}

impl RemoteWorker {
    /// Whether it works on, or repeats its reply.
    fn is_at_work(&self) -> bool {
        !self.is_dead && !self.is_silent && !self.is_told && !self.is_answered && self.tries < TRIES
    }

    /// The reply that it repeats, as the door judges it.
    pub(super) fn reply(&self) -> Option<JudgedContent> {
        self.reply.as_ref().filter(|_| self.is_at_work()).map(Speech::said)
    }

    fn may_speak(&self) -> bool {
        !self.is_dead && !self.is_told
    }
}

/// What is outside of the pump's machine, in a run.
#[derive(Default)]
pub(super) struct RemoteSide {
    pub(super) broker: Broker,
    pub(super) workers: BTreeMap<LeaseToken, RemoteWorker>,
    tickets: BTreeMap<u64, LeaseToken>,
    /// Until when the pump cannot reach the broker.
    pub(super) cut_until_ms: u64,
    /// Every delivery that a worker took.
    worked: HashSet<LeaseToken>,
    /// Deliveries of which a carrier cannot know whether a worker has them.
    pub(super) doubtful: HashSet<LeaseToken>,
}

impl RemoteSide {
    /// The stream is gone. Nothing at the broker says any more that workers are at work, or were.
    pub(super) fn forgets_stream(&mut self) {
        self.worked.clear();
        self.workers.values_mut().for_each(|worker| worker.is_acknowledged = true);
    }
}

/// An event of a worker.
pub(super) enum Work {
    Pulls {
        listener: Name,
    },
    Says {
        token: LeaseToken,
        speech: Speech,
    },
    Replies {
        token: LeaseToken,
    },
    /// Sends its reply once more, although it has the receipt.
    Repeats {
        token: LeaseToken,
    },
    Dies {
        token: LeaseToken,
    },
    /// The broker heard nothing of the worker at that place for too long.
    Expires {
        listener: Name,
        place: u64,
    },
    /// It is told that its answer is no longer wanted.
    Told {
        token: LeaseToken,
    },
    HasReceipt {
        token: LeaseToken,
    },
}

impl World {
    pub(super) fn work(&mut self, work: Work) {
        match work {
            Work::Pulls { listener } => self.pulls(&listener),
            Work::Says { token, speech } => {
                if self.remote.workers.get(&token).is_some_and(RemoteWorker::is_at_work) {
                    self.hears(&token, &speech);
                }
            }
            Work::Replies { token } => self.replies(&token),
            Work::Repeats { token } => {
                let reply = self.remote.workers.get(&token).and_then(|worker| worker.reply.clone());
                if let Some(speech) = reply {
                    self.count("replies of workers that came again");
                    self.hears(&token, &speech);
                }
            }
            Work::Dies { token } => self.worker_dies(&token),
            Work::Expires { listener, place } => self.expires(&listener, place),
            Work::Told { token } => self.stops(&token),
            Work::HasReceipt { token } => self.has_receipt(&token),
        }
    }

    fn works(&mut self, after_ms: u64, work: Work) {
        self.agenda.after(after_ms, Due::Works(work));
    }

    /// Some worker asks for the next delivery soon.
    pub(super) fn pulls_soon(&mut self, listener: &Name) {
        let after_ms = self.throws.remote.delay_ms(50);
        self.works(after_ms, Work::Pulls { listener: listener.clone() });
    }

    pub(super) fn silence_ms(&self, listener: &Name) -> u64 {
        self.current.find_listener(listener).and_then(|own| own.idle_ms).unwrap_or(SILENCE_MS)
    }

    /// A worker takes the next delivery, and runs its script.
    fn pulls(&mut self, listener: &Name) {
        if self.pulls_later(listener) {
            return;
        }
        let Some((place, message)) = self.remote.broker.hands_out(listener) else { return };
        let delivery = message.delivery.clone();
        let (token, lease) = (delivery.lease.token.clone(), delivery.lease.clone());
        self.count("deliveries to workers elsewhere");
        if !self.remote.worked.insert(token.clone()) {
            self.find("worked-twice", format!("{} is with a worker a second time", token.0));
        }
        let script = self.script(&delivery);
        let careless = self.throws.remote.permille(self.weather.careless);
        let is_early = careless && self.throws.remote.percent(50);
        let worker = RemoteWorker {
            lease,
            place,
            life: self.lives,
            since_ms: self.agenda.now_ms(),
            reply: None,
            tries: 0,
            hangs: matches!(script.end, End::Hangs),
            is_acknowledged: is_early,
            is_dead: false,
            is_silent: false,
            is_told: false,
            is_answered: false,
        };
        self.remote.workers.insert(token.clone(), worker);
        if is_early {
            self.count("deliveries acknowledged too early");
            self.acknowledges(place);
        } else if careless {
            let after_ms = self.silence_ms(listener);
            self.works(after_ms, Work::Expires { listener: listener.clone(), place });
        }
        for (after_ms, speech) in script.signs {
            self.works(after_ms, Work::Says { token: token.clone(), speech });
        }
        match script.end {
            End::Hangs => {}
            End::Dies(_) => self.works(script.after_ms, Work::Dies { token }),
            End::Speaks(speech) => {
                if let Some(worker) = self.remote.workers.get_mut(&token) {
                    worker.reply = Some(speech);
                }
                self.works(script.after_ms, Work::Replies { token });
            }
        }
        self.pulls_soon(listener);
    }

    /// A worker's acknowledgement takes a message off the stream.
    fn acknowledges(&mut self, place: u64) {
        if let Some(message) = self.remote.broker.at(place) {
            let listener = message.delivery.lease.listener.clone();
            self.remote.broker.delete(place);
            self.pulls_soon(&listener);
        }
    }

    fn worker_dies(&mut self, token: &LeaseToken) {
        let Some(worker) = self.remote.workers.get_mut(token).filter(|worker| worker.is_at_work()) else {
            return;
        };
        worker.is_dead = true;
        let (listener, place) = (worker.lease.listener.clone(), worker.place);
        self.count("workers that died");
        let after_ms = self.silence_ms(&listener);
        self.works(after_ms, Work::Expires { listener, place });
    }

    fn expires(&mut self, listener: &Name, place: u64) {
        if !self.remote.broker.expires(listener, place) {
            return;
        }
        let at_place =
            self.remote.workers.values_mut().filter(|w| w.place == place && w.lease.listener == *listener);
        at_place.for_each(|worker| worker.is_silent = true);
        self.count("advisories of the broker");
        self.advised(listener, place);
        self.pulls_soon(listener);
    }

    /// Sends a reply, and again until there is a receipt.
    fn replies(&mut self, token: &LeaseToken) {
        let Some(worker) = self.remote.workers.get_mut(token) else { return };
        if !worker.may_speak() || worker.is_answered || worker.tries >= TRIES {
            return;
        }
        let Some(speech) = worker.reply.clone() else { return };
        worker.tries += 1;
        let after_ms = self.throws.remote.between(1_000, 2_000);
        self.works(after_ms, Work::Replies { token: token.clone() });
        self.hears(token, &speech);
    }

    /// What a worker says reaches the pump that lives, if it can.
    pub(super) fn hears(&mut self, token: &LeaseToken, speech: &Speech) {
        let (is_cut, now_ms) = (self.is_cut(), self.agenda.now_ms());
        let Some(worker) = self.remote.workers.get(token) else { return };
        let (listener, since) = (worker.lease.listener.clone(), worker.life);
        let Some(life) = &mut self.life else { return self.count("words of workers that no pump heard") };
        let Some(carrier) = life.carriers.get_mut(&listener).filter(|carrier| carrier.hears && !is_cut)
        else {
            return self.count("words of workers that no pump heard");
        };
        if !carrier.is_open {
            return carrier.heard.push_back((token.clone(), speech.clone()));
        }
        if !speech.is_last() {
            carrier.is_alive(token, now_ms);
        } else if carrier.replied(token) {
            self.deliveries.over(token);
        }
        let Some(life) = &self.life else { return };
        let (number, known) = (life.number, life.leases.find_lease(&token.0));
        let ticket = speech.is_last().then(|| self.ticket(token));
        let is_dropped = self.plant == Some(Plant::DroppedReply) && number > since;
        let Some(lease) = known.filter(|known| known.listener == listener && !is_dropped) else {
            let replies_to = speech.is_last().then(|| token.0.to_string());
            return self.input(super::post::stray(&listener, replies_to, ticket));
        };
        if speech.fails_openly() {
            self.deliveries.failed_openly(&lease);
        }
        if speech.is_last() && number > since {
            self.count("replies of attempts that outlived a pump");
        }
        self.input(PumpInput::Judged(JudgedDocument { lease, said: speech.said(), claimed: None, ticket }));
    }

    fn ticket(&mut self, token: &LeaseToken) -> Ticket {
        let number = FIRST_TICKET + self.remote.tickets.len() as u64;
        self.remote.tickets.insert(number, token.clone());
        Ticket(number)
    }

    /// The pump's answer to a worker. Returns whether the ticket is a worker's.
    pub(super) fn answers_worker(&mut self, ticket: Ticket, refused: Option<Code>) -> bool {
        let Some(token) = self.remote.tickets.get(&ticket.0).cloned() else { return false };
        if refused == Some(Code::IngressUnavailable) {
            return true;
        }
        if refused == Some(Code::StaleLease) && self.is_due_on_disk(&token) {
            self.find("reply-lost", format!("the reply to {} is refused, and it is due on disk", token.0));
        }
        if refused.is_none() && self.is_due_on_disk(&token) {
            self.find("receipt", format!("the reply to {} has its receipt, and is not on disk", token.0));
        }
        let Some(worker) = self.remote.workers.get(&token) else { return true };
        let listener = worker.lease.listener.clone();
        self.answered_remote(&listener, &token);
        let dice = &mut self.throws.remote;
        if !dice.permille(self.weather.lost) {
            let after_ms = dice.delay_ms(20);
            self.works(after_ms, Work::HasReceipt { token });
        }
        true
    }

    fn has_receipt(&mut self, token: &LeaseToken) {
        let Some(worker) = self.remote.workers.get_mut(token).filter(|worker| worker.may_speak()) else {
            return;
        };
        if std::mem::replace(&mut worker.is_answered, true) {
            return;
        }
        let place = worker.place;
        // A worker that does not acknowledge leaves that to the carrier.
        if !std::mem::replace(&mut worker.is_acknowledged, true)
            && !self.throws.remote.permille(self.weather.careless)
        {
            self.acknowledges(place);
        }
        if self.throws.remote.permille(self.weather.repeated) {
            let after_ms = self.throws.remote.delay_ms(2_000);
            self.works(after_ms, Work::Repeats { token: token.clone() });
        }
    }

    /// A worker hears soon that its answer is no longer wanted.
    pub(super) fn tells_worker(&mut self, token: &LeaseToken) {
        let after_ms = self.throws.remote.delay_ms(20);
        self.works(after_ms, Work::Told { token: token.clone() });
    }

    /// A worker that is told to stop may go on all the same.
    fn stops(&mut self, token: &LeaseToken) {
        let is_stubborn = self.throws.remote.permille(self.weather.stubborn);
        let Some(worker) = self.remote.workers.get_mut(token).filter(|worker| worker.is_at_work()) else {
            return;
        };
        if worker.hangs || !is_stubborn {
            worker.is_told = true;
            let place = worker.place;
            self.acknowledges(place);
        }
    }

    /// The worker that holds a delivery, if one does: its listener, whether it has acknowledged it, and since when it
    /// has it.
    pub(super) fn held_by_worker(&self, token: &LeaseToken) -> Option<(&Name, bool, u64)> {
        let worker = self.remote.workers.get(token).filter(|worker| worker.is_at_work())?;
        Some((&worker.lease.listener, worker.is_acknowledged, worker.since_ms))
    }
}
