//! The models of an Ollama that answers on this machine, or where `OLLAMA_HOST` says.
//!
//! The address comes in; the installed models go out. It waits for a moment only, and no answer is not a fault: then
//! there is none.

use serde_json::Value;
use systole_http::HttpAddress;
use ureq::Agent;

use crate::limits;

/// The variable that Ollama's own programs read.
pub(super) const HOST: &str = "OLLAMA_HOST";
/// Where it listens by default, as models of the organism file do.
const USUAL: &str = "http://127.0.0.1:11434";

/// An Ollama that answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) struct LocalOllama {
    /// Its address, if it is not the usual one.
    pub(super) url: Option<String>,
    /// The installed models that can write text.
    pub(super) models: Vec<String>,
}

impl LocalOllama {
    /// The Ollama at this value of `OLLAMA_HOST`, if it answers.
    pub(in crate::cli) fn find_at(host: &str) -> Option<LocalOllama> {
        let url = read_address(host);
        // The organism file takes the same addresses: without a name and a password.
        HttpAddress::parse(&url).ok()?;
        let config =
            Agent::config_builder().max_redirects(0).proxy(None).timeout_global(Some(limits::OLLAMA_ANSWER));
        let mut answer = Agent::new_with_config(config.build()).get(format!("{url}/api/tags")).call().ok()?;
        let text = answer.body_mut().with_config().limit(limits::FILE_BYTES).read_to_vec().ok()?;
        let list: Value = serde_json::from_slice(&text).ok()?;
        let names = list.get("models")?.as_array()?.iter();
        let names = names.filter_map(|model| model.get("name")?.as_str().map(str::to_owned));
        let models = names.filter(|name| !name.contains("embed")).collect();
        Some(LocalOllama { url: (url != USUAL).then_some(url), models })
    }

    /// Whether it has this model.
    pub(super) fn has_model(&self, model: &str) -> bool {
        self.models.iter().any(|one| one == model || one.strip_suffix(":latest") == Some(model))
    }

    /// The usual model if it is installed, else the first one.
    pub(super) fn choose_model(&self, usual: &str) -> Option<String> {
        let usual = self.has_model(usual).then(|| usual.to_owned());
        usual.or_else(|| self.models.first().cloned())
    }
}

/// The address that a value of `OLLAMA_HOST` means. It may lack the scheme, the host or the port; and a server that
/// listens on all addresses is asked at the local one.
fn read_address(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("", host));
    let (name, port) = match rest.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((name, port)) => (name, format!(":{port}")),
        None => (rest, if scheme.is_empty() { ":11434".to_owned() } else { String::new() }),
    };
    let name = if ["", "0.0.0.0", "[::]"].contains(&name) { "127.0.0.1" } else { name };
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    format!("{scheme}://{name}{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_ollama_is_read_as_ollama_reads_it() {
        for (host, url) in [
            ("", USUAL),
            (" 0.0.0.0 ", USUAL),
            ("localhost", "http://localhost:11434"),
            (":8080", "http://127.0.0.1:8080"),
            ("[::1]", "http://[::1]:11434"),
            ("[::]:1", "http://127.0.0.1:1"),
            ("https://models.example/", "https://models.example"),
        ] {
            assert_eq!(read_address(host), url, "{host}");
        }
        assert_eq!(LocalOllama::find_at("127.0.0.1:1"), None);
        assert_eq!(LocalOllama::find_at("no address at all"), None);
    }
}
