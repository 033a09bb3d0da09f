package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/parts/guard"
	"dyno/parts/guard/guardtest"
	"dyno/parts/servicetest"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// methods are those of the tests.
func methods() map[string]jsonrpc.Method {
	return map[string]jsonrpc.Method{
		"echo": func(_ context.Context, params []byte) (any, error) {
			if params == nil {
				return "none", nil
			}
			return json.RawMessage(bytes.Clone(params)), nil
		},
		"fail": func(context.Context, []byte) (any, error) { return nil, errors.New("nonce too low") },
		"revert": func(context.Context, []byte) (any, error) {
			return nil, fmt.Errorf("calling: %w", &jsonrpc.Error{Code: jsonrpc.Reverted, Message: "execution reverted", Data: "0x08c379a0"})
		},
		"panic": func(context.Context, []byte) (any, error) { panic("x") },
		"add": func(_ context.Context, params []byte) (any, error) {
			var a, b int
			err := jsonrpc.Params(params, 1, &a, &b)
			return a + b, err
		},
		"subscribe": func(ctx context.Context, _ []byte) (any, error) {
			sub, err := jsonrpc.Subscribe(ctx, "eth_subscription")
			if err != nil {
				return nil, err
			}
			return sub.ID(), nil
		},
		"unsubscribe": func(ctx context.Context, params []byte) (any, error) {
			id, err := jsonrpc.OneString(params)
			return jsonrpc.Unsubscribe(ctx, string(id)), err
		},
	}
}

// serve starts a server of methods and returns its URL.
func serve(t *testing.T, methods map[string]jsonrpc.Method, o jsonrpc.Options) (*jsonrpc.Server, string) {
	t.Helper()
	return serveBounded(t, methods, o, func(*jsonrpc.Bounds) {})
}

// serveBounded starts a server with other bounds.
func serveBounded(t *testing.T, methods map[string]jsonrpc.Method, o jsonrpc.Options, change func(*jsonrpc.Bounds)) (*jsonrpc.Server, string) {
	t.Helper()
	if o.Codec == nil {
		o.Codec = jsonrpc.Std{}
	}
	s := jsonrpc.NewBounded(methods, o, change)
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
		defer cancel()
		if err := s.Drain(ctx); err != nil {
			t.Errorf("drain: %v", err)
		}
		front.CloseClientConnections()
		front.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s, front.URL
}

// post sends a message and returns the status and the body.
func post(t testing.TB, url, message string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(body) > 0 && answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type %q", answer.Header.Get("Content-Type"))
	}
	return answer.StatusCode, string(body)
}

// talks are messages and their answers, whatever carries them.
var talks = []struct{ message, answer string }{
	{`{"jsonrpc":"2.0","id":1,"method":"echo","params":["a",{"b":[1]}]}`, `{"jsonrpc":"2.0","id":1,"result":["a",{"b":[1]}]}`},
	{`{"jsonrpc":"2.0","id":"x","method":"echo"}`, `{"jsonrpc":"2.0","id":"x","result":"none"}`},
	{`{"jsonrpc":"2.0","id":null,"method":"echo"}`, `{"jsonrpc":"2.0","id":null,"result":"none"}`},
	{`{"jsonrpc":"2.0","id":1.50,"method":"fail"}`, `{"jsonrpc":"2.0","id":1.50,"error":{"code":-32000,"message":"nonce too low"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"revert"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted","data":"0x08c379a0"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"panic"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the method failed"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}`, `{"jsonrpc":"2.0","id":1,"result":3}`},
	{`{"jsonrpc":"2.0","id":1,"method":"add","params":[1,null]}`, `{"jsonrpc":"2.0","id":1,"result":1}`},
	{`{"jsonrpc":"2.0","id":1,"method":"add"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"missing value for required argument 0"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"add","params":[null]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"missing value for required argument 0"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2,3]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"too many arguments, want at most 2"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"add","params":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be an array"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method eth_nothing does not exist/is not available"}}`},
	{`{"jsonrpc":"2.0","id":1,"method":"unsubscribe","params":["0x1"]}`, `{"jsonrpc":"2.0","id":1,"result":false}`},
	{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the array of calls is empty"}}`},
	{`[1,{"jsonrpc":"2.0","id":3,"method":"add","params":[4]},{"jsonrpc":"2.0","method":"add","params":[5]},{"jsonrpc":"2.0","id":"3","method":"fail"}]`,
		`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a call is a JSON object"}},{"jsonrpc":"2.0","id":3,"result":4},` +
			`{"jsonrpc":"2.0","id":"3","error":{"code":-32000,"message":"nonce too low"}}]`},
}

// eachCodec runs a test with each codec.
func eachCodec(t *testing.T, test func(*testing.T, jsonrpc.Options)) {
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) { test(t, jsonrpc.Options{Codec: codec}) })
	}
}

func TestPOST(t *testing.T) { eachCodec(t, testPOST) }

func testPOST(t *testing.T, o jsonrpc.Options) {
	_, url := serve(t, methods(), o)
	for _, tt := range talks {
		if status, got := post(t, url, tt.message); status != http.StatusOK || got != tt.answer {
			t.Errorf("%s\n got %d %s\nwant %s", tt.message, status, got, tt.answer)
		}
	}
	for _, message := range []string{`{"jsonrpc":"2.0","method":"fail"}`, `[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"none"}]`} {
		if status, got := post(t, url, message); status != http.StatusNoContent || got != "" {
			t.Errorf("%s: %d %s", message, status, got)
		}
	}
	if _, got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"subscribe"}`); !strings.Contains(got, `"code":-32601,"message":"notifications not supported"`) {
		t.Error(got)
	}
}

func TestRefusesRequests(t *testing.T) {
	_, url := serveBounded(t, methods(), jsonrpc.Options{}, func(b *jsonrpc.Bounds) { b.MaxMessage, b.MaxCalls = 1000, 3 })
	const call = `{"jsonrpc":"2.0","id":1,"method":"echo"}`
	for _, tt := range []struct {
		name, message string
		header        []string
		status        int
		contains      string
	}{
		{"no type", call, []string{"Content-Type", ""}, 415, "application/json"},
		{"a form", call, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{"text", call, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"two types", call, []string{"Content-Type", "application/json, text/plain"}, 415, "application/json"},
		{"text that names JSON", call, []string{"Content-Type", "text/plain; application/json"}, 415, "application/json-rpc"},
		{"JSON of another kind", call, []string{"Content-Type", "application/ld+json"}, 415, "application/jsonrequest"},
		{"not compressed", call, []string{"Content-Encoding", "identity"}, 200, "none"},
		{"compressed", call, []string{"Content-Encoding", "gzip"}, 415, "compressed"},
		{"as large as permitted", call + strings.Repeat(" ", 1000-len(call)), nil, 200, "none"},
		{"too large", call + strings.Repeat(" ", 1001-len(call)), nil, 413, "1000 bytes"},
		{"too many", "[" + call + "," + call + "," + call + "," + call + "]", nil, 200, `[{"jsonrpc":"2.0","id":1,"error":{"code":-32600`},
		{"no JSON", "{", nil, 200, "-32700"},
		{"nothing", "", nil, 200, "-32700"},
	} {
		if status, got := post(t, url, tt.message, tt.header...); status != tt.status || !strings.Contains(got, tt.contains) {
			t.Errorf("%s: %d %s", tt.name, status, got)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.MultiReader(strings.NewReader(strings.Repeat(" ", 1001)))) // chunked
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for range 2 {
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		want := http.StatusRequestEntityTooLarge
		if r.Method == http.MethodGet {
			want = http.StatusMethodNotAllowed
		}
		if answer.StatusCode != want {
			t.Errorf("%s: %s", r.Method, answer.Status)
		}
		r.Method, r.Body = http.MethodGet, nil
	}
}

func TestGuardsPOST(t *testing.T) {
	own, err := guard.New(guard.Options{Origins: []string{"https://shop.example"}})
	if err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, methods(), jsonrpc.Options{HTTP: own})
	guardtest.Refuses(t, http.DefaultClient, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
	guardtest.Allows(t, http.DefaultClient, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "https://shop.example")
	_, url = serve(t, methods(), jsonrpc.Options{})
	guardtest.Refuses(t, http.DefaultClient, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
}

func TestObserves(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	_, url := serve(t, methods(), jsonrpc.Options{Observe: func(method string, took time.Duration, code int) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %d %t", method, code, took > 0))
	}})
	post(t, url, `[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","method":"revert"},{"jsonrpc":"2.0","method":"x"},3]`)
	post(t, url, `x`)
	post(t, url, `x`, "Content-Type", "text/plain")
	want := []string{"echo 0 true", "revert 3 true", " -32601 false", " -32600 false", " -32700 false", " -32600 false"}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
}

func TestBoundsAnswers(t *testing.T) {
	_, url := serveBounded(t, methods(), jsonrpc.Options{}, func(b *jsonrpc.Bounds) { b.MaxAnswer = 100 })
	long := strings.Repeat("x", 100)
	if _, got := post(t, url, `[{"jsonrpc":"2.0","id":1,"method":"echo","params":["`+long+`"]}]`); !strings.Contains(got, "-32003") || strings.Contains(got, long) {
		t.Error(got)
	}
}

// Calls are not run any more when the answers before them are too large, when it takes too long,
// and when the client has gone.
func TestBoundsArrays(t *testing.T) {
	const calls = 100
	call := `{"jsonrpc":"2.0","id":1,"method":"run"}`
	array := "[" + strings.Repeat(call+",", calls-1) + call + "]"
	for _, tt := range []struct {
		name  string
		bound func(*jsonrpc.Bounds)
		run   func(gone context.CancelFunc)
		most  int64 // calls that are run
		code  string
	}{
		{"too large", func(b *jsonrpc.Bounds) { b.MaxAnswer = 10_500 }, nil, 11, "-32003"},
		{"too long", func(b *jsonrpc.Bounds) { b.MaxTime = time.Millisecond }, func(context.CancelFunc) { <-time.After(2 * time.Millisecond) }, 1, "-32002"},
		{"gone", func(*jsonrpc.Bounds) {}, func(gone context.CancelFunc) { gone() }, 1, "-32002"},
	} {
		var ran atomic.Int64
		ctx, gone := context.WithCancel(t.Context())
		s := jsonrpc.NewBounded(map[string]jsonrpc.Method{"run": func(context.Context, []byte) (any, error) {
			if ran.Add(1); tt.run != nil {
				tt.run(gone)
			}
			return strings.Repeat("x", 1000), nil
		}}, jsonrpc.Options{Codec: scan.Codec{}}, tt.bound)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/", strings.NewReader(array))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		gone()
		var answers []struct{ Error struct{ Code json.Number } }
		if err := json.Unmarshal(w.Body.Bytes(), &answers); err != nil || len(answers) != calls {
			t.Fatalf("%s: %d answers, %v", tt.name, len(answers), err)
		}
		if code := answers[calls-1].Error.Code.String(); code != tt.code || ran.Load() > tt.most {
			t.Errorf("%s: %d calls are run, want at most %d; the last one's error is %s, want %s", tt.name, ran.Load(), tt.most, code, tt.code)
		}
	}
}

// Calls of an array that follow each other are run in one go where their method can, and are
// answered and observed one by one.
func TestTogether(t *testing.T) {
	var groups []int
	var seen []string
	m := methods()
	m["send"] = func(_ context.Context, params []byte) (any, error) {
		if string(params) == `["panic"]` {
			panic("x")
		}
		return "alone", nil
	}
	_, url := serve(t, m, jsonrpc.Options{
		Together: map[string]func(context.Context, []jsonrpc.Call){"send": func(_ context.Context, calls []jsonrpc.Call) {
			groups = append(groups, len(calls))
			for i := range calls {
				if string(calls[i].Params) == `["panic"]` {
					panic("x")
				}
				if calls[i].Result = string(calls[i].Params); calls[i].Params == nil {
					calls[i].Error = jsonrpc.Errorf(jsonrpc.InvalidParams, "no parameter")
				}
			}
		}},
		Observe: func(method string, _ time.Duration, code int) { seen = append(seen, fmt.Sprint(method, code)) },
	})
	call := func(id int, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q%s}`, id, method, params)
	}
	send := func(calls ...string) string {
		_, text := post(t, url, "["+strings.Join(calls, ",")+"]")
		return text
	}
	got := send(call(1, "echo", ""), call(2, "send", `,"params":[2]`), call(3, "send", ""), `{"jsonrpc":"2.0","method":"send","params":[]}`,
		call(4, "echo", ""), call(5, "send", ""), call(6, "none", ""))
	want := `[{"jsonrpc":"2.0","id":1,"result":"none"},{"jsonrpc":"2.0","id":2,"result":"[2]"},{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no parameter"}},` +
		`{"jsonrpc":"2.0","id":4,"result":"none"},{"jsonrpc":"2.0","id":5,"result":"alone"},` +
		`{"jsonrpc":"2.0","id":6,"error":{"code":-32601,"message":"the method none does not exist/is not available"}}]`
	if got != want || !slices.Equal(groups, []int{3}) {
		t.Errorf("in groups of %v:\n got %s\nwant %s", groups, got, want)
	}
	if want := []string{"echo0", "send0", "send-32602", "send0", "echo0", "send0", "-32601"}; !slices.Equal(seen, want) {
		t.Errorf("observed %v, want %v", seen, want)
	}
	got = send(call(1, "send", `,"params":[1]`), call(2, "send", `,"params":["panic"]`), call(3, "send", `,"params":[3]`))
	want = `[{"jsonrpc":"2.0","id":1,"result":"[1]"},{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the method failed"}},` +
		`{"jsonrpc":"2.0","id":3,"result":"alone"}]`
	if got != want {
		t.Errorf("after a panic of one:\n got %s\nwant %s", got, want)
	}
}

// callTypes are Content-Types that clients send, in the ways they write them.
var callTypes = []string{
	"application/json", "application/json; charset=UTF-8", "Application/JSON;charset=\"utf-8\"", "application/json; charset=ISO-8859-1",
	"application/json; charset=utf-8; charset=utf-8", "application/json-rpc", "APPLICATION/JSON-RPC ;charset=utf-8", "application/jsonrequest",
	"application/jsonrequest; version=2; q",
}

func TestContentTypes(t *testing.T) {
	_, url := serve(t, methods(), jsonrpc.Options{})
	for _, kind := range callTypes {
		if status, got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "Content-Type", kind); status != http.StatusOK {
			t.Errorf("%q: %d %s", kind, status, got)
		}
	}
}
