// Package dyno is the root of the repository. It holds no code, only the test that keeps the house in
// order (rules_test.go); start reading at ARCHITECTURE.md.
package dyno
