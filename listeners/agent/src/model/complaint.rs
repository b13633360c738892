//! Turns a provider's error, in its own form or in none, into a fault with a message that a person can act on. It
//! never shows a key, and never more than a short excerpt.

use serde_json::Value;

use super::asked_provider::AskedProvider;
use super::{ModelFault, ModelFaultKind};
use crate::limits;
use systole_http::parse_seconds;

/// A provider's error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProviderComplaint {
    /// What happened.
    message: String,
    /// The provider's names for it: type, code, status.
    names: Vec<String>,
    /// A status inside the text.
    status: Option<u16>,
    /// How long the provider asks us to wait.
    wait_ms: Option<u64>,
}

impl ProviderComplaint {
    /// The error in a value, if there is one.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = match value.get("error") {
            Some(Value::Null) | None if value.get("object").and_then(Value::as_str) == Some("error") => value,
            Some(Value::Null) | None => return None,
            Some(error) => error,
        };
        let mut found = Self::default();
        if let Some(message) = error.as_str() {
            message.clone_into(&mut found.message);
            return Some(found);
        }
        let said = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        found.message = said("message").map_or_else(|| error.to_string(), str::to_owned);
        for name in ["type", "code", "status"].into_iter().filter_map(said) {
            if !found.names.iter().any(|before| before == name) {
                found.names.push(name.to_owned());
            }
        }
        let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        found.status = code.filter(|code| (400..600).contains(code));
        let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
        found.wait_ms = details
            .filter_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))
            .find_map(parse_seconds);
        Some(found)
    }

    /// The error in the body of an answer. If no form matches, an excerpt of the body.
    pub(super) fn from_body(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let value = serde_json::from_str::<Value>(&text).ok();
        if let Some(found) = value.as_ref().and_then(Self::from_value) {
            return found;
        }
        let plain = value.as_ref().and_then(|value| {
            let said = |key: &str| value.get(key).and_then(Value::as_str);
            said("message").or_else(|| said("detail")).map(str::to_owned)
        });
        let is_page = text.trim_start().starts_with('<');
        let message = plain.unwrap_or_else(|| if is_page { without_tags(&text) } else { text.into_owned() });
        Self { message, ..Self::default() }
    }

    fn names(&self, one_of: &[&str]) -> bool {
        self.names.iter().any(|name| one_of.contains(&name.as_str()))
    }

    fn says(&self, one_of: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        one_of.iter().any(|words| message.contains(words))
    }

    /// Whether it says that the request does not fit into the model's window.
    fn is_too_long(&self) -> bool {
        self.names(&["context_length_exceeded", "exceed_context_size_error"])
            || self.says(&[
                "context length",
                "context window",
                "context size",
                "maximum model length",
                "maximum prompt length",
                "prompt is too long",
                "input is too long",
                "exceeds the maximum number of tokens",
                "exceed context limit",
            ])
    }

    /// A short excerpt of its message, without the key.
    pub(super) fn show_message(&self, asked: &AskedProvider) -> String {
        let shown = cut_excerpt(&asked.hide_secrets(&self.message));
        if shown.is_empty() { "without a word".to_owned() } else { shown }
    }

    /// The fault for this error and this HTTP status.
    pub(super) fn build_fault(
        &self,
        asked: &AskedProvider,
        http: u16,
        retry_after_ms: Option<u64>,
    ) -> ModelFault {
        let status = if http == 200 { self.status.unwrap_or(http) } else { http };
        let kind = self.choose_kind(status);
        let names =
            if self.names.is_empty() { String::new() } else { format!(" ({})", self.names.join(", ")) };
        let excerpt = self.show_message(asked);
        let repair =
            self.suggest_repair(asked, status, kind).map(|repair| format!("; {repair}")).unwrap_or_default();
        let inside = if http == status { String::new() } else { format!(", and inside it said {status}") };
        let words = format!("{asked} answered {http}{inside}{names}: {excerpt}{repair}");
        ModelFault {
            kind,
            words: asked.hide_secrets(&words),
            status: Some(status),
            retry_after_ms: retry_after_ms.or(self.wait_ms),
            partial: String::new(),
            // If a gateway timed out, the fate of the request behind it is unknown.
            may_be_paid: matches!(status, 504 | 524),
            used: None,
        }
    }

    fn choose_kind(&self, status: u16) -> ModelFaultKind {
        const FILTERED: [&str; 6] = [
            "content_filter",
            "content_policy_violation",
            "moderation_blocked",
            "invalid_prompt",
            "bio_policy",
            "misalignment_policy_violation",
        ];
        const UNPAID: [&str; 3] = ["insufficient_quota", "billing_error", "billing_hard_limit_reached"];
        const BUSY: [&str; 6] =
            ["overloaded_error", "api_error", "server_error", "timeout_error", "UNAVAILABLE", "INTERNAL"];
        const RATED: [&str; 3] = ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"];
        const WRONG: [&str; 6] = [
            "invalid_request_error",
            "authentication_error",
            "permission_error",
            "not_found_error",
            "request_too_large",
            "INVALID_ARGUMENT",
        ];
        if self.names(&FILTERED) || self.names(&UNPAID) || status == 402 {
            return ModelFaultKind::Refused;
        }
        match status {
            429 => ModelFaultKind::RateLimited,
            _ if self.is_too_long() => ModelFaultKind::WindowFull,
            408 | 425 | 500.. => ModelFaultKind::Unavailable,
            300.. => ModelFaultKind::InvalidRequest,
            _ if self.names(&RATED) => ModelFaultKind::RateLimited,
            _ if self.names(&WRONG) && !self.names(&BUSY) => ModelFaultKind::InvalidRequest,
            _ => ModelFaultKind::Unavailable,
        }
    }

    fn suggest_repair(&self, asked: &AskedProvider, status: u16, kind: ModelFaultKind) -> Option<String> {
        let model = &asked.model.name;
        let key = || match &asked.model.key_env {
            Some(variable) => format!("look at the key in {variable}, which models.{model}.key_env names"),
            None => format!("no key was sent: name the variable that holds it in models.{model}.key_env"),
        };
        Some(match status {
            401 | 403 => key(),
            // For a wrong key, Gemini reports an invalid argument.
            400 if self.says(&["api key not valid", "api key not found"]) => key(),
            _ if kind == ModelFaultKind::WindowFull => format!(
                "the request with its answer is longer than the model takes: shorten the request or the prompt, take \
                 a model with a larger window, or lower models.{model}.window or models.{model}.max_output"
            ),
            404 => {
                let (name, url) = (&asked.model.model, &asked.at);
                format!(
                    "look at models.{model}.model, which is {name}, and models.{model}.url, asked at {url}"
                )
            }
            300..400 => format!(
                "redirects are not followed: write the address that answers itself into models.{model}.url"
            ),
            402 | 429 if kind == ModelFaultKind::Refused => "look at the account at the provider".to_owned(),
            _ => return None,
        })
    }
}

/// One line of limited length, with single spaces as its only whitespace.
pub(super) fn cut_excerpt(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let words: String = text.chars().map(visible).collect();
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().take(limits::EXCERPT).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// The words of a page, without the parts that only a browser reads.
fn without_tags(page: &str) -> String {
    let (mut words, mut rest) = (String::new(), page);
    while let Some((before, tag)) = rest.split_once('<') {
        words.push_str(before);
        words.push(' ');
        let silent = ["script", "style"]
            .into_iter()
            .find(|name| tag.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name)));
        let tag =
            silent.and_then(|name| tag.split_once(&format!("</{name}"))).map_or(tag, |(_, behind)| behind);
        rest = tag.split_once('>').map_or("", |(_, behind)| behind);
    }
    words.push_str(rest);
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_read_in_every_form() {
        for (value, message, names, status, wait_ms) in [
            (json!({"error": "model 'x' not found"}), "model 'x' not found", "", None, None),
            (
                json!({"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}),
                "slow down",
                "requests rate_limit_exceeded",
                None,
                None,
            ),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                "Overloaded",
                "overloaded_error",
                None,
                None,
            ),
            (
                json!([{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED",
                    "details": [{"@type": "x"}, {"retryDelay": "31.5s"}]}}]),
                "quota",
                "RESOURCE_EXHAUSTED",
                Some(429),
                Some(31_500),
            ),
            (json!({"object": "error", "message": "no", "code": 400}), "no", "", Some(400), None),
            (json!({"error": {"x": 1}}), "{\"x\":1}", "", None, None),
        ] {
            let found = ProviderComplaint::from_value(&value).expect("an error");
            assert_eq!(
                (found.message.as_str(), found.names.join(" ").as_str(), found.status, found.wait_ms),
                (message, names, status, wait_ms)
            );
        }
        assert_eq!(ProviderComplaint::from_value(&json!({"error": null, "choices": []})), None);
        assert_eq!(ProviderComplaint::from_body(b"{\"detail\": \"Not Found\"}").message, "Not Found");
    }

    #[test]
    fn a_page_is_shown_as_its_words() {
        let page = "<html><head><style>p { x }</style><SCRIPT>a < b</script><title>502</title></head>\n\
                    <body><h1>Bad\n gateway</h1></body></html>";
        assert_eq!(cut_excerpt(&ProviderComplaint::from_body(page.as_bytes()).message), "502 Bad gateway");
        let long = cut_excerpt(&"é".repeat(limits::EXCERPT + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (limits::EXCERPT + 1, true));
    }
}
