package chain_test

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// collected is what a collector received.
type collected struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

// collect starts a collector.
func collect(t *testing.T) (url string, c *collected) {
	c = new(collected)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var request collector.ExportTraceServiceRequest
		zip, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		if body, err := io.ReadAll(zip); err != nil || proto.Unmarshal(body, &request) != nil {
			t.Error("no request", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, c
}

// inTrace returns each span of a trace as its parent's name and its own.
func (c *collected) inTrace(id string) map[string]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, out := map[string]string{}, map[string]*tracepb.Span{}
	for _, s := range c.spans {
		names[string(s.SpanId)] = s.Name
	}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == id {
			out[names[string(s.ParentSpanId)]+" > "+s.Name] = s
		}
	}
	return out
}

// traceOf returns the id of the nth trace of a test, and the header fields of a request in it.
func traceOf(n int) (id string, header []string) {
	id = fmt.Sprintf("%032x", n)
	return id, []string{"Traceparent", "00-" + id + "-00000000000000ff-01"}
}

// Spans lead from a request to the block on the disk, in the trace of its caller; a block that has
// transactions of two traces belongs to one, and names the other.
func TestSpans(t *testing.T) {
	t.Parallel()
	url, c := collect(t)
	// The second block comes long after the first, and has all that is sent then.
	n := serve(t, "--data", t.TempDir(), "--otlp", url, "--otlp-sample=0", "--set", "block_interval=5s")
	for i, count := range []int{1, 25, 24, 1} {
		var calls []string
		from := &chaintest.Account{Key: chaintest.DevelopmentKeys()[i]}
		for range count {
			raw, err := from.Send(common.Address{1}, 1).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["`+hexutil.Encode(raw)+`"]}`)
		}
		var header []string
		if i == 1 || i == 2 {
			_, header = traceOf(i)
		}
		if status, text := n.post("["+strings.Join(calls, ",")+"]", header...); status != http.StatusOK || strings.Contains(string(text), "error") {
			t.Fatalf("%d %s", status, text)
		}
		if i == 0 || i == 3 {
			block := fmt.Sprintf(`"0x%x"`, 1+i/3)
			servicetest.Await(t, func() string { return "block " + block }, func() bool { return n.ask("eth_blockNumber", "[]") == block })
		}
	}
	failing, header := traceOf(4)
	n.post(`{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[]}`, header...)
	if code := n.stop(); code != 0 {
		t.Fatal(code, n.stderr)
	}
	id, _ := traceOf(1)
	other, _ := traceOf(2)
	first := []string{" > /", "/ > rpc/http.request", "rpc/http.request > eth_sendRawTransaction", "eth_sendRawTransaction > eth_submitTransaction",
		"eth_submitTransaction > journal.Accept", "eth_submitTransaction > consensus/Seal", "consensus/Seal > core.CommitTransactions",
		"consensus/Seal > journal.Seal", "consensus/Seal > blockchain.WriteBlock"}
	for trace, want := range map[string][]string{id: first, other: first[:5], failing: {" > /", "/ > rpc/http.request", "rpc/http.request > eth_getBalance"}} {
		got := c.inTrace(trace)
		for _, name := range want {
			if got[name] == nil {
				t.Errorf("trace %s has no %q", trace, name)
			}
		}
		if len(got) != len(want) {
			t.Errorf("trace %s has %d spans, want %d: %v", trace, len(got), len(want), got)
		}
		if line := `trace_id=` + trace; !strings.Contains(n.stderr.String(), line) && !strings.Contains(n.stderr.String(), `"trace_id":"`+trace) {
			t.Errorf("no log line has %s:\n%s", line, n.stderr)
		}
	}
	if seal := c.inTrace(id)["eth_submitTransaction > consensus/Seal"]; seal != nil && (len(seal.Links) != 1 || hex.EncodeToString(seal.Links[0].TraceId) != other) {
		t.Errorf("the block is linked to %v, want %s", seal.Links, other)
	}
	if s := c.inTrace(failing)["rpc/http.request > eth_getBalance"]; s != nil && s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("a call with an error: %v", s.Status)
	}
}

// Each call of a WebSocket is a trace of its own, at the rate that the client sets.
func TestSpansOfSockets(t *testing.T) {
	t.Parallel()
	url, c := collect(t)
	n := serve(t, "--data", imported(t, public), "--read-only", "--otlp", url, "--otlp-sample=0")
	for _, rate := range []string{"1", "0", "none"} {
		ws, _, err := websocket.Dial(t.Context(), "ws://"+n.listen, &websocket.DialOptions{HTTPHeader: http.Header{"X-Trace-Sampling": {rate}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := ws.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := ws.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Fatal(err)
		}
	}
	if code := n.stop(); code != 0 {
		t.Fatal(code, n.stderr)
	}
	count := map[string]int{}
	for _, s := range c.spans {
		count[s.Name]++
		if len(s.ParentSpanId) > 0 {
			t.Errorf("%s has a parent", s.Name)
		}
	}
	if count["eth_chainId"] != 2 || count["/"] != 1 || len(count) != 2 {
		t.Errorf("spans %v", count)
	}
}

// Calls are logged at the rate of their method, or at the one that the client sets, with spans or
// without.
func TestLogSample(t *testing.T) {
	t.Parallel()
	url, _ := collect(t)
	for _, spans := range [][]string{nil, {"--otlp", url, "--otlp-sample=0"}} {
		args := append([]string{"--data", imported(t, public), "--read-only", "--log-sample=0", "--log-sample=eth_chainId=1", "--log-sample=eth_getBalance=1"}, spans...)
		n := serve(t, args...)
		const call = `{"jsonrpc":"2.0","id":1,"method":"%s","params":[]}`
		for range 3 {
			n.post(fmt.Sprintf(call, "eth_chainId"))
		}
		n.post("[" + fmt.Sprintf(call, "eth_getBalance") + "," + fmt.Sprintf(call, "net_version") + "]")
		n.post(fmt.Sprintf(call, "eth_chainId"), "X-Trace-Sampling", "0")
		n.post(fmt.Sprintf(call, "eth_gasPrice"), "X-Trace-Sampling", "1")
		if code := n.stop(); code != 0 {
			t.Fatal(code, n.stderr)
		}
		count := map[string]int{}
		for line := range strings.Lines(n.stderr.String()) {
			var logged struct {
				Msg, Method string
				Status      *int `json:"status_code"`
				Duration    time.Duration
				Trace       string `json:"trace_id"`
			}
			if json.Unmarshal([]byte(line), &logged) != nil || logged.Msg != "called" {
				continue
			}
			count[logged.Method]++
			if logged.Duration <= 0 || logged.Status == nil || (*logged.Status != 0) != (logged.Method == "eth_getBalance") || (logged.Trace == "") != (spans == nil) {
				t.Error(line)
			}
		}
		if want := map[string]int{"eth_chainId": 3, "eth_getBalance": 1, "eth_gasPrice": 1}; !maps.Equal(count, want) {
			t.Errorf("%v: lines %v, want %v", spans, count, want)
		}
	}
}

// Transactions that run together are logged, too, whichever transport reads them.
func TestLogSampleOfTransactions(t *testing.T) {
	t.Parallel()
	n := serve(t, "--data", t.TempDir(), "--log-sample=1")
	raw, err := (&chaintest.Account{Key: chaintest.DevelopmentKeys()[0]}).Send(common.Address{1}, 1).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	n.ask("eth_sendRawTransaction", `["`+hexutil.Encode(raw)+`"]`)
	if code := n.stop(); code != 0 || !strings.Contains(n.stderr.String(), `"method":"eth_sendRawTransaction","calls":1,`) {
		t.Error(code, n.stderr)
	}
}

func TestWrongLogSample(t *testing.T) {
	for sample, says := range map[string]string{"eth_chainID=1": "there is no method", "2": "is not between 0 and 1"} {
		var stderr lines
		if code := run(t.Context(), io.Discard, &stderr, "serve", "--listen=127.0.0.1:0", "--data", t.TempDir(), "--log-sample", sample); code != 2 || !strings.Contains(stderr.String(), says) {
			t.Errorf("%s: exit %d, %s", sample, code, &stderr)
		}
	}
}
