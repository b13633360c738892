//! The post of one listener: its mailbox, and the reports of its task to the pump.
//!
//! It decides nothing. In: what a carrier's task found out. Out: `CarrierReport`, into the one bounded queue of reports. A
//! report waits for room, which slows its sender and loses nothing.

use std::sync::Arc;

use systole_kit::Fault;
use tokio::sync::{mpsc, watch};

use super::ear::ProgramEar;
use super::mailbox::Mailbox;
use super::pace::CarrierWaits;
use super::receipts::{ReceiptFuture, Receipts};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::ports::{
    ArrivedDocument, CallBack, CarrierReport, LeaseToken, ProgramFile, PumpStep, StepObserver,
};
use systole_core::types::time::Millis;
use systole_system::tasks::PanicMessage;

#[derive(Clone)]
pub(super) struct Post {
    pub(super) listener: Name,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) pace: CarrierWaits,
    pub(super) steps: Arc<dyn StepObserver>,
    pub(super) ear: Arc<dyn ProgramEar>,
    pub(super) receipts: Arc<dyn Receipts>,
    pub(super) reports: mpsc::Sender<CarrierReport>,
    pub(super) stop: watch::Receiver<bool>,
}

impl Post {
    async fn send_report(&self, heard: CarrierReport) {
        // The pump drops its end only when it needs no more reports.
        let _pump_is_gone = self.reports.send(heard).await;
    }

    /// A document of the listener.
    pub(super) async fn report_document(&self, speech: ArrivedDocument) {
        self.send_report(CarrierReport::Said { listener: self.listener.clone(), speech, ticket: None }).await;
    }

    /// A document of a listener that waits until the result is on disk. The same bytes may come again: the receipt is
    /// given again, and nothing happens twice.
    pub(super) async fn said_with_receipt(&self, speech: ArrivedDocument) -> ReceiptFuture {
        let (ticket, receipt) = self.receipts.draw_ticket();
        self.send_report(CarrierReport::Said {
            listener: self.listener.clone(),
            speech,
            ticket: Some(ticket),
        })
        .await;
        receipt
    }

    /// A document that came where only others are accepted. If its sender waits for a receipt, the receipt says so.
    pub(super) async fn report_misplaced(
        &self,
        speech: ArrivedDocument,
        with_receipt: bool,
    ) -> Option<ReceiptFuture> {
        let (ticket, receipt) =
            if with_receipt { Some(self.receipts.draw_ticket()).unzip() } else { (None, None) };
        self.send_report(CarrierReport::Misplaced { listener: self.listener.clone(), speech, ticket }).await;
        receipt
    }

    /// A delivery that the caller has taken off the mailbox and that will not be answered.
    pub(super) async fn report_gone(&self, token: LeaseToken, code: Code, words: String) {
        self.send_report(CarrierReport::Gone { token, code, words }).await;
    }

    /// A delivery that the caller has taken off the mailbox and whose program cannot be started.
    pub(super) async fn report_away(&self, token: LeaseToken, words: String) {
        self.send_report(CarrierReport::Away { token, words }).await;
    }

    /// A delivery that the caller has taken off the mailbox and that cannot begin just now.
    pub(super) async fn not_now(&self, token: LeaseToken, words: String) {
        self.send_report(CarrierReport::NotNow { token, words }).await;
    }

    /// The deliveries of an earlier life of the pump were looked for.
    pub(super) async fn report_adopted(&self, found: Vec<LeaseToken>, lost: Option<String>) {
        self.send_report(CarrierReport::Adopted { listener: self.listener.clone(), found, lost }).await;
    }

    /// A worker on another machine has a delivery.
    pub(super) async fn report_taken(&self, token: LeaseToken, age_ms: u64, now: Millis, has_waited: bool) {
        self.send_report(CarrierReport::Taken { token, age_ms, now, has_waited }).await;
    }

    /// No worker takes a delivery.
    pub(super) async fn report_untaken(&self, token: LeaseToken) {
        self.send_report(CarrierReport::Untaken { token }).await;
    }

    /// Nothing that waits on the mailbox can begin just now.
    pub(super) async fn put_off_waiting(&self, words: &str) {
        for token in self.mailbox.settle_waiting() {
            self.not_now(token, words.to_owned()).await;
        }
    }

    /// The listener has a whole document.
    pub(super) fn note_brought(&self) {
        self.steps.note_step(PumpStep::Running);
    }

    /// The listener is ready.
    pub(super) async fn report_joined(&self) {
        self.joined_with(None, Vec::new()).await;
    }

    /// The listener is ready. Its program has a sandbox of this level, and was started with these files.
    pub(super) async fn joined_with(&self, sandbox: Option<&'static str>, files: Vec<ProgramFile>) {
        self.send_report(CarrierReport::Joined { listener: self.listener.clone(), sandbox, files }).await;
    }

    /// The listener's program ended.
    pub(super) async fn report_left(&self, words: &str) {
        self.send_report(CarrierReport::Left { listener: self.listener.clone(), words: words.to_owned() })
            .await;
    }

    /// Nothing that waits on the mailbox will be delivered.
    pub(super) async fn refuse_waiting(&self, words: &str) {
        for token in self.mailbox.settle_waiting() {
            self.report_gone(token, Code::ListenerDown, words.to_owned()).await;
        }
    }

    /// The program for what waits on the mailbox cannot be started.
    pub(super) async fn has_no_program(&self, words: &str) {
        for token in self.mailbox.settle_waiting() {
            self.report_away(token, words.to_owned()).await;
        }
    }

    /// Nothing on the mailbox will be answered, and nothing more is taken.
    pub(super) async fn close_post(&self, code: Code, words: &str) {
        self.mailbox.close_mailbox();
        for (token, _) in self.mailbox.settle_all() {
            self.report_gone(token, code, words.to_owned()).await;
        }
        self.refuse_waiting(words).await;
    }

    /// The listener's task panicked: the fault is ours, and everyone who waits for the task gets an answer.
    pub(super) async fn report_panic(self, panicked: PanicMessage) {
        let words = format!("the carrier panicked: {}", panicked.0);
        self.report_left(&words).await;
        self.close_post(Code::ListenerLost, &words).await;
    }

    /// Waits until the carrier is stopped.
    pub(super) async fn wait_for_stop(&self) {
        // A carrier that was dropped without a signal counts as a stop too.
        let mut stop = self.stop.clone();
        let _carrier_is_gone = stop.wait_for(|stop| *stop).await;
    }
}

/// The message for a delivery that was called back while it was still here.
pub(super) const UNSENT: &str = "called back before the listener had it";

/// The message for a delivery whose records do not make an envelope.
pub(super) fn describe_damage(fault: &Fault) -> String {
    format!("a record that this turn shows holds no payload: {}", fault.message)
}

/// The code for a delivery that was called back.
pub(super) fn called_back(why: CallBack) -> Code {
    match why {
        CallBack::Cancelled => Code::CancelledThread,
        CallBack::TimedOut => Code::ListenerTimeout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipts::NoReceipt;
    use crate::{NoEar, ReceiptFuture};
    use systole_core::types::flow::{TakenReply, Ticket};
    use systole_core::types::ports::NoObserver;

    struct Drawer(mpsc::Sender<()>);

    impl Receipts for Drawer {
        fn draw_ticket(&self) -> (Ticket, ReceiptFuture) {
            let sent = self.0.clone();
            // The receipt is given once the document was passed on, and not before.
            (
                Ticket(7),
                Box::pin(async move {
                    sent.send(()).await.map_or(Err(NoReceipt::Unknown), |()| Ok(TakenReply::default()))
                }),
            )
        }
    }

    #[tokio::test]
    async fn a_word_goes_on_with_the_ticket_that_is_waited_for() {
        let ((reports, mut heard), (given, mut receipts)) = (mpsc::channel(2), mpsc::channel(1));
        let (_running, stop) = watch::channel(false);
        let post = Post {
            listener: Name::new_operator(),
            mailbox: Arc::new(Mailbox::new(1)),
            pace: CarrierWaits::default(),
            steps: Arc::new(NoObserver),
            ear: Arc::new(NoEar),
            receipts: Arc::new(Drawer(given)),
            reports,
            stop,
        };
        let speech = || ArrivedDocument::Bytes(b"<reply/>".to_vec());
        post.report_document(speech()).await;
        assert!(receipts.try_recv().is_err(), "nothing is waited for");
        assert_eq!(post.said_with_receipt(speech()).await.await, Ok(TakenReply::default()));
        assert!(receipts.try_recv().is_ok());
        let tickets = [heard.recv().await, heard.recv().await].map(|report| match report {
            Some(CarrierReport::Said { ticket, .. }) => ticket,
            other => panic!("{other:?}"),
        });
        assert_eq!(tickets, [None, Some(Ticket(7))]);
    }
}
