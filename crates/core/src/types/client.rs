//! Clients: who may come in from outside, whom each may address, and what it may do to threads that
//! others opened. Pure data; which credential belongs to which client is known at the door alone.

use super::composition::Composition;
use super::ids::Name;

/// What a client may do beyond sending messages and looking after the threads that it opened itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Read threads of others, and the log as a whole.
    Read,
    /// Go on with, cancel, pause and steer threads of others.
    Operate,
    /// Decide about what waits for a person.
    Approve,
}

impl Role {
    /// Every role, in the order in which they are listed.
    pub const ALL: &[Role] = &[Role::Read, Role::Operate, Role::Approve];

    /// The word for it, as the organism's file has it.
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
    /// Whom it may address; none means whoever is open to the outside.
    pub may: Option<Vec<Name>>,
    /// Its roles.
    pub roles: Vec<Role>,
    /// Whether it may come in over the broker.
    pub over_nats: bool,
}

impl Composition {
    /// Whether anybody is reached, or comes in, over a broker.
    pub fn uses_broker(&self) -> bool {
        self.listeners.values().any(|listener| listener.reach.is_over_broker())
            || self.clients.values().any(|client| client.over_nats)
    }

    /// Whether a client has a role. The operator, who can read the log's own folder, has them all.
    pub fn has_role(&self, client: &Name, role: Role) -> bool {
        *client == Name::operator()
            || self.clients.get(client).is_some_and(|client| client.roles.contains(&role))
    }

    /// Whether a client may address a listener that is open to the outside. The operator may, and so may
    /// a client that a program which embeds the organism brings along: no credential opens it a door.
    pub fn may_address(&self, client: &Name, listener: &Name) -> bool {
        let may = self.clients.get(client).and_then(|client| client.may.as_ref());
        may.is_none_or(|may| may.contains(listener))
    }
}
