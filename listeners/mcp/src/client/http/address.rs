//! The address of a server, and the key for it. It opens nothing.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::HeaderValue;
use systole_http::{HttpAddress, RootCertStore, load_web_roots};

use crate::login::{LoginTokens, TokenFile};

/// An address, and the key or the login for it.
#[derive(Clone)]
pub struct ServerAddress {
    url: String,
    pub(crate) to: HttpAddress,
    key: Option<ServerKey>,
    login: Option<Arc<LoginTokens>>,
    pub(crate) roots: RootCertStore,
}

/// A key. It is never shown.
#[derive(Clone)]
pub(super) struct ServerKey {
    pub(super) sent: HeaderValue,
    pub(super) secret: String,
}

/// Why there is no such address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressFault {
    /// It is none.
    #[error("{0}")]
    NoAddress(&'static str),
    /// Others could read the key and the calls.
    #[error("http:// is only for this machine itself; write https://")]
    Unprotected,
    /// The key cannot be sent.
    #[error("the key is empty, or has a character that no header has")]
    Key,
}

impl ServerAddress {
    /// Reads an address, and takes the key.
    ///
    /// # Errors
    /// If it is no address, if others could read what is sent there, or if the key cannot be sent.
    pub fn parse(url: &str, key: Option<&str>) -> Result<ServerAddress, AddressFault> {
        let to = HttpAddress::parse(url).map_err(AddressFault::NoAddress)?;
        if !to.tls() && !is_here(to.host()) {
            return Err(AddressFault::Unprotected);
        }
        let key = key.map(ServerKey::from_text).transpose()?;
        // The path of an MCP server is one place, not the beginning of several.
        let path = if to.path().is_empty() { "/".to_owned() } else { to.path().to_owned() };
        let (url, roots) = (url.to_owned(), load_web_roots());
        Ok(ServerAddress { url, to: to.with_path(&path), key, login: None, roots })
    }

    /// The same with the tokens of a login at it, if it has no key.
    #[must_use]
    pub fn with_login(self, listener: &str, file: TokenFile) -> ServerAddress {
        let login = self.key.is_none().then(|| Arc::new(LoginTokens::new(listener, file)));
        ServerAddress { login, ..self }
    }

    /// The same with these roots of certificates in place of those that the web trusts.
    #[must_use]
    pub fn with_roots(self, roots: RootCertStore) -> ServerAddress {
        ServerAddress { roots, ..self }
    }

    /// The address as it was written.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The key for a request, if there is one. `refused` is one that the server did not take: the same is not given again.
    ///
    /// # Errors
    /// If the token of the login cannot be read or renewed: why.
    pub(super) async fn find_key(&self, refused: Option<&ServerKey>) -> Result<Option<ServerKey>, String> {
        let Some(login) = &self.login else {
            return Ok(self.key.clone().filter(|_| refused.is_none()));
        };
        let token = login.find_token(self, refused.map(|key| key.secret.as_str())).await?;
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
            (Some(login), Some(missing)) => {
                format!("the login lacks {missing:?}; try: {}", login.wider_command(missing))
            }
            (Some(_), None) => "the login does not allow this".to_owned(),
            (None, _) => "the key does not allow this".to_owned(),
        }
    }

    /// The words without the key.
    pub(super) fn hide_key(&self, words: &str) -> String {
        match (&self.key, &self.login) {
            (Some(key), _) => words.replace(&key.secret, "[key]"),
            (None, Some(login)) => login.hide_secrets(words),
            (None, None) => words.to_owned(),
        }
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ServerAddress").field(&self.to.to_text()).finish()
    }
}

impl ServerKey {
    fn from_text(text: &str) -> Result<ServerKey, AddressFault> {
        let secret = text.trim().to_owned();
        if secret.is_empty() {
            return Err(AddressFault::Key);
        }
        let mut sent = HeaderValue::from_str(&format!("Bearer {secret}")).map_err(|_| AddressFault::Key)?;
        sent.set_sensitive(true);
        Ok(ServerKey { sent, secret })
    }
}

/// Whether a host is this machine.
pub(crate) fn is_here(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
        || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_an_address_is_https_or_this_machine_and_its_key_is_never_shown() {
        let read = |url: &str| ServerAddress::parse(url, None).map(|found| found.to.path().to_owned());
        for (url, path) in [
            ("https://a.example/mcp", "/mcp"),
            ("https://a.example", "/"),
            ("http://127.0.0.1:9/mcp/", "/mcp"),
            ("http://localhost:9/mcp", "/mcp"),
            ("http://[::1]:9/mcp?x=1", "/mcp?x=1"),
        ] {
            assert_eq!(read(url), Ok(path.to_owned()), "{url}");
        }
        for url in ["http://a.example/mcp", "http://10.0.0.1/", "http://localhost.example/"] {
            assert_eq!(read(url), Err(AddressFault::Unprotected), "{url}");
        }
        assert!(matches!(read("https://me:word@a.example/"), Err(AddressFault::NoAddress(_))));
        let with_key = ServerAddress::parse("https://a.example/", Some(" s3cret\n")).unwrap();
        assert!(!format!("{with_key:?}").contains("s3cret"));
        assert_eq!(with_key.hide_key("bad token s3cret!"), "bad token [key]!");
        for key in ["", " ", "a\nb"] {
            assert_eq!(
                ServerAddress::parse("https://a/", Some(key)).unwrap_err(),
                AddressFault::Key,
                "{key:?}"
            );
        }
    }
}
