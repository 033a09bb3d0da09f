// Package servicetest holds what the black-box suites of the services have in common: tests that
// run side by side, waiting for a condition, and HTTP answers that are read whole.
//
// It is for tests only. It starts no goroutines but those of the tests.
package servicetest

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait; it is reached only when a test fails.
const Patience = 2 * time.Minute

// Await returns when done returns true. What says what it waits for, when it fails the test.
func Await(t testing.TB, what func() string, done func() bool) {
	t.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-limit.C:
			t.Fatalf("waited %v for %s", Patience, what())
		}
	}
}

// Parallel runs each test of a table by do, in parallel with the others.
func Parallel[Test any](t *testing.T, tests map[string]Test, do func(*testing.T, Test)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(t, test)
		})
	}
}

// Exchange sends a request and reads the whole answer; an error when there is none.
func Exchange(c *http.Client, method, url, body string, header http.Header) (*http.Response, []byte, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = header
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}

// Metric returns a figure of /metrics at a service's debug address, by its name and labels.
func Metric(t testing.TB, debug, name string) float64 {
	t.Helper()
	_, text, err := Exchange(http.DefaultClient, http.MethodGet, debug+"/metrics", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut("\n"+string(text), "\n"+name+" ")
	figure, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(figure, 64)
	if !ok || err != nil {
		t.Fatalf("/metrics has no figure %s (%v)", name, err)
	}
	return n
}

// Seed returns the seed of what is random in a test, another each time if that of its flag -seed is
// 0, and logs it.
func Seed(t testing.TB, given uint64) uint64 {
	if given == 0 {
		given = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", given)
	return given
}
