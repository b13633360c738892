//! Every question: the one list from which its command, routes and page are made.

use crate::costs::CostQuery;
use crate::query::{QueryRow, row};

/// Every question.
pub static QUERIES: [QueryRow; 1] = [row::<CostQuery>()];

/// The question of that name.
pub fn find_query(name: &str) -> Option<&'static QueryRow> {
    QUERIES.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::QUERIES;

    #[test]
    fn every_field_of_a_route_is_one_of_its_question() {
        for row in &QUERIES {
            for route in row.routes {
                let in_path = route.path.split(['{', '}']).skip(1).step_by(2);
                for name in route.fields.iter().copied().chain(in_path) {
                    let place = format!("{} of `{}` in ROUTES of its Query", route.path, row.name);
                    assert!(row.field(name).is_some(), "{place}: add `{name}` to its arguments");
                }
            }
        }
    }

    #[test]
    fn no_two_questions_share_a_name_or_a_path() {
        let names = QUERIES.iter().map(|row| row.name);
        let paths =
            QUERIES.iter().flat_map(|row| row.routes.iter().map(|route| route.path).chain([row.page.path]));
        let mut all: Vec<&str> = names.chain(paths).collect();
        all.sort_unstable();
        let taken: Vec<&&str> = all.windows(2).filter(|two| two[0] == two[1]).map(|two| &two[0]).collect();
        assert!(taken.is_empty(), "give one of the questions another name or path: {taken:?}");
    }
}
