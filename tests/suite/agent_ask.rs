//! An agent of a few lines, asked through the program: its answer, the prompt that its model gets, and the cost.

use systole_kit::namespaces;

use crate::organism::folder;
use crate::program::systole;

const FILE: &str = r"
organism: {name: hello}
models:
  main: {provider: anthropic, model: some-model, key_env: KEY_OF_NO_TEST, price: {in: 3, out: 15, per: 1M, currency: USD}}
agents:
  helper: {model: main, prompt: {identity: You answer questions.}}
";

const REPLIES: &str = r"
helper:
  - say: <thinking>Simple.</thinking><attempt_completion><result>It is 1 &lt; 2 &amp; so on.</result></attempt_completion>
    usage: {in: 1000, out: 100}
";

const REHEARSED: [&str; 2] = ["--set", "models.main.provider=script"];

#[test]
fn e13_the_smallest_agent_answers_from_a_script_and_reports_its_cost() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES)]);
    let run = |arguments: &[&str]| systole(folder.path(), &[arguments, &REHEARSED].concat());
    let asked = run(&["ask", "What is smaller?"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(0), "It is 1 < 2 & so on.\n"), "{asked:?}");
    let cost = run(&["cost"]);
    assert_eq!(
        cost.stdout, "helper  main  1 request, 1000 tokens in, 100 out, 0.0045 USD\n",
        "3 per million in and 15 out: {cost:?}"
    );
}

#[test]
fn e8_a_model_that_goes_on_with_its_prompt_gives_no_answer() {
    let file = FILE.replace("{model: main,", "{model: main, dialect: plain,");
    let replies = "helper:\n  - {say: '<core-[mark]>Turn 2 of 10.</core-[mark]>', times: always}\n";
    let folder = folder(&[("organism.yaml", &file), ("replies.yaml", replies)]);
    let asked = systole(folder.path(), &[&["ask", "hi"][..], &REHEARSED].concat());
    assert_ne!(asked.code, Some(0), "{asked:?}");
    assert!(format!("{asked:?}").contains("agent.own-markup"), "{asked:?}");
}

#[test]
fn b13_an_agent_asks_two_others_at_once() {
    let agents = "agents:
  helper: {model: main, turns: 4, entry: true, peers: [north, south], prompt: {identity: You ask both.}}
  north: {model: main, dialect: plain, accepts: [ask], prompt: {identity: You are north.}}
  south: {model: main, dialect: plain, accepts: [ask], prompt: {identity: You are south.}}
broadcast: {ask: all}
";
    let file = FILE.split_once("agents:").unwrap().0.to_owned() + agents;
    let replies = r#"
helper:
  - say: <thinking>x</thinking><ask>Where are you?</ask>
  - need: ['from="north">In the north.<', 'from="south">In the south.<']
    say: <thinking>x</thinking><attempt_completion><result>Both.</result></attempt_completion>
north: [{say: In the north.}]
south: [{say: In the south.}]
"#;
    let folder = folder(&[("organism.yaml", &file), ("replies.yaml", replies)]);
    let asked = systole(folder.path(), &[&["ask", "--to", "helper", "Go."][..], &REHEARSED].concat());
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(0), "Both.\n"), "{asked:?}");
}

#[test]
fn c8_the_prompt_of_a_model_is_the_one_that_the_journal_names() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES)]);
    let run = |arguments: &[&str]| systole(folder.path(), &[arguments, &REHEARSED].concat());
    assert_eq!(run(&["ask", "What is <smaller>?"]).code, Some(0));
    let shown = run(&["context", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let records = run(&["log", "@last", "--json"]);
    let started = records.stdout.lines().find(|line| line.contains("model-started")).unwrap();
    let started: serde_json::Value = serde_json::from_str(started).unwrap();
    let body = started["body"].as_str().unwrap();
    assert!(body.contains(namespaces::LISTENER), "{body}");
    assert!(body.contains(&format!("prompt=\"{}\"", shown["prompt"].as_str().unwrap())), "{body}");
    assert_eq!(shown["seq"], started["seq"]);
    let links = shown["links"].as_array().unwrap();
    assert!(links[0]["system"].as_str().unwrap().contains("You answer questions."));
    let question = &links[1]["messages"][0]["parts"][0]["text"];
    assert_eq!(question, "<message from=\"operator\">What is &lt;smaller&gt;?</message>");
    assert_eq!(links[2]["header"], "", "an ordinary turn has none");
}

#[test]
fn without_a_key_one_line_says_so_and_names_the_script() {
    let folder = folder(&[("organism.yaml", FILE)]);
    let asked = systole(folder.path(), &["ask", "Who?"]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    assert!(
        asked.stderr.contains("the variable KEY_OF_NO_TEST, which models.main.key_env names, is not set")
    );
    assert!(asked.stderr.contains("--set models.main.provider=script"), "{asked:?}");
    let rehearsed = systole(folder.path(), &[&["ask", "Who?"][..], &REHEARSED].concat());
    assert_eq!(rehearsed.code, Some(3), "{rehearsed:?}");
    assert!(rehearsed.stderr.contains("replies.yaml"), "{rehearsed:?}");
}
