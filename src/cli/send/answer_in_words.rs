//! An answer in words for a person who asked in words: the text of `<answer>` or of a report, or a failure's code and
//! message. Any other answer is shown unchanged.

use systole_kit::{DocumentLimits, Payload, namespaces};

use super::Screen;
use crate::limits;
use systole_api::types::ApiRecord;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::codes::Code;
use systole_queries::first_cause::FirstCause;
use systole_queries::glance::{glance, read_error};
use systole_show::columns::{cut, plain};

/// Shows the record that ended a question.
pub(in crate::cli) fn show_end(screen: Screen, ending: CallJudgement, record: &ApiRecord) {
    match ending {
        CallJudgement::Handled => screen.say(format!("{} took it, and gives no answer", record.from)),
        CallJudgement::Failed | CallJudgement::Cancelled => show_failure(screen, record),
        CallJudgement::Reported => {
            let text = read_payload(record).map(|payload| payload.text()).unwrap_or_default();
            // The cause is on the first line. What was reached or said before the end is below it.
            let (cause, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
            screen.report_drawn(&format!("{}: {}", record.from, plain(cause)));
            if !rest.is_empty() {
                screen.say(rest);
            }
            screen.say(format!("  try: systole log {}, which shows why", record.thread));
        }
        CallJudgement::Partial => {
            screen.show(&read_payload(record).map(|payload| payload.text()).unwrap_or_default());
            say_partial(screen, record);
        }
        CallJudgement::Answered => match read_payload(record).filter(is_words) {
            Some(answer) => screen.show(&answer.text()),
            None => screen.show(&record.body),
        },
    }
}

/// Shows why a call failed: the first cause, where it happened, and what to do.
pub(super) fn show_failure(screen: Screen, record: &ApiRecord) {
    let code = record.code_text();
    let Some(error) = read_error(record.body.as_bytes()) else {
        // A call that ends at a budget names the budget; the fix is that of its code.
        screen.report_drawn(&format!("{code}: {}", read_words(record)));
        if let Some(code) = Code::parse(code) {
            screen.say(format!("  try: {}", code.fix()));
        }
        return;
    };
    // Hidden characters were made visible when it was read.
    let cause = FirstCause::of(&error);
    screen.report_drawn(&cause.line());
    if let Some(at) = cause.at() {
        screen.say_drawn(&format!("  at: {at}"));
    }
    if let Some(next) = error.fix.or_else(|| cause.more(&record.thread)) {
        screen.say_drawn(&format!("  try: {next}"));
    }
}

/// Reports that an answer is only partial.
pub(super) fn say_partial(screen: Screen, record: &ApiRecord) {
    screen.say(format!("note: {} reports that this is only a part of the answer", record.from));
}

/// The note on a loop of a workflow that ended at its limit.
pub(super) fn find_loop_limit(record: &ApiRecord) -> Option<String> {
    let told = read_error(record.body.as_bytes()).filter(|_| record.kind == "message")?;
    (told.code == "workflow.loop-limit").then(|| format!("note: {}", told.message))
}

/// Whether the text of an answer is its whole content.
fn is_words(payload: &Payload) -> bool {
    let name = payload.name();
    name.is_named(namespaces::TALK, "answer") || name.is_named(namespaces::CORE, "final-report")
}

fn read_payload(record: &ApiRecord) -> Option<Payload> {
    Payload::parse(record.body.as_bytes(), &DocumentLimits::FROM_PUMP).ok()
}

/// The content of a core payload: its text, or without text its summary from the log.
fn read_words(record: &ApiRecord) -> String {
    let text = read_payload(record).map(|payload| plain(&payload.text())).filter(|text| !text.is_empty());
    text.map_or_else(|| glance(record.body.as_bytes()).words, |text| cut(&text, limits::GLANCE_COLUMNS))
}
