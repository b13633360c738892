//! What a judgement looks like: a line for each check, JSON, or JUnit's XML.
//!
//! It judges nothing. In: the results. Out: text.

use serde_json::{Value, json};
use systole_kit::writer::XmlWriter;

use crate::judging::{CheckOutcome, CheckResult};
use crate::limits;
use crate::list::CheckLevel;

/// How many checks came to what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JudgementCount {
    /// Passed.
    pub passed: usize,
    /// Failed, of those that must pass.
    pub failed_must: usize,
    /// Failed, of those that should pass.
    pub failed_should: usize,
    /// Without a verdict.
    pub not_scored: usize,
}

/// Counts the results.
pub fn count_results(results: &[CheckResult]) -> JudgementCount {
    let mut count = JudgementCount::default();
    for result in results {
        match (&result.outcome, result.row.level) {
            (CheckOutcome::Passed, _) => count.passed += 1,
            (CheckOutcome::NotScored(_), _) => count.not_scored += 1,
            (CheckOutcome::Failed { .. }, CheckLevel::Must) => count.failed_must += 1,
            (CheckOutcome::Failed { .. }, CheckLevel::Should) => count.failed_should += 1,
        }
    }
    count
}

fn name_level(level: CheckLevel) -> &'static str {
    match level {
        CheckLevel::Must => "must",
        CheckLevel::Should => "should",
    }
}

/// The lines of checks without a verdict: what has one reason in common is counted, beyond a few.
fn write_unscored(results: &[CheckResult]) -> Vec<String> {
    let reason = |result: &CheckResult| match &result.outcome {
        CheckOutcome::NotScored(why) => Some(why.clone()),
        _ => None,
    };
    let mut reasons: Vec<String> = Vec::new();
    for why in results.iter().filter_map(reason) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    let mut lines = Vec::new();
    for why in reasons {
        let rows: Vec<_> = results.iter().filter(|result| reason(result).as_ref() == Some(&why)).collect();
        if rows.len() > limits::SAME_REASON {
            lines.push(format!("not scored  {} checks: {why}", rows.len()));
            continue;
        }
        for CheckResult { row, .. } in rows {
            lines.push(format!("not scored  {:<6}  {}: {why}", name_level(row.level), row.id));
        }
    }
    lines
}

/// The lines for people: one for each check, and under a failure what was sent, expected and came.
pub fn write_lines(results: &[CheckResult]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shown = None;
    for CheckResult { row, outcome, .. } in results {
        let level = name_level(row.level);
        match outcome {
            // A worker that does not answer at all fails every check in the same way.
            CheckOutcome::Failed { failure, .. } if shown == Some(failure) => {
                lines.push(format!("FAILED      {level:<6}  {}: the same as above", row.id));
            }
            CheckOutcome::Passed => lines.push(format!("passed      {level:<6}  {}", row.id)),
            CheckOutcome::NotScored(_) => {}
            CheckOutcome::Failed { carrier, failure } => {
                lines.push(format!("FAILED      {level:<6}  {}, over {carrier}: {}", row.id, row.expects));
                lines.push(format!("  sent      {}", failure.sent));
                lines.push(format!("  expected  {}", failure.expected));
                lines.push(format!("  came      {}", failure.came));
                lines.push(format!("  page      docs/{}", row.page));
                shown = Some(failure);
            }
        }
    }
    lines.extend(write_unscored(results));
    let count = count_results(results);
    lines.push(format!(
        "{} passed, {} failed that must pass, {} failed that should, {} not scored",
        count.passed, count.failed_must, count.failed_should, count.not_scored
    ));
    lines
}

/// The same as JSON.
pub fn build_json(list: &str, results: &[CheckResult]) -> Value {
    let one = |CheckResult { row, outcome, took }: &CheckResult| {
        let mut value = json!({
            "id": row.id, "level": name_level(row.level), "page": format!("docs/{}", row.page),
            "ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        let more = match outcome {
            CheckOutcome::Passed => json!({"outcome": "passed"}),
            CheckOutcome::NotScored(why) => json!({"outcome": "not-scored", "reason": why}),
            CheckOutcome::Failed { carrier, failure } => json!({
                "outcome": "failed", "carrier": carrier, "sent": failure.sent,
                "expected": failure.expected, "came": failure.came,
            }),
        };
        if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
            value.extend(more);
        }
        value
    };
    let count = count_results(results);
    json!({
        "list": list,
        "passed": count.passed,
        "failed_must": count.failed_must,
        "failed_should": count.failed_should,
        "not_scored": count.not_scored,
        "checks": results.iter().map(one).collect::<Vec<Value>>(),
    })
}

/// The same as the XML that JUnit writes.
pub fn write_junit(listener: &str, results: &[CheckResult]) -> Vec<u8> {
    let count = count_results(results);
    let failed = count.failed_must + count.failed_should;
    let mut writer = XmlWriter::new();
    writer
        .open("testsuite")
        .attr("name", &format!("systole listener conform {listener}"))
        .number("tests", results.len() as u64)
        .number("failures", failed as u64)
        .number("skipped", count.not_scored as u64)
        .content(|suite| {
            for CheckResult { row, outcome, took } in results {
                let case = suite.open("testcase").attr("classname", "conform").attr("name", &row.id);
                let case = case.attr("time", &format!("{:.3}", took.as_secs_f64()));
                match outcome {
                    CheckOutcome::Passed => case.empty(),
                    CheckOutcome::NotScored(why) => case.content(|inside| {
                        inside.open("skipped").attr("message", why).empty();
                    }),
                    CheckOutcome::Failed { failure, .. } => case.content(|inside| {
                        let words = format!(
                            "sent {}\nexpected {}\ncame {}\npage docs/{}",
                            failure.sent, failure.expected, failure.came, row.page
                        );
                        inside.open("failure").attr("type", name_level(row.level)).text(&words);
                    }),
                }
            }
        });
    writer.finish()
}
