//! Plays one test, step by step. If something is missing or differs from the test, it is reported with the place of
//! the step, what was expected and what came.

use crate::failed_test::FailedTest;
use crate::stage::{StuckTest, TestStage};
use systole_api::refusal_page::write_refusal;
use systole_api::types::{ApiRecord, ApiRefusal};
use systole_config::FilePlace;
use systole_config::rehearsal::{
    ExpectedFailure, ExpectedPayload, PlacedText, REPORT, Rehearsal, TestDecision, TestQuestion, TestStep,
};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::Name;
use systole_core::types::person::PersonDecision;
use systole_core::types::refusal::Refusal;
use systole_judge::xpath;
use systole_organism::validators::PersonOrder;
use systole_organism::waiting::SenderReply;
use systole_queries::narrate::narrate;
use systole_queries::persons::{RequestSubject, WaitingRequest};

/// Plays every step. `at` is always the current step.
pub(crate) async fn play_steps(
    stage: &mut TestStage,
    test: &Rehearsal,
    at: &mut FilePlace,
) -> Result<(), Box<FailedTest>> {
    for step in &test.steps {
        *at = step.place.clone();
        play_step(stage, step).await?;
    }
    Ok(())
}

async fn play_step(stage: &mut TestStage, step: &TestStep) -> Result<(), Box<FailedTest>> {
    if let Some(sending) = &step.send {
        let sent = stage.send(sending).await;
        match (sent, &step.refused) {
            (Ok(()), None) => {}
            (Err(refusal), Some(wanted)) => check_refusal(wanted, &refusal)?,
            (Ok(()), Some(wanted)) => {
                return Err(FailedTest::new(&wanted.place, "the message was taken and not refused")
                    .with_expected(describe_failure(wanted)));
            }
            (Err(refusal), None) => {
                return Err(FailedTest::new(&sending.place, "the message was refused")
                    .with_actual(show_refusal(&refusal)));
            }
        }
    }
    if let Some(ms) = step.after_ms {
        stage
            .let_pass(ms)
            .await
            .map_err(|stuck| report_stuck(stage, &step.place, "`after` cannot pass", &stuck))?;
    }
    let mut payload = None;
    if let Some((place, expected)) = &step.held {
        payload = Some(wait_for_request(stage, place, expected).await?.1);
    }
    if let Some((place, decision)) = &step.decision {
        decide_request(stage, place, decision).await?;
    }
    if let Some(question) = &step.question {
        answer_question(stage, question).await?;
    }
    if let Some((place, expected)) = &step.answer {
        payload = Some(check_answer(stage, place, expected.as_ref()).await?);
    }
    if let Some(wanted) = &step.fails {
        check_failure(stage, wanted).await?;
    }
    step.xpath.iter().try_for_each(|one| check_text(one, payload.as_deref().unwrap_or_default()))?;
    check_log(stage, &step.log)
}

/// Whether a refusal is the expected one.
fn check_refusal(wanted: &ExpectedFailure, refusal: &Refusal) -> Result<(), Box<FailedTest>> {
    let page = show_refusal(refusal);
    if fits_failure(wanted, refusal.code.as_str(), &page) {
        return Ok(());
    }
    Err(FailedTest::new(&wanted.place, "another refusal came")
        .with_expected(describe_failure(wanted))
        .with_actual(page))
}

fn show_refusal(refusal: &Refusal) -> String {
    write_refusal(&ApiRefusal::from(refusal)).trim_end().to_owned()
}

fn fits_failure(wanted: &ExpectedFailure, code: &str, words: &str) -> bool {
    let contains = wanted.contains.as_ref();
    wanted.code.as_ref().is_none_or(|wanted| wanted == code)
        && contains.is_none_or(|text| join_lines(words).contains(&join_lines(text)))
}

/// Possibly wrapped text, as one line.
fn join_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn describe_failure(wanted: &ExpectedFailure) -> String {
    match (&wanted.code, &wanted.contains) {
        (Some(code), Some(text)) => format!("{code}, with \"{text}\" in its words"),
        (Some(code), None) => code.clone(),
        (None, Some(text)) => format!("\"{text}\" in its words"),
        (None, None) => "any".to_owned(),
    }
}

fn describe_payload(expected: &ExpectedPayload) -> String {
    match &expected.exact {
        Some(exact) => String::from_utf8_lossy(&exact.xml).into_owned(),
        None => format!("any <{}>", expected.element),
    }
}

/// Waits until the expected payload waits for a person.
async fn wait_for_request(
    stage: &mut TestStage,
    place: &FilePlace,
    expected: &ExpectedPayload,
) -> Result<(WaitingRequest, String), Box<FailedTest>> {
    let element = expected.element.clone();
    let found = stage.wait_until(|stage| {
        let is_it = |one: &WaitingRequest| one.payload().is_some_and(|(waits, _)| waits == element);
        let waiting: Vec<WaitingRequest> = stage.waiting()?.into_iter().filter(is_it).collect();
        Ok((!waiting.is_empty()).then_some(waiting))
    });
    let waiting = found.await;
    let waiting = waiting.map_err(|stuck| {
        let words = format!("no <{}> waits for a person", expected.element);
        report_stuck(stage, place, &words, &stuck)
    })?;
    let composition = stage.organism().composition().clone();
    let payload = |one: &WaitingRequest| one.payload().map_or("", |(_, payload)| payload).to_owned();
    let is_it = |one: &&WaitingRequest| expected.is(&composition, payload(one).as_bytes());
    match (waiting.iter().find(is_it), waiting.first()) {
        (Some(one), _) => Ok((one.clone(), payload(one))),
        (None, first) => {
            let came = first.map(payload).unwrap_or_default();
            Err(FailedTest::new(place, "another payload waits for a person")
                .with_expected(describe_payload(expected))
                .with_actual(came))
        }
    }
}

/// Decides a waiting request.
async fn decide_request(
    stage: &mut TestStage,
    place: &FilePlace,
    decision: &TestDecision,
) -> Result<(), Box<FailedTest>> {
    let expected = ExpectedPayload { element: decision.element.clone(), exact: None };
    let (waiting, _) = wait_for_request(stage, place, &expected).await?;
    let says = match (decision.verb, &decision.amended) {
        ("amend", Some(document)) => PersonDecision::Amend(document.clone()),
        ("reject", _) => PersonDecision::Reject,
        _ => PersonDecision::Approve,
    };
    let order = PersonOrder {
        by: Name::new_operator(),
        request: waiting.id,
        hash: Some(waiting.hash),
        note: decision.note.clone(),
        says,
    };
    send_order(stage, place, decision.verb, order).await
}

/// Waits for a question, and answers it if the step says so.
async fn answer_question(stage: &mut TestStage, question: &TestQuestion) -> Result<(), Box<FailedTest>> {
    let TestQuestion { place, contains, choice, note } = question;
    let wanted = contains.as_ref().map(|text| join_lines(text));
    let is_it = |one: &WaitingRequest| match &one.about {
        RequestSubject::Question { words, .. } => {
            wanted.as_ref().is_none_or(|wanted| join_lines(words).contains(wanted.as_str()))
        }
        RequestSubject::Approval { .. } => false,
    };
    let found = stage.wait_until(|stage| Ok(stage.waiting()?.into_iter().find(is_it))).await;
    let waiting = found.map_err(|stuck| {
        let words = match contains {
            Some(text) => format!("no question with \"{text}\" waits for a person"),
            None => "no question waits for a person".to_owned(),
        };
        let failed = report_stuck(stage, place, &words, &stuck);
        let asked = stage.waiting().unwrap_or_default().into_iter().find_map(|one| match one.about {
            RequestSubject::Question { words, .. } => Some(words),
            RequestSubject::Approval { .. } => None,
        });
        match (contains, asked) {
            (Some(text), Some(asked)) => failed.with_expected(text.clone()).with_actual(asked),
            _ => failed,
        }
    })?;
    if choice.is_none() && note.is_none() {
        return Ok(());
    }
    let (says, hash) = (PersonDecision::Choose(choice.clone()), Some(waiting.hash));
    let order = PersonOrder { by: Name::new_operator(), request: waiting.id, hash, note: note.clone(), says };
    send_order(stage, place, "choose", order).await
}

/// Sends an order and expects it to succeed.
async fn send_order(
    stage: &TestStage,
    place: &FilePlace,
    verb: &str,
    order: PersonOrder,
) -> Result<(), Box<FailedTest>> {
    match stage.organism().handle().rule_request(order).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(()),
        Some(SenderReply::Refused(refusal)) => {
            Err(FailedTest::new(place, format!("`{verb}` was refused")).with_actual(show_refusal(&refusal)))
        }
        None => Err(FailedTest::new(place, "the organism ended")),
    }
}

/// Waits for the end of the last message; returns the payload that answers it.
async fn check_answer(
    stage: &mut TestStage,
    place: &FilePlace,
    expected: Option<&ExpectedPayload>,
) -> Result<String, Box<FailedTest>> {
    let wanted = expected.map_or_else(|| "no answer".to_owned(), describe_payload);
    let (ending, record) = wait_for_end(stage, place).await?;
    let failed = match (&ending, expected) {
        (CallJudgement::Handled, None) => return Ok(String::new()),
        // A test may expect a report too, such as `<tool-failed>`.
        (CallJudgement::Answered | CallJudgement::Partial | CallJudgement::Reported, Some(expected))
            if expected.is(stage.organism().composition(), record.body.as_bytes()) =>
        {
            return Ok(record.body);
        }
        (CallJudgement::Answered | CallJudgement::Partial, Some(_)) => {
            FailedTest::new(place, "another answer came").with_actual(record.body)
        }
        (CallJudgement::Handled, Some(_)) => {
            FailedTest::new(place, "the message was handled without an answer")
        }
        (CallJudgement::Answered | CallJudgement::Partial, None) => {
            FailedTest::new(place, "an answer came").with_actual(record.body)
        }
        (CallJudgement::Reported, _) => {
            FailedTest::new(place, "a report came in place of an answer").with_actual(record.body)
        }
        (CallJudgement::Failed | CallJudgement::Cancelled, _) => {
            FailedTest::new(place, format!("the call failed with {}", record.code_text()))
                .with_actual(print_record(stage, &record))
        }
    };
    Err(failed.with_expected(wanted))
}

async fn wait_for_end(
    stage: &mut TestStage,
    place: &FilePlace,
) -> Result<(CallJudgement, ApiRecord), Box<FailedTest>> {
    let ended = stage.wait_until(|stage| Ok(stage.ending())).await;
    ended.map_err(|stuck| report_stuck(stage, place, "the call did not end", &stuck))
}

/// Waits for the end of the last message, which must be a failure.
async fn check_failure(stage: &mut TestStage, wanted: &ExpectedFailure) -> Result<(), Box<FailedTest>> {
    let (ending, record) = wait_for_end(stage, &wanted.place).await?;
    let code = match &ending {
        CallJudgement::Failed | CallJudgement::Cancelled => record.code_text(),
        CallJudgement::Reported => REPORT,
        CallJudgement::Answered | CallJudgement::Partial | CallJudgement::Handled => {
            let failed = FailedTest::new(&wanted.place, "the call did not fail")
                .with_expected(describe_failure(wanted));
            return Err(failed.with_actual(record.body));
        }
    };
    let words = print_record(stage, &record);
    // The lines may be shortened; the payload is not.
    if fits_failure(wanted, code, &format!("{words} {}", record.body)) {
        return Ok(());
    }
    Err(FailedTest::new(&wanted.place, "another failure came")
        .with_expected(describe_failure(wanted))
        .with_actual(words))
}

/// A record as `systole log` prints it.
fn print_record(stage: &TestStage, record: &ApiRecord) -> String {
    let found = stage.records.iter().find(|(_, told)| told.position == record.position);
    let lines = found.map(|(record, _)| narrate(record, Some(&record.header.thread)));
    lines.unwrap_or_default().join("\n")
}

fn check_text(wanted: &PlacedText, payload: &str) -> Result<(), Box<FailedTest>> {
    match xpath::is_true(payload, &wanted.text) {
        Ok(true) => Ok(()),
        Ok(false) => Err(FailedTest::new(&wanted.place, "the expression does not hold")
            .with_expected(wanted.text.clone())
            .with_actual(payload)),
        Err(words) => {
            Err(FailedTest::new(&wanted.place, format!("`{}`: {words}", wanted.text)).with_actual(payload))
        }
    }
}

/// Whether the texts are in the lines of the log, in this order.
fn check_log(stage: &TestStage, wanted: &[PlacedText]) -> Result<(), Box<FailedTest>> {
    let line = |(record, _): &(systole_core::types::record::Record, ApiRecord)| {
        join_lines(&narrate(record, None).join(" "))
    };
    let lines: Vec<String> = stage.records.iter().map(line).collect();
    let mut rest = lines.as_slice();
    for one in wanted {
        let text = join_lines(&one.text);
        let Some(at) = rest.iter().position(|line| line.contains(&text)) else {
            let before = lines.len() - rest.len();
            let (words, came) = match lines.iter().position(|line| line.contains(&text)) {
                Some(at) => ("this is in the log, but not after the text before it", vec![at, before]),
                None => ("this is not in the log", find_nearest_lines(&lines, &text)),
            };
            let shown = came.iter().filter_map(|at| Some(format!("line {}: {}", at + 1, lines.get(*at)?)));
            let shown: Vec<String> = shown.collect();
            let came = match shown.is_empty() {
                true => format!("{} lines, none like it", lines.len()),
                false => format!("of {} lines\n{}", lines.len(), shown.join("\n")),
            };
            return Err(FailedTest::new(&one.place, words).with_expected(one.text.clone()).with_actual(came));
        };
        rest = rest.get(at..).unwrap_or_default();
    }
    Ok(())
}

/// The few lines that have most words of a text, in their order.
fn find_nearest_lines(lines: &[String], text: &str) -> Vec<usize> {
    let words: Vec<&str> = text.split(' ').filter(|word| word.len() > 2).collect();
    let shared = |line: &String| words.iter().filter(|word| line.contains(**word)).count();
    let mut found: Vec<(usize, usize)> =
        lines.iter().map(shared).enumerate().filter(|(_, n)| *n > 0).collect();
    found.sort_by_key(|(_, shared)| std::cmp::Reverse(*shared));
    found.truncate(crate::limits::NEAREST);
    found.sort_unstable();
    found.into_iter().map(|(at, _)| at).collect()
}

/// Why an expected event does not come, with what could cause it.
fn report_stuck(stage: &TestStage, place: &FilePlace, what: &str, stuck: &StuckTest) -> Box<FailedTest> {
    let why = match stuck {
        StuckTest::Rests => {
            let waiting = stage.waiting().unwrap_or_default();
            match (waiting.first(), stage.ending()) {
                (Some(one), None) => match one.payload() {
                    Some((element, _)) => {
                        format!("<{element}> waits for a person: add approve, reject or amend before this")
                    }
                    None => "a question waits for a person: add choose before this".to_owned(),
                },
                (_, Some(_)) => "the call has ended".to_owned(),
                (None, None) => "nothing happens any more".to_owned(),
            }
        }
        StuckTest::Timers => "timers repeat without end".to_owned(),
        StuckTest::Ended(words) => words.clone(),
    };
    let failed = FailedTest::new(place, format!("{what}: {why}"));
    match stage.ending() {
        Some((_, record)) => failed.with_actual(record.body),
        None => failed,
    }
}

/// Unused parts of a test, or requests without an answer.
pub(crate) fn find_leftovers(stage: &TestStage, test: &Rehearsal) -> Option<Box<FailedTest>> {
    let missed = stage.stand_ins.iter().flat_map(|one| one.list_missed()).next();
    if let Some(words) = missed {
        return Some(FailedTest::new(&test.place, words));
    }
    let unused = stage.stand_ins.iter().flat_map(|one| one.list_unused()).next();
    if let Some(place) = unused {
        return Some(FailedTest::new(&place, "this answer of a stand-in was never given"));
    }
    let own = test.replies.as_ref().filter(|replies| replies.is_own)?;
    find_unused_replies(&own.script, &own.file).into_iter().next().map(Box::new)
}

/// The answers of a script that no call used.
pub fn find_unused_replies(
    script: &systole_agent::model::script::Script,
    file: &std::path::Path,
) -> Vec<FailedTest> {
    let each = script.unused_answers().into_iter().map(|one| {
        let (line, column) = one.place;
        let file = file.display().to_string();
        let place = FilePlace { file, line, column, span: String::new(), text: String::new() };
        *FailedTest::new(&place, format!("answer {} of {} was never given", one.number, one.agent))
    });
    each.collect()
}
