//! The address of a provider: where to connect, what to request, and how to name it. It opens
//! nothing.

use hyper::Uri;
use hyper::http::uri::Scheme;

/// An address for requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAddress {
    /// The host, without the brackets of an IPv6 address.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// Whether over TLS.
    pub(super) tls: bool,
    /// The value of the `Host` header.
    pub(super) authority: String,
    /// The path; in the address of a request, with its query.
    pub(super) path: String,
    /// The query that every request has.
    query: Option<String>,
}

impl HttpAddress {
    /// Reads the base address of a provider: a scheme, a host, perhaps a port and a path.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        if !url.contains("://") {
            return Err("it has no scheme");
        }
        let uri: Uri = url.parse().map_err(|_| "it is not an address")?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err("its scheme is neither http nor https"),
        };
        let authority = uri.authority().ok_or("it has no host")?;
        if authority.as_str().contains('@') {
            return Err("it holds a name or a password, which would appear in logs");
        }
        if url.contains('#') {
            return Err("it has a fragment");
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err("it has no host");
        }
        let behind =
            authority.as_str().strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':'));
        let port = match behind.filter(|port| !port.is_empty()) {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.parse().map_err(|_| "its port is not a number")?,
        };
        let path = uri.path().trim_end_matches('/').to_owned();
        let query = uri.query().filter(|query| !query.is_empty()).map(str::to_owned);
        Ok(Self { host, port, tls, authority: authority.as_str().to_owned(), path, query })
    }

    /// The host, without the brackets of an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether over TLS.
    #[must_use]
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// The path, without a slash at its end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same host with that path. The path may have a query in addition to the common one.
    pub fn with_path(&self, path: &str) -> Self {
        let path = match &self.query {
            None => path.to_owned(),
            Some(query) if path.contains('?') => format!("{path}&{query}"),
            Some(query) => format!("{path}?{query}"),
        };
        Self { path, ..self.clone() }
    }

    /// Its form in messages.
    pub fn to_text(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_what_is_none_is_told() {
        let read = |url: &str| HttpAddress::parse(url).map(|at| (at.to_text(), at.tls, at.path));
        let fine = |at: &str, tls, path: &str| Ok((at.to_owned(), tls, path.to_owned()));
        assert_eq!(read("http://127.0.0.1:8080/v1"), fine("127.0.0.1:8080", false, "/v1"));
        assert_eq!(read("https://api.openai.com/v1/"), fine("api.openai.com:443", true, "/v1"));
        assert_eq!(read("http://[::1]:9"), fine("[::1]:9", false, ""));
        for wrong in ["", "localhost", "localhost:80", "ftp://a", "http://", "http://a:b@c", "http://a#b"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_query_stands_behind_every_path() {
        let base = HttpAddress::parse("https://a.example/openai/?api-version=1&x=%20").expect("an address");
        assert_eq!((base.path(), base.to_text().as_str()), ("/openai", "a.example:443"));
        assert_eq!(base.with_path("/openai/chat").path, "/openai/chat?api-version=1&x=%20");
        assert_eq!(base.with_path("/b?alt=sse").path, "/b?alt=sse&api-version=1&x=%20");
        assert_eq!(HttpAddress::parse("https://a/?").expect("an address").with_path("/b").path, "/b");
    }
}
