//! A program that works in a replay in place of one listener's recorded replies. It is started with the first request,
//! as its listener's program would be in an organism, and gets one request after the other. Nothing else is started.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener, ListenerProgram, Reach};
use systole_core::types::ids::Name;
use systole_core::types::ports::{CallBack, Carrier as _, CarrierReport, Delivery, LeaseToken, NoObserver};
use systole_core::types::time::spell_duration;
use systole_kit::DocumentLimits;
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::ListenerDocument;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::configurations::CannotReplay;
use systole_carriers::{CarrierEquipment, CarrierWaits, Carriers, InheritedVariables, NoEar, NoReceipts};
use systole_system::system;

/// A program in place of a listener.
pub struct StandInProgram {
    listener: Name,
    run: Vec<String>,
    surroundings: InheritedVariables,
    work: Option<StandInWork>,
    /// Requests that it did not get yet.
    waiting: VecDeque<Delivery>,
    /// The request that it works on.
    current: Option<LeaseToken>,
    /// How many requests it got.
    asked: usize,
}

/// The running program.
struct StandInWork {
    runtime: Runtime,
    carriers: Carriers,
    heard: Option<mpsc::Receiver<CarrierReport>>,
    timeout_ms: u64,
}

/// What a program says.
pub(super) enum StandInWord {
    /// A document.
    Said(LeaseToken, ListenerDocument),
    /// No answer will come.
    Gone(LeaseToken, Code, String),
}

impl StandInProgram {
    /// A program that is started with these words in place of that listener's, with these variables around it.
    pub fn new(listener: Name, run: Vec<String>, surroundings: InheritedVariables) -> StandInProgram {
        let (work, waiting, current) = (None, VecDeque::new(), None);
        StandInProgram { listener, run, surroundings, work, waiting, current, asked: 0 }
    }

    /// The listener.
    pub fn listener(&self) -> &Name {
        &self.listener
    }

    /// How many requests it got.
    pub fn count_requests(&self) -> usize {
        self.asked
    }

    /// The request that it works on.
    pub(super) fn current(&self) -> Option<&LeaseToken> {
        self.current.as_ref()
    }

    /// Takes a request. The configuration says how its listener's program is started.
    pub(super) fn hand_delivery(
        &mut self,
        delivery: &Delivery,
        page: &Composition,
    ) -> Result<(), CannotReplay> {
        if self.work.is_none() {
            self.work = Some(self.start_program(page)?);
        }
        self.waiting.push_back(delivery.clone());
        self.go_on();
        Ok(())
    }

    fn start_program(&self, page: &Composition) -> Result<StandInWork, CannotReplay> {
        let listener = page.find_listener(&self.listener);
        let program = listener.and_then(|listener| Some((listener, listener.reach.traits().program?)));
        let Some((listener, program)) = program else {
            return Err(CannotReplay::NoProgram(self.listener.clone()));
        };
        let program = ListenerProgram { run: self.run.clone(), adapter: Vec::new(), ..program.clone() };
        let alone = Listener { reach: Reach::Process(program), ..listener.clone() };
        let alone = Composition {
            listeners: std::iter::once((self.listener.clone(), alone)).collect(),
            ..page.clone()
        };
        let broke = |words: String| CannotReplay::BrokeOff(words);
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| broke(system::describe_error(&error)))?;
        let (reports, heard) = mpsc::channel(crate::limits::SHORT_QUEUE);
        let equipment = CarrierEquipment {
            inline: BTreeMap::new(),
            surroundings: self.surroundings.clone(),
            pace: CarrierWaits::default(),
            steps: Arc::new(NoObserver),
            ear: Arc::new(NoEar),
            receipts: Arc::new(NoReceipts),
            broker: None,
            is_still: false,
        };
        let entered = runtime.enter();
        let carriers =
            Carriers::start_all(&alone, equipment, reports).map_err(|no_way| broke(no_way.to_string()))?;
        drop(entered);
        Ok(StandInWork { runtime, carriers, heard: Some(heard), timeout_ms: listener.timeout_ms })
    }

    fn go_on(&mut self) {
        if self.current.is_none()
            && let Some(work) = &self.work
            && let Some(delivery) = self.waiting.pop_front()
        {
            self.asked += 1;
            self.current = Some(delivery.lease.token.clone());
            work.carriers.send_delivery(delivery);
        }
    }

    /// A request is no longer wanted.
    pub(super) fn call_back(&mut self, token: &LeaseToken) {
        self.waiting.retain(|delivery| delivery.lease.token != *token);
        if self.current.as_ref() == Some(token) {
            self.is_over(CallBack::Cancelled);
        }
    }

    /// No request is wanted any more.
    pub(super) fn call_back_all(&mut self) {
        self.waiting.clear();
        self.is_over(CallBack::Cancelled);
    }

    fn is_over(&mut self, why: CallBack) {
        if let (Some(token), Some(work)) = (self.current.take(), &self.work) {
            work.carriers.call_back(&token, why);
        }
        self.go_on();
    }

    /// Brings it the answer to a question or a journal entry.
    pub(super) fn bring_answer(&self, answer: PumpAnswer) {
        if let Some(work) = &self.work {
            work.carriers.send_answer(&self.listener, answer);
        }
    }

    /// Waits for the next that it says about its request. `None` if it has none.
    pub(super) fn next_word(&mut self) -> Option<StandInWord> {
        loop {
            let token = self.current.clone()?;
            let work = self.work.as_mut()?;
            let wait = Duration::from_millis(work.timeout_ms);
            let heard = work.heard.as_mut()?;
            let report = work.runtime.block_on(async { tokio::time::timeout(wait, heard.recv()).await });
            let gone = |code, words: String| Some(StandInWord::Gone(token.clone(), code, words));
            match report {
                Err(_) => {
                    let words = format!("no answer within {}", spell_duration(work.timeout_ms));
                    self.is_over(CallBack::TimedOut);
                    return gone(Code::ListenerTimeout, words);
                }
                Ok(None) => {
                    self.current = None;
                    return gone(Code::ListenerLost, "its carrier ended".to_owned());
                }
                Ok(Some(CarrierReport::Gone { token: over, code, words })) if over == token => {
                    self.current = None;
                    self.go_on();
                    return gone(code, words);
                }
                Ok(Some(
                    CarrierReport::NotNow { token: over, words } | CarrierReport::Away { token: over, words },
                )) if over == token => {
                    self.current = None;
                    self.go_on();
                    return gone(Code::ListenerDown, words);
                }
                Ok(Some(CarrierReport::Said { speech, .. })) => {
                    match speech.read_document(&DocumentLimits::default()) {
                        Ok(ListenerDocument::Progress { .. }) => {}
                        Ok(document) if document.delivery() != &*token.0 => {}
                        Ok(document) => {
                            if matches!(document, ListenerDocument::Reply { .. }) {
                                self.current = None;
                                self.go_on();
                            }
                            return Some(StandInWord::Said(token, document));
                        }
                        Err(fault) => {
                            self.is_over(CallBack::Cancelled);
                            return gone(Code::ListenerFailed, fault.message.to_string());
                        }
                    }
                }
                Ok(Some(_)) => {}
            }
        }
    }
}

impl Drop for StandInProgram {
    fn drop(&mut self) {
        if let Some(mut work) = self.work.take() {
            // The program may end by itself; what it still says counts no more.
            work.heard = None;
            work.runtime.block_on(work.carriers.stop_all());
        }
    }
}
