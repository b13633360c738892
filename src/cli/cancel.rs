//! `systole cancel`: ends a thread and everything below it, through the organism that runs on the log
//! or through one that is started here only for that.

use clap::Args;

use super::exit::Exit;
use super::here;
use super::place::Place;
use super::refused;
use super::screen::Screen;
use super::thread_name;
use crate::console::client::{Client, Unheard};
use crate::console::told::{Cancelled, Refusal};
use crate::organism::runfile::RunFile;
use crate::organism::waiting::Reply;
use crate::words::ids::{Name, ThreadId};

/// Ends a thread and everything below it.
///
/// Its listeners are told that their answers are no longer wanted. What is recorded stays.
#[derive(Args, Debug)]
pub(super) struct Cancel {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, or @last
    thread: String,
}

impl Cancel {
    pub(super) fn run(self) -> Exit {
        let screen = self.place.screen();
        self.whole(screen).unwrap_or_else(|exit| exit)
    }

    fn whole(&self, screen: Screen) -> Result<Exit, Exit> {
        let log = self.place.log(screen)?;
        let thread = thread_name::find(screen, &log, &self.thread)?;
        if let Some(run) = RunFile::of(&log) {
            match Client::of(&run).cancel(thread.as_str()) {
                Ok(Ok(cancelled)) => return Ok(done(screen, &cancelled)),
                Ok(Err(refusal)) => return Ok(not_done(screen, &refusal)),
                // What the file names is gone, or going. If it still has the log, starting will say so.
                Err(Unheard::Unreachable { .. }) => {}
                Err(unheard) => return Err(screen.fail(Exit::Unavailable, unheard)),
            }
        }
        let work = async { Box::pin(self.in_process(screen, thread)).await.unwrap_or_else(|exit| exit) };
        Ok(here::with_runtime(screen, work))
    }

    async fn in_process(&self, screen: Screen, thread: ThreadId) -> Result<Exit, Exit> {
        let file = self.place.organism(screen)?;
        let organism = Box::pin(here::start_still(screen, &self.place, file)).await?;
        let exit = match organism.cancel(Name::operator(), thread.clone()).await {
            Some(Reply::Refused(refusal)) => not_done(screen, &Refusal::from(&*refusal)),
            Some(Reply::Done | Reply::Receipt(..)) => {
                done(screen, &Cancelled { cancelled: thread.to_string() })
            }
            None => screen.fail(Exit::Unavailable, "the organism ended before it answered"),
        };
        let ended = organism.stop(std::time::Duration::ZERO).await;
        Ok(here::ended(screen, &ended).unwrap_or(exit))
    }
}

fn done(screen: Screen, cancelled: &Cancelled) -> Exit {
    if screen.json {
        screen.value(cancelled);
    } else {
        screen.say([&cancelled.cancelled, " is cancelled, with everything below it"].concat());
    }
    Exit::Done
}

fn not_done(screen: Screen, refusal: &Refusal) -> Exit {
    if screen.json {
        screen.value(refusal);
    } else {
        refused::say(screen, refusal);
    }
    Exit::Payload
}
