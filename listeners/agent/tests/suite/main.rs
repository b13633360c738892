//! The agent as its pump and its model see it: what the model is shown, what goes into the journal, and what the agent
//! says. The pump is played by a line that keeps everything; models are scripts.

mod failures;
mod prompts;
mod stage;
