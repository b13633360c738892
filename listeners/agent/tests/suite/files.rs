//! Pictures and PDFs that tools answer with: what the model reads about them, and the bytes in each provider's form.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use systole_agent::model::{
    AnswerFuture, AnswerWatcher, FileKind, HttpLimits, MessageAuthor, MessageFile, MessagePart, Model,
    ModelAnswer, ModelRequest, Models, NativeCall, ServedBy, StopReason, SystemRandom, TokenUsage,
};
use systole_agent::spec::{self, Dialect, Provider};
use systole_kit::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage};
use systole_kit::{DocumentLimits, Payload};

use super::bench::{FORMS, call, model, request, said, text};
use super::requests::sent;
use super::stage::{AgentStage, helper};

/// The smallest picture: one pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89,
];
const PDF: &[u8] = b"%PDF-1.7\n%%EOF";

fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The answer of an MCP tool with these files.
fn tool_result(files: &[(&str, &[u8])]) -> Payload {
    let mut inside = "<text>Here it is.</text>".to_owned();
    for (media_type, bytes) in files {
        let (size, hash) = (bytes.len(), hash_of(bytes));
        inside +=
            &format!("<other kind=\"image\" type=\"{media_type}\" bytes=\"{size}\" sha256=\"{hash}\"/>");
    }
    let payload = format!("<tool-result xmlns=\"https://xml-pipeline.org/ns/mcp/v1\">{inside}</tool-result>");
    Payload::parse(payload.as_bytes(), &DocumentLimits::FROM_PUMP).unwrap()
}

fn file(number: usize, kind: FileKind, media_type: &str, bytes: &[u8]) -> MessagePart {
    MessagePart::File(MessageFile {
        number,
        hash: hash_of(bytes),
        kind,
        media_type: media_type.to_owned(),
        bytes: bytes.len() as u64,
        content: Ok(bytes.into()),
    })
}

/// A call of a tool, whose result has a picture and a PDF.
fn request_files() -> ModelRequest {
    let result = MessagePart::Result {
        id: "a1".to_owned(),
        name: "search".to_owned(),
        text: "Here it is.".to_owned(),
        is_error: false,
    };
    let files = [file(1, FileKind::Image, "image/png", PNG), file(2, FileKind::Pdf, "application/pdf", PDF)];
    ModelRequest {
        messages: vec![
            said(MessageAuthor::User, vec![text("What do you see?")]),
            said(MessageAuthor::Assistant, vec![call("a1", "search", "{}")]),
            said(MessageAuthor::User, [vec![result], files.to_vec()].concat()),
        ],
        header: Some("the header".to_owned()),
        ..request("")
    }
}

/// The body that a provider gets from a model that takes these files.
fn body_of(provider: Provider, files: &[FileKind], request: ModelRequest) -> Value {
    let model = spec::ModelSpec { files: files.to_vec(), ..model(provider, "") };
    sent(&model, "", request).json()
}

#[test]
fn e20_a_file_of_a_tool_has_the_form_of_each_provider() {
    let (png, pdf) = (BASE64_STANDARD.encode(PNG), BASE64_STANDARD.encode(PDF));
    let words = |text: &str| json!({"type": "text", "text": text});
    let openai = &body_of(Provider::OpenAi, FileKind::ALL, request_files())["messages"];
    assert_eq!(openai[3]["content"], "Here it is.", "{openai}");
    let url = |of: &str, data: &str| format!("data:{of};base64,{data}");
    let wanted = json!([
        words("[file 1]"),
        {"type": "image_url", "image_url": {"url": url("image/png", &png)}},
        words("[file 2]"),
        {"type": "file", "file": {"filename": "file-2.pdf", "file_data": url("application/pdf", &pdf)}},
        words("the header"),
    ]);
    assert_eq!((&openai[4]["role"], &openai[4]["content"]), (&json!("user"), &wanted));

    let anthropic = &body_of(Provider::Anthropic, FileKind::ALL, request_files())["messages"][2]["content"];
    let source = |of: &str, data: &str| json!({"type": "base64", "media_type": of, "data": data});
    assert_eq!(anthropic.as_array().map(Vec::len), Some(1), "{anthropic}");
    let wanted = json!([
        words("Here it is."),
        words("[file 1]"),
        {"type": "image", "source": source("image/png", &png)},
        words("[file 2]"),
        {
            "type": "document",
            "source": source("application/pdf", &pdf),
            "cache_control": {"type": "ephemeral"},
        },
        words("the header"),
    ]);
    assert_eq!(anthropic[0]["content"], wanted);

    let responses = &body_of(Provider::OpenAiResponses, FileKind::ALL, request_files())["input"];
    let text = |text: &str| json!({"type": "input_text", "text": text});
    let wanted = json!([
        text("Here it is."),
        text("[file 1]"),
        {"type": "input_image", "image_url": url("image/png", &png), "detail": "auto"},
        text("[file 2]"),
        {"type": "input_file", "filename": "file-2.pdf", "file_data": url("application/pdf", &pdf)},
    ]);
    assert_eq!((&responses[2]["type"], &responses[2]["output"]), (&json!("function_call_output"), &wanted));
    assert_eq!(responses[3], json!({"role": "developer", "content": "the header"}));

    let gemini = &body_of(Provider::Gemini, FileKind::ALL, request_files())["contents"][2]["parts"];
    let wanted = json!([
        {"text": "[file 1]"},
        {"inlineData": {"mimeType": "image/png", "data": png}},
        {"text": "[file 2]"},
        {"inlineData": {"mimeType": "application/pdf", "data": pdf}},
        {"text": "the header"},
    ]);
    assert!(gemini[0].get("functionResponse").is_some(), "{gemini}");
    assert_eq!(gemini.as_array().map(|parts| json!(parts[1..])), Some(wanted));

    let ollama = &body_of(Provider::Ollama, &[FileKind::Image], request_files())["messages"][4];
    assert_eq!(ollama["images"], json!([png]));
    assert_eq!(ollama["content"], "[file 1]\n[file 2 is not shown: Ollama takes no PDF]\nthe header");
}

#[test]
fn e20_a_model_gets_the_files_that_it_takes_and_the_reason_for_the_others() {
    for form in FORMS {
        let body = body_of(form, &[], request_files()).to_string();
        assert!(body.contains("[file 1 is not shown: this model takes no image/png]"), "{form:?}: {body}");
        assert!(!body.contains(&BASE64_STANDARD.encode(PNG)), "{form:?}");
    }
    // The newest files have the room.
    let large = |first: u8| [&[first][..], &vec![0; (8 << 20) - 1]].concat();
    let files = [1_u8, 2, 3].map(|n| file(usize::from(n), FileKind::Image, "image/png", &large(n)));
    let mut asked = request("");
    asked.messages = vec![said(MessageAuthor::User, files.to_vec())];
    let body = body_of(Provider::OpenAi, FileKind::ALL, asked);
    let parts = body["messages"][1]["content"].as_array().unwrap();
    let words: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let wanted = ["[file 1 is not shown: newer files fill the 20 MiB of a request]", "[file 2]", "[file 3]"];
    assert_eq!(words, wanted);
}

#[test]
fn e20_a_picture_that_is_too_large_for_its_provider_is_not_sent_to_it() {
    let large = [PNG, &vec![0; 4 << 20]].concat();
    for (form, is_sent) in [(Provider::OpenAi, true), (Provider::Anthropic, false)] {
        let mut asked = request("");
        asked.messages = vec![said(MessageAuthor::User, vec![file(1, FileKind::Image, "image/png", &large)])];
        let body = body_of(form, FileKind::ALL, asked).to_string();
        let words = "[file 1 is not shown: its provider takes no picture of more than 3932160 bytes]";
        assert_eq!(body.contains(words), !is_sent, "{form:?}");
    }
}

/// Calls a tool, and then says that it is done. Keeps what it was asked.
#[derive(Default)]
struct Looker {
    dialect: Option<Dialect>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Model for Looker {
    fn ask(&self, request: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let mut asked = self.asked.lock().unwrap();
        asked.push(request);
        let part = if self.dialect == Some(Dialect::Xml) {
            text("<thinking>I look.</thinking>\n<search><query>plan</query></search>")
        } else {
            MessagePart::Call(NativeCall {
                id: format!("a{}", asked.len()),
                name: "search".to_owned(),
                arguments: "{\"query\": \"plan\"}".to_owned(),
            })
        };
        let answer = ModelAnswer {
            parts: vec![part],
            stop: StopReason::Tool,
            usage: TokenUsage::default(),
            by: "main".to_owned(),
            served: ServedBy::default(),
        };
        Box::pin(async move { Ok(answer) })
    }
}

/// An agent of that dialect whose model takes pictures, and its model.
fn looking(dialect: Dialect, files: &[FileKind]) -> (AgentStage, Arc<Looker>) {
    let looker = Arc::new(Looker { dialect: Some(dialect), asked: Mutex::default() });
    let limits = spec::ModelSpec { files: files.to_vec(), ..super::stage::limits() };
    let all = vec![(limits, looker.clone() as Arc<dyn Model>)];
    let models = Models::new(all, Box::new(SystemRandom), &HttpLimits::default()).unwrap();
    (AgentStage::asking(helper(dialect), Arc::new(models), "Where is the plan?"), looker)
}

/// The files of the last request, each with its number, and the bytes or why there are none.
fn files_of(looker: &Looker) -> Vec<(usize, Result<Vec<u8>, String>)> {
    let asked = looker.asked.lock().unwrap();
    let parts = asked.last().unwrap().messages.iter().flat_map(|message| &message.parts);
    let files = parts.filter_map(|part| match part {
        MessagePart::File(file) => Some((file.number, file.content.clone().map(|bytes| bytes.to_vec()))),
        _ => None,
    });
    files.collect()
}

#[tokio::test]
async fn e20_a_model_sees_the_picture_of_a_tool_in_every_dialect() {
    for dialect in [Dialect::Native, Dialect::Xml, Dialect::XmlFinal] {
        let (mut stage, looker) = looking(dialect, &[FileKind::Image]);
        stage.heard.lock().unwrap().blobs.insert(hash_of(PNG), PNG.to_vec());
        stage.ask().await;
        stage.answer(vec![Some(tool_result(&[("image/png", PNG)]))], Vec::new()).await;
        assert_eq!(files_of(&looker), [(1, Ok(PNG.to_vec()))], "{dialect:?}");
        let shown = stage.shown();
        assert!(shown.contains("Here it is.") && shown.contains("[file 1: image/png, 33 bytes]"), "{shown}");
        // A model sees no hash. The prompt that is stored has it.
        assert!(!shown.contains(&hash_of(PNG)), "{shown}");
        let (_, segments, _) = stage.prompt();
        assert!(segments.last().unwrap().contains(&hash_of(PNG)), "{segments:?}");
        // The same picture again is the same file, and is read once.
        stage.answer(vec![Some(tool_result(&[("image/png", PNG)]))], Vec::new()).await;
        assert_eq!(files_of(&looker), [(1, Ok(PNG.to_vec())), (1, Ok(PNG.to_vec()))]);
        assert_eq!(stage.heard.lock().unwrap().read, [hash_of(PNG)]);
    }
}

#[tokio::test]
async fn e20_what_is_no_picture_is_named_and_ends_no_work() {
    let (mut stage, looker) = looking(Dialect::Native, &[FileKind::Image]);
    let (zip, unread) = (b"PK\x03\x04 and more".as_slice(), b"\x89PNG\r\n\x1a\n of others".as_slice());
    stage.heard.lock().unwrap().blobs.insert(hash_of(zip), zip.to_vec());
    stage.heard.lock().unwrap().blobs.insert(hash_of(b""), Vec::new());
    stage.ask().await;
    let files: [(&str, &[u8]); 5] = [
        ("image/png", zip),
        ("image/svg+xml", b"<svg/>"),
        ("image/png", b""),
        ("application/pdf", PDF),
        ("image/png", unread),
    ];
    stage.answer(vec![Some(tool_result(&files))], Vec::new()).await;
    let wrong = Err("its first bytes are not those of image/png".to_owned());
    let unknown = Err("payload.unknown-blob: no message of your view names it".to_owned());
    assert_eq!(files_of(&looker), [(1, wrong.clone()), (3, wrong), (5, unknown)]);
    let shown = stage.shown();
    for line in
        ["[file 2: image/svg+xml, 6 bytes, not shown]", "[file 4: application/pdf, 14 bytes, not shown]"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

/// Rebuilt from the view, the conversation is the same, so the prompt of the provider stays in its cache.
#[tokio::test]
async fn e20_a_conversation_that_is_rebuilt_has_the_same_files() {
    let answered = tool_result(&[("image/png", PNG), ("application/pdf", PDF)]);
    let (mut stage, _) = looking(Dialect::Native, FileKind::ALL);
    stage.ask().await;
    stage.answer(vec![Some(answered.clone())], Vec::new()).await;
    let whole = stage.prompt();
    let (mut later, looker) = looking(Dialect::Native, FileKind::ALL);
    for bytes in [PNG, PDF] {
        later.heard.lock().unwrap().blobs.insert(hash_of(bytes), bytes.to_vec());
    }
    let spot = MessageSpot::Answer { turn: 1, ordinal: 0 };
    let message = ViewedMessage { seq: 2, from: "search".to_owned(), to: None, spot, payload: answered };
    let outcome = stage.heard.lock().unwrap().journal.iter().find_map(|entry| match entry {
        systole_kit::journal::JournalEntry::Result(outcome) => Some(outcome.clone()),
        systole_kit::journal::JournalEntry::Started(_) => None,
    });
    let outcome = outcome.unwrap();
    let words =
        ModelWords { turn: 1, stop: outcome.stop, text: outcome.text, tokens_in: None, tokens_out: None };
    later.take_up(2, vec![ViewEntry::Words(words), ViewEntry::Message(message)]).await;
    assert_eq!(later.prompt(), whole);
    assert_eq!(files_of(&looker), [(1, Ok(PNG.to_vec())), (2, Ok(PDF.to_vec()))]);
}

/// A picture of that width and height, as far as its header says so.
fn picture(media_type: &str, width: u32, height: u32) -> Vec<u8> {
    let (w, h) = (width.to_be_bytes(), height.to_be_bytes());
    let bytes: Vec<u8> = match media_type {
        "image/png" => [&PNG[..16], &w, &h, &PNG[24..]].concat(),
        "image/gif" => {
            [&b"GIF89a"[..], &width.to_le_bytes()[..2], &height.to_le_bytes()[..2], &[0; 8]].concat()
        }
        // Another segment comes before the one with the size.
        "image/jpeg" => {
            [&[0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0xff, 0xc0, 0, 17, 8], &h[2..], &w[2..], &[0; 12]].concat()
        }
        _ => {
            let (w, h) = ((width - 1).to_le_bytes(), (height - 1).to_le_bytes());
            [&b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0"[..], &w[..3], &h[..3]].concat()
        }
    };
    bytes
}

/// The tokens that an agent reserves for a request with this file, and the others with it.
async fn reserve_of(kind: FileKind, media_type: &str, bytes: &[u8]) -> u64 {
    let (mut stage, looker) = looking(Dialect::Native, &[kind]);
    stage.heard.lock().unwrap().blobs.insert(hash_of(bytes), bytes.to_vec());
    stage.ask().await;
    stage.answer(vec![Some(tool_result(&[(media_type, bytes)]))], Vec::new()).await;
    assert_eq!(files_of(&looker), [(1, Ok(bytes.to_vec()))]);
    let heard = stage.heard.lock().unwrap();
    let started = heard.journal.iter().rev().find_map(|entry| match entry {
        systole_kit::journal::JournalEntry::Started(started) => started.reserve_tokens,
        systole_kit::journal::JournalEntry::Result(_) => None,
    });
    started.unwrap()
}

#[tokio::test]
async fn e20_a_picture_is_reserved_by_its_width_and_height_and_a_pdf_by_its_pages() {
    for media_type in ["image/png", "image/gif", "image/jpeg", "image/webp"] {
        let small = reserve_of(FileKind::Image, media_type, &picture(media_type, 1, 1)).await;
        for (width, height, tokens) in [(1_000, 1_000, 2_000), (300, 400, 258), (9_000, 9_000, 5_000)] {
            let other = reserve_of(FileKind::Image, media_type, &picture(media_type, width, height)).await;
            assert_eq!(other - small, tokens - 258, "{media_type} {width}x{height}");
        }
    }
    let pdf = |pages: &str| format!("%PDF-1.7\n{pages:<100}\n%%EOF").into_bytes();
    let one = reserve_of(FileKind::Pdf, "application/pdf", &pdf("<</Type /Pages>> <</Type /Page>>")).await;
    let three = "<< /Type /Page /A 1>> <</Type/Page>> <</Type\r\n/Page/B 2>> /Type /PageLabel";
    let three = reserve_of(FileKind::Pdf, "application/pdf", &pdf(three)).await;
    assert_eq!(three - one, 6_000);
    // Without a page that can be seen, a page is expected.
    assert_eq!(reserve_of(FileKind::Pdf, "application/pdf", &pdf("")).await, one);
}

/// A header that is cut ends no work.
#[tokio::test]
async fn e20_a_damaged_header_of_a_picture_is_reserved_by_its_size() {
    for (media_type, length) in [("image/png", 14), ("image/gif", 8), ("image/jpeg", 14), ("image/webp", 14)]
    {
        let whole = picture(media_type, 1_000, 1_000);
        let tokens = reserve_of(FileKind::Image, media_type, &whole[..length]).await;
        let small = reserve_of(FileKind::Image, media_type, &picture(media_type, 1, 1)).await;
        // The line that names it says another size.
        assert!(tokens.abs_diff(small) <= 1, "{media_type}: {tokens}, not {small}");
    }
}
