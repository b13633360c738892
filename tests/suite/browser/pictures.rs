//! The pictures of the console in `docs/pictures`. A story plays the same questions to the template `--team` each time,
//! and tells what its pages say, without ids, times and numbers. That text must be the one that is kept beside the
//! pictures. `tools/pictures` writes both again.

use std::fs;
use std::path::Path;

use serde_json::json;
use systole::runtime::runfile::RunFile;

use super::Story;
use super::house::runs;
use crate::golden::{difference, is_rewritten};
use crate::program::{Running, systole};

const FOLDER: &str = "docs/pictures";
const TEXT: &str = "pages.txt";
/// Each pin waits for a person, for longer than any story lasts.
const OPTIONS: [&str; 6] = [
    "--set",
    "console.listen=127.0.0.1:0",
    "--set",
    "listeners.board.approval.when=always",
    "--set",
    "listeners.board.approval.expires=8h",
];

#[test]
fn h4_the_pictures_of_the_pages_are_current() {
    let Some(story) = Story::named("pictures") else { return };
    let home = tempfile::tempdir().unwrap();
    let made = systole(home.path(), &["init", "team", "--team"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let folder = home.path().join("team");
    let running = Running::organism_set(&folder, &OPTIONS, &[]);

    let run = RunFile::of(&folder.join("team.db")).expect("it runs");
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let facts = json!({
        "address": format!("http://{}", run.address),
        "token": run.token.secret(),
        "pictures": is_rewritten().then_some(&pictures),
    });
    let mut found = None;
    story.play_with(&facts, |asked| match asked["what"].as_str() {
        Some("compare") => {
            found = asked["text"].as_str().map(str::to_owned);
            json!({})
        }
        _ => runs(&folder, asked),
    });
    running.interrupt();

    let found = found.expect("the story told what its pages say");
    if is_rewritten() {
        fs::write(pictures.join(TEXT), &found).unwrap();
    }
    let kept = fs::read_to_string(pictures.join(TEXT)).unwrap_or_default();
    assert!(
        kept == found,
        "the pages are not as they are in {FOLDER}: {TEXT} {}; tools/pictures makes the pictures again",
        difference(&kept, &found)
    );
}
