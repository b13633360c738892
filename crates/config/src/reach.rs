//! How a model is reached: its address, and the variables for its key and its extra headers.
//!
//! Input: the nodes of the file. Output: checked values. This module reads no environment and never repeats anything
//! that looks like a key.

use super::diagnostics::Diagnostics;
use super::forms::VARIABLE;
use super::key::{KeyForm, KeyRow};
use super::names::variable;
use super::secrets::looks_like_key;
use super::section::form;
use super::tree::Node;
use super::value;
use crate::limits;

/// Headers that only the sender can set.
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
/// Texts in the names of parameters that hold secrets.
const SECRET: [&str; 5] = ["key", "token", "secret", "password", "sig"];

form! {
    /// The name of the variable that holds a key.
    pub(super) KeyVariable -> String { KeyForm::Name(VARIABLE), key_env }
}

/// The name of the variable that holds the key.
pub(super) fn key_env(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<String> {
    let found = value::text(diagnostics, node, path)?;
    if looks_like_key(&found.value) {
        diagnostics.hide(found.at, &found.value);
        let message = format!("{path}: this looks like a key itself, and is not repeated");
        let fix = "the name of the environment variable that holds it, as OPENAI_API_KEY";
        diagnostics.report_value(found.at, &message, fix);
        return None;
    }
    variable(diagnostics, &found.value, found.at, path);
    Some(found.value)
}

form! {
    /// An address without credentials.
    pub(super) WebAddress -> String { KeyForm::Pattern("^[Hh][Tt][Tt][Pp][Ss]?://"), url }
}

/// An address: with a host, over HTTP, optionally with a query, and without credentials.
pub(super) fn url(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<String> {
    let found = value::text(diagnostics, node, path)?;
    let written = found.value.as_str();
    let rest = written.split_once("://").map_or(written, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((credentials, _)) = authority.rsplit_once('@') {
        diagnostics.hide(found.at, credentials);
        let message = format!("{path}: it has a name or password, and is not repeated");
        diagnostics.report_value(found.at, &message, "the address alone; key_env names the key");
        return None;
    }
    if let Some((_, behind)) = rest.split_once('#') {
        diagnostics.hide(found.at, behind);
        let message = format!("{path}: what follows the `#` would never be sent, and is not repeated");
        diagnostics.report_value(found.at, &message, "the address without it");
        return None;
    }
    if let Some((_, query)) = rest.split_once('?').filter(|(_, query)| holds_secret(query)) {
        diagnostics.hide(found.at, query);
        let message = format!("{path}: its query looks like it holds a key, and is not repeated");
        // Only a model has `headers_env`; a listener of an MCP server at an address has `key_env` alone.
        let fix = match path.starts_with("models.") {
            true => "a query without it; key_env names the key, headers_env the values of other headers",
            false => "a query without it; key_env names the variable of the key",
        };
        diagnostics.report_value(found.at, &message, fix);
        return None;
    }
    let lower = written.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        let message = format!("{path}: `{written}` begins neither with http:// nor with https://");
        let bare = format!("http://{written}");
        let fix = if written.contains("://") { "http://HOST:PORT/PATH, or https://" } else { &bare };
        diagnostics.report_value(found.at, &message, fix);
        return None;
    }
    let parsed = written.parse::<ureq::http::Uri>().ok();
    let host = parsed.as_ref().and_then(ureq::http::Uri::host).filter(|host| !host.is_empty());
    let port = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map(|(_, port)| port);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if host.is_none() || !is_port {
        let message =
            format!("{path}: `{written}` is not the address of a host, with a port and a path if needed");
        diagnostics.report_value(found.at, &message, "http://127.0.0.1:8080/v1");
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

form! {
    /// Extra headers: each name with the variable of its value.
    pub(super) HeaderVariables -> Vec<(String, String)> {
        KeyForm::Names("^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"), read_headers, below &[KeyRow::any_name(
            "none",
            "the environment variable that holds the value of this header; the value itself is in no file",
            KeyVariable::FORM,
            &[],
        )]
    }
}

fn read_headers(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<(String, String)>> {
    let entries = value::map(diagnostics, node, node.span, path)?;
    let mut headers: Vec<(String, String)> = Vec::new();
    for entry in entries {
        let name = entry.key.as_str();
        let is_name = name.len() <= limits::HEADER_NAME
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let wrong = if !is_name {
            Some(("is not the name of a header", "letters, digits, - and _, as in X-Team"))
        } else if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
            Some(("is set by the sender of the request", "leave it out"))
        } else if headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            Some(("is listed twice: case does not count in names of headers", "one of the two"))
        } else {
            None
        };
        if let Some((why, fix)) = wrong {
            diagnostics.report_value(entry.at, &format!("{path}: `{name}` {why}"), fix);
            continue;
        }
        if let Some(variable) = key_env(diagnostics, &entry.value, &value::join_path(path, name)) {
            headers.push((name.to_owned(), variable));
        }
    }
    Some(headers)
}
