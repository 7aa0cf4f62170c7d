//! Rules for overlays of scenario trees, from the grammar.

use super::grammar::SCENARIO;
use crate::keys::form::{Form, Grammar};
use crate::keys::tree::Rules;

/// Keys without meaning unless the alternative is given.
const OF_ALTERNATIVES: [(&str, &str); 3] =
    [("topology.format", "file"), ("workload.format", "file"), ("workload.priorities", "file")];

pub(crate) struct Overlay;

impl Rules for Overlay {
    fn is_alternative(&self, path: &str) -> bool {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        // Another transport replaces the present ones.
        parent == "transport" || table_at(parent).is_some_and(|it| it.alternatives.contains(&key))
    }

    fn takes_tables(&self, path: &str) -> bool {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let known = table_at(parent).and_then(|it| it.keys.iter().find(|known| known.name == key));
        known.is_some_and(|known| matches!(known.form, Form::Tables(_)))
    }

    fn of_alternative(&self, path: &str) -> Option<&'static str> {
        OF_ALTERNATIVES.iter().find(|(key, _)| *key == path).map(|&(_, alternative)| alternative)
    }
}

/// Returns the table at a dotted path, or of an array there, except transports'.
fn table_at(path: &str) -> Option<&'static Grammar> {
    path.split('.').filter(|step| !step.is_empty()).try_fold(&SCENARIO, |grammar, step| {
        table_of(&grammar.keys.iter().find(|known| known.name == step)?.form)
    })
}

fn table_of(form: &'static Form) -> Option<&'static Grammar> {
    match form {
        Form::Table(grammar) | Form::Tables(grammar) => Some(grammar),
        Form::Either(forms) => forms.iter().find_map(table_of),
        Form::Text
        | Form::Name
        | Form::Integer(..)
        | Form::Boolean
        | Form::Quantity(_)
        | Form::Word(_)
        | Form::List(_)
        | Form::Range
        | Form::Sweep
        | Form::Overrides
        | Form::Transports
        | Form::Transport => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Matrix, Size};
    use crate::scenario::Scenario;

    fn series(keys: &str, more: &str) -> Result<Scenario, String> {
        let text = format!(
            "topology.star.hosts = 8\n[[workload]]\nname = \"w\"\npermutation = {{}}\n{keys}\n{more}"
        );
        Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())
    }

    /// Mean flow size by series.
    fn sizes(scenario: &Scenario) -> Vec<u64> {
        let mean = |size: &Size| size.mean_millibytes().expect("a size");
        scenario.runs.iter().map(|run| mean(&run.plan.workloads[0].size) / 1_000).collect()
    }

    #[test]
    fn a_list_without_names_replaces_another() {
        let over = [
            "workload.w.size.mixture = [{ size = \"100KB\" }]",
            "[[series.workload]]\nname = \"w\"\nsize.mixture = [{ size = \"100KB\" }]",
        ];
        for over in over {
            let more = format!("[[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\n{over}");
            let scenario = series("size.mixture = [{ size = \"1KB\" }]", &more).unwrap();
            assert_eq!(sizes(&scenario), [1_000, 100_000], "{over}");
        }
    }

    #[test]
    fn entries_without_names_are_added_to_arrays_of_tables() {
        let event = |at, of: &str| {
            format!("[[{of}link_event]]\nat = \"{at}us\"\nlink = \"host 1\"\nchange = \"fail\"\n")
        };
        let more = format!("{}[[series]]\nname = \"a\"\n{}", event(1, ""), event(2, "series."));
        let scenario = series("size = \"1KB\"", &more).unwrap();
        assert_eq!(scenario.runs[0].plan.link_events.len(), 2);
    }

    #[test]
    fn one_kind_of_size_replaces_another() {
        for base in ["size.distribution = \"web-search\"", "size.mixture = [{ size = \"1KB\" }]"] {
            let pareto = "size.pareto = { shape = \"2\", mean = \"30KB\" }";
            let more = format!("[[series]]\nname = \"a\"\nworkload.w.{pareto}");
            let plan = series(base, &more).unwrap().runs.remove(0).plan;
            assert!(matches!(plan.workloads[0].size, Size::Pareto(_)), "{base}");
        }
    }

    #[test]
    fn replacing_a_file_removes_its_options() {
        let folder = std::env::temp_dir().join(format!("trimline-rules-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("w.flows"), "Nodes 8\nConnections 1\n0->1 start 0 size 1\n")
            .unwrap();
        let text = "topology = { file = \"none\", format = \"htsim\" }\n\
            workload = [{ name = \"w\", file = \"w.flows\", format = \"htsim\", priorities = false }]\n\
            series = [{ name = \"a\", topology.star.hosts = 8 }, { name = \"b\", topology.back_to_back = {}, \
            workload.w = { permutation = {}, size = \"1KB\" } }]\n";
        let file = folder.join("s.toml").display().to_string();
        let read = Scenario::parse(&file, text, &[]).map_err(|error| error.to_string());
        std::fs::remove_dir_all(&folder).unwrap();
        let plans: Vec<_> = read.unwrap().runs.into_iter().map(|run| run.plan).collect();
        assert_eq!(plans[0].topology.hosts(), 8);
        assert!(matches!(plans[0].workloads[0].matrix, Matrix::Listed(_)));
        assert_eq!((plans[1].topology.tiers, plans[1].topology.hosts()), (0, 2));
        assert_eq!(plans[1].workloads[0].matrix, Matrix::Permutation);
    }
}
