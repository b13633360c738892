//! `systole steer`: a message to the work in a thread, which its listener reads in its next turn.
//!
//! The text becomes an element that the listener of the open call takes, and is sent as `<steer>`, in the same way as
//! `systole send`. The pump decides whether the message still arrives in time.

use std::sync::Arc;

use clap::Args;
use systole_kit::Payload;

use super::exit::CommandExit;
use super::looking::{Looking, read_composition};
use super::place::Place;
use super::screen::Screen;
use super::send::{OutgoingParcel, draw_key, through};
use systole_client::client::DoorClient;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Name, ThreadId};
use systole_organism::runfile::RunFile;
use systole_organism::steer_payload;

/// Says something to the work that goes on in a thread.
///
/// The listener of the open call reads it in its next turn. Nothing that is being done is disturbed.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole steer @last "Use the second source too.""#)]
pub(super) struct SteerCommand {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, @last or @NAME
    thread: String,
    /// What to say
    text: String,
}

impl SteerCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        if self.text.trim().is_empty() {
            return Err(screen.fail(CommandExit::Usage, "no text: write it after the thread"));
        }
        let looking = Looking::open_anywhere(&self.place)?;
        let thread = looking.find(&self.thread)?;
        let named = find_listener(&looking, &thread)?;
        let (log, steer) = match &looking.elsewhere {
            // Without the schemas, the words are a question, which most listeners take.
            Some(organism) => match organism.read_composition()? {
                Err(_) => (None, steer_payload::build_question(&self.text)),
                Ok(composition) => (None, self.build_payload(screen, &composition, &named, &thread)?),
            },
            None => {
                let composition = read_composition(&self.place, screen)?;
                (Some(self.place.log(screen)?), self.build_payload(screen, &composition, &named, &thread)?)
            }
        };
        let key = draw_key().map_err(|words| screen.fail(CommandExit::Unavailable, words))?;
        let mut parcel = OutgoingParcel::from_document(steer.bytes().to_vec(), key);
        (parcel.thread, parcel.wait) = (Some(thread.to_string()), false);
        if let Some(organism) = &looking.elsewhere {
            return Ok(through::send_afar(screen, organism, &parcel));
        }
        if let Some((log, run)) = log.as_deref().and_then(|log| Some((log, RunFile::find_running(log)?))) {
            self.place.set_nothing(screen, &run)?;
            let client = Arc::new(DoorClient::from_run_file(&run));
            if let Some(exit) = through::send_elsewhere(screen, client, Some(log), &parcel) {
                return Ok(exit);
            }
        }
        through::send_here(screen, &self.place, &parcel)
    }

    /// The text as the listener reads it.
    fn build_payload(
        &self,
        screen: Screen,
        composition: &Composition,
        named: &Name,
        thread: &ThreadId,
    ) -> Result<Payload, CommandExit> {
        let Some(listener) = composition.find_listener(named) else {
            let words = format!("{named} works on {thread}, but is no longer in the organism's file");
            return Err(screen.fail(CommandExit::Configuration, words));
        };
        steer_payload::build_steer(composition, listener, &self.text).map_err(|words| {
            let fix = "with <steer> around one of them";
            screen.refuse(words, format!("systole send --thread {thread} --file FILE, {fix}"))
        })
    }
}

/// The listener of the open call in a thread.
fn find_listener(looking: &Looking, thread: &ThreadId) -> Result<Name, CommandExit> {
    let whole = looking.whole()?;
    let found = whole.listener_at_work(&*looking.reader, thread).map_err(|fault| looking.fault(&fault))?;
    found.ok_or_else(|| {
        let words = format!("thread.resting: no call is open in {thread}");
        let fix = format!("systole ask --thread {thread}, which goes on with it");
        looking.screen.fail_with(CommandExit::Payload, words, fix)
    })
}
