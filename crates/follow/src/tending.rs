//! The task of a follower: it reads the log behind its cursor, sends each event until its receiver took it, and then
//! writes the cursor.
//!
//! Nothing waits for it. It ends with the pump, without a last word: what was not taken is sent after the next start.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::PumpNotice;
use systole_core::rules::follower_payload::{self, FollowerChange, FollowerNews};
use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, LogFault, LogReader, PlacedRecord, Position};
use systole_log::slot_file::LogMark;
use systole_system::clock::WallClock;
use systole_system::tasks::{self, RunningTask, TaskKind};
use systole_system::watched::read_watched;

use crate::carrier::{EventCarrier, EventOutcome, FollowedEvent};
use crate::cursor::{
    CursorPlace, CursorStart, FoundCursor, OpenCursor, find_start, list_beginnings, make_event_id,
};
use crate::event::FollowedKind;
use crate::limits::{BEHIND, CURSOR_LOOK, FIRST_PAUSE, FOLLOW_PAUSE, LONGEST_PAUSE, REFUSALS};
use crate::log_page::{LogPage, PageReader};
use crate::message::write_event;
use crate::otlp::{MetricReader, MetricTask, SourceReader, TraceReading};
use crate::plan::{FollowerCarrier, FollowerPlan};
use crate::settings::{EventSettings, FollowerSettings, SentForm};
use crate::status::{FollowerBoard, TaskBoard, TaskState};

/// The log that followers read.
#[derive(Clone)]
pub struct FollowedLog {
    /// The organism.
    pub organism: Name,
    /// Where the cursors are.
    pub cursors: CursorPlace,
    /// Reads it.
    pub reader: Arc<dyn LogReader>,
    /// Its last position.
    pub tail: watch::Receiver<Position>,
    /// Reads the configurations that it has.
    pub read_source: SourceReader,
    /// Reads its metrics.
    pub read_metrics: MetricReader,
    /// Records news of followers.
    pub pump: mpsc::WeakSender<PumpInput>,
}

/// The followers of a running organism.
#[derive(Default)]
pub struct FollowerTasks {
    /// How they fare.
    pub board: FollowerBoard,
    /// They end when this is dropped. Nothing is ever sent.
    pub stop: Option<watch::Sender<()>>,
    /// Their tasks.
    pub tasks: Vec<RunningTask>,
}

type BoxedWork = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts followers.
pub fn start_followers(plans: Vec<FollowerPlan>, log: &FollowedLog) -> FollowerTasks {
    let (stop, stopped) = watch::channel(());
    let all = plans.iter().map(|plan| (plan.settings.clone(), TaskBoard::default()));
    let all: Vec<(FollowerSettings, TaskBoard)> = all.collect();
    let boards: Vec<TaskBoard> = all.iter().map(|(_, board)| board.clone()).collect();
    let (followers, mut running) = (FollowerBoard::new(all), Vec::new());
    for (FollowerPlan { settings, carrier }, board) in plans.into_iter().zip(boards) {
        let (name, fallen) = (settings.name.clone(), board.clone());
        let work: BoxedWork = match carrier {
            FollowerCarrier::Events(carrier) => {
                let reading = Arc::new(EventReading::new(settings, log.clone()));
                let (tail, level_at) = (log.tail.clone(), Instant::now());
                Box::pin(FollowerTask { reading, tail, carrier, board, level_at }.run())
            }
            FollowerCarrier::Metrics(sender) => {
                let (organism, read) = (log.organism.clone(), log.read_metrics.clone());
                let (name, followers) = (name.clone(), followers.clone());
                Box::pin(MetricTask { organism, name, read, sender, board, followers }.run())
            }
        };
        let mut stopped = stopped.clone();
        // What was not taken is sent after the next start, so nothing has to be ended.
        let until_stop = async move {
            tokio::select! {
                _ = stopped.changed() => {}
                () = work => {}
            }
        };
        running.push(tasks::start_task(TaskKind::Follower(name), until_stop, async move |panic| {
            let error = Some((format!("its task ended: {panic}"), WallClock.now()));
            let mut state = fallen.lock().unwrap_or_else(PoisonError::into_inner);
            (state.is_stopped, state.error) = (true, error);
        }));
    }
    FollowerTasks { board: followers, stop: Some(stop), tasks: running }
}

/// What reads the log for a follower, on threads that may block.
struct EventReading {
    settings: FollowerSettings,
    log: FollowedLog,
    /// Only one thread reads at a time.
    traces: Mutex<TraceReading>,
}

/// Events of the log in order.
struct EventPage {
    events: Vec<FollowedEvent>,
    /// The last record that was looked at; `None` if there was none.
    end: Option<LogMark>,
    /// Whether it is the last one of the log.
    is_last: bool,
}

impl EventReading {
    fn new(settings: FollowerSettings, log: FollowedLog) -> EventReading {
        let traces = Mutex::new(TraceReading::new(log.read_source.clone()));
        EventReading { settings, log, traces }
    }

    /// What is posted about a record; `None` if nothing is.
    fn write_body(&self, placed: &PlacedRecord, reader: &dyn LogReader) -> Result<Option<Vec<u8>>, LogFault> {
        let organism = &self.log.organism;
        match &self.settings.sends {
            SentForm::Events(EventSettings { form, content, on, .. }) => {
                let kind = FollowedKind::of_record(&placed.1, reader)?.filter(|kind| on.has_kind(*kind));
                let (position, record) = placed;
                let write = |kind| write_event((organism, kind), (*position, record), *form, *content);
                Ok(kind.map(write))
            }
            SentForm::Metrics => Ok(None),
            SentForm::Traces => {
                let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
                traces.write_spans(organism, placed, reader)
            }
        }
    }

    /// The next page. The spans of all its records are one message: the fields of protobuf messages that follow each
    /// other are those of one.
    fn read_page(&self, after: Position) -> Result<EventPage, LogFault> {
        let mut page = self.list_events(after)?;
        if let (SentForm::Traces, Some(last)) = (&self.settings.sends, page.events.last()) {
            let (id, mark) = (last.id.clone(), last.mark);
            let body = page.events.iter().flat_map(|event| event.body.iter().copied()).collect();
            page.events = vec![FollowedEvent { id, body, mark }];
        }
        Ok(page)
    }

    fn list_events(&self, after: Position) -> Result<EventPage, LogFault> {
        let page = LogPage::read_after(&*self.log.reader, after)?;
        let reader = PageReader::new(&*self.log.reader, &page);
        let (mut events, mut end) = (Vec::new(), None);
        for placed in &page.records {
            let mark = LogMark { position: placed.0, head: placed.1.head };
            end = Some(mark);
            if let Some(body) = self.write_body(placed, &reader)? {
                events.push(FollowedEvent { id: make_event_id(&placed.1.leaf), body, mark });
            }
        }
        Ok(EventPage { events, end, is_last: page.is_last })
    }

    /// Whether the log has these news after a position, and its last position.
    fn find_news(&self, after: Position, news: &FollowerNews) -> Result<(bool, Position), LogFault> {
        let mut last = after;
        for placed in self.log.reader.records_after(after) {
            let (position, record) = placed?;
            last = position;
            let is_told = record.header.thread.is_sys()
                && follower_payload::read_news(&record.body).as_ref() == Some(news);
            if is_told {
                return Ok((true, last));
            }
        }
        Ok((false, last))
    }
}

/// Why a follower goes no further.
enum Halt {
    /// The log has ended.
    Over,
    /// A person moved its cursor.
    Moved,
    /// A person has to say where it goes on; why.
    Stopped(String),
}

struct FollowerTask {
    reading: Arc<EventReading>,
    tail: watch::Receiver<Position>,
    carrier: Arc<dyn EventCarrier>,
    board: TaskBoard,
    /// When it was at the end of the log the last time.
    level_at: Instant,
}

impl FollowerTask {
    async fn run(mut self) {
        loop {
            let Err(halt) = self.follow_log().await;
            match halt {
                Halt::Over => return,
                Halt::Moved => {}
                Halt::Stopped(why) => self.wait_as_stopped(why).await,
            }
            self.level_at = Instant::now();
            self.with_state(|state| (state.is_stopped, state.error) = (false, None));
        }
    }

    /// Sends what the log has behind the cursor, and then what is added to it.
    async fn follow_log(&mut self) -> Result<Infallible, Halt> {
        let mut cursor = self.open_cursor().await?;
        self.with_state(|state| state.position = Some(cursor.mark.position));
        if cursor.is_new {
            self.record_begin(cursor.mark.position).await?;
        }
        let mut pause = Pause::default();
        loop {
            // What comes while the page is read wakes it again.
            self.tail.borrow_and_update();
            let after = cursor.mark.position;
            let page = match self.read_log(move |reading| reading.read_page(after)).await? {
                Ok(page) => page,
                Err(fault) if fault.is_damage() => return Err(Halt::Stopped(fault.to_string())),
                Err(fault) => {
                    self.note_error(fault.to_string());
                    self.wait_for(pause.next_wait(None), Some(&cursor)).await?;
                    continue;
                }
            };
            for event in page.events {
                self.deliver_event(&event, &cursor).await?;
                self.put_mark(&mut cursor, event.mark, true).await?;
            }
            if let Some(end) = page.end {
                self.put_mark(&mut cursor, end, false).await?;
            }
            pause = Pause::default();
            if page.is_last {
                self.note_level(cursor.mark.position).await;
                self.wait_for_more(&cursor).await?;
            }
        }
    }

    /// Opens the cursor, or makes it. While the broker does not answer, it is asked again.
    async fn open_cursor(&mut self) -> Result<OpenCursor, Halt> {
        let (name, place) = (self.reading.settings.name.clone(), self.reading.log.cursors.clone());
        let mut pause = Pause::default();
        loop {
            let fault = match place.read_cursor(&name).await {
                Ok(found) => {
                    let start = self.judge_cursor(found).await?;
                    match OpenCursor::open(&place, &name, start).await {
                        Ok(Some(cursor)) => return Ok(cursor),
                        Ok(None) => continue,
                        Err(fault) => fault,
                    }
                }
                Err(fault) => fault,
            };
            if !fault.may_pass {
                return Err(Halt::Stopped(fault.to_string()));
            }
            self.note_error(format!("its cursor is not opened: {fault}"));
            self.wait_for(pause.next_wait(None), None).await?;
        }
    }

    async fn judge_cursor(&self, found: FoundCursor) -> Result<CursorStart, Halt> {
        let start = self.read_log(move |reading| {
            find_start((&reading.log.cursors, &reading.settings.name), &found, &*reading.log.reader)
        });
        start.await?.map_err(Halt::Stopped)
    }

    /// Sends an event until its receiver took it, or refused it too often.
    async fn deliver_event(&mut self, event: &FollowedEvent, cursor: &OpenCursor) -> Result<(), Halt> {
        let (mut pause, mut refusals) = (Pause::default(), 0);
        loop {
            let position = event.mark.position;
            let (words, after_ms) = match self.carrier.send_event(event).await {
                EventOutcome::Taken => {
                    self.note_taken(position).await;
                    return Ok(());
                }
                EventOutcome::TakenInPart(words) => {
                    self.note_taken(position).await;
                    return self.record_news(position, FollowerChange::Skipped(words)).await;
                }
                EventOutcome::Gone(words) => {
                    return Err(Halt::Stopped(format!("its receiver wants no more events: {words}")));
                }
                EventOutcome::Refused(words) => {
                    refusals += 1;
                    if refusals >= REFUSALS {
                        return self.record_news(position, FollowerChange::Skipped(words)).await;
                    }
                    (words, None)
                }
                EventOutcome::Failed { words, after_ms } => (words, after_ms),
            };
            self.note_error(words.clone());
            self.note_behind(position, &words).await;
            self.wait_for(pause.next_wait(after_ms), Some(cursor)).await?;
        }
    }

    async fn note_taken(&mut self, position: Position) {
        self.with_state(|state| state.error = None);
        self.note_behind(position, "its receiver is slow").await;
    }

    /// Writes the cursor. Until it is written, nothing more is sent.
    async fn put_mark(&mut self, cursor: &mut OpenCursor, mark: LogMark, is_sent: bool) -> Result<(), Halt> {
        let mut pause = Pause::default();
        loop {
            match cursor.put_mark(mark, is_sent).await {
                Ok(true) => break,
                Ok(false) => return Err(Halt::Moved),
                Err(fault) => {
                    self.note_error(format!("its cursor cannot be written: {fault}"));
                    self.wait_for(pause.next_wait(None), Some(cursor)).await?;
                }
            }
        }
        self.with_state(|state| state.position = Some(mark.position));
        Ok(())
    }

    /// Has it recorded where it begins, unless the log says so already.
    async fn record_begin(&mut self, position: Position) -> Result<(), Halt> {
        let began = self.read_log(|reading| list_beginnings(&*reading.log.reader)).await?;
        let began = began.map_err(|fault| Halt::Stopped(fault.to_string()))?;
        if began.contains(&(self.reading.settings.name.clone(), position)) {
            return Ok(());
        }
        self.record_news(position, FollowerChange::Began).await
    }

    /// Has news recorded, and waits until they are on disk.
    async fn record_news(&mut self, position: Position, change: FollowerChange) -> Result<(), Halt> {
        let follower = self.reading.settings.name.clone();
        let news = FollowerNews { follower, position, change };
        let (mut from, mut is_sent) = (read_watched(&self.tail), false);
        loop {
            self.tail.borrow_and_update();
            let wanted = news.clone();
            let found = self.read_log(move |reading| reading.find_news(from, &wanted)).await?;
            let (is_told, last) = found.map_err(|fault| Halt::Stopped(fault.to_string()))?;
            if is_told {
                return Ok(());
            }
            from = last;
            if !is_sent {
                self.tell_pump(&news).await;
                is_sent = true;
            }
            self.tail.changed().await.map_err(|_| Halt::Over)?;
        }
    }

    /// Passes news to the pump. If the pump has ended, so does this task.
    async fn tell_pump(&self, news: &FollowerNews) {
        if let Some(pump) = self.reading.log.pump.upgrade() {
            let notice = PumpInput::Noticed(PumpNotice::Follower(news.clone()));
            let _gone = pump.send(notice).await;
        }
    }

    async fn tell_change(&self, position: Position, change: FollowerChange) {
        let follower = self.reading.settings.name.clone();
        self.tell_pump(&FollowerNews { follower, position, change }).await;
    }

    /// Records once that it has been behind for too long.
    async fn note_behind(&mut self, position: Position, words: &str) {
        if self.level_at.elapsed() < BEHIND {
            return;
        }
        let known = self.with_state(|state| {
            let known = state.behind;
            state.behind = known.or(Some(WallClock.now()));
            known
        });
        if known.is_none() {
            self.tell_change(position, FollowerChange::Behind(words.to_owned())).await;
        }
    }

    /// It is at the end of the log.
    async fn note_level(&mut self, position: Position) {
        self.level_at = Instant::now();
        if self.with_state(|state| state.behind.take()).is_some() {
            self.tell_change(position, FollowerChange::CaughtUp).await;
        }
    }

    fn note_error(&self, words: String) {
        self.with_state(|state| state.note_error(&self.reading.settings.name, words));
    }

    /// Waits for more records, and then for those that come right behind them.
    async fn wait_for_more(&mut self, cursor: &OpenCursor) -> Result<(), Halt> {
        loop {
            tokio::select! {
                grown = self.tail.changed() => {
                    grown.map_err(|_| Halt::Over)?;
                    break;
                }
                () = tokio::time::sleep(CURSOR_LOOK) => self.check_cursor(cursor).await?,
            }
        }
        self.level_at = Instant::now();
        self.wait_for(FOLLOW_PAUSE, Some(cursor)).await
    }

    /// Waits for that long. In a wait that a person notices, it looks whether its cursor is moved.
    async fn wait_for(&mut self, time: Duration, cursor: Option<&OpenCursor>) -> Result<(), Halt> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            let next = until.min(Instant::now() + CURSOR_LOOK);
            tokio::time::sleep_until(next).await;
            if let (true, Some(cursor)) = (time >= CURSOR_LOOK, cursor) {
                self.check_cursor(cursor).await?;
            }
        }
        Ok(())
    }

    async fn check_cursor(&self, cursor: &OpenCursor) -> Result<(), Halt> {
        if cursor.is_moved().await { Err(Halt::Moved) } else { Ok(()) }
    }

    /// Says that it is stopped, and waits until a person moves its cursor.
    async fn wait_as_stopped(&mut self, why: String) {
        let (name, place) = (self.reading.settings.name.clone(), self.reading.log.cursors.clone());
        let fix = format!("systole follow {name} --from POSITION, or --from now");
        tracing::error!(why, fix, "the follower {name} is stopped");
        let position = self.with_state(|state| {
            (state.is_stopped, state.error) = (true, Some((why.clone(), WallClock.now())));
            state.position.unwrap_or_default()
        });
        self.tell_change(position, FollowerChange::Stopped(why)).await;
        // What the broker does not say is no news.
        let before = place.read_cursor(&name).await.ok();
        loop {
            tokio::time::sleep(CURSOR_LOOK).await;
            let now = place.read_cursor(&name).await.ok();
            if now.is_some() && now != before {
                return;
            }
        }
    }

    /// Reads the log on a thread that may block.
    async fn read_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&EventReading) -> T + Send + 'static,
    ) -> Result<T, Halt> {
        let reading = self.reading.clone();
        let read = tokio::task::spawn_blocking(move || work(&reading)).await;
        read.map_err(|panic| Halt::Stopped(panic.to_string()))
    }

    fn with_state<T>(&self, work: impl FnOnce(&mut TaskState) -> T) -> T {
        work(&mut self.board.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The pauses between tries.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Pause {
        Pause(FIRST_PAUSE)
    }
}

impl Pause {
    /// The next pause: as long as the receiver asks for, if it does, but never longer than the longest.
    fn next_wait(&mut self, after_ms: Option<u64>) -> Duration {
        let own = self.0;
        self.0 = LONGEST_PAUSE.min(own * 2);
        after_ms.map_or(own, Duration::from_millis).clamp(FIRST_PAUSE, LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h15_pauses_double_and_never_grow_beyond_five_minutes() {
        let mut pause = Pause::default();
        let waits: Vec<u64> = (0..11).map(|_| pause.next_wait(None).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let mut pause = Pause::default();
        let asked = [Some(0), Some(90_000), Some(u64::MAX)].map(|after| pause.next_wait(after).as_secs());
        assert_eq!(asked, [1, 90, 300]);
    }
}
