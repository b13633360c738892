//! How the pump identifies itself to the broker. The secret part goes only to the connection: `Debug` prints only the
//! kind.

use std::fmt;

use async_nats::ConnectOptions;

use super::unusable::BrokerFault;

/// Credentials of the pump.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A user of the broker's configuration, with a password.
    User {
        /// The user's name, which is no secret.
        name: String,
        /// The password.
        password: String,
    },
    /// A token that all clients share.
    Token(String),
    /// The seed of an nkey.
    Nkey(String),
    /// The text of a `.creds` file: a JWT and the seed of its nkey.
    Creds(String),
}

impl Credentials {
    /// Adds them to a connection that is about to be made.
    pub(super) fn show(&self, options: ConnectOptions) -> Result<ConnectOptions, BrokerFault> {
        match self {
            Credentials::User { name, password } => {
                Ok(options.user_and_password(name.clone(), password.clone()))
            }
            Credentials::Token(token) => Ok(options.token(token.clone())),
            Credentials::Nkey(seed) => Ok(options.nkey(seed.trim().to_owned())),
            // The error would repeat some of the text.
            Credentials::Creds(text) => options.credentials(text).map_err(|_| self.unreadable()),
        }
    }

    /// The error that nothing can be signed with them.
    pub(super) fn unreadable(&self) -> BrokerFault {
        let (what, fix) = match self {
            Credentials::Creds(_) => {
                ("the text of a .creds file", "the whole file, with its BEGIN and END lines")
            }
            _ => ("the seed of an nkey", "the seed of a user, which begins with SU"),
        };
        BrokerFault::Credentials { what, fix }
    }

    /// The name that the broker sees, for messages.
    pub(super) fn who(credentials: Option<&Credentials>) -> String {
        match credentials {
            None => "a client without credentials".to_owned(),
            Some(Credentials::User { name, .. }) => format!("the user {name:?} with this password"),
            Some(Credentials::Token(_)) => "a client with this token".to_owned(),
            Some(Credentials::Nkey(_)) => "a client with this nkey".to_owned(),
            Some(Credentials::Creds(_)) => "a client with these .creds".to_owned(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credentials::User { name, .. } => write!(f, "User({name:?}, …)"),
            Credentials::Token(_) => f.write_str("Token(…)"),
            Credentials::Nkey(_) => f.write_str("Nkey(…)"),
            Credentials::Creds(_) => f.write_str("Creds(…)"),
        }
    }
}
