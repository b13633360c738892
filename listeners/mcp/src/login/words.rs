//! Why there is no login, in words.

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

use crate::limits::LOGIN_WORDS;

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
            // The authorization server did not refuse: it gave no answer.
            AuthError::TokenExchangeFailed(_) | AuthError::RegistrationFailed(_) if request.is_some() => {
                FailedLogin::NoAnswer(words)
            }
            AuthError::CredentialStoreError(words) => FailedLogin::NoFile(words.clone()),
            AuthError::NoAuthorizationSupport => FailedLogin::NoLogin(words),
            AuthError::RegistrationFailed(_)
            | AuthError::AuthorizationFailed(_)
            | AuthError::TokenExchangeFailed(_)
            | AuthError::TokenRefreshRejected(_)
            | AuthError::AuthorizationRequired => FailedLogin::Refused(words),
            _ => FailedLogin::NoAnswer(words),
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
