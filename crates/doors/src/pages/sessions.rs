//! Who is signed in to the pages: codes of one use from `systole console`, and sessions of browsers.
//!
//! A code or a client comes in; a session goes out, with the value of its cookie and the secret that changes need. All
//! of it lives in memory and is bounded. The caller passes the time in ticks, so a clock that is set back ends nothing.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use systole_core::types::ids::Name;
use systole_core::types::time::Millis;
use systole_organism::runfile::{Credential, draw_hex};

use crate::entrance::Entrance;
use crate::limits;

/// A code of one use.
struct OpenCode {
    code: Credential,
    client: Name,
    made: Millis,
}

/// A signed-in browser.
struct Session {
    cookie: Credential,
    /// None for a session at the public address, where the cookie makes changes.
    secret: Option<Credential>,
    client: Name,
    used: Millis,
}

/// A fresh session, for the browser that asked for it.
pub(crate) struct OpenedSession {
    /// The client that signed in.
    pub(crate) client: Name,
    /// The value of its cookie.
    pub(crate) cookie: String,
    /// The secret that changes need besides the cookie, unless the session is one of the public address.
    pub(crate) secret: Option<String>,
}

/// All codes and sessions of one door.
#[derive(Default)]
pub(crate) struct Sessions {
    codes: Mutex<BTreeMap<Name, VecDeque<OpenCode>>>,
    open: Mutex<Vec<Session>>,
}

fn lock_sessions<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is complete before anything can panic.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    /// Makes a code with which a browser signs in as this client.
    pub(crate) fn code_for(&self, client: &Name, now: Millis) -> io::Result<String> {
        let code = draw_hex()?;
        let mut codes = lock_sessions(&self.codes);
        let own = codes.entry(client.clone()).or_default();
        if own.len() >= limits::CODES {
            own.pop_front();
        }
        own.push_back(OpenCode {
            code: Credential::from_token(code.clone()),
            client: client.clone(),
            made: now,
        });
        Ok(code)
    }

    /// Takes a code, which then counts no more, and names its client.
    pub(crate) fn take_code(&self, shown: &str, now: Millis) -> Option<Name> {
        let mut codes = lock_sessions(&self.codes);
        let mut found = None;
        for own in codes.values_mut() {
            own.retain(|one| now.count_since(one.made) < limits::CODE_MS);
            // Every code is compared, so that the time reveals nothing.
            let is_it: Vec<bool> = own.iter().map(|one| one.code.matches(shown)).collect();
            if let Some(place) = is_it.iter().position(|is_it| *is_it) {
                found = own.remove(place).map(|one| one.client);
            }
        }
        codes.retain(|_, own| !own.is_empty());
        found
    }

    /// Opens a session for a client. It counts at this address alone: other programs of this machine can see the cookie
    /// of the bound one, and it must not make changes at the public one.
    pub(crate) fn open(&self, client: Name, entrance: Entrance, now: Millis) -> io::Result<OpenedSession> {
        let secret = if entrance == Entrance::Public { None } else { Some(draw_hex()?) };
        let opened = OpenedSession { client: client.clone(), cookie: draw_hex()?, secret };
        let mut open = lock_sessions(&self.open);
        open.retain(|one| now.count_since(one.used) < limits::SESSION_MS);
        let own = open.iter().filter(|one| one.client == client).count();
        if own >= limits::OWN_SESSIONS || open.len() >= limits::SESSIONS {
            let full = own >= limits::OWN_SESSIONS;
            let idle = open.iter().enumerate().filter(|(_, one)| !full || one.client == client);
            if let Some((place, _)) = idle.min_by_key(|(_, one)| one.used) {
                open.remove(place);
            }
        }
        open.push(Session {
            cookie: Credential::from_token(opened.cookie.clone()),
            secret: opened.secret.clone().map(Credential::from_token),
            client,
            used: now,
        });
        Ok(opened)
    }

    /// The client of a cookie at this address, whose session then counts as used.
    pub(crate) fn whose(&self, cookie: &str, entrance: Entrance, now: Millis) -> Option<Name> {
        let mut open = lock_sessions(&self.open);
        open.retain(|one| now.count_since(one.used) < limits::SESSION_MS);
        open.iter_mut().fold(None, |found, one| {
            let is_of_here = one.secret.is_none() == (entrance == Entrance::Public);
            if one.cookie.matches(cookie) && is_of_here {
                one.used = now;
                return Some(one.client.clone());
            }
            found
        })
    }

    /// Whether a secret belongs to this client. A tab may hold the secret of an earlier sign-in in the same browser,
    /// so every open session of the client counts.
    pub(crate) fn may_change(&self, client: &Name, secret: &str) -> bool {
        let open = lock_sessions(&self.open);
        let own = open.iter().filter(|one| one.client == *client).filter_map(|one| one.secret.as_ref());
        own.filter(|one| one.matches(secret)).count() > 0
    }

    /// Ends the session of a cookie.
    pub(crate) fn end(&self, cookie: &str) {
        lock_sessions(&self.open).retain(|one| !one.cookie.matches(cookie));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn secret(opened: &OpenedSession) -> String {
        opened.secret.clone().unwrap()
    }

    #[test]
    fn a_code_counts_once_and_for_a_minute() {
        let sessions = Sessions::default();
        let code = sessions.code_for(&name("alice"), Millis(0)).unwrap();
        assert_eq!(sessions.take_code("0123456789abcdef0123456789abcdef", Millis(1)), None);
        assert_eq!(sessions.take_code(&code, Millis(59_999)), Some(name("alice")));
        assert_eq!(sessions.take_code(&code, Millis(59_999)), None, "it counts once");
        let late = sessions.code_for(&name("alice"), Millis(0)).unwrap();
        assert_eq!(sessions.take_code(&late, Millis(60_000)), None, "it is too old");
    }

    #[test]
    fn a_client_with_many_codes_and_sessions_replaces_only_its_own() {
        let sessions = Sessions::default();
        let kept = sessions.code_for(&name("bob"), Millis(0)).unwrap();
        let bob = sessions.open(name("bob"), Entrance::Bound, Millis(0)).unwrap();
        let first = sessions.code_for(&name("alice"), Millis(0)).unwrap();
        let opened = sessions.open(name("alice"), Entrance::Bound, Millis(1)).unwrap();
        for n in 0..1000 {
            sessions.code_for(&name("alice"), Millis(n)).unwrap();
            sessions.open(name("alice"), Entrance::Bound, Millis(2 + n)).unwrap();
        }
        assert_eq!(sessions.take_code(&first, Millis(1000)), None);
        assert_eq!(sessions.take_code(&kept, Millis(1000)), Some(name("bob")));
        assert_eq!(sessions.whose(&opened.cookie, Entrance::Bound, Millis(1000)), None);
        assert_eq!(sessions.whose(&bob.cookie, Entrance::Bound, Millis(1000)), Some(name("bob")));
        assert_eq!(lock_sessions(&sessions.open).len(), limits::OWN_SESSIONS + 1);
    }

    #[test]
    fn a_session_ends_after_twelve_idle_hours_or_when_it_signs_out() {
        let sessions = Sessions::default();
        let opened = sessions.open(name("alice"), Entrance::Bound, Millis(0)).unwrap();
        assert_eq!(
            sessions.whose(&opened.cookie, Entrance::Bound, Millis(limits::SESSION_MS - 1)),
            Some(name("alice"))
        );
        assert_eq!(
            sessions.whose(&opened.cookie, Entrance::Bound, Millis(2 * limits::SESSION_MS - 2)),
            Some(name("alice"))
        );
        assert_eq!(sessions.whose(&opened.cookie, Entrance::Bound, Millis(3 * limits::SESSION_MS)), None);
        let opened = sessions.open(name("alice"), Entrance::Bound, Millis(0)).unwrap();
        sessions.end(&opened.cookie);
        assert_eq!(sessions.whose(&opened.cookie, Entrance::Bound, Millis(1)), None);
        assert!(!sessions.may_change(&name("alice"), &secret(&opened)));
    }

    #[test]
    fn a_cookie_is_no_secret_and_a_secret_is_of_its_client_only() {
        let sessions = Sessions::default();
        let (first, second) = (
            sessions.open(name("alice"), Entrance::Bound, Millis(0)).unwrap(),
            sessions.open(name("alice"), Entrance::Bound, Millis(1)).unwrap(),
        );
        assert!(sessions.may_change(&name("alice"), &secret(&first)), "of an earlier sign-in");
        assert!(sessions.may_change(&name("alice"), &secret(&second)));
        assert!(!sessions.may_change(&name("bob"), &secret(&second)));
        assert!(!sessions.may_change(&name("alice"), &second.cookie));
        assert_eq!(sessions.whose(&secret(&second), Entrance::Bound, Millis(2)), None);
    }

    #[test]
    fn h4_a_session_counts_only_at_the_address_where_it_was_opened() {
        let sessions = Sessions::default();
        let bound = sessions.open(name("alice"), Entrance::Bound, Millis(0)).unwrap();
        let public = sessions.open(name("alice"), Entrance::Public, Millis(0)).unwrap();
        assert_eq!(public.secret, None, "the cookie makes changes");
        assert_eq!(sessions.whose(&public.cookie, Entrance::Public, Millis(1)), Some(name("alice")));
        assert_eq!(sessions.whose(&public.cookie, Entrance::Bound, Millis(1)), None);
        assert_eq!(sessions.whose(&bound.cookie, Entrance::Bound, Millis(1)), Some(name("alice")));
        assert_eq!(sessions.whose(&bound.cookie, Entrance::Public, Millis(1)), None, "it only reads");
        assert!(!sessions.may_change(&name("alice"), &public.cookie));
    }
}
