//! `systole schedules pause`, `resume` and `fire`: orders about a schedule. The list is a question.

use clap::{Args, Subcommand};

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out, read_reply};
use super::place::Place;
use super::screen::Screen;
use systole_api::schedule_types::ScheduleChanged;
use systole_client::client::{DoorClient, DoorResult};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::schedule::ScheduleChange;
use systole_organism::front::OrganismHandle;

/// An order about a schedule.
#[derive(Subcommand, Debug)]
pub(super) enum ScheduleCommand {
    /// Fire no tick of a schedule until it is resumed
    #[command(after_help = "Examples:\n  systole schedules pause digest")]
    Pause(OneSchedule),
    /// Let a paused schedule go on with its next tick
    #[command(after_help = "Examples:\n  systole schedules resume digest")]
    Resume(OneSchedule),
    /// Send what a schedule sends now, also if it is paused
    #[command(after_help = "Examples:\n  systole schedules fire digest")]
    Fire(OneSchedule),
}

#[derive(Args, Debug)]
pub(super) struct OneSchedule {
    #[command(flatten)]
    place: Place,
    /// The schedule
    name: String,
}

impl ScheduleCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let (OneSchedule { place, name }, change) = match self {
            ScheduleCommand::Pause(one) => (one, ScheduleChange::Pause),
            ScheduleCommand::Resume(one) => (one, ScheduleChange::Resume),
            ScheduleCommand::Fire(one) => (one, ScheduleChange::Fire(None)),
        };
        let name = Name::parse(name).map_err(|fault| place.screen().refuse(fault, "systole schedules"))?;
        carry_out(place, (name, change))
    }
}

impl LiveOrder for (Name, ScheduleChange) {
    type Done = ScheduleChanged;

    fn give_through(&self, client: &DoorClient, _: Option<&ThreadId>) -> DoorResult<ScheduleChanged> {
        client.order_schedule(self.0.as_str(), self.1.as_str())
    }

    async fn give_here(&self, front: &OrganismHandle, _: Option<ThreadId>) -> DecidedHere<ScheduleChanged> {
        let reply = front.order_schedule(Name::new_operator(), self.0.clone(), self.1.clone()).await?;
        let done = ScheduleChanged::from_reply(&self.0, &self.1, &reply);
        Some(read_reply(reply, done))
    }

    fn report_done(&self, screen: Screen, done: &ScheduleChanged, _: bool) -> CommandExit {
        match screen.json {
            true => screen.show_value(done),
            false => screen.say(done),
        }
        CommandExit::Done
    }
}
