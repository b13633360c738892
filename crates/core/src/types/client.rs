//! Clients: who may send messages from outside, which listeners each client may address, and what it may
//! do with other clients' threads. Pure data; only the door knows which credential belongs to which
//! client.

use super::composition::Composition;
use super::ids::Name;

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
}

impl Composition {
    /// Whether any listener or client is connected over a broker.
    pub fn uses_broker(&self) -> bool {
        self.listeners.values().any(|listener| listener.reach.is_over_broker())
            || self.clients.values().any(|client| client.over_nats)
    }

    /// Whether a client has a role. The operator can read the log's folder and therefore has all roles.
    pub fn has_role(&self, client: &Name, role: Role) -> bool {
        *client == Name::operator()
            || self.clients.get(client).is_some_and(|client| client.roles.contains(&role))
    }

    /// Whether a client may address a listener that is open to the outside. The operator may. So may a
    /// client that the embedding program supplies: no credential lets it in through a door.
    pub fn may_address(&self, client: &Name, listener: &Name) -> bool {
        let may = self.clients.get(client).and_then(|client| client.may.as_ref());
        may.is_none_or(|may| may.contains(listener))
    }
}
