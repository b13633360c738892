//! Carries out a person's decisions, each about one request, and prints the outcome of each.

use crate::cli::exit::CommandExit;
use crate::cli::live_order::{DecidedHere, LiveOrder, carry_out_all, read_reply};
use crate::cli::place::Place;
use crate::cli::screen::Screen;
use systole_api::types::{ApiRuling, DecisionAccepted, DecisionOutcome};
use systole_client::client::{DoorClient, DoorResult};
use systole_core::types::ids::ThreadId;
use systole_core::types::person::PersonDecision;
use systole_organism::front::OrganismHandle;
use systole_organism::validators::PersonOrder;

/// Carries out orders, each separately. The exit is that of the first refused order.
pub(in crate::cli) fn rule_all(place: &Place, orders: Vec<PersonOrder>) -> Result<CommandExit, CommandExit> {
    let is_one_of_several = orders.len() > 1;
    let orders = orders.into_iter().map(|order| RequestOrder { order, is_one_of_several });
    carry_out_all(place, orders.collect())
}

/// A decision about a request.
struct RequestOrder {
    order: PersonOrder,
    is_one_of_several: bool,
}

impl LiveOrder for RequestOrder {
    type Done = DecisionAccepted;

    fn give_through(&self, client: &DoorClient, _: Option<&ThreadId>) -> DoorResult<DecisionAccepted> {
        client.rule_request(&self.order.request.to_string(), &write_ruling(&self.order))
    }

    async fn give_here(&self, front: &OrganismHandle, _: Option<ThreadId>) -> DecidedHere<DecisionAccepted> {
        let ruled = DecisionAccepted::from_decision(self.order.request, &self.order.says);
        Some(read_reply(front.rule_request(self.order.clone()).await?, ruled))
    }

    fn report_done(&self, screen: Screen, ruled: &DecisionAccepted, runs: bool) -> CommandExit {
        if screen.json {
            screen.show_value(ruled);
        } else {
            let waits = if runs { "" } else { "; its thread goes on when the organism runs" };
            let id = &ruled.approval;
            let how = match (ruled.outcome, &ruled.choice) {
                (DecisionOutcome::Approved, _) => format!("approval {id} is approved"),
                (DecisionOutcome::Rejected, _) => format!("approval {id} is rejected"),
                (DecisionOutcome::Amended, _) => format!("approval {id} is amended"),
                (DecisionOutcome::Chosen, Some(choice)) => format!("question {id} is answered: {choice}"),
                (DecisionOutcome::Chosen, None) => format!("question {id} is answered"),
            };
            screen.say(format!("{how}{waits}"));
        }
        CommandExit::Done
    }

    /// Among several orders, names the request for which nothing was done.
    fn begin_refusal(&self, screen: Screen) {
        if self.is_one_of_several {
            screen.say(format!("approval {} is not decided:", self.order.request));
        }
    }
}

/// The order in the form of an organism's door.
fn write_ruling(order: &PersonOrder) -> ApiRuling {
    let (payload, choice) = match &order.says {
        // Bytes that are not UTF-8 were refused before.
        PersonDecision::Amend(bytes) => (Some(String::from_utf8_lossy(bytes).into_owned()), None),
        PersonDecision::Choose(choice) => (None, choice.clone()),
        PersonDecision::Approve | PersonDecision::Reject => (None, None),
    };
    let hash = order.hash.map(|hash| hash.to_string());
    ApiRuling {
        outcome: DecisionOutcome::from_decision(&order.says),
        note: order.note.clone(),
        hash,
        payload,
        choice,
    }
}
