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
    /// Answer the questions to persons in its own threads.
    Answer,
    /// Decide all requests that wait for a person in its own threads.
    ApproveOwn,
}

impl Role {
    /// All roles, in listing order.
    pub const ALL: &[Role] = &[Role::Read, Role::Operate, Role::Approve, Role::Answer, Role::ApproveOwn];

    /// Those of the client `acp`, if no file declares it.
    pub const OF_EDITORS: [Role; 2] = [Role::Answer, Role::ApproveOwn];

    /// The role's name in the organism's file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Approve => "approve",
            Role::Answer => "answer",
            Role::ApproveOwn => "approve-own",
        }
    }
}

/// A door at which a credential may count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientDoor {
    /// The routes for programs.
    V1,
    /// The pages of the console.
    Pages,
    /// The MCP server.
    Mcp,
    /// The door for AG-UI clients.
    AgUi,
    /// The door for clients of the OpenAI API.
    Openai,
    /// The door for editors.
    Acp,
    /// The door for other agents.
    A2a,
}

impl ClientDoor {
    /// All of them.
    pub const ALL: &[ClientDoor] = &[
        ClientDoor::V1,
        ClientDoor::Pages,
        ClientDoor::Mcp,
        ClientDoor::AgUi,
        ClientDoor::Openai,
        ClientDoor::Acp,
        ClientDoor::A2a,
    ];

    /// The door's name in the organism's file.
    pub const fn as_str(self) -> &'static str {
        match self {
            ClientDoor::V1 => "v1",
            ClientDoor::Pages => "pages",
            ClientDoor::Mcp => "mcp",
            ClientDoor::AgUi => "ag-ui",
            ClientDoor::Openai => "openai",
            ClientDoor::Acp => "acp",
            ClientDoor::A2a => "a2a",
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
    /// The doors at which its credential counts. `None` means all.
    pub doors: Option<Vec<ClientDoor>>,
    /// How many messages it may send in a time.
    pub rate: Option<Rate>,
}
