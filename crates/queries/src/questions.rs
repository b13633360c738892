//! Every question: the one list from which its command, routes and page are made. Each is a file of its own.

pub mod cost;
pub mod prompt;
pub mod schedules;
pub mod todo;
pub mod tree;
pub mod why;

use crate::decisions::DecisionQuery;
use crate::query::{QueryFace, QueryRow, row};
use crate::slow::SlowQuery;

/// Every question, in the order of the help page.
pub static QUERIES: &[QueryRow] = &[
    row::<why::WhyQuery>(),
    row::<tree::TreeQuery>(),
    row::<todo::TodoQuery>(),
    row::<prompt::PromptQuery>(),
    row::<cost::CostQuery>(),
    row::<SlowQuery>(),
    row::<DecisionQuery>(),
    row::<schedules::ScheduleQuery>(),
];

/// The commands of the questions.
pub fn list_commands() -> impl Iterator<Item = &'static QueryRow> {
    QUERIES.iter().filter(|row| row.has(QueryFace::Command))
}

/// The question whose command has that name.
pub fn find_query(name: &str) -> Option<&'static QueryRow> {
    list_commands().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::{QUERIES, QueryFace};

    #[test]
    fn every_field_of_a_route_is_one_of_its_question() {
        for row in QUERIES {
            let of_routes = row.routes.iter().map(|route| (route.path, route.fields));
            let of_page = row.page.iter().map(|page| (page.path, &[][..]));
            for (path, fields) in of_routes.chain(of_page) {
                let in_path = path.split(['{', '}']).skip(1).step_by(2);
                for name in fields.iter().copied().chain(in_path) {
                    let place = format!("{path} of `{}` in its Query", row.name);
                    assert!(row.field(name).is_some(), "{place}: add `{name}` to its arguments");
                }
            }
        }
    }

    #[test]
    fn a_question_without_a_face_says_why() {
        for row in QUERIES {
            let (has_routes, has_page) = (!row.routes.is_empty(), row.page.is_some());
            for (face, has) in [(QueryFace::Route, has_routes), (QueryFace::Page, has_page)] {
                let fix = "write the face, or a reason in LACKS of its Query";
                assert_eq!(row.has(face), has, "{face:?} of `{}`: {fix}", row.name);
            }
            for (face, reason) in row.lacks {
                assert!(reason.contains(' '), "{face:?} of `{}`: say in LACKS why it has none", row.name);
            }
        }
    }

    #[test]
    fn no_two_questions_share_a_name_or_a_path() {
        let names = QUERIES.iter().map(|row| row.name);
        let paths = QUERIES.iter().flat_map(|row| {
            row.routes.iter().map(|route| route.path).chain(row.page.as_ref().map(|page| page.path))
        });
        let mut all: Vec<&str> = names.chain(paths).collect();
        all.sort_unstable();
        let taken: Vec<&&str> = all.windows(2).filter(|two| two[0] == two[1]).map(|two| &two[0]).collect();
        assert!(taken.is_empty(), "give one of the questions another name or path: {taken:?}");
    }
}
