//! Listeners and who may address whom, as plain data.

use serde::Serialize;

/// Who may address whom.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ListenerGraph {
    /// The organism's name.
    pub organism: String,
    /// The listener for questions from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The listeners, from those open to the outside inwards.
    pub listeners: Vec<GraphNode>,
}

/// One listener.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// The operator and clients that may address it from outside.
    pub from_outside: Vec<String>,
    /// The elements that it takes as requests.
    pub takes: Vec<String>,
    /// The elements of its answers.
    pub answers: Vec<String>,
    /// The listeners that it may address, in file order.
    pub peers: Vec<String>,
    /// Elements that wait for a person before they reach it.
    pub approval: Vec<String>,
    /// Elements that wait for a person if their sender marks them as dangerous.
    pub approval_if_marked: Vec<String>,
    /// Whether it is a workflow.
    #[serde(rename = "workflow", skip_serializing_if = "std::ops::Not::not")]
    pub is_workflow: bool,
    /// Its distance from the outside in steps; `None` if it is unreachable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
}

/// Elements as people write them.
pub(super) fn tags(elements: &[String]) -> String {
    elements.iter().map(|element| format!("<{element}>")).collect::<Vec<_>>().join(", ")
}
