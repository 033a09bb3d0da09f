package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"dyno/bench/peers/ethnodes"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

// Chaind answers what go-ethereum answers.
func TestAnswers(t *testing.T) {
	quicktest.Skip(t, "builds chaind, and asks two nodes 10,000 questions")
	geth, err := exec.LookPath("../../../dyno-out/geth")
	if err != nil {
		t.Skipf("no dyno-out/geth, so no answer is compared with its; make rivals builds it: %v", err)
	}
	var builds processtest.Builds
	defer builds.Remove()
	const archive = "../../../services/chain/testdata/archive/"
	o := options{chaind: builds.Program(t, "dyno/services/chain/cmd/chaind"), geth: geth,
		genesis: archive + "genesis.json", blocks: archive + "chain.rlp", questions: 10_000, seed: 1, show: 20}
	var out strings.Builder
	err = o.run(t.Context(), &out)
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		chaind, geth string
		want         []string
	}{
		{`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		{`{"a":[1,{"b":null}]}`, `{"a":[1,{}]}`, []string{"result.a[1].b: chaind has it: true, geth: false"}},
		{`{"a":[1]}`, `{"a":[1,2]}`, []string{"result.a: geth [1,2], chaind [1]"}},
		{`{"a":"0x1","b":2}`, `{"a":"0x2","b":3}`, []string{`result.a: geth "0x2", chaind "0x1"`, "result.b: geth 3, chaind 2"}},
		{`null`, `"0x"`, []string{`result: geth "0x", chaind null`}},
	} {
		if got := differences("result", parse(json.RawMessage(tt.chaind)), parse(json.RawMessage(tt.geth))); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s and %s: %q, want %q", tt.chaind, tt.geth, got, tt.want)
		}
	}
}

// What differs is counted and printed, texts of errors are only counted, and a bound is documented.
func TestTally(t *testing.T) {
	result := func(text string) ethnodes.Answer { return ethnodes.Answer{Result: json.RawMessage(text)} }
	refused := func(code int, text string) ethnodes.Answer {
		return ethnodes.Answer{Error: &ethnodes.Error{Code: code, Message: text}}
	}
	for _, tt := range []struct {
		chaind, geth ethnodes.Answer
		differ       bool
		printed      string
	}{
		{result(`1`), result(`1`), false, "1 questions, 0 of them errors, 0 answers differ"},
		{result(`1`), result(`2`), true, "result: geth 2, chaind 1"},
		{refused(-32000, "a"), refused(-32000, "b"), false, `1 errors with another text: geth "b", chaind "a"`},
		{refused(-32000, "a"), refused(3, "a"), true, "error: geth"},
		{result(`1`), refused(3, "a"), true, "error: geth"},
		{refused(-32005, "too large"), result(`1`), false, "1 documented deviations: an answer has a bound"},
	} {
		var out strings.Builder
		tally := tally{out: &out, show: 1, methods: map[string]*counts{}, documented: map[string]int{}, texts: map[string]int{}}
		if !tally.add("m", []byte("{}"), tt.chaind, tt.geth) {
			tally.differ("m", []byte("{}"), tt.chaind, tt.geth, tt.geth)
		}
		if err := tally.print(); (err != nil) != tt.differ || !strings.Contains(out.String(), tt.printed) {
			t.Errorf("%+v and %+v: %v, %s", tt.chaind, tt.geth, err, out.String())
		}
	}
}

// A program that is missing is named with what builds it.
func TestMissing(t *testing.T) {
	err := options{chaind: os.Args[0], geth: "missing"}.run(t.Context(), new(strings.Builder))
	if err == nil || !strings.Contains(err.Error(), "make rivals") {
		t.Error(err)
	}
	if _, err := chosen("call,nothing"); err == nil || !strings.Contains(err.Error(), "simulate") {
		t.Error(err)
	}
}
