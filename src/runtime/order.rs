//! What a person orders about work that is on its way: a word on what waits, or a pause. The front
//! carries it to the pump; an amendment goes by the door, where its schema judges it first.

use super::front::Front;
use super::validators::Raw;
use super::waiting::Reply;
use crate::audit::persons;
use systole_core::pump::event::Pause;
use systole_core::pump::heart::Input;
use systole_core::types::codes::Code;
use systole_core::types::flow::{Admitted, Refused, Ticket};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::person::{PersonRequestId, Ruling, Says};
use systole_core::types::refusal::Refusal;

/// What a person says about what waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    /// Who.
    pub by: Name,
    /// About which request.
    pub request: PersonRequestId,
    /// The hash of what was looked at, where it was given.
    pub hash: Option<Digest>,
    /// What for.
    pub note: Option<String>,
    /// What.
    pub says: Says<Vec<u8>>,
}

/// What a person says, with an amendment as the door judged it.
type Judged = Says<Box<Result<Admitted, Refused>>>;

impl Front {
    /// Has a person's word on what waits carried out.
    pub async fn rule(&self, order: Order) -> Option<Reply> {
        let (ticket, reply) = self.room.enter();
        match order.says {
            Says::Approve => self.ruled(ticket, order, Says::Approve).await?,
            Says::Reject => self.ruled(ticket, order, Says::Reject).await?,
            Says::Choose(ref choice) => {
                let says = Says::Choose(choice.clone());
                self.ruled(ticket, order, says).await?;
            }
            Says::Amend(ref document) => {
                let document = document.clone();
                self.amended(ticket, order, document).await?;
            }
        }
        reply.await.ok()
    }

    async fn ruled(&self, ticket: Ticket, order: Order, says: Judged) -> Option<()> {
        let Order { by, request, hash, note, .. } = order;
        self.send(Input::Ruled(Ruling { ticket, by, request, hash, note, says })).await
    }

    /// Whose schema judges an amendment stands in the log. What waits there no longer the pump will say.
    async fn amended(&self, ticket: Ticket, order: Order, document: Vec<u8>) -> Option<()> {
        let (reader, id) = (self.reader().clone(), order.request);
        let looked = tokio::task::spawn_blocking(move || persons::waiting(&*reader)).await.ok()?;
        let refusal = match looked {
            Ok(waiting) => match waiting.into_iter().find(|waiting| waiting.id == id) {
                Some(found) => {
                    let raw =
                        Raw::Amended { ticket, order, to: found.listener, config: found.config, document };
                    return self.ways.upgrade()?.door.hand(raw).await.then_some(());
                }
                None => Refusal::new(Code::DecidedApproval, "nothing of this id waits"),
            },
            Err(fault) => Refusal::new(Code::IngressUnavailable, fault.to_string()),
        };
        self.ruled(ticket, order, Says::Amend(Box::new(Err(Refused { refusal, kept: None })))).await
    }

    /// Halts a thread, or everything, or lets it go on.
    pub async fn pause(
        &self,
        by: Name,
        thread: Option<ThreadId>,
        halts: bool,
        note: Option<String>,
    ) -> Option<Reply> {
        let (ticket, reply) = self.room.enter();
        self.send(Input::Pause(Pause { ticket, by, thread, halts, note })).await?;
        reply.await.ok()
    }
}
