//! The section `models`: who is asked, how, and what that costs. In comes the node, out come the models as an agent
//! has them, with the places of what is looked up later.
//!
//! It reads no environment and opens no file, and nothing that looks like a key is ever repeated: not in what is told
//! of it, and not in the lines around it.

use systole_agent::spec::{Model, Price, Provider, Retry, Timeout};
use systole_kit::money::{Currency, Money};

use super::declared::names;
use super::desk::Desk;
use super::measure::{Bounds, between_ms, durations_ms, tokens};
use super::secrets::spare;
use super::value::{self, At, Fields, fields, joined};
use super::yaml::{Entry, Node, Span};
use super::{params, reach};
use systole_core::types::codes::Code;
use systole_core::types::limits;

/// A model as it is declared.
pub(super) struct Declaration {
    /// The key it stands under, also where that is no name.
    pub(super) key: At<String>,
    pub(super) model: Model,
    pub(super) fallback: Vec<At<String>>,
    /// In what its tokens are paid.
    pub(super) currency: Option<At<Currency>>,
    /// The file of answers, where that is who is asked.
    pub(super) script: Option<At<String>>,
}

const WINDOW: u64 = 128_000;
const MAX_OUTPUT: u64 = 4_000;
const PER: u64 = 1_000_000;
const AT_ONCE: u32 = 4;
/// How long a model may be waited for.
const WAIT: Bounds = Bounds { least: ("1s", 1_000), most: ("1d", 86_400_000) };
const TOKENS: Bounds = Bounds { least: ("1", 1), most: ("1000M", 1_000_000_000) };
/// What a request keeps free for what counts differently at the provider.
const SPARE: u64 = 256;
/// The answers of a script where the file names none.
const REPLIES: &str = "replies.yaml";

const PROVIDERS: [(&str, Provider); 5] = [
    ("openai", Provider::OpenAi),
    ("anthropic", Provider::Anthropic),
    ("ollama", Provider::Ollama),
    ("gemini", Provider::Gemini),
    ("script", Provider::Script),
];

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Declaration> {
    spare(desk, node);
    let entries = value::map(desk, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| model(desk, entry)).collect()
}

fn model(desk: &mut Desk, entry: &Entry) -> Declaration {
    let path = joined("models", &entry.key);
    value::name(desk, &entry.key, entry.at, "models");
    let mut declared = Declaration {
        key: At { at: entry.at, value: entry.key.clone() },
        model: bare(&entry.key),
        fallback: Vec::new(),
        currency: None,
        script: None,
    };
    let Some(own) = fields(desk, &entry.value, entry.at, "models.NAME", &path) else { return declared };
    let mend = "provider: openai, anthropic, ollama, gemini or script";
    let provider = own.need(desk, "provider", mend);
    let provider = provider.and_then(|(node, path)| value::word(desk, node, &path, &PROVIDERS));
    let model = &mut declared.model;
    model.provider = provider.unwrap_or(model.provider);
    asked(desk, &own, model, provider);
    declared.script = script(desk, &own, entry.at, provider);
    size(desk, &own, model);
    if let Some((node, path)) = own.get("stream") {
        model.stream = value::flag(desk, node, &path).unwrap_or(model.stream);
    }
    if let Some((node, path)) = own.get("timeout") {
        model.timeout = timeout(desk, node, &path);
    }
    if let Some((node, path)) = own.get("params") {
        let entries = value::map(desk, node, node.span, &path).unwrap_or_default();
        model.params = params::object(desk, entries, &path);
    }
    if let Some((node, path)) = own.get("price") {
        (model.price, declared.currency) = price(desk, node, &path);
    }
    if let Some((node, path)) = own.get("at_once") {
        let most = value::count(desk, node, &path, 1, 1024).unwrap_or(AT_ONCE);
        model.at_once = usize::try_from(most).unwrap_or(model.at_once);
    }
    if let Some((node, path)) = own.get("retry") {
        retry(desk, node, &path, &mut model.retry);
    }
    if let Some((node, path)) = own.get("fallback") {
        declared.fallback = names(desk, node, &path);
        declared.model.fallback = declared.fallback.iter().map(|named| named.value.clone()).collect();
    }
    declared
}

/// A model with every default.
fn bare(name: &str) -> Model {
    Model {
        name: name.to_owned(),
        provider: Provider::Script,
        model: String::new(),
        url: None,
        key_env: None,
        headers_env: Vec::new(),
        stream: true,
        timeout: Timeout::default(),
        file: None,
        window: WINDOW,
        max_output: MAX_OUTPUT,
        params: serde_json::Map::new(),
        price: None,
        at_once: usize::try_from(AT_ONCE).unwrap_or(1),
        retry: Retry { attempts: 4, first_ms: 1_000, longest_ms: 60_000 },
        fallback: Vec::new(),
    }
}

/// What is asked, where, and with which key. Where a script stands in for a model all of it is read, and none of it
/// used: whoever rehearses changes one word.
fn asked(desk: &mut Desk, own: &Fields<'_>, model: &mut Model, provider: Option<Provider>) {
    let name = if provider.is_some_and(|provider| provider != Provider::Script) {
        own.need(desk, "model", "model: NAME, as its provider calls it")
    } else {
        own.get("model")
    };
    let name = name.and_then(|(node, path)| value::text(desk, node, &path));
    let url = own.get("url").and_then(|(node, path)| reach::url(desk, node, &path));
    let key_env = own.get("key_env").and_then(|(node, path)| reach::key_env(desk, node, &path));
    let headers = own.get("headers_env").map(|(node, path)| reach::headers(desk, node, &path));
    if model.provider != Provider::Script {
        model.model = name.map(|name| name.value).unwrap_or_default();
        (model.url, model.key_env) = (url, key_env);
        model.headers_env = headers.unwrap_or_default();
    }
}

fn script(desk: &mut Desk, own: &Fields<'_>, at: Span, provider: Option<Provider>) -> Option<At<String>> {
    let named = own.get("file");
    let file = match named {
        Some((node, path)) => value::text(desk, node, &path),
        None => Some(At { at, value: REPLIES.to_owned() }),
    };
    file.filter(|_| provider == Some(Provider::Script))
}

/// How much goes into it and comes out.
fn size(desk: &mut Desk, own: &Fields<'_>, model: &mut Model) {
    let window = own.get("window").and_then(|(node, path)| tokens(desk, node, &path, &TOKENS));
    let output = own.get("max_output").and_then(|(node, path)| tokens(desk, node, &path, &TOKENS));
    model.window = window.as_ref().map_or(WINDOW, |window| window.value);
    model.max_output = output.as_ref().map_or(MAX_OUTPUT, |output| output.value);
    let Some(said) = output.as_ref().or(window.as_ref()) else { return };
    if model.max_output.saturating_add(SPARE) >= model.window {
        let (most, least) = (model.max_output.to_string(), model.window.to_string());
        let told =
            [&own.path, ": an answer of ", &most, " tokens leaves no room for a request in a window of "];
        let told = [told.concat(), least].concat();
        let mend = "a larger `window`, or a smaller `max_output`: 256 tokens beside it are kept free";
        desk.tell(Code::ConfigValue, said.at, &told, Some(mend));
    }
}

/// How long it is waited for.
fn timeout(desk: &mut Desk, node: &Node, path: &str) -> Timeout {
    let Some(section) = fields(desk, node, node.span, "models.NAME.timeout", path) else {
        return Timeout::default();
    };
    let mut wait = |key| {
        let (node, path) = section.get(key)?;
        between_ms(desk, node, &path, &WAIT)
    };
    Timeout { first_ms: wait("first"), between_ms: wait("between") }
}

fn price(desk: &mut Desk, node: &Node, path: &str) -> (Option<Price>, Option<At<Currency>>) {
    let Some(section) = fields(desk, node, node.span, "models.NAME.price", path) else { return (None, None) };
    let currency = section.need(desk, "currency", "currency: USD");
    let currency = currency.and_then(|(node, path)| currency_of(desk, node, &path));
    let tokens_in = section.need(desk, "in", "in: AMOUNT, for the tokens that are read");
    let tokens_in = tokens_in.and_then(|(node, path)| amount(desk, node, &path));
    let tokens_out = section.need(desk, "out", "out: AMOUNT, for the tokens that are written");
    let tokens_out = tokens_out.and_then(|(node, path)| amount(desk, node, &path));
    let cached = section.get("cached").map(|(node, path)| amount(desk, node, &path));
    let per = section.get("per").map(|(node, path)| tokens(desk, node, &path, &TOKENS));
    let money = |micros| Some(Money { micros, currency: currency.as_ref()?.value });
    let price =
        tokens_in.and_then(money).zip(tokens_out.and_then(money)).map(|(tokens_in, tokens_out)| Price {
            tokens_in,
            tokens_out,
            cached: cached.flatten().and_then(money),
            per: per.flatten().map_or(PER, |per| per.value),
        });
    (price, currency)
}

fn currency_of(desk: &mut Desk, node: &Node, path: &str) -> Option<At<Currency>> {
    let found = value::text(desk, node, path)?;
    let currency = Currency::parse(&found.value);
    if currency.is_none() {
        let told = format!("{path}: `{}` is no currency", found.value);
        let upper = found.value.to_ascii_uppercase();
        let mend = Currency::parse(&upper).map_or("three capital letters, as USD", |_| upper.as_str());
        desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
    }
    currency.map(|value| At { at: found.at, value })
}

/// An amount in millionths.
fn amount(desk: &mut Desk, node: &Node, path: &str) -> Option<u64> {
    let found = value::text(desk, node, path)?;
    let money = Money::parse(&format!("{} USD", found.value));
    let money = money.filter(|money| money.micros <= limits::BUDGET_MICROS);
    if money.is_none() {
        let told = format!("{path}: `{}` is no amount from 0 to 1000000", found.value);
        let mend = "a number as 0.25, with at most six decimals; the currency stands beside it";
        desk.tell(Code::ConfigValue, found.at, &told, Some(mend));
    }
    money.map(|money| money.micros)
}

fn retry(desk: &mut Desk, node: &Node, path: &str, retry: &mut Retry) {
    let Some(section) = fields(desk, node, node.span, "models.NAME.retry", path) else { return };
    if let Some((node, path)) = section.get("attempts") {
        retry.attempts = value::count(desk, node, &path, 1, 100).unwrap_or(retry.attempts);
    }
    if let Some((node, path)) = section.get("backoff")
        && let Some((first_ms, longest_ms)) = durations_ms(desk, node, &path)
    {
        *retry = Retry { first_ms, longest_ms, ..*retry };
    }
}
