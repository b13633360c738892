//! The world: it moves simulated time from one plan to the next, gives the engine its input, and takes its
//! output. First a storm, in which pumps die and restart; then calm, in which everything has to come to rest;
//! then the end, and the verdict.
//!
//! It decides nothing that the pump decides. Each kind of plan has a function, and related kinds share a
//! file.

mod away;
mod held;
mod life;
mod log_work;
mod mishaps;
pub(crate) mod outcome;
mod outliving;
mod post;
mod remote;
mod workers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use systole_core::pump::state::{Call, Thread};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::flow::Ticket;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Lease, LeaseToken, LogReader as _, Position};
use systole_soak::dice::SeededDice;

use crate::agenda::Agenda;
use crate::cast;
use crate::clients::{Crowd, Order, Pending, Sight, Waits, Word};
use crate::disk::Disk;
use crate::listeners::{Speech, Troupe};
use crate::outside::SimulatedPorts;
use crate::plant::Plant;
use crate::watch::Finding;
use crate::watch::deliveries::Deliveries;
use crate::watch::folds::Folds;
use crate::weather::Weather;
use away::Absent;
use life::Life;
use outcome::Outcome;
use remote::Remote;
use workers::{RemoteSide, Work};

/// Plans after which a run counts as endless.
const TOO_MANY_PLANS: u64 = 20_000;
/// Findings after which a run is judged at once: a fault from the beginning repeats all the time.
const ENOUGH_FINDINGS: usize = 20;
/// How long a client waits before it sends a message again.
const PATIENCE_MS: u64 = 10_000;

/// A planned event. An event with a life happens only if that life is still running.
enum Due {
    ClientActs(usize),
    /// A carrier, a guard at the door or a thread of the program reports something that concerns no call.
    Told,
    Arrives(Ticket),
    /// A client has waited long enough for an answer to its message.
    Again(Pending),
    ClientHears(Ticket, Word),
    /// A listener sends something. An undead listener also sends it to a later life.
    Speaks {
        life: u64,
        lease: Arc<Lease>,
        speech: Speech,
        is_undead: bool,
    },
    /// A carrier reports that a delivery will not be answered.
    Ends {
        life: u64,
        token: LeaseToken,
        code: Code,
    },
    Commits {
        life: u64,
    },
    Looks {
        life: u64,
    },
    Finds {
        life: u64,
    },
    Ticks {
        life: u64,
    },
    Idles {
        life: u64,
    },
    Starts,
    Dies {
        life: u64,
    },
    Drains {
        life: u64,
    },
    ClockIsSet,
    /// Something between a carrier of workers elsewhere and the broker.
    Remote(Remote),
    /// Something of a worker elsewhere.
    Works(Work),
    /// The broker cannot be reached for so long.
    Cut {
        for_ms: u64,
    },
    /// The broker loses its stream.
    StreamIsLost,
    /// Someone is away for so long.
    Leaves {
        who: &'static str,
        for_ms: u64,
    },
    /// The program for a delivery could not be started.
    Unstarted {
        life: u64,
        token: LeaseToken,
    },
    /// A pump that was held goes on.
    Wakes,
    /// The storm is over.
    Calms,
}

/// The dice of each area.
struct Throws {
    clients: SeededDice,
    network: SeededDice,
    listeners: SeededDice,
    disk: SeededDice,
    lives: SeededDice,
    remote: SeededDice,
    away: SeededDice,
}

/// The whole state of a run.
pub(crate) struct World {
    seed: u64,
    plant: Option<Plant>,
    compositions: Vec<Arc<Composition>>,
    /// The composition that this life started with.
    current: Arc<Composition>,
    agenda: Agenda<Due>,
    outside: Arc<SimulatedPorts>,
    disk: Disk,
    weather: Weather,
    throws: Throws,
    /// How long the pump is usually idle before it writes its state out.
    idle_ms: u64,
    /// How long a read of the log usually takes.
    look_ms: u64,
    life: Option<Life>,
    lives: u64,
    /// A pump that is held while another one has its log.
    held: Option<Box<Life>>,
    crowd: Crowd,
    troupe: Troupe,
    /// Deliveries that listeners hold, with whether they hang.
    running: BTreeMap<LeaseToken, (Arc<Lease>, bool)>,
    /// The broker, and the workers elsewhere.
    remote: RemoteSide,
    /// Who is away.
    absent: Absent,
    /// The attempt of the dead letter that was read last.
    dead_letter: Option<LeaseToken>,
    /// Requests that reached this life and have no answer yet.
    asked: BTreeSet<Ticket>,
    folds: Folds,
    deliveries: Deliveries,
    /// Everything that the pumps gave out, in order.
    given: Sha256,
    /// How far clients have read the log.
    read: Position,
    is_over: bool,
    findings: Vec<Finding>,
    counts: BTreeMap<&'static str, u64>,
}

impl World {
    pub(crate) fn new(seed: u64, plant: Option<Plant>) -> World {
        let dice = SeededDice::new(seed);
        // The other seeds keep the storms from before there were wide ones.
        let is_wide = seed % 4 == 3;
        let throws = Throws {
            clients: dice.apart(1),
            network: dice.apart(2),
            listeners: dice.apart(3),
            disk: dice.apart(4),
            lives: dice.apart(5),
            remote: dice.apart(10),
            away: dice.apart(12),
        };
        // So do the seeds that have no workers elsewhere.
        let remote =
            if seed % 5 >= 3 { cast::Remote::of(&mut dice.apart(11)) } else { cast::Remote::default() };
        // Nor do calls wait in them for someone who is away.
        let outage_ms = if seed % 3 == 1 { cast::outage_ms(&mut dice.apart(13)) } else { 0 };
        let mut pace = dice.apart(9);
        let compositions: Vec<Arc<Composition>> =
            cast::compositions(is_wide, &remote, outage_ms).into_iter().map(Arc::new).collect();
        World {
            seed,
            plant,
            current: compositions.first().cloned().unwrap_or_else(|| Arc::new(cast::composition())),
            compositions,
            agenda: Agenda::new(),
            outside: Arc::new(SimulatedPorts::new(seed)),
            disk: Disk::new(plant),
            weather: Weather::of(&mut dice.apart(6)),
            throws,
            idle_ms: pace.one_of(&[20, 200, 5_000]).copied().unwrap_or_default(),
            look_ms: pace.one_of(&[2, 2, 200]).copied().unwrap_or_default(),
            life: None,
            lives: 0,
            held: None,
            crowd: Crowd::new(&mut dice.apart(7)),
            troupe: Troupe::new(&mut dice.apart(8), is_wide),
            running: BTreeMap::new(),
            remote: RemoteSide::default(),
            absent: Absent::default(),
            dead_letter: None,
            asked: BTreeSet::new(),
            folds: Folds::default(),
            deliveries: Deliveries::default(),
            given: Sha256::new(),
            read: Position(0),
            is_over: false,
            findings: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Runs to the end, and judges the run.
    pub(crate) fn plays(mut self) -> Outcome {
        let lives = &mut self.throws.lives;
        let storm_ms = lives.between(10_000, 150_000);
        self.agenda.at(0, Due::Starts);
        self.agenda.at(storm_ms, Due::Calms);
        for client in self.crowd.everybody() {
            let at = self.throws.clients.below(5_000);
            self.agenda.at(at, Due::ClientActs(client));
        }
        if lives.permille(self.weather.clock) {
            let at = lives.below(storm_ms);
            self.agenda.at(at, Due::ClockIsSet);
        }
        for _ in 0..lives.below(4) {
            let at = lives.below(storm_ms);
            self.agenda.at(at, Due::Told);
        }
        for _ in 0..self.throws.remote.below(4) {
            let (at, for_ms) = (self.throws.remote.below(storm_ms), self.throws.remote.delay_ms(2_000));
            if self.throws.remote.permille(self.weather.cut) {
                self.agenda.at(at, Due::Cut { for_ms });
            }
        }
        if self.throws.away.permille(self.weather.cut / 4) {
            let at = self.throws.away.below(storm_ms);
            self.agenda.at(at, Due::StreamIsLost);
        }
        self.absences(storm_ms);
        let mut plans = 0;
        loop {
            while let Some(due) = self.agenda.next() {
                plans += 1;
                self.outside.reach(self.agenda.now_ms());
                self.happens(due);
                if self.findings.len() >= ENOUGH_FINDINGS {
                    return self.judged(plans);
                }
                if plans > TOO_MANY_PLANS {
                    self.find("endless", "the run does not come to rest".into());
                    return self.judged(plans);
                }
            }
            if !self.comes_to_rest() {
                return self.judged(plans);
            }
        }
    }

    fn find(&mut self, rule: &'static str, words: String) {
        self.findings.push(Finding { rule, at_ms: self.agenda.now_ms(), words });
    }

    fn find_all(&mut self, rule: &'static str, wrong: Vec<String>) {
        wrong.into_iter().for_each(|words| self.find(rule, words));
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::ClientActs(client) => self.client_acts(client),
            Due::Told => self.told(),
            Due::Arrives(ticket) => self.arrives(ticket),
            Due::Again(pending) => self.again(pending),
            Due::ClientHears(ticket, word) => self.crowd.hears(ticket, &word),
            Due::Speaks { life, lease, speech, is_undead } => self.speaks(life, &lease, &speech, is_undead),
            Due::Ends { life, token, code } => self.ends(life, token, code),
            Due::Commits { life } => self.of_life(life, World::commits),
            Due::Looks { life } => self.of_life(life, World::looks),
            Due::Finds { life } => self.of_life(life, World::finds),
            Due::Ticks { life } => self.of_life(life, World::ticks),
            Due::Idles { life } => self.of_life(life, World::idles),
            Due::Starts => self.starts(),
            Due::Dies { life } => self.of_life(life, World::dies_in_storm),
            Due::Drains { life } => self.of_life(life, World::drains),
            Due::ClockIsSet => self.clock_is_set(),
            Due::Remote(remote) => self.remote(remote),
            Due::Works(work) => self.work(work),
            Due::Cut { for_ms } => self.is_cut_off(for_ms),
            Due::StreamIsLost => self.stream_is_lost(),
            Due::Leaves { who, for_ms } => self.leaves_for(who, for_ms),
            Due::Unstarted { life, token } => self.unstarted(life, token),
            Due::Wakes => self.wakes(),
            Due::Calms => self.calms(),
        }
    }

    fn of_life(&mut self, number: u64, happens: impl FnOnce(&mut World)) {
        if self.life.as_ref().is_some_and(|life| life.number == number) {
            happens(self);
        }
    }

    fn clock_is_set(&mut self) {
        self.count("the clock was set");
        let dice = &mut self.throws.lives;
        let by_ms = i64::try_from(dice.between(1, 86_400_000 * 30)).unwrap_or(0);
        self.outside.set_clock(if dice.permille(500) { by_ms } else { -by_ms });
    }

    /// From now on the pump cannot reach the broker for a while.
    fn is_cut_off(&mut self, for_ms: u64) {
        self.count("times that the broker was away");
        self.remote.cut_until_ms = self.agenda.now_ms() + for_ms;
    }

    /// From now on there are no faults, and every client repeats its unanswered messages.
    fn calms(&mut self) {
        self.weather = Weather::calm();
        self.outside.spare();
        self.remote.cut_until_ms = self.agenda.now_ms();
        self.all_are_back();
        self.crowd.settle_down();
        for pending in self.crowd.unsettled() {
            self.again(pending);
        }
    }

    fn client_acts(&mut self, client: usize) {
        let threads: Vec<ThreadId> = self.folds.durable().keys().filter(|id| !id.is_sys()).cloned().collect();
        let number = self.troupe.number();
        let waiting = self.waits_for_a_person();
        let sight = Sight { threads: &threads, waiting: &waiting };
        let dice = &mut self.throws.clients;
        let Some((ticket, pending)) = self.crowd.acts(client, number, sight, dice) else { return };
        let next = dice.delay_ms(self.crowd.pause_ms());
        self.agenda.after(next, Due::ClientActs(client));
        if let Some(pending) = pending {
            self.agenda.after(PATIENCE_MS, Due::Again(pending));
        }
        self.posts(ticket);
    }

    /// The requests on disk that wait for a person.
    fn waits_for_a_person(&self) -> Vec<Waits> {
        let calls = self.folds.durable().values().flat_map(|t| t.calls.values().map(move |call| (t, call)));
        let asking = calls.filter_map(|(thread, call)| Some((thread, call, call.approval.as_ref()?)));
        let of = |thread: &Thread, call: &Call| {
            // The request of a call, or of its spawn, has the token of its conversation.
            let found = self.disk.log().of_thread(&thread.id, call.request, 1).unwrap_or_default();
            let token = found.first().and_then(|(_, record)| cast::tokens(&record.body).next());
            token.map(str::to_owned).unwrap_or_default()
        };
        let approvals = asking.map(|(thread, call, asked)| {
            let token = of(thread, call);
            Waits { id: asked.id, hash: asked.hash, token, choices: None }
        });
        let calls = self.folds.durable().values().flat_map(|thread| thread.calls.values());
        let questions = calls.flat_map(|call| call.questions()).map(|(_, asked)| {
            let choices = Some(asked.choices.clone());
            Waits { id: asked.id, hash: asked.hash, token: String::new(), choices }
        });
        approvals.chain(questions).collect()
    }

    fn again(&mut self, pending: Pending) {
        if !self.crowd.is_unsettled(pending) {
            return;
        }
        self.agenda.after(PATIENCE_MS, Due::Again(pending));
        if let Some(ticket) = self.crowd.sends(pending.0, pending.1) {
            self.posts(ticket);
        }
    }

    /// Sends a letter to the pump; it may be lost or arrive twice.
    fn posts(&mut self, ticket: Ticket) {
        let (dice, weather) = (&mut self.throws.network, &self.weather);
        let copies = 1 + u64::from(dice.permille(weather.twice));
        let kept = (0..copies).filter(|_| !dice.permille(weather.lost)).count();
        for _ in 0..kept {
            let after = dice.delay_ms(50);
            self.agenda.after(after, Due::Arrives(ticket));
        }
    }

    /// Resumes what was paused in the storm. Returns whether anything was.
    fn goes_on(&mut self) -> bool {
        let halted = self.folds.durable().values().filter(|thread| thread.paused.is_some() && !thread.ended);
        let halted: Vec<ThreadId> = halted.map(|thread| thread.id.clone()).collect();
        for id in &halted {
            let thread = (!id.is_sys()).then(|| id.clone());
            if let Some(operator) = self.crowd.everybody().last() {
                let ticket = self.crowd.orders(operator, Order::Pause { thread, halts: false });
                self.posts(ticket);
            }
        }
        !halted.is_empty()
    }

    /// Nothing is planned any more. Returns whether there is more to do: the last drain, once.
    fn comes_to_rest(&mut self) -> bool {
        let Some(life) = &self.life else { return false };
        let (number, is_quiet, next) = (life.number, life.engine.is_quiet(), life.engine.next_moment());
        let out = life.engine.out_count();
        if self.is_over {
            self.find("rest", "the drain does not end".into());
            return false;
        }
        if self.goes_on() {
            return true;
        }
        if out > 0 {
            self.find("rest", "a delivery keeps its slot, and nothing ends it".into());
        }
        if !is_quiet || next.is_some() {
            self.find("rest", "the pump waits for something that is not planned".into());
        }
        let open = crate::watch::rest::open(self.folds.durable());
        self.find_all("rest", open);
        let unanswered: Vec<String> =
            self.asked.iter().map(|t| format!("request {} was never answered", t.0)).collect();
        self.find_all("answered", unanswered);
        self.is_over = true;
        self.agenda.after(0, Due::Drains { life: number });
        true
    }
}

/// Inputs that a reader or a writer holds.
type Line<T> = VecDeque<T>;
