//! Keeps the log of a running organism proved: it signs a checkpoint at the start, in each interval in which the log
//! grew, and at a clean stop, and brings each to its witnesses and folders.
//!
//! Nothing waits for it but a clean stop, for a few seconds. What fails is a refusal in `sys`, once for each way of
//! failing at a place, and is tried again with the next checkpoint. Once the pump has ended, it is told on the screen.

mod sending;
mod signing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use systole_proof::key::{SignerKey, VerifierKey};
use systole_proof::policy::TrustPolicy;
use tokio::sync::{mpsc, oneshot};

pub use sending::{CheckpointSender, PlaceReport, SendResult};
pub use signing::{LogSigner, SigningFault, find_last};

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::PumpNotice;
use systole_core::types::ports::LogReader;
use systole_log::checkpoint_file;
use systole_log::nats::LogOwnership;
use systole_system::tasks::{self, RunningTask, TaskKind};
use systole_witness::{WitnessClient, WitnessPlace};

use crate::limits;
pub use crate::limits::CHECKPOINT_SENDING;

/// What a running organism signs with, how often, and for whom.
pub struct ProofPlan {
    /// The key of the log.
    pub key: SignerKey,
    /// Further keys of the log, whose checkpoints count.
    pub logs: Vec<VerifierKey>,
    /// The log; its checkpoints are beside it.
    pub log: PathBuf,
    /// How often a checkpoint is signed if the log has grown.
    pub every: Duration,
    /// Where each checkpoint goes.
    pub to: Vec<WitnessPlace>,
    /// The keys of the witnesses.
    pub witnesses: Vec<VerifierKey>,
    /// Which checkpoints beside the log count.
    pub policy: Arc<TrustPolicy>,
    /// Asks the witnesses.
    pub client: WitnessClient,
    /// Tells a person what cannot be recorded any more.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The file of a log's checkpoints. It is beside the file itself, not beside a link to it.
pub fn find_notes(log: &Path) -> PathBuf {
    checkpoint_file::to_path(std::fs::canonicalize(log).as_deref().unwrap_or(log))
}

/// The task that signs, as the organism holds it.
pub(super) struct ProofKeeper {
    stop: oneshot::Sender<LastCheckpoint>,
    task: RunningTask,
}

/// Whether the end of the log is signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LastCheckpoint {
    /// Everything is on disk.
    Signed,
    /// The log is not to be trusted, or another pump has it.
    Unsigned,
}

/// The signer of a log that was just opened, if there is a plan for it.
pub(super) fn open_signer(
    plan: Option<ProofPlan>,
    reader: &dyn LogReader,
) -> Result<Option<(ProofPlan, LogSigner)>, SigningFault> {
    let Some(plan) = plan else { return Ok(None) };
    let signer = LogSigner::open(plan.key.clone(), &plan.logs, find_notes(&plan.log), reader)?;
    Ok(Some((plan, signer)))
}

impl ProofKeeper {
    /// Starts it. The log has to continue the last checkpoint of the signer.
    pub(super) fn start(
        (plan, signer): (ProofPlan, LogSigner),
        reader: Arc<dyn LogReader>,
        lead: Option<LogOwnership>,
        pump: &mpsc::Sender<PumpInput>,
    ) -> ProofKeeper {
        let places =
            CheckpointSender::new(plan.client, plan.witnesses, reader.clone(), plan.to, signer.tree());
        let reports = ProofReports { pump: pump.downgrade(), say: plan.say };
        let fallen = reports.clone();
        let work = ProofWork { signer: Some(signer), places, reader, lead, reports, signing: None };
        let (stop, stopped) = oneshot::channel();
        let task =
            tasks::start_task(TaskKind::Proof, work.run_until(plan.every, stopped), async move |panic| {
                fallen
                    .report(format!("the task that signs checkpoints ended: {panic}; no more are signed"))
                    .await;
            });
        ProofKeeper { stop, task }
    }

    /// Signs the end of the log, if asked to, and ends. The pump has to have ended.
    pub(super) async fn finish(self, last: LastCheckpoint) {
        // If the task has ended, it has said so.
        let _ended_before = self.stop.send(last);
        self.task.wait_for_end().await;
    }
}

/// Who hears what fails.
#[derive(Clone)]
struct ProofReports {
    pump: mpsc::WeakSender<PumpInput>,
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl ProofReports {
    /// Has it recorded, or shown if the pump has ended.
    async fn report(&self, words: String) {
        if let Some(pump) = self.pump.upgrade() {
            let notice = PumpInput::Noticed(PumpNotice::Unproved { words: words.clone() });
            if pump.send(notice).await.is_ok() {
                return;
            }
        }
        (self.say)(&words);
    }
}

struct ProofWork {
    /// `None` only while it signs.
    signer: Option<LogSigner>,
    places: CheckpointSender,
    reader: Arc<dyn LogReader>,
    lead: Option<LogOwnership>,
    reports: ProofReports,
    /// Why nothing was signed the last time.
    signing: Option<String>,
}

impl ProofWork {
    async fn run_until(mut self, every: Duration, mut stopped: oneshot::Receiver<LastCheckpoint>) {
        let last = loop {
            let is_led = self.lead.as_ref().is_none_or(|lead| lead.find_loss().is_none());
            if is_led {
                let has_grown = self.sign_new().await;
                if has_grown || self.places.is_behind() {
                    tokio::select! {
                        last = &mut stopped => break last,
                        () = self.send_last(limits::CHECKPOINT_SENDING) => {}
                    }
                }
            }
            tokio::select! {
                last = &mut stopped => break last,
                () = tokio::time::sleep(every) => {}
            }
        };
        // Without a word the process is ending, and nothing is certain about the log.
        if last == Ok(LastCheckpoint::Signed) {
            // From here on nothing is recorded, so everything that fails is new on the screen.
            self.signing = None;
            self.sign_new().await;
            self.send_last(limits::LAST_WRITE).await;
        }
    }

    /// Works with the signer on a thread that may block: it reads the log and syncs a file.
    async fn with_signer<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut LogSigner, &dyn LogReader) -> Result<T, SigningFault> + Send + 'static,
    ) -> Result<T, String> {
        let mut signer = self.signer.take().ok_or("the signer is gone")?;
        let reader = self.reader.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut signer, &*reader);
            (signer, done)
        });
        let (signer, done) = done.await.map_err(|panic| panic.to_string())?;
        self.signer = Some(signer);
        done.map_err(|fault| fault.to_string())
    }

    /// Signs what is new. Returns whether there was something.
    async fn sign_new(&mut self) -> bool {
        let words = match self.with_signer(LogSigner::sign_log).await {
            Ok(is_new) => {
                self.signing = None;
                return is_new;
            }
            Err(words) => format!("no checkpoint was signed: {words}"),
        };
        if self.signing.as_ref() != Some(&words) {
            self.reports.report(words.clone()).await;
        }
        self.signing = Some(words);
        false
    }

    async fn send_last(&mut self, within: Duration) {
        let Some(signer) = &self.signer else { return };
        let Some(checkpoint) = signer.last_checkpoint().cloned() else { return };
        let size = checkpoint.checkpoint().size();
        let tree = signer.tree().clone();
        let SendResult { cosigned, missing } = self.places.send_grown(&checkpoint, &tree, within).await;
        if let Some(cosigned) = cosigned
            && let Err(words) = self.with_signer(|signer, _| signer.store_cosigned(cosigned)).await
        {
            self.reports.report(format!("cosignatures of #{size} were not stored: {words}")).await;
        }
        let is_last = within == limits::LAST_WRITE;
        for PlaceReport { place, fault, is_new } in missing {
            if is_new || is_last {
                self.reports.report(format!("the checkpoint at #{size} is not at {place}: {fault}")).await;
            }
        }
    }
}
