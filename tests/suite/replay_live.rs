//! `systole replay --live`: the model of one agent is called for real, up to an amount of money. A mock of a provider
//! answers on this machine.

use std::path::Path;

use serde_json::Value;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use crate::program::{Ran, systole_with};
use crate::replay::named;

const KEY: &str = "sk-very-secret-key-1234";
const PRICE: &str = ", price: {in: 3, out: 15, per: 1M, currency: USD}";
const LIVE: [&str; 4] = ["--live", "assistant", "--money", "1USD"];

const COUNT: &str = "- say: '<thinking>The tool counts letters.</thinking><count><word>strawberry</word><letter>r</letter></count>'\n";

fn says(times: u32) -> String {
    format!(
        "- say: '<thinking>It found some.</thinking><attempt_completion><result>There are {times}.</result></attempt_completion>'\n"
    )
}

/// The agent of the examples, whose model answers over HTTP.
struct LiveHouse {
    folder: tempfile::TempDir,
    mock: MockModel,
}

impl LiveHouse {
    /// Records one question with the first answers; the others are for replays.
    fn recorded(answers: &[&str], edit: &dyn Fn(String) -> String) -> LiveHouse {
        let script = MockScript::parse(&answers.concat()).unwrap();
        let options = MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() };
        let mock = MockModel::start(script, options).unwrap();
        let folder = named("agent");
        let file = folder.path().join("organism.yaml");
        let url = mock.url();
        let model = |name: &str, more: &str| {
            format!(
                "  {name}: {{provider: openai, model: m, url: '{url}', key_env: MODEL_KEY, max_output: 1k, \
                 retry: {{attempts: 2, backoff: 1ms..2ms}}{more}}}\n"
            )
        };
        let models = model("main", PRICE) + &model("free", "");
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text
            .replace("  main: {provider: script, file: replies.yaml}\n", &models)
            .replace("agents:\n", "agents:\n  critic: {model: free, prompt: {identity: You doubt.}}\n");
        std::fs::write(&file, edit(text)).unwrap();
        let house = LiveHouse { folder, mock };
        let asked = house.systole(&["ask", "How many r are in strawberry?"]);
        assert_eq!(asked.code, Some(0), "{asked:?}");
        // No program may be started.
        std::fs::remove_dir_all(house.at().join("listeners")).unwrap();
        house
    }

    fn at(&self) -> &Path {
        self.folder.path()
    }

    fn systole(&self, arguments: &[&str]) -> Ran {
        systole_with(self.at(), arguments, &[("MODEL_KEY", KEY)])
    }

    /// A replay, and how many requests the provider got for it. The log stays as it was.
    fn replayed(&self, more: &[&str]) -> (Ran, usize) {
        let (log, before) = (std::fs::read(self.at().join("hello.db")).unwrap(), self.mock.seen().len());
        let ran = self.systole(&[&["replay"], more].concat());
        assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
        assert!(std::fs::read(self.at().join("hello.db")).unwrap() == log, "a replay writes nothing");
        (ran, self.mock.seen().len() - before)
    }

    /// The most that each recorded call might have cost.
    fn reserves(&self) -> Vec<String> {
        let records = self.systole(&["log", "@last", "-n", "0", "--json"]).json_lines();
        let bodies = records.iter().filter_map(|record| record["body"].as_str());
        let reserve =
            |body: &str| body.split_once(" reserve-money=\"")?.1.split('"').next().map(str::to_owned);
        bodies.filter_map(reserve).collect()
    }
}

#[track_caller]
fn has(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for words in words {
        assert!(ran.stdout.contains(words) || ran.stderr.contains(words), "no {words:?} in {ran:?}");
    }
}

#[test]
fn c4_a_live_model_answers_in_place_of_its_recorded_answers() {
    let (three, four) = (says(3), says(4));
    let other_call = COUNT.replace("<letter>r<", "<letter>s<");
    let busy = "- error: {status: 503}\n";
    let answers =
        [COUNT, &three, COUNT, &three, COUNT, &four, COUNT, &four, &other_call, busy, COUNT, &three];
    let house = LiveHouse::recorded(&answers, &|text| text);

    // The same answers: equal, and it cost something.
    let (same, requests) = house.replayed(&LIVE);
    has(&same, 0, &[", equal\n", "the model of assistant got 2 requests, for 0.", " USD of 1 USD\n"]);
    assert_eq!(requests, 2);
    let heads = house.mock.seen();
    assert_eq!(heads[0].body, heads[2].body, "it is asked as the recorded one was");

    // Another final: the first difference is the answer, with both texts. The tool's reply is the recorded one.
    let (other, requests) = house.replayed(&LIVE);
    has(&other, 1, &["differs\n", "call 1 turn 2, journal", "There are 3.", "There are 4.", "2 requests"]);
    assert_eq!(requests, 2);
    let (json, _) = house.replayed(&[&LIVE[..], &["--json", "--all"]].concat());
    let values = json.json_lines();
    let (first, used) = (&values[0]["differences"][0], &values[2]);
    assert_eq!(
        (json.code, &values[0]["verdict"], &first["part"]),
        (Some(1), &"differs".into(), &"body".into())
    );
    assert_eq!(
        (&used["live"], &used["requests"], &used["unknown"]),
        (&"assistant".into(), &2.into(), &0.into())
    );
    assert!(used["cost"].as_str().unwrap().ends_with(" USD"), "{used:#}");

    // The tool is called otherwise: the log has no reply to that, and the replay ends there.
    let (away, requests) = house.replayed(&LIVE);
    has(&away, 1, &["call 1 turn 1, journal", "<letter>s", "no answer in the log: letters at", "1 request,"]);
    assert_eq!(requests, 1);

    // A request that is repeated because the provider is busy is no difference.
    let (again, requests) = house.replayed(&LIVE);
    has(&again, 0, &[", equal\n", "3 requests"]);
    assert_eq!(requests, 3);
}

#[test]
fn c4_a_recorded_request_that_was_repeated_is_not_sent_again() {
    let (busy, three) = ("- error: {status: 503}\n", says(3));
    let house = LiveHouse::recorded(&[busy, COUNT, &three, COUNT, &three], &|text| text);
    let (same, requests) = house.replayed(&LIVE);
    has(&same, 0, &[", equal\n", "got 2 requests"]);
    assert_eq!(requests, 2);
}

#[test]
fn c4_a_live_model_may_answer_a_call_that_failed() {
    let folder = named("agent");
    let (at, three) = (folder.path(), says(3));
    let odd = "- error: {status: 400, body: too odd}\n";
    let script = MockScript::parse(&[odd, COUNT, &three].concat()).unwrap();
    let mock = MockModel::start(script, MockOptions::default()).unwrap();
    let text = std::fs::read_to_string(at.join("organism.yaml")).unwrap();
    let model = format!("main: {{provider: ollama, model: m, url: '{}'{PRICE}}}", mock.url());
    let text = text.replace("main: {provider: script, file: replies.yaml}", &model);
    std::fs::write(at.join("organism.yaml"), text).unwrap();
    let asked = systole_with(at, &["ask", "How many r are in strawberry?"], &[]);
    has(&asked, 1, &["model.invalid-request"]);
    has(&systole_with(at, &["replay"], &[]), 0, &[", equal\n"]);
    let both = [&["replay", "--with", "letters=python3 listeners/letters.py"], &LIVE[..]].concat();
    let live = systole_with(at, &both, &[]);
    has(
        &live,
        1,
        &["too odd", "<word>strawberry</word>", "letters got 1 request\n", "got 2 requests, for 0."],
    );
}

#[test]
fn c4_a_thread_without_prices_is_called_live_with_those_of_the_file() {
    let three = says(3);
    let house = LiveHouse::recorded(&[COUNT, &three, COUNT, &three], &|text| text.replace(PRICE, ""));
    let (refused, requests) = house.replayed(&LIVE);
    has(&refused, 3, &["models.main has no price", "try: models.main.price in the organism's file"]);
    assert_eq!(requests, 0);
    let file = house.at().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("1ms..2ms}}\n", &format!("1ms..2ms}}{PRICE}}}\n"))).unwrap();
    let (same, requests) = house.replayed(&LIVE);
    has(&same, 0, &[", equal\n", "got 2 requests, for 0."]);
    assert_eq!(requests, 2);
}

#[test]
fn c4_native_calls_are_the_same_with_other_ids() {
    let call = "- call: {count: {word: strawberry, letter: r}}\n";
    let answers = [call, "- say: Three.\n", call, "- say: Three.\n", "- say: Four.\n"];
    let native = |text: String| text.replace("    model: main\n", "    model: main\n    dialect: native\n");
    let house = LiveHouse::recorded(&answers, &native);
    let (same, _) = house.replayed(&LIVE);
    has(&same, 0, &[", equal\n"]);
    let (other, requests) = house.replayed(&LIVE);
    has(&other, 1, &["call 1 turn 1, journal", "Four."]);
    assert_eq!(requests, 1);
}

#[test]
fn c4_live_calls_never_cost_more_than_the_amount() {
    let three = says(3);
    let otherwise = COUNT.replace("The tool counts", "The tool knows");
    let answers = [COUNT, &three, COUNT, &otherwise, COUNT, &three];
    let house = LiveHouse::recorded(&answers, &|text| text);
    let reserves = house.reserves();
    let [first, second] = reserves.as_slice() else { panic!("{reserves:?}") };

    // Too little for the first call: nothing is sent, and nothing is said about the thread.
    let (none, requests) = house.replayed(&["--live", "assistant", "--money", "0.000001 USD"]);
    let may_cost = format!("the next call of the model of assistant may cost {first}");
    has(
        &none,
        5,
        &["call 1 turn 1: ", &may_cost, "0.000001 USD of 0.000001 USD is left", "try: a larger --money"],
    );
    assert_eq!((requests, none.stdout.contains("equal")), (0, false), "{none:?}");

    // Enough for one call. What was equal until then is not called equal.
    // The second is counted by what the provider reported of the first, and may be smaller.
    let most = first.max(second);
    let money = ["--live", "assistant", "--money", most.as_str()];
    let (one, requests) = house.replayed(&money);
    has(&one, 5, &["call 1 turn 2: ", "got 1 request, for 0."]);
    assert_eq!((requests, one.stdout.contains("equal")), (1, false), "{one:?}");
    // What differed until then is shown, and what was not reached is not.
    let (one, requests) = house.replayed(&[&money[..], &["--json"]].concat());
    let values = one.json_lines();
    let differences = values[0]["differences"].as_array().unwrap();
    assert_eq!((one.code, requests), (Some(5), 1), "{one:?}");
    let places: Vec<&str> = differences.iter().map(|one| one["place"].as_str().unwrap()).collect();
    assert!(!places.is_empty() && differences.iter().all(|one| one["part"] != "record"), "{places:?}");
    assert!(values[0]["ended"].as_str().unwrap().contains(most.as_str()), "{values:#?}");

    // The amount is for all threads together.
    let (all, requests) = house.replayed(&[&LIVE[..], &["--all"]].concat());
    has(&all, 0, &["1 same, 0 differ"]);
    assert_eq!(requests, 2);
    let again = house.systole(&["ask", "Again?"]);
    assert_ne!(again.code, Some(0), "the script has no more answers: {again:?}");
    let (all, _) = house.replayed(&[&money[..], &["--all", "--json"]].concat());
    assert_eq!(all.code, Some(5), "{all:?}");
}

#[test]
fn c4_a_live_model_that_gives_no_answer_ends_the_replay() {
    let three = says(3);
    let answers =
        [COUNT, &three, COUNT, "- error: {status: 400, body: too odd}\n", "- {say: half, cut: 2}\n"];
    let house = LiveHouse::recorded(&answers, &|text| text);
    let (refused, requests) = house.replayed(&LIVE);
    has(
        &refused,
        5,
        &["call 1 turn 2: model.invalid-request", "400", "2 requests", "try: again when the provider"],
    );
    assert_eq!((requests, refused.stdout.contains("equal")), (2, false), "{refused:?}");
    // An answer that was cut may be paid: its reserve counts.
    let (cut, _) = house.replayed(&LIVE);
    has(&cut, 5, &["call 1 turn 1: model.truncated", "1 request, for at most 0."]);
    let LiveHouse { folder, mock } = house;
    mock.stop();
    assert!(!refused.stdout.contains("differs") && !cut.stdout.contains("differs"), "{refused:?}\n{cut:?}");
    let down = systole_with(folder.path(), &[&["replay"], &LIVE[..]].concat(), &[("MODEL_KEY", KEY)]);
    has(&down, 5, &["call 1 turn 1: model.unavailable", "after 2 attempts"]);
    let plain = systole_with(folder.path(), &["replay"], &[]);
    has(&plain, 0, &[", equal\n"]);
}

#[test]
fn c4_what_cannot_be_called_live_is_refused_before_any_call() {
    let three = says(3);
    let house = LiveHouse::recorded(&[COUNT, &three, COUNT, &three], &|text| text);
    let money = |name: &'static str, amount: &'static str| vec!["--live", name, "--money", amount];
    let refused = |arguments: &[&str], code: i32, words: &str| {
        for more in [&[][..], &["--all"], &["--json"]] {
            let (ran, requests) = house.replayed(&[arguments, more].concat());
            has(&ran, code, &[words]);
            assert!(ran.stderr.contains("error: "), "{ran:?}");
            assert_eq!((requests, ran.stdout.contains("equal")), (0, false), "{arguments:?}: {ran:?}");
        }
    };
    refused(&["--live", "assistant"], 2, "--money <AMOUNT>");
    refused(&["--money", "1USD"], 2, "--live <NAME>");
    refused(&money("assistant", "one"), 2, "an amount and a currency, as 0.50USD");
    refused(&money("no name", "1USD"), 2, "is no name of an agent");
    refused(&money("letters", "1USD"), 2, "letters is no agent there");
    refused(&money("absent", "1USD"), 2, "one of the agents: assistant, critic");
    refused(&money("assistant", "1EUR"), 2, "the prices of models.main are in USD, and --money is in EUR");
    refused(&money("critic", "1USD"), 3, "models.free has no price");
    // The user's own file has the provider, the key and the prices, not the recorded configuration.
    let file = house.at().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("1ms..2ms}}\n", &format!("1ms..2ms}}{PRICE}}}\n"))).unwrap();
    refused(&money("critic", "1USD"), 2, "no request to critic is recorded there");
    std::fs::write(&file, text.replace("main", "first")).unwrap();
    refused(&LIVE, 3, "the organism's file has no models.main, the model of assistant");
    std::fs::write(&file, text).unwrap();
    let keyless = systole_with(house.at(), &[&["replay"], &LIVE[..]].concat(), &[]);
    has(&keyless, 3, &["the variable MODEL_KEY, which models.main.key_env names, is not set"]);
    assert!(!keyless.stdout.contains("equal"), "{keyless:?}");

    // An export is replayed in the same way. The provider is that of the file beside it.
    let export = house.systole(&["export", "@last", "-o", "t.zip"]);
    assert_eq!(export.code, Some(0), "{export:?}");
    let (absent, _) = house.replayed(&["t.zip", "--live", "absent", "--money", "1USD"]);
    has(&absent, 2, &["absent is no agent there"]);
    let stranger = std::fs::read_to_string(&file).unwrap().replace("MODEL_KEY", "OTHER_KEY");
    std::fs::write(house.at().join("other.yaml"), stranger).unwrap();
    let (other, _) = house.replayed(&[&["t.zip", "-f", "other.yaml"], &LIVE[..]].concat());
    has(&other, 3, &["the variable OTHER_KEY"]);
    let (same, requests) = house.replayed(&[&["t.zip"], &LIVE[..]].concat());
    has(&same, 0, &[", equal\n", "2 requests"]);
    assert_eq!(requests, 2);
    let values: Vec<Value> = house.replayed(&["--json"]).0.json_lines();
    assert_eq!(values.len(), 1, "without --live nothing more is printed");
}
