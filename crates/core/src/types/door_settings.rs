//! The doors that the organism's file opens beside those that are always there. Pure data.

/// The doors that are open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DoorSettings {
    /// The door for other agents, over A2A.
    pub a2a: Option<A2aSettings>,
    /// The door for AG-UI clients.
    pub ag_ui: Option<AgUiSettings>,
    /// The door for clients of the OpenAI API.
    pub openai: Option<OpenaiSettings>,
}

/// What the door for other agents does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct A2aSettings {
    /// What it shows of a run.
    pub shows: ShownSteps,
}

/// What the door for AG-UI clients does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgUiSettings {
    /// The origins of web pages that may come here, as browsers send them.
    pub cors: Vec<String>,
    /// What it shows of a run.
    pub shows: ShownSteps,
}

/// What the door for clients of the OpenAI API does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenaiSettings {
    /// The headers that tell conversations apart whose messages are the same.
    pub chat: Vec<String>,
    /// What it shows of a run.
    pub shows: ShownSteps,
}

/// What a door shows of a run beside its answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ShownSteps {
    /// Nothing.
    Answer,
    /// What its listener thinks, and who works for it.
    #[default]
    Steps,
    /// The payloads of that work too.
    All,
}
