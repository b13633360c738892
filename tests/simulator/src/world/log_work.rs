//! The pump's input and output: after every input the engine is settled as the loop around it does, its
//! batches go to the scribe and its questions to the reader, each of which takes its time.

use sha2::Digest as _;

use systole_core::pump::engine::{PumpInput, WriteReport, answer_lookup};
use systole_core::types::ids::CallPath;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::{MessageRole, RecordCode, RecordKind};

use super::{Due, World};
use crate::glass::Glass;
use crate::plant::Plant;
use crate::scribe::{Scribe, Tried};
use crate::watch::remote;

impl World {
    /// Gives the engine an input, sends out what may go, and settles.
    pub(super) fn input(&mut self, input: PumpInput) {
        let Some(life) = &mut self.life else { return };
        life.engine.take_input(input);
        // The loop takes all pending input before it sends anything out.
        if self.throws.disk.permille(300) {
            let life = life.number;
            self.agenda.after(0, Due::Ticks { life });
            return self.settles();
        }
        self.tick_and_settle();
    }

    fn tick_and_settle(&mut self) {
        if let Some(life) = &mut self.life
            && life.drained_ms.is_none()
            && !self.outside.is_dead()
        {
            life.engine.run_tick();
        }
        self.settles();
    }

    /// Takes the engine's output for others.
    pub(super) fn settles(&mut self) {
        self.hands_over();
        for sent in self.outside.take() {
            self.takes(sent);
        }
        if self.outside.is_dead() {
            self.count("deaths at a step");
            return self.dies();
        }
        if self.goes_on_draining() {
            return self.leaves();
        }
        self.hands_over();
        let now_ms = self.agenda.now_ms();
        let Some(life) = &mut self.life else { return };
        if let Some(stop) = life.engine.find_stop() {
            let words = stop.words.clone();
            if self.weather.is_calm() {
                self.find("broken", words);
            }
            return self.dies();
        }
        let due_ms = life.engine.next_moment().map(|at| at.0.max(now_ms));
        // A drain waits for replies, and for nothing that only time brings.
        if let Some(due_ms) = due_ms.filter(|due| life.drained_ms.is_none() && life.tick_ms != Some(*due)) {
            life.tick_ms = Some(due_ms);
            let life = life.number;
            self.agenda.at(due_ms, Due::Ticks { life });
        }
    }

    /// Gives the reader its questions, and the scribe its batch if it has none.
    fn hands_over(&mut self) {
        if self.outside.is_dead() {
            return;
        }
        let Some(life) = &mut self.life else { return };
        let number = life.number;
        let dice = &mut self.throws.disk;
        while let Some(lookup) = life.engine.next_lookup() {
            life.lookups.push_back(lookup);
            let after_ms = dice.delay_ms(5);
            self.agenda.after(after_ms, Due::Looks { life: number });
        }
        if life.scribe.is_some() {
            return;
        }
        let Some(batch) = life.engine.next_batch() else { return };
        self.folds.handed_over(life.engine.state(), &batch);
        for row in &batch.rows {
            self.given.update(row.thread.as_str());
            self.given.update(&row.bytes);
        }
        let records = batch.records.len() as u64;
        life.scribe = Some(Scribe::new(batch));
        let after_ms = dice.delay_ms(30);
        self.agenda.after(after_ms, Due::Commits { life: number });
        if self.plant == Some(Plant::AckBeforeSync) {
            let early = WriteReport::Committed(Position(self.disk.last().0 + records));
            life.engine.hear_writer(early);
            life.engine.route_recorded();
        }
    }

    /// The scribe tries to write its batch.
    pub(super) fn commits(&mut self) {
        let Some(life) = &mut self.life else { return };
        let (number, plant) = (life.number, self.plant);
        let Some(scribe) = &mut life.scribe else { return };
        match scribe.tries(&mut self.disk, &self.weather, &mut self.throws.disk, plant) {
            Tried::Stored(last) => {
                life.scribe = None;
                self.folds.stored();
                if plant != Some(Plant::AckBeforeSync) {
                    life.engine.hear_writer(WriteReport::Committed(last));
                }
                // The writer has its next batch before the last one is routed.
                self.hands_over();
                if let Some(life) = &mut self.life {
                    life.engine.route_recorded();
                }
                self.clients_read();
                self.tick_and_settle();
            }
            Tried::Again { after_ms, stalled } => {
                self.agenda.after(after_ms, Due::Commits { life: number });
                if let Some(words) = stalled {
                    self.count("full disks");
                    self.input(PumpInput::Written(WriteReport::Stalled(words)));
                } else {
                    self.count("unknown commits");
                }
            }
            Tried::Broken { words, is_breach } => {
                if is_breach {
                    self.find("breach", words.clone());
                }
                self.count("broken logs");
                self.input(PumpInput::Written(WriteReport::Broken(words.into())));
            }
        }
    }

    /// The reader reads the answer to its oldest question.
    pub(super) fn looks(&mut self) {
        let Some(life) = &mut self.life else { return };
        let Some(lookup) = life.lookups.pop_front() else { return };
        let dice = &mut self.throws.disk;
        if self.plant == Some(Plant::DroppedLook) && dice.permille(100) {
            return;
        }
        let is_blind = dice.permille(self.weather.blind);
        let glass = Glass { log: self.disk.log().clone(), is_blind, forgets_rows: false };
        life.answers.push_back(answer_lookup(&glass, &mut life.begun, lookup));
        let (number, after_ms) = (life.number, dice.delay_ms(self.look_ms));
        self.agenda.after(after_ms, Due::Finds { life: number });
        if is_blind {
            self.count("blind looks");
        }
    }

    /// The reader's oldest answer arrives.
    pub(super) fn finds(&mut self) {
        let Some(life) = &mut self.life else { return };
        if let Some(answered) = life.answers.pop_front() {
            self.input(PumpInput::Found(answered));
        }
    }

    pub(super) fn ticks(&mut self) {
        let now_ms = self.agenda.now_ms();
        if let Some(life) = &mut self.life {
            // A tick that was planned later is still planned.
            life.tick_ms.take_if(|at| *at <= now_ms);
        }
        self.tries_in_calm();
        self.tick_and_settle();
    }

    /// Nothing came for a while: every thread at rest may leave memory.
    pub(super) fn idles(&mut self) {
        let Some(life) = &mut self.life else { return };
        let number = life.number;
        if life.engine.has_dirty() {
            life.engine.checkpoint_soon();
            self.count("checkpoints");
        }
        if !self.weather.is_calm() {
            let after_ms = 1 + self.throws.disk.delay_ms(self.idle_ms);
            self.agenda.after(after_ms, Due::Idles { life: number });
        }
        self.settles();
    }

    /// Clients continue to read the log, up to what is on disk, and see the outcomes of their calls.
    fn clients_read(&mut self) {
        let new = self.disk.log().read_after(self.read, usize::MAX).unwrap_or_default();
        for (position, record) in new {
            self.read = position;
            self.judges_loss(&record);
            if let Some(token) = remote::goes_on(&record) {
                self.deliveries.promises(token);
            }
            let h = &record.header;
            let closes = matches!((h.kind, h.code), (_, Some(RecordCode::Role(MessageRole::Final))))
                || (h.kind == RecordKind::Outcome && h.code != Some(RecordCode::DeadLetter));
            let Some(call) = h.call.as_ref().filter(|call| closes && is_top(call)) else { continue };
            self.crowd.sees(&(h.thread.clone(), call.clone()), h.seq, &record.body);
        }
    }
}

fn is_top(call: &CallPath) -> bool {
    call.depth() == 0
}
