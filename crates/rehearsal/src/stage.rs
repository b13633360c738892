//! An organism under test: its log is in memory, its clock is advanced, and its records are read as they come. It
//! waits in real time only while something is at work.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use systole_agent::model::Sleeper;

use super::stand_in::StandingIn;
use crate::limits;
use systole_api::ending::find_ending;
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_carriers::InlineListener;
use systole_config::read_source;
use systole_config::rehearsal::{Rehearsal, TestMessage};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{Key, ThreadId};
use systole_core::types::ports::{Clock as _, LogFault, NoObserver, Position};
use systole_core::types::record;
use systole_core::types::refusal::Refusal;
use systole_log::memory::MemoryLog;
use systole_organism::folder_copies::FolderCopies;
use systole_organism::inline_listeners::{self, ListenerScope, ScriptsByFile};
use systole_organism::plan::{LogPlace, ReloadAtStart, RunPlan};
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::skipping::{OrganismActivity, SkippedTime};
use systole_organism::waiting::SenderReply;
use systole_queries::log_state::LogState;
use systole_queries::persons::{self, WaitingRequest};
use systole_queries::questions::tree::draw_thread;
use systole_system::clock::SkippingClock;

/// Why an expected event does not come.
pub(crate) enum StuckTest {
    /// Nothing happens any more.
    Rests,
    /// Timers continue for ever.
    Timers,
    /// The organism ended, in words.
    Ended(String),
}

impl From<LogFault> for StuckTest {
    fn from(fault: LogFault) -> StuckTest {
        StuckTest::Ended(fault.to_string())
    }
}

/// The pauses of agents and of their scripts.
#[derive(Debug)]
struct TestPauses(Arc<SkippingClock>);

impl Sleeper for TestPauses {
    fn sleep(&self, pause: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.sleep_for(pause))
    }
}

/// An organism under test.
pub(crate) struct TestStage {
    organism: Organism,
    copies: FolderCopies,
    directory: std::path::PathBuf,
    time: SkippedTime,
    pub(crate) stand_ins: Vec<Arc<StandingIn>>,
    pub(crate) records: Vec<(record::Record, ApiRecord)>,
    at: Position,
    sent: usize,
    /// The receipt of the last message.
    pub(crate) last: Option<ApiReceipt>,
}

impl TestStage {
    /// Starts the organism of a test, or reports why it does not start.
    pub(crate) async fn start(test: &Rehearsal, scripts: &mut ScriptsByFile) -> Result<TestStage, String> {
        let (time, rehearsed) = SkippedTime::new();
        let sleeper: Arc<dyn Sleeper> = Arc::new(TestPauses(time.clock().clone()));
        let file = &test.organism;
        let mut inline = inline_listeners::build_agents_with(file, ListenerScope::Alone, scripts, &sleeper)
            .map_err(|e| e.to_string())?;
        let mut stand_ins = Vec::new();
        for (listener, list) in &test.stand_ins {
            let one = Arc::new(StandingIn::new(listener.as_str(), list));
            inline.insert(listener.clone(), one.clone() as Arc<dyn InlineListener>);
            stand_ins.push(one);
        }
        let mut composition = file.composition.clone();
        let copying =
            tokio::task::spawn_blocking(move || (FolderCopies::make(&mut composition), composition)).await;
        let (copies, composition) = copying.map_err(|error| format!("the copy broke off: {error}"))?;
        let copies = copies?;
        let plan = RunPlan {
            composition,
            directory: test.directory.clone(),
            log: LogPlace::Memory(MemoryLog::new()),
            inline,
            validators: 1,
            surroundings: std::env::vars_os().collect(),
            steps: Arc::new(NoObserver),
            bus: None,
            managed: None,
            stands_by: None,
            given_up: None,
            proof: None,
            followers: Vec::new(),
            schedules: file.schedules.clone(),
            reload: ReloadAtStart::default(),
        };
        let organism =
            Box::pin(Organism::start_rehearsed(plan, rehearsed)).await.map_err(|e| e.to_string())?;
        let (directory, records) = (test.directory.clone(), Vec::new());
        let at = Position(0);
        Ok(TestStage { organism, copies, directory, time, stand_ins, records, at, sent: 0, last: None })
    }

    pub(crate) fn organism(&self) -> &Organism {
        &self.organism
    }

    /// Sends a message and waits for its receipt.
    pub(crate) async fn send(&mut self, sending: &TestMessage) -> Result<(), Box<Refusal>> {
        self.sent += 1;
        let ended = || {
            Box::new(Refusal::new(
                systole_core::types::codes::Code::IngressUnavailable,
                "the organism ended".to_owned(),
            ))
        };
        let Ok(key) = Key::parse(&format!("test-{}", self.sent)) else { return Err(ended()) };
        let thread = self.last.as_ref().filter(|_| sending.is_same_thread).map(|last| last.thread.clone());
        let message = ClientMessage {
            client: sending.from.clone(),
            key: key.clone(),
            document: sending.document.clone(),
            to: sending.to.clone(),
            thread,
            subject: None,
        };
        let reply = self.organism.handle().send_message(message).await;
        match reply {
            Some(SenderReply::Receipt(receipt, position)) => {
                let position = position.unwrap_or_default();
                self.last = Some(ApiReceipt::from_receipt(&receipt, position, key.as_str()));
                Ok(())
            }
            Some(SenderReply::Refused(refusal)) => Err(refusal),
            Some(SenderReply::Done) | None => Err(ended()),
        }
    }

    /// Reads new records of the log.
    fn read_records(&mut self) -> Result<(), LogFault> {
        let end = self.organism.handle().end();
        for placed in self.organism.reader().records_after(self.at).up_to(end) {
            let (position, record) = placed?;
            self.at = position;
            let told = ApiRecord::from_record(position, &record);
            self.records.push((record, told));
        }
        Ok(())
    }

    /// Waits until a look at the log finds something, and advances the clock when everything is waiting.
    pub(crate) async fn wait_until<T>(
        &mut self,
        look: impl Fn(&TestStage) -> Result<Option<T>, LogFault>,
    ) -> Result<T, StuckTest> {
        let mut skips = 0;
        loop {
            let activity = self.time.read_activity().await;
            self.read_records()?;
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            match activity {
                OrganismActivity::Works => self.time.wait_for_change().await,
                OrganismActivity::WaitsUntil(_) if skips == limits::SKIPS => {
                    return Err(StuckTest::Timers);
                }
                OrganismActivity::WaitsUntil(tick) => {
                    skips += 1;
                    self.time.skip_to(tick);
                }
                // Only `after` lets schedules have their times.
                OrganismActivity::RestsUntil(_) | OrganismActivity::Rests => return Err(StuckTest::Rests),
                OrganismActivity::Ended => return Err(StuckTest::Ended("the organism ended".to_owned())),
            }
        }
    }

    /// Lets that much time pass, with everything that becomes due.
    pub(crate) async fn let_pass(&mut self, ms: u64) -> Result<(), StuckTest> {
        let end = self.settle().await?.add_ms(ms);
        loop {
            match self.time.read_activity().await {
                OrganismActivity::Works => self.time.wait_for_change().await,
                OrganismActivity::WaitsUntil(tick) | OrganismActivity::RestsUntil(tick) if tick <= end => {
                    self.time.skip_to(tick);
                }
                OrganismActivity::Ended => return Err(StuckTest::Ended("the organism ended".to_owned())),
                _ if self.time.ticks() >= end => return self.read_records().map_err(StuckTest::from),
                _ => self.time.skip_to(end),
            }
        }
    }

    /// Waits until nothing is at work, without moving the clock; gives the tick that it then is.
    async fn settle(&mut self) -> Result<systole_core::types::time::Millis, StuckTest> {
        loop {
            match self.time.read_activity().await {
                OrganismActivity::Works => self.time.wait_for_change().await,
                OrganismActivity::Ended => return Err(StuckTest::Ended("the organism ended".to_owned())),
                _ => {
                    self.read_records()?;
                    return Ok(self.time.ticks());
                }
            }
        }
    }

    /// How the last message ended, with its record.
    pub(crate) fn ending(&self) -> Option<(CallJudgement, ApiRecord)> {
        let last = self.last.as_ref()?;
        self.records.iter().find_map(|(_, told)| Some((find_ending(last, told)?, told.clone())))
    }

    /// The requests that wait for a person.
    pub(crate) fn waiting(&self) -> Result<Vec<WaitingRequest>, LogFault> {
        // The next step folds the whole log.
        if !self.records.iter().any(|(record, _)| record.header.kind == record::RecordKind::Approval) {
            return Ok(Vec::new());
        }
        persons::waiting(&**self.organism.reader())
    }

    /// The thread of the last message as `systole tree` draws it.
    pub(crate) fn draw_tree(&self) -> Vec<String> {
        let Some(thread) = self.last.as_ref().and_then(|last| ThreadId::parse(&last.thread).ok()) else {
            return Vec::new();
        };
        let reader = &**self.organism.reader();
        let now = self.time.clock().now();
        let read =
            |source: &[u8]| read_source(source, &self.directory).map_err(|refused| refused.to_string());
        let whole = LogState::look(reader, &read, None);
        let found = whole.and_then(|whole| systole_queries::tree::standing(reader, &whole, &thread, now));
        match found {
            Ok(Some((drawn, standing))) => draw_thread(&drawn, &standing, &thread, now),
            Ok(None) => Vec::new(),
            Err(fault) => vec![fault.to_string()],
        }
    }

    /// Ends the organism and its programs, and removes the copies of folders, or reports why they stay.
    pub(crate) async fn stop(self) -> Result<(), String> {
        // How it ends is not part of the test.
        let _ended = self.organism.stop(Duration::ZERO).await;
        let removed = tokio::task::spawn_blocking(move || self.copies.remove()).await;
        removed.unwrap_or_else(|error| Err(format!("the removal of the copies broke off: {error}")))
    }
}
