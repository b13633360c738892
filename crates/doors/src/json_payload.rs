//! A payload that comes as JSON: made with the schema of its element, as an MCP host's arguments are.
//!
//! A client, a listener, an element and JSON come in; the XML that is judged, stored and routed goes out, or a refusal
//! with every mistake.

use std::cell::Cell;

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use systole_kit::schema::{GivenFile, RefusedFile, TakenFile, find_nearest};

use super::mcp::tools;
use super::request_refusals::describe_unfit_request;
use systole_core::rules::admit::cut_excerpt;
use systole_core::rules::refusing::refuse_slips;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema};
use systole_core::types::flow::Refused;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_organism::sent_files::SentFile;
use systole_show::columns::plain;

/// Whether a body is JSON, by its header.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// The payload of a client's message: the element that the client may send, to that listener or to the entry.
pub(super) fn build_payload(
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
    let open = tools::open_to(organism, client);
    let is_it =
        |tool: &&tools::OpenTool<'_>| tool.listener.name.as_str() == to && *tool.taken.name.local == *element;
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
pub(super) type KeepFile<'k> = &'k dyn Fn(Vec<u8>) -> Result<SentFile, Box<Refusal>>;

/// The payload that JSON makes of an element. The bytes of its files may be in the JSON.
pub(super) fn build_from_json(
    organism: &Composition,
    taken: &ElementSchema,
    text: &[u8],
    keep: KeepFile<'_>,
) -> Result<Vec<u8>, Refused> {
    let element = &*taken.name.local;
    let model = tools::find_model(organism, taken.schema);
    let unfit = Cell::new(None);
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
        Some(Err(slips)) => {
            let kept = Some(cut_excerpt(text, 0));
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
