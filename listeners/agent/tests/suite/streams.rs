//! One complete answer of each form, byte for byte as a provider sends it, and its expected content.

use serde_json::json;
use systole_agent::model::{MessagePart, ModelAnswer, ServedBy, StopReason, TokenUsage};
use systole_agent::spec::Provider;

use super::bench::{call, kept, text};

pub(crate) const fn content_type(form: Provider) -> &'static str {
    match form {
        Provider::Ollama => "application/x-ndjson",
        _ => "text/event-stream; charset=utf-8",
    }
}

/// The body of an answer with text, reasoning and a call.
pub(crate) const fn body(form: Provider) -> &'static str {
    match form {
        Provider::OpenAi => OPENAI,
        Provider::Anthropic => ANTHROPIC,
        Provider::Ollama => OLLAMA,
        _ => GEMINI,
    }
}

/// The bytes of the body that are needed; the rest has no meaning. If a form has no end sign, all bytes and the end
/// of the chunks are needed.
pub(crate) fn needed(form: Provider) -> Option<usize> {
    let behind = |sign: &str| body(form).find(sign).map(|at| at + sign.len());
    match form {
        // A CR alone ends a line, so the last LF has no meaning.
        Provider::OpenAi => behind("[DONE]\r\n\r"),
        // The second line break ends an event.
        Provider::Anthropic => behind("{\"type\":\"message_stop\"}\n\n"),
        Provider::Ollama => Some(body(form).len()),
        _ => None,
    }
}

const OPENAI: &str = concat!(
    ": OPENROUTER PROCESSING\r\n\r\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"usage\":null}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Hm\u{2026}\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" Gr\u{fc}\u{df}e\\r\\n\"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\u{1f9e0} \"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"search\",\"arguments\":\"\"}}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"look\",\"arguments\":\"{\"}}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"query\\\": \\\"\u{e9}\"}}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\r\n\r\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":120,\"completion_tokens\":30,\"prompt_tokens_details\":{\"cached_tokens\":100}}}\r\n\r\n",
    "data: [DONE]\r\n\r\n",
);

const ANTHROPIC: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"role\":\"assistant\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":90,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm\u{2026}\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQB+/=\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"Emw=\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\" Gr\u{fc}\u{df}e\\r\\n\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"\u{1f9e0} \"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"search\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"query\\\": \\\"\u{e9}\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"look\",\"input\":{}}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":4}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":30}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const OLLAMA: &str = concat!(
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm\u{2026}\"},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\" Gr\u{fc}\u{df}e\\r\\n\"},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\u{1f9e0} \"},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"search\",\"arguments\":{\"query\": \"\u{e9}\", \"n\":1.0}}},{\"id\":\"x7\",\"function\":{\"index\":1,\"name\":\"look\",\"arguments\":{}}}]},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":120,\"eval_count\":30}\n",
);

const GEMINI: &str = concat!(
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hm\u{2026}\",\"thought\": true}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n",
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" Gr\u{fc}\u{df}e\\r\\n\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 120}}\r\n\r\n",
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\u{1f9e0} \"}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n",
    "data: {\"candidates\": [{\"content\": {\"parts\": [{\"functionCall\": {\"name\": \"search\",\"args\": {\"query\": \"\u{e9}\", \"n\":1.0}},\"thoughtSignature\": \"EqQB+/=\"},{\"functionCall\": {\"id\": \"x7\",\"name\": \"look\"}}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 120,\"candidatesTokenCount\": 20,\"thoughtsTokenCount\": 10,\"cachedContentTokenCount\": 100}}\r\n\r\n",
);

/// The content of the body.
pub(crate) fn answer(form: Provider) -> ModelAnswer {
    let words = text(" Gr\u{fc}\u{df}e\r\n\u{1f9e0} ");
    let thought = "Hm\u{2026}";
    let raw = "{\"query\": \"\u{e9}\", \"n\":1.0}";
    let (parts, cached): (Vec<MessagePart>, _) = match form {
        Provider::OpenAi => (
            vec![
                kept("openai", json!({"reasoning_content": thought})),
                words,
                call("a", "search", "{\"query\": \"\u{e9}\"}"),
                call("a", "look", "{"),
            ],
            Some(100),
        ),
        Provider::Anthropic => (
            vec![
                kept("anthropic", json!({"type": "thinking", "thinking": thought, "signature": "EqQB+/="})),
                kept("anthropic", json!({"type": "redacted_thinking", "data": "Emw="})),
                words,
                call("a", "search", "{\"query\": \"\u{e9}\"}"),
                call("a", "look", "{}"),
            ],
            Some(90),
        ),
        Provider::Ollama => (
            vec![
                kept("ollama", json!({"thinking": thought})),
                words,
                call("drawn-1", "search", raw),
                call("x7", "look", "{}"),
            ],
            None,
        ),
        _ => (
            vec![
                kept("gemini", json!({"thought": thought})),
                words,
                kept("gemini", json!({"at": "call", "thoughtSignature": "EqQB+/="})),
                call("drawn-1", "search", raw),
                call("x7", "look", "{}"),
            ],
            Some(100),
        ),
    };
    let cache_write = (form == Provider::Anthropic).then_some(20);
    let reasoning = (form == Provider::Gemini).then_some(10);
    let usage = TokenUsage { tokens_in: Some(120), tokens_out: Some(30), cached, cache_write, reasoning };
    let served = ServedBy {
        model: (form == Provider::Ollama).then(|| "m".to_owned()),
        fingerprint: None,
        request: (form == Provider::OpenAi).then(|| "c1".to_owned()),
    };
    ModelAnswer { parts, stop: StopReason::Tool, usage, by: "main".to_owned(), served }
}
