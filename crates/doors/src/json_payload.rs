//! A payload that comes as JSON: made with the schema of its element, as an MCP host's arguments are.
//!
//! A client, a listener, an element and JSON come in; the XML that is judged, stored and routed goes out, or a refusal
//! with every mistake.

use axum::http::{HeaderMap, header};
use systole_kit::schema::find_nearest;

use super::mcp::tools;
use super::request_refusals::describe_unfit_request;
use systole_core::rules::admit::cut_excerpt;
use systole_core::rules::refusing::refuse_slips;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema};
use systole_core::types::flow::Refused;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
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
    build_from_json(organism, found.taken, text)
}

/// The payload that JSON makes of an element.
pub(super) fn build_from_json(
    organism: &Composition,
    taken: &ElementSchema,
    text: &[u8],
) -> Result<Vec<u8>, Refused> {
    let element = &*taken.name.local;
    let made =
        tools::find_model(organism, taken.schema).and_then(|model| model.from_json_text(element, text));
    match made {
        Some(Ok(document)) => Ok(document),
        Some(Err(slips)) => {
            let kept = Some(cut_excerpt(text, 0));
            Err(Refused { refusal: refuse_slips(element, slips), kept })
        }
        // The file was checked with the same model.
        None => {
            let words = format!("the schema of {element} cannot be read");
            Err(Refused { refusal: Refusal::new(Code::IngressUnavailable, words), kept: None })
        }
    }
}
