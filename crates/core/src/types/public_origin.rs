//! The public address of the console, behind a TLS proxy: `https://HOST` or `https://HOST:PORT`, as browsers write an
//! origin; and the origins of pages on this machine. A text comes in; a checked origin goes out.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::limits::{HOST_BYTES, HOST_LABEL_BYTES, HTTP_PORT, HTTPS_PORT};

const SCHEME: &str = "https://";
const LOCAL_SCHEME: &str = "http://";
const EXAMPLE: &str = "https://console.example";

/// The origin of the pages that browsers reach through a proxy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicOrigin(String);

impl PublicOrigin {
    /// Takes a text as an origin. The error says what is wrong with it, and what fits.
    pub fn parse(text: &str) -> Result<PublicOrigin, (String, String)> {
        let Some(rest) = text.strip_prefix(SCHEME) else {
            let fix = text.strip_prefix(LOCAL_SCHEME).and_then(read_public);
            let fix = fix.map_or_else(|| EXAMPLE.to_owned(), |authority| format!("{SCHEME}{authority}"));
            return Err((format!("`{text}` does not begin with {SCHEME}"), fix));
        };
        if let Some(authority) = read_public(rest) {
            return Ok(PublicOrigin(format!("{SCHEME}{authority}")));
        }
        let (authority, after) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        let what = match after.bytes().next() {
            _ if rest.contains('*') => "a wildcard: name one host",
            _ if authority.contains('@') => "a user: browsers send none in `Origin`",
            Some(b'?') => "a query",
            Some(b'#') => "a fragment",
            Some(_) => "a path: an origin is a whole host",
            None if authority.is_empty() => "no host",
            None => "a host or a port that browsers do not write so",
        };
        let host = authority.rsplit('@').next().map(|host| host.trim_end_matches('.'));
        let fix = host.and_then(read_public);
        let fix = fix.map_or_else(|| EXAMPLE.to_owned(), |authority| format!("{SCHEME}{authority}"));
        Err((format!("`{text}` has {what}"), fix))
    }

    /// The origin, as browsers send it in `Origin`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host with its port, as browsers send it in `Host`.
    pub fn authority(&self) -> &str {
        self.0.strip_prefix(SCHEME).unwrap_or_default()
    }
}

impl fmt::Display for PublicOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The origin of pages on this machine: `http://`, and `localhost` or an address of its own. `None` if a text is none.
pub fn read_local_page(text: &str) -> Option<String> {
    let rest = text.strip_prefix(LOCAL_SCHEME)?;
    let (host, _) = split_port(rest)?;
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_here = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let is_here = is_here || host.eq_ignore_ascii_case("localhost");
    let authority = read_authority(rest, HTTP_PORT).filter(|_| is_here)?;
    Some(format!("{LOCAL_SCHEME}{authority}"))
}

fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    match text.rfind(':').filter(|_| !text.ends_with(']')) {
        Some(at) => Some((text.get(..at)?, Some(text.get(at + 1..)?))),
        None => Some((text, None)),
    }
}

fn read_public(text: &str) -> Option<String> {
    read_authority(text, HTTPS_PORT)
}

/// `HOST` or `HOST:PORT` in the form of browsers: in small letters, and without the port that needs no mention.
fn read_authority(text: &str, unsaid: u16) -> Option<String> {
    let (host, port) = split_port(text)?;
    let host = read_host(host)?;
    let port = port.map(|port| port.bytes().all(|b| b.is_ascii_digit()).then(|| port.parse::<u16>().ok()));
    match port {
        None => Some(host),
        Some(Some(Some(port))) if port == unsaid => Some(host),
        Some(Some(Some(port))) if port > 0 => Some(format!("{host}:{port}")),
        Some(_) => None,
    }
}

fn read_host(host: &str) -> Option<String> {
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().ok().map(|address| format!("[{address}]"));
    }
    let is_label = |label: &str| {
        (1..=HOST_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // Browsers read a name whose last label is a number as an address.
    let is_number = host.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    let is_host = host.len() <= HOST_BYTES && host.split('.').all(is_label);
    (is_host && (!is_number || host.parse::<Ipv4Addr>().is_ok())).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_this_machine_is_known_by_its_origin() {
        for (text, origin) in [
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://LocalHost:80", "http://localhost"),
            ("http://127.0.0.1:443", "http://127.0.0.1:443"),
            ("http://[::1]:5173", "http://[::1]:5173"),
        ] {
            assert_eq!(read_local_page(text).as_deref(), Some(origin), "{text}");
        }
        for text in ["http://app.example", "http://192.0.2.7", "https://localhost", "http://localhost/", "*"]
        {
            assert_eq!(read_local_page(text), None, "{text}");
        }
    }

    #[test]
    fn h4_a_public_address_is_an_origin_as_browsers_write_it() {
        let parsed = |text: &str| PublicOrigin::parse(text).unwrap().as_str().to_owned();
        for (text, origin) in [
            ("https://x.example", "https://x.example"),
            ("https://X.Example:443", "https://x.example"),
            ("https://x.example:8443", "https://x.example:8443"),
            ("https://192.0.2.7", "https://192.0.2.7"),
            ("https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(parsed(text), origin);
        }
        assert_eq!(PublicOrigin::parse("https://x.example:8443").unwrap().authority(), "x.example:8443");
        for (text, what, fix) in [
            ("http://x.example", "does not begin with https://", "https://x.example"),
            ("x.example", "does not begin with https://", EXAMPLE),
            ("https://x.example/", "a path", "https://x.example"),
            ("https://x.example/console", "a path", "https://x.example"),
            ("https://x.example\\", "a path", "https://x.example"),
            ("https://x.example?a=b", "a query", "https://x.example"),
            ("https://x.example#a", "a fragment", "https://x.example"),
            ("https://me:secret@x.example", "a user", "https://x.example"),
            ("https://x.example@evil.example/", "a user", "https://evil.example"),
            ("https://*.example", "a wildcard", EXAMPLE),
            ("https://", "no host", EXAMPLE),
            ("https://x.example.", "a host", "https://x.example"),
            ("https://x..example", "a host", EXAMPLE),
            ("https://-x.example", "a host", EXAMPLE),
            ("https://b\u{fc}cher.example", "a host", EXAMPLE),
            ("https://x.example:0", "a host or a port", EXAMPLE),
            ("https://x.example:", "a host or a port", EXAMPLE),
            ("https://x.example:+80", "a host or a port", EXAMPLE),
            ("https://x.example:65536", "a host or a port", EXAMPLE),
            ("https://1.2.3", "a host", EXAMPLE),
            ("https://x.example https://y.example", "a path", EXAMPLE),
        ] {
            let (found, better) = PublicOrigin::parse(text).unwrap_err();
            assert!(found.contains(what), "{text}: {found}");
            assert_eq!(better, fix, "{text}");
        }
    }
}
