//! Checks that the schemas of a file can be read and compiled, in a separate process that may crash.
//!
//! Input: the schemas of a file, before any other code reads them. Output: the first schema that libxml2
//! rejects or cannot compile within its limits. Without the program that tries schemas, they are compiled in
//! this process, after the model's own checks.

use super::diagnostic::{Diagnostic, FilePlace};
use systole_core::types::codes::Code;
use systole_judge::trial::{FailedTrial, SchemaTrial, TrialLimits, TrialOutcome};
use systole_judge::{LibxmlJudge, SchemaSetError, SchemaSource};

const SMALLER: &str = "write the type more plainly: fewer elements in one content, shorter enumerations and \
                       patterns, smaller counts; or split it over several schemas";

/// The first schema that does not compile. A schema outside the profile does not count: its reader reports it
/// in more detail.
pub(super) fn prove(sources: &[SchemaSource]) -> Option<FailedTrial> {
    if sources.is_empty() {
        return None;
    }
    let tried = SchemaTrial::find_beside().and_then(|trial| trial.compile_sources(sources));
    tried.unwrap_or_else(|| here(sources)).err()
}

/// Compiles them in this process.
fn here(sources: &[SchemaSource]) -> Result<(), FailedTrial> {
    match LibxmlJudge::compile_sources(sources) {
        Ok(_) | Err(SchemaSetError::Unfit { .. }) => Ok(()),
        Err(SchemaSetError::Uncompiled { name, line, words }) => {
            let at = sources.iter().position(|source| source.name == name).unwrap_or_default();
            Err(FailedTrial { at, line, why: TrialOutcome::Refused(words) })
        }
    }
}

/// The diagnostic, with the schema's name for people.
pub(super) fn report_trial(file: &str, text: &[u8], failed: FailedTrial) -> Diagnostic {
    let TrialLimits { memory_bytes, processor_s, wall_ms } = TrialLimits::USUAL;
    let (message, fix) = match failed.why {
        TrialOutcome::Refused(words) => {
            let first = first_line(&words);
            (format!("libxml2 does not compile it: {first}"), fix_of(first))
        }
        TrialOutcome::Processor => {
            (format!("compiling it takes more than {processor_s} s of processor time"), SMALLER)
        }
        TrialOutcome::Wall => (format!("compiling it takes longer than {} s", (wall_ms / 1000)), SMALLER),
        TrialOutcome::Memory => {
            let most = (memory_bytes >> 20).to_string();
            (format!("compiling it takes more than {most} MiB of memory, or breaks libxml2"), SMALLER)
        }
    };
    let text = String::from_utf8_lossy(text);
    let line = failed.line.and_then(|line| usize::try_from(line).ok()).unwrap_or_default();
    let content = text.lines().nth(line.saturating_sub(1)).filter(|_| line > 0).unwrap_or_default();
    let indent = content.chars().take_while(|c| c.is_whitespace()).count();
    let span = content.trim_start().chars().take_while(|c| !c.is_whitespace() && *c != '>').collect();
    let column = indent.saturating_add(1);
    let place = FilePlace { file: file.to_owned(), line, column, span, text: content.to_owned() };
    Diagnostic::new(Code::ConfigSchema, place, &message, Some(fix))
}

/// The fix, if libxml2's message alone is not enough.
fn fix_of(words: &str) -> &'static str {
    let known = [
        (
            "not determinist",
            "avoid two elements of one name where either could come next: make the first one \
                             required, count one element, or name them differently",
        ),
        ("facet", "correct the facet, or its base: each step of restrictions may only narrow the one before"),
        ("duplicate", "name each once"),
    ];
    let found = known.iter().find(|(part, _)| words.contains(part));
    found.map_or("correct what it names, or leave the type out", |(_, fix)| fix)
}

/// The first line of libxml2's messages, which names the fault.
fn first_line(words: &str) -> &str {
    words.lines().next().unwrap_or_default()
}
