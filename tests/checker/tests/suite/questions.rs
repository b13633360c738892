//! Faults against questions to a person: asked twice or without an item, answered without a person, early, or with
//! another choice.

use crate::planted;
use crate::script::{Line, line};

const Q: &str = "sess-000000000003";

fn person_asked(id: &str, call: &str, choices: &[&str]) -> String {
    let choices: String = choices.iter().map(|choice| format!("<choice>{choice}</choice>")).collect();
    r#"<person-asked xmlns="https://xml-pipeline.org/ns/core/v1" id="ID" expires="2026-11-20T08:00:00.000Z" thread="THREAD" call="CALL" from="asker"><question>Go?</question>CHOICES</person-asked>"#
        .replace("ID", id)
        .replace("THREAD", Q)
        .replace("CALL", call)
        .replace("CHOICES", &choices)
}

fn person_said(attributes: &str) -> String {
    format!(r#"<person-said xmlns="https://xml-pipeline.org/ns/core/v1" {attributes}/>"#)
}

/// Two questions to a person in one reply, with one listener notified of the first; then one that expires.
pub(crate) fn thread_q() -> Vec<Line> {
    let q = |name, kind, code| line(name, Q, kind, code);
    let asks = |name, turn, ordinal, cause| {
        q(name, "message", "ask-person").between("asker", "person").on("1").at(turn, ordinal).because(cause)
    };
    let asked = |name, call, cause, body: &str| {
        q(name, "approval", "asked").between("core", "person").on(call).because(cause).says(body)
    };
    let said = |name, call, cause, body: &str| {
        q(name, "message", "answer").between("core", "asker").on(call).because(cause).says(body)
    };
    vec![
        q("q-ask", "message", "request").between("quin", "asker").on("1").key("k-q"),
        asks("q-item", 1, 0, "q-ask"),
        asked("q-asked", "1/1.0", "q-item", &person_asked("a4", "1/1.0", &["go", "stop"])),
        line("q-counts", "sys", "approval", "asked").between("core", "person"),
        q("q-tell", "message", "tell").between("core", "watch").on("1/0.3").because("q-asked"),
        asks("q-item-2", 1, 1, "q-ask"),
        asked("q-asked-2", "1/1.1", "q-item-2", &person_asked("a5", "1/1.1", &[])),
        q("q-told", "outcome", "handled").between("watch", "core").on("1/0.3").because("q-tell"),
        said("q-said-2", "1/1.1", "q-item-2", &person_said("outcome=\"chosen\" by=\"pia\"")),
        said("q-said", "1/1.0", "q-item", &person_said("outcome=\"chosen\" choice=\"go\" by=\"pia\"")),
        asks("q-item-3", 2, 0, "q-said"),
        asked("q-asked-3", "1/2.0", "q-item-3", &person_asked("a6", "1/2.0", &["go"])),
        said("q-late", "1/2.0", "q-item-3", &person_said("outcome=\"expired\" clock=\"set-back\"")),
        q("q-final", "message", "final").between("asker", "quin").on("1").at(3, 0).because("q-late"),
    ]
}

planted! {
    a_question_under_an_id_that_was_used finds ["question"] by |script| {
        script.line("q-asked-3").body = person_asked("a1", "1/2.0", &["go"]);
    };

    a_question_that_names_another_item finds ["question"] by |script| {
        script.line("q-asked-3").body = person_asked("a6", "1/1.0", &["go"]);
    };

    a_question_that_is_asked_twice finds ["question"] by |script| script.repeat("q-asked-3", "q-asked-3");

    a_question_that_is_never_recorded finds ["question"] by |script| {
        script.remove("q-asked-3");
    };

    a_question_from_another_sender_than_the_core finds ["party", "question"] by |script| {
        script.line("q-asked-3").from = "asker";
    };

    an_answer_that_is_none_of_the_choices finds ["question"] by |script| {
        script.line("q-said").body = person_said("outcome=\"chosen\" choice=\"maybe\" by=\"pia\"");
    };

    an_answer_without_a_choice finds ["question"] by |script| {
        script.line("q-said").body = person_said("outcome=\"chosen\" by=\"pia\"");
    };

    an_answer_without_a_name finds ["question"] by |script| {
        script.line("q-said").body = person_said("outcome=\"chosen\" choice=\"go\"");
    };

    a_question_that_expires_early finds ["question"] by |script| {
        script.line("q-late").body = person_said("outcome=\"expired\"");
    };

    a_question_that_is_answered_by_the_core finds ["question", "steer"] by |script| {
        script.line("q-late").body =
            r#"<handled xmlns="https://xml-pipeline.org/ns/core/v1"/>"#.to_owned();
    };

    a_question_that_is_answered_twice finds ["answer-once"] by |script| script.repeat("q-said", "q-said");

    a_turn_before_the_person_has_answered finds ["cause", "turn-due"] by |script| {
        script.remove("q-said");
    };

    a_listener_that_is_told_of_no_question finds ["approval"] by |script| {
        script.line("q-tell").call = Some("1/1.3");
        script.line("q-told").call = Some("1/1.3");
    };
}
