//! A server that speaks OpenAI's form and answers in its own manner: the smallest agent and each template to build
//! on answer their first question with it, and answer it after a kill in the middle of an answer without a person.

use std::path::Path;

use rustix::process::Signal;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use crate::organism::folder;
use crate::program::{PATIENCE, Ran, Running, command, systole, systole_with};

const VARIABLES: [(&str, &str); 1] = [("MODEL_KEY", "sk-any")];

/// What every answer of the servers says.
const WORDS: &str = "There are 3, and it scales.";

/// How a server answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// In prose, whatever it is asked for.
    Prose,
    /// In a code fence.
    Fenced,
    /// With its thoughts first.
    Thinks,
    /// As it is asked, with a call of a tool first if it has one.
    Obeys,
}

const MANNERS: [Manner; 4] = [Manner::Prose, Manner::Fenced, Manner::Thinks, Manner::Obeys];

impl Manner {
    /// Words or JSON in this manner.
    fn in_manner(self, content: &str) -> String {
        match self {
            Manner::Prose | Manner::Obeys => content.to_owned(),
            Manner::Fenced => format!("```json\n{content}\n```"),
            Manner::Thinks => format!("<think>Is it <count>?</think>\n\n{content}"),
        }
    }

    /// The answers that do not run out.
    fn replies(self, call: &str) -> String {
        let words = match self {
            Manner::Fenced => format!("```\n{WORDS}\n```"),
            _ => self.in_manner(WORDS),
        };
        let mut reply = serde_json::json!({"say": words, "times": "always"});
        if self != Manner::Prose {
            reply["fits"] = self.in_manner("{}").into();
        }
        let call = if self == Manner::Obeys && !call.is_empty() {
            format!("- {{call: {call}}}\n")
        } else {
            String::new()
        };
        format!("{call}- {reply}\n")
    }

    /// What a person reads of its answer in words.
    fn shown(self) -> String {
        if self == Manner::Fenced { format!("```\n{WORDS}\n```\n") } else { format!("{WORDS}\n") }
    }
}

/// An organism and its first question.
struct Template {
    /// Its folder in `config`. Empty for the smallest agent.
    name: &'static str,
    to: &'static str,
    question: &'static str,
    /// The call with which an obedient model begins.
    call: &'static str,
    /// Whether a goal asks for a payload, which prose is not.
    is_typed: bool,
}

const TEMPLATES: [Template; 6] = [
    Template {
        name: "",
        to: "assistant",
        question: "How many r are in strawberry?",
        call: "",
        is_typed: false,
    },
    Template {
        name: "agent",
        to: "assistant",
        question: "How many r are in strawberry?",
        call: "{count: {word: strawberry, letter: r}}",
        is_typed: false,
    },
    Template {
        name: "team",
        to: "coordinator",
        question: "What makes a heart beat?",
        call: "{search: {query: heart}}",
        is_typed: false,
    },
    Template {
        name: "coder",
        to: "coder",
        question: "The tests fail. Fix them.",
        call: "{search: {query: discount}}",
        is_typed: false,
    },
    Template {
        name: "research",
        to: "researcher",
        question: "How did sailors find their longitude?",
        call: "{search: {query: longitude}}",
        is_typed: false,
    },
    Template {
        name: "review",
        to: "review-change",
        question: "Review the last change.",
        call: "{search: {query: main}}",
        is_typed: true,
    },
];

/// The smallest agent, with the dialect that fits any model.
const SMALLEST: &str = "organism: {name: helper, entry: assistant}
models: {main: {provider: script, file: replies.yaml}}
agents:
  assistant: {model: main, dialect: plain, prompt: {identity: You answer questions in one sentence.}}
";

impl Template {
    /// A copy of it whose model is that mock.
    fn organism_with(&self, mock: &MockModel, more: &str) -> tempfile::TempDir {
        let folder = folder(&[("organism.yaml", SMALLEST)]);
        if !self.name.is_empty() {
            let source = Path::new("config").join(self.name);
            let copied = std::process::Command::new("cp").arg("-rT").arg(source).arg(folder.path()).status();
            assert!(copied.unwrap().success());
        }
        let path = folder.path().join("organism.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let model = format!(
            "{{provider: openai, model: m, url: \"{}\", key_env: MODEL_KEY, retry: {{attempts: 1}}}}",
            mock.url()
        );
        let mut text = text.replace("{provider: script, file: replies.yaml}", &model);
        // A review of a folder in it: around it are the folders of other tests.
        text = text.replace("code: ..", "code: ./src").replace("checkout.py, ..", "checkout.py, ./src");
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/main.py"), "print(3)\n").unwrap();
        if !text.contains("dialect:") {
            // A dialect that any model can answer in.
            let lines = text.split_inclusive('\n').flat_map(|line| {
                let dialect = line.starts_with("    model: ").then_some("    dialect: native\n");
                std::iter::once(line).chain(dialect)
            });
            text = lines.collect();
        }
        std::fs::write(&path, text + more).unwrap();
        let ask = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{}</ask>", self.question);
        std::fs::write(folder.path().join("ask.xml"), ask).unwrap();
        folder
    }

    /// The command that asks the question, and gives the same answer if it is repeated.
    fn send(&self) -> [&str; 7] {
        ["send", "--to", self.to, "--file", "ask.xml", "--key", "k1"]
    }
}

fn mock(script: &str) -> MockModel {
    let script = MockScript::parse(script).unwrap_or_else(|bad| panic!("{bad}\n{script}"));
    MockModel::start(script, MockOptions::default()).unwrap()
}

fn told(folder: &Path, ran: &Ran) -> String {
    let log = systole(folder, &["log", "@last"]);
    format!("{ran:?}\n{}{}", log.stdout, log.stderr)
}

#[test]
fn e8_a_model_of_any_manner_answers_the_first_question_of_the_readme_and_of_each_template() {
    for template in &TEMPLATES {
        for manner in MANNERS {
            let mock = mock(&manner.replies(template.call));
            let folder = template.organism_with(&mock, "");
            let ran =
                systole_with(folder.path(), &["ask", "--to", template.to, template.question], &VARIABLES);
            let words = format!("{} {manner:?}: {}", template.name, told(folder.path(), &ran));
            if template.is_typed && manner == Manner::Prose {
                // Asked three times, then the report has what came, and no one takes it for a review.
                let report = systole(folder.path(), &["log", "--json", "@last.review-1.read"]).stdout;
                assert!(report.contains("agent.json-required"), "{report}");
                assert!(report.contains(&format!("which was not accepted: {WORDS}")), "{report}");
            }
            let signed = if template.is_typed {
                "\nReviewed: 1 file (the files that changed last): main.py\n"
            } else {
                ""
            };
            assert_eq!(
                (ran.code, &*ran.stdout),
                (Some(0), &*format!("{}{signed}", manner.shown())),
                "{words}"
            );
            assert!(!template.name.is_empty() || mock.seen().len() == 1, "one question is enough: {words}");
        }
    }
}

#[test]
fn e7_after_prose_in_the_dialect_xml_ask_prints_what_came_and_the_dialect_that_takes_it() {
    let [template, ..] = &TEMPLATES;
    let said = format!("{WORDS}\n\u{1b}[31m and </b> \u{202e}none");
    let mock = mock(&format!("- {}\n", serde_json::json!({"say": said, "times": "always"})));
    let folder = template.organism_with(&mock, "");
    let path = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("dialect: plain", "dialect: xml")).unwrap();
    let ran = systole_with(folder.path(), &["ask", template.question], &VARIABLES);
    assert_eq!((ran.code, &*ran.stdout, mock.seen().len()), (Some(1), "", 3), "{ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [cause, fix, words, more, next] = lines[..] else { panic!("{ran:?}") };
    assert!(cause.starts_with("error: assistant: ") && cause.contains("agent.prose-only: "), "{cause}");
    assert!(!cause.contains("<ask-person>"), "no list of elements: {cause}");
    assert_eq!(fix, "Try: `dialect: plain`, which takes an answer without elements.");
    assert_eq!(words, format!("Its last answer, which was not accepted: {WORDS}"));
    assert!(more.contains("and </b>") && !more.contains(['\u{1b}', '\u{202e}']), "{more}");
    assert!(next.starts_with("  try: systole log sess-"), "{next}");
}

#[test]
fn e8_a_model_of_any_manner_brings_a_release_to_its_person() {
    let release = Template { name: "release", to: "release", question: "", call: "", is_typed: true };
    for manner in [Manner::Fenced, Manner::Thinks, Manner::Obeys] {
        let answers = [
            r#"{"goal": "plan", "scope": "The version."}"#,
            r#"{"version": "2.0.0", "steps": "Deploy."}"#,
            r#"{"goal": "plan", "met": "yes", "scope-left": false}"#,
        ];
        let replies =
            answers.map(|json| format!("- {}\n", serde_json::json!({"say": manner.in_manner(json)})));
        let mock = mock(&replies.concat());
        let folder = release.organism_with(&mock, "");
        let ran = systole_with(folder.path(), &["send", "release-request", "service=billing"], &VARIABLES);
        let words = format!("{manner:?}: {}", told(folder.path(), &ran));
        assert_eq!(ran.code, Some(6), "a person is asked: {words}");
        assert!(words.contains("Release this plan?"), "{words}");
    }
}

/// Asks, and kills the organism while its model answers.
fn killed_in_mid_answer(template: &Template, folder: &Path, mock: &MockModel) {
    let asking = Running::of(command(folder, &template.send()).envs(VARIABLES).spawn().unwrap());
    mock.wait(PATIENCE, |seen| seen.len() == 1).unwrap();
    asking.signal(Signal::KILL);
    assert_eq!(asking.end().code, None);
}

const CUT: &str = "- {say: There are 3 and more, chunk: 4, delay: 1h}\n";

#[test]
fn e18_after_a_kill_in_mid_answer_the_next_start_answers_without_a_person() {
    for (template, manner) in TEMPLATES.iter().zip(MANNERS.into_iter().rev().cycle()) {
        let manner = if template.is_typed { Manner::Thinks } else { manner };
        let mock = mock(&[CUT, &manner.replies(template.call)].concat());
        let folder = template.organism_with(&mock, "");
        killed_in_mid_answer(template, folder.path(), &mock);
        let ran = systole_with(folder.path(), &template.send(), &VARIABLES);
        let words = format!("{} {manner:?}: {}", template.name, told(folder.path(), &ran));
        assert_eq!(ran.code, Some(0), "{words}");
        assert!(ran.stdout.contains(WORDS), "{words}");
        assert!(ran.stderr.contains("may have been paid"), "{words}");
    }
}

#[test]
fn b15_a_request_that_a_kill_interrupted_counts_in_the_budget() {
    let [template, ..] = &TEMPLATES;
    // Each request keeps 4,000 tokens for its answer. Where two do not fit, the second has to be the last.
    for (tokens, is_last) in [(6_000, true), (60_000, false)] {
        let mock = mock(&[CUT, &Manner::Obeys.replies("")].concat());
        let folder = template.organism_with(&mock, &format!("budgets: {{tokens: {tokens}}}\n"));
        killed_in_mid_answer(template, folder.path(), &mock);
        let ran = systole_with(folder.path(), &template.send(), &VARIABLES);
        let words = format!("{tokens}: {}", told(folder.path(), &ran));
        assert_eq!(ran.code, Some(0), "{words}");
        assert_eq!(words.contains("refused to assistant: budget.tokens"), is_last, "{words}");
        let costs = systole(folder.path(), &["cost"]).stdout;
        assert!(costs.contains("1 of unknown"), "{costs}");
    }
}
