//! The section `clients`: who may send messages from outside, with which credential, to which listeners,
//! and in which roles. Input: the node. Output: the declared clients. Names are looked up later, when all
//! of them are known: see `client_rights`.
//!
//! This module reads no environment: whether a variable is set is checked when the door opens.

use super::diagnostics::Diagnostics;
use super::forms::{NameSet, NamedSection, PartyMap, RateText, VariableName, YesNo};
use super::key::KeyForm;
use super::names::find_word;
use super::section::{Form, form, section};
use super::tree::Node;
use systole_core::types::client::{ClientDoor, Role};

section! {
    /// One client as it is declared.
    pub(super) ClientKeys "one client; its name is the sender of what it sends" with own {
        token_env: optional("required") <VariableName> "the environment variable that holds its token at the HTTP door, 16 characters or more; read when the door is opened; optional with `nats: true`";
        nats: default(false) <YesNo> "whether it may connect over the broker that `bus` or `log` names, with its own key there";
        may: optional("all with `entry: true`") <NameSet> "listeners it may address, of those with `entry: true`";
        rate: optional("none") <RateText> "how many messages it may send in a time, `20/s`, `300/m` or `1000/h`: as many at once, and then one whenever its share of the time is over; more are refused";
        roles: default(Vec::new()) <RoleSet> "`read`: read the threads of others; `operate`: continue, cancel and pause them; `approve`: decide requests that wait for a person, and read the conversations that led to them; in its own threads alone, `answer`: answer questions to a person that no workflow asks, `approve-own`: decide all such requests";
        doors: optional("all") <DoorSet> "where its token counts: `v1`, the routes for programs and commands; `pages`, the console; `mcp`, the MCP server; `ag-ui`, the door for AG-UI clients; `openai`, the door for clients of the OpenAI API; `acp`, the door for editors; `a2a`, the door for other agents. Elsewhere it is as unknown as any other";
    }
}

form! {
    /// The clients by name.
    pub(super) ClientMap -> Vec<NamedSection<ClientKeys>> { <PartyMap<ClientKeys>>::FORM, read_clients, below <PartyMap<ClientKeys>>::BELOW }
}

form! {
    /// Roles, none of them twice.
    pub(super) RoleSet -> Vec<Role> {
        KeyForm::SetOf(&["read", "operate", "approve", "answer", "approve-own"]), read_roles, show |_: &Vec<Role>| "[]".to_owned()
    }
}

form! {
    /// Doors, none of them twice.
    pub(super) DoorSet -> Vec<ClientDoor> {
        KeyForm::SetOf(&["v1", "pages", "mcp", "ag-ui", "openai", "acp", "a2a"]), read_doors, show |_: &Vec<ClientDoor>| "[]".to_owned()
    }
}

fn read_clients(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> Option<Vec<NamedSection<ClientKeys>>> {
    let clients = PartyMap::<ClientKeys>::read(diagnostics, node, path)?;
    for keys in clients.iter().filter_map(|client| client.keys.as_ref()).filter(|keys| !keys.nats.value) {
        let fix = "token_env: VARIABLE, the environment variable that holds its token; or nats: true, with a key at the broker";
        keys.own.report_missing(diagnostics, "token_env", fix);
    }
    Some(clients)
}

fn read_roles(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<Role>> {
    let named = NameSet::read(diagnostics, node, path)?;
    let known = || Role::ALL.iter().map(|role| (role.as_str(), *role));
    Some(named.iter().filter_map(|one| find_word(diagnostics, one, (path, "role"), known)).collect())
}

fn read_doors(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<ClientDoor>> {
    let named = NameSet::read(diagnostics, node, path)?;
    let known = || ClientDoor::ALL.iter().map(|door| (door.as_str(), *door));
    Some(named.iter().filter_map(|one| find_word(diagnostics, one, (path, "door"), known)).collect())
}
