//! Golden files: the text that a test found must equal the file that holds it. `SYSTOLE_GOLDEN=1` writes the files
//! again; read the difference like code before you keep it.

use std::fs;
use std::path::Path;

/// Whether golden files are to be written again.
pub(crate) fn is_rewritten() -> bool {
    std::env::var_os("SYSTOLE_GOLDEN").is_some()
}

/// Compares a text with the file at that path inside the package, or writes the file first.
#[track_caller]
pub(crate) fn golden(file: impl AsRef<Path>, found: impl AsRef<[u8]>) {
    let (path, found) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(&file), found.as_ref());
    if is_rewritten() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let kept = fs::read(&path).unwrap_or_default();
    if kept != found {
        let (kept, found) = (String::from_utf8_lossy(&kept), String::from_utf8_lossy(found));
        panic!(
            "{} {}; SYSTOLE_GOLDEN=1 writes it again\n\n{found}",
            file.as_ref().display(),
            difference(&kept, &found)
        );
    }
}

/// The first line in which two texts differ.
pub(crate) fn difference(kept: &str, found: &str) -> String {
    let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (kept, found) = (lines(kept), lines(found));
    let same = kept.iter().zip(&found).take_while(|(kept, found)| kept == found).count();
    let line = |text: &[String]| text.get(same).map_or("(end)".to_owned(), |line| format!("{line:?}"));
    format!("differs in line {}: {} is now {}", same + 1, line(&kept), line(&found))
}

#[test]
fn a_difference_is_reported_with_its_line() {
    assert_eq!(difference("a\nb\n", "a\nc\n"), r#"differs in line 2: "b\n" is now "c\n""#);
    assert_eq!(difference("a\n", "a\nb\n"), r#"differs in line 2: (end) is now "b\n""#);
    assert_eq!(difference("a\n", "a"), r#"differs in line 1: "a\n" is now "a""#);
}
