//! Forty questions about the source of this project: how often the file that answers is among the first five hits.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use systole_code::{CodeListener, CodeSpec};
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::reply::ReplyContent;
use systole_kit::{DocumentLimits, Payload, namespaces};

/// How many of the forty files must be among the first five.
const FOUND: usize = 36;
const FIRST: usize = 5;

struct Question {
    ask: String,
    /// The file that answers it. Two share some answers.
    files: Vec<String>,
    is_held: bool,
}

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The questions. Each is one line of a form that this test reads itself.
fn questions() -> Vec<Question> {
    let text = std::fs::read_to_string(project().join("tests/fixtures/code/questions.yaml")).unwrap();
    let line = |line: &str| {
        let inside = line.strip_prefix("- {ask: ")?.strip_suffix('}')?;
        let (ask, rest) = inside.rsplit_once(", file: ")?;
        let (file, is_held) = rest.strip_suffix(", held: true").map_or((rest, false), |file| (file, true));
        let files = file.split(" or ").map(str::to_owned).collect();
        Some(Question { ask: ask.trim_matches('"').to_owned(), files, is_held })
    };
    text.lines().filter_map(line).collect()
}

/// The files of the hits, in order, each once.
async fn files(listener: &Arc<CodeListener>, query: &str) -> Vec<String> {
    let payload = Payload::write(namespaces::CODE, "search", |inside| inside.open("query").text(query));
    let ReplyContent::Items(items) = listener.clone().answer_to(payload).await else { panic!("no answer") };
    let answer = items[0].payload.clone().unwrap();
    let mut gate = XmlGate::new_strict(answer.bytes(), &DocumentLimits::FROM_PUMP).unwrap();
    assert!(matches!(gate.read_step(), Ok(GateStep::Open(_))));
    let mut files: Vec<String> = Vec::new();
    while let Some(_hit) = gate.read_child().unwrap() {
        files.push(gate.find_attribute("file").unwrap().into_owned());
        gate.text_inside().unwrap();
    }
    files
}

/// The place of the file among those with the most lines for the best single word of a question, as ripgrep counts.
fn ripgrep(question: &Question) -> Option<bool> {
    let words = question.ask.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
    let mut is_found = false;
    for word in words {
        let out = Command::new("rg")
            .args(["-ic", "--sort", "path", word, "crates", "src", "listeners"])
            .current_dir(project())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let count = |line: &str| {
            let (file, count) = line.rsplit_once(':')?;
            Some((count.parse::<u32>().ok()?, file.to_owned()))
        };
        let mut counts: Vec<_> = text.lines().filter_map(count).collect();
        counts.sort_by_key(|one| std::cmp::Reverse(one.0));
        is_found |= counts.iter().take(FIRST).any(|(_, file)| question.files.contains(file));
    }
    Some(is_found)
}

#[tokio::test]
async fn g1_forty_questions_about_this_source() {
    let deny = [
        "/tests",
        "/docs",
        "/config",
        "/schemas",
        "/tools",
        "/benches",
        "/target",
        "/*.*",
        "/Makefile",
        "/LICENSE",
    ];
    let deny = deny.map(str::to_owned).to_vec();
    let spec = CodeSpec { root: project(), deny };
    let listener = Arc::new(CodeListener::new(&spec).unwrap());
    let questions = questions();
    assert_eq!(questions.len(), 40);
    assert_eq!(questions.iter().filter(|question| question.is_held).count(), 10);
    let (mut found, mut held, mut plain) = (0, 0, Some(0));
    for question in &questions {
        for file in &question.files {
            assert!(project().join(file).is_file(), "{file} is gone");
        }
        let files = files(&listener, &question.ask).await;
        let is_found = files.iter().take(FIRST).any(|file| question.files.contains(file));
        found += usize::from(is_found);
        held += usize::from(is_found && question.is_held);
        plain = plain.and_then(|plain| Some(plain + usize::from(ripgrep(question)?)));
        if !is_found {
            println!("not found: {} in {:?}; first: {files:?}", question.ask, question.files);
        }
    }
    let plain = plain.map_or_else(|| "not installed".to_owned(), |plain| format!("{plain} of 40"));
    println!(
        "{found} of 40 in the first {FIRST}, {held} of the 10 held out; ripgrep with the best word: {plain}"
    );
    assert!(found >= FOUND, "{found} of 40");
}
