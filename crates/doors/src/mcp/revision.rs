//! The revisions of MCP, and the headers with which a request names its revision. 2025-11-25 and the three before it begin
//! with a handshake; in 2026-07-28 every request says everything itself, and its headers repeat the body.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::elicitation;
use super::params::McpMessage;
use systole_api::rpc_codes::RPC;
use systole_doorway::rpc::RpcFault;

/// The newest revision with a handshake.
const HANDSHAKE: &str = "2025-11-25";
/// The revisions with a handshake. What differs between them is in no message that is sent or read here, except for
/// batches of 2025-03-26.
const HANDSHAKES: [&str; 4] = [HANDSHAKE, "2025-06-18", "2025-03-26", "2024-11-05"];
/// The revision without one.
const STATELESS: &str = "2026-07-28";
/// The extension by which a long call becomes a task.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// How the name of a session ends whose client shows forms.
const FORMS: &str = "-forms";

/// The revisions with a handshake in which a server may ask for forms.
const WITH_FORMS: [&str; 2] = [HANDSHAKE, "2025-06-18"];

/// The name of a session that begins, by the name that it has, or one that was drawn.
pub(super) fn name_session(name: &str, (agreed, capabilities): (&str, Option<&Value>)) -> String {
    let name = name.strip_suffix(FORMS).unwrap_or(name);
    let has_forms = WITH_FORMS.contains(&agreed) && elicitation::shows_forms(capabilities);
    format!("{name}{}", if has_forms { FORMS } else { "" })
}

/// A revision of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum McpRevision {
    /// 2025-11-25, or one before it.
    Handshake,
    /// 2026-07-28.
    Stateless,
}

/// All revisions that are spoken, the newest first.
pub(super) fn list_spoken() -> Vec<&'static str> {
    std::iter::once(STATELESS).chain(HANDSHAKES).collect()
}

/// The revision that a handshake agrees on: the client's, or the newest that has a handshake.
pub(super) fn choose_agreed(wanted: Option<&str>) -> &'static str {
    HANDSHAKES.into_iter().find(|known| Some(*known) == wanted).unwrap_or(HANDSHAKE)
}

/// The revision of a message.
pub(super) fn read_revision(headers: &HeaderMap, message: &McpMessage) -> Result<McpRevision, RpcFault> {
    let said = message.params.meta.get(VERSION_KEY).and_then(Value::as_str);
    if message.method == "initialize" && said.is_none() {
        return Ok(McpRevision::Handshake);
    }
    let shown = read_header(headers, "mcp-protocol-version")?;
    if let (Some(said), Some(other), Some(_)) =
        (said, shown.filter(|shown| Some(*shown) != said), &message.id)
    {
        return Err(describe_mismatch("MCP-Protocol-Version", Some(other), said));
    }
    let named = match (said, shown) {
        (None, None) if message.method == "server/discover" => STATELESS,
        (None, None) => return Ok(McpRevision::Handshake),
        (Some(named), _) | (None, Some(named)) => named,
    };
    if HANDSHAKES.contains(&named) {
        return Ok(McpRevision::Handshake);
    }
    if named != STATELESS {
        let words = format!("MCP {named} is not spoken here: use {}", list_spoken().join(", "));
        let data = json!({"supported": list_spoken(), "requested": named});
        return Err(RpcFault::with_code(RPC.unsupported, words, Some(data)));
    }
    // A notification may say less, because it has no answer.
    if message.id.is_some() {
        is_complete(message)?;
        check_repeats(headers, message, shown, said)?;
    }
    Ok(McpRevision::Stateless)
}

/// What a request of this revision says about itself.
fn is_complete(message: &McpMessage) -> Result<(), RpcFault> {
    let meta = &message.params.meta;
    let has_version = meta.get(VERSION_KEY).is_some_and(Value::is_string);
    let has_capabilities = meta.get(CAPABILITIES_KEY).is_some_and(Value::is_object);
    let missing: Vec<&str> = [(VERSION_KEY, has_version), (CAPABILITIES_KEY, has_capabilities)]
        .iter()
        .filter_map(|(key, is_there)| (!is_there).then_some(*key))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let words = format!("_meta of a request in MCP {STATELESS} has these keys too: {}", missing.join(", "));
    Err(RpcFault::refuse_params(words).with_status(axum::http::StatusCode::BAD_REQUEST))
}

/// The headers say the same as the body.
fn check_repeats(
    headers: &HeaderMap,
    message: &McpMessage,
    shown: Option<&str>,
    said: Option<&str>,
) -> Result<(), RpcFault> {
    let name = match message.method.as_str() {
        "tools/call" | "prompts/get" => message.params.name.as_deref(),
        "resources/read" => message.params.uri.as_deref(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => message.params.task_id.as_deref(),
        _ => None,
    };
    let method = read_header(headers, "mcp-method")?;
    let shown_name = read_header(headers, "mcp-name")?;
    for (field, shown, said) in [
        ("MCP-Protocol-Version", shown, said),
        ("Mcp-Method", method, Some(message.method.as_str())),
        ("Mcp-Name", shown_name, name),
    ] {
        let decoded = shown.and_then(decode_header);
        if said.is_some() && decoded.as_deref().or(shown) != said {
            return Err(describe_mismatch(field, shown, said.unwrap_or_default()));
        }
    }
    Ok(())
}

/// A value that a header cannot carry as it is. `None` if it is not encoded.
fn decode_header(shown: &str) -> Option<String> {
    let encoded = shown.strip_prefix("=?base64?")?.strip_suffix("?=")?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn describe_mismatch(field: &str, shown: Option<&str>, said: &str) -> RpcFault {
    let shown = shown.map_or_else(|| "is missing".to_owned(), |shown| format!("is {shown:?}"));
    let words = format!("the header {field} {shown}, and the body says {said:?}");
    RpcFault::with_code(RPC.header_mismatch, words, None)
}

/// Refuses a message about tasks from a client that does not name their extension.
pub(super) fn require_tasks(message: &McpMessage) -> Result<(), RpcFault> {
    if has_tasks(message) {
        return Ok(());
    }
    let words = format!("{} is for clients that name the extension {TASKS}", message.method);
    let data = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    Err(RpcFault::with_code(RPC.missing_capability, words, Some(data)))
}

fn has_tasks(message: &McpMessage) -> bool {
    let extensions = message.params.meta.get(CAPABILITIES_KEY).and_then(|it| it.get("extensions"));
    extensions.is_some_and(|it| it.get(TASKS).is_some())
}

/// A header, once and readable.
fn read_header<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, RpcFault> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str()).transpose();
    match (first, values.next()) {
        (Ok(first), None) => Ok(first),
        _ => Err(RpcFault::with_code(
            RPC.header_mismatch,
            format!("the header {name} comes once, in ASCII"),
            None,
        )),
    }
}

impl McpRevision {
    /// Whether a client of this revision takes a task for an answer.
    pub(super) fn can_take_tasks(self, message: &McpMessage) -> bool {
        self == McpRevision::Stateless && has_tasks(message)
    }

    /// Whether the client of a request of this revision shows forms. A handshake says it once, in its session.
    pub(super) fn shows_forms(self, message: &McpMessage, session: Option<&str>) -> bool {
        match self {
            McpRevision::Handshake => session.is_some_and(|session| session.ends_with(FORMS)),
            McpRevision::Stateless => elicitation::shows_forms(message.params.meta.get(CAPABILITIES_KEY)),
        }
    }

    /// The code that says that there is no such resource.
    pub(super) fn code_missing(self) -> i64 {
        match self {
            McpRevision::Handshake => RPC.no_resource,
            McpRevision::Stateless => RPC.params,
        }
    }

    /// A result as this revision has it.
    pub(super) fn complete_result(self, mut result: Value) -> Value {
        if let (McpRevision::Stateless, Some(fields)) = (self, result.as_object_mut()) {
            fields.entry("resultType").or_insert_with(|| json!("complete"));
        }
        result
    }

    /// A list that this revision lets a client keep. It is the client's own, and old at once.
    pub(super) fn complete_list(self, mut result: Value) -> Value {
        if let (McpRevision::Stateless, Some(fields)) = (self, result.as_object_mut()) {
            fields.insert("ttlMs".to_owned(), json!(0));
            fields.insert("cacheScope".to_owned(), json!("private"));
        }
        self.complete_result(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_doorway::rpc::{self, RpcIncoming};

    fn message(method: &str, params: &Value) -> McpMessage {
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        match rpc::read_incoming(text.as_bytes()) {
            Ok(RpcIncoming::Message(message)) => *message,
            _ => panic!("{text} is no message"),
        }
    }

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn told(fields: &[(&'static str, &str)], method: &str, params: &Value) -> String {
        match read_revision(&headers(fields), &message(method, params)) {
            Ok(revision) => format!("{revision:?}"),
            Err(fault) => fault.build_message(None)["error"].to_string(),
        }
    }

    #[test]
    fn a_request_names_its_revision_in_its_body_and_its_headers() {
        let meta = json!({VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}});
        let call = json!({"name": "say", "_meta": meta});
        let all = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "say")];
        assert_eq!(told(&all, "tools/call", &call), "Stateless");
        assert_eq!(told(&[], "tools/list", &json!({})), "Handshake");
        assert_eq!(told(&[("mcp-protocol-version", HANDSHAKE)], "tools/list", &json!({})), "Handshake");
        assert_eq!(
            told(&[all[0]], "initialize", &json!({})),
            "Handshake",
            "only older revisions have a handshake"
        );
        for older in HANDSHAKES {
            assert_eq!(told(&[("mcp-protocol-version", older)], "tools/list", &json!({})), "Handshake");
            assert_eq!(choose_agreed(Some(older)), older);
        }
        assert_eq!(
            (choose_agreed(None), choose_agreed(Some(STATELESS)), choose_agreed(Some("2099-01-01"))),
            (HANDSHAKE, HANDSHAKE, HANDSHAKE)
        );
        let unknown = json!({"_meta": {VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: {}}});
        assert!(told(&all[..1], "tools/list", &unknown).contains("-32020"), "the header is wrong first");
        assert!(told(&[], "tools/list", &unknown).contains("-32022"));
        assert!(
            require_tasks(&message("tasks/get", &call))
                .unwrap_err()
                .build_message(None)
                .to_string()
                .contains("-32021")
        );
        for (fields, params, words) in [
            (&all[..2], &call, "Mcp-Name is missing"),
            (&[all[0], ("mcp-method", "ping"), all[2]], &call, "Mcp-Method is \\\"ping\\\""),
            (&[all[0], all[1], ("mcp-name", "other")], &call, "and the body says \\\"say\\\""),
            (&[("mcp-protocol-version", HANDSHAKE), all[1], all[2]], &call, "MCP-Protocol-Version is"),
            (&[("mcp-protocol-version", "2024-10-07")], &json!({}), "-32022"),
            (&all, &json!({"name": "say"}), "clientCapabilities"),
            (&[all[0], all[0]], &call, "comes once"),
        ] {
            let found = told(fields, "tools/call", params);
            assert!(found.contains(words), "wanted {words}: {found}");
        }
        assert!(told(&[], "server/discover", &json!({})).contains("protocolVersion"));
    }
}
