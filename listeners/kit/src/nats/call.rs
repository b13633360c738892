//! What a listener says about one delivery over the broker, and what is answered. A word that is answered is sent again
//! until it is: the pump takes the same word once, however often it comes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Request, Subject};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::connection::pause;
use super::work::House;
use crate::Fault;
use crate::reply::Word;
use crate::told::{Answer, Receipt, Told};
use crate::turn::Pump;

/// How long an answer may take before the same is sent again.
const ANSWER: Duration = Duration::from_secs(5);

/// The line of one delivery, for the thread that works on it.
pub(super) struct Call {
    pub(super) house: Arc<House>,
    pub(super) runtime: Handle,
    pub(super) subject: Subject,
    pub(super) called_back: watch::Receiver<bool>,
    pub(super) answer: Option<Answer>,
}

impl Pump for Call {
    fn say(&mut self, word: &Word) -> io::Result<()> {
        let document = word.document().map_err(unsayable)?;
        match word {
            Word::Progress { .. } => {
                let (client, live) = (&self.house.connection.client, self.house.live());
                // It is for whoever looks on at this moment: one that is lost is not said again.
                let _told = self.runtime.block_on(client.publish(live, document.into()));
            }
            Word::Journal { .. } | Word::Ask { .. } => {
                let told = self.runtime.block_on(self.answered(&document));
                self.answer = match told {
                    Some(Told::Answer(answer)) => Some(answer),
                    // One whose number the pump could not read is refused by a receipt.
                    Some(Told::Receipt(Receipt { delivery, refusal })) if refusal.is_some() => {
                        Some(Answer { delivery, id: 0, payload: refusal })
                    }
                    _ => None,
                };
            }
            Word::Notice { .. } | Word::Reply { .. } => {
                if let Some(Told::Receipt(receipt)) = self.runtime.block_on(self.answered(&document)) {
                    self.house.refused(&receipt);
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, _: &str, id: u64) -> io::Result<Option<Answer>> {
        Ok(self.answer.take().filter(|answer| answer.id == id || answer.refusal().is_some()))
    }

    fn is_wanted(&self) -> bool {
        !*self.called_back.borrow()
    }
}

impl Call {
    /// What is answered to a word; none where the delivery is called back before.
    async fn answered(&self, document: &[u8]) -> Option<Told> {
        let mut called_back = self.called_back.clone();
        tokio::select! {
            // An end of whoever tells of it is none of the delivery.
            Ok(_) = called_back.wait_for(|called_back| *called_back) => None,
            told = until_answered(&self.house, &self.subject, document) => Some(told),
        }
    }
}

/// Sends the same until it is answered, with pauses, for as long as it is waited for.
pub(super) async fn until_answered(house: &House, subject: &Subject, document: &[u8]) -> Told {
    let mut tries = 0;
    loop {
        let request = Request::new().payload(document.to_vec().into()).timeout(Some(ANSWER));
        // Nobody there, no answer in time, a connection that broke, something unreadable: all the same, it is not known
        // to be on disk.
        if let Ok(answer) = house.connection.client.send_request(subject.clone(), request).await
            && let Ok(told) = Told::read(&answer.payload)
            && matches!(told, Told::Answer(_) | Told::Receipt(_))
        {
            return told;
        }
        tokio::time::sleep(pause(tries)).await;
        tries = tries.saturating_add(1);
    }
}

fn unsayable(fault: Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
}
