package main

import (
	"net/http"
	"strings"
	"time"
)

// patchSubscription answers PATCH /v1/subscriptions/{id}.
func (s *server) patchSubscription(w http.ResponseWriter, r *http.Request) {
	ask, bad := readSubscription(w, r)
	if bad != nil {
		answerError(w, bad)
		return
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	d, ok := s.definition(r.PathValue("id"))
	if !ok {
		answerError(w, noSubscription(r))
		return
	}
	secret, bad := s.change(&d, ask)
	if bad != nil {
		answerError(w, bad)
		return
	}
	if ask.Disabled != nil && *ask.Disabled != (d.Disabled != "") {
		d.Disabled = ""
		if *ask.Disabled {
			d.Disabled = "by hand"
		}
	}
	if err := s.commit(event{Do: put, Change: &d}); err != nil {
		answerError(w, err)
		return
	}
	if d.Disabled != "" {
		s.mu.Lock()
		s.bury(s.subs[d.ID], "the subscription is disabled: "+d.Disabled)
		s.mu.Unlock()
	}
	view := d.view()
	view.Secret, view.Secrets = secret, len(d.inForce(time.Now()))
	answer(w, http.StatusOK, view)
}

// change does to a definition what a client asks for, and returns the secret if there is a new one.
func (s *server) change(d *definition, ask subscriptionRequest) (secret string, bad *refusal) {
	if ask.URL != nil {
		if bad := s.checkURL(*ask.URL); bad != nil {
			return "", bad
		}
		d.URL = *ask.URL
	}
	if ask.Types != nil {
		if bad := checkTypes(*ask.Types); bad != nil {
			return "", bad
		}
		d.Types = *ask.Types
	}
	if ask.Batch != nil {
		if *ask.Batch < 0 || *ask.Batch > 1000 {
			return "", refuseField("batch", "give 1 to 1000 notices per webhook")
		}
		d.Batch = max(*ask.Batch, 1)
	}
	if ask.RatePerS != 0 {
		return "", refuseField("rate_per_s", "this program does not hold a rate; leave it out, or use notifyd")
	}
	if ask.Concurrency != 0 {
		return "", refuseField("concurrency", "this program does not bound it by subscriber; leave it out, or use notifyd")
	}
	return s.changeSecret(d, ask)
}

func checkTypes(types []string) *refusal {
	if len(types) > maxTypes {
		return refuseField("types", "give at most %d, a prefix such as order.*, or none for all", maxTypes)
	}
	for _, t := range types {
		star := strings.IndexByte(t, '*')
		switch {
		case t == "" || len(t) > maxName:
			return refuseField("types", "each has 1 to %d bytes; leave them out for all", maxName)
		case star >= 0 && t != "*" && (star != len(t)-1 || !strings.HasSuffix(t, ".*")):
			return refuseField("types", "%q: a star stands alone or at the end after a full stop, as in order.*", t)
		}
	}
	return nil
}
