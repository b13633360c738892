//! Which pages may reach the door for MCP: those of this machine alone. A browser sends what any page wants, and names
//! the page in `Origin`; a page that lets its own name lead to this machine shows in `Host`.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

/// Why the headers of a request are refused.
pub(super) fn find_refusal(headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let of_host = host_of(host);
    if !of_host.is_some_and(|name| is_localhost(name) || read_address(name).is_some()) {
        return Some(format!(
            "the header Host is {host:?}: it must be localhost or an address; set it in the proxy in front of this door"
        ));
    }
    let origin = headers.get(header::ORIGIN)?;
    let origin = origin.to_str().unwrap_or_default();
    let page = origin.split_once("://").and_then(|(_, authority)| host_of(authority));
    let is_here = page.is_some_and(|page| {
        is_localhost(page)
            || read_address(page).is_some_and(|address| address.is_loopback())
            || Some(page) == of_host
    });
    (!is_here).then(|| {
        format!("the page {origin:?} is not of this machine: only programs and local pages may come here")
    })
}

/// The host of `host:port`.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.rfind(':') {
        Some(at) if !authority.ends_with(']') => (authority.get(..at)?, authority.get(at + 1..)?),
        _ => (authority, "0"),
    };
    (!host.is_empty() && port.bytes().all(|b| b.is_ascii_digit())).then_some(host)
}

fn is_localhost(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
}

fn read_address(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_machines_and_other_names_for_this_one_are_refused() {
        let of = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
            find_refusal(&headers)
        };
        for (host, origin) in [
            ("127.0.0.1:7474", None),
            ("localhost", None),
            ("LOCALHOST:7474", Some("http://LocalHost:6274")),
            ("[::1]:7474", None),
            ("10.0.0.7:7474", Some("http://10.0.0.7:7474")),
            ("localhost:7474", Some("http://localhost:6274")),
            ("localhost:7474", Some("http://127.0.0.1:6274")),
            ("localhost:7474", Some("http://[::1]:6274")),
        ] {
            assert_eq!(of(host, origin), None, "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example:7474", None),
            ("evil.example:7474", Some("http://evil.example:7474")),
            ("localhost:7474", Some("https://evil.example")),
            ("localhost:7474", Some("http://localhost.evil.example")),
            ("localhost:7474", Some("http://10.0.0.7")),
            ("localhost:7474", Some("null")),
            ("localhost:7474", Some("")),
            ("", None),
            ("localhost:x@evil", None),
        ] {
            assert!(of(host, origin).is_some(), "{host} {origin:?}");
        }
    }
}
