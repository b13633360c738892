//! Parts of pages that tests write: from `<!-- generated: NAME -->` to `<!-- end of generated -->`. The rest of such a
//! page is written by hand. `SYSTOLE_GOLDEN=1` writes the parts again.

use std::fs;

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end of generated -->";

/// Compares the generated parts of a page with what `make` gives for their names, or writes the page first. Gives the
/// names.
#[track_caller]
pub(crate) fn parts(page: &str, make: impl Fn(&str) -> String) -> Vec<String> {
    let (whole, names) = filled(page, &fs::read_to_string(page).unwrap(), make);
    crate::golden::golden(page, whole);
    names
}

fn filled(page: &str, text: &str, make: impl Fn(&str) -> String) -> (String, Vec<String>) {
    let (mut whole, mut names, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let part = after.split_once(" -->").and_then(|(name, part)| Some((name, part.split_once(END)?.1)));
        let Some((name, behind)) = part else { panic!("{page}: a part has no end; write {END}") };
        whole.push_str(&format!("{before}{BEGIN}{name} -->\n\n{}\n\n{END}", make(name).trim_end()));
        names.push(name.to_owned());
        rest = behind;
    }
    (whole + rest, names)
}

#[test]
fn only_the_parts_between_the_marks_are_written() {
    let page = "# A\n\n<!-- generated: b -->\nold\n<!-- end of generated -->\n\nby hand\n";
    let (whole, names) = filled("a.md", page, |name| format!("new {name}\n"));
    assert_eq!(whole, "# A\n\n<!-- generated: b -->\n\nnew b\n\n<!-- end of generated -->\n\nby hand\n");
    assert_eq!(names, ["b"]);
    assert_eq!(filled("a.md", &whole, |name| format!("new {name}\n")).0, whole);
}
