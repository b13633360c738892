//! The model of a template: the requested one, the one whose key is in the environment, one of an Ollama that answers,
//! or a rehearsal. It checks whether a variable is set, and neither keeps nor prints its content.

use serde_json::json;
use systole_agent::spec::Provider;

use super::ollama::LocalOllama;

/// The providers in the order of the search for a key.
fn rank_providers() -> Vec<Provider> {
    let mut all = Provider::ALL.to_vec();
    all.sort_by_key(|one| one.row().map_or(u8::MAX, |row| row.rank));
    all
}

/// The same, with the first only of those that share a key.
fn rank_keyed() -> Vec<Provider> {
    let mut keyed: Vec<Provider> = Vec::new();
    for provider in rank_providers() {
        let variables = list_key_variables(provider);
        let is_new = variables.is_empty() || keyed.iter().all(|one| list_key_variables(*one) != variables);
        keyed.extend(Some(provider).filter(|_| is_new));
    }
    keyed
}

/// The words of the providers, in the same order.
pub(super) fn list_words() -> Vec<&'static str> {
    rank_providers().into_iter().map(Provider::word).collect()
}

/// What the option is for that takes one of these words.
pub(super) const OF_WORDS: &str = "Whose model the agents have, instead of the first key that is set";

/// The same with the words on a line of their own: behind it they would be wider than a terminal.
pub(super) fn describe_words() -> String {
    format!("{OF_WORDS}:\n{}", list_words().join(", "))
}

/// The options that name a provider with models.
pub(super) fn list_hosted() -> Vec<String> {
    let with_models = rank_providers().into_iter().filter(|one| one.row().is_some());
    with_models.map(|one| format!("--provider {}", one.word())).collect()
}

/// The variables that may hold a provider's key. The first is the usual one.
fn list_key_variables(provider: Provider) -> &'static [&'static str] {
    provider.row().map(|row| row.key_variables).unwrap_or_default()
}

/// A model, and why it was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) struct ModelChoice {
    pub(in crate::cli) provider: Provider,
    /// Its name at its provider. Empty for a script.
    model: String,
    /// The variable that holds its key, and whether it is set.
    key: Option<(&'static str, bool)>,
    /// The Ollama that answers, if it was looked for.
    local: Option<LocalOllama>,
    /// Keys of other providers that are set.
    others: Vec<Provider>,
}

/// Chooses a model. `is_set` reports whether a variable has a value, and `local` looks for an Ollama.
pub(in crate::cli) fn choose_model(
    wanted: Option<Provider>,
    is_set: impl Fn(&str) -> bool,
    local: impl FnOnce() -> Option<LocalOllama>,
) -> ModelChoice {
    let key_of = |provider: Provider| list_key_variables(provider).iter().copied().find(|name| is_set(name));
    let mut found = rank_keyed();
    found.retain(|one| key_of(*one).is_some());
    let hosted = wanted.or(found.first().copied());
    let local = if hosted.is_none_or(|one| one == Provider::Ollama) { local() } else { None };
    let is_usable = local.as_ref().is_some_and(|local| !local.models.is_empty());
    let provider = hosted.unwrap_or(if is_usable { Provider::Ollama } else { Provider::Script });
    let usual = provider.row().map(|row| row.cheap_model).unwrap_or_default();
    let model =
        local.as_ref().and_then(|local| local.choose_model(usual)).unwrap_or_else(|| usual.to_owned());
    found.retain(|one| *one != provider);
    let variable = list_key_variables(provider).first().copied();
    let key = key_of(provider).map(|name| (name, true)).or(variable.map(|name| (name, false)));
    let others = if wanted.is_none() { found } else { Vec::new() };
    ModelChoice { provider, model, key, local, others }
}

impl ModelChoice {
    /// The same provider with another model. `None` for a script, which has no models.
    pub(super) fn with_model(self, model: &str) -> Option<ModelChoice> {
        (self.provider != Provider::Script).then(|| ModelChoice { model: model.to_owned(), ..self })
    }

    /// The model as written in the organism file.
    pub(in crate::cli) fn in_file(&self) -> String {
        let (name, model) = (self.provider.word(), write_yaml(&self.model));
        let url = self.local.as_ref().and_then(|local| local.url.as_ref());
        match (self.provider, self.key) {
            (Provider::Script, _) => format!("{{provider: {name}, file: replies.yaml}}"),
            (_, Some((key, _))) => format!("{{provider: {name}, model: {model}, key_env: {key}}}"),
            (_, None) => {
                let url = url.map(|url| format!(", url: {}", write_yaml(url))).unwrap_or_default();
                format!("{{provider: {name}, model: {model}{url}}}")
            }
        }
    }

    /// The model, and what is missing.
    pub(in crate::cli) fn in_one_line(&self) -> String {
        let (name, model) = (self.provider.word(), &self.model);
        match (self.provider, self.key) {
            (Provider::Script, _) => "model: rehearsed, with the answers in replies.yaml".to_owned(),
            (_, None) => {
                let url = self.local.as_ref().and_then(|local| local.url.as_deref());
                let at = url.map_or_else(|| "on this machine".to_owned(), |url| format!("at {url}"));
                let is_there = self.local.as_ref().is_some_and(|local| local.has_model(model));
                let first = if is_there { String::new() } else { format!("; first: ollama pull {model}") };
                format!("model: {model} from {name} {at}{first}")
            }
            (_, Some((key, true))) => format!("model: {model} from {name}, with the key in {key}"),
            (_, Some((key, false))) => {
                format!("model: {model} from {name}; first set {key}, which is not set")
            }
        }
    }

    /// What a person should know about it: `again` is the typed command, up to the provider.
    pub(in crate::cli) fn describe_choice(&self, again: &str) -> Vec<String> {
        let mut lines = vec![self.in_one_line()];
        if self.provider == Provider::Script {
            lines.push(format!("  for a model on this machine: {again} --provider ollama"));
            let usual = rank_keyed().into_iter().filter_map(|one| list_key_variables(one).first().copied());
            if let Some((last, others)) = usual.collect::<Vec<_>>().split_last() {
                lines.push(format!("  for a hosted model: set {} or {last} first", others.join(", ")));
            }
        }
        if !self.others.is_empty() {
            let others: Vec<&str> = self.others.iter().map(|one| one.word()).collect();
            lines.push(format!("  keys are set for these as well: --provider {}", others.join(" or ")));
        }
        if !matches!(self.provider, Provider::Script) {
            lines.push(
                "  models.main in organism.yaml names it; --set models.main.provider=script rehearses"
                    .to_owned(),
            );
        }
        lines
    }
}

/// A text as a value in braces: with quotes unless it is a plain word.
fn write_yaml(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.contains(['-', '.']);
    if is_word && text.chars().all(is_plain) { text.to_owned() } else { json!(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wanted: Option<Provider>, set: &[&str]) -> ModelChoice {
        choose_model(wanted, |name| set.contains(&name), || None)
    }

    fn ollama(url: Option<&str>, models: &[&str]) -> Option<LocalOllama> {
        let models = models.iter().map(|one| (*one).to_owned()).collect();
        Some(LocalOllama { url: url.map(str::to_owned), models })
    }

    #[test]
    fn the_first_key_that_is_set_chooses_and_its_value_is_never_asked_for() {
        for (set, provider, in_file) in [
            (&[][..], Provider::Script, "{provider: script, file: replies.yaml}"),
            (
                &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
                Provider::Anthropic,
                "{provider: anthropic, model: claude-haiku-4-5, key_env: ANTHROPIC_API_KEY}",
            ),
            (
                &["OPENAI_API_KEY"],
                Provider::OpenAi,
                "{provider: openai, model: gpt-5-mini, key_env: OPENAI_API_KEY}",
            ),
            (
                &["GOOGLE_API_KEY"],
                Provider::Gemini,
                "{provider: gemini, model: gemini-flash-latest, key_env: GOOGLE_API_KEY}",
            ),
        ] {
            let choice = chosen(None, set);
            assert_eq!((choice.provider, choice.in_file().as_str()), (provider, in_file));
        }
    }

    #[test]
    fn what_was_asked_for_is_chosen_with_or_without_a_key() {
        let choice = chosen(Some(Provider::Gemini), &["OPENAI_API_KEY"]);
        assert_eq!(
            choice.in_file(),
            "{provider: gemini, model: gemini-flash-latest, key_env: GEMINI_API_KEY}"
        );
        assert!(choice.describe_choice("x")[0].ends_with("first set GEMINI_API_KEY, which is not set"));
        let local = chosen(Some(Provider::Ollama), &["OPENAI_API_KEY"]);
        assert_eq!(local.in_file(), "{provider: ollama, model: llama3.2}");
        assert!(local.in_one_line().ends_with("first: ollama pull llama3.2"), "{local:?}");
        let two = chosen(None, &["GEMINI_API_KEY", "OPENAI_API_KEY"]).describe_choice("x").concat();
        assert!(two.contains("with the key in OPENAI_API_KEY") && two.contains("--provider gemini"), "{two}");
        assert!(!two.contains("openai-responses"), "it has the same key: {two}");
        let responses = chosen(Some(Provider::OpenAiResponses), &["OPENAI_API_KEY"]);
        assert_eq!(
            responses.in_file(),
            "{provider: openai-responses, model: gpt-5-mini, key_env: OPENAI_API_KEY}"
        );
        let named = chosen(None, &["OPENAI_API_KEY"]).with_model("gpt: \"x\", y").unwrap();
        assert_eq!(named.in_file(), r#"{provider: openai, model: "gpt: \"x\", y", key_env: OPENAI_API_KEY}"#);
        assert_eq!(chosen(None, &[]).with_model("gpt-5-mini"), None);
    }

    #[test]
    fn an_ollama_that_answers_is_taken_only_without_a_key() {
        let local = |local: Option<LocalOllama>| choose_model(None, |_| false, || local);
        let usual = local(ollama(None, &["qwen3:4b", "llama3.2:latest"]));
        assert_eq!(usual.in_file(), "{provider: ollama, model: llama3.2}");
        assert_eq!(usual.in_one_line(), "model: llama3.2 from ollama on this machine");
        let first = local(ollama(Some("http://10.0.0.7:11434"), &["qwen3:4b", "other"]));
        assert_eq!(
            first.in_file(),
            "{provider: ollama, model: \"qwen3:4b\", url: \"http://10.0.0.7:11434\"}"
        );
        assert_eq!(first.in_one_line(), "model: qwen3:4b from ollama at http://10.0.0.7:11434");
        let named = first.with_model("gemma-3").unwrap();
        assert!(named.in_one_line().ends_with("; first: ollama pull gemma-3"), "{named:?}");
        assert_eq!(local(ollama(None, &[])).provider, Provider::Script);
        let keyed = choose_model(None, |_| true, || panic!("it is not looked for"));
        assert_eq!(keyed.provider, Provider::Anthropic);
    }
}
