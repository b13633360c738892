//! The proxy for requests, as named by HTTPS_PROXY, HTTP_PROXY and NO_PROXY. This machine itself is always reached
//! without one. It does not read the environment itself, and shows no name or password.

use std::net::IpAddr;

use hyper::header::HeaderValue;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::address::HttpAddress;
use crate::limits::PROXY_HEAD_BYTES;

/// The environment's proxy settings.
#[derive(Clone, Default)]
pub struct ProxySettings {
    https: Option<String>,
    http: Option<String>,
    no: String,
}

/// A proxy.
#[derive(Clone)]
pub struct ProxyAddress {
    pub(super) at: HttpAddress,
    /// The variable that names it.
    pub(super) variable: &'static str,
    /// The value of `Proxy-Authorization`.
    pub(super) authorization: Option<HeaderValue>,
    /// The text before the `@`, which is never shown.
    pub secret: Option<String>,
}

impl ProxySettings {
    /// Reads the variables. Lowercase names take precedence, as in other programs.
    pub fn from_environment(read: &dyn Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| {
            let found = [name.to_ascii_lowercase().as_str(), name].into_iter().find_map(read);
            found.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        Self {
            https: variable("HTTPS_PROXY"),
            http: variable("HTTP_PROXY"),
            no: variable("NO_PROXY").unwrap_or_default(),
        }
    }

    /// The proxy for requests to that address. `None` if they go there directly.
    pub fn choose_proxy(&self, to: &HttpAddress) -> Result<Option<ProxyAddress>, String> {
        let (variable, named) =
            if to.tls { ("HTTPS_PROXY", &self.https) } else { ("HTTP_PROXY", &self.http) };
        match named {
            Some(named) if !is_here(&to.host) && !is_excepted(&self.no, to) => {
                parse_proxy(variable, named).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn parse_proxy(variable: &'static str, named: &str) -> Result<ProxyAddress, String> {
    let wrong = |why: &str| format!("{variable} {why}: write it as http://host:port");
    let rest = match named.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return Err(wrong("names a proxy that is not asked over http")),
        None => named,
    };
    let (secret, host) = match rest.rsplit_once('@') {
        Some((secret, host)) => (Some(decode_percent(secret)), host),
        None => (None, rest),
    };
    let at =
        HttpAddress::parse(&format!("http://{host}")).map_err(|_| wrong("is not the address of a proxy"))?;
    let authorization = match &secret {
        Some(secret) => {
            let value = HeaderValue::from_str(&format!("Basic {}", encode_base64(secret.as_bytes())));
            let mut value = value.map_err(|_| wrong("has a password that cannot be sent"))?;
            value.set_sensitive(true);
            Some(value)
        }
        None => None,
    };
    Ok(ProxyAddress { at, variable, authorization, secret })
}

impl ProxyAddress {
    /// Asks for a tunnel to that address. The error says why there is none.
    pub(super) async fn open_tunnel<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        to: &HttpAddress,
    ) -> Result<(), String> {
        let host = to.to_text();
        let mut asked = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
        if let Some(value) = &self.authorization {
            asked.extend([b"Proxy-Authorization: ", value.as_bytes(), b"\r\n"].concat());
        }
        asked.extend(b"\r\n");
        stream.write_all(&asked).await.map_err(|fault| fault.to_string())?;
        let mut head = Vec::new();
        // Byte by byte: anything after the head comes from the other side.
        while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
            let byte = stream.read_u8().await.map_err(|_| "it closed the connection".to_owned())?;
            head.push(byte);
            if head.len() > PROXY_HEAD_BYTES {
                return Err(format!("its answer has more than {PROXY_HEAD_BYTES} bytes"));
            }
        }
        let head = String::from_utf8_lossy(&head);
        let line = head.lines().next().unwrap_or_default();
        let status = line.split_ascii_whitespace().nth(1).and_then(|status| status.parse::<u16>().ok());
        match status.filter(|_| line.starts_with("HTTP/1.")) {
            Some(200..300) => Ok(()),
            Some(407) => Err("it answered 407: it wants a name and a password, or others".to_owned()),
            Some(status) => Err(format!("it answered {status}")),
            None => Err("it did not answer as HTTP does".to_owned()),
        }
    }
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    is_loopback || host == "localhost" || host.ends_with(".localhost")
}

/// Whether NO_PROXY names the host: `*`, a name with everything below it, an address, or a network such as
/// `10.0.0.0/8`, each possibly with a port.
fn is_excepted(no: &str, to: &HttpAddress) -> bool {
    let host = to.host.to_ascii_lowercase();
    let ip = host.parse::<IpAddr>().ok();
    let entries = no.split([',', ' ', '\t']).map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(str::to_ascii_lowercase).any(|entry| {
        if entry == "*" {
            return true;
        }
        let bare = entry.trim_start_matches('[').trim_end_matches(']');
        if let (Some(ip), Ok(other)) = (ip, bare.parse::<IpAddr>()) {
            return ip == other;
        }
        if let Some(ip) = ip.filter(|_| entry.contains('/')) {
            return is_in_network(ip, &entry);
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
            _ => (entry.as_str(), None),
        };
        if port.is_some_and(|port| port.parse() != Ok(to.port)) {
            return false;
        }
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let name = name.trim_start_matches('*').trim_start_matches('.');
        let below = || host.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
        !name.is_empty() && (host == name || below())
    })
}

pub(super) fn is_in_network(ip: IpAddr, network: &str) -> bool {
    let Some((base, bits)) = network.split_once('/') else { return false };
    let (Ok(base), Ok(bits)) = (base.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    let (one, other, width) = match (ip, base) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits()), u128::from(other.to_bits()), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    bits <= width && (one ^ other).checked_shr(width - bits).unwrap_or(0) == 0
}

/// Decodes `%2F` and the like.
fn decode_percent(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.as_bytes());
        let read = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(read.unwrap_or(b'%'));
        rest = if read.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encode_base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            (0..3).fold(0_usize, |bits, at| (bits << 8) | usize::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS.get((bits >> (18 - 6 * at)) & 63).copied().unwrap_or_default();
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(given: &[(&str, &str)]) -> ProxySettings {
        ProxySettings::from_environment(&|name| {
            given.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn way(given: &[(&str, &str)], url: &str) -> Option<String> {
        let to = HttpAddress::parse(url).expect("an address");
        proxies(given)
            .choose_proxy(&to)
            .expect("a proxy")
            .map(|proxy| format!("{} {}", proxy.variable, proxy.at.to_text()))
    }

    #[test]
    fn each_scheme_has_its_variable_and_small_letters_come_first() {
        let given = [("HTTPS_PROXY", "http://a:1"), ("http_proxy", "b:2"), ("HTTP_PROXY", "http://c:3")];
        assert_eq!(way(&given, "https://x.example").as_deref(), Some("HTTPS_PROXY a:1"));
        assert_eq!(way(&given, "http://x.example").as_deref(), Some("HTTP_PROXY b:2"));
        assert_eq!(way(&[("HTTPS_PROXY", " ")], "https://x.example"), None);
        for here in ["127.0.0.1:1", "127.9.9.9", "[::1]:8", "localhost", "a.localhost", "[::ffff:127.0.0.1]"]
        {
            assert_eq!(way(&given, &format!("http://{here}")), None, "{here}");
        }
    }

    #[test]
    fn exceptions_are_names_with_what_is_below_addresses_networks_and_ports() {
        for (no, direct, through) in [
            ("*", &["x.example", "10.0.0.1"][..], &[][..]),
            ("example", &["example", "x.example"], &["myexample", "example.org"]),
            (".example, other", &["x.example", "other"], &["another"]),
            ("*.example", &["a.b.example"], &["example.net"]),
            ("x.example:8080", &["x.example:8080"], &["x.example", "y.example:8080"]),
            ("10.1.2.3", &["10.1.2.3"], &["10.1.2.33"]),
            ("10.0.0.0/8 fd00::/8", &["10.255.0.1", "[fd12::1]"], &["11.0.0.1", "[fe00::1]", "x.example"]),
            ("0.0.0.0/0", &["8.8.8.8"], &["[2001::1]"]),
            ("10.0.0.0/40,[2001::5]", &["[2001::5]:9"], &["10.0.0.0"]),
            ("", &[], &["x.example"]),
        ] {
            let given = [("HTTP_PROXY", "http://p:1"), ("NO_PROXY", no)];
            for (hosts, is_through) in [(direct, false), (through, true)] {
                for host in hosts {
                    assert_eq!(way(&given, &format!("http://{host}")).is_some(), is_through, "{no:?} {host}");
                }
            }
        }
    }

    #[test]
    fn a_name_and_a_password_are_sent_and_never_shown() {
        let to = HttpAddress::parse("http://x.example").expect("an address");
        let found = proxies(&[("HTTP_PROXY", "http://me:p%40ss@p:1")])
            .choose_proxy(&to)
            .ok()
            .flatten()
            .expect("a proxy");
        assert_eq!(found.secret.as_deref(), Some("me:p@ss"));
        let value = found.authorization.expect("a value");
        assert_eq!((value.as_bytes(), value.is_sensitive()), (&b"Basic bWU6cEBzcw=="[..], true));
        for wrong in
            ["socks5://me:secret@p:1", "https://me:secret@p:1", "http://me:secret@", "http://me:secret@p:x"]
        {
            let words = proxies(&[("HTTP_PROXY", wrong)]).choose_proxy(&to).err().expect("no proxy");
            assert!(words.starts_with("HTTP_PROXY ") && !words.contains("secret"), "{words}");
        }
        for (plain, written) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(encode_base64(plain.as_bytes()), written);
        }
    }
}
