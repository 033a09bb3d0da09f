// Package loadtest is the conformance suite that every HTTP driver of package load must pass. Its
// targets are raw TCP servers that follow a script, so that every way in which an answer can be
// right, wrong or missing occurs on purpose. Its verdicts are counts: elapsed time decides no
// test.
//
// It is not for other protocols, and does not measure speed. Each script's goroutines belong to
// the server that the test started, and end before the test does.
package loadtest

import (
	"testing"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
)

// New makes the driver under test for a target such as "http://127.0.0.1:8080". The suite drives
// it with plans that have the given number of connections.
type New func(target string, requests *corpus.Corpus, connections int) load.Driver

// Allowance lets a driver end the requests of one case in another way than the suite expects,
// because a library that it uses accepts more or reports a failure differently.
type Allowance struct {
	Case    string // as in the subtest's name
	Outcome string // a status ("200") or a kind of failure ("closed")
	Why     string
}

// Test runs the whole suite against the driver.
func Test(t *testing.T, open New, allowances ...Allowance) {
	t.Helper()
	allowed := map[string][]string{}
	for _, a := range allowances {
		if a.Why == "" || !known(a.Case) {
			t.Fatalf("allowance for case %q: it needs a reason and the name of a case that exists", a.Case)
		}
		allowed[a.Case] = append(allowed[a.Case], a.Outcome)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open, allowed[c.name])
		})
	}
	t.Run("refused", func(t *testing.T) { t.Parallel(); testRefused(t, open) })
	t.Run("keep-alive", func(t *testing.T) { t.Parallel(); testKeepAlive(t, open) })
	t.Run("sequence-numbers", func(t *testing.T) { t.Parallel(); testSequenceNumbers(t, open) })
	t.Run("classes", func(t *testing.T) { t.Parallel(); testClasses(t, open) })
	t.Run("units", func(t *testing.T) { t.Parallel(); testUnits(t, open) })
	t.Run("once", func(t *testing.T) { t.Parallel(); testOnce(t, open) })
	t.Run("unfinished", func(t *testing.T) { t.Parallel(); testUnfinished(t, open) })
	t.Run("closed-model", func(t *testing.T) { t.Parallel(); testClosedModel(t, open) })
	t.Run("count", func(t *testing.T) { t.Parallel(); testCount(t, open) })
	t.Run("closed-model-unanswered", func(t *testing.T) { t.Parallel(); testClosedUnanswered(t, open) })
	t.Run("cancel", func(t *testing.T) { t.Parallel(); testCancel(t, open) })
	t.Run("request-bytes", func(t *testing.T) { t.Parallel(); testRequestBytes(t, open) })
}

func known(name string) bool {
	for _, c := range cases {
		if c.name == name {
			return true
		}
	}
	return false
}
