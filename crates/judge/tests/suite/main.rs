//! The only suite of the judge: libxml2 behind its door, and our model of schemas, which must agree with it.
#![cfg(test)]

mod json_forms;
mod judge;
mod schema_agreement;
mod schema_agreement_kinds;
mod schema_and_judge;
mod schema_second_opinion;
mod schema_types;
#[expect(dead_code, unreachable_pub, reason = "the soak uses the rest, as another crate")]
#[path = "../../../../tests/soak/src/dice.rs"]
mod seeded_dice;
mod tape;
