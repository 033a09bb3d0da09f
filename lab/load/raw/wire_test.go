package raw

import (
	"net/http"
	"strings"
	"testing"

	"dyno/lab/load/request"
)

func TestNewRefuses(t *testing.T) {
	good := request.Request{Method: "GET", Path: "/"}
	with := func(change func(*request.Request)) *request.Corpus {
		r := good
		change(&r)
		return &request.Corpus{Requests: []request.Request{r}, Classes: make([]request.Class, 1)}
	}
	const target = "http://127.0.0.1:1"
	for _, c := range []struct {
		name   string
		config Config
		say    string
	}{
		{"https", Config{Target: "https://127.0.0.1:1", Corpus: with(func(*request.Request) {})}, "plain HTTP"},
		{"no host", Config{Target: "http:///x", Corpus: with(func(*request.Request) {})}, "http://HOST:PORT"},
		{"no corpus", Config{Target: target}, "corpus"},
		{"empty corpus", Config{Target: target, Corpus: &request.Corpus{Classes: make([]request.Class, 1)}}, "corpus"},
		{"back end", Config{Target: target, Corpus: with(func(*request.Request) {}), Backend: "kqueue"}, "epoll and uring"},
		{"pipeline", Config{Target: target, Corpus: with(func(*request.Request) {}), Pipeline: 1e6}, "1024"},
		{"method", Config{Target: target, Corpus: with(func(r *request.Request) { r.Method = "GET /x" })}, "not a method"},
		{"no path", Config{Target: target, Corpus: with(func(r *request.Request) { r.Path = "" })}, "begin with /"},
		{"path", Config{Target: target, Corpus: with(func(r *request.Request) { r.Path = "/a b" })}, "%20"},
		{"header", Config{Target: target, Corpus: with(func(r *request.Request) { r.Header = http.Header{"X": {"a\r\nEvil: b"}} })}, "cannot be sent"},
		{"length", Config{Target: target, Corpus: with(func(r *request.Request) { r.Header = http.Header{"Content-Length": {"7"}} })}, "leave it out"},
		{"number", Config{Target: target, Corpus: with(func(r *request.Request) { r.Body, r.IDs = make([]byte, 20), []int{5} })}, "sequence number at 5"},
		{"class", Config{Target: target, Corpus: with(func(r *request.Request) { r.Class = 1 })}, "class 1"},
	} {
		if _, err := New(c.config); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, want an error that says %q", c.name, err, c.say)
		}
	}
}
