package evm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/services/chain/api/evm"
)

// A filter answers the calls of the blocks that it names, or those with one or both ends in its lists,
// in the order of the chain.
func TestTraceFilter(t *testing.T) {
	n := node(t)
	all := evm.Methods(n, evm.Options{Gas: patient.Gas, Timeout: time.Hour, MaxTrace: 1 << 30})
	head := n.States.Head().Number.Uint64()
	var every []json.RawMessage
	for number := range head + 1 {
		var calls []json.RawMessage
		parse(t, ask(t, all, "trace_block", fmt.Sprintf(`["%#x"]`, number)), &calls)
		every = append(every, calls...)
	}
	filter := func(members string) (calls []json.RawMessage) {
		t.Helper()
		parse(t, ask(t, all, "trace_filter", `[{"fromBlock":"0x0"`+members+`}]`), &calls)
		return calls
	}
	equal := func(a, b []json.RawMessage) bool {
		return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return string(x) == string(y) })
	}
	if got := filter(""); !equal(got, every) || len(every) < 100 {
		t.Fatalf("%d calls, want %d", len(got), len(every))
	}
	if got := filter(`,"after":7,"count":5`); !equal(got, every[7:12]) {
		t.Errorf("of a part: %d calls", len(got))
	}
	// Each kind of call is found by its ends.
	seen := map[string]bool{}
	for _, text := range every {
		var c struct {
			Type   string
			Action struct{ From, To, Address, RefundAddress string }
			Result struct{ Address string }
		}
		parse(t, string(text), &c)
		from, to := c.Action.From, c.Action.To+c.Result.Address
		if c.Type == "suicide" {
			from, to = c.Action.Address, c.Action.RefundAddress
		}
		if seen[c.Type] || to == "" {
			continue
		}
		seen[c.Type] = true
		ends := fmt.Sprintf(`,"fromAddress":[%q],"toAddress":["0x%040d",%q]`, from, 0, to)
		either := filter(ends)
		got := filter(ends + `,"mode":"intersection"`)
		if n := len(filter(fmt.Sprintf(`,"fromAddress":[%q]`, from))) + len(filter(ends[strings.Index(ends, `,"toAddress"`):])) - len(got); len(either) != n || !equal(either, filter(ends+`,"mode":"union"`)) {
			t.Errorf("from %s or to %s: %d calls, want %d", from, to, len(either), n)
		}
		found := slices.ContainsFunc(got, func(g json.RawMessage) bool { return string(g) == string(text) })
		for _, g := range got {
			found = found && strings.Contains(string(g), from[2:])
		}
		if !found || len(got) == len(every) {
			t.Errorf("from %s to %s: %d calls, without %s", from, to, len(got), text)
		}
	}
	if !seen["call"] || !seen["create"] {
		t.Errorf("the chain has only %v", seen)
	}
	if got := ask(t, all, "trace_filter", `[{"mode":"both"}]`); !strings.Contains(got, "want union or intersection") {
		t.Errorf("an unknown mode: %.200s", got)
	}
	small := patient
	small.MaxTrace = 20_000
	if got := ask(t, evm.Methods(n, small), "trace_filter", `[{"fromBlock":"0x0"}]`); !strings.Contains(got, "too large") {
		t.Errorf("many calls: %.200s", got)
	}
}
