package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every side is measured once in each round, in another order than in the round before.
func TestOrder(t *testing.T) {
	for round := range 12 {
		o := order(len(sides), round)
		if s := slices.Sorted(slices.Values(o)); !slices.Equal(s, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("round %d: %v", round, o)
		}
		if back := order(len(sides), round^1); round%2 == 1 && o[0] != back[len(sides)-1] {
			t.Errorf("round %d is not the way back of the one before: %v, %v", round, back, o)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ args, wrong string }{
		{"--pairs 6", ""}, {"--quick", ""}, {"--pairs 3", "at least 4"}, {"--ledgers 99", "--ledgers"}, {"now", "no arguments"},
		{"--only clio", ""}, {"--only speed", "turns, clio, rippled or failures"},
	} {
		if _, err := parse(strings.Fields(c.args)); (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

// The budget that binds is the one of which the larger share was used.
func TestJudge(t *testing.T) {
	u := clio.judge(injected{Answers: 100, Bytes: 1e6, Refused: 5}, injected{Answers: 200, Bytes: 20e6, Refused: 6}, 10*time.Second)
	if u.share != 0.95 || u.refused != 1.0/101 {
		t.Errorf("%+v", u)
	}
	if u := rippled.judge(injected{}, injected{Answers: 2500, Bytes: 1e9}, 10*time.Second); u.share != 1 || u.refused != 0 {
		t.Errorf("%+v", u)
	}
}

func TestVerdict(t *testing.T) {
	least, most := bar{atLeast: 2}, bar{atMost: 2}
	for _, c := range []struct {
		bar  bar
		in   *[2]float64
		want string
	}{
		{bar{}, &[2]float64{1, 3}, ""}, {least, nil, "not shown"}, {least, &[2]float64{2, 3}, "met"}, {least, &[2]float64{1, 3}, "not shown"},
		{least, &[2]float64{1, 1.5}, "not met"}, {most, &[2]float64{1, 2}, "met"}, {most, &[2]float64{3, 4}, "not met"},
	} {
		if got := c.bar.verdict(c.in); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.bar, c.in, got, c.want)
		}
	}
}

// A failure at one server is over when the other one has answered for the same ledger.
func TestWitness(t *testing.T) {
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("an answer")) }))
	defer behind.Close()
	w := newWitness(behind.URL)
	defer w.client.CloseIdleConnections()
	good, bad := httptest.NewServer(w.front(nil)), httptest.NewServer(w.front(func() bool { return true }))
	defer good.Close()
	defer bad.Close()
	ask := func(url, body string) bool {
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}
	const ledger = `{"method":"ledger","params":[{"ledger_index":7,"transactions":true}]}`
	after := func(what string, waiting, took int) {
		t.Helper()
		if w, over := w.account(); w != waiting || len(over) != took {
			t.Fatalf("after %s %d wait and %d are over, want %d and %d", what, w, len(over), waiting, took)
		}
	}
	if !ask(bad.URL, `{"method":"server_info"}`) || ask(bad.URL, ledger) {
		t.Fatal("what fails is not the request for a ledger alone")
	}
	after("a failure", 1, 0)
	ask(good.URL, strings.Replace(ledger, "7", "8", 1))
	after("another ledger's answer", 1, 0)
	ask(good.URL, ledger)
	after("the answer", 0, 1)
	ask(bad.URL, ledger)
	after("a failure of what was asked of both", 0, 1)
}
