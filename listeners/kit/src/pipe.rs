//! A listener that works on several deliveries at once over stdin and stdout: documents come in, one a line, and each
//! delivery is answered by a future of its own.
//!
//! It makes no decisions and opens nothing but the two streams it is given. It ends when the input ends, which is how a
//! program learns that the organism is gone.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::ask::{PumpQuestion, StoredBlob};
use crate::envelope::Delivered;
use crate::failures::{as_io_error, fail_for_panic};
use crate::framing::{LineSplitter, line_form};
use crate::limits;
use crate::protocol::report_skipped;
use crate::pump_documents::{PumpAnswer, PumpDocument};
use crate::reply::{ListenerDocument, ReplyContent};
use crate::{DocumentLimits, Payload};

/// The documents of the pump.
#[derive(Debug)]
pub struct FromPump<R> {
    input: R,
    lines: LineSplitter,
    portion: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
    kept: VecDeque<PumpDocument>,
}

impl<R: AsyncRead + Unpin> FromPump<R> {
    /// Reads from a stream.
    pub fn new(input: R) -> Self {
        let lines = LineSplitter::new(DocumentLimits::FROM_PUMP.message_bytes);
        Self {
            input,
            lines,
            portion: vec![0; limits::PORTION_BYTES],
            waiting: VecDeque::new(),
            kept: VecDeque::new(),
        }
    }

    /// Keeps the next document for later. False once the pump is gone. It may be dropped while it waits.
    ///
    /// # Errors
    /// If the stream breaks, or the input is not a document of a pump.
    pub async fn keep_next(&mut self) -> io::Result<bool> {
        let read = self.read_more().await?;
        let is_there = read.is_some();
        self.kept.extend(read);
        Ok(is_there)
    }

    async fn next(&mut self) -> io::Result<Option<PumpDocument>> {
        match self.kept.pop_front() {
            Some(kept) => Ok(Some(kept)),
            None => self.read_more().await,
        }
    }

    async fn read_more(&mut self) -> io::Result<Option<PumpDocument>> {
        loop {
            while let Some(line) = self.waiting.pop_front() {
                if line.trim_ascii().is_empty() {
                    continue;
                }
                match PumpDocument::parse(&line).map_err(as_io_error)? {
                    PumpDocument::Unknown { name } => report_skipped(&name),
                    told => return Ok(Some(told)),
                }
            }
            let read = self.input.read(&mut self.portion).await?;
            if read == 0 {
                return Ok(None);
            }
            let mut lines = Vec::new();
            self.lines
                .feed_chunk(self.portion.get(..read).unwrap_or_default(), &mut lines)
                .map_err(as_io_error)?;
            self.waiting.extend(lines);
        }
    }
}

/// What the work on one delivery can say and learn meanwhile.
#[derive(Clone, Debug)]
pub struct DeliveryLine {
    delivery: String,
    said: mpsc::Sender<ListenerWord>,
    asked: Arc<AtomicU64>,
    cancelled: watch::Receiver<bool>,
}

/// A document for the pump, and who waits for its answer.
#[derive(Debug)]
struct ListenerWord {
    document: ListenerDocument,
    waits: Option<(u64, oneshot::Sender<PumpAnswer>)>,
}

/// A delivery that has no reply yet.
struct OpenDelivery {
    cancel: watch::Sender<bool>,
    waits: HashMap<u64, oneshot::Sender<PumpAnswer>>,
}

impl DeliveryLine {
    /// Reports what is being done.
    pub async fn progress(&self, words: String) {
        self.send(ListenerDocument::Progress { delivery: self.delivery.clone(), part: None, words }).await;
    }

    /// Leaves a remark that the pump records and shows in the next turn.
    pub async fn notice(&self, code: &str, words: String) {
        let (delivery, code) = (self.delivery.clone(), code.to_owned());
        self.send(ListenerDocument::Notice { delivery, code, words }).await;
    }

    /// Reports what is being done, from a thread that does not wait. Words that have no room are left out: progress is
    /// only for people who watch.
    pub fn try_progress(&self, words: &str) {
        let (delivery, words) = (self.delivery.clone(), words.to_owned());
        let document = ListenerDocument::Progress { delivery, part: None, words };
        // No room, or the pump is gone.
        let _left_out = self.said.try_send(ListenerWord { document, waits: None });
    }

    /// Stores bytes and returns their hash once they are on disk: SHA-256 in 64 lowercase hex digits.
    ///
    /// # Errors
    /// If the pump refuses the bytes or is gone; in words.
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<String, String> {
        let stored = self.ask(PumpQuestion::PutBlob { bytes }).await?;
        stored
            .and_then(|stored| StoredBlob::from_payload(&stored).ok())
            .map(|stored| stored.hash)
            .ok_or_else(describe_unanswered)
    }

    /// Asks the pump, and waits for its answer.
    async fn ask(&self, question: PumpQuestion) -> Result<Option<Payload>, String> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let document = ListenerDocument::Ask { delivery: self.delivery.clone(), id, question: Ok(question) };
        let word = ListenerWord { document, waits: Some((id, answer)) };
        self.said.send(word).await.map_err(|_| describe_unanswered())?;
        let answer = answered.await.map_err(|_| describe_unanswered())?;
        match answer.refusal() {
            Some((code, message)) => Err(format!("{code}: {message}")),
            None => Ok(answer.payload),
        }
    }

    /// Ends when the answer is no longer wanted.
    pub async fn wait_for_cancel(&self) {
        let mut cancelled = self.cancelled.clone();
        if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
            // The delivery is over.
            std::future::pending::<()>().await;
        }
    }

    /// Whether the answer is no longer wanted.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the only guard of its statement")]
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    async fn send(&self, document: ListenerDocument) {
        // If nothing takes it, this program is about to end.
        let _ended = self.said.send(ListenerWord { document, waits: None }).await;
    }
}

fn describe_unanswered() -> String {
    "the pump did not answer".to_owned()
}

/// Is a program that serves the pump on stdin and stdout, and answers several deliveries at once.
///
/// # Errors
/// Those of `answer_at_once`, and if the runtime cannot start.
pub fn serve_pump<A: Future<Output = ReplyContent> + Send + 'static>(
    answer: impl Fn(Delivered, DeliveryLine) -> A,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut pump = FromPump::new(tokio::io::stdin());
    let ended = runtime.block_on(answer_at_once(&mut pump, tokio::io::stdout(), answer));
    // A read of stdin that still waits would hold the program.
    runtime.shutdown_background();
    ended
}

/// Answers every delivery with what `answer` returns, until the input ends. A delivery that is cancelled is answered as
/// well: the pump decides what becomes of the reply.
///
/// # Errors
/// If a stream breaks, or the input is not a document of a pump.
pub async fn answer_at_once<R, W, A>(
    pump: &mut FromPump<R>,
    mut output: W,
    answer: impl Fn(Delivered, DeliveryLine) -> A,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    A: Future<Output = ReplyContent> + Send + 'static,
{
    let (said, mut to_say) = mpsc::channel::<ListenerWord>(limits::WAITING_DOCUMENTS);
    let mut open: HashMap<String, OpenDelivery> = HashMap::new();
    let mut work: JoinSet<()> = JoinSet::new();
    loop {
        tokio::select! {
            told = pump.next() => match told? {
                Some(PumpDocument::Delivery(asked)) => {
                    let delivery = asked.stamp.delivery.clone();
                    let (cancel, cancelled) = watch::channel(false);
                    open.insert(delivery.clone(), OpenDelivery { cancel, waits: HashMap::new() });
                    let (said_of_line, asked_of_line) = (said.clone(), Arc::default());
                    let line = DeliveryLine { delivery: delivery.clone(), said: said_of_line, asked: asked_of_line, cancelled };
                    let (answering, said) = (answer(*asked, line), said.clone());
                    work.spawn(async move {
                        let reply = answer_or_fail(answering).await;
                        let document = ListenerDocument::Reply { delivery, said: reply };
                        // If nothing takes it, this program is about to end.
                        let _ended = said.send(ListenerWord { document, waits: None }).await;
                    });
                }
                Some(PumpDocument::Cancel { delivery }) => {
                    if let Some(one) = open.get(&delivery) {
                        one.cancel.send_replace(true);
                    }
                }
                Some(PumpDocument::Answer(answer)) => {
                    let one = open.get_mut(&answer.delivery);
                    if let Some(waits) = one.and_then(|one| one.waits.remove(&answer.id)) {
                        // The work may have ended meanwhile.
                        let _ended = waits.send(answer);
                    }
                }
                // A pipe carries no receipts, and what is unknown was skipped.
                Some(PumpDocument::Receipt(_) | PumpDocument::Unknown { .. }) => {}
                None => break,
            },
            Some(word) = to_say.recv() => {
                let ListenerWord { document, waits } = word;
                match &document {
                    ListenerDocument::Reply { delivery, .. } => drop(open.remove(delivery)),
                    ListenerDocument::Ask { delivery, .. } => {
                        if let (Some(one), Some((id, answer))) = (open.get_mut(delivery), waits) {
                            one.waits.insert(id, answer);
                        }
                    }
                    _ => {}
                }
                write_document(&mut output, &document).await?;
            }
            Some(ended) = work.join_next() => ended.map_err(io::Error::other)?,
        }
    }
    // The organism is gone. Cancel the open work, and give it a moment to end what it started.
    for one in open.into_values() {
        one.cancel.send_replace(true);
    }
    let ending = async { while work.join_next().await.is_some() {} };
    let draining = async { while to_say.recv().await.is_some() {} };
    drop(said);
    let _in_time = tokio::time::timeout(limits::LAST, async { tokio::join!(ending, draining) }).await;
    Ok(())
}

/// The reply of the work; a failure if it panics.
async fn answer_or_fail(work: impl Future<Output = ReplyContent>) -> ReplyContent {
    let mut work = pin!(work);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(fail_for_panic(&*panic)))
    })
    .await
}

/// Writes a document for the pump.
async fn write_document<W: AsyncWrite + Unpin>(
    output: &mut W,
    document: &ListenerDocument,
) -> io::Result<()> {
    let document = document.to_document().map_err(as_io_error)?;
    let mut line = line_form(&document).map_err(as_io_error)?.into_owned();
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    use super::*;

    #[test]
    fn g7_work_that_panics_fails_its_delivery_and_the_others_are_answered() {
        let delivery = |id: &str| {
            format!(
                "<message xmlns='https://xml-pipeline.org/ns/envelope/v1'><meta><from>a</from><thread>t</thread>\
                 <stamp xmlns='urn:systole:stamp:v1' delivery='{id}' key='k' call='1'/></meta><x xmlns='u'/></message>\n"
            )
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (input, mut pump) = tokio::io::duplex(limits::PORTION_BYTES);
            let (said, output) = tokio::io::duplex(limits::PORTION_BYTES);
            let answer = |asked: Delivered, _| async move {
                assert_ne!(asked.stamp.delivery, "d1", "no luck");
                ReplyContent::Items(Vec::new())
            };
            let mut from_pump = FromPump::new(input);
            let serving = answer_at_once(&mut from_pump, output, answer);
            let reading = async {
                let mut lines = BufReader::new(said).lines();
                pump.write_all(delivery("d1").as_bytes()).await.unwrap();
                let first = lines.next_line().await.unwrap().unwrap();
                pump.write_all(b"<hint xmlns='urn:systole:listener:v1'/>\n").await.unwrap();
                pump.write_all(delivery("d2").as_bytes()).await.unwrap();
                let second = lines.next_line().await.unwrap().unwrap();
                drop(pump);
                (first, second)
            };
            let (ended, (first, second)) = tokio::join!(serving, reading);
            assert!(ended.is_ok(), "{ended:?}");
            assert!(
                first.contains("delivery=\"d1\"") && first.contains("code=\"listener.error\""),
                "{first}"
            );
            assert!(first.contains("no luck"), "{first}");
            assert!(second.contains("delivery=\"d2\"") && !second.contains("failure"), "{second}");
        });
    }
}
