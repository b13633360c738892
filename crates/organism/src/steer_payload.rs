//! Words to the work that goes on in a thread, as the `<steer>` that its listener reads in its next turn.
//!
//! A listener and a text come in; the payload goes out, or the words that say why there is none. It sends nothing.

use systole_core::rules::introspection::model_of;
use systole_core::types::composition::{Composition, ElementSchema, Listener};
use systole_kit::{DocumentLimits, Payload, QName, namespaces};

/// The text as an element that the listener takes: a question of the talk vocabulary, or its only element that
/// consists of text.
pub fn build_steer(composition: &Composition, listener: &Listener, text: &str) -> Result<Payload, String> {
    Ok(wrap_said(&write_words(composition, listener, text)?))
}

/// The text as a question of the talk vocabulary.
pub fn build_question(text: &str) -> Payload {
    wrap_said(&write_question(text))
}

fn wrap_said(said: &Payload) -> Payload {
    Payload::write(namespaces::CORE, "steer", |inside| inside.write_payload(said))
}

fn write_question(text: &str) -> Payload {
    Payload::write(namespaces::TALK, "ask", |inside| inside.text(text))
}

/// The text as an element that the listener takes, as it is sent to it.
pub fn write_words(composition: &Composition, listener: &Listener, text: &str) -> Result<Payload, String> {
    if listener.find_accepted(&QName::new(namespaces::TALK, "ask")).is_some() {
        return Ok(write_question(text));
    }
    let mut made = listener.accepts.iter().filter_map(|taken| write_words_alone(composition, taken, text));
    if let (Some(only), None) = (made.next(), made.next()) {
        return Ok(only);
    }
    let names: Vec<String> = listener
        .accepts
        .iter()
        .filter(|taken| listener.shows_outside(taken))
        .map(|taken| format!("<{}>", taken.name.local))
        .collect();
    Err(format!("{} takes {}, and none of them consists of text alone", listener.name, names.join(", ")))
}

/// An element that consists only of text; `None` if it needs more, or something else.
fn write_words_alone(composition: &Composition, taken: &ElementSchema, words: &str) -> Option<Payload> {
    let schema = composition.schemas.get(taken.schema.0)?;
    let made = model_of(composition, &schema.text)?.from_fields(&taken.name.local, &[words])?.ok()?;
    Payload::parse(&made, &DocumentLimits::FROM_PUMP).ok()
}
