package nethttp

import (
	"testing"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/loadtest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	loadtest.Test(t, func(target string, requests *corpus.Corpus, _ int) load.Driver {
		d, err := New(Config{Target: target, Corpus: requests})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}, laxer...)
}

// laxer lists the cases in which net/http accepts more than the suite does, or reports another
// failure.
var laxer = []loadtest.Allowance{
	{Case: "surplus", Outcome: "200", Why: "what follows an answer is seen at the connection's next use and costs no request"},
	{Case: "surplus-after-204", Outcome: "204", Why: "as surplus"},
	{Case: "surplus-after-head", Outcome: "200", Why: "as surplus"},
	{Case: "surplus", Outcome: "timeout", Why: "a request may be sent before the surplus is seen, and waits for an answer that begins with it"},
	{Case: "surplus-after-204", Outcome: "timeout", Why: "as surplus"},
	{Case: "surplus-after-head", Outcome: "timeout", Why: "as surplus"},
	{Case: "closed-in-status-line", Outcome: "malformed", Why: "it reads a line up to its end or the connection's"},
	{Case: "closed-in-header", Outcome: "malformed", Why: "it reads a line up to its end or the connection's"},
	{Case: "length-and-chunked", Outcome: "timeout", Why: "the connection is then used again, which the script does not answer"},
	{Case: "length-and-chunked", Outcome: "200", Why: "chunked wins, as RFC 9112 section 6.3 permits"},
	{Case: "bare-lf", Outcome: "timeout", Why: "the connection is then used again, which the script does not answer"},
	{Case: "bare-lf", Outcome: "200", Why: "a single LF may end a line, as RFC 9112 section 2.2 permits"},
	{Case: "folded-header", Outcome: "timeout", Why: "the connection is then used again, which the script does not answer"},
	{Case: "folded-header", Outcome: "200", Why: "a folded header is unfolded, as RFC 9112 section 5.2 permits"},
	{Case: "http2", Outcome: "timeout", Why: "the connection is then used again, which the script does not answer"},
	{Case: "http2", Outcome: "200", Why: "any version above 1.1 passes"},
	{Case: "chunked-http10", Outcome: "timeout", Why: "HTTP/1.0 knows no chunks, so the body ends with the connection"},
	{Case: "space-before-colon", Outcome: "timeout", Why: "the header is taken for another one, so the body ends with the connection"},
}
