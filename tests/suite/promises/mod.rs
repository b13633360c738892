//! One test for each promise of `docs/capabilities.md`, named after its id, against whole organisms
//! with real programs. The attacks are in `attacks`.

mod approvals;
mod broadcast;
mod budgets;
mod carriers;
pub(crate) mod cast;
mod changed_file;
mod contracts;
mod introspection;
mod log;
mod paused;
mod red_team;
mod repairing;
mod steering;
mod threads;
mod todos;
mod views;
mod waits;
mod wrong_primitives;

use systole_config::CORE_XSD;
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};

/// Checks that the core's text is valid under the core's own schema.
pub(crate) fn valid_under_core(body: &[u8]) {
    let mut judge =
        LibxmlJudge::compile_sources(&[SchemaSource { name: "core".to_owned(), xsd: CORE_XSD.to_vec() }])
            .unwrap();
    let id = judge.find_schema("core").unwrap();
    let shown = String::from_utf8_lossy(&body[..body.len().min(500)]).into_owned();
    assert_eq!(judge.judge_payload(id, body), SchemaVerdict::Valid, "{shown}");
}
