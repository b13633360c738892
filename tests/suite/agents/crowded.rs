//! An agent with as many peers as a file can hold, each with its own element: either its prompt fits into the default
//! window of a model, or the file is rejected with a message. No organism runs whose agent could not even begin.

use systole_core::types::limits::CONFIG_ENTRIES;

use crate::organism::folder;
use crate::program::{Ran, systole};

/// A file whose agent `helper` has this many peers.
fn file(dialect: &str, peers: usize, model: &str) -> tempfile::TempDir {
    let payloads: String =
        (1..=peers).map(|n| format!("  p{n}: {{query: text, \"limit?\": int 1..100}}\n")).collect();
    let minds: String = (1..=peers)
        .map(|n| format!("  x{n}: {{model: main, dialect: plain, entry: false, accepts: [p{n}], prompt: {{identity: You are {n}.}}}}\n"))
        .collect();
    let named: Vec<String> = (1..=peers).map(|n| format!("x{n}")).collect();
    let yaml = format!(
        "organism: {{name: hello, entry: helper}}\npayloads:\n{payloads}models:\n  main: {{provider: script{model}}}\nagents:\n  helper: {{model: main, dialect: {dialect}, peers: [{}], prompt: {{identity: You know many.}}}}\n{minds}log: {{path: ./hello.db}}\n",
        named.join(", ")
    );
    let said = match dialect {
        "native" => "{say: Here I am.}",
        _ => {
            "{say: <thinking>So.</thinking><attempt_completion><result>Here I am.</result></attempt_completion>}"
        }
    };
    let replies = format!("helper: [{said}]\n");
    folder(&[("organism.yaml", &yaml), ("replies.yaml", &replies)])
}

/// Whether the file is accepted. If so, its agent answers; otherwise `run` rejects it with the message of `check`.
fn taken(folder: &std::path::Path, words: &str) -> bool {
    let checked = systole(folder, &["check"]);
    let asked = systole(folder, &["ask", "Are you there?"]);
    let answered = (asked.code, asked.stdout.as_str()) == (Some(0), "Here I am.\n");
    assert_eq!(checked.code == Some(0), answered, "{words}: {checked:?} {asked:?}");
    answered
}

fn refusal(ran: &Ran) -> String {
    [ran.stdout.as_str(), ran.stderr.as_str()].concat().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn e12_the_prompt_of_an_agent_with_as_many_peers_as_a_file_holds_fits_or_the_file_is_refused() {
    // The agent itself is one of the entries.
    let most = CONFIG_ENTRIES - 1;
    for (dialect, least) in [("xml", 40_000), ("native", 80_000)] {
        // In the default window of a model the agent answers.
        let whole = file(dialect, most, "");
        assert!(taken(whole.path(), dialect), "{dialect}");
        // If the window is too small, the file is rejected, and the message says what is too much.
        let told = refusal(&systole(file(dialect, most, ", window: 32k").path(), &["check"]));
        let (_, counted) =
            told.split_once("agents.helper: its prompt with its 1023 peers has about ").expect(&told);
        let (tokens, rest) = counted.split_once(" tokens, ").expect(&told);
        println!("{dialect}: {tokens} tokens with {most} peers");
        assert!((least..128_000).contains(&tokens.parse::<u64>().unwrap()), "{told}");
        for part in ["leaves no room for a conversation", "`main` takes requests of 27744", "fewer `peers`"] {
            assert!(rest.contains(part), "{part}: {told}");
        }
    }
}

#[test]
fn e12_the_last_peer_that_fits_leaves_room_and_one_more_is_refused() {
    for dialect in ["xml", "native"] {
        let model = ", window: 5000, max_output: 500";
        let fits = |peers: usize| systole(file(dialect, peers, model).path(), &["check"]).code == Some(0);
        let (mut few, mut many) = (1, 65);
        assert!(fits(few) && !fits(many), "{dialect}");
        while many - few > 1 {
            let middle = usize::midpoint(few, many);
            *(if fits(middle) { &mut few } else { &mut many }) = middle;
        }
        // Exactly at the limit the agent begins, and is not told at once that only its final counts.
        let folder = file(dialect, few, model);
        assert!(taken(folder.path(), dialect), "{dialect} with {few}");
        let context = systole(folder.path(), &["context", "@last"]);
        assert!(!context.stdout.contains("window is nearly full"), "{dialect} with {few}: {context:?}");
        assert!(!taken(file(dialect, many, model).path(), dialect), "{dialect} with {many}");
    }
}
