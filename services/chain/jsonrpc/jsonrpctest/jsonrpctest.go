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
