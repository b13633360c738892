//! The table of exits, compared with the commands. If a command names something that does not exist or is in the
//! way, the command is wrong, for anything it names. What was judged is refused with a code. What the machine
//! lacks is neither.

use crate::organism::folder;
use crate::program::systole;

const FILE: &str = "organism: {name: hello, entry: greeter}
payloads: {w: {text: text}}
listeners:
  greeter: {run: [sh, greeter.sh], mode: once, accepts: [ask], returns: [answer]}
  inner: {run: [sh, greeter.sh], mode: once, accepts: [ask], returns: [answer], peers: []}
  worker: {run: [sh, greeter.sh], mode: once, accepts: [w], returns: [answer], entry: true}
";
const GREETER: &str =
    "cat > /dev/null; echo '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hello</answer>'\n";
const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">one</ask>";

/// A command line, its exit code, and its output.
type Row = (&'static [&'static str], i32, &'static str);

const ROWS: [Row; 38] = [
    // A listener.
    (&["ask", "Hi", "--to", "nobody"], 2, "error: nothing in the organism's file is called nobody\n  try: "),
    (
        &["ask", "Hi", "--to", "inner"],
        2,
        "error: inner is not open to messages from outside\n  try: entry: true",
    ),
    (&["ask", "Hi", "--to", "worker"], 2, "error: worker does not take questions: it takes <w>\n  try: "),
    (&["send", "ask", "Hi", "--to", "nobody"], 2, "error: there is no listener nobody"),
    (
        &["send", "ask", "Hi", "--to", "inner"],
        2,
        "error: inner is not open to messages from outside; try: entry: true",
    ),
    (&["send", "ask", "Hi", "--to", "worker"], 2, "error: worker does not take ask"),
    (&["listener", "try", "nobody"], 2, "error: nothing in the organism's file is called nobody\n  try: "),
    (
        &["listener", "new", "shell", "greeter"],
        2,
        "error: greeter is a listener of the organism's file already\n  try: ",
    ),
    // A client.
    (&["mcp", "--client", "nobody"], 2, "error: --client: no client with a token is called nobody\n  try: "),
    // A thread.
    (&["send", "ask", "Hi", "--thread", "sess-ffffffff"], 2, "error: "),
    (&["ask", "Hi", "--thread", "sess-ffffffff"], 2, "error: "),
    (&["why", "sess-ffffffff"], 2, "error: "),
    (&["tree", "sess-ffffffff"], 2, "error: "),
    (&["todo", "sess-ffffffff"], 2, "error: "),
    (&["log", "sess-ffffffff"], 2, "error: "),
    (&["trail", "sess-ffff@3"], 2, "error: "),
    (&["trail", "--text", "nowhere"], 2, "error: "),
    (&["trail", "--text", " "], 2, "error: the text is empty"),
    (&["cancel", "sess-ffffffff"], 2, "error: "),
    (&["end", "sess-ffffffff"], 2, "error: "),
    (&["pause", "sess-ffffffff"], 2, "error: "),
    (&["resume", "sess-ffffffff"], 2, "error: "),
    // An element, a code.
    (&["send", "nothing"], 2, "error: no listener takes nothing"),
    (&["schema", "show", "nothing"], 2, "error: no schema declares nothing"),
    (&["schema", "example", "nothing"], 2, "error: no schema declares nothing"),
    (
        &["explain", "nothing.nowhere"],
        2,
        "error: `nothing.nowhere` is no code, key, element, command or word",
    ),
    // A file to read, and a file that is in the way.
    (&["send", "--file", "none.xml"], 2, "error: none.xml, the payload: there is no such file"),
    (&["amend", "a9", "--file", "none.xml"], 2, "error: none.xml, the payload: there is no such file"),
    (
        &["listener", "try", "greeter", "--file", "none.xml"],
        2,
        "error: none.xml, the payload: there is no such file",
    ),
    (
        &["schema", "eject"],
        2,
        "error: schemas/hello.xsd: it is there already, and is not overwritten\n  try: ",
    ),
    (&["listener", "new", "python", "taken"], 2, "error: no file is overwritten, and this exists already: "),
    (&["graph", "--out", "organism.yaml", "--format", "svg"], 2, "error: --out names the organism's file"),
    // Refusals by the judge.
    (&["send", "--file", "ask.xml", "--to", "nobody"], 4, "refused: route.not-a-peer\n"),
    (&["send", "--file", "wrong.xml"], 4, "refused: payload."),
    (&["approve", "a9"], 4, "refused: approval.unknown\n"),
    // The file itself, and what the machine lacks.
    (&["check", "-f", "none.yaml"], 3, ""),
    (&["ps", "--log", "none.db"], 5, "error: none.db: there is no such log"),
    (&["graph", "--out", "nowhere/x.svg"], 5, "error: nowhere/x.svg, the drawing: there is no such folder"),
];

#[test]
fn every_command_ends_as_the_table_says() {
    let folder = folder(&[
        ("organism.yaml", FILE),
        ("greeter.sh", GREETER),
        ("ask.xml", ASK),
        ("wrong.xml", "<ask"),
        ("schemas/hello.xsd", "mine"),
        ("listeners/taken.py", "mine"),
    ]);
    let first = systole(folder.path(), &["ask", "Who?"]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), "hello\n"), "{first:?}");
    for (arguments, exit, words) in ROWS {
        let ran = systole(folder.path(), arguments);
        assert_eq!(ran.code, Some(exit), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
}
