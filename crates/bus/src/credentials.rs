//! How the pump identifies itself to the broker. The seed goes only to the connection: `Debug` does not print it.

use std::fmt;

use async_nats::ConnectOptions;

/// Credentials of the pump: the seed of an nkey.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerCredentials(String);

impl BrokerCredentials {
    /// The key of this seed.
    pub fn from_seed(seed: impl Into<String>) -> BrokerCredentials {
        BrokerCredentials(seed.into())
    }

    /// Adds them to a connection that is about to be made.
    pub(super) fn apply_to(&self, options: ConnectOptions) -> ConnectOptions {
        options.nkey(self.0.trim().to_owned())
    }
}

impl fmt::Debug for BrokerCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}
