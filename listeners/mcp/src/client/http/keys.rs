//! What goes with a request as its key: the one of the file, or the token of a login.

use std::sync::Arc;

use super::address::{ServerAddress, ServerKey};
use crate::login::{LoginTokens, TokenFile};

/// A server at an address, with the key or the login for it.
#[derive(Clone, Debug)]
pub struct KeyedServer {
    pub(super) at: ServerAddress,
    login: Option<Arc<LoginTokens>>,
}

impl From<ServerAddress> for KeyedServer {
    fn from(at: ServerAddress) -> KeyedServer {
        KeyedServer { at, login: None }
    }
}

impl KeyedServer {
    /// A server that gets the tokens of a login, if its address has no key.
    #[must_use]
    pub fn with_login(at: ServerAddress, listener: &str, file: TokenFile) -> KeyedServer {
        let login = at.key.is_none().then(|| Arc::new(LoginTokens::new(listener, file)));
        KeyedServer { at, login }
    }

    /// The key for a request, if there is one. `refused` is one that the server did not take: the same is not given again.
    ///
    /// # Errors
    /// If the token of the login cannot be read or renewed: why.
    pub(super) async fn find_key(&self, refused: Option<&ServerKey>) -> Result<Option<ServerKey>, String> {
        let Some(login) = &self.login else {
            return Ok(self.at.key.clone().filter(|_| refused.is_none()));
        };
        let token = login.find_token(&self.at, refused.map(|key| key.secret.as_str())).await?;
        let key = token.map(|token| ServerKey::from_text(&token)).transpose();
        key.map_err(|fault| format!("the token of the login cannot be sent: {fault}"))
    }

    /// What to do about a server that takes no request without a key, or not with this one.
    pub(super) fn describe_fix(&self, has_key: bool) -> String {
        match (&self.login, has_key) {
            (None, _) => "the key is missing or wrong; key_env names its variable".to_owned(),
            (Some(login), false) => {
                format!("it wants a login; try: {}, or name a key with key_env", login.command())
            }
            (Some(login), true) => format!("it does not take the login any more; try: {}", login.command()),
        }
    }

    /// What to do about a server to which the key or the login does not give enough rights; `missing` are those that it
    /// names.
    pub(super) fn describe_rights(&self, missing: Option<&str>) -> String {
        match (&self.login, missing) {
            (Some(login), Some(missing)) => match login.wider_command(missing) {
                Some(command) => format!("the login lacks {missing:?}; try: {command}"),
                None => format!("the login lacks {missing:?}"),
            },
            (Some(_), None) => "the login does not allow this".to_owned(),
            (None, _) => "the key does not allow this".to_owned(),
        }
    }

    /// The words without the key.
    pub(super) fn hide_key(&self, words: &str) -> String {
        match (&self.at.key, &self.login) {
            (Some(key), _) => words.replace(&key.secret, "[key]"),
            (None, Some(login)) => login.hide_secrets(words),
            (None, None) => words.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_words_of_a_server_are_shown_without_the_key() {
        let with_key = ServerAddress::parse("https://a.example/", Some(" s3cret\n")).unwrap();
        assert_eq!(KeyedServer::from(with_key).hide_key("bad token s3cret!"), "bad token [key]!");
    }
}
