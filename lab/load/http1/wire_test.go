package http1

import (
	"net/http"
	"strings"
	"testing"

	"dyno/lab/load/corpus"
)

func TestNewRefuses(t *testing.T) {
	good := corpus.Request{Method: "GET", Path: "/"}
	with := func(change func(*corpus.Request)) *corpus.Corpus {
		r := good
		change(&r)
		return &corpus.Corpus{Requests: []corpus.Request{r}, Classes: make([]corpus.Class, 1)}
	}
	const target = "http://127.0.0.1:1"
	for _, c := range []struct {
		name   string
		config Config
		say    string
	}{
		{"https", Config{Target: "https://127.0.0.1:1", Corpus: with(func(*corpus.Request) {})}, "plain HTTP"},
		{"no host", Config{Target: "http:///x", Corpus: with(func(*corpus.Request) {})}, "http://HOST:PORT"},
		{"no corpus", Config{Target: target}, "corpus"},
		{"empty corpus", Config{Target: target, Corpus: &corpus.Corpus{Classes: make([]corpus.Class, 1)}}, "corpus"},
		{"back end", Config{Target: target, Corpus: with(func(*corpus.Request) {}), Backend: "kqueue"}, "epoll and uring"},
		{"pipeline", Config{Target: target, Corpus: with(func(*corpus.Request) {}), Pipeline: 1e6}, "1024"},
		{"method", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Method = "GET /x" })}, "not a method"},
		{"no path", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Path = "" })}, "begin with /"},
		{"path", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Path = "/a b" })}, "%20"},
		{"header", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Header = http.Header{"X": {"a\r\nEvil: b"}} })}, "cannot be sent"},
		{"length", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Header = http.Header{"Content-Length": {"7"}} })}, "leave it out"},
		{"coding", Config{Target: target, Corpus: with(func(r *corpus.Request) {
			r.Body, r.Header = []byte("a"), http.Header{"Transfer-Encoding": {"gzip"}}
		})}, "write chunked"},
		{"chunks of nothing", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Header = http.Header{"transfer-encoding": {"chunked"}} })}, "without a body"},
		{"number", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Body, r.IDs = make([]byte, 20), []int{5} })}, "sequence number at 5"},
		{"class", Config{Target: target, Corpus: with(func(r *corpus.Request) { r.Class = 1 })}, "class 1"},
	} {
		if _, err := New(c.config); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, want an error that says %q", c.name, err, c.say)
		}
	}
}
