//! Agents and models in the organism's file: the result of each key, what the pump gets of it, what is stored, and
//! what is never printed.

use std::fs;
use std::path::Path;

use systole_agent::spec::{
    ActionLimit, CoreToolGroup, Dialect, OutputFormat, Provider, ThinkingRule, ToolChoice,
};
use systole_config::{self as config, FileMistakes, OrganismFile, page};
use systole_core::rules::classify::{of_item, of_message};
use systole_core::rules::todo;
use systole_core::types::composition::{DescribeScope, OnUnknown, Reach};
use systole_core::types::flow::PayloadKind;
use systole_core::types::ids::Name;
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::QName;

use crate::program::{Ran, systole};

const SMALL: &str = "organism: {name: hello}
models: {main: {provider: anthropic, model: some-model, key_env: ANTHROPIC_API_KEY}}
agents:
  helper: {model: main, prompt: {identity: You answer questions.}}        # accepts talk's ask, returns answer
";

const FULL: &str = "organism: {name: acme, entry: critic, preamble: Be honest., description: Answers questions about a code base}
payloads: {invoice: {number: word, total: number 0..}, invoice-receipt: {id: word}, ask: {what: word}}
models:
  smart: {provider: openai, model: some-model, url: 'http://127.0.0.1:8080/v1?api-version=2', key_env: KEY,
          headers_env: {X-Team: TEAM_TOKEN, x-region: REGION}, stream: false, timeout: {first: 10m, between: 30s}, window: 200k, max_output: 8k,
          params: {temperature: 0, stop: ['1', end], nested: {seed: 12, exact: 0.25, off: false, none: ~}},
          price: {in: 3, out: 15, cached: 0.3, per: 1M, currency: USD}, at_once: 2, retry: {attempts: 5, backoff: 2s..30s}, fallback: [rehearsal]}
  rehearsal: {provider: script, file: answers.yaml}
listeners:
  billing: {run: [python3, billing.py], accepts: [invoice], returns: [invoice-receipt], approval: {when: dangerous, tell: [notary]}}
agents:
  critic: {model: smart, dialect: native, sees: call, peers: [billing, notary], turns: 12, attempts: 2, thinking: free, actions: many,
           output: {format: json, schema: final.json}, describe: all, on_unknown: fail, tool_choice: notary__invoice, tool_output_max: 8KiB, core_tools: [view, plan],
           share: 20%, timeout: 2m, idle: 30s, in_flight: 3,
           prompt: {rules: [Be brief., Name sources.], identity: You judge., tool_calling: '', making_code_changes: Carefully., environment: ['OS: Linux', 'Shell: bash']}}
  notary: {model: rehearsal, accepts: [invoice], entry: false, prompt: {identity: You sign.}}
";

/// A folder with the files that `FULL` names.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("answers.yaml"), "critic: [{say: hello}]\n").unwrap();
    fs::write(folder.path().join("final.json"), "{\"type\": \"object\"}").unwrap();
    folder
}

fn load(folder: &Path, text: &str, settings: &[&str]) -> Result<OrganismFile, FileMistakes> {
    let path = folder.join("organism.yaml");
    fs::write(&path, text).unwrap();
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    config::load_set(&path, &settings)
}

fn loaded(text: &str) -> OrganismFile {
    load(folder().path(), text, &[]).unwrap_or_else(|refused| panic!("{refused}"))
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn talk(element: &str) -> QName {
    QName::new("https://xml-pipeline.org/ns/talk/v1", element)
}

/// A question has the same finals, and so the same prompt, for any payloads that goals ask the agent for.
#[test]
fn f6_what_only_goals_ask_for_is_kept_apart_from_what_an_agent_returns() {
    let file = loaded(
        "organism: {name: acme, entry: decide}
payloads: {review: {score: int 0..10, findings: text}, plan: {step: [line]}}
models: {main: {provider: anthropic, model: some-model, key_env: KEY}}
agents:
  critic: {model: main, accepts: [ask], returns: [answer, plan], prompt: {identity: You judge.}}
workflows:
  decide:
    accepts: [ask]
    returns: [answer]
    by: critic
    goals:
      - draft: {do: Plan it., gives: plan}
      - judge: {do: Judge it., gives: review}
      - answer: Say it.
",
    );
    let [critic] = file.agents.as_slice() else { panic!("one agent") };
    let names = |contracts: &[systole_agent::spec::ElementContract]| -> Vec<String> {
        contracts.iter().map(|one| one.element.local.to_string()).collect()
    };
    assert_eq!(names(&critic.returns), ["answer", "plan", "goal-output"]);
    assert_eq!(names(&critic.gives), ["review"]);
}

#[test]
fn the_section_of_an_agent_has_its_prompt_and_no_key() {
    let file = load(folder().path(), FULL, &["agents.critic.attempts=1"]).unwrap();
    let section = &file.composition.sections[&name("critic")];
    assert_eq!(section.path, "agents.critic");
    assert!(section.text.starts_with("model: smart\ndialect: native\nsees: call\n"), "{}", section.text);
    assert!(section.text.contains("\nattempts: 1\n") && section.text.contains("  identity: You judge.\n"));
    assert!(!section.text.contains("KEY"), "{}", section.text);
    let paths: Vec<&str> = file.composition.sections.values().map(|own| own.path.as_str()).collect();
    assert_eq!(paths, ["listeners.billing", "agents.critic", "agents.notary"]);
}

#[test]
fn the_smallest_agent_gets_every_default() {
    let file = loaded(SMALL);
    assert_eq!(file.warnings, []);
    let ([agent], [model]) = (file.agents.as_slice(), file.models.as_slice()) else { panic!("one of each") };
    assert_eq!(
        (agent.name.as_str(), agent.model.as_str(), agent.turns, agent.attempts),
        ("helper", "main", 10, 3)
    );
    assert_eq!(
        (agent.dialect, agent.thinking, agent.actions),
        (Dialect::Xml, ThinkingRule::Required, ActionLimit::One)
    );
    assert_eq!((agent.tool_output_max, &agent.tool_choice), (4096, &None));
    assert_eq!(agent.core_tools, CoreToolGroup::list_all());
    assert_eq!(
        (agent.output.format, &agent.output.schema, &agent.preamble),
        (OutputFormat::Text, &None, &None)
    );
    assert_eq!(agent.prompt[0].lines, ["You answer questions."]);
    let schema =
        |contract: &systole_agent::spec::ElementContract| agent.schemas[contract.schema].name.clone();
    assert_eq!((&agent.accepts[0].element, schema(&agent.accepts[0])), (&talk("ask"), "talk/".to_owned()));
    assert_eq!((&agent.returns[0].element, schema(&agent.returns[0])), (&talk("answer"), "talk/".to_owned()));
    let names: Vec<&str> = agent.schemas.iter().map(|schema| schema.name.as_str()).collect();
    assert_eq!(names, ["core.xsd", "envelope.xsd", "talk/", "notes/helper/", "meta.xsd"]);
    assert_eq!(
        (model.name.as_str(), model.provider, model.model.as_str()),
        ("main", Provider::Anthropic, "some-model")
    );
    assert_eq!((model.window, model.max_output, model.at_once), (128_000, 16_000, 4));
    assert_eq!((model.retry.attempts, model.retry.first_ms, model.retry.longest_ms), (10, 1_000, 60_000));
    assert_eq!(
        (model.key_env.as_deref(), &model.url, &model.file),
        (Some("ANTHROPIC_API_KEY"), &None, &None)
    );
    assert!(model.params.is_empty() && model.price.is_none() && model.fallback.is_empty());
    assert!(model.headers_env.is_empty() && model.stream);
    assert_eq!((model.timeout.first_ms, model.timeout.between_ms), (None, None), "those of the house");

    let composition = file.composition;
    assert_eq!(composition.entry, Some(name("helper")), "whom `ask` speaks to");
    let listener = composition.find_listener(&name("helper")).unwrap();
    assert!(matches!(listener.reach, Reach::Inline) && listener.entry);
    assert_eq!((listener.turns, listener.in_flight, listener.timeout_ms), (10, 16, 600_000));
    assert_eq!(
        (listener.idle_ms, listener.on_unknown, listener.describe),
        (None, OnUnknown::Retry, DescribeScope::Peers)
    );
    let to = of_message(&composition, &Name::new_operator(), &talk("ask"), None).unwrap();
    assert_eq!(to.0, name("helper"));
}

#[test]
fn every_key_of_an_agent_and_a_model_says_what_it_says() {
    let folder = folder();
    let file = load(folder.path(), FULL, &[]).unwrap_or_else(|refused| panic!("{refused}"));
    let [critic, _] = file.agents.as_slice() else { panic!("{:?}", file.agents) };
    assert_eq!(
        (critic.dialect, critic.thinking, critic.actions),
        (Dialect::Native, ThinkingRule::Free, ActionLimit::Many)
    );
    assert_eq!((critic.turns, critic.attempts, critic.tool_output_max), (12, 2, 8192));
    assert_eq!(critic.core_tools, [CoreToolGroup::View, CoreToolGroup::Plan]);
    assert_eq!(critic.tool_choice, Some(ToolChoice::Tool("notary__invoice".to_owned())));
    assert_eq!(critic.output.format, OutputFormat::Json);
    assert_eq!(critic.output.schema.as_deref(), Some(&serde_json::json!({"type": "object"})));
    assert_eq!(critic.preamble.as_deref(), Some("Be honest."));
    let sections: Vec<(&str, bool, usize)> =
        critic.prompt.iter().map(|one| (one.name.as_str(), one.is_list, one.lines.len())).collect();
    let wanted = [
        ("rules", true, 2),
        ("identity", false, 1),
        ("making_code_changes", false, 1),
        ("environment", true, 2),
    ];
    assert_eq!(sections, wanted, "in order of the file, without the empty one");
    let peers: Vec<(&str, &str)> =
        critic.peers.iter().map(|peer| (peer.name.as_str(), &*peer.accepts[0].element.local)).collect();
    assert_eq!(peers, [("billing", "invoice"), ("notary", "invoice")]);
    assert_eq!(critic.schemas[critic.peers[0].returns[0].schema].name, "payloads/");
    assert_eq!(critic.accepts[0].element, talk("ask"), "not the one that the file declares under this name");

    let [smart, rehearsal] = file.models.as_slice() else { panic!("{:?}", file.models) };
    assert_eq!((smart.provider, smart.window, smart.max_output), (Provider::OpenAi, 200_000, 8_000));
    assert_eq!((smart.url.as_deref(), smart.at_once), (Some("http://127.0.0.1:8080/v1?api-version=2"), 2));
    let headers = [("X-Team", "TEAM_TOKEN"), ("x-region", "REGION")];
    assert_eq!(smart.headers_env, headers.map(|(name, variable)| (name.to_owned(), variable.to_owned())));
    assert_eq!(
        (smart.stream, smart.timeout.first_ms, smart.timeout.between_ms),
        (false, Some(600_000), Some(30_000))
    );
    assert_eq!((smart.retry.attempts, smart.retry.first_ms, smart.retry.longest_ms), (5, 2_000, 30_000));
    assert_eq!(smart.fallback, ["rehearsal"]);
    let params = serde_json::json!({"temperature": 0, "stop": ["1", "end"],
        "nested": {"seed": 12, "exact": 0.25, "off": false, "none": null}});
    assert_eq!(serde_json::Value::Object(smart.params.clone()), params);
    let price = smart.price.unwrap();
    let (cached, per) = (price.cached.unwrap().to_string(), price.per);
    assert_eq!(
        (price.tokens_in.to_string(), price.tokens_out.to_string()),
        ("3 USD".into(), "15 USD".into())
    );
    assert_eq!((cached.as_str(), per), ("0.3 USD", 1_000_000));
    assert_eq!(rehearsal.file.as_deref(), Some(folder.path().join("./answers.yaml").as_path()));
    assert!(rehearsal.file.as_ref().unwrap().is_absolute());

    let listener = file.composition.find_listener(&name("critic")).unwrap();
    assert_eq!((listener.timeout_ms, listener.idle_ms, listener.in_flight), (120_000, Some(30_000), 3));
    assert_eq!(
        (listener.share_percent, listener.on_unknown, listener.describe),
        (20, OnUnknown::Fail, DescribeScope::All)
    );
    assert!(!file.composition.find_listener(&name("notary")).unwrap().entry);
    let codes: Vec<&str> = file.warnings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["config.unused-element", "config.prompt"], "the other `ask`, and the empty section");
}

/// The stored configuration gives back what the pump ran, with no file next to it. What only agents read is not part
/// of it.
#[test]
fn a_stored_configuration_with_agents_reads_back_the_same() {
    for text in [SMALL, FULL] {
        let folder = folder();
        let now = load(folder.path(), text, &["agents.helper.turns=3"]);
        let now = now.or_else(|_| load(folder.path(), text, &["agents.critic.turns=3"])).unwrap().composition;
        let directory = std::path::absolute(folder.path().join(".")).unwrap();
        drop(folder);
        let again =
            config::read_source(&now.source, &directory).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(format!("{again:?}"), format!("{now:?}"));
        assert!(again.listeners.values().any(|listener| listener.turns == 3));
    }
    // The schema of notes is the stored one, not the one that would be made today.
    let now = loaded(SMALL).composition;
    let source = String::from_utf8(now.source.to_vec()).unwrap();
    let older = source.replacen("A note of the agent to itself.", "A note that the agent had once", 1);
    assert_ne!(older, source);
    let again = config::read_source(older.as_bytes(), Path::new("/")).unwrap();
    let text = String::from_utf8(again.schemas.last().unwrap().text.to_vec()).unwrap();
    assert!(text.contains("that the agent had once"), "{text}");
}

#[test]
fn a_model_is_rehearsed_by_one_setting() {
    let folder = folder();
    let told = load(folder.path(), SMALL, &["models.main.provider=script"]).unwrap_err().to_string();
    assert!(told.contains("models.main.file: replies.yaml: there is no such file"), "{told}");
    fs::write(folder.path().join("replies.yaml"), "helper: []\n").unwrap();
    let file = load(folder.path(), SMALL, &["models.main.provider=script"]).unwrap();
    let model = &file.models[0];
    assert_eq!((model.provider, model.model.as_str(), &model.key_env), (Provider::Script, "", &None));
    assert!(model.file.as_ref().unwrap().ends_with("replies.yaml"));
    assert_ne!(file.composition.hash, loaded(SMALL).composition.hash, "what was set is hashed");
    let other = load(
        folder.path(),
        SMALL,
        &["models.main.provider=script", "models.main.file=answers.yaml", "models.main.params.seed=1"],
    );
    assert!(other.unwrap().models[0].file.as_ref().unwrap().ends_with("answers.yaml"));
}

/// No composer declares the tag, but the pump accepts a note by it: thoughts, then lists, and nothing else of the
/// agent's.
#[test]
fn notes_of_an_agent_are_judged_by_a_schema_of_the_house() {
    let composition = loaded(SMALL).composition;
    let helper = composition.find_listener(&name("helper")).unwrap();
    let tag = QName::new("https://xml-pipeline.org/ns/helper/v1", "helper");
    let Ok((PayloadKind::Note, schema)) = of_item(&composition, helper, &tag, None) else {
        panic!("it is a note")
    };
    let sources: Vec<SchemaSource> = (composition.schemas.iter())
        .map(|schema| SchemaSource { name: schema.name.clone(), xsd: schema.text.to_vec() })
        .collect();
    let mut judge = LibxmlJudge::compile_sources(&sources).unwrap();
    let id = judge.list_schemas().nth(schema.0).unwrap();
    let list = "<todo-until xmlns=\"https://xml-pipeline.org/ns/core/v1\" condition=\"found\"><step done=\"false\">look</step></todo-until>";
    for (inside, is_valid) in [
        (String::new(), true),
        ("<thought>I look.</thought>".to_owned(), true),
        (format!("<thought>I look.</thought><thought/>{list}{list}"), true),
        (list.to_owned(), true),
        ("<plan>x</plan>".to_owned(), false),
        ("words".to_owned(), false),
        ("<thought><b>x</b></thought>".to_owned(), false),
        ("<thought xmlns=\"\">x</thought>".to_owned(), false),
    ] {
        let note = format!("<helper xmlns=\"https://xml-pipeline.org/ns/helper/v1\">{inside}</helper>");
        assert_eq!(judge.judge_payload(id, note.as_bytes()) == SchemaVerdict::Valid, is_valid, "{note}");
        let lists = inside.matches("<todo-until").count();
        assert_eq!(todo::read_lists(note.as_bytes()).unwrap().len(), lists, "{note}");
    }
}

/// Payloads of an agent may use its namespace. A schema that declares its tag, or an import that could mean two
/// schemas, is reported.
#[test]
fn a_composer_has_the_namespace_of_an_agent_beside_the_house() {
    let folder = folder();
    let xsd = |imports: &str, namespace: &str, element: &str| {
        format!(
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"{namespace}\" \
             elementFormDefault=\"qualified\">{imports}<xs:element name=\"{element}\" type=\"xs:string\"/></xs:schema>"
        )
    };
    let own = "https://xml-pipeline.org/ns/helper/v1";
    let write = |file: &str, text: String| fs::write(folder.path().join(file), text).unwrap();
    write("own.xsd", xsd("", own, "review"));
    let text = SMALL.replace("{model: main,", "{model: main, schema: own.xsd, accepts: [review],");
    let file = load(folder.path(), &text, &[]).unwrap_or_else(|refused| panic!("{refused}"));
    let helper = file.composition.find_listener(&name("helper")).unwrap();
    assert_eq!(&*helper.accepts[0].name.ns, own);
    assert_ne!(helper.note, Some(helper.accepts[0].schema));
    let sources = file.composition.schemas.iter();
    let sources = sources.map(|one| SchemaSource { name: one.name.clone(), xsd: one.text.to_vec() });
    LibxmlJudge::compile_sources(&sources.collect::<Vec<_>>()).unwrap();

    write("own.xsd", xsd("", own, "helper"));
    let told = load(folder.path(), &text.replace("[review]", "[helper]"), &[]).unwrap_err();
    assert!(told.0.iter().any(|one| one.code.as_str() == "config.overlap"), "{told}");
    assert!(told.0[0].message.ends_with("is the root tag of its own notes"), "{told}");

    write("own.xsd", xsd("", own, "review"));
    write("other.xsd", xsd(&format!("<xs:import namespace=\"{own}\"/>"), "urn:other", "other"));
    let told = load(folder.path(), &format!("{text}schemas: [other.xsd]\n"), &[]).unwrap_err();
    assert_eq!((told.0.len(), told.0[0].code.as_str()), (1, "config.overlap"), "{told}");
}

#[test]
fn names_are_one_space_and_the_entry_is_the_only_agent_that_is_open() {
    let second = "  other: {model: main, prompt: {identity: You answer.}}\n";
    let two = loaded(&format!("{SMALL}{second}"));
    assert_eq!(two.composition.entry, None);
    assert_eq!(two.warnings.len(), 1, "a message without an addressee could go to both");
    assert_eq!(two.warnings[0].code.as_str(), "config.several-takers");
    let closed = loaded(&SMALL.replace("{model: main,", "{model: main, entry: false,"));
    assert_eq!(closed.composition.entry, None);
    let mine = "listeners: {boss: {run: [a], accepts: [ask], returns: [answer], turns: 3}}\n";
    let beside = loaded(&format!("{SMALL}{mine}"));
    assert_eq!(beside.composition.entry, Some(name("helper")), "the only agent");
    let boss =
        "  boss: {model: main, peers: [helper, other], accepts: [plan], prompt: {identity: You plan.}}\n";
    let text = format!("payloads: {{plan: text}}\n{SMALL}{second}{boss}")
        .replace("name: hello", "name: hello, entry: helper");
    assert_eq!(loaded(&text).warnings, [], "an agent is told to whom it may say each");
    let text = text.replace("peers: [helper, other]", "peers: [boss]");
    assert_eq!(loaded(&text).warnings[0].code.as_str(), "config.circle");
}

/// No text that looks like a key is printed: not at its own place, not next to another mistake, not as JSON.
#[test]
fn a_key_in_the_file_is_never_repeated() {
    let folder = folder();
    let secrets = ["sk-proj-0123456789abcdef", "hunter2", "me:", "hunter3", "hunter4"];
    let text = "organism: {name: hello}
models:
  one: {provider: openai, model: m, key_env: 'sk-proj-0123456789abcdef', colour: blue}
  two: {provider: openai, model: m, url: 'https://me:hunter2@example.org/v1', window: x}
  three: {provider: openai, model: m, url: 'me:hunter2@example.org'}
  four: {provider: openai, model: m, token: hunter4, url: 'https://example.org/?key=hunter3'}
  five: {provider: openai, model: m, params: {headers: [\"Bearer \\x73k-proj-0123456789abcdef\"]}}
agents: {helper: {model: one, prompt: {identity: You answer.}}}
";
    let path = folder.path().join("organism.yaml");
    fs::write(&path, text).unwrap();
    let ran = |arguments: &[&str]| -> Ran { systole(folder.path(), arguments) };
    let nowhere = "models.on.key_env=sk-proj-0123456789abcdef";
    for arguments in [&["check"][..], &["check", "--json"], &["run"], &["check", "--set", nowhere]] {
        let ran = ran(arguments);
        assert_eq!(ran.code, Some(3), "{arguments:?}");
        let told = [ran.stdout, ran.stderr].concat();
        assert!(told.contains("is not repeated"), "{told}");
        for secret in secrets {
            assert!(!told.contains(secret), "{secret} is told: {told}");
        }
    }
    let refused = config::load(&path).unwrap_err();
    assert_eq!(refused.0.len(), 8, "{refused}");
    assert!(page(&refused.0, true).contains("***"), "the place is shown all the same");
}

#[test]
fn check_says_of_an_agent_what_it_thinks_with() {
    let folder = folder();
    fs::write(folder.path().join("organism.yaml"), FULL).unwrap();
    let told = systole(folder.path(), &["check"]).stdout;
    assert!(told.contains("acme: 1 listener, 2 agents; 2 warnings"), "{told}");
    assert!(told.contains("  critic   thinks with smart in native; takes ask;"), "{told}");
    let json = systole(folder.path(), &["check", "--json"]).stdout;
    let value: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let critic = value["listeners"].as_array().unwrap().iter().find(|one| one["name"] == "critic").unwrap();
    assert_eq!((&critic["model"], &critic["dialect"]), (&"smart".into(), &"native".into()));
    assert_eq!(value["listeners"][0].get("model"), None, "a listener that is no agent");
}

/// The text of a file without a disk, as it is stored.
fn source_of(text: &str) -> Vec<u8> {
    source_in(4, FULL, text)
}

/// The same with that format, and the schemas that are stored for another text.
fn source_in(format: u32, whole: &str, text: &str) -> Vec<u8> {
    let stored = loaded(whole).composition.source;
    let schemas =
        stored.windows(10).position(|window| window == b"8:core.xsd").expect("they follow the file");
    let mut source = format!("24:systole configuration v{format}\n{}:{text}\n", text.len()).into_bytes();
    source.extend_from_slice(&stored[schemas..]);
    source
}

#[test]
fn c13_a_configuration_from_before_agents_were_asked_again_asks_a_person() {
    for (format, on_unknown) in
        [(1, OnUnknown::Ask), (2, OnUnknown::Ask), (3, OnUnknown::Ask), (4, OnUnknown::Retry)]
    {
        let of = |text: &str| {
            let stored = config::read_source(&source_in(format, SMALL, text), Path::new("/"));
            let stored = stored.unwrap_or_else(|refused| panic!("{refused}"));
            stored.find_listener(&name("helper")).unwrap().on_unknown
        };
        assert_eq!(of(SMALL), on_unknown, "v{format}");
        let written = SMALL.replace("{model: main,", "{model: main, on_unknown: fail,");
        assert_eq!(of(&written), OnUnknown::Fail, "v{format}: what the file says");
    }
}

#[test]
fn the_text_that_is_broken_below_is_whole_itself() {
    assert!(config::read_source(&source_of(FULL), Path::new("/")).is_ok());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    /// For any change to a file with agents, the result is a composition or diagnostics.
    #[test]
    fn no_text_breaks_the_reading_of_agents(
        at in 0..FULL.len(), gone in 0..40_usize, put in "[\\[\\]{}:,&*!|>'\"#%@` \t\r\n\\-?a-z0-9\u{e9}\u{202e}]{0,6}",
    ) {
        let text = [&FULL[..at], &put, &FULL[(at + gone).min(FULL.len())..]].concat();
        if let Err(refused) = config::read_source(&source_of(&text), Path::new("/")) {
            proptest::prop_assert!(!refused.0.is_empty());
            proptest::prop_assert!(refused.0.iter().all(|told| told.fix.is_some() || told.code.as_str() == "config.syntax"));
        }
    }
}
