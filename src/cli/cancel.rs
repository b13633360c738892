//! `systole cancel`: ends a thread and everything below it, one of its top calls, or the calls that wait for a listener.

use clap::Args;

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out, read_reply};
use super::place::Place;
use super::screen::Screen;
use systole_api::types::{ThreadCancelled, ThreadEnded, WaitingCancelled};
use systole_client::client::{DoorClient, DoorResult};
use systole_core::types::ids::{Name, ThreadId};
use systole_organism::front::OrganismHandle;

/// Ends a thread and everything below it, or the calls that wait for a listener.
///
/// Its listeners are asked to stop. Its records stay. With --call, only that top call ends, whether it is at work or
/// waits for its turn, and the thread goes on. With --to, every call ends that waits because the listener, its
/// worker, program or model is away. Each caller learns it, and its thread goes on.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole cancel @last
  systole cancel @last --call 2
  systole cancel --to weather")]
pub(super) struct CancelCommand {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, @last or @NAME
    #[arg(required_unless_present = "to", conflicts_with = "to")]
    thread: Option<String>,
    /// End only this top call of the thread
    #[arg(long, value_name = "NUMBER", requires = "thread", value_parser = clap::value_parser!(u32).range(1..))]
    call: Option<u32>,
    /// End the calls that wait for this listener, and no thread
    #[arg(long, value_name = "LISTENER", value_parser = Name::parse)]
    to: Option<Name>,
}

impl CancelCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let named = self.thread.unwrap_or_default();
        let thread = EndTarget::Thread { named, call: self.call, is_gentle: false };
        carry_out(&self.place, self.to.map_or(thread, EndTarget::CallsTo))
    }
}

/// What is to end.
pub(super) enum EndTarget {
    /// A thread, as typed.
    Thread {
        named: String,
        /// The number of the top call that ends alone.
        call: Option<u32>,
        /// Whether to end it only if it is at rest.
        is_gentle: bool,
    },
    /// The calls that wait for a listener.
    CallsTo(Name),
}

impl LiveOrder for EndTarget {
    /// The thread or the listener, and how many have ended.
    type Done = (String, usize);

    fn thread(&self) -> Option<&str> {
        match self {
            EndTarget::Thread { named, .. } => Some(named),
            EndTarget::CallsTo(_) => None,
        }
    }

    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<(String, usize)> {
        let id = thread.map_or("", ThreadId::as_str);
        Ok(match self {
            EndTarget::Thread { is_gentle: true, .. } => client.end_thread(id)?.map(|done| (done.ended, 1)),
            EndTarget::Thread { call, .. } => {
                client.cancel_thread(id, *call)?.map(|done| (done.cancelled, 1))
            }
            EndTarget::CallsTo(to) => {
                client.cancel_waiting(to.as_str())?.map(|done| (done.to, done.cancelled))
            }
        })
    }

    async fn give_here(
        &self,
        front: &OrganismHandle,
        thread: Option<ThreadId>,
    ) -> DecidedHere<(String, usize)> {
        let by = Name::new_operator();
        let id = thread.as_ref().map(ThreadId::to_string).unwrap_or_default();
        let reply = match self {
            EndTarget::Thread { is_gentle: true, .. } => front.end_thread(by, thread?).await?,
            EndTarget::Thread { call: None, .. } => front.cancel_thread(by, thread?).await?,
            EndTarget::Thread { call: Some(call), .. } => front.stop_run(by, thread?, *call).await?,
            EndTarget::CallsTo(to) => {
                let ended = front.cancel_waiting(&by, to).await?;
                return Some(ended.map(|ended| (to.to_string(), ended)));
            }
        };
        Some(read_reply(reply, (id, 1)))
    }

    fn report_done(&self, screen: Screen, (name, ended): &(String, usize), _: bool) -> CommandExit {
        let (id, to, cancelled) = (name.clone(), name.clone(), *ended);
        match (screen.json, self) {
            (true, EndTarget::Thread { is_gentle: true, .. }) => {
                screen.show_value(&ThreadEnded { ended: id })
            }
            (true, EndTarget::Thread { call, .. }) => {
                screen.show_value(&ThreadCancelled { cancelled: id, call: *call });
            }
            (true, EndTarget::CallsTo(_)) => screen.show_value(&WaitingCancelled { to, cancelled }),
            (false, EndTarget::Thread { is_gentle: true, .. }) => {
                screen.say(format!("{id} has ended; nothing can be added"));
            }
            (false, EndTarget::Thread { call: None, .. }) => {
                screen.say(format!("{id} is cancelled, with everything below it"));
            }
            (false, EndTarget::Thread { call: Some(call), .. }) => {
                screen.say(format!("call {call} of {id} is cancelled; the thread goes on"));
            }
            (false, EndTarget::CallsTo(_)) if cancelled == 0 => {
                let words = format!("no call to {to} waits for someone who is away; nothing is cancelled");
                let fix = "systole ps, which says what each thread waits for";
                screen.fail_with(CommandExit::Failed, words, fix);
            }
            (false, EndTarget::CallsTo(_)) if cancelled == 1 => {
                screen.say(format!("1 call to {to} is cancelled; its thread goes on"));
            }
            (false, EndTarget::CallsTo(_)) => {
                screen.say(format!("{cancelled} calls to {to} are cancelled; their threads go on"));
            }
        }
        if cancelled == 0 { CommandExit::Failed } else { CommandExit::Done }
    }
}
