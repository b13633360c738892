//! Who comes in from outside: the clients that the workload's file declares, and the operator. What each
//! may do stands in that file; here is who they are.

/// A client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guest {
    /// Its name, as the log has it.
    pub name: &'static str,
    /// The variable with its token; the operator's is drawn by the organism itself.
    pub variable: Option<&'static str>,
}

const fn guest(name: &'static str, variable: &'static str) -> Guest {
    Guest { name, variable: Some(variable) }
}

/// Whoever can read the log's folder.
pub const OPERATOR: Guest = Guest { name: "operator", variable: None };
/// Has no role: it sends, and sees its own threads.
pub const ALICE: Guest = guest("alice", "SOAK_ALICE");
/// Goes on with threads of others as well.
pub const BOB: Guest = guest("bob", "SOAK_BOB");
/// May address some listeners only.
pub const CAROL: Guest = guest("carol", "SOAK_CAROL");
/// Decides about what waits for a person.
pub const PIA: Guest = guest("pia", "SOAK_PIA");
/// Pauses, resumes and ends what others opened.
pub const WES: Guest = guest("wes", "SOAK_WES");

/// All of them.
pub const ALL: &[Guest] = &[OPERATOR, ALICE, BOB, CAROL, PIA, WES];

/// Who a client with that number is, from 1.
pub fn client(number: u64) -> Guest {
    match number % 4 {
        1 => OPERATOR,
        2 => ALICE,
        3 => BOB,
        _ => CAROL,
    }
}
