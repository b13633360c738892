//! The section `models`: the models, their parameters and their prices. Input: the node. Output: the models in the
//! form that agents use, with the places of names that are looked up later.
//!
//! This module reads no environment and opens no files. It never repeats anything that looks like a key: not in a
//! message, and not in the shown lines around it.

use std::time::Duration;

use systole_agent::spec::{
    AmountRate, FileKind, ModelRates, ModelServer, ModelSpec, ModelThinking, ModelTimeouts, Price, Provider,
    RequestRetry,
};
use systole_kit::money::{Currency, Money};

use super::diagnostics::Diagnostics;
use super::forms::{
    AnyText, CountWithin, NameSet, NamedSection, PartyMap, PauseRange, TokensWithin, WaitTime, WordChoice,
    WordOf, YesNo, read_parsed,
};
use super::key::{KeyForm, THOUSANDS};
use super::names::find_word;
use super::params::FreeParameters;
use super::reach::{HeaderVariables, KeyVariable, WebAddress};
use super::secrets::{BY_NAME, SECRET, spare};
use super::section::{Form, form, section};
use super::tree::{Node, Span};
use super::value::{At, text};
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
    /// The place of its further parameters.
    pub(super) params: Option<Span>,
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
    max_output: optional("16k with `thinking` or without `url`, else 4k; at most a quarter of `window`") <RequestTokens> "most tokens of an answer with its reasoning, fewer than `window`";
    thinking: optional("as the provider does") <ThinkingText> "how much the model reasons before it answers: `off`, `low`, `medium`, `high`, `max`, or at most so many tokens";
    cache: default(true) <WordOf<CacheWord>> "how long a provider keeps the prompt in its cache, if it has to be asked for that: `5m` or `off`";
    files: default(Vec::new()) <FileKindSet> "what it takes besides text: `image` for PNG, JPEG, GIF and WebP, `pdf`";
    stream: default(true) <YesNo> "whether its answers are streamed; `false` for providers that only answer in one piece";
    timeout: below <TimeoutKeys> "how long to wait for it";
    params: default(serde_json::Map::new()) <FreeParameters> "further parameters, sent to the provider as they are";
    price: optional("none") <PriceKeys> "what its tokens cost";
    at_once: default(4) <CountWithin<1, 1024>> "requests to it that may be open at once, {bounds}";
    rate: below <RateKeys> "how many requests and tokens it takes in a time, from all agents of a process";
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
    cache_write: optional("as `in`") <TokenPrice> "tokens that it writes to the provider's cache";
    per: default(1_000_000) <RequestTokens> "for how many tokens these are";
    currency: optional("required") <CurrencyName> "the currency, three capital letters";
} }

section! { RateKeys {
    requests: optional("any number") <AmountRateText> "requests in a second, a minute or an hour, as 60/m; as many as that may go out at once";
    tokens: optional("any number") <AmountRateText> "tokens, read and written, as 100k/m";
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

/// Whether requests mark what to cache, as words.
struct CacheWord;

impl WordChoice for CacheWord {
    type Value = bool;
    const WORDS: &'static [&'static str] = &["5m", "off"];
    const VALUES: &'static [bool] = &[true, false];
}

form! {
    /// Kinds of files, none of them twice.
    FileKindSet -> Vec<FileKind> {
        KeyForm::SetOf(FileKind::WORDS), read_kinds, show |_: &Vec<FileKind>| "[]".to_owned()
    }
}

fn read_kinds(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<FileKind>> {
    let named = NameSet::read(diagnostics, node, path)?;
    let known = || FileKind::WORDS.iter().copied().zip(FileKind::ALL.iter().copied());
    Some(named.iter().filter_map(|one| find_word(diagnostics, one, (path, "kind of file"), known)).collect())
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
    let max_output = choose_output(&keys);
    check_server(diagnostics, &keys);
    check_sizes(diagnostics, &keys, max_output);
    check_thinking(diagnostics, &keys, max_output);
    check_files(diagnostics, &keys);
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
        max_output,
        is_cached: keys.cache.value,
        files: keys.files.value,
        thinking: keys.thinking.map(|thinking| thinking.value),
        params: keys.params.value,
        price,
        at_once: usize::try_from(keys.at_once.value).unwrap_or(1),
        rate: ModelRates {
            requests: keys.rate.requests.map(|rate| rate.value),
            tokens: keys.rate.tokens.map(|rate| rate.value),
        },
        retry: RequestRetry { attempts: keys.retry.attempts.value, first_ms, longest_ms },
        fallback: fallback.iter().map(|named| named.value.clone()).collect(),
    };
    ModelDeclaration {
        key: one.key,
        model,
        fallback,
        currency,
        script: Some(file).filter(|_| is_script && has_file),
        params: keys.params.at,
    }
}

/// Checks that the program at an address is named with that address.
fn check_server(diagnostics: &mut Diagnostics, keys: &ModelKeys) {
    let (Some(server), Some(provider)) = (&keys.server, &keys.provider) else { return };
    let has_place = provider.value == Provider::OpenAi && keys.url.is_some();
    if !has_place && provider.value != Provider::Script {
        let message = format!(
            "{}.server: it says which program answers at `url` in the form of `openai`",
            keys.own.path
        );
        diagnostics.report_value(server.at, &message, "provider: openai and a `url`, or no `server`");
    }
}

fn check_files(diagnostics: &mut Diagnostics, keys: &ModelKeys) {
    let is_ollama = keys.provider.as_ref().is_some_and(|provider| provider.value == Provider::Ollama);
    if let Some(at) = keys.files.at.filter(|_| is_ollama && keys.files.value.contains(&FileKind::Pdf)) {
        let message = format!("{}.files: Ollama takes no PDF", keys.own.path);
        diagnostics.report_value(at, &message, "files: [image]");
    }
}

/// The most tokens of an answer. Models that reason need more, and those of a provider's own server can give more.
fn choose_output(keys: &ModelKeys) -> u64 {
    if let Some(given) = &keys.max_output {
        return given.value;
    }
    let thinks = keys.thinking.as_ref().is_some_and(|thinking| thinking.value != ModelThinking::Off);
    let is_local = |provider: &At<Provider>| matches!(provider.value, Provider::Ollama | Provider::Script);
    let is_own = keys.url.is_none() && !keys.provider.as_ref().is_none_or(is_local);
    let most = if thinks || is_own { limits::LARGE_OUTPUT } else { limits::SMALL_OUTPUT };
    most.min(keys.window.value / 4)
}

/// Checks that the provider takes this reasoning, and that it leaves room for the answer.
fn check_thinking(diagnostics: &mut Diagnostics, keys: &ModelKeys, max_output: u64) {
    let (Some(thinking), Some(provider)) = (&keys.thinking, &keys.provider) else { return };
    let ModelThinking::Tokens(tokens) = thinking.value else { return };
    let path = &keys.own.path;
    let has_no_number = match provider.value {
        Provider::Ollama | Provider::OpenAiResponses => true,
        Provider::OpenAi => keys.url.is_none(),
        _ => false,
    };
    let (message, fix) = if has_no_number {
        let word = provider.value.word();
        (format!("{path}.thinking: `{word}` takes no number of tokens"), "thinking: low, medium, high or max")
    } else if provider.value == Provider::Anthropic && tokens < limits::LEAST_THINKING {
        let least = limits::LEAST_THINKING;
        (format!("{path}.thinking: Anthropic takes {least} tokens or more"), "thinking: 4k")
    } else if tokens >= max_output {
        let message = format!(
            "{path}.thinking: {tokens} tokens of reasoning leave no room for an answer in the {max_output} of `max_output`"
        );
        (message, "a larger `max_output`, or fewer tokens")
    } else {
        return;
    };
    diagnostics.report_value(thinking.at, &message, fix);
}

/// Checks that a request fits beside its answer.
fn check_sizes(diagnostics: &mut Diagnostics, keys: &ModelKeys, max_output: u64) {
    let window = &keys.window;
    if let Some(at) = keys.max_output.as_ref().map(|given| given.at).or(window.at)
        && max_output.saturating_add(limits::SPARE_TOKENS) >= window.value
    {
        let message = format!(
            "{}: an answer of {max_output} tokens leaves no room for a request in a window of {}",
            keys.own.path, window.value
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
        cache_write: money(keys.cache_write),
        per: keys.per.value,
    });
    (price, currency)
}

form! {
    /// How much a model reasons: a word, or a number of tokens.
    pub(super) ThinkingText -> ModelThinking {
        KeyForm::Amount("^(off|low|medium|high|max|[0-9]+[kM]?)$"), read_thinking
    }
}

fn read_thinking(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<ModelThinking> {
    let found = text(diagnostics, node, path)?;
    if let Some((_, word)) = ModelThinking::WORDS.iter().find(|(word, _)| *word == found.value) {
        return Some(*word);
    }
    if found.value.starts_with(|first: char| first.is_ascii_digit()) {
        return RequestTokens::read(diagnostics, node, path).map(ModelThinking::Tokens);
    }
    let message = format!("{path}: `{}` is no level and no number of tokens", found.value);
    diagnostics.report_value(found.at, &message, "off, low, medium, high, max, or tokens as 8k");
    None
}

form! {
    /// An amount in a second, a minute or an hour.
    pub(super) AmountRateText -> AmountRate {
        KeyForm::Pattern("^[1-9][0-9]{0,8}[kM]?/[smh]$"), read_amount_rate
    }
}

fn read_amount_rate(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<AmountRate> {
    read_parsed(diagnostics, node, path, |text| {
        let wrong = || {
            let words = format!("`{text}` is no amount, from 1 up, in a second, a minute or an hour");
            (words, "60/m, or 100k/m".to_owned())
        };
        parse_amount_rate(text).ok_or_else(wrong)
    })
}

fn parse_amount_rate(text: &str) -> Option<AmountRate> {
    let (amount, unit) = text.split_once('/')?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        _ => return None,
    };
    let period_ms = u64::try_from(Duration::from_secs(seconds).as_millis()).ok()?;
    let found = THOUSANDS.iter().rev().find_map(|(unit, factor)| Some((amount.strip_suffix(unit)?, factor)));
    let (digits, factor) = found?;
    let is_plain = digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
    let amount = digits.parse::<u64>().ok().filter(|_| is_plain)?.checked_mul(*factor)?;
    (amount <= limits::RATE_AMOUNT).then_some(AmountRate { amount, period_ms })
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A model with these keys, or the mistakes.
    fn load_model(keys: &str) -> Result<ModelSpec, String> {
        let text = format!(
            "organism: {{name: hello}}\nmodels:\n  main: {{model: m, {keys}}}\nagents:\n  helper: {{model: main, prompt: {{identity: You help.}}}}\n"
        );
        let loaded = crate::load_text(Path::new("/organism.yaml"), &text);
        loaded.map(|mut file| file.models.remove(0)).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn an_answer_has_more_room_if_the_model_reasons_or_its_provider_gives_more() {
        for (keys, most) in [
            ("provider: openai", 16_000),
            ("provider: openai, url: 'http://127.0.0.1:8080'", 4_000),
            ("provider: openai, url: 'http://127.0.0.1:8080', thinking: low", 16_000),
            ("provider: openai, url: 'http://127.0.0.1:8080', thinking: off", 4_000),
            ("provider: openai-responses", 16_000),
            ("provider: ollama", 4_000),
            ("provider: gemini, window: 20k", 5_000),
            ("provider: anthropic, max_output: 2k", 2_000),
        ] {
            assert_eq!(load_model(keys).map(|model| model.max_output), Ok(most), "{keys}");
        }
    }

    #[test]
    fn reasoning_is_a_level_or_a_number_that_the_provider_takes() {
        for (keys, thinking) in [
            ("provider: openai", None),
            ("provider: openai, thinking: max", Some(ModelThinking::Max)),
            ("provider: anthropic, thinking: off", Some(ModelThinking::Off)),
            ("provider: anthropic, thinking: 4k", Some(ModelThinking::Tokens(4_000))),
            ("provider: gemini, thinking: 512", Some(ModelThinking::Tokens(512))),
        ] {
            assert_eq!(load_model(keys).map(|model| model.thinking), Ok(thinking), "{keys}");
        }
        for (keys, words) in [
            ("provider: openai, thinking: 4k", "`openai` takes no number of tokens"),
            ("provider: ollama, thinking: 4k", "`ollama` takes no number of tokens"),
            ("provider: openai-responses, thinking: 4k", "`openai-responses` takes no number of tokens"),
            ("provider: anthropic, thinking: 1000", "Anthropic takes 1024 tokens or more"),
            ("provider: anthropic, thinking: 16k", "16000 tokens of reasoning leave no room for an"),
            ("provider: anthropic, thinking: much", "`much` is no level and no number of tokens"),
        ] {
            let mistakes = load_model(keys).map(|model| model.name).expect_err(keys);
            let line = mistakes.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(line.contains(words), "{keys}: {line}");
        }
    }

    #[test]
    fn a_rate_is_an_amount_in_a_time_and_never_none() {
        let rate = |amount, period_ms| Some(AmountRate { amount, period_ms });
        for (keys, requests, tokens) in [
            ("provider: openai", None, None),
            (
                "provider: openai, rate: {requests: 60/m, tokens: 100k/m}",
                rate(60, 60_000),
                rate(100_000, 60_000),
            ),
            ("provider: openai, rate: {tokens: 2M/h}", None, rate(2_000_000, 3_600_000)),
        ] {
            let wanted = ModelRates { requests, tokens };
            assert_eq!(load_model(keys).map(|model| model.rate), Ok(wanted), "{keys}");
        }
        for rate in ["0", "{requests: 0}", "{requests: 0/m}", "{requests: 60/d}", "{tokens: 1.5k/m}"] {
            let keys = format!("provider: openai, rate: {rate}");
            let mistakes = load_model(&keys).map(|model| model.name).expect_err(rate);
            assert!(mistakes.contains("models.main.rate"), "{mistakes}");
        }
    }

    #[test]
    fn a_forced_call_beside_reasoning_is_warned_of() {
        let warned = |thinking: &str, choice: &str| {
            let text = format!(
                "organism: {{name: hello}}\npayloads: {{search: {{query: text}}, found: text}}\n\
                 models:\n  main: {{provider: anthropic, model: m, thinking: {thinking}}}\n\
                 listeners:\n  search: {{run: [cat], accepts: [search], returns: [found], entry: false}}\n\
                 agents:\n  helper: {{model: main, dialect: native, tool_choice: {choice}, peers: [search], \
                 prompt: {{identity: You help.}}}}\n"
            );
            let file =
                crate::load_text(Path::new("/organism.yaml"), &text).unwrap_or_else(|no| panic!("{no}"));
            file.warnings.iter().map(|one| one.code.as_str()).collect::<Vec<_>>()
        };
        for (thinking, choice) in [("high", "required"), ("2k", "search")] {
            assert_eq!(warned(thinking, choice), ["config.forced-tool"], "{thinking} {choice}");
        }
        for (thinking, choice) in [("off", "required"), ("high", "auto"), ("high", "none")] {
            assert_eq!(warned(thinking, choice), [""; 0], "{thinking} {choice}");
        }
    }
}
