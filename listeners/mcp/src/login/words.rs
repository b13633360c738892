//! Why there is no login, in words.

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

use crate::limits::{LOGIN_WORDS, SCOPE_LETTERS};

/// Why there is no login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailedLogin {
    /// A server is away, or does not answer as OAuth says.
    #[error("{0}")]
    NoAnswer(String),
    /// The authorization server refuses it.
    #[error("{0}")]
    Refused(String),
    /// The authorization server registers no clients by itself.
    #[error("{0}")]
    NoClient(String),
    /// There is nothing to log in to.
    #[error("{0}")]
    NoLogin(String),
    /// The file of the tokens cannot be used.
    #[error("{0}")]
    NoFile(String),
}

impl FailedLogin {
    /// What the library says, in the words of a login. `request` is why a request had no answer that can be used.
    pub(super) fn from_fault(fault: &AuthError, request: Option<&str>) -> FailedLogin {
        let words = describe_fault(fault, request);
        match fault {
            AuthError::NoAuthorizationSupport => FailedLogin::NoLogin(words),
            AuthError::RegistrationFailed(_)
            | AuthError::AuthorizationFailed(_)
            | AuthError::TokenExchangeFailed(_)
            | AuthError::TokenRefreshFailed(_)
            | AuthError::TokenRefreshRejected(_)
            | AuthError::AuthorizationRequired
                if request.is_none() =>
            {
                FailedLogin::Refused(words)
            }
            // The authorization server did not refuse: it gave no answer.
            _ => FailedLogin::NoAnswer(words),
        }
    }

    /// The same with other words.
    pub(super) fn map_words(self, change: impl Fn(&str) -> String) -> FailedLogin {
        match self {
            FailedLogin::NoAnswer(words) => FailedLogin::NoAnswer(change(&words)),
            FailedLogin::Refused(words) => FailedLogin::Refused(change(&words)),
            FailedLogin::NoClient(words) => FailedLogin::NoClient(change(&words)),
            FailedLogin::NoLogin(words) => FailedLogin::NoLogin(change(&words)),
            FailedLogin::NoFile(words) => FailedLogin::NoFile(change(&words)),
        }
    }
}

/// A fault with its causes, on one line. Words of a server are shortened.
fn describe_fault(fault: &AuthError, request: Option<&str>) -> String {
    let mut words = fault.to_string();
    let mut cause = fault.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = inner.source();
    }
    if let Some(request) = request.filter(|request| !words.contains(request)) {
        words = format!("{words}: {request}");
    }
    make_line(&words)
}

/// The beginning of what others say, on one line.
pub(super) fn make_line(words: &str) -> String {
    words.chars().take(LOGIN_WORDS).map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// Whether a server names a right as OAuth says it: visible letters without quotes.
pub(super) fn is_scope(scope: &str) -> bool {
    let is_letter = |sign: char| sign.is_ascii_graphic() && sign != '"' && sign != '\\';
    (1..=SCOPE_LETTERS).contains(&scope.len()) && scope.chars().all(is_letter)
}

/// Whether a right can stand in a command that a person pastes into a shell.
pub(super) fn is_scope_of_a_command(scope: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._:/+-".contains(sign);
    is_scope(scope) && scope.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g12_what_a_server_names_as_a_right_is_no_command() {
        for plain in ["read", "tickets:write", "https://a.example/auth/x.y", "a+b-c_d"] {
            assert!(is_scope(plain), "{plain}");
            assert!(is_scope_of_a_command(plain), "{plain}");
        }
        for hostile in ["$(touch)", "`id`", "a;b", "a'b", "a|b", "!x", "a&b"] {
            assert!(!is_scope_of_a_command(hostile), "{hostile}");
        }
        for none in ["", "a b", "a\nerror: x", "a\"b", "\u{202e}x", &"x".repeat(300)] {
            assert!(!is_scope(none), "{none:?}");
        }
    }
}
