//! The section `models`: the models, their parameters and their prices. Input: the node. Output: the models in the
//! form that agents use, with the places of names that are looked up later.
//!
//! This module reads no environment and opens no files. It never repeats anything that looks like a key: not in a
//! message, and not in the shown lines around it.

use systole_agent::spec::{ModelSpec, ModelTimeouts, Price, Provider, RequestRetry};
use systole_kit::money::{Currency, Money};

use super::diagnostics::Diagnostics;
use super::measure::durations_ms;
use super::names::names;
use super::secrets::spare;
use super::tree::{Entry, Node, Span};
use super::value::{self, At, Fields, fields, joined};
use super::{params, reach};
use systole_core::types::codes::Code;
use systole_core::types::limits;

/// A declared model.
pub(super) struct ModelDeclaration {
    /// Its key, even if that is not a valid name.
    pub(super) key: At<String>,
    pub(super) model: ModelSpec,
    pub(super) fallback: Vec<At<String>>,
    /// The currency of its prices.
    pub(super) currency: Option<At<Currency>>,
    /// The file of answers, for a script model.
    pub(super) script: Option<At<String>>,
}

const WINDOW: u64 = 128_000;
const MAX_OUTPUT: u64 = 4_000;
const PER: u64 = 1_000_000;
const AT_ONCE: u32 = 4;
/// Tokens that a request keeps free, because the provider may count differently.
const SPARE: u64 = 256;
/// The default file of a script's answers.
const REPLIES: &str = "replies.yaml";

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<ModelDeclaration> {
    spare(diagnostics, node);
    let entries = value::map(diagnostics, node, node.span, path).unwrap_or_default();
    entries.iter().map(|entry| model(diagnostics, entry)).collect()
}

fn model(diagnostics: &mut Diagnostics, entry: &Entry) -> ModelDeclaration {
    let path = joined("models", &entry.key);
    value::name(diagnostics, &entry.key, entry.at, "models");
    let mut declared = ModelDeclaration {
        key: At { at: entry.at, value: entry.key.clone() },
        model: bare(&entry.key),
        fallback: Vec::new(),
        currency: None,
        script: None,
    };
    let Some(own) = fields(diagnostics, &entry.value, entry.at, "models.NAME", &path) else {
        return declared;
    };
    let provider = provider(diagnostics, &own);
    let model = &mut declared.model;
    model.provider = provider.unwrap_or(model.provider);
    asked(diagnostics, &own, model, provider);
    declared.script = script(diagnostics, &own, entry.at, provider);
    size(diagnostics, &own, model);
    if let Some((node, path)) = own.get("stream") {
        model.stream = value::flag(diagnostics, node, &path).unwrap_or(model.stream);
    }
    if let Some((node, path)) = own.get("timeout") {
        model.timeout = timeout(diagnostics, node, &path);
    }
    if let Some((node, path)) = own.get("params") {
        let entries = value::map(diagnostics, node, node.span, &path).unwrap_or_default();
        model.params = params::object(diagnostics, entries, &path);
    }
    if let Some((node, path)) = own.get("price") {
        (model.price, declared.currency) = price(diagnostics, node, &path);
    }
    if own.get("at_once").is_some() {
        let most = own.count(diagnostics, "at_once").unwrap_or(AT_ONCE);
        model.at_once = usize::try_from(most).unwrap_or(model.at_once);
    }
    if let Some((node, path)) = own.get("retry") {
        retry(diagnostics, node, &path, &mut model.retry);
    }
    if let Some((node, path)) = own.get("fallback") {
        declared.fallback = names(diagnostics, node, &path);
        declared.model.fallback = declared.fallback.iter().map(|named| named.value.clone()).collect();
    }
    declared
}

fn provider(diagnostics: &mut Diagnostics, own: &Fields<'_>) -> Option<Provider> {
    let (last, others) = Provider::WORDS.split_last()?;
    let fix = format!("provider: {} or {last}", others.join(", "));
    let (node, path) = own.need(diagnostics, "provider", &fix)?;
    let choices: Vec<_> = Provider::ALL.iter().map(|one| (one.word(), *one)).collect();
    value::word(diagnostics, node, &path, &choices)
}

/// A model with every default.
fn bare(name: &str) -> ModelSpec {
    ModelSpec {
        name: name.to_owned(),
        provider: Provider::Script,
        model: String::new(),
        url: None,
        key_env: None,
        headers_env: Vec::new(),
        stream: true,
        timeout: ModelTimeouts::default(),
        file: None,
        window: WINDOW,
        max_output: MAX_OUTPUT,
        params: serde_json::Map::new(),
        price: None,
        at_once: usize::try_from(AT_ONCE).unwrap_or(1),
        retry: RequestRetry { attempts: 4, first_ms: 1_000, longest_ms: 60_000 },
        fallback: Vec::new(),
    }
}

/// Reads the provider's model name, the address and the key. For a script model, all of them are read but not used,
/// so that changing one word is enough for a rehearsal.
fn asked(diagnostics: &mut Diagnostics, own: &Fields<'_>, model: &mut ModelSpec, provider: Option<Provider>) {
    let name = if provider.is_some_and(|provider| provider != Provider::Script) {
        own.need(diagnostics, "model", "model: NAME, as its provider calls it")
    } else {
        own.get("model")
    };
    let name = name.and_then(|(node, path)| value::text(diagnostics, node, &path));
    let url = own.get("url").and_then(|(node, path)| reach::url(diagnostics, node, &path));
    let key_env = own.get("key_env").and_then(|(node, path)| reach::key_env(diagnostics, node, &path));
    let headers = own.get("headers_env").map(|(node, path)| reach::headers(diagnostics, node, &path));
    if model.provider != Provider::Script {
        model.model = name.map(|name| name.value).unwrap_or_default();
        (model.url, model.key_env) = (url, key_env);
        model.headers_env = headers.unwrap_or_default();
    }
}

fn script(
    diagnostics: &mut Diagnostics,
    own: &Fields<'_>,
    at: Span,
    provider: Option<Provider>,
) -> Option<At<String>> {
    let named = own.get("file");
    let file = match named {
        Some((node, path)) => value::text(diagnostics, node, &path),
        None => Some(At { at, value: REPLIES.to_owned() }),
    };
    file.filter(|_| provider == Some(Provider::Script))
}

/// Reads the sizes of input and output.
fn size(diagnostics: &mut Diagnostics, own: &Fields<'_>, model: &mut ModelSpec) {
    let window = own.measure(diagnostics, "window");
    let output = own.measure(diagnostics, "max_output");
    model.window = window.as_ref().map_or(WINDOW, |window| window.value);
    model.max_output = output.as_ref().map_or(MAX_OUTPUT, |output| output.value);
    let Some(said) = output.as_ref().or(window.as_ref()) else { return };
    if model.max_output.saturating_add(SPARE) >= model.window {
        let message = format!(
            "{}: an answer of {} tokens leaves no room for a request in a window of {}",
            own.path, model.max_output, model.window
        );
        let fix = "a larger `window`, or a smaller `max_output`: 256 tokens beside it are kept free";
        diagnostics.report(Code::ConfigValue, said.at, &message, Some(fix));
    }
}

/// Reads the timeouts.
fn timeout(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> ModelTimeouts {
    let Some(section) = fields(diagnostics, node, node.span, "models.NAME.timeout", path) else {
        return ModelTimeouts::default();
    };
    let mut wait = |key| section.measure(diagnostics, key).map(|wait| wait.value);
    ModelTimeouts { first_ms: wait("first"), between_ms: wait("between") }
}

fn price(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> (Option<Price>, Option<At<Currency>>) {
    let Some(section) = fields(diagnostics, node, node.span, "models.NAME.price", path) else {
        return (None, None);
    };
    let currency = section.need(diagnostics, "currency", "currency: USD");
    let currency = currency.and_then(|(node, path)| currency_of(diagnostics, node, &path));
    let tokens_in = section.need(diagnostics, "in", "in: AMOUNT, for the tokens that are read");
    let tokens_in = tokens_in.and_then(|(node, path)| amount(diagnostics, node, &path));
    let tokens_out = section.need(diagnostics, "out", "out: AMOUNT, for the tokens that are written");
    let tokens_out = tokens_out.and_then(|(node, path)| amount(diagnostics, node, &path));
    let cached = section.get("cached").map(|(node, path)| amount(diagnostics, node, &path));
    let per = section.measure(diagnostics, "per");
    let money = |micros| Some(Money { micros, currency: currency.as_ref()?.value });
    let price =
        tokens_in.and_then(money).zip(tokens_out.and_then(money)).map(|(tokens_in, tokens_out)| Price {
            tokens_in,
            tokens_out,
            cached: cached.flatten().and_then(money),
            per: per.as_ref().map_or(PER, |per| per.value),
        });
    (price, currency)
}

fn currency_of(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<At<Currency>> {
    let found = value::text(diagnostics, node, path)?;
    let currency = Currency::parse(&found.value);
    if currency.is_none() {
        let message = format!("{path}: `{}` is no currency", found.value);
        let upper = found.value.to_ascii_uppercase();
        let fix = Currency::parse(&upper).map_or("three capital letters, as USD", |_| upper.as_str());
        diagnostics.report(Code::ConfigValue, found.at, &message, Some(fix));
    }
    currency.map(|value| At { at: found.at, value })
}

/// An amount in millionths.
fn amount(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<u64> {
    let found = value::text(diagnostics, node, path)?;
    let money = Money::parse(&format!("{} USD", found.value));
    let money = money.filter(|money| money.micros <= limits::BUDGET_MICROS);
    if money.is_none() {
        let message = format!("{path}: `{}` is not an amount from 0 to 1000000", found.value);
        let fix = "a number as 0.25, with at most six decimals; the currency comes after it";
        diagnostics.report(Code::ConfigValue, found.at, &message, Some(fix));
    }
    money.map(|money| money.micros)
}

fn retry(diagnostics: &mut Diagnostics, node: &Node, path: &str, retry: &mut RequestRetry) {
    let Some(section) = fields(diagnostics, node, node.span, "models.NAME.retry", path) else { return };
    retry.attempts = section.count(diagnostics, "attempts").unwrap_or(retry.attempts);
    if let Some((node, path)) = section.get("backoff")
        && let Some((first_ms, longest_ms)) = durations_ms(diagnostics, node, &path)
    {
        *retry = RequestRetry { first_ms, longest_ms, ..*retry };
    }
}
