package dyno

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inside has, for a room, which of its own packages may import which, from the top down: a row may
// import rows below it only. A path is relative to the room, and "." is the room's root package.
// Tests may import all.
var inside = map[string][]room{
	"services/notify": {
		{".", []string{"api", "ingest", "backlog", "routing", "delivery", "webhook", "store", "dedup", "push", "page", "backup", "apikey"},
			"assembles the service, and decides nothing"},
		{"api", []string{"ingest", "backlog", "routing", "delivery", "store", "push", "journal", "notice"},
			"the form of requests and answers; what a request does is below"},
		{"ingest", []string{"backlog", "routing", "delivery", "webhook", "store", "dedup", "push", "notice"},
			"hands a notice down to those that want it, and knows no answer's form"},
		{"backlog", []string{"routing", "delivery", "webhook", "store", "dedup", "journal", "notice"},
			"fills what delivery has room for; nothing below waits for it"},
		{"routing", []string{"delivery", "webhook", "store", "journal", "notice", "topic"},
			"which subscription wants a notice, whichever way the notice comes"},
		{"delivery", []string{"webhook", "wheel", "journal", "notice"},
			"sends what it has; it knows neither subscriptions' wishes nor the log of notices"},
		{"webhook", []string{"journal", "notice"}, "one request and its outcome; it knows no queue"},
		{"store", []string{"jetstream", "journal", "notice"}, "the logs; it does not know who is owed what"},
		{"push", []string{"topic"}, "streams over any log"},
		{"apikey", []string{"topic"}, "who may call which types"},
		{"soak", nil, "drives the program from outside, so that it can drive any that has the API"},
		{"notifytest", nil, "the black-box suite knows the API only"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"*", nil, "one mechanism, of use without the others"},
	},
	"services/orders": {
		{".", []string{"release", "web", "cache", "store", "auth", "message", "encode", "postgres", "order"}, "assembles the gateway: what happens to a request, in its order"},
		{"release", []string{"web"}, "two versions of any handler; it knows no order"},
		{"web", nil, "HTTP, whichever server reads it; it knows no order"},
		{"cache", []string{"order"}, "orders in memory; it asks no database"},
		{"store", []string{"order"}, "the database, wherever it runs"},
		{"auth", []string{"order"}, "whose request it is"},
		{"message", []string{"order"}, "a submission's formats"},
		{"encode", []string{"order"}, "an answer's formats"},
		{"ordertest", []string{"postgres"}, "the black-box suite knows the API and the database only"},
		{"soak", nil, "drives the program from outside, so that it can drive any that has the API"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"postgres", nil, "a server for any database"},
		{"order", nil, "the domain, on which all of the others stand"},
	},
	"services/ledger": {
		{".", []string{"backfill", "serve", "mirror", "follow", "store", "pace", "ratecontrol", "rippled", "shard", "trust", "history"}, "assembles the commands' jobs"},
		{"backfill", []string{"pace", "rippled", "shard", "trust", "history"}, "the pipeline, over any store"},
		{"serve", []string{"store", "history"}, "answers from what is stored"},
		{"mirror", []string{"store", "history"}, "passes on what is stored"},
		{"follow", []string{"rippled", "trust", "history"}, "the top of the chain, over any store"},
		{"store", []string{"trust", "history"}, "the disk; it knows no server"},
		{"pace", []string{"ratecontrol", "rippled", "history"}, "which server to ask, and how fast; it knows no work"},
		{"soak", []string{"ledgertest", "sim"}, "drives the command from outside"},
		{"ledgertest", []string{"sim", "history"}, "the black-box suite knows the commands only"},
		{"sim", []string{"history"}, "servers that fail on demand, of which the product knows nothing"},
		{"plain", nil, "the day-one program shares nothing with what it is compared with"},
		{"rippled", []string{"history"}, "one server"},
		{"shard", []string{"history"}, "what to request next; pure"},
		{"trust", []string{"history"}, "what proves a ledger; it knows neither servers nor disk"},
		{"ratecontrol", nil, "a rate, for any remote budget"},
		{"history", nil, "ranges of ledgers, on which all of the others stand"},
	},
	"lab/report": {
		{"reporttest", []string{"html", "jsonv1", "text", ".", "curve", "flame", "inside", "series", "turns", "words", "figure"}, "finished experiments for tests"},
		{"html", []string{".", "curve", "flame", "inside", "series", "turns", "words", "figure"}, "one output; it knows no other"},
		{"jsonv1", []string{".", "curve", "flame", "inside", "series", "turns", "words", "figure"}, "one output; it knows no other"},
		{"text", []string{".", "curve", "flame", "inside", "series", "turns", "words", "figure"}, "one output; it knows no other"},
		{".", []string{"curve", "flame", "inside", "series", "turns", "words", "figure"}, "the model, which knows no output"},
		{"curve", []string{"flame", "inside", "series", "turns", "words", "figure"}, "a part of the model"},
		{"flame", []string{"words", "figure"}, "a part of the model"},
		{"inside", []string{"words", "figure"}, "a part of the model"},
		{"series", []string{"words", "figure"}, "a part of the model"},
		{"turns", []string{"words", "figure"}, "a part of the model"},
		{"words", []string{"figure"}, "how verdicts read"},
		{"figure", nil, "how figures read"},
	},
	"lab/live": {
		{".", []string{"livetest", "sides"}, "serves what the packages below make"},
		{"livetest", nil, "what tests serve"},
		{"sides", nil, "what a page shows of each side"},
	},
}

// Inside a room that has a table, imports point down as well.
func TestArrowsInsidePointDown(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for outer, rows := range inside {
			dir, ok := inner(outer, filepath.ToSlash(filepath.Dir(file)))
			if !ok {
				continue
			}
			for _, imported := range importsOf(t, file) {
				imported, _ = strings.CutPrefix(imported, module+"/")
				if to, ok := inner(outer, imported); ok && !permitted(rows, dir, to) {
					t.Errorf("%s imports %s: %s", file, imported, rows[rowOf(rows, dir)].reason)
				}
			}
		}
	}
}

// Each row of a room's inside imports rows below it only, so that there is one direction.
func TestInsideHasOneDirection(t *testing.T) {
	for outer, rows := range inside {
		for i, from := range rows {
			for _, to := range from.imports {
				if rowOf(rows, to) <= i {
					t.Errorf("%s: the row of %s permits %s, which is not below it", outer, from.dir, to)
				}
			}
		}
	}
}

// inner returns a folder's path from the room that it is in.
func inner(outer, dir string) (string, bool) {
	if dir == outer {
		return ".", true
	}
	return strings.CutPrefix(dir, outer+"/")
}

// rowOf is the index of the row that holds for a folder; -1 means none.
func rowOf(rows []room, dir string) int {
	return slices.IndexFunc(rows, func(r room) bool { return within(r.dir, dir) && (r.dir == ".") == (dir == ".") })
}

// permitted reports whether a folder may import another inside the same room.
func permitted(rows []room, from, to string) bool {
	i := rowOf(rows, from)
	return i >= 0 && (sameRoom(rows[i].dir, from, to) || slices.ContainsFunc(rows[i].imports, func(r string) bool { return r == to || r != "." && within(r, to) }))
}
