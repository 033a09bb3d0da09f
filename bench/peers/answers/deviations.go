package main

import (
	"strings"

	"dyno/bench/peers/ethnodes"
)

// deviations are the ways in which chaind's answers differ on purpose; docs/reference/chaind-api.md
// has those that users meet.
var deviations = []struct {
	reason string
	is     func(method, body string, chaind, geth ethnodes.Answer) bool
}{
	{"an answer has a bound, of which go-ethereum has none", func(_, _ string, chaind, geth ethnodes.Answer) bool {
		return chaind.Error != nil && chaind.Error.Code == -32005 && geth.Error == nil
	}},
	{"a block that is sealed is safe and final; go-ethereum waits for another client to say so", func(_, body string, _, geth ethnodes.Answer) bool {
		named := strings.Contains(body, `"safe"`) || strings.Contains(body, `"finalized"`)
		return named && (geth.Error == nil && string(geth.Result) == "null" || geth.Error != nil && strings.HasSuffix(geth.Error.Message, "block not found"))
	}},
	{"go-ethereum's method crashed", func(_, _ string, _, geth ethnodes.Answer) bool {
		return geth.Error != nil && geth.Error.Code == -32603 && geth.Error.Message == "method handler crashed"
	}},
}

// deviation names the reason why two answers differ; empty: there is none.
func deviation(method string, body []byte, chaind, geth ethnodes.Answer) string {
	for _, d := range deviations {
		if d.is(method, strings.TrimSpace(string(body)), chaind, geth) {
			return d.reason
		}
	}
	return ""
}
