//! Pictures and files that clients send in their messages: the model sees them, a chat with them is found again, and what
//! cannot be taken is refused by its name.

use serde_json::{Value, json};

use super::chats::{OPEN, house};
use super::house::AgentHouse;
use crate::program::{Answer, ask, run_file, systole};

const CHATS: &str = "/openai/v1/chat/completions";
pub(super) const RED: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARwzEcQCukw/x0F8jngAAAABJRU5ErkJggg==";
const TOLD: &str = "[a file of 73 bytes, sha256 ";

/// A house whose model sees pictures and PDFs.
pub(super) fn house_that_sees(replies: &[&str], doors: &str) -> AgentHouse {
    let house = house(replies, doors);
    let file = house.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    let seeing = yaml.replace("key_env: MODEL_KEY", "key_env: MODEL_KEY, files: [image, pdf]");
    assert_ne!(yaml, seeing);
    std::fs::write(file, seeing).unwrap();
    house
}

fn post(house: &AgentHouse, path: &str, body: &Value) -> Answer {
    let headers = [("Content-Type", "application/json")];
    ask(&run_file(house.path()), "POST", path, &headers, &body.to_string())
}

fn picture(data: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}})
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn look(data: &str) -> Value {
    user(json!([{"type": "text", "text": "What is this?"}, picture(data)]))
}

fn chat(messages: &[Value]) -> Value {
    json!({"model": "helper", "messages": messages})
}

/// The text of an answer, and its thread.
fn read_said(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.json["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    (text, answer.header("systole-thread").unwrap().to_owned())
}

/// The newest request to the model.
fn newest(house: &AgentHouse) -> String {
    house.asked().last().unwrap().body.to_string()
}

#[test]
fn g10_a_picture_in_a_chat_is_seen_and_its_chat_is_found_again() {
    let house =
        house_that_sees(&["{say: Red.}", "{say: Still red.}", "{say: Blue.}", "{say: Red again.}"], OPEN);
    let organism = house.run();
    let (text, thread) = read_said(&post(&house, CHATS, &chat(&[look(RED)])));
    assert_eq!(text, "Red.");
    assert!(newest(&house).contains(RED) && !newest(&house).contains(TOLD), "{}", newest(&house));
    let answered = json!({"role": "assistant", "content": "Red."});
    let next = [look(RED), answered.clone(), user(json!("Sure?"))];
    let (text, same) = read_said(&post(&house, CHATS, &chat(&next)));
    assert_eq!(
        (text.as_str(), &same),
        ("Still red.", &thread),
        "the history with its picture finds the thread"
    );

    // Another picture is another chat, and the model of the new thread sees it.
    let mut bytes = RED.to_owned();
    bytes.replace_range(80..81, if &RED[80..81] == "A" { "B" } else { "A" });
    let other = [look(&bytes), answered, user(json!("Sure?"))];
    let (_, other_thread) = read_said(&post(&house, CHATS, &chat(&other)));
    assert_ne!(other_thread, thread);
    let asked = newest(&house);
    assert!(asked.contains(&bytes) && asked.contains("What the client reports of the chat"), "{asked}");
    assert!(asked.contains(TOLD), "the report says where a file was: {asked}");
    // The answer is asked for again: the question with its picture, in a thread of its own.
    let (text, again) = read_said(&post(&house, CHATS, &chat(&[look(RED)])));
    assert!(text == "Red again." && again != thread && newest(&house).contains(RED));
    let shown = systole(house.path(), &["log", &again, "--raw"]);
    assert!(shown.stdout.contains("<ask-with"), "{}", shown.stdout);
    organism.interrupt();
}

#[test]
fn g10_chat_windows_send_pictures() {
    for recorded in [
        include_str!("../../fixtures/chat-windows/open-webui.json"),
        include_str!("../../fixtures/chat-windows/librechat.json"),
    ] {
        let house = house_that_sees(&["{say: A picture.}"], OPEN);
        let organism = house.run();
        let recorded: Value = serde_json::from_str(recorded).unwrap();
        let request = &recorded["requests"]["image"];
        let headers = request["headers"].as_object().unwrap();
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let answer = ask(&run_file(house.path()), "POST", CHATS, &headers, &request["body"].to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        let parts = request["body"]["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        let sent =
            parts.as_array().unwrap().iter().find_map(|part| part["image_url"]["url"].as_str()).unwrap();
        assert!(newest(&house).contains(sent), "{}", newest(&house));
        organism.interrupt();
    }
}

#[test]
fn g10_a_response_takes_pictures_and_files() {
    let house = house_that_sees(&["{say: A plan.}", "{say: Yes.}"], OPEN);
    let organism = house.run();
    let pdf = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";
    let data = base64(pdf.as_bytes());
    let input = json!([user(json!([
        {"type": "input_text", "text": "What is in them?"},
        {"type": "input_image", "image_url": format!("data:image/png;base64,{RED}")},
        {"type": "input_file", "filename": "plan.pdf", "file_data": format!("data:application/pdf;base64,{data}")},
    ]))]);
    let first = post(&house, "/openai/v1/responses", &json!({"model": "helper", "input": input}));
    assert_eq!((first.status, &first.json["status"]), (200, &json!("completed")), "{first:?}");
    assert!(newest(&house).contains(RED) && newest(&house).contains(&data), "{}", newest(&house));
    assert!(newest(&house).contains("plan.pdf"));
    let id = first.json["id"].as_str().unwrap();
    let items =
        ask(&run_file(house.path()), "GET", &format!("/openai/v1/responses/{id}/input_items"), &[], "");
    let text = items.json["data"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("What is in them?\n[a file of 73 bytes, sha256 "), "{text}");
    let next = json!({"model": "helper", "input": "Sure?", "previous_response_id": id});
    assert_eq!(post(&house, "/openai/v1/responses", &next).json["status"], "completed");
    organism.interrupt();
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn g10_files_that_cannot_be_taken_are_refused_by_their_names() {
    let house = house_that_sees(&[], OPEN);
    let organism = house.run();
    let with = |part: Value| chat(&[user(json!([{"type": "text", "text": "What is this?"}, part]))]);
    let url = |url: &str| with(json!({"type": "image_url", "image_url": {"url": url}}));
    let words = |body: &Value| {
        let answer = post(&house, CHATS, body);
        let error = &answer.json["error"];
        assert_eq!(error["param"], "messages", "{answer:?}");
        (
            answer.status,
            error["code"].as_str().unwrap_or_default().to_owned(),
            error["message"].as_str().unwrap().to_owned(),
        )
    };
    let (status, _, said) = words(&url("https://example.org/a.png"));
    assert!(status == 400 && said.contains("an address that is not fetched: send the bytes"), "{said}");
    let (status, _, said) = words(&url("data:image/png;base64,!!!"));
    assert!(status == 400 && said.contains("which is not base64"), "{said}");
    let (status, code, said) = words(&url(&format!("data:image/png;base64,{}", base64(b"plain words"))));
    assert!(
        status == 422 && code == "payload.file-type" && said.contains("no known type"),
        "{status} {code} {said}"
    );
    let (_, code, said) = words(&url("data:image/png;base64,"));
    assert!(code == "payload.file-type" && said.contains("the file is empty"), "{code} {said}");
    let (status, _, said) =
        words(&with(json!({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}})));
    assert!(
        status == 400 && said.contains("\"input_audio\": texts, and pictures and files with their bytes"),
        "{said}"
    );
    let (status, _, said) = words(&with(json!({"type": "file", "file": {"file_id": "file-1"}})));
    assert!(status == 400 && said.contains("\"file\""), "{said}");
    let (_, _, said) = words(&chat(&[user(json!([picture(RED)]))]));
    assert!(said.contains("the last message must be the user's, with a text"), "{said}");
    let many: Vec<Value> = (0..17_u8)
        .map(|at| {
            let mut bytes = base64_bytes(RED);
            bytes.push(at);
            picture(&base64(&bytes))
        })
        .collect();
    let parts: Vec<Value> = std::iter::once(json!({"type": "text", "text": "Which?"})).chain(many).collect();
    let many = post(&house, CHATS, &chat(&[user(json!(parts))]));
    let said = many.json["error"]["message"].as_str().unwrap();
    assert!(many.status == 422 && said.contains("17 files are more than the 16 of a message"), "{many:?}");
    // A client that tells the model what it is has no files there.
    let system = json!({"role": "system", "content": [{"type": "text", "text": "Be brief."}, picture(RED)]});
    let (status, _, said) = words(&chat(&[system, user(json!("Hello?"))]));
    assert!(status == 400 && said.contains("files go into the messages of the user"), "{said}");
    let decision = user(json!([{"type": "text", "text": "/reject a1"}, picture(RED)]));
    let (status, _, said) = words(&chat(&[decision]));
    assert!(status == 400 && said.contains("a decision takes no files"), "{said}");
    assert!(house.asked().is_empty());
    organism.interrupt();
}

#[test]
fn g10_a_chat_goes_on_behind_a_file_that_was_refused() {
    let house = house_that_sees(&["{say: Four.}"], OPEN);
    let organism = house.run();
    let refused = |part: Value| user(json!([{"type": "text", "text": "And this?"}, part]));
    let plain = format!("data:text/plain;base64,{}", base64(b"plain words"));
    let history = [
        refused(json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})),
        refused(json!({"type": "file", "file": {"file_data": plain, "filename": "a.txt"}})),
        refused(json!({"type": "input_audio"})),
        user(json!("Never mind: 2+2?")),
    ];
    let (text, _) = read_said(&post(&house, CHATS, &chat(&history)));
    let asked = newest(&house);
    assert!(
        text == "Four." && asked.contains("image_url") && asked.contains("that was not taken]"),
        "{asked}"
    );
    assert!(asked.contains("[a file of 11 bytes, sha256 ") && asked.contains("input_audio"), "{asked}");
    organism.interrupt();
}

fn base64_bytes(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[test]
fn g10_an_entry_whose_model_sees_nothing_takes_no_picture_but_goes_on_with_its_chat() {
    let house = house(&["{say: I cannot see.}"], OPEN);
    let organism = house.run();
    let refused = post(&house, CHATS, &chat(&[look(RED)]));
    let words = refused.json["error"]["message"].as_str().unwrap();
    assert!(refused.status == 422 && words.contains("helper takes no files"), "{refused:?}");
    assert_eq!(refused.json["error"]["code"], "payload.file-type");
    // A picture that was sent to another model before keeps no chat from going on.
    let answered = json!({"role": "assistant", "content": "Red."});
    let (text, _) = read_said(&post(&house, CHATS, &chat(&[look(RED), answered, user(json!("Sure?"))])));
    assert!(text == "I cannot see." && newest(&house).contains(TOLD) && !newest(&house).contains(RED));
    organism.interrupt();
}

#[test]
fn g11_a_picture_in_a_run_is_seen_and_belongs_to_its_run() {
    let house = house_that_sees(&["{say: Red.}"], "doors: {ag-ui: true}");
    let organism = house.run();
    let run = |run: &str, data: &str| {
        let source = json!({"type": "data", "value": data, "mimeType": "image/png"});
        let content =
            json!([{"type": "text", "text": "What\u{1} is this?"}, {"type": "image", "source": source}]);
        let message = json!({"id": "m1", "role": "user", "content": content});
        let body = json!({"threadId": "t", "runId": run, "messages": [message], "tools": [], "context": [], "state": {}});
        post(&house, "/ag-ui/helper", &body)
    };
    let first = run("r1", RED);
    assert!(first.status == 200 && first.body.contains("Red."), "{first:?}");
    assert!(newest(&house).contains(RED));
    assert!(run("r1", RED).body.contains("Red."), "the same run again is joined");
    assert_eq!(house.asked().len(), 1);
    let capabilities = ask(&run_file(house.path()), "GET", "/ag-ui/helper", &[], "");
    assert_eq!(capabilities.json["multimodal"]["input"]["file"], true);
    let other = run("r1", &base64(&[base64_bytes(RED), vec![0]].concat()));
    assert!(other.body.contains("has asked something else"), "{other:?}");
    let refused = run("r2", "!!!");
    assert!(refused.status == 400 && refused.body.contains("which is not base64"), "{refused:?}");
    organism.interrupt();
}
