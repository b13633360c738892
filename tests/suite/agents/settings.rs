//! A model that cannot be asked: no key, a wrong key, a model or an address that does not exist, a proxy that answers
//! with a page. The error names the line and the fix, and no key is printed.

use super::house::{AgentHouse, AgentPlan, FORMS, KEY};
use crate::ports;
use crate::program::{Ran, systole, systole_with};

/// Rewrites the organism's file.
fn with(house: &AgentHouse, from: &str, to: &str) {
    let path = house.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&path).unwrap();
    assert!(yaml.contains(from), "{from}: {yaml}");
    std::fs::write(path, yaml.replace(from, to)).unwrap();
}

fn says_no_key(ran: &Ran) {
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
    assert!(!ran.stderr.contains("very-secret"), "{ran:?}");
}

#[test]
fn e13_a_missing_key_names_the_variable_and_the_line_that_wants_it() {
    for form in FORMS {
        let house =
            AgentHouse::build(&AgentPlan { form, replies: "[{say: Hello.}]", ..AgentPlan::default() });
        for command in [&["run"][..], &["ask", "Hello?"]] {
            for variables in [&[][..], &[("MODEL_KEY", "")], &[("MODEL_KEY", " \n")]] {
                let ran = systole_with(house.path(), command, variables);
                assert_eq!(ran.code, Some(3), "{form} {command:?} {variables:?}: {ran:?}");
                for wanted in ["the variable MODEL_KEY", "models.main.key_env", "try: "] {
                    assert!(ran.stderr.contains(wanted), "{wanted}: {ran:?}");
                }
            }
            let blank = format!("{KEY} very-secret");
            let ran = systole_with(house.path(), command, &[("MODEL_KEY", &blank)]);
            assert_eq!(ran.code, Some(3), "{ran:?}");
            assert!(ran.stderr.contains("holds a character that no key has"), "{ran:?}");
            says_no_key(&ran);
        }
        assert!(house.asked().is_empty() && !house.path().join("hello.db").exists(), "nothing was begun");
        // Commands that only read the file need no key.
        assert_eq!(systole(house.path(), &["check"]).code, Some(0));
    }
}

#[test]
fn e13_a_wrong_key_is_reported_with_the_status_and_never_printed() {
    for form in FORMS {
        let house =
            AgentHouse::build(&AgentPlan { form, replies: "[{say: Hello.}]", ..AgentPlan::default() });
        let wrong = "sk-another-very-secret-key";
        let ran = systole_with(house.path(), &["ask", "Hello?"], &[("MODEL_KEY", wrong)]);
        says_no_key(&ran);
        assert!(!ran.stderr.contains(wrong) && !house.told().contains(wrong), "{ran:?}");
        if form == "ollama" {
            assert_eq!(ran.code, Some(0), "it asks for no key: {ran:?}");
            continue;
        }
        assert_eq!(ran.code, Some(1), "{form}: {ran:?}");
        for wanted in ["model.invalid-request", "401"] {
            assert!(ran.stderr.contains(wanted) && house.told().contains(wanted), "{wanted}: {ran:?}");
        }
        // The provider's own words come first, and then the variable that holds the key.
        let words = ran.stderr.split_once("; look at the key in MODEL_KEY, which models.main.key_env names");
        assert!(words.is_some_and(|(before, _)| before.to_lowercase().contains("key")), "{ran:?}");
        assert_eq!(house.mock.count().scripted, 0, "{ran:?}");
        house.judged();
    }
}

#[test]
fn e13_a_model_that_there_is_not_is_reported_with_the_status() {
    for form in FORMS {
        let house =
            AgentHouse::build(&AgentPlan { form, replies: "[{say: Hello.}]", ..AgentPlan::default() });
        with(&house, "model: main-model", "model: no-such-model");
        let ran = house.ask("Hello?");
        assert_eq!(ran.code, Some(1), "{form}: {ran:?}");
        for wanted in ["model.invalid-request", "404", "no-such-model"] {
            assert!(ran.stderr.contains(wanted), "{form}, {wanted}: {ran:?}");
        }
        house.judged();
    }
}

#[test]
fn e13_an_address_that_is_none_is_refused_before_anything_starts() {
    let house = AgentHouse::build(&AgentPlan::default());
    let url = format!("url: \"{}\"", house.mock.url());
    for (bad, wanted) in [
        ("url: \"ftp://127.0.0.1/v1\"", "models.main.url"),
        ("url: \"127.0.0.1:80\"", "models.main.url"),
        ("url: \"http://me:pass-word@127.0.0.1/\"", "models.main.url"),
        ("url: \"http://\"", "models.main.url"),
    ] {
        with(&house, &url, bad);
        for command in [&["check"][..], &["run"], &["ask", "Hello?"]] {
            let ran = house.systole(command);
            assert_eq!(ran.code, Some(3), "{bad} {command:?}: {ran:?}");
            // `check` reports the faults of the file on its standard output.
            let told = [ran.stdout.as_str(), ran.stderr.as_str()].concat();
            assert!(told.contains(wanted) && !told.contains("pass-word"), "{bad}: {ran:?}");
        }
        with(&house, bad, &url);
    }
    assert!(!house.path().join("hello.db").exists(), "nothing was begun");
}

#[test]
fn e13_a_call_to_an_address_without_a_server_fails_with_the_address() {
    let free = format!("127.0.0.1:{}", ports::free());
    let rest = "limits: {outage: 0s}";
    for form in FORMS {
        let house =
            AgentHouse::build(&AgentPlan { form, replies: "[{say: Hello.}]", rest, ..AgentPlan::default() });
        with(&house, &house.mock.url(), &format!("http://{free}"));
        let ran = house.ask("Hello?");
        assert_eq!(ran.code, Some(1), "{form}: {ran:?}");
        for wanted in ["model.unavailable", &free, "after 3 attempts"] {
            assert!(ran.stderr.contains(wanted), "{form}, {wanted}: {ran:?}");
        }
        says_no_key(&ran);
        house.judged();
    }
}

#[test]
fn e13_a_proxy_that_answers_with_a_page_is_reported_as_what_it_is() {
    for form in FORMS {
        let replies = "[{say: \"<html>Log in first</html>\", content_type: text/html, times: always}]";
        let rest = "limits: {outage: 0s}";
        let house = AgentHouse::build(&AgentPlan { form, replies, rest, ..AgentPlan::default() });
        let ran = house.ask("Hello?");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{form}: {ran:?}");
        for wanted in ["model.unavailable", "answered 200 with a page", "models.main.url"] {
            assert!(ran.stderr.contains(wanted), "{form}, {wanted}: {ran:?}");
        }
        assert!(house.told().contains("model.unavailable"), "{form}: {}", house.told());
        house.judged();
    }
}
