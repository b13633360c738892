//! How a model is reached: its address, and the variables that hold its key and its further headers.
//!
//! In come the nodes of the file, out come checked values. It reads no environment, and nothing that looks like a key is
//! ever repeated.

use super::declared::variable;
use super::desk::Desk;
use super::secrets::looks_like_key;
use super::value;
use super::yaml::Node;
use systole_core::types::codes::Code;

/// The longest name of a header.
const NAME: usize = 64;
/// Headers that say how a request is sent, which only the sender knows.
const OURS: [&str; 10] = [
    "host",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "expect",
    "proxy-authorization",
];
/// What the names of parameters contain that hold secrets.
const SECRET: [&str; 5] = ["key", "token", "secret", "password", "sig"];

/// The name of the variable that holds the key.
pub(super) fn key_env(desk: &mut Desk, node: &Node, path: &str) -> Option<String> {
    let found = value::text(desk, node, path)?;
    if looks_like_key(&found.value) {
        desk.hide(found.at, &found.value);
        let told = format!("{path}: what stands here looks like a key itself, and is not repeated");
        let mend = "the name of the environment variable that holds it, as OPENAI_API_KEY";
        desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
        return None;
    }
    variable(desk, &found.value, found.at, path);
    Some(found.value)
}

/// An address: with a host, over HTTP, perhaps with a query, and without credentials.
pub(super) fn url(desk: &mut Desk, node: &Node, path: &str) -> Option<String> {
    let found = value::text(desk, node, path)?;
    let written = found.value.as_str();
    let rest = written.split_once("://").map_or(written, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((credentials, _)) = authority.rsplit_once('@') {
        desk.hide(found.at, credentials);
        let told = format!("{path}: a name or password stands in it, and is not repeated");
        desk.tell(Code::ConfigValue, found.at, &told, Some("the address alone; key_env names the key"));
        return None;
    }
    if let Some((_, behind)) = rest.split_once('#') {
        desk.hide(found.at, behind);
        let told = format!("{path}: what follows the `#` would never be sent, and is not repeated");
        desk.tell(Code::ConfigValue, found.at, &told, Some("the address without it"));
        return None;
    }
    if let Some((_, query)) = rest.split_once('?').filter(|(_, query)| holds_secret(query)) {
        desk.hide(found.at, query);
        let told = format!("{path}: its query looks like it holds a key, and is not repeated");
        let mend = "a query without it; key_env names the key, headers_env the values of other headers";
        desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
        return None;
    }
    let lower = written.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        let told = format!("{path}: `{written}` begins neither with http:// nor with https://");
        let bare = format!("http://{written}");
        let mend = if written.contains("://") { "http://HOST:PORT/PATH, or https://" } else { &bare };
        desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
        return None;
    }
    let parsed = written.parse::<ureq::http::Uri>().ok();
    let host = parsed.as_ref().and_then(ureq::http::Uri::host).filter(|host| !host.is_empty());
    let port = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map(|(_, port)| port);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if host.is_none() || !is_port {
        let told = [path, ": `", written, "` is no address of a host, with a port and a path where needed"];
        desk.tell(Code::ConfigValue, found.at, &told.concat(), Some("http://127.0.0.1:8080/v1"));
        return None;
    }
    Some(found.value)
}

/// Whether a query has a parameter that holds a secret.
fn holds_secret(query: &str) -> bool {
    query.split('&').any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = name.to_ascii_lowercase();
        SECRET.iter().any(|secret| name.contains(secret)) || looks_like_key(value)
    })
}

/// Further headers: each name with the variable that holds its value.
pub(super) fn headers(desk: &mut Desk, node: &Node, path: &str) -> Vec<(String, String)> {
    let entries = value::map(desk, node, node.span, path).unwrap_or_default();
    let mut headers: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let name = entry.key.as_str();
        let is_name = name.len() <= NAME
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let wrong = if !is_name {
            Some(("is no name of a header", "letters, digits, - and _, as in X-Team"))
        } else if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            Some(("is set by the sender of the request", "leave it out"))
        } else if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            Some(("is listed twice: case does not count in names of headers", "one of the two"))
        } else {
            None
        };
        if let Some((why, mend)) = wrong {
            desk.tell(Code::ConfigValue, entry.at, &format!("{path}: `{name}` {why}"), Some(mend));
            continue;
        }
        if let Some(variable) = key_env(desk, &entry.value, &value::joined(path, name)) {
            headers.push((name.to_owned(), variable));
        }
    }
    headers
}
