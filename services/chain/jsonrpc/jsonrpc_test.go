package jsonrpc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dyno/services/chain/jsonrpc"
)

func TestParams(t *testing.T) {
	for params, want := range map[string]string{
		``:                 "missing value for required argument 0",
		`[]`:               "missing value for required argument 0",
		`[null]`:           "missing value for required argument 0",
		`["a"]`:            "a 7",
		`[ "a" , null ]`:   "a 7",
		`["a",1]`:          "a 1",
		`["a",1,null]`:     "too many arguments, want at most 2",
		`{"a":1}`:          "params must be an array",
		`["a","b"]`:        "invalid argument 1: ",
		`[{"a":1},1]`:      "invalid argument 0: ",
		`["\u0061\n",1e2]`: "invalid argument 1: ",
	} {
		text, number := "", 7
		var raw []byte
		if params != "" {
			raw = []byte(params)
		}
		got := ""
		if err := jsonrpc.Params(raw, 1, &text, &number); err == nil {
			got = fmt.Sprint(text, " ", number)
		} else if got = err.Error(); jsonrpc.AsError(err).Code != jsonrpc.InvalidParams {
			t.Errorf("%s: code %d", params, jsonrpc.AsError(err).Code)
		}
		if got != want && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

func TestOneString(t *testing.T) {
	for params, want := range map[string]string{
		`["0x12"]`: "0x12", "[ \"a\"\n]": "a", `[""]`: "",
		``: "-", `[]`: "-", `{}`: "-", `[1]`: "-", `["a","b"]`: "-", `["a",1]`: "-", `[1,"a"]`: "-", `["\u0061"]`: "-", `["a\""]`: "-", `[["a"]]`: "-", `[null]`: "-",
	} {
		text, err := jsonrpc.OneString([]byte(params))
		if err != nil {
			text = []byte("-")
			if jsonrpc.AsError(err).Code != jsonrpc.InvalidParams {
				t.Errorf("%s: %v", params, err)
			}
		}
		if string(text) != want {
			t.Errorf("%s: %s, want %s", params, text, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { jsonrpc.OneString([]byte(`["0x12"]`)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAsError(t *testing.T) {
	revert := &jsonrpc.Error{Code: jsonrpc.Reverted, Message: "execution reverted", Data: "0x"}
	if got := jsonrpc.AsError(fmt.Errorf("calling: %w", revert)); got != revert {
		t.Errorf("%+v", got)
	}
	if got := jsonrpc.AsError(errors.New("nonce too low")); got.Code != jsonrpc.ServerError || got.Message != "nonce too low" {
		t.Errorf("%+v", got)
	}
}
