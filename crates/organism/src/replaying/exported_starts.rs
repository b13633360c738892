//! The starts and pauses of an organism, for an export and from one.

use super::tree_records::{SystemEvent, SystemEvents};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::Position;
use systole_core::types::time::Millis;
use systole_export::starts::ExportedStart;

impl SystemEvents {
    /// What an export of records between two positions needs: the events between them, and the last start and the last
    /// pause before.
    pub fn list_exported(&self, first: Position, last: Position) -> Vec<ExportedStart> {
        let is_pause = |event: &SystemEvent| matches!(event, SystemEvent::Paused { .. });
        let before = |pause: bool| {
            let at = self.events.iter().rposition(|(at, _, event)| *at < first && is_pause(event) == pause);
            at.unwrap_or(usize::MAX)
        };
        let (start, pause) = (before(false), before(true));
        let events = self.events.iter().enumerate();
        let needed = events
            .filter(|(number, (at, ..))| *number == start || *number == pause || (first < *at && *at < last));
        needed.map(|(_, event)| write_start(event)).collect()
    }

    /// The events that an export has. The error says what is wrong.
    pub fn from_export(starts: Vec<ExportedStart>) -> Result<SystemEvents, String> {
        let mut events = Vec::new();
        for start in starts {
            events.push(read_start(start).ok_or("a line of starts.jsonl has another form")?);
        }
        if events.is_sorted_by_key(|(position, ..)| *position) {
            Ok(SystemEvents { events })
        } else {
            Err("the lines of starts.jsonl are not in order".to_owned())
        }
    }
}

fn write_start((position, time, event): &(Position, Millis, SystemEvent)) -> ExportedStart {
    let (position, time) = (position.0, time.to_string());
    match event {
        SystemEvent::Started { config, version, was_drained } => ExportedStart::Start {
            position,
            time,
            config: config.to_string(),
            version: version.clone(),
            drained: *was_drained,
        },
        SystemEvent::Paused { by, halts, note } => {
            ExportedStart::Pause { position, time, by: by.to_string(), halts: *halts, note: note.clone() }
        }
    }
}

fn read_start(start: ExportedStart) -> Option<(Position, Millis, SystemEvent)> {
    Some(match start {
        ExportedStart::Start { position, time, config, version, drained } => {
            let config = Digest::parse(&config).ok()?;
            let event = SystemEvent::Started { config, version, was_drained: drained };
            (Position(position), Millis::parse(&time)?, event)
        }
        ExportedStart::Pause { position, time, by, halts, note } => {
            let event = SystemEvent::Paused { by: Name::parse(&by).ok()?, halts, note };
            (Position(position), Millis::parse(&time)?, event)
        }
    })
}
