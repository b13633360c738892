//! The five wire formats. The path of a request selects one. Each has a module that judges its requests and
//! writes its answers.

use crate::asked::{Asked, Mode, Rules, Wanted};
use crate::refusal::Refusal;
use crate::turn::{Frames, Turn};
use crate::{anthropic, gemini, ollama, openai, responses};

/// A wire format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    OpenAi,
    Responses,
    Anthropic,
    Ollama,
    Gemini,
}

impl Form {
    /// The wire format of a request. An unknown path goes to the most similar format, which refuses it.
    pub(crate) fn of(asked: &Asked) -> Form {
        let path = asked.path();
        let anthropic = asked.header("anthropic-version").is_some() || asked.header("x-api-key").is_some();
        match path {
            openai::PATH => Form::OpenAi,
            responses::PATH => Form::Responses,
            anthropic::PATH => Form::Anthropic,
            _ if path.starts_with("/api/") => Form::Ollama,
            _ if path.starts_with("/v1beta/") || asked.header("x-goog-api-key").is_some() => Form::Gemini,
            _ if anthropic => Form::Anthropic,
            _ => Form::OpenAi,
        }
    }

    /// Judges a request as the provider would.
    pub(crate) fn judge(self, asked: &Asked, rules: &Rules) -> Result<Wanted, Refusal> {
        match self {
            Form::OpenAi => openai::judge(asked, rules),
            Form::Responses => responses::judge(asked, rules),
            Form::Anthropic => anthropic::judge(asked, rules),
            Form::Ollama => ollama::judge(asked, rules),
            Form::Gemini => gemini::judge(asked, rules),
        }
    }

    /// A turn in the provider's form.
    pub(crate) fn answer(self, turn: &Turn, mode: Mode) -> Frames {
        match (self, mode) {
            (Form::OpenAi, Mode::Whole) => openai::whole(turn),
            (Form::OpenAi, _) => openai::stream(turn),
            (Form::Responses, Mode::Whole) => responses::whole(turn),
            (Form::Responses, _) => responses::stream(turn),
            (Form::Anthropic, Mode::Whole) => anthropic::whole(turn),
            (Form::Anthropic, _) => anthropic::stream(turn),
            (Form::Ollama, Mode::Whole) => ollama::whole(turn),
            (Form::Ollama, _) => ollama::stream(turn),
            (Form::Gemini, Mode::Whole) => gemini::whole(turn),
            (Form::Gemini, mode) => gemini::stream(turn, mode),
        }
    }

    /// The body of a refusal, in the provider's form.
    pub(crate) fn refused(self, refusal: &Refusal, number: u64, asked: &Asked) -> String {
        match self {
            Form::OpenAi | Form::Responses => openai::refused(refusal).line(),
            Form::Anthropic => anthropic::refused(refusal, number).line(),
            Form::Ollama => ollama::refused(refusal),
            Form::Gemini if gemini::wants_array(asked) => {
                format!("[{}]", gemini::refused(refusal).line())
            }
            Form::Gemini => gemini::refused(refusal).line(),
        }
    }

    /// The content type of an answer in this mode.
    pub(crate) fn media_type(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Form::OpenAi | Form::Responses | Form::Anthropic, Mode::Whole) => "application/json",
            (Form::OpenAi | Form::Responses | Form::Anthropic, _) => "text/event-stream; charset=utf-8",
            (Form::Ollama, Mode::Whole) => "application/json; charset=utf-8",
            (Form::Ollama, _) => "application/x-ndjson",
            (Form::Gemini, Mode::Stream) => "text/event-stream",
            (Form::Gemini, _) => "application/json; charset=UTF-8",
        }
    }

    /// The content type of a refusal.
    pub(crate) fn refusal_type(self, refusal: &Refusal) -> &'static str {
        match self {
            Form::Ollama if ollama::is_plain(refusal) => "text/plain",
            _ => self.media_type(Mode::Whole),
        }
    }

    /// The header in which the provider numbers its answers.
    pub(crate) fn request_id(self) -> Option<&'static str> {
        match self {
            Form::OpenAi | Form::Responses => Some("x-request-id"),
            Form::Anthropic => Some("request-id"),
            Form::Ollama | Form::Gemini => None,
        }
    }
}
