//! The picture of a real MCP server reaches a model of every provider, byte for byte.

use serde_json::Value;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use super::house::{ToolHouse, npm, prepared};
use crate::program::systole_with;

const PROVIDERS: [&str; 5] = ["openai", "openai-responses", "anthropic", "gemini", "ollama"];

/// The picture as the server has it.
fn tiny_image() -> String {
    let file = "node_modules/@modelcontextprotocol/server-everything/dist/tools/get-tiny-image.js";
    let text = std::fs::read_to_string(prepared("mcp-npm").join(file)).unwrap();
    text.split('"').nth(1).expect("it is the first text of the file").to_owned()
}

fn mock() -> MockModel {
    let replies = "[{call: {get-tiny-image: {}}}, {say: I see it.}]";
    let script: String = PROVIDERS.iter().map(|provider| format!("{provider}-model: {replies}\n")).collect();
    MockModel::start(MockScript::parse(&script).unwrap(), MockOptions::default()).unwrap()
}

fn house(mock: &MockModel, files: &str) -> ToolHouse {
    let url = mock.url();
    let models = PROVIDERS.map(|provider| {
        format!(
            "  {provider}-model: {{provider: {provider}, model: {provider}-model, url: \"{url}\", key_env: MODEL_KEY{files}}}\n"
        )
    });
    let agents = PROVIDERS.map(|provider| {
        format!(
            "  {provider}-seer: {{model: {provider}-model, dialect: native, peers: [everything], entry: true, prompt: {{identity: You look.}}}}\n"
        )
    });
    let house = ToolHouse::new(&format!(
        "  everything: {{mcp: {}, tools: [get-tiny-image], safe: [get-tiny-image]}}\nmodels:\n{}agents:\n{}log: {{path: ./hello.db}}\n",
        npm("everything", ", stdio"),
        models.concat(),
        agents.concat(),
    ));
    house.pinned();
    house
}

/// Asks each agent, and returns the last request that its model got.
fn ask_all(house: &ToolHouse, mock: MockModel) -> Vec<Value> {
    for provider in PROVIDERS {
        let to = format!("{provider}-seer");
        let arguments = ["ask", "--to", &to, "What do you see?"];
        let ran = systole_with(house.path(), &arguments, &[("MODEL_KEY", "k-12345678")]);
        assert!(ran.code == Some(0) && ran.stdout.contains("I see it."), "{provider}: {ran:?}");
    }
    let seen = mock.stop();
    let last = |provider: &str| {
        let model = format!("{provider}-model");
        let own = seen.iter().rev().find(|request| request.model.as_deref() == Some(&model));
        own.expect("it was asked").body.clone()
    };
    PROVIDERS.iter().map(|provider| last(provider)).collect()
}

#[test]
fn e20_the_picture_of_a_real_server_reaches_a_model_of_every_provider() {
    let mock = mock();
    let house = house(&mock, ", files: [image]");
    let bodies = ask_all(&house, mock);
    let image = tiny_image();
    let url = format!("data:image/png;base64,{image}");
    let found = |body: &Value, place: &str| body.pointer(place).cloned().unwrap_or_default();
    let [openai, responses, anthropic, gemini, ollama] = bodies.as_slice() else {
        panic!("{}", bodies.len())
    };
    assert_eq!(found(openai, "/messages/4/content/1/image_url/url"), url, "{openai}");
    assert_eq!(found(responses, "/input/2/output/2/image_url"), url, "{responses}");
    assert_eq!(found(anthropic, "/messages/2/content/0/content/2/source/data"), image, "{anthropic}");
    assert_eq!(found(gemini, "/contents/2/parts/2/inlineData/data"), image, "{gemini}");
    assert_eq!(found(ollama, "/messages/4/images/0"), image, "{ollama}");
    for body in &bodies {
        let body = body.to_string();
        assert!(body.contains("[file 1: image/png, "), "{body}");
        assert!(!body.contains("sha256"), "a model sees no hash: {body}");
    }
    // The log has the bytes once, and the prompt names them.
    let log = rusqlite::Connection::open(house.path().join("hello.db")).unwrap();
    let count = |query: &str| log.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM document WHERE substr(bytes, 2, 3) = x'504e47'"), 1);
    drop(log);
    let replayed = house.systole(&["replay", "--all"]);
    assert!(replayed.stdout.contains("5 same, 0 differ"), "{replayed:?}");
    assert_eq!(house.systole(&["verify"]).code, Some(0));
}

#[test]
fn e20_a_model_without_files_is_told_that_it_does_not_see_them() {
    let mock = mock();
    let house = house(&mock, "");
    let (bodies, image) = (ask_all(&house, mock), tiny_image());
    for body in bodies {
        let body = body.to_string();
        assert!(body.contains(", not shown]"), "{body}");
        assert!(!body.contains(&image), "{body}");
    }
}
