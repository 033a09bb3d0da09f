package jsonrpc_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/scan"
)

var codecs = map[string]jsonrpc.Codec{"std": jsonrpc.Std{}, "scan": scan.Codec{}}

func TestAnswers(t *testing.T) {
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) { testAnswers(t, codec) })
	}
}

func testAnswers(t *testing.T, c jsonrpc.Codec) {
	fail := &jsonrpc.Error{Code: jsonrpc.Reverted, Message: `execution <reverted> "x"`, Data: "0x08c3"}
	id := func(s string) []byte { return []byte(s) }
	for _, tt := range []struct {
		b    jsonrpc.Batch
		max  int
		want string
	}{
		{jsonrpc.Batch{Calls: []jsonrpc.Call{{ID: id("1"), Result: "0x"}}}, 1000, `{"jsonrpc":"2.0","id":1,"result":"0x"}`},
		{jsonrpc.Batch{Calls: []jsonrpc.Call{{ID: id(`"<é\u0031"`)}}}, 1000, `{"jsonrpc":"2.0","id":"<é\u0031","result":null}`},
		{jsonrpc.Batch{Calls: []jsonrpc.Call{{ID: id("1"), Error: fail}}}, 1000,
			`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution <reverted> \"x\"","data":"0x08c3"}}`},
		{jsonrpc.Batch{Calls: []jsonrpc.Call{{Result: "0x"}}}, 1000, ``},
		{jsonrpc.Batch{Array: true, Calls: []jsonrpc.Call{{Result: "0x"}, {Error: fail}}}, 1000, ``},
		{jsonrpc.Batch{Array: true, Calls: []jsonrpc.Call{{ID: id("1")}}}, 1000, `[{"jsonrpc":"2.0","id":1,"result":null}]`},
		{jsonrpc.Batch{Array: true, Calls: []jsonrpc.Call{{}, {ID: id("2"), Result: 1}, {}, {ID: id("2"), Result: 2}, {}}}, 1000,
			`[{"jsonrpc":"2.0","id":2,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]`},
		{jsonrpc.Batch{Array: true, Calls: []jsonrpc.Call{{ID: id("1"), Result: math.NaN()}, {ID: id("2"), Error: &jsonrpc.Error{Data: func() {}}}, {ID: id("3"), Result: 1}}}, 1000,
			`[{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the result cannot be written as JSON"}},` +
				`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the result cannot be written as JSON"}},{"jsonrpc":"2.0","id":3,"result":1}]`},
		{jsonrpc.Batch{Array: true, Calls: []jsonrpc.Call{{ID: id("1"), Result: 1}, {ID: id("2"), Result: strings.Repeat("x", 200)}, {ID: id("3"), Result: 3}}}, 200,
			`[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"error":{"code":-32003,"message":"the answers of the array are too large"}},` +
				`{"jsonrpc":"2.0","id":3,"result":3}]`},
	} {
		if got := jsonrpc.AppendAnswers(c, []byte("y"), &tt.b, tt.max); string(got) != "y"+tt.want {
			t.Errorf("got  %s\nwant y%s", got, tt.want)
		}
	}
	got, err := jsonrpc.AppendNotification(c, nil, "eth_subscription", "0x9", map[string]any{"a": 1})
	if want := `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x9","result":{"a":1}}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := jsonrpc.AppendNotification(c, nil, "n", "0x9", math.NaN()); err == nil {
		t.Error("NaN is a result")
	}
	if got := jsonrpc.AppendWholeError(c, nil, jsonrpc.NoJSON("x")); string(got) != `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not valid JSON: x"}}` {
		t.Errorf("%s", got)
	}
}

// An array with too many calls has one answer, with the id of the first call that has one.
func TestRefusal(t *testing.T) {
	call := func(id string) jsonrpc.Call { return jsonrpc.Call{ID: []byte(id)} }
	for _, tt := range []struct {
		calls []jsonrpc.Call
		want  string
	}{
		{[]jsonrpc.Call{{}, call("1"), call("2")}, `[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"too many"}}]`},
		{[]jsonrpc.Call{{}}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"too many"}}`},
	} {
		b := jsonrpc.Batch{Array: true, Calls: tt.calls}
		if got := string(jsonrpc.AppendRefusal(jsonrpc.Std{}, nil, &b, &jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: "too many"})); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// raw is a codec whose values are JSON.
type raw struct{ jsonrpc.Std }

func (raw) AppendValue(to []byte, value any) ([]byte, error) {
	return append(to, value.(json.RawMessage)...), nil
}

// The envelope of an answer costs no allocation.
func TestAnswerAllocations(t *testing.T) {
	var result any = json.RawMessage(`"0x1"`)
	var answer []byte
	b := jsonrpc.Batch{Array: true, Calls: []jsonrpc.Call{{ID: []byte("1")}, {ID: []byte(`"2"`)}}}
	codec := jsonrpc.Codec(raw{})
	if n := testing.AllocsPerRun(1000, func() {
		for i := range b.Calls {
			b.Calls[i].Result = result
		}
		answer = jsonrpc.AppendAnswers(codec, answer[:0], &b, 1000)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
