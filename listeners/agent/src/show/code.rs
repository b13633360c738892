//! Source code as a model sees it: `File: F Lines: A-B` and a fenced block for each hit, and failures as errors.
//!
//! A payload of the vocabulary of code comes in; text goes out, unescaped.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::{DocumentLimits, Payload, namespaces};

/// A result of code in words. `None` for another payload.
pub(crate) fn write_code(payload: &Payload) -> Option<String> {
    if *payload.name().ns != *namespaces::CODE {
        return None;
    }
    match &*payload.name().local {
        "search-result" | "query-result" => write_hits(payload),
        "extract-result" => Some(write_extract(payload)),
        "code-error" => Some(write_fault(payload)),
        _ => None,
    }
}

/// Whether a payload says that a request of code has no result.
pub(crate) fn is_code_error(payload: &Payload) -> bool {
    payload.name().is_named(namespaces::CODE, "code-error")
}

/// The first hits of a long result, or `None` if it is short. A hit that does not fit is cut at a line, and its block
/// is closed.
pub(crate) fn write_code_part(words: &str, most: usize) -> Option<String> {
    if words.len() <= most {
        return None;
    }
    let (mut shown, mut open) = (String::new(), None::<String>);
    for line in words.lines() {
        if shown.len() + line.len() + 1 > most {
            break;
        }
        match &open {
            Some(fence) if line == fence => open = None,
            None if line.starts_with("```") => open = Some(line.chars().take_while(|c| *c == '`').collect()),
            _ => {}
        }
        shown.extend([line, "\n"]);
    }
    shown.extend(open.into_iter().map(|fence| format!("{fence}\n")));
    let all = words.len();
    shown.push_str(&format!(
        "[the first {most} bytes of {all} are shown; search more narrowly, or extract lines]"
    ));
    Some(shown)
}

/// The attributes of a start tag.
type TagAttributes = Vec<(String, String)>;

fn find_value<'a>(attributes: &'a TagAttributes, name: &str) -> &'a str {
    attributes.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
}

fn read_attributes(gate: &XmlGate<'_>) -> TagAttributes {
    let all = gate.attributes().iter().filter(|attribute| attribute.prefix.is_empty());
    all.map(|attribute| (attribute.local.to_owned(), attribute.value().into_owned())).collect()
}

fn write_hits(payload: &Payload) -> Option<String> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let GateStep::Open(_) = gate.read_step().ok()? else { return None };
    let root = read_attributes(&gate);
    let mut blocks = Vec::new();
    while let Some(tag) = gate.read_child().ok()? {
        let is_hit = tag.local == "hit";
        let of = read_attributes(&gate);
        let text = gate.text_inside().ok()?;
        if is_hit {
            blocks.push(write_block(&of, &text));
        }
    }
    let mut words = Vec::new();
    if find_value(&root, "kind") == "plain" {
        words.push("No ranked result. These lines hold the text as it is written:".to_owned());
    }
    let (found, files) = (find_value(&root, "found"), find_value(&root, "files"));
    if blocks.is_empty() {
        words = vec![format!("Nothing found in {files} files. Try fewer or other words, or another path.")];
    }
    let shown = blocks.len();
    words.append(&mut blocks);
    if shown > 0 && found.parse::<usize>().is_ok_and(|found| found > shown) {
        words.push(format!("{shown} results are shown; {found} places were found in {files} files."));
    }
    if find_value(&root, "partial") == "true" {
        words.push("Not all files were searched: the search ended early, or a folder could not be read. Name a path.".to_owned());
    }
    Some(words.join("\n"))
}

fn write_extract(payload: &Payload) -> String {
    let get = |name: &str| payload.find_attribute(name).map(|value| (name.to_owned(), value));
    let of: TagAttributes = ["file", "first", "last"].into_iter().filter_map(get).collect();
    let mut words = write_block(&of, &payload.text());
    if let Some(lines) = payload.find_attribute("lines").filter(|lines| *lines != find_value(&of, "last")) {
        words.push_str(&format!("\nThe file has {lines} lines."));
    }
    if let Some(also) = payload.find_attribute("also") {
        words.push_str(&format!("\nAlso defined in lines {}.", also.replace(' ', ", ")));
    }
    words
}

fn write_block(of: &TagAttributes, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let (file, first, last) = (find_value(of, "file"), find_value(of, "first"), find_value(of, "last"));
    let language = name_language(file);
    format!("File: {file} Lines: {first}-{last}\n{fence}{language}\n{text}\n{fence}")
}

/// The language of a file, as the line of a fence names it: by the end of the file's name, or nothing.
fn name_language(file: &str) -> &'static str {
    let name = file.rsplit('/').next().unwrap_or_default();
    let end = name.rsplit_once('.').map_or(name, |(_, end)| end).to_ascii_lowercase();
    let known = LANGUAGES.iter().find(|(ends, _)| ends.contains(&&*end));
    known.map_or("", |(_, language)| language)
}

/// The ends of files and their languages.
const LANGUAGES: [(&[&str], &str); 34] = [
    (&["py", "pyi"], "python"),
    (&["js", "mjs", "cjs"], "javascript"),
    (&["jsx"], "jsx"),
    (&["ts", "mts", "cts"], "typescript"),
    (&["tsx"], "tsx"),
    (&["rs"], "rust"),
    (&["go"], "go"),
    (&["java"], "java"),
    (&["kt", "kts"], "kotlin"),
    (&["scala"], "scala"),
    (&["swift"], "swift"),
    (&["c", "h"], "c"),
    (&["cc", "cpp", "cxx", "hh", "hpp", "hxx"], "cpp"),
    (&["cs"], "csharp"),
    (&["rb"], "ruby"),
    (&["php"], "php"),
    (&["pl", "pm"], "perl"),
    (&["lua"], "lua"),
    (&["r"], "r"),
    (&["ex", "exs"], "elixir"),
    (&["hs"], "haskell"),
    (&["sh", "bash"], "bash"),
    (&["ps1"], "powershell"),
    (&["sql"], "sql"),
    (&["html", "htm"], "html"),
    (&["css"], "css"),
    (&["scss"], "scss"),
    (&["xml", "xsd", "svg"], "xml"),
    (&["json"], "json"),
    (&["yaml", "yml"], "yaml"),
    (&["toml"], "toml"),
    (&["md", "markdown"], "markdown"),
    (&["dockerfile"], "dockerfile"),
    (&["makefile", "mk"], "makefile"),
];

fn write_fault(payload: &Payload) -> String {
    let message = payload.text_of("message").unwrap_or_default();
    let mut words = format!("Error: {message}");
    let nearest = list_nearest(payload);
    if !nearest.is_empty() {
        words.push_str(&format!("\nNearest: {}", nearest.join(", ")));
    }
    if let Some(fix) = payload.text_of("fix") {
        words.push_str(&format!("\nTry: {fix}"));
    }
    words
}

fn list_nearest(payload: &Payload) -> Vec<String> {
    let Ok(mut gate) = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if matches!(gate.read_step(), Ok(GateStep::Open(_))) {
        while let Ok(Some(tag)) = gate.read_child() {
            let is_name = tag.local == "nearest";
            let Ok(text) = gate.text_inside() else { break };
            found.extend(is_name.then_some(text.to_string()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(xml: &str) -> Payload {
        let xml = xml.replacen('>', " xmlns=\"https://xml-pipeline.org/ns/code/v1\">", 1);
        Payload::from_trusted(xml.into_bytes().into()).unwrap()
    }

    #[test]
    fn g1_hits_are_shown_with_their_lines_in_fenced_blocks() {
        let result = payload(
            "<search-result kind=\"ranked\" found=\"7\" files=\"3\">\
             <hit file=\"src/a.rs\" first=\"3\" last=\"4\">if a &lt; b {\n}</hit>\
             <hit file=\"b.md\" first=\"1\" last=\"3\">```\nx\n```</hit></search-result>",
        );
        let shown = write_code(&result).unwrap();
        assert_eq!(
            shown,
            "File: src/a.rs Lines: 3-4\n```rust\nif a < b {\n}\n```\nFile: b.md Lines: 1-3\n````markdown\n```\nx\n```\n````\n\
             2 results are shown; 7 places were found in 3 files."
        );
        let part = write_code_part(&shown, 44).unwrap();
        let all = shown.len();
        let end = format!("[the first 44 bytes of {all} are shown; search more narrowly, or extract lines]");
        assert_eq!(part, format!("File: src/a.rs Lines: 3-4\n```rust\n```\n{end}"), "the block is closed");
        assert_eq!(write_code_part(&shown, all), None);
    }

    #[test]
    fn g1_a_fence_names_the_language_of_its_file() {
        for (file, language) in [
            ("src/auth.py", "python"),
            ("src/server/auth.js", "javascript"),
            ("A.TSX", "tsx"),
            ("a/Dockerfile", "dockerfile"),
            ("a.py/notes", ""),
            ("LICENSE", ""),
        ] {
            let xml = format!(
                "<extract-result file=\"{file}\" first=\"1\" last=\"1\" lines=\"1\">x</extract-result>"
            );
            let shown = write_code(&payload(&xml)).unwrap();
            assert_eq!(shown, format!("File: {file} Lines: 1-1\n```{language}\nx\n```"));
        }
    }

    #[test]
    fn g1_other_results_and_failures_are_shown_in_words() {
        let words = |xml: &str| write_code(&payload(xml)).unwrap();
        assert_eq!(
            words("<search-result kind=\"ranked\" found=\"0\" files=\"9\" partial=\"true\"></search-result>"),
            "Nothing found in 9 files. Try fewer or other words, or another path.\n\
             Not all files were searched: the search ended early, or a folder could not be read. Name a path."
        );
        let plain = words(
            "<search-result kind=\"plain\" found=\"1\" files=\"9\"><hit file=\"a\" first=\"1\" last=\"1\">x</hit></search-result>",
        );
        assert!(plain.starts_with(
            "No ranked result. These lines hold the text as it is written:\nFile: a Lines: 1-1\n"
        ));
        assert_eq!(
            words(
                "<extract-result file=\"a.rs\" first=\"1\" last=\"2\" lines=\"9\" also=\"4-5 7-8\">x\ny</extract-result>"
            ),
            "File: a.rs Lines: 1-2\n```rust\nx\ny\n```\nThe file has 9 lines.\nAlso defined in lines 4-5, 7-8."
        );
        let fault = payload(
            "<code-error code=\"code.not-found\" element=\"extract\"><message>File not found at path 'a'</message>\
             <nearest>b.rs</nearest><nearest>c.rs</nearest><fix>another path</fix></code-error>",
        );
        assert!(is_code_error(&fault));
        assert_eq!(
            write_code(&fault).unwrap(),
            "Error: File not found at path 'a'\nNearest: b.rs, c.rs\nTry: another path"
        );
        assert_eq!(write_code(&Payload::write(namespaces::TALK, "ask", |inside| inside.text("x"))), None);
    }
}
