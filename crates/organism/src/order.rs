//! A person's orders about running work: a decision on a waiting request, or a pause. The front passes
//! them to the pump. An amendment goes through the door, where its schema judges it first.

use super::front::OrganismHandle;
use super::validators::{PersonOrder, RawDocument};
use super::waiting::SenderReply;
use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::{ClientOrder, PauseOrder};
use systole_core::types::codes::Code;
use systole_core::types::flow::{Admitted, Refused, Ticket};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::person::{PersonDecision, Ruling};
use systole_core::types::refusal::Refusal;
use systole_queries::persons;

/// A decision in which the door has judged the amendment.
type JudgedDecision = PersonDecision<Box<Result<Admitted, Refused>>>;

impl OrganismHandle {
    /// Carries out a person's decision on a waiting request.
    pub async fn rule_request(&self, order: PersonOrder) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        match order.says {
            PersonDecision::Approve => self.send_ruling(ticket, order, PersonDecision::Approve).await?,
            PersonDecision::Reject => self.send_ruling(ticket, order, PersonDecision::Reject).await?,
            PersonDecision::Choose(ref choice) => {
                let says = PersonDecision::Choose(choice.clone());
                self.send_ruling(ticket, order, says).await?;
            }
            PersonDecision::Amend(ref document) => {
                let document = document.clone();
                self.send_amendment(ticket, order, document).await?;
            }
        }
        reply.await.ok()
    }

    async fn send_ruling(&self, ticket: Ticket, order: PersonOrder, says: JudgedDecision) -> Option<()> {
        let PersonOrder { by, request, hash, note, .. } = order;
        self.send_input(PumpInput::Ordered(ClientOrder::Ruled(Ruling {
            ticket,
            by,
            request,
            hash,
            note,
            says,
        })))
        .await
    }

    /// The log says which schema judges an amendment. If the request no longer waits, the pump reports
    /// it.
    async fn send_amendment(&self, ticket: Ticket, order: PersonOrder, document: Vec<u8>) -> Option<()> {
        let (reader, id) = (self.reader().clone(), order.request);
        let looked = tokio::task::spawn_blocking(move || persons::waiting(&*reader)).await.ok()?;
        let refusal = match looked {
            Ok(waiting) => match waiting.into_iter().find(|waiting| waiting.id == id) {
                Some(found) => {
                    let raw = RawDocument::Amended {
                        ticket,
                        order,
                        to: found.listener,
                        config: found.config,
                        document,
                    };
                    return self.ways.upgrade()?.door.hand_in(raw).await.then_some(());
                }
                None => Refusal::new(Code::DecidedApproval, "nothing of this id waits"),
            },
            Err(fault) => Refusal::new(Code::IngressUnavailable, fault.to_string()),
        };
        self.send_ruling(ticket, order, PersonDecision::Amend(Box::new(Err(Refused { refusal, kept: None }))))
            .await
    }

    /// Pauses a thread or everything, or lets it continue.
    pub async fn pause_or_continue(
        &self,
        by: Name,
        thread: Option<ThreadId>,
        halts: bool,
        note: Option<String>,
    ) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        self.send_input(PumpInput::Ordered(ClientOrder::Pause(PauseOrder {
            ticket,
            by,
            thread,
            halts,
            note,
        })))
        .await?;
        reply.await.ok()
    }
}
