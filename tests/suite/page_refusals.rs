//! What the pages refuse, to whom they say what, and that nothing which a person typed is lost by it.

use crate::console::{ALICE, Browser, CAROL, house, running, sent, state_of, text_of, until_waiting};
use crate::program::{Answer, ask, ask_as, run_file};

const JSON: (&str, &str) = ("Accept", "application/json");

/// What the form of a page of ours says about itself.
fn own_page(browser: &Browser<'_>) -> [(&'static str, String); 2] {
    [("Origin", format!("http://{}", browser.host())), ("Sec-Fetch-Site", "same-origin".to_owned())]
}

#[test]
fn h4_a_client_without_read_sees_no_names_and_no_pages_of_others() {
    let folder = house();
    let organism = running(folder.path());
    let mut alice = Browser::new(folder.path());
    alice.sign_in(ALICE);
    let bearer = format!("Bearer {ALICE}");
    let own = crate::organism::say("mine").replace("ns/echo/v1", "ns/guarded/v1");
    let headers = [("Authorization", bearer.as_str())];
    let taken = ask_as(&run_file(folder.path()), "POST", "/v1/messages?to=guarded", &headers, &own);
    assert_eq!(taken.status, 202, "{taken:?}");
    until_waiting(folder.path(), 1);

    // The deciders of her request, and listeners that she may not address, are not hers to know.
    for path in ["/", "/threads", "/approvals", "/session", "/send", "/refused", "/find"] {
        let page = alice.get(path);
        assert_eq!(page.status, 200, "{path}: {page:?}");
        assert!(!page.body.contains("carol") && !page.body.contains("cellar"), "{path}: {}", page.body);
    }
    let asked = ask_as(&run_file(folder.path()), "GET", "/v1/approvals", &headers, "");
    assert!(asked.status == 200 && !asked.body.contains("carol"), "{asked:?}");
    let listed = alice.get("/threads").body;
    assert!(listed.contains("<option>guarded") || listed.contains(">guarded</option>"), "{listed}");

    // Pages that she may not see are on no page of hers, and every link of hers leads somewhere.
    let seen = crawl(&alice);
    assert!(seen.len() > 8, "{seen:?}");
    for path in ["/cost", "/map", "/config", "/proof"] {
        let page = alice.get(path);
        assert_eq!(page.status, 403, "{path}: {page:?}");
        assert!(text_of(&page.body).contains("for clients with the role read"), "{path}: {}", page.body);
        let link = format!("href=\"{path}\"");
        for from in ["/", "/threads", "/approvals", path] {
            assert!(!alice.get(from).body.contains(&link), "{from} leads to {path}");
        }
    }
    assert!(!alice.get("/").body.contains("systole verify"));
    let mut operator = Browser::new(folder.path());
    operator.sign_in(run_file(folder.path()).token.secret());
    let all = operator.get("/").body;
    for path in ["/cost", "/map", "/config", "/proof"] {
        assert!(all.contains(&format!("href=\"{path}\"")), "{path}: {all}");
    }
    assert!(text_of(&operator.get("/approvals").body).contains("a1"));
    let seen = ask(&run_file(folder.path()), "GET", "/v1/approvals", &[], "");
    assert_eq!(seen.json["approvals"][0]["may"], serde_json::json!(["operator", "carol"]));
    organism.interrupt();
}

/// Follows all links of a client's pages. Returns the addresses; each is a page.
fn crawl(browser: &Browser<'_>) -> Vec<String> {
    let (mut waiting, mut seen) = (vec!["/".to_owned()], Vec::new());
    while let Some(path) = waiting.pop() {
        if seen.contains(&path) || seen.len() >= 60 {
            continue;
        }
        let page = browser.get(&path);
        assert!(matches!(page.status, 200 | 303), "{path}: {page:?}");
        let links = page.body.split("href=\"/").skip(1).filter_map(|rest| rest.split('"').next());
        let links = links.filter(|link| !link.starts_with("assets/"));
        waiting.extend(links.map(|link| {
            format!("/{}", link.split('#').next().unwrap().replace("&#38;", "&").replace("&amp;", "&"))
        }));
        seen.push(path);
    }
    seen
}

#[test]
fn h4_an_address_says_what_is_wrong_with_it() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    browser.sign_in(run_file(folder.path()).token.secret());

    // What only takes forms, asked for as a page.
    for (path, back) in [
        (format!("/t/{thread}/pause"), format!("href=\"/t/{thread}\"")),
        ("/approvals/a1/amend/show".to_owned(), "href=\"/approvals\"".to_owned()),
        ("/send/show".to_owned(), "href=\"/send\"".to_owned()),
    ] {
        let page = browser.get(&path);
        assert_eq!((page.status, page.header("allow")), (405, Some("POST")), "{path}: {page:?}");
        assert!(text_of(&page.body).contains("does not take GET"), "{path}: {}", page.body);
        assert!(page.body.contains(&back), "{path}: {}", page.body);
        let program = ask(&run_file(folder.path()), "GET", &path, &[], "");
        assert_eq!(program.status, 405, "{program:?}");
        assert!(program.body.contains("does not take GET"), "{program:?}");
    }
    let route = ask(&run_file(folder.path()), "DELETE", "/v1/threads", &[], "");
    assert_eq!(route.status, 405, "{route:?}");
    assert!(route.body.contains("does not take DELETE"), "{route:?}");

    for (path, status, words) in [
        ("/config/zz", 404, "no start of this log has such a configuration"),
        (&*format!("/config/{}", "0".repeat(64)), 404, "no start of this log has such a configuration"),
        ("/threads?state=lost", 400, "correct the address"),
        ("/v1/threads?limit=x", 400, "correct the address"),
        ("/v1/find?q=%ff", 400, "not UTF-8"),
        ("/nowhere", 404, "/v1/openapi.json"),
        ("/send?at=3", 400, "correct the address"),
    ] {
        let program = ask(&run_file(folder.path()), "GET", path, &[], "");
        assert_eq!(program.status, status, "{path}: {program:?}");
        assert!(program.body.contains(words), "{path}: {program:?}");
        assert!(!program.body.contains("nothing was recorded"), "{path}: {program:?}");
        assert!(!program.body.contains("schema"), "{path}: {program:?}");
    }
    for path in ["/?at=%E2%80%AE%1B%00x", "/threads?%E2%80%AE=1", "/t/%E2%80%AE"] {
        let page = browser.get(path);
        assert!(matches!(page.status, 400 | 404), "{path}: {page:?}");
        let raw = page.body.contains(['\u{202e}', '\u{1b}', '\0']);
        assert!(!raw && page.body.contains("\\u{202e}"), "{path}: {}", page.body);
    }
    organism.interrupt();
}

#[test]
fn h4_headers_that_decide_count_only_once_and_as_they_are_meant() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    let secret = browser.sign_in(run_file(folder.path()).token.secret());
    let (host, pause) = (browser.host(), format!("/t/{thread}/pause"));
    let origin = format!("http://{host}");

    // Given twice, no part of the way may read the other one.
    let twice: [&[(&str, &str)]; 5] = [
        &[("Origin", &origin), ("Cookie", &browser.cookie), ("Cookie", "x=y")],
        &[("Host", &host), ("Host", "evil.example"), ("Origin", &origin)],
        &[("Origin", &origin), ("Origin", "http://evil.example")],
        &[("Origin", &origin), ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", &origin), ("Systole-Secret", &secret), ("Systole-Secret", "x")],
    ];
    for headers in twice {
        let changed = browser.post_from(&pause, headers, &format!("secret={secret}"));
        assert_eq!(changed.status, 400, "{headers:?}: {changed:?}");
        assert!(changed.body.contains("is given twice"), "{headers:?}: {changed:?}");
    }
    let absolute = browser.get("http://evil.example/threads");
    assert_eq!(absolute.status, 403, "{absolute:?}");
    let own = browser.get(&format!("http://{host}/threads"));
    assert_eq!(own.status, 200, "{own:?}");
    assert_eq!(state_of(folder.path(), &thread), "waiting");

    // What a client reads is a list of types, each with its weight.
    for (accept, is_html) in [
        ("text/html", true),
        ("application/json;q=0.5, TEXT/HTML;q=0.9", true),
        ("text/html;q=0", false),
        ("application/json, text/html; q=0.000", false),
        ("text/html-x", false),
        ("application/x;p=\"text/html\"", false),
        ("*/*", false),
    ] {
        let page = browser.request("GET", "/threads", &[("Accept", accept)], "");
        let kind = page.header("content-type").unwrap();
        assert_eq!(kind.starts_with("text/html"), is_html, "{accept}: {kind}");
    }

    // Only files of the pages are open to everyone.
    let stranger = Browser::new(folder.path());
    for path in ["/assets/../threads", "/assets/a/b", "/assets/", "/assets"] {
        assert_eq!(stranger.get(path).status, 401, "{path}");
    }
    assert_eq!(stranger.get("/assets/none.css").status, 404);
    assert_eq!(stranger.request("PUT", "/assets/none.css", &[], "").status, 401);

    // A preview reads a large body, so another site may not ask for it either.
    for path in ["/send/show", "/approvals/a1/amend/show"] {
        let refused = browser.post_from(path, &[], "element=say&to=echo");
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
    }
    let shown = browser.post("/send/show", "element=say&to=echo");
    assert_eq!(shown.status, 200, "{shown:?}");
    organism.interrupt();
}

#[test]
fn h4_a_form_is_text_and_its_bytes_are_never_replaced() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    until_waiting(folder.path(), 1);
    let mut browser = Browser::new(folder.path());
    let secret = browser.sign_in(run_file(folder.path()).token.secret());
    let broken = format!("secret={secret}&note=caf%E9");
    for (path, more) in [
        (format!("/t/{thread}/pause"), ""),
        ("/approvals/a1".to_owned(), "&outcome=rejected&hash=x"),
        ("/send".to_owned(), "&element=say&to=echo"),
        ("/send/show".to_owned(), "&element=say&to=echo"),
        ("/approvals/a1/amend/show".to_owned(), "&hash=x"),
    ] {
        let refused = browser.post(&path, &format!("{broken}{more}"));
        assert_eq!(refused.status, 400, "{path}: {refused:?}");
        assert!(text_of(&refused.body).contains("is not UTF-8"), "{path}: {}", refused.body);
    }
    assert_eq!(state_of(folder.path(), &thread), "waiting");
    // What is no form, what is too large and what stands in the address are refused too, not left out.
    let pause = format!("/t/{thread}/pause");
    let body = format!("secret={secret}&note=x");
    let origin = format!("http://{}", browser.host());
    let kindless = browser.request("POST", &pause, &[("Origin", &origin)], &body);
    assert_eq!(kindless.status, 400, "{kindless:?}");
    assert!(kindless.body.contains("Content-Type"), "{}", kindless.body);
    // It is refused before it is read.
    let mut large = crate::program::connect(&run_file(folder.path()));
    let head = format!(
        "POST {pause} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nCookie: {}\r\nAccept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        browser.host(),
        browser.cookie,
        13 << 20
    );
    std::io::Write::write_all(&mut large, head.as_bytes()).unwrap();
    let large = crate::program::answer(large);
    assert_eq!(large.status, 413, "{large:?}");
    assert!(large.body.contains("larger than 12 MiB"), "{}", large.body);
    let queried = browser.post(&format!("{pause}?at=2"), &body);
    assert_eq!(queried.status, 400, "{queried:?}");
    assert_eq!(state_of(folder.path(), &thread), "waiting");
    let kind = ("Content-Type", "Application/X-WWW-Form-Urlencoded; charset=utf-8");
    let shown = browser.request("POST", "/send/show", &[("Origin", &origin), kind], "element=say&to=echo");
    assert_eq!(shown.status, 200, "{shown:?}");
    let steered = browser.post("/t/sess-000000000000/steer", &format!("secret={secret}&text=x"));
    assert_eq!(steered.status, 404, "{steered:?}");

    // The character that stands for what cannot be read is a character like any other.
    let paused = browser.post(&format!("/t/{thread}/pause"), &format!("secret={secret}&note=%EF%BF%BD"));
    assert_eq!(paused.status, 303, "{paused:?}");
    assert_eq!(browser.get("/threads?q=%EF%BF%BD").status, 200);
    assert_eq!(browser.get("/threads?q=%E9").status, 400);
    organism.interrupt();
}

#[test]
fn h4_a_client_that_sends_slowly_keeps_no_other_client_from_sending() {
    use std::io::Write as _;
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut alice = Browser::new(folder.path());
    alice.sign_in(ALICE);
    let mut operator = Browser::new(folder.path());
    let secret = operator.sign_in(run_file(folder.path()).token.secret());
    let (host, bearer) = (alice.host(), format!("Authorization: Bearer {ALICE}"));
    let cookie = format!("Cookie: {}\r\nOrigin: http://{host}", alice.cookie);
    let kind = "Content-Type: application/x-www-form-urlencoded";
    // More than there are seats, and none of them is ever complete.
    let slow = |path: &str, credential: &str| {
        let mut stream = crate::program::connect(&run_file(folder.path()));
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{credential}\r\n{kind}\r\n");
        stream.write_all(format!("{head}Content-Length: 100\r\n\r\nabc").as_bytes()).unwrap();
        stream
    };
    let forms: Vec<_> = (0..40).map(|_| slow("/send/show", &cookie)).collect();
    let messages: Vec<_> = (0..80).map(|_| slow("/v1/messages?to=echo", &bearer)).collect();
    let paused = operator.post(&format!("/t/{thread}/pause"), &format!("secret={secret}"));
    assert_eq!(paused.status, 303, "{paused:?}");
    sent(folder.path(), "echo", true);
    // None of hers was answered, so none was ended to make room.
    for mut open in forms.into_iter().chain(messages) {
        open.set_nonblocking(true).unwrap();
        let read = std::io::Read::read(&mut open, &mut [0; 1]);
        assert_eq!(read.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
    }
    organism.interrupt();
}

#[test]
fn h4_an_export_for_a_client_without_read_has_no_configuration() {
    let folder = house();
    let organism = running(folder.path());
    let bearer = format!("Bearer {ALICE}");
    let headers = [("Authorization", bearer.as_str()), ("Systole-Wait", "240")];
    let own = crate::organism::say("mine");
    let taken = ask_as(&run_file(folder.path()), "POST", "/v1/messages?to=echo", &headers, &own);
    let path = format!("/t/{}/export", taken.json["thread"].as_str().unwrap());
    let hers = ask_as(&run_file(folder.path()), "GET", &path, &headers[..1], "");
    assert!(hers.status == 200 && hers.body.contains("mine"), "{hers:?}");
    for name in ["cellar", "carol", "CAROL_TOKEN", "organism.yaml"] {
        assert!(!hers.body.contains(name), "{name}: {}", hers.body);
    }
    assert!(hers.body.contains("Configurations are left out"), "{}", hers.body);
    let all = ask(&run_file(folder.path()), "GET", &path, &[], "");
    assert!(all.body.contains("cellar") && !all.body.contains("are left out"), "{}", all.body);
    organism.interrupt();
}

#[test]
fn h4_a_form_of_an_ended_session_says_how_it_is_sent_again() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    browser.sign_in(run_file(folder.path()).token.secret());
    assert_eq!(browser.post("/session/end", "").status, 303);
    for (path, to) in [
        (format!("/t/{thread}/pause"), format!("/t/{thread}")),
        ("/approvals/a1/amend".to_owned(), "/approvals".to_owned()),
        ("/send".to_owned(), "/send".to_owned()),
        ("/threads/order".to_owned(), "/threads".to_owned()),
    ] {
        let page = browser.post(&path, "note=lunch");
        assert_eq!(page.status, 401, "{page:?}");
        let words = text_of(&page.body);
        assert!(words.contains("Nothing was changed") && words.contains("sends the form again"), "{words}");
        assert!(page.body.contains(&format!("name=\"to\" value=\"{to}\"")), "{path}: {}", page.body);
        assert!(page.body.contains("target=\"_blank\""), "{path}: {}", page.body);
        assert!(!page.body.contains("Already signed in"), "{path}: {}", page.body);
    }
    // Signing out of a session that has ended is done already, and no form to be sent again.
    let out = browser.post("/session/end", "");
    assert_eq!((out.status, out.header("location")), (303, Some("/session")), "{out:?}");
    // A stranger had no session.
    let stranger = Browser::new(folder.path());
    let page = stranger.post_from("/send", &[], "note=lunch");
    assert!(page.status == 401 && !page.body.contains("has ended"), "{page:?}");
    let program = browser.post_from("/send", &[JSON], "note=lunch");
    assert_eq!(program.status, 401, "{program:?}");
    organism.interrupt();
}

#[test]
fn g4_the_page_that_asks_for_the_token_shows_what_is_decided() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let request = until_waiting(folder.path(), 1)[0].clone();
    let (hash, payload) = (request["hash"].as_str().unwrap(), request["payload"].as_str().unwrap());
    let mut browser = Browser::new(folder.path());
    browser.sign_in(CAROL);
    let own = own_page(&browser);
    let own = own.each_ref().map(|(name, value)| (*name, value.as_str()));
    let asked = |path: &str, body: &str| -> String {
        let page: Answer = browser.post_from(path, &own, body);
        assert_eq!(page.status, 403, "{page:?}");
        text_of(&page.body)
    };
    let first = payload.split("<text>").nth(1).unwrap().split('\u{202e}').next().unwrap();
    let shown = asked("/approvals/a1", &format!("outcome=approved&hash={hash}&note=fine"));
    assert!(shown.contains("Approve a1") && shown.contains(first), "{first:?} is not in {shown}");
    assert!(shown.contains("\\u{202e}you"), "{shown}");
    assert!(shown.contains("fine") && !shown.contains("no longer"), "{shown}");
    let shown = asked("/approvals/a1", &format!("outcome=approved&hash={}&note=fine", "0".repeat(64)));
    assert!(shown.contains("no longer"), "{shown}");
    let amended = "outcome=amended&hash=x&payload=%3Csay%3Eother%E2%80%AE%3C/say%3E";
    let shown = asked("/approvals/a1", amended);
    assert!(shown.contains("<say>other\\u{202e}"), "{shown}");
    let shown = asked("/send", "element=say&to=echo&%2Fsay%2Ftext=what+I+typed");
    assert!(shown.contains("Send <say> to echo"), "{shown}");
    assert!(shown.contains("<text>what I typed</text>") && shown.contains("You act as carol"), "{shown}");
    let shown = asked(&format!("/t/{thread}/cancel"), "note=first%0D%0Asecond");
    assert!(shown.contains(&format!("cannot be undone: cancel thread {thread}")), "{shown}");
    assert!(shown.contains("first\nsecond") && !shown.contains("look closely"), "{shown}");
    let shown =
        asked("/threads/order", &format!("order=cancel&thread=working+{thread}&thread=working+{thread}"));
    assert!(shown.contains("cannot be undone: cancel 2 threads"), "{shown}");
    let shown = asked("/threads/order", &format!("order=pause&thread=working+{thread}"));
    assert!(shown.contains("Pause 1 thread"), "{shown}");

    // By its fields: what goes out stands beside what waits, even if a field was emptied.
    let fields = format!("hash={hash}&%2Fsay%2Ftext=");
    let shown = asked("/approvals/a1/amend", &fields);
    let (waits, instead) = shown.split_once("What goes out in its place").unwrap();
    assert!(waits.contains(first), "{shown}");
    assert!(instead.contains("<text></text>") || instead.contains("<text/>"), "{shown}");

    let shown = asked("/approvals/a1/amend", &format!("hash={hash}&%2Fsay%2Fnope=x"));
    assert!(shown.contains("make no valid payload") && shown.contains("nope"), "{shown}");
    // What the route reads is what the page says: a decoded id, and no payload that is not sent.
    let shown = asked("/approvals/%611", &format!("outcome=approved&hash={hash}&payload=%3Cevil/%3E"));
    assert!(shown.contains("Approve a1") && shown.contains(first), "{shown}");
    assert!(!shown.contains("evil"), "{shown}");
    let mut alice = Browser::new(folder.path());
    alice.sign_in(ALICE);
    let refused = alice.post("/approvals/a1", &format!("outcome=approved&hash={hash}"));
    let words = text_of(&refused.body);
    assert!(refused.status == 403 && words.contains("with the role approve"), "{words}");
    let many = browser.post_from("/approvals/a1", &own, &"a&".repeat(5_001));
    assert!(many.status == 400 && many.body.contains("more than 5000 fields"), "{}", many.body);

    // A secret that no longer counts: the page marks it, so that the script lets the token be typed.
    let secret = "0".repeat(32);
    let stale =
        browser.post_from("/approvals/a1", &own, &format!("secret={secret}&outcome=approved&hash={hash}"));
    assert!(stale.status == 403 && stale.body.contains("data-stale"), "{stale:?}");
    assert!(!stale.body.contains(&secret), "{}", stale.body);
    // A rejection needs a note, and the browser says so before anything is sent.
    let form = browser.get("/approvals").body;
    assert!(form.contains("name=\"note\" maxlength=\"1000\" autocomplete=\"off\" required"), "{form}");
    assert!(
        form.contains("value=\"approved\" formnovalidate")
            && !form.contains("value=\"rejected\" formnovalidate"),
        "{form}"
    );
    organism.interrupt();
}
