//! The pages over plain HTTP, as a browser and a program ask for them: signing in, what is refused, and what they show.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::http::HOUSE;
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{Answer, Running, answer, ask, ask_as, connect, run_file, systole, systole_with};

pub(crate) const ALICE: &str = "alice-token-0123456789";
pub(crate) const CAROL: &str = "carol-token-0123456789";

/// An organism with a client without roles, one who may approve, a listener whose messages a person approves,
/// and one that takes no message from outside.
pub(crate) fn house() -> tempfile::TempDir {
    let more = "  guarded: {run: [python3, echo.py], schema: guarded.xsd, accepts: [say], returns: [said], entry: true, approval: {when: always}}\n  cellar: {run: [python3, echo.py], schema: cellar.xsd, accepts: [say], returns: [said]}\n\
                clients:\n  alice: {token_env: ALICE_TOKEN}\n  carol: {token_env: CAROL_TOKEN, roles: [approve]}\nlog: {";
    let guarded = ECHO_XSD.replace("ns/echo/v1", "ns/guarded/v1");
    let cellar = ECHO_XSD.replace("ns/echo/v1", "ns/cellar/v1");
    folder(&[
        ("organism.yaml", &HOUSE.replace("log: {", more)),
        ("echo.xsd", ECHO_XSD),
        ("guarded.xsd", &guarded),
        ("cellar.xsd", &cellar),
        ("echo.py", ECHO_PY),
    ])
}

pub(crate) fn running(folder: &Path) -> Running {
    Running::organism_with(folder, &[("ALICE_TOKEN", ALICE), ("CAROL_TOKEN", CAROL)])
}

/// A browser: it says where it is, what it reads, and its cookie.
pub(crate) struct Browser<'a> {
    folder: &'a Path,
    pub(crate) cookie: String,
}

const HTML: &str = "text/html,application/xhtml+xml";

impl Browser<'_> {
    pub(crate) fn new(folder: &Path) -> Browser<'_> {
        Browser { folder, cookie: String::new() }
    }

    pub(crate) fn host(&self) -> String {
        run_file(self.folder).address.to_string()
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        use std::io::Write as _;
        let mut stream = connect(&run_file(self.folder));
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let own = [("Host", self.host()), ("Accept", HTML.to_owned()), ("Cookie", self.cookie.clone())];
        for (name, value) in &own {
            let is_given = headers.iter().any(|(given, _)| given == name);
            if !is_given && !value.is_empty() {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        answer(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    /// A form of one of our own pages.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.host());
        self.post_from(path, &[("Origin", &origin), ("Sec-Fetch-Site", "same-origin")], body)
    }

    pub(crate) fn post_from(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![("Content-Type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.request("POST", path, &all, body)
    }

    /// Signs in as a script does, keeps the cookie, and returns the secret.
    pub(crate) fn sign_in(&mut self, shown: &str) -> String {
        let origin = format!("http://{}", self.host());
        let headers = [("Origin", origin.as_str()), ("Accept", "application/json")];
        let signed = self.post_from("/session", &headers, &format!("code={shown}"));
        assert_eq!(signed.status, 200, "{signed:?}");
        self.keep(&signed);
        signed.json["secret"].as_str().unwrap().to_owned()
    }

    fn keep(&mut self, signed: &Answer) {
        let cookie = signed.header("set-cookie").unwrap();
        let port = run_file(self.folder).address.port();
        let (value, attributes) = cookie.split_once(';').unwrap();
        assert!(value.starts_with(&format!("systole_{port}=")), "{cookie}");
        assert_eq!(attributes, " HttpOnly; SameSite=Strict; Path=/");
        value.clone_into(&mut self.cookie);
    }
}

pub(crate) fn code(folder: &Path) -> String {
    let made = ask(&run_file(folder), "POST", "/v1/session-codes", &[], "");
    assert_eq!(made.status, 201, "{made:?}");
    made.json["code"].as_str().unwrap().to_owned()
}

/// Sends a message and waits for its end. Returns its thread.
pub(crate) fn sent(folder: &Path, listener: &str, wait: bool) -> String {
    let document = say("hello <b>&amp; \u{202e}you</b>").replace("<b>", "&lt;b>").replace("</b>", "&lt;/b>");
    let document = document.replace("ns/echo/v1", &format!("ns/{listener}/v1"));
    let headers: &[(&str, &str)] = if wait { &[("Systole-Wait", "240")] } else { &[] };
    let taken = ask(&run_file(folder), "POST", &format!("/v1/messages?to={listener}"), headers, &document);
    assert!(matches!(taken.status, 200 | 202), "{taken:?}");
    taken.json["thread"].as_str().unwrap().to_owned()
}

pub(crate) fn state_of(folder: &Path, thread: &str) -> Value {
    ask(&run_file(folder), "GET", &format!("/t/{thread}"), &[], "").json["state"].clone()
}

/// The text of a page, as a person reads it.
pub(crate) fn text_of(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in page.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    let names = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    names.iter().fold(text, |text, (name, c)| text.replace(name, c))
}

#[test]
fn h4_signing_in_forgives_a_mistake_and_an_earlier_secret() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    let first = browser.get("/threads?state=working");
    assert_eq!(first.status, 401, "{first:?}");
    assert!(first.body.contains("name=\"to\" value=\"/threads?state=working\""), "{}", first.body);
    let wrong = browser.post("/session", "code=0123456789abcdef0123456789abcdef&to=%2Fthreads");
    assert_eq!(wrong.status, 401);
    assert!(wrong.body.contains("not known") && wrong.body.contains("value=\"/threads\""), "{}", wrong.body);
    assert_eq!(wrong.header("set-cookie"), None);
    let large = browser.post("/session", &format!("code={}", "x".repeat(100_000)));
    assert_eq!(large.status, 401, "a stranger's form is small: {large:?}");

    // Without scripts: a form, a cookie and the page that was asked for.
    let once = code(folder.path());
    let signed = browser.post("/session", &format!("code={once}&to=%2Fthreads"));
    assert_eq!((signed.status, signed.header("location")), (303, Some("/threads")), "{signed:?}");
    browser.keep(&signed);
    assert_eq!(browser.get("/threads").status, 200);
    let again = browser.post("/session", &format!("code={once}"));
    assert_eq!(again.status, 401, "a code counts once");
    let elsewhere = browser.post("/session", &format!("code={}&to=%2F%2Fevil.example", code(folder.path())));
    assert_eq!((elsewhere.status, elsewhere.header("location")), (303, Some("/")));

    // The cookie reads; a change takes the token, typed once more, and nothing that was filled in is lost.
    let pause = format!("/t/{thread}/pause");
    let bare = browser.post(&pause, "note=lunch");
    assert_eq!(bare.status, 403, "{bare:?}");
    assert!(bare.body.contains("name=\"note\" value=\"lunch\""), "{}", bare.body);
    assert_eq!(browser.post(&pause, "note=lunch&token=wrong").status, 403);
    assert_eq!(state_of(folder.path(), &thread), "waiting");
    let token = run_file(folder.path()).token.secret().to_owned();
    let paused = browser.post(&pause, &format!("note=lunch&token={token}"));
    assert_eq!(paused.header("location"), Some(format!("/t/{thread}").as_str()), "{paused:?}");
    assert_eq!(state_of(folder.path(), &thread), "paused");

    // With scripts: a secret, and that of an earlier sign-in in another tab counts too.
    let earlier = browser.sign_in(&token);
    let later = browser.sign_in(&token);
    assert_ne!(earlier, later);
    let resumed = browser.post(&format!("/t/{thread}/resume"), &format!("secret={earlier}"));
    assert_eq!(resumed.status, 303, "{resumed:?}");
    assert_eq!(state_of(folder.path(), &thread), "waiting");
    let mut alice = Browser::new(folder.path());
    let hers = alice.sign_in(ALICE);
    assert_eq!(browser.post(&pause, &format!("secret={hers}")).status, 403, "of another client");

    assert_eq!(browser.post("/session/end", "").status, 303);
    assert_eq!(browser.get("/threads").status, 401);
    assert_eq!(alice.get("/threads").status, 200);
    drop(organism);
}

#[test]
fn h4_systole_console_prints_an_address_that_signs_in() {
    let folder = house();
    let none = systole(folder.path(), &["console", "--no-browser"]);
    assert_eq!(none.code, Some(5), "{none:?}");
    assert!(none.stderr.contains("systole run"), "{none:?}");
    let organism = running(folder.path());
    let mut browser = Browser::new(folder.path());
    let printed = systole(folder.path(), &["console", "--no-browser"]);
    let address = printed.stdout.trim();
    let code = address.strip_prefix(&format!("http://{}/#", browser.host())).unwrap();
    assert!(code.len() == 32 && code.bytes().all(|byte| byte.is_ascii_hexdigit()), "{printed:?}");
    browser.sign_in(code);
    let page = browser.get("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("operator"), "{}", page.body);

    // The program that opens a browser sees a file, and the code is only in it.
    let tools = folder.path().join("tools");
    let opener = tools.join("xdg-open");
    std::fs::create_dir(&tools).unwrap();
    std::fs::write(&opener, "#!/bin/sh\nprintf '%s' \"$*\" > \"$0.new\"\nmv \"$0.new\" \"$0.seen\"\n")
        .unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let variables = [("DISPLAY", ":0"), ("PATH", path.as_str())];
    let opened = systole_with(folder.path(), &["console", "--json"], &variables);
    let value = &opened.json_lines()[0];
    assert_eq!(value["opened"], true, "{opened:?}");
    let file = folder.path().canonicalize().unwrap().join("hello.db.console.html");
    let seen = opener.with_extension("seen");
    // A command takes long enough to be a pause.
    let is_there = || seen.exists() || systole(folder.path(), &["--version"]).code != Some(0);
    assert!((0..5_000).any(|_| is_there()), "no browser was opened");
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), file.display().to_string());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let address = value["address"].as_str().unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().contains(&format!("url={address}\"")));
    let browserless = [("DISPLAY", ""), ("WAYLAND_DISPLAY", ""), ("PATH", path.as_str())];
    let quiet = systole_with(folder.path(), &["console", "--json"], &browserless);
    assert_eq!(quiet.json_lines()[0]["opened"], false, "{quiet:?}");
    drop(organism);
}

#[test]
fn h4_a_foreign_host_or_page_changes_and_reads_nothing() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let mut browser = Browser::new(folder.path());
    let token = run_file(folder.path()).token.secret().to_owned();
    let secret = browser.sign_in(&token);
    let port = run_file(folder.path()).address.port();
    let foreign = format!("evil.example:{port}");
    for host in ["evil.example", &foreign, "127.0.0.1", "localhost"] {
        for path in ["/", "/threads", "/session", "/assets/x"] {
            let read = browser.request("GET", path, &[("Host", host)], "");
            assert_eq!(read.status, 403, "{host}{path}: {read:?}");
        }
        let origin = format!("http://{host}");
        let signed =
            browser.post_from("/session", &[("Host", host), ("Origin", &origin)], &format!("code={token}"));
        assert_eq!((signed.status, signed.header("set-cookie")), (403, None), "{host}");
    }
    let (own, local) = (format!("http://127.0.0.1:{port}"), format!("localhost:{port}"));
    assert_eq!(browser.request("GET", "/", &[("Host", &local)], "").status, 200);
    let (pause, body) = (format!("/t/{thread}/pause"), format!("secret={secret}"));
    let strangers: [&[(&str, &str)]; 6] = [
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Origin", "http://127.0.0.1:1")],
        &[("Origin", &own), ("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[],
    ];
    for headers in strangers {
        assert_eq!(browser.post_from(&pause, headers, &body).status, 403, "{headers:?}");
        if !headers.is_empty() {
            let signed = browser.post_from("/session", headers, &format!("code={token}"));
            assert_eq!((signed.status, signed.header("set-cookie")), (403, None), "{headers:?}");
        }
    }
    assert_eq!(state_of(folder.path(), &thread), "waiting");
    assert_eq!(browser.post(&pause, &body).status, 303);
    // The cookie is for pages alone.
    assert_eq!(browser.get("/v1/status").status, 401);
    drop(organism);
}

#[test]
fn h4_every_page_answers_a_person_and_a_program() {
    let folder = house();
    let organism = running(folder.path());
    let (answered, held) = (sent(folder.path(), "echo", true), sent(folder.path(), "guarded", false));
    let mut browser = Browser::new(folder.path());
    browser.sign_in(run_file(folder.path()).token.secret());
    let thread = format!("/t/{answered}");
    let (record, past) = (format!("{thread}/1"), format!("/t/{held}?at=1"));
    for path in ["/", "/threads", "/threads?state=working&listener=guarded&q=you", &thread, &record] {
        let page = browser.get(path);
        assert_eq!(page.status, 200, "{path}: {page:?}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types 'none'"), "{policy}");
        for inline in [" style=", "<script>", " onclick=", "javascript:"] {
            assert!(!page.body.contains(inline), "{path} has {inline}");
        }
        assert!(!page.body.contains('\u{202e}'), "{path} shows a hidden character");
        assert!(!page.body.contains("<b>"), "{path} has markup of a message");
        let program = ask(&run_file(folder.path()), "GET", path, &[], "");
        assert_eq!(program.header("content-type"), Some("application/json"), "{path}");
        assert!(program.json.is_object(), "{path}: {program:?}");
    }
    for (path, status) in [
        ("/threads?state=lost", 400),
        ("/threads?colour=red", 400),
        ("/threads?state=ended&state=ended", 400),
        ("/threads?q=%ff%ff", 400),
        ("/?at=0", 400),
        ("/?at=x", 400),
        ("/?at=999999", 400),
        (&format!("{thread}?from=-1"), 400),
        (&format!("{thread}/x"), 400),
        (&format!("{thread}/999"), 404),
        ("/t/sess-0123456789ab", 404),
        ("/t/..%2F..%2Fetc", 404),
        (&past, 404),
        ("/nowhere", 404),
    ] {
        let page = browser.get(path);
        assert_eq!(page.status, status, "{path}: {page:?}");
        assert!(page.body.contains("<h1>"), "{path}: {page:?}");
        let program = ask(&run_file(folder.path()), "GET", path, &[], "");
        assert_eq!(program.status, status, "{path}: {program:?}");
        assert!(program.json["message"].is_string(), "{path}: {program:?}");
    }
    let bytes = browser.get(&format!("{record}/bytes"));
    assert_eq!(bytes.header("content-type"), Some("application/octet-stream"));
    assert!(bytes.header("content-disposition").is_some_and(|it| it.starts_with("attachment")), "{bytes:?}");
    assert!(bytes.body.contains('\u{202e}'), "the bytes are as they came");
    let style = page_asset(&browser, "stylesheet\" href=\"");
    assert_eq!(style.status, 200);
    assert!(style.header("cache-control").is_some_and(|it| it.contains("immutable")), "{style:?}");
    drop(organism);
}

fn page_asset(browser: &Browser<'_>, before: &str) -> Answer {
    let page = browser.get("/");
    let (_, after) = page.body.split_once(before).unwrap();
    browser.get(after.split_once('"').unwrap().0)
}

#[test]
fn h4_a_page_says_what_the_commands_say() {
    let folder = house();
    let organism = running(folder.path());
    let (answered, held) = (sent(folder.path(), "echo", true), sent(folder.path(), "guarded", false));
    let mut browser = Browser::new(folder.path());
    browser.sign_in(run_file(folder.path()).token.secret());
    let wide = [("COLUMNS", "100000")];
    for thread in [&answered, &held] {
        let shown = text_of(&browser.get(&format!("/t/{thread}")).body);
        let log = systole_with(folder.path(), &["--utc", "log", thread], &wide).stdout;
        assert!(log.lines().count() >= 3, "{log}");
        for line in log.lines() {
            assert!(shown.contains(line.trim()), "{line:?} is not in {shown}");
        }
    }
    let trail = systole_with(folder.path(), &["--utc", "trail", &format!("{answered}@2")], &wide).stdout;
    let shown = text_of(&browser.get(&format!("/t/{answered}/2")).body);
    for line in trail.lines().skip(1) {
        assert!(shown.contains(line.trim()), "{line:?} is not in {shown}");
    }
    // What follows the log gets the same rows, after a position.
    let rows = browser.get(&format!("/t/{answered}/rows?from=0"));
    assert_eq!(rows.body.matches("class=\"row ").count(), 2, "{}", rows.body);
    let last = ask(&run_file(folder.path()), "GET", &format!("/t/{answered}"), &[], "");
    let first = last.json["records"][0]["position"].as_u64().unwrap();
    let rows = browser.get(&format!("/t/{answered}/rows?from={first}"));
    assert_eq!(rows.body.matches("class=\"row ").count(), 1, "{}", rows.body);
    // As it was: before the answer, nothing was answered and nothing can be ordered.
    let past = browser.get(&format!("/t/{answered}?at={first}"));
    assert_eq!(past.status, 200, "{past:?}");
    assert_eq!(past.body.matches("class=\"row ").count(), 1, "{}", past.body);
    assert!(past.body.contains("Back to now") && !past.body.contains("<button>Pause"), "{}", past.body);
    drop(organism);
}

#[test]
fn h4_a_client_without_roles_sees_its_own_threads_only() {
    let folder = house();
    let organism = running(folder.path());
    let others = sent(folder.path(), "guarded", false);
    let bearer = format!("Bearer {ALICE}");
    let headers = [("Authorization", bearer.as_str()), ("Systole-Wait", "240")];
    let run = run_file(folder.path());
    let own = ask_as(&run, "POST", "/v1/messages?to=echo", &headers, &say("mine"));
    let own = own.json["thread"].as_str().unwrap().to_owned();
    let mut alice = Browser::new(folder.path());
    let secret = alice.sign_in(ALICE);
    let list = alice.get("/threads").body;
    assert!(list.contains(&own) && !list.contains(&others), "{list}");
    assert!(!alice.get("/").body.contains(&others));
    assert_eq!(alice.get(&format!("/t/{own}")).status, 200);
    for path in ["", "/1", "/rows", "/1/bytes", "/cancel"] {
        assert_eq!(alice.get(&format!("/t/{others}{path}")).status, 404, "{path}");
    }
    let cancelled = alice.post(&format!("/t/{others}/cancel"), &format!("secret={secret}"));
    assert_eq!(cancelled.status, 404, "{cancelled:?}");
    assert_eq!(state_of(folder.path(), &others), "waiting");
    // What cannot be undone asks once more, and is recorded under the client's name.
    let asked = alice.get(&format!("/t/{own}/end"));
    assert!(asked.body.contains(&format!("action=\"/t/{own}/end\"")), "{}", asked.body);
    assert_eq!(alice.post(&format!("/t/{own}/end"), &format!("secret={secret}")).status, 303);
    assert_eq!(state_of(folder.path(), &own), "answered");
    assert!(text_of(&alice.get(&format!("/t/{own}")).body).contains("at rest, by alice"));
    drop(organism);
}

#[test]
fn h4_a_page_that_refreshes_shares_its_answer_and_one_that_is_opened_shows_the_newest() {
    let folder = house();
    let running = running(folder.path());
    let mut browser = Browser::new(folder.path());
    browser.sign_in(&code(folder.path()));
    sent(folder.path(), "guarded", false);
    let waits = |page: &Answer| text_of(&page.body).contains("wants <say> delivered to guarded");
    let end = |page: &Answer| {
        let (_, rest) = page.body.split_once("data-position=\"").unwrap();
        rest.split_once('"').unwrap().0.parse::<u64>().unwrap()
    };
    // The receipt comes before the request for a person is on record.
    let opened = loop {
        let page = browser.get("/");
        if waits(&page) {
            break page;
        }
    };
    let refreshed =
        |path: &str, told: u64| browser.request("GET", path, &[("systole-position", &told.to_string())], "");
    let before = end(&opened);
    let first = refreshed("/", before);
    assert!(first.status == 200 && waits(&first), "{first:?}");

    let request = ask(&run_file(folder.path()), "GET", "/v1/approvals", &[], "");
    let hash = request.json["approvals"][0]["hash"].as_str().unwrap();
    let order = format!("{{\"outcome\": \"approved\", \"hash\": \"{hash}\"}}");
    let ruled = ask(&run_file(folder.path()), "POST", "/v1/approvals/a1", &[], &order);
    assert_eq!(ruled.status, 200, "{ruled:?}");

    assert_eq!(refreshed("/", before).body, first.body, "pages that were told the same share an answer");
    let after = browser.get("/");
    assert!(!waits(&after), "a page that is opened after an order shows it");
    assert!(!waits(&refreshed("/", end(&after))), "so does one that is told of a later position");
    assert!(!waits(&refreshed("/", u64::MAX)), "a position that was never told is no older one");
    let own = [("Authorization", format!("Bearer {ALICE}")), ("systole-position", "1".to_owned())];
    let own = own.each_ref().map(|(name, value)| (*name, value.as_str()));
    let other = ask_as(&run_file(folder.path()), "GET", "/", &own, "");
    assert_eq!(
        other.json["waiting"].as_array().map(Vec::len),
        Some(0),
        "another client sees its own: {other:?}"
    );
    running.interrupt();
}

/// Waits until that many requests wait for a person.
pub(crate) fn until_waiting(folder: &Path, count: usize) -> Value {
    loop {
        let found = ask(&run_file(folder), "GET", "/v1/approvals", &[], "").json;
        if found["approvals"].as_array().is_some_and(|all| all.len() == count) {
            return found["approvals"].clone();
        }
    }
}

#[test]
fn h4_an_approver_sees_what_waits_and_opens_the_thread_that_she_decides_about() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    until_waiting(folder.path(), 1);
    let mut carol = Browser::new(folder.path());
    let secret = carol.sign_in(CAROL);
    let first = carol.get("/").body;
    assert!(text_of(&first).contains("Waits for you 1") && first.contains("<title>(1) "), "{first}");
    for page in [first, carol.get("/approvals").body] {
        assert!(page.contains(&format!("href=\"/t/{thread}")), "{page}");
    }
    let opened = carol.get(&format!("/t/{thread}"));
    assert!(opened.status == 200 && !opened.body.contains(">Pause<"), "{opened:?}");
    let other = sent(folder.path(), "echo", true);
    assert_eq!(carol.get(&format!("/t/{other}")).status, 404, "no person was asked in it");
    let listed = carol.get("/threads").body;
    assert!(listed.contains(&thread) && !listed.contains(&other), "{listed}");
    assert_eq!(carol.get("/decisions").status, 403, "the decisions of all are for the role read");
    let decided = carol.post("/approvals/a1", &format!("secret={secret}&outcome=rejected"));
    assert!(decided.body.contains("href=\"/approvals\""), "the way back is there: {}", decided.body);
    let led = carol.get("/approvals/a1");
    assert_eq!((led.status, led.header("location")), (303, Some("/approvals?one=a1")));
    // Who may not decide is not called upon.
    let mut alice = Browser::new(folder.path());
    alice.sign_in(ALICE);
    let bearer = format!("Bearer {ALICE}");
    let own = say("mine").replace("ns/echo/v1", "ns/guarded/v1");
    let headers = [("Authorization", bearer.as_str())];
    let taken = ask_as(&run_file(folder.path()), "POST", "/v1/messages?to=guarded", &headers, &own);
    assert_eq!(taken.status, 202, "{taken:?}");
    until_waiting(folder.path(), 2);
    let first = alice.get("/").body;
    assert!(text_of(&first).contains("Waits for a person 1") && !first.contains("<title>("), "{first}");
    organism.interrupt();
}

#[test]
fn g4_a_large_payload_is_amended_and_a_token_of_another_client_decides_nothing() {
    let folder = house();
    let organism = running(folder.path());
    sent(folder.path(), "guarded", false);
    let request = until_waiting(folder.path(), 1)[0].clone();
    let hash = request["hash"].as_str().unwrap();
    let mut browser = Browser::new(folder.path());
    let secret = browser.sign_in(&code(folder.path()));
    let other = browser.post("/approvals/a1", &format!("token={CAROL}&outcome=approved&hash={hash}"));
    assert_eq!(other.status, 403, "{other:?}");
    let words = text_of(&other.body);
    assert!(words.contains("of another client") && words.contains("Approve a1"), "{words}");
    until_waiting(folder.path(), 1);
    // Each letter has two bytes in the payload and six in the form: 2.4 MB.
    let payload = say(&"%D1%8F".repeat(400_000)).replace("ns/echo/v1", "ns/guarded/v1");
    let payload = payload.replace('"', "%22").replace('=', "%3D");
    let form = format!("secret={secret}&outcome=amended&hash={hash}&payload={payload}");
    let amended = browser.post("/approvals/a1", &form);
    assert_eq!(amended.status, 303, "{amended:?}");
    organism.interrupt();
}
