//! Who may ask for a page, and from where: a session's cookie or a bearer token, an address that is ours, and for
//! changes a page that is ours.
//!
//! The headers of a request come in; its client or the reason against it goes out. It reads no body.

use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::response::Response;

use super::assets;
use systole_core::types::ports::Position;
use systole_doorway::entrance::{DoorAddresses, Entrance, is_address, read_host};

/// The header with the secret of a tab.
pub(super) const SECRET: &str = "systole-secret";

/// What a page may load and do: only what this door serves. Scripts cannot write markup from text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every answer that is not for programs. A page sends its address to no other site. With
/// `no-referrer` browsers would hide `Origin` from us too, and without scripts no change could be told from a forged
/// one.
const HEADERS: [(header::HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Adds the headers of a page to an answer.
pub(crate) fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        // A picture brings its own policy, which allows even less.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let policy = header::HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(policy, HeaderValue::from_static("same-origin"));
    let policy = header::HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(policy, HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Whether everyone may ask for it: what the sign-in page needs.
pub(crate) fn is_open(method: &Method, path: &str) -> bool {
    let is_asset = path
        .strip_prefix(assets::FOLDER)
        .is_some_and(|name| !name.is_empty() && !name.starts_with('.') && !name.contains('/'));
    match *method {
        Method::GET | Method::HEAD => is_asset,
        // Signing out needs no session: one that has ended is over too.
        Method::POST => matches!(path, "/session" | "/session/end"),
        _ => false,
    }
}

/// The headers that say who asks, where, and from where.
const DECIDING: [&str; 6] = ["host", "origin", "sec-fetch-site", "authorization", "cookie", SECRET];

/// A header that decides and is given twice: another reader of the request could take the other value.
pub fn given_twice(headers: &HeaderMap) -> Option<String> {
    let twice = DECIDING.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some())?;
    Some(format!("the header {twice} is given twice"))
}

/// The name of the cookie. Cookies ignore ports, so the port is part of the name; the public one is bound to its origin
/// by its name.
fn name_cookie(addresses: &DoorAddresses, entrance: Entrance) -> String {
    match entrance {
        Entrance::Bound => format!("systole_{}", addresses.bound.port()),
        Entrance::Public => "__Host-systole".to_owned(),
    }
}

/// The header that sets the cookie for pages of this address, for so long, or takes it away. With `Strict` a link of
/// another site would arrive without the public cookie.
pub(crate) fn write_cookie(
    addresses: &DoorAddresses,
    headers: &HeaderMap,
    value: &str,
    lasts: CookieTime,
) -> String {
    let entrance = addresses.find_entrance(headers);
    let name = name_cookie(addresses, entrance);
    let ends = match lasts {
        CookieTime::Browser => String::new(),
        CookieTime::Seconds(seconds) => format!("; Max-Age={seconds}"),
    };
    match entrance {
        Entrance::Bound => format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/{ends}"),
        Entrance::Public => format!("{name}={value}; Secure; HttpOnly; SameSite=Lax; Path=/{ends}"),
    }
}

/// How long a browser keeps a cookie.
#[derive(Clone, Copy)]
pub(crate) enum CookieTime {
    /// Until it is closed.
    Browser,
    /// So long, also if it is closed. With none the cookie is gone.
    Seconds(u64),
}

/// The value of our cookie for the address by which a request came in.
pub(crate) fn read_cookie<'h>(addresses: &DoorAddresses, headers: &'h HeaderMap) -> Option<&'h str> {
    let name = name_cookie(addresses, addresses.find_entrance(headers));
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// The position of the log that a page was told of, if it refreshes itself.
pub(crate) fn read_position(headers: &HeaderMap) -> Option<Position> {
    headers.get("systole-position")?.to_str().ok()?.parse().ok().map(Position)
}

/// Why the name of the server in a request is refused. A foreign name that leads to this machine would let its pages
/// read ours. If the operator chose an address for other machines, these may have any name for it, unless the file says
/// its public one.
pub(crate) fn foreign_host(uri: &Uri, headers: &HeaderMap, addresses: &DoorAddresses) -> Option<String> {
    let (host, bound) = (read_host(headers), addresses.bound);
    // A whole address in place of a path counts more than `Host`.
    if let Some(named) = uri.authority().filter(|named| !named.as_str().eq_ignore_ascii_case(host)) {
        return Some(format!("the address names {:?}, and the header Host is {host:?}", named.as_str()));
    }
    if addresses.find_entrance(headers) == Entrance::Public {
        return None;
    }
    let public = addresses.public.as_ref().map(|public| format!(" and {public}")).unwrap_or_default();
    let words = || format!("the header Host is {host:?}, and this door is http://{bound}{public}");
    if !bound.ip().is_loopback() {
        return (addresses.public.is_some() && !is_address(host)).then(words);
    }
    let port = bound.port();
    let ours = [
        bound.to_string(),
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
    ];
    let is_ours = ours.iter().any(|ours| ours.eq_ignore_ascii_case(host));
    (!is_ours).then(words)
}

/// Why a change is refused: another page sent it.
pub(crate) fn foreign_origin(headers: &HeaderMap, addresses: &DoorAddresses) -> Option<String> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text("sec-fetch-site").filter(|site| !matches!(*site, "same-origin" | "none")) {
        return Some(format!("the change comes from another site (Sec-Fetch-Site: {site:?})"));
    }
    let origin = text("origin")?;
    if let Some(public) = addresses.find_public(headers) {
        let is_ours = origin == public.as_str();
        return (!is_ours)
            .then(|| format!("the change comes from the page {origin:?}, and this is {public}"));
    }
    if addresses.is_host_lost(origin) {
        let host = read_host(headers);
        return Some(format!(
            "the header Host is {host:?}: the proxy in front must pass on that of {origin}"
        ));
    }
    let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let is_ours = of.is_some_and(|of| of.eq_ignore_ascii_case(read_host(headers)));
    (!is_ours).then(|| format!("the change comes from the page {origin:?}, which is not of this console"))
}

/// Whether a browser says where a change comes from. Every current browser does. At the public address nothing else
/// than the cookie stands against a forged change, so there it is `Origin` that counts.
pub(crate) fn names_origin(headers: &HeaderMap, entrance: Entrance) -> bool {
    let is_site = entrance == Entrance::Bound && headers.contains_key("sec-fetch-site");
    is_site || headers.contains_key(header::ORIGIN)
}

/// Whether the answer is for a person: her browser names html among what it reads.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_html = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/html"));
        // A weight of nothing means: not this one.
        let weights = parts.filter_map(|part| part.split_once('='));
        let mut weights = weights.filter(|(name, _)| name.eq_ignore_ascii_case("q"));
        is_html && weights.all(|(_, weight)| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::public_origin::PublicOrigin;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn addresses(bound: [u8; 4], public: Option<&str>) -> DoorAddresses {
        let public = public.map(|public| PublicOrigin::parse(public).unwrap());
        DoorAddresses { bound: (bound, 7474).into(), public }
    }

    #[test]
    fn only_names_of_this_machine_with_our_port_are_hosts() {
        let bound = &addresses([127, 0, 0, 1], None);
        let path = Uri::from_static("/threads");
        for host in ["127.0.0.1:7474", "localhost:7474", "LocalHost:7474", "[::1]:7474"] {
            assert_eq!(foreign_host(&path, &headers(&[("host", host)]), bound), None, "{host}");
        }
        for host in ["evil.example:7474", "127.0.0.1", "127.0.0.1:80", "localhost", "127.0.0.1:7474.x", ""] {
            assert!(foreign_host(&path, &headers(&[("host", host)]), bound).is_some(), "{host}");
        }
        assert!(foreign_host(&path, &HeaderMap::new(), bound).is_some());
        let everywhere = &addresses([0, 0, 0, 0], None);
        let team = headers(&[("host", "team.example")]);
        assert_eq!(foreign_host(&path, &team, everywhere), None);
        let whole = Uri::from_static("http://team.example/threads");
        assert_eq!(foreign_host(&whole, &team, everywhere), None);
        assert!(foreign_host(&whole, &headers(&[("host", "localhost:7474")]), bound).is_some());
    }

    #[test]
    fn a_change_comes_from_our_own_page() {
        let from = |pairs: &[(&'static str, &str)]| {
            let mut all = headers(&[("host", "127.0.0.1:7474")]);
            all.extend(headers(pairs));
            foreign_origin(&all, &addresses([127, 0, 0, 1], None)).is_some()
        };
        assert!(!from(&[("origin", "http://127.0.0.1:7474"), ("sec-fetch-site", "same-origin")]));
        assert!(!from(&[("sec-fetch-site", "none")]));
        for origin in
            ["null", "http://evil.example", "http://127.0.0.1:7475", "http://127.0.0.1:7474.evil.example", ""]
        {
            assert!(from(&[("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", ""] {
            assert!(from(&[("origin", "http://127.0.0.1:7474"), ("sec-fetch-site", site)]), "{site}");
        }
    }

    #[test]
    fn our_cookie_is_found_among_those_of_other_ports() {
        let bound = &addresses([127, 0, 0, 1], None);
        let all = headers(&[("cookie", "a=b; systole_7475=no; systole_7474=yes; c")]);
        assert_eq!(read_cookie(bound, &all), Some("yes"));
        assert_eq!(read_cookie(bound, &headers(&[("cookie", "systole_7475=no")])), None);
    }

    #[test]
    fn h4_the_public_address_is_one_name_as_browsers_write_it() {
        let path = Uri::from_static("/threads");
        let local = &addresses([127, 0, 0, 1], Some("https://x.example"));
        let everywhere = &addresses([0, 0, 0, 0], Some("https://x.example"));
        let port = &addresses([127, 0, 0, 1], Some("https://x.example:8443"));
        let is_foreign =
            |of: &DoorAddresses, host: &str| foreign_host(&path, &headers(&[("host", host)]), of).is_some();
        for (of, host) in [
            (local, "x.example"),
            (local, "127.0.0.1:7474"),
            (local, "localhost:7474"),
            (everywhere, "x.example"),
            (everywhere, "192.0.2.7:7474"),
            (everywhere, "localhost:7474"),
            (port, "x.example:8443"),
        ] {
            assert!(!is_foreign(of, host), "{host}");
        }
        for host in [
            "X.EXAMPLE",
            "x.example.",
            "x.example:443",
            "x.example:80",
            "x.example:7474",
            "a.x.example",
            "x.example.evil.example",
            "evilx.example",
            "xn--x.example",
            "x.example,evil.example",
            "evil.example",
            "x.example@evil.example",
            "https://x.example",
            "x.example/",
            " x.example",
            "team:7474",
            "",
        ] {
            assert!(is_foreign(local, host) && is_foreign(everywhere, host), "{host}");
        }
        assert!(is_foreign(port, "x.example") && is_foreign(local, "192.0.2.7:7474"));
        let whole = Uri::from_static("https://evil.example/threads");
        assert!(foreign_host(&whole, &headers(&[("host", "x.example")]), local).is_some());
        let forwarded =
            [("host", "evil.example"), ("x-forwarded-host", "x.example"), ("forwarded", "host=x.example")];
        assert!(
            foreign_host(&path, &headers(&forwarded), local).is_some(),
            "what a proxy says counts nothing"
        );
    }

    #[test]
    fn h4_a_change_at_the_public_address_comes_from_its_own_page() {
        let of = &addresses([127, 0, 0, 1], Some("https://x.example"));
        let refuse = |host: &str, pairs: &[(&'static str, &str)]| {
            let mut all = headers(&[("host", host)]);
            all.extend(headers(pairs));
            let unnamed = (!names_origin(&all, of.find_entrance(&all))).then(String::new);
            foreign_origin(&all, of).or(unnamed)
        };
        let own = ("origin", "https://x.example");
        assert_eq!(refuse("x.example", &[own, ("sec-fetch-site", "same-origin")]), None);
        assert_eq!(refuse("x.example", &[own]), None);
        for origin in [
            "http://x.example",
            "https://x.example:8443",
            "https://x.example:443",
            "https://X.example",
            "https://x.example.",
            "https://x.example/",
            "https://a.x.example",
            "https://x.example.evil.example",
            "https://evil.example",
            "http://127.0.0.1:7474",
            "http://localhost:7474",
            "null",
            "",
        ] {
            assert!(refuse("x.example", &[("origin", origin)]).is_some(), "{origin}");
        }
        for site in ["cross-site", "same-site", ""] {
            assert!(refuse("x.example", &[own, ("sec-fetch-site", site)]).is_some(), "{site}");
        }
        assert!(refuse("x.example", &[("sec-fetch-site", "same-origin")]).is_some(), "no origin");
        let lost = refuse("127.0.0.1:7474", &[own]).unwrap();
        assert!(lost.contains("the proxy in front must pass on"), "{lost}");
        assert_eq!(refuse("127.0.0.1:7474", &[("origin", "http://127.0.0.1:7474")]), None);
    }

    #[test]
    fn h4_the_public_cookie_is_bound_to_its_origin_and_read_nowhere_else() {
        let of = &addresses([127, 0, 0, 1], Some("https://x.example"));
        let cookies = ("cookie", "systole_7474=bound; __Host-systole=public");
        let (bound, public) =
            (headers(&[("host", "127.0.0.1:7474"), cookies]), headers(&[("host", "x.example"), cookies]));
        assert_eq!(read_cookie(of, &bound), Some("bound"));
        assert_eq!(read_cookie(of, &public), Some("public"));
        let set = write_cookie(of, &public, "value", CookieTime::Browser);
        assert_eq!(set, "__Host-systole=value; Secure; HttpOnly; SameSite=Lax; Path=/");
        let gone = write_cookie(of, &public, "", CookieTime::Seconds(0));
        assert_eq!(gone, "__Host-systole=; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
        assert_eq!(
            write_cookie(of, &bound, "value", CookieTime::Browser),
            "systole_7474=value; HttpOnly; SameSite=Strict; Path=/"
        );
    }
}
