package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestEnvelope(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 5, 6)...)})
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"method":"ping"}`, 200, `{"result":{"status":"success"}}`},
		{`{"method":"ping","params":[]}`, 200, `{"result":{"status":"success"}}`},
		{`{"method":"ping","params":[{}],"id":7,"jsonrpc":"2.0"}`, 200, `{"id":7,"result":{"status":"success"}}`},
		{`{"method":"ping","params":[{"id":"x"}]}`, 200, `{"id":"x","result":{"status":"success"}}`},
		{`{"method":"none","params":[{"a":1}]}`, 200, `{"result":{"error":"unknownCmd","error_code":32,"error_message":"Unknown method.","request":{"a":1,"command":"none"},"status":"error"}}`},
		{``, 400, "Unable to parse request"},
		{`[]`, 400, "Unable to parse request"},
		{`null`, 400, "Unable to parse request"},
		{`{"method":"ping"`, 400, "Unable to parse request"},
		{`{}`, 400, "Null method"},
		{`{"method":7}`, 400, "method is not string"},
		{`{"method":""}`, 400, "method is empty"},
		{`{"method":"ping","params":{}}`, 400, "params unparsable"},
		{`{"method":"ping","params":[{},{}]}`, 400, "params unparsable"},
		{`{"method":"ping","params":[1]}`, 400, "params unparsable"},
		{`{"method":"ping","params":[{"api_version":3}]}`, 400, "invalid_API_version"},
		{`{"method":"ping","params":[{"api_version":"1"}]}`, 400, "invalid_API_version"},
		{`{"method":"` + strings.Repeat("x", maxBody) + `"}`, 413, "Unable to parse request"},
	} {
		code, got := post(t, s, c.body)
		if code != c.code || code == 200 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%.80s: %d %.300s\nwant %d %s", c.body, code, got, c.code, c.want)
		}
	}
	if code, got := get(t, s, "/"); code != 200 || !strings.Contains(got, "JSON-RPC") {
		t.Errorf("GET /: %d %s", code, got)
	}
	for _, c := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"GET", "/api", 404, ""}, {"GET", "/api/ledger", 404, ""}, {"POST", "/x", 404, ""},
		{"DELETE", "/", 405, "GET, HEAD, POST"}, {"POST", "/api/tx/1", 405, "GET, HEAD"},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if text := w.Body.String(); w.Code != c.code || w.Header().Get("Allow") != c.allow || !json.Valid(w.Body.Bytes()) || !strings.Contains(text, `"status":"error"`) {
			t.Errorf("%s %s: %d, Allow %q, %s", c.method, c.path, w.Code, w.Header().Get("Allow"), text)
		}
	}
}

func TestGetLedger(t *testing.T) {
	ledgers := chain(t, 90, 100)
	s := warmed(t, Config{Store: filled(t, ledgers...), Hot: 2})
	short, long := expected(ledgers[0], 2, false, true, false), expected(ledgers[0], 2, true, true, true)
	newest := expected(ledgers[10], 2, false, true, false)
	for path, want := range map[string]string{
		"/api/ledger/90": short, "/api/ledger/" + ledgers[0].Hash.String(): short, "/api/ledger/90?binary=true": long, "/api/ledger/validated": newest,
	} {
		if code, got := get(t, s, path); code != 200 || got != want {
			t.Errorf("GET %s: %d %.300s\nwant %.300s", path, code, got, want)
		}
	}
	for path, want := range map[string]int{
		"/api/ledger/89": 404, "/api/ledger/x": 400, "/api/ledger/current": 404, "/api/ledger/90?binary=2": 400, "/api/tx/12": 400,
		"/api/tx/" + strings.Repeat("0", 64): 404, "/api/accounts/rX/transactions": 400, "/api/accounts/" + payers[0].Account().String() + "/transactions?marker=1": 400,
		"/api/accounts/" + payers[0].Account().String() + "/transactions?limit=00":  400,
		"/api/accounts/" + payers[0].Account().String() + "/transactions?forward=1": 400,
	} {
		code, got := get(t, s, path)
		if code != want || !json.Valid([]byte(got)) || !strings.Contains(got, `"status":"error"`) {
			t.Errorf("GET %s: %d %s, want %d", path, code, got, want)
		}
	}
}

// A ledger never changes, so a client that has it gets 304; for the newest, the tag says which one
// it is.
func TestEntityTags(t *testing.T) {
	ledgers := chain(t, 99, 100)
	s := warmed(t, Config{Store: filled(t, ledgers...)})
	ask := func(path, tag string) *http.Response {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}
	for path, cached := range map[string]bool{"/api/ledger/99": true, "/api/ledger/99?binary=true": true, "/api/ledger/validated": false} {
		first := ask(path, "")
		tag := first.Header.Get("ETag")
		if tag == "" || strings.Contains(first.Header.Get("Cache-Control"), "immutable") != cached {
			t.Errorf("GET %s: %v", path, first.Header)
		}
		if again := ask(path, `"x", `+tag); again.StatusCode != http.StatusNotModified || again.ContentLength > 0 {
			t.Errorf("GET %s again: %s", path, again.Status)
		}
		if other := ask(path, `"x"`); other.StatusCode != 200 {
			t.Errorf("GET %s with another tag: %s", path, other.Status)
		}
	}
	one, two := ask("/api/ledger/99", "").Header.Get("ETag"), ask("/api/ledger/99?binary=true", "").Header.Get("ETag")
	if one == two {
		t.Errorf("two shapes have one tag %s", one)
	}
}

func FuzzRPC(f *testing.F) {
	for _, seed := range []string{
		`{"method":"ledger","params":[{"ledger_index":"validated","binary":true,"transactions":true,"expand":true}],"id":1}`,
		`{"method":"ledger","params":[{"ledger":100,"api_version":2}]}`,
		`{"method":"tx","params":[{"transaction":"` + strings.Repeat("0", 64) + `","binary":1,"min_ledger":1,"max_ledger":2}]}`,
		`{"method":"account_tx","params":[{"account":"` + payers[0].Account().String() + `","binary":true,"limit":10,"marker":{"ledger":99,"seq":1},"forward":true}]}`,
		`{"method":"server_info"}`, `{"method":"sign","params":[{"secret":"x"}]}`, `{"method":"ping","params":[{"api_version":9}]}`,
	} {
		f.Add(seed)
	}
	s := warmed(f, Config{Store: filled(f, chain(f, 99, 101)...), Hot: 1})
	f.Fuzz(func(t *testing.T, body string) {
		code, got := post(t, s, body)
		var answer struct {
			Result struct{ Status string }
		}
		switch {
		case code == 400 || code == 413:
		case code != 200 || json.Unmarshal([]byte(got), &answer) != nil || answer.Result.Status != "success" && answer.Result.Status != "error":
			t.Fatalf("%q: %d %q", body, code, got)
		case strings.Contains(got, `"error":"internal"`):
			t.Fatalf("%q: %s", body, got)
		}
	})
}

func FuzzGet(f *testing.F) {
	f.Add("/api/ledger/99", "binary=true")
	f.Add("/api/ledger/validated", "")
	f.Add("/api/tx/"+strings.Repeat("0", 64), "")
	f.Add("/api/accounts/"+payers[0].Account().String()+"/transactions", "marker=99:1&limit=10&from=99&to=101&forward=true")
	s := warmed(f, Config{Store: filled(f, chain(f, 99, 101)...), Hot: 1})
	f.Fuzz(func(t *testing.T, path, query string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		code, got := answered(t, w)
		isJSON := strings.Contains(w.Header().Get("Content-Type"), "json")
		if code >= 500 || isJSON && !json.Valid([]byte(got)) {
			t.Fatalf("GET %q %q: %d %q", path, query, code, got)
		}
	})
}
