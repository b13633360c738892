//! Clients: who may send messages from outside, which listeners each client may address, and what it may
//! do with other clients' threads. Pure data; only the door knows which credential belongs to which
//! client.

use super::ids::Name;
use super::rate::Rate;

/// A client's extra rights. Without them it can send messages and manage the threads that it opened
/// itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Read other clients' threads and the whole log.
    Read,
    /// Continue, cancel, pause and steer other clients' threads.
    Operate,
    /// Decide requests that wait for a person.
    Approve,
}

impl Role {
    /// All roles, in listing order.
    pub const ALL: &[Role] = &[Role::Read, Role::Operate, Role::Approve];

    /// The role's name in the organism's file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Approve => "approve",
        }
    }
}

/// A client as the organism's file declares it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Client {
    /// The listeners that it may address. `None` means every listener that is open to the outside.
    pub may: Option<Vec<Name>>,
    /// Its roles.
    pub roles: Vec<Role>,
    /// Whether it may connect over the broker.
    pub over_nats: bool,
    /// How many messages it may send in a time.
    pub rate: Option<Rate>,
}
