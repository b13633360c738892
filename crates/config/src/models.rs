//! The section `models`: the models, their parameters and their prices. Input: the node. Output: the models in the
//! form that agents use, with the places of names that are looked up later.
//!
//! This module reads no environment and opens no files. It never repeats anything that looks like a key: not in a
//! message, and not in the shown lines around it.

use systole_agent::spec::{ModelServer, ModelSpec, ModelTimeouts, Price, Provider, RequestRetry};
use systole_kit::money::{Currency, Money};

use super::diagnostics::Diagnostics;
use super::forms::{
    AnyText, CountWithin, NameSet, NamedSection, PartyMap, PauseRange, TokensWithin, WaitTime, WordChoice,
    WordOf, YesNo, read_parsed,
};
use super::key::KeyForm;
use super::params::FreeParameters;
use super::reach::{HeaderVariables, KeyVariable, WebAddress};
use super::secrets::{BY_NAME, SECRET, spare};
use super::section::{Form, form, section};
use super::tree::Node;
use super::value::At;
use crate::limits;

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

/// Tokens of one request.
type RequestTokens = TokensWithin<1, 1_000_000_000>;

section! { ModelKeys "one model" with own never ["key": SECRET, BY_NAME; "api_key": SECRET, BY_NAME; "token": SECRET, BY_NAME;] {
    provider: required(&provider_fix()) <WordOf<Provider>> Provider::MEANING;
    model: optional("none") <AnyText> "its name at the provider; only a script needs none";
    url: optional("the provider's own") <WebAddress> "its address, `http://` or `https://`, optionally with a query, without a name, password or key";
    server: optional("nothing is known of it") <WordOf<ModelServer>> "the program at `url`, so that answers can be held to their form: `openai` for one that takes all that OpenAI takes, `llama.cpp`, `vllm` or `sglang`";
    key_env: optional("none") <KeyVariable> "the environment variable that holds the key; the key itself is in no file";
    headers_env: optional("none") <HeaderVariables> "further headers of each request by name, each with the environment variable that holds its value";
    file: default("replies.yaml".to_owned()) <AnyText> "the file of answers if `provider` is `script`, a path from this file's folder";
    window: default(128_000) <RequestTokens> "most tokens of a request and its answer together";
    max_output: default(4_000) <RequestTokens> "most tokens of an answer, fewer than `window`";
    stream: default(true) <YesNo> "whether its answers are streamed; `false` for providers that only answer in one piece";
    timeout: below <TimeoutKeys> "how long to wait for it";
    params: default(serde_json::Map::new()) <FreeParameters> "further parameters, sent to the provider as they are";
    price: optional("none") <PriceKeys> "what its tokens cost";
    at_once: default(4) <CountWithin<1, 1024>> "requests to it that may be open at once, {bounds}";
    retry: below <RetryKeys> "how failed requests are repeated";
    fallback: default(Vec::new()) <NameSet> "models to ask if this one cannot answer, in order";
} }

section! { TimeoutKeys {
    first: optional("300s") <WaitTime> "from the request to the first content, {bounds}; without `stream` to the whole answer";
    between: optional("120s") <WaitTime> "between two pieces of content, {bounds}";
} }

section! { PriceKeys with own {
    r#in: optional("required") <TokenPrice> "tokens that it reads, with at most six decimals";
    out: optional("required") <TokenPrice> "tokens that it writes";
    cached: optional("as `in`") <TokenPrice> "tokens that it reads from the provider's cache";
    per: default(1_000_000) <RequestTokens> "for how many tokens these are";
    currency: optional("required") <CurrencyName> "the currency, three capital letters";
} }

section! { RetryKeys {
    attempts: default(10) <CountWithin<1, 100>> "requests for one answer, the first included, {bounds}";
    backoff: default((1_000, 60_000)) <PauseRange> "the first pause and the longest; each is twice the one before";
} }

impl WordChoice for ModelServer {
    type Value = ModelServer;
    const WORDS: &'static [&'static str] = ModelServer::WORDS;
    const VALUES: &'static [ModelServer] = ModelServer::ALL;
}

impl WordChoice for Provider {
    type Value = Provider;
    const WORDS: &'static [&'static str] = Provider::WORDS;
    const VALUES: &'static [Provider] = Provider::ALL;
}

fn provider_fix() -> String {
    let (last, others) = Provider::WORDS.split_last().unwrap_or((&"", &[]));
    format!("provider: {} or {last}", others.join(", "))
}

form! {
    /// The models by name.
    pub(super) ModelMap -> Vec<ModelDeclaration> { <PartyMap<ModelKeys>>::FORM, read_models, below <PartyMap<ModelKeys>>::BELOW }
}

fn read_models(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<ModelDeclaration>> {
    spare(diagnostics, node);
    let models = PartyMap::<ModelKeys>::read(diagnostics, node, path)?;
    Some(models.into_iter().map(|one| declare_model(diagnostics, one)).collect())
}

fn declare_model(diagnostics: &mut Diagnostics, one: NamedSection<ModelKeys>) -> ModelDeclaration {
    let keys = one.keys.unwrap_or_default();
    let provider = keys.provider.as_ref().map(|provider| provider.value);
    if provider.is_some_and(|provider| provider != Provider::Script) {
        keys.own.report_missing(diagnostics, "model", "model: NAME, as its provider calls it");
    }
    check_sizes(diagnostics, &keys);
    let (price, currency) = keys.price.map_or((None, None), |price| declare_price(diagnostics, price.value));
    // The script of a model may take the place of a provider whose keys stay: one word is enough for a rehearsal.
    let provider = provider.unwrap_or(Provider::Script);
    let is_asked = provider != Provider::Script;
    let is_script = keys.provider.is_some() && !is_asked;
    let has_file = keys.file.at.is_some() || !keys.own.has("file");
    let file = At { at: keys.file.at.unwrap_or(one.key.at), value: keys.file.value };
    let fallback = keys.fallback.value;
    let (first_ms, longest_ms) = keys.retry.backoff.value;
    let model = ModelSpec {
        name: one.key.value.clone(),
        provider,
        model: keys.model.filter(|_| is_asked).map(|model| model.value).unwrap_or_default(),
        url: keys.url.filter(|_| is_asked).map(|url| url.value),
        server: keys.server.filter(|_| is_asked).map(|server| server.value),
        key_env: keys.key_env.filter(|_| is_asked).map(|variable| variable.value),
        headers_env: keys.headers_env.filter(|_| is_asked).map(|headers| headers.value).unwrap_or_default(),
        stream: keys.stream.value,
        timeout: ModelTimeouts {
            first_ms: keys.timeout.first.map(|wait| wait.value),
            between_ms: keys.timeout.between.map(|wait| wait.value),
        },
        file: None,
        window: keys.window.value,
        max_output: keys.max_output.value,
        params: keys.params.value,
        price,
        at_once: usize::try_from(keys.at_once.value).unwrap_or(1),
        retry: RequestRetry { attempts: keys.retry.attempts.value, first_ms, longest_ms },
        fallback: fallback.iter().map(|named| named.value.clone()).collect(),
    };
    ModelDeclaration {
        key: one.key,
        model,
        fallback,
        currency,
        script: Some(file).filter(|_| is_script && has_file),
    }
}

/// Checks that a request fits beside its answer.
fn check_sizes(diagnostics: &mut Diagnostics, keys: &ModelKeys) {
    let (window, output) = (keys.window, keys.max_output);
    if let Some(at) = output.at.or(window.at)
        && output.value.saturating_add(limits::SPARE_TOKENS) >= window.value
    {
        let message = format!(
            "{}: an answer of {} tokens leaves no room for a request in a window of {}",
            keys.own.path, output.value, window.value
        );
        let fix = "a larger `window`, or a smaller `max_output`: 256 tokens beside it are kept free";
        diagnostics.report_value(at, &message, fix);
    }
}

fn declare_price(diagnostics: &mut Diagnostics, keys: PriceKeys) -> (Option<Price>, Option<At<Currency>>) {
    keys.own.report_missing(diagnostics, "currency", "currency: USD");
    keys.own.report_missing(diagnostics, "in", "in: AMOUNT, for the tokens that are read");
    keys.own.report_missing(diagnostics, "out", "out: AMOUNT, for the tokens that are written");
    let currency = keys.currency;
    let money =
        |micros: Option<At<u64>>| Some(Money { micros: micros?.value, currency: currency.as_ref()?.value });
    let price = money(keys.r#in).zip(money(keys.out)).map(|(tokens_in, tokens_out)| Price {
        tokens_in,
        tokens_out,
        cached: money(keys.cached),
        per: keys.per.value,
    });
    (price, currency)
}

form! { pub(super) CurrencyName -> Currency { KeyForm::Pattern("^[A-Z]{3}$"), read_currency } }

fn read_currency(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Currency> {
    read_parsed(diagnostics, node, path, |text| {
        let upper = text.to_ascii_uppercase();
        let fix = Currency::parse(&upper).map_or("three capital letters, as USD", |_| upper.as_str());
        Currency::parse(text).ok_or_else(|| (format!("`{text}` is no currency"), fix.to_owned()))
    })
}

form! {
    /// The price of tokens, in millionths.
    pub(super) TokenPrice -> u64 { KeyForm::Amount(r"^[0-9]+(\.[0-9]{1,6})?$"), read_price }
}

fn read_price(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<u64> {
    read_parsed(diagnostics, node, path, |text| {
        let money = Money::parse(&format!("{text} USD")).map(|money| money.micros);
        let fix = "a number as 0.25, with at most six decimals; the currency comes after it";
        let wrong = || (format!("`{text}` is not an amount from 0 to 1000000"), fix.to_owned());
        money.filter(|micros| *micros <= limits::BUDGET_MICROS).ok_or_else(wrong)
    })
}
