//! The prompts of a model over several questions in one thread, and that `context` prints the same: whole, in order,
//! and under the hash in the journal.

use serde_json::Value;

use super::house::{AgentHouse, AgentPlan, Critic, FORMS};

const NATIVE: &str = r#"
- {say: I look., call: {search: {query: the moon}}}
- {say: First answer.}
- {call: {ask: {".": Is it so?}}}
- {say: Second answer.}
- {say: Third answer.}
"#;

const XML: &str = r#"
- {say: "<thinking>I look.</thinking><search><query>the moon</query></search>"}
- {say: "<thinking>One.</thinking><attempt_completion><result>First answer.</result></attempt_completion>"}
- {say: "<thinking>Doubt.</thinking><ask>Is it so?</ask>"}
- {say: "<thinking>Two.</thinking><attempt_completion><result>Second answer.</result></attempt_completion>"}
- {say: "<thinking>Three.</thinking><attempt_completion><result>Third answer.</result></attempt_completion>"}
"#;

/// Checks that each of these follows the one before it.
fn in_order(text: &str, wanted: &[String]) {
    let mut from = 0;
    for word in wanted {
        let at = text[from..].find(word.as_str());
        from += at.unwrap_or_else(|| panic!("{word} does not come behind {from}: {text}")) + word.len();
    }
}

/// A text as it is written inside JSON.
fn inside(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The texts of a prompt as `context` prints it, without the system prompt.
fn words_of(context: &Value) -> Vec<String> {
    let mut words = Vec::new();
    for link in context["links"].as_array().unwrap() {
        for message in link["messages"].as_array().into_iter().flatten() {
            for part in message["parts"].as_array().unwrap() {
                let texts = [&part["text"], &part["result"]["text"], &part["call"]["name"]];
                words.extend(texts.into_iter().filter_map(Value::as_str).map(inside));
            }
        }
        words.extend(link["header"].as_str().filter(|header| !header.is_empty()).map(inside));
    }
    words
}

/// The conversation in a request, without the text around it.
fn conversation(body: &Value) -> String {
    let of_form = ["messages", "input", "contents"].into_iter().find(|name| !body[*name].is_null());
    body[of_form.unwrap_or("messages")].to_string()
}

fn three_questions(form: &str, dialect: &str, together: bool) {
    let replies = if dialect == "native" { NATIVE } else { XML };
    let critic = "[{say: It is so.}]";
    let house = AgentHouse::build(&AgentPlan {
        form,
        dialect,
        replies,
        critic: Critic::says(critic),
        ..AgentPlan::default()
    });
    let organism = together.then(|| house.run());
    let questions = ["Question one?", "Question two?", "Question three?"];
    for (at, question) in questions.into_iter().enumerate() {
        let thread = if at == 0 { "new" } else { "@last" };
        let ran = house.systole(&["ask", "--thread", thread, question]);
        let answer = ["First answer.\n", "Second answer.\n", "Third answer.\n"][at];
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), answer),
            "{form} {dialect}: {ran:?}\n{}",
            house.told()
        );
    }
    let asked = house.asked();
    assert_eq!(asked.len(), 5, "{form} {dialect}: {}", house.told());
    let whole = [
        "Question one?",
        "I look.",
        "the moon",
        "FOUND the moon",
        "First answer.",
        "Question two?",
        "Is it so?",
        "It is so.",
        "Second answer.",
        "Question three?",
    ];
    in_order(&conversation(&asked[4].body), &whole.map(str::to_owned));
    let critic: Vec<_> =
        house.mock.seen().into_iter().filter(|seen| seen.model.as_deref() == Some("second-model")).collect();
    let shown = critic[0].body.to_string();
    assert!(shown.contains("Is it so?") && !shown.contains("Question"), "its own call alone: {shown}");

    // `context` prints for each request what was sent, under the hash in the journal.
    let starts: Vec<(u64, String)> = starts(&house);
    assert_eq!(starts.len(), 5);
    for ((seq, prompt), seen) in starts.iter().zip(&asked) {
        let context = house.context(&format!("@last@{seq}"));
        assert_eq!(context["prompt"].as_str(), Some(prompt.as_str()), "{context}");
        let system = inside(context["links"][0]["system"].as_str().unwrap());
        assert!(seen.body.to_string().contains(&system), "{system}");
        let words = words_of(&context);
        assert!(!words.is_empty(), "{context}");
        if form == "openai" && dialect == "xml" {
            let sent = seen.body["messages"].as_array().unwrap();
            assert_eq!(sent.len(), words.len() + 1, "a message for each, and the system's: {context}");
        }
        in_order(&conversation(&seen.body), &words);
    }
    drop(organism.map(crate::program::Running::interrupt));
    house.judged();
}

/// The records in which `helper` began a call to its model, with the hash of its prompt.
fn starts(house: &AgentHouse) -> Vec<(u64, String)> {
    let records = house.records();
    let own = records.iter().filter(|record| {
        let h = &record.header;
        h.from.as_str() == "helper" && h.code.is_some_and(|code| code.as_str() == "model-started")
    });
    own.map(|record| record.header.seq).zip(house.started("helper").into_iter().map(|s| s.prompt)).collect()
}

#[test]
fn b2_a_thread_of_several_questions_is_shown_whole_and_in_order() {
    for form in FORMS {
        for dialect in ["native", "xml"] {
            three_questions(form, dialect, true);
        }
    }
}

#[test]
fn c8_context_shows_the_sent_prompt_with_the_journals_hash_across_restarts() {
    // Each question has its own process: only the log remembers anything.
    for form in ["openai", "anthropic"] {
        for dialect in ["native", "xml"] {
            three_questions(form, dialect, false);
        }
    }
}
