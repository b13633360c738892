//! The namespace bindings of prefixes, at the point of the document that has been read.
//!
//! It does not judge a declaration: the gate does. Declarations come in with the depth of their element and go
//! when the element closes; bindings go out by number. A look-up costs the logarithm of the prefixes in scope, so
//! a document that declares thousands and uses them everywhere stays linear.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::namespaces;

/// One declaration in scope.
#[derive(Debug)]
pub(crate) struct NamespaceBinding<'d> {
    /// The prefix, empty for the default namespace.
    pub(crate) prefix: &'d str,
    /// The namespace; empty if the default is undeclared.
    pub(crate) uri: Cow<'d, str>,
    /// The depth of the element that declares it, from 1; 0 for a binding without a declaration.
    pub(crate) depth: usize,
    shadows: Option<usize>,
}

/// The declarations in scope, innermost last.
#[derive(Debug)]
pub(crate) struct NamespaceScope<'d> {
    bindings: Vec<NamespaceBinding<'d>>,
    /// The default namespace. Kept apart from the others, because nearly every element asks for it.
    default: Option<usize>,
    innermost: BTreeMap<&'d str, usize>,
}

impl<'d> NamespaceScope<'d> {
    pub(crate) fn new() -> Self {
        let xml =
            NamespaceBinding { prefix: "xml", uri: Cow::Borrowed(namespaces::XML), depth: 0, shadows: None };
        let mut bindings = Vec::with_capacity(4);
        bindings.push(xml);
        Self { bindings, default: None, innermost: BTreeMap::new() }
    }

    pub(crate) fn declare_prefix(&mut self, prefix: &'d str, uri: Cow<'d, str>, depth: usize) {
        let shadows = self.bind_prefix(prefix, Some(self.bindings.len()));
        self.bindings.push(NamespaceBinding { prefix, uri, depth, shadows });
    }

    /// Forgets the declarations of elements at `depth` and deeper.
    pub(crate) fn leave_element(&mut self, depth: usize) {
        while let Some(binding) = self.bindings.pop_if(|binding| binding.depth >= depth) {
            self.bind_prefix(binding.prefix, binding.shadows);
        }
    }

    /// Binds a prefix to that number, or to nothing, and returns its earlier binding.
    fn bind_prefix(&mut self, prefix: &'d str, number: Option<usize>) -> Option<usize> {
        match number {
            _ if prefix.is_empty() => std::mem::replace(&mut self.default, number),
            Some(number) => self.innermost.insert(prefix, number),
            None => self.innermost.remove(prefix),
        }
    }

    /// The number of the binding of `prefix`, if it has one.
    pub(crate) fn find_prefix(&self, prefix: &str) -> Option<usize> {
        // `xml` is bound without a declaration, so the first binding is its own.
        let built_in = || (prefix == "xml").then_some(0);
        if prefix.is_empty() { self.default } else { self.innermost.get(prefix).copied().or_else(built_in) }
    }

    pub(crate) fn find_binding(&self, number: usize) -> Option<&NamespaceBinding<'d>> {
        self.bindings.get(number)
    }

    /// How many declarations are made by the element at `depth`, the innermost open one.
    pub(crate) fn declared_at(&self, depth: usize) -> usize {
        self.bindings.iter().rev().take_while(|binding| binding.depth == depth).count()
    }
}
