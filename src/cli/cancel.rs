//! `systole cancel`: ends a thread and everything below it, through the organism that runs on the log or elsewhere, or
//! through one that is started here only for that.

use clap::Args;

use super::elsewhere::{OrganismElsewhere, unheard};
use super::exit::CommandExit;
use super::here;
use super::place::Place;
use super::refused;
use super::screen::Screen;
use super::thread_name;
use crate::console::api_types::{ApiRefusal, ThreadCancelled, ThreadEnded};
use crate::console::client::{DoorClient, DoorClientFault, DoorResult};
use crate::runtime::runfile::RunFile;
use crate::runtime::waiting::SenderReply;
use systole_core::types::ids::{Name, ThreadId};

/// Ends a thread and everything below it.
///
/// Its listeners are asked to stop. Its records stay.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole cancel @last")]
pub(super) struct Cancel {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, or @last
    thread: String,
}

impl Cancel {
    pub(super) fn run(self) -> CommandExit {
        Order { place: self.place, thread: self.thread, is_gentle: false }.carry_out()
    }
}
/// An order to end a thread; `cancel` and `end` carry it out in the same way.
pub(super) struct Order {
    pub(super) place: Place,
    /// The thread as typed.
    pub(super) thread: String,
    /// Whether to end it only if it is at rest.
    pub(super) is_gentle: bool,
}

impl Order {
    /// Lets the running organism, or one started here, end the thread.
    pub(super) fn carry_out(&self) -> CommandExit {
        let screen = self.place.screen();
        self.whole(screen).unwrap_or_else(|exit| exit)
    }

    /// Orders a running organism.
    fn through(&self, client: &DoorClient, thread: &ThreadId) -> DoorResult<()> {
        match self.is_gentle {
            true => client.end(thread.as_str()).map(|decided| decided.map(|_| ())),
            false => client.cancel(thread.as_str()).map(|decided| decided.map(|_| ())),
        }
    }

    fn whole(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        if let Some(elsewhere) = OrganismElsewhere::of(&self.place)? {
            let thread = elsewhere.find(&self.thread)?;
            return Ok(match elsewhere.decided(self.through(&elsewhere.client, &thread))? {
                Ok(()) => self.done(screen, &thread),
                Err(refusal) => not_done(screen, &refusal),
            });
        }
        let log = self.place.log(screen)?;
        let thread = thread_name::find(screen, &log, &self.thread)?;
        if let Some(run) = RunFile::of(&log) {
            self.place.set_nothing(screen, &run)?;
            match self.through(&DoorClient::of(&run), &thread) {
                Ok(Ok(())) => return Ok(self.done(screen, &thread)),
                Ok(Err(refusal)) => return Ok(not_done(screen, &refusal)),
                // The organism in the run file is stopping or gone. If it still has the log, starting
                // reports that.
                Err(DoorClientFault::Unreachable { .. }) => {}
                Err(fault) => return Err(unheard(screen, &fault)),
            }
        }
        let work = async { Box::pin(self.in_process(screen, thread)).await.unwrap_or_else(|exit| exit) };
        Ok(here::with_runtime(screen, work))
    }

    async fn in_process(&self, screen: Screen, thread: ThreadId) -> Result<CommandExit, CommandExit> {
        let file = self.place.organism(screen)?;
        let organism = Box::pin(here::start_without_deliveries(screen, &self.place, file)).await?;
        let (front, by) = (organism.front(), Name::operator());
        let reply = match self.is_gentle {
            true => front.end(by, thread.clone()).await,
            false => front.cancel(by, thread.clone()).await,
        };
        let exit = match reply {
            Some(SenderReply::Refused(refusal)) => not_done(screen, &ApiRefusal::from(&*refusal)),
            Some(SenderReply::Done | SenderReply::Receipt(..)) => self.done(screen, &thread),
            None => screen.fail(CommandExit::Unavailable, "the organism ended before it answered"),
        };
        let ended = organism.stop(std::time::Duration::ZERO).await;
        Ok(here::ended(screen, &ended).unwrap_or(exit))
    }

    fn done(&self, screen: Screen, thread: &ThreadId) -> CommandExit {
        let id = thread.to_string();
        match (screen.json, self.is_gentle) {
            (true, true) => screen.value(&ThreadEnded { ended: id }),
            (true, false) => screen.value(&ThreadCancelled { cancelled: id }),
            (false, true) => screen.say(format!("{id} has ended; nothing can be added")),
            (false, false) => screen.say(format!("{id} is cancelled, with everything below it")),
        }
        CommandExit::Done
    }
}

fn not_done(screen: Screen, refusal: &ApiRefusal) -> CommandExit {
    if screen.json {
        screen.value(refusal);
    } else {
        refused::say(screen, refusal);
    }
    CommandExit::Payload
}
