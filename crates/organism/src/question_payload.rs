//! A question about files, as an agent takes it whose model takes them: talk's `<ask-with>`.

use systole_core::types::ids::Digest;
use systole_kit::{Payload, QName, namespaces};

/// The name of the element.
const ELEMENT: &str = "ask-with";

/// A file that a question is about. Its bytes are sent before.
pub struct QuestionFile<'f> {
    /// The hash of its bytes.
    pub hash: Digest,
    /// Its media type.
    pub media_type: &'f str,
    /// How many bytes it has.
    pub bytes: usize,
    /// What its sender calls it.
    pub name: Option<&'f str>,
}

/// The name of such a question.
pub fn name_question_with_files() -> QName {
    QName::new(namespaces::TALK, ELEMENT)
}

/// The question.
pub fn build_question_with_files(question: &str, files: &[QuestionFile<'_>]) -> Payload {
    Payload::write(namespaces::TALK, ELEMENT, |inside| {
        inside.open("question").text(question);
        for file in files {
            let start = inside.open("file").attr("sha256", &file.hash.to_string());
            let start = start.attr("type", file.media_type).attr("bytes", &file.bytes.to_string());
            match file.name {
                Some(name) => start.attr("name", name).empty(),
                None => start.empty(),
            }
        }
    })
}
