//! A person sends a file from a form of the console.

use serde_json::json;
use systole_organism::runfile::RunFile;

use super::Story;
use super::house::runs;
use crate::file_fields::{SECRET, site};
use crate::program::Running;
use crate::replay::log_in;

#[test]
fn e20_a_form_has_an_input_for_a_file() {
    let Some(story) = Story::named("file_field") else { return };
    let (site, mock) = site("[{say: It is blue.}]");
    let running = Running::organism_with(site.path(), &SECRET);
    let run = RunFile::find_running(&log_in(site.path())).expect("it runs");
    let file = |name: &str| site.path().join(name);
    let facts = json!({
        "address": format!("http://{}", run.address),
        "token": run.token.secret(),
        "zip": file("zip.png"), "empty": file("empty.png"), "large": file("large.png"),
        "pdf": file("terms.pdf"), "png": file("door & wall.png"),
    });
    story.play_with(&facts, |asked| runs(site.path(), asked));
    running.interrupt();
    assert_eq!(mock.stop().len(), 1);
}
