//! `systole cancel`: ends a thread and everything below it, or the calls that wait for a listener, through the organism
//! that runs on the log or elsewhere, or through one that is started here only for that.

use clap::Args;

use super::elsewhere::{OrganismElsewhere, report_silence};
use super::exit::CommandExit;
use super::here;
use super::place::Place;
use super::refused;
use super::screen::Screen;
use super::thread_name;
use systole_core::types::ids::{Name, ThreadId};
use systole_doors::api_types::{ApiRefusal, ThreadCancelled, ThreadEnded, WaitingCancelled};
use systole_doors::client::{DoorClient, DoorClientFault, DoorResult};
use systole_organism::runfile::RunFile;
use systole_organism::waiting::SenderReply;

/// Ends a thread and everything below it, or the calls that wait for a listener.
///
/// Its listeners are asked to stop. Its records stay. With --to, every call ends that waits because the listener, its
/// worker, program or model is away. Each caller learns it, and its thread goes on.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole cancel @last
  systole cancel --to weather")]
pub(super) struct CancelCommand {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, or @last
    #[arg(required_unless_present = "to", conflicts_with = "to")]
    thread: Option<String>,
    /// End the calls that wait for this listener, and no thread
    #[arg(long, value_name = "LISTENER", value_parser = Name::parse)]
    to: Option<Name>,
}

impl CancelCommand {
    pub(super) fn run(self) -> CommandExit {
        let what = match (self.thread, self.to) {
            (_, Some(to)) => EndTarget::CallsTo(to),
            (thread, None) => EndTarget::Thread { named: thread.unwrap_or_default(), is_gentle: false },
        };
        EndOrder { place: self.place, what }.carry_out()
    }
}

/// What is to end.
pub(super) enum EndTarget<T = String> {
    /// A thread, as typed or found.
    Thread {
        named: T,
        /// Whether to end it only if it is at rest.
        is_gentle: bool,
    },
    /// The calls that wait for a listener.
    CallsTo(Name),
}

impl EndTarget {
    fn resolve(
        &self,
        find: impl FnOnce(&str) -> Result<ThreadId, CommandExit>,
    ) -> Result<EndTarget<ThreadId>, CommandExit> {
        Ok(match self {
            EndTarget::Thread { named, is_gentle } => {
                EndTarget::Thread { named: find(named)?, is_gentle: *is_gentle }
            }
            EndTarget::CallsTo(to) => EndTarget::CallsTo(to.clone()),
        })
    }
}

impl EndTarget<ThreadId> {
    /// Orders a running organism. Returns how many have ended.
    fn end_through(&self, client: &DoorClient) -> DoorResult<usize> {
        match self {
            EndTarget::Thread { named, is_gentle: true } => {
                client.end_thread(named.as_str()).map(|decided| decided.map(|_| 1))
            }
            EndTarget::Thread { named, is_gentle: false } => {
                client.cancel_thread(named.as_str()).map(|decided| decided.map(|_| 1))
            }
            EndTarget::CallsTo(to) => {
                client.cancel_waiting(to.as_str()).map(|decided| decided.map(|ended| ended.cancelled))
            }
        }
    }

    fn report_end(&self, screen: Screen, ended: usize) -> CommandExit {
        match self {
            EndTarget::Thread { named, is_gentle } => {
                let id = named.to_string();
                match (screen.json, is_gentle) {
                    (true, true) => screen.show_value(&ThreadEnded { ended: id }),
                    (true, false) => screen.show_value(&ThreadCancelled { cancelled: id }),
                    (false, true) => screen.say(format!("{id} has ended; nothing can be added")),
                    (false, false) => screen.say(format!("{id} is cancelled, with everything below it")),
                }
            }
            EndTarget::CallsTo(to) => {
                let nothing = || {
                    let words =
                        format!("no call to {to} waits for someone who is away; nothing is cancelled");
                    let exit = screen.fail(CommandExit::Failed, words);
                    screen.say("  try: systole ps, which says what each thread waits for");
                    exit
                };
                match (screen.json, ended) {
                    (true, cancelled) => {
                        screen.show_value(&WaitingCancelled { to: to.to_string(), cancelled })
                    }
                    (false, 0) => return nothing(),
                    (false, 1) => screen.say(format!("1 call to {to} is cancelled; its thread goes on")),
                    (false, _) => {
                        screen.say(format!("{ended} calls to {to} are cancelled; their threads go on"));
                    }
                }
                return if ended == 0 { CommandExit::Failed } else { CommandExit::Done };
            }
        }
        CommandExit::Done
    }
}

/// An order to end something; `cancel` and `end` carry it out in the same way.
pub(super) struct EndOrder {
    pub(super) place: Place,
    pub(super) what: EndTarget,
}

impl EndOrder {
    /// Lets the running organism, or one started here, carry it out.
    pub(super) fn carry_out(&self) -> CommandExit {
        let screen = self.place.screen();
        self.try_run(screen).unwrap_or_else(|exit| exit)
    }

    fn try_run(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        if let Some(elsewhere) = OrganismElsewhere::find_named(&self.place)? {
            let what = self.what.resolve(|typed| elsewhere.find_thread(typed))?;
            return Ok(match elsewhere.check_decision(what.end_through(&elsewhere.client))? {
                Ok(ended) => what.report_end(screen, ended),
                Err(refusal) => report_not_done(screen, &refusal),
            });
        }
        let log = self.place.log(screen)?;
        let what = self.what.resolve(|typed| thread_name::find(screen, &log, typed))?;
        if let Some(run) = RunFile::find_running(&log) {
            self.place.set_nothing(screen, &run)?;
            match what.end_through(&DoorClient::from_run_file(&run)) {
                Ok(Ok(ended)) => return Ok(what.report_end(screen, ended)),
                Ok(Err(refusal)) => return Ok(report_not_done(screen, &refusal)),
                // The organism in the run file is stopping or gone. If it still has the log, starting
                // reports that.
                Err(DoorClientFault::Unreachable { .. }) => {}
                Err(fault) => return Err(report_silence(screen, &fault)),
            }
        }
        let work = async { Box::pin(self.in_process(screen, what)).await.unwrap_or_else(|exit| exit) };
        Ok(here::with_runtime(screen, work))
    }

    async fn in_process(
        &self,
        screen: Screen,
        what: EndTarget<ThreadId>,
    ) -> Result<CommandExit, CommandExit> {
        let file = self.place.organism(screen)?;
        let organism = Box::pin(here::start_without_deliveries(screen, &self.place, file)).await?;
        let (front, by) = (organism.handle(), Name::new_operator());
        let one = |reply| match reply {
            SenderReply::Refused(refusal) => Err(refusal),
            SenderReply::Done | SenderReply::Receipt(..) => Ok(1),
        };
        let ended = match &what {
            EndTarget::Thread { named, is_gentle: true } => {
                front.end_thread(by, named.clone()).await.map(one)
            }
            EndTarget::Thread { named, is_gentle: false } => {
                front.cancel_thread(by, named.clone()).await.map(one)
            }
            EndTarget::CallsTo(to) => front.cancel_waiting(&by, to).await,
        };
        let exit = match ended {
            Some(Err(refusal)) => report_not_done(screen, &ApiRefusal::from(&*refusal)),
            Some(Ok(ended)) => what.report_end(screen, ended),
            None => screen.fail(CommandExit::Unavailable, "the organism ended before it answered"),
        };
        let ended = organism.stop(std::time::Duration::ZERO).await;
        Ok(here::report_end(screen, &ended).unwrap_or(exit))
    }
}

fn report_not_done(screen: Screen, refusal: &ApiRefusal) -> CommandExit {
    if screen.json {
        screen.show_value(refusal);
    } else {
        refused::say(screen, refusal);
    }
    CommandExit::Payload
}
