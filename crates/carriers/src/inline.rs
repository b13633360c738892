//! Listeners that are Rust values in this process.
//!
//! In addition to its delivery, a listener has a line to the pump, on which it writes its journal and asks. A
//! carrier here never judges a reply, and never lets one listener wait for another one's work. In: deliveries and
//! call-backs. Out: `Heard`, once for every delivery. A panic in a listener fails one delivery and nothing else.
//! An answer that is ready at once costs no task. An answer that has to wait gets a task, so at most `in_flight`
//! tasks run in parallel.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use systole_kit::Fault;
use systole_kit::envelope::Delivered;
use systole_kit::line::Line;
use systole_kit::reply::{self, ReplyContent};
use tokio::sync::mpsc;

use super::mailbox::MailboxItem;
use super::post::{Post, UNSENT, called_back, describe_damage};
use systole_core::types::codes::Code;
use systole_core::types::ports::{ArrivedDocument, Delivery, LeaseToken};
use systole_system::tasks::{self, CaughtTask, PanicMessage, RunningTask, TaskKind};

mod line;

use line::AnswerBoard;

/// The future of a listener's final answer.
pub type ReplyFuture = Pin<Box<dyn Future<Output = ReplyContent> + Send>>;

/// A Rust listener. Its work must not block: it runs among the pump's own tasks. When its answer is no
/// longer wanted, its future is dropped where it awaits.
///
/// ```
/// use std::sync::Arc;
/// use systole_carriers::{InlineListener, ReplyFuture};
/// use systole_kit::{envelope::Delivered, line::Line, reply::{Item, ReplyContent}};
///
/// /// Says what it is told.
/// struct Echo;
///
/// impl InlineListener for Echo {
///     fn answer_delivery(self: Arc<Self>, asked: Delivered, _: Arc<dyn Line>) -> ReplyFuture {
///         Box::pin(async move { ReplyContent::Items(vec![Item::plain(asked.payload)]) })
///     }
/// }
/// ```
pub trait InlineListener: Send + Sync + 'static {
    /// Answers a delivery. While it works on this delivery, it may write its journal and ask on the line.
    fn answer_delivery(self: Arc<Self>, asked: Delivered, line: Arc<dyn Line>) -> ReplyFuture;

    /// Its answer to this delivery was taken. This is called only if others answer under its name as well.
    fn note_taken(&self, _asked: &Delivered) {}
}

/// A listener that is one closure and needs no line.
pub fn from_answer<F, A>(answer: F) -> Arc<dyn InlineListener>
where
    F: Fn(Delivered) -> A + Send + Sync + 'static,
    A: Future<Output = ReplyContent> + Send + 'static,
{
    from_conversation(move |asked, _| answer(asked))
}

/// A listener that is one closure, with its line.
pub fn from_conversation<F, A>(answer: F) -> Arc<dyn InlineListener>
where
    F: Fn(Delivered, Arc<dyn Line>) -> A + Send + Sync + 'static,
    A: Future<Output = ReplyContent> + Send + 'static,
{
    Arc::new(ClosureListener(answer))
}

struct ClosureListener<F>(F);

impl<F, A> InlineListener for ClosureListener<F>
where
    F: Fn(Delivered, Arc<dyn Line>) -> A + Send + Sync + 'static,
    A: Future<Output = ReplyContent> + Send + 'static,
{
    fn answer_delivery(self: Arc<Self>, asked: Delivered, line: Arc<dyn Line>) -> ReplyFuture {
        Box::pin((self.0)(asked, line))
    }
}

/// Starts the task that brings a listener its deliveries.
pub(super) fn start_carrier(post: &Post, listener: Arc<dyn InlineListener>) -> RunningTask {
    let kind = TaskKind::Listener(post.listener.clone());
    let fallen = post.clone();
    tasks::start_task(kind, serve_listener(post.clone(), listener), |panicked| fallen.report_panic(panicked))
}

async fn serve_listener(post: Post, listener: Arc<dyn InlineListener>) {
    // Nothing is ever sent on this channel. It closes when the last delivery that holds an end of it is over.
    let (running, mut all_over) = mpsc::channel::<Infallible>(1);
    let board = Arc::new(AnswerBoard::default());
    post.report_joined().await;
    loop {
        while let Some(item) = post.mailbox.next_now() {
            match item {
                MailboxItem::Deliver(delivery) => {
                    bring_delivery(&delivery, &post, &listener, &board, &running).await
                }
                MailboxItem::Answer(answer) => board.pass_answer(answer),
                // The delivery's own task already knows.
                MailboxItem::Cancel(_) => {}
            }
        }
        tokio::select! {
            () = post.mailbox.wait_for_item() => {}
            (token, why) = post.mailbox.take_unsent() => {
                post.report_gone(token, called_back(why), UNSENT.to_owned()).await;
            }
            () = post.wait_for_stop() => break,
        }
    }
    drop(running);
    let _closed = all_over.recv().await;
    post.close_post(Code::ListenerDown, "stopped with the organism").await;
}

/// Brings one delivery. The listener answers it at once if it can, otherwise in its own task.
async fn bring_delivery(
    delivery: &Delivery,
    post: &Post,
    listener: &Arc<dyn InlineListener>,
    board: &Arc<AnswerBoard>,
    running: &mpsc::Sender<Infallible>,
) {
    let token = delivery.lease.token.clone();
    post.note_brought();
    let asked = match delivery.envelope() {
        Ok(asked) => asked,
        Err(fault) => return report_gone(post, token, Code::DamagedThread, describe_damage(&fault)).await,
    };
    let listener = listener.clone();
    let (line, hung_up) = line::open_line(post, board, &token);
    let mut answer = CaughtTask::new(Box::pin(async move {
        let _hung_up = hung_up;
        listener.answer_delivery(asked, line).await
    }));
    match poll_fn(|cx| Poll::Ready(Pin::new(&mut answer).poll(cx))).await {
        Poll::Ready(said) => report_answer(post, token, said).await,
        Poll::Pending => {
            let (work, running) = (wait_for_answer(post.clone(), token.clone(), answer), running.clone());
            let (kind, post) = (TaskKind::Delivery(post.listener.clone()), post.clone());
            let whole = async move {
                work.await;
                drop(running);
            };
            // `running` is used to wait for its end.
            let _counted = tasks::start_task(kind, whole, async move |panicked| {
                report_gone(&post, token, Code::ListenerFailed, panic_words(&panicked)).await;
            });
        }
    }
}

async fn wait_for_answer(post: Post, token: LeaseToken, answer: CaughtTask<ReplyContent>) {
    let grace = Duration::from_millis(post.pace.eof_ms.saturating_add(post.pace.term_ms));
    let last_moment = async {
        post.wait_for_stop().await;
        tokio::time::sleep(grace).await;
    };
    let (code, words) = tokio::select! {
        said = answer => return report_answer(&post, token, said).await,
        why = post.mailbox.recall_of(&token) => (called_back(why), "called back; its work was dropped"),
        () = last_moment => (Code::ListenerLost, "still at work when the organism stopped"),
    };
    report_gone(&post, token, code, words.to_owned()).await;
}

async fn report_answer(post: &Post, token: LeaseToken, said: Result<ReplyContent, PanicMessage>) {
    let said = match said {
        Ok(said) => said,
        Err(panicked) => return report_gone(post, token, Code::ListenerFailed, panic_words(&panicked)).await,
    };
    if let Some(fault) = fault_in(&said) {
        let words = fault.message.clone().into();
        return report_gone(post, token, Code::ListenerFailed, words).await;
    }
    if post.mailbox.settle_delivery(&token.0) {
        post.report_document(ArrivedDocument::Word(reply::ListenerDocument::Reply {
            delivery: token.0.to_string(),
            said,
        }))
        .await;
    }
}

/// Why an answer cannot be sent: it has an item that its listener knows to be invalid.
fn fault_in(said: &ReplyContent) -> Option<&Fault> {
    let ReplyContent::Items(items) = said else { return None };
    items.iter().find_map(|item| item.payload.as_ref().err())
}

fn panic_words(panicked: &PanicMessage) -> String {
    format!("panicked: {}", panicked.0)
}

async fn report_gone(post: &Post, token: LeaseToken, code: Code, words: String) {
    if post.mailbox.settle_delivery(&token.0) {
        post.report_gone(token, code, words).await;
    }
}
