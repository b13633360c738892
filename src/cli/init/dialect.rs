//! The dialect of each agent in a template, for a real model. A model of any kind then gives an answer, also one that
//! writes no elements. Answers of a script are written in the dialect of the template, so it stays without.
//!
//! The text of an organism's file comes in and goes out. It reads agents with a key on each line, and leaves others,
//! such as those of workflows, as they are.

/// The first key of an agent.
const MODEL: &str = "    model: ";

/// The file with `dialect: native` at agents with peers, and `dialect: plain` at the others.
pub(super) fn with_dialects(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        out.extend([line, "\n"]);
        rest = after;
        if line.starts_with(MODEL) {
            let own: Vec<&str> = rest.lines().take_while(|line| line.starts_with("    ")).collect();
            let has = |key: &str| own.iter().any(|line| line.trim_start().starts_with(key));
            let dialect = if has("peers:") { "native" } else { "plain" };
            if !has("dialect:") {
                out.push_str(&format!("    dialect: {dialect}\n"));
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::with_dialects;

    #[test]
    fn an_agent_with_peers_calls_natively_and_one_without_only_answers() {
        let text = "agents:\n  a:\n    model: main\n    # b helps\n    peers: [b]\n  b:\n    model: main\n    turns: 2\n";
        let wanted = "agents:\n  a:\n    model: main\n    dialect: native\n    # b helps\n    peers: [b]\n  b:\n    model: main\n    dialect: plain\n    turns: 2\n";
        assert_eq!(with_dialects(text), wanted);
        assert_eq!(with_dialects(wanted), wanted, "what the file says stays");
        let flow = "agents:\n  a: {model: main, prompt: {identity: You write.}}";
        assert_eq!(with_dialects(flow), flow);
    }
}
