package main

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"dyno/subjects/bounds/suite"
)

var sessions = suite.Entry{
	Name: "liveheap", Family: "gc", Truth: "gc", Function: "main.(*sessionStore).recent",
	InWords: "millions of sessions stay in memory, full of pointers, and each request allocates some 100 KB: every GC cycle marks them all",
	Method:  "GET", Path: "/recent", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		n, rows := d.Between("sessions", 1_500_000, 2_500_000), d.Between("rows", 600, 1_200)
		return func() (*suite.Service, error) {
			s := newSessionStore(n, rows)
			return suite.ServingUntil("GET /recent", s.show, s.close), nil
		}
	},
}

// session is some 100 bytes with six pointers; another 32 are what they point to.
type session struct {
	id          int
	user        *string
	left, right *session
	newer       *session
	seen        [2]*int64
	token       []byte
	_           [3]int64
}

// sessionStore keeps all sessions, newest first, and as a tree.
type sessionStore struct {
	newest *session
	rows   int
}

// newSessionStore fills the store, with the collector off: it would only mark objects that stay.
func newSessionStore(n, rows int) *sessionStore {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	names := []string{"ada", "bob", "eve", "joe"}
	sessions := make([]*session, n)
	for i := range sessions {
		seen := new(int64)
		s := &session{id: i, user: &names[i%len(names)], seen: [2]*int64{seen, seen}, token: make([]byte, 16)}
		if i > 0 {
			parent := sessions[(i-1)/2]
			if i%2 == 1 {
				parent.left = s
			} else {
				parent.right = s
			}
			s.newer = sessions[i-1]
		}
		sessions[i] = s
	}
	return &sessionStore{newest: sessions[n-1], rows: rows}
}

func (s *sessionStore) close() { s.newest = nil }

func (s *sessionStore) show(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, "%d sessions\n", len(s.recent()))
}

type row struct {
	user  *string
	id    int
	token [96]byte
}

// recent returns copies of the newest sessions.
func (s *sessionStore) recent() []*row {
	rows := make([]*row, 0, s.rows)
	for next := s.newest; next != nil && len(rows) < s.rows; next = next.newer {
		r := &row{user: next.user, id: next.id}
		copy(r.token[:], next.token)
		rows = append(rows, r)
	}
	return rows
}
