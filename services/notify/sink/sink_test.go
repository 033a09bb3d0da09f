package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyno/agent/monotonic"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func post(s http.Handler, path, body string, header http.Header) int {
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for k, v := range header {
		req.Header[k] = v
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Code
}

func body(seq int, key string) string {
	return envelope(fmt.Sprintf(`{"id":"run-%016x","key":%q,"payload":{"id":"x","n":[{},"}"]}}`, seq, key))
}

func envelope(data string) string {
	return `{"type":"t","timestamp":"2026-01-02T03:04:05.678Z","data":` + data + `}`
}

func newSink(t *testing.T, c Config) *Sink {
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOrderAndDuplicates(t *testing.T) {
	s := newSink(t, Config{})
	for _, step := range []struct {
		body, path string
		want       Stats
	}{
		{body(1, "a"), "/", Stats{Webhooks: 1, Notices: 1}},
		{"[" + body(2, "a") + ", " + body(3, "b") + "]", "/", Stats{Webhooks: 2, Batches: 1, Notices: 3}},
		{body(2, "a"), "/", Stats{Webhooks: 3, Batches: 1, Notices: 4, Duplicates: 1}},
		{body(9, "a"), "/", Stats{Webhooks: 4, Batches: 1, Notices: 5, Duplicates: 1}},
		{body(8, "a"), "/", Stats{Webhooks: 5, Batches: 1, Notices: 6, Duplicates: 1, Violations: 1}},
		{body(8, "a"), "/", Stats{Webhooks: 6, Batches: 1, Notices: 7, Duplicates: 2, Violations: 1}},
		{body(1, "a"), "/other", Stats{Webhooks: 7, Batches: 1, Notices: 8, Duplicates: 2, Violations: 1}},
		{envelope(`{"id":"free","key":"a"}`), "/", Stats{Webhooks: 8, Batches: 1, Notices: 9, Duplicates: 2, Violations: 1, Unchecked: 1}},
	} {
		if code := post(s, step.path, step.body, nil); code != http.StatusNoContent {
			t.Fatalf("%s: %d", step.body, code)
		}
		if got := s.Stats(); got != step.want {
			t.Fatalf("after %s: %+v, want %+v", step.body, got, step.want)
		}
	}
	for i, bad := range []string{envelope(`{"id":"x"}`), `{"id":"x","key":"k"}`, envelope(`1`), envelope(`{"id":"x","key":"k"`), `[]`} {
		if code := post(s, "/", bad, nil); code != http.StatusBadRequest || s.Stats().Malformed != int64(i+1) {
			t.Errorf("%s: %d, %+v", bad, code, s.Stats())
		}
	}
}

// A path decides how its webhooks are answered, and what is not taken is not booked.
func TestAnswersByPath(t *testing.T) {
	s := newSink(t, Config{})
	server := httptest.NewServer(s)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	send := func(ctx context.Context, path string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader(body(1, "k")))
		if err != nil {
			return 0, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	for path, want := range map[string]int{"/ok": 204, "/fail": 500, "/fail/3": 500} {
		if got, err := send(t.Context(), path); got != want {
			t.Errorf("%s: %d, %v", path, got, err)
		}
	}
	hanging := func(n int64) {
		for patience := time.Now().Add(30 * time.Second); s.Stats().Hanging != n; runtime.Gosched() {
			if time.Now().After(patience) {
				t.Fatalf("%d webhooks hang, want %d", s.Stats().Hanging, n)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 2)
	for _, c := range []context.Context{ctx, t.Context()} {
		go func() {
			status, _ := send(c, "/hang/x")
			ended <- status
		}()
	}
	hanging(2)
	cancel()
	if got := <-ended; got != 0 {
		t.Errorf("the one that gave up was answered with %d", got)
	}
	hanging(1)
	s.Close()
	if got := <-ended; got != http.StatusServiceUnavailable {
		t.Errorf("the one that waited on was answered with %d", got)
	}
	hanging(0)
	if got, want := s.Stats(), (Stats{Webhooks: 1, Notices: 1, Failed: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSignatures(t *testing.T) {
	const secret = "whsec_c2l4dGVlbiBieXRlcyBhbmQgc29tZSBtb3Jl"
	s := newSink(t, Config{Secret: secret})
	signer, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	text, now := body(1, "k"), time.Now()
	signature, err := signer.Sign("m", now, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Webhook-Id": {"m"}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {signature}}
	if code := post(s, "/", text, header); code != http.StatusNoContent {
		t.Errorf("a good signature: %d", code)
	}
	if code := post(s, "/", text+" ", header); code != http.StatusUnauthorized {
		t.Errorf("a changed body: %d", code)
	}
	if got := s.Stats(); got.BadSignature != 1 || got.Notices != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := New(Config{Secret: "whsec_%"}); err == nil {
		t.Error("a secret that is no base64 was accepted")
	}
}

// Receipts of the run asked for reach their reader, and only these.
func TestReceipts(t *testing.T) {
	s := newSink(t, Config{})
	mux := http.NewServeMux()
	s.Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	resp, err := server.Client().Get(server.URL + "/receipts?run=run")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	before := monotonic.Now()
	post(s, "/", "["+body(1, "a")+","+body(2, "b")+"]", nil)
	post(s, "/", envelope(`{"id":"runner-0000000000000001","key":"a"}`), nil)
	post(s, "/", body(3, "a"), nil)
	s.Close() // sends what waits, then ends the stream
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	after := monotonic.Now()
	var got []string
	for line := range strings.Lines(string(text)) {
		id, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		ns, err := strconv.ParseInt(at, 10, 64)
		if err != nil || ns < before || ns > after {
			t.Errorf("%q: received outside %d..%d", line, before, after)
		}
		got = append(got, id)
	}
	if want := []string{"run-0000000000000001", "run-0000000000000002", "run-0000000000000003"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if resp, err := server.Client().Get(server.URL + "/receipts"); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a run: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

// A reader that falls too far behind is cut off, and told.
func TestSlowReaderIsCutOff(t *testing.T) {
	r := &reader{prefix: "run-"}
	n := []received{{id: []byte("run-" + strings.Repeat("0", 100))}}
	for range maxUnread/100 + 1 {
		r.add(n, 1)
	}
	text, full := r.swap(nil)
	if !full || len(text) > maxUnread+200 {
		t.Fatalf("full %v after %d bytes", full, len(text))
	}
	r.add(n, 1)
	if text, full := r.swap(nil); !full || len(text) != 0 {
		t.Errorf("receipts went on after a gap: %d bytes", len(text))
	}
}

// FuzzParse holds the scanner against encoding/json: whatever that takes as notices, the scanner
// takes, and finds the same ids and keys in it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{body(1, "k"), "[" + body(1, "a") + "," + body(2, "b") + "]", `[]`, `{}`, envelope(`{"id":"a\"b","key":"\\"}`),
		envelope(`{"payload":[1,{"id":"x"}],"id":"y","key":""}`), envelope(`{"id":1,"key":"a"}`), ` { "data" : { "key" : "k" , "id" : "i" } } `,
		envelope(`{"id":"a","id":"b","key":"k"}`), `[{"data":{"id":"a","key":"k"}}`, `{"data":{"id":"a","key":"k"},"data":{"id":"b","key":"k"}}`, `{"data":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parse(text)
		want, ok := decode(text)
		if !ok {
			return
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: %d notices, not %d; error %v", text, len(got), len(want), err)
		}
		for i, n := range got {
			if string(n.id) != want[i][0] || string(n.key) != want[i][1] {
				t.Fatalf("%q: notice %d is %q of key %q, not %q", text, i, n.id, n.key, want[i])
			}
		}
	})
}

// decode reads ids and keys with encoding/json, as they were written; false if the text is no
// notice, or hides its names behind escapes.
func decode(text []byte) (out [][2]string, ok bool) {
	var list []map[string]json.RawMessage
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		text = append(append([]byte("["), text...), ']')
		if len(bytes.Split(text, []byte("}"))) > 2 && !json.Valid(text[1:len(text)-1]) {
			return nil, false // several objects
		}
	}
	if bytes.Contains(text, []byte(`\u`)) || json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	for _, envelope := range list {
		var n map[string]json.RawMessage
		if json.Unmarshal(envelope["data"], &n) != nil {
			return nil, false
		}
		id, key := n["id"], n["key"]
		if len(id) < 3 || id[0] != '"' || len(key) < 2 || key[0] != '"' {
			return nil, false
		}
		out = append(out, [2]string{string(id[1 : len(id)-1]), string(key[1 : len(key)-1])})
	}
	return out, len(out) > 0
}
