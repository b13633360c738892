//! The names in spans: those of OpenTelemetry's semantic conventions for generative AI, version 0.1.0, and our own.

/// The service that a span is of: the organism.
pub(super) const SERVICE: &str = "service.name";
/// What a span is about.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
/// The root thread, which a conversation goes on in.
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
/// The model that was asked.
pub(super) const MODEL: &str = "gen_ai.request.model";
/// Why the model stopped.
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens that the model read.
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens that the model wrote.
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// The code of a failure.
pub(super) const ERROR: &str = "error.type";
/// The thread.
pub(super) const THREAD: &str = "systole.thread";
/// The call.
pub(super) const CALL: &str = "systole.call";
/// The turn of the call.
pub(super) const TURN: &str = "systole.turn";
/// The number of the record that ends the span, in its thread.
pub(super) const RECORD: &str = "systole.record";
/// The code of the outcome that closed the call, also of one that is no failure.
pub(super) const CODE: &str = "systole.code";
/// The code of what failed first.
pub(super) const FIRST_CODE: &str = "systole.first_code";
/// What the request cost.
pub(super) const COST: &str = "systole.cost";

/// What a span is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// A turn of an agent.
    Agent,
    /// A turn of a program.
    Tool,
    /// A turn of a workflow.
    Workflow,
    /// A request to a model.
    Chat,
}

impl Operation {
    /// Its name, with which the name of a span begins.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Operation::Agent => "invoke_agent",
            Operation::Tool => "execute_tool",
            Operation::Workflow => "invoke_workflow",
            Operation::Chat => "chat",
        }
    }

    /// The attribute with the name of what is at work. The conventions have none of its own for a workflow.
    pub(super) const fn subject(self) -> &'static str {
        match self {
            Operation::Agent | Operation::Workflow => "gen_ai.agent.name",
            Operation::Tool => "gen_ai.tool.name",
            Operation::Chat => MODEL,
        }
    }
}
