//! Decides who writes the partition, and for how long. A take-over is a bundle with a higher epoch; a sign of life
//! each second only keeps others from trying. A writer that hears of a higher epoch than its own writes nothing more.
//!
//! Time decides here only when to try, never who wins: the stream decides that.

use std::sync::Arc;

use async_nats::Subscriber;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, timeout_at};

use super::bundle::{FoldStanding, PARTITION, head_of};
use super::bundle_writer::{BundleWriter, WrittenBundle};
use super::follow::{CopyFollower, NatsLogFault, read_whole};
use super::other_writer::{LifeSign, TakeOverMode, to_hex};
use crate::limits;
use systole_bus::{BrokerFault, LogStream};
use systole_core::types::ports::{Commit, LogBatch, LogFault};
use systole_system::tasks::{self, TaskKind};

/// Whether this process still writes the log. Clones share one state.
#[derive(Clone)]
pub struct LogOwnership {
    lost: Arc<watch::Sender<Option<String>>>,
}

impl LogOwnership {
    /// Why this process no longer writes the log; `None` if it does.
    pub fn find_loss(&self) -> Option<String> {
        self.lost.borrow().clone()
    }

    /// Waits until this process no longer writes the log; returns why.
    pub async fn is_lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        // The caller holds the sender.
        let words = lost.wait_for(Option::is_some).await.map(|words| words.clone());
        words.ok().flatten().unwrap_or_default()
    }

    /// Says that this process no longer writes the log. The first reason stays.
    pub(super) fn lose_lead(&self, words: &str) {
        self.lost.send_if_modified(|lost| {
            let is_first = lost.is_none();
            lost.get_or_insert_with(|| words.to_owned());
            is_first
        });
    }
}

/// Takes the partition over: at once if it has no owner or this copy had it before, else when its owner is silent. A
/// standby also waits while the broker does not answer, because the broker may have failed together with the writer.
pub(super) async fn take_over(
    stream: Arc<LogStream>,
    follower: CopyFollower,
    mut manner: TakeOverMode,
) -> Result<BundleWriter, NatsLogFault> {
    let mut others = OtherNodes::new(&stream, &follower).await?;
    let mut bundle_writer = BundleWriter { stream, epoch: 0, follower };
    let mut is_cut = false;
    loop {
        let unusable = match attempt_lead(&mut bundle_writer, &mut others, &mut manner).await {
            Ok(taken) => {
                if std::mem::take(&mut is_cut) {
                    tracing::info!("the broker of the log answers again");
                }
                match taken {
                    true => return Ok(bundle_writer),
                    false => continue,
                }
            }
            Err(NatsLogFault::Broker(unusable)) if unusable.may_pass() => unusable,
            Err(why) => return Err(why),
        };
        if let TakeOverMode::AtOnce = manner {
            return Err(unusable.into());
        }
        if !std::mem::replace(&mut is_cut, true) {
            let fix = unusable.fix();
            tracing::warn!(why = %unusable, fix, "this pump stands by, and waits for the broker of the log");
        }
        sleep(limits::WRITER_BEAT).await;
    }
}

/// Tries once; returns whether the partition was taken.
async fn attempt_lead(
    bundle_writer: &mut BundleWriter,
    others: &mut OtherNodes,
    manner: &mut TakeOverMode,
) -> Result<bool, NatsLogFault> {
    let (tail, node) = (&bundle_writer.follower.tail, bundle_writer.follower.node);
    let is_free = tail.stands == FoldStanding::Free || tail.by.is_none_or(|by| by == node);
    if !is_free && let Some(heard) = others.take_sign(tail.epoch).await {
        match (heard, manner) {
            (HeardSign::Sign(by), TakeOverMode::AtOnce) => {
                let stream = &bundle_writer.stream;
                let (stream, address) = (stream.name().to_owned(), stream.address().to_owned());
                return Err(NatsLogFault::Led { stream, address, by });
            }
            (HeardSign::Sign(sign), TakeOverMode::StandBy(tell)) => tell(&sign),
            (HeardSign::Bundle, _) => {}
        }
        bundle_writer.follower.catch_up().await?;
        return Ok(false);
    }
    // Another process was faster and has it.
    if bundle_writer.follower.catch_up().await? {
        return Ok(false);
    }
    bundle_writer.epoch = bundle_writer.follower.tail.epoch + 1;
    let nothing = LogBatch::default();
    let sealed = bundle_writer.seal_batch(&nothing, FoldStanding::Owned);
    let upload = bundle_writer.make_upload();
    let written = match upload.write_bundle(&sealed, false).await {
        // It may be stored all the same.
        WrittenBundle::NotYet(_) => upload.write_bundle(&sealed, true).await,
        written => written,
    };
    match written {
        WrittenBundle::At(followed) => {
            match bundle_writer.keep_batch(&nothing, followed, FoldStanding::Owned) {
                Commit::Committed(_) => Ok(true),
                Commit::Conflict(why) | Commit::Unknown(why) | Commit::NotNow(why) => {
                    let path = bundle_writer.follower.copy.path().display().to_string();
                    Err(LogFault::Io { path, why }.into())
                }
            }
        }
        WrittenBundle::NotYet(why) | WrittenBundle::Behind(why) => {
            let address = bundle_writer.stream.address().to_owned();
            Err(BrokerFault::Unreachable { address, why }.into())
        }
        // Another process was faster.
        WrittenBundle::Lost(_) => {
            bundle_writer.follower.catch_up().await?;
            Ok(false)
        }
    }
}

async fn listen_to_signs(stream: &LogStream) -> Result<Subscriber, NatsLogFault> {
    let no = |why| BrokerFault::Unreachable { address: stream.address().to_owned(), why };
    Ok(stream.watch_signs_of_life(PARTITION).await.map_err(no)?)
}

/// Evidence that another process has the partition.
enum HeardSign {
    Sign(LifeSign),
    Bundle,
}

/// The processes that have the partition or had it.
struct OtherNodes {
    own: String,
    signs: Subscriber,
    sent: Subscriber,
}

impl OtherNodes {
    async fn new(stream: &LogStream, follower: &CopyFollower) -> Result<OtherNodes, NatsLogFault> {
        let no = |why| BrokerFault::Unreachable { address: stream.address().to_owned(), why };
        let sent = stream.watch_partition(PARTITION).await.map_err(no)?;
        Ok(OtherNodes { own: to_hex(follower.node), signs: listen_to_signs(stream).await?, sent })
    }

    /// What is heard of the owner in that epoch or a later one; `None` if it was silent for too long.
    async fn take_sign(&mut self, epoch: u64) -> Option<HeardSign> {
        let end = Instant::now() + limits::WRITER_SILENCE;
        loop {
            let message = tokio::select! {
                sign = timeout_at(end, take_next(&mut self.signs)) => sign.ok()??,
                sent = take_next(&mut self.sent) => {
                    sent?;
                    return Some(HeardSign::Bundle);
                }
            };
            let Ok(sign) = serde_json::from_slice::<LifeSign>(&message.payload) else { continue };
            if sign.epoch >= epoch && sign.node != self.own {
                return Some(HeardSign::Sign(sign));
            }
        }
    }
}

async fn take_next(signs: &mut Subscriber) -> Option<async_nats::Message> {
    use futures_core::Stream as _;
    std::future::poll_fn(|cx| std::pin::Pin::new(&mut *signs).poll_next(cx)).await
}

/// The epoch of the last bundle; `None` if the broker does not say.
async fn read_epoch(stream: &LogStream) -> Option<u64> {
    let last = stream.read_last(PARTITION).await.ok()??;
    let (_, bytes) = read_whole(stream, last).await.ok()?;
    head_of(&bytes).ok().map(|head| head.epoch)
}

/// Shows life from now on, as long as the returned lead is held, and listens for other signs of life.
pub(super) async fn show_lead(bundle_writer: &BundleWriter) -> Result<LogOwnership, NatsLogFault> {
    let (stream, own) =
        (bundle_writer.stream.clone(), LifeSign::new(bundle_writer.follower.node, bundle_writer.epoch));
    let mut signs = listen_to_signs(&stream).await?;
    let (lost, mut over) = watch::channel(None);
    let lead = LogOwnership { lost: Arc::new(lost) };
    let held = Arc::downgrade(&lead.lost);
    let work = async move {
        let mut beat = interval(limits::WRITER_BEAT);
        loop {
            tokio::select! {
                _ = beat.tick() => {
                    let sign = serde_json::to_vec(&own).unwrap_or_default();
                    if let Err(words) = stream.show_life(PARTITION, sign).await {
                        tracing::debug!(why = words, "no sign of life was given to the pumps that stand by");
                    }
                }
                heard = take_next(&mut signs) => {
                    let Some(message) = heard else { return };
                    let Ok(sign) = serde_json::from_slice::<LifeSign>(&message.payload) else { continue };
                    // A mere claim takes the lead from no one; only the stream counts.
                    if sign.epoch <= own.epoch || read_epoch(&stream).await.is_none_or(|epoch| epoch <= own.epoch) {
                        continue;
                    }
                    if let Some(lost) = held.upgrade() {
                        let words = format!("the log {} was taken over by {sign}", stream.name());
                        LogOwnership { lost }.lose_lead(&words);
                    }
                }
                // Lost, or the lead was dropped.
                _ = over.changed() => return,
            }
        }
    };
    let _ends_with_the_lead = tasks::start_task(TaskKind::Pump, work, async |_| ());
    Ok(lead)
}
