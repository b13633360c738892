//! The pages at a public address, as a TLS proxy passes its requests on: what the cookie may do there, and which names
//! and pages are refused.

use std::path::Path;

use crate::console::{ALICE, Browser, CAROL, house, sent, state_of};
use crate::program::{Answer, Running, ask_as, run_file};

const PUBLIC: &str = "https://x.example";
const HOST: (&str, &str) = ("Host", "x.example");
const ORIGIN: (&str, &str) = ("Origin", PUBLIC);
const SITE: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

/// Hosts and origins that are almost ours, or not at all.
const FOREIGN: [&str; 20] = [
    "evil.example",
    "x.example.",
    "X.EXAMPLE",
    "X.example",
    "x.example:443",
    "x.example:80",
    "x.example:8443",
    "x.example:",
    "a.x.example",
    "www.x.example",
    "evilx.example",
    "x.example.evil.example",
    "x.exampl",
    "xn--x.example",
    "x-example",
    "127.0.0.1",
    "0.0.0.0",
    "localhost",
    "[::1]",
    "192.0.2.7",
];

fn running(folder: &Path) -> Running {
    let tokens = [("ALICE_TOKEN", ALICE), ("CAROL_TOKEN", CAROL)];
    Running::organism_set(folder, &["--set", "console.public=https://x.example"], &tokens)
}

/// Signs in at the public address, and keeps the cookie.
fn sign_in(browser: &mut Browser<'_>, token: &str) {
    let headers = [HOST, ORIGIN, SITE, ("Accept", "application/json")];
    let signed = browser.post_from("/session", &headers, &format!("code={token}"));
    assert_eq!((signed.status, &signed.json["secret"]), (200, &serde_json::Value::Null), "{signed:?}");
    let cookie = signed.header("set-cookie").unwrap();
    let (value, attributes) = cookie.split_once(';').unwrap();
    assert!(value.starts_with("__Host-systole="), "{cookie}");
    assert_eq!(attributes, " Secure; HttpOnly; SameSite=Lax; Path=/");
    value.clone_into(&mut browser.cookie);
}

#[test]
fn h4_at_the_public_address_a_cookie_of_our_own_page_makes_changes() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    sign_in(&mut browser, run_file(folder.path()).token.secret());
    let page = browser.request("GET", &format!("/t/{thread}"), &[HOST], "");
    assert!(page.status == 200 && page.body.contains(" data-public>"), "{page:?}");

    // A tab that another page opened has no secret, and needs none.
    let pause = format!("/t/{thread}/pause");
    let paused = browser.post_from(&pause, &[HOST, ORIGIN, SITE], "note=lunch&secret=&token=");
    assert_eq!(paused.header("location"), Some(format!("/t/{thread}").as_str()), "{paused:?}");
    assert_eq!(state_of(folder.path(), &thread), "paused");
    let resumed = browser.post_from(&format!("/t/{thread}/resume"), &[HOST, ORIGIN], "");
    assert_eq!(resumed.status, 303, "{resumed:?}");

    // The cookie of one address is none at the other.
    let value = browser.cookie.split_once('=').unwrap().1.to_owned();
    let port = run_file(folder.path()).address.port();
    let mut local = Browser::new(folder.path());
    local.cookie = format!("systole_{port}={value}");
    assert_eq!(local.get("/threads").status, 401);
    let token = run_file(folder.path()).token.secret().to_owned();
    let secret = local.sign_in(&token);
    assert_eq!(local.get("/threads").status, 200);
    let stolen = local.cookie.split_once('=').unwrap().1.to_owned();
    let mut thief = Browser::new(folder.path());
    thief.cookie = format!("__Host-systole={stolen}");
    let read = thief.request("GET", "/threads", &[HOST], "");
    assert_eq!(read.status, 401, "a program of this machine saw the cookie of the port: {read:?}");
    assert_eq!(thief.post_from(&pause, &[HOST, ORIGIN], "").status, 401);

    // At the bound address nothing is different.
    assert_eq!(local.post(&pause, "").status, 403, "the cookie only reads");
    assert_eq!(local.post(&pause, &format!("secret={secret}")).status, 303);
    local.post(&format!("/t/{thread}/resume"), &format!("secret={secret}"));

    let gone = browser.post_from("/session/end", &[HOST, ORIGIN], "");
    let cookie = gone.header("set-cookie").unwrap();
    assert_eq!(cookie, "__Host-systole=; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    assert_eq!(browser.request("GET", "/threads", &[HOST], "").status, 401);
    organism.interrupt();
}

#[test]
fn h4_foreign_pages_and_names_change_and_read_nothing_at_the_public_address() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    let token = run_file(folder.path()).token.secret().to_owned();
    sign_in(&mut browser, &token);
    let pause = format!("/t/{thread}/pause");
    let refused = |answer: Answer, what: &str| {
        assert_eq!((answer.status, answer.header("set-cookie")), (403, None), "{what}: {answer:?}");
    };

    // Names that lead to the proxy or to this machine, with all that a proxy may say about them.
    for host in FOREIGN {
        let named = [("Host", host), ("X-Forwarded-Host", "x.example"), ("X-Forwarded-Proto", "https")];
        for path in ["/", "/threads", "/session", "/assets/x"] {
            refused(browser.request("GET", path, &named, ""), &format!("{host}{path}"));
        }
        let origin = format!("https://{host}");
        for origin in [PUBLIC, origin.as_str()] {
            let headers = [&named[..], &[("Origin", origin), SITE]].concat();
            refused(browser.post_from("/session", &headers, &format!("code={token}")), host);
            refused(browser.post_from(&pause, &headers, ""), host);
        }
    }

    // Pages of other origins whose form the browser sends with the cookie, as `Lax` allows for a sibling of our host.
    let https = FOREIGN.map(|host| format!("https://{host}"));
    let more =
        ["http://x.example", "null", "", "https://x.example/", "file://", "x.example", "wss://x.example"];
    for origin in https.iter().map(String::as_str).chain(more) {
        // An empty header counts as left out in this harness, so it is one space.
        let origin = ("Origin", if origin.is_empty() { " " } else { origin });
        for headers in
            [&[HOST, origin][..], &[HOST, origin, SITE], &[HOST, origin, ("Sec-Fetch-Site", "none")]]
        {
            refused(browser.post_from(&pause, headers, ""), origin.1);
            refused(browser.post_from("/session", headers, &format!("code={token}")), origin.1);
            refused(browser.post_from("/session/end", headers, ""), origin.1);
        }
    }
    for headers in [
        &[HOST][..],
        &[HOST, SITE],
        &[HOST, ("Sec-Fetch-Site", "none")],
        &[HOST, ("Referer", "https://x.example/threads")],
        &[HOST, ORIGIN, ("Sec-Fetch-Site", "same-site")],
        &[HOST, ORIGIN, ("Sec-Fetch-Site", "cross-site")],
    ] {
        refused(browser.post_from(&pause, headers, ""), "no origin, or another site");
        refused(
            browser.post_from("/session", headers, &format!("code={token}")),
            "no origin, or another site",
        );
        refused(browser.post_from("/session/end", headers, ""), "no origin, or another site");
    }
    let twice = [HOST, ORIGIN, ("Origin", "https://evil.example")];
    assert_eq!(browser.post_from(&pause, &twice, "").status, 400);
    assert_eq!(state_of(folder.path(), &thread), "waiting");
    assert_eq!(browser.request("GET", "/threads", &[HOST], "").status, 200, "it is still signed in");

    // A proxy that does not pass `Host` on is named.
    let bound = run_file(folder.path()).address.to_string();
    let lost = browser.post_from("/session", &[("Host", &bound), ORIGIN, SITE], &format!("code={token}"));
    assert!(lost.status == 403 && lost.body.contains("the proxy in front must pass on"), "{lost:?}");
    organism.interrupt();
}

#[test]
fn h4_programs_reach_mcp_at_the_public_address_and_foreign_pages_do_not() {
    let folder = house();
    let organism = running(folder.path());
    let bearer = format!("Bearer {}", run_file(folder.path()).token.secret());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let asks = |host: &str, origin: Option<&str>| {
        let mut headers = vec![
            ("Host", host),
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        ask_as(&run_file(folder.path()), "POST", "/mcp", &headers, ping).status
    };
    assert_eq!(asks("x.example", None), 200);
    assert_eq!(asks("x.example", Some(PUBLIC)), 200);
    assert_eq!(asks(&run_file(folder.path()).address.to_string(), None), 200);
    for host in FOREIGN.into_iter().filter(|host| !host.starts_with(|c: char| "0123456789[l".contains(c))) {
        assert_eq!(asks(host, None), 403, "{host}");
    }
    for host in FOREIGN {
        assert_eq!(asks("x.example", Some(&format!("https://{host}"))), 403, "{host}");
    }
    for origin in ["null", "http://x.example", "http://localhost:6274", "https://x.example/"] {
        assert_eq!(asks("x.example", Some(origin)), 403, "{origin}");
    }
    organism.interrupt();

    // Without the key that name is a foreign one.
    let organism = crate::console::running(folder.path());
    let bearer = format!("Bearer {}", run_file(folder.path()).token.secret());
    let headers = [("Host", "x.example"), ("Authorization", bearer.as_str())];
    assert_eq!(ask_as(&run_file(folder.path()), "POST", "/mcp", &headers, ping).status, 403);
    assert_eq!(Browser::new(folder.path()).request("GET", "/", &[HOST], "").status, 403);
    organism.interrupt();
}
