//! The live table of leases, and the tokens that name them. Validator threads look replies up here while
//! the pump writes, so every call takes the lock for a moment and returns owned values.

use std::collections::VecDeque;
use std::fmt::{self, Display, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use systole_core::types::fast_maps::FastMap;
use systole_core::types::ids::{AttemptId, CallPath, Digest, ThreadId};
use systole_core::types::ports::{CallMark, Lease, LeaseToken, Leases, TokenMaker};

use crate::limits;

/// Hex digits of a token: 128 bits.
const TOKEN_DIGITS: usize = 32;

/// Leases by token.
#[derive(Default)]
pub struct LeaseTable {
    inside: Mutex<LeaseRows>,
}

#[derive(Default)]
struct LeaseRows {
    leases: FastMap<LeaseToken, Arc<Lease>>,
    over: VecDeque<LeaseToken>,
}

impl LeaseTable {
    fn with_lock<T>(&self, work: impl FnOnce(&mut LeaseRows) -> T) -> T {
        work(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Leases for LeaseTable {
    fn put_lease(&self, lease: Arc<Lease>) {
        self.with_lock(|inside| inside.leases.insert(lease.token.clone(), lease));
    }

    fn find_lease(&self, token: &str) -> Option<Arc<Lease>> {
        self.with_lock(|inside| inside.leases.get(token).cloned())
    }

    fn retire_lease(&self, token: &LeaseToken) {
        self.with_lock(|inside| {
            inside.over.push_back(token.clone());
            if inside.over.len() > limits::LEASES_OVER
                && let Some(oldest) = inside.over.pop_front()
            {
                inside.leases.remove(&oldest);
            }
        });
    }
}

/// Tokens and marks as an HMAC over what they name, with a secret that is stored next to the log.
pub struct HmacTokens {
    keyed: Hmac<Sha256>,
}

impl HmacTokens {
    /// Tokens with this secret.
    pub fn new(secret: &[u8; 32]) -> HmacTokens {
        // HMAC pads a short key with zeros to the block of its hash. This code does the same, and needs no
        // error case.
        let mut block = [0; 64];
        block.iter_mut().zip(secret).for_each(|(to, from)| *to = *from);
        HmacTokens { keyed: Hmac::new(&block.into()) }
    }
}

/// Takes text without a copy of it.
struct KeyedHash(Hmac<Sha256>);

impl fmt::Write for KeyedHash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl HmacTokens {
    /// The code of these fields. No field contains a line break.
    fn make_code(&self, fields: &[&dyn Display]) -> [u8; 32] {
        let mut keyed = KeyedHash(self.keyed.clone());
        for field in fields {
            // Adding to a hash cannot fail.
            let _infallible = writeln!(keyed, "{field}");
        }
        keyed.0.finalize().into_bytes().into()
    }
}

impl TokenMaker for HmacTokens {
    fn make_token(&self, AttemptId { thread, call, turn, attempt }: &AttemptId) -> LeaseToken {
        let hash = self.make_code(&[thread, call, turn, attempt]);
        let hex = Digest(hash).to_hex();
        let half = hex.get(..TOKEN_DIGITS).and_then(|half| std::str::from_utf8(half).ok());
        LeaseToken(half.unwrap_or_default().into())
    }

    fn make_mark(&self, thread: &ThreadId, call: &CallPath) -> CallMark {
        // No thread has this name, so a visible mark reveals nothing about any token.
        let [a, b, c, d, ..] = self.make_code(&[&"mark", thread, call]);
        CallMark([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_one_attempt_under_one_secret() {
        let thread = ThreadId::parse("sess-1f0c9a2b77d1").unwrap();
        let id = AttemptId { thread, call: CallPath::new_top(1), turn: 1, attempt: 1 };
        let tokens = HmacTokens::new(&[1; 32]);
        // A later version must make the same token: the delivery may be out while the pump is replaced.
        assert_eq!(&*tokens.make_token(&id).0, "01093f2115e54e0b9720d44d72080451");
        assert_ne!(tokens.make_token(&id), tokens.make_token(&AttemptId { attempt: 2, ..id.clone() }));
        assert_ne!(tokens.make_token(&id), HmacTokens::new(&[2; 32]).make_token(&id));
    }

    #[test]
    fn a_mark_is_that_of_one_call_under_one_secret() {
        let [root, child] =
            ["sess-1f0c9a2b77d1", "sess-1f0c9a2b77d1.a"].map(|id| ThreadId::parse(id).unwrap());
        let tokens = HmacTokens::new(&[1; 32]);
        let mark = tokens.make_mark(&root, &CallPath::new_top(1));
        assert_eq!(mark, HmacTokens::new(&[1; 32]).make_mark(&root, &CallPath::new_top(1)));
        let others = [
            tokens.make_mark(&root, &CallPath::new_top(2)),
            tokens.make_mark(&root, &CallPath::new_top(1).append_item(1, 0)),
            tokens.make_mark(&child, &CallPath::new_top(1)),
            HmacTokens::new(&[2; 32]).make_mark(&root, &CallPath::new_top(1)),
        ];
        assert!(others.iter().all(|other| *other != mark), "{mark} {others:?}");
        // A token of the call does not begin with its mark.
        let id = AttemptId { thread: root, call: CallPath::new_top(1), turn: 1, attempt: 1 };
        assert!(!tokens.make_token(&id).0.starts_with(&mark.to_string()));
        assert_eq!(CallMark([0, 0, 0x0a, 0xff]).to_string(), "00000aff");
    }
}
