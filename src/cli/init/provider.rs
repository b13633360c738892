//! The model for the agent of `init --agent`: the one whose key is in the environment, the requested one, or a
//! rehearsal. It checks whether a variable is set, and neither keeps nor prints its content.

use clap::ValueEnum;

/// Who answers for the agent's model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(in crate::cli) enum Provider {
    Anthropic,
    #[value(name = "openai")]
    OpenAi,
    Gemini,
    Ollama,
    Script,
}

/// Providers that need a key, in the order of the search.
const WITH_KEY: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Gemini];

impl Provider {
    /// The variables that may hold its key. The first is the usual one.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Provider::Anthropic => &["ANTHROPIC_API_KEY"],
            Provider::OpenAi => &["OPENAI_API_KEY"],
            Provider::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Provider::Ollama | Provider::Script => &[],
        }
    }

    /// One of its models that is fast and cheap.
    fn model(self) -> &'static str {
        match self {
            Provider::Anthropic => "claude-haiku-4-5",
            Provider::OpenAi => "gpt-5-mini",
            Provider::Gemini => "gemini-flash-latest",
            Provider::Ollama => "llama3.2",
            Provider::Script => "",
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// A model, and why it was chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) struct Choice {
    pub(in crate::cli) provider: Provider,
    /// The variable that holds its key, and whether it is set.
    key: Option<(&'static str, bool)>,
    /// Keys of other providers that are set.
    others: Vec<Provider>,
}

/// Chooses a model. `is_set` reports whether a variable has a value.
pub(in crate::cli) fn choose(wanted: Option<Provider>, is_set: impl Fn(&str) -> bool) -> Choice {
    let key_of = |provider: Provider| provider.keys().iter().copied().find(|name| is_set(name));
    let mut found: Vec<Provider> = WITH_KEY.into_iter().filter(|one| key_of(*one).is_some()).collect();
    let provider = wanted.or(found.first().copied()).unwrap_or(Provider::Script);
    found.retain(|one| *one != provider);
    let usual = provider.keys().first().copied();
    let key = key_of(provider).map(|name| (name, true)).or(usual.map(|name| (name, false)));
    Choice { provider, key, others: if wanted.is_none() { found } else { Vec::new() } }
}

impl Choice {
    /// The model as written in the organism file.
    pub(in crate::cli) fn in_file(&self) -> String {
        let name = self.provider.name();
        match (self.provider, self.key) {
            (Provider::Script, _) => format!("{{provider: {name}, file: replies.yaml}}"),
            (other, None) => format!("{{provider: {name}, model: {}}}", other.model()),
            (other, Some((key, _))) => {
                format!("{{provider: {name}, model: {}, key_env: {key}}}", other.model())
            }
        }
    }

    /// The model, and what is missing.
    pub(in crate::cli) fn in_one_line(&self) -> String {
        let (name, model) = (self.provider.name(), self.provider.model());
        match (self.provider, self.key) {
            (Provider::Script, _) => {
                "model: rehearsed, with the answers in replies.yaml; no API key is set".to_owned()
            }
            (_, None) => format!("model: {model} from {name} on this machine; first: ollama pull {model}"),
            (_, Some((key, true))) => format!("model: {model} from {name}, with the key in {key}"),
            (_, Some((key, false))) => {
                format!("model: {model} from {name}; first set {key}, which is not set")
            }
        }
    }

    /// What a person should know about it: `again` is the typed command, up to the provider.
    pub(in crate::cli) fn told(&self, again: &str) -> Vec<String> {
        let mut lines = vec![self.in_one_line()];
        if self.provider == Provider::Script {
            lines.push(format!("  for a model on this machine: {again} --provider ollama"));
            lines.push(
                "  for a hosted model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY first"
                    .to_owned(),
            );
        }
        if !self.others.is_empty() {
            let others: Vec<String> = self.others.iter().map(|one| one.name()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let choice = choose(None, |name| set.contains(&name));
            assert_eq!((choice.provider, choice.in_file().as_str()), (provider, in_file));
        }
    }

    #[test]
    fn what_was_asked_for_is_chosen_with_or_without_a_key() {
        let choice = choose(Some(Provider::Gemini), |name| name == "OPENAI_API_KEY");
        assert_eq!(
            choice.in_file(),
            "{provider: gemini, model: gemini-flash-latest, key_env: GEMINI_API_KEY}"
        );
        assert!(choice.told("x")[0].ends_with("first set GEMINI_API_KEY, which is not set"));
        let local = choose(Some(Provider::Ollama), |_| true);
        assert_eq!(local.in_file(), "{provider: ollama, model: llama3.2}");
        let two = choose(None, |name| name != "ANTHROPIC_API_KEY").told("x").concat();
        assert!(two.contains("with the key in OPENAI_API_KEY") && two.contains("--provider gemini"), "{two}");
    }
}
