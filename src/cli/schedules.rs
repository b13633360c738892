//! `systole schedules pause`, `resume` and `fire`: orders about a schedule. The list is a question.

use clap::{Args, Subcommand};

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out};
use super::place::Place;
use super::screen::Screen;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::schedule::ScheduleChange;
use systole_doors::client::{DoorClient, DoorResult};
use systole_doors::schedule_orders::ScheduleChanged;
use systole_organism::front::OrganismHandle;
use systole_organism::waiting::SenderReply;

/// An order about a schedule.
#[derive(Subcommand, Debug)]
pub(super) enum ScheduleCommand {
    /// Fire no tick of a schedule until it is resumed
    Pause(OneSchedule),
    /// Let a paused schedule go on with its next tick
    Resume(OneSchedule),
    /// Send what a schedule sends now, also if it is paused
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
        let name = Name::parse(name)
            .map_err(|malformed| place.screen().refuse(malformed, "systole schedules, which lists them"))?;
        carry_out(place, ScheduleOrder { name, change })
    }
}

struct ScheduleOrder {
    name: Name,
    change: ScheduleChange,
}

impl LiveOrder for ScheduleOrder {
    type Done = ScheduleChanged;

    fn give_through(&self, client: &DoorClient, _: Option<&ThreadId>) -> DoorResult<ScheduleChanged> {
        let order = match self.change {
            ScheduleChange::Pause => "pause",
            ScheduleChange::Resume => "resume",
            ScheduleChange::Fire(_) => "fire",
        };
        client.order_schedule(self.name.as_str(), order)
    }

    async fn give_here(&self, front: &OrganismHandle, _: Option<ThreadId>) -> DecidedHere<ScheduleChanged> {
        let (by, change) = (Name::new_operator(), self.change.clone());
        Some(match front.order_schedule(by, self.name.clone(), change).await? {
            SenderReply::Refused(refusal) => Err(refusal),
            reply => Ok(ScheduleChanged::from_reply(&self.name, &self.change, &reply)),
        })
    }

    fn report_done(&self, screen: Screen, done: &ScheduleChanged, _: bool) -> CommandExit {
        match &done.thread {
            _ if screen.json => screen.show_value(done),
            Some(thread) => screen.say(format!("{} is {}: thread {thread}", done.schedule, done.change)),
            None => screen.say(format!("{} is {}", done.schedule, done.change)),
        }
        CommandExit::Done
    }
}
