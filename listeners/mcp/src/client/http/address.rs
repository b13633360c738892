//! The address of a server, and the key for it. It opens nothing.

use std::fmt;
use std::net::IpAddr;

use hyper::header::HeaderValue;
use systole_http::{HttpAddress, RootCertStore, load_web_roots};

/// An address, and the key that is sent to it.
#[derive(Clone)]
pub struct ServerAddress {
    url: String,
    pub(crate) to: HttpAddress,
    pub(super) key: Option<ServerKey>,
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
        Ok(ServerAddress { url, to: to.with_path(&path), key, roots })
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
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ServerAddress").field(&self.to.to_text()).finish()
    }
}

impl ServerKey {
    pub(super) fn from_text(text: &str) -> Result<ServerKey, AddressFault> {
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
        for key in ["", " ", "a\nb"] {
            assert_eq!(
                ServerAddress::parse("https://a/", Some(key)).unwrap_err(),
                AddressFault::Key,
                "{key:?}"
            );
        }
    }
}
