//! The model for the agent of `init --agent`: the one whose key is in the environment, the requested one, or a
//! rehearsal. It checks whether a variable is set, and neither keeps nor prints its content.

use systole_agent::spec::Provider;

/// The providers in the order of the search for a key.
fn ranked() -> Vec<Provider> {
    let mut all = Provider::ALL.to_vec();
    all.sort_by_key(|one| one.row().map_or(u8::MAX, |row| row.rank));
    all
}

/// The words of the providers, in the same order.
pub(super) fn words() -> Vec<&'static str> {
    ranked().into_iter().map(Provider::word).collect()
}

/// The variables that may hold a provider's key. The first is the usual one.
fn key_variables(provider: Provider) -> &'static [&'static str] {
    provider.row().map(|row| row.key_variables).unwrap_or_default()
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
    let key_of = |provider: Provider| key_variables(provider).iter().copied().find(|name| is_set(name));
    let mut found = ranked();
    found.retain(|one| key_of(*one).is_some());
    let provider = wanted.or(found.first().copied()).unwrap_or(Provider::Script);
    found.retain(|one| *one != provider);
    let usual = key_variables(provider).first().copied();
    let key = key_of(provider).map(|name| (name, true)).or(usual.map(|name| (name, false)));
    Choice { provider, key, others: if wanted.is_none() { found } else { Vec::new() } }
}

impl Choice {
    /// The model's name at its provider. Empty for a script.
    fn model(&self) -> &'static str {
        self.provider.row().map(|row| row.cheap_model).unwrap_or_default()
    }

    /// The model as written in the organism file.
    pub(in crate::cli) fn in_file(&self) -> String {
        let (name, model) = (self.provider.word(), self.model());
        match (self.provider, self.key) {
            (Provider::Script, _) => format!("{{provider: {name}, file: replies.yaml}}"),
            (_, None) => format!("{{provider: {name}, model: {model}}}"),
            (_, Some((key, _))) => format!("{{provider: {name}, model: {model}, key_env: {key}}}"),
        }
    }

    /// The model, and what is missing.
    pub(in crate::cli) fn in_one_line(&self) -> String {
        let (name, model) = (self.provider.word(), self.model());
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
            let usual = ranked().into_iter().filter_map(|one| key_variables(one).first().copied());
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
