//! The listener as a program: its words become what it is made from, and deliveries come in on stdin.

use std::process::ExitCode;
use std::sync::Arc;

use systole_folder::RuleWords;
use systole_kit::pipe::serve_pump;
use systole_kit::reply::ReplyContent;

use crate::listener::{CodeListener, CodeSpec};

/// Searches a folder for the pump on stdin and stdout, until stdin ends.
///
/// # Errors
/// If the folder or the rules cannot be used, or a stream breaks: what is wrong, for people.
pub fn serve(root: &str, rules: &[&str]) -> Result<ExitCode, String> {
    let deny = RuleWords::from_words(rules)?.find_rules("deny");
    let spec = CodeSpec { root: root.into(), deny };
    let listener = Arc::new(CodeListener::new(&spec).map_err(|fault| fault.to_string())?);
    let ended = serve_pump(move |asked, line| {
        let listener = listener.clone();
        async move {
            tokio::select! {
                said = listener.answer_to(asked.payload) => said,
                () = line.wait_for_cancel() => ReplyContent::new_failure("code.cancelled", false, "it was cancelled"),
            }
        }
    });
    ended.map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}
