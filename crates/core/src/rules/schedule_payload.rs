//! What the log says about schedules: where one began, which ticks fired, and which did not, and why.

use std::fmt;

use super::element::{PayloadBytes, read_attributes, write_element};
use crate::types::ids::{Name, ThreadId};
use crate::types::time::Millis;

/// Why a tick opened no root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkipReason {
    /// The last root of the schedule was still at work.
    Overlap,
    /// No pump was there at its time.
    Missed,
    /// The schedule was paused.
    Paused,
    /// It had fired before: the clock was set back.
    Fired,
}

impl SkipReason {
    const ALL: [SkipReason; 4] =
        [SkipReason::Overlap, SkipReason::Missed, SkipReason::Paused, SkipReason::Fired];

    /// Its word in a record.
    pub const fn as_str(self) -> &'static str {
        match self {
            SkipReason::Overlap => "overlap",
            SkipReason::Missed => "missed",
            SkipReason::Paused => "paused",
            SkipReason::Fired => "fired",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What happened to a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScheduleEvent {
    /// Its ticks count from this moment on.
    Began {
        /// When it ticks, as the file says it.
        rule: String,
        /// The moment.
        at: Millis,
    },
    /// The file no longer has it.
    Ended,
    /// A tick opened this root. If a person ordered it, it is no tick, but a moment of its own.
    Fired {
        /// The tick.
        tick: Millis,
        /// The root.
        thread: ThreadId,
        /// The person who ordered it.
        by: Option<Name>,
    },
    /// All ticks of a range opened no root.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// The first of them.
        from: Millis,
        /// The last of them.
        to: Millis,
    },
    /// A person paused it.
    Paused(Name),
    /// A person resumed it.
    Resumed(Name),
}

/// News of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleNews {
    /// Its name.
    pub schedule: Name,
    /// What happened.
    pub event: ScheduleEvent,
}

/// The record of the news.
pub fn write_news(news: &ScheduleNews) -> PayloadBytes {
    let element = match &news.event {
        ScheduleEvent::Began { .. } => "schedule-began",
        ScheduleEvent::Ended => "schedule-ended",
        ScheduleEvent::Fired { .. } => "schedule-fired",
        ScheduleEvent::Skipped { .. } => "schedule-skipped",
        ScheduleEvent::Paused(_) => "schedule-paused",
        ScheduleEvent::Resumed(_) => "schedule-resumed",
    };
    write_element(element, |tag| {
        let tag = tag.attr("name", news.schedule.as_str());
        match &news.event {
            ScheduleEvent::Began { rule, at } => tag.attr("rule", rule).attr("at", &at.to_string()),
            ScheduleEvent::Ended => tag,
            ScheduleEvent::Fired { tick, thread, by } => tag
                .attr("tick", &tick.to_string())
                .attr("thread", thread.as_str())
                .attr_if("by", by.as_ref().map(Name::as_str)),
            ScheduleEvent::Skipped { reason, from, to } => tag
                .attr("reason", reason.as_str())
                .attr("from", &from.to_string())
                .attr("to", &to.to_string()),
            ScheduleEvent::Paused(by) | ScheduleEvent::Resumed(by) => tag.attr("by", by.as_str()),
        }
        .empty();
    })
}

/// The news that a record is; `None` if it is none.
pub fn read_news(body: &[u8]) -> Option<ScheduleNews> {
    // Most records of the log's own thread are none of these, and are not parsed.
    let word = body.strip_prefix(b"<schedule-")?.split(u8::is_ascii_whitespace).next()?;
    let moment = |text: Option<String>| Millis::parse(&text?);
    let name = |text: Option<String>| Name::parse(&text?).ok();
    let (schedule, event) = match word {
        b"began" => {
            let [own, rule, at] = read_attributes(body, "schedule-began", ["name", "rule", "at"])?;
            (own, ScheduleEvent::Began { rule: rule?, at: moment(at)? })
        }
        b"ended" => {
            let [own] = read_attributes(body, "schedule-ended", ["name"])?;
            (own, ScheduleEvent::Ended)
        }
        b"fired" => {
            let wanted = ["name", "tick", "thread", "by"];
            let [own, tick, thread, by] = read_attributes(body, "schedule-fired", wanted)?;
            let by = by.map(|by| Name::parse(&by)).transpose().ok()?;
            let event =
                ScheduleEvent::Fired { tick: moment(tick)?, thread: ThreadId::parse(&thread?).ok()?, by };
            (own, event)
        }
        b"skipped" => {
            let wanted = ["name", "reason", "from", "to"];
            let [own, reason, from, to] = read_attributes(body, "schedule-skipped", wanted)?;
            let reason = SkipReason::ALL.into_iter().find(|one| reason.as_deref() == Some(one.as_str()))?;
            (own, ScheduleEvent::Skipped { reason, from: moment(from)?, to: moment(to)? })
        }
        b"paused" => {
            let [own, by] = read_attributes(body, "schedule-paused", ["name", "by"])?;
            (own, ScheduleEvent::Paused(name(by)?))
        }
        b"resumed" => {
            let [own, by] = read_attributes(body, "schedule-resumed", ["name", "by"])?;
            (own, ScheduleEvent::Resumed(name(by)?))
        }
        _ => return None,
    };
    Some(ScheduleNews { schedule: name(schedule)?, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d13_each_record_about_a_schedule_is_read_as_it_was_written() {
        let (tick, operator) = (Millis(1_795_075_200_000), Name::new_operator());
        let thread = ThreadId::parse("sess-1f0c9a2b77d1").unwrap();
        let skipped = |reason| ScheduleEvent::Skipped { reason, from: tick, to: tick.add_ms(7) };
        let fired = |by| ScheduleEvent::Fired { tick, thread: thread.clone(), by };
        let others = [
            ScheduleEvent::Began { rule: "0 7 * * 1-5 Europe/Vienna".into(), at: tick },
            ScheduleEvent::Ended,
            fired(None),
            fired(Some(operator.clone())),
            ScheduleEvent::Paused(operator.clone()),
            ScheduleEvent::Resumed(operator),
        ];
        for event in others.into_iter().chain(SkipReason::ALL.map(skipped)) {
            let news = ScheduleNews { schedule: Name::parse("digest").unwrap(), event };
            assert_eq!(read_news(&write_news(&news)), Some(news));
        }
        for other in ["<schedule/>", "<boot/>", "<schedule-ended xmlns='urn:t' name='a'/>"] {
            assert_eq!(read_news(other.as_bytes()), None, "{other}");
        }
    }
}
