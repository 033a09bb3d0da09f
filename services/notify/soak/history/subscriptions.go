package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// subscription is what is known of one: its versions, oldest first, the first being that there is
// none.
type subscription struct {
	name      string
	versions  []version
	delivered map[string]*Webhook // by notice, the last that was answered with 2xx
	highest   map[string]uint64   // by key, of the numbers delivered
	last      map[string]step     // by key, the last delivery
}

// version is what a subscription was from some moment between began and acked on.
type version struct {
	*Definition // nil: there is none
	began       Moment
	acked       Moment
}

// step is one delivery of one key.
type step struct {
	seq     uint64
	webhook *Webhook
}

func (c *checker) readChanges() {
	changes := slices.Clone(c.h.Changes)
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Began, b.Began) })
	for _, ch := range changes {
		s := c.subs[ch.Subscription]
		if s == nil {
			s = &subscription{name: ch.Subscription, versions: []version{{}},
				delivered: map[string]*Webhook{}, highest: map[string]uint64{}, last: map[string]step{}}
			c.subs[s.name] = s
		}
		s.versions = append(s.versions, version{ch.Definition, ch.Began, ch.Acked})
	}
}

// possible returns the versions that may have held at some moment between from and to.
func (s *subscription) possible(from, to Moment) []version {
	var out []version
	for i, v := range s.versions {
		superseded := i+1 < len(s.versions) && s.versions[i+1].acked < from
		if v.began <= to && !superseded {
			out = append(out, v)
		}
	}
	return out
}

// wants says whether the subscription may and must get the notice.
func (s *subscription) wants(n *posted) (may, must bool) {
	must = true
	for _, v := range s.possible(n.began, n.acked) {
		wanted := v.Definition != nil && matches(v.Types, n.Type)
		may = may || wanted
		must = must && wanted
	}
	return may, may && must
}

// gone says that it had been deleted for certain at that moment.
func (s *subscription) gone(at Moment) bool {
	last := s.versions[len(s.versions)-1]
	return last.Definition == nil && last.acked < at
}

// lives says that it is there at the end for certain.
func (s *subscription) lives() bool {
	last := s.versions[len(s.versions)-1]
	return last.Definition != nil && last.acked != Never
}

// matches is written out here rather than taken from the service, which is what is being checked.
func matches(patterns []string, kind string) bool {
	for _, p := range patterns {
		prefix, isPrefix := strings.CutSuffix(p, "*")
		if p == kind || isPrefix && strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return len(patterns) == 0
}

// checkListings holds that each listing shows every subscription in a version that may have held.
func (c *checker) checkListings() {
	for _, l := range c.h.Listings {
		for name, s := range c.subs {
			got, there := l.Subscriptions[name]
			fits := slices.ContainsFunc(s.possible(l.Began, l.Answered), func(v version) bool {
				return v.Definition == nil && !there || v.Definition != nil && there && v.Definition.equal(got)
			})
			if !fits {
				c.v.breaks(Definitions, "%s is %s in a listing; the last change was to %s", name, describe(there, got), s.versions[len(s.versions)-1].describe())
			}
		}
		for name := range l.Subscriptions {
			if c.subs[name] == nil {
				c.v.breaks(Definitions, "%s is in a listing, and no client created it", name)
			}
		}
	}
}

func (d *Definition) equal(other Definition) bool {
	return slices.Equal(explicit(d.Types), explicit(other.Types)) && max(d.Batch, 1) == max(other.Batch, 1) && d.Concurrency == other.Concurrency
}

func explicit(types []string) []string {
	if len(types) == 0 {
		return []string{"*"}
	}
	return types
}

// concurrency is the most webhooks that were ever allowed in flight to it; 0: it does not say.
func (s *subscription) concurrency() (most int) {
	for _, v := range s.versions {
		if v.Definition != nil {
			most = max(most, v.Concurrency)
		}
	}
	return most
}

func (v version) describe() string {
	if v.Definition == nil {
		return describe(false, Definition{})
	}
	return describe(true, *v.Definition)
}

func describe(there bool, d Definition) string {
	if !there {
		return "missing"
	}
	return fmt.Sprintf("%+v", d)
}
