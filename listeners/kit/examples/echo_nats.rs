//! A listener over NATS: it answers an `<ask>` with the text that it was asked. It is configured by
//! `SYSTOLE_NATS`, `SYSTOLE_ORGANISM`, `SYSTOLE_LISTENER` and, if the broker wants keys,
//! `SYSTOLE_KEY_FILE`.

use systole_kit::Payload;
use systole_kit::nats::Worker;

const TALK: &str = "https://xml-pipeline.org/ns/talk/v1";

pub(crate) fn main() -> std::process::ExitCode {
    let worker = Worker::from_environment().version("1.0.0").description("Says what it was asked");
    worker.accepts(TALK, &["ask"]).returns(TALK, &["answer"]).answer_each(|turn| {
        let words = format!("You said: {}", turn.request().text());
        Payload::write(TALK, "answer", |inside| inside.text(&words))
    })
}
