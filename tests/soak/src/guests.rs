//! The outside senders: the clients that the workload's file declares, and the operator. That file says
//! what each may do; this module only identifies them.

/// A client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoakClient {
    /// Its name, as the log has it.
    pub name: &'static str,
    /// The variable with its token; `None` for the operator, whose token the organism makes itself.
    pub variable: Option<&'static str>,
}

const fn guest(name: &'static str, variable: &'static str) -> SoakClient {
    SoakClient { name, variable: Some(variable) }
}

/// Anyone who can read the log's folder.
pub const OPERATOR: SoakClient = SoakClient { name: "operator", variable: None };
/// Has no role: it sends, and sees its own threads.
pub const ALICE: SoakClient = guest("alice", "SOAK_ALICE");
/// May also continue threads of others.
pub const BOB: SoakClient = guest("bob", "SOAK_BOB");
/// May address only some listeners.
pub const CAROL: SoakClient = guest("carol", "SOAK_CAROL");
/// Decides on requests for a person.
pub const PIA: SoakClient = guest("pia", "SOAK_PIA");
/// Pauses, resumes and ends what others opened.
pub const WES: SoakClient = guest("wes", "SOAK_WES");

/// All of them.
pub const ALL: &[SoakClient] = &[OPERATOR, ALICE, BOB, CAROL, PIA, WES];

/// The client with that number, from 1.
pub fn client(number: u64) -> SoakClient {
    match number % 4 {
        1 => OPERATOR,
        2 => ALICE,
        3 => BOB,
        _ => CAROL,
    }
}
