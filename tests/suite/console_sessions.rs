//! Sessions of the pages over restarts: who stays signed in, what ends a session, and what the file beside the log is.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;

use crate::console::{ALICE, Browser, CAROL, code, house, running, sent, state_of};
use crate::program::{Answer, Running, run_file};

/// The cookie of an earlier life. The organism of the tests has another port in each.
fn take_along(browser: &mut Browser<'_>, folder: &Path) {
    let value = browser.cookie.split_once('=').unwrap().1;
    browser.cookie = format!("systole_{}={value}", run_file(folder).address.port());
}

fn sign_in_with(browser: &Browser<'_>, form: &str) -> Answer {
    browser.post("/session", form)
}

#[test]
fn h4_a_session_survives_a_restart_and_a_crash_until_its_token_changes() {
    let folder = house();
    let organism = running(folder.path());
    let thread = sent(folder.path(), "guarded", false);
    let (mut operator, mut alice) = (Browser::new(folder.path()), Browser::new(folder.path()));
    let mut gone = Browser::new(folder.path());
    let secret = operator.sign_in(&code(folder.path()));
    alice.sign_in(ALICE);
    gone.sign_in(ALICE);
    assert_eq!(gone.post("/session/end", "").status, 303);

    let file = folder.path().join("hello.db.sessions");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    for held in [&secret, operator.cookie.split_once('=').unwrap().1, ALICE] {
        assert!(!text.contains(held), "{text}");
    }

    // It is killed, so it writes nothing more.
    organism.signal(Signal::KILL);
    organism.end();
    let organism = running(folder.path());
    for browser in [&mut operator, &mut alice, &mut gone] {
        take_along(browser, folder.path());
    }
    assert_eq!(operator.get("/threads").status, 200);
    assert_eq!(alice.get("/threads").status, 200);
    assert_eq!(gone.get("/threads").status, 401, "who signed out stays signed out");
    let pause = format!("/t/{thread}/pause");
    assert_eq!(operator.post(&pause, "").status, 403, "the cookie only reads");
    assert_eq!(
        operator.post(&pause, &format!("secret={secret}")).status,
        303,
        "the secret of the tab counts on"
    );
    assert_eq!(state_of(folder.path(), &thread), "paused");
    organism.interrupt();

    // Another token of a client ends its sessions, and only these.
    let changed = "other-token-0123456789";
    let tokens = [("ALICE_TOKEN", changed), ("CAROL_TOKEN", CAROL)];
    let organism = Running::organism_with(folder.path(), &tokens);
    for browser in [&mut operator, &mut alice] {
        take_along(browser, folder.path());
    }
    assert_eq!(operator.get("/threads").status, 200);
    let over = alice.get("/threads?state=working");
    assert_eq!(over.status, 401);
    assert!(over.body.contains("<h1>Signed out</h1>"), "{}", over.body);
    assert!(over.body.contains("name=\"to\" value=\"/threads?state=working\""), "{}", over.body);
    let back = sign_in_with(&alice, &format!("code={changed}&to=%2Fthreads%3Fstate%3Dworking"));
    assert_eq!((back.status, back.header("location")), (303, Some("/threads?state=working")), "{back:?}");
    organism.interrupt();
}

#[test]
fn h4_who_stays_signed_in_keeps_the_cookie_for_thirty_days() {
    let folder = house();
    let organism = running(folder.path());
    let browser = Browser::new(folder.path());
    assert!(browser.get("/").body.contains("name=\"stay\""));
    let stays = sign_in_with(&browser, &format!("code={ALICE}&stay=yes"));
    let cookie = stays.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"), "{cookie}");
    let short = sign_in_with(&browser, &format!("code={ALICE}"));
    assert!(!short.header("set-cookie").unwrap().contains("Max-Age"), "{short:?}");
    organism.interrupt();
}

#[test]
fn h4_a_damaged_file_of_sessions_is_said_and_begins_anew() {
    let folder = house();
    let file = folder.path().join("hello.db.sessions");
    std::fs::write(&file, "no sessions").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let organism = running(folder.path());
    let mut browser = Browser::new(folder.path());
    browser.sign_in(ALICE);
    let ran = organism.interrupt();
    assert!(ran.stderr.contains("the file of the sessions does not count"), "{ran:?}");
    assert!(ran.stderr.contains("it is damaged, or no file of sessions"), "{ran:?}");
    let organism = running(folder.path());
    take_along(&mut browser, folder.path());
    assert_eq!(browser.get("/threads").status, 200);
    let ran = organism.interrupt();
    assert!(!ran.stderr.contains("does not count"), "{ran:?}");
}

#[test]
fn h4_guesses_at_signing_in_are_slowed_and_a_code_counts_at_once() {
    let folder = house();
    let organism = running(folder.path());
    let browser = Browser::new(folder.path());
    // On a slow machine there may be room for one more guess in between.
    let refused = (0..20).find_map(|_| {
        let wrong = |_: &usize| sign_in_with(&browser, "code=wrong-token-0123456789").status == 429;
        assert!((0..500).find(wrong).is_some(), "wrong tokens are never refused");
        let right = sign_in_with(&browser, &format!("code={ALICE}"));
        (right.status == 429).then_some(right)
    });
    let refused = refused.expect("the right token was never refused");
    assert_eq!(refused.header("set-cookie"), None);
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() <= 6, "{refused:?}");
    assert!(refused.body.contains("Too many wrong tokens came from this address"), "{}", refused.body);
    let signed = sign_in_with(&browser, &format!("code={}", code(folder.path())));
    assert_eq!(signed.status, 303, "{signed:?}");
    organism.interrupt();
}
