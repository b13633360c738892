//! Lives of the pump: it starts from the data on disk, and ends by a kill at some step or moment, or by a
//! drain. After each life the log is folded and compared with what is known to be on disk.

use std::sync::Arc;

use systole_carriers::leases::LeaseTable;
use systole_core::pump::engine::{Engine, EnginePorts, LogAnswer, LogLookup, PumpInput, kept_listeners};
use systole_core::pump::state::{CompositionBook, PendingItem};
use systole_core::pump::view::BegunViews;
use systole_core::pump::wake::{self, RecoveredLog};

use super::{Due, Line, World};
use crate::carrier::RemoteCarriers;
use crate::glass::Glass;
use crate::plant::Plant;
use crate::scribe::Scribe;
use crate::watch::rest;

/// How long a drain waits for replies.
const GRACE_MS: u64 = 5_000;

/// A life of the pump.
pub(super) struct Life {
    pub(super) number: u64,
    pub(super) engine: Engine,
    pub(super) leases: Arc<LeaseTable>,
    pub(super) scribe: Option<Scribe>,
    pub(super) lookups: Line<LogLookup>,
    pub(super) answers: Line<LogAnswer>,
    /// Views that its reader has begun.
    pub(super) begun: BegunViews,
    /// The next planned tick.
    pub(super) tick_ms: Option<u64>,
    /// When a drain stops waiting, once one has begun.
    pub(super) drained_ms: Option<u64>,
    pub(super) has_said_farewell: bool,
    /// The carriers of listeners on other machines.
    pub(super) carriers: RemoteCarriers,
}

impl World {
    pub(super) fn starts(&mut self) {
        self.lives += 1;
        self.count("lives");
        self.deliveries.new_life();
        let dies = self.planned_death();
        self.outside.live(dies);
        let forgets_rows = self.plant == Some(Plant::ForgottenRows);
        let glass = Glass { log: self.disk.log().clone(), is_blind: false, forgets_rows };
        let recovered = wake::recover_log(&glass, &*self.outside);
        if self.outside.is_dead() {
            self.count("deaths during recovery");
            return self.starts_later();
        }
        let mut recovered = match recovered {
            Ok(recovered) => recovered,
            Err(fault) => return self.find("start", fault.to_string()),
        };
        if self.plant == Some(Plant::ForgottenAttempts) {
            forget_attempts(&mut recovered);
        }
        let wrong = self.folds.differs_from_start(&recovered.state);
        self.find_all("start", wrong);
        // The plant forgets after a correct read, so the fault shows in what the pump does.
        if let Some(plant) = self.plant {
            forget(&mut recovered, plant);
        }
        recovered.state.book = self.opened_book();
        let leases = Arc::new(LeaseTable::default());
        let outside = &self.outside;
        let ports = EnginePorts {
            clock: outside.clone(),
            seeds: outside.clone(),
            tokens: outside.clone(),
            leases: leases.clone(),
            carrier: outside.clone(),
            askers: outside.clone(),
            steps: outside.clone(),
        };
        let mut engine = Engine::new(recovered, ports, self.disk.last());
        // Before anything is heard: workers may be about to answer an earlier life.
        engine.adopt_listeners();
        let (kept, expected) = (kept_listeners(engine.state()), self.outside.take());
        let carriers = self.remote_carriers(self.lives, expected, &kept);
        engine.boot_organism();
        self.life = Some(Life {
            number: self.lives,
            engine,
            leases,
            scribe: None,
            lookups: Line::new(),
            answers: Line::new(),
            begun: BegunViews::default(),
            tick_ms: None,
            drained_ms: None,
            has_said_farewell: false,
            carriers,
        });
        self.settles();
    }

    /// The configuration of this life, and the earlier ones with which calls may have begun.
    fn opened_book(&mut self) -> CompositionBook {
        let dice = &mut self.throws.lives;
        if dice.permille(self.weather.changed)
            && let Some(other) = dice.one_of(&self.compositions)
        {
            self.current = other.clone();
            self.count("other configurations");
        }
        let mut book = CompositionBook::open_at(self.current.clone());
        self.compositions.iter().for_each(|page| book.add(page.clone()));
        book
    }

    /// How this life will end; returns the step of its kill, if it has one.
    fn planned_death(&mut self) -> Option<u64> {
        let (dice, life) = (&mut self.throws.lives, self.lives);
        if self.weather.is_calm() {
            return None;
        }
        let idle_ms = dice.delay_ms(self.idle_ms);
        self.agenda.after(idle_ms, Due::Idles { life });
        if !dice.permille(self.weather.deadly) {
            let after_ms = dice.delay_ms(10_000) + 1;
            self.agenda.after(after_ms, Due::Drains { life });
            return None;
        }
        match dice.below(3) {
            0 => {
                let after_ms = dice.delay_ms(5_000) + 1;
                self.agenda.after(after_ms, Due::Dies { life });
                None
            }
            _ if dice.permille(self.weather.early) => Some(dice.between(1, 25)),
            _ => Some(dice.between(1, 150)),
        }
    }

    pub(super) fn dies_in_storm(&mut self) {
        if self.weather.is_calm() {
            return;
        }
        if self.holds() { self.is_held() } else { self.dies() }
    }

    /// The pump is gone, and loses everything that is not on disk.
    pub(super) fn dies(&mut self) {
        self.count("deaths");
        let _ended = self.ends_life();
    }

    /// The pump does no more, and what it was writing is on disk or never will be. The next one starts later.
    pub(super) fn ends_life(&mut self) -> Option<Life> {
        let life = self.life.take()?;
        let writing = life.scribe.as_ref().map(Scribe::batch);
        self.disk.power_fails(writing, &mut self.throws.disk);
        let is_stored = writing.is_some_and(|batch| self.disk.has(batch));
        if is_stored {
            self.count("batches stored at a death");
            self.folds.stored();
        } else {
            self.folds.lost();
        }
        self.buried();
        self.starts_later();
        Some(life)
    }

    fn starts_later(&mut self) {
        let after_ms = self.throws.lives.delay_ms(500) + 1;
        self.agenda.after(after_ms, Due::Starts);
    }

    /// What remains of a life.
    fn buried(&mut self) {
        self.asked.clear();
        let wrong = self.folds.differs_from_log(self.disk.log());
        self.find_all("fold", wrong);
        let wrong = rest::stranded(self.folds.durable());
        self.find_all("stranded", wrong);
        // Listeners die with the pump, except the undead, whose messages are already planned.
        self.running.clear();
    }

    /// The pump is asked to stop.
    pub(super) fn drains(&mut self) {
        let now_ms = self.agenda.now_ms();
        let Some(life) = &mut self.life else { return };
        // A drain that began in the storm goes on to its end; in the calm only the last drain begins.
        if self.weather.is_calm() && !self.is_over && life.drained_ms.is_none() {
            return;
        }
        let number = life.number;
        if life.drained_ms.is_none() {
            life.drained_ms = Some(now_ms + GRACE_MS);
            life.engine.take_input(PumpInput::Stop);
            self.agenda.after(GRACE_MS, Due::Drains { life: number });
        }
        self.settles();
    }

    /// Continues a drain as far as possible. Returns whether it is over.
    pub(super) fn goes_on_draining(&mut self) -> bool {
        let now_ms = self.agenda.now_ms();
        let Some(life) = &mut self.life else { return false };
        let Some(until_ms) = life.drained_ms else { return false };
        if !life.has_said_farewell && (life.engine.is_quiet() || now_ms >= until_ms) {
            life.has_said_farewell = true;
            life.engine.take_input(PumpInput::Farewell);
            life.engine.checkpoint_soon();
        }
        life.has_said_farewell && life.engine.is_flushed()
    }

    /// The drained pump ends.
    pub(super) fn leaves(&mut self) {
        self.count("drains");
        self.judges_farewell();
        self.life = None;
        self.disk.power_fails(None, &mut self.throws.disk);
        self.buried();
        if !self.is_over {
            self.starts_later();
        }
    }
}

fn forget(recovered: &mut RecoveredLog, plant: Plant) {
    for thread in recovered.state.threads.values_mut() {
        let calls = thread.calls.values_mut();
        match plant {
            Plant::ForgottenTimers => thread.timers.clear(),
            Plant::ForgottenWaits => {
                calls.flat_map(|call| &mut call.items).for_each(|item| item.pending = PendingItem::Other);
            }
            Plant::ForgottenTodos => calls.for_each(|call| call.todos.clear()),
            Plant::ForgottenApprovals => calls.for_each(|call| {
                call.approval = None;
                let questions =
                    call.items.iter_mut().filter(|item| matches!(item.pending, PendingItem::Person(_)));
                questions.for_each(|item| item.pending = PendingItem::Other);
            }),
            Plant::ForgottenPauses => thread.paused = None,
            Plant::ForgottenOutages => calls.for_each(|call| call.waits = None),
            _ => {}
        }
    }
}

fn forget_attempts(recovered: &mut RecoveredLog) {
    for thread in recovered.state.threads.values_mut() {
        thread.calls.values_mut().for_each(|call| call.attempts = 0);
    }
}
