package notify

import (
	"slices"
	"strings"

	"dyno/services/notify/topic"
)

// routes finds the subscriptions that want a type: those that named it by a look into a map, the others one
// by one. It is guarded by the dispatcher's mutex.
type routes struct {
	exact map[string][]*subscription
	open  []*subscription // with a prefix, or for all
}

// set files a subscription anew under what it wants; none: under nothing.
func (r *routes) set(sub *subscription, was, types []string, none bool) {
	same := func(s *subscription) bool { return s == sub }
	r.open = slices.DeleteFunc(r.open, same)
	for _, kind := range was {
		if left := slices.DeleteFunc(r.exact[kind], same); len(left) > 0 {
			r.exact[kind] = left
		} else {
			delete(r.exact, kind)
		}
	}
	r.add(sub, types, none)
}

// add files a subscription that is not filed yet.
func (r *routes) add(sub *subscription, types []string, none bool) {
	switch {
	case none:
	case len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return strings.HasSuffix(t, "*") }):
		r.open = append(r.open, sub)
	default:
		if r.exact == nil {
			r.exact = map[string][]*subscription{}
		}
		for _, kind := range types {
			if subs := r.exact[kind]; len(subs) == 0 || subs[len(subs)-1] != sub { // a type may be named twice
				r.exact[kind] = append(subs, sub)
			}
		}
	}
}

// visit calls f for each subscription that wants a type.
func (r *routes) visit(kind string, f func(*subscription)) {
	for _, sub := range r.exact[kind] {
		f(sub)
	}
	for _, sub := range r.open {
		if topic.Match(sub.def.Types, kind) {
			f(sub)
		}
	}
}
