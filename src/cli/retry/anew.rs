//! `systole retry --anew`: sends the request of a failed thread once more, as a new thread, also with other values. Shows
//! first what is sent, what of it was paid and what was done already.

use std::cell::RefCell;

use super::preview::{PreviewSource, is_agreed, wait_for_ends};
use crate::cli::exit::CommandExit;
use crate::cli::live_order::{DecidedHere, LiveOrder, carry_out};
use crate::cli::place::Place;
use crate::cli::refusal_text;
use crate::cli::remote_organism::OrganismElsewhere;
use crate::cli::screen::Screen;
use crate::cli::thread_name;
use systole_api::retry_types::AnewShown;
use systole_api::types::{ApiReceipt, ApiRefusal};
use systole_client::client::{DoorClient, DoorResult};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_organism::anew::{AnewRequest, AnewSent};
use systole_organism::front::OrganismHandle;
use systole_queries::anew::AnewChange;

/// On what terms it is sent.
pub(super) struct AnewTerms {
    /// Whether a person agreed before.
    pub(super) is_agreed: bool,
    /// Whether the outcome is waited for.
    pub(super) waits: bool,
    /// Whether effects outside may happen again.
    pub(super) allows_effects: bool,
}

/// Sends the request of the one thread that is named.
pub(super) fn send_anew(
    place: &Place,
    threads: &[String],
    values: &[String],
    terms: &AnewTerms,
) -> Result<CommandExit, CommandExit> {
    let screen = place.screen();
    let [typed] = threads else {
        let words = "--anew sends the request of one thread, and several are named";
        return Err(screen.refuse(words, "one thread, and the values behind --anew"));
    };
    let shown = match read_preview(place, screen, (typed, values))? {
        Ok(shown) => shown,
        Err(refusal) if screen.json => {
            screen.show_value(&refusal);
            return Ok(CommandExit::Payload);
        }
        Err(refusal) => {
            refusal_text::say(screen, &refusal);
            return Ok(CommandExit::Payload);
        }
    };
    if !screen.json {
        shown.describe_preview().iter().for_each(|line| screen.say(line));
    } else if !terms.is_agreed {
        screen.show_value(&shown);
    }
    if !is_agreed(screen, terms.is_agreed, "1 new thread is opened") {
        return Ok(CommandExit::Done);
    }
    let taken = RefCell::default();
    let order = AnewOrder { shown, values, allows_effects: terms.allows_effects, taken: &taken };
    let exit = carry_out(place, order)?;
    let ended = match taken.into_inner() {
        Some(receipt) if terms.waits => wait_for_ends(place, screen, &[(&receipt).into()])?,
        _ => CommandExit::Done,
    };
    Ok(if exit == CommandExit::Done { ended } else { exit })
}

/// What would be sent, or why nothing is.
fn read_preview(
    place: &Place,
    screen: Screen,
    (typed, values): (&str, &[String]),
) -> Result<Result<AnewShown, Box<ApiRefusal>>, CommandExit> {
    if let Some(elsewhere) = OrganismElsewhere::find_named(place)? {
        let thread = elsewhere.find_thread(typed)?;
        return elsewhere.check_decision(elsewhere.client.preview_anew(thread.as_str(), values));
    }
    let log = place.log(screen)?;
    let thread = thread_name::find(screen, &log, typed)?;
    PreviewSource::open(place, screen, &log)?.read_anew(screen, &thread, values)
}

/// The order to send it, as it was shown.
struct AnewOrder<'a> {
    shown: AnewShown,
    values: &'a [String],
    allows_effects: bool,
    /// The receipt of the message.
    taken: &'a RefCell<Option<ApiReceipt>>,
}

impl LiveOrder for AnewOrder<'_> {
    type Done = ApiReceipt;

    fn thread(&self) -> Option<&str> {
        Some(&self.shown.thread)
    }

    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<ApiReceipt> {
        let id = thread.map_or("", ThreadId::as_str);
        client.send_anew(id, self.values, Some(&self.shown.seen), self.allows_effects)
    }

    async fn give_here(&self, front: &OrganismHandle, thread: Option<ThreadId>) -> DecidedHere<ApiReceipt> {
        let reply = front.send_anew(AnewRequest {
            by: Name::new_operator(),
            thread: thread?,
            seen: Digest::parse(&self.shown.seen).ok(),
            change: AnewChange::Values(self.values.to_vec()),
            allows_effects: self.allows_effects,
        });
        let receipt =
            |sent: AnewSent| ApiReceipt::from_receipt(&sent.receipt, sent.position, sent.key.as_str());
        Some(reply.await?.map(receipt))
    }

    fn report_done(&self, screen: Screen, done: &ApiReceipt, runs: bool) -> CommandExit {
        let (old, new) = (&self.shown.thread, &done.thread);
        let rest = if runs { "" } else { "; it is worked on as soon as the organism runs" };
        match (screen.json, done.repeated) {
            (true, _) => screen.show_value(done),
            (false, false) => screen.say(format!("the request of {old} is sent anew as {new}{rest}")),
            (false, true) => screen.say(format!("the request of {old} was sent anew before, as {new}")),
        }
        self.taken.replace(Some(done.clone()));
        CommandExit::Done
    }
}
