//! Supervision of a goal as data: the requests to its agent and its supervisor, the triggers for the supervisor, and
//! the question to a person.
//!
//! Payloads come in; texts, names and payloads go out. It starts nothing and knows no step.

use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};

use crate::limits;
use crate::spec::{ElementName, QuestionStep};
use crate::tree::TreeNode;

/// A person's choices, which are also the values of a verdict.
pub(crate) const CONTINUE: &str = "continue";
pub(crate) const REORIENT: &str = "reorient";
const STOP: &str = "stop";

/// The text before the words of a goal in requests about it to its agent or its supervisor.
pub(crate) const COMMIT: &str = "Do not pursue this goal yet. Commit to how you will pursue it: its scope, your predictions and your assumptions.";
pub(crate) const ASSESS: &str = "You have pursued this goal. Assess your output against your commitment.";
pub(crate) const VERDICT: &str =
    "Judge how this goal was pursued. Answer continue, reorient with a correction, or pause to ask a person.";
pub(crate) const LAST_VERDICT: &str = "Judge how this goal was pursued. It was corrected once, and the correction is shown below. Answer continue, or pause to ask a person.";

/// A payload of supervision by its local name.
pub(crate) fn name_element(local: &str) -> ElementName {
    ElementName { namespace: namespaces::WORKFLOW.to_owned(), local: local.to_owned() }
}

/// Why a supervisor has to review an output. Empty if no review is needed.
pub(crate) fn find_triggers(commitment: &Payload, assessment: &Payload) -> Vec<String> {
    let count = |payload: &Payload, local: &str| {
        TreeNode::from_payload(payload).map_or(0, |node| node.count_elements(&[local.to_owned()]))
    };
    let all = [
        ("commitment-not-met", assessment.find_attribute("met").as_deref() != Some("yes")),
        ("scope-left", assessment.is_marked("scope-left")),
        ("assumptions-over-3", count(commitment, "assumption") > limits::ASSUMPTIONS),
        ("concern-raised", count(assessment, "concern") > 0),
    ];
    all.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name.to_owned()).collect()
}

/// The comparison as a payload.
pub(crate) fn write_comparison(goal: &str, triggers: &[String]) -> Payload {
    let mut writer = XmlWriter::new();
    writer.open("reconcile").xmlns(namespaces::WORKFLOW).attr("goal", goal).content(|inside| {
        triggers.iter().for_each(|trigger| inside.open("trigger").text(trigger));
    });
    Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP)
        .unwrap_or_else(|_| Payload::write(namespaces::WORKFLOW, "reconcile", |_| {}))
}

/// The question to a person about a goal. `by` says who asks for it. If `is_last`, the goal was corrected before and
/// the person cannot order another correction.
pub(crate) fn build_question(goal: &str, by: &str, triggers: &[String], is_last: bool) -> QuestionStep {
    let why = match triggers {
        [] => String::new(),
        some => format!(" Why: {}.", some.join(", ")),
    };
    let (ways, choices): (&str, &[&str]) = if is_last {
        ("It was corrected once. Continue with its output, or stop?", &[CONTINUE, STOP])
    } else {
        ("Continue with its output, reorient it with a note, or stop?", &[CONTINUE, REORIENT, STOP])
    };
    QuestionStep {
        words: format!("The goal {goal} waits for you: {by}.{why} {ways}"),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        shows: Vec::new(),
        expires_ms: limits::EXPIRES_MS,
        otherwise: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(xml: &str) -> Payload {
        Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap()
    }

    fn found(assumptions: usize, assessment: &str) -> Vec<String> {
        let all = "<assumption>It holds.</assumption>".repeat(assumptions);
        let commitment = payload(&format!(
            "<commit xmlns='{}' goal='g'><scope>All.</scope>{all}</commit>",
            namespaces::WORKFLOW
        ));
        find_triggers(&commitment, &payload(assessment))
    }

    #[test]
    fn f4_each_trigger_is_pulled_by_its_own_cause_and_by_nothing_else() {
        let assessed = |met: &str, left: &str, concerns: &str| {
            format!(
                "<assessment xmlns='{}' goal='g' met='{met}' scope-left='{left}'>{concerns}</assessment>",
                namespaces::WORKFLOW
            )
        };
        assert_eq!(found(3, &assessed("yes", "false", "")), Vec::<String>::new());
        assert_eq!(found(3, &assessed("yes", "0", "")), Vec::<String>::new());
        assert_eq!(found(4, &assessed("yes", "false", "")), ["assumptions-over-3"]);
        assert_eq!(found(0, &assessed("partly", "false", "")), ["commitment-not-met"]);
        assert_eq!(found(0, &assessed("no", "false", "")), ["commitment-not-met"]);
        assert_eq!(found(0, &assessed("yes", "1", "")), ["scope-left"]);
        assert_eq!(found(0, &assessed("yes", "false", "<concern>Cost.</concern>")), ["concern-raised"]);
        let all = found(9, &assessed("no", "true", "<concern/>"));
        assert_eq!(all, ["commitment-not-met", "scope-left", "assumptions-over-3", "concern-raised"]);
        let model = systole_kit::schema::SchemaModel::from_xsd(crate::WORKFLOW_XSD).unwrap();
        for triggers in [&[][..], &all] {
            let written = write_comparison("g", triggers);
            assert_eq!(model.explain_payload(written.bytes()), None, "{written:?}");
        }
    }
}
