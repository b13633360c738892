//! The two programs of `docs/adding-a-listener.md`, exactly as the page shows them.

use std::path::{Path, PathBuf};
use std::process::Command;

use systole_core::types::composition::{ListenerProgram, Reach};
use systole_kit::DocumentLimits;
use systole_kit::reply::{ListenerDocument, ReplyContent};

use crate::stage::{CarrierStage, cast, folder, program};

/// The only block of that language in the page, which must equal the file of that name, byte for
/// byte.
fn from_the_page(language: &str, file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/adding-a-listener.md")).unwrap();
    let fence = format!("\n```{language}\n");
    let blocks: Vec<&str> =
        page.split(&fence).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert_eq!(blocks.len(), 1, "{language}");
    assert_eq!(std::fs::read_to_string(root.join("config/first-listeners").join(file)).unwrap(), blocks[0]);
    blocks[0].to_owned()
}

/// A folder with that text in a file.
fn placed(file: &str, text: &str) -> PathBuf {
    let folder = folder(&format!("first_{file}"));
    std::fs::write(folder.join(file), text).unwrap();
    folder
}

/// The one payload of the next reply.
async fn answer(stage: &mut CarrierStage, delivery: &str) -> String {
    let said = stage.expect("said ", delivery).await;
    let word =
        ListenerDocument::parse(said.strip_prefix("said ").unwrap().as_bytes(), &DocumentLimits::default());
    let Ok(ListenerDocument::Reply { said: ReplyContent::Items(items), .. }) = word else {
        panic!("{word:?}")
    };
    assert_eq!(items.len(), 1);
    let payload = items[0].payload.as_ref().unwrap();
    assert!(payload.name().is_named("https://xml-pipeline.org/ns/talk/v1", "answer"));
    String::from_utf8(payload.bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn d3_the_five_line_script_answers() {
    let script = from_the_page("sh", "answer.sh");
    assert_eq!(script.lines().count(), 5);
    let reach = program(&["/bin/sh", "answer.sh"], placed("answer.sh", &script));
    let mut stage = cast(Reach::Process(ListenerProgram { stays: false, ..reach })).start().joined().await;
    stage.hand_words("d1", "a & b \\n");
    assert!(answer(&mut stage, "d1").await.ends_with(">You asked: a &amp; b \\n</answer>"));
    stage.hand_words("d2", "");
    let told = "; last words on stderr: no question";
    assert!(stage.expect("gone d2 listener.failed: exited 1 after ", told).await.ends_with(told));
}

#[tokio::test]
async fn d3_the_fifteen_line_program_answers() {
    let script = from_the_page("python", "answer.py");
    assert_eq!(script.lines().count(), 15);
    let reach = program(&["python3", "answer.py"], placed("answer.py", &script));
    let mut stage = cast(Reach::Process(reach)).start().joined().await;
    for (delivery, words, answered) in [("d1", "a & b", ">You asked: a &amp; b<"), ("d2", "x\ny", "x&#10;y<")]
    {
        stage.hand_words(delivery, words);
        let payload = answer(&mut stage, delivery).await;
        assert!(payload.contains(answered), "{payload}");
    }
    assert!(stage.stop().await.is_empty());
}

#[test]
fn d3_both_answer_in_the_organism_that_stands_beside_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/adding-a-listener.md")).unwrap();
    let declared = std::fs::read_to_string(root.join("config/first-listeners/organism.yaml")).unwrap();
    let folder = folder("first_organism");
    for file in ["organism.yaml", "answer.sh", "answer.py"] {
        std::fs::copy(root.join("config/first-listeners").join(file), folder.join(file)).unwrap();
    }
    let ask = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Who?</ask>\n";
    std::fs::write(folder.join("ask.xml"), ask).unwrap();
    for listener in ["answer", "answer-py"] {
        let line = format!("  {listener}:");
        let of = |text: &str| text.lines().find(|l| l.starts_with(&line)).map(str::to_owned);
        assert_eq!(of(&page), of(&declared), "the page and the file declare {listener} alike");
        let mut send = Command::new(env!("CARGO_BIN_EXE_systole"));
        let sent =
            send.current_dir(&folder).args(["send", "--file", "ask.xml", "--to", listener]).output().unwrap();
        let (said, talk) = (String::from_utf8_lossy(&sent.stdout), String::from_utf8_lossy(&sent.stderr));
        assert!(sent.status.success() && said.contains(">You asked: Who?<"), "{said}{talk}");
        assert!(listener != "answer" || page.contains(said.trim_end()), "{said}");
    }
}
