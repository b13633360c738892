//! A payload that comes as JSON: made with the schema of its element, as an MCP host's arguments are.
//!
//! A client, a listener, an element and JSON come in; the XML that is judged, stored and routed goes out, or a refusal
//! with every mistake.

use std::cell::Cell;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use systole_kit::schema::{GivenFile, RefusedFile, SchemaModel, TakenFile, find_nearest};

use crate::limits;
use crate::open_elements::{SendableElement, find_model, list_open};
use systole_api::request_refusals::describe_unfit_request;
use systole_core::rules::admit::cut_excerpt;
use systole_core::rules::refusing::refuse_slips;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema};
use systole_core::types::flow::Refused;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_organism::sent_files::SentFile;
use systole_show::columns::plain;

/// The payload of a client's message: the element that the client may send, to that listener or to the entry.
pub fn build_payload(
    organism: &Composition,
    client: &Name,
    (to, element): (Option<&str>, Option<&str>),
    text: &[u8],
    keep: KeepFile<'_>,
) -> Result<Vec<u8>, Refused> {
    let bare = |refusal: Refusal| Refused { refusal, kept: None };
    let Some(element) = element else {
        let words = "JSON is the content of an element, and element= does not name one";
        return Err(bare(
            describe_unfit_request(words).fixed_by("?element=NAME; the page /send lists what you may send"),
        ));
    };
    let Some(to) = to.or(organism.entry.as_ref().map(Name::as_str)) else {
        let words = "this organism has no entry, and to= names no listener";
        return Err(bare(
            describe_unfit_request(words).fixed_by("to=LISTENER; the page /send lists what you may send"),
        ));
    };
    let open = list_open(organism, client);
    let is_it =
        |tool: &&SendableElement<'_>| tool.listener.name.as_str() == to && *tool.taken.name.local == *element;
    let Some(found) = open.iter().find(is_it) else {
        let known = || open.iter().map(|tool| &*tool.taken.name.local).filter(|known| *known != element);
        let near = find_nearest(element, known()).map(|near| format!("; did you mean {near}?"));
        let (to, element) = (plain(to), plain(element));
        let words = format!("{to} takes no {element} from you{}", near.unwrap_or_default());
        let fix = "to=LISTENER&element=NAME; the page /send lists what you may send";
        return Err(bare(describe_unfit_request(words).fixed_by(fix)));
    };
    build_from_json(organism, found.taken, text, keep)
}

/// Keeps the bytes of a file for a message of the client.
pub type KeepFile<'k> = &'k dyn Fn(Vec<u8>) -> Result<SentFile, Box<Refusal>>;

/// The payload that JSON makes of an element. The bytes of its files may be in the JSON.
pub fn build_from_json(
    organism: &Composition,
    taken: &ElementSchema,
    text: &[u8],
    keep: KeepFile<'_>,
) -> Result<Vec<u8>, Refused> {
    let element = &*taken.name.local;
    let model = find_model(organism, taken.schema);
    let (unfit, has_files) = (Cell::new(None), model.as_ref().is_some_and(SchemaModel::has_files));
    let made = model.and_then(|model| {
        model.from_json_with_files(element, text, &|given| {
            take_file(given, keep).map_err(|refusal| {
                let fix = refusal.fix.as_deref().unwrap_or(refusal.code.fix()).to_owned();
                unfit.set(unfit.get().or(Some(refusal.code)));
                RefusedFile { message: refusal.message.to_string(), fix }
            })
        })
    });
    match made {
        Some(Ok(document)) => Ok(document),
        Some(Err(mut slips)) => {
            let mut kept = Some(cut_excerpt(text, 0));
            if has_files {
                kept = Some(cut_excerpt(&replace_files(text), 0));
                for slip in &mut slips {
                    let received = replace_files(slip.received.as_bytes());
                    slip.received = String::from_utf8_lossy(&received).into_owned();
                }
            }
            let mut refusal = refuse_slips(element, slips);
            refusal.code = unfit.get().unwrap_or(refusal.code);
            Err(Refused { refusal, kept })
        }
        // The file was checked with the same model.
        None => {
            let words = format!("the schema of {element} cannot be read");
            Err(Refused { refusal: Refusal::new(Code::IngressUnavailable, words), kept: None })
        }
    }
}

/// Keeps a file whose bytes are in the JSON.
fn take_file(given: GivenFile<'_>, keep: KeepFile<'_>) -> Result<TakenFile, Box<Refusal>> {
    let (GivenFile::Data(text) | GivenFile::Path(text)) = given;
    let bytes = BASE64_STANDARD.decode(text).map_err(|fault| {
        let words = format!("data is not base64: {fault}");
        Refusal::new(Code::Invalid, words)
            .fixed_by("\"data\": the bytes of the file in base64, with its padding")
    })?;
    let SentFile { hash, media_type, bytes } = keep(bytes)?;
    Ok(TakenFile { hash: hash.to_string(), media_type: media_type.to_owned(), bytes, name: None })
}

/// What is in the place of the bytes of a file in JSON that is refused.
const REPLACED: &[u8] = b"\"(the bytes of a file)\"";

/// JSON without the bytes of files: what is `data`, and long base64 in another place. A log keeps what was refused, and
/// an erasure would not find a file in it. The JSON may be broken, or cut.
fn replace_files(text: &[u8]) -> Vec<u8> {
    let (mut replaced, mut rest, mut is_data) = (Vec::with_capacity(text.len()), text, false);
    while let Some(at) = rest.iter().position(|byte| *byte == b'"') {
        let (before, string) = rest.split_at(at);
        let (string, after) = string.split_at(find_string_end(string));
        let is_value =
            is_data && before.contains(&b':') && before.iter().all(|byte| b": [\t\r\n".contains(byte));
        let is_hidden = is_value || is_encoded(string);
        replaced.extend_from_slice(before);
        replaced.extend_from_slice(if is_hidden { REPLACED } else { string });
        let is_key = |string| serde_json::from_slice::<String>(string).is_ok_and(|key| key == "data");
        is_data = !is_hidden && string.len() <= limits::DATA_KEY && is_key(string);
        rest = after;
    }
    replaced.extend_from_slice(rest);
    replaced
}

/// Whether a string may be base64, right or damaged, that is longer than a hash.
fn is_encoded(string: &[u8]) -> bool {
    let string = string.strip_suffix("…".as_bytes()).unwrap_or(string);
    string.len() > limits::PLAIN_WORD && string.iter().all(u8::is_ascii_graphic)
}

/// Where the string ends that begins there with its quote: after the next one, or with the text.
fn find_string_end(text: &[u8]) -> usize {
    let mut is_escaped = true;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' if !is_escaped => return at + 1,
            _ => is_escaped = at > 0 && *byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::replace_files;

    #[test]
    fn refused_json_is_kept_without_the_bytes_of_its_files() {
        let hash = format!(r#"{{"sha256": "{}", "note": "{}"}}"#, "a0".repeat(32), "some words ".repeat(20));
        for (json, kept) in [
            (
                r#"{"photo": {"data": "QUJD", "name": "a.png"}}"#,
                r#"{"photo": {"data": NOTE, "name": "a.png"}}"#,
            ),
            (r#"{"data":"QUJD"} {"data" : ["QUJD"]}"#, r#"{"data":NOTE} {"data" : [NOTE]}"#),
            (r#"{"d\u0061ta": "QU\"JD\\", "a": "data"}"#, r#"{"d\u0061ta": NOTE, "a": "data"}"#),
            (r#"{"data": "QUJD"#, r#"{"data": NOTE"#),
            (r#"{"data": 5, "note": "x"}, "b", "data""#, r#"{"data": 5, "note": "x"}, "b", "data""#),
            (r#"{"data": "QUJD…"#, r#"{"data": NOTE"#),
            (&format!(r#"{{"photo": "{}…"#, "QUJ/".repeat(25)), r#"{"photo": NOTE"#),
            (&format!(r#""%{}""#, "QUJ/".repeat(25)), "NOTE"),
            (&hash, &hash),
            ("", ""),
        ] {
            let made = String::from_utf8(replace_files(json.as_bytes())).unwrap();
            assert_eq!(made, kept.replace("NOTE", "\"(the bytes of a file)\""), "{json}");
        }
    }
}
