//! Compares two runs of a tree record by record: a thread and its replay, or two threads. The order of parallel answers
//! does not count, because records are compared by thread, call and turn.

use std::collections::BTreeMap;

use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_kit::prompt_link::{self, ParsedLink};

use super::equality::{
    PlaceIndex, RecordParts, RecordPlace, is_reworded, place_records, prompt_of, refuses_payload,
    without_marks,
};
use systole_queries::prompts::{self, PromptFault};

/// One side of a comparison.
pub struct ComparedRun<'a> {
    /// The root of the tree.
    pub root: &'a ThreadId,
    /// The records, in their order.
    pub records: Vec<(Position, &'a Record)>,
    /// The log with their documents.
    pub reader: &'a dyn LogReader,
}

/// What counts in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComparisonRules {
    /// Whether the keys of messages from outside are compared.
    pub has_keys: bool,
    /// Whether the two sides were made by different versions of the program. Then the words of refusals and of
    /// prompts may differ.
    pub is_across_versions: bool,
}

/// One side of a record that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DifferentSide {
    /// The thread.
    pub thread: ThreadId,
    /// Its number in the thread.
    pub seq: u64,
    /// The text that differs: the body, or the prompt.
    pub text: String,
}

/// A difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordDifference {
    /// Where.
    pub place: RecordPlace,
    /// What differs: `body`, `prompt`, `code` …; `record` if one side has none.
    pub part: &'static str,
    /// The first side.
    pub one: Option<DifferentSide>,
    /// The other side.
    pub other: Option<DifferentSide>,
    /// The code with which the other side refuses what the first side accepted.
    pub refused: Option<Code>,
    /// The position on the first side at which it shows.
    pub at: Position,
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunComparison {
    /// How many records were compared.
    pub records: usize,
    /// The differences, the first one first.
    pub differences: Vec<RecordDifference>,
    /// How many records only have other words, from another version of the program.
    pub reworded: usize,
    /// The prompts of both sides, by the position on the first side.
    pub prompts: BTreeMap<Position, PromptFit>,
}

/// Whether a model call has the same prompt on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PromptFit {
    /// The same hash.
    Same,
    /// The same text, with other thread ids or marks in it.
    SameText,
    /// Another text; its hash on the other side.
    Other(String),
}

/// Compares two runs. `made_at` says for each record of the other side which position of the first side was reached
/// when it was made.
///
/// # Errors
/// If a log cannot be read.
pub fn compare_runs(
    one: &ComparedRun<'_>,
    other: &ComparedRun<'_>,
    made_at: &dyn Fn(Position) -> Position,
    rules: ComparisonRules,
) -> Result<RunComparison, LogFault> {
    let sides = (RunSide::from_run(one), RunSide::from_run(other));
    let mut result = RunComparison { records: sides.0.placed.len(), ..RunComparison::default() };
    for (place, (position, record)) in &sides.0.by_place {
        let Some((_, opposite)) = sides.1.by_place.get(place) else {
            result.differences.push(RecordDifference {
                place: place.clone(),
                part: "record",
                one: Some(sides.0.show_record(record)),
                other: None,
                refused: None,
                at: *position,
            });
            continue;
        };
        let found = compare_records(&sides, (record, opposite), rules)?;
        result.reworded += usize::from(found == FoundDifference::Reworded);
        let fit = prompt_fit(record, opposite, &found);
        result.prompts.extend(fit.map(|fit| (*position, fit)));
        if let FoundDifference::Differs { part, one, other } = found {
            result.differences.push(RecordDifference {
                place: place.clone(),
                part,
                one: Some(DifferentSide { text: one, ..sides.0.show_record(record) }),
                other: Some(DifferentSide { text: other, ..sides.1.show_record(opposite) }),
                refused: refuses_payload(opposite).filter(|_| refuses_payload(record).is_none()),
                at: *position,
            });
        }
    }
    for (place, (position, record)) in &sides.1.by_place {
        if !sides.0.by_place.contains_key(place) {
            result.differences.push(RecordDifference {
                place: place.clone(),
                part: "record",
                one: None,
                other: Some(sides.1.show_record(record)),
                refused: refuses_payload(record),
                at: made_at(*position),
            });
        }
    }
    // At one position, a refusal explains more than a record that differs, and that more than one that is missing or
    // new.
    let rank = |found: &RecordDifference| (found.refused.is_none(), found.part == "record");
    result.differences.sort_by_key(|found| (found.at, rank(found), found.place.clone()));
    Ok(result)
}

/// One side, with its places.
struct RunSide<'a> {
    run: &'a ComparedRun<'a>,
    placed: Vec<(RecordPlace, &'a Record)>,
    by_place: BTreeMap<RecordPlace, (Position, &'a Record)>,
    index: PlaceIndex,
}

impl<'a> RunSide<'a> {
    fn from_run(run: &'a ComparedRun<'a>) -> RunSide<'a> {
        let placed = place_records(run.root, run.records.iter().map(|(_, record)| *record));
        let index = PlaceIndex::from_records(run.root, &placed);
        let positions: BTreeMap<_, _> =
            run.records.iter().map(|(position, record)| (record.header.id, *position)).collect();
        let by_place = placed
            .iter()
            .map(|(place, record)| {
                let position = positions.get(&record.header.id).copied().unwrap_or_default();
                (place.clone(), (position, *record))
            })
            .collect();
        RunSide { run, placed, by_place, index }
    }

    fn show_record(&self, record: &Record) -> DifferentSide {
        DifferentSide {
            thread: record.header.thread.clone(),
            seq: record.header.seq,
            text: String::from_utf8_lossy(&record.body).into_owned(),
        }
    }
}

#[derive(PartialEq, Eq)]
enum FoundDifference {
    Same,
    /// The same in the words of another version.
    Reworded,
    Differs {
        part: &'static str,
        one: String,
        other: String,
    },
}

/// What was found about the prompts of two records.
fn prompt_fit(one: &Record, other: &Record, found: &FoundDifference) -> Option<PromptFit> {
    let (own, opposite) = (prompt_of(one)?, prompt_of(other)?);
    Some(match found {
        _ if own == opposite => PromptFit::Same,
        FoundDifference::Reworded | FoundDifference::Differs { part: "prompt", .. } => {
            PromptFit::Other(opposite)
        }
        FoundDifference::Same | FoundDifference::Differs { .. } => PromptFit::SameText,
    })
}

fn compare_records(
    sides: &(RunSide<'_>, RunSide<'_>),
    (one, other): (&Record, &Record),
    rules: ComparisonRules,
) -> Result<FoundDifference, LogFault> {
    let parts =
        (sides.0.index.find_parts(one, rules.has_keys), sides.1.index.find_parts(other, rules.has_keys));
    if let (Some(own), Some(opposite)) = (prompt_of(one), prompt_of(other))
        && own != opposite
    {
        return compare_prompts(sides, (own, opposite), &parts, rules);
    }
    if parts.0 == parts.1 {
        return Ok(FoundDifference::Same);
    }
    let (first, second) = parts;
    if first.body != second.body {
        let is_worded = rules.is_across_versions && is_reworded(one, &first.body, &second.body);
        return Ok(if is_worded {
            FoundDifference::Reworded
        } else {
            FoundDifference::Differs { part: "body", one: first.body, other: second.body }
        });
    }
    let text = |part: Option<String>| part.unwrap_or_else(|| "none".to_owned());
    let differs = |part, one, other| FoundDifference::Differs { part, one, other };
    Ok(if first.code != second.code {
        differs("code", first.code.to_owned(), second.code.to_owned())
    } else if first.between.0 != second.between.0 {
        differs("sender", first.between.0, second.between.0)
    } else if first.between.1 != second.between.1 {
        differs("addressee", text(first.between.1), text(second.between.1))
    } else if first.key != second.key {
        differs("key", text(first.key), text(second.key))
    } else if first.cause != second.cause {
        differs("cause", text(first.cause), text(second.cause))
    } else {
        differs("origin", text(first.origin), text(second.origin))
    })
}

/// Compares two model calls by the text of their prompts: a prompt contains marks, so its hash may differ although its
/// text does not.
fn compare_prompts(
    sides: &(RunSide<'_>, RunSide<'_>),
    (own, opposite): (String, String),
    parts: &(RecordParts, RecordParts),
    rules: ComparisonRules,
) -> Result<FoundDifference, LogFault> {
    let (one, other) = (read_prompt(sides.0.run.reader, &own)?, read_prompt(sides.1.run.reader, &opposite)?);
    let (one, other) = (
        one.replace(sides.0.run.root.as_str(), "sess-…"),
        other.replace(sides.1.run.root.as_str(), "sess-…"),
    );
    if one != other {
        return Ok(match rules.is_across_versions {
            true => FoundDifference::Reworded,
            false => FoundDifference::Differs { part: "prompt", one, other },
        });
    }
    let (first, second) = (parts.0.body.replace(&own, ""), parts.1.body.replace(&opposite, ""));
    Ok(if first == second {
        FoundDifference::Same
    } else {
        FoundDifference::Differs { part: "body", one: first, other: second }
    })
}

/// The text of a prompt, without its marks.
fn read_prompt(reader: &dyn LogReader, hash: &str) -> Result<String, LogFault> {
    let links = match prompts::links(reader, hash) {
        Ok(links) => links,
        Err(PromptFault::Log(fault)) => return Err(fault),
        // A prompt that is gone is a difference that names itself.
        Err(why) => {
            return Ok(format!(
                "the prompt {hash} cannot be shown: {why}; {}",
                Digest::hash_bytes(hash.as_bytes())
            ));
        }
    };
    let texts = links.iter().map(|text| match prompt_link::read_link(text) {
        Some(ParsedLink::Segment { messages, .. }) => messages.to_owned(),
        Some(ParsedLink::Prompt { header, .. }) => header.to_owned(),
        Some(ParsedLink::Base { system, tools }) => [system, tools].join("\n"),
        // A listener that is none of our agents stores prompts in its own form.
        None => text.to_string(),
    });
    Ok(texts.map(|text| without_marks(&text) + "\n").collect())
}
