//! Which pages may reach a door for programs: those of this machine, and at the public address its own. A browser sends
//! what any page wants, and names the page in `Origin`; a page that lets its own name lead to this machine shows in
//! `Host`.

use axum::http::{HeaderMap, header};

use crate::entrance::{DoorAddresses, is_address, is_localhost, read_address, read_host, split_host};

/// Why the headers of a request are refused.
pub fn find_refusal(headers: &HeaderMap, addresses: &DoorAddresses) -> Option<String> {
    let host = read_host(headers);
    let of_host = split_host(host);
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    if let Some(public) = addresses.find_public(headers) {
        let foreign = origin.filter(|origin| *origin != public.as_str())?;
        return Some(format!(
            "the page {foreign:?} is not of {public}: only programs and its pages may come here"
        ));
    }
    if !is_address(host) {
        return Some(format!(
            "the header Host is {host:?}: it must be localhost or an address; set it in the proxy in front of this door"
        ));
    }
    let origin = origin?;
    let page = origin.split_once("://").and_then(|(_, authority)| split_host(authority));
    let is_here = page.is_some_and(|page| {
        is_localhost(page)
            || read_address(page).is_some_and(|address| address.is_loopback())
            || Some(page) == of_host
    });
    (!is_here).then(|| {
        format!("the page {origin:?} is not of this machine: only programs and local pages may come here")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::public_origin::PublicOrigin;

    fn refuse(host: &str, origin: Option<&str>, public: Option<&str>) -> Option<String> {
        let public = public.map(|public| PublicOrigin::parse(public).unwrap());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().unwrap()));
        find_refusal(&headers, &DoorAddresses { bound: ([127, 0, 0, 1], 7474).into(), public })
    }

    #[test]
    fn h4_the_public_address_takes_programs_and_its_own_pages_alone() {
        let of = |host: &str, origin: Option<&str>| refuse(host, origin, Some("https://x.example"));
        for (host, origin) in [
            ("x.example", None),
            ("x.example", Some("https://x.example")),
            ("127.0.0.1:7474", None),
            ("localhost:7474", Some("http://localhost:6274")),
        ] {
            assert_eq!(of(host, origin), None, "{host} {origin:?}");
        }
        for (host, origin) in [
            ("x.example", Some("http://x.example")),
            ("x.example", Some("https://x.example:8443")),
            ("x.example", Some("https://X.example")),
            ("x.example", Some("https://x.example.")),
            ("x.example", Some("https://a.x.example")),
            ("x.example", Some("http://localhost:6274")),
            ("x.example", Some("null")),
            ("x.example", Some("")),
            ("x.example.", None),
            ("X.example", None),
            ("x.example:443", None),
            ("y.example", None),
            ("127.0.0.1:7474", Some("https://x.example")),
        ] {
            assert!(of(host, origin).is_some(), "{host} {origin:?}");
        }
    }

    #[test]
    fn pages_of_other_machines_and_other_names_for_this_one_are_refused() {
        let of = |host: &str, origin: Option<&str>| refuse(host, origin, None);
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
