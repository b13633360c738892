//! `systole follow`: the followers of the log, and where one goes on.

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::local_organism;
use super::looking::Looking;
use super::moments::parse_moment;
use super::place::Place;
use systole_api::types::ListedFollowers;
use systole_bus::{Broker, PATIENCE};
use systole_client::client::DoorClient;
use systole_config::OrganismFile;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::time::Millis;
use systole_follow::{CursorPlace, FollowerStatus, SentForm, find_mark};
use systole_kit::schema::find_nearest;
use systole_organism::plan::{BusAccess, StartFault};
use systole_organism::planning;
use systole_organism::runfile::RunFile;
use systole_show::columns::plain;
use systole_show::layout;

/// Lists who gets the events of the log, or says where one goes on.
///
/// A follower that is stopped, or whose receiver lost events, goes on where a person says. A running
/// organism notices that within a second.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole follow
  systole follow siem --from now
  systole follow siem --since 2d")]
pub(super) struct FollowCommand {
    #[command(flatten)]
    place: Place,
    /// A follower of the organism's file; without it, all
    name: Option<String>,
    /// Go on with the record at this position, or with what comes now
    #[arg(long, value_name = "POSITION|now", requires = "name", conflicts_with = "since")]
    from: Option<String>,
    /// Send what happened since then once more
    #[arg(long, value_name = "TIME", requires = "name")]
    since: Option<String>,
}

impl FollowCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let mut file = self.place.organism(self.place.screen())?;
        if let Some(name) = &self.name {
            let known: Vec<String> = file.followers.iter().map(|one| one.name.to_string()).collect();
            file.followers.retain(|one| one.name.as_str() == name);
            if file.followers.is_empty() {
                return Err(self.refuse_unknown(name, &known));
            }
        }
        let looking = Looking::open(&self.place)?;
        local_organism::with_runtime(looking.screen, async {
            if let ([one], Some(_)) = (&file.followers[..], self.from.as_ref().or(self.since.as_ref())) {
                if let SentForm::Metrics = one.sends {
                    let words = format!("{} sends sums and has no cursor", one.name);
                    let fix = "nothing: what its receiver missed is in the next ones";
                    return Err(looking.screen.refuse(words, fix));
                }
                let cursors = open_cursors(&looking, &file).await?;
                let position = self.find_target(&looking, (&one.name, &cursors)).await?;
                return move_follower(&looking, (&one.name, &cursors), position).await;
            }
            show_followers(&looking, &file).await
        })
    }

    fn refuse_unknown(&self, name: &str, known: &[String]) -> CommandExit {
        let fix = match find_nearest(name, known.iter().map(String::as_str)) {
            Some(nearest) => format!("systole follow {nearest}"),
            None if known.is_empty() => "a section `follow` in the organism's file".to_owned(),
            None => format!("one of {}", known.join(", ")),
        };
        self.place.screen().refuse(format!("there is no follower `{}`", plain(name)), fix)
    }

    /// The position after which the follower is to go on.
    async fn find_target(
        &self,
        looking: &Looking,
        one: (&Name, &CursorPlace),
    ) -> Result<Position, CommandExit> {
        let (reader, screen) = (&*looking.reader, looking.screen);
        if let Some(since) = &self.since {
            let since = parse_moment(screen, "--since", since, looking.now)?;
            let found = one.1.find_resend_position(one.0, reader, since).await;
            let found =
                found.map_err(|fault| screen.fail_with(CommandExit::Unavailable, &fault, &fault.fix))?;
            return found.map_err(|fault| looking.fault(&fault));
        }
        let last = reader.read_last().map_err(|fault| looking.fault(&fault))?;
        let from = self.from.as_deref().unwrap_or_default();
        let position = match from {
            "now" => Some(last.0),
            from => from.parse::<u64>().ok().and_then(|from| from.checked_sub(1)),
        };
        position.filter(|position| *position <= last.0).map(Position).ok_or_else(|| {
            let words = format!("--from `{}`: the log has the positions 1 to {}", plain(from), last.0);
            screen.refuse(words, "--from with one of them, or --from now")
        })
    }
}

/// Where the cursors are: those of a log in NATS are at its broker.
async fn open_cursors(looking: &Looking, file: &OrganismFile) -> Result<CursorPlace, CommandExit> {
    let screen = looking.screen;
    let bus = planning::open_bus(file, true);
    let bus = bus.map_err(|missing| local_organism::report_missing_part(screen, &missing))?;
    let (Some(kept), Some(bus)) = (&file.log_kept, bus) else {
        return Ok(CursorPlace::Beside(looking.log.as_path().into()));
    };
    let (organism, BusAccess { url, credentials }) = (&file.composition.organism, bus);
    let reached =
        Broker::connect_to_cluster(organism, &url, credentials.as_ref(), kept.replicas, PATIENCE).await;
    let fail = |fault| local_organism::start_fault(screen, &StartFault::Broker(fault));
    Ok(CursorPlace::Broker(reached.map_err(fail)?.into()))
}

/// Moves the cursor of a follower.
async fn move_follower(
    looking: &Looking,
    (name, cursors): (&Name, &CursorPlace),
    position: Position,
) -> Result<CommandExit, CommandExit> {
    let screen = looking.screen;
    let mark = find_mark(&*looking.reader, position).map_err(|fault| looking.fault(&fault))?;
    let Some(mark) = mark else {
        let words = format!("the log has lost the record at position {}", position.0);
        return Err(screen.refuse(words, "another position"));
    };
    let moved = cursors.move_cursor(name, mark).await;
    moved.map_err(|fault| screen.fail_with(CommandExit::Unavailable, &fault, &fault.fix))?;
    if screen.json {
        screen.show_value(&json!({"follower": name.as_str(), "position": position.0}));
    } else {
        screen.say(format!("{name} goes on after position {}", position.0));
        looking.say_if_still(true);
    }
    Ok(CommandExit::Done)
}

/// Shows how they fare: as the organism that runs says, or by their cursors.
async fn show_followers(looking: &Looking, file: &OrganismFile) -> Result<CommandExit, CommandExit> {
    let (screen, followers) = (looking.screen, &file.followers);
    let running = RunFile::find_running(&looking.log);
    let told = match running.map(|run| DoorClient::from_run_file(&run).list_followers()).transpose() {
        Ok(Some(Err(refusal))) => return Err(screen.fail(CommandExit::Failed, refusal.message)),
        Ok(told) => told.and_then(Result::ok),
        Err(fault) => {
            screen.say(format!("note: {fault}"));
            None
        }
    };
    let mut listed = match told {
        Some(listed) => listed,
        None => {
            let last = looking.reader.read_last().map_err(|fault| looking.fault(&fault))?;
            let cursors = open_cursors(looking, file).await?;
            ListedFollowers { followers: cursors.read_statuses(followers, last).await }
        }
    };
    listed.followers.retain(|one| followers.iter().any(|known| known.name.as_str() == one.name));
    if screen.json {
        screen.show_value(&listed);
        return Ok(CommandExit::Done);
    }
    if listed.followers.is_empty() {
        screen.say("no follower: the organism's file has no section `follow`");
    }
    listed.followers.iter().for_each(|one| show_follower(looking, one));
    Ok(CommandExit::Done)
}

fn show_follower(looking: &Looking, one: &FollowerStatus) {
    let screen = looking.screen;
    let place = match (one.position, one.behind) {
        (Some(position), Some(0)) => format!("at {position}, the end of the log"),
        (Some(position), Some(behind)) => format!("at {position}, {behind} behind"),
        _ if one.on == SentForm::Metrics.list_words() => "sums, each minute".to_owned(),
        _ => "no cursor yet".to_owned(),
    };
    screen.show(&format!(
        "{}  {}  {place}  {} to {}",
        one.name,
        one.state.as_str(),
        one.on.join(", "),
        one.to
    ));
    if let Some(error) = &one.error {
        let since = one.since.as_deref().and_then(Millis::parse);
        let since = since.map(|since| format!(" (since {})", layout::moment(since, looking.now)));
        screen.show(&format!("  {error}{}", since.unwrap_or_default()));
    }
    if let Some((_, fix)) = one.describe_trouble() {
        screen.say(format!("  try: {fix}"));
    }
}
