//! A picture as lines for a terminal, one row a step, and as words for pages.
//!
//! Rows come in; lines that fit the layout go out. Text of payloads is already plain.

use super::rows::{RunPicture, StepRow, StepState};
use crate::costs::CostRow;
use systole_core::types::time::{Millis, spell_duration};
use systole_show::clocks;
use systole_show::columns::{counted, cut, plain, width};
use systole_show::layout::{TextTone, paint};

/// The lines of a picture, each within those columns: the run, then a line for each step.
pub fn draw(run: &RunPicture, now: Millis, columns: usize) -> Vec<String> {
    let mut named = Vec::new();
    collect(&run.steps, 1, &mut named);
    let room = named.iter().map(|one| width(&one.indent) + width(&one.id)).max().unwrap_or(0);
    let ran = spell_duration(run.ended.unwrap_or(now).count_since(run.started));
    let state = run.state.as_str().replace('-', " ");
    let mut title = vec![run.thread.to_string(), paint(TextTone::Name, run.name.as_str()), state, ran];
    title.extend(used_words(&run.used));
    let mut lines = vec![cut(&title.join("  "), columns)];
    for NamedRow { row, indent, id } in named {
        let fill = " ".repeat(room.saturating_sub(width(&indent) + width(&id)));
        let mut words = row_words(row, now);
        if let Some(output) = &row.output {
            words.push(output_words(row, output));
        }
        let line = format!("{indent}{} {id}{fill}  {}", row.state.mark(), words.join("  "));
        let line = cut(line.trim_end(), columns);
        let tone = match row.state {
            StepState::Failed => Some(TextTone::Bad),
            StepState::WaitsForPerson | StepState::Paused => Some(TextTone::Held),
            _ => None,
        };
        lines.push(tone.map_or(line.clone(), |tone| paint(tone, &line)));
    }
    lines
}

/// A row with its name, cut to the room that names have.
struct NamedRow<'r> {
    row: &'r StepRow,
    indent: String,
    id: String,
}

fn collect<'r>(rows: &'r [StepRow], depth: usize, named: &mut Vec<NamedRow<'r>>) {
    for row in rows {
        let indent = "  ".repeat(depth.min(8));
        let id = cut(&plain(&row.id), crate::limits::CHILD_COLUMNS.saturating_sub(indent.len()));
        named.push(NamedRow { row, indent, id });
        collect(&row.steps, depth + 1, named);
    }
}

fn output_words(row: &StepRow, output: &str) -> String {
    match row.state {
        StepState::Failed => output.to_owned(),
        _ => format!("\"{output}\""),
    }
}

/// What is said of a step behind its name, without its output.
pub fn row_words(row: &StepRow, now: Millis) -> Vec<String> {
    let mut words = Vec::new();
    let took = row.started.map(|started| match row.ended {
        Some(ended) => spell_duration(ended.count_since(started)),
        None => clocks::spell_since(started, now),
    });
    let waits = |what: &str| match &took {
        Some(took) => format!("waits for {what} ({took})"),
        None => format!("waits for {what}"),
    };
    if !row.who.is_empty() {
        words.push(row.who.iter().map(|who| plain(who)).collect::<Vec<_>>().join(", "));
    }
    if let Some((pass, most)) = row.pass.zip(row.at_most()) {
        words.push(format!("pass {pass} of at most {most}"));
    }
    if let Some(count) = row.count {
        let of = count.of.map_or_else(|| " done".to_owned(), |of| format!(" of {of}"));
        let mut text = format!("{}{of}", count.done);
        if count.failed > 0 {
            text.push_str(&format!(", {} failed", count.failed));
        }
        if count.running > 0 {
            text.push_str(&format!(", {} running", count.running));
        }
        words.push(text);
    }
    let is_leaf = row.steps.is_empty();
    match row.state {
        StepState::WaitsForPerson if is_leaf => words.push(waits("a person")),
        StepState::WaitsForTimer if is_leaf => words.push(waits("a timer")),
        StepState::Paused if is_leaf => words.push("paused".to_owned()),
        StepState::Running if is_leaf && row.count.is_none() => words.push("running".to_owned()),
        StepState::Failed => words.push("failed".to_owned()),
        StepState::Stopped => words.push("stopped".to_owned()),
        StepState::Skipped => words.push("skipped".to_owned()),
        _ => {}
    }
    if row.tries > 1 && row.count.is_none() {
        words.push(format!("try {}", row.tries));
    }
    let is_said = is_leaf && matches!(row.state, StepState::WaitsForPerson | StepState::WaitsForTimer);
    words.extend(took.filter(|_| !is_said));
    words.extend(used_words(&row.used));
    words
}

/// Tokens and money.
fn used_words(used: &CostRow) -> Vec<String> {
    let tokens = Some(used.tokens()).filter(|_| used.tokens_in + used.tokens_out > 0);
    let tokens = tokens.map(|_| {
        let sum = used.tokens_in + used.tokens_out;
        let more = if used.tokens().ends_with('+') { "+" } else { "" };
        with_commas(&counted(sum, "token"), more)
    });
    let money = Some(used.money_known()).filter(|money| !money.is_empty());
    tokens.into_iter().chain(money).collect()
}

/// `4442 tokens` as `4,442 tokens`.
fn with_commas(text: &str, more: &str) -> String {
    let (number, noun) = text.split_once(' ').unwrap_or((text, ""));
    let mut digits = String::new();
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && (number.len() - at).is_multiple_of(3) {
            digits.push(',');
        }
        digits.push(digit);
    }
    format!("{digits}{more} {noun}")
}
