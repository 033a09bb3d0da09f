// Package jsonrpctest is the conformance suite of codecs of JSON-RPC: Test checks one against the
// specification and against bytes of an attacker, Agree compares several on any input, Bench
// measures one. It is for tests only and starts no goroutines.
package jsonrpctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"dyno/services/chain/jsonrpc"
)

// maxCalls is the bound of the suite's arrays.
const maxCalls = 100

func itoa(n int) string { return strconv.Itoa(n) }

// Test checks a codec. newCodec returns one that no other goroutine uses.
func Test(t *testing.T, newCodec func() jsonrpc.Codec) {
	t.Run("Decode", func(t *testing.T) { testDecode(t, newCodec()) })
	t.Run("NoJSON", func(t *testing.T) { testNoJSON(t, newCodec()) })
	t.Run("MaxCalls", func(t *testing.T) { testMaxCalls(t, newCodec()) })
	t.Run("Values", func(t *testing.T) { testValues(t, newCodec()) })
	t.Run("Answers", func(t *testing.T) { testAnswers(t, newCodec()) })
	t.Run("Again", func(t *testing.T) { testAgain(t, newCodec()) })
}

// describe returns what a codec makes of a message, in the form of Case.
func describe(c jsonrpc.Codec, message string) (code int, calls []string, array bool) {
	var b jsonrpc.Batch
	if no := c.Decode([]byte(message), maxCalls, &b); no != nil {
		return no.Code, nil, b.Array
	}
	for _, call := range b.Calls {
		id := "-"
		if call.ID != nil {
			id = string(call.ID)
		}
		if call.Error != nil {
			calls = append(calls, fmt.Sprintf("%s %d", id, call.Error.Code))
			continue
		}
		calls = append(calls, fmt.Sprintf("%s %s %s", id, call.Method, call.Params))
	}
	return 0, calls, b.Array
}

func testDecode(t *testing.T, c jsonrpc.Codec) {
	for _, want := range Cases {
		code, calls, array := describe(c, want.Message)
		if code != want.Code || fmt.Sprintf("%q", calls) != fmt.Sprintf("%q", want.Calls) {
			t.Errorf("%.300s\n got %d %.300q\nwant %d %.300q", want.Message, code, calls, want.Code, want.Calls)
		}
		if isArray := strings.HasPrefix(strings.TrimSpace(want.Message), "["); code == 0 && array != isArray {
			t.Errorf("%.300s: array %t", want.Message, array)
		}
	}
}

func testNoJSON(t *testing.T, c jsonrpc.Codec) {
	for _, text := range NoJSON {
		for _, form := range []string{`%s`, `[1,%s]`, `{"jsonrpc":"2.0","id":1,"method":"m","params":[1,%s]}`, `{"jsonrpc":"2.0","id":1,"method":"m","x":{"a":%s}}`} {
			message := fmt.Sprintf(form, text)
			if code, calls, _ := describe(c, message); code != jsonrpc.ParseError {
				t.Errorf("%q gives %d %q", message, code, calls)
			}
		}
	}
}

func testMaxCalls(t *testing.T, c jsonrpc.Codec) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"m"}`
	var b jsonrpc.Batch
	no := c.Decode([]byte(`[2,{"jsonrpc":"2.0","method":"m"},`+call+`,`+call+`]`), 3, &b)
	if no == nil || len(b.Calls) != 3 {
		t.Fatalf("%d calls of 4, %v", len(b.Calls), no)
	}
	b.Calls = b.Calls[1:]
	if got := string(jsonrpc.AppendRefusal(c, nil, &b, no)); got != `[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the array has 4 calls, and 3 are permitted"}}]` {
		t.Error(got)
	}
	b.Calls = b.Calls[:1]
	if got := string(jsonrpc.AppendRefusal(c, nil, &b, no)); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`) {
		t.Error(got)
	}
	for n, want := range map[int]int{1: 0, maxCalls: 0, maxCalls + 1: jsonrpc.InvalidRequest} {
		message := "[" + strings.Repeat(call+",", n-1) + call + "]"
		if code, calls, _ := describe(c, message); code != want || code == 0 && len(calls) != n {
			t.Errorf("%d calls give %d, %d calls", n, code, len(calls))
		}
	}
}

// text is a value with its own form.
type text string

func (x text) MarshalText() ([]byte, error) {
	if x == "" {
		return nil, errors.New("empty")
	}
	return []byte("0x" + x), nil
}

func testValues(t *testing.T, c jsonrpc.Codec) {
	var none *text
	for _, value := range []any{
		nil, true, false, "", "0x1", `"\/`, "<a&b>", "é😀", "\u2028\u2029\x7f", "\x00\x1f\n", 0, -1, uint64(math.MaxUint64), 0.1, 1e21, big.NewInt(1), []int(nil), []int{},
		[]string{"a", "b"}, [2]byte{1, 2}, []byte{1, 2}, map[string]any(nil), map[string]any{"b": 1, "a": nil}, text("a"), []text{"a"}, none,
		json.RawMessage(`{"a":[1,"<"]}`), json.RawMessage(nil),
		struct {
			B text     `json:"b"`
			A *big.Int `json:"a,omitempty"`
			C []byte   `json:"c"`
			D any
			E bool `json:"-"`
		}{B: "x"},
	} {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		got, err := c.AppendValue([]byte("x"), value)
		if err != nil || string(got) != "x"+strings.TrimSuffix(want.String(), "\n") {
			t.Errorf("%T %v is %s, %v; want %s", value, value, got, err, want.String())
		}
	}
	var repaired string
	if got, err := c.AppendValue(nil, "a\xffb"); err != nil || json.Unmarshal(got, &repaired) != nil || repaired != "a\ufffdb" {
		t.Errorf("bytes that are not UTF-8 are %q, %v", got, err)
	}
	for _, value := range []any{math.NaN(), math.Inf(1), make(chan int), text(""), []text{""}, func() {}} {
		if got, err := c.AppendValue(nil, value); err == nil {
			t.Errorf("%T is %s", value, got)
		}
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
	if got := jsonrpc.AppendError(c, nil, jsonrpc.NoJSON("x")); string(got) != `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not valid JSON: x"}}` {
		t.Errorf("%s", got)
	}
}

// A message leaves nothing behind for the next one.
func testAgain(t *testing.T, c jsonrpc.Codec) {
	var b jsonrpc.Batch
	for range 2 {
		for _, tt := range Cases {
			before, _, _ := describe(c, tt.Message)
			b.Reset()
			no := c.Decode([]byte(tt.Message), maxCalls, &b)
			if (no == nil) != (before == 0) || no == nil && len(b.Calls) != len(tt.Calls) {
				t.Errorf("%.200s: %v, then %d", tt.Message, no, before)
			}
		}
	}
}

// Agree checks that codecs make the same of a message, whatever it is. The texts of errors may
// differ.
func Agree(t *testing.T, message []byte, codecs map[string]jsonrpc.Codec) {
	t.Helper()
	first, firstName := "", ""
	for name, c := range codecs {
		code, calls, array := describe(c, string(message))
		got := fmt.Sprintf("%d %q", code, calls)
		if code == 0 {
			got += fmt.Sprintf(" array %t", array)
		}
		if firstName == "" {
			first, firstName = got, name
		}
		if got != first {
			t.Errorf("%q: %s has %s, %s has %s", message, firstName, first, name, got)
		}
	}
}
