//! Every answer of the corpus, compared with its expected events.

use super::{answers, extracted, folder, written};

/// Set `SYSTOLE_GOLDEN=1` to rewrite the files, and read every difference before committing it.
#[test]
fn e3_every_answer_of_the_corpus_holds_what_its_golden_file_says() {
    let mut wrong = Vec::new();
    let answers = answers();
    assert!(answers.len() >= 150, "only {} answers", answers.len());
    for answer in &answers {
        let (events, left) = extracted([answer.text.as_slice()], answer.stop);
        let found = written(&answer.text, &events, left.as_ref());
        let path = folder().join("answers").join(&answer.name).with_extension("events");
        if crate::golden::is_rewritten() {
            std::fs::write(&path, &found).expect("the golden file can be written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}:\n--- expected\n{expected}--- found\n{found}", answer.name));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
