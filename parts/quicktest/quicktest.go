// Package quicktest says whether a test runs in its quick form, which is what go test does unless
// DYNO_TESTS=all asks for all of it, as CI and `make test-all` do. A test that takes seconds of CPU
// time has a quick form (fewer cases, fewer kills, the two ends of a ladder) or skips and names the
// variable.
//
// With DYNO_TESTS=all and -short, which is how CI runs the race detector, only what is long under
// the detector, too, is quick: that for which On and Skip are asked.
//
// It is not for tests that need what a machine may lack: those look for it and skip. It starts no
// goroutine.
package quicktest

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that asks for all of every test, with the value Everything.
const (
	Variable   = "DYNO_TESTS"
	Everything = "all"
)

// All reports whether the environment asks for all of every test.
func All() bool { return os.Getenv(Variable) == Everything }

// On reports whether tests run in their quick form, be it for -short.
func On() bool { return !All() || testing.Short() }

// Skip skips a test that has no quick form, for a reason such as "starts a cluster of three
// servers".
func Skip(t testing.TB, reason string) {
	t.Helper()
	if On() {
		t.Skipf("%s; %s=%s (make test-all) runs it", reason, Variable, Everything)
	}
}

// Of returns the second number when the environment asks for all of every test, and the first
// otherwise.
func Of(quick, all int) int {
	if All() {
		return all
	}
	return quick
}

// Checks bounds how many random cases pgregory.net/rapid tries in the quick form of a test whose
// cases take long, unless -rapid.checks is on the command line. The test must not run in parallel:
// the number is the process's.
func Checks(t testing.TB, quick int) {
	t.Helper()
	ChecksOf(t, quick, 0)
}

// ChecksOf bounds them also when the environment asks for all of every test, for cases that take
// seconds; 0: it does not.
func ChecksOf(t testing.TB, quick, all int) {
	t.Helper()
	t.Setenv(Variable, os.Getenv(Variable)) // refused in a parallel test
	most := Of(quick, all)
	checks := flag.Lookup("rapid.checks")
	was := checks.Value.String()
	if n, err := strconv.Atoi(was); most == 0 || was != checks.DefValue || err == nil && n <= most {
		return
	}
	flag.Set(checks.Name, strconv.Itoa(most))
	t.Cleanup(func() { flag.Set(checks.Name, was) })
}
