//! The keyring of a door: which credential belongs to which client. The operator's credential is
//! generated at each start and stored in the run file. Clients' credentials come from the environment
//! variables that the organism's file names.
//!
//! Credentials go in and never come out: this module prints none to a terminal or a trace.

use super::runfile::{Credential, GuestCredentials};
use crate::limits;
use systole_config::{Diagnostic, FileMistakes, TokenSource};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name};

/// A credential with its owner.
struct TokenOwner {
    client: Name,
    credential: Credential,
    /// Whether it is another one at each start.
    is_drawn: bool,
}

impl TokenOwner {
    fn from_drawn(client: Name, credential: Credential) -> TokenOwner {
        TokenOwner { client, credential, is_drawn: true }
    }
}

/// Credentials with their owners.
pub struct Keyring {
    owners: Vec<TokenOwner>,
    are_metrics_open: bool,
}

impl Keyring {
    /// A keyring with only the operator's credential.
    pub fn from_operator(credential: Credential) -> Keyring {
        Keyring::from_client(Name::new_operator(), credential)
    }

    /// A keyring with only this client's credential.
    pub fn from_client(client: Name, credential: Credential) -> Keyring {
        Keyring { owners: vec![TokenOwner::from_drawn(client, credential)], are_metrics_open: false }
    }

    /// Says whether the numbers for monitoring need no credential.
    pub fn with_open_metrics(mut self, are_metrics_open: bool) -> Keyring {
        self.are_metrics_open = are_metrics_open;
        self
    }

    /// Whether the numbers for monitoring need no credential.
    pub fn are_metrics_open(&self) -> bool {
        self.are_metrics_open
    }

    /// Adds the client `mcp` for hosts of models, and `acp` for editors, with credentials that were kept, or drawn ones. One
    /// whose name the organism's file gives to a client or a listener is not added.
    pub fn with_guests(
        mut self,
        organism: &Composition,
        kept: GuestCredentials,
    ) -> std::io::Result<(Keyring, GuestCredentials)> {
        let mut add = |name: Name, kept: Option<Credential>| {
            if !organism.has_guest(&name) {
                return Ok(None);
            }
            let credential = kept.map_or_else(Credential::draw, Ok)?;
            self.owners.push(TokenOwner::from_drawn(name, credential.clone()));
            Ok::<_, std::io::Error>(Some(credential))
        };
        let mcp = add(Name::new_mcp(), kept.mcp)?;
        let guests = GuestCredentials { mcp, acp: add(Name::new_acp(), kept.acp)? };
        Ok((self, guests))
    }

    /// Adds the clients' tokens. Each variable without a token, or with an unsuitable one, is reported
    /// with its place in the file.
    pub fn with_clients(
        mut self,
        sources: &[TokenSource],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Keyring, FileMistakes> {
        let mut refused = Vec::new();
        for source in sources {
            match self.check_token(source, variable(&source.variable)) {
                Ok(token) => self = self.with_client(source.client.clone(), token),
                Err((code, message, fix)) => {
                    refused.push(Diagnostic::new(code, source.place.clone(), &message, Some(fix)));
                }
            }
        }
        refused.sort_by_key(|diagnostic| (diagnostic.place.line, diagnostic.place.column));
        if refused.is_empty() { Ok(self) } else { Err(FileMistakes(refused)) }
    }

    /// Adds a client with a token that stays the same until a person changes it.
    pub fn with_client(mut self, client: Name, credential: Credential) -> Keyring {
        self.owners.push(TokenOwner { client, credential, is_drawn: false });
        self
    }

    fn check_token(
        &self,
        source: &TokenSource,
        token: Option<String>,
    ) -> Result<Credential, (Code, String, &'static str)> {
        let told = |what: &str| {
            let client = source.client.as_str();
            format!("clients.{client}.token_env: {}{what}", source.variable)
        };
        const DRAW: &str =
            "set it where `systole run` is started, for example to what `openssl rand -hex 32` prints";
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Err((Code::ConfigMissing, told(" is not set in the environment"), DRAW));
        };
        if !(limits::TOKEN_LEAST_BYTES..=limits::TOKEN_MOST_BYTES).contains(&token.len())
            || !token.bytes().all(|b| b.is_ascii_graphic())
        {
            let what = " holds no token: 16 to 1024 visible ASCII characters";
            return Err((Code::ConfigValue, told(what), DRAW));
        }
        if let Some(other) = self.owners.iter().find(|other| other.credential.matches(&token)) {
            let what = format!(" holds the token of {} as well", other.client.as_str());
            return Err((Code::ConfigDuplicate, told(&what), "a token of its own for each client"));
        }
        Ok(Credential::from_token(token))
    }

    /// The owner of the given credential. It compares every credential, so that the time reveals
    /// nothing.
    pub fn find_owner(&self, shown: &str) -> Option<&Name> {
        self.owners.iter().fold(None, |found, owner| {
            let is_it = owner.credential.matches(shown);
            if is_it { Some(&owner.client) } else { found }
        })
    }

    /// Whether a client has a credential.
    pub fn has_client(&self, client: &Name) -> bool {
        self.owners.iter().any(|owner| owner.client == *client)
    }

    /// The hash of a text that a client holds: another one if its token is changed. A token that is drawn at each start
    /// does not count in it. `None` if the client has no credential.
    pub fn hash_for(&self, client: &Name, what: &str, text: &str) -> Option<Digest> {
        let owner = self.owners.iter().find(|owner| owner.client == *client)?;
        let token = if owner.is_drawn { "" } else { owner.credential.secret() };
        Some(Digest::hash_bytes(format!("{what}\0{client}\0{token}\0{text}").as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_config::FilePlace;

    fn source(client: &str, variable: &str, line: usize) -> TokenSource {
        let place = FilePlace {
            file: "organism.yaml".to_owned(),
            line,
            column: 3,
            span: variable.to_owned(),
            text: format!("  {variable}"),
        };
        TokenSource { client: Name::parse(client).unwrap(), variable: variable.to_owned(), place }
    }

    const ALICE: &str = "alice-token-0123456789";

    #[test]
    fn each_credential_opens_for_its_own_client_only() {
        let operator = Credential::from_token("0123456789abcdef0123456789abcdef".to_owned());
        let set = |name: &str| (name == "ALICE").then(|| ALICE.to_owned());
        let keyring =
            Keyring::from_operator(operator).with_clients(&[source("alice", "ALICE", 1)], set).unwrap();
        let whose = |shown| keyring.find_owner(shown).map(Name::as_str);
        assert_eq!(whose(ALICE), Some("alice"));
        assert_eq!(whose("0123456789abcdef0123456789abcdef"), Some("operator"));
        for wrong in ["", "alice-token-012345678", "alice-token-01234567890", "ALICE"] {
            assert_eq!(whose(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_variable_without_a_valid_token_is_reported_with_its_place_and_never_its_value() {
        let keyring = Keyring::from_operator(Credential::from_token(ALICE.to_owned()));
        let sources = [
            source("short", "SHORT", 5),
            source("gone", "GONE", 4),
            source("empty", "EMPTY", 6),
            source("blank", "BLANK", 7),
            source("thief", "THIEF", 8),
        ];
        let set = |name: &str| match name {
            "SHORT" => Some("tiny-secret".to_owned()),
            "EMPTY" => Some(String::new()),
            "BLANK" => Some("a secret with blanks in it".to_owned()),
            "THIEF" => Some(ALICE.to_owned()),
            _ => None,
        };
        let Err(refused) = keyring.with_clients(&sources, set) else { panic!("none of them is fit") };
        let told: Vec<(usize, &str)> = refused.0.iter().map(|d| (d.place.line, d.code.as_str())).collect();
        let (missing, value) = ("config.missing", "config.value");
        assert_eq!(told, [(4, missing), (5, value), (6, missing), (7, value), (8, "config.duplicate")]);
        let text = refused.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("clients.gone.token_env: GONE is not set in the environment"), "{text}");
        assert!(!text.contains("secret") && !text.contains(ALICE), "{text}");
        assert!(refused.0.iter().all(|d| d.fix.is_some()));
    }
}
