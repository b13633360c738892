//! An organism that runs in this process: its log is shown as it grows, until it stops or goes on with another
//! configuration. It stops in the order of the flow: the door first, the log last.

use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::exit::CommandExit;
use super::forms::Forms;
use super::live::Live;
use super::local_organism;
use super::reloading::{KeptDoor, NextRun, OrderedReload, ReloadPlaces};
use super::screen::Screen;
use super::signals::{SignalledWish, Signals};
use crate::limits;
use systole_api::record_words::{self, ShownContent};
use systole_api::types::ApiRecord;
use systole_config::OrganismFile;
use systole_core::types::time::spell_duration;
use systole_doors::http::HttpDoor;
use systole_doors::wire::WireDoor;
use systole_following::events::RecordFollower;
use systole_organism::front::OrganismHandle;
use systole_organism::pump_loop::StopWait;
use systole_organism::reloading::orders::ReloadOrder;
use systole_organism::runfile::RunFile;
use systole_organism::running::Organism;
use systole_organism::tail::SharedRecord;
use systole_queries::glance::glance;
use systole_system::system;
use systole_system::tasks::RunningTask;
/// How a run ended.
pub(super) enum RunEnd {
    /// Finally.
    Over(CommandExit),
    /// By a stop, before the organism had started.
    Unstarted(CommandExit),
    /// By a stop while a reload was under way. The log does not have it yet: it has an end for a reload, of this
    /// configuration.
    Unrecorded(CommandExit, Box<OrganismFile>),
    /// Another pump has the log; this one stands by from here on.
    Ousted,
    /// To go on with another configuration.
    Again(Box<NextRun>),
    /// Before it began: the broker does not answer, in words. A reload begins again with the same.
    Cut(String, Option<Box<NextRun>>),
}

/// An organism with its doors.
pub(super) struct RunningOrganism {
    pub(super) organism: Organism,
    pub(super) door: HttpDoor,
    pub(super) wire: Option<WireDoor>,
    pub(super) kept: KeptDoor,
    /// What it runs.
    pub(super) file: OrganismFile,
    pub(super) orders: mpsc::Receiver<ReloadOrder>,
}

/// Why the log is no longer watched.
enum WatchEnd {
    /// A signal or a fault; `None` if the pump ended by itself.
    Stop(Option<CommandExit>),
    /// Another configuration is to go on.
    Reload(Box<OrderedReload>),
}

/// Shows the log until a signal comes, the pump fails, another pump has the log, or another configuration is to go on.
/// Then it stops.
pub(super) async fn watch_log(
    places: ReloadPlaces<'_>,
    mut running: RunningOrganism,
    signals: &mut Signals,
    shows_payloads: bool,
) -> RunEnd {
    let screen = places.screen;
    let front = running.organism.handle().clone();
    let mut follower = RecordFollower::follow_after(&front, front.began(), None);
    let mut live = LogWatcher::follow_log(screen, &front, shows_payloads);
    let mut counts = Box::pin(report_workers(screen, front.clone(), live.joined.clone()));
    let mut ousted = pin!(running.organism.wait_for_takeover());
    let mut held: Option<HeldReload> = None;
    let end = loop {
        tokio::select! {
            _ = &mut ousted => break WatchEnd::Stop(None),
            page = follower.next_shared() => match page {
                Ok(Some(records)) => live.show_records(&records),
                // The pump ended; the other branch reports why.
                Ok(None) => break WatchEnd::Stop(None),
                Err(fault) => break WatchEnd::Stop(Some(local_organism::report_log_fault(screen, &fault))),
            },
            _ = running.organism.wait_for_break() => break WatchEnd::Stop(None),
            () = &mut counts => {}
            wish = signals.next_wish() => match wish {
                SignalledWish::Stop(exit) => break WatchEnd::Stop(Some(exit)),
                SignalledWish::Reload => {
                    let ordered = places.take_signal(&running.organism, &running.file);
                    held = ordered.map(|ordered| HeldReload::begin(&front, ordered)).or(held);
                }
            },
            // The newest order counts, with its own time.
            Some(order) = running.orders.recv() => {
                let ordered = places.answer_order(&running.organism, &running.file, order);
                held = ordered.map(|ordered| HeldReload::begin(&front, ordered)).or(held);
            }
            ordered = HeldReload::wait_for(&mut held) => break WatchEnd::Reload(ordered),
        }
    };
    end_watch(screen, running, end, (follower, live), signals).await
}

/// Stops the organism, and shows its last records.
async fn end_watch(
    screen: Screen,
    running: RunningOrganism,
    mut end: WatchEnd,
    (mut follower, mut live): (RecordFollower, LogWatcher),
    signals: &mut Signals,
) -> RunEnd {
    let by = running.organism.ownership().and_then(|lead| lead.find_loss());
    let wait = match &end {
        WatchEnd::Reload(_) => StopWait::ForReload,
        WatchEnd::Stop(_) => {
            let wait = local_organism::stop_wait(&running.kept.posted);
            say_stopping(screen, by.as_deref(), wait);
            wait
        }
    };
    let RunningOrganism { organism, door, wire, kept, file, .. } = running;
    let is_again = matches!(end, WatchEnd::Reload(_));
    if is_again && let Err(error) = kept.posted.note_reload(&file.log) {
        // Commands would find no organism for a moment.
        screen.say(format!(
            "note: {}: {}",
            RunFile::find_path(&file.log).display(),
            system::describe_error(&error)
        ));
    }
    if is_again {
        door.leave_unread();
    }
    // While it drains, a second `systole stop` finds it.
    let mut kept = (is_again || matches!(wait, StopWait::Everywhere(_))).then_some(kept);
    let mut stopping = pin!(stop_running(screen, (organism, door, wire), wait));
    let mut shows = true;
    loop {
        tokio::select! {
            stopped = &mut stopping => return match (stopped, end, kept.take()) {
                (StopResult::Ousted, WatchEnd::Stop(Some(exit)), _) => RunEnd::Over(exit),
                (StopResult::Ousted, ..) => RunEnd::Ousted,
                (StopResult::Well, WatchEnd::Reload(ordered), Some(kept)) => {
                    RunEnd::Again(Box::new(NextRun::from_order(*ordered, file, kept)))
                }
                (StopResult::Well, WatchEnd::Stop(Some(exit)), _) if is_again => {
                    RunEnd::Unrecorded(exit, Box::new(file))
                }
                (StopResult::Well, WatchEnd::Stop(exit), _) => {
                    screen.say("stopped");
                    RunEnd::Over(exit.unwrap_or(CommandExit::Log))
                }
                (StopResult::Well, ..) => RunEnd::Over(CommandExit::Done),
                (StopResult::Failed(failed), ..) => RunEnd::Over(failed),
            },
            page = follower.next_shared(), if shows => match page {
                Ok(Some(records)) => live.show_records(&records),
                _ => shows = false,
            },
            exit = signals.next() => {
                if matches!(end, WatchEnd::Reload(_)) {
                    // It is the first one that asks for a stop.
                    screen.say("stopping: the reload is not done");
                    end = WatchEnd::Stop(Some(exit));
                    continue;
                }
                screen.say("stopped at once; open deliveries are taken up again at the next start");
                return RunEnd::Over(CommandExit::Stopped);
            }
        }
    }
}

/// A reload that waits for what is out.
struct HeldReload {
    ordered: Box<OrderedReload>,
    wait: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl HeldReload {
    /// Sends nothing more, and waits for what is out as long as the order allows.
    fn begin(front: &OrganismHandle, ordered: Box<OrderedReload>) -> HeldReload {
        let (front, drain) = (front.clone(), ordered.request.drain);
        let wait = Box::pin(async move {
            // What is still out then is taken for lost, as at any stop.
            let _in_time = tokio::time::timeout(drain, front.hold_deliveries()).await;
        });
        HeldReload { ordered, wait }
    }

    /// Waits until nothing is out; forever if there is no reload.
    async fn wait_for(held: &mut Option<HeldReload>) -> Box<OrderedReload> {
        if let Some(held) = held {
            held.wait.as_mut().await;
        }
        match held.take() {
            Some(held) => held.ordered,
            None => std::future::pending().await,
        }
    }
}

/// Says what a stop waits for.
fn say_stopping(screen: Screen, by: Option<&str>, wait: StopWait) {
    match (by, wait) {
        (Some(words), _) => screen.say(format!("{words}: open deliveries here are dropped")),
        // Only a reload waits so, and it has said so.
        (None, StopWait::ForReload) => {}
        (None, StopWait::Here(_)) => {
            screen.say("stopping: waits 5 s for replies; a second signal stops at once");
        }
        (None, StopWait::Everywhere(time)) => {
            let time = spell_duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            let words = "for replies, also of workers over NATS; a second signal stops at once";
            screen.say(format!("stopping: waits up to {time} {words}"));
        }
    }
}

/// How stopping went.
enum StopResult {
    Well,
    Failed(CommandExit),
    /// Another pump already had the log, so nothing was left to write.
    Ousted,
}

/// Stops in the order of the flow.
async fn stop_running(
    screen: Screen,
    (organism, door, wire): (Organism, HttpDoor, Option<WireDoor>),
    wait: StopWait,
) -> StopResult {
    if let Some(wire) = wire {
        wire.close().await;
    }
    let inside: RunningTask = door.close().await;
    let lead = organism.ownership();
    let is_ousted = || lead.as_ref().is_some_and(|lead| lead.find_loss().is_some());
    let wait = if is_ousted() { StopWait::Here(Duration::ZERO) } else { wait };
    let ended = organism.stop(wait).await;
    // Followers of the log get its end; a slow follower is not waited for.
    let _left = tokio::time::timeout(Duration::from_millis(500), inside.wait_for_end()).await;
    if is_ousted() {
        return StopResult::Ousted;
    }
    match local_organism::report_end(screen, &ended) {
        Some(failed) => StopResult::Failed(failed),
        None => StopResult::Well,
    }
}

/// Reports how many workers each listener over NATS has once it is ready, and when a first one comes. It never ends.
async fn report_workers(screen: Screen, front: OrganismHandle, joined: Arc<JoinedListeners>) {
    // The listeners reported without a worker.
    let mut without = BTreeSet::new();
    let mut fresh = BTreeSet::new();
    loop {
        if without.is_empty() && fresh.is_empty() {
            joined.comes.notified().await;
        } else {
            // Another listener may become ready during the wait.
            let _in_time = tokio::time::timeout(limits::WORKERS_PAUSE, joined.comes.notified()).await;
        }
        fresh.append(&mut joined.names.lock().unwrap_or_else(PoisonError::into_inner));
        // The log already says that the broker cannot be asked now.
        let Ok(counts) = front.count_workers().await else { continue };
        for (listener, count) in counts {
            let name = listener.to_string();
            let (is_fresh, was_without) = (fresh.contains(&name), without.contains(&name));
            match count {
                0 if is_fresh => {
                    screen.say(format!("{name}: no worker answers yet; waiting for a first worker"))
                }
                0 => {}
                1 if is_fresh || was_without => screen.say(format!("{name}: 1 worker answers")),
                _ if is_fresh || was_without => screen.say(format!("{name}: {count} workers answer")),
                _ => {}
            }
            if count > 0 {
                without.remove(&name);
            } else if is_fresh {
                without.insert(name);
            }
        }
        fresh.clear();
    }
}

/// Listeners over NATS that became ready since their workers were last counted.
#[derive(Default)]
struct JoinedListeners {
    names: Mutex<BTreeSet<String>>,
    comes: Notify,
}

/// A record as data, with the element of its payload in place of the payload.
fn leave_out_body(record: &ApiRecord) -> Value {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("body");
        fields.insert("element".to_owned(), glance(record.body.as_bytes()).element.into());
    }
    value
}

struct LogWatcher {
    screen: Screen,
    front: OrganismHandle,
    forms: Forms,
    live: Live,
    /// Whether payloads are shown.
    shows: bool,
    over_nats: Vec<String>,
    joined: Arc<JoinedListeners>,
}

impl LogWatcher {
    fn follow_log(screen: Screen, front: &OrganismHandle, shows: bool) -> LogWatcher {
        let listeners = front.composition().listeners.values();
        let over_nats: Vec<String> =
            listeners.filter(|one| one.reach.is_over_broker()).map(|one| one.name.to_string()).collect();
        let live = Live::new(screen).with_workers(over_nats.clone());
        let (front, forms) = (front.clone(), Forms::default());
        LogWatcher { screen, front, forms, live, shows, over_nats, joined: Arc::default() }
    }

    fn show_records(&mut self, records: &[SharedRecord]) {
        for placed in records {
            let mut record = ApiRecord::from_record(placed.position, &placed.record);
            if let Some(words) = record_words::find_fallen(&record) {
                // In full and at once: until it is fixed, nothing goes to that listener.
                self.screen.say(words);
            }
            if let Some(listener) =
                record_words::find_joined(&record).filter(|name| self.over_nats.contains(name))
            {
                self.joined.names.lock().unwrap_or_else(PoisonError::into_inner).insert(listener);
                self.joined.comes.notify_one();
            }
            let shown = self.shows.then(|| placed.record.read_shown()).flatten();
            // What the core says in `sys` is no payload of anyone.
            let is_whole = shown.is_some() || record.thread == "sys";
            let content = if is_whole { ShownContent::Text } else { ShownContent::Element };
            record.body = shown.unwrap_or(record.body);
            match (self.screen.json, content) {
                (true, ShownContent::Element) => self.screen.show_value(&leave_out_body(&record)),
                (true, ShownContent::Text) => {
                    self.screen.show_value(&self.forms.add_to_record(&**self.front.reader(), &record));
                }
                (false, content) => self.live.show(&record, content),
            }
        }
    }
}
