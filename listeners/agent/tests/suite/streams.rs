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
        Provider::OpenAiResponses => RESPONSES,
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
        Provider::OpenAiResponses => Some(body(form).len()),
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

const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1764300000,\"status\":\"in_progress\",\"background\":false,\"error\":null,\"incomplete_details\":null,\"instructions\":\"You are brief.\",\"max_output_tokens\":500,\"model\":\"gpt-5-2026-01-01\",\"output\":[],\"parallel_tool_calls\":true,\"previous_response_id\":null,\"reasoning\":{\"effort\":\"medium\",\"summary\":\"auto\"},\"store\":false,\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"truncation\":\"disabled\",\"usage\":null,\"user\":null,\"metadata\":{}}}\n\n",
    "event: response.in_progress\ndata: {\"type\":\"response.in_progress\",\"sequence_number\":1,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1764300000,\"status\":\"in_progress\",\"background\":false,\"error\":null,\"incomplete_details\":null,\"instructions\":\"You are brief.\",\"max_output_tokens\":500,\"model\":\"gpt-5-2026-01-01\",\"output\":[],\"parallel_tool_calls\":true,\"previous_response_id\":null,\"reasoning\":{\"effort\":\"medium\",\"summary\":\"auto\"},\"store\":false,\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"truncation\":\"disabled\",\"usage\":null,\"user\":null,\"metadata\":{}}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":2,\"output_index\":0,\"item\":{\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"gAAAAAbegun\",\"summary\":[]}}\n\n",
    "event: response.reasoning_summary_part.added\ndata: {\"type\":\"response.reasoning_summary_part.added\",\"sequence_number\":3,\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}\n\n",
    "event: response.reasoning_summary_text.delta\ndata: {\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":4,\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"delta\":\"Hm\u{2026}\"}\n\n",
    "event: response.reasoning_summary_text.done\ndata: {\"type\":\"response.reasoning_summary_text.done\",\"sequence_number\":5,\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"text\":\"Hm\u{2026}\"}\n\n",
    "event: response.reasoning_summary_part.done\ndata: {\"type\":\"response.reasoning_summary_part.done\",\"sequence_number\":6,\"item_id\":\"rs_1\",\"output_index\":0,\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"Hm\u{2026}\"}}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":7,\"output_index\":0,\"item\":{\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"gAAAAAbegunAndEnded+/=\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm\u{2026}\"}]}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":8,\"output_index\":1,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"in_progress\",\"content\":[],\"phase\":\"commentary\",\"role\":\"assistant\"}}\n\n",
    "event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"sequence_number\":9,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\"\"}}\n\n",
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":10,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"delta\":\" Gr\u{fc}\u{df}e\\r\\n\",\"logprobs\":[]}\n\n",
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":11,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"delta\":\"\u{1f9e0} \",\"logprobs\":[]}\n\n",
    "event: response.output_text.done\ndata: {\"type\":\"response.output_text.done\",\"sequence_number\":12,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"text\":\" Gr\u{fc}\u{df}e\\r\\n\u{1f9e0} \",\"logprobs\":[]}\n\n",
    "event: response.content_part.done\ndata: {\"type\":\"response.content_part.done\",\"sequence_number\":13,\"item_id\":\"msg_1\",\"output_index\":1,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\" Gr\u{fc}\u{df}e\\r\\n\u{1f9e0} \"}}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":14,\"output_index\":1,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\" Gr\u{fc}\u{df}e\\r\\n\u{1f9e0} \"}],\"phase\":\"commentary\",\"role\":\"assistant\"}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":15,\"output_index\":2,\"item\":{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"in_progress\",\"arguments\":\"\",\"call_id\":\"a\",\"name\":\"search\"}}\n\n",
    "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":16,\"item_id\":\"fc_1\",\"output_index\":2,\"delta\":\"{\\\"query\\\": \\\"\u{e9}\"}\n\n",
    "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":17,\"item_id\":\"fc_1\",\"output_index\":2,\"delta\":\"\\\"}\"}\n\n",
    "event: response.function_call_arguments.done\ndata: {\"type\":\"response.function_call_arguments.done\",\"sequence_number\":18,\"item_id\":\"fc_1\",\"output_index\":2,\"arguments\":\"{\\\"query\\\": \\\"\u{e9}\\\"}\",\"name\":\"search\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":19,\"output_index\":2,\"item\":{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"completed\",\"arguments\":\"{\\\"query\\\": \\\"\u{e9}\\\"}\",\"call_id\":\"a\",\"name\":\"search\"}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":20,\"output_index\":3,\"item\":{\"id\":\"fc_2\",\"type\":\"function_call\",\"status\":\"in_progress\",\"arguments\":\"\",\"call_id\":\"x7\",\"name\":\"look\"}}\n\n",
    "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":21,\"item_id\":\"fc_2\",\"output_index\":3,\"delta\":\"{}\"}\n\n",
    "event: response.function_call_arguments.done\ndata: {\"type\":\"response.function_call_arguments.done\",\"sequence_number\":22,\"item_id\":\"fc_2\",\"output_index\":3,\"arguments\":\"{}\",\"name\":\"look\"}\n\n",
    "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":23,\"output_index\":3,\"item\":{\"id\":\"fc_2\",\"type\":\"function_call\",\"status\":\"completed\",\"arguments\":\"{}\",\"call_id\":\"x7\",\"name\":\"look\"}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":24,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1764300000,\"status\":\"completed\",\"background\":false,\"error\":null,\"incomplete_details\":null,\"instructions\":\"You are brief.\",\"max_output_tokens\":500,\"model\":\"gpt-5-2026-01-01\",\"output\":[{\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"gAAAAAbegunAndEnded+/=\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"Hm\u{2026}\"}]},{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\" Gr\u{fc}\u{df}e\\r\\n\u{1f9e0} \"}],\"phase\":\"commentary\",\"role\":\"assistant\"},{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"completed\",\"arguments\":\"{\\\"query\\\": \\\"\u{e9}\\\"}\",\"call_id\":\"a\",\"name\":\"search\"},{\"id\":\"fc_2\",\"type\":\"function_call\",\"status\":\"completed\",\"arguments\":\"{}\",\"call_id\":\"x7\",\"name\":\"look\"}],\"parallel_tool_calls\":true,\"previous_response_id\":null,\"reasoning\":{\"effort\":\"medium\",\"summary\":\"auto\"},\"store\":false,\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"truncation\":\"disabled\",\"usage\":{\"input_tokens\":120,\"input_tokens_details\":{\"cached_tokens\":100,\"cache_write_tokens\":0},\"output_tokens\":30,\"output_tokens_details\":{\"reasoning_tokens\":10},\"total_tokens\":150},\"user\":null,\"metadata\":{}}}\n\n",
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
        Provider::OpenAiResponses => (list_items(thought, words), Some(100)),
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
    let cache_write = match form {
        Provider::Anthropic => Some(20),
        Provider::OpenAiResponses => Some(0),
        _ => None,
    };
    let reasoning = matches!(form, Provider::Gemini | Provider::OpenAiResponses).then_some(10);
    let usage = TokenUsage { tokens_in: Some(120), tokens_out: Some(30), cached, cache_write, reasoning };
    let (model, request) = match form {
        Provider::OpenAi => (None, Some("c1")),
        Provider::OpenAiResponses => (Some("gpt-5-2026-01-01"), Some("resp_1")),
        Provider::Ollama => (Some("m"), None),
        _ => (None, None),
    };
    let [model, request] = [model, request].map(|word| word.map(str::to_owned));
    let served = ServedBy { model, fingerprint: None, request };
    ModelAnswer { parts, stop: StopReason::Tool, usage, by: "main".to_owned(), served }
}

/// The parts of the answer as Responses: the rest of an item follows what was read of it.
fn list_items(thought: &str, words: MessagePart) -> Vec<MessagePart> {
    let item = |item| kept("openai-responses", item);
    let called = |id: &str| item(json!({"id": id, "type": "function_call", "status": "completed"}));
    vec![
        item(json!({
            "id": "rs_1", "type": "reasoning", "encrypted_content": "gAAAAAbegunAndEnded+/=",
            "summary": [{"type": "summary_text", "text": thought}],
        })),
        words,
        item(json!({
            "id": "msg_1", "type": "message", "status": "completed", "phase": "commentary", "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "logprobs": []}],
        })),
        call("a", "search", "{\"query\": \"\u{e9}\"}"),
        called("fc_1"),
        call("x7", "look", "{}"),
        called("fc_2"),
    ]
}
