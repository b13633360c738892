//! `systole retry`: lets threads that failed go on in their place. It shows first what goes out again and what that costs,
//! and carries it out once a person agrees.

mod anew;
mod preview;

use std::cell::RefCell;
use std::collections::BTreeMap;

use clap::Args;

use anew::AnewTerms;
pub(super) use preview::is_agreed;
use preview::{AwaitedCall, Preview, PreviewSource, wait_for_ends};

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out_all, read_reply};
use super::place::Place;
use super::ps::{self, TypedBounds};
use super::refusal_text;
use super::remote_organism::OrganismElsewhere;
use super::screen::Screen;
use super::thread_name;
use crate::limits;
use systole_api::retry_types::{RetryShown, ThreadRetried, sum_up_retries};
use systole_client::client::{DoorClient, DoorResult};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_organism::front::OrganismHandle;
use systole_organism::order::RetryRequest;
use systole_show::columns::counted;

/// Lets threads that failed go on in their place.
///
/// The turn that failed goes out again, and earlier ones are not paid again. A run of a workflow starts again what
/// failed, and what was cancelled beside it. Shows first what that is, and asks.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole retry 1f0c
  systole retry 1f0c 88e2 --yes --note "the key is renewed"
  systole retry --failed --since 3d --code model.refused
  systole retry @last --yes --wait
  systole retry 1f0c --anew limit=5"#)]
pub(super) struct RetryCommand {
    #[command(flatten)]
    place: Place,
    /// The threads: ids, the beginnings of ids, @last or @NAME
    #[arg(value_name = "THREAD", required_unless_present = "failed", conflicts_with_all = FILTERS)]
    threads: Vec<String>,
    /// All threads that failed, as far as the filter fits them
    #[arg(long)]
    failed: bool,
    #[command(flatten)]
    bounds: TypedBounds,
    /// Do it without asking
    #[arg(long)]
    yes: bool,
    /// Wait for the outcome of each thread
    #[arg(long)]
    wait: bool,
    /// The reason; it is recorded
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Go on although effects outside may happen twice; it is recorded
    #[arg(long)]
    again_with_effects: bool,
    /// Send the request again as a new thread, with these values instead
    #[arg(long, value_name = "NAME=VALUE", num_args = 0.., conflicts_with_all = WITHOUT_ANEW)]
    anew: Option<Vec<String>>,
}

/// The options that do not go with a request that is sent anew.
const WITHOUT_ANEW: [&str; 9] =
    ["failed", "since", "until", "listener", "client", "name", "code", "q", "note"];

/// The options that do not go with named threads.
const FILTERS: [&str; 8] = ["failed", "since", "until", "listener", "client", "name", "code", "q"];

impl RetryCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        if let Some(values) = &self.anew {
            let RetryCommand { place, threads, yes, wait, again_with_effects, .. } = &self;
            let terms = AnewTerms { is_agreed: *yes, waits: *wait, allows_effects: *again_with_effects };
            return anew::send_anew(place, threads, values, &terms);
        }
        let screen = self.place.screen();
        let previews = self.read_previews(screen)?;
        if previews.is_empty() {
            let words = "no thread that failed fits the filter";
            let fix = "systole ps --failed, which lists those that failed";
            return Err(screen.fail_with(CommandExit::Failed, words, fix));
        }
        let is_refused = previews.iter().any(|(_, preview)| preview.is_err());
        let refused = if is_refused { CommandExit::Payload } else { CommandExit::Done };
        self.show_previews(screen, &previews);
        let given = RefCell::default();
        let fits = previews.into_iter().filter_map(|(_, preview)| preview.ok());
        let (note, allows_effects) = (self.note.as_deref(), self.again_with_effects);
        let orders: Vec<ThreadRetry<'_>> =
            fits.map(|shown| ThreadRetry { shown, note, allows_effects, given: &given }).collect();
        let goes_on = match orders.len() {
            1 => "1 thread goes on".to_owned(),
            count => format!("{count} threads go on"),
        };
        if orders.is_empty() || !is_agreed(screen, self.yes, &goes_on) {
            return Ok(refused);
        }
        let exit = carry_out_all(&self.place, orders)?;
        let waited =
            self.wait.then(|| wait_for_ends(&self.place, screen, &given.into_inner())).transpose()?;
        let mut exits = [exit, refused].into_iter().chain(waited);
        Ok(exits.find(|exit| *exit != CommandExit::Done).unwrap_or(exit))
    }

    /// What a retry of each thread would do.
    fn read_previews(&self, screen: Screen) -> Result<Vec<(ThreadId, Preview)>, CommandExit> {
        let failed = if self.failed { Some(ps::find_failed(&self.place, &self.bounds)?) } else { None };
        if let Some(elsewhere) = OrganismElsewhere::find_named(&self.place)? {
            let named = self.threads.iter().map(|typed| elsewhere.find_thread(typed));
            let threads = failed.map_or_else(|| named.collect::<Result<_, _>>(), Ok)?;
            let read = |thread: ThreadId| {
                let preview = elsewhere.check_decision(elsewhere.client.preview_retry(thread.as_str()))?;
                Ok((thread, preview))
            };
            return threads.into_iter().map(read).collect();
        }
        let log = self.place.log(screen)?;
        let named = self.threads.iter().map(|typed| thread_name::find(screen, &log, typed));
        let threads: Vec<ThreadId> = failed.map_or_else(|| named.collect::<Result<_, _>>(), Ok)?;
        let source = PreviewSource::open(&self.place, screen, &log)?;
        threads.into_iter().map(|id| Ok((id.clone(), source.read(screen, &id)?))).collect()
    }

    /// Shows what the retries do. Of many threads only the sum is shown, and why some are left as they are.
    fn show_previews(&self, screen: Screen, previews: &[(ThreadId, Preview)]) {
        if screen.json {
            for (_, preview) in previews {
                match preview {
                    Ok(_) if self.yes => {}
                    Ok(shown) => screen.show_value(shown),
                    Err(refusal) => screen.show_value(refusal),
                }
            }
            return;
        }
        let (is_one, is_short) = (previews.len() == 1, previews.len() <= limits::RETRIES_SHOWN);
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for (thread, preview) in previews {
            match preview {
                Ok(shown) if is_short => shown.describe_preview().iter().for_each(|line| screen.say(line)),
                Ok(_) => {}
                Err(refusal) if is_short => {
                    if !is_one {
                        screen.say(format!("{thread} is left as it is"));
                    }
                    refusal_text::say(screen, refusal);
                }
                Err(refusal) => *left.entry(&refusal.code).or_default() += 1,
            }
        }
        let fits: Vec<&RetryShown> =
            previews.iter().filter_map(|(_, preview)| preview.as_ref().ok()).collect();
        if !is_one && !fits.is_empty() {
            screen.say(sum_up_retries(&fits));
        }
        for (code, number) in left {
            screen.say(format!("{} left as they are: {code}", counted(number as u64, "thread")));
        }
    }
}

/// The order about one thread, as it was shown.
struct ThreadRetry<'a> {
    shown: RetryShown,
    note: Option<&'a str>,
    allows_effects: bool,
    /// The threads that go on.
    given: &'a RefCell<Vec<AwaitedCall>>,
}

impl LiveOrder for ThreadRetry<'_> {
    type Done = ThreadRetried;

    fn thread(&self) -> Option<&str> {
        Some(&self.shown.thread)
    }

    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<ThreadRetried> {
        let id = thread.map_or("", ThreadId::as_str);
        client.retry_thread(id, Some(&self.shown.seen), self.note, self.allows_effects)
    }

    async fn give_here(
        &self,
        front: &OrganismHandle,
        thread: Option<ThreadId>,
    ) -> DecidedHere<ThreadRetried> {
        let thread = thread?;
        let retried = ThreadRetried { retried: thread.to_string() };
        let reply = front.retry_thread(RetryRequest {
            by: Name::new_operator(),
            thread,
            seen: Digest::parse(&self.shown.seen).ok(),
            note: self.note.map(str::to_owned),
            allows_effects: self.allows_effects,
        });
        Some(read_reply(reply.await?, retried))
    }

    fn report_done(&self, screen: Screen, done: &ThreadRetried, runs: bool) -> CommandExit {
        self.given.borrow_mut().push(AwaitedCall::from(&self.shown));
        match (screen.json, runs) {
            (true, _) => screen.show_value(done),
            (false, true) => screen.say(format!("{} goes on", done.retried)),
            (false, false) => screen.say(format!("{} goes on as soon as the organism runs", done.retried)),
        }
        CommandExit::Done
    }
}
