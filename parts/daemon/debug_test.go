package daemon

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
)

func TestReadyz(t *testing.T) {
	var away error
	needs := func(context.Context) error { return away }
	var p phase
	p.needs.Store(&needs)
	for _, c := range []struct {
		phase  string
		away   error
		status int
		says   string
	}{
		{starting, nil, 503, "starting\n"},
		{ready, nil, 200, "ready\n"},
		{ready, errors.New("the database\ndoes not answer"), 503, "not ready: the database; does not answer\n"},
		{draining, nil, 503, "draining\n"},
	} {
		p.Store(c.phase)
		away = c.away
		w := httptest.NewRecorder()
		p.readyz(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != c.status || w.Body.String() != c.says {
			t.Errorf("%s, %v: %d %q", c.phase, c.away, w.Code, w.Body)
		}
	}
}
