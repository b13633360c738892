//! Call paths: `3` is a thread's third top call, `3/2.1` the call that item 1 of its turn 2 made, and `3/2.1:0`
//! the first of several that one item made. The input is text; the output is what the path says about related
//! calls. Nothing here knows what is open.

/// Whether a text is a call path.
pub(crate) fn is_path(text: &str) -> bool {
    let mut steps = text.split('/');
    steps.next().is_some_and(|top| parse_number(top).is_some()) && steps.all(|step| of_step(step).is_some())
}

/// The turn, the ordinal and the taker of a step.
fn of_step(step: &str) -> Option<(u32, u32, Option<u32>)> {
    let (turn, item) = step.split_once('.')?;
    let (ordinal, taker) = match item.split_once(':') {
        Some((ordinal, taker)) => (ordinal, Some(parse_number(taker)?)),
        None => (item, None),
    };
    Some((parse_number(turn)?, parse_number(ordinal)?, taker))
}

/// The number of a step, without a sign or leading zeros: a number has only one text.
fn parse_number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// The top call that a path belongs to.
pub(crate) fn find_top(path: &str) -> u32 {
    path.split('/').next().and_then(parse_number).unwrap_or(0)
}

/// Whether it is a top call.
pub(crate) fn is_top(path: &str) -> bool {
    !path.contains('/')
}

/// The root of a thread's tree.
pub(crate) fn find_root(thread: &str) -> &str {
    thread.split('.').next().unwrap_or(thread)
}

/// A thread and those above it, up to its root.
pub(crate) fn list_line(thread: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(thread), |id| id.rsplit_once('.').map(|(above, _)| above))
}

/// How many calls are above it in its thread.
pub(crate) fn count_depth(path: &str) -> u32 {
    path.matches('/').fold(0, |depth, _| depth + 1)
}

/// The call, turn and ordinal of the item that the path names; none for a top call.
pub(crate) fn split_item(path: &str) -> Option<(&str, u32, u32)> {
    let (caller, step) = path.rsplit_once('/')?;
    let (turn, ordinal, _) = of_step(step)?;
    Some((caller, turn, ordinal))
}

/// The taker of its item that the call goes to; none if the item made one call.
pub(crate) fn find_taker(path: &str) -> Option<u32> {
    let (_, step) = path.rsplit_once('/')?;
    of_step(step)?.2
}

/// Whether it is, or is below, a call that only announces a request for approval: turn 0 has no items.
pub(crate) fn is_told(path: &str) -> bool {
    path.split('/').skip(1).any(|step| step.starts_with("0."))
}

/// The path of an item of a call.
pub(crate) fn of_item(call: &str, turn: u32, ordinal: u32) -> String {
    format!("{call}/{turn}.{ordinal}")
}

/// Whether `path` is strictly below `call`.
pub(crate) fn is_below(path: &str, call: &str) -> bool {
    path.strip_prefix(call).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_text() {
        for good in ["1", "12", "3/2.1", "3/2.0/1.14", "3/2.1:0", "3/2.1:10/1.0"] {
            assert!(is_path(good), "{good}");
        }
        for bad in [
            "", "x", "01", "+1", "1/", "1/2", "1/2.", "1/02.1", "1//2.1", "1/2.1 ", "1:0", "1/2.1:",
            "1/2:0.1",
        ] {
            assert!(!is_path(bad), "{bad}");
        }
    }

    #[test]
    fn a_path_names_its_item_and_its_top_call() {
        assert_eq!(split_item("3/2.0/1.14"), Some(("3/2.0", 1, 14)));
        assert_eq!(split_item("3"), None);
        assert_eq!((split_item("3/2.1:0"), find_taker("3/2.1:0")), (Some(("3", 2, 1)), Some(0)));
        assert_eq!((split_item("3/2.1:0/1.4"), find_taker("3/2.1:0/1.4")), (Some(("3/2.1:0", 1, 4)), None));
        assert!(is_below("3/2.1:0/1.4", "3/2.1:0") && !is_below("3/2.1:10", "3/2.1:1"));
        assert_eq!(of_item("3/2.0", 1, 14), "3/2.0/1.14");
        assert_eq!(find_top("3/2.0/1.14"), 3);
        assert_eq!((count_depth("3/2.0/1.14"), count_depth("3")), (2, 0));
        assert_eq!(list_line("a.b.c").collect::<Vec<_>>(), ["a.b.c", "a.b", "a"]);
        assert_eq!((find_root("a.b.c"), find_root("sys")), ("a", "sys"));
        assert!(is_below("3/2.0", "3") && !is_below("31/2.0", "3") && !is_below("3", "3"));
    }
}
