package sim

import (
	"encoding/json"
	"testing"

	"dyno/services/ledger/xrpl/answer"
)

// Any bytes are a request that can be answered, or an error.
func FuzzRequests(f *testing.F) {
	for _, text := range []string{``, `{}`, `[]`, `null`, ` `, `{"method":"ledger","params":[{"ledger_index":5,"binary":true}]}`,
		`{"method":"ledger","params":[null]}`, `{"id":1,"command":"ledger","ledger_hash":"A"}`, `{"method":"ping","params":[ ]}`,
		`{"command":"subscribe","streams":["ledger",1]}`, `{"command":"ledger","ledger_index":"\u0031"}`, `{"method":null}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parsePost(b); err == nil {
			checkRequest(t, r)
		}
		r, err := parseMessage(b, &socket{})
		if err == nil {
			checkRequest(t, r)
		}
		if !json.Valid(r.raw()) {
			t.Errorf("%q would be repeated", r.raw())
		}
	})
}

func checkRequest(t *testing.T, r *request) {
	if v := r.version(); v != 1 && v != 2 || !json.Valid(r.raw()) {
		t.Errorf("%+v", r)
	}
	if w, err := r.params.ledger(); err == nil && w.byHash == (r.LedgerHash == nil) {
		t.Errorf("%+v of %+v", w, r)
	}
	e := envelope{socket: true, id: r.ID, api: r.APIVersion}
	for _, a := range []*delivery{e.fail(answer.ErrUnknownMethod, r.raw()), e.success(members{}), e.overLimit(r.raw())} {
		if b := append(a.head, a.tail...); len(b) > 0 && !json.Valid(b) {
			t.Errorf("%q is answered with %q", r.came, b)
		}
	}
	e.clio = true
	for _, a := range []*delivery{e.fail(answer.ErrUnknownMethod, r.raw()), e.success(members{}), e.overLimit(r.raw())} {
		if b := append(a.head, a.tail...); !json.Valid(b) {
			t.Errorf("%q is answered with %q", r.came, b)
		}
	}
}
