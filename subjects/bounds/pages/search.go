package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"dyno/subjects/bounds/suite"
)

var Search = suite.Entry{
	Name: "regexp", Family: "cpu", Truth: "cpu", Function: "dyno/subjects/bounds/pages.(*archive).count",
	InWords: "each request matches a regular expression against a few hundred lines of a log",
	Method:  "GET", Path: "/count", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		lines := d.Between("lines", 200, 600)
		return func() (*suite.Service, error) { return suite.Serving("GET /count", newArchive(lines).count), nil }
	},
}

// archive is a log that can be searched.
type archive struct {
	lines [][]byte
	slow  *regexp.Regexp
}

func newArchive(n int) *archive {
	a := &archive{slow: regexp.MustCompile(`(GET|POST) /(\w+/)*\w+ (4|5)\d\d [1-9]\d\d\d?ms$`)}
	for i := range n {
		a.lines = append(a.lines, fmt.Appendf(nil, "10.0.0.%d GET /shop/items/%d %d %dms", i%256, i, 200+i%4*100, i*13%1500))
	}
	return a
}

func (a *archive) count(w http.ResponseWriter, _ *http.Request) {
	n := 0
	for _, line := range a.lines {
		if a.slow.Match(line) {
			n++
		}
	}
	w.Write(strconv.AppendInt(nil, int64(n), 10))
}

var Ranking = suite.Entry{
	Name: "sort", Family: "cpu", Truth: "cpu", Function: "dyno/subjects/bounds/pages.(*league).table",
	InWords: "each request sorts some thousand players by name and score, in slices that are used again",
	Method:  "GET", Path: "/table", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		players := d.Between("players", 1_000, 4_000)
		return func() (*suite.Service, error) { return suite.Serving("GET /table", newLeague(players).table), nil }
	},
}

type player struct {
	name  []byte
	score int
}

// league ranks players.
type league struct {
	players []player
	tables  sync.Pool
}

func newLeague(n int) *league {
	l := &league{}
	for i := range n {
		l.players = append(l.players, player{fmt.Appendf(nil, "player %d", i*7919%n), i * 31 % 97})
	}
	l.tables.New = func() any { t := make([]player, n); return &t }
	return l
}

func (l *league) table(w http.ResponseWriter, _ *http.Request) {
	t := l.tables.Get().(*[]player)
	defer l.tables.Put(t)
	copy(*t, l.players)
	slices.SortFunc(*t, func(a, b player) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return bytes.Compare(a.name, b.name)
	})
	w.Write((*t)[0].name)
}
