//! Who is signed in to the pages: codes of one use from `systole console`, and sessions of browsers.
//!
//! A code or a client comes in; a session goes out, with the value of its cookie and the secret that changes need. Both
//! are kept as hashes that count only as long as the client and its token do. All of it is bounded. Codes take the time
//! in ticks, so a clock that is set back ends none; sessions outlive the process, so they take that of the clock.

mod session_file;
mod session_kept;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::session_kept::KeptSession;
use crate::limits;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::time::Millis;
use systole_doorway::entrance::Entrance;
use systole_organism::keyring::Keyring;
use systole_organism::runfile::{Credential, draw_hex};
use systole_system::system::describe_error;

/// A code of one use.
struct OpenCode {
    code: Credential,
    client: Name,
    made: Millis,
}

/// What a browser wants to sign in for.
#[derive(Clone, Copy)]
pub struct SessionWish {
    /// The address by which it came.
    pub entrance: Entrance,
    /// Whether it wants to stay signed in.
    pub stays: bool,
}

/// A fresh session, for the browser that asked for it.
pub struct OpenedSession {
    /// The client that signed in.
    pub client: Name,
    /// The value of its cookie.
    pub cookie: String,
    /// The secret that changes need besides the cookie, unless the session is one of the public address.
    pub secret: Option<String>,
}

/// The sessions in memory, and when they were written last.
#[derive(Default)]
struct OpenSessions {
    sessions: Vec<KeptSession>,
    written: Millis,
}

/// All codes and sessions of one door.
#[derive(Default)]
pub struct Sessions {
    codes: Mutex<BTreeMap<Name, VecDeque<OpenCode>>>,
    open: Mutex<OpenSessions>,
    /// The file in which they outlive the process. It is locked while it is written, so the newest comes last.
    file: Option<Mutex<PathBuf>>,
}

fn lock_sessions<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is complete before anything can panic.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hash of a cookie for an address. None if there is no such client.
fn hash_cookie(keyring: &Keyring, client: &Name, entrance: Entrance, cookie: &str) -> Option<Digest> {
    let what = match entrance {
        Entrance::Bound => "cookie",
        Entrance::Public => "public cookie",
    };
    keyring.hash_for(client, what, cookie)
}

/// The hash of a secret for changes.
fn hash_secret(keyring: &Keyring, client: &Name, secret: &str) -> Option<Digest> {
    keyring.hash_for(client, "secret", secret)
}

impl Sessions {
    /// The sessions of a file beside a log. Those of clients that are gone are over.
    pub fn open_file(log: &Path, keyring: &Keyring, now: Millis) -> Sessions {
        let path = session_file::find_path(log);
        let mut sessions = session_file::read_sessions(&path).unwrap_or_else(|why| {
            let fix = "nothing; who was signed in signs in again, and the file begins anew";
            let why = format!("{}: {why}", path.display());
            tracing::warn!(why, fix, "the file of the sessions does not count");
            Vec::new()
        });
        sessions.retain(|one| one.is_open(now) && keyring.has_client(&one.client));
        sessions.truncate(limits::SESSIONS);
        let open = Mutex::new(OpenSessions { sessions, written: now });
        Sessions { codes: Mutex::default(), open, file: Some(Mutex::new(path)) }
    }

    /// Writes the sessions, if they outlive the process. It waits for the disk.
    pub fn write_file(&self, now: Millis) {
        let Some(file) = &self.file else { return };
        let path = lock_sessions(file);
        let sessions = {
            let mut open = lock_sessions(&self.open);
            open.written = now;
            open.sessions.clone()
        };
        if let Err(error) = session_file::write_sessions(&path, sessions) {
            let fix = "room and the right to write there; until then who is signed in is not after a restart";
            let why = format!("{}: {}", path.display(), describe_error(&error));
            tracing::error!(why, fix, "the sessions cannot be written");
        }
    }

    /// Whether the file should be written because sessions were used since.
    pub fn is_due(&self, now: Millis) -> bool {
        let written = lock_sessions(&self.open).written;
        self.file.is_some() && now.count_since(written) >= limits::SESSIONS_WRITTEN_MS
    }

    /// Makes a code with which a browser signs in as this client.
    pub fn code_for(&self, client: &Name, now: Millis) -> io::Result<String> {
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
    pub fn take_code(&self, shown: &str, now: Millis) -> Option<Name> {
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
    pub fn open(
        &self,
        keyring: &Keyring,
        client: Name,
        wish: SessionWish,
        now: Millis,
    ) -> io::Result<OpenedSession> {
        let secret = if wish.entrance == Entrance::Public { None } else { Some(draw_hex()?) };
        let opened = OpenedSession { client: client.clone(), cookie: draw_hex()?, secret };
        let secret = opened.secret.as_deref().and_then(|secret| hash_secret(keyring, &client, secret));
        let Some(cookie) = hash_cookie(keyring, &client, wish.entrance, &opened.cookie) else {
            return Err(io::Error::other(format!("there is no client {client}")));
        };
        let mut open = lock_sessions(&self.open);
        let open = &mut open.sessions;
        open.retain(|one| one.is_open(now));
        let own = open.iter().filter(|one| one.client == client).count();
        if own >= limits::OWN_SESSIONS || open.len() >= limits::SESSIONS {
            let full = own >= limits::OWN_SESSIONS;
            let idle = open.iter().enumerate().filter(|(_, one)| !full || one.client == client);
            if let Some((place, _)) = idle.min_by_key(|(_, one)| one.used) {
                open.remove(place);
            }
        }
        open.push(KeptSession { client, cookie, secret, stays: wish.stays, opened: now, used: now });
        Ok(opened)
    }

    /// The client of a cookie at this address, whose session then counts as used.
    pub fn whose(&self, keyring: &Keyring, cookie: &str, entrance: Entrance, now: Millis) -> Option<Name> {
        let mut open = lock_sessions(&self.open);
        open.sessions.retain(|one| one.is_open(now));
        let found = find_session(keyring, &open.sessions, cookie, entrance)?;
        let one = open.sessions.get_mut(found)?;
        one.used = now;
        Some(one.client.clone())
    }

    /// Whether a secret belongs to this client. A tab may hold the secret of an earlier sign-in in the same browser,
    /// so every open session of the client counts.
    pub fn may_change(&self, keyring: &Keyring, client: &Name, secret: &str) -> bool {
        let hash = hash_secret(keyring, client, secret);
        let open = lock_sessions(&self.open);
        hash.is_some() && open.sessions.iter().any(|one| one.client == *client && one.secret == hash)
    }

    /// Ends the session of a cookie.
    pub fn end(&self, keyring: &Keyring, cookie: &str, entrance: Entrance) {
        let mut open = lock_sessions(&self.open);
        if let Some(found) = find_session(keyring, &open.sessions, cookie, entrance) {
            open.sessions.remove(found);
        }
    }
}

/// The place of the session with that cookie. Hashes are compared, so the time reveals nothing of a cookie.
fn find_session(keyring: &Keyring, open: &[KeptSession], cookie: &str, entrance: Entrance) -> Option<usize> {
    let clients: BTreeSet<&Name> = open.iter().map(|one| &one.client).collect();
    let hashes = clients.into_iter().filter_map(|client| hash_cookie(keyring, client, entrance, cookie));
    let hashes: Vec<Digest> = hashes.collect();
    open.iter().position(|one| hashes.contains(&one.cookie))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    /// The clients alice, with this token, and bob.
    fn keyring(token: &str) -> Keyring {
        let keyring = Keyring::from_operator(Credential::from_token("drawn".to_owned()));
        let keyring = keyring.with_client(name("alice"), Credential::from_token(token.to_owned()));
        keyring.with_client(name("bob"), Credential::from_token("bob-token-0123456789".to_owned()))
    }

    fn alices() -> Keyring {
        keyring("alice-token-0123456789")
    }

    fn open(sessions: &Sessions, client: &str, now: u64) -> OpenedSession {
        let wish = SessionWish { entrance: Entrance::Bound, stays: false };
        sessions.open(&alices(), name(client), wish, Millis(now)).unwrap()
    }

    fn whose(sessions: &Sessions, opened: &OpenedSession, now: u64) -> Option<Name> {
        sessions.whose(&alices(), &opened.cookie, Entrance::Bound, Millis(now))
    }

    fn secret(opened: &OpenedSession) -> &str {
        opened.secret.as_deref().unwrap()
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
        let bob = open(&sessions, "bob", 0);
        let first = sessions.code_for(&name("alice"), Millis(0)).unwrap();
        let opened = open(&sessions, "alice", 1);
        for n in 0..1000 {
            sessions.code_for(&name("alice"), Millis(n)).unwrap();
            open(&sessions, "alice", 2 + n);
        }
        assert_eq!(sessions.take_code(&first, Millis(1000)), None);
        assert_eq!(sessions.take_code(&kept, Millis(1000)), Some(name("bob")));
        assert_eq!(whose(&sessions, &opened, 1000), None);
        assert_eq!(whose(&sessions, &bob, 1000), Some(name("bob")));
        assert_eq!(lock_sessions(&sessions.open).sessions.len(), limits::OWN_SESSIONS + 1);
    }

    #[test]
    fn a_session_ends_after_twelve_idle_hours_or_when_it_signs_out() {
        let sessions = Sessions::default();
        let opened = open(&sessions, "alice", 0);
        assert_eq!(whose(&sessions, &opened, limits::SESSION_MS - 1), Some(name("alice")));
        assert_eq!(whose(&sessions, &opened, 2 * limits::SESSION_MS - 2), Some(name("alice")));
        assert_eq!(whose(&sessions, &opened, 3 * limits::SESSION_MS), None);
        let opened = open(&sessions, "alice", 0);
        sessions.end(&alices(), &opened.cookie, Entrance::Public);
        assert_eq!(whose(&sessions, &opened, 1), Some(name("alice")), "not by the other address");
        sessions.end(&alices(), &opened.cookie, Entrance::Bound);
        assert_eq!(whose(&sessions, &opened, 1), None);
        assert!(!sessions.may_change(&alices(), &name("alice"), secret(&opened)));
    }

    #[test]
    fn h4_one_who_stays_signed_in_does_for_thirty_days_and_no_longer() {
        let sessions = Sessions::default();
        let wish = SessionWish { entrance: Entrance::Bound, stays: true };
        let opened = sessions.open(&alices(), name("alice"), wish, Millis(0)).unwrap();
        for day in 1..30 {
            assert_eq!(whose(&sessions, &opened, day * 24 * 60 * 60 * 1000), Some(name("alice")), "{day}");
        }
        assert_eq!(whose(&sessions, &opened, 30 * 24 * 60 * 60 * 1000), None, "also if it is used each day");
    }

    #[test]
    fn a_cookie_is_no_secret_and_a_secret_is_of_its_client_only() {
        let sessions = Sessions::default();
        let (first, second) = (open(&sessions, "alice", 0), open(&sessions, "alice", 1));
        let may = |client: &str, shown: &str| sessions.may_change(&alices(), &name(client), shown);
        assert!(may("alice", secret(&first)), "of an earlier sign-in");
        assert!(may("alice", secret(&second)));
        assert!(!may("bob", secret(&second)));
        assert!(!may("alice", &second.cookie));
        assert_eq!(sessions.whose(&alices(), secret(&second), Entrance::Bound, Millis(2)), None);
    }

    #[test]
    fn h4_a_session_counts_only_at_the_address_where_it_was_opened() {
        let (sessions, keyring) = (Sessions::default(), alices());
        let bound = open(&sessions, "alice", 0);
        let wish = SessionWish { entrance: Entrance::Public, stays: false };
        let public = sessions.open(&keyring, name("alice"), wish, Millis(0)).unwrap();
        assert_eq!(public.secret, None, "the cookie makes changes");
        let at = |opened: &OpenedSession, entrance: Entrance| {
            sessions.whose(&keyring, &opened.cookie, entrance, Millis(1)).is_some()
        };
        assert!(at(&public, Entrance::Public) && at(&bound, Entrance::Bound));
        assert!(!at(&public, Entrance::Bound));
        assert!(!at(&bound, Entrance::Public), "it only reads");
        assert!(!sessions.may_change(&keyring, &name("alice"), &public.cookie));
    }

    #[test]
    fn h4_sessions_outlive_the_process_as_hashes_until_their_token_changes() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        let sessions = Sessions::open_file(&log, &alices(), Millis(0));
        let (alice, operator) = (open(&sessions, "alice", 1), open(&sessions, "operator", 2));
        assert!(
            !sessions.is_due(Millis(limits::SESSIONS_WRITTEN_MS - 1)),
            "{:?}",
            session_file::find_path(&log)
        );
        assert!(sessions.is_due(Millis(limits::SESSIONS_WRITTEN_MS)));
        sessions.write_file(Millis(3));
        let file = session_file::find_path(&log);
        let text = std::fs::read_to_string(&file).unwrap();
        for one in [&alice, &operator] {
            assert!(!text.contains(&one.cookie) && !text.contains(secret(one)), "{text}");
        }
        assert!(!text.contains("alice-token"), "{text}");

        let again = Sessions::open_file(&log, &alices(), Millis(4));
        assert_eq!(whose(&again, &alice, 5), Some(name("alice")));
        assert_eq!(
            whose(&again, &operator, 5),
            Some(Name::new_operator()),
            "its token is drawn at each start"
        );
        assert!(again.may_change(&alices(), &name("alice"), secret(&alice)));
        let late = Sessions::open_file(&log, &alices(), Millis(limits::SESSION_MS + 10));
        assert_eq!(whose(&late, &alice, limits::SESSION_MS + 10), None);

        let changed = keyring("another-token-0123456789");
        let again = Sessions::open_file(&log, &changed, Millis(4));
        assert_eq!(again.whose(&changed, &alice.cookie, Entrance::Bound, Millis(5)), None);
        assert!(!again.may_change(&changed, &name("alice"), secret(&alice)));
        let without_alice = Keyring::from_operator(Credential::from_token("drawn".to_owned()));
        let again = Sessions::open_file(&log, &without_alice, Millis(4));
        assert_eq!(
            again.whose(&without_alice, &alice.cookie, Entrance::Bound, Millis(5)),
            None,
            "the client is gone"
        );
        assert_eq!(lock_sessions(&again.open).sessions.len(), 1);
    }

    #[test]
    fn h4_a_damaged_or_foreign_file_of_sessions_counts_as_none_and_begins_anew() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        let file = session_file::find_path(&log);
        let sessions = Sessions::open_file(&log, &alices(), Millis(0));
        let alice = open(&sessions, "alice", 1);
        sessions.write_file(Millis(1));
        let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        let whole = std::fs::read(&file).unwrap();
        let says = |wanted: &str| {
            let why = session_file::read_sessions(&file).err().unwrap();
            assert!(why.contains(wanted), "{why}");
            let sessions = Sessions::open_file(&log, &alices(), Millis(2));
            assert_eq!(whose(&sessions, &alice, 3), None, "{wanted}");
            sessions
        };
        for broken in [
            &b""[..],
            b"{",
            &whole[..whole.len() - 1],
            b"[]",
            b"\xff\xfe",
            br#"{"form":"systole-sessions-1","sessions":[{}]}"#,
        ] {
            std::fs::write(&file, broken).unwrap();
            says("it is damaged");
        }
        std::fs::write(&file, r#"{"form":"systole-sessions-2","sessions":[]}"#).unwrap();
        says("its form is \"systole-sessions-2\"");
        std::fs::write(&file, vec![b' '; limits::SESSIONS_FILE_BYTES + 1]).unwrap();
        says("more than");
        std::fs::write(&file, &whole).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o660)).unwrap();
        says("other users");
        let other = folder.path().join("other");
        std::fs::rename(&file, &other).unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&other, &file).unwrap();
        let sessions = says("");
        // The next session begins it anew, and what the link led to is untouched.
        let bob = open(&sessions, "bob", 4);
        sessions.write_file(Millis(4));
        assert_eq!((mode(), std::fs::read(&other).unwrap()), (0o600, whole));
        let again = Sessions::open_file(&log, &alices(), Millis(5));
        assert_eq!(whose(&again, &bob, 6), Some(name("bob")));
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        says("");
    }
}
