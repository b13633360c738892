//! Shared by `replay` and `diff`: prints how two runs differ, the first difference with both texts.

use serde_json::{Value, json};

use super::screen::Screen;
use crate::limits;
use systole_kit::writer::make_visible;
use systole_organism::replaying::comparison::{DifferentSide, RecordDifference};
use systole_queries::xml_diff::{DiffLine, difference};
use systole_show::layout::{TextTone, paint};

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparedSides {
    /// A thread and its replay.
    Replay,
    /// Two threads.
    Threads,
}

impl ComparedSides {
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            ComparedSides::Replay => ("recorded", "replayed"),
            ComparedSides::Threads => ("first", "second"),
        }
    }
}

/// A difference in one line.
pub(super) fn describe_difference(found: &RecordDifference) -> String {
    let at = |side: &DifferentSide| format!("{}@{}", side.thread, side.seq);
    let place = &found.place;
    match (&found.one, &found.other) {
        (Some(one), Some(_)) => format!("{}: {place}: {}", at(one), found.part),
        (Some(one), None) => format!("{}: {place}: is missing", at(one)),
        (None, Some(_)) => format!("{place}: is new"),
        (None, None) => place.to_string(),
    }
}

/// Prints the first difference with both texts, and the others in a line each.
pub(super) fn print_differences(screen: Screen, all: &[RecordDifference], sides: ComparedSides) {
    list_lines(all, sides).iter().for_each(|line| screen.show_drawn(line));
}

/// The first difference with both texts, and the others in a line each.
pub(super) fn list_lines(all: &[RecordDifference], sides: ComparedSides) -> Vec<String> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let (one, other) = sides.names();
    let told = |found: &RecordDifference| make_visible(&describe_difference(found)).into_owned();
    let mut lines = vec![format!("first difference: {}", told(first)), format!("  - {one}   + {other}")];
    let text = |side: &Option<DifferentSide>| side.as_ref().map(|side| side.text.clone()).unwrap_or_default();
    lines.extend(paint_lines(&difference(&text(&first.one), &text(&first.other))));
    if !others.is_empty() {
        lines.push("after it:".to_owned());
    }
    lines.extend(others.iter().take(limits::LISTED).map(|found| format!("  {}", told(found))));
    if others.len() > limits::LISTED {
        lines.push(format!("  and {} others", others.len() - limits::LISTED));
    }
    lines
}

/// The lines of a difference between two texts, with their colours.
pub(super) fn paint_lines(lines: &[DiffLine]) -> impl Iterator<Item = String> {
    lines.iter().map(|line| {
        let words = make_visible(&line.text()).into_owned();
        match line {
            DiffLine::First(_) => format!("  {}", paint(TextTone::Bad, &words)),
            DiffLine::Second(_) => format!("  {}", paint(TextTone::Good, &words)),
            DiffLine::Both(_) | DiffLine::LeftOut(_) => format!("  {words}"),
        }
    })
}

/// The differences for programs.
pub(super) fn as_json(all: &[RecordDifference], sides: ComparedSides) -> Value {
    let (one, other) = sides.names();
    let side = |side: &Option<DifferentSide>| {
        side.as_ref().map(|side| json!({"thread": side.thread.as_str(), "seq": side.seq, "text": side.text}))
    };
    let found = all.iter().map(|found| {
        json!({
            "place": found.place.to_string(), "part": found.part,
            one: side(&found.one), other: side(&found.other),
            "refused": found.refused.map(|code| code.as_str()),
        })
    });
    found.collect()
}
