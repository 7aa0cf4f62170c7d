//! Uses between the modules of a crate, and circles in these.
//!
//! A module that uses another can be read only after it. So the modules of a folder, and the top-level modules of a
//! crate, need an order from those that use no other to those that use all. Considered are `use`, and paths in code and
//! in arguments of macros, without tests. Each file of a room in `features` has a place of its own, among the modules of
//! the crate: a room holds what belongs to one feature, from keys below the scenario to hooks above the network.

mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;

use self::read::load;
use crate::arrows::FOLDERS;

/// The rule, in an error message.
const RULE: &str = "move what both need into a module below them. A folder's own file (mod.rs, or \
    a.rs beside a/) may use and re-export its children; these may name its types, traits and constants, but \
    a child that calls its functions stands above it";

/// Tolerated circles: crate, and names. A circle that is gone must leave this list.
const TOLERATED: [(&str, &str); 0] = [];

type Path = Vec<String>;

/// Files of one crate: path below the crate's folder, text.
type Files = BTreeMap<String, String>;

#[derive(Default)]
struct Module {
    file: String,
    children: BTreeSet<String>,
    functions: BTreeSet<String>,
    /// Other items defined here, which a glob reaches.
    items: BTreeSet<String>,
    /// Names that `use` binds, with the paths as written.
    bound: BTreeMap<String, Path>,
    globs: Vec<Path>,
    mentions: Vec<Mention>,
}

struct Mention {
    path: Path,
    line: usize,
    /// True for `pub use`, which offers the path to others.
    offered: bool,
    glob: bool,
}

/// A module as the others of its folder see it, `None` for the folder's own file.
type Node = Option<String>;

/// Uses between the modules of each folder, with the place of the first one.
type Arrows = BTreeMap<Path, BTreeMap<(Node, Node), String>>;

/// Returns the circles in the crates, or a file that cannot be read or is not Rust.
pub(crate) fn check_all(root: &std::path::Path) -> Result<Vec<String>, String> {
    let mut found = BTreeMap::new();
    let crates = FOLDERS.map(|folder| folders(&root.join(folder)));
    for folder in crates.into_iter().collect::<Result<Vec<_>, _>>()?.concat() {
        let name = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
        let mut files = Files::new();
        if folder.join("src").is_dir() {
            texts(&folder, "src", &mut files)?;
        }
        let is_root = |file: &&String| {
            let below = file.strip_prefix("src/bin/").is_some_and(|below| !below.contains('/'));
            below || *file == "src/lib.rs" || *file == "src/main.rs"
        };
        for file in files.keys().filter(is_root) {
            let circles = circles(file, &files).map_err(|error| format!("{name}/{error}"))?;
            found.extend(circles.into_iter().map(|(circle, at)| ((name.clone(), circle), at)));
        }
    }
    Ok(judge(&found, &TOLERATED))
}

/// Reports circles that are not tolerated, and tolerated circles that do not exist.
fn judge(found: &BTreeMap<(String, String), String>, tolerated: &[(&str, &str)]) -> Vec<String> {
    let known =
        |(name, circle): &(String, String)| tolerated.contains(&(name.as_str(), circle.as_str()));
    let news = found.iter().filter(|(circle, _)| !known(circle)).map(|((name, circle), places)| {
        format!("{name}: modules in a circle: {circle} ({places}): {RULE}")
    });
    let is_found = |&&(name, circle): &&(&str, &str)| {
        found.contains_key(&(name.to_owned(), circle.to_owned()))
    };
    let gone = tolerated.iter().filter(|entry| !is_found(entry)).map(|(name, circle)| {
        format!("{name}: {circle} is no circle: delete it from TOLERATED in {}", file!())
    });
    news.chain(gone).collect()
}

fn folders(folder: &std::path::Path) -> Result<Vec<std::path::PathBuf>, String> {
    let unreadable = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(unreadable));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

fn texts(root: &std::path::Path, folder: &str, files: &mut Files) -> Result<(), String> {
    let unreadable = |error| format!("{}/{folder}: {error}", root.display());
    for entry in fs::read_dir(root.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            texts(root, &path, files)?;
        } else if path.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).map_err(unreadable)?;
            files.insert(path, text);
        }
    }
    Ok(())
}

/// Returns the shortest circle for each arrow in a circle of the crate with root `root`. The key names the modules, the
/// smallest name first: `a -> b -> a`; the value is the places of the arrows. A missing file, or one that is not Rust,
/// is an error.
fn circles(root: &str, files: &Files) -> Result<BTreeMap<String, String>, String> {
    let mut modules = BTreeMap::new();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    load(root, folder, Path::new(), files, &mut modules)?;
    let mut found = BTreeMap::new();
    for (folder, arrows) in arrows(&modules) {
        for (from, to) in arrows.keys() {
            let Some(circle) = shortest(&arrows, from, to) else { continue };
            let name = |node: &Node| match node {
                None if folder.is_empty() => "the crate's own file".to_owned(),
                Some(name) => folder.iter().chain([name]).cloned().collect::<Vec<_>>().join("::"),
                None => format!("{}'s own file", folder.join("::")),
            };
            let names: Vec<String> = circle.iter().map(name).collect();
            let places = circle.windows(2).map(|pair| &arrows[&(pair[0].clone(), pair[1].clone())]);
            let places: Vec<&str> = places.map(String::as_str).collect();
            found.insert(names.join(" -> "), places.join(", "));
        }
    }
    Ok(found)
}

/// Returns the shortest way from `to` back to `from`, as a circle from and to its smallest node.
fn shortest(arrows: &BTreeMap<(Node, Node), String>, from: &Node, to: &Node) -> Option<Vec<Node>> {
    let mut before: BTreeMap<&Node, &Node> = BTreeMap::new();
    let mut waiting = VecDeque::from([to]);
    while let Some(node) = waiting.pop_front().filter(|&node| node != from) {
        for (_, next) in arrows.keys().filter(|(start, _)| start == node) {
            if next != to && !before.contains_key(next) {
                before.insert(next, node);
                waiting.push_back(next);
            }
        }
    }
    let mut circle = vec![from.clone()];
    let mut at = from;
    while at != to {
        at = before.get(at)?;
        circle.push(at.clone());
    }
    // The search ran backwards.
    circle.reverse();
    let min = (0..circle.len()).min_by_key(|&place| &circle[place]).unwrap_or(0);
    circle.rotate_left(min);
    circle.push(circle[0].clone());
    Some(circle)
}

/// A module, and the item of it that a path names, if any.
type Found = (Path, Option<String>);

/// Maximum depth of re-exports: more would be a `use` that names itself.
const DEEPEST: usize = 16;

/// Returns what a path in the module `from` names; `None` for paths outside the crate, or to no module.
fn resolve(
    modules: &BTreeMap<Path, Module>,
    from: &[String],
    path: &[String],
    depth: usize,
) -> Option<Found> {
    let here = modules.get(from)?;
    let (first, rest) = path.split_first().filter(|_| depth < DEEPEST)?;
    match first.as_str() {
        "crate" => descend(modules, Path::new(), rest, depth),
        "self" => descend(modules, from.to_vec(), rest, depth),
        "super" => descend(modules, from.split_last()?.1.to_vec(), rest, depth),
        name if here.children.contains(name) => {
            descend(modules, [from, std::slice::from_ref(first)].concat(), rest, depth)
        }
        name => {
            let bound = here.bound.get(name)?;
            resolve(modules, from, &[bound, rest].concat(), depth + 1)
        }
    }
}

fn descend(
    modules: &BTreeMap<Path, Module>,
    mut at: Path,
    path: &[String],
    depth: usize,
) -> Option<Found> {
    let Some((first, rest)) = path.split_first() else { return Some((at, None)) };
    let here = modules.get(&at)?;
    if first == "super" {
        at.pop()?;
        return descend(modules, at, rest, depth);
    }
    if here.children.contains(first) {
        at.push(first.clone());
        return descend(modules, at, rest, depth);
    }
    let own = here.functions.contains(first) || here.items.contains(first);
    if let Some(bound) = here.bound.get(first).filter(|_| !own) {
        let elsewhere = resolve(modules, &at, &[bound, rest].concat(), depth + 1);
        return Some(elsewhere.unwrap_or((at, Some(first.clone()))));
    }
    for glob in here.globs.iter().filter(|_| !own) {
        let Some((module, Some(item))) =
            resolve(modules, &at, &[glob.as_slice(), path].concat(), depth + 1)
        else {
            continue;
        };
        let there = &modules[&module];
        if there.functions.contains(&item) || there.items.contains(&item) {
            return Some((module, Some(item)));
        }
    }
    Some((at, Some(first.clone())))
}

fn arrows(modules: &BTreeMap<Path, Module>) -> Arrows {
    let mut arrows = Arrows::new();
    for (from, module) in modules {
        for mention in &module.mentions {
            let Some((to, item)) = resolve(modules, from, &mention.path, 0) else { continue };
            let calls =
                mention.glob || item.is_some_and(|item| modules[&to].functions.contains(&item));
            let Some((folder, arrow)) = arrow(from, &to, calls, mention.offered) else { continue };
            let place = format!("{}:{}", module.file, mention.line);
            arrows.entry(folder).or_default().entry(arrow).or_insert(place);
        }
    }
    arrows
}

/// A crate's folder of features: rooms whose files stand at different heights.
const FEATURES: &str = "features";

/// Returns where a module stands in the order: a file of a feature's room by itself, among the modules of the crate.
fn placed(module: &Path) -> Path {
    if module.len() > 1 && module[0] == FEATURES { vec![module.join("::")] } else { module.clone() }
}

/// Returns the folder in which a use is an arrow, and its ends there.
fn arrow(from: &Path, to: &Path, calls: bool, offered: bool) -> Option<(Path, (Node, Node))> {
    let (from, to) = (&placed(from), &placed(to));
    let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let (start, end) = (from.get(shared).cloned(), to.get(shared).cloned());
    let counts = match (&start, &end) {
        (None, None) => false,
        // A parent may offer what its child has without using it.
        (None, Some(_)) => !offered,
        (Some(_), None) => calls,
        (Some(_), Some(_)) => true,
    };
    counts.then(|| (from[..shared].to_vec(), (start, end)))
}
