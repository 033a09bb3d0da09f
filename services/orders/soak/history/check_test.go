package history

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// story writes histories line by line. Order 1 is endless, orders 2 and 4 end; 1 and 4 belong to
// account a, 2 to b.
type story struct {
	t *testing.T
	*History
	keys    map[int64]Key
	readers map[string]*Reader
}

var owners = map[int64]string{1: "a", 2: "b", 4: "a"}

func begin(t *testing.T) *story {
	s := &story{t, New(), map[int64]Key{1: EndlessKey(0), 2: TailKey(0), 4: TailKey(1), 9: TailKey(2)}, map[string]*Reader{}}
	s.Now = func() time.Duration { return 0 }
	for _, uid := range []int64{4, 1, 2} { // the history must sort them
		s.Add(uid, s.keys[uid], owners[uid])
	}
	return s
}

// at returns the time when a version was written.
func at(version int64) time.Time { return time.Unix(version, 0) }

func (s *story) commit(uid, version int64) {
	s.Committing(uid, version)
	s.Committed(uid, version, at(version))
}

func (s *story) reader(name string) *Reader {
	if s.readers[name] == nil {
		s.readers[name] = s.Reader(name)
	}
	return s.readers[name]
}

// begin begins a read by account a, and returns a function that ends it.
func (s *story) begin(reader string, ask Ask) func(*Answer) {
	if ask.Account == "" {
		ask.Account = "a"
	}
	r := s.reader(reader)
	read := r.Begin(ask)
	return func(a *Answer) { r.End(&read, a) }
}

// row returns the contents of an order in a version.
func (s *story) row(uid, version int64) Row {
	row := s.keys[uid].Derive(version)
	row.UID, row.Account, row.Updated = uid, "a", at(version)
	if owner := owners[uid]; owner != "" {
		row.Account = owner
	}
	return row
}

// found returns the answer with an order, after modifications.
func (s *story) found(uid, version int64, changes ...func(*Answer)) *Answer {
	a := &Answer{Status: 200, Row: s.row(uid, version), ETag: fmt.Sprintf(`"%d-%d"`, uid, version)}
	for _, change := range changes {
		change(a)
	}
	return a
}

func (s *story) read(reader string, ask Ask, a *Answer) { s.begin(reader, ask)(a) }

func (s *story) list(w Wanted, more bool, rows ...Row) {
	r := s.reader("lister")
	r.EndList(r.BeginList(w), &Page{Rows: rows, More: more})
}

func (s *story) submit(uid, version int64, duplicate bool) {
	s.Acknowledged(s.Submit(s.keys[9], "a"), Receipt{uid, version, s.keys[9].Derive(version).Status, duplicate})
}

func status(code int) *Answer { return &Answer{Status: code, Body: []byte("no such order")} }

func TestReads(t *testing.T) {
	for name, c := range map[string]struct {
		write func(s *story)
		wants Kind
	}{
		"what was committed": {func(s *story) {
			s.commit(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 2))
		}, ""},
		"older than acknowledged": {func(s *story) {
			s.commit(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 1))
		}, Stale},
		"acknowledged while it was read": {func(s *story) {
			end := s.begin("x", Ask{UID: 1})
			s.commit(1, 2)
			end(s.found(1, 1))
		}, ""},
		"begun and not acknowledged": {func(s *story) {
			s.Committing(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 2))
			s.read("y", Ask{UID: 1}, s.found(1, 1))
		}, ""},
		"begun by the end of the read": {func(s *story) {
			end := s.begin("x", Ask{UID: 1})
			s.Committing(1, 2)
			end(s.found(1, 2))
		}, ""},
		"back to what the same reader had seen": {func(s *story) {
			s.Committing(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 2))
			s.read("x", Ask{UID: 1}, s.found(1, 1))
		}, Backwards},
		"two concurrent reads by one reader": {func(s *story) {
			s.Committing(1, 2)
			end := s.begin("x", Ask{UID: 1})
			s.read("x", Ask{UID: 1}, s.found(1, 2))
			end(s.found(1, 1))
		}, ""},
		"a version of the future":   {func(s *story) { s.read("x", Ask{UID: 1}, s.found(1, 2)) }, Unwritten},
		"commits that overtake one": {func(s *story) { s.commit(1, 3); s.commit(1, 2); s.read("x", Ask{UID: 1}, s.found(1, 3)) }, ""},
		"rolled back": {func(s *story) {
			s.Committing(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 2, func(a *Answer) {
				g := s.keys[1].Ghost(2)
				a.Row.Symbol, a.Row.Side, a.Row.Price, a.Row.Qty, a.Row.Filled = g.Symbol, g.Side, g.Price, g.Qty, g.Filled
			}))
		}, Unwritten},
		"one field of another version": {func(s *story) {
			s.commit(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 2, func(a *Answer) { a.Row.Price = s.row(1, 1).Price }))
		}, Torn},
		"the ETag of another version": {func(s *story) {
			s.read("x", Ask{UID: 1}, s.found(1, 1, func(a *Answer) { a.ETag = `"1-2"` }))
		}, Torn},
		"another time than the writer received": {func(s *story) {
			s.commit(1, 2)
			s.read("x", Ask{UID: 1}, s.found(1, 2, func(a *Answer) { a.Row.Updated = at(1) }))
		}, Torn},
		"another order":           {func(s *story) { s.read("x", Ask{UID: 1}, s.found(4, 1)) }, Foreign},
		"another's order":         {func(s *story) { s.read("x", Ask{UID: 2}, s.found(2, 1)) }, Foreign},
		"another's under my name": {func(s *story) { s.read("x", Ask{UID: 2}, s.found(2, 1, func(a *Answer) { a.Row.Account = "a" })) }, Foreign},
		"denied":                  {func(s *story) { s.read("x", Ask{UID: 2}, status(404)) }, ""},
		"forbidden instead":       {func(s *story) { s.read("x", Ask{UID: 2}, status(403)) }, Unexpected},
		"forbidden by setting":    {func(s *story) { s.Foreign = 403; s.read("x", Ask{UID: 2}, status(403)) }, ""},
		"denied against the setting": {func(s *story) {
			s.Foreign = 403
			s.read("x", Ask{UID: 2}, status(404))
		}, Unexpected},
		"denied in other words": {func(s *story) {
			s.read("x", Ask{UID: 77}, status(404))
			s.read("x", Ask{UID: 2}, &Answer{Status: 404, Body: []byte("not yours")})
		}, Foreign},
		"own, and not there":                     {func(s *story) { s.read("x", Ask{UID: 1}, status(404)) }, Missing},
		"never submitted":                        {func(s *story) { s.read("x", Ask{UID: 77}, s.found(77, 1)) }, Unwritten},
		"unchanged":                              {func(s *story) { s.commit(1, 2); s.read("x", Ask{UID: 1, Known: 2}, status(304)) }, ""},
		"unchanged although it was not":          {func(s *story) { s.commit(1, 2); s.read("x", Ask{UID: 1, Known: 1}, status(304)) }, Stale},
		"unchanged, and that had not been asked": {func(s *story) { s.read("x", Ask{UID: 1}, status(304)) }, Unexpected},
		"another's is unchanged":                 {func(s *story) { s.read("x", Ask{UID: 2, Known: 1}, status(304)) }, Foreign},
		"at least":                               {func(s *story) { s.commit(1, 2); s.read("x", Ask{UID: 1, MinVersion: 2}, s.found(1, 2)) }, ""},
		"less than at least":                     {func(s *story) { s.read("x", Ask{UID: 1, MinVersion: 2}, s.found(1, 1)) }, Stale},
		"not that far":                           {func(s *story) { s.read("x", Ask{UID: 1, MinVersion: 2}, status(409)) }, ""},
		"not that far, as it pretends":           {func(s *story) { s.commit(1, 2); s.read("x", Ask{UID: 1, MinVersion: 2}, status(409)) }, Stale},
		"another's is not that far":              {func(s *story) { s.read("x", Ask{UID: 2, MinVersion: 2}, status(409)) }, Foreign},
		"marked stale":                           {func(s *story) { s.commit(1, 2); s.read("x", Ask{UID: 1, Stale: true}, s.found(1, 1, mark)) }, ""},
		"marked stale, and torn": {func(s *story) {
			s.read("x", Ask{UID: 1, Stale: true}, s.found(1, 1, mark, func(a *Answer) { a.Row.Filled++ }))
		}, Torn},
		"marked stale unasked": {func(s *story) { s.read("x", Ask{UID: 1}, s.found(1, 1, mark)) }, Unasked},
		"marked stale in the body only": {func(s *story) {
			s.read("x", Ask{UID: 1, Stale: true}, s.found(1, 1, func(a *Answer) { a.Since = true }))
		}, Unasked},
		"stale, and not marked": {func(s *story) { s.commit(1, 2); s.read("x", Ask{UID: 1, Stale: true}, s.found(1, 1)) }, Stale},
		"an answer marked stale raises no floor": {func(s *story) {
			s.Committing(1, 2)
			s.read("x", Ask{UID: 1, Stale: true}, s.found(1, 2, mark))
			s.read("x", Ask{UID: 1}, s.found(1, 1))
		}, ""},
		"the database is away": {func(s *story) { s.read("x", Ask{UID: 1}, status(503)) }, ""},
		"something else":       {func(s *story) { s.read("x", Ask{UID: 1}, status(500)) }, Unexpected},
	} {
		t.Run(name, func(t *testing.T) { judged(t, c.write, c.wants) })
	}
}

func mark(a *Answer) { a.Marked, a.Since = true, true }

func TestSubmits(t *testing.T) {
	for name, c := range map[string]struct {
		write func(s *story)
		wants Kind
	}{
		"acknowledged and read": {func(s *story) { s.submit(9, 1, false); s.read("x", Ask{UID: 9}, s.found(9, 1)) }, ""},
		"not there immediately": {func(s *story) { s.submit(9, 1, false); s.read("x", Ask{UID: 9}, status(404)) }, Missing},
		"not there yet":         {func(s *story) { s.read("x", Ask{UID: 9}, status(404)); s.submit(9, 1, false) }, ""},
		"read while it was made": {func(s *story) {
			s.Submit(s.keys[9], "a")
			s.read("x", Ask{UID: 9}, s.found(9, 1))
			s.submit(9, 1, false)
		}, ""},
		"acknowledged while it was read": {func(s *story) {
			end := s.begin("x", Ask{UID: 9})
			s.submit(9, 1, false)
			end(status(404))
		}, ""},
		"made under another uid than was read": {func(s *story) {
			s.Submit(s.keys[9], "a")
			s.read("x", Ask{UID: 9}, s.found(9, 1))
			s.submit(10, 1, false)
		}, Repeated},
		"read under two uids": {func(s *story) {
			s.submit(9, 1, false)
			s.read("x", Ask{UID: 10}, s.found(9, 1, func(a *Answer) { a.Row.UID, a.ETag = 10, `"10-1"` }))
		}, Unwritten},
		"changed before it was acknowledged": {func(s *story) { s.Submit(s.keys[9], "a"); s.read("x", Ask{UID: 9}, s.found(9, 2)) }, Unwritten},
		"torn before it was acknowledged": {func(s *story) {
			s.Submit(s.keys[9], "a")
			s.read("x", Ask{UID: 9}, s.found(9, 1, func(a *Answer) { a.Row.Qty++ }))
		}, Torn},
		"returned to another before it was acknowledged": {func(s *story) {
			s.Submit(s.keys[9], "a")
			s.read("x", Ask{UID: 9, Account: "b"}, s.found(9, 1, func(a *Answer) { a.Row.Account = "b" }))
		}, Foreign},
		"the same again":                  {func(s *story) { s.submit(9, 1, false); s.commit(9, 2); s.submit(9, 2, true) }, ""},
		"the first answer was lost":       {func(s *story) { s.Submit(s.keys[9], "a"); s.submit(9, 1, true) }, ""},
		"two concurrent submissions":      {func(s *story) { s.submit(9, 1, true); s.submit(9, 1, false) }, ""},
		"made twice":                      {func(s *story) { s.submit(9, 1, false); s.submit(9, 1, false) }, Repeated},
		"made twice, as another":          {func(s *story) { s.submit(9, 1, false); s.submit(10, 1, true) }, Repeated},
		"taken for another order":         {func(s *story) { s.submit(4, 1, true) }, Foreign},
		"the same again, but older":       {func(s *story) { s.submit(9, 1, false); s.commit(9, 2); s.submit(9, 1, true) }, Stale},
		"the same again, but newer":       {func(s *story) { s.submit(9, 1, false); s.submit(9, 2, true) }, Unwritten},
		"no uid":                          {func(s *story) { s.submit(0, 1, false) }, Garbled},
		"another status than the version": {func(s *story) { s.Acknowledged(s.Submit(s.keys[9], "a"), Receipt{9, 1, "FILLED", false}) }, Torn},
	} {
		t.Run(name, func(t *testing.T) { judged(t, c.write, c.wants) })
	}
}

func TestLists(t *testing.T) {
	all := Wanted{Account: "a", Limit: 50}
	fresh := Wanted{Account: "a", Status: "NEW", Limit: 50}
	for name, c := range map[string]struct {
		write func(s *story)
		wants Kind
	}{
		"all":              {func(s *story) { s.list(all, false, s.row(4, 1), s.row(1, 1)) }, ""},
		"one is left out":  {func(s *story) { s.list(all, false, s.row(4, 1)) }, Missing},
		"the first page":   {func(s *story) { s.list(all, true, s.row(4, 1)) }, ""},
		"the second page":  {func(s *story) { s.list(Wanted{Account: "a", Before: 4, Limit: 50}, false, s.row(1, 1)) }, ""},
		"the same again":   {func(s *story) { s.list(Wanted{Account: "a", Before: 4, Limit: 50}, false, s.row(4, 1), s.row(1, 1)) }, Disordered},
		"rising":           {func(s *story) { s.list(all, false, s.row(1, 1), s.row(4, 1)) }, Disordered},
		"too many":         {func(s *story) { s.list(Wanted{Account: "a", Limit: 1}, false, s.row(4, 1), s.row(1, 1)) }, Disordered},
		"a cursor to more": {func(s *story) { s.list(all, true) }, Disordered},
		"another's":        {func(s *story) { s.list(all, false, s.row(4, 1), s.row(2, 1), s.row(1, 1)) }, Foreign},
		"stale":            {func(s *story) { s.commit(1, 2); s.list(all, false, s.row(4, 1), s.row(1, 1)) }, Stale},
		"torn": {func(s *story) {
			torn := s.row(1, 1)
			torn.Qty++
			s.list(all, false, s.row(4, 1), torn)
		}, Torn},
		"by status": {func(s *story) { s.commit(1, 2); s.list(fresh, false, s.row(4, 1)) }, ""},
		"another status": {func(s *story) {
			s.commit(1, 2)
			s.list(fresh, false, s.row(4, 1), s.row(1, 2))
		}, Disordered},
		"by status, one left out": {func(s *story) { s.list(fresh, false, s.row(4, 1)) }, Missing},
		"by status, one being changed": {func(s *story) {
			s.Committing(1, 2)
			s.list(fresh, false, s.row(4, 1))
		}, ""},
		"submitted before": {func(s *story) { s.submit(9, 1, false); s.list(all, false, s.row(4, 1), s.row(1, 1)) }, Missing},
		"being submitted": {func(s *story) {
			s.Submit(s.keys[9], "a")
			s.list(all, false, s.row(9, 1), s.row(4, 1), s.row(1, 1))
			s.list(all, false, s.row(4, 1), s.row(1, 1))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) { judged(t, c.write, c.wants) })
	}
}

func TestEnd(t *testing.T) {
	stored := func(s *story, uid, version int64, audits int) Stored {
		return Stored{s.row(uid, version), s.keys[uid], audits}
	}
	for name, c := range map[string]struct {
		write func(s *story, e *Ending)
		wants Kind
	}{
		"as acknowledged":           {func(s *story, e *Ending) { s.commit(1, 2); e.Stored(stored(s, 1, 2, 0)) }, ""},
		"a commit is lost":          {func(s *story, e *Ending) { s.commit(1, 2); e.Stored(stored(s, 1, 1, 0)) }, Missing},
		"a commit without an end":   {func(s *story, e *Ending) { s.Committing(1, 2); e.Stored(stored(s, 1, 2, 0)) }, ""},
		"a commit that never began": {func(s *story, e *Ending) { e.Stored(stored(s, 1, 2, 0)) }, Missing},
		"an order is lost":          {func(s *story, e *Ending) {}, Missing},
		"an order never submitted":  {func(s *story, e *Ending) { e.Stored(stored(s, 1, 1, 0)); e.Stored(stored(s, 9, 1, 1)) }, Unwritten},
		"a submission": {func(s *story, e *Ending) {
			s.submit(9, 1, false)
			e.Stored(stored(s, 1, 1, 0))
			e.Stored(stored(s, 9, 1, 1))
		}, ""},
		"a submission not answered": {func(s *story, e *Ending) {
			s.Submit(s.keys[9], "a")
			e.Stored(stored(s, 1, 1, 0))
			e.Stored(stored(s, 9, 1, 1))
		}, ""},
		"a submission is lost": {func(s *story, e *Ending) { s.submit(9, 1, false); e.Stored(stored(s, 1, 1, 0)) }, Missing},
		"a submission not audited": {func(s *story, e *Ending) {
			s.submit(9, 1, false)
			e.Stored(stored(s, 1, 1, 0))
			e.Stored(stored(s, 9, 1, 0))
		}, Unaudited},
		"a submission audited twice": {func(s *story, e *Ending) {
			s.submit(9, 1, false)
			e.Stored(stored(s, 1, 1, 0))
			e.Stored(stored(s, 9, 1, 2))
		}, Unaudited},
		"a submission stored twice": {func(s *story, e *Ending) {
			s.submit(9, 1, false)
			e.Stored(stored(s, 1, 1, 0))
			e.Stored(stored(s, 9, 1, 1))
			again := stored(s, 9, 1, 1)
			again.UID = 10
			e.Stored(again)
		}, Repeated},
		"another's now": {func(s *story, e *Ending) { row := stored(s, 1, 1, 0); row.Account = "b"; e.Stored(row) }, Foreign},
		"torn":          {func(s *story, e *Ending) { row := stored(s, 1, 1, 0); row.Price++; e.Stored(row) }, Torn},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, func(s *story) {
				e := s.End()
				e.Stored(stored(s, 2, 1, 0))
				e.Stored(stored(s, 4, 1, 0))
				c.write(s, e)
				e.Close()
			}, c.wants)
		})
	}
}

// judged checks that a story breaks exactly the expected rule.
func judged(t *testing.T, write func(*story), wants Kind) {
	s := begin(t)
	write(s)
	v := s.Verdict()
	got := slices.Collect(maps.Keys(v.Broken))
	if wants == "" && len(got) > 0 || wants != "" && !slices.Equal(got, []Kind{wants}) {
		t.Errorf("broken is %v, want %q\n%v", got, wants, v.Error())
	}
	if s.OK() != (v.Error() == nil) {
		t.Error("OK and Error disagree")
	}
}

// However many violations there are, only the first stories are kept.
func TestStoriesAreBounded(t *testing.T) {
	s := begin(t)
	for range 1000 {
		s.read("x", Ask{UID: 1}, status(500))
	}
	if v := s.Verdict(); v.Broken[Unexpected] != 1000 || len(v.Stories) != maxStories {
		t.Errorf("%d broken, %d stories", v.Broken[Unexpected], len(v.Stories))
	}
}
