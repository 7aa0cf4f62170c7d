//! Reads the definitions, bindings and mentions of each module from the syntax of a crate's files.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::{Files, Mention, Module, Path};

pub(super) fn load(
    file: &str,
    folder: &str,
    path: Path,
    files: &Files,
    modules: &mut BTreeMap<Path, Module>,
) -> Result<(), String> {
    let text = files.get(file).ok_or_else(|| format!("{file}: no such file"))?;
    let parsed = syn::parse_file(text)
        .map_err(|error| format!("{file}:{}: {error}", error.span().start().line))?;
    let mut reader =
        Reader { file: file.to_owned(), path: path.clone(), modules, absent: Vec::new() };
    reader.modules.insert(path, Module { file: file.to_owned(), ..Module::default() });
    reader.visit_file(&parsed);
    let root = reader.path.clone();
    for (child, named) in reader.absent {
        // A file of another crate is read there.
        if named.as_ref().is_some_and(|named| named.starts_with("../")) {
            continue;
        }
        let below = format!("{folder}/{}", child[root.len()..].join("/"));
        let found = match named {
            Some(named) => vec![format!("{}/{named}", file.rsplit_once('/').unwrap_or_default().0)],
            None => vec![format!("{below}.rs"), format!("{below}/mod.rs")],
        };
        let file = found.iter().find(|name| files.contains_key(*name)).unwrap_or(&found[0]);
        load(file, &below, child, files, modules)?;
    }
    Ok(())
}

struct Reader<'a> {
    file: String,
    path: Path,
    modules: &'a mut BTreeMap<Path, Module>,
    /// Modules `mod a;` with their own files, which `#[path]` may name.
    absent: Vec<(Path, Option<String>)>,
}

impl Reader<'_> {
    fn here(&mut self) -> &mut Module {
        self.modules.get_mut(&self.path).expect("entered")
    }

    fn mention(&mut self, path: Path, line: usize) {
        if path.len() > 1 {
            self.here().mentions.push(Mention { path, line, offered: false, glob: false });
        }
    }

    fn bind(&mut self, tree: &syn::UseTree, mut path: Path, offered: bool) {
        match tree {
            syn::UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.bind(&step.tree, path, offered);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.bind(tree, path.clone(), offered));
            }
            syn::UseTree::Name(name) => self.bound(path, &name.ident, &name.ident, offered),
            syn::UseTree::Rename(name) => self.bound(path, &name.ident, &name.rename, offered),
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                let here = self.here();
                here.globs.push(path.clone());
                here.mentions.push(Mention { path, line, offered, glob: true });
            }
        }
    }

    fn bound(&mut self, mut path: Path, ident: &syn::Ident, name: &syn::Ident, offered: bool) {
        let line = ident.span().start().line;
        // `use a::b::{self}` names b.
        if ident != "self" {
            path.push(ident.to_string());
        }
        let name = if name == "self" { path.last().cloned() } else { Some(name.to_string()) };
        let here = self.here();
        here.bound.insert(name.unwrap_or_default(), path.clone());
        here.mentions.push(Mention { path, line, offered, glob: false });
    }

    /// Reads the paths among the tokens of a macro, which has no grammar.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Path::new();
        let mut colons = 0;
        let mut line = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention(std::mem::take(&mut path), line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.mention(std::mem::take(&mut path), line);
                    colons = 0;
                    self.tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.mention(std::mem::take(&mut path), line);
                    colons = 0;
                }
            }
        }
        self.mention(path, line);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_test) {
            return;
        }
        if let Some(name) = name_of(item) {
            match item {
                syn::Item::Fn(_) => self.here().functions.insert(name),
                syn::Item::Mod(_) => false,
                _ => self.here().items.insert(name),
            };
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        self.here().children.insert(name.clone());
        self.path.push(name);
        match &module.content {
            None => {
                let named = module.attrs.iter().find_map(file_named);
                self.absent.push((self.path.clone(), named));
            }
            Some(_) => {
                let inside = Module { file: self.file.clone(), ..Module::default() };
                self.modules.insert(self.path.clone(), inside);
                visit::visit_item_mod(self, module);
            }
        }
        self.path.pop();
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !function.attrs.iter().any(is_test) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let offered = !matches!(item.vis, syn::Visibility::Inherited);
        self.bind(&item.tree, Path::new(), offered);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in a::b)` uses nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.mention(names, line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        visit::visit_macro(self, invoked);
        self.tokens(invoked.tokens.clone());
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        // Crates and blocks of other languages, and items that syn does not know yet.
        _ => &[],
    }
}

fn name_of(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Returns whether an attribute is `#[test]`, `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string().replace(' ', "");
    let all = condition.strip_prefix("all(").and_then(|rest| rest.strip_suffix(')'));
    list.path.is_ident("cfg")
        && all.unwrap_or(&condition).split(',').any(|condition| condition == "test")
}

/// Returns the file that `#[path = "a.rs"]` names.
fn file_named(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })
            if pair.path.is_ident("path") =>
        {
            Some(text.value())
        }
        _ => None,
    }
}
