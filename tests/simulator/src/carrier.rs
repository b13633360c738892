//! The carrier of one listener on other machines, in one life of the pump: what is out, and where it is in the stream.
//! It follows `crates/carriers/src/nats`. It dies with its pump. Pure: the world moves it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{CallBack, Delivery, LeaseToken};

use crate::listeners::Speech;

/// A delivery that lies in the stream longer than this before a worker takes it has waited.
const AT_ONCE_MS: u64 = 2_000;
/// How long a worker has to acknowledge what it answered.
const ACKNOWLEDGES_MS: u64 = 1_000;

/// Where a delivery came into the stream from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// This life stored it, or took it up.
    Own,
    /// An earlier life did, and this one has not handed it over yet.
    Found(Digest),
}

/// The place of a delivery in the stream.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    origin: Origin,
    stored_ms: u64,
    has_waited: bool,
    is_taken: bool,
}

/// What became of a delivery before the broker confirmed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum OnTheWay {
    /// Nothing, or it was called back.
    #[default]
    Unheard,
    /// Its reply was heard, and is not on disk yet.
    Heard,
    /// Its reply is on disk.
    Answered,
}

/// A worker has a delivery.
pub(crate) struct TakenDelivery {
    pub(crate) token: LeaseToken,
    pub(crate) age_ms: u64,
    pub(crate) has_waited: bool,
}

/// The carrier of one listener.
pub(crate) struct RemoteCarrier {
    /// How many deliveries the listener may have.
    pub(crate) room: usize,
    /// How long a worker may give no sign of life.
    pub(crate) silence_ms: u64,
    /// Whether it looked through the stream, so that it serves.
    pub(crate) is_open: bool,
    /// Whether its subscriptions stand: what comes before it serves waits.
    pub(crate) hears: bool,
    pub(crate) heard: VecDeque<(LeaseToken, Speech)>,
    /// Advisories that came before it served.
    pub(crate) advisories: VecDeque<u64>,
    /// Deliveries that were handed over and did not leave yet.
    pub(crate) waiting: VecDeque<Delivery>,
    /// Deliveries that are out, with the reason if they were called back.
    pub(crate) out: BTreeMap<LeaseToken, Option<CallBack>>,
    expected: BTreeSet<LeaseToken>,
    pub(crate) cancels: VecDeque<LeaseToken>,
    /// On their way to the broker, and what became of each on its way.
    on_the_way: BTreeMap<LeaseToken, OnTheWay>,
    places: BTreeMap<LeaseToken, Place>,
    /// Deliveries that workers took off the stream too early, with their last sign of life.
    silent: BTreeMap<LeaseToken, u64>,
    answered: Vec<(u64, u64)>,
    /// Whether a look at the consumer is planned.
    pub(crate) looks: bool,
    /// How often the broker had lost everything when this opened.
    pub(crate) losses: u64,
}

impl RemoteCarrier {
    pub(crate) fn new(in_flight: usize, silence_ms: u64) -> RemoteCarrier {
        RemoteCarrier {
            room: in_flight.saturating_add(1),
            silence_ms,
            is_open: false,
            hears: false,
            heard: VecDeque::new(),
            advisories: VecDeque::new(),
            waiting: VecDeque::new(),
            out: BTreeMap::new(),
            expected: BTreeSet::new(),
            cancels: VecDeque::new(),
            on_the_way: BTreeMap::new(),
            places: BTreeMap::new(),
            silent: BTreeMap::new(),
            answered: Vec::new(),
            looks: false,
            losses: 0,
        }
    }

    /// The stream is gone: all that was out is returned, and it serves no more until it opens again.
    pub(crate) fn closes(&mut self) -> Vec<LeaseToken> {
        let closed =
            RemoteCarrier { looks: self.looks, room: self.room, ..RemoteCarrier::new(0, self.silence_ms) };
        std::mem::replace(self, closed).out.into_keys().collect()
    }

    pub(crate) fn expect(&mut self, token: &LeaseToken) {
        self.out.insert(token.clone(), None);
        self.expected.insert(token.clone());
    }

    /// Calls a delivery back. Returns the delivery if it never left.
    pub(crate) fn call_back(&mut self, token: &LeaseToken, why: CallBack) -> Option<LeaseToken> {
        let waiting = self.waiting.iter().position(|delivery| delivery.lease.token == *token);
        if let Some(place) = waiting {
            self.waiting.remove(place);
        }
        match self.out.get_mut(token) {
            Some(recall @ None) => {
                *recall = Some(why);
                self.cancels.push_back(token.clone());
                None
            }
            Some(Some(_)) => None,
            None => waiting.map(|_| token.clone()),
        }
    }

    /// The next delivery leaves: it is out.
    pub(crate) fn leaves(&mut self) -> Option<Delivery> {
        let delivery = self.waiting.pop_front()?;
        let token = &delivery.lease.token;
        self.expected.remove(token);
        self.out.entry(token.clone()).or_insert(None);
        Some(delivery)
    }

    /// Takes a delivery off. Returns whether it was out.
    pub(crate) fn settle(&mut self, token: &LeaseToken) -> bool {
        self.cancels.retain(|cancelled| cancelled != token);
        self.expected.remove(token);
        self.out.remove(token).is_some()
    }

    /// Everything that did not leave yet: it cannot begin just now.
    pub(crate) fn settle_waiting(&mut self) -> Vec<LeaseToken> {
        self.waiting.drain(..).map(|delivery| delivery.lease.token.clone()).collect()
    }

    /// Of those that were expected, only those with a place are out.
    pub(crate) fn looked_through(&mut self) -> Vec<LeaseToken> {
        let found: Vec<LeaseToken> = self.found().cloned().collect();
        for token in std::mem::take(&mut self.expected) {
            if !found.contains(&token) {
                self.out.remove(&token);
                self.cancels.retain(|cancelled| *cancelled != token);
            }
        }
        found
    }

    fn found(&self) -> impl Iterator<Item = &LeaseToken> {
        let found = self.places.iter().filter(|(_, place)| matches!(place.origin, Origin::Found(_)));
        found.map(|(token, _)| token)
    }

    /// Whether that delivery lies in the stream since an earlier life, so that handing it over sends nothing.
    pub(crate) fn has_found(&self, token: &LeaseToken) -> bool {
        self.found().any(|found| found == token)
    }

    /// Notes a delivery of an earlier life.
    pub(crate) fn finds(&mut self, token: &LeaseToken, (at, stored_ms): (u64, u64), bytes: Digest) {
        let origin = Origin::Found(bytes);
        let place = Place { at, origin, stored_ms, has_waited: false, is_taken: false };
        self.places.entry(token.clone()).or_insert(place);
    }

    /// Takes a delivery up. Returns whether it has the same bytes; `None` if it was not found.
    pub(crate) fn take_up(&mut self, token: &LeaseToken, bytes: &Digest) -> Option<bool> {
        let place = self.places.get_mut(token)?;
        let Origin::Found(found) = place.origin else { return None };
        place.origin = Origin::Own;
        Some(found == *bytes)
    }

    pub(crate) fn is_on_the_way(&mut self, token: &LeaseToken) {
        self.on_the_way.insert(token.clone(), OnTheWay::Unheard);
    }

    /// Its reply was heard. Returns whether it was out.
    pub(crate) fn replied(&mut self, token: &LeaseToken) -> bool {
        if let Some(on_the_way) = self.on_the_way.get_mut(token) {
            *on_the_way = OnTheWay::Heard;
        }
        self.settle(token)
    }

    /// It is no longer on its way. Returns what became of it.
    pub(crate) fn arrived(&mut self, token: &LeaseToken) -> OnTheWay {
        self.on_the_way.remove(token).unwrap_or_default()
    }

    /// Notes the place of a delivery that this life sent.
    pub(crate) fn stored(&mut self, token: &LeaseToken, at: u64, now_ms: u64) {
        let (origin, stored_ms) = (Origin::Own, now_ms);
        let place = Place { at, origin, stored_ms, has_waited: false, is_taken: false };
        self.places.entry(token.clone()).or_insert(place);
    }

    /// A worker took it off the stream too early.
    pub(crate) fn is_silent(&mut self, token: &LeaseToken, now_ms: u64) {
        self.silent.insert(token.clone(), now_ms);
    }

    pub(crate) fn is_alive(&mut self, token: &LeaseToken, now_ms: u64) {
        if let Some(last) = self.silent.get_mut(token) {
            *last = now_ms;
        }
    }

    pub(crate) fn silent_for(&self, now_ms: u64) -> Vec<LeaseToken> {
        let over = self.silent.iter().filter(|(_, last)| now_ms - **last >= self.silence_ms);
        over.map(|(token, _)| token.clone()).collect()
    }

    pub(crate) fn token_at(&self, at: u64) -> Option<LeaseToken> {
        self.places.iter().find(|(_, place)| place.at == at).map(|(token, _)| token.clone())
    }

    /// Those that the consumer has handed out.
    pub(crate) fn handed_out(&self, last: u64) -> Vec<(LeaseToken, u64)> {
        let out = self.places.iter().filter(|(_, place)| place.at <= last);
        out.map(|(token, place)| (token.clone(), place.at)).collect()
    }

    /// Those that workers have taken since the last look, and those that no worker takes, each once.
    pub(crate) fn taken(&mut self, last: u64, now_ms: u64) -> (Vec<TakenDelivery>, Vec<LeaseToken>) {
        let (mut taken, mut untaken) = (Vec::new(), Vec::new());
        for (token, place) in self.places.iter_mut().filter(|(_, place)| place.origin == Origin::Own) {
            let age_ms = now_ms - place.stored_ms;
            if place.at > last {
                if age_ms >= AT_ONCE_MS && !std::mem::replace(&mut place.has_waited, true) {
                    untaken.push(token.clone());
                }
            } else if !std::mem::replace(&mut place.is_taken, true) {
                taken.push(TakenDelivery { token: token.clone(), age_ms, has_waited: place.has_waited });
            }
        }
        (taken, untaken)
    }

    /// It is over. Returns its place, where it has to be deleted.
    pub(crate) fn over(&mut self, token: &LeaseToken) -> Option<u64> {
        self.silent.remove(token);
        self.places.remove(token).map(|place| place.at)
    }

    /// Its reply is on disk.
    pub(crate) fn is_answered(&mut self, token: &LeaseToken, now_ms: u64) {
        if let Some(at) = self.over(token) {
            self.answered.push((at, now_ms));
        } else if let Some(on_the_way) = self.on_the_way.get_mut(token) {
            *on_the_way = OnTheWay::Answered;
        }
    }

    /// The places whose workers had the time to acknowledge them.
    pub(crate) fn unacknowledged(&mut self, now_ms: u64) -> Vec<u64> {
        let (old, new) = self.answered.drain(..).partition(|(_, at)| now_ms - at >= ACKNOWLEDGES_MS);
        self.answered = new;
        Vec::into_iter(old).map(|(place, _): (u64, u64)| place).collect()
    }

    /// Whether a look is worth it.
    pub(crate) fn is_anything_out(&self) -> bool {
        !self.places.is_empty() || !self.silent.is_empty() || !self.answered.is_empty()
    }
}

/// The carriers of a life.
pub(crate) type RemoteCarriers = BTreeMap<Name, RemoteCarrier>;
