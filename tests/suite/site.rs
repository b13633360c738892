//! The check that `make site` makes of the rendered pages, on small sites with one fault each.

use std::path::Path;
use std::process::Command;

/// What `tools/site --check` says of a site with this page: nothing, or its faults.
fn checked(body: &str, style: &str) -> Option<String> {
    let site = tempfile::tempdir().unwrap();
    let page =
        format!("<html><head><link rel=\"stylesheet\" href=\"a.css\"></head><body>{body}</body></html>");
    std::fs::write(site.path().join("index.html"), page).unwrap();
    std::fs::write(site.path().join("other.html"), "<html><body><h1 id=\"there\">x</h1></body></html>")
        .unwrap();
    std::fs::write(site.path().join("a.css"), style).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/site");
    let ran = Command::new("python3").arg(script).arg("--check").arg(site.path()).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    match ran.status.code() {
        Some(0) => None,
        Some(1) => Some(said),
        code => panic!("{code:?}: {said}"),
    }
}

#[test]
fn h8_a_site_with_a_broken_link_or_something_from_another_host_is_refused() {
    let whole =
        "<a href=\"other.html#there\">x</a><a href=\"https://example.org/\">x</a><a href=\"#\">top</a>";
    assert_eq!(checked(whole, "a { background: url(data:x) }"), None);
    for (body, style, fault) in [
        ("<a href=\"gone.html\">x</a>", "", "index.html: gone.html leads to no file"),
        ("<a href=\"other.html#gone\">x</a>", "", "index.html: other.html#gone leads to no heading"),
        ("<img src=\"gone.svg\">", "", "index.html: gone.svg leads to no file"),
        (
            "<script src=\"https://example.org/a.js\"></script>",
            "",
            "loads https://example.org/a.js from another host",
        ),
        ("<img src=\"//example.org/a.png\">", "", "loads //example.org/a.png from another host"),
        (
            "",
            "@import \"https://example.org/a.css\";",
            "a.css: loads https://example.org/a.css from another host",
        ),
        (
            "",
            "a { src: url('//example.org/a.woff2') }",
            "a.css: loads //example.org/a.woff2 from another host",
        ),
        ("<pre class=\"playground\"></pre>", "", "a code block with a run button asks another host"),
    ] {
        let said = checked(body, style).unwrap_or_else(|| panic!("{body}{style} passes"));
        assert!(said.contains(fault), "{said}");
    }
}
