// Package dyno is the root of the repository. It holds no code, only the tests that keep the tree
// (rules_test.go) and its documentation (docs_test.go) in order; start reading at ARCHITECTURE.md.
package dyno
