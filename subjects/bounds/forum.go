package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"dyno/subjects/bounds/suite"
)

var forum = suite.Entry{
	Name: "churn", Family: "gc", Truth: "gc", Function: "main.(*forumPage).thread",
	InWords: "each request builds a tree of some thousand small comments, each with a map and strings, and throws it away",
	Method:  "GET", Path: "/thread", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "half as many comments", Scale: map[string]float64{"comments": 0.5}, CPU: 0.5, Compute: "main.(*forumPage).thread"}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		f := &forumPage{replies: d.Between("replies", 2, 4), comments: d.Between("comments", 600, 2_000)}
		return func() (*suite.Service, error) { return suite.Serving("GET /thread", f.show), nil }
	},
}

type comment struct {
	id      int
	author  string
	likes   map[string]int
	parent  *comment
	replies []*comment
}

// forumPage shows the depth of a discussion, under a seal that takes a number of rounds.
type forumPage struct{ replies, comments, rounds int }

func (f *forumPage) show(w http.ResponseWriter, _ *http.Request) {
	first := f.thread()
	fmt.Fprintf(w, "%d deep, %x\n", first.depth(), stretch([]byte(first.author), f.rounds))
}

// thread creates the comments level by level and returns the first.
func (f *forumPage) thread() *comment {
	all := []*comment{{author: "first"}}
	for i := 0; len(all) < f.comments; i++ {
		parent := all[i]
		for range f.replies {
			c := &comment{id: len(all), author: strings.Repeat("x", 8+len(all)%16), parent: parent, likes: map[string]int{}}
			c.likes[c.author] = c.id
			parent.replies = append(parent.replies, c)
			all = append(all, c)
		}
	}
	return all[0]
}

func (c *comment) depth() int {
	deepest := 0
	for _, r := range c.replies {
		deepest = max(deepest, r.depth())
	}
	return deepest + 1
}

var filters = suite.Entry{
	Name: "strings", Family: "gc", Truth: "gc", Function: "main.(*filterPage).normalize",
	InWords: "each request parses some hundred query strings into small objects and joins them again",
	Method:  "GET", Path: "/filters", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		queries, fields := d.Between("queries", 200, 500), d.Between("fields", 4, 8)
		return func() (*suite.Service, error) {
			return suite.Serving("GET /filters", newFilterPage(queries, fields).show), nil
		}
	},
}

// filterPage normalizes saved filters.
type filterPage struct{ saved []string }

func newFilterPage(queries, fields int) *filterPage {
	p := &filterPage{}
	for i := range queries {
		q := url.Values{}
		for f := range fields {
			q.Add(fmt.Sprintf("field%d", f), fmt.Sprintf("value%d", i))
		}
		p.saved = append(p.saved, q.Encode())
	}
	return p
}

func (p *filterPage) show(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, "%d bytes\n", len(p.normalize()))
}

type field struct {
	name   string
	values []string
}

func (p *filterPage) normalize() string {
	var fields []*field
	for _, query := range p.saved {
		for _, pair := range strings.Split(query, "&") {
			kv := strings.Split(pair, "=")
			fields = append(fields, &field{kv[0], []string{kv[1]}})
		}
	}
	var lines []string
	for _, f := range fields {
		lines = append(lines, f.name+": "+f.values[0])
	}
	return strings.Join(lines, "\n")
}

var signedForum = suite.Entry{
	Name: "mixed-cpu-gc", Family: "mixed", Truth: "cpu", Also: []string{"gc"}, Function: "main.(*forumPage).thread",
	InWords: "each request builds a tree of comments and throws it away, and hashes: about half of the CPU is allocating and collecting",
	Method:  "GET", Path: "/thread", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		f := &forumPage{replies: d.Between("replies", 2, 4), comments: d.Between("comments", 600, 2_000)}
		f.rounds = f.comments * d.Between("rounds_per_comment", 2, 4)
		return func() (*suite.Service, error) { return suite.Serving("GET /thread", f.show), nil }
	},
}
