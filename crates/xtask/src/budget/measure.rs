//! Counts code on the tokens of a file, so that comments, strings and macros cannot mislead it.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemFn, Meta, Signature, TraitItemFn};

/// What one source file holds besides tests.
pub(super) struct Measured {
    /// Lines with at least one token that is not a comment.
    pub(super) lines: usize,
    pub(super) functions: Vec<Function>,
    /// Names of modules in files of their own that only tests compile.
    pub(super) test_modules: Vec<String>,
}

pub(super) struct Function {
    pub(super) name: String,
    /// Line of the `fn` keyword, from 1.
    pub(super) at: usize,
    /// Code lines from the signature to the closing brace.
    pub(super) lines: usize,
}

/// Measures the text of one source file.
pub(super) fn measure(text: &str) -> syn::Result<Measured> {
    let file = syn::parse_file(text)?;
    let tokens: TokenStream = text.parse()?;
    let mut code = BTreeSet::new();
    mark(tokens, &mut code);

    let mut seen = Seen::default();
    seen.visit_file(&file);
    for range in &seen.tests {
        code.retain(|line| !range.contains(line));
    }
    let functions = seen
        .functions
        .into_iter()
        .map(|(name, range)| Function {
            name,
            at: *range.start(),
            lines: code.range(range).count(),
        })
        .collect();
    Ok(Measured {
        lines: code.len(),
        functions,
        test_modules: seen.test_modules,
    })
}

/// Walks the syntax tree; does not enter what only tests compile.
#[derive(Default)]
struct Seen {
    functions: Vec<(String, RangeInclusive<usize>)>,
    tests: Vec<RangeInclusive<usize>>,
    test_modules: Vec<String>,
}

// === impl Seen ===

impl Seen {
    fn function(&mut self, signature: &Signature, end: Span) {
        let lines = signature.span().start().line..=end.end().line;
        self.functions.push((signature.ident.to_string(), lines));
    }
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_test) {
            visit::visit_item(self, item);
            return;
        }
        // The attribute is part of the item's span.
        self.tests
            .push(item.span().start().line..=item.span().end().line);
        if let Item::Mod(module) = item
            && module.content.is_none()
        {
            self.test_modules.push(module.ident.to_string());
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, item.block.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if item.attrs.iter().any(is_test) {
            self.tests
                .push(item.span().start().line..=item.span().end().line);
            return;
        }
        self.function(&item.sig, item.block.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block.span());
        }
        visit::visit_trait_item_fn(self, item);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    list.path.is_ident("cfg") && list.tokens.to_string() == "test"
}

/// Marks every line that a token touches, except doc comments.
fn mark(tokens: TokenStream, code: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_punct(&token, '#') {
            let bang = tokens.next_if(|next| is_punct(next, '!'));
            if tokens.next_if(is_doc).is_some() {
                continue;
            }
            if let Some(bang) = bang {
                mark_span(bang.span(), code);
            }
        }
        match token {
            TokenTree::Group(group) => {
                mark_span(group.span_open(), code);
                mark(group.stream(), code);
                mark_span(group.span_close(), code);
            }
            other => mark_span(other.span(), code),
        }
    }
}

fn mark_span(span: Span, code: &mut BTreeSet<usize>) {
    code.extend(span.start().line..=span.end().line);
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_doc(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

#[cfg(test)]
mod tests {
    use super::measure;

    const SOURCE: &str = r##"//! Module text.

use std::fmt;

/// Doc of `Thing`,
/// two lines.
#[derive(Debug)]
pub struct Thing; // a note

impl Thing {
    // why
    fn long(&self) -> &str {
        // nothing { here

        "two
lines"
    }
}

trait Named {
    fn name(&self) -> String {
        String::new()
    }
}

#[cfg(test)]
fn fake() {}

#[cfg(test)]
mod naive;

#[cfg(test)]
mod tests {
    fn inner() {}
}
"##;

    #[test]
    fn only_code_counts() {
        // use; derive, struct; impl, fn, 2 of a string, 2 closings; trait of 5 lines.
        assert_eq!(measure(SOURCE).unwrap().lines, 1 + 2 + 6 + 5);
    }

    #[test]
    fn functions_are_measured_by_their_code() {
        let measured = measure(SOURCE).unwrap();
        let found: Vec<_> = measured
            .functions
            .iter()
            .map(|function| (function.name.as_str(), function.at, function.lines))
            .collect();
        assert_eq!(found, [("long", 12, 4), ("name", 21, 3)]);
    }

    #[test]
    fn test_modules_in_files_are_named() {
        assert_eq!(measure(SOURCE).unwrap().test_modules, ["naive"]);
    }
}
