//! The one place where tasks start. Every task has a kind, which says when it may end, and a handler for a
//! panic; a task whose panic no one would hear of does not compile.
//!
//! It never restarts a task and never decides what a panic means: the module that started the task does.
//! In: a kind, a future, what to do if it panics. Out: a handle to wait for its end.

use std::any::Any;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::{fmt, io, thread};

use tokio::sync::oneshot;

use systole_core::types::ids::Name;

/// The purpose of a task, which also says when it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskKind {
    /// The pump's loop, and what feeds it: ends when the organism is stopped, or with the log.
    Pump,
    /// Keeps a managed broker: ends when the organism is stopped, after everything that uses the broker.
    Broker,
    /// Passes the words of hosted listeners on to the pump: ends with their carriers.
    Host,
    /// Signs checkpoints of the log: ends after the pump, with the last checkpoint.
    Proof,
    /// Keeps the index beside the log: ends with the pump.
    Index,
    /// Notices calls that wait for too long: ends with the pump.
    Stuck,
    /// Sends what happens to the receiver of a follower: ends with the pump.
    Follower(Name),
    /// The HTTP door: ends when it is closed and all its clients have left.
    Door,
    /// The door over the broker: ends when it is closed.
    Wire,
    /// A message that came over that door: ends when its sender has its answer.
    Message(Name),
    /// Waits for the end of a call of a client that speaks MCP: ends with the call, its client or the pump.
    Call,
    /// Follows the answer of a run: ends with it, its client or the pump.
    Run,
    /// Tends one listener: ends when its carrier is stopped.
    Listener(Name),
    /// Carries one delivery to a listener: ends with its answer, or when it is called back.
    Delivery(Name),
    /// Hands in one report that found the queue full: ends when there is room.
    Report(Name),
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskKind::Pump => f.write_str("the pump"),
            TaskKind::Broker => f.write_str("the keeper of the broker"),
            TaskKind::Host => f.write_str("the host of listeners"),
            TaskKind::Proof => f.write_str("the signer of checkpoints"),
            TaskKind::Index => f.write_str("the keeper of the index"),
            TaskKind::Stuck => f.write_str("the task that notices what waits for too long"),
            TaskKind::Follower(name) => write!(f, "the follower {name}"),
            TaskKind::Door => f.write_str("the HTTP door"),
            TaskKind::Wire => f.write_str("the door over the broker"),
            TaskKind::Message(name) => write!(f, "a message of {name}"),
            TaskKind::Run => f.write_str("the answer of a run"),
            TaskKind::Call => f.write_str("the wait for a call over MCP"),
            TaskKind::Listener(name) => write!(f, "the task of listener {name}"),
            TaskKind::Delivery(name) => write!(f, "a delivery to {name}"),
            TaskKind::Report(name) => write!(f, "a report on {name}"),
        }
    }
}

/// The message of a panic.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PanicMessage(pub String);

impl PanicMessage {
    fn from_payload(payload: &(dyn Any + Send)) -> PanicMessage {
        let words = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        PanicMessage(words.unwrap_or_else(|| "a panic without words".to_owned()))
    }
}

/// A running task. Dropping this does not stop it.
#[must_use = "a task is drained only if a caller waits for it"]
pub struct RunningTask(TaskEnd);

/// How the end of a task is noticed.
enum TaskEnd {
    Among(tokio::task::JoinHandle<()>),
    // Nothing is ever sent: the signal is that the thread drops its end.
    Apart(oneshot::Receiver<Infallible>),
}

impl RunningTask {
    /// Waits until the task is over, however it ended.
    pub async fn wait_for_end(self) {
        match self.0 {
            // The only error left is that the runtime was shut down around the task: a panic was caught
            // inside it, and no one has a handle to abort it.
            TaskEnd::Among(task) => {
                if let Err(end) = task.await {
                    tracing::debug!(why = %end, "a task ended with its runtime");
                }
            }
            TaskEnd::Apart(over) => {
                let Err(_let_go) = over.await;
            }
        }
    }
}

/// Starts a task. If `work` panics, `fallen` gets the words of the panic and is run to its end; it must
/// tell everyone who waits for the work.
pub fn start_task<W, F, G>(kind: TaskKind, work: W, fallen: F) -> RunningTask
where
    W: Future<Output = ()> + Send + 'static,
    F: FnOnce(PanicMessage) -> G + Send + 'static,
    G: Future<Output = ()> + Send + 'static,
{
    #[expect(clippy::disallowed_methods, reason = "this is the one place where tasks start")]
    RunningTask(TaskEnd::Among(tokio::spawn(run_whole(kind, work, fallen))))
}

/// Starts a task on a separate thread, so that it may block on the disk without delaying other tasks. The
/// tasks that it starts run among all others.
pub fn start_apart<W, F, G>(name: &str, kind: TaskKind, work: W, fallen: F) -> io::Result<RunningTask>
where
    W: Future<Output = ()> + Send + 'static,
    F: FnOnce(PanicMessage) -> G + Send + 'static,
    G: Future<Output = ()> + Send + 'static,
{
    let (running, over) = oneshot::channel();
    let (among, mut gone) = oneshot::channel();
    let turn = Arc::new(Mutex::new(Some(among)));
    let anchor = RuntimeAnchor(turn.clone());
    let others = tokio::runtime::Handle::current();
    let anchor = others.spawn(async move {
        let _anchor = anchor;
        std::future::pending::<()>().await;
    });
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let mut work = pin!(run_whole(kind, work, fallen));
        others.block_on(poll_fn(|cx| {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            match Pin::new(&mut gone).poll(cx) {
                Poll::Ready(_) => Poll::Ready(()),
                Poll::Pending => work.as_mut().poll(cx),
            }
        }));
        anchor.abort();
        drop(running);
    })?;
    Ok(RunningTask(TaskEnd::Apart(over)))
}

/// Is dropped with the runtime's other tasks, before the runtime's clock stops: a task on a separate thread that waits
/// on that clock would panic. A turn of that task, which holds the lock, ends first, and no other begins.
struct RuntimeAnchor(Arc<Mutex<Option<oneshot::Sender<Infallible>>>>);

impl Drop for RuntimeAnchor {
    fn drop(&mut self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

async fn run_whole<W, F, G>(kind: TaskKind, work: W, fallen: F)
where
    W: Future<Output = ()> + Send + 'static,
    F: FnOnce(PanicMessage) -> G + Send + 'static,
    G: Future<Output = ()> + Send,
{
    match CaughtTask::new(Box::pin(work)).await {
        Ok(()) => tracing::trace!("{kind} ended"),
        Err(panicked) => {
            let fix = "systole stop, then systole run: nothing acknowledged is lost; and report these words";
            tracing::error!(why = %panicked, fix, "{kind} panicked");
            fallen(panicked).await;
        }
    }
}

/// A future whose panic is a value.
pub struct CaughtTask<T>(Pin<Box<dyn Future<Output = T> + Send>>);

impl<T> CaughtTask<T> {
    /// Wraps a future. The future is dropped with the panic and never polled again, so no one sees what the
    /// panic left half done.
    pub fn new(work: Pin<Box<dyn Future<Output = T> + Send>>) -> CaughtTask<T> {
        CaughtTask(work)
    }
}

impl<T> Future for CaughtTask<T> {
    type Output = Result<T, PanicMessage>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = &mut self.0;
        match std::panic::catch_unwind(AssertUnwindSafe(|| inner.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err(PanicMessage::from_payload(payload.as_ref()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::Notify;

    use super::*;

    fn kind() -> TaskKind {
        TaskKind::Report(Name::new_core())
    }

    #[tokio::test]
    async fn a_fall_is_told_with_its_words() {
        for (panic, words) in [("plain", "plain"), ("", "not 3")] {
            let (tell, mut told) = tokio::sync::mpsc::channel(1);
            let work = async move {
                match panic {
                    "" => panic!("not {}", 3),
                    _ => panic!("plain"),
                }
            };
            let task = start_task(kind(), work, async move |panicked| tell.send(panicked).await.unwrap());
            task.wait_for_end().await;
            assert_eq!(told.recv().await, Some(PanicMessage(words.to_owned())));
        }
    }

    #[test]
    fn a_turn_apart_ends_before_the_clock_of_its_runtime() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (begin, begun) = std::sync::mpsc::sync_channel(1);
        let (keep, over) = std::sync::mpsc::sync_channel::<()>(1);
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let work = async move {
            begin.send(()).unwrap();
            // Longer than a runtime without other work needs for its end.
            let waited = over.recv_timeout(Duration::from_millis(300));
            assert_eq!(waited, Err(std::sync::mpsc::RecvTimeoutError::Timeout));
            tokio::time::sleep(Duration::from_secs(60)).await;
        };
        let fallen = async move |panicked| tell.send(panicked).unwrap();
        let task = runtime.block_on(async { start_apart("apart", kind(), work, fallen).unwrap() });
        begun.recv().unwrap();
        runtime.shutdown_timeout(Duration::from_secs(60));
        let waiting = tokio::runtime::Builder::new_current_thread().build().unwrap();
        waiting.block_on(task.wait_for_end());
        drop(keep);
        assert_eq!(told.try_recv().ok(), None);
    }

    #[tokio::test]
    async fn over_waits_for_the_end() {
        let bell = Arc::new(Notify::new());
        let (rung, ended) = (bell.clone(), Arc::new(()));
        let held = ended.clone();
        let work = async move {
            rung.notified().await;
            drop(held);
        };
        let task = start_task(kind(), work, async |_| ());
        tokio::join!(task.wait_for_end(), async { bell.notify_one() });
        assert_eq!(Arc::strong_count(&ended), 1);
    }
}
