package history

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// story writes histories line by line.
type story struct {
	*History
	process int
}

// begin is a story with one subscription, called all.
func begin() *story {
	s := &story{History: new(History)}
	s.start()
	s.change("all", &Definition{Concurrency: 1})
	return s
}

func (s *story) start() { s.process = s.Started() }

func (s *story) crash() {
	s.Crash(s.process)
	s.start()
}

func (s *story) change(name string, d *Definition) {
	began := s.Now()
	s.Changed(Change{name, d, began, s.Now(), began})
}

// post posts notices "ID KEY [TYPE]", whose answer has the numbers from first on; 0: it is not
// answered.
func (s *story) post(first uint64, duplicate bool, notices ...string) {
	p := Post{Began: s.Now(), Answered: Never}
	for i, text := range notices {
		f := append(strings.Fields(text), "t")
		p.Notices = append(p.Notices, Notice{f[0], f[1], f[2]})
		p.Results = append(p.Results, Result{first + uint64(i), duplicate})
	}
	if first == 0 {
		p.Results = nil
	} else {
		p.Answered = s.Now()
	}
	s.Posted(p)
}

// deliver is one webhook, taken with 2xx.
func (s *story) deliver(name string, ids ...string) {
	s.Answer(s.Arrive(Webhook{Subscription: name, IDs: ids, Process: s.process, OK: true}))
}

func (s *story) list(d map[string]Definition) {
	s.Listed(Listing{s.Now(), s.Now(), d})
}

// end takes an account of one subscription, called all.
func (s *story) end(accepted, dead int64, letters ...string) {
	n := Count{Accepted: accepted, Delivered: accepted - dead, Dead: dead}
	s.Final = &Account{Total: n, Subscriptions: map[string]Count{"all": n}, Dead: map[string][]string{"all": letters}}
}

func TestCheck(t *testing.T) {
	all := map[string]Definition{"all": {Concurrency: 1}}
	for name, c := range map[string]struct {
		tell  func(s *story)
		wants []Kind
	}{
		"all is well": {func(s *story) {
			s.post(1, false, "a k", "b k", "c j")
			s.deliver("all", "a")
			s.deliver("all", "b", "c")
			s.list(all)
			s.end(3, 0)
		}, nil},
		"again after no answer": {func(s *story) {
			s.post(0, false, "a k", "b k")
			s.deliver("all", "a")
			s.crash()
			s.post(1, true, "a k", "b k")
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, nil},
		"not stored at first": {func(s *story) {
			s.post(0, false, "a k", "b k")
			s.crash()
			s.post(1, false, "a k", "b k")
			s.deliver("all", "a", "b")
			s.end(2, 0)
		}, nil},
		"lost": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "a")
			s.end(2, 0)
		}, []Kind{Lost}},
		"dead is not lost": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "b")
			s.end(2, 1, "a")
		}, nil},
		"a dead letter that was lost": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "b")
			s.end(2, 1)
		}, []Kind{Lost, Miscounted}},
		"first deliveries out of order": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "b")
			s.crash()
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, []Kind{Reordered}},
		"keys may overtake each other": {func(s *story) {
			s.post(1, false, "a k", "b j")
			s.deliver("all", "b")
			s.deliver("all", "a")
			s.end(2, 0)
		}, nil},
		"out of order in one webhook": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "b", "a")
			s.end(2, 0)
		}, []Kind{Reordered}},
		"duplicates out of order in one process": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.crash()
			s.deliver("all", "b")
			s.deliver("all", "a")
			s.end(2, 0)
		}, []Kind{Reordered}},
		"a failed batch comes again in parts": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.Answer(s.Arrive(Webhook{Subscription: "all", IDs: []string{"a", "b"}}))
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, nil},
		"an answer that did not arrive": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.Arrive(Webhook{Subscription: "all", IDs: []string{"a", "b"}, OK: true})
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, nil},
		"repeated without a crash": {func(s *story) {
			s.post(1, false, "a k")
			s.deliver("all", "a")
			s.deliver("all", "a")
			s.end(1, 0)
		}, []Kind{Repeated}},
		"duplicates within the bound": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "a")
			s.change("all", &Definition{Concurrency: 1}) // a had been answered, maybe not booked
			s.deliver("all", "b")
			s.crash()
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, nil},
		"duplicates of what was durable": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.change("all", &Definition{Concurrency: 1})
			s.crash()
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, []Kind{Excess}},
		"duplicates of more than what was in flight": {func(s *story) {
			s.post(1, false, "a k", "b k", "c k")
			s.deliver("all", "a", "b")
			s.deliver("all", "c")
			s.change("all", &Definition{Concurrency: 1}) // the larger of the two may not have been booked
			s.crash()
			s.deliver("all", "a", "b", "c")
			s.end(3, 0)
		}, []Kind{Excess}},
		"half a batch": {func(s *story) {
			s.post(0, false, "a k", "b k")
			s.crash()
			s.Posted(Post{Notices: []Notice{{"a", "k", "t"}, {"b", "k", "t"}}, Began: s.Now(), Results: []Result{{1, true}, {2, false}}, Answered: s.Now()})
			s.deliver("all", "a", "b")
			s.end(2, 0)
		}, []Kind{HalfBatch}},
		"fewer numbers than notices": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.Posted(Post{Notices: []Notice{{"a", "k", "t"}, {"b", "k", "t"}}, Began: s.Now(), Results: []Result{{1, true}}, Answered: s.Now()})
			s.deliver("all", "a", "b")
			s.end(2, 0)
		}, []Kind{HalfBatch}},
		"renumbered": {func(s *story) {
			s.post(1, false, "a k")
			s.post(2, true, "a k")
			s.deliver("all", "a")
			s.end(1, 0)
		}, []Kind{Renumbered}},
		"acknowledged twice as new": {func(s *story) {
			s.post(1, false, "a k")
			s.post(1, false, "a k")
			s.deliver("all", "a")
			s.end(1, 0)
		}, []Kind{Forgotten}},
		"delivered, then taken for new": {func(s *story) {
			s.post(0, false, "a k")
			s.deliver("all", "a")
			s.crash()
			s.post(1, false, "a k")
			s.deliver("all", "a")
			s.end(1, 0)
		}, []Kind{Forgotten}},
		"a number reused": {func(s *story) {
			s.post(1, false, "a k")
			s.crash()
			s.post(1, false, "b j")
			s.deliver("all", "a")
			s.deliver("all", "b")
			s.end(2, 0)
		}, []Kind{SeqReused}},
		"numbers go back": {func(s *story) {
			s.post(2, false, "a k")
			s.post(1, false, "b j")
			s.deliver("all", "a", "b")
			s.end(2, 0)
		}, []Kind{SeqReused}},
		"invented": {func(s *story) {
			s.deliver("all", "x")
			s.end(0, 0)
		}, []Kind{Invented}},
		"of the wrong type": {func(s *story) {
			s.change("all", &Definition{Types: []string{"a.*", "b"}})
			s.post(1, false, "x k a.x", "y k a", "z k b", "w k b.x")
			s.deliver("all", "x", "y", "z", "w")
			s.end(2, 0)
		}, []Kind{Unwanted}},
		"a deleted subscription comes back": {func(s *story) {
			s.change("churn", &Definition{})
			s.post(1, false, "a k")
			s.change("churn", nil)
			s.deliver("all", "a")
			s.deliver("churn", "a") // the last words of the process that deleted it
			s.crash()
			s.deliver("churn", "a")
			s.end(1, 0)
		}, []Kind{Unwanted}},
		"a subscription that is missing": {func(s *story) {
			s.list(map[string]Definition{})
			s.end(0, 0)
		}, []Kind{Definitions}},
		"a subscription as it was before": {func(s *story) {
			s.change("all", &Definition{Batch: 8})
			s.list(all)
			s.end(0, 0)
		}, []Kind{Definitions}},
		"a change that was not requested": {func(s *story) {
			s.Changed(Change{"new", &Definition{}, s.Now(), Never, 0})
			s.list(all)
			s.list(map[string]Definition{"all": {Concurrency: 1}, "new": {Batch: 1}})
			s.end(0, 0)
		}, nil},
		"a stranger": {func(s *story) {
			s.list(map[string]Definition{"all": {Concurrency: 1}, "x": {}})
			s.end(0, 0)
		}, []Kind{Definitions}},
		"counts that forget": {func(s *story) {
			s.post(1, false, "a k", "b k")
			s.deliver("all", "a", "b")
			s.end(1, 0)
		}, []Kind{Miscounted}},
		"a fault": {func(s *story) {
			s.Fault("a bad signature")
			s.end(0, 0)
		}, []Kind{Faulty}},
		"no end": {func(s *story) {
			s.post(0, false, "a k")
		}, []Kind{Unterminated}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin()
			c.tell(s)
			v := Check(s.History)
			slices.Sort(c.wants)
			if got := slices.Sorted(maps.Keys(v.Broken)); !slices.Equal(got, c.wants) {
				t.Errorf("broken %v, want %v\n%v", got, c.wants, v.Error())
			}
		})
	}
}
