package dispatch

import (
	"slices"
	"strings"

	"dyno/services/notify/topic"
)

// routes finds the subscriptions that want a type: those that named it by a map, the others one by
// one.
type routes struct {
	exact map[string][]*subscriber
	open  []*subscriber // with a prefix, or for all types
}

// set moves a subscription from the types that it wanted to those it wants; none means that it
// wants nothing.
func (r *routes) set(sub *subscriber, was, types []string, none bool) {
	same := func(s *subscriber) bool { return s == sub }
	r.open = slices.DeleteFunc(r.open, same)
	for _, kind := range was {
		if left := slices.DeleteFunc(r.exact[kind], same); len(left) > 0 {
			r.exact[kind] = left
		} else {
			delete(r.exact, kind)
		}
	}
	if !none {
		r.enter(sub, types)
	}
}

// add enters a subscription by its definition. It is not entered yet.
func (r *routes) add(sub *subscriber) {
	if sub.def.Disabled == "" {
		r.enter(sub, sub.def.Types)
	}
}

func (r *routes) enter(sub *subscriber, types []string) {
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return strings.HasSuffix(t, "*") }) {
		r.open = append(r.open, sub)
		return
	}
	if r.exact == nil {
		r.exact = map[string][]*subscriber{}
	}
	for _, kind := range types {
		if subs := r.exact[kind]; len(subs) == 0 || subs[len(subs)-1] != sub { // a type may be named twice
			r.exact[kind] = append(subs, sub)
		}
	}
}

// visit calls f for each subscription that wants a type.
func (r *routes) visit(kind string, f func(*subscriber)) {
	for _, sub := range r.exact[kind] {
		f(sub)
	}
	for _, sub := range r.open {
		if topic.Match(sub.def.Types, kind) {
			f(sub)
		}
	}
}
